"""What a section of the report is made of: rows, each tried by itself, and turned into JSON."""

import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from labkit.provenance import Quantity

Work = Iterable[tuple[str, Callable[[], "Row"]]]  # what a section yields: names, and how to do them

STATES = {  # how a row can end: what the page says of it
    "done": "",
    "not here": "not run",
    "no memory": "too little memory",
    "failed": "failed",
    "not reached": "not reached",
}


class NotHere(Exception):
    """This machine lacks what a row needs: what, in a sentence."""


@dataclass(frozen=True)
class Row:
    """One line of the report. The first of `numbers` is what the line is about.

    ok      as it should be, or not; None if there is nothing to hold it against
    says    what follows from the numbers, in a sentence
    lesson  whose prediction was tried, by the lesson's name
    """

    numbers: dict[str, Quantity] = field(default_factory=dict)
    ok: bool | None = None
    says: str = ""
    lesson: str = ""

    def as_json(self, dry: bool = False) -> dict:
        """The row for report.json; without its measured numbers if they come from no GPU."""
        numbers = {}
        for name, number in self.numbers.items():
            if dry and number.word == "measured":
                continue
            numbers[name] = {
                "value": float(number),
                "unit": number.unit,
                "word": number.word,
                "source": number.source,
            }
        found = {"state": "done", "numbers": numbers, "ok": self.ok, "says": self.says}
        return found | ({"lesson": self.lesson} if self.lesson else {})


def tried(work: Callable[[], Row], dry: bool = False) -> dict:
    """The row that this work gives, for report.json; what stops it becomes a row that says so."""
    try:
        return work().as_json(dry)
    except NotHere as reason:
        return stopped("not here", str(reason))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
        return stopped("no memory" if _is_memory(error) else "failed", said)


def once(function: Callable) -> Callable:
    """The function without arguments, called once: what it raises is raised again as well."""
    done: list[tuple[object, Exception | None]] = []

    def result() -> object:
        if not done:
            try:
                done.append((function(), None))
            except Exception as error:
                done.append((None, error))
        found, error = done[0]
        if error is not None:
            raise error
        return found

    return result


def stopped(state: str, why: str) -> dict:
    """A row without numbers, for report.json."""
    return {"state": state, "numbers": {}, "ok": None, "says": why}


def _is_memory(error: Exception) -> bool:
    """Whether a device, or this machine, has too little memory for the row."""
    if isinstance(error, MemoryError):
        return True
    return "OutOfMemory" in type(error).__name__ or "OUT_OF_MEMORY" in str(error)
