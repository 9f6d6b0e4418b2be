"""What came of a training on a cluster: every number from the servers' logs.

run = cluster.train(Photographs(), Bounded(3), steps=400, replay_seed=0)
run.losses, run.staleness           # one for each applied gradient, in the order of application
run.pushes, run.repeated            # how many were applied, and how many came again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from labkit.distributed.parameter_server.notes import Note

if TYPE_CHECKING:
    import torch

    from labkit.distributed.parameter_server.arrivals import Arrivals


@dataclass(frozen=True)
class Run:
    """A training that has ended; the lists have an entry for each applied gradient.

    losses      of the worker that computed it, before its step
    moments     when it was applied, in seconds: of virtual time where a seeded order was replayed,
                else since the first pull
    workers     who computed it, and steps, which of its steps it was
    staleness   updates between its worker's pull and its push
    leads       steps that its worker was ahead of the slowest one when it began
    samples     that the training has looked at with it, over all workers
    weights     at the end [W]
    pushes      applied gradients; updates of the weights are fewer where a mean was applied
    repeated    pushes that came again, over all servers
    logs        the notes of each server; the lists above are of the first one
    """

    losses: tuple[float, ...]
    moments: tuple[float, ...]
    workers: tuple[int, ...]
    steps: tuple[int, ...]
    staleness: tuple[int, ...]
    leads: tuple[int, ...]
    samples: tuple[int, ...]
    weights: torch.Tensor
    pushes: int
    updates: int
    repeated: int
    logs: tuple[tuple[Note, ...], ...]

    @property
    def seconds(self) -> float:
        """Until the last gradient was applied."""
        return self.moments[-1] if self.moments else 0.0


def run_of(
    logs: Sequence[tuple[list[Note], int, torch.Tensor]], arrivals: Arrivals | None = None
) -> Run:
    """A run from each server's notes, repeated pushes and values.

    arrivals   that were replayed, whose virtual moments then take the place of the clock's
    """
    import torch

    notes = logs[0][0]
    return Run(
        losses=tuple(note.loss for note in notes),
        moments=_virtual(notes, arrivals) if arrivals else tuple(note.moment for note in notes),
        workers=tuple(note.worker for note in notes),
        steps=tuple(note.step for note in notes),
        staleness=tuple(note.staleness for note in notes),
        leads=tuple(note.lead for note in notes),
        samples=tuple(accumulate(note.samples for note in notes)),
        weights=torch.cat([values for _, _, values in logs]),
        pushes=len(notes),
        updates=len({note.version for note in notes}),
        repeated=sum(repeated for _, repeated, _ in logs),
        logs=tuple(tuple(notes) for notes, _, _ in logs),
    )


def _virtual(notes: Sequence[Note], arrivals: Arrivals) -> tuple[float, ...]:
    """When each was applied in virtual time: with the last push of its update."""
    made: dict[int, int] = {}
    when = {}
    for event in arrivals.pushes:
        step = made.get(event.worker, 0)
        when[event.worker, step] = event.moment
        made[event.worker] = step + 1
    applied: dict[int, float] = {}
    for note in notes:
        moment = when[note.worker, note.step]
        applied[note.version] = max(applied.get(note.version, 0.0), moment)
    return tuple(applied[note.version] for note in notes)
