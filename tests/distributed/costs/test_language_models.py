"""Sizes of language models beside published totals, built models, and PyTorch's counter."""

import dataclasses
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from labkit.distributed.costs import language_models as module
from labkit.distributed.costs.language_models import LanguageModel, language_model, language_models
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.sharded.memory import MIXED, bytes_of_state
from tests.night import others_by_night

TABLE = language_models()


class Built(nn.Module):
    """A transformer of these sizes, of PyTorch's own layers, with a cache of `past` tokens."""

    def __init__(self, sizes: LanguageModel) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.width)
        if sizes.position_rows:
            self.positions = nn.Embedding(sizes.position_rows, sizes.width)
        self.blocks = nn.ModuleList(nn.ModuleDict(self.block()) for _ in range(sizes.layers))
        self.norm = self.new_norm()
        self.head = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        if sizes.tied:
            self.head.weight = self.embedding.weight

    def block(self):
        sizes = self.sizes
        queries = sizes.heads * sizes.head_width
        keys = sizes.kv_heads * sizes.head_width
        layers = {"norm1": self.new_norm(), "norm2": self.new_norm()}
        for name, inner, outer in (
            ("query", sizes.width, queries),
            ("key", sizes.width, keys),
            ("value", sizes.width, keys),
            ("output", queries, sizes.width),
            ("up", sizes.width, sizes.mlp_width),
            ("down", sizes.mlp_width, sizes.width),
        ):
            layers[name] = nn.Linear(inner, outer, bias=sizes.biases)
        if sizes.gated:
            layers["gate"] = nn.Linear(sizes.width, sizes.mlp_width, bias=sizes.biases)
        return layers

    def new_norm(self):
        return nn.LayerNorm(self.sizes.width) if self.sizes.biases else nn.RMSNorm(self.sizes.width)

    def forward(self, tokens, past):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = x + self.attend(block, block["norm1"](x), past)
            y = block["up"](block["norm2"](x))
            if self.sizes.gated:
                y = y * block["gate"](x)
            x = x + block["down"](y)
        return self.head(self.norm(x))

    def attend(self, block, x, past):
        sizes = self.sizes
        q = block["query"](x).unflatten(2, (sizes.heads, sizes.head_width)).transpose(1, 2)
        both = []
        for name in ("key", "value"):
            new = block[name](x).unflatten(2, (sizes.kv_heads, sizes.head_width)).transpose(1, 2)
            old = new.new_empty(1, sizes.kv_heads, past, sizes.head_width)
            grouped = torch.cat([old, new], dim=2)
            both.append(grouped.repeat_interleave(sizes.heads // sizes.kv_heads, dim=1))
        mixed = scaled_dot_product_attention(q, *both)
        return block["output"](mixed.transpose(1, 2).flatten(2))


@cache
def built(sizes):
    """The model on the meta device: shapes without numbers, so that 405 billion fit, too."""
    with torch.device("meta"):
        return Built(sizes)


def counted_flops(sizes, new, past):
    model = built(sizes)
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, new, dtype=torch.int64, device="meta"), past)
    return counter.get_total_flops()


@st.composite
def any_sizes(draw):
    kv_heads = draw(st.integers(1, 3))
    return LanguageModel(
        key="any",
        name="any",
        layers=draw(st.integers(1, 3)),
        width=draw(st.integers(1, 9)),
        heads=kv_heads * draw(st.integers(1, 3)),
        kv_heads=kv_heads,
        head_width=draw(st.integers(1, 5)),
        mlp_width=draw(st.integers(1, 11)),
        gated=draw(st.booleans()),
        vocabulary=draw(st.integers(1, 12)),
        tied=draw(st.booleans()),
        source="drawn by the test",
        biases=draw(st.booleans()),
        position_rows=draw(st.integers(0, 6)),
    )


@pytest.mark.parametrize("key", TABLE)
def test_the_parameters_are_those_that_the_source_publishes(key):
    sizes = TABLE[key]
    if sizes.exactly:
        assert sizes.parameters == sizes.published
    else:
        assert sizes.parameters == pytest.approx(sizes.published, rel=0.005)


LARGE = ("gpt3", "llama31_70b", "llama31_405b")
BUILT = [key for key in TABLE if key not in LARGE]
BUILT = others_by_night(
    [*BUILT, *LARGE],
    instead="tests/distributed/costs/test_language_models.py::test_the_built_model_has_as_many_parameters_and_flops",
    by_day=len(BUILT),
)


@pytest.mark.parametrize("key", BUILT)
def test_the_built_model_has_as_many_parameters_and_flops(key):
    sizes = TABLE[key]
    assert sum(weight.numel() for weight in built(sizes).parameters()) == sizes.parameters
    assert counted_flops(sizes, 1, 1000) == sizes.forward_flops(1, 1000)
    assert counted_flops(sizes, 512, 0) == sizes.forward_flops(512)


@settings(max_examples=25, deadline=None)
@given(sizes=any_sizes(), new=st.integers(1, 7), past=st.integers(0, 7))
def test_parameters_and_flops_of_any_sizes(sizes, new, past):
    assert sum(weight.numel() for weight in built(sizes).parameters()) == sizes.parameters
    assert counted_flops(sizes, new, past) == sizes.forward_flops(new, past)


@pytest.mark.parametrize(
    "config", [Config(), Config(vocabulary=11, context=6, width=8, heads=2, layers=3)]
)
def test_the_small_gpt(config):
    model = GPT(config)
    sizes = LanguageModel.of(config)
    assert sizes.parameters == sum(weight.numel() for weight in model.parameters())
    tokens = torch.zeros(1, 5, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter:
        model(tokens)
    assert counter.get_total_flops() == sizes.forward_flops(5)


def test_tokens_that_come_one_by_one_cost_less_than_all_of_them_again():
    sizes = LanguageModel.of(Config())
    one_by_one = sum(sizes.forward_flops(1, past) for past in range(100))
    all_again = sum(sizes.forward_flops(length) for length in range(1, 101))
    assert one_by_one < sizes.forward_flops(100) < all_again


def test_bytes():
    sizes = language_model("llama31_8b")
    assert sizes.weight_bytes(2) == 16_060_522_496
    assert sizes.weight_bytes(0.5) == 4_015_130_624
    assert sizes.kv_bytes_per_token(2) == 2 * 32 * 8 * 128 * 2 == 131_072
    assert language_model("llama2_7b").kv_bytes_per_token(2) == 4 * sizes.kv_bytes_per_token(2)
    assert sizes.training_state_bytes() == 16 * sizes.parameters
    assert sizes.training_state_bytes(4, 4, 0, 8) == 16 * sizes.parameters


def test_the_state_of_training_is_that_of_lesson_11():
    sizes = language_model("gpt2")
    state = bytes_of_state(sizes.parameters, ranks=1, stage=0, each=MIXED)
    assert sizes.training_state_bytes() == state.total


def test_every_model_says_where_its_sizes_come_from():
    for sizes in TABLE.values():
        assert re.search(r"arXiv:\d|https://", sizes.source), sizes.key
        assert re.fullmatch(r"20\d\d-[01]\d", sizes.checked), sizes.key
    assert {"gpt2", "gpt3", "llama31_8b", "llama31_70b", "llama31_405b"} <= TABLE.keys()
    rows = tomllib.loads(Path(module.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    assert rows["models"].keys() == TABLE.keys()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"layers": 0}, "layers is a whole number from 1 on, not 0"),
        ({"width": -4}, "width is a whole number from 1 on, not -4"),
        ({"mlp_width": 2.5}, "mlp_width is a whole number from 1 on, not 2.5"),
        ({"vocabulary": None}, "vocabulary is a whole number from 1 on, not None"),
        ({"position_rows": -1}, "position_rows is a whole number from 0 on, not -1"),
        ({"kv_heads": 5}, "32 query heads cannot share 5 heads"),
        ({"kv_heads": 64}, "32 query heads cannot share 64 heads"),
        ({"gated": 3}, "gated is True or False"),
        ({"source": " "}, "say where the sizes come from"),
    ],
)
def test_wrong_sizes_are_refused_in_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        dataclasses.replace(language_model("llama31_8b"), **changes)


def test_missing_sizes_are_refused():
    with pytest.raises(TypeError, match=r"missing.*layers"):
        LanguageModel(key="x", name="x")


def test_wrong_questions_are_refused_in_a_sentence():
    sizes = language_model("gpt2")
    with pytest.raises(ValueError, match="new is a whole number from 1 on, not 0"):
        sizes.forward_flops(0)
    with pytest.raises(ValueError, match="past is a whole number from 0 on, not -1"):
        sizes.forward_flops(1, -1)
    for bad in (0, -2, float("nan"), float("inf"), "2"):
        with pytest.raises(ValueError, match="is a number above 0"):
            sizes.weight_bytes(bad)
        with pytest.raises(ValueError, match="is a number above 0"):
            sizes.kv_bytes_per_token(bad)
    with pytest.raises(ValueError, match="master is 0 bytes or more, not -4"):
        sizes.training_state_bytes(master=-4)
    with pytest.raises(ValueError, match="Did you mean 'llama31_8b'"):
        language_model("llama3_8b")
    with pytest.raises(ValueError, match="There are: gpt2, gpt3"):
        language_model("nothing like it")
