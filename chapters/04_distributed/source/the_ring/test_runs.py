"""Functions on ranks beside each other: results, bytes, and times that no test looks at."""

import pytest
import torch

from labkit.distributed import CostModel, LaunchError
from labkit.distributed.collectives import gather_all_reduce
from labkit_lessons.distributed.the_ring.runs import counted_run, measure_ways


def through_rank_0(rank, ranks, x):
    return gather_all_reduce(x)


def test_a_counted_run():
    inputs = torch.arange(12.0).reshape(3, 4)
    run = counted_run(through_rank_0, inputs)
    assert all(torch.equal(result, inputs.sum(0)) for result in run.results)
    assert run.sent == [2 * 16, 16, 16] and run.carried == [4 * 16, 2 * 16, 2 * 16]
    assert len(run.records) == 3 and len(run.messages) == 8  # four, as sent and as received
    assert run.seconds > 0


def as_it_is(rank, ranks, x):
    return x


@pytest.mark.parametrize("link", [None, CostModel(latency=1e-3, bandwidth=1e6)], ids=str)
def test_the_fastest_of_several_runs(link):
    ways = {"0": through_rank_0, "none": as_it_is}
    runs = measure_ways(ways, 2, bytes=4000, repeats=2, link=link)
    assert list(runs) == ["0", "none"]
    assert runs["0"].sent == [4000, 4000] and runs["0"].results == [None, None]
    if link:  # a sleep is never too short
        assert runs["0"].seconds >= link.predict("gather_all_reduce", 2, 4000) == 0.01


def test_a_way_that_raises():
    def wrong(rank, ranks, x):
        raise ValueError(f"rank {rank} has no way")

    with pytest.raises(LaunchError, match=r"rank \d has no way"):
        counted_run(wrong, torch.ones(2, 1))
