"""Charts used by every chapter: the roofline, guesses against results, a grid of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.hardware import Machine
    from labkit.provenance import Quantity

ZOOM = 6  # steps within this factor of the highest intensity are drawn larger


def roofline(
    machine: Machine,
    intensities: Mapping[str, float | Quantity],
    reached: Mapping[str, Quantity] = MappingProxyType({}),
) -> None:
    """The roofline of `machine` with one marker per layer (lesson 01_gpu/1 derives it).

    `intensities`: layer -> FLOP/B. A hollow marker on the roof is what the formula predicts;
    `reached` (layer -> FLOP/s) adds a filled marker, joined by a line: the gap to explain. Its
    word in the legend is that of the quantities, as "measured".
    """
    intensities = {layer: float(intensity) for layer, intensity in intensities.items()}
    peak, bandwidth = float(machine.peak["fp32"]), float(machine.bandwidth)
    ridge = peak / bandwidth
    shown = [ridge, *intensities.values()]
    x = np.geomspace(min(shown) / 3, max(shown) * 4, 200)
    figure, axes = canvas(7.5, 3.9)
    axes.loglog(x, np.minimum(peak, x * bandwidth), color=INK)
    axes.plot([ridge] * 2, [x.min() * bandwidth, peak], color=QUIET, linewidth=1, linestyle=":")
    axes.text(ridge, peak * 1.25, f"ridge {ridge:.2g} FLOP/B", ha="center", va="bottom", fontsize=9)
    for marker, (layer, intensity) in zip(cycle("osD^vPX*<>"), intensities.items(), strict=False):
        roof = min(peak, intensity * bandwidth)
        axes.plot(intensity, roof, marker, markerfacecolor="none", color=BLUE, markersize=8)
        if layer in reached:
            rate = float(reached[layer])
            axes.plot([intensity] * 2, [rate, roof], color=QUIET, linewidth=1)
            axes.plot(intensity, rate, marker, color=ORANGE, markersize=8)
        axes.plot([], [], marker, color=INK, linestyle="none", label=layer)
    words = " or ".join(sorted({rate.word for rate in reached.values()}))
    if reached:
        axes.plot([], [], "o", markerfacecolor="none", color=BLUE, label="hollow: predicted")
        axes.plot([], [], "o", color=ORANGE, label=f"filled: {words}")
    axes.set(xlabel="arithmetic intensity (FLOP per byte)", ylabel="FLOP/s")
    axes.set_title(f"{machine.name}, fp32", pad=18, weight="bold", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, frameon=False)
    left = ", ".join(layer for layer, intensity in intensities.items() if intensity < ridge)
    right = ", ".join(layer for layer, intensity in intensities.items() if intensity >= ridge)
    rates = ", ".join(f"{layer} {rate.number}" for layer, rate in reached.items())
    alt = f"Roofline of {machine.name}, ridge at {ridge:.3g} FLOP per byte."
    alt += f" Memory bound, left of the ridge: {left or 'none'}."
    alt += f" Compute bound, right of it: {right or 'none'}."
    show(figure, alt + (f" {words.capitalize()}: {rates}." if reached else ""))


def climb(
    machine: Machine,
    intensities: Mapping[str, float | Quantity],
    predicted: Mapping[str, Quantity],
    published: Mapping[str, Quantity],
) -> None:
    """The steps of a ladder on the roofline of `machine`, as predicted and as published.

    `intensities`: step -> FLOP/B, in the order of the climb; `predicted` and `published`:
    step -> FLOP/s. A step is a numbered circle where it was predicted, and a bar across its
    intensity where it was published, so that both can be read where they agree. Steps that fall
    on one point share a circle. The crowded end has a picture of its own, beside the whole.
    """
    steps = {step: float(intensity) for step, intensity in intensities.items()}
    crowded = max(steps.values()) / ZOOM
    figure, (whole, zoomed) = canvas(7.5, 4.9, 1, 2)
    _slope_and_peak(machine, whole, min(steps.values()) / 2, 8 * max(steps.values()), (1,))
    _slope_and_peak(machine, zoomed, crowded / 1.6, 1.9 * max(steps.values()), (1, 2, 5))
    for axes, inside in ((whole, lambda x: x < crowded), (zoomed, lambda x: x >= crowded)):
        _steps(axes, {s: x for s, x in steps.items() if inside(x)}, [*steps], predicted, published)
        axes.set_xlabel("FLOP per byte of traffic")
    whole.set_ylabel("TFLOP/s")
    whole.set_title(f"{machine.name}, fp32", weight="bold", fontsize=10)
    whole.indicate_inset([*_bounds(zoomed)], edgecolor=QUIET, linestyle="--", alpha=1)
    zoomed.set_title("the dashed part, larger", fontsize=10, weight="normal")
    whole.plot([], [], "o", color=ORANGE, markersize=11, label="predicted")
    whole.plot([], [], "_", color=BLUE, markersize=18, markeredgewidth=3, label="published")
    for number, step in enumerate(steps, start=1):
        whole.plot([], [], " ", label=f"{number} {step}")
    figure.legend(loc="outside lower center", ncols=5, fontsize=8.5, frameon=False)
    said = []
    for step, intensity in steps.items():
        also = f", {published[step].number} published" if step in published else ""
        rate = predicted[step].number
        said.append(f"{step} at {intensity:.3g} FLOP per byte: {rate} predicted{also}")
    show(figure, f"The climb on the roofline of {machine.name}. {'; '.join(said)}.")


def _slope_and_peak(
    machine: Machine, axes: Axes, low: float, high: float, digits: Sequence[int]
) -> None:
    """The roof between two intensities, FLOP/B; the axes are marked at digits x a power of 10."""
    peak, bandwidth = float(machine.peak["fp32"]), float(machine.bandwidth)
    x = np.geomspace(low, high, 200)
    axes.loglog(x, np.minimum(peak, x * bandwidth), color=INK, linewidth=1.5)
    axes.minorticks_off()
    marks = np.array([digit * 10.0**e for e in range(-3, 16) for digit in digits])
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_yticks(marks, [f"{mark / 1e12:g}" for mark in marks])
    axes.set(xlim=(low, high), ylim=(low * bandwidth / 1.6, 2 * peak))
    axes.text(high / 1.05, 1.1 * peak, "peak", ha="right", va="bottom", fontsize=9)


def _bounds(axes: Axes) -> tuple[float, float, float, float]:
    """Left, lower end, width and height of what these axes show."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return left, low, right - left, high - low


def _steps(
    axes: Axes,
    steps: Mapping[str, float],
    order: Sequence[str],
    predicted: Mapping[str, Quantity],
    published: Mapping[str, Quantity],
) -> None:
    """Circles and bars of `steps` (step -> FLOP/B), numbered by their place in `order`."""
    numbers: dict[tuple[float, float], list[int]] = {}  # of the steps at one point
    for step, intensity in steps.items():
        rate = float(predicted[step])
        numbers.setdefault((intensity, rate), []).append(order.index(step) + 1)
        if step in published:
            other = float(published[step])
            axes.plot([intensity] * 2, [rate, other], color=QUIET, linewidth=1)
            axes.plot(intensity, other, "_", color=BLUE, markersize=30, markeredgewidth=3)
    for (intensity, rate), those in numbers.items():
        axes.plot(intensity, rate, "o", color=ORANGE, markersize=15, markeredgecolor=CARD)
        name = ",".join(map(str, those))
        axes.text(intensity, rate, name, ha="center", va="center_baseline", fontsize=8.5)


def guesses(rows: Sequence[tuple[str, Quantity | None, Quantity]]) -> None:
    """Your predictions against the results: rows of (label, guess or None, result), as ratios.

    A guess is drawn at guess / result on a logarithmic axis, the result at 1; so "four times too
    low" looks the same for percent, bytes and seconds.
    """
    figure, axes = canvas(7.5, 0.75 + 0.55 * len(rows))
    axes.axvline(1, color=BLUE)
    reach, spoken = 4.0, []  # the axis goes from 1 / reach to reach
    for y, (label, guess, result) in enumerate(rows):
        text = f"{label}\n{result.number}, {result.word}"
        axes.text(-0.02, y, text, transform=axes.get_yaxis_transform(), ha="right", va="center")
        if guess is None or float(guess) <= 0:
            said = "no guess recorded" if guess is None else f"guess {guess.number}, off this scale"
            axes.text(1.06, y, said, va="center", color=QUIET)
            spoken.append(f"{label}: {said}, result {result.number}")
            continue
        ratio = float(guess) / float(result)
        reach = max(reach, 1.6 * ratio, 1.6 / ratio)
        axes.plot([1, ratio], [y, y], color=PALE, linewidth=5, solid_capstyle="butt")
        axes.plot(ratio, y, "D", color=ORANGE, markersize=9)
        above = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center", "fontsize": 9}
        axes.annotate(guess.number, (ratio, y), **above)
        spoken.append(f"{label}: guess {guess.number}, result {result.number}")
    axes.set(xscale="log", xlim=(1 / reach, reach), ylim=(len(rows) - 0.4, -0.75), yticks=[])
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("your guess / the result   (1 = exactly right)")
    ticks = [t * 10.0**e for e in range(-9, 9) for t in (1, 3)]
    axes.set_xticks([tick for tick in ticks if 1 / reach <= tick <= reach])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    show(figure, "Guesses against results. " + "; ".join(spoken) + ".")


def pairs(
    rows: Mapping[str, tuple[Quantity, Quantity]], names: tuple[str, str], label: str
) -> None:
    """For each row two bars, with their numbers; `names` says what the two are."""
    figure, axes = canvas(7.5, 0.9 + 0.42 * len(rows))
    for y, values in enumerate(rows.values()):
        for value, offset, colour in zip(values, (-0.19, 0.19), (BLUE, ORANGE), strict=True):
            axes.barh(y + offset, float(value), height=0.36, color=colour)
            beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(value.number, (float(value), y + offset), fontsize=8, **beside)
    for name, colour in zip(names, (BLUE, ORANGE), strict=True):
        axes.scatter([], [], marker="s", color=colour, label=name)
    axes.legend(loc="lower right", fontsize=9, frameon=False)
    axes.set(yticks=range(len(rows)), yticklabels=[*rows], ylim=(len(rows) - 0.4, -0.6))
    axes.set(xticks=[], xlabel=f"{label}, {next(iter(rows.values()))[0].word}")
    axes.margins(x=0.12)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)
    said = [f"{row} {before.number} and {after.number}" for row, (before, after) in rows.items()]
    show(figure, f"{label}, {' and '.join(names)}: {'; '.join(said)}.")


def image_grid(
    images: np.ndarray, captions: Sequence[str], wrong: Sequence[bool], alt: str
) -> None:
    """A row-wise grid of images uint8 [N, 3, H, W] with a caption each; wrong ones are framed."""
    columns = min(8, len(images))
    rows = -(-len(images) // columns)
    figure, axes = canvas(7.5, 1.25 * rows, rows, columns)
    for ax in np.ravel(axes):
        ax.axis("off")
    for ax, image, caption, is_wrong in zip(np.ravel(axes), images, captions, wrong, strict=False):
        ax.axis("on")
        ax.imshow(image.transpose(1, 2, 0))  # [H, W, 3]
        ax.set(xticks=[], yticks=[])
        ax.set_title(caption, fontsize=8, loc="center", fontweight="bold" if is_wrong else "normal")
        for spine in ax.spines.values():
            spine.set(visible=is_wrong, color=ORANGE, linewidth=3)
    show(figure, alt)
