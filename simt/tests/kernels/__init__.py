"""Kernels for the machine's tests: faulty ones by kind of fault, correct ones with NumPy oracles.

They follow the CUDA programming guide and know nothing of the detector.  With
NUMBA_ENABLE_CUDASIM=1 the same source runs on Numba's own simulator.
"""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    from numba import cuda

    load_float32x4 = store_float32x4 = None  # the simulator has none
else:
    from numba_simt import cuda  # the SIMT machine, also where there is a GPU
    from numba_simt.extensions.vector import load_float32x4, store_float32x4

__all__ = ["FULL", "Case", "cuda", "f32", "integers", "load_float32x4", "store_float32x4", "zeros"]
FULL = 0xFFFFFFFF  # every lane of a warp


@dataclass(frozen=True)
class Case:
    """A kernel, its launch, and its arguments drawn from a seeded generator.

    A correct kernel has an `oracle`: called with the arguments before the launch it returns what
    the last ones hold afterwards (one array, or a tuple); all other arrays stay as they were.
    A faulty kernel has the `kinds` of hazard that name its fault and the `pairs` of marked lines.
    """

    kernel: object
    arguments: Callable[[np.random.Generator], tuple]
    grid: int | tuple = 1
    block: int | tuple = 32
    shared: int = 0
    oracle: Callable | None = None
    notes: bool = False  # a note may be reported, as the docstring says
    family: str = ""
    kinds: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    helper: object = None  # the device function that holds the marked lines

    @property
    def name(self) -> str:
        return self.kernel.py_func.__name__

    def fresh(self, seed: int) -> tuple:
        return self.arguments(np.random.default_rng(seed))

    def launch(self, arguments: tuple) -> None:
        self.kernel[self.grid, self.block, 0, self.shared](*arguments)

    def expected(self, arguments: tuple) -> list:
        """What each argument holds after the launch."""
        results = self.oracle(*arguments)
        results = list(results) if isinstance(results, tuple) else [results]
        return [*arguments[: len(arguments) - len(results)], *results]

    def line(self, mark: str) -> int:
        """Number in the file of the one line that ends with the comment `# mark`."""
        source, first = inspect.getsourcelines((self.helper or self.kernel).py_func)
        found = [first + k for k, text in enumerate(source) if text.rstrip().endswith(f"# {mark}")]
        assert len(found) == 1, f"{self.name}: mark {mark} on lines {found}"
        return found[0]

    def line_pairs(self) -> set[frozenset[int]]:
        return {frozenset(map(self.line, pair)) for pair in self.pairs}


def f32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def integers(rng: np.random.Generator, low: int, high: int, *shape: int, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def zeros(*shape: int, dtype=np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)
