"""The grader says of an answer what `check` says in a notebook, word for word."""

import re
from itertools import islice

import pytest

from labkit.checks.judge import judged, run_here, seeded_cases
from labkit.course.grading.answer_keys import Course, course_of
from labkit.course.grading.answers import Seconds
from labkit.course.grading.closed_process import Limits
from labkit.course.grading.grading import Grader
from labkit.course.grading.rooms import lesson_folders, room
from labkit.course.grading.submissions import read
from tests.course.grading.notebooks import submit
from tests.course.grading.planted_cells import cell_of, planted
from tests.exercises.answers import EXERCISES
from tests.night import others_by_night

SEED = "a secret"
MANY = 200
BY_DAY = ("gpu.linear_backward", "gpu.matmul_tiled", "distributed.order_of_stage", "fpga.mac")
MORE = "tests/course/grading/test_ways_in.py::test_code_in_an_attribute_of_systemverilog"
ANSWERS = [*islice(planted(), MANY)]


@pytest.fixture(scope="module")
def ask(rooms, tmp_path_factory):
    """ask(id, answer) -> the grader's verdict on a planted answer."""
    folder = tmp_path_factory.mktemp("planted")
    hidden = course_of(lesson_folders()[0], [], lesson_folders()).hidden
    place = room(folder / "room", limits=Limits(memory=6 * 2**30))
    graders = []

    def verdict(id, answer):
        file = submit(folder, "one", cell_of(id, answer))
        graders.append(Grader(place, Course([id], hidden=hidden), SEED, 61_800, Seconds()))
        try:
            [found] = graders[-1].verdicts(read(file, file.name))
        finally:
            graders[-1].close()
        return found

    return verdict


def said_by_check(id, answer):
    """What `check` says of it here, of the same cases."""
    exercise = EXERCISES[id]
    return judged(exercise, answer, seeded_cases(exercise, SEED), run_here)[0]


@pytest.mark.parametrize("id", others_by_night(BY_DAY, MORE, by_day=3))
def test_what_is_said_of_a_planted_answer(ask, id):
    answer = next(answer for other, answer in ANSWERS if other == id)
    compare(answer, ask(id, answer), said_by_check(id, answer))


def compare(answer, verdict, message):
    """Word for word; a kernel that was cut out of a file stands in another line of its cell."""
    code = getattr(getattr(answer, "py_func", answer), "__code__", None)
    cut_out = hasattr(answer, "py_func") and not code.co_filename.startswith("<")
    said = [verdict.text, str(message)]
    if cut_out:
        said = [" ".join(re.sub(r"line \d+", "line N", text).split()) for text in said]
    assert verdict.word == message.word
    assert said[0] == said[1]


@pytest.mark.night(
    instead="tests/course/grading/test_same_as_check.py::test_what_is_said_of_a_planted_answer"
)
@pytest.mark.parametrize(("id", "answer"), ANSWERS, ids=[f"{id}-{f.__name__}" for id, f in ANSWERS])
def test_two_hundred_planted_answers(ask, id, answer):
    compare(answer, ask(id, answer), said_by_check(id, answer))
