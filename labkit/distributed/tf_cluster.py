"""A TensorFlow cluster with parameter servers, on one machine: real processes, that can be killed.

    with TfCluster(servers=2, workers=3) as cluster:
        run = cluster.run(steps=300)                  # a TfRun: run.scheduled, run.applied, ...

        cluster.begin(steps=1500, pause_at=700)
        name = cluster.paused()                       # "worker 1": has applied step 700, and waits
        cluster.kill(name)
        cluster.restart(name)                         # at the same address
        run = cluster.finish()                        # run.applied 1501, run.twice [700]

        cluster.begin(steps=1500, checkpoint="saved", save_every=500, pause_at=1200)
        cluster.paused()
        cluster.kill("server 0")
        run = cluster.finish()                        # run.error "UnavailableError", run.saved 1000
        cluster.restart("server 0")                   # it comes back empty
        run = cluster.run(steps=1500, checkpoint="saved", save_every=500)     # run.resumed_at 1000

Every process runs `train_tf_ps.py`, with a TF_CONFIG of its own: servers and workers from the
beginning to the end, and a new coordinator (TensorFlow's chief) for each run. The notebook's own
process never loads TensorFlow. Starting takes about as long as loading TensorFlow once; each run
adds its steps and half a second. Lesson faults.
"""

from __future__ import annotations

import atexit
import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.distributed.errors import LaunchError
from labkit.distributed.tf_config import VARIABLE, TfConfigError, read, tf_config
from labkit.distributed.tf_orders import Agent
from labkit.distributed.tf_run import PROGRAM, TfRun, Tried, telling_line
from labkit.distributed.tf_turns import Turn, free_ports, repeated

if TYPE_CHECKING:
    from labkit.distributed.hosts import Host

ROOT = Path(__file__).resolve().parents[2]
MOST_PROCESSES = 6
PATIENCE = 300.0  # seconds that end a hang, nothing else
STACK_PATIENCE = 10.0  # seconds for a process to say where it is
LOOKS = 20  # at a program, before we say that it stays where it is
_STACK = re.compile(r"^(Current thread|Thread) 0x.*\n(  File .*\n)*\n?", re.MULTILINE)
COORDINATOR = "coordinator"
LOCAL = "127.0.0.1"


class TfCluster:
    """The cluster's processes; they end with the `with` block, `.end()`, or this process.

    servers    1 or more
    workers    1 or more; with the coordinator at most 6 processes in all
    hosts      two or more `hosts.Host`s to deal the processes to in turn; () for this machine
    config     who writes each process's TF_CONFIG: f(hosts, ports, servers, number), for the
               addresses of all processes in the order coordinator, servers, workers, and the number
               of one of them in that order; by default `tf_config`
    program    another program than train_tf_ps.py, of the same options

    A user's clusters on one machine take turns: each waits until the one before has ended. Raises
    LaunchError for what cannot be started, with the line of its output that says why.
    """

    def __init__(
        self,
        servers: int = 2,
        workers: int = 3,
        hosts: Sequence[Host] = (),
        config: Callable[[list[str], list[int], int, int], str] | None = None,
        program: str | Path | None = None,
    ) -> None:
        _refuse_wrong(servers, workers)
        self.program = Path(program or find_program()).resolve()
        roles = [("ps", i) for i in range(servers)] + [("worker", i) for i in range(workers)]
        self._processes: dict[str, _Process] = {}
        self._agents: list[Agent] = []
        addresses = [host.address for host in hosts] or [LOCAL]
        self._configs = _configured(roles, servers, addresses, config or _written)
        self._folder = tempfile.TemporaryDirectory(prefix="labkit-tf-", ignore_cleanup_errors=True)
        self._turn = Turn()
        atexit.register(self.end)
        try:
            for host in hosts or (None,):
                self._agents.append(Agent(self.folder, host))
            for agent in self._agents:
                agent.await_ready()
            for role, index in roles:
                self._start(role, index)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> TfCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def folder(self) -> Path:
        """Where each process has a folder with its `log`; it goes with the cluster."""
        return Path(self._folder.name)

    @property
    def names(self) -> list[str]:
        """Of its processes: "server 0", ..., "worker 0", ..."""
        return [name for name in self._processes if name != COORDINATOR]

    def run(self, **options: Any) -> TfRun:
        """A training from its beginning to its end: `begin`, then `finish`."""
        self.begin(**options)
        return self.finish()

    def begin(self, **options: Any) -> None:
        """Starts a coordinator, and returns at once.

        options   of train_tf_ps.py: steps, rate, batch, checkpoint (a name in the cluster's folder,
                  or a whole path), save_every, pause_at
        """
        self._refuse_two()
        for name in self.names:
            for file in ("paused", "go-on"):
                (self.folder / name / file).unlink(missing_ok=True)
        if options.get("checkpoint"):
            options["checkpoint"] = self.folder / options["checkpoint"]
        for file in (self._report, self.folder / COORDINATOR / "log"):
            file.unlink(missing_ok=True)
        words = ["--report", str(self._report)]
        for option, value in options.items():
            words += [f"--{option.replace('_', '-')}", str(value)]
        self._start("chief", 0, words)

    def paused(self, timeout: float = PATIENCE) -> str:
        """Waits for a worker that has applied the step `pause_at`; its name.

        It has not answered the coordinator yet, and does not before `release` is called.
        """
        for _ in repeated(timeout):
            for name in self.names:
                if (self.folder / name / "paused").exists():
                    return name
            if self.code(COORDINATOR) is not None:
                break
        raise LaunchError(f"No worker paused within {timeout:g} s. {self._told(COORDINATOR)}")

    def release(self) -> None:
        """Lets the worker that is paused go on."""
        for name in self.names:
            (self.folder / name / "go-on").touch()

    def finish(self, timeout: float = PATIENCE) -> TfRun:
        """Waits for the coordinator, and returns what it reports.

        Raises LaunchError if it fails otherwise than by a server that is gone, or does not end.
        """
        code = self._awaited(COORDINATOR, timeout)
        if code is None:
            self.kill(COORDINATOR)
            self._start_paused_again()
            raise LaunchError(
                f"The coordinator did not end within {timeout:g} s, and was ended. {self._states()}"
            )
        if not self._report.exists():
            raise LaunchError(f"The coordinator failed. {self._told(COORDINATOR)}")
        said = json.loads(self._report.read_text("utf-8"))
        if said["error"]:
            self._start_paused_again()
        return TfRun(
            steps=said["steps"],
            resumed_at=said["resumed_at"],
            scheduled=said["scheduled"],
            times=said["applied"],
            saved=said["saved"],
            losses=said["losses"],
            weights=said["weights"],
            on_servers=said["numbers_on_servers"],
            seconds=said["seconds"],
            message=said["error"] or "",
        )

    def kill(self, name: str) -> None:
        """Ends a process by SIGKILL, at once, as a power failure would."""
        process = self._process(name)
        process.agent.ask("kill", process.pid)

    def restart(self, name: str) -> None:
        """Starts a process that has ended again, at its address."""
        process = self._process(name)
        if self.code(name) is None:
            raise LaunchError(f"{name} is running: kill it before it is restarted.")
        self._start(process.role, process.index)

    def code(self, name: str) -> int | None:
        """A process's exit code, -9 after a kill; None while it runs."""
        process = self._process(name)
        return process.agent.ask("code", process.pid)

    def log(self, name: str) -> str:
        """What a process has printed, over all its restarts."""
        self._process(name)
        return (self.folder / name / "log").read_text("utf-8", "replace")

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

    def try_program(
        self, text: str, until: str | Callable[[], bool] = "", timeout: float = PATIENCE
    ) -> Tried:
        """Runs any Python program in the coordinator's place, to its end.

        until   words: once the program has printed them and then stays in one line, it is ended,
                and the line is told. Or a function, which is true from that moment on
        """
        self._refuse_two()
        path = self.folder / "program.py"
        path.write_text(text, "utf-8")
        (self.folder / COORDINATOR / "log").unlink(missing_ok=True)
        self._start("chief", 0, program=path)
        begun = until if callable(until) else lambda: bool(until) and until in self.log(COORDINATOR)
        lines: list[int | None] = []
        for _ in repeated(timeout):
            if self.code(COORDINATOR) is not None or _stays(lines):
                break
            if lines or begun():
                lines.append(self.where(COORDINATOR))
        ended = self.code(COORDINATOR) is not None
        self.kill(COORDINATOR)
        said = _STACK.sub("", self.log(COORDINATOR))
        return Tried(said, None if ended or not lines else lines[-1])

    def free_ports(self, count: int) -> list[int]:
        """Ports of this machine at which nobody listens."""
        return list(islice(free_ports(), count))

    def memory(self) -> int:
        """Bytes that all processes hold, the agents included, each shared page once; on Linux."""
        total = 0
        for agent in self._agents:
            pids = [process.pid for process in self._processes.values() if process.agent is agent]
            for pid in [agent.process.pid, *pids]:
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

    @property
    def _report(self) -> Path:
        return self.folder / "report.json"

    def _refuse_two(self) -> None:
        if COORDINATOR in self._processes and self.code(COORDINATOR) is None:
            raise LaunchError("A training is under way: call finish() before the next one.")

    def _start(
        self, role: str, index: int, words: Sequence[str] = (), program: Path | None = None
    ) -> None:
        name = _name(role, index)
        agent = self._agents[index % len(self._agents)]
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        environment = {VARIABLE: self._configs[name]}
        path = str(program or self.program)
        pid = agent.ask("start", [path, *words], str(folder), environment)
        self._processes[name] = _Process(role, index, pid, agent, path)

    def _process(self, name: str) -> _Process:
        if name not in self._processes or not self._agents:
            there = ", ".join(self._processes) if self._agents else "none: it has ended"
            raise LaunchError(f"This cluster has no process {name!r}; it has {there}.")
        return self._processes[name]

    def _awaited(self, name: str, timeout: float) -> int | None:
        for _ in repeated(timeout):
            code = self.code(name)
            if code is not None:
                return code
        return None

    def _start_paused_again(self) -> None:
        """Ends workers that would wait on for a coordinator which is gone, and starts them anew."""
        for name in self.names:
            if (self.folder / name / "paused").exists():
                self.kill(name)
                self.restart(name)

    def _told(self, name: str) -> str:
        return f"{name} said: {telling_line(self.log(name))}"

    def _states(self) -> str:
        """Which processes have ended, and their last words."""
        gone = [name for name in self.names if self.code(name) is not None]
        if not gone:
            return "All servers and workers are running."
        return " ".join(f"{name} had ended before; {self._told(name)}" for name in gone)


def find_program() -> Path:
    """train_tf_ps.py of chapter 4, or the one that was installed with labkit."""
    places = [ROOT / "chapters" / "04_distributed", Path(sys.prefix) / "share" / "labkit"]
    for place in places:
        if (place / PROGRAM).exists():
            return place / PROGRAM
    raise LaunchError(f"{PROGRAM} is neither in {places[0]} nor in {places[1]}.")


@dataclass(frozen=True)
class _Process:
    role: str
    index: int
    pid: int
    agent: Agent
    program: str


def _refuse_wrong(servers: int, workers: int) -> None:
    for name, number in (("servers", servers), ("workers", workers)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise LaunchError(f"TfCluster: {name} is a whole number from 1 on, not {number!r}.")
    if servers + workers + 1 > MOST_PROCESSES:
        raise LaunchError(
            f"TfCluster: {servers} servers, {workers} workers and the coordinator are "
            f"{servers + workers + 1} processes; at most {MOST_PROCESSES} fit."
        )


def _name(role: str, index: int) -> str:
    return {"chief": COORDINATOR, "ps": f"server {index}", "worker": f"worker {index}"}[role]


def _configured(
    roles: Sequence[tuple[str, int]],
    servers: int,
    addresses: Sequence[str],
    config: Callable[[list[str], list[int], int, int], str],
) -> dict[str, str]:
    """The TF_CONFIG of each process; raises TfConfigError for one that is none, or another's."""
    tasks = [("chief", 0), *roles]
    hosts = [addresses[index % len(addresses)] for _, index in tasks]
    ports = list(islice(free_ports(), len(tasks)))
    texts = {}
    for number, (role, index) in enumerate(tasks):
        text = config(list(hosts), list(ports), servers, number)
        place = read(text)
        if (place.role, place.index) != (role, index):
            raise TfConfigError(
                f"The TF_CONFIG of process {number} is for {place.role} {place.index}; this "
                f"process is {role} {index}."
            )
        texts[_name(role, index)] = text
    return texts


def _written(hosts: list[str], ports: list[int], servers: int, number: int) -> str:
    """The TF_CONFIG of a process, by its number: the coordinator, then servers, then workers."""
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    first_worker = 1 + servers
    cluster = {
        "chief": addresses[:1],
        "ps": addresses[1:first_worker],
        "worker": addresses[first_worker:],
    }
    if number == 0:
        return tf_config(cluster, "chief")
    if number < first_worker:
        return tf_config(cluster, "ps", number - 1)
    return tf_config(cluster, "worker", number - first_worker)


def _stays(lines: Sequence[int | None]) -> bool:
    """Whether the last looks at a program all found it in the same line."""
    return len(lines) >= LOOKS and len(set(lines[-LOOKS:])) == 1
