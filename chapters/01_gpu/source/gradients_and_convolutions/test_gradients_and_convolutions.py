"""This lesson: its solution's numbers are computed, and from what the lesson says.

A cell runs again with one thing broken, replaced, or put on a clock that the test owns: what it
prints must follow (tests/notebooks/running.py).
"""

import re
from itertools import groupby

import numpy as np
import pytest
import torch

from labkit import convnet, figures, hardware, reference
from labkit.course.config import config
from labkit.datasets import cifar10
from labkit.hardware import Machine
from labkit.provenance import measured, published
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
        patch.setattr("timeit.timeit", Clock(0.5, 0.001))
        patch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
        return Run("01_gpu", "1_gradients_and_convolutions")


@pytest.fixture(scope="module")
def theirs():
    """PyTorch's logits for the sample's 500 test images, and their labels."""
    test = cifar10("sample").test
    with torch.no_grad():
        x = torch.tensor(convnet.normalise(test.images))
        return convnet.torch_model(convnet.load_weights())(x).numpy(), test.labels


# --- the network and its agreement with PyTorch ---

NETWORK, AGREEMENT = "def network(", "Same class as PyTorch"


def agreement(said):
    """Images of the same class, whether all logits are near, and the accuracy in percent."""
    same = re.search(r"Same class as PyTorch: (\d+) of 500 images", said)[1]
    near = re.search(r"logits within 0.001: (True|False)", said)[1]
    accuracy = re.search(r"Accuracy: ([\d.]+) %", said)[1]
    return int(same), near == "True", float(accuracy)


def right(logits, labels):
    return 100 * float((logits.argmax(axis=1) == labels).mean())


def test_the_network_agrees_with_pytorch(lesson, theirs):
    expected = 500, True, pytest.approx(right(*theirs), abs=0.05)
    assert agreement(lesson.printed[lesson.cell(AGREEMENT)]) == expected


def test_the_logits_come_from_the_learners_convolution(lesson, theirs):
    def flipped(x, w, b, stride=1, padding=0):
        return lesson.namespace["conv2d"](x, w[:, :, ::-1, ::-1], b, stride, padding)

    said, namespace = lesson.again(NETWORK, AGREEMENT, conv2d=flipped)
    logits, (expected, labels) = namespace["logits"], theirs
    same = int((logits.argmax(axis=1) == expected.argmax(axis=1)).sum())
    assert same < 400
    assert agreement(said) == (same, False, pytest.approx(right(logits, labels), abs=0.05))


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


def test_one_wrong_image_and_one_wrong_logit_are_seen(lesson, theirs):
    logits, (expected, labels) = lesson.namespace["logits"].copy(), theirs
    logits[3, expected[3].argmin()] += 2e-3
    said, _ = lesson.again(AGREEMENT, logits=logits)
    assert agreement(said)[:2] == (500, False)
    logits[3, expected[3].argmin()] += 1e3
    said, _ = lesson.again(AGREEMENT, logits=logits)
    assert agreement(said) == (499, False, pytest.approx(right(logits, labels), abs=0.05))


def test_the_nudging_sees_a_wrong_gradient(lesson):
    good = lesson.namespace["linear_backward"]

    def doubled(dy, x, w):
        dx, dw, db = good(dy, x, w)
        return dx, 2 * dw, db

    said = lesson.printed[lesson.cell("As printed:")]
    assert "linear_backward: True" in said and "Outer product: True" in said
    said, _ = lesson.again("As printed:", linear_backward=doubled)
    assert "linear_backward: False" in said and "Outer product: True" in said


def test_one_window_is_what_the_first_line_makes_of_it(lesson):
    X, K = lesson.namespace["X"], lesson.namespace["K"]
    expected = reference.conv2d(X[None, None], K[None, None])[0, 0, 2, 2]
    said = lesson.printed[lesson.cell("one window:")]
    assert f"one window: {expected:g}\n" in said
    said, _ = lesson.again("one window:", one_output=lambda x, w, b: x.size)
    assert "one window: 9\n" in said


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
    said = lesson.printed[lesson.cell("by hand agrees")]
    assert "conv2 by hand agrees: True" in said
    rows = re.findall(r"^(\w+) +([\d.]+ \w+) +([\d.]+ \w+) +([\d.]+)$", said, re.MULTILINE)
    assert [row[0] for row in rows] == list(step())
    for name, flops, traffic, intensity in rows:
        expected = step()[name]
        assert number(flops) == pytest.approx(expected[0], rel=0.005), name
        assert number(traffic) == pytest.approx(expected[1], rel=0.005), name
        assert float(intensity) == pytest.approx(expected[0] / expected[1], abs=0.00501), name


def test_the_table_of_costs_follows_the_network(lesson, monkeypatch):
    """For twice the images twice the FLOP are printed, and the count by hand no longer agrees."""
    real = convnet.layer_costs
    monkeypatch.setattr(convnet, "layer_costs", lambda batch, training: real(2 * batch, training))
    said, namespace = lesson.again("by hand agrees")
    assert "conv2 by hand agrees: False" in said
    assert number(re.search(r"^relu1 +([\d.]+ \w+)", said, re.MULTILINE)[1]) == pytest.approx(
        2 * step()["relu1"][0], rel=0.005
    )
    assert namespace["share"] != lesson.namespace["share"]


def test_multiply_adds_and_share(lesson):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        convnet.torch_model()(torch.zeros(1, 3, 32, 32))
    assert lesson.namespace["macs"] == sum(MACS.values()) == counter.get_total_flops() / 2
    flops = {name: cost[0] for name, cost in step().items()}
    share = 100 * (flops["conv1"] + flops["conv2"]) / sum(flops.values())
    assert lesson.namespace["share"] == pytest.approx(share, rel=1e-12)


EXPLAIN = "predicted gain over the laptop"
LAPTOP, T4, H200, H200_TF32 = (
    (768e9, 51.2e9),  # FLOP/s, B/s
    (8.1e12, 320e9),
    (67e12, 4.8e12),
    (494.5e12, 4.8e12),
)


def step_takes(machine):
    return sum(least(cost, *machine) for cost in step().values())


def test_the_guesses_meet_these_results(lesson, monkeypatch):
    gain = step_takes(LAPTOP) / step_takes(H200)
    share = lesson.namespace["share"]
    said = lesson.printed[lesson.cell(EXPLAIN)]
    for result in ("6,128,896 multiply-adds", f"{share:.3g} %", f"{gain:.3g} times"):
        assert f"result {result}" in said
    seen = []
    monkeypatch.setattr(figures, "guesses", seen.extend)
    lesson.again(EXPLAIN, macs=77, share=88)
    assert [float(result) for *_, result in seen] == [77, 88, pytest.approx(gain)]


def test_the_predicted_gains(lesson):
    said = lesson.printed[lesson.cell(EXPLAIN)]
    rows = re.findall(r"^(\w+(?: step)?) +([\d.]+)x +([\d.]+)x +([\d.]+)x *$", said, re.MULTILINE)
    assert [row[0] for row in rows] == [*lesson.namespace["rates"], "whole step"]
    for name, *gains in rows:
        layers = step().values() if name == "whole step" else [step()[name]]
        cpu = sum(least(cost, *LAPTOP) for cost in layers)
        for gain, machine in zip(gains, [T4, H200, H200_TF32], strict=True):
            gpu = sum(least(cost, *machine) for cost in layers)
            assert float(gain) == pytest.approx(cpu / gpu, abs=0.0501), name


def test_the_table_of_machines_is_that_of_labkit():
    """Figures and provenance words, as the course's one table of machines has them."""
    source = config().course_root() / "chapters/01_gpu/source/gradients_and_convolutions/lesson.py"
    text = source.read_text(encoding="utf-8")
    for row, key in {"laptop": "laptop_cpu", "NVIDIA T4": "t4", "NVIDIA H200": "h200"}.items():
        (cells,) = re.findall(
            rf"^# \| {row}[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$", text, re.MULTILINE
        )
        m = hardware.machine(key)
        for said, figure in zip(
            cells, (m.peak["fp32"], m.peak.get("tf32"), m.bandwidth), strict=True
        ):
            if figure is None:
                assert not said.strip()
                continue
            amount, unit, word = re.match(r" ([\d.]+) ([kMGT]?)\w+/s \((\w+)", said).groups()
            assert float(amount) * PREFIX[unit] == float(figure)
            assert word == figure.word


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

TIMED, ROOFLINE = "matrix product:", "figures.roofline"


def test_loops_and_product_are_timed(lesson, monkeypatch):
    calls = []

    def loops(x, w, b, stride=1, padding=0):
        calls.append("loops")
        return reference.conv2d(x, w, b, stride, padding)

    def im2col(*args):
        calls.append("im2col")
        return lesson.namespace["im2col"](*args)

    clock = Clock(0.5, 0.003, 0.001, 0.002)
    monkeypatch.setattr("timeit.timeit", clock)
    said, _ = lesson.again(TIMED, conv2d_direct=loops, im2col=im2col)
    timed = len(clock.results)
    assert timed >= 4 and calls[:timed] == ["loops"] + ["im2col"] * (timed - 1)
    for y in clock.results:  # all of one convolution, the whole of it
        np.testing.assert_allclose(y, clock.results[0], atol=1e-4)
    assert clock.results[0].shape == (1, 32, 32, 32)
    lines = said.splitlines()
    assert "largest difference below 1e-4: True" in lines
    assert f"loops:          {measured(0.5, 's')}" in lines
    assert f"matrix product: {measured(0.001, 's')} - 500 times faster" in lines

    monkeypatch.setattr("timeit.timeit", Clock(0.09, 0.03))
    said, _ = lesson.again(TIMED, conv2d_direct=lambda *a: 1 + loops(*a), im2col=im2col)
    assert "largest difference below 1e-4: False" in said
    assert f"loops:          {measured(0.09, 's')}" in said
    assert f"matrix product: {measured(0.03, 's')} - 3 times faster" in said


@pytest.mark.parametrize("seconds", [0.002, 0.5])
def test_the_rates_are_the_counts_over_the_clock(lesson, monkeypatch, seconds):
    shown, clock = [], Clock(3 * seconds, seconds, *[2 * seconds] * 18, seconds)
    monkeypatch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
    monkeypatch.setattr(figures, "roofline", lambda *args: shown.append(args))
    said, _ = lesson.again(ROOFLINE, timeit=clock)
    ((machine, intensities, rates),) = shown
    assert machine is HERE
    assert str(HERE.peak["fp32"]) in said and str(HERE.bandwidth) in said
    assert list(rates) == list(intensities) == ["conv1", "relu1", "conv2", "fc1"]
    for name, rate in rates.items():
        flops, traffic = step()[name]
        assert (float(rate), rate.unit) == (pytest.approx(flops / seconds, rel=1e-12), "FLOP/s")
        assert rate.word == "measured" and rate.source == hardware.this_machine().name
        assert float(intensities[name]) == pytest.approx(flops / traffic, rel=1e-12)


def test_what_is_timed_is_each_layer_forward_and_backward(lesson, monkeypatch):
    clock = Clock(0.001)
    monkeypatch.setattr(hardware, "measure_this_machine", lambda *_: HERE)
    lesson.again(ROOFLINE, timeit=clock)
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
