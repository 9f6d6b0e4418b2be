"""The loop of a training that survives: restore, train, log, save; and, on request, die.

    launch(run, 2, Orders(folder, steps=30, every=10))

chapters/04_distributed/train_gpt.py is this loop under torchrun. Lesson restarts_and_monitoring.
"""

import hashlib
import os
import random
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch.distributed as dist

from labkit.distributed.checkpoints import dcp
from labkit.distributed.checkpoints.folder import last_good, newest
from labkit.distributed.checkpoints.training import PARTS, Options, Training
from labkit.distributed.monitoring import RankLog
from labkit.distributed.step_log import StepLog


@dataclass(frozen=True)
class Orders:
    """What a training is told.

    folder      for checkpoints, the log of steps, and the event files of the ranks
    every       steps from one checkpoint to the next
    background  write checkpoints while the training goes on
    die_at      the step, counted from 1, in which one rank kills itself, in the first attempt
    die_rank    which one
    fall_back   take the last good checkpoint where the newest is damaged
    parts       what is restored from a checkpoint
    events      whether the ranks write event files
    """

    folder: Path
    steps: int = 30
    every: int = 10
    background: bool = False
    die_at: int | None = None
    die_rank: int = 0
    fall_back: bool = False
    parts: tuple[str, ...] = PARTS
    events: bool = False
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        for name in ("steps", "every"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"Orders: {name} is at least 1, not {value!r}.")

    @property
    def log(self) -> Path:
        """The log of steps."""
        return Path(self.folder) / "steps.jsonl"

    def with_a_death(self, seed: int, ranks: int) -> "Orders":
        """The same with a death of some rank in some step, after the first checkpoint."""
        chance = random.Random(seed)
        step = chance.randint(min(self.every + 1, self.steps), self.steps)
        return replace(self, die_at=step, die_rank=chance.randrange(ranks))


@dataclass(frozen=True)
class Outcome:
    """What a rank knows at the end.

    resumed_at   the step of the checkpoint that it began with, 0 without one
    weights      a hash of all weights, to the last bit
    note         a sentence where a damaged checkpoint was passed over
    """

    resumed_at: int
    weights: str
    note: str


def run(rank: int, ranks: int, orders: Orders) -> Outcome:
    """Trains up to `orders.steps` from the newest checkpoint of the folder, if there is one."""
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    training = Training(orders.options, rank, ranks)
    found = (last_good if orders.fall_back else newest)(orders.folder)
    training.restore(found, orders.parts)
    with ExitStack() as stack:
        save = _saver(stack, orders)
        tell = _teller(stack, orders, rank, attempt)
        while training.step < orders.steps:
            if attempt == 0 and training.step + 1 == orders.die_at:
                _death(orders.die_rank, rank, ranks)
            began = time.monotonic()
            loss = training.one_step()
            tell(training, loss, time.monotonic() - began)
            if training.step % orders.every == 0:
                save(training.step, training.state())
    return Outcome(found.step if found else 0, digest(training), found.note if found else "")


def _death(die_rank: int, rank: int, ranks: int) -> None:
    """One rank kills itself when the logs of all ranks have the step before."""
    if ranks > 1:
        dist.barrier()  # a rank gets here after it has written its line
    if rank == die_rank:
        os.kill(os.getpid(), signal.SIGKILL)


def digest(training: Training) -> str:
    """A hash of all weights: two are equal where every bit is."""
    found = hashlib.sha256()
    for name, weight in training.weights().items():
        found.update(name.encode())
        found.update(weight.numpy().tobytes())
    return found.hexdigest()[:16]


def _saver(stack: ExitStack, orders: Orders):
    if orders.background:
        return stack.enter_context(dcp.Background(orders.folder)).save
    return lambda step, state: dcp.save(orders.folder, step, state)


def _teller(stack: ExitStack, orders: Orders, rank: int, attempt: int):
    """A function of (training, loss, seconds) that writes the logs of this rank."""
    steps = StepLog(orders.log, attempt)
    folder = Path(orders.folder) / "events"
    events = stack.enter_context(RankLog(folder, rank)) if orders.events else None
    tokens = orders.options.sequences * orders.options.length

    def tell(training: Training, loss: float, seconds: float) -> None:
        if rank == 0:
            steps.write(training.step, loss)
        if events:
            values = {
                "loss": loss,
                "tokens per second": tokens / seconds,
                "communication share": 100 * training.seconds / seconds,
            }
            events.write(training.step, values)

    return tell
