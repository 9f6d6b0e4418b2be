"""A server's checkpoint: what it needs to go on after its death, in one file, whole or not at all.

    save_checkpoint(path, fields, tensors)      # the one before stays, as <name>.before
    load_checkpoint(path)                       # this one, or a sentence
    last_good_checkpoint(path)                  # the newest of the two that is whole

A file that is half written is worse than none: so the bytes go to a file of another name, and only
when the disk has them does it take the checkpoint's name, in one step. The checkpoint before it is
kept, since disks fail too. What is lost by a death are the updates after the checkpoint. A
checkpoint is a safetensors file: tensors by name, and the fields as JSON. Lesson faults.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import in_a_line
from labkit.files import write_whole

if TYPE_CHECKING:
    import torch

FIELDS = "fields"  # of safetensors' metadata, which holds texts alone


class CheckpointError(RuntimeError):
    """A checkpoint that is not there or not whole; the text says which file and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """What was saved, and the file it was read from.

    note   a sentence where a newer file could not be used, else empty
    """

    path: Path
    fields: dict[str, Any]
    tensors: "dict[str, torch.Tensor]"
    note: str = ""


def save_checkpoint(
    path: str | Path, fields: Mapping[str, Any], tensors: "Mapping[str, torch.Tensor]"
) -> None:
    """Writes a checkpoint in one step; the one that stood there is kept beside it.

    fields    what JSON can hold: counts, names
    tensors   contiguous tensors by name

    Raises OSError when it cannot be written; then the old one stands as before.
    """
    from safetensors.torch import save

    path = Path(path)
    data = save(dict(tensors), metadata={FIELDS: json.dumps(dict(fields))})
    write_whole(_unproved(path), data)
    if path.exists():
        os.replace(path, before(path))
    os.replace(_unproved(path), path)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Reads one file; raises CheckpointError where it is missing, cut off, or no checkpoint."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise CheckpointError(
            f"There is no checkpoint {path}: begin without one, or name another file."
        )
    try:
        with safe_open(path, framework="pt") as file:
            fields = json.loads((file.metadata() or {})[FIELDS])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"The checkpoint {path} is not whole ({in_a_line(error)}): use the one before it, "
            f"{before(path).name}, or begin without one."
        ) from None
    except (KeyError, ValueError):
        raise CheckpointError(
            f"{path} is a safetensors file, but no checkpoint of a server: it says nothing of "
            "updates. Name the file that a server has saved."
        ) from None
    return Checkpoint(path, fields, tensors)


def last_good_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint, or the one before it where that is missing or cut off; its `note` says so.

    Raises CheckpointError where neither can be used.
    """
    path = Path(path)
    try:
        return load_checkpoint(path)
    except CheckpointError as newer:
        if not before(path).exists():
            raise
        old = load_checkpoint(before(path))
        return Checkpoint(old.path, old.fields, old.tensors, f"{newer} Used: {old.path.name}.")


def common_checkpoints(paths: Sequence[str | Path]) -> tuple[int, list[Path]]:
    """The newest checkpoints of all servers that have seen the same number of gradients.

    A model that lies on several servers goes back as a whole: its parts are of one moment. Returns
    that number, and for each server the file. Raises CheckpointError where there is none.
    """
    found = [_by_count(Path(path)) for path in paths]
    common = set.intersection(*(set(files) for files in found))
    if not common:
        told = "; ".join(
            f"{path}: {sorted(files)}" for path, files in zip(paths, found, strict=True)
        )
        raise CheckpointError(
            f"No number of gradients has a checkpoint of every server ({told}): begin anew."
        )
    count = max(common)
    return count, [files[count] for files in found]


def _by_count(path: Path) -> dict[int, Path]:
    """The files that are whole, by the gradients that their weights have seen."""
    files = {}
    for one in (before(path), path):
        with suppress(CheckpointError):
            files[len(load_checkpoint(one).fields["notes"])] = one
    return files


def before(path: str | Path) -> Path:
    """Where the checkpoint before this one lies."""
    path = Path(path)
    return path.with_name(f"{path.name}.before")


def _unproved(path: Path) -> Path:
    """Where a checkpoint lies until the disk has all of it."""
    return path.with_name(f"{path.name}.new")
