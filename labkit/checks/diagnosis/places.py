"""What the places of the wrong values have in common: one end of an axis, or one kind of value."""

from collections.abc import Callable

import numpy as np

from labkit.checks.diagnosis.array_changes import axis_text
from labkit.checks.equality import Pair, close
from labkit.checks.items import Exercise

BLOCKS = (32, 64, 128, 256)  # threads of a block, as kernels are launched
SIDES = (8, 16, *BLOCKS)  # of a block along one axis
_BY_CHANCE = 1 / 128  # how likely a pattern may be that means nothing
_MANY = 20  # values among which exactly the wrong ones are of one kind, and not by chance


def wrong_places(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when the wrong values of all cases lie in places of one kind."""
    wrong = _wrong(exercise, pairs)
    if wrong is None:
        return None
    dimensions = wrong[0].ndim
    if all(mask.ndim == dimensions for mask in wrong):
        for axis in range(dimensions):
            sentence = _along(wrong, axis)
            if sentence is not None:
                return sentence
    return None


def wrong_kind(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when the wrong values of all cases are, or should be, of one kind."""
    wrong = _wrong(exercise, pairs)
    return None if wrong is None else _of_one_kind(pairs, wrong)


def where_argument(
    exercise: Exercise, name: str, given: list[tuple], pairs: list[Pair]
) -> str | None:
    """A sentence when values are wrong, or not finite, exactly where an argument is of one kind.

    given   the argument of each case, in a tuple, which may be empty
    """
    values = [argument[0] if argument else None for argument in given]
    for value, pair in zip(values, pairs, strict=True):
        if not isinstance(value, np.ndarray) or value.shape != pair.want.shape:
            return None
    if sum(pair.want.size for pair in pairs) < _MANY or values[0].dtype.kind not in "iuf":
        return None
    infinite = [~np.isfinite(pair.got) & np.isfinite(pair.want) for pair in pairs]
    masks, what = infinite, "not finite"
    if not any(mask.any() for mask in infinite):
        masks, what = [~close(pair.got, pair.want, exercise) for pair in pairs], "wrong"
    kinds = {
        "0": _is_zero,
        "negative": _is_negative,
        "positive": _is_positive,
        "NaN": np.isnan,
    }
    for word, is_one in kinds.items():
        if all(is_one(v).all() for v in values):  # so no place parts it from all others
            continue
        if all(np.array_equal(is_one(v), mask) for v, mask in zip(values, masks, strict=True)):
            return f"exactly those values are {what} for which `{name}` is {word}."
    return None


def _wrong(exercise: Exercise, pairs: list[Pair]) -> list[np.ndarray] | None:
    """Truth values for each case; None where a shape is wrong."""
    if any(pair.got.shape != pair.want.shape for pair in pairs):
        return None
    return [~close(pair.got, pair.want, exercise) for pair in pairs]


def _along(wrong: list[np.ndarray], axis: int) -> str | None:
    """The wrong values lie at an end of this axis, or behind a whole number of blocks."""
    where = axis_text(axis, wrong[0].ndim)
    hits = [_hit(mask, axis) for mask in wrong if mask.shape[axis] > 1]  # one place has no ends
    if len({len(hit) for hit in hits}) < 2:  # an axis that is always as long may be of parts
        return _behind_a_block(hits, where)
    for is_so, sentence in _PATTERNS:
        if all(is_so(hit) for hit in hits):
            return sentence.format(where=where)
    for size in reversed(SIDES):
        if all(_only_behind(hit, size) for hit in hits):
            return f"the first {size} places{where} are right, and what lies behind them is not."
    return None


def _behind_a_block(hits: list[np.ndarray], where: str) -> str | None:
    """The same in cases of one length: behind a whole number of warps."""
    border = int(hits[0].argmax()) if hits else 0
    if border and border % BLOCKS[0] == 0 and all(_only_behind(hit, border) for hit in hits):
        return f"the first {border} places{where} are right, and what lies behind them is not."
    return None


def _hit(mask: np.ndarray, axis: int) -> np.ndarray:
    """For each place along an axis, whether any value there is wrong: truth values [n]."""
    others = tuple(other for other in range(mask.ndim) if other != axis)
    return mask.any(axis=others)


# Each pattern is asked of the places [n] of one case, n > 1.


def _only_last(hit: np.ndarray) -> bool:
    return hit[-1] and not hit[:-1].any()


def _only_first(hit: np.ndarray) -> bool:
    return hit[0] and not hit[1:].any()


def _only_ends(hit: np.ndarray) -> bool:
    at_an_end = hit[0] or hit[-1]
    return hit.size > 2 and at_an_end and not hit[1:-1].any()


def _all_but_first(hit: np.ndarray) -> bool:
    return hit.size > 2 and hit[1:].all() and not hit[0]


def _every_other(hit: np.ndarray) -> bool:
    return hit.size > 3 and hit[1::2].all() and not hit[::2].any()


def _only_behind(hit: np.ndarray, size: int) -> bool:
    """The first `size` places are right, and all behind them are wrong."""
    return hit.size > size and hit[size:].all() and not hit[:size].any()


_PATTERNS = (
    (_only_last, "only the last place{where} is wrong: look at where a loop or a slice ends."),
    (_only_first, "only the first place{where} is wrong: look at where a loop or a slice begins."),
    (_only_ends, "only the ends{where} are wrong: look at what happens at the border."),
    (_all_but_first, "only the first place{where} is right: what changes from there to the next?"),
    (_every_other, "every other place{where} is right: a step of 1 and one of 2 are confused."),
)


def _of_one_kind(pairs: list[Pair], wrong: list[np.ndarray]) -> str | None:
    """The wrong values are of one kind: zeros, or those that should be negative."""
    given = []  # of each case: the values that are wrong,
    should_be = []  # what they should be,
    right = []  # and the values that are right
    for pair, mask in zip(pairs, wrong, strict=True):
        given.append(pair.got[mask])
        should_be.append(pair.want[mask])
        right.append(pair.want[~mask])
    if pairs[0].want.dtype.kind == "b":  # a wrong one is the other one
        return None
    if len(given) > 1 and _all_are(_is_zero, given):
        return "every wrong value is 0: what makes it 0, or leaves it unwritten?"
    any_right = any(values.size for values in right)
    kinds = {
        "negative": _is_negative,
        "positive": _is_positive,
        "0": _is_zero,
    }
    for word, is_one in kinds.items():
        if not _all_are(is_one, should_be):
            continue
        if word == "positive" and pairs[0].want.dtype.kind in "iu":  # as places and counts are
            continue
        if any_right and not any(is_one(values).any() for values in right):
            return f"exactly those values are wrong that should be {word}."
        if _chance(is_one, should_be, right) < _BY_CHANCE:
            return f"only values are wrong that should be {word}."
    return None


def _chance(
    is_one: Callable[[np.ndarray], np.ndarray], wrong: list[np.ndarray], right: list[np.ndarray]
) -> float:
    """How likely so many values are all of this kind, if the wrong ones are drawn from all."""
    drawn = sum(values.size for values in wrong)
    among = np.concatenate([values.ravel() for values in (*wrong, *right)])
    return float(is_one(among).mean() ** drawn)


def _all_are(is_one: Callable[[np.ndarray], np.ndarray], cases: list[np.ndarray]) -> bool:
    return all(is_one(values).all() for values in cases)


def _is_negative(values: np.ndarray) -> np.ndarray:
    return values < 0


def _is_positive(values: np.ndarray) -> np.ndarray:
    return values > 0


def _is_zero(values: np.ndarray) -> np.ndarray:
    return values == 0
