"""What stands in brackets or behind a dot, for reading and for writing."""

import ast

from numba_simt.instructions.filling import Filling
from numba_simt.instructions.views import Slice
from numba_simt.reading.typing_rules import number
from numba_simt.values import ARRAYS, Choice, Flat, Value, View


class Subscripts(Filling):
    """Compiles x[i], x[i, 1:], t[0], r["field"], and what assignments name so."""

    def compile_Subscript(self, node: ast.Subscript) -> object:
        """x[i], x[i, 1:], an element of a tuple, a field of a record."""
        return self.subscript(self.compile(node.value), self.items(node.slice))

    def subscript(self, owner: object, items: list) -> object:
        """owner[items]"""
        field = self.named_field(owner, items)
        if field is not None:
            return self.element(field)
        if isinstance(owner, ARRAYS):
            return self.item(owner, items)
        if isinstance(owner, Flat) and len(items) == 1:
            return self.item_at(owner, self._place_in_flat(owner, items[0]))
        if not isinstance(owner, tuple) or len(items) != 1:
            self.refuse(f"{self.describe(owner)} cannot be indexed so: arrays and tuples can.")
        if isinstance(items[0], Slice):
            return self.part_of_tuple(owner, items[0])
        index = self.certain(items[0])
        return self.item_of_tuple(owner, self.integer(index))

    def target(self, node: ast.Subscript | ast.Attribute) -> View | Choice:
        """What it names, for writing: an element of an array, a part of it, a field."""
        owner = self.compile(node.value)
        if isinstance(node, ast.Attribute):
            return self._field_to_set(owner, node.attr)
        return self.target_in(owner, self.items(node.slice))

    def target_in(self, owner: object, items: list) -> View | Choice:
        """owner[items], for writing."""
        if not isinstance(owner, ARRAYS):
            self.refuse(f"{self.describe(owner)} cannot be assigned to by index: arrays can.")
        field = self.named_field(owner, items)
        if field is None:
            return self.select(owner, items)
        if owner.axes:
            self.refuse("Numba sets no field of all records at once: index it, as a['n'][:] = 0.")
        return field

    def _field_to_set(self, owner: object, name: str) -> View | Choice:
        """r.n = x"""
        record = isinstance(owner, ARRAYS) and not owner.axes
        if not record or not self.has_field(owner, name):
            self.refuse(f"{self.describe(owner)} has no .{name} to set: fields of records have.")
        field = self.field(owner, name)
        if field.axes:
            self.refuse(f"Numba sets no array through .{name}: write r[{name!r}] = array.")
        return field

    def write(self, view: View | Choice, value: object) -> None:
        """The value into what `target` found."""
        if view.axes:
            value = self.certain(value)
            self.fill(view, value)
        else:
            self.store(view, value)

    def _place_in_flat(self, flat: Flat, item: object) -> Value:
        """An index of x.flat, counted from the start."""
        index, size = self.integer(item), self.count_of(flat)
        negative = self.operate(ast.Lt, index, number(0))
        index = self.choice(negative, self.calculate("ADD", index, size), index)
        below = self.operate(ast.Lt, index, number(0))
        above = self.operate(ast.GtE, index, size)
        self.throw_if(self.operate(ast.BitOr, below, above), IndexError, "index out of bounds")
        return index
