"""Weights in one byte each: int8 with a scale for every output channel.

    model = in_int8(trained())            # the linear layers' weights are int8 now
    quantised, scale = quantise(w)        # w[O,I] float -> int8[O,I], float[O]

A row of W holds the weights of one output. Its largest magnitude becomes 127, and the step between
two neighbouring values is scale = largest / 127. Rounding moves a weight by half a step at most.
Inputs, sums and biases stay floats, so this is *weight-only* quantisation: it spares bytes, and no
arithmetic. Lesson fine_tuning_and_compilers; chapter 03, lesson 1, also rounds the inputs.
"""

import torch
from torch import nn

LARGEST = 127  # -128 is not used, so that the values are symmetric


def quantise(w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """w[O,I] -> int8[O,I] and the scale[O] of each row; a row of zeros gets the scale 1.

    Raises ValueError for weights of other shapes, and for one that is NaN or infinite.
    """
    if w.ndim != 2:
        raise ValueError(f"quantise: w has the shape {tuple(w.shape)}; give w[O,I].")
    if not w.isfinite().all():
        raise ValueError("quantise: a weight is NaN or infinite, so its row has no scale.")
    largest = w.abs().amax(dim=1)
    scale = torch.where(largest > 0, largest / LARGEST, torch.ones_like(largest))
    steps = torch.round(w / scale[:, None]).clamp(-LARGEST, LARGEST)
    return steps.to(torch.int8), scale


class Int8Linear(nn.Module):
    """A linear layer with weights[O,I] in int8; x is multiplied with them as floats."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight, scale = quantise(layer.weight.detach())
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[...,I] -> [...,O]."""
        y = (x @ self.weight.to(x.dtype).T) * self.scale
        return y if self.bias is None else y + self.bias

    def weights(self) -> torch.Tensor:
        """What the int8 stand for, float[O,I]."""
        return self.weight.to(self.scale.dtype) * self.scale[:, None]


def in_int8(model: nn.Module) -> nn.Module:
    """Put Int8Linear in place of every linear layer, in place; embeddings and norms stay."""
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, Int8Linear(child))
        else:
            in_int8(child)
    return model


def linear_bytes(model: nn.Module) -> int:
    """Bytes of all linear layers, with scales and biases: what a token reads in decode."""
    total = 0
    for module in model.modules():
        if isinstance(module, (nn.Linear, Int8Linear)):
            tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
            total += sum(tensor.nbytes for tensor in tensors)
    return total


def largest_error_in_steps(model: nn.Module, int8_model: nn.Module) -> float:
    """The largest |w - int8 x scale| of all weights, in steps of its own row: 1/2 at most."""
    originals = dict(model.named_modules())
    largest = 0.0
    for name, module in int8_model.named_modules():
        if isinstance(module, Int8Linear):
            error = (originals[name].weight.detach() - module.weights()).abs()
            largest = max(largest, (error / module.scale[:, None]).max().item())
    return largest
