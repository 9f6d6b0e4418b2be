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
#     minutes: 45
#     needs: [jax]
# ---

# %% [markdown]
# # What the compiler makes of a layer
#
# **What would your network cost on a TPU that you do not have?**
# Google's TPU compiler can say.
# It runs on a Linux PC, makes the real program for an absent chip, and writes down how each array will lie in memory, and what fits.
# Of most operations it also estimates how many cycles they take.
#
# ## What you will be able to do
#
# - read a tiled layout, and count the bytes that padding wastes;
# - tell from the compiler's cycles how busy the matrix units are, and which sizes are a bargain;
# - predict images per second, and say how far off the prediction is;
# - see before anything runs that a program will not fit, and what chips will send each other.
#
# You need lesson 1: weight-stationary arrays, tiles, padding.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Two facts.
# First, a TPU's memory is read in **tiles** of 8 rows and 128 columns; the fastest axis of an array runs along the 128.
# Each of these two axes is filled up to whole tiles.
# Second, from lesson 1: a matrix unit (**MXU**) holds a tile of 128 x 128 of the K x N weights and streams M rows through it; a ragged tile is filled up with zeros, and costs what a full one costs.
# In a convolution the output channels are N.
#
# Guess three numbers:
#
# 1. An array [128, 10], with the 10 as fastest axis: how many times its own bytes does it take?
# 2. A v2 core has one such unit.
#    In a large product K grows from 1,024 to 1,025: how many percent more cycles?
# 3. A convolution gets 128 output channels instead of 64.
#    How many times the cycles?

# %%
from functools import partial
from math import prod

import jax
import numpy as np
from jax import numpy as jnp

from labkit import check, figures, hint, predict, quiz
from labkit.tpu import compile_for_tpu

# STUB:
# guesses = {
#     "padding": predict("tpu.padding_factor", None, "times"),
#     "K = 1,025": predict("tpu.step_past_1024", None, "%"),
#     "channels": predict("tpu.twice_the_channels", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "padding": predict("tpu.padding_factor", 2, "times"),
    "K = 1,025": predict("tpu.step_past_1024", 12.5, "%"),
    "channels": predict("tpu.twice_the_channels", 2, "times"),
}
# END SOLUTION
ask = partial(compile_for_tpu, source="snapshot")

# %% [markdown]
# ## Build
#
# ### Ask the compiler
#
# A function in JAX, the shapes of its arguments (bfloat16 unless you say otherwise), a topology: `v5e:1x1` is one chip of Colab's kind.
# To get the same numbers everywhere, this lesson takes the stored answers of one compiler, its *snapshot*.
# (Under Check, and for any other sizes, `compile_for_tpu` asks the compiler itself.)
# Its numbers are called **compiled**: expected by the compiler.
# Nothing has run.

# %%
from labkit.tpu.programs import CONVNET, conv, convnet, matmul

fc1 = ask(matmul, [(256, 4096), (4096, 128)], "v5e:1x1")
print(fc1)

# %% [markdown]
# ### How an array lies in memory
#
# The compiler writes a layout as `{1,0:T(8,128)(2,1)}`.
# First come the axes **from the fastest to the slowest**: `1,0` means that axis 1 is the fastest, as in NumPy; `0,1` would be column by column.
# Then the tile: its last size, 128, belongs to the fastest axis, 8 to the next one.
# Further axes are not padded.
# `(2,1)` puts two rows of bfloat16 into one row of 32-bit words, and adds no bytes.
# Small arrays have smaller tiles, such as `T(256)` or `T(4,128)`.
#
# **Exercise `tpu.padded_bytes`**: how many bytes does an array take?
# `-(-n // t) * t` rounds up, `prod(numbers)` multiplies.


# %% tags=["exercise:tpu.padded_bytes"]
def padded_bytes(shape, order, tile, itemsize):
    """sizes of the axes, axes from fastest to slowest, tile such as (8, 128), B -> bytes"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    size = list(shape)
    for i, n in enumerate(tile[::-1]):
        axis = order[i]
        size[axis] = -(-size[axis] // n) * n
    return int(prod(size)) * itemsize
    # END SOLUTION


padded_bytes = check("tpu.padded_bytes", padded_bytes)

# %% [markdown]
# Now the course's network, 256 images at a time, in the order in which TPU programs are written: images [N, H, W, C].
# How many times its own bytes would each array take *as written*, with the last axis fastest (predicted)?
# And what has the compiler chosen?
# (The function is ours, until yours is right.)


# %%
def tile_of(layout):
    return [int(n) for n in layout.removeprefix("T(").split(")")[0].split(",")]


network = ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1")
print(f"{'array':32}{'as written':>11}{'chosen':>9}   layout")
agree = []
for row in network.padding:
    axes, tile = len(row.shape), tile_of(row.layout)
    order = [int(axis) for axis in row.order.split(",")]
    written = padded_bytes(row.shape, range(axes)[::-1], (8, 128)[-axes:], 2) / row.logical_bytes
    chosen = padded_bytes(row.shape, order, tile, 2)
    agree.append(chosen == row.padded_bytes)
    if axes > 1:
        name = f"{row.name.split('/')[0]} {list(row.shape)}"
        print(f"{name:32}{written:10.1f}x{chosen / row.logical_bytes:8.1f}x", end="   ")
        print(f"{{{row.order}:{row.layout}}}")
print(f"the compiler's bytes: {sum(agree)} of {len(agree)} arrays agree (compiled), 4 are biases")

# %% [markdown]
# With three colours in the fastest axis, the images would take 43 times their bytes.
# The compiler has turned them round: **the batch lies along the 128**, and what flows through the network has no padding until the ten scores (1.6x).
# In this layout batches of 100 would take 28 % more, since 128 / 100 is 1.28.
# The three small weights take more, up to 5.3 times their bytes.
#
# ### How busy are the matrix units?
#
# A cell does one multiply-add in a cycle, and a device (a chip, or one of the two cores of a v2, v3 or v4) has `units` arrays of `size` x `size` cells.
# The **utilization** is what share of their multiply-adds was useful.
# One reason for less than 1 is known beforehand: `filled`, the share of the cells in its tiles that hold weights, not padding.
# The number of units does not matter here.
#
# **Exercise `tpu.mxu_utilization`**: both shares, for arrays with one element per product.


# %% tags=["exercise:tpu.mxu_utilization"]
def mxu_utilization(M, K, N, cycles, units, size):
    """M, K, N, cycles [n] of products -> utilization [n], filled [n], both from 0 to 1"""
    # STUB:
    # utilization = filled = np.zeros(len(M))
    # BEGIN SOLUTION
    utilization = M * K * N / (cycles * units * size**2)
    rows, columns = (-(-side // size) * size for side in (K, N))
    filled = K * N / (rows * columns)
    # END SOLUTION
    return utilization, filled


mxu_utilization = check("tpu.mxu_utilization", mxu_utilization)
n = np.array([4096])
chips = {"v2": (1, 128), "v3": (2, 128), "v4": (4, 128), "v5e": (4, 128), "v5p": (8, 128)}
chips["v6e"] = 4, 256
for chip, (units, size) in chips.items():
    made = ask(matmul, [(4096, 4096), (4096, 4096)], f"{chip}:1x1").estimated_cycles
    share = mxu_utilization(n, n, n, np.array([made]), units, size)[0][0]
    print(f"4,096³ on {chip:3}: {made:9,} cycles, {share:.0%} of {units} x {size}² (compiled)")

# %% [markdown]
# Large products keep the units busy, from 2017 to 2024.
# The v6e needs a word of its own.
# Google's page names two units of 256 x 256, which have 131,072 cells together (*published*).
# But 4,096³ multiply-adds in these cycles are 228,000 in each cycle.
# So there are more cells, or each does two multiply-adds in what the compiler calls a cycle.
# We count four units; the peak is the same.
#
# ### One layer, three ways
#
# Lesson 1's simulator *counts* cycles on one array of 128 x 128.
# A v2 core has just one.
# How close does the compiler come, for our layers and a product of 1,024³?
# (The third way, *measured*, comes under Check.)

# %%
from labkit.tpu import SystolicArray

shapes = {"conv1": [(256, 32, 32, 3), (3, 3, 3, 32)], "conv2": [(256, 16, 16, 32), (3, 3, 32, 64)]}
shapes |= {"fc1": [(256, 4096), (4096, 128)], "fc2": [(256, 128), (128, 10)]}
shapes |= {"square": [(1024, 1024), (1024, 1024)]}
MKN = np.array([[np.prod(x[:-1]), np.prod(w[:-1]), w[-1]] for x, w in shapes.values()])
counted = [SystolicArray(128, 128).schedule(*map(int, s), double_buffer=True).cycles for s in MKN]
v2, v5e = [], []
for x, w in shapes.values():
    layer = conv if len(w) == 4 else matmul
    v2.append(ask(layer, [x, w], "v2:1x1").estimated_cycles)
    v5e.append(ask(layer, [x, w], "v5e:1x1").estimated_cycles)
used2, filled = mxu_utilization(*MKN.T, np.array(v2), 1, 128)
used5 = mxu_utilization(*MKN.T, np.array(v5e), 4, 128)[0]
print("         cycles: counted  v2 compiled  v5e compiled   filled  used: v2    v5e")
for row in zip(shapes, counted, v2, v5e, filled, used2, used5, strict=True):
    print("{:8}{:16,}{:13,}{:14,}{:9.0%}{:10.0%}{:7.0%}".format(*row))

# %% [markdown]
# On a v2, `square` and conv2 come close to the simulator: 12 % above it, and 8 % below.
# The other layers do not, and a v5e is another story:
#
# - **conv1** takes half the cycles that are counted.
#   It uses more of the cells than is `filled`, and so does conv2.
#   With our mapping this is impossible, so the compiler has another one: it may keep pixels in place and stream the weights.
# - **fc1** takes 40 % more.
#   Its 3.2 MB would take 6,400 cycles at a core's half of the 700 GB/s (predicted), fewer than the arithmetic.
#   Perhaps the arithmetic waits for the first of them.
# - **fc2** does very little work, and takes twice the cycles: each operation has a price of its own.
# - **A v5e** has four units, and needs more than a quarter of the cycles.
#   Memory is one reason.
#   At 819 GB/s (published), fc1's bytes alone take 5,900 cycles (predicted).
#   `square` needs 16,400 cycles for its arithmetic and 11,500 for its bytes: one after the other, these come within a tenth.
#   That conv1 takes even more cycles than on a v2, neither its arithmetic nor its bytes explain.
#
# ## Check
#
# Is the snapshot what the compiler says?
# Where libtpu is installed, the next cell asks it, in a process of its own.
# On a TPU it also times `square`, the third way: a thousand products in a row, so that starting them costs nothing.
# (We had none to try this on; without one, this part is left out.)

# %% tags=["timing", "nbval-ignore-output"]
from textwrap import fill
from time import perf_counter
from timeit import repeat

from labkit.hardware import this_machine
from labkit.provenance import measured
from labkit.tpu import compiler, snapshot

start = perf_counter()
try:
    live = compile_for_tpu(matmul, shapes["fc1"], "v5e:1x1")
    print(fill(snapshot.agreement(live, fc1) if compiler.installed() else "No compiler.", 95))
except compiler.CompilerError as error:  # some versions crash: the process, not this notebook
    print(error)
print("The answer took", measured(perf_counter() - start, "s"))
if this_machine().has_tpu:
    products = jax.jit(lambda w: jax.lax.fori_loop(0, 1000, lambda _, y: matmul(y, w), w))
    identity = jnp.eye(1024, dtype="bfloat16")
    seconds = min(repeat(lambda: products(identity).block_until_ready(), number=1)) / 1000
    print("square:", measured(seconds, "s", jax.devices()[0].device_kind))

# %% [markdown]
# ## Measure
#
# ### Stairs
#
# Let K grow: `a[4096,K]` times `b[K,1024]`, each time a multiple of 128, and one more.
# Where does each chip step?
# (Each picture has its own scale, from 0.)

# %% tags=["picture"]
multiples = (128, 256, 384, 512, 640, 768, 896, 1024, 1152)
K = [n + more for n in multiples for more in (0, 1)]
array = SystolicArray(128, 128)
cycles = {"counted": [array.schedule(4096, k, 1024, double_buffer=True).cycles for k in K]}
for chip in ("v2", "v5e", "v6e"):
    answers = [ask(matmul, [(4096, k), (k, 1024)], f"{chip}:1x1") for k in K]
    cycles[f"{chip}, compiled"] = [answer.estimated_cycles for answer in answers]
figure, panels = figures.canvas(9, 2.9, 1, 3)
print(f"{'more cycles for K + 1, K =':26}", *(f"{n:6,}" for n in multiples))
for (name, line), panel in zip(cycles.items(), panels[[0, 0, 1, 2]], strict=True):
    panel.plot(K, np.array(line) / 1000, "k:" if name == "counted" else "o-", markersize=3)
    more = [100 * (line[i + 1] / line[i] - 1) for i in range(0, len(K), 2)]
    print(f"{name:26}", *(f"{percent:5.1f}%" for percent in more))
    panel.set(title=name, xlabel="K", xticks=[256, 512, 768, 1024], ylim=(0, None))
panels[0].set_ylabel("thousand cycles (dotted: counted)")
filled_up = lambda a, b: matmul(jnp.pad(a, ((0, 0), (0, 127))), jnp.pad(b, ((0, 127), (0, 0))))
padded = ask(filled_up, [(4096, 769), (769, 1024)], "v5e:1x1").estimated_cycles
at = dict(zip(K, cycles["v5e, compiled"], strict=True))
print(f"v5e: K = 769 {at[769]:,}, filled up to 896 in the program {padded:,}; K = 896 {at[896]:,}")
figures.show(figure, "Cycles against K: stairs of 128 as counted and on v2 and v5e, of 256 on v6e.")

# %% [markdown]
# From K = 256 on, a v2 climbs the simulator's stairs.
# A v5e steps at the same places, a v6e at multiples of 256, but not to the same heights.
# Two things no formula of ours explains: v2 and v5e never take less than 60,000 cycles, and on the v5e K = 769 costs more than 896.
# **Ask, do not guess**: zeros added inside the program change nothing (last line); only arrays *stored* with K = 896 get its price.
#
# ### Channels for nothing
#
# The third guess: a 3x3 convolution of 32 images [56, 56], with ever more channels.

# %%
ratios = {}
print("channels      cycles: v5e         v6e   bytes of the result (compiled)")
for channels in [(64, 64), (64, 128), (128, 128), (128, 256)]:
    images, weights = (32, 56, 56, channels[0]), (3, 3, *channels)
    made = [ask(conv, [images, weights], f"{chip}:1x1") for chip in ("v5e", "v6e")]
    ratios[channels] = made[0].estimated_cycles
    result = made[0].padding[-1]
    print("{:3} to {:3}".format(*channels), *(f"{m.estimated_cycles:14,}" for m in made), end="")
    print(f"{result.logical_bytes:14,}, padded {result.padded_bytes:11,}")

# %% [markdown]
# ## Recap
#
# To be written.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_channels", None)
# BEGIN SOLUTION
quiz("tpu.quiz_channels", "b")
# END SOLUTION
