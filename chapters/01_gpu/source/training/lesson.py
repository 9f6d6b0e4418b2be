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
#     number: 12
#     minutes: 45
#     needs: [torch, numba]
#     able: train the ConvNet, with PyTorch's layers and with your own; save bytes and time, and say which
#     runs_on: PyTorch; the SIMT machine, or a GPU
# ---

# %% [markdown]
# # Training
#
# **Where do the time, the memory and the energy of a training step go, and which remedies help?**
# You will train the network in PyTorch, then with an update kernel of your own, and put four promises on trial.
#
# ## What you will be able to do
#
# - write the update as a kernel, and three operations of a layer as one;
# - read the timeline of a step, and say what may overlap with what;
# - count what 16-bit numbers and fused kernels save;
# - train with a batch that does not fit into memory, and name the price.
#
# You need the layer costs and the roofline of lesson 1, and the kernels of lesson 4.
# The section *When memory is short* can wait for another day.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The network has 545,098 parameters, a photograph 3 x 32 x 32 numbers.
# A float32 takes 4 bytes.
#
# 1. In each step 64 photographs go to the GPU over the **bus**, the wires from the **host**, the processor with its memory.
#    If all parameters travel there *and back* as well, how many times as many bytes cross the bus as with the photographs alone?
# 2. Much of the forward pass is kept, because the backward pass needs it.
#    If the layers compute in 16 bits instead of 32, by what percentage does the kept memory shrink?
#    (Some of what is kept is not a float.)
# 3. Bias, ReLU and 2 x 2 max-pool as three kernels, or as one: how many times fewer bytes does the one move?

# %%
import os
import re
from collections import Counter, OrderedDict
from time import perf_counter

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint_sequential

from labkit import check, convnet, figures, hardware, hint, predict, quiz
from labkit.gpu.step_cost import Kept, Offload, bus, curves, gradient_and_kept, roof_time, with_peak
from labkit.provenance import counted, measured, predicted

os.environ["KINETO_LOG_LEVEL"] = "99"  # PyTorch's profiler shall not talk
# STUB:
# guesses = {
#     "bus": predict("gpu.copied_bytes", None, "times"),
#     "16 bits": predict("gpu.autocast_saves", None, "%"),
#     "fusion": predict("gpu.fusion_saves", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "bus": predict("gpu.copied_bytes", 2, "times"),
    "16 bits": predict("gpu.autocast_saves", 50, "%"),
    "fusion": predict("gpu.fusion_saves", 3, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The network in PyTorch
#
# The layers of lesson 1, always with the same fresh weights.
# If there is a CUDA GPU, everything below runs on it.

# %%
from labkit.datasets import cifar10
from labkit.gpu.training import feeding, tensors

device = tensors.kernel_device()  # "cuda" where a GPU runs the kernels, else "cpu"
torch.backends.cudnn.allow_tf32 = False  # float32 shall be float32
where = torch.cuda.get_device_name() if device == "cuda" else hardware.this_machine().name
data = cifar10("sample")  # 2,000 photographs to train, 500 to test
images, tests = (torch.tensor(convnet.normalise(s.images)) for s in (data.train, data.test))
labels, truth = (torch.tensor(s.labels).to(device) for s in (data.train, data.test))


def network():
    """x [N, 3, 32, 32]  ->  logits [N, 10]"""
    names = "conv1 relu1 pool1 conv2 relu2 pool2 flat fc1 relu3 fc2".split()
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    layers += [nn.Linear(4096, 128), nn.ReLU(), nn.Linear(128, 10)]
    net = nn.Sequential(OrderedDict(zip(names, layers, strict=True)))
    net.load_state_dict({name: torch.tensor(w) for name, w in convnet.init(seed=0).items()})
    return net.to(device)


# %% [markdown]
# A **step** on a batch has three parts: *forward* to the loss, *backward* to the gradients, and the *update* of the weights.
# We show each photograph twice, 64 in a step.
# How long does a step take?
# (The first is slow; the clock starts after it.
# `feeding.fed` brings each batch to the device, on a GPU while the step before it runs; how, you will see below.)


# %% tags=["timing", "nbval-ignore-output"]
def step(net, optimiser, x, y):
    loss = cross_entropy(net(x), y)  # forward
    loss.backward()
    optimiser.step()  # update
    optimiser.zero_grad()
    return loss.item()  # here the host waits for the GPU


net, _ = network(), torch.manual_seed(0)
optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
first, *batches = [b for _ in range(2) for b in torch.randperm(2000).split(64)]
losses = [step(net, optimiser, images[first].to(device), labels[first])]
start = perf_counter()
fetched = zip(feeding.fed(images, batches, device), batches, strict=True)
losses += [step(net, optimiser, x, labels[b]) for x, b in fetched]
print("a step:", measured((perf_counter() - start) / len(batches), "s", where))
right = (net(tests.to(device)).argmax(1) == truth).float().mean().item()
print(f"loss {losses[0]:.1f} to {losses[-1]:.1f};", counted(100 * right, "%", "comparing labels"))

# %% [markdown]
# Guessing would be right for 10 %.
# <!-- holds: right > 0.1 -->
#
# ### The timeline of a step
#
# PyTorch's profiler records every operation.
# We set each kind's share of the time beside its shares of the bytes and of the arithmetic, as lesson 1 counted them: as if no cache kept anything from one operation to the next.
# (With a GPU, the time is that of the kernels; the picture shows the host launching them.)

# %% tags=["picture", "nbval-ignore-output"]
from torch.profiler import profile as record

KINDS = {"convolution": "conv", "pool": "pool", "ReLU": "relu", "linear": "linear|addmm|fc"}
kind_of = lambda name: next((k for k, w in KINDS.items() if re.search(w, name, re.I)), "other")
with record() as recorded:
    step(net, optimiser, images[:64].to(device), labels[:64])
parts, times, moved, flops = {}, Counter(), Counter(), Counter()
for e in recorded.events():
    if e.cpu_parent is None and e.device_type.name == "CPU":  # inside of no other operation
        kind, span = kind_of(e.name), e.time_range
        part = {"autog": "backward", "Optim": "update"}.get(e.name[:5], "forward")
        parts.setdefault(part, []).append((kind, span.start / 1e6, span.end / 1e6))
        times[kind] += span.elapsed_us() if device == "cpu" else e.device_time_total
for cost in convnet.layer_costs(64):
    flops[kind_of(cost.name)] += float(cost.flops)
    moved[kind_of(cost.name)] += float(cost.bytes)
for k in KINDS:
    time, size, work = (100 * n[k] / n.total() for n in (times, moved, flops))
    print(f"{k:11} {time:3.0f} % of the time, {size:3.0f} % of bytes, {work:5.1f} % of the FLOP")
figures.timeline(parts, f"measured on {hardware.this_machine().name}")

# %% [markdown]
# **Less than 1 % of the arithmetic does not explain the time of pooling and ReLU.**
# <!-- holds: flops["pool"] + flops["ReLU"] < 0.01 * flops.total() -->
# ReLU moves the most bytes.
# <!-- holds: moved["ReLU"] == max(moved.values()) -->
# The pools move half as many: where they take longer than ReLU, their kernel is slow.
# <!-- holds: 0.45 < moved["pool"] / moved["ReLU"] < 0.55 -->
# On a GPU bytes should decide.
#
# ### The update
#
# Each parameter $p$ has a gradient $g$ and a velocity $v$, which remembers the steps before.
# $\eta$ is the learning rate `lr`, $\mu$ the `momentum`:
#
# $$v \leftarrow \mu\, v + g \qquad\qquad p \leftarrow p - \eta\, v$$
#
# **Exercise `gpu.sgd_momentum`**: both lines, in place: `v` and `p` hold the old values and receive the new ones.
# Blocks have 128 threads, one for each parameter; mind the last block.


# %% tags=["exercise:gpu.sgd_momentum"]
from labkit.gpu import cuda, profile


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
# Three kernels would each read a large array and write one; a single kernel can keep what comes in between in its registers.
# That is **fusion**:
#
# $$y_{nkpq} = \max\bigl(0,\; b_k + \max_{r,s \,\in\, \{0,1\}} x_{n,\;k,\;2p+r,\;2q+s}\bigr)$$
#
# (The same $b_k$ for all four pixels does not change which is largest, so the bias may wait.)
#
# **Exercise `gpu.bias_relu_pool`**: one thread for each output, blocks of 16 x 8 threads.
# `cuda.grid(3)` gives the place along x, y and z.
# Here x counts $q$, y counts $p$, and z counts the `N * K` maps: map $k$ of image $n$ is number `n * K + k`.
# If H or W is odd, the last row or column is in no window, so the guard compares with `y.shape`.
# Load each pixel once, write `y` once.
# `ZERO` is a float32; `0.0` would be a float64.


# %% tags=["exercise:gpu.bias_relu_pool"]
import numpy as np

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
# ### A batch in pieces
#
# A batch that does not fit into memory can be cut into *micro-batches*.
# PyTorch's loss is a mean, so each piece gives the gradient of *its* mean.
# The gradient of the mean over all $N$ images is wanted:
#
# $$L = \frac1N \sum_{i=1}^{N} \ell_i$$
#
# **Exercise `gpu.accumulate`**: one line; `total` is an array.
# Row $m$ of `gradients` belongs to piece $m$, which has `sizes[m]` images; the last piece is often shorter.
# How much does an image weigh in the mean of all, and how much in the mean of its piece?
# (Write the sum out: `check` refuses `np.average`.)


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
# Does your update train the real network?
# `labkit.gpu.training.autograd.ConvNet` is the same network.
# PyTorch remembers the order of the layers, but forward and backward are kernels of the course, such as those of lessons 6 and 7; `launches` counts them by layer.
# Three steps of 4 photographs, beside PyTorch:

# %%
from labkit.gpu.training.autograd import ConvNet
from labkit.gpu.training.autograd import cross_entropy as our_loss
from labkit.gpu.training.tensors import flat, launch, launches

ours, theirs = ConvNet(convnet.init(seed=0)).to(device), network()
optimiser = torch.optim.SGD(theirs.parameters(), lr=0.01, momentum=0.9)
velocity = {p: torch.zeros_like(p) for p in ours.parameters()}
gaps, rates = [], (np.float32(0.01), np.float32(0.9))
launches.clear()
for batch in torch.arange(12).split(4):
    x, y = images[batch].to(device), labels[batch]
    loss = our_loss(ours(x), y)
    gradients = torch.autograd.grad(loss, [*velocity])
    for (p, v), g in zip(velocity.items(), gradients, strict=True):
        plan = sgd_momentum, -(-p.numel() // 128), 128  # kernel, blocks, threads
        launch(plan, flat(p), flat(g), flat(v), *rates, layer="update")
    gaps.append(abs(loss.item() / step(theirs, optimiser, x, y) - 1))
print(f"same losses as PyTorch, within 1 in 10,000: {max(gaps) < 1e-4}")
names = (layer.split()[0] for (layer, _), n in launches.items() for _ in range(n // 3))
print("launches in a step:", *(f"{name} {n}" for name, n in Counter(names).items()), sep="  ")

# %% [markdown]
# The losses are PyTorch's.
# The bias of `conv1` is added in `pool1`, in a fused kernel like yours.
# The update runs once for each of 8 arrays.
#
# ## Measure
#
# ### <a id="C01"></a>C01 on trial
#
# > A training step copies parameters to the GPU, runs forward and backward, then copies the updated parameters back, and repeats
#
# Run it as printed, and with the parameters staying where they are.
# `move` counts what would cross the bus.
# The last two lines are predicted, from the rate of the bus, PCIe, and from lesson 1's roofline, which leaves out launches.


# %%
def train(copies):
    net, losses, moved = network(), [], []
    move = lambda tensor, to: moved.append(tensor.nbytes) or tensor.to(to, copy=True)
    host, optimiser = net.state_dict(), torch.optim.SGD(net.parameters(), lr=0.01)
    for batch in torch.arange(5 * 64).split(64):
        if copies:
            net.load_state_dict({name: move(w, device) for name, w in host.items()})
        losses.append(step(net, optimiser, move(images[batch], device), labels[batch]))
        if copies:
            host = {name: move(w, "cpu") for name, w in net.state_dict().items()}
    return losses, counted(sum(moved) / 5, "B", "`move`, in each step")


(losses, copying), (same, staying) = train(copies=True), train(copies=False)
print("same losses:", np.allclose(losses, same, rtol=1e-4))
print("copying:", copying, "\nstaying:", staying)
for gpu in map(hardware.machine, ("t4", "h200")):
    copies = predicted((copying.value - staying.value) / bus(gpu).value, "s", "the bus").number
    whole = roof_time(gpu, convnet.layer_costs(64)).number
    print(f"{gpu.name}: copying the parameters {copies}, the step at best {whole} (predicted)")

# %% [markdown]
# **Verdict on C01: wrong.**
# Between two steps nobody on the host needs the parameters; copying them moves 6.55 times as many bytes here, for the same losses.
# <!-- holds: round(copying.value / staying.value, 2) == 6.55 -->
# <!-- holds: np.abs(np.divide(losses, same) - 1).max() < 1e-4 -->
#
# They stay on the GPU; only the input travels.
# (There is one case in which gradients and parameters do travel: if a GPU's memory cannot hold the optimiser's state, ZeRO-Offload keeps it on the host and updates there.
# You will meet it in a moment.)
#
# ### <a id="C36"></a>C36 on trial
#
# > Run forward, backward and update asynchronously to overlap them
#
# What can overlap with what?
# The backward pass begins at the loss, which the forward pass computes last; the update needs the gradients.
# So within one step they wait for each other.
# Only a layer's own update may start before the backward pass has reached the layers in front of it, and that changes no number.
#
# Two steps can overlap: the next forward pass begins at once, with the *old* weights, while the update still runs.
# Then each gradient is used one step late.
# Does a network still learn so?
# An experiment of 40 steps suggests that it hardly does: at a rate of 0.01 its loss is then still near $\ln 10 = 2.3$, which guessing gives as well.
# Let us not stop there: 160 steps of 16 photographs, at two rates.
# `wait_for` says for how many steps at the start the update is still waited for.
# What do you expect?


# %% tags=["picture", "nbval-ignore-output"]
def late_training(rate, wait_for):
    """The losses of 160 steps; from step `wait_for` on, each gradient is used one step late."""
    net, late, losses = network(), None, []
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for number, batch in enumerate((torch.arange(160 * 16) % 2000).split(16)):
        loss = cross_entropy(net(images[batch].to(device)), labels[batch])
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, [*net.parameters()])
        ready, late = (late, gradients) if number >= wait_for else (gradients, None)
        if ready:  # when overlapping begins, none is
            for w, g in zip(net.parameters(), ready, strict=True):
                w.grad = g
            optimiser.step()
    return losses


ways = [("waiting", 160), ("one step late", 0), ("late from step 40 on", 40)]
runs = {(rate, name): late_training(rate, n) for rate in (0.01, 0.003) for name, n in ways}
curves(runs)

# %% [markdown]
# **With late gradients the network learns, only later.**
# <!-- holds: all(np.mean(runs[rate, "waiting"][-40:]) + 0.1 < np.mean(runs[rate, "one step late"][-40:]) < np.log(10) - 0.1 for rate in (0.01, 0.003)) -->
# It is another algorithm, and it bears no rate as large: at 0.02 it learns nothing in 160 steps, where the one who waits still learns (try it).
# And it loses much in the first steps, where the gradients change fast.
# At 0.003, who waits for 40 steps and overlaps only then stays close to the one who always waits.
# <!-- holds: np.mean(runs[0.003, "late from step 40 on"][-40:]) < 1.1 * np.mean(runs[0.003, "waiting"][-40:]) -->
#
# Practice knows all of this, and pays the price where another processor does the work meanwhile:
#
# | method | what runs at the same time | how old the weights are |
# |---|---|---|
# | ZeRO-Offload (Ren et al., USENIX ATC 2021) | the update on the host, the next step on the GPU | one step; not in the first steps |
# | PipeDream-2BW (Narayanan et al., ICML 2021) | forward and backward passes of several pieces, on GPUs with some layers each | one step |
# | Hogwild (Recht et al., NeurIPS 2011) | the steps of several workers, on shared weights | as it happens |
#
# On *one* GPU the update and the next forward pass share the same multiprocessors and the same memory.
# And there is little to win: by the roofline the update takes 5 % of a step on a T4, and 4 % on an H200 (predicted).
# <!-- holds: round(100 * float(roof_time(hardware.machine("t4"), convnet.layer_costs(64), only=["update"])) / float(roof_time(hardware.machine("t4"), convnet.layer_costs(64)))) == 5 -->
# <!-- holds: round(100 * float(roof_time(hardware.machine("h200"), convnet.layer_costs(64), only=["update"])) / float(roof_time(hardware.machine("h200"), convnet.layer_costs(64)))) == 4 -->
#
# "Asynchronously" can mean something else: the host queues kernels and runs ahead of the GPU, until it wants a number, as `.item()` does.
# That hides launches, but the kernels still run one after the other.
#
# What may overlap without changing a number is what does not need the step's results: the *next* input.
# From **pinned** memory, which stays in its place, the GPU fetches it by itself (`x.pin_memory()`, then `.to("cuda", non_blocking=True)`); on a second **stream**, a queue of work, it does so while kernels run.
# `labkit.gpu.training.feeding.fed` does both, with memory that is pinned once; the stream that computes waits for the copy (`wait_stream`), and PyTorch is told which stream uses it (`record_stream`), or it would give its memory away too early.
# Four steps on a T4, in turn and overlapped.
# (If you have a GPU, its own copy is timed below the picture.)

# %% tags=["timing", "picture", "nbval-ignore-output"]
from timeit import timeit

raw, t4 = data.train.images[:64], hardware.machine("t4")
prepare = min(timeit(lambda: convnet.normalise(raw), number=1) for _ in range(20))
copy = images[:64].nbytes / float(bus(t4))
stages = [("prepare", "host, measured", prepare), ("copy", "bus, predicted", copy)]
for part, names in ("forward", ["forward"]), ("backward", ["dX", "dW"]), ("update", ["update"]):
    seconds = float(roof_time(t4, convnet.layer_costs(64), only=names))
    stages.append((part, "T4, predicted", seconds))
rows = {}
for how in ("in turn", "overlapped"):
    spans = figures.pipeline(stages, rounds=4, overlapped=how == "overlapped")
    rows |= {f"{how}: {worker}": spans[worker] for worker in spans}
figures.timeline(rows, "partly measured, partly predicted")
print("preparing 64 photographs:", measured(prepare, "s"))
if device == "cuda":
    pinned, wait = images[:64].pin_memory(), torch.cuda.synchronize
    with torch.cuda.stream(torch.cuda.Stream()):
        fetch = timeit(lambda: (pinned.to(device, non_blocking=True), wait()), number=50) / 50
    print("copying them from pinned memory:", measured(fetch, "s", where))

# %% [markdown]
# **Verdict on C36: holds if gradients may be a step late.**
# Within one step, only the update of a layer whose gradient is ready can overlap.
# Across steps all can, with old weights, and after as many steps our loss was higher.
# <!-- holds: min(np.mean(runs[rate, "one step late"][-40:]) / np.mean(runs[rate, "waiting"][-40:]) for rate in (0.01, 0.003)) > 1.05 -->
#
# Preparing and copying the next input overlap with a step, and change no number.
# The slowest row then sets the pace.
#
# ### <a id="C29"></a>C29 on trial
#
# > Mixed precision and kernel fusion reduce memory and time
#
# First 16 bits.
# Under `autocast`, PyTorch computes convolutions and linear layers in **bfloat16**: a float32 cut in half, with its range, but 8 bits of precision.
# (A T4 has float16 instead.
# What trains in float16 needs its loss scaled, by `torch.amp.GradScaler`, or small gradients become 0.)
# `Kept` counts what each layer keeps for the backward pass, weights apart; what two layers share counts for the first.
# Which will not shrink by half?
#
# The predicted times are those of the convolutions.
# In fp32 they use the ordinary cores of a GPU.
# In fp16 its **tensor cores** work, units that multiply small matrices, and all bytes of a convolution are halved.
# In between stands **TF32** of newer GPUs: numbers of 4 bytes, of which the tensor cores read only the first 10 bits behind the point.
# It is what PyTorch's convolutions use by default on an H200; this lesson has switched it off at its start.

# %% tags=["picture"]
old = device == "cuda" and torch.cuda.get_device_capability() < (8, 0)
short = torch.float16 if old else torch.bfloat16
kept = {dtype: Kept(net) for dtype in (torch.float32, short)}
for dtype, counter in kept.items():
    x = images[:64].to(device)
    with counter, torch.autocast(device, short, enabled=dtype is short):
        for counter.layer, layer in net.named_children():
            x = layer(x)
full, half = (counter.bytes for counter in kept.values())
pairs = {n: tuple(counted(k[n], "B", "`Kept`") for k in (full, half)) for n in full}
figures.pairs(pairs, ("float32", "16 bits"), "kept for the backward pass")
saved = counted(100 * (1 - half.total() / full.total()), "%", "`Kept`")
print(f"{counted(full.total(), 'B', '`Kept`')} in float32; autocast saves {saved}")
convolutions = [c for c in convnet.layer_costs(64) if "conv" in c.name]
for gpu in map(hardware.machine, ("t4", "h200")):
    for low in ("fp32", "tf32", "fp16"):
        if low in gpu.peak:
            print(f"{gpu.name}: convolutions in {low} at best", roof_time(gpu, convolutions, low))
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    print(f"{str(dtype)[6:]:9} 1 + 0.001 = {torch.tensor(1, dtype=dtype) + 0.001:.3f}")

# %% [markdown]
# What convolutions and ReLUs keep is halved.
# <!-- holds: all(abs(half[name] / full[name] - 0.5) < 0.02 for name in ("conv1", "conv2", "relu1", "relu2", "relu3")) -->
# The pools keep the *place* of each maximum as an int64, 8 bytes long; `fc1` keeps a 16-bit copy of its weights.
# <!-- holds: half["pool1"] == full["pool1"] and half["fc1"] > full["fc1"] -->
#
# The last lines show why weights stay float32: in bfloat16, a step of 0.001 leaves a weight of 1 unchanged.
#
# Next, fusion: bias, ReLU and pool after `conv1` of two photographs.
# `compulsory_bytes` is what each kernel must move even through a perfect cache; the time is these bytes over the bandwidth of the T4's DRAM.
# "Kept" counts the whole network with four photographs.
# `torch.compile` fuses by itself: in the loops that it would run on a CPU, what is written to memory and read again?

# %%
from labkit.gpu.kernels import pointwise, pooling
from labkit_lessons.gpu.training.inductor import compiled_loops

shape, pooled, rng = (2, 32, 32, 32), (2, 32, 16, 16), np.random.default_rng(0)
x, b = (rng.normal(size=size).astype("float32") for size in (shape, 32))
biased, positive, y, fused = (np.zeros(s, "float32") for s in (x.size, shape, pooled, pooled))
three = [
    profile(*pointwise.plan_bias_add(2, 32, 32 * 32), x.ravel(), b, biased),
    profile(*pointwise.plan_relu(x.size), biased, positive.ravel()),
    profile(*pooling.plan_maxpool2d(shape), positive, y),
]
separate = sum(p.counters["compulsory_bytes"] for p in three)
together = profile(bias_relu_pool, (1, 2, 64), (16, 8), x, b, fused).counters["compulsory_bytes"]
print("same result:", np.array_equal(y, fused))
for name, n, whole in (("three kernels", separate, theirs), ("one kernel", together, ours)):
    _, kept = gradient_and_kept(whole, whole, images[:4].to(device), labels[:4])
    print(f"{name}: {counted(n, 'B', 'the SIMT machine')}; kept: {counted(kept, 'B', '`Kept`')}")
    print("    on a T4", predicted(n / float(t4.bandwidth), "s", "its bandwidth"))
after_conv = lambda x, b: torch.max_pool2d(torch.relu(x + b[:, None, None]), 2)
print("\nPyTorch's compiler:", compiled_loops(after_conv, *map(torch.from_numpy, (x, b))), sep="\n")

# %% [markdown]
# The compiler's first nest of loops fuses bias and ReLU, but writes the whole array `out_ptr0`; the second reads it again to pool.
# In units of this array, three kernels move 2 + 2 + 1.25, the compiler 2 + 1.25, one kernel 1.25.
# <!-- holds: abs(separate / together - (2 + 2 + 1.25) / 1.25) < 0.01 -->
#
# These bytes are the DRAM's only if nothing of the array waits in the L2 cache for the next kernel.
# A T4's L2 has 4 MB: the array of these two photographs has 0.26 MB and would stay there, that of 64 photographs has 8.4 MB and would not.
# In an H200's 50 MB both would stay, and fusion would spare traffic of L2 and launches, but little of the DRAM's.
#
# **Verdict on C29: holds if activations fill the memory, and time goes into DRAM traffic or products for tensor cores.**
# Autocast spared a third of what this network keeps.
# Fusion spared a quarter, and three quarters of the bytes after a convolution, but no arithmetic.
# <!-- holds: round(saved.value) in (31, 32, 33) -->
# <!-- holds: round(4 * (1 - together / separate)) == 3 -->
# The times are predictions.
#
# In 16 bits the convolutions take 5 times less on a T4; on an H200 8 times less than on its ordinary cores, but only half as long as in TF32.
# <!-- holds: round(float(roof_time(t4, convolutions, "fp32")) / float(roof_time(t4, convolutions, "fp16"))) == 5 -->
# <!-- holds: round(float(roof_time(gpu, convolutions, "fp32")) / float(roof_time(gpu, convolutions, "fp16"))) == 8 -->
# <!-- holds: round(float(roof_time(gpu, convolutions, "tf32")) / float(roof_time(gpu, convolutions, "fp16"))) == 2 -->
# And memory is spared among what is kept, not among the weights: to those in float32 come their 16-bit copies.
#
# ### When memory is short
#
# A smaller batch has another gradient.
# Three ways to the *same* gradient of 64 photographs in less memory: **Micro-batches** use your `accumulate`.
# **Checkpointing** keeps only the input of a block (convolution, ReLU, pool) and computes the block again in the backward pass.
# **Offloading** sends what is kept to the host.
# What comes back at one time needs room as well.

# %%
x, y, offload = images[:64].to(device), labels[:64], Offload(net, device)
blocks = lambda x: checkpoint_sequential(net, 3, x, use_reentrant=False)
ways = {  # forward pass, photographs in a piece, bytes that come back at once
    "all at once": (net, 64, 0),
    "micro-batches": (net, 24, 0),
    "checkpointing": (blocks, 64, full["relu1"] + full["pool1"]),
    "offloading": (offload, 64, max(full.values())),
}
whole, _ = gradient_and_kept(net, net, x, y)
for name, (forward, size, back) in ways.items():
    pieces = torch.arange(64).split(size)
    results = [gradient_and_kept(net, forward, x[p], y[p]) for p in pieces]
    total = accumulate(np.array([g for g, _ in results]), [len(p) for p in pieces])
    kept, back = (counted(n, "B", "`Kept`") for n in (max(k for _, k in results), back))
    same = np.allclose(total, whole, atol=1e-5)
    print(f"{name:14}{kept}, comes back {back.number}, same gradient: {same}")
again = roof_time(t4, convnet.layer_costs(64)[:6], only=("forward",)).number
back = predicted(offload.moved / bus(t4).value, "s", "the bus").number
moved = counted(offload.moved, "B", "`Offload`").number
print(f"on a T4: computing again {again}, moving {moved} there and back {back} (predicted)")

# %% [markdown]
# Micro-batches cost launches, and small kernels use a GPU badly.
# Checkpointing costs a second forward pass.
# Offloading crosses the bus, which takes many times longer.
# <!-- holds: offload.moved / bus(t4).value > 10 * float(roof_time(t4, convnet.layer_costs(64)[:6], only=("forward",))) -->
# (Like PyTorch's own `save_on_cpu`, it also sends weights, and twice what two layers share.)
#
# ## Explain
#
# ### <a id="C37"></a>C37 on trial
#
# > GPUs are far more energy-efficient than CPUs for training
#
# Energy is power times time.
# On the left, what data sheets promise: peak arithmetic per joule.
# On the right, the step of 64 photographs: the roofline's time, and its energy at full published power, without the host that a GPU needs.
#
# The gains are over a laptop's processor, an AMD Ryzen 5 5500U with 6 cores.
# Its data sheet gives 15 W and a base clock of 2.1 GHz.
# At its highest clock of 4 GHz it would promise twice as much, but 15 W do not sustain that on all cores, so the base clock counts here.
# Of the GPUs you see the ordinary cores (`fp32`) and the tensor cores (`tf32`, `fp16`).
# The picture shows your guesses.

# %%
base_clock = predicted(6 * 2.1e9 * 2 * 8 * 2, "FLOP/s", "cores, Hz, FMA units, lanes, 2 FLOP")
laptop = with_peak(hardware.machine("laptop_cpu"), "fp32", base_clock)
rows = [(laptop, "fp32"), (t4, "fp32"), (t4, "fp16")]
rows += [(hardware.machine("h200"), kind) for kind in ("fp32", "tf32", "fp16")]
costs, first = convnet.layer_costs(batch=64), None
flops = sum(float(cost.flops) for cost in costs)
print(f"{'':16}{'data sheet':>18}{'predicted':>37}")
print(f"{'':16}{'FLOP/J':>10}{'gain':>8}{'step':>10}{'of peak':>10}{'energy':>9}{'gain':>8}")
for machine, kind in rows:
    peak, power = machine.rate(kind).value, machine.power.value
    seconds = roof_time(machine, costs, kind)
    best, joule = peak / power, power * seconds.value
    first = first or (best, joule)  # the laptop's
    promise = f"{best / 1e9:9.0f} G {best / first[0]:6.1f}x"
    used = f"{seconds.number:>9} {100 * flops / seconds.value / peak:6.0f} %"
    energy = f"{1e3 * joule:7.1f} mJ {first[1] / joule:6.1f}x"
    print(f"{machine.key:10} {kind} {promise} {used} {energy}")
results = [counted(copying.value / staying.value, "times", "`move`"), saved]
results.append(counted(separate / together, "times", "the SIMT machine"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **Verdict on C37: holds if tensor cores do the work, in TF32 or 16 bits, and are kept busy.**
# An H200's data sheet then promises 26 or 53 times as much arithmetic per joule as a laptop's processor at its base clock, but less than 4 times without tensor cores.
# <!-- holds: [round(machine.rate(kind).value / machine.power.value / first[0]) for kind in ("tf32", "fp16")] == [26, 53] -->
# <!-- holds: machine.rate("fp32").value / machine.power.value < 4 * first[0] -->
#
# For this network's step the roofline predicts much less: at best 3 times without tensor cores, 5 in TF32, 9 or 10 in 16 bits.
# <!-- holds: [round(first[1] / (machine.power.value * float(roof_time(machine, costs, kind)))) for kind in ("fp32", "tf32")] == [3, 5] -->
# <!-- holds: 9 < first[1] / (machine.power.value * float(roof_time(machine, costs, "fp16"))) < 10 -->
# There the DRAM sets the time of most layers, and leaves most of the peak unused.
# On either side a real program reaches only a part of its peak.
# The host that a GPU needs adds its own power.
# And a processor with matrix units of its own, such as Intel's AMX, would promise more than ours.
# Nothing here was measured on a GPU.
#
# ## On trial
#
# [C01](#C01) was wrong; [C36](#C36), [C29](#C29) and [C37](#C37) hold under conditions.
#
# ## Recap
#
# - **A step is a chain**: forward, backward, update.
#   The next input may overlap with it; the next step may with old weights alone, and learns later.
# - **Bytes** are the roofline's bound for pooling, ReLU and the update; fusion and 16 bits spare bytes.
# - **float32 stays** where small numbers are added: in the weights.
# - **Memory** can be bought with launches, with arithmetic, or with the bus.
#
# You can now write a network's update as a kernel, read the timeline of its step, and predict what a remedy will save.
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
