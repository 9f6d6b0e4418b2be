"""What is said of a run: traces are written by hand, and the sentence and its cycle are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from labkit.fpga.ports import Port
from labkit.fpga.running import stream_moves
from labkit.fpga.running.traces import Trace

PORTS = [
    Port(f"{name}_{end}", name == "x", 1, False) for name in "xy" for end in ("valid", "ready")
]
PORTS += [Port("x_data", True, 8, True), Port("y_data", False, 8, True)]


def run(columns):
    """A run of a row `x_valid x_ready y_valid y_ready x_data y_data` for each cycle."""
    rows = np.array([[int(cell) for cell in line.split()] for line in columns.split("/")], "<u4")
    trace = Trace(PORTS, rows, 0)
    taken = np.flatnonzero((trace["y_valid"] == 1) & (trace["y_ready"] == 1))
    words = {"y": trace["y_data"][taken]}
    return SimpleNamespace(trace=trace, outputs=words, times={"y": taken}, withdrawn=[])


TWICE = run("1 1 0 1 5 0/ 0 1 1 1 0 5/ 0 1 1 1 0 5")
LOST = run("1 1 0 1 5 0/ 1 1 1 0 6 5/ 1 1 1 1 7 6/ 0 1 1 1 0 7")


@pytest.mark.parametrize(
    ("name", "stream"), [("y", "y"), ("out_last", "out"), ("y_data", "y"), ("a_b", "a_b")]
)
def test_the_stream_of_an_output(name, stream):
    assert stream_moves.stream_of(name) == stream


def test_a_word_that_comes_twice():
    happened = stream_moves.repeated(TWICE, np.array([5, 9]), "y", 1)
    assert happened.cycle == 2
    assert "taken in cycle 1, and `y_valid` is 1 for it again in cycle 2" in happened.sentence
    assert stream_moves.repeated(TWICE, np.array([4, 9]), "y", 1) is None  # it was wrong before


def test_two_equal_words_are_no_repetition_where_both_are_asked_for():
    assert stream_moves.repeated(LOST, np.array([6, 7]), "y", 1) is None


def test_a_word_that_is_lost_since_the_next_one_moved_in():
    happened = stream_moves.skipped(LOST, np.array([5, 6, 7]), "y", 0)
    assert happened.cycle == 1
    assert "It is the word after: the one before it is lost." in happened.sentence
    assert "In cycle 1 a word of `x` moves in while one waits at `y`" in happened.sentence
    assert stream_moves.skipped(LOST, np.array([6, 8, 7]), "y", 0) is None


def test_a_word_that_comes_before_ours():
    happened = stream_moves.early(TWICE, LOST, "y", 0)
    assert happened.cycle == 1
    assert happened.sentence == "Ours hands this word over in cycle 2: is `y_valid` 1 too early?"
    assert stream_moves.early(LOST, TWICE, "y", 0) is None


def test_a_word_is_not_once_more_there_where_another_has_moved_in():
    again = run("1 1 0 1 5 0/ 1 1 1 1 5 5/ 0 1 1 1 0 5")
    assert stream_moves.repeated(again, np.array([5, 9]), "y", 1) is None


def test_a_still_cycle_is_one_in_which_no_word_moves():
    quiet = run("1 1 0 1 5 0/ 0 1 0 0 0 0/ 0 1 1 1 0 6")
    happened = stream_moves.still(quiet, "y", 0)
    assert happened.cycle == 1 and "No word moves in cycle 1" in happened.sentence
    assert stream_moves.still(TWICE, "y", 1) is None


def test_an_offer_that_changes_before_it_is_taken():
    LOST.withdrawn[:] = [(2, "y_data")]
    happened = stream_moves.unsteady(LOST, 3)
    assert happened.cycle == 2
    assert "`y_data` goes from 5 to 6, although `y_ready` was 0 in cycle 1" in happened.sentence
    assert stream_moves.unsteady(LOST, 1) is None


def test_what_each_side_waits_for():
    stuck = run("1 1 0 1 5 0/ 1 0 0 1 6 0/ 1 0 0 0 6 0")
    assert stream_moves.waiting(stuck.trace, 0) == [
        "a word of `x` waits, and `x_ready` stays 0",
        "`y_valid` stays 0",
    ]
    done = run("1 1 0 1 5 0/ 0 1 0 1 6 0/ 0 1 1 0 6 0")
    assert stream_moves.waiting(done.trace, 0) == [
        "all words of `x` are taken",
        "`y_valid` comes and goes",
    ]


def test_the_first_output_that_a_reset_has_not_brought_back():
    before = run("1 1 0 1 5 0/ 0 1 1 1 0 5")
    idle = run("1 1 0 1 5 3/ 0 1 1 1 0 5")  # what is held and not offered
    assert stream_moves.first_other(idle, before) is None
    full = run("1 0 1 1 5 3/ 0 1 1 1 0 5")
    happened = stream_moves.first_other(full, before)
    assert happened.cycle == 0
    assert happened.sentence == (
        "In cycle 0 after it `y_valid` is 1; after the first reset it was 0."
    )
