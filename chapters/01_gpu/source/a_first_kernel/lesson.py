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
#     title: A first kernel
#     number: 4
#     minutes: 55
#     needs: [numba]
#     able: write kernels for arrays of any size, along one axis and two; say which thread has which element, and stop the threads that have none
#     runs_on: the [SIMT machine](simt/README.md), or an NVIDIA GPU
# ---

# %% [markdown]
# # A first kernel
#
# **384 threads for 300 numbers.**
# A GPU starts its threads in groups of one size, such as 128.
# For an array of 300 numbers it starts three groups, because two have only 256 threads.
# So there are 384 threads, and 84 of them have no number to work on.
# Yet all 384 run the same program.
# What do those 84 do?
#
# ## What you will be able to do
#
# - write a kernel, the program of one thread, and launch it on arrays of any size;
# - compute which thread has which element, along one axis and along two;
# - stop the threads that have no element.
#
# You need Python with NumPy, and from lesson 1 the ReLU.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## One line
#
# In Python, a loop adds two arrays, one element in each round:
#
# ```
# for i in range(n):
#     c[i] = a[i] + b[i]
# ```
#
# No round needs the result of another one, so a GPU can run all rounds at the same time.
# Each round becomes a **thread**, which knows its number `i`.
# The body of the loop becomes a **kernel**: the function that every thread runs.
#
# `@cuda.jit` above a function makes it a kernel.
# On a machine with an NVIDIA GPU, `cuda` is Numba's and compiles the kernel for that GPU.
# Elsewhere `cuda` is the course's SIMT machine (single instruction, multiple threads), which runs the same source on your CPU and counts what it does.
#
# **Exercise `gpu.add_kernel`**: thread `i` adds element `i` of `a` to element `i` of `b`, and stores the sum in `c`.
# Write this line in place of `pass`, and run the cell.
# There are exactly as many threads as elements, so each thread has one.
# Stuck?
# Run `hint("gpu.add_kernel")` in a new cell, then `hint("gpu.add_kernel", 2)`.

# %% tags=["exercise:gpu.add_kernel"]
import math

import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.gpu import cuda, pictures, profile


@cuda.jit
def add_kernel(a, b, c):
    """a [n] + b [n] -> c [n], float32"""
    i = cuda.threadIdx.x  # this thread's number: 0, 1, 2, ...
    # STUB:
    # pass
    # BEGIN SOLUTION
    c[i] = a[i] + b[i]
    # END SOLUTION


add_kernel = check("gpu.add_kernel", add_kernel)

# %% [markdown]
# A kernel returns nothing: it writes into an array that it was given.
# Now launch it yourself.
# The square brackets say how many threads there are: one group of 4.
# The arguments stand behind them in parentheses.

# %%
a, b, c = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40]), np.zeros(4, np.float32)
add_kernel[1, 4](a, b, c)
print(c)

# %% [markdown]
# ## Predict
#
# The next kernel computes ReLU, `y[i] = max(x[i], 0)`, for each element of an array.
# Guess two numbers before any result:
#
# 1. Threads are started, and end when they have done their work.
#    How many threads does an H200, a large GPU, hold at the same time?
# 2. NVIDIA's compiler turns a kernel into **instructions**, such as "add two numbers" or "read one number from memory".
#    For one thread of the ReLU kernel, one instruction computes the maximum.
#    How many instructions does the whole kernel have?

# %%
from labkit_lessons.gpu.a_first_kernel import photographs
from labkit_lessons.gpu.a_first_kernel.instruction_kinds import KINDS, instruction_counts

# STUB:
# threads_guess = predict("gpu.threads_held", None, "threads")
# instructions_guess = predict("gpu.relu_instructions", None, "instructions")
# BEGIN SOLUTION
threads_guess = predict("gpu.threads_held", 10_000, "threads")
instructions_guess = predict("gpu.relu_instructions", 5, "instructions")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Blocks
#
# A group of threads that are started together is a **block**, and has at most 1,024 threads.
# All blocks of a launch are its **grid**.
# They are of one size: `kernel[3, 4]` launches 3 blocks of 4 threads.
#
# An array of 10 elements needs 3 such blocks, because 2 blocks have only 8 threads.
# In the picture, each cell shows the number of a thread within its block, and each cell that is not hatched is an element.

# %% tags=["picture"]
pictures.thread_map(grid=3, block=4, shape=10)

# %% [markdown]
# In each block, the threads' numbers begin at 0 again, so an element needs both numbers.
# In front of block 2 lie two whole blocks, so its thread 1 has element 2 · 4 + 1 = 9.
# In a kernel, these numbers have names:
#
# | name | what it is | here |
# |---|---|---|
# | `cuda.blockIdx.x` | the number of the block | 2 |
# | `cuda.blockDim.x` | how many threads a block has | 4 |
# | `cuda.threadIdx.x` | the thread's number within its block | 1 |
#
# The thread's number in the whole grid is `cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x`, and `cuda.grid(1)` computes just that.
#
# ### Threads without an element
#
# The two hatched threads have no element: their numbers are 10 and 11, and the last element is number 9.
# A **guard** stops them: an `if`, under which the work stands.
# (In a kernel you have numbers, arrays with `.size` and `.shape`, `if`, loops, `min` and `max`, but no lists.)
#
# **Exercise `gpu.relu_kernel`.**
# Write the guard and the work of one thread, with `zero` for the 0.
# The kernel will be launched with blocks of 128 threads, and with as many blocks as the array needs.
# Each thread makes one element of `y`.
# What `y` held before is unknown, so write every element, also those that become 0.
# The numbers in `x` may be as large as a float32 can be, so do not add them to each other.


# %% tags=["exercise:gpu.relu_kernel"]
@cuda.jit
def relu_kernel(x, y):
    """x [n] -> y [n]: y[i] = max(x[i], 0), float32"""
    i = cuda.grid(1)
    zero = np.float32(0)  # a plain 0 would bring in float64 (Measure shows it)
    # STUB:
    # pass  # a guard, and the work of one thread
    # BEGIN SOLUTION
    if i < x.size:
        y[i] = max(x[i], zero)
    # END SOLUTION


relu_kernel = check("gpu.relu_kernel", relu_kernel)

# %% [markdown]
# Without the guard, what would the 84 threads from the beginning of this lesson do?
# `profile` launches a kernel on the SIMT machine, which looks at every access.
# What it finds is in `hazards`.

# %%
x = np.linspace(-1, 1, 300, dtype=np.float32)
y = np.zeros_like(x)


@cuda.jit
def without_guard(x, y):
    i = cuda.grid(1)
    y[i] = max(x[i], np.float32(0))


found = profile(without_guard, 3, 128, x, y).hazards
print(found[0] if found else "No hazard found.")

# %% [markdown]
# **The 84 threads read what lies behind the array, and write behind it.**
# A GPU may do both without a word, and whatever stood there is lost.
# So a kernel needs its guard even if all results are right.
# Add the guard to `without_guard`, and run the cell again.
#
# ### Rows and columns
#
# A photograph has two axes, and a launch may have two as well.
# `kernel[(2, 2), (4, 2)]` launches 2 x 2 blocks of 4 x 2 threads; the first number counts along x, the second along y.
# The picture lays them on a matrix of 3 rows and 7 columns; each cell shows its thread's x and y within the block.
# The hatched threads have no column, no row, or neither.

# %% tags=["picture"]
pictures.thread_map(grid=(2, 2), block=(4, 2), shape=(3, 7))

# %% [markdown]
# Take thread (1, 0) of block (1, 1), in the lower right block.
# Along each axis, its number is computed as before:
#
# ```
# along x    1 · 4 + 1 = 5    so its column is 5
# along y    1 · 2 + 0 = 2    so its row is 2
# ```
#
# `cuda.grid(2)` computes both, and gives x first: 5, 2.
# But a matrix wants its row first: this thread's element is `a[2, 5]`.
#
# Our matrix will hold photographs, with three rows for each: its red, its green and its blue.
# Each row gets a scale and a shift of its own:
#
# $$b_{rc} = a_{rc} \cdot \mathrm{scale}_r + \mathrm{shift}_r$$
#
# If row 1 of `a` is (1, 2, 3), its scale 10 and its shift 5, then row 1 of `b` is (15, 25, 35).
#
# **Exercise `gpu.scale_rows`.**
# Find the thread's row and column, guard both, and write the formula.
# The blocks have 32 x 8 threads, as many along x as the *columns* need, along y as the *rows* need.
# In this exercise, `check` also counts what the kernel asks of memory: 32 neighbouring threads have to touch 32 neighbouring numbers, and they do if x counts the columns.
# It prints this as *sectors per request*: fewer is better, and lesson 5 explains them.


# %% tags=["exercise:gpu.scale_rows"]
@cuda.jit
def scale_rows(a, scale, shift, b):
    """a [R, C], scale [R], shift [R] -> b [R, C], float32"""
    # STUB:
    # pass  # the thread's column and row, a guard for both, the formula
    # BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[row, col] = a[row, col] * scale[row] + shift[row]
    # END SOLUTION


scale_rows = check("gpu.scale_rows", scale_rows)

# %% [markdown]
# ## Check
#
# Does it work on real photographs?
# `photos` holds 100 of them, so 300 rows of 1,024 pixels, with values from 0 to 255.
# With a scale of -1 and a shift of 255, black becomes white, as on a photographic negative.
# `math.ceil` rounds up, so that the last pixels get a block, too.

# %% tags=["picture"]
photos = photographs.as_rows(100)
negative = np.zeros_like(photos)
grid = math.ceil(1024 / 32), math.ceil(300 / 8)  # along x, along y
minus_one, shift_255 = np.full(300, -1, np.float32), np.full(300, 255, np.float32)
scale_rows[grid, (32, 8)](photos, minus_one, shift_255, negative)
photographs.show(photos, negative, 4)

# %% [markdown]
# The course's network wants its photographs **normalised**: each colour with the mean 0 and the standard deviation 1.
# This is another scale and shift for each row.
# Afterwards your ReLU runs over all 307,200 numbers, as one long array: `ravel` makes one axis of two, in the same memory.

# %%
scale, shift = photographs.to_normalise(100)
normalised, positive = np.zeros_like(photos), np.zeros_like(photos)
scale_rows[grid, (32, 8)](photos, scale, shift, normalised)
relu_kernel[math.ceil(photos.size / 128), 128](normalised.ravel(), positive.ravel())
expected = photos * scale[:, None] + shift[:, None]  # by NumPy
print("normalised as by NumPy:", np.allclose(normalised, expected, atol=1e-5))
print("ReLU as by NumPy:", np.allclose(positive, np.maximum(expected, 0), atol=1e-5))

# %% [markdown]
# ## Measure
#
# Threads without an element do nothing, but the GPU starts them all the same.
# For 300 elements, 84 of 384 threads have no work, more than a fifth.
# For the 307,200 numbers of our photographs, all threads have work, because they fill 2,400 blocks exactly.
# <!-- holds: 128 * math.ceil(x.size / 128) - x.size == 84 and photos.size == 2_400 * 128 -->
# At worst, 127 threads of the last block have none, which matters only in small arrays.
#
# What does one thread with work have to do?
# The next cell compiles two kernels for a T4, the GPU of free Colab notebooks: a ReLU with `zero`, and one with a plain `0`.
# It counts the instructions in PTX, NVIDIA's assembly language, by what they are for.


# %%
@cuda.jit
def with_zero(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], np.float32(0))


@cuda.jit
def with_plain_0(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


of_zero, of_plain_0 = instruction_counts(with_zero, x, y), instruction_counts(with_plain_0, x, y)
rows = list(zip(["in all", *KINDS], of_zero, of_plain_0, strict=True))
figures.table(["instructions", "with zero", "with a plain 0"], rows)

# %% [markdown]
# One instruction of 29 computes the maximum.
# <!-- holds: [int(n) for n in of_zero] == [29, 5, 2, 0, 1, 21] -->
# The 21 in the last row find the thread's number, guard it, and compute where its elements lie in memory.
# So a thread with one element mostly looks for it; in lesson 6, threads get more than one.
#
# The plain `0` is an integer of 64 bits.
# To take the maximum of it and a float32, Numba turns both into float64, a floating-point number of 64 bits.
# Two of the four float64 instructions make the maximum, the other two convert.
# <!-- holds: int(of_plain_0[3]) == 4 -->
# A T4 computes float64 at 1/32 of the rate of float32, so write `np.float32(0)`; `check` refuses kernels that compute in float64.
#
# ## Explain
#
# How good were your guesses?
# An H200 has 132 multiprocessors, the parts of a GPU that run blocks, and each holds up to 2,048 threads.

# %% tags=["picture"]
from labkit.provenance import predicted

held = predicted(132 * 2048, "threads", "multiprocessors x threads of each")
figures.guesses(
    [("threads", threads_guess, held), ("instructions", instructions_guess, of_zero[0])]
)

# %% [markdown]
# 132 · 2,048 is 270,336, so the H200 could hold a thread for nearly every one of our 307,200 numbers.
# <!-- holds: float(held) == 270_336 < photos.size -->
# A grid may be larger than that: the blocks that find no room wait until others have ended.
# This is why a kernel may not rely on any order of its blocks.
#
# ## On trial
#
# No claim is tried here.
# The first one about kernels is about rows and columns, and needs lesson 5's counts of memory.
#
# ### Outside
#
# On a GPU, the same source runs under Numba.
# PyTorch's `torch.relu` launches a kernel like ours, with a grid, a guard, and several elements for each thread.
# There NVIDIA's compute-sanitizer looks for accesses behind an array:
#
# ```
# compute-sanitizer --tool memcheck python my_script.py
# ```
#
# It would name our 84 threads, each with its block; it was not run here.
# We left out grids with a third axis, which work in the same way.
#
# ## Recap
#
# A kernel is the body of a loop, and the launch is the loop.
# Along each axis, a thread's number is its block's number times the block's size, plus its own number within the block.
#
# - **Keep this rule: with blocks of 128 threads, launch n / 128 blocks, rounded up, and guard.**
#   At most 127 threads are then without work: for 12,800 elements or more, less than 1 %.
#   <!-- holds: 127 / (12_800 + 127) < 0.01 < 84 / (84 + x.size) -->
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_grid", None)
# quiz("gpu.quiz_number", None)
# quiz("gpu.quiz_two_axes", None)
# BEGIN SOLUTION
quiz("gpu.quiz_grid", "b")
quiz("gpu.quiz_number", "c")
quiz("gpu.quiz_two_axes", "a")
# END SOLUTION
