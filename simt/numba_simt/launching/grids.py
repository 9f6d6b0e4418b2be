"""How large a grid and a block may be: what is given, checked against CUDA's limits."""

import math
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from numba_simt.errors import Misfit
from numba_simt.execution.structs import WARP

Size = int | Sequence[int]  # of a grid or block, as it is given: one to three numbers
BLOCK = (1024, 1024, 64)
GRID = (2**31 - 1, 65535, 65535)
THREADS = 1024  # per block
SHARED = 49152  # bytes of shared memory that a block gets without opting in to more
WARPS = 2**31  # that the machine can count


def grid_size(given: object) -> tuple[int, int, int]:
    """Blocks along x, y and z; Misfit for what CUDA refuses."""
    return _size("grid", given, GRID)


def block_size(given: object, launch_bounds: object = None) -> tuple[int, int, int]:
    """Threads along x, y and z; Misfit for what CUDA, or the kernel's launch_bounds, refuse."""
    block = _size("block", given, BLOCK)
    threads = math.prod(block)
    if threads > THREADS:
        raise Misfit(f"the block {given} has {threads:,} threads, more than {THREADS:,}.")
    if launch_bounds:
        most = launch_bounds if isinstance(launch_bounds, Integral) else launch_bounds[0]
        if threads > most:
            raise Misfit(f"the block has {threads} threads, and launch_bounds allows {most}.")
    return block


def check_warps(given: object, grid: tuple, block: tuple) -> None:
    """Misfit for more warps than the machine can count."""
    warps = -(-math.prod(block) // WARP)
    if math.prod(grid) * warps >= WARPS:
        raise Misfit(f"the grid {given} has more warps than the SIMT machine can count, 2^31.")


def _size(what: str, given: object, limits: tuple[int, ...]) -> tuple[int, int, int]:
    if isinstance(given, np.ndarray) and given.ndim:
        raise Misfit(f"the {what} is an array: the order is kernel, blocks, threads, arguments.")
    sizes = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(sizes) <= 3:
        raise Misfit(f"the {what} is {given}: it needs one to three numbers.")
    for size, limit, axis in zip(sizes, limits, "xyz", strict=False):
        if isinstance(size, bool) or not isinstance(size, Integral) or not 1 <= size <= limit:
            number = f"an integer from 1 to {limit:,}"
            raise Misfit(f"the {what} is {given}, but its {axis} must be {number}.")
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    return x, y, z
