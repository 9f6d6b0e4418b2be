"""Stall patterns: the same on every machine, of the share asked for, and never without an end."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.running.stalls import Stalls, pattern, random_stalls


def test_share_and_seed():
    row = random_stalls(0.3, seed=5)
    assert 0.27 < row.mean() < 0.33
    assert np.array_equal(row, random_stalls(0.3, seed=5))
    assert not np.array_equal(row, random_stalls(0.3, seed=6))


def test_each_stream_has_a_pattern_of_its_own():
    stalls = Stalls(seed=1)
    assert np.array_equal(pattern(stalls, "x"), pattern(stalls, "x"))
    assert not np.array_equal(pattern(stalls, "x"), pattern(stalls, "y"))


def test_no_stalls():
    assert len(pattern(None, "x")) == len(pattern({"y": [1, 0]}, "x")) == 0
    assert not random_stalls(0, seed=1).any()


@pytest.mark.parametrize("row, said", [([1, 1], "no cycle free"), ([0, 2], "row of 0 and 1")])
def test_patterns_that_cannot_be(row, said):
    with pytest.raises(RTLError, match=said):
        pattern({"x": row}, "x")


def test_a_share_that_cannot_be():
    with pytest.raises(RTLError, match="from 0 to under 1"):
        random_stalls(1, seed=0)
