"""Compares one returned value with the expected one: type, shape, dtype, NaN, values."""

from types import CoroutineType, GeneratorType

import numpy as np
from numpy import isfinite, isnan  # bound here, so that rebinding `np.isfinite` changes nothing

from labkit.checks.equality import KINDS, as_array, close, first_index
from labkit.checks.items import Exercise
from labkit.checks.phrasing import are, counted, index_text, number_pair, shape_text
from labkit.checks.problem import Problem

_NUMBERS = {
    "bool": "truth values",
    "int": "integers",
    "float": "floating-point numbers",
    "complex": "complex numbers",
}
_CURES = {
    list: "`np.array({name})` makes an array of it.",
    tuple: "Return the one value alone.",
    GeneratorType: "A function with `yield` hands out a generator: use `return`.",
    CoroutineType: "A function defined with `async def` hands out a coroutine: use `def`.",
}
_LENGTH_1 = {  # sign of how many axes there are too many -> what to say of those of length 1
    1: "An axis of length 1 is too many: `keepdims=True`, `None` in an index or a slice of one "
    "entry, where an index would do, leaves it there.",
    0: "They differ in axes of length 1: they are in another order.",
    -1: "An axis of length 1 is missing: keep each axis, also where it is 1 long. A sum drops the "
    "axis that it goes along, unless it has `keepdims=True`.",
}
_NAN_FROM = (
    "NaN comes from 0/0, from inf - inf, from the root or logarithm of a negative number, "
    "or from `np.empty` read before it is filled."
)
_INFINITY_FROM = (
    "Infinity comes from a division by 0, from log(0), or from a number that is too large for its "
    "type, such as exp of a large one."
)


def wrong_value(
    value: object, expected: np.ndarray, output: int, exercise: Exercise
) -> Problem | None:
    """The first thing that is wrong with the value at position `output`; None if nothing."""
    name, asked = exercise.outputs[output], exercise.dtype_of(output)
    got = as_array(value)
    if got is None:
        return _wrong_type(value, expected, name)
    if got.shape != expected.shape:
        return _wrong_shape(got, expected, name)
    right = close(got, expected, exercise)
    wanted = asked or KINDS[expected.dtype.kind]
    free = asked is None and _is_number(got) and _is_number(expected)
    # A whole number is one, whether it is kept as an int or as a float.
    if free and (right.all() or got.dtype.kind == "f"):
        wanted = "any"
    if asked == "same":  # values come first: they may have a known cause
        return (
            _not_finite(got, expected, name)
            or _wrong_elements(got, expected, right, name)
            or _wrong_dtype(got.dtype, expected.dtype.name, name)
        )
    return (
        _wrong_dtype(got.dtype, wanted, name)
        or _not_finite(got, expected, name)
        or _wrong_elements(got, expected, right, name)
    )


def _is_number(values: np.ndarray) -> bool:
    return KINDS[values.dtype.kind] in ("int", "float")


def _wrong_type(got: object, expected: np.ndarray, name: str) -> Problem:
    """A value that is no array of numbers, nor a number."""
    kind = type(got)
    wanted = "a NumPy array" if expected.ndim else "a number"
    full_name = kind.__name__
    if kind.__module__ != "builtins":
        full_name = f"{kind.__module__}.{kind.__name__}"
    details = ()
    if got is None:
        headline = f"`{name}` is None: it has not been computed yet."
        if not expected.ndim:
            headline = f"`{name}` is None; it should be {number_pair(expected, expected)[1]}."
    elif kind is np.ndarray:
        headline = f"`{name}` is an array of dtype {got.dtype}; it should hold plain numbers."
        cure = "It often comes from rows of different lengths, or from None among the numbers."
        details = (cure,)
    elif issubclass(kind, np.ndarray):
        headline = f"`{name}` is a {full_name}; it should be a plain NumPy array."
        details = (f"Return a plain array: `np.asarray({name})` makes one of it.",)
    elif full_name in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        headline = f"`{name}` is a torch tensor; it should be {wanted}."
        cure = f"This exercise is about NumPy: return `{name}.detach().numpy()`, or stay in NumPy."
        details = (cure,)
    elif kind in _CURES:
        headline = f"`{name}` is a {kind.__name__}; it should be {wanted}."
        is_rows = kind is tuple and expected.ndim > 0 and len(got) == len(expected)
        details = (_CURES[list if is_rows else kind].format(name=name),)
    else:
        headline = f"`{name}` is of type {full_name}; it should be {wanted}."
    return Problem("form", headline, details)


def _wrong_shape(got: np.ndarray, expected: np.ndarray, name: str) -> Problem:
    have = shape_text(got.shape)
    want = shape_text(expected.shape)
    headline = f"`{name}` has the wrong shape: {have}; it should be {want}."
    details = ()
    if got.ndim > 1 and got.shape == expected.shape[::-1]:
        details = ("That is the shape of the transpose.",)
    elif _squeezed(got.shape) == _squeezed(expected.shape):
        details = (_LENGTH_1[np.sign(got.ndim - expected.ndim)],)
    elif got.size == expected.size:
        details = ("The number of elements is right; they are arranged differently.",)
    elif got.ndim == expected.ndim + 1:
        details = ("It has one axis too many.",)
    elif got.ndim == expected.ndim - 1:
        details = ("It has one axis too few.",)
    elif got.ndim == expected.ndim > 1:
        details = _one_axis(got.shape, expected.shape)
    return Problem("shape", headline, details)


def _one_axis(have: tuple[int, ...], want: tuple[int, ...]) -> tuple[str, ...]:
    """The one axis whose length is wrong, if it is one."""
    wrong = [axis for axis, pair in enumerate(zip(have, want, strict=True)) if len(set(pair)) > 1]
    if len(wrong) != 1:
        return ()
    axis = wrong[0]
    return (f"Only axis {axis} has another length: {have[axis]}, where it should be {want[axis]}.",)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _wrong_dtype(dtype: np.dtype, want: str, name: str) -> Problem | None:
    """`want` is a kind ("float"), the name of a dtype ("float32"), or "any"."""
    have = KINDS[dtype.kind]
    if want in ("any", have, dtype.name):
        return None
    if want not in _NUMBERS:
        details = ()
        if dtype == "float64":
            details = ("`np.zeros(shape)` is float64, unless it is given another `dtype`.",)
        return Problem("form", f"`{name}` has dtype {dtype}; it should be {want}.", details)
    headline = f"`{name}` holds {_NUMBERS[have]} ({dtype}); it should hold {_NUMBERS[want]}."
    details = ()
    if have == "int" and want == "float":
        details = ("Integers cut off what is behind the point; `np.zeros(shape)` is float64.",)
    return Problem("form", headline, details)


def _not_finite(got: np.ndarray, expected: np.ndarray, name: str) -> Problem | None:
    """NaN or an infinity where a finite number is expected."""
    bad = ~isfinite(got) & isfinite(expected)
    if not bad.any():
        return None
    index = first_index(bad)
    wrong = int(bad.sum())
    count = f"{wrong} of {counted(got.size, 'element')} {are(wrong)} not finite."
    if isnan(got[index]):
        what = "NaN (not a number)"
        comes_from = _NAN_FROM
    else:
        what = "infinite" if got[index] > 0 else "infinite, and negative"
        comes_from = _INFINITY_FROM
    return Problem("nan", f"{index_text(name, index)} is {what}.", (count, comes_from))


def _wrong_elements(
    got: np.ndarray, expected: np.ndarray, right: np.ndarray, name: str
) -> Problem | None:
    if right.all():
        return None
    index = first_index(~right)
    wrong = int((~right).sum())
    have, want = number_pair(got[index], expected[index])
    headline = f"{index_text(name, index)} is {have}; it should be {want}."
    details = (f"{wrong} of {got.size} elements {are(wrong)} wrong.",) if got.size > 1 else ()
    return Problem("value", headline, details, index=tuple(map(int, index)))
