"""What would change the cheapest: the same request with one thing different, answered again.

changes(serve, {"model": "llama31_8b", "batch": 8}, Limits(seconds=0.02))
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from typing import Any

from labkit.distributed.chooser.answer import Answer, Row, choose
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.wording import held, of_limit
from labkit.distributed.chooser.workload import Workload
from labkit.hardware import Machine

FORMATS = ("fp32", "fp16", "bf16", "int8")
KEPT = ("int8", "int4")  # formats of weights alone
SIZES = ("batch", "context")


def changes(
    make: Callable[..., Workload],
    arguments: dict[str, Any],
    limits: Limits | None = None,
    among: Iterable[str | Machine] | None = None,
) -> list[str]:
    """A sentence for each thing that changes the cheapest, and one for the rest.

    Which one is fastest is left out: where several machines share the work, that turns on how
    they add up, by a ring or otherwise.
    """
    limits = limits or Limits()
    among = None if among is None else list(among)
    usual = {name: one.default for name, one in signature(make).parameters.items()}
    asked = usual | arguments
    now = choose(make(**arguments), limits, among)
    cheapest = f"cheapest{held(limits)} with a price"
    said, same = [], []
    for words, other, under in _others(asked, limits):
        try:
            then = choose(make(**other), under, among)
        except ValueError:
            continue  # a format that is not trained in, a batch that cannot be halved
        before, after = _name(now.cheapest), _name(then.cheapest)
        if before == after:
            same.append(words + _just_in_time(then))
        else:
            kinds = _without_host(now.cheapest, then.cheapest)
            said.append(f"With {words}, the {cheapest} is {after} and not {before}{kinds}.")
    if same:
        stays = f"The {cheapest} does not change" if now.cheapest else "None with a price"
        said.append(f"{stays} with {', '.join(same)}.")
    return said


def _others(asked: dict[str, Any], limits: Limits) -> list[tuple[str, dict[str, Any], Limits]]:
    """One thing different each: words, arguments, limits."""
    found = []
    for name in SIZES:
        if name in asked:
            found.append((f"twice the {name}", asked | {name: 2 * asked[name]}, limits))
            if asked[name] % 2 == 0:
                found.append((f"half the {name}", asked | {name: asked[name] // 2}, limits))
    for number_format in FORMATS:
        if number_format != asked["number_format"]:
            found.append((number_format, asked | {"number_format": number_format}, limits))
    for kept in KEPT:
        if "weights" in asked and kept != asked["weights"]:
            found.append((f"weights in {kept}", asked | {"weights": kept}, limits))
    if limits.seconds:
        found.append(("twice the time", asked, replace(limits, seconds=2 * limits.seconds)))
        found.append(("half the time", asked, replace(limits, seconds=limits.seconds / 2)))
    if limits.usd:
        found.append(("twice the budget", asked, replace(limits, usd=2 * limits.usd)))
        found.append(("half the budget", asked, replace(limits, usd=limits.usd / 2)))
    if limits.efficiency:
        half = replace(limits, efficiency=limits.efficiency / 2)
        found.append(("half the efficiency", asked, half))
    else:
        found.append(("an efficiency of 1", asked, replace(limits, efficiency=1.0)))
    return found


def _just_in_time(then: Answer) -> str:
    """The time, where the cheapest holds the limit by less than a hundredth."""
    row, limit = then.cheapest, then.limits.seconds
    if row is None or limit is None:
        return ""
    seconds = row.fit.plan.seconds.value * (then.workload.timed.value if then.workload.timed else 1)
    return f" ({of_limit(seconds, limit)})" if seconds > 0.99 * limit else ""


def _without_host(*rows: Row | None) -> str:
    """Whose price leaves its host computer out, where not all of them do."""
    with_host = {row.machine.key: row.machine.price_with_host for row in rows if row}
    bare = [key for key, with_it in with_host.items() if with_it is False]
    if not bare or len(bare) == len(with_host):
        return ""
    return f" (the price of {bare[0]} leaves its host computer out)"


def _name(row: Row | None) -> str:
    """ "2 x t4", or "none"."""
    if row is None:
        return "none"
    count = row.fit.plan.count
    return f"{count} x {row.machine.key}" if count > 1 else row.machine.key
