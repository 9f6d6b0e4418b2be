"""The bytes of a training step, counted in one that is no longer the first.

    memory = step_memory(adapt(trained(), 4, 8), inputs, targets)
    memory.peak, memory.at_peak, memory.peak_activations

In the first step Adam makes its moments; from the second on they are there from the beginning. So
the second one is counted: gradients of parameters that learn, moments, and activations.
"""

import torch

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.launching.live_bytes import LiveBytes, bytes_of, counted_bytes


def step_memory(
    model: GPT, inputs: torch.Tensor, targets: torch.Tensor
) -> tuple[LiveBytes, dict[str, int]]:
    """The count of a step of AdamW on inputs[N,T] and targets[N,T]; and what stays, by kind.

    What stays after the step are the parameters, the gradients and the optimizer's state. The model
    has done two steps afterwards.
    """
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learning)

    def step() -> None:
        loss_of(model(inputs), targets).backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    with counted_bytes(model, optimizer) as memory:
        step()
    return memory, bytes_of(model, optimizer)
