"""What the instructions of a compiled kernel are for."""

from collections.abc import Callable

import numpy as np

from labkit.gpu import compile_report
from labkit.gpu.ptx import Instruction, instructions
from labkit.provenance import Quantity, compiled

ARCH = "sm_75"  # of a T4
KINDS = ("its arguments", "read and write arrays", "float64", "the maximum", "all others")


def instruction_counts(kernel: Callable, *arrays: np.ndarray) -> list[Quantity]:
    """How many instructions of PTX, NVIDIA's assembly language, a kernel has for a T4: in all, and
    of each of KINDS.
    (Lesson a_first_kernel.)
    """
    made = compile_report(kernel, arrays, ARCH)
    code = instructions(made.ptx)
    found = [len(code)]
    kinds = [_kind(instruction) for instruction in code]
    found += [kinds.count(kind) for kind in KINDS]
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
