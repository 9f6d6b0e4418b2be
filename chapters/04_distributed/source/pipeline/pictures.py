"""Who works on which micro-batch, and when: schedules as pictures, predicted beside measured.

    schedule_picture({"predicted": predict(schedule), "measured": spans})

One convention for all: stage 0 at the top, time to the right from the first piece of work on, a box
for each piece with the number of its micro-batch. What stays white is the bubble.

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Mapping

from labkit.distributed.pipeline.predictions import Span, Spans, idle_share, seconds_of
from labkit.distributed.pipeline.schedules import FORWARD
from labkit.figures import canvas, show
from labkit.figures.shapes import bar, key, name_rows, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, QUIET, Axes

MS = 1e3
FILLS = {FORWARD: (BLUE, CARD), "B": (ORANGE, INK)}  # of a box, and of the number in it
NAMES = {FORWARD: "forward", "B": "backward"}
NARROW = 0.014  # of the axis: a box has no room for its number below that


def schedule_picture(panels: Mapping[str, Spans], unit: str = "ms") -> None:
    """A panel for each step, by its name, all on one axis of time.

    panels   the names say where the times come from: "GPipe, predicted", "GPipe, measured"
    unit     "ms", where the spans are in seconds; otherwise what they are in

    Raises ValueError without any panel, and for one without any work.
    """
    if not panels or not all(any(spans) for spans in panels.values()):
        raise ValueError("schedule_picture: there is no step to draw.")
    scale = MS if unit == "ms" else 1.0
    end = scale * max(seconds_of(spans) for spans in panels.values())
    heights = [len(spans) for spans in panels.values()]
    height = 0.9 + 0.42 * len(panels) + 0.3 * sum(heights)
    figure, _ = canvas(7.5, height, rows=len(panels), height_ratios=heights)
    for axes, (name, spans) in zip(figure.axes, panels.items(), strict=True):
        _draw_panel(axes, name, spans, scale, end)
    axes.set_xlabel(unit)
    kinds = [span.work.kind for spans in panels.values() for row in spans for span in row]
    key(figure, 2, {NAMES[kind]: FILLS[kind][0] for kind in kinds})
    said = " ".join(_alt_text(name, spans, scale, unit) for name, spans in panels.items())
    show(figure, f"Stages as rows, time to the right. {said}")


def _draw_panel(axes: Axes, name: str, spans: Spans, scale: float, end: float) -> None:
    """One step: its stages as rows, and a line where it ends."""
    zero = min(span.begin for row in spans for span in row)
    for stage, row in enumerate(spans):
        for span in row:
            _draw_box(axes, stage, span, scale, zero, end)
    axes.axvline(scale * seconds_of(spans), color=QUIET, linewidth=1.2)
    axes.set_title(name, fontsize=10, loc="left")
    name_rows(axes, [f"stage {stage}" for stage in range(len(spans))])
    axes.set_xlim(0, 1.01 * end)


def _draw_box(axes: Axes, y: int, piece: Span, scale: float, zero: float, end: float) -> None:
    fill, ink = FILLS[piece.work.kind]
    left = scale * (piece.begin - zero)
    width = scale * (piece.end - piece.begin)
    bar(axes, y, left, width, 0.76, fill, linewidth=0.8)
    if width > NARROW * end:
        write(axes, left + width / 2, y, str(piece.work.batch), 8.5, color=ink)


def _alt_text(name: str, spans: Spans, scale: float, unit: str) -> str:
    """A panel in words: how long, how much of it idle, and each stage's order."""
    rows = []
    for stage, row in enumerate(spans):
        rows.append(f"stage {stage} {' '.join(str(span.work) for span in row)}")
    length = f"{scale * seconds_of(spans):.3g} {unit}"
    return f"{name}: {length}, {100 * idle_share(spans):.0f} % idle; {'; '.join(rows)}."
