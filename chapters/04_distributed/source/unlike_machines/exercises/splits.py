"""Exercise split_batch of lesson unlike_machines: its inputs, its oracle, and wrong ideas.

Dense: each wrong idea is another formula of the shares, and a branch of a case draws speeds.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import by_own_name

Split = Callable[[np.ndarray, int], np.ndarray]
# order(remainders, speeds) -> places, in the order in which they get one more.
Order = Callable[[np.ndarray, np.ndarray], np.ndarray]


# The inputs.


def speeds_of(rng: np.random.Generator, machines: int, batch: int, kind: str) -> tuple:
    """Speeds [machines] of a kind, and the batch.

    ""             all different, and so are their remainders
    "equal"        all the same
    "ties"         whole numbers, whose equal remainders belong to unlike speeds
    "close"        remainders that are equal when they are rounded to whole percent
    "fine"         as "", and computed in float32, or from whole speeds, the split is another one
    "exact"        the shares are whole numbers: nothing is left
    "one stands"   as "", and one speed is 0
    """
    if kind == "equal":
        return np.full(machines, 2.0 ** rng.integers(-2, 8)), batch
    if kind == "exact":
        return _different_parts(rng, machines, batch), batch
    if kind == "ties":
        return _with_ties(rng, machines, batch), batch
    while True:
        speeds = np.round(rng.uniform(10, 400, machines), 1)
        if kind == "one stands":
            speeds[rng.integers(machines)] = 0
        parted = [WRONG_SPLITS[name](speeds, batch) for name in PARTED_BY.get(kind, ())]
        right = by_largest_remainder(speeds, batch)
        if _told_apart(speeds, batch) and all((other != right).any() for other in parted):
            return speeds, batch


def _parts(rng: np.random.Generator, machines: int, total: int) -> np.ndarray:
    """Whole numbers from 1 on, as floats, that add up to the total."""
    cuts = 1 + rng.permutation(total - 1)[: machines - 1]
    return np.diff([0, *sorted(cuts), total]).astype(float)


def _different_parts(rng: np.random.Generator, machines: int, total: int) -> np.ndarray:
    """The same, and no two are equal."""
    while True:
        parts = _parts(rng, machines, total)
        if len(np.unique(parts)) == machines:
            return parts


def _with_ties(rng: np.random.Generator, machines: int, batch: int) -> np.ndarray:
    """Speeds for which it shows who of equal remainders is chosen.

    They add up to four batches, a power of two: shares are then exact, however they are computed.
    """
    while True:
        speeds = _parts(rng, machines, 4 * batch)
        right = by_largest_remainder(speeds, batch)
        if all((other(speeds, batch) != right).any() for other in OF_EQUAL.values()):
            return speeds


def _told_apart(speeds: np.ndarray, batch: int) -> bool:
    """Whether all speeds differ, and all remainders, by more than rounding errors."""
    remainders = np.sort(batch * speeds[speeds > 0] / speeds.sum() % 1)
    gaps = np.diff(remainders, prepend=0.0, append=1.0)
    alone = len(speeds) == 1
    return alone or (gaps.min() > 1e-4 and len(np.unique(speeds)) == len(speeds))


# The oracle.


def shares_of(speeds: np.ndarray, batch: int) -> np.ndarray:
    """In proportion to the speeds."""
    return batch * speeds / speeds.sum()


def handed_out(order: Order, shares: Split = shares_of) -> Split:
    """A split that rounds shares down, and gives what is left to the first in the order."""

    def split(speeds: np.ndarray, batch: int) -> np.ndarray:
        parts = shares(speeds, batch)
        counts = np.floor(parts).astype(int)
        left = batch - counts.sum()
        counts[order(parts - counts, speeds)[:left]] += 1
        return counts

    return split


def largest_first(remainders: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Places, the largest remainder first; of equal ones, the first."""
    return np.argsort(-remainders, kind="stable")


by_largest_remainder = handed_out(largest_first)


# Wrong ideas.


def given_to(place: Callable[..., int], more: Callable[[int], int] = lambda left: left) -> Split:
    """Shares rounded down; place(remainders, speeds) alone gets more(what is left)."""

    def split(speeds: np.ndarray, batch: int) -> np.ndarray:
        parts = shares_of(speeds, batch)
        counts = np.floor(parts).astype(int)
        counts[place(parts - counts, speeds)] += more(batch - counts.sum())
        return counts

    return split


def largest(remainders: np.ndarray, speeds: np.ndarray) -> int:
    """Where the largest remainder is."""
    return int(remainders.argmax())


def from_behind(speeds: np.ndarray, batch: int) -> np.ndarray:
    """The slice [-left:], which is everything where nothing is left."""
    shares = shares_of(speeds, batch)
    counts = np.floor(shares).astype(int)
    left = batch - counts.sum()
    counts[np.argsort(shares - counts, kind="stable")[-left:]] += 1
    return counts


def mended_at_the_end(speeds: np.ndarray, batch: int) -> np.ndarray:
    """To the nearest whole numbers; the last machine takes what is too much or too little."""
    counts = np.rint(shares_of(speeds, batch)).astype(int)
    counts[-1] += batch - counts.sum()
    return counts


def in_proportion_to_seconds(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if speeds were seconds for a photograph; who stands gets nothing."""
    inverse = np.divide(1.0, speeds, out=np.zeros_like(speeds), where=speeds > 0)
    return batch * inverse / inverse.sum()


def at_least_one(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if nobody might stand idle."""
    shares = shares_of(speeds, batch)
    counts = np.maximum(np.floor(shares).astype(int), 1)
    left = max(batch - counts.sum(), 0)
    counts[np.argsort(counts - shares, kind="stable")[:left]] += 1
    return counts


def to_who_is_done_first(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if each photograph that is left went to the machine that would be done with it first."""
    counts = np.floor(shares_of(speeds, batch)).astype(int)
    for _ in range(batch - counts.sum()):
        with np.errstate(divide="ignore"):
            counts[((counts + 1) / speeds).argmin()] += 1
    return counts


def all_of_equal(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if all remainders got one that are as large as the last one that gets one."""
    parts = shares_of(speeds, batch)
    counts = np.floor(parts).astype(int)
    left = batch - counts.sum()
    if left:
        counts[parts - counts >= np.sort(parts - counts)[-left]] += 1
    return counts


def in_order_of_remainders(speeds: np.ndarray, batch: int) -> np.ndarray:
    """The right counts, the machine with the largest remainder first."""
    parts = shares_of(speeds, batch)
    return by_largest_remainder(speeds, batch)[largest_first(parts - np.floor(parts), speeds)]


def one_too_many(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if one photograph more were left."""
    shares = shares_of(speeds, batch)
    counts = np.floor(shares).astype(int)
    left = batch - counts.sum()
    counts[np.argsort(counts - shares, kind="stable")[: left + 1]] += 1
    return counts


def half_up(speeds: np.ndarray, batch: int) -> np.ndarray:
    """As if every remainder of a half or more got one."""
    return np.floor(shares_of(speeds, batch) + 0.5).astype(int)


def in_parts_of_the_share(remainders: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """The largest remainder first, measured by the share that it belongs to."""
    parts = np.divide(remainders, speeds, out=np.zeros_like(speeds), where=speeds > 0)
    return np.argsort(-parts, kind="stable")


def in_float32(speeds: np.ndarray, batch: int) -> np.ndarray:
    """Shares of which seven digits are kept."""
    return shares_of(speeds.astype(np.float32), np.float32(batch))


def parted(remainders: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """The largest ones first, as `np.argpartition` finds them."""
    left = round(remainders.sum())
    return np.argpartition(-remainders, left)


# Largest remainders first, and another choice among equal ones.
OF_EQUAL: dict[str, Split] = {
    "last_of_equal": handed_out(lambda r, s: np.argsort(r, kind="stable")[::-1]),
    "fastest_of_equal": handed_out(lambda r, s: np.lexsort((-s, -r))),
    "slowest_of_equal": handed_out(lambda r, s: np.lexsort((s, -r))),
}
# Ideas that give another split for data of a kind.
PARTED_BY = {"close": ("rounded_remainders",), "fine": ("in_float32", "whole_speeds")}
WRONG_SPLITS: dict[str, Split] = {
    "left_over": lambda s, batch: np.floor(shares_of(s, batch)).astype(int),
    "rounded": lambda s, batch: np.rint(shares_of(s, batch)).astype(int),
    "rounded_up": lambda s, batch: np.ceil(shares_of(s, batch)).astype(int),
    "mended_at_the_end": mended_at_the_end,
    "equal_shares": lambda s, batch: by_largest_remainder(np.ones_like(s), batch),
    "to_the_first": handed_out(lambda r, s: np.arange(len(s))),
    "to_the_last": handed_out(lambda r, s: np.arange(len(s))[::-1]),
    "all_to_the_last": given_to(lambda r, s: -1),
    "at_least_one": at_least_one,
    "one_for_all_at_last": lambda s, batch: np.maximum(by_largest_remainder(s, batch), 1),
    **by_own_name(
        one_too_many, to_who_is_done_first, all_of_equal, in_order_of_remainders, half_up
    ),
    "in_parts_of_the_share": handed_out(in_parts_of_the_share),
    "in_float32": handed_out(largest_first, in_float32),
    "whole_speeds": lambda s, batch: by_largest_remainder(np.floor(s), batch),
    "to_the_fastest": handed_out(lambda r, s: np.argsort(-s, kind="stable")),
    "to_the_slowest": handed_out(lambda r, s: np.argsort(s, kind="stable")),
    "all_to_the_fastest": given_to(lambda r, s: s.argmax()),
    "all_to_the_largest": given_to(largest),
    "all_to_machine_0": given_to(lambda r, s: 0),
    "one_alone": given_to(largest, more=lambda left: 1),
    "smallest_remainder": handed_out(lambda r, s: np.argsort(r, kind="stable")),
    "from_behind": from_behind,
    **OF_EQUAL,
    "unstable": handed_out(lambda r, s: np.argsort(-r)),
    "parted": handed_out(parted),
    "rounded_remainders": handed_out(lambda r, s: np.argsort(-np.round(r, 2), kind="stable")),
    "seconds": handed_out(largest_first, in_proportion_to_seconds),
}
