"""The order of words: each value stands where the RTL's head comments say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labkit.fpga.integers import words

small = st.integers(1, 3)


@given(groups=small, lanes=small, channel_groups=small, channel_lanes=small)
def test_convolution_weights(groups, lanes, channel_groups, channel_lanes):
    K, C = groups * lanes, channel_groups * channel_lanes
    w = np.arange(K * C * 9).reshape(K, C, 3, 3)
    rows = iter(words.conv_weight_words(w, lanes, channel_lanes))
    for k in range(0, K, lanes):
        for c in range(0, C, channel_lanes):
            for lane in range(lanes):
                for tap in range(9):
                    expected = w[k + lane, c : c + channel_lanes, tap // 3, tap % 3]
                    assert np.array_equal(next(rows), expected)
    assert next(rows, None) is None


@given(groups=small, lanes=small, steps=small, products=small)
def test_linear_weights(groups, lanes, steps, products):
    K, D = groups * lanes, steps * products
    w = np.arange(K * D).reshape(K, D)
    rows = iter(words.linear_weight_words(w, lanes, products))
    for d in range(0, D, products):
        for k in range(0, K, lanes):
            expected = w[k : k + lanes, d : d + products]
            assert np.array_equal(next(rows), expected.ravel())
    assert next(rows, None) is None


@given(groups=small, lanes=small, D=small)
def test_terms_of_an_array(groups, lanes, D):
    x, w = np.arange(D), 100 + np.arange(groups * lanes * D).reshape(-1, D)
    rows = iter(words.term_words(x, w, lanes))
    for k in range(0, groups * lanes, lanes):
        for d in range(D):
            assert next(rows).tolist() == [x[d], *w[k : k + lanes, d]]
    assert next(rows, None) is None


def test_ends_of_packets():
    assert words.ends(3, 2).tolist() == [0, 0, 1, 0, 0, 1]
    assert words.ends(1, 2).tolist() == [1, 1]


def test_sums_with_their_multipliers():
    made = words.sum_words(np.array([8660, -1], np.int32), np.array([164, 65535]))
    assert [hex(word) for word in made] == ["0xa4000021d4", "0xffffffffffff"]


def test_pixels_and_back():
    x = np.random.default_rng(0).integers(-128, 128, (2, 4, 3, 5)).astype(np.int8)
    rows = words.pixel_words(x)
    assert np.array_equal(rows[0], x[0, :, 0, 0])
    assert np.array_equal(rows[1], x[0, :, 0, 1])
    assert np.array_equal(rows[15], x[1, :, 0, 0])
    halves = rows.astype(np.uint8).reshape(-1, 2).astype(int)
    packed = halves[:, 0] + 256 * halves[:, 1]
    assert np.array_equal(words.feature_maps(packed, 4, 3, 5, lanes=2), x)


def test_parameters_keep_the_sign_of_the_bias():
    (word,) = words.parameter_words(np.array([-2], np.int32), np.array([0xFFFF]))
    assert word == 0xFFFF_FFFF_FFFE
