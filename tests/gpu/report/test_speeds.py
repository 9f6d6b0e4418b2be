"""What the report makes of its times: goals, ratios and rates, without a GPU."""

import re

import pytest
import torch

from labkit.gpu.report import goals, timing
from labkit.gpu.report.sections import speeds, training
from labkit.gpu.report.tasks import Bench

ISSUE = """
matmul: naive 1 | matmul: coalesced 7 | matmul: shared tile 11 | matmul: 1-D register tile 30
matmul: 2-D register tile 58 | matmul: vector loads 66 | matmul: tuned 72 80
tensor cores: float16 matmul 40 50 | memory: copy 90 | memory: ReLU 90 | memory: row sum 90
memory: softmax 80 | implicit GEMM: forward 60 | fusion: bias + ReLU + pool 1.5
"""


M_N_K = {"forward": (5, 72, 27), "dx": (3, 72, 45), "dw": (5, 27, 72)}  # of the dry run
PERCENT = {  # from the times below; copy, ReLU and softmax move 2 x 210 numbers, row sum 210 + 3
    **{f"memory: {row}": 100 * 5 / 2 for row in ("ReLU", "softmax")},
    "memory: copy": 100 * 5 / 7,
    "memory: row sum": 100 * 5 / 2 * 213 / 420,
    **{f"implicit GEMM: {row}": 100 * 11 / 2 for row in M_N_K},
}
RATES = {  # kind -> names of numbers, and what they say
    "matmul": {"ours": "2 s", "ours, rate": "343 kFLOP/s", "cuBLAS, rate": "229 kFLOP/s"},
    "tensor cores": {"ours, rate": "343 kFLOP/s", "cuBLAS": "3 s"},
    "memory": {"PyTorch's copy": "336 B/s"},
    "implicit GEMM": {"ours, rate": "9.72 kFLOP/s", "cuDNN": "3 s", "tuned matmul": "11 s"},
    "training": {"ours": "2 s", "ours, rate": "0.5 images/s"},
}


@pytest.mark.night(
    instead="tests/gpu/report/test_speeds.py::test_a_goal_says_whether_it_is_reached_and_by_how_much_not"
)
def test_what_a_section_makes_of_its_times(monkeypatch):
    """Ours takes 2 s and others 3 s, but copies take 7 and 5, and the matmul of "implicit" 11.

    Our side launches kernels of ours; the other side none.
    """
    from labkit.gpu.training.tensors import launches

    def measure(task, device):
        tasks.append(task)
        inputs = task.inputs(torch.Generator().manual_seed(0))
        times, (ours, other) = {}, known.get(task.name, (2.0, 3.0))
        for side, prepare in task.sides.items():
            launches.clear()
            prepare(inputs, tuple(torch.empty(shape) for shape in task.outputs))()
            assert bool(launches) == (side == "ours"), (task.name, side)
            seconds = ours if side == "ours" else other
            times[side] = timing.Timing(seconds, 9, 9, 3, (3, 3))
        return times

    known = {"copy": (7.0, 5.0)} | {f"matmul of {row}": (11.0, 0.0) for row in M_N_K}
    monkeypatch.setattr(speeds, "measure", measure)
    monkeypatch.setattr(training, "measure", measure)
    bench = Bench(timing.Host(), dry=True)
    for name, goal in goals.GOALS.items():
        tasks = []
        value, details = (speeds.KINDS | training.KINDS)[goal.kind](bench, goal.what)
        usual = 150 if goal.unit.startswith("%") else 1.5
        assert value == pytest.approx(PERCENT.get(name, usual)), name
        said = {name: number.number for name, number in details.items()}
        assert said.items() >= RATES.get(goal.kind, {"ours": "2 s", "PyTorch": "3 s"}).items()
        assert {number.word for number in details.values()} == {"measured"}
        if goal.kind == "implicit GEMM":
            M, N, K = M_N_K[goal.what]
            shapes = [tuple(t.shape) for t in tasks[1].inputs(torch.Generator())]
            assert shapes == [(M, K), (K, N)] and tasks[1].outputs == ((M, N),)


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16, None], ids=str)
def test_what_trains_in_float16_has_its_loss_scaled(low):
    """A gradient of 1e-8 is 0 in float16; scaled, and divided again, it is itself."""
    torch.manual_seed(0)
    model, x = torch.nn.Linear(4, 3, bias=False), torch.rand(5, 4)

    def loss(logits, labels):
        assert logits.dtype is (low or torch.float32)
        return (logits.float() * 1e-8).sum()

    library = loss, torch.optim.SGD
    step = training.trainer(model, library, "cpu", low)((x, None), ())
    before = model.weight.detach().clone()
    for _ in range(3):
        _, gradient = step()
        torch.testing.assert_close(gradient, 1e-8 * x.sum(0).repeat(3, 1), rtol=0.03, atol=0)
    assert torch.equal(model.weight, before)


def test_autocast_is_to_the_format_that_the_device_has(monkeypatch):
    given = []
    trainer = lambda *values, **named: given.append(named.get("low"))  # noqa: E731
    monkeypatch.setattr(training, "trainer", trainer)
    times = dict.fromkeys(("ours", "16-bit autocast"), timing.Timing(1, 9, 9, 3, (3, 3)))
    monkeypatch.setattr(training, "measure", lambda task, device: times)
    bench = Bench(timing.Host(), dry=True)
    for low in (torch.float16, torch.bfloat16):
        monkeypatch.setattr(training, "sixteen_bits", lambda on, low=low: low)
        _, details = training.training(bench, "our kernels beside 16-bit autocast")
        assert given[-2:] == [None, low] and f"autocast to {str(low)[6:]}" in details


def test_the_goals_are_those_that_were_set():
    for line in re.split(r"[|\n]", ISSUE.strip()):
        name, *numbers = re.match(r"\s*(.*?) ([\d. ]+)\s*$", line).groups()
        goal = goals.GOALS[name]
        limits = [limit for limit in (goal.goal, goal.aim) if limit is not None]
        assert limits == [float(n) for n in numbers[0].split()], name


def test_a_goal_says_whether_it_is_reached_and_by_how_much_not():
    tuned = goals.GOALS["matmul: tuned"]
    assert tuned.reached(72) and not tuned.reached(71)
    assert tuned.says(73, "NVIDIA H200") == "goal 72 (aim 80): reached"
    assert tuned.says(60.5, "NVIDIA H200") == "goal 72 (aim 80): missed by 11.5"
    assert tuned.says(60, "Tesla T4") == "an H200's goal, 72 (aim 80): missed by 12"
    nothing_promised = goals.GOALS["layers: fc1"]
    assert nothing_promised.reached(0.01) is None and nothing_promised.says(0.01, "x") == ""


class Stand(timing.Host):
    """A GPU in name."""

    name = "NVIDIA H200"


def test_a_row_has_its_number_first_and_says_its_goal():
    bench = Bench(Stand(), dry=False)
    goal = goals.GOALS["matmul: tuned"]
    row = speeds.timed(bench, goal, lambda bench, what: (71.0, {"ours": bench.measured(2, "s")}))
    assert [*row.numbers] == ["result", "ours"] and row.ok is False
    assert str(row.numbers["result"]) == "71 % of cuBLAS (measured on NVIDIA H200)"
    assert row.says == "goal 72 (aim 80): missed by 1"
    dry = speeds.timed(Bench(Stand(), dry=True), goal, lambda bench, what: (71.0, {}))
    assert dry.ok is None and dry.as_json(dry=True)["numbers"] == {}
