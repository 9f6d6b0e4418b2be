"""Windows onto the bus: what a client gets from `get_mmio`, and reads and writes through.

A window's id says where it is, so that nothing has to be kept for it, and that it still holds after
the board was started anew.
"""

import re
from dataclasses import dataclass

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.machine import WORD, Machine
from labkit.fpga.board.hardware.memory import DDR

LARGEST = 1 << 30  # bytes of a window
MOST_AT_ONCE = 1 << 16  # bytes of one write
_ID = re.compile(r"window-([0-9a-f]{1,16})-([0-9a-f]{1,16})")


@dataclass(frozen=True)
class Window:
    """So many bytes of addresses."""

    base: int
    length: int

    @property
    def name(self) -> str:
        """Its id."""
        return f"window-{self.base:x}-{self.length:x}"

    def read(self, machine: Machine, offset: int, length: int, order: str) -> int:
        """1, 2, 4 or 8 bytes at an offset; `order` is that of the two words of 8 bytes."""
        if length not in (1, 2, 4, 8):
            raise BoardError(f"A read has 1, 2, 4 or 8 bytes, not {length}.")
        self._refuse(offset, max(length, WORD))
        low = machine.read_word(self.base + offset)
        if length < 8:
            return low & ((1 << 8 * length) - 1)
        high = machine.read_word(self.base + offset + WORD)
        if order == "big":
            low, high = high, low
        return low | high << 32

    def write(self, machine: Machine, offset: int, data: bytes) -> None:
        """Writes whole words from an offset on."""
        if not data or len(data) % WORD or len(data) > MOST_AT_ONCE:
            raise BoardError(
                f"A write has whole words of {WORD} bytes, at most {MOST_AT_ONCE:,} bytes at once; "
                f"this one has {len(data):,}."
            )
        self._refuse(offset, len(data))
        for place in range(0, len(data), WORD):
            value = int.from_bytes(data[place : place + WORD], "little")
            machine.write_word(self.base + offset + place, value)

    def _refuse(self, offset: int, length: int) -> None:
        if offset % WORD:
            raise BoardError(f"The offset 0x{offset:X} is not a multiple of {WORD}.")
        if offset + length > self.length:
            raise BoardError(
                f"The offset 0x{offset:X} is outside this MMIO: it has {self.length:,} bytes from "
                f"0x{self.base:08X} on."
            )


def opened(machine: Machine, base: int, length: int) -> Window:
    """A new window; raises BoardError where nothing is at its base, or it is too large."""
    if base % WORD or not WORD <= length <= LARGEST:
        raise BoardError(
            f"An MMIO begins at a multiple of {WORD} and has {WORD} to {LARGEST:,} bytes; this one "
            f"has {length:,} from 0x{base:X} on."
        )
    if base in DDR:
        machine.memory.inside(base, WORD)
    else:
        machine.peripheral(base)
    return Window(base, length)


def known(name: str) -> Window:
    """The window of an id; raises BoardError for what is none."""
    found = _ID.fullmatch(name)
    base, length = (int(part, 16) for part in found.groups()) if found else (0, 0)
    if base % WORD or not WORD <= length <= LARGEST:
        raise BoardError(f"{name[:60]!r} is no id that get_mmio has given: make a new MMIO.")
    return Window(base, length)
