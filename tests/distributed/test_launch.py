"""`launch`: results, output, and what is told when ranks fail, die, hang or cannot start."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from labkit.checks.watch import memory
from labkit.distributed import LaunchError, launch
from labkit.distributed import launch as launching
from labkit.distributed.launching import failures, ledger
from labkit.distributed.launching.backends import carriers, chosen_backend
from labkit.distributed.launching.processes import INHERITED, PRELOADED, Processes, process_context
from tests.night import others_by_night

ENOUGH = 300.0  # seconds: only ends a launch that would hang


def numbers(rank, ranks, *more):
    return rank, ranks, more


@pytest.mark.skipif(sys.platform != "linux", reason="a forkserver")
def test_ranks_inherit_the_compiler_where_their_launcher_has_it(monkeypatch):
    asked = []
    context = SimpleNamespace(set_forkserver_preload=asked.append)
    monkeypatch.setattr("multiprocessing.get_context", lambda kind: context)
    monkeypatch.setitem(sys.modules, INHERITED, object())
    process_context("more")
    monkeypatch.delitem(sys.modules, INHERITED)
    process_context()
    assert asked == [[*PRELOADED, "more", INHERITED], PRELOADED]


def reduced(rank, ranks, x):
    import torch
    import torch.distributed as dist

    total = torch.from_numpy(x) * (rank + 1)
    dist.all_reduce(total)
    return total.numpy(), dist.get_backend(), torch.get_num_threads(), os.getpid()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_results_in_the_order_of_the_ranks(ranks):
    found = launch(numbers, ranks, "a", [1], timeout=ENOUGH)
    assert found == [(rank, ranks, ("a", [1])) for rank in range(ranks)]


def test_real_processes_in_one_group():
    x = np.random.default_rng(0).normal(size=(3, 5))
    found = launch(reduced, 3, x, timeout=ENOUGH)
    for total, backend, threads, _ in found:
        assert np.allclose(total, 6 * x) and backend == "gloo" and threads == 1
    processes = {process for *_, process in found}
    assert len(processes) == 3 and os.getpid() not in processes


def test_what_the_function_uses_is_sent_along():
    """Closures, lambdas and functions that are defined in a notebook travel by value."""
    factor = 7

    def times(x):
        return factor * x

    assert launch(lambda rank, ranks: times(rank), 2, timeout=ENOUGH) == [0, 7]


def test_variables_of_the_environment_that_were_set_since(monkeypatch):
    launch(numbers, 1, timeout=ENOUGH)
    monkeypatch.setenv("LABKIT_TEST_WORD", "new")
    assert launch(lambda r, n: os.environ["LABKIT_TEST_WORD"], 1, timeout=ENOUGH) == ["new"]


def test_output_behind_the_rank_s_number(capfd):
    def speaks(rank, ranks):
        print("first of", rank)
        os.write(2, b"not by Python\n")
        print("last")

    launch(speaks, 2, timeout=ENOUGH)
    lines = capfd.readouterr().out.splitlines()
    said = ["first of {}", "not by Python", "last"]
    assert lines == [f"[rank {r}] {line.format(r)}" for r in range(2) for line in said]


def test_more_output_and_results_than_a_pipe_holds(capfd):
    def much(rank, ranks):
        print("x" * 300_000)
        return np.full(1_000_000, rank)

    found = launch(much, 2, timeout=ENOUGH)
    assert [int(one.sum()) for one in found] == [0, 1_000_000]
    assert len(capfd.readouterr().out) > 600_000


def test_the_first_traceback_and_its_rank(capfd):
    """The others wait for the rank that raised, and are ended."""

    def raises(rank, ranks):
        import torch
        import torch.distributed as dist

        print("begun")
        if rank == 1:
            raise ValueError("one is too many")
        dist.all_reduce(torch.ones(2))

    with pytest.raises(LaunchError) as told:
        launch(raises, 3, timeout=ENOUGH)
    text = str(told.value)
    assert text.startswith("Rank 1 raised ValueError: one is too many\n")
    assert 'raise ValueError("one is too many")' in text and "in raises" in text
    assert "[rank 1] begun" in capfd.readouterr().out
    assert "rank.py" not in text, "labkit's own lines are no help"


@pytest.mark.parametrize(
    ("leave", "told"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "Rank 1 was killed by SIGKILL"),
        (lambda: os._exit(3), "Rank 1 ended by itself with exit code 3"),
        (lambda: sys.exit("enough"), "Rank 1 raised SystemExit: enough"),
    ],
)
def test_a_rank_that_dies_is_the_cause(leave, told):
    """What its neighbours say of a closed connection is a consequence."""

    def dies(rank, ranks):
        import torch
        import torch.distributed as dist

        dist.barrier()
        if rank == 1:
            leave()
        dist.all_reduce(torch.ones(1000))

    with pytest.raises(LaunchError, match=told):
        launch(dies, 3, timeout=ENOUGH)


@pytest.fixture
def late(monkeypatch):
    """`late(condition)`: the next launch's time is up as soon as the condition holds."""

    def when(condition):
        def listen(processes, seconds, look):
            end = time.monotonic() + ENOUGH
            while not condition(processes.ranks) and time.monotonic() < end:
                processes._hear(0.05)
            processes._hear_for(0.3)  # what was about to be called is called

        monkeypatch.setattr(Processes, "listen", listen)

    return when


def called(folder, *calls):
    """Whether each rank has made so many calls of torch.distributed."""
    return lambda ranks: (
        [len(list(ledger.read(path))) for path in sorted(Path(folder).rglob("calls-?"))]
        == list(calls)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where launches put what they need."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_rank_that_left(capfd, late, folder):
    def leaves(rank, ranks):
        import torch
        import torch.distributed as dist

        dist.barrier()
        if rank == 0:
            return None
        return dist.all_reduce(torch.ones(2))

    counted = called(folder, 1, 2)
    late(lambda ranks: counted(ranks) and not ranks[0].running)
    with pytest.raises(LaunchError) as told:
        launch(leaves, 2, timeout=2)
    text = str(told.value)
    assert "Not all ranks ended within 2 s" in text and "rank 0 has returned" in text
    assert re.search(
        r"rank 1 waits in all_reduce, line \d+ of leaves: return dist\.all_reduce", text
    )
    said = "Rank 1 calls all_reduce of float32[2] (SUM) as its 2nd collective"
    assert text.endswith(f"{said}; rank 0 has returned after 1.")
    assert "Current thread" not in capfd.readouterr().out


def test_send_against_send(late, folder):
    def both_send(rank, ranks):
        import torch
        import torch.distributed as dist

        much = torch.ones(1 << 24)
        dist.send(much, 1 - rank)
        dist.recv(much, 1 - rank)

    late(called(folder, 1, 1))
    with pytest.raises(LaunchError) as told:
        launch(both_send, 2)
    text = str(told.value)
    assert text.count("waits in send") == 2
    assert "Rank 0 sends its 1st message to rank 1, which has received none." in text


def test_a_circle_that_receives_first(late, folder):
    def circle(rank, ranks):
        import torch

        from labkit.distributed import receive, send

        x = torch.ones(2)
        receive(x, (rank - 1) % ranks)
        send(x, (rank + 1) % ranks)

    late(called(folder, 1, 1, 1))
    with pytest.raises(LaunchError) as told:
        launch(circle, 3)
    text = str(told.value)
    assert text.count("waits in receive, line") == 3
    assert "Rank 0 waits for its 1st message from rank 2, which has sent none." in text


def test_another_collective_is_told_at_once():
    """Both would wait for ever; rank 2, which is not there yet, need not come."""

    def differs(rank, ranks):
        import time

        import torch
        import torch.distributed as dist

        dist.all_reduce(torch.ones(3))
        if rank == 1:
            dist.broadcast(torch.ones(2, 2), 0)
        while rank == 2:
            time.sleep(1000)
        dist.all_reduce(torch.ones(3))

    with pytest.raises(LaunchError) as told:
        launch(differs, 3, timeout=ENOUGH)
    sentence, *places = str(told.value).splitlines()
    assert sentence == (
        "Ranks disagree: rank 0 calls all_reduce of float32[3] (SUM) as its 2nd collective, "
        "rank 1 calls broadcast of float32[2, 2] from rank 0. All ranks were ended:"
    )
    assert places[1].startswith("    rank 1 waits in broadcast, line ")
    assert places[2].startswith("    rank 2 waits, line ")


def test_what_ranks_disagree_on_although_all_of_them_end():
    """Gloo adds up on one rank and takes the greatest on the other, and cuts what is too long."""

    def operations(rank, ranks):
        import torch
        import torch.distributed as dist

        dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)

    with pytest.raises(LaunchError, match=r"Ranks disagree: rank 0 .*\(SUM\).* rank 1 .*\(MAX\)"):
        launch(operations, 2, timeout=ENOUGH)

    def sizes(rank, ranks):
        import torch

        from labkit.distributed import receive, send

        if rank == 0:
            send(torch.ones(3), 1)
        else:
            receive(torch.ones(5), 0)

    told = r"rank 0 sends float32\[3\] as its 1st message to rank 1, which receives .*float32\[5\]"
    with pytest.raises(LaunchError, match=told):
        launch(sizes, 2, timeout=ENOUGH)


def test_the_cause_of_gloo_s_error_comes_before_it():
    """Gloo ends a rank whose bytes do not fit, with words of its own."""

    def dtypes(rank, ranks):
        import torch
        import torch.distributed as dist

        dist.all_reduce(torch.ones(4, dtype=torch.int64 if rank else torch.float32))
        dist.barrier()

    with pytest.raises(LaunchError) as told:
        launch(dtypes, 2, timeout=ENOUGH)
    text = str(told.value)
    assert text.startswith("Ranks disagree: rank 0 calls all_reduce of float32[4] (SUM) as its 1st")
    assert "rank 1 calls all_reduce of int64[4] (SUM)." in text


def test_an_endless_loop_without_communication(late):
    def loops(rank, ranks):
        print("begun")
        while True:
            pass

    late(lambda ranks: all(b"begun" in rank.printed for rank in ranks))
    with pytest.raises(LaunchError, match=r"line .* of loops") as told:
        launch(loops, 2, timeout=1)
    assert "needs its counterpart in the other ranks" in str(told.value)


@pytest.fixture
def clock(monkeypatch):
    """`clock(rule)`: the launching process's clock shows rule(ranks) after each word of a rank."""

    def goes(rule):
        now = [0.0]
        hear = Processes._hear

        def heard(processes, seconds):
            found = hear(processes, seconds)
            now[0] = max(now[0], rule(processes.ranks))
            return found

        monkeypatch.setattr(Processes, "_hear", heard)
        own = SimpleNamespace(monotonic=lambda: now[0])
        monkeypatch.setattr("labkit.distributed.launching.processes.time", own)

    return goes


def test_the_limit_begins_when_all_ranks_have_begun(clock):
    """Before, the clock goes on by 100 s at once, and then it stands still."""
    clock(lambda ranks: 100.0)
    assert launch(numbers, 2, timeout=1) == [(0, 2, ()), (1, 2, ())]


def test_ranks_that_never_begin(clock):
    def never():
        import time

        print("unpacks", flush=True)
        time.sleep(1000)

    class Never:
        def __reduce__(self):
            return never, ()

    clock(lambda ranks: 1000.0 if all(b"unpacks" in rank.printed for rank in ranks) else 0.0)
    with pytest.raises(LaunchError, match="Not all ranks ended"):
        launch(lambda rank, ranks, x: x, 2, Never(), timeout=ENOUGH)


def test_what_cannot_be_sent_is_named():
    lock = threading.Lock()
    with pytest.raises(LaunchError, match=r"cannot send `lock`, which the function uses, .*pickle"):
        launch(lambda rank, ranks: lock, 2)
    with pytest.raises(LaunchError, match="cannot send argument 1 to other processes"):
        launch(numbers, 2, 5, lock)
    with pytest.raises(LaunchError, match="What the function returns, of type lock, cannot go"):
        launch(lambda rank, ranks: threading.Lock(), 2, timeout=ENOUGH)


@pytest.mark.parametrize("ranks", [0, -1, 65, 2.0, True, "2", None])
def test_wrong_numbers_of_ranks(ranks):
    with pytest.raises(LaunchError, match="ranks is a whole number from 1 to 64"):
        launch(numbers, ranks)


@pytest.mark.parametrize("timeout", [0, -1.0, "9", None, float("nan"), True])
def test_wrong_limits(timeout):
    with pytest.raises(LaunchError, match="timeout is a number of seconds above 0"):
        launch(numbers, 2, timeout=timeout)


def test_no_function():
    with pytest.raises(LaunchError, match=r"takes a function of .*type int"):
        launch(3, 2)


def test_more_ranks_than_memory_allows(monkeypatch):
    free = 7 * sys.modules[launching.__module__].RANK_BYTES // 2
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    with pytest.raises(LaunchError, match=r"4 ranks need about .* launch at most 3"):
        launch(numbers, 4)


def test_backends(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert chosen_backend(2) == "gloo"
    with pytest.raises(LaunchError, match="no backend 'smoke'"):
        chosen_backend(2, "smoke")
    monkeypatch.setattr("torch.distributed.is_nccl_available", lambda: True)
    with pytest.raises(LaunchError, match="NCCL needs a GPU for each rank: 2 ranks, and 0"):
        chosen_backend(2, "nccl")
    monkeypatch.setattr("torch.distributed.is_mpi_available", lambda: False)
    with pytest.raises(LaunchError, match="built without mpi"):
        chosen_backend(2, "mpi")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert chosen_backend(2) == "nccl" and chosen_backend(3) == "gloo"
    assert carriers("nccl") == "cpu:gloo,cuda:nccl"  # tensors on the CPU, as in the lessons, too
    assert carriers("gloo") == "gloo"


def children_of(process: int) -> set[int]:
    """All processes below one, from the system's own list."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {process}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


@pytest.mark.night(
    instead="tests/distributed/test_launch.py::"
    "test_an_interrupted_cell_and_a_lost_notebook_leave_no_process"
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_twenty_launches_leave_no_process_and_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    launch(numbers, 2, timeout=ENOUGH)
    before = children_of(os.getpid())
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        assert launch(numbers, 2, timeout=ENOUGH)[1] == (1, 2, ())
    assert children_of(os.getpid()) <= before
    assert len(os.listdir("/proc/self/fd")) <= files
    assert not list(tmp_path.iterdir())


SENT = others_by_night(
    ["SIGINT", "SIGKILL"],
    "tests/distributed/test_launch.py"
    "::test_an_interrupted_cell_and_a_lost_notebook_leave_no_process",
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("sent", SENT)
def test_an_interrupted_cell_and_a_lost_notebook_leave_no_process(tmp_path, sent):
    """The one by Ctrl-C, the other by SIGKILL: no rank outlives it, and no child of a rank.

    Interrupted, IPython shows where the ranks were, and no traceback of labkit.
    """
    program = tmp_path / "program.ipy"  # run as a cell
    program.write_text(
        "import multiprocessing, os, signal, sys, time\n"
        "from labkit.distributed import launch\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell has none
        "def sleeps(rank, ranks, folder):\n"
        "    child = multiprocessing.Process(target=time.sleep, args=(1000,))\n"
        "    child.start()\n"
        "    open(f'{folder}/{rank}', 'w').write(f'{os.getpid()} {child.pid}\\n')\n"
        "    while True:\n"
        "        time.sleep(1000)\n"
        "launch(sleeps, 2, sys.argv[1], timeout=1000)\n"
    )
    sent = getattr(signal, sent)
    folder = tmp_path / "pids"
    folder.mkdir()
    command = [sys.executable, "-m", "IPython", str(program), str(folder)]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
    )
    wait_until(lambda: _pids(folder))
    ranks = _pids(folder)
    if sent is signal.SIGINT:  # in a terminal, all processes get it
        os.kill(ranks[0], sent)
    running.send_signal(sent)
    said, _ = running.communicate(timeout=ENOUGH)
    wait_until(lambda: not any(map(alive, ranks)))
    if sent is signal.SIGINT:
        assert "KeyboardInterrupt: All ranks were ended:" in said and "launch.py" not in said
        assert re.search(r"rank 1 waits, line \d+ of sleeps", said)


def _pids(folder: Path) -> list[int]:
    """Those that two ranks have written down, each on a line."""
    texts = [path.read_text() for path in folder.iterdir()]
    done = len(texts) == 2 and all(text.endswith("\n") for text in texts)
    return [int(pid) for text in texts for pid in text.split()] if done else []


def alive(process: int) -> bool:
    """Whether it runs: one that is dead and was not waited for yet does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition, seconds: float = ENOUGH) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_program_without_the_usual_last_lines(tmp_path):
    """No `if __name__ == "__main__"`: it runs once, not in each rank again, and launches twice."""
    program = tmp_path / "program.py"
    program.write_text(
        "from labkit.distributed import launch\n"
        "class Place:\n"
        "    def __init__(self, rank):\n"
        "        self.rank = rank\n"
        "def place(rank, ranks):\n"
        "    return Place(rank)\n"
        "print('once')\n"
        "for _ in range(2):\n"
        "    found = launch(place, 2)\n"
        "    print([type(one) is Place and one.rank for one in found])\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.stdout == "once\n[0, 1]\n[0, 1]\n", done.stderr


def test_nothing_comes_from_the_folder_in_which_a_program_is_called(tmp_path):
    """Others may write there, as in /tmp. Its ranks are in it all the same."""
    program, folder = tmp_path / "program.py", tmp_path / "shared"
    folder.mkdir()
    (folder / "multiprocessing.py").write_text("raise SystemExit('somebody else has put it here')")
    program.write_text(
        "import os\n"
        "from labkit.distributed import launch\n"
        "print(launch(lambda rank, ranks: os.getcwd(), 1))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=folder)
    assert done.stdout == f"{[str(folder)]}\n", done.stderr


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]


@pytest.mark.night(
    instead="tests/distributed/launching/test_schedulers.py::test_torchrun_s_command_runs"
)
def test_the_same_program_under_torchrun(tmp_path):
    """Two launches in a row, one of which trains; no rank aborts when it leaves the group."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "from labkit.distributed import launch\n"
        "def place(rank, ranks, word):\n"
        "    return f'{word} {rank} of {ranks}'\n"
        "def train(rank, ranks):\n"
        "    torch.manual_seed(0)\n"
        "    layer = torch.nn.Linear(3, 1, bias=False)\n"
        "    model = torch.nn.parallel.DistributedDataParallel(layer)\n"
        "    model(torch.full((1, 3), float(rank))).sum().backward()\n"
        "    return layer.weight.grad.tolist()\n"
        "if __name__ == '__main__':\n"
        "    print(launch(place, 2, 'rank'), launch(train, 2))\n"
    )
    # Both ranks write into one pipe, part by part: their lines may mix.
    parts = "['rank 0 of 2', 'rank 1 of 2']", "[[[0.5, 0.5, 0.5]], [[0.5, 0.5, 0.5]]]"
    command = [*TORCHRUN, "--nproc-per-node=2", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENOUGH)
    assert [done.stdout.count(part) for part in parts] == [2, 2], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    assert "terminate called" not in done.stderr
    alone = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert alone.stdout == " ".join(parts) + "\n", alone.stderr


@pytest.fixture
def as_torchrun(monkeypatch):
    """This process, as one rank of two that torchrun has started; the port of their meeting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for name, value in {
            "TORCHELASTIC_RUN_ID": "none",
            "RANK": 0,
            "WORLD_SIZE": 2,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }.items():
            monkeypatch.setenv(name, str(value))
        yield port


def test_torchrun_s_ranks_and_those_of_the_program_agree(as_torchrun):
    with pytest.raises(LaunchError, match="launches 3 ranks, and torchrun has started 2"):
        launch(numbers, 3)


def test_a_port_in_use(as_torchrun):
    told = f"Port {as_torchrun} of 127.0.0.1, where the ranks would meet, is in use"
    with pytest.raises(LaunchError, match=told):
        launch(numbers, 2)


def test_a_launch_needs_no_port(monkeypatch, as_torchrun):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert launch(numbers, 2, timeout=ENOUGH) == [(0, 2, ()), (1, 2, ())]


@pytest.mark.parametrize("place", ["chapters/04_distributed/source", "labkit_lessons/distributed"])
def test_a_lesson_s_own_helper_is_none_of_the_learner_s_lines(place):
    helper = f'File "/a/{place}/serving/inference.py", line 3 in infer'
    stack = f'{helper}\n  File "/a/cell.py", line 2 in program'
    assert failures._where(stack) == "waits in infer, line 2 of program"
