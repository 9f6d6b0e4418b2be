"""A picture of the accelerator: jobs on its roofline.

roofline({"streamed": (Folding(), 1)})

Dense: a call draws one mark, and its arguments are places.
"""

from collections.abc import Mapping

import numpy as np

from labkit.figures.shapes import factors
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, canvas, show
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit_lessons.fpga.folding_under_a_budget.zynq_roofline import device_roof, point

_MARKERS = "osD^vP"
_HOLLOW = {"markerfacecolor": "none", "color": BLUE, "markersize": 9, "linestyle": "none"}


def roofline(jobs: Mapping[str, tuple[Folding, int]], shapes: Shapes | None = None) -> None:
    """Jobs on the accelerator's roofline, multiply-adds per cycle over those per byte.

    `jobs`   name -> (folding, images); a hollow marker is the lower of its two roofs, a filled one
             what the job reaches by formula
    """
    points = {name: point(folding, images, shapes) for name, (folding, images) in jobs.items()}
    intensities = [float(one.intensity) for one in points.values()]
    dsps = float(device_roof())
    low, high = min(intensities) / 3, max(*intensities, dsps / 8) * 2.5
    figure, axes = canvas(7.5, 3.8)
    x = np.geomspace(low, high, 200)
    axes.loglog(x, np.minimum(8 * x, dsps), color=INK)
    axes.text(high, 1.06 * dsps, f"{dsps:.0f} DSPs", ha="right", va="bottom", fontsize=9)
    axes.text(1.6 * low, 8 * 1.3 * low, "stream: 8 B per cycle", ha="left", fontsize=9)
    for level in sorted({float(one.compute_roof) for one in points.values()}):
        axes.plot([level / 8, high], [level, level], color=QUIET, linewidth=1, linestyle="--")
        name = f"{level:.0f} multipliers"
        axes.text(level / 6.5, level / 1.03, name, va="top", fontsize=8)
    axes.plot([], [], _MARKERS[0], label="hollow: at most, by the roofs", **_HOLLOW)
    said = []
    for marker, (name, one) in zip(_MARKERS * len(points), points.items(), strict=False):
        place, reached = float(one.intensity), float(one.reached)
        axes.plot([place, place], [reached, one.attainable], color=QUIET, linewidth=1)
        axes.plot(place, one.attainable, marker, **_HOLLOW)
        axes.plot(place, reached, marker, color=ORANGE, markersize=8, linestyle="none", label=name)
        said.append(
            f"{name}: {place:.3g} MAC per byte, at most {one.attainable:.3g} and reached "
            f"{reached:.3g} MAC per cycle"
        )
    axes.set_xlim(low, high)
    axes.set_ylim(8 * low, 1.6 * dsps)
    factors(axes.xaxis)
    factors(axes.yaxis)
    axes.set_xlabel("multiply-adds per byte of the stream")
    axes.set_ylabel("multiply-adds per cycle")
    axes.set_title("filled: what the jobs reach, predicted", loc="left", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, frameon=False)
    show(
        figure,
        f"Roofline of the accelerator: the stream of 8 bytes per cycle, and {dsps:.0f} DSPs. "
        f"{'; '.join(said)}, predicted.",
    )
