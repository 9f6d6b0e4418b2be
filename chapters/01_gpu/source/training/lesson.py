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
#     title: Training
#     number: 13
#     minutes: 45
#     needs: [torch]
#     able: train in 16 bits, in pieces, and with overlap, and name the price of each
#     runs_on: PyTorch; a GPU if there is one
# ---

# %% [markdown]
# # Training
#
# **A step of 0.001 changes a weight of 1 in float32, and is lost in bfloat16, which has half of the bits.**
# <!-- holds: 1 + np.float32(0.001) != 1 and torch.tensor(1, dtype=torch.bfloat16) + 0.001 == 1 and np.float16(1) + np.float16(0.001) == 1 + 2**-10 -->
# Lesson 12 counted what 16 bits save.
# This lesson asks for the price of three savings: 16 bits, a batch in pieces, and work that overlaps; and for the energy.
#
# ## What you will be able to do
#
# - say which numbers stay float32, and scale what float16 would lose;
# - train with a batch that does not fit into memory;
# - say what may overlap with what, and what a processor's joules can buy.
#
# You need lesson 12, and lesson 3 for the roofline.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. A weight of 0 gets a thousand steps of 0.001, all in **bfloat16**, a float32 cut in half.
#    What percentage of the right sum, 1, does it reach?
# 2. By the roofline and the data sheets, a training step of 64 photographs takes a laptop's processor a certain energy.
#    An H200 does the same step in 16 bits.
#    How many times less energy does it take?

# %%
import numpy as np
import torch
from torch.utils.checkpoint import checkpoint_sequential

from labkit import check, convnet, figures, hardware, hint, predict, quiz
from labkit.gpu.step_cost import Offload, bus, curves, gradient_and_kept, kept_by_layer, roof_time
from labkit.gpu.training import pytorch, tensors
from labkit.provenance import counted, measured, predicted
from labkit_lessons.gpu.training import energy, experiments

# STUB:
# sum_guess = predict("gpu.bfloat16_sum", None, "%")
# energy_guess = predict("gpu.energy_gain", None, "times")
# BEGIN SOLUTION
sum_guess = predict("gpu.bfloat16_sum", 99, "%")
energy_guess = predict("gpu.energy_gain", 50, "times")
# END SOLUTION
device = tensors.kernel_device()  # "cuda" where a GPU runs the kernels, else "cpu"
torch.backends.cudnn.allow_tf32 = False  # float32 shall be float32
where = torch.cuda.get_device_name() if device == "cuda" else hardware.this_machine().name
train, test = pytorch.photographs(device)  # 2,000 and 500 of CIFAR-10

# %% [markdown]
# ## Build
#
# ### Small steps
#
# A float has a power of two, the **exponent**, and some bits for the digits:
#
# | format | bits | digits, in bits | smallest number | largest number |
# |---|---|---|---|---|
# | float32 | 32 | 24 | about $10^{-45}$ | about $3 \cdot 10^{38}$ |
# | bfloat16 | 16 | 8 | about $10^{-40}$ | about $3 \cdot 10^{38}$ |
# | float16 | 16 | 11 | about $6 \cdot 10^{-8}$ | 65,504 |
#
# Of bfloat16's 8 bits one is the 1 before the point, so 7 are left, and the numbers between 1 and 2 lie $1/2^7 = 0.0078$ apart.
# So $1 + 0.001$ is nearer to 1 than to the next number, $1.0078$, and is rounded to 1.
# Now let a weight begin at 0, and add 0.001 a thousand times.

# %% tags=["picture"]
runs = experiments.sums_of(size=0.001, steps=1_000)
experiments.draw_sums(runs)

# %% [markdown]
# In bfloat16 the weight stops at 0.5.
# <!-- holds: runs["bfloat16"][-1] == runs["bfloat16"][-400] == 0.5 -->
# From there on, numbers lie 0.0039 apart, and 0.001 is less than half of that.
# (Between 0.25 and 0.5 it grew too fast: there a step of 0.001 was rounded up to 0.00195.)
# Float16 has three bits more and ends at 0.98; it would stop at 4.
# <!-- holds: round(runs["float16"][-1], 2) == 0.98 and round(runs["float32"][-1], 3) == 1 -->
#
# **So in mixed precision the layers compute in 16 bits, and the weights that collect the steps stay float32.**
#
# ### Small gradients
#
# Float16 has another problem: a gradient below $3 \cdot 10^{-8}$ becomes 0, and below $6 \cdot 10^{-5}$ it has fewer digits.
# The remedy is to multiply the loss by a **scale**, such as 1,024: by the chain rule, all gradients become 1,024 times as large.
# Before the step they are divided by the scale again, in float32.
# By hand: a gradient of $2 \cdot 10^{-8}$ is 0 in float16, but $1{,}024 \cdot 2 \cdot 10^{-8} = 2.05 \cdot 10^{-5}$ is not, and divided by 1,024 in float32 it is $2 \cdot 10^{-8}$ again, up to its digits.
#
# If the scale is too large, a gradient becomes infinite, or no number (NaN), where infinities cancel.
# Then the whole step is left out, and the next tries a smaller scale.
#
# **Exercise `gpu.scaled_step`.**
# `g` is the float16 gradient of the loss times `scale`.
# Return the new weights `p` - `lr` times the gradient of the loss itself, in float32.
# If any number in `g` is infinite or NaN, return the weights as they are.
# Here and in the next exercise, arrays are NumPy arrays, and `check` takes no other library.


# %% tags=["exercise:gpu.scaled_step"]
def scaled_step(p, g, scale, lr):
    """p [n] float32, g [n] float16, and two numbers  ->  the new p [n], float32"""
    new = p.copy()
    # STUB:
    # pass  # take the scale off in float32, and step if all are finite
    # BEGIN SOLUTION
    wide = g.astype(np.float32) / scale
    if np.isfinite(wide).all():
        new = p - lr * wide
    # END SOLUTION
    return new


scaled_step = check("gpu.scaled_step", scaled_step)

# %% [markdown]
# Does our network need it?
# Store the gradient of the trained network, for 64 photographs, in float16, with four scales.

# %%
net = pytorch.network(device)
trained = {name: torch.tensor(weight) for name, weight in convnet.load_weights().items()}
net.load_state_dict(trained)
x, y = train.images[:64].to(device), train.labels[:64]
gradient, _ = gradient_and_kept(net, net, x, y)
rows = [experiments.in_float16(gradient, scale) for scale in (1, 2**10, 2**20, 2**24)]
heads = ["scale", "become 0", "have fewer digits", "a step is made"]
figures.table(heads, rows)

# %% [markdown]
# This network hardly needs a scale: without one, a tenth of a percent of its gradients is lost, and a tenth of them have fewer digits.
# <!-- holds: round(float(rows[0][1]), 1) == 0.1 and round(float(rows[0][2])) == 10 -->
# With 1,024 nearly all keep their digits; with a million, some leave the range, and the step is lost.
# <!-- holds: float(rows[1][2]) < 0.5 and [row[3] for row in rows] == [True, True, False, False] -->
# (bfloat16, with the range of float32, needs no scale.)
#
# ### A batch in pieces
#
# The second saving is of memory: a batch that does not fit can be cut into *micro-batches*.
# PyTorch's loss is a mean, so each piece gives the gradient of *its* mean, and the gradient of the mean over all images is wanted.
# Take a piece of 3 images with the mean gradient 2, and a piece of 1 image with the gradient 6:
#
# $$\frac{2 + 2 + 2 + 6}{4} = \frac{3 \cdot 2 + 1 \cdot 6}{4} = 3, \qquad\text{and not}\qquad \frac{2 + 6}{2} = 4$$
#
# **Exercise `gpu.accumulate`.**
# Write one line; `total` is an array.
# Row $m$ of `gradients` belongs to piece $m$, which has `sizes[m]` images, and the last piece is often shorter.
# `check` refuses `np.average`.


# %% tags=["exercise:gpu.accumulate"]
def accumulate(gradients, sizes):
    """gradients [M, D] of the pieces' mean losses, sizes: a list of M  ->  total [D]"""
    total = np.zeros_like(gradients[0])
    for gradient, n in zip(gradients, sizes, strict=True):
        # STUB:
        # total = total + 0  # replace 0
        # BEGIN SOLUTION
        total = total + gradient * n / sum(sizes)
        # END SOLUTION
    return total


accumulate = check("gpu.accumulate", accumulate)

# %% [markdown]
# ## Check
#
# Do pieces of 24, 24 and 16 photographs give the real network's gradient for 64?
# Beside them stand two other ways.
# **Checkpointing** keeps only the input of a block (convolution, ReLU, pool), and computes the block again in the backward pass.
# **Offloading** sends what is kept to the host.
# For these two, what comes back at one time needs room as well.

# %%
full = kept_by_layer(net, x)
offload = Offload(net, device)
blocks = lambda x: checkpoint_sequential(net, 3, x, use_reentrant=False)
SAVED = "adding up what autograd saves"
ways = {  # forward pass, photographs in a piece, bytes that come back at once
    "all at once": (net, 64, 0),
    "micro-batches": (net, 24, 0),
    "checkpointing": (blocks, 64, full["relu1"] + full["pool1"]),
    "offloading": (offload, 64, max(full.values())),
}
rows, (whole, _) = [], gradient_and_kept(net, net, x, y)
for name, (forward, size, back) in ways.items():
    pieces = torch.arange(64).split(size)
    results = [gradient_and_kept(net, forward, x[p], y[p]) for p in pieces]
    gradients = np.array([gradient for gradient, _ in results])
    kept = counted(max(number for _, number in results), "B", SAVED)
    total = accumulate(gradients, [len(p) for p in pieces])
    same = np.allclose(total, whole, atol=1e-5)
    rows.append([name, kept, counted(back, "B", SAVED), same])
figures.table(["way", "kept", "comes back at once", "same gradient"], rows)

# %% [markdown]
# All ways give the same gradient, and each saves memory: of 22.8 MB, checkpointing needs 4.0 + 12.6 = 16.6 MB, and offloading 8.4 MB.
# <!-- holds: [round(float(row[1]) / 1e6, 1) for row in rows[:3:2]] == [22.8, 4.0] and round(float(rows[2][2]) / 1e6, 1) == 12.6 and round((float(rows[3][1]) + float(rows[3][2])) / 1e6, 1) == 8.4 -->
# <!-- holds: all(row[3] for row in rows) and all(float(row[1]) + float(row[2]) < float(rows[0][1]) for row in rows[1:]) -->
# The price of micro-batches is launches, and small kernels use a GPU badly.
# On a T4, checkpointing computes the forward pass of both blocks again, and offloading crosses the bus there and back:

# %%
t4 = hardware.machine("t4")
again = roof_time(t4, convnet.layer_costs(64)[:6], only=("forward",))
crossing = predicted(offload.moved / bus(t4).value, "s", "the rate of the bus")
moved = counted(offload.moved, "B", "`Offload`")
note = "Like PyTorch's save_on_cpu, it also sends weights, and twice what two layers share."
figures.table(
    ["computing again", "crossing the bus", "bytes moved"], [[again, crossing, moved]], note
)

# %% [markdown]
# Crossing the bus takes about twenty times as long as computing again.
# <!-- holds: 18 < float(crossing) / float(again) < 22 -->
#
# ## Measure
#
# ### <a id="C36"></a>C36 on trial
#
# > Run forward, backward and update asynchronously to overlap them
#
# The backward pass begins at the loss, which the forward pass computes last, and the update needs the gradients.
# So within one step they wait for each other; only a layer's own update may start while the backward pass goes on to the layers in front of it.
#
# Two steps can overlap: the next forward pass begins at once, with the *old* weights, while the update still runs.
# Then each gradient is used one step late.
# Does a network still learn so?
# Try it for 160 steps of 16 photographs, at two rates, in three ways: always waiting, always one step late, and late only from step 40 on.

# %% tags=["picture", "nbval-ignore-output"]
ways = {"waiting": 160, "one step late": 0, "late from step 40 on": 40}
runs = {}
for rate in (0.01, 0.003):
    for name, wait_for in ways.items():
        fresh = pytorch.network(device)
        losses = experiments.late_losses(fresh, train.images, train.labels, rate, wait_for)
        runs[rate, name] = losses
curves(runs)

# %% [markdown]
# **With late gradients the network learns, only later.**
# <!-- holds: all(np.mean(runs[rate, "waiting"][-40:]) + 0.1 < np.mean(runs[rate, "one step late"][-40:]) < np.log(10) - 0.1 for rate in (0.01, 0.003)) -->
# It is another algorithm: it loses much in the first steps, where gradients change fast, and it needs a smaller rate.
# At 0.003, waiting for the first 40 steps makes up for about half of that; at 0.01, for nothing in the end.
# <!-- holds: 0.25 < (np.mean(runs[0.003, "late from step 40 on"][-40:]) - np.mean(runs[0.003, "waiting"][-40:])) / (np.mean(runs[0.003, "one step late"][-40:]) - np.mean(runs[0.003, "waiting"][-40:])) < 0.75 -->
# <!-- holds: abs(np.mean(runs[0.01, "late from step 40 on"][-40:]) - np.mean(runs[0.01, "one step late"][-40:])) < 0.1 -->
# (One set of first weights.)
#
# Late gradients pay where another processor works meanwhile:
#
# | method | what runs at the same time | how old the weights are |
# |---|---|---|
# | ZeRO-Offload (Ren et al., USENIX ATC 2021) | the update on the host, the next step on the GPU | one step; not in the first steps |
# | PipeDream-2BW (Narayanan et al., ICML 2021) | passes of several pieces, on GPUs with some layers each | one step |
# | Hogwild (Recht et al., NeurIPS 2011) | the steps of several workers, on shared weights | as it happens |
#
# On *one* GPU both share the multiprocessors, and there is little to win: by the roofline, the update takes 5 % of a step on a T4, and 4 % on an H200 (predicted).
# ("Asynchronously" can also mean that the host runs ahead of the GPU; the kernels still run one after the other.)
# <!-- holds: round(100 * float(roof_time(t4, convnet.layer_costs(64), only=["update"])) / float(roof_time(t4, convnet.layer_costs(64)))) == 5 -->
# <!-- holds: round(100 * float(roof_time(hardware.machine("h200"), convnet.layer_costs(64), only=["update"])) / float(roof_time(hardware.machine("h200"), convnet.layer_costs(64)))) == 4 -->
#
# What needs nothing of the step's results may overlap without changing a number: the *next* input.
# From **pinned** memory, which stays in its place, the GPU fetches it by itself (`x.pin_memory()`, then `.to("cuda", non_blocking=True)`); on a second **stream**, a queue of work, it does so while kernels run.
# `feeding.fed`, which you used in lesson 12, does both.
# Four steps on a T4, in turn and overlapped:

# %% tags=["timing", "picture", "nbval-ignore-output"]
from timeit import timeit

from labkit.datasets import cifar10

raw = cifar10("sample").train.images[:64]
prepare = min(timeit(lambda: convnet.normalise(raw), number=1) for _ in range(20))
print("preparing 64 photographs:", measured(prepare, "s"))
stages = [("prepare", "host, measured", prepare)]
stages.append(("copy", "bus, predicted", train.images[:64].nbytes / float(bus(t4))))
parts = {"forward": ["forward"], "backward": ["dX", "dW"], "update": ["update"]}
for part, names in parts.items():
    seconds = float(roof_time(t4, convnet.layer_costs(64), only=names))
    stages.append((part, "T4, predicted", seconds))
rows = {}
for how in ("in turn", "overlapped"):
    spans = figures.pipeline(stages, rounds=4, overlapped=how == "overlapped")
    rows |= {f"{how}: {worker}": spans[worker] for worker in spans}
figures.timeline(rows, "partly measured, partly predicted")
if device == "cuda":
    print("copying them from pinned memory:", experiments.copy_time(train.images[:64], where))

# %% [markdown]
# **Verdict on C36: holds if gradients may be a step late.**
# Within one step, only the update of a layer whose gradient is ready can overlap.
# Across steps all can, with old weights, and after as many steps our loss was higher.
# <!-- holds: min(np.mean(runs[rate, "one step late"][-40:]) / np.mean(runs[rate, "waiting"][-40:]) for rate in (0.01, 0.003)) > 1.05 -->
#
# Feeding the next input changes no number.
# Then the slowest row sets the pace; if that is the T4's, a step takes 0.65 ms (predicted).
# <!-- holds: round(1e3 * float(roof_time(t4, convnet.layer_costs(64))), 2) == 0.65 -->
#
# ## Explain
#
# ### <a id="C37"></a>C37 on trial
#
# > GPUs are far more energy-efficient than CPUs for training
#
# Energy is power times time, so a data sheet promises arithmetic per joule: its peak rate over its power.
# For a laptop's processor with 6 cores at 15 W (AMD Ryzen 5 5500U, at the base clock of 2.1 GHz), these are $403 / 15 = 27$ GFLOP per joule; for an H200 with tensor cores in 16 bits, $989{,}500 / 700 = 1{,}414$.
# <!-- holds: round(energy.promised(energy.laptop_at_base_clock(), "fp32") / 1e9) == 27 and round(energy.promised(hardware.machine("h200"), "fp16") / 1e9) == 1_414 -->
# The table sets the promised gain beside that of the step, with the roofline's time at full published power.

# %%
laptop, h200 = energy.laptop_at_base_clock(), hardware.machine("h200")
machines = [(laptop, "fp32"), (t4, "fp32"), (t4, "fp16")]
machines += [(h200, kind) for kind in ("fp32", "tf32", "fp16")]
table = energy.gains(machines)
heads = ["machine", "format", "promised gain", "step", "% of peak", "energy", "gain"]
note = "Gains are over the laptop's processor; a GPU also needs a host, which is not counted."
figures.table(heads, table, note)

# %% [markdown]
# **Verdict on C37: holds if tensor cores do the work, in TF32 or 16 bits, and are kept busy.**
# An H200's data sheet then promises 26 or 53 times as much arithmetic per joule as the laptop's processor, but less than 4 times without tensor cores.
# <!-- holds: [round(row[2]) for row in table[4:]] == [26, 53] and table[3][2] < 4 -->
#
# For this network's step the roofline predicts much less: at best 3 times without tensor cores, 5 in TF32, and in 16 bits 6 on a T4 and 9 or 10 on an H200.
# <!-- holds: [round(row[6]) for row in table[2:5]] == [6, 3, 5] and 9 < table[5][6] < 10 -->
# There the DRAM sets the time of most layers, and leaves most of the peak unused.
# Real programs reach only a part of either peak, and a processor with matrix units would promise more.
# Nothing here was measured on a GPU.
#
# How good were your guesses?

# %% tags=["picture"]
reached = counted(
    100 * experiments.sums_of(0.001, 1_000)["bfloat16"][-1], "%", "adding in bfloat16"
)
gain = predicted(table[5][6], "times", "the roofline and the data sheets")
figures.guesses([("sum in bfloat16", sum_guess, reached), ("energy", energy_guess, gain)])

# %% [markdown]
# ## On trial
#
# [C36](#C36) and [C37](#C37) hold under conditions.
#
# ### Outside
#
# In PyTorch, `torch.autocast` chooses the formats, `torch.amp.GradScaler` adapts the scale of your `scaled_step`, and `DataLoader(pin_memory=True)` feeds.
# On a GPU's host, this shows the power while a training runs:
#
# ```
# nvidia-smi --query-gpu=power.draw,utilization.gpu \
#   --format=csv --loop=1
# ```
#
# Power times the seconds of a step is its energy, measured.
# We left out 8-bit formats; chapter 04 has several GPUs.
#
# ## Recap
#
# | saving | its price |
# |---|---|
# | 16 bits | weights stay float32; in float16, gradients need a scale |
# | a batch in pieces | launches |
# | checkpointing, offloading | a second forward pass; the bus |
# | the next input overlaps | pinned memory, and nothing else |
# | the next step overlaps | gradients one step late |
#
# **The rule to keep: in bfloat16, a step below 1/512 of a weight is always lost, and below 1/256 it may be, so weights stay float32.**
# <!-- holds: torch.tensor(1.99, dtype=torch.bfloat16) + 1.98 / 512 == torch.tensor(1.99, dtype=torch.bfloat16) -->
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_accumulate", None)
# quiz("gpu.quiz_float32", None)
# quiz("gpu.quiz_overlap", None)
# BEGIN SOLUTION
quiz("gpu.quiz_accumulate", "c")
quiz("gpu.quiz_float32", "b")
quiz("gpu.quiz_overlap", "a")
# END SOLUTION
