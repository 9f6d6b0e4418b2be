"""Functions of Python, math, NumPy and libdevice that kernels may call."""

import ast
import math
from collections.abc import Callable
from functools import reduce

from numba import types

from labkit.gpu.simt.arithmetic import OPERATORS, number
from labkit.gpu.simt.expressions import Expressions
from labkit.gpu.simt.ops import MATH, MATH2, PREDICATES
from labkit.gpu.simt.values import Object, Value, View

_SAME = "absolute abs, gamma tgamma, degrees rad2deg, radians deg2rad, float_power pow, power pow"
_SAME += ", arcsin asin, arccos acos, arctan atan, arctan2 atan2, minimum min, maximum max"
_SAME += ", arcsinh asinh, arccosh acosh, arctanh atanh"
SAME = dict(map(str.split, _SAME.split(",")))
# Name -> how many numbers it takes, and the instruction; the number of the function in C's library.
FUNCTIONS = {name: (1, "MATH", code) for name, code in MATH.items() if name not in PREDICATES}
FUNCTIONS |= {name: (2, "MATH2", code) for name, code in MATH2.items()}
FUNCTIONS |= {name: (2, name.upper()) for name in ("add", "sub", "mul", "div", "min", "max")}
FUNCTIONS |= {"neg": (1, "NEG"), "abs": (1, "ABS"), "fma": (3, "FMA"), "fdivide": (2, "DIV")}
_FACTORS = {"rad2deg": math.degrees(1), "deg2rad": math.radians(1)}
_HALVES = "sin cos ceil floor sqrt log log2 log10 exp fabs trunc exp2".split()  # have float16


class Functions(Expressions):
    def mathematical(self, function: Callable, x: Value, *others: Value) -> Value:
        """math.sqrt(x), np.exp(x), cmath.sin(z); those of math by the rules of Numba for CUDA."""
        name = SAME.get(function.__name__, function.__name__)
        arguments = x, *others
        kind = self.common(*(arguments[:1] if name == "ldexp" else arguments))
        if name in PREDICATES:
            kind = kind if isinstance(kind, types.Float | types.Complex) else types.float64
            return self.op("MATH", types.boolean, self.convert(x, kind), MATH[name], of=kind)
        if getattr(function, "__module__", "") != "math":
            _, kind = self.typing(f"{function.__name__}()", function, *arguments)
        elif isinstance(kind, types.Complex):
            self.refuse(f"math.{name} takes real numbers: use cmath.")
        elif not isinstance(kind, types.Float):
            kind = types.float64
        elif kind == types.float16 and name not in _HALVES:
            kind = types.float32
        if name == "abs":
            return self.convert(self.python_abs(x), kind)
        return self.compute(name, kind, *arguments)

    def compute(self, name: str, kind: object, *arguments: Value) -> Value:
        """A function of numbers of type `kind`."""
        values = [self.convert(a, kind) for a in arguments]
        if name == "square" or name in _FACTORS:
            factor = Value(kind, constant=_FACTORS.get(name))
            name, values = "mul", [*values, values[0] if name == "square" else factor]
        arity, *instruction = FUNCTIONS.get(name, (-1,))
        if arity != len(values):
            self.refuse(f"the function {name} is not supported here, or takes other arguments.")
        return self.op(instruction[0], kind, *values, *instruction[1:])

    def cuda_libdevice(self, name: str, *arguments: Value) -> Value:
        """cuda.libdevice.expf and fast_expf are C's expf, libdevice.exp is C's exp."""
        base, kind = name.removeprefix("fast_"), types.float64
        if base not in FUNCTIONS:
            base, kind = base.removesuffix("f"), types.float32
        return self.compute(base, kind, *arguments)

    def cuda_fp16(self, name: str, *arguments: Value) -> Value:
        """cuda.fp16.hmul, hsin, hlt and so on, in half precision"""
        values = [self.convert(v, types.float16) for v in arguments]
        for node, (_, function, _) in OPERATORS.items():
            if f"h{function.__name__}" == name and issubclass(node, ast.cmpop):
                return self.operate(node, *values)
        return self.compute(name.removeprefix("h"), types.float16, *values)

    def python_abs(self, x: Value) -> Value:
        _, result = self.typing("abs", abs, x)
        narrow = isinstance(result, types.Integer) and result.bitwidth < 64
        wide = types.int64 if narrow else result
        x = x if isinstance(x.type, types.Complex) else self.convert(x, wide)
        return self.convert(self.op("ABS", wide, x, of=x.type), result)

    def extreme(self, function: Callable, first: Value | tuple, *others: Value) -> Value:
        """min(a, b, c), max((a, b))"""
        values = first if isinstance(first, tuple) and not others else (first, *others)
        name = function.__name__
        _, kind = self.typing(name, function, *values)
        values = [self.convert(v, kind) for v in values]
        return reduce(lambda a, b: self.op(name.upper(), kind, a, b), values)

    def python_pow(self, a: Value, b: Value) -> Value:
        return self.operate(ast.Pow, a, b)

    def python_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        return self.operate(ast.FloorDiv, a, b), self.operate(ast.Mod, a, b)

    def python_round(self, x: Value, ndigits: Value | None = None) -> Value:
        self.numbers(x)
        if not isinstance(x.type, types.Float):
            return x
        if ndigits is None:
            return self.convert(self.compute("rint", x.type, x), types.int64)
        scale = self.operate(ast.Pow, Value(x.type, constant=10.0), ndigits)
        x = self.compute("rint", x.type, self.operate(ast.Mult, x, scale))
        return self.operate(ast.Div, x, scale)

    def python_len(self, thing: object) -> Value:
        if isinstance(thing, View):
            return self.length(thing, thing.axes[0])
        if isinstance(thing, Value | Object):
            self.refuse(f"{self.describe(thing)} has no len(): arrays and tuples have.")
        return number(len(thing))

    def python_complex(self, real: Value, imag: Value | None = None) -> Value:
        imag = imag or Value(types.boolean, constant=False)
        _, kind = self.typing("complex()", complex, real, imag)
        halves = (self.convert(v, kind.underlying_float) for v in (real, imag))
        return self.op("COMPLEX", kind, *halves)
