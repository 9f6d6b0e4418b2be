"""The pool of buffers: where they lie, what is free, what was freed, and what may be touched."""

import re
from itertools import combinations

import pytest

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware import memory
from labkit.fpga.board.hardware.memory import PAGE, POOL, POOL_BYTES, Memory


def test_buffers_begin_pages_and_do_not_overlap():
    board = Memory()
    sizes = (1, PAGE, PAGE + 1, 3)
    buffers = [board.allocate(size) for size in sizes]
    places = [(buffer.address - POOL.start) // PAGE for buffer in buffers]
    assert places == [0, 1, 2, 4]
    assert all(buffer.address % PAGE == 0 for buffer in buffers)


def test_a_buffer_s_name_tells_nothing_of_the_others():
    board = Memory()
    names = [board.allocate(1).name.removeprefix("buffer-") for _ in range(50)]
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
    for place in (slice(0, 16), slice(16, 32)):  # neither half is kept or counted on
        parts = [int(name[place], 16) for name in names]
        assert min(abs(a - b) for a, b in combinations(parts, 2)) > 2**32


def test_a_gap_is_filled_again_with_zeros():
    board = Memory()
    first, second = board.allocate(PAGE), board.allocate(PAGE)
    board.view(first)[:] = 7
    board.free(first.name)
    third = board.allocate(10)
    assert third.address == first.address < second.address
    assert not board.view(third).any()
    with pytest.raises(BoardError, match="its place was taken"):
        board.buffer(first.name)


def test_the_pool_and_the_number_of_buffers_are_bounded(monkeypatch):
    board = Memory()
    whole = board.allocate(POOL_BYTES)
    with pytest.raises(
        BoardError, match=r"no room for a buffer of 1 bytes.*1 buffers hold 134,217"
    ):
        board.allocate(1)
    board.free(whole.name)
    with pytest.raises(BoardError, match="no room"):
        board.allocate(POOL_BYTES + 1)
    monkeypatch.setattr(memory, "MOST_BUFFERS", 2)
    board.allocate(1)
    board.allocate(1)
    with pytest.raises(BoardError, match="has 2 buffers already"):
        board.allocate(1)
    for size in (0, -1):
        with pytest.raises(BoardError, match="at least one byte"):
            board.allocate(size)


def test_whose_bytes_these_are():
    board = Memory()
    buffer = board.allocate(100)
    assert board.inside(buffer.address + 60, 40) is buffer
    with pytest.raises(BoardError, match="leave the buffer"):
        board.inside(buffer.address + 60, 41)
    with pytest.raises(BoardError, match="Linux's or a program's"):
        board.inside(0x0100_0000, 4)
    for outside in (0, 0x2000_0000, 0xFFFF_FFFC):
        with pytest.raises(BoardError, match="outside the DDR"):
            board.inside(outside, 4)
    board.free(buffer.name)
    with pytest.raises(BoardError, match="which was freed"):
        board.inside(buffer.address, 4)
    with pytest.raises(BoardError, match="was freed"):
        board.free(buffer.name)


def test_ids_of_another_board_are_not_ours():
    one, other = Memory(), Memory()
    with pytest.raises(BoardError, match="a board that was stopped"):
        other.buffer(one.allocate(4).name)
