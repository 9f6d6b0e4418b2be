"""The budget of the XC7Z020: what it has, what each cell takes of it, and a picture of both.

The figures and their sources are in `xc7z020.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from labkit.figures.style import BLUE, INK, ORANGE, PALE, QUIET, SKY, canvas, show
from labkit.fpga.errors import RTLError
from labkit.provenance import Quantity, published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESOURCES = {"lut": "LUT", "ff": "FF", "dsp": "DSP", "bram36": "BRAM36"}  # and their units
_NAMES = {"lut": "LUTs", "ff": "flip-flops", "dsp": "DSPs", "bram36": "block RAMs"}
_COLOURS = (BLUE, SKY, INK, QUIET)  # of the reports of one picture; the fifth begins again


class Report(Protocol):
    """What the picture needs of a module: `labkit.fpga.synthesize.Synthesis` has it."""

    lut: Quantity
    ff: Quantity
    dsp: Quantity
    bram36: Quantity

    def share(self, resource: str) -> float:
        """The part of what there is, 1.0 for all of it."""


@cache
def _table() -> dict:
    return tomllib.loads(Path(__file__).with_name("xc7z020.toml").read_text("utf-8"))


def device_name() -> str:
    """The FPGA's name."""
    return _table()["device"]["name"]


def available(resource: str) -> Quantity:
    """How many of "lut", "ff", "dsp" or "bram36" the XC7Z020 has; ValueError for another name."""
    if resource not in RESOURCES:
        there = ", ".join(RESOURCES)
        raise ValueError(f"The budget has no {resource!r}: its resources are {there}.")
    device = _table()["device"]
    return published(device[resource], RESOURCES[resource], device["source"])


def taken(resource: str, cells: Mapping[str, int]) -> float:
    """How many of `resource` the cells take: a RAM32M four LUTs, a RAMB18E1 half a block RAM."""
    costs = _table()["cells"][resource]
    return sum(count * costs.get(kind, 0) for kind, count in cells.items())


def refuse_unknown(cells: Mapping[str, int]) -> None:
    """Raises RTLError for a cell that would silently count as nothing."""
    known = {kind for costs in _table()["cells"].values() for kind in costs}
    if unknown := sorted(set(cells) - known):
        raise RTLError(
            f"The netlist has cells that no resource counts: {', '.join(unknown)}. Describe what "
            "they do in plain SystemVerilog; for a latch, give the signal a value in every branch."
        )


def bars(reports: Mapping[str, Report]) -> None:
    """Draws what modules take of the XC7Z020, a bar for each of the named reports.

    A bar that passes the line at 100 % does not fit; the axis is cut at 150 %.
    """
    names = list(reports)
    figure, axes = canvas(7.5, 1.5 + len(RESOURCES) * (0.3 + 0.22 * len(names)))
    shares = [report.share(resource) for report in reports.values() for resource in RESOURCES]
    reach = 100 * min(1.5, max(1.0, *shares))
    height = 0.8 / len(names)
    said = []
    for row, resource in enumerate(RESOURCES):
        texts = []
        for place, (name, report) in enumerate(reports.items()):
            y = row - 0.4 + height * (place + 0.5)
            text = _bar(axes, y, height, report, resource, _COLOURS[place % 4], reach)
            texts.append(f"{name} {text}")
        said.append(f"{_NAMES[resource]}, of {_has(resource)}: {', '.join(texts)}")
    axes.axvline(100, color=QUIET, linewidth=1)
    labels = [f"{_NAMES[one]}\nof {_has(one)}" for one in RESOURCES]
    axes.set_yticks(range(len(RESOURCES)), labels)
    axes.set_ylim(len(RESOURCES) - 0.45, -0.55)
    axes.set_xlim(0, 1.24 * reach)  # room for the numbers beside the bars
    axes.set_xticks([tick for tick in (0, 25, 50, 75, 100, 125, 150) if tick <= reach])
    axes.set_xlabel(f"% of the {device_name()}, compiled (Yosys)")
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    if len(names) > 1:
        for place, name in enumerate(names):
            axes.scatter([], [], marker="s", color=_COLOURS[place % 4], label=name)
        figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    show(figure, f"Taken of the {device_name()}, compiled by Yosys. {'; '.join(said)}.")


def _bar(
    axes: Axes,
    y: float,
    height: float,
    report: Report,
    resource: str,
    colour: str,
    reach: float,
) -> str:
    """One bar on a pale track, its number beside it; returns the number and the share as text."""
    percent = 100 * report.share(resource)
    drawn = min(percent, reach)
    axes.barh(y, 100, height=0.86 * height, color=PALE)
    axes.barh(y, drawn, height=0.86 * height, color=ORANGE if percent > 100 else colour)
    count = float(getattr(report, resource))
    text = f"{count:,g} ({_rounded(percent)} %)"
    axes.text(max(drawn, 100) + 0.01 * reach, y, text, va="center", fontsize=8)
    return text


def _has(resource: str) -> str:
    return f"{float(available(resource)):,.0f}"


def _rounded(percent: float) -> str:
    if percent == 0:
        return "0"
    return "under 0.1" if percent < 0.1 else f"{percent:.1f}"
