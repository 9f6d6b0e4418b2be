"""Which machines can do a task, and how many it takes: format, operators, memory, time limit.

    Fit(machine, plan, reason, binds)      # a plan, or the reason why there is none

Rules. A machine without a published peak in the format is taken to lack it. CPUs and FPGA boards
stand alone. Other machines are taken in powers of two, up to `most`: the smallest number whose
memory holds the task and, where there is a time limit, that is fast enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from labkit.distributed.chooser import board
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.need import LinksUnknownError, Need, Plan
from labkit.hardware import Machine

ALONE = ("cpu", "fpga")


@dataclass(frozen=True)
class Fit:
    """One kind of machine at a task.

    plan     None where it cannot do it
    reason   why there is no plan, or why it takes more than one machine
    binds    what it is short of: "memory", "format", "operators", "links"; else what takes longest
    over     bytes that each of as many as allowed would hold and has no room for
    """

    machine: Machine
    plan: Plan | None
    reason: str
    binds: str
    over: float | None = None


def fit(need: Need, machine: Machine, limits: Limits) -> Fit:
    """The smallest number of these machines that do it, within the time limit if any number is."""
    lacks = board.missing(need, machine)
    if lacks:
        return Fit(machine, None, lacks, "operators")
    if need.number_format not in machine.peak:
        return Fit(machine, None, f"the table has no peak in {need.number_format}", "format")
    if machine.kind == "fpga":
        return _fits(machine, board.plan(need, machine))
    alone = machine.kind in ALONE or not _may_share(need)
    counts = [1] if alone else list(_powers_of_two(limits.most))
    return _smallest(need, machine, limits, counts)


def _smallest(need: Need, machine: Machine, limits: Limits, counts: list[int]) -> Fit:
    """The first count that fits and is fast enough, or else the first that fits."""
    room = float(machine.memory)
    first = None
    for count in counts:
        try:
            if need.memory(count, machine).value > room:
                continue
            plan = need.plan(machine, count, limits.efficiency)
        except LinksUnknownError as unknown:
            return first or Fit(machine, None, f"one is not enough; {unknown}", "links")
        if limits.holds_time(need, plan):
            return _fits(machine, plan, "for the time limit" if first else "for the memory")
        first = first or _fits(machine, plan, "for the memory")
    return first or _too_much(need, machine, counts[-1])


def _fits(machine: Machine, plan: Plan, why_several: str = "") -> Fit:
    """A fit, with the reason for several machines if there are several."""
    return Fit(machine, plan, why_several if plan.count > 1 else "", plan.binds)


def _too_much(need: Need, machine: Machine, count: int) -> Fit:
    """No fit, and by how much."""
    needed = need.memory(count, machine)
    over = needed.value - float(machine.memory)
    each = "it" if count == 1 else f"each of {count}"
    reason = f"{each} would hold {needed.quantity.number}, {over / 1e9:.3g} GB more than fit"
    return Fit(machine, None, reason, "memory", over)


def _may_share(need: Need) -> bool:
    """Whether several machines can share this task: language models only."""
    return "attention" in need.operators


def _powers_of_two(most: int) -> Iterator[int]:
    """1, 2, 4, ... up to `most`."""
    count = 1
    while count <= most:
        yield count
        count *= 2
