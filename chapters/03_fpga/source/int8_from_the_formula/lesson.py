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
#     number: 1
#     minutes: 55
#     needs: []
#     able: find the layers that are worth building; turn a layer into integers; prove that no image overflows a sum
#     runs_on: any CPU
# ---

# %% [markdown]
# # int8 from the formula
#
# **2.18 MB of weights, but only 0.645 MB of block RAM on the chip.**
# <!-- holds: round(4 * sum(stored.values()) / 1e6, 2) == 2.18 and round(on_chip / 1e6, 3) == 0.645 -->
# The weights are those of the course's network in float32, and the chip is the FPGA of a Pynq-Z1 board (published).
# An **FPGA** is a chip full of small parts that can be wired to any circuit: you describe it, and a tool finds the wiring.
#
# So the weights must lie in a memory outside.
# If images come one by one, reading all weights at 2.1 GB/s takes 1.04 ms for each image (predicted).
# Yet the FPGA's 220 multipliers could finish an image in 0.28 ms, if each made 100 million products per second without a pause (predicted).
# Can the network live on the FPGA, and what would it lose?
#
# ## What you will be able to do
#
# - find the layers that are worth building;
# - turn a layer into integers;
# - prove that no image can overflow a sum.
#
# You need [convolutions](../01_gpu/2_convolutions.ipynb), but no hardware design.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# A weight takes fewer bytes as an integer.
# An **int8** is an integer with 8 bits, from -128 to 127.
# It can stand for a real number if we agree on what one step is worth: this is the **scale**.
# Let it be 0.005:
#
# ```
# numbers      0.123    -0.300   0.700
# in steps     24.6     -60      140     number / scale
# integers     25       -60      127     the nearest that fit
# stand for    0.125    -0.300   0.635   integer x scale
# ```
#
# **Exercise `fpga.to_integer`**: the integers, in one line; write it in place of `None`, and run the cell.
# Whole numbers that are held in floats will do.
# `np.round` rounds, and `np.clip(q, low, high)` limits.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return; use no other library.
# Stuck?
# Run `hint("fpga.to_integer")` in a new cell.
# `check` gives back your function if it is right, else ours, so every cell below runs.


# %% tags=["exercise:fpga.to_integer"]
import numpy as np

from labkit import check, hint


def to_integer(x, scale):
    """real numbers x [n], and the scale -> integers q [n], from -128 to 127"""
    # STUB:
    # q = None
    # BEGIN SOLUTION
    q = np.clip(np.round(x / scale), -128, 127)
    # END SOLUTION
    return q


to_integer = check("fpga.to_integer", to_integer)

# %% [markdown]
# The third number did not fit: its integer stands for 0.635 and not for 0.7, and the first is a little off.
# What will such errors do to a network?
#
# ## Predict
#
# We will turn the network's weights and the inputs of its layers into int8.
# Each output then begins as a sum: a bias plus products of integers.
# The part of a circuit that adds them up is the **accumulator**.

# %%
from labkit import convnet, figures, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import quantize
from labkit.provenance import counted, predicted
from labkit_lessons.fpga.int8_from_the_formula import accuracy, pictures
from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits
from labkit_lessons.fpga.int8_from_the_formula.sigma_table import SigmaTable

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
# Of the parts of the Pynq-Z1's FPGA, an XC7Z020, we use four kinds (published, AMD DS190):
#
# | part | what one of them does | on the chip |
# |---|---|---|
# | **LUT** | turns 6 bits into 1, by any table that you choose | 53,200 |
# | **flip-flop** | remembers 1 bit | 106,400 |
# | **DSP** | multiplies a 25-bit integer by an 18-bit one, and can add the product to a sum | 220 |
# | **block RAM** | stores 36 kbit: 4,096 bytes, and a ninth bit beside each | 140 |
#
# Here, DSPs do the multiply-adds, and block RAM holds the weights.
# (LUTs can do both, but it takes many of them.)
# How much of each does a layer need?

# %% tags=["picture"]
weights = convnet.load_weights()
layers = {layer.name: layer for layer in convnet.LAYERS if layer.parameters}
work, stored = {}, {}
for name, layer in layers.items():
    w = weights[f"{name}.weight"]
    outputs = np.prod(layer.output_shape)
    products = w[0].size  # in each output: one for each weight of its channel
    work[name] = outputs * products
    stored[name] = layer.parameters
pictures.shares({"multiply-adds": work, "weights": stored})
rows = [[name, work[name], 4 * stored[name], stored[name]] for name in layers]
rows.append(["all", sum(work.values()), 4 * sum(stored.values()), sum(stored.values())])
heads = ["layer", "multiply-adds", "bytes in float32", "bytes in int8"]
figures.table(
    heads, rows, "Counted for one image. Biases are included; in int8, they take a byte here, too."
)

# %% [markdown]
# Compare the two bars.
#
# **conv2 does 77 % of the multiply-adds, so a circuit for convolutions is worth building; fc1 holds 96 % of the weights, so its bytes decide what fits.**
# <!-- holds: round(100 * work["conv2"] / sum(work.values())) == 77 -->
# <!-- holds: round(100 * stored["fc1"] / sum(stored.values())) == 96 -->
#
# With a byte for each, all weights take 0.55 MB and fit.
# <!-- holds: sum(stored.values()) < 140 * 4608 -->
#
# ### A weight in a byte
#
# Which scale is best?
# A small one, because its steps are fine; but all weights must fit.
# Take an output channel with three weights:
#
# ```
# weights     0.635   -0.300   0.123
# scale       0.635 / 127 = 0.005      the largest magnitude
#                                      becomes 127
# in steps    127     -60      24.6    weight / scale
# integers    127     -60      25      rounded to the nearest
# stand for   0.635   -0.300   0.125   integer x scale
# ```
#
# No weight is off by more than half a step.
# Another channel's weights may be much smaller, so each output channel gets a scale of its own.
#
# **Exercise `fpga.quantize_weights`**: compute the integers and the scales for a matrix with one row per output channel.
# Written in NumPy, `to_integer` takes a whole matrix, too, with its scales as a column: `scale[:, None]`.


# %% tags=["exercise:fpga.quantize_weights"]
def quantize_weights(w):
    """real weights w [K, D], no row all 0 -> integers q [K, D] int8, scale [K]"""
    # STUB:
    # q = np.zeros(w.shape, np.int8)
    # scale = np.zeros(len(w))
    # BEGIN SOLUTION
    scale = np.abs(w).max(axis=1) / 127
    q = to_integer(w, scale[:, None]).astype(np.int8)  # [K, 1]: each row has its own scale
    # END SOLUTION
    return q, scale


quantize_weights = check("fpga.quantize_weights", quantize_weights)

# %% [markdown]
# ### A sum of integers
#
# A layer computes $y = \sigma(w^T x + b)$, where $\sigma$ is ReLU in our network.
# Let the integers $q_w$ and $q_x$ stand for the weights and the inputs, with the scales $s_w$ and $s_x$.
# All products in a sum contain the factor $s_w s_x$, so we need it only once, after the sum:
#
# $$\sum_i w_i x_i = s_w s_x \sum_i q_{wi}\, q_{xi}$$
#
# In the example, the inputs have the scale 0.01, and the bias is 0.1:
#
# ```
# inputs        0.80    0.50    -0.20
# integers      80      50      -20      input / 0.01
# step of sum   0.005 x 0.01 = 0.00005   scale of w x scale of x
# bias          0.1 / 0.00005 = 2,000
# sum           2,000 + 127 x 80 - 60 x 50 + 25 x (-20) = 8,660
# stands for    8,660 x 0.00005 = 0.433  in real numbers: 0.4334
# ```
#
# How wide must the accumulator be?
# We know the weights and the bias, but each input may be anything from -128 to 127.
# The sum is largest when every input makes its own product as large as possible:
#
# ```
# largest    2,000 + 127 x 127    + (-60) x (-128) + 25 x 127
#            =  28,984
# smallest   2,000 + 127 x (-128) + (-60) x 127    + 25 x (-128)
#            = -25,076
#
# 16 bits hold -32,768 to 32,767, so both of them fit;
# 15 bits hold half as much
# ```
#
# If the bias comes first, an incomplete sum stays between these ends, too: its other inputs could all be 0.
#
# **Exercise `fpga.accumulator_bits`**: return the least width that serves all channels of a layer, for inputs from `low` to `high`.
# `signed_bits(i, j)` returns how many bits a signed number needs to hold `i` as well as `j`.


# %% tags=["exercise:fpga.accumulator_bits"]
def accumulator_bits(w, b, low, high):
    """integers w [K, D], b [K]; each input lies from low to high, low <= 0 <= high -> bits"""
    # STUB:
    # bits = 0
    # BEGIN SOLUTION
    smallest = b + np.minimum(w * low, w * high).sum(axis=1)
    largest = b + np.maximum(w * low, w * high).sum(axis=1)
    bits = signed_bits(smallest.min(), largest.max())
    # END SOLUTION
    return bits


accumulator_bits = check("fpga.accumulator_bits", accumulator_bits)

# %% [markdown]
# ### Back to a byte
#
# The sum is too wide for the next layer, which reads int8.
# In the example, the output has the scale 0.02, so the sum 8,660 should become $0.433 / 0.02 = 21.65$, rounded to 22.
# Bringing a sum to the scale of the output is called **requantisation**.
#
# To change scales, we multiply the sum by $0.00005 / 0.02 = 0.0025$, but the circuit has only integers.
# So we write the factor as an integer over a power of two.
# Dividing by $2^{16}$ is a **shift**: it drops the last 16 binary digits, which costs a circuit nothing.
#
# | step | in the example | remark |
# |---|---|---|
# | factor | 0.0025 is nearly $164 / 2^{16}$ | multiplier $m = 164$, shift = 16 |
# | product | 8,660 x 164 = 1,420,240 | |
# | plus half | 1,420,240 + $2^{15}$ = 1,453,008 | half of $2^{16}$, so that the shift rounds |
# | shifted | 1,453,008 >> 16 = 22 | 22.17 without its fraction |
# | clamped | 22 | below -128 becomes -128, above 127 becomes 127 |
# | stands for | 22 x 0.02 = 0.44 | |
#
# The added half makes the shift round to the nearest integer, exact halves up.
# The **clamp** keeps the result in an int8; if its lower end `low` is 0 instead of -128, it is the ReLU as well.
#
# A real layer takes the largest shift that leaves each $m$ below $2^{16}$, because a larger $m$ comes closer to its factor.
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
# `quantize` does all this for the network; only fc2 has one scale for all its weights, because its ten sums are compared as they are.
# It chooses output scales with which 99.999 % of the values from 500 training images fit, and the clamp limits the rest.
# The integer network that it returns is our **golden model**: later circuits must agree with it in every bit.
# Do your functions agree with its layer fc1?

# %%
data = cifar10("sample")
golden = quantize(weights, data.train.images[:500])
fc1 = golden.layer("fc1")
few = golden.activations(data.test.images[:50])  # every tensor on the way
q, scale = quantize_weights(weights["fc1.weight"].astype(float))
y = requantize(few["fc1"], fc1.multiplier, fc1.shift, low=0)  # fc1's sums
print("weights agree:", np.array_equal(q, fc1.weights))
print("outputs agree:", np.array_equal(y, few["relu3"]))

# %% [markdown]
# ## Measure
#
# ### Bits
#
# In the real network, only conv1 reads numbers of both signs; the other layers read the output of a ReLU, from 0 to 127.

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
heads = ["layer", "products in a sum", "bits for any int8", "bits needed"]
figures.table(heads, rows, "Predicted by bounds that hold for every image.")

# %% [markdown]
# Look at fc1, which needs the widest sum.
# For any weights and inputs it would take 28 bits, but here 25 are enough.
# <!-- holds: bits["fc1"] == max(bits.values()) == 25 -->
# <!-- holds: signed_bits(-4096 * 128 * 128, 4096 * 128 * 128) == 28 -->
# A DSP multiplies 25 bits by 18, and every $m$ is below $2^{16}$.
#
# **Because the bound knows the weights, one DSP is enough to multiply any sum by its $m$.**
# <!-- holds: max(bits.values()) <= 25 < 28 -->
# <!-- holds: max(np.max(layer.multiplier) for layer in golden.layers if layer.multiplier is not None) < 2**16 -->
#
# ### Accuracy
#
# Now the whole network runs in integers.
# The table's second row is from the log of a longer run.

# %%
images, labels = data.test.images, data.test.labels
by_float = accuracy.float_classes(weights, images)
by_int8 = golden.predict(images)
changed = by_float != by_int8
float_right = by_float == labels
int8_right = by_int8 == labels
rows = [["this run", len(labels), sum(float_right), sum(int8_right)]]
rows.append(["logged", *accuracy.logged()])
figures.table(
    ["", "test images", "float32 right", "int8 right"],
    rows,
    "Counted. The log was written by tools/quantize_convnet.py.",
)
print(sum(changed), "classes changed.")
print("Of these, right in float32:", sum(changed & float_right))
print("Of these, right in int8:", sum(changed & int8_right))

# %% [markdown]
# Of the five classes that changed, three had been right, and two became right.
# <!-- holds: [sum(changed), sum(changed & float_right), sum(changed & int8_right)] == [5, 3, 2] -->
# So 1 % of the classes change, in both directions.
# <!-- holds: sum(changed) == 0.01 * len(labels) -->
#
# **On all 10,000 test images, int8 loses 9 right answers, which may be chance.**
# <!-- holds: rows[1][2] - rows[1][3] == 9 and rows[1][1] == 10_000 -->
#
# ### Another sigma
#
# What if a network needs $\sigma(x) = 1 / (1 + e^{-x})$?
# A circuit can look it up: in a table of 2,048 bytes for $x$ from -8 to 8, the entries are $16 / 2048 = 1/128$ apart.
# If $x$ comes in steps of 1/256, two neighbours share an entry, which holds $\sigma$ of the point halfway between them, 1/512 from each.
# The slope of $\sigma$ is at most 1/4, so sharing adds at most $1/4 \cdot 1/512 = 0.0005$ to the error.
# Rounding to a byte, in 255 steps from 0 to 1, adds at most half a step, $0.5 / 255 = 0.0020$.

# %% tags=["picture"]
table = SigmaTable(entries=2048)
pictures.sigma(SigmaTable(entries=32), table)

# %% [markdown]
# On the left, a table of 32 entries shows the steps.
# On the right, no error crosses the dashed bound, $0.0005 + 0.0020$.
# <!-- holds: table.error_bound < 0.0005 + 0.0020 -->
#
# **Half of one block RAM holds a sigma that is right to within 0.0025 for these inputs.**
# <!-- holds: table.entries == 4096 / 2 and table.error_bound < 0.0025 -->
#
# ## Explain
#
# How good were your guesses, and what do the weights take now?

# %% tags=["picture"]
images_result = counted(sum(changed), "images", "the golden model")
bits_result = predicted(bits["conv2"], "bit", "interval bounds")
rows = [("classes changed", changed_guess, images_result)]
rows.append(("conv2's accumulator", bits_guess, bits_result))
figures.guesses(rows)

on_chip = 140 * 4608  # bytes in 140 block RAMs
in_int8 = sum(array.nbytes for array in golden.weights.values())  # biases are int32
rows = []
for name, size in {"float32": 4 * sum(stored.values()), "int8": in_int8}.items():
    rows.append([name, size / 1e6, 100 * size / on_chip])
figures.table(["weights in", "MB", "% of the block RAM"], rows, "Counted.")

# %% [markdown]
# The accumulator of conv2 needs 21 bits instead of 24: two are saved by knowing its weights, and one more by knowing that no input is negative.
# <!-- holds: bits["conv2"] == 21 == signed_bits(-288 * 128 * 128, 288 * 128 * 128) - 3 -->
#
# Can the network live on the FPGA?
# In int8, its weights and biases fill 85 % of the block RAM, or 95 % if the ninth bits stay unused.
# <!-- holds: round(100 * in_int8 / on_chip) == 85 and round(100 * in_int8 / (140 * 4096)) == 95 -->
# Even then, 27.6 kB are left for the numbers between layers, at most 8,192 bytes after pooling.
# <!-- holds: round((140 * 4096 - in_int8) / 1000, 1) == 27.6 -->
# **So the weights can stay on the chip, and the network loses 9 right answers in 10,000.**
# <!-- holds: in_int8 < 140 * 4096 -->
# <!-- holds: accuracy.logged()[1] - accuracy.logged()[2] == 9 -->
# A circuit that keeps them there need not read them again for each image.
# Not every circuit does: that of lesson 5 still reads fc1's weights from the memory for each image, and lesson 6 asks what it costs to keep them.
# In int8, reading all weights and biases at 2.1 GB/s would take 0.26 ms (predicted), a quarter of the 1.04 ms.
# <!-- holds: round(in_int8 / 2.1e6, 2) == 0.26 and round(4 * sum(stored.values()) / 2.1e6, 2) == 1.04 -->
#
# ## On trial
#
# The chapter's claim is about speed, so lesson 4 tries it, when our circuits have a clock.
#
# ## Recap
#
# **The rule to keep: a sum of $D$ int8 products fits into $16 + \log_2 D$ bits, rounded down.**
# <!-- holds: signed_bits(-576 * 128 * 128, 576 * 128 * 128) == 25 == 16 + int(np.log2(576)) -->
#
# Take a 3 x 3 convolution that reads 64 channels and has no bias.
# Its sums have $9 \cdot 64 = 576$ products, and $\log_2 576$ is 9.2.
# So 25 bits hold every sum whatever the weights are, and one DSP can still multiply it by $m$.
#
# ### Outside
#
# In ONNX Runtime, `quantize_static("model.onnx", "int8.onnx", reader, per_channel=True)` chooses scales from the images of a `reader`: this is post-training quantisation.
# Brevitas trains networks for even fewer bits.
# We left out zero points, with which another integer stands for 0.
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
