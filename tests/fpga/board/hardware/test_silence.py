"""Where a real board hangs or harms in silence, the client is told which, and why."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")
ODD_BOARD = """
from tests.fpga.board.odd_streams import ENDLESS, MUTE, ODD, PASS, STOP, SWALLOW, TWICE

def packet(mode, count):
    from pynq import allocate
    sent = allocate(count + 1, "u4")
    sent[:] = [mode, *range(count)]
    return sent

def fresh(dma):
    dma.write(0x00, 4)  # a reset of both channels
    dma.sendchannel.start()
    dma.recvchannel.start()
"""


def lines_of(code: str) -> list[str]:
    from textwrap import dedent

    return run_python(ODD_BOARD + dedent(code)).splitlines()


def test_streams_that_stand_still():
    lines = lines_of("""
        with VirtualBoard(Design(ODD, "odd")) as board:
            from pynq import allocate
            dma = dma_of(board)
            def sent_and_received(mode, count, room):
                # a fresh design for each: a packet that was not finished would go on
                global dma
                dma = dma_of(board)
                sent, got = packet(mode, count), allocate(room, "u4")
                dma.recvchannel.transfer(got)
                dma.sendchannel.transfer(sent)
                first = told(dma.sendchannel.wait)
                return first, told(dma.recvchannel.wait), got.tolist()
            for case in (
                (PASS, 3, 3), (PASS, 2, 3), (ENDLESS, 3, 3), (ENDLESS, 2, 3), (SWALLOW, 3, 3),
                (TWICE, 3, 5), (STOP, 3, 3), (PASS, 4, 3),
            ):
                for part in sent_and_received(*case):
                    print(part)
    """)
    cases = [lines[place : place + 3] for place in range(0, len(lines), 3)]
    passed, shorter, endless, too_short, swallowed, twice, stopped, longer = cases
    assert passed == ["nothing", "nothing", "[0, 1, 2]"]
    assert shorter == ["nothing", "nothing", "[0, 1, 0]"]  # a packet may be shorter than its buffer
    assert "12 bytes is full, and no word came with `last`" in endless[0] + endless[1]
    assert "odd has to set `last`" in endless[0] + endless[1]
    assert "odd has given 8 of 12 bytes, and no word with `last`" in too_short[1]
    assert "it has taken all 12 bytes that were sent" in too_short[1]
    assert "odd has given 0 of 12 bytes" in swallowed[1]
    assert "receive buffer of 20 bytes is full" in twice[0] + twice[1]
    assert "odd has taken 1 of 4 words, and its ready is 0" in stopped[0]
    assert "longer than what it takes" in stopped[0]
    assert "odd has given 0 of 12 bytes" in stopped[1] and "taken 1 of 4" in stopped[1]
    assert "receive buffer of 12 bytes is full" in longer[0] + longer[1]


def test_transfers_in_the_wrong_order_and_of_the_wrong_memory():
    lines = lines_of("""
        with VirtualBoard() as board:
            from pynq import allocate
            dma = dma_of(board)
            a, b = allocate(100, "u4"), allocate(100, "u4")
            print(told(dma.sendchannel.wait))
            print(told(dma.recvchannel.wait))
            dma.recvchannel.transfer(b)
            print(told(dma.recvchannel.wait))
            print(told(lambda: dma.write(0x58, 400)))
            fresh(dma)
            dma.sendchannel.transfer(a)
            print(told(dma.sendchannel.wait))
            dma.recvchannel.transfer(b)
            print(told(dma.sendchannel.wait), told(dma.recvchannel.wait))

            gone = allocate(10, "u4")
            address = gone.physical_address
            gone.freebuffer()
            print(told(lambda: dma.recvchannel.transfer(gone)))
            dma.write(0x48, address)
            print(told(lambda: dma.write(0x58, 40)))
            print(hex(dma.read(0x34)), told(lambda: dma.recvchannel.transfer(b)))
            print(told(dma.recvchannel.start))
            fresh(dma)
            gone = allocate(10, "u4")
            dma.recvchannel.transfer(gone)
            gone.freebuffer()
            print(told(dma.recvchannel.wait))
            fresh(dma)
            for place, size in ((0x1000_0000, 4), (0xFFFF_0000, 4), (a.physical_address, 404)):
                dma.write(0x48, place)
                print(told(lambda: dma.write(0x58, size)))
                fresh(dma)
            dma.write(0x48, a.physical_address + 2)
            print(told(lambda: dma.write(0x58, 4)))
            dma.recvchannel.stop()
            print(told(lambda: dma.write(0x58, 4)))
            dma.recvchannel.start()
            print(told(lambda: dma.write(0x58, 1 << 26)))
            dma.write(0x58, 0)
            print(told(dma.recvchannel.wait))
    """)
    said = iter(lines)
    assert "No transfer was started on the send channel" in next(said)
    assert "No transfer was started on the receive channel" in next(said)
    assert "nothing was sent to it. Call sendchannel.transfer(buffer)" in next(said)
    assert "A transfer of 400 bytes is still running on the receive channel" in next(said)
    back_pressure = next(said)
    assert "loopback has taken 16 of 100 words" in back_pressure
    assert "call recvchannel.transfer(buffer) before" in back_pressure
    assert next(said) == "nothing nothing"
    assert "was freed. On a real board its memory may belong to somebody" in next(said)
    assert "lie in the buffer 0x18002000 to 0x18002027 (40 bytes), which was freed" in next(said)
    assert next(said) == "0x5041 DMA channel not started"
    assert "does not start again before a reset" in next(said)
    assert "was freed while the receive channel was using it" in next(said)
    assert "belong to no buffer: on a real board they are Linux's" in next(said)
    assert "are outside the DDR" in next(said)
    assert "leave the buffer" in next(said)
    assert "in the middle of a word of 4 bytes" in next(said)
    assert "The receive channel is stopped" in next(said)
    assert "LENGTH has 26 bits" in next(said)
    assert "No transfer was started on the receive channel" in next(said)


def test_a_stream_of_bytes_begins_at_a_word_of_the_memory_too():
    lines = lines_of("""
        from labkit.fpga.board import designs
        with VirtualBoard(designs.loopback_of_bytes()) as board:
            from pynq import Overlay, allocate
            dma = Overlay(board.bitstream).axi_dma_0
            a = allocate(8, "u1")
            dma.write(0x00, 1)
            dma.write(0x18, a.physical_address + 2)
            print(told(lambda: dma.write(0x28, 4)))
            dma.write(0x18, a.physical_address + 4)
            print(told(lambda: dma.write(0x28, 3)))
    """)
    assert "in the middle of a word of 4 bytes" in lines[0] and "undefined" in lines[0]
    assert lines[1] == "nothing"


def test_addresses_where_nothing_answers():
    lines = lines_of("""
        with VirtualBoard(Design(MUTE, "mute")) as board:
            from pynq import MMIO, Overlay, PL, allocate
            from pynq import Device
            device = Device.active_device
            print(told(lambda: device.mmap(0x43C0_0000, 16)))
            overlay = Overlay(board.bitstream)
            print(overlay.mute_0.read(0))
            overlay.mute_0.write(8, 11)
            print(overlay.mute_0.read(0))
            print(told(lambda: overlay.mute_0.write(4, 1)))
            print(told(lambda: MMIO(0x4000_0000, 16)))
            print(told(lambda: MMIO(0x4120_0000, 0x100).read(0x20)))
            print(told(lambda: MMIO(0x4120_0000, 8).read(8)))
            print(told(lambda: MMIO(0x1000_0000, 16)))
            buffer = allocate(4, "u4")
            memory = MMIO(buffer.physical_address, 16)
            memory.write(4, 99)
            buffer.invalidate()
            print(buffer.tolist(), memory.read(4))
            print(told(lambda: allocate(200 * 2**20, "u1")))
    """)
    assert "No bitstream is loaded, so nothing answers at 0x43C00000" in lines[0]
    assert lines[1:3] == ["7", "11"]
    assert "mute_0 at offset 0x04 has not answered in 1,000 cycles" in lines[3]
    assert "Nothing is at 0x40000000 (DECERR)" in lines[4]
    assert "leds_gpio has no register at offset 0x20" in lines[5]
    assert "outside this MMIO" in lines[6]
    assert "belong to no buffer" in lines[7]
    assert lines[8] == "[0, 99, 0, 0] 99"
    assert "There is no room for a buffer of 209,715,200 bytes" in "".join(lines[9:])
