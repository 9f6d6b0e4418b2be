"""What the lessons predict, beside made-up times; and that the kernels shown are the lessons'."""

import ast
import inspect
from pathlib import Path

import pytest
import torch

from labkit.gpu import ladder
from labkit.gpu.ladder_speeds import published_rates
from labkit.gpu.report import timing
from labkit.gpu.report.rows import NotHere
from labkit.gpu.report.sections import cases, handed_in, lessons, peaks
from labkit.gpu.report.tasks import Bench
from labkit.hardware import machine
from labkit.provenance import measured

ROOT = Path(__file__).resolve().parents[3]
GPU = "NVIDIA H200"
BENCH = Bench(timing.Host(), dry=True)
SOURCES = {
    "implicit_gemm": "convolution_kernels",
    "handed_in_row_max": "races_and_other_faults",
    "handed_in_bias_gradient": "profiling",
    "handed_in_gelu": "profiling",
    "make": "profiling",
}


class Stand(timing.Host):
    """A GPU in name."""

    name = GPU


ON = Bench(Stand(), dry=False)


@pytest.fixture(autouse=True)
def an_h200(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: GPU)


def body(text, name):
    """A function's code without its docstring and types, as a tree."""
    (found,) = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    for node in ast.walk(found):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            if ast.get_docstring(node):
                node.body = node.body[1:]
    return ast.dump(found)


@pytest.mark.parametrize("name", SOURCES)
def test_a_kernel_handed_in_is_the_lessons(name):
    lesson = ROOT / "chapters" / "01_gpu" / "source" / SOURCES[name] / "lesson.py"
    ours = inspect.getsource(handed_in)
    assert body(ours, name) == body(lesson.read_text("utf-8"), name)


def earlier(**rates):
    """A report so far, with these FLOP/s of rungs."""
    rows = []
    for rung, rate in rates.items():
        number = measured(rate, "FLOP/s", GPU)
        parts = {part: getattr(number, part) for part in ("value", "unit", "word", "source")}
        rows.append({"what": f"matmul: {rung}", "numbers": {"ours, rate": parts}})
    return {"speeds": {"rows": rows}}


def test_a_published_ratio_stands_beside_the_one_here():
    before = earlier(**{"shared tile": 6e12, "coalesced": 2e12})
    row = lessons.pair_row(ON, before, "shared tile", "coalesced")
    rates = published_rates()
    there = float(rates["shared tile"]) / float(rates["coalesced"])
    assert float(row.numbers["here"]) == 3.0 and row.lesson == "tiles"
    assert float(row.numbers["in the lesson"]) == there
    assert row.numbers["in the lesson"].word == "published"
    assert row.says == "the published number is 2.0 times too low"


def test_without_a_speed_there_is_nothing_to_compare():
    with pytest.raises(NotHere, match="not in this report"):
        lessons.pair_row(ON, {}, "shared tile", "coalesced")


def test_the_estimate_is_the_lowest_of_three_counts_for_this_gpu():
    counts = ladder.count(["shared tile"], K=64)
    gpu = machine("h200")
    shares = counts.shares(gpu.ridge("fp32"))
    lowest = min(shares, key=lambda limit: shares[limit][0])
    before = earlier(**{"shared tile": 0.05 * float(gpu.peak["fp32"])})
    row = lessons.estimate_row(ON, before, "shared tile", lambda: counts)
    assert float(row.numbers["of the peak"]) == pytest.approx(5)
    assert float(row.numbers["estimate"]) == pytest.approx(100 * shares[lowest][0])
    assert f"limited by {lowest};" in row.says and "times too high" in row.says
    assert row.numbers["estimate"].word == "predicted"


def times(**seconds):
    return {name: timing.Timing(each, 9, 9, 3, (3, 3)) for name, each in seconds.items()}


@pytest.mark.parametrize(("share", "ok"), [(0.10, True), (0.15, False)])
def test_the_bound_of_tiles_alone_is_tried(monkeypatch, share, ok):
    n = 2048
    peak = float(machine("h200").peak["fp32"])
    seconds = 2 * n**3 / (share * peak)
    found = times(tiles=seconds, patches=seconds / 2)
    monkeypatch.setattr(lessons, "measure", lambda task, device: found)
    row = lessons.tiled_row(ON)
    assert row.ok is ok and float(row.numbers["of the peak"]) == pytest.approx(100 * share)
    assert row.says.startswith("the bound holds" if ok else "the bound is passed: 1.20 times it")
    assert float(lessons.patches_row(ON).numbers["here"]) == pytest.approx(2)


def test_the_convolutions_stand_beside_the_lessons_count(monkeypatch):
    found = times(direct=3.0, **{"implicit GEMM": 1.0})
    monkeypatch.setattr(cases, "measure", lambda task, device: found)
    row = cases.convolution_row(ON)
    assert float(row.numbers["here"]) == 3.0
    assert float(row.numbers["traffic in the lesson"]) == pytest.approx(18.5, rel=0.01)
    assert row.numbers["traffic in the lesson"].word == "counted"


def test_float64_by_the_lessons_sum(monkeypatch):
    monkeypatch.setattr(cases, "measure", lambda task, device: times(whole=1.0, **{"handed in": 1}))
    row = cases.float64_row(ON)  # an H200's float64 units keep up with its memory
    assert float(row.numbers["by the lesson's sum"]) == 1.0
    assert row.says == "the lesson's sum is close"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    slow = cases.float64_row(ON)  # seven times as long as the copy, says the lesson
    assert 7 < float(slow.numbers["by the lesson's sum"]) < 8
    assert slow.says == "the lesson's sum is 7.5 times too high"


def test_a_gpu_that_the_table_lacks_has_no_prediction(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA GeForce GTX 1080")
    with pytest.raises(NotHere, match="no row for NVIDIA GeForce GTX 1080"):
        peaks.this_gpu(ON)
    assert all(machine(key).kind == "gpu" for key in peaks.NAMES.values())


def test_all_cases_run_here_and_are_checked():
    for name, work in lessons.work(BENCH, {}):
        try:
            row = work()
        except NotHere:
            assert "estimate" in name or "beside" in name
        else:
            assert row.lesson and row.as_json(dry=True)["state"] == "done"


def test_a_repaired_kernel_that_is_wrong_is_refused(monkeypatch):
    monkeypatch.setattr(cases.whole, "quick_gelu", handed_in.handed_in_row_max)
    with pytest.raises((timing.Refused, TypeError, ValueError, RuntimeError)):
        cases.float64_row(BENCH)
