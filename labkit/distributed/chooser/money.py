"""Energy and price of a plan. A machine without a published power or price gets none.

    energy = kW x machines x hours of all steps, which are seconds of a step x steps / 3600
    price  = USD/h x machines x hours of all steps

The power is the chip's or card's limit from its data sheet: without fans, CPU and network. The
price is what the table has, with its source and its month; a machine that nobody rents out by the
hour has none, and is not free.
"""

from labkit.distributed.chooser.need import Need, Plan
from labkit.distributed.chooser.reckoning import Reckoned, number, reckon
from labkit.hardware import Machine


def energy(need: Need, plan: Plan, machine: Machine) -> Reckoned | None:
    """kWh of all steps that are paid for, or None."""
    if machine.power is None:
        return None
    kilowatts = number(float(machine.power) / 1000, "kW")
    sum_ = kilowatts * plan.machines * need.paid_hours(plan)
    return reckon("kWh", "kW x machines x hours of all steps", sum_)


def price(need: Need, plan: Plan, machine: Machine) -> Reckoned | None:
    """USD of all steps that are paid for, or None."""
    if machine.price is None or machine.price.unit != "USD/h":
        return None
    hourly = number(float(machine.price), "USD/h")
    words = f"USD/h x machines x hours of all steps; USD/h {machine.price.origin}"
    return reckon("USD", words, hourly * plan.machines * need.paid_hours(plan))
