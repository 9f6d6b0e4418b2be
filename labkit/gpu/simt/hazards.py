"""What the machine finds wrong in a kernel, as sentences: what, where, who, and what to do."""

import math
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from labkit.gpu.simt.ops import HAZARDS, SPACES
from labkit.gpu.simt.waiting import waits_for_memory

if TYPE_CHECKING:
    from labkit.gpu.simt.program import Program

WARP = 32


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
        kind = OutOfBounds if hazard.kind == "out_of_bounds" else cls
        error = kind(hazard.sentence)
        error.hazard = hazard
        return error


class OutOfBounds(HazardError, IndexError):
    """An index outside its array, which on a GPU reads or overwrites something else."""


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

    def __init__(self, program: "Program", grid: tuple, block: tuple, layouts: list) -> None:
        self.program, self.grid, self.block, self.layouts = program, grid, block, layouts
        self.warps = -(-math.prod(block) // WARP)
        self.contested: set[tuple[int, int]] = set()  # array and line that several threads write

    def line(self, number: int) -> int | None:
        return self.program.lines[number][1] if number >= 0 else None

    def quoted(self, number: int) -> str:
        _, line, text = self.program.lines[number]
        return f"line {line} (`{text.strip()}`)"

    def thread(self, warp: int, lane: int) -> tuple | None:
        if warp < 0:
            return None
        place = warp % self.warps * WARP + lane
        return _unravel(warp // self.warps, self.grid), _unravel(place, self.block)

    def named(self, warp: int, lane: int) -> str:
        block, thread = self.thread(warp, lane)
        return f"thread {_short(thread, self.block)} of block {_short(block, self.grid)}"

    def element(self, array: int, offset: int) -> str:
        """`tile[3, 4]` for a byte offset from the start of the array's memory."""
        spec = self.program.arrays[array]
        start, shape, strides = self.layouts[array]
        rest, index = offset - start, []
        order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))
        found = {}
        for d in order:
            found[d], rest = divmod(rest, strides[d]) if strides[d] > 0 else (0, rest)
        index = [found[d] for d in range(len(shape))]
        inside = all(0 <= i < n for i, n in zip(index, shape, strict=True)) and not rest
        return f"{spec.name}{index}" if inside else f"{spec.name} (byte {offset - start})"


def _unravel(number: int, size: tuple) -> tuple[int, int, int]:
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
    address = at.element(h.array, h.offset) if h.array >= 0 else ""
    sentence = SENTENCES[kind](h, at, scope, address)
    severity = "note" if kind == "same_value" else "error"
    lines = at.line(h.line), at.line(h.other_line)
    return Hazard(kind, severity, *lines, thread, other, scope, address, h.count, sentence)


def _race(h: object, at: Places, scope: str, address: str) -> str:
    verbs = {(0, 0): "reads", (1, 0): "writes", (1, 1): "atomically updates"}
    first = f"{at.named(h.other_warp, h.other_lane)} {verbs[h.other_write, h.other_atomic]} it in"
    later = f"{at.named(h.warp, h.lane)} {verbs[h.write, h.atomic]} it in"
    if h.line == h.other_line:
        pair = f"{first} {at.quoted(h.line)}, and {later} the same line"
    else:
        pair = f"{first} {at.quoted(h.other_line)}, {later} {at.quoted(h.line)}"
    return (
        f"Race on {address} in {SPACES[h.space]} memory: {pair}, and nothing says which comes "
        f"first. {_cure(h, at, scope)}"
    )


def _cure(h: object, at: Places, scope: str) -> str:
    one_line = h.line == h.other_line
    if one_line and (h.array, h.line) in at.contested:
        return (
            "Several threads change one element: each reads, computes and writes while the others "
            "do. Give each thread an element of its own, or use cuda.atomic."
        )
    if h.atomic != h.other_atomic:
        return (
            "An atomic protects against other atomics only: make both accesses atomic, or put "
            + ("them into two launches." if scope == "grid" else "cuda.syncthreads() between them.")
        )
    if scope == "grid":
        return (
            "They are in different blocks, which run in any order: let one block alone use this "
            "element, use cuda.atomic, or split the kernel into two launches."
        )
    if one_line:
        return (
            "If the line runs in rounds, put cuda.syncthreads() after it, where every thread of "
            "the block passes; if a barrier is there, both threads run it in one round: let only "
            "threads run it whose elements no other thread touches in that round."
        )
    if scope == "warp":
        return (
            "They are lanes of one warp, which need not run in step: put cuda.syncthreads() (or "
            "cuda.syncwarp(), if only this warp is concerned) between the two."
        )
    return (
        "They are in different warps of one block: put cuda.syncthreads() between the two, where "
        "every thread passes it (in a loop also between one round and the next)."
    )


def _same_value(h: object, at: Places, scope: str, address: str) -> str:
    return (
        f"Note: {at.named(h.other_warp, h.other_lane)} and {at.named(h.warp, h.lane)} write the "
        f"same value to {address} in {at.quoted(h.line)}. The result is right; one write would do."
    )


def _out_of_bounds(h: object, at: Places, *_: object) -> str:
    name = at.program.arrays[h.array].name
    if SPACES[h.space] == "global":
        cure = f"guard the line with an `if` against {name}.shape[{h.axis}]"
    else:
        cure = f"{name} belongs to the block or thread alone: index it by the place in the block"
    return (
        f"Out of bounds: in {at.quoted(h.line)}, {at.named(h.warp, h.lane)} uses index {h.index} "
        f"on axis {h.axis} of {name}, whose length there is {h.length}. Let only threads with a "
        f"valid index reach this line: {cure}."
    )


def _misaligned(h: object, at: Places, *_: object) -> str:
    name = at.program.arrays[h.array].name
    return (
        f"Misaligned: in {at.quoted(h.line)}, {at.named(h.warp, h.lane)} accesses {h.length} bytes "
        f"of {name} at byte {h.offset}, which is no multiple of {h.length}; a GPU stops here. "
        "Begin at a multiple of the access's size, or access smaller elements."
    )


def _divergent_barrier(h: object, at: Places, *_: object) -> str:
    here = f"{at.named(h.warp, h.lane)} waits in {at.quoted(h.line)}"
    other = at.named(h.other_warp, h.other_lane)
    there = f"waits in {at.quoted(h.other_line)}" if h.other_line >= 0 else "does not come there"
    return (
        f"Barrier in divergent code: {here}, but {other} {there}. Every thread of a block must "
        "come to the same barrier: move it out of the `if`, or out of the loop whose number of "
        "rounds differs."
    )


def _after_return(h: object, at: Places, *_: object) -> str:
    return (
        f"Barrier after a return: {at.named(h.warp, h.lane)} waits in {at.quoted(h.line)}, but "
        f"{at.named(h.other_warp, h.other_lane)} has returned in {at.quoted(h.other_line)}. Keep "
        "every thread until the last barrier: guard its work with an `if` instead of returning."
    )


def _uninitialised(h: object, at: Places, _: object, address: str) -> str:
    return (
        f"Uninitialised: in {at.quoted(h.line)}, {at.named(h.warp, h.lane)} reads {address} in "
        f"{SPACES[h.space]} memory before anything was written there. Such memory holds what was "
        "left in it: write every element that is read."
    )


def _still(h: object, at: Places) -> str:
    here = f"{at.named(h.warp, h.lane)} is still in the loop that ends in {at.quoted(h.line)}"
    return f"{here} after {h.length:,} instructions"


def _endless(h: object, at: Places, *_: object) -> str:
    return (
        f"Endless loop: {_still(h, at)}. Check what changes in the loop and when its condition "
        "becomes false; a kernel that needs longer can be given more with the environment variable "
        "LABKIT_SIMT_STEPS."
    )


def _deadlock(h: object, at: Places, *_: object) -> str:
    if h.other_warp >= 0:
        return (
            f"Deadlock: {_still(h, at)} and waits for a value in memory, while "
            f"{at.named(h.other_warp, h.other_lane)} of the same warp has left the loop and waits "
            "for it there. Lanes of one warp must not wait for each other: let one lane do the "
            "waiting for its warp, or let each lane do its work inside the loop."
        )
    return (
        f"Deadlock: {_still(h, at)} and waits for a value in memory that no thread writes any "
        "more. Check who writes it, and whether that thread waits as well."
    )


def _inactive_lane(h: object, at: Places, *_: object) -> str:
    if h.index < 0:
        return (
            f"Inactive lane: in {at.quoted(h.line)}, {at.named(h.warp, h.lane)} takes the value of "
            f"lane {h.other_lane}, which does not take part; what it gets is undefined. Let all "
            "lanes of the warp reach this line, or read from an active one."
        )
    return (
        f"Inactive lane: in {at.quoted(h.line)} the mask is {h.index & 0xFFFFFFFF:#010x}, but the "
        f"lanes that are here are {h.length & 0xFFFFFFFF:#010x} ({at.named(h.warp, h.lane)} is in "
        "only one of the two). Name in the mask exactly the lanes that reach the line."
    )


def _division(h: object, at: Places, *_: object) -> str:
    return (
        f"Division by zero: in {at.quoted(h.line)}, {at.named(h.warp, h.lane)} divides an integer "
        "by 0. A GPU gives a meaningless number there: guard the line."
    )


def _too_large(h: object, at: Places, *_: object) -> str:
    return (
        f"Too large: {at.quoted(h.line)} needs more memory on this machine than there is, or more "
        "than a profile can follow. Launch fewer threads, or use smaller arrays."
    )


SENTENCES = {
    "too_large": _too_large,
    "race": _race,
    "same_value": _same_value,
    "out_of_bounds": _out_of_bounds,
    "misaligned": _misaligned,
    "divergent_barrier": _divergent_barrier,
    "barrier_after_return": _after_return,
    "uninitialised": _uninitialised,
    "deadlock": _deadlock,
    "endless_loop": _endless,
    "inactive_lane": _inactive_lane,
    "division_by_zero": _division,
}
