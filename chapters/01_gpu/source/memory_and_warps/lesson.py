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
#     title: Memory and warps
#     number: 5
#     minutes: 50
#     needs: [numba]
#     able: tell what a warp asks of memory, and what an `if` costs; share data within a block; write a tree sum without a race
#     runs_on: the same
# ---

# %% [markdown]
# # Memory and warps
#
# **A copy at 14 % of the speed.**
# To transpose a matrix, a kernel computes nothing: it reads each number and writes it elsewhere.
# The simplest such kernel moved 475 GB/s on an H100, whose memory can move 3,352 GB/s (*published*: yencal, gpu-matrix-transpose, CUDA C++, 32,768 x 32,768 floats, 2025).
# What did the memory do with the other 86 %?
#
# ## What you will be able to do
#
# - tell from an index how many bytes a kernel moves;
# - share data within a block, with a barrier and without bank conflicts;
# - add up an array by a tree;
# - say what an `if` costs.
#
# You need lesson 4.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A GPU runs its threads in groups of 32 with neighbouring numbers, the **warps**.
# The threads of a warp are its **lanes**, and all lanes execute the same instruction at the same time.
#
# Arrays lie in **global memory**, which every thread can reach.
# It hands out whole pieces of 32 bytes, also where a lane wants only one number.
#
# **Shared memory** lies inside the chip, and is much faster.
# It has 32 **banks**: numbers of 4 bytes that follow each other lie in banks that follow each other, and after bank 31 comes bank 0 again.
# In one **pass**, each bank serves one number.
#
# Guess four numbers, with 4 bytes for a float32:
#
# 1. Each lane of a warp reads one float32 from the same *column* of a large matrix, from row 0 to row 31.
#    How many bytes does global memory hand out for each byte that is used?
# 2. A warp reads a column of a 32 x 32 float32 array in *shared* memory.
#    How many passes does it need?
# 3. Even threads take one side of an `if`, odd threads the other.
#    What percentage of the lanes works, on average, while the two sides run?
# 4. Shared memory repairs the transpose.
#    By what factor did it speed up the kernel above, on the same H100?

# %%
import math

import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, pictures, profile
from labkit_lessons.gpu.memory_and_warps import counts

# STUB:
# guesses = {
#     "column": predict("gpu.column_bytes", None, "B per B"),
#     "passes": predict("gpu.column_passes", None, "passes"),
#     "divergence": predict("gpu.divergent_lanes", None, "%"),
#     "transpose": predict("gpu.transpose_speedup", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "column": predict("gpu.column_bytes", 2, "B per B"),
    "passes": predict("gpu.column_passes", 1, "passes"),
    "divergence": predict("gpu.divergent_lanes", 100, "%"),
    "transpose": predict("gpu.transpose_speedup", 6, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What a warp asks for
#
# The pieces of 32 bytes are called **sectors**, and a sector holds 8 floats.
# NumPy stores a matrix row by row (*row-major*), so in a matrix with 8 columns each row is one sector.
# Let four lanes read four of its numbers:
#
# | the lanes read | sectors | bytes handed out | bytes used |
# |---|---|---|---|
# | `a[0,0]`, `a[0,1]`, `a[0,2]`, `a[0,3]` | 1 | 32 | 16 |
# | `a[0,0]`, `a[1,0]`, `a[2,0]`, `a[3,0]` | 4 | 128 | 16 |
#
# All lanes of a warp ask at once: this is one **request**, and it costs as many sectors as it touches.
#
# ### <a id="C34"></a>C34 on trial
#
# > `row` from the y index and `col` from the x index
#
# Most matrix kernels begin so.
# Is it a good rule?
# The kernels below double the same square matrix, with the two names swapped.
# In a block of 32 x 8 threads, the 32 lanes of a warp differ in x alone.


# %%
@cuda.jit
def x_is_column(a, b):
    col, row = cuda.grid(2)
    value = a[row, col]
    b[row, col] = value + value


@cuda.jit
def x_is_row(a, b):
    row, col = cuda.grid(2)
    value = a[row, col]
    b[row, col] = value + value


a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
b = np.zeros_like(a)

# %% [markdown]
# The picture shows the first request of each kernel: the lanes above, the sectors that they touch below.
# `profile` counts them all.

# %% tags=["picture"]
good = profile(x_is_column, (2, 8), (32, 8), a, b)
bad = profile(x_is_row, (2, 8), (32, 8), a, b)
titles = ["x is the column", "x is the row"]
pictures.sector_map(good.accesses[0], bad.accesses[0], titles=titles)
rows = []
for name, p in [(titles[0], good), (titles[1], bad)]:
    rows.append([name, p.quantity("global_load_sectors_per_request"), counts.asked_per_used(p)])
figures.table(["kernel", "a warp's read", "handed out for each byte used"], rows)

# %% [markdown]
# **Verdict on C34: holds if the matrix is row-major, as in NumPy.**
# When neighbours in x are neighbours in memory, a warp's 32 reads are merged into four sectors: that is **coalescing**.
# <!-- holds: good.counters["global_load_sectors_per_request"] == 4 -->
# Swapped, each lane needs a sector of its own and uses 4 of its 32 bytes: the same result, but eight times as many sectors.
# <!-- holds: bad.counters["global_load_sectors"] == 8 * good.counters["global_load_sectors"] -->
# <!-- holds: 32 * bad.counters["global_load_sectors"] == 8 * bad.counters["global_load_bytes"] -->
#
# On a GPU, a cache may still hold a sector from an earlier request: the **L1** of each multiprocessor, or the **L2** of the whole GPU.
# (If all lanes read the *same* float, one sector is enough: `scale[row]` was nearly free.)
#
# ### A tile in shared memory
#
# Now the trouble of the transpose is plain: where it reads along rows, it has to write along columns.
# The way out: a block reads a square **tile** of the matrix along rows into shared memory, turns it there, and writes it along rows, too.
# With tiles of 2 x 2:
#
# ```
#  a                            b = a transposed
#  1   2  |  3   4              1   5  |  9  13
#  5   6  |  7   8              2   6  | 10  14
# --------+--------            --------+--------
#  9  10  | 11  12              3   7  | 11  15
# 13  14  | 15  16              4   8  | 12  16
# ```
#
# The block in tile-row 0, tile-column 1 reads 3, 4 and then 7, 8.
# It writes 3, 7 and then 4, 8, in tile-row 1, tile-column 0.
# So most threads write a number that another thread has fetched.
# Before they do, the whole tile has to be there.
# `cuda.syncthreads()` is a **barrier**: no thread of the block passes it before all have arrived.
# (`syncwarp`, which messages also name, waits for one warp only; we use `syncthreads`.)
# `cuda.shared.array((32, 32), "float32")` makes a tile for each block, which all its threads see.
#
# **Exercise `gpu.transpose_tiled`**: the two places marked 1 and 2.
# The line between them moves the tile: `blockIdx` x and y change places.
# `check` also counts sectors: a warp has to read and to write along rows.


# %% tags=["exercise:gpu.transpose_tiled"]
@cuda.jit
def transpose_tiled(a, b):
    """a [R, C] -> b [C, R], float32; blocks of 32 x 32 threads, one tile each"""
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y  # the thread's place in its block
    col, row = cuda.grid(2)  # in a
    if row < a.shape[0] and col < a.shape[1]:
        tile[ty, tx] = a[row, col]
    # STUB:
    # # 1. here everybody waits for the whole tile
    # BEGIN SOLUTION
    cuda.syncthreads()
    # END SOLUTION
    row, col = cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx  # in b
    if row < b.shape[0] and col < b.shape[1]:
        # STUB:
        # b[row, col] = 0  # 2. which element of the tile?
        # BEGIN SOLUTION
        b[row, col] = tile[tx, ty]
        # END SOLUTION


transpose_tiled = check("gpu.transpose_tiled", transpose_tiled)

# %% [markdown]
# ### A race, caught in the act
#
# Is the barrier really needed?
# Below, a block reverses an array without one, first with two warps, then with one.
# Which of the two results will be right?
#
# `hazards` does not compare results.
# It looks for a **race**: two threads touch one element, one of them writes, and nothing orders the two.


# %%
@cuda.jit
def reverse(x, y):
    shared = cuda.shared.array(64, "float32")
    i = cuda.threadIdx.x
    shared[i] = x[i]
    y[i] = shared[x.size - 1 - i]


for n in (64, 32):  # two warps, then one
    x = np.arange(n, dtype=np.float32)
    y = np.zeros_like(x)
    found = profile(reverse, 1, n, x, y).hazards
    print(f"{n} threads, result right: {np.array_equal(y, x[::-1])}")
    print(found[0] if found else "No hazard found.", "\n")

# %% [markdown]
# **A right result does not prove that a kernel is right.**
# <!-- holds: np.sum(y != x[::-1]) == 0 < len(found) -->
# On another GPU it may be wrong, since even the lanes of one warp need not run in step.
# Put the barrier in and run the cell again.
#
# ### Banks
#
# The tile is written along rows and read by columns: in `tile[tx, ty]`, the lanes differ in the row.
# In which banks does a column lie?
# The picture shows a warp's first read of a tile with 32 columns, and of one with 33.


# %% tags=["picture"]
@cuda.jit
def transpose_padded(a, b):
    tile = cuda.shared.array((32, 33), "float32")  # one column more than is used
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = a[cuda.blockIdx.y * 32 + ty, cuda.blockIdx.x * 32 + tx]
    cuda.syncthreads()
    b[cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx] = tile[tx, ty]


tiled = profile(transpose_tiled, (2, 2), (32, 32), a, b)
padded = profile(transpose_padded, (2, 2), (32, 32), a, b)
reads = counts.first_read(tiled, "tile"), counts.first_read(padded, "tile")
pictures.bank_map(*reads, titles=["32 columns", "33 columns"])

# %% [markdown]
# With 32 columns a whole column lies in one bank, and its 32 numbers need 32 passes: a **bank conflict**.
# <!-- holds: tiled.counters["shared_load_transactions"] == 32 * tiled.counters["shared_load_requests"] -->
# One unused column, the **padding**, moves each row on by one bank, so one pass serves all 32 lanes.
# <!-- holds: padded.counters["bank_conflicts"] == 0 -->
#
# ### A sum by a tree
#
# Shared memory helps with sums, too: let all threads add their numbers to one.
# In an **atomic** addition, `cuda.atomic.add(array, index, value)`, no other thread comes in between, but many at one address wait for each other.
# So the block adds up its own numbers first, in rounds.
# With the 8 numbers 1, 2, ..., 8:
#
# | round | `step` | `partial[0]` | `[1]` | `[2]` | `[3]` | who works |
# |---|---|---|---|---|---|---|
# | 1 | 4 | 1 + 5 = 6 | 2 + 6 = 8 | 3 + 7 = 10 | 4 + 8 = 12 | threads 0 to 3 |
# | 2 | 2 | 6 + 10 = 16 | 8 + 12 = 20 | 10 | 12 | threads 0 and 1 |
# | 3 | 1 | 16 + 20 = 36 | 20 | 10 | 12 | thread 0 |
#
# **Exercise `gpu.block_sum`**: the body of the loop.
# Each round reads what the one before has written, so all threads wait in between.
# A barrier must be passed by *every* thread of the block, and in a round, no element may be read by one thread and written by another.
# `check` also counts: it accepts at most one atomic addition for each warp, and refuses a thread that adds up 128 numbers alone.


# %% tags=["exercise:gpu.block_sum"]
@cuda.jit
def block_sum(x, total):
    """x [n] -> total [1], 0 at the start: the sum; blocks of 128 threads"""
    partial = cuda.shared.array(128, "float32")
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    zero = np.float32(0)
    partial[tid] = x[i] if i < x.size else zero
    cuda.syncthreads()
    step = 64
    while step > 0:
        # STUB:
        # pass  # a guarded addition, and a barrier
        # BEGIN SOLUTION
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        # END SOLUTION
        step //= 2  # half of it, in whole numbers
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


block_sum = check("gpu.block_sum", block_sum)

# %% [markdown]
# ## Check
#
# Transpose 100 photographs, 300 rows of 1,024 pixels, and back again, and add them all up.

# %%
from labkit.datasets import cifar10

photos = cifar10("sample").test.images[:100].reshape(300, 1024).astype(np.float32)
turned, back = np.zeros((1024, 300), np.float32), np.zeros_like(photos)
total = np.zeros(1, np.float32)
transpose_tiled[(math.ceil(1024 / 32), math.ceil(300 / 32)), (32, 32)](photos, turned)
transpose_tiled[(math.ceil(300 / 32), math.ceil(1024 / 32)), (32, 32)](turned, back)
block_sum[math.ceil(photos.size / 128), 128](photos.ravel(), total)
print("transposed:", np.array_equal(turned, photos.T), "- and back:", np.array_equal(back, photos))
print("sum:", np.allclose(total, photos.sum(dtype=float), rtol=1e-4))

# %% [markdown]
# ## Measure
#
# The three transposes: what each asks for, and how long it took on the H100.
# Bank conflicts are passes too many: 4 blocks x 32 warps x 31 = 3,968 for the tile.
# <!-- holds: tiled.counters["bank_conflicts"] == 4 * 32 * 31 == 3_968 -->


# %%
from labkit.provenance import published


@cuda.jit
def transpose_naive(a, b):
    col, row = cuda.grid(2)
    b[col, row] = a[row, col]


naive = profile(transpose_naive, (2, 2), (32, 32), a, b)
source = "yencal, gpu-matrix-transpose, 2025: CUDA C++, H100, 32,768 x 32,768 floats"
rows = []
for name, p, ms in [("naive", naive, 18.06), ("tiled", tiled, 8.62), ("padded", padded, 5.07)]:
    time = published(ms / 1000, "s", source)
    conflicts = p.quantity("bank_conflicts")
    rows.append([name, counts.asked_per_element(p, a.size), conflicts, time])
figures.table(["transpose", "asked for each element", "bank conflicts", "on an H100"], rows)

# %% [markdown]
# **The tile removes the needless sectors, the padding the conflicts.**
# <!-- holds: tiled.counters["traffic_bytes"] == 8 * a.size < naive.counters["traffic_bytes"] -->
# <!-- holds: padded.counters["bank_conflicts"] == 0 < tiled.counters["bank_conflicts"] -->
# The naive kernel asks for 36 bytes for each element: 4 to read it, and a sector of 32 to write it.
# <!-- holds: naive.counters["traffic_bytes"] == (4 + 32) * a.size -->
# With the tile it is 8, yet the H100 was only 2.1 times as fast.
# <!-- holds: float(rows[0][1]) / float(rows[1][1]) == 4.5 and round(float(rows[0][3]) / float(rows[1][3]), 1) == 2.1 -->
# One reason: L2 can collect a sector's numbers, and then write it to memory once.
# And the other 86 % of the speed?
# The naive kernel asked for 2,140 GB/s, 64 %: so up to 50 went to bytes that nobody used, the rest to waiting, which we do not count.
# <!-- holds: round(36 * 32_768**2 / float(rows[0][3]) / 1e9, -1) == 2_140 and round(36 * 32_768**2 / float(rows[0][3]) / 3_352e9, 2) == 0.64 -->
# The padding saves no byte, yet made the kernel 1.7 times as fast: passes take time.
# <!-- holds: tiled.counters["traffic_bytes"] == padded.counters["traffic_bytes"] and round(float(rows[1][3]) / float(rows[2][3]), 1) == 1.7 -->
#
# At full speed, 8 bytes for each element take 2.6 ms (predicted), so the padded kernel reaches half of that speed.
# <!-- holds: round(1000 * 8 * 32_768**2 / 3_352e9, 1) == 2.6 and 0.49 < 8 * 32_768**2 / 3_352e9 / float(rows[2][3]) < 0.52 -->
#
# ## Explain
#
# ### <a id="C31"></a>C31 on trial
#
# > The thread block is the basic unit of execution
#
# In the last rounds of your tree, only a few lanes work: do the others cost anything?
# Below, half of a block's 256 threads take each side of an `if`: every other thread, or every other group of 32.
# If a block executed as one, both would cost the same.


# %%
@cuda.jit
def take_sides(x, neighbours):
    i = cuda.grid(1)
    if i // neighbours % 2 == 0:
        x[i] = x[i] * x[i] + x[i]
    else:
        x[i] = x[i] * x[i] - x[i]


alternating = profile(take_sides, 1, 256, np.ones(256, np.float32), 1)
by_warps = profile(take_sides, 1, 256, np.ones(256, np.float32), 32)
rows = []
for neighbours, p in [(1, alternating), (32, by_warps)]:
    rows.append([neighbours, p.quantity("divergent_branches"), counts.lanes_at_work(p)])
figures.table(["sides change every", "warps that run both sides", "lanes at work"], rows)

# %% [markdown]
# **Verdict on C31: wrong.**
# A block is the unit of *placement*: one multiprocessor gets it.
# What *executes* is the warp: so NVIDIA's *CUDA Programming Guide* says, and so our machine works.
# Where its lanes disagree, it runs both sides, each with the others idle: **divergence**.
# <!-- holds: float(counts.lanes_at_work(alternating)) == 50 -->
# Where whole warps disagree, nothing is lost.
# <!-- holds: float(counts.lanes_at_work(by_warps)) == 100 -->
# (For such short sides a compiler may let every lane compute both and pick one: the work is lost all the same.)
#
# In your tree, whole warps rest for free while `step` is 64 or 32; from 16 on, one warp works with ever fewer lanes.
#
# Now meet your guesses.

# %% tags=["picture"]
repaired = published(18.06 / 5.07, "times", source)
results = [counts.asked_per_used(bad), counts.passes_per_read(tiled)]
results += [counts.lanes_at_work(alternating), repaired]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# ## On trial
#
# [C34](#C34) held for row-major matrices; [C31](#C31) was wrong.
#
# ### Outside
#
# On a GPU, NVIDIA's profiler Nsight Compute counts sectors and requests; their ratio would be our 4 or 32:
#
# ```
# ncu --metrics \
# l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,\
# l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum \
# python my_script.py
# ```
#
# It was not run here.
# PyTorch's `x.T` moves nothing, it only notes the change; `x.T.contiguous()` launches a kernel that copies.
# We left out *shuffles*, which add up a warp without shared memory.
#
# ## Recap
#
# - **Keep this rule: let neighbouring lanes touch neighbouring floats, and a request costs 4 sectors instead of 32.**
#   <!-- holds: good.counters["global_load_sectors_per_request"] == 4 -->
#   <!-- holds: bad.counters["global_load_sectors_per_request"] == 32 -->
# - **Shared memory**: write, barrier, read; a barrier where *every* thread passes; 33 columns instead of 32.
# - **A race is judged by order, not by the result.**
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_sectors", None)
# quiz("gpu.quiz_barrier", None)
# quiz("gpu.quiz_whole_warps", None)
# BEGIN SOLUTION
quiz("gpu.quiz_sectors", "c")
quiz("gpu.quiz_barrier", "c")
quiz("gpu.quiz_whole_warps", "a")
# END SOLUTION
