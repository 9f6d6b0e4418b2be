"""Which machines can do a task, and how many it takes: format, operators, memory, time limit.

    fits(workload, machine, limits)   # every number of them that holds the task, or why none does
    fit(workload, machine, limits)    # one of these numbers: the cheapest in time

Rules. A machine without a peak in the format in our table is taken to lack it. CPUs and FPGA boards
stand alone. A task may take the share `limits.memory` of a machine's memory. Other machines are
taken in powers of two, up to `most`, where the task can be shared so. Of the numbers that hold it
and are in time, `fit` takes the one of least machines x time: at any price by the hour the
cheapest. It is the smallest in serving, but in training more machines may do without recomputing.
If no number is in time, `fit` takes the fastest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from labkit.distributed.chooser import board
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.workload import LinksUnknownError, Plan, Workload
from labkit.hardware import Machine

ALONE = ("cpu", "fpga")


@dataclass(frozen=True)
class Fit:
    """So many machines of one kind at a task.

    plan     None where they cannot do it
    reason   why there is no plan, or why it is this number of machines
    binds    what it is short of: "memory", "format", "operators", "unknown links"; else what
             takes longest
    over     bytes that each of as many as allowed would hold beyond its share of memory
    """

    machine: Machine
    plan: Plan | None
    reason: str
    binds: str
    over: float | None = None


def fit(workload: Workload, machine: Machine, limits: Limits) -> Fit:
    """In time, and with the least machines x time; or else the fastest."""
    return best(fits(workload, machine, limits), workload, limits)


def best(candidates: tuple[Fit, ...], workload: Workload, limits: Limits) -> Fit:
    """The one of `fits` that `fit` takes, with the reason for its number."""
    first = candidates[0]
    if first.plan is None:
        return first
    in_time = [one for one in candidates if limits.holds_time(workload, one.plan)]
    if in_time:
        chosen = min(in_time, key=lambda one: _machine_hours(workload, one.plan))
        why = "for the time limit" if chosen is in_time[0] else "for fewer machine-hours"
    else:
        chosen = min(candidates, key=lambda one: one.plan.seconds.value)
        why = "as fast as it gets"
    if chosen.plan.count == 1:
        return replace(chosen, reason="" if in_time else chosen.reason)
    return replace(chosen, reason="for the memory" if chosen is first else why)


def _machine_hours(workload: Workload, plan: Plan) -> float:
    """Of what is paid for, without the last digits, which are of rounding."""
    return float(f"{plan.machines * workload.paid_hours(plan).value:.9g}")


def fits(workload: Workload, machine: Machine, limits: Limits) -> tuple[Fit, ...]:
    """Every number of these machines that holds the task; or one without a plan, which says why.

    The time limit is not looked at. The reason of the last one says it where more were not tried.
    """
    lacks = board.missing(workload, machine)
    if lacks:
        return (Fit(machine, None, lacks, "operators"),)
    if workload.number_format not in machine.peak:
        reason = f"the course's table has no peak in {workload.number_format}"
        return (Fit(machine, None, reason, "format"),)
    if machine.kind == "fpga":
        return (_planned(machine, board.plan(workload, machine)),)
    return _each(workload, machine, limits, 1 if machine.kind in ALONE else limits.most)


def _each(workload: Workload, machine: Machine, limits: Limits, most: int) -> tuple[Fit, ...]:
    """All powers of two up to `most` that hold it, as far as links are known."""
    limited = usable(machine, limits)
    room = float(limited.memory)
    found = []
    largest = 1
    try:
        for count in _powers_of_two(most):
            if not workload.is_shared_by(count, machine):
                continue
            largest = count
            if workload.memory(count, machine).value <= room:
                plan = workload.plan(limited, count, limits.share(workload, machine))
                found.append(_planned(machine, plan))
    except LinksUnknownError as unknown:
        if not found:
            return (Fit(machine, None, f"one is not enough; {unknown}", "unknown links"),)
        found[-1] = replace(found[-1], reason=str(unknown))
    return tuple(found) or (_too_much(workload, machine, largest, limits),)


def _planned(machine: Machine, plan: Plan) -> Fit:
    """A fit, whose only reason as yet may be that others of its kind are not tried."""
    return Fit(machine, plan, "stands alone" if machine.kind in ALONE else "", plan.binds)


def usable(machine: Machine, limits: Limits) -> Machine:
    """The machine with the memory that a task may take."""
    room = limits.memory * float(machine.memory)
    return replace(machine, memory=replace(machine.memory, value=room))


def _too_much(workload: Workload, machine: Machine, count: int, limits: Limits) -> Fit:
    """No fit, and by how much."""
    needed = workload.memory(count, machine)
    over = needed.value - float(usable(machine, limits).memory)
    each = "it" if count == 1 else f"each of {count}"
    share = f"{100 * limits.memory:g} % of {machine.memory.number}"
    reason = f"{each} would hold {needed.quantity.number}, {over / 1e9:.3g} GB more than {share}"
    return Fit(machine, None, reason, "memory", over)


def _powers_of_two(most: int) -> Iterator[int]:
    """1, 2, 4, ... up to `most`."""
    count = 1
    while count <= most:
        yield count
        count *= 2
