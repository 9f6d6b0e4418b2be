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
#     title: Convolutions
#     number: 2
#     minutes: 60
#     needs: [torch]
#     able: write a convolution as loops and as one matrix product, and its gradients, and run a trained layer with it
#     runs_on: any CPU
# ---

# %% [markdown]
# # Convolutions
#
# **32,768 sums for one photograph.**
# <!-- holds: conv2d(*args).size == 32_768 -->
# A convolution slides a small **window** over an image.
# At each place, the pixels in the window are multiplied by the weights of a **kernel**, number by number, and added up.
# It is lesson 1's `one_output`, with the window as its features.
# The network's first layer, `conv1`, has 32 kernels for 32 x 32 places, so it makes $32^3 = 32{,}768$ sums.
# How can a machine make them all at once?
#
# ## What you will be able to do
#
# - write a convolution as loops, and as one matrix product;
# - write its gradients, of the weights and of the image;
# - run a trained layer in your own NumPy on photographs.
#
# You need lesson 1: a layer's three gradients, the gate of ReLU, and `gradcheck`.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The kernels of `conv1` have 3 x 3 weights for each of three colours.
# A frame of zeros, one pixel wide, lies around the photograph, so that a window fits around every pixel.
# Guess two numbers in place of `None`:
#
# 1. Copy all windows out of a photograph of 32 x 32 pixels into a matrix, one window in each row.
#    How many times as many numbers as the photograph does it hold?
# 2. We run `conv1`, with the weights that training found, on 500 photographs.
#    A ReLU stands behind it: what percentage of the outputs does it make 0?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz

# STUB:
# growth_guess = predict("gpu.im2col_growth", None, "times")
# gates_guess = predict("gpu.closed_gates", None, "%")
# BEGIN SOLUTION
growth_guess = predict("gpu.im2col_growth", 3, "times")
gates_guess = predict("gpu.closed_gates", 50, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A window, by hand
#
# ```
# window        kernel         products
# 0   1   1     1   0  -1      0   0  -1
# 4   0   1     2   0  -2      8   0  -2
# 1   2   0     1   0  -1      1   0   0      their sum is 6
# ```
#
# The kernel's left column counts as plus and its right column as minus, so the sum is large where the image is brighter on the left.
# Such a kernel answers to **edges**.
#
# ### <a id="C24"></a>C24 on trial
#
# > A convolution layer is Y = sum_i sum_j X[i,j] * K[i,j]
#
# We run it as printed, with $i$ and $j$ over the kernel, then over the image.
# The picture shows the layer instead, with the window from above in its image.
# Change `p` and `q` to 0, 1 or 2 and watch it move.

# %%
X = np.array([[1, 0, 2, 1, 0], [0, 3, 1, 0, 2], [2, 1, 0, 1, 1], [0, 2, 4, 0, 1], [1, 0, 1, 2, 0]])
K = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])


def as_printed(size):
    return sum(X[i, j] * K[i, j] for i in range(size) for j in range(size))


print("i, j over the kernel:", as_printed(len(K)), "(one number)")
try:
    as_printed(len(X))
except IndexError as error:
    print("i, j over the image:", error)
figures.convolution(X, K, p=2, q=2)

# %% [markdown]
# **Verdict on C24: wrong.**
# <!-- holds: np.size(as_printed(len(K))) == 1 -->
# Read over the kernel, the sum is one number; a layer gives one per position, image and output channel, and also sums over the input channels.
# In mathematics, a convolution first turns the kernel by 180 degrees; without that, as here and in PyTorch, it is a *cross-correlation*.
#
# ### With all its indices
#
# Images have **channels**: the three colours, or what an earlier layer made.
# The cells of a kernel are its **taps**: it has $R$ rows and $S$ columns of them, in each channel.
# The output for image $n$, kernel $k$, row $p$ and column $q$ is a sum over the channels $c$ and the taps $(r, s)$.
# The **stride** is the step from one window to the next, the **padding** $\pi$ (here a letter, and not 3.14) the width of the frame:
#
# $$y_{nkpq} = b_k + \sum_{c}\sum_{r}\sum_{s} w_{kcrs}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# An image of $H$ rows has $P = \lfloor (H + 2\pi - R)/\mathrm{stride} \rfloor + 1$ rows of windows; columns likewise.
# With 5 rows, 3 x 3 taps, stride 2 and padding 1 there are $\lfloor (5 + 2 - 3)/2 \rfloor + 1 = 3$ rows of windows; they begin at the rows 0, 2 and 4 of the framed image.
#
# **Exercise `gpu.conv2d_direct`**: one output cell.
# `padded` is the image inside its frame, so row $p\cdot\mathrm{stride} + r - \pi$ of the formula is row $p\cdot\mathrm{stride} + r$ of `padded`.
# Cut the window `[C, R, S]` out of `padded[n]`, sum its product with `w[k]`, add `b[k]`.
# In this lesson's exercises, use Python and NumPy alone, and not labkit's own functions; return arrays in the dtype of the inputs.


# %% tags=["exercise:gpu.conv2d_direct"]
def conv2d_direct(x, w, b, stride=1, padding=0):
    """x [N, C, H, W], w [K, C, R, S], b [K]  ->  y [N, K, P, Q]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, _, H, W = padded.shape
    K, _, R, S = w.shape
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
# Every machine of this course multiplies matrices well, so we make a matrix of all windows, `cols`.
# It has a row for each window and a column for each tap:
#
# ```
# image x        cols    tap   0,0   0,1   1,0   1,1
# 1   2   3      window 0,0     1     2     4     5
# 4   5   6      window 0,1     2     3     5     6
# 7   8   9      window 1,0     4     5     7     8
#                window 1,1     5     6     8     9
# ```
#
# Look down a column: in the four windows, tap 0,0 sees 1, 2, 4, 5, the upper left part of the image.
# So one slice of the image fills a whole column: it starts at the tap, and steps by the stride.
# For all images and channels the slice is `[N, C, P, Q]`.
# The result, `[N P Q, C R S]`, has $N \cdot P \cdot Q$ rows and $C \cdot R \cdot S$ columns: the taps of channel 0, then those of channel 1, and so on.
#
# **Exercise `gpu.im2col`**: what one tap sees.
# In `cols[..., r, s]` the dots stand for all axes before the last two.
# `a.transpose(0, 2, 3, 1)` puts old axis 0 first, then 2, 3, 1.
# NumPy's `sliding_window_view` has all windows ready, so it is not allowed here.


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
# Lay each kernel out as a row of $C\,R\,S$ weights, too, and the convolution is one product, `cols @ rows.T + b`.
# This is a fully connected layer, with windows in place of images.
#
# ### Backwards, by hand
#
# A row of pixels shows all three sums:
#
# ```
# pixels x    1   2   3   4
# taps w      3   1
# outputs y   3·1 + 1·2 = 5     3·2 + 1·3 = 9    3·3 + 1·4 = 13
# dy          1                 2                3
# ```
#
# - **A weight** is used in every window.
#   Tap 0 multiplied the pixels 1, 2, 3, so its slope is $1 \cdot 1 + 2 \cdot 2 + 3 \cdot 3 = 14$.
# - **A pixel** is read by several windows.
#   Pixel 2, the 3, was multiplied by tap 1 for output 1, and by tap 0 for output 2.
#   So its slope is $2 \cdot 1 + 3 \cdot 3 = 11$.
#
# The picture has a row for each output and a column for each pixel; in each cell stands the tap between them.

# %% tags=["picture"]
figures.three_sums(pixels=4, taps=2, padding=0, in_words=True)

# %% [markdown]
# ### The weights
#
# In the matrix product, `dw` is lesson 1's, with `cols` as the input.
# With all indices:
#
# $$\mathrm{dw}_{kcrs} = \sum_{n,p,q} \mathrm{dy}_{nkpq}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}
# \qquad\qquad \mathrm{db}_k = \sum_{n,p,q} \mathrm{dy}_{nkpq}$$
#
# **Exercise `gpu.conv2d_backward_weights`**: both gradients, from `dy_rows` and `cols`.
# `dy` arrives as `[N, K, P, Q]`, and the first lines make it rows like those of `cols`: axis $K$ moves to the end *before* the reshape, or a row would mix channels and pixels.


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
# ### The image
#
# What comes back to a pixel is the sum of the shares that all its windows send.
# Lesson 1's rule for `dx` gives the shares, `dcols`: one for each number of `cols`.
# Then each share goes back to the pixel from which `im2col` copied the number, tap by tap, through the same slices.
# There, the axes were moved by 0, 2, 3, 1; here they move back, $C$ from the last place to the second.
#
# **Exercise `gpu.conv2d_backward_input`**: the way back of one tap.
# In the picture below the cell, each pixel shows how many windows read it.
# What must happen at a pixel that several taps reach?


# %% tags=["exercise:gpu.conv2d_backward_input"]
def conv2d_backward_input(dy, w, x_shape, stride=1, padding=0):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W] = x_shape"""
    N, C, H, W = x_shape
    K, C, R, S = w.shape
    P, Q = dy.shape[2:]
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

# %% [markdown]
# ## Check
#
# Put the pieces together, and nudge, with stride 2 and padding 1.

# %%
from labkit.reference import gradcheck


def conv2d(x, w, b, stride=1, padding=0):
    """The same convolution as `cols @ rows.T`: [N P Q, C R S] @ [C R S, K]."""
    K, C, R, S = w.shape
    y = im2col(x, R, S, stride, padding) @ w.reshape(K, C * R * S).T + b  # [N P Q, K]
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    return y.reshape(len(x), P, -1, K).transpose(0, 3, 1, 2)  # [N, K, P, Q]


rng = np.random.default_rng(0)
x, w = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, 3, 3))
b, dy = rng.normal(size=4), rng.normal(size=(2, 4, 3, 3))
dx = conv2d_backward_input(dy, w, x.shape, 2, 1)
dw, db = conv2d_backward_weights(dy, x, 3, 3, 2, 1)
result = gradcheck(lambda x, w, b: conv2d(x, w, b, 2, 1), [x, w, b], [dx, dw, db], dy)
print(f"dx, dw and db, nudged at {result.entries} entries:", result.ok)

# %% [markdown]
# Now the trained `conv1`, on 500 photographs: does PyTorch give the same numbers?

# %%
import torch

from labkit import convnet, datasets

photographs = datasets.cifar10("sample").test.images
images = convnet.normalise(photographs)  # [500, 3, 32, 32], float32
weights = convnet.load_weights()
w, b = weights["conv1.weight"], weights["conv1.bias"]
outputs = np.concatenate([conv2d(part, w, b, padding=1) for part in np.split(images, 10)])

there = torch.nn.functional.conv2d(
    torch.tensor(images), torch.tensor(w), torch.tensor(b), padding=1
)
print("outputs:", outputs.size)
print("all within 0.0001 of PyTorch's:", np.abs(outputs - there.numpy()).max() < 1e-4)

# %% [markdown]
# They agree.
# <!-- holds: outputs.size == 16_384_000 and np.abs(outputs - there.numpy()).max() < 1e-4 -->
# <!-- holds: result.ok == 1 -->
#
# ## Measure
#
# Your loops and your matrix product make the same sums: does it matter how we write them?
# We time the loops once, and take the best of 20 runs of the product.

# %% tags=["timing", "nbval-ignore-output"]
from timeit import timeit

from labkit.provenance import measured

args = [images[:1], w, b, 1, 1]  # stride 1, padding 1
loops = timeit(lambda: conv2d_direct(*args), number=1)
product = min(timeit(lambda: conv2d(*args), number=1) for _ in range(20))
print("loops:", measured(loops, "s"))
print("matrix product:", measured(product, "s"))
print("loops / product:", measured(loops / product, "times"))

# %% [markdown]
# The loops enter Python once for each of 32,768 outputs.
# The product enters it 9 times in `im2col`, once per tap, and then once, for all the arithmetic.
# <!-- holds: args[1].shape[2] * args[1].shape[3] == 9 -->
# The arithmetic is the same; how much the way of running it is worth, your run says.
#
# Now your guesses, and what two kernels see.
# In the picture, a place is dark where the kernel answers, and white where the ReLU gives 0.
# The cell also prints their weights, summed over the colours.

# %% tags=["picture"]
from labkit.provenance import counted
from labkit_lessons.gpu.convolutions import photograph_maps

growth = im2col(images[:1], 3, 3, padding=1).size / images[:1].size
closed = 100 * np.mean(outputs <= 0)
growth, closed = counted(growth, "times", "im2col"), counted(closed, "%", "running conv1")
figures.guesses([("windows", growth_guess, growth), ("made 0", gates_guess, closed)])
photograph_maps.draw(photographs[1], outputs[1], kernels=[20, 25])
for kernel in (20, 25):
    print(f"kernel {kernel}:", w[kernel].sum(axis=0).round(2), sep="\n")

# %% [markdown]
# ## Explain
#
# **The matrix of windows holds nine times as many numbers as the photograph**: there are as many windows as pixels, and each window is nine pixels large.
# <!-- holds: float(growth) == 9 -->
# So the product pays with memory; on a GPU, lesson 8 saves that copy.
#
# **69 % of the outputs are negative, so the ReLU makes them 0.**
# <!-- holds: round(float(closed)) == 69 -->
# Kernel 20 has come by training to what ours does: its left column counts as plus, its right one as minus.
# (At the right edge, it answers to the frame.)
# <!-- holds: w[20].sum(axis=0)[:, 0].min() > 0.5 and w[20].sum(axis=0)[:, 2].max() < -0.4 -->
# Kernel 25 sets the left part of its upper row against that of its lower one.
# <!-- holds: w[25].sum(axis=0)[0, 0] > 1 and w[25].sum(axis=0)[2, 0] < -1 and w[25].sum(axis=0)[2, 1] < -0.5 -->
# By lesson 1's gate, nothing comes back through the closed 69 %, so at least 69 % of the `dy` that reaches `conv1` is 0.
# In the network it is more: the max-pool behind the ReLU keeps the largest of four numbers (lesson 3), and hands its `dy` back to that one alone.
#
# ### Outside
#
# In PyTorch, a convolution is one call, `torch.nn.functional.conv2d`; on a GPU, NVIDIA's library cuDNN picks one of several algorithms.
# Which one it took stands in the table of kernels that this prints:
#
# ```
# nsys profile --stats=true python my_script.py
# ```
#
# We left out kernels that skip pixels (*dilation*) or see only some channels (*groups*).
#
# ## On trial
#
# C24, tried above, gave one number, -1: output 0, 0 of the nine in its picture.
# Our run of `conv1` made 16,384,000.
# <!-- holds: as_printed(3) == -1 == conv2d(X[None, None], K[None, None], 0)[0, 0, 0, 0] -->
#
# ## Recap
#
# - A convolution is a fully connected layer on windows, so its gradients are those of lesson 1.
# - **Copied forwards means added backwards:** `+=`.
# - **Keep this rule: where there are as many windows as pixels, their matrix is $R \cdot S$ times as large as the image, nine times for 3 x 3.**
#   <!-- holds: float(growth) == 3 * 3 -->
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_shape", None)
# quiz("gpu.quiz_plus_equals", None)
# quiz("gpu.quiz_every_window", None)
# BEGIN SOLUTION
quiz("gpu.quiz_shape", "a")
quiz("gpu.quiz_plus_equals", "b")
quiz("gpu.quiz_every_window", "a")
# END SOLUTION
