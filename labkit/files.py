"""Files of the learner's own: where they lie, and how nothing in them is lost."""

import os
import tempfile
from itertools import count
from pathlib import Path


def cache_folder() -> Path:
    """Where lies what can be made or fetched again: LABKIT_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("LABKIT_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path  # the GPU benchmark runs without it

    return user_cache_path("labkit")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step: whoever reads meanwhile gets the old file or the new one, whole.

    Its folder is made if it is missing. Raises OSError when that cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
        unfinished = Path(folder, path.name)
        with open(unfinished, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)


def set_aside(path: Path, folder: Path | None = None) -> Path:
    """Rename a damaged file to <name>.broken-1, or the next free number: nothing is lost.

    It stays beside its old place unless another `folder` is named. Returns the new path.
    """
    folder = folder or path.parent
    for number in count(1):
        aside = folder / f"{path.name}.broken-{number}"
        if not aside.exists():
            break
    return path.rename(aside)
