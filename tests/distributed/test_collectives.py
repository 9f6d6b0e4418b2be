"""Collectives: right sums, and the bytes and messages of their formulas, on real processes."""

from collections import Counter

import numpy as np
import pytest
import torch

from labkit.distributed import collectives, launch
from tests.distributed.threads import in_threads

ALL_REDUCES = ("gather", "tree", "ring", "halving")
SHAPES = [(), (1,), (2, 3), (7,), (5, 1, 3), (64,), (0,)]
DTYPES = [torch.float32, torch.float64, torch.int64]
ENOUGH = 300.0


def inputs(rank: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers, so that every order of additions gives the same sum."""
    rng = np.random.default_rng(rank)
    return torch.tensor(rng.integers(-50, 50, shape), dtype=dtype)


def everything(rank, ranks):
    """Each collective on each shape: its result, its messages, whether its input is untouched."""
    from labkit.distributed.messages import recorded

    found = {}
    for shape in SHAPES:
        for dtype in DTYPES:
            x = inputs(rank, shape, dtype)
            for name in (*(f"{kind}_all_reduce" for kind in ALL_REDUCES), "reduce_scatter"):
                before = x.clone()
                with recorded() as messages:
                    result = getattr(collectives, name)(x)
                found[name, shape, dtype] = result, messages, torch.equal(x, before)
            found["all_gather", shape, dtype] = collectives.all_gather(x)
            for root in range(ranks):
                found["broadcast", shape, dtype, root] = collectives.broadcast(x, root)
                found["reduce", shape, dtype, root] = collectives.reduce(x, root)
    return found


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def run(request):
    """(ranks, what each rank has found)"""
    return request.param, launch(everything, request.param, timeout=ENOUGH)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results(run, shape, dtype):
    """Against plain sums of all inputs, without any communication."""
    ranks, found = run
    xs = [inputs(rank, shape, dtype) for rank in range(ranks)]
    total = sum(xs)
    for rank in range(ranks):
        for kind in ALL_REDUCES:
            result, _, untouched = found[rank][f"{kind}_all_reduce", shape, dtype]
            assert result.shape == total.shape and result.dtype == dtype, kind
            assert torch.equal(result, total) and untouched, kind
        part = total.flatten().tensor_split(ranks)[rank]
        assert torch.equal(found[rank]["reduce_scatter", shape, dtype][0], part)
        gathered = found[rank]["all_gather", shape, dtype]
        assert all(torch.equal(one, x) for one, x in zip(gathered, xs, strict=True))
        for root in range(ranks):
            assert torch.equal(found[rank]["broadcast", shape, dtype, root], xs[root])
            if rank == root:
                assert torch.equal(found[rank]["reduce", shape, dtype, root], total)


def sent(run, name, shape=(64,), dtype=torch.float64):
    """For each rank the messages that it sent in one collective."""
    ranks, found = run
    return [[m for m in found[rank][name, shape, dtype][1] if m.sent] for rank in range(ranks)]


def test_both_ends_write_down_the_same(run):
    ranks, found = run
    for name in (f"{kind}_all_reduce" for kind in ALL_REDUCES):
        for shape in SHAPES:
            messages = [m for rank in range(ranks) for m in found[rank][name, shape, DTYPES[0]][1]]
            ends = [
                Counter((m.source, m.target, m.bytes) for m in messages if m.sent is sent)
                for sent in (True, False)
            ]
            assert ends[0] == ends[1]
            assert all(m.begin <= m.end for m in messages)


def test_the_ring_s_bytes(run):
    """Payload over all ranks exactly 2 (n - 1) S, each rank within one chunk's remainder."""
    ranks, _ = run
    for shape in [(64,), (7,), (5, 1, 3)]:
        size = int(np.prod(shape)) * 8
        rows = sent(run, "ring_all_reduce", shape)
        each = [sum(m.bytes for m in row) for row in rows]
        assert sum(each) == 2 * (ranks - 1) * size
        assert all(abs(b - 2 * (ranks - 1) / ranks * size) <= 2 * (ranks - 1) * 8 for b in each)
        for rank, row in enumerate(rows):
            assert len(row) == 2 * (ranks - 1)
            assert all(m.target == (rank + 1) % ranks for m in row), "to the next one only"


def test_the_others_bytes(run):
    ranks, _ = run
    size = 64 * 8
    gather = sent(run, "gather_all_reduce")
    assert sum(m.bytes for m in gather[0]) == (ranks - 1) * size
    assert sum(m.bytes for row in gather for m in row) == 2 * (ranks - 1) * size
    tree = sent(run, "tree_all_reduce")
    assert sum(m.bytes for row in tree for m in row) == 2 * (ranks - 1) * size
    steps = (ranks - 1).bit_length()
    assert max(len(row) for row in tree) <= steps + 1
    halving = sent(run, "halving_all_reduce")
    if ranks & (ranks - 1) == 0:
        for row in halving:
            assert len(row) == 2 * steps
            assert sum(m.bytes for m in row) == 2 * (ranks - 1) * size // ranks


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_parameters_and_views(ranks):
    """What wants a gradient, and what does not lie in one piece; the result is new memory."""

    def one(rank):
        weights = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3) + rank)
        found = []
        for x in (weights, weights.T, weights[:, ::2], weights.detach().expand(2, 2, 3)):
            for kind in ALL_REDUCES:
                result = getattr(collectives, f"{kind}_all_reduce")(x)
                assert not result.requires_grad and result.data_ptr() != weights.data_ptr()
                wanted = ranks * (x.detach() - rank) + sum(range(ranks))
                found.append(torch.equal(result, wanted))
        return found

    assert all(all(found) for found in in_threads(ranks, one))


def test_outside_of_a_launch():
    with pytest.raises(RuntimeError, match="in a function that `launch` runs"):
        collectives.ring_all_reduce(torch.ones(3))


def test_beside_gloo():
    def both(rank, ranks):
        import torch.distributed as dist

        x = torch.randn(1001, generator=torch.Generator().manual_seed(rank), dtype=torch.float64)
        ours = [getattr(collectives, f"{kind}_all_reduce")(x) for kind in ALL_REDUCES]
        dist.all_reduce(x)
        return [float((one - x).abs().max()) for one in ours]

    assert np.max(launch(both, 4, timeout=ENOUGH)) < 1e-12
