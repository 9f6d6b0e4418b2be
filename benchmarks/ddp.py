"""Our data parallelism beside torch's, and what overlap gains on an emulated link: `make bench`.

    python benchmarks/ddp.py

In each launch the sides run in turn, step by step, and a ratio is that of their medians in rank 0.
Before times are compared, gradients are: those that differ end the benchmark.
"""

import statistics
import time
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from table import Row, ratio, report
from torch import nn
from torch.nn.functional import cross_entropy

from labkit import convnet
from labkit.distributed import launch
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.ddp import DataParallel
from labkit.distributed.gradients.overlap import Work, measure, predict
from labkit.distributed.one_big_batch import descend, gradients, largest_difference
from labkit.provenance import measured

RANKS = 2
THROUGHPUT = 0.95  # of torch's, at least
OVERLAP = 1.4  # times as fast as all-reduces after the backward, at least
ERROR = 0.15  # of a prediction: a goal
WARM_UP, TIMES = 3, 60
ENOUGH = 600.0  # seconds
MIB = 1 << 20

Step = Callable[[], None]


def network(name: str) -> tuple[nn.Module, tuple[int, ...], int]:
    """A network, the shape of a rank's batch, and the bytes of a bucket."""
    torch.manual_seed(0)
    if name == "ConvNet, 32 images":
        return convnet.torch_model(), (32, 3, 32, 32), MIB
    layers = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024), nn.ReLU())]
    # 5 MiB: a layer's 4 MiB of weights share their bucket with a bias.
    return nn.Sequential(*layers, nn.Linear(1024, 10)), (64, 1024), 5 * MIB


def step_of(model: nn.Module, net: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> Step:
    """One step of gradient descent; with `finish`, where the model has it."""
    finish = getattr(model, "finish", lambda: None)

    def step() -> None:
        net.zero_grad()
        cross_entropy(model(images), labels).backward()
        finish()
        descend(net, 1e-3)

    return step


def steps_in_turn(rank: int, ranks: int, name: str) -> dict[str, float]:
    """Seconds of a step, median, by who makes it; all have the same gradients, which is checked."""
    generator = torch.Generator().manual_seed(rank)
    _, shape, limit = network(name)
    images = torch.randn(shape, generator=generator)
    labels = torch.randint(0, 10, shape[:1], generator=generator)
    nets = {who: network(name)[0] for who in ("torch's", "ours", "ours, by our ring")}
    models = {
        "torch's": nn.parallel.DistributedDataParallel(nets["torch's"], bucket_cap_mb=limit / MIB),
        "ours": DataParallel(nets["ours"], limit),
        "ours, by our ring": DataParallel(
            nets["ours, by our ring"], limit, all_reduce=ring_all_reduce
        ),
    }
    steps = {who: step_of(models[who], nets[who], images, labels) for who in models}
    taken = in_turn(steps)
    theirs = gradients(nets["torch's"])
    for who, net in nets.items():
        if largest_difference(gradients(net), theirs) > 1e-6:
            raise ValueError(f"{name}: the gradients of {who} differ from torch's.")
    return taken


def in_turn(steps: dict[str, Step]) -> dict[str, float]:
    """The median of each; all ranks begin every step together."""
    taken: dict[str, list[float]] = {who: [] for who in steps}
    order = list(steps)
    for turn in range(WARM_UP + TIMES):
        order.append(order.pop(0))  # so that nobody is always behind the same one
        for who in order:
            step = steps[who]
            dist.barrier()
            begin = time.perf_counter()
            step()
            if turn >= WARM_UP:
                taken[who].append(time.perf_counter() - begin)
    return {who: statistics.median(seconds) for who, seconds in taken.items()}


def overlap_in_turn(rank: int, ranks: int, work: Work, ways: list[int | None]) -> list[float]:
    """Seconds of a step by each way to travel, median."""
    turns = [[measure(rank, ranks, work, way).seconds for way in ways] for _ in range(5)]
    return [statistics.median(seconds) for seconds in zip(*turns, strict=True)]


def throughput_rows() -> Iterator[Row]:
    """The sides in milliseconds, and ours over torch's."""
    for name in ("ConvNet, 32 images", "five layers, 17 MB"):
        taken = launch(steps_in_turn, RANKS, name, timeout=ENOUGH)[0]
        seconds = {who: measured(value, "s") for who, value in taken.items()}
        for who, quantity in seconds.items():
            yield Row(f"a step of {who} on {RANKS} ranks: {name}", quantity)
        theirs = seconds["torch's"]
        yield ratio(f"  ours over torch's: {name}", seconds["ours"], theirs, 1 / THROUGHPUT)
        by_ring = float(seconds["ours, by our ring"]) / float(theirs)
        yield Row(f"  ours by our ring over torch's: {name}", measured(by_ring, "times"), goal=1.5)


def overlap_rows() -> Iterator[Row]:
    """Emulated layers and links: after the backward, during it, and in one bucket."""
    # Long spans: a busy machine's waits for a core are small beside them.
    work = Work(seconds=0.05, bandwidth=20e6)
    ways = {"after the backward": None, "during it": work.bytes, "in one bucket": 8 * work.bytes}
    taken = launch(overlap_in_turn, RANKS, work, list(ways.values()), timeout=ENOUGH)[0]
    seconds = dict(zip(ways, (measured(value, "s") for value in taken), strict=True))
    for way, quantity in seconds.items():
        yield Row(f"emulated step on {RANKS} ranks, all-reduces {way}", quantity)
        expected = predict(work, RANKS, ways[way]).seconds
        error = abs(float(quantity) - expected) / expected
        yield Row("  its prediction misses by this share", measured(error, "times"), goal=ERROR)
    during, after = seconds["during it"], seconds["after the backward"]
    yield ratio("  during the backward over after it", during, after, 1 / OVERLAP)


def rows() -> Iterator[Row]:
    yield from throughput_rows()
    yield from overlap_rows()


if __name__ == "__main__":
    raise SystemExit(report("ddp", rows()))
