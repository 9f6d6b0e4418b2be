"""What a server hands out, takes and notes: a pull's values, a push, and its line in the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Pulled:
    """What a worker begins a step with.

    version   updates that had been applied to the values
    step      the step that it is to make, counted from 0 on
    held      seconds for which the rule kept the worker waiting
    """

    values: torch.Tensor
    version: int
    step: int
    held: float = 0.0


@dataclass(frozen=True)
class Push:
    """A gradient that was accepted.

    pulled    version of the values that it was computed with
    lead      steps that its worker was ahead of the slowest one when it began
    loss      the worker's, over so many samples
    """

    worker: int
    step: int
    pulled: int
    lead: int
    loss: float
    samples: int
    gradient: torch.Tensor

    def fields(self) -> dict[str, Any]:
        """All but the gradient, for JSON."""
        fields = asdict(self)
        del fields["gradient"]
        return fields

    def noted(self, version: int, moment: float) -> Note:
        """Its line in the log, once it is in the update with this number."""
        before = version - 1
        return Note(
            self.worker,
            self.step,
            version,
            before - self.pulled,
            self.lead,
            self.loss,
            self.samples,
            moment,
        )


@dataclass(frozen=True)
class Note:
    """An applied gradient, in the order of application.

    version     updates that are applied with this one: the same for all gradients of one mean
    staleness   updates that were applied between the worker's pull and its push
    moment      seconds since the first pull

    The rest as in Push.
    """

    worker: int
    step: int
    version: int
    staleness: int
    lead: int
    loss: float
    samples: int
    moment: float
