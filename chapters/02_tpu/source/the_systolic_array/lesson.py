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
#     title: The systolic array
#     number: 1
#     minutes: 48
#     needs: []
#     able: write the registers of a matrix unit and step them through your own matrices; count its cycles; feed it a convolution
#     runs_on: any CPU
# ---

# %% [markdown]
# # The systolic array
#
# **A matrix unit of TPU v2 to v5 has 128 x 128 multipliers ([published](https://jax-ml.github.io/scaling-book/tpus/)), and each can work in every cycle.
# How do two numbers reach each of them in time?**
# Not each from memory.
# You will build the grid that solves this, and run a trained network through it.
#
# ## What you will be able to do
#
# - write the two rules by which a grid of cells multiplies matrices: when numbers enter, and what a cell does in a cycle;
# - count the cycles of any matrix product on any grid, and say where they go;
# - choose what should stay in place: weights, sums or inputs;
# - feed a convolution to the grid, and tell what that costs.
#
# You need NumPy, and from [lesson 2 of chapter 01](../01_gpu/2_convolutions.ipynb) the idea that a convolution is a matrix product.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# A **systolic array** is a grid of *cells*, and each cell holds one weight.
# In every cycle, a cell takes a number from its left neighbour and a partial sum, `psum`, from the cell above, adds the product of number and weight to the sum, and hands both on, like the beats of a heart: hence the name.
#
# ```
# holds      w = 3
# takes      a = 2 from the left       psum = 10 from above
# hands on   a = 2 to the right        10 + 2 x 3 = 16 downwards
# ```
#
# **Exercise `tpu.one_cell`**: the sum that a cell hands on, in one line, replacing `None`.
# All cells work at once, so each argument has a number for every cell.
# In these exercises, return NumPy arrays, and use no other library.
# Stuck?
# Run `hint("tpu.one_cell")` in a new cell.
# `check` gives back your function if it is right, else ours, so every cell below runs.


# %% tags=["exercise:tpu.one_cell"]
import numpy as np

from labkit import check, figures, hint, predict, quiz


def one_cell(a, psum, w):
    """number a, sum psum, weight w [rows, cols] of each cell -> its new sum [rows, cols]"""
    # STUB:
    # psum_next = None
    # BEGIN SOLUTION
    psum_next = psum + a * w
    # END SOLUTION
    return psum_next


one_cell = check("tpu.one_cell", one_cell)

# %% [markdown]
# That is all the arithmetic there is; what remains is timing.
#
# ## Predict
#
# A plain GPU kernel fetches two numbers for each multiply-add, from registers at best.
# A cell fetches neither.
# To multiply `a[M,K]` by `w[K,N]` and get `y[M,N]`:
#
# - the cell in row `k` and column `n` keeps the weight `w[k, n]`;
# - column `k` of `a` enters row `k` of the grid at its left edge, one number in a cycle, and moves to the right;
# - a sum begins with zero at the top of column `n`, moves down, and takes up one product in each cell.
#   At the bottom it is a result, and leaves as a number of `y`.
#
# If `w` is larger than the grid, it is cut into **tiles**.
# Tile after tile is loaded, and all of `a` that belongs to it streams through.
# A tile may be smaller than the grid: then the rest of the cells has no work, but the stream takes as long.
#
# We count cycles from 0, in text and pictures alike: **cycle 0 is the first in which a number of `a` enters.**
# What is loaded before has the cycles -1, -2 and so on.
#
# From this you can derive three numbers:
#
# 1. 128 x 128 cells, weights in place, everything flows.
#    How many numbers of `a` come in per cycle, from the memory beside the grid?
# 2. On the same grid, a product with K = 129, N = 128 and a very large M.
#    What percentage of the cells is at work, on average?
# 3. The network's first convolution is a product with K = 27, N = 32 and M = 32,768.
#    Four times the cells, 256 x 256: how many times fewer cycles?

# %%
# STUB:
# guesses = {
#     "feeds": predict("tpu.feeds_per_cycle", None, "numbers"),
#     "K = 129": predict("tpu.k129_share", None, "%"),
#     "conv1": predict("tpu.conv1_gain", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "feeds": predict("tpu.feeds_per_cycle", 256, "numbers"),
    "K = 129": predict("tpu.k129_share", 99, "%"),
    "conv1": predict("tpu.conv1_gain", 4, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### When does a number enter?
#
# The result in row $m$ and column $n$ is
#
# $$y_{mn} = \sum_k a_{mk}\, w_{kn}$$
#
# Follow its sum.
# In some cycle it is in row 0 and takes up $a_{m0}\, w_{0n}$.
# One cycle later it is in row 1; there $a_{m1}$ must meet it.
# In row $k$ it arrives $k$ cycles later than in row 0.
# So must $a_{mk}$: **row $k$ of the grid is fed $k$ cycles late.**
# In cycle 0 only row 0 gets a number, `a[0, 0]`; in cycle 1 row 0 gets `a[1, 0]`, and row 1 gets `a[0, 1]`.
#
# **Exercise `tpu.skew`**: the whole schedule, with zeros where nothing enters.


# %% tags=["exercise:tpu.skew"]
def skew(a):
    """a [M, K] -> feeds [M + K - 1, K]: what enters row k in cycle t"""
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K), a.dtype)
    # STUB:
    # pass  # column k of a, k cycles late
    # BEGIN SOLUTION
    for k in range(K):
        feeds[k : k + M, k] = a[:, k]
    # END SOLUTION
    return feeds


skew = check("tpu.skew", skew)


def whose(f):
    return f"our {f.__name__}" if f.__module__.startswith("labkit") else f"your {f.__name__}"


print(f"{whose(skew)}:")
print(skew(np.array([[11, 12, 13], [21, 22, 23], [31, 32, 33], [41, 42, 43]])))

# %% [markdown]
# Each row of `a` has become a diagonal.
#
# ### What does a cell do in a cycle?
#
# Three things:
#
# 1. It takes the number that its left neighbour held; in column 0, the one that is fed.
# 2. It takes the sum that the cell above held; in row 0, zero.
# 3. From the two that have just come, `one_cell` makes its new sum.
#
# **Exercise `tpu.systolic_step`**: from all registers before the cycle, all registers after it.
# `np.column_stack` sets columns side by side, `np.vstack` rows on top of each other.


# %% tags=["exercise:tpu.systolic_step"]
def systolic_step(a, psum, w, feed):
    """a, psum, w [rows, cols], feed [rows] -> a_next, psum_next [rows, cols]"""
    # STUB:
    # a_next = None
    # psum_next = None
    # BEGIN SOLUTION
    a_next = np.column_stack([feed, a[:, :-1]])
    from_above = np.vstack([np.zeros_like(psum[:1]), psum[:-1]])
    psum_next = one_cell(a_next, from_above, w)
    # END SOLUTION
    return a_next, psum_next


systolic_step = check("tpu.systolic_step", systolic_step)

# %% [markdown]
# Nobody tells a cell which $m$ it is working on.
# Is a matrix product what comes out?
# Let it run, and keep the bottom row of each cycle.
# The sum of `y[m, 0]` begins in cycle $m$ and is at the bottom $K - 1$ cycles later.
# Column $n$ follows $n$ cycles later: so long a number of `a` needs to get there.
# The results leave skewed, too.


# %%
def stream(a, w):
    """a [M, K] through a grid that holds w [K, N] -> the result [M, N], psum of every cycle"""
    (M, K), N = a.shape, w.shape[1]
    feeds = np.pad(skew(a), ((0, N - 1), (0, 0)))  # zeros push the last sums out
    right, down, history = np.zeros_like(w), np.zeros_like(w), []
    for feed in feeds:
        right, down = systolic_step(right, down, w, feed)
        history.append(down)
    bottom = np.array([psum[-1] for psum in history])  # [cycles, N]
    y = [bottom[K - 1 + n : K - 1 + n + M, n] for n in range(N)]
    return np.stack(y, axis=1), history


rng = np.random.default_rng(0)
a, w = rng.integers(-9, 10, (5, 4)), rng.integers(-9, 10, (4, 3))
y, history = stream(a, w)
print(f"by {whose(skew)} and {whose(systolic_step)}, after {len(history)} cycles (counted)")
print("a product:", np.array_equal(y, a @ w))

# %% [markdown]
# The last of 5 rows of `a` begins to enter in cycle 4.
# Its last number enters the grid's row 3 in cycle 7, and reaches column 2 there in cycle 9.
# From cycle 0 to cycle 9, that makes M + K + N - 2 = 10 cycles.
# <!-- holds: len(history) == sum(a.shape) + w.shape[1] - 2 == 10 -->
# **Each number of `a` entered once and was used 3 times; no cell ever asked for data.**
# <!-- holds: np.count_nonzero(skew(np.ones_like(a))) == a.size and w.shape[1] == 3 -->
#
# ### Watch it
#
# `labkit.tpu.SystolicArray` is the course's own grid.
# It also loads the weights, row by row from the top, in the cycles -4 to -1, and it keeps a trace.
# Are its sums those of `stream`?
# And before you look: in which cycle does the last cell begin to work, and which cell is it?
#
# The picture shows four cycles; in the stepper below it you can go through all of them, with slider, buttons or arrow keys.
# Both show the same: at the left and at the top what enters in this cycle, below what leaves in it.
# (The stepper frames these numbers; behind them wait those of the next cycles. Σ is the sum in a cell.
# In *drain* cycles nothing enters any more.)
# In the cell above, `a` and `w` may be other small matrices of whole numbers from -128 to 127.

# %% tags=["picture"]
from labkit.tpu import SystolicArray
from labkit_lessons.tpu.the_systolic_array import pictures
from labkit_lessons.tpu.the_systolic_array.stepper import Stepper

run = SystolicArray(*w.shape).matmul(a.astype(np.int8), w.astype(np.int8), trace=True)
y, history = stream(a, w)
moving = [cycle for cycle in run.trace if cycle.phase != "load"]
same = [np.array_equal(c.psum, psum) for c, psum in zip(moving, history, strict=True)]
print(f"{whose(systolic_step)}: the same sums in {sum(same)} of {len(history)} cycles (counted)")
print(f"with loading: {run.cycles} cycles; at work: {100 * run.utilization:.0f} % (counted)")

loading = -len(w) // 2  # a cycle in which weights come in
last = len(history) - 1
pictures.picture(run, loading, 0, last // 2, last - 1)
Stepper(run, "y = a @ w, weight-stationary")

# %% [markdown]
# The first cell begins in cycle 0.
# The last, at the bottom right, is 3 rows and 2 columns further, so it begins in cycle 5.
# And after loading, the grid holds in every cycle the sums of `stream`.
# ### A convolution has no matrix. Where do its rows come from?
#
# Lesson 2 of chapter 01 laid every window of an image out as a row: im2col.
# The matrix holds each pixel up to nine times.
# But the grid needs a row only in the cycle in which it enters.
# So nobody has to write the matrix: one **computes the address** of the element that is due.
# That is *implicit* matrix multiplication.
#
# Row $m$ of the matrix belongs to image $n$ and output position $(p, q)$; $m$ counts through them with $q$ fastest.
# Its column belongs to channel $c$ and tap $(r, s)$, with $s$ fastest.
# The element is the pixel in row $p\cdot\mathrm{stride} + r$ and column $q\cdot\mathrm{stride} + s$ of the padded image.
#
# **Exercise `tpu.implicit_rows`**: compute the addresses of any rows `m`, in any order, and read the pixels there.
# It takes two lines, without `sliding_window_view`, and without the matrix: `check` counts the memory that your function holds.
# `np.unravel_index(number, sizes)` turns a number into indices, the last one fastest.
# `m[:, None]` is a column, [i, 1]: with `c`, `r` and `s` it combines to [i, C R S].


# %% tags=["exercise:tpu.implicit_rows"]
def implicit_rows(x, m, R, S, stride=1, padding=0):
    """x [N, C, H, W], row numbers m [i] -> rows [i, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))  # each [C R S]
    # STUB:
    # rows = np.zeros((len(m), C * R * S), x.dtype)  # replace 0 by the pixels that are due
    # BEGIN SOLUTION
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))  # each [i, 1]
    rows = padded[n, c, p * stride + r, q * stride + s]
    # END SOLUTION
    return rows


implicit_rows = check("tpu.implicit_rows", implicit_rows)

# %% [markdown]
# ## Check
#
# Is this enough for the real network?
# `product` cuts `w` into tiles of at most 128 x 128 and adds up what those along K give.
# Two convolutions and two fully connected layers go through the grid: every multiplication is done by `systolic_step`.

# %%
from labkit import convnet, datasets


def product(a, w, side=128):
    """a [M, K] @ w [K, N] in tiles"""
    y = np.zeros((len(a), w.shape[1]), a.dtype)
    for k in range(0, len(w), side):
        for n in range(0, w.shape[1], side):
            y[:, n : n + side] += stream(a[:, k : k + side], w[k : k + side, n : n + side])[0]
    return y


def layer(x, name):
    """A convolution, ReLU and max-pool: x [N, C, H, W] -> [N, K, H / 2, W / 2]"""
    w, b = weights[f"{name}.weight"], weights[f"{name}.bias"]
    (N, C, H, W), filters = x.shape, w.reshape(len(w), -1).T  # [C R S, K]
    images = np.arange(N * H * W).reshape(N, H * W)  # row numbers of each image
    y = [product(implicit_rows(x, m, 3, 3, padding=1), filters) + b for m in images]
    y = np.maximum(y, 0).reshape(N, H // 2, 2, W // 2, 2, len(w)).max(axis=(2, 4))
    return y.transpose(0, 3, 1, 2)


# %% [markdown]
# Sixteen photographs.
# Does our float32 give the scores (logits) of the course's float64 network?

# %%
weights, test = convnet.load_weights(), datasets.cifar10("sample").test
x = convnet.normalise(test.images[112:128])
flat = layer(layer(x, "conv1"), "conv2").reshape(len(x), -1)  # [16, 4096]
hidden = np.maximum(product(flat, weights["fc1.weight"].T) + weights["fc1.bias"], 0)
logits = product(hidden, weights["fc2.weight"].T) + weights["fc2.bias"]

expected = convnet.forward(weights, x)
print(f"by {whose(systolic_step)} and {whose(implicit_rows)}")
print("all logits within 0.001:", np.abs(logits - expected).max() < 1e-3)
right = np.sum(logits.argmax(axis=1) == test.labels[112:128])
print(f"{right} of {len(x)} photographs are named right (counted)")

# %% [markdown]
# ## Measure
#
# ### How many cycles?
#
# The weights of a tile take `rows` cycles to come in, one row in each.
# Then the stream takes M cycles.
# Its last number enters the last row `rows - 1` cycles late, and has `cols - 1` more cells to pass.
# These rows + cols - 2 cycles are the **fill** of the grid, as of any pipeline: the time before the last cell begins.
# They are those of the whole grid, also for a small tile.
# How many tiles are there?
#
# **Exercise `tpu.cycles`**: for arrays of sizes, one entry for each product.
# The tiles follow one after the other.
# M is not cut: it streams.
# (`-(-K // rows)` rounds up.)


# %% tags=["exercise:tpu.cycles"]
def cycles(M, K, N, rows, cols):
    """M, K, N [n] of n products -> cycles [n], one tile after the other"""
    # STUB:
    # return np.zeros_like(M)
    # BEGIN SOLUTION
    one_tile = rows + (M + rows + cols - 2)
    return one_tile * -(-K // rows) * -(-N // cols)
    # END SOLUTION


cycles = check("tpu.cycles", cycles)

# %% [markdown]
# The four layers for 32 images, on a grid as in TPU v2 to v5 and on one as in v6e (published, as above).
# `schedule` lets the course's grid count each cycle.
# *At work* is the share of useful multiply-adds among all that the cells could have done.

# %%
images = 32
layers = {  # M, K, N of the products
    "conv1": (images * 32 * 32, 3 * 9, 32),
    "conv2": (images * 16 * 16, 32 * 9, 64),
    "fc1": (images, 4096, 128),
    "fc2": (images, 128, 10),
}
runs = {}
head = f"{'128 x 128':>11}{'at work':>9}{'256 x 256':>11}{'at work':>9}   (counted)"
print(f"{'':8}{'M':>7}{'K':>6}{'N':>5}{head}")
for name, size in layers.items():
    runs[name] = [SystolicArray(side, side).schedule(*size) for side in (128, 256)]
    counts = "".join(f"{r.cycles:11,}{100 * r.utilization:7.1f} %" for r in runs[name])
    print(f"{name:8}{size[0]:7,}{size[1]:6,}{size[2]:5}{counts}")
sizes = np.array([*layers.values()]).T
for side, column in zip((128, 256), zip(*runs.values(), strict=True), strict=True):
    same = np.array_equal(cycles(*sizes, side, side), [run.cycles for run in column])
    print(f"{whose(cycles)} gives the same on {side} x {side}: {same}")

# %% [markdown]
# There are two ways to lose.
# `conv1` has few channels: its tile covers 27 x 32 cells of 128 x 128.
# (`conv2`: 288 of 384 rows and 64 of 128 columns, at most 37.5 %.)
# <!-- holds: runs["conv2"][0].utilization < 288 / 384 * 64 / 128 == 0.375 -->
# `fc1` has weights for 32 full tiles, but each tile gets 32 rows of `a` after 128 cycles of loading.
# **Width fills the grid; a long stream pays for loading and fill.**
# <!-- holds: runs["conv1"][0].utilization < 0.2 * runs["conv2"][0].utilization -->
# <!-- holds: runs["fc1"][0].utilization < 0.3 * runs["conv2"][0].utilization -->
#
# ### Load while you work
#
# With a second register in every cell, the next tile comes in while this one is used, and its numbers follow right behind the last ones.
# So the fill, too, is paid once, and a tile costs max(M, rows).
# The first TPU already did so: its unit holds a second tile, "to hide the 256 cycles it takes to shift a tile in" ([published](https://arxiv.org/abs/1704.04760), section 2).
# Below, one product of three tiles, without and with it: how many cells work in each cycle?

# %% tags=["picture"]
from labkit.figures.style import BLUE, ORANGE

small = SystolicArray(32, 32)
plain, double = (small.schedule(96, 96, 32, double_buffer=d) for d in (False, True))
figure, axes = figures.canvas(7.5, 2.6)
before = small.rows  # cycles: the first tile is loaded before cycle 0
label = f"one weight register: {plain.cycles} cycles"
axes.plot(np.arange(plain.cycles) - before, plain.occupancy, color=BLUE, label=label)
label = f"two: {double.cycles} cycles"
axes.plot(np.arange(double.cycles) - before, double.occupancy, "--", color=ORANGE, label=label)
axes.set(xlabel="cycle", ylabel="cells at work (counted)", ylim=(0, 1100))
axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
what = f"one weight register {plain.cycles} cycles, {plain.tiles} hills"
figures.show(figure, f"Cells at work in each cycle: {what}; two {double.cycles}, one plateau.")
for name, size in layers.items():
    overlapped = SystolicArray(128, 128).schedule(*size, double_buffer=True)
    before, after = runs[name][0].cycles, overlapped.cycles
    share = f"{100 * overlapped.utilization:.1f} % at work"
    print(f"{name:6}{before:7,} -> {after:7,} cycles, {share} (counted)")

# %% [markdown]
# `fc1` gains most, and is still not fast: each tile has 128 cycles to load and 32 to use.
# <!-- holds: runs["fc1"][0].cycles > 3 * SystolicArray(128, 128).schedule(*layers["fc1"], double_buffer=True).cycles -->
# <!-- holds: runs["conv2"][0].cycles < 1.1 * SystolicArray(128, 128).schedule(*layers["conv2"], double_buffer=True).cycles -->
# In our grid, 128 images would hide the loading.
#
# ### How large must the batch be?
#
# Is 128 the batch that a TPU needs, then?
# No: the reason lies outside of the grid.
# Our grid finds a new row of weights ready in every cycle.
# A TPU first has to fetch them from its main memory, the **HBM** (high-bandwidth memory), and that takes longer than shifting them into the cells.
#
# A weight in bfloat16, the number format of [lesson 3](3_bfloat16.ipynb), has 2 bytes.
# Each of the M rows of `a` uses it for one multiply-add, which is 2 FLOP.
# So M rows do M FLOP for each byte of weights.
# The rows and the results have to be moved as well, but where K and N are much larger than M, that is little.
# What does a TPU v5e need?

# %%
from labkit.hardware import machine

v5e = machine("tpu_v5e")
teraflops = float(v5e.rate("bf16")) / 1e12
gigabytes = float(v5e.bandwidth) / 1e9
ridge = v5e.ridge("bf16")
print(f"TPU v5e: {teraflops:.0f} TFLOP/s in bfloat16, {gigabytes:.0f} GB/s (published)")
print(f"both are busy all the time from {ridge:.0f} FLOP/B on (predicted)\n")

K = N = 16_384  # a layer too large for the memory on the chip
for M in (8, 32, 128, 256, 1024):
    moved = 2 * (K * N + M * K + M * N)  # bytes of w, a and y
    intensity = 2 * M * K * N / moved
    share = 100 * min(1, intensity / ridge)
    print(f"M = {M:5,}: {intensity:3.0f} FLOP/B, at most {share:3.0f} % of the peak (predicted)")

# %% [markdown]
# **The main memory sets the batch: on a v5e, about 240 rows have to use each weight** ([published](https://jax-ml.github.io/scaling-book/roofline/), where the rows are tokens).
# <!-- holds: 235 < ridge < 245 -->
# With fewer rows the cells wait for weights, however fast these are shifted in.
# Google measured as much on the first TPU: of six networks of its datacentres, the four without convolutions were bound by the memory that holds the weights (published: its paper, section 4).
#
# The rule is one for weights in HBM.
# Those of our own `fc1` are 1 MB.
# They can stay in the memory on the chip, which is about 22 times as fast, and there 10 to 20 FLOP/B are enough ([published](https://jax-ml.github.io/scaling-book/tpus/)).
# A convolution reaches many rows with few images: `conv2` has 256 for each.
#
# ### What should stay in place?
#
# So far the weights stay (**ws**), and M rows stream past.
# One may as well keep the inputs and let N columns of weights stream (**is**); or keep each *sum* in its cell and let both inputs stream along K (**os**; at the end of a tile the sums move out in `rows` cycles, which the grid counts apart: `run.drain`).
# Which is best for which layer?
# Guess from M, K and N first.

# %%
print(f"{'':8}{'ws':>9}{'is':>9}{'os':>9}{'ws, two':>9}   cycles on 128 x 128 (counted)")
big = SystolicArray(128, 128)
for name, (M, K, N) in layers.items():
    flows = [big.schedule(M, K, N, flow) for flow in ("ws", "is", "os")]
    flows += [big.schedule(M, K, N, double_buffer=True)]  # two weight registers
    row = "".join(f"{run.cycles + run.drain:9,}" for run in flows)
    print(f"{name:8}{row}   streams M = {M:,}, N = {N}, K = {K:,}")

# %% [markdown]
# **With one weight register, the longest stream wins in all layers but `fc2`.**
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["conv1"], flow).cycles + big.schedule(*layers["conv1"], flow).drain) == "ws" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["conv2"], flow).cycles + big.schedule(*layers["conv2"], flow).drain) == "ws" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["fc1"], flow).cycles + big.schedule(*layers["fc1"], flow).drain) == "os" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["fc2"], flow).cycles + big.schedule(*layers["fc2"], flow).drain) == "is" -->
# (`fc2` is one tile, nearly all loading and fill.)
# A second register brings ws level on `fc1`.
# <!-- holds: 0.95 < big.schedule(*layers["fc1"], double_buffer=True).cycles / (big.schedule(*layers["fc1"], "os").cycles + big.schedule(*layers["fc1"], "os").drain) < 1 -->
# TPUs keep the weights in place ([published](https://jax-ml.github.io/scaling-book/tpus/), appendix B).
#
# ## Explain
#
# Now your guesses against the counts, with M = 100,000 for K = 129.

# %% tags=["picture"]
from labkit.provenance import counted

feeds = np.count_nonzero(skew(np.ones((200, 128))), axis=1).max()
shares = {K: 100 * big.schedule(100_000, K, 128).utilization for K in (128, 129)}
for K, share in shares.items():
    print(f"K = {K}: {share:.1f} % at work (counted)")
gain = runs["conv1"][0].cycles / runs["conv1"][1].cycles
results = [counted(feeds, "numbers", "the schedule"), counted(shares[129], "%", "the grid")]
results.append(counted(gain, "times", "the grid"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# 128 numbers feed 16,384 multipliers: each number is used in 128 columns.
# <!-- holds: feeds == 128 -->
# One row of weights too many, and a second tile is nearly empty: 129 of 256 rows are 50.4 %, and changing tiles takes the rest.
# <!-- holds: 50 < shares[129] < 100 * 129 / 256 -->
# And `conv1` even gets slower: loading and fill take 256 + 510 cycles, not 128 + 254.
# <!-- holds: gain < 1 -->
#
# ## On trial
#
# ### <a id="C04"></a>C04 on trial
#
# > The MXU runs convolution and fully connected layers directly
#
# The MXU is the matrix unit.
# Give our grid the network's second convolution as it is (the refusal is `labkit`'s, no proof about an MXU).
# Then make a product of it, on one real image in int8, in both ways: with the matrix of all windows written out (`im2col`), and with its addresses alone (`implicit`).

# %%
x8 = np.round(convnet.activations(weights, x[:1])["pool1"] * 16).clip(-127, 127).astype(np.int8)
w8 = np.round(weights["conv2.weight"] * 127).clip(-127, 127).astype(np.int8)
try:
    big.matmul(x8, w8)
except ValueError as error:
    print("As it is:", error)
done = {how: big.conv2d(x8, w8, padding=1, method=how) for how in ("im2col", "implicit")}
by_rows = implicit_rows(x8.astype(int), np.arange(256), 3, 3, padding=1) @ w8.reshape(64, -1).T
same = [np.array_equal(made.result[0].reshape(64, -1).T, by_rows) for made in done.values()]
print(f"both the same as by {whose(implicit_rows)}: {all(same)}")
print(f"the image has {x8.nbytes:,} bytes")
for how, made in done.items():
    matrix = f"matrix {made.buffer_bytes // 2:,} bytes, written and read: {made.buffer_bytes:,}"
    print(f"{how:9}{made.cycles:,} cycles, {matrix} (counted)")

# %% [markdown]
# **Verdict on C04: holds if "directly" means after the convolution has become a matrix product.**
# A fully connected layer is one already.
# A convolution is turned into one by its addresses, at no cost in multiply-adds; written out, the matrix has nine times the image's bytes.
# <!-- holds: done["im2col"].cycles == done["implicit"].cycles -->
# <!-- holds: done["im2col"].buffer_bytes // 2 == 9 * x8.nbytes -->
# What it does cost is idle cells: `conv1`'s 27 rows (3 channels x 9 taps) and 32 filters leave 5 % at work, and a 129th row needs a tile.
# <!-- holds: round(100 * runs["conv1"][0].utilization) == 5 -->
# <!-- holds: shares[129] < 0.51 * shares[128] -->
#
# For a program it may look direct: the first TPU has one instruction, `MatrixMultiply/Convolve`, for both (its paper, section 2).
# Its unit is a grid that multiplies matrices all the same.
#
# A real MXU differs in what we left out: its wiring, the memory behind it, its number formats ([lesson 3](3_bfloat16.ipynb)) and a compiler that may lay a layer out another way ([lesson 5](5_what_the_compiler_makes_of_a_layer.ipynb)).
#
# ## Recap
#
# - **A number that is passed on need not be fetched again.**
#   The edges of the grid touch memory, the inside does not.
# - Data enter skewed, so that every number meets its sum in time.
# - Cycles: tiles x (load + stream + fill), with one weight register.
#   Tiles round up; streams should be long.
# - A second register hides the loading.
#   Then the main memory sets the batch: **about 240 rows for each weight on a TPU v5e.**
# - A convolution is a product whose matrix exists only as addresses.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_skew", None)
# quiz("tpu.quiz_stream", None)
# quiz("tpu.quiz_batch", None)
# quiz("tpu.quiz_implicit", None)
# BEGIN SOLUTION
quiz("tpu.quiz_skew", "b")
quiz("tpu.quiz_stream", "a")
quiz("tpu.quiz_batch", "b")
quiz("tpu.quiz_implicit", "c")
# END SOLUTION
