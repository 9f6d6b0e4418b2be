"""This lesson: the numbers of its text, and that what it prints follows the circuit and the board.

Its cells run in a process of their own: pynq keeps its board for the life of a process.
"""

import pytest

from labkit.fpga import place_and_route
from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.convnet import accelerator_report
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.library import library
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

BEGINNING = """
import os
os.environ |= {"LABKIT_PROGRESS": "off", "LABKIT_OFFLINE": "1"}
from labkit import check
from tests.notebooks.running import Run
lesson = Run("03_fpga", "8_the_network_on_the_board")
def printed(words):
    return lesson.printed[lesson.cell(words)]
BOARD, NETWORK, ATTEMPTS = "accelerator.register_map)", "CYCLES", "programs ="
DIAGNOSES, TIMES, TAKEN, OWN = "NO LAST", "timeit", "finished =", "YOUR OWN"
"""


def output_of(code: str) -> str:
    from textwrap import dedent

    return run_python(BEGINNING + dedent(code))


def test_what_the_cells_print():
    found = output_of("""
        for words in (BOARD, '"CYCLES"', ATTEMPTS, DIAGNOSES, TAKEN, OWN):
            print(printed(words))
        for words in ('check("fpga.run_', 'check("fpga.add_', 'check("fpga.who_',
                      'check("fpga.what_'):
            print("solved" if "is solved" in printed(words) else "unsolved")
    """)
    for words in (
        "IMAGES = Register",
        "equal to the golden model: True",
        "CYCLES 73778 for 68892 words",
        "labels equal: True",
        "1,067,751 cycles (counted by the register of the accelerator)",
        "as your function says: True",
        "NO LAST: The receive buffer of 8 bytes is full, and no word came with `last`.",
        "TOO FEW: The receive channel will never be done. negative has given 6 of 8 bytes",
        "SMALL BUFFER: The receive buffer of 4 bytes is full, and no word came with `last`.",
        "NEVER RECEIVES: The send channel will never be done. negative has taken 1 of 8",
        "TOO MANY: The send channel will never be done. negative has taken 9 of 10",
        "NO START: The send channel will never be done. accelerator has taken 0 of 68,892",
        "SHORT JOB: [[0 0 0 0 0 0 0 0 0 0]]",
        "result 1 bytes",
        "YOUR OWN: 0 0",
        "NOT ROUNDED: 20 2",
        "LESSON 4'S QUEUE: The send channel will never be done. accelerator has taken",
    ):
        assert words in found, words
    assert found.count("unsolved") == 0 and found.count("solved") == 4
    rows = [line.split() for line in found.splitlines()]
    table = [row for row in rows if len(row) == 4 and row[2] in ("yes", "no")]
    assert table == [
        ["8", "8", "yes", "yes"],
        ["9", "8", "yes", "yes"],
        ["10", "8", "no", "yes"],
        ["6", "8", "yes", "no"],
        ["8", "4", "no", "no"],
        ["8", "0", "no", "no"],
    ]


def test_the_numbers_of_the_text():
    assert 3 * 5 == 15 and 15 * 8 == 120 and 120 // 4 == 3 * 10
    sent = [10, 20, 30, 40, 50, 60, 70]
    assert [255 - one for one in sent] == [245, 235, 225, 215, 205, 195, 185]
    assert [int(place % 3 == 2) for place in range(7)] == [0, 0, 1, 0, 0, 1, 0]
    rows = [(8, 8, 8, 0), (9, 8, 8, 1), (10, 8, 8, 1), (6, 8, 6, 0), (12, 12, 8, 1), (8, 4, 4, 1)]
    for sent, room, handed_over, held in rows:
        assert handed_over == min(sent, room, 8)
        assert held == min(sent - handed_over, 1)
    assert 16 + 1 == 17  # the recap's loopback
    assert round(1_067_751 / 16 / 100) == 667  # µs at 100 MHz
    assert round((1_067_751 - 73_778) / 15 / 32_888, 1) == 2.0  # lesson 6 counts the 32,888


def test_the_block_rams_leave_none_for_a_dma():
    resident = accelerator_report.stored(Folding(conv1=1, conv2=2, fc1=16, resident=True))
    assert float(resident.bram36) == 140


@pytest.mark.night(instead="chapters/03_fpga/8_the_network_on_the_board.ipynb")
def test_the_clock_of_pool1_on_an_ecp5():
    """The lesson's cells print an assumed clock: what the one named part reaches elsewhere."""
    sizes = {"HEIGHT": 32, "WIDTH": 32, "GROUPS": 32, "LANES": 1}  # as convnet.sv sets them
    timing = place_and_route(library("maxpool2x2"), "maxpool2x2", sizes)
    assert round(float(timing.fmax) / 1e6, 1) == 129.4


@pytest.mark.night(instead="chapters/03_fpga/8_the_network_on_the_board.ipynb")
def test_what_is_printed_follows_the_answers():
    found = output_of("""
        names = lesson.namespace
        board = names["board"]
        assert board._server is None  # the lesson has stopped it
        late = names["negative"].replace("<= count == LENGTH - 1;", "<= count == 0;")
        with VirtualBoard(designs.convnet()) as again:
            told, _ = lesson.again(ATTEMPTS, negative=late, board=again)
            print(told)
            told, _ = lesson.again(ATTEMPTS, who_is_done=lambda sent, *rest: (sent > 0, sent > 0),
                                   board=again)
            print(told)
            told, _ = lesson.again(ATTEMPTS, board=again)
            print(told)
    """)
    assert found.count("as your function says: False") == 2
    assert found.count("as your function says: True") == 1


@pytest.mark.night(
    instead="tests/fpga/board/test_board.py::test_a_loopback_through_plain_pynq_calls"
)
def test_the_loopback_holds_sixteen_words():
    found = output_of("""
        with VirtualBoard(designs.loopback_of_bytes()) as again:
            from pynq import Overlay, allocate
            from labkit.fpga.board.hardware.silence import said
            for words in (16, 17):
                dma = Overlay(again.bitstream).axi_dma_0
                x = allocate(words, "u1")
                dma.sendchannel.transfer(x)
                print(words, said(dma.sendchannel.wait))
    """)
    last = found.splitlines()[-2:]
    assert last[0] == "16 done" and "taken 16 of 17 words" in last[1]


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
