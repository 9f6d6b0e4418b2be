"""What travels in inference: counted two ways, also of a program that does send its weights."""

import pytest
import torch
import torch.distributed as dist

from labkit.distributed import launch, recorded
from labkit.distributed.gpt.text import batch, emma
from labkit.distributed.gpt.weights import trained
from labkit_lessons.distributed.serving.inference import LENGTH, SEQUENCES, infer

WAYS = ("tensor parallel", "data parallel")


def all_ways(rank, ranks):
    found = {}
    for way in WAYS:
        with recorded() as messages:
            one = infer(rank, ranks, way, 2)
        found[way] = one, [message.bytes for message in messages if message.sent]
    return found


def synchronised(rank, ranks, way):
    """As somebody may think it has to be: rank 0 gets every weight after each batch."""

    def after_batch(model):
        for weight in model.state_dict().values():
            dist.reduce(weight.clone(), dst=0)

    return infer(rank, ranks, way, 2, after_batch)


def changed(rank, ranks):
    """A weight that moves by the smallest step there is."""

    def after_batch(model):
        bias = model.final_norm.bias
        bias[0] = torch.nextafter(bias[0], bias[0] + 1)

    return infer(rank, ranks, "data parallel", 1, after_batch)


def alone():
    model = trained()
    tokens = []
    for number in range(2):
        inputs, _ = batch(emma().validation, number, SEQUENCES, LENGTH)
        with torch.no_grad():
            tokens.append(model(inputs)[:, -1].argmax(1))
    return torch.stack(tokens)


@pytest.fixture(scope="module")
def inferences():
    return launch(all_ways, 2)


def test_only_activations_travel_and_no_weight_moves(inferences):
    ranks = len(inferences)
    for way in WAYS:
        for one, sent in [rank[way] for rank in inferences]:
            assert one.unchanged and one.other == 0 and one.sent == sum(sent)
            assert one.sends == len(sent)
    size = SEQUENCES * LENGTH * 128 * 4
    by_formula = 2 * 8 * (2 * (ranks - 1) * size // ranks)  # batches, halves of blocks
    assert all(rank["tensor parallel"][0].sent == by_formula for rank in inferences)
    assert all(rank["data parallel"][0].sent == 0 for rank in inferences)
    whole = sum(weight.nbytes for weight in trained().state_dict().values())
    assert inferences[0]["data parallel"][0].weights == whole
    assert inferences[0]["tensor parallel"][0].weights < whole


def test_the_tokens_are_those_of_one_process(inferences):
    for one in inferences:
        assert torch.equal(one["tensor parallel"][0].tokens, alone())
    parts = [one["data parallel"][0].tokens for one in inferences]
    assert torch.equal(torch.cat(parts, 1), alone())


@pytest.mark.parametrize("way", WAYS)
def test_weights_that_do_travel_are_seen(way):
    for one in launch(synchronised, 2, way):
        assert one.other == 2 * one.weights > 0


def test_one_bit_of_one_weight_is_seen():
    assert not any(one.unchanged for one in launch(changed, 2))


def test_another_way_gets_a_sentence():
    with pytest.raises(ValueError, match="neither 'tensor parallel' nor 'data parallel'"):
        infer(0, 1, "pipeline", 1)
