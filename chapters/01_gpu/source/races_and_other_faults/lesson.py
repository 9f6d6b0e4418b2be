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
#     title: Races and other faults
#     number: 10
#     minutes: 60
#     needs: [numba]
#     able: find the faults of a kernel that gives right results, and prove the repair
#     runs_on: the SIMT machine
# ---

# %% [markdown]
# # Races and other faults
#
# **Three kernels were handed in.
# Each passed its author's tests, and each is wrong.**
# Numba's own examples had such a kernel.
# How do you find a fault that no result shows?
#
# ## What you will be able to do
#
# - read a report of hazards, and repair what it names;
# - test numbers by a law, far outside of their usual range;
# - find lost elements with a probe that tries each place.
#
# You need lessons 4 to 6: thread, block, warp, lane, guard, barrier, a tile of shared memory.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The third kernel looks for the largest number of a row.
# The 32 lanes of a warp do it together, in rounds: in each round, half of the lanes that are left take over what the other half has found.
# Two mistakes are in it.
#
# 1. There is no barrier between the rounds.
#    On rows of 64 numbers, the SIMT machine runs the kernel 100 times.
#    How many of the 100 results are right?
# 2. The number of lanes in the first round is half of the row's length, and halves are rounded down.
#    For how many of the lengths from 1 to 31 does the kernel find the maximum, wherever it stands?

# %%
import math

import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, profile
from labkit.provenance import counted
from labkit_lessons.gpu.races_and_other_faults import evidence

# STUB:
# race_guess = predict("gpu.racy_runs", None, "runs")
# length_guess = predict("gpu.lucky_lengths", None, "lengths")
# BEGIN SOLUTION
race_guess = predict("gpu.racy_runs", 90, "runs")
length_guess = predict("gpu.lucky_lengths", 16, "lengths")
# END SOLUTION
zero, three, infinity = np.float32(0), np.float32(3), np.float32(np.inf)

# %% [markdown]
# ## Build
#
# ### Case 1: a neighbour that does not exist
#
# Each element becomes the mean of itself and its two neighbours; the first and the last have only one, so they stay as they are.
# A block keeps its elements in a tile of shared memory, with one place more on either side for the neighbours in the next blocks.
# With blocks of 4 threads, 8 elements need two tiles, and the numbers are those of `x`:
#
# ```
# x            3    6    0    9    3    3    6    0
# block 0  ?   3    6    0    9    3
# block 1                     9    3    3    6    0   ?
# y            3    3    5    4    5    4    3    0
# ```
#
# The two places with a question mark have no element.
# Nobody needs them either, because both ends stay as they are.
# The author's blocks have 32 threads, and the author writes: "Right for 64, for 640 and for 6,400 numbers."
# Let the SIMT machine run the kernel on 64 numbers, and read its report.


# %%
@cuda.jit
def handed_in_smooth(x, y):
    tile = cuda.shared.array(34, "float32")
    i, lane = cuda.grid(1), cuda.threadIdx.x
    tile[lane + 1] = x[i]
    if lane == 0:
        tile[0] = x[i - 1]  # for the first element -1, which is the last one, as in NumPy
    if lane == 31:
        tile[33] = x[i + 1]
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        y[i] = (tile[lane] + tile[lane + 1] + tile[lane + 2]) / three
    else:
        y[i] = x[i]


numbers = np.random.default_rng(1).normal(size=64).astype(np.float32)
report = profile(handed_in_smooth, 2, 32, numbers, np.zeros_like(numbers))
print(report.hazards[0])

# %% [markdown]
# The last thread of block 1 reads `x[64]`, and `x` ends at 63.
# <!-- holds: report.hazards[0].kind == "out_of_bounds" and numbers.size == 64 -->
# That is a **hazard**: the program relies on something that nobody guarantees, here on memory behind the array.
# The SIMT machine stops there.
# A GPU reads on, and gets whatever lies behind the array in memory; since nobody uses it, the result is right.
# But where no memory of the program lies there, the launch ends with an error.
#
# Numba's example `examples/laplace2d` did the same in two dimensions: in the version with shared memory, the line that fetches the right neighbour tests the row's number where the column's is meant.
# So in the last column it reads behind the end of the row, into a place of the tile that nobody reads.
#
# **Exercise `gpu.case_neighbours`.**
# The kernel shall be right for any size from 1 on, with blocks of 32 threads.
# The threads' own elements are guarded already: write the guards for the two neighbours.
# (`check` insists on the right one only: `x[-1]` is an element in Numba, but not in CUDA C++.)
# The barrier stays where all threads come to it.


# %% tags=["exercise:gpu.case_neighbours"]
@cuda.jit
def smooth(x, y):
    """x [n] -> y [n]: the mean of three neighbours; both ends stay as they are"""
    tile = cuda.shared.array(34, "float32")
    i, lane = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        tile[lane + 1] = x[i]
    # STUB:
    # if lane == 0:
    #     tile[0] = x[i - 1]
    # if lane == 31:
    #     tile[33] = x[i + 1]
    # BEGIN SOLUTION
    if lane == 0 and i > 0:
        tile[0] = x[i - 1]
    if lane == 31 and i + 1 < x.size:
        tile[33] = x[i + 1]
    # END SOLUTION
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        y[i] = (tile[lane] + tile[lane + 1] + tile[lane + 2]) / three
    elif i < x.size:
        y[i] = x[i]


smooth = check("gpu.case_neighbours", smooth)

# %% [markdown]
# ### Case 2: the loss that became infinite
#
# A hazard is a matter of which place is accessed, and in which order; it never looks at the numbers.
# The next kernel has a fault, and no hazard.
# The loss of image $n$ (the cross-entropy) needs one number from its $K$ scores:
#
# $$\ell_n = \log \sum_k e^{x_{kn}}$$
#
# The scores are stored as `[K, N]`, so that neighbouring threads read neighbours.
# The author writes: "Agrees with NumPy on random scores.
# After hours of training the loss was `inf`."
#
# There are two suspects: errors of rounding that add up in the sum, or the size of the numbers.
# A law parts them, which holds for every $c$:
#
# $$\log \sum_k e^{x_{kn} + c} = c + \log \sum_k e^{x_{kn}}$$
#
# If $c$ is added to all scores, the sum has as many terms as before, so the errors of adding stay as small as before, relative to the sum; only the numbers become larger.
# The next cell counts for how many of 300 images the law holds.


# %%
@cuda.jit
def handed_in_log_sum(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n])
        out[n] = math.log(total)


scores = np.random.default_rng(1).normal(size=(10, 300)).astype(np.float32)
exact = np.log(np.exp(scores, dtype=np.float64).sum(axis=0))
rows, out = [], np.zeros(300, np.float32)
for c in (-1000, -200, -80, 0, 80, 200, 1000):
    report = profile(handed_in_log_sum, 3, 128, scores + np.float32(c), out)
    right = np.sum(np.isclose(out, c + exact, atol=1e-3))
    first = round(float(out[0]), 2)
    rows.append([c, counted(right, "images", "comparing 300"), first, len(report.hazards)])
figures.table(["added to all scores", "the law holds for", "the first result", "hazards"], rows)

# %% [markdown]
# A cliff at both ends: rounding is not the culprit.
# <!-- holds: [int(row[1]) for row in rows] == [0, 0, 300, 300, 300, 0, 0] and all(row[3] == 0 for row in rows) -->
# The largest float32 is about $3.4 \cdot 10^{38}$, and $e^{89}$ is already larger; $e^{-200}$ becomes 0, whose logarithm is $-\infty$.
# Random scores come near neither end.
#
# The law shows the way out, too, because each image may have a $c$ of its own.
# By hand, for the scores 1,000 and 1,001, with $c = -1001$:
#
# $$\log(e^{1000} + e^{1001}) = 1001 + \log(e^{-1} + e^{0}) = 1001 + \log 1.37 = 1001.31$$
#
# **Exercise `gpu.case_log_sum_exp`.**
# Repair the kernel for all finite scores: all large, all very negative, or hundreds apart.
# Stay in float32: float64 is slow, and only moves the ends, to about ±700.
# `infinity` and `zero` are float32 constants of this notebook, and `max(a, b)` works in kernels.


# %% tags=["exercise:gpu.case_log_sum_exp"]
@cuda.jit
def log_sum_exp(x, out):
    """x [K, N] -> out [N]: the log of the sum over k of exp(x[k, n]); blocks of 128 threads"""
    n = cuda.grid(1)
    if n < x.shape[1]:
        # STUB:
        # total = zero
        # for k in range(x.shape[0]):
        #     total += math.exp(x[k, n])
        # out[n] = math.log(total)
        # BEGIN SOLUTION
        largest = -infinity
        for k in range(x.shape[0]):
            largest = max(largest, x[k, n])
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n] - largest)  # at most 1, and once exactly 1
        out[n] = largest + math.log(total)
        # END SOLUTION


log_sum_exp = check("gpu.case_log_sum_exp", log_sum_exp)

# %% [markdown]
# ### Case 3: the maximum of each row
#
# A block is one warp and has one row of `x[R,C]`.
# Each lane takes every 32nd element and keeps the largest of them in shared memory; then a **tree** joins the lanes.
# For 8 lanes it has three rounds, with the distances 4, 2 and 1:
#
# ```
# place            0   1   2   3   4   5   6   7
# before           2   9   4   1   7   3   8   5
# distance 4       7   9   8   5
# distance 2       8   9
# distance 1       9
# ```
#
# In each round, a lane compares its place with the one that lies a distance further on.
# In the second round, lane 0 reads place 2, where lane 2 wrote an 8 in the round before.
# The author writes: "Always right on rows of 64 scores.
# The lanes of a warp run in step, so no barrier is needed."


# %%
@cuda.jit
def handed_in_row_max(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity  # changes no maximum
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    step = min(32, x.shape[1]) // 2
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        step //= 2
    if lane == 0:
        top[row] = best[0]


# %% [markdown]
# Run it 100 times on five rows of 64, and look at the last run's hazards.

# %%
five_rows = np.random.default_rng(2).normal(size=(5, 64)).astype(np.float32)
right_runs = 0
for _ in range(100):
    top = np.zeros(5, np.float32)
    raced = profile(handed_in_row_max, 5, 32, five_rows, top)
    right_runs += np.array_equal(top, five_rows.max(axis=1))
print(counted(right_runs, "right results", "comparing 100 runs"))
figures.table(["hazard", "place", "one line", "other line"], evidence.facts(raced))

# %% [markdown]
# **A hundred right results, and a race.**
# <!-- holds: right_runs == 100 and len(raced.hazards) > 0 and all(one.kind == "race" for one in raced.hazards) -->
# A **race** is a pair of accesses to the same place by two threads, at least one of them a write, whose order nothing fixes.
# The SIMT machine happens to run a warp's lanes in step, and so did NVIDIA's GPUs before Volta, of 2017.
# Since then the lanes may part, and then lane 0 may read place 2 too early.
# So results say nothing about the order; the machine judges it by the accesses and barriers alone.
#
# The sizes are the other suspect, of which the author tried one.
# A good probe is an identity matrix, since its row $p$ has its maximum, 1, at place $p$.
# For which lengths is the kernel right, and which places does it overlook?

# %% tags=["picture"]
lost = [evidence.lost_places(handed_in_row_max, length) for length in range(1, 32)]
evidence.draw(lost)

# %% [markdown]
# **Exercise `gpu.case_row_max`.**
# Make two repairs: each round must see what the round before wrote, and no place may get lost, in rows of any length.
# `cuda.syncwarp()` is a barrier for the lanes of one warp, cheaper than `cuda.syncthreads()` for the block.
# `check` refuses atomic operations.


# %% tags=["exercise:gpu.case_row_max"]
@cuda.jit
def row_max(x, top):
    best = cuda.shared.array(32, "float32")
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    best[lane] = -infinity  # changes no maximum
    for col in range(lane, x.shape[1], 32):
        best[lane] = max(best[lane], x[row, col])
    # STUB:
    # step = min(32, x.shape[1]) // 2
    # BEGIN SOLUTION
    cuda.syncwarp()
    step = 16
    # END SOLUTION
    while step > 0:
        if lane < step:
            best[lane] = max(best[lane], best[lane + step])
        # STUB:
        # step //= 2
        # BEGIN SOLUTION
        cuda.syncwarp()
        step //= 2
        # END SOLUTION
    if lane == 0:
        top[row] = best[0]


row_max = check("gpu.case_row_max", row_max)

# %% [markdown]
# ## Check
#
# Do the last two kernels serve the real network?
# They get its scores for 100 photographs, then the same scores a hundred times larger.
# The loss of an image is $\ell_n$ minus the score of its right class, and a label is right if its score is the row's maximum.
# The kernels *in use* are yours, or ours until yours are right.

# %%
from labkit import convnet, datasets
from labkit.reference import softmax_cross_entropy

test, images = datasets.cifar10("sample").test, np.arange(100)
labels = test.labels[images]
logits = convnet.forward(convnet.load_weights(), convnet.normalise(test.images[images]))
kernels = {"handed in": (handed_in_log_sum, handed_in_row_max), "in use": (log_sum_exp, row_max)}
table = []
for factor in (1, 100):
    x = (factor * logits).astype(np.float32)  # [100, 10]
    of_right_class = x[images, labels]
    for name, (log_sum, maximum) in kernels.items():
        out, top = np.zeros((2, 100), np.float32)
        profile(log_sum, 1, 128, np.ascontiguousarray(x.T), out)
        profile(maximum, 100, 32, x, top)
        loss = round(float(np.mean(out - of_right_class)), 2)
        on_top = counted(np.sum(of_right_class == top), "%", "comparing 100 labels")
        exact = round(float(softmax_cross_entropy(x, labels)), 2)
        table.append([factor, name, loss, exact, on_top])
figures.table(["scores x", "kernels", "loss", "loss in float64", "labels right"], table)

# %% [markdown]
# With the kernel handed in, 15 fewer labels of 100 count as right: ten scores are a length at which its tree forgets places.
# <!-- holds: float(table[1][4]) - float(table[0][4]) == 15 and lost[9].any() -->
# With large scores its loss is infinite, and the repaired one agrees with float64.
# <!-- holds: np.isinf(table[2][2]) and table[3][2] == table[3][3] -->
#
# ## Measure
#
# Which evidence finds which fault?
# Try all six kernels by the result on the author's data, by the hazards there, and by the results in all cases of our check, with other sizes and numbers.

# %%
cases = {
    "gpu.case_neighbours": (handed_in_smooth, smooth, numbers),
    "gpu.case_log_sum_exp": (handed_in_log_sum, log_sum_exp, scores),
    "gpu.case_row_max": (handed_in_row_max, row_max, five_rows),
}
found = {}
for id, (handed_in, in_use, data) in cases.items():
    found[id, "handed in"] = evidence.row_of(id, handed_in, data)
    found[id, "in use"] = evidence.row_of(id, in_use, data)
heads = ["case", "kernel", "author's data right", "hazards there", "cases right"]
figures.table(heads, [[*names, *row] for names, row in found.items()])

# %% [markdown]
# - In case 1 the hazards alone show the fault.
#   (*Wrapping index* is only a note on `x[-1]`.
#   The result is wrong because the machine stopped there; a GPU's would be right.)
#   <!-- holds: "out of bounds" in found["gpu.case_neighbours", "handed in"][1] -->
# - In case 2 there is no hazard, and only unusual numbers show the fault.
#   <!-- holds: found["gpu.case_log_sum_exp", "handed in"][:2] == [True, "none"] -->
# - In case 3 the hazard shows the race, and unusual sizes show the lost places.
#   Neither finds the other.
#   <!-- holds: found["gpu.case_row_max", "handed in"][:2] == [True, "race"] -->
#
# The kernels in use pass all cases without a hazard.
# <!-- holds: all(found[id, "in use"][:2] == [True, "none"] and float(found[id, "in use"][2]) == 100 for id in cases) -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
lucky = counted(sum(not places.any() for places in lost), "lengths", "trying each place")
results = [("no barrier", race_guess, counted(right_runs, "runs", "comparing 100 runs"))]
results.append(("half of the length", length_guess, lucky))
figures.guesses(results)

# %% [markdown]
# Only 1, 2, 4, 8 and 16 are right: the powers of two, which halve without a remainder.
# <!-- holds: [len(places) for places in lost if not places.any()] == [1, 2, 4, 8, 16] -->
# For 12 columns the distances are 6, 3 and 1.
# After the second round, places 0 to 2 hold what is left, but the last round looks at 0 and 1 alone.
# So place 2 is forgotten, with all that had come to it: places 2, 5, 8 and 11.
# <!-- holds: np.flatnonzero(lost[11]).tolist() == [2, 5, 8, 11] -->
# From 32 columns on, all lanes take part, and 32 is a power of two.
#
# ## On trial
#
# No claim is on trial here.
# Lesson 5's verdict on [C31](5_memory_and_warps.ipynb#C31) helped in case 3: what executes is a warp, and even its lanes may part.
#
# ### Outside
#
# With an NVIDIA GPU, NVIDIA's `compute-sanitizer` finds accesses outside of an array (its tool `memcheck`) and races in shared memory (`racecheck`).
# Without one, `numba-simt` (here also `labkit race`) runs a Numba script unchanged on the SIMT machine, and writes the report of hazards that you have read:
#
# ```
# compute-sanitizer --tool racecheck python my_script.py
# numba-simt my_script.py
# ```
#
# Of our three cases, both report the first (`memcheck` where the array is an allocation of its own) and the third; neither finds the infinite loss or the lost places.
# For the loss, PyTorch has `torch.logsumexp`.
# We left out races between blocks, which only atomic operations or another launch can order.
#
# ## Recap
#
# | fault | what showed it | what did not |
# |---|---|---|
# | a read outside of the array | hazards | the result |
# | overflow | a law, far outside of the usual range | random numbers, hazards |
# | race | hazards | 100 right results |
# | lost places | a probe for each place, all sizes | hazards, good sizes |
#
# **The rule to keep: a hundred right results prove no order; judge order and bounds of accesses by hazards, and numbers by five sizes (1, a prime, one below a block, one above, several blocks) and by values at both ends of the range.**
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_race", None)
# quiz("gpu.quiz_outside", None)
# quiz("gpu.quiz_shift", None)
# BEGIN SOLUTION
quiz("gpu.quiz_race", "c")
quiz("gpu.quiz_outside", "b")
quiz("gpu.quiz_shift", "c")
# END SOLUTION
