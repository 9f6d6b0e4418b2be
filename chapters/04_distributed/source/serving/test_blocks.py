"""Blocks: admission against a search, and slots against a cache that is written and read back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit_lessons.distributed.serving.blocks import admitted, blocks_for, new_slots
from tests.distributed.serving.by_ticks import admitted_by_search


@given(st.integers(1, 500), st.integers(1, 40))
def test_blocks_are_just_enough(tokens, size):
    assert size * blocks_for(tokens, size) >= tokens > size * (blocks_for(tokens, size) - 1)


@given(
    st.lists(st.integers(1, 60), max_size=8),
    st.integers(0, 8),
    st.integers(0, 20),
    st.integers(1, 9),
)
def test_nobody_overtakes_and_all_that_fits_joins(waiting, rows, blocks, size):
    assert admitted(waiting, rows, blocks, size) == admitted_by_search(waiting, rows, blocks, size)


def test_the_example_of_the_docstring():
    assert new_slots([4, 7], [2, 9], cached=31, new=2, size=16) == ([4, 7, 2], [127, 32])
    assert blocks_for(33, 16) == 3


@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_two_requests_write_a_real_cache_and_read_back_what_is_theirs(data, size, turns):
    """In turn, each writes some tokens into one array; through its table each finds its own."""
    free = data.draw(st.permutations(range(40)))
    cache = np.zeros(40 * size)
    tables = ([], [])
    written = ([], [])
    for turn in range(2 * turns):
        who = turn % 2
        count = data.draw(st.integers(0, 3))
        before = list(tables[who])
        table, slots = new_slots(tables[who], free, len(written[who]), count, size)
        assert tables[who] == before and table[: len(before)] == before
        taken = table[len(before) :]
        assert taken == list(free[: len(taken)])
        free = free[len(taken) :]
        tables[who][:] = table
        new = [1000 * who + len(written[who]) + i for i in range(count)]
        cache[slots] = new
        written[who].extend(new)
    for table, tokens in zip(tables, written, strict=True):
        assert len(table) == (blocks_for(len(tokens), size) if tokens else 0)
        found = [cache[table[t // size] * size + t % size] for t in range(len(tokens))]
        assert found == tokens


def test_too_few_free_blocks_are_an_error():
    with pytest.raises(IndexError):
        new_slots([], [3], cached=0, new=5, size=2)
