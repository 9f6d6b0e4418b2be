"""The loop: replicas against one, BatchNorm's gap, kill and resume, broken checkpoints, JAX."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.tpu import device, models, train, training
from tests.night import others_by_night

pytestmark = pytest.mark.skipif(not find_spec("tensorflow"), reason="TensorFlow is not installed")
HERE = "tests/tpu/test_training.py::test"
SAMPLE = cifar10("sample").train


def course_net():
    return models.convnet(convnet.init(0))


def run(replicas, make=course_net, batch=64, steps=4, lr=2e-3, momentum=0.9, seed=0, **more):
    import keras

    strategy = device.strategy(replicas)
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model, optimizer = make(), keras.optimizers.SGD(lr, momentum)
    data = training.batches(SAMPLE, batch, seed)
    return training.train(strategy, model, optimizer, data, steps, **more)


def gap(a, b):
    return np.abs(np.array(a.losses) / np.array(b.losses) - 1).max()


@pytest.mark.night(instead="chapters/02_tpu/11_training_on_a_tpu.ipynb")
def test_eight_replicas_train_as_one_does():
    """Up to rounding, which grows where it decides which of two pixels is the larger."""
    one, eight = run(1, steps=20, batch=128), run(8, steps=20, batch=128)
    assert len(one.losses) == 20 and one.losses[-1] < 0.7 * one.losses[0]
    first = np.abs(np.array(eight.losses[:2]) / one.losses[:2] - 1).max()
    assert first < 1e-6 and gap(eight, one) < 1e-3


def test_the_speed_is_images_over_the_time_of_the_calls(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(training, "perf_counter", lambda: next(ticks))
    speed = run(2, batch=32, steps=5, steps_per_call=2).images_per_second
    assert (float(speed), speed.word) == (32 * 5 / 3, "measured")  # three calls of a second


def test_numbers_that_no_run_can_have_are_refused():
    for name in ("steps", "every", "steps_per_call"):
        for bad in (0, -1, 2.5, "4", True):
            with pytest.raises(ValueError, match=f"{name} is {bad!r}; it must be an integer >= 1"):
                run(1, **{name: bad})
    for bad in (0, 8.0, "8", True, 2001):
        with pytest.raises(ValueError, match="must be an integer >= 1 and <= 2000"):
            training.batches(SAMPLE, bad)


def test_the_loss_is_the_reference_s_over_the_global_batch():
    images, labels = next(training.shuffled(SAMPLE, 64))
    weights, x = convnet.init(0), convnet.normalise(images.transpose(0, 3, 1, 2))
    loss, grads = convnet.forward_backward(weights, x, labels)
    after = {name: w - 2e-3 * grads[name] for name, w in weights.items()}
    import keras

    strategy = device.strategy(4)
    with strategy.scope():
        model = models.convnet(weights)
        optimizer = keras.optimizers.SGD(2e-3)
    data = training.batches(SAMPLE, 64)
    history = training.train(strategy, model, optimizer, data, 1)
    assert history.losses[0] == pytest.approx(loss, rel=1e-5)
    for got, want in zip(model.get_weights(), models.channels_last(after), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def crossing(strategy, steps=3, batch=24):
    """What the host hands to the devices in `steps` steps: dtypes and shapes of each replica's
    share, as the loop is traced; and of what the model then gets, the images by their step."""
    import keras
    import tensorflow as tf

    handed, got = [], []

    class Spy(keras.layers.Layer):
        def call(self, x):
            def keep(x):
                got.append(x.numpy())
                return x

            seen = tf.py_function(keep, [x], tf.float32)
            seen.set_shape(x.shape)
            return seen

    class Watched:
        """The strategy, of which `run` is watched."""

        def __getattr__(self, name):
            return getattr(strategy, name)

        def run(self, step, args):
            handed.extend(strategy.experimental_local_results(one) for one in args)
            return strategy.run(step, args)

    with strategy.scope():
        model, optimizer = keras.Sequential([Spy(), *pooled().layers]), keras.optimizers.SGD(0.0)
        model.build((None, 32, 32, 3))
    data = training.batches(SAMPLE, batch)
    got.clear()
    training.train(Watched(), model, optimizer, data, steps, steps_per_call=1)
    return handed, got


def test_images_travel_as_bytes_each_to_one_replica_and_are_normalised_there():
    replicas, batch = 8, 24
    (images, labels), got = crossing(device.strategy(replicas), 3, batch)
    share = batch // replicas
    assert [(x.dtype.name, *x.shape) for x in images] == [("uint8", share, 32, 32, 3)] * replicas
    assert [(y.dtype.name, *y.shape) for y in labels] == [("int32", share)] * replicas
    stream = training.shuffled(SAMPLE, batch)
    for step in range(3):
        mine = np.concatenate(got[step * replicas : (step + 1) * replicas])
        whole = convnet.normalise(next(stream)[0].transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
        assert len(mine) == len(whole) == batch
        nearest = np.abs(mine[:, None] - whole[None]).max(axis=(2, 3, 4))
        assert (np.sort(nearest.argmin(axis=1)) == np.arange(batch)).all(), "each image once"
        assert nearest.min(axis=1).max() < 1e-6


def test_what_is_no_bytes_is_taken_as_it_is():
    import keras
    import tensorflow as tf

    strategy, losses = device.strategy(2), []
    for normalise in (False, True):
        keras.utils.set_random_seed(0)
        with strategy.scope():
            model, optimizer = course_net(), keras.optimizers.SGD(2e-3)
        data = training.batches(SAMPLE, 16)
        if normalise:
            data = data.map(lambda x, y: (training.normalised(tf.cast(x, tf.float32)), y))
        losses.append(training.train(strategy, model, optimizer, data, 3).losses)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


@pytest.mark.night(instead="chapters/02_tpu/11_training_on_a_tpu.ipynb")
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
        training.train(device.strategy(replicas), model, keras.optimizers.SGD(), data, 4)


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


DAMAGES = others_by_night(
    ["half an index", "no data", "half the data", "one byte"],
    instead=f"{HERE}_a_broken_last_checkpoint_falls_back_to_the_one_before",
)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_broken_last_checkpoint_falls_back_to_the_one_before(tmp_path, capsys, how):
    whole = run(1, steps=4, checkpoint=tmp_path, every=2)
    damage(tmp_path, 4, how)
    rest = run(1, steps=4, checkpoint=tmp_path, every=2)
    said = capsys.readouterr().out
    assert "step-4 in" in said and "cannot be read" in said and "Going on after step 2." in said
    assert rest.first == 2 and rest.losses == whole.losses[2:]


def pooled(pool="AveragePooling2D", *more):
    from keras import Sequential, layers

    ends = [layers.Flatten(), layers.Dense(10), *(layers.Dense(10) for _ in more)]
    return Sequential([layers.Input((32, 32, 3)), getattr(layers, pool)(4), *ends])


OTHERS = others_by_night(
    [
        ({"batch": 32}, "another batch size, seed or set of images. Choose"),
        ({"make": course_net, "momentum": 0.0}, "another model and another optimizer. Choose"),
        ({"seed": 1}, "another batch size, seed or set of images. Choose"),
        ({"momentum": 0.0}, "another optimizer. Choose"),
        ({"make": lambda: pooled("MaxPooling2D")}, "another model. Choose"),
        ({"make": lambda: pooled("AveragePooling2D", "more")}, "another model. Choose"),
    ],
    instead=f"{HERE}_checkpoints_of_another_run_are_not_taken_and_touch_nothing",
    by_day=2,
)


@pytest.mark.parametrize(("other", "says"), OTHERS)
def test_checkpoints_of_another_run_are_not_taken_and_touch_nothing(tmp_path, other, says):
    made = []

    def make():
        made.append((model := other.get("make", pooled)(), model.get_weights()))
        return model

    run(1, pooled, steps=2, checkpoint=tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"step-2 in .* is of {says}"):
        run(1, **other | {"make": make}, steps=4, checkpoint=tmp_path)
    model, fresh = made[0]
    for now, before in zip(model.get_weights(), fresh, strict=True):
        np.testing.assert_array_equal(now, before)
    assert files == {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(1, pooled, steps=3, checkpoint=tmp_path).first == 2  # its own run goes on


def test_a_resumed_run_takes_the_learning_rate_of_its_call(tmp_path):
    whole = run(1, steps=4)
    run(1, steps=2, checkpoint=tmp_path)
    still = run(1, steps=4, lr=0.0, momentum=0.9, checkpoint=tmp_path)
    assert still.losses[0] == whole.losses[2]
    assert still.losses[1] != whole.losses[3]


def test_a_rate_that_is_too_high_leaves_the_last_good_checkpoint(tmp_path):
    run(1, steps=2, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"By step 3 .* nan or infinite. Use a lower rate"):
        run(1, steps=3, lr=float("inf"), checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"By step 4 .* nan or infinite. Use a lower rate"):
        run(1, steps=5, lr=float("inf"), steps_per_call=1, checkpoint=tmp_path)
    assert run(1, steps=4, checkpoint=tmp_path).losses == run(1, steps=4).losses[2:]


def test_a_folder_that_cannot_hold_checkpoints_is_told_before_the_first_step(tmp_path):
    run(1, steps=1, checkpoint=tmp_path)
    (tmp_path / "step-x.index").touch()  # not ours
    assert run(1, steps=2, checkpoint=tmp_path).first == 1
    (tmp_path / "step-x.index").unlink()
    (tmp_path / "step-2.index").unlink()
    damage(tmp_path, 1, "half an index")
    with pytest.raises(RuntimeError, match=r"No checkpoint in .* can be read"):
        run(1, steps=2, checkpoint=tmp_path)
    (tmp_path / "file").touch()
    for folder in ("file", "file/under"):
        with pytest.raises(OSError, match=folder):
            run(1, steps=2, checkpoint=tmp_path / folder)
    with pytest.raises(ValueError, match="TensorFlow does not find names"):
        run(1, steps=2, checkpoint=tmp_path / "a [b]*?")

    def fill_the_disk(line):
        shutil.rmtree(tmp_path)
        tmp_path.touch()

    with pytest.raises(OSError, match="step-4 cannot be saved"):
        run(1, steps=4, checkpoint=tmp_path / "new", steps_per_call=2, report=fill_the_disk)


# The script, killed when step 30 is done and its checkpoint not yet written.
KILLED = """
import os, signal, sys
from labkit.tpu import train, training

class Killed(training.Checkpoints):
    def save(self, step):
        if step == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        super().save(step)

training.Checkpoints = Killed
sys.exit(train.main(sys.argv[1:]))
"""


def script(*words, program=("-m", "labkit.tpu.train")):
    options = "--model convnet --data sample --batch 32 --lr 0.002".split()
    command = [sys.executable, "-u", *program, *options, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200)


def losses(output):
    return [float(line) for line in output.splitlines() if re.fullmatch(r"[\d.]+", line)]


@pytest.mark.night(instead="chapters/02_tpu/11_training_on_a_tpu.ipynb")
def test_a_killed_script_goes_on_with_the_very_losses(tmp_path):
    whole = run(2, lambda: models.convnet(), batch=32, steps=40)
    words = "--every", "10", "--replicas", "2", "--checkpoint", tmp_path
    killed = script("--steps", "40", *words, program=("-c", KILLED))
    assert killed.returncode == -signal.SIGKILL and "step 20 of 40" in killed.stdout
    again = script("--steps", "40", *words)
    assert again.returncode == 0 and again.stderr == ""
    assert "Going on after step 20." in again.stdout
    np.testing.assert_allclose(losses(again.stdout), whole.losses[20:], rtol=1e-7)


def test_an_interrupted_script_says_how_to_go_on(monkeypatch, capsys):
    def interrupt(a):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "run", interrupt)
    assert train.main([]) == 130
    assert capsys.readouterr().err.startswith("Stopped.")


# Trains with 8 replicas, with 1, and with a rate that is too high; a step takes one second. What
# crosses from the host is printed, and the number of normalised images on each device.
SPY = """
import itertools, sys
import numpy as np
from labkit import convnet
from labkit.tpu import jax_training, models, train

def watch():
    import jax
    from jax._src import api

    if jax.device_put.__name__ == "watched":
        return
    put = jax.device_put

    def watched(what, *where, **more):
        for one in jax.tree.leaves(what):
            if isinstance(one, np.ndarray) and one.shape[1:] == (32, 32, 3):
                print("crosses:", one.dtype, one.shape, "in", *where[0].shard_shape(one.shape)[:1])
        return put(what, *where, **more)

    jax.device_put = api.device_put = watched

def spied(**options):
    import jax, keras

    watch()

    class Spy(keras.layers.Layer):
        def call(self, x):
            jax.debug.inspect_array_sharding(x, callback=lambda sharding: print(
                "shares of", sharding.shard_shape(x.shape)[:1] * len(sharding.device_set)))
            return x

    return keras.Sequential([models.convnet(convnet.init(0), **options), Spy()])

train.MODELS["convnet"] = spied
for last in (["8"], ["1"], ["1", "--lr", "1e30"]):
    jax_training.perf_counter = itertools.count(1).__next__
    status = train.main(sys.argv[1:] + last)
sys.exit(status)
"""


@pytest.mark.night(
    instead="tests/tpu/test_training.py::test_on_jax_too_a_tpu_gives_as_many_replicas_as_are_asked_for"
)
def test_jax_trains_on_eight_virtual_devices_as_on_one():
    pytest.importorskip("jax")
    words = "--model convnet --data sample --batch 32 --lr 0.002 --steps 3 --replicas".split()
    given = {"env": os.environ | {"KERAS_BACKEND": "jax"}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", SPY, *words], **given)
    assert done.returncode == 2, done.stderr
    eight, one, _ = (losses(said) for said in done.stdout.split("Runs on: ")[1:])
    assert "Runs on: 8 virtual JAX device(s) on this CPU, NOT on a TPU." in done.stdout
    assert len(eight) == 3
    assert set(re.findall(r"shares of \((.*)\)", done.stdout)) == {"4, " * 7 + "4", "32,"}
    assert done.stdout.count("3 step(s), 64 images/s") == 2  # two steps in a second
    assert "By step 2 the loss or a weight is nan or infinite" in done.stderr
    np.testing.assert_allclose(eight, one, rtol=1e-5)
    crossed = [line for line in done.stdout.splitlines() if line.startswith("crosses: ")]
    batch = "crosses: uint8 (32, 32, 32, 3) in"
    assert crossed == 3 * [f"{batch} 4"] + 3 * [f"{batch} 32"] + 2 * [f"{batch} 32"]
    np.testing.assert_allclose(one, run(1, batch=32, steps=3).losses, rtol=1e-5)


# A TPU of eight cores: JAX's virtual devices, which the strategy takes for it.
CORES = """
from types import SimpleNamespace
from labkit.tpu import jax_training

jax_training.this_machine = lambda: SimpleNamespace(has_tpu=True)
for replicas in (1, 3, 8, 9, None):
    print(jax_training.strategy(replicas).device_mesh.devices.size)
"""


def test_on_jax_too_a_tpu_gives_as_many_replicas_as_are_asked_for():
    pytest.importorskip("jax")
    env = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    env["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    command = [sys.executable, "-c", CORES]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    said = [line for line in done.stdout.splitlines() if not line.startswith("Runs on: ")]
    assert said == ["1", "3", "8", "8", "8"]
    assert "Runs on: 3 TPU device(s) of JAX." in done.stdout
