"""This lesson: its solution's numbers are counted, from the kernels that the lesson shows."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda, profile
from labkit_lessons.gpu.memory_and_warps import counts
from tests.notebooks.running import Run

COALESCING, TOGETHER, TABLE, SIDES = "sector_map", "transposed:", "transpose_naive", "take_sides"
RACE, GUESSES = "def reverse", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "5_memory_and_warps")


def numbers(said):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", said)]


def row(said, name):
    """The numbers of the table's line that begins with this name."""
    line = next(line for line in said.splitlines() if line.startswith(name + "  "))
    return numbers(line.removeprefix(name))


def test_the_sectors_follow_the_kernels(lesson):
    said = lesson.printed[lesson.cell(COALESCING)]
    assert row(said, "x is the column") == [4, 1]
    assert row(said, "x is the row") == [32, 8]
    column, other = (lesson.namespace[name] for name in ("x_is_column", "x_is_row"))
    said, _ = lesson.again(COALESCING, x_is_column=other, x_is_row=column)
    assert row(said, "x is the column") == [32, 8]
    said, _ = lesson.again(COALESCING, a=np.asfortranarray(lesson.namespace["a"]))
    assert row(said, "x is the row") == [4, 1], "a column-major matrix turns it round"


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
        ({"transpose_tiled": wrong_transpose}, ["False", "False", "True"]),
        ({"block_sum": wrong_sum}, ["True", "True", "False"]),
    ],
)
def test_the_photographs_go_through_the_learners_kernels(lesson, broken, expected):
    said, _ = lesson.again(TOGETHER, **broken)
    assert re.findall("True|False", said) == expected


def test_a_race_is_found_whatever_the_result_and_the_barrier_ends_it(lesson):
    cell = lesson.cell(RACE)
    said = lesson.printed[cell]
    assert re.findall("True|False", said) == ["False", "True"]
    assert said.count("Race on shared") == 2
    ordered = cell.replace("    y[i] =", "    cuda.syncthreads()\n    y[i] =")
    said = lesson.execute(ordered, lesson.before[cell] | {})
    assert re.findall("True|False", said) == ["True", "True"] and "Race" not in said


def test_the_table_is_counted_and_published(lesson):
    said = lesson.printed[lesson.cell(TABLE)]
    assert row(said, "naive") == [36, 0, 18.1]
    assert row(said, "tiled") == [8, 3968, 8.62]
    assert row(said, "padded") == [8, 0, 5.07]
    said, _ = lesson.again(TABLE, tiled=lesson.namespace["bad"])
    assert row(said, "tiled")[:2] == [64, 0], "8 times 4 bytes, read and written"


KERNELS = {  # of the lesson: the types of its arguments
    "x_is_column": "float32[:,::1], float32[:,::1]",
    "x_is_row": "float32[:,::1], float32[:,::1]",
    "transpose_tiled": "float32[:,::1], float32[:,::1]",
    "transpose_padded": "float32[:,::1], float32[:,::1]",
    "transpose_naive": "float32[:,::1], float32[:,::1]",
    "reverse": "float32[::1], float32[::1]",
    "block_sum": "float32[::1], float32[::1]",
    "take_sides": "float32[::1], int64",
}


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_computes_in_float64(lesson, name):
    assert compile_report(lesson.namespace[name], f"void({KERNELS[name]})", "sm_75").fp64 == 0


def test_every_kernel_of_the_lesson_is_among_them(lesson):
    kernels = {name for name, value in lesson.namespace.items() if hasattr(value, "py_func")}
    assert kernels == set(KERNELS)


def test_half_of_the_lanes_idle_because_the_warp_executes(lesson):
    said = lesson.printed[lesson.cell(SIDES)].splitlines()
    assert [numbers(line) for line in said[2:4]] == [[1, 8, 50], [32, 0, 100]]

    @cuda.jit
    def one_lane_of_four(x):
        i = cuda.grid(1)
        if i % 4 == 0:
            x[i] = x[i] * x[i]

    found = profile(one_lane_of_four, 1, 64, np.ones(64, np.float32))
    assert float(counts.lanes_at_work(found)) == 25


def test_what_nobody_reads_has_no_first_read():
    with pytest.raises(ValueError, match="No lane reads"):
        counts.first_read(SimpleNamespace(accesses=[]), "tile")


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [(name, round(float(result), 2), result.word) for name, _, result in shown] == [
        ("column", 8, "counted"),
        ("passes", 32, "counted"),
        ("divergence", 50, "counted"),
        ("transpose", 3.56, "published"),
    ]
    shown.clear()
    lesson.again(GUESSES, bad=lesson.namespace["good"], alternating=lesson.namespace["by_warps"])
    assert [float(result) for _, _, result in shown][:3] == [1, 32, 100]
