"""The picture of the ring by hand: its numbers are those of real sums, and its words say them."""

import numpy as np
import pytest

from labkit_lessons.distributed.the_ring.chunk_picture import ring_by_hand, stages

THREE = np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]])


def test_three_ranks_by_hand():
    first, second = stages(THREE)
    assert [stage.leaving for stage in first] == [[2, 0, 1], [1, 2, 0], None]
    assert [stage.leaving for stage in second] == [[0, 1, 2], [2, 0, 1], None]
    assert first[1].values.tolist() == [[1, 202, 3], [10, 20, 33], [110, 200, 300]]
    assert first[2].values.tolist() == [[111, 202, 3], [10, 222, 33], [110, 200, 333]]
    assert second[1].values.tolist() == [[111, 202, 333], [111, 222, 33], [110, 222, 333]]
    assert (THREE == [[1, 2, 3], [10, 20, 30], [100, 200, 300]]).all(), "the input is as it was"


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_any_number_of_ranks(ranks):
    values = np.random.default_rng(ranks).integers(-50, 50, (ranks, ranks))
    first, second = stages(values)
    assert (np.diag(first[-1].values) == values.sum(0)).all()
    assert np.diag(first[-1].finished).all()
    assert (second[-1].values == values.sum(0)).all() and second[-1].finished.all()
    assert len(first) == len(second) == ranks


def test_what_it_says(capsys):
    ring_by_hand(THREE)
    said = capsys.readouterr().out
    assert "rank 1 has 10, 20, 33 and sends chunk 2" in said
    assert "All-gather: after step 2: rank 0 has 111, 222, 333" in said


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (2, 3)])
def test_what_it_cannot_draw(shape):
    with pytest.raises(ValueError, match="2 to 5 ranks with as many chunks"):
        ring_by_hand(np.ones(shape))
