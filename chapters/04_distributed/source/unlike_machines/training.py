"""Data parallel training on machines of unlike speed, in real ranks: who computes, waits, sends.

    run = train(group, split_batch, gradient_and_speeds, steps=20)
    run.counts          # photographs of each rank, step by step
    run.idle            # seconds for which each rank waits, step by step

Every rank computes the gradient of its shard. On the emulated clock nobody sleeps: a rank says how
long its machine would take, and equal runs give equal numbers. With `sleeps=True` it does take
that long, the gradients travel over an emulated link, and moments are read off the clock. Lesson
unlike_machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from labkit.distributed.launch import launch
from labkit_lessons.distributed.unlike_machines.splits import Group, equal_split

if TYPE_CHECKING:
    import torch

BATCH = 64  # photographs in a step, over all ranks
BYTES = 4 * 3962  # of the small network's gradient
RATE = 0.05
TICK = 1e-9  # seconds: a rank without photographs has them in some time, too
LIMIT = 600.0  # seconds: ends a hang, nothing else

Split = Callable[[Sequence[float], int], Sequence[int]]
Combine = Callable[..., "tuple[torch.Tensor, torch.Tensor]"]


@dataclass(frozen=True)
class Run:
    """What a run did; moments are in seconds since it began, as [steps, ranks].

    counts     photographs
    begin      when a rank began to compute
    computed   when it was done with its own photographs
    end        when the all-reduce was
    weights    of the network at the end, flat; None for a rehearsal
    """

    counts: np.ndarray
    begin: np.ndarray
    computed: np.ndarray
    end: np.ndarray
    weights: torch.Tensor | None = None

    @property
    def idle(self) -> np.ndarray:
        """Seconds from when a rank is done until the slowest one is [steps, ranks]."""
        return self.computed.max(axis=1, keepdims=True) - self.computed

    @property
    def steps(self) -> np.ndarray:
        """Seconds of each step, all-reduce and all [steps]."""
        return self.end.max(axis=1) - self.begin.min(axis=1)

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return float(self.end.max() - self.begin.min())

    @property
    def waiting(self) -> np.ndarray:
        """The share of each step's compute for which a rank waits, on average [steps]."""
        length = self.computed.max(axis=1) - self.begin.min(axis=1)
        return self.idle.mean(axis=1) / length


def train(
    group: Group,
    split: Split,
    combine: Combine,
    steps: int,
    batch: int = BATCH,
    share_of_new: float = 0.5,
    sleeps: bool = False,
) -> Run:
    """Trains the small network, a rank for each machine; each step with the split of the last.

    split          split(speeds, batch) -> photographs of each rank
    combine        combine(rank, ranks, gradient, count, seconds, batch) -> the batch's gradient,
                   and the speeds of all ranks, in photographs per second
    share_of_new   of the newest speed in the smoothed one; the first one counts whole

    Raises ValueError for no steps or photographs, and LaunchError as `launch` does.
    """
    _refuse_an_empty_run(steps, batch)
    notes = launch(
        _train, len(group), group, split, combine, steps, batch, share_of_new, sleeps, timeout=LIMIT
    )
    counts = notes[0].counts
    weights = notes[0].weights
    if not sleeps:
        compute = np.stack([note.seconds for note in notes], axis=1)
        return _on_emulated_clock(group, np.array(counts), compute, weights)
    moments = np.stack([note.moments for note in notes], axis=1)  # [steps, ranks, 3]
    begin, computed, end = np.moveaxis(moments - moments.min(), 2, 0)
    return Run(np.array(counts), begin, computed, end, weights)


def rehearse(
    group: Group, split: Split, steps: int, batch: int = BATCH, share_of_new: float = 0.5
) -> Run:
    """What `train` does on the emulated clock, without ranks and gradients: the same moments.

    Raises ValueError for no steps or photographs.
    """
    _refuse_an_empty_run(steps, batch)
    counts = []
    compute = []
    speeds = Speeds(len(group), share_of_new)
    for step in range(steps):
        counts.append(speeds.split(split, batch))
        compute.append([group.seconds(rank, n, step) for rank, n in enumerate(counts[-1])])
        speeds.note(np.array(counts[-1]) / np.array(compute[-1]))
    return _on_emulated_clock(group, np.array(counts), np.array(compute), None)


class Speeds:
    """The smoothed speeds of all ranks: s <- (1 - share) s + share x newest."""

    def __init__(self, ranks: int, share_of_new: float) -> None:
        if not isinstance(share_of_new, Real) or not 0 <= share_of_new <= 1:
            raise ValueError(f"share_of_new is a number from 0 to 1, not {share_of_new!r}.")
        self.ranks = ranks
        self.share_of_new = share_of_new
        self.smoothed: np.ndarray | None = None

    def note(self, newest: Sequence[float]) -> None:
        """Photographs per second of each rank, in the step that has just ended."""
        newest = np.nan_to_num(np.asarray(newest, dtype=float))  # of no photographs in no time
        if self.smoothed is None:
            self.smoothed = newest
        self.smoothed = self.smoothed + self.share_of_new * (newest - self.smoothed)

    def split(self, split: Split, batch: int) -> list[int]:
        """The next step's photographs; equal ones as long as no speed is known.

        Raises ValueError where the split is not a count for each rank, or does not add up.
        """
        if self.smoothed is None:
            return equal_split([1.0] * self.ranks, batch)
        given = split(self.smoothed, batch)
        if given is None or len(given) != self.ranks:
            raise ValueError(f"The split is {given}: it is a count for each of {self.ranks} ranks.")
        counts = [int(count) for count in given]
        if sum(counts) != batch or min(counts) < 0:
            raise ValueError(f"The split of {batch} photographs is {counts}: it does not add up.")
        return counts


def _refuse_an_empty_run(steps: int, batch: int) -> None:
    for what, number in (("steps", steps), ("photographs in a step", batch)):
        if not isinstance(number, Integral) or number < 1:
            raise ValueError(f"A run: the number of {what} is 1 or more, not {number!r}.")


@dataclass
class _Notes:
    """What one rank wrote down."""

    counts: list[list[int]]
    seconds: list[float]
    moments: list[tuple[float, float, float]]
    weights: torch.Tensor


def _train(
    rank: int,
    ranks: int,
    group: Group,
    split: Split,
    combine: Combine,
    steps: int,
    batch: int,
    share_of_new: float,
    sleeps: bool,
) -> _Notes:
    """One rank."""
    import torch
    import torch.distributed as dist
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    from labkit.distributed import small_training
    from labkit.distributed.network import emulated_link

    torch.set_num_threads(1)
    model = small_training.network()
    small_training.photographs()  # loaded before the clock runs
    speeds = Speeds(ranks, share_of_new)
    notes = _Notes([], [], [], torch.empty(0))
    with emulated_link(group.link.latency, group.link.bandwidth) if sleeps else nullcontext():
        shard_gradient(model, [1] * ranks, rank, 0)  # the first one is slow
        dist.barrier()
        for step in range(steps):
            counts = speeds.split(split, batch)
            begin = time.monotonic()
            gradient = shard_gradient(model, counts, rank, step)
            seconds = max(group.seconds(rank, counts[rank], step), TICK)
            if sleeps:
                time.sleep(max(begin + seconds - time.monotonic(), 0))
                seconds = time.monotonic() - begin
            mean, newest = combine(rank, ranks, gradient, counts[rank], seconds, batch)
            notes.moments.append((begin, begin + seconds, time.monotonic()))
            notes.counts.append(counts)
            notes.seconds.append(seconds)
            speeds.note(newest.numpy())
            moved = parameters_to_vector(model.parameters()).detach() - RATE * mean
            vector_to_parameters(moved, model.parameters())
    notes.weights = parameters_to_vector(model.parameters()).detach()
    return notes


def shard_gradient(
    model: torch.nn.Module, counts: Sequence[int], rank: int, step: int
) -> torch.Tensor:
    """The gradient of this rank's mean loss in a step [D]; zeros without photographs.

    Step s is made of the sum(counts) photographs from s x sum(counts) on, and begins again behind
    the last; they are dealt in the ranks' order, so that all ranks together have each one once.
    """
    import torch
    from torch.nn.utils import parameters_to_vector

    from labkit.distributed import small_training
    from labkit.distributed.one_big_batch import forward_backward

    images, labels = small_training.photographs()
    batch = sum(counts)
    first = step * batch + sum(counts[:rank])
    rows = torch.arange(first, first + counts[rank]) % len(labels)
    if len(rows) == 0:
        return torch.zeros_like(parameters_to_vector(model.parameters()).detach())
    forward_backward(model, images[rows], labels[rows])
    return parameters_to_vector([weight.grad for weight in model.parameters()])


def gradient_and_speeds(
    rank: int, ranks: int, gradient: torch.Tensor, count: int, seconds: float, batch: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the whole batch [D], and all ranks' speeds [ranks], in one all-reduce."""
    import torch

    from labkit.distributed.collectives import ring_all_reduce

    speeds = torch.zeros(ranks)
    speeds[rank] = count / seconds if seconds else 0.0
    total = ring_all_reduce(torch.cat([gradient * (count / batch), speeds]))
    return total[:-ranks], total[-ranks:]


def _on_emulated_clock(
    group: Group, counts: np.ndarray, compute: np.ndarray, weights: torch.Tensor | None
) -> Run:
    """Steps one behind the other: the slowest machine, and then the all-reduce of the gradient."""
    lengths = compute.max(axis=1) + group.all_reduce(BYTES)
    ends = np.cumsum(lengths)
    begin = np.repeat((ends - lengths)[:, None], len(group), axis=1)
    end = np.repeat(ends[:, None], len(group), axis=1)
    return Run(counts, begin, begin + compute, end, weights)
