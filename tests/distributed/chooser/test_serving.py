"""Serving: bytes and FLOPs as reckoned by hand, and the cache is never forgotten."""

import pytest

from labkit.distributed import inference_costs
from labkit.distributed.chooser.models import model_of, own_model
from labkit.distributed.chooser.serving import serve
from labkit.distributed.language_models import language_model
from labkit.hardware import machine

WEIGHTS = 8_030_261_248  # published
EMBEDDING = 128_256 * 4096
NORMS = 65 * 4096
CACHE = 2 * 32 * 8 * 128  # numbers of a token: keys and values, layers, heads, numbers of a head


def test_llama_by_hand():
    need = serve("llama31_8b", "bf16", batch=8, context=4096)
    cache = 8 * 4096 * CACHE * 2
    assert need.total.value == WEIGHTS * 2 + cache
    used = WEIGHTS - EMBEDDING - NORMS
    assert need.moved.value == (used + NORMS) * 2 + cache + 8 * CACHE * 2, "a token more is written"
    attention = 4 * 4096 * 32 * 32 * 128
    assert need.flops.value == 8 * (2 * used + attention)
    assert need.steps.value == 125_000


@pytest.mark.parametrize("number_format", ["fp32", "bf16", "int8", "int4"])
def test_the_cache_counts_in_memory_and_in_time(number_format):
    size = {"fp32": 4, "bf16": 2, "int8": 1, "int4": 0.5}[number_format]
    one = serve("llama31_70b", number_format, batch=1, context=1000)
    many = serve("llama31_70b", number_format, batch=5, context=3000)
    cache_of_a_token = 2 * 80 * 8 * 128 * size
    more = (5 * 3000 - 1000) * cache_of_a_token
    assert many.total.value - one.total.value == more
    assert many.moved.value - one.moved.value == more + 4 * cache_of_a_token


def test_the_roofline_and_the_ring():
    need = serve("llama31_8b", "bf16", batch=8, context=4096)
    h100 = machine("h100")
    alone = need.plan(h100, 1, 1.0)
    assert alone.seconds.value == pytest.approx(need.moved.value / 3.35e12)
    assert alone.binds == "bandwidth" and alone.parts["links"].value == 0
    two = need.plan(h100, 2, 0.5)
    # 32 layers, 2 all-reduces each, of 8 x 4096 numbers in 2 bytes, short messages over NVLink
    ring = 64 * 2 * (0.47e-6 + 8 * 4096 * 2 / 2 / (450e9 / 4))
    assert two.parts["links"].value == pytest.approx(ring)
    assert two.seconds.value == pytest.approx(need.moved.value / 2 / 3.35e12 / 0.5 + ring)
    assert two.memory.value == need.total.value / 2


@pytest.mark.parametrize(("key", "batch"), [("h100", 1), ("h100", 64), ("tpu_v6e", 9)])
def test_a_step_takes_as_long_as_in_lesson_13(key, batch):
    llama = language_model("llama31_8b")
    work = inference_costs.work(llama, new=1, past=999, sequences=batch, size=2)
    plan = serve("llama31_8b", "bf16", batch, context=1000).plan(machine(key), 1, 1.0)
    by_lesson = inference_costs.seconds(work, machine(key))
    assert plan.seconds.value == pytest.approx(float(by_lesson), rel=1e-9)


def test_a_large_batch_is_bound_by_compute():
    need = serve("llama31_8b", "bf16", batch=2048, context=16)
    assert need.plan(machine("a100"), 1, 1.0).binds == "compute"
    assert need.plan(machine("a100"), 1, 1.0).seconds.value == need.flops.value / 312e12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 0}, "batch is a whole number from 1 on, not 0"),
        ({"batch": -8}, "not -8"),
        ({"batch": 1.5}, "not 1.5"),
        ({"context": -1}, "context is a whole number"),
        ({"number_format": "bf17"}, "no number format 'bf17'"),
        ({"model": "llama31_9b"}, "Did you mean 'llama31_8b'"),
        ({"model": "gpt2", "context": 1025}, "has 1,024 positions, and the context is 1,025"),
    ],
)
def test_nonsense_is_a_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        serve(**({"model": "llama31_8b"} | change))


def test_own_sizes():
    model = own_model(layers=3, width=256)
    assert (model.heads, model.head_width, model.mlp_width) == (2, 128, 1024)
    assert model.parameters == 3 * (4 * 256**2 + 2 * 256 * 1024) + 2 * 32_000 * 256 + 7 * 256
    need = serve(model, "fp32", batch=2, context=10)
    assert need.total.value == 4 * model.parameters + 2 * 10 * 2 * 3 * 256 * 4


@pytest.mark.parametrize(
    "sizes",
    [
        {"layers": 0, "width": 8},
        {"layers": 2, "width": -8},
        {"layers": 2, "width": 8, "heads": 3},
        {"layers": 2, "width": 8, "heads": 2, "kv_heads": 0},
        {"layers": 2, "width": 8, "vocabulary": 0},
        {"layers": 2, "width": 8, "mlp_width": -1},
    ],
)
def test_own_sizes_that_cannot_be(sizes):
    with pytest.raises(ValueError):
        own_model(**sizes)


@pytest.mark.parametrize("parameters", [2e7, 1e8, 7e9, 70e9, 405e9, 1e12])
def test_a_shape_from_parameters_has_about_so_many(parameters):
    model = model_of(parameters)
    assert model.width == 128 * model.layers
    others = [own_model(n, 128 * n).parameters for n in range(1, 3 * model.layers)]
    nearest = min(others, key=lambda count: abs(count - parameters))
    assert model.parameters == nearest
    assert "assumed" in model.name


@pytest.mark.parametrize("parameters", [0, -7e9, 1e6, 1e15, float("nan")])
def test_no_shape_from_such_parameters(parameters):
    with pytest.raises(ValueError):
        model_of(parameters)
