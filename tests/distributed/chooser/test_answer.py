"""The choice: what has no price is not free, and every number is what its formula says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.chooser.answer import choose
from labkit.distributed.chooser.fits import fits
from labkit.distributed.chooser.formulas import numbers
from labkit.distributed.chooser.images import image, train_convnet
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.training import train
from labkit.hardware import machine, machines
from labkit.provenance import published

UNPRICED = [key for key, one in machines().items() if one.price is None]
REQUESTS = {
    "serve": (serve("llama31_8b", "bf16", 8, 4096), Limits(seconds=0.02)),
    "serve, dear": (serve("llama31_405b", "int8", 64, 1000), Limits(most=64, usd=5)),
    "serve, at half": (serve("llama2_7b", "fp16", 3, 777), Limits(efficiency=0.5)),
    "train": (train("llama31_8b"), Limits(seconds=86_400, usd=1000)),
    "train, many": (train("llama31_70b", batch=512), Limits(most=256, efficiency=0.4)),
    "image": (image("int8"), Limits(seconds=1e-3)),
    "convnet": (train_convnet("fp32"), Limits()),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_number_is_what_its_printed_figures_give(name):
    """Evaluated here by Python itself, not by the chooser."""
    workload, limits = REQUESTS[name]
    answer, count = choose(workload, limits), 0
    for row in answer.rows:
        for derived in numbers(row).values():
            given = eval(derived.figures, {"__builtins__": {"max": max}})
            assert given == pytest.approx(derived.value, rel=1e-12)
            assert derived.sum.text in str(derived)
            count += 1
    assert count > 10


@pytest.mark.parametrize("name", REQUESTS)
def test_energy_and_price_by_hand(name):
    workload, limits = REQUESTS[name]
    for row in choose(workload, limits).rows:
        plan, one = row.fit.plan, row.machine
        if plan is None:
            assert (row.time, row.energy, row.price) == (None, None, None)
            continue
        hours = plan.count * plan.seconds.value * workload.steps.value / 3600
        if one.power is None:
            assert row.energy is None
        else:
            assert row.energy.unit == "kWh"
            assert row.energy.value == pytest.approx(float(one.power) * hours / 1000)
        if one.price is None:
            assert row.price is None
        else:
            assert row.price.value == pytest.approx(float(one.price) * hours)
            assert one.price.source in row.price.words, "its source, with the month"


def test_no_power_is_published_for_these():
    rows = {row.machine.key: row for row in choose(image("bf16")).rows}
    for key in ("tpu_v5e", "tpu_v5p", "tpu_v6e"):
        assert machine(key).power is None and rows[key].energy is None
        assert rows[key].fit.plan is not None


@pytest.mark.parametrize("name", REQUESTS)
def test_nothing_is_chosen_that_does_not_fit_or_has_no_price(name):
    workload, limits = REQUESTS[name]
    answer = choose(workload, limits)
    for chosen in (answer.cheapest, answer.fastest):
        if chosen is None:
            continue
        assert chosen.machine.key not in (UNPRICED if chosen is answer.cheapest else ())
        assert workload.number_format in chosen.machine.peak
        assert chosen.fit.plan.memory.value <= 0.9 * float(chosen.machine.memory)
    can = [row for row in answer.tried if row.can_be_chosen]
    if answer.cheapest:
        assert answer.cheapest.price.value == min(row.price.value for row in can if row.price)
    if answer.fastest:
        assert answer.fastest.time.value == min(row.time.value for row in can)


def test_an_unpriced_machine_is_not_free():
    among = ["a100", "h200", "b200", "h100"]
    answer = choose(serve("llama31_8b"), among=among)
    assert answer.cheapest.machine.key == "h100", "the only one with a price"
    assert choose(serve("llama31_8b"), among=["a100", "b200"]).cheapest is None
    with_budget = choose(serve("llama31_8b"), Limits(usd=100), among)
    assert with_budget.fastest.machine.key == "h100"
    assert with_budget.fastest_without_a_price.machine.key == "b200"
    assert with_budget.row("b200").in_budget is None, "nobody knows"


def test_an_unknown_price_is_not_too_dear():
    answer = choose(train("llama31_8b", tokens=1e9), Limits(seconds=24 * 3600, usd=50))
    assert answer.cheapest is answer.fastest is None
    assert answer.row("h100").in_budget is False and answer.row("h100").in_time
    assert answer.fastest_without_a_price.machine.key == "b200"


def test_in_training_fewest_machines_are_not_the_cheapest():
    """Two H100s have to compute the activations again, and four have room for them."""
    workload = train("llama31_8b", tokens=1e9, context=8192)
    in_budget = choose(workload, Limits(usd=200), ["h100"])
    in_time = choose(workload, Limits(seconds=10 * 3600), ["h100"])
    assert in_time.rows[0].fit.reason == "for the time limit"
    for answer in (in_budget, in_time):
        assert answer.cheapest.fit.plan.count == 4 and answer.fastest.fit.plan.count == 8
        assert answer.cheapest.price.value < 0.76 * answer.tried[0].price.value
    assert in_budget.rows[0].fit.reason == "for fewer machine-hours"
    assert in_budget.tried[0].in_budget is False and in_budget.tried[0].fit.plan.count == 2


def test_the_fastest_that_is_too_slow_is_the_fastest():
    answer = choose(train("llama31_8b", tokens=15e12), Limits(seconds=3600), ["h100", "a100"])
    assert answer.cheapest is answer.fastest is None
    assert [row.fit.plan.count for row in answer.rows] == [8, 8]


@given(
    st.sampled_from(["llama31_8b", "llama2_7b", "gpt2"]),
    st.sampled_from(["fp32", "fp16", "int8"]),
    st.integers(1, 64),
    st.floats(0.001, 1),
)
@settings(deadline=None, max_examples=40)
def test_in_serving_the_fewest_machines_in_time_are_the_cheapest(model, form, batch, seconds):
    answer = choose(serve(model, form, batch, context=1000), Limits(seconds=seconds))
    for row in answer.rows:
        tried = [one for one in answer.tried if one.machine is row.machine and one.in_time]
        if tried:
            assert row.fit.plan.count == min(one.fit.plan.count for one in tried)


@given(st.sampled_from(sorted(REQUESTS)), st.floats(1e-3, 1e6), st.floats(1e-2, 1e5))
@settings(deadline=None, max_examples=40)
def test_nothing_that_was_tried_beats_the_choice(name, seconds, usd):
    """By brute force: every number of every machine, one at a time."""
    workload = REQUESTS[name][0]
    limits = Limits(seconds=seconds, usd=usd)
    answer = choose(workload, limits)
    steps = workload.timed.value if workload.timed else 1
    costs, times, unknown = [], [], []
    for one in machines().values():
        for found in fits(workload, one, limits):
            if found.plan is None or found.plan.seconds.value * steps > seconds:
                continue
            time = found.plan.seconds.value * steps
            if one.price is None:
                unknown.append(time)
                continue
            hours = found.plan.count * found.plan.seconds.value * workload.steps.value / 3600
            if float(one.price) * hours <= usd:
                costs.append(float(one.price) * hours)
                times.append(time)
    assert (answer.cheapest is None) == (not costs)
    if costs:
        unit = 3600 if workload.unit == "h" else 1
        assert answer.cheapest.price.value == pytest.approx(min(costs))
        assert answer.fastest.time.value * unit == pytest.approx(min(times))
    assert (answer.fastest_without_a_price is None) == (not unknown)


def test_a_machine_sold_by_the_piece_has_no_price_by_the_hour():
    bought = replace(machine("h100"), price=published(25_000, "USD", "a shop"))
    answer = choose(serve("llama31_8b"), among=[bought])
    assert answer.rows[0].price is None and answer.cheapest is None


@given(st.floats(1e-4, 1), st.floats(1e-3, 100), st.integers(1, 64))
@settings(deadline=None, max_examples=40)
def test_what_is_chosen_holds_the_limits(seconds, usd, batch):
    answer = choose(serve("llama31_8b", "int8", batch), Limits(seconds=seconds, usd=usd))
    for chosen in (answer.cheapest, answer.fastest):
        if chosen is not None:
            assert chosen.time.value <= seconds and chosen.price.value <= usd
    if answer.fastest is None:
        for row in answer.rows:
            assert row.fit.plan is None or not (row.in_time and row.in_budget)


def test_fits_nowhere_and_by_how_much():
    answer = choose(train("llama31_405b"))
    assert answer.cheapest is answer.fastest is None
    over = [row.fit.over for row in answer.rows if row.fit.over is not None]
    assert answer.nearest.fit.over == min(over) > 0


def test_unknown_machines_and_an_empty_choice():
    with pytest.raises(ValueError, match=r"No machine 'h101' in the table\. Did you mean 'h100'"):
        choose(image(), among=["h101"])
    with pytest.raises(ValueError, match="No machine to choose among"):
        choose(image(), among=[])
    with pytest.raises(ValueError, match=r"The answer has no machine 'h100'\. It has: t4\."):
        choose(image(), among=["t4"]).row("h100")
