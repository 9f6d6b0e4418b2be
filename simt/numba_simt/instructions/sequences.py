"""What a kernel can run over: ranges, arrays, tuples, enumerate and zip of them."""

import ast
from collections.abc import Sequence

from numba import types

from numba_simt.instructions.shapes import Shapes
from numba_simt.reading.typing_rules import context, number, resolve
from numba_simt.values import ARRAYS, Enumerated, Flat, Places, Range, Value, Zipped

_COUNTED = (types.int32, types.int64, types.uint64)  # in Numba's order


class Sequences(Shapes):
    """Emits the lengths and the items of sequences."""

    def span(self, *bounds: object) -> Range:
        """range(stop), range(start, stop), range(start, stop, step)"""
        if not 1 <= len(bounds) <= 3:
            self.refuse(f"range takes one to three numbers, not {len(bounds)}.")
        self.numbers(*bounds)
        kind = _counted_in(tuple(bound.type for bound in bounds))
        if kind is None:
            self.refuse("range takes one to three real numbers: convert them with int().")
        if len(bounds) == 1:
            bounds = [number(0), *bounds]
        if len(bounds) == 2:
            bounds = [*bounds, number(1)]
        start, stop, step = [self.hold(self.convert(bound, kind)) for bound in bounds]
        if step.constant == 0:
            self.refuse("the step of range() must not be 0.")
        return Range(start, stop, step)

    def sequence(self, value: object) -> object:
        """The value, if a loop can run over it; refuses what Numba does not run over."""
        if isinstance(value, tuple):
            self.homogeneous(value)
            if not value:
                self.refuse("Numba cannot run over an empty tuple: it has no items to tell a type.")
        elif isinstance(value, ARRAYS):
            if not value.axes:
                self.refuse(f"a loop cannot run over {self.describe(value)}: it has no axis.")
        elif not isinstance(value, Range | Enumerated | Zipped | Flat | Places):
            self.refuse(
                f"a loop cannot run over {self.describe(value)}: it runs over range(), arrays, "
                "tuples, enumerate() and zip()."
            )
        return value

    def count_of(self, items: object) -> Value:
        """How many items there are, int64."""
        match items:
            case tuple():
                return number(len(items))
            case Range():
                rises = self.operate(ast.Gt, items.step, Value(items.step.type, constant=0))
                wide = [self.convert(v, types.int64) for v in (items.start, items.stop, items.step)]
                return self.steps(rises, *wide)
            case Enumerated():
                return self.count_of(items.items)
            case Flat():
                return self.property_of(items.array, "size")
            case Places():
                return self.product(items.lengths)
            case Zipped():
                counts = [self.count_of(part) for part in items.parts]
                shortest = counts[0]
                for count in counts[1:]:
                    shortest = self.calculate("MIN", shortest, count)
                return shortest
        return self.length(items, items.axes[0])

    def item_at(self, items: object, index: Value) -> object:
        """The item of that place, which is within the sequence."""
        match items:
            case tuple():
                return self.picked(index, items)
            case Range():
                kind = items.start.type
                far = self.op("MUL", kind, self.convert(index, kind), items.step)
                return self.convert(self.op("ADD", kind, items.start, far), kind)
            case Flat():
                return self.item(items.array, [*self._place(self.shape(items.array), index)])
            case Places():
                return self._place(items.lengths, index)
            case Enumerated():
                place = self.calculate("ADD", items.first, index)
                return place, self.item_at(items.items, index)
            case Zipped():
                return tuple(self.item_at(part, index) for part in items.parts)
        return self.item(items, [index])

    def product(self, lengths: Sequence[Value]) -> Value:
        """How many elements an array of such lengths has."""
        product = number(1)
        for length in lengths:
            product = self.calculate("MUL", product, length)
        return product

    def _place(self, lengths: Sequence[Value], index: Value) -> tuple[Value, ...]:
        """The indices of the element of that place, the last one fastest."""
        place = []
        for length in reversed(lengths):
            place.insert(0, self.operate(ast.Mod, index, length))
            index = self.calculate("FLOORDIV", index, length)
        return tuple(place)


def _counted_in(kinds: tuple) -> object | None:
    """The type of the numbers of a range, by Numba's rules."""
    typing = resolve(range, kinds)
    if typing:
        return typing[1].dtype
    from numba.core import typing as signatures

    if not all(isinstance(kind, types.Integer | types.Float | types.Boolean) for kind in kinds):
        return None
    cases = [signatures.signature(kind, *[kind] * len(kinds)) for kind in _COUNTED]
    best = context().resolve_overload("range", cases, kinds, {})
    return best.return_type if best else None
