"""A worker's side of the talk: all servers together, and what to do when one does not answer.

    client = Client(["127.0.0.1:40123", "127.0.0.1:40124"], 0, fingerprint, secret)   # worker 0
    weights = client.pull()                     # from all servers; None: no step left
    client.push(weights, gradient)              # to each server its part

Server i of k holds `flat.tensor_split(k)[i]`. A connection that breaks is made anew, and what was
asked is asked again: a server counts what comes twice. Lesson parameter_servers; what happens when
servers die is in lesson faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.distributed.parameter_server.protocol.link import TIMEOUT, Link, by_name

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Weights:
    """What a worker begins a step with.

    flat       all weights [W]
    step       the step that it is to make
    versions   of each server's part
    held       seconds for which the rule kept this worker waiting
    """

    flat: torch.Tensor
    step: int
    versions: tuple[int, ...]
    held: float = 0.0


class Client:
    """Worker number `worker` of a training, with a link to each server.

    addresses     "host:port" of each server, in the order of their parts
    fingerprint   of the model, as `problem.fingerprint` gives it
    secret        of the cluster, as its servers hold it
    timeout       seconds for an answer, after which ServerError says who did not give it
    copies        for each server the address of its copy, or None

    Raises ServerError as `pull` and `push` do.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        worker: int | None,
        fingerprint: str,
        secret: bytes,
        timeout: float = TIMEOUT,
        copies: Sequence[str | None] | None = None,
    ) -> None:
        self.worker = worker
        copies = copies or [None] * len(addresses)
        self.links = [
            Link(by_name(number, *place), worker, fingerprint, secret, timeout)
            for number, place in enumerate(zip(addresses, copies, strict=True))
        ]
        for link in self.links:
            link.connect()

    def pull(self) -> Weights | None:
        """All weights, when every server lets this worker begin; None: there is no step left.

        The step is the least that any server waits for: after a death, one may have taken a push
        that another has not. Raises ServerError for a server that refuses or does not answer.
        """
        import torch

        while True:
            step = min(link.finished for link in self.links)
            parts = []
            for link in self.links:
                pulled = link.pull(step)
                if pulled is None:
                    return None
                parts.append(pulled)
            if all(part.step >= step for part in parts):  # no server has lost steps meanwhile
                flat = torch.cat([part.values for part in parts])
                held = sum(part.held for part in parts)
                return Weights(flat, step, tuple(part.version for part in parts), held)

    def push(
        self,
        weights: Weights,
        gradient: torch.Tensor,
        loss: float = float("nan"),
        samples: int = 0,
    ) -> bool:
        """Sends each server its part of the gradient [W] that was computed at these weights.

        Returns whether all have taken it: one that has come back from an older state may leave it
        out, and waits for an earlier step. Raises ServerError as `pull` does.
        """
        parts = gradient.tensor_split(len(self.links))
        for link, version, part in zip(self.links, weights.versions, parts, strict=True):
            link.push(weights.step, version, part, loss, samples)
        return all(link.finished > weights.step for link in self.links)

    def close(self) -> None:
        """Ends the connections."""
        for link in self.links:
            link.close()
