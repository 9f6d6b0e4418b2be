"""Shards whose reading is counted: exercise distributed.reshard.

counted_reads(answer)(shards, ranks, rank) -> the rows of this rank, or Refused
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.checks.items import Refused, TooDear, Unsolved
from labkit.distributed.checkpoints.by_hand import share


class Rows:
    """One saved shard [rows, D] that counts what is read of it."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.rows_read = 0

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows begin to end - 1 of this shard; Refused where it has not got them."""
        if not 0 <= begin <= end <= len(self._rows):
            raise Refused(
                f"`read({begin}, {end})` of a file with {len(self)} rows: a file's rows are "
                "counted from its own first one, which is 0."
            )
        self.rows_read += end - begin
        return self._rows[begin:end].copy()


def counted_reads(answer: object, look_at_cost: bool = True) -> Callable[..., np.ndarray]:
    """The answer with files in place of arrays; TooDear where it reads more than it returns."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def resharded(shards: Sequence[np.ndarray], ranks: int, rank: int) -> np.ndarray:
        files = [Rows(shard) for shard in shards]
        given = list(files)
        try:
            found = answer(given, ranks, rank)
        except ValueError:  # of np.concatenate([]), where nothing was read
            if not any(file.rows_read for file in files):
                raise Unsolved("no row is read") from None
            raise
        if look_at_cost and given != files:
            raise Refused("The function changes its input `files`: the next tensor needs them.")
        total = sum(len(shard) for shard in shards)
        begin, end = share(total, ranks, rank)
        read = sum(file.rows_read for file in files)
        right = np.array_equal(found, np.concatenate(shards)[begin:end])
        if look_at_cost and right and read > end - begin:
            raise TooDear(
                f"The rows are right, but {read} rows were read for a part of {end - begin}: a "
                f"model of which no rank can hold all cannot be loaded like this."
            )
        return found

    return resharded
