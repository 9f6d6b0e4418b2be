"""A learner's save, killed at every one of its operations: exercise distributed.save_whole.

    survives(answer)(old, new) -> the shards that a reader finds in the end, in one array

On a disk with the checkpoint `old`, `new` is saved in calm. Then it is saved again and again, each
time with the power lost one operation later, and after each time a reader must find one of the two.
All of this is done twice: the check itself has saved `old`, then the answer has, on an empty disk.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit_lessons.distributed.restarts_and_monitoring.killed_disk import (
    MARKER,
    Disk,
    PowerLoss,
    Unreadable,
    load,
    same,
)

OLD, NEW = "step-10", "step-20"
Shards = Sequence[np.ndarray]
Saver = Callable[..., None]


def in_calm(answer: Saver, old: Shards, new: Shards) -> np.ndarray:
    """What a reader finds after two saves that nothing befalls; the operations are the second's."""
    disk = _saved_by(answer, old)
    answer(disk, NEW, _copied(new))
    return _loaded(disk, new)


def survives(answer: object) -> Callable[[Shards, Shards], np.ndarray]:
    """A function that saves in calm and then under a failing power supply; Refused says where."""
    refuse_no_function(answer)

    def referee(old: Shards, new: Shards) -> np.ndarray:
        for save_old in (saved_before, partial(_saved_by, answer)):
            disk = save_old(old)
            _save(answer, disk, new)
            if not disk.operations:
                raise Unsolved("nothing is written to the disk")
            found = _loaded(disk, new)
            if not np.array_equal(found, np.concatenate(new)):
                break  # wrong without any death
            for count in range(len(disk.operations) + 1):
                disk_again = save_old(old)
                _require_survivor(answer, disk_again, old, new, count, disk.operations)
        return found

    return referee


def saved_before(old: Shards) -> Disk:
    """A disk on which the old checkpoint is whole, before the answer is called."""
    disk = Disk()
    for rank, shard in enumerate(old):
        disk.write(f"{OLD}/{rank}", shard)
    disk.write(MARKER, OLD)
    return _at_rest(disk)


def _saved_by(answer: Saver, old: Shards) -> Disk:
    """The same, as the answer saves it on an empty disk, whatever it leaves undone."""
    disk = Disk()
    try:
        answer(disk, OLD, _copied(old))
    except Refused as error:
        raise Refused(f"At the first save, on an empty disk: {error}", *error.details) from None
    for path in disk.files:
        if path.startswith(NEW):
            raise Refused(f"A checkpoint {OLD!r} is written to `{path}`: `name` says what it is.")
    return _at_rest(disk)


def _at_rest(disk: Disk) -> Disk:
    """The disk with all its files synced, and no operation counted."""
    for name in list(disk.files):
        disk.sync(name)
    disk.operations.clear()
    return disk


def _copied(shards: Shards) -> list[np.ndarray]:
    return [shard.copy() for shard in shards]


def _save(answer: Saver, disk: Disk, new: Shards) -> None:
    """One save in calm; the training goes on with the shards that it saves."""
    given = _copied(new)
    answer(disk, NEW, given)
    if len(given) != len(new) or not same(given, new):
        raise Refused("The function changes its input `shards`: the training goes on with them.")


def _loaded(disk: Disk, new: Shards) -> np.ndarray:
    try:
        _, found = load(disk, len(new))
    except Unreadable as error:
        raise Refused(f"After a save that nothing befell, {error}.") from None
    return np.concatenate(found)


def _require_survivor(
    answer: Saver, disk: Disk, old: Shards, new: Shards, count: int, operations: Sequence[str]
) -> None:
    """The power is lost in operation `count`, or behind the last; a reader finds old or new."""
    disk.off_at = count
    with suppress(PowerLoss):
        answer(disk, NEW, list(new))
    disk.lose_power()
    where = "The power is lost just after the save"
    if count < len(operations):
        where = f"The power is lost in operation {count + 1}, `{operations[count]}`"
    try:
        name, found = load(disk, len(new))
    except Unreadable as error:
        raise Refused(f"{where}, and then {error}.") from None
    if not same(found, old) and not same(found, new):
        raise Refused(f"{where}, and then `latest` says {name!r}, of which a shard is not whole.")
    if count == len(operations) and not same(found, new):
        raise Refused(f"{where}, and then the old checkpoint is found: a sync is missing.")
