"""Shards against one batch: equal without BatchNorm, and with a synchronised one; else not."""

import pytest
import torch

from labkit.distributed import launch
from labkit.distributed.one_big_batch import largest_difference
from labkit_lessons.distributed.overlap_and_buckets.batch_norm_networks import (
    gradients_of_shards,
    with_and_without,
)


@pytest.mark.parametrize("name", list(with_and_without()))
def test_only_a_batch_norm_of_its_own_makes_a_difference(name):
    images = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(8)
    make = with_and_without()[name]
    shards = launch(gradients_of_shards, 2, make, images, labels)
    (whole,) = launch(gradients_of_shards, 1, make, images, labels)
    assert largest_difference(shards[0], shards[1]) == 0
    differs = largest_difference(shards[0], whole) > 1e-3
    assert differs == (name == "with BatchNorm")


def test_the_networks_have_the_same_weights_every_time():
    for make in with_and_without().values():
        one, other = make().state_dict(), make().state_dict()
        assert all(torch.equal(one[name], other[name]) for name in one)
