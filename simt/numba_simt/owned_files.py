"""Folders for what is compiled once and then loaded: nobody else may have put anything there."""

import os
import stat
from pathlib import Path


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """Makes a folder and those above it that are missing; others may write to none of them."""
    for one in [*reversed(folder.absolute().parents), folder]:
        one.mkdir(mode, exist_ok=True)


def refuse_others(path: Path, variable: str) -> None:
    """Raises PermissionError where somebody else owns a file or folder, or may write to it.

    variable   of the environment, which names another folder instead

    For what a process loads and runs with the user's rights. The system's own user may; so may
    the group that the user's new files belong to, which on most machines is the user alone.
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
        f"{said}, so that what was compiled there cannot be trusted; nothing was loaded. "
        f"{todo}, or name a folder of your own in the environment variable {variable}."
    )


def _unknown_user() -> int:
    """The number by which a user namespace shows all users who are not in it; or 0."""
    try:
        whole = Path("/proc/self/uid_map").read_text("utf-8").split() == ["0", "0", str(2**32 - 1)]
        return 0 if whole else int(Path("/proc/sys/kernel/overflowuid").read_text("utf-8"))
    except OSError:
        return 0
