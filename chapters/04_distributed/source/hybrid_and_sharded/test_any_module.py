"""A stranger's module in sharded training, against the same training without ranks."""

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from labkit.distributed import launch
from labkit.distributed.launching.live_bytes import bytes_of
from labkit.distributed.one_big_batch import largest_difference
from labkit.distributed.one_big_batch import weights as weights_of
from labkit.distributed.sharded.memory import bytes_of_state
from labkit_lessons.distributed.hybrid_and_sharded.zero import STAGES, Sharded

ENOUGH = 300.0
RANKS, STEPS, ROWS = 2, 3, 4
OPTIMISERS = {
    "AdamW": lambda weights: torch.optim.AdamW(weights, lr=0.05),
    "SGD": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.9),
}


class Strange(nn.Module):
    """Tied weights, one module used twice, frozen weights, no bias, a weight of the module itself.

    Parts in a dict, a part whose output is no tensor, and two dtypes.
    """

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 8)
        self.middle = nn.ModuleDict(
            {"twice": nn.Linear(8, 8, bias=False), "frozen": nn.Linear(8, 8)}
        )
        self.middle["frozen"].bias.requires_grad_(False)
        self.pair = Pair()
        self.head = nn.Linear(8, 12, bias=False)
        self.head.weight = self.embedding.weight
        self.gain = nn.Parameter(torch.tensor([1.5, -0.5]))
        self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, tokens):  # [N] -> [N, 12]
        x = self.embedding(tokens)
        x = self.middle["twice"](self.middle["twice"](x).tanh())
        x = self.middle["frozen"](x)
        pair = self.pair(x)
        return self.head(pair["left"] * self.gain[0] + pair["right"] * self.gain[1])


class Pair(nn.Module):
    """Two outputs in a dict, of a float32 and of a float64 layer."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(8, 8)
        self.right = nn.Linear(8, 8).double()

    def forward(self, x):
        return {"left": self.left(x), "right": self.right(x.double()).float()}


def strange(seed=0):
    torch.manual_seed(seed)
    return Strange()


def batch(rank, step):
    generator = torch.Generator().manual_seed(100 * rank + step)
    tokens = torch.randint(0, 12, (ROWS,), generator=generator)
    return tokens, torch.randn(ROWS, 12, generator=generator)


def alone(name, accumulate=1):
    """Without ranks: the ranks' batches one after the other, their gradients added up."""
    net = strange()
    optimizer = OPTIMISERS[name](net.parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        for rank in range(RANKS):
            for part in range(accumulate):
                tokens, wanted = batch(rank, 10 * step + part)
                (mse_loss(net(tokens), wanted) / RANKS).backward()
        optimizer.step()
    return weights_of(net)


def sharded(rank, stage, name, accumulate=1):
    """The whole weights after the same training, and what lay in memory before the last update."""
    model = Sharded(strange(seed=rank), stage)  # its values become rank 0's
    optimizer = OPTIMISERS[name](model.parameters())
    for step in range(STEPS):
        for part in range(accumulate):
            tokens, wanted = batch(rank, 10 * step + part)
            mse_loss(model(tokens), wanted).backward()
        model.finish()
        held = bytes_of(model, optimizer)
        with torch.set_grad_enabled(step == 1):
            model(tokens)  # a validation changes nothing, whatever it is between
        optimizer.step()
        model(tokens)
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return model.weights(), held


def all_of_it(rank, ranks):
    found = {}
    for name in OPTIMISERS:
        for stage in STAGES:
            found[name, stage] = sharded(rank, stage, name)
    for stage in STAGES:
        found["accumulated", stage] = sharded(rank, stage, "AdamW", accumulate=2)
    found["half"] = in_half_precision(rank)
    return found


def in_half_precision(rank):
    """Two linear layers in bfloat16, the norm between them whole: dtypes and bytes that lie."""
    net = nn.Sequential(nn.Linear(8, 8, bias=False), nn.LayerNorm(8), nn.Linear(8, 8, bias=False))
    model = Sharded(net, 3, [net[0], net[2]], compute_dtype=torch.bfloat16)
    computed = []
    net[0].register_forward_pre_hook(lambda layer, _: computed.append(layer.weight.dtype))
    optimizer = OPTIMISERS["SGD"](model.parameters())
    before = model.weights()
    y = net[2](net[1](net[0](torch.ones(2, 8).bfloat16()).float()).bfloat16())
    (y.float() ** 2).sum().backward()
    model.finish()
    optimizer.step()
    sizes = [weight.numel() for weight in net.parameters()]
    dtypes = {weight.grad.dtype for weight in net.parameters()}
    after = model.weights()
    moved = all(not torch.equal(before[name], after[name]) for name in before)
    return computed, sizes, dtypes, {weight.dtype for weight in after.values()}, moved


@pytest.fixture(scope="module")
def results():
    return launch(all_of_it, RANKS, timeout=ENOUGH)


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("stage", STAGES)
def test_sharded_training_is_unsharded_training(results, stage, name):
    expected = alone(name)
    for by_case in results:
        assert largest_difference(by_case[name, stage][0], expected) < 1e-6


@pytest.mark.parametrize("stage", STAGES)
def test_gradients_of_several_backwards_add_up(results, stage):
    expected = alone("AdamW", accumulate=2)
    for by_case in results:
        assert largest_difference(by_case["accumulated", stage][0], expected) < 1e-6
    assert largest_difference(expected, alone("AdamW")) > 1e-3


@pytest.mark.parametrize("stage", STAGES)
def test_each_rank_holds_its_share(results, stage):
    """Of the trained weights, by the table; what is frozen lies whole in each rank."""
    net = strange()
    frozen = sum(w.nbytes for w in net.parameters() if not w.requires_grad)
    trained = sum(w.nbytes for w in net.parameters() if w.requires_grad) // 4
    table = bytes_of_state(trained, RANKS, stage)  # every unit here divides by 2
    steps = 4 * sum(w.requires_grad for w in net.parameters())
    for by_case in results:
        _, held = by_case["AdamW", stage]
        assert held["parameters"] == table.weights + frozen
        assert held["optimizer state"] == table.moments + steps
        shares = RANKS if stage == 1 else 1  # whole in stage 1 until `finish`, which has been
        assert held["gradients"] == table.gradients / shares


def test_parts_compute_in_half_precision_and_the_rest_stays_whole(results):
    for by_case in results:
        computed, sizes, gradients, weights, moved = by_case["half"]
        assert computed == [torch.bfloat16]
        assert sizes == [32, 8, 8, 32]
        assert gradients == weights == {torch.float32}
        assert moved


def numbers(rank, ranks):
    """How many numbers of a layer this rank has: by itself, as the one part, and outside of all."""
    found = []
    for parts in (None, "itself", []):
        net = nn.Linear(4, 4, bias=False)
        Sharded(net, 3, [net] if parts == "itself" else parts)
        found.append(net.weight.numel())
    return found


def test_what_is_cut():
    assert launch(numbers, RANKS, timeout=ENOUGH) == [[8, 8, 16]] * RANKS
