"""The board's LEDs and buttons behind two AXI GPIO blocks (PG144), and the processor's own pins."""

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware import addresses

DATA, TRISTATE = 0x0, 0x4
REGISTERS = (0x0, 0x4, 0x8, 0xC)  # data and tristate of both channels
INTERRUPTS = (0x11C, 0x120, 0x128)  # present in the block, never raised here
PINS = range(906, 906 + 118)  # of the processor, as Linux counts them on a Zynq-7000


class AxiGpio:
    """One channel of `width` wires, all outputs or all inputs.

    `pins` is what is at its wires: what was written to outputs, what a finger does to inputs.
    """

    size = addresses.SIZE

    def __init__(self, name: str, base: int, width: int, inputs: bool) -> None:
        self.name = name
        self.base = base
        self.width = width
        self.inputs = inputs
        self.pins = 0
        self._others = dict.fromkeys(REGISTERS[1:], 0)

    def read(self, offset: int) -> int:
        """A register's value; raises BoardError where there is none."""
        self._refuse(offset)
        return self.pins if offset == DATA else self._others.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Writes a register; the data of inputs does not change."""
        self._refuse(offset)
        if offset != DATA:
            self._others[offset] = value
        elif not self.inputs:
            self.pins = value & ((1 << self.width) - 1)

    def _refuse(self, offset: int) -> None:
        if offset not in REGISTERS + INTERRUPTS:
            raise BoardError(
                f"{self.name} has no register at offset 0x{offset:X}; it has data and direction of "
                "two channels at 0x0, 0x4, 0x8 and 0xC."
            )


class ProcessorPins:
    """The processor's GPIO, as Linux offers it in /sys/class/gpio: pins that keep their values."""

    base_path = f"/sys/class/gpio/gpiochip{PINS.start}"

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._exported: set[int] = set()

    def export(self, pin: int, direction: str) -> str:
        """An id for a pin; raises BoardError for a pin or direction that is not there."""
        if pin not in PINS:
            raise BoardError(f"There is no pin {pin}; there are {PINS.start} to {PINS.stop - 1}.")
        if direction not in ("in", "out"):
            raise BoardError(f"A pin's direction is 'in' or 'out', not {direction[:20]!r}.")
        self._exported.add(pin)
        return f"pin-{pin}"

    def read(self, name: str) -> int:
        """0 or 1."""
        return self._values.get(self._pin(name), 0)

    def write(self, name: str, value: int) -> None:
        """Keeps 0 or 1."""
        if value not in (0, 1):
            raise BoardError(f"A pin is 0 or 1, not {value}.")
        self._values[self._pin(name)] = value

    def unexport(self, name: str) -> None:
        """Gives the pin back."""
        self._exported.discard(self._pin(name))

    def is_exported(self, name: str) -> bool:
        """Whether somebody has it."""
        return self._pin(name) in self._exported

    def _pin(self, name: str) -> int:
        numbers = {f"pin-{pin}": pin for pin in PINS}
        if name not in numbers:
            raise BoardError(f"No pin has the id {name[:40]!r}: ask for one by its number.")
        return numbers[name]
