"""Asks Nsight Compute's program `ncu` for metrics of the kernels of counted_kernels."""

import csv
import math
import os
import re
import shutil
import subprocess
import sys
from functools import cache

from labkit.gpu.report.rows import NotHere
from numba_simt.profiling.counters import COUNTERS

PROGRAM = "labkit.gpu.report.sections.counted_kernels"
PATIENCE = 100  # seconds for `ncu`


def terms(counter: str) -> list[tuple[int, str]]:
    """Weights and metrics of a counter: "op_{add, 2 x fma}.sum" is op_add.sum + 2 op_fma.sum."""
    return taken_apart(COUNTERS[counter].nsight)


def taken_apart(formula: str) -> list[tuple[int, str]]:
    """The same of any formula."""
    head, brace, rest = formula.partition("{")
    inside, _, tail = rest.partition("}")
    parts = (part.rpartition(" x ") for part in inside.split(", "))
    return [(int(n or 1), head + m + tail) for n, _, m in parts] if brace else [(1, head)]


def number(text: str) -> float:
    """1,234.5 or 1.2e+06; NaN for "n/a", and for what may mean two things."""
    plain = re.fullmatch(r"(\d+|\d{1,3}(,\d{3})+)(\.\d+)?([eE][+-]?\d+)?", text)
    return float(text.replace(",", "")) if plain else math.nan


def program(name: str) -> str:
    """Where a program of CUDA lies. NotHere, in a sentence, where it does not."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if not found:
        raise NotHere(f"The program {name} is not here.")
    return found


@cache
def ask(metrics: frozenset[str], rows: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Row -> metrics of its launch, without those that this `ncu` does not know.

    `rows` are those that the program launches, in its order.
    """
    command = [program("ncu"), "--csv", "--page", "details", "--print-units", "base"]
    command += ["--clock-control", "none", "--target-processes", "all", "--metrics"]
    command += [",".join(sorted(metrics)), sys.executable, "-P", "-m", PROGRAM]
    # ncu writes numbers as `number` reads them, and finds what this process has found.
    env = {
        "LC_ALL": "C",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "LABKIT_CUDA": "gpu",
    }
    done = subprocess.run(
        command, env=os.environ | env, capture_output=True, text=True, timeout=PATIENCE
    )
    said = done.stdout + done.stderr
    if unknown := metrics & set(re.findall(r"Failed to find metric \W*([\w.]+)", said)):
        known = metrics - unknown
        return ask(known, rows) if known else {row: {} for row in rows}
    if "ERR_NVGPUCTRPERM" in said:
        raise NotHere("This user may not read the GPU's counters.")
    launches = table(done.stdout)
    if done.returncode or len(launches) != len(rows):
        raise RuntimeError(f"ncu gave no table: {' '.join(said.split())[-300:]}")
    return dict(zip(rows, (launches[i] for i in sorted(launches)), strict=True))


def table(printed: str) -> dict[int, dict[str, float]]:
    """Number of the launch -> metric -> value, from what `ncu` printed."""
    _, header, rest = printed.partition('"ID"')
    launches: dict[int, dict[str, float]] = {}
    for line in csv.DictReader((header + rest).splitlines()):
        if not line["ID"].isdecimal():
            continue  # such as ==PROF== Disconnected from process 1
        told = launches.setdefault(int(line["ID"]), {})
        told[line["Metric Name"]] = number(line["Metric Value"])
    return launches
