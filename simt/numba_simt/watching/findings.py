"""A finding: what is wrong in a kernel, wherever and however often the launches showed it."""

import linecache
import os
from dataclasses import dataclass, field
from typing import NamedTuple

from numba_simt.execution.hazards import Hazard
from numba_simt.program import Program

ELEMENTS = 4  # that a finding names
ERROR, WARNING, NOTE = SEVERITIES = ("error", "warning", "note")
SCOPES = ("", "warp", "block", "grid")  # the farther apart, the more GPUs it is wrong on
Place = tuple[int, int, int]
_NOWHERE = ("out_of_bounds",)  # kinds that are at no element of an array


@dataclass
class Finding:
    """One thing that is wrong, merged over all launches that showed it.

    `line` is where it was noticed: of two accesses the later one. `threads` are who did it there,
    and who did it in `other_line`; of all that were merged, two that are farthest apart, as
    `scope` says. `count` is how often it was seen, in `launches` launches.
    """

    kind: str
    severity: str
    what: str
    cure: str
    undefined_on: str  # the target; "" where it is undefined on all
    guide: str  # address of the CUDA guide's section, or ""
    kernel: str
    file: str
    line: int
    text: str
    other_line: int | None
    other_text: str
    threads: list[str]
    scope: str  # what two threads share: "warp", "block" or "grid"; "" where it is not about two
    launch: str  # the first that showed it
    elements: list[str] = field(default_factory=list)
    count: int = 0
    launches: int = 0
    silenced: str = ""  # by what, or ""

    @property
    def shown_file(self) -> str:
        """The file's name as seen from the current folder."""
        return shown_path(self.file)

    @property
    def lines(self) -> list[int]:
        """The line, and the other one if there is one."""
        return [line for line in (self.line, self.other_line) if line is not None]

    def same_as(self) -> tuple:
        """Findings that agree in this are one."""
        return self.kind, self.file, *sorted(self.lines), self.kernel

    def add(self, other: "Finding") -> None:
        """Takes in what another launch, order or array showed of the same."""
        self.count += other.count
        self.launches += other.launches
        first, then = (self, other) if self.rank >= other.rank else (other, self)
        fresh = [one for one in then.elements if one not in first.elements]
        self.elements = (first.elements + fresh)[:ELEMENTS]
        for name in _EXAMPLE:
            setattr(self, name, getattr(first, name))

    @property
    def rank(self) -> int:
        """The larger, the farther apart the two threads were."""
        return SCOPES.index(self.scope)


# What is shown of one out of many: it belongs together.
_EXAMPLE = (
    *("what", "cure", "undefined_on", "guide", "line", "text", "other_line", "other_text"),
    *("threads", "scope", "launch"),
)


class Launch(NamedTuple):
    """Where a hazard was seen."""

    program: Program
    grid: Place
    block: Place

    def __str__(self) -> str:
        return f"{self.program.name}[{short(self.grid)}, {short(self.block)}]"


def short(size: Place) -> str:
    """(4, 1, 1) is 4, (4, 2, 1) is (4, 2)."""
    x, y, z = size
    if z > 1:
        return str((x, y, z))
    return str((x, y)) if y > 1 else str(x)


def shown_path(file: str) -> str:
    """A path below the current folder without that folder; any other one as it is."""
    try:
        return file.removeprefix(os.getcwd() + os.sep)
    except OSError:  # the folder is gone
        return file


def finding_of(hazard: object, launch: Launch) -> Finding:
    """The finding for one of the machine's hazards."""
    program = launch.program
    said = _said(hazard, program)
    file = said["file"]
    threads = [hazard.thread, hazard.other_thread]
    return Finding(
        kind=hazard.kind,
        severity=hazard.severity,
        **said,
        kernel=program.name,
        line=hazard.line,
        text=_text(program, file, hazard.line),
        other_line=hazard.other_line,
        other_text=_text(program, file, hazard.other_line),
        threads=[_named(one, launch) for one in threads if one],
        scope=hazard.scope or "",
        launch=str(launch),
        elements=[hazard.address] if hazard.address and hazard.kind not in _NOWHERE else [],
        count=max(1, hazard.count),  # what stops a kernel is not counted by the machine
        launches=1,
    )


def _said(hazard: Hazard, program: Program) -> dict[str, str]:
    """The parts of what a hazard says."""
    return {
        "what": hazard.what,
        "cure": hazard.cure,
        "undefined_on": hazard.undefined_on,
        "guide": hazard.guide,
        "file": hazard.file or _file_of(program, hazard.line),
    }


def _file_of(program: Program, line: int) -> str:
    """The file of a line: the kernel's own where it has such a line, else a device function's."""
    files = [one.filename for one in program.lines if one.number == line]
    return program.filename if program.filename in files or not files else files[0]


def _text(program: Program, file: str, line: int | None) -> str:
    """A line's text without indentation; of another file where this one has no such line."""
    if line is None:
        return ""
    known = {one.filename: one.text for one in program.lines if one.number == line}
    return linecache.getline(file, line).strip() or known.get(file, "") or "".join(known.values())


def _named(thread: tuple[Place, Place], launch: Launch) -> str:
    """`thread 3 of block (1, 0)`"""
    block, own = thread
    return f"thread {_place(own, launch.block)} of block {_place(block, launch.grid)}"


def _place(place: Place, size: Place) -> str:
    """(3, 0, 0) of what extends along x alone is 3."""
    used = 3 if size[2] > 1 else 2 if size[1] > 1 else 1
    return str(place[0]) if used == 1 else str(place[:used])
