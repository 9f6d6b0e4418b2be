"""Data parallel steps against one big batch in one process, which autograd does alone."""

from itertools import pairwise

import pytest
import torch
from torch.nn.functional import cross_entropy

from labkit import convnet
from labkit.distributed import LaunchError, data_parallel, launch, one_big_batch

ENOUGH = 300.0
BATCH = 8
STEPS = 3
RATE = 0.05


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels, the same in every process."""
    generator = torch.Generator().manual_seed(step)
    images = torch.randn(BATCH, 3, 32, 32, generator=generator)
    return images, torch.randint(0, 10, (BATCH,), generator=generator)


def shards(ranks: int) -> list[slice]:
    """Uneven ones: for 3 ranks 1, 2 and 5 of 8 rows."""
    cuts = {1: [0, 8], 2: [0, 3, 8], 3: [0, 1, 3, 8]}[ranks]
    return [slice(a, b) for a, b in pairwise(cuts)]


def trained(model, part=slice(None), stepper=one_big_batch.step, **options):
    """(losses, gradients of the last step, weights)"""
    losses = []
    for step in range(STEPS):
        images, labels = batch(step)
        losses.append(stepper(model, images[part], labels[part], RATE, **options))
    return losses, one_big_batch.gradients(model), one_big_batch.weights(model)


def one_process():
    torch.manual_seed(0)
    return trained(convnet.torch_model())


def on_a_rank(rank, ranks):
    torch.manual_seed(rank)  # so that ranks begin apart
    model = convnet.torch_model()
    data_parallel.same_weights(model)
    part = shards(ranks)[rank]
    share = (part.stop - part.start) / BATCH
    return trained(model, part, data_parallel.step, share=share)


@pytest.mark.parametrize("ranks", [1, 3])
def test_uneven_shards_train_like_one_big_batch(ranks):
    losses, gradients, weights = one_process()
    for rank_losses, rank_gradients, rank_weights in launch(on_a_rank, ranks, timeout=ENOUGH):
        assert one_big_batch.largest_difference(rank_gradients, gradients) < 1e-6
        assert one_big_batch.largest_difference(rank_weights, weights) < 1e-6
        assert ranks == 1 or rank_losses != losses, "a rank sees the loss of its shard"


def test_the_plain_mean_is_right_for_equal_shards_alone():
    def program(rank, ranks):
        torch.manual_seed(0)
        even = trained(convnet.torch_model(), slice(rank, None, ranks), data_parallel.step)
        torch.manual_seed(0)
        part = shards(ranks)[rank]
        uneven = trained(convnet.torch_model(), part, data_parallel.step)
        return even[2], uneven[2]

    _, _, weights = one_process()
    for even, uneven in launch(program, 2, timeout=ENOUGH):
        assert one_big_batch.largest_difference(even, weights) < 1e-6
        assert one_big_batch.largest_difference(uneven, weights) > 1e-4


def test_one_step_is_plain_gradient_descent():
    """Against torch.optim.SGD."""
    torch.manual_seed(0)
    model = convnet.torch_model()
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        images, labels = batch(step)
        optimiser.zero_grad()
        cross_entropy(model(images), labels).backward()
        optimiser.step()
    theirs = one_big_batch.weights(model)
    assert one_big_batch.largest_difference(one_process()[2], theirs) < 1e-7


def test_buffers_are_made_the_same_too():
    def program(rank, ranks):
        model = torch.nn.BatchNorm1d(2)
        model.running_mean.fill_(rank)
        data_parallel.same_weights(model, root=1)
        return model.running_mean.tolist()

    assert launch(program, 2, timeout=ENOUGH) == [[1.0, 1.0]] * 2


def test_a_weight_without_gradient_is_told():
    def program(rank, ranks):
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2)).sum().backward()
        model.bias.grad = None
        data_parallel.average_gradients(model)

    with pytest.raises(LaunchError, match=r"bias has no gradient\. Call backward"):
        launch(program, 1, timeout=ENOUGH)


def test_what_is_absent_differs():
    ours = {"weight": torch.ones(1)}
    with pytest.raises(ValueError, match="bias is on one side only"):
        one_big_batch.largest_difference(ours, ours | {"bias": torch.ones(1)})
