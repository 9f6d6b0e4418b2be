"""One step of a pipeline by hand: each rank carries out its stage's order of work.

    def step(rank, ranks):
        stage = Stage(GPT(), rank, ranks)
        ran = run(stage, one_f_one_b(ranks, 4), inputs, targets)
        ran.loss                            # in the last stage
        stage.head.weight.grad              # the gradient of the mean over the whole batch

    F of micro-batch i:  x = from the previous stage;  y = f(x);  keep x and y;  y to the next stage
    B of micro-batch i:  dy = from the next stage;  dx and dw by autograd;  dx to the previous stage

The last stage ends its F with loss / m, so that the m gradients add up to that of the mean. Several
pipelines may run beside each other, each on ranks of its own.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Self

import torch
import torch.distributed as dist
from torch import nn

from labkit.distributed.gpt.model import loss_of
from labkit.distributed.messages import receive, send
from labkit.distributed.pipeline.predictions import Span
from labkit.distributed.pipeline.schedules import FORWARD, Schedule, Work

# An outbox: a bounded queue of tensors to one other rank, which a thread sends.
#
#     with Outbox(to=1, capacity=1) as outbox:
#         outbox.put(x)           # returns at once, while there is room
#         ...                     # the rank computes on
#
# Two neighbours that both send first would wait for each other: 1F1B sends activations one way
# and gradients the other. With room for a single tensor they do not. The queue is bounded, so
# that a fast stage waits for a slow one instead of filling the memory.


class Outbox:
    """Tensors on their way to rank `to`: at most `capacity` that it has not received yet.

    Raises ValueError for a capacity below 1: the neighbours would wait for each other.
    """

    def __init__(self, to: int, capacity: int) -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise ValueError(f"An outbox has room for 1 tensor or more, not {capacity!r}.")
        self._to = to
        self._room = threading.Semaphore(capacity)
        self._waiting: queue.SimpleQueue[torch.Tensor | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._carry, name=f"to rank {to}", daemon=True)
        self._thread.start()

    def put(self, tensor: torch.Tensor) -> None:
        """Hands over a tensor, and waits while the outbox is full; raises what a send raised."""
        self._room.acquire()
        self._raise_error()
        self._waiting.put(tensor)

    def close(self) -> None:
        """Waits until all that was put has been sent, and ends the thread."""
        self._waiting.put(None)
        self._thread.join()
        self._raise_error()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is None:  # after an error the receiver may never come
            self.close()

    def _carry(self) -> None:
        while (tensor := self._waiting.get()) is not None:
            try:
                if self._error is None:
                    send(tensor, self._to)
            except BaseException as error:
                self._error = error
            self._room.release()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error


Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class StepResult:
    """One step, as one stage saw it.

    loss      the mean over the batch, in the last stage; None in the others
    outputs   of the last stage for each request, where nothing is trained
    spans     each piece of work with its moments, in seconds of the clock that all processes share
    alive     for how many micro-batches the stage kept activations at once, at most
    """

    loss: float | None = None
    outputs: list[torch.Tensor] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    alive: int = 0


def run(
    stage: nn.Module,
    schedule: Schedule,
    inputs: torch.Tensor,
    targets: torch.Tensor | None = None,
    ranks: Sequence[int] | None = None,
    capacity: int = 1,
    loss: Loss = loss_of,
) -> StepResult:
    """One step of this rank; gradients are added to those that the weights have.

    stage      a `Stage`, or what has its `stage`, `stages` and `width`
    inputs     [N,T] of the whole batch: the first stage reads them, the others only their shape
    targets    [N,T]: the last stage reads them; None where the schedule does not train
    ranks      that of each stage, in their order; None for ranks 0 to p - 1
    capacity   how many tensors may be on their way to a neighbour, before the sender waits

    Raises ValueError where stage, schedule and ranks do not fit, m does not divide N, or a schedule
    that trains has no targets.
    """
    if schedule.trains and targets is None:
        raise ValueError(f"The schedule {schedule.name} trains: it needs targets, and has none.")
    ranks = range(stage.stages) if ranks is None else ranks
    _refuse_misfits(stage, schedule, ranks)
    with ExitStack() as stack:
        step = _Step(stage, schedule, inputs, targets, ranks, loss)
        if not step.is_last:
            step.next = stack.enter_context(Outbox(ranks[stage.stage + 1], capacity))
        if not step.is_first and schedule.trains:
            step.previous = stack.enter_context(Outbox(ranks[stage.stage - 1], capacity))
        with nullcontext() if schedule.trains else torch.no_grad():
            for work in schedule.orders[stage.stage]:
                if work.kind == FORWARD:
                    step.forward(work)
                else:
                    step.backward(work)
    return step.ran


def micro_batches_of(batch: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    """[N, ...] cut into `count` parts [N/m, ...]; ValueError where it does not divide."""
    if count < 1:
        raise ValueError(f"A batch is cut into 1 micro-batch or more, not {count}.")
    if len(batch) % count:
        raise ValueError(
            f"A batch of {len(batch)} does not divide into {count} micro-batches of equal size: "
            "the mean of their means would not be the mean over the batch."
        )
    return batch.split(len(batch) // count)


class _Step:
    """A step on its way: what is kept of each micro-batch between its F and its B."""

    def __init__(
        self,
        stage: nn.Module,
        schedule: Schedule,
        inputs: torch.Tensor,
        targets: torch.Tensor | None,
        ranks: Sequence[int],
        loss: Loss,
    ) -> None:
        self.stage = stage
        self.place = stage.stage
        self.ranks = ranks
        self.trains = schedule.trains
        self.count = schedule.micro_batches
        self.inputs = micro_batches_of(inputs, self.count)
        self.targets = micro_batches_of(targets, self.count) if self.trains else ()
        self.loss = loss
        self.dtype = next(stage.parameters()).dtype
        self.previous: Outbox | None = None
        self.next: Outbox | None = None
        self.kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.ran = StepResult()

    @property
    def is_first(self) -> bool:
        """Whether it begins with the tokens."""
        return self.place == 0

    @property
    def is_last(self) -> bool:
        """Whether it ends with the loss."""
        return self.place == self.stage.stages - 1

    def forward(self, work: Work) -> None:
        """F of a micro-batch."""
        x = self._input(work.batch)
        begin = time.monotonic()
        y = self.stage(x)
        if self.is_last and self.trains:
            y = self.loss(y, self.targets[work.batch]) / self.count
        self._note(work, begin)
        if self.trains:
            self.kept[work.batch] = (x, y)
            self.ran.alive = max(self.ran.alive, len(self.kept))
        if self.next is not None:
            self.next.put(y.detach())
        elif self.trains:
            self.ran.loss = (self.ran.loss or 0.0) + y.item()
        else:
            self.ran.outputs.append(y)

    def backward(self, work: Work) -> None:
        """B of a micro-batch."""
        x, y = self.kept[work.batch]
        dy = None if self.is_last else self._received(torch.empty_like(y), self.place + 1)
        begin = time.monotonic()
        y.backward(dy)
        self._note(work, begin)
        del self.kept[work.batch]
        if self.previous is not None:
            self.previous.put(x.grad)

    def _input(self, batch: int) -> torch.Tensor:
        """x of a micro-batch: tokens [n,T], or [n,T,D] from the previous stage."""
        tokens = self.inputs[batch]
        if self.is_first:
            return tokens
        x = torch.empty(*tokens.shape, self.stage.width, dtype=self.dtype, device=tokens.device)
        return self._received(x, self.place - 1).requires_grad_(self.trains)

    def _received(self, tensor: torch.Tensor, stage: int) -> torch.Tensor:
        receive(tensor, self.ranks[stage])
        return tensor

    def _note(self, work: Work, begin: float) -> None:
        self.ran.spans.append(Span(work, begin, time.monotonic()))


def _refuse_misfits(stage: nn.Module, schedule: Schedule, ranks: Sequence[int]) -> None:
    if not stage.stages == schedule.stages == len(ranks):
        raise ValueError(
            f"The model has {stage.stages} stages, the schedule {schedule.stages}, and there are "
            f"{len(ranks)} ranks for them; the three have to be the same."
        )
    rank = dist.get_rank() if dist.is_initialized() else 0
    if ranks[stage.stage] != rank:
        raise ValueError(
            f"Rank {rank} has stage {stage.stage}, which belongs to rank {ranks[stage.stage]}."
        )
