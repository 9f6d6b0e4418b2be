"""Pictures of the accelerator: its parts as boxes, and which layers work when.

Lesson the_network_as_a_pipeline shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labkit.figures import shapes
from labkit.figures.shapes import arrow, write
from labkit.figures.style import BLUE, CARD, INK, PALE, QUIET, SKY, Axes, canvas, show

if TYPE_CHECKING:
    from labkit.fpga.convnet.pipeline_runs import WatchedRun

SPAN = 256  # cycles that are drawn as one


class Box(NamedTuple):
    """A part of the accelerator: what it is here, and the RTL file that describes it."""

    name: str
    file: str


CONTROL = (
    Box("registers", "control_registers"),
    Box("one job", "job_control"),
    Box("who gets a beat", "section_router"),
    Box("first two beats", "stream_header"),
)
NETWORK = (
    (
        Box("image queue", "block_fifo"),
        Box("one pixel", "narrow"),
        Box("conv1", "conv_layer"),
        Box("pool1", "maxpool2x2"),
        Box("all channels", "gather"),
        Box("row queue", "stream_fifo"),
    ),
    (
        Box("conv2", "conv_layer"),
        Box("pool2", "maxpool2x2"),
        Box("value queue", "block_fifo"),
        Box("fc1", "fully_connected"),
        Box("one sum", "narrow"),
        Box("int8", "requantize"),
    ),
    (
        Box("four values", "gather"),
        Box("queue", "stream_fifo"),
        Box("fc2", "fully_connected"),
        Box("biases", "add_bias"),
    ),
)
WEIGHED = ("conv1", "conv2", "fc1", "fc2")
FED = ("image queue", *WEIGHED, "int8", "biases")  # those that get beats from the router
_STEP, _WIDTH, _HEIGHT, _ROW = 2.0, 1.62, 0.8, 1.45


def blocks() -> None:
    """The accelerator's parts, with the name of each one's file in `labkit/fpga/rtl`."""
    figure, axes = canvas(8.2, 4.2)
    for place, box in enumerate(CONTROL):
        _draw_box(axes, place, 0, box, CARD)
    _draw_arrow(axes, (_left(0) - 0.5, 0), (_left(0) - 0.05, 0))
    write(axes, _left(0) - 0.5, -0.18, "s_axi", 8, va="bottom")
    _between(axes, 0, 0, both=True)
    _between(axes, 1, 0)
    _between(axes, 2, 0)
    _draw_arrow(axes, (_middle(1), -0.95), (_middle(1), -_HEIGHT / 2 - 0.05))
    write(axes, _middle(1) + 0.1, -0.95, "s_axis", 8, ha="left")
    for row, line in enumerate(NETWORK, start=1):
        for place, box in enumerate(line):
            _draw_box(axes, place, row, box, SKY if box.name in WEIGHED else PALE)
            if place + 1 < len(line):
                _between(axes, place, row)
        if row < len(NETWORK):
            _return(axes, len(line) - 1, row)
    _draw_beats(axes)
    end = len(NETWORK[-1])
    y = len(NETWORK) * _ROW
    _draw_arrow(axes, (_left(end - 1) + _WIDTH, y), (_left(end), y))
    write(axes, _left(end) + 0.1, y, "logits, through job_control to m_axis", 8, ha="left")
    shapes.bare(axes, (-0.75, _left(6)), (len(NETWORK) * _ROW + 0.65, -1.2), "equal")
    lines = "; ".join(", ".join(f"{b.name} ({b.file})" for b in line) for line in NETWORK)
    control = ", ".join(f"{box.name} ({box.file})" for box in CONTROL)
    show(
        figure,
        f"Boxes of the accelerator, each with its RTL file. In the top row {control}; s_axi leads "
        "to the registers and s_axis to the job. Below, arrows lead through the network from box "
        f"to box: {lines}; then the logits leave. From who gets a beat, blue arrows lead to "
        f"{', '.join(FED)}. The four layers with weights are blue.",
    )


def activity(run: WatchedRun, until: int | None = None) -> None:
    """When each layer works: a row for each, filled to the share of the cycles in which it does.

    until   the last cycle of the picture; two pictures with the same one can be compared
    """
    until = until or int(run.cycles)
    figure, axes = canvas(8.0, 0.75 + 0.62 * len(run.working), len(run.working), 1, hspace=0.12)
    said = []
    for row, (name, work) in zip(axes, run.working.items(), strict=True):
        share = shares(work)
        edges = SPAN * np.arange(len(share) + 1)
        row.stairs(share, edges, fill=True, color=BLUE)
        row.axvline(int(run.cycles), color=QUIET, linewidth=1.2, linestyle="--")
        row.set_ylabel(name, rotation=0, ha="right", va="center")
        row.set_xlim(0, until)
        row.set_ylim(0, 1.04)
        row.set_yticks([])
        row.tick_params(labelbottom=row is axes[-1])
        busy = 100 * work.sum() / int(run.cycles)
        said.append(f"{name} {busy:.0f} % of them")
    axes[-1].set_xlabel("clock cycle; dashed: the end of the run")
    axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    show(
        figure,
        f"Which layer works when, over {int(run.cycles):,} cycles. Working in all cycles: "
        f"{', '.join(said)}. {spoken_rests(run.working)}",
    )


def shares(work: np.ndarray) -> np.ndarray:
    """work[cycles] -> the share of each span of cycles in which the layer works."""
    padded = np.zeros(-(-len(work) // SPAN) * SPAN)
    padded[: len(work)] = work
    return np.minimum(padded.reshape(-1, SPAN).mean(axis=1), 1)


def spoken_rests(working: Mapping[str, Sequence[int]]) -> str:
    """How long each layer is idle between its first work and its last, and in how many stretches.

    A stretch is a rest that can be seen; the other idle cycles lie scattered between those of work.
    """
    said = []
    for name, work in working.items():
        work = np.asarray(work)
        busy = np.flatnonzero(work)
        cycles = int(busy[-1] + 1 - busy[0] - work.sum())
        idle = shares(work) < 0.1
        inside = np.flatnonzero(~idle)
        idle = idle[inside[0] : inside[-1] + 1]
        rests = int(np.sum(idle[1:] & ~idle[:-1]))
        said.append(f"{name} is idle for {cycles:,} cycles, with {rests} long rests")
    return f"Between its first and its last work, {', '.join(said)}."


def _left(place: int) -> float:
    return _STEP * place


def _middle(place: int) -> float:
    return _left(place) + _WIDTH / 2


def _draw_box(axes: Axes, place: int, row: int, box: Box, fill: str) -> None:
    x, y = _left(place), row * _ROW
    look = {"edge": BLUE, "linewidth": 1.1}
    shapes.box(axes, x, y - _HEIGHT / 2, _WIDTH, _HEIGHT, fill, **look)
    write(axes, _middle(place), y - 0.14, box.name, 8.5)
    write(axes, _middle(place), y + 0.2, box.file, 6.8)


def _between(axes: Axes, place: int, row: int, both: bool = False) -> None:
    """The arrow from a box to the next one."""
    y = row * _ROW
    start, end = (_left(place) + _WIDTH + 0.03, y), (_left(place + 1) - 0.03, y)
    _draw_arrow(axes, start, end, "<->" if both else "->")


def _return(axes: Axes, last: int, row: int) -> None:
    """From the end of a row to the beginning of the next one."""
    x, y = _left(last) + _WIDTH, row * _ROW
    below = y + _ROW / 2
    end = y + _ROW
    axes.plot([x, x + 0.2, x + 0.2, -0.3, -0.3], [y, y, below, below, end], color=INK, lw=1.1)
    _draw_arrow(axes, (-0.3, end), (-0.04, end))


def _draw_beats(axes: Axes) -> None:
    """From the router to a rail above the network, and into every box that gets beats."""
    rail = _ROW / 2
    ends = [_middle(0), _middle(2)]
    axes.plot([ends[1], ends[1]], [_HEIGHT / 2, rail], color=BLUE, lw=1.6)
    axes.plot(ends, [rail, rail], color=BLUE, lw=1.6)
    write(axes, ends[1] + 0.12, rail, "beats; in the rows below, too", 8, ha="left")
    for row, line in enumerate(NETWORK, start=1):
        top = row * _ROW - _HEIGHT / 2
        for place, box in enumerate(line):
            if box.name in FED:
                start = rail if row == 1 else top - 0.26
                _draw_arrow(axes, (_middle(place), start), (_middle(place), top - 0.02), color=BLUE)
                if row > 1:
                    x = _middle(place) + 0.08
                    write(axes, x, top - 0.14, "beats", 7, ha="left", color=BLUE)


_draw_arrow = partial(arrow, linewidth=1.1)
