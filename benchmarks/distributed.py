"""Collectives beside gloo's, and how long a launch takes: `make bench`.

    python benchmarks/distributed.py

Ratios have both sides in the same processes, run in turn, 7 times; their medians count. On one
machine all messages are copies in the same memory. There a ring takes as long as its bare messages
without any sum; it gains little over our own gather and broadcast, and about three times over
PyTorch's. So that ratio is a goal on one machine, and a limit on emulated links.
Everything goes to results/distributed.json. The whole takes two minutes on an idle machine.
"""

import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1", LABKIT_MARK=f"by {os.getpid()}")

from table import Row, medians, ratio, report

from labkit.distributed import CostModel, LaunchError, launch
from labkit.provenance import Quantity, counted, measured

MARK = f"LABKIT_MARK={os.environ['LABKIT_MARK']}\0"  # in the environment of all that it starts
RANKS = 4
SIZE = 64 << 20  # bytes
TIMES = 7
EMULATED_TIMES = 3  # they sleep most of the time, and so vary little
# Of the emulated links, in seconds and bytes per second: slow enough to hide what copying takes.
LATENCY, BANDWIDTH = 1e-3, 50e6
LAUNCHES = 100
ENOUGH = 1800.0  # seconds: only ends a hang


def rows() -> Iterator[Row]:
    yield from of_the_ring()
    yield from on_emulated_links()
    yield from of_launches()


def of_the_ring() -> Iterator[Row]:
    names = ("gloo", "ring_all_reduce", "halving_all_reduce", "gather_all_reduce", "gather")
    taken, sent = timed(names)
    gloo, ring, halving, gather, plain = taken
    yield Row("all-reduce of 64 MiB, 4 ranks: gloo", gloo)
    yield Row("all-reduce of 64 MiB, 4 ranks: our ring", ring)
    yield ratio("our ring beside gloo", ring, gloo, limit=1.6)
    yield ratio("our halving and doubling beside gloo", halving, gloo, limit=None)
    beside = measured(float(ring) / float(gather), "times")
    yield Row("our ring beside our gather and broadcast, on this machine", beside, goal=1 / 3)
    beside = measured(float(ring) / float(plain), "times")
    yield Row("our ring beside dist.gather, a sum and dist.broadcast", beside, goal=1 / 3)
    exactly = 2 * (RANKS - 1) * SIZE
    excess = abs(sum(sent["ring_all_reduce"]) - exactly)
    yield Row("payload over all ranks, off 2 (n - 1) S by", of_bytes(excess), limit=0)
    each = max(abs(one - exactly / RANKS) for one in sent["ring_all_reduce"])
    yield Row("payload of a rank, off 2 (n - 1) / n S by at most", of_bytes(each), limit=0)


def on_emulated_links() -> Iterator[Row]:
    (ring, gather), _ = timed(("ring_all_reduce", "gather_all_reduce"), emulated=True)
    yield ratio("our ring beside gather and broadcast, emulated links", ring, gather, limit=1 / 3)
    model = CostModel(LATENCY, BANDWIDTH)
    for name, seconds in (("ring_all_reduce", ring), ("gather_all_reduce", gather)):
        predicted = model.predict(name, RANKS, SIZE)
        error = measured(100 * abs(float(seconds) / predicted - 1), "%")
        yield Row(f"{name} on emulated links, off its prediction by", error, goal=20)


def of_launches() -> Iterator[Row]:
    for ranks, goal in ((2, 0.5), (4, 1.0)):
        launch(nothing, ranks)
        (taken,) = medians(lambda ranks=ranks: launch(nothing, ranks), times=TIMES)
        yield Row(f"launch {ranks} ranks that do nothing, warm", taken, goal=goal)
    (taken,) = medians(killed, times=TIMES)
    yield Row("hear of a rank that was killed, of 2, from its launch on", taken, goal=5)
    before = processes()
    if not before:
        raise AssertionError("The process that ranks are forked from is not among those found.")
    for _ in range(LAUNCHES):
        launch(nothing, 2)
    left = len(processes() - before)
    what = f"processes left after {LAUNCHES} launches of 2 ranks"
    yield Row(what, counted(left, "", "the system's list of processes"), limit=0)


def timed(names: tuple[str, ...], emulated: bool = False) -> tuple[list[Quantity], dict]:
    """For each collective the median of its seconds in rank 0, and the bytes each rank sent."""
    found = launch(in_turn, RANKS, names, emulated, timeout=ENOUGH)
    seconds, _ = found[0]
    sent = {name: [bytes[name] for _, bytes in found] for name in names}
    return [measured(statistics.median(seconds[name]), "s") for name in names], sent


def in_turn(rank: int, ranks: int, names: tuple[str, ...], emulated: bool) -> tuple[dict, dict]:
    """Seconds of each run of each collective, after one that warms up; bytes sent in one run."""
    from contextlib import nullcontext

    import torch
    import torch.distributed as dist

    from labkit.distributed import collectives, emulated_link, recorded

    x = torch.randn(SIZE // 4, generator=torch.Generator().manual_seed(rank))
    expected = x.clone()
    dist.all_reduce(expected)
    seconds = {name: [] for name in names}
    sent = {}

    def gloo(tensor: torch.Tensor) -> torch.Tensor:
        result = tensor.clone()
        dist.all_reduce(result)
        return result

    def gather(tensor: torch.Tensor) -> torch.Tensor:
        parts = [torch.empty_like(tensor) for _ in range(ranks)] if rank == 0 else None
        dist.gather(tensor, parts, 0)
        result = sum(parts) if rank == 0 else torch.empty_like(tensor)
        dist.broadcast(result, 0)
        return result

    by_torch = {"gloo": gloo, "gather": gather}
    for turn in range(1 + (EMULATED_TIMES if emulated else TIMES)):
        for name in names:
            function = by_torch.get(name) or getattr(collectives, name)
            link = emulated_link(LATENCY, BANDWIDTH) if emulated else nullcontext()
            dist.barrier()
            begin = time.perf_counter()
            with link, recorded() as messages:
                result = function(x)
            dist.barrier()
            if turn:
                seconds[name].append(time.perf_counter() - begin)
            sent[name] = sum(message.bytes for message in messages if message.sent)
            if not torch.allclose(result, expected, atol=1e-5):
                raise AssertionError(f"{name} has a wrong sum in rank {rank}.")
    return seconds, sent


def nothing(rank: int, ranks: int) -> None:
    return None


def dies(rank: int, ranks: int) -> None:
    import torch.distributed as dist

    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def killed() -> None:
    try:
        launch(dies, 2)
    except LaunchError as error:
        if "Rank 1 was killed by SIGKILL" in str(error):
            return
    raise AssertionError("The launch of a rank that was killed said something else.")


def processes() -> set[int]:
    """All processes that this program has started, and those that they have, wherever they are."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and MARK.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:  # it has ended, or is another user's
            pass
    return found


def of_bytes(number: float) -> Quantity:
    return counted(number, "B", "recorded messages")


if __name__ == "__main__":
    sys.exit(report("distributed", rows()))
