"""One server's part of the weights: who may pull it, and what a push does to it.

    shard = Shard(values, Bounded(3), workers=4, rate=0.1)
    pulled = shard.pull(worker=0)                  # waits until the rule lets worker 0 begin
    shard.push(0, pulled.step, pulled.version, gradient)

Plain gradient descent: w <- w - rate * gradient. A shard knows nothing of sockets: its server calls
it from one thread for each worker. Its notes are the only source of what a run counts. Lesson
parameter_servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.limits import Limit
from labkit.distributed.parameter_server.notes import Note, Pulled, Push
from labkit.distributed.parameter_server.rules import Rule
from labkit.distributed.parameter_server.turns import Event, Turns

if TYPE_CHECKING:
    import torch

PATIENCE = 60.0  # seconds for other workers to come, after which a pull is refused
GLANCE = 0.05  # seconds: a limit in seconds ends without anybody's notice


class Shard:
    """Values[N] with a rule for so many workers; its methods may be called from many threads.

    rate      the learning rate
    limit     how many steps are granted; None for any number
    order     events that fix in which order pulls and pushes are admitted; None: as they come
    once      whether a push that comes again is left out; else it is applied again
    forward   called with each Push before it is applied and acknowledged

    finished, begun   steps that each worker has pushed, and that it was granted
    repeated          pushes that came again
    notes             a Note for each applied gradient
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
    ) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"Shard: workers is a whole number from 1 on, not {workers!r}.")
        if rule.together and not once:
            raise ValueError(
                "Shard: with the synchronous rule each gradient counts once; once=False is for "
                "the others."
            )
        self.rule, self.rate, self.workers = rule, rate, workers
        self.limit, self.once, self.forward = limit, once, forward
        self.values = values.clone()
        self.version = 0
        self.finished, self.begun, self.leads = [0] * workers, [0] * workers, [0] * workers
        self.repeated = 0
        self.notes: list[Note] = []
        self._kept: dict[int, Push] = {}  # of a step that not all workers have pushed yet
        self._turns = None if order is None else Turns(order, workers)
        self._first: float | None = None  # moment of the first pull
        self._changed = threading.Condition()

    def pull(
        self, worker: int, patience: float = PATIENCE, step: int | None = None
    ) -> Pulled | None:
        """The values for the worker's next step, once the rule lets it begin; None: no step left.

        step   where the worker repeats one that this shard has already: it gets values, no step

        A worker that has begun a step and not pushed it, since it died, gets that step again.
        Raises ValueError for a worker that does not exist, and ServerError, with who is missing,
        where it may not begin within `patience` seconds.
        """
        self._refuse_stranger(worker)
        with self._changed:
            asked = time.monotonic()
            repeats = step is not None and step < self.finished[worker]
            if not repeats and not self._has_begun(worker):
                if not self._granted(worker, patience):
                    return None
                self._begin(worker)
            held = time.monotonic() - asked
            return Pulled(self.values.clone(), self.version, self.finished[worker], held)

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
        not exist or a gradient of another shape, and ServerError as `pull`.
        """
        self._refuse_stranger(worker)
        self._refuse_shape(gradient)
        with self._changed:
            if step >= self.begun[worker] or version > self.version:
                return self.finished[worker]
            again = step < self.finished[worker]
            if self._turns and not again:
                again = not self._push_admitted(worker, step, patience)
            self.repeated += again
            if not again or not self.once:
                lead = self.leads[worker]
                self._take(Push(worker, step, version, lead, loss, samples, gradient))
            return self.finished[worker]

    def finished_by(self, worker: int) -> int:
        """Steps that a worker has finished; raises ValueError for one that does not exist."""
        self._refuse_stranger(worker)
        return self.finished[worker]

    def log(self) -> tuple[list[Note], int, torch.Tensor]:
        """The notes so far, how many pushes came again, and the values: all of one moment."""
        with self._changed:
            return list(self.notes), self.repeated, self.values.clone()

    def follow(self, push: Push) -> None:
        """Takes what another shard has accepted, as its copy."""
        with self._changed:
            if push.step == self.finished[push.worker]:
                self.begun[push.worker] = push.step + 1
                self._take(push)

    def state(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """Everything that `load_state` needs, as fields for JSON and as tensors."""
        with self._changed:
            fields: dict[str, Any] = {
                name: getattr(self, name) for name in ("version", "repeated", "workers")
            }
            fields |= {name: list(getattr(self, name)) for name in ("finished", "begun", "leads")}
            fields["notes"] = [astuple(note) for note in self.notes]
            fields["kept"] = [push.fields() for push in self._kept.values()]
            tensors = {f"gradient of {w}": push.gradient for w, push in self._kept.items()}
            return fields, {**tensors, "values": self.values.clone()}

    def load_state(self, fields: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        """Goes on from what `state` gave; raises ValueError where it is another shard's."""
        if tensors["values"].shape != self.values.shape or fields["workers"] != self.workers:
            raise ValueError(
                f"The state is of {tensors['values'].numel()} weights and {fields['workers']} "
                f"workers; this server has {self.values.numel()} and {self.workers}."
            )
        with self._changed:
            self.values = tensors["values"].clone()
            for name in ("version", "repeated", "finished", "begun", "leads"):
                setattr(self, name, fields[name])
            self.notes = [Note(*note) for note in fields["notes"]]
            kept = [
                Push(**f, gradient=tensors[f"gradient of {f['worker']}"]) for f in fields["kept"]
            ]
            self._kept = {push.worker: push for push in kept}
            last = self.notes[-1].moment if self.notes else 0.0
            self._first = time.monotonic() - last
            self._changed.notify_all()

    def _has_begun(self, worker: int) -> bool:
        """Whether it has begun a step that it has not pushed."""
        return self.begun[worker] > self.finished[worker]

    def _begin(self, worker: int) -> None:
        if not self._has_begun(worker):
            self.leads[worker] = self.finished[worker] - min(self.finished)
            self.begun[worker] += 1
            self._changed.notify_all()

    def _granted(self, worker: int, patience: float) -> bool:
        """Waits until the worker may begin; False where there is no step left for it.

        While a request of a worker waits, the worker may die and come back: then two of its
        requests wait, and the one that comes second finds the step begun.
        """
        if self._turns:
            return self._turns.has_pull(worker) and self._pull_admitted(worker, patience)
        self._wait(
            lambda: (
                self._has_begun(worker)
                or self._is_over()
                or self.rule.may_begin(worker, self.finished)
            ),
            patience,
            lambda: (
                f"Worker {worker} has waited {patience:g} s to begin step {self.finished[worker]} "
                f"by the rule {self.rule}: {self._missing(worker)}."
            ),
        )
        return self._has_begun(worker) or not self._is_over()

    def _is_over(self) -> bool:
        return self.limit is not None and not self.limit.grants(self.begun, self._elapsed())

    def _pull_admitted(self, worker: int, patience: float) -> bool:
        """Waits for the turn of the worker's pull."""
        self._await_turn(worker, "pull", patience, lambda: self._has_begun(worker))
        if self._has_begun(worker):
            return True
        if not self.rule.may_begin(worker, self.finished):
            raise ServerError(
                f"In the replayed order worker {worker} begins step {self.finished[worker]} "
                f"when the rule {self.rule} forbids it: {self._missing(worker)}."
            )
        self._turns.take()
        return True

    def _push_admitted(self, worker: int, step: int, patience: float) -> bool:
        """Waits for the turn of the worker's push; False where the same push came before it."""
        self._await_turn(worker, "push", patience, lambda: self.finished[worker] > step)
        if self.finished[worker] > step:
            return False
        self._turns.take()
        return True

    def _await_turn(
        self, worker: int, kind: str, patience: float, needless: Callable[[], bool]
    ) -> None:
        self._wait(
            lambda: needless() or self._turns.is_next(worker, kind),
            patience,
            lambda: (
                f"Worker {worker}'s {kind} has waited {patience:g} s for its turn in the replayed "
                f"order: {self._turns.missing()}."
            ),
        )

    def _missing(self, worker: int) -> str:
        """Whose gradients, of which steps, keep a worker from beginning."""
        least = min(self.finished)
        late = [w for w, done in enumerate(self.finished) if done == least and w != worker]
        verb = "has" if len(late) == 1 else "have"
        names = " and ".join(f"worker {w}" for w in late)
        return f"{names} {verb} not pushed the gradient of step {least}"

    def _wait(self, ready: Callable[[], Any], patience: float, sentence: Callable[[], str]) -> None:
        end = time.monotonic() + patience
        while not ready():
            left = end - time.monotonic()
            if left <= 0:
                raise ServerError(sentence())
            self._changed.wait(min(left, GLANCE))

    def _take(self, push: Push) -> None:
        """Applies a push, or keeps it until those of all workers are there."""
        if self.forward:
            self.forward(push)
        self.finished[push.worker] = max(self.finished[push.worker], push.step + 1)
        if not self.rule.together:
            self._apply([push])
        else:
            self._kept[push.worker] = push
            if len(self._kept) == self.workers:
                self._apply([self._kept[worker] for worker in range(self.workers)])
                self._kept.clear()
        self._changed.notify_all()

    def _apply(self, pushes: list[Push]) -> None:
        """One update with the mean of these gradients, and a note for each of them."""
        gradient = sum(push.gradient for push in pushes) / len(pushes)
        self.values.add_(gradient, alpha=-self.rate)
        before = self.version
        self.version += 1
        moment = self._elapsed()
        for push in pushes:
            staleness = before - push.pulled
            self.notes.append(
                Note(
                    push.worker,
                    push.step,
                    self.version,
                    staleness,
                    push.lead,
                    push.loss,
                    push.samples,
                    moment,
                )
            )

    def _elapsed(self) -> float:
        """Seconds since this was asked first, at the first pull."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
        return now - self._first

    def _refuse_stranger(self, worker: int) -> None:
        if isinstance(worker, bool) or not isinstance(worker, int):
            raise ValueError(f"A worker's number is a whole number, not {worker!r}.")
        if not 0 <= worker < self.workers:
            raise ValueError(
                f"There is no worker {worker}: this training has workers 0 to {self.workers - 1}."
            )

    def _refuse_shape(self, gradient: torch.Tensor) -> None:
        if gradient.shape != self.values.shape or gradient.dtype != self.values.dtype:
            raise ValueError(
                f"A gradient of shape {list(gradient.shape)} and {gradient.dtype} was pushed; "
                f"this server's weights are {list(self.values.shape)}, {self.values.dtype}."
            )
