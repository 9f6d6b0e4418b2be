"""Arrays in a kernel: their shapes, indices and slices, loads and stores."""

import ast
from dataclasses import replace
from typing import NamedTuple

from numba import types
from numba.np.numpy_support import as_dtype

from numba_simt.instructions.control import Control
from numba_simt.instructions.float_indices import refusal
from numba_simt.ops import MAX_DIMENSIONS
from numba_simt.program import ArraySpec
from numba_simt.reading.typing_rules import number
from numba_simt.values import Axis, Object, Value, View, is_number, register_type


class Slice(NamedTuple):
    """[start:stop:step] between the brackets; None is what was left out."""

    start: Value | None = None
    stop: Value | None = None
    step: Value | None = None


_ALL = Slice()


class Views(Control):
    """Emits what indexing needs; a view is a value of the compiler, no memory is copied."""

    def declare(self, space: str, kind: object, ndim: int, **spec: object) -> View:
        """A new array of the program, as a view of all of it; `spec`: fields of ArraySpec."""
        if not is_number(kind):
            self.refuse(f"an array of {kind} cannot be used: bool and numbers to 128 bits can.")
        if ndim > MAX_DIMENSIONS:
            self.refuse(f"an array of {ndim} dimensions is too much: {MAX_DIMENSIONS} work.")
        whole = (None,) * ndim
        spec = {"argument": None, "shape": whole, "name": ""} | spec
        self.arrays.append(ArraySpec(space, dtype=as_dtype(kind), **spec))
        axes = tuple(Axis(dimension) for dimension in range(ndim))
        return View(len(self.arrays) - 1, kind, whole, axes)

    def type_of(self, value: object) -> object:
        """Numba's type of an argument, as signatures name it."""
        if isinstance(value, Value):
            return value.type
        if isinstance(value, View):
            layout = "C" if self.in_rows(value) else "A"
            return types.Array(value.dtype, len(value.axes), layout)
        if isinstance(value, tuple):
            return types.Tuple(tuple(map(self.type_of, value)))
        return types.none

    def in_rows(self, view: View) -> bool:
        """Whether it is C-contiguous: the last axes of such an array, each of them whole."""
        whole = [axis.dimension for axis in view.axes if axis.start is None]
        dimensions = len(view.fixed)
        last = range(dimensions - len(view.axes), dimensions)
        return whole == list(last) and self.arrays[view.array].c_order

    def length(self, view: View, axis: Axis) -> Value:
        """Number of elements along an axis, int64."""
        if axis.start is not None:
            return axis.length
        array = self.arrays[view.array]
        if array.space in ("shared", "local"):
            return number(array.shape[axis.dimension])
        key = (view.array, axis.dimension)
        if key not in self.extents:
            self.extents[key] = self.new_register(scalar=True)
        return Value(types.int64, self.extents[key])

    def shape(self, view: View) -> tuple[Value, ...]:
        """The lengths of all axes."""
        return tuple(self.length(view, axis) for axis in view.axes)

    def property_of(self, view: View, name: str) -> object:
        """view.shape and the like"""
        match name:
            case "shape":
                return self.shape(view)
            case "size":
                size = number(1)
                for length in self.shape(view):
                    size = self.calculate("MUL", size, length)
                return size
            case "ndim":
                return number(len(view.axes))
            case "dtype":
                return Object(view.dtype)
            case "T":
                return replace(view, axes=view.axes[::-1])
        self.refuse(f"arrays have .shape, .size, .ndim, .dtype and .T here, no .{name}.")

    def items(self, node: ast.expr) -> list[Value | Slice]:
        """What stands between the brackets."""
        if isinstance(node, ast.Tuple):
            found = []
            for part in node.elts:
                found += self.items(part)
            return found
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return [Slice(*map(self._bound, bounds))]
        value = self.compile(node)
        self._not_a_float(value, node)
        return list(value) if isinstance(value, tuple) else [value]

    def _not_a_float(self, value: object, node: ast.expr) -> None:
        if isinstance(value, Value) and isinstance(value.type, types.Float):
            self.refuse(refusal(self, node, value))

    def _bound(self, node: ast.expr | None) -> Value | None:
        if node is None:
            return None
        value = self.compile(node)
        self._not_a_float(value, node)
        return self.integer(value)

    def integer(self, value: object) -> Value:
        """An index as int64."""
        if not isinstance(value, Value) or not isinstance(value.type, types.Integer):
            self.refuse(f"an integer is needed, not {self.describe(value)}: use int().")
        if value.type == types.uint64:  # never negative: it does not wrap
            largest = Value(types.uint64, constant=2**63 - 1)
            value = self.op("MIN", types.uint64, value, largest)
        return self.convert(value, types.int64)

    def select(self, view: View, items: list[Value | Slice]) -> View:
        """view[items]; axes without an item stay whole."""
        if len(items) > len(view.axes):
            self.refuse(f"{self.describe(view)} has {len(view.axes)} indices, not {len(items)}.")
        items = items + [_ALL] * (len(view.axes) - len(items))
        fixed = list(view.fixed)
        axes = []
        for axis, item in zip(view.axes, items, strict=True):
            if isinstance(item, Slice):
                axes.append(axis if item == _ALL else self._cut(view, axis, item))
            else:
                fixed[axis.dimension] = self._index(view, axis, item)
        return replace(view, fixed=tuple(fixed), axes=tuple(axes))

    def _index(self, view: View, axis: Axis, item: Value) -> Value:
        """The index in the array's dimension; of a whole one the load or store checks it."""
        index = self.integer(item)
        if axis.start is None:
            return index
        place = (axis.length, axis.dimension, view.array)
        return self._along(axis, self.op("CHECK", types.int64, index, *place))

    def _along(self, axis: Axis, index: Value) -> Value:
        """start + index * step"""
        return self.calculate(
            "ADD",
            self.calculate("MUL", index, axis.step),
            axis.start,
        )

    def _cut(self, view: View, axis: Axis, item: Slice) -> Axis:
        """The axis after [start:stop:step], with bounds clamped as in Python."""
        step = item.step or number(1)
        if not step.constant:
            self.refuse("the step of a slice must be a constant other than 0.")
        n = self.length(view, axis)
        if step.constant > 0:
            low = number(0)
            high = n
            start = low if item.start is None else self._clamp(item.start, n, low, high)
            stop = high if item.stop is None else self._clamp(item.stop, n, low, high)
            span = self.calculate("SUB", stop, start)
        else:
            low = number(-1)
            high = self.calculate("SUB", n, number(1))
            start = high if item.start is None else self._clamp(item.start, n, low, high)
            stop = low if item.stop is None else self._clamp(item.stop, n, low, high)
            span = self.calculate("SUB", start, stop)
        stride = abs(step.constant)
        rounded_up = self.calculate("ADD", span, number(stride - 1))
        steps = self.calculate("FLOORDIV", rounded_up, number(stride))
        length = self.calculate("MAX", number(0), steps)
        if axis.start is not None:
            start = self._along(axis, start)
            step = self.calculate("MUL", step, axis.step)
        return Axis(axis.dimension, start, step, length)

    def _clamp(self, bound: Value, n: Value, low: Value, high: Value) -> Value:
        """A bound of a slice: counted from the end if it is negative, and within the axis."""
        negative = self.operate(ast.Lt, bound, number(0))
        bound = self.choice(negative, self.calculate("ADD", bound, n), bound)
        return self.calculate("MAX", self.calculate("MIN", bound, high), low)

    def load(self, view: View) -> Value:
        """The element that a view without axes is."""
        local = self.arrays[view.array].space == "local"
        return self.op(
            "LD",
            view.dtype,
            view.array,
            *view.fixed,
            vector=local,
        )

    def store(self, view: View, value: object) -> None:
        """The number into the element that a view without axes is."""
        self.writable(view)
        self.numbers(value)
        kind = register_type(view.dtype)  # the machine narrows integers when it writes them
        if register_type(value.type) != kind or view.dtype == types.boolean:
            value = self.convert(value, view.dtype)
        self.emit("ST", view.array, value, *view.fixed, type=kind)

    def writable(self, view: View) -> None:
        """Refuses writing into a constant array."""
        spec = self.arrays[view.array]
        if spec.space == "constant":
            self.refuse(f"`{spec.name}` comes from outside the kernel, where arrays are constants.")

    def target(self, node: ast.Subscript) -> View:
        """The element of an array that a subscript names, for writing."""
        return self.target_in(self.compile(node.value), self.items(node.slice))

    def target_in(self, owner: object, items: list) -> View:
        """owner[items], for writing."""
        if not isinstance(owner, View):
            self.refuse(f"{self.describe(owner)} cannot be assigned to by index: arrays can.")
        view = self.select(owner, items)
        if view.axes:
            self.refuse("only single elements can be assigned: loop over the elements.")
        return view

    def compile_Subscript(self, node: ast.Subscript) -> object:
        """x[i], x[i, 1:], or an element of a tuple."""
        return self.subscript(self.compile(node.value), self.items(node.slice))

    def subscript(self, owner: object, items: list) -> object:
        """owner[items]"""
        if isinstance(owner, View):
            view = self.select(owner, items)
            return view if view.axes else self.load(view)
        if not isinstance(owner, tuple) or len(items) != 1:
            self.refuse(f"{self.describe(owner)} cannot be indexed so: arrays and tuples can.")
        try:
            return owner[self.integer(items[0]).constant]
        except (IndexError, TypeError):
            self.refuse(f"the index of a tuple of {len(owner)} is a constant within it.")
