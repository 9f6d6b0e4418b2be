"""Gradient descent with momentum, whose steps are kernels of `labkit.gpu.kernels.pointwise`."""

from typing import Any

from numbers import Real

import numpy as np
import torch
from torch.autograd.graph import increment_version

from labkit.gpu.kernels.pointwise import plan_sgd_momentum
from labkit.gpu.tensors import flat, launch, ready

Tensor = torch.Tensor


class SGD(torch.optim.Optimizer):
    """v <- momentum v + g;  p <- p - lr v:  one kernel for each parameter, PyTorch's convention.

    Other options of torch.optim.SGD are refused, in groups and in a state that was loaded too.
    """

    def __init__(self, parameters: Any, lr: float, momentum: float = 0.9) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})
        self._fit_options()

    def _fit_options(self) -> None:
        for group in self.param_groups:
            for name, value in group.items():
                is_number = isinstance(value, Real) and value >= 0
                if name in ("lr", "momentum") and not is_number:
                    raise ValueError(f"SGD: {name} is {value!r}: give a number from 0 on.")
                if name in ("dampening", "weight_decay", "nesterov", "maximize") and value:
                    raise ValueError(f"SGD: {name} is {value!r}, which the kernel does not do.")

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step, with the gradients that are there; `closure` computes the loss anew."""
        self._fit_options()
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, np.float32(group["lr"]), np.float32(group["momentum"]))
        return loss

    def _update(self, p: Tensor, lr: np.float32, momentum: np.float32) -> None:
        """One parameter, in place; its velocity starts at 0."""
        if not self.state[p]:
            self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        v = self.state[p]["momentum_buffer"]
        plan = plan_sgd_momentum(p.numel())
        launch(plan, flat(p), flat(ready(p.grad)), flat(v), lr, momentum, layer="sgd")
        increment_version([p, v])  # so that PyTorch knows that they changed
