"""The whole board behind its services: memory, bus, pins, files and programmable logic.

One lock guards it: a client's calls come from several threads, and take effect one after the other.
"""

import threading
from collections.abc import Iterable

from labkit.fpga.board import files
from labkit.fpga.board.bitstream import digest_of
from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.fabric import Fabric
from labkit.fpga.board.hardware.gpio import ProcessorPins
from labkit.fpga.board.hardware.memory import DDR, Memory
from labkit.fpga.board.hardware.registers import Peripheral
from labkit.fpga.board.hardware.slcr import Slcr
from labkit.fpga.board.traffic import Traffic
from labkit.fpga.errors import RTLError

WORD = 4
LOGIC = range(0x4000_0000, 0xC000_0000)  # addresses that lead to the programmable logic


class Machine:
    """A Zynq-7000 with the designs that it can be configured with."""

    def __init__(self, designs: Iterable[Design] = ()) -> None:
        self.lock = threading.RLock()
        self.memory = Memory()
        self.slcr = Slcr()
        self.pins = ProcessorPins()
        self.traffic = Traffic()
        self.files = files.Files(self.configure)
        self.fabric: Fabric | None = None
        self._designs: dict[str, Design] = {}
        self._stopped = False
        self.accesses = 0  # reads and writes of registers in the programmable logic
        for design in designs:
            self.add(design)

    def add(self, design: Design) -> None:
        """Makes a design known: its bitstream can be loaded from now on."""
        with self.lock:
            self._designs[design.digest] = design

    def configure(self, firmware: str) -> None:
        """Loads the design that a file of /lib/firmware names."""
        content = self.files.read(files.FIRMWARE + firmware)
        digest = digest_of(content)
        if digest not in self._designs:
            raise BoardError(
                f"The bitstream {firmware[:80]} is of a design that this board does not know "
                f"({digest[:12]}): hand it to VirtualBoard, or call board.add(design)."
            )
        self.load(self._designs[digest])

    def load(self, design: Design) -> None:
        """Puts a design into the programmable logic, in the place of another."""
        try:
            fabric = Fabric(design, self.memory, self.traffic)
        except RTLError as error:
            raise BoardError(f"The design {design.top} cannot be loaded. {error}") from error
        self._unload()
        self.traffic.clear()
        self.fabric = fabric

    def stop(self) -> None:
        """Ends everything; a call that comes later is refused."""
        with self.lock:
            self._stopped = True
            self._unload()

    def refuse_stopped(self) -> None:
        """Raises BoardError when the board was stopped."""
        if self._stopped:
            raise BoardError("The board was stopped: its `with` block is over.")

    def free(self, name: str) -> None:
        """Frees a buffer, and ends a transfer in it."""
        buffer = self.memory.free(name)
        if self.fabric and self.fabric.dma:
            self.fabric.dma.freed(buffer)

    def peripheral(self, address: int) -> Peripheral:
        """What is at an address, apart from memory; raises BoardError where there is nothing."""
        there = [self.slcr, *(self.fabric.peripherals if self.fabric else [])]
        for one in there:
            if one.base <= address < one.base + one.size:
                return one
        if self.fabric is None and address in LOGIC:
            raise BoardError(
                f"No bitstream is loaded, so nothing answers at 0x{address:08X}, and a real "
                "processor hangs here. Load one: Overlay(board.bitstream)."
            )
        listed = ", ".join(f"{one.name} at 0x{one.base:08X}" for one in there)
        raise BoardError(
            f"Nothing is at 0x{address:08X} (DECERR); a real board hangs, or ends the program with "
            f"a bus error. There are {listed}. If the address is from an .hwh file, it was made "
            "for another bitstream."
        )

    def read_word(self, address: int) -> int:
        """The 32-bit word at an address."""
        if address in DDR:
            buffer = self.memory.inside(address, WORD)
            start = address - buffer.address
            data = self.memory.view(buffer)[start : start + WORD]
            return int.from_bytes(data.tobytes(), "little")
        one = self.peripheral(address)
        self.accesses += address in LOGIC
        return one.read(address - one.base)

    def write_word(self, address: int, value: int) -> None:
        """Writes a 32-bit word."""
        if address in DDR:
            buffer = self.memory.inside(address, WORD)
            start = address - buffer.address
            data = memoryview(value.to_bytes(WORD, "little"))
            self.memory.view(buffer)[start : start + WORD] = data
            return
        one = self.peripheral(address)
        self.accesses += address in LOGIC
        one.write(address - one.base, value)

    def _unload(self) -> None:
        if self.fabric:
            self.fabric.free()
        self.fabric = None
