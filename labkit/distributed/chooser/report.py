"""The answer as it is shown: sentences, a table (HTML in a notebook, plain text elsewhere), notes.

show(answer)
"""

from labkit import figures
from labkit.distributed.chooser.answer import Answer, Row
from labkit.distributed.chooser.formulas import say
from labkit.distributed.chooser.wording import compact, limits_of, many, sentences, time_of
from labkit.distributed.chooser.workload import Efficiency
from labkit.hardware import Machine
from labkit.provenance import rounded


def show(answer: Answer) -> None:
    """The choices, a sentence each; then all machines that can do it, and why others cannot."""
    for sentence in sentences(answer):
        say(sentence)
    say(f"For {answer.workload.says}{limits_of(answer)}.")
    rows = [row for row in answer.rows if row.fit.plan is not None]
    if rows:
        heads = _heads(answer)
        figures.table(heads, [_cells(answer, row) for row in rows])
    for sentence in notes(answer):
        say(sentence)


def notes(answer: Answer) -> list[str]:
    """What stands below the table: who cannot do it, prices, and what the numbers mean."""
    limits, workload = answer.limits, answer.workload
    time = "of the whole training" if workload.timed else f"for {workload.step}"
    said = [f"Not possible: {'; '.join(_refused(answer))}."] if _refused(answer) else []
    said += _prices(answer)
    said.append(f"All numbers are predicted. Time {time}, {_case(answer)}.")
    said.append(
        f"How many: of 1, 2, 4, ..., at most {limits.most:,}, that share it evenly (CPUs and "
        "boards stand alone, and so do machines whose links are not in our table), what holds it "
        f"in {100 * limits.memory:g} % of its memory, is in time and takes the fewest "
        "machine-hours; if none is in time, the fastest. "
        f"kWh and USD for {workload.paid}. {workload.left_out}"
    )
    return said


def _heads(answer: Answer) -> list[str]:
    """Of the table; prompts, or an efficiency below 1, have columns of their own."""
    heads = ["machine", "how many", "each needs", "binds", "time"]
    if _has_prompt(answer):
        return [*heads, "first token", "requests/s", "USD", ""]
    if _is_estimate(answer) and answer.workload.unit != "h":
        heads.append("at best")
    return [*heads, "kWh", "USD", "data x tensor" if answer.workload.unit == "h" else ""]


def _cells(answer: Answer, row: Row) -> list[object]:
    """One line of the table."""
    plan = row.fit.plan
    cells = [row.machine.key, many(plan.count, plan.groups), plan.memory.quantity.number]
    cells += [row.fit.binds, time_of(row.time)]
    energy, price = (one and _narrow(one.value) for one in (row.energy, row.price))
    if _has_prompt(answer):
        cells += [time_of(plan.first), rounded(plan.rate.value), price]
        return [*cells, _note(answer, row)]
    if _is_estimate(answer) and answer.workload.unit != "h":
        cells.append(row.at_best and time_of(row.at_best))
    return [*cells, energy, price, _note(answer, row)]


def _note(answer: Answer, row: Row) -> str:
    """What limit it breaks; else why so many, or how a training is laid out."""
    broken = [] if row.in_time else ["too slow"]
    broken += ["too dear"] if row.in_budget is False else []
    plan = row.fit.plan
    if broken == ["too slow"] and plan.count == 1 and row.fit.reason:  # why not more of them
        return f"too slow; {row.fit.reason}"
    if broken:
        return ", ".join(broken)
    if answer.workload.unit != "h":
        return row.fit.reason
    layout = plan.layout if plan.count > 1 or "recomputed" in plan.layout else ""
    return layout.replace("data ", "").replace("tensor ", "")  # the column's head says so


def _narrow(value: float) -> str:
    """ "12,300", "5.19 M"."""
    return compact(value).replace("million", "M").replace("billion", "G")


def _has_prompt(answer: Answer) -> bool:
    return any(row.fit.plan and row.fit.plan.first for row in answer.rows)


def _is_estimate(answer: Answer) -> bool:
    return any(row.at_best for row in answer.rows)


def _refused(answer: Answer) -> list[str]:
    """ "t4, v100 (the course's table has no peak in bf16)": each reason once, for all of them."""
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
    priced = [f"{one.key} {rounded(one.price.value)}{_kind(one)}"
              for one in can if one.price and one.price.unit == "USD/h"]  # fmt: skip
    missing = [one.key for one in can if not one.price]
    said = [f"USD/h: {', '.join(priced)}."] if priced else []
    if missing:
        said.append(
            f"The course's table has no price of {', '.join(missing)}: give yours, "
            "--price MACHINE=USD/h."
        )
    return said


def _kind(one: Machine) -> str:
    """ " (2026-05, without its host computer)", as far as the source of a price says it."""
    _, found, rest = one.price.source.partition(" (20")
    said = [f"20{rest[:5]}"] if found else []
    if one.price_with_host is not None:
        said.append(f"with{'' if one.price_with_host else 'out'} its host computer")
    return f" ({', '.join(said)})" if said else ""


def _case(answer: Answer) -> str:
    """At which share of peak and bandwidth, and who says so."""
    share = answer.limits.efficiency
    best = "at best" if answer.workload.task == "image" else "at best, with rings"
    if share is not None:
        return best if share == 1 else f"at {100 * share:g} % of what a machine can do"
    if not _is_estimate(answer):
        return best
    usual: dict[Efficiency, list[str]] = {}
    for row in answer.rows:
        if row.fit.plan is not None:
            usual.setdefault(answer.workload.efficiency(row.machine), []).append(row.machine.key)
    said = []
    for one, keys in usual.items():
        whose = "" if len(usual) == 1 else f"{', '.join(keys)} "
        said.append(f"{whose}{100 * one.share:g} % ({one.source})")
    return f"at a share of what a machine can do: {'; '.join(said)}"
