"""Serving: bytes and FLOPs as computed by hand, and the cache is never forgotten."""

import pytest

from labkit.distributed.chooser.models import model_of, own_model
from labkit.distributed.chooser.serving import serve
from labkit.distributed.costs import inference_costs
from labkit.distributed.costs.language_models import language_model
from labkit.hardware import machine
from labkit_lessons.distributed.serving.simulation import Roofline, trace
from labkit_lessons.distributed.serving.simulation import serve as simulate

WEIGHTS = 8_030_261_248  # published
EMBEDDING = 128_256 * 4096
NORMS = 65 * 4096
CACHE = 2 * 32 * 8 * 128  # numbers of a token: keys and values, layers, heads, numbers of a head


def test_llama_by_hand():
    workload = serve("llama31_8b", "bf16", batch=8, context=4096)
    cache = 8 * 4096 * CACHE * 2
    assert workload.total.value == WEIGHTS * 2 + cache
    used = WEIGHTS - EMBEDDING - NORMS
    assert workload.moved.value == (used + NORMS) * 2 + cache + 8 * CACHE * 2, (
        "a token more is written"
    )
    attention = 4 * 4096 * 32 * 32 * 128
    assert workload.flops.value == 8 * (2 * used + attention)
    assert workload.steps.value == 125_000


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
    workload = serve("llama31_8b", "bf16", batch=8, context=4096)
    h100 = machine("h100")
    alone = workload.plan(h100, 1, 1.0)
    assert alone.seconds.value == pytest.approx(workload.moved.value / 3.35e12)
    assert alone.binds == "bandwidth" and alone.parts["links"].value == 0
    two = workload.plan(h100, 2, 0.5)
    # 32 layers, 2 all-reduces each, of 8 x 4096 numbers in 2 bytes, short messages over NVLink
    ring = 64 * 2 * (0.47e-6 + 8 * 4096 * 2 / 2 / (450e9 / 4))
    assert two.parts["links"].value == pytest.approx(ring)
    assert two.seconds.value == pytest.approx(workload.moved.value / 2 / 3.35e12 / 0.5 + ring)
    assert two.memory.value == workload.total.value / 2


@pytest.mark.parametrize(("key", "batch"), [("h100", 1), ("h100", 64), ("tpu_v6e", 9)])
def test_a_step_takes_as_long_as_in_lesson_13(key, batch):
    llama = language_model("llama31_8b")
    work = inference_costs.work(llama, new=1, past=999, sequences=batch, size=2)
    plan = serve("llama31_8b", "bf16", batch, context=1000).plan(machine(key), 1, 1.0)
    by_lesson = inference_costs.seconds(work, machine(key))
    assert plan.seconds.value == pytest.approx(float(by_lesson), rel=1e-9)


def test_a_large_batch_is_bound_by_compute():
    workload = serve("llama31_8b", "bf16", batch=2048, context=16)
    assert workload.plan(machine("a100"), 1, 1.0).binds == "compute"
    assert workload.plan(machine("a100"), 1, 1.0).seconds.value == workload.flops.value / 312e12


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
    workload = serve(model, "fp32", batch=2, context=10)
    assert workload.total.value == 4 * model.parameters + 2 * 10 * 2 * 3 * 256 * 4


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


@pytest.mark.parametrize(("kept", "size"), [("int8", 1), ("int4", 0.5), ("fp8", 1), (None, 2)])
def test_weights_have_a_format_of_their_own(kept, size):
    """And the cache too; arithmetic and all-reduces stay in bf16."""
    workload = serve("llama31_8b", "bf16", batch=8, context=4096, weights=kept)
    cache = 8 * 4096 * CACHE * 2
    assert workload.total.value == WEIGHTS * size + cache
    used = WEIGHTS - EMBEDDING
    assert workload.moved.value == used * size + cache + 8 * CACHE * 2
    plain = serve("llama31_8b", "bf16", batch=8, context=4096)
    assert (
        workload.flops.value == plain.flops.value and workload.reduced.value == plain.reduced.value
    )
    small = serve("llama31_8b", "bf16", batch=8, context=4096, weights=kept, cache="fp8")
    assert small.total.value == WEIGHTS * size + cache / 2


def test_sums_of_int8_travel_in_two_bytes():
    assert serve("llama31_8b", "int8", batch=3).reduced.value == 3 * 4096 * 2
    assert serve("llama31_8b", "fp32", batch=3).reduced.value == 3 * 4096 * 4


def test_the_first_token_is_a_prompt_through_the_network():
    llama = language_model("llama31_8b")
    h100 = machine("h100")
    plan = serve("llama31_8b", batch=4, context=1200, prompt=1000).plan(h100, 1, 1.0)
    work = inference_costs.work(llama, new=1000)
    assert plan.first.value == pytest.approx(float(inference_costs.seconds(work, h100)), rel=1e-9)
    assert plan.rate.value == pytest.approx(1 / (200 * plan.seconds.value / 4 + plan.first.value))


def test_prompts_are_paid_for():
    """A million tokens are 5,000 requests of 200: as many prompts are read."""
    h100 = machine("h100")
    with_prompt = serve("llama31_8b", batch=4, context=1200, prompt=1000)
    plan = with_prompt.plan(h100, 1, 1.0)
    hours = (250_000 * plan.seconds.value + 5_000 * plan.first.value) / 3600
    assert with_prompt.paid_hours(plan).value == pytest.approx(hours)
    without = serve("llama31_8b", batch=4, context=1200)
    assert without.paid_hours(without.plan(h100, 1, 1.0)).value < hours


@pytest.mark.parametrize(
    ("rows", "prompt", "output"), [(16, 200, 200), (8, 50, 300), (32, 600, 60)]
)
def test_the_rate_is_that_of_lesson_15s_simulation(rows, prompt, output):
    """All requests wait at the start: what is done in a second, in the middle of the run."""
    llama, v100 = language_model("llama2_7b"), machine("v100")
    requests = trace([(0.0, prompt, output)] * (8 * rows))
    run = simulate(requests, Roofline(llama, v100, "fp16"), rows=rows)
    workload = serve(llama, "fp16", rows, prompt + output, prompt=prompt)
    plan = workload.plan(v100, 1, 1.0)
    assert plan.rate.value == pytest.approx(run.requests_per_second, rel=0.2)


def test_enough_machines_for_the_requests_that_come():
    h100 = machine("h100")
    for rate in (1, 30, 31, 500):
        workload = serve("llama31_8b", batch=16, context=1000, prompt=800, rate=rate)
        plan = workload.plan(h100, 1, 1.0)
        assert (plan.groups - 1) * plan.rate.value < rate <= plan.groups * plan.rate.value
        assert plan.machines == plan.groups
        assert workload.paid_hours(plan).value == pytest.approx(1e6 / (rate * 200) / 3600)
