"""Arrays in a kernel: their shapes, indices and slices, loads and stores."""

import ast
from dataclasses import replace
from typing import NamedTuple

from numba import types
from numba.np.numpy_support import as_dtype

from numba_simt.instructions.float_indices import refusal
from numba_simt.instructions.rounds import Rounds
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
ELLIPSIS, NEW_AXIS = Object(...), Object(None)


class Views(Rounds):
    """Emits what indexing needs; a view is a value of the compiler, no memory is copied."""

    def declare(self, space: str, kind: object, ndim: int, **spec: object) -> View:
        """A new array of the program, as a view of all of it; `spec`: fields of ArraySpec."""
        if not is_number(kind) and not isinstance(kind, types.Record):
            self.refuse(f"an array of {kind} cannot be used: bool and numbers to 128 bits can.")
        if ndim > MAX_DIMENSIONS:
            self.refuse(f"an array of {ndim} dimensions is too much: {MAX_DIMENSIONS} work.")
        whole = (None,) * ndim
        spec = {"argument": None, "shape": whole, "name": ""} | spec
        self.arrays.append(ArraySpec(space, dtype=as_dtype(kind), **spec))
        axes = tuple(Axis(dimension) for dimension in range(ndim))
        return View(len(self.arrays) - 1, kind, whole, axes)

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
        return self.refuse(f"arrays have no .{name} here.")

    def items(self, node: ast.expr) -> list:
        """What stands between the brackets: numbers, Slices, Object(...) and Object(None)."""
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
        bound = None if node is None else self.compile(node)
        if bound in (None, Object(None)):
            return None
        self._not_a_float(bound, node)
        return self.integer(self.certain(bound))

    def integer(self, value: object) -> Value:
        """An index as int64."""
        if not isinstance(value, Value) or not isinstance(value.type, types.Integer):
            self.refuse(f"an integer is needed, not {self.describe(value)}: use int().")
        if value.type == types.uint64:  # never negative: it does not wrap
            largest = Value(types.uint64, constant=2**63 - 1)
            value = self.op("MIN", types.uint64, value, largest)
        return self.convert(value, types.int64)

    def select(self, view: View, items: list) -> View:
        """view[items]; axes without an item stay whole."""
        items = self._without_ellipsis(view, items)
        fixed = list(view.fixed)
        axes = []
        left = iter(view.axes)
        for item in items:
            if item == NEW_AXIS:
                axes.append(self._new_axis(view))
                continue
            axis = next(left)
            if isinstance(item, Slice):
                axes.append(axis if item == _ALL else self._cut(view, axis, item))
            else:
                d = axis.dimension
                fixed[d] = self._sum(fixed[d], self._index(view, axis, item))
        return replace(view, fixed=tuple(fixed), axes=tuple(axes))

    def _without_ellipsis(self, view: View, items: list) -> list:
        """An item for each axis, and those that make new ones."""
        given = sum(item not in (ELLIPSIS, NEW_AXIS) for item in items)
        if given > len(view.axes):
            self.refuse(f"{self.describe(view)} has {len(view.axes)} indices, not {given}.")
        ellipses = items.count(ELLIPSIS)
        if ellipses > 1:
            self.refuse("an index has at most one `...`: write `:` for the other axes.")
        whole = [_ALL] * (len(view.axes) - given)
        if not ellipses:
            return items + whole
        at = items.index(ELLIPSIS)
        return items[:at] + whole + items[at + 1 :]

    def _new_axis(self, view: View) -> Axis:
        """None between the brackets: an axis of length 1, which moves nothing."""
        if not view.fixed:
            self.refuse("an array of 0 dimensions gets no new axis here: use its element, x[()].")
        return Axis(0, number(0), number(0), number(1))

    def _sum(self, before: Value | None, index: Value) -> Value:
        """The index of a dimension, of which several axes may have a part."""
        if before is None or before.constant == 0:
            return index
        return before if index.constant == 0 else self.calculate("ADD", before, index)

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
        if step.constant == 0:
            self.refuse("the step of a slice must not be 0.")
        if step.constant is None:
            zero = self.operate(ast.Eq, step, number(0))
            self.throw_if(zero, ValueError, "slice step cannot be zero")
        rises = self.operate(ast.Gt, step, number(0))
        n = self.length(view, axis)
        low = self.choice(rises, number(0), number(-1))
        high = n
        if rises.constant is not True:
            high = self.choice(rises, n, self.calculate("SUB", n, number(1)))
        first = self.choice(rises, low, high)
        last = self.choice(rises, high, low)
        start = first if item.start is None else self._clamp(item.start, n, low, high)
        stop = last if item.stop is None else self._clamp(item.stop, n, low, high)
        length = self.steps(rises, start, stop, step)
        if axis.start is not None:
            start = self._along(axis, start)
            step = self.calculate("MUL", step, axis.step)
        return Axis(axis.dimension, start, step, length)

    def steps(self, rises: Value, start: Value, stop: Value, step: Value) -> Value:
        """How many steps there are from start to stop, at least 0."""
        span = self._difference(rises, stop, start)
        stride = self._difference(rises, step, number(0))
        rounded_up = self.calculate("ADD", span, self.calculate("SUB", stride, number(1)))
        steps = self.calculate("FLOORDIV", rounded_up, stride)
        return self.calculate("MAX", number(0), steps)

    def _difference(self, rises: Value, a: Value, b: Value) -> Value:
        """a - b, or b - a where the step falls."""
        if rises.constant is not None:
            return self.calculate("SUB", *((a, b) if rises.constant else (b, a)))
        forth, back = self.calculate("SUB", a, b), self.calculate("SUB", b, a)
        return self.choice(rises, forth, back)

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
