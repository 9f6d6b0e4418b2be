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
#     title: Threads, blocks and memory
#     number: 4
#     minutes: 45
#     needs: [numba]
#     able: write kernels for arrays of any size; count the memory they move; share data in a block; find races
#     runs_on: the [SIMT machine](simt/README.md), or an NVIDIA GPU
# ---

# %% [markdown]
# # Threads, blocks and memory
#
# **How do ten thousand threads share one memory without wasting its bandwidth, and without spoiling each other's work?**
# You will write four kernels, count what each one asks of the memory, and catch races that a plain run hides.
#
# ## What you will be able to do
#
# - write a kernel for arrays of any size, and say which thread touches which element;
# - tell from an index whether a warp's access is cheap, and prove it by counting sectors;
# - share data within a block: shared memory, barriers, a tree sum, one atomic per block;
# - find a race, a wrong barrier and a divergent branch from evidence instead of luck.
#
# You need Python with NumPy, and lesson 1's words: bytes, bandwidth, row and column.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A GPU starts a **grid** of blocks.
# A **block** is up to 1,024 threads that can share memory and wait for each other.
# The hardware executes a block's threads in groups of 32, the **warps**: one instruction, 32 *lanes*.
# Guess three numbers:
#
# 1. Each thread of a warp reads one float32 from the same *column* of a large row-major matrix, row 0 to row 31.
#    Between the threads and the GPU's main memory lies the **L2 cache**, which all threads share; it hands out pieces of 32 bytes.
#    How many bytes are asked of it for each byte used?
# 2. Even threads take one side of an `if`, odd threads the other.
#    What percentage of the lanes works, on average, while the two sides run?
# 3. Shared memory is fast memory inside the chip, in 32 banks: words of 4 bytes that follow each other lie in banks that follow each other.
#    In one pass each bank serves one word.
#    A warp reads a column of a 32 x 32 float32 array there.
#    How many passes?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, pictures, profile

# STUB:
# guesses = {
#     "column": predict("gpu.column_bytes", None, "B per B"),
#     "divergence": predict("gpu.divergent_lanes", None, "%"),
#     "passes": predict("gpu.column_passes", None, "passes"),
# }
# BEGIN SOLUTION
guesses = {
    "column": predict("gpu.column_bytes", 2, "B per B"),
    "divergence": predict("gpu.divergent_lanes", 100, "%"),
    "passes": predict("gpu.column_passes", 1, "passes"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The first kernel
#
# A **kernel** is the body of a loop, written for one thread.
# The launch replaces the loop: `kernel[blocks, threads]`, with the arguments behind it in parentheses, runs the body once per thread.
# `cuda.grid(1)` is the thread's number in the whole grid, `cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x`: the block's number times its size, plus the thread's number within it.
#
# In a kernel you have numbers, `if`, `while`, `for ... in range(...)`, `min` and `max`, and arrays with `.size` and `.shape`.
# There are no lists.
#
# On a machine with a CUDA GPU, `cuda` is Numba's.
# Elsewhere it is the course's SIMT machine (single instruction, multiple threads): the same source runs warp by warp, and everything is counted.
# Its *seconds* say nothing about a GPU; its *counts* do.
#
# One trap is Python's own.
# `max(x[i], 0)` compares a float32 with an int64, and for that pair Numba computes in float64.
# Many GPUs do float64 at 1/32 or 1/64 of the rate of float32; so does the T4, at 1/32.
# A zero that is itself a float32, `np.float32(0)`, keeps everything in float32.
# `check` refuses float64 that the compiler leaves, and a few threads for all work.
#
# **Exercise `gpu.relu_kernel`.**
# It will be launched with blocks of 128 threads, as many as the array needs.
# 300 elements need 3 blocks, so the last 84 threads have no element.
# They must do nothing.
# Write every element: what `y` held before is unknown.
# The numbers in `x` may be as large as a float32 can be.


# %% tags=["exercise:gpu.relu_kernel"]
@cuda.jit
def relu_kernel(x, y):
    """x [n] -> y [n]: y[i] = max(x[i], 0), float32"""
    i = cuda.grid(1)
    zero = np.float32(0)
    # STUB:
    # pass  # a guard, and the work of one thread
    # BEGIN SOLUTION
    if i < x.size:
        y[i] = max(x[i], zero)
    # END SOLUTION


relu_kernel = check("gpu.relu_kernel", relu_kernel)

# %% [markdown]
# Why the guard?
# Launch a kernel without one.
# A GPU would read and overwrite whatever lies behind the arrays, often without a word.
# `profile(kernel, blocks, threads, ...)` launches on the SIMT machine, which looks at every access.
# Then add the guard and run the cell again.

# %%
x = np.linspace(-1, 1, 300, dtype=np.float32)
y = np.zeros_like(x)


@cuda.jit
def without_guard(x, y):
    i = cuda.grid(1)
    y[i] = max(x[i], np.float32(0))


print(*profile(without_guard, 3, 128, x, y).hazards or ["No hazard found."])

# %% [markdown]
# ### Rows and columns
#
# Grids and blocks may have two dimensions: `cuda.grid(2)` gives a thread's place along x, then along y.
# Within a block, x runs fastest: a block of 32 x 8 threads is 8 warps, and the 32 lanes of each differ in x only.
# Run the next cell once as it is: its picture shows 2 x 2 blocks of 4 x 2 threads on a matrix of 4 x 8.
# Each cell shows its thread (x, y); the colour is the block.
#
# Lesson 1 normalised photographs: each colour channel times a factor, plus a shift.
# As rows of a matrix:
#
# $$b_{rc} = a_{rc} \cdot \mathrm{scale}_r + \mathrm{shift}_r$$
#
# **Exercise `gpu.scale_rows`**: blocks of 32 x 8 threads, as many along x as the *columns* need, along y as the *rows* need.
# Find the thread's row and column, guard both, write the formula.
# From here on, `check` counts: 32 neighbouring threads should touch 32 neighbouring floats.


# %% tags=["exercise:gpu.scale_rows"]
@cuda.jit
def scale_rows(a, scale, shift, b):
    """a [R, C], scale [R], shift [R] -> b [R, C], float32"""
    # STUB:
    # pass  # the thread's column and row, a guard for both, the formula
    # BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[row, col] = a[row, col] * scale[row] + shift[row]
    # END SOLUTION


pictures.thread_map(grid=(2, 2), block=(4, 2), shape=(4, 8))
scale_rows = check("gpu.scale_rows", scale_rows)

# %% [markdown]
# ### <a id="C34"></a>C34 on trial
#
# > `row` from the y index and `col` from the x index
#
# Most matrix kernels begin so.
# Does it matter?
# Both kernels below double the same square matrix; only the two names are swapped.
# The arrays lie in **global memory**, which every thread can reach.
# A warp's *request* for it goes through two caches: first the L1 of the thread's own multiprocessor, then the L2 of the whole GPU.
# What L1 does not hold, it asks of L2 in **sectors**: aligned pieces of 32 bytes.
# A request costs as many sectors as it touches.
# `profile` counts them as if L1 held nothing.


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
# Profile both.
# One warp of each is drawn: its lanes above, the sectors that they touch below.

# %% tags=["picture"]
good = profile(x_is_column, (2, 8), (32, 8), a, b)
bad = profile(x_is_row, (2, 8), (32, 8), a, b)
for name, p in {"x is the column": good, "x is the row": bad}.items():
    print(f"{name}: {p.quantity('global_load_sectors_per_request')}")
pictures.sector_map(good.accesses[0], bad.accesses[0], titles=["x is the column", "x is the row"])

# %% [markdown]
# **Verdict on C34: holds if the matrix is row-major, as in NumPy.**
# When neighbours in x are neighbours in memory, the hardware merges a warp's 32 loads into a few sectors: that is **coalescing**.
# Swapped, each lane needs a sector of its own and uses 4 of its 32 bytes: the same result, but eight times as many sectors.
# <!-- holds: bad.counters["global_load_sectors"] == 8 * good.counters["global_load_sectors"] -->
# <!-- holds: 32 * bad.counters["global_load_sectors"] == 8 * bad.counters["global_load_bytes"] -->
# L1 may still hold some of them from an earlier request; the request itself stays eight times as large.
# (If all lanes read the *same* float, one sector is enough: `scale[row]` is nearly free.)
#
# ### A tile in shared memory
#
# A transpose, $b_{ji} = a_{ij}$, is in trouble: if it reads along rows, it writes along columns.
# The way out: a block reads a **tile** of 32 x 32 along rows into **shared memory**, then writes it, turned, along rows.
# In between it waits: `cuda.syncthreads()` is a **barrier**.
# No thread of the block passes before all have arrived.
#
# `cuda.shared.array((32, 32), "float32")` is one tile per block, seen by all its threads.
# `tx` and `ty` are a thread's place in its block.
# The block at `cuda.blockIdx` (x, y) reads the tile in tile-row y, tile-column x of `a`, and writes the one in tile-row x, tile-column y of `b`.
# Inside a tile, `tx` counts columns in both: so both sides coalesce, and only the tile is read the other way round from how it was written.
#
# **Exercise `gpu.transpose_tiled`**: the two places marked 1 and 2.


# %% tags=["exercise:gpu.transpose_tiled"]
@cuda.jit
def transpose_tiled(a, b):
    """a [R, C] -> b [C, R], float32; blocks of 32 x 32 threads, one tile each"""
    tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
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
# Below, a block turns an array round without one, first with two warps, then with one.
# Thread 0 reads what the last thread wrote.
# Before you run it: which of the two results will be right?
#
# `hazards` does not look at results: two threads touch one element, one of them writes, and nothing orders the two.


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
    p = profile(reverse, 1, n, x, y)
    print(f"{n} threads, result right: {np.array_equal(y, x[::-1])}")
    print(*p.hazards[:1] or ["No hazard found."], "\n")

# %% [markdown]
# **A right result does not prove that a kernel is right.**
# <!-- holds: np.sum(y != x[::-1]) == 0 < len(p.hazards) -->
# In another order of warps, on another GPU, it may be wrong; even the lanes of one warp need not run in step.
# Put the barrier in and run the cell again.
#
# ### Banks
#
# The tile is read by columns: `tile[tx, ty]`, where `tx` differs from lane to lane.
# Shared memory has no sectors, but 32 **banks**: the 4-byte word number $w$ lies in bank $w \bmod 32$, and a bank serves one word per pass.
# Below, the same transpose with a tile of 32 and of 33 columns; the picture shows the first warp's reads.
# (`accesses` are the single requests; you need not read that code.)


# %% tags=["picture"]
@cuda.jit
def transpose_padded(a, b):
    tile = cuda.shared.array((32, 33), "float32")  # one column more than is used
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = a[cuda.blockIdx.y * 32 + ty, cuda.blockIdx.x * 32 + tx]
    cuda.syncthreads()
    b[cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx] = tile[tx, ty]


tiled, padded = (profile(k, (2, 2), (32, 32), a, b) for k in (transpose_tiled, transpose_padded))
reads = []
for p in (tiled, padded):
    reads += [r for r in p.accesses if (r.array, r.kind) == ("tile", "load")][:1]
pictures.bank_map(*reads, titles=["32 columns", "33 columns"])

# %% [markdown]
# With 32 columns a whole column lies in one bank: a 32-way **bank conflict**.
# <!-- holds: tiled.counters["shared_load_transactions"] == 32 * tiled.counters["shared_load_requests"] -->
# One unused column moves each row by one bank.
# <!-- holds: padded.counters["bank_conflicts"] == 0 -->
#
# ### A sum by a tree
#
# All threads want to add to one number.
# An **atomic** addition, `cuda.atomic.add(array, index, value)`, is safe, but atomics on one address run one after the other.
# So add within the block first, in rounds.
# With 8 threads:
#
# | round | distance | partial sums that change |
# |---|---|---|
# | 1 | 4 | 0 += 4, 1 += 5, 2 += 6, 3 += 7 |
# | 2 | 2 | 0 += 2, 1 += 3 |
# | 3 | 1 | 0 += 1 |
#
# **Exercise `gpu.block_sum`**: the body of the loop.
# A barrier must be passed by *every* thread of the block.
# In a round, no element may be read by one thread and written by another.
# `check` also counts: one atomic addition for each warp passes, and one thread that adds up 128 numbers is too slow.


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
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


block_sum = check("gpu.block_sum", block_sum)

# %% [markdown]
# ## Check
#
# Do the kernels work together on real data?
# Normalise 100 test photographs, 300 rows of 1,024 pixels, with `scale_rows`; turn them with `transpose_tiled` and back; apply `relu_kernel`; and add up with `block_sum`.
# `launch` computes the number of blocks.

# %%
from labkit import convnet, datasets


def launch(kernel, size, threads, *arrays):
    blocks = tuple(-(-n // t) for n, t in zip(size, threads, strict=True))  # n / t, rounded up
    kernel[blocks, threads](*arrays)
    return arrays[-1]


images = datasets.cifar10("sample").test.images[:100]  # [100, 3, 32, 32]
x = images.reshape(300, 1024).astype("float32")
mean, std = (np.tile(np.float32(v), 100) for v in (convnet.MEAN, convnet.STD))  # one per row
y = launch(scale_rows, (1024, 300), (32, 8), x, 1 / (255 * std), -mean / std, np.zeros_like(x))
z = launch(transpose_tiled, (1024, 300), (32, 32), y, np.zeros((1024, 300), np.float32))
z = launch(transpose_tiled, (300, 1024), (32, 32), z, np.zeros_like(y))
r = launch(relu_kernel, (z.size,), (128,), z.ravel(), np.zeros(z.size, np.float32))
total = launch(block_sum, (r.size,), (128,), r, np.zeros(1, np.float32))
expected = convnet.normalise(images).reshape(300, 1024)
print("normalised:", np.allclose(y, expected, atol=1e-5), "- turned twice:", np.array_equal(z, y))
print("sum after ReLU:", np.allclose(total, np.maximum(expected, 0).sum(), rtol=1e-4))

# %% [markdown]
# ## Measure
#
# `profile` shows the counters beside the source: *requests* of global memory and their *sectors*, *shared* passes over the banks and the *conflicts* among them (passes beyond the fewest possible).
# Find the line that pays for the missing padding.

# %%
profile(transpose_tiled, (2, 2), (32, 32), a, b)

# %% [markdown]
# Now three ways to transpose, and what each asks of L2 per element: the bytes of all its sectors, read and written.
# Main memory sees at least 8 of them, since each float is read once and written once.
# So it sets a least time: predicted here for 16,384 x 16,384 floats on two GPUs.


# %%
from labkit import hardware
from labkit.provenance import predicted


@cuda.jit
def transpose_naive(a, b):
    col, row = cuda.grid(2)
    b[col, row] = a[row, col]


naive = profile(transpose_naive, (2, 2), (32, 32), a, b)
print(f"{'':16}{'sectors/store':>14}{'conflicts':>10}{'B/element':>10}   (counted)")
for name, p in {"naive": naive, "tiled": tiled, "tiled, padded": padded}.items():
    n = p.counters
    store, conflicts = n["global_store_sectors_per_request"], n["bank_conflicts"]
    asked = n["traffic_bytes"] / a.size  # of L2, for each element
    print(f"{name:16}{store:14.0f}{conflicts:10}{asked:10.0f}")
for m in (hardware.machine("t4"), hardware.machine("h200")):
    least = predicted(8 * 16384**2 / float(m.bandwidth), "s", "bytes / bandwidth")
    print(f"least time on {m.name}: {least}")

# %% [markdown]
# **The tile removes the needless sectors, the padding the conflicts.**
# <!-- holds: tiled.counters["traffic_bytes"] == 8 * a.size < naive.counters["traffic_bytes"] -->
# <!-- holds: padded.counters["bank_conflicts"] == 0 < tiled.counters["bank_conflicts"] -->
# What the needless ones cost, these counts do not say.
# L2 can keep a sector until the other threads have written their parts of it, and then write it to main memory once; how often that works depends on the GPU and on the size of the matrix.
# The passes over the banks are in no count of bytes at all.
# A GPU's clock shows both.
#
# ## Explain
#
# ### <a id="C31"></a>C31 on trial
#
# > The thread block is the basic unit of execution
#
# The kernel below sends half of a block's 256 threads to each side of an `if`: every other thread, or every other group of 32.
# If a block executed as one, both would cost the same.


# %%
@cuda.jit
def take_sides(x, neighbours):
    i = cuda.grid(1)
    if i // neighbours % 2 == 0:
        x[i] = x[i] * x[i] + x[i]
    else:
        x[i] = x[i] * x[i] - x[i]


shares = {}
for neighbours in (1, 32):
    p = profile(take_sides, 1, 256, np.ones(256, np.float32), neighbours)
    sides = [n for n in p.by_line.values() if n["flops"]]
    lanes, instructions = (sum(n[key] for n in sides) for key in ("lanes", "instructions"))
    shares[neighbours] = 100 * lanes / (32 * instructions)
    split = p.quantity("divergent_branches")
    print(
        f"sides change every {neighbours}: {split} split, {shares[neighbours]:.0f} % of lanes active"
    )

# %% [markdown]
# **Verdict on C31: wrong.**
# A block is the unit of *placement*: one multiprocessor gets it.
# What *executes* is the warp: so NVIDIA's *CUDA Programming Guide* says, and so our machine works.
# Where its lanes disagree, it runs both sides, each with the others idle: **divergence**.
# <!-- holds: shares[1] == 50 -->
# Where whole warps disagree, nothing is lost.
# <!-- holds: shares[32] == 100 -->
# (For such short sides a compiler may let every lane compute both and pick one: the work is lost all the same.)
#
# Now meet your guesses.

# %%
from labkit.provenance import counted

column = 32 * bad.counters["global_load_sectors"] / bad.counters["global_load_bytes"]
n = tiled.counters
passes = n["shared_load_transactions"] / n["shared_load_requests"]
results = [counted(column, "B per B", "profile")]
results.append(counted(shares[1], "%", "profile"))
results.append(counted(passes, "passes", "profile"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# ## On trial
#
# [C34](#C34) held for row-major matrices; [C31](#C31) was wrong.
#
# ## Recap
#
# - A **grid** is launched, a **block** is placed on one multiprocessor, a **warp** executes, a **lane** may idle.
# - **Global memory**: let lanes that are neighbours touch floats that are neighbours: a request asks for 4 sectors, not 32.
#   <!-- holds: good.counters["global_load_sectors_per_request"] == 4 -->
#   <!-- holds: bad.counters["global_load_sectors_per_request"] == 32 -->
# - **Shared memory**: write, barrier, read; a barrier where *every* thread passes; 33 columns instead of 32.
# - **A race is judged by order, not by the result.**
#
# You can now write a kernel for any size, count what it asks of memory, and show, for the launches you profile, that its threads do not race.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_grid", None)
# quiz("gpu.quiz_sectors", None)
# quiz("gpu.quiz_barrier", None)
# BEGIN SOLUTION
quiz("gpu.quiz_grid", "b")
quiz("gpu.quiz_sectors", "c")
quiz("gpu.quiz_barrier", "c")
# END SOLUTION
