"""Exercise tpu.implicit_rows: rows of the matrix of windows that is never written.

x[N,C,H,W], m[i], R, S, stride, padding -> rows[i, C R S]
"""

import math

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, WINDOWS, by_own_name, cases_of, exercise
from labkit.convolutions import SAME_SHAPES, SQUARE_IMAGE, TELLING_SIZES, im2col
from labkit_lessons.tpu.what_a_grid_costs.wrong import implicit_rows as wrong_address

LARGE_IMAGE = (1, 4, 100, 80)  # its matrix is nine times as large
IMAGES = {  # shapes of x [N,C,H,W], w [K,C,R,S] and y [N,K,P,Q], stride, padding
    **TELLING_SIZES,
    **SQUARE_IMAGE,
    "like the network": ((3, 4, 6, 6), (3, 4, 3, 3), (3, 3, 6, 6), 1, 1),
    "prime sizes, stride and padding": ((2, 5, 13, 9), (3, 5, 3, 3), (2, 3, 7, 5), 2, 1),
    "a few rows of a large matrix": (LARGE_IMAGE, (4, 4, 3, 3), LARGE_IMAGE, 1, 1),
    **SAME_SHAPES,
}


FIRST_STRIDE = {}  # x.shape, R, S -> stride of the first case that has these shapes
for x, w, _, stride, _ in IMAGES.values():
    FIRST_STRIDE.setdefault((x, *w[2:]), stride)


def some_rows(rng: np.random.Generator, x: tuple, w: tuple, y: tuple, *how: int) -> tuple:
    """An image, and the numbers of a few rows of the matrix of its windows, in disorder."""
    N, _, P, Q = y
    some = 4 + x[1]  # more of them for more channels
    R, S = w[2:]
    all_rows = rng.permutation(N * P * Q)
    m = all_rows[:some]
    size = math.prod(x)
    from_0_to_4 = 4 * rng.permutation(size) / size  # no two pixels alike
    pixels = from_0_to_4 - 2
    image = pixels.astype(np.float32).reshape(x)
    return image, m, R, S, *how


def rows_of_the_matrix(x, m, R, S, stride=1, padding=0):
    """The matrix is written, and its rows are taken from it."""
    matrix = im2col(x, R, S, stride, padding)
    return matrix[m]


def enough_memory(x, m, *how) -> int:
    """Bytes for the image in its frame and the rows asked for, but not for the whole matrix."""
    return 4 * x.nbytes + 200_000


implicit_rows = exercise(
    "tpu.implicit_rows",
    oracle=rows_of_the_matrix,
    cases=cases_of(IMAGES, some_rows),
    memory=enough_memory,
    wrong={
        "channels_last": wrong_address.with_tap(wrong_address.channels_last),
        "taps_backwards": wrong_address.with_tap(wrong_address.taps_backwards),
        **by_own_name(
            wrong_address.no_column,
            wrong_address.columns_first,
            wrong_address.sizes_swapped,
            wrong_address.rows_for_columns,
            made=wrong_address.with_window,
        ),
        "consecutive": wrong_address.consecutive,
        "images_fastest": wrong_address.with_window(wrong_address.images_fastest),
        "p_runs_on": wrong_address.with_window(wrong_address.p_runs_on),
        "pixels_for_windows": wrong_address.pixels_for_windows,
        "unpadded": wrong_address.unpadded,
        "centred": wrong_address.with_line(wrong_address.centred),
        "kernel_as_stride": wrong_address.with_line(wrong_address.kernel_as_stride),
        "all_rows": wrong_address.all_rows,
        "first_rows": wrong_address.first_rows,
        "in_rising_order": wrong_address.in_rising_order,
        "taps_swapped": wrong_address.with_tap(wrong_address.taps_swapped),
        "positions_swapped": wrong_address.with_window(wrong_address.positions_swapped),
        "stride_one": wrong_address.with_line(wrong_address.stride_one),
        "first_stride": wrong_address.with_stride_of(FIRST_STRIDE),
        "stride_on_taps": wrong_address.with_line(wrong_address.stride_on_taps),
        "stride_on_both": wrong_address.with_line(wrong_address.stride_on_both),
        "padding_subtracted": wrong_address.with_line(wrong_address.padding_subtracted),
    },
    outputs=("rows",),
    forbidden=(*LIBRARIES, WINDOWS, "labkit.tpu"),
    rtol=1e-6,  # it may be computed in float32 as well
    atol=1e-6,
)
