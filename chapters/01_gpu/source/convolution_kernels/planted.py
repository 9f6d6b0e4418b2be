"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit import reference
from labkit.gpu import cuda
from labkit.gpu.kernels.reductions import block_sum
from tests.exercises.edits import edit

zero = np.float32(0)


@cuda.jit(device=True)
def place(i, a):
    B, C, D = a.shape[1], a.shape[2], a.shape[3]
    return i // (B * C * D), i // (C * D) % B, i // D % C, i % D


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
conv_no_bias = conv("conv_no_bias", "total = b[k]", "total = zero")
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
        "    if cuda.threadIdx.x == 0:\n        x[0, 0, 0, 0] = zero",
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


# --- gpu.conv2d_dx_kernel: blocks of 128, a thread for each pixel


dx_by = partial(edit, "gpu.conv2d_dx_kernel")
WHOLE = "if down % stride == 0 and right % stride == 0"
OUTPUT = "p, q = down // stride, right // stride"
INSIDE = "0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]"
dx_any_rest = dx_by("dx_any_rest", WHOLE, "if i < dx.size")
dx_undivided = dx_by("dx_undivided", WHOLE, "if i < dx.size", (OUTPUT, "p, q = down, right"))
dx_no_frame = dx_by("dx_no_frame", "h + padding - r, v + padding - s", "h - r, v - s")
dx_flipped_twice = dx_by(
    "dx_flipped_twice", "w[k, c, r, s]", "w[k, c, w.shape[2] - 1 - r, w.shape[3] - 1 - s]"
)
dx_as_forward = dx_by(
    "dx_as_forward",
    WHOLE,
    "if i < dx.size",
    (OUTPUT, "p, q = h * stride + r - padding, v * stride + s - padding"),
)
dx_without_guard = dx_by("dx_without_guard", INSIDE, "i < dx.size")
dx_rest_of_rows_only = dx_by("dx_rest_of_rows_only", WHOLE, "if down % stride == 0")
dx_checks_but_does_not_divide = dx_by("dx_checks_but_does_not_divide", OUTPUT, "p, q = down, right")
dx_guards_the_end_only = dx_by(
    "dx_guards_the_end_only", INSIDE, "p < dy.shape[2] and q < dy.shape[3]"
)
dx_without_output_0 = dx_by(
    "dx_without_output_0", INSIDE, "0 < p < dy.shape[2] and 0 < q < dy.shape[3]"
)
dx_replaces = dx_by("dx_replaces", "total +=", "total =")
dx_adds_atomically = dx_by(
    "dx_adds_atomically",
    "total += dy[n, k, p, q] * w[k, c, r, s]",
    "cuda.atomic.add(dx, (n, c, h, v), dy[n, k, p, q] * w[k, c, r, s])",
    (
        "(n, c, h, v), total = place(i, dx), zero",
        "n, c, h, v = place(i, dx)\n        dx[n, c, h, v] = zero",
    ),
    ("        dx[n, c, h, v] = total", ""),
)
dx_clears_a_weight = dx_by(
    "dx_clears_a_weight",
    "    i = cuda.grid(1)\n    if i < dx.size:\n",
    ONE_BLOCK.format("dx"),
    (
        "dx[n, c, h, v] = total",
        "dx[n, c, h, v] = total\n    cuda.syncthreads()\n"
        "    if cuda.threadIdx.x == 0:\n        w[0, 0, 0, 0] = zero",
    ),
)


dx_in_float64 = dx_by("dx_in_float64", "total += dy", "total += 1.0 * dy")
dx_of_three_channels = dx_by(
    "dx_of_three_channels", "range(w.shape[0])", "range(min(w.shape[0], 3))"
)
dx_frame_down = dx_by("dx_frame_down", "v + padding - s", "v - s")
dx_frame_right = dx_by("dx_frame_right", "h + padding - r", "h - r")


@cuda.jit
def multiplied_back(dy, w, stride, padding, dx):
    """A quotient is right if it leads back."""
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for r in range(w.shape[2]):
            p = (h + padding - r) // stride
            if p * stride == h + padding - r and p >= 0 and p < dy.shape[2]:
                for s in range(w.shape[3]):
                    q = (v + padding - s) // stride
                    if q * stride == v + padding - s and q >= 0 and q < dy.shape[3]:
                        for k in range(dy.shape[1]):
                            total += w[k, c, r, s] * dy[n, k, p, q]
        dx[n, c, h, v] = total


@cuda.jit
def outputs_before_channels(dy, w, stride, padding, dx):
    """Over the outputs, not over the taps."""
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for p in range(dy.shape[2]):
            r = h + padding - p * stride
            if 0 <= r < w.shape[2]:
                for q in range(dy.shape[3]):
                    s = v + padding - q * stride
                    if 0 <= s < w.shape[3]:
                        for k in range(dy.shape[1]):
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_scattered(dy, w, stride, padding, dx):
    for i in range(cuda.grid(1), dy.size, cuda.gridsize(1)):
        n, k, p, q = place(i, dy)
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < dx.shape[2] and 0 <= v < dx.shape[3]:
                        cuda.atomic.add(dx, (n, c, h, v), dy[n, k, p, q] * w[k, c, r, s])


@cuda.jit
def dx_scattered_without_atomics(dy, w, stride, padding, dx):
    for i in range(cuda.grid(1), dx.size, cuda.gridsize(1)):
        n, c, h, v = place(i, dx)
        dx[n, c, h, v] = zero
    for i in range(cuda.grid(1), dy.size, cuda.gridsize(1)):
        n, k, p, q = place(i, dy)
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < dx.shape[2] and 0 <= v < dx.shape[3]:
                        dx[n, c, h, v] += dy[n, k, p, q] * w[k, c, r, s]


def dx_on_the_host(dy, w, stride, padding, dx):
    dx[...] = reference.conv2d_backward(dy, np.zeros(dx.shape), w, stride, padding)[0]


# --- gpu.conv2d_dw_kernel: a block of 128 for each weight


dw_by = partial(edit, "gpu.conv2d_dw_kernel")
ROUNDS = "for j in range(cuda.threadIdx.x, N * P * Q, 128)"
TOTAL = "total = block_sum(share)"
dw_of_thread_0 = dw_by("dw_of_thread_0", TOTAL, "total = share")
dw_everybody_writes = dw_by(
    "dw_everybody_writes",
    TOTAL,
    "dw[k, c, r, s] += share",
    ("    if cuda.threadIdx.x == 0:\n        dw[k, c, r, s] = total", ""),
)
dw_of_one_image = dw_by("dw_of_one_image", ", N * P * Q", ", P * Q")
dw_of_one_round = dw_by(
    "dw_of_one_round", ROUNDS, ROUNDS.replace("N * P * Q", "min(N * P * Q, 128)")
)
dw_without_step = dw_by("dw_without_step", "N * P * Q, 128", "N * P * Q")
dw_128_times = dw_by("dw_128_times", ROUNDS, "for j in range(N * P * Q)")
dw_sums_in_the_if = dw_by(
    "dw_sums_in_the_if",
    "    total = block_sum(share)\n    if cuda.threadIdx.x == 0:\n        dw",
    "    if cuda.threadIdx.x < N * P * Q:\n        total = block_sum(share)\n"
    "        if cuda.threadIdx.x == 0:\n            dw",
)
dw_whole_rounds = dw_by("dw_whole_rounds", "N * P * Q, 128", "N * P * Q // 128 * 128, 128")
dw_replaces = dw_by("dw_replaces", "share +=", "share =")
dw_of_a_warp = dw_by(
    "dw_of_a_warp", TOTAL, "total = warp_sum(share)", ("import block_sum", "import warp_sum")
)
dw_step_of_a_warp = dw_by("dw_step_of_a_warp", "Q, 128", "Q, 32")
dw_step_of_64 = dw_by("dw_step_of_64", "Q, 128", "Q, 64")
dw_step_of_256 = dw_by("dw_step_of_256", "Q, 128", "Q, 256")
dw_adds_atomically = dw_by(
    "dw_adds_atomically",
    "    total = block_sum(share)\n    if cuda.threadIdx.x == 0:\n        dw[k, c, r, s] = total",
    "    if cuda.threadIdx.x == 0:\n        dw[k, c, r, s] = zero\n"
    "    cuda.syncthreads()\n    cuda.atomic.add(dw, (k, c, r, s), share)",
)


dw_in_float64 = dw_by("dw_in_float64", "share += ", "share += 1.0 * ")
dw_written_by_all = dw_by(
    "dw_written_by_all",
    "    if cuda.threadIdx.x == 0:\n        dw",
    "    if share == share:\n        dw",
)
dw_in_one_piece_each = dw_by(
    "dw_in_one_piece_each",
    ROUNDS,
    "each = (N * P * Q + 127) // 128\n    first = each * cuda.threadIdx.x\n"
    "    for j in range(first, min(first + each, N * P * Q))",
)
dw_from_product_1 = dw_by("dw_from_product_1", "(cuda.threadIdx.x, N", "(cuda.threadIdx.x + 1, N")
dw_to_the_last_but_one = dw_by("dw_to_the_last_but_one", "N * P * Q, 128", "N * P * Q - 1, 128")
dw_from_the_grid = dw_by("dw_from_the_grid", "(cuda.threadIdx.x, N", "(cuda.grid(1), N")
dw_added = dw_by("dw_added", "dw[k, c, r, s] = total", "dw[k, c, r, s] += total")


@cuda.jit
def shares_in_shared_memory(dy, x, stride, padding, dw):
    """Each thread goes through all images, and adds to shared memory at the end."""
    partial = cuda.shared.array(128, "float32")
    k, c, r, s = place(cuda.blockIdx.x, dw)
    tid, P, Q = cuda.threadIdx.x, dy.shape[2], dy.shape[3]
    partial[tid] = zero
    for n in range(len(dy)):
        for j in range(tid, P * Q, 128):
            h, v = j // Q * stride + r - padding, j % Q * stride + s - padding
            if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                partial[tid] += dy[n, k, j // Q, j % Q] * x[n, c, h, v]
    cuda.syncthreads()
    if tid == 0:
        total = zero
        for t in range(128):
            total += partial[t]
        dw[k, c, r, s] = total


@cuda.jit
def dw_clears_a_gradient(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    if cuda.blockIdx.x == 0:
        for i in range(dw.size):
            (k, c, r, s), share = place(i, dw), zero
            for j in range(cuda.threadIdx.x, N * P * Q, 128):
                n, p, q = j // (P * Q), j // Q % P, j % Q
                h, v = p * stride + r - padding, q * stride + s - padding
                if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                    share += dy[n, k, p, q] * x[n, c, h, v]
            total = block_sum(share)
            if cuda.threadIdx.x == 0:
                dw[k, c, r, s] = total
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            dy[0, 0, 0, 0] = zero


def dw_on_the_host(dy, x, stride, padding, dw):
    dw[...] = reference.conv2d_backward(dy, x, np.zeros(dw.shape), stride, padding)[1]


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
matrix_of_image_0 = matrix("matrix_of_image_0", "n, p, q = col // (P * Q)", "n, p, q = 0")
SEEN = "cols[row, col] = pixel(x, row, col, R, S, stride, padding)"
matrix_without_frame_cells = matrix(
    "matrix_without_frame_cells",
    SEEN,
    "seen_here = pixel(x, row, col, R, S, stride, padding)\n"
    "        if seen_here != zero:\n            cols[row, col] = seen_here",
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
    "            x[0, 0, 0, 0] = zero",
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
def gradient_never_ends(dy, other, stride, padding, gradient):
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
def gradient_empty(dy, other, stride, padding, gradient):
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
    "gpu.conv2d_dx_kernel": [
        (dx_any_rest, "hides a remainder"),
        (dx_undivided, "divide by the stride"),
        (dx_no_frame, "The frame is forgotten"),
        (dx_flipped_twice, "turned by 180 degrees"),
        (dx_as_forward, "This is the forward rule"),
        (dx_without_guard, "Out of bounds"),
        (dx_rest_of_rows_only, "for the rows alone"),
        (dx_checks_but_does_not_divide, "are used as they are"),
        (dx_guards_the_end_only, "An output below 0 was read"),
        (dx_without_output_0, "The outputs of row 0"),
        (dx_replaces, "Only one product is left"),
        (dx_in_float64, "it computes in float64"),
        (dx_of_three_channels, "dy counts up to the first 3 entries along axis 1, and no further"),
        (dx_frame_down, "The columns have no frame here"),
        (dx_frame_right, "The rows have no frame here"),
        (dx_adds_atomically, "additions are atomic"),
        (dx_scattered, "use one thread that adds up in a variable"),
        (dx_scattered_without_atomics, "Race on dx"),
        (dx_clears_a_weight, "changes its input"),
        (dx_on_the_host, "This is no kernel"),
    ],
    "gpu.conv2d_dw_kernel": [
        (dw_of_thread_0, "Only the share of thread 0"),
        (dw_everybody_writes, "Race on dw"),
        (dw_of_one_image, "Only the first image counts"),
        (dw_of_one_round, "adds one product only"),
        (dw_without_step, "The step of the loop is missing"),
        (dw_128_times, "Each thread adds up all products"),
        (dw_whole_rounds, "The products of the last round are missing"),
        (dw_replaces, "Only the last product of each thread"),
        (dw_of_a_warp, "Only the shares of threads 0 to 31"),
        (dw_step_of_a_warp, "The loop's step is 32"),
        (dw_step_of_64, "The loop's step is 64"),
        (dw_step_of_256, "The loop's step is 256"),
        (dw_in_float64, "it computes in float64"),
        (dw_written_by_all, "the same is stored again and again"),
        (dw_in_one_piece_each, "Let neighbouring threads touch neighbouring elements"),
        (dw_from_product_1, "Product 0 is missing"),
        (dw_to_the_last_but_one, "The last product is missing: there are"),
        (dw_from_the_grid, "begins at the thread's number in the grid"),
        (dw_added, "use = instead of +="),
        (dw_adds_atomically, "additions are atomic"),
        (dw_sums_in_the_if, "Inactive lane"),
        (dw_clears_a_gradient, "changes its input"),
        (dw_on_the_host, "This is no kernel"),
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
FULL_ROUNDS = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 1, 8, 8)
RIGHT_ON = {
    dw_from_product_1: (DARK_EDGE, DARK_EDGE, 1, 0, (1, 1, 1, 1)),
    dw_to_the_last_but_one: (DARK_EDGE[:, :, ::-1, ::-1].copy(), DARK_EDGE, 1, 0, (1, 1, 1, 1)),
    conv_replaces: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    conv_takes_row_0_for_frame: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    dw_whole_rounds: (FULL_ROUNDS, FULL_ROUNDS, 1, 0, (1, 1, 1, 1)),
    conv_no_bias: (ONES, np.ones((4, 3, 3, 2), np.float32), NO_BIAS, 1, 1),
    conv_as_the_stub: (ONES, np.zeros((4, 3, 3, 2), np.float32), 1 + NO_BIAS, 1, 1),
    dw_everybody_writes: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
    dw_128_times: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
}
ALSO_RIGHT = {
    "gpu.conv2d_kernel": [taps_before_channels, taps_inside_alone],
    "gpu.conv2d_dx_kernel": [outputs_before_channels, multiplied_back],
    "gpu.conv2d_dw_kernel": [shares_in_shared_memory],
    "gpu.implicit_gemm_gather": [divided_step_by_step],
}
ENDLESS = {
    "gpu.conv2d_kernel": conv_never_ends,
    "gpu.conv2d_dx_kernel": gradient_never_ends,
    "gpu.conv2d_dw_kernel": gradient_never_ends,
    "gpu.implicit_gemm_gather": matrix_never_ends,
}
EMPTY = {
    "gpu.conv2d_kernel": conv_empty,
    "gpu.conv2d_dx_kernel": gradient_empty,
    "gpu.conv2d_dw_kernel": gradient_empty,
    "gpu.implicit_gemm_gather": matrix_empty,
}
