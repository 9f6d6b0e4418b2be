"""A sharded checkpoint by hand: of each tensor every rank writes its rows, in a file of its own.

    write_shard(folder, rank, ranks, tensors)       # every rank
    files = shards(folder, "head.weight")           # of any one tensor, in the order of the ranks
    files[2].read(0, 3)                             # its first three rows there, and nothing else

A safetensors file is a length, a header in JSON (name, kind, shape and place of each tensor), and
the numbers. It can be read in parts, and there is nothing in it that could run. DCP does the
same, with a table of all parts of all files in `.metadata`. Lesson restarts_and_monitoring.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit.errors import in_a_line


def share(rows: int, ranks: int, rank: int) -> tuple[int, int]:
    """The first row of a rank's part, and the first one behind it: np.array_split's parts.

    10 rows on 4 ranks are 3, 3, 2 and 2.

    Raises ValueError for numbers that are not whole, negative rows, or a rank that is not there.
    """
    if not all(isinstance(number, int | np.integer) for number in (rows, ranks, rank)):
        raise ValueError(f"share: whole numbers, not {rows!r} rows, {ranks!r} ranks, {rank!r}.")
    if rows < 0 or not 0 <= rank < ranks:
        raise ValueError(f"share: {rows} rows on {ranks} ranks, of which there is no rank {rank}.")
    least, more = divmod(rows, ranks)
    begin = rank * least + min(rank, more)
    return begin, begin + least + (rank < more)


def write_shard(
    folder: str | Path, rank: int, ranks: int, tensors: Mapping[str, np.ndarray]
) -> Path:
    """Writes this rank's rows of all tensors; returns the file."""
    from safetensors.numpy import save_file

    path = Path(folder) / f"rank-{rank:05d}-of-{ranks:05d}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = {
        name: tensor[slice(*share(len(tensor), ranks, rank))] for name, tensor in tensors.items()
    }
    save_file({name: np.ascontiguousarray(rows) for name, rows in mine.items()}, path)
    return path


def header(path: str | Path) -> dict[str, dict]:
    """What a safetensors file says of its tensors: kind, shape and place of each, by name.

    Raises CheckpointError where the file is missing, or cut off in its header.
    """
    try:
        most = Path(path).stat().st_size  # a damaged length may be any number
        with Path(path).open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            found = json.loads(file.read(min(length, most)))
    except (OSError, ValueError, struct.error) as error:
        raise _not_whole(path, error) from None
    found.pop("__metadata__", None)
    return found


@dataclass
class Shard:
    """One tensor's rows in one rank's file; `rows_read` counts those that were read."""

    path: Path
    name: str
    rows_read: int = 0

    def __len__(self) -> int:
        tensors = header(self.path)
        if self.name not in tensors:
            raise CheckpointError(
                f"The shard {self.path} has no tensor {self.name!r}, only {', '.join(tensors)}."
            )
        return tensors[self.name]["shape"][0]

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows begin to end - 1, counted within this file; only these are read.

        Raises CheckpointError where the file is cut off.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, framework="np") as file:
                rows = file.get_slice(self.name)[begin:end]
        except (SafetensorError, OSError) as error:
            raise _not_whole(self.path, error) from None
        self.rows_read += len(rows)
        return rows


def _not_whole(path: str | Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"The shard {path} is not whole ({in_a_line(error)}): copy it again from where it was "
        "saved, or use an older checkpoint."
    )


def shards(folder: str | Path, name: str) -> list[Shard]:
    """Where a tensor lies, in the order of its rows.

    Raises CheckpointError where a rank's file is missing.
    """
    files = sorted(Path(folder).glob("rank-*-of-*.safetensors"))
    if not files:
        raise CheckpointError(f"No rank has written a shard into {folder}: name another folder.")
    ranks = int(files[0].stem.rpartition("-")[2])
    wanted = [f"rank-{rank:05d}-of-{ranks:05d}.safetensors" for rank in range(ranks)]
    missing = [file for file in wanted if file not in {path.name for path in files}]
    if missing:
        raise CheckpointError(
            f"{Path(folder) / missing[0]} is missing: copy it from the machine of its rank, or use "
            "an older checkpoint."
        )
    return [Shard(Path(folder) / file, name) for file in wanted]
