"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit.gpu import cuda
from tests.exercises.edits import edit, solution

zero = np.float32(0)


def by_numpy(a, b, c):
    np.matmul(a, b, out=c)


# --- gpu.matmul_coalesced: blocks of 32 x 8

coalesced = partial(edit, "gpu.matmul_coalesced")
swapped = coalesced("swapped", "col, row =", "row, col =")
lanes_below_each_other = (
    coalesced(  # each element has a thread, but 8 lanes of a warp form a column
        "lanes_below_each_other",
        "col, row = cuda.grid(2)",
        "tx, ty = cuda.threadIdx.x, cuda.threadIdx.y\n"
        "    col = 32 * cuda.blockIdx.x + 4 * ty + tx // 8\n"
        "    row = 8 * cuda.blockIdx.y + tx % 8",
    )
)
no_guard = coalesced("no_guard", "if row < c.shape[0] and col < c.shape[1]", "if row >= 0")
overwrites = coalesced("overwrites", "total +=", "total =")
one_short = coalesced("one_short", "range(a.shape[1])", "range(a.shape[1] - 1)")
from_one = coalesced("from_one", "range(a.shape[1])", "range(1, a.shape[1])")
rounds_of_columns = coalesced("rounds_of_columns", "a.shape[1]", "b.shape[1]")
first_columns = coalesced(
    "first_columns",
    "col, row = cuda.grid(2)",
    "col, row = cuda.threadIdx.x, 8 * cuda.blockIdx.y + cuda.threadIdx.y",
    ("if row", "if cuda.blockIdx.x == 0 and row"),
)
reads_twice = coalesced(
    "reads_twice",
    "            total +=",
    "            if a[row, k] != zero:\n                total +=",
)
in_place = coalesced(
    "in_place",
    "c[row, col] = total",
    "c[row, col] = total\n"
    "        if row + col == 0 and a.shape[1] < 2:\n"
    "            a[0, 0] = total",
)
in_float64 = coalesced("in_float64", "total = zero", "total = 0.0")


rounds_of_rows = coalesced("rounds_of_rows", "a.shape[1]", "a.shape[0]")


@cuda.jit
def from_the_last_product(a, b, c):
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < b.shape[1]:
        s, k = zero, b.shape[0] - 1
        while k >= 0:
            s = s + b[k, col] * a[row, k]
            k -= 1
        c[row, col] = s


@cuda.jit
def returns_early(a, b, c):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= c.shape[0] or col >= c.shape[1]:
        return
    s = np.float32(0)
    for k in range(b.shape[0]):
        s += a[row, k] * b[k, col]
    c[row, col] = s


@cuda.jit
def adds_to_c(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        for k in range(a.shape[1]):
            c[row, col] += a[row, k] * b[k, col]


@cuda.jit
def writes_often(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = zero
        for k in range(a.shape[1]):
            c[row, col] += a[row, k] * b[k, col]


@cuda.jit
def adds_atomically_to_0(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = zero
        cuda.atomic.add(c, (row, col), total)


@cuda.jit
def transposed(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[1] and col < c.shape[0]:
        s = zero
        for k in range(a.shape[1]):
            s += a[col, k] * b[k, row]
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = s
    if row < c.shape[0] and col < c.shape[1] and not (row < c.shape[1] and col < c.shape[0]):
        c[row, col] = zero


# --- gpu.matmul_tiled: blocks of 32 x 32

tiled = partial(edit, "gpu.matmul_tiled")
from_global = solution("gpu.matmul_coalesced")
counts_steps = tiled(
    "counts_steps",
    "for start in range(0, a.shape[1], 32):",
    "for step in range((a.shape[1] + 31) // 32):\n        start = 32 * step",
)
a_sum_for_each_step = tiled(
    "a_sum_for_each_step",
    "for k in range(32):\n            total +=",
    "part = zero\n        for k in range(min(32, b.shape[0] - start)):\n            part +=",
    (
        "        cuda.syncthreads()  # what for?",
        "        total += part\n        cuda.syncthreads()  # what for?",
    ),
)
sums_in_float64 = tiled("sums_in_float64", "total += a_tile", "total += 1.0 * a_tile")
added_to_c = tiled("added_to_c", "c[row, col] = total", "c[row, col] += total")
threads_changed = tiled(
    "threads_changed", "a_tile[ty, k] * b_tile[k, tx]", "a_tile[tx, k] * b_tile[k, ty]"
)
no_second_barrier = tiled(
    "no_second_barrier", "b_tile[k, tx]\n        cuda.syncthreads()", "b_tile[k, tx]"
)
first_step = tiled("first_step", "range(0, a.shape[1], 32)", "range(0, 32, 32)")
begins_anew = tiled("begins_anew", "for k in", "total = zero\n        for k in")
whole_steps = tiled("whole_steps", "a.shape[1], 32", "a.shape[1] // 32 * 32, 32")
spoils_a = tiled(
    "spoils_a",
    "c[row, col] = total",
    "c[row, col] = total\n        if a.shape[1] == 1:\n            a[row, 0] = total",
)
repeats = tiled(
    "repeats", "row, start + tx", "row, tx", ("start + ty, col", "ty, col"), ("start in", "_ in")
)
assigns = tiled("assigns", "total +=", "total =")
a_stays = tiled("a_stays", "row, start + tx", "row, tx")
b_stays = tiled("b_stays", "start + ty, col", "ty, col")
a_moves_with_ty = tiled("a_moves_with_ty", "row, start + tx", "row, start + ty")
b_moves_with_tx = tiled("b_moves_with_tx", "start + ty, col", "start + tx, col")
a_from_its_place_in_c = tiled("a_from_its_place_in_c", "row, start + tx", "row, col")
b_from_its_place_in_c = tiled("b_from_its_place_in_c", "start + ty, col", "row, col")
a_read_down = tiled("a_read_down", "a_tile[ty, k]", "a_tile[k, ty]")
b_read_across = tiled("b_read_across", "b_tile[k, tx]", "b_tile[tx, k]")
own_pair = tiled("own_pair", "a_tile[ty, k] * b_tile[k, tx]", "a_tile[ty, tx] * b_tile[ty, tx]")
waits_often = tiled("waits_often", "total += ", "cuda.syncthreads()\n            total += ")
both_turned = tiled(
    "both_turned",
    "a_tile[ty, k] * b_tile[k, tx]",
    "a_tile[k, ty] * b_tile[tx, k]",
    ("a_tile[ty, tx] =", "a_tile[tx, ty] ="),
    ("b_tile[ty, tx] =", "b_tile[tx, ty] ="),
)
fetched_down = tiled(  # lanes that are neighbours fetch elements that lie below each other
    "fetched_down",
    "a_tile[ty, tx] = fetch_or_zero(a, row, start + tx)",
    "a_tile[tx, ty] = fetch_or_zero(a, row - ty + tx, start + ty)",
    (
        "b_tile[ty, tx] = fetch_or_zero(b, start + ty, col)",
        "b_tile[tx, ty] = fetch_or_zero(b, start + tx, col - tx + ty)",
    ),
)


@cuda.jit(device=True)
def fetch_or_zero(m, row, col):
    return m[row, col] if row < m.shape[0] and col < m.shape[1] else zero


@cuda.jit
def barrier_in_the_guard(a, b, c):
    a_tile = cuda.shared.array((32, 32), "float32")
    b_tile = cuda.shared.array((32, 32), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for start in range(0, a.shape[1], 32):
            a_tile[ty, tx] = fetch_or_zero(a, row, start + tx)
            b_tile[ty, tx] = fetch_or_zero(b, start + ty, col)
            cuda.syncthreads()
            for k in range(32):
                total += a_tile[ty, k] * b_tile[k, tx]
            cuda.syncthreads()
        c[row, col] = total


# --- gpu.matmul_registers: blocks of 32 x 8, tiles of 64 x 64

registers = partial(edit, "gpu.matmul_registers")
no_registers = registers(
    "no_registers",
    "a_i * b_left",
    "a_tile[ty + 8 * i, k] * b_tile[k, tx]",
    ("a_i * b_right", "a_tile[ty + 8 * i, k] * b_tile[k, tx + 32]"),
)
rows_in_a_while = registers(
    "rows_in_a_while",
    "            for i in range(8):\n                a_i = a_tile[ty + 8 * i, k]\n",
    "            for i in range(7, -1, -1):\n                a_i = a_tile[i * 8 + ty, k]\n",
)
patch_in_float64 = registers("patch_in_float64", "a_i * b_left", "1.0 * a_i * b_left")
ROWS_OF_A = "for i in range(8):\n                a_i"
one_row = registers("one_row", ROWS_OF_A, ROWS_OF_A.replace("8", "1"))
seven_rows = registers("seven_rows", ROWS_OF_A, ROWS_OF_A.replace("8", "7"))
one_column = registers("one_column", "total[i, 1] += a_i * b_right", "")
same_column = registers("same_column", "a_i * b_right", "a_i * b_left")
same_rows = registers("same_rows", "ty + 8 * i", "ty")
halves_swapped = registers(
    "halves_swapped",
    "b_left =",
    "b_right =",
    ("b_right = b_tile[k, tx + 32]", "b_left = b_tile[k, tx + 32]"),
)
columns_side_by_side = registers(
    "columns_side_by_side",
    "b_tile[k, tx]",
    "b_tile[k, 2 * tx]",
    ("b_tile[k, tx + 32]", "b_tile[k, 2 * tx + 1]"),
)
next_column = registers("next_column", "tx + 32", "tx + 1")
rows_below_each_other = registers("rows_below_each_other", "ty + 8 * i", "8 * ty + i")
next_rows = registers("next_rows", "ty + 8 * i", "ty + i")
no_plus = registers(
    "no_plus", "+= a_i * b_left", "= a_i * b_left", ("+= a_i * b_right", "= a_i * b_right")
)
spoils_b = registers(
    "spoils_b",
    "    write_patch(",
    "    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and a.shape[1] == 1:\n"
    "        b[0, 0] = zero\n"
    "    write_patch(",
)


PLANTED = {
    "gpu.matmul_coalesced": [
        (swapped, "is taken for the row"),
        (lanes_below_each_other, "sectors of global memory. Let x"),
        (no_guard, "Out of bounds"),
        (overwrites, "holds the last product only"),
        (adds_to_c, "adds to what the output held"),
        (one_short, "The last product is missing: k runs over"),
        (from_one, "The first product is missing"),
        (transposed, "The result is transposed"),
        (rounds_of_columns, "as many rounds as b has columns"),
        (rounds_of_rows, "the last two axes of a are equally long"),
        (first_columns, "Only the first 32 columns are there"),
        (reads_twice, "each product needs one element of a and one of b"),
        (in_place, "changes its input"),
        (in_float64, "some of the arithmetic is in float64"),
        (adds_atomically_to_0, "each element of c is written 2 times"),
        (writes_often, "each element of c is written 33 times"),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_tiled": [
        (from_global, "global memory is asked for"),
        (no_second_barrier, "Race"),
        (barrier_in_the_guard, "Barrier in divergent code"),
        (first_step, "Only the first 32 products"),
        (begins_anew, "Only the last step's products"),
        (whole_steps, "the rest is missing"),
        (spoils_a, "changes its input"),
        (repeats, "brings the first 32 products again"),
        (assigns, "holds the last product only"),
        (a_stays, "fetches the first tile of a again"),
        (b_stays, "fetches the first tile of b again"),
        (a_moves_with_ty, "fetched from a moves with ty"),
        (b_moves_with_tx, "fetched from b moves with tx"),
        (
            a_from_its_place_in_c,
            "The column that is fetched from a is that of c",
        ),
        (
            b_from_its_place_in_c,
            "The row that is fetched from b is that of c",
        ),
        (a_read_down, "a_tile is read the other way round"),
        (
            b_read_across,
            "b_tile is read the other way round",
        ),
        (sums_in_float64, "float64"),
        (added_to_c, "use = instead of +="),
        (threads_changed, "tx and ty have changed places in the products"),
        (own_pair, "multiplies the two elements that it has"),
        (
            waits_often,
            "before and behind the loop over k, not in it",
        ),
        (both_turned, "passes are bank conflicts"),
        (
            fetched_down,
            "sectors of global memory on average",
        ),
        (by_numpy, "no kernel"),
    ],
    "gpu.matmul_registers": [
        (no_registers, "the banks are passed"),
        (one_row, "Only the first 8 rows"),
        (one_column, "The right half of each tile is missing"),
        (same_column, "The right half of each tile repeats"),
        (same_rows, "The first 8 rows of each tile repeat"),
        (halves_swapped, "The halves of each tile have changed"),
        (columns_side_by_side, "taken to be 2 * tx and 2 * tx + 1"),
        (next_column, "are taken for neighbours, tx and tx + 1"),
        (rows_below_each_other, "taken to be 8 * ty + i"),
        (next_rows, "taken for neighbours, from ty on"),
        (seven_rows, "The last 8 rows of each tile are missing"),
        (no_plus, "holds the last product only"),
        (patch_in_float64, "float64"),
        (spoils_b, "changes its input"),
        (by_numpy, "no kernel"),
    ],
}

ALSO_RIGHT = {
    "gpu.matmul_coalesced": [returns_early, from_the_last_product],
    "gpu.matmul_tiled": [counts_steps, a_sum_for_each_step],
    "gpu.matmul_registers": [rows_in_a_while],
}

ROWS = np.arange(40 * 33, dtype=np.float32).reshape(40, 33) % 97 / 97
FIRST_ZERO, LAST_ZERO = ROWS.copy(), ROWS.copy()
FIRST_ZERO[:, 0] = LAST_ZERO[:, -1] = 0
LAST_ONLY = np.zeros((40, 32), np.float32)
LAST_ONLY[:, -1] = ROWS[:, 5]
TWICE = np.concatenate([ROWS[:, :32], ROWS[:, :32]], axis=1)  # the same in both halves of a tile
ONES = np.ones((32, 32), np.float32)
RIGHT_ON = {  # where what they leave out is 0, or what they take for another is the same
    own_pair: (ONES, ONES),
    threads_changed: (ONES, ONES),
    halves_swapped: (ROWS.T.copy(), TWICE),
    no_plus: (LAST_ONLY, ROWS[:, :32].T.copy()),
    assigns: (LAST_ONLY, ROWS[:, :32].T.copy()),
    one_short: (LAST_ZERO, ROWS.T.copy()),
    from_one: (FIRST_ZERO, ROWS.T.copy()),
}
