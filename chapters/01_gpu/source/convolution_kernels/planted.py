"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit import reference
from labkit.gpu import cuda
from labkit.gpu.kernels.places import place
from tests.exercises.edits import edit

zero = np.float32(0)

# --- gpu.conv2d_kernel: blocks of 128, a thread for each output


conv = partial(edit, "gpu.conv2d_kernel")
GUARD = "0 <= h < x.shape[2] and 0 <= v < x.shape[3]"
PLACE = "p * stride + r - padding, q * stride + s - padding"
SUM = "total += w[k, c, r, s] * x[n, c, h, v]"
conv_without_guard = conv("conv_without_guard", GUARD, "i < y.size")
conv_guards_the_end_only = conv(
    "conv_guards_the_end_only", GUARD, "h < x.shape[2] and v < x.shape[3]"
)
conv_flipped = conv(
    "conv_flipped", "w[k, c, r, s]", "w[k, c, w.shape[2] - 1 - r, w.shape[3] - 1 - s]"
)
conv_no_frame = conv("conv_no_frame", PLACE, "p * stride + r, q * stride + s")
conv_no_stride = conv("conv_no_stride", PLACE, "p + r - padding, q + s - padding")
conv_no_bias = conv("conv_no_bias", "total = b[k]", "total = b[k] - b[k]")
conv_as_the_stub = conv("conv_as_the_stub", SUM, "pass")
conv_taps_swapped = conv(
    "conv_taps_swapped", PLACE, "p * stride + s - padding, q * stride + r - padding"
)
conv_of_channel_0 = conv("conv_of_channel_0", "range(w.shape[1])", "range(1)")
conv_replaces = conv("conv_replaces", "total +=", "total =")
conv_bias_of_channel_0 = conv("conv_bias_of_channel_0", "b[k]", "b[0]")
conv_padding_added = conv(
    "conv_padding_added", PLACE, "p * stride + r + padding, q * stride + s + padding"
)
conv_takes_row_0_for_frame = conv(
    "conv_takes_row_0_for_frame", GUARD, "0 < h < x.shape[2] and 0 < v < x.shape[3]"
)
conv_stride_on_taps = conv(
    "conv_stride_on_taps", PLACE, "p + r * stride - padding, q + s * stride - padding"
)
conv_adds_atomically = conv(
    "conv_adds_atomically",
    SUM,
    "cuda.atomic.add(y, (n, k, p, q), w[k, c, r, s] * x[n, c, h, v])",
    ("total = b[k]", "y[n, k, p, q] = b[k]"),
    ("        y[n, k, p, q] = total", ""),
)
conv_into_y = conv(
    "conv_into_y",
    SUM,
    "y[n, k, p, q] += w[k, c, r, s] * x[n, c, h, v]",
    ("        total = b[k]\n", ""),
    ("y[n, k, p, q] = total", "y[n, k, p, q] += b[k]"),
)
ONE_BLOCK = (
    "    if cuda.blockIdx.x > 0:\n        return\n"
    "    for i in range(cuda.threadIdx.x, {}.size, 128):\n"
)
conv_clears_a_pixel = conv(
    "conv_clears_a_pixel",
    "    i = cuda.grid(1)\n    if i < y.size:\n",
    ONE_BLOCK.format("y"),
    (
        "y[n, k, p, q] = total",
        "y[n, k, p, q] = total\n    cuda.syncthreads()\n"
        "    if cuda.threadIdx.x == 0:\n        x[0, 0, 0, 0] = 0",
    ),
)


conv_in_float64 = conv("conv_in_float64", "total += w", "total += 1.0 * w")
conv_of_two_images = conv("conv_of_two_images", "x[n, c, h, v]", "x[n % 2, c, h, v]")
conv_stride_down = conv("conv_stride_down", "q * stride", "q")
conv_stride_right = conv("conv_stride_right", "p * stride", "p")
conv_frame_down = conv("conv_frame_down", "s - padding", "s")
conv_frame_right = conv("conv_frame_right", "r - padding", "r")
conv_clamped = conv(
    "conv_clamped",
    f"if {GUARD}:",
    "h, v = max(0, min(h, x.shape[2] - 1)), max(0, min(v, x.shape[3] - 1))\n"
    "                    if i < y.size:",
)


@cuda.jit
def taps_inside_alone(x, w, b, stride, padding, y):
    """The loops over the taps begin and end where they meet the image."""
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        top, left = p * stride - padding, q * stride - padding
        total = zero
        for r in range(max(0, -top), min(w.shape[2], x.shape[2] - top)):
            for s in range(max(0, -left), min(w.shape[3], x.shape[3] - left)):
                for c in range(x.shape[1]):
                    total += w[k, c, r, s] * x[n, c, top + r, left + s]
        y[n, k, p, q] = b[k] + total


@cuda.jit
def taps_before_channels(x, w, b, stride, padding, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= y.size:
        return
    _, K, P, Q = y.shape
    q = i % Q
    p = i // Q % P
    k = i // Q // P % K
    n = i // Q // P // K
    total = zero
    for r in range(w.shape[2]):
        h = p * stride - padding + r
        if h >= 0 and h < x.shape[2]:
            for s in range(w.shape[3]):
                v = q * stride - padding + s
                if v >= 0 and v < x.shape[3]:
                    for c in range(w.shape[1]):
                        total += x[n, c, h, v] * w[k, c, r, s]
    y[n, k, p, q] = total + b[k]


def conv_on_the_host(x, w, b, stride, padding, y):
    y[...] = reference.conv2d(x, w, b, stride, padding)


# --- gpu.implicit_gemm_gather: blocks of 32 x 8, a thread for each element


matrix = partial(edit, "gpu.implicit_gemm_gather")
ROW = "c, r, s = row // (R * S), row // S % R, row % S"
COLUMN = "n, p, q = col // (P * Q), col // Q % P, col % Q"
matrix_channel_last = matrix(
    "matrix_channel_last",
    ROW,
    "r, s, c = row // (S * x.shape[1]), row // x.shape[1] % S, row % x.shape[1]",
)
matrix_taps_swapped = matrix(
    "matrix_taps_swapped", ROW, "c, s, r = row // (R * S), row // R % S, row % R"
)
matrix_images_last = matrix(
    "matrix_images_last", COLUMN, "p, q, n = col // (Q * len(x)), col // len(x) % Q, col % len(x)"
)
matrix_places_swapped = matrix(
    "matrix_places_swapped", COLUMN, "n, q, p = col // (P * Q), col // P % Q, col % P"
)
matrix_of_turned_taps = matrix(
    "matrix_of_turned_taps", ROW, "c, r, s = row // (R * S), row // R % S, row % R"
)
matrix_of_turned_places = matrix(
    "matrix_of_turned_places", COLUMN, "n, p, q = col // (P * Q), col // P % Q, col % P"
)
matrix_r_goes_on = matrix("matrix_r_goes_on", "row // S % R", "row // S")
matrix_p_goes_on = matrix("matrix_p_goes_on", "col // Q % P", "col // Q")
matrix_of_9_taps = matrix("matrix_of_9_taps", ROW, "c, r, s = row // 9, row // 3 % 3, row % 3")
matrix_of_9_in_a_channel = matrix("matrix_of_9_in_a_channel", "row // (R * S)", "row // 9")
matrix_of_3_in_a_row = matrix(
    "matrix_of_3_in_a_row", "row // S % R, row % S", "row // 3 % 3, row % 3"
)
matrix_of_image_0 = matrix("matrix_of_image_0", "n, p, q = col // (P * Q)", "n, p, q = 0")
SEEN = "cols[row, col] = pixel(x, row, col, R, S, stride, padding)"
matrix_without_frame_cells = matrix(
    "matrix_without_frame_cells",
    SEEN,
    "seen_here = pixel(x, row, col, R, S, stride, padding)\n"
    "        if seen_here != 0:\n            cols[row, col] = seen_here",
)
matrix_clears_a_pixel = matrix(
    "matrix_clears_a_pixel",
    "    col, row = cuda.grid(2)\n    if row < cols.shape[0] and col < cols.shape[1]:\n        "
    + SEEN,
    "    if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:\n"
    "        for row in range(cuda.threadIdx.y, cols.shape[0], 8):\n"
    "            for col in range(cuda.threadIdx.x, cols.shape[1], 32):\n"
    "                " + SEEN + "\n"
    "        cuda.syncthreads()\n"
    "        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:\n"
    "            x[0, 0, 0, 0] = 0",
)


matrix_added = matrix("matrix_added", "cols[row, col] = pixel", "cols[row, col] += pixel")


@cuda.jit
def divided_step_by_step(x, R, S, stride, padding, cols):
    j, i = cuda.grid(2)
    if i >= cols.shape[0] or j >= cols.shape[1]:
        return
    P = (x.shape[2] - R + 2 * padding) // stride + 1
    Q = (x.shape[3] - S + 2 * padding) // stride + 1
    s, i_ = i % S, i // S
    r, c = i_ % R, i_ // R
    q, j_ = j % Q, j // Q
    p, n = j_ % P, j_ // P
    h, v = p * stride + r - padding, q * stride + s - padding
    cols[i, j] = zero
    if h >= 0 and h < x.shape[2] and v >= 0 and v < x.shape[3]:
        cols[i, j] = x[n, c, h, v]


def matrix_on_the_host(x, R, S, stride, padding, cols):
    cols[...] = 0


@cuda.jit
def conv_never_ends(x, w, b, stride, padding, y):
    while cuda.threadIdx.x == 3:
        pass


@cuda.jit
def matrix_never_ends(x, R, S, stride, padding, cols):
    while cuda.threadIdx.x == 0:
        pass


@cuda.jit
def conv_empty(x, w, b, stride, padding, y):
    pass


@cuda.jit
def matrix_empty(x, R, S, stride, padding, cols):
    pass


PLANTED = {
    "gpu.conv2d_kernel": [
        (conv_without_guard, "Out of bounds"),
        (conv_guards_the_end_only, "an index of -1 means the last one"),
        (conv_flipped, "turned by 180 degrees"),
        (conv_no_frame, "The frame is forgotten"),
        (conv_no_stride, "The stride is forgotten"),
        (conv_no_bias, "The bias is missing"),
        (conv_as_the_stub, "the bias and nothing else"),
        (conv_taps_swapped, "r and s are swapped"),
        (conv_of_channel_0, "Only input channel 0 counts"),
        (conv_replaces, "Only one product is left"),
        (conv_bias_of_channel_0, "has the bias of channel 0"),
        (conv_padding_added, "The padding has the wrong sign"),
        (conv_takes_row_0_for_frame, "Row 0 and column 0 of x count as frame"),
        (conv_stride_on_taps, "The stride multiplies the tap"),
        (conv_in_float64, "it computes in float64"),
        (conv_of_two_images, "180 of 540 elements are wrong"),
        (conv_stride_down, "The stride is used for the rows alone"),
        (conv_stride_right, "The stride is used for the columns alone"),
        (conv_frame_down, "The columns have no frame here"),
        (conv_frame_right, "The rows have no frame here"),
        (conv_clamped, "the nearest pixel of the image is taken"),
        (conv_adds_atomically, "additions are atomic"),
        (conv_into_y, "use = instead of +="),
        (conv_clears_a_pixel, "changes its input"),
        (conv_on_the_host, "This is no kernel"),
    ],
    "gpu.implicit_gemm_gather": [
        (matrix_channel_last, "in the order r, s, c"),
        (matrix_taps_swapped, "The taps r and s are swapped"),
        (matrix_images_last, "in the order p, q, n"),
        (matrix_places_swapped, "p and q are swapped"),
        (matrix_of_turned_taps, "R and S are swapped"),
        (matrix_of_turned_places, "P and Q are swapped"),
        (matrix_r_goes_on, "goes on counting through all channels"),
        (matrix_p_goes_on, "goes on counting through all images"),
        (matrix_of_9_taps, "The 9 and the 3 are those of the example"),
        (matrix_of_9_in_a_channel, "The 9 is that of the example"),
        (matrix_of_3_in_a_row, "The 3 is that of the example"),
        (matrix_of_image_0, "Every column is taken from image 0"),
        (matrix_added, "use = instead of +="),
        (matrix_without_frame_cells, "was never written"),
        (matrix_clears_a_pixel, "changes its input"),
        (matrix_on_the_host, "This is no kernel"),
    ],
}
ONES = np.ones((2, 3, 5, 6), np.float32)
NO_BIAS = np.zeros(4, np.float32)
ONE_TAP = np.ones((1, 1, 1, 1), np.float32)
DARK_EDGE = np.ones((1, 1, 4, 5), np.float32)  # row 0 and column 0 are 0
DARK_EDGE[:, :, 0] = DARK_EDGE[:, :, :, 0] = 0
RIGHT_ON = {
    conv_replaces: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    conv_takes_row_0_for_frame: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    conv_no_bias: (ONES, np.ones((4, 3, 3, 2), np.float32), NO_BIAS, 1, 1),
    conv_as_the_stub: (ONES, np.zeros((4, 3, 3, 2), np.float32), 1 + NO_BIAS, 1, 1),
}
ALSO_RIGHT = {
    "gpu.conv2d_kernel": [taps_before_channels, taps_inside_alone],
    "gpu.implicit_gemm_gather": [divided_step_by_step],
}
ENDLESS = {
    "gpu.conv2d_kernel": conv_never_ends,
    "gpu.implicit_gemm_gather": matrix_never_ends,
}
EMPTY = {
    "gpu.conv2d_kernel": conv_empty,
    "gpu.implicit_gemm_gather": matrix_empty,
}
