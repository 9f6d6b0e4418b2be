"""Checkpoints in a folder: the marker names a whole one, whenever the writer is killed."""

import json
import os
import subprocess
import sys

import pytest

from labkit.distributed.checkpoints.folder import (
    LATEST,
    SEAL,
    begin,
    finish,
    last_good,
    name_of,
    names,
    newest,
    opened,
)
from labkit.distributed.parameter_server.checkpoint import CheckpointError


def write(folder, step, **notes):
    new = begin(folder, step)
    for rank in range(2):
        (new / f"rank-{rank}").write_text(f"shard {rank} of step {step}")
    return finish(folder, step, notes)


@pytest.fixture
def saved(tmp_path):
    for step in (10, 20, 30):
        write(tmp_path, step, ranks=2)
    return tmp_path


def test_the_newest_is_found_and_the_one_before_is_kept(saved):
    assert names(saved) == ["step-00020", "step-00030"]
    found = newest(saved)
    assert (found.step, found.notes, found.note) == (30, {"ranks": 2}, "")
    assert found == last_good(saved) and found.path == saved / "step-00030"


def test_before_the_first_checkpoint_there_is_none(tmp_path):
    assert newest(tmp_path) is None and last_good(tmp_path / "nowhere") is None
    begin(tmp_path, 10)
    assert newest(tmp_path) is None and names(tmp_path) == []


def cut_off(saved):
    path = saved / "step-00030" / "rank-1"
    os.truncate(path, 5)
    return path, "has 5 bytes and was saved with 18"


def one_bit(saved):
    path = saved / "step-00030" / "rank-0"
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    return path, "as many bytes as were saved, but others"


def removed(saved):
    path = saved / "step-00030" / "rank-0"
    path.unlink()
    return path, "is missing: copy it back"


def no_seal(saved):
    (saved / "step-00030" / SEAL).unlink()
    return saved / "step-00030", "was never finished"


def half_a_seal(saved):
    path = saved / "step-00030" / SEAL
    path.write_text(path.read_text()[:30])
    return path, "does not say what the checkpoint is made of"


def another_seal(saved):
    path = saved / "step-00030" / SEAL
    path.write_text(json.dumps([1, 2]))
    return path, "does not say what the checkpoint is made of"


def all_of_it(saved):
    path = saved / "step-00030"
    path.rename(saved / "elsewhere")
    return path, "There is no checkpoint"


def half_a_marker(saved):
    path = saved / LATEST
    path.write_text("step-0")
    return path, "is no checkpoint's name"


def a_foreign_marker(saved):
    path = saved / LATEST
    path.write_bytes(b"\xff\xfe\x00")
    return path, "cannot be read"


def no_marker(saved):
    (saved / LATEST).unlink()
    return saved / LATEST, "cannot be read"


MARKERS = (half_a_marker, a_foreign_marker, no_marker)


@pytest.mark.parametrize(
    "damage",
    [cut_off, one_bit, removed, no_seal, half_a_seal, another_seal, all_of_it, *MARKERS],
)
def test_damage_is_told_with_its_file_and_the_one_before_is_offered(saved, damage):
    path, says = damage(saved)
    good = "step-00030" if damage in MARKERS else "step-00020"
    with pytest.raises(CheckpointError) as told:
        newest(saved)
    text = str(told.value)
    assert str(path) in text and says in text and "\n" not in text
    assert f"{good} is whole: `last_good` takes it" in text
    found = last_good(saved)
    assert found.path.name == good and f"Used: {good}." in found.note and str(path) in found.note


def test_where_none_is_whole_none_is_taken(saved):
    for name in names(saved):
        (saved / name / "rank-0").unlink()
    for take in (newest, last_good):
        with pytest.raises(CheckpointError, match="no other is whole"):
            take(saved)


def test_a_step_that_is_saved_again_sets_the_damaged_one_aside(saved):
    cut_off(saved)
    write(saved, 30)
    assert newest(saved).step == 30
    assert (saved / "step-00030.broken-1" / "rank-1").exists()


def test_an_older_step_is_saved_again_after_going_back(saved):
    write(saved, 20)
    assert newest(saved).path.name == "step-00020"


def test_what_is_saved_after_going_back_is_not_deleted(saved):
    write(saved, 5)
    assert newest(saved).step == 5 and names(saved)[0] == "step-00005"


def test_steps_of_six_digits_come_after_those_of_five(tmp_path):
    for step in (99_990, 100_000, 100_010):
        write(tmp_path, step)
    assert names(tmp_path) == ["step-100000", "step-100010"]


def test_a_name_that_leads_elsewhere_is_not_followed(saved):
    (saved / LATEST).write_text("../step-00030")
    with pytest.raises(CheckpointError, match="no checkpoint's name"):
        newest(saved)


def test_a_checkpoint_moved_is_still_whole(saved, tmp_path):
    moved = (saved / name_of(30)).rename(tmp_path / "moved")
    assert opened(moved).step == 30


KILLED_AT_EVERY_CALL = """
import os, signal, sys
from pathlib import Path
from labkit.distributed.checkpoints.folder import begin, finish, last_good, newest

KINDS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree")

def write(folder, step):
    new = begin(folder, step)
    for rank in range(2):
        (new / f"rank-{rank}").write_text(f"shard {rank} of step {step}")
    finish(folder, step)

def dies(folder, step, calls):
    left = calls
    def hook(event, arguments):
        nonlocal left
        if event in KINDS and arguments and str(folder) in str(arguments[0]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    write(folder, step)

found = []
for calls in range(1000):
    folder = Path(sys.argv[1]) / str(calls)
    for step in map(int, sys.argv[2:]):
        write(folder, step)
    child = os.fork()
    if child == 0:
        dies(folder, 30, calls)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    whole = newest(folder)  # raises where the marker's checkpoint is damaged
    if whole:
        shard = (whole.path / "rank-1").read_text()
        assert shard == f"shard 1 of step {whole.step}", shard
    found.append(whole.step if whole else 0)
    write(folder, 30)  # and the next attempt gets through
    assert newest(folder).step == 30
    if status == 0:
        break
print(*found)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("earlier", [(10, 20), (20,), ()], ids=["two before", "one", "none"])
def test_killed_at_every_call_of_a_save_a_whole_one_survives(tmp_path, earlier):
    steps = map(str, earlier)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_CALL, str(tmp_path), *steps],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    steps = [int(step) for step in done.stdout.split()]
    assert len(steps) > 10, "a save takes more than ten calls"
    old = 20 if earlier else 0  # 0: none
    assert set(steps) == {old, 30} and steps == sorted(steps), "first the old one, then the new one"


def test_of_the_first_checkpoint_without_a_marker_the_damage_is_told(tmp_path):
    write(tmp_path, 10)
    (tmp_path / LATEST).unlink()
    assert newest(tmp_path).step == 10
    (tmp_path / "step-00010" / "rank-0").unlink()
    with pytest.raises(CheckpointError, match=r"rank-0 is missing: .* no other is whole"):
        newest(tmp_path)
