"""The answer: every machine with its plan, and which one is cheapest and which one fastest.

    answer = choose(serve("llama31_8b", batch=8, context=4096), Limits(seconds=0.02))
    answer.cheapest.machine.key, answer.fastest.machine.key
    answer.rows                                # one for each machine, those that do not fit too
    answer.tried                               # one for each machine and each number of them

Only machines that fit and hold the limits can be chosen, and only priced ones can be the cheapest
or hold a budget: without a price, nobody knows. The power is the chip's or card's limit from its
data sheet: without fans, CPU and network. The price is what the table has, with its source and its
month; a machine of which the table has none is not free.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.distributed.chooser.derivation import Derived, derive, number
from labkit.distributed.chooser.fits import Fit, best, fits, usable
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.workload import HOUR, Plan, Workload
from labkit.hardware import Machine, machine, machines


@dataclass(frozen=True)
class Row:
    """So many machines of one kind: their fit, and what follows from it where there is a plan.

    time        of a step, or of the whole training
    at_best     the same with an efficiency of 1; None where `time` is that, or no formula's
    in_budget   None where there is a budget and no price
    """

    fit: Fit
    time: Derived | None = None
    at_best: Derived | None = None
    energy: Derived | None = None
    price: Derived | None = None
    in_time: bool = False
    in_budget: bool | None = False

    @property
    def machine(self) -> Machine:
        """The machine of the fit."""
        return self.fit.machine

    @property
    def can_be_chosen(self) -> bool:
        """Whether it fits and holds both limits."""
        return self.in_time and self.in_budget is True


@dataclass(frozen=True)
class Answer:
    """The rows, and the choices among them; None where no machine can be chosen.

    rows    one for each machine, with the number of them that `fits.fit` takes
    tried   one for each number of each machine that holds the task
    """

    workload: Workload
    limits: Limits
    rows: tuple[Row, ...]
    tried: tuple[Row, ...]

    @property
    def cheapest(self) -> Row | None:
        """Of the priced ones that hold the limits; of equally cheap ones the faster."""
        priced = [row for row in self.rows if row.can_be_chosen and row.price is not None]
        return min(priced, key=lambda row: (row.price.value, row.time.value), default=None)

    @property
    def fastest(self) -> Row | None:
        """Of all that were tried and hold the limits; with a budget, an unpriced one does not."""
        return _fastest(row for row in self.tried if row.can_be_chosen)

    @property
    def fastest_without_a_price(self) -> Row | None:
        """Of those that are in time, where nobody knows whether they hold the budget."""
        return _fastest(row for row in self.tried if row.in_time and row.in_budget is None)

    @property
    def nearest(self) -> Row | None:
        """Of those that are short of memory, the one that lacks least."""
        short = [row for row in self.rows if row.fit.over is not None]
        return min(short, key=lambda row: row.fit.over, default=None)

    def row(self, key: str) -> Row:
        """The row of this machine; ValueError names those that there are."""
        for row in self.rows:
            if row.machine.key == key:
                return row
        there = ", ".join(row.machine.key for row in self.rows)
        raise ValueError(f"The answer has no machine {key!r}. It has: {there}.")


def choose(
    workload: Workload, limits: Limits | None = None, among: Iterable[str | Machine] | None = None
) -> Answer:
    """Holds every machine of the table, or those named, against the workload.

    Raises ValueError for an unknown machine, and for an empty choice.
    """
    limits = limits or Limits()
    named = list(machines()) if among is None else list(among)
    if not named:
        raise ValueError("No machine to choose among: name one, or leave the machines out.")
    rows = []
    tried = []
    for name in named:
        one = name if isinstance(name, Machine) else machine(name)
        found = fits(workload, one, limits)
        rows.append(_row(workload, limits, best(found, workload, limits)))
        tried += [_row(workload, limits, each) for each in found if each.plan is not None]
    return Answer(workload, limits, tuple(rows), tuple(tried))


def _fastest(rows: Iterable[Row]) -> Row | None:
    """The one of least time, and of equally fast ones the first; None if there is none."""
    return min(rows, key=lambda row: row.time.value, default=None)


def _row(workload: Workload, limits: Limits, found: Fit) -> Row:
    """What follows from a fit."""
    if found.plan is None:
        return Row(found)
    cost = price(workload, found.plan, found.machine)
    return Row(
        fit=found,
        time=_time(workload, found.plan),
        at_best=_at_best(workload, limits, found),
        energy=energy(workload, found.plan, found.machine),
        price=cost,
        in_time=limits.holds_time(workload, found.plan),
        in_budget=_in_budget(limits, cost),
    )


def _at_best(workload: Workload, limits: Limits, found: Fit) -> Derived | None:
    """The time of as many machines at an efficiency of 1."""
    if found.machine.kind == "fpga" or limits.share(workload, found.machine) == 1:
        return None
    return _time(workload, workload.plan(usable(found.machine, limits), found.plan.count, 1.0))


def _in_budget(limits: Limits, cost: Derived | None) -> bool | None:
    """None where nobody knows."""
    if limits.usd is None:
        return True
    return None if cost is None else cost.value <= limits.usd


def _time(workload: Workload, plan: Plan) -> Derived:
    """Of a step, or of a whole training."""
    if workload.timed is None:
        return plan.seconds
    seconds = plan.seconds.number * workload.timed.number
    if workload.unit == "h":
        return derive("h", "seconds of a step x steps / 3600", seconds / HOUR)
    return derive("s", "seconds of a step x steps", seconds)


def energy(workload: Workload, plan: Plan, machine: Machine) -> Derived | None:
    """kWh of all steps that are paid for, or None."""
    if machine.power is None:
        return None
    kilowatts = number(float(machine.power) / 1000, "kW")
    sum_ = kilowatts * plan.machines * workload.paid_hours(plan)
    return derive("kWh", "kW x machines x hours of all steps", sum_)


def price(workload: Workload, plan: Plan, machine: Machine) -> Derived | None:
    """USD of all steps that are paid for, or None."""
    if machine.price is None or machine.price.unit != "USD/h":
        return None
    hourly = number(float(machine.price), "USD/h")
    words = f"USD/h x machines x hours of all steps; USD/h {machine.price.origin}"
    return derive("USD", words, hourly * plan.machines * workload.paid_hours(plan))
