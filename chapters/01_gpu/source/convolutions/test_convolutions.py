"""This lesson: what it prints follows the learner's functions, and its clock times what it says."""

import re

import numpy as np
import pytest
import torch

from labkit import check, convnet, figures, reference
from labkit.datasets import cifar10
from labkit.provenance import measured
from labkit_lessons.gpu.convolutions import photograph_maps
from tests.exercises.edits import edit
from tests.notebooks.running import Run

CLAIM, NUDGED, PHOTOGRAPHS = "as_printed", "nudged at", "there = torch"
TIMED, GUESSES = "from timeit", "figures.guesses"


class Clock:
    """In place of `timeit.timeit`: runs the statement once and returns the next of `seconds`.

    The last one is repeated. `results` are what the statements returned.
    """

    def __init__(self, *seconds):
        self.seconds, self.results = seconds, []

    def __call__(self, statement, *args, number=1_000_000, **kwargs):
        self.results.append(statement())
        return number * self.seconds[min(len(self.results), len(self.seconds)) - 1]


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:  # no cell takes long for the sake of its clock
        patch.setattr("timeit.timeit", Clock(0.5, 0.001))
        return Run("01_gpu", "2_convolutions")


def flipped(conv2d):
    return lambda x, w, b, stride=1, padding=0: conv2d(x, w[:, :, ::-1, ::-1], b, stride, padding)


def test_the_example_by_hand_is_a_window_of_the_picture(lesson):
    X, K = lesson.namespace["X"], lesson.namespace["K"]
    by_hand = np.array([[0, 1, 1], [4, 0, 1], [1, 2, 0]])
    assert (X[2:5, 2:5] == by_hand).all() and (by_hand * K).sum() == 6


def test_the_claim_is_run_as_printed(lesson):
    said = lesson.printed[lesson.cell(CLAIM)]
    X, K = lesson.namespace["X"], lesson.namespace["K"]
    assert f"i, j over the kernel: {np.sum(X[:3, :3] * K)} (one number)" in said
    assert "out of bounds" in said


def test_the_sums_by_hand():
    x, w, dy = np.array([1, 2, 3, 4]), np.array([3, 1]), np.array([1, 2, 3])
    x, w, dy = x.reshape(1, 1, 1, 4), w.reshape(1, 1, 1, 2), dy.reshape(1, 1, 1, 3)
    assert reference.conv2d(x, w).ravel().tolist() == [5, 9, 13]
    dx, dw, _ = reference.conv2d_backward(dy, x, w)
    assert dw.ravel()[0] == 14 and dx.ravel()[2] == 11


def test_a_bias_of_each_position_is_told_what_it_adds_up(capsys):
    """It has another shape than db in every case, so it is right on none and planted nowhere."""
    id = "gpu.conv2d_backward_weights"
    check(id, edit(id, "summed_as_in_lesson_1", "dy_rows.sum(axis=0)", "dy.sum(axis=0)"))
    assert "db adds up the images alone" in " ".join(capsys.readouterr().out.split())


def test_the_nudging_sees_a_wrong_gradient(lesson):
    said = lesson.printed[lesson.cell(NUDGED)]
    assert said == "dx, dw and db, nudged at 292 entries: True\n"
    right = lesson.namespace["conv2d_backward_weights"]

    def halved(*args):
        dw, db = right(*args)
        return dw, db / 2

    said, _ = lesson.again(NUDGED, conv2d_backward_weights=halved)
    assert "entries: False" in said


def test_conv1_is_the_learners_and_is_held_against_pytorch(lesson, monkeypatch):
    said = lesson.printed[lesson.cell(PHOTOGRAPHS)]
    assert "all within 0.0001 of PyTorch's: True" in said
    said, _ = lesson.again(PHOTOGRAPHS, conv2d=flipped(lesson.namespace["conv2d"]))
    assert "all within 0.0001 of PyTorch's: False" in said

    def refuse(*_, **__):
        raise AssertionError("the lesson's convolution called PyTorch")

    for name in ("from_numpy", "tensor", "as_tensor", "conv2d"):
        monkeypatch.setattr(torch, name, refuse)
    monkeypatch.setattr(torch.nn.functional, "conv2d", refuse)
    x = convnet.normalise(cifar10("sample").test.images[:2])
    weights = convnet.init(seed=7)
    w, b = weights["conv1.weight"], weights["conv1.bias"]
    y = lesson.namespace["conv2d"](x, w, b, 1, 1)
    np.testing.assert_allclose(y, reference.conv2d(x, w, b, 1, 1), atol=1e-4)


def test_loops_and_product_are_timed(lesson, monkeypatch):
    calls = []

    def loops(x, w, b, stride=1, padding=0):
        calls.append("loops")
        return reference.conv2d(x, w, b, stride, padding)

    def product(*args):
        calls.append("product")
        return lesson.namespace["conv2d"](*args)

    clock = Clock(0.5, 0.003, 0.001, 0.002)
    monkeypatch.setattr("timeit.timeit", clock)
    said, _ = lesson.again(TIMED, conv2d_direct=loops, conv2d=product)
    timed = len(clock.results)
    assert timed >= 4 and calls == ["loops"] + ["product"] * (timed - 1)
    for y in clock.results:  # all of one convolution, the whole of it
        np.testing.assert_allclose(y, clock.results[0], atol=1e-4)
    assert clock.results[0].shape == (1, 32, 32, 32)
    assert said.splitlines() == [
        f"loops: {measured(0.5, 's')}",
        f"matrix product: {measured(0.001, 's')}",
        f"loops / product: {measured(500, 'times')}",
    ]


def test_the_guesses_meet_what_conv1_gives(lesson, monkeypatch):
    seen, drawn = [], []
    monkeypatch.setattr(figures, "guesses", seen.extend)
    monkeypatch.setattr(photograph_maps, "draw", lambda *args, **kw: drawn.append((args, kw)))
    lesson.again(GUESSES)
    images = convnet.normalise(cifar10("sample").test.images)
    with torch.no_grad():
        there = convnet.torch_model(convnet.load_weights()).conv1(torch.tensor(images)).numpy()
    (_, _, growth), (_, _, closed) = seen
    assert float(growth) == 9
    assert float(closed) == pytest.approx(100 * np.mean(there <= 0), abs=0.01)
    ((photograph, outputs), kernels) = drawn[0]
    np.testing.assert_allclose(outputs, there[1], atol=1e-4)
    assert photograph.shape == (3, 32, 32) and kernels == {"kernels": [20, 25]}


def test_the_picture_says_where_kernels_answer(capsys):
    outputs = np.full((3, 4, 4), -1.0)
    outputs[2, :2] = 5
    photograph_maps.draw(np.zeros((3, 4, 4), np.uint8), outputs, kernels=[0, 2])
    said = capsys.readouterr().out
    assert "kernel 0 answers at 0% of the places" in said
    assert re.search(r"kernel 2 answers at 50% of the places", said)
