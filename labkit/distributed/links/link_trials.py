"""Trials on a link: pings, collectives, a step with overlap, a pipeline; the same on every link.

    seconds = launch(on_an_emulated_link, 2, Trials())[0]      # emulated in process
    sizes, seconds = measure_pings(Trials())                   # the pings alone
    python -m labkit.distributed.links.link_trials --rank 0 ...      # one rank on a host of its own

Each rank runs `trials` with whatever carries its messages: an emulated link, or connections
through relays and shaped cables. Rank 0 gets the seconds of all of them: of each trial the lower
quartile, since what else the machine does can only make it longer. Compute is emulated: it sleeps.
`link_predictions` says what they should take. Lesson a_cost_model.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from labkit.distributed.gradients.overlap import Work
from labkit.distributed.network import emulated_link
from labkit.distributed.pipeline.schedules import Schedule, one_f_one_b

PINGS_FOR_A_TRIAL = 3  # all predictions hang on them, and they are short
LIMIT = 600.0  # seconds: ends a hang, nothing else
PORT = 29500  # where ranks on hosts meet
LOOPBACK_PINGS = (1_000, 1_000_000, 16_000_000)  # bytes


@dataclass(frozen=True)
class Trials:
    """What is run. Sizes of pings and of collectives are in bytes, and have none in common.

    latency, bandwidth   of the link that is made
    layers, gradient, backward   of the step with overlap: count; bytes and seconds of each
    bucket                       bytes of a bucket in it
    micro_batches, tokens        of the pipeline; a token's activation has 64 bytes
    t_forward, t_backward        seconds of one micro-batch in one stage
    repeats                      of each trial, and a third of the pings

    Nonsense raises ValueError, in a sentence.
    """

    latency: float = 0.02
    bandwidth: float = 12.5e6
    pings: tuple[int, ...] = (1_000, 125_000, 500_000)
    sizes: tuple[int, ...] = (300_000, 1_200_000)
    layers: int = 8
    gradient: int = 150_000
    backward: float = 0.03
    bucket: int = 300_000
    micro_batches: int = 4
    tokens: int = 2_000
    t_forward: float = 0.04
    t_backward: float = 0.08
    repeats: int = 9

    def __post_init__(self) -> None:
        if not 0 <= self.latency < float("inf"):
            raise ValueError(f"Trials: latency is 0 seconds or more, not {self.latency!r}.")
        if not 0 < self.bandwidth < float("inf"):
            raise ValueError(f"Trials: bandwidth is above 0 bytes/s, not {self.bandwidth!r}.")
        if not self.repeats >= 1:
            raise ValueError(f"Trials: each is repeated once or more, not {self.repeats!r} times.")

    def work(self, latency: float, bandwidth: float) -> Work:
        """The step with overlap on a link of this latency and bandwidth."""
        return Work(self.layers, self.gradient, self.backward, latency, bandwidth)

    def schedule(self, stages: int) -> Schedule:
        """The pipeline's order of work."""
        return one_f_one_b(stages, self.micro_batches)


def trials(rank: int, ranks: int, given: Trials) -> dict[str, float]:
    """The seconds of each trial, in rank 0; the messages go by the transport in use.

    "ping 1000" is half of a round trip; "star 600000" and "ring 600000" are collectives; "overlap"
    and "after" are steps with two ranks; "pipeline" has a stage in each rank.
    """
    from labkit.distributed.collectives import gather_all_reduce, ring_all_reduce

    found = pings(rank, given)
    for size in given.sizes:
        for name, function in (("star", gather_all_reduce), ("ring", ring_all_reduce)):
            found[f"{name} {size}"] = _seconds(given.repeats, _collective(function, size))
    if ranks == 2:
        found["overlap"] = _seconds(given.repeats, _overlapped(given))
        found["after"] = _seconds(given.repeats, _after(given))
    found["pipeline"] = _seconds(given.repeats, _pipeline(rank, ranks, given))
    return found


def pings(rank: int, given: Trials) -> dict[str, float]:
    """The seconds of the pings alone, in rank 0."""
    repeats = PINGS_FOR_A_TRIAL * given.repeats
    return {f"ping {size}": _ping(rank, size, repeats) for size in given.pings}


def pings_on_an_emulated_link(rank: int, ranks: int, given: Trials) -> dict[str, float]:
    """The pings on a link emulated in process: what `launch` runs in each rank."""
    del ranks  # two of them
    with emulated_link(given.latency, given.bandwidth):
        return pings(rank, given)


def on_an_emulated_link(rank: int, ranks: int, given: Trials) -> dict[str, float]:
    """The trials on a link emulated in process: for `launch` to run in each rank."""
    with emulated_link(given.latency, given.bandwidth):
        return trials(rank, ranks, given)


def measure_pings(given: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Bytes [P] and seconds [P] of the pings between two ranks: launches them from a notebook."""
    from labkit.distributed.launch import launch

    seconds = launch(pings_on_an_emulated_link, 2, given, timeout=LIMIT)[0]
    return np.array(given.pings, dtype=float), np.array(list(seconds.values()))


def on_the_loopback(rank: int, ranks: int, given: Trials) -> dict[str, float]:
    """The trials as messages travel on this machine, with nothing in their way.

    The pings are larger ones: otherwise other work on the machine would be all that they show.
    """
    return trials(rank, ranks, replace(given, pings=LOOPBACK_PINGS))


def _ping(rank: int, size: int, repeats: int) -> float:
    """Half of a round trip between ranks 0 and 1, in rank 0; the others wait."""
    import torch
    import torch.distributed as dist

    from labkit.distributed.messages import receive, send

    x = torch.zeros(size, dtype=torch.uint8)
    took = []
    dist.barrier()
    for _ in range(1 + repeats):
        begin = time.monotonic()
        if rank == 0:
            send(x, 1)
            receive(x, 1)
            took.append((time.monotonic() - begin) / 2)
        elif rank == 1:
            receive(x, 0)
            send(x, 0)
    return _lower_quartile(took[1:]) if took else 0.0


def _lower_quartile(took: Sequence[float]) -> float:
    """Of so many runs, which other work can only make longer."""
    import numpy as np

    return float(np.quantile(took, 0.25))


def _seconds(repeats: int, run: Callable[[], None]) -> float:
    """From the first rank's begin to the last one's end: the lower quartile, after a warm-up.

    All ranks read the same clock: hosts on one machine do.
    """
    import torch.distributed as dist

    took = []
    for _ in range(1 + repeats):
        dist.barrier()
        begin = time.monotonic()
        run()
        moments: list = [None] * dist.get_world_size()
        dist.all_gather_object(moments, (begin, time.monotonic()))
        took.append(max(end for _, end in moments) - min(begin for begin, _ in moments))
    return _lower_quartile(took[1:])


def _collective(function: Callable, size: int) -> Callable[[], None]:
    import torch

    x = torch.ones(size // 4)

    def run() -> None:
        total = function(x)
        if not bool((total == total[0]).all()) or total[0] < 2:
            raise ValueError(f"{function.__name__} has a wrong sum.")

    return run


def _overlapped(given: Trials) -> Callable[[], None]:
    """Layers sleep, last one first; a bucket leaves in a thread as soon as it is full."""
    import torch

    from labkit.distributed.gradients import buckets
    from labkit.distributed.gradients.asynchronous import CommunicationThread

    rows = buckets.assign([given.gradient] * given.layers, given.bucket)

    def run() -> None:
        with CommunicationThread() as thread:
            handles = []
            for row in rows:
                time.sleep(len(row) * given.backward)
                handles.append(thread.submit(torch.ones(len(row) * given.gradient // 4)))
            for handle in handles:
                handle.wait()

    return run


def _after(given: Trials) -> Callable[[], None]:
    """The whole backward, and then an all-reduce for each layer."""
    import torch

    from labkit.distributed.collectives import ring_all_reduce

    def run() -> None:
        time.sleep(given.layers * given.backward)
        for _ in range(given.layers):
            ring_all_reduce(torch.ones(given.gradient // 4))

    return run


def _pipeline(rank: int, ranks: int, given: Trials) -> Callable[[], None]:
    import torch

    from labkit.distributed.pipeline.emulated import EmulatedStage
    from labkit.distributed.pipeline.runner import run as run_stage

    stage = EmulatedStage(rank, ranks, given.t_forward, given.t_backward)
    tokens = torch.zeros(given.micro_batches, given.tokens, dtype=torch.int64)

    def run() -> None:
        schedule = given.schedule(ranks)
        run_stage(stage, schedule, tokens, tokens, loss=lambda y, _: y.mean())

    return run


def main(words: Sequence[str] | None = None) -> None:
    """One rank on a host: through a relay over whatever cable is there; rank 0 prints JSON."""
    import torch.distributed as dist

    from labkit.distributed.connections.wires import wired

    parser = argparse.ArgumentParser(prog="link_trials", description=main.__doc__)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--meet", required=True, help="the address of rank 0's host")
    parser.add_argument("--address", required=True, help="of this rank's host")
    parser.add_argument("--trials", required=True, help="the fields of Trials, as JSON")
    asked = parser.parse_args(words)
    fields = json.loads(asked.trials)
    given = Trials(**fields | {name: tuple(fields[name]) for name in ("pings", "sizes")})
    where = f"tcp://{asked.meet}:{PORT}"
    dist.init_process_group("gloo", where, rank=asked.rank, world_size=asked.ranks)
    with wired(given.latency, asked.address):
        found = trials(asked.rank, asked.ranks, given)
    if asked.rank == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def command(rank: int, addresses: Sequence[str], given: Trials) -> list[str]:
    """The words behind the interpreter that start this rank on its host."""
    return [
        "-m",
        __name__ if __name__ != "__main__" else "labkit.distributed.links.link_trials",
        f"--rank={rank}",
        f"--ranks={len(addresses)}",
        f"--meet={addresses[0]}",
        f"--address={addresses[rank]}",
        f"--trials={json.dumps(asdict(given))}",
    ]


if __name__ == "__main__":
    main()
