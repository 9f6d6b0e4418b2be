"""labkit.provenance: a number cannot be made without its word and its source."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import provenance
from labkit.provenance import Quantity, compiled, counted, measured, predicted, published

MAKERS = {
    "measured": measured,
    "counted": counted,
    "compiled": compiled,
    "predicted": predicted,
    "published": published,
}


def test_there_are_exactly_five_words():
    assert set(provenance.WORDS) == set(MAKERS)


@pytest.mark.parametrize("word", MAKERS)
def test_each_maker_writes_its_own_word_and_source(word):
    quantity = MAKERS[word](2.0, "FLOP/B", "somewhere")
    assert quantity.word == word
    assert re.fullmatch(rf"2 FLOP/B \({word} (on|by|in) somewhere\)", str(quantity))


@pytest.mark.parametrize("source", ["", "  "])
@pytest.mark.parametrize("word", MAKERS)
def test_a_number_without_a_source_is_refused(word, source):
    with pytest.raises(ValueError, match="needs its device or source"):
        MAKERS[word](1.0, "s", source)


def test_a_sixth_word_is_refused():
    with pytest.raises(ValueError, match="'estimated' is no provenance word"):
        Quantity(1.0, "s", "estimated", "somewhere")


def test_a_word_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        predicted(1.0, "s", "a formula").word = "measured"


def test_measured_names_this_machine_when_no_device_is_given():
    from labkit.hardware import this_machine

    assert measured(1.0, "s").source == this_machine().name


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.2e9, "B/s", "3.2 GB/s"),
        (999.6e3, "FLOP", "1 MFLOP"),
        (4e-4, "s", "400 µs"),
        (0, "B", "0 B"),
        (0.5, "B", "0.5 B"),
        (1.5e15, "FLOP/s", "1.5 PFLOP/s"),
        (12, "%", "12 %"),
        (12345, "images", "12,345 images"),
        (999.6, "images", "1,000 images"),
        (1.25, "times", "1.25 times"),
    ],
)
def test_numbers_are_written_with_si_prefixes(value, unit, text):
    assert counted(value, unit, "hand").number == text


@given(st.floats(min_value=1e-9, max_value=1e17), st.sampled_from(["B", "s", "FLOP/s"]))
def test_the_written_number_is_the_value(value, unit):
    if unit != "s" and value < 1:
        value += 1
    number, text = counted(value, unit, "hand").number.split()
    scale = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "m": 1e-3, "µ": 1e-6, "n": 1e-9}
    prefix = text.removesuffix(unit)
    assert float(number) * scale.get(prefix, 1.0) == pytest.approx(value, rel=6e-3)
