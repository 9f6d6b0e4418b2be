"""Timing a kernel so that the number means something.

Each repeat fills the next of several sets of inputs with fresh random numbers, so that nothing kept
from an earlier one is right; then each side of the task in turn has its outputs poisoned with NaN,
the L2 cache flushed, and one launch timed between two events of the device. A time is a median.
Before the first repeat and after the last, the outputs of every side on every set are compared with
a float64 reference. A `Timing` without this evidence cannot be made.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

LEAST = 9  # repeats
MOST = 60
BUDGET = 1.5  # seconds that all repeats of a task may take
Tensors = tuple[torch.Tensor, ...]
Prepare = Callable[[Tensors, Tensors], Callable[[], object]]


class Refused(Exception):
    """A time that would mean nothing: what is wrong, in a sentence."""


@dataclass(frozen=True)
class Task:
    """Work that several sides do, each in its own way."""

    name: str
    inputs: Callable[[torch.Generator], Tensors]  # fresh ones from random numbers
    outputs: tuple[tuple[int, ...], ...]  # shapes, float32
    sides: Mapping[str, Prepare]  # prepare(inputs, outputs) -> run: it writes, or returns its own
    reference: Callable[..., Tensors]  # of the inputs, as float64
    limits: Mapping[str, float] = field(default_factory=dict)  # of a side's error, if not 1e-4
    hide: bool = True  # the device is kept busy until the launch is queued: kernels alone count


@dataclass(frozen=True)
class Timing:
    """The median of one side's repeats, with the evidence that they count."""

    seconds: float
    repeats: int
    flushes: int  # of the L2 cache, one before each repeat
    sets: int
    checked: tuple[int, int]  # sets with right outputs: before the repeats, and as they left them

    def __post_init__(self) -> None:
        if self.flushes < self.repeats:
            raise Refused("The L2 cache was not flushed before each repeat.")
        if self.sets < 2 or self.repeats <= self.sets:
            raise Refused("One set of inputs again and again is timed from the caches.")
        if min(self.checked) < self.sets:
            raise Refused("The outputs were not checked before the repeats and again after them.")


class Host:
    """The CPU in the place of a GPU, for a dry run. Its times mean nothing and are not written."""

    name = "no GPU"
    torch_device = "cpu"
    l2_bytes = 2**16
    memory = 2**26
    sets = 2  # of inputs

    def __init__(self) -> None:
        self.flushes = 0
        self.eraser = torch.empty(self.l2_bytes, device=self.torch_device)  # 4 x L2

    def flush(self) -> None:
        """4 x L2 written, then read, so that no timed run pays for writing it back to memory."""
        self.flushes += 1
        self.eraser.fill_(self.flushes)
        self.eraser.sum()

    def repeats(self, seconds: float) -> int:
        """How often, if all sides together take `seconds`."""
        return self.sets + 1

    def seconds(self, run: Callable[[], object], hide: bool) -> tuple[float | None, object]:
        """Of one run, and what it returned."""
        start = time.perf_counter()
        result = run()
        return time.perf_counter() - start, result


class Gpu(Host):
    """The first CUDA GPU, its settings as they are."""

    torch_device = "cuda"
    sets = 3

    def __init__(self) -> None:
        found = torch.cuda.get_device_properties(0)
        self.name = found.name
        self.memory = found.total_memory
        self.l2_bytes = found.L2_cache_size
        self.asleep = 5_000_000  # cycles, about 3 ms
        super().__init__()

    def repeats(self, seconds: float) -> int:
        """As often as BUDGET allows, in bounds."""
        return max(LEAST, min(MOST, int(BUDGET / seconds)))

    def seconds(self, run: Callable[[], object], hide: bool) -> tuple[float | None, object]:
        """None instead of seconds if Python took longer to launch than it was to be hidden."""
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        if hide:
            torch.cuda._sleep(self.asleep)
        start.record()
        result = run()
        stop.record()
        late = hide and start.query()  # the device woke up before all was queued
        stop.synchronize()
        self.asleep *= 2 if late else 1
        return None if late else start.elapsed_time(stop) / 1e3, result


@contextmanager
def independent(name: str) -> Iterator[None]:
    """Refuses any call into labkit.gpu or Numba: a kernel is no reference for itself."""

    def watch(frame: object, event: str, argument: object) -> None:
        module = frame.f_globals.get("__name__") or ""
        ours = module.startswith(("labkit.gpu", "labkit_lessons.", "numba"))
        if event == "call" and ours and not module.startswith("labkit.gpu.report"):
            raise Refused(f"{name}: the reference runs a kernel, so it proves nothing about it.")

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def expect(task: Task, inputs: Tensors) -> Tensors:
    """What the reference makes of the inputs, in float64."""
    with independent(task.name):
        expected = task.reference(*(t.double() if t.is_floating_point() else t for t in inputs))
    if any(t.dtype != torch.float64 for t in expected):
        raise Refused(f"{task.name}: the reference is not float64.")
    if not sum(t.numel() for t in expected):
        raise Refused(f"{task.name}: the reference is empty, so it checks nothing.")
    return expected


def worst_error(out: torch.Tensor, right: torch.Tensor) -> float:
    """The worst error, in root mean squares of what is right; NaN if an element was not written."""
    return ((out.double() - right).abs().max() / right.square().mean().sqrt()).item()


def check(task: Task, side: str, outputs: Tensors, expected: Tensors, when: str) -> None:
    """Refuses outputs of which one element is wrong, or was never written (NaN)."""
    limit = task.limits.get(side, 1e-4)
    for out, right in zip(outputs, expected, strict=True):
        if out.shape != right.shape:
            raise Refused(f"{task.name}, {side}: {tuple(out.shape)}, not {tuple(right.shape)}.")
        error = worst_error(out, right)
        if not error <= limit:  # also NaN
            raise Refused(f"{task.name}, {side}: wrong by {error:.2g} {when}; limit {limit:.2g}.")


def measure(task: Task, device: Host) -> dict[str, Timing]:
    """Each side's time. Raises Refused rather than give a time that means nothing."""
    if device.eraser.nbytes < 2 * device.l2_bytes:
        raise Refused("Less than twice the L2 cache is written between repeats: no flush.")
    generator = torch.Generator(device.torch_device)
    sets = [task.inputs(generator.manual_seed(seed)) for seed in range(device.sets)]
    if any(a.numel() > 99 and torch.equal(a, b) for a, b in zip(sets[0], sets[1], strict=True)):
        raise Refused(f"{task.name}: two sets of inputs are the same, so they are not fresh.")
    poisoned = {
        (side, i): tuple(torch.empty(s, device=device.torch_device) for s in task.outputs)
        for side in task.sides
        for i in range(device.sets)
    }
    runs = {(side, i): task.sides[side](sets[i], poisoned[side, i]) for side, i in poisoned}
    outputs = {}

    def once(side: str, i: int) -> float:
        seconds = None
        while seconds is None:
            for out in poisoned[side, i]:
                out.fill_(torch.nan)
            device.flush()
            seconds, own = device.seconds(runs[side, i], task.hide)
        own = (own,) if isinstance(own, torch.Tensor) else own
        outputs[side, i] = poisoned[side, i] if own is None else own
        return seconds

    def right(when: str) -> int:
        for i, inputs in enumerate(sets):
            expected = expect(task, inputs)
            for side in task.sides:
                check(task, side, outputs[side, i], expected, f"{when} the repeats")
        return device.sets

    warm = {side: [once(side, i) for i in range(device.sets)] for side in task.sides}
    before = right("before")
    flushes, repeats = device.flushes, device.repeats(sum(last for *_, last in warm.values()))
    times = []
    for i in (repeat % device.sets for repeat in range(repeats)):
        for kept, fresh in zip(sets[i], task.inputs(generator), strict=True):
            kept.copy_(fresh)
        times.append({side: once(side, i) for side in task.sides})
    flushes = (device.flushes - flushes) // len(task.sides)
    evidence = repeats, flushes, device.sets, (before, right("after"))
    median = {side: statistics.median(each[side] for each in times) for side in task.sides}
    return {side: Timing(seconds, *evidence) for side, seconds in median.items()}
