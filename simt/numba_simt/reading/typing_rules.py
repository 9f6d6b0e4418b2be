"""Numba's typing rules: what type an operation of numbers has. Numbers that are constants."""

import ast
import operator
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype, from_dtype

from numba_simt.values import Value, is_number


class Operator(NamedTuple):
    """An operator of Python."""

    symbol: str  # how it is written
    function: Callable  # whose typing rule holds
    instruction: str  # what computes it


OPERATORS = {
    ast.Add: Operator("+", operator.add, "ADD"),
    ast.Sub: Operator("-", operator.sub, "SUB"),
    ast.Mult: Operator("*", operator.mul, "MUL"),
    ast.Div: Operator("/", operator.truediv, "DIV"),
    ast.Mod: Operator("%", operator.mod, "MOD"),
    ast.FloorDiv: Operator("//", operator.floordiv, "FLOORDIV"),
    ast.Pow: Operator("**", operator.pow, "POW"),
    ast.BitAnd: Operator("&", operator.and_, "AND"),
    ast.BitOr: Operator("|", operator.or_, "OR"),
    ast.BitXor: Operator("^", operator.xor, "XOR"),
    ast.LShift: Operator("<<", operator.lshift, "SHL"),
    ast.RShift: Operator(">>", operator.rshift, "SHR"),
    ast.Lt: Operator("<", operator.lt, "LT"),
    ast.LtE: Operator("<=", operator.le, "LE"),
    ast.Gt: Operator(">", operator.gt, "LT"),  # with the operands swapped
    ast.GtE: Operator(">=", operator.ge, "LE"),
    ast.Eq: Operator("==", operator.eq, "EQ"),
    ast.NotEq: Operator("!=", operator.ne, "NE"),
    ast.USub: Operator("-", operator.neg, "NEG"),
    ast.UAdd: Operator("+", operator.pos, "COPY"),
    ast.Invert: Operator("~", operator.invert, "NOT"),
}
OPERATOR_FUNCTIONS = {row.function: node for node, row in OPERATORS.items()}
OPERATOR_FUNCTIONS |= {  # of numbers they are the same as those without "i"
    operator.iadd: ast.Add,
    operator.isub: ast.Sub,
    operator.imul: ast.Mult,
    operator.imod: ast.Mod,
    operator.ifloordiv: ast.FloorDiv,
    operator.ipow: ast.Pow,
    operator.iand: ast.BitAnd,
    operator.ior: ast.BitOr,
    operator.ixor: ast.BitXor,
    operator.ilshift: ast.LShift,
    operator.irshift: ast.RShift,
    operator.not_: ast.Not,
}
ORDERS = {
    node: row.function
    for node, row in OPERATORS.items()
    if row.symbol in ("<", "<=", ">", ">=", "==", "!=")
}
_COMPARES = {OPERATORS[node].symbol for node in ORDERS}
_HALF = ("+", "-", "*", "/", "abs", "min", "max")  # of float16 give float16
_FIT_IN_HALF = {types.float16, types.boolean, types.int8}


@cache
def context() -> object:
    """Numba's typing rules for a CPU. CUDA's differ for float16: see `in_half`."""
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
    if not signature:
        return None
    return signature.args, signature.return_type


@cache
def unify(*kinds: object) -> object | None:
    """The type of a variable that holds numbers of these types; None if there is none."""
    joined = context().unify_types(*kinds)
    return joined if is_number(joined) else None


def returned(function: Callable, arguments: tuple) -> object | None:
    """The type of what a Python function returns; None where Numba for a CPU cannot tell it."""
    from numba.core.compiler import run_frontend
    from numba.core.registry import cpu_target
    from numba.core.typed_passes import type_inference_stage

    target = cpu_target.target_context
    target.refresh()
    try:
        typed = type_inference_stage(context(), target, run_frontend(function), arguments, None)
    except Exception:  # of Numba, of many kinds
        return None
    return typed.return_type if is_number(typed.return_type) else None


def in_half(symbol: str, kinds: tuple) -> tuple[tuple, object] | None:
    """What CUDA computes in float16, where Numba's CPU compiler takes float32."""
    if types.float16 not in kinds or not _FIT_IN_HALF.issuperset(kinds):
        return None
    if symbol in _COMPARES:
        result = types.boolean
    elif symbol in _HALF:
        result = types.float16
    else:
        return None
    return (types.float16,) * len(kinds), result


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
    usable = is_number(kind) or isinstance(kind, types.Record)
    return kind if usable and thing is not None else None


def coerce(constant: object, kind: object) -> object:
    """The constant as a value of that type, wrapped or rounded."""
    if isinstance(kind, types.Boolean):
        return bool(constant)
    if isinstance(kind, types.Integer):
        return _wrapped(constant, kind)
    return as_dtype(kind).type(constant).item()


def _wrapped(constant: float, kind: object) -> int:
    """The number as an integer of that type."""
    if isinstance(constant, float):  # saturates, to int64 if it is cut to 8 or 16 bits then
        ends = kind if kind.bitwidth >= 32 else types.int64
        constant = min(max(constant, ends.minval), ends.maxval)
    values = 2**kind.bitwidth
    wrapped = int(constant) % values
    if kind.signed and wrapped >= values // 2:
        return wrapped - values
    return wrapped
