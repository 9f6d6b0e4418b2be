"""Numbers: their types by Numba's rules, conversions, and the operators of Python."""

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype, from_dtype

from labkit.gpu.simt.values import Value, View, is_number, memory_type, register_type
from labkit.gpu.simt.variables import Variables

_OPERATORS = """Add + add ADD, Sub - sub SUB, Mult * mul MUL, Div / truediv DIV, Mod % mod MOD,
    FloorDiv // floordiv FLOORDIV, Pow ** pow POW, BitAnd & and_ AND, BitOr | or_ OR,
    BitXor ^ xor XOR, LShift << lshift SHL, RShift >> rshift SHR,
    Lt < lt LT, LtE <= le LE, Gt > gt LT, GtE >= ge LE, Eq == eq EQ, NotEq != ne NE,
    USub - neg NEG, UAdd + pos COPY, Invert ~ invert NOT"""
OPERATORS = {  # ast node -> how it is written, the function whose typing rule holds, opcode
    getattr(ast, node): (symbol, getattr(operator, name), op)
    for node, symbol, name, op in map(str.split, _OPERATORS.split(","))
}
FUNCTIONS = {function: node for node, (_, function, _) in OPERATORS.items()}
FUNCTIONS |= {  # operator.iadd is operator.add of numbers
    getattr(operator, f"i{function.__name__.strip('_')}"): node
    for function, node in FUNCTIONS.items()
    if hasattr(operator, f"i{function.__name__.strip('_')}") and node is not ast.Div
}
FUNCTIONS[operator.not_] = ast.Not
_DIVISIONS = "DIV", "FLOORDIV", "MOD"
_FOLDED = types.int64, types.float64, types.boolean  # the types of Python's own numbers
_SUMS = {op: function for _, function, op in OPERATORS.values()} | {"MIN": min, "MAX": max}
_HALF = "+", "-", "*", "/", "abs", "min", "max"  # of float16 give float16
_ORDERS = "<", "<=", ">", ">=", "==", "!="
_FIT_IN_HALF = types.float16, types.boolean, types.int8


@cache
def context() -> object:
    """Numba's typing rules for a CPU. CUDA's differ for float16: see `_in_half`."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context


@cache
def resolve(function: Callable, arguments: tuple) -> tuple[tuple, object] | None:
    """The types that Numba converts the arguments to, and the result's; None: it refuses."""
    try:
        signature = context().resolve_function_type(function, arguments, {})
    except Exception:  # Numba raises many kinds for a typing that does not exist
        return None
    return signature and (signature.args, signature.return_type)


@cache
def unify(*kinds: object) -> object | None:
    """The type of a variable that holds numbers of these types."""
    joined = context().unify_types(*kinds)
    return joined if is_number(joined) else None


def number(value: object) -> Value | None:
    """A Python or NumPy number as a constant; None when it is none that CUDA has."""
    if isinstance(value, bool | np.bool_):
        return Value(types.boolean, constant=bool(value))
    if isinstance(value, np.number):
        return Value(from_dtype(value.dtype), constant=value.item())
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return Value(types.int64 if value < 2**63 else types.uint64, constant=int(value))
    if isinstance(value, float | complex):
        kind = types.float64 if isinstance(value, float) else types.complex128
        return Value(kind, constant=value)
    return None


def as_type(thing: object) -> object | None:
    """The Numba type that a dtype stands for: numba.float32, np.float32, "float32", float."""
    try:
        kind = thing if isinstance(thing, types.Type) else from_dtype(np.dtype(thing))
    except Exception:  # as many kinds again
        return None
    return kind if is_number(kind) and thing is not None else None


def _coerce(constant: object, kind: object) -> object:
    """The constant as a value of that type, wrapped or rounded."""
    if isinstance(kind, types.Boolean):
        return bool(constant)
    if isinstance(kind, types.Integer):
        if isinstance(constant, float):  # saturates, to int64 if it is cut to 8 or 16 bits then
            ends = kind if kind.bitwidth >= 32 else types.int64
            constant = int(min(max(constant, ends.minval), ends.maxval))
        constant = int(constant) & (2**kind.bitwidth - 1)
        return constant - 2**kind.bitwidth * (kind.signed and constant >> (kind.bitwidth - 1))
    return as_dtype(kind).type(constant).item()


def _in_half(symbol: str, kinds: list) -> tuple[tuple, object] | None:
    """What CUDA computes in float16, where Numba's CPU compiler takes float32."""
    if types.float16 not in kinds or not set(kinds) <= set(_FIT_IN_HALF):
        return None
    if symbol not in (*_HALF, *_ORDERS):
        return None
    result = types.boolean if symbol in _ORDERS else types.float16
    return (types.float16,) * len(kinds), result


def _multiplies(exponent: object, base: object) -> bool:
    """Whether Numba multiplies, as libdevice's powi or by itself."""
    whole = isinstance(exponent, types.Integer)
    return whole and (exponent.bitwidth <= 32 or base == types.float32)


class Arithmetic(Variables):
    unify = staticmethod(unify)

    def common(self, *values: Value) -> object:
        """The type that can hold all these numbers."""
        self.numbers(*values)
        if (kind := unify(*(v.type for v in values))) is None:
            found = " and ".join(str(v.type) for v in values)
            self.refuse(f"{found} have no common type: convert one of them.")
        return kind

    def numbers(self, *values: object) -> None:
        """Refuses what is no number."""
        cures = {View: ": take one element, as in x[i]", tuple: ": take one part, as in t[0]"}
        for value in values:
            if not isinstance(value, Value):
                cure = cures.get(type(value), "")
                self.refuse(f"numbers are needed here, not {self.describe(value)}{cure}.")

    def convert(self, value: Value, kind: object) -> Value:
        """The number as another type."""
        self.numbers(value)
        if value.type == kind:
            return value
        if isinstance(kind, types.Boolean) and not isinstance(value.type, types.Complex):
            return self.truth(value)
        if isinstance(value.type, types.Complex) and not isinstance(kind, types.Complex):
            self.refuse(f"a {value.type} is no {kind}: take its .real or its .imag.")
        if value.constant is not None and np.isfinite(value.constant):
            halves = value.type == types.float16 and isinstance(kind, types.Integer)
            constant = value.constant
            if halves:  # as TRUNCATE does
                constant = min(max(round(constant), kind.minval), kind.maxval)
            return Value(kind, constant=_coerce(constant, kind))
        if isinstance(kind, types.Integer) and isinstance(value.type, types.Float):
            return self.op("TRUNCATE", kind, value, memory_type(kind), of=value.type)
        before, source, target = value.type, register_type(value.type), register_type(kind)
        if source != target:
            value = self.op("CVT", kind, value, target, of=before)
        if isinstance(kind, types.Integer) and kind.bitwidth < 64:
            value = self.op("NARROW", kind, value, memory_type(kind))
        return replace(value, type=kind)

    def negation(self, value: object) -> Value:
        """not value; also of a float16, whose truth Numba cannot tell"""
        if getattr(value, "type", None) == types.float16 and value.constant is None:
            zero = Value(types.float16, constant=0)
            return self.op("EQ", types.boolean, value, zero, of=types.float16)
        return self.invert(self.truth(value))

    def truth(self, value: object) -> Value:
        """bool(value)"""
        self.numbers(value)
        if value.constant is not None:
            return number(bool(value.constant))
        if isinstance(value.type, types.Boolean):
            return value
        if value.type == types.float16:
            self.refuse("Numba cannot ask whether a float16 is true: compare it, as in x != 0.")
        return self.op("NE", types.boolean, value, Value(value.type, constant=0), of=value.type)

    def invert(self, value: Value) -> Value:
        """`not value` of a bool"""
        if value.constant is not None:
            return number(not value.constant)
        return self.op("EQ", types.boolean, value, number(False))

    def typing(self, symbol: str, function: Callable, *operands: object) -> tuple[tuple, object]:
        """The types that Numba converts the operands to, and the result's."""
        self.numbers(*operands)
        if half := _in_half(symbol, [v.type for v in operands]):
            return half
        typing = resolve(function, tuple(v.type for v in operands))
        if typing is None or not is_number(typing[1]):
            found = " and ".join(str(v.type) for v in operands)
            self.refuse(f"Numba has no `{symbol}` for {found}: convert the operands first.")
        return typing

    def operator_function(self, function: Callable, *operands: object) -> Value:
        """operator.add(a, b) and the like: what the operator does"""
        if function is operator.not_:
            return self.negation(*operands)
        return self.operate(FUNCTIONS[function], *operands)

    def operate(self, node: type, *operands: object) -> Value:
        """An operator of Python by Numba's rules; Python's own numbers are computed now."""
        if node not in OPERATORS:
            self.refuse("kernels have no `is` and `in` (use ==) and no `@` (write the loops).")
        symbol, function, name = OPERATORS[node]
        kinds, result = self.typing(symbol, function, *operands)
        if node is ast.Invert and result == types.boolean:
            return self.invert(operands[0])
        power = operands[1].constant if node is ast.Pow else None
        python = all(v.constant is not None and v.type in _FOLDED for v in operands)
        inexact = name in _DIVISIONS[1:] and not isinstance(result, types.Integer)  # as NVVM does
        if python and not inexact and (power is None or abs(power) <= 1024):
            try:
                constant = _coerce(function(*(v.constant for v in operands)), result)
                if node is ast.Pow:
                    constant = (
                        _coerce(float(constant), result) if type(constant) is int else constant
                    )
                return Value(result, constant=constant)
            except (ArithmeticError, TypeError, ValueError):
                pass  # the machine reports a division by zero when it happens
        if issubclass(node, ast.cmpop):
            values = [self.convert(v, kind) for v, kind in zip(operands, kinds, strict=True)]
            swapped = values[::-1] if symbol[0] == ">" else values
            return self.op(name, result, *swapped, of=kinds[0])
        if node is ast.Pow and isinstance(result, types.Integer):
            operands = operands[0], self._exponent(operands[1], result)
        values = [self.convert(v, result) for v in operands]
        if type(power) is int and 0 < power <= 16:
            return self._through_float64(self._power(values[0], power))
        if node is ast.Pow and isinstance(result, types.Float) and _multiplies(kinds[1], result):
            return self.op("POWI", result, values[0], self.convert(operands[1], types.int64))
        if self.facts.debug and name in _DIVISIONS and not isinstance(result, types.Complex):
            self.emit("DIVISOR", None, values[1], type=register_type(result))
        value, own = self.op(name, result, *values), operands[0].type
        if len(operands) == 1 and isinstance(own, types.Integer):
            value = self.convert(self.convert(value, own), result)  # Numba computes in its width
        return value

    def _exponent(self, exponent: Value, result: object) -> Value:
        """An exponent that int64 cannot hold is as large as it can be."""
        if exponent.type != types.uint64 or result == types.uint64:
            return exponent
        return self.op("MIN", types.uint64, exponent, Value(types.uint64, constant=2**63 - 1))

    def _through_float64(self, power: Value) -> Value:
        """Numba's power of integers is a float64 at its end, so that large ones lose bits."""
        if not isinstance(power.type, types.Integer):
            return power
        return self.convert(self.convert(power, types.float64), power.type)

    def _power(self, base: Value, exponent: int) -> Value:
        """base ** exponent by repeated squaring"""
        if exponent == 1:
            return base
        root = self._power(base, exponent // 2)
        square = self.op("MUL", base.type, root, root)
        return self.op("MUL", base.type, square, base) if exponent % 2 else square

    def calculate(self, name: str, a: Value, b: Value) -> Value:
        """The compiler's own sums of int64."""
        if a.constant is not None and b.constant is not None:
            return number(_SUMS[name](a.constant, b.constant))
        return self.op(name, types.int64, a, b)
