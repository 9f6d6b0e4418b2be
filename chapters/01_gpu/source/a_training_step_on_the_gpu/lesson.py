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
#     title: A training step on the GPU
#     number: 12
#     minutes: 50
#     needs: [torch, numba]
#     able: train the ConvNet with an update kernel of your own, join three operations in one, and count the bytes that need not move
#     runs_on: PyTorch; the SIMT machine, or a GPU
# ---

# %% [markdown]
# # A training step on the GPU
#
# **In a training step, ReLU does 0.3 % of the arithmetic and moves 41 % of the bytes.**
# <!-- holds: round(100 * flops["ReLU"] / flops.total(), 1) == 0.3 and round(100 * moved["ReLU"] / moved.total()) == 41 -->
# A GPU is fast at arithmetic, so it mostly waits for bytes.
# Which of them need not move?
#
# ## What you will be able to do
#
# - write the update of the weights as a kernel, and three operations of a layer as one;
# - read the timeline of a step;
# - count what copies, 16-bit numbers and fused kernels cost or save.
#
# You need the layers and the roofline of lessons 1 to 3, and the kernels of lessons 4 and 5.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The network has 545,098 parameters, a photograph has 3 x 32 x 32 numbers, and a float32 takes 4 bytes.
# The **bus** is what connects the GPU with the **host**, the processor and its memory.
#
# 1. In each step 64 photographs cross the bus.
#    If all parameters cross it *there and back* as well, how many times as many bytes are these as the photographs alone?
# 2. Much of the forward pass is kept, because the backward pass needs it.
#    If the layers compute in 16 bits instead of 32, by what percentage does the kept memory shrink?
#    (Some of what is kept is not a float.)
# 3. Bias, ReLU and 2 x 2 max-pool can be three kernels, or one.
#    How many times fewer bytes does the one move?

# %%
import math
from collections import Counter
from time import perf_counter

import numpy as np
import torch

from labkit import check, convnet, figures, hardware, hint, predict, quiz
from labkit.gpu import cuda, profile
from labkit.gpu.step_cost import bus, gradient_and_kept, kept_by_layer, roof_time, sixteen_bits
from labkit.gpu.training import autograd, feeding, pytorch, tensors
from labkit.provenance import counted, measured, predicted
from labkit_lessons.gpu.a_training_step_on_the_gpu import inductor, recorded_step, separate_kernels

# STUB:
# bus_guess = predict("gpu.copied_bytes", None, "times")
# kept_guess = predict("gpu.autocast_saves", None, "%")
# fusion_guess = predict("gpu.fusion_saves", None, "times")
# BEGIN SOLUTION
bus_guess = predict("gpu.copied_bytes", 2, "times")
kept_guess = predict("gpu.autocast_saves", 50, "%")
fusion_guess = predict("gpu.fusion_saves", 3, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The step in PyTorch
#
# A **step** on a batch of photographs has three parts: *forward* to the loss, *backward* to the gradients, and the *update* of the weights.
# Below are its five lines in PyTorch, and the network's layers.
# With a CUDA GPU, everything in this lesson runs on it.

# %%
import inspect

device = tensors.kernel_device()  # "cuda" where a GPU runs the kernels, else "cpu"
torch.backends.cudnn.allow_tf32 = False  # float32 shall be float32
where = torch.cuda.get_device_name() if device == "cuda" else hardware.this_machine().name
train, test = pytorch.photographs(device)  # 2,000 and 500 of CIFAR-10
figures.listing(inspect.getsource(pytorch.step), "python")
pytorch.network(device)

# %% [markdown]
# Show each of the 2,000 photographs twice, 64 in a step.
# How long does a step take, and does the network learn?
# (The clock starts behind the slow first step; `feeding.fed`, of lesson 13, brings each batch to the device.)

# %% tags=["timing", "nbval-ignore-output"]
torch.manual_seed(0)  # the same batches in each run
first, *batches = [*torch.randperm(2000).split(64), *torch.randperm(2000).split(64)]
net = pytorch.network(device)
optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
x, y = train.images[first].to(device), train.labels[first]
losses = [pytorch.step(net, optimiser, x, y)]
start = perf_counter()
for x, rows in zip(feeding.fed(train.images, batches, device), batches, strict=True):
    losses.append(pytorch.step(net, optimiser, x, train.labels[rows]))
each = (perf_counter() - start) / len(batches)
found = net(test.images.to(device)).argmax(1)
right = (found == test.labels).float().mean().item()
print("a step:", measured(each, "s", where))
print(f"loss {losses[0]:.1f} to {losses[-1]:.1f};", counted(100 * right, "%", "comparing labels"))

# %% [markdown]
# Guessing would be right for 10 %, so it learns.
# <!-- holds: right > 0.1 -->
# But where does the step's time go?
# PyTorch's profiler records every operation; the table sets each kind's share of the time beside those of the bytes and the arithmetic, which lesson 3 counted.
# (With a GPU, the time is that of the kernels, and the picture shows the host that launches them.
# Recording slows the step; losses, copies and the update are not in the table.)

# %% tags=["picture", "nbval-ignore-output"]
x, y = train.images[:64].to(device), train.labels[:64]
recorded = recorded_step.record(device, lambda: pytorch.step(net, optimiser, x, y))
moved, flops = recorded_step.work(batch=64)
figures.timeline(recorded.parts, f"measured on {hardware.this_machine().name}")
heads = ["kind", "% of the time", "% of the bytes", "% of the arithmetic"]
figures.table(heads, recorded_step.shares(recorded.times, batch=64))

# %% [markdown]
# **Less than 1 % of the arithmetic does not explain the time of pooling and ReLU.**
# <!-- holds: flops["pool"] + flops["ReLU"] < 0.01 * flops.total() -->
# ReLU moves the most bytes, and the pools half as many.
# <!-- holds: moved["ReLU"] == max(moved.values()) and 0.45 < moved["pool"] / moved["ReLU"] < 0.55 -->
# Nor do the bytes explain it, on this processor: compare their columns.
# On a GPU they should: by the roofline, all of these wait for the memory (predicted).
# <!-- holds: all(op.flops / float(hardware.machine("t4").peak["fp32"]) < (op.bytes_read + op.bytes_written) / float(hardware.machine("t4").bandwidth) for cost in convnet.layer_costs(64) if cost.name[:4] in ("relu", "pool") for op in cost.operations) -->
#
# ### The update
#
# Each parameter $p$ has a gradient $g$ and a velocity $v$, which remembers the steps before.
# With the learning rate $\eta$ (`lr`) and $\mu$ (`momentum`):
#
# $$v \leftarrow \mu\, v + g \qquad\qquad p \leftarrow p - \eta\, v$$
#
# For $p = 1$, $g = 0.5$ and $v = 0.2$, with $\mu = 0.9$ and $\eta = 0.1$, the new velocity is $0.9 \cdot 0.2 + 0.5 = 0.68$, and the new parameter $1 - 0.1 \cdot 0.68 = 0.932$.
#
# **Exercise `gpu.sgd_momentum`.**
# Write both lines, in place: `v` and `p` hold the old values and receive the new ones.
# Blocks have 128 threads, one for each parameter; mind the last block.


# %% tags=["exercise:gpu.sgd_momentum"]
@cuda.jit
def sgd_momentum(p, g, v, lr, momentum):
    """p, g, v [n] float32  ->  v and p, in place"""
    i = cuda.grid(1)
    # STUB:
    # pass  # a guard, and the two formulas
    # BEGIN SOLUTION
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] -= lr * v[i]
    # END SOLUTION


sgd_momentum = check("gpu.sgd_momentum", sgd_momentum)

# %% [markdown]
# ### Three operations in one kernel
#
# After a convolution come bias, ReLU and max-pool.
# Three kernels would each read a large array and write one; a single kernel keeps what comes in between in registers.
# That is **fusion**:
#
# $$y_{nkpq} = \max\bigl(0,\; b_k + \max_{r,s \,\in\, \{0,1\}} x_{n,\;k,\;2p+r,\;2q+s}\bigr)$$
#
# The bias does not change which pixel of a window is largest, so it may wait.
# For the window below, the largest pixel is 5: with the bias $-2$ the result is 3, and with $-7$ it is 0.
#
# ```
#  1   5
# -4   2
# ```
#
# **Exercise `gpu.bias_relu_pool`.**
# Write one thread for each output, in blocks of 16 x 8 threads.
# `cuda.grid(3)` gives a thread's place along x, y and z: here x counts $q$, y counts $p$, and z counts the `N * K` maps, so that map $k$ of image $n$ is number `n * K + k`.
# If the height or the width is odd, the last row or column is in no window, so the guard compares with `y.shape`.
# Load each pixel once, and write `y` once.
# `ZERO` is a float32; `0.0` would be a float64.


# %% tags=["exercise:gpu.bias_relu_pool"]
ZERO = np.float32(0)


@cuda.jit
def bias_relu_pool(x, b, y):
    """x [N, K, H, W], b [K]  ->  y [N, K, P, Q], P = H // 2, Q = W // 2, float32"""
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    # STUB:
    # pass  # a guard with y.shape, the largest of four, and one assignment
    # BEGIN SOLUTION
    if p < y.shape[2] and q < y.shape[3]:
        upper = max(x[n, k, 2 * p, 2 * q], x[n, k, 2 * p, 2 * q + 1])
        lower = max(x[n, k, 2 * p + 1, 2 * q], x[n, k, 2 * p + 1, 2 * q + 1])
        y[n, k, p, q] = max(max(upper, lower) + b[k], ZERO)
    # END SOLUTION


bias_relu_pool = check("gpu.bias_relu_pool", bias_relu_pool)

# %% [markdown]
# ## Check
#
# Does your update train the real network?
# `autograd.ConvNet` is the same network, in which PyTorch remembers only the order of the layers; forward and backward are kernels of the course.
# It makes three steps of 4 photographs, beside PyTorch, and `launches` counts the kernels by layer.

# %%
ours, theirs = autograd.ConvNet(convnet.init(seed=0)).to(device), pytorch.network(device)
optimiser = torch.optim.SGD(theirs.parameters(), lr=0.01, momentum=0.9)
velocity = {p: torch.zeros_like(p) for p in ours.parameters()}
gaps, lr, momentum = [], np.float32(0.01), np.float32(0.9)
tensors.launches.clear()
for rows in torch.arange(12).split(4):
    x, y = train.images[rows].to(device), train.labels[rows]
    loss = autograd.cross_entropy(ours(x), y)
    gradients = torch.autograd.grad(loss, [*velocity])
    for (p, v), g in zip(velocity.items(), gradients, strict=True):
        plan = sgd_momentum, math.ceil(p.numel() / 128), 128  # kernel, blocks, threads
        arrays = [tensors.flat(tensor) for tensor in (p, g, v)]
        tensors.launch(plan, *arrays, lr, momentum, layer="update")
    gaps.append(abs(loss.item() / pytorch.step(theirs, optimiser, x, y) - 1))
print(f"same losses as PyTorch, within 1 in 10,000: {max(gaps) < 1e-4}")
by_layer = Counter()
for (layer, _), number in tensors.launches.items():
    by_layer[layer.split()[0]] += number // 3  # three steps
figures.table(["layer", "launches in a step"], [*by_layer.items()])

# %% [markdown]
# The update runs once for each of the network's 8 arrays of parameters.
# <!-- holds: by_layer["update"] == len(velocity) == 8 -->
# Beside the forward pass, each gradient is a launch: fc1 has three, of its input, weights and bias; conv1 has one, since nobody wants the photographs' gradient.
# (A convolution's bias is the pool's, in a fused kernel like yours; the loss has a sum, too.)
#
# ## Measure
#
# ### <a id="C01"></a>C01 on trial
#
# > A training step copies parameters to the GPU, runs forward and backward, then copies the updated parameters back, and repeats
#
# Run it as printed, and with the parameters staying where they are.
# `across` makes a copy and counts its bytes, as if it crossed the bus.


# %%
def train_on(batches, copy_parameters):
    def across(tensor, to):
        moved.append(tensor.nbytes)
        return tensor.to(to, copy=True)

    net, losses, moved = pytorch.network(device), [], []
    host, optimiser = net.state_dict(), torch.optim.SGD(net.parameters(), lr=0.01)
    for rows in batches:
        if copy_parameters:
            net.load_state_dict({name: across(w, device) for name, w in host.items()})
        x = across(train.images[rows], device)
        losses.append(pytorch.step(net, optimiser, x, train.labels[rows]))
        if copy_parameters:
            host = {name: across(w, "cpu") for name, w in net.state_dict().items()}
    return losses, counted(sum(moved) / len(batches), "B", "`across`")


batches = torch.arange(5 * 64).split(64)
losses, copying = train_on(batches, copy_parameters=True)
same, staying = train_on(batches, copy_parameters=False)

# %% [markdown]
# How many bytes cross the bus in a step, and how long would the parameters take?
# Their time is predicted from the rate of the bus, PCIe.
# Beside it stands the whole step by lesson 3's roofline, without launches.

# %%
print("same losses:", np.allclose(losses, same, rtol=1e-4))
heads = ["parameters", "bytes in a step"]
figures.table(heads, [["copied there and back", copying], ["stay on the GPU", staying]])
parameters = copying.value - staying.value
rows = []
for gpu in map(hardware.machine, ("t4", "h200")):
    copies = predicted(parameters / bus(gpu).value, "s", "the rate of the bus")
    rows.append([gpu.name, copies, roof_time(gpu, convnet.layer_costs(64))])
figures.table(["GPU", "copying the parameters", "the step, at best"], rows)

# %% [markdown]
# **Verdict on C01: wrong.**
# Between two steps nobody on the host needs the parameters; copying them moves 6.55 times as many bytes here, for the same losses.
# <!-- holds: round(copying.value / staying.value, 2) == 6.55 and np.abs(np.divide(losses, same) - 1).max() < 1e-4 -->
#
# On an H200, copying them would take longer than the whole step at best.
# <!-- holds: float(rows[1][1]) > float(rows[1][2]) and float(rows[0][1]) < float(rows[0][2]) -->
# (ZeRO-Offload, which updates on the host to spare a GPU's memory, does copy them.)
#
# ### <a id="C29"></a>C29 on trial
#
# > Mixed precision and kernel fusion reduce memory and time
#
# First memory in **mixed precision**: under PyTorch's `autocast`, convolutions and linear layers compute in **bfloat16**, a float32 cut in half (a T4 has float16 instead).
# The picture shows what each layer keeps for the backward pass of 64 photographs, without the weights.
# An array that two layers keep counts once, at the first.
# Which will not shrink by half?
#
# The table below it shows time.
# In 16 bits half the bytes move, and **tensor cores** multiply, units for products of small matrices.
# In between stands **TF32** of newer GPUs: 4 bytes, of which the tensor cores read fewer digits.

# %% tags=["picture"]
x = train.images[:64].to(device)
SAVED = "adding up what autograd saves"
full = kept_by_layer(net, x)
half = kept_by_layer(net, x, sixteen_bits(device))
both = {}
for name in full:
    both[name] = counted(full[name], "B", SAVED), counted(half[name], "B", SAVED)
figures.pairs(both, ("float32", "16 bits"), "kept for the backward pass")
saved = counted(100 * (1 - half.total() / full.total()), "%", SAVED)
print("autocast saves", saved, "of", counted(full.total(), "B", SAVED))
convolutions = [cost for cost in convnet.layer_costs(64) if "conv" in cost.name]
kinds = [("t4", "fp32"), ("t4", "fp16"), ("h200", "fp32"), ("h200", "tf32"), ("h200", "fp16")]
times = {}
for key, kind in kinds:
    times[key, kind] = roof_time(hardware.machine(key), convolutions, kind)
figures.table(["GPU", "format", "convolutions, at best"], [[*kind, times[kind]] for kind in kinds])

# %% [markdown]
# What convolutions and ReLUs keep is halved.
# <!-- holds: all(abs(half[name] / full[name] - 0.5) < 0.02 for name in ("conv1", "conv2", "relu1", "relu2", "relu3")) -->
# But the pools keep the *place* of each maximum, an int64 of 8 bytes, and fc1 keeps a 16-bit copy of its weights.
# <!-- holds: half["pool1"] == full["pool1"] and half["fc1"] > full["fc1"] -->
#
# Next, fusion: bias, ReLU and pool after conv1, of two photographs.
# The bytes are those that each kernel must move even through a perfect cache, and the time is these bytes over the bandwidth of a T4's DRAM.
# The last column is what the whole network keeps, with PyTorch's layers or the course's fused kernels.
# `torch.compile` fuses by itself: below the table are the loops that it would run on a CPU.
# What do they write to memory and read again?

# %%
rng, t4 = np.random.default_rng(0), hardware.machine("t4")
x = rng.normal(size=(2, 32, 32, 32)).astype("float32")
b = rng.normal(size=32).astype("float32")
pooled, three = separate_kernels.three_kernels(x, b)
fused, one = separate_kernels.one_kernel(bias_relu_pool, x, b)
print("same result:", np.array_equal(pooled, fused))
rows = []
for name, profiles, whole in (("three kernels", three, theirs), ("one kernel", one, ours)):
    number = separate_kernels.moved(profiles)
    time = predicted(float(number) / float(t4.bandwidth), "s", "its bandwidth")
    x4, y4 = train.images[:4].to(device), train.labels[:4]
    _, kept = gradient_and_kept(whole, whole, x4, y4)  # a network, and its forward pass
    rows.append([name, number, time, counted(kept, "B", SAVED)])
figures.table(["", "moved", "time on a T4", "the network keeps, 4 photographs"], rows)
after_conv = lambda x, b: torch.max_pool2d(torch.relu(x + b[:, None, None]), 2)
print(inductor.compiled_loops(after_conv, torch.from_numpy(x), torch.from_numpy(b)))

# %% [markdown]
# In units of the large array, three kernels move $2 + 2 + 1.25$, and one kernel moves $1.25$: it reads the array and writes a quarter of it.
# <!-- holds: abs(float(rows[0][1]) / float(rows[1][1]) - (2 + 2 + 1.25) / 1.25) < 0.01 -->
# It also keeps no place of a maximum, but finds it again in the backward pass.
# The compiler's first nest of loops joins bias and ReLU, but writes the whole array `out_ptr0`, and the second reads it again to pool: $2 + 1.25$.
#
# These bytes are the DRAM's only if nothing of the array waits in the L2 cache for the next kernel.
# A T4's L2 has 4 MB: this array of two photographs has 0.26 MB and would stay there, that of 64 photographs has 8.4 MB and would not.
# In an H200's 50 MB both would stay; then fusion would spare traffic of L2 and launches, but little of the DRAM's.
#
# **Verdict on C29: holds if activations fill the memory, and time goes into DRAM traffic or products for tensor cores.**
# Autocast spared a third of what this network keeps, though nothing of its weights.
# <!-- holds: round(saved.value) in (31, 32, 33) -->
# Fusion spared a quarter of what is kept, and three quarters of the bytes after a convolution, but no arithmetic.
# No time was measured on a GPU.
# <!-- holds: round(4 * (1 - float(rows[1][3]) / float(rows[0][3]))) == 1 and round(4 * (1 - float(rows[1][1]) / float(rows[0][1]))) == 3 -->
#
# By the roofline, convolutions in 16 bits take 5 times less on a T4; on an H200 they take an eighth of the time of its ordinary cores, and still half of the time of TF32.
# <!-- holds: float(times["t4", "fp16"]) < 0.5 * float(times["t4", "fp32"]) -->
# <!-- holds: round(float(times["t4", "fp32"]) / float(times["t4", "fp16"])) == 5 -->
# <!-- holds: round(float(times["h200", "fp32"]) / float(times["h200", "fp16"])) == 8 -->
# <!-- holds: round(float(times["h200", "tf32"]) / float(times["h200", "fp16"])) == 2 -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = [
    ("copied parameters", bus_guess, counted(copying.value / staying.value, "times", "`across`"))
]
results.append(("kept in 16 bits", kept_guess, saved))
fusion = counted(float(rows[0][1]) / float(rows[1][1]), "times", "the SIMT machine")
results.append(("one kernel", fusion_guess, fusion))
figures.guesses(results)

# %% [markdown]
# The bus, by hand: 64 photographs are 64 · 3,072 · 4 = 786,432 bytes, and the parameters, twice, 2 · 545,098 · 4 = 4,360,784.
# These are 5,147,216 bytes instead of 786,432: 6.55 times as many.
# <!-- holds: staying.value == 64 * 3_072 * 4 == 786_432 and copying.value == 786_432 + 2 * 545_098 * 4 == 5_147_216 -->
#
# In 16 bits, half of all would be spared if every kept number were a float.
# But 6.3 of the 22.8 MB are the pools' int64, so only (22.8 - 6.3) / 2 = 8.3 MB are spared, and 1.1 MB of 16-bit weights are added: 7.2 MB less, or 31.5 %.
# <!-- holds: round((full["pool1"] + full["pool2"]) / 1e6, 1) == 6.3 and round(full.total() / 1e6, 1) == 22.8 and 7.1e6 < full.total() - half.total() < 7.3e6 -->
#
# ## On trial
#
# [C01](#C01) was wrong, and [C29](#C29) holds under conditions.
#
# ### Outside
#
# `torch.profiler`, which drew our timeline, does the same on a GPU, and NVIDIA's Nsight Systems shows the copies as well:
#
# ```
# nsys profile --trace=cuda,nvtx python my_script.py
# ```
#
# Of our numbers, they print the time of each operation and the bytes of each copy; the bytes of a kernel are Nsight Compute's (`ncu`).
# We left out what 16 bits do to the numbers: see lesson 13.
#
# ## Recap
#
# Bytes are the roofline's bound for pooling, ReLU and the update; parameters stay on the GPU, and only the input travels.
#
# **The rule to keep: what a kernel writes and the next one reads crosses the memory twice, written once and read once; bias, ReLU and pool move 5.25 arrays in three kernels, and 1.25 in one.**
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_stays", None)
# quiz("gpu.quiz_fusion", None)
# quiz("gpu.quiz_kept", None)
# BEGIN SOLUTION
quiz("gpu.quiz_stays", "d")
quiz("gpu.quiz_fusion", "b")
quiz("gpu.quiz_kept", "a")
# END SOLUTION
