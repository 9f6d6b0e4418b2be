"""This lesson: what it prints is counted, from the functions and matrices that it shows."""

import re

import numpy as np
import pytest

from labkit import check, figures
from labkit.hardware import machine
from labkit.tpu import SystolicArray
from labkit.tpu.matrix_unit import pictures
from tests.notebooks.running import Run

STREAM, PICTURE, WATCH = "def stream(", "pictures.picture(run", "Stepper(run"
LAYERS, NETWORK, GUESSES = "def product(", "all logits within", "figures.guesses"
MEMORY = "wanted = "


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "1_a_product_in_a_grid")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def own(a, psum, w, feed):
    """A cycle as the text has it, in loops."""
    right, down = np.zeros_like(a), np.zeros_like(psum)
    for r, c in np.ndindex(w.shape):
        right[r, c] = a[r, c - 1] if c else feed[r]
        down[r, c] = right[r, c] * w[r, c] + (psum[r - 1, c] if r else 0)
    return right, down


def halves(a, psum, w, feed):
    """Wrong in every product."""
    right, _ = own(a, psum, w, feed)
    return right, np.vstack([0 * psum[:1], psum[:-1]]) + right * w / 2


def test_the_product_comes_out_of_the_learners_step(lesson):
    assert "after 10 cycles (counted)\na product: True" in lesson.printed[lesson.cell(STREAM)]
    said, _ = lesson.again(STREAM, systolic_step=own)
    assert "your own, after 10 cycles (counted)\na product: True" in said
    said, _ = lesson.again(STREAM, systolic_step=check("tpu.systolic_step", halves))
    assert "by your skew and our systolic_step" in said and "a product: True" in said
    said, _ = lesson.again(STREAM, systolic_step=halves)
    assert "a product: False" in said
    said, _ = lesson.again(STREAM, skew=lambda a: np.pad(a, ((0, a.shape[1] - 1), (0, 0))))
    assert "a product: False" in said, "fed without a skew"


def test_the_trace_is_that_of_the_shown_matrices_and_is_compared(lesson, monkeypatch):
    assert numbers(lesson.printed[lesson.cell(WATCH)])[:4] == [10, 10, 14, 36], "60 of 12 * 14"
    shown, seen = [], []
    monkeypatch.setattr(pictures, "picture", lambda run, *cycles: seen.append((run, cycles)))
    monkeypatch.setattr(
        "labkit_lessons.tpu.a_product_in_a_grid.stepper.Stepper.__init__",
        lambda _, run, *a: shown.append(run),
    )
    a, w = np.arange(10).reshape(5, 2), np.arange(6).reshape(2, 3) - 4
    history = np.zeros((8, 2, 3))
    _, namespace = lesson.again(PICTURE, WATCH, a=a, w=w, history=history)
    assert shown == [namespace["run"]] == [seen[0][0]]
    np.testing.assert_array_equal(namespace["run"].result, a @ w)
    assert seen[0][1] == (-1, 0, 3, 6), "of the cycles -2 to 5 + 2 + 3 - 3"
    history = [psum.copy() for psum in lesson.namespace["history"]]
    history[3][1, 1] += 1
    said, _ = lesson.again(WATCH, stream=lambda a, w: (a @ w, history))
    assert numbers(said)[:2] == [9, 10]


def test_text_picture_and_stepper_count_from_the_first_number(lesson):
    """The text says that a[0, 0] enters in cycle 0, and that the last cell begins in cycle 5."""
    history, seen = lesson.namespace["history"], lesson.namespace["run"]
    cycles = dict(zip(pictures.numbering(seen), seen.trace, strict=True))
    assert list(cycles) == list(range(-4, 10)) and len(history) == 10
    a = lesson.namespace["a"]
    entering = {t: cycle.left for t, cycle in cycles.items()}
    assert not any(entering[t] for t in range(-4, 0))
    assert entering[0] == {0: a[0, 0]} and entering[1] == {0: a[1, 0], 1: a[0, 1]}
    begins = [t for t, cycle in cycles.items() if cycle.active[-1, -1]]
    assert begins[0] == 5


def test_the_network_goes_through_the_learners_grid(lesson):
    assert "within 0.001: True" in lesson.printed[lesson.cell(NETWORK)]
    steps, real = [], lesson.namespace["systolic_step"]

    def counting(a, psum, w, feed):
        steps.append(w.size)
        return real(a, psum, w, feed)

    said, _ = lesson.again(STREAM, LAYERS, NETWORK, systolic_step=counting)
    assert "within 0.001: True" in said and "13 of 16" in said
    conv1, conv2 = 16 * (1024 + 27 + 32 - 2), 16 * (3 * (256 + 64 - 2) + 288)
    fc1, fc2 = 32 * (16 + 128 + 128 - 2), 16 + 128 + 10 - 2
    assert len(steps) == 10 + conv1 + conv2 + fc1 + fc2, "every tile is streamed"
    said, _ = lesson.again(STREAM, LAYERS, NETWORK, systolic_step=halves_fast)
    assert "within 0.001: False" in said


def halves_fast(a, psum, w, feed):
    right = np.column_stack([feed, a[:, :-1]])
    return right, np.vstack([0 * psum[:1], psum[:-1]]) + right * (w / 2).astype(w.dtype)


def test_the_examples_by_hand(lesson):
    a, w = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])
    assert lesson.namespace["one_cell"](2, 10, 3) == 16
    assert lesson.namespace["skew"](a).tolist() == [[1, 0], [3, 2], [0, 4]]
    y, history = lesson.namespace["stream"](a, w)
    assert y.tolist() == [[19, 22], [43, 50]]
    assert [psum.tolist() for psum in history[:2]] == [[[5, 0], [0, 0]], [[15, 6], [19, 0]]]
    assert history[2][1, 0] == 43
    row, column = np.arange(1, 5)[None], np.arange(5, 9)[:, None]
    assert lesson.namespace["product"](row, column, side=2) == 17 + 53 == 70


def test_guesses_meet_counted_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    results = [result for _, _, result in drawn[0]]
    assert [float(r) for r in results] == [128, 10, pytest.approx(100 * 60 / 168)]
    assert {r.word for r in results} == {"counted"}


def test_the_memory_is_googles_and_the_wish_is_computed(lesson):
    said = lesson.printed[lesson.cell(MEMORY)]
    assert "wanted: 394 TB/s (predicted); its main memory gives 0.82 TB/s (published)" in said
    assert "128 cells: 1.5 TB/s (predicted)" in said
    v5e = machine("tpu_v5e")
    assert float(v5e.rate("bf16")) == 197e12 and float(v5e.bandwidth) == pytest.approx(
        0.82e12, rel=0.01
    )


def test_the_quiz_asks_of_a_longer_stream_and_a_wide_grid():
    longer = SystolicArray(4, 3).schedule(500, 4, 3)
    assert longer.cycles == 4 + 505 and round(100 * longer.utilization) == 98
    run = SystolicArray(4, 8).matmul(np.ones((9, 4), np.int8), np.ones((4, 8), np.int8), trace=True)
    assert max(len(cycle.left) for cycle in run.trace) == 4
