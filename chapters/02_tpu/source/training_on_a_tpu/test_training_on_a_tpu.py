"""This lesson: what it says of replicas comes from running them, and errors are real."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

from labkit import check, figures
from labkit.tpu import same_run
from labkit_lessons.tpu.training_on_a_tpu import attempts
from tests.notebooks.running import Run

pytestmark = pytest.mark.skipif(not find_spec("tensorflow"), reason="needs TensorFlow")

DEALT, LOOP, CHECK, OWN = "attempts.shares", "def loop_on", "in NumPy", "def own_mean"
MOMENTS = "def synchronised_moments"
NORM, KILLED = "models.resnet20(norm", "def train(until"
GUESSES, CLAIM = "figures.guesses", "attempts.compiled"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "11_training_on_a_tpu")


def numbers(text):
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def own_mean(per_image, weight, total):
    return per_image / per_image.shape[0]


def small(batch_norm, blocks=1):
    """A network with one BatchNorm layer, quickly compiled."""
    import keras
    from keras import layers

    parts = [keras.Input((32, 32, 3)), layers.Conv2D(4, 3, 4)]
    if batch_norm != "none":
        parts.append(layers.BatchNormalization(synchronized=batch_norm == "synchronised"))
    return keras.Sequential([*parts, layers.ReLU(), layers.Flatten(), layers.Dense(10)])


@pytest.fixture
def quickly(lesson, monkeypatch):
    """Cells that run again train small networks, unless a test needs the lesson's own."""
    import keras

    def network(*_):
        keras.utils.set_random_seed(0)  # the same weights on every device
        return small("none")

    monkeypatch.setattr(lesson.namespace["models"], "resnet20", small)
    monkeypatch.setattr(lesson.namespace["models"], "convnet", network)


def test_a_batch_is_dealt_in_equal_shares_and_fillers_weigh_nothing(lesson, capsys):
    said = lesson.printed[lesson.cell(DEALT)].splitlines()[1:]
    labels = lesson.namespace["labels"]
    assert len(said) == 8
    for r, line in enumerate(said):
        real = max(0, min(8, 50 - 8 * r))
        shown = " ".join(map(str, labels[8 * r : 8 * r + real]))
        assert f"x (8, 32, 32, 3), labels [{shown}" in line
        assert line.endswith(f"weights' sum {real}")
    pair, batches = (lesson.namespace[name] for name in ("pair", "batches"))
    attempts.shares(pair, next(batches(pair, range(50))[0]))
    said = capsys.readouterr().out
    assert [line.split()[-1] for line in said.splitlines()] == ["32", "18"]


def by_functions(per_image, weight, total):
    return np.multiply(per_image, weight) / total


def in_a_copy(per_image, weight, total):
    terms = per_image.copy()
    terms *= weight
    return terms / total


def one_by_one(per_image, weight, total):
    terms = np.zeros(per_image.shape)
    totals = total + 0 * weight  # one for all, or one for each
    for i in range(per_image.shape[0]):
        terms[i] = per_image[i] * weight[i] / totals[i]
    return terms


def in_an_array(per_image, weight, total):
    return np.array(per_image * weight / total)


def of_another_type(per_image, weight, total):
    return (per_image * weight / total).astype("float64")


def by_operators(per_image, weight, total):
    return (weight / total) * per_image


def test_what_the_check_refuses_would_fail_in_the_loop(lesson, capsys):
    tf, three = lesson.namespace["tf"], np.float32([1, 2, 3])
    refused = dict.fromkeys((by_functions, in_a_copy, one_by_one), "operators")
    refused |= {in_an_array: "numpy.array", of_another_type: "numpy.ndarray.astype"}
    for answer, says in refused.items():
        assert check("tpu.global_loss", answer) is not answer
        assert says in capsys.readouterr().out
        with pytest.raises((NotImplementedError, AttributeError, TypeError, ValueError)):
            tf.function(answer)(*map(tf.constant, (three, three, 0 * three + 6)))
    assert check("tpu.global_loss", by_operators) is by_operators
    got = tf.function(by_operators)(*map(tf.constant, (three, three, 0 * three + 6)))
    np.testing.assert_allclose(got, three * three / 6, rtol=1e-6)


def test_more_photographs_bring_the_moments_together(lesson):
    few, merged, many, merged_too = lesson.printed[lesson.cell(MOMENTS)].splitlines()[-4:]
    assert lesson.namespace["largest"][8] == pytest.approx(max(numbers(few)[1:]), abs=0.006)
    assert np.ptp(numbers(few)[1:]) > 2 * np.ptp(numbers(many)[1:])
    for line in (merged, merged_too):
        assert len(set(numbers(line))) == 1, "the moments give the variance of all"


def test_eight_replicas_are_compared_with_numpy_and_with_one(lesson):
    said = lesson.printed[lesson.cell(CHECK)].splitlines()
    assert len(set(numbers(said[1])[1:])) == 1, "the same loss"
    assert said[2].endswith("within 0.001 % of NumPy: True")
    assert [line.split()[-1] for line in said[4:]] == ["True", "False", "True", "True"]
    weights = lesson.namespace["weights"]
    assert np.abs(weights["replicas"] - weights["one"]).max() < 1e-6
    assert np.abs(weights["bfloat16"] - weights["one"]).max() > 1e-6
    losses = lesson.namespace["losses"]
    assert {name: len(of) for name, of in losses.items()} == dict.fromkeys(losses, 11)
    assert np.ptp(losses["one"]) > 1 and losses["one"][-1] < losses["one"][0]
    np.testing.assert_allclose(losses["replicas"], same_run.ON_REPLICAS, rtol=1e-5)
    np.testing.assert_allclose(losses["replicas"], same_run.IN_NUMPY, rtol=1e-5)


def test_a_wrong_loss_is_found_out(lesson):
    pair = lesson.namespace["pair"]
    said, _ = lesson.again(LOOP, CHECK, devices=pair, global_loss=own_mean)
    assert len(set(numbers(said.splitlines()[1])[1:])) == 2, "not NumPy's loss"
    assert "replicas within 0.001 %: False" in said and said.endswith("of one's: False\n")


def test_the_step_is_too_long_by_the_number_of_replicas(lesson, quickly):
    assert lesson.namespace["too_long"] == pytest.approx(8, rel=1e-3)
    said, _ = lesson.again(OWN, devices=lesson.namespace["pair"])
    assert "2.0 times" in said


def test_only_batch_normalisation_opens_the_gap(lesson, quickly, monkeypatch):
    one, own, together = lesson.namespace["curves"].values()
    assert np.abs(own / one - 1).max() > 0.01 > 1e-4 > np.abs(together / one - 1).max()
    _, after = lesson.again(NORM)
    one, own, together = after["curves"].values()
    assert np.abs(own / one - 1).max() > 1e-3 > 1e-5 > np.abs(together / one - 1).max()
    models = lesson.namespace["models"]
    monkeypatch.setattr(models, "resnet20", lambda batch_norm, blocks: small("none"))
    _, after = lesson.again(NORM)
    one, own, _ = after["curves"].values()
    assert np.abs(own / one - 1).max() < 1e-5


def test_the_killed_run_goes_on_at_its_checkpoint(lesson, quickly):
    said = lesson.printed[lesson.cell(KILLED)]
    assert numbers(said)[:3] == [10, 3, 13] and "unbroken run: True" in said
    assert [*lesson.namespace["resumed"]] == [*range(10, 20)]
    calls = []

    def forgetful(order, step, batch):
        calls.append(step)
        return order[0, len(calls) : len(calls) + batch]

    said, _ = lesson.again(KILLED, next_batch=forgetful)
    assert "unbroken run: False" in said and calls == [*range(20), *range(13), *range(10, 20)]


def test_guesses_meet_what_was_found(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    gaps = {"each its own": [0, 0, 0, 0.31]}
    lesson.again(GUESSES, too_long=2.0, largest={8: 5.5}, gaps=gaps)
    worst = lesson.namespace["gaps"]["each its own"][-1]
    assert [float(result) for *_, result in drawn[0]] == pytest.approx(
        [8, lesson.namespace["largest"][8], float(f"{100 * worst:.1g}")], rel=1e-3
    )
    assert [float(result) for *_, result in drawn[1]] == [2, 5.5, 30]


def test_the_claims_errors_are_real(lesson, capsys):
    said = lesson.printed[lesson.cell(CLAIM)]
    assert "InvalidRequirement" in said and "ValueError: too many values to unpack" in said
    assert "(2000, 32, 32, 3) (2000,)\n" in said, "one batch of everything does unpack"
    attempts.attempt("x, y = train_set", {"train_set": [(0, 1), (2, 3)]})
    attempts.attempt("x, y = train_set", {"train_set": [(0, 1), (2, 3), (4, 5)]})
    quiet, refused = capsys.readouterr().out.split(">>> ")[1:]
    assert quiet == "x, y = train_set\n" and "ValueError" in refused, "it runs in the lesson"


def test_a_model_made_in_the_scope_trains_like_the_loop(lesson):
    said = lesson.printed[lesson.cell(CLAIM)]
    assert "RuntimeError: Mixing different tf.distribute.Strategy objects" in said
    assert "ResourceVariable" in said and "MirroredVariable" in said
    (fitted, ours) = numbers(said.splitlines()[-1])[1:]
    assert fitted == ours


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson, quickly):
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        said = lesson.execute(code, left_behind)
        if "in NumPy" in code:
            assert "replicas within 0.001 %: True" in said
