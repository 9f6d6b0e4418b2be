"""Averaged parameters against averaged gradients: alike for plain SGD and H = 1, not otherwise."""

import pytest
import torch

from labkit.distributed import data_parallel, launch, one_big_batch, recorded
from labkit.distributed.small_training import network
from labkit_lessons.distributed.fewer_bytes import local_sgd

ENOUGH = 300.0
STEPS = 4
BYTES = 4 * sum(weight.numel() for weight in network().parameters())


def batches(rank):
    """Four batches of this rank, which differ between ranks."""
    generator = torch.Generator().manual_seed(rank)
    draw = lambda: torch.randn(3, 3, 16, 16, generator=generator)  # noqa: E731
    labels = lambda: torch.randint(0, 10, (3,), generator=generator)  # noqa: E731
    return [(draw(), labels()) for _ in range(STEPS)]


def optimiser_of(name, model):
    if name == "Adam":
        return torch.optim.Adam(model.parameters(), lr=0.01)
    momentum = 0.9 if name == "momentum" else 0.0
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)


def both(rank, ranks):
    """By optimiser and H: the largest difference between both kinds of averages, and the bytes."""
    found = {}
    for name in ("plain", "momentum", "Adam"):
        together = network()
        optimiser = optimiser_of(name, together)
        for images, labels in batches(rank):
            one_big_batch.forward_backward(together, images, labels)
            data_parallel.average_gradients(together)
            optimiser.step()
        for every in (1, 2):
            alone = network()
            with recorded() as messages:
                local_sgd.train(alone, batches(rank), optimiser_of(name, alone), every)
            sent = sum(message.bytes for message in messages if message.sent)
            ours, theirs = one_big_batch.weights(alone), one_big_batch.weights(together)
            found[name, every] = one_big_batch.largest_difference(ours, theirs), sent
    return found


@pytest.fixture(scope="module")
def two_ranks():
    return launch(both, 2, timeout=ENOUGH)


def test_one_plain_local_step_is_data_parallel_training(two_ranks):
    for rank in two_ranks:
        assert rank["plain", 1][0] < 1e-6


def test_momentum_is_linear_too(two_ranks):
    """Velocities differ between ranks, but their mean is that of the mean gradient."""
    for rank in two_ranks:
        assert rank["momentum", 1][0] < 1e-6


@pytest.mark.parametrize("case", [("plain", 2), ("Adam", 1), ("Adam", 2)])
def test_adam_and_several_steps_are_something_else(two_ranks, case):
    for rank in two_ranks:
        assert rank[case][0] > 1e-4


def test_h_steps_send_one_hth_of_the_bytes(two_ranks):
    """Between two ranks each all-reduce sends the weights once from each rank."""
    for rank in two_ranks:
        assert rank["plain", 1][1] == pytest.approx(STEPS * BYTES, rel=1e-3)
        assert rank["plain", 2][1] == pytest.approx(STEPS / 2 * BYTES, rel=1e-3)


def test_a_federated_round_weighs_the_ranks_by_their_examples():
    """Rank 1 has three times as many examples; with one step each it is a step of all of them."""

    def program(rank, ranks):
        count = 3 if rank else 1
        mine = batches(0)[0][0][:1], batches(0)[0][1][:1]
        if rank:
            mine = batches(1)[0]
        model = network()
        local_sgd.federated_round(model, [mine], optimiser_of("plain", model), count)
        return one_big_batch.weights(model)

    images = torch.cat([batches(0)[0][0][:1], batches(1)[0][0]])
    labels = torch.cat([batches(0)[0][1][:1], batches(1)[0][1]])
    model = network()
    one_big_batch.step(model, images, labels, 0.1)
    for rank in launch(program, 2, timeout=ENOUGH):
        assert one_big_batch.largest_difference(rank, one_big_batch.weights(model)) < 1e-6


def test_ranks_of_a_federated_round_may_make_unlike_numbers_of_steps():
    def program(rank, ranks):
        model = network()
        mine = batches(rank)[: 1 + rank]
        optimiser = optimiser_of("plain", model)
        losses = local_sgd.federated_round(model, mine, optimiser, len(mine), epochs=2)
        return len(losses), one_big_batch.weights(model)

    (first, weights), (second, others) = launch(program, 2, timeout=ENOUGH)
    assert (first, second) == (2, 4)
    assert one_big_batch.largest_difference(weights, others) == 0


@pytest.mark.parametrize("every", [0, -1, 1.0, True])
def test_an_interval_that_is_none(every):
    with pytest.raises(ValueError, match="every is a whole number from 1 on"):
        local_sgd.train(network(), [], None, every)


def test_no_examples_anywhere():
    def program(rank, ranks):
        model = network()
        try:
            local_sgd.federated_round(model, [], optimiser_of("plain", model), 0)
        except ValueError as error:
            return str(error)

    assert launch(program, 1, timeout=ENOUGH) == ["federated_round: no rank has examples."]
