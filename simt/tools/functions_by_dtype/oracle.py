"""What the compiled code computes: its PTX as C, compiled here and run on the hard inputs."""

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from functions_by_dtype import inputs, ptx
from functions_by_dtype.cases import Case
from functions_by_dtype.compiler import Compiled, Module
from functions_by_dtype.machine import wide

COMPILER = "cc -O0 -w -frounding-math -ffp-contract=off -shared -fPIC -o {} {} -lm"
HEADER = Path(__file__).with_name("ptx.h")
ENDLESS = re.compile(r"libdevice\.[jy]")  # Bessel functions: a loop of as many rounds as the order


class Values(NamedTuple):
    """Results; what is in A afterwards; where the value is nobody's promise."""

    result: np.ndarray
    rows: np.ndarray | None
    open: np.ndarray  # the function raised, or the variants of ptx.h differ


def expected(case: Case, values: Values) -> list[np.ndarray]:
    """The results as the SIMT machine gives them."""
    found = wide(values.result)
    return found if values.rows is None or "[x]" in case.text else [*found, values.rows]


def values(modules: list[Module], answers: dict[Case, Compiled]) -> dict[Case, Values]:
    """The values of each case whose code this oracle can run; not those of warps and barriers."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, module in enumerate(modules):
            library, cases = _library(Path(folder) / f"part{number}", module)
            for position, case in enumerate(cases):
                kind = inputs.result_dtype(answers[case].type)
                found[case] = _run(library, position, case, kind)
    return found


def _library(place: Path, module: Module) -> tuple[ctypes.CDLL, list[Case]]:
    """The module's code, compiled for this computer, and the cases that are in it."""
    functions = ptx.functions(module.ptx)
    names = {case: ptx.identifier(name) for case, name in module.names.items()}
    cases = {c: n for c, n in names.items() if n in functions and not ENDLESS.search(c.text)}
    drivers = [
        _driver(position, name, functions[name][1], case)
        for position, (case, name) in enumerate(cases.items())
    ]
    heads = [body.partition("{")[0] + ";" for body, _ in functions.values()]
    bodies = [body for body, _ in functions.values()]
    source = "\n".join([f'#include "{HEADER}"', ptx.data(module.ptx), *heads, *bodies, *drivers])
    place.with_suffix(".c").write_text(source)
    built = COMPILER.format(place.with_suffix(".so"), place.with_suffix(".c")).split()
    subprocess.run(built, check=True)
    return ctypes.CDLL(str(place.with_suffix(".so"))), list(cases)


def _driver(position: int, name: str, kinds: list[str], case: Case) -> str:
    """A loop over the inputs in C; an array is described by seven parameters, a complex by two."""
    lines, given = [], iter(kinds[1:])
    for column, code in enumerate(case.dtypes):
        size, place = inputs.dtype(code).itemsize, f"in[{column}] + i * "
        if code.endswith("[]"):
            data = f"(uint64_t)({place}{4 * size})"
            for value in ("0", "0", "4", f"{size}", data, "4", f"{size}"):
                lines.append(f"ARGUMENT({next(given)}, d{len(lines)}, &(uint64_t){{{value}}}, 8)")
            continue
        parts = 2 if code[0] == "c" else 1
        for part in range(parts):
            where = f"{place}{size} + {part * size // 2}"
            lines.append(f"ARGUMENT({next(given)}, d{len(lines)}, {where}, {size // parts})")
    arguments = ", ".join(["(uint64_t)(out + i * stride)"] + [f"d{k}" for k in range(len(lines))])
    head = f"void run{position}(long n, char **in, char *out, long stride, int32_t *status)"
    body = "\n        ".join([*lines, f"status[i] = {name}({arguments});"])
    return f"{head} {{\n    for (long i = 0; i < n; i++) {{\n        {body}\n    }}\n}}\n"


def _run(library: ctypes.CDLL, position: int, case: Case, kind: np.dtype) -> Values:
    found = []
    for variant in (0, 1):
        ctypes.c_int.in_dll(library, "variant").value = variant
        columns = [column.copy() for column in inputs.columns(case)]
        out = np.zeros(len(columns[0]), kind)
        status = np.zeros(len(out), np.int32)
        pointers = (ctypes.c_void_p * len(columns))(*(c.ctypes.data for c in columns))
        given = ctypes.c_long(len(out)), pointers, ctypes.c_void_p(out.ctypes.data)
        given += ctypes.c_long(kind.itemsize), ctypes.c_void_p(status.ctypes.data)
        getattr(library, f"run{position}")(*given)
        rows = columns[0] if case.dtypes[0].endswith("[]") else None
        found.append((out, rows, status))
    (out, rows, status), (other, *_) = found
    view = f"V{kind.itemsize}"
    return Values(out, rows, (out.view(view) != other.view(view)) | (status != 0))
