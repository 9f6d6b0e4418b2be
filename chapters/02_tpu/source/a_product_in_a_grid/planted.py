"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

KEPT = {}  # what answers keep from call to call

# --- tpu.one_cell

edited = partial(edit, "tpu.one_cell")
cell_forgets_the_sum = edited("cell_forgets_the_sum", "psum + a * w", "a * w")
cell_hands_on_the_sum = edited("cell_hands_on_the_sum", " + a * w", " + 0 * w")
cell_without_a_weight = edited("cell_without_a_weight", "a * w", "a")
cell_adds_everything = edited("cell_adds_everything", "a * w", "a + w")
cell_multiplies_everything = edited("cell_multiplies_everything", "psum + a", "psum * a")
cell_adds_its_number_first = edited("cell_adds_its_number_first", "psum + a * w", "(psum + a) * w")
cell_adds_its_weight_first = edited("cell_adds_its_weight_first", "psum + a * w", "a * (psum + w)")
cell_weighs_the_sum = edited("cell_weighs_the_sum", "psum + a * w", "w * psum + a")
cell_takes_away = edited("cell_takes_away", "psum + a", "psum - a")
cell_with_matrices = edited("cell_with_matrices", "a * w", "a @ w")
cell_in_whole_numbers = edited(
    "cell_in_whole_numbers", "= psum + a * w", "= (psum + a * w).astype(int)"
)
cells_of_four_rows = edited(
    "cells_of_four_rows", "a * w", "a * w * (np.arange(len(a)) < 4)[:, None]"
)


def cell_keeps_its_weight(a, psum, w):
    return psum + a * KEPT.setdefault(("cell", w.shape), w.copy())


def cell_adds_into_psum(a, psum, w):
    psum += a * w
    return psum


def cell_by_library(a, psum, w):
    import torch

    a, psum, w = (torch.from_numpy(numbers) for numbers in (a, psum, w))
    return torch.addcmul(psum, a, w).numpy()


def cell_after_cell(a, psum, w):
    result = psum.copy()
    for cell in np.ndindex(w.shape):
        result[cell] += w[cell] * a[cell]
    return result


def cell_in_float32(a, psum, w):
    return np.float32(a) * np.float32(w) + np.float32(psum)


# --- tpu.skew

skew = solution("tpu.skew")
edited = partial(edit, "tpu.skew")
all_rows_at_once = edited("all_rows_at_once", "k : k + M, k", ":M, k")
bottom_row_first = edited("bottom_row_first", "k : k + M, k", "K - 1 - k : K - 1 - k + M, k")
to_the_end = edited("to_the_end", "k : k + M, k", "k:, k")
goes_twice_as_late = edited(
    "goes_twice_as_late",
    "(M + K - 1, K)",
    "(M + 2 * K - 2, K)",
    ("k : k + M, k", "2 * k : 2 * k + M, k"),
)
takes_rows_of_a = edited("takes_rows_of_a", "a[:, k]", "a[k, :]")
forgets_the_column = edited("forgets_the_column", "k : k + M, k", "k : k + M")
as_many_columns_as_rows = edited("as_many_columns_as_rows", "range(K)", "range(min(M, K))")
skew_in_integers = edited("skew_in_integers", "a.dtype", "int")


def skew_element_by_element(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(K):
        for m in range(M):
            feeds[k + m, k] = a[m, k]
    return feeds


def diagonals_of_the_transpose(a):
    return skew(a.T)


def shifts_up(a):
    feeds = np.vstack([a, np.zeros((a.shape[1] - 1, a.shape[1]))])
    for k in range(1, a.shape[1]):
        feeds[:, k] = np.roll(feeds[:, k], -k)
    return feeds


def stops_with_row_0(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for m in range(M):
        for k in range(K):
            if m + k < M:
                feeds[m + k, k] = a[m, k]
    return feeds


def remembers_the_feeds(a):
    if a.shape not in KEPT:
        KEPT[a.shape] = skew(a)
    return KEPT[a.shape].copy()


def skew_by_indices(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    m, k = np.indices(a.shape)
    feeds[m + k, k] = a
    return feeds


def skew_in_float32(a):
    return np.stack([np.pad(column, (k, a.shape[1] - 1 - k)) for k, column in enumerate(a.T)], 1)


def skew_empties_a(a):
    feeds = skew(a)
    a[:] = 0
    return feeds


def skew_by_library(a):
    from torch import from_numpy, nn

    K = a.shape[1]
    columns = [nn.functional.pad(from_numpy(a[:, k]), (k, K - 1 - k)).numpy() for k in range(K)]
    return np.array(columns).T


# --- tpu.systolic_step

step = solution("tpu.systolic_step")
edited = partial(edit, "tpu.systolic_step")
FROM_ABOVE = "np.vstack([np.zeros_like(psum[:1]), psum[:-1]])"
multiplies_before_moving = edited("multiplies_before_moving", "one_cell(a_next", "one_cell(a")
sums_do_not_move = edited("sums_do_not_move", FROM_ABOVE, "psum")
wraps_at_the_bottom = edited("wraps_at_the_bottom", "np.zeros_like(psum[:1])", "psum[-1:]")
forgets_the_sums = edited("forgets_the_sums", "a_next, from_above", "a_next, 0")
one_wire_for_a_row = edited(
    "one_wire_for_a_row",
    "np.column_stack([feed, a[:, :-1]])",
    "np.repeat(feed[:, None], a.shape[1], axis=1)",
)
only_the_first_column = edited("only_the_first_column", "a[:, :-1]", "a[:, 1:]")
sums_leave_at_the_top = edited(
    "sums_leave_at_the_top",
    "[np.zeros_like(psum[:1]), psum[:-1]]",
    "[psum[1:], np.zeros_like(psum[:1])]",
)
feeds_from_the_right = edited("feeds_from_the_right", "[feed, a[:, :-1]]", "[a[:, 1:], feed]")
keeps_row_0 = edited("keeps_row_0", "np.zeros_like(psum[:1])", "psum[:1]")
moves_without_a_product = edited(
    "moves_without_a_product", "one_cell(a_next, from_above, w)", "from_above"
)
adds_both_sums = edited("adds_both_sums", "from_above, w", "from_above + psum, w")
nothing_moves = edited("nothing_moves", "np.column_stack([feed, a[:, :-1]])", "a.copy()")
multiplies_matrices = edited(
    "multiplies_matrices", "one_cell(a_next, from_above, w)", "from_above + a_next @ w"
)
numbers_in_a_ring = edited("numbers_in_a_ring", "[feed, ", "[a[:, -1], ")


def step_cell_by_cell(a, psum, w, feed):
    a_next, psum_next = np.zeros_like(a), np.zeros_like(psum)
    for r, c in np.ndindex(a.shape):
        a_next[r, c] = feed[r] if c == 0 else a[r, c - 1]
        psum_next[r, c] = (psum[r - 1, c] if r else 0) + a_next[r, c] * w[r, c]
    return a_next, psum_next


def adds_and_then_moves(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    sums = psum + a_next * w
    return a_next, np.vstack([np.zeros_like(sums[:1]), sums[:-1]])


def falls_through(a, psum, w, feed):
    a_next, psum_next = step(a, psum, w, feed)
    psum_next = np.zeros_like(psum_next)
    for r in range(len(psum)):
        psum_next[r] = (psum_next[r - 1] if r else 0) + a_next[r] * w[r]
    return a_next, psum_next


def sums_go_right(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    psum_next = a_next * w
    psum_next[:, 1:] += psum[:, :-1]
    return a_next, psum_next


def keeps_the_weights(a, psum, w, feed):
    w = KEPT.setdefault(("w", w.shape), w.copy())
    return step(a, psum, w, feed)


def whole_numbers(a, psum, w, feed):
    a_next, psum_next = step(a, psum, w, feed)
    return a_next.astype(int), psum_next.astype(int)


def adds_the_weight(a, psum, w, feed):
    a_next, moved = step(a, psum, np.zeros_like(w), feed)
    return a_next, moved + a_next + w


def step_in_float32(a, psum, w, feed):
    a, psum, w, feed = (np.float32(numbers) for numbers in (a, psum, w, feed))
    return [*step(a, psum, w, feed)]


def step_in_place(a, psum, w, feed):
    a[:, 1:] = a[:, :-1].copy()
    a[:, 0] = feed
    return a, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a * w


def step_by_library(a, psum, w, feed):
    import torch

    a_next = torch.cat([torch.from_numpy(feed[:, None]), torch.from_numpy(a[:, :-1])], 1).numpy()
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next * w


PLANTED = {
    "tpu.one_cell": [
        (cell_forgets_the_sum, "The sum from above is missing"),
        (cell_hands_on_the_sum, "The sum is handed on as it came"),
        (cell_without_a_weight, "The number itself is added"),
        (cell_adds_everything, "The number and the weight are added"),
        (cell_multiplies_everything, "The sum is multiplied as well"),
        (cell_adds_its_number_first, "The number is added to the sum"),
        (cell_adds_its_weight_first, "The weight is added to the sum"),
        (cell_weighs_the_sum, "The weight multiplies the sum"),
        (cell_takes_away, "The product is taken away"),
        (cell_with_matrices, "are multiplied as matrices"),
        (cell_in_whole_numbers, "psum_next holds integers"),
        (cells_of_four_rows, "a counts up"),
        (cell_keeps_its_weight, "something is kept from one call"),
        (cell_adds_into_psum, "changes its input psum"),
        (cell_by_library, "torch"),
    ],
    "tpu.skew": [
        (all_rows_at_once, "as long as a sum takes"),
        (bottom_row_first, "The last row begins first"),
        (diagonals_of_the_transpose, "a is turned"),
        (to_the_end, "are to fill M places"),
        (goes_twice_as_late, "begins in cycle 2 k"),
        (shifts_up, "is k cycles early"),
        (takes_rows_of_a, "gets row k of a"),
        (forgets_the_column, "All columns of feeds are set"),
        (stops_with_row_0, "stops in cycle M - 1"),
        (as_many_columns_as_rows, "Only M columns"),
        (remembers_the_feeds, "something is kept from one call"),
        (skew_in_integers, "feeds holds integers"),
        (skew_empties_a, "changes its input a"),
        (skew_by_library, "torch"),
    ],
    "tpu.systolic_step": [
        (multiplies_before_moving, "the activation of the cycle before"),
        (sums_do_not_move, "The sums stay where they are"),
        (wraps_at_the_bottom, "come in again at the top"),
        (forgets_the_sums, "The sum from above is missing"),
        (one_wire_for_a_row, "Every column gets the new numbers at once"),
        (only_the_first_column, "Only column 0 gets new numbers"),
        (adds_and_then_moves, "added before the sum moves"),
        (sums_leave_at_the_top, "The sums move up"),
        (feeds_from_the_right, "The numbers move to the left"),
        (keeps_row_0, "Row 0 keeps the sums"),
        (moves_without_a_product, "but nothing is added"),
        (adds_both_sums, "The sum that the cell held is added"),
        (falls_through, "run down through all rows"),
        (sums_go_right, "The sums move to the right"),
        (nothing_moves, "The activations stay as they were"),
        (multiplies_matrices, "are multiplied as matrices"),
        (numbers_in_a_ring, "The numbers that leave at the right"),
        (keeps_the_weights, "something is kept from one call"),
        (whole_numbers, "a_next holds integers"),
        (adds_the_weight, "number that has come are added"),
        (step_in_place, "changes its input a"),
        (step_by_library, "torch"),
    ],
}

# Where the cases do not show it: on equal activations, on sums that are zero.
_ones, _eye, _zeros = np.ones((2, 2)), np.eye(2), np.zeros((2, 2))
RIGHT_ON = {
    cell_forgets_the_sum: (_eye, _zeros, _ones),
    cell_hands_on_the_sum: (_zeros, _eye, _ones),
    cell_without_a_weight: (_eye, _ones, _ones),
    cell_adds_everything: (2 * _ones, _eye, 2 * _ones),
    cell_multiplies_everything: (_zeros, _zeros, _ones),
    cell_adds_its_number_first: (_eye, _eye, _ones),
    cell_adds_its_weight_first: (_ones, _eye, _eye),
    cell_weighs_the_sum: (_eye, _ones, _ones),
    cell_takes_away: (_zeros, _ones, _ones),
    cell_with_matrices: (_eye, _ones, _eye),
    cell_in_whole_numbers: (_eye, _ones, _ones),
    cell_keeps_its_weight: (_ones, _eye, _ones),
    remembers_the_feeds: (np.ones((2, 2)),),
    keeps_the_weights: (_ones, _eye, _eye, _ones[0]),
    whole_numbers: (_ones, _eye, _eye, _ones[0]),
    adds_the_weight: (np.full((1, 1), 2.0), np.eye(1), np.full((1, 1), 2.0), np.full(1, 2.0)),
    multiplies_before_moving: (_ones, _eye, _eye, _ones[0]),
    only_the_first_column: (_ones, _eye, _eye, _ones[0]),
    sums_do_not_move: (_eye, _zeros, _eye, _ones[0]),
    wraps_at_the_bottom: (_eye, _zeros, _eye, _ones[0]),
    adds_both_sums: (_eye, _zeros, _eye, _ones[0]),
    falls_through: (_eye, _zeros, np.diag([0.0, 1.0]), _ones[0]),
    moves_without_a_product: (_eye, _zeros, _zeros, _ones[0]),
    keeps_row_0: (_eye, _zeros, _eye, _ones[0]),
    nothing_moves: (_ones, _eye, _eye, _ones[0]),
    multiplies_matrices: (np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones(1)),
    numbers_in_a_ring: (_ones, _eye, _eye, _ones[0]),
    adds_and_then_moves: (_eye, _zeros, _zeros, _ones[0]),
    sums_leave_at_the_top: (_eye, _zeros, _eye, _ones[0]),
    to_the_end: (np.arange(3.0)[:, None],),
    takes_rows_of_a: (np.ones((2, 2)),),
    forgets_the_column: (np.ones((1, 1)),),
}

ALSO_RIGHT = {
    "tpu.one_cell": [cell_after_cell, cell_in_float32],
    "tpu.skew": [skew_element_by_element, skew_by_indices, skew_in_float32],
    "tpu.systolic_step": [step_cell_by_cell, step_in_float32],
}
