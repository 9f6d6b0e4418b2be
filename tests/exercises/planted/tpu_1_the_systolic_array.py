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
        (step_in_place, "changes its input a"),
        (step_by_library, "torch"),
    ],
    "tpu.cycles": [
        (only_load_and_stream, "The way through the array is missing"),
        (a_single_tile, "This is one tile"),
        (drops_the_rest, "Only full tiles are counted"),
        (k_across, "K and N are swapped"),
        (crosses_the_tile, "K + N stands where"),
        (one_tile_across, "N is not cut"),
        (cuts_all_three, "M is cut as well"),
        (loads_the_first_weights, "The weights are loaded once only"),
        (cycles_in_place, "changes its input M"),
        (cycles_by_library, "labkit.tpu"),
    ],
    "tpu.implicit_rows": [
        (rsc, "in the order R, S, C"),
        (row_of_numbers, "is still a row here"),
        (taps_crossed, "The taps r and s are swapped"),
        (down_the_columns, "run down the columns first"),
        (steps_of_one, "The windows move by one pixel"),
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
    cuts_all_three: _tile,
    adds_and_then_moves: (_eye, _zeros, _zeros, _ones[0]),
    sums_leave_at_the_top: (_eye, _zeros, _eye, _ones[0]),
    row_of_numbers: (np.arange(9.0).reshape(1, 1, 3, 3), np.array(2), 1, 2),
    to_the_end: (np.arange(3.0)[:, None],),
}
SOLVED = {
    "tpu.skew": skew,
    "tpu.systolic_step": step,
    "tpu.cycles": cycles,
    "tpu.implicit_rows": implicit_rows,
}
