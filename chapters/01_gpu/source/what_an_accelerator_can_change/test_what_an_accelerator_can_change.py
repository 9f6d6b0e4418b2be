"""This lesson: its solution's numbers are computed, and from what the lesson says.

A cell runs again with one thing broken, replaced, or put on a clock that the test owns: what it
prints must follow (tests/notebooks/running.py).
"""

import re
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
import torch

from labkit import convnet, figures, hardware
from labkit.datasets import cifar10
from labkit.hardware import Machine
from labkit.provenance import measured, published
from labkit_lessons.gpu.what_an_accelerator_can_change import layer_speeds, photograph_answers
from tests.notebooks.running import Run

PREFIX = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Clock:
    """In place of `timeit.timeit`: runs the statement once and returns the next of `seconds`.

    The last one is repeated. `results` are what the statements returned.
    """

    def __init__(self, *seconds):
        self.seconds, self.results = seconds, []

    def __call__(self, statement, *args, number=1_000_000, **kwargs):
        self.results.append(statement())
        return number * self.seconds[min(len(self.results), len(self.seconds)) - 1]


HERE = Machine(
    key="invented",
    name="an invented machine",
    kind="cpu",
    year=None,
    peak={"fp32": published(123e9, "FLOP/s", "the test")},
    bandwidth=published(45e9, "B/s", "the test"),
    memory=published(1e9, "B", "the test"),
)


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:  # no cell takes long for the sake of its clock
        patch.setattr(layer_speeds, "timeit", Clock(0.001))
        patch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
        return Run("01_gpu", "3_what_an_accelerator_can_change")


@pytest.fixture(scope="module")
def theirs():
    """PyTorch's logits for the sample's 500 test images, and their labels."""
    test = cifar10("sample").test
    with torch.no_grad():
        x = torch.tensor(convnet.normalise(test.images))
        return convnet.torch_model(convnet.load_weights())(x).numpy(), test.labels


# --- the network and its agreement with PyTorch ---

NETWORK, AGREEMENT = "def network(", "Same class as PyTorch"
COSTS, MACHINES = "FLOP agree:", "[hardware.machine"
EXPLAIN, STEP = "layer gains", "of its time in conv2"


def agreement(said):
    """Images of the same class, whether all logits are near, and the accuracy in percent."""
    same = re.search(r"Same class as PyTorch: (\d+) of 500", said)[1]
    near = re.search(r"scores within 0.001: (True|False)", said)[1]
    accuracy = re.search(r"Accuracy: ([\d.]+) %", said)[1]
    return int(same), near == "True", float(accuracy)


def right(logits, labels):
    return 100 * float((logits.argmax(axis=1) == labels).mean())


def test_the_network_agrees_with_pytorch(lesson, theirs):
    expected = 500, True, pytest.approx(right(*theirs), abs=0.05)
    assert agreement(lesson.printed[lesson.cell(AGREEMENT)]) == expected


def test_the_scores_come_from_the_learners_windows(lesson, theirs, monkeypatch):
    right_windows = lesson.namespace["im2col"]

    def upside_down(*args):
        return right_windows(*args)[:, ::-1]

    monkeypatch.setattr("labkit.last_right", lambda id: (upside_down, f"yours, {id}"))
    said, namespace = lesson.again(NETWORK, AGREEMENT)
    scores, (expected, labels) = namespace["scores"], theirs
    same = int((scores.argmax(axis=1) == expected.argmax(axis=1)).sum())
    assert "cut out by yours, gpu.im2col" in said and same < 400
    assert agreement(said) == (same, False, pytest.approx(right(scores, labels), abs=0.05))


def test_the_network_is_numpy_with_the_weights_it_is_given(lesson, monkeypatch):
    weights = convnet.init(seed=7)
    x = convnet.normalise(cifar10("sample").test.images[:5])
    expected = convnet.forward(weights, x)

    def refuse(*_, **__):
        raise AssertionError("the network called PyTorch")

    monkeypatch.setattr(torch.nn.Module, "__call__", refuse)
    for name in ("from_numpy", "tensor", "as_tensor", "conv2d"):
        monkeypatch.setattr(torch, name, refuse)
    np.testing.assert_allclose(lesson.namespace["network"](x, weights), expected, atol=1e-4)


def test_one_wrong_image_and_one_wrong_score_are_seen(lesson, theirs):
    _, labels = theirs
    real = lesson.namespace["network"]

    def off_by(amount):
        def network(x, weights):
            scores = real(x, weights)
            scores[3, scores[3].argmin()] += amount
            return scores

        return network

    said, _ = lesson.again(AGREEMENT, network=off_by(2e-3))
    assert agreement(said)[:2] == (500, False)
    said, namespace = lesson.again(AGREEMENT, network=off_by(1e3))
    assert agreement(said) == (
        490,
        False,
        pytest.approx(right(namespace["scores"], labels), abs=0.05),
    )


def test_the_picture_frames_the_wrong_answers(capsys):
    data = cifar10("sample")
    answers = data.test.labels.copy()
    answers[[3, 5]] = (answers[[3, 5]] + 1) % 10
    photograph_answers.show(data, answers, range(2, 6))
    assert "4 test photographs with the network's answers; 2 of" in capsys.readouterr().out


# --- the counts: from the shapes, written down here once more ---

N = 32
MACS = {
    "conv1": 32 * 32 * 32 * (3 * 3 * 3),
    "conv2": 64 * 16 * 16 * (32 * 3 * 3),
    "fc1": 128 * 4096,
    "fc2": 10 * 128,
}
MAPS = {  # layer -> numbers in, numbers out, weights, of one image
    "conv1": (3 * 32 * 32, 32 * 32 * 32, 32 * 27),
    "relu1": (32 * 32 * 32, 32 * 32 * 32, 0),
    "pool1": (32 * 32 * 32, 32 * 16 * 16, 0),
    "conv2": (32 * 16 * 16, 64 * 16 * 16, 64 * 288),
    "relu2": (64 * 16 * 16, 64 * 16 * 16, 0),
    "pool2": (64 * 16 * 16, 64 * 8 * 8, 0),
    "fc1": (4096, 128, 128 * 4096),
    "relu3": (128, 128, 0),
    "fc2": (128, 10, 1280),
}
BIASES = {"conv1": 32, "conv2": 64, "fc1": 128, "fc2": 10}


def step():
    """layer -> FLOP and bytes of a training step of 32 images, by the rules in the lesson."""
    costs = {}
    for name, (i, o, w) in MAPS.items():
        i, o = N * i, N * o
        if name in MACS:
            dx, b = name != "conv1", BIASES[name]  # nobody trains the photograph
            flops = (2 + dx) * 2 * N * MACS[name] + o
            numbers = (i + w + b + o) + (i + o + w + b) + dx * (o + w + i)
            costs[name] = flops, 4 * numbers
        elif name.startswith("relu"):
            costs[name] = 2 * o, 4 * 5 * o
        else:
            costs[name] = i - o, 4 * 2 * (i + o) + 2 * o  # and a byte for each maximum's place
    o, p = N * 10, sum(w for _, _, w in MAPS.values()) + sum(BIASES.values())
    costs["loss"] = 6 * o + 4 * N, (4 * o + 8 * N) + 4 * (o + 1) + (4 * o + 8 * N) + 4 * o
    costs["sgd"] = 4 * p, 4 * 5 * p
    return costs


def number(text):
    """The number in "5.44 GFLOP" or "33.6 MB"."""
    digits, prefix = re.fullmatch(r"([\d.]+) ([kMGT]?)[A-Z].*", text).groups()
    return float(digits) * PREFIX[prefix]


def least(cost, peak, bandwidth):
    return max(cost[0] / peak, cost[1] / bandwidth)


def test_the_table_of_costs(lesson):
    said = lesson.printed[lesson.cell(COSTS)]
    assert "FLOP agree:  True" in said and "bytes agree: True" in said
    rows = re.findall(r"^(\w+) +([\d.]+ \w+) +([\d.]+ \w+) +([\d.]+)$", said, re.MULTILINE)
    assert [row[0] for row in rows] == list(step())
    for name, flops, traffic, intensity in rows:
        expected = step()[name]
        assert number(flops) == pytest.approx(expected[0], rel=0.005), name
        assert number(traffic) == pytest.approx(expected[1], rel=0.005), name
        assert float(intensity) == pytest.approx(expected[0] / expected[1], rel=0.005), name


def test_the_table_of_costs_follows_the_network(lesson, monkeypatch):
    """For twice the images twice the FLOP are printed, and the learner's count no longer agrees."""
    real = convnet.layer_costs
    monkeypatch.setattr(convnet, "layer_costs", lambda batch: real(2 * batch))
    said, namespace = lesson.again(COSTS)
    assert "FLOP agree:  False" in said and "bytes agree: False" in said
    assert number(re.search(r"^relu1 +([\d.]+ \w+)", said, re.MULTILINE)[1]) == pytest.approx(
        2 * step()["relu1"][0], rel=0.005
    )
    assert namespace["share"] != lesson.namespace["share"]


def test_a_wrong_count_of_the_learners_is_seen(lesson):
    said, _ = lesson.again(COSTS, layer_cost=lambda x, w, b, y: (2 * y.size * w[0].size, 0))
    assert "FLOP agree:  True" in said and "bytes agree: False" in said


def test_multiply_adds_and_share(lesson):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        convnet.torch_model()(torch.zeros(1, 3, 32, 32))
    assert lesson.namespace["macs"] == sum(MACS.values()) == counter.get_total_flops() / 2
    flops = {name: cost[0] for name, cost in step().items()}
    share = 100 * (flops["conv1"] + flops["conv2"]) / sum(flops.values())
    assert lesson.namespace["share"] == pytest.approx(share, rel=1e-12)


LAPTOP, T4, H200, H200_TF32 = (
    (768e9, 51.2e9),  # FLOP/s, B/s
    (8.1e12, 320e9),
    (67e12, 4.8e12),
    (494.5e12, 4.8e12),
)


def step_takes(machine):
    return sum(least(cost, *machine) for cost in step().values())


def test_the_guesses_meet_these_results(lesson, monkeypatch):
    gain = step_takes(LAPTOP) / step_takes(H200_TF32)
    seen = []
    monkeypatch.setattr(figures, "guesses", seen.extend)
    lesson.again(COSTS, MACHINES, EXPLAIN, STEP, hardware=hardware, rates=dict.fromkeys(MACS))
    results = {name: float(result) for name, _, result in seen}
    assert results == {
        "H200 in TF32": pytest.approx(gain),
        "multiply-adds": 6_128_896,
        "convolutions": pytest.approx(lesson.namespace["share"]),
    }


def test_the_predicted_gains_of_layers(lesson):
    said = lesson.printed[lesson.cell(EXPLAIN)]
    rows = re.findall(r"^(\w+) +([\d.]+) +([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    assert [row[0] for row in rows] == ["conv1", "relu1", "conv2", "fc1"]
    for name, *gains in rows:
        cpu = least(step()[name], *LAPTOP)
        for gain, machine in zip(gains, [T4, H200, H200_TF32], strict=True):
            assert float(gain) == pytest.approx(cpu / least(step()[name], *machine), rel=0.005)


def test_the_steps_times_gains_and_shares(lesson):
    rows = lesson.namespace["rows"]
    assert [row[0] for row in rows] == ["laptop", "T4", "H200", "H200 in TF32"]
    for (_, seconds, gain, share), machine in zip(rows, [LAPTOP, T4, H200, H200_TF32], strict=True):
        takes = step_takes(machine)
        assert float(seconds) == pytest.approx(takes)
        assert float(gain) == pytest.approx(step_takes(LAPTOP) / takes)
        assert float(share) == pytest.approx(100 * least(step()["conv2"], *machine) / takes)


def test_the_gains_are_the_learners(lesson):
    _, names = lesson.again(EXPLAIN, STEP, least_time=lambda *_: 2.0)
    assert [float(row[2]) for row in names["rows"]] == [1, 1, 1, 1]


def test_what_the_verdict_says_of_the_gains(lesson):
    """About 90 times in float32, 150 with tensor cores, 8 on a T4; which ridges lie where."""
    gains = [step_takes(LAPTOP) / step_takes(m) for m in (H200, H200_TF32, T4)]
    assert [round(gain, -1) for gain in gains[:2]] == [90, 150] and round(gains[2]) == 8
    assert [round(peak / bandwidth) for peak, bandwidth in (LAPTOP, H200, H200_TF32)] == [
        15,
        14,
        103,
    ]
    flops, traffic = step()["conv2"]
    assert round(flops / traffic) == 94


# --- the timings: on the test's clock they are exact ---

ROOFLINE = "measure_layers"


@pytest.mark.parametrize("seconds", [0.002, 0.5])
def test_the_rates_are_the_counts_over_the_clock(lesson, monkeypatch, seconds):
    shown, clock = [], Clock(3 * seconds, seconds, *[2 * seconds] * 18, seconds)
    monkeypatch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
    monkeypatch.setattr(figures, "roofline", lambda *args: shown.append(args))
    monkeypatch.setattr(layer_speeds, "timeit", clock)
    said, _ = lesson.again(ROOFLINE)
    ((machine, intensities, rates),) = shown
    peak = max([HERE.peak["fp32"], *rates.values()], key=float)
    assert machine == replace(HERE, peak={"fp32": peak})
    assert str(peak) in said and str(HERE.bandwidth) in said
    assert list(rates) == list(intensities) == ["conv1", "relu1", "conv2", "fc1"]
    for name, rate in rates.items():
        flops, traffic = step()[name]
        assert (float(rate), rate.unit) == (pytest.approx(flops / seconds, rel=1e-12), "FLOP/s")
        assert rate.word == "measured" and rate.source == hardware.this_machine().name
        assert float(intensities[name]) == pytest.approx(flops / traffic, rel=1e-12)


def rates_of_a_machine(peak, bandwidth, notes):
    peak, bandwidth = measured(peak, "FLOP/s"), measured(bandwidth, "B/s")
    return replace(HERE, peak={"fp32": peak}, bandwidth=bandwidth, notes=f"{notes}; a copy.")


@pytest.mark.parametrize(
    ("fastest", "peak", "reached_by"),
    [(1.0, 20.0, "a product"), (20.5, 20.5, "layer, conv2"), (15.0, 20.0, "a product")],
)
def test_the_roof_is_the_highest_that_was_reached(fastest, peak, reached_by):
    slow_arithmetic = rates_of_a_machine(10.0, 7.0, "a convolution")
    slow_memory = rates_of_a_machine(20.0, 5.0, "a product")
    rates = {"relu1": measured(0.5, "FLOP/s"), "conv2": measured(fastest, "FLOP/s")}
    for two in ((slow_arithmetic, slow_memory), (slow_memory, slow_arithmetic)):
        machine, by = layer_speeds.highest_roof(*two, rates)
        assert (float(machine.rate()), float(machine.bandwidth), by) == (peak, 7.0, reached_by)


def test_what_is_timed_is_each_layer_forward_and_backward(lesson, monkeypatch):
    clock = Clock(0.001)
    monkeypatch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
    monkeypatch.setattr(layer_speeds, "timeit", clock)
    lesson.again(ROOFLINE)
    steps = [sorted(tuple(g.shape) for g in gradients) for gradients in clock.results]
    conv1, conv2, fc1 = (convnet.SHAPES[f"{n}.weight"] for n in ("conv1", "conv2", "fc1"))
    expected = [
        [conv1, conv1[:1]],  # no dx
        [(N, 32, 32, 32)],
        [(N, 32, 16, 16), conv2, conv2[:1]],
        [(N, 4096), fc1, fc1[:1]],
    ]
    assert [shapes for shapes, _ in groupby(steps)] == [sorted(shapes) for shapes in expected]
    assert all(bool(g.any()) for gradients in clock.results for g in gradients)
    assert len(steps) >= 4 * 5  # the best of several
