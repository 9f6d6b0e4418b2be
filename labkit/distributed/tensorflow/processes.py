"""The processes of a TensorFlow cluster, by their names: started, asked, killed, ended together.

    processes.start("worker", 1, program)
    processes.kill("worker 1")
    processes.restart("worker 1")             # at the same address
    processes.where("worker 1")               # the line of its program at which it is

`TfCluster` (cluster.py) trains on them. Lesson faults.
"""

from __future__ import annotations

import atexit
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.distributed.errors import LaunchError
from labkit.distributed.tensorflow.config import VARIABLE
from labkit.distributed.tensorflow.orders import Agent
from labkit.distributed.tensorflow.own_configs import COORDINATOR, name_of
from labkit.distributed.tensorflow.run import telling_line
from labkit.distributed.tensorflow.turns import Turn, repeated

if TYPE_CHECKING:
    from labkit.distributed.links.hosts import Host

STACK_PATIENCE = 10.0  # seconds for a process to say where it is


@dataclass(frozen=True)
class _Process:
    role: str
    index: int
    pid: int
    agent: Agent
    program: str


class TfProcesses:
    """Processes on this machine or on hosts; they end with `.end()`, or with this process.

    hosts     two or more `hosts.Host`s to deal the processes to in turn; () for this machine
    configs   the TF_CONFIG of each process, by its name

    A user's clusters on one machine take turns: each waits until those before it have ended.
    Raises LaunchError for what cannot be started, with the line of its output that says why.
    """

    def __init__(self, hosts: Sequence[Host], configs: Mapping[str, str]) -> None:
        self.configs = configs
        self._processes: dict[str, _Process] = {}
        self._agents: list[Agent] = []
        self._folder = tempfile.TemporaryDirectory(prefix="labkit-tf-", ignore_cleanup_errors=True)
        self._turn = Turn()
        atexit.register(self.end)
        try:
            for host in hosts or (None,):
                self._agents.append(Agent(self.folder, host))
            for agent in self._agents:
                agent.await_ready()
        except BaseException:
            self.end()
            raise

    @property
    def folder(self) -> Path:
        """Where each process has a folder with its `log`; it goes with the processes."""
        return Path(self._folder.name)

    @property
    def names(self) -> list[str]:
        """Of servers and workers: "server 0", ..., "worker 0", ..."""
        return [name for name in self._processes if name != COORDINATOR]

    @property
    def pids(self) -> dict[str, int]:
        """The number that the system gave each process."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self, role: str, index: int, program: Path, words: Sequence[str] = ()) -> None:
        """Starts a Python program as the process of a role, with its TF_CONFIG."""
        name = name_of(role, index)
        agent = self._agents[index % len(self._agents)]
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        environment = {VARIABLE: self.configs[name]}
        pid = agent.ask("start", [str(program), *words], str(folder), environment)
        self._processes[name] = _Process(role, index, pid, agent, str(program))

    def kill(self, name: str) -> None:
        """Ends a process by SIGKILL, at once, as a power failure would."""
        process = self._process(name)
        process.agent.ask("kill", process.pid)

    def restart(self, name: str) -> None:
        """Starts a process that has ended again, at its address."""
        process = self._process(name)
        if self.code(name) is None:
            raise LaunchError(f"{name} is running: kill it before it is restarted.")
        self.start(process.role, process.index, Path(process.program))

    def code(self, name: str) -> int | None:
        """A process's exit code, -9 after a kill; None while it runs."""
        process = self._process(name)
        return process.agent.ask("code", process.pid)

    def awaited(self, name: str, timeout: float) -> int | None:
        """A process's exit code, waited for; None if it still runs after so many seconds."""
        for _ in repeated(timeout):
            code = self.code(name)
            if code is not None:
                return code
        return None

    def log(self, name: str) -> str:
        """What a process has printed, over all its restarts."""
        self._process(name)
        return (self.folder / name / "log").read_text("utf-8", "replace")

    def why_ended(self, name: str) -> str:
        """A sentence with the line of a process's output that says best why it ended."""
        return f"{name} said: {telling_line(self.log(name))}"

    def where(self, name: str) -> int | None:
        """The line of its program at which a process is just now; None if it has ended."""
        process = self._process(name)
        before = len(self.log(name))
        process.agent.ask("where", process.pid)
        for _ in repeated(STACK_PATIENCE):
            said = self.log(name)[before:]
            lines = re.findall(r'File "(.+)", line (\d+) in', said)
            if "<module>" in said:  # the outermost call, and the last that is written
                return next((int(n) for file, n in lines if file == process.program), None)
            if self.code(name) is not None:
                break
        return None

    def memory(self) -> int:
        """Bytes that all processes hold, the agents included, each shared page once; on Linux."""
        total = 0
        for pid in [*(agent.process.pid for agent in self._agents), *self.pids.values()]:
            with suppress(OSError):
                said = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
                total += int(re.search(r"^Pss:\s+(\d+)", said, re.MULTILINE)[1]) << 10
        return total

    def end(self) -> None:
        """Ends every process; nothing is left of them, and the next cluster may begin."""
        atexit.unregister(self.end)
        for agent in self._agents:
            agent.end()
        self._agents = []
        self._turn.end()
        self._folder.cleanup()

    def _process(self, name: str) -> _Process:
        if name not in self._processes or not self._agents:
            there = ", ".join(self._processes) if self._agents else "none: it has ended"
            raise LaunchError(f"This cluster has no process {name!r}; it has {there}.")
        return self._processes[name]
