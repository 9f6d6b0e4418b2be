"""Serving in pictures: who has which row in which step, what the cache holds, how long one waits.

Requests are numbered from 0 in order of arrival, in all pictures alike; step 1 is the first one.

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Mapping, Sequence

from labkit.figures import canvas, show
from labkit.figures.shapes import bar, bare, factors, name_rows, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes
from labkit_lessons.distributed.serving.maps import Slot, counts
from labkit_lessons.distributed.serving.server.requests import demand_count
from labkit_lessons.distributed.serving.server.runs import Run, percentile

FILLS = (
    (BLUE, CARD),
    (SKY, INK),
    (ORANGE, INK),
    (QUIET, CARD),
)  # of a request, and of its number; in turn
LINES = ((ORANGE, "s"), (SKY, "^"), (BLUE, "o"))


def rows_picture(runs: Mapping[str, Run]) -> None:
    """Who sits in which row of the batch in which step; hatched: computed, and read by nobody."""
    _refuse_none("rows_picture", runs)
    last = max(len(run.steps) for run in runs.values())
    height = 0.9 + sum(0.5 + 0.3 * run.rows for run in runs.values())
    heights = [run.rows for run in runs.values()]
    figure, _ = canvas(7.5, height, rows=len(runs), height_ratios=heights)
    for axes, (name, run) in zip(figure.axes, runs.items(), strict=True):
        for place, step in enumerate(run.steps):
            for row in step.rows:
                _cell(axes, place + 0.5, row.place, row.request, row.useful)
        axes.set_title(name, fontsize=10, loc="left")
        name_rows(axes, [f"row {place}" for place in range(run.rows)])
        axes.set_xlim(0.5, last + 0.5)
    axes.set_xlabel("step")
    said = " ".join(_steps_in_words(name, run) for name, run in runs.items())
    show(figure, f"The rows of the batch, steps to the right. {said}")


def cache_picture(maps: Mapping[str, Sequence[Slot]], width: int) -> None:
    """The slots of the cache, `width` in a row: with a token, pale if only reserved, or free."""
    _refuse_none("cache_picture", maps)
    demand_count("cache_picture: width", width, "slots")
    rows = max((len(slots) + width - 1) // width for slots in maps.values())
    figure, _ = canvas(7.5, 0.8 + 0.22 * rows, columns=len(maps))
    for axes, (name, slots) in zip(figure.axes, maps.items(), strict=True):
        for place, slot in enumerate(slots):
            _cache_cell(axes, place % width, place // width, slot)
        held, empty, free = counts(slots)
        axes.set_title(
            f"{name}: {held} hold a token,\n{empty} only reserved, {free} free", fontsize=9
        )
        bare(axes, (-0.55, width - 0.45), (rows - 0.4, -0.6))
    said = " ".join(_map_in_words(name, slots) for name, slots in maps.items())
    show(figure, f"The slots of the cache, a square each. {said}")


def latency_picture(runs: Mapping[str, Run]) -> None:
    """The share of requests that are done within a time, with p50 and p99 marked on each curve."""
    _refuse_none("latency_picture", runs)
    figure, axes = canvas(7.5, 3.2)
    said = []
    for (name, run), (colour, marker) in zip(runs.items(), LINES, strict=False):
        latencies = sorted(run.latencies)
        shares = [100 * (place + 1) / len(latencies) for place in range(len(latencies))]
        axes.step(latencies, shares, where="post", color=colour, label=name)
        marks = [percentile(latencies, percent) for percent in (50, 99)]
        axes.plot(marks, [50, 99], marker, color=colour, markeredgecolor=INK, markersize=8)
        said.append(f"{name}: p50 {marks[0]:.3g} s, p99 {marks[1]:.3g} s.")
    for percent in (50, 99):
        axes.axhline(percent, color=QUIET, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    factors(axes.xaxis)
    axes.set_yticks([0, 25, 50, 75, 99], ["0", "25", "50", "75", "99"])
    axes.set_xlabel("latency in s")
    axes.set_ylabel("% of requests done")
    axes.legend(loc="upper left", fontsize=9)
    show(figure, f"The share of requests that are done within a time. {' '.join(said)}")


def load_picture(
    runs: Mapping[float, Mapping[str, Run]], capacities: Mapping[str, float] | None = None
) -> None:
    """p50 and p99 latency at each load in requests per second, a curve for each way to serve.

    capacities   requests per second that each way can answer: dotted lines
    """
    _refuse_none("load_picture", runs)
    figure, panels = canvas(7.5, 3.4, columns=2)
    said = []
    for axes, percent in zip(panels, (50, 99), strict=True):
        curves = _curves(runs, percent)
        for (name, points), (colour, marker) in zip(curves.items(), LINES, strict=False):
            line = zip(*points.items(), strict=True)
            axes.plot(*line, color=colour, marker=marker, label=name)
            listed = ", ".join(f"{points[load]:.3g} s at {load:g}" for load in points)
            said.append(f"p{percent}, {name}: {listed}.")
        for capacity, (colour, _) in zip((capacities or {}).values(), LINES, strict=False):
            axes.axvline(capacity, color=colour, linewidth=1.4, linestyle=":")
        _by_factors(axes, list(runs))
        axes.set_title(f"p{percent} latency in s", fontsize=10)
    figure.supxlabel("requests that arrive in a second", fontsize=10)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=9)
    for name, capacity in (capacities or {}).items():
        said.append(f"{name} can answer {capacity:.2g} in a second.")
    show(figure, f"Latency against load, both axes by factors. {' '.join(said)}")


def _curves(runs: Mapping[float, Mapping[str, Run]], percent: int) -> dict[str, dict]:
    """For each way to serve: its percentile at each load."""
    curves: dict[str, dict] = {}
    for load, ways in runs.items():
        for name, run in ways.items():
            curves.setdefault(name, {})[load] = percentile(run.latencies, percent)
    return curves


def _by_factors(axes: Axes, loads: Sequence[float]) -> None:
    """Both axes go by factors, with plain numbers at their ticks."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(loads, [f"{load:g}" for load in loads])
    factors(axes.yaxis)


def _refuse_none(who: str, things: Mapping) -> None:
    if not things:
        raise ValueError(f"{who}: there is nothing to draw.")


def _cell(axes: Axes, left: float, place: int, request: int, useful: bool) -> None:
    fill, ink = FILLS[request % len(FILLS)]
    if useful:
        bar(axes, place, left, 1, 0.8, fill, linewidth=0.8)
        write(axes, left + 0.5, place, request, 8, color=ink)
    else:
        bar(axes, place, left, 1, 0.8, CARD, edgecolor=QUIET, linewidth=0.5, hatch="////")


def _cache_cell(axes: Axes, x: int, y: int, slot: Slot) -> None:
    fill, edge = CARD, PALE
    if slot.owner is not None:
        fill, ink = FILLS[slot.owner % len(FILLS)] if slot.holds else (PALE, INK)
        edge = CARD
        write(axes, x, y, slot.owner, 6, color=ink, zorder=3)
    bar(axes, y, x - 0.5, 1, 0.9, fill, edgecolor=edge, linewidth=0.6)


def _steps_in_words(name: str, run: Run) -> str:
    """A panel in words: each row's requests, x where nobody reads."""
    rows = []
    for place in range(run.rows):
        said = []
        for step in run.steps:
            here = [row for row in step.rows if row.place == place]
            said += [str(row.request) if row.useful else "x" for row in here] or ["-"]
        rows.append(f"row {place}: {' '.join(said)}")
    wasted = f"{run.wasted} of {run.computed} tokens wasted"
    return f"{name}: {len(run.steps)} steps, {wasted} (x); {'; '.join(rows)}."


def _map_in_words(name: str, slots: Sequence[Slot]) -> str:
    held, empty, free = counts(slots)
    inside = {slot.owner for slot in slots if slot.owner is not None}
    return (
        f"{name}: {len(inside)} requests; of {len(slots)} slots {held} hold a token, "
        f"{empty} are only reserved, {free} free."
    )
