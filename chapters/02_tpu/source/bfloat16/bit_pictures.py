"""Pictures of lesson bfloat16: the bits of a float32, and the errors of sums by their length.

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Sequence

import numpy as np

from labkit.figures import canvas, show
from labkit.figures.shapes import bare, box, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes
from labkit.tpu import bfloat16

FIELDS = [  # name, its first bit and the one behind its last, fill, what is read on it
    ("sign", 0, 1, ORANGE, INK),
    ("exponent", 1, 9, SKY, INK),
    ("fraction", 9, 16, BLUE, CARD),
    ("lower half", 16, 32, PALE, QUIET),
]
STYLES = {"bfloat16 sum": "o-C1", "float32 sum": "s-C0", "bf16x3": "^-k"}
BOUNDS = {"bfloat16": ":C1", "float32": ":C0"}


def halves(numbers: Sequence[float]) -> None:
    """The bits of each number as a float32, and the bfloat16 that it becomes."""
    figure, axes = canvas(7.5, 0.7 + 0.33 * len(numbers))
    bare(axes, across=(-5.5, 42), down=(len(numbers), -1))
    for name, begin, end, *_ in FIELDS:
        write(axes, (begin + end) / 2 - (name == "sign"), -0.5, name, 9)
    said = []
    for row, number in enumerate(numbers):
        word = int(np.float32(number).view(np.uint32))
        value = float(bfloat16.round_to_bfloat16(number))
        _bits(axes, row, f"{word:032b}")
        write(axes, -0.5, row + 0.5, f"{number:g}", ha="right")
        write(axes, 32.5, row + 0.5, f"becomes {value:.7g}", ha="left")
        said.append(f"{number:g} is {word:032b} and becomes {value:.7g}")
    alt = "Bits of float32 numbers; the upper half is a bfloat16, once it is rounded. "
    show(figure, alt + "; ".join(said) + ".")


def _bits(axes: Axes, row: int, bits: str) -> None:
    """A row of 32 boxes, coloured by their field."""
    for _, begin, end, fill, ink in FIELDS:
        for place in range(begin, end):
            box(axes, place, row + 0.06, 0.94, 0.88, fill, bits[place], 8, ink, linewidth=0)


def errors(lengths: Sequence[int], found: dict[str, list[float]]) -> None:
    """found[way], the largest error / sum of |products| at each length, beside the two bounds."""
    figure, axes = canvas(7.5, 3.4)
    for name, values in found.items():
        axes.loglog(lengths, values, STYLES[name], label=name, markersize=6)
    for way, style in BOUNDS.items():
        end = 256 if way == "bfloat16" else max(lengths) + 1
        K = np.arange(1, end)
        bounds = [bfloat16.dot_bound(int(k), way) for k in K]
        axes.loglog(K, bounds, style, label=f"bound, {way} sum")
    axes.set(xlabel="K, the length of the sum", ylabel="error / sum of |products|")
    axes.set(xlim=(10, 6000), ylim=(1e-7, 30))
    axes.text(290, 3, "bfloat16 sums: no such\nbound from K = 256 on", color="C1", fontsize=9)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    ends = ", ".join(f"{name} {values[-1]:.1e}" for name, values in found.items())
    alt = f"Largest error for sums of {lengths[0]} to {lengths[-1]} products; at the end: {ends}. "
    alt += "The bound of the float32 sum is flat; that of the bfloat16 sum ends at 256."
    show(figure, alt)
