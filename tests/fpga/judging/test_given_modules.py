"""The modules that lesson timing_and_proof gives: the tree is right, and the queue loses words."""

import numpy as np
import pytest

from labkit.fpga import prove, simulate
from labkit.fpga.judging.given_modules import NUMBERED, QUEUE, TREE, course_module
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.lint import lint
from tests.exercises.edits import lessons


@pytest.mark.parametrize(("module", "top"), [(TREE, "tree"), (QUEUE, "queue")])
def test_they_pass_lint(module, top):
    lint(read_sources(module, top), {})


def test_the_tree_is_right():
    x = np.random.default_rng(1).integers(-4000, 4000, (50, 8)).astype(np.int16)
    run = simulate(TREE, "tree", {"in": x}, words={"out": 50})
    assert np.array_equal(run.outputs["out"], x.sum(axis=1)) and run.cycles.value == 51
    assert prove(TREE, "tree").holds == "proved"


def test_the_queue_loses_a_word_in_cycle_5_and_nothing_shorter_breaks_it():
    proof = prove(QUEUE, "queue", properties=NUMBERED)
    trace = proof.counterexample
    assert proof.holds == "fails" and len(trace["out_valid"]) == 6
    assert trace["in_data"][1:5] == [1, 2, 3, 4] and trace["in_valid"][1:5] == [1, 1, 1, 1]
    assert trace["inner.waiting"][1:] == [0, 1, 2, 3, 0]
    assert prove(QUEUE, "queue", depth=5).holds == "holds for the first 5 cycles"


def test_the_lesson_shows_the_queue_as_it_is_here():
    (text,) = (
        cell.learner
        for lesson in lessons()
        for cell in lesson.cells
        if "exercise:fpga.find_the_bug" in cell.tags
    )
    assert " ".join(QUEUE.split()) in " ".join(text.split())


def test_the_courses_own_module_is_a_right_answer():
    assert "module mac" in course_module("fpga.mac")
