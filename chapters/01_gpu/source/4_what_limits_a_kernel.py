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
#     minutes: 47
#     needs: [numba]
# ---

# %% [markdown]
# # What limits a kernel
#
# **A tile in shared memory cuts the bytes that a matmul asks of global memory to a 32nd.
# On an RTX A6000 that made the kernel only 1.5 times faster (published), and 92 % of the GPU's arithmetic still stood idle.**
# Whoever removes one limit meets the next one.
# In this lesson you find out which one is next.
#
# ## What you will be able to do
#
# - work out how many blocks of a kernel fit on an SM, and why no more;
# - estimate from three counts how much of a GPU's peak a kernel can use;
# - say what a tensor core changes in these counts;
# - tell an estimate from a bound, and name the cause of a miss.
#
# You need lesson 1's roofline, and lesson 3's SM, clock, pass, tile, caches and DRAM.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Lesson 3 stopped at 8 x 2 results per thread, but the ladder of kernels goes on.
# In its *2-D register tile* each thread makes 8 x 8 results; in *vector loads* one instruction also fetches four floats.
# Guess three numbers:
#
# 1. A thread of the 2-D register tile keeps 64 sums in registers.
#    How many registers does NVIDIA's compiler give to it in all?
# 2. As written, the shared tile reads shared memory 64 times for 32 multiply-adds.
#    How many reading instructions does the compiler leave?
# 3. Somebody timed a C++ kernel with vector loads on an RTX A6000.
#    What percentage of the peak was published?

# %%
import numpy as np

from labkit import check, figures, hardware, hint, predict, quiz
from labkit.gpu import ladder, ladder_speeds, pictures
from labkit.gpu.occupancy_limits import multiprocessor

# STUB:
# registers_guess = predict("gpu.compiled_registers", None, "registers")
# reads_guess = predict("gpu.compiled_reads", None, "reads")
# share_guess = predict("gpu.published_share", None, "%")
# BEGIN SOLUTION
registers_guess = predict("gpu.compiled_registers", 72, "registers")
reads_guess = predict("gpu.compiled_reads", 64, "reads")
share_guess = predict("gpu.published_share", 80, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What the compiler reports
#
# NVIDIA's compiler needs no GPU.
# It reports how many registers each thread needs, and how much shared memory each block.
# When the registers do not suffice, it moves numbers to slow memory and back; these bytes are called **spills**.
# We compile the whole ladder for `sm_86`, the A6000's kind of SM, and look at one kernel.

# %%
made = ladder.compile_all()
for number in ["registers", "spills"]:
    print(made.quantity("2-D register tile", number))

# %% [markdown]
# Nothing is spilled, and the sums take just over half of the registers.
#
# ### How many blocks fit
#
# An SM holds several blocks at a time, so that other warps can compute while one waits for memory.
# But a block comes whole, with all its warps, registers and shared memory, and keeps them until it ends.
#
# Let us count by hand, for a block of 8 warps with 100 registers per thread and 10,000 B of shared memory:
#
# | limit | one block takes | an SM of the A6000 has | blocks that fit |
# |---|---|---|---|
# | warps | 8 | 48 | 6 |
# | registers | 8 x 32 x 100 = 25,600 | 65,536 | 2 |
# | shared memory | 10,000 B | 102,400 B | 10 |
# | blocks | 1 | 16 | 16 |
#
# The least number counts, so 2 blocks fit.
# The registers keep out the third one.
# The SM then holds 16 warps of 48, and this share, here 33 %, is called **occupancy**.
#
# **Exercise `gpu.blocks_that_fit`**: the least number, for arrays with one element per kernel.
# `sm` has `.warps`, `.registers`, `.shared_bytes` and `.blocks`.
# `//` divides and drops the rest, and `np.minimum` takes two arrays.


# %% tags=["exercise:gpu.blocks_that_fit"]
def blocks_that_fit(warps, registers, shared, sm):
    """warps [n] and shared bytes [n] of a block, registers [n] of a thread -> blocks [n]"""
    # STUB:
    # return np.zeros(len(warps))
    # BEGIN SOLUTION
    by_warps = sm.warps // warps
    by_registers = sm.registers // (32 * warps * registers)
    by_shared = sm.shared_bytes // shared
    memory = np.minimum(by_registers, by_shared)
    needs = np.minimum(by_warps, memory)
    return np.minimum(needs, sm.blocks)
    # END SOLUTION


blocks_that_fit = check("gpu.blocks_that_fit", blocks_that_fit)

# %% [markdown]
# ### Three counts, three shares
#
# How fast can these blocks work?
# Each of three counts leaves a share of the peak.
# An **access** is an instruction of a warp that reads or writes memory.
# Suppose that a kernel does 5 FLOP for each byte of traffic, and that each multiply-add of a warp needs 2 passes and 3 accesses.
#
# | count | why | share it leaves |
# |---|---|---|
# | traffic | it does 5 FLOP for a byte, and at the ridge a GPU needs 50 | a tenth |
# | passes | they take 2 clocks, in which an SM could do 8 multiply-adds | an eighth |
# | instructions | an SM starts 4 in a clock; here one of 4 is a multiply-add | a quarter |
#
# Likewise, one pass leaves a quarter, and one access leaves a half.
# All three go on at the same time, so the slowest sets the pace.
# So our **estimate** is the lowest share, here a tenth.
#
# **Exercise `gpu.lowest_limit`**: this estimate, again for arrays.


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

# %% [markdown]
# ## Check
#
# Does your count hold for the whole ladder?
# The hardware also rounds each need up to its own units, and `made.blocks()` does the same.
# CUDA keeps 1,024 B of shared memory in each block, which the table includes.

# %% tags=["picture"]
blocks = blocks_that_fit(made.warps, made.registers, made.shared, multiprocessor("sm_86"))
heads = ["kernel", "warps", "registers", "shared memory", "blocks that fit", "their warps"]
figures.table(heads, made.rows(blocks))
print("as the hardware rounds:", np.array_equal(blocks, made.blocks()))
made.occupancy("2-D register tile").draw()

# %% [markdown]
# The naive kernel fills every place, and the 2-D register tile a third.
# Yet the latter was published as about 50 times faster: occupancy is a remedy against waiting, and no aim in itself.
#
# ## Measure
#
# ### The ladder
#
# Your 8 x 2 patch stands between the two register tiles.
# We count for matrices of 128 x 1,024 and 1,024 x 128.
# Global memory is reached through the same unit as shared memory, so every 128 B that warps ask of it count as a pass.

# %%
ladder.show_rungs()
counts = ladder.count()
figures.table(["kernel", "traffic", "passes", "accesses"], counts.rows())

# %% [markdown]
# Vector loads and tuned count alike, because no count shows waiting.
#
# ### The last rung: tensor cores
#
# A **tensor core** multiplies two small matrices.
# One instruction of a warp, `mma`, computes `c += a b` for `a[16,16]` and `b[16,8]` of float16, with sums in float32.
# By hand, that is 16 x 8 results with 16 multiply-adds each, or 2,048.
# An ordinary instruction does one in each of 32 lanes, so one `mma` replaces 64 of them.
# Each lane holds a part of the three matrices in its registers.

# %% tags=["picture"]
print("one mma replaces", ladder.replaced_by_one_mma())
pictures.mma_parts(lane=5)
tensor = ladder.count(["tensor core"])
figures.table(["kernel", "traffic", "passes", "accesses"], tensor.rows())
ladder.show_generations()

# %% [markdown]
# Against the tuned kernel, passes and accesses fall to a tenth.
# Later GPUs free threads and registers of this work.
#
# ### The estimates
#
# Tensor cores have a peak of their own, so we estimate the other kernels.
# How fast should they be on the A6000?

# %%
gpu = hardware.machine("a6000")
ridge = gpu.ridge("fp32")
shares = estimated_share(counts.intensity, counts.passes, counts.accesses, ridge)
estimates = ladder_speeds.predicted_rates(counts.names, shares, gpu)
figures.table(["kernel", "estimate"], list(estimates.items()))

# %% [markdown]
# For scale, we time NumPy's product on your processor.
# On a CUDA GPU the same call times the ladder beside NVIDIA's library, cuBLAS.

# %% tags=["timing", "nbval-ignore-output"]
for name, speed in ladder_speeds.measure_speeds().items():
    print(f"{name}: {speed}")

# %% [markdown]
# ## Explain
#
# The roofline has each step at the traffic that we counted, and published speeds of the same steps in C++.
# The roof holds if all traffic comes from DRAM.
# A diamond above it means that caches have answered.
# A circle below it means that passes or instructions set the estimate.

# %% tags=["picture"]
published = ladder_speeds.published_rates()
intensities = dict(zip(counts.names, counts.intensity, strict=True))
figures.climb(gpu, intensities, estimates, published)

# %% [markdown]
# What did the compiler make of the shared tile's 64 reads?

# %%
for number in ["multiply_adds", "reads"]:
    print(made.quantity("shared tile", number))

# %% [markdown]
# A thread walks along a row of `a_tile`, so the compiler fetches four neighbours at once: 8 reads replace 32.
# All lanes of a warp want the same four, so passes can become fewer, too.
#
# Our three shares are therefore estimates: caches and compilers can beat them.
# A true bound is the peak, because an SM of the A6000 has 128 lanes for float32 and never does more than 4 multiply-adds of warps in a clock.
#
# ## On trial
#
# ### <a id="C33"></a>C33 on trial
#
# > The one-thread-per-output CUDA matmul is "high performance"
#
# The rungs naive and coalesced are such kernels.
# The tables set all steps beside cuBLAS; the picture shows your guesses.

# %% tags=["picture"]
heads = ["step", "estimate", "published speed", "estimate / published"]
shares_of_peak = ladder_speeds.rows_of_shares(estimates, published, gpu)
figures.table(heads, shares_of_peak, note="Both in percent of the A6000's peak in float32.")
of_vector_loads = ladder_speeds.share_of_peak(published["vector loads"], gpu)
ladder_speeds.show_misses(estimates, published, intensities)
registers = made.quantity("2-D register tile", "registers")
reads = made.quantity("shared tile", "reads")
results = [registers, reads, of_vector_loads]
guesses = [registers_guess, reads_guess, share_guess]
figures.guesses(list(zip(["registers", "reads", "share"], guesses, results, strict=True)))

# %% [markdown]
# **Verdict on C33: wrong.**
# Even well coalesced, such a kernel was published at 5 % of an RTX A6000's peak, where cuBLAS reaches 60 %.
# Our estimate is lower still, because it counts the traffic as if no cache helped.
# But even if caches answered for every byte, the two passes that we count per multiply-add would leave an eighth.
#
# And the estimates?
# We call one close if it is within 20 %, and two of six are; the last table names a cause for each miss.
# The shared tile's 1,024 threads leave no room for a second block, which could work while they wait.
# A count says what to mend first, and a GPU how fast the kernel then is.
#
# ### Outside
#
# On a GPU, practitioners run NVIDIA's profiler: `ncu --set full python my_kernel.py`.
# It prints our registers and occupancy, and also what each cache delivers.
# For products they call cuBLAS, or use CUTLASS or Triton.
# We left out tiles of warps, asynchronous copies, and the last, half-empty round of blocks.
#
# ## Recap
#
# - The least of four limits says how many blocks fit; the lowest of three shares is the estimate.
# - **A rule to keep: two passes per multiply-add leave an eighth of the peak.**
#   Results in registers get a kernel past that.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_occupancy", None)
# quiz("gpu.quiz_fewer_registers", None)
# quiz("gpu.quiz_next_limit", None)
# BEGIN SOLUTION
quiz("gpu.quiz_occupancy", "a")
quiz("gpu.quiz_fewer_registers", "b")
quiz("gpu.quiz_next_limit", "c")
# END SOLUTION
