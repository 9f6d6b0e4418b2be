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
# Stored with the colours last, as written, it would take 67 MB on a TPU: 43 times its own bytes.
# A v5e would spend 82 µs on reading that much (predicted).
# In the compiler's order, the whole network should take 137 µs: 205,000 cycles at 1.5 GHz (predicted).
#
# Even on a Linux PC without a TPU, Google's compiler can tell us where each array will lie, and how many cycles most operations should take.
#
# ## What you will be able to do
#
# - read a tiled layout, and count its padding;
# - tell how busy the matrix units are, and which sizes are a bargain.
#
# You need [lesson 1](1_the_systolic_array.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Step along the **fastest axis** of an array, and you reach the next number in memory; in NumPy it is the last axis.
# A TPU stores whole **tiles** of 8 rows and 128 columns.
# The fastest axis fills a tile's 128 columns, and the next axis its 8 rows; places left empty are **padding**.
#
# A **matrix unit** (MXU) is lesson 1's systolic array, and a TPU v2 core has one.
# It holds a **weight tile**, up to 128 x 128 of the K x N weights, while M rows stream through.
# A part-filled weight tile takes as long as a full one.
# In a convolution, N counts the output channels.
#
# Guess four numbers; only the third cannot be worked out.
#
# 1. How many times its own bytes does an array [128, 10] take, with the 10 fastest?
# 2. How many percent more cycles does a v2 core need if K grows from 1,024 to 1,025?
# 3. For conv1 with 256 images, lesson 1's simulator counts 262,526 cycles on one unit with two weight registers.
#    How many times as many does the compiler expect on a v2 core?
# 4. By what factor do a convolution's cycles grow on a v5e, from 64 to 128 output channels?

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
# Let us begin with tiles that fit on paper: an array [3, 5] in tiles of 2 x 4.
# Its five columns need two tiles side by side, and are stored as eight.
# Its three rows are stored as four, so the 15 numbers take 32 places.
#
# Now let axis 0 be the fastest, so that the three rows lie along a tile's four columns.
# Then 3 becomes 4, 5 becomes 6, and 24 places are enough: **the order of the axes decides how much is padding.**
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
# The compiler would write the first layout as `{1,0:T(2,4)}`.
# Real layouts look like `{0,1:T(8,128)(2,1)}`:
#
# | piece | meaning |
# |---|---|
# | `0,1` | The axes, the fastest first: here axis 0. |
# | `T(8,128)` | The tile: 128 belongs to the fastest axis, 8 to the next. The other axes get no padding. |
# | `(2,1)` | Two rows of 16-bit numbers share one row of 32-bit words, which adds no bytes. |
#
# A tile with one size, such as `T(256)`, rounds up the fastest axis alone.
#
# **Exercise `tpu.padded_bytes`**: how many bytes does an array take with its padding?
# Use `round_up` and `prod`.


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
# This lesson reads a *snapshot* of its answers.
# They are **compiled**: the compiler expects these numbers, and nothing has run.
#
# How many times its own bytes does each array of the network take?
# Images are [B, H, W, C], where B is the batch.

# %% tags=["picture"]
from labkit.provenance import compiled, measured, predicted
from labkit.tpu.compiler import UNITS
from labkit.tpu.programs import CONVNET, LAYERS, conv, convnet, matmul, product_sizes

ask = partial(compile_for_tpu, source="snapshot")
network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")  # CONVNET: shapes of the weights
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
figures.table(heads, rows, "as written, chosen: bytes with padding over bytes without (predicted)")
orders = {"as written": (3, 2, 1, 0), "as the compiler lays it out": arrays["x"].axes}
layout_pictures.one_tile(arrays["x"].shape, orders, "BHWC")

# %% [markdown]
# As written, three colours lie along 128 columns, and 125 are padding.
# The compiler has turned the images: **the batch lies along the 128**, and 256 images span exactly two tiles.
#
# ### Busy units
#
# A product with M = 6, K = 3 and N = 2 needs 36 multiply-adds.
# If two units of 4 x 4 cells take 10 cycles for it, their 32 cells could have done 320.
# The **utilization** is the useful share, 36 / 320 or 11 %.
#
# The 3 x 2 weights fill 6 of a weight tile's 16 cells, or 38 %; we call this share `filled`.
# While weights stay in place, the utilization cannot be above `filled`, because empty cells do nothing useful.
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
# How much of their units do six generations use for a product that fills every weight tile?


# %%
def cycles_of(program, shapes, chip):
    """The cycles that the compiler expects on one device, a core or a chip"""
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
# A large product keeps the units busy on all six (for the v6e, see the note above).
#
# ### One layer, three ways
#
# Lesson 1's simulator *counts* cycles on one unit, and a v2 core has one.
# Do the *compiled* cycles come close?

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
# On a v2, `square` and conv2 come close: they are 12 % above the count and 8 % below it.
#
# **conv1 takes half of the count.**
# Its utilization is above `filled`.
# Lesson 1's mapping, with weights in place, cannot do that, so the compiler must use another one: perhaps the pixels stay, and the weights stream.
#
# **fc1 takes 40 % more.**
# At 0.7 GHz and 350 GB/s, one core's half of the bandwidth, its 3.2 MB need 6,400 cycles (predicted).
# That is less than the count, so memory alone does not explain it.
# Perhaps the arithmetic waits for the first bytes.
#
# ## Check
#
# Does the compiler, where it is installed, agree with the snapshot?
# On a TPU, the next cell also *measures* `square`, the third way.
# We had no TPU to try it on.

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
# Let K grow in `a[4096, K]` times `b[K, 1024]`, to each multiple of 128 and then by one more.
# What does that one more cost?

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
# A v5e steps at the same places, a v6e at multiples of 256; their steps have other heights.
#
# On a v5e, K = 769 costs more than K = 896, and no formula of ours explains it.
# Would it help if the program itself added zeros, up to K = 896?


# %%
def filled_up(a, b):
    """a[4096, 769] b[769, 1024], with zeros added up to K = 896"""
    a = jnp.pad(a, [(0, 0), (0, 127)])
    b = jnp.pad(b, [(0, 127), (0, 0)])
    return matmul(a, b)


inside = cycles_of(filled_up, [(4096, 769), (769, 1024)], "v5e")
rows = [["769", stairs["v5e"][769]], ["769 + zeros", inside], ["896", stairs["v5e"][896]]]
figures.table(["K", "cycles on a v5e"], rows, "compiled")

# %% [markdown]
# Zeros added inside the program change nothing: only arrays *stored* with K = 896 get the lower price.
# **Ask the compiler; do not guess.**
#
# ### Channels for nothing
#
# Now N grows: the output channels of a 3 x 3 convolution of 32 images [56, 56].

# %%
by_channels = {}
rows = []
for few, many in [(64, 64), (64, 128), (128, 128), (128, 256)]:
    layer = [(32, 56, 56, few), (3, 3, few, many)]
    made = ask(conv, layer, "v5e:1x1")
    result = made.padding[-1]  # what the last operation writes
    by_channels[few, many] = made.estimated_cycles
    v6e = cycles_of(conv, layer, "v6e")
    rows.append([f"{few} to {many}", made.estimated_cycles, v6e, result.padded_bytes])
figures.table(["channels", "v5e", "v6e", "bytes"], rows, layout_pictures.NOTES["channels"])

# %% [markdown]
# From 64 to 128 output channels, cycles and memory stay the same: **the second 64 channels are free.**
# The batch is only 32 here, and the compiler lays the channels along the 128.
# So 64 channels already take the room of 128, in memory and in the units.
#
# **Sizes that fill 128 are a bargain.**
# One more may be a waste, as the stairs have shown.
#
# ## Explain
#
# Your guesses stand beside the results.

# %% tags=["picture"]
array = arrays["w['fc2.weight']"]
written = padded_bytes(array.shape, (1, 0), (8, 128), 2) / array.logical_bytes
more = one_more(stairs["v2"], 1024)
conv1 = v2[0] / counted[0]
channels = by_channels[64, 128] / by_channels[64, 64]
source = network.source  # which compiler gave the answers
results = [predicted(written, "times", "tiles of 8 x 128"), compiled(more, "%", source)]
results += [compiled(times, "times", source) for times in (conv1, channels)]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Padding**: ten numbers take a row of 128 places, and 128 / 10 is 12.8.
#
# **K = 1,025**: nine rows of weight tiles instead of eight are 12.5 % more, but part of the cost stays the same.
#
# **conv1**: our count assumes that weights stay in place, and the compiler found something faster.
#
# **Channels**: 64 channels had already paid for a whole weight tile.
#
# **The 67 MB** are never stored: with the batch along the 128, the images take 1.6 MB.
#
# ## On trial
#
# Single layers cannot settle any claim about TPUs; the [next lesson](4_what_a_training_step_costs.ipynb) tests two.
#
# ## Recap
#
# - A long axis, such as the batch, belongs along the 128.
# - K and N cost whole weight tiles of 128; on a v6e, K steps at 256.
# - **The rule to keep**: choose multiples of 128, and ask before you trust a formula.
#
# ### Outside
#
# On a TPU, `jax.jit(f).lower(*arguments).compile().as_text()` prints layouts and estimated cycles.
# Google's profiler [shows padding](https://cloud.google.com/tpu/docs/performance-guide).
# We left out fusion (merging operations into one), and the finer rules of [tiled layouts](https://openxla.org/xla/tiled_layout).
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
