"""Sums in figures: what is printed is what they give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.chooser.reckoning import reckon, shown


@pytest.mark.parametrize(
    ("figures", "value"),
    [
        ("8030261248 * 2", 16_060_522_496),
        ("(3 + 4) / 2 - 1", 2.5),
        ("max(4 / 2, 3 * 1.5)", 4.5),
        ("1e3 * 2 * (2 - 1) * (3.4e-06 + 8 / (2 * 4))", 2000 * (3.4e-6 + 1)),
    ],
)
def test_the_value_is_that_of_the_figures(figures, value):
    made = reckon("B", "so and so", figures)
    assert made.value == value
    assert made.quantity.word == "predicted" and made.quantity.source == "so and so"
    assert str(made) == f"so and so = {figures} = {made.quantity.number}"


@pytest.mark.parametrize("figures", ["weights * 2", "2 ** 3", "min(1, 2)", "'a' * 2", "max()"])
def test_other_things_are_refused(figures):
    with pytest.raises(ValueError, match="numbers, \\+ - \\* / and max"):
        reckon("B", "no sum", figures)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_is_lost_in_figures(number):
    assert float(shown(number)) == number
