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
#     number: 7
#     minutes: 44
#     needs: [numba]
#     able: read the compiler's report and the occupancy; say what limits a kernel, and how far off the answer may be
#     runs_on: the same, and NVIDIA's compiler, which needs no GPU
# ---

# %% [markdown]
# # What limits a kernel
#
# **In lesson 6's tiled kernel, each number in a tile served 32 threads.
# But when Simon Boehm timed such a kernel on an RTX A6000, 92 % of the arithmetic stood idle.**
# <!-- holds: round(100 * (1 - float(published["shared tile"]) / float(gpu.peak["fp32"]))) == 92 -->
# The kernel reached 2.98 TFLOP/s, where the peak is 38.7 (SGEMM_CUDA, 2023).
# What held it back?
# You learn to answer that by counting, without a GPU.
#
# ## What you will be able to do
#
# - work out how many blocks of a kernel fit on a multiprocessor (SM);
# - estimate from three counts what share of a GPU's peak a kernel can reach.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Boehm made his kernel faster step by step, and we wrote a similar **ladder** of kernels in Python.
# In the kernel *2-D register tile*, each thread keeps 8 x 8 sums in registers.
# The next kernel, *vector loads*, also fetches four floats with one instruction.
# Guess:
#
# 1. How many registers does NVIDIA's compiler give a thread of our 2-D register tile in all?
# 2. What percentage of the A6000's peak did Boehm's kernel with vector loads reach?

# %%
import numpy as np

from labkit import check, figures, hardware, hint, predict, quiz
from labkit.gpu import ladder, ladder_speeds
from labkit.gpu.occupancy_limits import multiprocessor
from labkit_lessons.gpu.what_limits_a_kernel import compiled_ladder

# STUB:
# registers_guess = predict("gpu.compiled_registers", None, "registers")
# share_guess = predict("gpu.published_share", None, "%")
# BEGIN SOLUTION
registers_guess = predict("gpu.compiled_registers", 72, "registers")
share_guess = predict("gpu.published_share", 80, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What the compiler reports
#
# The more registers each thread takes, the fewer threads fit on an SM at a time.
# NVIDIA's compiler tells us how many a thread takes, and needs no GPU.

# %%
made = compiled_ladder.compile_all()  # the ladder, for sm_86: the A6000's kind of SM
print("2-D register tile:", made.quantity("2-D register tile", "registers"))

# %% [markdown]
# ### How many blocks fit
#
# An SM holds several blocks at a time, so that some warps can compute while others wait.
# But a block starts only if the SM has room for all its warps, registers and shared memory.
# Also, an SM of the A6000 holds at most 16 blocks.
#
# Take a block of 8 warps, with 100 registers per thread and 10,000 B of shared memory.
# For each limit, we divide what the SM has by what one block takes, and drop the remainder:
#
# | limit | one block takes | an SM of the A6000 has | blocks that fit |
# |---|---|---|---|
# | warps | 8 | 48 | 6 |
# | registers | 8 x 32 x 100 = 25,600 | 65,536 | 2 |
# | shared memory | 10,000 B | 102,400 B | 10 |
# | blocks | 1 | 16 | 16 |
#
# All four limits apply at once, so the smallest number counts, and 2 blocks fit.
# Their 2 x 8 = 16 warps are 33 % of the 48 that the SM could hold.
# This share is called **occupancy**.
#
# **Exercise `gpu.blocks_that_fit`.**
# Return the smallest of the four numbers for each kernel, as an array.


# %% tags=["exercise:gpu.blocks_that_fit"]
def blocks_that_fit(warps, registers, shared, sm):
    """warps [n] and shared bytes [n] of a block, registers [n] of a thread -> blocks [n]

    Entry i of every array belongs to kernel i.
    sm.warps, sm.registers, sm.shared_bytes and sm.blocks are what the SM has. `//` divides and
    drops the rest; np.minimum(x, y) takes the smaller of two, element by element.
    """
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
# ## Check
#
# Let your function work on the whole ladder; the picture shows what limits the 2-D register tile.

# %% tags=["picture"]
blocks = blocks_that_fit(made.warps, made.registers, made.shared, multiprocessor("sm_86"))
heads = ["kernel", "warps", "registers", "shared memory", "blocks that fit", "warps on an SM"]
figures.table(heads, made.rows(blocks), note=compiled_ladder.ROWS_NOTE)
print("the same with the hardware's rounding:", np.array_equal(blocks, made.blocks()))
made.occupancy("2-D register tile").draw()

# %% [markdown]
# The coalesced kernel keeps 32 warps on an SM, and the 2-D register tile only 16.
# Yet in Boehm's timings, the 2-D register tile is about eight times as fast.
# A thread of this kernel has 64 sums: while one of them is not ready, it goes on with another, so few warps are enough.
# **A high occupancy helps against waiting, but it does not make a kernel fast.**
# <!-- holds: (blocks * made.warps)[made.names.index("coalesced")] == 32 == 2 * (blocks * made.warps)[made.names.index("2-D register tile")] -->
# <!-- holds: round(float(ladder_speeds.published_rates()["2-D register tile"]) / float(ladder_speeds.published_rates()["coalesced"])) == 8 -->
#
# ## Measure
#
# ### Three counts
#
# To estimate a kernel's speed, we count three things.
# If one of them were the only limit, the kernel could still reach only a share of the GPU's peak: we say that the count **leaves** this share.
#
# We count the **traffic** as if the caches kept nothing: 32 B for each sector that a request touches.
# Let a kernel do 5 FLOP for each byte of traffic.
# The A6000 reaches its peak from 50 FLOP per byte on, the ridge of its roofline:
#
# $$\text{traffic leaves} \quad \frac{5}{50} = \frac{1}{10}$$
#
# A **pass** gives one number to each lane of a warp, and an SM makes one per clock; we count passes for caches as for shared memory, though scattered reads may take more.
# Let this kernel need 2 passes for each multiply-add (`total += a * b` in all lanes of a warp).
# An SM starts 4 instructions per clock.
# So in 2 clocks it could start 4 x 2 multiply-adds, but numbers arrive for only one:
#
# $$\text{passes leave} \quad \frac{1}{4 \times 2} = \frac{1}{8}$$
#
# An **access** is an instruction with which a warp reads or writes memory.
# It takes one of the SM's 4 starts per clock, as a multiply-add does, and we leave out all other instructions.
# Let this kernel need 2 accesses for each multiply-add, so that one instruction of three is a multiply-add:
#
# $$\text{instructions leave} \quad \frac{1}{1 + 2} = \frac{1}{3}$$
#
# Traffic, passes and instructions go on at the same time, so the slowest sets the pace.
# Our **estimate** is the smallest share, here a tenth, and the traffic limits this kernel.
#
# **Exercise `gpu.lowest_limit`.**
# Return this estimate for each kernel, as an array.


# %% tags=["exercise:gpu.lowest_limit"]
def estimated_share(intensity, passes, accesses, ridge):
    """intensity [n] and ridge in FLOP/B, passes [n], accesses [n] -> share of the peak [n], 0 to 1

    Passes and accesses are for each multiply-add of a warp. With 1 pass, the passes leave a
    quarter; with 1 access, the instructions leave a half.
    """
    # STUB:
    # return np.zeros(len(passes))
    # BEGIN SOLUTION
    memory = np.minimum(intensity / ridge, 1 / (4 * passes))
    return np.minimum(memory, 1 / (1 + accesses))
    # END SOLUTION


estimated_share = check("gpu.lowest_limit", estimated_share)

# %% [markdown]
# ### The ladder, counted
#
# Now the SIMT machine runs each kernel and counts.
# Go down the table: what does each change save?

# %%
counts = ladder.count()
ladder.show_counts(counts)

# %% [markdown]
# The shared tile does 20 times as many FLOP per byte as the coalesced kernel, but its passes stay at about two.
# <!-- holds: round(counts.intensity[2] / counts.intensity[1]) == 20 -->
# <!-- holds: 2 <= counts.passes[2] < 2.2 -->
# In this ladder, they first fall when a thread makes several results.
# **A tile saves traffic; several results per thread also save passes.**
# <!-- holds: counts.passes[3] < 0.6 * counts.passes[2] -->
# <!-- holds: counts.passes[4] < 0.6 * counts.passes[3] -->
#
# ### Which limit is next?
#
# Your function turns the counts into shares.
# The last column names the smallest share of each row.

# %%
gpu = hardware.machine("a6000")
ridge = gpu.ridge("fp32")
shares = estimated_share(counts.intensity, counts.passes, counts.accesses, ridge)
ladder.show_limits(counts, shares, ridge)
estimates = ladder_speeds.predicted_rates(counts.names, shares, gpu)
merged = made.quantity("shared tile", "reads")  # for 32 multiply-adds of a thread, not 64
print("reads of the shared tile:", merged)

# %% [markdown]
# By our counts, traffic limits naive and coalesced.
# <!-- holds: max(counts.intensity[:2]) / ridge < min(1 / (4 * counts.passes[:2])) -->
# The shared tile has less traffic, so the passes come next: they leave 11.4 %.
# <!-- holds: round(100 * shares[2], 1) == 11.4 -->
# <!-- holds: 1 / (4 * counts.passes[2]) < counts.intensity[2] / ridge -->
# With vector loads the passes are few, and the traffic is the limit again.
# <!-- holds: counts.intensity[5] / ridge < 1 / (4 * counts.passes[5]) -->
# **Remove one limit, and you meet the next.**
#
# But we counted every read in the source code, and in the shared and register tiles the compiler merges some.
# In the shared tile, 40 of 64 reads for 32 multiply-adds remain; if each takes one pass, they leave 20 %, and the traffic, 15.6 %, is the limit.
# <!-- holds: float(merged) == 40 -->
# <!-- holds: 1 / (4 * float(merged) / 32) == 0.2 -->
# <!-- holds: round(100 * counts.intensity[2] / ridge, 1) == 15.6 -->
# In the 2-D register tile, 4 of 16 reads for each `k` remain; even at worst, their passes leave more than the traffic, at 42 %.
# In Boehm's profile, warps of his shared tile waited for shared memory (*Worklog*, 2022).
#
# ### Tensor cores
#
# A **tensor core** multiplies two small matrices with one instruction, `mma`.
# The first table counts a kernel with `mma`, and the second shows where newer GPUs keep the matrices.

# %%
print("one mma replaces", ladder.replaced_by_one_mma())
tensor = ladder.count(["tuned", "tensor core"])
ladder.show_counts(tensor)
ladder.show_generations()

# %% [markdown]
# One `mma` replaces 64 multiply-adds, but takes longer than one.
# <!-- holds: ladder.replaced_by_one_mma().value == 64 -->

# %% tags=["timing", "nbval-ignore-output"]
# On a CUDA GPU this times the ladder, beside cuBLAS; elsewhere, NumPy's product on your processor.
for name, speed in ladder_speeds.measure_speeds().items():
    print(f"{name}: {speed}")

# %% [markdown]
# ## Explain
#
# How good are the estimates?
# On this roofline, each circle is an estimate, and the diamond tied to it is the published speed.

# %% tags=["picture"]
published = ladder_speeds.published_rates()
intensities = dict(zip(counts.names, counts.intensity, strict=True))
figures.climb(gpu, intensities, estimates, published)

# %% [markdown]
# Two diamonds are far above the sloping roof, which assumes traffic from DRAM.
# <!-- holds: [float(speed) > 2 * counts.intensity[counts.names.index(name)] * float(gpu.bandwidth) for name, speed in published.items() if name in counts.names] == [True, True, False, False, False, False] -->
# There, caches answered most requests, so it is no bound.
# The flat roof is a true bound, because an SM starts at most 4 multiply-adds of 32 lanes per clock.
#
# ## On trial
#
# ### <a id="C33"></a>C33 on trial
#
# > The one-thread-per-output CUDA matmul is "high performance"
#
# Naive, coalesced and shared tile are of this kind.
# The table compares the ladder with NVIDIA's library cuBLAS.

# %% tags=["picture"]
ladder_speeds.show_trial(estimates, published, gpu)
registers = made.quantity("2-D register tile", "registers")
share = ladder_speeds.share_of_peak(published["vector loads"], gpu)
figures.guesses([("registers", registers_guess, registers), ("share", share_guess, share)])

# %% [markdown]
# Of the six estimates that we can compare, two are close, which means within 20 %.
# <!-- holds: sum(abs(float(estimates[name]) / float(published[name]) - 1) < 0.2 for name in published if name in estimates) == 2 -->
# Naive and coalesced come out too low, because our traffic ignores the caches.
# <!-- holds: all(float(estimates[name]) < 0.8 * float(published[name]) for name in ("naive", "coalesced")) -->
# The shared tile and vector loads come out too high, perhaps because we count no waiting.
# <!-- holds: all(float(estimates[name]) > 1.2 * float(published[name]) for name in ("shared tile", "vector loads")) -->
#
# **Verdict on C33: wrong.**
# In the published timings, even the best of the three reaches only 8 % of the peak, and cuBLAS reaches 60 %.
# <!-- holds: round(100 * max(float(published[name]) for name in ("naive", "coalesced", "shared tile")) / float(gpu.peak["fp32"])) == 8 -->
# <!-- holds: round(100 * float(published["cuBLAS"]) / float(gpu.peak["fp32"])) == 60 -->
# As written, the three need at least two passes per multiply-add, and these leave at most an eighth (the compiler merges some of the shared tile's).
# <!-- holds: min(counts.passes[:3]) > 1.999 -->
# <!-- holds: float(merged) < 64 -->
#
# ### Outside
#
# NVIDIA's profiler, `ncu --set full python my_kernel.py`, reports registers, occupancy, and how busy each memory was; see [GPUs measured](measured.md).
#
# ## Recap
#
# What held the shared tile back?
# As written, its passes: they alone keep 89 % of the arithmetic idle.
# <!-- holds: round(100 * (1 - shares[2])) == 89 -->
# As compiled, its traffic, 84 %.
# <!-- holds: round(100 * (1 - counts.intensity[2] / ridge)) == 84 -->
# In Boehm's timing, 92 % was idle.
#
# **A rule to keep: if an SM starts 4 instructions per clock, two passes per multiply-add leave an eighth of the peak.**
# <!-- holds: estimated_share(np.array([1e9]), np.array([2]), np.array([0]), ridge)[0] == 1 / 8 -->
# Try it on a convolution in which each thread makes 16 results: 4 pixels in 4 output channels.
# For each filter place and input channel, it reads 4 inputs and 4 weights: half a pass for each of 16 multiply-adds.
# Two passes leave an eighth, so this leaves a half.
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
