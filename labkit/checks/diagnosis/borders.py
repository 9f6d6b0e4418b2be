"""Wrong values behind a border: of a limit that is missing, or of another array's length."""

from collections.abc import Callable

import numpy as np

from labkit.checks.diagnosis.array_changes import axis_text
from labkit.checks.diagnosis.proportions import Sizes
from labkit.checks.equality import Pair, close
from labkit.checks.items import Exercise

ENOUGH = 3  # values that go beyond a limit: fewer do by chance
MOST = 0.9  # of the values behind a length: a few are right by chance, such as zeros


def missing_limit(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when all wrong values should stop at the largest or the smallest, and do not."""
    above, below = [], []  # what they should have stopped at, of all cases
    for got, want in pairs:
        if got.shape != want.shape or not want.size:
            return None
        wrong = ~close(got, want, exercise)
        high = wrong & (want == want.max()) & (got > want)
        low = wrong & (want == want.min()) & (got < want)
        if (wrong & ~high & ~low).any():
            return None
        above.append(want[high])
        below.append(want[low])
    if sum(part.size for part in (*above, *below)) < ENOUGH or not _share(above, below):
        return None
    parts = [
        _beyond(np.concatenate(above), "above"),
        _beyond(np.concatenate(below), "below"),
    ]
    sides = " or ".join(filter(None, parts))
    return f"the wrong values are {sides}, where they should stop: a limit is missing."


def cut_at(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when all wrong values are one number, beyond which no value of any case goes.

    pairs   those of all cases
    """
    wrong = [~close(got, want, exercise) for got, want in pairs]
    given = np.concatenate([got[mask] for (got, _), mask in zip(pairs, wrong, strict=True)])
    wanted = np.concatenate([want[mask] for (_, want), mask in zip(pairs, wrong, strict=True)])
    everything = np.concatenate([got.ravel() for got, _ in pairs])
    if given.size < ENOUGH or (given != given[0]).any() or not np.isfinite(given[0]):
        return None
    limit = given[0]
    if not limit or (wanted == wanted[0]).all():
        return None
    for word, beyond, extreme in (
        ("above", (wanted > limit).all(), everything.max()),
        ("below", (wanted < limit).all(), everything.min()),
    ):
        if beyond and extreme == limit:
            return (
                f"no value goes {word} {limit:.6g}, though some should: what limits it, or begins "
                "there?"
            )
    return None


def _share(above: list[np.ndarray], below: list[np.ndarray]) -> bool:
    """Whether two wrong values of a case should stop at the same number: so it is a limit."""
    return any(part.size > 1 for part in (*above, *below))


def _beyond(limits: np.ndarray, word: str) -> str:
    if not limits.size:
        return ""
    if (limits == limits[0]).all():
        return f"{word} {limits[0]:.6g}"
    return f"{word} the {'largest' if word == 'above' else 'smallest'} of the others"


def another_length(
    exercise: Exercise,
    pairs: list[Pair],
    sizes: list[Sizes],
) -> str | None:
    """A sentence when a result is right up to the length of something, and wrong behind it.

    It takes two cases that end at two lengths: one alone may end there by chance.

    sizes   of each case, the lengths that it knows
    """
    if any(got.shape != want.shape for got, want in pairs):
        return None
    wrong = [~close(got, want, exercise) for got, want in pairs]
    dimensions = wrong[0].ndim
    if any(mask.ndim != dimensions for mask in wrong):
        return None
    lines: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = [("", np.ravel)]
    if dimensions > 1:
        lines += [(axis_text(axis, dimensions), _along(axis)) for axis in range(dimensions)]
    for where, line in lines:
        rows = [line(mask) for mask in wrong]
        for name in sizes[0]:
            lengths = [known.get(name) for known in sizes]
            ends = {length for row, length in zip(rows, lengths, strict=True) if row.any()}
            if len(ends) > 1 and all(map(_stops_at, rows, lengths)):
                return (
                    f"the result is right up to {name}{', counted' if where else ''}{where}, and "
                    "wrong behind it: whose length does the guard, or the loop, compare with?"
                )
    return None


def _along(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    def whole_places(mask: np.ndarray) -> np.ndarray:
        others = tuple(other for other in range(mask.ndim) if other != axis)
        return mask.mean(axis=others)

    return whole_places


def _stops_at(row: np.ndarray, length: float | None) -> bool:
    """Whether exactly the places from `length` on are wrong, in a row of wrong values' shares."""
    if length is None or length != int(length) or length < 0:
        return False
    before, behind = row[: int(length)], row[int(length) :]
    return not before.any() and bool(behind.all()) and (not len(behind) or behind.mean() >= MOST)
