"""`kernel_exercise`: the example of CONTRIBUTING.md works, and so do other forms of kernels."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from labkit import check
from labkit.checks.registry import registered
from labkit.gpu import cuda
from labkit_lessons.gpu.memory_and_warps import solutions

HERE = Path(__file__).resolve().parent
TEXTS = """
[exercises."gpu.step"]
hints = ["First v, then p."]
misconceptions.old_velocity = "p moves with the velocity of the step before."

[exercises."gpu.double"]
hints = ["Twice."]
misconceptions = {}
"""


@pytest.fixture
def made(room, monkeypatch):
    """The module of a lesson, as one of the course's own, from its code and its texts."""
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    room.prefix("gpu")
    return lambda code, texts: importlib.import_module(room.lesson("example", texts, code))


@pytest.fixture
def example(made):
    """The exercise that CONTRIBUTING.md explains."""
    code = (HERE / "saxpy_exercise.py").read_text("utf-8")
    texts = (HERE / "saxpy_texts.toml").read_text("utf-8")
    (exercise,) = made(code, texts).EXERCISES
    return exercise


@pytest.fixture
def in_place(made):
    return made((HERE / "in_place.py").read_text("utf-8"), TEXTS)


@pytest.fixture
def feedback(capsys):
    def ask(exercise, kernel):
        with registered(exercise):
            check(exercise.id, kernel)
        return " ".join(capsys.readouterr().out.split())

    return ask


@cuda.jit
def saxpy(a, x, y, z):
    i = cuda.grid(1)
    if i < x.size:
        z[i] = y[i] + x[i] * a


@cuda.jit
def saxpy_of_the_first_block(a, x, y, z):
    i = cuda.threadIdx.x
    if i < x.size:
        z[i] = a * x[i] + y[i]


@cuda.jit
def saxpy_scattered(a, x, y, z):
    i = cuda.grid(1)
    j = i * 2 % 999 if x.size == 999 else i  # each element has one thread, far from its neighbour's
    if i < x.size:
        z[j] = a * x[j] + y[j]


@cuda.jit
def saxpy_empty(a, x, y, z):
    pass


def test_the_example_of_the_guide(example, feedback):
    assert "Right: gpu.saxpy is solved." in feedback(example, saxpy)
    assert "counts across all blocks" in feedback(example, saxpy_of_the_first_block)
    assert re.search(
        r"right, but in line \d+ a warp's load touches", feedback(example, saxpy_scattered)
    )
    assert "not solved yet" in feedback(example, saxpy_empty)
    assert "This is no kernel" in feedback(example, lambda a, x, y, z: None)
    one, two = np.float32([1, 2]), np.float32([3, 4])
    assert example.plain(saxpy, np.float32(10), one, two).tolist() == [13, 24]


def test_the_wrong_ideas_of_the_guides_example_are_diagnosed(example):
    assert len(example.misconceptions) == 4
    for case in example.cases(np.random.default_rng(0)):
        for idea in example.misconceptions:
            assert idea.function(*case.args).shape == example.oracle(*case.args).shape


@cuda.jit
def twice(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] + x[row, col]


@cuda.jit
def step(p, v, g, skip, rate):
    i = skip * cuda.grid(1)
    if i < p.size:
        new = g[i] + v[i] / np.float32(2)
        p[i], v[i] = p[i] - rate * new, new


@cuda.jit
def step_with_the_old_velocity(p, v, g, skip, rate):
    i = cuda.grid(1)
    if i < p.size and i % skip == 0:
        p[i] -= rate * v[i]
        v[i] = np.float32(0.5) * v[i] + g[i]


@cuda.jit
def step_that_clears_the_gradient(p, v, g, skip, rate):
    i = cuda.grid(1)
    if i < p.size and i % skip == 0:
        v[i] = np.float32(0.5) * v[i] + g[i]
        p[i] -= rate * v[i]
        g[i] = 0


@cuda.jit
def step_empty(p, v, g, skip, rate):
    pass


@cuda.jit
def step_that_reads_twice(p, v, g, skip, rate):
    i = cuda.grid(1)
    if i < p.size and i % skip == 0:
        v[i] = np.float32(0.5) * v[i] + g[i]
        p[i] += (rate * v[i] - rate * v[i]) - rate * v[i]


def test_a_kernel_that_works_in_place_on_several_outputs_and_takes_numbers(in_place, feedback):
    exercise = in_place.EXERCISES[0]
    assert "the course's own kernel" in feedback(exercise, solutions.block_sum)
    assert "Right: gpu.step is solved." in feedback(exercise, step)
    assert "not solved yet: the kernel changes nothing." in feedback(exercise, step_empty)
    answer = feedback(exercise, step_with_the_old_velocity)
    assert "`p[0]`" in answer and "the velocity of the step before" in answer
    assert "changes its input `g`" in feedback(exercise, step_that_clears_the_gradient)


def test_a_limit_sees_the_learners_kernel_and_all_inputs(in_place, feedback):
    answer = feedback(in_place.EXERCISES[0], step_that_reads_twice)
    assert "The numbers are right, but it is too dear." in answer and "2 cases are right" in answer
    assert in_place.seen == [(step_that_reads_twice, skip) for skip in (1, 2, 1)]


def test_few_lanes_are_enough_where_ours_are_few(in_place, feedback):
    assert "Right: gpu.double is solved." in feedback(in_place.EXERCISES[1], twice)
