"""The small GPT in training, in one process and in ranks, as the tests here compare it."""

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan, train
from labkit_lessons.distributed.hybrid_and_sharded import fsdp2
from labkit_lessons.distributed.hybrid_and_sharded.trained import train_stages

CONFIG = Config(width=20, context=16, heads=2, layers=2)
PLAN = Plan(steps=4, length=16, learning_rate=1e-2)


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
    return train_stages(rank, ranks, lambda: GPT(CONFIG), emma().train, PLAN)


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
