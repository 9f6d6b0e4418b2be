"""The roofline of a machine, with layers on it, and the climb of a kernel's steps towards it.

    attainable [FLOP/s] = min(peak [FLOP/s], intensity [FLOP/B] x bandwidth [B/s])

in fp32; lesson gradients_and_convolutions derives it, and `labkit.hardware.roofline` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, CARD, INK, ORANGE, QUIET, canvas, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labkit.hardware import Machine
    from labkit.provenance import Quantity

ZOOM = 6  # steps within this factor of the highest intensity are drawn larger
_MARKERS = "osD^vPX*<>"  # of the layers, again from the first when they run out


def roofline(
    machine: Machine,
    intensities: Mapping[str, float | Quantity],
    reached: Mapping[str, Quantity] = MappingProxyType({}),
) -> None:
    """The roofline of `machine` with one marker per layer.

    `intensities`: layer -> FLOP/B. A hollow marker on the roof is what the formula predicts;
    `reached` (layer -> FLOP/s) adds a filled marker, joined by a line: the gap to explain. Its
    word in the legend is that of the quantities, as "measured".
    """
    intensities = {layer: float(intensity) for layer, intensity in intensities.items()}
    ridge = machine.ridge()
    lowest = min(ridge, *intensities.values())
    highest = max(ridge, *intensities.values())
    words = {rate.word for rate in reached.values()}
    word = " or ".join(sorted(words))
    figure, axes = canvas(7.5, 3.9)
    _roof_with_its_ridge(machine, axes, lowest / 3, highest * 4)
    _layers(machine, axes, intensities, reached)
    if reached:
        hollow = "hollow: predicted"
        filled = f"filled: {word}"
        axes.plot([], [], "o", markerfacecolor="none", color=BLUE, label=hollow)
        axes.plot([], [], "o", color=ORANGE, label=filled)
    axes.set_xlabel("arithmetic intensity (FLOP per byte)")
    axes.set_ylabel("FLOP/s")
    axes.set_title(f"{machine.name}, fp32", pad=18, weight="bold", fontsize=10)
    right_of_axes = (1.01, 0.5)
    axes.legend(loc="center left", bbox_to_anchor=right_of_axes, fontsize=9, frameon=False)
    alt = _bounds_in_words(machine, intensities)
    if reached:
        rates = [f"{layer} {rate.number}" for layer, rate in reached.items()]
        alt += f" {word.capitalize()}: {', '.join(rates)}."
    show(figure, alt)


def _bounds_in_words(machine: Machine, intensities: Mapping[str, float]) -> str:
    """Where the ridge is, and which layers lie left of it and right of it."""
    ridge = machine.ridge()
    memory_bound = []
    compute_bound = []
    for layer, intensity in intensities.items():
        if intensity < ridge:
            memory_bound.append(layer)
        else:
            compute_bound.append(layer)
    left = ", ".join(memory_bound) or "none"
    right = ", ".join(compute_bound) or "none"
    return (
        f"Roofline of {machine.name}, ridge at {ridge:.3g} FLOP per byte."
        f" Memory bound, left of the ridge: {left}."
        f" Compute bound, right of it: {right}."
    )


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
    numbers = {step: number for number, step in enumerate(steps, start=1)}
    lowest = min(steps.values())
    highest = max(steps.values())
    crowded = highest / ZOOM
    below = {}
    above = {}
    for step, intensity in steps.items():
        if intensity < crowded:
            below[step] = intensity
        else:
            above[step] = intensity
    figure, (whole, zoomed) = canvas(7.5, 4.9, 1, 2)
    _roof_with_marks(machine, whole, lowest / 2, 8 * highest, digits=(1,))
    _roof_with_marks(machine, zoomed, crowded / 1.6, 1.9 * highest, digits=(1, 2, 5))
    _steps(whole, below, numbers, predicted, published)
    _steps(zoomed, above, numbers, predicted, published)
    traffic = "FLOP per byte of traffic"
    whole.set_xlabel(traffic)
    zoomed.set_xlabel(traffic)
    whole.set_ylabel("TFLOP/s")
    whole.set_title(f"{machine.name}, fp32", weight="bold", fontsize=10)
    zoomed_part = _bounds(zoomed)
    whole.indicate_inset(zoomed_part, edgecolor=QUIET, linestyle="--", alpha=1)
    zoomed.set_title("the dashed part, larger", fontsize=10, weight="normal")
    _legend_of_climb(figure, whole, numbers)
    said = _steps_in_words(steps, predicted, published)
    show(figure, f"The climb on the roofline of {machine.name}. {said}.")


def _steps_in_words(
    steps: Mapping[str, float],
    predicted: Mapping[str, Quantity],
    published: Mapping[str, Quantity],
) -> str:
    """Where each step lies, and both its rates."""
    said = []
    for step, intensity in steps.items():
        rate = predicted[step].number
        sentence = f"{step} at {intensity:.3g} FLOP per byte: {rate} predicted"
        if step in published:
            rate = published[step].number
            sentence += f", {rate} published"
        said.append(sentence)
    return "; ".join(said)


def _legend_of_climb(figure: Figure, axes: Axes, numbers: Mapping[str, int]) -> None:
    """Below the figure: what a circle and a bar mean, and which step has which number."""
    circle = {"color": ORANGE, "markersize": 11}
    bar = {"color": BLUE, "markersize": 18, "markeredgewidth": 3}
    axes.plot([], [], "o", label="predicted", **circle)
    axes.plot([], [], "_", label="published", **bar)
    for step, number in numbers.items():
        axes.plot([], [], " ", label=f"{number} {step}")
    figure.legend(loc="outside lower center", ncols=5, fontsize=8.5, frameon=False)


def _roof(machine: Machine, intensity: np.ndarray | float) -> np.ndarray | float:
    """The attainable fp32 rate in FLOP/s at an intensity in FLOP/B."""
    peak = float(machine.rate("fp32"))
    fed_by_memory = intensity * float(machine.bandwidth)
    return np.minimum(peak, fed_by_memory)


def _roof_with_its_ridge(machine: Machine, axes: Axes, low: float, high: float) -> None:
    """The roof between two intensities, FLOP/B, and a dotted line down from its ridge."""
    x = np.geomspace(low, high, 200)
    axes.loglog(x, _roof(machine, x), color=INK)
    peak = float(machine.rate("fp32"))
    ridge = machine.ridge()
    foot = x.min() * float(machine.bandwidth)
    across = [ridge, ridge]
    up = [foot, peak]
    axes.plot(across, up, color=QUIET, linewidth=1, linestyle=":")
    name = f"ridge {ridge:.2g} FLOP/B"
    above = peak * 1.25
    axes.text(ridge, above, name, ha="center", va="bottom", fontsize=9)


def _layers(
    machine: Machine,
    axes: Axes,
    intensities: Mapping[str, float],
    reached: Mapping[str, Quantity],
) -> None:
    """A hollow marker on the roof for each layer, and a filled one at the rate it reached."""
    for marker, layer in zip(cycle(_MARKERS), intensities, strict=False):
        intensity = intensities[layer]
        roof = _roof(machine, intensity)
        axes.plot(intensity, roof, marker, markerfacecolor="none", color=BLUE, markersize=8)
        if layer in reached:
            rate = float(reached[layer])
            _join(axes, intensity, rate, roof)
            axes.plot(intensity, rate, marker, color=ORANGE, markersize=8)
        axes.plot([], [], marker, color=INK, linestyle="none", label=layer)


def _roof_with_marks(
    machine: Machine, axes: Axes, low: float, high: float, digits: Sequence[int]
) -> None:
    """The roof between two intensities, FLOP/B; the axes are marked at digits x a power of 10."""
    peak = float(machine.rate("fp32"))
    x = np.geomspace(low, high, 200)
    axes.loglog(x, _roof(machine, x), color=INK, linewidth=1.5)
    axes.minorticks_off()
    powers = 10.0 ** np.arange(-3, 16)
    marks = np.ravel(np.outer(powers, digits))
    in_flop = [f"{mark:g}" for mark in marks]
    in_tflop = [f"{mark / 1e12:g}" for mark in marks]
    axes.set_xticks(marks, in_flop)
    axes.set_yticks(marks, in_tflop)
    slowest = low * float(machine.bandwidth)
    axes.set_xlim(low, high)
    axes.set_ylim(slowest / 1.6, 2 * peak)
    right = high / 1.05
    above = 1.1 * peak
    axes.text(right, above, "peak", ha="right", va="bottom", fontsize=9)


def _bounds(axes: Axes) -> list[float]:
    """Left, lower end, width and height of what these axes show."""
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    width = right - left
    height = high - low
    return [left, low, width, height]


def _steps(
    axes: Axes,
    steps: Mapping[str, float],
    numbers: Mapping[str, int],
    predicted: Mapping[str, Quantity],
    published: Mapping[str, Quantity],
) -> None:
    """Numbered circles and bars of `steps` (step -> FLOP/B)."""
    circles: dict[tuple[float, float], list[str]] = {}  # the numbers of the steps at one point
    for step, intensity in steps.items():
        rate = float(predicted[step])
        point = (intensity, rate)
        there = circles.setdefault(point, [])
        there.append(str(numbers[step]))
        if step in published:
            other = float(published[step])
            _join(axes, intensity, rate, other)
            axes.plot(intensity, other, "_", color=BLUE, markersize=30, markeredgewidth=3)
    for (intensity, rate), there in circles.items():
        axes.plot(intensity, rate, "o", color=ORANGE, markersize=15, markeredgecolor=CARD)
        name = ",".join(there)
        axes.text(intensity, rate, name, ha="center", va="center_baseline", fontsize=8.5)


def _join(axes: Axes, intensity: float, rate: float, other: float) -> None:
    """A thin line between two rates at one intensity."""
    across = [intensity, intensity]
    up = [rate, other]
    axes.plot(across, up, color=QUIET, linewidth=1)
