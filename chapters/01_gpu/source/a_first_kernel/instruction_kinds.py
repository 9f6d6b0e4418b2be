"""What the instructions of a compiled kernel are for."""

from collections.abc import Callable

import numpy as np

from labkit.gpu import compile_report
from labkit.gpu.ptx import Instruction, instructions
from labkit.provenance import Quantity, compiled

ARCH = "sm_75"  # of a T4
BY = f"NVVM V13.0.88 and nvJitLink for {ARCH}, stored with the course"
KINDS = ("its arguments", "read and write arrays", "float64", "the maximum", "all others")
# The lesson's kernels by name, in all and by kind, for machines without the compiler.
STORED = {
    "with_zero": [29, 5, 2, 0, 1, 21],
    "with_plain_0": [31, 5, 2, 4, 0, 20],
}


def instruction_counts(kernel: Callable, *arrays: np.ndarray) -> list[Quantity]:
    """How many instructions of PTX, NVIDIA's assembly language, a kernel has for a T4: in all, and
    of each of KINDS. Without a compiler, the stored ones of the lesson's kernels.
    (Lesson a_first_kernel.)
    """
    try:
        made = compile_report(kernel, arrays, ARCH)
    except ImportError:  # on macOS, for instance
        stored = STORED[kernel.py_func.__name__]
        return [compiled(count, "instructions", BY) for count in stored]
    code = instructions(made.ptx)
    kinds = [_kind(instruction) for instruction in code]
    found = [len(code)] + [kinds.count(kind) for kind in KINDS]
    return [compiled(count, "instructions", made.by) for count in found]


def _kind(instruction: Instruction) -> str:
    name = instruction.name
    if name.startswith("ld.param"):
        return "its arguments"
    if name.startswith(("ld.", "st.")):
        return "read and write arrays"
    if "f64" in name:
        return "float64"
    if name.startswith("max"):
        return "the maximum"
    return "all others"
