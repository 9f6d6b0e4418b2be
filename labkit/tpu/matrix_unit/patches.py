"""The matrix of im2col, read from the image when it is asked for: an implicit convolution.

Dense: addresses are slices and shapes, and a line names all of their letters.
"""

import numpy as np

from labkit.convolutions import framed
from labkit.shapes import fit_windows


class Patches:
    """im2col's matrix [N·P·Q,C·R·S], never made: element (m,k) is x.flat[base[m] + offset[k]].

    x[N,C,H,W] has its zero border; base[npq] is the address of a window's first element and
    offset[crs] the distance of an element of the window from there. `output` is (P, Q). Raises
    ValueError where no window fits.
    """

    def __init__(self, x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> None:
        R, S = w.shape[2:]
        P, Q = fit_windows("conv2d", x, (R, S), stride, padding)
        self.output = (P, Q)
        image = framed(x, padding)
        address = np.arange(image.size).reshape(image.shape)
        down = slice(0, P * stride, stride)
        across = slice(0, Q * stride, stride)
        corners = address[:, 0, down, across]  # [N,P,Q]
        window = address[0, :, :R, :S]  # [C,R,S]
        self.flat = image.ravel()
        self.base = corners.reshape(-1, 1)
        self.offset = window.ravel()
        self.shape = (corners.size, window.size)

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        rows, columns = at
        return self.flat[self.base[rows] + self.offset[columns]]
