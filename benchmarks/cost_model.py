"""The cost model beside links and beside published results: `make bench`.

    python benchmarks/cost_model.py

Latency and bandwidth come from pings on the very link; star, ring, a step with overlap and a
pipeline are predicted from them and then run, on hosts with shaped cables and relays where this
machine allows hosts, and on links emulated in process everywhere. Compute is emulated. The loopback
is reported without a goal. Then all published results that were not used to fit, none left out.
Exit code 1 where a goal is missed: so run it on an idle machine. Three minutes.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from table import Row, report

from labkit.distributed import launch
from labkit.distributed.costs.published_scaling import published_results
from labkit.distributed.links import switched_hosts
from labkit.distributed.links.link_predictions import compared, fitted, predict_trials
from labkit.distributed.links.link_trials import Trials, on_an_emulated_link, on_the_loopback
from labkit.distributed.links.trials_on_hosts import on_hosts
from labkit.provenance import Quantity, measured, predicted

GIVEN = Trials()
ENOUGH = 600.0  # seconds
# Percent of the prediction, by the first word of a trial and the number of ranks.
GOALS = {
    ("star", 2): 12,
    ("star", 4): 12,
    ("ring", 2): 12,
    ("ring", 4): 20,
    ("overlap", 2): 15,
    ("pipeline", 2): 10,
    ("pipeline", 4): 10,
}


@dataclass(frozen=True)
class Goal(Row):
    """A row whose goal decides the exit code: the errors of predictions are what this is about."""

    @property
    def ok(self) -> bool:
        return self.goal is None or float(self.quantity) <= self.goal


def rows() -> Iterator[Row]:
    if lack := switched_hosts.missing():
        print(lack, file=sys.stderr)
    else:
        for ranks in (2, 4):
            yield from of_link("shaped and relayed", ranks, on_hosts(ranks, GIVEN), delayed=True)
    for ranks in (2, 4):
        seconds = launch(on_an_emulated_link, ranks, GIVEN, timeout=ENOUGH)[0]
        yield from of_link("emulated in process", ranks, seconds, delayed=False)
    seconds = launch(on_the_loopback, 2, GIVEN, timeout=ENOUGH)[0]
    yield from of_link("loopback", 2, seconds, delayed=True)
    yield from of_published()


def of_link(kind: str, ranks: int, seconds: dict[str, float], delayed: bool) -> Iterator[Row]:
    """The fit, and how far each trial is off."""
    model = fitted(seconds)
    yield Row(f"{kind}, {ranks} ranks: latency from pings", measured(model.latency, "s", kind))
    bandwidth = measured(model.bandwidth, "B/s", kind)
    yield Row(f"{kind}, {ranks} ranks: bandwidth from pings", bandwidth)
    for row in compared(predict_trials(model, ranks, GIVEN, delayed), seconds):
        goal = GOALS.get((row.name.split()[0], ranks)) if kind != "loopback" else None
        off = measured(abs(row.error), "%", kind)
        yield Goal(f"  {row.name}, off its prediction by", off, goal=goal)


def of_published() -> Iterator[Row]:
    """Every published result, also those that efficiencies were fitted to."""
    for result in published_results():
        what = "fitted to" if result.fitted else "predicted, off by"
        error: Quantity = predicted(abs(result.error()), "%", "the step model")
        yield Row(f"{result.name}: {what}", error)


if __name__ == "__main__":
    raise SystemExit(report("cost_model", rows()))
