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
# To be written.

# %% tags=["setup"]
# The setup cell: written by labkit build.

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
# From 64 to 128 output channels: the same cycles, and the same memory.
# On a v5e even 128 to 128 changes little.
# On a v6e 256 output channels cost 1.8 times as much as 128, though its arrays are 256 wide: here its N steps at 128.
# **Sizes that fill 128 are a bargain; sizes just above are a waste.**
#
# ### Images per second
#
# A training step runs its operations one after the other.
# The compiler gives a cycle count for most of them.
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
# Is such a prediction any good?
# Google published logs of a Cloud TPU v2-8 (eight cores, 1,024 images in a step) that trained ResNet-50 on ImageNet's 1,281,167 images, in 2018 with TensorFlow 1.8 and 1.11.
# Our step (`tools/tpu_resnet.py`) has 128 images per core; compiling it takes minutes, so its answers are stored by name.
# The clock is the published peak over what all units do in a cycle.

# %%
from labkit.provenance import predicted, published
from labkit.tpu.compiler import recall

log = "DAWNBench, google_resnet50_tpu_tensorflow"
logs = {"18": (89, 9.7469), "111": (90, 7.9952)}  # hours from the first epoch logged to the last
for chip, batch, n, what in [("v2", 128, 8, "cores"), ("v5e", 256, 1, ""), ("v6e", 256, 1, "")]:
    made = recall(f"ResNet-50 step of {batch} images", f"{chip}:1x1")
    cycles_of = np.array([op.cycles for op in made.ops if op.cycles])  # summed for each kind
    rate = throughput(cycles_of, batch, n, made.clock)
    ours = predicted(rate, "images/s", f"its cycles at {made.clock / 1e9:.2f} GHz")
    print(f"{n} x {chip} {what or 'chip'}:", ours)
    for version, (epochs, hours) in logs.items() if chip == "v2" else ():
        speed = epochs * 1_281_167 / (3600 * hours)
        print(f"  {epochs} epochs in {published(hours, 'h', log + version)}:")
        print(f"    {speed:,.0f} images/s, ours is {100 * (rate / speed - 1):+.0f} %")

# %% [markdown]
# Between the two, a tenth from each: the same chips, with the software of April and of September.
# This is luck in part: our program is not theirs, and leaves out the exchange between cores, the input, and operations without an estimate.
# A rule of thumb, tested on this pair only: trust it to a quarter.
#
# ### What does not fit, and what is sent
#
# All sizes are known, so the compiler knows if it fits: ResNet-50, with 1,024 images on one v5e?
# And if four chips, [2x2], share fc1's batch: what must they tell each other for the gradient of its weights?


# %%
from textwrap import fill

from labkit.tpu import compiler


def gradient(x, dy):
    """x [N, 4096], dy [N, 128] -> gradient of fc1's weights [4096, 128], a sum over N"""
    return x.T @ dy


try:
    compiler.recall("ResNet-50 step of 1024 images", "v5e:1x1")
except compiler.TPUOutOfMemory as error:
    print(fill(str(error), 95))
cut = (("devices",), ("devices",))  # axis 0 of both arguments, the batch
four = ask(gradient, [(1024, 4096), (1024, 128)], "v5e:2x2", shardings=cut)
for sent in four.collectives:
    print(f"{sent.kind} of {sent.shape}, {sent.bytes:,} B, among {sent.group} chips (compiled)")

# %% [markdown]
# Nobody wrote an **all-reduce**, a sum over all chips that each of them gets: the compiler put it in, since each chip has seen only its own images.
# (It adds in bfloat16, which our function returns; by lesson 2's rule it should be float32, at twice the bytes.)
#
# ## Explain
#
# Your guesses against the results.

# %% tags=["picture"]
from labkit.provenance import compiled

by = fc1.source
weights = next(row for row in network.padding if row.shape == (128, 10))
written = padded_bytes((128, 10), (1, 0), (8, 128), 2) / weights.logical_bytes
v2 = dict(zip(K, cycles["v2, compiled"], strict=True))
step = 100 * (v2[1025] / v2[1024] - 1)
results = [predicted(written, "times", "tiles of 8 x 128"), compiled(step, "%", by)]
results.append(compiled(ratios[64, 128] / ratios[64, 64], "times", by))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# 128 / 10 is 12.8: each row fills a tile's width.
# A row of tiles more is 1/8 of 1,024, 12.5 %; a little less, since not all of the price grows.
# (A v5e: 10.5 % here, 39 % after 768, 3 % after 512.)
# And 64 channels already paid for 128.
#
# ## On trial
#
# ### <a id="C13"></a>C13 on trial
#
# > A TPU can do linear algebra only; a GPU is the general one
#
# Ask for things without any linear algebra: sorting, and the Collatz sequence, a loop that ends when all numbers have come down to 1.
# And the course's network: what share of a training step (loss and gradients) is convolutions and matrix products?
# By FLOP, and by the compiler's cycles.


# %%
from labkit.convnet import layer_costs


def collatz(n):
    step = lambda n: jnp.where(n > 1, jnp.where(n % 2 == 1, 3 * n + 1, n // 2), n)
    return jax.lax.while_loop(lambda n: (n > 1).any(), step, n)


for f in (jnp.sort, collatz):
    kinds = {op.kind for op in ask(f, [((1024, 1024), "int32")], "v5e:1x1").ops}
    print(f"{f.__name__} compiles for a v5e: {', '.join(sorted(kinds))}")
loss = lambda w, x, y: -jax.nn.log_softmax(convnet(w, x))[jnp.arange(256), y].mean()
ops = ask(jax.grad(loss), [CONVNET, (256, 32, 32, 3), ((256,), "int32")], "v5e:1x1").ops
total = sum(op.cycles or 0 for op in ops)
part = lambda *kinds: sum(op.cycles or 0 for op in ops if op.kind in kinds) / total
flops = {cost.name: float(cost.flops) for cost in layer_costs(256)}
matrix = sum(flops[name] for name in ("conv1", "conv2", "fc1", "fc2")) / sum(flops.values())
print(f"FLOP: {matrix:.1%} products (counted)")
print(f"cycles: {part('convolution', 'matmul'):.0%} products, {part('reduce'):.0%} sums (compiled)")
print("no estimate for:", *sorted({op.kind for op in ops if op.cycles is None}))

# %% [markdown]
# **Verdict on C13: wrong.**
# A TensorCore also has a vector unit, for general computation, and a scalar unit, for control flow (*published* by Google).
# So it can sort, loop and take maxima.
# In our network's step, what is no product has 0.4 % of the FLOP, and yet more of the estimated cycles than the products have.
# Most of these are sums over all pixels of a batch, such as the gradient of a bias.
# (The pools' backward pass has no estimate.
# A convolution's cycles include the ReLU behind it.)
# What is true: nearly all of a TPU's *peak* is for matrix products.
# So is most of a GPU's, since it has tensor cores.
#
# ### <a id="C09"></a>C09 on trial
#
# > TPUs have higher compute density and energy efficiency than GPUs
#
# Which numbers can decide this?
# Density is peak for each square millimetre of the chip, its **die**.
# Efficiency is peak for each watt.
# Better than both is work for each joule, measured.
# Three pairs of the same years can be compared.
#
# Google has measured one of them with two of MLPerf's benchmarks, on 64 chips of each kind (*published* in Jouppi et al., TPU v4, 2023, section 6 and table 6).
#
# Two cautions.
# Google says only what a TPU's die is smaller than, so its density is at least what the cell prints.
# And the power of v3 and v4 is the largest seen in use, that of the others the limit of their design.
# (We read the tables of the papers by Jouppi et al. in summaries, not in the papers themselves.)

# %%
from labkit.hardware import machine

lessons = "Jouppi et al., Ten Lessons From Three Generations, 2021, table 1, as an upper limit"
paper = "Jouppi et al., TPU v4, 2023, arXiv:2304.01433, table"
dies = {
    "tpu_v2": published(625, "mm²", lessons),
    "tpu_v3": published(700, "mm²", lessons),
    "v100": published(815, "mm²", "NVIDIA, Tesla V100 GPU architecture, 2017"),
    "tpu_v4": published(600, "mm²", f"{paper} 4, as an upper limit"),
    "a100": published(826, "mm²", f"{paper} 5"),
}
for key, die in dies.items():
    chip = machine(key)
    tera = float(chip.peak.get("bf16") or chip.peak["fp16"]) / 1e12
    density, per_watt = tera / float(die), tera / float(chip.power)
    print(f"{key:7}{density:.2f} TFLOP/s for each mm², {per_watt:.2f} for each W")
    print(f"    {die}\n    {chip.power}")
for name, faster, ours, theirs in [("BERT", 1.15, 197, 380), ("ResNet-50", 1.67, 206, 273)]:
    print(f"{name}, v4: {faster} times an A100's speed, {ours} W against {theirs} W (published)")
    print("    work for each joule:", predicted(faster * theirs / ours, "times", "speed and power"))

# %% [markdown]
# **Verdict on C09: holds if the pair is v4 and A100.**
# A v4 has more peak for each square millimetre, at least 0.46 TFLOP/s against 0.38, and more for each watt.
# In both benchmarks it did 2.2 times the work for each joule; but it was the TPU's maker who measured.
# Of the first pair the V100 has more than twice the peak for each watt, and a v2's die would have to be below 300 mm² to be as dense. v3 is denser than the V100.
# For each watt it has a tenth more by the largest power seen in use, and a third less, 0.27 to 0.42, by the limit of its design, 450 W (published in *Ten Lessons*, table 1).
# For v5e, v5p and v6e Google publishes neither area nor power.
#
# [C13](#C13) was wrong; [C09](#C09) holds for one pair.
#
# ## Recap
#
# - **A compiler is an instrument**: layouts, padding, memory, cycles and messages, before there is a chip.
# - The fastest axis is padded to 128, the next to 8: put an axis there that fills them.
#   The batch often does.
# - K and N cost whole tiles of 128; on a v6e, K steps at 256.
#   There are exceptions: ask.
# - Cycles over clock predict a speed, perhaps within a quarter.
#   It is *predicted* from *compiled*; only a clock *measures*.
#
# You can now ask what a network costs on a TPU, and tell which answers to trust.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_compiled", None)
# quiz("tpu.quiz_memory", None)
# BEGIN SOLUTION
quiz("tpu.quiz_compiled", "d")
quiz("tpu.quiz_memory", "a")
# END SOLUTION
