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
#     title: "Convolution kernels: backward"
#     number: 9
#     minutes: 50
#     needs: [numba, torch]
#     able: turn the sums of dX and dW into kernels without atomics, plug them into PyTorch, and train with them
#     runs_on: the SIMT machine, or a GPU
# ---

# %% [markdown]
# # Convolution kernels: backward
#
# **4,096 additions to 72 numbers.**
# Forward was simple: each thread owned an output, and nobody else wrote there.
# Backward, every output sends a share of its gradient back to each pixel that it has seen.
# In a small layer with 8 channels of 6 x 6 outputs, 2 channels of 6 x 6 pixels, 3 x 3 taps and padding 1, these are 4,096 shares for 72 pixels, and they come from threads that own no pixel.
# <!-- holds: scattered.counters["atomic_lanes"] == 4_096 and shares.size == 72 -->
# Who may write?
#
# ## What you will be able to do
#
# - turn "every output sends a share to its pixels" into "every pixel collects", without atomics;
# - let a block add up one long sum;
# - prove that forward and backward kernels belong together, and train with them in PyTorch.
#
# You need lesson 2's three sums, lesson 5's tree sum and races, and lesson 8's forward kernel.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The letters are those of lesson 8: `x[N,C,H,W]`, `w[K,C,R,S]`, `y[N,K,P,Q]`, stride, padding $\pi$.
# `conv1` takes 3 channels of 32 x 32 pixels to 32 channels, `conv2` takes 32 channels of 16 x 16 to 64; both have 3 x 3 taps and padding 1.
# Guess three numbers:
#
# 1. A training step of 32 images.
#    How many products add up to the gradient of *one* weight of `conv2`, the middle tap of a kernel?
#    (The outer taps have fewer, since they also see the frame.)
# 2. An H200 holds 132 · 2,048 threads.
#    With one thread for each weight of `conv1`, what percentage of them has work?
# 3. For one image in `conv2`, each of the kernels for `dx` and `dw` does about as many multiply-adds as lesson 8's direct kernel for `y`.
#    How many times as many bytes do these two together ask of memory as the one for `y`, if no cache kept anything?

# %%
import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, profile
from labkit.gpu.kernels.direct_convolution import conv2d_forward
from labkit.gpu.kernels.places import place, product
from labkit.gpu.kernels.reductions import block_sum
from labkit_lessons.gpu.convolution_kernels_backwards import layers, trials

# STUB:
# guesses = {
#     "products": predict("gpu.products_per_weight", None, "products"),
#     "threads": predict("gpu.busy_threads", None, "%"),
#     "bytes": predict("gpu.backward_bytes", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "products": predict("gpu.products_per_weight", 288, "products"),
    "threads": predict("gpu.busy_threads", 10, "%"),
    "bytes": predict("gpu.backward_bytes", 2, "times"),
}
# END SOLUTION
zero, random = np.float32(0), np.random.default_rng(0)

# %% [markdown]
# ## Build
#
# ### One list of products, three ways to add it up
#
# Take a row of three pixels, `x` = 5, 6, 7, two taps, `w` = 2, 3, and no frame.
# There are two outputs, and their gradients are `dy` = 10, 100.
# Output $p$ sees pixel $h = p \cdot \mathrm{stride} + r - \pi$ through tap $r$, so there are four triples:
#
# | output, tap, pixel | forward, $w_r x_h$ | for `dx`, $\mathrm{dy}_p w_r$ | for `dw`, $\mathrm{dy}_p x_h$ |
# |---|---|---|---|
# | 0, 0, 0 | 2 · 5 to $y_0$ | 10 · 2 to $\mathrm{dx}_0$ | 10 · 5 to $\mathrm{dw}_0$ |
# | 0, 1, 1 | 3 · 6 to $y_0$ | 10 · 3 to $\mathrm{dx}_1$ | 10 · 6 to $\mathrm{dw}_1$ |
# | 1, 0, 1 | 2 · 6 to $y_1$ | 100 · 2 to $\mathrm{dx}_1$ | 100 · 6 to $\mathrm{dw}_0$ |
# | 1, 1, 2 | 3 · 7 to $y_1$ | 100 · 3 to $\mathrm{dx}_2$ | 100 · 7 to $\mathrm{dw}_1$ |
#
# So `dx` is 20, 230, 300, and `dw` is 650, 760.
# **All three sums walk over the same triples; they differ in who collects.**
#
# The picture shows the triples of 6 pixels and 3 taps.
# Set `stride=2` and run it again: now some columns are emptier than others.

# %% tags=["picture"]
figures.three_sums(pixels=6, taps=3, stride=1, padding=1)

# %% [markdown]
# ### Scatter
#
# The obvious kernel for `dx` lets each thread own a `dy`, and adds its shares to pixels that are not its own: it **scatters**.
# Below it runs with a plain `+=`, then with an atomic one, in the small layer from the beginning.


# %%
@cuda.jit
def scatter(dy, w, stride, padding, atomic, dx):
    n, k, p, q = place(cuda.grid(1), dy)  # 9 blocks of 32: just as many threads as dy
    for j in range(w[0].size):
        _, c, r, s = place(j, w)
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < dx.shape[2] and 0 <= v < dx.shape[3]:
            if atomic:
                cuda.atomic.add(dx, (n, c, h, v), dy[n, k, p, q] * w[k, c, r, s])
            else:
                dx[n, c, h, v] += dy[n, k, p, q] * w[k, c, r, s]


dy, w, expected = trials.small_layer()  # dx as it should be, by NumPy
for atomic in (False, True):
    shares = np.zeros((1, 2, 6, 6), np.float32)  # nobody owns a pixel, so somebody clears it
    scattered = profile(scatter, 9, 32, dy, w, 1, 1, atomic, shares)
    additions, right = scattered.counters["atomic_lanes"], np.allclose(shares, expected, atol=1e-3)
    print(f"{additions:,} atomic additions, right: {right}")
    print(scattered.hazards[0] if scattered.hazards else "No hazard found.")

# %% [markdown]
# Along each axis there are 6 · 3 pairs of output and tap, and 2 of them lead into the frame: so 16 · 16 · 8 · 2 = 4,096 additions.
# <!-- holds: scattered.counters["atomic_lanes"] == 16 * 16 * 8 * 2 == 4_096 -->
# The plain `+=` is right here by luck of the order; the race stays, as in lesson 5.
#
# Atomics cure the race, at a price.
# They are done in the L2 cache, where additions to one pixel wait for each other.
# And nothing fixes their order, which may change from run to run.
# Another order rounds differently, so two runs of one training can drift apart.
#
# ### Gather
#
# Turn the question round.
# A thread owns pixel $(h, v)$ and asks each tap: *which output saw me through you?*
# Solve $p\cdot\mathrm{stride} + r - \pi = h$ for $p$.
# With stride 2, padding 1 and three taps, pixel 3 asks:
#
# ```
# tap 0    (3 + 1 - 0) / 2 = 2      output 2
# tap 1    (3 + 1 - 1) / 2 = 1.5    no output starts there
# tap 2    (3 + 1 - 2) / 2 = 1      output 1
# ```
#
# With both axes, and all channels:
#
# $$\mathrm{dx}_{nchv} = \sum_{k,r,s} \mathrm{dy}_{nkpq}\, w_{kcrs} \qquad p = \frac{h + \pi - r}{\mathrm{stride}},\quad q = \frac{v + \pi - s}{\mathrm{stride}}$$
#
# A term exists only if both divisions leave no remainder and there is an output $(p, q)$.
# The picture shows it for 3 x 3 taps with stride 2, without padding.

# %% tags=["picture"]
figures.overlap((5, 7), kernel=(3, 3), pixel=(2, 2), stride=2)

# %% [markdown]
# **Exercise `gpu.conv2d_dx_kernel`**, four lines or so: the owner of a pixel collects in `total`, without atomics.
# `down` is $p\cdot\mathrm{stride}$, and `right` is $q\cdot\mathrm{stride}$.
# `%` gives the remainder, `//` divides; in kernels too, -1 % 2 is 1 and -1 // 2 is -1.


# %% tags=["exercise:gpu.conv2d_dx_kernel"]
@cuda.jit
def conv2d_dx_kernel(dy, w, stride, padding, dx):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W]; a thread for each pixel"""
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
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


conv2d_dx_kernel = check("gpu.conv2d_dx_kernel", conv2d_dx_kernel)

# %% [markdown]
# **An owner reads what it likes and writes only what is its own: no race, no atomics.**
#
# ### A block owns a weight
#
# $$\mathrm{dw}_{kcrs} = \sum_{n,p,q} \mathrm{dy}_{nkpq}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# Each position $(p, q)$ of channel $k$, in every image, gives one product.
# Where the tap sees the frame, the product is 0.
# The picture shows the pixels of tap (0, 2), each with the `p,q` whose `dy` it meets.

# %% tags=["picture"]
figures.pixels_of_tap((5, 7), kernel=(3, 3), tap=(0, 2), stride=2, padding=1)

# %% [markdown]
# So there are few results and long sums: `conv1` has 864 weights, and with 32 images each has 32 · 32 · 32 = 32,768 products.
# One thread for each weight would leave a GPU idle.
# So let a **block** of 128 threads own a weight.
#
# Its products are numbered, and `product(j, k, c, r, s, dy, x, stride, padding)` gives number `j` of the sum `dw[k, c, r, s]`.
# With 2 images and outputs of 3 x 4, number 17 is in image 1, because an image has 12; 5 are left, so it is position (1, 1).
#
# **Exercise `gpu.conv2d_dw_kernel`**, five lines.
# Thread `t` adds up its share, the products `t`, `t + 128`, `t + 256`, ..., so that neighbours read neighbours.
# Then `block_sum(share)` adds up the 128 shares, like lesson 5's tree: every thread must call it, and gets the sum.
# One thread writes it; nothing is atomic.


# %% tags=["exercise:gpu.conv2d_dw_kernel"]
@cuda.jit
def conv2d_dw_kernel(dy, x, stride, padding, dw):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S]; a block of 128 for each weight"""
    N, _, P, Q = dy.shape
    k, c, r, s = place(cuda.blockIdx.x, dw)
    share = zero
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
# `forward` computes, and saves in `ctx`, the context, what `backward` will need.
# `backward` gets `dy` and returns one gradient for each argument of `forward`, and `None` for the two integers.
# The functions of `layers` launch a kernel on PyTorch's tensors; forward is the course's version of your kernel of lesson 8.
#
# The last two arguments of `layers.weight_gradient` are stride and padding, as a pair, and the shape of the gradient.
# The bias needs no kernel of its own: $\mathrm{db}_k$ is the sum of all $\mathrm{dy}_{nkpq}$, and so the `dw` of a single tap that sees an image of ones.


# %%
class Conv2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, stride, padding):
        ctx.save_for_backward(x, w)
        ctx.geometry = stride, padding
        return layers.forward(x, w, b, stride, padding)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = layers.pixel_gradient(conv2d_dx_kernel, dy, w, ctx.geometry, x.shape)
        dw = layers.weight_gradient(conv2d_dw_kernel, dy, x, ctx.geometry, w.shape)
        ones = torch.ones_like(dy[:, :1])  # one channel
        db = layers.weight_gradient(conv2d_dw_kernel, dy, ones, (1, 0), (len(w), 1, 1, 1))
        return dx, dw, db.flatten(), None, None


# %% [markdown]
# Does backward belong to forward?
# Nudge every input and watch the output, as in lesson 1.
# There the nudge was tiny.
# But a convolution is *linear* in each of its inputs: a nudge of 1 gives the same slope, and float32 is fine enough for it.

# %%
for stride, padding in [(1, 0), (2, 1)]:
    result = trials.nudge(Conv2d.apply, stride, padding)
    print(f"stride {stride}: {result.entries} entries nudged, all agree: {result.ok}")

# %% [markdown]
# Now train with it: two convolutions with stride 2 and a linear layer, on 16 photographs in batches of 8, four times through.
# The loss of each step, with the kernels above and with PyTorch's, from the same start:

# %%
mine = trials.losses(Conv2d.apply)
theirs = trials.losses(torch.nn.functional.conv2d)
rows = []
for step in range(len(mine)):
    rows.append([str(step), round(mine[step], 2), round(theirs[step], 2)])
figures.table(["step", "loss, your kernels", "loss, PyTorch's"], rows)
print("equal within 1e-4:", np.allclose(mine, theirs, rtol=1e-4, atol=0))

# %% [markdown]
# **The same losses, step by step.**
# <!-- holds: np.abs(mine / theirs - 1).max() < 1e-4 -->
# From a formula we have come to kernels that train.
#
# ## Measure
#
# What does backward cost?
# For one image in `conv2`, the three sums have the same products, but do their kernels ask for the same bytes?

# %%
shapes = [(1, 32, 16, 16), (64, 32, 3, 3), 64, (1, 64, 16, 16)]
x, w, b, dy = (random.standard_normal(shape, dtype=np.float32) for shape in shapes)
y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(w)
launches = {
    "y": profile(conv2d_forward, 128, 128, x, w, b, 1, 1, y),
    "dx": profile(conv2d_dx_kernel, 64, 128, dy, w, 1, 1, dx),
    "dw": profile(conv2d_dw_kernel, dw.size, 128, dy, x, 1, 1, dw),
}
rows = []
for name, p in launches.items():
    sectors = p.quantity("global_load_sectors_per_request")
    rows.append([name, p.quantity("traffic_bytes"), sectors])
figures.table(["result", "all sectors, no cache", "a warp's read"], rows)

# %% [markdown]
# `dx` asks for as much as `y`: it is the same walk, from the other end.
# <!-- holds: abs(float(rows[1][1]) / float(rows[0][1]) - 1) < 0.01 -->
# But `dw` asks for 1.6 times as much.
# <!-- holds: round(float(rows[2][1]) / float(rows[0][1]), 1) == 1.6 -->
# In the other two kernels, all lanes of a warp read the *same* weight, in one sector.
# For `dw` the lanes belong to one weight, and read 32 numbers of `dy` and 32 of `x`.
# <!-- holds: float(rows[2][2]) > 1.5 * float(rows[0][2]) -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import counted, predicted

bytes_of = {name: p.counters["traffic_bytes"] for name, p in launches.items()}
backward = (bytes_of["dx"] + bytes_of["dw"]) / bytes_of["y"]
results = [
    counted(32 * 16 * 16, "products", "the layer's shapes"),
    predicted(100 * 32 * 3 * 3 * 3 / (132 * 2048), "%", "weights of conv1 / threads"),
    counted(backward, "times", "profile"),
]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **864 threads are 0.3 % of what an H200 holds.**
# <!-- holds: round(float(results[1]), 1) == 0.3 -->
# With a block for each weight, 864 blocks of 128 threads are 110,592 threads, 41 %.
# <!-- holds: round(100 * 864 * 128 / (132 * 2048)) == 41 and len(results) == 3 -->
#
# Backward, implicit GEMM works as well: `dx` and `dw` are matrix products, too.
# But `dw` has a small result and a long sum: for `conv2`, 64 x 288 results are 18 tiles of 32 x 32, for 132 multiprocessors.
# So several blocks share a tile: each takes a part of the sum and adds it to the result once, atomically.
# The price is an order that nobody fixes, so the last bits may differ from run to run.
# The way out: write the parts, and add them up in a second launch.
#
# ## On trial
#
# No new claim: the kernels rest on C24 of lesson 2, the sum with all its indices, [C34](5_memory_and_warps.ipynb#C34), the last index along the threads, and C02 of lesson 1, the 1/N inside `dy`.
#
# ### Outside
#
# `torch.autograd.gradcheck(f, inputs)` nudges inputs as we did, in float64.
# Some of cuDNN's backward kernels add atomically.
# This line makes PyTorch choose others, or stop with an error where there are none:
#
# ```
# torch.use_deterministic_algorithms(True)
# ```
#
# Then two runs of a training on one machine give the same bits.
# We left out the implicit GEMM of both gradients; `labkit/gpu/kernels/implicit_gemm.py` has them.
#
# ## Recap
#
# One list of products, three sums: what differs is the owner of the result, an output, a pixel or a weight.
#
# - **Keep this rule: gather, do not scatter.**
#   The owner reads from all over and writes once: no atomic addition instead of 4,096, and the same bits in each run.
#   <!-- holds: launches["dx"].counters["atomic_lanes"] == 0 -->
# - **Few results, long sums**: let a block own a result; if several blocks share a result, they need atomics or a second launch.
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
