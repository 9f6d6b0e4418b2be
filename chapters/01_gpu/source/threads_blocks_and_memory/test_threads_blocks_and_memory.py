"""This lesson: its solution's numbers are counted, from the kernels that the lesson shows."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda, profile
from tests.notebooks.running import Run

COALESCING, TOGETHER, TABLE, SIDES = "sector_map", "normalised:", "sectors/store", "def take_sides"
GUESSES = "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "4_threads_blocks_and_memory")


def sectors(said):
    return [float(n) for n in re.findall(r"([\d.]+) sectors/request", said)]


def numbers(said):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", said)]


def test_the_sectors_follow_the_kernels(lesson):
    said = lesson.printed[lesson.cell(COALESCING)]
    assert sectors(said) == [4, 32]
    column, row = (lesson.namespace[name] for name in ("x_is_column", "x_is_row"))
    said, _ = lesson.again(COALESCING, x_is_column=row, x_is_row=column)
    assert sectors(said) == [32, 4]
    said, _ = lesson.again(COALESCING, a=np.asfortranarray(lesson.namespace["a"]))
    assert sectors(said) == [32, 4], "a column-major matrix turns it round"


@cuda.jit
def wrong_scale(x, scale, shift, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col] * scale[row] - shift[row]


@cuda.jit
def wrong_transpose(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[col, row] = -x[row, col] if row == 7 else x[row, col]


@cuda.jit
def wrong_sum(x, total):
    i = cuda.grid(1)
    if i < x.size // 2:
        cuda.atomic.add(total, 0, x[i])


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({}, ["True", "True", "True"]),
        ({"scale_rows": wrong_scale}, ["False", "True", "False"]),
        ({"transpose_tiled": wrong_transpose}, ["True", "False", "False"]),
        ({"block_sum": wrong_sum}, ["True", "True", "False"]),
    ],
)
def test_the_photographs_go_through_the_learners_kernels(lesson, broken, expected):
    said, _ = lesson.again(TOGETHER, **broken)
    assert re.findall("True|False", said) == expected


def test_the_table_is_counted_and_predicted(lesson):
    _, *rows, t4, h200 = lesson.printed[lesson.cell(TABLE)].splitlines()
    assert [numbers(row) for row in rows] == [[32, 0, 36], [4, 3968, 8], [4, 0, 8]]
    for line, bandwidth in ((t4, 320e9), (h200, 4.8e12)):
        time, prefix = re.search(r": ([\d.]+) (ms|µs) \(predicted", line).groups()
        seconds = float(time) * {"ms": 1e-3, "µs": 1e-6}[prefix]
        assert seconds == pytest.approx(2 * 4 * 16384**2 / bandwidth, rel=0.01)


KERNELS = {  # of the lesson: the types of its arguments
    "relu_kernel": "float32[::1], float32[::1]",
    "without_guard": "float32[::1], float32[::1]",
    "scale_rows": "float32[:,::1], float32[::1], float32[::1], float32[:,::1]",
    "x_is_column": "float32[:,::1], float32[:,::1]",
    "x_is_row": "float32[:,::1], float32[:,::1]",
    "transpose_tiled": "float32[:,::1], float32[:,::1]",
    "transpose_padded": "float32[:,::1], float32[:,::1]",
    "transpose_naive": "float32[:,::1], float32[:,::1]",
    "reverse": "float32[::1], float32[::1]",
    "block_sum": "float32[::1], float32[::1]",
    "take_sides": "float32[::1], int64",
}


def double_precision(kernel, types):
    """The lines of the kernel's PTX that compute in float64."""
    ptx = compile_report(kernel, f"void({types})", "sm_75").ptx
    instructions = [line.strip() for line in ptx.splitlines() if line.startswith("\t")]
    return [i for i in instructions if ".f64" in i and not i.startswith(".")]


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_computes_in_float64(lesson, name):
    assert not double_precision(lesson.namespace[name], KERNELS[name])


def test_every_kernel_of_the_lesson_is_among_them(lesson):
    kernels = {name for name, value in lesson.namespace.items() if hasattr(value, "py_func")}
    assert kernels == set(KERNELS)


@cuda.jit
def relu_of_a_whole_zero(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


def test_a_whole_zero_would_make_the_first_kernel_float64():
    """What the lesson says of max(x[i], 0)."""
    found = double_precision(relu_of_a_whole_zero, KERNELS["relu_kernel"])
    assert any(i.startswith("cvt.f64.f32") for i in found)


def test_half_of_the_lanes_idle_because_the_warp_executes(lesson):
    said = lesson.printed[lesson.cell(SIDES)].splitlines()
    assert [numbers(line) for line in said] == [[1, 8, 50], [32, 0, 100]]

    def twice(*args):  # shares stay, splits double
        p = profile(*args)
        by_line = {line: {k: 2 * v for k, v in n.items()} for line, n in p.by_line.items()}
        branches = p.counters["divergent_branches"]
        return SimpleNamespace(by_line=by_line, quantity=lambda name: f"{2 * branches} branches")

    said, _ = lesson.again(SIDES, profile=twice)
    assert [numbers(line) for line in said.splitlines()] == [[1, 16, 50], [32, 0, 100]]


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [(name, float(result), result.word) for name, _, result in shown] == [
        ("column", 8, "counted"),
        ("divergence", 50, "counted"),
        ("passes", 32, "counted"),
    ]
    shown.clear()
    lesson.again(GUESSES, bad=lesson.namespace["good"], shares={1: 75.0})
    assert [float(result) for _, _, result in shown] == [1, 75, 32]
