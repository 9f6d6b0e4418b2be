"""Convolution as a matrix product whose large matrix is never stored (lesson 01_gpu/4).

               M   N     sum over   a[m, .]       b[., n]                    c[m, n]
    forward    K   NPQ   crs        w[k, crs]     X[crs, npq]                y[k, npq] - b[k]
    dx         C   NHW   krs        w[c, krs]     Y[krs, nhw]                dx[c, nhw]
    dw         K   CRS   npq        dy[k, npq]    X[crs, npq], transposed    dw[k, crs]

X[crs, npq] is the pixel that output (n, p, q) sees through tap (c, r, s), and Y[krs, nhw] the
output (n, k, p, q) that sees pixel (n, h, w) through tap (r, s). `register_tile` asks for elements
one by one; a loader fetches each from its place in x or dy, or gives 0. A thread keeps its column
of X or Y through the whole sum (for dw its rows of X): what follows from it is computed before the
loop. The other index is divided by constants, which the compiler turns into multiplications.
Threads run along npq and nhw, in w along its last axes: neighbours fetch neighbours (stride 1).

Letters and oracles are those of convolution.py; several letters are a product. The kernels take the
same arrays, but flat, as x.reshape(-1) gives them. Each is made for one geometry, and kept.
"""

from collections.abc import Callable
from functools import cache
from math import prod

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.direct_convolution import output_shape, split3
from labkit.gpu.kernels.tile_factory import launch_bounds, register_tile

TILES = (128, 128), (64, 128), (64, 64), (32, 128), (32, 64), (32, 32)  # of M x N, for a block
BLOCKS = 132  # multiprocessors of a large GPU: with fewer blocks some are idle
SHARE = 256  # terms of a sum that are worth a block of their own


@cache
def plan_conv2d_forward(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(x, w, b, y): `reference.conv2d`."""
    sizes = _sizes(x_shape, w_shape, stride, padding)
    K, CRS, NPQ, PQ = sizes("K CRS NPQ PQ")
    (load_w, _), (_, place) = _stored(K, CRS, CRS), _stored(K, NPQ, PQ)

    @cuda.jit(device=True)
    def store(y, k, npq, value, b):
        y[place(k, npq)] = value + b[k]

    parts = load_w, _pixels(sizes, stride, padding), store
    product, bounds, launch = _tiling(parts, K, NPQ, bias=True)

    @cuda.jit(launch_bounds=bounds)
    def implicit_forward(x, w, b, y):
        product(w, x, b, y, K, NPQ, CRS)

    return Plan(implicit_forward, *launch)


@cache
def plan_conv2d_dx(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, w, dx): the first of `reference.conv2d_backward`."""
    sizes = _sizes(x_shape, w_shape, stride, padding)
    C, KRS, RS, NHW, HW = sizes("C KRS RS NHW HW")
    (load_w, _), (_, place) = _stored(C, KRS, RS), _stored(C, NHW, HW)

    @cuda.jit(device=True)
    def store(dx, c, nhw, value):
        dx[place(c, nhw)] = value

    parts = load_w, _outputs(sizes, stride, padding), store
    product, bounds, launch = _tiling(parts, C, NHW)

    @cuda.jit(launch_bounds=bounds)
    def implicit_dx(dy, w, dx):
        product(w, dy, dx, C, NHW, KRS)

    return Plan(implicit_dx, *launch)


@cache
def plan_conv2d_dw(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, x, dw): the second of `reference.conv2d_backward`, added to dw: let it be 0.

    dw is small and the sum long, so several blocks in z share it. They add in any order: the last
    bits may differ from run to run.
    """
    sizes = _sizes(x_shape, w_shape, stride, padding)
    K, CRS, NPQ, PQ = sizes("K CRS NPQ PQ")
    (load_dy, _), (_, place) = _stored(K, NPQ, PQ), _stored(K, CRS, CRS)
    pixels = _pixels(sizes, stride, padding)

    @cuda.jit(device=True)
    def load_x(x, npq, crs):
        return pixels(x, crs, npq)

    @cuda.jit(device=True)
    def store(dw, k, crs, value):
        cuda.atomic.add(dw, place(k, crs), value)

    product, bounds, launch = _tiling((load_dy, load_x, store), K, CRS, NPQ, load_b_along="k")

    @cuda.jit(launch_bounds=bounds)
    def implicit_dw(dy, x, dw):
        product(dy, x, dw, K, CRS, NPQ)

    return Plan(implicit_dw, *launch)


def _sizes(x_shape: tuple, w_shape: tuple, stride: int, padding: int) -> Callable:
    """A function that gives products of sizes, for kernels: sizes("N CRS") is [N, C R S]."""
    y_shape = output_shape(x_shape, w_shape, stride, padding)
    if max(prod(shape) for shape in (x_shape, w_shape, y_shape)) >= 2**31:
        both = f"x{list(x_shape)} or y{list(y_shape)}"
        raise ValueError(f"conv2d: {both} has 2**31 elements or more: take fewer images at once.")
    size = dict(zip("NCHWKRSPQ", (*x_shape, w_shape[0], *w_shape[2:], *y_shape[2:]), strict=True))
    return lambda words: [uint32(prod(size[letter] for letter in word)) for word in words.split()]


def _pixels(sizes: Callable, stride: int, padding: int) -> Callable:
    """The loader of X[crs, npq]."""
    H, W, R, S, P, Q, HW, CHW, CRS, NPQ = sizes("H W R S P Q HW CHW CRS NPQ")
    stride, padding = uint32(stride), uint32(padding)

    @cuda.jit(device=True)
    def load(x, crs, npq):
        (n, p, q), (c, r, s) = split3(npq, P, Q), split3(crs, R, S)
        top, left = uint32(p * stride - padding), uint32(q * stride - padding)
        inside = (uint32(top + r) < H) & (uint32(left + s) < W) & (crs < CRS) & (npq < NPQ)
        start, step = uint32(n * CHW + top * W + left), uint32(c * HW + r * W + s)
        return x[uint32(start + step)] if inside else float32(0)

    return load


def _outputs(sizes: Callable, stride: int, padding: int) -> Callable:
    """The loader of Y[krs, nhw]."""
    H, W, R, S, P, Q, PQ, KPQ, KRS, NHW = sizes("H W R S P Q PQ KPQ KRS NHW")
    stride, padding = uint32(stride), uint32(padding)

    @cuda.jit(device=True)
    def load(dy, krs, nhw):
        (n, i, j), (k, r, s) = split3(nhw, H, W), split3(krs, R, S)
        down, right = uint32(i + padding - r), uint32(j + padding - s)  # p and q times the stride
        p, q = uint32(down // stride), uint32(right // stride)
        hit = (down % stride == uint32(0)) & (right % stride == uint32(0))
        inside = hit & (p < P) & (q < Q) & (krs < KRS) & (nhw < NHW)
        return dy[uint32(n * KPQ + k * PQ + p * Q + q)] if inside else float32(0)

    return load


def _stored(M: int, N: int, inner: int) -> tuple[Callable, Callable]:
    """Loader and places of a matrix [M, N] that lies in memory as [N / inner, M, inner]."""
    outer, whole = M * inner, inner == N

    @cuda.jit(device=True)
    def place(m, n):
        if whole:
            return uint32(m * inner + n)
        return uint32(n // inner * outer + m * inner + n % inner)

    @cuda.jit(device=True)
    def load(a, m, n):
        return a[place(m, n)] if (m < M) & (n < N) else float32(0)

    return load, place


def _tiling(parts: tuple, M: int, N: int, terms: int = 1, **options) -> tuple:
    """register_tile with the largest tile that leaves work for all: function, bounds, launch."""
    for rows, columns in TILES:
        grid = -(-int(N) // columns), -(-int(M) // rows)
        splits = max(1, min(2 * BLOCKS // prod(grid), int(terms) // SHARE))
        if rows < 2 * M and columns < 2 * N and prod(grid) * splits >= BLOCKS:
            break
    block = max(64, rows * columns // 64)
    kernel = register_tile(*parts, (rows, columns, 8), block, **options)
    product = cuda.jit(device=True, forceinline=True)(kernel.py_func)
    return product, launch_bounds(block), ((*grid, splits), block)
