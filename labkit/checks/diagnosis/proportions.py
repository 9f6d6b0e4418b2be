"""A factor, or a distance, that is the same for all values of a case: 2 times, too large by 1."""

import math
from itertools import combinations

import numpy as np

from labkit.checks.equality import Pair, equal
from labkit.checks.items import Case, Exercise

Sizes = dict[str, float]  # the numbers that a case knows, by how a sentence names them
_MANY = 12  # errors, both signs of which are no chance
_NEAR = 1e-3  # relative difference of two factors that count as the same


def factor(exercise: Exercise, pairs: list[Pair], sizes: list[Sizes]) -> str | None:
    """A sentence when every value of each case is the right one times the same number."""
    factors = []
    sizes_of_them = []
    for pair, known in zip(pairs, sizes, strict=True):
        if pair.want.any():  # 0 is 0 by any factor
            factors.append(_ratio(exercise, pair))
            sizes_of_them.append(known)
    if not factors or None in factors:
        return None
    named = _named_factor(factors, sizes_of_them)
    if named is not None:
        return named
    if np.allclose(factors, factors[0], rtol=_NEAR):
        if f"{factors[0]:.4g}" == "-1":
            return "every value has the wrong sign."
        if f"{factors[0]:.4g}" == "1":  # long numbers that are off by a little
            return None
        return f"every value is {factors[0]:.4g} times what it should be."
    if max(pair.got.size for pair in pairs if pair.want.any()) < 3:
        return None  # a single value is always off by some factor
    return (
        "within a case every value is off by one and the same factor: something multiplies or "
        "divides all of them."
    )


def distance(exercise: Exercise, pairs: list[Pair], sizes: list[Sizes]) -> str | None:
    """A sentence when every value of each case is the right one plus the same number."""
    finite = [np.isfinite(pair.want).any() for pair in pairs]  # infinities lie nowhere
    if not all(f or equal(*pair, exercise) for f, pair in zip(finite, pairs, strict=True)):
        return None
    sizes = [known for known, f in zip(sizes, finite, strict=True) if f]
    distances = [_difference(exercise, pair) for pair, f in zip(pairs, finite, strict=True) if f]
    if not distances or None in distances:
        return None
    everywhere = set.intersection(*map(set, sizes))
    for name in (name for name in sizes[0] if name in everywhere):
        for sign, word in ((1, "large"), (-1, "small")):
            expected = [sign * known[name] for known in sizes]
            if np.allclose(distances, expected, rtol=_NEAR, atol=1e-9):
                return f"every value is too {word} by {name}."
    if np.allclose(distances, distances[0], rtol=_NEAR):
        word = "large" if distances[0] > 0 else "small"
        return f"every value is too {word} by {abs(distances[0]):.4g}."
    return None


def rounded_to_few_bits(exercise: Exercise, pairs: list[Pair]) -> str | None:
    """A sentence when the errors are those of float16, or of bfloat16, and of both signs."""
    errors = []  # of all values, in times of the largest of their case
    for got, want in pairs:
        if got.shape != want.shape or want.dtype.kind != "f" or not np.isfinite(got).all():
            return None
        if want.any():
            errors.append(((got - want) / abs(want).max()).ravel())
    if not errors:
        return None
    off = np.concatenate(errors)
    off = off[off != 0]  # many a number is exact in few bits, too
    if off.size < _MANY:
        return None
    share = (off > 0).mean()
    if not 0.2 < share < 0.8:  # a wrong term has a sign
        return None
    for name, bits in (("float32", 24), ("float16", 11), ("bfloat16", 8)):
        unit = 2.0**-bits  # the largest error of one rounding
        most = 2 if bits < 24 else 256  # in a long sum
        if abs(off).max() <= most * unit and np.median(abs(off)) >= unit / 32:
            return (
                f"the values are right but for errors of the size of {name}'s, up and down: "
                "something is computed, kept or sent with too few bits."
            )
    return None


def multiple(got: np.ndarray, want: np.ndarray, argument: object) -> float | None:
    """How many times an argument is in what is too much; 0 where nothing is, None where it is not.

    A few values may be off by the rounding of large ones.
    """
    if not isinstance(argument, np.ndarray) or not got.shape == want.shape == argument.shape:
        return None
    if want.dtype.kind != "f" or not np.isfinite(got).all() or not np.isfinite(want).all():
        return None
    error = (got - want).astype(np.float64).ravel()
    of = argument.astype(np.float64).ravel()
    if not error.any() or not of.any():
        return None if error.any() else 0.0
    times = float(error @ of / (of @ of))
    rest = abs(error - times * of).max()
    rounding = 8 * np.finfo(want.dtype).eps * max(abs(want).max(), abs(got).max())
    return times if rest <= 1e-3 * abs(error).max() + rounding < abs(error).max() / 4 else None


def _ratio(exercise: Exercise, pair: Pair) -> float | None:
    """The number that all values are multiplied by, read off at the largest one."""
    got, want = pair
    if got.shape != want.shape:
        return None
    largest = np.unravel_index(abs(want).argmax(), want.shape)
    with np.errstate(all="ignore"):
        ratio = float(got[largest] / want[largest])
        if not np.isfinite(ratio) or ratio == 0:
            return None
        return ratio if equal(got / ratio, want * 1.0, exercise) else None


def _difference(exercise: Exercise, pair: Pair) -> float | None:
    """The number that is added to all values."""
    got, want = pair
    if got.shape != want.shape or not want.size:
        return None
    with np.errstate(all="ignore"):
        away = got * 1.0 - want
        middle = float(np.median(away[np.isfinite(want)]))
        if not np.isfinite(middle):
            return None
        return middle if equal(got - middle, want * 1.0, exercise) else None


def _named_factor(factors: list[float], sizes: list[Sizes]) -> str | None:
    """A sentence when the factor is a size n of every case, or 1/n, or 1/n²."""
    for name in sizes[0]:
        n = np.array([known.get(name, np.nan) for known in sizes])
        if np.allclose(n, 1):
            continue
        if np.allclose(factors, n, rtol=_NEAR):
            return f"every value is n times what it should be, where n is {name}."
        if np.allclose(factors * n, 1, rtol=_NEAR):
            return f"every value is 1/n of what it should be, where n is {name}."
        if np.allclose(factors * n**2, 1, rtol=_NEAR):
            return f"every value is 1/n² of what it should be, where n is {name}."
    return None


def sizes_of(case: Case, names: list[str]) -> Sizes:
    """The numbers that a case knows: lengths of its arrays and lists, and its numbers."""
    found: Sizes = {}
    for name, value in zip(names, case.args, strict=False):
        if isinstance(value, np.ndarray):
            found |= _array_sizes(name, value.shape)
        elif isinstance(value, int | float | np.number):
            found[f"`{name}`"] = float(value)
        elif isinstance(value, list):
            found[f"the length of `{name}`"] = len(value)
    return found


def _array_sizes(name: str, shape: tuple[int, ...]) -> Sizes:
    """The lengths of an array's axes, and the products of two and three of them."""
    if len(shape) == 1:
        return {f"the length of `{name}`": shape[0]}
    found = {}
    for axis, length in enumerate(shape):
        found[f"the length of `{name}` along axis {axis}"] = length
    for count in (2, 3):
        for axes in combinations(range(len(shape)), count):
            listed = ", ".join(str(axis) for axis in axes)
            entries = math.prod(shape[axis] for axis in axes)
            found[f"the number of entries of `{name}` along axes {listed}"] = entries
    found[f"the size of `{name}`"] = math.prod(shape)
    return found
