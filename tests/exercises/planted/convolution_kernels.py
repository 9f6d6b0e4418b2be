"""Wrong kernels of lesson 01_gpu/4, written as a learner would, and what each must be told."""

import numpy as np

from labkit import reference
from labkit.gpu import cuda
from labkit.gpu.kernels.reductions import block_sum, warp_sum

zero = np.float32(0)


@cuda.jit(device=True)
def place(i, a):
    B, C, D = a.shape[1], a.shape[2], a.shape[3]
    return i // (B * C * D), i // (C * D) % B, i // D % C, i % D


# --- gpu.conv2d_kernel: blocks of 128, a thread for each output


@cuda.jit
def conv(x, w, b, stride, padding, y):
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


@cuda.jit
def conv_without_guard(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_guards_the_end_only(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if h < x.shape[2] and v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_flipped(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        C, R, S = w.shape[1], w.shape[2], w.shape[3]
        total = b[k]
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, R - 1 - r, S - 1 - s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_no_frame(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r, q * stride + s
                    if h < x.shape[2] and v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_no_stride(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p + r - padding, q + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_no_bias(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = zero
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_as_the_stub(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        y[n, k, p, q] = b[k]


@cuda.jit
def conv_into_y(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        y[n, k, p, q] += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] += b[k]


@cuda.jit
def conv_clears_a_pixel(x, w, b, stride, padding, y):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, y.size, cuda.blockDim.x):
            n, k, p, q = place(i, y)
            total = b[k]
            for c in range(w.shape[1]):
                for r in range(w.shape[2]):
                    for s in range(w.shape[3]):
                        h, v = p * stride + r - padding, q * stride + s - padding
                        if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                            total += w[k, c, r, s] * x[n, c, h, v]
            y[n, k, p, q] = total
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            x[0, 0, 0, 0] = zero


def conv_on_the_host(x, w, b, stride, padding, y):
    y[...] = reference.conv2d(x, w, b, stride, padding)


@cuda.jit
def conv_taps_swapped(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + s - padding, q * stride + r - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_of_channel_0(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(1):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_replaces(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total = w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_bias_of_channel_0(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[0]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_padding_added(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r + padding, q * stride + s + padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_takes_row_0_for_frame(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 < h < x.shape[2] and 0 < v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_stride_on_taps(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        total = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p + r * stride - padding, q + s * stride - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        total += w[k, c, r, s] * x[n, c, h, v]
        y[n, k, p, q] = total


@cuda.jit
def conv_adds_atomically(x, w, b, stride, padding, y):
    i = cuda.grid(1)
    if i < y.size:
        n, k, p, q = place(i, y)
        y[n, k, p, q] = b[k]
        for c in range(w.shape[1]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    h, v = p * stride + r - padding, q * stride + s - padding
                    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                        cuda.atomic.add(y, (n, k, p, q), w[k, c, r, s] * x[n, c, h, v])


# --- gpu.conv2d_dx_kernel: blocks of 128, a thread for each pixel


@cuda.jit
def dx_(dy, w, stride, padding, dx):
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
def dx_any_rest(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    p, q = (h + padding - r) // stride, (v + padding - s) // stride
                    if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                        total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_undivided(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    p, q = h + padding - r, v + padding - s
                    if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                        total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_no_frame(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    if (h - r) % stride == 0 and (v - s) % stride == 0:
                        p, q = (h - r) // stride, (v - s) // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_flipped_twice(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        R, S = w.shape[2], w.shape[3]
        total = zero
        for k in range(w.shape[0]):
            for r in range(R):
                for s in range(S):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, R - 1 - r, S - 1 - s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_as_forward(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    p, q = h * stride + r - padding, v * stride + s - padding
                    if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                        total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_without_guard(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        total += dy[n, k, down // stride, right // stride] * w[k, c, r, s]
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


@cuda.jit
def dx_clears_a_weight(dy, w, stride, padding, dx):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, dx.size, cuda.blockDim.x):
            n, c, h, v = place(i, dx)
            total = zero
            for k in range(w.shape[0]):
                for r in range(w.shape[2]):
                    for s in range(w.shape[3]):
                        down, right = h + padding - r, v + padding - s
                        if down % stride == 0 and right % stride == 0:
                            p, q = down // stride, right // stride
                            if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                                total += dy[n, k, p, q] * w[k, c, r, s]
            dx[n, c, h, v] = total
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            w[0, 0, 0, 0] = zero


def dx_on_the_host(dy, w, stride, padding, dx):
    dx[...] = reference.conv2d_backward(dy, np.zeros(dx.shape), w, stride, padding)[0]


@cuda.jit
def dx_rest_of_rows_only(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_checks_but_does_not_divide(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    whole = down % stride == 0 and right % stride == 0
                    if whole and 0 <= down < dy.shape[2] and 0 <= right < dy.shape[3]:
                        total += dy[n, k, down, right] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_guards_the_end_only(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if p < dy.shape[2] and q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_without_output_0(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 < p < dy.shape[2] and 0 < q < dy.shape[3]:
                            total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_replaces(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        total = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            total = dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, h, v] = total


@cuda.jit
def dx_adds_atomically(dy, w, stride, padding, dx):
    i = cuda.grid(1)
    if i < dx.size:
        n, c, h, v = place(i, dx)
        dx[n, c, h, v] = zero
        for k in range(w.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    down, right = h + padding - r, v + padding - s
                    if down % stride == 0 and right % stride == 0:
                        p, q = down // stride, right // stride
                        if 0 <= p < dy.shape[2] and 0 <= q < dy.shape[3]:
                            cuda.atomic.add(dx, (n, c, h, v), dy[n, k, p, q] * w[k, c, r, s])


# --- gpu.conv2d_dw_kernel: a block of 128 for each weight


@cuda.jit
def dw_(dy, x, stride, padding, dw):
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
def dw_of_thread_0(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        n, p, q = j // (P * Q), j // Q % P, j % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
            share += dy[n, k, p, q] * x[n, c, h, v]
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = share


@cuda.jit
def dw_everybody_writes(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        n, p, q = j // (P * Q), j // Q % P, j % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
            share += dy[n, k, p, q] * x[n, c, h, v]
    dw[k, c, r, s] += share


@cuda.jit
def dw_of_one_image(dy, x, stride, padding, dw):
    _, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, P * Q, 128):
        p, q = j // Q, j % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
            share += dy[0, k, p, q] * x[0, c, h, v]
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit(device=True)
def product(j, k, c, r, s, dy, x, stride, padding):
    P, Q = dy.shape[2], dy.shape[3]
    n, p, q = j // (P * Q), j // Q % P, j % Q
    h, v = p * stride + r - padding, q * stride + s - padding
    if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
        return dy[n, k, p, q] * x[n, c, h, v]
    return zero


@cuda.jit
def dw_of_one_round(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    if cuda.threadIdx.x < N * P * Q:
        share = product(cuda.threadIdx.x, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_without_step(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_128_times(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(N * P * Q):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_sums_in_the_if(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    if cuda.threadIdx.x < N * P * Q:
        for j in range(cuda.threadIdx.x, N * P * Q, 128):
            n, p, q = j // (P * Q), j // Q % P, j % Q
            h, v = p * stride + r - padding, q * stride + s - padding
            if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                share += dy[n, k, p, q] * x[n, c, h, v]
        total = block_sum(share)
        if cuda.threadIdx.x == 0:
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
def dw_whole_rounds(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q // 128 * 128, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_replaces(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share = product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_of_a_warp(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = warp_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_step_of_a_warp(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 32):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_step_of_64(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 64):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_step_of_256(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 256):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    total = block_sum(share)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


@cuda.jit
def dw_adds_atomically(dy, x, stride, padding, dw):
    N, _, P, Q = dy.shape
    (k, c, r, s), share = place(cuda.blockIdx.x, dw), zero
    for j in range(cuda.threadIdx.x, N * P * Q, 128):
        share += product(j, k, c, r, s, dy, x, stride, padding)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = zero
    cuda.syncthreads()
    cuda.atomic.add(dw, (k, c, r, s), share)


# --- gpu.implicit_gemm_gather: blocks of 32 x 8, a thread for each element


@cuda.jit
def matrix(x, R, S, stride, padding, cols):
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


@cuda.jit
def matrix_channel_last(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        C = x.shape[1]
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        r, s, c = row // (S * C), row // C % S, row % C
        n, p, q = col // (P * Q), col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_taps_swapped(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, s, r = row // (R * S), row // R % S, row % R
        n, p, q = col // (P * Q), col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_images_last(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        N = x.shape[0]
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        p, q, n = col // (Q * N), col // N % Q, col % N
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_places_swapped(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        n, q, p = col // (P * Q), col // P % Q, col % P
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_of_turned_taps(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // R % S, row % R
        n, p, q = col // (P * Q), col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_of_turned_places(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        n, p, q = col // (P * Q), col // P % Q, col % P
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_without_frame_cells(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        n, p, q = col // (P * Q), col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
            cols[row, col] = x[n, c, h, v]


@cuda.jit
def matrix_clears_a_pixel(x, R, S, stride, padding, cols):
    if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        for row in range(cuda.threadIdx.y, cols.shape[0], 8):
            for col in range(cuda.threadIdx.x, cols.shape[1], 32):
                c, r, s = row // (R * S), row // S % R, row % S
                n, p, q = col // (P * Q), col // Q % P, col % Q
                h, v = p * stride + r - padding, q * stride + s - padding
                inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
                cols[row, col] = x[n, c, h, v] if inside else zero
        cuda.syncthreads()
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            x[0, 0, 0, 0] = zero


@cuda.jit
def matrix_r_goes_on(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S, row % S
        n, p, q = col // (P * Q), col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_p_goes_on(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        n, p, q = col // (P * Q), col // Q, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


@cuda.jit
def matrix_of_image_0(x, R, S, stride, padding, cols):
    col, row = cuda.grid(2)
    if row < cols.shape[0] and col < cols.shape[1]:
        P = (x.shape[2] + 2 * padding - R) // stride + 1
        Q = (x.shape[3] + 2 * padding - S) // stride + 1
        c, r, s = row // (R * S), row // S % R, row % S
        n, p, q = 0, col // Q % P, col % Q
        h, v = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < x.shape[2] and 0 <= v < x.shape[3]
        cols[row, col] = x[n, c, h, v] if inside else zero


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
    conv_replaces: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    conv_takes_row_0_for_frame: (DARK_EDGE, ONE_TAP, NO_BIAS[:1], 1, 0),
    dw_whole_rounds: (FULL_ROUNDS, FULL_ROUNDS, 1, 0, (1, 1, 1, 1)),
    conv_no_bias: (ONES, np.ones((4, 3, 3, 2), np.float32), NO_BIAS, 1, 1),
    conv_as_the_stub: (ONES, np.zeros((4, 3, 3, 2), np.float32), 1 + NO_BIAS, 1, 1),
    dw_everybody_writes: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
    dw_128_times: (np.zeros((2, 4, 5, 7), np.float32), ONES, 1, 1, (4, 3, 3, 2)),
}
SOLVED = {
    "gpu.conv2d_kernel": conv,
    "gpu.conv2d_dx_kernel": dx_,
    "gpu.conv2d_dw_kernel": dw_,
    "gpu.implicit_gemm_gather": matrix,
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
