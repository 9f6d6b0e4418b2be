"""Functions of Python, math and NumPy that kernels may call."""

import ast
import math
from collections.abc import Callable

import numpy as np
from numba import types

from labkit.gpu.simt.arithmetic import OPERATORS, number
from labkit.gpu.simt.expressions import Expressions
from labkit.gpu.simt.ops import MATH, MATH2, PREDICATES
from labkit.gpu.simt.values import Object, Value, View

_SAME = "absolute abs, gamma tgamma, degrees rad2deg, radians deg2rad, float_power pow"
_SAME += ", arcsin asin, arccos acos, arctan atan, arctan2 atan2"
_SAME += ", arcsinh asinh, arccosh acosh, arctanh atanh"
SAME = dict(map(str.split, _SAME.split(",")))
_UFUNCS = {np.power: ast.Pow, np.remainder: ast.Mod, np.multiply: ast.Mult, np.divide: ast.Div}
_UFUNCS |= {np.add: ast.Add, np.subtract: ast.Sub, np.floor_divide: ast.FloorDiv}
_UFUNCS |= {np.left_shift: ast.LShift, np.right_shift: ast.RShift, np.negative: ast.USub}
_UFUNCS |= {np.bitwise_and: ast.BitAnd, np.bitwise_or: ast.BitOr, np.bitwise_xor: ast.BitXor}


_HALVES = "sin cos ceil floor sqrt log log2 log10 exp fabs trunc exp2".split()  # have float16


class Functions(Expressions):
    def mathematical(self, function: Callable, arguments: list) -> Value:
        """math.sqrt(x), np.exp(x), cmath.sin(z); those of math by the rules of Numba for CUDA."""
        name = SAME.get(function.__name__, function.__name__)
        self.numbers(*arguments)
        kinds = [a.type for a in arguments]
        x, is_integer = kinds[0], isinstance(kinds[0], types.Integer | types.Boolean)
        if name in PREDICATES:
            x = types.float64 if is_integer else x
            return self.op("MATH", types.boolean, self.convert(arguments[0], x), MATH[name], of=x)
        if getattr(function, "__module__", "") == "math":
            kind = self.unify(*(kinds[:1] if name == "ldexp" else kinds))
            if isinstance(kind, types.Complex):
                self.refuse(f"math.{name} takes real numbers: use cmath.")
            kind = kind if isinstance(kind, types.Float) else types.float64
            if kind == types.float16 and name not in _HALVES:
                kind = types.float32
            return self.compute(name, kind, *arguments)
        _, result = self.typing(f"{function.__name__}()", function, *arguments)
        if function in _UFUNCS:
            return self.convert(self.operate(_UFUNCS[function], *arguments), result)
        if name == "abs":
            return self.convert(self.python_abs(arguments[0]), result)
        return self.compute(name, result, *arguments)

    def compute(self, name: str, kind: object, *arguments: Value) -> Value:
        """A function of C's math library or a simple one, of numbers of type `kind`."""
        values = [self.convert(a, kind) for a in arguments]
        for table, op, arity in ((MATH, "MATH", 1), (MATH2, "MATH2", 2)):
            if name in table and len(values) == arity:
                return self.op(op, kind, *values, table[name])
        if name in ("rad2deg", "deg2rad") and len(values) == 1:
            factor = (math.degrees if name == "rad2deg" else math.radians)(1)
            return self.op("MUL", kind, *values, Value(kind, constant=factor))
        simple = {"minimum": "MIN", "maximum": "MAX", "square": "MUL", "fdivide": "DIV"}
        simple |= {op: op.upper() for op in "add sub mul div fma neg abs min max".split()}
        if name == "reciprocal" or name == "rcp":
            return self.op("DIV", kind, Value(kind, constant=1.0), *values)
        if name == "conjugate":
            return self.conjugate(*values)
        if name in simple:
            return self.op(simple[name], kind, *values, *values[: name == "square"])
        self.refuse(f"the function {name} is not supported in kernels here: write it out.")

    def c_function(self, name: str, kind: object, arguments: list) -> Value:
        """cuda.libdevice.fast_expf: as C's expf, the fast ones too; cuda.fp16.hmul: "mul"."""
        base = name.removeprefix("fast_")
        if base.endswith("_rn"):  # fadd_rn, dmul_rn, frcp_rn, fmaf_rn
            base = base.removesuffix("_rn")
            kind = types.float32 if base[0] == "f" else kind
            base = base if base.startswith("fma") else base[1:]
        known = {
            *MATH,
            *MATH2,
            *"fma fdivide rcp add sub mul div neg abs min max".split(),
        }
        if base not in known and base.removesuffix("f") in known:
            base, kind = base.removesuffix("f"), types.float32
        return self.compute(base, kind, *arguments)

    def cuda_fp16(self, name: str, *arguments: Value) -> Value:
        """Arithmetic in half precision"""
        values = [self.convert(v, types.float16) for v in arguments]
        for node, (_, function, _) in OPERATORS.items():
            if f"h{function.__name__}" == name and issubclass(node, ast.cmpop):
                return self.operate(node, *values)
        return self.c_function(name.removeprefix("h"), types.float16, values)

    def cuda_libdevice(self, name: str, *arguments: Value) -> Value:
        return self.c_function(name, types.float64, arguments)

    # Python's own functions.

    def python_abs(self, x: Value) -> Value:
        _, result = self.typing("abs", abs, x)
        if x.constant is not None:
            return Value(result, constant=abs(x.constant))
        if isinstance(result, types.Integer) and result.bitwidth < 64:
            return self.convert(self.op("ABS", types.int64, self.convert(x, types.int64)), result)
        x = x if isinstance(x.type, types.Complex) else self.convert(x, result)
        return self.op("ABS", result, x, of=x.type)

    def python_min(self, *values: Value) -> Value:
        return self._extreme("min", min, values)

    def python_max(self, *values: Value) -> Value:
        return self._extreme("max", max, values)

    def _extreme(self, name: str, fold: Callable, values: tuple) -> Value:
        values = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        _, kind = self.typing(name, fold, *values)
        if all(v.constant is not None for v in values):
            return self.convert(fold(values, key=lambda v: v.constant), kind)
        result, *rest = (self.convert(v, kind) for v in values)
        for value in rest:
            result = self.op(name.upper(), kind, result, value)
        return result

    def python_pow(self, a: Value, b: Value) -> Value:
        return self.operate(ast.Pow, a, b)

    def python_round(self, x: Value, ndigits: Value | None = None) -> Value:
        self.numbers(x)
        if not isinstance(x.type, types.Float):
            return x
        if ndigits is None:
            return self.convert(self.op("MATH", x.type, x, MATH["rint"]), types.int64)
        scale = self.operate(ast.Pow, Value(x.type, constant=10.0), ndigits)
        x = self.op("MATH", x.type, self.operate(ast.Mult, x, scale), MATH["rint"])
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

    def python_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        return self.operate(ast.FloorDiv, a, b), self.operate(ast.Mod, a, b)
