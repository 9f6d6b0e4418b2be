"""Kernels small enough to explain, whose counters two machines compare.

`ncu` watches this module as a program of its own, which launches each kernel once, in order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import float32, float64

from labkit.checks.lesson_files import module_of
from labkit.gpu import cuda
from labkit.gpu.report.sections.handed_in import implicit_gemm
from numba_simt.extensions.vector import load_float32x4, store_float32x4


@cuda.jit
def shifted_copy(x, y):
    """y[i] = x[i + 1]: each warp touches a sector more."""
    i = cuda.grid(1)
    if i + 1 < x.size:
        y[i] = x[i + 1]


@cuda.jit
def strided_copy(x, y):
    """y[i] = x[2 i]: each warp touches twice as many."""
    i = cuda.grid(1)
    if 2 * i < x.size:
        y[i] = x[2 * i]


@cuda.jit
def vector_copy(x, y):
    """Four floats in an access."""
    i = 4 * cuda.grid(1)
    if i < x.size:
        first, second, third, fourth = load_float32x4(x, i)
        store_float32x4(y, i, first, second, third, fourth)


@cuda.jit
def polynomial(x, y):
    """y = 3 x^2 + 2 x + 1, by Horner."""
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]  # once: a compiler would see to it, the SIMT machine does as it is told
        y[i] = (value * float32(3) + float32(2)) * value + float32(1)


@cuda.jit
def polynomial64(x, y):
    """The same in float64."""
    i = cuda.grid(1)
    if i < x.size:
        value = float64(x[i])
        y[i] = (value * 3.0 + 2.0) * value + 1.0


def transposed(width: int) -> object:
    """The kernel with a tile of 32 x width in shared memory."""

    @cuda.jit
    def transpose(x, y):
        tile = cuda.shared.array((32, width), "float32")
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        row, column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
        tile[i, j] = x[row + i, column + j]
        cuda.syncthreads()
        y[column + i, row + j] = tile[j, i]

    return transpose


class Counted(NamedTuple):
    """A launch: the kernel gets the arguments, then y, in which it must leave what is `right`.

    `start`: what y holds before.
    """

    kernel: Callable
    grid: object
    block: object
    arguments: tuple
    right: np.ndarray
    start: float = np.nan

    def output(self) -> np.ndarray:
        """y before the launch."""
        return np.full(self.right.shape, self.start, np.float32)


def cases() -> dict[str, Counted]:
    """Row -> launch, in the order in which `ncu` sees them."""
    from labkit.reference import conv2d

    convolution_kernels = module_of("convolution_kernels", "solutions")
    block_sum = module_of("memory_and_warps", "solutions").block_sum
    tiles = module_of("tiles", "solutions")
    rng = np.random.default_rng(0)
    x = rng.standard_normal(10_001).astype(np.float32)
    table = x[: 64 * 96].reshape(64, 96)
    flat = (40, 256)
    tiled = ((3, 2), (32, 32))
    a = rng.standard_normal((70, 96)).astype(np.float32)
    b = rng.standard_normal((96, 130)).astype(np.float32)
    product = a.astype(np.float64) @ b
    image = rng.standard_normal((1, 32, 16, 16)).astype(np.float32)
    w = rng.standard_normal((64, 32, 3, 3)).astype(np.float32)
    bias = rng.standard_normal(64).astype(np.float32)
    y = conv2d(image, w, bias, 1, 1)
    by_tiles = (image, w.reshape(64, 288), bias, 3, 3, 1, 1)
    ones = np.full(10_001, 0.5, np.float32)  # sums of them are exact
    return {
        "shifted copy": Counted(shifted_copy, *flat, (x,), x[1:]),
        "strided copy": Counted(strided_copy, *flat, (x,), x[::2]),
        "transpose": Counted(transposed(32), *tiled, (table,), table.T),
        "padded transpose": Counted(transposed(33), *tiled, (table,), table.T),
        "polynomial": Counted(polynomial, *flat, (x,), (x * 3 + 2) * x + 1),
        "polynomial in float64": Counted(polynomial64, *flat, (x,), (x * 3 + 2) * x + 1),
        "copy by four": Counted(vector_copy, 10, 256, (x[:10_000],), x[:10_000]),
        "tree sum": Counted(block_sum, 79, 128, (ones,), np.array([ones.sum()]), 0.0),
        "coalesced matmul": Counted(
            tiles.matmul_coalesced,
            (5, 9),
            (32, 8),
            (a, b),
            product,
        ),
        "tiled matmul": Counted(tiles.matmul_tiled, (5, 3), (32, 32), (a, b), product),
        "matmul in registers": Counted(
            tiles.matmul_registers,
            (3, 2),
            (32, 8),
            (a, b),
            product,
        ),
        "direct convolution": Counted(
            convolution_kernels.conv2d_kernel, 128, 128, (image, w, bias, 1, 1), y
        ),
        "implicit GEMM": Counted(implicit_gemm, (8, 2), (32, 32), by_tiles, y),
    }


def launch() -> None:
    """Each kernel once, on the GPU; what `ncu` watches. A kernel that is wrong stops it."""
    for name, case in cases().items():
        y = cuda.to_device(case.output())
        arrays = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in case.arguments]
        case.kernel[case.grid, case.block](*arrays, y)
        if not np.allclose(y.copy_to_host(), case.right, rtol=1e-5, atol=1e-3):
            raise SystemExit(f"{name}: the kernel's result is wrong.")


if __name__ == "__main__":
    launch()
