"""How pairs are registered, and the arguments that several of them take.

`@races(cure, ...)` registers a faulty kernel: `cure` is a pattern that the cure of every race
must match; {A} in it is the line with the comment `# A`. `@mended(faulty)` registers its twin, or
several that are launched one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import f32, integers, zeros

N = 64


@dataclass
class Pair:
    """A faulty kernel, its cure, and the twins that are right."""

    kernel: object
    cure: str
    arguments: Callable
    oracle: Callable  # what the last argument holds after the mended launches
    grid: int = 1
    block: int = N
    helper: object = None  # the device function with the marked lines
    twins: list = field(default_factory=list)


PAIRS: dict[str, Pair] = {}


def races(cure, arguments, oracle, grid=1, block=N, helper=None):
    """Registers a faulty kernel under its name."""

    def register(kernel):
        PAIRS[kernel.py_func.__name__] = Pair(kernel, cure, arguments, oracle, grid, block, helper)
        return kernel

    return register


def mended(faulty):
    """Registers a twin of the faulty kernel; launched in the order of their registration."""

    def register(kernel):
        PAIRS[faulty.py_func.__name__].twins.append(kernel)
        return kernel

    return register


def vector(n, m=None):
    return lambda r: (f32(r, n), zeros(m or n))


def keys(n, bins, dtype=np.int64):
    return lambda r: (integers(r, 0, bins, n), zeros(bins, dtype=dtype))


def count(x, h):
    return np.bincount(x, minlength=h.size)


def whole(n, low=0, high=9, start=0, dtype=np.int64):
    """Integers, and one cell that holds `start`."""
    return lambda r: (integers(r, low, high, n, dtype=dtype), np.full(1, start, dtype))


def tables(r):
    return integers(r, 0, 4, N), zeros(4, 1, dtype=np.int64)


def count_rows(x, h):
    return np.bincount(x, minlength=4).reshape(4, 1)
