"""The board's DDR: buffers with physical addresses, in a pool that is bounded.

A Zynq-7000 board has 512 MiB at the addresses below 0x2000_0000. Linux keeps the upper end of it
for buffers in one piece, which is what `pynq.allocate` gives.
"""

import mmap
import secrets
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from labkit.fpga.board.errors import BoardError

DDR = range(0x0010_0000, 0x2000_0000)
POOL_BYTES = 128 * 2**20  # the pool for buffers, as on the Pynq images
POOL = range(DDR.stop - POOL_BYTES, DDR.stop)
PAGE = 4096
MOST_BUFFERS = 1024


@dataclass
class Buffer:
    """So many bytes in one piece. `freed` stays visible to whoever still knows it."""

    name: str
    address: int
    size: int
    freed: bool = field(default=False)

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + self.size

    def __str__(self) -> str:
        return f"0x{self.address:08X} to 0x{self.end - 1:08X} ({self.size:,} bytes)"


class Memory:
    """The pool, its buffers, and the latest ones that were freed."""

    def __init__(self) -> None:
        self._pool = mmap.mmap(-1, POOL_BYTES)  # takes no room until it is written
        self.bytes = np.frombuffer(self._pool, np.uint8)
        self._buffers: dict[str, Buffer] = {}
        self._freed: list[Buffer] = []

    @property
    def in_use(self) -> int:
        """How many buffers there are."""
        return len(self._buffers)

    def allocate(self, size: int) -> Buffer:
        """A new buffer of zeros; raises BoardError when there is no room."""
        if size < 1:
            raise BoardError(f"A buffer has at least one byte; {size} were asked for.")
        if len(self._buffers) >= MOST_BUFFERS:
            raise BoardError(
                f"The board has {MOST_BUFFERS} buffers already: free those that you no longer "
                "need, with `del` or `freebuffer()`."
            )
        address = self._gap(size)
        name = f"buffer-{secrets.token_hex(16)}"  # which no other caller can guess
        buffer = Buffer(name, address, size)
        self._buffers[buffer.name] = buffer
        self._freed = [old for old in self._freed if not _overlap(old, buffer)]
        self.view(buffer)[:] = 0
        return buffer

    def free(self, name: str) -> Buffer:
        """Frees a buffer; what it held stays until another one takes its place."""
        buffer = self.buffer(name)
        buffer.freed = True
        del self._buffers[name]
        self._freed = [*self._freed, buffer][-MOST_BUFFERS:]
        return buffer

    def buffer(self, name: str) -> Buffer:
        """The buffer of that name; raises BoardError for one that was freed or never was."""
        if name in self._buffers:
            return self._buffers[name]
        freed = next((buffer for buffer in self._freed if buffer.name == name), None)
        if freed:
            raise BoardError(
                f"The buffer {freed} was freed. On a real board its memory may belong to "
                "somebody else by now: allocate a new one."
            )
        raise BoardError(
            f"There is no buffer {name[:60]!r} on this board: it belongs to a board that was "
            "stopped, or its place was taken after it was freed. Allocate a new one."
        )

    def view(self, buffer: Buffer) -> np.ndarray:
        """The bytes of a buffer, in place."""
        return self.bytes[buffer.address - POOL.start : buffer.end - POOL.start]

    def inside(self, address: int, size: int) -> Buffer:
        """The buffer that holds all of these bytes; raises BoardError where none does."""
        for buffer in self._buffers.values():
            if buffer.address <= address and address + size <= buffer.end:
                return buffer
        raise BoardError(self._whose(address, size))

    def host_address(self, address: int) -> int:
        """Where a physical address of the pool lies in this process."""
        return self.bytes.ctypes.data + address - POOL.start

    def _gap(self, size: int) -> int:
        """The lowest place for so many bytes that begins a page."""
        taken = sorted((buffer.address, buffer.end) for buffer in self._buffers.values())
        edges = [(POOL.start, POOL.start), *taken, (POOL.stop, POOL.stop)]
        for (_, end), (start, _) in pairwise(edges):
            first = -(-end // PAGE) * PAGE
            if first + size <= start:
                return first
        used = sum(buffer.size for buffer in self._buffers.values())
        raise BoardError(
            f"There is no room for a buffer of {size:,} bytes: the pool has {POOL_BYTES:,}, and "
            f"{len(self._buffers)} buffers hold {used:,}. Free some, with `del` or `freebuffer()`; "
            "where other programs or users hold them, start the board anew."
        )

    def _whose(self, address: int, size: int) -> str:
        """Why these bytes may not be touched."""
        where = f"The {size:,} bytes from 0x{address:08X} on"
        for buffer in self._freed:
            if buffer.address <= address < buffer.end:
                return f"{where} lie in the buffer {buffer}, which was freed."
        for buffer in self._buffers.values():
            if buffer.address <= address < buffer.end:
                return f"{where} leave the buffer {buffer} at its end."
        if address in DDR:
            return f"{where} belong to no buffer: on a real board they are Linux's or a program's."
        return f"{where} are outside the DDR, 0x{DDR.start:08X} to 0x{DDR.stop - 1:08X}."


def _overlap(one: Buffer, other: Buffer) -> bool:
    return one.address < other.end and other.address < one.end
