"""What the SIMT machine says to a case, and what it computes: in the three places of an operand.

It runs in a child process (`kernels.py`), because a fault may end it; then another child goes on
behind the case that did.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from functions_by_dtype import inputs
from functions_by_dtype.cases import Case, names

WIDE = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}
PLACES = "lanes", "arguments", "constants"  # where the operands are
FEW, TOGETHER = 6, 20  # rows for uniform operands; cases in one kernel
CHILD = "import sys; from functions_by_dtype.kernels import work; work(*sys.argv[1:])"


class Answer(NamedTuple):
    """`kind` is accepted, refused, unclear or crash; `text` a type, a sentence, an exception."""

    kind: str
    text: str


def ask(cases: list[Case]) -> dict[Case, Answer]:
    """Accepted with which type of result, or refused with which sentence."""
    return {case: answer for (_, case), answer in _children([("ask", case) for case in cases])}


def compute(cases: list[Case], types: dict[Case, str], place: str) -> dict[Case, object]:
    """The results as `wide` has them, or an Answer instead; arrays are tried in lanes only."""
    batches = [[(case, types[case]) for case in batch] for batch in _batches(cases, place)]
    found = _computed(batches, place)
    crashed = [c for c, a in found.items() if isinstance(a, Answer) and a.kind == "crash"]
    return found | _computed([[(case, types[case])] for case in crashed], place)


def _computed(batches: list[list], place: str) -> dict[Case, object]:
    found = {}
    for (_, batch, _), answer in _children([("compute", batch, place) for batch in batches]):
        found |= answer if isinstance(answer, dict) else {case: answer for case, _ in batch}
    return found


def wide(results: np.ndarray) -> list[np.ndarray]:
    """Results as 64-bit numbers, which hold them exactly: a tuple's parts one by one."""
    parts = [results[name] for name in results.dtype.names or ()] or [results]
    return [part.astype(WIDE[part.dtype.kind]) for part in parts]


def few_rows(case: Case, few: int = FEW) -> np.ndarray:
    """Which rows of the inputs uniform operands are tried with."""
    count = len(inputs.columns(case)[0])
    return np.unique(np.linspace(0, count - 1, few).astype(int))


def _batches(cases: list[Case], place: str) -> Iterator[list[Case]]:
    """Cases that fit into one kernel: with the same inputs."""
    groups = {}
    for case in cases:
        if place == "lanes" or names(case.text)[0] != "A":
            content = tuple(column.tobytes() for column in inputs.columns(case))
            key = case.dtypes, *names(case.text), "shared" in case.text, content
            groups.setdefault(key, []).append(case)
    for group in groups.values():
        for start in range(0, len(group), TOGETHER):
            yield group[start : start + TOGETHER]


def _children(jobs: list[tuple]) -> Iterator[tuple[tuple, object]]:
    """Each job with its answer; where a child ended without one, a crash."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "jobs", Path(folder) / "answers"
        given.write_bytes(pickle.dumps(jobs))
        first = 0
        while first < len(jobs):
            made.write_bytes(b"")
            child = [sys.executable, "-c", CHILD, str(given), str(made), str(first)]
            ended = subprocess.run(child, env=environment, stderr=subprocess.PIPE, text=True)
            for job, answer in zip(jobs[first:], _answers(made), strict=False):
                yield job, answer
                first += 1
            if first < len(jobs):
                said = f"exit {ended.returncode}: {ended.stderr[-200:]}"
                yield jobs[first], Answer("crash", said)
                first += 1


def _answers(made: Path) -> Iterator[object]:
    """Those of a child, as far as it came."""
    with made.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return
