"""Wrong kernels of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit import reference
from labkit.gpu import cuda
from labkit.gpu.kernels.places import place
from labkit.gpu.kernels.reductions import block_sum
from tests.exercises.edits import edit

zero = np.float32(0)
ONE_BLOCK = (
    "    if cuda.blockIdx.x > 0:\n        return\n"
    "    for i in range(cuda.threadIdx.x, {}.size, 128):\n"
)

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
    ("        total = zero", "        dx[n, c, h, v] = zero"),
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
dw_of_weight_0 = dw_by(
    "dw_of_weight_0",
    "    for j in range(cuda.threadIdx.x",
    "    t = cuda.grid(1)\n    for j in range(t",
    ("if cuda.threadIdx.x == 0", "if t == 0"),
)
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


@cuda.jit
def gradient_never_ends(dy, other, stride, padding, gradient):
    while cuda.threadIdx.x == 3:
        pass


@cuda.jit
def gradient_empty(dy, other, stride, padding, gradient):
    pass


PLANTED = {
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
        (dw_sums_in_the_if, "`block_sum` stands under an `if`"),
        (dw_of_weight_0, "Only block 0 writes"),
        (dw_clears_a_gradient, "changes its input"),
        (dw_on_the_host, "This is no kernel"),
    ],
}
ONES = np.ones((2, 3, 5, 6), np.float32)
DARK_EDGE = np.ones((1, 1, 4, 5), np.float32)  # row 0 and column 0 are 0
DARK_EDGE[:, :, 0] = DARK_EDGE[:, :, :, 0] = 0
FULL_ROUNDS = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 1, 8, 8)
RIGHT_ON = {
    dw_from_product_1: (DARK_EDGE, DARK_EDGE, 1, 0, (1, 1, 1, 1)),
    dw_to_the_last_but_one: (DARK_EDGE[:, :, ::-1, ::-1].copy(), DARK_EDGE, 1, 0, (1, 1, 1, 1)),
    dw_whole_rounds: (FULL_ROUNDS, FULL_ROUNDS, 1, 0, (1, 1, 1, 1)),
    dw_everybody_writes: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
    dw_128_times: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
}
ALSO_RIGHT = {
    "gpu.conv2d_dx_kernel": [outputs_before_channels, multiplied_back],
    "gpu.conv2d_dw_kernel": [shares_in_shared_memory],
}
ENDLESS = dict.fromkeys(PLANTED, gradient_never_ends)
EMPTY = dict.fromkeys(PLANTED, gradient_empty)
