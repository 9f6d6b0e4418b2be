"""This lesson: what it prints follows the learner's functions, and its numbers are computed."""

import re

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from labkit import convnet, figures
from labkit_lessons.gpu.gradients import gradient_pictures
from tests.notebooks.running import Run

CLAIM, BACKWARDS, PYTORCH, NUDGES = "As printed:", "dscores =", "loss.backward()", "nudges ="
COSTS, TAPE, SLOPES = "Counter()", "class Row", "table_of_tape"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "1_gradients")


def verdicts(said):
    """The last word of each line that ends with yes or no, by what stands before it."""
    return {name: word for name, word in re.findall(r"^(.*\S) +(yes|no)$", said, re.MULTILINE)}


def test_the_nudging_sees_a_wrong_gradient(lesson):
    outer, yours, twice = "the claim, with an outer product", "yours", "divided by N twice"
    said = lesson.printed[lesson.cell(CLAIM)]
    assert verdicts(said) == {outer: "yes", yours: "yes", twice: "no"}
    assert "could not be broadcast" in said

    def doubled(dy, x, w):
        return dy @ w, 2 * dy.T @ x, dy.sum(axis=0)

    said, _ = lesson.again(CLAIM, linear_backward=doubled)
    assert verdicts(said) == {outer: "yes", yours: "no", twice: "no"}


def test_the_slopes_are_pytorchs_and_come_from_the_learners_functions(lesson):
    rows = re.findall(r"^(fc\S+) +([\d,]+) +(yes|no)$", lesson.printed[lesson.cell(PYTORCH)], re.M)
    shapes = {name: shape for name, shape in convnet.SHAPES.items() if name.startswith("fc")}
    assert [(name, int(size.replace(",", ""))) for name, size, _ in rows] == [
        (name, int(np.prod(shape))) for name, shape in shapes.items()
    ]
    assert {word for *_, word in rows} == {"yes"}
    said, _ = lesson.again(BACKWARDS, PYTORCH, relu_backward=lambda dy, x: dy)
    assert verdicts(said)[f"fc1.bias{' ' * 9}128"] == "no"
    assert verdicts(said)[f"fc2.bias{' ' * 10}10"] == "yes"


def test_the_way_back_of_the_lesson_calls_no_library(lesson, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the way back called PyTorch")

    monkeypatch.setattr(torch.Tensor, "backward", refuse)
    monkeypatch.setattr(torch.autograd, "grad", refuse)
    _, names = lesson.again(BACKWARDS)
    assert names["dw1"].shape == (128, 4096) and names["dw1"].any()


def test_digits_are_those_of_each_nudge(lesson, monkeypatch):
    seen = []
    monkeypatch.setattr(gradient_pictures, "digits_by_nudge", lambda *given: seen.append(given))
    lesson.again(NUDGES)
    ((nudges, digits),) = seen
    assert [f"{nudge:.0e}" for nudge in nudges] == [f"1e-{n:02}" for n in range(1, 16)]
    for nudge, right in zip(nudges, digits, strict=True):
        above, below = (3 + nudge) ** 2, (3 - nudge) ** 2
        slope = (above * above - below * below) / (2 * nudge)
        if nudge > 1e-4:  # rounding is nothing beside the curve: the formula of the text
            assert slope - 108 == pytest.approx(12 * nudge**2, rel=1e-3)
            assert right == pytest.approx(-np.log10(12 * nudge**2 / 108), abs=1e-3)
    assert np.argmax(digits) == 4


def test_the_arithmetic_of_a_run_and_of_a_step(lesson):
    """PyTorch's own counter, of products alone, agrees with the table to a hundredth."""
    model = convnet.torch_model()
    with FlopCounterMode(display=False) as forward:
        scores = model(torch.zeros(32, 3, 32, 32))
    with FlopCounterMode(display=False) as backward:
        scores.sum().backward()
    flops = lesson.namespace["flops"]
    assert flops["forward"] == pytest.approx(forward.get_total_flops(), rel=0.01)
    both = flops["dW"] + flops["dX"]
    assert both == pytest.approx(backward.get_total_flops(), rel=0.01)
    assert lesson.namespace["parameters"] == sum(p.numel() for p in model.parameters())


def test_the_guesses_meet_the_results(lesson, monkeypatch):
    seen = []
    monkeypatch.setattr(figures, "guesses", seen.extend)
    lesson.again(COSTS, digits=[3.0, 7.0])
    (_, _, step), (_, _, best) = seen
    flops = lesson.namespace["flops"]
    parts = flops["forward"] + flops["dW"] + flops["dX"] + flops["update"]
    assert float(step) == pytest.approx(parts / flops["forward"]) and float(best) == 7


def test_the_tape_follows_the_values(lesson):
    said = lesson.printed[lesson.cell(SLOPES)]
    assert re.search(r"^v0 +x +3 +- +108$", said, re.MULTILINE)
    assert "v2 * v0" in said and "27 for v0" in said
    lines = lesson.cell(TAPE).replace('Row("x", 3.0, [])', 'Row("x", 2.0, [])')
    names = dict(lesson.before[lesson.cell(TAPE)])
    lesson.execute(lines, names)
    lesson.execute(lesson.cell(SLOPES), names)
    assert names["gradient"][0] == 6 * 2**5 and len(names["tape"]) == 6  # 64 is the first above 50


def test_pictures_say_which_products_they_add(capsys):
    x, w = np.array([[1, 2, 3], [4, 0, -1]]), np.array([[0.5, -1, 2], [1, 0, 3]])
    dy = np.array([[0.5, -1], [-1, 2]])
    gradient_pictures.weight_sum(dy, x, k=0, d=2)
    gradient_pictures.input_sum(dy, w, n=0, d=2)
    said = capsys.readouterr().out
    assert "dw[0, 2] = 2.5" in said and "dx[0, 2] = -2" in said
