"""The solutions of lesson 01_gpu/2_convolutions. Written by `labkit build` from

chapters/01_gpu/source/convolutions/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def conv2d_direct(x, w, b, stride=1, padding=0):
    """x [N, C, H, W], w [K, C, R, S], b [K]  ->  y [N, K, P, Q]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, _, H, W = padded.shape
    K, _, R, S = w.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    y = np.zeros((N, K, P, Q), dtype=x.dtype)
    for n, k, p, q in np.ndindex(N, K, P, Q):
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]  # [C, R, S]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]
    return y


def im2col(x, R, S, stride=1, padding=0):
    """x [N, C, H, W]  ->  cols [N P Q, C R S]"""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, W = padded.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    cols = np.zeros((N, P, Q, C, R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        cols[..., r, s] = padded[:, :, down, right].transpose(0, 2, 3, 1)
    return cols.reshape(N * P * Q, C * R * S)


def conv2d_backward_weights(dy, x, R, S, stride=1, padding=0):
    """dy [N, K, P, Q], x [N, C, H, W]  ->  dw [K, C, R, S], db [K]"""
    K, C = dy.shape[1], x.shape[1]
    cols = im2col(x, R, S, stride, padding)  # [N P Q, C R S]
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, K)  # [N P Q, K]
    dw = (dy_rows.T @ cols).reshape(K, C, R, S)
    db = dy_rows.sum(axis=0)
    return dw, db


def conv2d_backward_input(dy, w, x_shape, stride=1, padding=0):
    """dy [N, K, P, Q], w [K, C, R, S]  ->  dx [N, C, H, W] = x_shape"""
    N, C, H, W = x_shape
    K, C, R, S = w.shape
    P, Q = dy.shape[2:]
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, K)  # [N P Q, K]
    dcols = (dy_rows @ w.reshape(K, C * R * S)).reshape(N, P, Q, C, R, S)
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding), dtype=dy.dtype)
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        dx[:, :, down, right] += dcols[..., r, s].transpose(0, 3, 1, 2)
    return dx[:, :, padding : padding + H, padding : padding + W]


SOLUTIONS = {
    "gpu.conv2d_direct": conv2d_direct,
    "gpu.im2col": im2col,
    "gpu.conv2d_backward_weights": conv2d_backward_weights,
    "gpu.conv2d_backward_input": conv2d_backward_input,
}
