"""The registers of an AXI DMA in direct register mode (AMD's PG021), before its data movers.

The board's clock stands still between two calls of a client. A read of a status register lets it
run until the channel's transfer is done, so that a wait costs no more calls than it must. It stops
when no word has moved for `QUIET` cycles; a client that goes on asking then is told why.
"""

from collections.abc import Callable

import numpy as np

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware import addresses, silence
from labkit.fpga.board.hardware.dma_channel import (
    DECODE_ERROR,
    DONE_INTERRUPT,
    ERRORS,
    IDLE,
    INTERNAL_ERROR,
    INTERRUPTS,
    RESET,
    RUN,
    Channel,
)
from labkit.fpga.board.hardware.dma_driver import DmaRun, Transfer
from labkit.fpga.board.hardware.memory import Buffer, Memory
from labkit.fpga.board.hardware.wires import Wires
from labkit.fpga.board.traffic import Traffic

REGISTERS = (0x00, 0x04, 0x18, 0x1C, 0x28)  # DMACR, DMASR, address, its upper half, LENGTH
QUIET = 200_000  # cycles without a word moved, after which a stream stands still
POLL_CYCLES = 500_000  # at most, for one read of a status register
PATIENCE = 50  # reads of a status that does not change, before the client is told why


def memory_word(stream_word: int) -> int:
    """Bytes that the DMA moves at once from or to the memory, for a stream of such words."""
    return max(4, stream_word)


class AxiDma:
    """Both channels' registers. A channel is missing where the module has no stream."""

    base = addresses.DMA
    size = addresses.SIZE
    name = "axi_dma_0"

    def __init__(
        self,
        run: DmaRun,
        top: str,
        wires: Wires,
        memory: Memory,
        traffic: Traffic,
        length_bits: int = 26,
    ) -> None:
        self._run = run
        self._top = top
        self._wires = wires
        self._memory = memory
        self._traffic = traffic
        self._length_bits = length_bits
        self.watch: Callable[[Channel, np.ndarray], None] | None = None  # told of each transfer
        self.send = Channel(sending=True)
        self.receive = Channel(sending=False)

    def read(self, offset: int) -> int:
        """A register's value; of DMASR, after the clock has run as far as it had to."""
        channel, place = self._find(offset)
        if place == 0x04:
            return self._poll(channel)
        return {
            0x00: channel.control,
            0x18: channel.address,
            0x1C: 0,
            0x28: channel.length,
        }.get(place, 0)

    def write(self, offset: int, value: int) -> None:
        """Writes a register; raises BoardError for what a real DMA ignores, or never ends."""
        channel, place = self._find(offset)
        self.disturbed()
        if place == 0x00:
            self._control(channel, value)
        elif place == 0x04:
            channel.flags &= ~(value & INTERRUPTS)
        elif place == 0x18:
            channel.address = value
        elif place == 0x1C and value:
            raise BoardError(f"{self.name} has 32-bit addresses, and 0x{value:X} is above them.")
        elif place == 0x28:
            self._start(channel, value)

    def disturbed(self) -> None:
        """Something was written: what stood still may move now."""
        self.send.asked = 0
        self.receive.asked = 0

    def freed(self, buffer: Buffer) -> None:
        """A buffer went: a transfer in it ends with an error."""
        for channel in (self.send, self.receive):
            if channel.buffer is buffer:
                self._run.stop(channel.sending)
                channel.halt(DECODE_ERROR, silence.freed(channel.sending, buffer))

    def _control(self, channel: Channel, value: int) -> None:
        if value & RESET:
            for one in (self.send, self.receive):
                self._run.stop(one.sending)
                one.reset()
            return
        if not value & RUN:
            self._run.stop(channel.sending)
            channel.buffer = None
        starts = value & RUN and not channel.control & RUN
        if starts and channel.flags & ERRORS:
            raise BoardError(silence.HALTED.format(channel=channel.name))
        if starts:
            channel.flags &= ~IDLE
        channel.control = value

    def _start(self, channel: Channel, length: int) -> None:
        """A write of LENGTH starts a transfer; 0 starts none."""
        if length == 0:
            return
        self._refuse_start(channel, length)
        try:
            channel.buffer = self._memory.inside(channel.address, length)
        except BoardError as error:
            sentence = f"The {channel.name} channel would touch other memory than a buffer. {error}"
            channel.halt(DECODE_ERROR, "")
            raise BoardError(sentence) from None
        channel.length = length
        channel.flags &= ~IDLE
        if self.watch:
            start = channel.address - channel.buffer.address
            self.watch(channel, self._memory.view(channel.buffer)[start : start + length])
        place = self._memory.host_address(channel.address)
        start = self._run.send if channel.sending else self._run.receive
        start(place, length)
        self._note(channel, "starts", f"{length:,} bytes at 0x{channel.address:08X}")

    def _refuse_start(self, channel: Channel, length: int) -> None:
        if not channel.control & RUN:
            raise BoardError(
                f"The {channel.name} channel is stopped, and a real one ignores this LENGTH: "
                "start() it first."
            )
        if channel.buffer:
            raise BoardError(
                f"A transfer of {channel.length:,} bytes is still running on the {channel.name} "
                "channel: wait() for it before the next."
            )
        if length >> self._length_bits:
            raise BoardError(
                f"LENGTH has {self._length_bits} bits, too few for {length:,}: transfer less at "
                "once."
            )
        word = memory_word(self._wires.in_bytes if channel.sending else self._wires.out_bytes)
        if channel.address % word:
            raise BoardError(
                f"The transfer begins at 0x{channel.address:08X}, in the middle of a word of "
                f"{word} bytes: this DMA has no realignment engine, and what it moves from there "
                f"is undefined (PG021). Begin at a multiple of {word}."
            )

    def _poll(self, channel: Channel) -> int:
        """DMASR, after the transfer was given the chance to end."""
        waits = channel.buffer and self._let_it_run(channel)
        if channel.fault:
            sentence, channel.fault = channel.fault, ""
            raise BoardError(sentence)
        idle = channel.flags & IDLE or not channel.control & RUN
        if idle or (channel.buffer and not waits):
            channel.asked = 0
            return channel.status
        channel.asked += 1
        if channel.asked >= PATIENCE:
            channel.asked = 0
            state = self._run.state()
            raise BoardError(silence.why_it_waits(channel.sending, state, self._top, self._wires))
        return channel.status

    def _let_it_run(self, channel: Channel) -> bool:
        """Clocks the design until the channel is done; True where everything stands still."""
        end = self._run.state().cycle + POLL_CYCLES
        ending = "ended"
        while channel.buffer and ending == "ended":
            ending = self._run.advance(end - self._run.state().cycle, QUIET)
            self.refresh()
        if ending == "unsettled":
            raise BoardError(silence.LOOP.format(top=self._top))
        return ending == "quiet"

    def refresh(self) -> None:
        """Notes which transfers have ended."""
        state = self._run.state()
        for channel, transfer in ((self.send, state.send), (self.receive, state.receive)):
            if channel.buffer and not transfer.running:
                self._end(channel, transfer)

    def _end(self, channel: Channel, transfer: Transfer) -> None:
        channel.length = transfer.moved
        self._note(channel, "halts" if transfer.excess else "ends", f"{transfer.moved:,} bytes")
        if transfer.excess:
            channel.halt(INTERNAL_ERROR, silence.too_long(transfer, self._top, self._wires))
            return
        channel.buffer = None
        channel.flags |= IDLE | DONE_INTERRUPT

    def _note(self, channel: Channel, kind: str, what: str) -> None:
        self._traffic.note(self._run.state().cycle, f"{channel.name} channel", kind, what)

    def _find(self, offset: int) -> tuple[Channel, int]:
        channel = self.send if offset < 0x30 else self.receive
        there = self._wires.in_bytes if channel.sending else self._wires.out_bytes
        if not there:
            way = "in" if channel.sending else "out"
            raise BoardError(
                f"{self.name} has no {channel.name} channel: {self._top} has no stream {way}."
            )
        place = offset if channel.sending else offset - 0x30
        if place not in REGISTERS:
            raise BoardError(
                f"{self.name} has no register at offset 0x{offset:X}, as it has no scatter-gather "
                "engine. See PG021, Direct Register Mode."
            )
        return channel, place
