"""The programmable logic with a design in it: its registers, its DMA, and the board's pins."""

from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware import addresses, silence
from labkit.fpga.board.hardware.dma import QUIET, AxiDma
from labkit.fpga.board.hardware.dma_driver import ANSWER_LIMIT, DmaRun
from labkit.fpga.board.hardware.gpio import AxiGpio
from labkit.fpga.board.hardware.memory import Memory
from labkit.fpga.board.hardware.registers import Peripheral
from labkit.fpga.board.traffic import Traffic

ACCESS_CYCLES = 100  # of the design's clock, which an access takes: a microsecond at 100 MHz


class Fabric:
    """A design that was loaded: compiled, reset, and wired to the board."""

    def __init__(self, design: Design, memory: Memory, traffic: Traffic) -> None:
        self.design = design
        self._run = DmaRun(design.model, design.wires)
        self.leds = AxiGpio("leds_gpio", addresses.LEDS, design.leds, inputs=False)
        self.buttons = AxiGpio("btns_gpio", addresses.BUTTONS, design.buttons, inputs=True)
        self.dma: AxiDma | None = None
        self.peripherals: list[Peripheral] = [self.leds, self.buttons]
        if design.has_dma:
            self.dma = AxiDma(
                self._run, design.top, design.wires, memory, traffic, design.length_bits
            )
            self.peripherals.append(self.dma)
        if design.wires.address_bits:
            self.peripherals.append(RtlRegisters(design, self._run, self.dma, traffic))

    @property
    def cycle(self) -> int:
        """Clock cycles since it was loaded."""
        return self._run.state().cycle

    def free(self) -> None:
        """Takes the design out; further calls are not allowed."""
        self._run.free()


class RtlRegisters:
    """The AXI4-Lite port of the learner's own module."""

    base = addresses.RTL
    size = addresses.SIZE

    def __init__(self, design: Design, run: DmaRun, dma: AxiDma | None, traffic: Traffic) -> None:
        self.name = design.instance
        self._top = design.top
        self._bytes = 1 << design.wires.address_bits
        self._run = run
        self._dma = dma
        self._traffic = traffic

    def read(self, offset: int) -> int:
        """Reads through the module's port; the clock goes on as it does during a real access."""
        self._refuse(offset)
        if self._run.advance(ACCESS_CYCLES, QUIET) == "unsettled":
            raise BoardError(silence.LOOP.format(top=self._top))
        response, value = self._run.read(offset)
        self._after(response, offset, "read", value)
        return value

    def write(self, offset: int, value: int) -> None:
        """Writes through the module's port."""
        self._refuse(offset)
        response = self._run.write(offset, value)
        self._after(response, offset, "write", value)
        if self._dma:
            self._dma.disturbed()

    def _after(self, response: int, offset: int, kind: str, value: int) -> None:
        if self._dma:
            self._dma.refresh()
        what = f"0x{offset:02X} = {value}"
        self._traffic.note(self._run.state().cycle, self.name, kind, what)
        where = f"{self.name} at offset 0x{offset:02X}"
        if response == -2:
            raise BoardError(silence.LOOP.format(top=self._top))
        if response == -1:
            raise BoardError(
                f"{where} has not answered in {ANSWER_LIMIT:,} cycles ({kind}). A real processor "
                "hangs here for ever: the module has to answer every access."
            )
        if response:
            name = {1: "EXOKAY", 2: "SLVERR", 3: "DECERR"}[response]
            raise BoardError(
                f"{where} answers {name} ({kind}): it has no such register, or refuses the access. "
                "On a real board the program ends with a bus error."
            )

    def _refuse(self, offset: int) -> None:
        if offset >= self._bytes:
            raise BoardError(
                f"{self.name} has {self._bytes} bytes of registers, and 0x{offset:X} is behind "
                f"them: it cannot tell it from 0x{offset % self._bytes:X}."
            )
