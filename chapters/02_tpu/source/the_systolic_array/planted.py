"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial
from math import ceil

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


# --- tpu.cycles

cycles = solution("tpu.cycles")
edited = partial(edit, "tpu.cycles")
small_tiles_cost_less = edited(
    "small_tiles_cost_less",
    "rows + (M + rows + cols - 2)",
    "2 * np.minimum(K, rows) + M + np.minimum(N, cols) - 2",
)
TILES = "-(-K // rows) * -(-N // cols)"
only_load_and_stream = edited("only_load_and_stream", "(M + rows + cols - 2)", "M")
a_single_tile = edited("a_single_tile", f" * {TILES}", "")
drops_the_rest = edited("drops_the_rest", TILES, "(K // rows) * (N // cols)")
k_across = edited("k_across", TILES, "-(-K // cols) * -(-N // rows)")
crosses_the_tile = edited("crosses_the_tile", "M + rows + cols - 2", "M + K + N - 2")
one_tile_across = edited("one_tile_across", " * -(-N // cols)", "")
one_tile_down = edited("one_tile_down", " * -(-K // rows)", "")
cuts_all_three = edited("cuts_all_three", TILES, f"-(-M // rows) * {TILES}")
loads_the_first_weights = edited(
    "loads_the_first_weights", "= rows + (", "= (", ("return one_tile", "return rows + one_tile")
)
loads_a_column_at_a_time = edited("loads_a_column_at_a_time", "= rows + (", "= cols + (")
divides_and_adds_one = edited("divides_and_adds_one", TILES, "(1 + K // rows) * (1 + N // cols)")
shares_of_tiles = edited("shares_of_tiles", TILES, "K * N / (rows * cols)")
adds_the_pieces = edited("adds_the_pieces", TILES, "(-(-K // rows) + -(-N // cols))")
tiles_by_area = edited("tiles_by_area", TILES, "np.ceil(K * N / (rows * cols))")
rounds_to_nearest = edited("rounds_to_nearest", TILES, "np.round(K / rows) * np.round(N / cols)")


def up(n, side):
    return np.array([ceil(size / side) for size in n])


def cycles_by_ceil(M, K, N, rows, cols):
    return (rows + M + rows - 1 + cols - 1) * up(K, rows) * up(N, cols)


def fills_once(M, K, N, rows, cols):
    return up(K, rows) * up(N, cols) * (rows + M) + rows + cols - 2


def with_a_second_register(M, K, N, rows, cols):
    tiles = up(K, rows) * up(N, cols)
    return rows + (tiles - 1) * np.maximum(M, rows) + M + rows + cols - 2


def columns_alone_fill(M, K, N, rows, cols):
    return (rows + M + cols - 1) * up(K, rows) * up(N, cols)


def rows_alone_fill(M, K, N, rows, cols):
    return (rows + M + rows - 1) * up(K, rows) * up(N, cols)


def loads_and_fills_once(M, K, N, rows, cols):
    return rows + M * up(K, rows) * up(N, cols) + rows + cols - 2


def loads_while_it_streams(M, K, N, rows, cols):
    return (np.maximum(M, rows) + rows + cols - 2) * up(K, rows) * up(N, cols)


def loads_cell_by_cell(M, K, N, rows, cols):
    return (rows * cols + M + rows + cols - 2) * up(K, rows) * up(N, cols)


def on_a_square_grid(M, K, N, rows, cols):
    return cycles(M, K, N, rows, rows)


def at_least_one_tile(M, K, N, rows, cols):
    tiles = np.maximum(K // rows, 1) * np.maximum(N // cols, 1)
    return (2 * rows + cols + M - 2) * tiles


def streams_one_less(M, K, N, rows, cols):
    return cycles(M - 1, K, N, rows, cols)


def times_one_over_the_side(M, K, N, rows, cols):
    tiles = np.ceil(K * (1 / rows)) * np.ceil(N * (1 / cols))
    return (2 * rows + cols + M - 2) * tiles


def remembers_the_tiles(M, K, N, rows, cols):
    tiles = KEPT.setdefault((len(M), rows, cols), up(K, rows) * up(N, cols))
    return (2 * rows + cols + M - 2) * tiles


def cycles_in_floats(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * np.ceil(K / rows) * np.ceil(N / cols)


def cycles_in_int32(M, K, N, rows, cols):
    M, K, N = (size.astype(np.int32) for size in (M, K, N))
    return (2 * rows + cols + M - 2) * -(-K // rows) * -(-N // cols)


def cycles_in_place(M, K, N, rows, cols):
    M += 2 * rows + cols - 2
    return M * up(K, rows) * up(N, cols)


def cycles_by_library(M, K, N, rows, cols):
    from labkit.tpu.matrix_unit.systolic import cycles as ours

    return np.array([ours("ws", *size, rows, cols) for size in zip(M, K, N, strict=True)])


# --- tpu.implicit_rows

implicit_rows = solution("tpu.implicit_rows")
edited = partial(edit, "tpu.implicit_rows")
p_places_in_a_row = edited(
    "p_places_in_a_row",
    "np.unravel_index(m[:, None], (N, P, Q))",
    "m[:, None] // (P * P), m[:, None] % (P * P) // P, m[:, None] % P",
)
rows_in_sequence = edited("rows_in_sequence", "m[:, None]", "m[0] + np.arange(len(m))[:, None]")
TAPS = "c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))"
WINDOWS = "n, p, q = np.unravel_index(m[:, None], (N, P, Q))"
PIXEL = "p * stride + r, q * stride + s"
rsc = edited("rsc", TAPS, "r, s, c = np.unravel_index(np.arange(C * R * S), (R, S, C))")
taps_crossed = edited("taps_crossed", "c, r, s = ", "c, s, r = ")
row_of_numbers = edited("row_of_numbers", "m[:, None]", "m")
down_the_columns = edited(
    "down_the_columns", WINDOWS, "n, q, p = np.unravel_index(m[:, None], (N, Q, P))"
)
image_after_image = edited(
    "image_after_image", WINDOWS, "p, q, n = np.unravel_index(m[:, None], (P, Q, N))"
)
counts_pixels = edited("counts_pixels", "(N, P, Q)", "(N, H, W)")
swaps_the_sizes = edited("swaps_the_sizes", "(N, P, Q)", "(N, Q, P)")
steps_of_one = edited("steps_of_one", PIXEL, "p + r, q + s")
dilated = edited("dilated", PIXEL, "p + r * stride, q + s * stride")
stride_over_the_sum = edited("stride_over_the_sum", PIXEL, "stride * (p + r), stride * (q + s)")
back_by_the_padding = edited(
    "back_by_the_padding", PIXEL, "p * stride - padding + r, q * stride - padding + s"
)
q_down_and_p_across = edited("q_down_and_p_across", PIXEL, "q * stride + r, p * stride + s")
last_tap_first = edited("last_tap_first", PIXEL, "p * stride + R - 1 - r, q * stride + S - 1 - s")
around_the_middle = edited(
    "around_the_middle", PIXEL, "p * stride + r - R // 2, q * stride + s - S // 2"
)
side_by_side = edited("side_by_side", PIXEL, "p * R + r, q * S + s")
without_the_frame = edited("without_the_frame", "padded[n, c", "x[n, c")
the_first_few = edited("the_first_few", "m[:, None]", "np.arange(len(m))[:, None]")
sorted_rows = edited("sorted_rows", "m[:, None]", "np.sort(m)[:, None]")


def window_after_window(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    P = (padded.shape[2] - R) // stride + 1
    Q = (padded.shape[3] - S) // stride + 1
    rows = []
    for number in m:
        n, place = divmod(number, P * Q)
        p, q = divmod(place, Q)
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        rows.append(window.ravel())
    return np.array(rows)


def remembers_the_stride(x, m, R, S, stride=1, padding=0):
    stride = KEPT.setdefault((x.shape, R, S), stride)
    return implicit_rows(x, m, R, S, stride, padding)


def remembers_the_padding(x, m, R, S, stride=1, padding=0):
    padding = KEPT.setdefault((x.shape, R, S, stride > 1), padding)
    return implicit_rows(x, m, R, S, stride, padding)


def remembers_the_image(x, m, R, S, stride=1, padding=0):
    image = KEPT.setdefault((x.shape, R, S, stride, padding), x.copy())
    return implicit_rows(image, m, R, S, stride, padding)


def writes_the_matrix(x, m, R, S, stride=1, padding=0):
    N, _, H, W = x.shape
    windows = N * ((H + 2 * padding - R) // stride + 1) * ((W + 2 * padding - S) // stride + 1)
    return implicit_rows(x, np.arange(windows), R, S, stride, padding)[m]


def rows_by_views(x, m, R, S, stride=1, padding=0):
    from numpy.lib import stride_tricks as tricks

    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = tricks.sliding_window_view(padded, (R, S), axis=(2, 3))[:, :, ::stride, ::stride]
    n, p, q = np.unravel_index(m, (windows.shape[0], *windows.shape[2:4]))
    return windows[n, :, p, q].reshape(len(m), -1)


def rows_by_strides(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    n, c, h, w = padded.strides
    windows = np.lib.stride_tricks.as_strided(
        padded, (N, P, Q, C, R, S), (n, h * stride, w * stride, c, h, w)
    )
    return windows[np.unravel_index(m, (N, P, Q))].reshape(len(m), -1)


def rows_in_float64(x, m, R, S, stride=1, padding=0):
    return implicit_rows(x.astype(float), m, R, S, stride, padding)


def rows_change_m(x, m, R, S, stride=1, padding=0):
    rows = implicit_rows(x, m, R, S, stride, padding)
    m -= 1
    return rows


def rows_by_library(x, m, R, S, stride=1, padding=0):
    from torch import from_numpy
    from torch.nn.functional import unfold

    cols = unfold(from_numpy(x), (R, S), padding=padding, stride=stride)  # [N, C R S, P Q]
    return cols.numpy().transpose(0, 2, 1).reshape(-1, cols.shape[1])[m]


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
    "tpu.cycles": [
        (only_load_and_stream, "The fill is missing"),
        (a_single_tile, "This is one tile"),
        (drops_the_rest, "Only full tiles are counted"),
        (k_across, "K and N are swapped"),
        (crosses_the_tile, "K + N stands where"),
        (one_tile_across, "N is not cut"),
        (cuts_all_three, "M is cut as well"),
        (loads_the_first_weights, "The weights are loaded once only"),
        (loads_a_column_at_a_time, "The weights take cols cycles here"),
        (divides_and_adds_one, "a tile too many"),
        (shares_of_tiles, "counted as a part of one"),
        (adds_the_pieces, "are added up. Each pair"),
        (one_tile_down, "K is not cut"),
        (fills_once, "The fill is paid once only"),
        (cycles_in_int32, "kept in 32 bits"),
        (tiles_by_area, "counted by their area"),
        (rounds_to_nearest, "rounded to the nearest"),
        (with_a_second_register, "a second weight register"),
        (columns_alone_fill, "The rows are missing in the fill"),
        (rows_alone_fill, "The columns are missing in the fill"),
        (loads_and_fills_once, "Loading and fill are paid once only"),
        (loads_while_it_streams, "the longer one alone does not do"),
        (loads_cell_by_cell, "take rows * cols cycles"),
        (on_a_square_grid, "rows stands where cols belongs"),
        (at_least_one_tile, "only where there is no full tile"),
        (streams_one_less, "M rows take M cycles"),
        (times_one_over_the_side, "by a hair more than a whole number"),
        (remembers_the_tiles, "something is kept from one call"),
        (cycles_in_place, "changes its input M"),
        (cycles_by_library, "labkit.tpu"),
        (small_tiles_cost_less, "A tile smaller than the grid"),
    ],
    "tpu.implicit_rows": [
        (rsc, "the channel counts fastest"),
        (row_of_numbers, "is still a row here"),
        (taps_crossed, "The taps r and s are swapped"),
        (down_the_columns, "run down the columns first"),
        (steps_of_one, "The windows move by one pixel"),
        (dilated, "The stride lies between the taps"),
        (stride_over_the_sum, "The stride multiplies p + r"),
        (without_the_frame, "the frame of zeros is missing"),
        (back_by_the_padding, "The padding is subtracted"),
        (counts_pixels, "are taken for pixels"),
        (swaps_the_sizes, "The sizes P and Q are swapped"),
        (image_after_image, "The images count fastest"),
        (q_down_and_p_across, "p is used along the columns"),
        (last_tap_first, "run backwards"),
        (around_the_middle, "as if that were its middle"),
        (side_by_side, "lie side by side"),
        (the_first_few, "the first rows of the matrix"),
        (sorted_rows, "come in rising order"),
        (remembers_the_stride, "The stride of an earlier call"),
        (remembers_the_padding, "is out of bounds for array with size"),
        (remembers_the_image, "something is kept from one call"),
        (writes_the_matrix, "B of memory at a time"),
        (rows_by_views, "numpy.lib.stride_tricks.sliding_window_view"),
        (rows_change_m, "changes its input m"),
        (rows_by_library, "torch"),
        (rows_in_sequence, "taken to follow each other"),
        (p_places_in_a_row, "P positions are taken to stand in a row"),
    ],
}

# Where the cases do not show it: on equal activations, on sums that are zero, in a single tile.
_ones, _eye, _zeros = np.ones((2, 2)), np.eye(2), np.zeros((2, 2))
_tile = np.array([3]), np.array([2]), np.array([1]), 4, 3  # M, K, N, rows, cols
_m, _image = np.array([0]), np.zeros((1, 1, 2, 2))
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
    p_places_in_a_row: (np.eye(4, dtype=np.float32)[None, None], np.arange(4), 3, 3),
    remembers_the_feeds: (np.ones((2, 2)),),
    keeps_the_weights: (_ones, _eye, _eye, _ones[0]),
    whole_numbers: (_ones, _eye, _eye, _ones[0]),
    adds_the_weight: (np.full((1, 1), 2.0), np.eye(1), np.full((1, 1), 2.0), np.full(1, 2.0)),
    remembers_the_tiles: (*_tile[:3], 5, 3),
    loads_and_fills_once: _tile,
    loads_while_it_streams: (*(np.array([n]) for n in (0, 2, 1)), 4, 3),
    streams_one_less: (*(np.array([n]) for n in (3, 0, 1)), 4, 3),
    remembers_the_stride: (_image, _m, 1, 1),
    remembers_the_image: (_image, _m, 1, 1),
    rows_by_views: (_image, _m, 1, 1),
    multiplies_before_moving: (_ones, _eye, _eye, _ones[0]),
    only_the_first_column: (_ones, _eye, _eye, _ones[0]),
    sums_do_not_move: (_eye, _zeros, _eye, _ones[0]),
    wraps_at_the_bottom: (_eye, _zeros, _eye, _ones[0]),
    a_single_tile: _tile,
    loads_the_first_weights: _tile,
    crosses_the_tile: (*(np.array([n]) for n in (3, 4, 3)), 4, 3),
    one_tile_across: _tile,
    one_tile_down: _tile,
    adds_both_sums: (_eye, _zeros, _eye, _ones[0]),
    falls_through: (_eye, _zeros, np.diag([0.0, 1.0]), _ones[0]),
    moves_without_a_product: (_eye, _zeros, _zeros, _ones[0]),
    keeps_row_0: (_eye, _zeros, _eye, _ones[0]),
    nothing_moves: (_ones, _eye, _eye, _ones[0]),
    multiplies_matrices: (np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones(1)),
    side_by_side: (np.arange(16.0).reshape(1, 1, 4, 4), np.array([2, 1]), 2, 2, 2),
    numbers_in_a_ring: (_ones, _eye, _eye, _ones[0]),
    cuts_all_three: _tile,
    adds_and_then_moves: (_eye, _zeros, _zeros, _ones[0]),
    sums_leave_at_the_top: (_eye, _zeros, _eye, _ones[0]),
    row_of_numbers: (np.arange(9.0).reshape(1, 1, 3, 3), np.array(2), 1, 2),
    to_the_end: (np.arange(3.0)[:, None],),
    takes_rows_of_a: (np.ones((2, 2)),),
    forgets_the_column: (np.ones((1, 1)),),
    swaps_the_sizes: (np.arange(9.0).reshape(1, 1, 3, 3), np.array([2, 1]), 2, 2),
    q_down_and_p_across: (np.arange(9.0).reshape(1, 1, 3, 3), np.array([3, 0]), 2, 2),
}

ALSO_RIGHT = {
    "tpu.one_cell": [cell_after_cell, cell_in_float32],
    "tpu.skew": [skew_element_by_element, skew_by_indices, skew_in_float32],
    "tpu.systolic_step": [step_cell_by_cell, step_in_float32],
    "tpu.cycles": [cycles_by_ceil, cycles_in_floats],
    "tpu.implicit_rows": [window_after_window, rows_by_strides, rows_in_float64],
}
