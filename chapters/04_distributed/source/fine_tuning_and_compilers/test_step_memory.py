"""step_memory.py: bytes of a step, held against sums over tensors."""

import pytest
import torch

from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.fine_tuning_and_compilers.lora import adapt, learning
from labkit_lessons.distributed.fine_tuning_and_compilers.step_memory import step_memory

SMALL = Config(vocabulary=80, context=16, width=12, heads=3, layers=2)


def pieces(sequences):
    random = torch.Generator().manual_seed(3)
    return torch.randint(0, 77, (2, sequences, 9), generator=random)


@pytest.mark.parametrize("make", [GPT, lambda config: adapt(GPT(config), 2, 4)])
def test_what_stays_follows_from_what_learns(make):
    model = make(SMALL)
    memory, kept = step_memory(model, *pieces(3))
    every = sum(parameter.numel() for parameter in model.parameters())
    tensors = sum(parameter.requires_grad for parameter in model.parameters())
    assert kept["parameters"] == 4 * every
    assert kept["gradients"] == 4 * learning(model)
    assert kept["optimizer state"] == 8 * learning(model) + 4 * tensors  # and Adam counts steps
    assert memory.peak == sum(memory.at_peak.values())
    assert memory.peak >= kept["parameters"] + kept["optimizer state"] + memory.peak_activations


def test_activations_grow_with_the_batch_and_lora_spares_some():
    whole = [step_memory(GPT(SMALL), *pieces(n))[0].peak_activations for n in (2, 4)]
    lora = step_memory(adapt(GPT(SMALL), 2, 4), *pieces(4))[0].peak_activations
    assert 1.8 < whole[1] / whole[0] < 2.2
    assert 0.5 * whole[1] < lora < whole[1]
