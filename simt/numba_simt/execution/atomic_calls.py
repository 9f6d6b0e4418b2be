"""The atomic that does an update in one: found from the operation, written in the line's names."""

import ast
from typing import NamedTuple

from numba_simt.execution.flow import Flow
from numba_simt.ops import MATH2

NAMES = {"ADD": "add", "SUB": "sub", "AND": "and_", "OR": "or_", "XOR": "xor"}
NAMES |= {"MAX": "max", "MIN": "min", "fmax": "max", "fmin": "min"}
NAMES |= {"own_fmax": "max", "own_fmin": "min", "own_maximum": "max", "own_minimum": "min"}
ATOMIC_TYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
NOT_SUBTRACTED = ("int64", "uint64")  # cuda.atomic.sub takes none of these


class Update(NamedTuple):
    """A store of what was computed from the same element; or after a look at it (`checked`)."""

    store: int
    loads: frozenset[int]
    checked: bool


class Advice(NamedTuple):
    """A cure of hazards.toml, and the call of cuda.atomic that does the update."""

    cure: str
    call: str


def advice(flow: Flow, update: Update) -> Advice:
    """The cure of an update that was lost."""
    dtype = flow.program.arrays[flow.operand(update.store, "array")].dtype.name
    if dtype not in ATOMIC_TYPES:
        return Advice("update_untyped", dtype)
    name = _looks_for(flow, update) if update.checked else _operation(flow, update)
    if name is None:
        return Advice("update_otherwise", "cuda.atomic.cas")
    negative = name == "sub" and dtype in NOT_SUBTRACTED
    call = _call(flow, update.store, "add" if negative else name, negative)
    return Advice("update_checked" if update.checked else "update", call)


def _looks_for(flow: Flow, update: Update) -> str:
    """The atomic that looks and writes in one: of m < x max, of x < m min, of equality cas."""
    for test in flow.decisions(update.store):
        at = flow.origin(test, flow.operand(test, "test"))
        if at is not None and flow.ops[at] in ("LT", "LE"):
            left = flow.origin(at, flow.operand(at, "a"))
            return "max" if left in update.loads else "min"
    return "cas"


def _operation(flow: Flow, update: Update) -> str | None:
    """The operation between the element and the rest, if cuda.atomic has it."""
    at = flow.origin(update.store, flow.operand(update.store, "value"))
    if at is None:
        return None
    op = flow.ops[at]
    left, right = (_is_element(flow, at, name, update) for name in ("a", "b"))
    if op == "SELECT":
        return _choice(flow, at)
    if op == "MATH2":
        op = tuple(MATH2)[flow.operand(at, "function")]
    usable = left or (right and op != "SUB")
    return NAMES.get(op) if usable else None


def _is_element(flow: Flow, at: int, name: str, update: Update) -> bool:
    """Whether that operand of the instruction is the element as it was read."""
    try:
        operand = flow.operand(at, name)
    except ValueError:
        return False
    return flow.origin(at, operand) in update.loads


def _choice(flow: Flow, at: int) -> str | None:
    """The larger or the smaller of two, as `max` and `min` compile."""
    test = flow.origin(at, flow.operand(at, "test"))
    if test is None or flow.ops[test] not in ("LT", "LE"):
        return None
    chosen = flow.expression(at, flow.operand(at, "a"))
    sides = [flow.expression(test, flow.operand(test, name)) for name in ("a", "b")]
    return {sides[0]: "min", sides[1]: "max"}.get(chosen)


def _call(flow: Flow, store: int, name: str, negative: bool) -> str:
    """`cuda.atomic.add(h, b, 1)`, in the names of the line; its name alone if that fails."""
    call = f"cuda.atomic.{name}"
    try:
        (line,) = ast.parse(flow.program.lines[flow.lines[store]].text.strip()).body
    except (SyntaxError, ValueError):
        return call
    target = getattr(line, "target", None) or getattr(line, "targets", [None])[0]
    if not isinstance(target, ast.Subscript):
        return call
    value = "..."
    if isinstance(line, ast.AugAssign):
        value = ast.unparse(line.value)
        value = f"-({value})" if negative else value
    array, index = ast.unparse(target.value), ast.unparse(target.slice)
    if isinstance(target.slice, ast.Tuple):
        index = f"({index.strip('()')})"
    comparand = "..., " if name == "cas" else ""
    return f"{call}({array}, {index}, {comparand}{value})"
