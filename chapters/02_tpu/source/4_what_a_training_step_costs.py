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
# A TPU v5e can compute 197 TFLOP and fetch 819 GB each second (published).
# Let it multiply one image of 4,096 numbers by weights [4096, 4096] in bfloat16.
# The arithmetic takes 0.17 µs, but fetching the weights takes 41 µs (predicted).
# What would keep it busy, and what does a training step cost?
#
# ## What you will be able to do
#
# - work out when memory stops limiting a layer;
# - see what the compiler joined into one operation;
# - predict images per second, and say what is left out;
# - find out what fits in memory, and how much chips send each other.
#
# You need [lesson 3](3_what_the_compiler_makes_of_a_layer.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. Give this chip more images at once.
#    At what batch does the arithmetic take as long as moving the data?
# 2. In a training step of our network, what percentage of the compiler's estimated cycles go to convolutions and matrix products?
# 3. In 2018 Google trained ResNet-50 with TensorFlow 1.8 on four v2 chips of 46 TFLOP/s, each with two cores (published).
#    An image costs 24 GFLOP (compiled).
#    How many images per second does Google's log show?

# %%
from functools import partial

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
# ### The road from memory to the units
#
# **HBM**, high-bandwidth memory, is large and lies beside the chip.
# **VMEM**, vector memory, is small and lies on the chip.
# The matrix units read only from VMEM, and so does the **vector unit**, which does ReLU, pools and sums.
#
# The next cell draws this road, and asks where our network keeps its large arrays.

# %% tags=["picture"]
from labkit.tpu import reports, step_pictures
from labkit.tpu.programs import CONVNET, convnet

ask = partial(compile_for_tpu, source="snapshot")
step_pictures.road()
reports.places(ask(convnet, [CONVNET, (256, 32, 32, 3)], "v5e:1x1"))

# %% [markdown]
# Only images and weights lie in HBM: what one layer hands to the next stays in VMEM.
#
# ### The critical batch, by hand
#
# Take a toy chip that computes 12 FLOP and moves 2 bytes in each cycle.
# It does both at once, so the slower of the two decides.
# Its **ridge** is 12 / 2 = 6 FLOP per byte: a layer that does fewer FLOP per byte waits for memory.
#
# Here the layer stands alone: images [B, K] and weights [K, N] come from HBM once, and results [B, N] return once.
#
# Let the weights be [20, 30] in bfloat16.
# They are fetched once, but each image adds work:
#
# ```
# weights     20 x 30 numbers = 1,200 bytes         600 cycles of traffic
# each image  20 x 30 multiply-adds = 1,200 FLOP    100 cycles of arithmetic
#             20 + 30 numbers = 100 bytes            50 cycles of traffic
# B images    100·B = 600 + 50·B, so B = 12
# ```
#
# So 12 images are the **critical batch**: with fewer, memory is the limit.
#
# With weights [10, 10], arithmetic never catches up:
#
# ```
# each image  100 multiply-adds = 200 FLOP           17 cycles of arithmetic
#             10 + 10 numbers = 40 bytes             20 cycles of traffic
# ```
#
#
# **Exercise `tpu.critical_batch`**: compute the critical batch of each of n layers, or `np.inf` where there is none.


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
# Now we take the real chip, with weights [4096, 4096] and our fc1, [4096, 128].
# The picture shows the first: its line is the **roofline**, the highest speed that peak and HBM allow, and its dots follow from the compiler's estimates.

# %% tags=["picture"]
from labkit.hardware import machine
from labkit.tpu.programs import matmul

v5e = machine("tpu_v5e")
K, N = np.array([4096, 4096]), np.array([4096, 128])
large, fc1 = critical_batch(K, N, float(v5e.rate("bf16")), float(v5e.bandwidth), 2)
print(f"critical batch: [4096, 4096] {large:.0f}, fc1 {fc1:.0f} (predicted)")
answers = {}
for B in (16, 32, 64, 128, 256, 512, 1024, 4096):
    answers[B] = ask(matmul, [(B, 4096), (4096, 4096)], "v5e:1x1")
step_pictures.batch_roofline(v5e, (4096, 4096), answers, large)

# %% [markdown]
# For fc1 alone, fed from HBM, arithmetic never catches up; in our network it can, because the images already lie in VMEM.
#
# For 128 images or fewer, the dots lie as much as 4.7 times above the roofline, where no chip can be.
# **The estimates leave separate copies out.**
# Here `copy-start` brings the weights to VMEM beforehand; its time comes on top unless it overlaps other work.
#
# ### Fewer trips by fusion
#
# The result of conv2 has 8.4 MB.
# Adding the bias reads all of it from VMEM and writes it back, and so does ReLU.
# To save these trips, the compiler **fuses**: it joins several operations into one.
# An `optimization_barrier` forbids this, so we can compare.

# %%
from jax.lax import optimization_barrier

from labkit.tpu.programs import conv


def together(x, w, b):
    return jax.nn.relu(conv(x, w) + b)


def apart(x, w, b):
    y = optimization_barrier(conv(x, w))
    y = optimization_barrier(y + b)
    return jax.nn.relu(y)


x, w, b = (256, 16, 16, 32), (3, 3, 32, 64), (64,)
made = {"conv": ask(conv, [x, w], "v5e:1x1")}
for layer in (together, apart):
    made[layer.__name__] = ask(layer, [x, w, b], "v5e:1x1")
reports.side_by_side(made)

# %% [markdown]
# In the estimate, fused bias and ReLU are free; kept apart, the three operations take 2.8 times the cycles.
#
# The saved trips do not explain this:
#
# ```
# the addition moves   16.8 MB through VMEM, at 22 x 819 GB/s    1 µs
# it is charged        59,476 cycles, at 1.5 GHz                40 µs
# ```
#
# The compiler charges this addition about 14.5 cycles for every 1,024 numbers, and we cannot say whether a chip needs so many.
#
# ### Images per second
#
# A training step runs its operations one after the other:
#
# ```
# a step      operations of 600 and 900 cycles, at 1.5 GHz        1 µs
# 8 devices   4 images on each in this time                  32 images
# ```
# **Exercise `tpu.throughput`**: compute the images per second of all devices, ignoring the exchange of data.


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
# Google published two logs of ResNet-50 on eight v2 cores, with 128 images on each core.
# Our ResNet-50 step takes minutes to compile, so we load a stored result.
# We also ask which batch fits in a v5e's memory.

# %%
from labkit.provenance import predicted
from labkit.tpu.compiler import recall
from labkit.tpu.published import DAWNBENCH

rows = [[f"8 v2 cores, {log.software}", log.speed, None] for log in DAWNBENCH]
ours = [("8 v2 cores", 8, 128, "v2"), ("1 v5e", 1, 256, "v5e"), ("1 v6e", 1, 256, "v6e")]
for name, devices, batch, chip in ours:
    resnet = recall(f"ResNet-50 step of {batch} images", f"{chip}:1x1")
    rate = throughput(reports.cycles_of(resnet), batch, devices, resnet.clock)
    speed = predicted(rate, "images/s", "cycles and clock")
    rows.append([f"{name}, ours", speed, reports.missing(resnet)])
unexplained = "Why a v5e, with the peak of eight v2 cores, comes out slower, we cannot explain."
figures.table(["ResNet-50, training", "speed", "operations without an estimate"], rows, unexplained)
reports.memory("ResNet-50 step of {} images", [256, 1024], "v5e:1x1")

# %% [markdown]
# Our prediction for the v2 is 9 % above the first log and 12 % below the second.
# This is partly luck: our program is not Google's.
# On the newer chips, over a thousand operations have no estimate, most of them copies.
# There, the predicted speed may be several times too high.
#
# ## Measure
#
# Now we take a step of our own network, whose gradients `jax.grad` computes.
# How many of its cycles go to products, and how long does it take?

# %%
from labkit.tpu.programs import convnet_loss

labels = ((256,), "int32")
step = ask(jax.grad(convnet_loss), [CONVNET, (256, 32, 32, 3), labels], "v5e:1x1")
flop = reports.products_of_flop(256)
cycles = reports.share_of_cycles(step, "convolution", "matmul")
rate = throughput(reports.cycles_of(step), 256, 1, step.clock)
print("A step:", step.seconds, "\nSpeed:", predicted(rate, "images/s", "cycles and clock"))
figures.table(["products", "share"], [["of the FLOP", flop], ["of the cycles", cycles]])
reports.operations(step)

# %% [markdown]
# Products do nearly all of the arithmetic, but they take less than half of the cycles.
#
# Half of all cycles go to four `reduce` operations.
# Two compute the gradient of a bias: it was added to all pixels of all images, so its gradient is a **sum over all of them**.
# The other two (a dash under "from") record whether ReLU let each number through, in one bit each.
#
# ### What chips send each other
#
# Let four chips share 1,024 images.
# What must they send each other for the gradient of fc1's weights?


# %%
def gradient(x, dy):
    """x [B, 4096], dy [B, 128] -> gradient of fc1's weights [4096, 128], a sum over B"""
    return x.T @ dy  # in bfloat16; lesson 2's rule asks for float32, at twice the bytes


batch_cut = ("devices",)  # axis 0 of an array is cut into one part for each device
shapes = [(1024, 4096), (1024, 128)]
four = ask(gradient, shapes, "v5e:2x2", shardings=[batch_cut, batch_cut])
reports.exchange(four)

# %% [markdown]
# In an **all-reduce**, all chips add up their numbers, and each gets the sum.
# The compiler put it in, since each chip saw only its own images.
# It takes at least 16 µs, little beside the step's 475 µs.
#
# ## Explain
#
# Compare your guesses.

# %% tags=["picture"]
batch = predicted(large, "images", "the critical batch")
figures.guesses(
    [
        ("critical batch", batch_guess, batch),
        ("share of products", share_guess, cycles),
        ("ResNet-50 on v2", speed_guess, DAWNBENCH[0].speed),
    ]
)

# %% [markdown]
# **Critical batch**: if only weights moved, it would equal the ridge, 197 TFLOP/s / 819 GB/s = 241, since each weight has 2 bytes and gives 2 FLOP per image.
# Images and results raise it to 273.
# Then arithmetic and traffic take 46 µs each (predicted): the chip no longer waits if they overlap, but waits nearly half of the time if the weights are copied first.
#
# **Products**: summing gradients and packing bits take many cycles for few FLOP.
#
# **ResNet-50**: each second, 3,250 images of 24 GFLOP use 42 % of the four chips' peak (predicted); this share is called **model FLOP utilization**.
#
# ## On trial
#
# ### <a id="C13"></a>C13 on trial
#
# > A TPU can do linear algebra only; a GPU is the general one
#
# We compile two programs without linear algebra: sorting, and the Collatz rule, which halves even n and turns odd n into 3n + 1 until every number is 1.

# %%
from labkit.tpu.programs import collatz

integers = [((1024, 1024), "int32")]
rows = []
for f in (jnp.sort, collatz):
    program = ask(f, integers, "v5e:1x1")
    kinds = sorted({op.kind for op in program.ops})
    rows.append([f.__name__, ", ".join(kinds)])
note = "iota writes the numbers 0, 1, 2 and so on."
figures.table(["program", "operations on a v5e (compiled)"], rows, note)

# %% [markdown]
# **Verdict on C13: wrong.**
# A TPU's core (Google calls it "TensorCore") also has a vector unit, for general computation, and a scalar unit, for control flow (*published* by Google).
# What is true: nearly all of a TPU's *peak* is for matrix products, and so is most of a modern GPU's, thanks to tensor cores.
#
# ### <a id="C09"></a>C09 on trial
#
# > TPUs have higher compute density and energy efficiency than GPUs
#
# Density is peak for each mm² of the **die**, the chip itself; efficiency is peak for each watt.
# Google also compared the speed and power of one pair, v4 and A100 (*published*).

# %%
reports.chips(["tpu_v2", "tpu_v3", "v100", "tpu_v4", "a100"])
reports.work_for_each_joule()

# %% [markdown]
# **Verdict on C09: holds if the pair is v4 and A100.**
# A v4 has more peak for each mm², at least 0.46 TFLOP/s against 0.38.
# In both benchmarks it did 2.2 times the work for each joule, but the TPU's maker did the measuring.
# Peak for each watt does not decide: it compares a v4's power in use with an A100's design limit.
# Older pairs go both ways.
#
# ## Recap
#
# - **The critical batch of large weights in bfloat16 is a little above the ridge, 241 FLOP per byte on a v5e.**
# - Our step costs a v5e 475 µs for 256 images (predicted), without 14 operations, the optimizer and the exchange.
# - Cycles divided by clock rate *predict* a time, perhaps several times too short; only a real run *measures* it.
#
# ### Outside
#
# On the result of `jax.jit(f).lower(x).compile()`, `memory_analysis()` gives the bytes and `cost_analysis()` the FLOP.
# On a TPU, run a step `with jax.profiler.trace("log"):`, and `xprof --logdir=log` shows each operation's time.
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
