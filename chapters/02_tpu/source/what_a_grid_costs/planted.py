"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial
from math import ceil

import numpy as np

from tests.exercises.edits import edit, solution

KEPT = {}  # what answers keep from call to call

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


# --- tpu.dataflows

dataflows = solution("tpu.dataflows")
edited = partial(edit, "tpu.dataflows")
INPUTS, SUMS = "cycles(N, K, M, rows, cols)", "cycles(K, M, N, rows, cols)"
weights_always_stay = edited("weights_always_stay", INPUTS, "ws", (SUMS, "ws"))
streams_alone_change = edited(
    "streams_alone_change",
    INPUTS,
    "cycles(N, K, N, rows, cols)",
    (SUMS, "cycles(K, K, N, rows, cols)"),
)
inputs_for_sums = edited("inputs_for_sums", INPUTS, SUMS, ("os = " + SUMS, "os = " + INPUTS))
inputs_as_they_lie = edited("inputs_as_they_lie", INPUTS, "cycles(N, M, K, rows, cols)")
sums_turned = edited("sums_turned", SUMS, "cycles(K, N, M, rows, cols)")
sums_cut_as_inputs = edited("sums_cut_as_inputs", SUMS, "cycles(K, K, M, rows, cols)")
k_past_the_inputs = edited("k_past_the_inputs", INPUTS, "cycles(K, K, M, rows, cols)")
sums_are_out_at_once = edited(
    "sums_are_out_at_once", SUMS, SUMS + " - rows * -(-M // rows) * -(-N // cols)"
)
sums_move_out_once = edited(
    "sums_move_out_once", SUMS, SUMS + " - rows * (-(-M // rows) * -(-N // cols) - 1)"
)
flows_on_a_square_grid = edited("flows_on_a_square_grid", INPUTS, "cycles(N, K, M, rows, rows)")
flows_in_int32 = edited(
    "flows_in_int32",
    "ws, is_, os",
    "ws.astype(np.int32), is_.astype(np.int32), os.astype(np.int32)",
)


def flows_of_a_single_tile(M, K, N, rows, cols):
    return tuple(2 * rows + cols - 2 + streams for streams in (M, N, K))


def flows_remember_m(M, K, N, rows, cols):
    M = KEPT.setdefault(("flows", len(M), rows, cols), M.copy())
    return dataflows(M, K, N, rows, cols)


def flows_by_formula(M, K, N, rows, cols):
    pieces = {"K": up(K, rows), "N": up(N, cols), "M": up(M, cols), "M down": up(M, rows)}
    pass_by = 2 * rows + cols - 2
    return [
        (M + pass_by) * pieces["K"] * pieces["N"],
        (N + pass_by) * pieces["K"] * pieces["M"],
        (K + pass_by) * pieces["M down"] * pieces["N"],
    ]


def flows_in_floats(M, K, N, rows, cols):
    return dataflows(M * 1.0, K * 1.0, N * 1.0, rows, cols)


def flows_in_place(M, K, N, rows, cols):
    counts = dataflows(M, K, N, rows, cols)
    K += rows
    return counts


def flows_by_library(M, K, N, rows, cols):
    from labkit.tpu.matrix_unit.systolic import cycles as ours

    sizes = list(zip(M, K, N, strict=True))
    ws, is_, os = (np.array([ours(f, *s, rows, cols) for s in sizes]) for f in ("ws", "is", "os"))
    return ws, is_, os + rows * up(M, rows) * up(N, cols)


PLANTED = {
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
    "tpu.dataflows": [
        (weights_always_stay, "All three are the cycles of ws"),
        (streams_alone_change, "Another size streams"),
        (inputs_for_sums, "are exchanged"),
        (inputs_as_they_lie, "M lies down the rows here"),
        (sums_turned, "N lies down the rows here"),
        (sums_cut_as_inputs, "the tiles are those of the inputs here"),
        (k_past_the_inputs, "K streams here"),
        (sums_are_out_at_once, "the sums are still in the cells"),
        (sums_move_out_once, "only the last tile's sums move out"),
        (flows_in_int32, "kept in 32 bits"),
        (flows_of_a_single_tile, "counted as a single tile"),
        (flows_on_a_square_grid, "the grid need not be square"),
        (flows_remember_m, "something is kept from one call"),
        (flows_in_place, "changes its input K"),
        (flows_by_library, "labkit.tpu"),
    ],
}

# Where the cases do not show it: in a single tile, on an image of one channel.
_tile = np.array([3]), np.array([2]), np.array([1]), 4, 3  # M, K, N, rows, cols
_m, _image = np.array([0]), np.zeros((1, 1, 2, 2))
RIGHT_ON = {
    p_places_in_a_row: (np.eye(4, dtype=np.float32)[None, None], np.arange(4), 3, 3),
    sums_are_out_at_once: (*(np.array([n]) for n in (3, 2, 0)), 4, 3),
    flows_remember_m: (*_tile[:3], 6, 4),
    flows_of_a_single_tile: _tile,
    flows_on_a_square_grid: (*_tile[:3], 4, 4),
    remembers_the_tiles: (*_tile[:3], 5, 3),
    loads_and_fills_once: _tile,
    loads_while_it_streams: (*(np.array([n]) for n in (0, 2, 1)), 4, 3),
    streams_one_less: (*(np.array([n]) for n in (3, 0, 1)), 4, 3),
    remembers_the_stride: (_image, _m, 1, 1),
    remembers_the_image: (_image, _m, 1, 1),
    rows_by_views: (_image, _m, 1, 1),
    a_single_tile: _tile,
    loads_the_first_weights: _tile,
    crosses_the_tile: (*(np.array([n]) for n in (3, 4, 3)), 4, 3),
    one_tile_across: _tile,
    one_tile_down: _tile,
    side_by_side: (np.arange(16.0).reshape(1, 1, 4, 4), np.array([2, 1]), 2, 2, 2),
    cuts_all_three: _tile,
    row_of_numbers: (np.arange(9.0).reshape(1, 1, 3, 3), np.array(2), 1, 2),
    swaps_the_sizes: (np.arange(9.0).reshape(1, 1, 3, 3), np.array([2, 1]), 2, 2),
    q_down_and_p_across: (np.arange(9.0).reshape(1, 1, 3, 3), np.array([3, 0]), 2, 2),
}

ALSO_RIGHT = {
    "tpu.cycles": [cycles_by_ceil, cycles_in_floats],
    "tpu.dataflows": [flows_by_formula, flows_in_floats],
    "tpu.implicit_rows": [window_after_window, rows_by_strides, rows_in_float64],
}
