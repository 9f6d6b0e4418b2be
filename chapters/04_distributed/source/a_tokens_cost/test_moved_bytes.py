"""Counted bytes beside sums by hand, and beside the formula for a step with a cache."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.costs.inference_costs import work
from labkit.distributed.costs.language_models import LanguageModel
from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.a_tokens_cost.cache import Cache, read
from labkit_lessons.distributed.a_tokens_cost.moved_bytes import (
    CACHE_READ,
    CACHE_WRITTEN,
    REST,
    WEIGHTS,
    moved_bytes,
)


def counted(code):
    with moved_bytes() as moved:
        code()
    return moved


def test_a_product_reads_both_and_writes_one():
    a, b = torch.ones(2, 3), torch.ones(3, 5)
    assert counted(lambda: a @ b).by_operation == {"mm": 4 * (6 + 15 + 10)}
    wide = torch.ones(2, 3, dtype=torch.float64)
    assert counted(lambda: wide + wide).total == 8 * (6 + 6 + 6)


def test_views_and_memory_that_is_set_aside_are_free():
    x = torch.ones(4, 6)
    assert counted(lambda: x.T.reshape(6, 2, 2)[:, 1].unflatten(0, (2, 3)).chunk(2)).total == 0
    assert counted(lambda: (torch.empty(9), x.new_empty(3))).total == 0
    assert counted(lambda: x.T.contiguous()).total == 4 * (24 + 24)


def test_a_part_counts_as_the_part():
    x = torch.ones(4, 6)
    assert counted(lambda: x[:, :2] * 2).total == 4 * (8 + 8)


def test_a_look_up_reads_what_it_returns():
    table, places = torch.ones(100, 7), torch.tensor([3, 5])
    moved = counted(lambda: torch.nn.functional.embedding(places, table))
    assert moved.total == 2 * 8 + 2 * 7 * 4 + 2 * 7 * 4


def test_what_is_overwritten_is_not_read():
    buffer, new = torch.zeros(10, 4), torch.ones(2, 4)

    def write():
        buffer[3:5] = new

    assert counted(write).by_operation == {"copy_": 4 * (8 + 8)}
    assert counted(lambda: new.add_(1)).total == 4 * (8 + 8)


@settings(max_examples=25, deadline=None)
@given(
    heads=st.integers(1, 3),
    head_width=st.integers(1, 5),
    layers=st.integers(1, 3),
    vocabulary=st.integers(1, 9),
    new=st.integers(1, 4),
    past=st.integers(0, 6),
    sequences=st.integers(1, 4),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_step_moves_the_bytes_of_the_formula(
    heads, head_width, layers, vocabulary, new, past, sequences, dtype
):
    config = Config(vocabulary, 10, heads * head_width, heads, layers)
    model = GPT(config).to(dtype)
    sizes = LanguageModel.of(config)
    cache = Cache(model, sequences)
    for buffer in (*cache.keys, *cache.values):
        buffer.zero_()
    cache.length = past
    tokens = torch.zeros(sequences, new, dtype=torch.int64)
    with moved_bytes(model, cache) as moved, FlopCounterMode(display=False) as flops:
        read(model, tokens, cache)
    expected = work(sizes, new, past, sequences, dtype.itemsize)
    per_token = sequences * sizes.kv_bytes_per_token(dtype.itemsize)
    assert moved.by_kind[WEIGHTS] == sizes.read_parameters * dtype.itemsize
    assert moved.by_kind[CACHE_READ] == (past + new) * per_token
    assert moved.by_kind[CACHE_WRITTEN] == new * per_token
    assert moved.total - moved.by_kind[REST] == expected.bytes
    assert moved.total == sum(moved.by_operation.values())
    assert flops.get_total_flops() == expected.flops
    by_operation = flops.get_flop_counts()["Global"]
    in_attention = by_operation[torch.ops.aten.bmm]
    assert in_attention == sequences * sizes.attention_flops(new, past)


def test_a_cache_that_is_copied_at_each_step_would_be_counted():
    model = GPT(Config(layers=1))
    cache = Cache(model)
    read(model, torch.zeros(1, 50, dtype=torch.int64), cache)
    with moved_bytes(model, cache) as moved:
        torch.cat([cache.keys[0], cache.keys[0]], dim=2)
    assert moved.by_kind[CACHE_READ] == 2 * cache.keys[0].nbytes
    assert moved.by_kind[REST] == 2 * cache.keys[0].nbytes


def test_an_error_ends_the_count():
    with pytest.raises(RuntimeError, match="boom"), moved_bytes():
        raise RuntimeError("boom")
    assert counted(lambda: torch.ones(1) + 1).total == 4 + 4 + 4
