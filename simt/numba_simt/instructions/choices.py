"""One value of two, by a condition: numbers, tuples, arrays."""

from collections.abc import Sequence

from numba import types

from numba_simt.instructions.arithmetic import Arithmetic
from numba_simt.reading.typing_rules import number
from numba_simt.values import (
    ARRAYS,
    Axis,
    Choice,
    Object,
    Optional,
    Value,
    View,
    rebuilt,
)


class Choices(Arithmetic):
    """Emits `a if test else b` of what is there already."""

    def choice(
        self,
        test: Value,
        a: object,
        b: object,
    ) -> object:
        """`a if test else b` of values that are there already."""
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return rebuilt(a, (self.choice(test, x, y) for x, y in zip(a, b, strict=True)))
        if isinstance(a, ARRAYS) and isinstance(b, ARRAYS):
            return self._choice_of_arrays(test, a, b)
        if _one_is_none(a, b):
            return self._choice_or_none(test, a, b)
        kind = self.common(a, b)
        if test.constant is not None:
            return self.convert(a if test.constant else b, kind)
        return self.op(
            "SELECT",
            kind,
            test,
            self.convert(a, kind),
            self.convert(b, kind),
        )

    def _choice_or_none(
        self,
        test: Value,
        a: object,
        b: object,
    ) -> Optional:
        """One of two of which at least one may be None."""
        a, b = map(as_optional, (a, b))
        present = self.choice(test, a.present, b.present)
        if a.number is None or b.number is None:
            return Optional(present, a.number or b.number)
        return Optional(present, self.choice(test, a.number, b.number))

    def _choice_of_arrays(
        self,
        test: Value,
        a: View | Choice,
        b: View | Choice,
    ) -> View | Choice:
        """One array of two; of two views of one form it is a view with one of their numbers."""
        self.alike(a, b)
        if test.constant is not None:
            return a if test.constant else b
        views = {view.form: view for view in _views(a)}
        for view in _views(b):
            other = views.get(view.form)
            views[view.form] = self._blend(test, other, view) if other else view
        forms = [*views]
        if len(forms) == 1:
            return views[forms[0]]
        which = self.choice(test, self._numbered(a, forms), self._numbered(b, forms))
        return Choice(which, tuple(views.values()))

    def _blend(
        self,
        test: Value,
        a: View,
        b: View,
    ) -> View:
        """The view with the numbers of the first or of the second."""
        numbers = {}
        b.map(lambda key, value: numbers.setdefault(key, value))
        return a.map(lambda key, value: self.choice(test, value, numbers[key]))

    def _numbered(
        self,
        array: View | Choice,
        forms: Sequence[tuple],
    ) -> Value:
        """Which of the forms it is, int64."""
        places = [forms.index(view.form) for view in _views(array)]
        if isinstance(array, View):
            return number(places[0])
        return self.renumbered(array.which, places)

    def renumbered(
        self,
        which: Value,
        places: Sequence[int],
    ) -> Value:
        """places[which]"""
        if [*places] == [*range(len(places))]:
            return which
        found = number(places[-1])
        for i in reversed(range(len(places) - 1)):
            found = self.choice(self.is_number(which, i), number(places[i]), found)
        return found

    def is_number(
        self,
        which: Value,
        i: int,
    ) -> Value:
        """Whether the number is i."""
        if which.constant is not None:
            return number(which.constant == i)
        return self.op("EQ", types.boolean, which, number(i), of=types.int64)

    def picked(
        self,
        which: Value,
        items: Sequence,
    ) -> object:
        """items[which], which is within them."""
        if which.constant is not None:
            return items[which.constant]
        found = items[-1]
        for i in reversed(range(len(items) - 1)):
            found = self.choice(self.is_number(which, i), items[i], found)
        return found

    def alike(
        self,
        a: View | Choice,
        b: View | Choice,
    ) -> None:
        """Refuses two arrays that no variable can hold by turns, as Numba does."""
        if (a.dtype, len(a.axes)) != (b.dtype, len(b.axes)):
            first, second = self.type_of(a), self.type_of(b)
            self.refuse(
                f"Numba cannot unify {first} and {second}: what may be one of two arrays has one "
                "dtype and one number of dimensions. Use two names."
            )

    def type_of(self, value: object) -> object:
        """Numba's type of an argument, as signatures name it."""
        if isinstance(value, Value):
            return value.type
        if isinstance(value, ARRAYS):
            if not value.axes and isinstance(value.dtype, types.Record):
                return value.dtype
            layout = "C" if self.in_rows(value) else "A"
            return types.Array(value.dtype, len(value.axes), layout)
        if isinstance(value, Optional):
            return types.Optional(value.number.type)
        if isinstance(value, tuple):
            return _tuple_type(value, tuple(map(self.type_of, value)))
        return types.none

    def in_rows(self, array: View | Choice) -> bool:
        """Whether it is C-contiguous: the last axes of such an array, all but the first whole."""
        if isinstance(array, Choice):
            return all(map(self.in_rows, array.views))
        whole = [axis.dimension for axis in array.axes[:1] if _without_gaps(axis)]
        whole += [axis.dimension for axis in array.axes[1:] if axis.start is None]
        dimensions = len(array.fixed)
        last = range(dimensions - len(array.axes), dimensions)
        return whole == list(last) and self.arrays[array.array].c_order


def _one_is_none(a: object, b: object) -> bool:
    """Whether it is a choice of numbers, and of None."""
    both = (isinstance(value, Value | Optional) or value == Object(None) for value in (a, b))
    return all(both) and not (isinstance(a, Value) and isinstance(b, Value)) and a != b


def as_optional(value: object) -> Optional:
    """A number, None, or what may be both; of None alone without a number."""
    if isinstance(value, Optional):
        return value
    present = isinstance(value, Value)
    return Optional(number(present), value if present else None)


def _views(array: View | Choice) -> tuple[View, ...]:
    return array.views if isinstance(array, Choice) else (array,)


def _without_gaps(axis: Axis) -> bool:
    """Whether it is whole, or a piece of neighbours."""
    return axis.start is None or getattr(axis.step, "constant", None) == 1


def _tuple_type(value: tuple, kinds: tuple) -> object:
    """Numba's type of a tuple, which may be a named one."""
    if hasattr(value, "_fields"):
        return types.BaseTuple.from_types(kinds, type(value))
    return types.BaseTuple.from_types(kinds)
