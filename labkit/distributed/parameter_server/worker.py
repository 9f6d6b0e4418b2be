"""A worker: pull, compute, push, until the servers have no step left for it.

A step can be made to take longer, by sleeping: an emulated slow machine, which leaves the cores to
the others. Lesson parameter_servers.
"""

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from labkit.distributed.parameter_server.client import Client


class Job(Protocol):
    """What a training computes; `problem.Photographs` is one."""

    def start(self) -> "torch.Tensor":
        """The weights [W] at the beginning."""

    def fingerprint(self) -> str:
        """Which model it is: servers refuse workers of another one."""

    def gradient(
        self, flat: "torch.Tensor", worker: int, step: int, workers: int
    ) -> "tuple[float, torch.Tensor, int]":
        """Mean loss, gradient [W] and number of samples of a worker's step at flat[W].

        Each worker's process calls it once more before a training begins, to warm up.
        """


def work(client: "Client", job: Job, workers: int, seconds: float = 0.0) -> int:
    """Makes steps until there is none left; returns how many the servers have acknowledged.

    workers   of the training, among which the samples are dealt
    seconds   that a step takes, messages included, waiting for others not: where it would take
              less, the worker sleeps. A step that comes late shortens the next one.

    Raises ServerError where a server refuses or does not answer.
    """
    steps = 0
    due = time.monotonic()
    while (weights := client.pull()) is not None:
        due = max(due + weights.held, time.monotonic() - seconds) + seconds
        loss, gradient, samples = job.gradient(weights.flat, client.worker, weights.step, workers)
        time.sleep(max(due - time.monotonic(), 0))
        steps += client.push(weights, gradient, loss, samples)
    return steps
