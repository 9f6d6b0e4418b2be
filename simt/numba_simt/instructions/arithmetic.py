"""Arithmetic of a kernel: conversions, truth, and the operators of Python, as instructions."""

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numba import types

from numba_simt.instructions.emitter import Emitter
from numba_simt.reading.typing_rules import (
    OPERATOR_FUNCTIONS,
    OPERATORS,
    coerce,
    in_half,
    number,
    resolve,
    unify,
)
from numba_simt.values import (
    ARRAYS,
    Optional,
    Value,
    View,
    is_number,
    memory_type,
    register_type,
)

_DIVISIONS = ("DIV", "FLOORDIV", "MOD")
_FOLDED = (types.int64, types.float64, types.boolean)  # the types of Python's own numbers
_COMPUTED = {  # what `calculate` does with constants
    "ADD": operator.add,
    "SUB": operator.sub,
    "MUL": operator.mul,
    "FLOORDIV": operator.floordiv,
    "MIN": min,
    "MAX": max,
}
_CURES = {
    View: ": take one element, as in x[i]",
    Optional: ": make it one where it is not None, as int(y) does",
    tuple: ": take one part, as in t[0]",
}


def _named(values: Sequence[Value]) -> str:
    """The types of the numbers, for a sentence."""
    return " and ".join(str(value.type) for value in values)


def _multiplies(exponent: object, base: object) -> bool:
    """Whether Numba multiplies, as libdevice's powi or by itself."""
    whole = isinstance(exponent, types.Integer)
    return whole and (exponent.bitwidth <= 32 or base == types.float32)


class Arithmetic(Emitter):
    """Emits what numbers need; every refusal is a CompileError with the line."""

    def numbers(self, *values: object) -> None:
        """Refuses what is no number."""
        for value in values:
            if not isinstance(value, Value):
                cure = _CURES.get(type(value), "")
                if isinstance(value, ARRAYS) and not value.axes:
                    cure = ": take a field of the record, as in r.x"
                self.refuse(f"numbers are needed here, not {self.describe(value)}{cure}.")

    def common(self, *values: Value) -> object:
        """The type that can hold all these numbers."""
        self.numbers(*values)
        kind = unify(*(value.type for value in values))
        if kind is None:
            self.refuse(f"{_named(values)} have no common type: convert one of them.")
        return kind

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
            return _converted_constant(value, kind)
        if isinstance(kind, types.Integer) and isinstance(value.type, types.Float):
            return self.op("TRUNCATE", kind, value, memory_type(kind), of=value.type)
        return self._converted(value, kind)

    def _converted(self, value: Value, kind: object) -> Value:
        """Into a register of another type, or an integer of another width."""
        target = register_type(kind)
        if register_type(value.type) != target:
            value = self.op("CVT", kind, value, target, of=value.type)
        if isinstance(kind, types.Integer) and kind.bitwidth < 64:
            value = self.op("NARROW", kind, value, memory_type(kind))
        return replace(value, type=kind)

    def negation(self, value: object) -> Value:
        """`not value`; also of a float16, whose truth Numba cannot tell."""
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
        zero = Value(value.type, constant=0)
        return self.op("NE", types.boolean, value, zero, of=value.type)

    def invert(self, value: Value) -> Value:
        """`not value` of a bool."""
        if value.constant is not None:
            return number(not value.constant)
        return self.op("EQ", types.boolean, value, number(False))

    def typing(self, symbol: str, function: Callable, *operands: object) -> tuple[tuple, object]:
        """The types that Numba converts the operands to, and the result's."""
        self.numbers(*operands)
        kinds = tuple(value.type for value in operands)
        half = in_half(symbol, kinds)
        if half:
            return half
        typing = resolve(function, kinds)
        if typing is None or not is_number(typing[1]):
            self.refuse(
                f"Numba has no `{symbol}` for {_named(operands)}: convert the operands first."
            )
        return typing

    def operator_function(self, function: Callable, *operands: object) -> Value:
        """operator.add(a, b) and the like: what the operator does."""
        if function is operator.not_:
            return self.negation(*operands)
        return self.operate(OPERATOR_FUNCTIONS[function], *operands)

    def operate(self, node: type, *operands: object) -> Value:
        """An operator of Python, by the class of its ast node and by Numba's rules.

        Python's own numbers are computed now.
        """
        if node not in OPERATORS:
            self.refuse(
                "kernels have no `is` (use ==), `in` of tuples alone, no `@` (write the loops)."
            )
        symbol, function, instruction = OPERATORS[node]
        kinds, result = self.typing(symbol, function, *operands)
        if node is ast.Invert and result == types.boolean:
            return self.invert(operands[0])
        folded = _folded(node, operands, kinds, result)
        if folded is not None:
            return folded
        if issubclass(node, ast.cmpop):
            return self._comparison(node, operands, kinds, result)
        if node is ast.Pow:
            return self._power(operands, kinds, result)
        values = [self.convert(value, result) for value in operands]
        if self.facts.debug and instruction in _DIVISIONS:
            self._check_divisor(values[1], result)
        value = self.op(instruction, result, *values)
        own = operands[0].type
        if len(operands) == 1 and isinstance(own, types.Integer):
            return self.convert(self.convert(value, own), result)  # Numba computes in its width
        return value

    def _comparison(self, node: type, operands: Sequence, kinds: tuple, result: object) -> Value:
        """a < b and the like, in the type that Numba compares them in."""
        a, b = (self.convert(value, kind) for value, kind in zip(operands, kinds, strict=True))
        instruction = OPERATORS[node].instruction
        if node in (ast.Gt, ast.GtE):
            return self.op(instruction, result, b, a, of=kinds[0])
        return self.op(instruction, result, a, b, of=kinds[0])

    def _check_divisor(self, divisor: Value, result: object) -> None:
        """Under debug=True a division by 0 stops the kernel, of floats too."""
        if not isinstance(result, types.Complex):
            self.emit("DIVISOR", None, divisor, type=register_type(result))

    def _power(self, operands: Sequence, kinds: tuple, result: object) -> Value:
        """base ** exponent"""
        base, exponent = operands
        constant = exponent.constant
        if isinstance(result, types.Integer):
            exponent = self._exponent(exponent, result)
        values = [self.convert(base, result), self.convert(exponent, result)]
        if type(constant) is int and 0 < constant <= 16:
            return self._through_float64(self._squared(values[0], constant))
        if isinstance(result, types.Float) and _multiplies(kinds[1], result):
            return self.op("POWI", result, values[0], self.convert(exponent, types.int64))
        return self.op("POW", result, *values)

    def _exponent(self, exponent: Value, result: object) -> Value:
        """An exponent that int64 cannot hold is as large as it can be."""
        if exponent.type != types.uint64 or result == types.uint64:
            return exponent
        largest = Value(types.uint64, constant=2**63 - 1)
        return self.op("MIN", types.uint64, exponent, largest)

    def _through_float64(self, power: Value) -> Value:
        """Numba's power of integers is a float64 at its end, so that large ones lose bits."""
        if not isinstance(power.type, types.Integer):
            return power
        return self.convert(self.convert(power, types.float64), power.type)

    def _squared(self, base: Value, exponent: int) -> Value:
        """base ** exponent by repeated squaring"""
        if exponent == 1:
            return base
        root = self._squared(base, exponent // 2)
        square = self.op("MUL", base.type, root, root)
        if exponent % 2 == 0:
            return square
        return self.op("MUL", base.type, square, base)

    def calculate(self, name: str, a: Value, b: Value) -> Value:
        """The compiler's own sums of int64: ADD, SUB, MUL, FLOORDIV, MIN or MAX."""
        if a.constant is not None and b.constant is not None:
            return number(_COMPUTED[name](a.constant, b.constant))
        return self.op(name, types.int64, a, b)

    def part(self, value: Value, name: str) -> Value:
        """value.real or value.imag"""
        if isinstance(value.type, types.Boolean):
            self.refuse(f"a bool has no .{name} in Numba: convert it to an integer first.")
        if isinstance(value.type, types.Complex):
            return self.op(name.upper(), value.type.underlying_float, value, of=value.type)
        return value if name == "real" else Value(value.type, constant=0)

    def conjugate(self, x: Value) -> Value:
        """x.conjugate()"""
        if isinstance(x.type, types.Boolean):
            self.refuse("a bool has no .conjugate() in Numba: convert it to an integer first.")
        if not isinstance(x.type, types.Complex):
            return x
        imag = self.operate(ast.USub, self.part(x, "imag"))
        real = self.part(x, "real")
        return self.op("COMPLEX", x.type, real, imag)


def _converted_constant(value: Value, kind: object) -> Value:
    """A finite constant as another type."""
    constant = value.constant
    if value.type == types.float16 and isinstance(kind, types.Integer):  # as TRUNCATE does
        constant = min(max(round(constant), kind.minval), kind.maxval)
    return Value(kind, constant=coerce(constant, kind))


def _folded(node: type, operands: Sequence[Value], kinds: Sequence, result: object) -> Value | None:
    """The result as a constant, where the operands are Python's own numbers; else None."""
    if any(value.constant is None or value.type not in _FOLDED for value in operands):
        return None
    if node in (ast.FloorDiv, ast.Mod) and not isinstance(result, types.Integer):
        return None  # inexact, as NVVM computes them
    constants = []
    for value, kind in zip(operands, kinds, strict=True):
        constants.append(coerce(value.constant, kind))
    if node is ast.Pow and abs(constants[1]) > 1024:
        return None
    try:
        constant = coerce(OPERATORS[node].function(*constants), result)
        if node is ast.Pow and type(constant) is int:
            constant = coerce(float(constant), result)
    except (ArithmeticError, TypeError, ValueError):
        return None  # the machine reports a division by zero when it happens
    return Value(result, constant=constant)
