"""What the places of the wrong values have in common: one end of an axis, or one kind of value."""

from collections.abc import Callable

import numpy as np

from labkit.checks.array_changes import axis_text
from labkit.checks.equality import Pair, close
from labkit.checks.exercise import Exercise

BLOCKS = (32, 64, 128, 256)  # threads of a block, as kernels are launched
_SEVERAL = 8  # wrong values that have one sign by chance in one of 128 cases


def wrong_places(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when the wrong values of all cases lie in places of one kind."""
    if any(pair.got.shape != pair.want.shape for pair in pairs):
        return None
    wrong = [~close(pair.got, pair.want, exercise) for pair in pairs]
    dimensions = wrong[0].ndim
    if all(mask.ndim == dimensions for mask in wrong):
        for axis in range(dimensions):
            sentence = _along(wrong, axis)
            if sentence is not None:
                return sentence
    return _of_one_kind(pairs, wrong)


def _along(wrong: list[np.ndarray], axis: int) -> str | None:
    """The wrong values lie at an end of this axis, or behind a whole number of blocks."""
    where = axis_text(axis, wrong[0].ndim)
    hit = [_hit(mask, axis) for mask in wrong if mask.shape[axis] > 1]  # one place has no ends
    if not hit:
        return None
    if all(h[-1] and not h[:-1].any() for h in hit):
        return f"only the last place{where} is wrong: look at where a loop or a slice ends."
    if all(h[0] and not h[1:].any() for h in hit):
        return f"only the first place{where} is wrong: look at where a loop or a slice begins."
    if all(h.size > 2 and (h[0] or h[-1]) and not h[1:-1].any() for h in hit):
        return f"only the ends{where} are wrong: look at what happens at the border."
    if all(h.size > 2 and h[1:].all() and not h[0] for h in hit):
        return f"only the first place{where} is right: what changes from there to the next?"
    if all(h.size > 3 and h[1::2].all() and not h[::2].any() for h in hit):
        return f"every other place{where} is right: a step of 1 and one of 2 are confused."
    for size in reversed(BLOCKS):
        if all(h.size > size and h[size:].all() and not h[:size].any() for h in hit):
            return f"the first {size} places{where} are right, and what lies behind them is not."
    return None


def _hit(mask: np.ndarray, axis: int) -> np.ndarray:
    """For each place along an axis, whether any value there is wrong: truth values [n]."""
    others = tuple(other for other in range(mask.ndim) if other != axis)
    return mask.any(axis=others)


def _of_one_kind(pairs: list[Pair], wrong: list[np.ndarray]) -> str | None:
    """The wrong values are of one kind: zeros, or those that should be negative."""
    if all((pair.got[mask] == 0).all() for pair, mask in zip(pairs, wrong, strict=True)):
        return "every wrong value is 0: what makes it 0, or leaves it unwritten?"
    should_be = [pair.want[mask] for pair, mask in zip(pairs, wrong, strict=True)]
    right = [pair.want[~mask] for pair, mask in zip(pairs, wrong, strict=True)]
    several = sum(values.size for values in should_be) >= _SEVERAL
    any_right = any(values.size for values in right)
    kinds: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "negative": lambda a: a < 0,
        "positive": lambda a: a > 0,
        "0": lambda a: a == 0,
    }
    for word, is_one in kinds.items():
        if not all(is_one(values).all() for values in should_be):
            continue
        if any_right and not any(is_one(values).any() for values in right):
            return f"exactly those values are wrong that should be {word}."
        if several:
            return f"only values are wrong that should be {word}."
    return None
