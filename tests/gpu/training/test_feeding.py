"""feeding.py: batches on a stream of their own, on a stand-in whose copies come late."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from labkit.gpu.training.feeding import fed

IMAGES = torch.arange(7 * 2 * 3, dtype=torch.float32).reshape(7, 2, 3)
BATCHES = [torch.tensor(rows) for rows in ([6, 0], [1, 2], [5, 3], [4, 4], [3])]


def test_on_a_cpu_they_are_the_rows():
    got = [*fed(IMAGES, BATCHES, "cpu")]
    assert all(torch.equal(batch, IMAGES[rows]) for batch, rows in zip(got, BATCHES, strict=True))
    assert len(got) == 5 and not [*fed(IMAGES, [], "cpu")] and not [*fed(IMAGES, [], "cuda")]


class Stream:
    """Work that is done when the host waits for it, or another stream at its turn; not before."""

    def __init__(self, device=None):
        self.queue = []

    def finish(self, last=None):
        done = None
        while self.queue and (last is None or done is not last):
            done = self.queue.pop(0)
            done()

    def wait_stream(self, other):
        event = Event([other])
        event.record()
        self.queue.append(event.synchronize)


class Event:
    """A place in the stream that was current when it was recorded."""

    def __init__(self, streams):
        self.streams, self.stream = streams, None

    def record(self):
        self.stream, self.place = self.streams[-1], lambda: None
        self.stream.queue.append(self.place)

    def synchronize(self):
        if self.stream and self.place in self.stream.queue:
            self.stream.finish(self.place)


class Pinned(torch.Tensor):
    """Host memory that a stream reads when it gets to it: by then it may hold something else."""

    def to(self, device, non_blocking=False):
        source, sent = self.as_subclass(torch.Tensor), torch.full(self.shape, torch.nan)
        sent = sent.as_subclass(Sent)
        if non_blocking:
            self.streams[-1].queue.append(lambda: sent.copy_(source))
        else:
            pytest.fail("the host waits for the copy")
        Sent.made.append(sent)
        return sent


class Sent(torch.Tensor):
    """Memory of the GPU, of the stream that copies; who else uses it must be told."""

    made: list = []  # noqa: RUF012

    def record_stream(self, stream):
        self.users = [*getattr(self, "users", []), stream]


@pytest.fixture
def gpu(monkeypatch):
    """PyTorch's streams and pinned memory: streams[-1] is the current one."""
    streams, place = [Stream()], SimpleNamespace(pinned=[])
    place.compute, empty = streams[0], torch.empty

    @contextmanager
    def stream(side):
        streams.append(side)
        yield
        streams.pop()

    def allocate(shape, dtype, pin_memory):
        memory = empty(shape, dtype=dtype).as_subclass(Pinned)
        place.pinned.append(memory)
        return memory

    Pinned.streams = streams
    Sent.made = place.sent = []
    monkeypatch.setattr(torch, "empty", allocate)
    for name, value in {
        "Stream": Stream,
        "Event": lambda: Event(streams),
        "stream": stream,
        "current_stream": lambda device: streams[-1],
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    return place


def test_each_batch_is_whole_when_it_is_handed_out_and_its_user_is_known(gpu):
    """The steps run long after the host has queued them all."""
    got = []
    for batch in fed(IMAGES, BATCHES, "cuda"):
        assert batch.users == [gpu.compute], "its memory may be given away while it is used"
        step = lambda batch=batch: got.append(batch.as_subclass(torch.Tensor).clone())  # noqa: E731
        gpu.compute.queue.append(step)
    assert not got
    gpu.compute.finish()
    assert len(got) == len(BATCHES) == len(gpu.sent)
    for batch, rows in zip(got, BATCHES, strict=True):
        assert torch.equal(batch, IMAGES[rows])


def test_the_next_one_is_on_its_way_and_nobody_waits_for_it(gpu):
    for number, _ in enumerate(fed(IMAGES, BATCHES, "cuda")):
        expected = min(number + 2, len(BATCHES))
        assert len(gpu.sent) == expected
        gpu.compute.finish()
        if expected == number + 2:
            assert gpu.sent[-1].isnan().all(), "the step would wait for the next batch's copy"


def test_memory_is_pinned_once(gpu):
    many = 20 * BATCHES[:4]
    assert len([*fed(IMAGES, many, "cuda")]) == 80
    assert [tuple(memory.shape) for memory in gpu.pinned] == [(2, 2, 3)] * 2
