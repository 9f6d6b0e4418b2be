"""Pictures of one convolution: which cells feed an output, a row of im2col, or a gradient."""

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
        f"y[{p}, {q}] = {products} = {y[p, q]:g}",
        f"A {x.shape[0]} by {x.shape[1]} input, a {w.shape[0]} by {w.shape[1]} kernel and the "
        f"{y.shape[0]} by {y.shape[1]} output. Output cell ({p}, {q}) = {y[p, q]:g} is the sum "
        f"over the shaded input window, rows {rows.start} to {rows.stop - 1} and columns "
        f"{columns.start} to {columns.stop - 1}, times the kernel.",
        (f"x {list(x.shape)}", x, window, SKY),
        (f"w {list(w.shape)}", w, np.s_[:, :], PALE),
        (f"y {list(y.shape)}", y, np.s_[p : p + 1, q : q + 1], ORANGE),
    )


def im2col(x: np.ndarray, kernel: tuple[int, int], p: int, q: int) -> None:
    """The window of output cell (p, q) in x [H, W], and the same as one row of cols [P Q, R S]."""
    (R, S), P, Q = kernel, x.shape[0] - kernel[0] + 1, x.shape[1] - kernel[1] + 1
    cols = [x[_window(x.shape, i, j, kernel, stride=1)].reshape(-1) for i, j in np.ndindex(P, Q)]
    window, row = _window(x.shape, p, q, kernel, stride=1), p * Q + q
    _grids(
        f"window ({p}, {q}) of x is row {row} of cols: one row per output cell, one column per tap",
        f"The {R} by {S} window of output cell ({p}, {q}), shaded in the input, is row {row} of "
        f"the im2col matrix of {P * Q} rows and {R * S} columns.",
        (f"x {list(x.shape)}", x, window, SKY),
        (f"cols {[P * Q, R * S]}", np.array(cols), np.s_[row : row + 1, :], SKY),
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
        f"pixel ({h}, {v}) entered {count} of the sums, so {count} gradients come back to it",
        f"A {shape[0]} by {shape[1]} image in which each pixel shows how many windows read it, "
        f"from {readers.min()} to {readers.max()}. Pixel ({h}, {v}) is read by {count} windows, "
        f"whose cells are shaded among the {P} by {Q} output cells.",
        ("windows that read each pixel of x", readers, np.s_[h : h + 1, v : v + 1], ORANGE),
        ("output cells p,q", cells, reads_pixel, SKY),
    )


def three_sums(pixels: int = 6, taps: int = 3, stride: int = 1, padding: int = 1) -> None:
    """A convolution of one row: each product w[r] x[h] in row p, column h, where it belongs.

    The same grid three times: y[2] adds along its row, dx[2] down its column, dw[0] along the
    diagonal. There are at least three pixels and three outputs.
    """
    P, at, tap = (pixels + 2 * padding - taps) // stride + 1, 2, 0
    p, h = np.indices((P, pixels))
    r = h + padding - p * stride  # the tap through which output p sees pixel h
    names = np.where((r >= 0) & (r < taps), np.char.add("w", r.astype(str)), "")
    in_y, in_dx, in_dw = (names != "") & (p == at), (names != "") & (h == at), r == tap
    _grids(
        "one row for each output, one column for each pixel; in the cell: the tap between them",
        f"The products of a convolution of {pixels} pixels with {taps} taps, stride {stride} and "
        f"padding {padding}, in a grid of {P} outputs by {pixels} pixels. Output {at} adds up "
        f"{in_y.sum()} of them along its row, pixel {at} {in_dx.sum()} down its column, tap {tap} "
        f"{in_dw.sum()} along a diagonal.",
        (f"y{at}: along a row", names, in_y, ORANGE),
        (f"dx{at}: down a column", names, in_dx, SKY),
        (f"dw{tap}: along a diagonal", names, in_dw, PALE),
        letters="ph",
    )


def pixels_of_tap(
    shape: tuple[int, int],
    kernel: tuple[int, int],
    tap: tuple[int, int],
    stride: int = 1,
    padding: int = 0,
) -> None:
    """The pixels of an image [H, W] that one tap of a kernel [R, S] reads, each with its output."""
    (H, W), (r, s) = shape, tap
    P, Q = ((n + 2 * padding - k) // stride + 1 for n, k in zip(shape, kernel, strict=True))
    if not (0 <= r < kernel[0] and 0 <= s < kernel[1]):
        raise ValueError(f"A kernel of shape {kernel} has no tap {tap}.")
    framed = np.full((H + 2 * padding, W + 2 * padding), "0", dtype=object)
    framed[padding : padding + H, padding : padding + W] = ""
    read = np.s_[r : r + P * stride : stride, s : s + Q * stride : stride]
    inside, outputs = framed[read] == "", [[f"{p},{q}" for q in range(Q)] for p in range(P)]
    framed[read] = np.where(inside, outputs, "0")
    taps = np.array([[f"{i},{j}" for j in range(kernel[1])] for i in range(kernel[0])])
    _grids(
        f"dw[{r}, {s}] = sum of dy[p, q] times the pixel that holds p,q: {inside.sum()} products",
        f"A {H} by {W} image in a frame of {padding}. Tap ({r}, {s}) of a {kernel[0]} by "
        f"{kernel[1]} kernel, with stride {stride}, reads the {P} by {Q} shaded cells, one for "
        f"each output; {inside.sum()} of them are pixels, the others, paler, lie in the frame.",
        (f"dw {list(kernel)}", taps, np.s_[r : r + 1, s : s + 1], PALE),
        (f"x {list(shape)} in its frame", framed, read, np.where(inside, SKY, PALE)),
    )


def _window(shape: tuple, p: int, q: int, kernel: tuple, stride: int) -> tuple[slice, slice]:
    """The pixels of an input that output cell (p, q) reads, as an index."""
    (top, left), (R, S) = (p * stride, q * stride), kernel
    if min(p, q) < 0 or top + R > shape[0] or left + S > shape[1]:
        what = f"Output cell ({p}, {q}) with stride {stride} and a kernel of shape {(R, S)}"
        raise ValueError(f"{what} reads outside the input of shape {tuple(shape)}.")
    return np.s_[top : top + R, left : left + S]


def _grids(caption: str, alt: str, *parts: Part, letters: str = "") -> None:
    """Grids of numbers side by side, all cells of one size, with a caption below.

    With two letters, for rows and columns, each row and column has its number beside it.
    """
    gap, edge = 1.2, 0.6 if letters else 0.2
    width = sum(values.shape[1] for _, values, _, _ in parts) + gap * (len(parts) - 1)
    height = max(values.shape[0] for _, values, _, _ in parts)
    figure, axes = canvas(7.5, 7.5 * (height + edge + 1.7) / (width + edge + 0.2))
    left = 0.0
    for title, values, highlighted, colour in parts:
        _grid(axes, values, left, (height - values.shape[0]) / 2, title, highlighted, colour)
        for axis, letter in enumerate(letters):
            for i in range(values.shape[axis]):
                at = (left + i + 0.5, height + 0.3) if axis else (left - 0.3, i + 0.5)
                axes.text(*at, f"{letter}{i}", ha="center", va="center", size="small")
        left += values.shape[1] + gap
    axes.text(width / 2, height + edge + 0.55, caption, ha="center", va="center")
    axes.set(xlim=(-edge, width + 0.2), ylim=(height + edge + 0.9, -0.8), aspect="equal")
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
