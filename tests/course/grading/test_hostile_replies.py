"""What a student's process may send instead of what it was asked for: the grader reads on."""

import io
import json

import numpy as np
import pytest

from labkit.checks.items import Case
from labkit.course.grading import answers, data, grading, judge_process
from labkit.course.grading.answer_keys import Course
from labkit.course.grading.answers import Answers, Seconds
from labkit.course.grading.closed_process import Ended
from labkit.course.grading.grading import Grader
from labkit.course.grading.submissions import read
from tests.course.grading.notebooks import CHECK, ID, RIGHT, submit

NOT_ANSWERS = [
    {},
    {"answers": 3, "failures": "x"},
    {"answers": {ID: 5}, "failures": [3, [1, 2], [1, 2, 3], [{}, [], {}]]},
    {"answers": {ID: [1, None, {"form": 3}, {}]}},
    {"answers": {ID: [{"form": "function", "parameters": [["x", 99, True]]}]}},
    {"answers": {"": []}, "failures": [[4, 1, {"name": [], "text": {}}]]},
]
NOT_RUNS = [
    {},
    {"runs": []},
    {"runs": [{"returned": 1}], "hit": None, "expired": False, "idle": False, "left": None},
    {"runs": 3, "hit": [], "expired": 0, "idle": 0, "left": None},
    {"runs": [], "hit": ["escape"], "expired": True, "idle": True, "left": [1]},
]
NOT_VALUES = [
    {"kind": "array", "npy": "AAAA"},
    {"kind": "array", "npy": 3},
    {"kind": "int", "text": "no"},
    {"kind": "list", "of": 3},
    {"kind": "tuple", "of": [{"kind": "nothing"}]},
    {"kind": "dict", "of": [[1]]},
    {"kind": "dict", "of": [[{"kind": "list", "of": []}, True]]},
    {"kind": "other", "module": 3, "name": "a\0b"},
    {"kind": "tensor", "type": "Tensor", "npy": ""},
    {},
    [],
]


class Fake:
    """A process that replies what it was made with."""

    at = None

    def __init__(self, *replies):
        self.replies = list(replies)

    def ask(self, message, seconds):
        """The next reply."""
        if not self.replies:
            raise Ended("is silent")
        return self.replies.pop(0)

    def close(self):
        """Nothing stays."""


@pytest.fixture
def one(tmp_path):
    return read(submit(tmp_path, "x", RIGHT + CHECK), "x.ipynb")


@pytest.mark.parametrize("reply", NOT_ANSWERS, ids=range(len(NOT_ANSWERS)))
def test_descriptions_that_are_none(one, reply, monkeypatch):
    monkeypatch.setattr(answers, "ClosedProcess", lambda *_, **__: Fake(reply))
    found = Answers(None, Course([ID]), 0, Seconds(), one)
    assert all(isinstance(given, dict) for given in found.of(ID))
    assert isinstance(found.why_none(ID), str)


@pytest.mark.parametrize("at", [None, 3, [1], [[], []], ["3", 1], [99, 1], {"a": 1}])
def test_a_place_that_is_none_ends_the_tries(one, at, monkeypatch):
    made = []

    def start(*_, **__):
        made.append(Fake())
        made[-1].at = at
        return made[-1]

    monkeypatch.setattr(answers, "ClosedProcess", start)
    assert Answers(None, Course([ID]), 0, Seconds(), one).of(ID) == []
    assert len(made) == 1


def test_a_judge_that_is_no_longer_ours_gives_a_row(one, monkeypatch):
    asks = [{"ask": {"pickle": True}, "alone": True}] * 3
    course = Course([ID])
    for replies in ([{}], [*asks, {"word": 3}], [*asks, {"ask": 3}], []):
        described = {"answers": {ID: [{"form": "function"}]}, "failures": []}
        students = Fake(described, {}, {}, {})
        judge = Fake(*replies)
        monkeypatch.setattr(answers, "ClosedProcess", lambda *_, one=students: one)
        monkeypatch.setattr(grading, "ClosedProcess", lambda *_, one=judge: one)
        [verdict] = Grader(None, course, "", 0, Seconds()).verdicts(one)
        assert verdict.word != "Right" and isinstance(verdict.text, str)


@pytest.mark.parametrize("found", NOT_RUNS, ids=range(len(NOT_RUNS)))
def test_runs_that_are_none(found):
    with pytest.raises(data.Broken):
        judge_process.watched(found, [Case("one", (1,)), Case("two", (2,))])


@pytest.mark.parametrize("given", NOT_VALUES, ids=range(len(NOT_VALUES)))
def test_values_that_are_none(given):
    with pytest.raises(data.Broken):
        data.read(given)


def test_messages_that_are_none():
    for text in (b"", b"{}", b"[" * 10**6 + b"\n", b"\xff\n"):
        with pytest.raises(data.Broken):
            data.receive(io.BytesIO(text))


VALUES = [
    None, True, 3, -(2**70), 1.5, float("inf"), 2 + 1j, "text", [1, [2.0]], (1, "x"), {"a": 1},
    np.arange(6).reshape(2, 3), np.float32(2), np.zeros((0, 3), bool), np.array(["a", "bc"]),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(value):
    back = data.read(json.loads(json.dumps(data.written(value))))
    assert type(back) is type(value)
    assert np.array_equal(back, value) if isinstance(value, np.ndarray) else back == value
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype


def test_what_is_no_data_comes_over_by_its_name_alone():
    class Own:
        def __reduce__(self):
            raise AssertionError("it was pickled")

    for value in (Own(), np.array([Own()]), {1: Own()}, [Own()]):
        assert "Own()" not in json.dumps(data.written(value))
    assert type(data.read(data.written(Own()))).__name__.endswith("Own")


def test_an_error_comes_over_with_its_class():
    for error in (ValueError("x"), np.linalg.LinAlgError("y"), KeyError(3), UnicodeDecodeError(
        "utf-8", b"x", 0, 1, "bad")):  # fmt: skip
        back = data.read_error(json.loads(json.dumps(data.written_error(error))))
        assert isinstance(back, type(error)) and type(back).__name__ == type(error).__name__
    back = data.read_error({"module": "os", "name": "system", "text": "true"})
    assert type(back).__name__ == "system" and str(back) == "true"
