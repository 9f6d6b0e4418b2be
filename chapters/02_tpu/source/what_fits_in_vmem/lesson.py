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
#     title: What fits in VMEM
#     number: 8
#     minutes: 57
#     needs: [jax]
#     able: say before compiling whether a kernel fits on the chip, bound its cycles from below, and write copies of your own that somebody waits for
#     runs_on: a snapshot of the answers of Google's TPU compiler; any CPU, by Pallas' interpreter
# ---

# %% [markdown]
# # What fits in VMEM
#
# **9 million cycles for a product that the matrix units could do in 131,072.**
# <!-- holds: 9_000_000 < rows[0][1] < 9_500_000 and 2048**3 // (4 * 128**2) == 131_072 -->
# The kernel of *A kernel of your own* multiplies two matrices [2048, 2048] correctly with any blocks.
# But with blocks of 8 x 128 numbers of x, a TPU v5e needs at least 9,175,040 cycles for it.
# Larger blocks are faster, until they do not fit on the chip.
# Which blocks should we take, and can we know it before the compiler complains?
#
# ## What you will be able to do
#
# - say before compiling whether a kernel fits into VMEM;
# - bound its cycles from below, in three ways;
# - copy by yourself, and find a copy that nobody waits for.
#
# You need the lesson *A kernel of your own*.
# No kernel of this lesson ran on a TPU: Google's compiler compiled them, and an interpreter runs one on your CPU.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# All through this lesson, the kernel is the layer relu(x w + b) of that lesson, with x and w [2048, 2048] and y in bfloat16, and b and the running sum in float32.
#
# If all its blocks have 1,024 x 1,024 numbers, how many MiB does it need in VMEM?
# And how many times as many bytes cross between HBM and VMEM with blocks of 128 x 128 numbers as with 512 x 512?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.hardware import machine
from labkit.provenance import compiled, predicted
from labkit.tpu import compile_for_tpu
from labkit.tpu.compiler import TPUOutOfMemory
from labkit.tpu.tiled import layer_step, tiled
from labkit_lessons.tpu.what_fits_in_vmem import copies, ladder_pictures

# STUB:
# vmem_guess = predict("tpu.vmem_of_1024", None, "MiB")
# bytes_guess = predict("tpu.bytes_of_128", None, "times")
# BEGIN SOLUTION
vmem_guess = predict("tpu.vmem_of_1024", 10, "MiB")
bytes_guess = predict("tpu.bytes_of_128", 16, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Twice each block
#
# While a step multiplies, Pallas already copies the blocks of the next step into VMEM, and the last finished block of y out of it.
# So there are two places for each block: one to work on, and one for the copy.
# This is called **double buffering**.
#
# ```
# step          0          1          2          3
# computes in   place A    place B    place A    place B
# copies into   place B    place A    place B    place A
# ```
#
# Scratch memory is not copied, so it has one place.
#
# As an example, take bm = 2, bk = 4 and bn = 3:
#
# ```
# block            numbers      bytes each   places   bytes
# x [bm, bk]       2 x 4 = 8    2            2           32
# w [bk, bn]       4 x 3 = 12   2            2           48
# b [1, bn]        3            4            2           24
# y [bm, bn]       2 x 3 = 6    2            2           24
# total [bm, bn]   2 x 3 = 6    4            1           24
#                                         together      152
# ```
#
# On a TPU, such small blocks would be filled up to whole tiles; the ones below fill theirs.
#
# **Exercise `tpu.vmem_bytes`**: compute the bytes for n choices of blocks at once.
# `itemsize` is the bytes of a number of x, w and y; those of b and total have 4.
# In this exercise and the next, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:tpu.vmem_bytes"]
def vmem_bytes(bm, bk, bn, itemsize):
    """sizes of the blocks, each [n], and bytes of a number -> bytes in VMEM [n]"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    copied = itemsize * (bm * bk + bk * bn + bm * bn) + 4 * bn
    return 2 * copied + 4 * bm * bn
    # END SOLUTION


vmem_bytes = check("tpu.vmem_bytes", vmem_bytes)

# %% [markdown]
# Does the compiler lay out as much?
# With `bundles=True`, `compile_for_tpu` also asks it to write down, or **dump**, the kernel's inside, and reads its memory from there.

# %%
choices = [(8, 128, 128), (128, 128, 128), (256, 512, 256), (512, 512, 512), (1024, 512, 1024)]
shapes = [(2048, 2048), (2048, 2048), ((1, 2048), "float32")]


def ask(blocks):
    layer = tiled(layer_step(), blocks, bias=True)
    return compile_for_tpu(layer, shapes, source="snapshot", bundles=True)


bm, bk, bn = np.array(choices).T
expected = vmem_bytes(bm, bk, bn, itemsize=2)
kernels = [ask(blocks).kernels[0] for blocks in choices]
rows = []
for blocks, size, kernel in zip(choices, expected, kernels, strict=True):
    rows.append([str(blocks), int(size), kernel.vmem, kernel.spilled])
heads = ["bm, bk, bn", "predicted", "compiled", "compiler adds"]
figures.table(heads, rows, "Bytes in VMEM; the answers come from a snapshot.")

# %% [markdown]
# For the blocks and the sum, the formula and the compiler agree to the byte: the first two columns are equal.
# <!-- holds: all(row[1] == row[2] for row in rows) -->
# But what the compiler adds in the third column comes on top, up to 29 % of the second.
# <!-- holds: round(100 * max(row[3] / row[2] for row in rows)) == 29 -->
# It is for numbers that find no room in the **registers**, the few places next to the arithmetic units from which these take numbers.
# So leave free about 30 % of what the blocks and the sum take.
# <!-- holds: all(row[3] < 0.3 * row[2] for row in rows) -->
#
# ## Check
#
# Now the blocks of 1,024 x 1,024.
# On a v5e, the compiler gives a kernel 16 MiB unless it is told otherwise.
# First your prediction, then the compiler's answer.

# %%
too_large = int(vmem_bytes(*np.array([[1024]] * 3), itemsize=2)[0])
over = too_large - 16 * 2**20
print(f"predicted: {too_large:,} B, which is {over / 1024:+.1f} KiB against 16 MiB")
try:
    ask((1024, 1024, 1024))
except TPUOutOfMemory as error:
    print(str(error).replace(". ", ".\n"))

# %% [markdown]
# As predicted, the kernel needs 8 KiB more than it gets: 16 MiB for the large blocks and the sum, and 8 KiB for two places of the bias.
# <!-- holds: over == 8 * 1024 == 2 * 4 * 1024 -->
# *Scoped* is the compiler's word for memory that belongs to a kernel only while it runs.
# With bk = 512, it fits.
# <!-- holds: rows[4][1] + rows[4][3] < 16 * 2**20 -->
# The formula holds for our layer in bfloat16; with larger float32 blocks, we saw this compiler keep a single place for each.
#
# ## Measure
#
# What do small blocks cost?
# The compiler estimates no cycles for a kernel, but its dump lets us bound them from below.
#
# ### Bundles
#
# A TPU core begins one **bundle** of instructions per cycle: some for the matrix units, some for loads, stores and additions, all at once.
# The dump lists the kernel's bundles in order.
# For blocks of 128 x 128 it has 242; a step passes through 177 of them, since it skips what belongs to the first or last step along k.
# <!-- holds: (kernels[1].bundles, kernels[1].step) == (242, 177) -->
# There are 16 x 16 x 16 = 4,096 steps, so the kernel takes at least 4,096 x 177 = 724,992 cycles.
# <!-- holds: kernels[1].steps == 16**3 and kernels[1].cycles == 724_992 -->
# With bm = 8 there are 256 x 16 x 16 = 65,536 steps of 140 bundles: these are the 9,175,040 cycles of the headline.
# <!-- holds: kernels[0].steps == 65_536 and kernels[0].step == 140 and kernels[0].cycles == 9_175_040 -->
#
# It is a *lower* bound, because a bundle may have to wait: for a copy from HBM, or for a busy matrix unit.
# The flags for this dump are not documented; another version of the compiler may write something else.
#
# ### Matrix units
#
# A v5e has four matrix units of 128 x 128 cells, so 2048 x 2048 x 2048 multiply-adds take at least 131,072 cycles, whatever the blocks.
#
# ### HBM
#
# How many bytes come and go?
# In the 4 x 4 product in blocks of 2 x 2, eight steps need a block of x, but x has only four blocks.
# So each is copied twice: once for each column of y's blocks.
# Each block of w is copied twice as well, once for each row of y's blocks.
# A block of y is copied once, when it is finished:
#
# ```
#      numbers   times                   copied
# x    4 x 4     N / bn = 4 / 2 = 2      32
# w    4 x 4     M / bm = 4 / 2 = 2      32
# y    4 x 4     1                       16
# ```
#
# Only a block that the next step needs again is not copied again; with two blocks or more along K, this happens to no block of x or w.
#
# **Exercise `tpu.hbm_bytes`**: compute the bytes that are copied, for n choices of blocks that divide M, K and N, with at least two blocks along K.
# Leave out the bias.


# %% tags=["exercise:tpu.hbm_bytes"]
def hbm_bytes(M, K, N, bm, bk, bn, itemsize):
    """sizes of the matrices, sizes of the blocks, each [n], bytes of a number -> bytes [n]"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    x = M * K * (N // bn)
    w = K * N * (M // bm)
    y = M * N
    return itemsize * (x + w + y)
    # END SOLUTION


hbm_bytes = check("tpu.hbm_bytes", hbm_bytes)

# %% [markdown]
# A v5e's HBM brings 819 GB per second (published), which at its clock of 1.503 GHz is 545 bytes per cycle.
# Here are the three bounds for our five choices.
# The largest of the three holds, since none can be undercut.

# %% tags=["picture"]
bytes_per_cycle = float(machine("tpu_v5e").bandwidth) / ask((128, 128, 128)).clock
copied = hbm_bytes(2048, 2048, 2048, bm, bk, bn, itemsize=2)
units = 2048**3 // (4 * 128**2)
rows = []
for blocks, kernel, size in zip(choices, kernels, copied, strict=True):
    from_hbm = round(float(size) / bytes_per_cycle)
    rows.append([str(blocks), kernel.cycles, units, from_hbm, max(kernel.cycles, units, from_hbm)])
heads = ["bm, bk, bn", "bundles", "matrix units", "HBM", "at least"]
figures.table(heads, rows, "Cycles: bundles compiled, the others predicted.")
library = compile_for_tpu(copies.layer, shapes, source="snapshot").estimated_cycles
ladder_pictures.ladder(rows, library)

# %% [markdown]
# With blocks of 8 x 128, a step has 140 bundles for 8 x 128 x 128 multiply-adds, which the four matrix units do in 8 x 128 x 128 / (4 x 128 x 128) = 2 cycles.
# <!-- holds: kernels[0].step == 140 and 8 * 128 * 128 / (4 * 128**2) == 2 -->
# With 16 times as many rows it has 177, hence most of the 140 do not come from the rows: each step has them, however little it multiplies.
# <!-- holds: kernels[1].step == 177 and (177 - 140) * 8 / 120 < 0.1 * 140 -->
# Larger blocks make fewer steps, and at 512 only HBM is above the matrix units, by 6 %.
# <!-- holds: round(100 * (rows[3][3] / units - 1)) == 6 and rows[3][1] < units -->
# With the largest that fit, neither HBM nor the bundles are: as far as these bounds can tell, the matrix units set the pace, and the 106,304 bundles have to wait for them.
# <!-- holds: rows[4][4] == units and rows[4][1] == 106_304 < units -->
# XLA expects 143,032 cycles of its own program.
# <!-- holds: library == 143_032 -->
# Whether our kernel would beat it on a chip, a lower bound cannot say.
#
# ### A copy that nobody waits for
#
# The copies so far were Pallas' own.
# A kernel may also copy by itself: `pltpu.make_async_copy(source, target, semaphore)` describes a copy, `.start()` begins it, and `.wait()` waits until it has arrived.
# The **semaphore** is a counter on the chip by which the copy reports that it has arrived; `.wait()` waits for it.
# If the wait is missing, the kernel may read its block before the numbers are there.
# We run such a kernel, which doubles x, on Pallas' second interpreter, `pltpu.InterpretParams`, in three ways.

# %%
from jax.experimental.pallas import tpu as pltpu


def doubled(x, y, block, arrived):
    copy = pltpu.make_async_copy(x, block, arrived)
    copy.start()
    y[...] = 2 * block[...]  # copy.wait() belongs before this line
    copy.wait()


for how in ({"dma_execution_mode": "eager"}, {"dma_execution_mode": "on_wait"}):
    right, races = copies.run(doubled, **how)
    print(f"{how['dma_execution_mode']:8} {right} of 1,024 are right")
right, races = copies.run(doubled, dma_execution_mode="eager", detect_races=True)
print(f"eager    {right} of 1,024 are right, and it says: {races}")

# %% [markdown]
# If each copy arrives at once ("eager"), the faulty kernel is right in all 1,024 numbers; if it arrives only when somebody waits, in none.
# A chip is somewhere in between, so a test of the numbers may pass by luck.
# With `detect_races=True`, the interpreter reports the fault although the numbers are right: a read and a write of the same block, between which nobody waits.
#
# **Exercise `tpu.double_by_hand`**: write a kernel that doubles x without a fault.
# Now y lies in HBM, too, so that two copies are needed, with a semaphore each: `arrived` for the one into `block`, and `left` for the one out of it.
# Wait for each copy before its numbers are used, and before the kernel ends.
# `check` runs it with copies that arrive only when somebody waits, and takes no library but JAX and NumPy.


# %% tags=["exercise:tpu.double_by_hand"]
def double_by_hand(x, y, block, arrived, left):
    """x and y in HBM, block in VMEM, all of one shape; two semaphores"""
    # STUB:
    # return  # yours
    # BEGIN SOLUTION
    come = pltpu.make_async_copy(x, block, arrived)
    come.start()
    come.wait()
    block[...] = 2 * block[...]
    go = pltpu.make_async_copy(block, y, left)
    go.start()
    go.wait()
    # END SOLUTION


double_by_hand = check("tpu.double_by_hand", double_by_hand)

# %% [markdown]
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
times = hbm_bytes(2048, 2048, 2048, *np.array([[128, 512]] * 3), itemsize=2)
results = [
    ("VMEM", vmem_guess, compiled(too_large / 2**20, "MiB", "libtpu 0.0.20")),
    ("bytes", bytes_guess, predicted(float(times[0] / times[1]), "times", "by hbm_bytes")),
]
figures.guesses(results)

# %% [markdown]
# Bytes shrink with the sides of the blocks of y, not with their area: four times as large sides, a little over a quarter of the bytes.
# <!-- holds: 3.5 < times[0] / times[1] < 4 -->
#
# **Which blocks should we take?**
# Of those that we tried, the largest that fit twice, with room for what the compiler adds: bm = 1,024, bk = 512, bn = 1,024.
# Their lower bound is 131,072 cycles instead of 9,175,040.
# <!-- holds: rows[4][4] == 131_072 and rows[0][4] == 9_175_040 -->
#
# ## On trial
#
# The chapter's claims are tried in other lessons.
#
# ## Recap
#
# **The rule to keep: a kernel needs each block twice and its scratch once, at most 16 MiB of VMEM by default on a v5e; larger bm and bn save bytes, and HBM keeps up with the matrix units where fewer than 545 bytes cross per cycle that they need.**
# <!-- holds: over == 8 * 1024 and round(bytes_per_cycle) == 545 -->
#
# Try it on matrices [4096, 4096] with blocks (256, 512, 256) and (512, 512, 512).

# %%
new = np.array([(256, 512, 256), (512, 512, 512)]).T
per_cycle = hbm_bytes(4096, 4096, 4096, *new, itemsize=2) / (4096**3 / (4 * 128**2))
for blocks, rate in zip(new.T.tolist(), per_cycle, strict=True):
    print(f"{blocks}: {rate:.0f} bytes per cycle of the matrix units (predicted)")

# %% [markdown]
# By the rule, HBM keeps up with the second choice only, and only just.
# <!-- holds: per_cycle[1] < 545 < per_cycle[0] -->
#
# ### Outside
#
# JAX's pages on [pipelines in Pallas](https://docs.jax.dev/en/latest/pallas/tpu/pipelining.html) tell more of double buffering, and `pltpu.CompilerParams(vmem_limit_bytes=...)` raises the 16 MiB.
# On a TPU, people time a kernel and look at it in a profile; both show the waits that a lower bound leaves out.
# The dump comes from `LIBTPU_INIT_ARGS="--xla_jf_dump_to=FOLDER --xla_jf_dump_llo_text=true"`, set before JAX is started.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_smaller_bk", None)
# quiz("tpu.quiz_lower_bound", None)
# quiz("tpu.quiz_right_by_luck", None)
# BEGIN SOLUTION
quiz("tpu.quiz_smaller_bk", "b")
quiz("tpu.quiz_lower_bound", "c")
quiz("tpu.quiz_right_by_luck", "d")
# END SOLUTION
