"""Pictures of timing: the longest way from register to register, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from labkit.figures.shapes import key, name_rows, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes, canvas, show

if TYPE_CHECKING:
    from labkit.provenance import Quantity

_COLOURS = {
    "register": INK,
    "multiplier": ORANGE,
    "carry chain": BLUE,
    "LUT": SKY,
    "multiplexer": "#f6d7ae",
    "block RAM": QUIET,
    "RAM of LUTs": QUIET,
    "cell": QUIET,
    "wire": PALE,
}


class Step(Protocol):
    """A piece of a path, as in `labkit.fpga.timing`: what it goes through, and how long."""

    what: str
    ns: float


class Timing(Protocol):
    """What the picture needs of a module: `labkit.fpga.timing.Timing` has it."""

    fmax: Quantity
    critical_path: Sequence[Step]


def paths(timings: Mapping[str, Timing]) -> None:
    """Draws the critical paths of the named modules, one bar each: where the nanoseconds go.

    Steps stand in the order of the path; neighbours of the same kind are one piece.
    """
    figure, axes = canvas(7.5, 1.35 + 0.75 * len(timings))
    kinds: dict[str, None] = {}
    said = []
    longest = max(sum(step.ns for step in one.critical_path) for one in timings.values())
    for y, (name, timing) in enumerate(timings.items()):
        pieces = joined(timing.critical_path)
        end = _bar(axes, y, pieces, longest)
        axes.text(end, y, f" {timing.fmax.number}", va="center", fontsize=9)
        kinds |= dict.fromkeys(what for what, _ in pieces)
        said.append(f"{name}: {_in_words(timing)}")
    key(figure, 5, {kind: _COLOURS[kind] for kind in kinds})
    name_rows(axes, list(timings), 0.5)
    axes.set_xlim(0, 1.18 * longest)  # room for the numbers behind the bars
    axes.set_xlabel(
        "ns from clock edge to clock edge, compiled for a Lattice ECP5, not the XC7Z020"
    )
    show(
        figure, f"Critical paths, compiled for a Lattice ECP5, not the XC7Z020. {'; '.join(said)}."
    )


def joined(path: Sequence[Step]) -> list[tuple[str, float]]:
    """(what, ns) of the path's pieces: neighbours of the same kind are added."""
    pieces: list[tuple[str, float]] = []
    for step in path:
        if pieces and pieces[-1][0] == step.what:
            pieces[-1] = (step.what, pieces[-1][1] + step.ns)
        else:
            pieces.append((step.what, step.ns))
    return pieces


def _bar(axes: Axes, y: int, pieces: Sequence[tuple[str, float]], longest: float) -> float:
    """The pieces end to end, each with its ns, narrow ones above; returns where they end."""
    left = 0.0
    for what, ns in pieces:
        axes.barh(y, ns, left=left, height=0.5, color=_COLOURS[what], edgecolor=CARD, linewidth=0.6)
        narrow = ns < 0.055 * longest
        dark = what in ("register", "carry chain") and not narrow
        height = y - 0.36 if narrow else y
        write(axes, left + ns / 2, height, f"{ns:.1f}", 8, color=CARD if dark else INK)
        left += ns
    return left


def _in_words(timing: Timing) -> str:
    """The time of each kind of step, and fmax."""
    spent: dict[str, float] = {}
    for step in timing.critical_path:
        spent[step.what] = spent.get(step.what, 0.0) + step.ns
    parts = ", ".join(f"{what} {ns:.2g} ns" for what, ns in spent.items())
    return f"{parts}; {timing.fmax.number}"
