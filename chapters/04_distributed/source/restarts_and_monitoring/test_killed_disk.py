"""The disk that loses its power: what is synced stays, what is not is half there."""

import numpy as np
import pytest

from labkit.checks.items import Refused
from labkit_lessons.distributed.restarts_and_monitoring.killed_disk import (
    Disk,
    PowerLoss,
    Unreadable,
    load,
    same,
)

SHARD = np.arange(6.0)


def test_synced_files_stay_and_others_are_cut_in_half():
    disk = Disk()
    for name in ("a", "b"):
        disk.write(name, SHARD)
    disk.sync("a")
    disk.rename("b", "c")
    disk.lose_power()
    disk.lose_power()  # half is not halved again
    assert np.array_equal(disk.files["a"], SHARD) and np.array_equal(disk.files["c"], SHARD[:3])
    assert "b" not in disk.files


@pytest.mark.parametrize("count", range(4))
def test_power_is_lost_in_the_chosen_operation(count):
    disk = Disk()
    disk.off_at = count
    with pytest.raises(PowerLoss):
        disk.write("new", "step-20")
        disk.sync("new")
        disk.rename("new", "latest")
        disk.delete("latest")
    disk.lose_power()
    expected = [{"new": "ste"}, {"new": "ste"}, {"new": "step-20"}, {"latest": "step-20"}]
    assert disk.files == expected[count] and len(disk.operations) == count + 1


def test_what_was_written_is_a_copy():
    disk, shard = Disk(), SHARD.copy()
    disk.write("a", shard)
    shard[:] = 0
    assert np.array_equal(disk.files["a"], SHARD)


def test_a_reader_says_what_is_bad():
    disk = Disk()
    with pytest.raises(Unreadable, match="there is no `latest`"):
        load(disk, 1)
    disk.write("latest", "step-20")
    with pytest.raises(Unreadable, match="there is no `step-20/0`"):
        load(disk, 1)
    disk.write("step-20/0", "words")
    with pytest.raises(Unreadable, match="holds no shard"):
        load(disk, 1)
    disk.write("step-20/0", SHARD)
    assert load(disk, 1)[0] == "step-20" and same(load(disk, 1)[1], [SHARD])
    disk.write("latest", SHARD)
    with pytest.raises(Unreadable, match="holds no name"):
        load(disk, 1)


def test_wrong_calls_are_told():
    disk = Disk()
    for call in (disk.sync, disk.delete, lambda name: disk.rename(name, "b")):
        with pytest.raises(Refused, match="The disk has no file 'a', and no other"):
            call("a")
    with pytest.raises(Refused, match="takes a shard or a text; this is of type int"):
        disk.write("a", 7)
