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
#     number: 5
#     minutes: 47
#     needs: [jax]
#     able: "read how Google's compiler lays a layer out on a TPU: tiles, padding, how busy the matrix unit is"
#     runs_on: Google's TPU compiler, which needs no TPU, or a snapshot of its answers
# ---

# %% [markdown]
# # What the compiler makes of a layer
#
# **67 MB of memory for 1.6 MB of images.**
# <!-- holds: round(padded_bytes(images.shape, (3, 2, 1, 0), (8, 128), 2) / 1e6) == 67 -->
# <!-- holds: round(images.padded_bytes / 1e6, 1) == 1.6 -->
# The course's network reads 256 colour images at a time, an array [256, 32, 32, 3] of 16-bit numbers.
# Stored on a TPU in the order in which we write it, with the three colours last, this array would take 67 MB.
# Reading it would keep a TPU v5e busy for 82 µs (predicted).
# Where do 66 MB of nothing come from, and how can we avoid them?
#
# We ask Google's compiler, **XLA**.
# Even without a TPU, it tells us how it would store arrays and how many cycles layers should take.
#
# ## What you will be able to do
#
# - read a tiled layout, and compute its padding;
# - say how much of a matrix unit a layer uses;
# - choose sizes that waste little.
#
# You need [*A product in a grid*](1_a_product_in_a_grid.ipynb) and [*What a grid costs*](2_what_a_grid_costs.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The **matrix unit** (MXU) of a TPU is the systolic array of lesson 1.
# To multiply a matrix [M, K] by weights [K, N], it holds **weight tiles** of up to 128 x 128 weights, one after another, while M rows stream through each.
# In lesson 2's simulator, a weight tile that is partly empty takes as long as a full one.
#
# The next cell asks for three guesses, and only the first follows from these rules alone.

# %%
from functools import partial
from math import prod

import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.tpu import SystolicArray, compile_for_tpu
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer import layout_pictures

# STUB:
# guesses = {
#     "K = 1,025": predict("tpu.step_past_1024", None, "%"),
#     "conv1": predict("tpu.conv1_against_count", None, "times"),
#     "channels": predict("tpu.twice_the_channels", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
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
# The **fastest axis** of an array is the one along which a single step leads to the next number in memory.
# In NumPy it is the last axis.
#
# A TPU stores arrays in **tiles** of 8 rows and 128 columns.
# The fastest axis runs across the 128 columns of a tile, and the next axis runs down its 8 rows.
# Where the edge of the array cuts through a tile, the places left empty are called **padding**.
#
# As a toy, we store an array [3, 5] of 16-bit numbers in tiles of 2 x 4, axis 1 fastest:
#
# ```
# axis 1  5 becomes 8   two tiles of 4 columns, side by side
# axis 0  3 becomes 4   two tiles of 2 rows, one below the other
# places  8 x 4 = 32    for only 15 numbers
# bytes   32 x 2 = 64   since a 16-bit number has 2 bytes
# ```
#
# If axis 0 is the fastest, its 3 becomes 4 and the 5 becomes 6, so 24 places are enough.
# **The order of the axes decides how much is padding.**
#
# The next cell draws both layouts, with padding in grey.


# %% tags=["picture"]
def round_up(n, multiple):
    """n rounded up to a multiple; n may be an array"""
    blocks = np.ceil(n / multiple).astype(int)
    return blocks * multiple


print("5 columns are stored as", round_up(5, 4), "and 3 rows as", round_up(3, 2))
layout_pictures.in_tiles((3, 5), (2, 4), order=(1, 0))
layout_pictures.in_tiles((3, 5), (2, 4), order=(0, 1))

# %% [markdown]
# ### Any array
#
# The compiler writes the first of these layouts as `{1,0:T(2,4)}`.
# Before the colon stand the axes, the fastest first.
# After the colon stands the tile, whose last size belongs to the fastest axis.
#
# A tile with two sizes rounds up the two fastest axes only.
# For example, `{2,0,1:T(8,128)}` rounds axis 2 up to a multiple of 128 and axis 0 to a multiple of 8, but leaves axis 1 as it is.
# A tile with one size, such as `T(256)`, rounds up the fastest axis only.
#
# **Exercise `tpu.padded_bytes`**: compute the bytes as by hand above, with `round_up`, for any array, order and tile.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


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
# Which order does the compiler choose for our network?
# `compile_for_tpu` takes a JAX function, the shapes of its arguments and a chip, here a single v5e.
# Except in the section Check, its answers come from a *snapshot* saved earlier.
# Their numbers are **compiled**: the compiler expects them, but nothing has run.
#
# The axes of the images are [B, H, W, C], where B is the batch of 256.
# The table sets the compiler's choice beside the order as written, in which the last axis is the fastest.

# %% tags=["picture"]
from labkit.tpu.programs import CONVNET, convnet

ask = partial(compile_for_tpu, source="snapshot")
network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")  # shapes: all weights, images
arrays = {array.name: array for array in network.padding}  # how each array is stored
images = arrays["x"]
shown = {"images": images, "conv1's result": arrays["conv1/conv_general_dilated"]}
shown["fc2's weights"] = arrays["w['fc2.weight']"]
rows = []
for name, array in shown.items():
    last_axis_fastest = range(len(array.shape))[::-1]
    written = padded_bytes(array.shape, last_axis_fastest, (8, 128), 2)
    chosen = padded_bytes(array.shape, array.axes, array.tile, 2)
    agree = chosen == array.padded_bytes
    rows.append([name, str(array.shape), written / 1e6, chosen / 1e6, agree, array.order])
heads = ["array", "shape", "as written, MB", "chosen, MB", "compiler agrees", "chosen order"]
note = "The compiler gives the chosen order; from it, padded_bytes predicts the MB."
figures.table(heads, rows, note)
orders = {"as written": (3, 2, 1, 0), "as the compiler chose": images.axes}
layout_pictures.one_tile(images.shape, orders, "BHWC")

# %% [markdown]
# Look at the images in the first row of the table; the picture shows one of their tiles in each order.
# As written, the three colours of a pixel take 128 columns, of which 125 are padding.
# In the compiler's order, `0,2,3,1`, the batch lies along the 128 columns, and 256 images exactly fill the columns of two tiles.
# <!-- holds: images.axes[0] == 0 and images.padded_bytes == 2 * prod(images.shape) -->
#
# **Put a long axis, best a multiple of 128, along the 128, and most of the padding is gone.**
# <!-- holds: padded_bytes(images.shape, (3, 2, 1, 0), (8, 128), 2) > 40 * images.padded_bytes -->
#
# ### Busy cells
#
# A matrix unit can be partly empty, too, because a weight tile that is not full leaves some cells without a weight.
# As an example, take a product with M = 6, K = 5 and N = 2, for which two units of 4 x 4 cells need 10 cycles:
#
# ```
# useful       6 x 5 x 2 = 60     multiply-adds, M x K x N
# possible     10 x 2 x 16 = 320  cycles x units x cells of each
# utilization  60 / 320 = 19 %    the useful share
#
# weights      5 x 2 = 10         K x N
# cells        8 x 4 = 32         5 becomes 8, 2 becomes 4:
#                                 two weight tiles
# filled       10 / 32 = 31 %     the cells that hold a weight
# ```
#
# **In lesson 1's mapping, each weight has one cell and empty cells do nothing useful, so utilization cannot exceed `filled`.**
#
# **Exercise `tpu.mxu_utilization`**: compute both shares for each of n products, on units of `size` x `size` cells.


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
# ### Counted and compiled
#
# Do real layers respect this limit?
# Lesson 1's simulator *counts* the cycles of a layer on one unit.
# A core of a TPU v2 has one unit, too, so we set the cycles compiled for it beside the count.
# We also take `square`, a product of two matrices [1024, 1024].

# %%
from labkit.tpu.programs import LAYERS, conv, matmul, product_sizes


def cycles_of(program, shapes, chip):
    return ask(program, shapes, f"{chip}:1x1").estimated_cycles


unit = SystolicArray(128, 128)
counted, v2 = [], []
for name, layer in LAYERS.items():
    M, K, N = product_sizes(*layer)
    program = conv if name in ("conv1", "conv2") else matmul
    counted.append(unit.schedule(M, K, N, double_buffer=True).cycles)  # two weight registers
    v2.append(cycles_of(program, layer, "v2"))
M, K, N = np.transpose([product_sizes(*layer) for layer in LAYERS.values()])
used, filled = mxu_utilization(M, K, N, np.array(v2), units=1, size=128)
rows = zip(LAYERS, counted, v2, 100 * filled, 100 * used, strict=True)
heads = ["layer", "cycles, counted", "cycles, compiled", "filled, %", "utilization, %"]
note = "The compiler expects more cycles for fc1, fc2 and square than we counted."
figures.table(heads, list(rows), note)

# %% [markdown]
# For `square`, which fills its tiles, the utilization is 89 %.
# <!-- holds: round(100 * used[4]) == 89 and filled[4] == 1 -->
#
# For conv1 and conv2, however, the utilization is above `filled`.
# <!-- holds: used[0] > 1.5 * filled[0] and used[1] > filled[1] -->
# So if its estimates are right, the compiler uses another mapping, with which conv1 takes half the cycles.
# <!-- holds: 0.45 < v2[0] / counted[0] < 0.55 -->
# **A count holds for one mapping, and the compiler knows others.**
#
# ## Check
#
# Where the compiler is installed, the next cell asks it about fc1 on a v5e, and compares the answer with the snapshot.
# On a TPU it also *measures* `square`; we had no TPU to try this.

# %% tags=["timing", "nbval-ignore-output"]
from time import perf_counter

from labkit.hardware import machine, this_machine
from labkit.provenance import compiled, measured
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer import live

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
# If K grows from 128 to 129, the weights need a second row of weight tiles, which is nearly empty.
# Our simulator charges for all of it, but what does the compiler expect?
# We ask what `a[4096, K]` times `b[K, 1024]` would cost on a v2 core, and let K grow.

# %% tags=["picture"]
counts, stairs = {}, {}
for multiple in range(128, 1153, 128):
    for K in (multiple - 64, multiple, multiple + 1):
        counts[K] = unit.schedule(4096, K, 1024, double_buffer=True).cycles
        stairs[K] = cycles_of(matmul, [(4096, K), (K, 1024)], "v2")
layout_pictures.stairs(counts, stairs, "v2")

# %% [markdown]
# Up to each multiple of 128 the points stay level, and just past it they jump.
# <!-- holds: all(1 <= stairs[K] / stairs[K - 64] < 1.03 for K in range(128, 1153, 128)) -->
# Why the points lie above the line, we cannot say, but all their jumps except the first are as high as the line's.
# <!-- holds: all(stairs[K] > counts[K] for K in stairs) -->
# <!-- holds: all(abs((stairs[K + 1] - stairs[K]) / (counts[K + 1] - counts[K]) - 1) < 0.01 for K in range(256, 1153, 128)) -->
#
# **On a v2, from K = 256 on, one step past a multiple of 128 costs a whole row of weight tiles.**
#
# ### What is free
#
# Where the stairs are level, a larger size costs next to nothing.
# Is that so with channels?
# For a v5e, we compile a 3 x 3 convolution of 32 images [56, 56] with 64 channels, and raise the number of output channels.

# %%
by_channels = {}
rows = []
for N in (64, 128, 129):
    made = ask(conv, [(32, 56, 56, 64), (3, 3, 64, N)], "v5e:1x1")
    result = made.padding[-1]  # the arguments come first, the result last
    fastest = "BHWC"[result.axes[0]]
    by_channels[N] = made.estimated_cycles
    rows.append([N, made.estimated_cycles, fastest, result.padded_bytes / 1e6])
figures.table(["output channels", "cycles", "fastest axis", "result, MB"], rows, "compiled")

# %% [markdown]
# In the result, the output channels (axis C) lie along the 128, so 64 of them leave half of each tile in memory empty, and the next 64 fill this padding.
# The 129th finds no room there: it needs new tiles, which double the bytes and raise the cycles.
#
# **With these 32 images, the second 64 channels are free, but one more costs 76 % more cycles.**
# <!-- holds: by_channels[64] == by_channels[128] -->
# <!-- holds: round(100 * (by_channels[129] / by_channels[128] - 1)) == 76 -->
# In each row, nearly half of the cycles reorder the result, which networks may not need.
# <!-- holds: 0.4 < made.ops[-1].cycles / made.estimated_cycles < 0.5 -->
#
# ## Explain
#
# How good were your guesses, and what were the 66 MB?

# %% tags=["picture"]
more = 100 * (stairs[1025] / stairs[1024] - 1)
halved = v2[0] / counted[0]
channels = by_channels[128] / by_channels[64]
source = network.source  # which compiler gave the answers
results = [compiled(more, "%", source)]
results += [compiled(times, "times", source) for times in (halved, channels)]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

bandwidth = float(machine("tpu_v5e").bandwidth)  # bytes a second
rows = []
for name, order in orders.items():
    size = padded_bytes(images.shape, order, (8, 128), 2)
    rows.append([name, size / 1e6, 1e6 * size / bandwidth])
heads = ["256 images", "MB", "time to read, µs"]
figures.table(heads, rows, "predicted, at the published 819 GB/s")

# %% [markdown]
# K = 1,024 fills 8 rows of weight tiles, and K = 1,025 needs one more, or an eighth.
# <!-- holds: round(more) == 12 -->
#
# **The 66 MB of nothing** were the 125 empty columns beside each pixel's three colours.
# With 256 images along the 128 instead, the array takes 1.6 MB, and a v5e reads it in 2 µs instead of 82 µs (predicted).
# <!-- holds: round(rows[0][2]) == 82 and round(rows[1][2]) == 2 -->
#
# ## On trial
#
# The [next lesson](6_what_a_training_step_costs.ipynb) tests two claims about TPUs.
#
# ## Recap
#
# **The rule to keep: a size along the 128 is rounded up to a multiple of 128, so 129 takes the room of 256.**
# <!-- holds: round_up(129, 128) == 256 -->
#
# Take a 3 x 3 convolution of 32 images [14, 14] with 256 channels and 200 output channels.
# By the rule, the 200 take the room of 256, so 256 should cost no more, but 257 should.

# %%
rows = []
for N in (200, 256, 257):
    cycles = cycles_of(conv, [(32, 14, 14, 256), (3, 3, 256, N)], "v5e")
    rows.append([N, int(round_up(N, 128)), cycles])
figures.table(["output channels", "take the room of", "cycles, compiled"], rows)

# %% [markdown]
# Indeed 56 more are free, but the 257th costs 44 % more cycles.
# <!-- holds: rows[0][2] == rows[1][2] -->
# <!-- holds: round(100 * (rows[2][2] / rows[1][2] - 1)) == 44 -->
#
# With another batch size, however, the compiler may lay another axis along the 128: ask it again.
#
# ### Outside
#
# On a TPU, `jax.jit(f).lower(*arguments).compile().as_text()` gives layouts and estimated cycles.
# There, a layout of bfloat16 ends in `T(8,128)(2,1)`: tiles of 8 x 128, in which two rows share words of 32 bits ([tiled layouts](https://openxla.org/xla/tiled_layout)).
# A v6e's matrix unit has 256 x 256 cells, so a size of 128 fills its tiles in memory, but only half of the unit's rows or columns.
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
quiz("tpu.quiz_channels", "c")
quiz("tpu.quiz_fastest_axis", "c")
quiz("tpu.quiz_above_filled", "a")
# END SOLUTION
