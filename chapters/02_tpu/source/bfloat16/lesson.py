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
#     title: bfloat16
#     number: 3
#     minutes: 52
#     needs: [jax, ml_dtypes]
#     able: round as a TPU does; say what bounds the error of a sum; get the digits of float32 back out of 8-bit products
#     runs_on: any CPU
# ---

# %% [markdown]
# # bfloat16
#
# **815,804 cycles, or 143,032.**
# <!-- holds: cycles["highest"] == 815_804 and cycles["default"] == 143_032 -->
# Google's compiler estimates these for the product of two float32 matrices of 2,048 x 2,048 on a TPU v5e (compiled).
# The first keeps all digits of the numbers.
# The second is what you get if you do not ask: less than a fifth of the cycles, and two to three digits.
# <!-- holds: cycles["default"] < cycles["highest"] / 5 -->
# When does it matter that the others are lost, and how can we buy them back?
#
# ## What you will be able to do
#
# - round a number as a TPU does;
# - say what bounds the error of a sum, and when the bound promises nothing;
# - get the digits of float32 back out of products that have fewer.
#
# You need the grid of [*A product in a grid*](1_a_product_in_a_grid.ipynb), in which partial sums move from row to row.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **float32** has about seven decimal digits.
# A **bfloat16** has two to three, and the same range: both hold numbers up to $3.4 \cdot 10^{38}$.
# What lies between two bfloat16 numbers is rounded to the nearer one.
#
# 1. How large can the error of rounding be, in percent of the number?
# 2. A sum is kept in bfloat16.
#    You add 1 to it, 1,024 times.
#    What is it in the end?
# 3. The course's trained network multiplies bfloat16 numbers instead of float32.
#    How many of 500 photographs get another class?

# %%
import jax
import ml_dtypes
import numpy as np

from labkit import check, convnet, datasets, figures, hint, predict, quiz, reference
from labkit.provenance import compiled, counted
from labkit.tpu import SystolicArray, bfloat16, compile_for_tpu
from labkit_lessons.tpu.bfloat16 import bit_pictures

# STUB:
# guesses = {
#     "rounding": predict("tpu.rounding_error", None, "%"),
#     "ones": predict("tpu.sum_of_ones", None, ""),
#     "changed": predict("tpu.changed_photographs", None, "of 500"),
# }
# BEGIN SOLUTION
guesses = {
    "rounding": predict("tpu.rounding_error", 0.4, "%"),
    "ones": predict("tpu.sum_of_ones", 512, ""),
    "changed": predict("tpu.changed_photographs", 10, "of 500"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Half of a float32
#
# A float32 has a sign $s$, 8 bits of exponent $e$ and 23 bits of fraction $f$.
# A bfloat16 is its upper half: the sign, the same exponent, and 7 bits of fraction.
# Both mean
#
# $$(-1)^s \cdot 2^{\,e-127} \cdot 1.f$$
#
# The 1 before the point is not stored, but it counts: a bfloat16 has 7 + 1 = 8 significant bits, and a float32 has 24.
# (Exponent 0 means zero and the tiniest numbers; 255 means infinity and NaN, "not a number".)
# What is left of five numbers?

# %% tags=["picture"]
bit_pictures.halves([1, 3.14159, 0.1, 257, -1e-30])

# %% [markdown]
# There is no bfloat16 between 256 and 258, so 257 loses its last bit.
# And 0.1 is rounded up.
# But $10^{-30}$ survives, with an error of 0.2 %.
# **Few digits, large range.**
#
# Hardware likes it, since a multiplier is a grid of bits by bits, and 8 x 8 is a ninth of 24 x 24.
#
# ### Rounding
#
# We hold a bfloat16 as a float32 whose lower 16 bits are 0, and round by its bits.
# Take a word of only 8 bits, of which we keep the upper 4.
# Half a step is then `1000`.
# Add it, and a large lower half carries into the upper one:
#
# ```
# word         nearest   word + 1000   upper half of the sum
# 0101 0110    0101      0101 1110     0101
# 0101 1010    0110      0110 0010     0110
# 0101 1000    0110      0110 0000     0110
# 0110 1000    0110      0111 0000     0111   wrong
# ```
#
# The last two words are **ties**, exactly halfway between two numbers.
# A tie goes to the neighbour whose last bit is 0, so that ties go up as often as down.
# What can you add in place of `1000`, so that `0110 1000` comes out right, too?
#
# **Exercise `tpu.round_to_bfloat16`**: the nearest bfloat16 of each number, ties to even.
# Here half a step is `0x8000`, `& 0xFFFF0000` cuts the lower half off, and the last bit that stays is `(bits >> 16) & 1`.
# `bits` is a view of x: change it in place, and x changes.
#
# Inputs are finite; the largest and tiniest need no extra care.
# (A TPU rounds in the same way, but takes numbers below about $10^{-38}$ for 0: published, Google Cloud documentation, *Improve your model's performance with bfloat16*.)
#
# In all exercises here, return NumPy arrays of float32; `check` takes no other library and no conversion to bfloat16.


# %% tags=["exercise:tpu.round_to_bfloat16"]
def round_to_bfloat16(x):
    """x float32, any shape -> float32 of the same shape whose lower 16 bits are 0"""
    bits = x.view(np.uint32)
    # STUB:
    # rounded = np.zeros_like(bits)
    # BEGIN SOLUTION
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    # END SOLUTION
    return rounded.view(np.float32)


round_to_bfloat16 = check("tpu.round_to_bfloat16", round_to_bfloat16)

# %% [markdown]
# Does it agree with `ml_dtypes`, from which JAX and TensorFlow take the format?
# Ask a million numbers of all sizes, made of random bits, and look for the largest error.

# %%
random = np.random.default_rng(0)
x = random.integers(0x01000000, 0x7F000000, 1_000_000, dtype=np.uint32).view(np.float32)
rounded = round_to_bfloat16(x)
theirs = x.astype(ml_dtypes.bfloat16).astype(np.float32)
print(f"numbers from {x.min():.0e} to {x.max():.0e}")
print("same bits as ml_dtypes:", np.array_equal(rounded, theirs))
error = 100 * (abs(rounded - x.astype(float)) / x).max()
worst = counted(error, "%", "comparing a million numbers")
print("largest error:", worst)

# %% [markdown]
# Between 1 and 2 the steps are 1/128, so the error is at most 1/256, which is 0.39 % just above 1.
# <!-- holds: error <= 100 / 256 -->
# With every doubling of the number the step doubles, so this share holds at every size.
# It is the **unit roundoff**, $u = 2^{-8}$; that of float32 is $2^{-24}$.
#
# ### A sum of many products
#
# The product of two bfloat16 numbers has at most 8 + 8 = 16 significant bits, so it is exact in float32, within the range: only the sum has to round.
# Take 96 + 7 + 4 + 4 = 111, and keep two decimal digits after each addition:
#
# ```
#             add 7          add 4          add 4
# 96          103 -> 100     104 -> 100     104 -> 100
# ```
#
# From 100 on, the steps are 10 wide, and a 4 changes nothing.
# Google's matrix unit adds up in float32 (published: Google Cloud documentation, *TPU architecture*).
# Build both sums, in the order of our own grid; Google does not name its order.
#
# **Exercise `tpu.multiply_accumulate`**: round the operands, then add one product after the other, k = 0 first.
# If `narrow`, round the sum to bfloat16 after every addition; if not, it is float32.
# `check` compares bits.
# `np.outer(a[:, k], b[k])` has all products with this k, and one loop, over k, is enough.


# %% tags=["exercise:tpu.multiply_accumulate"]
def multiply_accumulate(a, b, narrow):
    """a [M, K] @ b [K, N] -> [M, N], all float32; bfloat16 operands, wide or narrow sums"""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    # STUB:
    # pass  # round the operands; K additions
    # BEGIN SOLUTION
    a, b = round_to_bfloat16(a), round_to_bfloat16(b)
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        if narrow:
            total = round_to_bfloat16(total)
    # END SOLUTION
    return total


multiply_accumulate = check("tpu.multiply_accumulate", multiply_accumulate)

# %% [markdown]
# Compare it with the grid, stepped register by register, and then add ones.

# %%
a, b = random.standard_normal((6, 16), np.float32), random.standard_normal((16, 4), np.float32)
operands = (m.astype(ml_dtypes.bfloat16) for m in (a, b))
array = SystolicArray(16, 4).matmul(*operands, engine="stepped")
print("same bits:", np.array_equal(array.result, multiply_accumulate(a, b, narrow=False)))


def sum_of_ones(n, narrow):
    ones = np.ones((1, n), np.float32)
    return multiply_accumulate(ones, ones.T, narrow)[0, 0]


for n in (128, 256, 257, 1024):
    wide, narrow = sum_of_ones(n, narrow=False), sum_of_ones(n, narrow=True)
    print(f"{n:5} ones: {wide:g} in float32, {narrow:g} in bfloat16 (counted)")

# %% [markdown]
# From 256 on the steps are 2 wide, so 257 is a tie, and goes back to 256, each time.
# **A narrow sum loses what is small beside it**, however much of it comes.
# <!-- holds: sum_of_ones(1024, narrow=True) == 256 == sum_of_ones(257, narrow=True) -->
#
# ### The digits, bought back
#
# The unit of a v5e multiplies bfloat16 (and whole numbers of 8 bits), but no float32.
# If you need more digits, write a number as a *sum* of numbers that have few.
# Take 3.14159, with two decimal digits for each part:
#
# ```
# what is left      nearest two digits      leaves
#  3.14159            3.1                    0.04159
#  0.04159            0.042                 -0.00041
# -0.00041           -0.00041                0
# ```
#
# Three parts, 3.1 + 0.042 - 0.00041, hold all six digits.
#
# **Exercise `tpu.split_bfloat16`**: in each round, take the nearest bfloat16 of what is left, largest first.


# %% tags=["exercise:tpu.split_bfloat16"]
def split_bfloat16(x, parts):
    """x float32, any shape -> [parts, ...] float32: bfloat16 numbers, x is nearly their sum"""
    rest, found = x, []
    for _ in range(parts):
        # STUB:
        # found.append(np.zeros_like(x))
        # BEGIN SOLUTION
        found.append(round_to_bfloat16(rest))
        rest = rest - found[-1]
        # END SOLUTION
    return np.array(found)


split_bfloat16 = check("tpu.split_bfloat16", split_bfloat16)

# %% [markdown]
# With two parts, a product $(a_1 + a_2)(b_1 + b_2)$ becomes four.
# The last, $a_2 b_2$, is as small as what two parts lose anyway, so we compute three: **bf16x3**.
# Do three *parts* hold a float32 exactly?


# %%
def bf16x3(a, b):
    (a1, a2), (b1, b2) = split_bfloat16(a, 2), split_bfloat16(b, 2)
    small = multiply_accumulate(a1, b2, False) + multiply_accumulate(a2, b1, False)
    return small + multiply_accumulate(a1, b1, False)


tenth = np.float32([0.1])
print("0.1 =", *(f"({part:.7g})" for part in split_bfloat16(tenth, 3)[:, 0]))
for parts in (1, 2, 3):
    total = split_bfloat16(a, parts).astype(float).sum(axis=0)
    print(f"parts = {parts}: {(total == a).sum()} of {a.size} numbers are exact (counted)")

# %% [markdown]
# Three parts of 8 bits hold all 24, unless a number is tiny or close to the largest.
# <!-- holds: np.sum(total == a) == a.size -->
#
# JAX says `precision="high"` for three passes through the matrix unit, as in bf16x3, and `"highest"` for six (published: JAX documentation, `jax.lax.Precision`).
# Six are enough for three parts: of their nine products, the three smallest can be left out.
# What do they cost?
# `compile_for_tpu` gives the answers of Google's compiler, here from a stored copy.

# %%
square, cycles, rows = ((2048, 2048), "float32"), {}, []
for passes, precision in {1: "default", 3: "high", 6: "highest"}.items():

    def product(a, b, precision=precision):
        return jax.numpy.matmul(a, b, precision=precision)

    made = compile_for_tpu(product, [square, square], "v5e:1x1", source="snapshot")
    cycles[precision] = int(made.estimated_cycles)
    ratio = cycles[precision] / cycles["default"]
    rows.append([precision, passes, compiled(cycles[precision], "cycles", "XLA"), ratio])
figures.table(["precision", "passes", "estimate", "times the first"], rows)

# %% [markdown]
# The cycles nearly follow the passes, and here are the 815,804.
# <!-- holds: 2.8 < cycles["high"] / cycles["default"] < 3 and 5.6 < cycles["highest"] / cycles["default"] < 6 -->
#
# ## Check
#
# Does the trained network need these digits?
# Each of its layers is a matrix product, so we hand `bfloat16.convnet` three of them.
# The first is NumPy's, in float32.
# The second rounds the operands, and leaves the float32 sum to NumPy, which is faster.
# The third rounds the sums as well, for 100 photographs.
# A **logit** is one of the ten scores of a photograph; the largest one names its class.

# %% tags=["picture"]
weights, test = convnet.load_weights(), datasets.cifar10("sample").test
images, logits, moved = convnet.normalise(test.images), {}, {}
for name, product, n in [
    ("float32", np.matmul, 500),
    ("bfloat16", lambda a, b: round_to_bfloat16(a) @ round_to_bfloat16(b), 500),
    ("bfloat16 sums", lambda a, b: multiply_accumulate(a, b, narrow=True), 100),
]:
    found = logits[name] = bfloat16.convnet(weights, images[:n], product)
    exact = logits["float32"][:n]
    right, before = ((f.argmax(axis=1) == test.labels[:n]).sum() for f in (found, exact))
    moved[name] = (found.argmax(axis=1) != exact.argmax(axis=1)).sum()
    print(f"{name:13} {right} of {n} right (float32: {before}), new class: {moved[name]}", end="; ")
    print(f"logits move by up to {abs(found - exact).max():.2f} (counted)")
print(f"largest logit: {abs(logits['float32']).max():.1f} (counted)")
ones, changed = sum_of_ones(1024, narrow=True), moved["bfloat16"]
results = [worst, counted(ones, "", "adding"), counted(changed, "of 500", "NumPy")]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# Each operand is off by up to 0.4 %, yet only one photograph in 500 changes its class.
# <!-- holds: moved["bfloat16"] == 1 -->
# With rounded sums, three of only 100 do, and the logits move more than ten times as far.
# <!-- holds: moved["bfloat16 sums"] == 3 -->
# <!-- holds: np.abs(logits["bfloat16 sums"] - logits["float32"][:100]).max() > 10 * np.abs(logits["bfloat16"] - logits["float32"]).max() -->
#
# ## Measure
#
# Does a sum get worse as it gets longer?
# $K$ roundings in a row change a number by a factor of at most $1 + \gamma_K$, with $\gamma_K = K u / (1 - K u)$, if $K u < 1$ (published: N. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002).
# With the rounding of both operands before that,
#
# $$|\text{error}| \le \left( (1 + 2^{-8})^2 \, (1 + \gamma_K) - 1 \right) \sum_k |a_k b_k| .$$
#
# In bfloat16, $u = 2^{-8}$, and this bound ends at $K = 256$, where the sum of ones stuck.
#
# We multiply random matrices.
# For each K, the table has the worst of 24 x 24 results, with its error divided by its sum of $|a_k b_k|$, as in the bound.
# Its last column, for K = 4,096, divides the norm of all errors by the norm of all results.

# %% tags=["picture"]
lengths, errors = (16, 64, 256, 1024, 4096), {}
a, b_t = random.standard_normal((2, 24, 4096), np.float32)
ways = {
    "bfloat16 sum": lambda a, b: multiply_accumulate(a, b, True),
    "float32 sum": lambda a, b: multiply_accumulate(a, b, False),
    "bf16x3": bf16x3,
}
print("K =         ", *(f"{K:7}" for K in lengths), "   error / result")
for name, product in ways.items():
    errors[name] = []
    for K in lengths:
        left, right = a[:, :K].astype(float), b_t[:, :K].astype(float).T
        exact = left @ right
        error = product(a[:, :K], b_t[:, :K].T) - exact
        errors[name].append((abs(error) / (abs(left) @ abs(right))).max())
    whole = 100 * np.linalg.norm(error) / np.linalg.norm(exact)
    print(f"{name:12}", *(f"{e:7.0e}" for e in errors[name]), f"{whole:10.2g} % (counted)")
bit_pictures.errors(lengths, errors)

# %% [markdown]
# ## Explain
#
# Each error stays below the bound of its own sum, where there is one: bounds are made for the worst case.
# <!-- holds: all(error < bfloat16.dot_bound(K, "float32") for K, error in zip(lengths, errors["float32 sum"])) -->
# <!-- holds: all(error < bfloat16.dot_bound(K, "bfloat16") for K, error in zip((16, 64), errors["bfloat16 sum"])) -->
# The error of the float32 sum *falls*.
# It shows the rounding of the operands, up and down, which cancels better in a longer sum.
# <!-- holds: errors["float32 sum"][-1] < 0.1 * errors["float32 sum"][0] -->
# This is why the network did not mind.
#
# The error of the bfloat16 sum does not fall, since its steps grow with the sum.
# <!-- holds: errors["bfloat16 sum"][-1] > 0.8 * errors["bfloat16 sum"][0] -->
# It hurts even more than the picture shows, for products of both signs cancel: at K = 4,096 the error is 7 % of the *result*.
# **Rounded operands were harmless here; a rounded long sum was not.**
# <!-- holds: errors["bfloat16 sum"][-1] > 30 * errors["float32 sum"][-1] -->
# And the three passes of bf16x3 make errors more than a hundred times smaller than one pass does, at every length.
# <!-- holds: all(fine < coarse / 100 for fine, coarse in zip(errors["bf16x3"], errors["float32 sum"])) -->
#
# ## On trial
#
# ### <a id="C03"></a>C03 on trial
#
# > The TPU's gradient of a layer is grad_W L = 1/N * sum_i grad_a l_i (outer) x_i
#
# For grad_a l_i, the gradient of image i's loss with respect to the last layer's outputs $a$, we write `dl[i]`, and for x_i, which went in, `h[i]`.
# Run it as printed, and then as the matrix unit does, with the sum over images as the sum over k.

# %%
sample = datasets.cifar10("sample").train
labels, w, bias = sample.labels[::10], weights["fc2.weight"], weights["fc2.bias"]
h = convnet.activations(weights, convnet.normalise(sample.images[::10]))["relu3"].astype("f4")
dy = reference.softmax_cross_entropy_backward(h @ w.T + bias, labels)  # holds 1/N already
N, dl = len(h), len(h) * dy
printed = sum(np.outer(dl[i], h[i]) for i in range(N)) / N  # [10, 128]
_, dw, _ = reference.linear_backward(dy, h.astype(float), w)
print("same as linear_backward of Gradients:", np.allclose(printed, dw, rtol=1e-12))
unit = multiply_accumulate(dy.T.astype("f4"), h, narrow=False)
turned = multiply_accumulate(h.T, dy.astype("f4"), narrow=False)  # [128, 10]
print("other layout, same bits:", np.array_equal(unit, turned.T))
bound = bfloat16.dot_bound(N) * (abs(dy).T @ abs(h))
print("same bits as float64:", np.array_equal(unit, printed))
print("within the bound:", bool((abs(unit - printed) <= bound).all()))

# %% [markdown]
# **Verdict on C03: holds if "the TPU's" is struck out.**
# It is every machine's gradient: the same sum of outer products as in [C02](../01_gpu/1_gradients.ipynb#C02), which is one matrix product.
# A machine chooses the layout, which changed no bit here, since k kept its order; and the number format, which changes the rounding, within a bound that we can state.
# <!-- holds: np.sum(unit != turned.T) == 0 -->
# <!-- holds: np.sum(unit != printed) > 0 -->
# <!-- holds: np.sum(abs(unit - printed) > bound) == 0 -->
# It does not change the mathematics.
#
# ## Recap
#
# **The rule to keep: round operands to bfloat16, which is off by at most 1/256 of a number, but sum in float32: a bfloat16 sum loses every term below 1/512 of it.**
#
# A product costs one pass for 8 bits, three for about 16, and six for about 24.
#
# ### Outside
#
# In JAX, this asks for three passes in all products that follow:
#
# ```
# jax.config.update("jax_default_matmul_precision", "high")
# ```
#
# On a TPU it should bring errors like those of bf16x3.
# We ran it on a CPU only (JAX 0.7.1), which multiplies float32 as it is: there it changes nothing.
# So where a laptop and a TPU disagree, look at this setting first.
# PyTorch's `torch.set_float32_matmul_precision("high")` allows the same, or the shorter format TensorFloat32, where the hardware has it (published: its documentation).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_accumulator", None)
# quiz("tpu.quiz_parts", None)
# quiz("tpu.quiz_steps", None)
# BEGIN SOLUTION
quiz("tpu.quiz_accumulator", "d")
quiz("tpu.quiz_parts", "b")
quiz("tpu.quiz_steps", "c")
# END SOLUTION
