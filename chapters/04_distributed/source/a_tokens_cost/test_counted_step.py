"""A step's counts beside the formulas; and that the step is really run."""

import pytest

from labkit.distributed.costs.inference_costs import work
from labkit.distributed.costs.language_models import LanguageModel
from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.a_tokens_cost.counted_step import counted_again, counted_step
from labkit_lessons.distributed.a_tokens_cost.moved_bytes import KINDS, REST

CONFIG = Config(vocabulary=11, context=16, width=8, heads=2, layers=3)


@pytest.mark.parametrize(
    ("new", "past", "sequences"), [(1, 15, 1), (7, 0, 1), (2, 5, 3), (16, 0, 2)]
)
def test_counts_are_those_of_the_formulas(new, past, sequences):
    step = counted_step(GPT(CONFIG), new, past, sequences)
    sizes = LanguageModel.of(CONFIG)
    expected = work(sizes, new, past, sequences, size=4)
    assert step.flops == expected.flops
    assert step.attention_flops == sequences * sizes.attention_flops(new, past)
    assert tuple(step.bytes) == KINDS
    assert sum(step.bytes.values()) - step.bytes[REST] == expected.bytes


def test_twice_the_blocks_are_twice_the_operations():
    deep = Config(vocabulary=11, context=16, width=8, heads=2, layers=6)
    outside = (
        2 * counted_step(GPT(CONFIG), 1, 3).operations - counted_step(GPT(deep), 1, 3).operations
    )
    assert 0 < outside < 10


def test_a_step_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a room for 17 tokens; the model reads 1 to 16"):
        counted_step(GPT(CONFIG), 2, 15)


@pytest.mark.parametrize("tokens", [0, -1, 2.5, "3"])
def test_a_text_of_no_tokens_is_refused(tokens):
    with pytest.raises(ValueError, match=r"counted_again: .* give a whole number from 1 on"):
        counted_again(GPT(CONFIG), tokens)


def test_without_a_cache_all_tokens_are_computed():
    sizes = LanguageModel.of(CONFIG)
    assert counted_again(GPT(CONFIG), 13) == sizes.forward_flops(13)
    assert counted_again(GPT(CONFIG), 13) == 13 * counted_step(GPT(CONFIG), 1, 12).flops
