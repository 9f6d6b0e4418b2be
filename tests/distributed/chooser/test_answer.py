"""The choice: what has no price is not free, and every number is what its formula says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.chooser.answer import choose
from labkit.distributed.chooser.images import image, train_convnet
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.report import numbers
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
    need, limits = REQUESTS[name]
    answer, count = choose(need, limits), 0
    for row in answer.rows:
        for reckoned in numbers(row).values():
            given = eval(reckoned.figures, {"__builtins__": {"max": max}})
            assert given == pytest.approx(reckoned.value, rel=1e-12)
            assert reckoned.figures in str(reckoned) and reckoned.quantity.number in str(reckoned)
            count += 1
    assert count > 10


@pytest.mark.parametrize("name", REQUESTS)
def test_energy_and_price_by_hand(name):
    need, limits = REQUESTS[name]
    for row in choose(need, limits).rows:
        plan, one = row.fit.plan, row.machine
        if plan is None:
            assert (row.time, row.energy, row.price) == (None, None, None)
            continue
        hours = plan.count * plan.seconds.value * need.steps.value / 3600
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
    need, limits = REQUESTS[name]
    answer = choose(need, limits)
    for chosen in (answer.cheapest, answer.fastest):
        if chosen is None:
            continue
        assert chosen.machine.key not in (UNPRICED if chosen is answer.cheapest else ())
        assert need.number_format in chosen.machine.peak
        assert chosen.fit.plan.memory.value <= float(chosen.machine.memory)
    can = [row for row in answer.rows if row.can_be_chosen]
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
    assert not with_budget.row("b200").in_budget


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
