"""torchrun that starts workers again; what it says when it gives up; and that nothing is left."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from labkit.distributed.errors import LaunchError
from labkit_lessons.distributed.restarts_and_monitoring.elastic import restarted, under_torchrun
from tests.night import others_by_night
from tests.no_namespaces import forbid

ENOUGH = 300.0  # seconds: only ends what would hang

DIES_ONCE = """
import os, signal, sys
attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
with open(f"{sys.argv[1]}/{attempt}-{rank}", "w") as file:
    file.write(str(os.getpid()))
if (attempt, rank) == ("0", "1"):
    os.kill(os.getpid(), signal.SIGKILL)
print("attempt", attempt, "ends", flush=True)
"""
SLEEPS = DIES_ONCE.split("if (")[0] + "import time\ntime.sleep(1000)\n"


def program(folder, text):
    path = folder / "program.py"
    path.write_text(text)
    notes = folder / "notes"
    notes.mkdir()
    return path, notes


def workers_of(notes):
    """The processes that have told their number."""
    return [int(text) for path in notes.iterdir() if (text := path.read_text())]


def wait_until(condition):
    end = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def none_is_left(notes):
    wait_until(lambda: not any(psutil.pid_exists(worker) for worker in workers_of(notes)))


def test_all_ranks_begin_again_when_one_has_died(tmp_path):
    path, notes = program(tmp_path, DIES_ONCE)
    said = under_torchrun(path, 2, [notes], restarts=1, timeout=ENOUGH)
    assert {note.name for note in notes.iterdir()} >= {"0-1", "1-0", "1-1"}
    assert said.count("attempt 1 ends") == 2
    none_is_left(notes)


LAUNCHES = """
import os, signal, sys
from labkit.distributed import launch

def train(rank, ranks):
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    with open(f"{sys.argv[1]}/{attempt}-{rank}-{ranks}", "w") as file:
        file.write(str(os.getpid()))
    if (attempt, rank) == ("0", 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return attempt

if __name__ == "__main__":
    found = launch(train, int(os.environ["WORLD_SIZE"]))
    if os.environ.get("RANK", "0") == "0":
        print("attempts", found)
"""


@pytest.mark.night(
    instead="chapters/04_distributed/source/restarts_and_monitoring/test_elastic.py::test_where_torchrun_may_start_it_does"
)
def test_where_torchrun_may_not_start_the_program_is_started_again(tmp_path, monkeypatch, capsys):
    forbid(tmp_path, monkeypatch)
    path, notes = program(tmp_path, LAUNCHES)
    said = restarted(path, 3, [notes], restarts=1)
    assert "Rank 1 was killed by SIGKILL" in said and said.endswith("attempts ['1', '1', '1']\n")
    assert {note.name for note in notes.iterdir()} >= {"0-1-3", "1-0-3", "1-1-3", "1-2-3"}
    printed = capsys.readouterr().out
    assert "says: Operation not permitted" in printed and "starts its ranks itself" in printed
    with pytest.raises(LaunchError, match=r"program\.py failed, after 0 restarts\.") as told:
        restarted(path, 3, [notes])
    assert "Rank 1 was killed by SIGKILL" in str(told.value)
    none_is_left(notes)


def test_where_torchrun_may_start_it_does(tmp_path, capsys):
    path, notes = program(tmp_path, DIES_ONCE)
    said = restarted(path, 2, [notes], restarts=1)
    assert said.count("attempt 1 ends") == 2 and capsys.readouterr().out == ""


def test_without_restarts_torchrun_gives_up(tmp_path):
    path, notes = program(tmp_path, DIES_ONCE)
    with pytest.raises(LaunchError, match=r"torchrun gave up program\.py, after 0 restarts\.") as e:
        under_torchrun(path, 2, [notes], timeout=ENOUGH)
    assert str(e.value).endswith("Rank 1 ended first, with exit code -9.")
    none_is_left(notes)


def test_what_takes_too_long_is_ended(tmp_path):
    path, notes = program(tmp_path, SLEEPS)
    with pytest.raises(LaunchError, match=r"program\.py did not end within 6 s"):
        under_torchrun(path, 2, [notes], timeout=6)
    none_is_left(notes)


@pytest.mark.night(
    instead="chapters/04_distributed/source/restarts_and_monitoring/test_elastic.py::"
    "test_an_interrupted_cell_and_a_lost_notebook_leave_no_worker"
)
def test_an_agent_that_is_killed_leaves_no_worker(tmp_path):
    path, notes = program(tmp_path, SLEEPS)

    def kills_the_agent():
        wait_until(lambda: len(workers_of(notes)) == 2)
        os.kill(psutil.Process(workers_of(notes)[0]).ppid(), signal.SIGKILL)

    thread = threading.Thread(target=kills_the_agent)
    thread.start()
    with pytest.raises(LaunchError, match=r"torchrun gave up program\.py"):
        under_torchrun(path, 2, [notes], timeout=ENOUGH)
    thread.join()
    none_is_left(notes)


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(LaunchError, match="There is no program"):
        under_torchrun(tmp_path / "nothing.py", 2)


INTERRUPTIONS = others_by_night(
    [signal.SIGINT, signal.SIGKILL],
    instead="chapters/04_distributed/source/restarts_and_monitoring/test_elastic.py::test_an_interrupted_cell_and_a_lost_notebook_leave_no_worker",
)


@pytest.mark.skipif(sys.platform != "linux", reason="a pipe of the system")
@pytest.mark.parametrize("sent", INTERRUPTIONS)
def test_an_interrupted_cell_and_a_lost_notebook_leave_no_worker(tmp_path, sent):
    path, notes = program(tmp_path, SLEEPS)
    code = (
        "import signal, sys\n"
        "from labkit_lessons.distributed.restarts_and_monitoring.elastic import under_torchrun\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "under_torchrun(sys.argv[1], 2, [sys.argv[2]])\n"
    )
    command = [sys.executable, "-c", code, str(path), str(notes)]
    cell = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(workers_of(notes)) == 2)
    below = [child.pid for child in psutil.Process(cell.pid).children(recursive=True)]
    os.kill(cell.pid, sent)
    _, said = cell.communicate(timeout=ENOUGH)
    assert (sent == signal.SIGKILL) or "KeyboardInterrupt" in said
    none_is_left(notes)
    wait_until(lambda: not any(psutil.pid_exists(one) for one in below))


MEETS = """
import os, signal
import torch, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
dist.all_reduce(torch.ones(1))
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(torch.ones(1))
print("through", flush=True)
dist.barrier()
os._exit(0)
"""


@pytest.mark.night(
    instead="chapters/04_distributed/source/restarts_and_monitoring/test_elastic.py::test_all_ranks_begin_again_when_one_has_died"
)
def test_ranks_that_meet_again_meet_at_a_new_store(tmp_path):
    """Without it they meet at the old ones' store, and fail in about half of all tries."""
    path, _ = program(tmp_path, MEETS)
    said = under_torchrun(path, 2, restarts=1, timeout=ENOUGH)
    assert said.count("through") == 2
