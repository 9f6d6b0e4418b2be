"""Ranks with unlike numbers of batches, against one process; beside torch's Join in test_ddp."""

import pytest
import torch
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


def program(rank, ranks):
    """The weights for both divisors, by the ring and by the backend."""
    found = {True: [], False: []}
    for by_all in found:
        for all_reduce in (None, ring_all_reduce):
            module = net()
            model = DataParallel(module, bucket_bytes=32, all_reduce=all_reduce)
            with model.join(divide_by_initial_world_size=by_all):
                for step in range(BATCHES[rank]):
                    module.zero_grad()
                    loss(model, rank, step).backward()
                    model.finish()
                    descend(module, RATE)
            found[by_all].append(weights(module))
            model.close()
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
def results():
    return launch(program, len(BATCHES), timeout=ENOUGH)


@pytest.mark.parametrize("by_all", [True, False])
def test_all_batches_count_and_all_ranks_end_alike(results, by_all):
    expected = by_hand(by_all)
    assert largest_difference(expected, by_hand(not by_all)) > 1e-4, "the divisors are told apart"
    for rank in range(len(BATCHES)):
        for one in results[rank][by_all]:
            assert largest_difference(one, expected) < 1e-6


def test_no_batches_even_ones_and_after_the_block():
    def program(rank, ranks):
        module = net()
        model = DataParallel(module)
        found = []

        def step():
            module.zero_grad()
            loss(model, rank, 0).backward()
            model.finish()
            found.append(gradients(module))

        with model.join():
            pass
        with model.join(divide_by_initial_world_size=False):
            step()
        step()
        return found

    found = launch(program, 2, timeout=ENOUGH)
    module = net()
    sum(loss(module, rank, 0) / 2 for rank in range(2)).backward()
    for one in found[0] + found[1]:
        assert largest_difference(one, gradients(module)) < 1e-6


def test_an_error_in_the_block_is_told():
    def program(rank, ranks):
        model = DataParallel(net())
        with model.join():
            if rank == 1:
                raise KeyError("no such image")

    with pytest.raises(LaunchError, match="Rank 1 raised KeyError: 'no such image'"):
        launch(program, 2, timeout=ENOUGH)
