"""One channel of an AXI DMA: its control and status registers, bit by bit (PG021)."""

from labkit.fpga.board.hardware.memory import Buffer

RUN, RESET = 1 << 0, 1 << 2  # of DMACR
CONTROL_AFTER_RESET = 0x0001_0002
HALTED, IDLE, INTERNAL_ERROR, DECODE_ERROR = 1 << 0, 1 << 1, 1 << 4, 1 << 6  # of DMASR
DONE_INTERRUPT, ERROR_INTERRUPT = 1 << 12, 1 << 14
ERRORS = 0b111 << 4
INTERRUPTS = 0b111 << 12


class Channel:
    """One direction: its registers, and the buffer that its transfer is in."""

    def __init__(self, sending: bool) -> None:
        self.sending = sending
        self.name = "send" if sending else "receive"
        self.reset()

    def reset(self) -> None:
        """As after power-on."""
        self.control = CONTROL_AFTER_RESET
        self.flags = 0  # of DMASR: idle, errors and interrupts
        self.address = 0
        self.length = 0
        self.buffer: Buffer | None = None  # while a transfer is running
        self.fault = ""  # to be told once
        self.asked = 0  # reads in a row that told the client nothing new

    @property
    def status(self) -> int:
        """DMASR."""
        stopped = not self.control & RUN
        return self.flags | (HALTED if stopped else 0)

    def halt(self, error: int, sentence: str) -> None:
        """Ends with an error; only a reset starts it again."""
        self.control &= ~RUN
        self.flags = (self.flags & ~IDLE) | error | ERROR_INTERRUPT
        self.buffer = None
        self.fault = sentence
