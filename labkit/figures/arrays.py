"""A systolic array in some of its cycles, side by side (lesson 1 of the TPU chapter)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, CARD, INK, QUIET, SKY, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILLS = {"computing": BLUE, "loading": "#f6d7ae", "passing": SKY, "idle": "#edf0f2"}


def activity(cycle: object) -> np.ndarray:
    """What each element did in a cycle of a run's trace: [rows, cols] of the words in FILLS.

    computing  a useful multiply-add
    passing    a multiply-add on padding
    loading    it took in a number that is going to stay
    idle       nothing came from the left
    """
    does = [cycle.active, cycle.passing, cycle.loading]
    return np.select(does, ["computing", "passing", "loading"], "idle")


def picture(run: object, *cycles: int) -> None:
    """The array after each of the `cycles`, counted from 1 as in the stepper; at most four.

    `run` is what `labkit.tpu.SystolicArray` returns, with its trace. Raises ValueError without.

    In each element stands its partial sum, or the number that stays in it while it has none. At the
    left and at the top stands what has just entered, in bold below what has just left.
    """
    if not isinstance(getattr(run, "trace", None), list):
        raise ValueError("picture: this is no run with a trace: call matmul(..., trace=True).")
    last, count = len(run.trace), len(cycles)
    if not 1 <= count <= 4 or not all(t in range(1, last + 1) for t in cycles):
        raise ValueError(f"picture: the cycles are {cycles}; give one to four from 1 to {last}.")
    width = min(7.5, 2.5 * max(2, count))
    element = min(0.6, 0.93 * width / count / (run.cols + 1.5))  # its side in inches
    figure, axes = canvas(width, element * (run.rows + 1.6) + 0.8, 1, count)
    shown, spoken = [run.trace[t - 1] for t in cycles], []
    for ax, t, cycle in zip(np.ravel(axes), cycles, shown, strict=True):
        ax.set(xlim=(-1.4, run.cols + 0.1), ylim=(run.rows + 0.8, -0.8), aspect="equal")
        ax.axis("off")
        ax.set_title(f"cycle {t}: {cycle.phase}", loc="center", fontsize=9)
        _draw(ax, run, cycle, 72 * element)
        spoken.append(f"in cycle {t} ({cycle.phase}) {np.count_nonzero(cycle.active)} compute")
    seen = {kind for cycle in shown for kind in activity(cycle).flat}
    for kind in [kind for kind in FILLS if kind in seen]:
        sum_is_shown = run.dataflow == "os" or kind in ("computing", "passing")
        label = f"{kind}: {'its sum' if sum_is_shown else 'the number that stays'}"
        ax.scatter([], [], marker="s", s=60, color=FILLS[kind], ec=QUIET, label=label)
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    size = f"{run.rows} by {run.cols} processing elements"
    show(figure, f"An array of {size}, dataflow {run.dataflow}: {', '.join(spoken)}.")


def _draw(ax: Axes, run: object, cycle: object, side: float) -> None:
    """The grid after one cycle, each element `side` points wide; numbers where they fit."""
    kinds, stays = activity(cycle), cycle.a if run.dataflow == "is" else cycle.b
    moving = run.dataflow != "os"  # the sums move; without one there is the number that stays
    values = np.where((cycle.active | cycle.passing) | (not moving), cycle.psum, stays)
    marks = [(j + 0.5, i + 0.5, value) for (i, j), value in np.ndenumerate(values)]
    marks += [(-0.7, i + 0.5, value) for i, value in cycle.left.items()]
    marks += [(j + 0.5, -0.4, value) for j, value in cycle.top.items()]
    marks += [(j + 0.5, run.rows + 0.4, value) for j, (*_, value) in cycle.leaves.items()]
    texts = [f"{value:.3g}" if value.dtype.kind == "f" else str(value) for *_, value in marks]
    size = min(9, 1.3 * side / max(4, *map(len, texts)))
    for (i, j), kind in np.ndenumerate(kinds):
        corners = [j, j + 1, j + 1, j], [i, i, i + 1, i + 1]
        ax.fill(*corners, facecolor=FILLS[kind], edgecolor=CARD, linewidth=min(2, side / 12))
    for (x, y, _), text in zip(marks, texts, strict=True) if size > 4 else []:
        inside = x > 0 and 0 < y < run.rows
        kind = kinds[int(y), int(x)] if inside else "edge"
        look = {"color": {"computing": CARD, "idle": "#5f6872"}.get(kind, INK), "fontsize": size}
        look["weight"] = "bold" if y > run.rows else "normal"
        ax.text(x, y, text + " →" * (x < 0), ha="center", va="center", **look)
