"""Wrong ideas of tpu.skew: a[M,K] -> feeds[M+K-1,K].

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np


def together(a):
    """All columns begin in cycle 0."""
    below = a.shape[1] - 1
    return np.pad(a, ((0, below), (0, 0)))


def delayed(a, delays):
    """Column k begins in cycle delays[k]: [M + max(delays), K]."""
    longest = max(delays)
    columns = [np.pad(a[:, k], (delay, longest - delay)) for k, delay in enumerate(delays)]
    return np.stack(columns, axis=1)


def last_first(a):
    """The last column begins in cycle 0, and the first one K - 1 cycles later."""
    K = a.shape[1]
    return delayed(a, range(K)[::-1])


def one_cycle_late(a):
    """Column k begins in cycle k + 1."""
    K = a.shape[1]
    return delayed(a, range(1, K + 1))


def twice_as_late(a):
    """Column k begins in cycle 2 k, and feeds is so much longer."""
    K = a.shape[1]
    return delayed(a, range(0, 2 * K, 2))


def rolled(a, cycles: int):
    """Column k moves down by `cycles` k places; what leaves feeds below comes in above."""
    columns = [np.roll(column, cycles * k) for k, column in enumerate(together(a).T)]
    return np.stack(columns, axis=1)


def filled(fill: Callable) -> Callable:
    """The lesson's loop: `fill(feeds, a, k)` for each k."""

    def wrong(a):
        M, K = a.shape
        feeds = np.zeros((M + K - 1, K), a.dtype)
        for k in range(K):
            fill(feeds, a, k)
        return feeds

    return wrong


def row_for_column(feeds, a, k):
    """Row k of a stands where its column k belongs."""
    end = k + len(a)
    feeds[k:end, k] = a[k]


def whole_rows(feeds, a, k):
    """The column of feeds is forgotten, so that all of them are set."""
    end = k + len(a)
    feeds[k:end] = a[:, k]


def cut_off(feeds, a, k):
    """Nothing comes after cycle M - 1."""
    M = len(a)
    rest = max(0, M - k)
    feeds[k:M, k] = a[:rest, k]


def too_few_columns(feeds, a, k):
    """k counts the rows of a."""
    M = len(a)
    if k < M:
        end = k + M
        feeds[k:end, k] = a[:, k]


def open_end(feeds, a, k):
    """The slice has no end, so that M numbers are to fill more than M places."""
    feeds[k:, k] = a[:, k]
