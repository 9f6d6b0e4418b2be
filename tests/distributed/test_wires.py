"""Connections of our own carry what torch's group carries, through relays and without."""

import time

import pytest
import torch

from labkit.distributed import LaunchError, launch
from labkit.distributed.collectives import (
    all_gather,
    gather_all_reduce,
    halving_all_reduce,
    ring_all_reduce,
)
from labkit.distributed.messages import exchange, receive, recorded, send
from labkit.distributed.wires import wired


def all_of_them(rank, ranks, latency):
    x = torch.arange(1_000_003, dtype=torch.float32) * (rank + 1)
    results = []
    with wired(latency), recorded() as messages:
        for function in (ring_all_reduce, gather_all_reduce, halving_all_reduce):
            results.append(function(x))
        gathered = all_gather(torch.full((0, 3), rank))
        mixed = all_gather(torch.tensor([[rank, -rank]], dtype=torch.int64))
    total = torch.arange(1_000_003, dtype=torch.float32) * sum(range(1, ranks + 1))
    same = all(torch.allclose(result, total) for result in results)
    bytes = sum(message.bytes for message in messages if message.sent)
    return same, [list(one.shape) for one in gathered], [one.tolist() for one in mixed], bytes


@pytest.mark.parametrize("ranks, latency", [(1, 0.01), (2, 0.0), (2, 0.01), (3, 0.0)])
def test_collectives_are_right(ranks, latency):
    for same, shapes, mixed, _ in launch(all_of_them, ranks, latency):
        assert same
        assert shapes == [[0, 3]] * ranks
        assert mixed == [[[rank, -rank]] for rank in range(ranks)]


def ping_pongs(rank, ranks, latency):
    x = torch.full((7,), float(rank))
    came = torch.empty(7)
    took = []
    with wired(latency):
        for _ in range(5):
            begin = time.monotonic()
            if rank == 0:
                send(x, 1)
                receive(came, 1)
            else:
                receive(came, 0)
                send(x, 0)
            took.append(time.monotonic() - begin)
    return min(took), came.tolist()


def test_a_message_is_never_there_before_its_latency():
    (there, one), (_, zero) = launch(ping_pongs, 2, 0.02)
    assert there >= 0.04
    assert one == [1.0] * 7 and zero == [0.0] * 7


def swaps(rank, ranks):
    """More than any buffer holds, both ways at once: neither waits for the other to receive."""
    out = torch.full((2_000_000,), float(rank))
    came = torch.empty(2_000_000)
    with wired(0.001):
        exchange(out, 1 - rank, came, 1 - rank)
    return bool((came == 1 - rank).all())


def test_an_exchange_does_not_wait_for_itself():
    assert launch(swaps, 2) == [True, True]


def unlike(rank, ranks):
    with wired():
        if rank == 0:
            send(torch.zeros(3), 1)
        else:
            receive(torch.zeros(4), 0)


def test_a_message_of_another_length_is_told():
    with pytest.raises(LaunchError, match="waits for 16 bytes of rank 0, which sends 12"):
        launch(unlike, 2)
