"""Functions of whole arrays: ufuncs with an array to fill, reductions, methods."""

from collections.abc import Callable, Sequence

import numpy as np
from numba import types

from numba_simt.callables import reductions
from numba_simt.callables.function_table import choose_loop, home_of, offers
from numba_simt.callables.functions import Functions, written
from numba_simt.values import ARRAYS, Choice, Method, Object, Value, View

_BROADCAST = "unable to broadcast argument"  # what Numba says
_REDUCED = {  # what a kernel calls -> the function of reductions.py
    "sum": "summed",
    "prod": "multiplied",
    "mean": "mean",
    "var": "variance",
    "std": "deviation",
    "all": "every",
    "any": "some",
    "min": "least",
    "max": "greatest",
    "argmin": "argleast",
    "argmax": "arggreatest",
}
_OF_NUMPY = _REDUCED | {
    "amin": "least",
    "amax": "greatest",
    "count_nonzero": "nonzeros",
    "nansum": "sum_of_numbers",
    "nanprod": "product_of_numbers",
    "nanmean": "mean_of_numbers",
    "nanvar": "variance_of_numbers",
    "nanstd": "deviation_of_numbers",
    "nanmin": "least_number",
    "nanmax": "greatest_number",
}
_STARTS = {"summed": 0, "sum_of_numbers": 0, "multiplied": 1, "product_of_numbers": 1}
_MEANS = ("mean", "variance", "deviation")  # start with 0 of a float
_ORDERED = ("least", "greatest", "argleast", "arggreatest", "variance", "deviation")


def reduction(called: object) -> str | None:
    """The function of reductions.py for np.sum and the like; None where there is none."""
    name = getattr(called, "__name__", "")
    known = name in _OF_NUMPY and getattr(np, name) is called
    return _OF_NUMPY[name] if known else None


class ArrayFunctions(Functions):
    """Compiles loops over all elements; every thread that comes here runs all of them."""

    def mathematical(self, function: Callable, *arguments: object) -> object:
        """math.sqrt(x), np.sin(x); np.sin(array, out) fills an array."""
        of_arrays = isinstance(function, np.ufunc) and len(arguments) == function.nargs
        if of_arrays and isinstance(arguments[-1], ARRAYS):
            return self._ufunc(function, arguments)
        if any(isinstance(argument, ARRAYS) for argument in arguments):
            name = written(home_of(function))
            self.refuse(
                f"{name} of an array would need memory for its result: give the array to fill as "
                "the last argument, or take one element."
            )
        return super().mathematical(function, *arguments)

    def _ufunc(self, function: np.ufunc, arguments: Sequence) -> Object:
        """np.sin(x, out), np.arctan2(x, y, out)"""
        called = home_of(function)
        *given, out = arguments
        kinds = []
        for value in arguments:
            if not isinstance(value, (Value, *ARRAYS)):
                self.refuse(f"numbers and arrays are needed here, not {self.describe(value)}.")
            kinds.append(value.dtype if isinstance(value, ARRAYS) else value.type)
        chosen = choose_loop(called, function, tuple(kinds)) if offers(called) else None
        if chosen is None or isinstance(out, Choice):
            found = " and ".join(map(str, kinds))
            self.refuse(f"Numba has no {written(called)} for arrays of {found} in a kernel.")
        instruction, inputs, result = chosen
        read = [self._reader(value, out, kind) for value, kind in zip(given, inputs, strict=True)]

        def act(place: list[Value]) -> None:
            values = [one(place) for one in read]
            found = self.convert(self.compute(instruction, values, result), out.dtype)
            self.store(self.select(out, place), found)

        self.each_element(out, act)
        return Object(None)

    def _reader(self, value: object, out: View, kind: object) -> Callable[[list], Value]:
        """What gives the operand of an element of the result."""
        if isinstance(value, Value):
            converted = self.convert(value, kind)
            return lambda place: converted
        fewer = len(out.axes) - len(value.axes)
        if fewer < 0:
            self.refuse(f"{self.describe(value)} has more axes than the array to fill.")
        stretched = self.stretched(value, self.shape(out)[fewer:], _BROADCAST)

        def read(place: list[Value]) -> Value:
            part = self.select(value, self.stretch(stretched, place[fewer:]))
            return self.convert(self.load(part), kind)

        return read

    def reduced(self, name: str, array: object, *more: object) -> object:
        """np.sum(array), array.mean() and the like, by the name in reductions.py."""
        if more or not isinstance(array, ARRAYS):
            self.limit("it takes one array here, and reduces all of it: no axis, no numbers.")
        if isinstance(array.dtype, types.Record | types.Complex) and name in _ORDERED:
            self.limit(f"here it is not for arrays of {array.dtype}: write the loop.")
        if not name.startswith("arg"):  # an index counts along the rows
            array = self._in_order(array)
        function = getattr(reductions, name)
        start = self._start(name, array.dtype)
        return self.inlined(function, [array] if start is None else [array, start])

    def _start(self, name: str, kind: object) -> Value | None:
        """What a sum or product starts with, in the type that Numba gives it."""
        if name in _MEANS:
            whole = isinstance(kind, types.Integer | types.Boolean)
            return Value(types.float64 if whole else kind, constant=0)
        if name not in _STARTS:
            return None
        if isinstance(kind, types.Integer | types.Boolean):
            unsigned = isinstance(kind, types.Integer) and not kind.signed and name == "summed"
            kind = types.uint64 if unsigned else types.int64
        return Value(kind, constant=_STARTS[name])

    def _in_order(self, array: View | Choice) -> View | Choice:
        """An array in the order in which Numba runs over it: that of the memory."""
        columns = isinstance(array, View) and self.arrays[array.array].f_order
        whole = columns and len(array.axes) == len(array.fixed)
        plain = whole and all(axis.start is None for axis in array.axes)
        return self.property_of(array, "T") if plain else array

    def method(self, method: Method, arguments: list, named: dict) -> object:
        """x.reshape(2, 3), x.sum()"""
        owner, name = method.owner, method.name
        if named:
            self.refuse(f".{name}() takes no arguments by name here.")
        match name:
            case "reshape" if arguments:
                return self.reshape(owner, *arguments)
            case "view" if len(arguments) == 1:
                return self.cast(owner, arguments[0])
            case "transpose" if not arguments:
                return self.property_of(owner, "T")
            case "item" if not arguments:
                return self._only(owner)
            case "fill" if len(arguments) == 1:
                self.numbers(*arguments)
                self.fill(owner, arguments[0])
                return Object(None)
        if name not in _REDUCED or arguments:
            self.refuse(f".{name}() takes other arguments.")
        return self.reduced(_REDUCED[name], owner)

    def _only(self, array: View | Choice) -> Value:
        """x.item() of an array of one element"""
        size = self.property_of(array, "size")
        differ = self.invert(self.is_number(size, 1))
        self.throw_if(differ, ValueError, "item(): cannot convert array of size > 1")
        first = Value(types.int64, constant=0)
        return self.item(array, [first] * len(array.axes))
