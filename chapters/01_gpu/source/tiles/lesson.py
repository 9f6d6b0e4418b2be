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
#     number: 6
#     minutes: 54
#     needs: [numba]
#     able: "use each number more often once it is on the chip: in a tile of shared memory, and in registers"
#     runs_on: the same
# ---

# %% [markdown]
# # Tiles
#
# **The same product, 75 times slower.**
# Simon Boehm published how fast three programs run on an RTX A6000 (SGEMM_CUDA, 2023).
# NVIDIA's library cuBLAS multiplies two large matrices at 23.2 TFLOP/s.
# His first kernel reaches 0.309 TFLOP/s.
# Coalesced as in lesson 5, the kernel reaches 1.99 TFLOP/s, but the library is still 12 times as fast.
# All three do the same multiplications, so what does a simple kernel spend its time on?
#
# ## What you will be able to do
#
# - count how often a kernel reads each number;
# - let the threads of a block share what they fetch, in a tile of shared memory;
# - let a thread use numbers again, in registers.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Our kernels multiply `a[M,K]` by `b[K,N]`, so each result in `c[M,N]` is a sum along $k$:
#
# $$c_{mn} = \sum_k a_{mk}\, b_{kn}$$
#
# One product added to a sum is one **multiply-add**, or 2 FLOP.
#
# We will improve the coalesced kernel twice.
# First, a block copies **tiles** to shared memory: pieces of `a` and `b`, here of $32 \times 32$ numbers.
# Second, each thread makes several results; in Boehm's kernel it makes 64.
# Guess:
#
# 1. By what factor did tiles speed up the published kernel of 1.99 TFLOP/s?
# 2. By what factor did 64 results per thread speed up the kernel with tiles?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, profile, tile_pictures
from labkit_lessons.gpu.tiles import clock_pictures
from labkit_lessons.gpu.tiles.memory_levels import (
    passes_per_multiply_add,
    reads_per_element,
    speeds,
)
from labkit_lessons.gpu.tiles.tile_parts import fetch_or_zero, next_tiles, set_to_zero, write_patch

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
# We begin on paper, with $4 \times 4$ matrices.
# If row 0 of `a` is $(1, 2, 3, 4)$ and column 0 of `b` is $(5, 6, 7, 8)$, then
#
# $$c_{00} = 1 \cdot 5 + 2 \cdot 6 + 3 \cdot 7 + 4 \cdot 8 = 70.$$
#
# Now give each of the four results in the upper left corner of `c` a thread of its own.
# Each thread fetches eight numbers, so together they fetch 32.
# The picture names the threads that fetch each number; thread 1,0 is in column 1 and row 0.

# %% tags=["picture"]
tile_pictures.who_fetches(4, tile=2)

# %% [markdown]
# Each coloured box of `a` and `b` names two threads, so every number is fetched twice.
# Now let the four threads share what they fetch, first the orange tiles and then the blue ones:
#
# | step | the threads fetch | thread 0,0 adds | its sum |
# |---|---|---|---|
# | 1 | $4 + 4$ orange numbers | $1 \cdot 5 + 2 \cdot 6 = 17$ | 17 |
# | 2 | $4 + 4$ blue numbers | $3 \cdot 7 + 4 \cdot 8 = 53$ | 70 |
#
# **Each number is now fetched once and used twice: 16 fetches instead of 32.**
#
# ### One thread, one result
#
# **Exercise `gpu.matmul_coalesced`.**
# On the GPU, we begin without sharing: each thread adds up the products along `k` for one result, and writes the sum to `c`.
# In this lesson `check` also counts what a kernel asks of global and of shared memory, and its barriers.


# %% tags=["exercise:gpu.matmul_coalesced"]
@cuda.jit
def matmul_coalesced(a, b, c):
    """a [M, K] @ b [K, N] -> c [M, N], float32; blocks of 32 x 8 threads"""
    col, row = cuda.grid(2)  # x counts columns, so that a warp's lanes read neighbours (lesson 5)
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
# With matrices of $128 \times 128$, all 128 results in a row of `c` need the same row of `a`, and each thread fetches it for itself.
# So each element of `a`, and likewise of `b`, is read 128 times.
#
# ### A tile in shared memory
#
# Now a block of threads shares what it needs for $32 \times 32$ results, step by step as on paper.
# In each step, it copies a tile of `a` and of `b`, and uses each number 32 times.
# So each element is read from global memory only $128 / 32 = 4$ times.
# The picture shows one block of a smaller product, in the step that begins at `k` = 32.

# %% tags=["picture"]
tile_pictures.matmul_tiles(M=96, K=128, N=128, tile=32, block=(1, 2), start=32)

# %% [markdown]
# **Exercise `gpu.matmul_tiled`.**
# Write the loop's body: one step, for the 32 values of `k` from `start` on.
# Thread (`tx`, `ty`) fetches one element for each tile and stores it there at `[ty, tx]`.
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
# Can shared memory keep up with this kernel?
#
# The blocks run on the GPU's multiprocessors (**SMs**), and one beat of an SM is called a **clock**.
# An SM of the RTX A6000 has four parts, and each warp stays in one of them.
# In each clock, every part can start one multiply-add in all 32 lanes of one warp.
#
# Shared memory makes only one **pass** in each clock, for the whole SM.
# A pass brings one number to each lane of one warp.
# But a multiply-add needs two numbers, one from each tile, so it costs its warp two passes.
# The picture shows 16 clocks.

# %% tags=["picture"]
clock_pictures.clock_timeline()

# %% [markdown]
# Follow warp 1: its passes come in clocks 0 and 1, and its multiply-add starts in clock 2.
# In two clocks, the four parts could start the multiply-adds of $2 \cdot 4 = 8$ warps.
# Two passes serve only one.
# **With tiles alone, as the kernel is written, at least seven eighths of the arithmetic stand idle.**
# (Compiled, ours has 64 reads for 32 multiply-adds, lesson 7's 40.)
#
# ### A patch in registers
#
# To keep the arithmetic busy, each pass must serve more multiply-adds.
# A **register** holds one number of one thread, and the thread can use that number again without another pass.
# So we let each thread make several results, a **patch** (*register tile*), from the numbers that it reads.
#
# For one `k`, a thread with a $2 \times 2$ patch might read the numbers 2 and 3 from `a_tile`, and 10 and 20 from `b_tile`.
# Each product goes to a sum of its own:
#
# | | **10** | **20** |
# |---|---|---|
# | **2** | 2·10 = 20 | 2·20 = 40 |
# | **3** | 3·10 = 30 | 3·20 = 60 |
#
# A warp reads each of these four numbers, the table's border, in one pass: four passes.
# Inside are four multiply-adds: one pass for each, instead of two.
#
# Our kernel's patch is such a table with a longer border: $8 + 2$ reads, and $8 \cdot 2$ multiply-adds inside.
# In `c` its results lie apart: the next column belongs to the next lane, and the next row to the next warp.

# %% tags=["picture"]
tile_pictures.thread_patch((5, 2), k=3)

# %% [markdown]
# **Exercise `gpu.matmul_registers`.**
# Write what happens for one value of `k`: read each number from shared memory once, into a variable, and use it for all results that need it.
# `total[i, j]` belongs to row `ty + 8 * i` and column `tx + 32 * j` of the tile of `c`.


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
# Does your last kernel compute fc1 to within 0.001?

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
# By our count, tiles cut the reads of an element from 128 to 4, but cost two passes for each multiply-add.
# Does the SIMT machine agree?

# %%
random = np.random.default_rng(0)
a, b = random.standard_normal((2, 128, 128), dtype=np.float32)
c = np.zeros_like(a)
coalesced = profile(matmul_coalesced, (4, 16), (32, 8), a, b, c)
tiled = profile(matmul_tiled, (4, 4), (32, 32), a, b, c)
patches = profile(matmul_registers, (2, 2), (32, 8), a, b, c)
note = "It has no caches, so it counts all reads. Passes are those of shared memory."
rows = []
for name, p in {"coalesced": coalesced, "tiled": tiled, "patches": patches}.items():
    rows.append([name, reads_per_element(p, a, b), passes_per_multiply_add(p)])
figures.table(["kernel", "global reads of an element", "passes of a multiply-add"], rows, note)

# %% [markdown]
# It does, and the patch cuts the passes to $10 / 16 = 0.625$.
# <!-- holds: float(reads_per_element(coalesced, a, b)) == 128 -->
# <!-- holds: float(reads_per_element(tiled, a, b)) == 4 -->
# <!-- holds: float(passes_per_multiply_add(tiled)) == 2 -->
# <!-- holds: float(passes_per_multiply_add(patches)) == 10 / 16 -->
#
# ## Explain
#
# Did the published kernels gain as much speed as these counts suggest?

# %% tags=["picture"]
from labkit.provenance import published

source = "S. Boehm, SGEMM_CUDA, README, 2023: C++, RTX A6000"
tile = published(2980.3 / 1986.5, "times", source)
patch = published(15971.7 / 2980.3, "times", source)
figures.guesses([("tiles", tile_guess, tile), ("64 results", patch_guess, patch)])

# %% [markdown]
# Tiles save 31 of 32 reads, yet the published kernel became only 1.5 times as fast.
# <!-- holds: float(reads_per_element(coalesced, a, b)) == 32 * float(reads_per_element(tiled, a, b)) -->
# <!-- holds: round(float(tile), 1) == 1.5 -->
# One reason: a GPU's caches answer most of these reads even without tiles.
# Boehm's profiler agrees: global memory delivered only 110 of 768 possible GB/s, so its bandwidth did not limit the coalesced kernel (his *Worklog*, 2022).
#
# Boehm's tiled kernel waits for shared memory, as his profiler showed.
# In his kernel with patches of $8 \times 8$ results, 16 reads serve 64 multiply-adds.
# At one pass for each read, a multiply-add costs a quarter of a pass, so shared memory could feed all four parts, if bank conflicts add none.
# It is 5.4 times as fast as the tiled one, but not by the patch alone: each block's tile of results also grew.
# <!-- holds: round(float(patch), 1) == 5.4 -->
#
# **Counts tell us what to change next, but [only a GPU tells us](measured.md) what we gain.**
# <!-- holds: float(reads_per_element(coalesced, a, b)) / float(reads_per_element(tiled, a, b)) > 20 * float(tile) -->
#
# ## On trial
#
# ### <a id="C32"></a>C32 on trial
#
# > GPUs have global, shared and register memory of growing speed
#
# Global memory lies in chips of its own, the **DRAM**.
# The table compares the three.

# %%
from labkit import hardware

rows, note = speeds(hardware.machine("a6000"))
figures.table(["memory", "belongs to", "speed on an RTX A6000"], rows, note)

# %% [markdown]
# **Verdict on C32: holds.**
# On an RTX A6000, by its peaks, shared memory has 25 times the bandwidth of DRAM, and registers serve the arithmetic 12 times as fast as shared memory.
# <!-- holds: round(float(rows[1][2]) / float(rows[0][2])) == 25 -->
# <!-- holds: round(float(rows[2][2]) / float(rows[1][2])) == 12 -->
#
# ### Outside
#
# `torch.mm` calls cuBLAS, and Triton and CUTLASS build kernels from tiles.
# NVIDIA's profiler Nsight Compute counts our passes as *wavefronts*:
#
# ```
# ncu --metrics \
#   l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum \
#   python my_script.py
# ```
#
# We left out tensor cores.
#
# ## Recap
#
# A simple kernel reads each number again and again, 128 times in our product; caches answer most of these reads, but most arithmetic still waits.
# Coalescing cut the library's lead from 75 times to 12, tiles to 7.8, and 64 results per thread to 1.5.
#
# - **Keep this rule: a patch of $r \times s$ results costs $(r + s) / (r \cdot s)$ passes for each multiply-add, and at $1/4$ or less, shared memory can feed all four parts of an SM.**
#   <!-- holds: float(passes_per_multiply_add(patches)) == (8 + 2) / (8 * 2) -->
#
# With 64 results, a patch of $16 \times 4$ costs $20 / 64 = 0.31$ passes, and one of $8 \times 8$ only $0.25$: squares are best.
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
