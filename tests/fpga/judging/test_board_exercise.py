"""Exercises whose answer drives a board: right and wrong functions, hangs, and the learner's board.

A process runs all answers of one test: pynq's devices are global, and are to be left as they were.
"""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

EXERCISE = '''
import contextlib, io, os, sys
os.environ["LABKIT_PROGRESS"] = "off"
from pathlib import Path
from tempfile import mkdtemp
import labkit
from labkit import check

folder = Path(mkdtemp())
(folder / "toy").mkdir()
(folder / "toy" / "texts.toml").write_text("""
[exercises."toy.there_and_back"]
hints = ["Receive first.", "Then send."]
[exercises."toy.there_and_back".misconceptions]
reversed = "The words are in reverse order."
""")
(folder / "toy" / "exercises.py").write_text("""
import numpy as np
from labkit.checks.lesson_files import cases_of
from labkit.fpga.board import designs
from labkit.fpga.judging.board_exercise import board_exercise

LOOPBACK = designs.loopback()

def there_and_back(dma, x):
    from pynq import allocate
    with allocate(x.shape) as sent, allocate(x.shape) as got:
        sent[:] = x
        dma.recvchannel.transfer(got)
        dma.sendchannel.transfer(sent)
        dma.sendchannel.wait()
        dma.recvchannel.wait()
        return np.array(got)

def unused(board, x):
    if board.calls["Buffers.read"] == 0:
        return "No buffer was read back."

EXERCISES = [board_exercise(
    "toy.there_and_back",
    design=lambda x: LOOPBACK,
    given=lambda overlay: (overlay.axi_dma_0,),
    solution=there_and_back,
    oracle=lambda x: x,
    cases=cases_of({"one": (1,), "few": (7,), "many": (40,)},
                   lambda rng, n: (rng.permutation(1000)[:n].astype("u4") + 1,)),
    wrong={"reversed": lambda x: x[::-1]},
    demand=unused,
)]
""")
sys.path.insert(0, str(folder))
labkit.ROOMS = ["toy"]
from labkit.checks import lesson_files
lesson_files.index = lambda: {"toy": {"toy": []}}

def asked(answer):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        returned = check("toy.there_and_back", answer)
    print(" ".join(said.getvalue().replace("`", "").split()) or "silent", returned is answer)

from toy import exercises as toy
def another(name, *edits):
    import inspect
    text = inspect.getsource(toy.there_and_back).replace("there_and_back", name)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    space = {"np": np}
    import linecache
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), space)
    return space[name]
'''


def said_of(code: str) -> list[str]:
    from textwrap import dedent

    return run_python(EXERCISE + dedent(code)).splitlines()


def test_a_right_answer_and_wrong_ones_are_told():
    lines = said_of("""
        asked(another("right"))
        asked(another("backwards", ("np.array(got)", "np.array(got)[::-1]")))
        asked(another("no_receive", ("        dma.recvchannel.transfer(got)\\n", "")))
        asked(another("no_send", ("        dma.sendchannel.transfer(sent)\\n", ""),
                      ("        dma.sendchannel.wait()\\n", "")))
        asked(another("no_wait", ("        dma.sendchannel.wait()\\n", ""),
                      ("        dma.recvchannel.wait()\\n", "")))
        asked(another("no_end", ("        dma.sendchannel.wait()\\n", ""),
                      ("        dma.recvchannel.wait()\\n", ""),
                      ("with ", "got = "), (" as sent, ", "; sent = "),
                      (" as got:", "\\n    if True:")))
        asked(another("a_buffer", ("np.array(got)", "got"), ("with ", "got = "),
                      (" as sent, ", "; sent = "), (" as got:", "\\n    if True:")))
        asked(another("a_view", ("np.array(got)", "got[:]")))
        asked(another("a_cast", ("np.array(got)", "np.asarray(got).view('u4')")))
        asked(lambda dma, x: x)
        asked(lambda dma: 1)
        asked(5)
        asked(another("own_error", ("return", "return 1 / 0 +")))
    """)
    right, backwards, no_receive, no_send, no_wait, no_end, *rest = lines
    kept, view, cast, unused, other, number, own = rest
    assert "toy.there_and_back is solved" in right and right.endswith("True")
    assert "reverse order" in backwards
    assert "No transfer was started on the receive channel" in no_receive
    assert "It happens in line" in no_receive and ": dma.recvchannel.wait()" in no_receive
    assert "nothing was sent to it" in no_send and "recvchannel.wait()" in no_send
    assert "was freed while the receive channel was using it" in no_wait
    assert "while the receive channel's transfer is not done: wait() for it" in no_end
    assert "1 buffer is left in the board's memory" in kept
    assert "it lies in a buffer that was freed" in view and "freed" in cast
    assert "No buffer was read back." in unused
    assert "cannot be called as f(dma, x)" in other
    assert "The answer is a function; this is of type int" in number
    assert "raises ZeroDivisionError" in own
    assert all(line.endswith("False") for line in lines[1:])


def test_an_answer_that_does_not_return_is_stopped():
    lines = said_of("""
        def loops(dma, x):
            while True:
                pass
        def polls(dma, x):
            from pynq import allocate
            got = allocate(x.shape)
            dma.recvchannel.transfer(got)
            while not dma.recvchannel.idle:
                pass
        def keeps_on(dma, x):
            while True:
                try:
                    polls(dma, x)
                except Exception:
                    dma.recvchannel.stop()
                    dma.recvchannel.start()
        asked(loops)
        asked(polls)
        asked(keeps_on)
        asked(another("right"))
    """)
    loops, polls, keeps_on, right = lines
    assert "does not return" in loops and "does not return" in keeps_on
    assert "nothing was sent to it" in polls and "in line 5 of polls." in polls
    assert "is solved" in right


@pytest.mark.night(
    instead="tests/fpga/judging/test_board_exercise.py::test_an_answer_that_does_not_return_is_stopped"
)
def test_a_function_that_catches_its_end_leaves_nothing_behind():
    lines = said_of("""
        def swallows(dma, x):
            from pynq import allocate
            while True:
                try:
                    allocate(4, "u4")
                except BaseException:
                    pass
        from labkit.fpga.board.private import load_pynq
        load_pynq()
        import tempfile
        tempfile.tempdir = mkdtemp()
        from pynq import Clocks, Device
        def state():
            return vars(Device).get("_active_device"), vars(Clocks).get("device")
        before = state()
        for _ in range(4):
            asked(swallows)
            print(state() == before, os.listdir(tempfile.tempdir))
        asked(another("right"))
    """)
    for said, left in zip(lines[0:8:2], lines[1:8:2], strict=True):
        assert "does not return" in said
        assert left == "True []"
    assert "is solved" in lines[8]


def test_zeros_although_words_came_back_are_told_from_an_answer_not_begun():
    lines = said_of("""
        asked(another("too_early", ("dma.sendchannel.wait()", "early = np.array(got)"),
                      ("return np.array(got)", "return early")))
        asked(another("other_buffer", ("np.array(got)", "np.zeros_like(x)")))
        asked(lambda dma, x: np.zeros_like(x))
    """)
    too_early, other, not_begun = lines
    assert "only zeros" in too_early and "only after recvchannel.wait()" in too_early
    assert "only zeros" in other
    assert "every value is still 0" in not_begun


def test_the_learners_board_does_not_hear_of_it():
    lines = said_of("""
        asked(another("right"))
        with VirtualBoard() as board:
            from pynq import Clocks, Device, Overlay, allocate
            overlay = Overlay(board.bitstream)
            overlay.leds_gpio.channel1.write(5, 15)
            sent, got = allocate(8), allocate(8)
            sent[:] = range(8)
            overlay.axi_dma_0.recvchannel.transfer(got)
            cycle, events, active = board.cycle, len(board.traffic), Device.active_device
            asked(another("right"))
            asked(another("no_send", ("        dma.sendchannel.transfer(sent)\\n", "")))
            print(board.cycle == cycle, len(board.traffic) == events, board.leds)
            print(Device.active_device is active, Clocks.device is active)
            overlay.axi_dma_0.sendchannel.transfer(sent)
            overlay.axi_dma_0.recvchannel.wait()
            print(list(got), overlay.ip_dict.keys() == Overlay(board.bitstream).ip_dict.keys())
        print([str(path) for path in __import__("labkit.fpga.board.pynq_package.pynq_cache",
               fromlist=["files"]).files() if path.exists()], os.environ.get("PYNQ_REMOTE_DEVICES"))
    """)
    assert "is solved" in lines[0] and "is solved" in lines[1]
    assert "No transfer was started on the send channel" in lines[2]
    assert lines[3:6] == ["True True 5", "True True", "[0, 1, 2, 3, 4, 5, 6, 7] True"]
    assert lines[6] == "[] None"


def test_without_pynq_nothing_is_said_of_an_answer():
    lines = said_of("""
        from labkit.fpga.board import private
        private.pynq_cache.files = lambda: []
        asked(lambda dma, x: x)
    """)
    assert "Not judged" in lines[0] and "pynq is not installed" in lines[0]


THROUGH_DMA = """
import contextlib, io, linecache, os
os.environ["LABKIT_PROGRESS"] = "off"
from labkit import check
from labkit.fpga.board.private import load_pynq
load_pynq()
from pynq import allocate
BODY = '''
def through_dma(dma, x):
    y = np.zeros_like(x)
    most = dma.buffer_max_size // x.itemsize
    for start in range(0, len(x), most):
        piece = x[start : start + most]
        with allocate(piece.shape, x.dtype) as sent, allocate(piece.shape, x.dtype) as got:
            sent[:] = piece
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(sent)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            y[start : start + most] = got
    return y
'''
def asked(*edits):
    text = BODY
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    linecache.cache["cell"] = len(text), None, text.splitlines(keepends=True), "cell"
    space = {"np": np, "allocate": allocate}
    exec(compile(text, "cell", "exec"), space)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        check("fpga.through_dma", space["through_dma"])
    print(" ".join(said.getvalue().split()))
"""


def test_through_dma_tells_pieces_and_words_that_were_not_sent():
    from textwrap import dedent

    lines = run_python(
        THROUGH_DMA
        + dedent("""
        asked()
        asked(("dma.buffer_max_size // x.itemsize", "len(x)"))
        asked(("dma.buffer_max_size // x.itemsize", "dma.buffer_max_size // 8"))
        asked(("sent[:] = piece", "pass"), ("return y", "return ~x"))
        asked(("with allocate(piece.shape, x.dtype) as sent", "with allocate(most, 'u4') as sent"),
              ("sent[:]", "sent[:len(piece)]"),
              ("transfer(sent)", "transfer(sent, nbytes=piece.nbytes)"))
        """)
    ).splitlines()
    right, too_long, too_many, unsent, generous = lines
    assert "is solved" in right and "is solved" in generous
    assert "exceeds the maximum DMA buffer size 127" in too_long
    assert "Likely cause" not in too_long  # not that the length is even
    assert "where 1 is enough" in too_many
    assert "did not go through the module" in unsent


def test_addresses_are_compared_to_the_last_bit():
    printed = run_python("""
        import os
        os.environ["LABKIT_PROGRESS"] = "off"
        from labkit import check
        def control_second(base, address, x, first, count):
            row = x.strides[0]
            return base + np.array([24, 0, 40]), np.array([address + first * row, 1, count * row])
        check("fpga.send_rows", control_second)
    """)
    assert "2 of 3 elements are wrong" in printed
    assert "rounded" not in printed
