"""Functions of numbers that kernels may call: of Python, math, cmath, NumPy and numba.cuda."""

import ast
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce

from numba import types

from labkit.gpu.simt import library
from labkit.gpu.simt.arithmetic import number, resolve
from labkit.gpu.simt.expressions import Expressions
from labkit.gpu.simt.ops import CLASSIFY, MATH, MATH2, OP, TYPES
from labkit.gpu.simt.signatures import choose, home_of, offers
from labkit.gpu.simt.values import Object, Value, View, register_type

_FACTORS = {"degrees": math.degrees(1), "radians": math.radians(1)}
_PAIRS = {"frexp": ("own_mantissa", "own_exponent"), "modf": ("own_fraction", "trunc")}
_LOGICAL = {"logical_and": ast.BitAnd, "logical_or": ast.BitOr, "logical_xor": ast.BitXor}
_LOGICAL["logical_not"] = ast.Not
_EXTREMES = {"fmax": "MAX", "fmin": "MIN", "maximum": "MAX", "minimum": "MIN"}  # of integers


_WAYS = {  # what is more than one instruction or one function of C -> its method
    "_scaled": _FACTORS,
    "_logical": _LOGICAL,
    "_with_integer": ("POWI", "LDEXP"),
    "_pair": _PAIRS,
    "_larger_or_smaller": _EXTREMES,
    "_class": CLASSIFY,
    "_bits": ("POPC", "CLZ", "FFS", "BREV"),
    "_one_method": ("ABS", "conjugate"),
}
_METHODS = {name: method for method, names in _WAYS.items() for name in names}


def written(called: str) -> str:
    """How a kernel writes a name of signatures.toml: np.sin, cuda.libdevice.expf."""
    home, _, name = called.partition(".")
    homes = {"numpy": "np", "libdevice": "cuda.libdevice", "fp16": "cuda.fp16"}
    return f"{homes.get(home, home)}.{name}"


def _cure(called: str) -> str:
    """What to write instead of a function that Numba does not have."""
    home, _, name = called.partition(".")
    name = {"absolute": "fabs", "arctan2": "atan2", "power": "pow"}.get(name, name)
    name = name.replace("arc", "a")
    if home == "numpy" and offers(f"math.{name}"):
        return f"use math.{name}"
    return "convert the numbers, or compute it from what kernels have"


class Functions(Expressions):
    def mathematical(self, function: Callable, *arguments: Value) -> object:
        """math.sqrt(x), cmath.sin(z), np.sin(x): those that Numba has for CUDA, and no others."""
        called = home_of(function)
        if not offers(called):
            self.refuse(f"Numba has no {written(called)} for numbers in a kernel: {_cure(called)}.")
        return self.calculated(called, arguments, function)

    def chosen(
        self, called: str, arguments: Sequence, function: Callable | None = None
    ) -> tuple[str, tuple, object]:
        """The case of signatures.toml that Numba takes: what computes it, and the types."""
        self.numbers(*arguments)
        case = choose(called, tuple(v.type for v in arguments), function)
        if case is None:
            found = " and ".join(str(v.type) for v in arguments)
            name = written(called)
            lacks = f"here {name} is not" if name.startswith("np.") else f"Numba has no {name}"
            self.refuse(f"{lacks} for {found}: {_cure(called)}.")
        return case

    def calculated(
        self, called: str, arguments: Sequence, function: Callable | None = None
    ) -> object:
        """A function of signatures.toml, in the case that Numba takes for these arguments."""
        instruction, kinds, result = self.chosen(called, arguments, function)
        values = [self.convert(v, kind) for v, kind in zip(arguments, kinds, strict=True)]
        return self._compute(instruction, values, result)

    def _compute(self, name: str, values: list[Value], result: object) -> object:
        """The function or instruction of that name, of values that have the types of its case."""
        if inspect.isfunction(function := vars(library).get(name)):
            found = self.inlined(function, values)
            return self.convert(found, result) if isinstance(found, Value) else found
        if name == "pow" and isinstance(values[1].type, types.Integer):
            name = "POWI"
        if name in _METHODS:
            return getattr(self, _METHODS[name])(name, values, result)
        if issubclass(node := getattr(ast, name, int), ast.AST):
            return self.convert(self.operate(node, *values), result)
        return self._math(name, result, values)

    def _scaled(self, name: str, values: list[Value], result: object) -> Value:
        """math.degrees, math.radians"""
        factor = Value(result, constant=_FACTORS[name])
        return self.op("MUL", result, self.convert(values[0], result), factor)

    def _logical(self, name: str, values: list[Value], result: object) -> Value:
        """np.logical_and and the like"""
        truths = list(map(self.truth, values))
        return self.operate(_LOGICAL[name], *truths) if len(truths) > 1 else self.invert(*truths)

    def _with_integer(self, name: str, values: list[Value], result: object) -> Value:
        """x ** n, x * 2**n"""
        return self.op(name, result, *values)

    def _pair(self, name: str, values: list[Value], result: object) -> tuple[Value, Value]:
        """math.frexp(x), math.modf(x)"""
        first, second = (self._math(part, values[0].type, values) for part in _PAIRS[name])
        return first, self.convert(second, types.int32) if name == "frexp" else second

    def _larger_or_smaller(self, name: str, values: list[Value], result: object) -> Value:
        """np.fmax(x, y) and the like: of integers an instruction, of floats a function of C"""
        if not isinstance(result, types.Float):
            return self._math(_EXTREMES[name], result, values)
        return self._math(f"own_{name}", result, values)

    def _class(self, name: str, values: list[Value], result: object) -> Value:
        """isnan(x) and the like; an integer is a finite number"""
        given = values[0].type
        kind = given if isinstance(given, types.Float | types.Complex) else types.float64
        code = list(CLASSIFY).index(name)
        return self.op("CLASSIFY", result, self.convert(values[0], kind), code, of=kind)

    def _bits(self, name: str, values: list[Value], result: object) -> Value:
        """popc, clz, ffs, brev of an integer of the width that its type has"""
        x = values[0]
        unsigned = types.uint64 if x.type.bitwidth == 64 else types.uint32
        found = self.op(name, unsigned, x, x.type.bitwidth, of=x.type)
        return self.convert(found, result)

    def _one_method(self, name: str, values: list[Value], result: object) -> Value:
        """abs(x), x.conjugate()"""
        return self.python_abs(*values, result) if name == "ABS" else self.conjugate(*values)

    def _math(self, name: str, kind: object, values: list[Value]) -> Value:
        """An instruction, or a function of C, in the type of its result."""
        values = [self.convert(v, kind) for v in values]
        if name in OP:
            return self.op(name, kind, *values)
        op, table = ("MATH", MATH) if len(values) == 1 else ("MATH2", MATH2)
        if TYPES[register_type(kind)] not in table[name]:
            self.refuse(f"the SIMT machine has no {name} for {kind}: convert the numbers.")
        return self.op(op, kind, *values, list(table).index(name))

    def cuda_libdevice(self, name: str, *arguments: Value) -> object:
        """cuda.libdevice.expf, and its fast form fast_expf, as C's expf"""
        return self._of_cuda("libdevice", name, arguments)

    def cuda_fp16(self, name: str, *arguments: Value) -> object:
        """cuda.fp16.hmul, hsin, hlt and so on, in half precision"""
        return self._of_cuda("fp16", name, arguments)

    def number_function(self, name: str, *arguments: Value) -> object:
        """cuda.fma(a, b, c), cuda.popc(x) and the like"""
        return self._of_cuda("cuda", name, arguments)

    def _of_cuda(self, home: str, name: str, arguments: Sequence) -> object:
        called = f"{home}.{name}"
        if not offers(called):
            self.refuse(f"cuda.{called} is not supported here: use a function of math.")
        return self.calculated(called, arguments)

    def python_abs(self, x: Value, result: object = None) -> Value:
        result = result or self.typing("abs", abs, x)[1]
        narrow = isinstance(result, types.Integer) and result.bitwidth < 64
        wide = types.int64 if narrow else result
        x = x if isinstance(x.type, types.Complex) else self.convert(x, wide)
        return self.convert(self.op("ABS", wide, x, of=x.type), result)

    def extreme(self, function: Callable, first: Value | tuple, *others: Value) -> Value:
        """min(a, b, c), max((a, b))

        Two float32 or float64 go to CUDA's fmin or fmax: of NaN and a number, the number. All else
        is `b if b < a else a`: the first where one is NaN.
        """
        alone = isinstance(first, tuple) and not others
        values = first if alone else (first, *others)
        self.numbers(*values)
        name = function.__name__
        self._check_extremes(name, values)
        found = values[0]
        for value in values[1:]:
            found = self._extreme_of_two(name, found, value, alone or len(values) > 2)
        return self.convert(found, self._extreme_type(function, values))

    def _check_extremes(self, name: str, values: Sequence[Value]) -> None:
        bools = sum(isinstance(v.type, types.Boolean) for v in values)
        if len(values) < 2 or bools not in (0, 2) or (bools and len(values) > 2):
            found = ", ".join(str(v.type) for v in values)
            self.refuse(
                f"Numba has no {name}({found}): it takes two or more numbers, or two bools."
            )

    def _extreme_type(self, function: Callable, values: Sequence[Value]) -> object:
        """The type of all; of float16 and others that of their sum, as in CUDA."""
        if any(v.type == types.float16 for v in values):
            return reduce(lambda kind, v: self._sum_type(kind, v.type), values[1:], values[0].type)
        return self.typing(function.__name__, function, *values)[1]

    def _sum_type(self, a: object, b: object) -> object:
        return self.typing("+", operator.add, Value(a), Value(b))[1]

    def _extreme_of_two(self, name: str, a: Value, b: Value, compared: bool) -> Value:
        kind = self._extreme_type({"min": min, "max": max}[name], (a, b))
        both = all(v.type in (types.float32, types.float64) for v in (a, b))
        x, y = self.convert(a, kind), self.convert(b, kind)
        if not isinstance(kind, types.Float) or (both and not compared):
            return self.op(name.upper(), kind, x, y)
        smaller = self.op("LT", types.boolean, *((y, x) if name == "min" else (x, y)), of=kind)
        return self.choice(smaller, y, x)

    def python_cast(self, kind: type, x: Value) -> Value:
        """int(x), float(x): what has such a type already keeps its width, as in Numba."""
        self.numbers(x)
        family = types.Integer if kind is int else types.Float
        if isinstance(x.type, family):
            return x
        wide = types.int64 if kind is int else types.float64
        known = isinstance(x.type, types.Float) or resolve(kind, (x.type,)) is not None
        if not known:
            self.refuse(
                f"Numba has no {kind.__name__}() for a {x.type}: convert it to int32 first."
            )
        return self.convert(x, wide)

    def python_pow(self, a: Value, b: Value) -> Value:
        return self.operate(ast.Pow, a, b)

    def python_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        kinds = resolve(divmod, (getattr(a, "type", None), getattr(b, "type", None)))
        if kinds:
            a, b = (self.convert(v, kind) for v, kind in zip((a, b), kinds[0], strict=True))
        return self.operate(ast.FloorDiv, a, b), self.operate(ast.Mod, a, b)

    def python_round(self, x: Value, ndigits: Value | None = None) -> Value:
        """An integer; with `ndigits` a number of the same type, rounded to so many decimals."""
        given = (x,) if ndigits is None else (x, ndigits)
        kinds, result = self.typing("round()", round, *given)
        values = [self.convert(v, kind) for v, kind in zip(given, kinds, strict=True)]
        if ndigits is not None:
            return self.convert(self.inlined(library.round_to, values), result)
        whole = isinstance(kinds[0], types.Float)
        return self.convert(self._math("rint", kinds[0], values) if whole else values[0], result)

    def python_len(self, thing: object) -> Value:
        if isinstance(thing, View):
            return self.length(thing, thing.axes[0])
        if isinstance(thing, Value | Object):
            self.refuse(f"{self.describe(thing)} has no len(): arrays and tuples have.")
        return number(len(thing))

    def python_complex(self, real: Value, imag: Value | None = None) -> Value:
        given = (real,) if imag is None else (real, imag)
        _, kind = self.typing("complex()", complex, *given)
        if imag is None:
            return self.convert(real, kind)
        halves = (self.convert(v, kind.underlying_float) for v in given)
        return self.op("COMPLEX", kind, *halves)
