"""This lesson: what its solution prints follows from the kernels that the lesson shows."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda, profile
from tests.notebooks.running import Run

SHIFT, RACE, PROBE, TOGETHER = "handed_in_1[3, 128]", "def handed_in_2", "np.eye", "cifar10"
LAYOUT, CLEAN, ROOM = "asfortranarray", "def demand", "figures.guesses"
REPORT = "def report"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "10_debugging_and_profiling")


def with_change(lesson, words, old, new, **changed):
    """What the cell with these words prints when something in its own code is replaced."""
    code = lesson.cell(words)
    assert old in code
    return lesson.execute(code.replace(old, new), lesson.before[code] | changed)


def numbers_in(pattern, said):
    return [float(n) for n in re.findall(pattern, said)]


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_any_cell_runs_again_after_all_the_others(lesson):
    """A case may be solved late: no other case may have taken its names by then."""
    for code in lesson.cells:
        assert lesson.execute(code, dict(lesson.namespace)) == lesson.printed[code]


def test_the_shift_shows_both_ends_of_the_exponential(lesson):
    images = r"(\d+) images right"
    said = lesson.printed[lesson.cell(SHIFT)]
    assert "No hazard found." in said
    assert numbers_in(images, said) == [0, 0, 300, 300, 300, 0, 0]
    first = re.findall(r"the first is (\S+)", said)
    assert first[:2] + first[-2:] == ["-inf", "-inf", "inf", "inf"]
    assert np.diff([float(n) for n in first[2:5]]) == pytest.approx([80, 80], abs=0.02)
    said = with_change(lesson, SHIFT, "math.exp(x[k, n])", "math.exp(np.float64(x[k, n]))")
    assert numbers_in(images, said) == [0, 300, 300, 300, 300, 300, 0], "float64 ends near 709"
    said = with_change(lesson, SHIFT, "x[k, n]", "x[0, n]")
    assert max(numbers_in(images, said)) <= 2, "an image may hit it by chance"


def test_the_race_is_found_although_all_runs_are_right(lesson):
    def evidence(old, new):
        changed = lesson.before[lesson.cell(RACE)].copy()
        code = lesson.cell(RACE)
        assert old in code
        lesson.execute(code.replace(old, new), changed)
        return lesson.again(PROBE, **{n: changed[n] for n in ("raced", "right_runs")})[0]

    said = lesson.printed[lesson.cell(PROBE)]
    assert numbers_in(r"(\d+) right results", said) == [100]
    assert said.count("Race on best") == 2 and "cuda." not in said, "the cure is for the reader"
    barrier = "while step > 0:\n        cuda.syncwarp()\n"
    said = evidence("while step > 0:\n", barrier)
    assert numbers_in(r"(\d+) right results", said) == [100] and "Race" not in said
    said = evidence("top[row] = best[0]", "top[row] = best[1]")
    assert numbers_in(r"(\d+) right results", said) == [0]


def kept(n):
    """The places of n that a tree reaches when it halves and rounds down."""
    reach, step = {0: {0}} | {i: {i} for i in range(n)}, n // 2
    while step:
        for i in range(step):
            reach[i] = reach[i] | reach[i + step]
        step //= 2
    return reach[0]


def test_the_probe_shows_the_places_that_the_tree_loses(lesson):
    rows = dict(re.findall(r"^ ?(\d+) ([.x]+)$", lesson.printed[lesson.cell(PROBE)], re.M))
    assert list(map(int, rows)) == [*range(1, 19)]
    for n, places in rows.items():
        expected = ["x."[i in kept(int(n))] for i in range(int(n))]
        assert places == "".join(expected)
    for n in (32, 33, 47):  # as the text says
        top = np.zeros(n, np.float32)
        profile(lesson.namespace["handed_in_2"], n, 32, np.eye(n, dtype=np.float32), top)
        assert top.all()
    said, _ = lesson.again(PROBE, handed_in_2=lesson.namespace["row_max"])
    assert not re.search(r"^ ?\d+ .*x", said, re.M)


@cuda.jit
def first_column(x, top):
    if cuda.threadIdx.x == 0:
        top[cuda.blockIdx.x] = x[cuda.blockIdx.x, 0]


def test_the_photographs_go_through_all_four_kernels(lesson):
    table = r"loss ([\d.]+|inf), right class on top (\d+) %"
    said = re.findall(table, lesson.printed[lesson.cell(TOGETHER)])
    assert said == [("0.57", "70"), ("0.57", "85"), ("inf", "70"), ("33.49", "85")]
    said, _ = lesson.again(TOGETHER, row_max=first_column)
    labels = lesson.namespace["labels"]
    assert [int(right) for _, right in re.findall(table, said)][1::2] == [np.sum(labels == 0)] * 2
    said, _ = lesson.again(TOGETHER, log_sum_exp=lesson.namespace["handed_in_1"])
    assert re.findall(table, said)[3][0] == "inf"


def test_the_layout_separates_the_two_costs(lesson):
    costs = r"([\d.]+) sectors/request .*, elements per atomic addition: (\d+)"

    def numbers(said):
        return [(float(a), float(b)) for a, b in re.findall(costs, said)]

    assert numbers(lesson.printed[lesson.cell(LAYOUT)]) == [(32, 1), (4, 1)]
    slow = lesson.namespace["slow"]
    assert (slow.counters["global_load_requests"], slow.counters["atomic_lanes"]) == (1024, 32768)
    repaired = lesson.namespace["bias_gradient"]
    p = profile(repaired, (4, 4), 32, lesson.namespace["dy"], np.zeros(128, np.float32))
    said, _ = lesson.again(LAYOUT, handed_in_3=repaired, slow=p)
    assert numbers(said) == [(4, 64), (32, 64)]
    assert numbers(lesson.printed[lesson.cell("gpu.case_bias_gradient")]) == [(4, 64)]


def arguments(name):
    x, y = np.zeros((2, 40, 40), np.float32)
    return {"row_max": (x, y[0]), "log_sum_exp": (x, y[0]), "bias_gradient": (x, y[0])}.get(
        name, (x[0], y[0])
    )


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_the_repaired_kernels_compile_without_float64(lesson, arch):
    pytest.importorskip("numba_cuda")
    for name in ("log_sum_exp", "row_max", "bias_gradient", "quick_gelu"):
        made = compile_report(lesson.namespace[name], arguments(name), arch)
        assert (made.fp64, made.spills) == (0, 0)
    assert made.lint == []


def test_the_report_names_the_leaks(lesson):
    pytest.importorskip("numba_cuda")
    made = lesson.namespace["report"](lesson.namespace["handed_in_4"], *arguments("handed_in_4"))
    assert made.fp64 > 20
    assert re.findall("float64 inst|int64 ind", " ".join(made.lint)) == [
        "float64 inst",
        "int64 ind",
    ]


LINE = "x[i] / (1 + math.exp(-1.702 * x[i]))"
SUSPECTS = [
    LINE,
    "x[i] / (1 + math.exp(x[i]))",
    "x[i] / math.exp(-1.702 * x[i])",
    "x[i] / math.exp(x[i])",
]


def test_the_suspects_of_the_line_can_be_told_apart(lesson):
    """What the reader is asked to try: leave out the product, the sum, or both."""

    def no_compiler(*arguments):
        raise ImportError("There is no compiler.")

    results = []
    for expression in SUSPECTS:
        said = with_change(lesson, REPORT, LINE, expression, compile_report=no_compiler)
        assert "There is no compiler." in said
        results += re.findall(r"\n([\d.]+ k?FLOP) \(counted", said)
    assert results == ["3.07 kFLOP", "2.05 kFLOP", "2.05 kFLOP", "0 FLOP"]


def test_the_report_says_how_much_each_suspect_brings_in(lesson):
    pytest.importorskip("numba_cuda")
    code, made = lesson.cell(REPORT), []
    for expression in SUSPECTS:
        after = dict(lesson.before[code])
        lesson.execute(code.replace(LINE, expression), after)
        made.append(after["report"](after["handed_in_4"], after["a"], after["b"]).fp64)
    whole, without_product, without_sum, without_both = made
    assert without_both == 0 < without_product < 10 < without_sum < whole
    assert without_sum > 0.9 * whole, "nearly all"


def shares(said):
    return numbers_in(r"([\d.]+) % \(predicted", said)


def test_the_limiter_is_found_by_halving(lesson):
    said = lesson.printed[lesson.cell(CLEAN)]
    blocks = 228 * 1024 // (math.ceil(48_004 / 128) * 128 + 1024)
    halved = 228 * 1024 // (math.ceil(24_002 / 128) * 128 + 1024)
    expected = [100 * warps / 64 for warps in (4 * blocks, 4 * blocks, 4 * halved, 2 * blocks)]
    assert shares(said)[:4] == pytest.approx(expected, abs=0.1)
    assert "limited by shared memory" in said.lower()
    assert "request 4 sectors" in said

    def hungry(*arguments):
        return SimpleNamespace(registers=128, shared_bytes=10_000)

    said, _ = lesson.again(CLEAN, compile_report=hungry)
    assert shares(said)[:4] == [25, 50, 25, 25], "now it is the registers"

    def no_compiler(*arguments):
        raise ImportError

    said, _ = lesson.again(CLEAN, compile_report=no_compiler)
    assert shares(said)[:4] == pytest.approx(expected, abs=0.1)


def test_the_largest_room_is_the_one_that_fits_and_no_larger(lesson):
    assert "No hazard found. Right: True" in lesson.printed[lesson.cell(ROOM)]
    assert shares(lesson.printed[lesson.cell(ROOM)]) == pytest.approx([100, 93.8])
    for room, expected in (("12_000", [25, 25]), ("3_000", [100, 100]), ("3_392", [93.8, 93.8])):
        said = with_change(lesson, ROOM, "room = 3_391", f"room = {room}")
        assert shares(said) == pytest.approx(expected)
    said = with_change(lesson, ROOM, "room = 3_391", "room = 500")
    assert "Out of bounds" in said and "Right" not in said


def test_the_guesses_meet_the_results(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(ROOM)
    assert [(name, result.word) for name, _, result in shown] == [
        ("race", "counted"),
        ("float64", "predicted"),
        ("occupancy", "predicted"),
    ]
    results = [float(result) for *_, result in shown]
    assert results == pytest.approx([100, (2 + 8100 / 254.4) / 3, 25])
    shown.clear()
    lesson.again(ROOM, right_runs=71)
    assert float(shown[0][2]) == 71
