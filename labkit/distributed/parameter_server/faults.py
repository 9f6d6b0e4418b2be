"""Faults on purpose, at a count and never by a clock: the same ones happen in every run.

    fault = Fault("worker 1", after=40)                    # dies with its next gradient in hand
    outcome = run_with_fault(cluster, fault, Photographs(), Asynchronous(), 300, replay_seed=0)
    outcome.applied, outcome.surplus, outcome.lost         # counted in the servers' logs

A role counts what it does: a worker its finished steps, a server the gradients that it has taken.
At the fault's number it ends its own process with SIGKILL, which no program can catch, just as if
its machine had lost its power; or it does not answer. `run_with_fault` waits until that has
happened, brings the dead role back at its address, and counts. Lesson faults.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from labkit.distributed.parameter_server.checkpoint import save_checkpoint
from labkit.distributed.parameter_server.replication import Unanswered

if TYPE_CHECKING:
    import torch

    from labkit.distributed.parameter_server.rules import Rule
    from labkit.distributed.parameter_server.run import Run
    from labkit.distributed.parameter_server.shard import Shard
    from labkit.distributed.parameter_server.worker import Job

DEEDS = ("die", "lose the answer", "hang")


class Trained(Protocol):
    """What a fault needs of a training that goes on (training.py)."""

    acknowledged: int

    def until_dead(self, name: str) -> bool:
        """Waits until a role has died; False if the training ends before."""

    def finish(self) -> Run:
        """Waits for the end."""


class Cluster(Protocol):
    """What a fault needs of a cluster (processes/cluster.py, which imports this module)."""

    copies: tuple[str | None, ...]

    def begin(self, job: Job, rule: Rule, steps: int, **options: Any) -> Trained:
        """Lets all workers begin a training."""

    def restart(self, name: str) -> None:
        """Brings a dead role back."""

    def resume(self, saving: Saving) -> int:
        """Goes on from the checkpoints; how many gradients they have seen."""


@dataclass(frozen=True)
class Fault:
    """What befalls a role, once.

    role    "worker 1", "server 0" or "copy 0"
    after   steps that the worker has finished: it has computed its next gradient, and nobody has
            it; or gradients that the server has taken: the last of them is not acknowledged
    deed    "die"; for servers also "lose the answer", where the connection breaks between the
            update and its acknowledgement, and "hang", where nothing is answered any more

    Raises ValueError for what cannot be.
    """

    role: str
    after: int
    deed: Literal["die", "lose the answer", "hang"] = "die"

    def __post_init__(self) -> None:
        kind = self.role.partition(" ")[0]
        least = 0 if kind == "worker" else 1
        if isinstance(self.after, bool) or not isinstance(self.after, int) or self.after < least:
            raise ValueError(
                f"Fault: after is a whole number from {least} on for a {kind}, not {self.after!r}."
            )
        if self.deed not in DEEDS:
            raise ValueError(f"Fault: deed is one of {', '.join(DEEDS)}, not {self.deed!r}.")
        if kind == "worker" and self.deed != "die":
            raise ValueError(f"Fault: a worker can only die; {self.deed!r} is for servers.")


@dataclass(frozen=True)
class Saving:
    """Each server writes a checkpoint into this folder after every so many gradients."""

    folder: str
    every: int

    def path(self, name: str) -> Path:
        """The checkpoint of "server 0": server-0.safetensors."""
        return Path(self.folder) / f"{name.replace(' ', '-')}.safetensors"


@dataclass(frozen=True)
class Outcome:
    """What came of a training with a fault, as the log of the server concerned has it.

    run            the training, to its end
    applied        gradients that the server's weights have seen
    surplus        of those, how many had been applied before: 0 where each step counts once
    repeated       pushes that came again, whether they were applied again or not
    acknowledged   steps that workers were told are done; a worker's first life is not known
    restored       gradients in the checkpoint that a dead server came back with, else None
    lost           gradients that the server had taken, and that were not there when it or its copy
                   served again; after a checkpoint they are computed once more
    """

    run: Run
    applied: int
    surplus: int
    repeated: int
    acknowledged: int
    restored: int | None
    lost: int


def run_with_fault(
    cluster: Cluster,
    fault: Fault,
    job: Job,
    rule: Rule,
    steps: int,
    **options: Any,
) -> Outcome:
    """A training in which a fault happens; options are those of `Cluster.begin`.

    A worker that dies comes back with its number, and goes on at its step. A server that dies is
    replaced by its copy, where it has one; else all servers go back to their newest checkpoint,
    where `saving` has made one; else it stays dead.

    Raises LaunchError as `Cluster.train` does, so also for a server that stays dead: then all
    roles have ended. Raises ValueError where the training ends before the fault could happen.
    """
    training = cluster.begin(job, rule, steps, faults=(fault,), **options)
    restored = None
    if fault.deed == "die":
        if not training.until_dead(fault.role):
            training.finish()
            raise ValueError(
                f"The training of {steps} steps ended before {fault.role} came to {fault.after}: "
                "choose a smaller number."
            )
        restored = _recover(cluster, fault.role, options.get("saving"))
    run = training.finish()
    kind, _, number = fault.role.partition(" ")
    log = run.logs[0 if kind == "worker" else int(number)]
    distinct = len({(note.worker, note.step) for note in log})
    return Outcome(
        run=run,
        applied=len(log),
        surplus=len(log) - distinct,
        repeated=run.repeated,
        acknowledged=training.acknowledged,
        restored=restored,
        lost=max(training.acknowledged - distinct, 0)
        if restored is None
        else fault.after - restored,
    )


def after_push(
    name: str, saving: Saving | None, faults: Sequence[Fault]
) -> Callable[[Shard], None] | None:
    """What a server does after each push that it has taken: it saves, and suffers its faults."""
    own = {fault.after: fault.deed for fault in faults if fault.role == name}
    if not own and saving is None:
        return None
    taken = 0

    def after(shard: Shard) -> None:
        nonlocal taken
        taken += 1
        if saving is not None and sum(shard.finished) % saving.every == 0:
            save_checkpoint(saving.path(name), *shard.state())
        if taken in own:
            _inject(own[taken])

    return after


def with_faults(job: Job, name: str, faults: Sequence[Fault]) -> Job:
    """The worker's job, in which it dies where a fault says so."""
    for fault in faults:
        if fault.role == name:
            return _FailingJob(job, fault.after)
    return job


class _FailingJob:
    """A job whose process ends with a gradient that nobody has seen."""

    def __init__(self, job: Job, after: int) -> None:
        self.job, self.after = job, after

    def gradient(
        self, flat: torch.Tensor, worker: int, step: int, workers: int
    ) -> tuple[float, torch.Tensor, int]:
        """The job's own, and the end."""
        found = self.job.gradient(flat, worker, step, workers)
        if step >= self.after:
            _inject("die")
        return found


def _inject(deed: str) -> None:
    if deed == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "lose the answer":
        raise Unanswered
    threading.Event().wait()  # nobody will set it


def _recover(cluster: Cluster, role: str, saving: Saving | None) -> int | None:
    """A dead worker, or a dead server without a copy: the gradients in its checkpoint, if any."""
    kind, _, number = role.partition(" ")
    if kind == "worker":
        cluster.restart(role)
    elif kind == "server" and not cluster.copies[int(number)] and saving is not None:
        return cluster.resume(saving)
    return None
