"""A systolic array in some of its cycles, side by side (lesson 1 of the TPU chapter).

Picture, stepper and lesson share their letters and the origin of their counting. The product is
y = a w. Cycle 0 is the first in which a number enters at the left; what is loaded before has the
cycles -1, -2 and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, CARD, INK, QUIET, SKY, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILLS = {"computing": BLUE, "loading": "#f6d7ae", "passing": SKY, "idle": "#edf0f2"}
FROM_LEFT = {"ws": "a", "is": "w", "os": "a"}
FROM_TOP = {"ws": "w", "is": "a", "os": "w"}


def activity(cycle: object) -> np.ndarray:
    """What each element did in a cycle of a run's trace: [rows, cols] of the words in FILLS.

    computing  a useful multiply-add
    passing    a multiply-add on padding
    loading    it took in a number that is going to stay
    idle       nothing came from the left
    """
    does = [cycle.active, cycle.passing, cycle.loading]
    return np.select(does, ["computing", "passing", "loading"], "idle")


def numbering(run: object) -> range:
    """The numbers of the cycles in `run.trace`; 0 is the first with a number from the left."""
    loading = next(i for i, cycle in enumerate(run.trace) if cycle.left)
    return range(-loading, len(run.trace) - loading)


def picture(run: object, *cycles: int) -> None:
    """The array after each of the `cycles`, numbered as in `numbering`; at most four.

    `run` is what `labkit.tpu.SystolicArray` returns, with its trace. Raises ValueError without.

    In each element stands its partial sum, or the number that stays in it while it has none. At the
    left and at the top stands what has just entered, in bold below what has just left.
    """
    if not isinstance(getattr(run, "trace", None), list):
        raise ValueError("picture: this is no run with a trace: call matmul(..., trace=True).")
    known, count = numbering(run), len(cycles)
    if not 1 <= count <= 4 or not all(t in known for t in cycles):
        limits = f"from {known[0]} to {known[-1]}"
        raise ValueError(f"picture: the cycles are {cycles}; give one to four {limits}.")
    width = min(7.5, 2.7 * max(2, count))
    element = min(0.6, 0.93 * width / count / (run.cols + 2.1))  # its side in inches
    figure, axes = canvas(width, element * (run.rows + 1.6) + 0.8, 1, count)
    shown = [run.trace[known.index(t)] for t in cycles]
    spoken = []
    for ax, t, cycle in zip(np.ravel(axes), cycles, shown, strict=True):
        ax.set(xlim=(-1.4, run.cols + 0.7), ylim=(run.rows + 0.8, -0.8), aspect="equal")
        ax.axis("off")
        ax.set_title(f"cycle {t}: {cycle.phase}", loc="center", fontsize=9)
        _draw(ax, run, cycle, 72 * element)
        spoken.append(f"in cycle {t} ({cycle.phase}) {np.count_nonzero(cycle.active)} compute")
    seen = {kind for cycle in shown for kind in activity(cycle).flat}
    for kind in [kind for kind in FILLS if kind in seen]:
        label = f"{kind}: {_content(run, kind)}"
        ax.scatter([], [], marker="s", s=60, color=FILLS[kind], ec=QUIET, label=label)
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    size = f"{run.rows} by {run.cols} processing elements"
    show(figure, f"An array of {size}, dataflow {run.dataflow}: {', '.join(spoken)}.")


def _content(run: object, kind: str) -> str:
    """What stands in an element of this kind, in words."""
    if run.dataflow == "os" or kind in ("computing", "passing"):
        return "its sum"
    return f"its {FROM_TOP[run.dataflow]}"


def _draw(ax: Axes, run: object, cycle: object, side: float) -> None:
    """The grid after one cycle, each element `side` points wide; numbers where they fit."""
    kinds = activity(cycle)
    for (i, j), kind in np.ndenumerate(kinds):
        corners = [j, j + 1, j + 1, j], [i, i, i + 1, i + 1]
        ax.fill(*corners, facecolor=FILLS[kind], edgecolor=CARD, linewidth=min(2, side / 12))
    inside = _inside(run, cycle)
    edges = _edges(run, cycle)
    longest = max(len(text) for *_, text in (*inside, *edges))
    size = min(9, 1.3 * side / max(4, longest))
    if size <= 4:
        return
    colours = {"computing": CARD, "idle": "#5f6872"}
    look = {"ha": "center", "va": "center", "fontsize": size}
    for j, i, text in inside:
        colour = colours.get(kinds[i, j], INK)
        ax.text(j + 0.5, i + 0.5, text, color=colour, **look)
    for x, y, text in edges:
        weight = "bold" if y > run.rows else "normal"
        ax.text(x, y, text, color=INK, weight=weight, **look)
    for x, y, letter in _letters(run, cycle):
        ax.text(x, y, letter, color=QUIET, style="italic", **look)


def _inside(run: object, cycle: object) -> list[tuple[int, int, str]]:
    """Column, row and text of each element: its sum, or the number that stays while it has none."""
    stays = cycle.a if run.dataflow == "is" else cycle.b
    has_sum = cycle.active | cycle.passing | (run.dataflow == "os")
    values = np.where(has_sum, cycle.psum, stays)
    return [(j, i, _text(value)) for (i, j), value in np.ndenumerate(values)]


def _edges(run: object, cycle: object) -> list[tuple[float, float, str]]:
    """Place and text of what has just entered at the left and at the top, and left below."""
    left = [(-0.7, i + 0.5, f"{_text(value)} →") for i, value in cycle.left.items()]
    top = [(j + 0.5, -0.4, _text(value)) for j, value in cycle.top.items()]
    below = [(j + 0.5, run.rows + 0.4, _text(v)) for j, (*_, v) in cycle.leaves.items()]
    return left + top + below


def _letters(run: object, cycle: object) -> list[tuple[float, float, str]]:
    """Place and text of the matrices' letters, beside the numbers of each edge that has any."""
    beside = run.cols + 0.4
    places = [
        (cycle.left, -0.7, -0.4, FROM_LEFT[run.dataflow]),
        (cycle.top, beside, -0.4, FROM_TOP[run.dataflow]),
        (cycle.leaves, beside, run.rows + 0.4, "y"),
    ]
    return [(x, y, letter) for numbers, x, y, letter in places if numbers]


def _text(value: np.number) -> str:
    return f"{value:.3g}" if value.dtype.kind == "f" else str(value)
