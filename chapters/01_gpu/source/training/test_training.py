"""Lesson training: its solution's numbers are counted, predicted or timed, from what it shows.

A cell runs again with one thing broken, replaced, or put on a clock that the test owns: what it
prints must follow (tests/notebooks/running.py).
"""

import re
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from labkit import convnet, figures, hardware
from labkit.gpu import cuda
from labkit.gpu.step_cost import curves
from labkit.provenance import measured, predicted
from tests.notebooks.running import Run

STEP, RECORDED, OURS, COPIES = (
    "perf_counter()",
    "recorded.events()",
    "launches.clear()",
    "def train(copies",
)
LATE, PIPELINE, KEPT = "def late_training", "figures.pipeline", "figures.pairs"
FUSED, SHORT, ENERGY = "compiled_loops(", "checkpoint_sequential(", "figures.guesses"
PARAMETERS, N = 545_098, 64
PREFIX = {"": 1, "k": 1e3, "M": 1e6, "m": 1e-3, "µ": 1e-6}


def quantities(said, unit):
    """The numbers before this unit, without prefix: "277 µs", "5.15 MB"."""
    found = re.findall(rf"([\d.]+) ([kMmµ]?){unit}\b", said)
    return [float(number) * PREFIX[prefix] for number, prefix in found]


def few(n, **_):
    """In place of torch.randperm: two batches instead of all."""
    return torch.arange(128)


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "randperm", few)
        return Run("01_gpu", "12_training")


# --- PyTorch's step ---


def test_the_step_is_timed(lesson, monkeypatch):
    ticks = iter([10.0, 16.0])
    monkeypatch.setattr(torch, "randperm", few)
    said, namespace = lesson.again(STEP, perf_counter=lambda: next(ticks))
    assert f"a step: {measured(6.0 / 3, 's')}" in said, "the first of 4 steps is not timed"
    data = namespace["data"].train
    x = convnet.normalise(data.images[:64])
    first, _ = convnet.forward_backward(convnet.init(0), x, data.labels[:64])
    assert namespace["losses"][0] == pytest.approx(first, rel=1e-4)
    assert len(namespace["losses"]) == 4 and len({*namespace["losses"]}) == 4
    assert torch.initial_seed() == 0, "the same photographs in each batch on every machine"
    before, after = convnet.init(0), namespace["net"].state_dict()
    assert all((after[name].numpy() != w).any() for name, w in before.items()), "all are trained"


def test_the_timeline_shows_what_was_recorded(lesson, monkeypatch):
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

    shown = []
    monkeypatch.setattr("torch.profiler.profile", record)
    monkeypatch.setattr(figures, "timeline", lambda *args: shown.append(args))
    said, _ = lesson.again(RECORDED, step=lambda *args: steps.append(args))
    assert len(steps) == 1 and steps[0][2].shape == (64, 3, 32, 32)
    ((rows, word),) = shown
    kinds = {row: [kind for kind, *_ in spans] for row, spans in rows.items()}
    assert kinds == {
        "forward": ["convolution", "pool"],
        "backward": ["ReLU"],
        "update": ["other"],
    }
    assert rows["backward"] == [("ReLU", pytest.approx(94e-6), pytest.approx(100e-6))]
    assert word == f"measured on {hardware.this_machine().name}"
    times = dict(re.findall(r"^(\w+) +(\d+) % of the time", said, re.MULTILINE))
    assert times == {"convolution": "60", "pool": "30", "ReLU": "6", "linear": "0"}
    for what, digit in (("flops", 0.0501), ("bytes", 0.501)):
        printed = rf"^(\w+) .* ([\d.]+) % of (?:the )?{what[:4]}"
        work = dict(re.findall(printed, said, re.MULTILINE | re.IGNORECASE))
        costs = {cost.name: float(getattr(cost, what)) for cost in convnet.layer_costs(64)}
        share = 100 * (costs["conv1"] + costs["conv2"]) / sum(costs.values())
        assert float(work["convolution"]) == pytest.approx(share, abs=digit)
    # on a GPU the time is that of the kernels, by the operation that launched them
    steps.clear()
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device: tensor)
    said, _ = lesson.again(RECORDED, step=lambda *args: steps.append(args), device="cuda")
    times = dict(re.findall(r"^(\w+) +(\d+) % of the time", said, re.MULTILINE))
    assert times == {"convolution": "89", "pool": "0", "ReLU": "0", "linear": "0"}


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
    counts = dict(re.findall(r"(\w+) (\d+)(?=  |\n)", said.partition("step:")[2]))
    assert {"conv1", "conv2", "fc1", "fc2", "pool1", "pool2", "relu3", "loss"} < counts.keys()
    assert counts["update"] == "8" and counts["conv2"] == "3" and counts["conv1"] == "2"
    said, _ = lesson.again(OURS, sgd_momentum=uphill)
    assert "within 1 in 10,000: False" in said


def test_without_our_kernels_no_launch_is_counted(lesson, monkeypatch):
    import labkit.gpu.training.autograd

    monkeypatch.setattr(
        labkit.gpu.training.autograd, "ConvNet", lambda weights: convnet.torch_model(weights)
    )
    monkeypatch.setattr(labkit.gpu.training.autograd, "cross_entropy", nn.functional.cross_entropy)
    said, _ = lesson.again(OURS)
    assert "within 1 in 10,000: True" in said
    assert said.split("step:")[1].split() == ["update", "8"]


# --- the claims ---


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


BUS = {"t4": 15.754e9, "h200": 63.015e9}  # PCIe 3.0 and 5.0 x16, as their standards' tables say


def test_the_copies_are_counted_and_predicted(lesson):
    said = lesson.printed[lesson.cell(COPIES)]
    images = 4 * N * 3 * 32 * 32
    copying, staying = quantities(said, "B")
    assert copying == pytest.approx(images + 2 * 4 * PARAMETERS, rel=0.005)
    assert staying == pytest.approx(images, rel=0.005)
    assert "same losses: True" in said
    assert said.count("the step at best") == 2
    for line, (key, rate) in zip(said.splitlines()[-2:], BUS.items(), strict=True):
        copies, step = quantities(line, "s")
        assert copies == pytest.approx(2 * 4 * PARAMETERS / rate, rel=0.005)
        assert step == pytest.approx(least(key), rel=0.005)


def test_the_copies_are_of_the_network_that_trains(lesson):
    class Small(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Flatten(), nn.Linear(3072, 10, bias=False))
            nn.init.zeros_(self[1].weight)

    said, _ = lesson.again(COPIES, network=Small)
    copying, staying = quantities(said, "B")
    assert copying - staying == pytest.approx(2 * 4 * 30720, rel=0.01)


class Shown:
    """In place of the picture: what it would draw."""

    def __call__(self, runs):
        self.runs = {key: np.array(losses) for key, losses in runs.items()}


def late(lesson, *changes, **changed):
    """The runs of the late gradients, with parts of the cell replaced."""
    code, shown = lesson.cell(LATE), Shown()
    assert all(old in code for old, _ in changes)
    for old, new in changes:
        code = code.replace(old, new)
    lesson.execute(code, lesson.before[lesson.cell(LATE)] | {"curves": shown} | changed)
    return shown.runs


def test_who_waits_trains_as_ever_and_who_is_late_as_written_here(lesson):
    runs = late(lesson, ("160 * 16", "6 * 16"), ('on", 40)', 'on", 3)'))
    data = lesson.namespace["data"].train
    x, y = torch.tensor(convnet.normalise(data.images[:96])), torch.tensor(data.labels[:96])
    for (rate, name), losses in runs.items():
        net, waiting = convnet.torch_model(convnet.init(0)), []
        optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
        begin = {"waiting": 160, "one step late": 0, "late from step 40 on": 3}[name]
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
    changes = ("(0.01, 0.003)", "(0.02,)"), (', ("late from step 40 on", 40)', "")
    waiting, always = (losses[-40:].mean() for losses in late(lesson, *changes).values())
    assert waiting < 2.2
    assert always == pytest.approx(np.log(10), abs=0.03)


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
    assert end["overlapped"] == pytest.approx(4 * 2e-3 + copy + gpu, rel=1e-3)  # prepare is slowest
    forward = [end - start for kind, start, end in gpus["in turn"] if kind == "forward"]
    assert forward == [pytest.approx(least("t4", only=("forward",)))] * 4


# --- memory ---

# Of one photograph: the image, what the ReLUs and pools put out, and the pools' places, int64.
FLOATS = 3 * 32 * 32 + 32 * 32 * 32 + 32 * 16 * 16 + 64 * 16 * 16 + 64 * 8 * 8 + 128
PLACES = 32 * 16 * 16 + 64 * 8 * 8


def test_what_is_kept_is_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "pairs", lambda *args: shown.append(args[0]))
    said, namespace = lesson.again(KEPT)
    total = N * (4 * FLOATS + 8 * PLACES)
    assert quantities(said, "B")[0] == pytest.approx(total, rel=0.005)
    half = sum(int(float(pair[1])) for pair in shown[0].values())
    copies = 2 * (864 + 18432 + 4096 * 128 + 1280)  # autocast's 16-bit weights
    low = N * (2 * FLOATS + 8 * PLACES) + copies
    assert half == pytest.approx(low, rel=0.01)
    assert float(namespace["saved"]) == pytest.approx(100 * (1 - half / total), abs=0.1)
    assert float(shown[0]["pool1"][0]) == float(shown[0]["pool1"][1]) == 8 * N * 32 * 16 * 16


def test_the_lines_of_numbers_are_numbers_of_these_kinds(lesson):
    said = lesson.printed[lesson.cell(KEPT)]
    rows = re.findall(r"^(\w+) +1 \+ 0.001 = ([\d.]+)$", said, re.MULTILINE)
    one = {"bfloat16": 1.0, "float32": 1.001, "float16": float(np.float16(1) + np.float16(0.001))}
    assert {kind: float(sum_) for kind, sum_ in rows} == pytest.approx(one, abs=5e-4)


def test_the_convolutions_times_are_the_rooflines(lesson):
    said = lesson.printed[lesson.cell(KEPT)].splitlines()
    lines = [line for line in said if "convolutions" in line]
    rows = [("t4", "fp32"), ("t4", "fp16"), ("h200", "fp32"), ("h200", "tf32"), ("h200", "fp16")]
    times = {}
    for line, (key, kind) in zip(lines, rows, strict=True):
        assert line.startswith(f"{hardware.machine(key).name}: convolutions in {kind}")
        assert "(predicted by the roofline" in line
        (times[key, kind],) = quantities(line, "s")
        assert times[key, kind] == pytest.approx(least(key, kind, layers="conv"), rel=0.005)
    assert times["t4", "fp32"] / times["t4", "fp16"] == pytest.approx(5, abs=0.5)
    assert times["h200", "fp32"] / times["h200", "fp16"] == pytest.approx(8, abs=0.5)
    assert times["h200", "tf32"] / times["h200", "fp16"] == pytest.approx(2, abs=0.1)


def test_the_ways_to_one_gradient(lesson):
    said = lesson.printed[lesson.cell(SHORT)]
    assert re.findall("same gradient: (True|False)", said) == ["True"] * 4
    numbers = quantities(said, "B")
    (whole, pieces, blocks, _), at_once = numbers[:8:2], numbers[1:8:2]
    # block 1 comes back whole but for its input; of what is offloaded, one array at a time
    block, largest = N * (4 * 32 * 32 * 32 + 8 * 32 * 16 * 16), 4 * N * 32 * 32 * 32
    assert at_once == pytest.approx([0, 0, block, largest], rel=0.005)
    assert whole == pytest.approx(N * (4 * FLOATS + 8 * PLACES) + 4 * N * 10 + 8 * N, rel=0.005)
    assert pieces == pytest.approx(whole * 24 / 64, rel=0.005)
    kept = 4 * N * (3072 + 32 * 16 * 16 + 64 * 8 * 8 + 128)  # the blocks' inputs, and the rest
    assert blocks == pytest.approx(kept, rel=0.01)
    # pieces of 24, 24 and 16 are no equals
    said, _ = lesson.again(SHORT, accumulate=lambda gradients, sizes: gradients.mean(axis=0))
    assert re.findall("same gradient: (True|False)", said) == ["True", "False", "True", "True"]


def test_computing_again_and_moving_are_predicted(lesson):
    said = lesson.printed[lesson.cell(SHORT)].splitlines()[-1]
    again, back = quantities(said, "s")
    t4, costs = hardware.machine("t4"), convnet.layer_costs(N)[:6]
    forward = [cost.operations[0] for cost in costs]
    assert again == pytest.approx(
        sum(
            max(o.flops / 8.1e12, (o.bytes_read + o.bytes_written) / float(t4.bandwidth))
            for o in forward
        ),
        rel=0.005,
    )
    twice = 4 * (32 * 32 * 32 + 64 * 16 * 16 + 128)  # a ReLU's output is kept by the next, too
    weights = 4 * (32 * 27 + 64 * 288 + 4096 * 128 + 1280)
    moved = 2 * (N * (4 * FLOATS + 8 * PLACES + twice) + weights)
    assert back == pytest.approx(moved / BUS["t4"], rel=0.02)
    assert quantities(said, "B") == [pytest.approx(moved, rel=0.02)]


# --- fusion ---


def test_the_traffic_is_counted_from_the_kernels(lesson):
    said = lesson.printed[lesson.cell(FUSED)]
    x, y = 2 * 32 * 32 * 32, 2 * 32 * 16 * 16
    three, _, one, _ = quantities(said, "B")
    assert three == pytest.approx(4 * (2 * x + 2 * x + x + y), rel=0.005)
    assert one == pytest.approx(4 * (x + y), rel=0.005)
    bandwidth = float(hardware.machine("t4").bandwidth)
    times = quantities(said, "s")
    assert times == pytest.approx([three / bandwidth, one / bandwidth], rel=0.005)
    assert "same result: True" in said


def test_the_fused_layers_keep_only_their_input(lesson):
    _, plain, _, fused = quantities(lesson.printed[lesson.cell(FUSED)], "B")
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
    monkeypatch.setattr(
        "labkit_lessons.gpu.training.inductor.compiled_loops", lambda *_: "no loops"
    )
    said, namespace = lesson.again(FUSED, bias_relu_pool=half_of_the_maps)
    assert "same result: False" in said and said.endswith("no loops\n")
    full = lesson.before[lesson.cell(ENERGY)]["together"]
    assert namespace["together"] == pytest.approx(full / 2, rel=0.01)


# --- energy, and the guesses ---


BASE = replace(hardware.machine("laptop_cpu"), peak={"fp32": predicted(403.2e9, "FLOP/s", "base")})


def test_the_energy_is_power_times_the_rooflines_time(lesson):
    rows = lesson.printed[lesson.cell(ENERGY)].splitlines()[2:8]
    flops = sum(float(cost.flops) for cost in convnet.layer_costs(N))
    peaks = {"laptop_cpu": {"fp32": 403.2e9}, "t4": {"fp32": 8.1e12, "fp16": 65e12}}
    peaks["h200"] = {"fp32": 67e12, "tf32": 494.5e12, "fp16": 989.5e12}
    watts, seen, gains = {"laptop_cpu": 15, "t4": 70, "h200": 700}, Counter(), {}
    base = least(BASE) * 15
    for row in rows:
        key, kind, best, gain, seconds, used, joule, ratio = re.fullmatch(
            r"(\w+) +(t?fp?\d+) +(\d+) G +([\d.]+)x"
            r" +([\d.]+ [mµ]s) +(\d+) % +([\d.]+) mJ +([\d.]+)x",
            row,
        ).groups()
        seen[key] += 1
        time_ = least(BASE if key == "laptop_cpu" else key, low=kind)
        promised = peaks[key][kind] / watts[key]
        assert float(best) == pytest.approx(promised / 1e9, abs=0.51)
        assert float(gain) == pytest.approx(promised / (403.2e9 / 15), abs=0.051)
        assert quantities(seconds, "s")[0] == pytest.approx(time_, rel=0.005)
        assert float(used) == pytest.approx(100 * flops / time_ / peaks[key][kind], abs=0.51)
        assert float(joule) == pytest.approx(1e3 * watts[key] * time_, abs=0.051)
        assert float(ratio) == pytest.approx(base / (watts[key] * time_), abs=0.051)
        gains[key, kind] = float(gain), float(ratio)
    assert seen == {"laptop_cpu": 1, "t4": 2, "h200": 3}
    # what the verdict says
    assert gains["h200", "tf32"][0] == pytest.approx(26, abs=0.5)
    assert gains["h200", "fp16"][0] == pytest.approx(53, abs=0.5)
    assert gains["h200", "fp32"][0] < 4
    assert [gains["h200", kind][1] for kind in ("fp32", "tf32", "fp16")] == [
        pytest.approx(3, abs=0.5),
        pytest.approx(5, abs=0.5),
        pytest.approx(9.5, abs=0.5),
    ]


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(ENERGY, separate=30, together=4)
    images = 4 * N * 3072
    assert [(name, result.word) for name, _, result in shown] == [
        ("bus", "counted"),
        ("16 bits", "counted"),
        ("fusion", "counted"),
    ]
    bus, saved, fusion = (float(result) for *_, result in shown)
    assert bus == pytest.approx((images + 8 * PARAMETERS) / images)
    assert 31 < saved < 32 and fusion == 7.5


def test_with_a_gpu_its_copy_is_timed_from_pinned_memory(lesson):
    """With stand-ins for the GPU: the copy is asked for in pinned memory, and waited for."""
    log = []
    pinned = SimpleNamespace(to=lambda *to, **how: log.append((*to, how)))
    photographs = SimpleNamespace(nbytes=786432, pin_memory=lambda: pinned)
    device = SimpleNamespace(
        synchronize=lambda: log.append("wait"),
        Stream=lambda: "second",
        stream=lambda which: nullcontext(log.append(which)),
    )

    class Images:
        def __getitem__(self, which):
            assert which == slice(64)
            return photographs

    fakes = {"images": Images(), "where": "a GPU", "device": "cuda"}
    said, _ = lesson.again(PIPELINE, torch=SimpleNamespace(cuda=device), **fakes)
    assert "from pinned memory:" in said and "(measured on a GPU)" in said
    assert log == ["second", *[("cuda", {"non_blocking": True}), "wait"] * 50]
