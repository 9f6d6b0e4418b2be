"""What a timed step computes, by PyTorch's counter; how long it takes is nobody's test."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.costs.language_models import LanguageModel
from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.a_tokens_cost.inference_timing import measure_again, measure_step

CONFIG = Config(context=12, width=8, heads=2, layers=2)


@pytest.mark.parametrize(("new", "past", "sequences"), [(1, 11, 1), (5, 0, 1), (1, 3, 4)])
def test_every_round_does_the_whole_step(new, past, sequences):
    model = GPT(CONFIG)
    with FlopCounterMode(display=False) as counter:
        assert measure_step(model, new, past, sequences, rounds=3) > 0
    once = sequences * LanguageModel.of(CONFIG).forward_flops(new, past)
    assert counter.get_total_flops() == (1 + 3) * once


def test_without_a_cache_every_token_is_computed():
    with FlopCounterMode(display=False) as counter:
        assert measure_again(GPT(CONFIG), 10, rounds=2) > 0
    assert counter.get_total_flops() == (1 + 2) * LanguageModel.of(CONFIG).forward_flops(10)


def test_nothing_to_time_is_refused_with_a_sentence():
    model = GPT(CONFIG)
    for rounds in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match="1 round or more"):
            measure_step(model, rounds=rounds)
    for tokens in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match=r"measure_again: .* give a whole number from 1 on"):
            measure_again(model, tokens)
