"""Numbers for an exercise's case that behave as tensors do while TensorFlow traces a loop.

`tpu.global_loss` is called from such a loop in its lesson, and no case may need TensorFlow.

Traced code runs once, with tensors that have no values yet. Operators, `len` and `.shape` take
them; what needs values raises. test_traced.py holds every use against a `tf.function`.
A few uses are refused here that TensorFlow lets pass, since no result can be built from them
without its own functions: one element `x[i]`, `float(x)`, a comparison, a loop over the elements.
"""

import operator
from collections.abc import Callable

import numpy as np

from labkit.checks.items import Refused

_SENTENCE = (
    "In the loop this gets TensorFlow's tensors, which have no values yet: write it with "
    "operators (`*`, `/`) alone. NumPy's functions and methods do not work there."
)
# What follows names special methods without their underscores: "add" stands for `__add__`.
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_CONVERSIONS = ("array", "bool", "float", "int", "index", "complex", "round", "trunc")
_CONTAINER = ("iter", "next", "reversed", "contains", "setitem", "delitem")
_NO_TENSORS = ("matmul", "rmatmul", "divmod", "rdivmod", "and", "or", "xor", "invert", "pos")


class Traced:
    """Numbers that operators take and everything else refuses, as a tensor without values does.

    An operator gives a plain array of the result. A case with traced inputs stands behind others
    with the same mistakes in plain arrays: what it refuses speaks against no other diagnosis.
    """

    __array_priority__ = 1000  # an array or a NumPy number on the left leaves the operator to us
    __hash__ = None

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes, which a tensor knows before its values."""
        return self._values.shape

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._values.ndim

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: object) -> "Traced":
        if isinstance(index, slice) or index is Ellipsis:
            return Traced(self._values[index])
        raise Refused(_SENTENCE)

    def __getattr__(self, name: str) -> object:
        """What a tensor lacks and an array has: `.sum()`, `.copy()`, `.astype(...)`, `.T`."""
        if name.startswith("__"):  # Python and NumPy ask for their protocols
            raise AttributeError(name)
        raise Refused(_SENTENCE)

    def __repr__(self) -> str:
        return "a tensor without values yet"

    def __deepcopy__(self, memo: dict) -> "Traced":
        return Traced(self._values.copy())

    def __neg__(self) -> np.ndarray:
        return -self._values

    def __abs__(self) -> np.ndarray:
        return abs(self._values)


def traced(values: object) -> Traced:
    """A copy of an array or a number."""
    return Traced(np.array(values))


# The special methods. They are made in loops, since all of a group do the same.


def _plain(value: object) -> object:
    """The numbers of a traced operand; any other operand as it is."""
    return value._values if isinstance(value, Traced) else value


def _computed(operate: Callable) -> Callable:
    """`x * other`, as a method of x."""
    return lambda self, other: operate(self._values, _plain(other))


def _reflected(operate: Callable) -> Callable:
    """`other * x`, as a method of x."""
    return lambda self, other: operate(np.asarray(_plain(other)), self._values)


def _refuse(self: Traced, *_: object, **__: object) -> None:
    raise Refused(_SENTENCE)


for _name in _OPERATORS:
    _operate = getattr(operator, _name)
    setattr(Traced, f"__{_name}__", _computed(_operate))
    setattr(Traced, f"__r{_name}__", _reflected(_operate))
for _name in (*_COMPARISONS, *_CONVERSIONS, *_CONTAINER, *_NO_TENSORS):
    setattr(Traced, f"__{_name}__", _refuse)
