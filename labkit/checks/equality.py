"""What counts as an array of numbers, and when two of them are equal.

Only exact types are looked at: plain NumPy arrays and scalars, and Python numbers. An object with
an `__eq__` or an `__array__` of its own is refused before either is called. NumPy's functions are
bound here at import, so that rebinding `np.isfinite` changes nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy import array, errstate, float32, int64, isfinite, isnan, trunc

from labkit.checks.items import Exercise

KINDS = {  # of a dtype -> the word for it
    "b": "bool",
    "i": "int",
    "u": "int",
    "f": "float",
    "c": "complex",
}
FLOAT32 = 1e-5  # where results follow the inputs' dtype, and that is float32
_SCALARS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})


class Pair(NamedTuple):
    """One output of one case: what the learner's function gave, and what was expected."""

    got: np.ndarray
    want: np.ndarray


def as_array(value: object) -> np.ndarray | None:
    """A fresh array; None where `value` does not count as an array of numbers."""
    kind = type(value)
    if kind is not np.ndarray and kind not in _SCALARS:
        return None
    result = array(value)
    if result.dtype.kind not in KINDS:
        return None
    return result


def close(got: np.ndarray, expected: np.ndarray, exercise: Exercise) -> np.ndarray:
    """Element by element: |got - expected| <= atol + rtol * |expected|; truth values.

    Infinities and NaN must be the same ones; where integers or truth values are expected, the
    numbers must be exactly these.
    """
    if expected.dtype.kind in "biu":
        return _exactly(got, expected)
    with errstate(all="ignore"):
        rtol, atol = exercise.rtol, exercise.atol
        if exercise.dtype == "same" and expected.dtype == float32:
            rtol, atol = max(rtol, FLOAT32), max(atol, FLOAT32)
        tolerance = atol + rtol * abs(expected)
        near = abs(got - expected) <= tolerance
        near = near & isfinite(expected)
        both_nan = isnan(got) & isnan(expected)
        return near | (got == expected) | both_nan


def _exactly(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where the integers are the expected ones. A float is compared as the integer that it is."""
    if got.dtype.kind != "f":
        return got == expected
    with errstate(all="ignore"):
        whole = got == trunc(got)
        return whole & (got.astype(int64) == expected)


def equal(got: np.ndarray | None, expected: np.ndarray, exercise: Exercise) -> bool:
    """Whether there is an array, of the expected shape, all of whose elements are close."""
    if got is None or got.shape != expected.shape:
        return False
    elements = close(got, expected, exercise)
    return bool(elements.all())


def first_index(where: np.ndarray) -> tuple[int, ...]:
    """The first index where an array of truth values is true; () where it is a single one."""
    indices = np.argwhere(where)  # [count, dimensions]
    return tuple(indices[0].tolist())
