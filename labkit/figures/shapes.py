"""What pictures are put together from: boxes, bars, arrows, texts, keys, and their axes.

    figure, axes = canvas(7.5, 2.0)
    box(axes, 0, 0, 2, 1, SKY, "conv1")
    arrow(axes, (2, 0.5), (3, 0.5))
    write(axes, 3.5, 0.5, "pool1", 9)
    key(figure, 1, {"multiplies": SKY})
    bare(axes, (-0.1, 4.1), (1.1, -0.1))

`look` is always what Matplotlib takes for such a shape. Places are in the units of the axes.

Dense: a shape's place, size, colour and text stand in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.figures.style import BLUE, CARD, INK, ORANGE, QUIET, SKY, Artist, Axes, Figure

Place = tuple[float, float]
FILLS = ((SKY, INK), (BLUE, CARD), ("#f6d7ae", INK), (ORANGE, INK))  # in turn; what is read on each
LINES = ((BLUE, "-"), (ORANGE, "--"), (INK, ":"), (QUIET, "-."))  # colour and style, in turn


def write(
    axes: Axes, x: float, y: float, text: object, size: float | None = None, **look: object
) -> None:
    """A text around its place, `size` points high."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": size, **look})


def note(axes: Axes, text: str, place: Place, points: Place, **look: object) -> None:
    """A text so many points right of and above a place."""
    axes.annotate(text, place, points, textcoords="offset points", **look)


def box(
    axes: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    text: object = None,
    size: float | None = None,
    ink: str | None = None,
    edge: str = INK,
    linewidth: float = 0.6,
    **look: object,
) -> None:
    """A box with a corner at (x, y), and a text in its middle."""
    from matplotlib.patches import Rectangle

    look |= {"facecolor": colour, "edgecolor": edge, "linewidth": linewidth}
    axes.add_patch(Rectangle((x, y), width, height, **look))
    if text is not None:
        write(axes, x + width / 2, y + height / 2, text, size, color=ink)


def bar(
    axes: Axes, y: float, left: float, width: float, height: float, colour: str, **look: object
) -> None:
    """A bar around the line y, with an edge that parts it from its neighbours."""
    look = {"edgecolor": CARD, **look}
    axes.broken_barh([(left, width)], (y - height / 2, height), facecolor=colour, **look)


def arrow(
    axes: Axes, start: Place, end: Place, style: str = "->", color: str = INK, **look: object
) -> Artist:
    """An arrow from place to place; returns it."""
    look = {"arrowstyle": style, "color": color, "shrinkA": 0, "shrinkB": 0, **look}
    return axes.annotate("", end, start, arrowprops=look)


def squares(axes: Axes, meanings: Mapping[str, str], **look: object) -> None:
    """For a legend: a square of each meaning's colour."""
    for meaning, colour in meanings.items():
        axes.scatter([], [], marker="s", color=colour, label=meaning, **look)


def key(figure: Figure, columns: int, meanings: Mapping[str, str] = {}, **look: object) -> None:
    """Below the figure what is labelled in its axes, behind a square for each of `meanings`."""
    squares(figure.axes[0], meanings, **look)
    figure.legend(loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def shared_key(figure: Figure, columns: int) -> None:
    """Below the figure what is labelled in its first axes, where all of them are labelled alike."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    place = {"loc": "outside lower center", "ncols": columns, "fontsize": 9, "frameon": False}
    figure.legend(handles, labels, **place)


def name_rows(
    axes: Axes,
    names: Sequence[str] | Mapping[float, str],
    margin: float = 0.6,
    line: bool = False,
    **look: object,
) -> None:
    """Names at the left, of the rows 0, 1, ... or at places of their own, from the top down.

    margin   from the first and from the last row to the edge of the axes
    line     whether there is a line between the names and the rows
    """
    named = names if isinstance(names, Mapping) else dict(enumerate(names))
    axes.set_yticks(list(named), list(named.values()), **look)
    axes.set_ylim(max(named) + margin, -margin)
    axes.tick_params(left=False)
    axes.spines["left"].set_visible(line)


def bare(axes: Axes, across: Place, down: Place, aspect: str = "auto") -> None:
    """Axes that show only what is drawn, from left to right and from bottom to top."""
    axes.set(xlim=across, ylim=down, aspect=aspect)
    axes.axis("off")


def factors(axis: object) -> None:
    """Marks at 2, 5, 10 and so on, written out, on an axis that goes by factors."""
    low, high = sorted(axis.get_view_interval())
    powers = [10.0**power for power in range(-2, 4)]
    marks = [factor * power for power in powers for factor in (2, 5, 10)]
    marks = [mark for mark in marks if low <= mark <= high]
    axis.set_ticks(marks, [f"{mark:g}" for mark in marks])
    axis.axes.minorticks_off()
