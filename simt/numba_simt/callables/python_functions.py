"""Python's own functions of numbers in a kernel: abs, min, max, round, int, float, complex, len."""

import ast
import operator
from collections.abc import Callable, Sequence

from numba import types

from numba_simt.callables import library
from numba_simt.callables.array_functions import ArrayFunctions
from numba_simt.reading.typing_rules import number, resolve
from numba_simt.values import ARRAYS, Enumerated, Places, Range, Value, Zipped

_FLOATS_OF_CUDA = (types.float32, types.float64)  # for which CUDA has fmin and fmax


class PythonFunctions(ArrayFunctions):
    """Compiles builtins, with the results that Numba's CUDA target gives."""

    def python_abs(self, x: Value) -> Value:
        """abs(x)"""
        _, result = self.typing("abs", abs, x)
        return self.absolute(x, result)

    def extreme(self, function: Callable, first: Value | tuple, *others: Value) -> Value:
        """min(a, b, c), max((a, b))

        Two float32 or float64 go to CUDA's fmin or fmax: of NaN and a number, the number. All else
        is `b if b < a else a`: the first where one is NaN.
        """
        in_a_tuple = isinstance(first, tuple) and not others
        values = first if in_a_tuple else (first, *others)
        self.numbers(*values)
        self._check_extremes(function.__name__, values)
        compared = in_a_tuple or len(values) > 2
        found = values[0]
        for value in values[1:]:
            found = self._extreme_of_two(function, found, value, compared)
        return self.convert(found, self._extreme_type(function, values))

    def _check_extremes(self, name: str, values: Sequence[Value]) -> None:
        bools = sum(isinstance(value.type, types.Boolean) for value in values)
        if len(values) < 2 or bools not in (0, 2) or (bools and len(values) > 2):
            found = ", ".join(str(value.type) for value in values)
            self.refuse(
                f"Numba has no {name}({found}): it takes two or more numbers, or two bools."
            )

    def _extreme_type(self, function: Callable, values: Sequence[Value]) -> object:
        """The type of all; of float16 and others that of their sum, as in CUDA."""
        if all(value.type != types.float16 for value in values):
            _, result = self.typing(function.__name__, function, *values)
            return result
        kind = values[0].type
        for value in values[1:]:
            _, kind = self.typing(
                "+",
                operator.add,
                Value(kind),
                Value(value.type),
            )
        return kind

    def _extreme_of_two(self, function: Callable, a: Value, b: Value, compared: bool) -> Value:
        """The smaller or larger one; `compared`: by `<`, also where CUDA has fmin or fmax."""
        name = function.__name__
        kind = self._extreme_type(function, (a, b))
        of_cuda = a.type in _FLOATS_OF_CUDA and b.type in _FLOATS_OF_CUDA
        a = self.convert(a, kind)
        b = self.convert(b, kind)
        if not isinstance(kind, types.Float) or (of_cuda and not compared):
            return self.op(name.upper(), kind, a, b)
        if name == "min":
            takes_b = self.op("LT", types.boolean, b, a, of=kind)
        else:
            takes_b = self.op("LT", types.boolean, a, b, of=kind)
        return self.choice(takes_b, b, a)

    def python_cast(self, kind: type, x: Value) -> Value:
        """int(x), float(x): what has such a type already keeps its width, as in Numba."""
        self.numbers(x)
        family = types.Integer if kind is int else types.Float
        if isinstance(x.type, family):
            return x
        known = isinstance(x.type, types.Float) or resolve(kind, (x.type,)) is not None
        if not known:
            self.refuse(
                f"Numba has no {kind.__name__}() for a {x.type}: convert it to int32 first."
            )
        return self.convert(x, types.int64 if kind is int else types.float64)

    def python_pow(self, a: Value, b: Value) -> Value:
        """pow(a, b)"""
        return self.operate(ast.Pow, a, b)

    def python_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        """divmod(a, b)"""
        typing = resolve(
            divmod,
            (getattr(a, "type", None), getattr(b, "type", None)),
        )
        if typing:
            kinds, _ = typing
            a = self.convert(a, kinds[0])
            b = self.convert(b, kinds[1])
        quotient = self.operate(ast.FloorDiv, a, b)
        return quotient, self.operate(ast.Mod, a, b)

    def python_round(self, x: Value, ndigits: Value | None = None) -> Value:
        """An integer; with `ndigits` a number of the same type, rounded to so many decimals."""
        given = (x,) if ndigits is None else (x, ndigits)
        kinds, result = self.typing("round()", round, *given)
        values = [self.convert(value, kind) for value, kind in zip(given, kinds, strict=True)]
        if ndigits is not None:
            return self.convert(self.inlined(library.round_to, values), result)
        whole = values[0]
        if isinstance(kinds[0], types.Float):
            whole = self._math("rint", kinds[0], values)
        return self.convert(whole, result)

    def python_len(self, thing: object) -> Value:
        """len(x) of an array or a tuple."""
        if isinstance(thing, ARRAYS):
            if not thing.axes:
                self.refuse(f"{self.describe(thing)} has no len(): it has no axis.")
            return self.length(thing, thing.axes[0])
        if isinstance(thing, Range):
            return self.count_of(thing)
        if not isinstance(thing, tuple):
            self.refuse(f"{self.describe(thing)} has no len(): arrays and tuples have.")
        return number(len(thing))

    def python_enumerate(self, items: object, first: Value | None = None) -> Enumerated:
        """enumerate(items), enumerate(items, first)"""
        start = number(0) if first is None else self.integer(first)
        return Enumerated(self.hold(self.sequence(items)), start)

    def python_zip(self, *parts: object) -> Zipped:
        """zip(a, b, ...)"""
        if not parts:
            self.refuse("Numba has no zip() of nothing: give it what to run over.")
        return Zipped(tuple(self.hold(self.sequence(part)) for part in parts))

    def places(self, *shape: object) -> Places:
        """np.ndindex(3, 4), np.ndindex(x.shape)"""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return Places(tuple(self.hold(self.integer(length)) for length in given))

    def numbered(self, array: object) -> Zipped:
        """np.ndenumerate(x)"""
        if not isinstance(array, ARRAYS):
            self.refuse(f"np.ndenumerate takes an array, not {self.describe(array)}.")
        return Zipped((Places(self.shape(array)), self.hold(self.flat(array))))

    def python_sum(self, items: object, start: Value | None = None) -> Value:
        """sum(t) of a tuple, sum(t, start)"""
        if not isinstance(items, tuple):
            self.limit(f"sum() is for tuples here, not for {self.describe(items)}: use x.sum().")
        total = number(0) if start is None else start
        for item in items:
            total = self.operate(ast.Add, total, item)
        return total

    def python_complex(self, real: Value, imag: Value | None = None) -> Value:
        """complex(real), complex(real, imag)"""
        given = (real,) if imag is None else (real, imag)
        _, kind = self.typing("complex()", complex, *given)
        if imag is None:
            return self.convert(real, kind)
        half = kind.underlying_float
        return self.op(
            "COMPLEX",
            kind,
            self.convert(real, half),
            self.convert(imag, half),
        )
