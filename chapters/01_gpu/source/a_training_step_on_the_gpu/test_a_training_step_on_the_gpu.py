"""Lesson a_training_step_on_the_gpu: its numbers are counted, predicted or timed, as it shows.

A cell runs again with one thing broken, replaced, or put on a clock that the test owns: what it
prints must follow (tests/notebooks/running.py).
"""

import re
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from labkit import convnet, figures, hardware
from labkit.gpu import cuda
from labkit.gpu.training import autograd, pytorch
from labkit.provenance import measured
from labkit_lessons.gpu.a_training_step_on_the_gpu import inductor, recorded_step, separate_kernels
from tests.notebooks.running import Run

STEP, OURS, COPIES = "perf_counter()", "launches.clear()", "def train_on"
TIMES, KEPT, FUSED, GUESSES = (
    "the rate of the bus",
    "figures.pairs",
    "after_conv",
    "figures.guesses",
)
PARAMETERS, N = 545_098, 64


def few(n, **_):
    """In place of torch.randperm: two batches instead of all."""
    return torch.arange(128)


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "randperm", few)
        return Run("01_gpu", "12_a_training_step_on_the_gpu")


# --- PyTorch's step ---


def test_the_step_is_timed(lesson, monkeypatch):
    ticks = iter([10.0, 16.0])
    monkeypatch.setattr(torch, "randperm", few)
    said, namespace = lesson.again(STEP, perf_counter=lambda: next(ticks))
    assert f"a step: {measured(6.0 / 3, 's')}" in said, "the first of 4 steps is not timed"
    train = namespace["train"]
    first, _ = convnet.forward_backward(
        convnet.init(0), train.images[:64].numpy(), train.labels[:64].numpy()
    )
    assert namespace["losses"][0] == pytest.approx(first, rel=1e-4)
    assert len(namespace["losses"]) == 4 and len({*namespace["losses"]}) == 4
    assert torch.initial_seed() == 0, "the same photographs in each batch on every machine"
    before, after = convnet.init(0), namespace["net"].state_dict()
    assert all((after[name].numpy() != w).any() for name, w in before.items()), "all are trained"


def test_the_timeline_shows_what_was_recorded(monkeypatch):
    names = {"aten::conv2d": 60, "aten::max_pool2d": 30, "Optimizer.step#SGD.step": 4}
    names |= {"autograd::engine::evaluate_function: ReluBackward0": 6}
    kernels = {"aten::conv2d": 8, "Optimizer.step#SGD.step": 1, "cudnn::implicit_gemm": 5}
    events, begin, cpu = [], 0, SimpleNamespace(name="CPU")
    for name, us in names.items():
        span = SimpleNamespace(start=begin, end=begin + us, elapsed_us=lambda us=us: us)
        event = {"name": name, "time_range": span, "device_type": cpu}
        event["device_time_total"] = kernels.get(name, 0)
        for parent in (None, name):  # what has a parent must not count again
            events.append(SimpleNamespace(**event, cpu_parent=parent))
        begin += us
    far = {"device_type": SimpleNamespace(name="CUDA"), "cpu_parent": None}
    far |= {"time_range": span, "device_time_total": 5}
    events.append(SimpleNamespace(name="cudnn::implicit_gemm", **far))
    steps = []

    @contextmanager
    def record():
        yield SimpleNamespace(events=lambda: events)
        assert len(steps) == 1, "the step must run while it is recorded"

    monkeypatch.setattr("torch.profiler.profile", record)
    found = recorded_step.record("cpu", lambda: steps.append(1))
    kinds = {row: [kind for kind, *_ in spans] for row, spans in found.parts.items()}
    assert kinds == {
        "forward": ["convolution", "pool"],
        "backward": ["ReLU"],
        "update": ["other"],
    }
    assert found.parts["backward"] == [("ReLU", pytest.approx(94e-6), pytest.approx(100e-6))]
    rows = recorded_step.shares(found.times, batch=64)
    assert {kind: time for kind, time, *_ in rows} == {
        "convolution": 60,
        "pool": 30,
        "ReLU": 6,
        "linear": 0,
    }
    for place, what in ((2, "bytes"), (3, "flops")):
        costs = {cost.name: float(getattr(cost, what)) for cost in convnet.layer_costs(64)}
        share = 100 * (costs["conv1"] + costs["conv2"]) / sum(costs.values())
        assert rows[0][place] == pytest.approx(share, abs=0.0501)
    # on a GPU the time is that of the kernels, by the operation that launched them
    steps.clear()
    found = recorded_step.record("cuda", lambda: steps.append(1))
    rows = recorded_step.shares(found.times, batch=64)
    assert [time for _, time, *_ in rows] == [pytest.approx(88.9), 0, 0, 0]


# --- our kernels ---


@cuda.jit
def uphill(p, g, v, lr, momentum):
    i = cuda.grid(1)
    if i < p.size:
        v[i] = momentum * v[i] + g[i]
        p[i] += lr * v[i]


def test_the_learners_update_trains_our_network(lesson):
    said = lesson.printed[lesson.cell(OURS)]
    assert "within 1 in 10,000: True" in said
    said, namespace = lesson.again(OURS, sgd_momentum=uphill)
    assert "within 1 in 10,000: False" in said
    counts = namespace["by_layer"]
    assert {"conv1", "conv2", "fc1", "fc2", "pool1", "pool2", "relu3", "loss"} < counts.keys()
    assert (counts["update"], counts["conv2"], counts["conv1"]) == (8, 3, 2)


def test_without_our_kernels_no_launch_is_counted(lesson, monkeypatch):
    monkeypatch.setattr(autograd, "ConvNet", lambda weights: convnet.torch_model(weights))
    monkeypatch.setattr(autograd, "cross_entropy", nn.functional.cross_entropy)
    said, namespace = lesson.again(OURS)
    assert "within 1 in 10,000: True" in said
    assert namespace["by_layer"] == {"update": 8}


# --- C01 ---


def least(machine, low=None, only=(), layers=""):
    """The roofline's time of the step, or of some layers in it, from the table of costs."""
    machine, seconds = hardware.machine(machine), 0
    for cost in convnet.layer_costs(N):
        for o in cost.operations:
            if layers not in cost.name or (only and o.name not in only):
                continue
            kind = "fp32" if low is None or o.name == "update" else low
            moved = (o.bytes_read + o.bytes_written) * (0.5 if kind == "fp16" else 1)
            peak = machine.peak[kind]
            seconds += max(o.flops / float(peak), moved / float(machine.bandwidth))
    return seconds


BUS = {"t4": 15.754e9, "h200": 63.015e9}  # PCIe 3.0 and 5.0 x16, as their standards' tables say


def test_the_copies_are_counted_and_predicted(lesson):
    names = lesson.namespace
    images = 4 * N * 3 * 32 * 32
    assert names["copying"].value == images + 2 * 4 * PARAMETERS
    assert names["staying"].value == images
    said, namespace = lesson.again(TIMES)
    assert "same losses: True" in said
    for row, (key, rate) in zip(namespace["rows"], BUS.items(), strict=True):
        assert float(row[1]) == pytest.approx(2 * 4 * PARAMETERS / rate, rel=0.005)
        assert float(row[2]) == pytest.approx(least(key), rel=0.005)


def test_the_copies_are_of_the_network_that_trains(lesson, monkeypatch):
    class Small(nn.Sequential):
        def __init__(self, device):
            super().__init__(nn.Flatten(), nn.Linear(3072, 10, bias=False))
            nn.init.zeros_(self[1].weight)

    monkeypatch.setattr(pytorch, "network", Small)
    _, namespace = lesson.again(COPIES)
    assert namespace["copying"].value - namespace["staying"].value == 2 * 4 * 30720


# --- C29: memory, time, fusion ---

# Of one photograph: the image, what the ReLUs and pools put out, and the pools' places, int64.
FLOATS = 3 * 32 * 32 + 32 * 32 * 32 + 32 * 16 * 16 + 64 * 16 * 16 + 64 * 8 * 8 + 128
PLACES = 32 * 16 * 16 + 64 * 8 * 8


def test_what_is_kept_is_counted(lesson):
    _, namespace = lesson.again(KEPT)
    full, half = namespace["full"], namespace["half"]
    assert full.total() == N * (4 * FLOATS + 8 * PLACES)
    copies = 2 * (864 + 18432 + 4096 * 128 + 1280)  # autocast's 16-bit weights
    assert half.total() == pytest.approx(N * (2 * FLOATS + 8 * PLACES) + copies, rel=0.01)
    assert float(namespace["saved"]) == pytest.approx(100 * (1 - half.total() / full.total()))
    assert full["pool1"] == half["pool1"] == 8 * N * 32 * 16 * 16


def test_the_convolutions_times_are_the_rooflines(lesson):
    times = lesson.namespace["times"]
    assert len(times) == 5
    for (key, kind), time in times.items():
        assert time.word == "predicted"
        assert float(time) == pytest.approx(least(key, kind, layers="conv"), rel=0.005)


def test_the_traffic_is_counted_from_the_kernels(lesson):
    x, y = 2 * 32 * 32 * 32, 2 * 32 * 16 * 16
    rows = lesson.namespace["rows"]
    three, one = (float(row[1]) for row in rows)
    assert three == pytest.approx(4 * (2 * x + 2 * x + x + y), rel=0.005)
    assert one == pytest.approx(4 * (x + y), rel=0.005)
    bandwidth = float(hardware.machine("t4").bandwidth)
    assert [float(row[2]) for row in rows] == pytest.approx([three / bandwidth, one / bandwidth])
    assert "same result: True" in lesson.printed[lesson.cell(FUSED)]


def test_the_fused_layers_keep_only_their_input(lesson):
    plain, fused = (float(row[3]) for row in lesson.namespace["rows"])
    whole = 4 * (4 * FLOATS + 8 * PLACES) + 4 * 4 * 10 + 8 * 4  # four photographs, and the loss
    assert plain == pytest.approx(whole, rel=0.005)
    assert fused == pytest.approx(whole - 4 * 8 * PLACES, rel=0.005), "a place is found again"


@cuda.jit
def half_of_the_maps(x, b, y):
    q, p, plane = cuda.grid(3)
    n, k = plane // y.shape[1], plane % y.shape[1]
    if p < y.shape[2] and q < y.shape[3] and k % 2 == 0:
        best = max(x[n, k, 2 * p, 2 * q], x[n, k, 2 * p, 2 * q + 1])
        best = max(best, max(x[n, k, 2 * p + 1, 2 * q], x[n, k, 2 * p + 1, 2 * q + 1]))
        y[n, k, p, q] = max(best + b[k], np.float32(0))


def test_another_kernel_has_other_traffic_and_another_result(lesson, monkeypatch):
    monkeypatch.setattr(inductor, "compiled_loops", lambda *_: "no loops")
    said, namespace = lesson.again(FUSED, bias_relu_pool=half_of_the_maps)
    assert "same result: False" in said and said.endswith("no loops\n")
    whole = float(lesson.namespace["rows"][1][1])
    assert float(namespace["rows"][1][1]) == pytest.approx(whole / 2, rel=0.01)


def test_the_separate_kernels_compute_what_numpy_does():
    rng = np.random.default_rng(3)
    x, b = rng.normal(size=(1, 3, 4, 6)).astype(np.float32), np.float32([-1, 0, 1])
    y, profiles = separate_kernels.three_kernels(x, b)
    pixels = np.maximum(x + b[:, None, None], 0).reshape(1, 3, 2, 2, 3, 2)
    assert y == pytest.approx(pixels.max(axis=(3, 5))) and len(profiles) == 3


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    images = 4 * N * 3072
    assert [result.word for *_, result in shown] == ["counted"] * 3
    bus, saved, fusion = (float(result) for *_, result in shown)
    assert bus == pytest.approx((images + 8 * PARAMETERS) / images)
    assert 31 < saved < 32 and fusion == pytest.approx(5.25 / 1.25, rel=0.01)
    assert not re.search("nan|inf", str(shown))
