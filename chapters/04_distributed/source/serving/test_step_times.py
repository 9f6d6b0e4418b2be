"""The roofline of a step against the sums written out, on the machines and models of the tables."""

import math
from typing import NamedTuple

import pytest

from labkit.distributed.costs.language_models import language_model
from labkit.hardware import machine
from labkit_lessons.distributed.serving.simulation import Roofline, Units


class Work(NamedTuple):
    new: int
    past: int


STEPS = {
    "one decode": [Work(1, 300)],
    "many decodes": [Work(1, 100 + 7 * i) for i in range(50)],
    "a long prefill": [Work(900, 0)],
    "mixed": [Work(1, 5), Work(64, 0), Work(1, 2000)],
}


@pytest.mark.parametrize("key", ["llama2_7b", "llama31_8b"])
@pytest.mark.parametrize("name", STEPS)
def test_the_longer_of_memory_and_arithmetic(key, name):
    model, gpu, work = language_model(key), machine("v100"), STEPS[name]
    time = Roofline(model, gpu, "fp16")
    flops = sum(model.forward_flops(one.new, one.past) for one in work)
    moved = 2 * model.parameters + sum(
        (one.new + one.past) * 2 * model.layers * model.kv_heads * model.head_width * 2
        for one in work
    )
    assert time.flops(work) == flops and time.bytes(work) == moved
    assert time.seconds(work) == max(moved / 900e9, flops / 125e12)


def test_decode_is_bound_by_memory_and_a_long_prefill_by_arithmetic():
    time = Roofline(language_model("llama2_7b"), machine("v100"), "fp16")
    one, long = STEPS["one decode"], STEPS["a long prefill"]
    assert time.seconds(one) == time.bytes(one) / 900e9 > time.flops(one) / 125e12
    assert time.seconds(long) == time.flops(long) / 125e12 > time.bytes(long) / 900e9


def test_the_cache_fills_the_memory_beside_the_weights():
    time = Roofline(language_model("llama2_7b"), machine("v100"), "fp16")
    assert time.token_bytes == 524_288 and time.cache_slots == 39_830
    left = 2**35 - time.weight_bytes
    assert time.cache_slots * time.token_bytes <= left < (time.cache_slots + 1) * time.token_bytes


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Units(0), "a step takes a time above 0"),
        (lambda: Units(math.nan), "a step takes a time above 0"),
        (lambda: Units("1"), "a step takes a time above 0"),
        (lambda: Roofline(language_model("llama2_7b"), machine("v100"), "fp5"), "'fp5' is none of"),
        (lambda: Roofline(language_model("llama2_7b"), machine("v100"), "bf16"), "no peak rate"),
        (
            lambda: Roofline(language_model("llama31_70b"), machine("h100"), "bf16"),
            "the weights of Llama 3.1 70B take 141.1 GB, and NVIDIA H100 SXM 80 GB has 86 GB",
        ),
    ],
)
def test_nonsense_gets_a_sentence(make, words):
    with pytest.raises(ValueError) as refused:
        make()
    assert words in str(refused.value)
