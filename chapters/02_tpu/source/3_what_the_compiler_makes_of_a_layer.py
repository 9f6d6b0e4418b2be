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
#     minutes: 55
#     needs: [jax]
# ---

# %% [markdown]
# # What the compiler makes of a layer
#
# **67 MB of memory for 1.6 MB of images.**
# The course's network reads 256 small colour images at a time: an array [256, 32, 32, 3] of 16-bit numbers.
# If a TPU stored this array in the order in which it is written, it would take 43 times its own bytes.
# Reading them would keep the memory of a TPU v5e busy for 82 µs, although the whole network should take only 137 µs (predicted).
#
# So somebody has to find a better order, and on a TPU the compiler does.
# You need no TPU to watch it: Google's compiler runs on a Linux PC, and makes the real program for a chip that is not there.
# It writes down where each array will lie, and how many cycles most operations should take.
#
# ## What you will be able to do
#
# - read a tiled layout, and count the bytes that padding adds;
# - say which axis of an array should lie along the 128;
# - tell from a number of cycles how busy the matrix units are;
# - recognise sizes that cost nothing more, and sizes that waste a tile.
#
# You need [lesson 1](1_the_systolic_array.ipynb): weights that stay in place, tiles, and the simulator.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The **fastest axis** of an array is the one along which neighbours are neighbours in memory; in NumPy it is the last one.
# A TPU stores an array in **tiles** of 8 rows and 128 columns, and stores each tile whole.
# The fastest axis runs along the 128 columns, the next one along the 8 rows.
# Places of a tile that the array does not fill are called **padding**.
#
# A **matrix unit** (MXU) is the array of lesson 1: it holds a tile of the K x N weights while M rows stream through.
# A tile that is not full takes as long as a full one.
# A core of a TPU v2 has one unit of 128 x 128 cells.
# In a convolution, N is the number of output channels.
#
# Guess four numbers.
# Only the third cannot be worked out from this text.
#
# 1. An array [128, 10] has the 10 as its fastest axis: how many times its own bytes does it take?
# 2. In a large product on a v2 core, K grows from 1,024 to 1,025: how many percent more cycles?
# 3. For the network's first convolution, lesson 1's simulator counts 262,526 cycles on one unit.
#    How many times as many does the compiler expect on a v2 core?
# 4. A convolution gets 128 output channels instead of 64: how many times the cycles?

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
# ### A small array, by hand
#
# Before tiles of 8 x 128, let us take some that fit on paper: an array [3, 5] in tiles of 2 x 4.
# Its five columns need two tiles side by side, so they are stored as eight.
# Its three rows need two tiles, one below the other, so they are stored as four.
# That makes 32 places for 15 numbers, more than twice as many.
#
# Now let the three rows run along the tile's four columns instead.
# Then 3 becomes 4, and 5 becomes 6: the same numbers take only 24 places.
# **The order of the axes decides how much padding there is.**
#
# The next cell defines the one step that you did twice, and draws the first of the two layouts.


# %% tags=["picture"]
def round_up(n, multiple):
    """n as a multiple: the same, or the next larger one; for a number or an array of numbers"""
    blocks = np.ceil(n / multiple).astype(int)
    return blocks * multiple


print("5 columns are stored as", round_up(5, 4), "and 3 rows as", round_up(3, 2))
layout_pictures.in_tiles((3, 5), (2, 4))

# %% [markdown]
# ### How the compiler writes it
#
# The compiler would write this layout as `{1,0:T(2,4)}`.
# What you will meet below looks like `{0,1:T(8,128)(2,1)}`, and has three pieces:
#
# | piece | what it says |
# |---|---|
# | `0,1` | The axes from the fastest to the slowest. Here axis 0 is the fastest; in NumPy's order it would be `1,0`. |
# | `T(8,128)` | The tile. Its last size belongs to the fastest axis, the size before it to the next axis. All further axes stay as they are. |
# | `(2,1)` | Two rows of 16-bit numbers share one row of 32-bit words. This adds no bytes. |
#
# Small arrays may get smaller tiles, such as `T(4,128)` or `T(256)`.
#
# **Exercise `tpu.padded_bytes`**: how many bytes does an array take?
# Round the sizes of the axes that lie in the tile up, each with `round_up`.
# Then multiply all sizes and the bytes of one number; `prod(numbers)` multiplies.
# `hint("tpu.padded_bytes")` helps if you are stuck.


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
# `compile_for_tpu` takes a function written in JAX, the shapes of its arguments, and a topology: `v5e:1x1` is one chip of the kind that Colab offers.
# Everybody should see the same numbers, so this lesson reads the stored answers of one compiler, its *snapshot*.
# Its numbers are called **compiled**: the compiler expects them, and nothing has run.
#
# Below you ask it about the whole network, whose images have the axes [N, H, W, C]: image, row, column, colour.
# How many times its own bytes does each array take, as it is written and as the compiler lays it out?

# %% tags=["picture"]
from labkit.provenance import compiled, predicted
from labkit.tpu.programs import CONVNET, LAYERS, conv, convnet, matmul, product_sizes

ask = partial(compile_for_tpu, source="snapshot")
network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")
arrays = {array.name: array for array in network.padding if len(array.shape) > 1}  # no biases
rows = []
for name, array in arrays.items():
    last_axis_fastest = range(len(array.shape))[::-1]
    written = padded_bytes(array.shape, last_axis_fastest, (8, 128), 2) / array.logical_bytes
    chosen = padded_bytes(array.shape, array.axes, array.tile, 2)
    agree = chosen == array.padded_bytes
    chosen = chosen / array.logical_bytes
    rows.append([name, str(array.shape), written, chosen, agree, array.notation])
heads = ["array", "shape", "as written", "chosen", "compiler agrees", "layout chosen"]
figures.table(heads, rows, "as written, chosen: bytes with padding over bytes without (predicted)")
orders = {"as written": (3, 2, 1, 0), "as the compiler lays it out": arrays["x"].axes}
layout_pictures.one_tile(arrays["x"].shape, orders, "NHWC")

# %% [markdown]
# As written, the three colours lie along the 128 columns, and the other 125 columns hold nothing: hence the factor of 43.
# The compiler has turned the images, so that **the batch lies along the 128**.
# The 256 images and the 32 columns of each fill whole tiles, and nothing is wasted.
#
# It lays out everything between the layers in the same way, so there is no padding until the ten scores, which take 1.6 times their bytes.
# With a batch of 100 this layout would take 28 % more, because 128 / 100 is 1.28.
# The weights have no batch; the three small ones take up to 5.3 times their bytes.
#
# ### How busy are the matrix units?
#
# Again, let us take small numbers first.
# A product with M = 6, K = 3 and N = 2 needs 6 x 3 x 2 = 36 multiply-adds.
# Suppose a chip has two units of 4 x 4 cells, and takes 10 cycles for it.
# Each of the 32 cells could do one multiply-add per cycle, so together they could do 320.
# The **utilization** is the share of these that was useful: 36 / 320, or 11 %.
#
# One reason for less than 100 % is known before anything runs.
# The 3 x 2 weights lie in a tile of 4 x 4 and leave ten of its cells empty.
# The share of the tiles' cells that hold a weight is called `filled` here: 6 / 16, or 38 %.
# With lesson 1's mapping, in which weights stay in place, the utilization can never be above `filled`.
#
# **Exercise `tpu.mxu_utilization`**: compute both shares, for arrays with one entry per product.
# All units have `size` x `size` cells, and how many units there are does not change `filled`.


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
# Now for a product that fills every tile, on six generations: how much of their units can one large product use?
# (On a v2, v3 or v4 the compiler's program runs on one of the chip's two cores.)


# %%
def cycles_of(program, shapes, chip):
    """The cycles that the compiler expects of one device, a core or a chip"""
    return ask(program, shapes, f"{chip}:1x1").estimated_cycles


units_and_size = {"v2": (1, 128), "v3": (2, 128), "v4": (4, 128)}
units_and_size |= {"v5e": (4, 128), "v5p": (8, 128), "v6e": (4, 256)}
n = np.array([4096])
rows = []
for chip, (units, size) in units_and_size.items():
    cycles = cycles_of(matmul, [(4096, 4096), (4096, 4096)], chip)
    used, _ = mxu_utilization(n, n, n, cycles, units, size)
    rows.append(
        [chip, units, f"{size} x {size}", compiled(cycles, "", network.source), 100 * used[0]]
    )
figures.table(["device", "units", "cells of each", "cycles", "utilization, %"], rows)

# %% [markdown]
# From 2017 to 2024, a large product keeps the units busy.
#
# The v6e needs a caution.
# Google's page names two units of 256 x 256 for it, 131,072 cells in all (published).
# But 4,096³ multiply-adds in these cycles make 228,000 in each cycle.
# So there are more cells, or each does two multiply-adds in what the compiler calls a cycle.
# We count four units; the peak is the same.
#
# ### One layer, three ways
#
# A layer's cycles can be *counted* by lesson 1's simulator, *compiled* by Google's compiler, or *measured* on a TPU.
# A v2 core has one unit of 128 x 128, so there the first two should come close.
# Do they, for the network's four layers and a product of 1,024³?
# (The third way comes under Check.)

# %%
sizes = {name: product_sizes(x, w) for name, (x, w) in LAYERS.items()}  # M, K, N of each
unit = SystolicArray(128, 128)
rows = []
ratios = {}
for name, (M, K, N) in sizes.items():
    program = conv if "conv" in name else matmul
    v2 = cycles_of(program, LAYERS[name], "v2")
    v5e = cycles_of(program, LAYERS[name], "v5e")
    count = unit.schedule(M, K, N, double_buffer=True).cycles
    ratios[name] = v2 / count
    product = np.array([[M], [K], [N]])
    used_v2, filled = mxu_utilization(*product, v2, 1, 128)
    used_v5e, _ = mxu_utilization(*product, v5e, 4, 128)
    shares = [100 * share[0] for share in (filled, used_v2, used_v5e)]
    rows.append([name, count, v2, v5e, v2 / count, *shares])
heads = ["layer", "counted", "v2", "v5e", "v2 / counted", "filled, %", "v2 uses, %", "v5e uses, %"]
figures.table(heads, rows, "v2, v5e: cycles, compiled by the snapshot's compiler")

# %% [markdown]
# On a v2, the product of 1,024³ and conv2 come close to the simulator: 12 % above it and 8 % below.
# The other layers do not, and each has its own reason.
#
# **conv1** takes half the cycles that are counted.
# It uses more of the cells than are filled, and so does conv2.
# With our mapping that is impossible, so the compiler must have another one.
# It may keep pixels in place and stream the weights.
#
# **fc1** takes 40 % more than counted.
# To read and write its 3.2 MB takes 6,400 cycles, at a core's half of the chip's 700 GB/s (predicted).
# That is less than the arithmetic takes, but perhaps the arithmetic has to wait for the first of these bytes.
#
# **fc2** has very little work, and takes twice the cycles, because each operation also has a fixed price.
#
# **A v5e** has four units, and yet needs more than a quarter of the v2's cycles for each layer.
# Memory is one reason.
# At 819 GB/s (published), the bytes of fc1 alone take 5,900 cycles (predicted).
# The product of 1,024³ needs 16,400 cycles for its arithmetic and 11,500 for its bytes (predicted); one after the other, these come within a tenth of what is compiled.
# That conv1 takes even more cycles than on a v2 is explained neither by its arithmetic nor by its bytes.
#
# ## Check
#
# Does the snapshot say what the compiler says?
# Where Google's compiler is installed, the next cell asks it about fc1.
# On a TPU it also measures the product of 1,024³, the third way.
# (We had no TPU to try this on.)

# %% tags=["timing", "nbval-ignore-output"]
from textwrap import fill
from time import perf_counter

from labkit.hardware import this_machine
from labkit.provenance import measured
from labkit.tpu import live

start = perf_counter()
print(fill(live.agreement(matmul, LAYERS["fc1"], "v5e:1x1"), 95))
print("The answer took", measured(perf_counter() - start, "s"))
if this_machine().has_tpu:
    print("1,024³:", live.measure_product(1024))

# %% [markdown]
# ## Measure
#
# ### Stairs
#
# Tiles should show as stairs.
# Let K grow in `a[4096, K]` times `b[K, 1024]`, to each multiple of 128 and then by one more: what does that one more cost, on one simulated unit and on three chips?

# %% tags=["picture"]
multiples = range(128, 1153, 128)
K_values = sorted([*multiples, *(n + 1 for n in multiples)])  # 128, 129, 256, 257, ...
stairs = {"one unit, counted": {}, "v2, compiled": {}, "v5e, compiled": {}, "v6e, compiled": {}}
for K in K_values:
    count = unit.schedule(4096, K, 1024, double_buffer=True).cycles
    stairs["one unit, counted"][K] = count
    for chip in ("v2", "v5e", "v6e"):
        stairs[f"{chip}, compiled"][K] = cycles_of(matmul, [(4096, K), (K, 1024)], chip)
layout_pictures.stairs(stairs, counted="one unit, counted", marked=769)


def one_more(line, K):
    """How many percent more cycles K + 1 takes than K"""
    return 100 * (line[K + 1] / line[K] - 1)


rows = [[f"{K:,} + 1", *(one_more(line, K) for line in stairs.values())] for K in multiples]
figures.table(["K", *stairs], rows, "percent more cycles than without the + 1")

# %% [markdown]
# From K = 256 on, a v2 climbs the stairs of the simulator.
# A v5e steps at the same places and a v6e at multiples of 256, the side of its units, but neither steps to the heights that we would count.
#
# Two things no formula of ours explains.
# A v2 and a v5e never take less than 60,000 cycles, and on the v5e K = 769 costs more than K = 896.
# So would zeros help: if the program fills 769 up to 896 itself, does it get the better price?


# %%
def filled_up(a, b):
    """The product of a[4096, 769] and b[769, 1024], which adds zeros up to K = 896 first"""
    a = jnp.pad(a, [(0, 0), (0, 127)])
    b = jnp.pad(b, [(0, 127), (0, 0)])
    return matmul(a, b)


v5e = stairs["v5e, compiled"]
inside = cycles_of(filled_up, [(4096, 769), (769, 1024)], "v5e")
rows = [["K = 769", v5e[769]], ["filled up inside", inside], ["stored with K = 896", v5e[896]]]
figures.table(["on a v5e", "cycles, compiled"], rows)

# %% [markdown]
# Zeros that are added inside the program change nothing.
# Only arrays that are stored with K = 896 get its price.
# **Ask the compiler; do not guess.**
#
# ### Channels for nothing
#
# The last guess was about N.
# Here is a convolution with windows of 3 x 3 on 32 images of 56 x 56, with more and more channels.

# %%
rows = []
by_channels = {}
for channels in [(64, 64), (64, 128), (128, 128), (128, 256)]:
    layer = [(32, 56, 56, channels[0]), (3, 3, *channels)]
    made = ask(conv, layer, "v5e:1x1")
    result = made.padding[-1]  # what the last operation writes
    by_channels[channels] = made.estimated_cycles
    name = f"{channels[0]} to {channels[1]}"
    v6e = cycles_of(conv, layer, "v6e")
    rows.append([name, made.estimated_cycles, v6e, result.logical_bytes, result.padded_bytes])
heads = ["channels", "cycles, v5e", "cycles, v6e", "bytes of the result", "with padding"]
figures.table(heads, rows, "all compiled; the bytes are those on a v5e")

# %% [markdown]
# From 64 to 128 output channels, cycles and memory stay the same, because 64 channels had already paid for a tile of 128.
# On a v5e even the step from 64 to 128 *input* channels changes little.
#
# On a v6e, 256 output channels cost 1.8 times as much as 128, although its units are 256 wide.
# So there K steps at 256, and N at 128.
# **Sizes that fill 128 are a bargain, and sizes just above are a waste.**
#
# ## Explain
#
# What did you guess, and what came out?

# %% tags=["picture"]
weights = arrays["w['fc2.weight']"]
as_written = padded_bytes(weights.shape, (1, 0), (8, 128), 2) / weights.logical_bytes
step = one_more(stairs["v2, compiled"], 1024)
doubled = by_channels[64, 128] / by_channels[64, 64]
by = network.source
results = [predicted(as_written, "times", "tiles of 8 x 128"), compiled(step, "%", by)]
results += [compiled(ratios["conv1"], "times", by), compiled(doubled, "times", by)]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Padding**: 128 / 10 is 12.8, since each row of ten fills a whole row of a tile.
#
# **K = 1,025**: the weights get a ninth row of tiles beside eight, 12.5 % more.
# The compiler expects a little less, because not all of the price grows.
# On a v5e the same step costs 10.5 %, but 39 % after 768 and only 3 % after 512.
#
# **conv1**: a count is right for its mapping only, and the compiler has found a better one.
#
# **Channels**: the second 64 channels fill columns that were there already.
#
# ## On trial
#
# No claim is on trial here: the two that are about TPUs need a whole training step, and wait for the [next lesson](4_what_a_training_step_costs.ipynb).
#
# ## Recap
#
# - A TPU stores whole tiles. The fastest axis is rounded up to 128, the next one to 8, so an axis that fills them belongs there; often that is the batch.
# - K and N cost whole tiles of 128, except that K steps at 256 on a v6e. M costs what it is.
# - A utilization above `filled` means that the compiler has another mapping than ours.
#
# **The rule to keep**: make sizes multiples of 128, and ask the compiler before you trust a formula.
#
# ### Outside
#
# On a TPU, `jax.jit(f).lower(*arguments).compile().as_text()` prints the program that we have read, with its layouts and its estimated cycles.
# For a program that you do not want to change, `XLA_FLAGS=--xla_dump_to=DIRECTORY` before the command writes the same text into files.
# How much padding an array got on a real TPU, the memory viewer of Google's profiler shows ([published](https://cloud.google.com/tpu/docs/performance-guide)).
# The rules of tiled layouts are in [XLA's documentation](https://openxla.org/xla/tiled_layout).
# We left out how operations are fused, and when they wait for memory.
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
