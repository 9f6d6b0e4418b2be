"""Data x tensor and data x pipeline of the small GPT in four ranks, against one process."""

import pytest

from labkit.distributed import launch, recorded
from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit.distributed.tensor_parallel.counting import counted_calls
from labkit_lessons.distributed.hybrid_and_sharded import fsdp2
from labkit_lessons.distributed.hybrid_and_sharded import two_dimensions as two
from labkit_lessons.distributed.hybrid_and_sharded.pretended import pretended
from labkit_lessons.distributed.hybrid_and_sharded.trained import mean_losses, train_stage
from tests.distributed.sharded.gpt_runs import CONFIG, PLAN, largest_difference

ENOUGH = 300.0
SIDES = (2, 2)
WAYS = {"tensor": two.data_and_tensor, "pipeline": two.data_and_pipeline}
BOUNDS = {"tensor": 1e-5, "pipeline": 1e-10}


@pytest.fixture(scope="module", params=WAYS)
def layout(request):
    return request.param


def model_of(layout):
    """In a pipeline every number has 8 bytes: then the order of sums does not matter to 1e-10."""
    return GPT(CONFIG).double() if layout == "pipeline" else GPT(CONFIG)


@pytest.fixture(scope="module")
def reference(layout):
    model = model_of(layout)
    return train(model, emma().train, PLAN), two.weights_of(model)


def counted(rank, ranks, layout):
    """What a training gives, what this rank called and sent in it, and the bytes of its weights."""
    with counted_calls() as calls, recorded() as messages:
        losses, weights = WAYS[layout](rank, ranks, model_of(layout), emma().train, PLAN, SIDES)
    sent = [(message.target, message.bytes) for message in messages if message.sent]
    return losses, weights, calls, sent


def both(rank, ranks):
    return {way: counted(rank, ranks, way) for way in WAYS}


@pytest.fixture(scope="module")
def trained():
    return launch(both, 4, timeout=ENOUGH)


@pytest.fixture(scope="module")
def results(layout, trained):
    return [by_way[layout] for by_way in trained]


def test_a_mesh_trains_as_one_process_does(layout, results, reference):
    losses, weights = reference
    ran = [found[:2] for found in results]
    known = mean_losses([found for found, _ in ran if found[0] is not None])
    assert known == pytest.approx(losses, abs=BOUNDS[layout], rel=0)
    for first in (0, 2):  # both copies of the model
        part = ran[first : first + 2]
        if layout == "tensor":
            whole = two.joined_tensor(part, SIDES, CONFIG)
        else:
            whole = two.joined_pipeline(part, SIDES)
        assert largest_difference(whole, weights) < BOUNDS[layout]


def test_each_rank_has_a_part_only_and_its_data_group_the_same_one(results, reference):
    all_of_it = sum(weight.numel() for weight in reference[1].values())
    for one, other in ((0, 2), (1, 3)):
        assert largest_difference(results[one][1], results[other][1]) == 0
        assert sum(weight.numel() for weight in results[one][1].values()) < 0.7 * all_of_it
    assert results[1][0] != results[3][0], "the copies see different sequences"


def test_every_byte_is_of_an_activation_or_of_the_own_gradients(layout, results):
    """Activations go within a copy, and the gradients of a rank's part over the data, once."""
    sequences = PLAN.sequences // 2
    for rank, (_, weights, calls, sent) in enumerate(results):
        own = sum(weight.nbytes for weight in weights.values())
        summed = [call.bytes for call in calls if call.name == "all_reduce"]
        assert len(calls) == len(summed)
        if layout == "tensor":
            activation = sequences * PLAN.length * CONFIG.width * 4
            step = [activation] * 4 * CONFIG.layers + [own]
            assert summed == PLAN.steps * step and sent == []
        else:
            message = sequences // 2 * PLAN.length * CONFIG.width * 8  # of two micro-batches
            neighbour = rank + 1 if rank % 2 == 0 else rank - 1
            assert summed == PLAN.steps * [own]
            assert sent == PLAN.steps * 2 * [(neighbour, message)]


def attempt(what):
    tokens, model = emma().train, GPT(CONFIG)
    if what == "sides":
        two.data_and_tensor(0, 4, model, tokens, PLAN, (2, 3))
    if what == "heads":
        two.data_and_tensor(0, 4, model, tokens, PLAN, (1, 4))
    if what == "layers":
        two.data_and_pipeline(0, 4, model, tokens, PLAN, (1, 4))
    if what == "sequences":
        plan = Plan(steps=1, sequences=7, length=4)
        two.data_and_tensor(0, 4, model, tokens, plan, (2, 2))
    if what in ("a stage's sequences", "FSDP2's sequences"):
        plan = Plan(steps=1, sequences=6, length=4)
        program = train_stage if "stage" in what else fsdp2.train
        program(0, 4, model, tokens, plan, 3 if "stage" in what else (4,))


SENTENCES = {
    "sides": r"2 x 3 \(data x tensor\) has 6 ranks, and there are 4: the sides multiply",
    "heads": "4 ranks cannot share 2 heads evenly",
    "layers": "2 blocks do not divide into 4 stages",
    "a stage's sequences": "6 sequences do not divide into 4 equal parts",
    "FSDP2's sequences": "6 sequences do not divide into 4 equal parts",
    "sequences": "7 sequences do not divide into 2 equal parts",
}


@pytest.mark.parametrize("what", SENTENCES)
def test_what_does_not_divide_is_told(what):
    with pretended(4), pytest.raises(ValueError, match=SENTENCES[what]):
        attempt(what)
