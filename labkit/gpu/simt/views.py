"""Arrays in a kernel: indexing, slices, loads and stores."""

import ast
from dataclasses import replace
from functools import partial, reduce

from numba import types
from numba.np.numpy_support import as_dtype

from labkit.gpu.simt.arithmetic import Arithmetic, number
from labkit.gpu.simt.ops import MAX_DIMENSIONS
from labkit.gpu.simt.values import ArraySpec, Axis, Object, Value, View, is_number, register_type

_ALL = None, None, None  # the slice [:]


class Views(Arithmetic):
    def declare(self, space: str, kind: object, ndim: int, **spec: object) -> View:
        """A new array of the program, as a view of all of it."""
        if not is_number(kind):
            self.refuse(f"an array of {kind} cannot be used: bool and numbers to 128 bits can.")
        if ndim > MAX_DIMENSIONS:
            self.refuse(f"an array of {ndim} dimensions is too much: {MAX_DIMENSIONS} work.")
        spec = {"argument": None, "shape": (None,) * ndim, "name": ""} | spec
        self.arrays.append(ArraySpec(space, dtype=as_dtype(kind), **spec))
        return View(len(self.arrays) - 1, kind, (None,) * ndim, tuple(map(Axis, range(ndim))))

    def type_of(self, value: object) -> object:
        """Numba's type of an argument, as signatures name it."""
        if isinstance(value, Value):
            return value.type
        if isinstance(value, View):
            return types.Array(value.dtype, len(value.axes), "C" if self.in_rows(value) else "A")
        if isinstance(value, tuple):
            return types.Tuple(tuple(map(self.type_of, value)))
        return types.none

    def in_rows(self, view: View) -> bool:
        """Whether it is C-contiguous: the last axes of such an array, each of them whole."""
        whole = [axis.dimension for axis in view.axes if axis.start is None]
        last = range(len(view.fixed) - len(view.axes), len(view.fixed))
        return whole == list(last) and self.arrays[view.array].c_order

    def length(self, view: View, axis: Axis) -> Value:
        """Number of elements along an axis, int64."""
        if axis.start is not None:
            return axis.length
        array, key = self.arrays[view.array], (view.array, axis.dimension)
        if array.space in ("shared", "local"):
            return number(array.shape[axis.dimension])
        if key not in self.extents:
            self.extents[key] = self.new_register(True)
        return Value(types.int64, self.extents[key])

    def property_of(self, view: View, name: str) -> object:
        """view.shape and the like"""
        shape = tuple(self.length(view, axis) for axis in view.axes)
        if name == "size":
            return reduce(partial(self.calculate, "MUL"), shape, number(1))
        properties = {"shape": shape, "ndim": number(len(shape)), "dtype": Object(view.dtype)}
        properties["T"] = replace(view, axes=view.axes[::-1])
        if name not in properties:
            self.refuse(f"arrays have .shape, .size, .ndim, .dtype and .T here, no .{name}.")
        return properties[name]

    def items(self, node: ast.expr) -> list:
        """What stands between the brackets: values, and tuples (start, stop, step)."""
        if isinstance(node, ast.Tuple):
            return [item for part in node.elts for item in self.items(part)]
        if isinstance(node, ast.Slice):
            parts = node.lower, node.upper, node.step
            return [tuple(part and self.integer(self.compile(part)) for part in parts)]
        value = self.compile(node)
        return list(value) if isinstance(value, tuple) else [value]

    def integer(self, value: object) -> Value:
        """An index as int64."""
        if not isinstance(value, Value) or not isinstance(value.type, types.Integer):
            self.refuse(f"an integer is needed, not {self.describe(value)}: use // or int().")
        if value.type == types.uint64:  # never negative: it does not wrap
            value = self.op("MIN", types.uint64, value, Value(types.uint64, constant=2**63 - 1))
        return self.convert(value, types.int64)

    def select(self, view: View, items: list) -> View:
        """view[items]"""
        if len(items) > len(view.axes):
            self.refuse(f"{self.describe(view)} has {len(view.axes)} indices, not {len(items)}.")
        fixed, axes = list(view.fixed), []
        for axis, item in zip(view.axes, items + [_ALL] * len(view.axes), strict=False):
            if isinstance(item, tuple):
                axes.append(axis if item == _ALL else self._cut(view, axis, *item))
                continue
            index = self.integer(item)
            if axis.start is not None:  # a dimension as a whole is checked by the load or store
                place = axis.length, axis.dimension, view.array
                index = self._along(axis, self.op("CHECK", types.int64, index, *place))
            fixed[axis.dimension] = index
        return replace(view, fixed=tuple(fixed), axes=tuple(axes))

    def _along(self, axis: Axis, index: Value) -> Value:
        return self.calculate("ADD", self.calculate("MUL", index, axis.step), axis.start)

    def _cut(self, view: View, axis: Axis, start, stop, step) -> Axis:
        """The axis after [start:stop:step], with bounds clamped as in Python."""
        step = number(1) if step is None else step
        if not step.constant:
            self.refuse("the step of a slice must be a constant other than 0.")
        n, stride, down = self.length(view, axis), abs(step.constant), step.constant < 0
        low, high = (number(-1), self.calculate("SUB", n, number(1))) if down else (number(0), n)

        def clamp(bound: Value) -> Value:
            negative = self.operate(ast.Lt, bound, number(0))  # counted from the end
            bound = self.choice(negative, self.calculate("ADD", bound, n), bound)
            return self.calculate("MAX", self.calculate("MIN", bound, high), low)

        start = (high if down else low) if start is None else clamp(start)
        stop = (low if down else high) if stop is None else clamp(stop)
        span = self.calculate("SUB", *((start, stop) if down else (stop, start)))
        span = self.calculate("ADD", span, number(stride - 1))
        length = self.calculate("MAX", number(0), self.calculate("FLOORDIV", span, number(stride)))
        if axis.start is not None:
            start, step = self._along(axis, start), self.calculate("MUL", step, axis.step)
        return Axis(axis.dimension, start, step, length)

    def choice(self, test: Value, a: object, b: object) -> object:
        """`a if test else b` of values that are there already"""
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(self.choice(test, x, y) for x, y in zip(a, b, strict=True))
        kind = self.common(a, b)
        if test.constant is not None:
            return a if test.constant else b
        return self.op("SELECT", kind, test, self.convert(a, kind), self.convert(b, kind))

    def load(self, view: View) -> Value:
        local = self.arrays[view.array].space == "local"
        return self.op("LD", view.dtype, view.array, *view.fixed, vector=local)

    def store(self, view: View, value: object) -> None:
        self.writable(view)
        self.numbers(value)
        kind = register_type(view.dtype)  # the machine narrows integers when it writes them
        if register_type(value.type) != kind or view.dtype == types.boolean:
            value = self.convert(value, view.dtype)
        self.emit("ST", view.array, value, *view.fixed, type=kind)

    def writable(self, view: View) -> None:
        spec = self.arrays[view.array]
        if spec.space == "constant":
            self.refuse(f"`{spec.name}` comes from outside the kernel, where arrays are constants.")

    def target(self, node: ast.Subscript) -> View:
        """The element of an array that a subscript names, for writing."""
        owner = self.compile(node.value)
        if not isinstance(owner, View):
            self.refuse(f"{self.describe(owner)} cannot be assigned to by index: arrays can.")
        view = self.select(owner, self.items(node.slice))
        if view.axes:
            self.refuse("only single elements can be assigned: loop over the elements.")
        return view

    def compile_Subscript(self, node: ast.Subscript) -> object:
        owner, items = self.compile(node.value), self.items(node.slice)
        if isinstance(owner, View):
            view = self.select(owner, items)
            return view if view.axes else self.load(view)
        if not isinstance(owner, tuple) or len(items) != 1:
            self.refuse(f"{self.describe(owner)} cannot be indexed so: arrays and tuples can.")
        try:
            return owner[self.integer(items[0]).constant]
        except (IndexError, TypeError):
            self.refuse(f"the index of a tuple of {len(owner)} is a constant within it.")
