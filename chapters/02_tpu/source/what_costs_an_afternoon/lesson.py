# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: What costs an afternoon
#     number: 13
#     minutes: 52
#     needs: [jax]
#     able: say which calls compile a program again, and pad so that few do; find the queue that feeds a step; read a trace
#     runs_on: any CPU with JAX, and stored answers of Google's TPU compiler; nothing of it ran on a TPU
# ---

# %% [markdown]
# # What costs an afternoon
#
# **64 sentences, and 64 programs.**
# <!-- holds: rows[0][1].value == 64 and rows[2][1].value == 7 -->
# A network reads a sentence as numbers, one for each word.
# A function compiled by `jax.jit` is called with 64 sentences, of 1 to 64 numbers.
# JAX compiles it 64 times (counted), without a word on the screen, and a large network can take minutes each time.
# Another afternoon goes to a device that waits for its data.
# Which calls compile, and which steps wait?
#
# ## What you will be able to do
#
# - count the programs that a list of calls compiles, and pad so that there are few;
# - find the queue that feeds a step;
# - find a compilation in a trace.
#
# You need [*Training in JAX*](12_training_in_jax.ipynb).
# All runs on your processor, but for one table, stored answers of Google's TPU compiler; nothing ran on a real TPU.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# `step(x, rate, power)` computes the sum of `rate * x**power`.
# It is compiled by `jax.jit`, and its argument `power` is **static**: its value is written into the program.
# `x` has 8 numbers in float32, and `half` has 8 in float16.
# A new process makes these calls:
#
# ```
# step(x, 0.1, 2)        step(x[:7], 0.1, 2)
# step(x, 0.2, 2)        step(x[:7], 0.3, 2)
# step(x, 1, 2)          step(half, 0.1, 2)
# step(x, 0.1, 3)        step(x, 0.1, 2)
# ```
#
# 1. How many programs does JAX compile?
# 2. A **host**, the computer to which a TPU is attached, prepares 64 batches.
#    Each takes 2 ms, but each eighth opens a new file and takes 20 ms.
#    A step on the device takes 5 ms.
#    The host may be 2 batches ahead, in a queue with 2 places.
#    After how many milliseconds have all 64 steps ended?

# %%
import jax
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.provenance import counted, predicted
from labkit_lessons.tpu.what_costs_an_afternoon import counting, input_pictures, on_a_tpu

# STUB:
# programs_guess = predict("tpu.programs_of_eight_calls", None, "programs")
# steps_guess = predict("tpu.steps_with_two_ahead", None, "ms")
# BEGIN SOLUTION
programs_guess = predict("tpu.programs_of_eight_calls", 8, "programs")
steps_guess = predict("tpu.steps_with_two_ahead", 325, "ms")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What a program is kept for
#
# At its first call, `jit` traces a function and compiles a program.
# It keeps the program for all later calls that look the same.
# What must be the same?
# We can count, for JAX announces each compilation as an **event**, `/jax/core/compile/backend_compile_duration`, to which `jax.monitoring` lets us listen.
# For each row of the table, a new `step` is called as `step(x, 0.1, 2)`, and then a second time.
# The last column is what JAX itself says when `jax.explain_cache_misses` is on.

# %%
x = np.ones(8, np.float32)
half = np.ones(8, np.float16)
second_calls = {
    "step(x, 0.1, 2)": (x, 0.1, 2),
    "step(x, 0.2, 2)": (x, 0.2, 2),
    "step(x, 1, 2)": (x, 1, 2),
    "step(x, 0.1, 3)": (x, 0.1, 3),
    "step(x[:7], 0.1, 2)": (x[:7], 0.1, 2),
    "step(half, 0.1, 2)": (half, 0.1, 2),
}
table = []
for name, call in second_calls.items():
    programs, reason = counting.second_call((x, 0.1, 2), call)
    table.append([name, counted(programs, "", "JAX's events"), reason or None])
figures.table(["second call", "new programs", "JAX's reason"], table)

# %% [markdown]
# The value 0.2 needs no new program, because `rate` is an input.
# <!-- holds: [row[1].value for row in table] == [0, 0, 1, 1, 1, 1] -->
# But JAX compiles again for another shape or dtype, for another static value, and for a Python `int` where a `float` was.
# (`f32[8]` is 8 numbers in float32, and `i32[]` a single int32.)
#
# So each program has a **key**: here the length of `x`, its dtype, the type of `rate`, and `power`.
# If `x` is always float32, these four calls have three keys:
#
# ```
# call               length of x  rate   power
# step(x, 0.5, 2)    8            float  2      compiles
# step(x, 4, 2)      8            int    2      compiles
# step(x, 0.7, 2)    8            float  2      the first key
# step(x[:5], 4, 2)  5            int    2      compiles
# ```
#
# If each `x` is first **padded** with zeros, say to the next multiple of 8, then a length of 5 becomes 8, and 8 stays 8.
# Now the last call has the key of the second, and two programs are enough.
#
# **Exercise `tpu.count_programs`**: a new process makes n calls of `step`.
# Before call i, an `x` of `lengths[i]` float32 numbers is padded to the next multiple of `bucket`.
# Its rate has the value `rates[i]`, and is a Python `int` where `whole[i]` is True, else a `float`; its power is `powers[i]`.
# Return how many programs JAX compiles.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:tpu.count_programs"]
def count_programs(lengths, rates, whole, powers, bucket):
    """lengths [n], rates [n], whole [n] of bool, powers [n], a multiple -> a whole number"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    padded = np.ceil(lengths / bucket)
    keys = set()
    for i in range(len(lengths)):
        keys.add((padded[i], whole[i], powers[i]))
    return len(keys)
    # END SOLUTION


count_programs = check("tpu.count_programs", count_programs)

# %% [markdown]
# Does JAX agree with your function?
# We make 30 calls at random, and count the events of a real `step`.

# %%
rng = np.random.default_rng(0)
whole = rng.random(30) < 0.3
calls = (
    rng.integers(1, 33, 30),  # lengths
    np.where(whole, 2, rng.random(30)),  # rates
    whole,
    rng.integers(1, 3, 30),  # powers
)
checks = []
for bucket in (1, 8, 32):
    yours = predicted(count_programs(*calls, bucket), "", "your function")
    real = counted(counting.compiled_by_calls(*calls, bucket), "", "JAX's events")
    checks.append([bucket, yours, real])
figures.table(["padded to a multiple of", "programs", "JAX"], checks)

# %% [markdown]
# ### A function that is new each time
#
# The function itself belongs to the key, too, so a `lambda` that is written within a loop is a new function in each round.
# We count both ways.


# %%
def double(x):
    return (2 * x).sum()


def with_a_lambda():
    for _ in range(3):
        jax.jit(lambda x: (2 * x).sum())(x)


def with_a_name():
    for _ in range(3):
        jax.jit(double)(x)


print("a lambda, three rounds:", counted(counting.compiled_by(with_a_lambda), "", "JAX's events"))
print("one function, three rounds:", counted(counting.compiled_by(with_a_name), "", "JAX's events"))

# %% [markdown]
# ### What padding costs
#
# Padding is not free, since the device computes on the zeros as well.
# The first table pads the 64 lengths of the opening.
# The second has cycles of a TPU v5e: of the course's network on n images, and of a layer with weights [1024, 1024] on n rows.

# %%
lengths = np.arange(1, 65)
ways = {
    "nothing": lengths,
    "a multiple of 8": 8 * np.ceil(lengths / 8).astype(int),
    "a power of two": 2 ** np.ceil(np.log2(lengths)).astype(int),
}
rows = []
for way, padded in ways.items():
    total = counting.fresh_step()
    programs = counting.compiled_by(lambda: [total(np.ones(n), 1.0, 1) for n in padded])
    more = 100 * (padded.sum() / lengths.sum() - 1)
    rows.append([way, counted(programs, "", "JAX's events"), int(padded.sum()), float(more)])
figures.table(["padded to", "programs", "numbers", "more, %"], rows)
tpu = on_a_tpu.cycles((8, 64, 128, 129))
figures.table(["n", "network", "layer"], tpu)

# %% [markdown]
# Powers of two need only 7 programs, for 31 % more numbers.
# <!-- holds: rows[2][1].value == 7 and round(rows[2][3]) == 31 -->
# Multiples of 8 are nearly as few, for only 11 %.
# <!-- holds: rows[1][1].value == 8 and round(rows[1][3]) == 11 -->
# But up to a length of 4,096 they would be 512, and powers of two 13.
# <!-- holds: 4_096 / 8 == 512 and len({*(2 ** np.ceil(np.log2(np.arange(1, 4097)))).tolist()}) == 13 -->
#
# A TPU may pay in any case: on 64 images, our network takes more cycles than on 128.
# <!-- holds: tpu[1][1].value > tpu[2][1].value -->
# For here the images' batch lies along the 128 columns of a tile, as in [*What the compiler makes of a layer*](5_what_the_compiler_makes_of_a_layer.ipynb), and the compiler fills these up anyway.
# <!-- holds: tpu[3][1].value > 1.8 * tpu[2][1].value -->
# **So along the 128, a program for 64 saves nothing: pad to 128.**
# But the layer's rows lie across the tiles, and half of them take 26 % fewer cycles.
# <!-- holds: round(100 * (1 - tpu[1][2].value / tpu[2][2].value)) == 26 -->
# The compiler chooses what lies along the 128 (for 8 images, another axis), so ask it before you choose small buckets.
# <!-- holds: tpu[0][1].value < tpu[2][1].value / 2 -->
#
# The zeros must not change the result: the mean of 6, 7, 8 and a zero is 21 / 4 instead of 7.
# So give the function the true length as an ordinary argument, and divide by that.
#
# ### A step that waits for its input
#
# Programs are compiled once, but batches prepared all the time.
# Let the host prepare four batches in 2, 2, 2 and 9 ms, and let each step take 4 ms on the device.
# If the host prepares a batch only when the step before has ended, the device waits for all 15 ms of this work.
#
# With a **queue**, the host works ahead.
# It prepares one batch at a time, and begins the next as soon as the queue has a free place.
# Step i takes its batch out of the queue when it begins, so with k places, batch i can begin when step i - k has begun:
#
# ```
#           k = 1                        k = 2
# i   batch i      step i          batch i      step i
# 0    0 to  2      2 to  6         0 to  2      2 to  6
# 1    2 to  4      6 to 10         2 to  4      6 to 10
# 2    6 to  8     10 to 14         4 to  6     10 to 14
# 3   10 to 19     19 to 23         6 to 15     15 to 19
# ```
#
# With one place, the long batch 3 begins with step 2, at 10 ms, and its step waits from 14 to 19.
# With two places, it begins at 6 ms, and its step waits for 1 ms only.
#
# **Exercise `tpu.step_begins`**: compute when each step begins.
# The host begins batch i when it has prepared batch i - 1 and step i - k has begun (the first k batches need not wait for a step).
# Step i begins when batch i is prepared and step i - 1 has ended.
# Everything begins at 0.


# %% tags=["exercise:tpu.step_begins"]
def step_begins(prepare, compute, k):
    """ms for each batch [n], ms for each step [n], places of the queue -> ms [n]"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    begins = []
    ready = 0  # when the host has prepared the batch before
    free = 0  # when the device has ended the step before
    for i in range(len(prepare)):
        start = ready
        if i >= k:
            start = max(ready, begins[i - k])
        ready = start + prepare[i]
        begins.append(max(ready, free))
        free = begins[i] + compute[i]
    return np.array(begins)
    # END SOLUTION


step_begins = check("tpu.step_begins", step_begins)

# %% [markdown]
# The example as a picture: without a queue, and with your function's queues.

# %% tags=["picture"]
prepare = np.array([2, 2, 2, 9])
compute = np.array([4, 4, 4, 4])
begins = {"no queue": (input_pictures.in_turn(prepare, compute), 0)}
for k in (1, 2):
    begins[f"k = {k}"] = (step_begins(prepare, compute, k), k)
input_pictures.timelines(prepare, compute, begins)

# %% [markdown]
# ## Check
#
# A queue needs no thread of its own.
# A JAX function that is called is put in line for the device, and Python goes on at once, until it reads a result ([asynchronous dispatch](https://docs.jax.dev/en/latest/async_dispatch.html)).
# So a plain loop prepares batches while the device computes.
# This one reads losses, but always the loss of k steps before.

# %%
compiled_step = jax.jit(double)


def train(batches, k):
    losses = []
    for i, batch in enumerate(batches):
        losses.append(compiled_step(batch))
        print("call", i, end="; ")
        if i >= k:
            float(losses[i - k])  # Python waits here until step i - k has ended
            print("read", i - k, end="; ")


for k in (0, 1, 2):
    print(f"\nk = {k}:", end=" ")
    train(input_pictures.batches(4), k)

# %% [markdown]
# With k = 0, a `float(loss)` in each round, Python waits for the end of step 0 before it prepares batch 1: the picture's *no queue*.
# With k = 1, Python prepares batch 2 when step 0 has ended.
# Just then step 1 begins, if its batch is ready.
# So batch 2 begins with step 2 - 1, as in a queue with one place: reading k steps back is a queue with k places.
# If no loss is read, Python runs about 32 calls ahead, their batches in memory.
# So read the loss of an earlier step, not of the step just called.
#
# ## Measure
#
# How long must the queue be?
# We run the 64 batches of the prediction on your function's virtual clock.
# A second host is slower: each eighth batch takes it 30 ms.

# %%
compute = np.full(64, 5)
results = {}
waits = []
for slow in (20, 30):
    prepare = np.where(np.arange(64) % 8 == 7, slow, 2)
    for k in (1, 2, 4, 8):
        begins = step_begins(prepare, compute, k)
        results[slow, k] = predicted(begins[-1] + 5, "ms", "your function's clock")
        steps = input_pictures.waiting(begins, compute)
        waits.append([f"{slow} ms", float(prepare.mean()), k, results[slow, k], steps])
heads = ["a slow batch", "ms for a batch, mean", "k", "64 steps", "steps that wait"]
figures.table(heads, waits)

# %% [markdown]
# The device alone needs 64 x 5 = 320 ms, and with the first host, a queue of 4 adds only the 2 ms of the first batch.
# (The first step always waits for its batch.)
# <!-- holds: [row[4] for row in waits] == [9, 9, 1, 1, 9, 9, 9, 9] -->
# <!-- holds: float(results[20, 4]) == float(results[20, 8]) == 322 -->
# **A queue of k batches hides a slow batch as long as k steps: 4 x 5 ms = 20 ms.**
# <!-- holds: float(results[20, 2]) > 400 > float(results[20, 4]) -->
# The second host needs 5.5 ms for a batch on average, so its last one is ready at 352 ms, and no queue ends before 357: it needs more workers, or less work.
# <!-- holds: waits[4][1] == 5.5 > 5 and float(results[30, 8]) == 64 * 5.5 + 5 == 357 -->
#
# ### What a trace shows
#
# How do you notice a compilation in your own program?
# `jax.profiler.trace` writes down what host and device do and when, and `StepTraceAnnotation` names and numbers the steps.
# We trace three, of which the last gets a new length.
# In each step we count `backend_compile_and_load`, JAX's name for a call of the compiler.

# %%
step = counting.fresh_step()
step(np.ones(8), 0.1, 2)  # compiled before the trace begins


def three_steps():
    for number, length in enumerate([8, 8, 9]):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            result = step(np.ones(length), 0.1, 2)
    return result


seen = counting.traced(three_steps, "train")
for number, names in enumerate(seen):
    compilations = counted(names["backend_compile_and_load"], "", "the trace")
    print(f"train {number}: programs compiled: {compilations}")

# %% [markdown]
# The compilation is in step 2; a training loop that runs already should have none.
# <!-- holds: [names["backend_compile_and_load"] for names in seen] == [0, 0, 1] -->
# [XProf](https://openxla.org/xprof/trace_viewer) draws such a trace along an axis of time, by its documentation with a row *XLA Ops* for each TPU.
# A chip that waits for a batch has nothing to run, so a wait should be a gap in this row (we had no TPU to see one).
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
first = counting.fresh_step()
eight = [*second_calls.values(), (x[:7], 0.3, 2), (x, 0.1, 2)]
programs = counted(counting.compiled_by(lambda: [first(*c) for c in eight]), "", "JAX's events")
guesses = [
    ("eight calls", programs_guess, programs),
    ("64 steps", steps_guess, results[20, 2]),
]
figures.guesses(guesses)

# %% [markdown]
# The eight calls have five keys: the first call's, and those for an `int`, for power 3, for 7 numbers and for float16.
# <!-- holds: programs.value == 5 -->
# Of each slow batch's 20 ms, a queue of 2 hides only 2 x 5 = 10, so the eight of them add 80 ms to the 322 of a longer queue.
# <!-- holds: float(results[20, 2]) == 402 == 322 + 8 * 10 -->
#
# ## On trial
#
# The chapter's claims are tried in other lessons.
#
# ## Recap
#
# - **The rule to keep: pad to powers of two, and the lengths up to L need log2(L) + 1 programs, 7 for 64, for less than twice the numbers.**
#   <!-- holds: rows[2][1].value == 7 == np.log2(64) + 1 and (ways["a power of two"] < 2 * lengths).all() -->
# - On a TPU, what lies along the 128 is filled up to 128 anyway.
# - A queue of k batches hides a slow batch as long as k steps, if the host keeps up on average.
#
# ### Outside
#
# `JAX_LOG_COMPILES=1 python train.py` logs each compilation, and `JAX_EXPLAIN_CACHE_MISSES=1` its reason.
# Grain and `tf.data` prepare batches in several workers.
# After `pip install xprof`, both `xprof --port 8791 FOLDER` and TensorBoard show what `jax.profiler.trace(FOLDER)` wrote.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_last_batch", None)
# quiz("tpu.quiz_step_number", None)
# quiz("tpu.quiz_longer_prefetch", None)
# BEGIN SOLUTION
quiz("tpu.quiz_last_batch", "b")
quiz("tpu.quiz_step_number", "c")
quiz("tpu.quiz_longer_prefetch", "d")
# END SOLUTION
