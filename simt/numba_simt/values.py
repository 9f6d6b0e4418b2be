"""What the expressions of a kernel become: numbers, tuples, views of arrays, objects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from numba_simt.ops import MT, RT


class _Number(NamedTuple):
    """How the machine keeps a type of numbers."""

    memory: str  # in memory: a name in ops.MT, and in functions.toml
    register: str  # in a register: a name in ops.RT


_NUMBERS = {  # name of the type, in Numba and in NumPy
    "bool": _Number("b1", "I64"),
    "int8": _Number("i8", "I64"),
    "int16": _Number("i16", "I64"),
    "int32": _Number("i32", "I64"),
    "int64": _Number("i64", "I64"),
    "uint8": _Number("u8", "I64"),
    "uint16": _Number("u16", "I64"),
    "uint32": _Number("u32", "I64"),
    "uint64": _Number("u64", "U64"),
    "float16": _Number("f16", "F16"),
    "float32": _Number("f32", "F32"),
    "float64": _Number("f64", "F64"),
    "complex64": _Number("c64", "C64"),
    "complex128": _Number("c128", "C128"),
}


def is_number(type: object) -> bool:
    """Whether the machine has numbers of this Numba type."""
    return getattr(type, "name", None) in _NUMBERS


@cache
def number_types() -> dict[str, object]:
    """Numba's types of numbers by their names in memory: "f32" is float32, "b1" boolean."""
    from numba import types

    found = {}
    for name, kept in _NUMBERS.items():
        found[kept.memory] = types.boolean if name == "bool" else getattr(types, name)
    return found


def register_type(type: object) -> int:
    """How a number of this Numba type lies in a register (ops.RT)."""
    return RT[_NUMBERS[type.name].register]


def memory_type(type: object) -> int:
    """How a number of this Numba type, or NumPy dtype, lies in memory (ops.MT)."""
    return MT[_NUMBERS[type.name].memory]


@dataclass(slots=True)
class Value:
    """A number: a constant, or in a register (vector r: r, scalar s: ~s)."""

    type: object  # a Numba type
    register: int | None = None
    constant: object = None
    named: bool = False  # a variable's register: it may change

    @property
    def scalar(self) -> bool:
        """Whether it is the same in all lanes of a warp."""
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
        """The view with function(key, value) in place of its values; each has a key of its own."""
        fixed = []
        for dimension, value in enumerate(self.fixed):
            fixed.append(None if value is None else function(dimension, value))
        axes = []
        for axis in self.axes:
            parts = []
            for i, value in enumerate((axis.start, axis.step, axis.length)):
                key = (axis.dimension, i)
                parts.append(None if value is None else function(key, value))
            axes.append(Axis(axis.dimension, *parts))
        return replace(self, fixed=tuple(fixed), axes=tuple(axes))


@dataclass(frozen=True)
class Vector:
    """A float32x4 or another of CUDA's vector types: its name, and its .x, .y, .z and .w."""

    name: str
    parts: tuple

    def map(self, function: Callable) -> "Vector":
        """The vector with function(place, part) in place of its parts."""
        return replace(self, parts=tuple(function(i, part) for i, part in enumerate(self.parts)))


@dataclass(frozen=True)
class Object:
    """A Python object that means something to the compiler only: a function, a dtype, None."""

    value: object


class Cuda(str):
    """A name in numba.cuda: "" is the module itself, "atomic.add" a function."""
