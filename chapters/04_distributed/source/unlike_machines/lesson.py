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
#     number: 8
#     minutes: 55
#     needs: []
#     able: split a batch so that unlike machines are done at the same moment, and train as one process would; follow machines whose speed changes; say when a slow machine is better left out
#     runs_on: as lesson 1
# ---

# %% [markdown]
# # Unlike machines
#
# **About 2,000 photographs a second, and then about 2,500, on the same four GPUs.**
# First each got 200 photographs a step, and then the two newer ones 300 (*published*: [pull request 580](https://github.com/huggingface/pytorch-image-models/pull/580)).
# A step took about 800 / 2,000 = 0.4 seconds, and then 1,000 / 2,500 = 0.4; so the newer ones seem to have waited before.
# (Below, the batch stays.)
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
# 1. Three equal machines share batches of 64.
#    Each needs 4 ms for a step, and 1 ms for each photograph.
#    The gradient of 16 kB goes around a ring, whose links have 2 ms of latency and 10 MB/s.
#    A fourth joins, also with 4 ms for a step, and each gets as many as it can do in the same time.
#    How fast must it be for a photograph, in percent of the others' speed, to make a step shorter?
# 2. Three machines as above, and one that needs 4 ms for a photograph, share batches of 64 so that none waits.
#    Then one of the three needs three times as long for a photograph.
#    After each step, the estimate of each speed becomes its mean with the newest measurement.
#    Whoever is done early waits for the slowest.
#    In how many steps do the machines wait, on average, for more than a tenth of the slowest one's time?

# %%
from dataclasses import replace
from time import monotonic

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import CostModel, ring_all_reduce, small_training
from labkit.provenance import counted, measured, predicted
from labkit_lessons.distributed.unlike_machines.splits import Group, Machine, equal_split, groups_of
from labkit_lessons.distributed.unlike_machines.training import BYTES, rehearse, train

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
# Three machines need 1 ms for a photograph, a fourth one 4 ms, and each 4 ms more in a step, its **fixed** time.
# They share 64 photographs equally:
#
# | | photographs | computes | waits |
# |---|---|---|---|
# | ranks 0 to 2 | 16 | 4 + 16 x 1 = 20 ms | 48 ms |
# | rank 3 | 16 | 4 + 16 x 4 = 68 ms | 0 ms |
#
# In proportion to 1, 1, 1 and 1/4 photographs per ms, together 3.25, the shares are 64 x 1 / 3.25 = 19.7, and 64 x 0.25 / 3.25 = 4.9.
# With 20, 20, 19 and 5, all are done after 23 or 24 ms.
#
# ### Whole photographs
#
# A machine's **speed** is how many photographs it does in a second.
# Speeds of 5, 3 and 2 share a batch of 7: 3.5, 2.1 and 1.4.
# Rounded down, these are 3, 2 and 1; the one that is left goes to the **largest remainder**, 0.5.
#
# `np.argsort(x, kind="stable")` gives the places of x's numbers, from the smallest to the largest; equal ones keep their order.
#
# **Exercise `distributed.split_batch`**: hand out what is left, one each, to the largest remainders.
# Of equal remainders, the first wins.


# %% tags=["exercise:distributed.split_batch"]
def split_batch(speeds, batch):
    """array speeds [N], and photographs in all -> array of whole numbers: photographs [N]"""
    shares = batch * speeds / speeds.sum()
    counts = np.floor(shares).astype(int)
    # STUB:
    # return None  # yours: hand out what is left, and return the counts
    # BEGIN SOLUTION
    left = batch - counts.sum()
    order = np.argsort(counts - shares, kind="stable")
    counts[order[:left]] += 1
    return counts
    # END SOLUTION


split_batch = check("distributed.split_batch", split_batch)

# %% [markdown]
# ### One all-reduce for all
#
# As in lesson 3, each rank multiplies its mean gradient by count / batch, and the sum is the batch's gradient.
#
# The next split needs all speeds, count / seconds.
# `seconds` are a rank's own, without waiting and messages.
# They contain the fixed time, so speeds look too low; but a split that stays has counts in proportion to count / seconds, so all seconds are equal.
# Each rank sends its speed behind the gradient: in its own place, with zeros in the others.
# Say that rank 0 did 3 photographs in 0.5 s, and rank 1 did 1 in 0.25 s:
#
# ```
#           gradient     count / batch     what it sends
# rank 0    [4, 8]       3/4               3   6   |   6   0
# rank 1    [8, 4]       1/4               2   1   |   0   4
# the sum                                  5   7   |   6   4
# ```
#
# All ranks get the same speeds, bit for bit, and so make the same split: no photograph is lost.
#
# **Exercise `distributed.gradient_and_speeds`**: return both, with a single `ring_all_reduce` of float32 numbers, each sent once.
# `torch.cat([x, y])` joins two tensors; `x[-n:]` is its last n numbers, and `x[:-n]` the others.


# %% tags=["exercise:distributed.gradient_and_speeds"]
def gradient_and_speeds(rank, ranks, gradient, count, seconds, batch):
    """mean gradient [D] over this rank's `count` -> that over the batch [D], all speeds [ranks]"""
    speeds = torch.zeros(ranks)
    # STUB:
    # return None  # yours
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
# If both are done after T ms, A has done (T - 4) / 1 photographs, and B (T - 10) / 2, together the batch, say 30:
#
# $$\frac{T - 4}{1} + \frac{T - 10}{2} = 30, \quad\text{so}\quad T = \frac{30 + 4/1 + 10/2}{1/1 + 1/2} = \frac{39}{1.5} = 26$$
#
# With the all-reduce, the step takes 31 ms, and A alone needs 4 + 30 = 34 ms.
#
# For a batch of 12, T = 21 / 1.5 = 14, and the step takes 19 ms; A alone needs 16 ms, so B is left out.
#
# **Exercise `distributed.best_group`**: compute each group's seconds of a step, as above; photographs may be cut.
# `groups_of(3)` gives (0,), (1,), (2,), (0, 1) and so on.


# %% tags=["exercise:distributed.best_group"]
def best_group(per_photo, fixed, messages, batch):
    """seconds for a photo [N], fixed [N], of an all-reduce among 1 to N [N] -> best places"""
    best, shortest = None, np.inf
    for group in groups_of(len(per_photo)):
        a, f = per_photo[list(group)], fixed[list(group)]  # of its machines
        # STUB:
        # seconds = np.inf  # yours
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
# `train` starts a real rank for each machine, with your functions and the small network of lesson 5: 3,962 weights, or 15,848 bytes.
# On an **emulated clock**, a rank does not sleep, but says how long its machine would take.
#
# After six steps, how far are the weights from those of one process, in percent of the way from the start, and with the plain mean?


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
    print(f"{name}: within 0.000001: {close}, off by {percent:.0f} % (counted)")

# %% [markdown]
# ## Measure
#
# Who waits in the first three steps?
# In step 0 no speed is known, so the shares are equal.
# `rehearse` makes the splits of `train`, without gradients.

# %% tags=["picture"]
from labkit_lessons.distributed.unlike_machines.pictures import (
    newcomer_picture,
    split_picture,
    waiting_picture,
)

splits = {
    "equal": rehearse(four, equal_split, steps=3),
    "by speed": rehearse(four, split_batch, steps=3),
}
split_picture(splits, word="counted on the emulated clock")
trained = train(four, split_batch, gradient_and_speeds, steps=3)
print("as the real ranks:", bool((trained.counts == splits["by speed"].counts).all()))

# %% [markdown]
# In step 0, the fixed 4 ms were a larger part of 20 ms than of 68, so rank 3 got 6 next; one more measurement mended that.
# <!-- holds: [list(counts) for counts in splits["by speed"].counts] == [[16, 16, 16, 16], [20, 19, 19, 6], [20, 20, 19, 5]] -->
# <!-- holds: [round(1e3 * (one.fixed + 16 * one.per_photo)) for one in (fast, slow)] == [20, 68] -->
#
# ### A machine changes
#
# Heat changes speeds, so we measure in each step, and **smooth**: an estimate becomes its mean with the newest measurement.
# If half is new, a fall from 1,000 to 333 is seen as 667, then as 500.
#
# From step 20 on, rank 0 needs three times as long for a photograph (`replace` copies, with some fields changed).

# %% tags=["picture"]
changing = replace(four, machines=[replace(fast, change_step=20, change=3), fast, fast, slow])
runs = {
    "equal": rehearse(changing, equal_split, 40),
    "first speeds": rehearse(changing, split_batch, 40, share_of_new=0),
    "half new": rehearse(changing, split_batch, 40, share_of_new=0.5),
    "all new": rehearse(changing, split_batch, 40, share_of_new=1),
}
waiting_picture(runs, change=20, word="counted on the emulated clock")
rows = []
for name, run in runs.items():
    idle = [counted(seconds, "s", "the emulated clock") for seconds in run.idle.sum(axis=0)]
    rows.append([name, *idle, counted(run.seconds, "s", "the emulated clock")])
figures.table(["split", *[f"rank {rank} waits" for rank in range(4)], "40 steps"], rows)

# %% [markdown]
# All new is best here.
# <!-- holds: min(runs, key=lambda name: runs[name].seconds) == "all new" -->
# But let every machine take up to 30 % more or less in each step, at random (means of 20 runs; the last line knows the true speeds):


# %%
def means_of_20(group, split, share):
    noisy = [replace(group, jitter=0.3, seed=seed) for seed in range(20)]
    noisy_runs = [rehearse(one, split, 40, share_of_new=share) for one in noisy]
    seconds = np.mean([run.seconds for run in noisy_runs])
    waiting = 100 * np.mean([run.waiting[1:].mean() for run in noisy_runs])  # step 0 is equal
    clock = "the emulated clock"
    return [counted(seconds, "s", clock), counted(waiting, "%", clock)]


def row(name, split, share):
    return [name, *means_of_20(four, split, share), *means_of_20(changing, split, share)]


rows = [row("equal shares", equal_split, 0)]
rows += [row(share, split_batch, share) for share in (0, 0.1, 0.5, 1)]
rows.append(["true speeds", *means_of_20(four, lambda speeds, batch: [20, 20, 19, 5], 1), "", ""])
heads = ["part that is new", "no change", "waiting", "a change in step 20", "waiting there"]
figures.table(heads, rows)

# %% [markdown]
# Without a change, 0.1 is best, since it averages the most measurements; all new takes 3 % longer, hardly better than the first speeds, kept for ever.
# <!-- holds: min(rows[:5], key=lambda row: row[1].value)[0] == 0.1 and round(100 * (rows[4][1].value / rows[2][1].value - 1)) == 3 -->
# <!-- holds: 0 < rows[1][1].value / rows[4][1].value - 1 < 0.01 -->
# With a change, 0.1 is late, and takes 9 % longer than 0.5.
# <!-- holds: round(100 * (rows[2][3].value / rows[3][3].value - 1)) == 9 -->
# So the best part depends on how often speeds change.
# <!-- holds: [min(rows[:5], key=lambda row: row[column].value)[0] for column in (1, 3)] == [0.1, 0.5] -->
# Even the true speeds leave 15 % of waiting: nobody knows who will be slow in the next step.
# <!-- holds: round(rows[5][2].value) == 15 -->
#
# ### With a real clock
#
# Now the ranks sleep, and the link is emulated, all five times as slow, so that waking counts less.
# The picture shows steps 2 and 3.
# The constant lets every step take as long as equal shares.

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
constant = counted(rehearse(calm, equal_split, steps=5).steps[4], "s", "the emulated clock")
for name, (group, split) in cases.items():
    run = train(group, split, gradient_and_speeds, steps=5, sleeps=True)
    runs_now[name] = run
    expected = counted(rehearse(group, split, steps=5).steps[4], "s", "the emulated clock")
    fastest = measured(run.steps[2:].min(), "s", "emulated machines and link")
    rows.append([name, expected, constant, fastest])
split_picture(runs_now, slice(2, 4), word="measured, machines and link emulated")
figures.table(["a step", "by `rehearse`", "constant", "fastest of three"], rows)
print("all three runs and their processes:", measured(monotonic() - begin, "s"))

# %% [markdown]
# ## Explain
#
# By the emulated clock, hardly anybody waits by speed, and still a step is 11 ms longer than without rank 3; in the measurement, a busy computer may add more, or even reverse the order; then run the cell again.
# Its ring has 6 messages in turn, each a quarter of 15,848 bytes, instead of 4 of a third: unslowed, 6 x 2.396 - 4 x 2.528 = 4.26 ms more (predicted), and computing gets only 26 - 24 = 2 ms shorter.
# <!-- holds: BYTES == 15_848 and [round(1e3 * (link.latency + BYTES / n / link.bandwidth), 3) for n in (4, 3)] == [2.396, 2.528] -->
# <!-- holds: round(1e3 * (link.predict("ring_all_reduce", 4, bytes=BYTES) - link.predict("ring_all_reduce", 3, bytes=BYTES)), 2) == 4.26 -->
# <!-- holds: [round(1e3 * fast.fixed + counts[0]) for counts in (rehearse(three, split_batch, steps=3).counts[2], rehearse(four, split_batch, steps=3).counts[2])] == [26, 24] -->
# For which batches is it worth that?

# %%
machines = four.machines
per_photo = np.array([machine.per_photo for machine in machines])
fixed = np.array([machine.fixed for machine in machines])
messages = np.array([link.predict("ring_all_reduce", n, bytes=BYTES) for n in (1, 2, 3, 4)])
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
# A batch of B takes B / 3.25 instead of B / 3 ms, which saves those 4.26 ms from B = 167 on (predicted, photographs cut).
# <!-- holds: 166 * (1 / 3 - 1 / 3.25) < 1e3 * (messages[3] - messages[2]) < 167 * (1 / 3 - 1 / 3.25) and (1e-3 / per_photo).sum() == 3.25 -->
# <!-- holds: [len(best_group(per_photo, fixed, messages, batch)) for batch in (166, 167)] == [3, 4] -->
# <!-- holds: [row[1] for row in rows] == [["with all", "without rank 3"][row[2].value < row[3].value] for row in rows] -->
#
# Below, a fourth machine of any speed joins; with photographs that can be cut, it helps from the mark on.

# %% tags=["picture"]
from labkit_lessons.distributed.unlike_machines.splits import slowest_that_helps

newcomer_picture(three, slow.fixed, [64, 256])
least = slowest_that_helps(three, slow.fixed, batch=64, bytes=BYTES)  # photographs per second
percent = 100 * least * fast.per_photo  # a fast one does 1 / per_photo
late = (runs["half new"].waiting[20:] > 0.1).sum()
results = {
    "slowest that helps": predicted(percent, "%", "the balanced step"),
    "steps to recover": counted(late, "steps", "the emulated clock"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# To make up for 4.26 ms, 64 photographs have to be done in 64 / 3 - 4.26 = 17.07 ms (predicted).
# <!-- holds: round(64 / 3 - 1e3 * (messages[3] - messages[2]), 2) == 17.07 -->
# Three do 3 x 17.07 = 51.2 of them; for the others the fourth needs 12.8 / 17.07 = 0.75 per ms.
# <!-- holds: round(3 * (64 / 3 - 1e3 * (messages[3] - messages[2])), 1) == 51.2 and round(percent / 100, 2) == 0.75 -->
#
# ## On trial
#
# No article's claim is about unlike machines.
#
# ## Recap
#
# **The rule to keep: give each machine what it does in the same time, and leave out one that saves less than its messages cost; here, if photographs could be cut, one below 75 % of the others' speed with batches of 64, and 16 % with 256 (predicted).**
# <!-- holds: [round(100 * slowest_that_helps(three, slow.fixed, batch=batch, bytes=BYTES) * fast.per_photo) for batch in (64, 256)] == [75, 16] -->
#
# ### Outside
#
# PyTorch's DDP ([issue 67253](https://github.com/pytorch/pytorch/issues/67253)) and Horovod ([issue 1060](https://github.com/horovod/horovod/issues/1060)) know no counts: weigh the losses yourself.
# As we do, [LB-BSP](https://arxiv.org/abs/1806.02508) adapts shares.
# We left out memory, BatchNorm, unlike links, shares too small for a GPU, and overlap (lesson 4).
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
