"""This lesson: its numbers come from the kernels and from the compiler."""

import re

import numpy as np
import pytest

from labkit import convnet, figures
from labkit.datasets import cifar10
from labkit.gpu import compile_report, cuda
from labkit_lessons.gpu.a_first_kernel import instruction_kinds, photographs
from labkit_lessons.gpu.a_first_kernel.instruction_kinds import KINDS, instruction_counts
from tests.notebooks.running import Run

LAUNCHED, UNGUARDED, NEGATIVE = "print(c)", "def without_guard", "photographs.show"
TOGETHER, COMPILED, GUESSES = "normalised as by NumPy", "instruction_counts(with_zero", "guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "4_a_first_kernel")


def test_the_first_launch_adds(lesson):
    assert lesson.printed[lesson.cell(LAUNCHED)].split() == ["[11.", "22.", "33.", "44.]"]


def test_the_missing_guard_is_found_and_the_guard_silences_it(lesson):
    cell = lesson.cell(UNGUARDED)
    said = lesson.printed[cell]
    assert "Out of bounds" in said and "thread 44 of block 2" in said, "2 * 128 + 44 = 300"
    guarded = cell.replace("    y[i] =", "    if i < x.size:\n        y[i] =")
    assert lesson.execute(guarded, lesson.before[cell] | {}).strip() == "No hazard found."


def test_the_negative_is_the_kernels(lesson, monkeypatch):
    photos, negative = lesson.namespace["photos"], lesson.namespace["negative"]
    assert np.array_equal(negative, 255 - photos) and photos.max() == 255
    shown = []
    monkeypatch.setattr(figures, "image_grid", lambda images, *_: shown.append(images))
    photographs.show(photos, negative, 2)
    first = cifar10("sample").test.images[:2]
    assert np.array_equal(shown[0], np.concatenate([first, 255 - first]))


def test_normalised_photographs_are_what_the_network_gets(lesson):
    expected = convnet.normalise(cifar10("sample").test.images[:100]).reshape(300, 1024)
    assert np.allclose(lesson.namespace["normalised"], expected, atol=1e-5)


@cuda.jit
def wrong_scale(a, scale, shift, b):
    col, row = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        b[row, col] = a[row, col] * scale[row] - shift[row]


@cuda.jit
def wrong_relu(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = abs(x[i])


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({}, ["True", "True"]),
        ({"scale_rows": wrong_scale}, ["False", "False"]),
        ({"relu_kernel": wrong_relu}, ["True", "False"]),
    ],
)
def test_the_photographs_go_through_the_learners_kernels(lesson, broken, expected):
    said, _ = lesson.again(TOGETHER, **broken)
    assert re.findall("True|False", said) == expected


def test_the_compiled_instructions_add_up(lesson):
    for name in ("of_zero", "of_plain_0"):
        in_all, *kinds = map(int, lesson.namespace[name])
        assert in_all == sum(kinds)
    x = np.zeros(4, np.float32)

    @cuda.jit
    def copies(x, y):
        y[0] = x[0]

    counts = dict(zip(KINDS, map(int, instruction_counts(copies, x, x)[1:]), strict=True))
    assert counts["the maximum"] == counts["float64"] == 0 and counts["read and write arrays"] == 2


def test_without_a_compiler_the_stored_counts_are_shown(lesson, monkeypatch):
    compiled = {name: lesson.namespace[f"of_{name[5:]}"] for name in instruction_kinds.STORED}

    def missing(*_):
        raise ImportError

    monkeypatch.setattr(instruction_kinds, "compile_report", missing)
    for name, counts in compiled.items():
        stored = instruction_counts(lesson.namespace[name])
        assert [float(n) for n in stored] == [float(n) for n in counts]
        assert "stored" in stored[0].source


KERNELS = {  # of the lesson: the types of its arguments
    "add_kernel": "float32[::1], float32[::1], float32[::1]",
    "relu_kernel": "float32[::1], float32[::1]",
    "without_guard": "float32[::1], float32[::1]",
    "scale_rows": "float32[:,::1], float32[::1], float32[::1], float32[:,::1]",
    "with_zero": "float32[::1], float32[::1]",
    "with_plain_0": "float32[::1], float32[::1]",
}


@pytest.mark.parametrize("name", KERNELS)
def test_only_the_plain_0_makes_a_kernel_compute_in_float64(lesson, name):
    """What the lesson says of max(x[i], 0)."""
    report = compile_report(lesson.namespace[name], f"void({KERNELS[name]})", "sm_75")
    assert (report.fp64 > 0) == (name == "with_plain_0")


def test_every_kernel_of_the_lesson_is_among_them(lesson):
    kernels = {name for name, value in lesson.namespace.items() if hasattr(value, "py_func")}
    assert kernels == set(KERNELS)


def test_the_guesses_meet_what_was_predicted_and_compiled(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [(name, float(result), result.word) for name, _, result in shown] == [
        ("threads", 132 * 2048, "predicted"),
        ("instructions", 29, "compiled"),
    ]
