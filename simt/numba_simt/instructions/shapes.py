"""Other shapes of the same memory: reshape, view, flat, ravel, transpose, real and imag."""

import ast
from dataclasses import replace

from numba import types
from numba.np.numpy_support import as_dtype

from numba_simt.instructions.records import Records
from numba_simt.ops import MAX_DIMENSIONS
from numba_simt.program import Alias
from numba_simt.reading.typing_rules import as_type, number
from numba_simt.values import (
    Axis,
    Choice,
    Flat,
    Method,
    Object,
    Value,
    View,
)

_METHODS = (
    *("reshape", "view", "transpose", "item", "fill", "sum", "prod", "mean", "var", "std"),
    *("min", "max", "argmin", "argmax", "any", "all"),
)
_OWN = ("shape", "size", "ndim", "dtype", "T")  # that Views knows


class Shapes(Records):
    """Emits what gives an array another shape; nothing is copied."""

    def property_of(
        self,
        view: View | Choice,
        name: str,
    ) -> object:
        """view.shape and the like"""
        if name in _METHODS:
            return Object(Method(view, name))
        if name in _OWN:
            return super().property_of(view, name)
        itemsize = as_dtype(view.dtype).itemsize
        if name == "itemsize":
            return number(itemsize)
        if name == "nbytes":
            return self.calculate("MUL", self.property_of(view, "size"), number(itemsize))
        if name == "flat":
            return self.flat(view)
        if name in ("real", "imag") and isinstance(view.dtype, types.Complex):
            return self._half(view, name)
        if name == "real":
            return view
        own, methods = ", .".join(_OWN), ", ".join(_METHODS)
        self.refuse(
            f"arrays have .{own}, .itemsize, .nbytes, .flat, .real and .imag here, and the methods "
            f"{methods}, no .{name}."
        )

    def _half(
        self,
        view: View | Choice,
        name: str,
    ) -> View | Choice:
        """The real or imaginary parts of complex numbers, in the same memory."""
        if isinstance(view, Choice):
            return replace(view, views=tuple(self._half(one, name) for one in view.views))
        kind = view.dtype.underlying_float
        offset = as_dtype(kind).itemsize if name == "imag" else 0
        return self.part_of(view, name, kind, offset)

    def flat(self, view: View | Choice) -> View | Flat:
        """Its elements as one axis, the last index fastest."""
        whole = isinstance(view, View) and self.in_rows(view)
        return self._in_one_row(view) if whole else Flat(view)

    def _in_one_row(self, view: View) -> View:
        """A C-contiguous array as one axis of the memory that it is in."""
        if len(view.fixed) == 1:
            return view
        array = self.alias(
            view.array, view.dtype, Alias(view.array, "flat"), "", **self._length_of_all(view)
        )
        start = number(0)
        for dimension, index in enumerate(view.fixed):
            length = self.length(view, Axis(dimension))
            here = [axis for axis in view.axes if axis.dimension == dimension]
            place = here[0].start if here else self._checked(view, dimension, index, length)
            start = self.calculate("MUL", start, length)
            start = start if place is None else self.calculate("ADD", start, place)
        axis = Axis(0, start, number(1), self.property_of(view, "size"))
        return View(array, view.dtype, (None,), (axis,))

    def _length_of_all(self, view: View) -> dict:
        """The shape of all the memory as one axis, where the compiler knows it."""
        size = 1
        for length in self.arrays[view.array].shape:
            size = None if size is None or length is None else size * length
        return {"shape": (size,), "c_order": True}

    def _checked(
        self,
        view: View,
        dimension: int,
        index: Value,
        length: Value,
    ) -> Value:
        """An index that is fixed already, counted from the start: no load checks it any more."""
        return self.op("CHECK", types.int64, index, length, dimension, view.array)

    def reshape(
        self,
        view: View,
        *shape: object,
    ) -> View:
        """x.reshape(2, 3), x.reshape((2, 3)), one of them -1"""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        lengths = [self.integer(length) for length in lengths]
        self._contiguous(view, "reshape() supports contiguous array only")
        if len(lengths) > MAX_DIMENSIONS:
            self.refuse(
                f"an array of {len(lengths)} dimensions is too much: {MAX_DIMENSIONS} work."
            )
        row = self._in_one_row(view)
        lengths = self._completed(lengths, self.length(row, row.axes[0]))
        start = row.axes[0].start or number(0)
        axes = []
        step = number(1)
        for length in reversed(lengths):
            axes.insert(0, Axis(0, number(0), step, length))
            step = self.calculate("MUL", step, length)
        return View(row.array, row.dtype, (start,), tuple(axes))

    def _completed(
        self,
        lengths: list[Value],
        size: Value,
    ) -> list[Value]:
        """The lengths with -1 filled in; ValueError where they do not hold all elements."""
        one = number(1)
        unknown = [self.operate(ast.Lt, length, number(0)) for length in lengths]
        known = one
        count = number(0)
        for length, lacks in zip(lengths, unknown, strict=True):
            known = self.calculate("MUL", known, self.choice(lacks, one, length))
            count = self.calculate("ADD", count, self.choice(lacks, one, number(0)))
        several = self.operate(ast.Gt, count, one)
        self.throw_if(several, ValueError, "multiple negative shape values")
        rest = size
        if count.constant != 0:
            rest = self.calculate("FLOORDIV", size, self.calculate("MAX", known, one))
        found = [
            self.choice(lacks, rest, length) for length, lacks in zip(lengths, unknown, strict=True)
        ]
        total = one
        for length in found:
            total = self.calculate("MUL", total, length)
        differ = self.operate(ast.NotEq, total, size)
        self.throw_if(differ, ValueError, "total size of new array must be unchanged")
        return found

    def _contiguous(
        self,
        view: object,
        refusal: str,
    ) -> None:
        if isinstance(view, Choice):
            self.limit("one of several arrays gets no other shape here: reshape each of them.")
        if not self.in_rows(view):
            self.refuse(f"{refusal}: {self.describe(view)} is none.")

    def cast(
        self,
        view: View,
        dtype: object,
    ) -> View:
        """x.view(dtype): the same bytes as other numbers"""
        kind = as_type(getattr(dtype, "value", None))
        if kind is None:
            self.refuse(f"{self.describe(dtype)} is no dtype: use np.int32 or the like.")
        size, other = as_dtype(view.dtype).itemsize, as_dtype(kind).itemsize
        if size != other or isinstance(view, Choice):
            self._contiguous(view, "view() here supports contiguous arrays only")
        spec = self.arrays[view.array]
        if spec.space == "local" and size != other:
            self.limit("an array in local memory has one size of elements here: use shared memory.")
        last = view.axes[-1] if view.axes else None
        if last is None:
            self.refuse("an array of 0 dimensions has no other view here.")
        shape = [*spec.shape[:-1], None]
        if spec.shape and spec.shape[-1] is not None:
            shape[-1] = spec.shape[-1] * size // other
        made = Alias(view.array, "part" if size == other else "cast")
        array = self.alias(view.array, kind, made, "", shape=tuple(shape), c_order=spec.c_order)
        whole = View(array, kind, view.fixed, view.axes)
        if size != other:
            whole = replace(whole, axes=(*view.axes[:-1], self._scaled(view, last, size, other)))
        return whole

    def _scaled(
        self,
        view: View,
        axis: Axis,
        size: int,
        other: int,
    ) -> Axis:
        """An axis of neighbours, in elements of another size."""
        if axis.start is None:
            axis = _neighbours(axis, number(0), self.length(view, axis))
        begin = self.calculate("MUL", axis.start, number(size))
        length = self.calculate("MUL", axis.length, number(size))
        wide = number(other)
        if other > size:
            for value, said in ((length, "last axis"), (begin, "start")):
                rest = self.operate(ast.Mod, value, wide)
                odd = self.operate(ast.NotEq, rest, number(0))
                self.throw_if(odd, ValueError, f"the {said} is no multiple of the new dtype's size")
        start = self.calculate("FLOORDIV", begin, wide)
        return _neighbours(axis, start, self.calculate("FLOORDIV", length, wide))


def _neighbours(
    axis: Axis,
    start: Value,
    length: Value,
) -> Axis:
    """The axis from another start on, in steps of 1."""
    return Axis(axis.dimension, start, number(1), length)
