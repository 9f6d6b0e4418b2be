"""States of random generators in a kernel: arrays of records of two uint64, states[i]["s0"]."""

from dataclasses import replace

from numba import types

from numba_simt.instructions.views import Views
from numba_simt.reading.typing_rules import number
from numba_simt.values import Object, Value, View

FIELDS = ("s0", "s1")


def is_state(kind: object) -> bool:
    """Whether it is Numba's type of such a record."""
    if not isinstance(kind, types.Record):
        return False
    return tuple(kind.fields) == FIELDS


def _holds_states(thing: object) -> bool:
    """Whether it is an array of such records, or one of them."""
    return isinstance(thing, View) and is_state(thing.dtype)


class States(Views):
    """In memory they are an array of uint64 with a second axis, which a kernel does not see."""

    def declare_states(self, kind: object, position: int, name: str) -> View:
        """The view of an argument that is a 1-D array of such records."""
        view = self.declare(
            "global",
            types.uint64,
            2,
            argument=position,
            name=name,
        )
        return replace(view, dtype=kind.dtype, axes=view.axes[:1])

    def subscript(self, owner: object, items: list) -> object:
        """states[i], which is a record, and its fields; all else as Views does."""
        if not _holds_states(owner):
            return super().subscript(owner, items)
        if owner.axes:
            return self.select(owner, items)
        return self.load(self.field(owner, items[0]))

    def target_in(self, owner: object, items: list) -> View:
        """states[i]["s0"], for writing; all else as Views does."""
        if not _holds_states(owner):
            return super().target_in(owner, items)
        if owner.axes:
            self.refuse('a record is not assigned as a whole: assign its fields, "s0" and "s1".')
        return self.field(owner, items[0])

    def load(self, view: View) -> Value:
        """The element of an array; a record is none, but its fields are numbers."""
        if is_state(view.dtype):
            self.refuse('a record is no number: read its fields, "s0" and "s1".')
        return super().load(view)

    def field(self, record: View, name: object) -> View:
        """record["s0"]"""
        if not isinstance(name, Object) or name.value not in FIELDS:
            self.refuse('the fields of a generator\'s state are "s0" and "s1".')
        row, _ = record.fixed
        place = number(FIELDS.index(name.value))
        fixed = (row, place)
        return replace(record, dtype=types.uint64, fixed=fixed)
