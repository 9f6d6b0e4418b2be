"""One big batch in one process: the step that every data parallel one is held against.

    loss = forward_backward(model, images, labels)      # gradients in .grad
    descend(model, 0.05)

Data parallel training promises the same weights as this, on any number of ranks, up to the
rounding of sums in another order. Lesson data_parallel_by_hand.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def forward_backward(
    model: "torch.nn.Module", images: "torch.Tensor", labels: "torch.Tensor"
) -> float:
    """The mean loss over a batch; its gradients replace what was in each weight's `.grad`.

    L = 1/N sum_i cross_entropy(model(images[i]), labels[i]), for images[N, ...] and labels[N].
    """
    from torch.nn.functional import cross_entropy

    model.zero_grad()
    loss = cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


def descend(model: "torch.nn.Module", learning_rate: float) -> None:
    """w <- w - learning_rate * dL/dw, for every weight that has a gradient."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.grad is not None:
                weight -= learning_rate * weight.grad


def step(
    model: "torch.nn.Module", images: "torch.Tensor", labels: "torch.Tensor", learning_rate: float
) -> float:
    """One step of plain gradient descent on the whole batch; the loss before it."""
    loss = forward_backward(model, images, labels)
    descend(model, learning_rate)
    return loss


def gradients(model: "torch.nn.Module") -> dict[str, "torch.Tensor"]:
    """A copy of every gradient, by its weight's name; weights without one are left out."""
    found = {}
    for name, weight in model.named_parameters():
        if weight.grad is not None:
            found[name] = weight.grad.clone()
    return found


def weights(model: "torch.nn.Module") -> dict[str, "torch.Tensor"]:
    """A copy of every weight, by its name."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def largest_difference(ours: dict[str, "torch.Tensor"], theirs: dict[str, "torch.Tensor"]) -> float:
    """The largest |ours - theirs| over all elements.

    Raises ValueError where a name is on one side only: what is absent differs.
    """
    if lonely := set(ours) ^ set(theirs):
        raise ValueError(f"largest_difference: {', '.join(sorted(lonely))} is on one side only.")
    return max(float((ours[name] - theirs[name]).abs().max()) for name in ours)
