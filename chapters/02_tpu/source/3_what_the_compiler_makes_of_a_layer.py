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
#     minutes: 50
#     needs: [jax]
# ---

# %% [markdown]
# # What the compiler makes of a layer
#
# **67 MB of memory for 1.6 MB of images.**
# The course's network reads 256 colour images at a time, an array [256, 32, 32, 3] of 16-bit numbers.
# Stored in that order on a TPU, it would take 43 times its own bytes.
# A v5e would need 82 µs to read that much, while the whole network should take 137 µs (predicted).
#
# So the compiler has to find a better order.
# On a Linux PC without a TPU, Google's compiler tells where each array will lie, and how many cycles most operations should take.
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
# The **fastest axis** of an array is the one whose neighbours are neighbours in memory: in NumPy, the last.
# A TPU stores whole **tiles** of 8 rows and 128 columns.
# The fastest axis runs along the columns, the next one along the rows, and places that stay free are **padding**.
#
# A **matrix unit** (MXU) is lesson 1's array: it holds 128 x 128 of the K x N weights while M rows stream through.
# A tile that is not full takes as long as a full one, and a TPU v2 core has one unit.
# In a convolution, N counts the output channels.
#
# Guess four numbers; only the third cannot be worked out from this text.
#
# 1. How many times its own bytes does an array [128, 10] take, with the 10 as its fastest axis?
# 2. How many percent more cycles does a v2 core need if K grows from 1,024 to 1,025?
# 3. Lesson 1's simulator counts 262,526 cycles for the network's first convolution on one unit.
#    How many times as many does the compiler expect on a v2 core?
# 4. How many times the cycles does a convolution take with 128 output channels instead of 64?

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
# Five columns need two tiles side by side, and are stored as eight.
# Three rows are stored as four, and the 15 numbers take 32 places.
#
# With the three rows along the tile's four columns, 3 becomes 4 and 5 becomes 6.
# Then 24 places are enough: **the order of the axes decides how much is padding.**
#
# The next cell defines this rounding, and draws the first layout.


# %% tags=["picture"]
def round_up(n, multiple):
    """n as a multiple: the same, or the next larger one; for a number or an array of numbers"""
    blocks = np.ceil(n / multiple).astype(int)
    return blocks * multiple


print("5 columns are stored as", round_up(5, 4), "and 3 rows as", round_up(3, 2))
layout_pictures.in_tiles((3, 5), (2, 4))

# %% [markdown]
# ### The notation
#
# The compiler would write this layout as `{1,0:T(2,4)}`.
# Real layouts look like `{0,1:T(8,128)(2,1)}`:
#
# | piece | meaning |
# |---|---|
# | `0,1` | The axes from the fastest to the slowest: here axis 0 is the fastest. |
# | `T(8,128)` | The tile: its last size belongs to the fastest axis, the one before to the next axis. Further axes stay as they are. |
# | `(2,1)` | Two rows of 16-bit numbers share a row of 32-bit words. This adds no bytes. |
#
# Small arrays get smaller tiles, such as `T(4,128)`.
#
# **Exercise `tpu.padded_bytes`**: how many bytes does an array take?
# Use `round_up` and `prod`.


# %% tags=["exercise:tpu.padded_bytes"]
def padded_bytes(shape, order, tile, itemsize):
    """sizes of the axes, axes from fastest to slowest, tile such as (8, 128), B -> bytes"""
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
# This lesson reads a *snapshot* of its answers, the same for everybody.
# Its numbers are **compiled**: the compiler expects them, and nothing has run.
#
# How many times its own bytes does each array of the network take?
# (Images are [N, H, W, C].)

# %% tags=["picture"]
from labkit.provenance import compiled, measured, predicted
from labkit.tpu.compiler import UNITS
from labkit.tpu.programs import CONVNET, LAYERS, conv, convnet, matmul, product_sizes

ask = partial(compile_for_tpu, source="snapshot")
network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")
arrays = {array.name: array for array in network.padding if len(array.shape) > 1}  # no biases
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
layout_pictures.one_tile(arrays["x"].shape, orders, "NHWC")

# %% [markdown]
# As written, three colours lie along 128 columns, and 125 are padding.
# The compiler has turned the images: **the batch lies along the 128**, and 256 images fill two tiles.
# Everything up to the ten scores lies this way, without padding.
# A batch of 100 would take 28 % more: 128 / 100.
#
# ### Busy units
#
# A product with M = 6, K = 3 and N = 2 needs 36 multiply-adds.
# If two units of 4 x 4 cells take 10 cycles for it, their 32 cells could have done 320.
# The **utilization** is the useful share, 36 / 320 or 11 %.
#
# The 3 x 2 weights fill 6 of their tile's 16 cells, or 38 %; we call this share `filled`.
# While weights stay in place, the utilization cannot be above `filled`, because empty cells do nothing useful.
#
# **Exercise `tpu.mxu_utilization`**: compute both shares, for arrays with one entry per product.
# A unit has `size` x `size` cells, and larger weights take several tiles.


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
# How much of their units do six generations use for a product that fills every tile?


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
note = "A device is a chip, or one of the two cores of a v2, v3 or v4. "
note += "Google names two units for a v6e (published), 131,072 cells, but 228,000 "
note += "multiply-adds are done in a cycle here: so there are more cells, or each does two. "
note += "We count four units; the peak is the same."
figures.table(heads, rows, note)

# %% [markdown]
# A large product keeps the units busy on all six; the v6e has a caution below the table.
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
figures.table(heads, list(rows), "v2, v5e: cycles, compiled; square: a product of 1,024³")

# %% [markdown]
# On a v2, `square` and conv2 come close: 12 % above the count and 8 % below.
# The others do not:
#
# | layer | cycles | why |
# |---|---|---|
# | conv1 | half | It uses more cells than are filled, as conv2 does. With our mapping that is impossible, so the compiler has another: perhaps pixels stay and weights stream. |
# | fc1 | 40 % more | Its 3.2 MB take 6,400 cycles at a core's half of 700 GB/s (predicted), fewer than counted. Perhaps the arithmetic waits for the first of them. |
# | fc2 | twice | Each operation has a price of its own. |
#
# A v5e has four units, but takes more than a quarter of the cycles.
# One reason is memory: for `square`, 16,400 cycles for arithmetic plus 11,500 for its bytes (predicted) come within a tenth of what is compiled.
# Neither explains why conv1 takes longer than on a v2.
#
# ## Check
#
# Does the compiler, where it is installed, agree with the snapshot?
# On a TPU, the next cell also *measures* `square`, the third way; we had none to try this.

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
# What does that one cost?

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
figures.table(["K", "counted", "v2", "v5e", "v6e"], rows, "percent more cycles for the + 1")

# %% [markdown]
# From K = 256 on, a v2 climbs the simulator's stairs.
# A v5e steps at the same places and a v6e at multiples of 256, but not to the same heights.
#
# No formula of ours explains why v2 and v5e never take less than 60,000 cycles, or why K = 769 costs more than 896 on a v5e.
# What if the program itself adds zeros up to 896?


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
# Such zeros change nothing: only arrays that are *stored* with K = 896 get its price.
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
figures.table(["channels", "v5e", "v6e", "bytes"], rows, "cycles, and the result's bytes: compiled")

# %% [markdown]
# From 64 to 128 output channels, cycles and memory stay the same.
# On a v6e, 256 output channels cost 1.8 times as much as 128, although its units are 256 wide.
# **Sizes that fill 128 are a bargain; sizes just above are a waste.**
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
results = [predicted(written, "times", "tiles of 8 x 128"), compiled(more, "%", network.source)]
results += [compiled(times, "times", network.source) for times in (conv1, channels)]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Padding**: 128 / 10 is 12.8; ten numbers take a whole row of a tile.
#
# **K = 1,025**: nine rows of tiles instead of eight are 12.5 % more, but not all of the price grows.
#
# **conv1**: a count holds for its own mapping, and the compiler has a better one.
#
# **Channels**: 64 channels had already paid for a tile of 128.
#
# ## On trial
#
# Single layers decide no claim about TPUs; two await the [next lesson](4_what_a_training_step_costs.ipynb).
#
# ## Recap
#
# - A long axis, such as the batch, belongs along the 128.
# - K and N cost whole tiles of 128; on a v6e, K steps at 256.
# - **The rule to keep**: choose multiples of 128, and ask before you trust a formula.
#
# ### Outside
#
# On a TPU, `jax.jit(f).lower(*arguments).compile().as_text()` prints layouts and estimated cycles.
# The memory viewer of Google's profiler [shows padding](https://cloud.google.com/tpu/docs/performance-guide).
# We left out fusion, and finer rules of [tiled layouts](https://openxla.org/xla/tiled_layout).
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
