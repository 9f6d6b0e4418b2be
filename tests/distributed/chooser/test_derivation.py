"""Sums as data: what is printed is what they give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.chooser.derivation import derive, largest, number, shown
from labkit.distributed.chooser.wording import compact, duration

SUMS = [
    (number(8_030_261_248) * 2, "8030261248 * 2", "8,030,261,248 x 2"),
    ((number(3) + 4) / 2 - 1, "(3 + 4) / 2 - 1", "(3 + 4) / 2 - 1"),
    (number(3) - (number(4) - 1), "3 - (4 - 1)", "3 - (4 - 1)"),
    (number(8) / (number(4) * 2), "8 / (4 * 2)", "8 / (4 x 2)"),
    (number(2) * (number(4) * 3), "2 * 4 * 3", "2 x 4 x 3"),
    (largest(number(4) / 2, number(3) * 1.5), "max(4 / 2, 3 * 1.5)", "max(4 / 2, 3 x 1.5)"),
    (
        number(64) * 2 * (number(3.4e-6, "s") + number(0.0117862425, "s")),
        "64 * 2 * (3.4e-06 + 0.0117862425)",
        "64 x 2 x (3.4 µs + 11.8 ms)",
    ),
]


@pytest.mark.parametrize(("sum_", "figures", "text"), SUMS)
def test_the_value_is_that_of_the_figures(sum_, figures, text):
    made = derive("B", "so and so", sum_)
    assert (made.figures, made.sum.text) == (figures, text)
    assert made.value == eval(figures, {"__builtins__": {"max": max}})
    assert made.quantity.word == "predicted" and made.quantity.source == "so and so"
    assert str(made) == f"so and so = {text} = {made.quantity.number}"


TREES = st.recursive(
    st.floats(0.1, 100).map(number),
    lambda inner: st.tuples(st.sampled_from("+-*/m"), inner, inner).map(
        lambda three: {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / (b * b + 1),
            "m": largest,
        }[three[0]](three[1], three[2])
    ),
    max_leaves=8,
)


@given(TREES)
def test_brackets_stand_where_they_are_needed(tree):
    given = eval(tree.figures, {"__builtins__": {"max": max}})
    assert given == pytest.approx(tree.value, rel=1e-9, abs=1e-9)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_is_lost_in_figures(value):
    assert float(shown(value)) == value


@pytest.mark.parametrize(
    ("hours", "said"),
    [(17.25, "17.2 h"), (47, "47 h"), (295, "12.3 days"), (149_000, "17 years")],
)
def test_long_times_are_told_in_days_and_years(hours, said):
    assert duration(hours) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(5_189_330, "5.19 million"), (12_345.6, "12,346"), (0.0000468, "0.0000468"), (0, "0")],
)
def test_numbers_as_people_write_them(value, said):
    assert compact(value) == said
