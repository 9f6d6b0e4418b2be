"""What is noted of PyTorch's collectives: kind, bytes of the whole tensor, size of the group."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional

from labkit_lessons.distributed.hybrid_and_sharded.collective_calls import Call, CollectiveCalls
from labkit_lessons.distributed.hybrid_and_sharded.pretended import pretended

x = torch.zeros(6, dtype=torch.float64)  # 48 bytes


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_each_collective_is_noted_with_its_bytes_and_ranks():
    with pretended(8):
        pair = dist.new_group([0, 1])
        with CollectiveCalls() as calls:
            dist.all_reduce(x)
            dist.all_reduce(x, group=pair)
            dist.all_gather_into_tensor(torch.zeros(48, dtype=x.dtype), x)
            dist.reduce_scatter_tensor(torch.zeros(3, dtype=x.dtype), x, group=pair)
            functional.wait_tensor(functional.all_reduce(x, "sum", pair))
            functional.wait_tensor(functional.all_gather_tensor(x, 0, pair))
            x + x  # no collective
    assert calls.calls == [
        Call("all_reduce", 48, 8),
        Call("all_reduce", 48, 2),
        Call("all_gather", 384, 8),
        Call("reduce_scatter", 48, 2),
        Call("all_reduce", 48, 2),
        Call("all_gather", 96, 2),
    ]
    assert [float(call.sent) for call in calls.calls] == [84, 48, 336, 24, 48, 48]
    assert calls.total["all_reduce"].calls == 3 and calls.total["all_reduce"].sent == 180
    assert calls.sent == 84 + 48 + 336 + 24 + 48 + 48
