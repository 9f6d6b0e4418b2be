"""Buckets by their properties."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.gradients.buckets import FIRST, MOST, assign

SIZES = st.lists(st.integers(0, 30), max_size=20)
LIMIT = st.integers(1, 60)


def filled(sizes, bucket):
    return sum(sizes[place] for place in bucket)


def limits(buckets, most, first):
    return [min(first, most), *[most] * len(buckets)][: len(buckets)]


@given(SIZES, LIMIT, LIMIT)
def test_each_weight_is_in_one_bucket_in_reverse_order(sizes, most, first):
    buckets = assign(sizes, most, first)
    assert [place for bucket in buckets for place in bucket] == list(range(len(sizes)))[::-1]
    assert all(buckets)


@given(SIZES, LIMIT, LIMIT)
def test_no_bucket_has_more_than_the_limit_unless_it_is_one_gradient(sizes, most, first):
    buckets = assign(sizes, most, first)
    for bucket, limit in zip(buckets, limits(buckets, most, first), strict=True):
        assert len(bucket) == 1 or filled(sizes, bucket) <= limit


@given(SIZES, LIMIT, LIMIT)
def test_a_bucket_ends_only_where_the_next_gradient_does_not_fit(sizes, most, first):
    buckets = assign(sizes, most, first)
    pairs = zip(buckets, buckets[1:], limits(buckets, most, first), strict=False)
    for bucket, after, limit in pairs:
        assert filled(sizes, bucket) + sizes[after[0]] > limit


@given(st.lists(st.sampled_from(["float32", "float16"]), max_size=12))
def test_kinds_never_share_a_bucket(kinds):
    buckets = assign([1] * len(kinds), most=1000, kinds=kinds)
    for bucket in buckets:
        assert len({kinds[place] for place in bucket}) == 1
    changes = sum(a != b for a, b in pairwise(kinds))
    assert len(buckets) == (changes + 1 if kinds else 0)


def test_by_hand():
    assert assign([4, 8, 8, 2], most=10) == [[3, 2], [1], [0]]
    assert assign([4, 8, 8, 2], most=10, first=2) == [[3], [2], [1], [0]]
    assert assign([1, 1, 1, 1], most=2, first=1) == [[3], [2, 1], [0]]
    assert assign([99], most=1) == [[0]]
    assert assign([], most=1) == []
    assert assign([4, 4], most=4, first=8) == [[1], [0]], "the first is no larger than the others"
    assert (MOST, FIRST) == (25 * 2**20, 2**20)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1], 0), "a bucket of 0 bytes holds nothing"),
        (([1, -2], 5), "-2 bytes is no size"),
        (([1], 5, 5, ["a", "b"]), "1 sizes have 2 kinds"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        assign(*arguments)
