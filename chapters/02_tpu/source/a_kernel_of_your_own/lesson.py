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
#     title: A kernel of your own
#     number: 7
#     minutes: 53
#     needs: [jax]
#     able: write a tiled matrix product in Pallas, with a bias and a ReLU in it, for sizes that no block divides
#     runs_on: any CPU, by Pallas' interpreter; Google's TPU compiler, or a snapshot of its answers
# ---

# %% [markdown]
# # A kernel of your own
#
# **1,024 of 1,024 results are NaN, and yet the kernel multiplies correctly.**
# <!-- holds: int(jnp.isnan(unmasked).sum()) == 1_024 -->
# It is right with K = 256 and with K = 384.
# <!-- holds: K == 384 and right == y.size == 2_600 -->
# With K = 300, each of its results is NaN, "not a number", although all inputs are ordinary numbers.
# Where do the NaN come from?
#
# So far, Google's compiler has written the program for the matrix unit.
# In this lesson you write such a program, a **kernel**, in **Pallas**, the part of JAX for kernels of one's own.
#
# ## What you will be able to do
#
# - say which block of each matrix a step works on;
# - write the step of a matrix product, and do in it what follows the product;
# - keep a kernel right where no block divides the matrix.
#
# You need the lessons *A product in a grid* and *What the compiler makes of a layer*.
# No kernel of this lesson ran on a TPU: an interpreter runs them on your CPU, and Google's compiler compiles one.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A product with K = 4,096 is summed up in 32 parts.
# In one kernel, the sum is kept in float32 and rounded to bfloat16 at the end; in the other it is kept in bfloat16 all the time.
# How many times as large is the second one's error?
#
# And in the kernel of the headline, x[16, 300] is multiplied by w[300, 64].
# If it sets the part of x that must not count to 0, how many of the 1,024 results are still NaN?

# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from labkit import check, figures, hint, predict, quiz
from labkit.provenance import counted
from labkit.tpu import compile_for_tpu
from labkit.tpu.tracing import quiet_jax
from labkit_lessons.tpu.a_kernel_of_your_own import block_pictures

quiet_jax()  # without a TPU, JAX need not look for one

# STUB:
# sum_guess = predict("tpu.sum_in_bfloat16", None, "times")
# nan_guess = predict("tpu.nan_left_over", None, "results")
# BEGIN SOLUTION
sum_guess = predict("tpu.sum_in_bfloat16", 5, "times")
nan_guess = predict("tpu.nan_left_over", 0, "results")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Why blocks
#
# A TPU has two memories that matter here.
# Our matrices lie in the large one beside the chip, **HBM**.
# The small one on the chip is **VMEM**, and only what lies there can reach the matrix unit.
# So a large product has to be cut into **blocks** that fit into VMEM.
#
# In Pallas, a kernel is a function that computes with one block of each matrix.
# The **grid** says how often it is called; each call is a **step**.
# Before a step Pallas copies its blocks from HBM into VMEM, and after the last step that works on a block of the result, it copies this block back.
#
# ### By hand
#
# We multiply x[4, 4] by w[4, 4], in blocks of 2 x 2.
# The result y has 2 x 2 blocks as well, each a sum of two products of blocks.
# The block in its upper right corner, for instance, is
#
# ```
# y(0,1) = x(0,0) w(0,1) + x(0,1) w(1,1)
# ```
#
# where x(0,1) is the block in block row 0 and block column 1 of x.
# Four blocks of two products each make 2 x 2 x 2 = 8 steps.
# Step (i, j, k) works for block (i, j) of y, and k says which of its two products it adds.
# The last number runs fastest: (0,0,0), (0,0,1), (0,1,0) and so on.
# The next cell draws the blocks of each step.

# %% tags=["picture"]
block_pictures.walk()

# %% [markdown]
# Steps (0,1,0) and (0,1,1) are the two products of y(0,1) above.
#
# ### Which block
#
# Pallas has to know which blocks a step needs.
# You tell it by a function of i, j and k, called an **index map**, for each matrix.
# It returns the block's row and column, counted in blocks, not in elements.
#
# **Exercise `tpu.block_indices`**: return the blocks of x, w and y that step (i, j, k) works on, each as a pair of block row and block column.
# In this lesson's exercises, `check` takes no library but JAX and NumPy.


# %% tags=["exercise:tpu.block_indices"]
def block_indices(i, j, k):
    """numbers of a step -> (row, column) of its block of x, of w and of y"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    return (i, k), (k, j), (i, j)
    # END SOLUTION


block_indices = check("tpu.block_indices", block_indices)

# %% [markdown]
# ### The call
#
# The next cell makes a matrix product of any `step`.
# A `BlockSpec` names the size of a block and its index map.
# Two further things are new:
#
# - `scratch_shapes` asks for memory in VMEM that belongs to the kernel and keeps its numbers from step to step; we use it for the sum;
# - `interpret=True` runs the grid on your CPU; without it, the kernel is for a TPU alone.


# %%
def tiled(step, blocks, interpret=True):
    """a step and (bm, bk, bn) -> a function matmul(x, w)"""
    bm, bk, bn = blocks

    def matmul(x, w):
        (M, K), N = x.shape, w.shape[1]
        return pl.pallas_call(
            step,
            grid=(pl.cdiv(M, bm), pl.cdiv(N, bn), pl.cdiv(K, bk)),  # quotients, rounded up
            in_specs=[
                pl.BlockSpec((bm, bk), lambda i, j, k: block_indices(i, j, k)[0]),
                pl.BlockSpec((bk, bn), lambda i, j, k: block_indices(i, j, k)[1]),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: block_indices(i, j, k)[2]),
            out_shape=jax.ShapeDtypeStruct((M, N), x.dtype),
            scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
            interpret=interpret,
        )(x, w)

    return matmul


# %% [markdown]
# ### The step
#
# A step gets **references** to its blocks: `x[...]` reads that of x, and `y[...] = ...` writes that of y.
# The last reference is the scratch memory, here `total`.
# `pl.program_id(2)` is k, and `pl.num_programs(2)` says how many values k takes.
#
# Take one number of y and K = 6 in blocks of 2, so that k runs from 0 to 2.
# If the products of the three steps are 5, 7 and 1, the step has to do this:
#
# ```
# k   total before      total after     y
# 0   anything: set 0   0 + 5 =  5
# 1   5                 5 + 7 = 12
# 2   12                12 + 1 = 13     13
# ```
#
# Nobody clears `total` between two blocks of y, so the first step along k must, and only the last step knows the whole sum.
# What happens in some steps only is put into a function below `@pl.when(condition)`:
#
# ```
# @pl.when(k == 1)
# def anything():        # runs in the steps in which k is 1
#     total[...] = ...
# ```
#
# (An `if` would not do: k is no number yet when the kernel is compiled.)
#
# **Exercise `tpu.matmul_step`**: write the step: begin `total` with 0, add this step's product, and store `total` into y, in y's type, when it is complete.
# `jnp.dot(a, b, preferred_element_type=jnp.float32)` multiplies, and gives float32 also for bfloat16 blocks.


# %% tags=["exercise:tpu.matmul_step"]
def matmul_step(x, w, y, total):
    """references to blocks x[bm, bk], w[bk, bn], y[bm, bn] and to total[bm, bn], float32"""
    k = pl.program_id(2)
    last = pl.num_programs(2) - 1

    # STUB:
    # return  # yours
    # BEGIN SOLUTION
    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros_like(total)

    total[...] += jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)

    @pl.when(k == last)
    def store():
        y[...] = total[...].astype(y.dtype)

    # END SOLUTION


matmul_step = check("tpu.matmul_step", matmul_step)

# %% [markdown]
# ## Check
#
# Your kernel multiplies the matrices of the example, and then larger ones.
# Then `compile_for_tpu` asks Google's compiler about it, or a snapshot, for matrices [2048, 2048].

# %%
rng = np.random.default_rng(7)


def whole_numbers(*shape):
    """whole numbers from -3 to 3, which bfloat16 holds exactly"""
    return jnp.asarray(rng.integers(-3, 4, shape), jnp.bfloat16)


for M, K, N, blocks in [(4, 4, 4, (2, 2, 2)), (64, 256, 256, (32, 128, 128))]:
    x, w = whole_numbers(M, K), whole_numbers(K, N)
    exact = np.asarray(x, int) @ np.asarray(w, int)
    right = tiled(matmul_step, blocks)(x, w) == exact.astype(x.dtype)
    print(f"{M} x {K} x {N}: {int(right.sum())} of {M * N} results are right")
square = [(2048, 2048), (2048, 2048)]
kernel = compile_for_tpu(tiled(matmul_step, (512, 512, 512), interpret=False), square)
library = compile_for_tpu(jnp.matmul, square)
for name, made in [("your kernel", kernel), ("XLA's product", library)]:
    cycles = made.estimated_cycles or "no estimate of"
    print(f"{name}: {made.memory['generated_code']:,} B, {cycles} cycles (compiled)")

# %% [markdown]
# The results are right, and the compiler takes your kernel: it is a program for a TPU v5e, 186,880 bytes long.
# <!-- holds: kernel.memory["generated_code"] == 186_880 -->
# But where it estimates the cycles of its own product, it has none for yours: to XLA, a kernel is a single call.
# <!-- holds: kernel.estimated_cycles is None and library.estimated_cycles > 0 -->
# The next lesson, *What fits in VMEM*, finds another way to its cost.
#
# Blocks of 2 x 2 are for the interpreter alone: on a TPU, a block's rows must be a multiple of 8 and its columns of 128, or as many as the matrix has.
# Below, 64 columns are allowed because N is 64.
#
# ## Measure
#
# ### What the float32 sum is for
#
# The block of y stays in VMEM as long as k runs, so it could hold the sum, without `total`.
# But y is bfloat16, which keeps 8 significant bits.
# The next cell sums 32 parts in both ways, and compares with the exact result.


# %%
def sum_in_y(x, w, y, total):
    @pl.when(pl.program_id(2) == 0)
    def begin():
        y[...] = jnp.zeros_like(y)

    part = jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)
    y[...] = (y[...] + part).astype(y.dtype)  # rounded in every step


long_x, long_w = whole_numbers(16, 4096), whole_numbers(4096, 128)
exact = np.asarray(long_x, int) @ np.asarray(long_w, int)
errors = []
for step in (matmul_step, sum_in_y):
    y = tiled(step, (16, 128, 128))(long_x, long_w)
    errors.append(float(np.abs(np.asarray(y, float) - exact).mean()))
times = errors[1] / errors[0]
rows = [["float32, in total", errors[0]], ["bfloat16, in y", errors[1]]]
figures.table(["the sum is kept in", "mean error"], rows, "counted in whole numbers, exactly")

# %% [markdown]
# The float32 sum is rounded once, the other one 32 times, and its error is 4.8 times as large.
# <!-- holds: round(times, 1) == 4.8 -->
# **Keep a sum that runs over many steps in float32 scratch memory, and round it once, at the end.**
#
# ### What follows the product
#
# A layer adds a bias to the product and applies a ReLU.
# As a program of its own, this would read all of y from HBM and write it again.
# In the kernel the block still lies in VMEM, so y crosses only once.
# We say that bias and ReLU are **fused** into the product.
# They belong into the last step, where the sum is complete.
# There, `store` becomes
#
# ```
# y[...] = jnp.maximum(total[...] + b[...], 0).astype(y.dtype)
# ```
#
# with a bias b[1, N] in blocks [1, bn], whose index map is (0, j).
# XLA fuses a bias and a ReLU, too; people write kernels for what it does not fuse, such as attention.
#
# ### K = 300
#
# Now the headline: x[16, 300] times w[300, 64], with blocks of 128 along K.

# %% tags=["picture"]
x, w = whole_numbers(16, 300), whole_numbers(300, 64)
unmasked = tiled(matmul_step, (16, 128, 64))(x, w)
print("results:", unmasked.size, " of them NaN:", int(jnp.isnan(unmasked).sum()))
block_pictures.ragged(300, 128)

# %% [markdown]
# Since 300 / 128 = 2.3, the grid has 3 steps along K.
# They cover 3 x 128 = 384 columns of x and 384 rows of w, which is 84 too many.
# Nobody says what lies in these; the interpreter fills them with NaN, so that the fault shows.
#
# Along M and N, this does no harm: numbers beyond the edge make only results beyond the edge, which are not stored.
# But along K they are added to every result, so they have to become 0.
#
# A block counts its columns from 0, and in step k its column c is column k x bk + c of x.
# Take bk = 4 and K = 6, so that step 1 has the columns 4 to 7:
#
# ```
# column in the block      0    1    2    3
# column of x              4    5    6    7
# below K = 6              yes  yes  no   no
# a row of x's block       3    5    NaN  NaN
# what should be there     3    5    0    0
# ```
#
# Multiplying by 0 does not help, since NaN x 0 is NaN; `jnp.where(condition, a, b)` takes each number from `a` or from `b`.
# For the condition, `lax.broadcasted_iota(jnp.int32, shape, axis)` gives an array that counts 0, 1, 2, ... along one axis.
#
# **Exercise `tpu.mask_k`**: return the blocks x[bm, bk] and w[bk, bn] of step k, with 0 in every column of x and every row of w that does not lie below K.


# %% tags=["exercise:tpu.mask_k"]
def mask_k(x, w, k, K):
    """blocks x[bm, bk] and w[bk, bn] of step k -> both, with 0 beyond K"""
    bk = x.shape[1]
    # STUB:
    # return None
    # BEGIN SOLUTION
    column = k * bk + lax.broadcasted_iota(jnp.int32, x.shape, 1)
    row = k * bk + lax.broadcasted_iota(jnp.int32, w.shape, 0)
    return jnp.where(column < K, x, 0), jnp.where(row < K, w, 0)
    # END SOLUTION


mask_k = check("tpu.mask_k", mask_k)

# %% [markdown]
# Now the whole layer: `layer_step` in `labkit/tpu/tiled.py` is your step with a mask before the product and the fused `store`, and our call takes a bias there.
# We run it with your mask, and with a mask of x alone.

# %%
from labkit.tpu import tiled as course

b = jnp.asarray(rng.integers(-20, 21, (1, 64)), jnp.float32)
exact = np.maximum(np.asarray(x, int) @ np.asarray(w, int) + np.asarray(b, int), 0)
masks = {
    "x and w": lambda x, w, k: mask_k(x, w, k, 300),
    "x alone": lambda x, w, k: (mask_k(x, w, k, 300)[0], w),
}
nan, rows = {}, []
for name, mask in masks.items():
    step = course.layer_step(mask)
    y = course.tiled(step, (16, 128, 64), bias=True, interpret=True)(x, w, b)
    nan[name] = int(jnp.isnan(y).sum())
    rows.append([name, nan[name], int((y == exact.astype(y.dtype)).sum())])
figures.table(["masked", "NaN", "right"], rows, "Results of 1,024, counted.")

# %% [markdown]
# With both masks, all 1,024 results are right.
# <!-- holds: rows[0][1:] == [0, 1_024] -->
# With x alone, none is: the zeros of x meet the NaN of w, and 0 x NaN is NaN.
# <!-- holds: rows[1][1:] == [1_024, 0] -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = [
    ("sum in bfloat16", sum_guess, counted(times, "times", "in whole numbers")),
    ("NaN left over", nan_guess, counted(nan["x alone"], "results", "by the interpreter")),
]
figures.guesses(results)

# %% [markdown]
# **Where did the NaN come from?**
# From the third block along K, which covers columns 256 to 383, while x has only 300.
# Each result is a sum over K, so each took up 84 products too many.
#
# ## On trial
#
# The chapter's claims are tried in other lessons.
#
# ## Recap
#
# **The rule to keep: where the blocks do not divide K, as 128 does not divide 300, set what lies beyond K to 0 in both factors, since 0 x NaN is NaN; in a product, beyond M and N nothing needs a mask.**
# <!-- holds: nan["x alone"] == 1_024 and nan["x and w"] == 0 -->
#
# By the rule, M = 13 and N = 200 need no mask, although 8 and 128 do not divide them; K = 384 is 3 x 128.

# %%
M, K, N = 13, 384, 200
x, w = whole_numbers(M, K), whole_numbers(K, N)
y = tiled(matmul_step, (8, 128, 128))(x, w)
exact = np.asarray(x, int) @ np.asarray(w, int)
right = int((y == exact.astype(y.dtype)).sum())
print(f"equal in {right:,} of {y.size:,} results")

# %% [markdown]
# All 2,600 are right.
# <!-- holds: right == 2_600 == y.size -->
#
# ### Outside
#
# Pallas is part of JAX: `jax.experimental.pallas`, described in [JAX's own pages](https://docs.jax.dev/en/latest/pallas/index.html), with a [matrix product for TPUs](https://docs.jax.dev/en/latest/pallas/tpu/matmul.html).
# `compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary"))` allows Pallas to divide i and j, not k, between two cores.
# For a v5p, which has two, it halves the steps of a core, from 64 to 32 (compiled); for a v5e, which has one, it changes nothing.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_grid_steps", None)
# quiz("tpu.quiz_no_begin", None)
# quiz("tpu.quiz_ragged_rows", None)
# BEGIN SOLUTION
quiz("tpu.quiz_grid_steps", "c")
quiz("tpu.quiz_no_begin", "b")
quiz("tpu.quiz_ragged_rows", "a")
# END SOLUTION
