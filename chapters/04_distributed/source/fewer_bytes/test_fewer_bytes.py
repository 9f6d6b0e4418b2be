"""What lesson fewer_bytes prints follows from what it computes."""

from dataclasses import replace

import pytest

from labkit.distributed import large_batches
from tests.notebooks.running import Run


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "5_fewer_bytes")


def test_the_bytes_are_counted_and_not_computed(lesson):
    words = "def sent_by"
    said, names = lesson.again(words, launch=lambda *_: [12_345])
    assert "12.3 kB" in said or "12,345" in said
    printed = lesson.printed[lesson.cell(words)]
    for number in ("3.15 MB", "126 kB"):
        assert number in printed or number.split()[0] in printed
    assert names["S"] == 128 * 4096 * 4


def test_the_trainings_are_compared(lesson):
    words = "errors thrown away"
    printed = lesson.printed[lesson.cell(words)]
    assert printed.count("True") == 2
    flat = lesson.namespace["losses"]["1 %, errors thrown away"]
    said, _ = lesson.again(words, launch=lambda train, ranks, k, keep: [flat, flat])
    assert "behind by more than 0.2: False" in said


def test_the_claims_are_decided_by_runs(lesson):
    words = "weights averaged after"
    printed = lesson.printed[lesson.cell(words)]
    assert "SGD, weights averaged after 1: equal: True" in printed
    assert "sgd_with_momentum, weights averaged after 1: equal: True" in printed
    assert "Adam, weights averaged after 1: equal: False" in printed
    assert "SGD, weights averaged after 2: equal: False" in printed
    said, _ = lesson.again(words, launch=lambda apart, ranks: [[1.0, 1.0, 1.0, 1.0]])
    assert "True" not in said


def test_the_epochs_and_bytes_until_a_loss_come_from_the_log(lesson):
    words = '"epochs until 1.5"'
    _, names = lesson.again(words)
    found = {tuple(row[:2]): row[2:] for row in names["rows"]}
    for seed in (0, 1):  # what the verdict says, it says of both
        for batch, epochs, sent, loss in ((16, 10, 119, 1.1), (256, 16, 12, 1.4)):
            assert found[seed, batch][3] == epochs
            assert float(found[seed, batch][4]) / 1e6 == pytest.approx(sent, abs=0.5)
            assert found[seed, batch][2] == pytest.approx(loss, abs=0.06)
        assert found[seed, 512][3:] == ["never", ""] and found[seed, 512][2] > 2
    slow = [replace(run, losses=(2.0, 1.6, 1.5)) for run in lesson.namespace["runs"]]
    _, names = lesson.again(words, runs=slow)
    assert {row[5] for row in names["rows"]} == {3}


def test_two_steps_alone_end_beside_the_minimum():
    w = 0.0
    for _ in range(200):
        one, other = w, w
        for _ in range(2):
            one, other = one - 0.1 * one, other - 0.1 * 3 * (other - 4)
        w = (one + other) / 2
    assert w == pytest.approx(2.91, abs=0.005)


def test_the_predictions_are_compared_with_the_log(lesson, monkeypatch):
    _, names = lesson.again("figures.guesses([(name")
    assert float(names["results"]["ranks"]) == 100
    assert float(names["results"]["largest batch"]) == 256
    monkeypatch.setattr(large_batches, "read", lambda: lesson.namespace["runs"][:9])
    _, names = lesson.again("figures.guesses([(name")
    assert float(names["results"]["largest batch"]) == 32
