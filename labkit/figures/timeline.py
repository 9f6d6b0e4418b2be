"""A timeline: who works when. Recorded by a profiler, or predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, canvas, show

_COLOURS = (BLUE, ORANGE, SKY, "#f6d7ae", QUIET, PALE, INK)
Span = tuple[str, float, float]  # kind of work, start and end in seconds


def timeline(rows: Mapping[str, Sequence[Span]], word: str) -> None:
    """Rows of spans over one axis of time, a colour for each kind of work.

    `word` says where the times come from: "measured", "predicted".
    """
    spans = [span for row in rows.values() for span in row]
    begin, end = min(start for _, start, _ in spans), max(stop for *_, stop in spans)
    unit, scale = ("ms", 1e3) if end - begin >= 1e-3 else ("µs", 1e6)
    kinds = sorted(dict.fromkeys(kind for kind, *_ in spans), key="other".__eq__)  # it comes last
    colours = {kind: _COLOURS[min(i, len(_COLOURS) - 1)] for i, kind in enumerate(kinds)}
    figure, axes = canvas(7.5, 1.1 + 0.45 * len(rows))
    for y, row in enumerate(rows.values()):
        for kind, start, stop in row:
            left, width = scale * (start - begin), scale * (stop - start)
            box = {"facecolor": colours[kind], "edgecolor": CARD, "linewidth": 0.6}
            axes.broken_barh([(left, width)], (y - 0.36, 0.72), **box)
    for kind in kinds:
        axes.scatter([], [], marker="s", color=colours[kind], label=kind)
    figure.legend(loc="outside lower center", ncols=7, fontsize=9, frameon=False)
    axes.set(yticks=range(len(rows)), yticklabels=[*rows], ylim=(len(rows) - 0.4, -0.6))
    axes.set(xlim=(0, scale * (end - begin)), xlabel=f"{unit}, {word}")
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    said = [f"{name}: {_busy(row, unit, scale)}" for name, row in rows.items()]
    whole = f"Timeline of {scale * (end - begin):.3g} {unit}, {word}."
    show(figure, f"{whole} {'; '.join(said)}.")


def pipeline(
    stages: Sequence[tuple[str, str, float]], rounds: int, overlapped: bool
) -> dict[str, list[Span]]:
    """Who works when if `stages` (kind, worker, seconds) are gone through `rounds` times.

    A stage waits for the one before it and for its worker. Not overlapped, a round also waits for
    the end of the one before.
    """
    rows: dict[str, list[Span]] = {worker: [] for _, worker, _ in stages}
    free, done = dict.fromkeys(rows, 0.0), 0.0
    for _ in range(rounds):
        ready = 0.0 if overlapped else done
        for kind, worker, seconds in stages:
            start = max(ready, free[worker])
            ready = free[worker] = done = start + seconds
            rows[worker].append((kind, start, done))
    return rows


def _busy(row: Sequence[Span], unit: str, scale: float) -> str:
    """How long a row works at what, in words."""
    total: dict[str, float] = {}
    for kind, start, stop in row:
        total[kind] = total.get(kind, 0) + stop - start
    return ", ".join(f"{kind} {scale * seconds:.3g} {unit}" for kind, seconds in total.items())
