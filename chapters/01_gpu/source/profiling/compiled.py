"""What NVIDIA's compiler says of the lesson's kernels, and what stands in where there is none.

The compiler is missing on macOS, for instance. Then the SIMT machine's count of float64 operations
is left, and the registers are those that the compiler reports elsewhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.gpu import compile_report, profile
from labkit.gpu.compiled_kernel import CompileReport
from labkit.provenance import Quantity

REGISTERS = 32  # of a thread of case 3, as the compiler reports for sm_90


def report(kernel: Callable, x: np.ndarray, y: np.ndarray) -> CompileReport | None:
    """The compiler's report on kernel(x, y) for a T4; without the compiler, a printed sentence."""
    try:
        return compile_report(kernel, (x, y), "sm_75")
    except (ImportError, ValueError) as error:
        print(error)
        return None


def float64(kernel: Callable, x: np.ndarray, y: np.ndarray) -> list[Quantity | None]:
    """[float64 instructions as compiled for a T4, or None; float64 operations for each element]."""
    try:
        compiled = compile_report(kernel, (x, y), "sm_75").quantity("fp64")
    except (ImportError, ValueError):
        compiled = None
    blocks = int(np.ceil(x.size / 128))
    return [compiled, profile(kernel, blocks, 128, x, y).counters["flops_fp64"] / x.size]


def demand(make: Callable[[int], Any], room: int, x: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Registers of a thread, and bytes of shared memory of a block, of make(room) on an H200."""
    try:
        made = compile_report(make(room), (x, y), "sm_90")
    except (ImportError, ValueError):
        return REGISTERS, 4 * room + 4
    return made.registers, made.shared_bytes
