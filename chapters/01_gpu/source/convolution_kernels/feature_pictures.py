"""Pictures of this lesson: one element of the matrix that nobody builds, and what a layer sees."""

import numpy as np

from labkit import figures
from labkit.convolutions import im2col
from labkit.figures.grids import Grid, show_grids
from labkit.figures.style import ORANGE, PALE, SKY

SIZE = (3, 4)  # of the image
KERNEL = (2, 2)


def one_element(row: int, column: int) -> None:
    """An image [3, 4] beside its matrix cols [R S, P Q] for 2 x 2 taps: the column is a window.

    The element in this row and column, and its pixel, are orange, the rest of the window is blue.
    (Lesson convolution_kernels.)
    """
    H, W = SIZE
    R, S = KERNEL
    Q = W - S + 1
    x = np.arange(10, 10 + H * W).reshape(H, W)
    cols = im2col(x[None, None], R, S).T  # [R S, P Q]
    r, s = divmod(row, S)
    p, q = divmod(column, Q)
    in_window = np.zeros(x.shape, bool)
    in_window[p : p + R, q : q + S] = True
    pixels = np.where(in_window, SKY, PALE).astype(object)
    pixels[p + r, q + s] = ORANGE
    elements = np.full(cols.shape, PALE, dtype=object)
    elements[:, column] = SKY
    elements[row, column] = ORANGE
    everywhere = np.s_[:, :]
    where = f"row {row} is tap ({r}, {s}), column {column} is output ({p}, {q})"
    show_grids(
        f"{where}: pixel ({p + r}, {q + s}), {x[p + r, q + s]}",
        f"A {H} by {W} image and its matrix of {R * S} taps by {cols.shape[1]} outputs. "
        f"In the matrix, {where}, so the element is pixel ({p + r}, {q + s}) of the image.",
        Grid(f"x [{H}, {W}]", x, everywhere, pixels),
        Grid(f"cols [{R * S}, {cols.shape[1]}]", cols, everywhere, elements),
    )


def feature_maps(photos: np.ndarray, y: np.ndarray, channels: list[int]) -> None:
    """A photograph uint8 [3,H,W], and what some channels of a layer y[K,P,Q] make of it: white
    where an output is high, black at 0 and below.
    (Lesson convolution_kernels.)
    """
    maps = np.maximum(y[channels], 0)
    brightest = maps.max(axis=(1, 2), keepdims=True)
    grey = (255 * maps / np.maximum(brightest, 1e-9)).astype(np.uint8)  # [channels, P, Q]
    as_photos = np.repeat(grey[:, None], 3, axis=1)
    images = np.concatenate([photos[None], as_photos])
    captions = ["photograph"] + [f"channel {k}" for k in channels]
    alt = (
        f"A photograph, and {len(channels)} of a layer's channels, white where the output is high."
    )
    figures.image_grid(images, captions, len(images) * [False], alt)
