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
#     title: Tiles
#     minutes: 45
#     needs: [numba]
# ---

# %% [markdown]
# # Tiles
#
# **The obvious matmul kernel reaches a few percent of a GPU's speed.
# What stands in the way of the rest?**
# You will write three kernels with the same sum in them, count what each asks of every memory, and estimate from the counts how fast each is: on a GPU that others have measured.
#
# ## What you will be able to do
#
# - count the bytes that a kernel moves per FLOP, and say which memory limits it;
# - reuse data twice: in a tile of shared memory, and in registers;
# - read the compiler's report on a kernel, and what limits its occupancy;
# - place a kernel on the roofline of a GPU that you do not have, and say what such an estimate leaves out.
#
# You need lesson 1's roofline and its ridge, and lesson 2's words: warp, sector, tile, barrier, bank.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The matrix product is most of deep learning: fully connected layers are one, and lesson 1 turned a convolution into one.
# With `a[M,K]` and `b[K,N]`:
#
# $$c_{mn} = \sum_k a_{mk}\, b_{kn}$$
#
# One multiply-add counts as 2 FLOP.
# Guess three numbers:
#
# 1. Two 128 x 128 matrices, one thread per result.
#    How often is each element of `a` asked for?
# 2. Now each block copies tiles of 32 x 32 to shared memory, and its threads read from there.
#    By what factor does the number of bytes asked of *global* memory fall?
# 3. In one clock a multiprocessor (SM) of an RTX A6000 can do the multiply-adds of 4 warps.
#    In the same clock it can read 128 B of shared memory, a float for each lane of one warp: one *pass*.
#    If each multiply-add of a warp needs two passes, what percentage of the arithmetic can be used at most?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import compile_report, cuda, occupancy, pictures, profile

# STUB:
# guesses = {
#     "reads": predict("gpu.reads_per_element", None, "times"),
#     "tile": predict("gpu.tile_saves", None, "times"),
#     "share": predict("gpu.tiled_share", None, "%"),
# }
# BEGIN SOLUTION
guesses = {
    "reads": predict("gpu.reads_per_element", 32, "times"),
    "tile": predict("gpu.tile_saves", 1024, "times"),
    "share": predict("gpu.tiled_share", 50, "%"),
}
# END SOLUTION
zero = np.float32(0)

# %% [markdown]
# ## Build
#
# ### Rung 1: one thread, one result
#
# Each thread walks along a row of `a` and down a column of `b`, and adds up products.
# Begin with `total = zero`: a Python `0.0` would be a float64, and the sum would be one too.
#
# **Exercise `gpu.matmul_coalesced`**: find the thread's row and column (lesson 2: x is the column), guard, loop, write.
# Any sizes.


# %% tags=["exercise:gpu.matmul_coalesced"]
@cuda.jit
def matmul_coalesced(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; blocks of 32 x 8 threads"""
    # STUB:
    # pass  # a place, a guard, a loop over k, one write
    # BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total
    # END SOLUTION


matmul_coalesced = check("gpu.matmul_coalesced", matmul_coalesced)

# %% [markdown]
# What does it cost?
# Beside it we set a naive copy, with row and column swapped, which lesson 2 condemned.
# *Asked* counts every read of every lane.
# *Traffic* is the FLOP for each byte in the sectors that the warps' requests touch.
# If your kernel was not accepted, you see the numbers of ours.


# %%
@cuda.jit
def matmul_naive(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total


random = np.random.default_rng(0)
a, b = random.standard_normal((2, 128, 128), dtype=np.float32)
c = np.zeros_like(a)
coalesced = profile(matmul_coalesced, (4, 16), (32, 8), a, b, c)
naive = profile(matmul_naive, (8, 8), (16, 16), a, b, c)
for name, p in {"naive": naive, "coalesced": coalesced}.items():
    asked = p.counters["global_load_bytes"] / (a.nbytes + b.nbytes)
    rate = p.quantity("arithmetic_intensity")
    print(f"{name:10} each element is asked for {asked:.0f} times; traffic: {rate}")

# %% [markdown]
# Each number is asked for once per result that needs it.
# By its data sheet an RTX A6000 does 38.7 TFLOP/s, and its memory chips, the **DRAM**, move 768 GB/s: the arithmetic could do 50 FLOP for every byte from there.
# We do less than one for every byte of traffic.
#
# Is the traffic what the DRAM moves?
# No: two **caches** stand before it.
# Each SM has one of its own, the **L1**.
# What L1 does not hold it asks of the **L2**, which all SMs share (6 MB on this GPU), and only what L2 does not hold comes from DRAM.
# The SIMT machine has no cache.
# So the sectors that it counts are what L1 would ask of L2 if it never held anything yet.
# The DRAM usually moves less, and often far less.
#
# Still, whoever asks for less depends less on caches.
# So the next rungs have one aim: **use each byte more often, once it is here.**
#
# ### Rung 2: a tile in shared memory
#
# A block makes a tile of `c`, 32 x 32.
# For that it needs 32 rows of `a` and 32 columns of `b`.
# It walks along `k` in steps of 32: in each step it copies one tile of `a` and one of `b` to shared memory, and every number there is then used by 32 threads.
# Look at block (x=1, y=2) in its second step: the orange tiles are in shared memory, the pale strips are what the block reads in all.
#
# At the edges a tile hangs out of its matrix.
# `fetch` puts zeros there: they add nothing to the sum.
# It is a **device function**, one that kernels may call.


# %% tags=["picture"]
@cuda.jit(device=True)
def fetch(m, row, col):
    """m[row, col], and 0 outside of the matrix"""
    return m[row, col] if row < m.shape[0] and col < m.shape[1] else zero


pictures.matmul_tiles((96, 128, 128), tile=(32, 32, 32), block=(1, 2), step=1)


# %% [markdown]
# **Exercise `gpu.matmul_tiled`**: the body of the loop.
# `start` is where the step begins along `k`.
# Thread (`tx`, `ty`) fetches one element of each tile, also when its own result lies outside: its neighbours need it.
# Wait; add the 32 products; wait again.
# (Why again?
# A fast warp would overwrite tiles that a slow one still reads.)


# %% tags=["exercise:gpu.matmul_tiled"]
@cuda.jit
def matmul_tiled(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N]; blocks of 32 x 32 threads, a tile of c each"""
    a_tile = cuda.shared.array((32, 32), "float32")
    b_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    for start in range(0, a.shape[1], 32):
        # STUB:
        # pass  # fill the tiles, wait, add up, wait
        # BEGIN SOLUTION
        a_tile[ty, tx] = fetch(a, row, start + tx)
        b_tile[ty, tx] = fetch(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
        # END SOLUTION
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


matmul_tiled = check("gpu.matmul_tiled", matmul_tiled)

# %% [markdown]
# What has the tile done to both memories?
# If your kernel was not accepted, you see the numbers of ours.

# %%
c = np.zeros_like(a)
tiled = profile(matmul_tiled, (4, 4), (32, 32), a, b, c)
fewer = coalesced.counters["global_load_bytes"] / tiled.counters["global_load_bytes"]
multiply_adds = 128**3 / 32  # of whole warps
passes = tiled.counters["shared_load_transactions"] / multiply_adds
print(f"asked of global memory: {fewer:.0f} times less; traffic:", end=" ")
print(tiled.quantity("arithmetic_intensity"))
print(f"passes over the banks per multiply-add: {passes:.0f} (counted by the SIMT machine)")
print("right:", np.allclose(c, a @ b, atol=1e-3))

# %% [markdown]
# Both operands of every multiply-add come from shared memory.
# As this kernel is written, that takes two passes, and in two clocks the SM could do eight multiply-adds.
# At that rate seven eighths of the arithmetic stand idle.
# It is what the SIMT machine counts, and no bound for a GPU: further on, a compiler will put four of these reads into one.
# Shared memory is fast, and yet too slow.
# What is faster?
#
# ### Rung 3: a tile in registers
#
# **Registers** belong to one thread and cost no pass at all.
# So let each thread make several results: here 8 x 2.
# It reads 8 numbers of `a` and 2 of `b`, and has enough for 16 multiply-adds.
# A small `cuda.local.array` can lie in registers if its indices are known when the kernel is compiled.
#
# A block of 32 x 8 threads makes 64 x 64 results.
# Thread (`tx`, `ty`) owns the rows `ty`, `ty + 8`, ..., `ty + 56` and the columns `tx`, `tx + 32`: so the lanes of a warp stay neighbours.
# Two device functions do what you have done before: fill the tiles, write the results.
# For them `row0` and `col0` are where the block's tile of `c` begins.


# %%
@cuda.jit(device=True)
def fill(a, b, start, row0, col0, a_tile, b_tile, tx, ty):
    for i in range(0, 64, 8):  # 64 rows x 32 of a
        a_tile[i + ty, tx] = fetch(a, row0 + i + ty, start + tx)
    for i in range(0, 32, 8):  # 32 x 64 columns of b
        b_tile[i + ty, tx] = fetch(b, start + i + ty, col0 + tx)
        b_tile[i + ty, tx + 32] = fetch(b, start + i + ty, col0 + tx + 32)


@cuda.jit(device=True)
def write(c, row0, col0, total, tx, ty):
    for i in range(8):
        for j in range(2):
            y, x = row0 + ty + 8 * i, col0 + tx + 32 * j
            if y < c.shape[0] and x < c.shape[1]:
                c[y, x] = total[i, j]


# %% [markdown]
# **Exercise `gpu.matmul_registers`**: one step of `k`.
# Read each number from shared memory once, into a variable of its own, and use it for all results that need it.
# `total[i, j]` belongs to row `ty + 8 * i` and column `tx + 32 * j` of the tile.


# %% tags=["exercise:gpu.matmul_registers"]
@cuda.jit
def matmul_registers(a, b, c):
    a_tile, b_tile = cuda.shared.array((64, 32), "float32"), cuda.shared.array((32, 64), "float32")
    total, tx, ty = cuda.local.array((8, 2), "float32"), cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(8):
        total[i, 0] = total[i, 1] = zero
    for start in range(0, a.shape[1], 32):
        fill(a, b, start, 64 * cuda.blockIdx.y, 64 * cuda.blockIdx.x, a_tile, b_tile, tx, ty)
        cuda.syncthreads()
        for k in range(32):
            # STUB:
            # pass  # 10 reads, 16 multiply-adds
            # BEGIN SOLUTION
            b0, b1 = b_tile[k, tx], b_tile[k, tx + 32]
            for i in range(8):
                a_i = a_tile[ty + 8 * i, k]
                total[i, 0] += a_i * b0
                total[i, 1] += a_i * b1
            # END SOLUTION
        cuda.syncthreads()
    write(c, 64 * cuda.blockIdx.y, 64 * cuda.blockIdx.x, total, tx, ty)


matmul_registers = check("gpu.matmul_registers", matmul_registers)

# %% [markdown]
# ## Check
#
# Is it good enough for the real network?
# Its layer fc1 is a product: 64 images with 4,096 features each, times the trained weights [4096, 128].

# %%
from labkit import convnet, datasets

weights = convnet.load_weights()
images = convnet.normalise(datasets.cifar10("sample").test.images[:64])
features = convnet.activations(weights, images)["flat"].astype(np.float32)  # [64, 4096]
w = np.ascontiguousarray(weights["fc1.weight"].T)  # [4096, 128]
y = np.zeros((64, 128), np.float32)
matmul_registers[(2, 1), (32, 8)](features, w, y)
error = np.abs(y - features.astype(float) @ w.astype(float)).max()
print(f"fc1 of {len(y)} images: within 0.001 of float64: {error < 1e-3}")

# %% [markdown]
# ## Recap
#
# To be written.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_tile", None)
# quiz("gpu.quiz_second_barrier", None)
# BEGIN SOLUTION
quiz("gpu.quiz_tile", "b")
quiz("gpu.quiz_second_barrier", "c")
# END SOLUTION
