"""Functions of numbers that kernels may call: of math, cmath, NumPy and numba.cuda."""

import ast
import inspect
import math
from collections.abc import Callable, Sequence

from numba import types

from numba_simt.callables import library
from numba_simt.callables.function_table import choose, home_of, offers
from numba_simt.instructions.inlining import Inlining
from numba_simt.ops import CLASSIFY, FUNCTIONS, OP, TYPES
from numba_simt.values import Value, register_type

_FACTORS = {"degrees": math.degrees(1), "radians": math.radians(1)}
_PAIRS = {"frexp": ("own_mantissa", "own_exponent"), "modf": ("own_fraction", "trunc")}
_LOGICAL = {
    "logical_and": ast.BitAnd,
    "logical_or": ast.BitOr,
    "logical_xor": ast.BitXor,
}
_EXTREMES = {
    "fmax": "MAX",
    "fmin": "MIN",
    "maximum": "MAX",
    "minimum": "MIN",
}  # of integers
_BITS = ("POPC", "CLZ", "FFS", "BREV")
_WRITTEN = {"numpy": "np", "libdevice": "cuda.libdevice", "fp16": "cuda.fp16"}
_IN_MATH = {"absolute": "fabs", "arctan2": "atan2", "power": "pow"}  # NumPy's names there


def written(called: str) -> str:
    """How a kernel writes a name of functions.toml: np.sin, cuda.libdevice.expf."""
    home, _, name = called.partition(".")
    return f"{_WRITTEN.get(home, home)}.{name}"


def _cure(called: str) -> str:
    """What to write instead of a function that Numba does not have."""
    home, _, name = called.partition(".")
    name = _IN_MATH.get(name, name).replace("arc", "a")
    if home == "numpy" and offers(f"math.{name}"):
        return f"use math.{name}"
    return "convert the numbers, or compute it from what kernels have"


class Functions(Inlining):
    """Compiles the functions of functions.toml, in the case that Numba takes."""

    def mathematical(self, function: Callable, *arguments: Value) -> object:
        """math.sqrt(x), cmath.sin(z), np.sin(x): those that Numba has for CUDA, and no others."""
        called = home_of(function)
        if not offers(called):
            self.refuse(f"Numba has no {written(called)} for numbers in a kernel: {_cure(called)}.")
        return self.calculated(called, arguments, function)

    def cuda_libdevice(self, name: str, *arguments: Value) -> object:
        """cuda.libdevice.expf, and its fast form fast_expf, as C's expf."""
        return self._of_cuda("libdevice", name, arguments)

    def cuda_fp16(self, name: str, *arguments: Value) -> object:
        """cuda.fp16.hmul, hsin, hlt and so on, in half precision."""
        return self._of_cuda("fp16", name, arguments)

    def number_function(self, name: str, *arguments: Value) -> object:
        """cuda.fma(a, b, c), cuda.popc(x) and the like."""
        return self._of_cuda("cuda", name, arguments)

    def _of_cuda(self, home: str, name: str, arguments: Sequence) -> object:
        called = f"{home}.{name}"
        if not offers(called):
            self.limit(f"cuda.{called} is not supported here: use a function of math.")
        return self.calculated(called, arguments)

    def chosen(
        self, called: str, arguments: Sequence, function: Callable | None = None
    ) -> tuple[str, tuple, object]:
        """What computes it in the case that Numba takes, and the arguments' and result's types."""
        self.numbers(*arguments)
        case = choose(called, tuple(value.type for value in arguments), function)
        if case is None:
            found = " and ".join(str(value.type) for value in arguments)
            name = written(called)
            lacks = f"here {name} is not" if name.startswith("np.") else f"Numba has no {name}"
            self.refuse(f"{lacks} for {found}: {_cure(called)}.")
        return case

    def calculated(
        self, called: str, arguments: Sequence, function: Callable | None = None
    ) -> object:
        """A function of functions.toml, in the case that Numba takes for these arguments."""
        instruction, kinds, result = self.chosen(called, arguments, function)
        values = [self.convert(v, kind) for v, kind in zip(arguments, kinds, strict=True)]
        return self.compute(instruction, values, result)

    def compute(self, name: str, values: list[Value], result: object) -> object:
        """What has that name in functions.toml, of values that have the types of its case."""
        function = getattr(library, name, None)
        if inspect.isfunction(function):
            found = self.inlined(function, values)
            return self.convert(found, result) if isinstance(found, Value) else found
        if name in _PAIRS:
            return self._pair(name, values)
        if name in _FACTORS:
            factor = Value(result, constant=_FACTORS[name])
            return self.op("MUL", result, self.convert(values[0], result), factor)
        if name in _EXTREMES:
            of_floats = isinstance(result, types.Float)
            return self._math(f"own_{name}" if of_floats else _EXTREMES[name], result, values)
        if name in CLASSIFY:
            return self._class(name, values[0], result)
        if name in _BITS:
            return self._bits(name, values[0], result)
        if name == "ABS":
            return self.absolute(values[0], result)
        if name == "conjugate":
            return self.conjugate(values[0])
        if name in ("POWI", "LDEXP"):
            return self.op(name, result, *values)
        if name == "pow" and isinstance(values[1].type, types.Integer):
            return self.op("POWI", result, *values)
        return self._operator(name, values, result)

    def _operator(self, name: str, values: list[Value], result: object) -> Value:
        """np.logical_and, an operator by the name of its ast node, or one step of the machine."""
        if name == "logical_not":
            return self.invert(self.truth(values[0]))
        if name in _LOGICAL:
            truths = [self.truth(value) for value in values]
            return self.operate(_LOGICAL[name], *truths)
        node = getattr(ast, name, None)
        if isinstance(node, type) and issubclass(node, ast.AST):
            return self.convert(self.operate(node, *values), result)
        return self._math(name, result, values)

    def _pair(self, name: str, values: list[Value]) -> tuple[Value, Value]:
        """math.frexp(x), math.modf(x)"""
        kind = values[0].type
        first_part, second_part = _PAIRS[name]
        first = self._math(first_part, kind, values)
        second = self._math(second_part, kind, values)
        if name == "frexp":
            second = self.convert(second, types.int32)
        return first, second

    def _class(self, name: str, value: Value, result: object) -> Value:
        """isnan(x) and the like; an integer is a finite number."""
        floating = isinstance(value.type, types.Float | types.Complex)
        kind = value.type if floating else types.float64
        code = list(CLASSIFY).index(name)
        return self.op("CLASSIFY", result, self.convert(value, kind), code, of=kind)

    def _bits(self, name: str, value: Value, result: object) -> Value:
        """popc, clz, ffs, brev of an integer of the width that its type has."""
        width = value.type.bitwidth
        unsigned = types.uint64 if width == 64 else types.uint32
        found = self.op(name, unsigned, value, width, of=value.type)
        return self.convert(found, result)

    def absolute(self, x: Value, result: object) -> Value:
        """abs(x) as a number of type `result`, computed in 64 bits if it is an integer."""
        narrow = isinstance(result, types.Integer) and result.bitwidth < 64
        wide = types.int64 if narrow else result
        if not isinstance(x.type, types.Complex):
            x = self.convert(x, wide)
        return self.convert(self.op("ABS", wide, x, of=x.type), result)

    def _math(self, name: str, kind: object, values: list[Value]) -> Value:
        """An instruction, or a function of C, in the type of its result."""
        values = [self.convert(value, kind) for value in values]
        if name in OP:
            return self.op(name, kind, *values)
        instruction = "MATH" if len(values) == 1 else "MATH2"
        functions = FUNCTIONS[instruction]
        if TYPES[register_type(kind)] not in functions[name]:
            self.refuse(f"the SIMT machine has no {name} for {kind}: convert the numbers.")
        return self.op(instruction, kind, *values, list(functions).index(name))
