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
                self.races.add(_pair(record))
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
        array = record.array
        line = record.line
        if (array, line) in self.found:
            return True
        flow = self.flow
        for store in flow.accesses(line, STORES, array):
            for load in _loads_among(flow, flow.stored_from(store), array):
                read = flow.lines[load]
                if (array, *sorted((read, line))) in self.races:
                    return True
        return False

    def is_read_as_well(self, record: HazardRecord) -> bool:
        """Whether another hazard tells of the same two lines, of which one reads."""
        return _pair(record) in self.races

    def of(self, record: HazardRecord) -> Advice | None:
        """The cure of a race between two updates, or between one and another one's read."""
        lines = [record.line, record.other_line]
        if _reads(record):
            written, read = lines if record.write else reversed(lines)
            lines = [written]
            if read not in self._lines_that_read():
                return None
        updates = [self.found.get((record.array, line)) for line in lines]
        if not all(updates):
            return None
        return advice(self.flow, updates[0])

    def _lines_that_read(self) -> set[int]:
        """The lines in which an update reads its element."""
        found = set()
        for update in self.found.values():
            for load in update.loads:
                found.add(self.flow.lines[load])
        return found

    def _in_line(self, record: HazardRecord, line: int) -> Update | None:
        """The update that this line of a race makes, if it makes one.

        What is also computed from other elements may be a scan or a tree, whose threads write one
        element in different rounds; then a barrier is missing, and nothing is lost.
        """
        flow = self.flow
        for store in flow.accesses(line, STORES, record.array):
            sources = flow.stored_from(store)
            own = _same_element(flow, store, sources)
            others = _loads_among(flow, sources - own, record.array)
            if own and (not others or self._at_once(record, store)):
                return Update(store, own, False)
            looked_at = _same_element(flow, store, _deciding(flow, store))
            if looked_at and not others:
                return Update(store, looked_at, True)
        return None

    def _at_once(self, record: HazardRecord, store: int) -> bool:
        """Whether threads wrote in one line, and in one round of its loop."""
        if record.line != record.other_line:
            return False
        in_a_loop = self.flow.loop_around(store)
        return not in_a_loop or bool(record.seen & SAME_ROUND)


def _loads_among(flow: Flow, among: set[int], array: int) -> list[int]:
    """Those of the instructions that load from the array."""
    loads = [at for at in among if flow.ops[at] in LOADS]
    return [at for at in loads if flow.operand(at, "array") == array]


def _same_element(flow: Flow, store: int, among: set[int]) -> frozenset[int]:
    """Those of the instructions that load the element which the store writes."""
    if flow.ops[store] != "ST":
        return frozenset()
    loads = [at for at in among if flow.ops[at] == "LD"]
    return frozenset(at for at in loads if flow.same_element(at, store))


def _deciding(flow: Flow, store: int) -> set[int]:
    """What it depends on whether the store is reached."""
    found = set()
    for test in flow.decisions(store):
        condition = flow.operand(test, "test")
        found |= flow.computed_from(test, [condition])
    return found


def _reads(record: HazardRecord) -> bool:
    """Whether one of the two only reads."""
    return not (record.write and record.other_write)


def _pair(record: HazardRecord) -> tuple[int, int, int]:
    """The array and the pair of lines, whichever came first."""
    lines = sorted((record.line, record.other_line))
    return record.array, *lines
