"""What tests and hazards say of a kernel: a row of a table, and a picture of lost places.

A kernel is launched as the check of its exercise launches it, on one array or on all its cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.figures.shapes import name_rows
from labkit.figures.style import CARD, ORANGE, SKY, Axes, canvas, show
from labkit.gpu import profile
from labkit.gpu.judging.kernel_exercise import judge_of
from labkit.provenance import counted
from labkit_lessons.gpu.races_and_other_faults.exercises import EXERCISES

if TYPE_CHECKING:
    from labkit.checks.items import Exercise

SHOWN = 18  # rows of the picture of lost places: the longer ones look alike
BY = "comparing with float64 in the check's cases"


def row_of(id: str, kernel: Callable, x: np.ndarray) -> list:
    """[whether the result on x is right, the kinds of hazards there, the check's cases it passes].

    id      of the exercise that asks for this kernel
    kernel  another one for the same task, such as the one that was handed in
    x       the data that its author tried
    """
    (exercise,) = (one for one in EXERCISES if one.id == id)
    right, hazards = tried(exercise, kernel, x)
    rng = np.random.default_rng(0)
    cases = [tried(exercise, kernel, *case.args) for case in exercise.cases(rng)]
    passed = sum(ok for ok, _ in cases)
    share = counted(100 * passed / len(cases), "%", BY)
    return [right, ", ".join(hazards) or "none", share]


def tried(exercise: Exercise, kernel: Callable, *inputs: np.ndarray) -> tuple[bool, list[str]]:
    """Whether the outputs are the oracle's, and the kinds of hazards, each once."""
    setup = judge_of(exercise).set_up(inputs)
    for output in setup.outputs:
        output.fill(np.nan)
    expected = exercise.oracle(*inputs)
    report = profile(kernel, setup.grid, setup.block, *setup.arguments)
    kinds = []
    for hazard in report.hazards:
        kind = hazard.kind.replace("_", " ")
        if kind not in kinds:
            kinds.append(kind)
    (output,) = setup.outputs
    right = np.allclose(output, expected, exercise.rtol, exercise.atol)
    return bool(right), kinds


def facts(report: Any, most: int = 2) -> list[list]:
    """A row for each of the first hazards: what, where, and both lines; not what would cure it."""
    text = {}
    for line, written, _ in report.source:
        text[line] = written.strip()
    rows = []
    for one in report.hazards[:most]:
        rows.append([one.kind, one.address, text[one.line], text[one.other_line]])
    return rows


def lost_places(kernel: Any, length: int) -> np.ndarray:
    """Which places of a row of this length the kernel overlooks, [length] of bool.

    It gets an identity matrix: row p has its maximum, 1, at place p.
    """
    probe = np.eye(length, dtype=np.float32)
    found = np.zeros(length, np.float32)
    profile(kernel, length, 32, probe, found)
    return found != 1


def draw(lost: list[np.ndarray]) -> None:
    """A row for each length, a box for each place; those that are lost are orange."""
    rows = lost[:SHOWN]
    figure, axes = canvas(7.5, 0.6 + 0.22 * len(rows))
    said = []
    for y, places in enumerate(rows):
        draw_row(axes, y, places)
        if places.any():
            gone = ", ".join(map(str, np.flatnonzero(places)))
            said.append(f"{len(places)}: {gone}")
    lengths = [str(len(places)) for places in rows]
    name_rows(axes, lengths)
    axes.set_xlabel("place in the row; orange: a maximum there is overlooked")
    axes.set_ylabel("length")
    axes.set_xticks(np.arange(SHOWN) + 0.5, range(SHOWN))
    axes.spines["bottom"].set_visible(False)
    show(figure, f"Places that are overlooked, by the length of the row. {'; '.join(said)}.")


def draw_row(axes: Axes, y: int, places: np.ndarray) -> None:
    """The boxes of one length."""
    for x, gone in enumerate(places):
        colour = ORANGE if gone else SKY
        box = [(x + 0.06, 0.88)]
        axes.broken_barh(box, (y - 0.4, 0.8), facecolor=colour, edgecolor=CARD)
