"""Data-parallel training in TensorFlow: one loop for a TPU and for virtual replicas of a CPU.

Every replica gets its share of the global batch, and adds up its losses over the GLOBAL batch
size; the sum over the replicas is then the mean loss of the whole batch, and the gradients, which
Keras's optimizer adds up over the replicas, are its gradients. Several steps run in one call of a
`tf.function`, so that a TPU does not wait for Python between them. Images travel as they are, a
byte for each number, and are normalised on the device. Lesson training_on_a_tpu derives it.

    python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128 --checkpoint runs/resnet20
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.cifar10_files import Split
from labkit.convnet import MEAN, STD
from labkit.provenance import Quantity, measured
from labkit.shapes import fit_integer
from labkit.tpu.checkpoints import Checkpoints

if TYPE_CHECKING:
    from keras import Model
    from keras.optimizers import Optimizer
    from tensorflow import Tensor
    from tensorflow.data import Dataset
    from tensorflow.distribute import DistributedValues, Strategy

Feed = Iterator[tuple[np.ndarray, np.ndarray]]  # uint8 images[batch,32,32,3], labels[batch]


@dataclass(frozen=True)
class History:
    """What `train` did: the losses of the steps that it ran, in order, and how fast."""

    first: int  # the number of its first step: 0, or where it resumed
    losses: tuple[float, ...]  # mean loss over the global batch, before each step's update
    images_per_second: Quantity | None  # measured, without the time to trace


def shuffled(split: Split, batch: int, seed: int = 0) -> Feed:
    """Endless batches: images[batch,32,32,3] uint8, not normalised yet, and labels[batch] int32.

    The order of an epoch depends on `seed` and on the epoch's number alone, so that a run resumed
    with the same images, batch size and seed meets the batches that the unbroken one would have
    met. Raises ValueError for a batch that is not between 1 and the number of images.
    """
    fit_integer("batches", "batch", batch, 1, len(split))
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(len(split))
        for start in range(0, len(split) - batch + 1, batch):
            chosen = order[start : start + batch]
            images = split.images[chosen].transpose(0, 2, 3, 1)
            yield np.ascontiguousarray(images), split.labels[chosen].astype(np.int32)


def normalised(pixels: Any) -> Any:
    """(pixel / 255 - MEAN) / STD of float32 pixels[...,3]: a tensor of TensorFlow or of JAX."""
    mean, std = np.float32(MEAN), np.float32(STD)
    return (pixels / np.float32(255) - mean) / std


def batches(split: Split, batch: int, seed: int = 0) -> Dataset:
    """The batches of `shuffled` as a tf.data pipeline, made while the step before is computed.

    Raises ValueError for a batch that is not between 1 and the number of images.
    """
    import tensorflow as tf

    next(shuffled(split, batch, seed))  # a wrong size is told here, not inside TensorFlow
    images = tf.TensorSpec((batch, 32, 32, 3), tf.uint8)
    labels = tf.TensorSpec((batch,), tf.int32)
    stream = partial(shuffled, split, batch, seed)
    dataset = tf.data.Dataset.from_generator(stream, output_signature=(images, labels))
    return dataset.prefetch(2)


def train(
    strategy: Strategy,
    model: Model,
    optimizer: Optimizer,
    dataset: Dataset,
    steps: int,
    checkpoint: str | Path | None = None,
    every: int = 50,
    steps_per_call: int = 10,
    report: Callable[[str], None] | None = None,
) -> History:
    """Train until `steps` steps are done, counted from the start of the whole run.

    `dataset` gives global batches (x[B,...], labels[B]) of one size and in one order. x is what the
    model takes, or uint8 images [B,H,W,3], which are normalised on the device. With a folder as
    `checkpoint`, the state is saved there every `every` steps and at the end, and a call with the
    same model, optimizer and dataset goes on where the last whole checkpoint was made, with the
    learning rate of the call. `report` gets a line after every call of the compiled loop.
    Raises ValueError where B is not divisible by the replicas, where the dataset is too short,
    where the checkpoint is of another run, and where a number is no longer finite; RuntimeError
    where no checkpoint can be read; OSError where none can be written.
    """
    import tensorflow as tf

    counts = {"steps": steps, "every": every, "steps_per_call": steps_per_call}
    for name, count in counts.items():
        fit_integer("train", name, count, at_least=1)
    batch = _batch_size(dataset)
    divisible(batch, strategy.num_replicas_in_sync)
    with strategy.scope():
        optimizer.build(model.trainable_variables)
    _long_enough(dataset, steps)
    kept = Checkpoints(Path(checkpoint), model, optimizer, dataset) if checkpoint else None
    first = kept.restore() if kept else 0
    feed = iter(dataset.skip(first))
    loop = compiled_loop(strategy, model, optimizer, batch)
    # Traced here, once, for any count; the clock below then sees nothing but training.
    loop = loop.get_concrete_function(feed, tf.TensorSpec((), tf.int32))
    losses = []
    seconds = 0.0
    done = first
    while done < steps:
        stop = _next_multiple(done, every) if kept else steps  # where the next checkpoint is due
        count = min(steps_per_call, stop - done, steps - done)
        began = perf_counter()
        losses += loop(feed, tf.constant(count)).numpy().tolist()
        seconds += perf_counter() - began
        done += count
        due = kept and done in (stop, steps)
        weights = model.get_weights() if due else []
        finite(done, losses[-1], *weights)
        if due:
            kept.save(done)
        if report:
            report(f"step {done} of {steps}: loss {losses[-1]:.4f}")
    return History(first, tuple(losses), speed(len(losses) * batch, seconds))


def _batch_size(dataset: Dataset) -> int:
    images, *_ = dataset.element_spec
    batch = images.shape[0]
    if batch is None:
        raise ValueError("Batches must be of one size: use .batch(size, drop_remainder=True).")
    return batch


def _long_enough(dataset: Dataset, steps: int) -> None:
    """ValueError for a dataset that is known to end too soon."""
    batches = int(dataset.cardinality())  # below 0: endless, or not known
    if 0 <= batches < steps:
        said = f"The dataset has {batches} batches, too few for {steps} steps"
        raise ValueError(f"{said}: .repeat() it.")


def _next_multiple(step: int, every: int) -> int:
    return (step // every + 1) * every


def finite(step: int, *values: np.ndarray | float) -> None:
    """ValueError where one of the numbers is nan or infinite."""
    if not all(np.isfinite(value).all() for value in values):
        said = f"By step {step} the loss or a weight is nan or infinite"
        raise ValueError(f"{said}. Use a lower rate, and another folder for the checkpoints.")


def speed(images: int, seconds: float) -> Quantity | None:
    """Images per second, measured on this machine; None where nothing was timed."""
    return measured(images / seconds, "images/s") if images > 0 else None


def compiled_loop(strategy: Strategy, model: Model, optimizer: Optimizer, batch: int) -> Callable:
    """loop(feed, count) trains on the feed's next `count` global batches -> losses float32[count].

    The host cuts each batch, so that an image travels to one replica only. TensorFlow's distributed
    iterator would do that too, but can take many seconds to end.
    """
    import tensorflow as tf

    step = _replica_step(model, optimizer, batch)

    @tf.function
    def loop(feed: Iterator, count: Tensor) -> Tensor:
        losses = tf.TensorArray(tf.float32, count)
        for i in tf.range(count):
            shares = [_shares(strategy, whole) for whole in next(feed)]
            parts = strategy.run(step, shares)
            losses = losses.write(i, strategy.reduce("SUM", parts, axis=None))
        return losses.stack()

    return loop


def _shares(strategy: Strategy, whole: Tensor) -> DistributedValues:
    """whole[batch,...] -> [batch/replicas,...] for each replica"""
    import tensorflow as tf

    parts = tf.split(whole, strategy.num_replicas_in_sync)

    def mine(context: Any) -> Tensor:
        return parts[context.replica_id_in_sync_group]

    return strategy.experimental_distribute_values_from_function(mine)


def _replica_step(model: Model, optimizer: Optimizer, batch: int) -> Callable:
    """step(x, labels): one replica trains on its share -> its part of the global mean loss."""
    import tensorflow as tf

    def step(x: Tensor, labels: Tensor) -> Tensor:
        if x.dtype == tf.uint8:
            x = normalised(tf.cast(x, tf.float32))
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            part = tf.reduce_sum(each) / batch  # the global batch, not the share
        gradients = tape.gradient(part, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return part

    return step


def divisible(batch: int, replicas: int) -> None:
    """ValueError for a batch that the replicas cannot share alike."""
    if rest := batch % replicas:
        below = batch - rest
        near = f"{below} or {below + replicas}" if below else f"{replicas}"
        raise ValueError(f"A batch of {batch} does not divide into {replicas} shares; try {near}.")
