"""The answer as a table and sentences: HTML in a notebook, plain text elsewhere, or a dict.

show(answer)
formulas(answer, "h100")          # every number of one machine, with the figures it is made of
formulas(answer, "h100", ["step"])   # of these numbers alone
as_dict(answer)                   # for --json
"""

from collections.abc import Sequence
from textwrap import fill

from labkit import figures
from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.links import cluster_of
from labkit.distributed.chooser.need import HOUR
from labkit.distributed.chooser.reckoning import Reckoned
from labkit.provenance import predicted

WIDTH = 100  # characters of a line of formulas
HEADS = ("machine", "how many", "needs, each", "binds", "time", "energy", "price", "note")


def show(answer: Answer) -> None:
    """The table of all machines, and below it the choices, a sentence each."""
    need = answer.need
    print(f"{need.says[0].upper()}{need.says[1:]}.")
    rows = [_cells(answer, row) for row in answer.rows]
    time = "of the whole training" if need.timed else f"for {need.step}"
    share = answer.limits.efficiency
    case = "at best" if share == 1 else f"at {100 * share:g} % of what a machine can do"
    note = (
        f"How many: of 1, 2, 4, ..., at most {answer.limits.most}, what holds it in "
        f"{100 * answer.limits.memory:g} % of its memory, is in time and takes the fewest "
        f"machine-hours. Time {time}, {case}. Energy and price for {need.paid}; "
        "where a field is empty, the table of machines has no figure. Prices are of several "
        f"months, and some leave the host computer out: see their sources. {need.left_out}"
    )
    figures.table(HEADS, rows, note)
    for sentence in sentences(answer):
        print(sentence)


def sentences(answer: Answer) -> list[str]:
    """The cheapest and the fastest; or why there is none, and by how much."""
    said = [_limits(answer)] if answer.limits.seconds or answer.limits.usd else []
    if not answer.tried:
        said.append(_fits_nowhere(answer))
        return said
    if answer.fastest is None:
        said.append(_no_limit_held(answer))
    elif answer.cheapest is None:
        said.append("Cheapest: none of those that hold the limits has a price.")
    else:
        said.append(f"Cheapest, of those with a price: {_choice(answer, answer.cheapest)}.")
    if answer.fastest:
        priced = ", of those with a price" if answer.limits.usd else _up_to(answer)
        said.append(f"Fastest{priced}: {_choice(answer, answer.fastest)}.")
    if answer.fastest_without_a_price:
        unpriced = _choice(answer, answer.fastest_without_a_price)
        said.append(f"Fastest of those without a price, which may be too dear: {unpriced}.")
    return said


def _up_to(answer: Answer) -> str:
    """How many were tried, if more than one."""
    most = answer.limits.most
    return f", with at most {most} of a kind" if most > 1 and answer.need.task != "image" else ""


def formulas(answer: Answer, key: str, names: Sequence[str] | None = None) -> None:
    """All formulas of one machine, in words and in figures, and where its own figures come from.

    With `names`, such as ["memory", "step"], the formulas of these numbers alone.
    """
    row = answer.row(key)
    plan = row.fit.plan
    print(f"{row.machine.name}:" if plan is None else f"{plan.count} x {row.machine.name}:")
    if names is not None:
        there = numbers(row)
        for name in names:
            if name not in there:
                raise ValueError(f"There is no number {name!r}. It has: {', '.join(there)}.")
            _say(f"{name}: {there[name]}")
        return
    if plan is not None:
        _say(f"layout: {plan.layout}")
        if answer.need.explained:
            _say(answer.need.explained)
    for name, reckoned in numbers(row).items():
        _say(f"{name}: {reckoned}")
    if row.fit.plan is None:
        _say(row.fit.reason)
    elif row.fit.plan.count > 1:
        _say(f"its links: {_links(answer, row)}")
    machine = row.machine
    for name, figure in (
        ("peak", machine.peak.get(answer.need.number_format)),
        ("bandwidth", machine.bandwidth),
        (f"memory, {100 * answer.limits.memory:g} % of it for the task", machine.memory),
        ("power", machine.power),
        ("price", machine.price),
    ):
        _say(f"its {name}: {figure or 'not published'}")


def _links(answer: Answer, row: Row) -> str:
    """Latency and bandwidth of the ring of a plan's machines, and where they come from."""
    cluster = cluster_of(row.machine, row.fit.plan.count)
    ring = answer.need.ring(row.machine, row.fit.plan.count)
    latency = predicted(ring.latency, "s", "the cluster").number
    bandwidth = predicted(ring.bandwidth, "B/s", "the cluster").number
    return f"{latency} and {bandwidth}, {cluster.name} ({'; '.join(cluster.sources)})"


def _say(line: str) -> None:
    """A line of formulas, wrapped between words."""
    print(
        fill(
            line,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def numbers(row: Row) -> dict[str, Reckoned]:
    """Every number of a row that the chooser reckoned."""
    if row.fit.plan is None:
        return {}
    found = {"memory": row.fit.plan.memory}
    for name, part in row.fit.plan.parts.items():
        found[name] = part
    found["step"] = row.fit.plan.seconds
    if row.time is not row.fit.plan.seconds:
        found["time"] = row.time
    found |= {"energy": row.energy, "price": row.price}
    return {name: reckoned for name, reckoned in found.items() if reckoned is not None}


def as_dict(answer: Answer) -> dict:
    """The answer in plain numbers, each with unit and formula; None where there is none."""
    rows = []
    for row in answer.rows:
        plan = row.fit.plan
        given = {
            "machine": row.machine.key,
            "count": plan.count if plan else None,
            "binds": row.fit.binds,
            "layout": plan.layout if plan else None,
            "reason": row.fit.reason,
            "in_time": row.in_time,
            "in_budget": row.in_budget,
            "can_be_chosen": row.can_be_chosen,
        }
        told = {"memory": plan.memory if plan else None, "time": row.time}
        told |= {"energy": row.energy, "price": row.price}
        for name, reckoned in told.items():
            given[name] = _plain(reckoned) if reckoned else None
        given["price_source"] = row.machine.price.origin if row.price else None
        rows.append(given)
    return {
        "need": answer.need.says,
        "paid": answer.need.paid,
        "efficiency": answer.limits.efficiency,
        "memory": answer.limits.memory,
        "cheapest": answer.cheapest.machine.key if answer.cheapest else None,
        "cheapest_count": answer.cheapest.fit.plan.count if answer.cheapest else None,
        "fastest": answer.fastest.machine.key if answer.fastest else None,
        "fastest_count": answer.fastest.fit.plan.count if answer.fastest else None,
        "machines": rows,
    }


def _plain(reckoned: Reckoned) -> dict:
    """A number as JSON has it."""
    return {
        "value": reckoned.value,
        "unit": reckoned.unit,
        "word": "predicted",
        "words": reckoned.words,
        "figures": reckoned.figures,
    }


def _cells(answer: Answer, row: Row) -> list[object]:
    """One line of the table."""
    plan = row.fit.plan
    if plan is None:
        return [row.machine.key, None, None, row.fit.binds, None, None, None, row.fit.reason]
    notes = [row.fit.reason]
    notes += [] if row.in_time else ["too slow"]
    notes += {True: [], False: ["too dear"], None: ["no price"]}[row.in_budget]
    if answer.need.unit == "h" and (plan.count > 1 or "recomputed" in plan.layout):
        notes.append(plan.layout)
    return [
        row.machine.key,
        plan.count,
        _told(plan.memory, answer.need.memory_words),
        row.fit.binds,
        row.time.quantity if "cycles" in plan.parts else _told(row.time, answer.need.time_words),
        row.energy.quantity if row.energy else None,
        row.price.quantity if row.price else None,
        ", ".join(note for note in notes if note),
    ]


def _told(reckoned: Reckoned, words: str) -> object:
    """The quantity of a column in which every row has the same words."""
    return Reckoned(reckoned.value, reckoned.unit, words, reckoned.figures).quantity


def _choice(answer: Answer, row: Row) -> str:
    """ "2 x NVIDIA T4, 25.1 ms for ..., 4.88 USD for a million tokens; bandwidth binds"."""
    plan = row.fit.plan
    many = f"{plan.count} x " if plan.count > 1 else ""
    said = f"{many}{row.machine.name}, {row.time.quantity.number}"
    if row.price:
        said += f", {row.price.quantity.number} for {answer.need.paid}"
    verb = "bind" if row.fit.binds.endswith("s") else "binds"  # links, cycles
    return f"{said}; {row.fit.binds} {verb}"


def _limits(answer: Answer) -> str:
    """The sentence of what was asked for."""
    limits = answer.limits
    asked = []
    if limits.seconds:
        what = "for the whole training" if answer.need.timed else "for a step"
        asked.append(f"{_seconds(limits.seconds)} {what}")
    if limits.usd:
        asked.append(f"{limits.usd:g} USD for {answer.need.paid}")
    return f"Allowed: {' and '.join(asked)}."


def _seconds(seconds: float) -> str:
    """ "24 h", "5 s" or "20 ms"."""
    if seconds >= HOUR:
        return f"{seconds / HOUR:g} h"
    return f"{seconds:g} s" if seconds >= 1 else f"{1e3 * seconds:g} ms"


def _fits_nowhere(answer: Answer) -> str:
    """Nothing fits: the nearest machine, and what it lacks."""
    if answer.nearest is None:
        return "No machine can do it: see the last column."
    row = answer.nearest
    return f"It fits nowhere. Nearest is {row.machine.name}: {row.fit.reason}."


def _no_limit_held(answer: Answer) -> str:
    """None holds the limits for sure: the fastest of those that fit, and the cheapest."""
    unknown = answer.fastest_without_a_price is not None
    said = f"No machine {'with a price ' * unknown}holds the limits."
    priced = [row for row in answer.tried if row.price]
    compared = priced if unknown else answer.tried
    if compared:
        fastest = min(compared, key=lambda row: row.time.value)
        said += f" The fastest is {_choice(answer, fastest)}."
    if priced:
        cheapest = min(priced, key=lambda row: row.price.value)
        said += f" The cheapest is {_choice(answer, cheapest)}."
    return said
