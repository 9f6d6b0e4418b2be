"""The problem of the parameter servers for TensorFlow: photographs, and the same network.

PyTorch holds a linear layer's weights as [out, in] and Keras as [in, out]; everything else is
equal, down to the start weights. Lesson faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labkit.distributed.parameter_server import problem

if TYPE_CHECKING:
    import keras

SHAPES = ((problem.HIDDEN, problem.PIXELS), (problem.CLASSES, problem.HIDDEN))  # [out, in]


def photographs() -> tuple[np.ndarray, np.ndarray]:
    """The training images as rows [2000,768], and their labels [2000]."""
    from labkit.distributed.small_training import photographs as of_torch

    images, labels = of_torch()
    return images.flatten(1).numpy(), labels.numpy()


def batch(step: int, size: int) -> np.ndarray:
    """Which photographs a scheduled step looks at: their places [size], whoever computes it.

    With w workers it is what the PyTorch workers' deal gives to worker `step % w` in its step
    `step // w`.
    """
    return problem.batch(0, step, size, 1).numpy()


def keras_twin(seed: int = 0) -> keras.Model:
    """The Keras network with the start weights of `problem.network(seed)`."""
    import keras

    model = keras.Sequential(
        [
            keras.Input((problem.PIXELS,)),
            keras.layers.Dense(problem.HIDDEN, activation="relu"),
            keras.layers.Dense(problem.CLASSES),
        ]
    )
    model.set_weights(to_keras(problem.flat_weights(problem.network(seed)).numpy()))
    return model


def to_keras(flat: np.ndarray) -> list[np.ndarray]:
    """The flat weights [24938] of PyTorch's network as those of Keras, layer by layer."""
    weights = []
    place = 0
    for rows, columns in SHAPES:
        kernel = flat[place : place + rows * columns].reshape(rows, columns)
        place += rows * columns
        weights += [kernel.T, flat[place : place + rows]]
        place += rows
    return weights


def to_flat(weights: list[np.ndarray]) -> np.ndarray:
    """The way back: Keras's weights or gradients, layer by layer, as one row [24938]."""
    return np.concatenate([np.asarray(weight).T.ravel() for weight in weights])
