"""What fits: format, operators, memory, and the smallest number of machines."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.chooser import board
from labkit.distributed.chooser.fits import fit, fits
from labkit.distributed.chooser.images import image, train_convnet
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.training import train
from labkit.distributed.costs.language_models import language_models
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.hardware import machine, machines
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import job_cycles


def test_sixteen_gigabytes_are_too_few():
    found = fit(serve("llama31_8b", "fp16"), machine("t4"), Limits(most=1))
    assert found.plan is None and found.binds == "memory"
    over = 8_030_261_248 * 2 + 2048 * 131_072 - 0.9 * 15 * 2**30
    assert found.over == pytest.approx(over)
    assert f"{over / 1e9:.3g} GB more than 90 % of 16.1 GB" in found.reason
    two = fit(serve("llama31_8b", "fp16"), machine("t4"), Limits())
    assert two.plan.count == 2 and two.reason == "for the memory"


@pytest.mark.parametrize(("spare", "count"), [(0, 1), (1e6, 1), (-1, None)])
def test_what_fits_exactly_fits_and_a_byte_more_does_not(spare, count):
    workload = serve("llama31_8b", "bf16")
    h100 = machine("h100")
    room = replace(h100.memory, value=workload.total.value + spare)
    found = fit(workload, replace(h100, memory=room), Limits(most=1, memory=1))
    assert (found.plan.count if found.plan else None) == count
    assert found.over == (1 if count is None else None)


@pytest.mark.parametrize("workload", [serve("llama31_8b"), train("llama31_8b", batch=8)])
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_a_task_gets_a_share_of_the_memory_and_not_a_byte_more(workload, share):
    """So that none is offered which would fill a card to the last byte."""
    h100 = machine("h100")
    least = workload.memory(1, h100).value
    for spare, count in ((1.001, 1), (0.999, None)):
        room = replace(h100.memory, value=spare * least / share)
        found = fit(workload, replace(h100, memory=room), Limits(most=1, memory=share))
        assert (found.plan.count if found.plan else None) == count
        assert found.machine.memory.value == room.value, "the machine itself is as it was"


@given(
    st.sampled_from(list(language_models())),
    st.sampled_from(["fp32", "fp16", "bf16", "int8", "fp4"]),
    st.sampled_from(list(machines())),
    st.integers(1, 300),
    st.integers(1, 1000),
    st.sampled_from([1, 2, 7, 8, 64]),
)
@settings(deadline=None)
def test_a_plan_fits_has_the_format_and_is_the_smallest(model, form, key, batch, context, most):
    workload = serve(model, form, batch, context)
    one = machine(key)
    found = fit(workload, one, Limits(most=most))
    total = workload.total.value
    if found.plan is None:
        alone = one.kind in ("cpu", "fpga")
        largest = 1 if alone else 2 ** (most.bit_length() - 1)
        lacks = form not in one.peak or one.kind == "fpga"
        assert lacks or found.binds == "unknown links" or total / largest > 0.9 * float(one.memory)
        return
    count = found.plan.count
    assert form in one.peak and one.kind != "fpga" and 1 <= count <= most
    room = 0.9 * float(one.memory)
    assert total / count <= room and (count == 1 or total / (count // 2) > room)
    assert count == 1 or one.kind in ("gpu", "tpu")


def test_a_time_limit_takes_more_machines():
    workload = serve("llama31_8b", "bf16")
    first = fit(workload, machine("h100"), Limits())
    quick = fit(workload, machine("h100"), Limits(seconds=0.003))
    assert first.plan.count == 1 < quick.plan.count
    assert quick.plan.seconds.value <= 0.003 and quick.reason == "for the time limit"
    never = fit(workload, machine("h100"), Limits(seconds=1e-6))
    tried = fits(workload, machine("h100"), Limits())
    assert [one.plan.count for one in tried] == [1, 2, 4, 8]
    seconds = {one.plan.count: one.plan.seconds.value for one in tried}
    assert seconds[never.plan.count] == min(seconds.values()), "none is fast enough"
    assert never.reason == "as fast as it gets"


def test_a_training_is_limited_as_a_whole():
    workload = train("llama31_8b", tokens=1e9)
    found = fit(workload, machine("h100"), Limits(seconds=2 * 3600, most=64))
    assert found.plan.seconds.value * workload.steps.value <= 2 * 3600
    half = workload.plan(machine("h100"), found.plan.count // 2, 1.0)
    assert half.seconds.value * workload.steps.value > 2 * 3600


def test_links_that_no_table_has():
    found = fit(serve("llama31_70b", "fp16"), machine("v100"), Limits())
    assert found.plan is None and found.binds == "unknown links"
    assert "links not listed" in found.reason


def test_one_that_is_too_slow_stays_where_no_links_are_known():
    found = fit(serve("llama31_8b", "bf16"), machine("tpu_v5p"), Limits(seconds=1e-6))
    assert found.plan.count == 1 and found.binds == "bandwidth"
    assert found.reason == "links not listed", "why it is not two of them"
    assert fit(serve("llama31_8b", "bf16"), machine("tpu_v5p"), Limits()).reason == ""
    workload = train("gpt2", tokens=1e9, context=1024)
    assert fit(workload, machine("tpu_v4"), Limits(seconds=1)).plan.count == 1


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (serve("gpt2", "int8", context=1024), "no attention"),
        (train_convnet("fp32"), "no backward pass"),
        (image("fp32"), "computes in int8, not in fp32"),
    ],
)
def test_what_the_board_cannot_do(workload, words):
    found = fit(workload, machine("pynq_z1"), Limits())
    assert found.plan is None and found.binds == "operators" and words in found.reason


def test_the_boards_time_is_its_counted_cycles():
    found = fit(image("int8"), machine("pynq_z2"), Limits())
    assert int(job_cycles(Folding(), 1)) == board.CYCLES, (
        "and the simulators count the same: lesson 5"
    )
    assert found.plan.seconds.value == 73_778 / 100e6 and found.binds == "cycles"
    roofline = max(12_343_936 / 44e9, 3_079_504 / 4 / 2.1e9)
    assert found.plan.seconds.value > roofline


def test_only_numbers_that_share_evenly_are_tried():
    gpt2 = fits(serve("gpt2", context=1000), machine("h100"), Limits(most=64))
    assert [one.plan.count for one in gpt2] == [1, 2, 4], "of 12 heads"
    few = train("gpt2", batch=3, context=512)
    assert [one.plan.count for one in fits(few, machine("h100"), Limits(most=64))] == [1, 2, 4]
    assert fit(few, machine("h100"), Limits(seconds=1e-6, most=2**40)).plan.count in (1, 2, 4)


def test_an_image_is_not_shared():
    for key in ("h100", "laptop_cpu"):
        found = fit(image("fp32"), machine(key), Limits(seconds=1e-12))
        assert found.plan.count == 1


@pytest.mark.parametrize(
    "nonsense",
    [
        {"seconds": 0},
        {"seconds": -1},
        {"usd": 0},
        {"usd": float("nan")},
        {"most": 0},
        {"most": 2.5},
        {"efficiency": 0},
        {"efficiency": 1.01},
        {"efficiency": -0.4},
        {"memory": 0},
        {"memory": 1.1},
    ],
)
def test_nonsense_limits_are_a_sentence(nonsense):
    with pytest.raises(ValueError, match="not "):
        Limits(**nonsense)
