"""Groups of a mesh against NumPy's axes and PyTorch's own meshes; the mesh that pretends."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.hybrid_and_sharded import pretended
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh

SIDES = [(1,), (5,), (2, 3), (4, 1), (2, 3, 4), (3, 2, 2, 2)]
RANKS = 1024
CONFIG = Config(vocabulary=16, context=8, width=32, heads=8, layers=3)


@pytest.mark.parametrize("lengths", SIDES)
def test_groups_are_the_lines_of_a_grid(lengths):
    mesh = Mesh({f"side {k}": length for k, length in enumerate(lengths)})
    grid = np.arange(mesh.ranks).reshape(lengths)
    for axis, name in enumerate(mesh.sides):
        lines = np.moveaxis(grid, axis, -1).reshape(-1, lengths[axis])
        assert mesh.groups(name) == [tuple(map(int, line)) for line in lines]
    for place in itertools.product(*map(range, lengths)):
        assert tuple(mesh.coordinates(int(grid[place])).values()) == place


def test_groups_are_those_of_pytorch():
    mesh = Mesh({"data": 2, "stage": 3, "tensor": 4})
    for rank in (0, 7, 23):
        with pretending_to_be(rank, 24):
            theirs = init_device_mesh("cpu", (2, 3, 4), mesh_dim_names=tuple(mesh.sides))
            for side in mesh.sides:
                group = dist.get_process_group_ranks(theirs.get_group(side))
                assert mesh.group_of(rank, side) == tuple(group)


def pretending_to_be(rank, ranks):
    from contextlib import contextmanager

    from torch.testing._internal.distributed.fake_pg import FakeStore

    @contextmanager
    def manager():
        dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
        yield
        dist.destroy_process_group()

    return manager()


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: Mesh({}), "one side at least"),
        (lambda: Mesh({"data": 0}), "data is a whole number from 1 on, not 0"),
        (lambda: Mesh({"data": 2.0}), "not 2.0"),
        (lambda: Mesh({"data": 2, "tensor": 3}).fits(8), r"2 x 3 \(data x tensor\) has 6 ranks"),
        (lambda: Mesh({"data": 2}).groups("tensor"), "no side 'tensor'"),
        (lambda: Mesh({"data": 2}).coordinates(2), "no rank 2"),
        (lambda: Mesh({"data": 2}).coordinates("1"), "no rank '1'"),
        (lambda: pretended.pretended("4").__enter__(), "at least one rank, not '4'"),
        (lambda: pretended.pretended(0).__enter__(), "at least one rank, not 0"),
    ],
)
def test_what_is_no_mesh_is_told_so(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


@pytest.fixture(scope="module")
def calls():
    tokens = torch.zeros(1, 4, dtype=torch.int64)
    with pretended.pretended(RANKS):
        found = {
            "data": pretended.data_parallel(GPT(CONFIG), tokens),
            "shard": pretended.sharded(GPT(CONFIG), tokens, RANKS),
            "copies": pretended.sharded(GPT(CONFIG), tokens, 128, 8),
            "tensor": pretended.data_and_tensor(GPT(CONFIG), tokens, 128, 8),
        }
    assert not dist.is_initialized()
    return found


def kinds(calls):
    return {name: total.calls for name, total in calls.total.items()}


def test_collectives_of_1024_ranks_are_counted(calls):
    units = CONFIG.layers + 3
    assert kinds(calls["data"]) == {"all_reduce": 1}
    assert kinds(calls["shard"]) == {"all_gather": 2 * units, "reduce_scatter": units}
    copies = {"all_gather": 2 * units, "reduce_scatter": units, "all_reduce": units}
    assert kinds(calls["copies"]) == copies
    # of each block, 2 in forward and 2 in backward
    assert kinds(calls["tensor"]) == {"all_reduce": 4 * CONFIG.layers + 1}


def around_a_ring(rounds, ranks, size):
    """What a rank sends of a gather or a reduce-scatter (1 round) or of an all-reduce (2)."""
    return Fraction(rounds * (ranks - 1), ranks) * size


def test_bytes_of_1024_ranks(calls):
    """Exactly those of the formulas: fractions of a byte come of chunks that do not divide."""
    weights = list(GPT(CONFIG).parameters())
    size = 4 * sum(weight.numel() for weight in weights)
    assert calls["data"].sent == around_a_ring(2, RANKS, size)
    padded = sum(4 * RANKS * w[0].numel() for w in weights)  # each has fewer rows than ranks
    assert calls["shard"].sent == around_a_ring(3, RANKS, padded)
    copies = around_a_ring(3, 8, size) + around_a_ring(2, 128, Fraction(size, 8))
    assert calls["copies"].sent == copies


def test_bytes_of_data_and_tensor_on_1024_ranks(calls):
    """In each block four sums of activations over 8 ranks; once the gradients of the own part."""
    activation = 1 * 4 * CONFIG.width * 4  # N T D numbers of 4 bytes
    model = GPT(CONFIG)
    parts = [block.attention.query for block in model.blocks]
    parts += [block.attention.key for block in model.blocks]
    parts += [block.attention.value for block in model.blocks]
    parts += [block.mlp.expand for block in model.blocks]
    cut = sum(weight.numel() for part in parts for weight in part.parameters())
    rows = [block.attention.output for block in model.blocks]
    rows += [block.mlp.contract for block in model.blocks]
    cut += sum(part.weight.numel() for part in rows)  # their biases are whole in each rank
    whole = sum(weight.numel() for weight in model.parameters()) - cut
    own = 4 * (cut // 8 + whole)
    sums = 4 * CONFIG.layers * around_a_ring(2, 8, activation)
    assert calls["tensor"].sent == sums + around_a_ring(2, 128, own)


def test_each_group_has_its_size(calls):
    assert {call.ranks for call in calls["shard"].calls} == {1024}
    assert {(c.name, c.ranks) for c in calls["copies"].calls} == {
        ("all_gather", 8),
        ("reduce_scatter", 8),
        ("all_reduce", 128),
    }
    assert [call.ranks for call in calls["tensor"].calls] == [8] * 4 * CONFIG.layers + [128]


def test_what_does_not_fit_is_told():
    tokens = torch.zeros(1, 4, dtype=torch.int64)
    with pretended.pretended(8):
        with pytest.raises(ValueError, match=r"3 x 2 \(copy x shard\) has 6 ranks"):
            pretended.sharded(GPT(CONFIG), tokens, 3, 2)
        with pytest.raises(ValueError, match="8 ranks cannot share 4 heads evenly"):
            pretended.data_and_tensor(GPT(Config(layers=1)), tokens, 1, 8)
        with pytest.raises(RuntimeError, match="in a group already"), pretended.pretended(2):
            pass
