"""The chapter's picture: a systolic array in some of its cycles, side by side (lesson 1).

Picture, stepper and lesson share their letters and the origin of their counting. The product is
y = a w. Cycle 0 is the first in which a number enters at the left; what is loaded before has the
cycles -1, -2 and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labkit.figures.style import BLUE, CARD, INK, QUIET, SKY, canvas, show
from labkit.tpu.grid import Cycle
from labkit.tpu.systolic import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILLS = {"computing": BLUE, "loading": "#f6d7ae", "passing": SKY, "idle": "#edf0f2"}
NUMBERS = {"computing": CARD, "idle": "#5f6872"}  # colours of what stands on a fill; else INK
FROM_LEFT = {"ws": "a", "is": "w", "os": "a"}
FROM_TOP = {"ws": "w", "is": "a", "os": "w"}
READABLE = 4  # points: smaller numbers are left out


class Label(NamedTuple):
    """A text at a place; an element is a square of side 1, and y grows downwards."""

    x: float
    y: float
    text: str


def activity(cycle: Cycle) -> np.ndarray:
    """What each element did in a cycle of a run's trace: [rows, cols] of the words in FILLS.

    computing  a useful multiply-add
    passing    a multiply-add on padding
    loading    it took in a number that is going to stay
    idle       nothing came from the left
    """
    does = [cycle.active, cycle.passing, cycle.loading]
    return np.select(does, ["computing", "passing", "loading"], "idle")


def numbering(run: Run) -> range:
    """The numbers of the cycles in `run.trace`; 0 is the first with a number from the left."""
    loading = next(i for i, cycle in enumerate(run.trace) if cycle.left)
    return range(-loading, len(run.trace) - loading)


def picture(run: Run, *cycles: int) -> None:
    """The array after each of the `cycles`, numbered as in `numbering`; at most four.

    `run` is what `labkit.tpu.SystolicArray` returns, with its trace. Raises ValueError without.

    In each element stands its partial sum, or the number that stays in it while it has none. At the
    left and at the top stands what has just entered, in bold below what has just left.
    """
    shown = _chosen(run, cycles)
    count = len(cycles)
    width = min(7.5, 2.7 * max(2, count))  # of the figure, in inches
    fitting = 0.93 * width / count / (run.cols + 2.1)
    element = min(0.6, fitting)  # its side in inches
    height = element * (run.rows + 1.6) + 0.8
    figure, axes = canvas(width, height, 1, count)
    spoken = []
    for ax, t, cycle in zip(np.ravel(axes), cycles, shown, strict=True):
        _frame(ax, run)
        ax.set_title(f"cycle {t}: {cycle.phase}", loc="center", fontsize=9)
        _draw(ax, run, cycle, 72 * element)
        computing = np.count_nonzero(cycle.active)
        spoken.append(f"in cycle {t} ({cycle.phase}) {computing} compute")
    _legend(figure, ax, run, shown)
    size = f"{run.rows} by {run.cols} processing elements"
    show(figure, f"An array of {size}, dataflow {run.dataflow}: {', '.join(spoken)}.")


def _chosen(run: Run, cycles: tuple[int, ...]) -> list[Cycle]:
    """The cycles with these numbers; ValueError where there is no trace or no such cycle."""
    if not isinstance(getattr(run, "trace", None), list):
        raise ValueError("picture: this is no run with a trace: call matmul(..., trace=True).")
    known = numbering(run)
    if not 1 <= len(cycles) <= 4 or not all(t in known for t in cycles):
        limits = f"from {known[0]} to {known[-1]}"
        raise ValueError(f"picture: the cycles are {cycles}; give one to four {limits}.")
    return [run.trace[known.index(t)] for t in cycles]


def _frame(ax: Axes, run: Run) -> None:
    """Room for the array and for a number beside each of its edges; rows count downwards."""
    ax.set_xlim(-1.4, run.cols + 0.7)
    ax.set_ylim(run.rows + 0.8, -0.8)
    ax.set_aspect("equal")
    ax.axis("off")


def _legend(figure: Figure, ax: Axes, run: Run, shown: list[Cycle]) -> None:
    """Every fill that is seen, with what stands in such an element, under the figure."""
    seen = {kind for cycle in shown for kind in activity(cycle).flat}
    for kind, fill in FILLS.items():
        if kind in seen:
            label = f"{kind}: {_content(run, kind)}"
            ax.scatter([], [], marker="s", s=60, color=fill, ec=QUIET, label=label)
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)


def _content(run: Run, kind: str) -> str:
    """What stands in an element of this kind, in words."""
    if run.dataflow == "os" or kind in ("computing", "passing"):
        return "its sum"
    return f"its {FROM_TOP[run.dataflow]}"


def _draw(ax: Axes, run: Run, cycle: Cycle, side: float) -> None:
    """The grid after one cycle, each element `side` points wide; numbers where they fit."""
    kinds = activity(cycle)
    for (i, j), kind in np.ndenumerate(kinds):
        x = [j, j + 1, j + 1, j]
        y = [i, i, i + 1, i + 1]
        ax.fill(x, y, facecolor=FILLS[kind], edgecolor=CARD, linewidth=min(2, side / 12))
    inside = _inside(run, cycle)
    edges = _edges(run, cycle)
    longest = max(len(label.text) for label in inside + edges)
    size = min(9, 1.3 * side / max(4, longest))
    if size <= READABLE:
        return
    for label, kind in zip(inside, kinds.flat, strict=True):
        _write(ax, label, size, color=NUMBERS.get(kind, INK))
    for label in edges:
        has_left = label.y > run.rows
        _write(ax, label, size, color=INK, weight="bold" if has_left else "normal")
    for label in _letters(run, cycle):
        _write(ax, label, size, color=QUIET, style="italic")


def _write(ax: Axes, label: Label, size: float, **look: str) -> None:
    """The label's text around its place."""
    ax.text(label.x, label.y, label.text, ha="center", va="center", fontsize=size, **look)


def _inside(run: Run, cycle: Cycle) -> list[Label]:
    """In each element its sum, or the number that stays while it has none; row by row."""
    stays = cycle.a if run.dataflow == "is" else cycle.b
    has_sum = cycle.active | cycle.passing
    if run.dataflow == "os":
        has_sum[:] = True
    values = np.where(has_sum, cycle.psum, stays)
    return [Label(j + 0.5, i + 0.5, _text(value)) for (i, j), value in np.ndenumerate(values)]


def _edges(run: Run, cycle: Cycle) -> list[Label]:
    """What has just entered at the left and at the top, and left below."""
    labels = []
    for i, value in cycle.left.items():
        labels.append(Label(-0.7, i + 0.5, f"{_text(value)} →"))
    for j, value in cycle.top.items():
        labels.append(Label(j + 0.5, -0.4, _text(value)))
    for j, (_, _, value) in cycle.leaves.items():
        labels.append(Label(j + 0.5, run.rows + 0.4, _text(value)))
    return labels


def _letters(run: Run, cycle: Cycle) -> list[Label]:
    """The matrices' letters, beside the numbers of each edge that has any."""
    beside = run.cols + 0.4
    letters = []
    if cycle.left:
        letters.append(Label(-0.7, -0.4, FROM_LEFT[run.dataflow]))
    if cycle.top:
        letters.append(Label(beside, -0.4, FROM_TOP[run.dataflow]))
    if cycle.leaves:
        letters.append(Label(beside, run.rows + 0.4, "y"))
    return letters


def _text(value: np.number) -> str:
    return f"{value:.3g}" if value.dtype.kind == "f" else str(value)
