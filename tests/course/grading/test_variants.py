"""Other data in the cases of the checks: for a class, for a student, and for the grader."""

import numpy as np
import pytest

from labkit.checks.judge import SEED, judged, run_here, seeded_cases
from labkit.course.handout.pages import cell_text, with_variant
from tests.exercises.answers import EXERCISES, LONG_IDS
from tests.exercises.edits import solution

SEEDS = ("anna", "berta", "2027", "class b", "z")
BY_DAY = "tests/course/grading/test_variants.py::test_a_right_answer_is_right_with_any_data"
LATE = pytest.mark.night(instead=BY_DAY)
PLAIN = [  # those of long lessons by night
    pytest.param(id, marks=LATE if id in LONG_IDS else ())
    for id, one in EXERCISES.items()
    if one.adapter is None
]


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")


def word(id, seed):
    """What is said of the lesson's own solution, with these data."""
    exercise = EXERCISES[id]
    return judged(exercise, solution(id), seeded_cases(exercise, seed), run_here)[0].word


@pytest.mark.parametrize("id", PLAIN)
def test_a_right_answer_is_right_with_any_data(id):
    assert word(id, SEEDS[0]) == "Right"


@LATE
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("id", EXERCISES)
def test_every_right_answer_is_right_with_any_data(id, seed):
    assert word(id, seed) == "Right"


def test_a_name_draws_other_data_and_the_same_ones_again(monkeypatch):
    exercise = EXERCISES["gpu.one_output"]
    ours = seeded_cases(exercise)[0].args[0]
    monkeypatch.setenv(SEED, "anna")
    hers = seeded_cases(exercise)[0].args[0]
    assert not np.array_equal(ours, hers)
    assert np.array_equal(hers, seeded_cases(exercise)[0].args[0])
    assert np.array_equal(hers, seeded_cases(exercise, "anna")[0].args[0])


def test_a_handout_bears_its_variant():
    text = cell_text({"VARIANT": "anna", "LESSON": "x"})
    assert "VARIANT = 'anna'" in text and 'os.environ["LABKIT_SEED"] = VARIANT' in text
    content = {"cells": [], "metadata": {"labkit": {"title": "T"}}}
    assert with_variant(content, "") == content
    assert with_variant(content, "anna")["metadata"]["labkit"] == {"title": "T", "variant": "anna"}
