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
#     title: Unlike machines
#     minutes: 55
#     needs: []
# ---

# %% [markdown]
# # Unlike machines
#
# **2,000 photographs a second, and then 2,500, on the same four GPUs.**
# Two of them were new, and two were old.
# First each got 200 photographs in every step, and then the new ones 300 (*published*: [pull request 580](https://github.com/huggingface/pytorch-image-models/pull/580) of pytorch-image-models).
# A step took 800 / 2,000 = 0.4 seconds, and then 1,000 / 2,500 = 0.4 seconds.
# So the new GPUs did half as much again in the time in which they had waited for the old ones.
#
# ## What you will be able to do
#
# - split a batch so that unlike machines are done at the same moment, and train as one process;
# - follow machines whose speed changes;
# - say when a slow machine is better left out.
#
# You need lessons [2](2_the_ring.ipynb) and [3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The **speed** of a machine is how many photographs it computes in a second.
#
# 1. Three equal machines share batches of 64.
#    Each needs 4 ms for a step, and 1 ms for each photograph; a message has 2 ms of latency.
#    A fourth machine joins, and each gets as many photographs as it can do in the same time.
#    How fast must the fourth be, in percent of the others' speed, for a step to become shorter?
# 2. Four other machines share each batch so that none of them waits.
#    Then one of them suddenly needs three times as long for a photograph.
#    After each step, the estimate of each speed becomes the mean of itself and the newest measurement.
#    In how many steps do the machines wait for more than a tenth of the time, on average?

# %%
from dataclasses import replace
from time import monotonic

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import CostModel, ring_all_reduce, small_training
from labkit.distributed.unlike_machines import Group, Machine, equal_split, groups_of
from labkit.distributed.unlike_training import rehearse, train
from labkit.provenance import counted, measured, predicted

# STUB:
# guesses = {
#     "slowest that helps": predict("distributed.slowest_helper", None, "%"),
#     "steps to recover": predict("distributed.steps_to_recover", None, "steps"),
# }
# BEGIN SOLUTION
guesses = {
    "slowest that helps": predict("distributed.slowest_helper", 25, "%"),
    "steps to recover": predict("distributed.steps_to_recover", 2, "steps"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Three fast, one slow
#
# Three machines need 1 ms for a photograph, and a fourth one 4 ms.
# In every step, each needs 4 ms more, its **fixed** time.
# They share 64 photographs, first equally:
#
# | | photographs | computes | waits |
# |---|---|---|---|
# | ranks 0 to 2 | 16 | 4 + 16 x 1 = 20 ms | 48 ms |
# | rank 3 | 16 | 4 + 16 x 4 = 68 ms | 0 ms |
#
# The fast machines wait for 48 of 68 ms.
#
# Now let the shares be proportional to the speeds: 1, 1, 1 and 1/4 photographs per ms, together 3.25.
# The fast ones get 64 x 1 / 3.25 = 19.7, and the slow one 64 x 0.25 / 3.25 = 4.9.
# With 20, 20, 19 and 5, all are done after 23 or 24 ms.
#
# ### Whole photographs
#
# Speeds of 5, 3 and 2 share a batch of 7: 3.5, 2.1 and 1.4.
# Rounded down, these are 3, 2 and 1, and one is left.
# It goes to the **largest remainder**, 0.5, so the counts are 4, 2 and 1.
#
# `np.argsort(x, kind="stable")` gives the places of x, that of the smallest number first; of equal numbers, the first comes first.
#
# **Exercise `distributed.split_batch`**: hand out what is left, one each, to the largest remainders.
# Of equal remainders, the first wins.


# %% tags=["exercise:distributed.split_batch"]
def split_batch(speeds, batch):
    """speeds [N], and photographs in all -> whole numbers of photographs [N]"""
    shares = batch * speeds / speeds.sum()
    counts = np.floor(shares).astype(int)
    # STUB:
    # pass  # yours: hand out what is left
    # BEGIN SOLUTION
    left = batch - counts.sum()
    order = np.argsort(counts - shares, kind="stable")
    counts[order[:left]] += 1
    # END SOLUTION
    return counts


split_batch = check("distributed.split_batch", split_batch)

# %% [markdown]
# ### One all-reduce for all
#
# As in lesson 3, a rank's mean gradient counts for as many photographs as it has.
# All ranks know the batch, so each multiplies by count / batch, and the sum is the batch's gradient.
#
# The next split needs all speeds.
# Each rank sends its own, count / seconds, behind the gradient: in its own place, with zeros in the others.
# Say that rank 0 did 3 photographs in 0.5 s, and rank 1 did 1 in 0.25 s:
#
# ```
#           gradient     count / batch     what it sends
# rank 0    [4, 8]       3/4               3   6   |   6   0
# rank 1    [8, 4]       1/4               2   1   |   0   4
# the sum                                  5   7   |   6   4
# ```
#
# So the gradient over all four is [5, 7], and the speeds are 6 and 4.
#
# **Exercise `distributed.gradient_and_speeds`**: return both, with a single `ring_all_reduce`.
# `torch.cat([x, y])` joins two tensors; `x[:-n]` is all but the last n numbers, and `x[-n:]` these.


# %% tags=["exercise:distributed.gradient_and_speeds"]
def gradient_and_speeds(rank, ranks, gradient, count, seconds, batch):
    """mean gradient [D] over this rank's `count` -> that over the batch [D], all speeds [ranks]"""
    speeds = torch.zeros(ranks)
    # STUB:
    # return gradient, speeds
    # BEGIN SOLUTION
    speeds[rank] = count / seconds
    total = ring_all_reduce(torch.cat([gradient * count / batch, speeds]))
    return total[:-ranks], total[-ranks:]
    # END SOLUTION


gradient_and_speeds = check("distributed.gradient_and_speeds", gradient_and_speeds)

# %% [markdown]
# ### Who takes part?
#
# Machine A needs 4 ms for a step and 1 ms for a photograph; machine B needs 10 ms and 2 ms.
# An all-reduce between them takes 5 ms.
# If both are done after T ms, A has done (T - 4) / 1 photographs, and B (T - 10) / 2.
# Together, that is the batch, say 30:
#
# $$\frac{T - 4}{1} + \frac{T - 10}{2} = 30, \quad\text{so}\quad T = \frac{30 + 4/1 + 10/2}{1/1 + 1/2} = \frac{39}{1.5} = 26$$
#
# A does 22 photographs and B 8, and with the all-reduce the step takes 31 ms.
# A alone needs 4 + 30 = 34 ms.
#
# For a batch of 12, T = 21 / 1.5 = 14, and the step takes 19 ms.
# A alone needs 16 ms, so B is left out.
#
# **Exercise `distributed.best_group`**: compute the seconds of a step of each group, as above; photographs may be cut.
# `groups_of(3)` gives (0,), (1,), (2,), (0, 1) and so on, up to (0, 1, 2).


# %% tags=["exercise:distributed.best_group"]
def best_group(per_photo, fixed, messages, batch):
    """seconds [N], [N], and of an all-reduce among 1 to N machines [N] -> places of the best"""
    best, shortest = None, np.inf
    for group in groups_of(len(per_photo)):
        a, f = per_photo[list(group)], fixed[list(group)]  # of its machines
        # STUB:
        # seconds = 0.0  # yours
        # BEGIN SOLUTION
        compute = (batch + (f / a).sum()) / (1 / a).sum()
        seconds = compute + messages[len(group) - 1]
        # END SOLUTION
        if seconds < shortest:
            best, shortest = group, seconds
    return best


best_group = check("distributed.best_group", best_group)

# %% [markdown]
# ## Check
#
# `train` starts a real rank for each machine.
# In a step, a rank computes the gradient of its shard, calls your `gradient_and_speeds`, changes its weights, and splits the next batch with your `split_batch`; the first split is equal.
# On an **emulated clock**, a rank does not sleep, but says how long its machine would take.
#
# After six steps, are the weights those of one process, and what does the plain mean of the ranks' gradients lead to?


# %%
def plain_mean(rank, ranks, gradient, count, seconds, batch):
    _, speeds = gradient_and_speeds(rank, ranks, gradient, count, seconds, batch)
    return ring_all_reduce(gradient) / ranks, speeds


fast, slow = Machine(per_photo=1e-3, fixed=4e-3), Machine(per_photo=4e-3, fixed=4e-3)
link = CostModel(latency=2e-3, bandwidth=10e6)
three, four = Group([fast] * 3, link), Group([fast] * 3 + [slow], link)

start = parameters_to_vector(small_training.network().parameters()).detach()
one_process = train(Group([fast]), split_batch, gradient_and_speeds, steps=6).weights
way = one_process - start
for name, combine in {"weighted": gradient_and_speeds, "plain mean": plain_mean}.items():
    off = train(four, split_batch, combine, steps=6).weights - one_process
    percent = 100 * float(off.norm() / way.norm())
    close = bool(off.abs().max() < 1e-6)
    print(f"{name}: within 0.000001: {close}, off by {percent:.0f} % of the way from the start")

# %% [markdown]
# In the plain mean, the slow machine's 5 photographs count as much as a fast one's 20.
#
# ## Measure
#
# Who waits in the first three steps?
# `rehearse` makes the splits of `train`, without gradients.

# %% tags=["picture"]
from labkit.distributed.unlike_pictures import newcomer_picture, split_picture, waiting_picture

splits = {
    "equal": rehearse(four, equal_split, steps=3),
    "by speed": rehearse(four, split_batch, steps=3),
}
split_picture(splits, word="counted on the emulated clock")
trained = train(four, split_batch, gradient_and_speeds, steps=3)
print("as the real ranks:", bool((trained.counts == splits["by speed"].counts).all()))

# %% [markdown]
# In step 0, 4 of a fast machine's 20 ms were fixed, but only 4 of the slow one's 68.
# So the fast ones looked too slow, and the slow one got 6 photographs; its next measurement mended that.
#
# ### A machine changes
#
# Heat or other programs change a machine's speed.
# So we measure in each step, and **smooth**: some of the estimate is new, and the rest is the old estimate.
# If half is new, a fall from 1,000 to 333 photographs a second is first seen as 667, then as 500.
#
# From step 20 on, rank 0 needs three times as long for a photograph.

# %% tags=["picture"]
changing = replace(four, machines=[replace(fast, change_step=20, change=3), fast, fast, slow])
runs = {
    "equal": rehearse(changing, equal_split, 40),
    "first speeds": rehearse(changing, split_batch, 40, share_of_new=0),
    "half new": rehearse(changing, split_batch, 40, share_of_new=0.5),
    "all new": rehearse(changing, split_batch, 40, share_of_new=1),
}
waiting_picture(runs, change=20)
rows = []
for name, run in runs.items():
    idle = [counted(seconds, "s", "the emulated clock") for seconds in run.idle.sum(axis=0)]
    rows.append([name, *idle, counted(run.seconds, "s", "the emulated clock")])
figures.table(["split", *[f"rank {rank} waits" for rank in range(4)], "40 steps"], rows)

# %% [markdown]
# All new is best here, so why smooth?
# Let every machine take up to 30 % more or less in each step, at random; the table has means of 20 runs.

# %%
rows = []
for share in (0, 0.1, 0.5, 1):
    row = [share]
    for group in (four, changing):
        seeds = [replace(group, jitter=0.3, seed=seed) for seed in range(20)]
        noisy = [rehearse(one, split_batch, 40, share_of_new=share) for one in seeds]
        seconds, waiting = np.mean([(run.seconds, run.waiting.mean()) for run in noisy], axis=0)
        row.append(counted(seconds, "s", "the emulated clock"))
        row.append(counted(100 * waiting, "%", "the emulated clock"))
    rows.append(row)
heads = ["part that is new", "no change", "waiting", "a change in step 20", "waiting there"]
figures.table(heads, rows)

# %% [markdown]
# Smoothing gains 3 % at most, and too much of it is late: with a change, 0.1 costs 9 % more time than 0.5.
# No split removes the last sixth of waiting: nobody knows who will be slow in the next step.
#
# ### With a real clock
#
# Now machines and link are five times as slow; the ranks sleep, and the link is emulated.
# These are steps 2 and 3:

# %% tags=["timing", "picture", "nbval-ignore-output"]
begin = monotonic()
slower = [Machine(5 * one.per_photo, 5 * one.fixed) for one in four.machines]
calm = Group(slower, CostModel(5 * link.latency, link.bandwidth / 5))
cases = {
    "equal": (calm, equal_split),
    "by speed": (calm, split_batch),
    "without rank 3": (calm.only([0, 1, 2]), split_batch),
}
runs_now = {}
rows = []
for name, (group, split) in cases.items():
    run = train(group, split, gradient_and_speeds, steps=5, sleeps=True)
    runs_now[name] = run
    expected = predicted(rehearse(group, split, steps=5).steps[4], "s", "the emulated clock")
    rows.append([name, expected, measured(run.steps[2:].min(), "s")])
split_picture(runs_now, slice(2, 4), word="measured, machines and link emulated")
figures.table(["a step", "by `rehearse`", "fastest of three"], rows)
print("all three runs and their processes:", measured(monotonic() - begin, "s"))

# %% [markdown]
# ## Explain
#
# By speed, hardly anybody waits, and still a step is longer than without the slow machine: with it, the ring has 6 messages one after the other instead of 4.
# For which batch is it worth that?

# %%
machines = four.machines
per_photo = np.array([machine.per_photo for machine in machines])
fixed = np.array([machine.fixed for machine in machines])
messages = np.array([link.predict("ring_all_reduce", n, bytes=4 * 3962) for n in (1, 2, 3, 4)])
rows = []
for batch in (64, 128, 256):
    best = best_group(per_photo, fixed, messages, batch)
    row = [batch, "with all" if len(best) == 4 else "without rank 3"]
    for group in (three, four):
        run = rehearse(group, split_batch, steps=4, batch=batch)
        row.append(counted(run.steps[3], "s", "the emulated clock"))
    rows.append(row)
figures.table(["batch", "best_group says", "three: step 3", "four: step 3"], rows)

# %% [markdown]
# What a machine takes off the others grows with the batch; what its messages cost does not.
# Below, a fourth machine of any speed joins; it helps from the mark on.

# %% tags=["picture"]
from labkit.distributed.unlike_machines import slowest_that_helps

newcomer_picture(three, slow, [64, 256])
least = slowest_that_helps(three, slow, batch=64, bytes=4 * 3962) * fast.per_photo
late = (runs["half new"].waiting[20:] > 0.1).sum()
results = {
    "slowest that helps": predicted(100 * least, "%", "the balanced step"),
    "steps to recover": counted(late, "steps", "the emulated clock"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# Among four ranks, the ring takes 6 x 2.396 ms instead of 4 x 2.528 ms, which is 4.26 ms more.
# So 64 photographs, which three fast machines do in 21.33 ms, have to be done in 17.07 ms.
# The three do 3 x 17.07 = 51.2 of them, and for the other 12.8 the fourth needs a speed of 12.8 / 17.07 = 0.75 per ms.
#
# ## On trial
#
# No claim is tried here; lessons 6 and 7 have those about servers.
#
# ## Recap
#
# **The rule to keep: give each machine what it does in the same time, and leave out one that saves less than its messages cost; here, below 75 % of the others' speed.**
#
# ### Outside
#
# PyTorch's DDP knows no counts ([issue 67253](https://github.com/pytorch/pytorch/issues/67253)); its `join()` is for unequal numbers of *batches*.
# Horovod leaves shares to an `if` on the rank ([issue 121](https://github.com/horovod/horovod/issues/121)).
# DeepSpeed's `train_batch_size` is micro-batch x accumulation steps x GPUs: shares are equal ([configuration](https://www.deepspeed.ai/docs/config-json/)).
# With **backup workers**, a step ends without the slowest gradients ([Chen and others](https://arxiv.org/abs/1604.00981)).
# We left out memory, which may limit a share, and BatchNorm.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_whole_step", None)
# quiz("distributed.quiz_nothing_to_do", None)
# quiz("distributed.quiz_sum_of_losses", None)
# BEGIN SOLUTION
quiz("distributed.quiz_whole_step", "b")
quiz("distributed.quiz_nothing_to_do", "c")
quiz("distributed.quiz_sum_of_losses", "a")
# END SOLUTION
