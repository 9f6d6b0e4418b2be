"""`draw(trace)`: the waveform of a simulation as a logic analyser shows it, wrong values marked.

One row for each signal, one column for each clock cycle. Lesson a_multiply_accumulate_array reads
the first one.

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Iterable, Mapping, Sequence

from labkit.figures.shapes import write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes, canvas, show
from labkit.fpga import arguments
from labkit.fpga.ports import CLOCK, RESET
from labkit.fpga.running.wave_window import Span, Window

LONGEST = 10  # letters of a value that are drawn: the last ones of a longer one
_HIGH = 0.6  # of a signal, where a row is 1 high
_SLOPE = 0.1  # of a cycle, in which a bus changes
_FILL = {
    "moves": SKY,
    "waits": CARD,
    "idle": CARD,
    "plain": CARD,
    "wrong": "#f6d7ae",
}
_EDGE = {"idle": PALE, "wrong": ORANGE}


def draw(
    trace: Mapping[str, Sequence[int]],
    signals: Sequence[str] | None = None,
    cycles: Iterable[int] | None = None,
    wrong: Mapping[tuple[str, int], int] | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Show signals of a trace, clock cycle by clock cycle, under the clock.

    trace     signal -> its value in each cycle, as `simulate` or `prove` gives it
    signals   in this order; all but the reset if left out
    cycles    such as range(10, 26); the first 16 if left out, 40 at most
    wrong     (signal, cycle) -> the value that was expected, written below the one that came: ≠ 5
    parts     stream -> signals that are parts of its word, such as {"terms": ["x", "w"]}

    A signal of one bit is a line, a bus is a hexagon with its decimal value. The data of a stream
    are filled where a word moves, and grey without a value while `valid` is 0; so are its parts.

    Raises RTLError for a signal or cycle that the trace does not have.
    """
    window = Window(trace, cycles, wrong or {}, parts)
    names = [name for name in window.values if name not in (CLOCK, RESET)]
    if signals:
        names = arguments.texts("signals", signals, '["x_data", "y_data"]')
    rows = {name: window.spans(name) for name in names}
    width = _column(span for row in rows.values() for span in row) * len(window.cycles)
    figure, axes = canvas(1.6 + width, 0.9 + 0.44 * (len(names) + 1))
    _draw_clock(axes, window)
    for place, name in enumerate(names, start=1):
        if window.is_bit(name):
            _draw_bit(axes, place, rows[name])
        else:
            for span in rows[name]:
                _draw_bus(axes, place, span)
        _draw_expected(axes, place, name, window)
    _draw_axes(axes, window, names)
    show(figure, alt_text(window, names))


def alt_text(window: Window, names: Sequence[str]) -> str:
    """What the picture shows, in sentences: all values, the words that move, what is wrong."""
    first, last = window.cycles[0], window.cycles[-1]
    said = [f"Waveform of cycles {first} to {last}."]
    for name in names:
        values = " ".join(_text(span) or "-" for span in window.each_cycle(name))
        said.append(f"{name}: {values}.")
    for name in names:
        if window.is_bit(name):
            continue
        cycles = [str(span.start) for span in window.each_cycle(name) if span.state == "moves"]
        if cycles:
            said.append(f"{name.removesuffix('_data')} moves in {', '.join(cycles)}.")
    for (name, cycle), expected in window.wrong.items():
        got = window.value(name, cycle)
        said.append(f"Wrong in cycle {cycle}: {name} is {got}, expected {expected}.")
    return " ".join(said)


def _column(spans: Iterable[Span]) -> float:
    """The width of a cycle in inches, so that the longest value fits."""
    letters = max(len(_text(span)) / (span.stop - span.start) for span in spans)
    return max(0.38, 0.085 * letters + 0.14)


def _text(span: Span) -> str:
    if span.state == "idle":
        return ""
    text = str(span.value)
    return text if len(text) <= LONGEST else f"…{text[1 - LONGEST :]}"


def _draw_clock(axes: Axes, window: Window) -> None:
    x, y = [], []
    for cycle in window.cycles:
        x += [cycle, cycle, cycle + 0.5, cycle + 0.5]
        y += [0, -_HIGH, -_HIGH, 0]
    axes.plot([*x, window.cycles.stop], [*y, 0], color=QUIET, linewidth=1.2)


def _draw_bit(axes: Axes, row: int, spans: Sequence[Span]) -> None:
    x, y = [], []
    for span in spans:
        level = row - _HIGH * span.value
        if span.state == "idle":  # grey, and the line is cut there
            axes.plot([span.start, span.stop], [level, level], color=PALE, linewidth=1.6)
            level = float("nan")
        x += [span.start, span.stop]
        y += [level, level]
        if span.state == "wrong":
            axes.fill_between([span.start, span.stop], row - _HIGH, row, color=_FILL["wrong"])
    axes.plot(x, y, color=BLUE, linewidth=1.6)


def _draw_bus(axes: Axes, row: int, span: Span) -> None:
    top, middle = row - _HIGH, row - _HIGH / 2
    left, right = span.start, span.stop
    across = [left, left + _SLOPE, right - _SLOPE, right, right - _SLOPE, left + _SLOPE]
    down = [middle, top, top, middle, row, row]
    edge = _EDGE.get(span.state, BLUE)
    axes.fill(across, down, facecolor=_FILL[span.state], edgecolor=edge, linewidth=1.2)
    write(axes, (left + right) / 2, middle, _text(span), 8, va="center_baseline")


def _draw_expected(axes: Axes, row: int, name: str, window: Window) -> None:
    for (wrong_name, cycle), expected in window.wrong.items():
        if wrong_name == name:
            write(axes, cycle + 0.5, row + 0.03, f"≠ {expected}", 7, va="top", color=INK)


def _draw_axes(axes: Axes, window: Window, names: Sequence[str]) -> None:
    for edge in range(window.cycles.start, window.cycles.stop + 1):
        axes.axvline(edge, color=PALE, linewidth=0.7, zorder=0)
    axes.set_yticks([row - _HIGH / 2 for row in range(len(names) + 1)], [CLOCK, *names])
    axes.set_xticks([cycle + 0.5 for cycle in window.cycles], window.cycles)
    axes.set_xlim(window.cycles.start - 0.02, window.cycles.stop + 0.02)
    axes.set_ylim(len(names) + 0.35, -_HIGH - 0.2)
    streams = any(span.state == "moves" for name in names for span in window.each_cycle(name))
    filled = "\n(filled: the word moves)" if streams else ""
    axes.set_xlabel(f"clock cycle{filled}")
    axes.tick_params(left=False, bottom=False)
    axes.spines[:].set_visible(False)
