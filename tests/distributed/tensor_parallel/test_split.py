"""Weights cut for ranks and joined again, and what is refused."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.tensor_parallel.split import join_states, split_axis, split_state

SMALL = Config(vocabulary=24, context=12, width=16, heads=4, layers=2)


@given(
    ranks=some.sampled_from([1, 2, 3, 4, 6]),
    head_width=some.integers(1, 2),
    layers=some.integers(1, 2),
)
def test_joined_parts_are_the_original_in_every_bit(ranks, head_width, layers):
    config = Config(vocabulary=10, context=5, width=12 * head_width, heads=12, layers=layers)
    state = GPT(config, seed=1).state_dict()
    state = {name: torch.randn_like(tensor) for name, tensor in state.items()}  # biases, too
    parts = [split_state(state, config, rank, ranks) for rank in range(ranks)]
    whole = join_states(parts, config)
    assert list(whole) == list(state)
    assert all(torch.equal(whole[name], state[name]) for name in state)


def test_which_rank_has_which_rows():
    state = GPT(SMALL).state_dict()
    part = split_state(state, SMALL, rank=1, ranks=2)
    query, output = "blocks.0.attention.query.weight", "blocks.1.attention.output.weight"
    assert torch.equal(part[query], state[query][8:])
    assert torch.equal(part[output], state[output][:, 8:])
    expand, bias = "blocks.1.mlp.expand.bias", "blocks.1.mlp.contract.bias"
    assert torch.equal(part[expand], state[expand][32:])
    assert torch.equal(part[bias], state[bias])
    assert split_axis("head.weight") is None


def test_a_part_shares_no_memory_with_the_whole():
    state = GPT(SMALL).state_dict()
    part = split_state(state, SMALL, rank=0, ranks=2)
    before = {name: tensor.clone() for name, tensor in state.items()}
    for tensor in part.values():
        tensor.fill_(9)
    assert all(torch.equal(before[name], state[name]) for name in state)


@pytest.mark.parametrize(
    ("rank", "ranks", "says"),
    [
        (0, 3, "3 ranks cannot share 4 heads evenly"),
        (0, 8, "8 ranks cannot share 4 heads"),
        (2, 2, "no rank 2 among 2"),
        (-1, 2, "no rank -1"),
        (0, 0, "a whole number from 1 on"),
        (0, 2.0, "a whole number from 1 on"),
    ],
)
def test_ranks_that_do_not_fit_are_refused(rank, ranks, says):
    with pytest.raises(ValueError, match=says):
        split_state(GPT(SMALL).state_dict(), SMALL, rank, ranks)


def without(state, name):
    return {other: tensor for other, tensor in state.items() if other != name}


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda s: without(s, "head.weight"), "head.weight is missing"),
        (lambda s: s | {"head.bias": torch.zeros(1)}, "this GPT has no head.bias"),
        (lambda s: s | {"head.weight": torch.zeros(24, 8)}, r"\[24, 8\], and should be \[24, 16\]"),
    ],
)
def test_the_weights_of_another_model_are_refused(broken, says):
    with pytest.raises(ValueError, match=says):
        split_state(broken(GPT(SMALL).state_dict()), SMALL, 0, 2)


def test_parts_that_do_not_fit_together_are_refused():
    state = GPT(SMALL).state_dict()
    parts = [split_state(state, SMALL, rank, 2) for rank in range(2)]
    with pytest.raises(ValueError, match="rank 0 does not have a part for 4 ranks"):
        join_states(parts + parts, SMALL)
    with pytest.raises(ValueError, match="a whole number from 1 on"):
        join_states([], SMALL)
    parts[1]["final_norm.bias"] += 1e-3
    with pytest.raises(ValueError, match=r"final_norm\.bias is not the same in ranks 0 and 1"):
        join_states(parts, SMALL)
