"""The chapter's pictures: a systolic array in some of its cycles, or several arrays in one each.

Pictures, stepper and lessons share their letters and the origin of their counting. The product is
y = a w. Cycle 0 is the first in which a number enters at the left; what is loaded before has the
cycles -1, -2 and so on.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from labkit.figures.shapes import bare, key, squares, write
from labkit.figures.style import BLUE, CARD, INK, QUIET, SKY, Axes, canvas, show
from labkit.tpu.matrix_unit.grid import Cycle
from labkit.tpu.matrix_unit.systolic import Run

FILLS = {"computing": BLUE, "loading": "#f6d7ae", "passing": SKY, "idle": "#edf0f2"}
NUMBERS = {"computing": CARD, "idle": "#5f6872"}  # colours of what stands on a fill; else INK
LEFT = -0.7  # x of what enters at the left; an element has side 1
ABOVE = -0.4  # y of what enters at the top
FROM_LEFT = {"ws": "a", "is": "w", "os": "a"}
FROM_TOP = {"ws": "w", "is": "a", "os": "w"}
STAYS = {"ws": "w", "is": "a", "os": "sum"}
POINTS = 72  # of an inch
READABLE = 4  # points: smaller numbers are left out


class Label(NamedTuple):
    """A text at a place; an element is a square of side 1, and y grows downwards."""

    x: float
    y: float
    text: str


class Panel(NamedTuple):
    """An array after one cycle of its run, under a title."""

    title: str
    run: Run
    cycle: Cycle


def activity(cycle: Cycle) -> np.ndarray:
    """What each element did in a cycle of a run's trace: [rows, cols] of the words in FILLS.

    computing  a useful multiply-add
    passing    a multiply-add on padding
    loading    it took in a number that is going to stay
    idle       nothing came from the left
    """
    does = np.full(cycle.active.shape, "idle", dtype="<U9")
    does[cycle.loading] = "loading"
    does[cycle.passing] = "passing"
    does[cycle.active] = "computing"
    return does


def numbering(run: Run) -> range:
    """The numbers of the cycles in `run.trace`; 0 is the first with a number from the left."""
    loading = next(i for i, cycle in enumerate(run.trace) if cycle.left)
    end = len(run.trace) - loading
    return range(-loading, end)


def picture(run: Run, *cycles: int) -> None:
    """The array after each of the `cycles`, numbered as in `numbering`; at most four.

    `run` is what `labkit.tpu.SystolicArray` returns, with its trace. Raises ValueError without.

    In each element stands its partial sum, or the number that stays in it while it has none. At the
    left and at the top stands what has just entered, in bold below what has just left.
    """
    shown = _chosen(run, cycles)
    panels = []
    spoken = []
    for t, cycle in zip(cycles, shown, strict=True):
        panels.append(Panel(f"cycle {t}: {cycle.phase}", run, cycle))
        computing = np.count_nonzero(cycle.active)
        spoken.append(f"in cycle {t} ({cycle.phase}) {computing} compute")
    size = f"{run.rows} by {run.cols} processing elements"
    about = f"An array of {size}, dataflow {run.dataflow}: {', '.join(spoken)}."
    _side_by_side(panels, partial(_content, run), about)


def dataflows(t: int, *runs: Run) -> None:
    """The array after cycle `t` of each of the `runs`, as `picture` draws it; at most four.

    Raises ValueError for a run without a trace, or that has no such cycle.
    """
    panels = []
    spoken = []
    for run in runs:
        [cycle] = _chosen(run, (t,))
        panels.append(Panel(f"{run.dataflow}, cycle {t}", run, cycle))
        enters = f"{FROM_LEFT[run.dataflow]} at the left"
        if cycle.top:
            enters += f", {FROM_TOP[run.dataflow]} at the top"
        spoken.append(f"{run.dataflow}: {STAYS[run.dataflow]} stays, and {enters} enters")
    _side_by_side(panels, _content_of_any, f"Arrays in cycle {t}. {'; '.join(spoken)}.")


def _side_by_side(panels: list[Panel], content: Callable[[str], str], about: str) -> None:
    """Each panel with its title, one key for all of them, and `about` for who cannot see them."""
    count = len(panels)
    places = max(2, count)  # one panel alone is not drawn larger than one of two
    width = min(7.5, 2.7 * places)  # of the figure, in inches
    widest = max(panel.run.cols for panel in panels)
    highest = max(panel.run.rows for panel in panels)
    fitting = 0.93 * width / count / (widest + 2.1)
    element = min(0.6, fitting)  # its side in inches
    height = element * (highest + 1.6) + 0.8
    figure, _ = canvas(width, height, 1, count)
    seen = set()
    for ax, panel in zip(figure.axes, panels, strict=True):
        # a number stands beside the array on either side
        bare(ax, (-1.4, panel.run.cols + 0.7), (panel.run.rows + 0.8, -0.8), "equal")
        ax.set_title(panel.title, loc="center", fontsize=9)
        _draw(ax, panel.run, panel.cycle, POINTS * element)
        seen.update(activity(panel.cycle).flat)
    for kind, fill in FILLS.items():
        if kind in seen:
            squares(figure.axes[0], {f"{kind}: {content(kind)}": fill}, s=60, ec=QUIET)
    key(figure, 4)
    show(figure, about)


def _chosen(run: Run, cycles: tuple[int, ...]) -> list[Cycle]:
    """The cycles with these numbers; ValueError where there is no trace or no such cycle."""
    trace = getattr(run, "trace", None)
    if not isinstance(trace, list):
        raise ValueError("picture: this is no run with a trace: call matmul(..., trace=True).")
    known = numbering(run)
    fits = 1 <= len(cycles) <= 4
    if not fits or not all(t in known for t in cycles):
        limits = f"from {known[0]} to {known[-1]}"
        raise ValueError(f"picture: the cycles are {cycles}; give one to four {limits}.")
    places = [known.index(t) for t in cycles]
    return [trace[place] for place in places]


def _content(run: Run, kind: str) -> str:
    """What stands in an element of this kind, in words."""
    has_sum = kind in ("computing", "passing")
    if run.dataflow == "os" or has_sum:
        return "its sum"
    return f"its {STAYS[run.dataflow]}"


def _content_of_any(kind: str) -> str:
    """What stands in an element of this kind, where each run keeps something else."""
    return "its sum" if kind in ("computing", "passing") else "what stays in it"


def _draw(ax: Axes, run: Run, cycle: Cycle, side: float) -> None:
    """The grid after one cycle, each element `side` points wide; numbers where they fit."""
    kinds = activity(cycle)
    gap = min(2, side / 12)
    for (i, j), kind in np.ndenumerate(kinds):
        x = [j, j + 1, j + 1, j]
        y = [i, i, i + 1, i + 1]
        ax.fill(x, y, facecolor=FILLS[kind], edgecolor=CARD, linewidth=gap)
    inside = _inside(run, cycle)
    edges = _edges(run, cycle)
    longest = max(len(label.text) for label in inside + edges)
    letters = max(4, longest)
    size = min(9, 1.3 * side / letters)
    if size <= READABLE:
        return
    for label, kind in zip(inside, kinds.flat, strict=True):
        colour = NUMBERS.get(kind, INK)
        write(ax, *label, size, color=colour)
    for label in edges:
        weight = "bold" if label.y > run.rows else "normal"  # in bold what has left
        write(ax, *label, size, color=INK, weight=weight)
    for label in _letters(run, cycle):
        write(ax, *label, size, color=QUIET, style="italic")


def _inside(run: Run, cycle: Cycle) -> list[Label]:
    """In each element its sum, or the number that stays while it has none; row by row."""
    stays = cycle.a if run.dataflow == "is" else cycle.b
    has_sum = cycle.active | cycle.passing
    if run.dataflow == "os":
        has_sum[:] = True
    values = np.where(has_sum, cycle.psum, stays)
    labels = []
    for (i, j), value in np.ndenumerate(values):
        labels.append(Label(j + 0.5, i + 0.5, _text(value)))
    return labels


def _edges(run: Run, cycle: Cycle) -> list[Label]:
    """What has just entered at the left and at the top, and left below."""
    labels = []
    for i, value in cycle.left.items():
        labels.append(Label(LEFT, i + 0.5, f"{_text(value)} →"))
    for j, value in cycle.top.items():
        labels.append(Label(j + 0.5, ABOVE, _text(value)))
    for j, (_, _, value) in cycle.leaves.items():
        labels.append(Label(j + 0.5, run.rows + 0.4, _text(value)))
    return labels


def _letters(run: Run, cycle: Cycle) -> list[Label]:
    """The matrices' letters, beside the numbers of each edge that has any."""
    right = run.cols + 0.4
    below = run.rows + 0.4
    letters = []
    if cycle.left:
        letters.append(Label(LEFT, ABOVE, FROM_LEFT[run.dataflow]))
    if cycle.top:
        letters.append(Label(right, ABOVE, FROM_TOP[run.dataflow]))
    if cycle.leaves:
        letters.append(Label(right, below, "y"))
    return letters


def _text(value: np.number) -> str:
    if value.dtype.kind == "f":
        return f"{value:.3g}"
    return str(value)
