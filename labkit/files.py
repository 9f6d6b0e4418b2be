"""Files of the learner's own: where they lie, and how nothing in them is lost."""

import os
import tempfile
from itertools import count
from pathlib import Path

CACHE = "LABKIT_CACHE"  # the environment variable that names another cache folder
LONGEST_SOCKET = 100  # bytes of a socket file's path; macOS takes 103, Linux 107
LONGEST_NAME = 40  # of these, for the file's name and the random part of its folder's


def cache_folder() -> Path:
    """Where lies what can be made or fetched again: LABKIT_CACHE, or the user's cache folder.

    Without links, which might lead elsewhere once `refuse_others` of numba_simt has followed them.
    """
    if chosen := os.environ.get(CACHE):
        return Path(chosen).expanduser().resolve()
    from platformdirs import user_cache_path  # a report of a GPU is made without it

    return user_cache_path("labkit").resolve()


def socket_folder(prefix: str) -> Path:
    """A new folder of this user alone, whose path leaves room for the names of socket files.

    Who makes it removes it. Raises OSError where there can be none.
    """
    for place in (tempfile.gettempdir(), "/tmp"):
        if len(os.fsencode(place)) + len(prefix) <= LONGEST_SOCKET - LONGEST_NAME:
            return Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    raise OSError("no folder for temporary files has a path that is short enough for sockets")


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
