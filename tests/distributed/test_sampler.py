"""The sharded sampler against PyTorch's own, index for index."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DistributedSampler

from labkit.distributed.sampler import ShardedSampler

SIZES = st.integers(0, 40)
RANKS = st.integers(1, 9)


@given(SIZES, RANKS, st.booleans(), st.booleans(), st.integers(0, 99), st.integers(0, 9))
@settings(max_examples=300, deadline=None)
def test_the_indices_are_those_of_distributed_sampler(size, ranks, shuffle, drop, seed, epoch):
    for rank in range(ranks):
        ours = ShardedSampler(size, rank, ranks, shuffle, seed, drop)
        theirs = DistributedSampler(range(size), ranks, rank, shuffle, seed, drop)
        ours.set_epoch(epoch)
        theirs.set_epoch(epoch)
        assert list(ours) == list(theirs)
        assert len(ours) == len(list(ours)) == len(theirs)


@given(SIZES, RANKS, st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_shards_share_nothing_but_what_is_repeated(size, ranks, seed):
    shards = [list(ShardedSampler(size, rank, ranks, seed=seed)) for rank in range(ranks)]
    every = [index for shard in shards for index in shard]
    assert set(every) == set(range(size))
    assert len(every) < size + ranks
    cut = [i for r in range(ranks) for i in ShardedSampler(size, r, ranks, drop_last=True)]
    assert len(set(cut)) == len(cut) > size - ranks


def test_an_epoch_is_an_order():
    sampler = ShardedSampler(100, 1, 3)
    first = list(sampler)
    assert list(sampler) == first, "without set_epoch"
    sampler.set_epoch(1)
    assert list(sampler) != first
    sampler.set_epoch(0)
    assert list(sampler) == first


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ((10, 3, 3), "rank 3 is not among 3 ranks, which are numbered from 0 to 2"),
        ((10, -1, 3), "rank -1 is not among"),
        ((10, 0, 0), "ranks is 0; there has to be at least 1"),
        ((-1, 0, 1), "size is -1; it counts examples"),
        (([1, 2], 0, 1), r"size is \[1, 2\]; it has to be a whole number"),
        ((10, True, 2), "rank is True"),
    ],
)
def test_what_is_refused(place, sentence):
    with pytest.raises(ValueError, match=sentence):
        ShardedSampler(*place)
