"""A GPT split over ranks, by hand and by PyTorch, beside the one that is trained in one process."""

import copy
from functools import cache

import pytest
import torch
import torch.distributed as dist

from labkit.distributed import launch
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.training import Plan, train
from labkit.distributed.launching.live_bytes import bytes_of
from labkit.distributed.messages import recorded
from labkit.distributed.tensor_parallel.counting import counted_calls
from labkit.distributed.tensor_parallel.dtensor import (
    parallelize,
    whole_gradients,
    whole_state,
)
from labkit.distributed.tensor_parallel.group import tensor_group
from labkit.distributed.tensor_parallel.model import split_model
from labkit.distributed.tensor_parallel.split import join_states

ENOUGH = 300.0
SMALL = Config(vocabulary=24, context=12, width=16, heads=4, layers=3)
PLAN = Plan(steps=5, sequences=3, length=7, learning_rate=1e-3)
TOKENS = torch.randint(0, 24, (200,), generator=torch.Generator().manual_seed(7))
ACTIVATION = 3 * 7 * 16 * 4  # N T D numbers of four bytes


def one_process():
    model = GPT(SMALL, seed=3)
    before = loss_and_gradients(model)
    losses = train(model, TOKENS, PLAN)
    return *before, losses, model.state_dict()


def loss_and_gradients(model):
    inputs, targets = PLAN.batch_of(50, TOKENS)
    loss = loss_of(model(inputs), targets)
    loss.backward()
    gradients = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    return loss.item(), gradients


def by_hand(rank, ranks, ways):
    """For each way to add up: loss, gradients, losses and weights of this rank, and its calls."""
    found = {}
    for name in ways:
        model = split_model(GPT(SMALL, seed=3), tensor_group(all_reduce=ADDED_UP[name]))
        with counted_calls() as calls, recorded() as messages:
            loss, gradients = loss_and_gradients(model)
        sent = [message.bytes for message in messages if message.sent]
        losses = train(model, TOKENS, PLAN)
        found[name] = (
            loss,
            gradients,
            losses,
            model.state_dict(),
            calls,
            sent,
            bytes_of(model)["parameters"],
        )
    return found


ADDED_UP = {"torch": None, "ring": ring_all_reduce}


def by_torch(rank, ranks, share_input):
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (ranks,))
    model = parallelize(GPT(SMALL, seed=3), mesh, share_input)
    with counted_calls() as calls:
        inputs, targets = PLAN.batch_of(50, TOKENS)
        loss = loss_of(model(inputs), targets)
        loss.backward()
    gradients = whole_gradients(model)
    size = bytes_of(model)["parameters"]
    losses = train(model, TOKENS, PLAN)
    return loss.item(), gradients, losses, whole_state(model), calls, size


def assert_close(found, expected):
    loss, gradients, losses, weights = found
    assert abs(loss - expected[0]) < 1e-5
    assert losses == pytest.approx(expected[2], abs=1e-5)
    for mine, other in ((gradients, expected[1]), (weights, expected[3])):
        assert list(mine) == list(other)
        for name in mine:
            torch.testing.assert_close(mine[name], other[name], rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def expected():
    return one_process()


def all_trainings(rank, ranks):
    """In one launch, since a process needs two seconds to load optimizers and DTensor."""
    hands = by_hand(rank, ranks, list(ADDED_UP))
    pytorchs = {share_input: by_torch(rank, ranks, share_input) for share_input in SHARED[ranks]}
    return hands, pytorchs


SHARED = {2: (True, False), 4: (True,)}
BY_NIGHT = pytest.mark.night(
    instead="tests/distributed/tensor_parallel/test_tensor_parallel.py::"
    "test_by_hand_it_is_the_training_of_one_process"
)


@cache
def trained(ranks):
    return launch(all_trainings, ranks, timeout=ENOUGH)


@pytest.fixture(params=[2, pytest.param(4, marks=BY_NIGHT)])
def hands(request):
    return [hands for hands, _ in trained(request.param)]


@pytest.fixture(params=[(2, True), (2, False), pytest.param((4, True), marks=BY_NIGHT)])
def pytorchs(request):
    ranks, share_input = request.param
    return share_input, [pytorchs[share_input] for _, pytorchs in trained(ranks)]


@pytest.mark.parametrize("way", ADDED_UP)
def test_by_hand_it_is_the_training_of_one_process(hands, expected, way):
    loss, _, losses, *_ = hands[0][way]
    gradients = join_states([found[way][1] for found in hands], SMALL)
    weights = join_states([found[way][3] for found in hands], SMALL)
    assert_close((loss, gradients, losses, weights), expected)
    assert all(found[way][2] == losses for found in hands), "all ranks see one loss"


def test_by_pytorch_it_is_the_training_of_one_process(pytorchs, expected):
    for found in pytorchs[1]:
        assert_close(found[:4], expected)


def test_the_training_moves_weights_by_much_more_than_the_comparison_allows(expected):
    start = GPT(SMALL, seed=3).state_dict()
    for name, weight in expected[3].items():
        if not name.endswith("key.bias"):  # softmax does not see it: its gradient is 0
            assert (weight - start[name]).abs().max() > 1e-3, name


def test_two_all_reduces_a_block_in_each_direction(hands):
    for found in hands:
        calls = found["torch"][4]
        assert [call.name for call in calls] == ["all_reduce"] * 4 * SMALL.layers
        assert [call.bytes for call in calls] == [ACTIVATION] * 4 * SMALL.layers
        assert [call.backward for call in calls] == [False] * 6 + [True] * 6


def test_what_the_ring_sends_for_them(hands):
    ranks = len(hands)
    for found in hands:
        calls, sent = found["ring"][4:6]
        assert sum(sent) == 4 * SMALL.layers * 2 * (ranks - 1) * ACTIVATION // ranks
        assert len(sent) == 4 * SMALL.layers * 2 * (ranks - 1)
        assert [call.bytes for call in calls if call.name == "send"] == sent


def test_pytorch_needs_as_many_where_q_k_and_v_share_their_input(pytorchs):
    share_input, ranks = pytorchs
    for found in ranks:
        calls = found[4]
        assert {call.name for call in calls} == {"all_reduce"}
        assert {call.bytes for call in calls} == {ACTIVATION}
        backward = sum(call.backward for call in calls)
        assert len(calls) - backward == 2 * SMALL.layers
        assert backward == (2 if share_input else 4) * SMALL.layers


def rank_bytes(ranks):
    """Attention and MLP are shared, but for the biases of their last layers; the rest is whole."""
    split = SMALL.layers * (12 * 16 * 16 + 7 * 16)
    whole = 24 * 16 + 12 * 16 + SMALL.layers * (4 * 16 + 2 * 16) + 2 * 16 + 24 * 16
    assert split + whole == sum(weight.numel() for weight in GPT(SMALL).parameters())
    return 4 * (split // ranks + whole)


def test_weights_of_a_rank_by_hand(hands):
    assert {found["torch"][6] for found in hands} == {rank_bytes(len(hands))}


def test_weights_of_a_rank_by_pytorch(pytorchs):
    found = pytorchs[1]
    assert {one[5] for one in found} == {rank_bytes(len(found))}


def biased():
    """Every bias is far from 0, where a fresh model has none at all."""
    model = GPT(SMALL, seed=3)
    with torch.no_grad():
        for place, (name, weight) in enumerate(model.named_parameters()):
            if name.endswith("bias"):
                weight += torch.linspace(-0.5, 1, len(weight)) / (1 + place % 3)
    return model


def with_biases(rank, ranks):
    model = split_model(biased(), tensor_group())
    return loss_and_gradients(model)


def test_a_bias_that_is_not_zero_is_added_once():
    found = launch(with_biases, 2, timeout=ENOUGH)
    loss, gradients = loss_and_gradients(biased())
    assert abs(found[0][0] - loss) < 1e-5
    whole = join_states([one[1] for one in found], SMALL)
    for name in gradients:
        torch.testing.assert_close(whole[name], gradients[name], rtol=0, atol=1e-5)


def rows_of_a_mesh(rank, ranks):
    """Two models on four ranks, one in each row of a mesh; and what a stranger is told."""
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    row = mesh.get_coordinate()[0]
    start = GPT(SMALL, seed=row)  # the rows differ: a sum over all four ranks would show
    ours = split_model(copy.deepcopy(start), tensor_group(mesh["tensor"].get_group()))
    theirs = parallelize(copy.deepcopy(start), mesh["tensor"])
    expected, gradients = loss_and_gradients(start)
    with counted_calls() as calls:
        loss, _ = loss_and_gradients(ours)
    losses = loss, loss_of(theirs(PLAN.batch_of(50, TOKENS)[0]), PLAN.batch_of(50, TOKENS)[1])
    whole = whole_gradients_after(theirs)
    alone = dist.new_group([0])
    try:
        tensor_group(alone)
        said = ""
    except ValueError as error:
        said = str(error)
    place = tensor_group(mesh["tensor"].get_group())
    close = all((whole[name] - gradients[name]).abs().max() < 1e-5 for name in whole)
    errors = [abs(float(loss) - expected) for loss in losses]
    return (place.rank, place.ranks), errors, close, len(calls), said


def whole_gradients_after(model):
    inputs, targets = PLAN.batch_of(50, TOKENS)
    loss_of(model(inputs), targets).backward()
    return whole_gradients(model)


def test_each_row_of_a_mesh_is_a_group_of_its_own():
    found = launch(rows_of_a_mesh, 4, timeout=ENOUGH)
    assert [one[0] for one in found] == [(0, 2), (1, 2), (0, 2), (1, 2)]
    for rank, (_, errors, close, calls, said) in enumerate(found):
        assert max(errors) < 1e-5 and close
        assert calls == 4 * SMALL.layers
        assert (said == "") == (rank == 0)
        assert rank == 0 or f"rank {rank} of all does not belong" in said


def refused(rank, ranks):
    sentences = []
    try:
        split_model(GPT(SMALL), tensor_group())
    except ValueError as error:
        sentences.append(str(error))
    from torch.distributed.device_mesh import init_device_mesh

    try:
        parallelize(GPT(SMALL), init_device_mesh("cpu", (ranks,)))
    except ValueError as error:
        sentences.append(str(error))
    return sentences


def test_heads_that_the_ranks_do_not_divide_are_refused():
    for sentences in launch(refused, 3, timeout=ENOUGH):
        assert len(sentences) == 2
        assert all("3 ranks cannot share 4 heads evenly" in said for said in sentences)


def test_without_ranks_there_is_no_group():
    with pytest.raises(RuntimeError, match="in a function that `launch` runs"):
        tensor_group()
