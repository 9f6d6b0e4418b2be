"""A training of a few numbers, to see what has to be remembered: exercise distributed.snapshot.

    training = SmallTraining(x, y, seed=0)
    training.one_step()
    again = SmallTraining(x, y, seed=0)
    again.go_on({"weights": training.weights.copy(), ...})

A step reads one example, adds noise to it, and follows Adam's rule:

    g = (w . x - y) x            mean += 0.1 (g - mean)        square += 0.01 (g^2 - square)
    w -= rate * mean / (1 - 0.9^step) / sqrt(square / (1 - 0.99^step))

Adam's two averages begin at 0, which the two denominators make up for (Kingma and Ba 2015,
arXiv:1412.6980). All arrays are changed in place. Lesson restarts_and_monitoring.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

PARTS = ("weights", "mean", "square", "step", "position", "random")
ARRAYS = ("weights", "mean", "square")
RATE = 0.1
NOISE = 0.3


class SmallTraining:
    """Fits y[N] = x[N,D] w; two with the same seed do the same.

    weights    [D]
    mean       [D], of the gradients so far; newer ones weigh more
    square     [D], the same of their squares
    step       how many steps are done
    position   the example that is read next
    random     the np.random.Generator that draws the noise
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.x = x
        self.y = y
        self.random = np.random.default_rng(seed)
        self.weights = self.random.normal(size=x.shape[1])
        self.mean = np.zeros(x.shape[1])
        self.square = np.zeros(x.shape[1])
        self.step = 0
        self.position = 0

    def one_step(self) -> float:
        """Reads the next example; returns its squared error before the update."""
        x = self.x[self.position] + NOISE * self.random.normal(size=self.weights.size)
        error = x @ self.weights - self.y[self.position]
        gradient = error * x
        self.step += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.01 * (gradient**2 - self.square)
        mean = self.mean / (1 - math.pow(0.9, self.step))  # as Python, also for a step of NumPy
        square = self.square / (1 - math.pow(0.99, self.step))
        self.weights -= RATE * mean / (np.sqrt(square) + 1e-8)
        self.position = (self.position + 1) % len(self.x)
        return float(error**2)

    def go_on(self, saved: Mapping[str, Any]) -> None:
        """Takes what was saved, as it is; what was not saved stays as it was at the start."""
        for name, value in saved.items():
            if name == "random" and isinstance(value, Mapping):
                self.random.bit_generator.state = value
            else:
                setattr(self, name, value)
