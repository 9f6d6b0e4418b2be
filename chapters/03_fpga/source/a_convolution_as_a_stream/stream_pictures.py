"""Pictures of a convolution as a stream: what is remembered at a step, and windows over time.

Dense: a call draws one shape, and its arguments are places.
"""

import numpy as np

from labkit.figures.shapes import arrow, bare, box, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes, canvas, show
from labkit.fpga import waveforms
from labkit.fpga.integers.packing import unpack
from labkit.fpga.simulate import Simulation

ROWS = ("top", "middle", "bottom")


def step(H: int, W: int, row: int, col: int) -> None:
    """The step at (row, col) of an image of H x W numbered pixels, and the circuit after it.

    Left the image with its zeros behind rows and behind the picture; right the nine registers and
    the two line buffers. Raises ValueError for a step that completes no window.
    """
    if not (1 <= row <= H and 1 <= col <= W):
        raise ValueError(f"The step in row {row}, column {col} completes no window.")
    figure, (left, right) = canvas(7.5, 3.3, 1, 2, width_ratios=[W + 2.6, 9.2])
    _draw_image(left, H, W, row, col)
    registers = window_around(H, W, row - 1, col - 1)
    _draw_circuit(right, registers, incoming=_number(H, W, row, col), length=W + 1)
    remembered = (row * (W + 1) + col) - max((row - 2) * (W + 1) + col - 2, 0) + 1
    spoken = "; ".join(" ".join(map(str, line)) for line in registers)
    show(
        figure,
        f"Left: an image of {H} x {W} pixels, numbered from 1, with a zero behind each row and a "
        f"row of zeros below. In row {row}, column {col}, pixel {registers[2][2]} comes in, and "
        f"the window around row {row - 1}, column {col - 1} is complete. The {remembered} numbers "
        "from its first pixel to its last are marked. Right: the circuit. Its registers hold, row "
        f"by row, {spoken}. The new pixel enters the bottom row; a line buffer of {W + 1} words "
        "feeds the middle row, and a second one feeds the top row.",
    )


def window_around(H: int, W: int, row: int, col: int) -> list[list[int]]:
    """The nine numbers around a pixel of the numbered image."""
    return [[_number(H, W, r, c) for c in range(col - 1, col + 2)] for r in range(row - 1, row + 2)]


def centres(simulation: Simulation, cycles: range) -> None:
    """The streams of `window_3x3`, int8 pixels, as a waveform; of each window its centre alone."""
    trace = simulation.trace
    shown = {name: trace[name] for name in ("x_valid", "x_ready", "x_data")}
    shown |= {name: trace[name] for name in ("window_valid", "window_ready")}
    shown["window_data"] = unpack(trace["window_data"], 9, 8)[:, 4]
    waveforms.draw(shown, cycles=cycles)


def _number(H: int, W: int, row: int, col: int) -> int:
    """The number of a pixel, counted from 1; 0 around the image."""
    inside = 0 <= row < H and 0 <= col < W
    return row * W + col + 1 if inside else 0


def _draw_image(axes: Axes, H: int, W: int, row: int, col: int) -> None:
    """The positions of the image; those that came within two rows are marked."""
    now = row * (W + 1) + col
    oldest = (row - 2) * (W + 1) + col - 2
    for i, j in np.ndindex(H + 1, W + 1):
        place = i * (W + 1) + j
        in_window = row - 2 <= i <= row and col - 2 <= j <= col
        fill = SKY if in_window else PALE if oldest <= place <= now else CARD
        letters = QUIET if place > now else INK
        _cell(axes, j, i, _number(H, W, i, j), fill, letters)
    _frame(axes, col, row)
    for i in range(H + 1):
        write(axes, -0.3, i + 0.5, i, 8, ha="right", color=QUIET)
    for j in range(W + 1):
        write(axes, j + 0.5, -0.15, j, 8, va="bottom", color=QUIET)
    axes.set_title("the steps, row by row", loc="center")
    bare(axes, (-1, W + 1.6), (H + 1.2, -0.8), "equal")


def _draw_circuit(axes: Axes, registers: list[list[int]], incoming: int, length: int) -> None:
    """Three rows of registers, two line buffers, and the path of a pixel through them."""
    right = 4.0  # edge of the registers: numbers enter here and move to the left
    for i, line in enumerate(registers):
        y = 1.6 * i
        for j, number in enumerate(line):
            _cell(axes, right - 3 + j, y, number, SKY, INK)
        write(axes, right - 3.2, y + 0.5, ROWS[i], ha="right")
    _frame(axes, right - 1, 3.2)
    tap = right + 0.55  # between a line buffer and the registers that it feeds
    bend = right + 4.6
    write(axes, bend + 0.15, 3.7, f"pixel {incoming}", ha="left")
    arrow(axes, (bend, 3.7), (right + 0.1, 3.7), linewidth=1.2)
    axes.plot([bend, bend], [3.7, 2.1], color=INK, linewidth=1.2)
    axes.plot([tap, tap, bend, bend], [2.1, 1.3, 1.3, 0.5], color=INK, linewidth=1.2)
    for y in (0.5, 2.1):
        look = {"text": f"line buffer, {length} words", "size": 8, "edge": BLUE, "linewidth": 1.2}
        box(axes, right + 1.0, y - 0.4, 3.2, 0.8, PALE, **look)
        for begin, end in ((right + 0.95, right + 0.1), (bend, right + 4.25)):
            arrow(axes, (begin, y), (end, y), linewidth=1.2)
    axes.set_title("the circuit after this step", loc="center")
    bare(axes, (-0.6, right + 6.6), (4.6, -0.8), "equal")


def _cell(axes: Axes, x: float, y: float, number: int, fill: str, letters: str) -> None:
    box(axes, x, y, 1, 1, fill, number, ink=letters, edge=QUIET, linewidth=0.8)


def _frame(axes: Axes, x: float, y: float) -> None:
    """A heavy frame around the pixel that comes in."""
    box(axes, x, y, 1, 1, "none", fill=False, edge=ORANGE, linewidth=2.4, zorder=3)
