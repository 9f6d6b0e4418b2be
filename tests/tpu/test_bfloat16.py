"""bfloat16.py against ml_dtypes, exact fractions and the network in float64."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit import convnet as network
from labkit.datasets import cifar10
from labkit.tpu import bfloat16

ml_dtypes = pytest.importorskip("ml_dtypes")
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def theirs(x):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def bits(x):
    return np.asarray(x, np.float32).view(np.uint32)


def test_every_bfloat16_and_what_lies_around_it():
    """All 65,536 patterns, each with lower halves just around 0, a half, and the next one."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (upper | np.uint32(lower)).view(np.float32)
        ours, expected = bfloat16.round_to_bfloat16(x), theirs(x)
        real = ~np.isnan(x)
        np.testing.assert_array_equal(bits(ours)[real], bits(expected)[real])  # the sign of 0, too
        assert np.isnan(ours[~real]).all() and np.isnan(expected[~real]).all()
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(x))
        assert not (bits(ours) & 0xFFFF).any()


def test_random_patterns_and_shapes():
    x = np.random.default_rng(0).integers(0, 1 << 32, (1000, 7, 9), dtype=np.uint32)
    x = x.view(np.float32)
    before = x.copy()
    np.testing.assert_array_equal(bfloat16.round_to_bfloat16(x), theirs(x))
    np.testing.assert_array_equal(bits(x), bits(before))
    for given_ in (x[::3, 2], x.transpose(), 3.14159, [1, 2, 257], np.zeros((0, 3))):
        ours = bfloat16.round_to_bfloat16(given_)
        assert ours.dtype == np.float32 and ours.shape == np.shape(given_)
        np.testing.assert_array_equal(ours, theirs(given_))


@given(FINITE)
@example(1 + 2.0**-8)
def test_rounding_is_within_the_unit_roundoff(x):
    rounded = float(bfloat16.round_to_bfloat16(x))
    if 2.0**-126 <= abs(x) <= 3.38e38:
        assert abs(rounded - x) <= bfloat16.U_BFLOAT16 * abs(x)


def test_fields_make_the_number_again():
    x = theirs(normal(1, 500) * np.float32(10.0) ** np.arange(-30, 20, 0.1, np.float32))
    sign, exponent, fraction = bfloat16.fields(x)
    again = (-1.0) ** sign * 2.0 ** (exponent.astype(int) - 127) * (1 + fraction / 128)
    np.testing.assert_array_equal(again, x)
    assert [int(f) for f in bfloat16.fields(-2.5)] == [1, 128, 32]


def exact_sum(x, y, accumulator):
    """One dot product in exact fractions, rounded by ml_dtypes or float32 after each addition."""
    kind = ml_dtypes.bfloat16 if accumulator == "bfloat16" else np.float32
    total = Fraction(0)
    for a, b in zip(theirs(x), theirs(y), strict=True):
        wide = np.float32(float(total + Fraction(float(a)) * Fraction(float(b))))
        total = Fraction(float(kind(wide)))
    return float(total)


@pytest.mark.parametrize("accumulator", bfloat16.ACCUMULATORS)
@pytest.mark.parametrize("K", [1, 2, 7, 300])
def test_sums_are_rounded_as_the_accumulator_says(accumulator, K):
    a, b = normal(K, 3, K), normal(K + 1, K, 2)
    c = bfloat16.matmul(a, b, accumulator)
    assert c.dtype == np.float32 and c.shape == (3, 2)
    for m, n in np.ndindex(3, 2):
        assert c[m, n] == exact_sum(a[m], b[:, n], accumulator)
        assert c[m, n] == bfloat16.dot(a[m], b[:, n], accumulator)
    np.testing.assert_array_equal(bfloat16.dot(a, b.T[:, None], accumulator), c.T)


def test_operands_may_be_bfloat16_already():
    a, b = normal(5, 2, 2).astype(ml_dtypes.bfloat16), normal(6, 2, 3).astype(ml_dtypes.bfloat16)
    c = bfloat16.matmul(a, b)
    assert c.dtype == np.float32
    np.testing.assert_array_equal(c, bfloat16.matmul(a.astype(float), b.astype(float)))
    np.testing.assert_array_equal(c[0, 0], bfloat16.dot(a[0], b[:, 0]))


def test_matmul_adds_in_order_of_k():
    a, b = normal(7, 4, 500), normal(8, 500, 4)
    shuffled = np.random.default_rng(9).permutation(500)
    c, other = bfloat16.matmul(a, b), bfloat16.matmul(a[:, shuffled], b[shuffled])
    assert (c != other).any() and (c != theirs(a) @ theirs(b)).any()
    np.testing.assert_array_equal(c[1, 2], exact_sum(a[1], b[:, 2], "float32"))


def test_of_split_operands_the_smallest_products_are_added_first():
    a, b = normal(10, 6, 20), normal(11, 20, 6)
    (high, low), (left, right) = bfloat16.split(a, 2), bfloat16.split(b, 2)
    small = [bfloat16.matmul(low, left), bfloat16.matmul(high, right)]
    large = bfloat16.matmul(high, left)
    found = bfloat16.matmul_split(a, b, 2)
    np.testing.assert_array_equal(found, small[0] + small[1] + large)
    assert (found != large + small[0] + small[1]).any()


def test_overflow_and_infinity_are_silent(recwarn):
    assert np.isinf(bfloat16.round_to_bfloat16([3.4e38, 1e300])).all()
    assert np.isinf(bfloat16.dot([1e30, 1], [1e30, 1]))
    assert np.isnan(bfloat16.dot([np.inf, 1], [0, 1]))
    assert np.isnan(bfloat16.split(np.inf)[1:]).all()
    assert not recwarn.list


def test_products_are_exact():
    a, b = theirs(normal(2, 1000)), theirs(normal(3, 1000))
    assert (a.astype(float) * b == (a * b).astype(float)).all()


@pytest.mark.parametrize(("n", "expected"), [(255, 255), (256, 256), (257, 256), (1024, 256)])
def test_a_bfloat16_sum_of_ones_stops_at_256(n, expected):
    ones = np.ones(n)
    assert bfloat16.dot(ones, ones, "bfloat16") == expected
    assert bfloat16.dot(ones, ones) == n


def frobenius(c, exact):
    return np.linalg.norm(c - exact) / np.linalg.norm(exact)


def test_errors_of_four_ways_at_4096_terms():
    a, b = normal(0, 24, 4096), normal(1, 4096, 24)
    exact = a.astype(float) @ b.astype(float)
    wide, narrow = (bfloat16.matmul(a, b, way) for way in bfloat16.ACCUMULATORS)
    assert frobenius(wide, exact) == pytest.approx(2.4e-3, rel=0.1)
    assert frobenius(narrow, exact) == pytest.approx(7.4e-2, rel=0.15)
    assert frobenius(bfloat16.matmul_split(a, b, 2), exact) == pytest.approx(4.5e-6, rel=0.1)
    assert frobenius(bfloat16.matmul_split(a, b, 3), exact) < 1e-6
    np.testing.assert_array_equal(bfloat16.matmul_split(a, b, 1), wide)


@given(st.floats(width=32, min_value=2.0**-100, max_value=2.0**100), st.booleans())
def test_three_parts_hold_every_bit(x, negative):
    x = np.float32(-x if negative else x)
    found = bfloat16.split(x)
    np.testing.assert_array_equal(found, theirs(found))
    assert sum(Fraction(float(part)) for part in found) == Fraction(float(x))
    two = bfloat16.split(x, 2)
    assert abs(float(x) - float(two[0]) - float(two[1])) <= 2.0**-16 * abs(float(x))


@given(st.integers(1, 200), st.integers(0, 10**6), st.sampled_from(["float32", "bfloat16"]))
def test_no_dot_product_leaves_its_bound(K, seed, accumulator):
    x, y = normal(seed, 5, K), normal(seed + 1, 5, K)
    x, y = x.astype(float), abs(y.astype(float)) if seed % 2 else y.astype(float)
    error = abs(bfloat16.dot(x, y, accumulator) - (x * y).sum(-1))
    assert (error <= bfloat16.dot_bound(K, accumulator) * abs(x * y).sum(-1)).all()


def test_the_bound_is_highams_and_ends_where_it_promises_nothing():
    assert bfloat16.error_bound(100, 2.0**-24) == pytest.approx(100 * 2.0**-24, rel=1e-5)
    assert bfloat16.error_bound(128, 2.0**-8) == 1
    assert bfloat16.error_bound(255, 2.0**-8) == pytest.approx(255)
    assert bfloat16.error_bound(256, 2.0**-8) == bfloat16.dot_bound(256, "bfloat16") == np.inf
    assert bfloat16.dot_bound(1) == (1 + 2.0**-8) ** 2 - 1 < bfloat16.dot_bound(1, "bfloat16")
    assert bfloat16.dot_bound(255, "bfloat16") < np.inf


def test_bad_input_is_a_sentence():
    with pytest.raises(ValueError, match=r"matmul: a\[2,3\] and b\[4,2\] do not fit"):
        bfloat16.matmul(np.ones((2, 3)), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"dot: \(3,\) and \(1,\) do not fit"):
        bfloat16.dot(np.ones(3), np.ones(1))
    with pytest.raises(ValueError, match=r"dot: \(\) and \(\) do not fit"):
        bfloat16.dot(1, 2)
    for parts in (0, 1.5):
        with pytest.raises(ValueError, match=f"split: parts is {parts}; it must be an integer"):
            bfloat16.split(1, parts)
    with pytest.raises(ValueError, match="not 'float16'"):
        bfloat16.dot(np.ones(3), np.ones(3), "float16")
    with pytest.raises(ValueError, match="not 'fp8'"):
        bfloat16.dot_bound(3, "fp8")


def test_the_network_in_bfloat16():
    weights, test = network.load_weights(), cifar10("sample").test
    x = network.normalise(test.images[:60])  # more than one portion
    expected = network.forward(weights, x)
    np.testing.assert_allclose(bfloat16.convnet(weights, x, np.matmul), expected, atol=1e-4)
    logits, seen = bfloat16.convnet(weights, x), []

    def product(a, b):
        seen.append((a.shape, b.shape))
        return bfloat16.matmul(a, b)

    assert 1e-3 < abs(logits - expected).max() < 0.1
    np.testing.assert_allclose(bfloat16.convnet(weights, x[:2], product), logits[:2], atol=1e-4)
    assert [a[1] for a, _ in seen] == [27, 288, 4096, 128] == [b[0] for _, b in seen]


def test_no_ml_dtypes_is_needed():
    code = "import sys; sys.modules['ml_dtypes'] = None; "
    code += "from labkit.tpu import bfloat16 as b; "
    code += "assert b.dot([1, 2], [3, 4]) == 11 and 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
