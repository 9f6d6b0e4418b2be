"""Kernels that a network is made of, each readable beside its formula, with its NumPy oracle.

Each module has kernels, and for each operation a function `plan_<operation>(sizes)`: the kernel
with the grid and the block to launch it on.

    plan = plan_matmul(M, N)
    plan.kernel[plan.grid, plan.block](a, b, c, M, N, K)

The same source runs on a GPU and on the SIMT machine, and compiles for any GPU (`compile_report`).
"""

from collections import namedtuple
from math import prod
from typing import Any


class Plan(namedtuple("Plan", "kernel grid block")):
    """A launch: `kernel[grid, block](...)`; ValueError for a grid without blocks.

    grid: how many blocks, block: how many threads; a number each, or up to three.
    """

    def __new__(cls, kernel: Any, grid: Any, block: Any) -> "Plan":
        if min(grid if isinstance(grid, tuple) else [grid]) < 1:
            raise ValueError(f"{kernel.__name__}: no block has work: let all sizes be 1 or more.")
        return super().__new__(cls, kernel, grid, block)


def thread_each(kernel: Any, shape: tuple[int, ...], threads: int = 128) -> Plan:
    """A launch with a thread for each element of an array of this shape."""
    return Plan(kernel, -(-prod(shape) // threads), threads)
