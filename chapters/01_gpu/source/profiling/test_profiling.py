"""This lesson: what its solution prints follows from the kernels that the lesson shows."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda, profile
from labkit_lessons.gpu.profiling import compiled
from tests.notebooks.running import Run

LAYOUT, SUSPECTS, REAL, HALVED = "asfortranarray", "without_sum", "dscores", "demands = {"
ROOM, GUESSES = "room + 1", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "11_profiling")


def with_change(lesson, words, old, new, **changed):
    """The namespace that the cell with these words leaves, and what it prints, when changed."""
    code = lesson.cell(words)
    assert old in code
    namespace = lesson.before[code] | changed
    return lesson.execute(code.replace(old, new), namespace), namespace


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_any_cell_runs_again_after_all_the_others(lesson):
    """A case may be solved late: no other case may have taken its names by then."""
    for code in lesson.cells:
        assert lesson.execute(code, dict(lesson.namespace)) == lesson.printed[code]


def costs(lesson, name, report):
    name, sectors, elements = lesson.namespace["costs_of"](name, report)
    return float(sectors), elements


def test_the_layout_separates_the_two_costs(lesson):
    slow, other = lesson.namespace["slow"], lesson.namespace["other_layout"]
    assert (costs(lesson, "", slow), costs(lesson, "", other)) == ((32, 1), (4, 1))
    assert (slow.counters["global_load_requests"], slow.counters["atomic_lanes"]) == (1024, 32768)
    repaired = lesson.namespace["repaired"]
    assert costs(lesson, "", repaired) == (4, 64)
    _, after = lesson.again(LAYOUT, handed_in_bias_gradient=lesson.namespace["bias_gradient"])
    assert costs(lesson, "", after["other_layout"]) == (32, 64)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_the_repaired_kernels_compile_without_float64(lesson, arch):
    pytest.importorskip("numba_cuda")
    x, y = np.zeros((2, 40, 40), np.float32)
    for name, given in {"bias_gradient": (x, y[0]), "quick_gelu": (x[0], y[0])}.items():
        made = compile_report(lesson.namespace[name], given, arch)
        assert (made.fp64, made.spills) == (0, 0)
    assert made.lint == []


def test_the_report_names_the_leaks(lesson):
    pytest.importorskip("numba_cuda")
    x, y = np.zeros((2, 40), np.float32)
    made = compiled.report(lesson.namespace["handed_in_gelu"], x, y)
    assert made.fp64 > 20
    leaks = " ".join(made.lint)
    assert 0 <= leaks.index("float64 inst") < leaks.index("int64 ind")


def test_the_suspects_of_the_line_can_be_told_apart(lesson):
    pytest.importorskip("numba_cuda")
    code = lesson.cell(SUSPECTS)
    namespace = lesson.before[code].copy()
    lesson.execute(code, namespace)
    numbers = [(float(row[1]), row[2]) for row in namespace["rows"]]
    (whole, three), (product, two), (exponential, also_two) = numbers
    assert (three, two, also_two) == (3, 2, 2)
    assert 0 < product < 10 and 0.9 * whole < exponential < whole
    none, operations = compiled.float64(neither, namespace["a"], namespace["b"])
    assert (float(none), operations) == (0, 0), "and no other of the line's brings it in"


@cuda.jit
def neither(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] / math.exp(x[i])


def no_compiler(*arguments):
    raise ImportError("There is no compiler.")


def test_without_a_compiler_the_counts_are_left(lesson, monkeypatch, capsys):
    monkeypatch.setattr(compiled, "compile_report", no_compiler)
    x, y = np.ones((2, 300), np.float32)
    kernel = lesson.namespace["handed_in_gelu"]
    assert compiled.report(kernel, x, y) is None
    assert capsys.readouterr().out == "There is no compiler.\n"
    assert compiled.float64(kernel, x, y) == [None, 3]
    assert compiled.demand(lesson.namespace["make"], 1000, x, y) == (32, 4004)
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [name for name, *_ in shown] == ["one of three in float64", "48,000 bytes"]


def test_both_kernels_serve_the_network(lesson):
    assert lesson.printed[lesson.cell(REAL)].count("True") == 2
    said, _ = lesson.again(REAL, bias_gradient=half, quick_gelu=neither)
    assert said.count("False") == 2


@cuda.jit
def half(dy, db):
    col = cuda.threadIdx.x
    if col < dy.shape[1]:
        db[col] = dy[64 * cuda.blockIdx.y, col]


def shares(rows):
    return [float(row[-1]) for row in rows]


def test_the_limiter_is_found_by_halving(lesson, monkeypatch):
    _, namespace = lesson.again(HALVED)
    blocks = 228 * 1024 // (math.ceil(48_004 / 128) * 128 + 1024)
    halved = 228 * 1024 // (math.ceil(24_002 / 128) * 128 + 1024)
    expected = [100 * warps / 64 for warps in (4 * blocks, 4 * blocks, 4 * halved, 2 * blocks)]
    assert shares(namespace["rows"]) == pytest.approx(expected, abs=0.1)
    assert namespace["fits"]["as handed in"].limiter == "shared memory"
    monkeypatch.setattr(
        compiled, "compile_report", lambda *_: SimpleNamespace(registers=128, shared_bytes=10_000)
    )
    _, namespace = lesson.again(HALVED)
    assert shares(namespace["rows"]) == [25, 50, 25, 25], "now it is the registers"
    monkeypatch.setattr(compiled, "compile_report", no_compiler)
    _, namespace = lesson.again(HALVED)
    assert shares(namespace["rows"]) == pytest.approx(expected, abs=0.1)


def test_the_third_case_is_clean_in_its_counters(lesson):
    """As its introduction says: the waste does not show there."""
    x, y = lesson.namespace["table"], lesson.namespace["centred"].copy()
    p = profile(lesson.namespace["make"](12_000), 4, 128, x, y)
    names = ("global_load_sectors_per_request", "bank_conflicts", "flops_fp64")
    assert [p.counters[name] for name in names] == [4, 0, 0] and not p.hazards


def test_the_largest_room_is_the_one_that_fits_and_no_larger(lesson):
    assert "No hazard found. Right: True" in lesson.printed[lesson.cell(ROOM)]
    for room, expected in (
        ("3_391", [100, 93.75]),
        ("12_000", [25, 25]),
        ("3_000", [100, 100]),
        ("3_392", [93.75, 93.75]),
    ):
        _, namespace = with_change(lesson, ROOM, "room = 3_391", f"room = {room}")
        assert shares(namespace["rows"]) == pytest.approx(expected)
    said, _ = with_change(lesson, ROOM, "room = 3_391", "room = 500")
    assert "Out of bounds" in said and "Right" not in said


def test_the_guesses_meet_the_results(lesson, monkeypatch):
    pytest.importorskip("numba_cuda")
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [result.word for *_, result in shown] == ["compiled", "predicted", "predicted"]
    results = [float(result) for *_, result in shown]
    assert results == pytest.approx([24, (2 + 8100 / 254.4) / 3, 25])
