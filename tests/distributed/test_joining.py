"""Ranks with unlike numbers of batches, against torch's Join and against sums by hand."""

import gc

import pytest
import torch
import torch.distributed as dist
from torch import nn

from labkit.distributed import LaunchError, launch
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.ddp import DataParallel
from labkit.distributed.one_big_batch import descend, gradients, largest_difference, weights

ENOUGH = 300.0
BATCHES = [2, 4, 1]  # of each rank
RATE = 0.1


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def loss(model, rank, step):
    generator = torch.Generator().manual_seed(100 * rank + step)
    return (model(torch.randn(5, 3, generator=generator)) ** 2).mean()


def loop(model, module, rank):
    for step in range(BATCHES[rank]):
        module.zero_grad()
        loss(model, rank, step).backward()
        if hasattr(model, "finish"):
            model.finish()
        descend(module, RATE)


def program(rank, ranks):
    """For both divisors: our weights (by the ring and the backend), and torch's."""
    found = {}
    for by_all in (True, False):
        theirs = net()
        torch_s = nn.parallel.DistributedDataParallel(theirs)
        with torch_s.join(divide_by_initial_world_size=by_all):
            loop(torch_s, theirs, rank)
        found[by_all] = [weights(theirs)]
        del torch_s
        for all_reduce in (None, ring_all_reduce):
            module = net()
            model = DataParallel(module, bucket_bytes=32, all_reduce=all_reduce)
            with model.join(divide_by_initial_world_size=by_all):
                loop(model, module, rank)
            found[by_all].append(weights(module))
            module.zero_grad()
            loss(model, rank, 0).backward()
            model.finish()  # after it, all ranks count again
            model.close()
    gc.collect()
    dist.barrier()
    return found


def by_hand(by_all):
    """All ranks' steps in one process: each uses the ranks that have a batch left."""
    module = net()
    for step in range(max(BATCHES)):
        here = [rank for rank, batches in enumerate(BATCHES) if step < batches]
        module.zero_grad()
        sum(loss(module, rank, step) for rank in here).backward()
        divisor = len(BATCHES) if by_all else len(here)
        assert gradients(module)
        descend(module, RATE / divisor)
    return weights(module)


@pytest.fixture(scope="module")
def found():
    return launch(program, len(BATCHES), timeout=ENOUGH)


@pytest.mark.parametrize("by_all", [True, False])
def test_all_batches_count_and_all_ranks_end_alike(found, by_all):
    expected = by_hand(by_all)
    assert largest_difference(expected, by_hand(not by_all)) > 1e-4, "the divisors are told apart"
    for rank in range(len(BATCHES)):
        theirs, *ours = found[rank][by_all]
        assert largest_difference(theirs, expected) < 1e-6
        for one in ours:
            assert largest_difference(one, expected) < 1e-6


def test_no_batches_and_even_ones():
    def program(rank, ranks):
        module = net()
        model = DataParallel(module)
        with model.join():
            pass
        with model.join():
            loss(model, rank, 0).backward()
            model.finish()
        return gradients(module)

    found = launch(program, 2, timeout=ENOUGH)
    module = net()
    sum(loss(module, rank, 0) / 2 for rank in range(2)).backward()
    for one in found:
        assert largest_difference(one, gradients(module)) < 1e-6


def test_an_error_in_the_block_is_told():
    def program(rank, ranks):
        model = DataParallel(net())
        with model.join():
            if rank == 1:
                raise KeyError("no such image")

    with pytest.raises(LaunchError, match="Rank 1 raised KeyError: 'no such image'"):
        launch(program, 2, timeout=ENOUGH)
