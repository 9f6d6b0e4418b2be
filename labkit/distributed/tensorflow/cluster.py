"""A TensorFlow cluster with parameter servers, on one machine: real processes, that can be killed.

    with TfCluster(servers=2, workers=3) as cluster:
        run = cluster.run(steps=300)                  # a TfRun: run.scheduled, run.applied, ...

        cluster.begin(steps=1500, pause_at=700)
        name = cluster.paused()                       # "worker 1": has applied step 700, and waits
        cluster.kill(name)
        cluster.restart(name)                         # at the same address
        run = cluster.finish()                        # run.applied 1501, run.twice [700]

        cluster.begin(steps=1500, checkpoint="saved", save_every=500, pause_at=1499)
        cluster.paused()                              # all 1500 are applied, and not yet saved
        cluster.kill("server 0")
        cluster.release()
        run = cluster.finish()                        # run.error "UnavailableError", run.saved 1000
        cluster.restart("server 0")                   # it comes back empty
        run = cluster.run(steps=1500, checkpoint="saved", save_every=500)     # run.resumed_at 1000

Every process runs `train_tf_ps.py`, with a TF_CONFIG of its own: servers and workers from the
beginning to the end, and a new coordinator (TensorFlow's chief) for each run. The notebook's own
process never loads TensorFlow. Starting takes about as long as loading TensorFlow once; each run
adds its steps and half a second. Killing and asking is in processes.py. Lesson faults.

TensorFlow's processes listen on all network interfaces, whatever address a TF_CONFIG names, and run
every graph that they are sent, without asking by whom; TensorFlow's SECURITY.md calls that
arbitrary code. An open one would let anybody who reaches its port run programs as this user. So
they get a network without a way out (connections/closed_network.py); where there is none, nothing
starts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.distributed.errors import LaunchError
from labkit.distributed.tensorflow.own_configs import COORDINATOR, LOCAL, Writer, own_configs
from labkit.distributed.tensorflow.processes import TfProcesses
from labkit.distributed.tensorflow.run import PROGRAM, TfRun
from labkit.distributed.tensorflow.turns import repeated
from labkit.errors import whole

if TYPE_CHECKING:
    from labkit.distributed.links.hosts import Host

ROOT = Path(__file__).resolve().parents[3]
MOST_PROCESSES = 6
PATIENCE = 300.0  # seconds that end a hang, nothing else


class TfCluster(TfProcesses):
    """The cluster's processes; they end with the `with` block, `.end()`, or this process.

    servers    1 or more
    workers    1 or more; with the coordinator at most 6 processes in all
    hosts      two or more `hosts.Host`s to deal the processes to in turn; () for this machine
    config     who writes each process's TF_CONFIG: f(hosts, ports, servers, number), for the
               addresses of all processes in the order coordinator, servers, workers, and the number
               of one of them in that order; by default `own_configs.written`
    program    another program than train_tf_ps.py, of the same options

    Raises LaunchError as `TfProcesses` does, and for numbers that make no cluster; NoClosedNetwork
    where there is no network without a way out for them; TfConfigError for a wrong TF_CONFIG,
    before anything starts.
    """

    def __init__(
        self,
        servers: int = 2,
        workers: int = 3,
        hosts: Sequence[Host] = (),
        config: Writer | None = None,
        program: str | Path | None = None,
    ) -> None:
        _refuse_wrong(servers, workers)
        self.program = Path(program or find_program()).resolve()
        addresses = [host.address for host in hosts] or [LOCAL]
        super().__init__(hosts, own_configs(servers, workers, addresses, config))
        try:
            for index in range(servers):
                self.start("ps", index, self.program)
            for index in range(workers):
                self.start("worker", index, self.program)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> TfCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def run(self, **options: Any) -> TfRun:
        """A training from its beginning to its end: `begin`, then `finish`."""
        self.begin(**options)
        return self.finish()

    def begin(self, **options: Any) -> None:
        """Starts a coordinator, and returns at once.

        options   of train_tf_ps.py: steps, rate, batch, checkpoint (a folder within the cluster's
                  folder, or a whole path), save_every, pause_at, patience
        """
        self.refuse_two()
        for name in self.names:
            for file in ("paused", "go-on"):
                (self.folder / name / file).unlink(missing_ok=True)
        if options.get("checkpoint"):
            options["checkpoint"] = self.folder / options["checkpoint"]
        for file in (self._report, self.folder / COORDINATOR / "log"):
            file.unlink(missing_ok=True)
        words = ["--report", str(self._report)]
        for option, value in ({"patience": PATIENCE} | options).items():
            words += [f"--{option.replace('_', '-')}", str(value)]
        self.start("chief", 0, self.program, words)

    def paused(self, timeout: float = PATIENCE) -> str:
        """Waits for a worker that has applied the step `pause_at`, and all before it are; its name.

        It has not answered the coordinator yet, and does not before `release` is called.
        """
        for _ in repeated(timeout):
            for name in self.names:
                if (self.folder / name / "paused").exists():
                    return name
            if self.code(COORDINATOR) is not None:
                break
        raise LaunchError(f"No worker paused within {timeout:g} s. {self.why_ended(COORDINATOR)}")

    def release(self) -> None:
        """Lets the worker that is paused go on."""
        for name in self.names:
            (self.folder / name / "go-on").touch()

    def refuse_two(self) -> None:
        """Raises LaunchError while a coordinator runs."""
        if COORDINATOR in self._processes and self.code(COORDINATOR) is None:
            raise LaunchError("A training is under way: call finish() before the next one.")

    def finish(self, timeout: float = PATIENCE) -> TfRun:
        """Waits for the coordinator, and returns what it reports.

        Raises LaunchError if it fails otherwise than by a server that is gone, or does not end.
        """
        code = self.awaited(COORDINATOR, timeout)
        if code is None:
            self.kill(COORDINATOR)
            self._start_paused_again()
            raise LaunchError(
                f"The coordinator did not end within {timeout:g} s, and was ended. {self._states()}"
            )
        if not self._report.exists():
            raise LaunchError(f"The coordinator failed. {self.why_ended(COORDINATOR)}")
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

    @property
    def _report(self) -> Path:
        return self.folder / "report.json"

    def _start_paused_again(self) -> None:
        """Ends workers that would wait on for a coordinator which is gone, and starts them anew."""
        for name in self.names:
            if (self.folder / name / "paused").exists():
                self.kill(name)
                self.restart(name)

    def _states(self) -> str:
        """Which processes have ended, and their last words."""
        gone = [name for name in self.names if self.code(name) is not None]
        if not gone:
            return "All servers and workers are running."
        return " ".join(f"{name} had ended before; {self.why_ended(name)}" for name in gone)


def find_program() -> Path:
    """train_tf_ps.py of chapter 4, or the one that was installed with labkit."""
    # Python's own folder has what pip installed, and labkit's what it unpacked elsewhere.
    installed = [place / "share" / "labkit" for place in (Path(sys.prefix), ROOT)]
    places = [ROOT / "chapters" / "04_distributed", *installed]
    for place in places:
        if (place / PROGRAM).exists():
            return place / PROGRAM
    raise LaunchError(f"{PROGRAM} is neither in {places[0]} nor in {places[1]}.")


def _refuse_wrong(servers: int, workers: int) -> None:
    for name, number in (("servers", servers), ("workers", workers)):
        whole(f"TfCluster: {name}", number, error=LaunchError)
    if servers + workers + 1 > MOST_PROCESSES:
        raise LaunchError(
            f"TfCluster: {servers} servers, {workers} workers and the coordinator are "
            f"{servers + workers + 1} processes; at most {MOST_PROCESSES} fit."
        )
