"""The limit of what the room keeps in the cache: of all models and reports, the last used stay.

Each file bears the time of its last use. When one is added and all together are larger than
`MOST_BYTES`, those go first whose last use is longest ago; asked for again, they are made again.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from labkit.files import cache_folder

MOST_BYTES = 512 * 2**20  # about a thousand compiled modules


def folder() -> Path:
    """Where the room keeps what it has made."""
    return cache_folder() / "fpga"


def note_use(path: Path) -> None:
    """Marks a file as used now."""
    with suppress(OSError):  # of somebody else, or gone
        os.utime(path)


def make_room(kept: Path) -> None:
    """Removes what was not used for longest, until the rest fits. `kept`, the newest, stays."""
    found = sorted(_files(apart_from=kept))
    with suppress(OSError):  # another process may do the same
        total = kept.stat().st_size + sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= MOST_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= size


def _files(apart_from: Path) -> Iterator[tuple[int, int, Path]]:
    """Last use, size and path of each file; what is being made lies in hidden folders."""
    for place, folders, files in os.walk(folder()):  # passes over a folder that has just gone
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(place, name) for name in files):
            with suppress(OSError):
                if path != apart_from:
                    state = path.stat()
                    yield state.st_mtime_ns, state.st_size, path
