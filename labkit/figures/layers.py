"""Pictures of one convolution: which cells feed an output, a row of im2col, or a gradient."""

from __future__ import annotations

import numpy as np

from labkit.figures.grids import Grid, show_grids
from labkit.figures.style import ORANGE, PALE, SKY
from labkit.reference import conv2d

_IN_WORDS = {
    "y": "output ",
    "dx": "dx, pixel ",
    "dw": "dw, tap ",
    "p": "output ",
    "h": "pixel ",
    "w": "tap ",
}


def convolution(x: np.ndarray, w: np.ndarray, p: int, q: int, stride: int = 1) -> None:
    """One output cell (p, q) of a single-channel convolution: x [H, W], w [R, S], no padding.

    Raises ValueError when that cell's window reads outside the input.
    """
    H, W = x.shape
    R, S = w.shape
    window = _window(x.shape, p, q, w.shape, stride)
    rows, columns = window
    y = conv2d(x[None, None], w[None, None], stride=stride)[0, 0]  # [P, Q]
    P, Q = y.shape
    products = []
    for pixel, weight in zip(x[window].flat, w.flat, strict=True):
        products.append(_product(pixel, weight))
    show_grids(
        f"y[{p}, {q}] = {' + '.join(products)} = {y[p, q]:g}",
        f"A {H} by {W} input, a {R} by {S} kernel and the {P} by {Q} output. "
        f"Output cell ({p}, {q}) = {y[p, q]:g} is the sum over the shaded input window, "
        f"rows {rows.start} to {rows.stop - 1} and columns {columns.start} to {columns.stop - 1}, "
        "times the kernel.",
        Grid(f"x {[H, W]}", x, window, SKY),
        Grid(f"w {[R, S]}", w, np.s_[:, :], PALE),
        Grid(f"y {[P, Q]}", y, _cell(p, q), ORANGE),
    )


def im2col(x: np.ndarray, kernel: tuple[int, int], p: int, q: int) -> None:
    """The window of output cell (p, q) in x [H, W], and the same as one row of cols [P Q, R S].

    Stride 1, no padding. Raises ValueError when that window reads outside the input.
    """
    H, W = x.shape
    R, S = kernel
    P, Q = _outputs(x.shape, kernel, stride=1)
    cols = []
    for i, j in np.ndindex(P, Q):
        pixels = x[_window(x.shape, i, j, kernel, stride=1)]  # [R, S]
        cols.append(pixels.reshape(-1))
    window = _window(x.shape, p, q, kernel, stride=1)
    row = p * Q + q
    show_grids(
        f"window ({p}, {q}) of x is row {row} of cols: one row per output cell, one column per tap",
        f"The {R} by {S} window of output cell ({p}, {q}), shaded in the input, is row {row} of "
        f"the im2col matrix of {P * Q} rows and {R * S} columns.",
        Grid(f"x {[H, W]}", x, window, SKY),
        Grid(f"cols {[P * Q, R * S]}", np.array(cols), np.s_[row : row + 1, :], SKY),
    )


def overlap(
    shape: tuple[int, int], kernel: tuple[int, int], pixel: tuple[int, int], stride: int = 1
) -> None:
    """How many windows [R, S] read each pixel of an image [H, W], and which ones read `pixel`."""
    H, W = shape
    P, Q = _outputs(shape, kernel, stride)
    readers = np.zeros((H, W), dtype=int)
    reads_pixel = np.zeros((P, Q), dtype=bool)
    for p, q in np.ndindex(P, Q):
        read = np.zeros((H, W), dtype=int)
        read[_window(shape, p, q, kernel, stride)] = 1
        readers += read
        reads_pixel[p, q] = read[pixel]
    h, v = pixel
    count = readers[pixel]
    show_grids(
        f"pixel ({h}, {v}) entered {count} of the sums, so {count} gradients come back to it",
        f"A {H} by {W} image in which each pixel shows how many windows read it, "
        f"from {readers.min()} to {readers.max()}. Pixel ({h}, {v}) is read by {count} windows, "
        f"whose cells are shaded among the {P} by {Q} output cells.",
        Grid("windows that read each pixel of x", readers, _cell(h, v), ORANGE),
        Grid("output cells p,q", _places(P, Q), reads_pixel, SKY),
    )


def three_sums(
    pixels: int = 6, taps: int = 3, stride: int = 1, padding: int = 1, in_words: bool = False
) -> None:
    """A convolution of one row: each product w[r] x[h] in row p, column h, where it belongs.

    The same grid three times: y[2] adds along its row, dx[2] down its column, dw[0] along the
    diagonal. There are at least three pixels and three outputs. `in_words` writes "output 2",
    "pixel 2" and "tap 0" for p2, h2 and w0, which needs room: at most four pixels.
    """
    output = pixel = 2
    tap = 0
    P = (pixels + 2 * padding - taps) // stride + 1
    p, h = np.indices((P, pixels))
    r = h + padding - p * stride  # the tap through which output p sees pixel h
    is_product = (r >= 0) & (r < taps)
    of = _IN_WORDS if in_words else {letter: letter for letter in _IN_WORDS}
    weight = np.char.add(of["w"], r.astype(str))
    names = np.where(is_product, weight, "")
    in_y = is_product & (p == output)
    in_dx = is_product & (h == pixel)
    in_dw = r == tap
    of_y = np.count_nonzero(in_y)
    of_dx = np.count_nonzero(in_dx)
    of_dw = np.count_nonzero(in_dw)
    show_grids(
        "one row for each output, one column for each pixel; in the cell: the tap between them",
        f"The products of a convolution of {pixels} pixels with {taps} taps, stride {stride} and "
        f"padding {padding}, in a grid of {P} outputs by {pixels} pixels. Output {output} adds up "
        f"{of_y} of them along its row, pixel {pixel} {of_dx} down its column, tap "
        f"{tap} {of_dw} along a diagonal.",
        Grid(f"{of['y']}{output}: along a row", names, in_y, ORANGE),
        Grid(f"{of['dx']}{pixel}: down a column", names, in_dx, SKY),
        Grid(f"{of['dw']}{tap}: along a diagonal", names, in_dw, PALE),
        names=(of["p"], of["h"]),
    )


def pixels_of_tap(
    shape: tuple[int, int],
    kernel: tuple[int, int],
    tap: tuple[int, int],
    stride: int = 1,
    padding: int = 0,
) -> None:
    """The pixels of an image [H, W] that one tap of a kernel [R, S] reads, each with its output.

    Raises ValueError for a tap that the kernel does not have.
    """
    H, W = shape
    R, S = kernel
    r, s = tap
    if not (0 <= r < R and 0 <= s < S):
        raise ValueError(f"A kernel of shape {kernel} has no tap {tap}.")
    framed = (H + 2 * padding, W + 2 * padding)
    P, Q = _outputs(framed, kernel, stride)
    pixels = np.full(shape, "", dtype=object)
    image = np.pad(pixels, padding, constant_values="0")
    rows = slice(r, r + P * stride, stride)
    columns = slice(s, s + Q * stride, stride)
    seen = (rows, columns)
    is_pixel = image[seen] == ""
    image[seen] = np.where(is_pixel, _places(P, Q), "0")
    pixels_seen = np.count_nonzero(is_pixel)
    products = f"{P * Q} products"
    if pixels_seen < P * Q:
        products += f", {P * Q - pixels_seen} of them 0"
    colours = np.where(is_pixel, SKY, PALE)
    show_grids(
        f"dw[{r}, {s}] = sum of dy[p, q] times the pixel that holds p,q: {products}",
        f"A {H} by {W} image in a frame of {padding}. Tap ({r}, {s}) of a {R} by {S} kernel, with "
        f"stride {stride}, reads the {P} by {Q} shaded cells, one for each output; "
        f"{pixels_seen} of them are pixels, the others, paler, lie in the frame.",
        Grid(f"dw {[R, S]}", _places(R, S), _cell(r, s), PALE),
        Grid(f"x {[H, W]} in its frame", image, seen, colours),
    )


def _outputs(shape: tuple[int, int], kernel: tuple[int, int], stride: int) -> tuple[int, int]:
    """P and Q: how many windows [R, S] fit down and across an image [H, W]."""
    H, W = shape
    R, S = kernel
    P = (H - R) // stride + 1
    Q = (W - S) // stride + 1
    return P, Q


def _window(shape: tuple, p: int, q: int, kernel: tuple, stride: int) -> tuple[slice, slice]:
    """The pixels of an input that output cell (p, q) reads, as an index."""
    H, W = shape
    R, S = kernel
    top = p * stride
    left = q * stride
    bottom = top + R
    right = left + S
    if p < 0 or q < 0 or bottom > H or right > W:
        what = f"Output cell ({p}, {q}) with stride {stride} and a kernel of shape {(R, S)}"
        raise ValueError(f"{what} reads outside the input of shape {(H, W)}.")
    rows = slice(top, bottom)
    columns = slice(left, right)
    return rows, columns


def _cell(i: int, j: int) -> tuple[slice, slice]:
    """One cell of a grid, as an index."""
    return slice(i, i + 1), slice(j, j + 1)


def _places(rows: int, columns: int) -> np.ndarray:
    """A grid whose cells hold their own place: "0,0", "0,1", ..."""
    names = [f"{i},{j}" for i, j in np.ndindex(rows, columns)]
    return np.reshape(names, (rows, columns))


def _product(pixel: float, weight: float) -> str:
    """A product as it is written in a sum, '3·2' or '3·(-2)'."""
    if weight < 0:
        return f"{pixel:g}·({weight:g})"
    return f"{pixel:g}·{weight:g}"
