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
#     title: Gradients and convolutions
#     number: 1
#     minutes: 48
#     needs: [torch]
#     able: derive, write and test the gradients of a layer; run the course's network in your own NumPy; read a roofline
#     runs_on: any CPU
# ---

# %% [markdown]
# # Gradients and convolutions
#
# **What does an accelerator accelerate?**
# In a network for images, mostly two sums.
# One makes the product of a vector and a matrix, the other slides a small window over an image.
# You will write both, with their gradients.
#
# ## What you will be able to do
#
# - turn the gradient formula of a layer into code, and test it by nudging the inputs;
# - write a convolution as loops and as one matrix product, and its three backward sums;
# - run a trained network in your own NumPy on real photographs, and agree with PyTorch on each one;
# - tell, layer by layer, whether arithmetic or memory sets the speed, and what an accelerator can change.
#
# You need Python with NumPy, the chain rule, and words of a small network: layer, ReLU, max-pool, loss.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# The first sum makes one output of a fully connected layer: each number of the input, a **feature**, is multiplied by a weight of its own, and the products and a **bias** are added up:
#
# ```
# features x     1      2      3
# weights w      0.5   -1      2
# products       0.5   -2      6       their sum is 4.5
# bias b         0.25                  the output is 4.75
# ```
#
# **Exercise `gpu.one_output`**: this output, for any features, weights and bias, in one line.
# In this lesson's exercises, use Python and NumPy alone, and not labkit's own reference.
# Write it in place of `None`, and run the cell: `check` says **Right**, or what is wrong.
# Stuck?
# Run `hint("gpu.one_output")` in a new cell, then `hint("gpu.one_output", 2)`.


# %% tags=["exercise:gpu.one_output"]
import numpy as np

from labkit import check, figures, hint, predict, quiz


def one_output(x, w, b):
    """features x [D], weights w [D], bias b  ->  one number"""
    # STUB:
    # y = None
    # BEGIN SOLUTION
    y = np.sum(x * w) + b
    # END SOLUTION
    return y


one_output = check("gpu.one_output", one_output)

# %% [markdown]
# Each feature took a multiplication and an addition: a **multiply-add**.
#
# ## Predict
#
# This is the network of all four chapters.
# Its input is a photograph of 32 x 32 pixels in 3 colours.
#
# | layer | maps | weights |
# |---|---|---|
# | `conv1`, 3x3, padding 1, then ReLU, then 2x2 max-pool | 3 x 32 x 32 → 32 x 16 x 16 | 32 x 3 x 3 x 3 |
# | `conv2`, 3x3, padding 1, then ReLU, then 2x2 max-pool | 32 x 16 x 16 → 64 x 8 x 8 | 64 x 32 x 3 x 3 |
# | `fc1`, fully connected, then ReLU | 4,096 → 128 | 128 x 4,096 |
# | `fc2`, fully connected | 128 → 10 | 10 x 128 |
#
# Guess three numbers now, in place of `None`, before any result.
# A rough guess beats none: you will remember the gap.
#
# 1. How many multiply-adds does the network need to classify one image?
# 2. What percentage of a training step's arithmetic is in the two convolutions?
#    Count in FLOP: one addition, multiplication or comparison.
# 3. How many times faster would an H200, a large GPU, run a training step of 32 images than a laptop's CPU, if both ran at their theoretical limits?
#    Both compute in float32; the GPU's tensor cores, units that multiply matrices of shorter numbers, stay out of it.

# %%
# STUB:
# guesses = {
#     "multiply-adds": predict("gpu.macs_per_image", None, "multiply-adds"),
#     "convolutions": predict("gpu.conv_share", None, "%"),
#     "H200": predict("gpu.h200_speedup", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "multiply-adds": predict("gpu.macs_per_image", 1e6, "multiply-adds"),
    "convolutions": predict("gpu.conv_share", 50, "%"),
    "H200": predict("gpu.h200_speedup", 1000, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A fully connected layer, backwards
#
# How should each weight move to lower the loss?
# The layer has $K$ outputs $a$ for each of $N$ images: $a_{nk}$ is `one_output(x[n], w[k], b[k])`.
# Every image has a loss $\ell_n$, and $L$ is their mean:
#
# $$a_{nk} = b_k + \sum_d w_{kd}\, x_{nd} \qquad\qquad L = \frac1N \sum_n \ell_n$$
#
# The weight $w_{kd}$ touches one output of each image, $a_{nk}$, with the factor $x_{nd}$.
# The chain rule adds up:
#
# $$\frac{\partial L}{\partial w_{kd}} = \frac1N \sum_n \frac{\partial \ell_n}{\partial a_{nk}}\, x_{nd}
# = \sum_n \mathrm{dy}_{nk}\, x_{nd} \qquad\text{with}\qquad \mathrm{dy}_{nk} = \frac{\partial L}{\partial a_{nk}}
# = \frac1N \frac{\partial \ell_n}{\partial a_{nk}}$$
#
# `dw`, `dx`, `db` and `dy` are the gradients of $L$ with respect to $w$, $x$, $b$ and the layer's output.
# **The 1/N is inside `dy`, once and for all.**
# The other two sums follow the same way:
#
# $$\mathrm{dx}_{nd} = \sum_k \mathrm{dy}_{nk}\, w_{kd} \qquad\qquad \mathrm{db}_k = \sum_n \mathrm{dy}_{nk}$$
#
# A sum over a letter that two arrays share is a matrix product: `@`, with `.T` to bring that letter to the middle.
#
# **Exercise `gpu.linear_backward`**: the three gradients.
# From here on, return NumPy arrays, in the dtype of the inputs.
#
# `check` hands on your function if it is right, and ours as long as it is not.
# So every cell below runs, but only after **Right** is a result yours.
# A loop of Python that never ends is stopped by the check itself, which then names the line.
# If a cell hangs inside a call of a library, press the stop button, the square (*Kernel > Interrupt*).
# If that is not enough, choose *Kernel > Restart* and run the cells again from the top.


# %% tags=["exercise:gpu.linear_backward"]
def linear_backward(dy, x, w):
    """dy [N, K], x [N, D], w [K, D]  ->  dx [N, D], dw [K, D], db [K], all float64"""
    # STUB:
    # dx = None
    # dw = None
    # db = None
    # BEGIN SOLUTION
    dx = dy @ w  # [N, K] @ [K, D]: the sum over k
    dw = dy.T @ x  # [K, N] @ [N, D]: the sum over n
    db = dy.sum(axis=0)  # [K]
    # END SOLUTION
    return dx, dw, db


linear_backward = check("gpu.linear_backward", linear_backward)

# %% [markdown]
# `check` compared you with our code.
# Who checks ours?
# A gradient predicts how far the loss moves when one input moves a little.
# So move it, by $\varepsilon = 10^{-6}$ each way:
#
# $$\frac{\partial L}{\partial w_{kd}} \approx \frac{L(w_{kd} + \varepsilon) - L(w_{kd} - \varepsilon)}{2\varepsilon}$$
#
# `gradcheck` does this to every entry and names the worst one.
# Its loss is $L = \sum a \cdot \mathrm{dy}$, so that $\partial L/\partial a$ is the `dy` you choose.
#
# ### <a id="C02"></a>C02 on trial
#
# > dL/dW = 1/N * sum_i x_i * dl_i/da_i
#
# Introductory articles repeat such statements; the course puts them on trial.
# Run this one as it stands, with 4 features and 3 outputs for each of 5 images; `dl[n, k]` is $\partial \ell_n / \partial a_{nk}$.
# Then nudge three gradients: the outer product, the one from `linear_backward`, and one with the 1/N twice.

# %%
from labkit.reference import gradcheck, linear

rng = np.random.default_rng(0)
N, D, K = 5, 4, 3
x, w, b, dl = (rng.normal(size=shape) for shape in [(N, D), (K, D), K, (N, K)])
try:
    dw = 1 / N * sum(x[i] * dl[i] for i in range(N))
except ValueError as error:
    print("As printed:", error)

outer = 1 / N * sum(np.outer(dl[i], x[i]) for i in range(N))  # [K, D]
dx, dw, db = linear_backward(dl / N, x, w)
print("Outer product:", gradcheck(linear, [x, w, b], [None, outer, None], dl / N).ok)  # dw alone
print("linear_backward:", gradcheck(linear, [x, w, b], [dx, dw, db], dl / N).ok)
twice = gradcheck(linear, [x, w, b], [dx, dw / N, db], dl / N)
print(f"1/N twice: {twice.ok}, worst at {'xwb'[twice.worst_input]}{list(twice.worst_index)}")

# %% [markdown]
# **Verdict on C02: holds if the product is an outer product.**
# Each $x_i$ and $\mathrm{d}\ell_i/\mathrm{d}a_i$ together give a whole matrix, `[K, D]`; an element-wise product of 4 features and 3 outputs does not even fit.
#
# **A gradient is a claim about a difference, so a difference can test it.**
#
# ### A convolution, with all its indices
#
# What does a filter compute?
# Output channel $k$ at position $(p, q)$ of image $n$ is one sum over the input channels $c$ and the *taps* $(r, s)$, the cells of the kernel.
# The *stride* is the step from one window to the next, the *padding* $\pi$ the width of a frame of zeros around the image:
#
# $$y_{nkpq} = b_k + \sum_{c}\sum_{r}\sum_{s} w_{kcrs}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# An image of $H$ rows gives $P = \lfloor (H + 2\pi - R)/\mathrm{stride} \rfloor + 1$ rows of output; columns likewise.
#
# ### <a id="C24"></a>C24 on trial
#
# > A convolution layer is Y = sum_i sum_j X[i,j] * K[i,j]
#
# Run it as printed, with $i$ and $j$ over the kernel, then over the image.
# The last line and the picture show what the layer does instead: `one_output` of a window, which `ravel` lays out as a row.
# Change `p` and `q` to 0, 1 or 2 and watch the window move.

# %%
X = np.array([[1, 0, 2, 1, 0], [0, 3, 1, 0, 2], [2, 1, 0, 1, 1], [0, 2, 4, 0, 1], [1, 0, 1, 2, 0]])
K = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])  # answers to left-right changes


def as_printed(size):
    return sum(X[i, j] * K[i, j] for i in range(size) for j in range(size))


print("i, j over the kernel:", as_printed(len(K)), "(one number)")
try:
    as_printed(len(X))
except IndexError as error:
    print("i, j over the image:", error)
print("one window:", one_output(X[2:5, 2:5].ravel(), K.ravel(), 0))
figures.convolution(X, K, p=2, q=2)

# %% [markdown]
# **Verdict on C24: wrong.**
# Read over the kernel, the sum is one number; a layer gives one per position, image and output channel, and also sums over the input channels.
# Strictly, $K$ unflipped means *cross-correlation*.
#
# **Exercise `gpu.conv2d_direct`**: one output cell.
# `padded` is the image inside its frame, so row $p\cdot\mathrm{stride} + r - \pi$ of the formula is row $p\cdot\mathrm{stride} + r$ of `padded`.
# Cut the window `[C, R, S]` out of `padded[n]`, sum its product with `w[k]`, add `b[k]`.


# %% tags=["exercise:gpu.conv2d_direct"]
def conv2d_direct(x, w, b, stride=1, padding=0):
    """x [N, C, H, W], w [K, C, R, S], b [K]  ->  y [N, K, P, Q]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    (N, C, H, W), (K, C, R, S) = padded.shape, w.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    y = np.zeros((N, K, P, Q), dtype=x.dtype)
    for n, k, p, q in np.ndindex(N, K, P, Q):
        # STUB:
        # y[n, k, p, q] = 0  # replace this line
        # BEGIN SOLUTION
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]  # [C, R, S]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]
        # END SOLUTION
    return y


conv2d_direct = check("gpu.conv2d_direct", conv2d_direct)

# %% [markdown]
# ### im2col: every window becomes a row
#
# Every machine in this course multiplies matrices well.
# Can a convolution become one product?
# Its sum runs over $(c, r, s)$.
# Lay each window out as a row in that order, and stack the rows: `cols` is `[N P Q, C R S]`.
# Pixels are copied; nothing is computed.
#
# Looping over output cells is slow, but there are only $R \cdot S$ taps.
# For one tap, the pixels it sees in *all* windows are one slice of the padded image: start at the tap, step by the stride.
# It has shape `[N, C, P, Q]`.
#
# **Exercise `gpu.im2col`**: what one tap sees.
# `a.transpose(0, 2, 3, 1)` puts old axis 0 first, then 2, 3, 1.
# NumPy's `sliding_window_view` has all windows ready, so it is not allowed here.
# Run the cell once as it is, and look at the picture.


# %% tags=["exercise:gpu.im2col"]
def im2col(x, R, S, stride=1, padding=0):
    """x [N, C, H, W]  ->  cols [N P Q, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    cols = np.zeros((N, P, Q, C, R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        # STUB:
        # cols[..., r, s] = 0  # replace 0: [N, P, Q, C], from padded[:, :, down, right]
        # BEGIN SOLUTION
        cols[..., r, s] = padded[:, :, down, right].transpose(0, 2, 3, 1)
        # END SOLUTION
    return cols.reshape(N * P * Q, C * R * S)


figures.im2col(X, kernel=(3, 3), p=1, q=2)
im2col = check("gpu.im2col", im2col)

# %% [markdown]
# Now the convolution is one line: rows times weights.
# Is it the same, and is it faster?
# Guess the ratio before you run the cell.

# %% tags=["timing", "nbval-ignore-output"]
from timeit import timeit

from labkit.provenance import measured


def conv2d(x, w, b, stride=1, padding=0):
    """The same convolution as `cols @ weights`: [N P Q, C R S] @ [C R S, K]."""
    K, C, R, S = w.shape
    y = im2col(x, R, S, stride, padding) @ w.reshape(K, C * R * S).T + b  # [N P Q, K]
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    return y.reshape(len(x), P, -1, K).transpose(0, 3, 1, 2)  # [N, K, P, Q]


args = [rng.normal(size=s).astype("float32") for s in [(1, 3, 32, 32), (32, 3, 3, 3), 32]] + [1, 1]
loops = timeit(lambda: conv2d_direct(*args), number=1)
product = min(timeit(lambda: conv2d(*args), number=1) for _ in range(20))
print("largest difference below 1e-4:", np.abs(conv2d_direct(*args) - conv2d(*args)).max() < 1e-4)
print("loops:         ", measured(loops, "s"))
print("matrix product:", measured(product, "s"), f"- {loops / product:.0f} times faster")

# %% [markdown]
# **Same sums, same processor, but the loops enter Python 32,768 times, once per output cell.**
# <!-- holds: conv2d(*args).size == 32_768 -->
# im2col enters it 9 times, once per tap, and the product once.
# <!-- holds: args[1].shape[2] * args[1].shape[3] == 9 -->
# In our runs, the times lay over a hundredfold apart.
#
# ### Backwards, part one: the weights
#
# The convolution is now a linear layer with `cols` as its input.
# So you know its `dw`.
# With all indices:
#
# $$\mathrm{dw}_{kcrs} = \sum_{n,p,q} \mathrm{dy}_{nkpq}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}
# \qquad\qquad \mathrm{db}_k = \sum_{n,p,q} \mathrm{dy}_{nkpq}$$
#
# **Exercise `gpu.conv2d_backward_weights`**: both gradients.
# `dy` arrives as `[N, K, P, Q]`.
# As rows it must be `[N P Q, K]`, like `cols`: axis $K$ moves to the end *before* the reshape, or a row would mix channels and pixels.


# %% tags=["exercise:gpu.conv2d_backward_weights"]
def conv2d_backward_weights(dy, x, R, S, stride=1, padding=0):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S], db [K]"""
    K, C = dy.shape[1], x.shape[1]
    cols = im2col(x, R, S, stride, padding)  # [N P Q, C R S]
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, K)  # [N P Q, K]
    # STUB:
    # dw = None
    # db = None
    # BEGIN SOLUTION
    dw = (dy_rows.T @ cols).reshape(K, C, R, S)
    db = dy_rows.sum(axis=0)
    # END SOLUTION
    return dw, db


conv2d_backward_weights = check("gpu.conv2d_backward_weights", conv2d_backward_weights)

# %% [markdown]
# ### Backwards, part two: the image
#
# A pixel was read by several windows.
# Each one sends back a share.
# For the pixel in row $h$ and column $v$:
#
# $$\mathrm{dx}_{nchv} = \sum_{k,r,s}\ \sum_{p,q}\ \mathrm{dy}_{nkpq}\, w_{kcrs} \quad\text{over all } (p, q) \text{ with }\;
# p\cdot\mathrm{stride} + r - \pi = h,\;\; q\cdot\mathrm{stride} + s - \pi = v$$
#
# In two steps: the linear layer's rule gives `dcols`, the gradient of the rows; then each entry of `dcols` goes back to the pixel it was copied from.
#
# **Exercise `gpu.conv2d_backward_input`**: the way back of one tap.
# Run the cell once and look at the picture: what must happen at a pixel that several taps reach?
# The last lines nudge all three gradients, with stride 2 and padding 1.


# %% tags=["exercise:gpu.conv2d_backward_input"]
def conv2d_backward_input(dy, w, x_shape, stride=1, padding=0):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W] = x_shape"""
    (N, C, H, W), (K, C, R, S), (P, Q) = x_shape, w.shape, dy.shape[2:]
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, K)  # [N P Q, K]
    dcols = (dy_rows @ w.reshape(K, C * R * S)).reshape(N, P, Q, C, R, S)
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding), dtype=dy.dtype)
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        # STUB:
        # dx[:, :, down, right] = 0  # replace this line: dcols[..., r, s] is [N, P, Q, C]
        # BEGIN SOLUTION
        dx[:, :, down, right] += dcols[..., r, s].transpose(0, 3, 1, 2)
        # END SOLUTION
    return dx[:, :, padding : padding + H, padding : padding + W]


figures.overlap((5, 5), kernel=(3, 3), pixel=(1, 1))
conv2d_backward_input = check("gpu.conv2d_backward_input", conv2d_backward_input)

x, w, b, dy = (rng.normal(size=s) for s in [(2, 3, 6, 5), (4, 3, 3, 3), 4, (2, 4, 3, 3)])
grads = [conv2d_backward_input(dy, w, x.shape, 2, 1), *conv2d_backward_weights(dy, x, 3, 3, 2, 1)]
result = gradcheck(lambda x, w, b: conv2d(x, w, b, 2, 1), [x, w, b], grads, dy)
print(f"dx, dw and db in use, nudged at {result.entries} entries:", result.ok)

# %% [markdown]
# ## Check
#
# Does it work in the real network?
# PyTorch trained these weights on 50,000 photographs of [CIFAR-10](https://www.cs.toronto.edu/~kriz/cifar.html), never on the 500 below.

# %%
import torch

from labkit import convnet
from labkit.datasets import cifar10


def network(x, weights):
    """x [N, 3, 32, 32]  ->  logits [N, 10]"""
    for name in ("conv1", "conv2"):
        x = conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=1)
        N, K, H, W = x.shape
        x = np.maximum(x, 0).reshape(N, K, H // 2, 2, W // 2, 2).max(axis=(3, 5))  # ReLU, pool
    x = x.reshape(len(x), -1) @ weights["fc1.weight"].T + weights["fc1.bias"]  # [N, 128]
    return np.maximum(x, 0) @ weights["fc2.weight"].T + weights["fc2.bias"]


data, weights = cifar10("sample"), convnet.load_weights()
x = convnet.normalise(data.test.images)  # [500, 3, 32, 32] float32
logits = np.concatenate([network(batch, weights) for batch in np.split(x, 10)])

# %% [markdown]
# Does PyTorch, with the same weights, agree in every score (logit), not only in the winning class?

# %%
from labkit.provenance import counted, predicted

with torch.no_grad():
    expected = convnet.torch_model(weights)(torch.from_numpy(x)).numpy()
yours, theirs = logits.argmax(axis=1), expected.argmax(axis=1)
accuracy = 100 * np.mean(yours == data.test.labels)
print(f"Same class as PyTorch: {np.sum(yours == theirs)} of {len(x)} images.")
print("All 5,000 logits within 0.001:", np.abs(logits - expected).max() < 1e-3)
print("Accuracy:", counted(accuracy, "%", f"comparing {len(x)} labels"))

some = slice(112, 128)
answers, truths = (np.array(data.class_names)[c][some] for c in (yours, data.test.labels))
captions = [a if a == t else f"{a},\nis {t}" for a, t in zip(answers, truths, strict=True)]
wrong = answers != truths
alt = f"16 test photographs with the network's answers; {wrong.sum()} of the answers are wrong."
figures.image_grid(data.test.images[some], captions, wrong, alt)

# %% [markdown]
# **The NumPy network and PyTorch agree.**
# <!-- holds: np.sum(yours == theirs) == len(x) -->
# <!-- holds: np.abs(logits - expected).max() < 0.001 -->
# The answers framed in orange are wrong, and PyTorch gives the same wrong ones.
# <!-- holds: np.sum(wrong) > 0 -->
# <!-- holds: np.sum(yours[some] != theirs[some]) == 0 -->
#
# ## Measure
#
# What does one training step of 32 images cost?
# A convolution's forward pass takes $N K P Q \cdot C R S$ multiply-adds, each 2 FLOP.
# `dw` takes the same number again, and so does `dx`.
# The first layer needs no `dx`: nobody trains the photograph.
#
# Bytes count too.
# We assume that every operation reads its operands once from memory and writes its result once, 4 bytes per number.
# FLOP divided by bytes is the **arithmetic intensity**.
# ReLU reads x and writes y, then reads y and dy and writes dx: 5 numbers or 20 bytes for 2 FLOP, 0.1 FLOP per byte.
# `sgd` updates all weights, with momentum.

# %%
costs = {cost.name: cost for cost in convnet.layer_costs(batch=32, training=True)}

outputs = 32 * 64 * 16 * 16  # conv2: N K P Q
by_hand = 3 * 2 * outputs * (32 * 3 * 3) + outputs  # y, dw and dx; then the sums of db
print("conv2 by hand agrees:", by_hand == float(costs["conv2"].flops))
print(f"\n{'layer':8}{'arithmetic':>14}{'traffic':>12}{'FLOP/B':>10}   (counted, 32 images)")
for name, cost in costs.items():
    print(f"{name:8}{cost.flops.number:>14}{cost.bytes.number:>12}{float(cost.intensity):>10.2f}")

macs = 32 * 32 * 32 * 27 + 64 * 16 * 16 * 288 + 128 * 4096 + 10 * 128  # forward, one image
convolutions = sum(float(costs[name].flops) for name in ("conv1", "conv2"))
share = 100 * convolutions / sum(float(cost.flops) for cost in costs.values())

# %% [markdown]
# **`conv2` does 900 times more arithmetic per byte than ReLU.**
# <!-- holds: round(costs["conv2"].intensity.value / costs["relu1"].intensity.value, -2) == 900 -->
# Faster arithmetic helps the one, faster memory the other.
#
# A machine can do at most `peak` FLOP per second, and move at most `bandwidth` bytes per second to and from its main memory.
# So a layer of intensity $I$, if all its bytes go to main memory, runs at most at
#
# $$\min(\text{peak},\; I \cdot \text{bandwidth})$$
#
# This is the **roofline**.
# Its corner, at the intensity peak/bandwidth, is the **ridge**: left of it memory sets the speed, right of it arithmetic.
# The next cell measures your machine and, in PyTorch, four layers forward and backward.
#
# A mark above the slope: its data stayed in the cache, so fewer bytes moved than we counted.
# Far below the roof: the time went elsewhere, such as into starting the work.
# The peak is the best we can measure here, a large convolution or matrix product.

# %% tags=["timing", "picture", "nbval-ignore-output"]
from labkit import hardware

layers = {
    "conv1": (torch.nn.Conv2d(3, 32, 3, padding=1), (3, 32, 32)),
    "relu1": (torch.nn.ReLU(), (32, 32, 32)),
    "conv2": (torch.nn.Conv2d(32, 64, 3, padding=1), (32, 16, 16)),
    "fc1": (torch.nn.Linear(4096, 128), (4096,)),
}
rates = {}
for name, (layer, shape) in layers.items():
    x = torch.randn(32, *shape, requires_grad=True)
    inputs = [*layer.parameters()] + [x] * (name != "conv1")  # the photograph needs no dx
    dy = torch.randn_like(layer(x))
    step = lambda: torch.autograd.grad(layer(x), inputs, dy)  # forward and backward
    best = min(timeit(step, number=1) for _ in range(20))
    rates[name] = measured(float(costs[name].flops) / best, "FLOP/s")

here = hardware.measure_this_machine()
figures.roofline(here, {name: costs[name].intensity for name in rates}, rates)
print("peak:", here.peak["fp32"], "\nbandwidth:", here.bandwidth)

# %% [markdown]
# ## Explain
#
# Now meet your guesses.
# For the third one, add up a roofline time per layer, $\max(\text{FLOP}/\text{peak},\ \text{bytes}/\text{bandwidth})$, for a laptop, the T4 that Colab lends for free, and an H200.
# It assumes that each machine reaches its roof; your marks show how far real code can be from one.
#
# Which peak?
# The ordinary float32 units have the one of your guess.
# The **tensor cores** multiply matrices many times faster, but they first round the numbers: in the format TF32 to 11 significant bits, where float32 has 24.
# An H200 knows TF32, a T4 does not.
# The last column takes this peak for every layer.
#
# | | peak in float32 | peak in TF32 | bandwidth |
# |---|---|---|---|
# | laptop, Ryzen 5 5500U | 768 GFLOP/s (predicted: cores x clock x width) | | 51.2 GB/s (predicted) |
# | NVIDIA T4 | 8.1 TFLOP/s (published: its data sheet) | | 320 GB/s (predicted) |
# | NVIDIA H200 | 67 TFLOP/s (published: its data sheet) | 494.5 TFLOP/s (published, without sparsity) | 4.8 TB/s (published) |
#
# ### <a id="C25"></a>C25 on trial
#
# > Hardware acceleration makes training tens of times faster
#
# The gains below are the experiment.


# %%
def least_time(machine, number_format, names):
    """Seconds by the roofline: for each layer the longer of computing and fetching, added up."""
    peak = float(machine.peak[number_format])
    bandwidth = float(machine.bandwidth)
    layers = [costs[name] for name in names]
    return sum(max(float(c.flops) / peak, float(c.bytes) / bandwidth) for c in layers)


laptop, t4, h200 = (hardware.machine(key) for key in ("laptop_cpu", "t4", "h200"))
columns = [(laptop, "fp32"), (t4, "fp32"), (h200, "fp32"), (h200, "tf32")]
rows = {name: [name] for name in rates} | {"whole step": list(costs)}
print("predicted gain over the laptop:   T4 fp32   H200 fp32   H200 tf32")
for row, names in rows.items():
    cpu, *gpus = (least_time(m, number_format, names) for m, number_format in columns)
    print(f"{row:29}", *(f"{cpu / gpu:10.1f}x" for gpu in gpus))

gain = least_time(laptop, "fp32", costs) / least_time(h200, "fp32", costs)
results = [counted(macs, "multiply-adds", "the layers' shapes"), counted(share, "%", "the table")]
results.append(predicted(gain, "times", "the roofline"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# **A layer left of the ridge on both machines gains the ratio of their bandwidths, one right of it the ratio of their peaks.**
# <!-- holds: abs(least_time(laptop, "fp32", ["relu1"]) / least_time(h200, "fp32", ["relu1"]) - 4800 / 51.2) < 0.1 -->
# <!-- holds: abs(least_time(laptop, "fp32", ["conv2"]) / least_time(h200, "fp32", ["conv2"]) - 67 / 0.768) < 0.1 -->
# The ridges of laptop and H200 in float32 are 15 and 14 FLOP/B; the ratios 4,800 / 51.2 = 94 and 67 / 0.768 = 87.
# <!-- holds: [round(laptop.ridge("fp32")), round(h200.ridge("fp32"))] == [15, 14] -->
# In TF32 the H200's ridge moves to 103 FLOP/B.
# <!-- holds: round(h200.ridge("tf32")) == 103 -->
# Now even `conv2`, at 94, is left of it: faster arithmetic would help this network no more.
# <!-- holds: round(costs["conv2"].intensity.value) == 94 < h200.ridge("tf32") -->
#
# **Verdict on C25: holds if a large GPU replaces a laptop's processor, and both come near their roofs.**
# For this step in float32 the roofline predicts about 90 times for an H200.
# <!-- holds: 88 < gain < 92 -->
# With the tensor cores in TF32 it predicts about 150 times, and for a T4 in float32 only 8.
# <!-- holds: 148 < least_time(laptop, "fp32", costs) / least_time(h200, "tf32", costs) < 152 -->
# <!-- holds: round(least_time(laptop, "fp32", costs) / least_time(t4, "fp32", costs)) == 8 -->
# All three are predictions: no GPU was measured here.
# Against slow code any factor appears: plain loops lost more than a hundred on one processor.
#
# ## On trial
#
# ### <a id="C23"></a>C23 on trial
#
# > Automatic differentiation derives gradients by symbolic computation
#
# Build it and look.
# The loop below multiplies as often as the *values* say, so no formula was there to derive.
# The tape records each operation as it runs, with its *slopes*: how fast the result moves with each input.
# Slopes are numbers.

# %%
tape = [("x", 3.0, [])]  # rows: the operation, its value, [(row of an input, slope), ...]


def multiply(i, j):
    a, b = tape[i][1], tape[j][1]
    tape.append((f"v{i} * v{j}", a * b, [(i, b), (j, a)]))  # d(ab)/da = b, d(ab)/db = a
    return len(tape) - 1


x = y = 0  # rows of the tape
while tape[y][1] < 50:
    y = multiply(y, x)
grad = [0.0] * y + [1.0]  # dy/dv of each row, known for the last
for row, (text, value, inputs) in reversed(list(enumerate(tape))):
    print(f"v{row} = {text:7} = {value:2.0f}  slopes {inputs!s:22}  dy/dv{row} = {grad[row]:.0f}")
    for i, slope in inputs:
        grad[i] += grad[row] * slope  # += again: x was used several times

# %% [markdown]
# **Verdict on C23: holds if the gradient is built as a graph before there are numbers.**
# This tape does not do that: it holds values and slopes, walked backwards by the chain rule, and no formula is derived.
# PyTorch's records operations as they run, too (*Autograd mechanics*).
# The last line says 108: the run computed $x^4$ at 3, and $4 \cdot 3^3 = 108$.
# <!-- holds: grad[0] == 4 * 3**3 == 108 -->
# Other frameworks trace the program first and derive a second one from it.
# Theano called this *symbolic differentiation*, and its optimiser simplified the result (Theano 0.8, *Derivatives in Theano*). [`tf.gradients`](https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/gradients) of TensorFlow 1 "constructs symbolic derivatives"; JAX under `jit` traces as well.
# They, too, go operation by operation, by the chain rule.

# %% [markdown]
# ## Recap
#
# - **Linear backward:** sum over the shared letter.
#   **Convolution:** the same product, after im2col.
# - **Copied forward means added backward**: `+=`.
# - **Intensity** against the ridge says which figure of a machine matters for a layer.
#
# ## Quiz
#
# Put a letter, such as `"a"`, in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_shape", None)
# quiz("gpu.quiz_plus_equals", None)
# quiz("gpu.quiz_bound", None)
# BEGIN SOLUTION
quiz("gpu.quiz_shape", "a")
quiz("gpu.quiz_plus_equals", "b")
quiz("gpu.quiz_bound", "b")
# END SOLUTION
