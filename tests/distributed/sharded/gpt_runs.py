"""The small GPT in training, in one process and in ranks, as the tests here compare it."""

from dataclasses import dataclass

import torch

from labkit.distributed import recorded
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit.distributed.live_bytes import counted_bytes
from labkit.distributed.sharded import fsdp2
from labkit.distributed.sharded.zero import Sharded

CONFIG = Config(width=20, context=16, heads=2, layers=2)
PLAN = Plan(steps=4, length=16, learning_rate=1e-2)


@dataclass
class ByHand:
    """A training; what it sent and held in its last step.

    sizes   how many numbers each unit has, padding included
    held    bytes by kind between backward and the update; at_peak: those of the worst moment
    """

    losses: list[float]
    weights: dict[str, torch.Tensor]
    sent: int
    sizes: list[int]
    held: dict[str, int]
    at_peak: dict[str, int]


def one_process(plan=PLAN, config=CONFIG):
    """Losses and weights of the reference."""
    model = GPT(config)
    losses = train(model, emma().train, plan)
    return losses, {name: w.detach() for name, w in model.named_parameters()}


def own_batch(rank, ranks, step, plan=PLAN):
    """This rank's sequences of a step."""
    inputs, targets = plan.batch_of(step, emma().train)
    return inputs.chunk(ranks)[rank], targets.chunk(ranks)[rank]


def by_hand(rank, ranks):
    """What each stage of ZeRO does in this rank."""
    found = {}
    for stage in range(4):
        model = Sharded(GPT(CONFIG), stage, PLAN.learning_rate)
        losses = []
        for step in range(PLAN.steps):
            with recorded() as messages, counted_bytes(model, model.optimizer) as memory:
                losses.append(model.backward(*own_batch(rank, ranks, step)))
                held = memory.by_kind()
                model.update()
        sent = sum(message.bytes for message in messages if message.sent)
        sizes = [unit.whole.numel() for unit in model.units]
        found[stage] = ByHand(losses, model.weights(), sent, sizes, held, memory.at_peak)
        model.close()
    return found


def by_torch(rank, ranks):
    """The same of FSDP2, and of HSDP on two copies."""
    found = {}
    for sides in ((ranks,), (2, ranks // 2)):
        run = fsdp2.train(rank, ranks, GPT(CONFIG), emma().train, PLAN, sides)
        found[len(sides)] = run
    return found


def largest_difference(ours: dict, theirs: dict) -> float:
    assert ours.keys() == theirs.keys()
    return max(float((ours[name] - theirs[name]).abs().max()) for name in ours)


def mean(by_rank):
    """Step by step, over the ranks."""
    return torch.tensor(by_rank).mean(0)
