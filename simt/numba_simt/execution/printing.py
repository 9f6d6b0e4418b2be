"""What a kernel prints: the C core keeps a row for each line, and Python writes the lines."""

import struct
import sys
import warnings

import numpy as np

from numba_simt.execution.structs import Machine
from numba_simt.program import Program

LINES = 100_000  # of a launch; what is printed after them is counted and dropped


class Printed:
    """Room for the lines of a launch of a kernel that prints; the machine fills it."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self._prints = program.prints
        self._machine = machine
        width = 1 + max(struct.calcsize(one.packed) // 8 for one in self._prints)
        self._rows = np.empty((LINES, width), np.int64)  # which print it is, its numbers
        machine.printed = self._rows.ctypes.data
        machine.max_printed = LINES
        machine.printed_width = width

    def say(self) -> None:
        """Writes the lines to sys.stdout, of each warp in the order of its lanes."""
        count = self._machine.n_printed
        lines = []
        for row in self._rows[:count]:
            one = self._prints[row[0]]
            numbers = struct.unpack_from(one.packed, row, 8)
            lines.append(one.text % numbers)
        sys.stdout.write("".join(lines))
        if count > LINES:
            warnings.warn(
                f"The kernel printed {count:,} lines; the SIMT machine keeps the first "
                f"{LINES:,} of a launch, and the others were dropped.",
                RuntimeWarning,
                stacklevel=2,
            )
