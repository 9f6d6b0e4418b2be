"""This lesson: the numbers of its text, and that what it prints follows the circuit and the board.

Its cells run in a process of their own: pynq keeps its board for the life of a process.
"""

import numpy as np
import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from labkit_lessons.fpga.the_overlay.exercises import PICTURES, pictures
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

BEGINNING = """
import os
os.environ |= {"LABKIT_PROGRESS": "off", "LABKIT_OFFLINE": "1"}
from labkit import check
from tests.notebooks.running import Run
lesson = Run("03_fpga", "7_the_overlay")
def printed(words):
    return lesson.printed[lesson.cell(words)]
PARTS, LEDS, BUFFER = "addr_range", "leds.write", "physical_address:08X"
ROWS, SLICE = "zip(addr", "x[2]"
TWICE, COUNTED, GUESSES = "software =", "by registers", "figures.guesses"
"""


def output_of(code: str) -> str:
    from textwrap import dedent

    return run_python(BEGINNING + dedent(code))


def test_what_the_cells_print():
    found = output_of("""
        for words in (PARTS, LEDS, BUFFER, ROWS, SLICE, TWICE, COUNTED):
            print(printed(words))
        for words in ('check("fpga.send', 'check("fpga.through', 'check("fpga.bri'):
            print("is solved" in printed(words))
    """)
    for words in (
        "leds_gpio       0x41200000",
        "axi_dma_0       0x40400000",
        "LEDs 0101",
        "buttons 1010",
        "LEDs 1001, read back 1001",
        "x begins at 0x18000000",
        "[ 8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23]",
        "[16 17 18 19 20 21 22 23]\n[[16 17 18 19 20 21 22 23]\n [ 8",  # row 0 is overwritten
        "equal: True",
    ):
        assert words in found, words
    rows = [line.split() for line in found.splitlines()]
    table = [row for row in rows if len(row) == 4 and row[2] == "20"]
    assert table == [
        ["1", "2", "20", "2"],
        ["64", "128", "20", "65"],
        ["1,024", "2,048", "20", "1,025"],
        ["16,383", "32,766", "20", "16,384"],
    ]
    assert found.count("True") == 4


def test_the_numbers_of_the_text():
    assert 0x4120_0000 + 0 == 0x4120_0000
    assert 0x1800_0000 + 1 * 8 == 0x1800_0008 and 2 * 8 == 16
    most = 255 // 4
    assert (most, 140 - 2 * most) == (63, 14)
    assert [min(p + 40, 255) for p in (10, 215, 216)] == [50, 255, 255]
    assert 6 * 3_072 > 16_383 >= 5 * 3_072
    assert 2 * (3 + 7) == 20  # what a transfer costs
    most = 4 * (16_383 // 4)  # the quiz
    assert 3 * most == 49_140 < 49_148 <= 3 * 16_383 and 2 * most == 32_760
    assert 300_000 * 20 == 6_000_000


def test_the_rows_to_send_begin_where_the_dma_can_read():
    for case in PICTURES.values():
        _, address, x, first, _ = pictures(np.random.default_rng(0), *case)
        assert (address + first * x[0].nbytes) % 4 == 0


def test_a_channel_takes_three_writes_and_seven_reads():
    found = output_of("""
        from collections import Counter
        made = Counter()
        with VirtualBoard() as board:
            from pynq import Overlay, allocate
            dma = Overlay(board.bitstream).axi_dma_0
            machine = board.machine
            for name in ("read_word", "write_word"):
                def noted(*given, real=getattr(machine, name), name=name):
                    made[name] += 1
                    return real(*given)
                setattr(machine, name, noted)
            sent, got = allocate(8), allocate(8)
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(sent)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
        print(made["write_word"], made["read_word"])
    """)
    assert found.splitlines()[-1] == "6 14"


def test_what_is_printed_follows_the_learners_module():
    found = output_of("""
        wraps = lesson.namespace["brighten"].replace("in_data > 8'd255 - amount ? 8'd255 : ", "")
        board = lesson.namespace["board"]
        assert board._server is None  # the lesson has stopped it
        with VirtualBoard() as again:
            told, names = lesson.again(TWICE, brighten=wraps, board=again)
            print(told)
            told, names = lesson.again(TWICE, board=again)
            print(told)
    """)
    assert "equal: False" in found and "equal: True" in found


@pytest.mark.night(instead="chapters/03_fpga/7_the_overlay.ipynb")
def test_writes_that_are_right_nowhere_are_told():
    found = output_of("""
        import contextlib, io
        right = lesson.namespace["send_rows"]
        def length_first(base, address, x, first, count):
            addresses, values = right(base, address, x, first, count)
            return addresses[[0, 2, 1]], values[[0, 2, 1]]
        def receives(base, *given):
            addresses, values = right(base, *given)
            return np.array([base + 0x30, base + 0x48, base + 0x58]), values
        with contextlib.redirect_stdout(io.StringIO()) as told:
            check("fpga.send_rows", length_first)
            check("fpga.send_rows", receives)
        print(" ".join(told.getvalue().split()))
    """)
    assert "LENGTH is written before the address" in found
    assert "These are the registers of the receive channel" in found


@pytest.mark.night(instead="tests/fpga/board/test_board.py::test_twenty_boards_leave_nothing")
def test_the_lesson_leaves_nothing():
    found = output_of("""
        import threading
        from labkit.fpga.board.pynq_package import pynq_cache
        print([t.name for t in threading.enumerate() if "virtual-board" in t.name])
        print([path for path in pynq_cache.files() if path.exists()])
        print(os.environ.get("PYNQ_REMOTE_DEVICES"))
    """)
    assert found.splitlines()[-3:] == ["[]", "[]", "None"]
