"""Records of a kernel: arrays of structured dtypes, their fields, and one of them as a value."""

from dataclasses import replace

from numba import types
from numba.np.numpy_support import as_dtype

from numba_simt.instructions.elements import Elements
from numba_simt.ops import MAX_DIMENSIONS
from numba_simt.program import Alias, ArraySpec
from numba_simt.values import ARRAYS, Axis, Choice, Object, Value, View, is_number


class Records(Elements):
    """Emits the access to fields; a field is another array in the same memory."""

    def alias(self, array: int, kind: object, alias: Alias, name: str, **spec: object) -> int:
        """The number of an array in the memory of another one; `spec`: fields of ArraySpec."""
        key = (alias, kind)
        if key not in self.sites:
            parent = self.arrays[array]
            given = {"shape": parent.shape, "c_order": False} | spec
            made = ArraySpec(
                parent.space,
                parent.argument,
                dtype=as_dtype(kind),
                name=parent.name + name,
                alias=alias,
                **given,
            )
            self.arrays.append(made)
            self.sites[key] = len(self.arrays) - 1
        return self.sites[key]

    def part_of(
        self, view: View, name: str, kind: object, offset: int, inner: tuple[int, ...] = ()
    ) -> View:
        """The same part of each element; one that is an array adds its axes."""
        dimensions = len(view.fixed)
        if dimensions + len(inner) > MAX_DIMENSIONS:
            self.refuse(f"an array of {dimensions + len(inner)} dimensions is too much here.")
        shape = (*self.arrays[view.array].shape, *inner)
        made = Alias(view.array, "part", offset)
        array = self.alias(view.array, kind, made, f".{name}", shape=shape, inner=inner)
        axes = [Axis(dimensions + i) for i in range(len(inner))]
        fixed = (*view.fixed, *[None] * len(inner))
        return View(array, kind, fixed, (*view.axes, *axes))

    def field(self, array: View | Choice, name: object) -> View | Choice:
        """The field of a record, or of each record of an array; by its name, or its place."""
        if isinstance(array, Choice):
            return replace(array, views=tuple(self.field(view, name) for view in array.views))
        fields = array.dtype.fields
        if isinstance(name, int) and -len(fields) <= name < len(fields):
            name = [*fields][name]
        if name not in fields:
            self.refuse(f"the records have no field {name!r}, but {', '.join(fields)}.")
        found = fields[name]
        kind, inner = found.type, ()
        if isinstance(kind, types.NestedArray):
            kind, inner = kind.dtype, kind.shape
        if not is_number(kind) and not isinstance(kind, types.Record):
            self.limit(f"the field {name!r} is a {kind}, which a kernel cannot use here.")
        self._check_alignment(array.dtype, name, kind, found.offset)
        return self.part_of(array, name, kind, found.offset, inner)

    def _check_alignment(self, record: object, name: str, kind: object, offset: int) -> None:
        """Refuses what Numba refuses: a number that begins at no multiple of its size."""
        if is_number(kind) and offset % as_dtype(kind).alignment:
            self.refuse(
                f"{record}.{name} of type {kind} is not aligned: make the dtype with align=True."
            )

    def has_field(self, array: View | Choice, name: str) -> bool:
        """Whether the name is one of a field, and not of what arrays have."""
        fields = getattr(array.dtype, "fields", None) or ()
        return name in fields or (bool(fields) and not array.axes)

    def named_field(self, owner: object, items: list) -> View | Choice | None:
        """What r["n"] names, or r[0] of a record; None where it is no field."""
        if not isinstance(owner, ARRAYS) or not isinstance(owner.dtype, types.Record):
            return None
        only = items[0] if len(items) == 1 else None
        if isinstance(only, Object) and isinstance(only.value, str):
            return self.field(owner, only.value)
        if not owner.axes and isinstance(only, Value) and only.constant is not None:
            return self.field(owner, only.constant)
        if not owner.axes:
            self.refuse("a record is indexed by a constant name or place of a field.")
        return None

    def load(self, view: View | Choice) -> Value:
        """The element that a view without axes is."""
        if isinstance(view.dtype, types.Record):
            self.refuse(f"{self.describe(view)} is a record, no number: take a field, as in r.x.")
        return super().load(view)

    def store(self, view: View | Choice, value: object) -> None:
        """The number, or the record, into the element that a view without axes is."""
        if not isinstance(view.dtype, types.Record):
            super().store(view, value)
        elif isinstance(view, Choice):
            self.each_array(view, lambda one: self.store(one, value))
        else:
            self._store_record(view, value)

    def _store_record(self, view: View, value: object) -> None:
        """Field by field: what lies between them is no one's."""
        given = isinstance(value, ARRAYS) and not value.axes and value.dtype
        if given != view.dtype:
            self.refuse(
                f"a record of {view.dtype} cannot be set from {self.describe(value)}: the other "
                "side is a record of the same dtype, or name the fields one by one."
            )
        for name in view.dtype.fields:
            target, source = self.field(view, name), self.field(value, name)
            if target.axes:
                self.fill(target, source)
            else:
                self.store(target, self.element(source))
