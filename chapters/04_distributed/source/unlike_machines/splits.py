"""Machines of unlike speed: how to split a batch over them, and whom to leave out.

    group = Group([Machine(1e-3)] * 3 + [Machine(4e-3)], CostModel(2e-3, 10e6))
    split_batch([1, 1, 1, 0.25], 64)                # [20, 20, 19, 5]
    group.step_seconds([20, 20, 19, 5], 15_848)     # the slowest machine, then the all-reduce
    best_places(group, 64, 15_848)                  # (0, 1, 2): the slow one slows them down

A machine needs fixed seconds for each step, and then so many for each photograph. A step ends when
the slowest machine is done and the gradients have travelled around the ring. Lesson
unlike_machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isfinite
from numbers import Integral, Real

import numpy as np

from labkit.distributed.costs.cost_model import CostModel

MOST = 2**53  # photographs: above it, float64 skips whole numbers


@dataclass(frozen=True)
class Machine:
    """How long one machine computes.

    per_photo     seconds for each photograph
    fixed         seconds for each step, however few photographs
    change_step   from this step on, counted from 0, ...
    change        ... a photograph takes so many times as long

    Raises ValueError for seconds that no machine has.
    """

    per_photo: float
    fixed: float = 0.0
    change_step: int = 0
    change: float = 1.0

    def __post_init__(self) -> None:
        seconds = (self.per_photo, self.fixed, self.change)
        are_numbers = all(isinstance(one, Real) and isfinite(one) for one in seconds)
        if not are_numbers or not min(self.per_photo, self.change) > 0 or self.fixed < 0:
            raise ValueError(
                "Machine: per_photo and change are above 0, and fixed at least 0, not "
                f"{self.per_photo!r}, {self.change!r} and {self.fixed!r}."
            )

    def seconds(self, photos: float, step: int = 0) -> float:
        """fixed + photos x per_photo, after the change times its factor; 0 without photographs."""
        if photos == 0:
            return 0.0
        factor = self.change if step >= self.change_step else 1.0
        return self.fixed + photos * self.per_photo * factor


@dataclass(frozen=True)
class Group:
    """Machines, the link between them, and how much their speeds vary from step to step.

    link     a message takes its latency + bytes / bandwidth
    jitter   each step of each machine takes up to this share more or less, drawn from the seed
    """

    machines: Sequence[Machine]
    link: CostModel = field(default_factory=lambda: CostModel(0.0, np.inf))
    jitter: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.machines:
            raise ValueError("Group: there is no machine; name at least one.")
        if not isinstance(self.jitter, Real) or not 0 <= self.jitter < 1:
            raise ValueError(
                f"Group: jitter is a share from 0 on and below 1, not {self.jitter!r}."
            )

    def __len__(self) -> int:
        return len(self.machines)

    def seconds(self, rank: int, photos: float, step: int = 0) -> float:
        """How long machine `rank` computes in a step: the same number whoever asks."""
        drawn = np.random.default_rng((self.seed, rank, step)).uniform(-1, 1)
        return self.machines[rank].seconds(photos, step) * (1 + self.jitter * drawn)

    def all_reduce(self, bytes: float) -> float:
        """Seconds of a ring over all machines, by the cost model."""
        return self.link.predict("ring_all_reduce", len(self), bytes)

    def step_seconds(self, counts: Sequence[float], bytes: float, step: int = 0) -> float:
        """The slowest machine's compute, and the all-reduce behind it.

        Raises ValueError where there is not one count for each machine.
        """
        if len(counts) != len(self):
            raise ValueError(f"Group: {len(self)} machines need as many counts, not {len(counts)}.")
        compute = [self.seconds(rank, photos, step) for rank, photos in enumerate(counts)]
        return max(compute) + self.all_reduce(bytes)

    def only(self, places: Iterable[int]) -> Group:
        """The machines at these places alone, on the same link; ValueError for other places."""
        places = list(places)
        if not set(places) <= set(range(len(self))):
            raise ValueError(
                f"Group: there are machines 0 to {len(self) - 1}, not all of {places}."
            )
        return replace(self, machines=[self.machines[place] for place in places])


def split_batch(speeds: Sequence[float], batch: int) -> list[int]:
    """Whole numbers of photographs, in proportion to the speeds; they add up to the batch.

    Each machine gets its share speeds[i] / sum(speeds) x batch, rounded down. What is left goes,
    one each, to those with the largest remainders; of equal ones, to the first.

    Raises ValueError where no speed is above 0, one is below or no number, or the batch is no
    whole number of photographs.
    """
    if not isinstance(batch, Integral) or not 0 <= batch <= MOST:
        raise ValueError(f"split_batch: the batch is a whole number from 0 to 2^53, not {batch!r}.")
    are_numbers = all(isinstance(speed, Real) and isfinite(speed) for speed in speeds)
    if not are_numbers or min(speeds, default=0) < 0 or not sum(speeds) > 0:
        raise ValueError(
            f"split_batch: speeds are at least 0, and one is above 0; these are {list(speeds)}."
        )
    speeds = np.asarray(speeds, dtype=float)
    shares = batch * speeds / speeds.sum()
    counts = np.floor(shares).astype(int)
    order = np.argsort(counts - shares, kind="stable")  # the largest remainder first
    counts[order[: batch - counts.sum()]] += 1
    return counts.tolist()


def equal_split(speeds: Sequence[float], batch: int) -> list[int]:
    """As many for each, whatever its speed; the first ones get what is left."""
    return split_batch([1.0] * len(speeds), batch)


def balanced_seconds(machines: Sequence[Machine], batch: float) -> float:
    """When all are done at the same moment: the shortest compute, if photographs could be cut.

    T = (batch + sum of fixed / per_photo) / (sum of 1 / per_photo), since machine i does
    (T - fixed) / per_photo photographs until T, and all of them together are the batch.

    Where a machine's fixed seconds alone are longer than that, its share is below 0: then the
    others are faster without it. Raises ValueError without any machine, or for a batch below 0.
    """
    if not machines or not batch >= 0:
        raise ValueError(
            f"balanced_seconds: 1 machine or more share 0 photographs or more, not {len(machines)} "
            f"and {batch}."
        )
    rates = np.array([1 / machine.per_photo for machine in machines])
    fixed = np.array([machine.fixed for machine in machines])
    return float((batch + fixed @ rates) / rates.sum())


def balanced_step(group: Group, batch: float, bytes: float) -> float:
    """Predicted seconds of a step: `balanced_seconds`, and the all-reduce."""
    return balanced_seconds(group.machines, batch) + group.all_reduce(bytes)


def best_places(group: Group, batch: float, bytes: float) -> tuple[int, ...]:
    """The machines whose balanced step is shortest; of equal groups, the smallest."""
    return min(groups_of(len(group)), key=lambda one: balanced_step(group.only(one), batch, bytes))


def groups_of(machines: int) -> Iterator[tuple[int, ...]]:
    """Every choice of at least one of so many machines, as places: small groups first."""
    for size in range(1, machines + 1):
        yield from combinations(range(machines), size)


def slowest_that_helps(group: Group, fixed: float, batch: float, bytes: float) -> float:
    """Photographs per second (1 / per_photo) from which on one machine more makes a step shorter.

    fixed   its fixed seconds

    inf, where no such machine does: its messages alone cost more than it saves.
    """
    without = balanced_step(group, batch, bytes)
    larger = replace(group, machines=[*group.machines, Machine(1.0, fixed)])
    time = without - larger.all_reduce(bytes)  # what its compute may take
    done = sum((time - machine.fixed) / machine.per_photo for machine in group.machines)
    if time <= fixed:
        return float("inf")
    return (batch - done) / (time - fixed)
