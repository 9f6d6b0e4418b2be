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
#     title: What an accelerator can change
#     number: 3
#     minutes: 45
#     needs: [torch]
#     able: run the course's network in NumPy, count what its layers compute and move, and predict by the roofline what a faster machine gains
#     runs_on: any CPU
# ---

# %% [markdown]
# # What an accelerator can change
#
# **644 times the arithmetic.**
# <!-- holds: round(float(h200.rate("tf32")) / float(laptop.rate("fp32"))) == 644 -->
# The **tensor cores** of an H200, a large GPU, multiply matrices at 494.5 TFLOP/s (published); a laptop's processor reaches 0.768 TFLOP/s at best (predicted).
# One TFLOP is $10^{12}$ FLOP, lesson 1's additions, multiplications and comparisons.
# Does our network train 644 times as fast on the H200?
# To answer, we have to know what the network computes, and what it moves.
#
# ## What you will be able to do
#
# - run the trained network in NumPy on photographs, and agree with PyTorch on each of them;
# - count the arithmetic of a layer, and the bytes that it moves;
# - tell whether arithmetic or memory sets a layer's speed, and what a faster machine can change.
#
# You need lessons 1 and 2: fully connected layers, ReLU, and a convolution as a matrix product.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# This is the network of all four chapters.
# A **max-pool** keeps the largest number of each square of 2 x 2.
#
# | layer | maps | weights |
# |---|---|---|
# | `conv1`, 3x3, padding 1, then ReLU, then 2x2 max-pool | 3 x 32 x 32 → 32 x 16 x 16 | 32 x 3 x 3 x 3 |
# | `conv2`, 3x3, padding 1, then ReLU, then 2x2 max-pool | 32 x 16 x 16 → 64 x 8 x 8 | 64 x 32 x 3 x 3 |
# | `fc1`, fully connected, then ReLU | 4,096 → 128 | 128 x 4,096 |
# | `fc2`, fully connected | 128 → 10 | 10 x 128 |
#
# Guess three numbers in place of `None`:
#
# 1. How many multiply-adds (a product added to a sum) does the network need for one photograph?
# 2. What percentage of a training step's FLOP is in the two convolutions?
# 3. The tensor cores compute 644 times as fast as the laptop, and the H200's memory delivers 94 times as many bytes per second.
#    If both machines ran at their limits, how many times faster would the H200 run a training step of 32 photographs?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz

# STUB:
# macs_guess = predict("gpu.macs_per_image", None, "multiply-adds")
# share_guess = predict("gpu.conv_share", None, "%")
# gain_guess = predict("gpu.h200_speedup", None, "times")
# BEGIN SOLUTION
macs_guess = predict("gpu.macs_per_image", 1e6, "multiply-adds")
share_guess = predict("gpu.conv_share", 50, "%")
gain_guess = predict("gpu.h200_speedup", 500, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The whole network
#
# With lesson 2's convolution, the network takes a few lines.
# `last_right` brings our `im2col`.
# To use yours, paste the function and its `check` line from lesson 2 into a cell above this one, and run it first.

# %%
from labkit import convnet, datasets, last_right

im2col, whose = last_right("gpu.im2col")
print("The windows are cut out by", whose)


def conv2d(x, w, b):  # 3x3, padding 1: as many windows as pixels
    N, C, H, W = x.shape
    rows = im2col(x, 3, 3, 1, 1) @ w.reshape(-1, C * 9).T + b  # [N H W, K]
    return rows.reshape(N, H, W, -1).transpose(0, 3, 1, 2)


def network(x, weights):
    """photographs [N, 3, 32, 32]  ->  scores [N, 10]"""
    for name in ("conv1", "conv2"):
        x = np.maximum(conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"]), 0)
        N, K, H, W = x.shape
        x = x.reshape(N, K, H // 2, 2, W // 2, 2).max(axis=(3, 5))  # the largest of 2 x 2
    x = x.reshape(len(x), -1) @ weights["fc1.weight"].T + weights["fc1.bias"]  # [N, 128]
    return np.maximum(x, 0) @ weights["fc2.weight"].T + weights["fc2.bias"]


# %% [markdown]
# PyTorch trained the weights on 50,000 photographs of [CIFAR-10](https://www.cs.toronto.edu/~kriz/cifar.html), never on the 500 below.
# Does it agree with NumPy in every score, not only in the winning class?

# %%
import torch

from labkit.provenance import counted, predicted
from labkit_lessons.gpu.what_an_accelerator_can_change import photograph_answers

sample, weights = datasets.cifar10("sample"), convnet.load_weights()
data = sample.test
x = convnet.normalise(data.images)  # [500, 3, 32, 32], float32
scores = np.concatenate([network(part, weights) for part in np.split(x, 10)])
with torch.no_grad():
    theirs = convnet.torch_model(weights)(torch.tensor(x)).numpy()
answers = scores.argmax(axis=1)
accuracy = 100 * np.mean(answers == data.labels)
print("Same class as PyTorch:", np.sum(answers == theirs.argmax(axis=1)), "of", len(x))
print("All 5,000 scores within 0.001:", np.abs(scores - theirs).max() < 1e-3)
print("Accuracy:", counted(accuracy, "%", "comparing 500 labels"))
photograph_answers.show(sample, answers, range(112, 128))

# %% [markdown]
# **The NumPy network and PyTorch agree.**
# <!-- holds: np.sum(answers == theirs.argmax(axis=1)) == len(x) -->
# <!-- holds: np.abs(scores - theirs).max() < 0.001 -->
# The answers framed in orange are wrong, in both.
# <!-- holds: np.sum(answers[112:128] != data.labels[112:128]) > 0 -->
#
# ### What a layer costs
#
# A layer computes, and it moves numbers between memory and processor.
# Take a convolution of one image of 3 x 3 pixels with one kernel of 2 x 2, all in float32, which has 4 bytes per number:
#
# ```
# outputs              2 x 2 = 4
# multiply-adds each   2 x 2 = 4
# FLOP                 2 x 4 x 4 = 32
#
# numbers moved        9 of x, 4 of w, 1 of b, 4 of y = 18
# bytes                4 x 18 = 72
# ```
#
# A multiply-add is 2 FLOP.
# The sum begins with the bias, so that costs nothing.
# We assume that each array is read or written once: nothing is fetched twice, and nothing is kept from layer to layer.
# FLOP divided by bytes is the **arithmetic intensity**, here $32 / 72 = 0.44$ FLOP per byte.
#
# **Exercise `gpu.layer_cost`**: the FLOP and the bytes of any such layer, forwards, from its arrays.
# Their numbers may have 2, 4 or 8 bytes.
# In this lesson's exercises, use Python and NumPy alone, and not labkit's own functions.


# %% tags=["exercise:gpu.layer_cost"]
def layer_cost(x, w, b, y):
    """x [N, C, H, W], w [K, C, R, S], b [K], y [N, K, P, Q]  ->  FLOP, bytes: whole numbers"""
    # STUB:
    # flops = 0
    # moved = 0
    # BEGIN SOLUTION
    flops = 2 * y.size * w[0].size
    moved = x.nbytes + w.nbytes + b.nbytes + y.nbytes
    # END SOLUTION
    return flops, moved


layer_cost = check("gpu.layer_cost", layer_cost)

# %% [markdown]
# ### The roofline
#
# How long does a layer take at least?
# A machine computes at most `peak` FLOP per second, and moves at most `bandwidth` bytes per second.
# It can do both at once, so a layer takes the longer of the two.
# Take a machine with 100 FLOP/s and 10 B/s, and two layers that run one after the other:
#
# | | FLOP | bytes | computes | moves | takes at least |
# |---|---|---|---|---|---|
# | layer A | 1,000 | 50 | 1,000 / 100 = 10 s | 50 / 10 = 5 s | 10 s |
# | layer B | 20 | 200 | 20 / 100 = 0.2 s | 200 / 10 = 20 s | 20 s |
#
# Together they take at least 30 s.
# A has 20 FLOP per byte and waits for arithmetic, B has 0.1 and waits for memory.
# Between them, at peak / bandwidth = 10 FLOP per byte, lies the machine's **ridge**, where both take equally long.
# This way to find the least time is called the **roofline**.
#
# **Exercise `gpu.least_time`**: the least time of layers that run one after the other.


# %% tags=["exercise:gpu.least_time"]
def least_time(flops, moved, peak, bandwidth):
    """FLOP [L] and bytes [L] of L layers, FLOP/s, B/s  ->  seconds, one number"""
    # STUB:
    # seconds = None
    # BEGIN SOLUTION
    seconds = np.sum(np.maximum(flops / peak, moved / bandwidth))
    # END SOLUTION
    return seconds


least_time = check("gpu.least_time", least_time)

# %% [markdown]
# ## Check
#
# For a training step of 32 photographs, labkit's `layer_costs` counts every layer by the same rules, forwards and backwards.
# Does your function agree with it on `conv2` forwards?

# %%
costs = {layer.name: layer for layer in convnet.layer_costs(batch=32)}

maps = np.zeros((32, 32, 16, 16), np.float32)  # what conv2 gets: [N, C, H, W]
outputs = np.zeros((32, 64, 16, 16), np.float32)
flops, moved = layer_cost(maps, weights["conv2.weight"], weights["conv2.bias"], outputs)
forward = costs["conv2"].operations[0]
print("FLOP agree: ", flops == forward.flops)
print("bytes agree:", moved == forward.bytes_read + forward.bytes_written)

rows = [[name, cost.flops, cost.bytes, cost.intensity] for name, cost in costs.items()]
figures.table(["layer", "arithmetic", "moves", "intensity"], rows)

macs = 32 * 32 * 32 * 27 + 64 * 16 * 16 * 288 + 128 * 4096 + 10 * 128  # outputs x multiply-adds
in_layers = {name: float(cost.flops) for name, cost in costs.items()}
share = 100 * (in_layers["conv1"] + in_layers["conv2"]) / sum(in_layers.values())
known = [("multiply-adds", macs_guess, counted(macs, "multiply-adds", "the layers' shapes"))]
known.append(("convolutions", share_guess, counted(share, "%", "the table")))

# %% [markdown]
# A row holds all that a step does in the layer, forwards and backwards.
# The row `loss` compares the scores with the labels and makes the first `dy`, and the row `sgd` moves the weights.
#
# **`conv2` does more than 900 times as much arithmetic per byte as ReLU.**
# <!-- holds: [flops, moved] == [forward.flops, forward.bytes_read + forward.bytes_written] -->
# <!-- holds: 900 < costs["conv2"].intensity.value / costs["relu1"].intensity.value < 950 -->
# `conv2` makes lesson 2's three sums, and `conv1` two, for nobody moves the photograph.
# <!-- holds: [len(costs[name].operations) for name in ("conv1", "conv2")] == [2, 3] -->
# A ReLU does 2 FLOP for 20 bytes, since it reads x and writes y, then reads y and dy and writes dx.
#
# ## Measure
#
# How near does your machine come to its roofline?
# The next cell measures its peak (a large product or convolution) and its bandwidth (a large copy), then how fast PyTorch runs four layers, forwards and backwards, and then peak and bandwidth again.
# It keeps the higher peak and the higher bandwidth of the two, and if a layer is faster than that peak, the layer's rate is the peak.
# In the picture, the **roof** is the largest rate that a layer of each intensity can reach: on the slope it waits for memory, and on the flat part, right of the ridge, for arithmetic.

# %% tags=["timing", "picture", "nbval-ignore-output"]
from labkit import hardware
from labkit_lessons.gpu.what_an_accelerator_can_change import layer_speeds

before = hardware.measure_this_machine()
rates = layer_speeds.measure_layers(costs)
after = hardware.measure_this_machine()
here, reached_by = layer_speeds.highest_roof(before, after, rates)
figures.roofline(here, {name: costs[name].intensity for name in rates}, rates)
print("peak:", here.peak["fp32"], "reached by a", reached_by)
print("bandwidth:", here.bandwidth)

# %% [markdown]
# A filled mark below the roof: the time went elsewhere, such as into starting the work, fetching fresh memory from the system, or other programs.
# A mark above the slope: its data stayed in the cache, so fewer bytes moved than we count, or other programs slowed both copies.
#
# ## Explain
#
# Now compare three machines: a laptop, the T4 that Colab lends for free, and an H200.
# For numbers in float32, an H200 has two peaks: that of its ordinary units, and that of its tensor cores, which first round the numbers to 11 significant bits, where float32 has 24.
# This format is called TF32; a T4 does not have it.

# %%
laptop, t4, h200 = [hardware.machine(key) for key in ("laptop_cpu", "t4", "h200")]
rows = []
for machine in (laptop, t4, h200):
    ridge = predicted(machine.ridge("fp32"), "FLOP/B", "peak / bandwidth")
    rows.append([machine.name, machine.rate("fp32"), machine.bandwidth, ridge])
ridge = predicted(h200.ridge("tf32"), "FLOP/B", "peak / bandwidth")
rows.append(["the same, in TF32", h200.rate("tf32"), h200.bandwidth, ridge])
note = "The last peak is 494.5 TFLOP/s, before rounding."
figures.table(["machine", "peak", "bandwidth", "ridge"], rows, note)

# %% [markdown]
# Your own machine's ridge, in the picture above, may lie elsewhere.
# Both `conv1` and `fc1` have fewer than 13 FLOP per byte, so they lie left of all these ridges, and `relu1` does by far.
# <!-- holds: max(costs[name].intensity.value for name in ("conv1", "relu1", "fc1")) < 13 < min(h200.ridge("fp32"), laptop.ridge("fp32"), t4.ridge("fp32")) -->
# Only `conv2`, at 94, lies right of the ridges in float32.
# <!-- holds: round(costs["conv2"].intensity.value) == 94 > t4.ridge("fp32") -->
# What does your `least_time` make of that?
# The picture below the table is the roofline of the H200 in TF32.


# %% tags=["picture"]
def seconds(machine, number_format, names):
    flops = np.array([float(costs[name].flops) for name in names])
    moved = np.array([float(costs[name].bytes) for name in names])
    return least_time(flops, moved, float(machine.rate(number_format)), float(machine.bandwidth))


gpus = [(t4, "fp32"), (h200, "fp32"), (h200, "tf32")]
rows = []
for name in ("conv1", "relu1", "conv2", "fc1"):
    on_laptop = seconds(laptop, "fp32", [name])
    row = [name]
    for machine, number_format in gpus:
        gain = on_laptop / seconds(machine, number_format, [name])
        row.append(predicted(gain, "times", "the roofline"))
    rows.append(row)
figures.table(["layer gains over the laptop", "T4", "H200", "H200 in TF32"], rows)
figures.roofline(h200, {name: costs[name].intensity for name in rates}, number_format="tf32")

# %% [markdown]
# **A layer left of the ridge on both machines gains the ratio of their bandwidths, one right of it the ratio of their peaks.**
# <!-- holds: abs(float(rows[1][2]) - 4800 / 51.2) < 0.1 and abs(float(rows[2][2]) - 67 / 0.768) < 0.1 -->
# From the laptop to the H200, the bandwidths are $4{,}800 / 51.2 = 94$ times apart, and the peaks in float32 $67 / 0.768 = 87$ times.
# In TF32 the ridge moves to 103, and `conv2` comes to lie left of it, as the picture shows: it gains 587 times instead of 644.
# <!-- holds: round(h200.ridge("tf32")) == 103 > costs["conv2"].intensity.value -->
# <!-- holds: round(float(rows[2][3])) == 587 -->
# The other layers gain nothing from the tensor cores.
# <!-- holds: [float(row[2]) for row in (rows[0], rows[1], rows[3])] == [float(row[3]) for row in (rows[0], rows[1], rows[3])] -->
#
# ## On trial
#
# ### <a id="C25"></a>C25 on trial
#
# > Hardware acceleration makes training tens of times faster
#
# We add up the whole step, and look which share of its time `conv2` takes.
# Below the table, your guesses meet their results.

# %% tags=["picture"]
whole = seconds(laptop, "fp32", costs)
rows = []
for title, machine, number_format in [
    ("laptop", laptop, "fp32"),
    ("T4", t4, "fp32"),
    ("H200", h200, "fp32"),
    ("H200 in TF32", h200, "tf32"),
]:
    step = seconds(machine, number_format, costs)
    gain = predicted(whole / step, "times", "the roofline")
    in_conv2 = 100 * seconds(machine, number_format, ["conv2"]) / step
    in_conv2 = predicted(in_conv2, "%", "the roofline")
    rows.append([title, predicted(step, "s", "the roofline"), gain, in_conv2])
figures.table(["machine", "a step", "gain", "of its time in conv2"], rows)
figures.guesses([("H200 in TF32", gain_guess, rows[3][2]), *known])

# %% [markdown]
# **Verdict on C25: holds if a large GPU replaces a laptop's processor, and both come near their roofs.**
# For this step in float32, the roofline predicts about 90 times for an H200, and for a T4 only 8.
# <!-- holds: 88 < float(rows[2][2]) < 92 and round(float(rows[1][2])) == 8 -->
# These are predictions; no GPU was measured here ([what a GPU says](measured.md)).
# Against slow code any factor appears, as it did between lesson 2's loops and product on one processor.
#
# And the tensor cores, with 644 times the arithmetic?
# The roofline predicts about 150 times.
# <!-- holds: 148 < float(rows[3][2]) < 152 -->
# Of the step's arithmetic, `conv2` has 80 %, but of the laptop's least time only 44 %: **more than half of that time moves bytes.**
# <!-- holds: round(100 * costs["conv2"].flops.value / sum(cost.flops.value for cost in costs.values())) == 80 -->
# <!-- holds: round(float(rows[0][3])) == 44 -->
# That part gains only 94 times.
# On the H200 in TF32, `conv2` takes only 11 % of the step.
# <!-- holds: round(float(rows[3][3])) == 11 -->
# Every layer now lies left of the ridge: still faster arithmetic would gain nothing.
# <!-- holds: max(cost.intensity.value for cost in costs.values()) < h200.ridge("tf32") -->
#
# ### Outside
#
# PyTorch counts FLOP for you, and NVIDIA's profiler Nsight Compute draws the roofline with each kernel on it, from counters of the GPU:
#
# ```
# from torch.utils.flop_counter import FlopCounterMode
# with FlopCounterMode(display=False) as counter:
#     model(images)
# print(counter.get_total_flops())
#
# ncu --set roofline python my_script.py
# ```
#
# For one photograph, PyTorch says 12,257,792, twice our multiply-adds.
# <!-- holds: 2 * macs == 12_257_792 -->
# We left out what caches save, the copies between processor and GPU (lesson 12), and the time to start a kernel.
#
# ## Recap
#
# - A layer takes the longer of two times: its FLOP by the peak, and its bytes by the bandwidth.
# - **Keep this rule: with fewer FLOP per byte than the ridge, only bandwidth helps; the ridge of an H200 is 14 in float32 and 103 in TF32, a ReLU has 0.1.**
#   <!-- holds: [round(h200.ridge("fp32")), round(h200.ridge("tf32"))] == [14, 103] and round(costs["relu1"].intensity.value, 1) == 0.1 -->
# - Where most of the arithmetic is, need not be where most of the time goes.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_bound", None)
# quiz("gpu.quiz_two_machines", None)
# quiz("gpu.quiz_one_image", None)
# BEGIN SOLUTION
quiz("gpu.quiz_bound", "b")
quiz("gpu.quiz_two_machines", "b")
quiz("gpu.quiz_one_image", "c")
# END SOLUTION
