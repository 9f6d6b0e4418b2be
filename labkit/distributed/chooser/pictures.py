"""Time and price of every machine that can do the task, as a picture.

times_and_prices(answer)          # shown, in lesson choosing_hardware
save(answer, "answer.png")        # or .svg, .pdf: `labkit choose --plot`

Dense: a call draws one shape, and its arguments are places.
"""

from pathlib import Path

from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.workload import HOUR
from labkit.figures.shapes import note
from labkit.figures.style import BLUE, ORANGE, QUIET, Axes, Figure, canvas, save_figure, show

ENDINGS = (".png", ".svg", ".pdf")
UNITS = {"h": ("h", 1 / HOUR), "s": ("ms", 1000)}  # of a time: in the picture, for a second
LONG = 3  # times as far to the right as its mark, a name without a price ends
LINE = 0.18  # inches, of such a name
STRIP = 0.36  # of the picture's height, for the machines without a price


def times_and_prices(answer: Answer) -> None:
    """Shows the picture."""
    figure, words = drawn(answer)
    show(figure, words)


def save(answer: Answer, path: str) -> None:
    """Writes the picture. ValueError for an ending that is no picture's, or nothing to draw."""
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise ValueError(f"--plot {path}: a picture ends in {', '.join(ENDINGS)}.")
    if not answer.tried:
        raise ValueError(f"--plot {path}: no machine can do it, so there is nothing to draw.")
    save_figure(drawn(answer)[0], path)


def drawn(answer: Answer) -> tuple[Figure, str]:
    """A point for each machine with a price, at its time and price; below, those without one.

    The limit on the time is a line. Time to the right, price upwards, both on logarithmic axes.
    """
    can = [row for row in answer.rows if row.fit.plan is not None]
    priced = [row for row in can if row.price is not None]
    unpriced = sorted((row for row in can if row.price is None), key=_time)
    figure, axes = canvas(7.5, max(4.2, LINE * len(unpriced) / STRIP))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for row in priced:
        _point(axes, row)
    limit = _unit(answer)[1] * answer.limits.seconds if answer.limits.seconds else None
    for height, row in enumerate(unpriced):
        _without_price(axes, row, height, len(unpriced), limit)
    if limit is not None:
        axes.axvline(limit, color=ORANGE)
        axes.annotate(
            "limit ", (limit, 0.96), xycoords=axes.get_xaxis_transform(), ha="right", color=ORANGE
        )
    _axes(axes, answer, [_time(row) for row in can], [row.price.value for row in priced])
    return figure, _in_words(answer, priced, unpriced)


def _point(axes: Axes, row: Row) -> None:
    """A machine with a price."""
    at = (_time(row), row.price.value)
    axes.plot(*at, "o", color=BLUE)
    note(axes, _name(row), at, (-8, 5), ha="right")


def _without_price(axes: Axes, row: Row, place: int, of: int, limit: float | None) -> None:
    """A mark at the machine's time in the strip below the prices, each name on its own line.

    The name stands right of the mark, or left of it where it would cross the limit.
    """
    height = STRIP * (1 - (place + 0.5) / of)
    across = axes.get_xaxis_transform()
    axes.plot(_time(row), height, "|", color=QUIET, markersize=11, transform=across)
    before_the_limit = limit is not None and limit / LONG < _time(row) <= limit
    left = before_the_limit
    look = {"ha": "right" if left else "left", "color": QUIET, "fontsize": 9}
    name = f"{_name(row)}, no price here"
    note(axes, name, (_time(row), height), (-6 if left else 6, -4), xycoords=across, **look)


def _axes(axes: Axes, answer: Answer, times: list[float], prices: list[float]) -> None:
    """Room on all sides, and below the prices for the strip of those without."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    if times:
        axes.set_xlim(0.35 * min(times), 4 * max(times))
    if prices:
        reach = max(max(prices) / min(prices), 3)
        axes.set_ylim(min(prices) / reach, 1.6 * max(prices))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    low, high = axes.get_ylim()
    lowest = low * (high / low) ** STRIP  # the price axis ends where the strip begins
    ticks = LogLocator(subs=(1, 2, 5)).tick_values(lowest, high)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick >= lowest]))
    axes.spines["left"].set_bounds(lowest, high)
    axes.plot([0, 1], [STRIP] * 2, ":", color=QUIET, linewidth=1, transform=axes.transAxes)
    what = answer.workload.paid if answer.workload.timed else answer.workload.step
    axes.set_xlabel(f"{_unit(answer)[0]} for {what}, predicted")
    middle = (1 + STRIP) / 2
    axes.set_ylabel(f"USD for {answer.workload.paid}, predicted", y=middle)


def _unit(answer: Answer) -> tuple[str, float]:
    """Of the times in the picture, and how many of it a second has."""
    return UNITS[answer.workload.unit]


def _time(row: Row) -> float:
    """Milliseconds of a step, or hours of a training."""
    return row.time.value if row.time.unit == "h" else UNITS["s"][1] * row.time.value


def _name(row: Row) -> str:
    """ "2 x t4"."""
    count = row.fit.plan.count
    return f"{count} x {row.machine.key}" if count > 1 else row.machine.key


def _in_words(answer: Answer, priced: list[Row], unpriced: list[Row]) -> str:
    """The picture for those who do not see it."""
    said = [f"Time and price of {answer.workload.says}."]
    unit, in_a_second = _unit(answer)
    for row in priced:
        said.append(f"{_name(row)}: {_time(row):.3g} {unit}, {row.price.value:.3g} USD.")
    for row in unpriced:
        said.append(f"{_name(row)}: {_time(row):.3g} {unit}, no price here.")
    if answer.limits.seconds:
        said.append(f"The limit is {in_a_second * answer.limits.seconds:g} {unit}.")
    return " ".join(said)
