"""What the benchmarks share: a row with its limit or its goal, and the file of results.

A limit is red: it is on a count, or on a ratio whose two sides were measured in this run, so that
it holds on every machine. A goal informs: it is in seconds, on an idle machine with two cores.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.hardware import this_machine
from labkit.provenance import Quantity, measured

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Row:
    """One measurement; `limit` and `goal` are in the quantity's own unit."""

    what: str
    quantity: Quantity
    limit: float | None = None
    goal: float | None = None

    @property
    def ok(self) -> bool:
        return self.limit is None or float(self.quantity) <= self.limit

    @property
    def verdict(self) -> str:
        """Red only for a limit."""
        if self.limit is not None:
            return "ok" if self.ok else "TOO MUCH"
        if self.goal is None:
            return ""
        return "within the goal" if float(self.quantity) <= self.goal else "over the goal"

    def __str__(self) -> str:
        bound = self.limit if self.limit is not None else self.goal
        shown = "" if bound is None else replace(self.quantity, value=bound).number
        return f"{self.what:<72} {self.quantity.number:>11} {shown:>11}  {self.verdict}"

    def stored(self) -> dict:
        return {
            "what": self.what.strip(),
            "value": float(self.quantity),
            "unit": self.quantity.unit,
            "provenance": f"{self.quantity.word}: {self.quantity.source}",
            "limit": self.limit,
            "goal": self.goal,
            "ok": self.ok,
        }


def seconds(run: Callable[[], object]) -> Quantity:
    """Of one run, on the wall's clock."""
    start = time.perf_counter()
    run()
    return measured(time.perf_counter() - start, "s")


def medians(*runs: Callable[[], object], times: int = 7) -> list[Quantity]:
    """Seconds of each, run in turn, so that what else the machine does slows all of them alike."""
    rounds = [[float(seconds(run)) for run in runs] for _ in range(times)]
    return [measured(statistics.median(taken), "s") for taken in zip(*rounds, strict=True)]


def ratio(what: str, ours: Quantity, theirs: Quantity, limit: float) -> Row:
    """How many times as long ours takes; both were measured in this run."""
    return Row(what, measured(float(ours) / float(theirs), "times"), limit)


def report(name: str | None, rows: Iterable[Row]) -> int:
    """Print the rows as they come, and store them if there is a name; 1 if a limit is passed."""
    here = this_machine()
    load = os.getloadavg()[0]
    print(f"Measured on {here.name}, {here.os}, Python {here.python}; load before: {load:.1f}\n")
    print(f"{'':<72} {'result':>11} {'limit, goal':>11}")
    done = []
    for row in rows:
        print(row, flush=True)
        done.append(row)
    failed = [row for row in done if not row.ok]
    print(f"\n{len(done)} rows, {len(failed)} past their limit")
    if name:
        store(name, done, load)
    return 1 if failed else 0


def store(name: str, rows: list[Row], load: float) -> None:
    """In results/NAME.json, with the machine and its load before the first row."""
    here = this_machine()
    result = {
        "device": here.name,
        "system": here.os,
        "python": here.python,
        "load": round(load, 1),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rows": [row.stored() for row in rows],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(f"{path.name} written")
