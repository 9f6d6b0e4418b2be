"""Prefill and decode on every machine of the table, beside sums by hand and brute force."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.costs.inference_costs import (
    bound,
    compute_bound_from,
    number_bytes,
    number_format,
    on_every_machine,
    seconds,
    sequences_that_fit,
    work,
)
from labkit.distributed.costs.language_models import language_model, language_models
from labkit.hardware import machine, machines, roofline

LLAMA = language_model("llama31_8b")


def test_a_decode_step_by_hand():
    """Llama 3.1 8B on an H100, one sequence, 1,000 tokens behind, 16-bit numbers."""
    matrices = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128256 * 4096
    norms = 65 * 4096
    assert LLAMA.read_parameters == matrices + norms
    step = work(LLAMA, new=1, past=1000)
    assert step.flops == 2 * matrices + 4 * 1001 * 32 * 4096
    assert step.bytes == 2 * (matrices + norms) + (1001 + 1) * 2 * 32 * 8 * 128 * 2
    h100 = machine("h100")
    assert float(seconds(step, h100)) == pytest.approx(step.bytes / 3350e9)
    assert seconds(step, h100).word == "predicted"
    assert bound(step, h100) == "bandwidth"
    assert bound(work(LLAMA, new=1000), h100) == "compute"


@pytest.mark.parametrize("key", machines())
def test_the_time_is_that_of_the_course_s_roofline(key):
    device = machine(key)
    for step in (work(LLAMA, new=1000), work(LLAMA, new=1, past=1000, sequences=9)):
        roof = roofline(device, step.intensity, number_format(device))
        assert float(seconds(step, device)) == pytest.approx(step.flops / float(roof.attainable))
        assert bound(step, device) == {"memory": "bandwidth"}.get(roof.bound, roof.bound)


@settings(max_examples=100, deadline=None)
@given(
    key=st.sampled_from(sorted(machines())),
    model=st.sampled_from(sorted(language_models())),
    past=st.integers(0, 3000),
)
def test_from_how_many_sequences_on_compute_binds(key, model, past):
    device, sizes = machine(key), language_model(model)
    first = compute_bound_from(sizes, past, device)

    def bound_of(sequences):
        return bound(work(sizes, 1, past, sequences, number_bytes(device)), device)

    if first is None:
        assert bound_of(10**9) == "bandwidth"
    else:
        assert bound_of(first) == "compute"
        assert first == 1 or bound_of(first - 1) == "bandwidth"


def test_what_fits():
    h100 = machine("h100")
    fit = sequences_that_fit(LLAMA, 1000, h100)
    taken = 2 * LLAMA.parameters + fit * 1000 * LLAMA.kv_bytes_per_token(2)
    assert taken <= 0.9 * 81_559 * 2**20 < taken + 1000 * LLAMA.kv_bytes_per_token(2)
    assert sequences_that_fit(LLAMA, 1000, h100, share=1) > fit
    # All of it: 16.06 GB of weights into 16.11 by the driver. No room for 1,000 tokens, but for 300
    t4 = machine("t4")
    assert sequences_that_fit(LLAMA, 1000, t4) is None
    assert sequences_that_fit(LLAMA, 1000, t4, share=1) == 0
    assert sequences_that_fit(LLAMA, 300, t4, share=1) == 1
    named = replace(t4, memory=replace(t4.memory, value=16e9))  # if the name's 16 GB were 10^9
    assert sequences_that_fit(LLAMA, 1000, named, share=1) is None
    assert sequences_that_fit(language_model("llama31_70b"), 1, h100) is None


def test_formats():
    assert number_format(machine("h100")) == "bf16"
    assert number_format(machine("t4")) == "fp16"
    assert number_format(machine("laptop_cpu")) == "fp32"
    assert number_bytes(machine("laptop_cpu")) == 2
    assert (number_format(machine("pynq_z1")), number_bytes(machine("pynq_z1"))) == ("int8", 1)


def test_a_longer_past_and_more_sequences_cost_more():
    h100 = machine("h100")
    one, longer = work(LLAMA, 1, 1000), work(LLAMA, 1, 8000)
    assert float(seconds(longer, h100)) > float(seconds(one, h100))
    many = work(LLAMA, 1, 1000, sequences=64)
    assert float(seconds(one, h100)) < float(seconds(many, h100)) < 64 * float(seconds(one, h100))


def test_the_table_has_every_machine_with_its_own_numbers():
    rows = on_every_machine(LLAMA, 1000)
    assert [row.machine.key for row in rows] == list(machines())
    for row in rows:
        size = number_bytes(row.machine)
        step = work(LLAMA, 1, 1000, 1, size)
        assert float(row.decode) == float(seconds(step, row.machine))
        prompt = work(LLAMA, 1000, size=size)
        assert 1000 * float(row.prefill) == pytest.approx(float(seconds(prompt, row.machine)))
        assert row.prefill_bound == bound(prompt, row.machine)
        assert row.decode_bound == bound(step, row.machine)
        assert {row.prefill.word, row.decode.word} == {"predicted"}
        assert row.fit == sequences_that_fit(LLAMA, 1000, row.machine)
        assert row.compute_from == compute_bound_from(LLAMA, 1000, row.machine)


@pytest.mark.parametrize("sequences", [0, -1, 1.5])
def test_nonsense_is_refused_with_a_sentence(sequences):
    with pytest.raises(ValueError, match="give a whole number from 1 on"):
        work(LLAMA, 1, 0, sequences)


@pytest.mark.parametrize("tokens", [0, -1, 2.5, float("nan"), "3", None])
def test_a_cache_of_no_tokens_is_refused_with_a_sentence(tokens):
    with pytest.raises(ValueError, match=r"sequences_that_fit: .* give a whole number from 1 on"):
        sequences_that_fit(LLAMA, tokens, machine("h100"))
