"""Elements of what a kernel indexes: of arrays, of one of several arrays, of tuples."""

from collections.abc import Callable

from numba import types

from numba_simt.instructions.views import Slice, Views
from numba_simt.reading.typing_rules import number
from numba_simt.values import (
    Axis,
    Choice,
    Value,
    View,
)


class Elements(Views):
    """Compiles subscripts; what is done to one of several arrays is done in a branch for each."""

    def each_array(
        self,
        chosen: Choice,
        action: Callable[[View], object],
    ) -> None:
        """action(view) for the lanes of each of the arrays."""
        *others, last = chosen.views

        def turn_to(i: int) -> bool:
            if i == len(others):
                action(last)
                return False
            test = self.is_number(chosen.which, i)
            return self.choose(test, lambda: action(others[i]) and False, lambda: turn_to(i + 1))

        turn_to(0)

    def own_key(self) -> tuple:
        """Of a variable of the compiler's own, the same in every pass."""
        turn = self.turns.get(self.at, 0)  # one node may need several
        self.turns[self.at] = turn + 1
        return self.scope, self.at, "turn", turn

    def length(
        self,
        view: View | Choice,
        axis: Axis,
    ) -> Value:
        """Number of elements along an axis, int64; of one of several arrays, its own."""
        if not isinstance(view, Choice):
            return super().length(view, axis)
        place = [other is axis for other in view.axes].index(True)
        lengths = [super(Elements, self).length(one, one.axes[place]) for one in view.views]
        return self.picked(view.which, lengths)

    def property_of(
        self,
        view: View | Choice,
        name: str,
    ) -> object:
        """view.shape and the like"""
        if isinstance(view, Choice) and name == "T":
            return Choice(view.which, tuple(super().property_of(one, name) for one in view.views))
        return super().property_of(view, name)

    def select(
        self,
        view: View | Choice,
        items: list,
    ) -> View | Choice:
        """view[items]; axes without an item stay whole."""
        if not isinstance(view, Choice):
            return super().select(view, items)
        checks = any(axis.start is not None for one in view.views for axis in one.axes)
        if checks:
            key = self.own_key()
            self.each_array(
                view, lambda one: self.assign((*key, one.form), self.select(one, items))
            )
            views = [self.read_variable((*key, one.form)) for one in view.views]
        else:
            views = [self.select(one, items) for one in view.views]
        return Choice(view.which, tuple(views))

    def load(self, view: View | Choice) -> Value:
        """The element that a view without axes is."""
        if not isinstance(view, Choice):
            return super().load(view)
        key = self.own_key()
        self.each_array(view, lambda one: self.assign(key, self.load(one)))
        return self.read_variable(key)

    def store(
        self,
        view: View | Choice,
        value: object,
    ) -> None:
        """The number into the element that a view without axes is."""
        value = self.certain(value)
        if not isinstance(view, Choice):
            super().store(view, value)
            return
        self.each_array(view, lambda one: self.store(one, value))

    def item(
        self,
        view: View | Choice,
        items: list,
    ) -> object:
        """view[items]: an array, or the number where no axis is left."""
        return self.element(self.select(view, items))

    def element(self, part: View | Choice) -> object:
        """The number that a view without axes is; a part of an array, and a record, as it is."""
        whole = part.axes or isinstance(part.dtype, types.Record)
        return part if whole else self.load(part)

    def part_of_tuple(
        self,
        owner: tuple,
        item: Slice,
    ) -> tuple:
        """t[a:b:c]"""
        bounds = [None if bound is None else bound.constant for bound in item]
        for constant, bound in zip(bounds, item, strict=True):
            if bound is not None and constant is None:
                self.refuse("a slice of a tuple has constant bounds: they say how long it is.")
        if bounds[2] == 0:
            self.refuse("the step of a slice must not be 0.")
        return tuple(owner[slice(*bounds)])

    def item_of_tuple(
        self,
        owner: tuple,
        index: Value,
    ) -> object:
        """t[i]; of a variable i where all items have one type, as in Numba."""
        n = len(owner)
        if index.constant is not None:
            if not -n <= index.constant < n:
                self.refuse(f"tuple index out of range: {index.constant} of a tuple of {n}.")
            return owner[index.constant]
        self.homogeneous(owner)
        if not n:
            self.refuse("an empty tuple has no items.")
        negative = self.op("LT", types.boolean, index, number(0), of=types.int64)
        index = self.choice(negative, self.calculate("ADD", index, number(n)), index)
        below = self.op("LT", types.boolean, index, number(0), of=types.int64)
        within = self.op("LT", types.boolean, index, number(n), of=types.int64)
        outside = self.op("OR", types.boolean, below, self.invert(within))
        self.throw_if(outside, IndexError, "tuple index out of range")
        return self.picked(index, owner)

    def homogeneous(self, items: tuple) -> None:
        """Refuses a tuple whose items differ in type where Numba must know which one it is."""
        kinds = [self.type_of(item) for item in items]
        if any(kind != kinds[0] for kind in kinds):
            several = ", ".join(map(str, kinds))
            self.refuse(
                f"the items of this tuple have several types ({several}), and the compiler must "
                "know which one it is: use constant indices, or literal_unroll."
            )
