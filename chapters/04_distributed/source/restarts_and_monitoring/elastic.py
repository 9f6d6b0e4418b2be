"""A program under torchrun that starts its workers again when one of them dies.

    said = under_torchrun("train_gpt.py", 2, ["--steps", "30"], restarts=1)
    said = restarted("train_gpt.py", 2, ["--steps", "30"], restarts=1)    # where that may not start

torchrun's agent starts the workers and watches them. When one dies it ends the others and starts
all of them anew, as often as `restarts` says; what they had in memory is gone. PyTorch 2.13 needs
a variable for this (RESTARTS): without it, the new workers meet at the store of the old ones, and
in about half of all tries they read addresses there that are gone, and fail or hang
(github.com/pytorch/pytorch/issues/135712).

torchrun's store listens on all interfaces and reads pickles from whoever reaches it, which can run
code. So all of it gets a network without a way out (closed_network.py). Lesson
restarts_and_monitoring.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

from labkit.distributed.errors import LaunchError, NoClosedNetwork
from labkit.distributed.launching.backends import on_one_machine
from labkit.distributed.launching.torchrun_agent import NOT_STARTED

AGENT = "labkit.distributed.launching.torchrun_agent"
RESTARTS = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # rank 0 makes a new store at each start
MARK = "LABKIT_TORCHRUN"  # in the environment of the agent and of its workers
EXIT_PATIENCE = 10.0  # seconds for the agent to end its workers and itself
LAST_LINES = 30  # of the output, in an error
# Programs lie in the chapter, and where labkit was installed without it, beside Python.
CHAPTER = Path(__file__).resolve().parents[2]
INSTALLED = Path(sys.prefix) / "share" / "labkit"
UNPACKED = Path(__file__).resolve().parents[3] / "share" / "labkit"  # of a handout


def under_torchrun(
    program: str | Path,
    ranks: int,
    arguments: Sequence[str] = (),
    restarts: int = 0,
    timeout: float = 120.0,
    environment: Mapping[str, str] = RESTARTS,
) -> str:
    """Runs a program in so many ranks of this machine until it ends; returns what it printed.

    program       a file, or the name of one of chapter 4's programs
    restarts      how often torchrun starts all ranks again after a death
    timeout       seconds, after which all of it is ended
    environment   variables beside those of this process

    Raises LaunchError, with the last lines printed, where torchrun gives up or takes too long, and
    NoClosedNetwork where there is no network without a way out for it.
    Interrupted or failed, it leaves no process behind.
    """
    path = _path_of(Path(program))
    command = [sys.executable, "-P", "-m", AGENT, "--standalone", "--local-addr=127.0.0.1"]
    command += [
        f"--nproc-per-node={ranks}",
        f"--max-restarts={restarts}",
        str(path),
        *map(str, arguments),
    ]
    with tempfile.TemporaryFile(prefix="labkit-torchrun-") as output:
        with _started(command, output, os.environ | on_one_machine() | dict(environment)) as agent:
            try:
                code = agent.wait(timeout)
            except subprocess.TimeoutExpired:
                raise LaunchError(
                    f"{path.name} did not end within {timeout:g} s.\n{_last_lines(output)}"
                ) from None
        if code == NOT_STARTED:
            raise NoClosedNetwork(_last_lines(output))
        if code:
            raise LaunchError(
                f"torchrun gave up {path.name}, after {restarts} restarts.\n{_last_lines(output)}"
            )
        return _output_of(output)


def restarted(
    program: str | Path, ranks: int, arguments: Sequence[str] = (), restarts: int = 0
) -> str:
    """`under_torchrun`, where that may start; else the same program without it, and why is printed.

    Then the program starts its ranks itself, by `launch`, and is itself started again when it
    fails, with torchrun's variables for how many ranks there are and which attempt this is.
    """
    try:
        return under_torchrun(program, ranks, arguments, restarts)
    except NoClosedNetwork as error:
        print(f"{error}\nSo the program starts its ranks itself, and is started again from here.")
    return _without_torchrun(_path_of(Path(program)), ranks, arguments, restarts)


def _without_torchrun(path: Path, ranks: int, arguments: Sequence[str], restarts: int) -> str:
    said = []
    for attempt in range(restarts + 1):
        place = {"WORLD_SIZE": str(ranks), "TORCHELASTIC_RESTART_COUNT": str(attempt)}
        done = subprocess.run(
            [sys.executable, str(path), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | place,
        )
        said += done.stdout.splitlines(keepends=True)
        if not done.returncode:
            return "".join(said)
    last = "".join(said[-LAST_LINES:])
    raise LaunchError(f"{path.name} failed, after {restarts} restarts.\n{last}")


def _path_of(program: Path) -> Path:
    for path in (program, *(place / program for place in (CHAPTER, INSTALLED, UNPACKED))):
        if path.is_file():
            return path
    raise LaunchError(f"There is no program {program}: name a file.")


@contextmanager
def _started(
    command: Sequence[str], output: IO[bytes], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen]:
    """The agent's process; at the end of the block neither it nor a worker is left.

    Workers are known by a variable of their environment: one whose agent was killed has no parent
    any more that would lead to it.
    """
    mark = secrets.token_hex(8)
    agent = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**environment, MARK: mark},
        start_new_session=True,  # an interrupt of the notebook reaches this process alone
    )
    try:
        yield agent
    finally:
        agent.stdin.close()
        try:
            agent.wait(EXIT_PATIENCE)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()
        for process in _marked(mark):
            _end(process)


def _marked(mark: str) -> list[psutil.Process]:
    """The processes whose environment has this mark."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


def _end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        process.kill()  # psutil knows by its time of birth that it is still the same one
        process.wait(EXIT_PATIENCE)


def _output_of(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode("utf-8", "replace")


def _last_lines(output: IO[bytes]) -> str:
    return "\n".join(_output_of(output).splitlines()[-LAST_LINES:])
