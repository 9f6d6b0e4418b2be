"""Pictures of one convolution: which input cells feed one output cell, and im2col's row of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import CARD, INK, ORANGE, PALE, SKY, canvas, show
from labkit.reference import conv2d

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Part = tuple[str, np.ndarray, tuple, str]  # title, values, highlighted cells, their colour


def convolution(x: np.ndarray, w: np.ndarray, p: int, q: int, stride: int = 1) -> None:
    """One output cell (p, q) of a single-channel convolution: x [H, W], w [R, S], no padding."""
    window = rows, columns = _window(x.shape, p, q, w.shape, stride)
    y = conv2d(x[None, None], w[None, None], stride=stride)[0, 0]  # [P, Q]
    products = " + ".join(
        f"{a:g}·{b:g}" if b >= 0 else f"{a:g}·({b:g})"
        for a, b in zip(x[window].flat, w.flat, strict=True)
    )
    _grids(
        [
            (f"x {list(x.shape)}", x, window, SKY),
            (f"w {list(w.shape)}", w, np.s_[:, :], PALE),
            (f"y {list(y.shape)}", y, np.s_[p : p + 1, q : q + 1], ORANGE),
        ],
        f"y[{p}, {q}] = {products} = {y[p, q]:g}",
        f"A {x.shape[0]} by {x.shape[1]} input, a {w.shape[0]} by {w.shape[1]} kernel and the "
        f"{y.shape[0]} by {y.shape[1]} output. Output cell ({p}, {q}) = {y[p, q]:g} is the sum "
        f"over the shaded input window, rows {rows.start} to {rows.stop - 1} and columns "
        f"{columns.start} to {columns.stop - 1}, times the kernel.",
    )


def im2col(x: np.ndarray, kernel: tuple[int, int], p: int, q: int) -> None:
    """The window of output cell (p, q) in x [H, W], and the same as one row of cols [P Q, R S]."""
    (R, S), P, Q = kernel, x.shape[0] - kernel[0] + 1, x.shape[1] - kernel[1] + 1
    cols = [x[_window(x.shape, i, j, kernel, stride=1)].reshape(-1) for i, j in np.ndindex(P, Q)]
    window, row = _window(x.shape, p, q, kernel, stride=1), p * Q + q
    _grids(
        [
            (f"x {list(x.shape)}", x, window, SKY),
            (f"cols {[P * Q, R * S]}", np.array(cols), np.s_[row : row + 1, :], SKY),
        ],
        f"window ({p}, {q}) of x is row {row} of cols: one row per output cell, one column per tap",
        f"The {R} by {S} window of output cell ({p}, {q}), shaded in the input, is row {row} of "
        f"the im2col matrix of {P * Q} rows and {R * S} columns.",
    )


def overlap(
    shape: tuple[int, int], kernel: tuple[int, int], pixel: tuple[int, int], stride: int = 1
) -> None:
    """How many windows [R, S] read each pixel of an image [H, W], and which ones read `pixel`."""
    P, Q = ((n - k) // stride + 1 for n, k in zip(shape, kernel, strict=True))
    readers, reads_pixel = np.zeros(shape, dtype=int), np.zeros((P, Q), dtype=bool)
    for p, q in np.ndindex(P, Q):
        seen = np.zeros(shape, dtype=int)
        seen[_window(shape, p, q, kernel, stride)] = 1
        readers += seen
        reads_pixel[p, q] = seen[pixel]
    cells = np.array([[f"{p},{q}" for q in range(Q)] for p in range(P)])
    (h, v), count = pixel, readers[pixel]
    _grids(
        [
            ("windows that read each pixel of x", readers, np.s_[h : h + 1, v : v + 1], ORANGE),
            ("output cells p,q", cells, reads_pixel, SKY),
        ],
        f"pixel ({h}, {v}) entered {count} of the sums, so {count} gradients come back to it",
        f"A {shape[0]} by {shape[1]} image in which each pixel shows how many windows read it, "
        f"from {readers.min()} to {readers.max()}. Pixel ({h}, {v}) is read by {count} windows, "
        f"whose cells are shaded among the {P} by {Q} output cells.",
    )


def _window(shape: tuple, p: int, q: int, kernel: tuple, stride: int) -> tuple[slice, slice]:
    """The pixels of an input that output cell (p, q) reads, as an index."""
    (top, left), (R, S) = (p * stride, q * stride), kernel
    if min(p, q) < 0 or top + R > shape[0] or left + S > shape[1]:
        what = f"Output cell ({p}, {q}) with stride {stride} and a kernel of shape {(R, S)}"
        raise ValueError(f"{what} reads outside the input of shape {tuple(shape)}.")
    return np.s_[top : top + R, left : left + S]


def _grids(parts: list[Part], caption: str, alt: str) -> None:
    """Grids of numbers side by side, all cells of one size, with a caption below."""
    gap = 1.2
    width = sum(values.shape[1] for _, values, _, _ in parts) + gap * (len(parts) - 1)
    height = max(values.shape[0] for _, values, _, _ in parts)
    figure, axes = canvas(7.5, 7.5 * (height + 1.9) / (width + 0.4))
    left = 0.0
    for title, values, highlighted, colour in parts:
        _grid(axes, values, left, (height - values.shape[0]) / 2, title, highlighted, colour)
        left += values.shape[1] + gap
    axes.text(width / 2, height + 0.75, caption, ha="center", va="center")
    axes.set(xlim=(-0.2, width + 0.2), ylim=(height + 1.1, -0.8), aspect="equal")
    axes.axis("off")
    show(figure, alt)


def _grid(
    axes: Axes, values: np.ndarray, left: float, top: float, title: str, cells: tuple, colour: str
) -> None:
    from matplotlib.patches import Rectangle

    fills = np.full(values.shape, CARD, dtype=object)
    fills[cells] = colour
    for i, j in np.ndindex(values.shape):
        x, y, value = left + j, top + i, values[i, j]
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=fills[i, j], edgecolor=INK, linewidth=0.6))
        text = value if isinstance(value, str) else f"{value:g}"
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center")
    axes.text(left + values.shape[1] / 2, top - 0.4, title, ha="center", va="center", weight="bold")
