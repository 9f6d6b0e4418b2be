"""What wrong values have in common where no slip gives exactly these: a factor, a place, a case."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from labkit.checks.compare import close, equal
from labkit.checks.exercise import Case, Exercise

Pair = tuple[np.ndarray, np.ndarray]  # what was got, and what was expected
BLOCKS = (32, 64, 128, 256)
SEVERAL = 8  # wrong values that have one sign by chance in one of 128 cases


# A factor or a distance that is the same for all values.


def factor(exercise: Exercise, pairs: list[Pair], sizes: list[dict[str, float]]) -> str | None:
    """A sentence when every value of each case is the right one times the same number."""
    known = [i for i, (_, want) in enumerate(pairs) if want.any()]  # 0 is 0 by any factor
    pairs, sizes = [pairs[i] for i in known], [sizes[i] for i in known]
    if not pairs:
        return None
    factors = [_ratio(exercise, *pair) for pair in pairs]
    if None in factors:
        return None
    if name := _named(factors, sizes):
        return f"every value is {name[0]} what it should be, where n is {name[1]}."
    if np.allclose(factors, factors[0], rtol=1e-3):
        if f"{factors[0]:.4g}" == "-1":
            return "every value has the wrong sign."
        return f"every value is {factors[0]:.4g} times what it should be."
    if max(got.size for got, _ in pairs) < 3:  # a single value is always off by some factor
        return None
    return (
        "within a case every value is off by one and the same factor: something multiplies or "
        "divides all of them."
    )


def distance(exercise: Exercise, pairs: list[Pair], sizes: list[dict[str, float]]) -> str | None:
    """A sentence when every value of each case is the right one plus the same number."""
    distances = [_difference(exercise, *pair) for pair in pairs]
    if None in distances:
        return None
    for name in sizes[0]:
        for sign, word in ((1, "large"), (-1, "small")):
            if np.allclose(distances, [sign * s[name] for s in sizes], rtol=1e-3, atol=1e-9):
                return f"every value is too {word} by {name}."
    if np.allclose(distances, distances[0], rtol=1e-3):
        word = "large" if distances[0] > 0 else "small"
        return f"every value is too {word} by {abs(distances[0]):.4g}."
    return None


def _ratio(exercise: Exercise, got: np.ndarray, want: np.ndarray) -> float | None:
    if got.shape != want.shape:
        return None
    place = np.unravel_index(abs(want).argmax(), want.shape)
    with np.errstate(all="ignore"):
        ratio = float(got[place] / want[place])
        if not np.isfinite(ratio) or ratio == 0 or not equal(got / ratio, want * 1.0, exercise):
            return None
    return ratio


def _difference(exercise: Exercise, got: np.ndarray, want: np.ndarray) -> float | None:
    if got.shape != want.shape or not want.size:
        return None
    with np.errstate(all="ignore"):
        off = got * 1.0 - want
        middle = float(np.median(off))
        if not np.isfinite(middle) or not equal(got - middle, want * 1.0, exercise):
            return None
    return middle


def _named(factors: list[float], sizes: list[dict[str, float]]) -> tuple[str, str] | None:
    """ "n times" or "1/n of", and the size n of every case that the factor is."""
    for name in sizes[0]:
        values = [s.get(name, np.nan) for s in sizes]
        if np.allclose(values, 1):
            continue
        if np.allclose(factors, values, rtol=1e-3):
            return "n times", name
        if np.allclose(np.multiply(factors, values), 1, rtol=1e-3):
            return "1/n of", name
        if np.allclose(np.multiply(factors, np.square(values)), 1, rtol=1e-3):
            return "1/n² of", name
    return None


def sizes_of(case: Case, names: list[str]) -> dict[str, float]:
    """The numbers that a case knows, by how a sentence names them."""
    found: dict[str, float] = {}
    for name, value in zip(names, case.args, strict=True):
        if isinstance(value, np.ndarray):
            found |= _array_sizes(name, value.shape)
        elif isinstance(value, int | float | np.number):
            found[f"`{name}`"] = float(value)
        elif isinstance(value, list):
            found[f"the length of `{name}`"] = len(value)
    return found


def _array_sizes(name: str, shape: tuple[int, ...]) -> dict[str, float]:
    """The lengths of an array's axes, and the products of two and three of them."""
    if len(shape) == 1:
        return {f"the length of `{name}`": shape[0]}
    found = {f"the length of `{name}` along axis {k}": n for k, n in enumerate(shape)}
    for axes in [c for r in (2, 3) for c in combinations(range(len(shape)), r)]:
        listed = ", ".join(map(str, axes))
        count = math.prod(shape[k] for k in axes)
        found[f"the number of entries of `{name}` along axes {listed}"] = count
    return found | {f"the size of `{name}`": math.prod(shape)}


# The places of the wrong values.


def places(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when the wrong values of all cases lie in places of one kind."""
    if any(got.shape != want.shape for got, want in pairs):
        return None
    wrong = [~close(*pair, exercise) for pair in pairs]
    dimensions = {mask.ndim for mask in wrong}
    if len(dimensions) > 1:
        return _kinds(pairs, wrong)
    for axis in range(dimensions.pop()):
        if sentence := _along(wrong, axis):
            return sentence
    return _kinds(pairs, wrong)


def _along(wrong: list[np.ndarray], axis: int) -> str | None:
    """The wrong values lie at an end of this axis, or behind a whole number of blocks."""
    where = f" along axis {axis}" if wrong[0].ndim > 1 else ""
    others = [tuple(set(range(mask.ndim)) - {axis}) for mask in wrong]
    hit = [mask.any(axis=rest) for mask, rest in zip(wrong, others, strict=True)]  # [n] each
    hit = [h for h in hit if h.size > 1]  # a single place has no ends
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


def _kinds(pairs: list[Pair], wrong: list[np.ndarray]) -> str | None:
    """The wrong values are of one kind: zeros, or those that should be negative."""
    pairs = [
        (got[mask], want[mask], want[~mask])  # the wrong values, and all that are right
        for (got, want), mask in zip(pairs, wrong, strict=True)
    ]
    if all((got == 0).all() for got, _, _ in pairs):
        return "every wrong value is 0: what makes it 0, or leaves it unwritten?"
    kinds: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "negative": lambda a: a < 0,
        "positive": lambda a: a > 0,
        "0": lambda a: a == 0,
    }
    for word, is_one in kinds.items():
        exactly = all(is_one(want).all() and not is_one(other).any() for _, want, other in pairs)
        if exactly and any(other.size for *_, other in pairs):
            return f"exactly those values are wrong that should be {word}."
        only = all(is_one(want).all() for _, want, _ in pairs)
        if only and sum(want.size for _, want, _ in pairs) >= SEVERAL:
            return f"only values are wrong that should be {word}."
    return None


# The cases in which it is right.


def features(case: Case, names: list[str]) -> dict[str, bool]:
    """What can be said of a case by its numbers, and by squares; the most telling first."""
    numbers = {}
    said: dict[str, bool] = {}
    for name, value in zip(names, case.args, strict=True):
        if isinstance(value, bool):
            said[f"`{name}` is True"] = value
            said[f"`{name}` is False"] = not value
        elif isinstance(value, int | np.integer):
            numbers[name] = value
            said[f"`{name}` is 0"] = value == 0
            said[f"`{name}` is 1"] = value == 1
            said[f"`{name}` is at most 1"] = value <= 1
        elif isinstance(value, np.ndarray) and value.ndim > 1:
            square = value.shape[-1] == value.shape[-2]
            said[f"the last two axes of `{name}` are equally long"] = square
    for a, b in combinations(numbers, 2):
        said[f"`{a}` equals `{b}`"] = numbers[a] == numbers[b]
    return said


def size_features(case: Case, names: list[str], kernel: bool) -> dict[str, bool]:
    """What can be said of a case by the sizes of its arrays; for a kernel, also in blocks."""
    said: dict[str, bool] = {}
    arrays = [(n, v) for n, v in zip(names, case.args, strict=True) if isinstance(v, np.ndarray)]
    for name, value in arrays:
        for axis, n in enumerate(value.shape):
            said |= _length_features(_length(name, axis, value), n, BLOCKS if kernel else ())
    return said


def _length(name: str, axis: int, value: np.ndarray) -> str:
    """ "the length of `x` along axis 0", the way a sentence names it."""
    return f"the length of `{name}`" + (f" along axis {axis}" if value.ndim > 1 else "")


def _length_features(what: str, n: int, blocks: tuple[int, ...]) -> dict[str, bool]:
    said = {f"{what} is 1": n == 1}
    for size in blocks:
        said[f"{what} is at most {size}"] = n <= size
        said[f"{what} is a multiple of {size}"] = n % size == 0
    return said | {f"{what} is even": n % 2 == 0}


def separating(right: list[dict[str, bool]], wrong: list[dict[str, bool]]) -> str | None:
    """A sentence when one feature is there in all right cases and in none of the wrong ones."""
    if len(right) < 2 or not wrong:
        return None
    for feature in right[0]:
        if all(f.get(feature) for f in right) and not any(f.get(feature) for f in wrong):
            return f"it is right in every case where {feature}, and wrong in every other."
    if len(wrong) < 2:
        return None
    for feature in wrong[0]:
        if all(f.get(feature) for f in wrong) and not any(f.get(feature) for f in right):
            return f"it is wrong in every case where {feature}, and right in every other."
    return None
