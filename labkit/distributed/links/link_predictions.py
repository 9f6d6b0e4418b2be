"""What the trials on a link should take, from latency and bandwidth that pings gave.

    model = fitted(seconds)                              # the pings among them
    expected = predict_trials(model, ranks=2, given=Trials(), delayed=True)
    rows = compared(expected, seconds)                   # name, predicted, measured, error

No trial but the pings is used for the fit. Lesson a_cost_model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.gradients.overlap import predict as predict_overlap
from labkit.distributed.links.link_trials import Trials
from labkit.distributed.pipeline import predictions
from labkit.provenance import Quantity, measured, predicted

ACTIVATION = 64  # bytes of a token: 16 numbers of 4 bytes


@dataclass(frozen=True)
class Compared:
    """A trial's seconds, by formula and by the clock."""

    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """How far the measured is off the predicted, in percent of the predicted."""
        return 100 * (self.measured / self.predicted - 1)

    def cells(self, model: str, device: str) -> tuple[str, Quantity, Quantity, str]:
        """A table's row: the name, both seconds with what they come from, and the error."""
        by_formula = predicted(self.predicted, "s", model)
        by_the_clock = measured(self.measured, "s", device)
        return self.name, by_formula, by_the_clock, f"{self.error:+.1f} %"


def pings_of(seconds: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Bytes [P] of the pings among the trials, and their seconds [P]."""
    sizes, times = [], []
    for name, took in seconds.items():
        if name.startswith("ping "):
            sizes.append(float(name.removeprefix("ping ")))
            times.append(took)
    return np.array(sizes), np.array(times)


def fitted(seconds: Mapping[str, float]) -> CostModel:
    """Latency and bandwidth from the pings: the least squares of relative errors."""
    return CostModel.fit(zip(*pings_of(seconds), strict=True))


def star(model: CostModel, ranks: int, bytes: float) -> float:
    """2 (latency + (n - 1) S / bandwidth): through rank 0, where latencies pass together.

    On an emulated link a message occupies its cable for its latency as well, and the star takes
    `gather_all_reduce`'s 2 (n - 1) (latency + S / bandwidth). A relay holds segments on their
    way: the messages of all ranks are held at the same time. With two ranks it is the same.
    """
    return 2 * model.message((ranks - 1) * bytes)


def predict_trials(
    model: CostModel, ranks: int, given: Trials, delayed: bool = False
) -> dict[str, float]:
    """Seconds of each trial but the pings.

    delayed   whether the latency is on the way, as a relay's is, and not at the cable's end
    """
    expected: dict[str, float] = {}
    for size in given.sizes:
        through_rank_0 = model.predict("gather_all_reduce", ranks, size)
        expected[f"star {size}"] = star(model, ranks, size) if delayed else through_rank_0
        expected[f"ring {size}"] = model.predict("ring_all_reduce", ranks, size)
    if ranks == 2:
        work = given.work(model.latency, model.bandwidth)
        expected["overlap"] = predict_overlap(work, ranks, given.bucket).seconds
        expected["after"] = predict_overlap(work, ranks, None).seconds
    message = model.message(given.tokens * ACTIVATION)
    spans = predictions.predict(given.schedule(ranks), given.t_forward, given.t_backward, message)
    expected["pipeline"] = predictions.seconds_of(spans)
    return expected


def compared(expected: Mapping[str, float], seconds: Mapping[str, float]) -> list[Compared]:
    """The trials, in their order; ValueError where one was predicted and not run."""
    rows = []
    for name, by_formula in expected.items():
        if name not in seconds:
            raise ValueError(f"The trial {name!r} was predicted, and never ran.")
        rows.append(Compared(name, by_formula, seconds[name]))
    return rows
