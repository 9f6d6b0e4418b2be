"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from tests.exercises.edits import edit

# --- tpu.block_indices

edited = partial(edit, "tpu.block_indices")
WHOLE = "(i, k), (k, j), (i, j)"
index_x_swapped = edited("index_x_swapped", WHOLE, "(k, i), (k, j), (i, j)")
index_w_swapped = edited("index_w_swapped", WHOLE, "(i, k), (j, k), (i, j)")
index_y_swapped = edited("index_y_swapped", WHOLE, "(i, k), (k, j), (j, i)")
index_like_y = edited("index_like_y", WHOLE, "(i, j), (k, j), (i, j)")
index_w_by_row = edited("index_w_by_row", WHOLE, "(i, k), (i, j), (i, j)")
index_y_by_step = edited("index_y_by_step", WHOLE, "(i, k), (k, j), (i, k)")
index_elements = edited("index_elements", WHOLE, "(2*i, 2*k), (2*k, 2*j), (2*i, 2*j)")


def index_counts_up(i, j, k):
    blocks = (int(i), k), (k, j), (int(i), j)
    i += 1
    return blocks


def index_by_torch(i, j, k):
    import torch

    return (int(torch.tensor(i)), k), (k, j), (i, j)


def index_as_lists(i, j, k):
    return [[i, k], [k, j], [i, j]]


# --- tpu.matmul_step


def dot(x, w):
    return jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)


edited = partial(edit, "tpu.matmul_step")
step_zero_always = edited("step_zero_always", "k == 0", "k >= 0")
step_stored_first = edited("step_stored_first", "k == last", "k == 0")
step_times = edited(
    "step_times", "jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)", "x[...] * w[...]"
)


def step_stored_before(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros_like(total)

    @pl.when(k == pl.num_programs(2) - 1)
    def store():
        y[...] = total[...].astype(y.dtype)

    total[...] += dot(x, w)


def step_begins_with_it(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def begin():
        total[...] = dot(x, w)

    total[...] += dot(x, w)
    y[...] = total[...].astype(y.dtype)


def step_zero_behind(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k != 0)
    def add():
        total[...] += dot(x, w)

    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros_like(total)

    y[...] = total[...].astype(y.dtype)


def step_added_again(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros_like(total)

    total[...] += dot(x, w)
    y[...] = (total[...] + dot(x, w)).astype(y.dtype)


def step_clears_x(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros_like(total)

    total[...] += dot(x, w)
    x[...] = jnp.zeros_like(x)
    y[...] = total[...].astype(y.dtype)


def step_by_torch(x, w, y, total):
    import torch

    torch.tensor(1)
    y[...] = dot(x, w)


def step_stores_always(x, w, y, total):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def begin():
        total[...] = jnp.zeros(total.shape, total.dtype)

    total[...] = total[...] + x[...] @ w[...]
    y[...] = total[...].astype(y.dtype)


# --- tpu.mask_k

edited = partial(edit, "tpu.mask_k")
RETURN = "jnp.where(column < K, x, 0), jnp.where(row < K, w, 0)"
mask_of_x = edited("mask_of_x", RETURN, "jnp.where(column < K, x, 0), w")
mask_of_w = edited("mask_of_w", RETURN, "x, jnp.where(row < K, w, 0)")
mask_times = edited("mask_times", RETURN, "x * (column < K), w * (row < K)")
mask_from_0 = edited(
    "mask_from_0", "column = k * bk + ", "column = ", ("row = k * bk + ", "row = ")
)
mask_up_to_K = edited(
    "mask_up_to_K", RETURN, "jnp.where(column <= K, x, 0), jnp.where(row <= K, w, 0)"
)
mask_rows = edited("mask_rows", "x.shape, 1)", "x.shape, 0)")
mask_inside = edited("mask_inside", RETURN, "jnp.where(column < K, 0, x), jnp.where(row < K, 0, w)")


def mask_in_numpy(x, w, k, K):
    inside = k * x.shape[1] + np.arange(x.shape[1]) < K
    return np.where(inside, x, 0), np.where(inside[:, None], w, 0)


def mask_in_place(x, w, k, K):
    bk = x.shape[1]
    x[:, bk - 1] = 0
    return x, w


def mask_by_torch(x, w, k, K):
    import torch

    torch.tensor(1)
    return x, w


def mask_by_arange(x, w, k, K):
    inside = k * x.shape[1] + jnp.arange(x.shape[1]) < K
    return jnp.where(inside, x, 0), jnp.where(inside[:, None], w, 0)


PLANTED = {
    "tpu.block_indices": [
        (index_x_swapped, "The pair of x is swapped"),
        (index_w_swapped, "The pair of w is swapped"),
        (index_y_swapped, "The pair of y is swapped"),
        (index_like_y, "The block of x depends on j"),
        (index_w_by_row, "The block of w depends on i"),
        (index_y_by_step, "The block of y depends on k"),
        (index_elements, "These are places counted in elements"),
        (index_counts_up, "changes its input"),
        (index_by_torch, "torch"),
    ],
    "tpu.matmul_step": [
        (step_zero_always, "Only the product of the last step"),
        (step_stored_first, "Only the product of the first step"),
        (step_stored_before, "The last step's product is missing"),
        (step_zero_behind, "The first step's product is missing"),
        (step_begins_with_it, "The first step's product counts twice"),
        (step_added_again, "The last step's product counts twice"),
        (step_clears_x, "changes its input"),
        (step_by_torch, "torch"),
    ],
    "tpu.mask_k": [
        (mask_of_x, "Only x is masked"),
        (mask_of_w, "Only w is masked"),
        (mask_times, "multiplied by 0 and 1"),
        (mask_from_0, "counted from the block's own edge"),
        (mask_up_to_K, "Column K itself stays"),
        (mask_rows, "The rows of x are masked"),
        (mask_inside, "the wrong way round"),
        (mask_in_numpy, "no numbers yet"),
        (mask_in_place, "changes its input"),
        (mask_by_torch, "torch"),
    ],
}

Z = np.zeros(1, int)
NOTHING = np.zeros((2, 2), np.float32)
RIGHT_ON = {
    step_stored_before: (NOTHING, NOTHING, (2, 2, 2)),
    step_zero_behind: (NOTHING, NOTHING, (2, 2, 2)),
    step_begins_with_it: (NOTHING, NOTHING, (2, 2, 2)),
    step_added_again: (NOTHING, NOTHING, (2, 2, 2)),
    mask_inside: (NOTHING, NOTHING, 0, 1),
    mask_in_place: (NOTHING.copy(), NOTHING, 0, 2),
    mask_rows: (NOTHING, NOTHING, 0, 1),
}
RIGHT_ON |= {
    one: (Z, Z, Z)
    for one in (
        index_x_swapped,
        index_w_swapped,
        index_y_swapped,
        index_like_y,
        index_w_by_row,
        index_y_by_step,
        index_elements,
    )
}

ALSO_RIGHT = {
    "tpu.block_indices": [index_as_lists],
    "tpu.matmul_step": [step_stores_always],
    "tpu.mask_k": [mask_by_arange],
}
