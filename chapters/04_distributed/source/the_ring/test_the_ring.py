"""Lesson the_ring: its numbers, and that what it prints follows the learner's functions."""

import numpy as np
import pytest
import torch

from labkit.distributed import CostModel, exchange
from tests.notebooks.running import Run

PICTURE, TUTORIAL, TABLE = "ring_by_hand(", "def whole_tensors", "gradients ="
CROSSING = "costs_by_size(model"
GUESSES = "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "2_the_ring")


def rows(said):
    return [line.split() for line in said.splitlines()]


def test_what_is_counted(lesson):
    said = lesson.printed[lesson.cell(TUTORIAL)]
    assert said.count("has [111.0, 222.0, 333.0] and sent 24 bytes") == 3
    said = lesson.printed[lesson.cell(TABLE)]
    assert ["rank", "0", "yes", "13.1", "MB", "13.1", "MB"] in rows(said)
    assert ["tree", "yes", "8.72", "MB", "13.1", "MB"] in rows(said)
    assert ["ring", "yes", "6.54", "MB", "13.1", "MB"] in rows(said)
    assert "rank 3 to rank 0 3.27 MB" in said
    size = 545_098 * 4
    assert [round(k * size / 1e6, 2) for k in (1, 3, 4, 6)] == [2.18, 6.54, 8.72, 13.08]


def test_the_table_follows_the_learners_ring(lesson):
    """A ring of whole tensors costs more, and one that does not sum is said to be wrong."""

    def whole_tensors(rank, ranks, x):
        total, leaving = x.clone(), x
        for _ in range(1, ranks):
            arriving = torch.empty_like(x)
            exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
            total += arriving
            leaving = arriving
        return total

    said, _ = lesson.again(TABLE, ring_all_reduce=whole_tensors)
    assert ["ring", "yes", "13.1", "MB", "26.2", "MB"] in rows(said)
    said, _ = lesson.again(TABLE, ring_all_reduce=lambda rank, ranks, x: x)
    assert ["ring", "no", "0", "B", "0", "B"] in rows(said)


def test_the_crossing_follows_the_network(lesson):
    said = lesson.printed[lesson.cell(CROSSING)]
    assert "4 ranks: below 80 kB" in said and "1024 ranks: below 11.3 MB" in said
    assert "1,024 ranks: rank 0 46.6 s, tree 456 ms, ring 2.09 s" in said
    said, _ = lesson.again(CROSSING, model=CostModel(2e-3, 100e6))
    assert "4 ranks: below 160 kB" in said
    model, n = CostModel(1e-3, 100e6), 64  # both formulas at the size that is printed
    size = 1.14e6
    tree = model.predict("tree_all_reduce", n, size)
    assert np.isclose(tree, model.predict("ring_all_reduce", n, size), rtol=0.01)


def test_no_guess_is_scored_by_a_measured_time(lesson):
    """By hand: each of 2,046 messages has 1 ms of latency, and its bytes at 100 MB/s."""
    results = lesson.namespace["results"]
    assert {quantity.word for quantity in results.values()} == {"predicted"}
    for name, size in (("64 KiB", 64 << 10), ("16 MiB", 16 << 20)):
        through_0, ring = (2 * 1023 * (1 + part / 1e5) for part in (size, size / 1024))  # ms
        assert float(results[name]) == pytest.approx(through_0 / ring)
    assert [round(float(results[name]), 2) for name in ("64 KiB", "16 MiB")] == [1.65, 145.01]
    _, names = lesson.again(GUESSES, model=CostModel(0.0, 100e6))  # without latency: n times
    assert float(names["results"]["64 KiB"]) == pytest.approx(1024)


def test_the_numbers_of_the_text():
    assert round(2 * 1023 * 2.18 / 100) == 45
    assert [100 * 2 * (n - 1) / n for n in (2, 4)] == [100, 150]
    assert round(100 * 2 * 1023 / 1024, 1) == 199.8
    model = CostModel(1e-3, 100e6)
    assert np.isclose([model.message(8e6), model.message(2e6)], [0.081, 0.021]).all()
    ways = ("gather", "tree", "ring")
    times = [1e3 * model.predict(f"{way}_all_reduce", 4, 8e6) for way in ways]
    assert np.allclose(times, [486, 324, 126])
    assert np.isclose(2 / 2.5 * 1e-3 * 100e6, 80e3) and 2.5 == 4 - 2 * 3 / 4
    names = ("gather", "ring", "tree", "halving")
    times = [model.predict(f"{name}_all_reduce", 1024, 2.18e6) for name in names]
    assert np.allclose(times, [46.6, 2.09, 0.456, 0.064], rtol=0.01)
    assert 2 * 7 * 80 / 8 == 140 and 2 * 511 == 1022 and 2 * np.log2(512) == 18  # the quiz
