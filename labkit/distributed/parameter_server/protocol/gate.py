"""Whose turn it is: who may begin a step, and in which order pulls and pushes are admitted.

    gate = Gate(Bounded(3), workers=4, limit=Limit(steps=400))
    with gate.changed:
        gate.enter(worker=0, patience=60)       # waits until worker 0 may begin a step
        gate.admit_push(0, step=0, patience=60)
        gate.leave(0, step=0)                   # the step is finished, and others may begin

All methods are for threads that hold `changed`; they give it away while they wait. While a request
of a worker waits, the worker may die and come back: then two of its requests wait, and the one that
comes second finds the step begun, or pushed. A turn of a replayed order is taken with the change
that it admits, in `_begin` and `leave`: where telling the copy fails before, it stands as it was.
Lesson parameter_servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.protocol.turns import Event, Turns
from labkit.distributed.parameter_server.rules import Rule
from labkit.errors import whole

GLANCE = 0.05  # seconds: a limit in seconds ends without anybody's notice


class Gate:
    """For so many workers.

    limit      how many steps are granted; None for any number
    order      events that fix in which order requests are admitted; None: as they come
    announce   called with each worker whose step is granted, before the worker hears of it

    finished, begun   steps that each worker has pushed, and that it was granted
    leads             steps that each was ahead of the slowest one when it began its last step
    changed           held and notified with every change
    """

    def __init__(
        self,
        rule: Rule,
        workers: int,
        limit: Limit | None = None,
        order: Sequence[Event] | None = None,
        announce: Callable[[int], None] | None = None,
    ) -> None:
        whole("Shard: workers", workers)
        self.rule, self.workers, self.limit, self.announce = rule, workers, limit, announce
        self.finished, self.begun, self.leads = [0] * workers, [0] * workers, [0] * workers
        self.changed = threading.Condition()
        self._turns = None if order is None else Turns(order, workers)
        self._first: float | None = None  # moment of the first pull

    def enter(self, worker: int, patience: float) -> bool:
        """Waits until the worker may begin a step, and notes it; False where none is left for it.

        One that has begun a step and not pushed it gets that step again, at once. Raises
        ServerError, with who is missing, where it may not begin within `patience` seconds.
        """
        self.elapsed()  # the clock starts
        if self._has_begun(worker):
            return True
        granted = (
            self._await_pull(worker, patience)
            if self._turns
            else self._await_rule(worker, patience)
        )
        if granted and not self._has_begun(worker):
            self._begin(worker)
        return granted

    def admit_push(self, worker: int, step: int, patience: float) -> bool:
        """Whether a push is new, once it is its turn; False where the step is finished already.

        Raises ServerError as `enter` does.
        """
        if self._turns and self.finished[worker] <= step:
            self._await_turn(worker, "push", patience, lambda: self.finished[worker] > step)
        return self.finished[worker] <= step

    def follow_begin(self, worker: int) -> None:
        """Notes a step that another gate has granted: this one is its copy."""
        self.elapsed()  # the clock starts
        if not self._has_begun(worker):
            self._begin(worker)

    def leave(self, worker: int, step: int) -> None:
        """The worker has finished this step."""
        if self.finished[worker] <= step:
            self._take_turn(worker, "push")
        self.finished[worker] = max(self.finished[worker], step + 1)
        self.begun[worker] = max(self.begun[worker], step + 1)
        self.changed.notify_all()

    def elapsed(self) -> float:
        """Seconds since this was asked first, at the first pull."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
        return now - self._first

    def state(self) -> dict[str, Any]:
        """What `load_state` needs, as JSON can hold it."""
        counts = {name: list(getattr(self, name)) for name in ("finished", "begun", "leads")}
        elapsed = self.elapsed() if self._first is not None else 0.0
        return {**counts, "elapsed": elapsed, "place": self._turns.place if self._turns else 0}

    def load_state(self, fields: dict[str, Any]) -> None:
        """Goes on from what `state` gave."""
        for name in ("finished", "begun", "leads"):
            setattr(self, name, list(fields[name]))
        self._first = time.monotonic() - fields["elapsed"]
        if self._turns:
            self._turns.go_to(fields["place"])
        self.changed.notify_all()

    def refuse_stranger(self, worker: object) -> None:
        """Raises ValueError for a worker that does not exist."""
        if isinstance(worker, bool) or not isinstance(worker, int):
            raise ValueError(f"A worker's number is a whole number, not {worker!r}.")
        if not 0 <= worker < self.workers:
            raise ValueError(
                f"There is no worker {worker}: this training has workers 0 to {self.workers - 1}."
            )

    @property
    def replays(self) -> bool:
        """Whether an order is given."""
        return self._turns is not None

    def _begin(self, worker: int) -> None:
        if self.announce:
            self.announce(worker)
        self._take_turn(worker, "pull")
        self.leads[worker] = self.finished[worker] - min(self.finished)
        self.begun[worker] += 1
        self.changed.notify_all()

    def _take_turn(self, worker: int, kind: str) -> None:
        if self._turns and self._turns.is_next(worker, kind):
            self._turns.take()

    def _has_begun(self, worker: int) -> bool:
        """Whether it has begun a step that it has not pushed."""
        return self.begun[worker] > self.finished[worker]

    def _is_over(self, worker: int) -> bool:
        """Whether no step is left for it; what one has begun that all make together, all begin."""
        if self.limit is None or (self.rule.together and self.begun[worker] < max(self.begun)):
            return False
        return not self.limit.grants(self.begun, self.elapsed())

    def _may_begin(self, worker: int) -> bool:
        return self.rule.may_begin(worker, self.finished)

    def _await_rule(self, worker: int, patience: float) -> bool:
        """Until the rule lets it begin; False where the training is over."""
        self._wait(
            lambda: self._has_begun(worker) or self._is_over(worker) or self._may_begin(worker),
            patience,
            lambda: (
                f"Worker {worker} has waited {patience:g} s to begin step {self.finished[worker]} "
                f"by the rule {self.rule}: {self._missing(worker)}."
            ),
        )
        return self._has_begun(worker) or not self._is_over(worker)

    def _await_pull(self, worker: int, patience: float) -> bool:
        """Until it is the turn of its pull in the order; False where it has none any more."""
        if not self._turns.has_pull(worker):
            return False
        self._await_turn(worker, "pull", patience, lambda: self._has_begun(worker))
        if self._has_begun(worker):
            return True
        if not self._may_begin(worker):
            raise ServerError(
                f"In the replayed order worker {worker} begins step {self.finished[worker]} "
                f"when the rule {self.rule} forbids it: {self._missing(worker)}."
            )
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
        """Whose gradients, of which step, keep a worker from beginning."""
        least = min(self.finished)
        late = [w for w, done in enumerate(self.finished) if done == least and w != worker]
        verb = "has" if len(late) == 1 else "have"
        names = " and ".join(f"worker {w}" for w in late)
        return f"{names} {verb} not pushed the gradient of step {least}"

    def _wait(
        self, ready: Callable[[], bool], patience: float, sentence: Callable[[], str]
    ) -> None:
        end = time.monotonic() + patience
        while not ready():
            left = end - time.monotonic()
            if left <= 0:
                raise ServerError(sentence())
            self.changed.wait(min(left, GLANCE))
