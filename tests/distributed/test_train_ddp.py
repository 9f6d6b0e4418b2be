"""Which images the ranks of train_ddp.py read: every epoch all of them, in an order of its own."""

import runpy
from itertools import islice
from pathlib import Path

import pytest
from torch.utils.data import DistributedSampler

PROGRAM = Path(__file__).resolve().parents[2] / "chapters" / "04_distributed" / "train_ddp.py"


@pytest.fixture(scope="module")
def shards():
    return runpy.run_path(str(PROGRAM))["shards"]


def of_epoch(rank, epoch):
    """By PyTorch: 20 images for two ranks."""
    sampler = DistributedSampler(range(20), num_replicas=2, rank=rank, drop_last=True)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_each_epoch_has_an_order_of_its_own(shards):
    for rank in range(2):
        steps = list(islice(shards(20, rank, 2, each=5), 4))  # two epochs of two steps
        assert steps[0] + steps[1] == of_epoch(rank, 0)
        assert steps[2] + steps[3] == of_epoch(rank, 1)
        assert steps[2] != steps[0]  # an order that begins again would be the same


def test_the_ranks_share_no_image_of_an_epoch(shards):
    read = [
        place for rank in range(2) for step in islice(shards(20, rank, 2, 5), 2) for place in step
    ]
    assert sorted(read) == list(range(20))


def test_what_fills_no_batch_is_left_out(shards):
    steps = list(islice(shards(20, 0, 2, each=4), 3))  # ten images of this rank: two steps
    assert steps[0] + steps[1] == of_epoch(0, 0)[:8]
    assert steps[2] == of_epoch(0, 1)[:4]


def test_a_batch_larger_than_all_images_is_refused(shards):
    with pytest.raises(ValueError, match="A batch of 22 images is too large: there are 20"):
        next(shards(20, 0, 2, each=11))
