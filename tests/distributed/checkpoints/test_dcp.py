"""Checkpoints of many ranks: read by another number of them, in the background, killed midway."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch.distributed as dist

from labkit.distributed import LaunchError, launch
from labkit.distributed.checkpoints import dcp
from labkit.distributed.checkpoints.folder import last_good, names, newest
from labkit.distributed.checkpoints.run import digest
from labkit.distributed.checkpoints.training import Options, Training
from tests.night import others_by_night

ENOUGH = 300.0  # seconds: only ends a launch that would hang


def trains_and_saves(rank, ranks, folder, sharded, steps):
    training = Training(Options(), rank, ranks, sharded)
    training.restore(newest(folder))
    begun = digest(training)
    for _ in range(steps):
        training.one_step()
    dcp.save(folder, training.step, training.state())
    return begun, digest(training), training.step, training.position


WHOLE_OR_SHARDED = others_by_night(
    [False, True],
    instead="tests/distributed/checkpoints/test_dcp.py::test_four_ranks_save_two_go_on_and_four_again",
)


@pytest.mark.parametrize("sharded", WHOLE_OR_SHARDED, ids=["whole weights", "sharded weights"])
def test_four_ranks_save_two_go_on_and_four_again(tmp_path, sharded):
    ended = None
    for ranks, step in ((4, 3), (2, 6), (4, 9)) if sharded else ((4, 3), (2, 6)):
        found = launch(trains_and_saves, ranks, tmp_path, sharded, 3, timeout=ENOUGH)
        assert len(set(found)) == 1, "all ranks have the same weights"
        begun, now, done, position = found[0]
        assert (done, position) == (step, 8 * step)
        assert ended is None or begun == ended, "every bit of every weight was read"
        ended = now
    assert in_one_process(tmp_path) == (ended, step)
    sizes = [path.stat().st_size for path in newest(tmp_path).path.glob("*.distcp")]
    assert len(sizes) == ranks and max(sizes) < 2 * min(sizes), "each rank writes its part"


def in_one_process(folder):
    """What one process reads of a checkpoint, its weights whole: a hash of them, and the step."""
    training = Training(Options())
    training.restore(newest(folder))
    return digest(training), training.step


def held_writers(writer, gate):
    """A kind of DCP's writer whose threads wait at a gate before they write."""

    class Held(writer):
        def write_data(self, *arguments):
            assert gate.wait(ENOUGH)
            return super().write_data(*arguments)

    return Held


def saves_behind(rank, ranks, folder):
    gate = threading.Event()
    dcp.dcp.FileSystemWriter = held_writers(dcp.dcp.FileSystemWriter, gate)
    training = Training(Options(), rank, ranks)
    seen = []
    with dcp.Background(folder) as background:
        for _ in range(2):
            for _ in range(2):
                training.one_step()
            saved = digest(training)
            background.save(training.step, training.state())
            training.one_step()  # changes the weights before any of them is written
            seen.append((names(folder), saved))
            dist.barrier()
            gate.set()
            while not names(folder) or newest(folder).step != training.step - 1:
                time.sleep(0.01)  # it becomes the newest without another call
            dist.barrier()
            gate.clear()
    return seen


def test_a_checkpoint_in_the_background_is_that_of_its_moment(tmp_path):
    seen = launch(saves_behind, 2, tmp_path, timeout=ENOUGH)[0]
    assert [found for found, _ in seen] == [[], ["step-00002"]]
    assert names(tmp_path) == ["step-00002", "step-00005"]
    assert in_one_process(tmp_path) == (seen[-1][1], 5)


def dies_while_saving(rank, ranks, folder):
    training = Training(Options(), rank, ranks)
    training.restore(newest(folder))
    training.one_step()
    state = training.state()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dcp.save(folder, training.step, state)


def test_a_rank_that_dies_before_its_shard_leaves_the_one_before(tmp_path):
    _, ended, *_ = trains_and_saves(0, 1, tmp_path, False, 2)
    with pytest.raises(LaunchError, match="was killed by SIGKILL"):
        launch(dies_while_saving, 2, tmp_path, timeout=ENOUGH)
    assert in_one_process(tmp_path) == (ended, 2)


KILLED_AT_EVERY_CALL = """
import os, signal, sys
from pathlib import Path
from labkit.distributed.checkpoints import dcp
from labkit.distributed.checkpoints.folder import newest
from labkit.distributed.checkpoints.run import digest
from labkit.distributed.checkpoints.training import Options, Training

KINDS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")
options = Options(sequences=1, length=4)

def after(steps):
    training = Training(options)
    for _ in range(steps):
        training.one_step()
    return training

def dies(folder, calls):
    training = after(2)
    left = calls
    def hook(event, arguments):
        nonlocal left
        if event in KINDS and arguments and str(folder) in str(arguments[0]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    dcp.save(folder, 2, training.state())

digests = {1: digest(after(1)), 2: digest(after(2))}
found = []
for calls in range(1000):
    folder = Path(sys.argv[1]) / str(calls)
    child = os.fork()
    if child == 0:
        dcp.save(folder, 1, after(1).state())
        dies(folder, calls)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    whole = newest(folder)
    resumed = Training(options)
    resumed.restore(whole)
    assert digest(resumed) == digests[whole.step]
    found.append(whole.step)
    if status == 0:
        break
print(*found)
"""


@pytest.mark.night(
    instead="tests/distributed/checkpoints/test_dcp.py::test_a_rank_that_dies_before_its_shard_leaves_the_one_before"
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_at_every_call_of_a_save_by_pytorch_a_whole_one_survives(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_CALL, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    steps = [int(step) for step in done.stdout.split()]
    assert len(steps) > 15 and set(steps) == {1, 2} and steps == sorted(steps)


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
def test_a_shard_or_the_metadata_is_damaged(tmp_path, name):
    trains_and_saves(0, 1, tmp_path, False, 1)
    trains_and_saves(0, 1, tmp_path, False, 1)
    path = newest(tmp_path).path / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(dcp.CheckpointError, match=f"{name} has .* bytes and was saved with"):
        newest(tmp_path)
    good = last_good(tmp_path)
    assert good.step == 1 and "Used: step-00001." in good.note


class Code:
    """What a pickle of it says: make a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("place", [".metadata", "a value"])
def test_a_strangers_checkpoint_runs_no_code(tmp_path, place):
    """Who made the folder first could have put a checkpoint there, with the right seal."""
    code, saved = Code(tmp_path / "attacked"), tmp_path / "saved"
    new = dcp.begin(saved, 1)
    dcp.dcp.save({"step": code}, checkpoint_id=new, no_dist=True)
    if place == ".metadata":
        (new / place).write_bytes(pickle.dumps(code))
    dcp.finish(saved, 1)
    with pytest.raises(dcp.CheckpointError, match="not made of tensors and plain values alone"):
        dcp.load(newest(saved), {"step": 0})
    assert not (tmp_path / "attacked").exists()
