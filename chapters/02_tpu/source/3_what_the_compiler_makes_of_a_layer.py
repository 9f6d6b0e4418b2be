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
#     title: What the compiler makes of a layer
#     minutes: 51
#     needs: [jax]
# ---

# %% [markdown]
# # What the compiler makes of a layer
#
# **67 MB of memory for 1.6 MB of images.**
# The course's network reads 256 colour images at a time, an array [256, 32, 32, 3] of 16-bit numbers.
# Stored as our program writes it, with the colours last, it would take 67 MB on a TPU: 43 times its own bytes.
# A v5e would spend 82 µs on reading that much (predicted), so the compiler chooses another order.
#
# Google's compiler is called **XLA**.
# Even without a TPU, it tells where each array will lie, and how many cycles most operations should take.
#
# ## What you will be able to do
#
# - read a tiled layout, and count its padding;
# - tell how busy the matrix units are, and when a larger size costs nothing.
#
# You need [lesson 1](1_the_systolic_array.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# If you step along the **fastest axis** of an array, you reach the next number in memory.
# In NumPy it is the last axis.
# A TPU's registers have 8 rows and 128 columns, and the TPU stores arrays in **tiles** of that size.
# The fastest axis fills a tile's 128 columns, and the next axis fills its 8 rows.
# Places left empty are **padding**.
#
# A **matrix unit** (MXU) is lesson 1's systolic array, and a TPU v2 core has one.
# It holds a **weight tile**, up to 128 x 128 of the K x N weights, while M rows stream through.
# In lesson 1's simulator, a part-filled weight tile takes as long as a full one.
# In a convolution, N counts the output channels.
#
# The next cell asks for four guesses.
# The rules above suggest an answer to all but the third.

# %%
from functools import partial
from math import prod

import numpy as np
from jax import numpy as jnp

from labkit import check, figures, hint, predict, quiz
from labkit.tpu import SystolicArray, compile_for_tpu, layout_pictures

# STUB:
# guesses = {
#     "padding": predict("tpu.padding_factor", None, "times"),
#     "K = 1,025": predict("tpu.step_past_1024", None, "%"),
#     "conv1": predict("tpu.conv1_against_count", None, "times"),
#     "channels": predict("tpu.twice_the_channels", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "padding": predict("tpu.padding_factor", 2, "times"),
    "K = 1,025": predict("tpu.step_past_1024", 12.5, "%"),
    "conv1": predict("tpu.conv1_against_count", 1.2, "times"),
    "channels": predict("tpu.twice_the_channels", 2, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### By hand
#
# We begin with tiles that fit on paper: an array [3, 5] in tiles of 2 x 4.
# Its five columns need two tiles side by side, and are stored as eight.
# Its three rows are stored as four, so the 15 numbers take 32 places.
#
# Now let axis 0 be the fastest, so that the three rows lie along a tile's four columns.
# The three become four and the five become six, so 24 places are enough: **the order of the axes decides how much is padding.**
#
# The next cell defines this rounding, and draws both layouts.


# %% tags=["picture"]
def round_up(n, multiple):
    """n as a multiple: the same, or the next larger one; for a number or an array of numbers"""
    blocks = np.ceil(n / multiple).astype(int)
    return blocks * multiple


print("5 columns are stored as", round_up(5, 4), "and 3 rows as", round_up(3, 2))
layout_pictures.in_tiles((3, 5), (2, 4), order=(1, 0))
layout_pictures.in_tiles((3, 5), (2, 4), order=(0, 1))

# %% [markdown]
# ### The notation
#
# The compiler would write the first layout as `{1,0:T(2,4)}`, and it calls this order *minor-to-major*.
# Real layouts look like `{0,1:T(8,128)(2,1)}`:
#
# | piece | meaning |
# |---|---|
# | `0,1` | The axes, the fastest first: here axis 0. |
# | `T(8,128)` | The tile: 128 belongs to the fastest axis, 8 to the next. The other axes get no padding. |
# | `(2,1)` | Two rows of 16-bit numbers are packed into one row of 32-bit words; this adds no bytes. |
#
# A tile with one size, such as `T(256)`, rounds up the fastest axis alone.
#
# **Exercise `tpu.padded_bytes`**: how many bytes does an array take with its padding?


# %% tags=["exercise:tpu.padded_bytes"]
def padded_bytes(shape, order, tile, itemsize):
    """sizes, axes from fastest to slowest, (8, 128) or (256,), bytes of a number -> bytes"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    size = list(shape)
    for i, side in enumerate(tile[::-1]):  # its last size is that of the fastest axis
        axis = order[i]
        size[axis] = round_up(size[axis], side)
    return int(prod(size)) * itemsize
    # END SOLUTION


padded_bytes = check("tpu.padded_bytes", padded_bytes)

# %% [markdown]
# ### Ask the compiler
#
# `compile_for_tpu` takes a JAX function, the shapes of its arguments, and a chip: `v5e:1x1` is a single v5e.
# This lesson reads a *snapshot*: answers saved earlier.
# We label such numbers **compiled**: the compiler expects them, but nothing has run.
#
# How many times its own bytes does each array of the network take?
# Images are [B, H, W, C], where B is the batch.

# %% tags=["picture"]
from labkit.provenance import compiled, measured, predicted
from labkit.tpu.compiler import UNITS
from labkit.tpu.programs import CONVNET, LAYERS, conv, convnet, matmul, product_sizes

ask = partial(compile_for_tpu, source="snapshot")
network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")  # shapes: all weights, images
listed = network.padding  # every array, with its layout and bytes
arrays = {array.name: array for array in listed if len(array.shape) > 1}  # no biases
rows = []
for name, array in arrays.items():
    last_axis_fastest = range(len(array.shape))[::-1]
    written = padded_bytes(array.shape, last_axis_fastest, (8, 128), 2)
    chosen = padded_bytes(array.shape, array.axes, array.tile, 2)
    agree = chosen == array.padded_bytes
    own = array.logical_bytes
    rows.append([name, str(array.shape), written / own, chosen / own, agree, array.notation])
heads = ["array", "shape", "as written", "chosen", "compiler agrees", "layout chosen"]
figures.table(heads, rows, layout_pictures.NOTES["layouts"])  # a note below the table
orders = {"as written": (3, 2, 1, 0), "as the compiler lays it out": arrays["x"].axes}
layout_pictures.one_tile(arrays["x"].shape, orders, "BHWC")

# %% [markdown]
# As written, three colours lie along 128 columns, and 125 are padding.
# For this shape, the compiler chooses another order: **the batch lies along the 128**, and 256 images span exactly two tiles.
#
# ### Busy units
#
# A product with M = 6, K = 3 and N = 2 needs 36 multiply-adds.
# If two units of 4 x 4 cells take 10 cycles for it, their 32 cells could have done 320.
# The **utilization** is the useful share, 36 / 320 or 11 %.
#
# The 3 x 2 weights fill 6 of a weight tile's 16 cells, or 38 %; we call this share `filled`.
# While each weight lies in place once, the utilization cannot be above `filled`, because empty cells do nothing useful.
#
# **Exercise `tpu.mxu_utilization`**: compute both shares.
# A unit has `size` x `size` cells, and larger weights take several weight tiles.


# %% tags=["exercise:tpu.mxu_utilization"]
def mxu_utilization(M, K, N, cycles, units, size):
    """M, K, N, cycles [n] of products -> utilization [n], filled [n], both from 0 to 1"""
    # STUB:
    # utilization = filled = np.zeros(len(M))
    # BEGIN SOLUTION
    utilization = M * K * N / (cycles * units * size**2)
    rows = round_up(K, size)
    columns = round_up(N, size)
    filled = K * N / (rows * columns)
    # END SOLUTION
    return utilization, filled


mxu_utilization = check("tpu.mxu_utilization", mxu_utilization)

# %% [markdown]
# A product of two 4,096 x 4,096 matrices fills every weight tile.
# How busy does it keep the units of six generations?


# %%
def cycles_of(program, shapes, chip):  # as compiled for one device, a core or a chip
    return ask(program, shapes, f"{chip}:1x1").estimated_cycles


n = np.array([4096])
rows = []
for chip, (units, size) in UNITS.items():
    cycles = cycles_of(matmul, [(4096, 4096), (4096, 4096)], chip)
    used, _ = mxu_utilization(n, n, n, cycles, units, size)
    rows.append([chip, units, f"{size} x {size}", cycles, 100 * used[0]])
heads = ["device", "units", "cells of each", "cycles, compiled", "utilization, %"]
figures.table(heads, rows, layout_pictures.NOTES["units"])

# %% [markdown]
# All six generations use more than 85 %.
#
# ### Counted and compiled
#
# Lesson 1's simulator *counts* cycles on one unit, and a v2 core has one.
# Do the *compiled* cycles of our layers come close to the count?

# %%
unit = SystolicArray(128, 128)
counted, v2, v5e = [], [], []
for name, layer in LAYERS.items():
    M, K, N = product_sizes(*layer)
    program = conv if name in ("conv1", "conv2") else matmul
    counted.append(unit.schedule(M, K, N, double_buffer=True).cycles)
    v2.append(cycles_of(program, layer, "v2"))
    v5e.append(cycles_of(program, layer, "v5e"))
M, K, N = np.transpose([product_sizes(*layer) for layer in LAYERS.values()])
used_v2, filled = mxu_utilization(M, K, N, np.array(v2), 1, 128)
used_v5e, _ = mxu_utilization(M, K, N, np.array(v5e), 4, 128)
rows = zip(LAYERS, counted, v2, v5e, 100 * filled, 100 * used_v2, 100 * used_v5e, strict=True)
heads = ["layer", "counted", "v2", "v5e", "filled, %", "v2 uses, %", "v5e uses, %"]
figures.table(heads, list(rows), layout_pictures.NOTES["layers"])

# %% [markdown]
# On a v2, `square` comes close: the compiler expects 12 % more than the count.
#
# **conv1 takes half of the count, and conv2 8 % less.**
# On a v2 their utilization is above `filled`, so the compiler must use another mapping than lesson 1.
# It may store each weight several times.
#
# **fc1 takes 40 % more.**
# Moving its 3.2 MB takes 6,400 cycles (predicted), fewer than the count, so memory alone does not explain this.
#
# ## Check
#
# Does the compiler, where it is installed, agree with the snapshot?
# On a TPU, the next cell also *measures* `square`; we had none to try this.

# %% tags=["timing", "nbval-ignore-output"]
from time import perf_counter

from labkit.hardware import this_machine
from labkit.tpu import live

start = perf_counter()
print(live.agreement(matmul, LAYERS["fc1"], "v5e:1x1"))
print("The answer took", measured(perf_counter() - start, "s"))
if this_machine().has_tpu:
    print("square:", live.measure_product(1024))

# %% [markdown]
# ## Measure
#
# ### Stairs
#
# What does it cost if K is one more than a multiple of 128?
# We multiply `a[4096, K]` by `b[K, 1024]`, for each multiple and for one more.

# %% tags=["picture"]
counts = {}
stairs = {"v2": {}, "v5e": {}, "v6e": {}}
for multiple in range(128, 1153, 128):
    for K in (multiple, multiple + 1):
        counts[K] = unit.schedule(4096, K, 1024, double_buffer=True).cycles
        for chip, line in stairs.items():
            line[K] = cycles_of(matmul, [(4096, K), (K, 1024)], chip)
layout_pictures.stairs(counts, stairs, marked=769)


def one_more(line, K):
    """How many percent more cycles K + 1 takes than K"""
    return 100 * (line[K + 1] / line[K] - 1)


rows = []
for K in (256, 512, 768, 1024):
    percent = [one_more(line, K) for line in (counts, *stairs.values())]
    rows.append([f"{K:,} + 1", *percent])
figures.table(["K", "counted", "v2", "v5e", "v6e"], rows, layout_pictures.NOTES["stairs"])

# %% [markdown]
# From K = 256 on, a v2 climbs the simulator's stairs.
# A v5e steps at the same places, and a v6e at multiples of 256, but most of their steps are much lower.
#
# On a v5e, K = 769 even costs more than K = 896.
# Would it help if the program itself added zeros, up to K = 896?


# %%
def filled_up(a, b):
    """a[4096, 769] b[769, 1024], with zeros added up to K = 896"""
    a = jnp.pad(a, [(0, 0), (0, 127)])
    b = jnp.pad(b, [(0, 127), (0, 0)])
    return matmul(a, b)


rows = []
programs = [("769", matmul, 769), ("769 + zeros", filled_up, 769)]
programs += [("896", matmul, 896), ("897", matmul, 897)]
for name, program, K in programs:
    made = ask(program, [(4096, K), (K, 1024)], "v5e:1x1")
    a = made.padding[0]  # the first argument
    rows.append([name, made.estimated_cycles, a.notation])
figures.table(["K", "cycles on a v5e", "layout of a"], rows, "compiled")

# %% [markdown]
# The zeros change nothing, so most likely the compiler has removed them.
# The layout of `a` does not explain the price, because K = 897 has it too, and is cheap.
#
# ### When channels are free
#
# Now N grows: we compile 3 x 3 convolutions with more output channels, for batches of 32 and 128 images [56, 56].

# %%
by_channels = {}
rows = []
few_images = [(32, 64, 64), (32, 64, 128), (32, 128, 128), (32, 128, 256)]
many_images = [(128, 64, 64), (128, 64, 128)]
for B, C, N in few_images + many_images:
    layer = [(B, 56, 56, C), (3, 3, C, N)]
    made = ask(conv, layer, "v5e:1x1")
    result = made.padding[-1]  # the arguments come first, the result last
    fastest = "BHWC"[result.axes[0]]
    by_channels[B, C, N] = made.estimated_cycles
    copying = sum(op.cycles for op in made.ops if op.kind == "copy")
    v6e = cycles_of(conv, layer, "v6e")
    cycles = [made.estimated_cycles, copying, v6e]
    rows.append([B, f"{C} to {N}", *cycles, fastest, result.padded_bytes])
heads = ["images", "channels, in to out", "v5e", "of these, copying", "v6e", "fastest", "bytes"]
figures.table(heads, rows, layout_pictures.NOTES["channels"])

# %% [markdown]
# **With 32 images, the second 64 channels are free.**
# The compiler lays the channels along the 128, so 64 channels already take the room of 128.
#
# **With 128 images, they are not free.**
# For 64 output channels, the compiler now lays the batch along the 128, so nothing in memory is padding.
# Twice the channels take 2.75 times the cycles: the convolution itself takes 19 % more, and the rest is a copy that reorders the result.
#
# ## Explain
#
# Compare your guesses.

# %% tags=["picture"]
array = arrays["w['fc2.weight']"]
written = padded_bytes(array.shape, (1, 0), (8, 128), 2) / array.logical_bytes
more = one_more(stairs["v2"], 1024)
conv1 = v2[0] / counted[0]
channels = by_channels[32, 64, 128] / by_channels[32, 64, 64]
source = network.source  # which compiler gave the answers
results = [predicted(written, "times", "tiles of 8 x 128"), compiled(more, "%", source)]
results += [compiled(times, "times", source) for times in (conv1, channels)]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Padding**: ten numbers take a row of 128 places, and 128 / 10 is 12.8.
#
# **K = 1,025**: a ninth row of weight tiles is 12.5 % more work, and part of the cost probably stays the same.
#
# **conv1**: the compiler found a faster mapping than lesson 1's.
#
# **Channels**: 64 channels had already paid for 128.
#
# In this network, **the 67 MB** are never stored: with the batch along the 128, the images take 1.6 MB.
# A v5e reads them in 2 µs instead of 82 µs (predicted).
#
# ### What we cannot explain
#
# - In the stairs, a v2 and a v5e never take fewer than 60,000 cycles.
# - A v5e takes more cycles for conv1 than a v2, although it has four units.
# - On a v5e, K = 769 costs more than K = 896.
# - On a v6e, 128 images with 64 channels take fewer cycles than 32.
#
# ## On trial
#
# Single layers cannot settle a claim about TPUs.
# The [next lesson](4_what_a_training_step_costs.ipynb) tries two claims on whole training steps.
#
# ## Recap
#
# - As K grows, a large product's cycles step up after each multiple of 128, on a v6e of 256.
#   For N, ask the compiler.
# - Channels are free where they fill padding, and the layout shows where.
# - **The rule to keep**: try multiples of 128 first, and ask before you trust a formula.
#
# ### Outside
#
# On a TPU, `jax.jit(f).lower(*arguments).compile().as_text()` prints layouts and estimated cycles.
# Google's profiler [shows padding](https://cloud.google.com/tpu/docs/performance-guide).
# We left out the finer rules of [tiled layouts](https://openxla.org/xla/tiled_layout).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_channels", None)
# quiz("tpu.quiz_fastest_axis", None)
# quiz("tpu.quiz_above_filled", None)
# BEGIN SOLUTION
quiz("tpu.quiz_channels", "b")
quiz("tpu.quiz_fastest_axis", "c")
quiz("tpu.quiz_above_filled", "a")
# END SOLUTION
