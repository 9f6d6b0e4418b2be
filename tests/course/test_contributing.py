"""The plain exercise that CONTRIBUTING.md writes out works (tests/exercises has the kernel)."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from labkit import check
from labkit.checks.registry import registered

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
FENCES = re.findall(r"```(?:python|toml)\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def example(room):
    room.prefix("fpga")
    code = next(text for text in FENCES if "EXERCISES = [to_int8]" in text)
    texts = next(text for text in FENCES if text.startswith('[exercises."fpga.to_int8"]'))
    (exercise,) = importlib.import_module(room.lesson("quantisation", texts, code)).EXERCISES
    return exercise


@pytest.mark.parametrize(
    ("limit", "answer", "says"),
    [
        ((-128, 127), np.round, "Right: fpga.to_int8 is solved."),
        ((-128, 127), np.trunc, "The numbers are cut off"),
        ((-127, 127), np.round, "-128 is a byte, too."),
        ((-np.inf, np.inf), np.round, "stays as it is"),
    ],
)
def test_the_plain_example_of_the_guide(example, capsys, limit, answer, says):
    with registered(example):
        check(example.id, lambda x, scale: np.clip(answer(x / scale), *limit))
    assert says in " ".join(capsys.readouterr().out.split())


def test_all_wrong_ideas_of_the_plain_example_differ_from_the_right_one(example):
    for idea in example.misconceptions:
        differs = [
            not np.array_equal(idea.function(*case.args), example.oracle(*case.args))
            for case in example.cases(np.random.default_rng(0))
        ]
        assert any(differs), idea.sentence
