"""Which functions of numbers kernels may call, and for which types: signatures.toml, read.

Numba's own rules choose among the cases: `choose` asks its typing context.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core import typing
from numba.np.numpy_support import ufunc_find_matching_loop

from labkit.gpu.simt.arithmetic import context, resolve
from labkit.gpu.simt.values import number_types


class Signature(NamedTuple):
    """A row of signatures.toml for one name."""

    instruction: str  # what computes it
    cases: tuple  # Numba's signatures
    exact: bool  # the arguments must have the types of a case
    operands: frozenset  # the types among which NumPy's choice must be


@cache
def _table() -> dict[str, list[Signature]]:
    """Rows by what a kernel calls: "math.sqrt", "cuda.libdevice.expf"."""
    text = Path(__file__).with_name("signatures.toml").read_text("utf-8")
    found: dict[str, list[Signature]] = {}
    for home, rows in tomllib.loads(text).items():
        for row in rows:
            cases = tuple(map(_case, row.get("cases", "").split()))
            operands = frozenset(number_types()[short] for short in row.get("operands", "").split())
            for word in row["names"].split():
                name, _, instruction = word.partition(":")
                exact = row.get("exact", False)
                signature = Signature(instruction or name, cases, exact, operands)
                found.setdefault(f"{home}.{name}", []).append(signature)
    return found


def _case(text: str) -> object:
    """Numba's signature of "f64(i64,i64)"."""
    result, *arguments = (number_types()[short] for short in re.findall(r"\w+", text))
    return typing.signature(result, *arguments)


def home_of(function: Callable) -> str:
    """The table's name of a function of Python or NumPy: "math.sqrt", "numpy.add"."""
    home = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", "")
    return f"{home}.{function.__name__}"


def offers(called: str) -> bool:
    return called in _table()


@cache
def choose(called: str, arguments: tuple, function: Callable | None = None) -> tuple | None:
    """What computes it, the arguments' types, the result's type; None where Numba refuses."""
    for row in _table()[called]:
        if row.operands:
            loop = _loop(function, arguments)
            if loop and row.operands.issuperset(loop.inputs):
                return row.instruction, tuple(loop.inputs), loop.outputs[0]
            continue
        cases = [case for case in row.cases if len(case.args) == len(arguments)]
        best = context().resolve_overload(
            called, cases, arguments, {}, exact_match_required=row.exact
        )
        if best:
            return row.instruction, best.args, best.return_type
    return None


def _loop(ufunc: np.ufunc, arguments: tuple) -> object | None:
    """NumPy's choice among a ufunc's loops, by Numba's rules, which leave out float16."""
    if types.float16 in arguments or not resolve(ufunc, arguments):
        return None
    return ufunc_find_matching_loop(ufunc, arguments)
