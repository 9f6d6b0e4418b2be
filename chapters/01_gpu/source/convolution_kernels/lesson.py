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
#     title: Convolution kernels, forward and backward
#     number: 8
#     minutes: 45
#     needs: [numba, torch]
#     able: turn the sums of y, dX and dW into kernels, plug them into PyTorch, and train with them
#     runs_on: the SIMT machine, or a GPU
# ---

# %% [markdown]
# # Convolution kernels, forward and backward
#
# **How does the formula of a gradient become a kernel that trains a network?**
# You will write the three sums of a convolution as three kernels and train with them.
# Then you will compute one with far less traffic.
#
# ## What you will be able to do
#
# - read off a formula who owns a result, and let one thread or one block collect it;
# - turn "every output sends a share to its pixels" into "every pixel collects", without atomics;
# - let a block add up one long sum;
# - prove that forward and backward kernels belong together, and train with them in PyTorch;
# - compute a convolution as a matrix product whose matrix is never built, and say what that saves.
#
# You need lesson 1's three sums, lesson 4's tree sum and races, lesson 6's tile.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The letters are lesson 1's: `x[N,C,H,W]`, `w[K,C,R,S]`, `y[N,K,P,Q]`, stride, padding $\pi$.
# `conv1` takes 3 channels of 32 x 32 pixels to 32 channels, `conv2` takes 32 channels of 16 x 16 to 64; both have 3 x 3 taps and padding 1.
# Guess three numbers:
#
# 1. A training step of 32 images.
#    How many products add up to the gradient of *one* weight of `conv2`, the middle tap of a kernel?
#    (The outer taps have fewer, since they also see the frame.)
# 2. An H200 has 132 multiprocessors, each of which holds up to 2,048 threads at a time.
#    With one thread for each weight of `conv1`, what percentage of them has work?
# 3. `conv2` forward, once with one thread per output, once with lesson 6's tiles of 32 x 32.
#    By what factor does the traffic fall?
#    (Count all sectors that the warps' requests touch, as if no cache kept anything.)

# %%
import numpy as np
import torch
from torch import nn

from labkit import check, convnet, datasets, figures, hardware, hint, predict, quiz, reference
from labkit.gpu import cuda, profile
from labkit.gpu.kernels.direct_convolution import output_shape
from labkit.gpu.kernels.reductions import block_sum
from labkit.gpu.training.tensors import as_argument, kernel_device
from labkit_lessons.gpu.convolution_kernels.exercises import pixel_of

# STUB:
# guesses = {
#     "products": predict("gpu.products_per_weight", None, "products"),
#     "threads": predict("gpu.busy_threads", None, "%"),
#     "tiles": predict("gpu.implicit_saves", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "products": predict("gpu.products_per_weight", 288, "products"),
    "threads": predict("gpu.busy_threads", 10, "%"),
    "tiles": predict("gpu.implicit_saves", 9, "times"),
}
# END SOLUTION
zero, random = np.float32(0), np.random.default_rng(0)
device = kernel_device()  # "cuda" where a GPU runs the kernels, else "cpu"
arrays = lambda *tensors: [as_argument(a.detach().contiguous()) for a in tensors]

# %% [markdown]
# ## Build
#
# ### One list of products, three ways to add it up
#
# Output $p$ sees pixel $h$ through tap $r$ if $p\cdot\mathrm{stride} + r - \pi = h$.
# Each such triple is **one product in each of the three sums**.
# In the last column: $p = 2$, $r = 0$, $h = 1$, with stride 1 and padding 1.
#
# | sum | its product | collected for | for instance |
# |---|---|---|---|
# | forward | $w_r\, x_h$ | the output $p$ | $w_0\, x_1$, for $y_2$ |
# | `dx` | $\mathrm{dy}_p\, w_r$ | the pixel $h$ | $\mathrm{dy}_2\, w_0$, for $\mathrm{dx}_1$ |
# | `dw` | $\mathrm{dy}_p\, x_h$ | the tap $r$ | $\mathrm{dy}_2\, x_1$, for $\mathrm{dw}_0$ |
#
# The picture shows the triples of 6 pixels and 3 taps.
# All three kernels walk over the same cells; they differ in who collects.
# Set `stride=2` and run it again: now some columns are emptier than others.

# %% tags=["picture"]
figures.three_sums(pixels=6, taps=3, stride=1, padding=1)

# %% [markdown]
# So give each result an owner, who alone writes it.
# **An owner reads what it likes and writes only what is its own: no race, no atomics.**
#
# In four dimensions the owner first asks: which result is mine?
# `place` takes the thread's number `i` apart, the last index running fastest.
# So neighbouring threads own neighbours in memory.
# Run it, and change the 37.


# %%
@cuda.jit(device=True)
def place(i, a):
    """The four indices of element number i of a"""
    B, C, D = a.shape[1], a.shape[2], a.shape[3]
    return i // (B * C * D), i // (C * D) % B, i // D % C, i % D


@cuda.jit
def show_place(i, a, found):
    found[0], found[1], found[2], found[3] = place(i, a)


found = np.zeros(4, np.int64)
show_place[1, 1](37, np.zeros((2, 3, 4, 5)), found)
print("element 37 of [2, 3, 4, 5] is", found)

# %% [markdown]
# ### Forward: a thread owns an output
#
# $$y_{nkpq} = b_k + \sum_{c}\sum_{r}\sum_{s} w_{kcrs}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# There is no padded image: a pixel outside of `x` is 0, so its product is left out.
# Beware of row $-1$: in a kernel, as in NumPy, it is the *last* row.
# `0 <= h < size` works in kernels too.
#
# **Exercise `gpu.conv2d_kernel`**, three lines: the pixel's row `h` and column `v`; a guard; the addition.
# Launched with blocks of 128 threads.
# Each thread owns its output, so no addition is atomic.
# Stuck?
# Run `hint("gpu.conv2d_kernel")` in a new cell, then `hint(..., 2)` and `hint(..., 3)`.


# %% tags=["exercise:gpu.conv2d_kernel"]
@cuda.jit
def conv2d_kernel(x, w, b, stride, padding, y):
    """x [N, C, H, W], w [K, C, R, S], b [K]  ->  y [N, K, P, Q], float32"""
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    # STUB:
                    # pass  # add one product to total
                    # BEGIN SOLUTION
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
                    # END SOLUTION
        y[n, k, p, q] = total


conv2d_kernel = check("gpu.conv2d_kernel", conv2d_kernel)

# %% [markdown]
# ### Backward to the image: scatter
#
# Lesson 1 sent every output's share back to the pixels it had seen, with `+=`.
# As a kernel: a thread owns a `dy` and adds to pixels that are not its own.
# Below it runs with a plain `+=`, then with an atomic one, from 8 channels of 6 x 6 `dy` back to 2 channels of 6 x 6 pixels.
# Before you run it: how many atomic additions?


# %%
@cuda.jit
def scatter(dy, w, stride, padding, atomic, dx):
    n, k, p, q = place(cuda.grid(1), dy)  # 9 blocks of 32: just as many threads as dy
    for j in range(w.shape[1] * w.shape[2] * w.shape[3]):
        _, c, r, s = place(j, w)
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < dx.shape[2] and 0 <= v < dx.shape[3]:
            if atomic:
                cuda.atomic.add(dx, (n, c, h, v), dy[n, k, p, q] * w[k, c, r, s])
            else:
                dx[n, c, h, v] += dy[n, k, p, q] * w[k, c, r, s]


dy, w = (random.standard_normal(s, dtype=np.float32) for s in [(1, 8, 6, 6), (8, 2, 3, 3)])
expected = reference.conv2d_backward(dy, np.zeros((1, 2, 6, 6)), w, 1, 1)[0]
for atomic in (False, True):
    dx = np.zeros((1, 2, 6, 6), np.float32)  # nobody owns a pixel, so somebody must clear it
    p = profile(scatter, 9, 32, dy, w, 1, 1, atomic, dx)
    n, right = p.counters["atomic_lanes"], np.allclose(dx, expected, atol=1e-3)
    print(f"{n:,} atomic additions, right: {right}", *p.hazards[:1], "", sep="\n")

# %% [markdown]
# Per axis, 16 of the 6 x 3 pairs of output and tap lead to a pixel, the other 2 into the frame: 16 x 16 x 8 x 2 = 4,096.
# <!-- holds: p.counters["atomic_lanes"] == 16 * 16 * 8 * 2 == 4_096 -->
# The plain `+=` is right here by luck of the order, as in lesson 4; the hazard stays.
#
# Atomics cure the race, at a price.
# They are done in the L2 cache, where additions to one pixel wait for each other.
# And nothing fixes their order, which may change from run to run.
# Another order rounds differently, so two runs of one training can drift apart.
#
# ### Backward to the image: gather
#
# Turn the question round.
# A thread owns pixel $(h, v)$ and asks each tap: *which output saw me through you?*
# Solve $p\cdot\mathrm{stride} + r - \pi = h$ for $p$:
#
# $$\mathrm{dx}_{nchv} = \sum_{k,r,s} \mathrm{dy}_{nkpq}\, w_{kcrs} \qquad p = \frac{h + \pi - r}{\mathrm{stride}},\quad q = \frac{v + \pi - s}{\mathrm{stride}}$$
#
# A term exists only if both divisions leave no remainder and there is an output $(p, q)$.
# (The picture: stride 2, no padding.)
#
# **Exercise `gpu.conv2d_dx_kernel`**, four lines or so; the owner collects in `total`, without atomics.
# `down` is $p\cdot\mathrm{stride}$, `right` is $q\cdot\mathrm{stride}$.
# `%` gives the remainder, `//` divides; in kernels too, -1 % 2 is 1 and -1 // 2 is -1.


# %% tags=["exercise:gpu.conv2d_dx_kernel"]
@cuda.jit
def conv2d_dx_kernel(dy, w, stride, padding, dx):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W]; a thread for each pixel"""
    i = cuda.grid(1)
    if i < dx.size:
        (n, c, h, v), total = place(i, dx), zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    # STUB:
                    # pass  # no remainder? then p and q; are they outputs? then add
                    # BEGIN SOLUTION
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
                    # END SOLUTION
        dx[n, c, h, v] = total


figures.overlap((5, 7), kernel=(3, 3), pixel=(2, 2), stride=2)
conv2d_dx_kernel = check("gpu.conv2d_dx_kernel", conv2d_dx_kernel)

# %% [markdown]
# ### Backward to the weights: a block owns a weight
#
# $$\mathrm{dw}_{kcrs} = \sum_{n,p,q} \mathrm{dy}_{nkpq}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# Which pixels feed one weight?
# One for each position $(p, q)$ of channel $k$, in every image.
# So there are few results and long sums: `conv1` has 864 weights, each with 32,768 products for 32 images.
# One thread per weight would leave a GPU idle.
#
# Let a **block** own a weight.
# Two device functions do what you have done before: `seen` is the pixel of the forward kernel, with its guard; `product` takes number `j` of the N P Q products apart, into image `n` and position `(p, q)`.


# %%
@cuda.jit(device=True)
def seen(x, n, c, p, q, r, s, stride, padding):
    """The pixel that output (p, q) sees through tap (r, s): 0 in the frame"""
    h, v = p * stride + r - padding, q * stride + s - padding
    return x[n, c, h, v] if 0 <= h < x.shape[2] and 0 <= v < x.shape[3] else zero


@cuda.jit(device=True)
def product(j, k, c, r, s, dy, x, stride, padding):
    """Product number j of the sum dw[k, c, r, s]"""
    P, Q = dy.shape[2], dy.shape[3]
    n, p, q = j // (P * Q), j // Q % P, j % Q
    return dy[n, k, p, q] * seen(x, n, c, p, q, r, s, stride, padding)


# %% [markdown]
# **Exercise `gpu.conv2d_dw_kernel`**, what is new, in five lines.
# Thread `t` adds up its share, the products `t`, `t + 128`, `t + 256`, ...: neighbours read neighbours.
# Then `block_sum(share)` adds up the 128 shares, like lesson 4's tree, as a device function: every thread must call it, and gets the sum.
# One thread writes; nothing is atomic.
# The picture shows the pixels of tap (0, 2), each with the `p,q` whose `dy` it meets.

# %% tags=["exercise:gpu.conv2d_dw_kernel"]
figures.pixels_of_tap((5, 7), kernel=(3, 3), tap=(0, 2), stride=2, padding=1)


@cuda.jit
def conv2d_dw_kernel(dy, x, stride, padding, dw):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S]; a block of 128 for each weight"""
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    # STUB:
    # pass  # a loop that adds product(...) to share; block_sum; one write
    # BEGIN SOLUTION
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total
    # END SOLUTION


conv2d_dw_kernel = check("gpu.conv2d_dw_kernel", conv2d_dw_kernel)

# %% [markdown]
# ## Check
#
# ### Under PyTorch's autograd
#
# A `torch.autograd.Function` connects kernels to PyTorch.
# `forward` computes, and saves in `ctx`, the context, what backward will need; `backward` gets `dy` and returns one gradient for each argument of `forward`, `None` for the two integers.
# (`as_argument` hands a kernel the tensor's own memory, on a GPU too: a NumPy array would travel there and back at each launch.)
# The bias needs no kernel of its own: $\mathrm{db}_k = \sum_{n,p,q} \mathrm{dy}_{nkpq}$ is the `dw` of a single tap that sees an image of ones.
#
# From here on, a kernel is yours only where `check` said **Right**; elsewhere ours takes its place.


# %%
class Conv2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, stride, padding):
        ctx.save_for_backward(x, w)
        ctx.geometry = stride, padding
        y = x.new_empty(output_shape(x.shape, w.shape, stride, padding))
        conv2d_kernel[-(-y.numel() // 128), 128](*arrays(x, w, b), stride, padding, *arrays(y))
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx, dw, db = (w.new_empty(shape) for shape in (x.shape, w.shape, (len(w), 1, 1, 1)))
        conv2d_dx_kernel[-(-dx.numel() // 128), 128](*arrays(dy, w), *ctx.geometry, *arrays(dx))
        conv2d_dw_kernel[len(dw.flatten()), 128](*arrays(dy, x), *ctx.geometry, *arrays(dw))
        conv2d_dw_kernel[len(db), 128](*arrays(dy, torch.ones_like(dy[:, :1])), 1, 0, *arrays(db))
        return dx, dw, db.flatten(), None, None


# %% [markdown]
# ### Do the three kernels belong together?
#
# Nudge every input and watch the output, as in lesson 1.
# There the nudge was tiny.
# But a convolution is *linear* in each of its inputs: a nudge of 1 gives the same slope, and float32 is fine enough.
# This shows that backward belongs to forward.
# That forward is a convolution, `check` has shown, and PyTorch will.

# %%
torch.manual_seed(0)
for stride, padding in [(1, 0), (2, 1)]:
    shapes = [(2, 3, 7, 6), (4, 3, 3, 3), (4,)]
    inputs = [torch.randn(shape).to(device).requires_grad_() for shape in shapes]
    y = Conv2d.apply(*inputs, stride, padding)
    dy = torch.randn(y.shape)
    y.backward(dy.to(device))  # PyTorch calls our backward

    def f(*nudged):
        tensors = [torch.tensor(a, dtype=torch.float32).to(device) for a in nudged]
        return Conv2d.apply(*tensors, stride, padding).cpu().numpy().astype(float)

    values, grads = (
        [t.detach().cpu().numpy() for t in ts] for ts in (inputs, [a.grad for a in inputs])
    )
    result = reference.gradcheck(f, values, grads, dy, eps=1, rtol=1e-3, atol=1e-3)
    print(f"stride {stride}: {result.entries} entries nudged, all agree: {result.ok}")
three = conv2d_kernel, conv2d_dx_kernel, conv2d_dw_kernel
print("yours:", sum(kernel.py_func.__module__ == __name__ for kernel in three), "of 3 kernels")

# %% [markdown]
# ### Training
#
# Two convolutions with stride 2 and a linear layer, on 16 photographs in batches of 8, four times through: the loss at each step, with the kernels above and with PyTorch's, from the same start.


# %%
def train(convolution):
    data = datasets.cifar10("sample").train
    images, labels = convnet.normalise(data.images[:16]), data.labels[:16]
    images, labels = (torch.from_numpy(a).to(device) for a in (images, labels))
    torch.manual_seed(0)
    net = nn.ModuleList([nn.Conv2d(3, 8, 3), nn.Conv2d(8, 16, 3), nn.Linear(1024, 10)]).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, truth in 4 * [*zip(images.split(8), labels.split(8), strict=True)]:
        x = convolution(x, net[0].weight, net[0].bias, 2, 1).relu()  # [8, 8, 16, 16]
        x = convolution(x, net[1].weight, net[1].bias, 2, 1).relu()  # [8, 16, 8, 8]
        loss = nn.functional.cross_entropy(net[2](x.flatten(1)), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


losses = np.array([[*train(Conv2d.apply)], [*train(nn.functional.conv2d)]])
print("kernels:", *losses[0].round(2), "\nPyTorch:", *losses[1].round(2))
print("equal within 1e-4:", np.allclose(*losses, rtol=1e-4, atol=0))

# %% [markdown]
# **The same losses, step by step.**
# <!-- holds: np.abs(losses[0] / losses[1] - 1).max() < 1e-4 -->
# From a formula we have come to a kernel that trains.
#
# ## Measure
#
# Right is not fast.
# The direct kernel is lesson 6's first kernel: a thread reads two numbers for every multiply-add.
# There, tiles helped.
# Can a convolution have them?
# Lesson 1 made it a product, with the bias kept separate:
#
# $$y_{k,\,npq} = \sum_{crs} w_{k,\,crs} \cdot \mathrm{cols}_{crs,\,npq}$$
#
# Here each window is a *column* of `cols`, so that neighbouring threads own neighbouring outputs.
# But `cols` holds every pixel up to $R \cdot S$ times: for one image in `conv2`, 295 kB from the 33 kB of `x`, first written, then read again.
# **So do not build it.**
# Whoever needs element `(row, col)` computes where that pixel lies in `x`, and reads it there.
# This is **implicit GEMM** (general matrix multiply), one of the ways of libraries such as cuDNN.
#
# **Exercise `gpu.implicit_gemm_gather`**: the device function `pixel`.
# `row` is $(c, r, s)$ and `col` is $(n, p, q)$, both as one number, the last index running fastest.
# Take both apart, and return what is `seen`.
# The kernel below it builds the matrix, for `check` alone.


# %% tags=["exercise:gpu.implicit_gemm_gather"]
@cuda.jit(device=True)
def pixel(x, row, col, R, S, stride, padding):
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    Q = (x.shape[3] + 2 * padding - S) // stride + 1
    # STUB:
    # return zero  # c, r, s; n, p, q; what is seen
    # BEGIN SOLUTION
    c, r, s = row // (R * S), row // S % R, row % S
    n, p, q = col // (P * Q), col // Q % P, col % Q
    return seen(x, n, c, p, q, r, s, stride, padding)
    # END SOLUTION


@cuda.jit
def build(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        cols[row, col] = pixel(x, row, col, R, S, stride, padding)


build = check("gpu.implicit_gemm_gather", build)

# %% [markdown]
# Now lesson 6's tiled kernel: the left factor is `w` as a matrix `[K, C R S]`, the right one would be `cols`, and is `pixel` instead.
# A block makes a tile of 32 channels `k` by 32 outputs `col`.
# (`pixel_of` takes `pixel` from the kernel that `check` handed on: yours, or ours while yours is wrong.)

# %%
pixel = pixel_of(build)


@cuda.jit
def implicit_gemm(x, w, b, R, S, stride, padding, y):
    w_tile, x_tile = cuda.shared.array((32, 32), "float32"), cuda.shared.array((32, 32), "float32")
    tx, ty, (col, k) = cuda.threadIdx.x, cuda.threadIdx.y, cuda.grid(2)
    (K, CRS), P, Q, total = w.shape, y.shape[2], y.shape[3], zero
    NPQ = y.size // K
    for at in range(0, CRS, 32):
        inside = at + ty < CRS and col < NPQ
        w_tile[ty, tx] = w[k, at + tx] if k < K and at + tx < CRS else zero
        x_tile[ty, tx] = pixel(x, at + ty, col, R, S, stride, padding) if inside else zero
        cuda.syncthreads()
        for i in range(32):
            total += w_tile[ty, i] * x_tile[i, tx]
        cuda.syncthreads()
    if k < K and col < NPQ:
        y[col // (P * Q), k, col // Q % P, col % Q] = total + b[k]


# %% [markdown]
# One image through `conv2`, direct and implicit, in three counts:
#
# | count | what it holds | what it stands for |
# |---|---|---|
# | *asked* | every number that a lane reads | what the formula wants |
# | *no cache* | all sectors of all requests | what L1 would ask of L2 if it kept nothing |
# | *perfect cache* | each sector once | what must come from the DRAM |
#
# Sectors are not yet bytes of the DRAM: what L2 holds, the DRAM does not send.
# An H200's L2 has 50 MB, and these arrays take 0.2 MB.
# A real GPU's traffic lies between the last two counts.
# Behind each count stands the roofline's prediction: what an H200 would reach if its DRAM had to send just these bytes.

# %%
shapes = [(1, 32, 16, 16), (64, 32, 3, 3), 64]
x, w, b = (random.standard_normal(shape, dtype=np.float32) for shape in shapes)
y, flops = np.zeros((1, 64, 16, 16), np.float32), 2 * 64 * 256 * 288
runs = {
    "direct": (conv2d_kernel, 128, 128, x, w, b, 1, 1, y),
    "implicit GEMM": (implicit_gemm, (8, 2), (32, 32), x, w.reshape(64, 288), b, 3, 3, 1, 1, y),
}
expected, traffic = reference.conv2d(x, w, b, 1, 1), {}
keys = ("global_load_bytes", "traffic_bytes", "compulsory_bytes")
for name, launch in runs.items():
    y.fill(0)
    n = profile(*launch).counters
    print(f"{name}, right: {np.allclose(y, expected, atol=1e-3)}")
    for key, word in zip(keys, ("asked", "no cache", "perfect cache"), strict=True):
        moved = traffic[name, word] = n[key]
        roof = hardware.roofline(hardware.machine("h200"), flops / moved).attainable
        intensity = f"{moved:>10,} B counted, {flops / moved:5.2f} FLOP/B"
        print(f"  {word:13}{intensity}, an H200: {roof.number} {roof.word}")

# %% [markdown]
# ## Explain
#
# An H200 wants 14 FLOP for each byte of its DRAM.
#
# - **Direct**: 0.4 without a cache, which would leave 3 % of the peak.
#   <!-- holds: round(flops / traffic["direct", "no cache"], 1) == 0.4 -->
#   <!-- holds: round(100 * flops / traffic["direct", "no cache"] / hardware.machine("h200").ridge("fp32")) == 3 -->
#   It lives on caches.
# - **Implicit GEMM**: 7.6, from tiles.
#   <!-- holds: round(flops / traffic["implicit GEMM", "no cache"], 1) == 7.6 -->
#   Why is not 32 times saved?
#   It asks for 29 times fewer numbers (the direct kernel skips the frame).
#   <!-- holds: round(traffic["direct", "asked"] / traffic["implicit GEMM", "asked"]) == 29 -->
#   But in the direct kernel the 32 lanes of a warp read the *same* weight, one sector for all: there its traffic was low before.
# - **With a perfect cache they tie.**
#   <!-- holds: traffic["direct", "perfect cache"] == traffic["implicit GEMM", "perfect cache"] -->
#   And both read two numbers for each multiply-add, one kernel through L1, the other from shared memory: lesson 6's limits.
#   What the product gains is lesson 7's ladder: a tile of 64 x 128 with its sums in registers asks L2 for 192 numbers for 8,192 multiply-adds, 21 FLOP per byte, and shared memory for far less.
#
# One cost is not counted: `pixel` divides integers, and NVIDIA's GPUs have no instruction for that.
# The next table says what their compiler makes of one division for a T4.
# Numba's indices are int64; where two of them fit into 32 bits, as ours do, a shorter way of some 45 instructions runs.
#
# | what is divided | machine instructions (compiled for sm_75) |
# |---|---|
# | int64 by int64 | some 140 |
# | uint32 by uint32 | some 20 |
# | int64 by a constant, 9 | some 25 |
# | uint32 by a constant, 9 | 2 |
#
# A constant is not divided by, but multiplied with its inverse.
# So the course's own kernels, `labkit/gpu/kernels/implicit_gemm.py`, are made for one geometry each, and count in uint32.
# `make gpu-report` [times them on a GPU](measured.md); here nothing is timed.
#
# Backward, nothing is new: `dx` and `dw` are such products too.
# `dw` has a small result and a long sum: for `conv2`, 64 x 288 results are 18 tiles of 32 x 32, for 132 multiprocessors.
# So several blocks share a tile: each takes a part of the sum and adds it to the result once, atomically.
# The price: the order is no longer fixed, and the last bits may differ from run to run.
# The way out: write the parts, and add them up in a second launch.
#
# The roofline shows what the DRAM would have to send without a cache, and for that larger tile.
# Then meet your guesses.

# %%
from labkit.provenance import counted, predicted

without = {name: traffic[name, "no cache"] for name in runs}
intensities = {name: flops / n for name, n in without.items()}
intensities["tile of 64 x 128"] = 2 * 64 * 128 / (4 * (64 + 128))
figures.roofline(hardware.machine("h200"), intensities)

held = 132 * 2048  # threads on an H200
results = [
    counted(32 * 16 * 16, "products", "the layer's shapes"),
    predicted(100 * 32 * 3 * 3 * 3 / held, "%", "weights of conv1 / threads"),
    counted(without["direct"] / without["implicit GEMM"], "times", "profile"),
]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# ## On trial
#
# No new claim: the kernels rest on [C24](1_gradients_and_convolutions.ipynb#C24), the sum with all its indices, [C34](4_threads_blocks_and_memory.ipynb#C34), the last index along the threads, and [C02](1_gradients_and_convolutions.ipynb#C02), the 1/N inside `dy`.
#
# ## Recap
#
# - **One list of products, three sums.**
#   What differs is the owner of the result: an output, a pixel, a weight.
# - **Gather, do not scatter**: the owner reads from all over and writes in one place.
#   No race, no atomics, the same bits in each run.
# - **Few results, long sums**: let a block own a result.
#   If several share one, they need atomics or a second launch.
# - **Implicit GEMM**: a tile's traffic, without the matrix.
#   Compute where an element lies and fetch it.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_gather", None)
# quiz("gpu.quiz_parity", None)
# quiz("gpu.quiz_split", None)
# BEGIN SOLUTION
quiz("gpu.quiz_gather", "b")
quiz("gpu.quiz_parity", "b")
quiz("gpu.quiz_split", "c")
# END SOLUTION
