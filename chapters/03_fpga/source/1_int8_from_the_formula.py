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
#     title: int8 from the formula
#     minutes: 50
#     needs: []
# ---

# %% [markdown]
# # int8 from the formula
#
# **2.18 MB of weights, and 0.645 MB of memory.**
# The first is the course's network in float32.
# The second is all the block memory on the XC7Z020, the chip of the Pynq-Z1 board (published).
# Weights that do not fit must come from another chip on the board, again for each image.
# That takes 1.04 ms at 2.1 GB/s, while the multipliers need only 0.28 ms for an image (predicted).
# Can the network live on the chip, and what does it lose?
#
# The XC7Z020 contains an **FPGA**, a chip full of small parts whose wiring you choose.
# You describe a circuit in a language, and a program called a synthesis tool decides which parts to use.
# Before we describe circuits in lesson 2, we must choose what to build, and in which numbers.
#
# ## What you will be able to do
#
# - find the layers of a network that are worth building;
# - turn a layer into integers, with scales that you can explain;
# - prove that no image can overflow a sum.
#
# You need [convolutions](../01_gpu/1_gradients_and_convolutions.ipynb) and multiply-adds, but no hardware design.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# An **int8** is an integer with 8 bits, from -128 to 127.
# We will write the whole network in int8, and add up the products of each output in a register, the **accumulator**.
#
# Guess two numbers.
# On how many of 500 test images will the integer network name another class than the network in float32?
# And how many bits must the accumulator of conv2 have, if each sum has 288 products?

# %%
import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import accuracy, pictures, quantize
from labkit.fpga.bounds import signed_bits
from labkit.fpga.sigma_table import SigmaTable
from labkit.provenance import counted, predicted

# STUB:
# changed_guess = predict("fpga.changed_classes", None, "images")
# bits_guess = predict("fpga.conv2_bits", None, "bit")
# BEGIN SOLUTION
changed_guess = predict("fpga.changed_classes", 20, "images")
bits_guess = predict("fpga.conv2_bits", 24, "bit")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What is worth building
#
# These are the parts of the XC7Z020 (published, AMD DS190):
#
# | part | what one of them does | on the chip |
# |---|---|---|
# | **LUT** | looks up any yes-or-no function of 6 bits in a small table | 53,200 |
# | **flip-flop** | remembers 1 bit until the next clock | 106,400 |
# | **DSP** | multiplies a 25-bit integer by an 18-bit one, and can add the product to a sum | 220 |
# | **block RAM** | stores 36 kbit, or 4,608 bytes | 140 |
#
# Multiply-adds ask for DSPs, and weights ask for block RAM.
# So we look at how the network's layers share the two.

# %% tags=["picture"]
weights = convnet.load_weights()
layers = {layer.name: layer for layer in convnet.LAYERS if layer.parameters}
work, stored = {}, {}
for name, layer in layers.items():
    w = weights[f"{name}.weight"]
    pixels = np.prod(layer.output_shape[1:], dtype=int)  # 1 in a fully connected layer
    work[name] = w.size * pixels  # each weight is used once for every pixel of the output
    stored[name] = layer.parameters
pictures.shares({"multiply-adds": work, "weights": stored})
rows = [[name, work[name], 4 * stored[name], stored[name]] for name in layers]
rows.append(["all", sum(work.values()), 4 * sum(stored.values()), sum(stored.values())])
heads = ["layer", "multiply-adds", "bytes in float32", "bytes in int8"]
figures.table(heads, rows, "Counted for one image. The weights include the biases.")

# %% [markdown]
# The two bars have different owners.
#
# **conv2 does 77 % of the work, so its multiply-adds are worth a circuit; fc1 holds 96 % of the weights, so its bytes decide what fits.**
#
# One byte per weight would be enough for the chip, because 0.55 MB is less than 0.645 MB.
#
# ### A weight in a byte
#
# An integer stands for a real number once we say what one step is worth.
# This worth is called the **scale**.
# As an example, take an output channel with only three weights:
#
# ```
# weights        0.635   -0.300    0.123
# scale          0.635 / 127 = 0.005         the largest magnitude becomes 127
# in steps       127     -60       24.6      weight / scale
# integers       127     -60       25        rounded to the nearest
# stand for      0.635   -0.300    0.125     integer x scale
# ```
#
# No weight is off by more than half a step.
# Another channel may have much smaller weights, which would be only a few of these steps.
# Therefore each output channel has a scale of its own.
#
# **Exercise `fpga.quantize_weights`**: compute the integers and the scales for a matrix with one row per output channel.
# No row is all 0.


# %% tags=["exercise:fpga.quantize_weights"]
def quantize_weights(w):
    """real weights w [K, D], a row for each output channel -> q [K, D] int8, scale [K]"""
    # STUB:
    # q = np.zeros(w.shape, np.int8)
    # scale = np.ones(len(w))
    # BEGIN SOLUTION
    scale = np.abs(w).max(axis=1) / 127
    steps = w / scale[:, None]  # [K, D] / [K, 1]: each row by its own scale
    q = np.floor(steps + 0.5).astype(np.int8)
    # END SOLUTION
    return q, scale


quantize_weights = check("fpga.quantize_weights", quantize_weights)

# %% [markdown]
# ### A sum of integers
#
# A layer computes $y = \sigma(w^T x + b)$, where $\sigma$ is ReLU in our network.
# Inputs get a scale, too.
# Each product $w_i x_i$ then contains the same factor, the product of the two scales, so this factor can wait until the end of the sum:
#
# $$\sum_i w_i x_i = s_w s_x \sum_i q_{w,i}\, q_{x,i}$$
#
# In the example, let the inputs have the scale 0.01, and let the bias be 0.1:
#
# ```
# inputs         0.80    0.50    -0.20
# integers       80      50      -20        input / 0.01
# one step       0.005 x 0.01 = 0.00005     of the sum: scale of w x scale of x
# bias           0.1 / 0.00005 = 2,000
# sum            2,000 + 127 x 80 - 60 x 50 + 25 x (-20) = 8,660
# stands for     8,660 x 0.00005 = 0.433    in real numbers: 0.4334
# ```
#
# How wide must the accumulator be?
# Any input may be anything from -128 to 127, but the weights and the bias are known.
# The sum is largest if each input makes its own product largest:
#
# ```
# largest        2,000 + 127 x 127    + 60 x 128    + 25 x 127    =  28,984
# smallest       2,000 - 127 x 128    - 60 x 127    - 25 x 128    = -25,076
# 16 bits hold   -32,768 to 32,767, so both of them fit; 15 bits hold half as much
# ```
#
# Three products of *any* two int8 numbers would need 17 bits.
#
# **Exercise `fpga.accumulator_bits`**: return the least width that serves all channels of a layer, for inputs from `low` to `high`.
# `signed_bits(smallest, largest)` counts the bits of a signed number that must hold both.


# %% tags=["exercise:fpga.accumulator_bits"]
def accumulator_bits(w, b, low, high):
    """integers w [K, D], b [K]; each input lies from low to high, low <= 0 <= high -> bits"""
    # STUB:
    # smallest = largest = np.zeros(len(w), int)
    # BEGIN SOLUTION
    smallest = b + np.minimum(w * low, w * high).sum(axis=1)
    largest = b + np.maximum(w * low, w * high).sum(axis=1)
    # END SOLUTION
    return signed_bits(smallest.min(), largest.max())


accumulator_bits = check("fpga.accumulator_bits", accumulator_bits)

# %% [markdown]
# ### Back to a byte
#
# The sum is too wide for the next layer, which reads int8.
# If the output's scale is 0.02, then the sum 8,660 should become $0.433 / 0.02 = 21.65$ steps, rounded to 22.
#
# So we need the factor 0.00005 / 0.02 = 0.0025, but the circuit has only integers.
# The cure is a fraction whose denominator is a power of two, since dividing by $2^{16}$ only drops 16 binary digits.
# This is called a **shift**, and it costs no gate, because the circuit just leaves those wires unconnected.
#
# ```
# factor         0.0025 is nearly 164 / 2^16     multiplier m = 164, shift = 16
# product        8,660 x 164 = 1,420,240
# plus half      + 2^15 = 1,453,008              half of 2^16, so that the shift rounds
# shifted        1,453,008 >> 16 = 22            what is left of 22.17
# stands for     22 x 0.02 = 0.44
# clamped        22                              below low becomes low, above 127 becomes 127
# ```
#
# With half added first, the shift rounds to the nearest integer, and a half goes up.
# If `low` is 0, the clamp is the ReLU.
#
# **Exercise `fpga.requantize`**: do this for all sums, with a multiplier for each channel.
# A product can exceed 32 bits, so begin with `acc.astype(np.int64)`.


# %% tags=["exercise:fpga.requantize"]
def requantize(acc, m, shift, low):
    """sums acc [N, K] int32, m [K], shift >= 1, low 0 or -128 -> [N, K] int8"""
    # STUB:
    # q = np.zeros(acc.shape)
    # BEGIN SOLUTION
    product = acc.astype(np.int64) * m
    rounded = (product + 2 ** (shift - 1)) >> shift
    q = np.clip(rounded, low, 127)
    # END SOLUTION
    return q.astype(np.int8)


requantize = check("fpga.requantize", requantize)

# %% [markdown]
# ## Check
#
# `quantize` does the same for the whole network.
# It chooses the scales of inputs and outputs by looking at 500 training images.
# What it returns is called a **golden model**: the circuits of the next lessons must agree with it in every bit.
# Do your functions agree with its layer fc1?

# %%
data = cifar10("sample")
golden = quantize(weights, data.train.images[:500])
fc1 = golden.layer("fc1")
few = golden.activations(data.test.images[:50])  # every tensor on the way
q, scale = quantize_weights(weights["fc1.weight"].astype(float))
y = requantize(few["fc1"], fc1.multiplier, fc1.shift, low=0)
print("weights agree:", np.array_equal(q, fc1.weights))
print("outputs agree:", np.array_equal(y, few["relu3"]))

# %% [markdown]
# ## Measure
#
# ### Bits
#
# How wide are the real accumulators?
# The image has int8 of both signs, but after a ReLU the inputs lie from 0 to 127.

# %%
bits = {}
rows = []
for layer in golden.layers:
    w = layer.weights.reshape(len(layer.weights), -1).astype(int)
    low = -128 if layer.name == "conv1" else 0
    products = w.shape[1]
    bits[layer.name] = accumulator_bits(w, layer.bias, low, 127)
    largest = products * 128 * 128
    rows.append([layer.name, products, signed_bits(-largest, largest), bits[layer.name]])
heads = ["layer", "products in a sum", "bits, any weights", "bits, these weights"]
figures.table(heads, rows, "Predicted by bounds that hold for every image.")

# %% [markdown]
# Look at fc1, which needs the widest sum.
# For any weights it would take 28 bits, but for the trained ones 25 are enough.
# This is just what a DSP takes: it multiplies 25 bits by 18, and our multipliers m stay below 2^16.
#
# **Since the bound knows the weights, each sum can be requantised by a single DSP.**
#
# ### Accuracy
#
# Now the whole network runs in integers, from the pixels to the ten sums that name the class.
# It has never seen the 500 test images.

# %%
images, labels = data.test.images, data.test.labels
by_float = accuracy.float_classes(weights, images)
by_int8 = golden.predict(images)
changed = int((by_float != by_int8).sum())
here = [len(images), int((by_float == labels).sum()), int((by_int8 == labels).sum())]
rows = []
for name, given in {"this run": here, "logged": accuracy.logged()}.items():
    total, float_right, int8_right = given
    lost = 100 * (float_right - int8_right) / total
    rows.append([name, total, float_right, int8_right, lost])
heads = ["", "test images", "float32 right", "int8 right", "points lost"]
figures.table(heads, rows, "Counted. The log is of tools/quantize_convnet.py.")

# %% [markdown]
# On the 500 images, integers lose a single one.
# On all 10,000 they lose 9.
#
# **Eight bits cost this network about a tenth of a percentage point.**
#
# ### Another sigma
#
# ReLU was free, but other networks use $\sigma(x) = 1 / (1 + e^{-x})$, which has no cheap circuit.
# There a table helps: block RAM holds $\sigma$ for steps of $x$ from -8 to 8, and $x$ is the address.
# How wrong can an entry be?
# The curve's slope is at most 1/4, and an entry stands at the middle of its step, so the step adds at most 1/8 of its width.
# Rounding the entry to one of 256 levels adds up to half a level.

# %% tags=["picture"]
table = SigmaTable(entries=2048)
pictures.sigma(SigmaTable(entries=32), table)

# %% [markdown]
# In the right picture, no point crosses the dashed bound of 0.0024.
# **2,048 entries of a byte, half of one block RAM, replace the exponential.**
#
# ## Explain
#
# How good were your guesses, and does the network now fit?

# %% tags=["picture"]
result = counted(changed, "images", "the golden model")
width = predicted(bits["conv2"], "bit", "interval bounds")
figures.guesses(
    [("classes changed", changed_guess, result), ("conv2's accumulator", bits_guess, width)]
)
on_chip = 140 * 36 * 1024 / 8
in_int8 = sum(array.nbytes for array in golden.weights.values())  # biases are int32
rows = []
for name, size in {"float32": 4 * sum(stored.values()), "int8": in_int8}.items():
    rows.append([name, size / 1e6, 100 * size / on_chip])
figures.table(["weights in", "MB", "% of the block RAM"], rows, "Counted.")

# %% [markdown]
# Five classes changed, but some of them from wrong to right, so the accuracy hardly moved.
# The 288 products of conv2 need 21 bits instead of the 24 for any weights.
#
# **The network fits**: its weights fill 85 % of the block RAM instead of 338 %.
# Nothing has to be read again for each image, so the 1.04 ms are gone, and the 0.28 ms of arithmetic remain (predicted).
#
# ## On trial
#
# The chapter's claim, about when an FPGA beats other accelerators, needs circuits first: lesson 4 tries it.
#
# ## Recap
#
# **The rule to keep: a sum of $D$ products of int8 numbers fits into $16 + \log_2 D$ bits, rounded down; a bound that knows the weights often saves 3 more.**
#
# Take a new layer, a 3 x 3 convolution of 64 channels.
# Its sums have 9 x 64 = 576 products, and $\log_2 576$ is 9.2, so 25 bits hold every sum, whatever the weights are.
#
# ### Outside
#
# In ONNX Runtime, `quantize_static("model.onnx", "int8.onnx", images, per_channel=True)` takes the same steps.
# Brevitas trains networks for even fewer bits, and hls4ml turns a network into a circuit.
# We left out scales whose zero is not the integer 0.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_wider", None)
# quiz("fpga.quiz_scale", None)
# quiz("fpga.quiz_relu", None)
# BEGIN SOLUTION
quiz("fpga.quiz_wider", "b")
quiz("fpga.quiz_scale", "d")
quiz("fpga.quiz_relu", "a")
# END SOLUTION
