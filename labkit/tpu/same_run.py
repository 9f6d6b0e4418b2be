"""One small training run, which two lessons make: in TensorFlow, and in JAX.

The course's network (`labkit.convnet.init(seed=0)`), SGD with RATE and MOMENTUM, and a step for
each of BATCHES: one with 50 photographs of CIFAR-10's sample, then ten with 64. Three programs that
share no line of arithmetic make the same losses, up to rounding. Lessons training_on_a_tpu and
training_in_jax make two of them; the third, in NumPy, takes too long for a lesson, so that its
losses stand here.
"""

import numpy as np

from labkit import convnet
from labkit.datasets import cifar10

RATE = 0.0002
MOMENTUM = 0.9
SIZE = 64  # images of a batch, fillers among them
BATCHES = (range(50), *(range(start, start + SIZE) for start in range(0, 10 * SIZE, SIZE)))
# What `in_numpy` gives for all batches, in float64.
IN_NUMPY = (
    4.382235587234396,
    4.076100334984747,
    3.6793725671627473,
    3.5794762140286673,
    3.2987283216742673,
    3.008512315618992,
    2.731115545134323,
    2.888423924740137,
    3.018639875301919,
    3.0131466099761237,
    2.7292694474501245,
)
# What lesson training_on_a_tpu made of them on 8 virtual replicas, in float32.
ON_REPLICAS = (
    4.382236,
    4.076101,
    3.679373,
    3.579477,
    3.298728,
    3.008512,
    2.731116,
    2.888424,
    3.018640,
    3.013147,
    2.729270,
)


def photographs() -> tuple[np.ndarray, np.ndarray]:
    """Normalised images[2000,3,32,32] float32 and labels[2000] int32 of CIFAR-10's sample."""
    data = cifar10("sample").train
    return convnet.normalise(data.images), data.labels.astype(np.int32)


def filled(rows: range | np.ndarray, size: int = SIZE) -> np.ndarray:
    """The rows[n] with row 0 behind them, up to a multiple of `size`: what a batch is made of."""
    fillers = -len(rows) % size
    return np.append(rows, np.zeros(fillers, int)).astype(int)


def in_numpy(steps: int = len(BATCHES)) -> list[float]:
    """The losses of the first steps by `labkit.convnet`, in float64: several seconds a step.

    velocity = MOMENTUM * velocity - RATE * gradient; weight = weight + velocity.
    """
    images, labels = photographs()
    weights = {name: w.astype(float) for name, w in convnet.init(seed=0).items()}
    velocities = {name: np.zeros_like(w) for name, w in weights.items()}
    losses = []
    for rows in BATCHES[:steps]:
        chosen = list(rows)
        loss, gradients = convnet.forward_backward(weights, images[chosen], labels[chosen])
        losses.append(loss)
        for name, gradient in gradients.items():
            velocities[name] = MOMENTUM * velocities[name] - RATE * gradient
            weights[name] = weights[name] + velocities[name]
    return losses
