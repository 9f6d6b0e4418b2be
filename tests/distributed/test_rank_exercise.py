"""Exercises that run in rank processes: right and wrong ones, hangs, costs, what is forbidden."""

import pytest
import torch
import torch.distributed as dist

from labkit.distributed.messages import exchange, receive, send
from tests.distributed.toy_ranks import told, toy


def around(rank, ranks, x):
    total, carried = x.clone(), x.clone()
    for _ in range(ranks - 1):
        other = torch.empty_like(x)
        exchange(carried, (rank + 1) % ranks, other, (rank - 1) % ranks)
        total += other
        carried = other
    return total


def through_rank_0(rank, ranks, x):
    total = x.clone()
    if rank:
        send(total, 0)
        receive(total, 0)
        return total
    other = torch.empty_like(x)
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    return total


def with_torch(rank, ranks, x):
    total = x.clone()
    dist.all_reduce(total)
    return total


@pytest.mark.parametrize("answer", [around, through_rank_0, with_torch])
def test_right_answers(answer, monkeypatch, capsys):
    assert told(toy(monkeypatch), answer, capsys).startswith("Right")


def sends_first(rank, ranks, x):
    if ranks > 1:
        send(x, (rank + 1) % ranks)
        receive(x, (rank - 1) % ranks)
    return x


def test_send_against_send_is_told_as_a_hang(monkeypatch, capsys):
    said = told(toy(monkeypatch), sends_first, capsys)
    assert "The ranks wait for each other, and nothing can go on." in said
    assert "rank 0 waits until rank 1 receives: line 3 of sends_first, send(x, (rank" in said
    assert "rank 1 waits until rank 0 receives: line 3 of sends_first" in said
