"""The small training: Adam's rule against PyTorch's, and what a bad snapshot is told."""

import numpy as np
import pytest
import torch

from labkit import check
from labkit_lessons.distributed.restarts_and_monitoring import remembered
from labkit_lessons.distributed.restarts_and_monitoring.remembered import PARTS, RATE, SmallTraining


def test_its_steps_are_those_of_pytorchs_adam(monkeypatch):
    monkeypatch.setattr(remembered, "NOISE", 0.0)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=5)
    training = SmallTraining(x, y, 0)
    weights = torch.tensor(training.weights, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=RATE, betas=(0.9, 0.99))
    for step in range(12):
        row = step % 5
        error = torch.tensor(x[row]) @ weights - y[row]
        optimizer.zero_grad()
        (error**2 / 2).backward()
        optimizer.step()
        assert training.one_step() == pytest.approx(error.item() ** 2)
        assert np.allclose(training.weights, weights.detach().numpy(), rtol=1e-9)


def test_every_part_changes_in_a_step():
    rng = np.random.default_rng(1)
    training = SmallTraining(rng.normal(size=(5, 3)), rng.normal(size=5), 0)
    before = {name: np.copy(getattr(training, name)) for name in PARTS if name != "random"}
    state = training.random.bit_generator.state
    training.one_step()
    assert all(not np.array_equal(getattr(training, name), old) for name, old in before.items())
    assert training.random.bit_generator.state != state


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda training: None, "returns nothing"),
        (lambda training: [training.step], "A snapshot is a dict"),
        (lambda training: {}, "not solved yet"),
        (lambda training: {"wheels": 4}, "'wheels' is none of the parts"),
        (lambda training: {"step": "7"}, "'step' is a whole number"),
        (lambda training: {"weights": [1.0]}, "'weights' is an array"),
        (lambda training: {"random": 7}, "'random' is the generator's state"),
        (7, "The answer is a function"),
    ],
)
def test_what_is_no_snapshot_is_told_so(answer, says, capsys):
    assert check("distributed.snapshot", answer) is not answer
    assert says in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("id", ["distributed.reshard", "distributed.save_whole"])
def test_what_is_no_function_is_told_so(id, capsys):
    assert check(id, 7) == check(id, 8)
    assert "The answer is a function" in capsys.readouterr().out


def test_a_part_of_which_nothing_is_read_is_not_solved_yet(capsys):
    check("distributed.reshard", lambda files, ranks, rank: np.concatenate([]))
    assert "not solved yet: no row is read" in capsys.readouterr().out


def test_a_save_that_writes_nothing_is_not_solved_yet(capsys):
    check("distributed.save_whole", lambda disk, name, shards: None)
    assert "not solved yet" in capsys.readouterr().out
