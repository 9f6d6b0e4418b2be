"""Pictures of data parallel steps: which gradients are ready when, and what travels meanwhile.

readiness_picture   when each gradient of a backward became ready, and how many bytes it has
overlap_picture     backward and all-reduces on one axis of time, one step below the other

Lesson overlap_and_buckets shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.figures import canvas, show
from labkit.figures.shapes import FILLS, bar, name_rows, note, write
from labkit.figures.style import BLUE, PALE, QUIET, Axes
from labkit.provenance import counted

if TYPE_CHECKING:
    from labkit.distributed.gradients.overlap import Span, Timeline
    from labkit.distributed.gradients.readiness import Ready

ROOM = 0.022  # of the axis: a narrower box has no room for its number
MS = 1e3  # in a second


def readiness_picture(ready: Sequence[Ready], begin: float, word: str = "measured") -> None:
    """A row for each gradient, in the order in which they became ready, with its bytes.

    begin   the moment at which the backward began, on the same clock as the gradients' moments

    Raises ValueError where there is no gradient.
    """
    if not ready:
        raise ValueError("readiness_picture: no gradient became ready.")
    end = MS * (ready[-1].moment - begin)
    figure, axes = canvas(7.5, 1.0 + 0.28 * len(ready))
    for row, gradient in enumerate(ready):
        moment = MS * (gradient.moment - begin)
        axes.plot([0, moment], [row, row], color=PALE, linewidth=1.2, zorder=1)
        axes.plot([moment], [row], color=BLUE, marker="o", markersize=6, zorder=2)
        size = counted(gradient.bytes, "B", "recorded gradients").number
        note(axes, size, (moment, row), (8, 0), va="center")
    name_rows(axes, [gradient.name for gradient in ready], line=True)
    axes.set_xlim(0, 1.18 * end)  # room for the last one's bytes
    axes.set_xlabel(f"ms since the backward began, {word}")
    said = ", ".join(gradient.name for gradient in ready)
    show(
        figure,
        f"When {len(ready)} gradients became ready within {end:.3g} ms, in order: {said}.",
    )


def overlap_picture(timelines: Mapping[str, Timeline], word: str = "measured") -> None:
    """For each step two rows, backward and link, by the step's name; all on one axis of time.

    word   where the times come from: "measured on an emulated link", "predicted"

    Boxes of the backward have their layer's number, boxes of the link their bucket's; a bucket and
    its layers have one colour. Raises ValueError without any step.
    """
    if not timelines:
        raise ValueError("overlap_picture: there is no step to draw.")
    end = MS * max(timeline.seconds for timeline in timelines.values())
    figure, axes = canvas(7.5, 0.9 + 0.75 * len(timelines))
    rows = {}
    for place, (name, timeline) in enumerate(timelines.items()):
        bucket_of = _bucket_of(timeline)
        computes, link = 2.5 * place, 2.5 * place + 1
        for span in timeline.layers:
            _draw_span(axes, computes, span, bucket_of[span.number], end)
        for span in timeline.travel:
            _draw_span(axes, link, span, span.number, end)
        rows[computes] = f"{name}: backward"
        rows[link] = "link"
        done = MS * timeline.seconds  # when every gradient is the mean
        axes.plot([done, done], [computes - 0.5, computes + 1.5], color=QUIET, linewidth=1.2)
    name_rows(axes, rows)
    axes.set_xlim(0, 1.01 * end)
    axes.set_xlabel(f"ms, {word}; layers above, buckets below, by number")
    said = [_alt_text(name, timeline) for name, timeline in timelines.items()]
    show(figure, f"Backward and all-reduces, {word}. {' '.join(said)}")


def _bucket_of(timeline: Timeline) -> dict[int, int]:
    """The bucket of each layer."""
    found = {}
    for number, layers in enumerate(timeline.buckets):
        for layer in layers:
            found[layer] = number
    return found


def _draw_span(axes: Axes, y: float, span: Span, bucket: int, end: float) -> None:
    """A box in the colour of a bucket, with the span's number where there is room."""
    fill, ink = FILLS[bucket % len(FILLS)]
    left, width = MS * span.begin, MS * (span.end - span.begin)
    bar(axes, y, left, width, 0.9, fill)
    number = f"{span.number}"
    if width > ROOM * (1 + len(number)) / 2 * end:
        write(axes, left + width / 2, y, number, 8.5, color=ink)


def _alt_text(name: str, timeline: Timeline) -> str:
    backward = MS * max(span.end for span in timeline.layers)
    first = MS * min(span.begin for span in timeline.travel)
    calls = len(timeline.travel)
    return (
        f"{name}: {len(timeline.layers)} layers in {backward:.3g} ms, {calls} "
        f"all-reduce{'s' if calls > 1 else ''} from {first:.3g} to {MS * timeline.seconds:.3g} ms."
    )
