"""Wrong ideas of gpu.scale_rows: b[row, col] = a[row, col] * scale[row] + shift[row]."""

import numpy as np

from labkit.gpu.judging.kernel_exercise import blocks
from labkit_lessons.gpu.a_first_kernel.wrong.shared import BLOCK


def scale_corner(a, scale, shift, rows, cols):
    """Only the elements above and left of (rows, cols) are written."""
    every_element = a * scale[:, None] + shift[:, None]
    b = np.zeros_like(a)
    b[:rows, :cols] = every_element[:rows, :cols]
    return b


def scale_swapped(a, scale, shift):
    """Rows run along x, of which the grid has as many threads as it needs columns."""
    R, C = a.shape
    width, height = BLOCK
    threads_along_x = width * blocks(C, width)
    threads_along_y = height * blocks(R, height)
    return scale_corner(a, scale, shift, rows=threads_along_x, cols=threads_along_y)


def scaled_by_column(a, scale, shift):
    """Scale and shift are looked up by the column; raises where there are more columns."""
    columns = a.shape[1]
    scale_of_columns = scale[:columns]
    shift_of_columns = shift[:columns]
    turned = a.T * scale_of_columns[:, None] + shift_of_columns[:, None]
    return turned.T
