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
#     minutes: 45
#     needs: [jax]
# ---

# %% [markdown]
# # What a training step costs
#
# **A chip that waits 99 % of its time.**
# A TPU v5e computes 197 TFLOP and fetches 819 GB in a second (published).
# Now give it a single image, 4,096 numbers, and let it multiply them by weights [4096, 4096] in bfloat16.
# The arithmetic takes 0.17 µs, but fetching the weights takes 41 µs (predicted).
# So what keeps such a chip busy, and what does a whole training step cost on it?
# The compiler of lesson 3 tells you before you rent one.
#
# ## What you will be able to do
#
# - work out from which batch on a layer is limited by arithmetic and no longer by memory;
# - see in a compiled program which operations were joined, and what that saves;
# - predict images per second, and say how far to trust the prediction;
# - find out before anything runs whether a step fits, and what chips will send each other.
#
# You need lesson 3: `compile_for_tpu`, the matrix units (MXU), and the word *compiled*.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Guess three numbers before you read on:
#
# 1. The chip above multiplies more and more images by the same weights.
#    From how many images on does the arithmetic take as long as the traffic between memory and chip?
# 2. One training step of the course's network, with 256 images on a v5e: what percentage of the estimated cycles are convolutions and matrix products?
#    The rest is ReLU, pools, sums and the loss.
# 3. In 2018 Google trained ResNet-50 on four v2 chips, and published the log.
#    Together they have 184 TFLOP/s (published), and a training step costs 24 GFLOP for each image (compiled).
#    How many images per second were trained?

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
# A TPU has two memories.
# **HBM**, high-bandwidth memory, is large and lies beside the chip.
# **VMEM**, vector memory, is small and lies on the chip.
# The matrix units read VMEM only, and so does the **vector unit**, which does everything that is no matrix product.
# The next cell draws the road from one to the other (published, VMEM in *How to Scale Your Model*).
# Below it stand the large arrays of the course's network, forward, with 256 images: where has the compiler put each?
# (`source="snapshot"` takes the stored answers of one compiler, so that your numbers are ours.)

# %% tags=["picture"]
from labkit.tpu import reports, step_pictures
from labkit.tpu.programs import CONVNET, convnet

step_pictures.road()
network = compile_for_tpu(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1", source="snapshot")
reports.places(network)

# %% [markdown]
# Of these, only the images and the weights lie in HBM.
# What one layer hands to the next never leaves the chip.
#
# ### The critical batch, by hand
#
# Take a toy chip that computes 12 FLOP and fetches 2 bytes in a cycle.
# Its **ridge** is 12 / 2 = 6 FLOP per byte: a program with fewer waits for memory.
#
# Let the weights be [20, 30] in bfloat16.
# These are 600 numbers, so fetching them takes 1,200 / 2 = 600 cycles.
# Each image costs 600 multiply-adds, 1,200 FLOP, which take 100 cycles.
# If only the weights travelled, 6 images would be enough to keep the chip busy.
# But each image also brings 20 numbers and takes 30 results away, 100 bytes, 50 cycles.
# For B images the arithmetic takes 100 B cycles, and the traffic takes 600 + 50 B.
# Both are equal at B = 12.
# This is the **critical batch**: with fewer images the memory is the limit.
#
# With weights [10, 10] an image would need 17 cycles of arithmetic and 20 of traffic.
# Then no batch is large enough.
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
# Now the real chip: your function works out two layers, weights [4096, 4096] and our fc1 [4096, 128].
# For the first, the compiler also estimates some batches.
# The picture shows them under the **roofline**, the most FLOP per second that peak and HBM allow.

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
# On the right the estimates reach 97 % of the peak.
# On the left they lie far above the roof, where no chip can be, so they must leave something out.
# The compiled program shows what: it copies the weights to VMEM beforehand with an operation `copy-start`, and copies have no estimate.
# **Estimated cycles are work on the chip; the road from HBM comes on top, or is hidden behind other work.**
# For fc1 no batch is large enough, because each image brings 4,096 numbers for only 128 results.
# In our network they lie in VMEM already.
#
# ### Fewer trips by fusion
#
# The result of conv2, [256, 16, 16, 64], has 8.4 MB.
# An operation that adds the bias reads these 8.4 MB and writes them again, and a ReLU does so once more.
# These are four trips of 8.4 MB for very little arithmetic.
# So the compiler **fuses**: it makes one operation of several, and each number gets its bias and its ReLU before it is written.
# An `optimization_barrier` forbids that, and lets us compare.

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
# The fused layer takes exactly the cycles of the convolution alone, so bias and ReLU cost nothing more.
# Apart, the layer takes 2.8 times as many, although the compiler keeps what lies between its operations in VMEM.
#
# ### Images per second
#
# A step runs its operations one after the other.
# Suppose they take 600 and 900 cycles at 1.5 GHz: together that is 1 µs.
# If 8 devices do this, each with 4 images of its own, 32 images are done in 1 µs, 32 million in a second.
#
# **Exercise `tpu.throughput`**: images per second, where each device has a `batch` of its own.
# The exchange between the devices is left out.


# %% tags=["exercise:tpu.throughput"]
def throughput(cycles, batch, devices, clock):
    """cycles [n] of a step's operations, images of one device, devices, Hz -> images per second"""
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
# Is such a prediction any good?
# Google published two logs of ResNet-50 on ImageNet, on the same kind of machine: four v2 chips, that is eight cores with 128 images each.
# Our own step (`tools/tpu_resnet.py`) takes minutes to compile, so `recall` finds the compiler's answer by its name.

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
# For the v2 ours lies between the two logs, 9 % above the first and 12 % below the second.
# This is luck in part.
# Our program is not theirs, and it leaves out the exchange between cores, the input, and operations without an estimate.
# A rule of thumb, tested on this pair only: trust it to a quarter.
#
# ## Measure
#
# ### Which operations take the time
#
# Now a step of the course's network: loss and gradients, 256 images.
# JAX notes where an operation comes from: `jvp(conv1)` is the forward pass of conv1, and `transpose(jvp(conv1))` its backward pass.

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
# Products have nearly all of the FLOP, but less than half of the cycles.
# Half of the cycles belong to four operations of the kind `reduce`, which make one number of many.
# Two of them are gradients of a bias: it was added to every pixel of every image, so its gradient is a **sum over all of them**.
# The other two have no origin in the table.
# They pack, for the backward pass, one bit for each number: was it above 0, so that the ReLU let it through?
# (A convolution's cycles include the ReLU behind it, and the pools' backward pass, `select-and-scatter`, has no estimate.)
#
# ### What fits, and what is sent
#
# The compiler knows all sizes, so it knows whether a step fits.
# We ask for ResNet-50 with 1,024 images on one v5e.
# Then four chips, 2x2, share a batch of 1,024 images.
# What must they tell each other for the gradient of fc1's weights?


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
# Nobody wrote an **all-reduce**, a sum over all chips that each of them gets.
# The compiler put it in, because each chip has seen only its own images.
# It adds in bfloat16, as our function returns that; by lesson 2's rule it should be float32, which is twice the bytes.
#
# ## Explain
#
# Here are your guesses beside the results.

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
# The ridge, 197,000 / 819 = 241, is the batch for the weights alone; images and results raise it to 273.
# The share of products is low because the rest runs on the vector unit, which has far less arithmetic, and because packing bits counts as no FLOP at all.
# By the log, the v2 chips trained at 43 % of their peak.
#
# ## On trial
#
# ### <a id="C13"></a>C13 on trial
#
# > A TPU can do linear algebra only; a GPU is the general one
#
# Ask for two programs without any linear algebra.
# One sorts; the other is the Collatz sequence, a loop that ends when all numbers have come down to 1.

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
# So it can sort, loop and take maxima, and in our step such work has more cycles than the products.
# What is true: nearly all of a TPU's *peak* is for matrix products.
# So is most of a GPU's, since it has tensor cores.
#
# ### <a id="C09"></a>C09 on trial
#
# > TPUs have higher compute density and energy efficiency than GPUs
#
# Density is peak for each square millimetre of the chip, its **die**.
# Efficiency is peak for each watt; work for each joule, measured, is better.
# Google measured one pair with MLPerf (*published*).
#
# Two cautions.
# Google says only what a TPU's die is smaller than, so its density is at least what the table says.
# The power of v3 and v4 is the largest seen in use; the others' is the limit of their design.
# (We read the tables of Jouppi et al. in summaries, not in the papers.)

# %%
reports.chips(["tpu_v2", "tpu_v3", "v100", "tpu_v4", "a100"])
reports.work_for_each_joule()

# %% [markdown]
# **Verdict on C09: holds if the pair is v4 and A100.**
# A v4 has more peak for each mm², at least 0.46 TFLOP/s against 0.38, and more for each watt.
# In both benchmarks it did 2.2 times the work for each joule; but the TPU's maker measured.
# A V100 has more than twice a v2's peak for each watt, and a v2's die would have to be below 300 mm² to be as dense.
# A v3 is denser than a V100.
# For each watt it has a tenth more by the power seen in use, but a third less, 0.27 to 0.42, by the limit of its design, 450 W (published in *Ten Lessons*, table 1).
# For v5e, v5p and v6e Google publishes neither area nor power.
#
# ## Recap
#
# - **The critical batch is about the ridge, 241 on a v5e, and larger for small layers.**
# - Fusion saves trips: bias and ReLU ride along with the convolution.
# - Few FLOP may be many cycles: look at all operations.
# - Cycles over clock *predict* a speed, perhaps within a quarter; only a clock *measures*.
#
# ### Outside
#
# `jax.jit(f).lower(x).compile()` has our numbers: `memory_analysis()` gives argument, output and temporary bytes, `cost_analysis()` FLOP and bytes accessed.
# On a TPU, run the step in `with jax.profiler.trace("log"):`, then `xprof --logdir=log` shows how long each operation really took.
# This lesson left out the input, the optimizer's update, and the time of the all-reduce.
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
