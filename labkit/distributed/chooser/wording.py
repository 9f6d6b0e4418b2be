"""The answer in sentences, with numbers as people write them.

sentences(answer)            # ["Cheapest of the 2 in time with a price: ...", "Fastest ..."]
duration(149_000)            # "17 years"
"""

import math

from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.derivation import Derived
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.workload import HOUR
from labkit.provenance import rounded

DAY = 24  # h
YEAR = 365.25 * DAY  # h
NO_HOST = ("that of {} leaves its host computer out", "those of {} leave their host computers out")


def sentences(answer: Answer) -> list[str]:
    """The cheapest and the fastest; or why there is none, and by how much."""
    if not answer.tried:
        return [_fits_nowhere(answer)]
    said = []
    if answer.fastest is None:
        said += _no_limit_held(answer)
    elif answer.cheapest is None:
        said.append("Cheapest: none of those that hold the limits has a price.")
    else:
        among = [row for row in answer.rows if row.in_time and row.in_budget is not False]
        said += _cheapest(answer, answer.cheapest, among, held(answer.limits))
    if answer.fastest:
        which = " in budget" if answer.limits.usd else _up_to(answer)
        said.append(f"Fastest{which}: {_choice(answer, answer.fastest)}.")
    if answer.fastest_without_a_price:
        unpriced = _choice(answer, answer.fastest_without_a_price)
        said.append(f"Fastest without a price, maybe too dear: {unpriced}.")
    return said


def _choice(answer: Answer, row: Row) -> str:
    """ "2 x t4, 36.9 ms (best 25.1 ms), 4.88 USD for a million tokens; bandwidth binds"."""
    plan = row.fit.plan
    said = row.machine.key
    if plan.machines > 1:
        said = f"{many(plan.count, plan.groups)} x {said}"
    said += f", {time_of(row.time)}"
    if row.at_best:
        said += f" (best {time_of(row.at_best)})"
    if row.price:
        said += f", {compact(row.price.value)} USD"
        said += "" if answer.workload.timed else f" for {answer.workload.paid}"
    verb = "bind" if row.fit.binds.endswith("s") else "binds"  # links, cycles
    return f"{said}; {row.fit.binds} {verb}"


def _cheapest(answer: Answer, row: Row, among: list[Row], which: str) -> list[str]:
    """The cheapest, of how many with a price; and whose prices are of another kind."""
    priced = {one.machine.key: one.machine for one in among if one.price}
    of_them = f" of the {len(priced)}{which} with a price"
    if all(one.price for one in among):
        of_them = ""
    elif len(priced) == 1:
        of_them = f", the only one{which} with a price"
    said = [f"Cheapest{of_them}: {_choice(answer, row)}."]
    bare = [key for key, one in priced.items() if one.price_with_host is False]
    other = {one.price_with_host for one in priced.values()} - {False}
    if bare and other:
        leaves = NO_HOST[len(bare) > 1].format(", ".join(bare))
        ends = "." if True in other else "; does yours?"
        said.append(f"Their prices {'' if True in other else 'may '}differ in kind: {leaves}{ends}")
    return said


def held(limits: Limits) -> str:
    """Which limits the chosen ones hold: " in time and budget", or "" without a limit."""
    names = [("time", limits.seconds), ("budget", limits.usd)]
    asked = " and ".join(name for name, limit in names if limit)
    return f" in {asked}" if asked else ""


def _up_to(answer: Answer) -> str:
    """How many were tried, if more than one; their all-reduces are rings."""
    most = answer.limits.most
    if most == 1 or answer.workload.task == "image":
        return ""
    return f" of up to {most:,}, with rings"


def limits_of(answer: Answer) -> str:
    """What was asked for: ", within 20 ms for a step"."""
    limits = answer.limits
    asked = ""
    if limits.seconds:
        what = "for the whole training" if answer.workload.timed else "for a step"
        asked += f", within {_seconds(limits.seconds)} {what}"
    if limits.usd:
        asked += f", for at most {rounded(limits.usd)} USD for {answer.workload.paid}"
    return asked


def _seconds(seconds: float) -> str:
    """ "24 h", "5 s" or "20 ms"."""
    size, unit = _unit(seconds)
    return f"{seconds / size:g} {unit}"


def _unit(seconds: float) -> tuple[float, str]:
    """The unit in which people write so long a time, in seconds."""
    if seconds >= HOUR:
        return HOUR, "h"
    return (1, "s") if seconds >= 1 else (1e-3, "ms")


def of_limit(seconds: float, limit: float) -> str:
    """ "49.99 of 50 ms"."""
    size, unit = _unit(limit)
    return f"{seconds / size:.4g} of {limit / size:g} {unit}"


def _fits_nowhere(answer: Answer) -> str:
    """Nothing fits: the nearest machine, and what it lacks."""
    if answer.nearest is None:
        return "No machine can do it: see below why."
    row = answer.nearest
    return f"It fits nowhere. Nearest is {row.machine.key}: {row.fit.reason}."


def _no_limit_held(answer: Answer) -> list[str]:
    """None holds the limits for sure: the fastest of those that fit, and the cheapest."""
    unknown = answer.fastest_without_a_price is not None
    said = [f"No machine {'with a price ' * unknown}holds the limits."]
    priced = [row for row in answer.tried if row.price]
    compared = priced if unknown else answer.tried
    if compared:
        fastest = min(compared, key=lambda row: row.time.value)
        said.append(f"Fastest{' with a price' * unknown}: {_choice(answer, fastest)}.")
    if priced:
        cheapest = min(priced, key=lambda row: row.price.value)
        said += _cheapest(answer, cheapest, list(answer.tried), "")
    return said


def many(count: int, groups: int) -> str:
    """ "2", or "3 x 2" for three groups of two."""
    return f"{groups:,} x {count}" if groups > 1 else f"{count:,}"


def time_of(derived: Derived) -> str:
    """ "11.9 ms", "17.1 years"."""
    return duration(derived.value) if derived.unit == "h" else derived.quantity.number


def duration(hours: float) -> str:
    """ "17.2 h", "12.3 days" or "17.1 years"."""
    if hours >= YEAR:
        return f"{rounded(hours / YEAR)} years"
    return f"{rounded(hours / DAY)} days" if hours >= 2 * DAY else f"{rounded(hours)} h"


def compact(value: float) -> str:
    """ "374", "12,300", "5.19 million" or "0.0000468"."""
    for name, size in (("billion", 1e9), ("million", 1e6)):
        if value >= size:
            return f"{rounded(value / size)} {name}"
    if 0 < value < 1e-4:
        return f"{value:.{2 - math.floor(math.log10(value))}f}"
    return rounded(value)
