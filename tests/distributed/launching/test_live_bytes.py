"""Live bytes: networks counted by hand, what autograd says it saved, and ranks of a launch."""

import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.utils.checkpoint import checkpoint

from labkit.distributed import launch
from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.launching.live_bytes import bytes_of, counted_bytes

ENOUGH = 300.0
FLOAT = 4  # bytes
REPEATS = 20  # a thread that held a buffer longer than another time would show
SMALL = Config(vocabulary=11, context=6, width=8, heads=2, layers=2)


def chain():
    """8 -> 16, GELU, 16 -> 4: 212 weights."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))


def saved_bytes(forward, older):
    """Bytes of what autograd keeps for the backward, said by autograd: each storage once."""
    kept = {}
    ours = {tensor.untyped_storage().data_ptr() for tensor in older}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    assert result.requires_grad
    return sum(size for place, size in kept.items() if place not in ours)


def test_a_storage_counts_once_and_until_its_last_tensor_is_gone():
    with counted_bytes() as memory:
        a = torch.zeros(3, 5)
        assert memory.now == 15 * FLOAT
        row = a[1]
        turned = a.t().reshape(15).view(5, 3)  # reshape copies, view does not
        same = a
        assert memory.now == 2 * 15 * FLOAT
        del a, same
        assert memory.now == 2 * 15 * FLOAT  # the row needs the whole storage
        del row
        assert memory.now == 15 * FLOAT
        del turned
        assert memory.now == 0
        b = torch.zeros(2, dtype=torch.int64)
    assert (memory.now, memory.peak) == (16, 2 * 15 * FLOAT)
    assert b.sum() == 0


def test_what_is_older_does_not_count_nor_do_its_views():
    data = torch.arange(1000)
    with counted_bytes() as memory:
        piece = data[10:20]
        assert memory.now == 0
        piece.add_(1)
        assert memory.now == 0
        copy = piece.clone()
        assert memory.now == 80
    assert copy[0] == 11


def test_the_peak_is_of_one_moment_and_not_the_sum_of_all():
    with counted_bytes() as memory:
        a = torch.ones(100)
        for _ in range(7):
            a = a + 1  # the new one while the old one lives
    assert (memory.now, memory.peak) == (400, 800)


@pytest.mark.parametrize("rows", [1, 3, 32])
def test_activations_held_are_those_that_autograd_saved(rows):
    model = chain()
    x = torch.randn(rows, 8)
    saved = saved_bytes(lambda: model(x).sum(), [x, *model.parameters()])
    with counted_bytes(model) as memory:
        loss = model(x).sum()
        held = memory.by_kind()
        by_hand = rows * 16 * FLOAT + rows * 16 * FLOAT  # before the GELU and behind it
        assert held["activations"] == saved + FLOAT == by_hand + FLOAT  # and the loss itself
        loss.backward()
        del loss
        assert memory.by_kind()["activations"] == 0
    assert held["gradients"] == 0
    assert memory.by_kind()["gradients"] == 212 * FLOAT
    assert memory.peak_activations > by_hand


def test_activations_of_the_gpt_are_those_that_autograd_saved():
    model = GPT(SMALL)
    tokens = torch.arange(12).reshape(2, 6) % 11
    saved = saved_bytes(lambda: loss_of(model(tokens), tokens), [tokens, *model.parameters()])
    with counted_bytes(model) as memory:
        loss = loss_of(model(tokens), tokens)
        assert memory.by_kind()["activations"] == saved + loss.nbytes


def test_a_checkpointed_layer_holds_its_input_alone():
    layers = [chain(), nn.Linear(4, 8), chain()]
    x = torch.randn(3, 8, requires_grad=True)
    with counted_bytes() as memory:
        y = checkpoint(layers[0], x, use_reentrant=False)
        z = checkpoint(layers[2], layers[1](y), use_reentrant=False)
        del y
        # into the Linear, into the second chain, and the result
        assert memory.now == 3 * (4 + 8 + 4) * FLOAT
        del z


class Scratch(torch.autograd.Function):
    """The identity, whose backward uses 1,000 numbers that nobody saved."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient + torch.zeros(1000).sum()


def test_what_backward_makes_counts_while_it_lives():
    x = torch.zeros(2, requires_grad=True)
    with counted_bytes() as memory:
        y = Scratch.apply(x).sum()
        before = memory.peak
        y.backward()
        after = memory.now
    assert before < 100
    assert 4000 <= memory.peak <= 4100
    assert after < 100


@pytest.mark.parametrize(
    ("optimizer", "state"),
    [
        (lambda weights: torch.optim.SGD(weights), 0),
        (lambda weights: torch.optim.SGD(weights, momentum=0.9), 212 * FLOAT),
        # two moments, and for each of the four tensors a step of its own
        (lambda weights: torch.optim.AdamW(weights), 2 * 212 * FLOAT + 4 * FLOAT),
    ],
)
def test_parameters_gradients_and_state(optimizer, state):
    model = chain()
    optimizer = optimizer(model.parameters())
    weights = 212 * FLOAT
    expected = {"parameters": weights, "gradients": weights, "optimizer state": state}
    assert bytes_of(model, optimizer) == expected | {"gradients": 0, "optimizer state": 0}
    with counted_bytes(model, optimizer) as memory:
        assert memory.now == weights
        model(torch.ones(5, 8)).sum().backward()
        optimizer.step()
        assert memory.by_kind() == expected | {"activations": 0}
        assert bytes_of(model, optimizer) == expected
        optimizer.zero_grad()
        assert memory.by_kind()["gradients"] == 0
    assert memory.now == weights + state
    assert sum(memory.at_peak.values()) == memory.peak
    assert bytes_of(model) == {"parameters": weights, "gradients": 0, "optimizer state": 0}


def test_tied_weights_and_buffers_count_once():
    model = nn.ModuleDict({"a": nn.Linear(6, 6), "b": nn.Linear(6, 6, bias=False)})
    model["b"].weight = model["a"].weight
    model.register_buffer("mask", torch.ones(10))
    assert bytes_of(model)["parameters"] == (36 + 6 + 10) * FLOAT
    with counted_bytes(model) as memory:
        assert memory.now == (36 + 6 + 10) * FLOAT


def test_a_model_without_memory_has_no_bytes():
    with torch.device("meta"):
        model = nn.Linear(1000, 1000)
    with counted_bytes(model) as memory:
        model(torch.zeros(1, 1000, device="meta"))
    assert memory.peak == 0


def test_all_forwards_first_hold_more_than_one_forward_and_its_backward():
    """GPipe's order of work beside that of one micro-batch at a time."""
    model = chain()
    pieces = torch.randn(4, 3, 8)
    one = 2 * 3 * 16 * FLOAT + FLOAT  # held after the forward of a micro-batch

    def peak(order):
        model.zero_grad()
        losses = {}
        with counted_bytes(model) as memory:
            for work, piece in order:
                if work == "F":
                    losses[piece] = model(pieces[piece]).sum()
                else:
                    losses.pop(piece).backward()
        return memory.peak_activations

    gpipe = peak([("F", i) for i in range(4)] + [("B", i) for i in range(4)])
    alternating = peak([(work, i) for i in range(4) for work in "FB"])
    assert gpipe - alternating == 3 * one


def test_a_storage_that_is_resized_is_counted_anew():
    older = torch.zeros(10)
    with counted_bytes() as memory:
        older.untyped_storage().resize_(80)
        assert memory.now == 80
        older.untyped_storage().resize_(0)
        a = torch.zeros(10)
        a.untyped_storage().resize_(0)
        assert memory.now == 0
        a.untyped_storage().resize_(40 * FLOAT)
        assert memory.now == 40 * FLOAT
        torch.zeros(0).resize_(7)
        b = torch.empty(0)
        torch.add(torch.ones(3), 1, out=b)
        assert memory.now == (40 + 3) * FLOAT


def test_after_the_block_nothing_moves_and_nothing_stays_behind():
    resize = torch.UntypedStorage.resize_
    with pytest.raises(KeyboardInterrupt), counted_bytes() as memory:
        a = torch.zeros(10)
        raise KeyboardInterrupt
    assert torch.UntypedStorage.resize_ is resize
    b = a + 1
    del a, b
    assert (memory.now, memory.peak) == (40, 40)


def test_equal_work_has_equal_bytes():
    tokens = torch.arange(12).reshape(2, 6) % 11

    def counted():
        model = GPT(SMALL)
        optimizer = torch.optim.AdamW(model.parameters())
        with counted_bytes(model, optimizer) as memory:
            for _ in range(2):
                optimizer.zero_grad()
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
        return memory.now, memory.peak, memory.at_peak, memory.peak_activations

    assert counted() == counted()


def test_counting_does_not_load_the_compiler():
    lines = [
        "import sys, torch",
        "from labkit.distributed.launching.live_bytes import counted_bytes",
        "with counted_bytes() as memory:",
        "    torch.zeros(3) + 1",
        "sys.exit('torch._dynamo' in sys.modules or memory.peak != 24)",
    ]
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 0


def own_bytes(rank, ranks):
    with counted_bytes() as memory:
        mine = torch.zeros(100 * (rank + 1))
        theirs = torch.zeros(100 * ranks)
        dist.broadcast(theirs, src=0)
        dist.all_reduce(mine[:100])
        return memory.now, memory.peak


def dtensor_bytes(mesh):
    """Bytes of two local halves of 24 numbers, then with the whole beside them."""
    full = torch.arange(24.0).reshape(6, 4)
    with counted_bytes() as memory:
        half = distribute_tensor(full, mesh, [Shard(0)])
        double = half + half
        local = memory.now
        whole = double.redistribute(mesh, [Replicate()]).to_local()
        gathered = memory.now
    assert whole.shape == (6, 4)
    return local, gathered


def fsdp_bytes(mesh):
    """Three layers of 64 weights: what a rank keeps, and what it has at the peak of a backward."""
    model = nn.Sequential(*(nn.Linear(8, 8, bias=False) for _ in range(3)))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    with counted_bytes(model) as backward:
        model(torch.ones(2, 8)).sum().backward()
    with counted_bytes(model, optimizer) as memory:
        optimizer.step()
        kept = memory.by_kind()
    assert bytes_of(model, optimizer).items() <= kept.items()
    for _ in range(REPEATS):  # each refills storages that are older than its count
        optimizer.zero_grad()
        with counted_bytes(model) as again:
            model(torch.ones(2, 8)).sum().backward()
        assert again.at_peak == backward.at_peak
        assert again.peak_activations == backward.peak_activations
    return backward.at_peak, backward.by_kind(), kept


def all_three(rank, ranks):
    mesh = init_device_mesh("cpu", (ranks,))
    return own_bytes(rank, ranks), dtensor_bytes(mesh), fsdp_bytes(mesh)


@pytest.fixture(scope="module")
def said_by_ranks():
    return launch(all_three, 2, timeout=ENOUGH)


def test_each_rank_counts_its_own(said_by_ranks):
    sizes = [(100 * (rank + 1) + 200) * FLOAT for rank in range(2)]
    assert [own for own, _, _ in said_by_ranks] == [(size, size) for size in sizes]


def test_of_a_dtensor_the_local_part_counts(said_by_ranks):
    for _, dtensor, _ in said_by_ranks:
        assert dtensor == (2 * 12 * FLOAT, (2 * 12 + 24) * FLOAT)


def test_fsdp_keeps_half_and_gathers_a_layer(said_by_ranks):
    half = 3 * 64 // 2 * FLOAT
    for _, _, (peak, after, kept) in said_by_ranks:
        assert after == {
            "parameters": half,
            "gradients": half,
            "optimizer state": 0,
            "activations": 0,
        }
        # two moments of the half, and for each of the three tensors a step of its own
        assert kept == after | {"optimizer state": 2 * half + 3 * FLOAT}
        assert peak["parameters"] == half + 2 * 64 * FLOAT  # the layer at work, and the next one
