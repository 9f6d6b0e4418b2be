"""Generation with a KV cache beside the one without, token for token, and the cache's bytes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.costs.language_models import LanguageModel
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import encode
from labkit.distributed.gpt.weights import trained
from labkit.distributed.launching.live_bytes import counted_bytes
from labkit_lessons.distributed.a_tokens_cost import generation
from labkit_lessons.distributed.a_tokens_cost.cache import Cache, Reader, generate, read
from labkit_lessons.distributed.a_tokens_cost.cache_by_function import FunctionReader
from tests.night import others_by_night

SMALL = Config(vocabulary=80, context=9, width=12, heads=3, layers=2)


@pytest.fixture(scope="module")
def small():
    """Of random weights, larger than a fresh model's, so that it prefers some characters."""
    model = GPT(SMALL, seed=3).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 10
    return model


def attend_one(q, k, v, keys, values):
    """An answer to the exercise, with einsum."""
    keys, values = np.concatenate([keys, [k]]), np.concatenate([values, [v]])
    group = len(q) // len(k)
    wide_keys, wide_values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
    scores = np.exp(np.einsum("hw,thw->ht", q, wide_keys) / np.sqrt(q.shape[1]))
    weights = scores / scores.sum(axis=1, keepdims=True)
    return np.einsum("ht,thw->hw", weights, wide_values), keys, values


HERE = "chapters/04_distributed/source/a_tokens_cost/test_cache.py::"
SAME = HERE + "test_the_trained_model_writes_the_same_with_and_without_a_cache"


@pytest.mark.parametrize("temperature", others_by_night([0.8, 0, 1.5], SAME))
@pytest.mark.parametrize("seed", others_by_night([0, 1], SAME))
def test_the_trained_model_writes_the_same_with_and_without_a_cache(temperature, seed):
    """200 characters: from the 124th on, the context of 128 is full."""
    model = trained()
    expected = generation.generate(model, "Emma ", 200, temperature, seed)
    assert generate(model, "Emma ", 200, temperature, seed) == expected
    assert len(set(expected)) > 10


@pytest.mark.parametrize("prompt", ["E", "Emma Wood", "Emma Woodhouse, handsome"])
def test_short_and_long_prompts(small, prompt):
    """Of 1, of 9 tokens, which fill the context, and of more than it holds."""
    for temperature in (0, 1):
        expected = generation.generate(small, prompt, 30, temperature, seed=5)
        assert generate(small, prompt, 30, temperature, seed=5) == expected


@settings(max_examples=20, deadline=None)
@given(
    parts=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    sequences=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_logits_of_any_parts_are_those_of_the_whole(parts, sequences, seed):
    config = Config(vocabulary=11, context=16, width=6, heads=2, layers=2)
    model = GPT(config, seed).double()
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, 11, (sequences, sum(parts)), generator=random)
    cache = Cache(model, sequences)
    found = [read(model, part, cache) for part in tokens.split(parts, dim=1)]
    assert torch.allclose(torch.cat(found, dim=1), model(tokens), atol=1e-12)


def test_each_token_is_read_once_while_the_context_lasts(small):
    """Counted: a reader that read everything again would be right, too, and cost more."""
    sizes = LanguageModel.of(SMALL)
    reader = Reader(small)
    text = encode("Emma Woodhouse")
    for length in range(1, 15):
        with FlopCounterMode(display=False) as counter:
            reader.logits(text[:length])
        new = 1 if length <= 9 else 9
        assert counter.get_total_flops() == sizes.forward_flops(new, min(length, 9) - new)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("sequences", "room"), [(1, None), (3, 5), (2, 1)])
def test_the_cache_takes_the_bytes_of_the_formula(dtype, sequences, room):
    model = GPT(SMALL).to(dtype)
    with counted_bytes() as memory:
        cache = Cache(model, sequences, room)
    per_token = LanguageModel.of(SMALL).kv_bytes_per_token(dtype.itemsize)
    assert memory.now == cache.bytes == sequences * (room or 9) * per_token


def test_reading_makes_the_cache_no_larger(small):
    with counted_bytes() as memory:
        cache = Cache(small)
        for token in encode("Emma Wood"):
            read(small, token.reshape(1, 1), cache)
    assert memory.now == cache.bytes == 9 * LanguageModel.of(SMALL).kv_bytes_per_token(8)


def test_the_model_writes_the_same_with_a_function_for_attention(small):
    expected = generation.generate(small, "Em", 7, 0)
    assert generate(small, "Em", 7, 0, reader=FunctionReader(small, attend_one)) == expected
    model = trained().double()
    expected = generation.generate(model, "Emma ", 40, 0.8)
    assert generate(model, "Emma ", 40, 0.8, reader=FunctionReader(model, attend_one)) == expected


def test_a_wrong_function_writes_something_else(small):
    def without_itself(q, k, v, keys, values):
        if not len(keys):
            return attend_one(q, k, v, keys, values)
        mixed, _, _ = attend_one(q, keys[-1], values[-1], keys[:-1], values[:-1])
        return mixed, np.concatenate([keys, [k]]), np.concatenate([values, [v]])

    text = encode("Emma Woo")
    right = FunctionReader(small, attend_one).logits(text)
    wrong = FunctionReader(small, without_itself).logits(text)
    assert not torch.allclose(wrong, right, atol=1e-3)


def test_a_function_reader_ends_with_the_context(small):
    with pytest.raises(ValueError, match="10 tokens do not fit into a context of 9"):
        FunctionReader(small, attend_one).logits(encode("Emma Woodh"))


def test_nonsense_is_refused_with_a_sentence(small):
    with pytest.raises(ValueError, match="0 sequences; there is at least 1"):
        Cache(small, 0)
    with pytest.raises(ValueError, match="'3' sequences; there is at least 1"):
        Cache(small, "3")
    for room in (0, 10, 2.5, "3"):
        with pytest.raises(ValueError, match=f"a room for {room} tokens; the model reads 1 to 9"):
            Cache(small, room=room)
    cache = Cache(small, room=3)
    with pytest.raises(ValueError, match="2 sequences, and a cache for 1"):
        read(small, torch.zeros(2, 1, dtype=torch.int64), cache)
    with pytest.raises(ValueError, match="there is no new token"):
        read(small, torch.zeros(1, 0, dtype=torch.int64), cache)
    read(small, torch.zeros(1, 2, dtype=torch.int64), cache)
    with pytest.raises(ValueError, match="2 tokens are in the cache, and 2 more do not fit"):
        read(small, torch.zeros(1, 2, dtype=torch.int64), cache)
    with pytest.raises(ValueError, match="the prompt is empty"):
        generate(small, "", 3)
    with pytest.raises(ValueError, match="-1 tokens; give 0 or more"):
        generate(small, "Emma", -1)
    with pytest.raises(ValueError, match=r"2\.5 tokens; give 0 or more"):
        generate(small, "Emma", 2.5)
