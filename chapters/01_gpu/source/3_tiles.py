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
#     minutes: 59
#     needs: [numba]
# ---

# %% [markdown]
# # Tiles
#
# **The same product, 75 times slower.**
# Simon Boehm published three speeds of an RTX A6000 (SGEMM_CUDA, 2023).
# NVIDIA's library cuBLAS multiplies two large matrices at 23.2 TFLOP/s.
# His first kernel reaches 0.309 TFLOP/s.
# Coalesced as in lesson 2, it reaches 1.99 TFLOP/s, and the library is still 12 times as fast.
# All three do the same multiplications, so what does a simple kernel spend its time on?
#
# ## What you will be able to do
#
# - count what a kernel asks of each memory;
# - let a block share what it fetches, in a tile of shared memory;
# - let a thread make several results from each number that it reads.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Our kernels multiply `a[M,K]` by `b[K,N]`, so each result in `c[M,N]` is a sum along $k$:
#
# $$c_{mn} = \sum_k a_{mk}\, b_{kn}$$
#
# A product that is added to a sum is a **multiply-add** (FMA), which counts as 2 FLOP.
#
# We will improve the kernel in two steps.
# First, a block will copy tiles of $32 \times 32$ numbers to shared memory.
# Second, each thread will make several results; in Boehm's kernel it makes 64.
# Guess two numbers:
#
# 1. By what factor did tiles speed up the published kernel of 1.99 TFLOP/s?
# 2. By what factor did 64 results per thread speed up the kernel with tiles?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import clock_pictures, cuda, profile, tile_pictures
from labkit.gpu.kernels.matmul import naive as matmul_naive
from labkit.gpu.memory_levels import LEVELS, LEVELS_NOTE, asked, reads_per_element, speeds
from labkit.gpu.tile_parts import fetch_or_zero, next_tiles, set_to_zero, write_patch

# STUB:
# tile_guess = predict("gpu.tile_speedup", None, "times")
# patch_guess = predict("gpu.patch_speedup", None, "times")
# BEGIN SOLUTION
tile_guess = predict("gpu.tile_speedup", 10, "times")
patch_guess = predict("gpu.patch_speedup", 2, "times")
# END SOLUTION
zero = np.float32(0)

# %% [markdown]
# ## Build
#
# ### A product by hand
#
# First we count on paper, with matrices of $4 \times 4$.
# If row 0 of `a` is 1, 2, 3, 4 and column 0 of `b` is 5, 6, 7, 8, then
#
# $$c_{00} = 1 \cdot 5 + 2 \cdot 6 + 3 \cdot 7 + 4 \cdot 8 = 70.$$
#
# Take the four results in the upper left corner, with one thread for each.
# Together the threads fetch 32 numbers, but only 16 are different.
# The picture names the threads that fetch each number.

# %% tags=["picture"]
tile_pictures.who_fetches(4, tile=2)

# %% [markdown]
# Now let the four threads share what they fetch.
# First they fetch the orange tile of each matrix, and $c_{00}$ stands at $1 \cdot 5 + 2 \cdot 6 = 17$.
# Then they fetch the blue tiles and add $3 \cdot 7 + 4 \cdot 8 = 53$, which makes 70.
# Now each number is fetched once and used twice.
#
# ### One thread, one result
#
# **Exercise `gpu.matmul_coalesced`.**
# Each thread makes one result: add up the products along `k`, then write the sum to `c`.


# %% tags=["exercise:gpu.matmul_coalesced"]
@cuda.jit
def matmul_coalesced(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; blocks of 32 x 8 threads"""
    col, row = cuda.grid(2)  # x counts columns, so that a warp's lanes read neighbours (lesson 2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero  # a float32: a Python 0.0 would make a float64 of the sum
        # STUB:
        # pass  # add up the products along k, and write the sum
        # BEGIN SOLUTION
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total
        # END SOLUTION


matmul_coalesced = check("gpu.matmul_coalesced", matmul_coalesced)

# %% [markdown]
# How much does this kernel read?
# We profile it beside one like Boehm's first kernel, in which x counts rows, not columns.
# As in lesson 2, we count the sectors that a warp's request touches.

# %%
random = np.random.default_rng(0)
a, b = random.standard_normal((2, 128, 128), dtype=np.float32)
c = np.zeros_like(a)
naive = profile(matmul_naive, (4, 16), (32, 8), a, b, c, 128, 128, 128)  # c, then M, N, K
coalesced = profile(matmul_coalesced, (4, 16), (32, 8), a, b, c)
rows = []
for name, p in {"naive": naive, "coalesced": coalesced}.items():
    sectors = p.quantity("global_load_sectors_per_request")
    rows.append([name, reads_per_element(p, a, b), sectors])
figures.table(["kernel", "reads of each element", "a request touches"], rows)

# %% [markdown]
# For each `k`, all lanes of a warp read the same float of `a`, but 32 neighbouring floats of `b`.
# So a request touches 1 sector of `a` or 4 of `b`, 2.5 on average instead of 16.5.
# But each element is still asked for 128 times, once for each result that needs it.
#
# Many of these reads never reach the GPU's memory chips, the **DRAM**, because the caches L1 and L2 keep what was read a moment ago.
# The SIMT machine has no cache, so it counts every byte that lanes ask for.
#
# ### A tile in shared memory
#
# Now a block shares what it needs for $32 \times 32$ results, step by step as on paper.
# In each step it copies one tile of `a` and one of `b` to shared memory.
# There, each number is used by 32 threads.
# The picture shows one step of one block: the step that begins at `k` = 32.

# %% tags=["picture"]
tile_pictures.matmul_tiles(M=96, K=128, N=128, tile=32, block=(1, 2), start=32)

# %% [markdown]
# **Exercise `gpu.matmul_tiled`.**
# Write the body of the loop: one step, for the 32 values of `k` from `start` on.
# Thread (`tx`, `ty`) fetches one element of each tile, into `[ty, tx]`.
# Then the thread waits until the whole block has fetched, and adds 32 products to its sum.
# `fetch_or_zero(a, row, col)` gives `a[row, col]`, or 0 outside the matrix.


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
        # pass  # fill both tiles (with all threads, even those outside of c), wait, add up
        # BEGIN SOLUTION
        a_tile[ty, tx] = fetch_or_zero(a, row, start + tx)
        b_tile[ty, tx] = fetch_or_zero(b, start + ty, col)
        cuda.syncthreads()
        for k in range(32):
            total += a_tile[ty, k] * b_tile[k, tx]
        # END SOLUTION
        cuda.syncthreads()  # what for? the quiz asks
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


matmul_tiled = check("gpu.matmul_tiled", matmul_tiled)

# %% [markdown]
# ### The clock of a multiprocessor
#
# A multiprocessor (**SM**) of the RTX A6000 has four parts, and each warp stays in one of them.
# An SM works to the beat of a clock, and one beat is also called a **clock**.
# In each clock, every part can start one multiply-add in all lanes of one warp.
#
# Shared memory is slower: in each clock the whole SM gets only one **pass**.
# A pass gives one number to each lane of one warp.
# But a multiply-add needs two numbers, one from each tile, so it costs its warp two passes.
# The picture shows the consequence; then the SIMT machine counts the passes.

# %% tags=["picture"]
clock_pictures.clock_timeline()
c = np.zeros_like(a)
tiled = profile(matmul_tiled, (4, 4), (32, 32), a, b, c)
multiply_adds = tiled.counters["flops"] / 2 / 32  # of whole warps
passes = tiled.counters["shared_load_transactions"] / multiply_adds
print(f"passes for each multiply-add of a warp: {passes:.3g} (counted by the SIMT machine)")
print("right:", np.allclose(c, a @ b, atol=1e-3))

# %% [markdown]
# In two clocks, the four parts could start the multiply-adds of $2 \times 4 = 8$ warps.
# But two passes bring the numbers for only one warp, so seven eighths of the arithmetic stand idle.
#
# ### A patch in registers
#
# A **register** holds one number of one thread.
# Once a number is in a register, the thread can use it again without a pass.
# So let each thread make several results, a **patch** (*register tile*).
#
# Take a patch of $2 \times 2$.
# For one `k`, its thread reads, say, 2 and 3 from `a_tile`, and 10 and 20 from `b_tile`.
# It adds $2 \cdot 10$, $2 \cdot 20$, $3 \cdot 10$ and $3 \cdot 20$ to its four sums.
# Each read costs one pass, and four reads serve four multiply-adds: one pass for each instead of two.
#
# Our patch has $8 \times 2$ results, so 10 reads serve 16 multiply-adds.
# Its columns lie 32 apart, so that a warp's lanes still read neighbouring numbers of `b_tile`.
# The picture shows what one thread reads and makes.

# %% tags=["picture"]
tile_pictures.thread_patch((5, 2), k=3)

# %% [markdown]
# **Exercise `gpu.matmul_registers`.**
# Write what happens for one value of `k`.
# Read each number from shared memory once, into a variable, and use it for all results that need it.
# `total[i, j]` belongs to row `ty + 8 * i` and column `tx + 32 * j` of the tile.


# %% tags=["exercise:gpu.matmul_registers"]
@cuda.jit
def matmul_registers(a, b, c):  # [M, K] @ [K, N] -> [M, N]; blocks of 32 x 8 threads
    a_tile = cuda.shared.array((64, 32), "float32")
    b_tile = cuda.shared.array((32, 64), "float32")
    total = cuda.local.array((8, 2), "float32")  # this thread's own: it gets 16 registers
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    set_to_zero(total)  # a device function: kernels may call it, and it runs in the same thread
    for start in range(0, a.shape[1], 32):
        next_tiles(a, b, start, a_tile, b_tile)  # wait, fetch 8 + 8 numbers per thread, wait
        for k in range(32):
            b_left = b_tile[k, tx]
            # STUB:
            # pass  # 9 more reads, and 16 multiply-adds
            # BEGIN SOLUTION
            b_right = b_tile[k, tx + 32]
            for i in range(8):
                a_i = a_tile[ty + 8 * i, k]
                total[i, 0] += a_i * b_left
                total[i, 1] += a_i * b_right
            # END SOLUTION
    write_patch(total, c)  # each sum to its place in c


matmul_registers = check("gpu.matmul_registers", matmul_registers)

# %% [markdown]
# ## Check
#
# Is the kernel accurate enough for layer fc1 of our trained network?

# %%
from labkit import convnet, datasets

weights = convnet.load_weights()
images = convnet.normalise(datasets.cifar10("sample").test.images[:64])
features = convnet.activations(weights, images)["flat"].astype(np.float32)  # [64, 4096]
w = np.ascontiguousarray(weights["fc1.weight"].T)  # [4096, 128], its rows made contiguous
y = np.zeros((64, 128), np.float32)
matmul_registers[(2, 1), (32, 8)](features, w, y)
exact = features.astype(float) @ w.astype(float)
print(f"fc1 of {len(y)} images: within 0.001 of float64: {np.abs(y - exact).max() < 1e-3}")

# %% [markdown]
# ## Measure
#
# ### <a id="C32"></a>C32 on trial
#
# > GPUs have global, shared and register memory of growing speed
#
# The first table adds up the bytes that each kernel's lanes read.
# The second compares the memories' speeds.

# %%
from labkit import hardware

registers = profile(matmul_registers, (2, 2), (32, 8), a, b, c)
kernels = {"coalesced": coalesced, "tiled": tiled, "registers": registers}
rows = [[name, *asked(p)] for name, p in kernels.items()]
figures.table(LEVELS, rows, LEVELS_NOTE)
rows, note = speeds(hardware.machine("a6000"))
figures.table(["memory", "belongs to", "speed on an RTX A6000"], rows, note)

# %% [markdown]
# **Verdict on C32: holds.**
# By the peaks of an RTX A6000, shared memory has 25 times the bandwidth of DRAM, and registers serve the arithmetic 12 times as fast as shared memory.
# But a faster memory helps only if each number brought there is used again.
#
# ## Explain
#
# Compare your guesses.

# %% tags=["picture"]
from labkit.provenance import published

source = "S. Boehm, SGEMM_CUDA, README, 2023: C++, RTX A6000"
tile = published(2980.3 / 1986.5, "times", source)
patch = published(15971.7 / 2980.3, "times", source)
figures.guesses([("tiles", tile_guess, tile), ("64 results", patch_guess, patch)])

# %% [markdown]
# Tiles cut the bytes that lanes ask of global memory to a 32nd, yet the published kernel became only 1.5 times as fast.
# The caches had already answered most requests: Boehm's profiler saw the coalesced kernel take only 110 GB/s from global memory, a seventh of what DRAM can deliver (*Worklog*, 2022).
#
# The tile moved the reads from L1 to shared memory, but in this GPU both are parts of one unit, so probably little was gained.
# By our count, two passes for each multiply-add leave an eighth of the peak of 38.7 TFLOP/s, which is 4.8.
# The published kernel reached 2.98, and the profiler found its warps waiting for shared memory.
#
# Boehm's patch has $8 \times 8$ results, so 16 reads serve 64 multiply-adds.
# At one pass for each read, that is a quarter of a pass for each multiply-add, enough for all four parts.
# (Some lanes meet in the same banks, but the compiler merges reads.)
# His kernel became 5.4 times as fast, though its blocks also grew, to $128 \times 128$ results.
#
# Counts say what to change first, but they leave out caches, compilers and waiting: only a GPU shows the gain.
#
# ## On trial
#
# [C32](#C32) held for bandwidth.
#
# ### Outside
#
# `torch.mm(x, y)` calls cuBLAS, and Triton and CUTLASS build kernels from tiles.
# NVIDIA's profiler Nsight Compute prints the sectors per request that we counted:
#
# ```
# ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio python my_script.py
# ```
#
# We left out tensor cores, and how to fetch one tile while another is in use.
#
# ## Recap
#
# - **Keep this rule:** a patch of $r \times s$ results needs $r + s$ reads for $r \cdot s$ multiply-adds.
#   With $8 \times 2$ results, each multiply-add costs $10 / 16 = 0.625$ passes instead of 2.
#
# A simple kernel spends its time on fetching the same numbers again and again, while most of its arithmetic waits.
# Coalescing cut the library's lead from 75 times to 12, tiles to 7.8, and 64 results per thread to 1.5.
# That last kernel reaches 16.0 TFLOP/s, and the library 23.2.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_tile", None)
# quiz("gpu.quiz_second_barrier", None)
# quiz("gpu.quiz_patch", None)
# BEGIN SOLUTION
quiz("gpu.quiz_tile", "c")
quiz("gpu.quiz_second_barrier", "c")
quiz("gpu.quiz_patch", "b")
# END SOLUTION
