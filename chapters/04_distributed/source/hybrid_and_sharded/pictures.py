"""Pictures of sharded training and of meshes.

memory_picture   bytes of a rank by kind, for each stage of ZeRO, with predicted marks
mesh_picture     the ranks of a 2-D mesh as a grid, with their groups

Lesson hybrid_and_sharded shows them.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from labkit.distributed.launching.live_bytes import ACTIVATIONS, GRADIENTS, PARAMETERS, STATE
from labkit.figures import canvas, show
from labkit.figures.shapes import FILLS, bar, name_rows, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes

if TYPE_CHECKING:
    from labkit.distributed.sharded.memory import State
    from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
    from labkit_lessons.distributed.hybrid_and_sharded.trained import Run

LABELS = {
    PARAMETERS: "weights",
    GRADIENTS: "gradients",
    STATE: "moments",
    ACTIVATIONS: "activations and the rest",
}
COLOURS = {PARAMETERS: BLUE, GRADIENTS: SKY, STATE: ORANGE, ACTIVATIONS: PALE}
MEGA = 1e6


def memory_picture(runs: Mapping[str, Run], predicted: Mapping[str, State]) -> None:
    """Two bars for each run: between backward and update, and at the peak of the step.

    predicted   by the same names: marks where weights, gradients and moments end by the formula

    Raises ValueError where the names differ, or there are none.
    """
    if list(runs) != list(predicted):
        raise ValueError(f"memory_picture: runs {list(runs)}, and predicted {list(predicted)}.")
    if not runs:
        raise ValueError("memory_picture: there are no runs to draw.")
    figure, axes = canvas(7.5, 0.9 + 0.75 * len(runs))
    ticks = {}
    said = []
    for row, (name, run) in enumerate(runs.items()):
        _draw_bar(axes, 2.6 * row, run.held)
        _draw_bar(axes, 2.6 * row + 1, run.at_peak)
        _draw_marks(axes, 2.6 * row, predicted[name])
        ticks |= {2.6 * row: f"{name}, after backward", 2.6 * row + 1: "at the peak"}
        held = sum(run.held.values()) / MEGA
        said.append(f"{name}: {held:.1f} MB after backward, {run.peak / MEGA:.1f} MB at the peak.")
    for kind, colour in COLOURS.items():
        axes.barh([0], [0], color=colour, label=LABELS[kind])
    axes.plot([], [], "|", color=INK, markersize=11, label="predicted")
    axes.legend(loc="lower right", fontsize=8.5)
    name_rows(axes, ticks, 0.7, line=True)
    axes.set_xlim(right=1.2 * max(run.peak for run in runs.values()) / MEGA)  # for the legend
    axes.set_xlabel("MB in one rank, counted")
    show(figure, f"Bytes of one rank by kind, with predicted marks. {' '.join(said)}")


def _draw_bar(axes: Axes, y: float, held: Mapping[str, int]) -> None:
    left = 0.0
    for kind, colour in COLOURS.items():
        width = held[kind] / MEGA
        axes.barh([y], [width], left=[left], height=0.9, color=colour, edgecolor=CARD)
        left += width


def _draw_marks(axes: Axes, y: float, state: State) -> None:
    end = 0.0
    for size in (state.weights, state.gradients, state.moments):
        end += size / MEGA
        axes.plot([end, end], [y - 0.62, y + 0.45], color=INK, linewidth=1.8)


def mesh_picture(mesh: Mesh) -> None:
    """A grid of the ranks: rows are groups along the second side, columns along the first.

    Raises ValueError for a mesh that has not two sides.
    """
    if len(mesh.sides) != 2:
        raise ValueError(f"mesh_picture draws two sides; this mesh is {mesh.text}.")
    (first, rows), (second, columns) = mesh.sides.items()
    figure, axes = canvas(1.8 + 0.9 * columns, 1.0 + 0.6 * rows)
    for rank in range(mesh.ranks):
        place = mesh.coordinates(rank)
        fill, ink = FILLS[place[first] % len(FILLS)]
        x, y = place[second], place[first]
        bar(axes, y, x - 0.46, 0.92, 0.84, fill)
        write(axes, x, y, f"rank {rank}", color=ink)
    axes.set_xticks(range(columns), [f"{second} {place}" for place in range(columns)])
    name_rows(axes, [f"{first} {place}" for place in range(rows)])
    axes.xaxis.tick_top()
    axes.set_xlim(-0.6, columns - 0.4)
    axes.tick_params(top=False, colors=QUIET)
    axes.spines[:].set_visible(False)
    shown = "; ".join(f"groups along {side}: {_listed(mesh.groups(side))}" for side in mesh.sides)
    show(figure, f"A mesh of {mesh.text} ranks; {shown}.")


def _listed(groups: list[tuple[int, ...]]) -> str:
    return ", ".join(f"({', '.join(map(str, group))})" for group in groups)
