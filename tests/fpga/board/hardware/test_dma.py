"""The DMA's registers as PG021 describes them, without pynq."""

import pytest

from labkit.fpga.board import designs
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.dma import PATIENCE
from labkit.fpga.board.hardware.fabric import Fabric
from labkit.fpga.board.hardware.memory import Memory
from labkit.fpga.board.traffic import Traffic

HALTED, IDLE, DONE = 1, 2, 1 << 12


@pytest.fixture
def memory():
    return Memory()


@pytest.fixture
def dma(memory):
    fabric = Fabric(designs.loopback(), memory, Traffic())
    yield fabric.dma
    fabric.free()


def start(dma, offset: int, address: int, length: int) -> None:
    dma.write(offset + 0x00, 1)
    dma.write(offset + 0x18, address)
    dma.write(offset + 0x28, length)


def test_after_a_reset_both_channels_are_halted(dma):
    assert dma.read(0x00) == dma.read(0x30) == 0x0001_0002
    assert dma.read(0x04) == dma.read(0x34) == HALTED
    dma.write(0x00, 1)
    assert dma.read(0x04) == 0  # running, and not idle before its first transfer
    dma.write(0x00, 4)
    assert dma.read(0x04) == HALTED


def test_a_transfer_in_both_directions(dma, memory):
    sent, got = memory.allocate(40), memory.allocate(100)
    memory.view(sent)[:] = range(40)
    start(dma, 0x30, got.address, 100)
    start(dma, 0x00, sent.address, 40)
    assert dma.read(0x34) == IDLE | DONE
    assert dma.read(0x04) == IDLE | DONE
    assert dma.read(0x28) == 40
    assert dma.read(0x58) == 40  # bytes that came, fewer than there was room for
    assert list(memory.view(got)[:41]) == [*range(40), 0]
    dma.write(0x34, DONE)
    assert dma.read(0x34) == IDLE


def test_the_clock_stands_still_between_two_polls(dma, memory):
    buffer = memory.allocate(400)
    start(dma, 0x00, buffer.address, 40)
    assert dma._run.state().cycle == 0
    assert dma.read(0x04) & IDLE
    assert dma._run.state().cycle == 10


def test_a_status_may_be_read_before_anything_came(dma, memory):
    got, sent = memory.allocate(40), memory.allocate(40)
    start(dma, 0x30, got.address, 40)
    for _ in range(PATIENCE - 1):
        assert dma.read(0x34) == 0
    start(dma, 0x00, sent.address, 40)
    assert dma.read(0x34) & IDLE


def test_who_goes_on_asking_is_told_again_and_again(dma, memory):
    start(dma, 0x30, memory.allocate(40).address, 40)
    for _ in range(3):
        for _ in range(PATIENCE - 1):
            dma.read(0x34)
        with pytest.raises(BoardError, match="nothing was sent to it"):
            dma.read(0x34)


def test_a_stop_ends_a_transfer(dma, memory):
    start(dma, 0x30, memory.allocate(40).address, 40)
    dma.write(0x30, 0)
    assert dma.read(0x34) == HALTED
    dma.write(0x30, 1)
    assert dma.read(0x34) == 0


@pytest.mark.parametrize("offset", [0x08, 0x20, 0x2C, 0x60, 0xFFFC])
def test_there_are_no_scatter_gather_registers(dma, offset):
    with pytest.raises(BoardError, match="no register at offset"):
        dma.read(offset)


def test_addresses_have_32_bits(dma):
    dma.write(0x1C, 0)
    with pytest.raises(BoardError, match="32-bit addresses"):
        dma.write(0x1C, 1)
