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
#     title: A product in a grid
#     number: 1
#     minutes: 50
#     needs: []
#     able: write the two rules by which a grid of cells multiplies matrices; follow every number through it; run a trained network in it
#     runs_on: any CPU
# ---

# %% [markdown]
# # A product in a grid
#
# **The multipliers of a TPU v5e can take 394 TB of numbers in a second, and its main memory gives 0.82 TB.**
# <!-- holds: round(wanted) == 394 and round(given, 2) == 0.82 -->
# Where does the rest come from?
# You will build the grid of multipliers that answers this.
#
# ## What you will be able to do
#
# - write the two rules of such a grid: when numbers enter, and what a cell does;
# - follow every number of a small product through it;
# - run a trained network in it.
#
# You need NumPy, and from [*Convolutions*](../01_gpu/2_convolutions.ipynb) the idea that a convolution is a matrix product.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# A **systolic array** is a grid of **cells**, and each cell holds one weight.
# In every clock cycle, a cell takes a number from its left neighbour, and a partial sum, `psum`, from the cell above.
# It adds the product of number and weight to the sum, and hands both on.
#
# ```
# holds      w = 3
# takes      a = 2 from the left       psum = 10 from above
# hands on   a = 2 to the right        10 + 2 x 3 = 16 downwards
# ```
#
# **Exercise `tpu.one_cell`**: the sum that a cell hands on, in one line, replacing `None`.
# Each argument is an array with a number for every cell, as all cells work at once.
# In these exercises, return NumPy arrays, and use no other library.
# Stuck?
# Run `hint("tpu.one_cell")` in a new cell.
# `check` gives back your function if it is right, else ours, so every cell below runs.


# %% tags=["exercise:tpu.one_cell"]
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.checks.last_right import whose


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
# That is all the arithmetic.
# What remains is timing: which numbers meet, in which cell and cycle?
#
# ## Predict
#
# The grid computes `y = a @ w`, for `a[M, K]` and `w[K, N]`.
# The cell in row `k` and column `n` holds the weight `w[k, n]`.
# When all weights are loaded, the numbers of `a` enter at the left edge, and results leave below the bottom row.
# Guess three numbers before you see how:
#
# 1. A matrix unit of TPU v2 to v5 has 128 x 128 cells ([*published*](https://jax-ml.github.io/scaling-book/tpus/)).
#    When all of them work, how many numbers of `a` enter in a cycle?
# 2. A small grid of 4 x 3 cells multiplies `a[5, 4]` by `w[4, 3]`, which is 60 multiply-adds.
#    How many cycles does it take, from the first in which a number of `a` enters to the one in which the bottom row makes the last result?
# 3. Loading takes 4 cycles more, one for each row of weights.
#    In all these cycles, what percentage of the cells is at work, on average?

# %%
# STUB:
# guesses = {
#     "enter in a cycle": predict("tpu.feeds_per_cycle", None, "numbers"),
#     "small product": predict("tpu.grid_cycles", None, "cycles"),
#     "at work": predict("tpu.grid_share", None, "%"),
# }
# BEGIN SOLUTION
guesses = {
    "enter in a cycle": predict("tpu.feeds_per_cycle", 256, "numbers"),
    "small product": predict("tpu.grid_cycles", 5, "cycles"),
    "at work": predict("tpu.grid_share", 80, "%"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A product by hand
#
# Take a product of two small matrices:
#
# ```
# a = 1 2   w = 5 6   y = 1 x 5 + 2 x 7   1 x 6 + 2 x 8 = 19 22
#     3 4       7 8       3 x 5 + 4 x 7   3 x 6 + 4 x 8   43 50
# ```
#
# Cell (0, 0) holds the weight 5, and cell (1, 0) below it holds 7.
# The sum of `y[0, 0]` begins in cell (0, 0), with 1 x 5 = 5.
# One cycle later it has come down to cell (1, 0), where the 2 must meet it.
# In this cycle, row 0 already begins the next sum:
#
# ```
# cycle  row 0 gets  row 1 gets  cell (0, 0)     cell (1, 0)
# 0      1                       0 + 1 x 5 =  5
# 1      3           2           0 + 3 x 5 = 15   5 + 2 x 7 = 19
# 2                  4                           15 + 4 x 7 = 43
# ```
#
# The 19 and the 43 are the first column of `y`.
# One cycle later, the cells (0, 1) and (1, 1) make the second column from the same numbers, which have moved on to them.
#
# Everywhere, **cycle 0 is the first in which a number of `a` enters**; loading comes before it, in negative cycles.
#
# ### When does a number enter?
#
# In general, the result in row $m$ and column $n$ is
#
# $$y_{mn} = \sum_k a_{mk}\, w_{kn}$$
#
# Its sum is in row $k$ exactly $k$ cycles later than in row 0.
# There it must meet $a_{mk}$.
# **So row $k$ of the grid gets column $k$ of `a`, one number in a cycle, and begins $k$ cycles late.**
# This delay is called **skew**.
#
# **Exercise `tpu.skew`**: return the whole schedule, `feeds`.
# It has a row for each cycle and a column for each row of the grid; where nothing enters stands a zero.
# For the example, its rows are 1 0, then 3 2, then 0 4.


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

# %% [markdown]
# Look at the schedule of a larger matrix, whose numbers say where they stand.

# %%
print(f"{whose(skew)}:")
print(skew(np.array([[11, 12, 13], [21, 22, 23], [31, 32, 33], [41, 42, 43]])))

# %% [markdown]
# Each row of `a` has become a diagonal: 11, 12, 13 go down to the right.
#
# ### What does a cell do in a cycle?
#
# In every cycle, each cell does three things:
#
# 1. It takes the number that its left neighbour held; in column 0, the one that is fed.
# 2. It takes the sum that the cell above held; in row 0, that is zero.
# 3. From the two that have just come, `one_cell` makes its new sum.
#
# A **register** keeps a number from one cycle to the next.
# Each cell has one for its number and one for its sum, so a cycle turns two arrays of registers into two new ones.
# In the example by hand:
#
# ```
#                  a      psum
# after cycle 0    1  0    5   0
#                  0  0    0   0
#
# in cycle 1, row 0 is fed 3, and row 1 is fed 2
#
# after cycle 1    3  1   15   6    15 = 3 x 5       6 = 1 x 6
#                  2  0   19   0    19 = 5 + 2 x 7
# ```
#
# **Exercise `tpu.systolic_step`**: from all registers before a cycle, all registers after it.
# `np.column_stack` sets columns side by side, `np.vstack` sets rows on top of each other.


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
# ## Check
#
# ### Is it a product?
#
# Nobody tells a cell which result it is working on.
# Does a matrix product come out all the same?
# Run the grid, and keep the sums of each cycle.
# The results leave skewed as well.
# The sum of `y[m, 0]` begins in cycle $m$ and is in the bottom row $K - 1$ cycles later.
# Column $n$ follows $n$ cycles later, since a number of `a` needs as long to get there.
# So column $n$ of `y` stands in the bottom row from cycle $K - 1 + n$ on.


# %%
def stream(a, w):
    """a [M, K] through a grid that holds w [K, N] -> the result [M, N], psum of every cycle"""
    (M, K), N = a.shape, w.shape[1]
    feeds = np.pad(skew(a), ((0, N - 1), (0, 0)))  # zeros push the last sums out
    right, down = np.zeros_like(w), np.zeros_like(w)  # the registers: numbers, sums
    history = []
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
# Why 10 cycles?
# The last of the 5 rows of `a` begins to enter in cycle 4.
# Its last number enters row 3 of the grid in cycle 7, and reaches column 2 there in cycle 9.
# Counted from cycle 0, these are M + K + N - 2 = 10 cycles.
# <!-- holds: len(history) == sum(a.shape) + w.shape[1] - 2 == 10 -->
# **Each number of `a` entered once and was used 3 times, and no cell ever asked a memory for data.**
# <!-- holds: np.count_nonzero(skew(np.ones_like(a))) == a.size and w.shape[1] == 3 -->
#
# ### Watch numbers meet
#
# The course's own grid, `labkit.tpu.SystolicArray`, also loads the weights, row by row from the top, and keeps a trace.
# It takes integers of 8 bits, `int8`.
# Before you look: which cell begins last, and in which cycle?
#
# At the left and at the top of each grid stands what enters in this cycle, and below it, in bold, what leaves.

# %% tags=["picture"]
from labkit.tpu import SystolicArray
from labkit.tpu.matrix_unit import pictures

run = SystolicArray(*w.shape).matmul(a.astype(np.int8), w.astype(np.int8), trace=True)
loading = -len(w) // 2  # a cycle in which weights come in
last = len(history) - 1
pictures.picture(run, loading, 0, last // 2, last - 1)

# %% [markdown]
# The first cell begins in cycle 0, and the last, at the bottom right, 3 rows and 2 columns further: in cycle 5.
# The cells at work form a band that crosses the grid from corner to corner.
#
# The stepper shows every cycle; move with the slider, the buttons or the arrow keys.
# It frames what enters and leaves in this cycle.
# In *drain* cycles nothing enters any more, and Σ is the sum in a cell.
# Follow one number from left to right, and one sum from top to bottom.
# To try other small whole numbers, change `a` and `w` in the cell of `stream`, and run it and the next two again.

# %%
from labkit_lessons.tpu.a_product_in_a_grid.stepper import Stepper

y, history = stream(a, w)
moving = [cycle for cycle in run.trace if cycle.phase != "load"]
same = [np.array_equal(c.psum, psum) for c, psum in zip(moving, history, strict=True)]
print(f"{whose(systolic_step)}: the same sums in {sum(same)} of {len(history)} cycles (counted)")
print(f"with loading: {run.cycles} cycles; at work: {100 * run.utilization:.0f} % (counted)")
Stepper(run, "y = a @ w, weight-stationary")

# %% [markdown]
# After loading, the course's grid holds in every cycle the sums of your `stream`.
# *Weight-stationary* means that the weights stay in place, while everything else moves.
#
# ## Measure
#
# ### The network in your grid
#
# Is this enough for our ConvNet?
# Each of its four layers with weights is a matrix product, but `conv2` has K = 288 rows of weights and `fc1` has 4,096, more than a grid of 128 x 128 cells.
# So `w` is cut into **tiles**, pieces that fit the grid, which take their turns.
# A tile that has only a part of the K rows gives a part of each sum, and the parts are added up.
# With K = 4, on a grid of two rows:
#
# ```
# whole            1 x 5 + 2 x 6 + 3 x 7 + 4 x 8 = 70
# the first tile   1 x 5 + 2 x 6                 = 17
# the second                       3 x 7 + 4 x 8 = 53
# added up                               17 + 53 = 70
# ```
#
# In `layer`, `im2col` writes each window of an image out as a row of `a`.


# %%
from labkit import convnet, datasets
from labkit.convolutions import im2col


def product(a, w, side=128):
    """a [M, K] @ w [K, N] in tiles"""
    y = np.zeros((len(a), w.shape[1]), a.dtype)
    for k in range(0, len(w), side):
        for n in range(0, w.shape[1], side):
            y[:, n : n + side] += stream(a[:, k : k + side], w[k : k + side, n : n + side])[0]
    return y


def layer(images, w, b):
    """A convolution, ReLU and max-pool: images [n, channels, H, W] -> [n, filters, H / 2, W / 2]"""
    (n, _, H, W), filters = images.shape, w.reshape(len(w), -1).T  # [K, N] of the product
    y = [product(im2col(x[None], 3, 3, padding=1), filters) + b for x in images]
    y = np.maximum(y, 0).reshape(n, H // 2, 2, W // 2, 2, len(w)).max(axis=(2, 4))
    return y.transpose(0, 3, 1, 2)


# %% [markdown]
# Now send sixteen photographs through the four layers.
# Every multiplication is done by `systolic_step`.
# Are the scores (logits) those of the course's float64 network?

# %%
weights, test = convnet.load_weights(), datasets.cifar10("sample").test
x = convnet.normalise(test.images[112:128])
pooled = layer(x, weights["conv1.weight"], weights["conv1.bias"])
pooled = layer(pooled, weights["conv2.weight"], weights["conv2.bias"])
flat = pooled.reshape(len(x), -1)  # [16, 4096]
hidden = np.maximum(product(flat, weights["fc1.weight"].T) + weights["fc1.bias"], 0)
logits = product(hidden, weights["fc2.weight"].T) + weights["fc2.bias"]

expected = convnet.forward(weights, x)
print(f"by {whose(skew)} and {whose(systolic_step)}")
print("all logits within 0.001:", np.abs(logits - expected).max() < 1e-3)
right, theirs = (np.sum(y.argmax(axis=1) == test.labels[112:128]) for y in (logits, expected))
print(f"{right} of {len(x)} photographs are named right; in float64: {theirs} (counted)")

# %% [markdown]
# The two rules carry a whole trained network: it names 13 of 16 photographs right, as the float64 network does.
# <!-- holds: right == 13 == theirs -->
#
# ## Explain
#
# Compare your guesses with the counts.

# %% tags=["picture"]
from labkit.provenance import counted

feeds = np.count_nonzero(skew(np.ones((200, 128))), axis=1).max()
results = [counted(feeds, "numbers", "the schedule"), counted(len(history), "cycles", "stream")]
results.append(counted(100 * run.utilization, "%", "the grid"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# 128 numbers feed 16,384 multipliers, because each number passes through 128 columns.
# <!-- holds: feeds == 128 == 16_384 / 128 -->
# In 10 cycles and 4 of loading, 12 cells could make 12 x 14 = 168 multiply-adds, and they make 60, or 36 %.
# <!-- holds: run.cycles == 14 and run.macs == 60 and round(100 * 60 / 168) == 36 -->
# The rest is loading, and cycles in which the band has only begun to cross the grid, or has nearly left it.
#
# Now the question from the beginning: where do the multipliers' numbers come from?

# %%
from labkit.hardware import machine

v5e = machine("tpu_v5e")
products = float(v5e.rate("bf16")) / 2  # in a second; a product and its sum are 2 FLOP
wanted = products * 2 * 2 / 1e12  # TB/s: two numbers for each, bfloat16: 2 bytes
given = float(v5e.bandwidth) / 1e12  # TB/s
print(f"wanted: {wanted:.0f} TB/s (predicted); its main memory gives {given:.2f} TB/s (published)")
print(f"if weights stay, and each number serves 128 cells: {wanted / 2 / 128:.1f} TB/s (predicted)")

# %% [markdown]
# The weights stay, so half of the 394 TB/s need not move.
# The other half is `a`, of which each number serves 128 cells: 197 / 128 = 1.5 TB/s are left.
# <!-- holds: round(wanted / 2) == 197 and round(wanted / 2 / 128, 1) == 1.5 -->
# **The rest is weights that stay, and numbers that neighbours hand on.**
#
# 1.5 TB/s are 256 times less, but still more than the main memory gives.
# <!-- holds: wanted / (wanted / 2 / 128) == 256 and wanted / 2 / 128 > given -->
# The sums that leave come on top.
# So a memory on the chip has to help, and weights must be used for long before others replace them; the next lesson counts what that means for a batch.
#
# ## On trial
#
# Claim C04, that such a grid runs convolutions directly, is tried in the next lesson.
#
# ## Recap
#
# Numbers enter skewed, row k of the grid k cycles late, so that each meets its sum in time.
#
# **The rule to keep: in a grid whose weights stay, each number that enters serves as many multiply-adds as there are columns, so 128 numbers per cycle keep 128 x 128 = 16,384 cells at work.**
#
# ### Outside
#
# In JAX one writes `a @ w`, and the compiler cuts tiles and feeds the units: see *What the compiler makes of a layer*.
# Google's first TPU had such a grid of 256 x 256 cells, for numbers of 8 bits: an operation "moves through the matrix as a diagonal wavefront" ([its paper of 2017, *published*](https://arxiv.org/abs/1704.04760), section 2).
# We left out how a real unit is wired, and its number formats (*bfloat16*).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_skew", None)
# quiz("tpu.quiz_wide", None)
# quiz("tpu.quiz_longer", None)
# BEGIN SOLUTION
quiz("tpu.quiz_skew", "b")
quiz("tpu.quiz_wide", "a")
quiz("tpu.quiz_longer", "c")
# END SOLUTION
