"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit.gpu import cuda
from labkit_lessons.gpu.a_first_kernel import solutions as a_first_kernel
from tests.exercises.edits import edit

ZERO = np.float32(0)

# --- gpu.add_kernel: one block


add = partial(edit, "gpu.add_kernel")
SUM = "c[i] = a[i] + b[i]"
add_subtracts = add("add_subtracts", SUM, "c[i] = a[i] - b[i]")
add_multiplies = add("add_multiplies", SUM, "c[i] = a[i] * b[i]")
add_takes_a = add("add_takes_a", SUM, "c[i] = a[i]")
add_takes_b = add("add_takes_b", SUM, "c[i] = b[i]")
add_of_element_0 = add("add_of_element_0", SUM, "c[i] = a[0] + b[0]")
add_in_the_input = add("add_in_the_input", SUM, "a[i] += b[i]\n    c[i] = a[i]")
add_to_c = add("add_to_c", SUM, "c[i] += a[i] + b[i]")
add_in_float64 = add("add_in_float64", SUM, "c[i] = 1.5 * a[i] + b[i] - 0.5 * a[i]")
add_up_to_300 = add("add_up_to_300", SUM, "if i < 300:\n        c[i] = a[i] + b[i]")
add_by_thread_0 = add(
    "add_by_thread_0",
    SUM,
    "if i == 0:\n        for j in range(a.size):\n            c[j] = a[j] + b[j]",
)
add_of_the_course = cuda.jit(a_first_kernel.add_kernel.py_func)
add_of_the_course.__name__ = "add_of_the_course"


def add_on_the_host(a, b, c):
    np.add(a, b, out=c)


@cuda.jit
def by_its_number_in_the_grid(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = b[i] + a[i]


@cuda.jit
def add_never_ends(a, b, c):
    while cuda.threadIdx.x == 0:
        pass


@cuda.jit
def add_empty(a, b, c):
    pass


# --- gpu.relu_kernel: blocks of 128


relu = partial(edit, "gpu.relu_kernel")
relu_without_guard = relu("relu_without_guard", "i < x.size", "i >= 0")
relu_by_thread_number = relu("relu_by_thread_number", "cuda.grid(1)", "cuda.threadIdx.x")
relu_by_block_number = relu("relu_by_block_number", "cuda.grid(1)", "cuda.blockIdx.x")
relu_by_sum_of_numbers = relu(
    "relu_by_sum_of_numbers", "cuda.grid(1)", "cuda.blockIdx.x + cuda.threadIdx.x"
)
relu_misses_the_last = relu("relu_misses_the_last", "i < x.size", "i < x.size - 1")
relu_as_absolute_value = relu("relu_as_absolute_value", "max(x[i], zero)", "abs(x[i])")
relu_in_place_too = relu(
    "relu_in_place_too", "y[i] = max(x[i], zero)", "x[i] = max(x[i], zero)\n        y[i] = x[i]"
)
relu_where_positive = relu(
    "relu_where_positive", "i < x.size", "i < x.size and x[i] > 0", ("max(x[i], zero)", "x[i]")
)
relu_that_copies = relu("relu_that_copies", "max(x[i], zero)", "x[i]")
relu_as_answer = relu("relu_as_answer", "max(x[i], zero)", "np.float32(x[i] > zero)")
relu_by_half_sum = relu(
    "relu_by_half_sum", "max(x[i], zero)", "(x[i] + abs(x[i])) * np.float32(0.5)"
)
relu_of_small_numbers_0 = relu(
    "relu_of_small_numbers_0", "max(x[i], zero)", "x[i] if x[i] > np.float32(1e-6) else zero"
)
relu_in_float64 = relu("relu_in_float64", "max(x[i], zero)", "max(x[i], 0)")


@cuda.jit
def two_branches(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        if x[i] > 0:
            y[i] = x[i]
        else:
            y[i] = 0


@cuda.jit
def relu_serial(x, y):
    for i in range(x.size):
        y[i] = max(x[i], ZERO)


@cuda.jit
def relu_by_one_thread(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = max(x[i], ZERO)


relu_grid_for_block = relu(
    "relu_grid_for_block",
    "cuda.grid(1)",
    "cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x",
)
relu_of_the_course = cuda.jit(a_first_kernel.relu_kernel.py_func)
relu_of_the_course.__name__ = "relu_of_the_course"


@cuda.jit
def as_many_as_there_are(x, y):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        y[i] = x[i] * np.float32(x[i] > ZERO)


def relu_on_the_host(x, y):
    np.maximum(x, 0, out=y)


# --- gpu.scale_rows: blocks of 32 x 8


scale = partial(edit, "gpu.scale_rows")
scale_by_row_in_the_block = scale(
    "scale_by_row_in_the_block",
    "scale[row] + shift[row]",
    "scale[cuda.threadIdx.y] + shift[cuda.threadIdx.y]",
)
scale_swapped = scale("scale_swapped", "col, row =", "row, col =")
scale_down_the_columns = scale(
    "scale_down_the_columns",
    "col, row = cuda.grid(2)",
    "thread = cuda.threadIdx.y * 32 + cuda.threadIdx.x\n"
    "    col = cuda.blockIdx.x * 32 + thread // 8\n"
    "    row = cuda.blockIdx.y * 8 + thread % 8",
)
SCALED = "a[row, col] * scale[row] + shift[row]"
scale_shift_first = scale("scale_shift_first", SCALED, "(a[row, col] + shift[row]) * scale[row]")
scale_no_shift = scale("scale_no_shift", " + shift[row]", "")
scale_by_column = scale("scale_by_column", SCALED, "a[row, col] * scale[col] + shift[col]")
scale_adds = scale("scale_adds", "b[row, col] =", "b[row, col] +=")
scale_one_guard = scale("scale_one_guard", " and col < a.shape[1]", "")
scale_in_place = scale("scale_in_place", "b[row, col] = a", "b[row, col] = a[row, col] = a")
scale_by_the_first = scale("scale_by_the_first", SCALED, "a[row, col] * scale[0] + shift[0]")
scale_only_shifts = scale("scale_only_shifts", " * scale[row]", "")
scale_divides = scale("scale_divides", " * scale[row]", " / scale[row]")
scale_back = scale("scale_back", SCALED, "(a[row, col] - shift[row]) / scale[row]")
scale_in_the_first_block = scale(
    "scale_in_the_first_block", "cuda.grid(2)", "cuda.threadIdx.x, cuda.threadIdx.y"
)


@cuda.jit
def returns_early(x, scale, shift, y):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= x.shape[0] or col >= x.shape[1]:
        return
    y[row, col] = scale[row] * x[row, col] + shift[row]


scale_in_the_first_rows = scale(
    "scale_in_the_first_rows", "cuda.grid(2)", "cuda.grid(1), cuda.threadIdx.y"
)
scale_in_the_first_columns = scale(
    "scale_in_the_first_columns",
    "cuda.grid(2)",
    "cuda.threadIdx.x, cuda.blockIdx.y * 8 + cuda.threadIdx.y",
)


@cuda.jit
def over_the_whole_grid(x, scale, shift, y):
    first_col, first_row = cuda.grid(2)
    for row in range(first_row, x.shape[0], cuda.blockDim.y * cuda.gridDim.y):
        factor, distance = scale[row], shift[row]
        for col in range(first_col, x.shape[1], cuda.blockDim.x * cuda.gridDim.x):
            y[row, col] = distance + factor * x[row, col]


def scale_on_the_host(x, scale, shift, y):
    np.multiply(x, scale[:, None], out=y)
    np.add(y, shift[:, None], out=y)


@cuda.jit
def never_ends(x, y):
    while cuda.threadIdx.x == 3:  # one lane
        pass


@cuda.jit
def never_ends_either(x, scale, shift, y):
    while cuda.threadIdx.x == 3:
        y[0, 0] = x[0, 0] * scale[0] + shift[0]


@cuda.jit
def empty(x, y):
    pass


@cuda.jit
def empty_either(x, scale, shift, y):
    pass


PLANTED = {
    "gpu.add_kernel": [
        (add_subtracts, "b is subtracted"),
        (add_multiplies, "The product is stored"),
        (add_takes_a, "Only a arrives in c"),
        (add_takes_b, "Only b arrives in c"),
        (add_of_element_0, "Every thread adds element 0"),
        (add_in_the_input, "changes its input"),
        (add_to_c, "use = instead of +="),
        (add_in_float64, "float64"),
        (add_up_to_300, "724 of 1024 elements are wrong"),
        (add_by_thread_0, "do the work of all"),
        (add_of_the_course, "This is the course's own kernel"),
        (add_on_the_host, "This is no kernel"),
    ],
    "gpu.relu_kernel": [
        (relu_without_guard, "Out of bounds"),
        (relu_by_thread_number, "counts within a block and starts again"),
        (relu_by_block_number, "is the block's number"),
        (relu_misses_the_last, "last element is never written"),
        (relu_as_absolute_value, "must become 0, not positive"),
        (relu_in_place_too, "changes its input"),
        (relu_where_positive, "was never written"),
        (relu_serial, "the loop over the elements is the launch itself"),
        (relu_by_one_thread, "do the work of all"),
        (relu_by_sum_of_numbers, "is added to the thread's as it is"),
        (relu_that_copies, "This is a copy of x"),
        (relu_as_answer, "the answer to the question"),
        (relu_by_half_sum, "leaves the range of float32"),
        (relu_in_float64, "float64"),
        (relu_of_small_numbers_0, "every wrong value is 0: what makes"),
        (relu_grid_for_block, "is multiplied by cuda.gridDim.x"),
        (relu_of_the_course, "This is the course's own kernel"),
        (relu_on_the_host, "This is no kernel"),
    ],
    "gpu.scale_rows": [
        (scale_swapped, "Row and column are swapped"),
        (scale_down_the_columns, "sectors where 4 would do"),
        (scale_shift_first, "it comes after"),
        (scale_no_shift, "shift is missing"),
        (scale_by_column, "looked up by the column"),
        (scale_by_the_first, "Scale and shift of row 0"),
        (scale_only_shifts, "The scale is missing"),
        (scale_divides, "a is divided by the scale"),
        (scale_back, "leads from b back to a"),
        (scale_in_the_first_block, "Only the first block's elements"),
        (scale_in_the_first_rows, "Only the first 8 rows"),
        (scale_in_the_first_columns, "Only the first 32 columns"),
        (scale_adds, "use = instead of +="),
        (scale_one_guard, "Out of bounds"),
        (scale_in_place, "changes its input"),
        (scale_on_the_host, "This is no kernel"),
        (scale_by_row_in_the_block, "the first 8 places along axis 0 are right"),
    ],
}
RIGHT_ON = {
    add_subtracts: (np.ones(5, np.float32), np.zeros(5, np.float32)),
    add_takes_a: (np.ones(5, np.float32), np.zeros(5, np.float32)),
    add_takes_b: (np.zeros(5, np.float32), np.ones(5, np.float32)),
    add_multiplies: (2 * np.ones(5, np.float32), 2 * np.ones(5, np.float32)),
    add_of_element_0: (np.ones(5, np.float32), np.ones(5, np.float32)),
    relu_as_absolute_value: (np.ones(5, np.float32),),
    relu_that_copies: (np.ones(5, np.float32),),
    relu_as_answer: (np.ones(5, np.float32),),
    scale_shift_first: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    scale_only_shifts: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    scale_back: (np.ones((5, 7), np.float32), np.ones(5, np.float32), np.zeros(5, np.float32)),
    scale_divides: tuple(np.ones(n, np.float32) for n in ((5, 7), 5, 5)),
    scale_no_shift: (np.ones((5, 7), np.float32), np.ones(5, np.float32), np.zeros(5, np.float32)),
}
ALSO_RIGHT = {
    "gpu.add_kernel": [by_its_number_in_the_grid],
    "gpu.relu_kernel": [two_branches, as_many_as_there_are],
    "gpu.scale_rows": [returns_early, over_the_whole_grid],
}
ENDLESS = {
    "gpu.add_kernel": add_never_ends,
    "gpu.relu_kernel": never_ends,
    "gpu.scale_rows": never_ends_either,
}
EMPTY = {
    "gpu.add_kernel": add_empty,
    "gpu.relu_kernel": empty,
    "gpu.scale_rows": empty_either,
}
