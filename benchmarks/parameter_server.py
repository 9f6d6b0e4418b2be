"""Throughput of parameter servers beside its formulas, and what deaths cost: `make bench`.

    python benchmarks/parameter_server.py

Four workers of unlike speed, three of 10 ms and one of 40 ms a step, emulated by sleeping, and one
server: gradients per second over SECONDS by each rule, beside what `throughput` predicts. It leaves
messages and the server's work out, and so the emulated machines train a small model. Seconds
depend on the machine, and so do their goals; counts are limits. Everything goes to
results/parameter_server.json. The whole takes a minute on an idle machine with two cores.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1", LABKIT_MARK=f"by {os.getpid()}")

import torch
from table import Row, medians, report

from labkit.distributed.parameter_server import (
    Asynchronous,
    Bounded,
    Cluster,
    Photographs,
    Synchronous,
)
from labkit.distributed.parameter_server.rules import Rule
from labkit.provenance import Quantity, counted, measured, predicted
from labkit_lessons.distributed.parameter_servers import throughput

MARK = f"LABKIT_MARK={os.environ['LABKIT_MARK']}\0"  # in the environment of all that it starts
STEP = (0.01, 0.01, 0.01, 0.04)  # seconds of a step of each worker
BOUND = 5
SECONDS = 8.0  # of each training
JOB = Photographs(batch=4)
STARTS = 20
STEPS = 1500  # of the training in which a worker dies
WITHIN = 5.0  # per cent


class Emulated:
    """A job that costs nothing: all of a step's time is emulated."""

    weights = 1000

    def start(self) -> torch.Tensor:
        return torch.zeros(self.weights)

    def fingerprint(self) -> str:
        return f"{self.weights} weights of an emulated model"

    def gradient(
        self, flat: torch.Tensor, worker: int, step: int, workers: int
    ) -> tuple[float, torch.Tensor, int]:
        return 0.0, torch.zeros_like(flat), 1


def rows() -> Iterator[Row]:
    yield from of_starts()
    yield from of_throughput()
    yield from of_a_death()
    yield from of_one_big_batch()


def of_starts() -> Iterator[Row]:
    start_and_end()
    (taken,) = medians(start_and_end, times=7)
    yield Row("start and end 2 servers and 4 workers, warm", taken, goal=0.3)
    before = processes()
    if not before:
        raise AssertionError("The process that roles are forked from is not among those found.")
    for _ in range(STARTS):
        start_and_end()
    left = len(processes() - before)
    what = f"processes left after {STARTS} clusters"
    yield Row(what, counted(left, "", "the system's list of processes"), limit=0)


def of_throughput() -> Iterator[Row]:
    rules = {
        Synchronous(): throughput.synchronous(STEP),
        Asynchronous(): throughput.asynchronous(STEP),
        Bounded(BOUND): throughput.bounded(STEP, BOUND, SECONDS),
    }
    with Cluster(servers=1, workers=len(STEP)) as cluster:
        cluster.train(Emulated(), Asynchronous(), steps=100)  # the first one warms up
        for rule, expected in rules.items():
            yield from of_a_rule(cluster, rule, expected)


def of_a_rule(cluster: Cluster, rule: Rule, expected: float) -> Iterator[Row]:
    """Gradients that the server's log has within SECONDS, beside the prediction."""
    run = cluster.train(Emulated(), rule, duration=SECONDS, seconds=STEP)
    rate = sum(moment <= SECONDS for moment in run.moments) / SECONDS
    yield Row(f"{rule}, 10/10/10/40 ms: gradients", measured(rate, "1/s"))
    yield Row(f"{rule}: by formula", predicted(expected, "1/s", "throughput"))
    error = measured(100 * abs(rate / expected - 1), "%")
    yield Row(f"{rule}: off its prediction by", error, goal=WITHIN)
    if (most := rule.most_staleness(len(STEP))) is not None:
        beyond = sum(staleness > most for staleness in run.staleness)
        yield Row(f"{rule}: gradients staler than the rule allows", by_log(beyond), limit=0)
        ahead = sum(lead > getattr(rule, "bound", 0) for lead in run.leads)
        yield Row(f"{rule}: steps begun further ahead than it allows", by_log(ahead), limit=0)


def of_a_death() -> Iterator[Row]:
    """A worker is killed and comes back: each step is applied once."""
    with Cluster(servers=2, workers=3) as cluster:
        training = cluster.begin(JOB, Asynchronous(), steps=STEPS, seconds=(0.002,) * 3)
        training.until(STEPS // 3)
        cluster.kill("worker 1")
        cluster.restart("worker 1")
        run = training.finish()
    for server, log in enumerate(run.logs):
        applied = {(note.worker, note.step) for note in log}
        off = abs(len(log) - STEPS) + len(log) - len(applied)
        what = f"{STEPS} steps, a worker killed: applied off that by, server {server}"
        yield Row(what, by_log(off), limit=0)
    yield Row("pushes that came again, and were left out", by_log(run.repeated))


def of_one_big_batch() -> Iterator[Row]:
    """Synchronous servers beside one process with the whole batch."""
    with Cluster(servers=2, workers=4) as cluster:
        run = cluster.train(JOB, Synchronous(), steps=400, rate=0.1)
    flat = JOB.start()
    whole = Photographs(batch=4 * JOB.batch)
    for step in range(100):
        _, gradient, _ = whole.gradient(flat, 0, step, 1)
        flat = flat - 0.1 * gradient
    difference = float((run.weights - flat).abs().max())
    said = counted(difference, "", "torch, largest of 24,938 weights")
    yield Row("weights after 100 synchronous steps, off plain descent", said, limit=1e-6)


def start_and_end() -> None:
    Cluster(servers=2, workers=4).end()


def by_log(number: float) -> Quantity:
    return counted(number, "", "the server's log")


def processes() -> set[int]:
    """All processes that this program has started, wherever they are."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and MARK.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:  # it has ended, or is another user's
            pass
    return found


if __name__ == "__main__":
    sys.exit(report("parameter_server", rows()))
