"""Direct convolution, each kernel like its formula, which the two lessons on them derive.

Letters are those of `labkit.reference`, the oracle: x[N,C,H,W], w[K,C,R,S], y[N,K,P,Q], all float32
and C-contiguous. Output (p, q) sees pixel (i, j) through tap (r, s) of the kernel where

    i = p*stride + r - padding,   j = q*stride + s - padding

One thread computes one y, or one dx; one block computes one dw. Nobody adds to what others
wrote, so two runs give the same bits. All kernels write their whole output. Indices are unsigned:
one that falls below 0 becomes huge, and `i < H` refuses it too. db is a sum of rows and columns:
`reductions`.

Dense: a line of a kernel is an address or a product, as the formula above has it.
"""

from math import prod

import numpy as np
from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan, thread_each
from labkit.gpu.kernels.reductions import block_sum
from labkit.shapes import fit_windows

THREADS = 128  # of a block


@cuda.jit(device=True)
def sizes(a):
    """The shape of a 4-D array, unsigned."""
    return uint32(a.shape[0]), uint32(a.shape[1]), uint32(a.shape[2]), uint32(a.shape[3])


@cuda.jit(device=True)
def split3(e, B, C):
    """The indices of element e of an array [.., B, C] in row-major order: the last runs fastest."""
    return e // (B * C), e // C % B, e % C


@cuda.jit(device=True)
def split4(e, B, C, D):
    """The indices of element e of an array [.., B, C, D]."""
    return e // (B * C * D), e // (C * D) % B, e // D % C, e % D


@cuda.jit(device=True)
def place(e, a):
    """The indices of element e of a 4-D array."""
    _, B, C, D = sizes(a)
    return split4(e, B, C, D)


@cuda.jit
def conv2d_forward(x, w, b, stride, padding, y):
    """y[n,k,p,q] = b[k] + sum over c, r, s of w[k,c,r,s] x[n,c,i,j]"""
    N, _, _, _ = sizes(y)
    _, C, H, W = sizes(x)
    _, _, R, S = sizes(w)
    stride = uint32(stride)
    padding = uint32(padding)
    n, k, p, q = place(uint32(cuda.grid(1)), y)
    if n < N:
        total = b[k]
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    i = p * stride + r - padding
                    j = q * stride + s - padding
                    if i < H and j < W:  # a pixel of the frame is 0
                        total += w[k, c, r, s] * x[n, c, i, j]
        y[n, k, p, q] = total


@cuda.jit
def conv2d_dx(dy, w, stride, padding, dx):
    """dx[n,c,i,j] = sum over k, r, s of dy[n,k,p,q] w[k,c,r,s]

    A pixel gathers from the outputs that saw it. Through tap r only those p saw it for which
    p*stride = i + padding - r: so r runs in steps of the stride.
    """
    N, _, _, _ = sizes(dx)
    _, K, P, Q = sizes(dy)
    _, _, R, S = sizes(w)
    stride = uint32(stride)
    padding = uint32(padding)
    n, c, i, j = place(uint32(cuda.grid(1)), dx)
    if n < N:
        total = float32(0)
        for r in range((i + padding) % stride, R, stride):
            p = (i + padding - r) // stride
            for s in range((j + padding) % stride, S, stride):
                q = (j + padding - s) // stride
                if p < P and q < Q:
                    for k in range(K):
                        total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, i, j] = total


@cuda.jit
def conv2d_dw(dy, x, stride, padding, dw):
    """dw[k,c,r,s] = sum over n, p, q of dy[n,k,p,q] x[n,c,i,j]"""
    N, _, P, Q = sizes(dy)
    _, _, H, W = sizes(x)
    stride = uint32(stride)
    padding = uint32(padding)
    k, c, r, s = place(uint32(cuda.blockIdx.x), dw)
    total = float32(0)
    for e in range(uint32(cuda.threadIdx.x), N * P * Q, uint32(THREADS)):
        n, p, q = split3(e, P, Q)
        i = p * stride + r - padding
        j = q * stride + s - padding
        if i < H and j < W:
            total += dy[n, k, p, q] * x[n, c, i, j]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        dw[k, c, r, s] = total


def output_shape(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> tuple:
    """[N,K,P,Q] of a convolution of x[N,C,H,W] with w[K,C,R,S]; ValueError if they do not fit."""
    both = f"x{list(x_shape)} and w{list(w_shape)}"
    if x_shape[1] != w_shape[1]:
        raise ValueError(f"conv2d: {both} do not fit: C, their second size, must be equal.")
    if min(*x_shape, *w_shape) < 1:
        raise ValueError(f"conv2d: of {both} one is empty: every axis must be 1 or longer.")
    P, Q = windows_in("conv2d", x_shape, w_shape[2:], stride, padding)
    return x_shape[0], w_shape[0], P, Q


def windows_in(layer: str, x_shape: tuple, kernel: tuple, stride: int, padding: int = 0) -> tuple:
    """(P, Q): how many windows [R,S] = `kernel` fit down and across; ValueError if none does."""
    x = np.broadcast_to(np.float32(0), x_shape)  # of that shape, without its memory
    P, Q = fit_windows(layer, x, kernel, stride, padding)
    if max(stride, padding) >= 2**31:
        raise ValueError(f"{layer}: stride {stride} or padding {padding} is 2**31 or more.")
    return P, Q


def plan_conv2d_forward(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(x, w, b, stride, padding, y): `reference.conv2d`."""
    return thread_each(conv2d_forward, output_shape(x_shape, w_shape, stride, padding))


def plan_conv2d_dx(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, w, stride, padding, dx): the first of `reference.conv2d_backward`."""
    output_shape(x_shape, w_shape, stride, padding)
    return thread_each(conv2d_dx, x_shape)


def plan_conv2d_dw(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, x, stride, padding, dw): the second of `reference.conv2d_backward`."""
    output_shape(x_shape, w_shape, stride, padding)
    return Plan(conv2d_dw, prod(w_shape), THREADS)
