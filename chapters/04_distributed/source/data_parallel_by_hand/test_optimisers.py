"""Our optimisers against torch's own."""

import pytest
import torch

from labkit_lessons.distributed.data_parallel_by_hand.optimisers import Adam, Descent


def trained(optimiser_of, steps=7):
    """Weights [3, 2] and a bias that gets its first gradient in step 3, after some steps."""
    random = torch.Generator().manual_seed(4)
    weight = torch.nn.Parameter(torch.randn(3, 2, generator=random))
    bias = torch.nn.Parameter(torch.randn(2, generator=random))
    optimiser = optimiser_of([weight, bias])
    for number in range(steps):
        optimiser.zero_grad()
        x = torch.randn(5, 3, generator=random)
        y = x @ weight + (bias if number >= 2 else 0)
        y.square().mean().backward()
        optimiser.step()
    return torch.cat([weight.detach().flatten(), bias.detach()])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda weights: Descent(weights, 0.1), lambda weights: torch.optim.SGD(weights, 0.1)),
        (lambda weights: Adam(weights, 0.02), lambda weights: torch.optim.Adam(weights, 0.02)),
    ],
    ids=["descent", "adam"],
)
def test_the_weights_are_those_of_torch(ours, theirs):
    torch.testing.assert_close(trained(ours), trained(theirs), rtol=1e-5, atol=1e-6)


def test_adam_moves_by_the_rate_in_its_first_step():
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = Adam(iter([weight]), 0.25)
    (1000 * weight).sum().backward()
    optimiser.step()
    torch.testing.assert_close(weight.detach(), torch.tensor([0.75, -2.25]))
