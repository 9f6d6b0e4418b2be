"""A picture of a board's traffic: which transfer ran when, and when registers were accessed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.figures.style import BLUE, INK, ORANGE, QUIET, canvas, show
from labkit.fpga.board.traffic import Event

_COLOURS = {"read": QUIET, "write": INK}
CHANNELS = {"send channel": BLUE, "receive channel": ORANGE}


@dataclass(frozen=True)
class Span:
    """A transfer: its channel, and from which to which clock cycle it ran.

    ending   "ends", "halts", or "" where it has not ended
    """

    channel: str
    start: int
    end: int
    what: str
    ending: str


def spans(events: Iterable[Event]) -> list[Span]:
    """The transfers of some events; one that has not ended goes to the last cycle."""
    open_ones: dict[str, Event] = {}
    found = []
    cycle = 0
    for event in events:
        cycle = max(cycle, event.cycle)
        begun = open_ones.pop(event.where, None) if event.where in CHANNELS else None
        if begun:
            ending = "" if event.kind == "starts" else event.kind
            found.append(Span(event.where, begun.cycle, event.cycle, begun.what, ending))
        if event.kind == "starts":
            open_ones[event.where] = event
    left = [Span(one.where, one.cycle, cycle, one.what, "") for one in open_ones.values()]
    return sorted(found + left, key=lambda span: span.start)


def timeline(events: Iterable[Event]) -> None:
    """Draws them over the clock cycles since the bitstream was loaded."""
    events = list(events)
    transfers = spans(events)
    accesses = [event for event in events if event.kind in _COLOURS]
    rows = list(dict.fromkeys([*CHANNELS, *(event.where for event in accesses)]))
    figure, axes = canvas(7.5, 1.2 + 0.45 * len(rows))
    longest = max((event.cycle for event in events), default=1) or 1
    for span in transfers:
        width = max(span.end - span.start, longest / 300)
        hatch = "" if span.ending == "ends" else "//"
        axes.barh(
            rows.index(span.channel),
            width,
            0.6,
            left=span.start,
            color=CHANNELS[span.channel],
            hatch=hatch,
            edgecolor="white",
        )
    for kind, colour in _COLOURS.items():
        places = [(e.cycle, rows.index(e.where)) for e in accesses if e.kind == kind]
        if places:
            x, y = zip(*places, strict=True)
            axes.scatter(x, y, marker="|", s=160, color=colour, label=kind)
    if accesses:
        figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row at the top
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("clock cycles since the bitstream was loaded (counted)")
    axes.set_xlim(-longest / 50, longest * 1.02)
    show(figure, _in_words(transfers, len(accesses)))


def _in_words(transfers: list[Span], accesses: int) -> str:
    said = [
        f"{span.channel}: {span.what}, cycles {span.start:,} to {span.end:,}"
        + ("" if span.ending == "ends" else ", not finished")
        for span in transfers
    ]
    noun = "access" if accesses == 1 else "accesses"
    said.append(f"{accesses} {noun} of registers")
    return f"The traffic of the board over time. {'; '.join(said)}."
