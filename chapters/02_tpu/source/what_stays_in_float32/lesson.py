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
#     minutes: 54
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
# From 99, 100, 101 it should make -1.22, 0 and 1.22.
# In bfloat16, with the textbook's formula for the variance, it makes -316, 0 and 316, although these three numbers are exact.
# Why, and what else in a training step needs more digits than a bfloat16 has?
#
# ## What you will be able to do
#
# - name the numbers of a training step that 16 bits spoil;
# - keep weights in 16 bits, rounded by chance;
# - choose a scale for 8 bits.
#
# You need [bfloat16](3_bfloat16.ipynb), and the words weight, gradient and learning rate.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Softmax turns scores $s_i$ into probabilities $e^{s_i} / \sum_j e^{s_j}$, which sum to 1.
# The optimiser Adam keeps a mean of the squared gradients of each weight: $v \leftarrow 0.999\,v + 0.001\,g^2$.
# And **e4m3** is a number format of 8 bits: a sign, 4 of exponent and 3 of fraction.
#
# 1. A row has 8,192 random scores (normal, with deviation 1), and the sum in its denominator is a bfloat16.
#    What do the probabilities sum to?
# 2. All $g^2$ are 1, and $v$ is a bfloat16.
#    What is it after 5,000 steps?
#    (In float32, it is 0.993.)
# 3. The course's trained network multiplies e4m3 numbers instead of float32.
#    How many of 500 photographs get another class?
#    (Each matrix is scaled into the range of e4m3; with bfloat16, it was one photograph.)

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
# The formula is $\text{variance} = E[x^2] - E[x]^2$, with $E$ for the mean.
# For 99, 100, 101 it subtracts two large numbers that are nearly equal:
#
# ```
#                exact          in bfloat16
# E[x^2]         10000.667      9984
# E[x]^2         10000          9984
# difference         0.667         0
# ```
#
# From 8,192 to 16,384 the steps of bfloat16 are 64 wide, so both become 9,984, and their difference is gone.
# LayerNorm adds $10^{-5}$ to the variance, against a division by 0, so it divides by $\sqrt{0 + 10^{-5}} = 1 / 316$.
#
# The cure: take the mean away *first*, and square what is left, -1, 0 and 1.
# How far can the mean lie from 0 before the textbook's formula fails?
# The cell begins with the three, and then tries both on rows of 4,096 random numbers.

# %% tags=["picture"]
random, row, ratios = np.random.default_rng(0), np.float32([99, 100, 101]), 2 ** np.arange(8)


def one_pass(x, keep):  # sums in float32; `keep` rounds, or not
    mean, squares = keep(x.mean(dtype="f4")), keep((x * x).mean(dtype="f4"))
    return keep(squares - keep(mean * mean))


def mean_first(x, keep):
    away = keep(x - keep(x.mean(dtype="f4")))
    return keep((away * away).mean(dtype="f4"))


print("LayerNorm:", np.round((row - 100) / (one_pass(row, round_to_bfloat16) + 1e-5) ** 0.5))
rows = [round_to_bfloat16(random.normal(mean, 1, 4096)) for mean in ratios]
ways = {"textbook, bfloat16": (one_pass, round_to_bfloat16)}
ways |= {"mean first, bfloat16": (mean_first, round_to_bfloat16)}
ways |= {"textbook, float32": (one_pass, lambda x: x)}
shares = {n: [f(x, keep) / x.astype(float).var() for x in rows] for n, (f, keep) in ways.items()}
spot_pictures.variances(ratios, shares)

# %% [markdown]
# Since $E[x^2] = \text{mean}^2 + \text{variance}$, a mean of 16 standard deviations makes $E[x^2]$ equal to $16^2 + 1 = 257$ variances.
# Rounding may move it by 1/256 of itself, which is a whole variance.
# **The difference of two nearly equal numbers keeps only the digits in which they differ.**
# <!-- holds: max(abs(v - 1) for v in shares["mean first, bfloat16"]) < 0.02 and shares["textbook, bfloat16"][-1] == 0 -->
#
# ### A sum of small numbers
#
# In [*bfloat16*](3_bfloat16.ipynb), a sum of ones stuck at 256, where 1 is half a step.
# The denominator of a softmax is such a sum.
# The next cell rounds every $e^{s_i}$ and every probability to bfloat16, and in one column the sum as well.

# %%
rows = []
for n in (128, 1024, 8192):
    scores = random.standard_normal((4, n))  # four rows
    scores -= scores.max(axis=1, keepdims=True)  # this changes no probability
    e = round_to_bfloat16(np.exp(scores))
    narrow = np.zeros(4, np.float32)
    for k in range(n):
        narrow = round_to_bfloat16(narrow + e[:, k])
    sums = []
    for denominator in (narrow, e.sum(axis=1, dtype="f4")):
        p = round_to_bfloat16(e / denominator[:, None])
        total = p.sum(axis=1, dtype=float).mean()  # of the probabilities, over the four rows
        sums.append(counted(round(total, 2), "", "NumPy"))
    rows.append([n, *sums])
softmax_sum = rows[-1][1]
heads = ["scores in a row", "sum in bfloat16", "sum in float32"]
figures.table(heads, rows, "What the probabilities of a row sum to.")

# %% [markdown]
# With 8,192 scores, the "probabilities" sum to more than 3, since the denominator sticks.
# <!-- holds: float(softmax_sum) > 3 and all(abs(float(r[2]) - 1) < 0.01 for r in rows) -->
#
# ### An update that is too small
#
# Training moves a weight by a little, often: $w \leftarrow w - \eta g$, with the learning rate $\eta$ and the gradient $g$.
# Take the weight 1 and the update 0.001.
# The next bfloat16 below 1 is 1 - 1/256, about 0.9961.
# So 1 - 0.001 = 0.999 is rounded back to 1, and a thousand such updates change nothing.
#
# Mixed precision therefore updates a **master copy** of the weights in float32, and makes in each step a bfloat16 copy of it, for the matrix unit.
#
# **Exercise `tpu.mixed_precision_step`**: return the new master, and the new copy.
# `round_to_bfloat16` is given.
# In this lesson, return NumPy arrays of float32; `check` takes no other library.


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
# The master costs four bytes for each weight.
# Would the two of a bfloat16 be enough?
#
# ### Rounding by chance
#
# The update 0.001 is 0.256 of the step 1/256.
# If it moves the weight by a whole step in 25.6 % of all cases, the weight is right on average: this is **stochastic rounding**.
#
# Take again a word of 8 bits, of which we keep the upper 4.
# The lower half of `0101 1010` is 10, so the word lies 10/16 of the way up to `0110`, and should go there in 10 cases of 16.
# Add a random number from 0 to 15, the *noise*, and cut the lower half off:
#
# ```
# noise      lower half + noise    upper half
# 0 to 5     10 to 15, no carry    0101          6 cases
# 6 to 15    16 to 25, a carry     0110         10 cases
# ```
#
# **Exercise `tpu.stochastic_round`**: x is float32, and `noise` has an integer from 0 to 65,535 for each number.
# Round as in the example, with the lower 16 bits.


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
# Try it on Adam's $v$, whose steps are small.
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
# From 0.25 on, it even rose too fast: the shrinking by 0.999 was lost already, and 0.001 is more than half a step there.
# <!-- holds: moments["bfloat16"][400] == 0.5 > moments["float32"][400] -->
# (The factor 0.999 is kept in float32; in bfloat16 it would be 1.)
# Adam divides by $\sqrt{v}$, so its steps become $\sqrt{0.993 / 0.5} = 1.4$ times too large.
#
# ### Eight bits
#
# Floating-point numbers of 8 bits, **fp8**, halve once more what has to be moved.
# Two formats are common, with 4 + 3 and with 5 + 2 bits of exponent and fraction:

# %%
rows = []
for name in ("e4m3", "e5m2"):
    ends = formats.ends(name)
    samples = [float(formats.rounded(np.float32(x), name)) for x in (0.007, 500, 1e6)]
    rows.append([name, ends.largest, ends.normal, ends.smallest, *(f"{x:g}" for x in samples)])
heads = ["format", "largest", "smallest with all digits", "smallest"]
figures.table([*heads, "0.007 becomes", "500 becomes", "1,000,000 becomes"], rows)

# %% [markdown]
# The format e4m3 has one bit of fraction more, but its range is short, and it has no infinity: here 500 becomes NaN.
# (`ml_dtypes`, which we ask, calls it `float8_e4m3fn`: finite numbers and NaN.)
#
# So an array gets a **scale**, one float32 number, by which it is divided, so that its largest number lands on 448.
# But the largest is known only when all of the array has been computed, and then it must be read once more.
# A common way out is to remember the largest numbers of *earlier* steps, and to cut off what turns out larger.
#
# If they were 0.02, 0.035 and 0.028, the scale is 0.035 / 448 = 0.000078125, and
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
    # q, scale = np.zeros_like(x), 0
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
# We train the network's last layer on, with 200 photographs; `h` is what enters it.
# Only weights are ever rounded to bfloat16: what differs is how they are kept between two steps.
# (A master copy is not rounded; its bfloat16 copy goes to the products.)
# An update is *lost* if it changes no bit; gradients of exactly 0 are left out.

# %% tags=["picture"]
sample, weights, lr = datasets.cifar10("sample").train, convnet.load_weights(), np.float32(0.002)
labels, w, bias = sample.labels[::10], weights["fc2.weight"], weights["fc2.bias"]
h = convnet.activations(weights, convnet.normalise(sample.images[::10]))["relu3"].astype("f4")
steps = {  # each returns a pair: what is kept, and what the products use
    "float32 weight": lambda w, g: (w - lr * g,) * 2,
    "master copy": lambda w, g: mixed_precision_step(w, g, lr),
    "bfloat16 weight": lambda w, g: (round_to_bfloat16(w - lr * g),) * 2,
    "bfloat16, by chance": lambda w, g: (by_chance(w - lr * g),) * 2,
}
random, losses, lost = np.random.default_rng(0), {name: [] for name in steps}, {}
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
# Rounded by chance, weights without a master come within 0.01 of it, while those that go to the nearest bfloat16 stay behind.
# <!-- holds: abs(losses["bfloat16, by chance"][-1] - losses["float32 weight"][-1]) < 0.01 -->
# <!-- holds: losses["bfloat16 weight"][-1] > losses["master copy"][-1] + 0.03 -->
# How many updates are lost?

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
# Even float32 loses the tiniest.
# By chance, nearly as many updates are lost as in bfloat16, but those few that go through move a weight by a whole step.
# <!-- holds: np.median(ratio) < 0.05 and lost["bfloat16, by chance"] > 90 -->
#
# ## Measure
#
# What does a scale save?
# We round `dy`, the gradient of the loss with respect to the layer's outputs, to each format, and compute the weights' gradient `dy.T @ h` from it.
# The table adds **float16**, with 5 + 10 bits of exponent and fraction.
# A format has all its digits from some number on, and fewer below: the table has that number, and the share of `dy` that lies below it.

# %%
exact, rows = dy.T @ h, []
for name in formats.NAMES:
    ends = formats.ends(name)
    for scaled in (False, True)[: 1 if name == "bfloat16" else 2]:  # bfloat16 needs no scale
        scale = abs(dy).max() / ends.largest if scaled else 1
        q = formats.rounded(dy / scale, name)
        error = np.linalg.norm(scale * (q.T @ h) - exact) / np.linalg.norm(exact)
        parts = (100 * part.mean() for part in (abs(dy / scale) < ends.normal, q == 0))
        shown = [f"{part:.0f} %" for part in parts]
        rows.append([name, scaled, f"{ends.normal:.1e}", *shown, f"{100 * error:.2g} %"])
heads = ["format", "scale", "all digits from", "below", "become 0", "error of the gradient"]
figures.table(heads, rows, "All counted; the error is the norm of the difference / the norm.")
print(f"dy from {abs(dy).min():.0e} to {abs(dy).max():.0e} (counted)")

# %% [markdown]
# Some classes are as good as excluded, so `dy` spans eleven powers of ten.
# Without a scale, most of it is 0 in e4m3, and the gradient is off by more than a third; e5m2 reaches further down.
# With a scale, e4m3 is better, for its one bit more.
# <!-- holds: float(rows[4][5].split()[0]) < float(rows[6][5].split()[0]) < float(rows[5][5].split()[0]) < float(rows[3][5].split()[0]) -->
# <!-- holds: np.linalg.norm(formats.rounded(dy, "e4m3").T @ h - exact) > 0.33 * np.linalg.norm(exact) -->
# In float16, one usually multiplies the loss by a large number (*loss scaling*), which is a scale, too; bfloat16 has float32's range, and needs none.
#
# Finally the network, all its products in e4m3; each matrix has the scale of its own largest number.


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
# Long sums forgive rounded operands, because errors up and down cancel: with 4 significant bits instead of 24, 23 of 500 photographs change their class, and 393 answers are right instead of 401.
# <!-- holds: changed == 23 and np.sum(wide == test.labels) == 401 and np.sum(narrow == test.labels) == 393 -->
# What spoils has one of three forms:
#
# | form | example | cure |
# |---|---|---|
# | a small term is added to a large sum | softmax, weights, Adam's $v$ | a float32 sum, or chance |
# | two nearly equal numbers are subtracted | variance | another formula, or float32 |
# | a number lies outside the range | gradients in 8 bits, or in float16 | a scale |
#
# A scale buys range, and no digits: e4m3 has at most 3 + 1 = 4 significant bits, whatever the scale.
#
# ## On trial
#
# The claim on gradients, [C03](3_bfloat16.ipynb#C03), was tried in *bfloat16*.
#
# ## Recap
#
# **The rule to keep: multiply in 16 bits, or in 8 with a scale, but add up, subtract and update in float32; in bfloat16, $E[x^2] - E[x]^2$ says nothing once the mean is 16 standard deviations from 0, and a weight of 1 does not feel an update of 0.001.**
#
# ### Outside
#
# On a v5e, fp8 saves bytes, but no arithmetic.
# For matrices [2048, 2048], Google's compiler estimates 141,966 cycles in e4m3, as many as in bfloat16, and 79,888 with 8-bit integers (compiled).
#
# The softmax of PyTorch (and of JAX) takes this care: from 8,192 scores in bfloat16, `torch.softmax` makes probabilities that sum to 1 within 0.001.
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
# With `torch.autocast`, weights stay float32 and products get their bfloat16 copies.
# We ran PyTorch 2.13, on a CPU; to `torch.float8_e4m3fn` it cuts 500 off to 448, where `ml_dtypes` and JAX make NaN.
# NVIDIA's Transformer Engine, which we did not run, scales fp8 much as you did (`DelayedScaling`, over the last 1,024 steps: published, its documentation, version 2.7).
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
