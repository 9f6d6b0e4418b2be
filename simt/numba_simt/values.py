"""What the expressions of a kernel become: numbers, tuples, views of arrays, objects."""

import ast
from collections.abc import Callable, Iterable
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


class Compound:
    """A value made of others, which a variable holds one by one; `map` gives each a key."""


@dataclass(frozen=True)
class View(Compound):
    """An array, or a part of one: some indices fixed, the others axes.

    Several axes may count along one dimension: what they add up to is its index.
    """

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
                key = (len(axes), i)
                parts.append(None if value is None else function(key, value))
            axes.append(Axis(axis.dimension, *parts))
        return replace(self, fixed=tuple(fixed), axes=tuple(axes))

    @property
    def form(self) -> tuple:
        """What the compiler must know of it; views of one form differ in numbers only."""
        fixed = tuple(value is None for value in self.fixed)
        axes = tuple((axis.dimension, axis.start is None) for axis in self.axes)
        return self.array, self.dtype, fixed, axes


@dataclass(frozen=True)
class Choice(Compound):
    """One of several views, chosen by a number when the kernel runs; all are of different forms."""

    which: Value
    views: tuple[View, ...]

    @property
    def dtype(self) -> object:
        """Numba's type of the elements, the same for all."""
        return self.views[0].dtype

    @property
    def axes(self) -> tuple[Axis, ...]:
        """As many as each of them has; their lengths are those of the first."""
        return self.views[0].axes

    def map(self, function: Callable) -> "Choice":
        """The choice with function(key, value) in place of its number and its views."""
        views = tuple(function(view.form, view) for view in self.views)
        return Choice(function("which", self.which), views)


ARRAYS = (View, Choice)


@dataclass(frozen=True)
class Optional(Compound):
    """A number or None; what the number is where there is none, nobody knows."""

    present: Value  # bool
    number: Value

    def map(self, function: Callable) -> "Optional":
        """The same of function(key, value) of both."""
        return Optional(function("present", self.present), function("number", self.number))


@dataclass(frozen=True)
class Range(Compound):
    """range(start, stop, step): all of one type of integers."""

    start: Value
    stop: Value
    step: Value

    def map(self, function: Callable) -> "Range":
        """The range with function(key, value) in place of its numbers."""
        parts = enumerate((self.start, self.stop, self.step))
        return Range(*(function(i, part) for i, part in parts))


@dataclass(frozen=True)
class Enumerated(Compound):
    """enumerate(items, first)"""

    items: object
    first: Value

    def map(self, function: Callable) -> "Enumerated":
        """The same of function(key, value) of what it enumerates, and of its first number."""
        return Enumerated(function(0, self.items), function(1, self.first))


@dataclass(frozen=True)
class Zipped(Compound):
    """zip(a, b, ...)"""

    parts: tuple

    def map(self, function: Callable) -> "Zipped":
        """The same of function(key, value) of each part."""
        return Zipped(tuple(function(i, part) for i, part in enumerate(self.parts)))


@dataclass(frozen=True)
class Places(Compound):
    """np.ndindex(shape): the indices of all elements"""

    lengths: tuple[Value, ...]

    def map(self, function: Callable) -> "Places":
        """The same of function(key, value) of each length."""
        return Places(tuple(function(i, length) for i, length in enumerate(self.lengths)))


@dataclass(frozen=True)
class Flat(Compound):
    """x.flat of an array that is not C-contiguous."""

    array: View | Choice

    def map(self, function: Callable) -> "Flat":
        """The same of function(key, value) of the array."""
        return Flat(function(0, self.array))


@dataclass(frozen=True)
class Method:
    """x.reshape and the like, which a call computes."""

    owner: View | Choice
    name: str


def rebuilt(model: tuple, items: Iterable) -> tuple:
    """The items as a tuple of the same kind: a named one keeps its names."""
    return tuple.__new__(type(model), items)


@dataclass(frozen=True)
class Vector(Compound):
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


@dataclass(frozen=True)
class Closure:
    """A function that is defined in a kernel."""

    tree: ast.FunctionDef | ast.Lambda
    scope: object  # the Scope where it is defined
    read: ast.AST | None = None  # the name that was read to get it: see Webs
    defaults: tuple = ()


class Cuda(str):
    """A name in numba.cuda: "" is the module itself, "atomic.add" a function."""
