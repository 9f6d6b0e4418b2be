"""Gradient descent with momentum, whose steps are kernels of `labkit.gpu.kernels.pointwise`."""

from numbers import Real
from typing import Any

import numpy as np
import torch
from torch.autograd.graph import increment_version

from labkit.gpu.kernels.pointwise import plan_sgd_momentum
from labkit.gpu.training.tensors import flat, launch, ready

Tensor = torch.Tensor

NUMBERS = ("lr", "momentum")  # options that must be numbers from 0 on
ABSENT = ("dampening", "weight_decay", "nesterov", "maximize")  # what the kernel does not do


class SGD(torch.optim.Optimizer):
    """v <- momentum v + g;  p <- p - lr v:  one kernel for each parameter, PyTorch's convention.

    Other options of torch.optim.SGD are refused, in groups and in a state that was loaded too.
    """

    def __init__(self, parameters: Any, lr: float, momentum: float = 0.9) -> None:
        defaults = {"lr": lr, "momentum": momentum}
        super().__init__(parameters, defaults)
        self._fit_options()

    def _fit_options(self) -> None:
        for group in self.param_groups:
            for name, value in group.items():
                is_number = isinstance(value, Real) and value >= 0
                if name in NUMBERS and not is_number:
                    raise ValueError(f"SGD: {name} is {value!r}: give a number from 0 on.")
                if name in ABSENT and value:
                    raise ValueError(f"SGD: {name} is {value!r}, which the kernel does not do.")

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step, with the gradients that are there; `closure` computes the loss anew."""
        self._fit_options()
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            lr = np.float32(group["lr"])
            momentum = np.float32(group["momentum"])
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, lr, momentum)
        return loss

    def _update(self, p: Tensor, lr: np.float32, momentum: np.float32) -> None:
        """One parameter, in place; its velocity starts at 0."""
        state = self.state[p]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        v = state["momentum_buffer"]
        gradient = ready(p.grad)
        plan = plan_sgd_momentum(p.numel())
        launch(plan, flat(p), flat(gradient), flat(v), lr, momentum, layer="sgd")
        increment_version([p, v])  # so that PyTorch knows that they changed
