"""Pictures of the accelerator: its blocks and knobs, who works when, and its roofline.

blocks(Folding())               one box for each file of rtl/, the knobs beside them
pipeline(Folding(), images=3)   which image each station works on, over the cycles
roofline({"streamed": (Folding(), 1)})

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from labkit.figures.shapes import Place, arrow, bare, box, factors, name_rows, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes, canvas, show
from labkit.fpga.convnet.accelerator_cycles import station_cycles
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import timeline
from labkit_lessons.fpga.folding_under_a_budget.zynq_roofline import device_roof, point

_WIDE, _HIGH = 1.9, 1.0  # of a box; a column is 2.15 wide, a row 1.55 high
_COLUMN, _ROW = 2.15, 1.55
_MARKERS = "osD^vP"
_IMAGES = (BLUE, ORANGE, SKY, "#f6d7ae")  # in turn


class Block(NamedTuple):
    """A box: the file in rtl/, what it does here, and its knob."""

    file: str
    role: str
    knob: str = ""


def block_rows(folding: Folding) -> list[list[Block]]:
    """The boxes in the order in which data pass, row by row."""
    store = "RESIDENT = 1" if folding.resident else "RESIDENT = 0: left out"
    return [
        [
            Block("control_registers", "registers"),
            Block("job_control", "one job"),
            Block("section_router", "beats by section"),
            Block("stream_header", "shifts"),
        ],
        [
            Block("block_fifo", "images"),
            Block("narrow", "a pixel at a time"),
            Block("conv_layer", "conv1", f"CONV1_LANES = {folding.conv1}"),
            Block("maxpool2x2", "pool1"),
            Block("gather", "all channels"),
        ],
        [
            Block("stream_fifo", "pixels", "ROW_QUEUE"),
            Block("conv_layer", "conv2", f"CONV2_LANES = {folding.conv2}"),
            Block("maxpool2x2", "pool2"),
            Block("block_fifo", "values", "VALUE_QUEUE"),
            Block("narrow", "a value at a time"),
        ],
        [
            Block("fully_connected", "fc1", f"FC1_LANES = {folding.fc1}"),
            Block("narrow", "a sum at a time"),
            Block("requantize", "int8 again"),
            Block("gather", "four at a time"),
            Block("stream_fifo", "inputs of fc2"),
        ],
        [
            Block("weight_store", "kept weights", store),
            Block("fully_connected", "fc2"),
            Block("add_bias", "logits"),
        ],
    ]


def blocks(folding: Folding) -> None:
    """The accelerator as boxes, one for each file of rtl/ at each of its places.

    The first row has what stands around the network: registers, the job, and where beats go. Then
    an image passes row by row. A knob is written into its box.
    """
    rows = block_rows(folding)
    figure, axes = canvas(8.2, 5.4)
    ghostly = not folding.resident
    for y, row in enumerate(rows):
        for x, block in enumerate(row):
            _box(axes, x, y, block, ghost=block.file == "weight_store" and ghostly)
        for x in range(len(row) - 1):
            kept = (y, x) == (4, 0)
            kind = "<->" if (y, x) == (0, 0) else "->"
            ends = (x * _COLUMN + _WIDE, _middle(y)), ((x + 1) * _COLUMN, _middle(y))
            arrow(axes, *ends, kind, **(_GHOST if kept and ghostly else _LINE))
    ends = (_WIDE / 2, 4 * _ROW), (_WIDE / 2, 3 * _ROW + _HIGH)
    arrow(axes, *ends, **(_GHOST if ghostly else _LINE))
    for y in (1, 2):
        _to_next_row(axes, y, [(-0.3, _middle(y + 1)), (0, _middle(y + 1))])
    _to_next_row(axes, 3, [(_COLUMN + _WIDE / 2, 4 * _ROW)])
    router = 2 * _COLUMN + _WIDE / 2
    arrow(axes, (router, _HIGH), (router, _ROW - 0.1), **_LINE)
    axes.text(router + 0.15, (_HIGH + _ROW) / 2, "beats to every layer", va="center", fontsize=7.5)
    bare(axes, (-0.45, 5 * _COLUMN + 0.15), (5 * _ROW - 0.4, -0.15))
    path = "; ".join(", ".join(_spoken(block) for block in row) for row in rows[1:4])
    around = ", ".join(_spoken(block) for block in rows[0])
    last = ", ".join(_spoken(block) for block in rows[4][1:])
    there = "keeps" if folding.resident else "is left out and would keep"
    show(
        figure,
        f"Block diagram, a box for each file. Around the network: {around}. An image passes "
        f"{path}; {last}. The file weight_store {there} the weights of fc1 and fc2.",
    )


def pipeline(folding: Folding, images: int = 3, shapes: Shapes | None = None) -> None:
    """Which image each station works on, over the clock cycles, by formula.

    A bar reaches from a station's first word of an image to its last one. It may wait in between:
    beside its name stands the part of the job's cycles for which it has work.
    """
    job = timeline(folding, images, shapes)
    figure, axes = canvas(7.5, 3.1)
    stations = station_cycles(folding, images, shapes)
    busy = []
    said = []
    for y, (station, spans) in enumerate(job.spans.items()):
        for image, begin, end in spans:
            fill = PALE if image < 0 else _IMAGES[image % len(_IMAGES)]
            wide = end - begin > 0.05 * job.cycles
            length = max(end - begin, 0.003 * job.cycles)  # so that a short one can be seen
            edge = CARD if wide else fill
            axes.barh(y, length, left=begin, height=0.56, color=fill, edgecolor=edge)
            if wide:
                letters = CARD if fill == BLUE else INK
                name = "network" if image < 0 else f"image {image + 1}"
                write(axes, (begin + end) / 2, y, name, 8, color=letters)
        parts = [f"{_name(image)} from {begin:,} to {end:,}" for image, begin, end in spans]
        share = 100 * stations[station] / job.cycles
        percent = f"{share:.0f} %" if share >= 1 else "below 1 %"
        busy.append(f"{station}, {percent} busy")
        said.append(f"{busy[-1]}: {', '.join(parts)}")
    axes.axvline(job.cycles, color=INK, linewidth=1, linestyle=":")
    axes.text(job.cycles, -0.55, f"{job.cycles:,} ", ha="right", va="bottom", fontsize=9)
    name_rows(axes, busy, 0.5)
    axes.set_xlim(0, 1.01 * job.cycles)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("clock cycles from the start command, predicted")
    show(
        figure,
        f"Timeline of a job of {images} images in {job.cycles:,} clock cycles, predicted. "
        f"{'; '.join(said)}.",
    )


def roofline(jobs: Mapping[str, tuple[Folding, int]], shapes: Shapes | None = None) -> None:
    """Jobs on the accelerator's roofline, multiply-adds per cycle over those per byte.

    `jobs`   name -> (folding, images); a hollow marker is the lower of its two roofs, a filled one
             what the job reaches by formula
    """
    points = {name: point(folding, images, shapes) for name, (folding, images) in jobs.items()}
    intensities = [float(one.intensity) for one in points.values()]
    dsps = float(device_roof())
    low, high = min(intensities) / 3, max(*intensities, dsps / 8) * 2.5
    figure, axes = canvas(7.5, 3.8)
    x = np.geomspace(low, high, 200)
    axes.loglog(x, np.minimum(8 * x, dsps), color=INK)
    axes.text(high, 1.06 * dsps, f"{dsps:.0f} DSPs", ha="right", va="bottom", fontsize=9)
    axes.text(1.6 * low, 8 * 1.3 * low, "stream: 8 B per cycle", ha="left", fontsize=9)
    for level in sorted({float(one.compute_roof) for one in points.values()}):
        axes.plot([level / 8, high], [level, level], color=QUIET, linewidth=1, linestyle="--")
        name = f"{level:.0f} multipliers"
        axes.text(level / 6.5, level / 1.03, name, va="top", fontsize=8)
    axes.plot([], [], _MARKERS[0], label="hollow: at most, by the roofs", **_HOLLOW)
    said = []
    for marker, (name, one) in zip(_MARKERS * len(points), points.items(), strict=False):
        place, reached = float(one.intensity), float(one.reached)
        axes.plot([place, place], [reached, one.attainable], color=QUIET, linewidth=1)
        axes.plot(place, one.attainable, marker, **_HOLLOW)
        axes.plot(place, reached, marker, color=ORANGE, markersize=8, linestyle="none", label=name)
        said.append(
            f"{name}: {place:.3g} MAC per byte, at most {one.attainable:.3g} and reached "
            f"{reached:.3g} MAC per cycle"
        )
    axes.set_xlim(low, high)
    axes.set_ylim(8 * low, 1.6 * dsps)
    factors(axes.xaxis)
    factors(axes.yaxis)
    axes.set_xlabel("multiply-adds per byte of the stream")
    axes.set_ylabel("multiply-adds per cycle")
    axes.set_title("filled: what the jobs reach, predicted", loc="left", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, frameon=False)
    show(
        figure,
        f"Roofline of the accelerator: the stream of 8 bytes per cycle, and {dsps:.0f} DSPs. "
        f"{'; '.join(said)}, predicted.",
    )


_HOLLOW = {"markerfacecolor": "none", "color": BLUE, "markersize": 9, "linestyle": "none"}


def _name(image: int) -> str:
    return "the network" if image < 0 else f"image {image + 1}"


def _spoken(block: Block) -> str:
    knob = f", {block.knob}" if block.knob else ""
    return f"{block.file} ({block.role}{knob})"


def _box(axes: Axes, x: int, y: int, block: Block, ghost: bool) -> None:
    """A box in column x of row y: role, file, knob; one that is left out is dashed."""
    left, top = x * _COLUMN, y * _ROW
    multiplies = block.file in ("conv_layer", "fully_connected")
    fill = CARD if ghost else SKY if multiplies else PALE
    look = {"edge": BLUE, "linewidth": 1.1, "linestyle": "--" if ghost else "-"}
    box(axes, left, top, _WIDE, _HIGH, fill, **look)
    middle = left + _WIDE / 2
    y = top + (0.24 if block.knob else 0.34)
    write(axes, middle, y, block.role, 8.5, weight="bold")
    write(axes, middle, y + 0.28, f"{block.file}.sv", 7)
    if block.knob:
        write(axes, middle, y + 0.55, block.knob, 7, color="#a85a00", weight="bold")


_LINE = {"color": INK, "linewidth": 1.1}
_GHOST = {"color": QUIET, "linewidth": 1.1, "linestyle": "--"}  # to or from what is left out


def _middle(row: int) -> float:
    """The height at which arrows run along a row."""
    return row * _ROW + _HIGH / 2


def _to_next_row(axes: Axes, row: int, path: list[Place]) -> None:
    """From the right end of a row through the gap below it, and along `path` to its end."""
    right = 4 * _COLUMN + _WIDE
    gap = (row + 1) * _ROW - (_ROW - _HIGH) / 2
    corners = [(right, _middle(row)), (right + 0.12, _middle(row)), (right + 0.12, gap)]
    corners += [(path[0][0], gap), *path[:-1]]
    axes.plot(*zip(*corners, strict=True), **_LINE)
    arrow(axes, corners[-1], path[-1], **_LINE)
