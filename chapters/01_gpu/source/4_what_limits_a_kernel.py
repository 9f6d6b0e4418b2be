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
#     title: What limits a kernel
#     minutes: 45
#     needs: [numba]
# ---

# %% [markdown]
# # What limits a kernel
#
# To be written.

# %% tags=["setup"]
# The setup cell: written by labkit build.

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
# quiz("gpu.quiz_occupancy", None)
# BEGIN SOLUTION
quiz("gpu.quiz_occupancy", "a")
# END SOLUTION
