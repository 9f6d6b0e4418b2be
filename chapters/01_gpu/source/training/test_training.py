"""Lesson training: its solution's numbers are counted, predicted or timed, from what it shows.

A cell runs again with one thing broken, replaced, or put on a clock that the test owns: what it
prints must follow (tests/notebooks/running.py).
"""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from labkit import convnet, figures, hardware
from labkit.gpu.step_cost import curves
from labkit.gpu.training import pytorch
from labkit.provenance import measured, predicted
from labkit_lessons.gpu.training import energy, experiments
from tests.notebooks.running import Run

PIPELINE, WAYS, CROSSING = "figures.pipeline", "checkpoint_sequential(net", "the rate of the bus"
SCALES, GUESSES = "experiments.in_float16", "figures.guesses"
N = 64


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "13_training")


# --- 16 bits ---


@pytest.mark.parametrize(("name", "digits"), [("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_the_sums_are_rounded_to_the_digits_of_the_format(name, digits):
    def rounded(value):
        """To so many digits in base 2, the even one of two that are as near."""
        mantissa, exponent = np.frexp(value)
        return float(np.ldexp(np.round(np.ldexp(mantissa, digits)), exponent - digits))

    weight, expected = 0.0, []
    for _ in range(1_000):
        weight = rounded(weight + rounded(0.001))
        expected.append(weight)
    assert experiments.sums_of(0.001, 1_000)[name] == expected


def test_the_lines_of_the_picture_are_the_sums(monkeypatch):
    shown = []
    monkeypatch.setattr(experiments, "show", lambda *args: shown.append(args))
    experiments.draw_sums({"a": [1.0, 2.0], "b": [1.0, 1.5]})
    ((figure, said),) = shown
    assert said.endswith("a: ends at 2; b: ends at 1.5.")
    (axes,) = figure.axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[1, 2], [1, 1.5]]


def test_the_formats_of_the_table_are_pytorchs():
    for name, digits, largest in (("bfloat16", 8, 3.39e38), ("float16", 11, 65_504)):
        info = torch.finfo(getattr(torch, name))
        assert info.eps == 2.0 ** (1 - digits) and info.max == pytest.approx(largest, rel=0.01)
    assert torch.tensor(3.1e-8, dtype=torch.float16) > 0
    assert torch.tensor(2.9e-8, dtype=torch.float16) == 0


def test_a_gradient_in_float16_is_lost_short_or_infinite():
    gradient = np.float32([0, 1e-9, 1e-5, -1e-5, 0.5, 1.0, -2.0, 60_000, 3.0])
    scale, lost, short, finite = experiments.in_float16(gradient, 1)
    assert (scale, float(lost), float(short), finite) == (1, 12.5, 25, True)
    scale, lost, short, finite = experiments.in_float16(gradient, 1024)
    assert (float(lost), float(short), finite) == (0, 12.5, False)


def test_the_scales_are_tried_on_the_trained_networks_gradient(lesson):
    weights = convnet.load_weights()
    train = lesson.namespace["train"]
    _, exact = convnet.forward_backward(
        weights, train.images[:64].numpy(), train.labels[:64].numpy()
    )
    gradient = lesson.namespace["gradient"]
    assert gradient.size == 545_098
    flat = np.concatenate([exact[name].ravel() for name in weights])
    assert np.sort(np.abs(gradient)) == pytest.approx(np.sort(np.abs(flat)), abs=1e-5)
    _, namespace = lesson.again(SCALES)
    assert [row[3] for row in namespace["rows"]] == [True, True, False, False]


# --- memory ---

# Of one photograph: the image, what the ReLUs and pools put out, and the pools' places, int64.
FLOATS = 3 * 32 * 32 + 32 * 32 * 32 + 32 * 16 * 16 + 64 * 16 * 16 + 64 * 8 * 8 + 128
PLACES = 32 * 16 * 16 + 64 * 8 * 8


def test_the_ways_to_one_gradient(lesson):
    _, namespace = lesson.again(WAYS)
    rows = namespace["rows"]
    assert [row[3] for row in rows] == [True] * 4
    whole, pieces, blocks, _ = (float(row[1]) for row in rows)
    # block 1 comes back whole but for its input; of what is offloaded, one array at a time
    block, largest = N * (4 * 32 * 32 * 32 + 8 * 32 * 16 * 16), 4 * N * 32 * 32 * 32
    assert [float(row[2]) for row in rows] == pytest.approx([0, 0, block, largest], rel=0.005)
    assert whole == pytest.approx(N * (4 * FLOATS + 8 * PLACES) + 4 * N * 10 + 8 * N, rel=0.005)
    assert pieces == pytest.approx(whole * 24 / 64, rel=0.005)
    kept = 4 * N * (3072 + 32 * 16 * 16 + 64 * 8 * 8 + 128)  # the blocks' inputs, and the rest
    assert blocks == pytest.approx(kept, rel=0.01)
    # pieces of 24, 24 and 16 are no equals
    mean = lambda gradients, sizes: gradients.mean(axis=0)  # noqa: E731
    _, namespace = lesson.again(WAYS, accumulate=mean)
    assert [row[3] for row in namespace["rows"]] == [True, False, True, True]


BUS = {"t4": 15.754e9, "h200": 63.015e9}  # PCIe 3.0 and 5.0 x16, as their standards' tables say


def test_computing_again_and_moving_are_predicted(lesson):
    again, back = (float(lesson.namespace[name]) for name in ("again", "crossing"))
    t4, costs = hardware.machine("t4"), convnet.layer_costs(N)[:6]
    forward = [cost.operations[0] for cost in costs]
    seconds = [
        max(o.flops / 8.1e12, (o.bytes_read + o.bytes_written) / float(t4.bandwidth))
        for o in forward
    ]
    assert again == pytest.approx(sum(seconds), rel=0.005)
    twice = 4 * (32 * 32 * 32 + 64 * 16 * 16 + 128)  # a ReLU's output is kept by the next, too
    weights = 4 * (32 * 27 + 64 * 288 + 4096 * 128 + 1280)
    moved = 2 * (N * (4 * FLOATS + 8 * PLACES + twice) + weights)
    assert back == pytest.approx(moved / BUS["t4"], rel=0.02)


# --- C36 ---


def test_who_waits_trains_as_ever_and_who_is_late_as_written_here(lesson):
    train = lesson.namespace["train"]
    x, y = train.images[:96], train.labels[:96]
    for rate, begin in ((0.01, 160), (0.01, 0), (0.003, 3)):
        losses = experiments.late_losses(pytorch.network(), x, y, rate, begin, steps=6)
        net, waiting = convnet.torch_model(convnet.init(0)), []
        optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
        for step, (a, b) in enumerate(zip(x.split(16), y.split(16), strict=True)):
            loss = nn.functional.cross_entropy(net(a), b)
            assert losses[step] == pytest.approx(loss.item(), rel=1e-3)
            waiting.append(torch.autograd.grad(loss, [*net.parameters()]))
            if step >= begin and len(waiting) == 1:
                continue  # the one before is not there yet
            for w, g in zip(net.parameters(), waiting.pop(0), strict=True):
                w.grad = g
            optimiser.step()


def test_with_late_gradients_it_learns_but_later(lesson):
    runs = {key: np.array(losses) for key, losses in lesson.namespace["runs"].items()}
    last = {key: losses[-40:].mean() for key, losses in runs.items()}
    assert {rate for rate, _ in runs} == {0.01, 0.003}
    for rate in (0.01, 0.003):
        waiting, always = last[rate, "waiting"], last[rate, "one step late"]
        assert waiting + 0.05 < always < np.log(10) - 0.1, "behind, but far better than guessing"
    waiting, always, later = (losses for (rate, _), losses in last.items() if rate == 0.003)
    assert waiting < later < always - 0.03
    early = runs[0.01, "one step late"][:40]
    assert early[20:].mean() == pytest.approx(np.log(10), abs=0.15), "40 steps would mislead"


def test_at_twice_the_rate_late_gradients_do_not_learn(lesson):
    """That it bears no rate as large."""
    train = lesson.namespace["train"]
    ends = []
    for wait_for in (160, 0):
        losses = experiments.late_losses(pytorch.network(), *train, 0.02, wait_for)
        ends.append(np.mean(losses[-40:]))
    assert ends[0] < 2.2 and ends[1] == pytest.approx(np.log(10), abs=0.03)


def test_the_curves_are_those_of_the_runs(monkeypatch):
    shown = []
    monkeypatch.setattr("labkit.gpu.step_cost.show", lambda *args: shown.append(args))
    runs = {(0.5, "a"): np.linspace(3, 2, 50), (0.5, "b"): np.full(50, 2.5)}
    curves(runs | {(0.1, "a"): np.full(50, 1.5)})
    ((figure, said),) = shown
    assert said.endswith("rate 0.5, a: 2.40; rate 0.5, b: 2.50; rate 0.1, a: 1.50.")
    left, right = figure.axes
    assert [len(axes.lines) for axes in (left, right)] == [3, 2], "and the line of guessing"
    mean = np.mean(runs[0.5, "a"][10:30])
    assert left.lines[0].get_ydata()[10] == pytest.approx(mean)
    assert left.get_title() == "rate 0.5"


def least(machine, low=None, only=(), layers=""):
    """The roofline's time of the step, or of some layers in it, from the table of costs."""
    machine, seconds = hardware.machine(machine) if isinstance(machine, str) else machine, 0
    for cost in convnet.layer_costs(N):
        for o in cost.operations:
            if layers not in cost.name or (only and o.name not in only):
                continue
            kind = "fp32" if low is None or o.name == "update" else low
            moved = (o.bytes_read + o.bytes_written) * (0.5 if kind == "fp16" else 1)
            peak = machine.peak[kind]
            seconds += max(o.flops / float(peak), moved / float(machine.bandwidth))
    return seconds


@pytest.mark.parametrize(("key", "share"), [("t4", 5), ("h200", 4)])
def test_the_update_is_a_small_part_of_a_step(key, share):
    """The text's percentages: what could be hidden at most."""
    assert 100 * least(key, only=("update",)) / least(key) == pytest.approx(share, abs=0.5)


def test_the_pipeline_is_drawn_from_the_rates(lesson, monkeypatch):
    shown, calls = [], []

    def clock(statement, number):
        calls.append(statement())
        return number * (2e-3 if len(calls) == 7 else 9e-3)

    monkeypatch.setattr("timeit.timeit", clock)
    monkeypatch.setattr(figures, "timeline", lambda *args: shown.append(args))
    said, _ = lesson.again(PIPELINE)
    assert len(calls) >= 10 and calls[0].shape == (64, 3, 32, 32)
    assert f"preparing 64 photographs: {measured(2e-3, 's')}" in said
    ((rows, _),) = shown
    gpu = least("t4", only=("forward", "dX", "dW", "update"))
    copy = 4 * N * 3072 / BUS["t4"]
    gpus = {how: rows[f"{how}: T4, predicted"] for how in ("in turn", "overlapped")}
    end = {how: max(span[2] for span in row) for how, row in gpus.items()}
    words = {row.split(": ")[1] for row in rows}
    assert words == {"host, measured", "bus, predicted", "T4, predicted"}
    assert end["in turn"] == pytest.approx(4 * (2e-3 + copy + gpu), rel=1e-3)
    # overlapped, the slowest row sets the pace
    slowest = max(2e-3, gpu)
    assert end["overlapped"] == pytest.approx(2e-3 + copy + gpu + 3 * slowest, rel=1e-3)
    forward = [end - start for kind, start, end in gpus["in turn"] if kind == "forward"]
    assert forward == [pytest.approx(least("t4", only=("forward",)))] * 4


def test_with_a_gpu_its_copy_is_timed_from_pinned_memory(monkeypatch):
    """With stand-ins for the GPU: the copy is asked for in pinned memory, and waited for."""
    log = []
    pinned = SimpleNamespace(to=lambda *to, **how: log.append((*to, how)))
    photographs = SimpleNamespace(pin_memory=lambda: pinned)
    for name, stand_in in {
        "synchronize": lambda: log.append("wait"),
        "Stream": lambda: "second",
        "stream": lambda which: nullcontext(log.append(which)),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    found = experiments.copy_time(photographs, "a GPU")
    assert str(found).endswith("(measured on a GPU)")
    assert log == ["second", *[("cuda", {"non_blocking": True}), "wait"] * 50]


# --- C37, and the guesses ---


BASE = replace(hardware.machine("laptop_cpu"), peak={"fp32": predicted(403.2e9, "FLOP/s", "base")})


def test_the_energy_is_power_times_the_rooflines_time(lesson):
    flops = sum(float(cost.flops) for cost in convnet.layer_costs(N))
    peaks = {"laptop_cpu": {"fp32": 403.2e9}, "t4": {"fp32": 8.1e12, "fp16": 65e12}}
    peaks["h200"] = {"fp32": 67e12, "tf32": 494.5e12, "fp16": 989.5e12}
    watts, seen = {"laptop_cpu": 15, "t4": 70, "h200": 700}, Counter()
    base = least(BASE) * 15
    for key, kind, promise, time, share, joules, gain in lesson.namespace["table"]:
        seen[key] += 1
        seconds = least(BASE if key == "laptop_cpu" else key, low=kind)
        assert float(time) == pytest.approx(seconds, rel=0.005)
        assert promise == pytest.approx(peaks[key][kind] / watts[key] / (403.2e9 / 15))
        assert share == round(100 * flops / seconds / peaks[key][kind])
        assert float(joules) == pytest.approx(watts[key] * seconds, rel=0.005)
        assert gain == pytest.approx(base / (watts[key] * seconds), rel=0.005)
    assert seen == {"laptop_cpu": 1, "t4": 2, "h200": 3}
    assert energy.laptop_at_base_clock().rate("fp32").value == pytest.approx(403.2e9)


def test_the_guesses_meet_the_results(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    assert [(float(result), result.word) for *_, result in shown] == [
        (50, "counted"),
        (pytest.approx(9.5, abs=0.1), "predicted"),
    ]
