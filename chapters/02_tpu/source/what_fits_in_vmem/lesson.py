# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: What fits in vmem
#     number: 8
#     minutes: 45
#     needs: []
#     able: "TO WRITE: what the learner will be able to do, for the chapter's page"
#     runs_on: "TO WRITE: any CPU, or what else, for README.md"
# ---

# %% [markdown]
# # What fits in vmem
#
# **TO WRITE: the question that this lesson answers?**
# TO WRITE: what the learner builds on the way.
#
# ## What you will be able to do
#
# - TO WRITE: the first thing;
# - TO WRITE: the second.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# TO WRITE: a worked example with small numbers, and a question that it does not answer yet.
# Put a number in place of `None`.

# %%
import numpy as np

from labkit import check, predict, quiz

# STUB:
# guess = predict("tpu.what_fits_in_vmem_guess", None, "times")
# BEGIN SOLUTION
guess = predict("tpu.what_fits_in_vmem_guess", 3, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# TO WRITE: the one idea that the exercise needs.
#
# **Exercise `tpu.what_fits_in_vmem_double`.**
# TO WRITE: the task, with every sentence that forbids or limits something.
# Arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:tpu.what_fits_in_vmem_double"]
def double(x):
    """x [n] -> y [n]: y = 2 x, float64"""
    # STUB:
    # y = None  # one line
    # BEGIN SOLUTION
    y = 2 * x
    # END SOLUTION
    return y


double = check("tpu.what_fits_in_vmem_double", double)

# %% [markdown]
# ## Check
#
# TO WRITE: what the answer is tried on, by hand, with small numbers.

# %%
print("twice 1, 2, 3:", double(np.array([1.0, 2.0, 3.0])))

# %% [markdown]
# ## Measure
#
# TO WRITE: what is counted, and how.

# %%
print("elements:", 3)

# %% [markdown]
# ## Explain
#
# TO WRITE: the prediction beside the result, in a picture (`figures.guesses`), and the cause of the gap.
#
# ## On trial
#
# TO WRITE: a claim as CONTRIBUTING.md tells, or a sentence on why this lesson tries none.
#
# ## Recap
#
# - TO WRITE: one rule to keep, with a number in it.
#
# ## Quiz
#
# Put a letter in place of the `None`.

# %%
# STUB:
# quiz("tpu.what_fits_in_vmem_quiz", None)
# BEGIN SOLUTION
quiz("tpu.what_fits_in_vmem_quiz", "b")
# END SOLUTION
