"""Charts used by every chapter: guesses against results, bars in pairs, a grid of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.shapes import name_rows, note, squares
from labkit.figures.style import BLUE, ORANGE, PALE, QUIET, Axes, canvas, show

if TYPE_CHECKING:
    from labkit.provenance import Quantity


def guesses(rows: Sequence[tuple[str, Quantity | None, Quantity]]) -> None:
    """Your predictions against the results: rows of (label, guess or None, result), as ratios.

    A guess is drawn at guess / result on a logarithmic axis, the result at 1; so "four times too
    low" looks the same for percent, bytes and seconds.
    """
    figure, axes = canvas(7.5, 0.75 + 0.55 * len(rows))
    axes.axvline(1, color=BLUE)
    beside_axes = axes.get_yaxis_transform()
    reach = 4.0  # the axis goes from 1 / reach to reach
    spoken = []
    for y, (label, guess, result) in enumerate(rows):
        text = f"{label}\n{result.number}, {result.word}"
        axes.text(-0.02, y, text, transform=beside_axes, ha="right", va="center")
        if guess is None:
            said = "no guess recorded"
            axes.text(1.06, y, said, va="center", color=QUIET)
        elif float(guess) <= 0:
            said = f"guess {guess.number}, off this scale"
            axes.text(1.06, y, said, va="center", color=QUIET)
        else:
            said = f"guess {guess.number}"
            ratio = float(guess) / float(result)
            reach = max(reach, 1.6 * ratio, 1.6 / ratio)
            _guess(axes, y, ratio, guess.number)
        spoken.append(f"{label}: {said}, result {result.number}")
    axes.set_ylim(len(rows) - 0.4, -0.75)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    _ratio_axis(axes, reach)
    show(figure, f"Guesses against results. {'; '.join(spoken)}.")


def _ratio_axis(axes: Axes, reach: float) -> None:
    """A logarithmic x axis from 1 / reach to reach, with ticks at 1 and 3 times powers of 10."""
    least = 1 / reach
    axes.set_xscale("log")
    axes.set_xlim(least, reach)
    axes.minorticks_off()
    axes.set_xlabel("your guess / the result   (1 = exactly right)")
    ticks = []
    for exponent in range(-9, 9):
        power = 10.0**exponent
        ticks += [power, 3 * power]
    axes.set_xticks([tick for tick in ticks if least <= tick <= reach])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _guess(axes: Axes, y: float, ratio: float, number: str) -> None:
    """A guess in row y, at guess / result, joined to the result at 1."""
    axes.plot([1, ratio], [y, y], color=PALE, linewidth=5, solid_capstyle="butt")
    axes.plot(ratio, y, "D", color=ORANGE, markersize=9)
    note(axes, number, (ratio, y), (0, 9), ha="center", fontsize=9)


def pairs(
    rows: Mapping[str, tuple[Quantity, Quantity]], names: tuple[str, str], label: str
) -> None:
    """For each row two bars, with their numbers; `names` says what the two are."""
    figure, axes = canvas(7.5, 0.9 + 0.42 * len(rows))
    said = []
    for y, (row, (before, after)) in enumerate(rows.items()):
        _bar(axes, y - 0.19, before, BLUE)
        _bar(axes, y + 0.19, after, ORANGE)
        said.append(f"{row} {before.number} and {after.number}")
    first_row = next(iter(rows.values()))
    word = first_row[0].word  # as that of all rows
    first, second = names
    squares(axes, {first: BLUE, second: ORANGE})
    axes.legend(loc="lower right", fontsize=9, frameon=False)
    name_rows(axes, list(rows), line=True)
    axes.set_xticks([])
    axes.set_xlabel(f"{label}, {word}")
    axes.margins(x=0.12)
    axes.spines["bottom"].set_visible(False)
    show(figure, f"{label}, {first} and {second}: {'; '.join(said)}.")


def _bar(axes: Axes, y: float, value: Quantity, colour: str) -> None:
    """A bar with its number beside it."""
    length = float(value)
    axes.barh(y, length, height=0.36, color=colour)
    note(axes, value.number, (length, y), (4, 0), fontsize=8, va="center")


def image_grid(
    images: np.ndarray, captions: Sequence[str], wrong: Sequence[bool], alt: str
) -> None:
    """A row-wise grid of images uint8 [N, 3, H, W] with a caption each; wrong ones are framed."""
    columns = min(8, len(images))
    rows = -(-len(images) // columns)  # rounded up
    figure, grid = canvas(7.5, 1.25 * rows, rows, columns)
    places = np.ravel(grid)
    for axes in places:
        axes.axis("off")
    for axes, image, caption, is_wrong in zip(places, images, captions, wrong, strict=False):
        _draw_image(axes, image, caption, is_wrong)
    show(figure, alt, photographs=True)


def _draw_image(axes: Axes, image: np.ndarray, caption: str, is_wrong: bool) -> None:
    """An image [3, H, W] with its caption; a wrong one has a frame and a bold caption."""
    pixels = image.transpose(1, 2, 0)  # [H, W, 3]
    axes.axis("on")
    axes.imshow(pixels)
    axes.set_xticks([])
    axes.set_yticks([])
    weight = "bold" if is_wrong else "normal"
    axes.set_title(caption, fontsize=8, loc="center", fontweight=weight)
    for spine in axes.spines.values():
        spine.set_visible(is_wrong)
        spine.set_color(ORANGE)
        spine.set_linewidth(3)
