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
#     title: Debugging and profiling
#     number: 10
#     minutes: 45
#     needs: [numba]
#     able: find out from the machine's evidence why a kernel is wrong or slow, and prove the repair
#     runs_on: the SIMT machine and NVIDIA's compiler
# ---

# %% [markdown]
# # Debugging and profiling
#
# **Five kernels were handed in.
# Each gave the right result when its author ran it.
# What is wrong with them?**
# You are the detective.
#
# ## What you will be able to do
#
# - find mistakes that no single run shows: in the order, in the numbers, in the sizes;
# - tell the costs of one line apart, by its counters and by one experiment;
# - find in the compiler's report what the source hides;
# - name the resource that runs out first, and prove that a repair is whole.
#
# The cases do not need each other: stop after any of them.
# 45 minutes are meant with hints; without, plan two sittings.
# You need lesson 4's words (warp, lane, sector, barrier, atomic) and lesson 7's (register, occupancy, the compiler's report).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Guess three numbers before you open the first case:
#
# 1. Case 2 is a tree that joins the 32 lanes of a warp, without a barrier between its rounds.
#    On rows of 64 numbers, the SIMT machine runs it 100 times.
#    How many runs are right?
# 2. A T4 does float64 about 32 times slower than float32.
#    Of three operations, one slips into float64.
#    How many times longer do the three take?
# 3. A block has 4 warps, 32 registers per thread and 48,000 bytes of shared memory.
#    A multiprocessor (SM) of an H200 has room for 64 warps, 65,536 registers and 228 KiB of shared memory.
#    What percentage of the 64 warps can be there?

# %%
import math

import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import compile_report, cuda, occupancy, pictures, profile
from labkit.provenance import counted

# STUB:
# guesses = {
#     "race": predict("gpu.racy_runs", None, "runs"),
#     "float64": predict("gpu.float64_cost", None, "times"),
#     "occupancy": predict("gpu.shared_occupancy", None, "%"),
# }
# BEGIN SOLUTION
guesses = {
    "race": predict("gpu.racy_runs", 90, "runs"),
    "float64": predict("gpu.float64_cost", 2, "times"),
    "occupancy": predict("gpu.shared_occupancy", 100, "%"),
}
# END SOLUTION
zero, infinity = np.float32(0), np.float32(np.inf)

# %% [markdown]
# ## Build: two kernels with wrong results
#
# The method is the same in every case:
#
# 1. **Evidence.**
#    What does the machine report?
# 2. **Suspects.**
#    Which causes would explain it?
# 3. **Experiment.**
#    One change that moves the evidence for one suspect, and not for the other.
# 4. **Repair**, and look at the evidence again.
#
# ### Case 1: the loss that became infinite
#
# The loss of image $n$ (cross-entropy) needs one number from its $K$ scores: $\;\ell_n = \log \sum_k e^{x_{kn}}$.
# Here the scores are stored as `[K, N]`, so that neighbouring threads read neighbours.
# The author writes: "Agrees with NumPy on random scores.
# After hours of training the loss was `inf`."
#
# Two suspects: errors of rounding that add up in the sum, or the size of the numbers.
# Adding $c$ to all scores must add $c$ to the result:
#
# $$\log \sum_k e^{x_{kn} + c} = c + \log \sum_k e^{x_{kn}}$$
#
# That makes an experiment: the number of terms stays, only the size changes.
# What do you expect to see if rounding is the culprit, and what if the size is?


# %%
@cuda.jit
def handed_in_1(x, out):
    n = cuda.grid(1)
    if n < x.shape[1]:
        total = zero
        for k in range(x.shape[0]):
            total += math.exp(x[k, n])
        out[n] = math.log(total)


scores = np.random.default_rng(1).normal(size=(10, 300)).astype(np.float32)  # 10 of 300 images
out = np.zeros(300, np.float32)
print(*profile(handed_in_1, 3, 128, scores, out).hazards or ["No hazard found."])
exact = np.log(np.exp(scores, dtype=np.float64).sum(axis=0))
for c in (-1000, -200, -80, 0, 80, 200, 1000):
    handed_in_1[3, 128](scores + np.float32(c), out)
    right = np.sum(np.isclose(out, c + exact, atol=1e-3))
    right = counted(right, "images right", "comparing 300")
    print(f"scores + {c:5}: {right}, the first is {out[0]:.2f}")

# %% [markdown]
# **Exercise `gpu.case_log_sum_exp`.**
# Repair it, for all finite scores: all large, all very negative, or hundreds apart.
# Stay in float32: float64 is slow, and only moves the ends, to ±700.
# The identity holds for *every* $c$, and each image may have one of its own.
# `infinity` and `zero` are float32 constants of this notebook; `max(a, b)` works in kernels.


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
# **The method: a law that the result must obey, tested far outside of the usual range.**
# Errors of rounding would get worse little by little.
# This is a cliff, at both ends: $e^{89}$ is more than float32 can hold, and $e^{-200}$ becomes 0, whose logarithm is $-\infty$.
# Random scores come near neither end.
#
# ### Case 2: the maximum of each row
#
# `x [R, C] -> top [R]`.
# A block is one warp and has one row.
# Each lane takes every 32nd element; a tree joins the lanes.
# The author writes: "Always right on rows of 64 scores.
# The lanes of a warp run in step, so no barrier is needed."


# %%
@cuda.jit
def handed_in_2(x, top):
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


rows, right_runs = np.random.default_rng(2).normal(size=(5, 64)).astype(np.float32), 0
for _ in range(100):
    raced = profile(handed_in_2, 5, 32, rows, top := np.zeros(5, np.float32))
    right_runs += np.array_equal(top, rows.max(axis=1))

# %% [markdown]
# Two suspects: the order of the accesses, for which the machine reports hazards; and the sizes, of which the author tested one.
# An identity matrix is a good probe for sizes: row $p$ has its maximum, 1, at place $p$.
# Below, each line is a row length, each `x` a place whose maximum is missed.
# For which lengths is the kernel right?
# Which places are lost, and by which line?

# %%
from textwrap import fill

print(counted(right_runs, "right results", "comparing 100 runs"))
for hazard in raced.hazards[:2]:
    print(fill(hazard.sentence.split(", and nothing says")[0], 100))
for n in range(1, 19):
    x, top = np.eye(n, dtype=np.float32), np.zeros(n, np.float32)
    profile(handed_in_2, n, 32, x, top)
    print(f"{n:2}", "".join(".x"[int(found != 1)] for found in top))

# %% [markdown]
# A hundred right results, and a race.
# <!-- holds: right_runs == 100 and len(raced.hazards) > 0 -->
# The SIMT machine happens to run a warp's lanes in step.
# So did NVIDIA's GPUs before Volta, of 2017; since then the lanes may part.
# And the probe finds a second culprit.
#
# **Exercise `gpu.case_row_max`.**
# Two repairs: each round must see what the round before wrote, and no place may get lost, in rows of any length.
# `cuda.syncwarp()` is a barrier for the lanes of one warp, cheaper than `cuda.syncthreads()` for the block.
# Like every barrier, it stands where all lanes come to it.
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
# **The method: judge order by hazards, and sizes by a probe in which every wrong index shows.**
# The powers of two were right, as is every length from 32 on.
# Otherwise a halving rounds down, in the line of the first `step` or in `step //= 2`: for 12 columns the steps are 6, 3, 1, and place 2 is forgotten, with all that had come to it.
# Neither evidence covers the other: the race was there at the good lengths, and barriers bring no place back.
#
# ## Check: both on real scores
#
# The kernels handed in, and those now in use (yours, or ours until yours are right), get the trained network's scores for 100 test photographs, then the same scores a hundred times larger.
# The loss of an image is $\ell_n$ minus the score of its right class.
# Which numbers will be wrong?

# %%
from labkit import convnet, datasets
from labkit.reference import softmax_cross_entropy

test, images = datasets.cifar10("sample").test, np.arange(100)
labels = test.labels[images]
logits = convnet.forward(convnet.load_weights(), convnet.normalise(test.images[images]))
kernels = {"handed in": (handed_in_1, handed_in_2), "now in use": (log_sum_exp, row_max)}
for factor in (1, 100):
    x = (factor * logits).astype(np.float32)  # [100, 10]
    right = x[images, labels]  # the score of the right class
    print(f"scores x {factor}: loss in float64 {softmax_cross_entropy(x, labels):.2f}")
    for name, (log_sum, maximum) in kernels.items():
        out, top = np.zeros((2, 100), np.float32)
        profile(log_sum, 1, 128, np.ascontiguousarray(x.T), out)
        profile(maximum, 100, 32, x, top)
        on_top = counted(np.sum(right == top), "%", "comparing 100 labels")
        print(f"    {name}: loss {np.mean(out - right):.2f}, right class on top {on_top}")

# %% [markdown]
# ## Measure: two kernels that waste time
#
# No clock runs here: numbers are counted, compiled or predicted, none [measured](measured.md).
#
# ### Case 3: two costs in one line
#
# The gradient of a layer's bias, $\mathrm{db}_k = \sum_m \mathrm{dy}_{mk}$, from `dy [M, K]`.
# A block of 32 threads adds up a tile of 64 rows and 32 columns.
# The author writes: "Right for all sizes, no hazard.
# Is it fast?"
# Atomic additions to global memory are done in the L2 cache, and those to one address one after the other.


# %% tags=["picture"]
@cuda.jit
def handed_in_3(dy, db):
    left, top = 32 * cuda.blockIdx.x, 64 * cuda.blockIdx.y
    right, bottom = min(left + 32, dy.shape[1]), min(top + 64, dy.shape[0])
    for row in range(top + cuda.threadIdx.x, bottom, 32):
        for col in range(left, right):
            cuda.atomic.add(db, col, dy[row, col])


dy = np.random.default_rng(3).normal(size=(256, 128)).astype(np.float32)
db = np.zeros(128, np.float32)
slow = profile(handed_in_3, (4, 4), 32, dy, db)
print("right:", np.allclose(db, dy.sum(axis=0), atol=1e-3))
pictures.sector_map(*slow.accesses[:2], titles=["dy", "db"])
slow

# %% [markdown]
# The picture shows the first warp: each of the 1,024 requests touches 32 sectors.
# <!-- holds: slow.counters["global_load_sectors"] == 32 * slow.counters["global_load_requests"] == 32 * 1_024 -->
# And each of the 32,768 elements costs an atomic addition.
# <!-- holds: slow.counters["atomic_lanes"] == dy.size == 32_768 -->
# Two suspects: the addresses that the loads touch, and the number of atomic additions.
# The experiment changes no code: the same kernel gets `dy` in column-major order.
# The additions stay, the addresses in `dy` change.
# Which number will change: the sectors per request, or the elements per atomic addition?
#
# (A sector holds 8 neighbours of a row, so the next seven requests ask for the same 32 sectors again.
# L1 may still have them, then neither L2 nor DRAM is asked.
# But each request still looks up 32 sectors, where 4 would do.)


# %%
def count(name, p):
    sectors = p.quantity("global_load_sectors_per_request")
    elements = dy.size / p.counters["atomic_lanes"]
    print(f"{name:12} {sectors}, elements per atomic addition: {elements:.0f}")


count("row-major", slow)
count("column-major", profile(handed_in_3, (4, 4), 32, np.asfortranarray(dy), db))

# %% [markdown]
# The layout cures the one and leaves the other: both are guilty.
# <!-- holds: profile(handed_in_3, (4, 4), 32, np.asfortranarray(dy), db.copy()).counters["global_load_sectors_per_request"] == 4 -->
# <!-- holds: profile(handed_in_3, (4, 4), 32, np.asfortranarray(dy), db.copy()).counters["atomic_lanes"] == dy.size -->
#
# **Exercise `gpu.case_bias_gradient`.**
# Repair the kernel, not the layout: `dy` is row-major.
# The launch stays as it is: blocks of 32 threads, a grid of ($\lceil K/32 \rceil$, $\lceil M/64 \rceil$).
# `check` wants at most 6 sectors per request, and at least 16 elements per atomic addition; those in shared memory count as well.
# Who could add up what, so that both follow?


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
count("now in use", profile(bias_gradient, (4, 4), 32, dy, np.zeros_like(db)))

# %% [markdown]
# **The method: a line may have several costs; count each, and move one at a time.**
# One lane per column does both here: lanes are neighbours in every row, and a column's sum stays in a register until its end.
#
# ### Case 4: nothing to see in the source
#
# An activation of language models, close to the GELU: $y = x \,/\, (1 + e^{-1.702\,x})$.
# Right, no hazard, 4 sectors per request.
# The author writes: "It should take no longer than a copy.
# Does it, on a T4?"
# Read the compiler's report: what in it should not be there?


# %%
@cuda.jit
def handed_in_4(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / (1 + math.exp(-1.702 * x[i]))


def report(kernel, x, y):
    try:
        return compile_report(kernel, (x, y), "sm_75")  # a T4
    except (ImportError, ValueError) as error:  # not on macOS, for instance
        print(error, profile(kernel, 8, 128, x, y).quantity("flops_fp64"), sep="\n")


a, b = np.random.default_rng(4).normal(size=(2, 1024)).astype(np.float32)
report(handed_in_4, a, b)

# %% [markdown]
# `fp64`: float64 in a kernel of float32 arrays.
# The suspects are the operations of one line: the product, the exponential, the sum, the quotient.
# This experiment is yours: in the cell above, leave out the product (`math.exp(x[i])`), the sum (`x[i] / math.exp(...)`), or both, and look at the number of float64 instructions.
# Who brings them in, and who only passes them on?
#
# **Exercise `gpu.case_float64`.**
# Repair the kernel: the same result, and nothing in float64.
# Numba types like NumPy's arrays of one element: float32 with float64 is float64, and so is float32 with int64.
# In a kernel, `np.float32(...)` makes a float32 of a number.
# `check` counts additions, multiplications and divisions, three here, and wants nothing else in float64 either.
# The report counts instructions, and an exponential in float64 becomes some 20.
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
print("The kernel now in use (ours, until yours is right):")
report(quick_gelu, a, b)

# %% [markdown]
# **The method: the source says what you meant, the report what you get.
# Take the suspicious line apart.**
# Without the product a few float64 instructions are left, without the sum nearly all, without both none.
# So these two bring float64 in, each by a literal; the exponential and the quotient pass it on.
# On a T4 an operation in float64 costs as much as 32 others: three, of which one slips, take (2 + 32) / 3 = 11 times as long.
# The report's last line was about the index: 64 bits that may be negative cost instructions.
# `np.uint32(cuda.grid(1))` saves them.
#
# So does it take no longer than a copy?
# By the data sheet a T4's DRAM needs 8 B / (320 GB/s) = 0.025 ns for the 8 bytes of an element, and its float64 units do 127 G instructions per second: the report's 24 take 0.19 ns, seven times as long as the copy (predicted).
# In float32 the exponential costs some ten instructions.
# One of them goes to the **XU**, the unit of an SM for reciprocals, roots, powers of two and conversions; the others are multiply-adds around it.
# (The counter `special` in a profile counts calls of math functions, not instructions of the XU: a logarithm in float32 is nearly all multiply-adds, while a division, which is no call, begins with a reciprocal from the XU.)
#
# ## Explain: a multiprocessor, three quarters empty
#
# ### Case 5: room to be safe
#
# The last kernel subtracts from each row its mean.
# A block keeps its row in shared memory, so that every number is read from global memory once.
# The author writes: "I took room for 12,000 columns, to be safe."
# The rows here have 1,024.


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
# The counters are clean, as the next cell shows.
# But while a warp waits for memory, others must work: how many are there?
# The *warps*, the *registers* and the *shared memory* of a block limit how many blocks fit on one SM; and it takes 32 blocks at most, whatever they need.
# The experiment: halve one demand at a time.
# Where the occupancy rises, there is the culprit.


# %% tags=["picture"]
def demand(room):
    """Registers of a thread, bytes of shared memory of a block."""
    try:
        made = compile_report(make(room), (table, centred), "sm_90")
        return made.registers, made.shared_bytes
    except (ImportError, ValueError):  # without the compiler: what it says elsewhere
        return 32, 4 * room + 4


table, centred = np.random.default_rng(5).normal(size=(2, 4, 1024)).astype(np.float32)
p = profile(make(12_000), 4, 128, table, centred)
for name in ("global_load_sectors_per_request", "bank_conflicts", "flops_fp64"):
    print(name, p.quantity(name))
registers, shared = demand(12_000)
half_empty = occupancy(registers, shared, 128, "sm_90")
print("\nas handed in:          ", half_empty.share)
print("half the registers:    ", occupancy(registers // 2, shared, 128, "sm_90").share)
print("half the shared memory:", occupancy(registers, shared // 2, 128, "sm_90").share)
print("half the threads:      ", occupancy(registers, shared, 64, "sm_90").share)
half_empty.draw()

# %% [markdown]
# Less shared memory brings more blocks; fewer registers bring none.
# <!-- holds: occupancy(registers, shared // 2, 128, "sm_90").blocks > half_empty.blocks -->
# <!-- holds: occupancy(registers // 2, shared, 128, "sm_90").blocks == half_empty.blocks -->
# With half the threads the blocks are still 4, each now of 2 warps.
# <!-- holds: occupancy(registers, shared, 64, "sm_90").blocks == half_empty.blocks == 4 -->
#
# Repair it: what is the largest `room` with which all 64 warps, 16 blocks, are there?
# Work it out: of each block's share of the 228 KiB, CUDA keeps 1,024 bytes, and `total` and each column take 4.
# You are right if the first share below is 100 % and the second is less.
# (A `room` shorter than a row is reported as a wrong index; then the length is at fault.)
# The picture holds your guesses against the results.

# %% tags=["picture"]
from labkit import hardware
from labkit.provenance import predicted

# STUB:
# room = 12_000  # your number
# BEGIN SOLUTION
room = 3_391  # (228 * 1024 / 16 - 1024 - 4) / 4
# END SOLUTION
p = profile(make(room), 4, 128, table, centred)
right = np.allclose(centred, table - table.mean(axis=1, keepdims=True), atol=1e-5)
print(*p.hazards or [f"No hazard found. Right: {right}"])
for columns in (room, room + 1):
    print(f"room {columns}:", occupancy(*demand(columns), 128, "sm_90").share)

peak = hardware.machine("t4").peak
slower = float(peak["fp32"]) / float(peak["fp64"])
results = [counted(right_runs, "runs", "comparing 100 runs")]
results.append(predicted((2 + slower) / 3, "times", "the data sheet"))
results.append(half_empty.share)
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **The method: ask which resource runs out first; only needing less of it helps.**
# (Lesson 7 showed the other side: a kernel with much work in each thread needs few warps.)
#
# ## On trial
#
# No new claim today.
# Two verdicts of lesson 4 helped: [C34](4_threads_blocks_and_memory.ipynb#C34), in case 3, where lanes walked along rows, and [C31](4_threads_blocks_and_memory.ipynb#C31), in case 2: what executes is a warp, and even its lanes may part.
#
# ## Recap
#
# | what was wrong | what showed it | what did not |
# |---|---|---|
# | overflow | a law, far outside of the usual range | random data, hazards |
# | race | hazards | 100 right results |
# | lost elements | a probe for each place, all sizes | hazards, good sizes |
# | 32 sectors, many atomic additions | counters of the line | result, hazards |
# | float64, int64 | the compiler's report | source, hazards, sectors |
# | shared memory runs out | occupancy and its limiter | result, hazards, counters |
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_race", None)
# quiz("gpu.quiz_evidence", None)
# quiz("gpu.quiz_limiter", None)
# BEGIN SOLUTION
quiz("gpu.quiz_race", "c")
quiz("gpu.quiz_evidence", "b")
quiz("gpu.quiz_limiter", "a")
# END SOLUTION
