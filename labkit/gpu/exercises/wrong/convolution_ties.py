"""Rules, right and wrong, for which output, tap and pixel of a convolution meet; sums over them.

Output p sees pixel h through tap r if p stride + r - padding = h: a tie. All sums run over the same
ties, so a wrong idea about them is another rule for what is tied. `geometry` is stride and padding.
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


def padding_added(p, r, h, stride, padding):
    """The padding has the wrong sign."""
    return tied(p, r, h, stride, -padding)


def forgot_stride(p, r, h, stride, padding):
    """Every window is one pixel further."""
    return tied(p, r, h, 1, padding)


def stride_on_the_tap(p, r, h, stride, padding):
    """The stride multiplies the tap, not the output."""
    seen = p + r * stride - padding
    return seen == h


def first_pixel_lost(p, r, h, stride, padding):
    """Pixel 0 counts as frame."""
    not_lost = h > 0
    return tied(p, r, h, stride, padding) & not_lost


def wrapped(p, r, h, stride, padding):
    """An index below 0 counts from the end, as NumPy reads it."""
    index = p * stride + r - padding
    from_the_end = index + h.size
    seen = np.where(index < 0, from_the_end, index)
    return seen == h


# The same, solved for p: h + padding - r = p stride


def rest_ignored(p, r, h, stride, padding):
    """The division hides a remainder."""
    distance = h + padding - r
    return p == distance // stride


def not_divided(p, r, h, stride, padding):
    """The stride is forgotten."""
    distance = h + padding - r
    return p == distance


def checked_but_not_divided(p, r, h, stride, padding):
    """The remainder is looked at, but the quotient is not taken."""
    distance = h + padding - r
    whole = distance % stride == 0
    return whole & not_divided(p, r, h, stride, padding)


def forward_rule(p, r, h, stride, padding):
    """The pixel in the place of the output."""
    return tied(h, r, p, stride, padding)


def first_output_lost(p, r, h, stride, padding):
    """Output 0 counts as outside."""
    not_lost = p > 0
    return tied(p, r, h, stride, padding) & not_lost


def output_wrapped(p, r, h, stride, padding):
    """An output below 0 counts from the end."""
    distance = h + padding - r
    whole = distance % stride == 0
    index = distance // stride
    from_the_end = index + p.size
    found = np.where(index < 0, from_the_end, index)
    return whole & (found == p)


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
