"""Wrong ideas of fpga.window_control: images x[N,H,W] -> windows [N*H*W, 9].

The nine registers of the circuit hold something after every step. What parts these ideas is the
steps after which they hand it on as a window.

Dense: each wrong idea is a condition on the step, in one comprehension.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """One position of an image, and the nine registers before and after it."""

    row: int
    col: int
    before: np.ndarray
    after: np.ndarray


def steps(x: np.ndarray) -> Iterator[Step]:
    """All positions of all images, (H + 1) x (W + 1) each, the zeros behind rows included."""
    registers = np.zeros((3, 3), np.int64)
    for image in x:
        H, W = image.shape
        padded = np.pad(image, ((2, 1), (0, 1)))  # two rows of zeros above
        for row in range(H + 1):
            for col in range(W + 1):
                before = registers
                column = padded[row : row + 3, col : col + 1]
                registers = np.hstack([before[:, 1:], column])
                yield Step(row, col, before, registers)


def first(windows: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    """As many windows as there are pixels, a row for each; what follows, nobody reads."""
    return np.stack(windows)[: x.size].reshape(-1, 9)


def right(x):
    """After each step outside row 0 and column 0."""
    return first([s.after for s in steps(x) if s.row and s.col], x)


def every_position(x):
    """After each step."""
    return first([s.after for s in steps(x)], x)


def first_column_too(x):
    """After each step outside row 0."""
    return first([s.after for s in steps(x) if s.row], x)


def first_row_too(x):
    """After each step outside column 0."""
    return first([s.after for s in steps(x) if s.col], x)


def one_step_early(x):
    """Before the right steps."""
    return first([s.before for s in steps(x) if s.row and s.col], x)


def corner_alone(x):
    """After each step but that in row 0 and column 0."""
    return first([s.after for s in steps(x) if s.row or s.col], x)


def not_at_border(x):
    """After each step with a pixel."""
    _, H, W = x.shape
    return first([s.after for s in steps(x) if s.row < H and s.col < W], x)
