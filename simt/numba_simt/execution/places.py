"""Names for what the machine knows by number: lines, threads, elements of arrays."""

import math
from collections.abc import Sequence

from numba_simt.execution.structs import WARP, Array
from numba_simt.program import Program

Place = tuple[int, int, int]  # x, y, z


class Places:
    """The names of one launch."""

    def __init__(
        self, program: Program, grid: Place, block: Place, arrays: Sequence[Array]
    ) -> None:
        self.program = program
        self.grid = grid
        self.block = block
        self.arrays = arrays
        self.threads = math.prod(block)  # of a block, as are the warps
        self.warps = -(-self.threads // WARP)

    def line(self, number: int) -> int | None:
        """The number of a line in its file; None for no line, which is -1."""
        return self.program.lines[number].number if number >= 0 else None

    def file(self, number: int) -> str:
        """The path of a line's file."""
        return self.program.lines[number].filename

    def quoted(self, number: int) -> str:
        """A line with its text; of a function in another file, behind the call."""
        line = self.program.lines[number]
        quoted = f"line {line.number} (`{line.text}`)"
        call = line.call
        if not call:
            return quoted
        return f"line {call.number} (`{call.text}`), inside {line.function}, {quoted}"

    def is_literal(self, register: int) -> bool:
        """Whether a register holds a constant of the source, such as the -1 of x[-1]."""
        return any(register == ~number for number, _, _ in self.program.constants)

    def thread(self, warp: int, lane: int) -> tuple[Place, Place] | None:
        """(block, thread) of a lane; None for no warp, which is -1."""
        if warp < 0:
            return None
        block, warp_in_block = divmod(warp, self.warps)
        thread = warp_in_block * WARP + lane
        return unravel(block, self.grid), unravel(thread, self.block)

    def named(self, warp: int, lane: int) -> str:
        """`thread 3 of block (1, 0)`"""
        block, thread = self.thread(warp, lane)
        return f"thread {_short(thread, self.block)} of block {_short(block, self.grid)}"

    def element(self, array: int, offset: int) -> str:
        """`tile[3, 4]` for a byte offset from the start of the array's memory."""
        spec = self.program.arrays[array]
        entry = self.arrays[array]
        start = entry.offset if spec.space == "global" else entry.base or 0
        rest = offset - start
        index = [0] * entry.dimensions
        largest_first = sorted(range(entry.dimensions), key=lambda d: -abs(entry.strides[d]))
        for d in largest_first:
            if entry.strides[d] > 0:
                index[d], rest = divmod(rest, entry.strides[d])
        inside = all(0 <= i < n for i, n in zip(index, entry.shape, strict=False))
        if inside and not rest:
            return f"{spec.name}{index}"
        return f"{spec.name} (byte {offset - start})"


def unravel(number: int, size: Place) -> Place:
    """The x, y, z of a number that counts along x first."""
    x, y, _ = size
    return number % x, number // x % y, number // (x * y)


def _short(place: Place, size: Place) -> str:
    """(3, 0, 0) of a one-dimensional block is "3"."""
    x, y, z = place
    if size[2] > 1:
        return str((x, y, z))
    if size[1] > 1:
        return str((x, y))
    return str(x)
