"""gpu.scale_rows: y[row, col] = x[row, col] * scale[row] + shift[row] (lesson 01_gpu/2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from labkit.checks.cases.common import misconceptions
from labkit.checks.exercise import Case
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import distinct, kernel_exercise, worst_line

BLOCK = (32, 8)  # threads along x, along y


def cases(rng: np.random.Generator) -> Iterator[Case]:
    shapes = {"one square tile": (32, 32), "wide": (3, 200), "tall": (100, 5)}
    shapes |= {"one element": (1, 1), "prime sizes": (7, 13), "several blocks": (70, 96)}
    for name, (rows, cols) in shapes.items():
        yield Case(name, (distinct(rng, rows, cols), distinct(rng, rows), distinct(rng, rows)))


def launch(x, scale, shift):
    rows, cols = x.shape
    grid = -(-cols // BLOCK[0]), -(-rows // BLOCK[1])
    return grid, BLOCK, (np.zeros_like(x),)


@cuda.jit
def scale_rows(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] + shift[row]


def oracle(x, scale, shift):
    """y[row, col] = x[row, col] * scale[row] + shift[row]."""
    return x * scale[:, None] + shift[:, None]


def limit(profile: Any, inputs: tuple) -> str | None:
    """Neighbouring lanes must touch neighbouring columns: at most 5 sectors for 32 floats."""
    line, sectors = worst_line(profile, "store")
    if inputs[0].shape[1] < 64 or sectors <= 6:
        return None
    return (
        f"in line {line} a warp's store touches {sectors:.0f} sectors where 4 would do. The 32 "
        "threads of a warp differ in x: let x choose the column, so that neighbours touch "
        "neighbours."
    )


def swapped(x, scale, shift):
    """Row and column are swapped: `cuda.grid(2)` gives x first, and the grid was launched with x
    along the columns. Threads that find no element leave the rest unwritten."""
    rows, cols = x.shape
    (across, down), _, (y,) = launch(x, scale, shift)
    rows, cols = min(rows, across * BLOCK[0]), min(cols, down * BLOCK[1])
    y[:rows, :cols] = oracle(x, scale, shift)[:rows, :cols]
    return y


def per_column(x, scale, shift):
    """Scale and shift were looked up by the column. They have one entry for each row."""
    if x.shape[1] > x.shape[0]:
        raise IndexError
    return x * scale[: x.shape[1]] + shift[: x.shape[1]]


def no_shift(x, scale, shift):
    """The shift is missing."""
    return x * scale[:, None]


def shift_first(x, scale, shift):
    """The shift is added before the scaling; it comes after."""
    return (x + shift[:, None]) * scale[:, None]


def first_block(x, scale, shift):
    """Only the first block's elements are there: `cuda.threadIdx` counts within a block,
    `cuda.grid(2)` across all of them."""
    y = np.zeros_like(x)
    y[: BLOCK[1], : BLOCK[0]] = oracle(x, scale, shift)[: BLOCK[1], : BLOCK[0]]
    return y


EXERCISES = [
    kernel_exercise(
        launch,
        scale_rows,
        cases,
        limit,
        id="gpu.scale_rows",
        oracle=oracle,
        outputs=("y",),
        hints=(
            "`cuda.grid(2)` returns two numbers: the thread's place along x, then along y.",
            "The 32 threads of a warp differ in x. The 32 floats that lie side by side differ in "
            "the column.",
            "So the first number is the column, the second the row. Guard both, then write the "
            "formula with indices.",
        ),
        misconceptions=misconceptions(swapped, per_column, no_shift, shift_first, first_block),
        costs=("global_load_sectors_per_request", "global_store_sectors_per_request"),
    )
]
