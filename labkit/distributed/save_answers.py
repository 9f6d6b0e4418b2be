"""A learner's save, killed at every one of its operations: exercise distributed.save_whole.

    survives(answer)(old, new) -> the shards that a reader finds in the end, in one array

First the checkpoint `old` is saved in calm, then `new`. Then `new` is saved again and again, each
time with the power lost one operation later, and after each time a reader must find one of the two.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.distributed.killed_disk import Disk, PowerLoss, Unreadable, load, same

OLD, NEW = "step-10", "step-20"
NOTHING = np.zeros(0)
Shards = Sequence[np.ndarray]


def in_calm(answer: Callable[..., None], old: Shards, new: Shards) -> np.ndarray:
    """What a reader finds after two saves that nothing befalls; the operations are the second's."""
    return _found(_saved_twice(answer, old, new), new)


def survives(answer: object) -> Callable[[Shards, Shards], np.ndarray]:
    """A function that saves in calm and then under a failing power supply; Refused says where."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def referee(old: Shards, new: Shards) -> np.ndarray:
        _require_untouched(answer, new)
        disk = _saved_twice(answer, old, new)
        if not disk.operations:
            raise Unsolved("nothing is written to the disk")
        found = _found(disk, new)
        if not np.array_equal(found, np.concatenate(new)):
            return found  # wrong without any death
        for count in range(len(disk.operations) + 1):
            _require_survivor(answer, old, new, count, disk.operations)
        return found

    return referee


def _require_untouched(answer: Callable[..., None], new: Shards) -> None:
    """The training goes on with the shards that it saves."""
    given = [shard.copy() for shard in new]
    answer(Disk(), NEW, given)
    if len(given) != len(new) or not same(given, new):
        raise Refused("The function changes its input `shards`: the training goes on with them.")


def _saved_twice(answer: Callable[..., None], old: Shards, new: Shards) -> Disk:
    disk = _with_old(answer, old)
    given = [shard.copy() for shard in new]
    answer(disk, NEW, given)
    return disk


def _with_old(answer: Callable[..., None], old: Shards) -> Disk:
    """A disk on which the old checkpoint is whole, whatever the answer left undone."""
    disk = Disk()
    answer(disk, OLD, list(old))
    for name in list(disk.files):
        disk.sync(name)
    disk.operations.clear()
    return disk


def _found(disk: Disk, new: Shards) -> np.ndarray:
    try:
        _, found = load(disk, len(new))
    except Unreadable as error:
        raise Refused(f"After a save that nothing befell, {error}.") from None
    return np.concatenate(found)


def _require_survivor(
    answer: Callable[..., None], old: Shards, new: Shards, count: int, operations: Sequence[str]
) -> None:
    """The power is lost in operation `count`, or behind the last; a reader finds old or new."""
    disk = _with_old(answer, old)
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
