"""The report's timing refuses times that would mean nothing."""

import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numba import float32

from labkit.gpu import cuda
from labkit.gpu.report import timing

SIZE = 500


def normal(generator):
    return (torch.randn(SIZE, generator=generator),)


def honest(inputs, outputs):
    def run():
        outputs[0].copy_(2 * inputs[0])

    return run


@pytest.fixture
def measure():
    """measure(side, ...): the times of a task that doubles numbers, on the host."""

    def times(side=honest, device=None, inputs=normal, reference=lambda x: (2 * x,), **fields):
        sides = {"ours": side, "PyTorch": honest}
        task = timing.Task("doubling", inputs, ((SIZE,),), sides, reference, **fields)
        return timing.measure(task, device or timing.Host())

    return times


def test_an_honest_side_gets_its_time_with_the_evidence(measure):
    for found in measure().values():
        assert found.seconds > 0 and found.repeats == found.flushes > found.sets >= 2
        assert found.checked == (found.sets, found.sets)


def test_each_repeat_is_poisoned_and_flushed_and_takes_the_next_inputs(measure):
    log = []

    class Device(timing.Host):
        def flush(self):
            super().flush()
            log.append(("flush", [bool(out.isnan().all()) for out in written]))

        def seconds(self, run, hide):
            log.append(run())
            return 1.0, None

    written = []

    def side(name):
        def prepare(inputs, outputs):
            written.append(outputs[0])

            def run():
                assert outputs[0].isnan().all()  # poisoned
                outputs[0].copy_(2 * inputs[0])
                return name, inputs[0][0].item()

            return run

        return prepare

    sides = {"ours": side("ours"), "PyTorch": side("PyTorch")}
    task = timing.Task("doubling", normal, ((SIZE,),), sides, lambda x: (2 * x,))
    timing.measure(task, Device())
    assert [entry[0] for entry in log[::2]] == ["flush"] * (len(log) // 2)
    assert all(any(poisoned) for _, poisoned in log[::2])
    timed = log[2 * 2 * Device.sets + 1 :: 2]  # after the warm-up
    assert [name for name, _ in timed[:4]] == ["ours", "PyTorch"] * 2  # in turn
    values = [value for name, value in timed if name == "ours"]
    assert len({*values}) == len(values) == Device.sets + 1  # fresh numbers, each time


def skips_one(inputs, outputs):
    def run():
        outputs[0][:-1] = 2 * inputs[0][:-1]

    return run


def one_wrong(inputs, outputs):
    def run():
        outputs[0].copy_(2 * inputs[0])
        outputs[0][SIZE // 2] += 0.01

    return run


def half_precision(inputs, outputs):
    def run():
        outputs[0].copy_((2 * inputs[0]).half())

    return run


def works_once(inputs, outputs):
    calls = []

    def run():
        if not calls:
            outputs[0].copy_(2 * inputs[0])
        calls.append(1)

    return run


def wrong_later(inputs, outputs):
    calls = []

    def run():
        outputs[0].copy_(2 * inputs[0] + (0.1 if calls else 0))
        calls.append(1)

    return run


def overwrites_its_input(inputs, outputs):
    def run():
        inputs[0].mul_(2)
        outputs[0].copy_(inputs[0])

    return run


def keeps_its_answer(inputs, outputs):
    kept = cache(lambda: 2 * inputs[0])
    return lambda: kept()


def hands_out_copies(inputs, outputs):
    kept = cache(lambda: 2 * inputs[0])
    return lambda: kept().clone()


def writes_what_it_kept(inputs, outputs):
    kept = cache(lambda: 2 * inputs[0])

    def run():
        outputs[0].copy_(kept())

    return run


def another_shape(inputs, outputs):
    return lambda: 2 * inputs[0][:, None]


@pytest.mark.parametrize(
    ("side", "said"),
    [
        (skips_one, "ours: wrong by nan before"),
        (one_wrong, "ours: wrong by 0.00.* before"),
        (half_precision, "ours: wrong by .* before"),
        (works_once, "ours: wrong by nan after"),
        (wrong_later, "ours: wrong by .* after"),
        (keeps_its_answer, "ours: wrong by [1-9].* after"),
        (hands_out_copies, "ours: wrong by [1-9].* after"),
        (writes_what_it_kept, "ours: wrong by [1-9].* after"),
        (overwrites_its_input, "wrong by .* (before|after)"),
        (another_shape, "not \\(500,\\)"),
    ],
)
def test_a_side_that_does_not_do_the_work_is_refused(measure, side, said):
    with pytest.raises(timing.Refused, match=said):
        measure(side)


def test_the_last_side_may_not_overwrite_its_input_either():
    sides = {"ours": overwrites_its_input}
    task = timing.Task("doubling", normal, ((SIZE,),), sides, lambda x: (2 * x,))
    with pytest.raises(timing.Refused, match=r"ours: wrong by .* (before|after)"):
        timing.measure(task, timing.Host())


@pytest.mark.parametrize("nothing", [(), (torch.empty(0, dtype=torch.float64),)])
def test_a_task_that_checks_nothing_is_refused(nothing):
    sides = {"ours": lambda inputs, outputs: lambda: tuple(t.float() for t in nothing)}
    task = timing.Task("nothing", normal, (), sides, lambda x: nothing)
    with pytest.raises(timing.Refused, match="nothing: the reference is empty"):
        timing.measure(task, timing.Host())


def test_inputs_that_are_not_fresh_are_refused(measure):
    same = torch.randn(SIZE)
    with pytest.raises(timing.Refused, match="not fresh"):
        measure(inputs=lambda generator: (same.clone(),))


@cuda.jit
def doubles(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * float32(2)


def launches(x):
    y = np.empty(x.shape)
    doubles[2, 256](x.numpy(), y)
    return (torch.from_numpy(y),)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (launches, "the reference runs a kernel"),
        (lambda x: (2 * x.float(),), "not float64"),
    ],
)
def test_a_kernel_is_no_reference_for_itself(measure, reference, said):
    with pytest.raises(timing.Refused, match=said):
        measure(reference=reference)
    assert sys.getprofile() is None


def test_a_flush_writes_the_whole_of_4_times_the_cache(measure):
    host = timing.Host()
    for value in (1, 2):
        host.flush()
        assert host.eraser.nbytes == 4 * host.l2_bytes and (host.eraser == value).all()
    measure(device=host)
    assert host.flushes > 2 and (host.eraser == host.flushes).all()


def test_a_flush_that_does_not_flush_is_refused(measure):
    class Never(timing.Host):
        def flush(self):
            pass

    small = timing.Host()
    small.eraser = small.eraser[: small.eraser.numel() // 4]
    for device, said in ((Never(), "not flushed"), (small, "no flush")):
        with pytest.raises(timing.Refused, match=said):
            measure(device=device)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"flushes": 8}, "not flushed"),
        ({"sets": 1, "checked": (1, 1)}, "again and again"),
        ({"repeats": 3, "flushes": 3}, "again and again"),
        ({"checked": (3, 0)}, "not checked"),
        ({"checked": (0, 3)}, "not checked"),
    ],
)
def test_no_timing_without_evidence(fields, said):
    whole = {"seconds": 1.0, "repeats": 9, "flushes": 9, "sets": 3, "checked": (3, 3)}
    assert timing.Timing(**whole).seconds == 1.0
    with pytest.raises(timing.Refused, match=said):
        timing.Timing(**whole | fields)


def test_on_a_gpu_events_stand_right_around_the_launch(monkeypatch, measure):
    """With stand-ins for CUDA's events; the sleep keeps Python's launch out of the time."""
    log, late = [], [False] * 999

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            log.append("record")

        def synchronize(self):
            log.append("wait")

        def query(self):
            return late.pop()

        def elapsed_time(self, stop):
            return 2.5  # ms

    found = SimpleNamespace(name="stand-in", total_memory=2**34, L2_cache_size=2**16)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: found)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: log.append("sleep"), raising=False)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: log.append("idle"))
    monkeypatch.setattr(timing.Gpu, "torch_device", "cpu")
    gpu = timing.Gpu()
    assert gpu.eraser.nbytes == 4 * gpu.l2_bytes and gpu.name == "stand-in"
    assert gpu.seconds(lambda: log.append("run"), True) == (0.0025, None)
    assert log == ["idle", "sleep", "record", "run", "record", "wait"]
    log.clear()
    gpu.seconds(lambda: log.append("run"), False)
    assert log == ["idle", "record", "run", "record", "wait"]
    late.append(True)  # Python was too slow: no time, and a longer sleep
    asleep = gpu.asleep
    assert gpu.seconds(lambda: None, True) == (None, None) and gpu.asleep == 2 * asleep
    late[-1] = True
    assert measure(device=gpu)["ours"].seconds == 0.0025
    assert [gpu.repeats(s) for s in (10.0, 0.05, 1e-6)] == [9, 30, 60]
