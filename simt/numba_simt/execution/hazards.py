"""What the machine finds wrong in a kernel, as sentences: what, where, who, and what to do."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from numba_simt.errors import KernelError
from numba_simt.execution.places import Places
from numba_simt.execution.structs import HazardRecord
from numba_simt.execution.waiting import waits_for_memory
from numba_simt.ops import HAZARDS, SPACES

_TEXTS = tomllib.loads(Path(__file__).with_name("hazards.toml").read_text("utf-8"))
_ALL_LANES = 0xFFFFFFFF


class HazardError(KernelError):
    """A launch that had to be stopped; `hazard` says why."""

    hazard: "Hazard"

    @classmethod
    def of(cls, hazard: "Hazard") -> "HazardError":
        """The error for a hazard; also one of Python's own, where Python has one for it."""
        kinds = {"out_of_bounds": OutOfBounds, "division_by_zero": DividedByZero}
        kind = kinds.get(hazard.kind, cls)
        if hazard.raised:  # by the kernel: what the launch raises is of that class, too
            kind = type(hazard.raised.__name__, (cls, hazard.raised), {})
        error = kind.__new__(kind, hazard.sentence)
        error.hazard = hazard
        return error


class OutOfBounds(HazardError, IndexError):
    """An index outside its array, which on a GPU reads or overwrites something else."""


class DividedByZero(HazardError, ZeroDivisionError):
    """A division by zero."""


@dataclass(frozen=True)
class Hazard:
    """One thing found; `count` says how often. `other_line` and `other_thread` may be None.

    `line` is where it was noticed: of two accesses, the later one; `scope` is "warp", "block" or
    "grid" for a race. Threads are ((block x, y, z), (thread x, y, z)).
    """

    kind: str
    severity: str
    line: int
    other_line: int | None
    thread: tuple
    other_thread: tuple | None
    scope: str | None
    address: str
    count: int
    sentence: str
    raised: type | None = None  # the class of an exception that the kernel raises

    def __str__(self) -> str:
        return fill(self.sentence, 100, subsequent_indent="  ")


def describe_all(records: Sequence[HazardRecord], at: Places) -> tuple[Hazard, ...]:
    """Sentences for the machine's records."""
    contested = {(record.array, record.line) for record in records if _writes_twice(record)}
    return tuple(_describe(record, at, contested) for record in records)


def _writes_twice(record: HazardRecord) -> bool:
    """Whether several threads write an element in the same line."""
    both_write = record.write and record.other_write
    return HAZARDS[record.kind] == "race" and both_write and record.line == record.other_line


def _describe(record: HazardRecord, at: Places, contested: set[tuple[int, int]]) -> Hazard:
    """The sentence for a record; `contested`: arrays and lines that several threads write."""
    kind = HAZARDS[record.kind]
    if kind == "endless_loop" and waits_for_memory(at.program, record.index):
        kind = "deadlock"
    scope = _scope(record, at) if kind in ("race", "same_value") else None
    element = at.element(record.array, record.offset) if record.array >= 0 else ""
    words = _words(record, at) | {"element": element}
    if kind == "race":
        words |= _both(record, words)
        words["cure"] = _TEXTS["cure"][_cure(record, contested, scope)]
    if kind == "out_of_bounds":
        where = "global_index" if words["space"] == "global" else "own_index"
        words["cure"] = _TEXTS["cure"][where].format(**words)
    raised = at.program.exceptions[record.index] if kind == "exception" else None
    return Hazard(
        raised=raised.error if raised else None,
        kind=kind,
        severity="note" if kind == "same_value" else "error",
        line=at.line(record.line),
        other_line=at.line(record.other_line),
        thread=at.thread(record.warp, record.lane),
        other_thread=at.thread(record.other_warp, record.other_lane),
        scope=scope,
        address=element,
        count=record.count,
        sentence=_TEXTS[_template(kind, record, at)].format(**words),
    )


def _scope(record: HazardRecord, at: Places) -> str:
    """What the two threads of a race have in common."""
    if record.warp == record.other_warp:
        return "warp"
    same_block = record.warp // at.warps == record.other_warp // at.warps
    return "block" if same_block else "grid"


def _words(record: HazardRecord, at: Places) -> dict[str, object]:
    """What the templates of hazards.toml are filled with."""
    words = {
        "index": record.index,
        "axis": record.axis,
        "length": record.length,
        "offset": record.offset,
        "thread": at.named(record.warp, record.lane),
        "line": at.quoted(record.line),
        "lane": record.other_lane,
        "mask": record.index & _ALL_LANES,
        "here": record.length & _ALL_LANES,
        "elsewhere": "does not come there",
    }
    if record.other_warp >= 0:
        words["other"] = at.named(record.other_warp, record.other_lane)
    if record.other_line >= 0:
        words["other_line"] = at.quoted(record.other_line)
        words["elsewhere"] = f"waits in {words['other_line']}"
    if HAZARDS[record.kind] == "exception":
        words |= _exception(record, at)
    if record.array >= 0:
        words["array"] = at.program.arrays[record.array].name
        words["space"] = SPACES[record.space]
    return words


def _exception(record: HazardRecord, at: Places) -> dict[str, str]:
    """What is raised, and where, in Numba's words."""
    raised = at.program.exceptions[record.index]
    block, thread = at.thread(record.warp, record.lane)
    line = at.program.lines[record.line]
    text = ", ".join(map(str, raised.arguments))
    place = f"In function {line.function!r}, file {line.filename}, line {line.number}, "
    place += f"tid={[*thread]} ctaid={[*block]}"
    return {
        "error": raised.error.__name__,
        "text": text,
        "numba": f"{place}: {text}" if text else place,
    }


def _template(kind: str, record: HazardRecord, at: Places) -> str:
    """Which template of hazards.toml says it."""
    if kind == "division_by_zero" and record.index:
        return "division_in_debug"
    if kind == "exception" and not record.length:
        return "exception_unheard"
    if kind == "exception" and at.program.exceptions[record.index].error is RecursionError:
        return "recursion"
    if kind == "deadlock" and record.other_warp >= 0:
        return "deadlock_in_warp"
    if kind == "inactive_lane":
        if record.index == -1:
            return "inactive_source"
        if record.index < 0:
            return "inactive_matrix"
        if record.index & _ALL_LANES == _ALL_LANES:
            return "absent_lane"
    return kind


def _both(record: HazardRecord, words: dict) -> dict[str, str]:
    """Who did what in which line, first and later."""
    line = "the same line" if record.line == record.other_line else words["line"]
    first = _verb(record.other_write, record.other_atomic)
    later = _verb(record.write, record.atomic)
    return {
        "first": f"{words['other']} {first} it in {words['other_line']}",
        "later": f"{words['thread']} {later} it in {line}",
    }


def _verb(write: int, atomic: int) -> str:
    if not write:
        return "reads"
    return "atomically updates" if atomic else "writes"


def _cure(record: HazardRecord, contested: set[tuple[int, int]], scope: str) -> str:
    """Which cure of hazards.toml fits a race."""
    one_line = record.line == record.other_line
    if one_line and (record.array, record.line) in contested:
        return "contested"
    if record.atomic != record.other_atomic:
        return "atomic_grid" if scope == "grid" else "atomic"
    if scope != "grid" and one_line:
        return "one_line"
    return scope
