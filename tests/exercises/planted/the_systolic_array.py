"""Wrong solutions of lesson 02_tpu/1, written as a learner would, and what each must be told."""

from math import ceil

import numpy as np

# --- tpu.skew


def _feeds(a, first):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(K):
        for m in range(M):
            feeds[first(k, K) + m, k] = a[m, k]
    return feeds


def skew(a):
    return _feeds(a, lambda k, K: k)


def all_rows_at_once(a):
    return _feeds(a, lambda k, K: 0)


def bottom_row_first(a):
    return _feeds(a, lambda k, K: K - 1 - k)


def diagonals_of_the_transpose(a):
    return skew(a.T)


def to_the_end(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(K):
        feeds[k:, k] = a[:, k]
    return feeds


def goes_twice_as_late(a):
    M, K = a.shape
    feeds = np.zeros((M + 2 * K - 2, K))
    for k in range(K):
        feeds[2 * k : 2 * k + M, k] = a[:, k]
    return feeds


def shifts_up(a):
    feeds = np.vstack([a, np.zeros((a.shape[1] - 1, a.shape[1]))])
    for k in range(1, a.shape[1]):
        feeds[:, k] = np.roll(feeds[:, k], -k)
    return feeds


def takes_rows_of_a(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(K):
        feeds[k : k + M, k] = a[k, :]
    return feeds


def forgets_the_column(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(K):
        feeds[k : k + M] = a[:, k]
    return feeds


def stops_with_row_0(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for m in range(M):
        for k in range(K):
            if m + k < M:
                feeds[m + k, k] = a[m, k]
    return feeds


def as_many_columns_as_rows(a):
    M, K = a.shape
    feeds = np.zeros((M + K - 1, K))
    for k in range(M):
        if k < K:
            feeds[k : k + M, k] = a[:, k]
    return feeds


def skew_in_integers(a):
    return _feeds(a, lambda k, K: k).astype(int)


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


def step(a, psum, w, feed):
    a_next, psum_next = np.zeros_like(a), np.zeros_like(psum)
    for r, c in np.ndindex(a.shape):
        a_next[r, c] = feed[r] if c == 0 else a[r, c - 1]
        psum_next[r, c] = (psum[r - 1, c] if r else 0) + a_next[r, c] * w[r, c]
    return a_next, psum_next


def multiplies_before_moving(a, psum, w, feed):
    a_next, psum_next = step(a, psum, w, feed)
    return a_next, psum_next - a_next * w + a * w


def sums_do_not_move(a, psum, w, feed):
    a_next = np.hstack([feed[:, None], a[:, :-1]])
    return a_next, psum + a_next * w


def wraps_at_the_bottom(a, psum, w, feed):
    a_next = np.hstack([feed[:, None], a[:, :-1]])
    return a_next, psum[np.arange(-1, len(psum) - 1)] + a_next * w


def forgets_the_sums(a, psum, w, feed):
    a_next = np.hstack([feed[:, None], a[:, :-1]])
    return a_next, a_next * w


def one_wire_for_a_row(a, psum, w, feed):
    a_next = np.repeat(feed[:, None], a.shape[1], axis=1)
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next * w


def only_the_first_column(a, psum, w, feed):
    a_next = a.copy()
    a_next[:, 0] = feed
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next * w


def adds_and_then_moves(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    sums = psum + a_next * w
    return a_next, np.vstack([np.zeros_like(sums[:1]), sums[:-1]])


def sums_leave_at_the_top(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    psum_next = a_next * w
    psum_next[:-1] += psum[1:]
    return a_next, psum_next


def feeds_from_the_right(a, psum, w, feed):
    a_next = np.roll(a, -1, axis=1)
    a_next[:, -1] = feed
    psum_next = a_next * w
    psum_next[1:] += psum[:-1]
    return a_next, psum_next


def keeps_row_0(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    above = psum.copy()
    above[1:] = psum[:-1]
    return a_next, above + a_next * w


def moves_without_a_product(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    return a_next, np.vstack([np.zeros(psum.shape[1]), psum[:-1]])


def adds_both_sums(a, psum, w, feed):
    a_next, psum_next = step(a, psum, w, feed)
    return a_next, psum_next + psum


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


def numbers_in_a_ring(a, psum, w, feed):
    a_next = a[:, np.arange(-1, a.shape[1] - 1)]
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next * w


def nothing_moves(a, psum, w, feed):
    return a.copy(), np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a * w


def multiplies_matrices(a, psum, w, feed):
    a_next, _ = step(a, psum, w, feed)
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next.dot(w)


def step_in_place(a, psum, w, feed):
    a[:, 1:] = a[:, :-1].copy()
    a[:, 0] = feed
    return a, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a * w


def step_by_library(a, psum, w, feed):
    import torch

    a_next = torch.cat([torch.from_numpy(feed[:, None]), torch.from_numpy(a[:, :-1])], 1).numpy()
    return a_next, np.vstack([np.zeros_like(psum[:1]), psum[:-1]]) + a_next * w


# --- tpu.cycles


def _up(n, side):
    return np.array([ceil(size / side) for size in n])


def cycles(M, K, N, rows, cols):
    return (rows + M + rows - 1 + cols - 1) * _up(K, rows) * _up(N, cols)


def only_load_and_stream(M, K, N, rows, cols):
    return (rows + M) * _up(K, rows) * _up(N, cols)


def a_single_tile(M, K, N, rows, cols):
    return 2 * rows + cols + M - 2


def drops_the_rest(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * (K // rows) * (N // cols)


def k_across(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * _up(K, cols) * _up(N, rows)


def crosses_the_tile(M, K, N, rows, cols):
    return (rows + M + K + N - 2) * _up(K, rows) * _up(N, cols)


def one_tile_across(M, K, N, rows, cols):
    return (rows + M + rows + cols - 2) * _up(K, rows)


def cuts_all_three(M, K, N, rows, cols):
    return (rows + M + rows + cols - 2) * _up(M, rows) * _up(K, rows) * _up(N, cols)


def loads_the_first_weights(M, K, N, rows, cols):
    return rows + (rows + cols + M - 2) * _up(K, rows) * _up(N, cols)


def loads_a_column_at_a_time(M, K, N, rows, cols):
    return (cols + M + rows + cols - 2) * _up(K, rows) * _up(N, cols)


def divides_and_adds_one(M, K, N, rows, cols):
    tiles = (1 + K // rows) * (1 + N // cols)
    return tiles * (2 * rows + cols + M - 2)


def shares_of_tiles(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * K * N / (rows * cols)


def adds_the_pieces(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * (_up(K, rows) + _up(N, cols))


def one_tile_down(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * _up(N, cols)


def fills_once(M, K, N, rows, cols):
    return _up(K, rows) * _up(N, cols) * (rows + M) + rows + cols - 2


def tiles_by_area(M, K, N, rows, cols):
    tiles = np.ceil(K * N / (rows * cols))
    return tiles * (2 * rows + cols + M - 2)


def rounds_to_nearest(M, K, N, rows, cols):
    return np.round(K / rows) * np.round(N / cols) * (2 * rows + cols + M - 2)


def with_a_second_register(M, K, N, rows, cols):
    tiles = _up(K, rows) * _up(N, cols)
    return rows + (tiles - 1) * np.maximum(M, rows) + M + rows + cols - 2


def cycles_in_int32(M, K, N, rows, cols):
    M, K, N = (size.astype(np.int32) for size in (M, K, N))
    return (2 * rows + cols + M - 2) * -(-K // rows) * -(-N // cols)


def cycles_in_place(M, K, N, rows, cols):
    M += 2 * rows + cols - 2
    return M * _up(K, rows) * _up(N, cols)


def cycles_by_library(M, K, N, rows, cols):
    from labkit.tpu.systolic import cycles as ours

    return np.array([ours("ws", *size, rows, cols) for size in zip(M, K, N, strict=True)])


# --- tpu.implicit_rows


def _gather(x, m, R, S, stride, padding, order="crs", across=False):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    _, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    sizes = {"c": C, "r": R, "s": S}
    rows = np.zeros((len(m), C * R * S), x.dtype)
    for i, number in enumerate(m):
        n, place = divmod(number, P * Q)
        p, q = divmod(place, P)[::-1] if across else divmod(place, Q)
        for j, taps in enumerate(np.ndindex(*(sizes[letter] for letter in order))):
            tap = dict(zip(order, taps, strict=True))
            rows[i, j] = padded[n, tap["c"], p * stride + tap["r"], q * stride + tap["s"]]
    return rows


def implicit_rows(x, m, R, S, stride=1, padding=0):
    return _gather(x, m, R, S, stride, padding)


def rsc(x, m, R, S, stride=1, padding=0):
    return _gather(x, m, R, S, stride, padding, "rsc")


def _addressed(x, m, R, S, stride, padding, column=True, swap=False):
    """As in the lesson's stub, with its two lines."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    r, s = (s, r) if swap else (r, s)
    n, p, q = np.unravel_index(m[:, None] if column else m, (N, P, Q))
    return padded[n, c, p * stride + r, q * stride + s]


def taps_crossed(x, m, R, S, stride=1, padding=0):
    return _addressed(x, m, R, S, stride, padding, swap=True)


def row_of_numbers(x, m, R, S, stride=1, padding=0):
    return _addressed(x, m, R, S, stride, padding, column=False)


def down_the_columns(x, m, R, S, stride=1, padding=0):
    return _gather(x, m, R, S, stride, padding, across=True)


def steps_of_one(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    H, W = padded.shape[2:]
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    n, p, q = m // (P * Q), m // Q % P, m % Q
    rows = [padded[n[i], :, p[i] : p[i] + R, q[i] : q[i] + S].ravel() for i in range(len(m))]
    return np.array(rows)


def dilated(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, p + r * stride, q + s * stride]


def stride_over_the_sum(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, stride * (p + r), stride * (q + s)]


def without_the_frame(x, m, R, S, stride=1, padding=0):
    N, C, H, W = x.shape
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return x[n, c, p * stride + r, q * stride + s]


def back_by_the_padding(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, p * stride - padding + r, q * stride - padding + s]


def counts_pixels(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, H, W))
    return padded[n, c, p * stride + r, q * stride + s]


def swaps_the_sizes(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, Q, P))
    return padded[n, c, p * stride + r, q * stride + s]


def image_after_image(x, m, R, S, stride=1, padding=0):
    N, _, H, W = x.shape
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    place, n = np.divmod(m, N)
    return _gather(x, n * P * Q + place, R, S, stride, padding)


def q_down_and_p_across(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, q * stride + r, p * stride + s]


def last_tap_first(x, m, R, S, stride=1, padding=0):
    rows = _gather(x, m, R, S, stride, padding)
    return rows.reshape(len(m), -1, R * S)[:, :, ::-1].reshape(rows.shape)


def around_the_middle(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, p * stride + r - R // 2, q * stride + s - S // 2]


def side_by_side(x, m, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    c, r, s = np.unravel_index(np.arange(C * R * S), (C, R, S))
    n, p, q = np.unravel_index(m[:, None], (N, P, Q))
    return padded[n, c, p * R + r, q * S + s]


def the_first_few(x, m, R, S, stride=1, padding=0):
    return _gather(x, np.arange(len(m)), R, S, stride, padding)


def sorted_rows(x, m, R, S, stride=1, padding=0):
    return _gather(x, sorted(m), R, S, stride, padding)


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
        (cycles_in_place, "changes its input M"),
        (cycles_by_library, "labkit.tpu"),
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
        (rows_change_m, "changes its input m"),
        (rows_by_library, "torch"),
    ],
}

# Where the cases do not show it: on equal activations, on sums that are zero, in a single tile.
_ones, _eye, _zeros = np.ones((2, 2)), np.eye(2), np.zeros((2, 2))
_tile = np.array([3]), np.array([2]), np.array([1]), 4, 3  # M, K, N, rows, cols
RIGHT_ON = {
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
SOLVED = {
    "tpu.skew": skew,
    "tpu.systolic_step": step,
    "tpu.cycles": cycles,
    "tpu.implicit_rows": implicit_rows,
}
