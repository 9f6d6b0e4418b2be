"""A disk that loses its power at a chosen operation: exercise distributed.save_whole.

    disk = Disk()
    disk.write("step-20/0", shard)      disk.sync("step-20/0")
    disk.rename("latest.new", "latest")
    found = load(disk)                  # the shards of the checkpoint that `latest` names

Without power, what was not synced is half there, and so is what was being written. A rename
replaces a file of the new name, wholly or not at all, and needs no sync (a real folder has to be
synced as well). Lesson restarts_and_monitoring.
"""

from collections.abc import Sequence

import numpy as np

from labkit.checks.items import Refused

MARKER = "latest"
Content = np.ndarray | str


class PowerLoss(BaseException):
    """The machine is off: no program goes on, and none can catch this."""


class Disk:
    """Files by name. `operations` says what was done; at `off_at` of them the power is lost."""

    def __init__(self) -> None:
        self.files: dict[str, Content] = {}
        self.operations: list[str] = []
        self.off_at: int | None = None
        self._synced: dict[str, bool] = {}

    def write(self, name: str, content: Content) -> None:
        """Makes a file, or replaces one; it may be half there until it is synced."""
        content = _as_content(name, content)
        self._begin(f"write {name}", lambda: self._put(name, _half(content), synced=True))
        self._put(name, content, synced=False)

    def sync(self, name: str) -> None:
        """Returns when the disk has all of a file."""
        self._require(name)
        self._begin(f"sync {name}")
        self._synced[name] = True

    def rename(self, old: str, new: str) -> None:
        """Gives a file another name, in one step; a file that had this name is gone."""
        self._require(old)
        self._begin(f"rename {old} to {new}")
        self.files[new] = self.files.pop(old)
        self._synced[new] = self._synced.pop(old)

    def delete(self, name: str) -> None:
        """Removes a file."""
        self._require(name)
        self._begin(f"delete {name}")
        del self.files[name], self._synced[name]

    def lose_power(self) -> None:
        """Of each file that was not synced, half stays."""
        for name, synced in self._synced.items():
            if not synced:
                self.files[name] = _half(self.files[name])
                self._synced[name] = True

    def _put(self, name: str, content: Content, synced: bool) -> None:
        self.files[name] = content
        self._synced[name] = synced

    def _begin(self, operation: str, halfway=lambda: None) -> None:
        self.operations.append(operation)
        if self.off_at is not None and len(self.operations) > self.off_at:
            halfway()
            raise PowerLoss

    def _require(self, name: str) -> None:
        if name not in self.files:
            there = f"only {', '.join(self.files)}" if self.files else "and no other"
            raise Refused(f"The disk has no file {name!r}, {there}.")


class Unreadable(Exception):
    """What a reader of the disk comes upon, as a sentence."""


def load(disk: Disk, ranks: int) -> tuple[str, list[np.ndarray]]:
    """The name that the marker holds, and that checkpoint's shards; Unreadable says what is bad."""
    if MARKER not in disk.files:
        raise Unreadable(f"there is no `{MARKER}`")
    name = disk.files[MARKER]
    if not isinstance(name, str):
        raise Unreadable(f"`{MARKER}` holds no name")
    wanted = [f"{name}/{rank}" for rank in range(ranks)]
    for file in wanted:
        if file not in disk.files:
            raise Unreadable(f"`{MARKER}` says {name!r}, and there is no `{file}`")
        if not isinstance(disk.files[file], np.ndarray):
            raise Unreadable(f"`{file}` holds no shard")
    return name, [disk.files[file] for file in wanted]


def same(loaded: Sequence[np.ndarray], saved: Sequence[np.ndarray]) -> bool:
    """Whether all shards are as they were saved."""
    return all(np.array_equal(one, other) for one, other in zip(loaded, saved, strict=True))


def _as_content(name: str, content: object) -> Content:
    if isinstance(content, str):
        return content
    if isinstance(content, np.ndarray):
        return content.copy()
    raise Refused(
        f"`write({name!r}, ...)` takes a shard or a text; this is of type {type(content).__name__}."
    )


def _half(content: Content) -> Content:
    """What there is of a file that is cut off."""
    return content[: len(content) // 2]
