"""What the machine finds wrong in a kernel, as sentences: what, where, who, and what to do."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from labkit.gpu.simt.ops import HAZARDS, SPACES
from labkit.gpu.simt.values import Program
from labkit.gpu.simt.waiting import waits_for_memory

WARP = 32
_TEXTS = tomllib.loads(Path(__file__).with_name("hazards.toml").read_text("utf-8"))


class KernelError(RuntimeError):
    """A kernel that cannot be launched, or that had to be stopped."""


class CompileError(KernelError):
    """A kernel that uses what CUDA Python, or this machine, does not have."""

    def __init__(self, sentence: str, filename: str = "", line: int = 0, text: str = "") -> None:
        where = f"line {line}: `{text.strip()}`: " if line else ""
        super().__init__(where + sentence)
        self.filename, self.line, self.text = filename, line, text


class HazardError(KernelError):
    """A launch that had to be stopped; `hazard` says why."""

    hazard: "Hazard"

    @classmethod
    def of(cls, hazard: "Hazard") -> "HazardError":
        kinds = {"out_of_bounds": OutOfBounds, "division_by_zero": DividedByZero}
        kind = kinds.get(hazard.kind, cls)
        error = kind(hazard.sentence)
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

    def __str__(self) -> str:
        return fill(self.sentence, 100, subsequent_indent="  ")


class Places:
    """Names for what the machine knows by number: lines, threads, elements of arrays."""

    def __init__(self, program: Program, grid: tuple, block: tuple, arrays: Sequence) -> None:
        self.program, self.grid, self.block, self.arrays = program, grid, block, arrays
        self.warps = -(-math.prod(block) // WARP)
        self.contested: set[tuple[int, int]] = set()  # array and line that several threads write

    def line(self, number: int) -> int | None:
        return self.program.lines[number].number if number >= 0 else None

    def quoted(self, number: int) -> str:
        line = self.program.lines[number]
        quoted = f"line {line.number} (`{line.text}`)"
        if not (call := line.call):
            return quoted
        return f"line {call.number} (`{call.text}`), inside {line.function}, {quoted}"

    def thread(self, warp: int, lane: int) -> tuple | None:
        if warp < 0:
            return None
        place = warp % self.warps * WARP + lane
        return unravel(warp // self.warps, self.grid), unravel(place, self.block)

    def named(self, warp: int, lane: int) -> str:
        block, thread = self.thread(warp, lane)
        return f"thread {_short(thread, self.block)} of block {_short(block, self.grid)}"

    def element(self, array: int, offset: int) -> str:
        """`tile[3, 4]` for a byte offset from the start of the array's memory."""
        name, a = self.program.arrays[array].name, self.arrays[array]
        start = a.offset if self.program.arrays[array].space == "global" else a.base or 0
        rest, index = offset - start, [0] * a.dimensions
        for d in sorted(range(a.dimensions), key=lambda d: -abs(a.strides[d])):
            if a.strides[d] > 0:
                index[d], rest = divmod(rest, a.strides[d])
        inside = all(0 <= i < n for i, n in zip(index, a.shape, strict=False)) and not rest
        return f"{name}{index}" if inside else f"{name} (byte {offset - start})"


def unravel(number: int, size: tuple) -> tuple[int, int, int]:
    x, y, _ = size
    return number % x, number // x % y, number // (x * y)


def _short(place: tuple, size: tuple) -> str:
    """(3, 0, 0) of a one-dimensional block is "3"."""
    used = 3 if size[2] > 1 else 2 if size[1] > 1 else 1
    return str(place[0]) if used == 1 else str(place[:used])


def describe_all(records: list, at: Places) -> tuple[Hazard, ...]:
    """Sentences for the machine's records."""
    for h in records:
        if HAZARDS[h.kind] == "race" and h.write and h.other_write and h.line == h.other_line:
            at.contested.add((h.array, h.line))
    return tuple(describe(h, at) for h in records)


def describe(h: object, at: Places) -> Hazard:
    """The sentence for a record of the machine (`Hazard` in c/machine.h)."""
    kind = HAZARDS[h.kind]
    if kind == "endless_loop" and waits_for_memory(at.program, h.index):
        kind = "deadlock"
    thread, other = at.thread(h.warp, h.lane), at.thread(h.other_warp, h.other_lane)
    scope = None
    if kind in ("race", "same_value"):
        same_block = h.warp // at.warps == h.other_warp // at.warps
        scope = "warp" if h.warp == h.other_warp else "block" if same_block else "grid"
    element = at.element(h.array, h.offset) if h.array >= 0 else ""
    sentence = _sentence(kind, h, at, scope, element)
    severity = "note" if kind == "same_value" else "error"
    lines = at.line(h.line), at.line(h.other_line)
    return Hazard(kind, severity, *lines, thread, other, scope, element, h.count, sentence)


def _sentence(kind: str, h: object, at: Places, scope: str | None, element: str) -> str:
    """The template of hazards.toml, filled."""
    words = {"elsewhere": "does not come there"}
    words |= {name: getattr(h, name) for name in ("index", "axis", "length", "offset")}
    words |= {"thread": at.named(h.warp, h.lane), "line": at.quoted(h.line), "element": element}
    words |= {"lane": h.other_lane, "mask": h.index & 0xFFFFFFFF, "here": h.length & 0xFFFFFFFF}
    if h.other_warp >= 0:
        words["other"] = at.named(h.other_warp, h.other_lane)
    if h.other_line >= 0:
        words["other_line"] = at.quoted(h.other_line)
        words["elsewhere"] = f"waits in {words['other_line']}"
    if h.array >= 0:
        words |= {"array": at.program.arrays[h.array].name, "space": SPACES[h.space]}
    if kind == "race":
        words |= _both(h, words)
        words["cure"] = _TEXTS["cure"][_cure(h, at, scope)]
    if kind == "out_of_bounds":
        where = "global_index" if words["space"] == "global" else "own_index"
        words["cure"] = _TEXTS["cure"][where].format(**words)
    if kind == "division_by_zero" and h.index:
        kind = "division_in_debug"
    if kind == "deadlock" and h.other_warp >= 0:
        kind = "deadlock_in_warp"
    if kind == "inactive_lane" and h.index < 0:
        kind = "inactive_source" if h.index == -1 else "inactive_matrix"
    elif kind == "inactive_lane" and words["mask"] == 0xFFFFFFFF:
        kind = "absent_lane"
    return _TEXTS[kind].format(**words)


def _both(h: object, words: dict) -> dict[str, str]:
    """Who did what in which line, first and later."""
    verbs = {(0, 0): "reads", (1, 0): "writes", (1, 1): "atomically updates"}
    line = "the same line" if h.line == h.other_line else words["line"]
    return {
        "first": f"{words['other']} {verbs[h.other_write, h.other_atomic]} it in "
        f"{words['other_line']}",
        "later": f"{words['thread']} {verbs[h.write, h.atomic]} it in {line}",
    }


def _cure(h: object, at: Places, scope: str) -> str:
    """Which cure of hazards.toml fits a race."""
    if h.line == h.other_line and (h.array, h.line) in at.contested:
        return "contested"
    if h.atomic != h.other_atomic:
        return "atomic_grid" if scope == "grid" else "atomic"
    if scope != "grid" and h.line == h.other_line:
        return "one_line"
    return scope
