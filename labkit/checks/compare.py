"""Compares one returned value with the expected one: type, shape, dtype, NaN, values.

Only exact types are looked at: plain NumPy arrays and scalars, and Python numbers. An object with
an `__eq__` or an `__array__` of its own is refused before either is called. NumPy's functions are
bound here at import, so that rebinding `np.allclose` changes nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy import abs as _abs
from numpy import argwhere as _argwhere
from numpy import array as _array
from numpy import errstate, isfinite, isnan

from labkit.checks.texts import are, index_text, number_pair, shape_text

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
_SCALARS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
_NAMES = {
    "bool": "truth values",
    "int": "integers",
    "float": "floating-point numbers",
    "complex": "complex numbers",
}
_NAN_FROM = (
    "NaN comes from 0/0, from inf - inf, from the root or logarithm of a negative number, "
    "or from `np.empty` read before it is filled."
)
_INFINITY_FROM = "Infinity comes from a division by 0, from log(0), or from exp of a large number."


@dataclass(frozen=True)
class Problem:
    """What is wrong: the headline, more sentences, and which output (its position) it is about."""

    headline: str
    details: tuple[str, ...] = ()
    output: int | None = None
    kind: str = "value"


def as_array(value: object) -> np.ndarray | None:
    """A fresh array of numbers, or None where `value` is nothing that counts as an array of
    numbers.
    """
    if type(value) is not np.ndarray and type(value) not in _SCALARS:
        return None
    try:
        result = _array(value)
    except (OverflowError, ValueError):
        return None
    return result if result.dtype.kind in KINDS else None


def close(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Element by element; infinities and NaN must be the same ones; integers and truth values are
    exact.
    """
    if got.dtype.kind in "biu" and expected.dtype.kind in "biu":
        return got == expected
    with errstate(all="ignore"):
        near = _abs(got - expected) <= atol + rtol * _abs(expected)
        return (near & isfinite(expected)) | (got == expected) | (isnan(got) & isnan(expected))


def problem_with(
    got: object, expected: np.ndarray, name: str, dtype: str | None, rtol: float, atol: float
) -> Problem | None:
    """The first thing that is wrong with `got`, or None."""
    array = as_array(got)
    if array is None:
        return _wrong_type(got, expected, name)
    if array.shape != expected.shape:
        return _wrong_shape(array, expected, name)
    if (problem := _wrong_dtype(array, expected, name, dtype)) is not None:
        return problem
    if (problem := _not_finite(array, expected, name)) is not None:
        return problem
    right = close(array, expected, rtol, atol)
    return None if right.all() else _wrong_values(array, expected, right, name)


def _wrong_type(got: object, expected: np.ndarray, name: str) -> Problem:
    kind = type(got)
    wanted = "a NumPy array" if expected.ndim else "a number"
    full = f"{kind.__module__}.{kind.__qualname__}"
    if kind is np.ndarray:
        what = f"`{name}` is an array of dtype {got.dtype}; it should hold plain numbers."
        cure = "It often comes from rows of different lengths, or from None among the numbers."
        return Problem(what, (cure,), kind="dtype")
    if got is None:
        return Problem(f"`{name}` is None: it has not been computed yet.", kind="none")
    if full.startswith("torch.") and kind.__name__ in ("Tensor", "Parameter"):
        cure = f"This exercise is about NumPy: return `{name}.detach().numpy()`, or stay in NumPy."
        return Problem(f"`{name}` is a torch tensor; it should be {wanted}.", (cure,), kind="type")
    if kind in (list, tuple):
        cure = (
            f"`np.array({name})` makes an array of it."
            if kind is list
            else "Return the one value alone."
        )
        return Problem(
            f"`{name}` is a {kind.__name__}; it should be {wanted}.", (cure,), kind="type"
        )
    if kind.__name__ in ("generator", "coroutine"):
        cure = {
            "generator": "A function with `yield` hands out a generator: use `return`.",
            "coroutine": "A function defined with `async def` hands out a coroutine: use `def`.",
        }[kind.__name__]
        return Problem(
            f"`{name}` is a {kind.__name__}; it should be {wanted}.", (cure,), kind="type"
        )
    if issubclass(kind, np.ndarray):
        cure = f"Return a plain array: `np.asarray({name})` makes one of it."
        return Problem(
            f"`{name}` is a {full}; it should be a plain NumPy array.", (cure,), kind="type"
        )
    shown = kind.__name__ if kind.__module__ == "builtins" else full
    return Problem(f"`{name}` is of type {shown}; it should be {wanted}.", kind="type")


def _wrong_shape(got: np.ndarray, expected: np.ndarray, name: str) -> Problem:
    have, want = shape_text(got.shape), shape_text(expected.shape)
    headline = f"`{name}` has the wrong shape: {have}; it should be {want}."
    details = ()
    if got.ndim > 1 and got.shape == expected.shape[::-1]:
        details = ("That is the shape of the transpose.",)
    elif got.size == expected.size:
        details = ("The number of elements is right; they are arranged differently.",)
    elif got.ndim == expected.ndim + 1 or got.ndim == expected.ndim - 1:
        word = "many" if got.ndim > expected.ndim else "few"
        details = (f"It has one axis too {word}.",)
    return Problem(headline, details, kind="shape")


def _wrong_dtype(
    got: np.ndarray, expected: np.ndarray, name: str, dtype: str | None
) -> Problem | None:
    if dtype == "any":
        return None
    kind = KINDS[got.dtype.kind]
    if dtype is None or dtype in _NAMES:
        wanted = dtype or KINDS[expected.dtype.kind]
        if kind == wanted:
            return None
        headline = f"`{name}` holds {_NAMES[kind]} ({got.dtype}); it should hold {_NAMES[wanted]}."
        cure = "Integers cut off what is behind the point; `np.zeros(shape)` is float64."
        return Problem(
            headline, (cure,) if (kind, wanted) == ("int", "float") else (), kind="dtype"
        )
    if got.dtype == np.dtype(dtype):
        return None
    return Problem(f"`{name}` has dtype {got.dtype}; it should be {np.dtype(dtype)}.", kind="dtype")


def _not_finite(got: np.ndarray, expected: np.ndarray, name: str) -> Problem | None:
    bad = ~isfinite(got) & isfinite(expected)
    if not bad.any():
        return None
    index = tuple(map(int, _argwhere(bad)[0]))
    nan = bool(isnan(got[index]))
    word = "NaN (not a number)" if nan else "infinite"
    cause = _NAN_FROM if nan else _INFINITY_FROM
    wrong = int(bad.sum())
    count = f"{wrong} of {got.size} element{'s' * (got.size != 1)} {are(wrong)} not finite."
    return Problem(f"{index_text(name, index)} is {word}.", (count, cause), kind="nan")


def _wrong_values(got: np.ndarray, expected: np.ndarray, right: np.ndarray, name: str) -> Problem:
    index = tuple(map(int, _argwhere(~right)[0]))
    have, want = number_pair(got[index], expected[index])
    headline = f"{index_text(name, index)} is {have}; it should be {want}."
    wrong = int((~right).sum())
    details = (f"{wrong} of {got.size} elements {are(wrong)} wrong.",) if got.size > 1 else ()
    return Problem(headline, details)
