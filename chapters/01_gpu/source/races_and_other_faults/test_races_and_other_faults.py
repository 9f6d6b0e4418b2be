"""This lesson: what its solution prints follows from the kernels that the lesson shows."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda, profile
from labkit_lessons.gpu.races_and_other_faults import evidence
from tests.notebooks.running import Run

OUTSIDE, SHIFT, RACE, PROBE = "report.hazards[0]", "handed_in_log_sum, 3", "right_runs +=", "draw("
HANDED_IN, TOGETHER, EVIDENCE = "def handed_in_row_max", "cifar10", "evidence.row_of"
GUESSES = "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "10_races_and_other_faults")


def with_change(lesson, words, old, new, **changed):
    """What the cell with these words prints when something in its own code is replaced."""
    code = lesson.cell(words)
    assert old in code
    return lesson.execute(code.replace(old, new), lesson.before[code] | changed)


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_any_cell_runs_again_after_all_the_others(lesson):
    """A case may be solved late: no other case may have taken its names by then."""
    for code in lesson.cells:
        assert lesson.execute(code, dict(lesson.namespace)) == lesson.printed[code]


def test_the_author_of_the_first_case_could_not_see_it(lesson):
    """Where the array has an element behind its end, the kernel handed in is right."""
    assert "Out of bounds" in lesson.printed[lesson.cell(OUTSIDE)]
    handed_in = lesson.namespace["handed_in_smooth"]
    source = handed_in.py_func.__code__.co_names
    assert "syncthreads" in source
    x = np.random.default_rng(0).normal(size=65).astype(np.float32)
    y = np.zeros_like(x)
    for size in (64, 65):
        p = profile(handed_in, 2, 32, x[:size], y[:size])
        errors = [hazard for hazard in p.hazards if hazard.severity == "error"]
        assert bool(errors) == (size == 64), "of 65, 64 threads read nothing outside"
    assert y[1:-1] == pytest.approx((x[:-2] + x[1:-1] + x[2:])[:63] / 3, abs=1e-6)


def test_the_worked_examples_of_the_text():
    x = np.array([3, 6, 0, 9, 3, 3, 6, 0])
    y = [3, *(x[:-2] + x[1:-1] + x[2:]) / 3, 0]
    assert y == [3, 3, 5, 4, 5, 4, 3, 0]
    assert 1001 + np.log(np.exp(-1) + 1) == pytest.approx(1001.31, abs=5e-3)
    best = [2, 9, 4, 1, 7, 3, 8, 5]
    rounds = [best]
    for step in (4, 2, 1):
        rounds.append(np.maximum(rounds[-1][:step], rounds[-1][step : 2 * step]))
    assert [list(one) for one in rounds[1:]] == [[7, 9, 8, 5], [8, 9], [9]]


def images_right(said):
    return [int(row) for row in re.findall(r"^ +-?[\d,]+ +(\d+) ", said, re.M)]


def test_the_shift_shows_both_ends_of_the_exponential(lesson):
    said = lesson.printed[lesson.cell(SHIFT)]
    assert images_right(said) == [0, 0, 300, 300, 300, 0, 0]
    said = with_change(lesson, SHIFT, "math.exp(x[k, n])", "math.exp(np.float64(x[k, n]))")
    assert images_right(said) == [0, 300, 300, 300, 300, 300, 0], "float64 ends near 709"
    said = with_change(lesson, SHIFT, "x[k, n]", "x[0, n]")
    assert max(images_right(said)) <= 2, "an image may hit it by chance"


def test_the_race_is_found_although_all_runs_are_right(lesson):
    def again(old, new):
        changed = lesson.before[lesson.cell(HANDED_IN)].copy()
        code = lesson.cell(HANDED_IN)
        assert old in code
        lesson.execute(code.replace(old, new), changed)
        said = lesson.execute(lesson.cell(RACE), changed)
        return said, changed["right_runs"]

    said = lesson.printed[lesson.cell(RACE)]
    assert said.startswith("100 right results") and said.count("race") == 2
    assert "cuda.sync" not in said, "the cure is for the reader"
    barrier = "while step > 0:\n        cuda.syncwarp()\n"
    said, right = again("while step > 0:\n", barrier)
    assert right == 100 and "race" not in said
    said, right = again("top[row] = best[0]", "top[row] = best[1]")
    assert right == 0


def kept(n):
    """The places of n that a tree reaches when it halves and rounds down."""
    reach, step = {0: {0}} | {i: {i} for i in range(n)}, n // 2
    while step:
        for i in range(step):
            reach[i] = reach[i] | reach[i + step]
        step //= 2
    return reach[0]


def test_the_probe_shows_the_places_that_the_tree_loses(lesson):
    lost = lesson.namespace["lost"]
    assert [len(places) for places in lost] == [*range(1, 32)]
    for places in lost:
        n = len(places)
        assert places.tolist() == [i not in kept(n) for i in range(n)]
    for n in (32, 33, 47):  # as the text says
        assert not evidence.lost_places(lesson.namespace["handed_in_row_max"], n).any()
    for n in (1, 6, 31):
        assert not evidence.lost_places(lesson.namespace["row_max"], n).any()


def test_what_is_drawn_is_what_was_found(monkeypatch):
    shown = []
    monkeypatch.setattr(evidence, "show", lambda *args: shown.append(args))
    evidence.draw([np.array([False]), np.array([True, False, True]), np.zeros(4, bool)])
    ((figure, said),) = shown
    assert said.endswith("by the length of the row. 3: 0, 2.")
    (axes,) = figure.axes
    assert len(axes.collections) == 1 + 3 + 4


@cuda.jit
def first_column(x, top):
    if cuda.threadIdx.x == 0:
        top[cuda.blockIdx.x] = x[cuda.blockIdx.x, 0]


def test_the_photographs_go_through_all_four_kernels(lesson):
    table = lesson.namespace["table"]
    said = [(row[1], row[2], float(row[4])) for row in table]
    assert said[:2] == [("handed in", 0.57, 70), ("in use", 0.57, 85)]
    assert said[2][1:] == (np.inf, 70) and said[3][1:] == (pytest.approx(33.49, abs=0.01), 85)
    _, namespace = lesson.again(TOGETHER, row_max=first_column)
    labels = lesson.namespace["labels"]
    assert {float(row[4]) for row in namespace["table"][1::2]} == {np.sum(labels == 0)}
    _, namespace = lesson.again(TOGETHER, log_sum_exp=lesson.namespace["handed_in_log_sum"])
    assert namespace["table"][3][2] == np.inf


def test_the_evidence_follows_the_kernels(lesson):
    found = lesson.namespace["found"]
    assert [float(row[2]) for (_, kernel), row in found.items() if kernel == "in use"] == [100] * 3
    shares = [float(row[2]) for (_, kernel), row in found.items() if kernel == "handed in"]
    assert shares == [0, pytest.approx(100 * 4 / 11), pytest.approx(100 * 6 / 9)]
    _, namespace = lesson.again(EVIDENCE, row_max=first_column)
    right, hazards, cases = namespace["found"]["gpu.case_row_max", "in use"]
    assert (right, hazards) == (False, "none") and 0 < float(cases) < 20, "one column is right"


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_the_repaired_kernels_compile_without_float64(lesson, arch):
    pytest.importorskip("numba_cuda")
    x, y = np.zeros((2, 40, 40), np.float32)
    arguments = {"log_sum_exp": (x, y[0]), "row_max": (x, y[0]), "smooth": (x[0], y[0])}
    for name, given in arguments.items():
        made = compile_report(lesson.namespace[name], given, arch)
        assert (made.fp64, made.spills) == (0, 0)


def test_the_guesses_meet_the_results(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [(float(result), result.word) for *_, result in shown] == [
        (100, "counted"),
        (5, "counted"),
    ]
    shown.clear()
    lesson.again(GUESSES, right_runs=71, lost=[np.zeros(3, bool)] * 4 + [np.ones(2, bool)])
    assert [float(result) for *_, result in shown] == [71, 4]
