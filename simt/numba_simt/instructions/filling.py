"""Whole parts of arrays as targets: x[:] = 0, a[i, :] = b[j, :], element by element."""

import ast
from collections.abc import Callable, Sequence

from numba_simt.instructions.sequences import Sequences
from numba_simt.reading.typing_rules import number
from numba_simt.values import (
    ARRAYS,
    Axis,
    Choice,
    Value,
    View,
)

_SIZES = "cannot assign slice from input of different size"  # what Numba says


class Filling(Sequences):
    """Emits loops over the elements of an array; every thread that comes here runs all of them."""

    def each_element(
        self, array: View | Choice, action: Callable[[list[Value]], object], place: tuple = ()
    ) -> None:
        """action(indices) for every element of the array, the last axis fastest."""
        if len(place) == len(array.axes):
            action([*place])
            return
        length = self.length(array, array.axes[len(place)])
        self.each_below(
            ("element", len(place)),
            length,
            lambda index: self.each_element(array, action, (*place, index)),
        )

    def fill(
        self,
        part: View | Choice,
        value: object,
    ) -> None:
        """part[...] = value: a number, a tuple, or an array that is broadcast."""
        if isinstance(part, Choice):
            self.each_array(part, lambda one: self.fill(one, value))
        elif isinstance(value, tuple):
            self._fill_with_tuple(part, value)
        elif isinstance(value, ARRAYS) and value.axes:
            self._copy(part, value)
        else:
            value = self.convert(value, part.dtype)
            self.each_element(part, lambda place: self.store(self.select(part, place), value))

    def _fill_with_tuple(
        self,
        part: View,
        value: tuple,
    ) -> None:
        """x[:2] = a, b"""
        if len(part.axes) != 1:
            self.refuse(f"a tuple fills one axis, not {len(part.axes)}: assign to one row.")
        self.homogeneous(value)
        self._check_lengths(self.length(part, part.axes[0]), number(len(value)))
        for i, item in enumerate(value):
            self.store(self.select(part, [number(i)]), item)

    def _check_lengths(
        self,
        wanted: Value,
        given: Value,
    ) -> None:
        differ = self.operate(ast.NotEq, wanted, given)
        self.throw_if(differ, ValueError, _SIZES)

    def _copy(
        self,
        part: View,
        source: View | Choice,
    ) -> None:
        """An array into a part of another, as NumPy broadcasts it."""
        fewer = len(part.axes) - len(source.axes)
        if fewer < 0:
            self.refuse(
                f"{self.describe(source)} has more axes than what it is assigned to, which has "
                f"{len(part.axes)}: take a part of it."
            )
        lengths = self.shape(part)
        stretched = self.stretched(source, lengths[fewer:], _SIZES)
        if isinstance(source, Choice):
            overlaps = any(view.array == part.array for view in source.views)
        else:
            overlaps = source.array == part.array
        backwards = self._backwards(part, source) if overlaps else None

        def copy(place: list[Value]) -> None:
            if backwards is not None:
                last = self.calculate("SUB", lengths[0], number(1))
                mirrored = self.calculate("SUB", last, place[0])
                place = [self.choice(backwards, mirrored, place[0])]
            item = self.load(self.select(source, self.stretch(stretched, place[fewer:])))
            self.store(self.select(part, place), item)

        self.each_element(part, copy)

    def stretched(
        self,
        source: View | Choice,
        lengths: Sequence[Value],
        refusal: str,
    ) -> list[Value]:
        """For each axis whether it is stretched; ValueError where it fits neither way."""
        found = []
        for axis, wanted in zip(source.axes, lengths, strict=True):
            given = self.length(source, axis)
            one = self.operate(ast.Eq, given, number(1))
            fits = self.operate(ast.Eq, given, wanted)
            either = self.operate(ast.BitOr, one, fits)
            self.throw_if(self.invert(either), ValueError, refusal)
            found.append(one)
        return found

    def stretch(
        self,
        stretched: Sequence[Value],
        place: Sequence[Value],
    ) -> list[Value]:
        """The indices in an array that is broadcast."""
        pairs = zip(stretched, place, strict=True)
        return [self.choice(one, number(0), index) for one, index in pairs]

    def _backwards(
        self,
        part: View,
        source: View | Choice,
    ) -> Value | None:
        """Whether a copy within an array must run from the end; None where the order is the same.

        Rows of one array are the same row, or apart. Two parts of one axis may overlap.
        """
        rows = isinstance(source, View) and part.form == source.form
        if rows and all(axis.start is None for axis in part.axes):
            return None
        one_axis = isinstance(source, View) and len(part.axes) == len(source.axes) == 1
        steps = [_step(part.axes[0]), _step(source.axes[0])]
        if not one_axis or len(part.fixed) != 1 or steps[0] != steps[1] or not steps[0]:
            self.limit(
                "what is assigned and where it goes are parts of one array and may overlap, so "
                "Numba copies it first: copy the elements in a loop, in the order that you mean."
            )
        starts = [axis.start or number(0) for axis in (part.axes[0], source.axes[0])]
        ahead = ast.Gt if steps[0] > 0 else ast.Lt
        return self.operate(ahead, *starts)


def _step(axis: Axis) -> int | None:
    """The step of an axis where the compiler knows it."""
    return 1 if axis.step is None else axis.step.constant
