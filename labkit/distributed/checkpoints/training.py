"""A training of the small GPT that goes on from a checkpoint as if nothing had happened.

    training = Training(Options(), rank, ranks)
    training.restore(newest(folder))            # or nothing, for a start at step 0
    training.one_step()                         # the loss of the whole batch
    save(folder, training.step, training.state())

What changes while it trains, and so has to be in a checkpoint, is listed in PARTS. The batch of a
step is dealt to the ranks; its pieces of the book come in an order that is shuffled anew each
time through, and every tenth character is blanked at random, so that the model learns to do
without. Lesson restarts_and_monitoring.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from labkit.distributed.checkpoints import dcp
from labkit.distributed.checkpoints.folder import Whole
from labkit.distributed.gpt.model import GPT, Config, loss_of
from labkit.distributed.gpt.text import CHARACTERS, emma
from labkit.errors import whole

PARTS = ("model", "optimizer", "step", "position", "random")
BLANK = CHARACTERS.index(" ")
SMALL = Config(context=32, width=32, heads=2, layers=2)


@dataclass(frozen=True)
class Options:
    """What decides a training; nonsense raises ValueError.

    sequences       pieces of text per step, over all ranks together
    learning_rate   after the warm-up, over which it rises in equal steps
    blanked         the share of characters that are replaced by a blank
    """

    sequences: int = 8
    length: int = 32
    learning_rate: float = 3e-3
    warm_up: int = 10
    blanked: float = 0.1
    seed: int = 0
    config: Config = field(default=SMALL)

    def __post_init__(self) -> None:
        for name, least in (("sequences", 1), ("length", 1), ("warm_up", 1), ("seed", 0)):
            whole(f"Options: {name}", getattr(self, name), least)
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"Options: learning_rate is above 0, not {self.learning_rate!r}.")
        if not 0 <= self.blanked < 1:
            raise ValueError(f"Options: blanked is at least 0 and below 1, not {self.blanked!r}.")


class Training:
    """One rank's part of a data-parallel training.

    step        how many steps are done
    position    how many pieces of the book were read, by all ranks together
    random      draws which characters are blanked; alike in all ranks
    seconds     that the last step spent on exchanging gradients
    sharded     each weight's rows lie on different ranks, as FSDP has them
    """

    def __init__(
        self, options: Options, rank: int = 0, ranks: int = 1, sharded: bool = False
    ) -> None:
        if ranks < 1 or options.sequences % ranks:
            raise ValueError(
                f"{options.sequences} sequences cannot be dealt evenly to {ranks} ranks."
            )
        self.options = options
        self.rank = rank
        self.ranks = ranks
        self.sharded = sharded
        self.model = GPT(options.config, options.seed)
        if sharded:
            _shard(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.learning_rate)
        self.step = 0
        self.position = 0
        self.random = torch.Generator().manual_seed(options.seed)
        self.seconds = 0.0

    def one_step(self) -> float:
        """Trains on the next batch; returns its mean loss before the update, alike in all ranks."""
        inputs, targets = self._next_batch()
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self.optimizer.zero_grad()
        loss = loss_of(self.model(inputs), targets)
        loss.backward()
        mean = self._average(loss.detach())
        self.optimizer.step()
        self.step += 1
        self.position += self.options.sequences
        return mean.item()

    def state(self) -> dcp.State:
        """All that a training needs to go on, by the names in PARTS."""
        return {
            "model": get_model_state_dict(self.model),
            "optimizer": get_optimizer_state_dict(self.model, self.optimizer),
            "step": torch.tensor(self.step),
            "position": torch.tensor(self.position),
            "random": self.random.get_state(),
        }

    def restore(self, whole: Whole | None, parts: Iterable[str] = PARTS) -> None:
        """Goes on from a checkpoint, saved by any number of ranks; None leaves the start as it is.

        parts   what is taken from it; without one of them, the training goes another way
        """
        if whole is None:
            return
        chosen = set(parts)
        if chosen - set(PARTS):
            raise ValueError(f"A training has no part {min(chosen - set(PARTS))!r}.")
        state = {name: value for name, value in self.state().items() if name in chosen}
        dcp.load(whole, state)
        if "model" in chosen:
            set_model_state_dict(self.model, state["model"])
        if "optimizer" in chosen:
            set_optimizer_state_dict(self.model, self.optimizer, state["optimizer"])
        else:
            self.optimizer.state.clear()
        if "step" in chosen:
            self.step = int(state["step"])
        if "position" in chosen:
            self.position = int(state["position"])
        if "random" in chosen:
            self.random.set_state(state["random"])

    def weights(self) -> dict[str, torch.Tensor]:
        """The whole weights by name, in every rank."""
        return {name: _whole(weight.detach()) for name, weight in self.model.named_parameters()}

    def _learning_rate(self) -> float:
        risen = min(1.0, (self.step + 1) / self.options.warm_up)
        return self.options.learning_rate * risen

    def _next_batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's inputs[N/ranks,T] and targets of the next step."""
        options = self.options
        places = range(self.position, self.position + options.sequences)
        pieces = torch.stack([piece(place, options.length, options.seed) for place in places])
        inputs, targets = pieces[:, :-1], pieces[:, 1:].contiguous()
        blank = torch.rand(inputs.shape, generator=self.random) < options.blanked
        inputs = inputs.masked_fill(blank, BLANK)
        return inputs.chunk(self.ranks)[self.rank], targets.chunk(self.ranks)[self.rank]

    def _average(self, loss: torch.Tensor) -> torch.Tensor:
        """Gives all ranks the mean gradient, where FSDP has not; returns the mean loss."""
        if self.ranks == 1:
            return loss
        began = time.monotonic()
        parts = [loss.reshape(1)]
        gradients = [] if self.sharded else [w.grad for w in self.model.parameters()]
        parts += [gradient.flatten() for gradient in gradients]
        together = torch.cat(parts)
        dist.all_reduce(together)
        together /= self.ranks
        sizes = [part.numel() for part in parts]
        mean, *averaged = together.split(sizes)
        for gradient, part in zip(gradients, averaged, strict=True):
            gradient.copy_(part.view_as(gradient))
        self.seconds = time.monotonic() - began
        return mean


def piece(place: int, length: int, seed: int) -> torch.Tensor:
    """Tokens[length + 1] of the book that a training reads at a place, counted from 0.

    The book is cut into pieces; each time through, they come in another order.
    """
    tokens = emma().train
    pieces = (len(tokens) - 1) // length
    begin = length * int(_order(pieces, seed + place // pieces)[place % pieces])
    return tokens[begin : begin + length + 1]


@lru_cache(maxsize=4)
def _order(pieces: int, seed: int) -> torch.Tensor:
    return torch.randperm(pieces, generator=torch.Generator().manual_seed(seed))


def _shard(model: GPT) -> None:
    """FSDP2: every weight's rows are dealt to the ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def _whole(weight: Any) -> torch.Tensor:
    """The whole of a weight, of which this rank may hold some rows."""
    return weight.full_tensor() if hasattr(weight, "full_tensor") else weight.clone()
