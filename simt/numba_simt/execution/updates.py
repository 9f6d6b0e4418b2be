"""Elements that several threads read, change and write, so that updates are lost."""

from collections.abc import Sequence

from numba_simt.execution.atomic_calls import Advice, Update, advice
from numba_simt.execution.flow import LOADS, STORES, Flow
from numba_simt.execution.structs import SAME_ROUND, HazardRecord


class Updates:
    """The updates in one launch that were lost, or may be: more than one thread made them."""

    def __init__(self, flow: Flow, records: Sequence[HazardRecord]) -> None:
        self.flow = flow
        self.races: set[tuple] = set()  # of arrays and pairs of lines, of which one reads
        self.found: dict[tuple[int, int], Update] = {}  # by array and line
        for record in records:
            if _reads(record):
                self.races.add(_pair(record.array, record.line, record.other_line))
            else:
                self._note(record)

    def _note(self, record: HazardRecord) -> None:
        """Keeps the updates of two threads that write one element."""
        here = self._in_line(record, record.line)
        there = self._in_line(record, record.other_line)
        if here and there:
            self.found[record.array, record.line] = here
            self.found[record.array, record.other_line] = there

    def loses(self, record: HazardRecord) -> bool:
        """Whether two writes of the same value were computed from what another thread changes."""
        array, line = record.array, record.line
        if (array, line) in self.found:
            return True
        for store in self._stores(array, line):
            for at in self.flow.stored_from(store):
                if self._loads_from(at, array):
                    read = self.flow.lines[at]
                    if _pair(array, read, line) in self.races:
                        return True
        return False

    def is_read_as_well(self, record: HazardRecord) -> bool:
        """Whether another hazard tells of the same two lines, of which one reads."""
        return _pair(record.array, record.line, record.other_line) in self.races

    def of(self, record: HazardRecord) -> Advice | None:
        """The cure of a race between two updates, or between one and another one's read."""
        lines = [record.line, record.other_line]
        if _reads(record):
            written, read = lines if record.write else reversed(lines)
            lines = [written]
            if read not in self._lines_that_read():
                return None
        updates = [self.found.get((record.array, line)) for line in lines]
        return advice(self.flow, updates[0]) if all(updates) else None

    def _lines_that_read(self) -> set[int]:
        """The lines in which an update reads its element."""
        found = set()
        for update in self.found.values():
            found |= {self.flow.lines[load] for load in update.loads}
        return found

    def _stores(self, array: int, line: int) -> list[int]:
        return self.flow.accesses(line, STORES, array)

    def _in_line(self, record: HazardRecord, line: int) -> Update | None:
        """The update that this line of a race makes, if it makes one."""
        for store in self._stores(record.array, line):
            sources = self.flow.stored_from(store)
            own = self._loads_of(store, sources)
            others = [at for at in sources - own if self._loads_from(at, record.array)]
            at_once = record.seen & SAME_ROUND or not self.flow.loop_around(store)
            in_step = record.line == record.other_line and at_once
            if own and (in_step or not others):
                return Update(store, own, False)
            looked_at = self._looked_at(store)
            if looked_at and not others:
                return Update(store, looked_at, True)
        return None

    def _looked_at(self, store: int) -> frozenset[int]:
        """Loads of the element on which it depends whether it is written."""
        found = set()
        for test in self.flow.decisions(store):
            condition = self.flow.operand(test, "test")
            found |= self.flow.computed_from(test, [condition])
        return self._loads_of(store, found)

    def _loads_from(self, at: int, array: int) -> bool:
        return self.flow.ops[at] in LOADS and self.flow.operand(at, "array") == array

    def _loads_of(self, store: int, among: set[int]) -> frozenset[int]:
        """Those of the instructions that load the element which the store writes."""
        flow = self.flow
        if flow.ops[store] != "ST":
            return frozenset()
        loads = (at for at in among if flow.ops[at] == "LD")
        return frozenset(at for at in loads if flow.same_element(at, store))


def _reads(record: HazardRecord) -> bool:
    """Whether one of the two only reads."""
    return not (record.write and record.other_write)


def _pair(array: int, line: int, other: int) -> tuple[int, int, int]:
    """The pair of lines, whichever came first, and the array."""
    return array, min(line, other), max(line, other)
