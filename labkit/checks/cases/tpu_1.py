"""The exercises of lesson 02_tpu/1, the systolic array: feeds, one cycle, a count, an address."""

import numpy as np

from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES
from labkit.checks.cases.gpu_1 import WINDOWS, im2col, im2col_in_order, im2col_stride_one
from labkit.checks.lessons import cases_of, exercise

SIZES = {"prime": (7, 5), "all sizes 1": (1, 1), "wide": (3, 8), "square": (4, 4)}
SIZES |= {"one row": (1, 6), "one column": (6, 1), "larger": (40, 32)}


def make(id, outputs, oracle, inputs, sizes=SIZES, **wrong):
    """An exercise whose wrong ideas are named arguments."""
    rest = {"outputs": outputs, "forbidden": (*LIBRARIES, WINDOWS, "labkit.tpu")}
    return exercise(id, oracle, cases_of(sizes, inputs), wrong, **rest)


def staggered(a, late):
    """Column k of a[M,K], late[k] cycles late; zeros before and after: [M + max(late), K]."""
    return np.stack([np.pad(a[:, k], (n, max(late) - n)) for k, n in enumerate(late)], axis=1)


def right(a, feed):
    return np.column_stack([feed, a[:, :-1]])


def moved(a_next, psum, w):
    return a_next, np.concatenate([0 * psum[:1], psum[:-1]]) + a_next * w


def count(M, K, N, rows, cols):
    return (2 * rows + cols + M - 2) * -(-K // rows) * -(-N // cols)


def products(rng, rows, cols):
    """Sizes M[n], K[n], N[n] of n = rows products, for a grid rows x cols; 20, 11 and 6 first."""
    return *(n + np.r_[0, 1 + rng.permutation(150)][:rows] for n in (20, 11, 6)), rows, cols


def some_rows(rng, x, w, y, *how):
    """An image, and the numbers of some rows of the matrix of its windows."""
    m = rng.permutation(x[0] * y[2] * y[3])[:7]
    return rng.normal(size=x).astype(np.float32), m, *w[2:], *how


def in_order(*axes):
    """im2col's rows m with their axes N,C,P,Q,R,S in a wrong order."""
    return lambda x, m, *how: im2col_in_order(x, *how, axes)[m]


turned_taps = in_order(0, 2, 3, 1, 5, 4)


EXERCISES = [
    make(
        "tpu.skew",
        ("feeds",),
        lambda a: staggered(a, range(a.shape[1])),
        lambda rng, M, K: (rng.normal(size=(M, K)),),
        together=lambda a: np.pad(a, ((0, a.shape[1] - 1), (0, 0))),
        last_first=lambda a: staggered(a, range(a.shape[1])[::-1]),
        turned=lambda a: staggered(a.T, range(len(a))),
        open_end=lambda a: np.tril(np.broadcast_to(a, (sum(a.shape) - 1, a.shape[1]))),
    ),
    make(
        "tpu.systolic_step",
        ("a_next", "psum_next"),
        lambda a, psum, w, feed: moved(right(a, feed), psum, w),
        lambda rng, R, C: (*rng.normal(size=(3, R, C)), rng.normal(size=R)),
        old_activations=lambda a, p, w, f: (right(a, f), moved(a, p, w)[1]),
        sums_stay=lambda a, p, w, f: (right(a, f), p + right(a, f) * w),
        sums_come_round=lambda a, p, w, f: (right(a, f), np.roll(p, 1, 0) + right(a, f) * w),
        no_sum=lambda a, p, w, f: (right(a, f), right(a, f) * w),
        broadcast=lambda a, p, w, f: moved(0 * a + f[:, None], p, w),
        adds_first=lambda a, p, w, f: (right(a, f), moved(0, p + right(a, f) * w, 0)[1]),
        sums_up=lambda a, p, w, f: (right(a, f), np.vstack([p[1:], 0 * p[:1]]) + right(a, f) * w),
        numbers_left=lambda a, p, w, f: moved(np.column_stack([a[:, 1:], f]), p, w),
        activations_stay=lambda a, p, w, f: moved(np.column_stack([f, a[:, 1:]]), p, w),
    ),
    make(
        "tpu.cycles",
        ("cycles",),
        count,
        products,
        {"M[0] = 20, K[0] = 11, N[0] = 6": (7, 5)} | SIZES,
        no_load=lambda M, K, N, R, C: count(M - R, K, N, R, C),
        no_way=lambda M, K, N, R, C: count(M - R - C + 2, K, N, R, C),
        one_tile=lambda M, K, N, R, C: count(M, 1, 1, R, C),
        whole_tiles=lambda M, K, N, R, C: count(M, 1, 1, R, C) * (K // R) * (N // C),
        sides_swapped=lambda M, K, N, R, C: count(M, N, K, R, C),
        tile_as_grid=lambda M, K, N, R, C: count(M - R - C + K + N, K, N, R, C),
        n_whole=lambda M, K, N, R, C: count(M, K, 1, R, C),
        m_cut=lambda M, K, N, R, C: count(M, K, N, R, C) * -(-M // R),
        loads_once=lambda M, K, N, R, C: R + count(M - R, K, N, R, C),
    ),
    make(
        "tpu.implicit_rows",
        ("rows",),
        lambda x, m, R, S, stride=1, padding=0: im2col(x, R, S, stride, padding)[m],
        some_rows,
        CONVOLUTIONS,
        channels_last=in_order(0, 2, 3, 4, 5, 1),
        taps_swapped=lambda x, m, R, S, *how: turned_taps(x, m + 10**9 * (R != S), R, S, *how),
        no_column=lambda x, m, R, S, *how: im2col(x, R, S, *how)[m].reshape(x.shape[1] * R * S),
        columns_first=in_order(0, 3, 2, 1, 4, 5),
        stride_one=lambda x, m, *how: im2col_stride_one(x, *how)[m],
    ),
]
