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
# **With a tile in shared memory, a matmul asks global memory for 1/32 of the bytes.
# On an RTX A6000 the tile made it only 1.5 times as fast (published), and 92 % of the arithmetic still stood idle: something else limits it.**
# Here you learn to predict what.
#
# ## What you will be able to do
#
# - work out how many blocks of a kernel fit on an SM, and what keeps out the next one;
# - estimate from three counts how much of a GPU's peak a kernel can use.
#
# You need lesson 1's roofline, lesson 2's sectors, and lesson 3.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# We compare a ladder of seven kernels, each meant to be faster than the one before.
# The *shared tile* resembles lesson 3's.
# In the *2-D register tile*, each thread makes 8 x 8 results.
# The next kernel, *vector loads*, also fetches four floats with one instruction.
#
# Guess three numbers:
#
# 1. A thread of the 2-D register tile keeps 64 sums in registers.
#    How many registers does NVIDIA's compiler give it in all?
# 2. In the source of the shared tile, each thread reads shared memory 64 times for 32 multiply-adds.
#    How many read instructions remain after compiling?
# 3. Somebody timed a C++ kernel with vector loads on an RTX A6000.
#    What percentage of the GPU's peak did it reach?

# %%
import numpy as np

from labkit import check, figures, hardware, hint, predict, quiz
from labkit.gpu import compiled_ladder, ladder, ladder_speeds, pictures
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
# It reports how many registers a thread needs, and the code that it produces shows which instructions remain.
# We compile the ladder for `sm_86`, the A6000's kind of SM.

# %%
made = compiled_ladder.compile_all()
print("2-D register tile:", made.quantity("2-D register tile", "registers"))
print("2-D register tile, spilled:", made.quantity("2-D register tile", "spills"))
print("shared tile:", made.quantity("shared tile", "reads"))

# %% [markdown]
# The 64 sums take just over half of the registers, and none is **spilled**, which means moved to slow memory.
#
# In the shared tile, a thread walks along a row of `a_tile`, so the compiler fetches four neighbours at once.
# There 8 reads replace 32, and with the 32 reads of `b_tile` that makes 40.
#
# ### How many blocks fit
#
# An SM holds several blocks at a time, so that other warps can compute while one waits.
# But a block starts only if the SM has room for all of it: warps, registers and shared memory.
#
# Let us count by hand for a block of 8 warps with 100 registers per thread.
# Its tiles take 8,976 B of shared memory, and CUDA adds 1,024 B for itself.
#
# | limit | one block takes | an SM of the A6000 has | blocks that fit |
# |---|---|---|---|
# | warps | 8 | 48 | 6 |
# | registers | 8 x 32 x 100 = 25,600 | 65,536 | 2 |
# | shared memory | 10,000 B | 102,400 B | 10 |
# | blocks | 1 | 16 | 16 |
#
# The least number counts, so 2 blocks fit.
# The SM then holds 16 of 48 warps.
# This share, here 33 %, is called **occupancy**.
#
# **Exercise `gpu.blocks_that_fit`.**
# Return the smallest of the four numbers for each kernel.


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
# ### Three counts, three shares
#
# Three counts tell what limits a kernel:
#
# - **Traffic** is 32 B for every sector that a request touches, as if there were no caches.
# - A **pass** gives one number to each lane of a warp.
#   The same unit delivers from global memory, so 128 B requested there are a pass, too.
# - An **access** is an instruction with which a warp reads or writes memory.
#
# If traffic, passes or instructions alone set the pace, the kernel would reach only a share of the peak; we say that the count *leaves* this share.
# Suppose that a kernel does 5 FLOP per byte, and that a multiply-add of a warp needs 2 passes and 3 accesses:
#
# | count | why | share it leaves |
# |---|---|---|
# | traffic | it does 5 FLOP per byte, and the A6000's ridge is at 50 | a tenth |
# | passes | they take 2 clocks, in which an SM could start 8 multiply-adds | an eighth |
# | instructions | an SM starts 4 per clock; here only 1 of 4 is a multiply-add | a quarter |
#
# All three go on at once, so the slowest sets the pace.
# Our **estimate** is therefore the lowest share, here a tenth.
#
# **Exercise `gpu.lowest_limit`.**
# Return this estimate for each kernel.


# %% tags=["exercise:gpu.lowest_limit"]
def estimated_share(intensity, passes, accesses, ridge):
    """intensity [n] in FLOP/B, passes [n] and accesses [n] per multiply-add -> share [n], 0 to 1

    With 1 pass, passes would leave a quarter; with 1 access, instructions would leave a half.
    """
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
# Hardware hands out registers and memory in fixed portions, and `made.blocks()` rounds up to them.

# %% tags=["picture"]
blocks = blocks_that_fit(made.warps, made.registers, made.shared, multiprocessor("sm_86"))
heads = ["kernel", "warps", "registers", "shared memory", "blocks that fit", "their warps"]
figures.table(heads, made.rows(blocks), note="Shared memory includes CUDA's 1,024 B.")
print("as the hardware rounds:", np.array_equal(blocks, made.blocks()))
made.occupancy("2-D register tile").draw()

# %% [markdown]
# The coalesced kernel keeps 32 warps on an SM, and the 2-D register tile only 16.
# Yet the published speed of the 2-D tile is about eight times as high.
# The reason is that each of its threads has 64 independent sums, so few warps suffice.
# Occupancy is a remedy against waiting, and no aim in itself.
#
# ## Measure
#
# ### The ladder
#
# Now the SIMT machine counts, for matrices of 128 x 1,024 and 1,024 x 128.

# %%
counts = ladder.count()
ladder.show_counts(counts)

# %% [markdown]
# ### Which limit is next?
#
# Now your function estimates each kernel, and the table names the count that leaves least.

# %%
gpu = hardware.machine("a6000")
ridge = gpu.ridge("fp32")
shares = estimated_share(counts.intensity, counts.passes, counts.accesses, ridge)
ladder.show_limits(counts, shares, ridge)
estimates = ladder_speeds.predicted_rates(counts.names, shares, gpu)

# %% [markdown]
# In the two simple kernels, traffic leaves the smallest share.
# In the three tiles it is the passes: by our estimate they leave the shared tile 11.4 %, and the published speed is lower still, 8 %.
# With vector loads, traffic again leaves the smallest share.
#
# But we counted the kernels as written, and the compiler removes reads.
# Does that change the next limit?

# %%
ladder.show_compiled(counts, made, ridge)

# %% [markdown]
# For the 2-D register tile it does: even at worst, the passes leave more than the traffic, so by our counts, without caches, traffic is its next limit.
# For the other two, the traffic's share lies between the passes' worst and best; Boehm's profile points to shared memory.
#
# ### Tensor cores
#
# A **tensor core** multiplies two small matrices.
# With one instruction, `mma`, a warp computes `c += a b` for `a[16,16]` and `b[16,8]` of float16, with sums in float32.
# That is 16 x 8 results with 16 multiply-adds each, or 2,048.
# An ordinary multiply-add instruction of a warp does 32, so one `mma` replaces 64 of them.
# That does not make the GPU 64 times as fast: tensor cores have a peak of their own, which we leave out.
#
# The picture shows what lane 5 holds; then come the counts of a kernel with `mma`, and where newer GPUs keep the matrices.

# %% tags=["picture"]
print("one mma replaces", ladder.replaced_by_one_mma())
pictures.mma_parts(lane=5)
tensor = ladder.count(["tuned", "tensor core"])
ladder.show_counts(tensor)
ladder.show_generations()

# %% [markdown]
# By our counts, traffic limits this kernel next.
# The kernel does 64 FLOP per byte, so 768 GB/s allow 49 TFLOP/s; the passes allow seven times as much.
#
# For scale, we time NumPy's product on your processor.

# %% tags=["timing", "nbval-ignore-output"]
# On a CUDA GPU the call also times the ladder, beside cuBLAS.
for name, speed in ladder_speeds.measure_speeds().items():
    print(f"{name}: {speed}")

# %% [markdown]
# ## Explain
#
# The picture puts each kernel on the roofline, at the traffic that we counted.
# The roof assumes that all traffic comes from DRAM, so a diamond above it means that caches have answered.

# %% tags=["picture"]
published = ladder_speeds.published_rates()
intensities = dict(zip(counts.names, counts.intensity, strict=True))
figures.climb(gpu, intensities, estimates, published)

# %% [markdown]
# Our three shares are only estimates, because caches and compilers can beat them.
# The peak is a true bound, because an SM has no more than 128 lanes for float32.
#
# ## On trial
#
# ### <a id="C33"></a>C33 on trial
#
# > The one-thread-per-output CUDA matmul is "high performance"
#
# The kernels naive and coalesced are of this kind.
# We compare them with cuBLAS, and explain where our estimates were off.

# %% tags=["picture"]
heads = ["kernel", "estimate", "published speed"]
shares_of_peak = ladder_speeds.rows_of_shares(estimates, published, gpu)
figures.table(heads, shares_of_peak, note=ladder_speeds.SHARES_NOTE)
of_vector_loads = ladder_speeds.share_of_peak(published["vector loads"], gpu)
ladder_speeds.show_misses(estimates, published, intensities)
registers = made.quantity("2-D register tile", "registers")
reads = made.quantity("shared tile", "reads")
results = [registers, reads, of_vector_loads]
guesses = [registers_guess, reads_guess, share_guess]
figures.guesses(list(zip(["registers", "reads", "share"], guesses, results, strict=True)))

# %% [markdown]
# Of our six estimates, two are close, which means within 20 %.
#
# **Verdict on C33: wrong.**
# Even well coalesced, the published speed of such a kernel is 5 % of the peak; cuBLAS reaches 60 %.
# Even if caches answered for every byte, the two passes that we count per multiply-add would leave an eighth.
#
# ### Outside
#
# Practitioners run NVIDIA's profiler: `ncu --set full python my_kernel.py`.
# It reports a kernel's registers and occupancy, and what each cache delivers.
# For matrix products they call cuBLAS, or use CUTLASS or Triton.
# We left out the caches' own speed, asynchronous copies, and Boehm's next step, *warp tiling*.
#
# ## Recap
#
# **A rule to keep: two passes per multiply-add leave an eighth of the peak.**
# To beat that, let each thread keep several results.
#
# With the tile alone, 92 % of the arithmetic stood idle.
# As written, the kernel's next limit was the passes, by our estimate; as compiled, it may be the traffic.
# With register sums and vector loads, 53 % still stood idle.
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
