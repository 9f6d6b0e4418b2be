"""Elements that several threads read, change and write: lost updates, and the atomic for each."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from numba_simt.execution.flow import LOADS, STORES, Flow
from numba_simt.execution.structs import SAME_ROUND, HazardRecord
from numba_simt.ops import MATH2

NAMES = {"ADD": "add", "SUB": "sub", "AND": "and_", "OR": "or_", "XOR": "xor"}
NAMES |= {"MAX": "max", "MIN": "min", "fmax": "max", "fmin": "min"}
NAMES |= {"own_fmax": "max", "own_fmin": "min", "own_maximum": "max", "own_minimum": "min"}
ATOMIC_TYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
NOT_SUBTRACTED = ("int64", "uint64")  # cuda.atomic.sub takes none of these


class Update(NamedTuple):
    """A store of what was computed from the same element; or after a look at it (`checked`)."""

    store: int
    loads: frozenset[int]
    checked: bool


class Advice(NamedTuple):
    """A cure of hazards.toml, and the call of cuda.atomic that does the update."""

    cure: str
    call: str


class Updates:
    """The updates in one launch that were lost, or may be: more than one thread made them."""

    def __init__(self, flow: Flow, records: Sequence[HazardRecord]) -> None:
        self.flow = flow
        self.races = {(r.array, frozenset((r.line, r.other_line))) for r in records if _reads(r)}
        self.found: dict[tuple[int, int], Update] = {}
        for record in records:
            updates = [self._in_line(record, line) for line in (record.line, record.other_line)]
            if all(updates) and not _reads(record):
                for line, update in zip((record.line, record.other_line), updates, strict=True):
                    self.found[record.array, line] = update

    def loses(self, record: HazardRecord) -> bool:
        """Whether two writes of the same value were computed from what another thread changes."""
        if (record.array, record.line) in self.found:
            return True
        return any(
            (record.array, frozenset((self.flow.lines[load], record.line))) in self.races
            for store in self._stores(record.array, record.line)
            for load in self.flow.stored_from(store)
            if self.flow.ops[load] in LOADS
        )

    def is_read_as_well(self, record: HazardRecord) -> bool:
        """Whether another hazard tells of the same two lines, of which one reads."""
        return (record.array, frozenset((record.line, record.other_line))) in self.races

    def of(self, record: HazardRecord) -> Advice | None:
        """The cure of a race between two updates, or between one and another one's read."""
        lines = [record.line, record.other_line]
        updates = [self.found.get((record.array, line)) for line in lines]
        written = [u for u, write in zip(updates, _writes(record), strict=True) if write]
        if not all(written):
            return None
        if _reads(record):
            read_line = record.other_line if record.write else record.line
            loads = {load for update in self.found.values() for load in update.loads}
            if read_line not in {self.flow.lines[load] for load in loads}:
                return None
        return self._advice(written[0])

    def _stores(self, array: int, line: int) -> list[int]:
        return self.flow.accesses(line, STORES, array)

    def _in_line(self, record: HazardRecord, line: int) -> Update | None:
        """The update that this line of a race makes, if it makes one."""
        for store in self._stores(record.array, line):
            sources = self.flow.stored_from(store)
            own = self._loads_of(store, sources)
            others = {
                at
                for at in sources - own
                if self.flow.ops[at] in LOADS and self.flow.operand(at, "array") == record.array
            }
            at_once = record.seen & SAME_ROUND or not self.flow.loop_around(store)
            in_step = record.line == record.other_line and at_once
            if own and (in_step or not others):
                return Update(store, own, False)
            for test in self.flow.decisions(store):
                deciding = self.flow.computed_from(test, [self.flow.operand(test, "test")])
                looked_at = self._loads_of(store, deciding)
                if looked_at and not others:
                    return Update(store, looked_at, True)
        return None

    def _loads_of(self, store: int, among: set[int]) -> frozenset[int]:
        """Those of the instructions that load the element which the store writes."""
        return frozenset(
            at
            for at in among
            if self.flow.ops[at] == "LD"
            and self.flow.ops[store] == "ST"
            and self.flow.same_element(at, store)
        )

    def _advice(self, update: Update) -> Advice:
        dtype = self.flow.program.arrays[self.flow.operand(update.store, "array")].dtype.name
        if dtype not in ATOMIC_TYPES:
            return Advice("update_untyped", dtype)
        name = self._looks_for(update) if update.checked else self._operation(update)
        if name is None:
            return Advice("update_otherwise", "cuda.atomic.cas")
        negative = name == "sub" and dtype in NOT_SUBTRACTED
        call = self._call(update.store, "add" if negative else name, negative)
        return Advice("update_checked" if update.checked else "update", call)

    def _looks_for(self, update: Update) -> str:
        """The atomic that looks and writes in one: of m < x max, of x < m min, of equality cas."""
        for test in self.flow.decisions(update.store):
            at = self.flow.origin(test, self.flow.operand(test, "test"))
            if at is not None and self.flow.ops[at] in ("LT", "LE"):
                left = self.flow.origin(at, self.flow.operand(at, "a"))
                return "max" if left in update.loads else "min"
        return "cas"

    def _operation(self, update: Update) -> str | None:
        """The operation between the element and the rest, if cuda.atomic has it."""
        flow = self.flow
        at = flow.origin(update.store, flow.operand(update.store, "value"))
        if at is None:
            return None
        op = flow.ops[at]
        left, right = (self._is_element(at, name, update) for name in ("a", "b"))
        if op == "SELECT":
            return self._choice(at)
        if op == "MATH2":
            op = tuple(MATH2)[flow.operand(at, "function")]
        usable = left or (right and op != "SUB")
        return NAMES.get(op) if usable else None

    def _is_element(self, at: int, name: str, update: Update) -> bool:
        """Whether that operand of the instruction is the element as it was read."""
        try:
            operand = self.flow.operand(at, name)
        except ValueError:
            return False
        return self.flow.origin(at, operand) in update.loads

    def _choice(self, at: int) -> str | None:
        """The larger or the smaller of two, as `max` and `min` compile."""
        flow = self.flow
        test = flow.origin(at, flow.operand(at, "test"))
        if test is None or flow.ops[test] not in ("LT", "LE"):
            return None
        chosen = flow.expression(at, flow.operand(at, "a"))
        sides = [flow.expression(test, flow.operand(test, name)) for name in ("a", "b")]
        return {sides[0]: "min", sides[1]: "max"}.get(chosen)

    def _call(self, store: int, name: str, negative: bool) -> str:
        """`cuda.atomic.add(h, b, 1)`, in the names of the line; its name alone if that fails."""
        call = f"cuda.atomic.{name}"
        try:
            (line,) = ast.parse(self.flow.program.lines[self.flow.lines[store]].text.strip()).body
        except (SyntaxError, ValueError):
            return call
        target = getattr(line, "target", None) or getattr(line, "targets", [None])[0]
        if not isinstance(target, ast.Subscript):
            return call
        value = "..."
        if isinstance(line, ast.AugAssign):
            value = ast.unparse(line.value)
            value = f"-({value})" if negative else value
        array, index = ast.unparse(target.value), ast.unparse(target.slice)
        if isinstance(target.slice, ast.Tuple):
            index = f"({index.strip('()')})"
        comparand = "..., " if name == "cas" else ""
        return f"{call}({array}, {index}, {comparand}{value})"


def _writes(record: HazardRecord) -> tuple[bool, bool]:
    return bool(record.write), bool(record.other_write)


def _reads(record: HazardRecord) -> bool:
    """Whether one of the two only reads."""
    return not (record.write and record.other_write)
