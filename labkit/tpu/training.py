"""Data-parallel training in TensorFlow: one loop for a TPU and for virtual replicas of a CPU.

Every replica takes its share of the global batch, and adds up its losses over the GLOBAL batch
size; the sum over the replicas is then the mean loss of the whole batch, and the gradients, which
Keras's optimizer adds up over the replicas, are its gradients. Several steps run in one call of a
`tf.function`, so that a TPU does not wait for Python between them. Lesson 4 of the TPU chapter
derives it.

    python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128 --checkpoint runs/resnet20
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from labkit.cifar10_files import Split, in_a_line
from labkit.convnet import normalise
from labkit.provenance import Quantity, measured

if TYPE_CHECKING:
    import keras
    import tensorflow as tf


@dataclass(frozen=True)
class History:
    """What `train` did: the losses of the steps that it ran, in order, and how fast."""

    first: int  # the number of its first step: 0, or where it resumed
    losses: tuple[float, ...]  # mean loss over the global batch, before each step's update
    images_per_second: Quantity | None  # measured, without the time to trace


def shuffled(split: Split, batch: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless batches: normalised x[batch,32,32,3] float32 and labels[batch] int32.

    The order of an epoch depends on `seed` and on the epoch's number alone, so that a resumed run
    meets the batches that the unbroken one would have met. Raises ValueError for a batch that is
    not between 1 and the number of images.
    """
    if not 1 <= batch <= len(split):
        raise ValueError(f"batch is {batch}; it must be from 1 to the {len(split)} images here.")
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(len(split))
        for start in range(0, len(split) - batch + 1, batch):
            chosen = order[start : start + batch]
            x = normalise(split.images[chosen]).transpose(0, 2, 3, 1)
            yield x, split.labels[chosen].astype(np.int32)


def batches(split: Split, batch: int, seed: int = 0) -> "tf.data.Dataset":
    """The batches of `shuffled` as a tf.data pipeline, made while the step before is computed."""
    import tensorflow as tf

    next(shuffled(split, batch, seed))  # a wrong size is told here, not inside TensorFlow
    x = tf.TensorSpec((batch, 32, 32, 3), tf.float32)
    signature = x, tf.TensorSpec((batch,), tf.int32)
    stream = partial(shuffled, split, batch, seed)
    return tf.data.Dataset.from_generator(stream, output_signature=signature).prefetch(2)


def train(
    strategy: "tf.distribute.Strategy",
    model: "keras.Model",
    optimizer: "keras.optimizers.Optimizer",
    dataset: "tf.data.Dataset",
    steps: int,
    checkpoint: str | Path | None = None,
    every: int = 50,
    steps_per_call: int = 10,
    report: Callable[[str], None] | None = None,
) -> History:
    """Train until `steps` steps are done, counted from the start of the whole run.

    `dataset` gives global batches (x[B,...], labels[B]) of one size and in one order. With a folder
    as `checkpoint`, the state is saved there every `every` steps and at the end, and a call with
    the same arguments goes on where the last whole checkpoint was made. `report` gets a line
    after every call of the compiled loop.
    Raises ValueError where B is not divisible by the replicas, where the dataset is too short, and
    where the checkpoint is of another model; RuntimeError where no checkpoint can be read.
    """
    import tensorflow as tf

    batch = _global_batch(dataset, strategy.num_replicas_in_sync)
    with strategy.scope():
        optimizer.build(model.trainable_variables)
    kept = Checkpoints(checkpoint, model, optimizer, batch) if checkpoint else None
    first = done = kept.restore() if kept else 0
    if 0 <= (there := int(dataset.cardinality())) < steps:
        raise ValueError(
            f"The dataset has {there} batches, too few for {steps} steps: .repeat() it."
        )
    feed = iter(dataset.skip(done))
    loop = compiled_loop(strategy, model, optimizer, batch)
    # Traced here, once, for any count; the clock below then sees nothing but training.
    loop = loop.get_concrete_function(feed, tf.TensorSpec((), tf.int32))
    losses, seconds = [], 0.0
    while done < steps:
        stop = (done // every + 1) * every if kept else steps  # where the next checkpoint is due
        count = min(steps_per_call, stop - done, steps - done)
        began = perf_counter()
        losses += loop(feed, tf.constant(count)).numpy().tolist()
        seconds, done = seconds + perf_counter() - began, done + count
        if not np.isfinite(losses[-1]):
            raise ValueError(
                f"The loss after step {done} is {losses[-1]}; use a lower learning rate."
            )
        if kept and done in (stop, steps):
            kept.save(done)
        if report:
            report(f"step {done} of {steps}: loss {losses[-1]:.4f}")
    rate = measured(len(losses) * batch / seconds, "images/s") if losses else None
    return History(first, tuple(losses), rate)


def compiled_loop(
    strategy: "tf.distribute.Strategy",
    model: "keras.Model",
    optimizer: "keras.optimizers.Optimizer",
    batch: int,
) -> "tf.types.experimental.PolymorphicFunction":
    """loop(feed, count) trains on the feed's next `count` global batches -> losses float32[count].

    Every replica gets the whole batch and takes its share by its number. TensorFlow's distributed
    iterator would hand out the shares, but can take many seconds to end.
    """
    import tensorflow as tf

    replicas = strategy.num_replicas_in_sync

    def step(x: "tf.Tensor", labels: "tf.Tensor") -> "tf.Tensor":
        """One replica's share of x[batch,...] and labels[batch] -> its part of the mean loss."""
        me = tf.distribute.get_replica_context().replica_id_in_sync_group
        x, labels = (tf.reshape(t, [replicas, -1, *t.shape[1:]])[me] for t in (x, labels))
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            part = tf.reduce_sum(each) / batch  # the global batch, not the share
        gradients = tape.gradient(part, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return part

    @tf.function
    def loop(feed: "tf.data.Iterator", count: "tf.Tensor") -> "tf.Tensor":
        losses = tf.TensorArray(tf.float32, count)
        for i in tf.range(count):
            parts = strategy.run(step, next(feed))
            losses = losses.write(i, strategy.reduce("SUM", parts, axis=None))
        return losses.stack()

    return loop


def _global_batch(dataset: "tf.data.Dataset", replicas: int) -> int:
    """The batch size of a dataset, which must be fixed and divisible by the replicas."""
    batch = dataset.element_spec[0].shape[0]
    if batch is None:
        raise ValueError("Batches must be of one size: use .batch(size, drop_remainder=True).")
    if batch % replicas:
        below, above = batch // replicas * replicas, (batch // replicas + 1) * replicas
        near = f"{below} or {above}" if below else f"{above}"
        raise ValueError(f"A batch of {batch} does not divide into {replicas} shares; try {near}.")
    return batch


class Checkpoints:
    """The state of a run in a folder: weights, moments, the optimizer, the step, the batch size."""

    def __init__(
        self,
        folder: str | Path,
        model: "keras.Model",
        optimizer: "keras.optimizers.Optimizer",
        batch: int,
    ) -> None:
        import tensorflow as tf

        self.folder, self.batch = Path(folder), batch
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"checkpoint {folder} is a file; it must be a folder.")
        self.step, self.of = tf.Variable(0, dtype=tf.int64), tf.Variable(batch)
        parts = {"model": model, "optimizer": optimizer, "step": self.step, "batch": self.of}
        self.state = tf.train.Checkpoint(**parts)
        self.manager = tf.train.CheckpointManager(self.state, folder, 3, checkpoint_name="step")

    def save(self, step: int) -> None:
        """Write the state after `step` steps; TensorFlow moves whole files into place."""
        self.step.assign(step)
        self.manager.save(checkpoint_number=step)

    def restore(self) -> int:
        """Take over the last whole checkpoint; returns its step, or 0 where there is none.

        One that cannot be read is passed over, and this is said.
        """
        import tensorflow as tf

        paths = sorted(self.folder.glob("step-*.index"), key=lambda p: int(p.stem.split("-")[1]))
        for path in reversed(paths):
            try:
                status = self.state.restore(str(path.with_suffix("")))
                status.assert_existing_objects_matched()
            except (tf.errors.OpError, IndexError) as error:
                print(f"{path.stem} in {self.folder} cannot be read ({in_a_line(error)}).")
                continue
            except (AssertionError, ValueError) as error:
                raise ValueError(
                    f"{path.stem} in {self.folder} is of another model or optimizer. "
                    "Choose another folder."
                ) from error
            if (of := int(self.of)) != self.batch:
                raise ValueError(
                    f"{path.stem} in {self.folder} is of a run with batches of {of}, "
                    f"not {self.batch}. Choose another folder."
                )
            print(f"Going on after step {int(self.step)}.")
            return int(self.step)
        if paths:
            raise RuntimeError(
                f"No checkpoint in {self.folder} can be read. To start anew, choose another folder."
            )
        return 0
