"""The cost model against the collectives themselves, run on emulated links in virtual time."""

import threading

import numpy as np
import pytest

from labkit.distributed import collectives, network
from labkit.distributed.costs import cost_model
from labkit.distributed.costs.cost_model import COLLECTIVES, CostModel
from tests.distributed.threads import in_threads


class Clock:
    """In place of `time`: each thread has its own clock, on which nothing but sleep takes time."""

    def __init__(self):
        self.own = threading.local()

    def monotonic(self):
        return getattr(self.own, "now", 0.0)

    def sleep(self, seconds):
        self.own.now = self.monotonic() + seconds


def run(name, ranks, size, model):
    """The last rank's end, in virtual seconds, and every rank's result."""
    import torch

    clock = Clock()

    def link(threads):
        return network.EmulatedLink(threads, model.latency, model.bandwidth)

    def one(rank):
        x = torch.arange(size, dtype=torch.float64) * (rank + 1)
        result = getattr(collectives, name)(x)
        return clock.monotonic(), result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "time", clock)
        found = in_threads(ranks, one, link)
    return max(end for end, _ in found), [result for _, result in found]


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_formula_is_what_the_collective_takes(name, ranks):
    """Chunks are all of one size here; 840 numbers are divided by every number of ranks."""
    for model in (CostModel(1e-3, 1e6), CostModel(0.1, 1e9), CostModel(0.0, 1e3)):
        taken, results = run(name, ranks, 840, model)
        bytes = 840 * 8
        assert taken == pytest.approx(model.predict(name, ranks, bytes), rel=1e-9, abs=1e-12)
    if name.endswith("all_reduce"):
        total = np.arange(840) * sum(range(1, ranks + 1))
        assert all(np.array_equal(result, total) for result in results)


def test_by_hand():
    """4 ranks, 8 MB, a millisecond and 1 MB/ms: whole milliseconds, written out."""
    model = CostModel(1e-3, 1e9)
    taken = {name: 1e3 * model.predict(name, 4, 8e6) for name in COLLECTIVES}
    assert taken == pytest.approx(
        {
            "gather_all_reduce": 6 * 9,
            "tree_all_reduce": 4 * 9,
            "ring_all_reduce": 6 * 3,
            "halving_all_reduce": 4 + 12,
            "broadcast": 2 * 9,
            "reduce": 2 * 9,
            "reduce_scatter": 3 * 3,
            "all_gather": 3 * 9,
        }
    )


def test_a_fit_finds_what_made_the_times():
    sizes = np.array([1, 1e3, 1e5, 1e6, 1e8])
    model = CostModel.fit(zip(sizes, 2e-4 + sizes / 3e8, strict=True))
    assert model.latency == pytest.approx(2e-4) and model.bandwidth == pytest.approx(3e8)


def test_a_fit_has_the_least_squares_of_relative_errors():
    rng = np.random.default_rng(1)
    sizes = 10.0 ** rng.uniform(0, 8, 40)
    seconds = (2e-4 + sizes / 3e8) * rng.uniform(0.7, 1.3, 40)

    def squares(latency, per_byte):
        return (((latency + sizes * per_byte) / seconds - 1) ** 2).sum()

    model = CostModel.fit(zip(sizes, seconds, strict=True))
    least = squares(model.latency, 1 / model.bandwidth)
    for a, b in rng.uniform(0.9, 1.1, (200, 2)):
        assert squares(a * model.latency, b / model.bandwidth) >= least
    assert model.latency == pytest.approx(2e-4, rel=0.3)


def test_a_latency_below_zero_becomes_zero():
    model = CostModel.fit([(1, 1e-9), (10, 20e-9), (100, 300e-9)])
    assert model.latency == 0.0 and 1e-9 < 1 / model.bandwidth < 3e-9


@pytest.mark.parametrize(
    ("pings", "told"),
    [
        ([], "two sizes or more"),
        ([(8, 1.0)], "two sizes or more"),
        ([(8, 1.0), (8, 2.0)], "two sizes or more"),
        ([(8, 1.0), (9, 0.0)], "seconds above 0"),
        ([(8, 1.0), (9, float("nan"))], "seconds above 0"),
        ([(8, 1.0), (9, float("inf"))], "seconds above 0"),
        ([(8, 1.0), (float("nan"), 2.0)], "bytes from 0 on"),
        ([(8, 1.0), (-9, 2.0)], "bytes from 0 on"),
        ([(8, 2.0), (800, 1.0)], "took no longer"),
    ],
)
def test_pings_that_fit_nothing(pings, told):
    with pytest.raises(ValueError, match=told):
        CostModel.fit(pings)


def test_what_cannot_be_predicted():
    model = CostModel(1e-3, 1e9)
    with pytest.raises(ValueError, match="No cost of 'ring'"):
        model.predict("ring", 4, 8)
    nan = float("nan")
    for ranks, bytes in [(0, 8), (2.5, 8), (2, -1), (nan, 8), (2, nan), ("2", 8), (2, "8")]:
        with pytest.raises(ValueError, match="whole number from 1 on"):
            model.predict("broadcast", ranks, bytes)


@pytest.mark.parametrize("latency", [-1e-3, float("nan"), float("inf"), "1", True])
def test_a_latency_that_is_none(latency):
    with pytest.raises(ValueError, match="latency is 0 seconds or more"):
        CostModel(latency, 1e9)


@pytest.mark.parametrize("bandwidth", [0, -1.0, float("nan"), "1", None])
def test_a_bandwidth_that_is_none(bandwidth):
    with pytest.raises(ValueError, match="bandwidth is above 0"):
        CostModel(1e-3, bandwidth)


def test_every_name_is_a_collective():
    for name in COLLECTIVES:
        assert callable(getattr(collectives, name))
        assert COLLECTIVES[name].__doc__ and cost_model.COLLECTIVES[name]
