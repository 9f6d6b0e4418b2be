"""Overlap: one backward and its all-reduces on one axis of time, measured and predicted.

    work = Work(layers=8, bytes=1 << 20, seconds=0.02, latency=1e-3, bandwidth=50e6)
    measured = launch(measure, 2, work, 2 << 20)[0]     # buckets of two layers
    expected = predict(work, 2, 2 << 20)

The layers' compute is emulated, and so is the link; the all-reduces are real ones, by our ring,
between real processes. Three ways: all-reduces after the backward (`bucket_bytes=None`), buckets
during it, and one bucket of everything. Lesson overlap_and_buckets.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.gradients import buckets

if TYPE_CHECKING:
    import torch

    from labkit.distributed.gradients.readiness import Ready


@dataclass(frozen=True)
class Work:
    """A step to emulate.

    layers, bytes, seconds   how many layers; of each one the gradient's bytes, and its backward
    latency, bandwidth       of each rank's cable, as in `emulated_link`
    """

    layers: int = 8
    bytes: int = 1 << 20
    seconds: float = 0.02
    latency: float = 1e-3
    bandwidth: float = 50e6


@dataclass(frozen=True)
class Span:
    """From when to when, in seconds since the backward began; which layer or bucket, from 0."""

    number: int
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """One step of one rank.

    layers    each layer's backward, in the order of the backward: last layer first
    travel    each bucket's all-reduce
    buckets   the layers in each bucket
    """

    layers: list[Span]
    travel: list[Span]
    buckets: list[list[int]]

    @property
    def seconds(self) -> float:
        """From the backward's begin until every gradient is the mean."""
        return max(span.end for span in (*self.layers, *self.travel))


def predict(work: Work, ranks: int, bucket_bytes: int | None) -> Timeline:
    """When each layer and each bucket would have its turn, if nothing took time but the emulated.

    A bucket leaves when its last layer is done and the one before has arrived; its ring takes
    2 (n - 1) (latency + bytes / (n bandwidth)).
    """
    layers = []
    for turn, layer in enumerate(reversed(range(work.layers))):
        layers.append(Span(layer, turn * work.seconds, (turn + 1) * work.seconds))
    done = {span.number: span.end for span in layers}
    link = CostModel(work.latency, work.bandwidth)
    rows = _assigned(work, bucket_bytes)
    travel = []
    free = layers[-1].end if bucket_bytes is None else 0.0  # when the link may begin
    for number, row in enumerate(rows):
        begin = max(free, max(done[layer] for layer in row))
        free = begin + link.predict("ring_all_reduce", ranks, len(row) * work.bytes)
        travel.append(Span(number, begin, free))
    return Timeline(layers, travel, rows)


def measure(
    rank: int, ranks: int, work: Work, bucket_bytes: int | None, warm_up: int = 1
) -> Timeline:
    """One step of this rank, after `warm_up` others: what `launch` runs in each rank.

    bucket_bytes   of a bucket; None: one all-reduce for each layer, after the backward
    """
    from labkit.distributed.network import emulated_link

    step = _after_the_backward if bucket_bytes is None else _during_the_backward
    with emulated_link(work.latency, work.bandwidth):
        for _ in range(warm_up):
            step(work, bucket_bytes)
        return step(work, bucket_bytes)


def _after_the_backward(work: Work, _: None) -> Timeline:
    """As `data_parallel.step` does it."""
    from labkit.distributed.data_parallel import average_gradients
    from labkit.distributed.gradients.emulated_compute import emulated_net
    from labkit.distributed.gradients.readiness import watched

    net = emulated_net(work.layers, work.bytes, work.seconds)
    carried: list[tuple[float, float]] = []
    with watched(net) as ready:
        begin = _backward(net)
        average_gradients(net, all_reduce=_timed(carried))
    return _timeline(work, None, begin, ready, carried)


def _during_the_backward(work: Work, bucket_bytes: int) -> Timeline:
    """As `DataParallel` does it."""
    from labkit.distributed.ddp import DataParallel
    from labkit.distributed.gradients.emulated_compute import emulated_net
    from labkit.distributed.gradients.readiness import watched

    net = emulated_net(work.layers, work.bytes, work.seconds)
    carried: list[tuple[float, float]] = []
    model = DataParallel(net, bucket_bytes, bucket_bytes, all_reduce=_timed(carried))
    with watched(net) as ready:
        begin = _backward(model)
        model.finish()
    model.close()
    return _timeline(work, bucket_bytes, begin, ready, carried)


def _backward(model: "torch.nn.Module") -> float:
    """Forward and backward on one number; the moment at which the backward began.

    The ranks begin together, so that none has to wait for another's beginning.
    """
    import torch
    import torch.distributed as dist

    loss = model(torch.zeros(1)).sum()
    dist.barrier()
    begin = time.monotonic()
    loss.backward()
    return begin


def _timed(carried: list[tuple[float, float]]) -> "Callable[[torch.Tensor], torch.Tensor]":
    """Our ring, which writes down when each all-reduce began and ended."""
    from labkit.distributed.collectives import ring_all_reduce

    def all_reduce(tensor: "torch.Tensor") -> "torch.Tensor":
        begin = time.monotonic()
        total = ring_all_reduce(tensor)
        carried.append((begin, time.monotonic()))
        return total

    return all_reduce


def _timeline(
    work: Work,
    bucket_bytes: int | None,
    zero: float,
    ready: "list[Ready]",
    carried: list[tuple[float, float]],
) -> Timeline:
    """What was written down, in seconds since `zero`."""
    layers = []
    before = zero
    for layer, gradient in zip(reversed(range(work.layers)), ready, strict=True):
        layers.append(Span(layer, before - zero, gradient.moment - zero))
        before = gradient.moment
    travel = []
    for number, (begin, end) in enumerate(carried):
        travel.append(Span(number, begin - zero, end - zero))
    return Timeline(layers, travel, _assigned(work, bucket_bytes))


def _assigned(work: Work, bucket_bytes: int | None) -> list[list[int]]:
    """The layers of each all-reduce: those of a bucket, or each one alone, first layer first."""
    if bucket_bytes is None:
        return [[layer] for layer in range(work.layers)]
    return buckets.assign([work.bytes] * work.layers, bucket_bytes)
