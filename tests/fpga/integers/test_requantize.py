"""Requantisation: integers against exact fractions, and both against the real ratio."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fpga.integers.requantize import MAX_SHIFT, fixed_point, requantize

SUMS = st.integers(-(2**31), 2**31 - 1)
EDGES = [-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1]


def exact(acc, multiplier, shift, low=-128, high=127):
    """Python's integers and fractions: floor(acc m / 2^shift + 1/2), then the clamp."""
    rounded = floor(Fraction(acc * multiplier, 2**shift) + Fraction(1, 2))
    return min(max(rounded, low), high)


@given(st.lists(SUMS, min_size=1, max_size=20), st.integers(0, 2**16 - 1), st.integers(1, 31))
def test_requantize_is_the_exact_fraction_rounded_half_up(sums, multiplier, shift):
    acc = np.array(sums + EDGES, dtype=np.int32)
    got = requantize(acc, multiplier, shift)
    assert got.dtype == np.int8
    assert got.tolist() == [exact(one, multiplier, shift) for one in sums + EDGES]


def test_a_half_is_rounded_upwards_on_both_sides_of_zero():
    acc = np.array([-3, -2, -1, 0, 1, 2, 3], dtype=np.int32)
    assert requantize(acc, 1, 1).tolist() == [-1, -1, 0, 0, 1, 1, 2]
    assert requantize(acc, 2**15, 16).tolist() == [-1, -1, 0, 0, 1, 1, 2]


def test_the_clamp_ends_where_it_is_told():
    acc = np.array([-1000, -129, -128, 127, 128, 1000], dtype=np.int32)
    assert requantize(acc, 2, 1).tolist() == [-128, -128, -128, 127, 127, 127]
    assert requantize(acc, 2, 1, low=0, high=126).tolist() == [0, 0, 0, 126, 126, 126]


@given(st.lists(st.floats(0, 2**14), min_size=1, max_size=8))
def test_fixed_point_is_within_half_a_unit_of_each_ratio(ratios):
    multipliers, shift = fixed_point(np.array(ratios))
    assert 1 <= shift <= MAX_SHIFT
    assert multipliers.dtype == np.int32 and multipliers.min() >= 0
    assert multipliers.max() < 2**16
    for ratio, multiplier in zip(ratios, multipliers.tolist(), strict=True):
        off = abs(Fraction(ratio) - Fraction(multiplier, 2**shift))
        assert off <= Fraction(1, 2 ** (shift + 1))
    assert shift == MAX_SHIFT or multipliers.max() >= 2**15  # no digit is given away


@pytest.mark.parametrize("ratio", [1.0, 2.0**-9, 1 - 2.0**-40, 2.0**-9 - 2.0**-40])
def test_fixed_point_stays_below_16_bits_at_powers_of_two(ratio):
    (multiplier,), shift = fixed_point(np.array([ratio]))
    assert multiplier == 2**15
    assert multiplier / 2**shift == pytest.approx(ratio, rel=2**-17)


@given(SUMS, st.floats(1e-6, 1))
def test_the_error_against_the_real_ratio_is_bounded(acc, ratio):
    (multiplier,), shift = fixed_point(np.array([ratio]))
    rounded = (acc * int(multiplier) + (1 << (shift - 1))) >> shift
    bound = Fraction(1, 2) + abs(acc) * Fraction(1, 2 ** (shift + 1))
    assert abs(rounded - Fraction(ratio) * acc) <= bound


def test_48_bits_hold_every_step():
    """What a DSP's adder must hold: the widest sum, multiplier and rounding there can be."""
    for acc in (-(2**31), 2**31 - 1):
        for shift in (1, MAX_SHIFT):
            assert -(2**47) <= acc * (2**16 - 1) + (1 << (shift - 1)) < 2**47


def test_each_channel_has_its_multiplier():
    acc = np.full((2, 3, 1, 2), 100, dtype=np.int32)
    got = requantize(acc, np.array([1, 2, 3], dtype=np.int32), 1)
    assert got[1, :, 0, 1].tolist() == [50, 100, 127]
    assert requantize(acc[:, :, 0, 0], np.array([1, 2, 3]), 2)[0].tolist() == [25, 50, 75]


REFUSED = {
    "a float sum": ((np.ones(3), 1, 1), "acc holds float64; it must hold integers"),
    "a sum beyond int32": ((np.array([2**31]), 1, 1), "acc reaches from 2147483648"),
    "17 bits": ((np.array([1]), 2**16, 1), "multiplier reaches from 65536"),
    "a negative multiplier": ((np.array([1]), -1, 1), "multiplier reaches from -1"),
    "a float multiplier": ((np.array([1]), 0.5, 1), "multiplier holds float64"),
    "no shift": ((np.array([1]), 1, 0), "shift is 0; it must be an integer >= 1 and <= 31"),
    "a long shift": ((np.array([1]), 1, 32), "shift is 32"),
    "too few channels": (
        (np.ones((2, 3), np.int32), np.array([1, 2]), 1),
        r"multiplier has shape \(2,\) and acc \(2, 3\)",
    ),
    "a limit beyond a byte": ((np.array([1]), 1, 1, -128, 255), "high is 255"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_requantisation_is_refused_in_a_sentence(case):
    arguments, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        requantize(*arguments)


@pytest.mark.parametrize("ratio", [np.nan, np.inf, -0.1])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(ValueError, match="must be finite, and 0 or more"):
        fixed_point(np.array([0.5, ratio]))


def test_a_ratio_beyond_every_shift_is_refused():
    with pytest.raises(ValueError, match="ratio 32768 is too large"):
        fixed_point(np.array([2.0**15]))
