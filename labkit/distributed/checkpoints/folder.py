"""Where the checkpoints of a training lie, and how each is there whole or not at all.

    saved/
      step-00010/           a whole checkpoint: the files of all ranks, and seal.json
      step-00020/
      step-00030.new/       one that is being written, or whose writer died
      latest                the name of the newest whole one: "step-00020"

    new = begin(saved, 30)          # an empty folder, step-00030.new
    ...                             # every rank writes its files into it
    finish(saved, 30)               # one rank, when all have written: seal, rename, marker

A reader believes the marker, and the marker changes last, in one step. So at every moment it names
a checkpoint that is whole. The seal has each file's length and hash: it tells a file that was cut
off or changed by accident, not one that somebody forged.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit.errors import in_a_line
from labkit.files import set_aside, write_whole

SEAL = "seal.json"
LATEST = "latest"
KEPT = 2  # whole checkpoints: the newest, and the one before it
NAME = re.compile(r"step-\d{5,}")


@dataclass(frozen=True)
class Whole:
    """A checkpoint whose files are all there and as they were written.

    notes   what its writer added: JSON values by name
    note    a sentence where a newer checkpoint could not be used, else empty
    """

    path: Path
    step: int
    notes: dict[str, Any]
    note: str = ""


def name_of(step: int) -> str:
    """step-00030: names in the order of their steps."""
    return f"step-{step:05d}"


def begin(folder: str | Path, step: int) -> Path:
    """An empty folder for the files of a checkpoint that is not whole yet; for one rank to call.

    What an earlier writer of the same step left unfinished is deleted.
    """
    new = unfinished(Path(folder), step)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    return new


def finish(folder: str | Path, step: int, notes: Mapping[str, Any] | None = None) -> Path:
    """Makes a checkpoint of what all ranks have written since `begin`; for one rank to call.

    Its place is taken by a rename, then the marker changes, and checkpoints that are older than
    the one before go. Killed at any moment, the marker names a whole one. Returns its folder.
    """
    folder = Path(folder)
    new = unfinished(folder, step)
    place = folder / name_of(step)
    _write_seal(new, step, notes or {})
    if place.exists():  # the same step, damaged, or from a training that went back
        set_aside(place)
    os.rename(new, place)
    _sync(folder)
    write_whole(folder / LATEST, name_of(step).encode())
    older = [name for name in names(folder) if _step_of(name) < step]
    for old in older[: 1 - KEPT]:
        shutil.rmtree(folder / old, ignore_errors=True)
    return place


def names(folder: str | Path) -> list[str]:
    """The checkpoints in a folder, from the oldest to the newest, whole or not."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    found = [path.name for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(found, key=_step_of)


def newest(folder: str | Path) -> Whole | None:
    """The checkpoint that the marker names, or None where none was ever finished.

    The first one needs no marker: its writer may have died between the rename and the marker.

    Raises CheckpointError where it is damaged: the text names the file, and the last good
    checkpoint, which `last_good` would take.
    """
    folder = Path(folder)
    marker = folder / LATEST
    found = names(folder)
    if not marker.exists() and not found:
        return None
    try:
        if not marker.exists() and len(found) == 1:
            return opened(folder / found[0])  # its writer died before the first marker
        return opened(folder / _marked(marker))
    except CheckpointError as error:
        good = _newest_good(folder)
        offer = f"{good.path.name} is whole: `last_good` takes it" if good else "no other is whole"
        raise CheckpointError(f"{error} In {folder}, {offer}.") from None


def last_good(folder: str | Path) -> Whole | None:
    """The newest checkpoint that is whole; its `note` says what is wrong with the marked one.

    None where no checkpoint was ever finished; raises CheckpointError where none is whole.
    """
    try:
        return newest(folder)
    except CheckpointError as error:
        good = _newest_good(Path(folder))
        if good is None:
            raise
        return Whole(good.path, good.step, good.notes, f"{error} Used: {good.path.name}.")


def opened(path: str | Path) -> Whole:
    """A checkpoint, after a look at each of its files; CheckpointError names the one that is bad.

    The whole checkpoint is read for this, and nothing of it is unpickled.
    """
    path = Path(path)
    seal = _seal(path)
    for name, expected in seal["files"].items():
        _require_same(path / name, expected)
    return Whole(path, seal["step"], seal["notes"])


def _step_of(name: str) -> int:
    return int(name.removeprefix("step-"))


def unfinished(folder: Path, step: int) -> Path:
    """Where a checkpoint lies while it is written."""
    return folder / f"{name_of(step)}.new"


def _write_seal(new: Path, step: int, notes: Mapping[str, Any]) -> None:
    """The last file of a checkpoint: what the others are."""
    files = sorted(path for path in new.iterdir() if path.is_file())
    described = {path.name: _described(path) for path in files}
    seal = {"step": step, "notes": dict(notes), "files": described}
    write_whole(new / SEAL, json.dumps(seal, indent=1).encode())
    _sync(new)


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _seal(path: Path) -> dict[str, Any]:
    file = path / SEAL
    if not path.is_dir():
        raise CheckpointError(f"There is no checkpoint {path}: name another one.")
    try:
        seal = json.loads(file.read_text("utf-8"))
        return {name: seal[name] for name in ("step", "notes", "files")}
    except FileNotFoundError:
        raise CheckpointError(
            f"The checkpoint {path} has no {SEAL}: it was never finished. Use an older one."
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{file} does not say what the checkpoint is made of ({in_a_line(error)}): use an "
            "older one."
        ) from None


def _require_same(path: Path, expected: Mapping[str, Any]) -> None:
    if not path.is_file():
        raise CheckpointError(
            f"{path} is missing: copy it back from where the checkpoint was saved, or use an "
            "older checkpoint."
        )
    found = path.stat().st_size
    if found != expected["bytes"]:
        raise CheckpointError(
            f"{path} has {found:,} bytes and was saved with {expected['bytes']:,}: use an older "
            "checkpoint."
        )
    if _described(path) != expected:
        raise CheckpointError(
            f"{path} has as many bytes as were saved, but others: use an older checkpoint."
        )


def _marked(marker: Path) -> str:
    """The name that the marker holds."""
    try:
        name = marker.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{marker} cannot be read ({in_a_line(error)}).") from None
    if not NAME.fullmatch(name):
        raise CheckpointError(f"{marker} holds {name[:40]!r}, which is no checkpoint's name.")
    return name


def _newest_good(folder: Path) -> Whole | None:
    for name in reversed(names(folder)):
        with suppress(CheckpointError):
            return opened(folder / name)
    return None


def _sync(folder: Path) -> None:
    """Until the disk knows of the names in a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
