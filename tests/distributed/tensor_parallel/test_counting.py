"""The counter of collectives beside calls whose bytes are known."""

import torch
import torch.distributed as dist

from labkit.distributed import launch
from labkit.distributed.tensor_parallel.counting import CommunicationCall, counted_calls


def all_kinds(rank, ranks):
    """One call of each, with tensors of different sizes, and the same by functional collectives."""
    from torch.distributed import _functional_collectives as functional

    with counted_calls() as calls:
        dist.all_reduce(torch.ones(3))
        dist.broadcast(torch.ones(5, dtype=torch.float64), 0)
        dist.all_gather([torch.ones(2) for _ in range(ranks)], torch.ones(2))
        dist.all_gather_into_tensor(torch.ones(14), torch.ones(7))
        dist.reduce_scatter_tensor(torch.ones(4), torch.ones(8))
        if rank == 0:
            dist.send(torch.ones(11), 1)
        else:
            dist.recv(torch.ones(11), 0)
        dist.barrier()
        dist.monitored_barrier()
        functional.all_reduce(torch.ones(6), "sum", dist.group.WORLD).wait()
        functional.all_gather_tensor(torch.ones(9), 0, dist.group.WORLD).wait()
    dist.all_reduce(torch.ones(3))  # after the block: no longer counted
    with counted_calls() as none:
        torch.ones(3).sum()
    return [(call.name, call.bytes) for call in calls], none


def test_every_call_is_counted_once_with_what_the_rank_gives():
    first, second = launch(all_kinds, 2)
    expected = [
        ("all_reduce", 12),
        ("broadcast", 40),
        ("all_gather", 8),
        ("all_gather_into_tensor", 28),
        ("reduce_scatter_tensor", 32),
        ("send", 44),
        ("all_reduce", 24),
        ("all_gather_into_tensor", 36),
    ]
    assert first == (expected, [])
    assert second == ([call for call in expected if call[0] != "send"], [])


class Doubled(torch.autograd.Function):
    """Sums over the ranks in the backward only."""

    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, dy):
        total = dy.clone()
        dist.all_reduce(total)
        return total


def both_directions(rank, ranks):
    x = torch.ones(3, requires_grad=True)
    with counted_calls() as calls:
        dist.all_reduce(torch.ones(2))
        Doubled.apply(x).sum().backward()
        dist.all_reduce(torch.ones(4))
    return calls, x.grad.tolist()


def test_forward_and_backward_are_told_apart():
    for calls, gradient in launch(both_directions, 2):
        assert calls == [
            CommunicationCall("all_reduce", 8, backward=False),
            CommunicationCall("all_reduce", 12, backward=True),
            CommunicationCall("all_reduce", 16, backward=False),
        ]
        assert gradient == [2, 2, 2]
