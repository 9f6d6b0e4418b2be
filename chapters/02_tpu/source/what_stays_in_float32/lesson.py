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
#     title: What stays in float32
#     number: 4
#     minutes: 55
#     needs: [ml_dtypes]
#     able: name the numbers of a training step that 16 bits spoil; round by chance; choose a scale for 8 bits
#     runs_on: any CPU
# ---

# %% [markdown]
# # What stays in float32
#
# **316 instead of 1.22.**
# <!-- holds: round(1 / (float(one_pass(row, round_to_bfloat16)) + 1e-5) ** 0.5) == 316 -->
# <!-- holds: round(1 / (2 / 3 + 1e-5) ** 0.5, 2) == 1.22 -->
# LayerNorm takes the mean away from a row of numbers, and divides by their standard deviation.
# From the row 99, 100, 101 it should make -1.22, 0 and 1.22.
# In bfloat16, a formula that every textbook has makes it -316, 0 and 316.
# All three numbers are exact in bfloat16, so where does the error come from?
# And which other numbers of a training step need more than 8 bits?
#
# ## What you will be able to do
#
# - name the numbers of a training step that 16 bits spoil, and say why;
# - keep weights in 16 bits by rounding with chance;
# - choose a scale, so that 8 bits are enough for a product.
#
# You need [bfloat16](3_bfloat16.ipynb), and the words weight, gradient and learning rate.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Softmax turns scores $s_i$ into probabilities $e^{s_i} / \sum_j e^{s_j}$, which sum to 1.
# The optimiser Adam keeps for each weight a mean of its squared gradients: in each step $v \leftarrow 0.999\,v + 0.001\,g^2$.
# And **e4m3** is a number format of 8 bits, of which 4 are exponent and 3 are fraction.
#
# 1. A row has 8,192 scores, and the sum in its denominator is a bfloat16.
#    What do the probabilities sum to?
# 2. All $g^2$ are 1, and $v$ is a bfloat16.
#    What is it after 5,000 steps?
#    (In float32, it is 0.993.)
# 3. The course's trained network multiplies e4m3 numbers instead of float32.
#    How many of 500 photographs get another class?
#    (With bfloat16, it was one.)

# %%
import numpy as np

from labkit import check, convnet, datasets, figures, hint, predict, quiz, reference
from labkit.provenance import counted
from labkit.tpu import bfloat16
from labkit.tpu.bfloat16 import round_to_bfloat16
from labkit_lessons.tpu.what_stays_in_float32 import formats, spot_pictures
from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3

# STUB:
# guesses = {
#     "softmax": predict("tpu.softmax_sum", None, ""),
#     "Adam's v": predict("tpu.second_moment", None, ""),
#     "e4m3": predict("tpu.fp8_photographs", None, "of 500"),
# }
# BEGIN SOLUTION
guesses = {
    "softmax": predict("tpu.softmax_sum", 1.1, ""),
    "Adam's v": predict("tpu.second_moment", 0.9, ""),
    "e4m3": predict("tpu.fp8_photographs", 50, "of 500"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A difference of two large numbers
#
# The textbook's formula is $\text{variance} = E[x^2] - E[x]^2$, with $E$ for the mean.
# For 99, 100, 101 it takes two large numbers that are nearly the same:
#
# ```
#                exact          in bfloat16
# E[x^2]         10000.667      9984
# E[x]^2         10000          9984
# difference         0.667         0
# ```
#
# From 8,192 to 16,384 the steps of bfloat16 are 64 wide, so both become 9,984, and what was different about them is gone.
# LayerNorm adds a small $\varepsilon = 10^{-5}$ to the variance before it takes the root, and then divides by $\sqrt{0 + 10^{-5}} = 0.00316$.
# That makes the 316.
#
# The cure costs nothing: take the mean away *first*, and square what is left, -1, 0 and 1.
# How far can the mean lie from 0, before the textbook's formula fails?
# We try both formulas on rows of 4,096 random numbers.

# %% tags=["picture"]
random, row = np.random.default_rng(0), np.float32([99, 100, 101])


def one_pass(x, keep):  # sums in float32; `keep` rounds, or not
    mean, squares = keep(x.mean(dtype="f4")), keep((x * x).mean(dtype="f4"))
    return keep(squares - keep(mean * mean))


def mean_first(x, keep):
    away = keep(x - keep(x.mean(dtype="f4")))
    return keep((away * away).mean(dtype="f4"))


ratios = [1, 2, 4, 8, 16, 32, 64, 128]
rows = [round_to_bfloat16(random.normal(mean, 1, 4096)) for mean in ratios]
ways = {"textbook, bfloat16": (one_pass, round_to_bfloat16)}
ways |= {"mean first, bfloat16": (mean_first, round_to_bfloat16)}
ways |= {"textbook, float32": (one_pass, lambda x: x)}
found = {n: [f(x, keep) / x.astype(float).var() for x in rows] for n, (f, keep) in ways.items()}
spot_pictures.variances(ratios, found)

# %% [markdown]
# Since $E[x^2] = \text{mean}^2 + \text{variance}$, at 16 standard deviations $E[x^2]$ is 257 times the variance.
# Then half a step of bfloat16, up to 1/256 of it, is as much as the variance itself.
# **The difference of two nearly equal numbers keeps only the digits in which they differ.**
# <!-- holds: max(abs(v - 1) for v in found["mean first, bfloat16"]) < 0.02 and found["textbook, bfloat16"][-1] == 0 -->
#
# ### A sum of small numbers
#
# A softmax is a sum of many numbers and a division by it.
# Its sum is of the kind that stuck at 256 in the lesson before: it stops growing when each term is less than half a step of it.
# The next cell keeps everything in bfloat16 but, in the last column, that sum.

# %%
rows = []
for n in (128, 1024, 8192):
    scores = random.standard_normal((4, n))  # four rows
    e = round_to_bfloat16(np.exp(scores - scores.max(axis=1, keepdims=True)))
    narrow = np.zeros(4, np.float32)
    for k in range(n):
        narrow = round_to_bfloat16(narrow + e[:, k])
    sums = []
    for denominator in (narrow, e.sum(axis=1, dtype=float)):
        p = round_to_bfloat16(e / denominator[:, None])
        total = p.sum(axis=1, dtype=float).mean()  # of the probabilities, over the four rows
        sums.append(counted(round(total, 2), "", "NumPy"))
    rows.append([n, *sums])
softmax_sum = rows[-1][1]
heads = ["scores in a row", "sum in bfloat16", "sum in float32"]
figures.table(heads, rows, "What the probabilities of a row sum to.")

# %% [markdown]
# With 8,192 scores, the "probabilities" sum to more than 3.
# <!-- holds: float(softmax_sum) > 3 and all(abs(float(r[2]) - 1) < 0.01 for r in rows) -->
# Every single one is rounded well: only their common denominator is wrong.
#
# ### An update that is too small
#
# Training moves a weight by a little, often: $w \leftarrow w - \eta g$, with the learning rate $\eta$ and the gradient $g$.
# Take the weight 1 and the update 0.001.
# The bfloat16 below 1 is 1 - 1/256 = 0.9961, and half the way there is 0.002.
# So 1 - 0.001 = 0.999 is rounded back to 1, and a thousand such updates change nothing.
#
# Mixed precision therefore keeps a **master copy** of the weights in float32 for the updates.
# In each step it makes a bfloat16 copy, with which the matrix unit works.
#
# **Exercise `tpu.mixed_precision_step`**: return the new master, and the new copy.
# In this lesson's exercises, return NumPy arrays, of float32 in this and the next one; `check` takes no other library.
# `round_to_bfloat16` is given, as in the lesson before.


# %% tags=["exercise:tpu.mixed_precision_step"]
def mixed_precision_step(master, gradient, lr):
    """master and gradient float32, any shape -> (new master, its copy), both as float32"""
    # STUB:
    # master, copy = np.zeros_like(master), np.zeros_like(master)
    # BEGIN SOLUTION
    master = master - np.float32(lr) * gradient
    copy = round_to_bfloat16(master)
    # END SOLUTION
    return master, copy


mixed_precision_step = check("tpu.mixed_precision_step", mixed_precision_step)

# %% [markdown]
# The master copy costs four bytes for each weight.
# Is there a way to keep only the two of a bfloat16?
#
# ### Rounding by chance
#
# The update 0.001 is 0.256 of a step of 1/256.
# Suppose that we move the weight by a whole step, but only in 25.6 % of all cases.
# Then it is wrong after each step, and right on average: this is **stochastic rounding**.
#
# The bits make it cheap.
# Take again a word of 8 bits, of which we keep the upper 4.
# In `0101 1010` the lower half is 10, so the word is 10/16 of the way from `0101` to `0110`, and should go up in 10 cases of 16.
# Add a random number from 0 to 15, the *noise*, and cut the lower half off.
# The sum carries if the noise is at least 6:
#
# ```
# noise        0101 1010 + noise     upper half
# 0 to 5       1010 to 1111 below    0101
# 6 to 15      a carry               0110        10 cases of 16
# ```
#
# **Exercise `tpu.stochastic_round`**: x is float32, and `noise` has an integer from 0 to 65,535 for each number.
# Add the noise to the lower 16 bits, carry, and cut them off.


# %% tags=["exercise:tpu.stochastic_round"]
def stochastic_round(x, noise):
    """x float32, noise uint32 below 65,536, one shape -> float32 whose lower 16 bits are 0"""
    bits = x.view(np.uint32)
    # STUB:
    # rounded = np.zeros_like(bits)
    # BEGIN SOLUTION
    rounded = (bits + noise) & 0xFFFF0000
    # END SOLUTION
    return rounded.view(np.float32)


stochastic_round = check("tpu.stochastic_round", stochastic_round)

# %% [markdown]
# Try it on Adam's $v$, which has the same trouble twice: 0.999 v is hardly less than v, and 0.001 is hardly anything.
# The cell keeps 1,000 of them, rounds after each multiplication and each addition, and draws their mean.


# %% tags=["picture"]
def by_chance(x):
    return stochastic_round(x, random.integers(0, 65_536, x.shape, dtype=np.uint32))


moments = {"float32": lambda x: x, "bfloat16": round_to_bfloat16, "bfloat16, by chance": by_chance}
for name, keep in moments.items():
    v, means = np.zeros(1000, np.float32), []
    for _ in range(5000):
        v = keep(np.float32(0.999) * v)
        v = keep(v + np.float32(0.001))
        means.append(v.mean())
    moments[name] = means
spot_pictures.over_steps(moments, "Adam's v, all squares 1", digits=3)

# %% [markdown]
# The bfloat16 sticks at 0.5.
# <!-- holds: moments["bfloat16"][-1] == 0.5 and abs(moments["bfloat16, by chance"][-1] - 0.993) < 0.01 -->
# There $0.999 \cdot 0.5 = 0.4995$ is rounded back to 0.5, and 0.5 + 0.001 as well: half a step is 0.00098 below 0.5, and 0.00195 above.
# Adam divides by $\sqrt{v}$, so its steps become 1.4 times too large.
#
# ### Eight bits
#
# With **fp8** there is half as much to move again.
# There are two formats, with 4 + 3 and with 5 + 2 bits of exponent and fraction:

# %%
rows = []
for name in ("e4m3", "e5m2"):
    ends = formats.ends(name)
    samples = [float(formats.rounded(np.float32(x), name)) for x in (0.007, 500, 1e6)]
    rows.append([name, ends.largest, ends.normal, ends.smallest, *(f"{x:g}" for x in samples)])
heads = ["format", "largest", "smallest with all digits", "smallest"]
figures.table([*heads, "0.007 becomes", "500 becomes", "1,000,000 becomes"], rows)

# %% [markdown]
# e4m3 has one digit more, but its range is short, and it has no infinity: `ml_dtypes`, which we ask here, makes NaN of 500.
# (It calls the format `float8_e4m3fn`, with `fn` for "finite".)
#
# So an array gets a **scale**, one float32 number, which brings its numbers into the range.
# The largest should land on 448.
# But the largest of an array is known only when all of it has been computed, and then it would have to be read once more.
# A common way out is to remember the largest numbers of *earlier* steps, and to cut off what turns out larger.
#
# Say they were 0.02, 0.035 and 0.028.
# Then the scale is 0.035 / 448 = 0.000078125, and
#
# ```
#  x        x / scale               nearest e4m3    x again
#  0.007     89.6                    88              0.006875
# -0.042   -537.6, cut off: -448   -448             -0.035
# ```
#
# Without a scale, 0.007 became 0.0078, which is off by 12 %; now it is 2 %.
#
# **Exercise `tpu.scale_to_fp8`**: `amaxes` has the largest absolute value of each earlier step.
# Return q, which is x / scale, cut off at -448 and 448 and then rounded by `to_e4m3`; and the scale.
# The largest of all `amaxes` lands on 448; if they are all 0, the scale is 1.
# Do not scale back.


# %% tags=["exercise:tpu.scale_to_fp8"]
def scale_to_fp8(x, amaxes):
    """x float32, any shape; amaxes [steps] float32 -> (q, of x's shape; scale): x is nearly q scale"""
    # STUB:
    # q, scale = np.zeros_like(x), 1
    # BEGIN SOLUTION
    largest = max(amaxes)
    scale = largest / 448 if largest > 0 else 1
    q = to_e4m3(np.clip(x / scale, -448, 448))
    # END SOLUTION
    return q, scale


scale_to_fp8 = check("tpu.scale_to_fp8", scale_to_fp8)

# %% [markdown]
# ## Check
#
# Do weights without a master copy learn?
# We train the weights of the network's last layer on, with 200 training photographs and a small learning rate.
# `h` is what enters this layer.
# All products are float32, so that only one thing differs: how weights are kept between two steps.
# An update is *lost* if it changes no bit; gradients of exactly 0 are left out.

# %% tags=["picture"]
sample, weights, lr = datasets.cifar10("sample").train, convnet.load_weights(), np.float32(0.002)
labels, w, bias = sample.labels[::10], weights["fc2.weight"], weights["fc2.bias"]
h = convnet.activations(weights, convnet.normalise(sample.images[::10]))["relu3"].astype("f4")
steps = {  # what is kept, and what is used
    "float32 weight": lambda w, g: (w - lr * g,) * 2,
    "master copy": lambda w, g: mixed_precision_step(w, g, lr),
    "bfloat16 weight": lambda w, g: (round_to_bfloat16(w - lr * g),) * 2,
    "bfloat16, by chance": lambda w, g: (by_chance(w - lr * g),) * 2,
}
losses, lost = {name: [] for name in steps}, {}
for name, step in steps.items():
    kept = used = round_to_bfloat16(w)
    for _ in range(300):
        y = h @ used.T + bias
        losses[name].append(reference.softmax_cross_entropy(y, labels))
        before, g = kept, (reference.softmax_cross_entropy_backward(y, labels).T @ h).astype("f4")
        kept, used = step(kept, g)
    lost[name] = 100 * ((kept == before) & (g != 0)).sum() / (g != 0).sum()
spot_pictures.over_steps(losses, "loss", digits=3)

# %% [markdown]
# The master copy reaches the loss of float32, though the products never see more than 8 bits of a weight.
# <!-- holds: abs(losses["master copy"][-1] - losses["float32 weight"][-1]) < 0.001 -->
# So do weights that are rounded by chance; the bfloat16 weights that go to the nearest number stay behind.
# <!-- holds: abs(losses["bfloat16, by chance"][-1] - losses["float32 weight"][-1]) < 0.01 -->
# <!-- holds: losses["bfloat16 weight"][-1] > losses["master copy"][-1] + 0.03 -->
# How many updates are lost, and how small are they?

# %%
for name, share in lost.items():
    print(f"{name:20} {share:3.0f} % of the last updates lost (counted)")
dy = reference.softmax_cross_entropy_backward(h @ w.T + bias, labels)
half_steps = 2.0 ** (np.floor(np.log2(abs(w))) - 8)
ratio = abs(lr * dy.T @ h) / half_steps
ratio = ratio[ratio > 0]
print(f"first updates: {100 * (ratio < 1).mean():.0f} % are below half a step,", end=" ")
print(f"the middle one is 1/{1 / np.median(ratio):.0f} of it (counted)")

# %% [markdown]
# By chance, nearly as many updates are lost.
# But those few that go through move a weight by a whole step, so that on average nothing is missing.
# <!-- holds: np.median(ratio) < 0.05 and lost["bfloat16, by chance"] > 90 -->
#
# ## Measure
#
# What does a scale save?
# `dy` is the gradient of the loss with respect to the layer's outputs; we round it to each format, and compute the weights' gradient `dy.T @ h` from it.
# "All digits" has the smallest number with all digits, and "fewer" the share of `dy` that lies below.

# %%
exact, rows = dy.T @ h, []
for name in formats.NAMES:
    ends = formats.ends(name)
    for scaled in (False, True)[: 1 if name == "bfloat16" else 2]:  # it has room enough
        scale = abs(dy).max() / ends.largest if scaled else 1
        q = formats.rounded(dy / scale, name)
        error = np.linalg.norm(scale * (q.T @ h) - exact) / np.linalg.norm(exact)
        shares = (100 * part.mean() for part in (abs(dy / scale) < ends.normal, q == 0))
        shown = [f"{share:.0f} %" for share in shares]
        rows.append([name, scaled, f"{ends.normal:.1e}", *shown, f"{100 * error:.2g} %"])
heads = ["format", "scale", "all digits", "fewer", "become 0", "error of the gradient"]
figures.table(heads, rows, "All counted; the error is the norm of the difference / the norm.")
print(f"dy from {abs(dy).min():.0e} to {abs(dy).max():.0e} (counted)")

# %% [markdown]
# A class that the network excludes has a gradient of $10^{-13}$: so `dy` spans eleven powers of ten.
# Without a scale, most of it is 0 in e4m3, and the gradient is off by a third.
# <!-- holds: np.linalg.norm(formats.rounded(dy, "e4m3").T @ h - exact) > 0.33 * np.linalg.norm(exact) -->
# float16 loses part of it, too, so who trains in float16 usually multiplies the loss by a large number (*loss scaling*).
# bfloat16 has float32's range, and needs no such care.
#
# Finally the network, all its products in e4m3; here the scale of each matrix is its own.

# %% tags=["picture"]
def by_e4m3(a, b):
    (qa, sa), (qb, sb) = (scale_to_fp8(m.astype("f4"), np.array([abs(m).max()])) for m in (a, b))
    return sa * sb * (qa @ qb)


test = datasets.cifar10("sample").test
images = convnet.normalise(test.images)
wide, narrow = (bfloat16.convnet(weights, images, f).argmax(axis=1) for f in (np.matmul, by_e4m3))
for name, found in {"float32": wide, "e4m3": narrow}.items():
    print(f"{name:8} {(found == test.labels).sum()} of 500 right (counted)")
changed = (wide != narrow).sum()
results = [softmax_sum, counted(moments["bfloat16"][-1], "", "NumPy")]
results.append(counted(changed, "of 500", "NumPy"))
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# ## Explain
#
# Why does one bit more or less matter so differently?
# Products forgive rounding, because their errors go up and down and cancel: with 4 significant bits instead of 24, 8 right answers of 401 are lost.
# <!-- holds: np.sum(wide == test.labels) == 401 and np.sum(narrow == test.labels) == 393 -->
# What does not forgive has one of three forms:
#
# | form | example | cure |
# |---|---|---|
# | a small term is added to a large sum | softmax, weights, Adam's $v$ | a float32 sum, or chance |
# | two large numbers are subtracted | variance | another formula, or float32 |
# | a number lies outside the range | gradients in 8 bits, or in float16 | a scale |
#
# A scale buys range, and no digits: inside the range, an e4m3 number has 4 significant bits wherever it lies.
#
# ## On trial
#
# No claim is tried here: the chapter's claim on gradients, C03, was tried in the lesson before.
#
# ## Recap
#
# **The rule to keep: multiply in 8 or 16 bits, but add up, subtract and update in float32; in bfloat16, a term below 1/512 of a sum is lost, and so is a variance below 1/256 of the squared mean.**
#
# An 8-bit array needs a scale besides: the largest number / 448 for e4m3.
#
# ### Outside
#
# PyTorch's own layers take this care: of 8,192 scores in bfloat16, `torch.softmax` makes probabilities that sum to 1 within 0.001, and LayerNorm of 99, 100, 101 is right.
# The optimiser does not, if you give it bfloat16 weights:
#
# ```
# w = torch.ones(1, dtype=torch.bfloat16, requires_grad=True)
# adam = torch.optim.Adam([w], lr=0)
# for _ in range(5000):
#     w.grad = torch.ones_like(w)
#     adam.step()
# print(adam.state[w]["exp_avg_sq"])  # 0.5: our v
# ```
#
# `torch.autocast(device, dtype=torch.bfloat16)` leaves the weights in float32 and makes the copies.
# For fp8, NVIDIA's Transformer Engine has the recipe `DelayedScaling`: the largest of the last 1,024 steps, e4m3 forwards and e5m2 backwards (published: its documentation, version 2.7).
# The PyTorch lines ran on a CPU (version 2.13); Transformer Engine needs a GPU, and did not run.
# There 500 becomes 448 in e4m3: PyTorch cuts off where `ml_dtypes` and JAX make NaN.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_range", None)
# quiz("tpu.quiz_copy", None)
# quiz("tpu.quiz_scale", None)
# BEGIN SOLUTION
quiz("tpu.quiz_range", "b")
quiz("tpu.quiz_copy", "c")
quiz("tpu.quiz_scale", "a")
# END SOLUTION
