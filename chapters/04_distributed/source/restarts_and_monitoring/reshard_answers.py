"""Shards whose reading is counted: exercise distributed.reshard.

counted_reads(answer)(shards, ranks, rank) -> the rows of this rank, or Refused
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.checks.items import CostLimitExceeded, Refused, Unsolved, refuse_no_function
from labkit.checks.phrasing import counted
from labkit_lessons.distributed.restarts_and_monitoring.by_hand import share

NOTHING_READ = (
    "No row is read, where the part has some. Look at every file, also behind one that has none of "
    "them. And `begin` and `end` count the rows through all files, while a file's rows begin again "
    "with 0: add up the lengths of the files before it."
)


class Rows:
    """One saved shard [rows, D] that counts what is read of it.

    first   the place of its first row among the rows of all shards
    """

    def __init__(self, rows: np.ndarray, first: int) -> None:
        self._rows = rows
        self._first = first
        self.rows_read = 0

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows begin to end - 1 of this shard; Refused where it has not got them."""
        if not 0 <= begin <= end <= len(self):
            asked = f"`read({begin}, {end})` of a file with {counted(len(self), 'row')}"
            raise Refused(f"{asked}: {self._why_not(begin, end)}")
        self.rows_read += end - begin
        return self._rows[begin:end].copy()

    def _why_not(self, begin: int, end: int) -> str:
        """What is wrong with a read that goes beyond this file, or backwards."""
        if end < begin:
            return (
                "`end` is the first row that is not read, and no count. A file that has no row of "
                "the part is not read at all."
            )
        through_all = self._first <= begin and end <= self._first + len(self)
        if begin < 0 or (through_all and begin < end):
            return "a file's rows are counted from its own first one, which is 0."
        if begin == end:
            return "no row is asked for. A file that has no row of the part is not read at all."
        return f"the file ends at row {len(self)}; a part may end behind it, in another file."


def as_files(shards: Sequence[np.ndarray]) -> list[Rows]:
    """The shards as files, in the order of their rows."""
    files = []
    first = 0
    for shard in shards:
        files.append(Rows(shard, first))
        first += len(shard)
    return files


def counted_reads(answer: object, look_at_cost: bool = True) -> Callable[..., np.ndarray]:
    """The answer with files for arrays; CostLimitExceeded where it reads more than it returns."""
    refuse_no_function(answer)

    def resharded(shards: Sequence[np.ndarray], ranks: int, rank: int) -> np.ndarray:
        files = as_files(shards)
        given = list(files)
        try:
            found = answer(given, ranks, rank)
        except ValueError as error:
            if "need at least one array" not in str(error):  # of np.concatenate([])
                raise
            if rank == 0:
                raise Unsolved("no row is read") from None
            raise Refused(NOTHING_READ) from None
        if look_at_cost and given != files:
            raise Refused("The function changes its input `files`: the next tensor needs them.")
        if isinstance(found, list):
            found = np.array(found)
        total = sum(len(shard) for shard in shards)
        begin, end = share(total, ranks, rank)
        read = sum(file.rows_read for file in files)
        right = np.array_equal(found, np.concatenate(shards)[begin:end])
        if look_at_cost and right and read < end - begin:
            raise Refused("These rows were not read by `file.read`, which a file on a disk needs.")
        if look_at_cost and right and read > end - begin:
            raise CostLimitExceeded(
                f"The rows are right, but {read} rows were read for a part of {end - begin}: a "
                f"model of which no rank can hold all cannot be loaded like this."
            )
        return found

    return resharded
