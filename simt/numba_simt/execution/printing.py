"""What a kernel prints: the C core keeps a row for each line, and Python writes the lines."""

import struct
import sys
import warnings

import numpy as np

from numba_simt.program import Program

LINES = 100_000  # of a launch; what is printed after them is counted and dropped


class Printed:
    """Room for the lines of a launch. A kernel that prints nothing needs none."""

    def __init__(self, program: Program) -> None:
        self._prints = program.prints
        self.width = 1 + max((struct.calcsize(one.packed) // 8 for one in self._prints), default=0)
        self.most = LINES if self._prints else 0
        self.rows = np.empty((self.most, self.width), np.int64)  # which print it is, its numbers

    def say(self, count: int) -> None:
        """Writes the lines to sys.stdout, of each warp in the order of its lanes.

        count   lines that the kernel printed, also those that were not kept
        """
        if not count:
            return
        lines = []
        for row in self.rows[:count]:
            one = self._prints[row[0]]
            numbers = struct.unpack_from(one.packed, row, 8)
            lines.append(one.text % numbers)
        sys.stdout.write("".join(lines))
        if count > self.most:
            warnings.warn(
                f"The kernel printed {count:,} lines; the SIMT machine keeps the first "
                f"{self.most:,} of a launch, and the others were dropped.",
                RuntimeWarning,
                stacklevel=2,
            )
