"""Kernels that a network is made of, each readable beside its formula, with its NumPy oracle.

Each module has kernels, and for each operation a function `plan_<operation>(sizes)`: the kernel
with the grid and the block to launch it on.

    plan = plan_matmul(M, N)
    plan.kernel[plan.grid, plan.block](a, b, c, M, N, K)

The same source runs on a GPU and on the SIMT machine, and compiles for any GPU (`compile_report`).
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
