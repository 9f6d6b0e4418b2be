"""Arrays for a case that behave as tensors do while a loop is traced: nothing but operators."""

import operator
from collections.abc import Callable

import numpy as np

from labkit.checks.exercise import Refused

_SENTENCE = (
    "In the loop this gets TensorFlow's tensors, not arrays: write it with operators "
    "(`*`, `/`) alone. NumPy's functions and methods do not work there."
)


class Traced(np.ndarray):
    """An array that operators take and NumPy's functions refuse, as an unknown tensor's would.

    An operator gives a plain array. Such a case stands behind one with the same mistakes in plain
    arrays: what it refuses speaks against no other diagnosis.
    """

    def _refuse(self, *_: object, **__: object) -> None:
        raise Refused(_SENTENCE)

    __array_ufunc__ = __getitem__ = __setitem__ = __iter__ = astype = _refuse

    def __repr__(self) -> str:
        return "a tensor without values yet"

    __str__ = __repr__

    def __neg__(self) -> np.ndarray:
        return -np.asarray(self)


def traced(values: object) -> Traced:
    """A copy of the values, of one dimension at least."""
    return np.array(values, ndmin=1).view(Traced)


def _plainly(operate: Callable, reflected: bool) -> Callable:
    def method(self: Traced, other: object) -> np.ndarray:
        pair = np.asarray(self), np.asarray(other)
        return operate(*(pair[::-1] if reflected else pair))

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Traced, f"__{_name}__", _plainly(getattr(operator, _name), reflected=False))
    setattr(Traced, f"__r{_name}__", _plainly(getattr(operator, _name), reflected=True))
