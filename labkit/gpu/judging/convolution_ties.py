"""Which output, tap and pixel of a convolution meet, and sums over them.

Output p sees pixel h through tap r if p stride + r - padding = h: a tie. All sums run over the same
ties, so a wrong idea about them is another rule for what is tied. `geometry` is stride and padding.
(Lessons convolution_kernels and convolution_kernels_backwards.)
"""

from collections.abc import Callable

import numpy as np

# Rules: which outputs p [P,1,1], taps r [1,R,1] and pixels h [1,1,H] are tied


def tied(p, r, h, stride, padding):
    """The right rule."""
    seen = p * stride + r - padding
    return seen == h


def forgot_padding(p, r, h, stride, padding):
    """The frame is not counted."""
    return tied(p, r, h, stride, 0)


# Sums over the ties


def ties(rule: Callable, P: int, R: int, H: int, geometry: tuple) -> np.ndarray:
    """[P, R, H]: 1 where output, tap and pixel are tied, else 0."""
    p, r, h = np.ogrid[:P, :R, :H]
    found = rule(p, r, h, *geometry)
    return np.where(found, 1.0, 0.0)


def add_up(
    sum_: str,
    rules: tuple[Callable, Callable],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    pixels: tuple[int, int],
    geometry: tuple[int, int],
    *factors: np.ndarray,
) -> np.ndarray:
    """An einsum over the factors and the ties along rows, [P,R,H], and along columns, [Q,S,W].

    rules                  one for the rows, one for the columns
    outputs, taps, pixels  how many there are along the rows, and along the columns
    """
    of_rows, of_columns = rules
    P, Q = outputs
    R, S = taps
    H, W = pixels
    rows = ties(of_rows, P, R, H, geometry)
    columns = ties(of_columns, Q, S, W, geometry)
    total = np.einsum(sum_, *factors, rows, columns, optimize=True)
    return total.astype(np.float32)
