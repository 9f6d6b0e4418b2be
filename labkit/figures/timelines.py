"""A timeline: who works when. Recorded by a profiler, or predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, canvas, show

_COLOURS = (BLUE, ORANGE, SKY, "#f6d7ae", QUIET, PALE, INK)  # further kinds share the last
Span = tuple[str, float, float]  # kind of work, start and end in seconds


def timeline(rows: Mapping[str, Sequence[Span]], word: str) -> None:
    """Rows of spans over one axis of time, a colour for each kind of work.

    `word` says where the times come from: "measured", "predicted". Times are in seconds; the axis
    has milliseconds or microseconds and begins with the first span.
    """
    spans = [span for row in rows.values() for span in row]
    begin = min(start for _, start, _ in spans)
    length = max(stop for _, _, stop in spans) - begin
    unit, per_second = ("ms", 1e3) if length >= 1e-3 else ("µs", 1e6)
    colours = _colours(spans)
    figure, axes = canvas(7.5, 1.1 + 0.45 * len(rows))
    for y, row in enumerate(rows.values()):
        for kind, start, stop in row:
            left = per_second * (start - begin)
            width = per_second * (stop - start)
            axes.broken_barh(
                [(left, width)],
                (y - 0.36, 0.72),
                facecolor=colours[kind],
                edgecolor=CARD,
                linewidth=0.6,
            )
    for kind, colour in colours.items():
        axes.scatter([], [], marker="s", color=colour, label=kind)
    figure.legend(loc="outside lower center", ncols=7, fontsize=9, frameon=False)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, per_second * length))
    axes.set_xlabel(f"{unit}, {word}")
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    said = [f"{name}: {_busy(row, unit, per_second)}" for name, row in rows.items()]
    whole = f"Timeline of {per_second * length:.3g} {unit}, {word}."
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
            rows[worker].append((kind, start, stop))
            free[worker] = stop
            ready = stop
        round_end = ready
    return rows


def _colours(spans: Sequence[Span]) -> dict[str, str]:
    """A colour for each kind of work, in the order of appearance; "other" comes last."""
    kinds = list(dict.fromkeys(kind for kind, _, _ in spans))
    if "other" in kinds:
        kinds.remove("other")
        kinds.append("other")
    last = len(_COLOURS) - 1
    return {kind: _COLOURS[min(place, last)] for place, kind in enumerate(kinds)}


def _busy(row: Sequence[Span], unit: str, per_second: float) -> str:
    """How long a row works at what, in words."""
    seconds: dict[str, float] = {}
    for kind, start, stop in row:
        seconds[kind] = seconds.get(kind, 0) + stop - start
    return ", ".join(f"{kind} {per_second * s:.3g} {unit}" for kind, s in seconds.items())
