"""The lessons' problem: gradients against PyTorch's own modules, and how photographs are dealt."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from labkit.distributed.one_big_batch import forward_backward
from labkit.distributed.parameter_server import Photographs, problem
from labkit.distributed.small_training import photographs


def by_modules(flat, places):
    """Loss and gradient by a network that is written out here."""
    images, labels = photographs()
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 32), nn.ReLU(), nn.Linear(32, 10))
    nn.utils.vector_to_parameters(flat, model.parameters())
    loss = forward_backward(model, images[places], labels[places])
    return loss, torch.cat([weight.grad.flatten() for weight in model.parameters()])


@pytest.mark.parametrize("seed", [0, 1])
def test_a_gradient_is_that_of_the_network(seed):
    job = Photographs(batch=7, seed=seed)
    flat = job.start()
    loss, slope, samples = job.gradient(flat, worker=1, step=5, workers=3)
    expected, slopes = by_modules(flat, problem.batch(1, 5, 7, 3))
    assert flat.shape == (24938,) and samples == 7
    assert loss == pytest.approx(expected) and torch.allclose(slope, slopes, atol=1e-7)


def test_gradients_have_no_state_and_do_not_meet_in_threads():
    job = Photographs(batch=4)
    starts = [Photographs(seed=seed).start() for seed in range(4)]
    alone = [job.gradient(flat, 0, 0, 1) for flat in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda n: job.gradient(starts[n % 4], 0, 0, 1), range(40)))
    for n, (loss, slope, _) in enumerate(together):
        assert loss == alone[n % 4][0] and torch.equal(slope, alone[n % 4][1])


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 40))
def test_workers_of_a_step_make_one_big_batch(workers, size, step):
    parts = [problem.batch(worker, step, size, workers) for worker in range(workers)]
    assert torch.equal(torch.cat(parts), problem.batch(0, step, size * workers, 1))


def test_all_photographs_come_once_before_one_comes_again():
    count = len(photographs()[1])
    dealt = [problem.batch(w, step, 25, 4) for step in range(count // 100) for w in range(4)]
    assert sorted(torch.cat(dealt).tolist()) == list(range(count))
    assert torch.equal(problem.batch(0, count // 100, 25, 4), dealt[0])


def test_the_mean_of_small_gradients_is_that_of_the_big_batch():
    job = Photographs(batch=8)
    flat = job.start()
    mean = sum(job.gradient(flat, w, 3, 4)[1] for w in range(4)) / 4
    _, big, _ = Photographs(batch=32).gradient(flat, 0, 3, 1)
    assert (mean - big).abs().max() < 1e-6


def test_seeds_and_random_numbers():
    before = torch.random.get_rng_state()
    assert torch.equal(Photographs(seed=3).start(), Photographs(seed=3).start())
    assert not torch.equal(Photographs(seed=3).start(), Photographs(seed=4).start())
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_fingerprint_says_names_shapes_and_version(monkeypatch):
    ours = Photographs().fingerprint()
    assert ours == (
        "version 1: fc1.weight[32, 768], fc1.bias[32], fc2.weight[10, 32], fc2.bias[10]"
    )
    assert problem.fingerprint(nn.Linear(3, 2)) != problem.fingerprint(nn.Linear(2, 3))
    monkeypatch.setattr(problem, "VERSION", 2)
    assert Photographs().fingerprint() != ours


def test_bad_input():
    images, labels = photographs()
    with pytest.raises(ValueError, match=r"24938 weights in one row; these have the shape \[5\]"):
        problem.gradient(torch.zeros(5), images[:2], labels[:2])
    with pytest.raises(ValueError, match="batch is a whole number from 1 on, not 0"):
        Photographs(batch=0)
    with pytest.raises(ValueError, match="seed is a whole number from 0 on, not -1"):
        Photographs(seed=-1)
