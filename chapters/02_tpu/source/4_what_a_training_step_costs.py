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
#     title: What a training step costs
#     minutes: 43
#     needs: [jax]
# ---

# %% [markdown]
# # What a training step costs
#
# **A chip that waits 99 % of its time.**
# A TPU v5e computes 197 TFLOP and fetches 819 GB in a second (published).
# Let it multiply one image of 4,096 numbers by weights [4096, 4096] in bfloat16.
# The arithmetic takes 0.17 µs, but fetching the weights takes 41 µs (predicted).
# What keeps it busy, and what does a whole training step cost?
#
# ## What you will be able to do
#
# - work out from which batch on memory no longer limits a layer;
# - see which operations the compiler joined, and what that saves;
# - predict images per second, and say how far to trust that;
# - find out what fits, and what chips will send each other.
#
# You need lesson 3.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Guess three numbers:
#
# 1. The chip above gets more images for the same weights.
#    From how many on does the arithmetic take as long as the traffic between memory and chip?
# 2. A training step of the course's network on a v5e: what percentage of the estimated cycles are convolutions and matrix products?
# 3. In 2018 Google trained ResNet-50 on four v2 chips, with 184 TFLOP/s (published).
#    Each image costs 24 GFLOP (compiled).
#    How many images per second does the published log show?

# %%
import jax
import numpy as np
from jax import numpy as jnp

from labkit import check, figures, hint, predict, quiz
from labkit.tpu import compile_for_tpu

# STUB:
# batch_guess = predict("tpu.critical_batch_v5e", None, "images")
# share_guess = predict("tpu.step_products", None, "%")
# speed_guess = predict("tpu.resnet50_on_v2", None, "images/s")
# BEGIN SOLUTION
batch_guess = predict("tpu.critical_batch_v5e", 240, "images")
share_guess = predict("tpu.step_products", 95, "%")
speed_guess = predict("tpu.resnet50_on_v2", 6000, "images/s")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The road of a number
#
# **HBM**, high-bandwidth memory, is large and lies beside the chip.
# **VMEM**, vector memory, is small and lies on the chip.
# The matrix units read VMEM only, and so does the **vector unit**, which does everything else.
#
# The next cell draws this road, and asks where the large arrays of our network lie in its forward pass, with 256 images.

# %% tags=["picture"]
from labkit.tpu import reports, step_pictures
from labkit.tpu.programs import CONVNET, convnet

step_pictures.road()
network = compile_for_tpu(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1", source="snapshot")
reports.places(network)

# %% [markdown]
# Of these, only images and weights lie in HBM; what one layer hands to the next stays on the chip.
#
# ### The critical batch, by hand
#
# Take a toy chip that computes 12 FLOP and fetches 2 bytes in a cycle.
# Its **ridge** is 12 / 2 = 6 FLOP per byte; a program with fewer FLOP per byte waits for memory.
#
# Let the weights be [20, 30] in bfloat16.
# Each image brings 20 numbers and takes 30 results away:
#
# ```
# weights    600 numbers, 1,200 B                600 cycles of traffic
# an image   600 multiply-adds, 1,200 FLOP       100 cycles of arithmetic
#            20 + 30 numbers, 100 B               50 cycles of traffic
# B images   100 B cycles = 600 + 50 B cycles     B = 12
# ```
#
# So 12 images are the **critical batch**: with fewer, memory is the limit.
# With weights [10, 10] an image would need 17 cycles of arithmetic and 20 of traffic, so no batch would be enough.
#
# **Exercise `tpu.critical_batch`**: the critical batch of n layers [K, N], or `np.inf` where there is none.
# Images [B, K], weights and results [B, N] cross between HBM and chip once each, while the chip computes.


# %% tags=["exercise:tpu.critical_batch"]
def critical_batch(K, N, peak, bandwidth, itemsize):
    """K [n], N [n], FLOP/s, B/s, bytes of a number -> images [n], not rounded"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    ridge = peak / bandwidth  # FLOP for each byte, = 2 / itemsize / (1/B + 1/K + 1/N)
    left = 2 / (itemsize * ridge) - 1 / K - 1 / N
    return np.where(left > 0, 1 / left, np.inf)
    # END SOLUTION


critical_batch = check("tpu.critical_batch", critical_batch)

# %% [markdown]
# Next we take the real chip, with weights [4096, 4096] and our fc1, [4096, 128].
# The picture shows the compiler's estimates for the first weights under the **roofline**, the most that peak and HBM allow.

# %% tags=["picture"]
from labkit.hardware import machine
from labkit.tpu.programs import matmul

v5e = machine("tpu_v5e")
K, N = np.array([4096, 4096]), np.array([4096, 128])
large, fc1 = critical_batch(K, N, float(v5e.rate("bf16")), float(v5e.bandwidth), 2)
print(f"critical batch: [4096, 4096] {large:.0f}, fc1 {fc1:.0f} (predicted)")
answers = {}
for B in (16, 32, 64, 128, 256, 512, 1024, 4096):
    shapes = [(B, 4096), (4096, 4096)]
    answers[B] = compile_for_tpu(matmul, shapes, "v5e:1x1", source="snapshot")
step_pictures.batch_roofline(v5e, (4096, 4096), answers, large)

# %% [markdown]
# On the right, estimates reach 97 % of the peak.
# Up to 128 images they lie above the roof, where no chip can be, so they leave something out.
# The operation `copy-start` copies the weights to VMEM beforehand, and copies have no estimate.
# **Estimated cycles are work on the chip; the road from HBM comes on top, or hides behind other work.**
# For fc1 no batch is enough: each image brings 4,096 numbers for 128 results.
#
# ### Fewer trips by fusion
#
# The result of conv2 has 8.4 MB.
# Adding the bias reads and writes all of it again, and so does ReLU: four trips for little arithmetic.
# So the compiler **fuses**: it makes one operation of several, and each number gets bias and ReLU before it is written.
# An `optimization_barrier` forbids fusion, so we can compare.

# %%
from jax.lax import optimization_barrier

from labkit.tpu.programs import conv


def together(x, w, b):
    return jax.nn.relu(conv(x, w) + b)


def apart(x, w, b):
    y = optimization_barrier(conv(x, w))
    y = optimization_barrier(y + b)
    return jax.nn.relu(y)


conv2 = [(256, 16, 16, 32), (3, 3, 32, 64), (64,)]
for layer, shapes in ((conv, conv2[:2]), (together, conv2), (apart, conv2)):
    print(layer.__name__)
    reports.operations(compile_for_tpu(layer, shapes, "v5e:1x1", source="snapshot"))

# %% [markdown]
# The fused layer takes the cycles of the convolution alone: bias and ReLU are free.
# Apart, it takes 2.8 times as many, although the arrays in between stay in VMEM.
#
# ### Images per second
#
# A step runs its operations one after the other.
# If two of them take 600 and 900 cycles at 1.5 GHz, that is 1 µs; 8 devices with 4 images each do 32 images in this time.
#
# **Exercise `tpu.throughput`**: images per second of all devices, without the exchange between them.


# %% tags=["exercise:tpu.throughput"]
def throughput(cycles, batch, devices, clock):
    """cycles [n] of a step's operations, images on each device, devices, Hz -> images per second"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    seconds = cycles.sum() / clock
    return devices * batch / seconds
    # END SOLUTION


throughput = check("tpu.throughput", throughput)

# %% [markdown]
# ## Check
#
# Google published two logs of ResNet-50 on four v2 chips: eight cores, 128 images each.
# Our step (`tools/tpu_resnet.py`) takes minutes to compile, so `recall` finds its stored answer.

# %%
from labkit.provenance import predicted
from labkit.tpu.compiler import recall
from labkit.tpu.published import DAWNBENCH

rows = [[f"8 cores of v2, {log.software}", log.speed] for log in DAWNBENCH]
for devices, batch, chip in [(8, 128, "v2"), (1, 256, "v5e"), (1, 256, "v6e")]:
    made = recall(f"ResNet-50 step of {batch} images", f"{chip}:1x1")
    rate = throughput(reports.cycles_of(made), batch, devices, made.clock)
    rows.append([f"{devices} x {chip}, ours", predicted(rate, "images/s", "cycles and clock")])
figures.table(["ResNet-50, training", "speed"], rows)

# %% [markdown]
# Our prediction for the v2 lies between the logs, 9 % above the first and 12 % below the second.
# This is luck in part: our program is not theirs, and it leaves out exchange, input, and operations without an estimate.
# A rule of thumb, tested on this pair only: trust it to a quarter.
#
# ## Measure
#
# Next comes our network's step, loss and gradients.
# Here `jvp(conv1)` means conv1's forward pass, and `transpose(jvp(conv1))` its backward pass.

# %%
from labkit.provenance import compiled, counted
from labkit.tpu.programs import convnet_loss

inputs = [CONVNET, (256, 32, 32, 3), ((256,), "int32")]
step = compile_for_tpu(jax.grad(convnet_loss), inputs, "v5e:1x1", source="snapshot")
reports.operations(step)
by_flop = counted(100 * reports.share_of_flops(256), "%", "labkit.costs")
by_cycles = reports.share_of_cycles(step, "convolution", "matmul")
by_cycles = compiled(100 * by_cycles, "%", "libtpu")
figures.table(["share of products", "in the step"], [["FLOP", by_flop], ["cycles", by_cycles]])

# %% [markdown]
# Products have nearly all FLOP, but less than half of the cycles.
# Half of them belong to four operations `reduce`, which make one number of many.
# Two are gradients of a bias: it was added to all pixels of all images, so its gradient is a **sum over all of them**.
# The two without an origin pack a bit for each number: did the ReLU let it through?
# (A convolution's cycles include its ReLU; the pools' backward pass, `select-and-scatter`, has no estimate.)
#
# ### What fits, and what is sent
#
# The compiler knows all sizes: does ResNet-50 with 1,024 images fit on one v5e?
# If four chips share a batch, what must they send each other for the gradient of fc1's weights?


# %%
from labkit.tpu.compiler import TPUOutOfMemory


def gradient(x, dy):
    """x [B, 4096], dy [B, 128] -> gradient of fc1's weights [4096, 128], a sum over B"""
    return x.T @ dy


try:
    recall("ResNet-50 step of 1024 images", "v5e:1x1")
except TPUOutOfMemory as error:
    print(error)
cut = [("devices",), ("devices",)]  # axis 0 of both arguments, the batch
shapes = [(1024, 4096), (1024, 128)]
four = compile_for_tpu(gradient, shapes, "v5e:2x2", shardings=cut, source="snapshot")
for sent in four.collectives:
    print(f"{sent.kind} of {sent.shape}: {sent.bytes:,} B, {sent.group} chips (compiled)")

# %% [markdown]
# An **all-reduce** is a sum over all chips that each of them gets.
# Nobody wrote it: the compiler put it in, since each chip saw only its own images.
# It adds in bfloat16, as our function returns that; by lesson 2's rule it should add in float32, at twice the bytes.
#
# ## Explain
#
# Your guesses stand beside the results.

# %% tags=["picture"]
batch = predicted(large, "images", "the critical batch")
figures.guesses(
    [
        ("critical batch", batch_guess, batch),
        ("share of products", share_guess, by_cycles),
        ("ResNet-50 on v2", speed_guess, DAWNBENCH[0].speed),
    ]
)

# %% [markdown]
# For the weights alone the batch would be the ridge, 241; images and results raise it to 273.
# The share of products is low because the vector unit has far less arithmetic, and packing bits is no FLOP at all.
#
# ## On trial
#
# ### <a id="C13"></a>C13 on trial
#
# > A TPU can do linear algebra only; a GPU is the general one
#
# We ask for two programs without any: sorting, and the Collatz sequence, a loop until all numbers have come down to 1.

# %%
from labkit.tpu.programs import collatz

integers = [((1024, 1024), "int32")]
rows = []
for f in (jnp.sort, collatz):
    made = compile_for_tpu(f, integers, "v5e:1x1", source="snapshot")
    kinds = sorted({op.kind for op in made.ops})
    rows.append([f.__name__, ", ".join(kinds)])
figures.table(["program", "operations on a v5e (compiled)"], rows)

# %% [markdown]
# **Verdict on C13: wrong.**
# A TensorCore also has a vector unit, for general computation, and a scalar unit, for control flow (*published* by Google).
# So it can sort and loop, and in our step such work has more cycles than the products.
# What is true: nearly all of a TPU's *peak* is for matrix products, and most of a GPU's, since it has tensor cores.
#
# ### <a id="C09"></a>C09 on trial
#
# > TPUs have higher compute density and energy efficiency than GPUs
#
# Density is peak for each mm² of the chip, its **die**, and efficiency is peak for each watt.
# Google also measured one pair's work for each joule (*published*).

# %%
reports.chips(["tpu_v2", "tpu_v3", "v100", "tpu_v4", "a100"])
reports.work_for_each_joule()

# %% [markdown]
# **Verdict on C09: holds if the pair is v4 and A100.**
# A v4 has more peak for each mm², at least 0.46 TFLOP/s against 0.38, and more for each watt.
# In both benchmarks it did 2.2 times the work for each joule; but the TPU's maker measured.
# The other pairs go both ways: a V100 has more than twice a v2's peak for each watt, but a v3 is denser than a V100.
#
# ## Recap
#
# - **The critical batch of large weights is about the ridge: 241 on a v5e.**
# - Fusion makes bias and ReLU free, but few FLOP may still be many cycles.
# - Cycles over clock *predict* a speed, perhaps within a quarter; only a clock *measures*.
#
# ### Outside
#
# `jax.jit(f).lower(x).compile()` has our bytes, `memory_analysis()`, and our FLOP, `cost_analysis()`.
# On a TPU, put `with jax.profiler.trace("log"):` around a step; then `xprof --logdir=log` shows how long each operation really took.
# We left out input, optimizer and the time of the all-reduce.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_compiled", None)
# quiz("tpu.quiz_memory", None)
# quiz("tpu.quiz_memory_bound", None)
# BEGIN SOLUTION
quiz("tpu.quiz_compiled", "d")
quiz("tpu.quiz_memory", "a")
quiz("tpu.quiz_memory_bound", "c")
# END SOLUTION
