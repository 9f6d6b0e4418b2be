"""Schedules: for each stage, in which order it works on the micro-batches. They are data.

    gpipe(stages=2, micro_batches=2)        stage 0: F0 F1 B0 B1    stage 1: F0 F1 B0 B1
    one_f_one_b(stages=2, micro_batches=2)  stage 0: F0 F1 B0 B1    stage 1: F0 B0 F1 B1

F is a forward and B a backward. A stage keeps the activations of a micro-batch from its F to its B.
GPipe (Huang et al. 2019, arXiv:1811.06965) keeps all m; 1F1B (Narayanan et al. 2019, PipeDream;
2020, arXiv:2006.09503, with a flush and so no stale weights) keeps at most p - s in stage s of p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

FORWARD = "F"
BACKWARD = "B"


class Work(NamedTuple):
    """The forward or backward of one micro-batch: `str(Work("F", 3))` is "F3"."""

    kind: str
    batch: int

    def __str__(self) -> str:
        return f"{self.kind}{self.batch}"


Order = tuple[Work, ...]  # what one stage does, one piece after the other


@dataclass(frozen=True)
class Schedule:
    """The order of work of each stage; ValueError where they cannot be carried out together."""

    name: str
    orders: tuple[Order, ...]
    trains: bool = True  # else there are forwards only

    def __post_init__(self) -> None:
        if not self.micro_batches:
            raise ValueError(f"The schedule {self.name} is empty: no stage has any work.")
        for stage, order in enumerate(self.orders):
            _refuse_other_than_once(stage, order, self.micro_batches, self.trains)
        execution_order(self.orders)

    @property
    def stages(self) -> int:
        """How many there are, p."""
        return len(self.orders)

    @property
    def micro_batches(self) -> int:
        """How many there are, m."""
        return len({work.batch for order in self.orders for work in order})


def schedule_of(name: str, orders: Sequence[Sequence[str]]) -> Schedule:
    """The schedule in which each stage has such an order: ["F0", "B0", "F1", "B1"].

    Raises ValueError for what is no piece of work, and as `Schedule` does.
    """
    return Schedule(name, tuple(tuple(map(work_of, order)) for order in orders))


def work_of(text: str) -> Work:
    """Work("F", 3) of "F3"; ValueError for anything else."""
    kind, number = str(text)[:1], str(text)[1:]
    if kind not in (FORWARD, BACKWARD) or not (number.isascii() and number.isdigit()):
        raise ValueError(f"A piece of work is F or B and a number, such as F0, not {text!r}.")
    return Work(kind, int(number))


def gpipe(stages: int, micro_batches: int) -> Schedule:
    """All forwards, then all backwards; ValueError for a number below 1."""
    _refuse_below_one(stages, micro_batches)
    order = (*_all(FORWARD, micro_batches), *_all(BACKWARD, micro_batches))
    return Schedule("GPipe", (order,) * stages)


def one_f_one_b(stages: int, micro_batches: int) -> Schedule:
    """Stage s runs p - 1 - s forwards ahead, and then a forward and a backward in turn.

    Raises ValueError for a number below 1.
    """
    _refuse_below_one(stages, micro_batches)
    forwards = _all(FORWARD, micro_batches)
    backwards = _all(BACKWARD, micro_batches)
    orders = []
    for stage in range(stages):
        ahead = min(stages - 1 - stage, micro_batches)
        order = list(forwards[:ahead])
        for batch in range(micro_batches - ahead):
            order += [forwards[ahead + batch], backwards[batch]]
        order += backwards[micro_batches - ahead :]
        orders.append(tuple(order))
    return Schedule("1F1B", tuple(orders))


def forward_only(stages: int, micro_batches: int) -> Schedule:
    """Inference: each stage answers the requests in their order; ValueError for below 1."""
    _refuse_below_one(stages, micro_batches)
    return Schedule("inference", (_all(FORWARD, micro_batches),) * stages, trains=False)


def most_alive(order: Sequence[Work]) -> int:
    """For how many micro-batches a stage keeps activations at once, at most."""
    alive = 0
    most = 0
    for work in order:
        alive += 1 if work.kind == FORWARD else -1
        most = max(most, alive)
    return most


def needs(stage: int, work: Work, stages: int) -> tuple[int, Work] | None:
    """The stage and the piece of work whose result a piece of work needs; None for none.

    A forward needs that of the previous stage, a backward that of the next one. The last stage
    begins a backward with the loss, after its own forward.
    """
    if work.kind == FORWARD:
        return (stage - 1, work) if stage > 0 else None
    if stage < stages - 1:
        return stage + 1, work
    return stage, Work(FORWARD, work.batch)


def execution_order(orders: Sequence[Order]) -> list[tuple[int, Work]]:
    """All work of all stages, each piece after those that it needs.

    Raises ValueError where stages would wait for each other for ever.
    """
    done: list[tuple[int, Work]] = []
    seen: set[tuple[int, Work]] = set()
    places = [0] * len(orders)
    count = sum(map(len, orders))
    while len(done) < count:
        before = len(done)
        for stage, order in enumerate(orders):
            while places[stage] < len(order):
                work = order[places[stage]]
                needed = needs(stage, work, len(orders))
                if needed is not None and needed not in seen:
                    break
                places[stage] += 1
                seen.add((stage, work))
                done.append((stage, work))
        if len(done) == before:
            raise ValueError(f"The stages wait for ever: {_waiting(orders, places)}.")
    return done


def _waiting(orders: Sequence[Order], places: Sequence[int]) -> str:
    """ "stage 0 waits with B0 for B0 of stage 1"."""
    said = []
    for stage, (order, place) in enumerate(zip(orders, places, strict=True)):
        if place < len(order):
            other, work = needs(stage, order[place], len(orders))
            said.append(f"stage {stage} waits with {order[place]} for {work} of stage {other}")
    return ", ".join(said)


def _all(kind: str, micro_batches: int) -> Order:
    return tuple(Work(kind, batch) for batch in range(micro_batches))


def _refuse_below_one(stages: int, micro_batches: int) -> None:
    for what, number in (("stages", stages), ("micro-batches", micro_batches)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError(f"A schedule: the number of {what} is 1 or more, not {number!r}.")


def _refuse_other_than_once(stage: int, order: Order, micro_batches: int, trains: bool) -> None:
    kinds = (FORWARD, BACKWARD) if trains else (FORWARD,)
    wanted = {work for kind in kinds for work in _all(kind, micro_batches)}
    for work in sorted({*wanted, *order}):
        times = order.count(work)
        if work not in wanted:
            raise ValueError(f"Stage {stage}: there is no work {work} in this schedule.")
        if times != 1:
            raise ValueError(f"Stage {stage} does {work} {times} times; it has to do it once.")
    for batch in range(micro_batches if trains else 0):
        if order.index(Work(BACKWARD, batch)) < order.index(Work(FORWARD, batch)):
            raise ValueError(f"Stage {stage}: B{batch} stands before F{batch}.")
    for kind in kinds:
        if [work.batch for work in order if work.kind == kind] != list(range(micro_batches)):
            raise ValueError(
                f"Stage {stage}: its {kind}s are not in the order 0, 1, 2, ...: its neighbours "
                "could not tell whose message it is."
            )
