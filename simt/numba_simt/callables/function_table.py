"""Which functions of numbers kernels may call, and for which types: functions.toml, read.

Numba's own rules choose among the cases: `choose` asks its typing context.
"""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core import typing
from numba.np.numpy_support import ufunc_find_matching_loop

from numba_simt.reading.typing_rules import context, resolve
from numba_simt.values import number_types


class Signature(NamedTuple):
    """A row of functions.toml for one name."""

    instruction: str  # what computes it
    cases: tuple  # Numba's signatures
    exact: bool  # the arguments must have the types of a case
    operands: frozenset  # the types among which NumPy's choice must be


@cache
def _table() -> dict[str, list[Signature]]:
    """Rows by what a kernel calls: "math.sqrt", "libdevice.expf"."""
    text = Path(__file__).with_name("functions.toml").read_text("utf-8")
    found: dict[str, list[Signature]] = {}
    for home, rows in tomllib.loads(text).items():
        for row in rows:
            for name, signature in _signatures(row):
                found.setdefault(f"{home}.{name}", []).append(signature)
    return found


def _signatures(row: dict) -> list[tuple[str, Signature]]:
    """The names of a row of the file, each with its signature."""
    numbers = number_types()
    cases = []
    for result, *arguments in row.get("cases", ()):
        given = [numbers[short] for short in arguments]
        cases.append(typing.signature(numbers[result], *given))
    operands = frozenset(numbers[short] for short in row.get("operands", ()))
    computed_by = {name: name for name in row.get("names", ())} | row.get("computed_by", {})
    exact = row.get("exact", False)
    return [
        (name, Signature(instruction, tuple(cases), exact, operands))
        for name, instruction in computed_by.items()
    ]


def home_of(function: Callable) -> str:
    """The table's name of a function of Python or NumPy: "math.sqrt", "numpy.add"."""
    home = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", "")
    return f"{home}.{function.__name__}"


def offers(called: str) -> bool:
    """Whether kernels may call it, for some types at least."""
    return called in _table()


@cache
def choose(called: str, arguments: tuple, function: Callable | None = None) -> tuple | None:
    """What computes it, the arguments' types, the result's type; None where Numba refuses."""
    for row in _table()[called]:
        chosen = _loop(row, function, arguments) if row.operands else _case(row, called, arguments)
        if chosen:
            return row.instruction, *chosen
    return None


@cache
def choose_loop(called: str, ufunc: np.ufunc, kinds: tuple) -> tuple | None:
    """What computes a ufunc of arrays, for the types of all operands, the array to fill included.

    Also the types it computes in and its result's; None where Numba refuses.
    """
    loop = None if types.float16 in kinds else ufunc_find_matching_loop(ufunc, kinds)
    of_arrays = _table().get(called.replace("numpy.", "arrays."), [])
    for row in (*_table()[called], *of_arrays) if loop else ():
        if row.operands and row.operands.issuperset(loop.inputs):
            return row.instruction, tuple(loop.inputs), loop.outputs[0]
    return None


def _case(row: Signature, called: str, arguments: tuple) -> tuple[tuple, object] | None:
    """The case to which the arguments convert best, by Numba's rules."""
    cases = [case for case in row.cases if len(case.args) == len(arguments)]
    best = context().resolve_overload(called, cases, arguments, {}, exact_match_required=row.exact)
    return (best.args, best.return_type) if best else None


def _loop(row: Signature, ufunc: np.ufunc, arguments: tuple) -> tuple[tuple, object] | None:
    """NumPy's choice among a ufunc's loops, by Numba's rules, which leave out float16."""
    if types.float16 in arguments or not resolve(ufunc, arguments):
        return None
    loop = ufunc_find_matching_loop(ufunc, arguments)
    if not loop or not row.operands.issuperset(loop.inputs):
        return None
    return tuple(loop.inputs), loop.outputs[0]
