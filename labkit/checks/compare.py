"""Compares one returned value with the expected one: type, shape, dtype, NaN, values.

Only exact types are looked at: plain NumPy arrays and scalars, and Python numbers. An object with
an `__eq__` or an `__array__` of its own is refused before either is called. NumPy's functions are
bound here at import, so that rebinding `np.isfinite` changes nothing.
"""

from dataclasses import dataclass
from types import CoroutineType, GeneratorType

import numpy as np
from numpy import array, errstate, int64, isfinite, isnan, trunc

from labkit.checks.exercise import Exercise
from labkit.checks.phrasing import are, index_text, number_pair, shape_text
from labkit.checks.render import Code

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
_SCALARS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
_NUMBERS = {"bool": "truth values", "int": "integers"}
_NUMBERS |= {"float": "floating-point numbers", "complex": "complex numbers"}
_CURES = {
    list: "`np.array({name})` makes an array of it.",
    tuple: "Return the one value alone.",
    GeneratorType: "A function with `yield` hands out a generator: use `return`.",
    CoroutineType: "A function defined with `async def` hands out a coroutine: use `def`.",
}
_NAN_FROM = (
    "NaN comes from 0/0, from inf - inf, from the root or logarithm of a negative number, "
    "or from `np.empty` read before it is filled."
)
_INFINITY_FROM = (
    "Infinity comes from a division by 0, from log(0), or from a number that is too large for its "
    "type, such as exp of a large one."
)


@dataclass(frozen=True)
class Problem:
    """What is wrong, in sentences.

    kind    "stub" (nothing is there yet); "raised", "shape", "nan", "value" (a misconception may
            explain it); "cost" (right, but too dear); "refused" by an adapter; "form" for the rest
    output  the position of the output it is about, where it is about one
    """

    kind: str
    headline: str
    details: tuple[str | Code, ...] = ()
    output: int | None = None


def as_array(value: object) -> np.ndarray | None:
    """A fresh array; None where `value` does not count as an array of numbers."""
    if type(value) is not np.ndarray and type(value) not in _SCALARS:
        return None
    result = array(value)
    return result if result.dtype.kind in KINDS else None


def close(got: np.ndarray, expected: np.ndarray, exercise: Exercise) -> np.ndarray:
    """Element by element: |got - expected| <= atol + rtol * |expected|.

    Infinities and NaN must be the same ones; where integers or truth values are expected, the
    numbers must be exactly these.
    """
    if expected.dtype.kind in "biu":
        return _exactly(got, expected)
    with errstate(all="ignore"):
        near = abs(got - expected) <= exercise.atol + exercise.rtol * abs(expected)
        return (near & isfinite(expected)) | (got == expected) | (isnan(got) & isnan(expected))


def _exactly(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where the integers are the expected ones. A float is compared as the integer that it is."""
    if got.dtype.kind != "f":
        return got == expected
    with errstate(all="ignore"):
        return (got == trunc(got)) & (got.astype(int64) == expected)


def equal(got: np.ndarray | None, expected: np.ndarray, exercise: Exercise) -> bool:
    if got is None or got.shape != expected.shape:
        return False
    return bool(close(got, expected, exercise).all())


def problem_with(
    value: object, expected: np.ndarray, name: str, exercise: Exercise
) -> Problem | None:
    """The first thing that is wrong with a returned value, or None."""
    got = as_array(value)
    if got is None:
        return _wrong_type(value, "a NumPy array" if expected.ndim else "a number", name)
    if got.shape != expected.shape:
        return _wrong_shape(got, expected, name)
    right = close(got, expected, exercise)
    free = exercise.dtype is None and _numbers(got) and _numbers(expected)
    if free and (right.all() or got.dtype.kind == "f"):
        # A whole number is one, whether it is kept as an int or as a float.
        return _not_finite(got, expected, name) or _wrong_values(got, expected, right, name)
    return (
        _wrong_dtype(got.dtype, exercise.dtype or KINDS[expected.dtype.kind], name)
        or _not_finite(got, expected, name)
        or _wrong_values(got, expected, right, name)
    )


def _numbers(values: np.ndarray) -> bool:
    return KINDS[values.dtype.kind] in ("int", "float")


def _wrong_type(got: object, wanted: str, name: str) -> Problem:
    kind = type(got)
    full = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    cure = ()
    if got is None:
        headline = f"`{name}` is None: it has not been computed yet."
    elif kind is np.ndarray:
        headline = f"`{name}` is an array of dtype {got.dtype}; it should hold plain numbers."
        cure = ("It often comes from rows of different lengths, or from None among the numbers.",)
    elif issubclass(kind, np.ndarray):
        headline = f"`{name}` is a {full}; it should be a plain NumPy array."
        cure = (f"Return a plain array: `np.asarray({name})` makes one of it.",)
    elif full in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        headline = f"`{name}` is a torch tensor; it should be {wanted}."
        cure = f"This exercise is about NumPy: return `{name}.detach().numpy()`, or stay in NumPy."
        cure = (cure,)
    elif kind in _CURES:
        headline = f"`{name}` is a {kind.__name__}; it should be {wanted}."
        cure = (_CURES[kind].format(name=name),)
    else:
        headline = f"`{name}` is of type {full}; it should be {wanted}."
    return Problem("form", headline, cure)


def _wrong_shape(got: np.ndarray, expected: np.ndarray, name: str) -> Problem:
    have, want = shape_text(got.shape), shape_text(expected.shape)
    details = ()
    if got.ndim > 1 and got.shape == expected.shape[::-1]:
        details = ("That is the shape of the transpose.",)
    elif _squeezed(got.shape) == _squeezed(expected.shape):
        details = ("They differ in axes of length 1: keep each axis, also where it is 1 long.",)
    elif got.size == expected.size:
        details = ("The number of elements is right; they are arranged differently.",)
    elif abs(got.ndim - expected.ndim) == 1:
        details = (f"It has one axis too {'many' if got.ndim > expected.ndim else 'few'}.",)
    return Problem("shape", f"`{name}` has the wrong shape: {have}; it should be {want}.", details)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _wrong_dtype(dtype: np.dtype, want: str, name: str) -> Problem | None:
    have = KINDS[dtype.kind]
    if want in ("any", have, dtype.name):
        return None
    if want not in _NUMBERS:
        return Problem("form", f"`{name}` has dtype {dtype}; it should be {want}.")
    headline = f"`{name}` holds {_NUMBERS[have]} ({dtype}); it should hold {_NUMBERS[want]}."
    cure = "Integers cut off what is behind the point; `np.zeros(shape)` is float64."
    return Problem("form", headline, (cure,) if (have, want) == ("int", "float") else ())


def _not_finite(got: np.ndarray, expected: np.ndarray, name: str) -> Problem | None:
    bad = ~isfinite(got) & isfinite(expected)
    if not bad.any():
        return None
    index, wrong = first(bad), int(bad.sum())
    nan = isnan(got[index])
    infinite = "infinite" if got[index] > 0 else "infinite, and negative"
    headline = f"{index_text(name, index)} is {'NaN (not a number)' if nan else infinite}."
    count = f"{wrong} of {got.size} element{'s' * (got.size != 1)} {are(wrong)} not finite."
    return Problem("nan", headline, (count, _NAN_FROM if nan else _INFINITY_FROM))


def _wrong_values(
    got: np.ndarray, expected: np.ndarray, right: np.ndarray, name: str
) -> Problem | None:
    if right.all():
        return None
    index, wrong = first(~right), int((~right).sum())
    have, want = number_pair(got[index], expected[index])
    details = (f"{wrong} of {got.size} elements {are(wrong)} wrong.",) if got.size > 1 else ()
    return Problem("value", f"{index_text(name, index)} is {have}; it should be {want}.", details)


def first(where: np.ndarray) -> tuple[int, ...]:
    """The first index where an array of truth values is true; () where it is a single one."""
    return tuple(np.argwhere(where)[0].tolist())
