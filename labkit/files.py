"""Files of the learner's own: where they lie, and how nothing in them is lost."""

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """What can be made or fetched again: LABKIT_CACHE, or the user's own cache folder."""
    if chosen := os.environ.get("LABKIT_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path  # the GPU benchmark runs without it

    return user_cache_path("labkit")


def write_whole(path: Path, data: bytes) -> None:
    """In one step: whoever reads meanwhile gets the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
        unfinished = Path(folder, path.name)
        with open(unfinished, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)


def set_aside(path: Path, folder: Path | None = None) -> Path:
    """Rename a damaged file to <name>.broken-1, or the next free number: nothing is lost."""
    folder, number = folder or path.parent, 1
    while (aside := folder / f"{path.name}.broken-{number}").exists():
        number += 1
    return path.rename(aside)
