"""Kernels that a network is made of, each readable beside its formula, with its NumPy oracle.

Each module has kernels, and for each operation a function `plan_<operation>(sizes)`: the kernel
with the grid and the block to launch it on.

    plan = plan_matmul(M, N)
    plan.kernel[plan.grid, plan.block](a, b, c, M, N, K)

The same source runs on a GPU and on the SIMT machine, and compiles for any GPU (`compile_report`).

Modules (written by tools/modules.py):

direct_convolution  Direct convolution, each kernel like its formula, which the two lessons on them
                    derive.
implicit_gemm       Convolution as a matrix product whose large matrix is never stored (lesson
                    convolution_kernels).
linear              The linear layer: y = x w^T + b and its gradients, as three products of register
                    tiles.
matmul              c = a b: a[M, K], b[K, N], c[M, N], float32, row-major, of any size.
places              Which element of an array with four axes is whose, in indices that may be
                    negative.
pointwise           Kernels that treat each element by itself: copy, ReLU, bias, forward and
                    backward; SGD's step.
pooling             Max-pooling, forward and backward, and bias, ReLU and pooling in one pass over
                    memory.
reductions          Sums: of a warp by shuffles, of a block through shared memory, of rows and of
                    columns.
register_tiles      The upper rungs of the matmul ladder: each thread computes many elements of c,
                    from registers.
softmax             Softmax of rows and its cross-entropy loss, forward and backward, safe for large
                    logits.
tensor_core         c = a b^T on tensor cores: a[M, K] and b[N, K] of float16, c[M, N] of float32.
tile_factory        `register_tile`: the 2-D register tile as a factory, generic in what it
                    multiplies.
tile_sizes          Sizes of register tiles: which one to take, how many threads share it, how to
                    launch it.
vectors             Elements of a matrix, one by one or four neighbours at once, with a guard at its
                    edges.
"""

from math import prod
from typing import Any, NamedTuple


class _Plan(NamedTuple):
    kernel: Any
    grid: Any
    block: Any


class Plan(_Plan):
    """A launch: `kernel[grid, block](...)`; ValueError for a grid without blocks.

    grid: how many blocks, block: how many threads; a number each, or up to three.
    """

    def __new__(cls, kernel: Any, grid: Any, block: Any) -> "Plan":
        """Refuses a grid without blocks: there CUDA would say no more than "invalid argument"."""
        sizes = grid if isinstance(grid, tuple) else (grid,)
        if min(sizes) < 1:
            raise ValueError(f"{kernel.__name__}: no block has work: let all sizes be 1 or more.")
        return super().__new__(cls, kernel, grid, block)


def thread_each(kernel: Any, shape: tuple[int, ...], threads: int = 128) -> Plan:
    """A launch with a thread for each element of an array of this shape."""
    blocks = -(-prod(shape) // threads)
    return Plan(kernel, blocks, threads)
