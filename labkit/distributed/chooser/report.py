"""The answer as sentences and a table: HTML in a notebook, plain text elsewhere, or a dict.

show(answer)
formulas(answer, "h100")          # every number of one machine, with the figures it is made of
formulas(answer, "h100", ["step"])   # of these numbers alone
as_dict(answer)                   # for --json
"""

from collections.abc import Iterable, Sequence
from textwrap import fill

from labkit import figures
from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.links import cluster_of
from labkit.distributed.chooser.need import HOUR, Efficiency
from labkit.distributed.chooser.reckoning import Reckoned, compact, duration
from labkit.provenance import predicted, rounded

WIDTH = 100  # characters of a line


def show(answer: Answer) -> None:
    """The choices, a sentence each; then all machines that can do it, and why others cannot."""
    for sentence in sentences(answer):
        say(sentence)
    say(f"For {answer.need.says}{_limits(answer)}.")
    rows = [row for row in answer.rows if row.fit.plan is not None]
    if rows:
        heads = _heads(answer)
        figures.table(heads, [_cells(answer, row) for row in rows])
    for sentence in notes(answer):
        say(sentence)


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
        said.append(f"Cheapest: {_choice(answer, answer.cheapest)}.")
    if answer.fastest:
        priced = " with a price" if answer.limits.usd else _up_to(answer)
        said.append(f"Fastest{priced}: {_choice(answer, answer.fastest)}.")
    if answer.fastest_without_a_price:
        unpriced = _choice(answer, answer.fastest_without_a_price)
        said.append(f"Fastest without a price, maybe too dear: {unpriced}.")
    return said


def notes(answer: Answer) -> list[str]:
    """What stands below the table: who cannot do it, prices, and what the numbers mean."""
    limits, need = answer.limits, answer.need
    time = "of the whole training" if need.timed else f"for {need.step}"
    said = [f"Not possible: {'; '.join(_refused(answer))}."] if _refused(answer) else []
    said += _prices(answer)
    said.append(f"All numbers are predicted. Time {time}, {_case(answer)}.")
    said.append(
        f"How many: of 1, 2, 4, ..., at most {limits.most:,}, what holds it in "
        f"{100 * limits.memory:g} % of its memory, is in time and takes the fewest machine-hours. "
        f"kWh and USD for {need.paid}. {need.left_out}"
    )
    return said


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
        if answer.need.explained:
            _say_below(answer.need.explained)
    for name, reckoned in there.items():
        _say_below(f"{name}: {reckoned}")
    for line in _its_figures(answer, row):
        _say_below(line)


def numbers(row: Row) -> dict[str, Reckoned]:
    """Every number of a row that the chooser reckoned."""
    plan = row.fit.plan
    if plan is None:
        return {}
    found = {"memory": plan.memory, **plan.parts, "step": plan.seconds}
    if row.time is not plan.seconds:
        found["time"] = row.time
    found |= {"first token": plan.first, "requests": plan.rate}
    found |= {"energy": row.energy, "price": row.price}
    return {name: reckoned for name, reckoned in found.items() if reckoned is not None}


def as_dict(answer: Answer) -> dict:
    """The answer in plain numbers, each with unit and formula; None where there is none.

    machines   one row for each; counts: one for each number of each machine that holds the task
    """
    return {
        "need": answer.need.says,
        "paid": answer.need.paid,
        "memory": answer.limits.memory,
        "cheapest": _as_row(answer, answer.cheapest),
        "fastest": _as_row(answer, answer.fastest),
        "machines": [_as_row(answer, row) for row in answer.rows],
        "counts": [_as_row(answer, row) for row in answer.tried],
    }


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
        "efficiency": answer.limits.share(answer.need, row.machine),
        "price_source": row.machine.price.origin if row.price else None,
    }
    told = {"memory": None, "time": None, "at_best": row.at_best, "energy": None, "price": None}
    for name, reckoned in (told | numbers(row) | {"time": row.time}).items():
        given[name.replace(" ", "_")] = _plain(reckoned) if reckoned else None
    return given


def _plain(reckoned: Reckoned) -> dict:
    """A number as JSON has it."""
    return {
        "value": reckoned.value,
        "unit": reckoned.unit,
        "word": "predicted",
        "words": reckoned.words,
        "figures": reckoned.figures,
    }


def _heads(answer: Answer) -> list[str]:
    """Of the table; prompts, or an efficiency below 1, have columns of their own."""
    heads = ["machine", "how many", "each needs", "binds", "time"]
    if _has_prompt(answer):
        return [*heads, "first token", "requests/s", "USD", ""]
    if _is_estimate(answer) and answer.need.unit != "h":
        heads.append("at best")
    return [*heads, "kWh", "USD", "data x tensor" if answer.need.unit == "h" else ""]


def _cells(answer: Answer, row: Row) -> list[object]:
    """One line of the table."""
    plan = row.fit.plan
    cells = [row.machine.key, _many(plan.count, plan.groups), plan.memory.quantity.number]
    cells += [row.fit.binds, _time(row.time)]
    energy, price = (one and _narrow(one.value) for one in (row.energy, row.price))
    if _has_prompt(answer):
        cells += [_time(plan.first), rounded(plan.rate.value), price]
        return [*cells, _note(answer, row)]
    if _is_estimate(answer) and answer.need.unit != "h":
        cells.append(row.at_best and _time(row.at_best))
    return [*cells, energy, price, _note(answer, row)]


def _note(answer: Answer, row: Row) -> str:
    """What limit it breaks; else why so many, or how a training is laid out."""
    broken = [] if row.in_time else ["too slow"]
    broken += ["too dear"] if row.in_budget is False else []
    if broken:
        return ", ".join(broken)
    plan = row.fit.plan
    if answer.need.unit != "h":
        return row.fit.reason
    layout = plan.layout if plan.count > 1 or "recomputed" in plan.layout else ""
    return layout.replace("data ", "").replace("tensor ", "")  # the column's head says so


def _narrow(value: float) -> str:
    """ "12,300", "5.19 M"."""
    return compact(value).replace("million", "M").replace("billion", "G")


def _many(count: int, groups: int) -> str:
    """ "2", or "3 x 2" for three groups of two."""
    return f"{groups:,} x {count}" if groups > 1 else f"{count:,}"


def _has_prompt(answer: Answer) -> bool:
    return any(row.fit.plan and row.fit.plan.first for row in answer.rows)


def _is_estimate(answer: Answer) -> bool:
    return any(row.at_best for row in answer.rows)


def _refused(answer: Answer) -> list[str]:
    """ "t4, v100 (no peak in bf16 is published)": each reason once, for all machines with it."""
    why: dict[str, list[str]] = {}
    for row in answer.rows:
        if row.fit.plan is None:
            reason, _, _ = row.fit.reason.partition(", ")
            if row.fit.binds != "memory":
                reason = row.fit.reason
            why.setdefault(reason, []).append(row.machine.key)
    return [f"{', '.join(keys)} ({reason})" for reason, keys in why.items()]


def _prices(answer: Answer) -> list[str]:
    """USD/h of those that have a price, with the month of the source; and who has none."""
    can = [row.machine for row in answer.rows if row.fit.plan is not None]
    priced = [f"{one.key} {rounded(one.price.value)}{_month(one.price.source)}"
              for one in can if one.price and one.price.unit == "USD/h"]  # fmt: skip
    missing = [one.key for one in can if not one.price]
    said = [f"USD/h: {', '.join(priced)}."] if priced else []
    if any(")" in one for one in priced):  # from the table, with their month
        said[0] += " Some leave the host computer out."
    if missing:
        said.append(
            f"No price is known of {', '.join(missing)}: give yours, --price MACHINE=USD/h."
        )
    return said


def _month(source: str) -> str:
    """ " (2025-02)", where the source of a price has a month."""
    _, found, rest = source.partition(" (20")
    return f" (20{rest[:5]})" if found else ""


def _case(answer: Answer) -> str:
    """At which share of peak and bandwidth, and who says so."""
    share = answer.limits.efficiency
    if share is not None:
        return "at best" if share == 1 else f"at {100 * share:g} % of what a machine can do"
    if not _is_estimate(answer):
        return "at best"
    usual: dict[Efficiency, list[str]] = {}
    for row in answer.rows:
        if row.fit.plan is not None:
            usual.setdefault(answer.need.efficiency(row.machine), []).append(row.machine.key)
    said = []
    for one, keys in usual.items():
        whose = "" if len(usual) == 1 else f"{', '.join(keys)} "
        said.append(f"{whose}{100 * one.share:g} % ({one.source})")
    return f"at a share of what a machine can do: {'; '.join(said)}"


def _its_figures(answer: Answer, row: Row) -> Iterable[str]:
    """Links and published figures of a machine, with their sources."""
    machine = row.machine
    if row.fit.plan is None:
        yield row.fit.reason
    elif row.fit.plan.count > 1:
        yield f"its links: {_links(answer, row)}"
    for name, figure in (
        ("peak", machine.peak.get(answer.need.number_format)),
        ("bandwidth", machine.bandwidth),
        (f"memory, {100 * answer.limits.memory:g} % of it for the task", machine.memory),
        ("power", machine.power),
        ("price", machine.price),
    ):
        yield f"its {name}: {figure or 'not published'}"


def _links(answer: Answer, row: Row) -> str:
    """Latency and bandwidth of the ring of a plan's machines, and where they come from."""
    cluster = cluster_of(row.machine, row.fit.plan.count)
    ring = answer.need.ring(row.machine, row.fit.plan.count)
    latency = predicted(ring.latency, "s", "the cluster").number
    bandwidth = predicted(ring.bandwidth, "B/s", "the cluster").number
    return f"{latency} and {bandwidth}, {cluster.name} ({'; '.join(cluster.sources)})"


def _choice(answer: Answer, row: Row) -> str:
    """ "2 x t4, 36.9 ms (best 25.1 ms), 4.88 USD for a million tokens; bandwidth binds"."""
    plan = row.fit.plan
    many = _many(plan.count, plan.groups)
    said = f"{many} x {row.machine.key}" if plan.machines > 1 else row.machine.key
    said += f", {_time(row.time)}"
    if row.at_best:
        said += f" (best {_time(row.at_best)})"
    if row.price:
        said += f", {compact(row.price.value)} USD"
        said += "" if answer.need.timed else f" for {answer.need.paid}"
    verb = "bind" if row.fit.binds.endswith("s") else "binds"  # links, cycles
    return f"{said}; {row.fit.binds} {verb}"


def _time(reckoned: Reckoned) -> str:
    """ "11.9 ms", "17.1 years"."""
    return duration(reckoned.value) if reckoned.unit == "h" else reckoned.quantity.number


def _up_to(answer: Answer) -> str:
    """How many were tried, if more than one."""
    most = answer.limits.most
    return f" of up to {most:,}" if most > 1 and answer.need.task != "image" else ""


def _limits(answer: Answer) -> str:
    """What was asked for: ", within 20 ms for a step"."""
    limits = answer.limits
    asked = ""
    if limits.seconds:
        what = "for the whole training" if answer.need.timed else "for a step"
        asked += f", within {_seconds(limits.seconds)} {what}"
    if limits.usd:
        asked += f", for at most {rounded(limits.usd)} USD for {answer.need.paid}"
    return asked


def _seconds(seconds: float) -> str:
    """ "24 h", "5 s" or "20 ms"."""
    if seconds >= HOUR:
        return f"{seconds / HOUR:g} h"
    return f"{seconds:g} s" if seconds >= 1 else f"{1e3 * seconds:g} ms"


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
        said.append(f"Fastest: {_choice(answer, fastest)}.")
    if priced:
        cheapest = min(priced, key=lambda row: row.price.value)
        said.append(f"Cheapest: {_choice(answer, cheapest)}.")
    return said
