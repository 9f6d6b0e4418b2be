"""The roofline of a machine, with layers on it.

    attainable [FLOP/s] = min(peak [FLOP/s], intensity [FLOP/B] x bandwidth [B/s])

in fp32, or in the format that is named. Lesson what_an_accelerator_can_change derives it,
and `labkit.hardware.roofline` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, INK, ORANGE, QUIET, Axes, canvas, show

if TYPE_CHECKING:
    from labkit.hardware import Machine
    from labkit.provenance import Quantity

_MARKERS = "osD^vPX*<>"  # of the layers, again from the first when they run out


def roofline(
    machine: Machine,
    intensities: Mapping[str, float | Quantity],
    reached: Mapping[str, Quantity] = MappingProxyType({}),
    number_format: str = "fp32",
) -> None:
    """The roofline of `machine` in a number format, with one marker per layer.

    `intensities`: layer -> FLOP/B. A hollow marker on the roof is what the formula predicts;
    `reached` (layer -> FLOP/s) adds a filled marker, joined by a line: the gap to explain. Its
    word in the legend is that of the quantities, as "measured".
    """
    intensities = {layer: float(intensity) for layer, intensity in intensities.items()}
    ridge = machine.ridge(number_format)
    lowest = min(ridge, *intensities.values())
    highest = max(ridge, *intensities.values())
    words = {rate.word for rate in reached.values()}
    word = " or ".join(sorted(words))
    figure, axes = canvas(7.5, 3.9)
    _roof_with_its_ridge(machine, axes, lowest / 3, highest * 4, number_format)
    _layers(machine, axes, intensities, reached, number_format)
    if reached:
        hollow = "hollow: predicted"
        filled = f"filled: {word}"
        axes.plot([], [], "o", markerfacecolor="none", color=BLUE, label=hollow)
        axes.plot([], [], "o", color=ORANGE, label=filled)
    axes.set_xlabel("arithmetic intensity (FLOP per byte)")
    axes.set_ylabel("FLOP/s")
    axes.set_title(f"{machine.name}, {number_format}", pad=18, weight="bold", fontsize=10)
    right_of_axes = (1.01, 0.5)
    axes.legend(loc="center left", bbox_to_anchor=right_of_axes, fontsize=9, frameon=False)
    alt = _bounds_in_words(machine, intensities, number_format)
    if reached:
        rates = [f"{layer} {rate.number}" for layer, rate in reached.items()]
        alt += f" {word.capitalize()}: {', '.join(rates)}."
    show(figure, alt)


def _bounds_in_words(machine: Machine, intensities: Mapping[str, float], number_format: str) -> str:
    """Where the ridge is, and which layers lie left of it and right of it."""
    ridge = machine.ridge(number_format)
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


def attainable(
    machine: Machine, intensity: np.ndarray | float, number_format: str = "fp32"
) -> np.ndarray | float:
    """The attainable rate in FLOP/s at an intensity in FLOP/B."""
    peak = float(machine.rate(number_format))
    fed_by_memory = intensity * float(machine.bandwidth)
    return np.minimum(peak, fed_by_memory)


def _roof_with_its_ridge(
    machine: Machine, axes: Axes, low: float, high: float, number_format: str
) -> None:
    """The roof between two intensities, FLOP/B, and a dotted line down from its ridge."""
    x = np.geomspace(low, high, 200)
    axes.loglog(x, attainable(machine, x, number_format), color=INK)
    peak = float(machine.rate(number_format))
    ridge = machine.ridge(number_format)
    foot = x.min() * float(machine.bandwidth)
    across = [ridge, ridge]
    up = [foot, peak]
    axes.plot(across, up, color=QUIET, linewidth=1, linestyle=":")
    digits = ".2g" if ridge < 100 else ".0f"
    name = f" ridge {ridge:{digits}} FLOP/B"  # at the foot, where no layer's mark is
    axes.text(ridge, foot, name, ha="left", va="bottom", fontsize=9)


def _layers(
    machine: Machine,
    axes: Axes,
    intensities: Mapping[str, float],
    reached: Mapping[str, Quantity],
    number_format: str,
) -> None:
    """A hollow marker on the roof for each layer, and a filled one at the rate it reached."""
    for marker, layer in zip(cycle(_MARKERS), intensities, strict=False):
        intensity = intensities[layer]
        roof = attainable(machine, intensity, number_format)
        axes.plot(intensity, roof, marker, markerfacecolor="none", color=BLUE, markersize=8)
        if layer in reached:
            rate = float(reached[layer])
            _join(axes, intensity, rate, roof)
            axes.plot(intensity, rate, marker, color=ORANGE, markersize=8)
        axes.plot([], [], marker, color=INK, linestyle="none", label=layer)


def _join(axes: Axes, intensity: float, rate: float, other: float) -> None:
    """A thin line between two rates at one intensity."""
    across = [intensity, intensity]
    up = [rate, other]
    axes.plot(across, up, color=QUIET, linewidth=1)
