"""What the machine finds wrong in a kernel, as sentences: what, where, who, and what to do."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from numba_simt.errors import KernelError
from numba_simt.execution.cures import Cures
from numba_simt.execution.places import Places
from numba_simt.execution.structs import WARP, HazardRecord
from numba_simt.execution.target import Target
from numba_simt.execution.waiting import waits_for_memory
from numba_simt.ops import HAZARDS, SPACES

_TEXTS = tomllib.loads(Path(__file__).with_name("hazards.toml").read_text("utf-8"))
_ALL_LANES = 0xFFFFFFFF
PROVEN = 1  # of loops: the state came again, so that nothing more can happen
NOTES = ("same_value", "wrapping_index")
LEGAL_SINCE_VOLTA = ("barrier_after_return", "waits_for_lane")


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

    `severity` is "error", "warning" for what the target allows and others do not, or "note".
    `line` is where it was noticed, in `file`: of two accesses, the later one; `scope` is "warp",
    "block" or "grid" for a race. Threads are ((block x, y, z), (thread x, y, z)). `what` and
    `cure` are sentences, `undefined_on` says on which GPUs, `guide` is where NVIDIA says so.
    """

    kind: str
    severity: str
    file: str
    line: int
    other_line: int | None
    thread: tuple
    other_thread: tuple | None
    scope: str | None
    address: str
    count: int
    what: str
    cure: str
    undefined_on: str
    guide: str
    raised: type | None = None  # the class of an exception that the kernel raises

    @property
    def sentence(self) -> str:
        """What it is, and what to do."""
        return f"{self.what} {self.cure}".strip()

    def __str__(self) -> str:
        return fill(self.sentence, 100, subsequent_indent="  ")


def describe_all(records: Sequence[HazardRecord], at: Places, gpu: Target) -> tuple[Hazard, ...]:
    """Sentences for the machine's records, for a launch on that GPU."""
    races = [record for record in records if HAZARDS[record.kind] in ("race", "same_value")]
    cures = Cures(at, races) if races else None
    told: dict[tuple, Hazard] = {}
    for record in records:
        if (kind := _kind(record, at, cures)) is None:
            continue
        key = (kind, record.line, record.other_line)
        if kind != "wrapping_index":  # which is told once for each line
            key += (record.array, record.write, record.other_write)
        if key not in told:
            told[key] = _describe(record, kind, at, cures, gpu)
    return tuple(told.values())


def _kind(record: HazardRecord, at: Places, cures: Cures | None) -> str | None:
    """What it is called; None for what is no hazard after all."""
    kind = HAZARDS[record.kind]
    if kind == "endless_loop" and waits_for_memory(at.program, record.index):
        return "deadlock"
    if kind == "same_value":
        kind = "race" if cures.updates.loses(record) else kind
        return None if cures.updates.is_read_as_well(record) and kind != "race" else kind
    if kind == "wrapping_index" and at.is_literal(record.other_write):
        return None
    if kind == "waits_for_lane" and not waits_for_memory(at.program, record.index):
        return None  # others go on, but this lane waits for nobody
    return kind


def _severity(kind: str, gpu: Target) -> str:
    if kind in NOTES:
        return "note"
    return "warning" if kind in LEGAL_SINCE_VOLTA and gpu.independent_threads else "error"


def _describe(
    record: HazardRecord, kind: str, at: Places, cures: Cures | None, gpu: Target
) -> Hazard:
    """The hazard of a record."""
    text = _TEXTS[_template(kind, record, at)]
    scope = _scope(record, at) if kind in ("race", "same_value") else None
    element = _element(record, kind, at)
    words = _words(record, at) | {"element": element}
    cure, guide = text.get("cure", ""), text.get("guide", "")
    undefined_on = text.get("undefined_on", "every GPU")
    if kind == "race":
        words |= _both(record, words)
        name, more = cures.of(record)
        words |= more
        cure, guide = _TEXTS["cures"][name], _TEXTS["sections"].get(name, guide)
        if cures.in_step_below_volta(record):
            undefined_on, guide = "compute capability 7.0 and later", "lanes"
    if kind == "out_of_bounds":
        cure = _TEXTS["cures"]["global_index" if words["space"] == "global" else "own_index"]
    raised = at.program.exceptions[record.index] if kind == "exception" else None
    return Hazard(
        raised=raised.error if raised else None,
        kind=kind,
        severity=_severity(kind, gpu),
        file=at.file(record.line),
        line=at.line(record.line),
        other_line=at.line(record.other_line),
        thread=at.thread(record.warp, record.lane),
        other_thread=at.thread(record.other_warp, record.other_lane),
        scope=scope,
        address=element,
        count=record.count,
        what=text["what"].format(**words),
        cure=cure.format(**words),
        undefined_on=undefined_on,
        guide=_TEXTS["guides"].get(guide, ""),
    )


def _element(record: HazardRecord, kind: str, at: Places) -> str:
    """Which element of which array it is about, as far as that is known."""
    if record.array < 0:
        return ""
    if kind in ("wrapping_index", "out_of_bounds"):
        return at.program.arrays[record.array].name
    return at.element(record.array, record.offset)


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
        "after": "in which nothing changes any more,"
        if record.axis == PROVEN
        else f"after {record.length:,} instructions,",
        "lanes": _lanes(record.offset),
        "place": record.index + record.length,
    }
    if record.other_warp >= 0:
        words["other"] = at.named(record.other_warp, record.other_lane)
    words["blocked"] = ""
    if record.other_line >= 0:
        words["other_line"] = at.quoted(record.other_line)
        words["blocked"] = f", while {words.get('other')} waits in {words['other_line']}"
        words["elsewhere"] = f"waits in {words['other_line']}"
    if HAZARDS[record.kind] == "exception":
        words |= _exception(record, at)
    if record.array >= 0:
        words["array"] = at.program.arrays[record.array].name
        words["space"] = SPACES[record.space]
    return words


def _lanes(mask: int) -> str:
    """`(with lanes 1 to 5 and 7 of its warp)` of a mask of lanes; nothing of a single lane."""
    runs: list[list[int]] = []
    for lane in (lane for lane in range(WARP) if mask >> lane & 1):
        if runs and runs[-1][-1] == lane - 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    if len(runs) + sum(map(len, runs)) <= 2:
        return ""
    named = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    last = f" and {named.pop()}" if len(named) > 1 else ""
    return f" (with lanes {', '.join(named)}{last} of its warp)"


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
        "said": f"{raised.error.__name__}: {text}," if text else raised.error.__name__,
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
    if kind == "deadlock" and record.other_warp == record.warp:
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
