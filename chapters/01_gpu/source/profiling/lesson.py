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
#     title: Profiling
#     number: 11
#     minutes: 50
#     needs: [numba]
#     able: find what makes a right kernel slow, by its counters, the compiler's report and one experiment at a time
#     runs_on: the SIMT machine and NVIDIA's compiler
# ---

# %% [markdown]
# # Profiling
#
# **Three kernels with right results and without a hazard.
# The first makes 64 times as many atomic additions as it needs, the second computes in float64 unseen, and the third asks for more room than it uses.**
# Where do you look, when no result shows it?
#
# ## What you will be able to do
#
# - tell the costs of one line apart, by its counters and one experiment;
# - find in the compiler's report what the source hides;
# - name the resource of a multiprocessor that runs out first.
#
# You need lesson 5 (warp, lane, sector, atomic addition) and lesson 7 (register, occupancy, the compiler's report).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. The second kernel computes $x \,/\, (1 + e^{-1.702\,x})$ for each element of a float32 array.
#    It was written in one line, as in Python.
#    How many float64 instructions does NVIDIA's compiler make of that line for a T4?
# 2. A T4 does float64 about 32 times slower than float32.
#    Of three operations, one slips into float64.
#    How many times longer do the three take?
# 3. A block of the third kernel has 4 warps, 32 registers per thread, and 48,000 bytes of shared memory.
#    A multiprocessor (SM) of an H200 has room for 64 warps, 65,536 registers and 228 KiB of shared memory.
#    What percentage of the 64 warps can be there?

# %%
import math

import numpy as np

from labkit import check, convnet, figures, hardware, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.gpu import cuda, occupancy, pictures, profile
from labkit.provenance import predicted
from labkit.reference import softmax_cross_entropy_backward
from labkit_lessons.gpu.profiling import compiled

# STUB:
# instructions_guess = predict("gpu.float64_instructions", None, "instructions")
# float64_guess = predict("gpu.float64_cost", None, "times")
# occupancy_guess = predict("gpu.shared_occupancy", None, "%")
# BEGIN SOLUTION
instructions_guess = predict("gpu.float64_instructions", 4, "instructions")
float64_guess = predict("gpu.float64_cost", 2, "times")
occupancy_guess = predict("gpu.shared_occupancy", 100, "%")
# END SOLUTION
zero = np.float32(0)

# %% [markdown]
# ## Build
#
# The method is the same in each case:
#
# | step | what you ask |
# |---|---|
# | evidence | what does the machine count, or the compiler report? |
# | suspects | which causes would explain it? |
# | experiment | which one change moves the evidence for one suspect alone? |
# | repair | is the evidence gone, and the result still right? |
#
# No clock runs here: numbers are counted, compiled or predicted, none [measured](measured.md).
#
# ### Case 1: two costs in one line
#
# The gradient of a layer's bias adds up each column of `dy[M,K]`, since the bias is added to every row (lesson 1):
#
# $$\mathrm{db}_k = \sum_m \mathrm{dy}_{mk}$$
#
# For the rows (1, 2), (3, 4) and (5, 6), `db` is (9, 12).
# If each of the six numbers is added to `db` by itself, these are six atomic additions, and three of them go to each address.
# Additions to one address wait for each other, in the L2 cache.
# A thread that first adds up its column in a register makes only one addition for the column, so two in all.
#
# In the kernel, a block of 32 threads adds up a piece of 64 rows and 32 columns: lane $t$ takes rows $t$ and $t + 32$ of the piece, and walks along each.
# The author writes: "Right for all sizes, no hazard.
# Is it fast?"
# The picture shows which sectors the first request for `dy` touches, and which the first atomic addition.


# %% tags=["picture"]
@cuda.jit
def handed_in_bias_gradient(dy, db):
    left, top = 32 * cuda.blockIdx.x, 64 * cuda.blockIdx.y
    right, bottom = min(left + 32, dy.shape[1]), min(top + 64, dy.shape[0])
    for row in range(top + cuda.threadIdx.x, bottom, 32):
        for col in range(left, right):
            cuda.atomic.add(db, col, dy[row, col])


dy = np.random.default_rng(3).normal(size=(256, 128)).astype(np.float32)
db = np.zeros(128, np.float32)
slow = profile(handed_in_bias_gradient, (4, 4), 32, dy, db)
pictures.sector_map(*slow.accesses[:2], titles=["the first load of dy", "the first addition to db"])
slow

# %% [markdown]
# Look at the profile's line 7: each of its 1,024 requests touches 32 sectors, since the lanes read 32 rows.
# <!-- holds: slow.counters["global_load_sectors"] == 32 * slow.counters["global_load_requests"] == 32 * 1_024 -->
# And each of the $256 \cdot 128 = 32{,}768$ elements costs an atomic addition.
# <!-- holds: slow.counters["atomic_lanes"] == dy.size == 32_768 -->
#
# So there are two suspects: the addresses of the loads, and the number of additions.
# The experiment hands the same kernel `dy` column by column (column-major): the addresses change, the additions stay.
# Which number will change, the sectors per request, or the elements for each atomic addition?


# %%
def costs_of(name, report):
    sectors = report.quantity("global_load_sectors_per_request")
    return [name, sectors, dy.size / report.counters["atomic_lanes"]]


other_layout = profile(handed_in_bias_gradient, (4, 4), 32, np.asfortranarray(dy), db)
heads = ["dy", "sectors of a request", "elements for each atomic addition"]
figures.table(heads, [costs_of("row-major", slow), costs_of("column-major", other_layout)])

# %% [markdown]
# The layout cures the loads and leaves the additions: the line has two costs, and both are real.
# <!-- holds: other_layout.counters["global_load_sectors_per_request"] == 4 -->
# <!-- holds: other_layout.counters["atomic_lanes"] == dy.size -->
# (The next seven requests ask for the same 32 sectors again, and L1 may still have them; but each looks up 32 sectors, where 4 would do.)
#
# **Exercise `gpu.case_bias_gradient`.**
# Repair the kernel, not the layout: `dy` is row-major.
# The launch stays as it is: blocks of 32 threads, a grid of ($\lceil K/32 \rceil$, $\lceil M/64 \rceil$).
# `check` wants at most 6 sectors per request, and at least 16 elements for each atomic addition; those in shared memory count as well.
# Which numbers should a thread add up, so that both follow?


# %% tags=["exercise:gpu.case_bias_gradient"]
@cuda.jit
def bias_gradient(dy, db):
    """dy [M, K] -> db [K], 0 at the start: the sum over the rows; a block has 64 rows, 32 columns"""
    # STUB:
    # left, top = 32 * cuda.blockIdx.x, 64 * cuda.blockIdx.y
    # right, bottom = min(left + 32, dy.shape[1]), min(top + 64, dy.shape[0])
    # for row in range(top + cuda.threadIdx.x, bottom, 32):
    #     for col in range(left, right):
    #         cuda.atomic.add(db, col, dy[row, col])
    # BEGIN SOLUTION
    col, top = 32 * cuda.blockIdx.x + cuda.threadIdx.x, 64 * cuda.blockIdx.y
    if col < dy.shape[1]:
        total = zero
        for row in range(top, min(top + 64, dy.shape[0])):
            total += dy[row, col]
        cuda.atomic.add(db, col, total)
    # END SOLUTION


bias_gradient = check("gpu.case_bias_gradient", bias_gradient)
repaired = profile(bias_gradient, (4, 4), 32, dy, np.zeros_like(db))
figures.table(["kernel", *heads[1:]], [costs_of("handed in", slow), costs_of("in use", repaired)])

# %% [markdown]
# **A line may have several costs: count each, and move one at a time.**
#
# ### Case 2: nothing to see in the source
#
# Counters show what a kernel asks of memory; what its arithmetic becomes, only the compiler knows.
# The second kernel is an activation of language models, close to the GELU; it has no hazard, and its requests touch 4 sectors.
# The author writes: "It should take no longer than a copy of the array.
# Does it, on a T4?"
# What in the compiler's report should not be there?


# %%
@cuda.jit
def handed_in_gelu(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (1 + math.exp(-1.702 * x[i]))


a, b = np.random.default_rng(4).normal(size=(2, 1024)).astype(np.float32)
compiled.report(handed_in_gelu, a, b)

# %% [markdown]
# The row `fp64` counts float64 instructions, in a kernel of float32 arrays.
# Numba gives each result a type by the types of both operands; a Python `-1.702` is float64 there, and a `1` is int64:
#
# | operation | result |
# |---|---|
# | float32 with float32 | float32 |
# | float32 with float64, such as `-1.702` | float64 |
# | float32 with int64, such as `1` | float64 |
#
# So the suspects are the product and the sum; the exponential and the quotient may only pass float64 on.
# Two experiments leave out one of them each.
# (The last column counts additions, multiplications and divisions; the exponential is not among them.)


# %%
@cuda.jit
def without_product(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (1 + math.exp(x[i]))


@cuda.jit
def without_sum(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / math.exp(-1.702 * x[i])


kernels = {"as handed in": handed_in_gelu, "no product": without_product, "no sum": without_sum}
rows = [[name, *compiled.float64(kernel, a, b)] for name, kernel in kernels.items()]
figures.table(["kernel", "float64 instructions", "float64 operations of an element"], rows)

# %% [markdown]
# Without the product, a few instructions are left, since the exponential is in float32 again.
# Without the sum, nearly all are left: an exponential in float64 alone takes some 20.
# <!-- holds: rows[0][1] is None or 0 < float(rows[1][1]) < 10 < 0.9 * float(rows[0][1]) < float(rows[2][1]) -->
# Each of the two brings float64 in on its own, so both need a repair.
#
# **Exercise `gpu.case_float64`.**
# Repair the kernel: the same result, and nothing in float64.
# In a kernel, `np.float32(...)` makes a float32 of a number.
# `check` counts additions, multiplications and divisions, three here, and wants nothing else in float64 either.
# After `Right` the report may still have a line for you: make it go too.


# %% tags=["exercise:gpu.case_float64"]
@cuda.jit
def quick_gelu(x, y):
    """x [n] -> y [n]: x / (1 + exp(-1.702 x)), all in float32; blocks of 128 threads"""
    # STUB:
    # i = cuda.grid(1)
    # if i < x.size:
    #     y[i] = x[i] / (1 + math.exp(-1.702 * x[i]))
    # BEGIN SOLUTION
    i = np.uint32(cuda.grid(1))
    if i < x.size:
        y[i] = x[i] / (np.float32(1) + math.exp(np.float32(-1.702) * x[i]))
    # END SOLUTION


quick_gelu = check("gpu.case_float64", quick_gelu)
compiled.report(quick_gelu, a, b)  # of the kernel in use: ours, until yours is right

# %% [markdown]
# **The source says what you meant, and the report what you get.**
# (Its last line was about the index: 64 bits that may be negative cost instructions, and `np.uint32(cuda.grid(1))` saves them.)
#
# ## Check
#
# Do both kernels serve the real network?
# The first gets the gradient of the scores of 500 photographs and must give that of fc2's bias, the second gets fc1's outputs.
# The exact numbers come from NumPy, in float64.

# %%
test, weights = cifar10("sample").test, convnet.load_weights()
layers = convnet.activations(weights, convnet.normalise(test.images))
dscores = softmax_cross_entropy_backward(layers["fc2"], test.labels).astype(np.float32)  # [500, 10]
of_fc2 = np.zeros(10, np.float32)
bias_gradient[(1, 8), 32](dscores, of_fc2)
fc1 = layers["fc1"].astype(np.float32).ravel()  # 64,000 numbers
y = np.zeros_like(fc1)
quick_gelu[500, 128](fc1, y)
exact = fc1 / (1 + np.exp(-1.702 * fc1.astype(np.float64)))
print("db within 0.000001:", np.abs(of_fc2 - dscores.sum(axis=0, dtype=float)).max() < 1e-6)
print("y within 0.00001:  ", np.abs(y - exact).max() < 1e-5)

# %% [markdown]
# ## Measure
#
# ### Case 3: room to be safe
#
# A kernel may be clean in its counters and in its code, and still wait: while a warp waits for memory, others must work, so an SM should have many.
# The last kernel subtracts from each row its mean.
# A block keeps its row in shared memory, so that every number is read from global memory once.
# The author writes: "I took room for 12,000 columns, to be safe."
# The rows here have 2,048.


# %%
def make(room):
    @cuda.jit
    def centre_rows(x, y):
        """y[r, c] = x[r, c] - the mean of row r; one block of 128 threads per row"""
        kept = cuda.shared.array(room, "float32")
        total = cuda.shared.array(1, "float32")
        row, tid, mine = cuda.blockIdx.x, cuda.threadIdx.x, zero
        for col in range(tid, x.shape[1], 128):
            kept[col] = x[row, col]
            mine += kept[col]
        if tid == 0:
            total[0] = zero
        cuda.syncthreads()
        cuda.atomic.add(total, 0, mine)
        cuda.syncthreads()
        for col in range(tid, x.shape[1], 128):
            y[row, col] = kept[col] - total[0] / np.float32(x.shape[1])

    return centre_rows


# %% [markdown]
# The *warps*, the *registers* and the *shared memory* of a block limit how many blocks fit on one SM; and it takes 32 blocks at most, whatever they need.
# The experiment halves one demand at a time: where more blocks fit, there is the culprit.

# %% tags=["picture"]
table, centred = np.random.default_rng(5).normal(size=(2, 4, 2048)).astype(np.float32)
registers, shared = compiled.demand(make, 12_000, table, centred)
demands = {
    "as handed in": (registers, shared, 128),
    "half the registers": (registers // 2, shared, 128),
    "half the shared memory": (registers, shared // 2, 128),
    "half the threads": (registers, shared, 64),
}
fits = {name: occupancy(*demand, "sm_90") for name, demand in demands.items()}
rows = [[name, found.blocks, found.warps, found.share] for name, found in fits.items()]
figures.table(["demand of a block", "blocks on an SM", "warps", "share of 64 warps"], rows)
fits["as handed in"].draw()

# %% [markdown]
# Less shared memory brings more blocks; fewer registers bring none.
# <!-- holds: fits["half the shared memory"].blocks > fits["as handed in"].blocks == fits["half the registers"].blocks -->
# With half the threads the blocks are still 4, each now of 2 warps.
# <!-- holds: fits["half the threads"].blocks == fits["as handed in"].blocks == 4 -->
#
# Repair it: what is the largest `room` with which all 64 warps, 16 blocks, are there?
# Work it out: of each block's share of the 228 KiB, CUDA keeps 1,024 bytes, `total` takes 4, and so does each column.
# You are right if the first share below is 100 % and the second is less.

# %%
# STUB:
# room = 12_000  # your number
# BEGIN SOLUTION
room = 3_391  # (228 * 1024 / 16 - 1024 - 4) / 4
# END SOLUTION
whole = profile(make(room), 4, 128, table, centred)
right = np.allclose(centred, table - table.mean(axis=1, keepdims=True), atol=1e-5)
print(*whole.hazards or [f"No hazard found. Right: {right}"])
rows = []
for columns in (room, room + 1):
    demand = compiled.demand(make, columns, table, centred)
    rows.append([columns, occupancy(*demand, 128, "sm_90").share])
figures.table(["room for so many columns", "share of 64 warps"], rows)

# %% [markdown]
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
peak = hardware.machine("t4").peak
slower = float(peak["fp32"]) / float(peak["fp64"])
instructions = compiled.float64(handed_in_gelu, a, b)[0]
one_of_three = predicted((2 + slower) / 3, "times", "the data sheet")
results = []
if instructions:  # where there is a compiler
    results.append(("one line in float64", instructions_guess, instructions))
results.append(("one of three in float64", float64_guess, one_of_three))
results.append(("48,000 bytes", occupancy_guess, fits["as handed in"].share))
figures.guesses(results)

# %% [markdown]
# On a T4 an operation in float64 costs as much as 32 others: three, of which one slips, take (2 + 32) / 3 = 11 times as long.
# <!-- holds: round(float(one_of_three)) == 11 -->
#
# So does the activation take no longer than a copy?
# A T4's DRAM moves 320 GB/s, so the 8 bytes of an element, 4 read and 4 written, take 8 / 320 = 0.025 ns.
# Its float64 units do 254 GFLOP/s; with 2 FLOP in an instruction, these are 127 instructions in a nanosecond, and the line's 24 take 24 / 127 = 0.19 ns: more than seven times as long as the copy (predicted, from the data sheet).
# <!-- holds: instructions is None or float(instructions) == 24 -->
# <!-- holds: 7 < 24 / (float(hardware.machine("t4").peak["fp64"]) / 2) / (8 / float(hardware.machine("t4").bandwidth)) < 8 -->
# In float32, the exponential takes some ten instructions, and the copy sets the time.
# One of the ten goes to the **XU**, the unit of an SM for reciprocals, roots and powers of two.
#
# The third guess, by hand: a block needs 48,000 + 4 bytes and CUDA's 1,024, in all 49,028.
# An SM's 228 · 1,024 = 233,472 bytes hold four such blocks, so 16 of 64 warps: 25 %.
# <!-- holds: 233_472 // 49_028 == 4 and float(fits["as handed in"].share) == 25 -->
# **What runs out first decides, and only needing less of it helps.**
# (Lesson 7 showed the other side: a kernel with much work in each thread needs few warps.)
#
# ## On trial
#
# No claim is on trial here.
# But lesson 5's verdict on [C34](5_memory_and_warps.ipynb#C34) helped in case 1, where lanes walked along rows instead of beside each other.
#
# ### Outside
#
# NVIDIA's Nsight Compute profiles a kernel on a GPU, and Nsight Systems the whole program:
#
# ```
# ncu --set full python my_script.py
# nsys profile python my_script.py
# ```
#
# Of our numbers, `ncu` prints the sectors of a request, the registers, the occupancy and which resource limits it (line by line, if the kernel is compiled with `lineinfo=True`); and it measures time.
# Numba itself shows the compiled code of a kernel (`kernel.inspect_asm()`).
# We left out how often the caches answered, and why a warp waited.
#
# ## Recap
#
# | what was wrong | what showed it | what did not |
# |---|---|---|
# | 32 sectors, many atomic additions | counters of the line | result, hazards |
# | float64, int64 | the compiler's report | source, hazards, sectors |
# | shared memory runs out | occupancy and what limits it | result, hazards, counters |
#
# **The rule to keep: before you time a float32 kernel, count: 4 sectors for a request, at least 16 elements for an atomic addition, 0 float64 instructions, and on an H200 at most 13 KiB of your own shared memory for a block of 4 warps (228 / 16 = 14.25, of which CUDA keeps 1).**
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_evidence", None)
# quiz("gpu.quiz_limiter", None)
# quiz("gpu.quiz_experiment", None)
# BEGIN SOLUTION
quiz("gpu.quiz_evidence", "b")
quiz("gpu.quiz_limiter", "a")
quiz("gpu.quiz_experiment", "d")
# END SOLUTION
