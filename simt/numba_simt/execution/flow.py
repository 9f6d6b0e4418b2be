"""What a program's instructions tell without running it: who computes from what, loops, branches.

A register may be written in several places. Which of them an instruction sees is found as in any
structured program: going back from it, up to the first place that every path passes; and in a loop
also what stands behind it.
"""

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property

from numba_simt.ops import (
    COLUMNS,
    FIRST,
    INSTRUCTIONS,
    NONE,
    OPS,
    WRITES_A_REGISTER,
    column,
)
from numba_simt.program import Program

LOADS = {"LD", "LDV"}
STORES = {"ST", "STV"}
ATOMICS = {name for name in OPS if name.startswith("ATOMIC_")}
BARRIERS = {"GRIDSYNC"} | {name for name in OPS if name.startswith("BARRIER")}
COPIES = {"MOV", "COPY", "CVT", "NARROW", "TRUNCATE"}
JUMPS = {"JMP", "NEXT"}
TESTS = {"IF", "TEST", "JZ"}
_NO_REGISTERS = {
    *("result", "function", "to", "width", "axis", "array", "target", "frames", "none"),
    *("error", "stops", "count", "print"),
}
_OF_FOUR = {"LDV": "result", "STV": "value"}  # the first of four registers
_DEEPEST = 24  # of an expression that is compared with another one
Span = tuple[int, int]  # first and last instruction


class Flow:
    """The instructions of one program, by their numbers."""

    def __init__(self, program: Program) -> None:
        self.program = program
        rows = program.code.tolist()
        self.ops = [OPS[row[0]] for row in rows]
        self.operands = [row[FIRST : COLUMNS - 1] for row in rows]
        self.lines = [row[-1] for row in rows]
        self._seen: dict[tuple[int, int], list[int]] = {}
        self._stored: dict[int, set[int]] = {}
        self.values = {~register: value for register, _, value in program.constants}

    def operand(self, at: int, name: str) -> int:
        """The operand of that name of instruction `at`."""
        return self.operands[at][column(self.ops[at], name) - FIRST]

    def accesses(self, line: int, kinds: Iterable[str], array: int | None = None) -> list[int]:
        """Instructions of those kinds in a line (of Program.lines), of one array or of all."""
        return [
            at
            for at, op in enumerate(self.ops)
            if self.lines[at] == line and op in kinds and array in (None, self.operand(at, "array"))
        ]

    def index(self, at: int) -> list[int]:
        """The registers of an access's index."""
        start = column(self.ops[at], "index") - FIRST
        dimensions = len(self.program.arrays[self.operand(at, "array")].shape)
        return self.operands[at][start : start + dimensions]

    # who computes from what

    def _reads(self, at: int) -> Iterator[int]:
        """The registers that instruction `at` reads."""
        op = self.ops[at]
        for name in INSTRUCTIONS[op].operands:
            if name == "index":
                yield from self.index(at)
            elif name not in _NO_REGISTERS:
                first = self.operand(at, name)
                count = 4 if _OF_FOUR.get(op) == name else 1
                yield from (first + i for i in range(count) if first != NONE)

    @cached_property
    def _writers(self) -> dict[int, list[int]]:
        """The instructions that write a register, in their order."""
        found: dict[int, list[int]] = {}
        for at, op in enumerate(self.ops):
            if op in WRITES_A_REGISTER or op == "NEXT":
                first = self.operand(at, "counter" if op == "NEXT" else "result")
                count = 4 if op in ("LDV", "MMA") else 1
                for register in range(first, first + count if first != NONE else first):
                    found.setdefault(register, []).append(at)
        return found

    def seen_by(self, at: int, register: int) -> list[int]:
        """The instructions that may have written the register when instruction `at` reads it."""
        if (at, register) not in self._seen:
            self._seen[at, register] = self._search(at, register)
        return self._seen[at, register]

    def _search(self, at: int, register: int) -> list[int]:
        writers = self._writers.get(register, [])
        found, certain = [], -1
        for one in reversed([w for w in writers if w < at]):
            found.append(one)
            if not self.is_conditional(one, at):
                certain = one
                break
        around = [start for start, end in self.loops if certain < start <= at <= end]
        if around:
            end = max(end for start, end in self.loops if start in around and at <= end)
            found += [w for w in writers if at <= w <= end]
        return found

    def computed_from(self, at: int, registers: Iterable[int]) -> set[int]:
        """The instructions from which the registers, as `at` reads them, are computed."""
        found: set[int] = set()
        open_ = [(at, register) for register in registers]
        while open_:
            reader, register = open_.pop()
            for writer in self.seen_by(reader, register):
                if writer not in found:
                    found.add(writer)
                    open_ += [(writer, r) for r in self._reads(writer)]
        return found

    def stored_from(self, store: int) -> set[int]:
        """The instructions from which a store's value is computed."""
        if store not in self._stored:
            first = self.operand(store, "value")
            count = 4 if self.ops[store] == "STV" else 1
            self._stored[store] = self.computed_from(store, range(first, first + count))
        return self._stored[store]

    def expression(self, at: int, register: int, depth: int = 0) -> Hashable:
        """The register as `at` reads it; equal for what is computed in the same way."""
        if register in self.values:
            return "constant", self.values[register]
        writers = self.seen_by(at, register)
        if len(writers) != 1 or writers[0] >= at or depth > _DEEPEST:
            return "variable", register, tuple(writers)
        (writer,) = writers
        op = self.ops[writer]
        if op in ATOMICS or op in ("NEXT", "MMA", "LDV"):
            return "variable", register, writer
        inner = tuple(self.expression(writer, r, depth + 1) for r in self._reads(writer))
        if op in ("MOV", "COPY"):
            return inner[0]
        array = self.operand(writer, "array") if op == "LD" else None
        return op, array, inner

    def same_element(self, one: int, other: int) -> bool:
        """Whether two accesses have the same array and, as they are written, the same index."""
        if self.operand(one, "array") != self.operand(other, "array"):
            return False
        pairs = zip(self.index(one), self.index(other), strict=True)
        return all(self.expression(one, a) == self.expression(other, b) for a, b in pairs)

    def origin(self, at: int, register: int) -> int | None:
        """The one instruction that computed the register, behind copies and conversions."""
        while True:
            writers = self.seen_by(at, register)
            if len(writers) != 1 or writers[0] >= at:
                return None
            (at,) = writers
            if self.ops[at] not in COPIES:
                return at
            register = self.operand(at, "a")

    # loops and branches

    @cached_property
    def loops(self) -> list[Span]:
        """Of each loop its first instruction and its jump back, the inner ones first."""
        found = [
            (self.operand(at, "target"), at)
            for at, op in enumerate(self.ops)
            if op in JUMPS and self.operand(at, "target") <= at
        ]
        return sorted(found, key=lambda span: span[1] - span[0])

    @cached_property
    def branches(self) -> list[Span]:
        """What only some threads or rounds come to: behind a condition, or in an `else`."""
        found = []
        for at, op in enumerate(self.ops):
            if op in TESTS or op in ("ELSE", "LOOPELSE", "JMP"):
                end = self.operand(at, "target") - 1
                if end > at:
                    found.append((at + 1, end))
        return found

    @property
    def divergent_branches(self) -> list[Span]:
        """Those of them that lanes of a warp may take differently."""
        return [span for span in self.branches if self.ops[span[0] - 1] in ("IF", "ELSE")]

    def loop_around(self, *places: int) -> Span | None:
        """The innermost loop that holds all of these instructions."""
        around = (loop for loop in self.loops if all(loop[0] <= p <= loop[1] for p in places))
        return next(around, None)

    def is_conditional(self, at: int, *others: int) -> bool:
        """Whether `at` stands in a branch in which one of the others does not."""
        return any(
            start <= at <= end and not all(start <= other <= end for other in others)
            for start, end in self.branches
        )

    def within(self, start: int, end: int, kinds: Iterable[str]) -> list[int]:
        """The instructions of those kinds from `start` to `end`."""
        return [at for at in range(max(start, 0), end + 1) if self.ops[at] in kinds]

    def decisions(self, at: int) -> list[int]:
        """The conditions, of branches and loops, on which it depends whether `at` is reached."""
        return [
            start - 1
            for start, end in self.branches
            if start <= at <= end and self.ops[start - 1] in TESTS
        ]
