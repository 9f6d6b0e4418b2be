"""This lesson: its losses are computed, its program is one, and a wrong answer shows."""

from importlib.util import find_spec

import numpy as np
import pytest

from labkit import figures
from labkit.tpu import same_run
from tests.notebooks.running import Run

pytestmark = pytest.mark.skipif(not find_spec("jax"), reason="needs JAX")

STEP, LOOP, EIGHT, GUESSES = "def loss_of", "def train(", "make_mesh", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "12_training_in_jax")


def test_the_hand_computed_example_is_what_the_answer_computes(lesson):
    update, weight, velocity = lesson.namespace["sgd_update"], {"w": 3.0}, {"w": 0.0}
    jax = lesson.namespace["jax"]
    for gradient, v, w in ((4.0, -0.4, 2.6), (0.8, -0.44, 2.16)):
        got = jax.grad(lambda tree: (tree["w"] * 2 - 5) ** 2)(weight)
        assert float(got["w"]) == pytest.approx(gradient, rel=1e-5)
        weight, velocity = update(weight, velocity, got, 0.1, 0.9)
        assert float(velocity["w"]) == pytest.approx(v, rel=1e-5)
        assert float(weight["w"]) == pytest.approx(w, rel=1e-5)
    assert float(lesson.namespace["masked_loss"](np.float32([2, 4, 9]), 2)) == 3


def test_only_the_moved_weights_fit_the_other_order(lesson):
    assert list(lesson.namespace["right"].values()) == [401, 50, 401]
    forward, moved, x = (lesson.namespace[name] for name in ("forward", "moved", "x"))
    kinds = np.argmax(forward(moved, x), axis=1)
    assert np.sum(kinds == lesson.namespace["labels"]) < 100, "moved weights need the other order"


def test_the_losses_are_those_of_numpy_and_of_the_replicas(lesson):
    one, eight = lesson.namespace["one"], lesson.namespace["eight"]
    for stored in (same_run.IN_NUMPY, same_run.ON_REPLICAS):
        np.testing.assert_allclose(one, stored, rtol=1e-5)
    np.testing.assert_allclose(eight, one, rtol=1e-5)
    assert len(set(np.round(one, 3))) == 11, "the losses differ from step to step"


def test_a_wrong_answer_shows_in_the_table(lesson):
    def mean_of_all(per_image, count):
        return per_image.mean()

    said, after = lesson.again(STEP, LOOP, masked_loss=mean_of_all)
    assert "apart by less than 0.001 %: False" in said
    assert after["gap"] > 1e-3


def test_each_placement_is_traced_once(lesson):
    assert lesson.namespace["entries"] == 1
    assert lesson.namespace["traces"] == 2 * [(64, 3, 32, 32)]
    said = lesson.printed[lesson.cell(EIGHT)]
    assert "each device holds (8, 3, 32, 32), of 64 images" in said
    assert "on 8 devices within 0.001 % of those on one: True" in said


def test_keys_alone_decide_which_photographs_are_mirrored(lesson):
    alike = lesson.namespace["alike"]
    assert [*alike.values()][:3] == [64, 64, 64]
    assert all(16 < same < 48 for same in [*alike.values()][3:])
    jax, mirrored = lesson.namespace["jax"], lesson.namespace["mirrored"]
    x = np.arange(48.0).reshape(4, 1, 3, 4)
    got, flip = mirrored(jax.random.key(3), x)
    assert 0 < flip.sum() < 4, "a key that mirrors some of the four"
    for image, before, turned in zip(got, x, flip, strict=True):
        np.testing.assert_array_equal(image, before[..., ::-1] if turned else before)


def test_guesses_meet_what_was_found(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    lesson.again(GUESSES, entries=7)
    assert [float(result) for *_, result in drawn[0]] == [1, 10]
    assert [float(result) for *_, result in drawn[1]] == [7, 10]
