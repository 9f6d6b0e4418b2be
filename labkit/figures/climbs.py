"""The climb of a kernel's steps towards the roofline of a machine.

Dense: a shape's place, size, colour and text stand in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.rooflines import attainable
from labkit.figures.shapes import note
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, Axes, canvas, show

if TYPE_CHECKING:
    from labkit.hardware import Machine
    from labkit.provenance import Quantity


def climb(
    machine: Machine,
    intensities: Mapping[str, float | Quantity],
    predicted: Mapping[str, Quantity],
    published: Mapping[str, Quantity],
) -> None:
    """The steps of a ladder on the roofline of `machine`, as predicted and as published.

    `intensities`: step -> FLOP/B, in the order of the climb; `predicted` and `published`:
    step -> FLOP/s. The circle of a prediction lies at its place, so that it can be seen on or below
    the roof. The diamond of what was published lies to its right, joined by a thin line, so that
    both can be read where they agree. Steps that fall on one point share a circle; their diamonds
    have names of their own. What was published without an intensity is a horizontal line.
    (Lesson what_limits_a_kernel.)
    """
    steps = {step: float(intensity) for step, intensity in intensities.items()}
    lowest = min(steps.values())
    highest = max(steps.values())
    slowest = min(float(rate) for rate in [*predicted.values(), *published.values()])
    figure, axes = canvas(7.5, 5.4)
    _roof_with_marks(machine, axes, lowest / 2, highest * 10, slowest / 1.6)
    for (intensity, rate), names in _points(steps, predicted).items():
        theirs = {name: float(published[name]) for name in names if name in published}
        _step(machine, axes, intensity, rate, names, theirs)
    for name, rate in published.items():
        if name not in steps:
            _level(axes, lowest / 2, float(rate), f"{name}, published; traffic unknown")
    axes.set_xlabel("FLOP per byte of traffic")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(f"{machine.name}, fp32", weight="bold", fontsize=10)
    axes.plot(
        [], [], linestyle="none", label="predicted; passes set those below the roof", **_CIRCLE
    )
    axes.plot([], [], linestyle="none", label="published, drawn slightly to the right", **_DIAMOND)
    axes.legend(loc="lower right", fontsize=9, frameon=False)
    said = _steps_in_words(steps, predicted, published)
    show(figure, f"The climb on the roofline of {machine.name}. {said}.")


def _level(axes: Axes, left: float, rate: float, name: str) -> None:
    """A dashed line at a rate whose intensity is unknown, with its name at the left end."""
    axes.axhline(rate, color=BLUE, linewidth=1, linestyle="--", zorder=0)
    _write_beside(axes, left, rate, name, (6, 3), ha="left", va="bottom")


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
    for name, rate in published.items():
        if name not in steps:
            said.append(f"{name}: {rate.number} published")
    return "; ".join(said)


def _points(
    steps: Mapping[str, float], predicted: Mapping[str, Quantity]
) -> dict[tuple[float, float], list[str]]:
    """The names of the steps at each point: an intensity, and the rate that is predicted there.

    Steps within 1 % of each other are one point.
    """
    points: dict[tuple[float, float], list[str]] = {}
    for step, intensity in steps.items():
        point = (intensity, float(predicted[step]))
        near = [other for other in points if np.allclose(point, other, rtol=0.01)]
        names = points.setdefault(near[0] if near else point, [])
        names.append(step)
    return points


def _step(
    machine: Machine,
    axes: Axes,
    intensity: float,
    rate: float,
    names: Sequence[str],
    theirs: Mapping[str, float],
) -> None:
    """The circle of one or more steps, the diamonds of those that were published, and their names.

    A name stands above a diamond that is faster than the roof, else at the right of it; names that
    share a circle stand at its left, too, because not all of them have a diamond.
    """
    shared = len(names) > 1
    for name, other in theirs.items():
        _join_aside(axes, intensity, rate, other)
        _mark(axes, intensity, other, **_PUBLISHED)
        if other > 1.01 * attainable(machine, intensity):
            _write_beside(axes, intensity, other, name, (ASIDE, 8), ha="center", va="bottom")
        else:
            up = 5 if shared else -6
            _write_beside(axes, intensity, other, name, (ASIDE + 9, up), ha="left", va="center")
    _mark(axes, intensity, rate, **_PREDICTED)
    if shared or not theirs:
        _write_beside(axes, intensity, rate, ", ".join(names), (-9, 5), ha="right", va="center")


ASIDE = 11  # points from a circle to its diamond
_CIRCLE = {"marker": "o", "markersize": 8, "color": ORANGE, "markeredgecolor": INK}
_DIAMOND = {"marker": "D", "markersize": 7, "color": BLUE, "markeredgecolor": INK}
_PREDICTED = {"points": 0, "style": _CIRCLE}
_PUBLISHED = {"points": ASIDE, "style": _DIAMOND}


def _mark(axes: Axes, intensity: float, rate: float, points: float, style: Mapping) -> None:
    """A mark that lies so many points to the right of its place."""
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot(intensity, rate, transform=axes.transData + aside, **style)


def _join_aside(axes: Axes, intensity: float, rate: float, other: float) -> None:
    """A thin line from a circle to its diamond, which lies aside."""
    from matplotlib.patches import ConnectionPatch
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation(ASIDE / 72, 0, axes.figure.dpi_scale_trans)
    ends = {"coordsA": axes.transData, "coordsB": axes.transData + aside}
    line = ConnectionPatch((intensity, rate), (intensity, other), **ends, color=QUIET, zorder=1)
    axes.add_artist(line)


def _write_beside(
    axes: Axes, intensity: float, rate: float, name: str, points: tuple[float, float], **align: str
) -> None:
    """A name so many points right of and above its place."""
    note(axes, name, (intensity, rate), points, fontsize=9, annotation_clip=False, **align)


def _roof_with_marks(machine: Machine, axes: Axes, low: float, high: float, slowest: float) -> None:
    """The roof between two intensities, FLOP/B; the axes are marked at powers of 10."""
    peak = float(machine.rate("fp32"))
    x = np.geomspace(low, high, 200)
    axes.loglog(x, attainable(machine, x), color=INK, linewidth=1.5)
    axes.minorticks_off()
    powers = 10.0 ** np.arange(-3, 16)
    in_flop = [f"{mark:g}" for mark in powers]
    in_tflop = [f"{mark / 1e12:g}" for mark in powers]
    axes.set_xticks(powers, in_flop)
    axes.set_yticks(powers, in_tflop)
    axes.set_xlim(low, high)
    axes.set_ylim(slowest, 1.6 * peak)
    right = high / 1.05
    above = 1.1 * peak
    axes.text(right, above, "peak", ha="right", va="bottom", fontsize=9)
