"""A step of data parallel training as a function of the lesson does it, in real ranks.

    work = Work(layers=4, bytes=180_000, seconds=0.025, latency=4e-3, bandwidth=10e6)
    runs = measure_steps({"4 buckets": (overlapped, work, [[3], [2], [1], [0]])}, ranks=2)
    runs["4 buckets"].seconds

`overlapped(backward, buckets, start)` gets gradients one by one, and starts buckets; it returns
the means. The backward is a sleep for each layer and the link is emulated, but the gradients do
travel, by our ring, in a thread of each rank. Lesson overlap_and_buckets.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.distributed.gradients.overlap import (
    Span,
    Timeline,
    Work,
)
from labkit.distributed.launch import launch

if TYPE_CHECKING:
    import torch

    from labkit.distributed.gradients.asynchronous import CommunicationThread, Handle

Buckets = Sequence[Sequence[int]]


def measure_steps(
    ways: Mapping[str, tuple[Callable, Work, Buckets]], ranks: int
) -> dict[str, Timeline]:
    """Of each way to do a step, what rank 0 saw of its fastest step, by the way's name."""
    return {name: launch(one_step, ranks, *way)[0] for name, way in ways.items()}


def one_step(
    rank: int, ranks: int, function: Callable, work: Work, buckets: Buckets, repeats: int = 5
) -> Timeline:
    """When each layer and each bucket had its turn in this rank, in the fastest of the repeats.

    Raises ValueError where the function does not return the means of all gradients.
    """
    from labkit.distributed.gradients.asynchronous import CommunicationThread
    from labkit.distributed.network import emulated_link

    timelines = []
    with emulated_link(work.latency, work.bandwidth), CommunicationThread() as thread:
        for _ in range(repeats):
            timelines.append(Step(rank, ranks, work, thread).run(function, buckets))
    return min(timelines, key=lambda timeline: timeline.seconds)


class Step:
    """One step: what it sends, and its moments.

    The gradient of layer l is rank + l everywhere; so its mean is known.
    """

    def __init__(self, rank: int, ranks: int, work: Work, thread: "CommunicationThread") -> None:
        self.rank = rank
        self.ranks = ranks
        self.work = work
        self.thread = thread
        self.handles: list[Handle] = []
        self.layers: list[tuple[int, float, float]] = []

    def run(self, function: Callable, buckets: Buckets) -> Timeline:
        """Calls the function, once all ranks are here."""
        import torch.distributed as dist

        dist.barrier()
        zero = time.monotonic()
        means = function(self.backward(), buckets, self.start)
        self._refuse_wrong(means, buckets)
        layers = [Span(layer, begin - zero, end - zero) for layer, begin, end in self.layers]
        travel = []
        for number, handle in enumerate(self.handles):
            travel.append(Span(number, handle.begin - zero, handle.end - zero))
        return Timeline(layers, travel, [list(bucket) for bucket in buckets])

    def backward(self) -> "Iterator[tuple[int, torch.Tensor]]":
        """(layer, gradient), the last layer first; each takes its time when it is asked for."""
        import torch

        for layer in reversed(range(self.work.layers)):
            begin = time.monotonic()
            gradient = torch.full((self.work.bytes // 4,), float(self.rank + layer))
            time.sleep(max(begin + self.work.seconds - time.monotonic(), 0))
            self.layers.append((layer, begin, time.monotonic()))
            yield layer, gradient

    def start(self, gradients: "Sequence[torch.Tensor]") -> "Means":
        """Begins one all-reduce of them all."""
        import torch

        handle = self.thread.submit(torch.cat(list(gradients)))
        self.handles.append(handle)
        return Means(handle, len(gradients), self.ranks)

    def _refuse_wrong(self, means: Sequence, buckets: Buckets) -> None:
        for bucket, got in zip(buckets, means, strict=True):
            for layer, mean in zip(bucket, got, strict=True):
                expected = layer + (self.ranks - 1) / 2
                if not bool((mean == expected).all()):
                    raise ValueError(f"one_step: the mean of layer {layer} is not {expected}.")


class Means:
    """A bucket on its way."""

    def __init__(self, handle: "Handle", count: int, ranks: int) -> None:
        self._handle = handle
        self._count = count
        self._ranks = ranks

    def wait(self) -> "list[torch.Tensor]":
        """The means of its gradients over all ranks, which are all of one size."""
        total = self._handle.wait() / self._ranks
        return list(total.chunk(self._count))
