"""One server's part of the weights: who may pull it, and what a push does to it.

    shard = Shard(values, Bounded(3), workers=4, rate=0.1)
    pulled = shard.pull(worker=0)                  # waits until the rule lets worker 0 begin
    shard.push(0, pulled.step, pulled.version, gradient)

Plain gradient descent: w <- w - rate * gradient. A shard knows nothing of sockets: its server calls
it from one thread for each worker. Its notes are the only source of what a run counts. Lesson
parameter_servers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from labkit.distributed.parameter_server.notes import Note, Pulled, Push
from labkit.distributed.parameter_server.protocol.gate import Gate
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.protocol.turns import Event
from labkit.distributed.parameter_server.rules import Rule

if TYPE_CHECKING:
    import torch

PATIENCE = 60.0  # seconds for other workers to come, after which a pull is refused


class Shard:
    """Values[N] with a rule for so many workers; its methods may be called from many threads.

    rate      the learning rate
    limit     how many steps are granted; None for any number
    order     events that fix in which order pulls and pushes are admitted; None: as they come
    once      whether a push that comes again is left out; else it is applied again
    forward   called with each Push before it is applied and acknowledged
    announce  called with each worker whose step is granted, before the worker hears of it
    after     called with this shard after each push that it has taken, before the acknowledgement

    These three are called while no other thread can change the shard, so that the copy hears of all
    in the order in which it happens here, and a checkpoint is on the disk before the next push is
    taken. Meanwhile all others wait: the copy's answer has a time limit (replication.py); a disk
    that hangs has none here, and then it is the workers whose time is over.

    A shard whose `follow` and `follow_begin` are another one's forward and announce is its copy.

    version    updates that were applied
    repeated   pushes that came again
    notes      a Note for each applied gradient
    """

    def __init__(
        self,
        values: torch.Tensor,
        rule: Rule,
        workers: int,
        rate: float,
        *,
        limit: Limit | None = None,
        order: Sequence[Event] | None = None,
        once: bool = True,
        forward: Callable[[Push], None] | None = None,
        announce: Callable[[int], None] | None = None,
        after: Callable[[Shard], None] | None = None,
    ) -> None:
        if rule.together and not once:
            raise ValueError(
                "Shard: with the synchronous rule each gradient counts once; once=False is for "
                "the others."
            )
        self.rule, self.rate, self.once = rule, rate, once
        self.forward, self.after = forward, after
        self.values = values.clone()
        self.version = 0
        self.repeated = 0
        self.notes: list[Note] = []
        self._gate = Gate(rule, workers, limit, order, announce)
        self._begun_with: dict[int, Pulled] = {}  # what each worker got for its last step
        self._kept: dict[int, Push] = {}  # of a step that not all workers have pushed yet

    @property
    def workers(self) -> int:
        """How many take part."""
        return self._gate.workers

    @property
    def finished(self) -> list[int]:
        """Steps that each worker has pushed."""
        return list(self._gate.finished)

    def pull(
        self, worker: int, patience: float = PATIENCE, step: int | None = None
    ) -> Pulled | None:
        """The values for the worker's next step, once the rule lets it begin; None: no step left.

        step   where the worker repeats one that this shard has already: it gets values, no step

        A worker that has begun a step and not pushed it, since it died, gets that step again: with
        the newest values, or in a replay and by the synchronous rule with those that it got before.
        Raises ValueError for a worker that does not exist, and ServerError, with who is missing,
        where it may not begin within `patience` seconds.
        """
        gate = self._gate
        gate.refuse_stranger(worker)
        with gate.changed:
            asked = time.monotonic()
            repeats = step is not None and step < gate.finished[worker]
            if not repeats and not gate.enter(worker, patience):
                return None
            held = time.monotonic() - asked
            found = self._pulled(worker)
            return Pulled(found.values, found.version, gate.finished[worker], held)

    def push(
        self,
        worker: int,
        step: int,
        version: int,
        gradient: torch.Tensor,
        loss: float = float("nan"),
        samples: int = 0,
        patience: float = PATIENCE,
    ) -> int:
        """Takes the gradient of a step; returns how many steps this worker has finished.

        version   of the values that it was computed with

        A step that the worker has finished already is counted as repeated. What it has not begun
        here is left out: this server has come back from an older state, and the number that is
        returned tells the worker from where on to go. Raises ValueError for a worker that does
        not exist and for a gradient of another shape, or with NaN or infinity in it, and
        ServerError as `pull`.
        """
        gate = self._gate
        gate.refuse_stranger(worker)
        self._refuse_gradient(worker, step, gradient)
        with gate.changed:
            if step < gate.begun[worker] and version <= self.version:
                again = not gate.admit_push(worker, step, patience)
                self.repeated += again
                if not again or not self.once:
                    lead = gate.leads[worker]
                    self._take(Push(worker, step, version, lead, loss, samples, gradient))
            return gate.finished[worker]

    def follow(self, push: Push) -> None:
        """Takes what another shard has accepted, as its copy; raises ValueError as `push` does."""
        self._gate.refuse_stranger(push.worker)
        self._refuse_gradient(push.worker, push.step, push.gradient)
        with self._gate.changed:
            if push.step == self._gate.finished[push.worker]:
                self._take(push)

    def follow_begin(self, worker: int) -> None:
        """Notes a step that another shard grants, as its copy; raises ValueError as `push` does."""
        self._gate.refuse_stranger(worker)
        with self._gate.changed:
            self._gate.follow_begin(worker)
            self._pulled(worker)

    def finished_by(self, worker: int) -> int:
        """Steps that a worker has finished; raises ValueError for one that does not exist."""
        self._gate.refuse_stranger(worker)
        return self._gate.finished[worker]

    def log(self) -> tuple[list[Note], int, torch.Tensor]:
        """The notes so far, how many pushes came again, and the values: all of one moment."""
        with self._gate.changed:
            return list(self.notes), self.repeated, self.values.clone()

    def state(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """Everything that `load_state` needs, as fields for JSON and as tensors."""
        with self._gate.changed:
            fields = {"version": self.version, "repeated": self.repeated, "workers": self.workers}
            fields |= self._gate.state()
            fields["notes"] = [astuple(note) for note in self.notes]
            fields["kept"] = [push.fields() for push in self._kept.values()]
            fields["begun with"] = {w: [p.version, p.step] for w, p in self._begun_with.items()}
            tensors = {f"gradient of {w}": push.gradient for w, push in self._kept.items()}
            tensors |= {f"values of {w}": pulled.values for w, pulled in self._begun_with.items()}
            return fields, {**tensors, "values": self.values.clone()}

    def load_state(self, fields: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        """Goes on from what `state` gave; raises ValueError where it is another shard's."""
        values = tensors["values"]
        if values.shape != self.values.shape or fields["workers"] != self.workers:
            raise ValueError(
                f"The state is of {values.numel()} weights and {fields['workers']} workers; this "
                f"server has {self.values.numel()} and {self.workers}."
            )
        kept = [Push(**one, gradient=_gradient(one, tensors)) for one in fields["kept"]]
        begun_with = {int(worker): versions for worker, versions in fields["begun with"].items()}
        with self._gate.changed:
            self.values = values.clone()
            self._begun_with = {
                w: Pulled(tensors[f"values of {w}"], *v) for w, v in begun_with.items()
            }
            self.version, self.repeated = fields["version"], fields["repeated"]
            self.notes = [Note(*note) for note in fields["notes"]]
            self._kept = {push.worker: push for push in kept}
            self._gate.load_state(fields)

    def _take(self, push: Push) -> None:
        """Applies a push, or keeps it until those of all workers are there; or nothing is changed.

        Raises ValueError where the weights would not be finite any more.
        """
        kept, due = self._with(push)
        values = self._after(due or list(kept.values()))  # a kept one that is too large, too
        if self.forward:
            self.forward(push)
        self._gate.leave(push.worker, push.step)
        self._kept = kept
        if due:
            self.values = values
            self.version += 1
            moment = self._gate.elapsed()
            self.notes += [push.noted(self.version, moment) for push in due]
        if self.after:
            self.after(self)

    def _with(self, push: Push) -> tuple[dict[int, Push], list[Push]]:
        """What is kept after this push, and what is applied: of a step of all, all or nothing."""
        if not self.rule.together:
            return {}, [push]
        kept = {**self._kept, push.worker: push}
        if len(kept) < self.workers:
            return kept, []
        return {}, [kept[worker] for worker in range(self.workers)]

    def _after(self, pushes: list[Push]) -> torch.Tensor:
        """The values after one update with the mean of these gradients."""
        gradient = sum(push.gradient for push in pushes) / len(pushes)
        values = self.values.add(gradient, alpha=-self.rate)
        if not values.isfinite().all():
            workers = " and ".join(str(push.worker) for push in pushes)
            raise ValueError(
                f"The update of step {pushes[-1].step} by worker {workers} would make weights "
                "infinite, and was not applied. Has the loss grown, at too high a rate?"
            )
        return values

    def _pulled(self, worker: int) -> Pulled:
        """The values for the step that the worker has begun.

        In a replay and by the synchronous rule they are the same however often they are asked for:
        a worker that died computes its gradient again, bit by bit.
        """
        step = self._gate.begun[worker] - 1
        before = self._begun_with.get(worker)
        if before is not None and before.step == step:
            return before
        pulled = Pulled(self.values.clone(), self.version, step)
        if self._gate.replays or self.rule.together:
            self._begun_with[worker] = pulled
        return pulled

    def _refuse_gradient(self, worker: int, step: int, gradient: torch.Tensor) -> None:
        if gradient.shape != self.values.shape or gradient.dtype != self.values.dtype:
            raise ValueError(
                f"A gradient of shape {list(gradient.shape)} and {gradient.dtype} was pushed; "
                f"this server's weights are {list(self.values.shape)}, {self.values.dtype}."
            )
        if not gradient.isfinite().all():
            raise ValueError(
                f"Worker {worker}'s gradient of step {step} holds NaN or infinity, and was not "
                "applied: all weights would become so. Has the loss grown, at too high a rate?"
            )


def _gradient(push: dict[str, Any], tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    return tensors[f"gradient of {push['worker']}"]
