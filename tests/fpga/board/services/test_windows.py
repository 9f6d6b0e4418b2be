"""Windows onto the bus: sizes, offsets, ids, and words in either order."""

import pytest

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.machine import Machine
from labkit.fpga.board.hardware.slcr import Slcr
from labkit.fpga.board.services import windows
from labkit.fpga.board.services.windows import Window

BASE = Slcr.base


@pytest.fixture
def machine():
    return Machine()


def test_reads_of_one_two_four_and_eight_bytes(machine):
    window = windows.opened(machine, BASE, 0x1000)
    window.write(machine, 0x900, bytes(range(1, 9)))
    assert window.read(machine, 0x900, 1, "little") == 0x01
    assert window.read(machine, 0x900, 2, "little") == 0x0201
    assert window.read(machine, 0x900, 4, "little") == 0x0403_0201
    assert window.read(machine, 0x900, 8, "little") == 0x0807_0605_0403_0201
    assert window.read(machine, 0x900, 8, "big") == 0x0403_0201_0807_0605


def test_an_id_holds_without_being_kept(machine):
    name = windows.opened(machine, BASE, 16).name
    assert windows.known(name) == Window(BASE, 16)


@pytest.mark.parametrize(
    "name", ["", "window-1-4", "window-0-0", "window-0-80000000", "window-x-4", "Window-0-4"]
)
def test_other_ids_are_refused(name):
    with pytest.raises(BoardError, match="no id that get_mmio has given"):
        windows.known(name)


def test_windows_that_are_not_opened(machine):
    for base, length in ((BASE + 1, 4), (BASE, 0), (BASE, 3), (BASE, 2**40)):
        with pytest.raises(BoardError, match="An MMIO begins at a multiple of 4"):
            windows.opened(machine, base, length)
    with pytest.raises(BoardError, match="No bitstream is loaded"):
        windows.opened(machine, 0x43C0_0000, 4)
    with pytest.raises(BoardError, match="DECERR"):
        windows.opened(machine, 0xE000_0000, 4)
    with pytest.raises(BoardError, match="belong to no buffer"):
        windows.opened(machine, 0x1000_0000, 4)


def test_accesses_that_are_refused(machine):
    window = windows.opened(machine, BASE, 16)
    for offset, length in ((1, 4), (16, 4), (12, 8), (0, 3)):
        with pytest.raises(BoardError):
            window.read(machine, offset, length, "little")
    for offset, data in ((0, b""), (0, b"123"), (2, b"1234"), (16, b"1234"), (0, bytes(2**20))):
        with pytest.raises(BoardError):
            window.write(machine, offset, data)


def test_memory_through_a_window(machine):
    buffer = machine.memory.allocate(8)
    window = windows.opened(machine, buffer.address, 8)
    window.write(machine, 4, b"abcd")
    assert machine.memory.view(buffer).tobytes() == bytes(4) + b"abcd"
    assert window.read(machine, 4, 4, "little") == int.from_bytes(b"abcd", "little")
    machine.free(buffer.name)
    with pytest.raises(BoardError, match="which was freed"):
        window.read(machine, 4, 4, "little")
