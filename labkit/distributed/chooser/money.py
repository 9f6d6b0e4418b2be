"""Energy and price of a plan. A machine without a published power or price gets none.

    energy = kW x machines x hours of all steps, which are seconds of a step x steps / 3600
    price  = USD/h x machines x hours of all steps

The power is the chip's or card's limit from its data sheet: without fans, CPU and network. The
price is what the table has, with its source and its month; a machine that nobody rents out by the
hour has none, and is not free.
"""

from labkit.distributed.chooser.need import HOUR, Need, Plan
from labkit.distributed.chooser.reckoning import Reckoned, reckon, shown
from labkit.hardware import Machine

WATTS = 1000  # in a kW


def energy(need: Need, plan: Plan, machine: Machine) -> Reckoned | None:
    """kWh of all steps that are paid for, or None."""
    if machine.power is None:
        return None
    return reckon(
        "kWh",
        "kW x machines x hours of all steps",
        f"{shown(float(machine.power))} / {WATTS} * {plan.count} * {_hours(need, plan)}",
    )


def price(need: Need, plan: Plan, machine: Machine) -> Reckoned | None:
    """USD of all steps that are paid for, or None."""
    if machine.price is None or machine.price.unit != "USD/h":
        return None
    return reckon(
        "USD",
        f"USD/h x machines x hours of all steps; USD/h {machine.price.origin}",
        f"{shown(float(machine.price))} * {plan.count} * {_hours(need, plan)}",
    )


def _hours(need: Need, plan: Plan) -> str:
    """The figures of seconds of a step x steps / 3600."""
    return f"{shown(plan.seconds.value)} * {shown(need.steps.value)} / {HOUR}"
