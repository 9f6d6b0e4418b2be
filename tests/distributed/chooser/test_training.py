"""Training: the fastest layout that fits, and its formulas."""

from dataclasses import replace

import pytest

from labkit.distributed.chooser.training import train
from labkit.distributed.costs.clusters import cluster
from labkit.distributed.costs.language_models import language_model
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.memory_model import bytes_of_rank
from labkit.distributed.costs.step_model import predict_step
from labkit.hardware import machine


def layouts(count, batch, heads):
    """Every layout of data x tensor ranks that shares the batch evenly."""
    for tensor in (1, 2, 4, 8):
        data, rest = divmod(count, tensor)
        if rest or data == 0 or batch % data or heads % tensor:
            continue
        for stage in (0, 1, 2, 3) if data > 1 else (0,):
            for recompute in (False, True):
                yield Layout(
                    data=data, tensor=tensor, micro_batches=batch // data, stage=stage,
                    recompute=recompute,
                )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "model", "count"),
    [("h100", "llama31_8b", 2), ("h100", "llama31_8b", 16), ("b200", "llama31_70b", 32)],
)
def test_no_layout_that_fits_is_faster(key, model, count):
    workload = train(model, batch=64, context=1024)
    of = replace(cluster(key), efficiency=1.0)
    room = float(machine(key).memory)
    seconds, bytes = [], []
    for layout in layouts(count, 64, language_model(model).heads):
        memory = bytes_of_rank(language_model(model), layout, 1024).total
        bytes.append(memory)
        if memory <= room:
            seconds.append(predict_step(language_model(model), of, layout, 1024).seconds)
    plan = workload.plan(machine(key), count, 1.0)
    assert plan.seconds.value == pytest.approx(min(seconds))
    assert plan.memory.value <= room
    assert workload.memory(count, machine(key)).value == pytest.approx(min(bytes))


def test_arithmetic_is_six_flops_for_a_weight_and_a_token():
    workload = train("llama31_8b", tokens=1e9, batch=256, context=2048)
    plan = workload.plan(machine("h200"), 1, 0.5)
    steps = 1e9 / (256 * 2048)
    assert workload.steps.value == steps
    by_hand = 6 * 8.03e9 * 256 * 2048 / (989.5e12 * 0.5)
    assert plan.parts["compute"].value == pytest.approx(by_hand, rel=0.1)
    assert plan.binds == "compute"


@pytest.mark.parametrize("count", [1, 4, 64])
def test_the_parts_are_the_terms_of_the_step_model(count):
    workload = train("gpt2", batch=64, context=1024)
    plan = workload.plan(machine("h100"), count, 0.4)
    of = replace(cluster("h100"), efficiency=0.4)
    model = language_model("gpt2")
    found = []
    for layout in layouts(count, 64, 12):
        terms = predict_step(model, of, layout, 1024)
        if terms.seconds == pytest.approx(plan.seconds.value):
            found.append(terms)
    assert any(terms.compute == pytest.approx(plan.parts["compute"].value) for terms in found)
    assert any(terms.update == pytest.approx(plan.parts["bandwidth"].value) for terms in found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokens": 0}, "tokens is a number above 0, not 0"),
        ({"tokens": -1e9}, "tokens is a number above 0"),
        ({"tokens": float("inf")}, "tokens is a number above 0"),
        ({"batch": 0}, "batch is a whole number"),
        ({"number_format": "int8"}, "trains this model in bf16, fp16, not in int8"),
        ({"number_format": "fp8"}, "not in fp8"),
    ],
)
def test_nonsense_is_a_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        train("llama31_8b", **change)
