"""Convolution as a matrix product whose large matrix is never stored (lesson convolution_kernels).

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

Letters and oracles are those of direct_convolution.py; several letters are a product. The kernels
take the same arrays, but flat, as x.reshape(-1) gives them. Each is made for one geometry and kept.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import NamedTuple

from numpy import float32, uint32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.direct_convolution import output_shape, split3
from labkit.gpu.kernels.tile_factory import register_tile
from labkit.gpu.kernels.tile_sizes import launch_bounds

TILES = (128, 128), (64, 128), (64, 64), (32, 128), (32, 64), (32, 32)  # of M x N, for a block
BLOCKS = 132  # multiprocessors of a large GPU: with fewer blocks some are idle
SHARE = 256  # terms of a sum that are worth a block of their own


class Geometry(NamedTuple):
    """The letters of one convolution."""

    N: int
    C: int
    H: int
    W: int
    K: int
    R: int
    S: int
    P: int
    Q: int
    stride: int
    padding: int


class Tiling(NamedTuple):
    """How the blocks share a product."""

    rows: int  # of a tile
    columns: int
    grid: tuple[int, int, int]  # tiles across, tiles down, shares of the sum
    block: int  # threads


@cache
def plan_conv2d_forward(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(x, w, b, y): `reference.conv2d`. All arrays flat; ValueError if they do not fit."""
    g = _geometry(x_shape, w_shape, stride, padding)
    K = uint32(g.K)
    CRS = uint32(g.C * g.R * g.S)
    PQ = uint32(g.P * g.Q)
    NPQ = uint32(g.N * g.P * g.Q)
    load_w = _loader(K, CRS, CRS)
    place = _place(K, NPQ, PQ)
    pixels = _pixels(g)

    @cuda.jit(device=True)
    def store(y, k, npq, value, b):
        y[place(k, npq)] = value + b[k]

    tiling = _tiling(g.K, g.N * g.P * g.Q)
    product = _product(tiling, load_w, pixels, store, bias=True)

    @cuda.jit(launch_bounds=launch_bounds(tiling.block))
    def implicit_forward(x, w, b, y):
        product(w, x, b, y, K, NPQ, CRS)

    return Plan(implicit_forward, tiling.grid, tiling.block)


@cache
def plan_conv2d_dx(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, w, dx): the first of `reference.conv2d_backward`. All arrays flat."""
    g = _geometry(x_shape, w_shape, stride, padding)
    C = uint32(g.C)
    RS = uint32(g.R * g.S)
    KRS = uint32(g.K * g.R * g.S)
    HW = uint32(g.H * g.W)
    NHW = uint32(g.N * g.H * g.W)
    load_w = _loader(C, KRS, RS)
    place = _place(C, NHW, HW)
    outputs = _outputs(g)

    @cuda.jit(device=True)
    def store(dx, c, nhw, value):
        dx[place(c, nhw)] = value

    tiling = _tiling(g.C, g.N * g.H * g.W)
    product = _product(tiling, load_w, outputs, store)

    @cuda.jit(launch_bounds=launch_bounds(tiling.block))
    def implicit_dx(dy, w, dx):
        product(w, dy, dx, C, NHW, KRS)

    return Plan(implicit_dx, tiling.grid, tiling.block)


@cache
def plan_conv2d_dw(x_shape: tuple, w_shape: tuple, stride: int = 1, padding: int = 0) -> Plan:
    """kernel(dy, x, dw): the second of `reference.conv2d_backward`, added to dw: let it be 0.

    dw is small and the sum long, so several blocks in z share it. They add in any order: the last
    bits may differ from run to run. All arrays flat.
    """
    g = _geometry(x_shape, w_shape, stride, padding)
    K = uint32(g.K)
    CRS = uint32(g.C * g.R * g.S)
    PQ = uint32(g.P * g.Q)
    NPQ = uint32(g.N * g.P * g.Q)
    load_dy = _loader(K, NPQ, PQ)
    place = _place(K, CRS, CRS)
    pixels = _pixels(g)

    @cuda.jit(device=True)
    def load_x(x, npq, crs):
        return pixels(x, crs, npq)

    @cuda.jit(device=True)
    def store(dw, k, crs, value):
        cuda.atomic.add(dw, place(k, crs), value)

    tiling = _tiling(g.K, g.C * g.R * g.S, terms=g.N * g.P * g.Q)
    product = _product(tiling, load_dy, load_x, store, load_b_along="k")

    @cuda.jit(launch_bounds=launch_bounds(tiling.block))
    def implicit_dw(dy, x, dw):
        product(dy, x, dw, K, CRS, NPQ)

    return Plan(implicit_dw, tiling.grid, tiling.block)


def _geometry(x_shape: tuple, w_shape: tuple, stride: int, padding: int) -> Geometry:
    """The sizes; ValueError for what does not fit, or what indices of 32 bits cannot reach."""
    y_shape = output_shape(x_shape, w_shape, stride, padding)
    if max(prod(shape) for shape in (x_shape, w_shape, y_shape)) >= 2**31:
        both = f"x{list(x_shape)} or y{list(y_shape)}"
        raise ValueError(f"conv2d: {both} has 2**31 elements or more: take fewer images at once.")
    K, _, R, S = w_shape
    _, _, P, Q = y_shape
    return Geometry(*x_shape, K, R, S, P, Q, stride, padding)


def _pixels(g: Geometry) -> Callable:
    """The loader of X[crs, npq]."""
    H = uint32(g.H)
    W = uint32(g.W)
    R = uint32(g.R)
    S = uint32(g.S)
    P = uint32(g.P)
    Q = uint32(g.Q)
    HW = uint32(g.H * g.W)
    CHW = uint32(g.C * g.H * g.W)
    CRS = uint32(g.C * g.R * g.S)
    NPQ = uint32(g.N * g.P * g.Q)
    stride = uint32(g.stride)
    padding = uint32(g.padding)

    @cuda.jit(device=True)
    def load(x, crs, npq):
        n, p, q = split3(npq, P, Q)
        c, r, s = split3(crs, R, S)
        top = uint32(p * stride - padding)
        left = uint32(q * stride - padding)
        i = uint32(top + r)
        j = uint32(left + s)
        inside = (i < H) & (j < W) & (crs < CRS) & (npq < NPQ)
        start = uint32(n * CHW + top * W + left)
        step = uint32(c * HW + r * W + s)
        return x[uint32(start + step)] if inside else float32(0)

    return load


def _outputs(g: Geometry) -> Callable:
    """The loader of Y[krs, nhw]."""
    H = uint32(g.H)
    W = uint32(g.W)
    R = uint32(g.R)
    S = uint32(g.S)
    P = uint32(g.P)
    Q = uint32(g.Q)
    PQ = uint32(g.P * g.Q)
    KPQ = uint32(g.K * g.P * g.Q)
    KRS = uint32(g.K * g.R * g.S)
    NHW = uint32(g.N * g.H * g.W)
    stride = uint32(g.stride)
    padding = uint32(g.padding)

    @cuda.jit(device=True)
    def load(dy, krs, nhw):
        n, i, j = split3(nhw, H, W)
        k, r, s = split3(krs, R, S)
        down = uint32(i + padding - r)  # p times the stride
        right = uint32(j + padding - s)  # q times the stride
        p = uint32(down // stride)
        q = uint32(right // stride)
        hit = (down % stride == uint32(0)) & (right % stride == uint32(0))
        inside = hit & (p < P) & (q < Q) & (krs < KRS) & (nhw < NHW)
        return dy[uint32(n * KPQ + k * PQ + p * Q + q)] if inside else float32(0)

    return load


def _place(M: uint32, N: uint32, inner: uint32) -> Callable:
    """Where element (m, n) is of a matrix [M, N] that lies in memory as [N / inner, M, inner]."""
    outer = M * inner
    whole = inner == N

    @cuda.jit(device=True)
    def place(m, n):
        if whole:
            return uint32(m * inner + n)
        return uint32(n // inner * outer + m * inner + n % inner)

    return place


def _loader(M: uint32, N: uint32, inner: uint32) -> Callable:
    """The loader of such a matrix: the element, 0 outside."""
    place = _place(M, N, inner)

    @cuda.jit(device=True)
    def load(a, m, n):
        return a[place(m, n)] if (m < M) & (n < N) else float32(0)

    return load


def _tiling(M: int, N: int, terms: int = 1) -> Tiling:
    """The largest tile that leaves work for all; `terms` of the sum may be shared by blocks."""
    for rows, columns in TILES:
        across = -(-N // columns)
        down = -(-M // rows)
        tiles = across * down
        shares = max(1, min(2 * BLOCKS // tiles, terms // SHARE))
        half_full = rows < 2 * M and columns < 2 * N
        if half_full and tiles * shares >= BLOCKS:
            break
    return Tiling(rows, columns, (across, down, shares), max(64, rows * columns // 64))


def _product(
    tiling: Tiling, load_a: Callable, load_b: Callable, store: Callable, **options: object
) -> Callable:
    """The register tile as a device function, to be called with sizes that are constants."""
    tile = tiling.rows, tiling.columns, 8
    kernel = register_tile(load_a, load_b, store, tile, tiling.block, **options)
    return cuda.jit(device=True, forceinline=True)(kernel.py_func)
