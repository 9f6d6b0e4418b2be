"""The folder of a launch: it goes at its end, or, where it was killed, with the next one.

    with of_launch() as folder: ...

Whoever launches holds a lock in his folder, which the system takes from him when he ends, however
that happens: so a folder without a lock belongs to nobody any more.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "labkit-ranks-"
OWNER = "owner"  # the file that is locked


@contextmanager
def of_launch() -> Iterator[Path]:
    """A new folder, in the `with` block; what this user's killed launches have left is removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / "new").open("w") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            (folder / "new").rename(folder / OWNER)  # nobody sees it without its lock
            yield folder


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError):  # its launch is going on, or just ends, or it is another user's
        if folder.lstat().st_uid != os.getuid():
            return
        with (folder / OWNER).open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
