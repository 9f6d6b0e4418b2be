"""A timeline: who works when. Recorded by a profiler, or predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labkit.figures.shapes import bar, key, name_rows
from labkit.figures.style import BLUE, INK, ORANGE, PALE, QUIET, SKY, canvas, show

_COLOURS = (BLUE, ORANGE, SKY, "#f6d7ae", QUIET, PALE, INK)  # further kinds share the last
Span = tuple[str, float, float]  # kind of work, start and end in seconds


class _Unit(NamedTuple):
    """A unit of time."""

    name: str
    per_second: float


MILLISECONDS = _Unit("ms", 1e3)
MICROSECONDS = _Unit("µs", 1e6)


def timeline(rows: Mapping[str, Sequence[Span]], word: str) -> None:
    """Rows of spans over one axis of time, a colour for each kind of work.

    `word` says where the times come from: "measured", "predicted". Times are in seconds; the axis
    has milliseconds or microseconds and begins with the first span.
    """
    spans = [span for row in rows.values() for span in row]
    begin = min(start for _, start, _ in spans)
    end = max(stop for _, _, stop in spans)
    seconds = end - begin
    unit = MILLISECONDS if seconds >= 1e-3 else MICROSECONDS
    length = unit.per_second * seconds
    colours = _colours(spans)
    figure, axes = canvas(7.5, 1.1 + 0.45 * len(rows))
    for y, row in enumerate(rows.values()):
        for kind, start, stop in row:
            colour = colours[kind]
            left = unit.per_second * (start - begin)
            width = unit.per_second * (stop - start)
            bar(axes, y, left, width, 0.72, colour, linewidth=0.6)
    key(figure, 7, colours)
    name_rows(axes, list(rows))
    axes.set_xlim(0, length)
    axes.set_xlabel(f"{unit.name}, {word}")
    said = []
    for name, row in rows.items():
        busy = _busy(row, unit)
        said.append(f"{name}: {busy}")
    whole = f"Timeline of {length:.3g} {unit.name}, {word}."
    show(figure, f"{whole} {'; '.join(said)}.")


def pipeline(
    stages: Sequence[tuple[str, str, float]], rounds: int, overlapped: bool
) -> dict[str, list[Span]]:
    """Who works when if `stages` (kind, worker, seconds) are gone through `rounds` times.

    A stage waits for the one before it and for its worker. Not overlapped, a round also waits for
    the end of the one before. Returns each worker's spans, as `timeline` takes them.
    """
    rows: dict[str, list[Span]] = {worker: [] for _, worker, _ in stages}
    free = dict.fromkeys(rows, 0.0)  # when each worker can begin
    round_end = 0.0
    for _ in range(rounds):
        ready = 0.0 if overlapped else round_end
        for kind, worker, seconds in stages:
            start = max(ready, free[worker])
            stop = start + seconds
            span = (kind, start, stop)
            rows[worker].append(span)
            free[worker] = stop
            ready = stop
        round_end = ready
    return rows


def _colours(spans: Sequence[Span]) -> dict[str, str]:
    """A colour for each kind of work, in the order of appearance; "other" comes last."""
    in_order = dict.fromkeys(kind for kind, _, _ in spans)
    kinds = list(in_order)
    if "other" in kinds:
        kinds.remove("other")
        kinds.append("other")
    last = len(_COLOURS) - 1
    colours = {}
    for place, kind in enumerate(kinds):
        colours[kind] = _COLOURS[min(place, last)]
    return colours


def _busy(row: Sequence[Span], unit: _Unit) -> str:
    """How long a row works at what, in words."""
    seconds: dict[str, float] = {}
    for kind, start, stop in row:
        before = seconds.get(kind, 0)
        seconds[kind] = before + stop - start
    said = []
    for kind, total in seconds.items():
        time = unit.per_second * total
        said.append(f"{kind} {time:.3g} {unit.name}")
    return ", ".join(said)
