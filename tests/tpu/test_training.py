"""The loop: replicas against one, BatchNorm's gap, kill and resume, broken checkpoints, JAX."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10

pytest.importorskip("tensorflow")
from labkit.tpu import devices, models, training

SAMPLE = cifar10("sample").train


def run(replicas, make=lambda: models.convnet(convnet.init(0)), batch=64, steps=4, lr=2e-3, **more):
    import keras

    strategy = devices.strategy(replicas)
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model, optimizer = make(), keras.optimizers.SGD(lr, momentum=0.9)
    data = training.batches(SAMPLE, batch)
    return training.train(strategy, model, optimizer, data, steps, **more)


def gap(a, b):
    return np.abs(np.array(a.losses) / np.array(b.losses) - 1).max()


def test_eight_replicas_train_as_one_does():
    one, eight = run(1, steps=20, batch=128), run(8, steps=20, batch=128)
    assert len(one.losses) == 20 and one.losses[-1] < 0.7 * one.losses[0]
    assert gap(eight, one) < 1e-5
    assert eight.images_per_second.word == "measured"


def test_the_loss_is_the_reference_s_over_the_global_batch():
    x, labels = next(training.shuffled(SAMPLE, 64))
    weights = convnet.init(0)
    loss, grads = convnet.forward_backward(weights, x.transpose(0, 3, 1, 2), labels)
    after = {name: w - 2e-3 * grads[name] for name, w in weights.items()}
    import keras

    strategy = devices.strategy(4)
    with strategy.scope():
        model = models.convnet(weights)
        optimizer = keras.optimizers.SGD(2e-3)
    data = training.batches(SAMPLE, 64)
    history = training.train(strategy, model, optimizer, data, 1)
    assert history.losses[0] == pytest.approx(loss, rel=1e-5)
    for got, want in zip(model.get_weights(), models.channels_last(after), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_batch_norm_per_replica_opens_a_gap_that_the_synchronised_one_closes():
    def runs(replicas, batch_norm):
        return run(replicas, lambda: models.resnet20(batch_norm, 8, blocks=1), 32, lr=0.01)

    one = runs(1, "replica")
    assert gap(runs(2, "replica"), one) > 1e-4
    assert gap(runs(2, "synchronised"), one) < 1e-5


def test_the_order_of_the_data_is_a_permutation_in_every_epoch_and_another_in_the_next():
    stream = training.shuffled(SAMPLE, 500, seed=3)
    first, second = ([next(stream) for _ in range(4)] for _ in range(2))
    for epoch in first, second:
        labels = np.concatenate([labels for _, labels in epoch])
        assert np.bincount(labels).tolist() == [200] * 10
    assert not np.array_equal(first[0][0], second[0][0])
    again = next(training.shuffled(SAMPLE, 500, seed=3))
    np.testing.assert_array_equal(again[0], first[0][0])


@pytest.mark.parametrize(
    ("replicas", "change", "says"),
    [
        (8, lambda d: d, "A batch of 12 does not divide into 8 shares; try 8 or 16."),
        (1, lambda d: d.take(3), "The dataset has 3 batches, too few for 4 steps"),
        (1, lambda d: d.unbatch().batch(12), "drop_remainder=True"),
    ],
)
def test_a_dataset_that_does_not_fit_is_a_sentence(replicas, change, says):
    import keras

    model, data = models.convnet(), change(training.batches(SAMPLE, 12))
    if "3 batches" in says:
        import tensorflow as tf

        data = data.apply(tf.data.experimental.assert_cardinality(3))
    with pytest.raises(ValueError, match=re.escape(says)):
        training.train(devices.strategy(replicas), model, keras.optimizers.SGD(), data, 4)
    with pytest.raises(ValueError, match="from 1 to the 2000 images"):
        training.batches(SAMPLE, 2001)


def damage(folder, step, how):
    index, data = folder / f"step-{step}.index", folder / f"step-{step}.data-00000-of-00001"
    if how == "half an index":
        index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])
    elif how == "no data":
        data.unlink()
    elif how == "half the data":
        data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    else:  # one byte in the middle
        content = bytearray(data.read_bytes())
        content[len(content) // 2] ^= 255
        data.write_bytes(content)


@pytest.mark.parametrize("how", ["half an index", "no data", "half the data", "one byte"])
def test_a_broken_last_checkpoint_falls_back_to_the_one_before(tmp_path, capsys, how):
    whole = run(1, steps=4, checkpoint=tmp_path, every=2)
    damage(tmp_path, 4, how)
    rest = run(1, steps=4, checkpoint=tmp_path, every=2)
    said = capsys.readouterr().out
    assert "step-4 in" in said and "cannot be read" in said and "Going on after step 2." in said
    assert rest.first == 2 and rest.losses == whole.losses[2:]


def test_checkpoints_of_another_run_are_not_taken(tmp_path):
    run(1, steps=1, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="of a run with batches of 64, not 32"):
        run(1, steps=2, checkpoint=tmp_path, batch=32)
    with pytest.raises(ValueError, match="of another model"):
        run(1, lambda: models.resnet20("none", width=2), steps=2, checkpoint=tmp_path)
    damage(tmp_path, 1, "half an index")
    with pytest.raises(RuntimeError, match=r"No checkpoint in .* can be read"):
        run(1, steps=2, checkpoint=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="must be a folder"):
        run(1, steps=2, checkpoint=tmp_path / "file")


def script(*words, **variables):
    options = "--model convnet --data sample --batch 32 --lr 0.002".split()
    command = [sys.executable, "-u", "-m", "labkit.tpu.train", *options, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | variables, **pipes)


def losses(output):
    return [float(line) for line in output.splitlines() if re.fullmatch(r"[\d.]+", line)]


def test_a_killed_script_goes_on_with_the_very_losses(tmp_path):
    whole = run(2, lambda: models.convnet(), batch=32, steps=40)
    words = "--every", "10", "--replicas", "2", "--checkpoint", tmp_path
    killed = script("--steps", "100000", *words)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("step-*.index")) and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    again = script("--steps", "40", *words)
    said, trouble = again.communicate(timeout=200)
    assert again.returncode == 0 and trouble == ""
    first = int(re.search(r"Going on after step (\d+)\.", said)[1])
    assert first in (10, 20, 30)
    np.testing.assert_allclose(losses(said), whole.losses[first:], rtol=1e-7)


def test_jax_trains_on_eight_virtual_devices_as_on_one():
    pytest.importorskip("jax")
    counts, outputs = ("8", "1"), []
    both = [script("--steps", "3", "--replicas", n, KERAS_BACKEND="jax") for n in counts]
    for replicas, done in zip(counts, both, strict=True):
        said, trouble = done.communicate(timeout=200)
        assert done.returncode == 0, trouble
        assert f"Runs on: {replicas} virtual JAX device(s) on this CPU, NOT on a TPU." in said
        outputs.append(losses(said))
    assert len(outputs[0]) == 3
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)
