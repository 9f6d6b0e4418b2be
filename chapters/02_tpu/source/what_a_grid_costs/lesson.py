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
#     title: What a grid costs
#     number: 2
#     minutes: 50
#     needs: []
#     able: count the cycles of any product on any grid, and say where they go; choose what stays in place; feed a convolution to a grid without writing its matrix
#     runs_on: any CPU
# ---

# %% [markdown]
# # What a grid costs
#
# **The network's first convolution keeps 5 % of the cells of a 128 x 128 grid at work.**
# <!-- holds: round(100 * runs["conv1"][0].utilization) == 5 -->
# Would more cells help, more images, or another order of work?
#
# ## What you will be able to do
#
# - count the cycles of any product on any grid;
# - feed a convolution to it without writing its matrix;
# - choose what should stay in place: weights, inputs or sums.
#
# You need [*A product in a grid*](1_a_product_in_a_grid.ipynb): its cells hold `w[K, N]`, the M rows of `a[M, K]` stream past, and a larger `w` is cut into tiles; and windows and taps from [*Convolutions*](../01_gpu/2_convolutions.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. On 128 x 128 cells, a product has K = 129, N = 128 and a very large M.
#    What percentage of the cells is at work, on average?
# 2. For 32 images, the first convolution, `conv1`, is a product with K = 27, N = 32 and M = 32,768.
#    A grid of 256 x 256 has four times the cells.
#    How many times fewer cycles does it take?

# %%
import numpy as np

from labkit import check, convnet, datasets, figures, hint, predict, quiz
from labkit.checks.last_right import whose
from labkit.convolutions import im2col
from labkit.provenance import counted
from labkit.tpu import SystolicArray
from labkit.tpu.matrix_unit import pictures
from labkit_lessons.tpu.what_a_grid_costs import cost_pictures

# STUB:
# guesses = {
#     "K = 129": predict("tpu.k129_share", None, "%"),
#     "conv1": predict("tpu.conv1_gain", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "K = 129": predict("tpu.k129_share", 99, "%"),
    "conv1": predict("tpu.conv1_gain", 4, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### One tile by hand
#
# On a grid of 2 x 2 cells, three rows of `a` stream past a tile of 2 x 2 weights:
#
# ```
# cycle              -2    -1     0     1     2     3     4
# weights come in   row 1 row 0
# row 0 gets                    a[0,0] a[1,0] a[2,0]
# row 1 gets                           a[0,1] a[1,1] a[2,1]
# cell (1, 1) works                           yes   yes   yes
# ```
#
# The 7 cycles are of three kinds.
# **Loading** takes `rows` cycles, here 2, since a row of weights comes in per cycle, the last one first.
# The **stream** takes M cycles, here 3.
# But the last number enters the last row `rows - 1` cycles late, and then has `cols - 1` more cells to pass.
# Together these are `rows + cols - 2` cycles, here 2: the **fill**.
#
# Load and fill are those of the whole grid, also where a tile is smaller: weights come down through all rows, and numbers cross all columns.
# With one weight register, a cell has to wait for the last number before it takes the next weight, so each tile pays for all three.
# With K = 5 and N = 3 on this grid, K is cut into 2, 2 and 1, N into 2 and 1, and M not at all: 3 x 2 = 6 tiles take 6 x 7 = 42 cycles.
#
# **Exercise `tpu.cycles`**: the cycles of several products, whose sizes come as arrays.
# (`-(-K // rows)` divides and rounds up.)
# In this lesson's exercises, return NumPy arrays, and use no other library.


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
# ### The rows of a convolution
#
# In the last lesson, `im2col` wrote every window out as a row of `a`, and so most pixels nine times.
# But the grid needs an element only when it enters, so it is enough to **compute its address**: that is an *implicit* matrix product.
#
# An image of 4 x 4 pixels has P x Q = 3 x 3 windows of 2 x 2, numbered row by row.
# Row m = 5 of the matrix is the window at p = 5 // 3 = 1 and q = 5 % 3 = 2:
#
# ```
# 00  01  02  03     row 5 of the matrix:
# 10  11 [12  13]    tap (r, s)  (0,0) (0,1) (1,0) (1,1)
# 20  21 [22  23]    pixel          12    13    22    23
# 30  31  32  33
# ```
#
# The pixel of tap (r, s) is in row p + r and column q + s; with a stride, in row p · stride + r and column q · stride + s.
# A row of the matrix has all taps of channel c = 0, then all of channel 1, and the windows of image n = 0 come first.
#
# **Exercise `tpu.implicit_rows`**: read the pixels of any rows `m`, in any order.
# Use no `sliding_window_view`, and write no matrix: `check` counts the memory that you hold.
# `np.unravel_index(number, sizes)` turns a number into indices, the last one fastest.
# `m[:, None]` is a column, [i, 1], which combines with `c`, `r` and `s` to [i, C R S].


# %% tags=["exercise:tpu.implicit_rows"]
def implicit_rows(x, m, R, S, stride=1, padding=0):
    """x [N, C, H, W], row numbers m [i] -> rows [i, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))  # each [C R S]
    # STUB:
    # rows = np.zeros((len(m), C * R * S), x.dtype)  # replace these zeros by the pixels
    # BEGIN SOLUTION
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))  # each [i, 1]
    rows = padded[n, c, p * stride + r, q * stride + s]
    # END SOLUTION
    return rows


implicit_rows = check("tpu.implicit_rows", implicit_rows)

# %% [markdown]
# ## Check
#
# Does the course's grid count as your formula does, for our four layers, 32 images, and grids as in TPU v2 to v5 and in v6e ([*published*](https://jax-ml.github.io/scaling-book/tpus/))?
# And are your rows those of `im2col`?

# %%
images = 32
layers = {  # M, K, N of the products
    "conv1": (images * 32 * 32, 3 * 9, 32),
    "conv2": (images * 16 * 16, 32 * 9, 64),
    "fc1": (images, 4096, 128),
    "fc2": (images, 128, 10),
}
runs = {}
for name, size in layers.items():
    runs[name] = [SystolicArray(side, side).schedule(*size) for side in (128, 256)]
sizes = np.array([*layers.values()]).T
for place, side in enumerate((128, 256)):
    by_the_grid = [runs[name][place].cycles for name in layers]
    same = np.array_equal(cycles(*sizes, side, side), by_the_grid)
    print(f"{whose(cycles)} gives the same on {side} x {side}: {same}")
x = convnet.normalise(datasets.cifar10("sample").test.images[:images])
matrix = im2col(x, 3, 3, padding=1)
m = np.random.default_rng(0).permutation(len(matrix))[:500]  # 500 rows, in disorder
same = np.array_equal(implicit_rows(x, m, 3, 3, padding=1), matrix[m])
print(f"{whose(implicit_rows)} gives rows of the matrix: {same}")

# %% [markdown]
# ## Measure
#
# ### Where the cycles go
#
# *At work* is the share of useful multiply-adds among all that the cells could have made.

# %%
rows = []
for name, size in layers.items():
    row = [name, *size]
    for run in runs[name]:
        row += [run.cycles, 100 * run.utilization]
    rows.append(row)
heads = ["layer", "M", "K", "N", "128 x 128", "at work, %", "256 x 256", "at work, %"]
figures.table(heads, rows, "Cycles, counted by the grid.")

# %% [markdown]
# Cells are idle for two reasons.
# The first is a small tile: that of `conv1` covers 27 x 32 cells of 128 x 128.
# (`conv2` covers 288 of 384 rows in three tiles, and 64 of 128 columns: at most 37.5 %.)
# <!-- holds: runs["conv2"][0].utilization < 288 / 384 * 64 / 128 == 0.375 -->
# The second is a short stream: `fc1` fills the cells of its 32 tiles, but each loads for 128 cycles, and then only 32 rows of `a` use it.
# **K and N have to be large to use all cells, and M to pay for loading and fill.**
# <!-- holds: runs["conv1"][0].utilization < 0.2 * runs["conv2"][0].utilization -->
# <!-- holds: runs["fc1"][0].utilization < 0.3 * runs["conv2"][0].utilization -->
#
# ### Load while you work
#
# With a second weight register in every cell, the next tile comes in while this one is used, and its numbers follow right behind the last ones.
# So only the first loading and the last fill are left, and the next tile follows after M or `rows` cycles, whichever is more.
# The first TPU held a second tile, "to hide the 256 cycles it takes to shift a tile in" ([*published*](https://arxiv.org/abs/1704.04760), section 2).
# Here are three tiles, without and with it.

# %% tags=["picture"]
small = SystolicArray(32, 32)
plain, double = (small.schedule(96, 96, 32, double_buffer=d) for d in (False, True))
cost_pictures.cells_at_work(plain, double)
big = SystolicArray(128, 128)
rows = []
for name, size in layers.items():
    two = big.schedule(*size, double_buffer=True)
    rows.append([name, runs[name][0].cycles, two.cycles, 100 * two.utilization])
heads = ["layer", "one register", "two", "then at work, %"]
figures.table(heads, rows, "Cycles on 128 x 128 cells, counted by the grid.")

# %% [markdown]
# `fc1` gains most, and still is not fast: each tile has 128 cycles to load and 32 to use.
# Its 32 tiles take 128 + 31 x 128 + 32 + 254 = 4,382 cycles.
# <!-- holds: SystolicArray(128, 128).schedule(*layers["fc1"], double_buffer=True).cycles == 128 + 31 * 128 + 32 + 254 == 4_382 -->
# <!-- holds: runs["fc1"][0].cycles > 3 * SystolicArray(128, 128).schedule(*layers["fc1"], double_buffer=True).cycles -->
# <!-- holds: runs["conv2"][0].cycles < 1.1 * SystolicArray(128, 128).schedule(*layers["conv2"], double_buffer=True).cycles -->
# In our grid, 128 images would hide the loading.
#
# ### How large must the batch be?
#
# Is 128 then the batch for a TPU?
# No: our grid finds weights ready in every cycle, but a TPU has to fetch them from its main memory, the **HBM** (high-bandwidth memory), which takes longer.
# In bfloat16, a weight has 2 bytes, and each of the M rows of `a` uses it for one multiply-add, or 2 FLOP.
# So M rows do M FLOP for each byte of weights.

# %%
from labkit.hardware import machine

v5e = machine("tpu_v5e")
ridge = v5e.ridge("bf16")
print(f"TPU v5e: {v5e.rate('bf16').number}, {v5e.bandwidth.number} (published)")
print(f"the cells can be busy all the time from {ridge:.0f} FLOP/B on (predicted)")
K = N = 16_384  # a layer too large for the memory on the chip
rows = []
for M in (8, 32, 128, 256, 1024):
    moved = 2 * (K * N + M * K + M * N)  # bytes of w, a and y
    intensity = 2 * M * K * N / moved
    rows.append([M, intensity, 100 * min(1, intensity / ridge)])
figures.table(
    ["rows M", "FLOP/B", "of the peak at most, %"],
    rows,
    "Predicted for a TPU v5e, with the bytes of `a` and `y`.",
)

# %% [markdown]
# **The main memory sets the batch: on a v5e, about 240 rows have to use each weight** ([*published*](https://jax-ml.github.io/scaling-book/roofline/), where the rows are tokens).
# <!-- holds: 235 < ridge < 245 -->
# A convolution has many rows for each image: `conv2` has 256.
# And small weights, such as the 1 MB of our `fc1`, can stay in the memory on the chip, which is about 22 times as fast, so that 10 to 20 FLOP/B are enough ([*published*](https://jax-ml.github.io/scaling-book/tpus/)).
#
# ### What should stay in place?
#
# Not only M can stream: three **dataflows** differ in what stays: weights (weight-stationary, `ws`), inputs (`is`), or sums (`os`, for outputs).
# Here is each in cycle 2 of a product of 3 x 3 matrices:

# %% tags=["picture"]
rng = np.random.default_rng(1)
pair = [rng.integers(-9, 10, (3, 3)).astype(np.int8) for _ in range(2)]
traced = [SystolicArray(3, 3).matmul(*pair, flow, trace=True) for flow in ("ws", "is", "os")]
pictures.dataflows(2, *traced)

# %% [markdown]
# In `os`, both matrices move, and each cell keeps one sum.
#
# | dataflow | stays, cut into tiles | lies down the rows | along the columns | streams past |
# |---|---|---|---|---|
# | `ws` | w[K, N] | K | N | M |
# | `is` | a[M, K] | K | M | N |
# | `os` | y[M, N] | M | N | K |
#
# In `os` nothing is loaded, but at the end of a tile its sums move out, a row per cycle: this **drain** takes `rows` cycles as well.
# (In the last lesson, *drain* meant the end of the fill.)
# So a tile costs `rows` + stream + fill in all three.
# With M = 1, K = 4 and N = 2 on 2 x 2 cells, `ws` has two tiles of 2 + 1 + 2 cycles, together 10, but `os` has one of 2 + 4 + 2 = 8.
#
# **Exercise `tpu.dataflows`**: the cycles of all three, with the drain.
# Call `cycles` with what streams, what lies down the rows, and what lies along the columns.


# %% tags=["exercise:tpu.dataflows"]
def dataflows(M, K, N, rows, cols):
    """M, K, N [n] of n products -> cycles [n] when weights stay, inputs stay, sums stay"""
    # STUB:
    # ws = None
    # is_ = None
    # os = None
    # BEGIN SOLUTION
    ws = cycles(M, K, N, rows, cols)
    is_ = cycles(N, K, M, rows, cols)
    os = cycles(K, M, N, rows, cols)
    # END SOLUTION
    return ws, is_, os


dataflows = check("tpu.dataflows", dataflows)

# %% [markdown]
# Which is best for which layer?
# Guess from the sizes first.

# %%
three = np.array(dataflows(*sizes, 128, 128)).T  # [layers, dataflows]
again, rows = [], []
for (name, (M, K, N)), spent in zip(layers.items(), three, strict=True):
    flows = [big.schedule(M, K, N, flow) for flow in ("ws", "is", "os")]
    again.append([run.cycles + run.drain for run in flows])  # run.cycles: no drain
    two = big.schedule(M, K, N, double_buffer=True)  # two weight registers
    rows.append([name, M, N, K, *map(int, spent), two.cycles])
print(f"{whose(dataflows)} gives what the grid counts: {np.array_equal(three, again)}")
heads = ["layer", "M", "N", "K", "ws", "is", "os", "ws, two registers"]
figures.table(heads, rows, "Cycles on 128 x 128 cells, counted. M streams in ws, N in is, K in os.")

# %% [markdown]
# **With one weight register, the longest stream wins in all layers but `fc2`**, which is one tile, nearly all loading and fill: its tiles are fewest.
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["conv1"], flow).cycles + big.schedule(*layers["conv1"], flow).drain) == "ws" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["conv2"], flow).cycles + big.schedule(*layers["conv2"], flow).drain) == "ws" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["fc1"], flow).cycles + big.schedule(*layers["fc1"], flow).drain) == "os" -->
# <!-- holds: min(("ws", "is", "os"), key=lambda flow: big.schedule(*layers["fc2"], flow).cycles + big.schedule(*layers["fc2"], flow).drain) == "is" -->
# A second register brings `ws` level with `os` on `fc1`.
# <!-- holds: 0.95 < big.schedule(*layers["fc1"], double_buffer=True).cycles / (big.schedule(*layers["fc1"], "os").cycles + big.schedule(*layers["fc1"], "os").drain) < 1 -->
# TPUs keep the weights in place ([*published*](https://jax-ml.github.io/scaling-book/tpus/), appendix B).
#
# ## Explain
#
# Compare your guesses with the counts (for K = 129, M is 100,000).

# %% tags=["picture"]
shares = {K: 100 * big.schedule(100_000, K, 128).utilization for K in (128, 129)}
for K, share in shares.items():
    print(f"K = {K}: {share:.1f} % at work (counted)")
gain = runs["conv1"][0].cycles / runs["conv1"][1].cycles
results = [counted(shares[129], "%", "the grid"), counted(gain, "times", "the grid")]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# The 129th row of weights needs a second tile, which takes as long as a full one: 129 of 256 rows are 50.4 %, less what changing tiles takes.
# <!-- holds: 50 < shares[129] < 100 * 129 / 256 -->
# On four times the cells, `conv1` even gets slower: it has one tile all the same, and loading and fill take 256 + 510 cycles instead of 128 + 254.
# <!-- holds: gain < 1 -->
# **So `conv1` gains nothing by more cells or images, since its 27 x 32 weights cover 5 % of the grid; and in another dataflow its streams, 32 or 27, are short.**
# <!-- holds: min(three[0][1:]) > 3 * runs["conv1"][0].cycles -->
# <!-- holds: big.schedule(10 * 32_768, 27, 32).utilization < 27 * 32 / 128**2 < 0.053 -->
#
# ## On trial
#
# ### <a id="C04"></a>C04 on trial
#
# > The MXU runs convolution and fully connected layers directly
#
# The MXU is the matrix unit.
# Give our grid the network's second convolution as it is (the refusal is `labkit`'s, and proves nothing about an MXU).
# Then make a product of it: with the matrix written out (`im2col`), and with addresses alone (`implicit`).
# Our grid takes `int8`, so pixels and weights are scaled and rounded first.

# %%
weights = convnet.load_weights()
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
rows = []
for how, made in done.items():
    rows.append([how, made.cycles, made.buffer_bytes // 2, made.buffer_bytes])
heads = ["", "cycles", "bytes of the matrix", "of it written and read"]
figures.table(heads, rows, f"Counted by the grid. The image has {x8.nbytes:,} bytes.")

# %% [markdown]
# **Verdict on C04: holds if "directly" means after the convolution has become a matrix product.**
# A fully connected layer is one already.
# A convolution is turned into one by its addresses, at no cost in multiply-adds; written out, the matrix has nine times the image's bytes.
# The image is read equally often either way; the matrix comes on top.
# <!-- holds: done["im2col"].cycles == done["implicit"].cycles -->
# <!-- holds: done["im2col"].buffer_bytes // 2 == 9 * x8.nbytes -->
# But `conv1` leaves 5 % of the cells at work.
# <!-- holds: round(100 * runs["conv1"][0].utilization) == 5 -->
#
# The first TPU has one instruction for both, `MatrixMultiply/Convolve` (its paper, section 2).
#
# ## Recap
#
# **The rule to keep: with one weight register, a tile costs rows + M + rows + cols - 2 cycles, full or not, so on 128 rows of cells K = 129 leaves half of them idle.**
# <!-- holds: shares[129] < 0.51 * shares[128] -->
#
# ### Outside
#
# Architects count with simulators: SCALE-Sim (`python -m scalesim.scale -c grid.cfg -t layers.csv -i gemm`, version 2.0.2, 128 x 128, `ws`) printed 25,721 cycles for `conv2`, 13,247 for `fc1` and 413 for `fc2`: each is ours less one.
# <!-- holds: [runs[name][0].cycles - 1 for name in ("conv2", "fc1", "fc2")] == [25_721, 13_247, 413] -->
# A real MXU differs in wiring and number formats (*bfloat16*), and its compiler may lay a layer out otherwise (*What the compiler makes of a layer*).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_stream", None)
# quiz("tpu.quiz_batch", None)
# quiz("tpu.quiz_implicit", None)
# BEGIN SOLUTION
quiz("tpu.quiz_stream", "a")
quiz("tpu.quiz_batch", "b")
quiz("tpu.quiz_implicit", "c")
# END SOLUTION
