"""Pictures of messages: who sends how much to whom, and when.

routes_picture     each pair of ranks with the bytes between them, as `recorded` has written down
timeline_picture   when each rank sends and receives, as `recorded` has written down

Lessons processes_and_collectives and the_ring show them.

Dense: a call draws one shape, and its arguments are places.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures import canvas, show
from labkit.figures.shapes import bar, bare, key, name_rows, squares, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, Axes
from labkit.provenance import counted

if TYPE_CHECKING:
    from labkit.distributed.messages import Message

MOST_RANKS = 6  # of `routes_picture`: beyond it the arrows have no room for numbers
CIRCLE = 0.2  # radius of a rank, where the ranks stand on a circle of radius 1
BEND = 0.16  # how far an arrow swings out, as a share of its length
SPOT = 0.3  # where its label stands, from its source to its target
THICK = 5.0  # points, of the arrow with most bytes


def routes_picture(messages: Iterable[Message], ranks: int) -> None:
    """Ranks as circles, and an arrow for each pair of which one sends to the other, with bytes.

    messages   of all ranks; each message counts once, at the rank that sends it

    An arrow is the thicker, the more bytes it carries. Raises ValueError for more than 6 ranks,
    and for a message of a rank that is not among them.
    """
    if not 1 <= ranks <= MOST_RANKS:
        raise ValueError(f"routes_picture draws 1 to {MOST_RANKS} ranks, not {ranks}.")
    links = _bytes_per_link(messages, ranks)
    figure, axes = canvas(4.4, 4.4)
    places = _places(ranks)
    most = max(links.values(), default=1) or 1
    for (source, target), size in links.items():
        width = 1 + (THICK - 1) * size / most
        _draw_route(axes, places[source], places[target], width, _size(size))
    for rank, (x, y) in enumerate(places):
        _draw_rank(axes, x, y, rank)
    bare(axes, (-1.25, 1.25), (-1.25, 1.25), "equal")
    said = "; ".join(f"rank {a} to rank {b} {_size(size)}" for (a, b), size in links.items())
    show(
        figure,
        f"{ranks} ranks as circles, with an arrow for what each sends: {said or 'none'}.",
    )


def timeline_picture(records: Sequence[Sequence[Message]], word: str = "measured") -> None:
    """For each rank when it sends and when it receives, and lines from one to the other.

    records   for each rank what `recorded` gave in it
    word      where the times come from: "measured", "measured on emulated links"

    A line leads from a send's begin to its receive's end. Raises ValueError without any message.
    """
    everything = [message for record in records for message in record]
    if not everything:
        raise ValueError("timeline_picture: no rank has sent or received anything.")
    zero = min(message.begin for message in everything)
    length = max(message.end for message in everything) - zero
    unit, scale = _unit(length)
    figure, axes = canvas(7.5, 1.2 + 0.62 * len(records))
    for rank, record in enumerate(records):
        for message in record:
            y = _lane(rank, message.sent)
            left, width = scale * (message.begin - zero), scale * (message.end - message.begin)
            bar(axes, y, left, width, 0.28, BLUE if message.sent else ORANGE)
    for sent, received in _pairs(records):
        ends = [scale * (sent.begin - zero), scale * (received.end - zero)]
        down = [_lane(sent.source, True), _lane(sent.target, False)]
        axes.plot(ends, down, color=INK, linewidth=0.8, marker=".", markersize=4)
    squares(axes, {"sends": BLUE, "receives": ORANGE})
    label = "a message, from its send to its receive"
    axes.plot([], [], color=INK, linewidth=0.8, label=label)
    key(figure, 3)
    name_rows(axes, [f"rank {rank}" for rank in range(len(records))], 0.55)
    axes.set_xlim(0, scale * length)
    axes.set_xlabel(f"{unit}, {word}")
    show(figure, _alt_text(records, f"{scale * length:.3g} {unit}, {word}"))


def _bytes_per_link(messages: Iterable[Message], ranks: int) -> dict[tuple[int, int], int]:
    """Bytes for each (source, target), in order."""
    links: Counter[tuple[int, int]] = Counter()
    for message in messages:
        for rank in (message.source, message.target):
            if not 0 <= rank < ranks:
                raise ValueError(f"A message of rank {rank}: the {ranks} ranks begin with 0.")
        if message.sent:
            links[message.source, message.target] += message.bytes
    return dict(sorted(links.items()))


def _places(ranks: int) -> list[np.ndarray]:
    """Where each rank stands: clockwise, rank 0 at the upper left."""
    first = np.pi / 2 + np.pi / max(ranks, 1) if ranks != 3 else np.pi / 2
    if ranks == 1:
        return [np.zeros(2)]
    angles = first - 2 * np.pi * np.arange(ranks) / ranks
    return [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]


def _draw_route(axes: Axes, start: np.ndarray, end: np.ndarray, width: float, text: str) -> None:
    """A bent arrow from circle to circle, and its text on it, nearer to where it begins."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    way = end - start
    left = np.array([-way[1], way[0]])  # to the left of the way, as long as it is
    middle = (start + end) / 2 + BEND * left
    from_rim = start + CIRCLE * _unit_vector(middle - start)
    to_rim = end + (CIRCLE + 0.03) * _unit_vector(middle - end)
    path = Path([from_rim, middle, to_rim], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    head = f"-|>,head_length={3 + width},head_width={1.2 + 0.6 * width}"
    axes.add_patch(
        FancyArrowPatch(path=path, arrowstyle=head, linewidth=width, color=BLUE, shrinkA=0)
    )
    t = SPOT
    x, y = (1 - t) ** 2 * from_rim + 2 * t * (1 - t) * middle + t**2 * to_rim
    behind = {"facecolor": CARD, "edgecolor": "none", "pad": 1.2}
    write(axes, x, y, text, 8.5, bbox=behind, zorder=4)


def _unit_vector(v: np.ndarray) -> np.ndarray:
    return v / np.hypot(*v)


def _draw_rank(axes: Axes, x: float, y: float, rank: int) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), CIRCLE, facecolor=PALE, edgecolor=QUIET, zorder=5))
    write(axes, x, y, f"{rank}", 11, weight="bold", zorder=6)


def _size(size: int) -> str:
    return counted(size, "B", "recorded messages").number


def _unit(seconds: float) -> tuple[str, float]:
    """A unit of time for so many seconds, and how many of it are in a second."""
    if seconds >= 1:
        return "s", 1.0
    return ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)


def _lane(rank: int, sent: bool) -> float:
    """Each rank has two lanes: sends above, receives below."""
    return rank - 0.17 if sent else rank + 0.17


def _pairs(records: Sequence[Sequence[Message]]) -> list[tuple[Message, Message]]:
    """Each message as its sender and as its receiver saw it; between two ranks in their order."""
    ends = defaultdict(list)
    for record in records:
        for message in sorted(record, key=lambda message: message.begin):
            ends[message.source, message.target, message.sent].append(message)
    pairs = []
    for (source, target, sent), messages in ends.items():
        if sent:
            pairs += zip(messages, ends.get((source, target, False), []), strict=False)
    return pairs


def _alt_text(records: Sequence[Sequence[Message]], whole: str) -> str:
    said = []
    for rank, record in enumerate(records):
        sends = sum(message.sent for message in record)
        said.append(f"rank {rank} sends {sends} and receives {len(record) - sends}")
    return f"Timeline of messages, {whole}, with a line for each of them: {'; '.join(said)}."
