"""Checkpoints of a training run in TensorFlow: saved whole, and taken over by the same run only."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from labkit.cifar10_files import in_a_line

if TYPE_CHECKING:
    from keras import Model
    from keras.optimizers import Optimizer
    from tensorflow.data import Dataset

KEPT = 3  # the last ones; older files are removed


class Checkpoints:
    """The state of a run in a folder: weights, the optimizer, the step, and of which run it is.

    Raises ValueError for a folder whose name TensorFlow cannot read again, and OSError for one in
    which nothing can be written.
    """

    def __init__(self, folder: Path, model: Model, optimizer: Optimizer, dataset: Dataset) -> None:
        import tensorflow as tf

        if set(str(folder)) & set("[]*?\\"):
            raise ValueError(f"checkpoint {folder}: TensorFlow does not find names with []*? in.")
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()  # said now, not after the first steps
        self.folder = folder
        self.rate = optimizer.learning_rate
        self.run = _description(model, optimizer, dataset)
        self.step = tf.Variable(0, dtype=tf.int64)
        self.state = tf.train.Checkpoint(
            model=model,
            optimizer=optimizer,
            step=self.step,
            run=tf.Variable(json.dumps(self.run)),
        )
        self.manager = tf.train.CheckpointManager(self.state, folder, KEPT, checkpoint_name="step")

    def save(self, step: int) -> None:
        """Write the state after `step` steps; TensorFlow moves whole files into place.

        Raises OSError where it cannot be written.
        """
        import tensorflow as tf

        self.step.assign(step)
        try:
            self.manager.save(checkpoint_number=step)
        except tf.errors.OpError as error:
            raise OSError(f"step-{step} cannot be saved ({in_a_line(error)}).") from error

    def restore(self) -> int:
        """Take over the last whole checkpoint; returns its step, or 0 where there is none.

        One that cannot be read is passed over, and this is said. One of another run is refused
        before the model is touched. The learning rate stays as it is. Raises ValueError for
        another run, and RuntimeError where there are checkpoints and none can be read.
        """
        import tensorflow as tf

        is_number = hasattr(self.rate, "assign")  # else a schedule
        rate = self.rate.numpy() if is_number else None
        paths = sorted(self.folder.glob("step-*.index"), key=lambda path: (len(path.stem), path))
        for path in reversed(paths):
            name = str(path.with_suffix(""))
            try:
                differing = self._differing(name)
                if not differing:
                    self.state.restore(name).assert_consumed()
            except (tf.errors.OpError, IndexError) as error:
                print(f"{path.stem} in {self.folder} cannot be read ({in_a_line(error)}).")
                continue
            if differing:
                what = " and another ".join(differing)
                said = f"{path.stem} in {self.folder} is of another {what}"
                raise ValueError(f"{said}. Choose another folder.")
            if is_number:
                self.rate.assign(rate)
            print(f"Going on after step {int(self.step)}.")
            return int(self.step)
        if paths:
            raise RuntimeError(f"No checkpoint in {self.folder} can be read. Take another folder.")
        return 0

    def _differing(self, name: str) -> list[str]:
        """In what the checkpoint's run is not this one; [] where it is the same."""
        import tensorflow as tf

        stored = tf.train.load_checkpoint(name).get_tensor("run/.ATTRIBUTES/VARIABLE_VALUE")
        other = json.loads(stored)
        return [what for what, value in other.items() if value != self.run.get(what)]


def _description(model: Model, optimizer: Optimizer, dataset: Dataset) -> dict[str, str]:
    """What makes a run the same: its model, its optimizer, and the labels of its first batch."""
    layers = [
        (type(layer).__name__, [tuple(variable.shape) for variable in layer.variables])
        for layer in model.layers
    ]
    settings = optimizer.get_config() | {"learning_rate": 0, "name": ""}  # these two may change
    _, labels = next(iter(dataset.take(1)))
    return {
        "model": str(layers),
        "optimizer": str((type(optimizer).__name__, settings)),
        "batch size, seed or set of images": str(labels.numpy().tolist()),
    }
