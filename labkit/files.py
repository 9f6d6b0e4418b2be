"""Files of the learner's own: where they lie, and how nothing in them is lost."""

import os
import stat
import tempfile
from itertools import count
from pathlib import Path

LONGEST_SOCKET = 100  # bytes of a socket file's path; macOS takes 103, Linux 107
LONGEST_NAME = 40  # of these, for the file's name and the random part of its folder's


def cache_folder() -> Path:
    """Where lies what can be made or fetched again: LABKIT_CACHE, or the user's cache folder.

    Without links, which might lead elsewhere once `refuse_others` has followed them.
    """
    if chosen := os.environ.get("LABKIT_CACHE"):
        return Path(chosen).expanduser().resolve()
    from platformdirs import user_cache_path  # a report of a GPU is made without it

    return user_cache_path("labkit").resolve()


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """Makes a folder and those above it that are missing; others may write to none of them."""
    for one in [*reversed(folder.absolute().parents), folder]:
        one.mkdir(mode, exist_ok=True)


def socket_folder(prefix: str) -> Path:
    """A new folder of this user alone, whose path leaves room for the names of socket files.

    Who makes it removes it. Raises OSError where there can be none.
    """
    for place in (tempfile.gettempdir(), "/tmp"):
        if len(os.fsencode(place)) + len(prefix) <= LONGEST_SOCKET - LONGEST_NAME:
            return Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    raise OSError("no folder for temporary files has a path that is short enough for sockets")


def refuse_others(path: Path, variable: str = "LABKIT_CACHE") -> None:
    """Raises PermissionError where somebody else owns a file or folder, or may write to it.

    variable   of the environment, which names another folder instead

    For what a process loads and runs with the learner's rights. The system's own user may; so may
    the group that new files of the learner belong to, which on most machines is the learner alone.
    Whoever owns a folder above may put another one in its place, so those are looked at, too.
    """
    _refuse_others(path, variable, above=False)
    for folder in path.resolve().parents:
        _refuse_others(folder, variable, above=True)


def _refuse_others(path: Path, variable: str, above: bool) -> None:
    """above: it holds what is looked at. In one such as /tmp, nobody may rename what is another's.

    All users whom a user namespace does not know have one number there, the system's own, whose
    such folders often are, and strangers: so it may own no more than these.
    """
    state = path.stat()
    open_to = stat.S_IWOTH if state.st_gid == os.getegid() else stat.S_IWOTH | stat.S_IWGRP
    if above and state.st_mode & stat.S_ISVTX:
        open_to = 0
    if state.st_uid not in (0, os.getuid(), _unknown_user() if above else 0):
        said = f"{path} belongs to another user (number {state.st_uid})"
        todo = "Remove it"
    elif state.st_mode & open_to:
        said = f"Other users may write to {path}"
        todo = f"If you trust what lies there, `chmod go-w {path}`; else remove it"
    else:
        return
    raise PermissionError(
        f"{said}, so that what labkit has compiled there cannot be trusted; nothing was loaded. "
        f"{todo}, or name a folder of your own in the environment variable {variable}."
    )


def _unknown_user() -> int:
    """The number by which a user namespace shows all users who are not in it; or 0."""
    try:
        whole = Path("/proc/self/uid_map").read_text("utf-8").split() == ["0", "0", str(2**32 - 1)]
        return 0 if whole else int(Path("/proc/sys/kernel/overflowuid").read_text("utf-8"))
    except OSError:
        return 0


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
