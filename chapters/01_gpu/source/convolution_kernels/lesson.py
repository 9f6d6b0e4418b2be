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
#     title: "Convolution kernels: forward"
#     number: 8
#     minutes: 45
#     needs: [numba]
#     able: turn the sum of a convolution into a kernel, and compute it as a matrix product whose matrix nobody builds
#     runs_on: the SIMT machine, or a GPU
# ---

# %% [markdown]
# # Convolution kernels: forward
#
# **34.7 MB for arrays of 0.17 MB.**
# <!-- holds: round(counts.moved(direct)["asked"] / 1e6, 1) == 34.7 and round(counts.moved(direct)["perfect cache"] / 1e6, 2) == 0.17 -->
# The second convolution of our network takes one image of 32 channels to one of 64.
# Its input, weights and output together have 0.17 MB.
# But the simplest kernel, one thread for each output, asks for 34.7 MB: 200 times as much.
# In lesson 6, tiles cured the same disease in a matrix product.
# Can a convolution have them, too?
#
# ## What you will be able to do
#
# - turn a sum with many indices into a kernel in which each thread owns one result;
# - treat the frame of an image without a framed image;
# - compute a convolution as a matrix product whose matrix is never built, and say what that saves.
#
# You need the convolution of lesson 2, lesson 5's sectors, and lesson 6's tile.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# The letters are lesson 2's: `x[N,C,H,W]`, `w[K,C,R,S]`, `y[N,K,P,Q]`, stride, padding $\pi$.
# Our layer is `conv2`: it takes 32 channels of 16 x 16 pixels to 64, with 3 x 3 taps and padding 1.
# Guess two numbers:
#
# 1. Our kernels divide integers of 64 bits to find out which element is whose.
#    How many machine instructions does NVIDIA's compiler make of one such division, for a T4?
# 2. `conv2` forward, once with one thread per output, once with lesson 6's tiles of 32 x 32.
#    By what factor does the traffic fall?
#    (Count all sectors that the warps' requests touch, as if no cache kept anything.)

# %%
import math

import numpy as np

from labkit import check, convnet, figures, hardware, hint, predict, quiz, reference
from labkit.datasets import cifar10
from labkit.gpu import cuda, profile
from labkit.gpu.kernels.places import place, seen
from labkit_lessons.gpu.convolution_kernels import counts, feature_pictures
from labkit_lessons.gpu.convolution_kernels.exercises import pixel_of

# STUB:
# division_guess = predict("gpu.division_instructions", None, "instructions")
# tiles_guess = predict("gpu.implicit_saves", None, "times")
# BEGIN SOLUTION
division_guess = predict("gpu.division_instructions", 10, "instructions")
tiles_guess = predict("gpu.implicit_saves", 9, "times")
# END SOLUTION
zero, random = np.float32(0), np.random.default_rng(0)

# %% [markdown]
# ## Build
#
# ### One row by hand
#
# Take a row of three pixels, 5, 3 and 8, with a frame of one 0 on each side (padding 1), and the taps 1, 2 and -1.
# The window moves by one pixel (stride 1), and the bias is 10:
#
# ```
# output    pixels it sees    sum
# y0         0   5   3        10 + 1·0 + 2·5 - 1·3 = 17
# y1         5   3   8        10 + 1·5 + 2·3 - 1·8 = 13
# y2         3   8   0        10 + 1·3 + 2·8 - 1·0 = 29
# ```
#
# Output $p$ sees pixel $h = p \cdot \mathrm{stride} + r - \pi$ through tap $r$.
# So y0 sees pixel 0 + 0 - 1 = -1 through tap 0, and that lies in the frame.
#
# A kernel needs no framed image: a product with a 0 adds nothing, so it is left out.
# Beware of pixel -1: in a kernel, as in NumPy, it is the *last* one, here 8.
#
# ### Which output is mine?
#
# In the network, an output has four indices: its image, its channel, its row and its column.
# A thread has only one number.
# `place(i, a)` computes the four indices of element number `i` of `a`, and the last one runs fastest.
# In an array [2, 3, 4, 5], element 37 is in image 0, because an image has 60 elements.
# There, channel 1 begins at 20, and its row 3 at 20 + 15 = 35, so 37 is in column 2.
# Run it, and change the 37.


# %%
@cuda.jit
def show_place(i, a, found):
    found[0], found[1], found[2], found[3] = place(i, a)


found = np.zeros(4, np.int64)
show_place[1, 1](37, np.zeros((2, 3, 4, 5)), found)
print("element 37 of [2, 3, 4, 5] is", found)

# %% [markdown]
# Neighbouring threads own neighbouring outputs, so they write neighbours, as lesson 5 wants it.
#
# ### A thread owns an output
#
# $$y_{nkpq} = b_k + \sum_{c}\sum_{r}\sum_{s} w_{kcrs}\; x_{n,\;c,\;p\cdot\mathrm{stride} + r - \pi,\;q\cdot\mathrm{stride} + s - \pi}$$
#
# Each thread collects this sum for its own output, and writes it once.
# Nobody else writes there, so no addition has to be atomic.
#
# **Exercise `gpu.conv2d_kernel`**, three lines: the pixel's row `h` and column `v`; a guard, such as `0 <= h < size`, for both; the addition.
# The kernel will be launched with blocks of 128 threads.


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
# ### The matrix that nobody builds
#
# Lesson 2 made the convolution a matrix product, which could have tiles.
# There, each window of the image was a row of the matrix `cols`; here it is a *column*, so that neighbouring threads own neighbouring outputs.
# The picture shows an image of 3 x 4 pixels and its windows of 2 x 2 taps.
# The element in row 3 and column 4 is the pixel with the value 20, because tap (1, 1) of output (1, 1) sees it.

# %% tags=["picture"]
feature_pictures.one_element(row=3, column=4)

# %% [markdown]
# For one image in `conv2`, `cols` has 295 kB, made of the 33 kB of `x`.
# It would have to be written first and then read again.
# **So do not build it.**
# Whoever needs element `(row, col)` computes where that pixel lies in `x`, and reads it there.
# This is **implicit GEMM** (*general matrix multiply*), one of the algorithms of NVIDIA's library cuDNN.
#
# With several channels and images, `row` is $(c, r, s)$ and `col` is $(n, p, q)$ as one number, and again the last index runs fastest.
# With 3 x 3 taps and outputs of 4 x 5, take row 14 and column 27:
#
# ```
# c = 14 // 9     = 1      n = 27 // 20    = 1
# r = 14 // 3 % 3 = 1      p = 27 // 5 % 4 = 1
# s = 14 % 3      = 2      q = 27 % 5      = 2
# ```
#
# **Exercise `gpu.implicit_gemm_gather`**: take `row` and `col` apart, and return what is seen.
# `seen(x, n, c, p, q, r, s, stride, padding)` gives the pixel that output $(p, q)$ sees through tap $(r, s)$, and 0 in the frame.
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
# (`device=True` makes a function that kernels may call.)
# `pixel_of` takes `pixel` from the kernel that `check` handed on: yours, or ours while yours is wrong.

# %%
pixel = pixel_of(build)

# %% [markdown]
# Now lesson 6's tiled kernel: its left factor is `w` as a matrix `[K, C R S]`; its right one would be `cols`, and is `pixel` instead.
# A block makes a tile of 32 channels `k` by 32 outputs `col`.


# %%
@cuda.jit
def implicit_gemm(x, w, b, R, S, stride, padding, y):
    w_tile = cuda.shared.array((32, 32), "float32")
    x_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, k = cuda.grid(2)
    K, CRS = w.shape
    total = zero
    P, Q, NPQ = y.shape[2], y.shape[3], y.size // K
    for start in range(0, CRS, 32):
        inside = start + ty < CRS and col < NPQ
        w_tile[ty, tx] = w[k, start + tx] if k < K and start + tx < CRS else zero
        x_tile[ty, tx] = pixel(x, start + ty, col, R, S, stride, padding) if inside else zero
        cuda.syncthreads()
        for i in range(32):
            total += w_tile[ty, i] * x_tile[i, tx]
        cuda.syncthreads()
    if k < K and col < NPQ:
        y[col // (P * Q), k, col // Q % P, col % Q] = total + b[k]


# %% [markdown]
# ## Check
#
# What does the network's first layer see with your kernel?
# `conv1` takes a photograph's 3 colours to 32 channels.

# %% tags=["picture"]
photo = cifar10("sample").test.images[1:2]  # [1, 3, 32, 32]
weights = convnet.load_weights()
maps = np.zeros((1, 32, 32, 32), np.float32)
blocks = math.ceil(maps.size / 128)
first = weights["conv1.weight"], weights["conv1.bias"]
conv2d_kernel[blocks, 128](convnet.normalise(photo), *first, 1, 1, maps)
feature_pictures.feature_maps(photo[0], maps[0], [0, 1, 2, 3, 4, 5, 6])
exact = reference.conv2d(convnet.normalise(photo), *first, 1, 1)
print("within 0.001 of float64:", np.abs(maps - exact).max() < 1e-3)

# %% [markdown]
# Each channel shows where its 3 x 3 taps found what they look for, such as an edge.
#
# ## Measure
#
# Now `conv2` for one image, direct and implicit, in three counts:
#
# | count | what it holds | what it stands for |
# |---|---|---|
# | *asked* | every number that a lane reads | what the formula wants |
# | *no cache* | all sectors of all requests | what L1 would ask of L2 if it kept nothing |
# | *perfect cache* | each sector once | what must come from the DRAM |
#
# *No cache* can be less than *asked*: when 32 lanes read the same number, one sector serves all.
# A real GPU's traffic lies between the last two.
# Behind each count stands what an H200 would reach if its DRAM had to send just these bytes.

# %%
shapes = [(1, 32, 16, 16), (64, 32, 3, 3), 64]
x, w, b = (random.standard_normal(shape, dtype=np.float32) for shape in shapes)
y, y_implicit = np.zeros((1, 64, 16, 16), np.float32), np.zeros((1, 64, 16, 16), np.float32)
direct = profile(conv2d_kernel, 128, 128, x, w, b, 1, 1, y)
as_matrix = w.reshape(64, 288)  # [K, C R S]
implicit = profile(implicit_gemm, (8, 2), (32, 32), x, as_matrix, b, 3, 3, 1, 1, y_implicit)
expected = reference.conv2d(x, w, b, 1, 1)
for result in (y, y_implicit):
    print("right:", np.allclose(result, expected, atol=1e-3))
flops = 2 * 64 * 256 * 288  # a product and an addition for each output, and each of 288 taps
rows = counts.traffic_rows("direct", direct, flops)
rows += counts.traffic_rows("implicit GEMM", implicit, flops)
figures.table(counts.HEADS, rows)

# %% [markdown]
# An H200 wants 14 FLOP for each byte of its DRAM.
# Without a cache, the direct kernel offers 0.4, which would leave 3 % of the peak: it lives on caches.
# <!-- holds: round(flops / counts.moved(direct)["no cache"], 1) == 0.4 -->
# <!-- holds: round(100 * flops / counts.moved(direct)["no cache"] / hardware.machine("h200").ridge("fp32")) == 3 -->
# Implicit GEMM offers 7.6, from tiles.
# <!-- holds: round(flops / counts.moved(implicit)["no cache"], 1) == 7.6 -->
# With a perfect cache they tie.
# <!-- holds: counts.moved(direct)["perfect cache"] == counts.moved(implicit)["perfect cache"] -->
#
# One cost is in no count of bytes: `pixel` divides integers, and NVIDIA's GPUs have no instruction for that.
# What does the compiler make of one division?

# %%
divisions = counts.division_rows()
figures.table(["what is divided", "for a T4"], divisions)

# %% [markdown]
# Numba's indices are int64, so ours are divisions of the first kind.
# (Where both numbers fit into 32 bits, as here, only some 45 of these instructions run.)
# <!-- holds: abs(float(divisions[0][1]) - 140) < 14 -->
# Where the divisor is a constant, the compiler multiplies by its inverse instead.
# <!-- holds: float(divisions[3][1]) < 4 < float(divisions[1][1]) -->
# So the course's own kernels, in `labkit/gpu/kernels/implicit_gemm.py`, are made for one geometry each, and count in uint32.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import counted

without = [counts.moved(p)["no cache"] for p in (direct, implicit)]
saved = counted(without[0] / without[1], "times", "profile")
division = ("one division", division_guess, divisions[0][1])
figures.guesses([division, ("tiles", tiles_guess, saved)])

# %% [markdown]
# **Why do tiles of 32 x 32 not save 32 times?**
# Implicit GEMM does ask for 29 times fewer numbers.
# Without the bias and the frame it would be 32; in the frame, the direct kernel reads neither pixel nor weight, implicit GEMM only no pixel.
# <!-- holds: flops == 32 * (2 * 9 * 16 * 32 * 32) -->
# <!-- holds: round(counts.moved(direct)["asked"] / counts.moved(implicit)["asked"]) == 29 -->
# But in the direct kernel, the 32 lanes of a warp read the *same* weight, one sector for all.
# There its traffic was low before, so its sectors fall by only 18.5.
# <!-- holds: round(float(saved), 1) == 18.5 -->
#
# Both kernels read two numbers for each multiply-add: the direct kernel from global memory, implicit GEMM from shared memory, which is lesson 6's limit.
# Lesson 7's ladder shows the way out: a tile of 64 x 128, with its sums in registers, asks for 64 + 128 numbers for 64 · 128 multiply-adds.
# On the roofline, direct and implicit GEMM stand at their intensity without a cache, and beside them that larger tile.

# %% tags=["picture"]
intensities = {"direct": flops / without[0], "implicit GEMM": flops / without[1]}
intensities["tile of 64 x 128"] = 2 * 64 * 128 / (4 * (64 + 128))
figures.roofline(hardware.machine("h200"), intensities)

# %% [markdown]
# ## On trial
#
# No new claim: the kernels rest on C24 of lesson 2, the sum with all its indices, and on [C34](5_memory_and_warps.ipynb#C34), the last index along the threads.
#
# ### Outside
#
# `torch.nn.functional.conv2d` asks cuDNN, which has several algorithms and tiles, implicit GEMM among them.
# With `torch.backends.cudnn.benchmark = True` it tries them and keeps the fastest.
# Nsight Compute counts what the DRAM really sends, which should lie between our last two counts:
#
# ```
# ncu --metrics dram__bytes_read.sum,dram__bytes_write.sum \
#   python my_script.py
# ```
#
# It was not run here; `make gpu-report` [times these kernels on a GPU](measured.md).
# We left out Winograd's and Fourier's ways, which multiply less.
#
# ## Recap
#
# Each output has an owner, who collects all its products and alone writes it: no race, no atomics.
# A tile needs a matrix, but not in memory: compute where an element lies, and fetch it.
#
# - **Keep this rule: do not build `cols`; fetch each element where it lies, and save a matrix $R \cdot S$ times as large as the image: 9 times with 3 x 3 taps.**
#   <!-- holds: 9 * x.nbytes == 294_912 -->
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_frame", None)
# quiz("gpu.quiz_column", None)
# quiz("gpu.quiz_implicit", None)
# BEGIN SOLUTION
quiz("gpu.quiz_frame", "d")
quiz("gpu.quiz_column", "b")
quiz("gpu.quiz_implicit", "c")
# END SOLUTION
