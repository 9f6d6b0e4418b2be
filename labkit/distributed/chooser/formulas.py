"""Every number of an answer with the sum that gives it: for people, or as JSON.

formulas(answer, "h100")             # all numbers of one machine, and where its figures come from
formulas(answer, "h100", ["step"])   # of these numbers alone
as_dict(answer)                      # for --json
"""

from collections.abc import Iterable, Sequence
from textwrap import fill

from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.derivation import Derived
from labkit.distributed.chooser.offers import cluster_of
from labkit.provenance import predicted

WIDTH = 100  # characters of a line
NO_FIGURE = "not in the course's table"
ALWAYS = ("memory", "time", "at best", "first token", "requests", "energy", "price")  # in JSON


def formulas(answer: Answer, key: str, names: Sequence[str] | None = None) -> None:
    """All formulas of one machine, in words and in figures, and where its own figures come from.

    With `names`, such as ["memory", "step"], the formulas of these numbers alone.
    """
    row = answer.row(key)
    plan = row.fit.plan
    there = numbers(row)
    print(f"{row.machine.name}:" if plan is None else f"{plan.count} x {row.machine.name}:")
    if names is not None:
        for name in names:
            if name not in there:
                raise ValueError(f"There is no number {name!r}. It has: {', '.join(there)}.")
            _say_below(f"{name}: {there[name]}")
        return
    if plan is not None:
        _say_below(f"layout: {plan.layout}")
        if answer.workload.explained:
            _say_below(answer.workload.explained)
    for name, derived in there.items():
        _say_below(f"{name}: {derived}")
    for line in _its_figures(answer, row):
        _say_below(line)


def numbers(row: Row) -> dict[str, Derived]:
    """Every number of a row that the chooser derived."""
    plan = row.fit.plan
    if plan is None:
        return {}
    found = {"memory": plan.memory, **plan.parts, "step": plan.seconds}
    if row.time is not plan.seconds:
        found["time"] = row.time
    found |= {"first token": plan.first, "requests": plan.rate}
    found |= {"energy": row.energy, "price": row.price}
    return {name: derived for name, derived in found.items() if derived is not None}


def as_dict(answer: Answer) -> dict:
    """The answer in plain numbers, each with unit and formula; None where there is none.

    machines   one row for each; counts: one for each number of each machine that holds the task
    """
    return {
        "need": answer.workload.says,
        "paid": answer.workload.paid,
        "memory": answer.limits.memory,
        "cheapest": _as_row(answer, answer.cheapest),
        "fastest": _as_row(answer, answer.fastest),
        "machines": [_as_row(answer, row) for row in answer.rows],
        "counts": [_as_row(answer, row) for row in answer.tried],
    }


def _as_row(answer: Answer, row: Row | None) -> dict | None:
    """One row, or None for none."""
    if row is None:
        return None
    plan = row.fit.plan
    given = {
        "machine": row.machine.key,
        "count": plan.count if plan else None,
        "groups": plan.groups if plan else None,
        "binds": row.fit.binds,
        "layout": plan.layout if plan else None,
        "reason": row.fit.reason,
        "in_time": row.in_time,
        "in_budget": row.in_budget,
        "can_be_chosen": row.can_be_chosen,
        "efficiency": answer.limits.share(answer.workload, row.machine),
        "price_source": row.machine.price.origin if row.price else None,
    }
    known = dict.fromkeys(ALWAYS) | numbers(row) | {"time": row.time, "at best": row.at_best}
    for name, derived in known.items():
        given[name.replace(" ", "_")] = _plain(derived) if derived else None
    return given


def _plain(derived: Derived) -> dict:
    """A number as JSON has it."""
    return {
        "value": derived.value,
        "unit": derived.unit,
        "word": "predicted",
        "words": derived.words,
        "figures": derived.figures,
    }


def _its_figures(answer: Answer, row: Row) -> Iterable[str]:
    """Links and published figures of a machine, with their sources."""
    machine = row.machine
    if row.fit.plan is None:
        yield row.fit.reason
    elif row.fit.plan.count > 1:
        yield f"its links: {_links(answer, row)}"
    for name, figure in (
        ("peak", machine.peak.get(answer.workload.number_format)),
        ("bandwidth", machine.bandwidth),
        (f"memory, {100 * answer.limits.memory:g} % of it for the task", machine.memory),
        ("power", machine.power),
        ("price", machine.price),
    ):
        yield f"its {name}: {figure or NO_FIGURE}"


def _links(answer: Answer, row: Row) -> str:
    """Latency and bandwidth of the ring of a plan's machines, and where they come from."""
    cluster = cluster_of(row.machine, row.fit.plan.count)
    ring = answer.workload.ring(row.machine, row.fit.plan.count)
    latency = predicted(ring.latency, "s", "the cluster").number
    bandwidth = predicted(ring.bandwidth, "B/s", "the cluster").number
    return f"{latency} and {bandwidth}, {cluster.name} ({'; '.join(cluster.sources)})"


def say(line: str, first: str = "", then: str = "") -> None:
    """A line, wrapped between words."""
    print(
        fill(
            line,
            WIDTH,
            initial_indent=first,
            subsequent_indent=then,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _say_below(line: str) -> None:
    say(line, "  ", "      ")
