"""What a processor sees at an address: peripherals, each with 32-bit registers at offsets."""

from dataclasses import dataclass, field
from typing import Protocol


class Peripheral(Protocol):
    """Something at an address range of the board.

    `read` and `write` take the offset of a word from `base`, and raise BoardError for what real
    hardware would not answer.
    """

    name: str
    base: int
    size: int

    def read(self, offset: int) -> int:
        """The word at an offset."""

    def write(self, offset: int, value: int) -> None:
        """Writes the word at an offset."""


@dataclass(frozen=True)
class Register:
    """A register as `register_map` shows it.

    offset   in bytes from the peripheral's base
    fields   name -> (lowest bit, bits)
    """

    name: str
    offset: int
    access: str = "read-write"
    description: str = ""
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)
