"""A pipeline's step beside the formula (m + p - 1) (t_F + t_B): `make bench`.

    python benchmarks/pipeline.py

Compute is emulated: a stage sleeps. Both sides of a ratio are measured in the same run, in turn: a
step of p stages, and one of a single stage, from which t_F + t_B is taken. All ratios are goals.
"""

import statistics
from collections.abc import Iterator

from table import Row, report

from labkit.distributed import launch
from labkit.distributed.pipeline.emulated import Emulated, take_turns
from labkit.distributed.pipeline.predictions import seconds_of
from labkit.distributed.pipeline.schedules import Schedule, forward_only, gpipe, one_f_one_b
from labkit.provenance import Quantity, measured

FORWARD, BACKWARD = 0.02, 0.04  # seconds of one micro-batch in one stage
SIZES = ((2, 4), (2, 8), (4, 4), (4, 8))  # p stages, m micro-batches
ERROR = 10  # % of the formula: a goal
TIMES = 5
EMULATED = "compute emulated by sleep"
ENOUGH = 600.0  # seconds


def rows() -> Iterator[Row]:
    for stages, micro_batches in SIZES:
        yield from of_steps(stages, micro_batches)
    yield from of_requests(stages=4, requests=16)


def of_steps(stages: int, micro_batches: int) -> Iterator[Row]:
    """Both schedules beside the formula, and beside each other."""
    ways = {
        "GPipe": Emulated(gpipe(stages, micro_batches), FORWARD, BACKWARD),
        "1F1B": Emulated(one_f_one_b(stages, micro_batches), FORWARD, BACKWARD),
        "one stage": Emulated(gpipe(1, micro_batches), FORWARD, BACKWARD),
    }
    taken = medians(ways, stages)
    piece = taken["one stage"] / micro_batches  # t_F + t_B
    for name in ("GPipe", "1F1B"):
        what = f"emulated step by {name}, p = {stages}, m = {micro_batches}"
        yield Row(what, of_seconds(taken[name]))
        expected = (micro_batches + stages - 1) * piece
        error = 100 * abs(taken[name] / expected - 1)
        yield Row("  off (m + p - 1) (t_F + t_B) by", measured(error, "%", EMULATED), goal=ERROR)
    beside = measured(taken["1F1B"] / taken["GPipe"], "times", EMULATED)
    yield Row("  1F1B beside GPipe", beside, goal=1.05)


def of_requests(stages: int, requests: int) -> Iterator[Row]:
    """Inference: the rate of requests, and the time of one, of p stages beside one rank."""
    ways = {
        "pipeline": Emulated(forward_only(stages, requests), FORWARD),
        "one rank": Emulated(forward_only(1, requests), stages * FORWARD),
    }
    taken = medians(ways, stages)
    rate = taken["one rank"] / taken["pipeline"]
    expected = stages * requests / (requests + stages - 1)
    error = 100 * abs(rate / expected - 1)
    yield Row(f"emulated requests per second, p = {stages}, beside one rank", of_times(rate))
    yield Row("  off p m / (m + p - 1) by", measured(error, "%", EMULATED), goal=ERROR)
    alone = {
        "pipeline": Emulated(forward_only(stages, 1), FORWARD),
        "one rank": Emulated(forward_only(1, 1), stages * FORWARD),
    }
    taken = medians(alone, stages)
    beside = taken["pipeline"] / taken["one rank"]
    yield Row("  time of a request that comes alone, beside one rank", of_times(beside))


def medians(ways: dict[str, Emulated], ranks: int) -> dict[str, float]:
    """The median over TIMES steps of each way, in turn; every step did what its schedule says."""
    by_rank = launch(take_turns, ranks, ways, TIMES, timeout=ENOUGH)
    found = {}
    for name, (schedule, _, _) in ways.items():
        steps = []
        for turn in range(TIMES):
            spans = [by_rank[stage][name][turn] for stage in range(schedule.stages)]
            refuse_other_work(schedule, spans)
            steps.append(seconds_of(spans))
        found[name] = statistics.median(steps)
    return found


def refuse_other_work(schedule: Schedule, spans: list) -> None:
    """Raises AssertionError where a stage left something out."""
    for order, row in zip(schedule.orders, spans, strict=True):
        if [span.work for span in row] != list(order):
            raise AssertionError(f"{schedule.name}: a stage did not do what its order says.")


def of_seconds(value: float) -> Quantity:
    return measured(value, "s", EMULATED)


def of_times(value: float) -> Quantity:
    return measured(value, "times", EMULATED)


if __name__ == "__main__":
    raise SystemExit(report("pipeline", rows()))
