"""What the expressions of a kernel become: numbers, tuples, views of arrays, objects; a program."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, NoReturn

import numpy as np

from labkit.gpu.simt.ops import MT, RT

_LETTERS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_SHORT = {_LETTERS[short[0]] + short[1:]: short for short in MT if short != "b1"} | {"bool": "b1"}


def is_number(type: object) -> bool:
    return getattr(type, "name", None) in _SHORT


@cache
def number_types() -> dict[str, object]:
    """Numba's types of numbers by their short names: "f32" is float32, "b1" boolean."""
    from numba import types

    return {s: getattr(types, name if s != "b1" else "boolean") for name, s in _SHORT.items()}


def register_type(type: object) -> int:
    """How a number of this Numba type lies in a register (ops.RT)."""
    short = _SHORT[type.name]
    return RT["I64" if short[0] in "biu" and short != "u64" else short.upper()]


def memory_type(type: object) -> int:
    """How it lies in memory (ops.MT)."""
    return MT[_SHORT[type.name]]


@dataclass(slots=True)
class Value:
    """A number: a constant, or in a register (vector r: r, scalar s: ~s)."""

    type: object  # a Numba type
    register: int | None = None
    constant: object = None
    named: bool = False  # a variable's register: it may change

    @property
    def scalar(self) -> bool:
        return self.register is None or self.register < 0


@dataclass(eq=False)
class Variable:
    """A number with a name: its type, and whether it differs between lanes."""

    type: object = None
    vector: bool = False


class Axis(NamedTuple):
    """An axis of a view: index i is `start + i * step` in a dimension of the array."""

    dimension: int
    start: Value | None = None  # None: the whole dimension as it is
    step: Value | None = None
    length: Value | None = None


@dataclass(frozen=True)
class View:
    """An array, or a part of one: some indices fixed, the others axes."""

    array: int
    dtype: object  # a Numba type
    fixed: tuple[Value | None, ...]  # for each dimension of the array; None: an axis
    axes: tuple[Axis, ...]

    def map(self, function: Callable) -> "View":
        """The view with function(key, value) in place of its values."""
        fixed = tuple(v and function(i, v) for i, v in enumerate(self.fixed))
        axes = [
            Axis(axis[0], *(v and function((axis[0], i), v) for i, v in enumerate(axis[1:])))
            for axis in self.axes
        ]
        return replace(self, fixed=fixed, axes=tuple(axes))


@dataclass(frozen=True)
class Object:
    """A Python object that means something to the compiler only: a function, a dtype, None."""

    value: object


class Cuda(str):
    """A name in numba.cuda: "" is the module itself, "atomic.add" a function."""


@dataclass
class ArraySpec:
    space: str  # "global", "constant", "shared", "dynamic" or "local"
    argument: int | None
    shape: tuple[int | None, ...]
    dtype: np.dtype
    name: str
    value: np.ndarray | None = None  # of constant arrays
    c_order: bool = True  # C-contiguous
    alignment: int = 0  # bytes; 0 if the kernel does not say


class Line(NamedTuple):
    """A line of source; of a function in another file, also the kernel's line that calls it."""

    filename: str
    number: int
    text: str
    function: str
    call: "Line | None" = None


@dataclass(frozen=True)
class Program:
    """A kernel as the machine runs it; made by program.py."""

    def __getattr__(self, name: str) -> NoReturn:
        from labkit.gpu.simt.arrays import lacking  # which stands on this module

        lacking("A compiled kernel", "compile_report of labkit.gpu shows machine code")(self, name)

    name: str
    filename: str
    first_line: int
    source: tuple[str, ...]
    code: np.ndarray  # int32 [n, 11]: op, type, o0..o7, index into lines
    lines: tuple[Line, ...]
    vectors: int  # number of registers
    scalars: int
    constants: tuple[tuple[int, int, object], ...]  # scalar register, ops.RT, value
    scalar_arguments: tuple[tuple[int, int, int, object], ...]  # position, register, RT, Numba type
    extents: tuple[tuple[int, int, int], ...]  # array, dimension, scalar register
    arrays: tuple[ArraySpec, ...]
    specials: dict[str, int]  # "threadIdx.x": vector register r; "blockIdx.x": ~ scalar register
