"""Gradient descent and Adam, with the methods of `torch.optim` that a training step needs.

    optimiser = Adam(model.parameters(), 0.0005)
    loss.backward()
    optimiser.step()

What they compute is what torch's compute. But torch's own load its compiler in every process that
makes one, which takes longer than the steps of a lesson. Lesson data_parallel_by_hand.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

OF_GRADIENTS, OF_SQUARES = 0.9, 0.999  # what of a running average stays in each step
TINY = 1e-8


class Descent:
    """Gradient descent: w <- w - rate * g, for each weight w and its gradient g."""

    def __init__(self, weights: Iterable["torch.nn.Parameter"], rate: float) -> None:
        self.weights = list(weights)
        self.rate = rate

    def zero_grad(self) -> None:
        """Forgets the gradients, so that `backward` does not add to them."""
        for weight in self.weights:
            weight.grad = None

    def step(self) -> None:
        """Moves every weight that has a gradient, in place."""
        for number, weight in enumerate(self.weights):
            if weight.grad is not None:
                weight.data -= self.rate * self.direction(number, weight.grad)

    def direction(self, number: int, gradient: "torch.Tensor") -> "torch.Tensor":
        """By what weight `number` moves, for a learning rate of 1."""
        return gradient


class Adam(Descent):
    """Adam (Kingma and Ba, arXiv:1412.6980), with its usual constants.

    It keeps, for each weight, the running averages m of its gradients and v of their squares:

        m <- 0.9 m + 0.1 g,  v <- 0.999 v + 0.001 g^2,  in step t from 1 on
        w <- w - rate * (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 1e-8)
    """

    def __init__(self, weights: Iterable["torch.nn.Parameter"], rate: float) -> None:
        super().__init__(weights, rate)
        self.gradients = [0.0] * len(self.weights)  # m of each weight
        self.squares = [0.0] * len(self.weights)  # v of each weight
        self.steps = [0] * len(self.weights)

    def direction(self, number: int, gradient: "torch.Tensor") -> "torch.Tensor":
        """By what weight `number` moves, for a learning rate of 1; keeps what Adam keeps."""
        self.steps[number] += 1
        mean = OF_GRADIENTS * self.gradients[number] + (1 - OF_GRADIENTS) * gradient
        square = OF_SQUARES * self.squares[number] + (1 - OF_SQUARES) * gradient**2
        self.gradients[number] = mean
        self.squares[number] = square
        mean = mean / (1 - OF_GRADIENTS ** self.steps[number])  # they began at 0
        square = square / (1 - OF_SQUARES ** self.steps[number])
        return mean / (square.sqrt() + TINY)
