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
#     title: The matmul ladder
#     minutes: 45
#     needs: [numba]
# ---

# %% [markdown]
# # The matmul ladder
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
# ## Measure
#
# ### What the compiler makes of it
#
# NVIDIA's compiler runs without a GPU.
# `compile_report(kernel, arguments, "sm_86")` shows what it makes of a kernel for an RTX A6000: registers of a thread, shared memory of a block, the instructions in the program, and costs that Python hides.
# A thread that needs more registers than there are **spills** the rest to memory, slowly.
#
# The picture shows the **occupancy**: how many warps an SM holds at a time.
# While one waits for memory, others compute.
# A block takes registers and shared memory with it, and when one of them is used up, no more blocks come.
# Which is it here?


# %% tags=["picture"]
def report(kernel, *arguments):
    try:
        return compile_report(kernel, arguments, "sm_86")
    except (ImportError, ValueError) as error:  # not on macOS, for instance
        print(error)


made = report(matmul_registers, a, b, c)
(occupancy(made, (32, 8)) if made else occupancy(96, 16384, 256, "sm_86")).draw()
made

# %% [markdown]
# No spills: all 16 sums found a register.
# The sentence below the table names a hidden cost: an index that might be negative must be wrapped round, as in Python; a uint32 cannot be.
#
# Full occupancy is no aim in itself.
# A thread with 16 sums has 16 multiply-adds that do not wait for each other, so fewer warps are enough.
#
# ### The rest of the ladder
#
# `labkit/gpu/kernels` goes on from here: with tiles of 128 x 128 and 8 x 8 results per thread; with four floats in one instruction, and each thread's columns parted in two halves, so that no two lanes of a pass meet in a bank; and with the next tile fetched while this one is used.
# We count them all, and your last kernel, on a 128 x 1,024 times a 1,024 x 128 matrix.
# Global memory is reached through the same unit as shared memory, so we count a pass for each 128 bytes that a warp asks of it.
# (One step further, `tensor_core.py` lets one instruction of a warp multiply 16 x 16 by 16 x 8 float16 numbers.)

# %%
from labkit import hardware
from labkit.gpu.kernels.matmul import LADDER, plan_matmul

gpu, (M, N, K) = hardware.machine("a6000"), (128, 128, 1024)
left, right = (random.standard_normal(shape, dtype=np.float32) for shape in ((M, K), (K, N)))
rungs = {name: (*plan_matmul(M, N, name), (M, N, K)) for name in LADDER}
rungs["yours"] = matmul_registers, (2, 2), (32, 8), ()
counts = {}
print(f"per multiply-add of a warp:{'FLOP/B':>10}{'passes':>9}{'accesses':>10}   (counted)")
for name, (kernel, grid, block, sizes) in rungs.items():
    product = np.zeros((M, N), np.float32)
    p = profile(kernel, grid, block, left, right, product, *sizes).counters
    assert np.allclose(product, left @ right, atol=1e-3)
    passes = p["shared_load_transactions"] + p["shared_store_transactions"]
    passes = 32 * (passes + p["global_bytes"] / 128) / (M * N * K)
    accesses = 32 * sum(p[key] for key in p if key.endswith("_requests")) / (M * N * K)
    counts[name] = p["arithmetic_intensity"], passes, accesses
    print(f"{name:26}{counts[name][0]:10.2f}{passes:9.2f}{accesses:10.2f}")

# %% [markdown]
# How fast does that let a kernel be?
# Each of the three numbers leaves a share of the peak, if the GPU does what the SIMT machine counts:
#
# - **traffic**: if every sector came from DRAM, the ridge of 50 FLOP/B would leave all of the peak, and half of the ridge half of it;
# - **passes**: in the clock of one pass, 4 multiply-adds could be done.
#   One pass per multiply-add leaves a quarter, two leave an eighth;
# - **instructions**: an SM starts 4 per clock, and each access to memory takes the place of a multiply-add.
#   One access per multiply-add leaves a half, three leave a quarter.
#
# All three go on at the same time, so the slowest sets the pace: our **estimate** is the lowest of the three shares.
# It is a model and no bound.
# Caches and compilers can make a kernel faster than it says, and whatever it does not count can make it slower.
#
# **Exercise `gpu.lowest_limit`**: the lowest of the three shares, for arrays with one element per kernel.
# (`np.minimum` takes two arrays.)


# %% tags=["exercise:gpu.lowest_limit"]
def estimated_share(intensity, passes, accesses, ridge):
    """intensity [n] in FLOP/B, passes [n] and accesses [n] per multiply-add -> share [n], 0 to 1"""
    # STUB:
    # return np.zeros(len(passes))
    # BEGIN SOLUTION
    memory = np.minimum(intensity / ridge, 1 / (4 * passes))
    return np.minimum(memory, 1 / (1 + accesses))
    # END SOLUTION


estimated_share = check("gpu.lowest_limit", estimated_share)
found = estimated_share(*np.array([*counts.values()]).T, gpu.ridge("fp32"))
shares = dict(zip(counts, found, strict=True))
print(*(f"{name:18}{100 * share:6.1f} % (predicted)" for name, share in shares.items()), sep="\n")
if tile := report(LADDER["shared tile"].kernel, left, right, product, M, N, K):
    fours, ones = tile.accesses["ld.shared.v4"], tile.accesses["ld.shared"]
    print(f"shared tile, {tile.fma} multiply-adds: shared memory is read", end=" ")
    print(f"{fours} times for four floats, {ones} times for one (compiled)")

# %% [markdown]
# Vector loads and the tuned kernel count alike.
# They differ in how long they wait for memory, and no counter here shows waiting.
# Nor is any cache in the estimate.
#
# What a compiler saves is not in it either.
# For 32 multiply-adds the text of the shared tile has 64 reads of shared memory, but the compiled program has 40: a thread walks along a row of `a_tile`, and the compiler fetches four neighbours in one read.
# All lanes of a warp want the same four numbers, so the passes can become fewer as well.
#
# And a library?
# The next cell times NumPy's product on your CPU; where there is a CUDA GPU, the whole ladder beside cuBLAS, the vendor's own.
# (A launch returns at once: the clock must `wait` for the GPU.)

# %% tags=["timing", "nbval-ignore-output"]
from timeit import timeit

from labkit.provenance import measured

rate = lambda work, n: 2 * n**3 / min(timeit(work, number=1) for _ in range(6))
x, y = random.standard_normal((2, 1024, 1024), dtype=np.float32)
print("NumPy:", measured(rate(lambda: x @ y, 1024), "FLOP/s"))
if cuda.__name__ == "numba.cuda":
    import torch

    x, y, z = torch.randn(3, 4096, 4096, device="cuda")
    device, wait = torch.cuda.get_device_name(), torch.cuda.synchronize
    library = rate(lambda: (torch.mm(x, y, out=z), wait()), 4096)
    print("cuBLAS:", measured(library, "FLOP/s", device))
    arrays = [cuda.as_cuda_array(tensor) for tensor in (x, y, z)]
    for name in LADDER:
        kernel, grid, block = plan_matmul(4096, 4096, name)
        speed = rate(lambda: (kernel[grid, block](*arrays, 4096, 4096, 4096), wait()), 4096)
        print(f"{name:18}", measured(100 * speed / library, "% of cuBLAS", device))

# %% [markdown]
# ## Explain
#
# ### <a id="C33"></a>C33 on trial
#
# > The one-thread-per-output CUDA matmul is "high performance"
#
# Here is the climb on the roofline: to the right, more FLOP for each byte of traffic; upwards, speed.
# The circles are our estimates.
# The bars are published figures of the same steps in C++ on this GPU, drawn at the traffic that we have counted for our kernels.
# The roof holds if all traffic comes from DRAM.
# Where a bar is above it, caches have answered.
# Where a circle is below it, passes or instructions set the estimate.

# %% tags=["picture"]
from labkit.provenance import counted, predicted, published

peak = float(gpu.peak["fp32"])
intensities = {name: numbers[0] for name, numbers in counts.items()}
ours = {name: predicted(s * peak, "FLOP/s", "the lowest share") for name, s in shares.items()}
source = "S. Boehm, SGEMM_CUDA, README, 2023: C++, RTX A6000, 4096 x 4096"
rates = dict(zip(LADDER, [309, 1986.5, 2980.3, 8474.7, 15971.7, 18237.3], strict=False))
rates["cuBLAS"] = 23249.6  # GFLOP/s
theirs = {name: published(rate * 1e9, "FLOP/s", source) for name, rate in rates.items()}
figures.climb(gpu, intensities, ours, theirs)
print(f"{'share of the peak':18}{'predicted':>10}{'published':>11}{'ratio':>8}")
for name in [*shares, "cuBLAS"]:
    row = f"{100 * shares[name]:8.1f} %" if name in shares else f"{'':10}"
    if name in theirs:
        row += f"{100 * float(theirs[name]) / peak:9.1f} %"
    if name in shares and name in theirs:
        row += f"{float(ours[name]) / float(theirs[name]):8.2f}"
    print(f"{name:18}{row}")
print(f"published in {source}")

# %% [markdown]
# **Verdict on C33: wrong.**
# Even well coalesced, such a kernel was published at 5 % of an RTX A6000's peak, where cuBLAS reaches 60 %.
# Our estimate is lower still, because it counts the traffic as if no cache helped.
# But even with a cache for every byte, the two passes that we count per multiply-add would leave an eighth.
#
# And how good is our model?
# We call it close where it is within 20 %.
# It is close for two steps of six, and misses four:
#
# | step | the estimate is | because |
# |---|---|---|
# | naive, coalesced | 3.4 and 6.5 times too low | our count has no cache. The author's profiler saw 15 and 110 GB/s from global memory: 21 and 18 FLOP for each byte, where we count 0.12 and 0.40 |
# | shared tile | 1.5 times too high | the profiler found its warps waiting for shared memory, and we count no waiting. With 1,024 threads in a block, an SM holds no second block that could work meanwhile |
# | register tiles, 1-D and 2-D | close | partly by chance: the compiler saves reads that we count, and the warps wait, which we do not count |
# | vector loads | 1.3 times too high | the profiler found bank conflicts, which our kernel has not, and we do not count the time in which a tile is fetched |
#
# (The profiles are in Boehm's article "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance: a Worklog", 2022.)
# A count says what to mend first.
# How fast the kernel then is, only a GPU can tell.
#
# ### <a id="C32"></a>C32 on trial
#
# > GPUs have global, shared and register memory of growing speed
#
# What do the data sheet's peaks imply?
# In each clock a pass moves 32 banks x 4 B, and each of 128 lanes reads three registers of 4 B for its multiply-add.
# And how much does each kernel ask of each memory?
# (The picture holds your guesses against the results.)

# %% tags=["picture"]
shared = predicted(peak / 2 / 32 / 4 * 128, "B/s", "its peak")
in_registers = predicted(peak / 2 * 12, "B/s", "its peak")
print(f"global {gpu.bandwidth.number} ({gpu.bandwidth.word}),", end=" ")
print(f"shared {shared.number}, registers {in_registers.number} (predicted)")
registers = profile(matmul_registers, (2, 2), (32, 8), a, b, np.zeros_like(a))
rows = {"coalesced": coalesced, "tiled": tiled, "registers": registers}
for name, n in {name: p.counters for name, p in rows.items()}.items():
    moved = [n["global_load_bytes"], n["shared_load_bytes"], 12 * n["flops"] / 2]
    mega = "".join(f"{size / 1e6:8.2f}" for size in moved)
    print(f"{name:10} MB asked of global, shared, registers:{mega} (counted)")
reads = coalesced.counters["global_load_bytes"] / (a.nbytes + b.nbytes)
n = tiled.counters["shared_load_transactions"] / multiply_adds
results = [counted(times, "times", "the SIMT machine") for times in (reads, fewer)]
results.append(predicted(100 / (4 * n), "%", "passes over the banks"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Verdict on C32: holds.**
# By the peaks of an RTX A6000, shared memory is 25 times as fast as global memory, and the registers 12 times as fast as shared memory.
# Each level also belongs to fewer threads: to all, to a block, to one.
# But speed alone helps nobody.
# The tile pays because each number that comes to shared memory is used 32 times there.
# The registers pay because each number that comes to them is used 2 or 8 times.
#
# ## On trial
#
# [C33](#C33) was wrong; [C32](#C32) held.
#
# ## Recap
#
# - **Count before you tune.**
#   FLOP per byte of traffic, passes and accesses per multiply-add: the one that leaves the lowest share is mended first.
# - An estimate from counts is no bound: of six steps two came within 20 %.
#   Caches, the compiler and waiting made the difference.
# - **Reuse** is the whole ladder: with tiles of 32, global memory is asked for a 32nd of the bytes, and results in registers spare the banks.
# - A register tile needs indices that the compiler knows.
#   Otherwise it lies in memory.
# - Occupancy hides waiting; so do many independent sums in one thread.
#
# You can now count what a kernel needs, estimate which need holds it back on a given GPU, and lessen two such needs.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_3_tile", None)
# quiz("gpu.quiz_3_barrier", None)
# quiz("gpu.quiz_3_occupancy", None)
# BEGIN SOLUTION
quiz("gpu.quiz_3_tile", "b")
quiz("gpu.quiz_3_barrier", "c")
quiz("gpu.quiz_3_occupancy", "a")
# END SOLUTION
