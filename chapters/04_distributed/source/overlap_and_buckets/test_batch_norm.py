"""Synchronised BatchNorm on ranks against torch's BatchNorm on one big batch."""

import pytest
import torch
from torch import nn

from labkit.distributed import LaunchError, launch
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.ddp import DataParallel
from labkit.distributed.one_big_batch import gradients, largest_difference, weights
from labkit_lessons.distributed.overlap_and_buckets.batch_norm import (
    SynchronisedBatchNorm,
    synchronised,
)

ENOUGH = 300.0
ROWS = [1, 4, 2]  # of each rank
CASES = {  # how the layer is made, and the shape behind the rows
    "images": (lambda: nn.BatchNorm2d(3), (3, 4, 5)),
    "vectors": (lambda: nn.BatchNorm1d(4), (4,)),
    "momentum, eps": (lambda: nn.BatchNorm1d(2, eps=0.1, momentum=0.7), (2, 3)),
    "cumulative": (lambda: nn.BatchNorm1d(2, momentum=None), (2,)),
    "no affine": (lambda: nn.BatchNorm1d(2, affine=False), (2,)),
    "no buffers": (lambda: nn.BatchNorm1d(2, track_running_stats=False), (2,)),
}


def layer(case):
    made = CASES[case][0]()
    if made.affine:
        with torch.no_grad():
            made.weight.copy_(torch.linspace(-1, 2, made.num_features))
            made.bias.copy_(torch.linspace(3, -2, made.num_features))
    return made


def data(case, step):
    """x of all ranks, far from 0, and dL/dy."""
    generator = torch.Generator().manual_seed(step)
    x = 3 * torch.randn(sum(ROWS), *CASES[case][1], generator=generator) + 20
    return x, torch.randn(x.shape, generator=generator)


def run(norm, x, dy):
    """What two training steps and an evaluation give."""
    found = []
    for k in range(2):
        norm.zero_grad()
        inputs = x[k].clone().requires_grad_()
        y = norm(inputs)
        y.backward(dy[k])
        found.append([y.detach(), inputs.grad, gradients(norm), dict(norm.named_buffers())])
    norm.eval()
    return found, norm(x[0]).detach(), {k: b.clone() for k, b in norm.named_buffers()}


def on_a_rank(rank, ranks):
    found = {}
    cuts = [slice(sum(ROWS[:r]), sum(ROWS[: r + 1])) for r in range(ranks)]
    for case in CASES:
        steps = [data(case, k) for k in range(2)]
        x, dy = ([one[cuts[rank]] for one in pair] for pair in zip(*steps, strict=True))
        for all_reduce in (None, ring_all_reduce):
            named = {} if all_reduce is None else {"all_reduce": all_reduce}
            found[case, all_reduce is None] = run(synchronised(layer(case), **named), x, dy)
    return found


def close(ours, exact):
    return ours.dtype == torch.float32 and torch.allclose(
        ours.double(), exact, rtol=1e-6, atol=1e-6
    )


@pytest.fixture(scope="module")
def everywhere():
    return launch(on_a_rank, len(ROWS), timeout=ENOUGH)


@pytest.mark.parametrize("by_the_backend", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_ranks_normalise_as_one_big_batch(everywhere, case, by_the_backend):
    """The oracle is torch's layer in float64."""
    steps = [data(case, k) for k in range(2)]
    exact = [[one.double() for one in pair] for pair in zip(*steps, strict=True)]
    expected, evaluated, buffers = run(layer(case).double(), *exact)
    found = [rank[case, by_the_backend] for rank in everywhere]
    for k in range(2):
        for part in range(2):  # y, dx
            assert close(torch.cat([rank[0][k][part] for rank in found]), expected[k][part])
        for name, gradient in expected[k][2].items():
            assert close(sum(rank[0][k][2][name] for rank in found), gradient), name
    for rank in found:
        assert rank[2].keys() == buffers.keys()
        for name, value in buffers.items():
            assert torch.allclose(rank[2][name].double(), value.double(), rtol=1e-6), name
    if buffers:
        assert close(torch.cat([rank[1] for rank in found]), evaluated), "in eval mode"


def test_a_network_with_batch_norm_trains_as_on_one_big_batch():
    """Through DataParallel; without `synchronised` the same is far off."""

    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))

    def batches(rank):
        generator = torch.Generator().manual_seed(rank)
        return (rank + 1) * torch.randn(4, 3, generator=generator) + rank

    def step(model, x):
        loss = (model(x) ** 2).mean()
        loss.backward()

    def program(rank, ranks):
        found = []
        for change in (synchronised, lambda module: module):
            module = change(net())
            model = DataParallel(module, bucket_bytes=64)
            step(model, batches(rank))
            model.finish()
            found.append(gradients(module))
        return found

    alone = net()
    step(alone, torch.cat([batches(rank) for rank in range(2)]))
    for together, apart in launch(program, 2, timeout=ENOUGH):
        assert largest_difference(together, gradients(alone)) < 1e-6
        assert largest_difference(apart, gradients(alone)) > 1e-2


def test_synchronised_keeps_weights_names_and_mode():
    net = nn.Sequential(nn.Sequential(nn.BatchNorm1d(2)), nn.Linear(2, 2)).eval()
    before = net.state_dict()
    weight = net[0][0].weight
    changed = synchronised(net)
    assert isinstance(changed[0][0], SynchronisedBatchNorm)
    assert changed[0][0].weight is weight and not changed[0][0].training
    assert changed.state_dict().keys() == before.keys()
    assert largest_difference(weights(changed), weights(net)) == 0


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [((1, 2), "one value for each channel"), ((3, 4), r"x is \[3, 4\], not \[N, 2, ...\]")],
)
def test_what_is_refused(shape, sentence):
    def program(rank, ranks):
        SynchronisedBatchNorm(2)(torch.ones(shape))

    with pytest.raises(LaunchError, match=sentence):
        launch(program, 1, timeout=ENOUGH)
