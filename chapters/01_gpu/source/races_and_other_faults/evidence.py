"""What tests and hazards say of a kernel: a row of a table, and a picture of lost places.

A kernel is launched as the check of its exercise launches it, on one array or on all its cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Exercise
from labkit.figures.shapes import name_rows
from labkit.figures.style import CARD, ORANGE, SKY, canvas, show
from labkit.gpu import profile
from labkit.gpu.judging.kernel_exercise import judge_of
from labkit.provenance import Quantity, counted
from labkit_lessons.gpu.races_and_other_faults.exercises import EXERCISES

SHOWN = 18  # rows of the picture of lost places: the longer ones look alike


def row_of(id: str, kernel: Callable, x: np.ndarray) -> list:
    """[whether the result on x is right, the kinds of hazards there, the check's cases it passes].

    id      of the exercise that asks for this kernel
    kernel  another one for the same task, such as the one that was handed in
    x       the data that its author tried
    """
    exercise = next(one for one in EXERCISES if one.id == id)
    right, hazards = tried(exercise, kernel, (x,))
    cases = list(exercise.cases(np.random.default_rng(0)))
    passed = sum(tried(exercise, kernel, case.args)[0] for case in cases)
    return [right, ", ".join(hazards) or "none", passed_of(passed, len(cases))]


def passed_of(passed: int, cases: int) -> Quantity:
    """So many of the cases, as a share."""
    return counted(100 * passed / cases, "%", "comparing with float64 in the check's cases")


def tried(exercise: Exercise, kernel: Callable, inputs: tuple) -> tuple[bool, list[str]]:
    """Whether the outputs are the oracle's, and the kinds of hazards, each once."""
    setup = judge_of(exercise).set_up(inputs)
    for output in setup.outputs:
        output.fill(np.nan)
    expected = exercise.oracle(*inputs)
    found = profile(kernel, setup.grid, setup.block, *setup.arguments)
    kinds = dict.fromkeys(hazard.kind.replace("_", " ") for hazard in found.hazards)
    return bool(np.allclose(setup.outputs[0], expected, exercise.rtol, exercise.atol)), list(kinds)


def facts(report: Any, most: int = 2) -> list[list]:
    """A row for each of the first hazards: what, where, and both lines; not what would cure it."""
    text = {line: written.strip() for line, written, _ in report.source}
    rows = []
    for one in report.hazards[:most]:
        rows.append([one.kind, one.address, text[one.line], text[one.other_line]])
    return rows


def lost_places(kernel: Any, length: int) -> np.ndarray:
    """Which places of a row of this length the kernel overlooks, [length] of bool.

    It gets an identity matrix: row p has its maximum, 1, at place p.
    """
    found = np.zeros(length, np.float32)
    profile(kernel, length, 32, np.eye(length, dtype=np.float32), found)
    return found != 1


def draw(lost: list[np.ndarray]) -> None:
    """A row for each length, a box for each place; those that are lost are orange."""
    rows = lost[:SHOWN]
    figure, axes = canvas(7.5, 0.6 + 0.22 * len(rows))
    for y, places in enumerate(rows):
        for x, gone in enumerate(places):
            colour = ORANGE if gone else SKY
            axes.broken_barh([(x + 0.06, 0.88)], (y - 0.4, 0.8), facecolor=colour, edgecolor=CARD)
    name_rows(axes, [str(len(places)) for places in rows])
    axes.set(xlabel="place in the row; orange: a maximum there is overlooked", ylabel="length")
    axes.set_xticks(np.arange(SHOWN) + 0.5, range(SHOWN))
    axes.spines["bottom"].set_visible(False)
    said = [f"{len(p)}: {', '.join(map(str, np.flatnonzero(p)))}" for p in rows if p.any()]
    show(figure, f"Places that are overlooked, by the length of the row. {'; '.join(said)}.")
