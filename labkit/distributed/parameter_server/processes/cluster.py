"""Servers and workers as real processes on this machine, which train as often as you like.

    with Cluster(servers=2, workers=4) as cluster:
        run = cluster.train(Photographs(), Bounded(3), steps=400, replay_seed=0)
        training = cluster.begin(Photographs(), Asynchronous(), steps=400)
        training.until(100)                  # gradients that are applied
        cluster.kill("worker 1")             # as a machine that loses its power
        cluster.restart("worker 1")
        run = training.finish()

They are long-lived: started once, and gone at the end of the block, after `end()`, when Python
ends, and when the notebook's process dies. A training that fails or is interrupted ends them, too;
the next one starts all of them again. Lesson parameter_servers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.errors import LaunchError
from labkit.distributed.parameter_server.arrivals import Arrivals, arrival_order
from labkit.distributed.parameter_server.checkpoint import common_checkpoints
from labkit.distributed.parameter_server.faults import Fault, Saving
from labkit.distributed.parameter_server.processes.role_group import RoleGroup
from labkit.distributed.parameter_server.processes.roles import Begin, RoleSpec, Save
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.protocol.link import TIMEOUT
from labkit.distributed.parameter_server.protocol.turns import Event
from labkit.distributed.parameter_server.rules import Rule
from labkit.distributed.parameter_server.run import Run
from labkit.distributed.parameter_server.training import Training
from labkit.distributed.parameter_server.worker import Job
from labkit.errors import whole

MOST_ROLES = 6  # beside the notebook: what two cores and 5 GiB carry
LONGEST = 600.0  # seconds of a training: only ends a hang
STEP = 0.01  # virtual seconds of a step, where nothing else is said


class Cluster:
    """So many servers and workers, together at most MOST_ROLES processes.

    copies    how many of the servers, from the first one on, have a copy (replication.py)
    timeout   seconds for each answer of a server, after which its worker gives up
    secret    that its roles prove to each other; a new one in each cluster, gone with it

    Raises LaunchError for numbers that are none, and for roles that do not start.
    """

    def __init__(
        self, servers: int = 2, workers: int = 4, timeout: float = TIMEOUT, copies: int = 0
    ) -> None:
        _refuse_wrong(servers, workers, timeout, copies)
        self.timeout, self.secret = timeout, new_secret()
        numbers = {"server": servers, "copy": copies, "worker": workers}
        self._specs = [
            RoleSpec(kind, number, self.secret)
            for kind, count in numbers.items()
            for number in range(count)
        ]
        self._ended = False
        self._start()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def workers(self) -> int:
        """How many workers there are, dead ones included."""
        return len(self._roles.named("worker"))

    @property
    def processes(self) -> dict[str, int]:
        """The number that the system gave the process of each role that runs."""
        return {name: role.process.pid for name, role in self._roles.living().items()}

    def end(self) -> None:
        """Ends all roles for good; a second time, too."""
        self._ended = True
        self._roles.end()

    def train(self, job: Job, rule: Rule, steps: int | None = None, **options: Any) -> Run:
        """Trains from the job's first weights on, and waits for the end: `begin` and `finish`."""
        return self.begin(job, rule, steps, **options).finish()

    def begin(
        self,
        job: Job,
        rule: Rule,
        steps: int | None = None,
        *,
        duration: float | None = None,
        seconds: Sequence[float] | None = None,
        rate: float = 0.1,
        replay_seed: int | None = None,
        order: Sequence[Event] | None = None,
        once: bool = True,
        saving: Saving | None = None,
        faults: Sequence[Fault] = (),
        timeout: float | None = None,
        limit: float = LONGEST,
    ) -> Training:
        """Lets all workers begin a training.

        steps         of all workers together; or
        duration      seconds after which no step begins any more
        seconds       that a step takes each worker at least: emulated machines of unlike speed
        replay_seed   replays the arrivals that this seed gives for such workers, without waiting
        order         replays these arrivals, (worker, "pull" or "push")
        once          whether servers leave out pushes that come again
        saving        when and where servers write checkpoints
        faults        what is to befall which role, and when (faults.py)
        timeout       seconds for an answer of a server, where it is not the cluster's own
        limit         seconds until it has to be over

        Raises LaunchError for what cannot be, and where a role fails.
        """
        if self._ended:
            raise LaunchError("This cluster has ended: make a new one.")
        if self._roles.over:  # the training before has failed, or was interrupted
            self._start()
        seconds = self._seconds(seconds)
        arrivals = None
        if replay_seed is not None:
            slowness = [one or STEP for one in seconds]
            arrivals = arrival_order(slowness, steps, rule, replay_seed)
            order = arrivals.requests
        if order is not None:
            seconds = (0.0,) * self.workers
            steps = steps or sum(kind == "push" for _, kind in order)
        if rule.together and steps is not None and steps % self.workers:
            raise LaunchError(
                f"With the synchronous rule, steps is a multiple of the {self.workers} workers, "
                f"since they make each step together; {steps} is none."
            )
        given = Begin(
            _packed(job),
            rule,
            Limit(steps, duration),
            rate,
            seconds,
            None if order is None else tuple(order),
            once,
            timeout or self.timeout,
            self.addresses,
            self.copies,
            saving=saving,
            faults=tuple(faults),
        )
        return self._begun(given, job.fingerprint(), arrivals, limit)

    def kill(self, name: str) -> None:
        """Ends a role's process at once, "worker 1" or "server 0"; nobody is warned.

        Raises LaunchError for a role that does not exist, or is dead.
        """
        if self._roles[name].died is not None:
            raise LaunchError(f"{name} is dead already: restart it first.")
        self._roles.kill(name)

    def restart(self, name: str, checkpoint: str | os.PathLike | None = None) -> None:
        """Brings a dead role back, a server at its address, a worker with its number.

        checkpoint   from which a server goes on; without one, its part of the weights begins anew

        In a training it takes part again. Where there are several servers, `resume` lets all of
        them go back to the same moment. Raises LaunchError for a role that does not exist, or
        lives, and for a checkpoint that cannot be used.
        """
        role = self._roles[name]
        if role.died is None:
            raise LaunchError(f"{name} runs: kill it first.")
        spec = role.spec
        trains = self._training is not None and not self._training.over
        if trains and spec.kind != "worker" and self.copies[spec.number]:
            other = "server" if spec.kind == "copy" else "copy"
            raise LaunchError(
                f"{name} cannot come back before the training has ended: {other} {spec.number} "
                "goes on without it, and has seen more."
            )
        self._start_again(name)
        if trains:
            self._rejoin(name, checkpoint)

    def save(self, name: str, path: str | os.PathLike) -> int:
        """Lets a server write a checkpoint; returns how many gradients its weights have seen."""
        return self._roles.order([name], Save(os.fspath(path)))[0]

    def resume(self, saving: Saving) -> int:
        """Goes on with a training whose server has died, from the checkpoints of `saving`.

        All servers go back to the same number of gradients, the dead ones at their addresses; the
        workers, which may wait for the dead one, begin anew. Returns that number. Raises
        CheckpointError where there is none, and LaunchError where no training goes on.
        """
        if self._training is None or self._training.over:
            raise LaunchError("No training goes on: there is nothing to resume.")
        servers, workers = self._roles.named("server"), self._roles.named("worker")
        count, paths = common_checkpoints([saving.path(name) for name in servers])
        for name in workers:
            if self._roles[name].died is None:
                self._roles.kill(name)
        for name in self._roles.dead():
            self._start_again(name)
        for kind in ("copy", "server"):  # a server connects to its copy
            for name in self._roles.named(kind):
                self._rejoin(name, paths[self._roles[name].spec.number])
        for name in workers:
            self._rejoin(name, None)
        return count

    def _start(self) -> None:
        """All roles, in new processes; raises LaunchError, with all ended, where one does not."""
        self._roles = RoleGroup()
        self._training: Training | None = None
        try:
            first = self._roles.start(*self._specs)
        except BaseException:
            self._roles.end()
            raise
        servers, copies = len(self._roles.named("server")), len(self._roles.named("copy"))
        self.addresses = tuple(first[:servers])
        self.copies = (*first[servers : servers + copies], *[None] * (servers - copies))

    def _start_again(self, name: str) -> None:
        """A new process for a dead role, at its address."""
        role = self._roles[name]
        role.close()
        self._roles.start(role.spec)

    def _rejoin(self, name: str, checkpoint: str | os.PathLike | None) -> None:
        """A role that has come back takes part in the training that goes on."""
        path = None if checkpoint is None else os.fspath(checkpoint)
        self._roles.order([name], replace(self._training.given, checkpoint=path, faults=()))
        if self._roles[name].spec.kind == "worker":
            self._training.go(name)

    def _begun(
        self, given: Begin, fingerprint: str, arrivals: Arrivals | None, limit: float
    ) -> Training:
        if self._training is not None and not self._training.over:
            raise LaunchError("A training goes on: finish it before the next one begins.")
        if dead := self._roles.dead():
            raise LaunchError(f"{' and '.join(dead)} must be restarted before a training begins.")
        for fault in given.faults:
            self._roles[fault.role]  # refuses a role that does not exist
        self._roles.killed = {fault.role for fault in given.faults if fault.deed == "die"}
        for kind in ("copy", "server", "worker"):  # a server connects to its copy
            self._roles.order(self._roles.named(kind), given)
        self._training = Training(self._roles, given, fingerprint, self.secret, arrivals, limit)
        for name in self._roles.named("worker"):
            self._training.go(name)
        return self._training

    def _seconds(self, seconds: Sequence[float] | None) -> tuple[float, ...]:
        if seconds is None:
            return (0.0,) * self.workers
        if len(seconds) != self.workers or not all(0 <= one < LONGEST for one in seconds):
            raise LaunchError(
                f"seconds has a number from 0 on for each of the {self.workers} workers, not "
                f"{list(seconds)}."
            )
        return tuple(float(one) for one in seconds)


def _packed(job: Job) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(job)
    except Exception as error:
        raise LaunchError(
            f"The job of type {type(job).__name__} cannot be sent to other processes: {error}. "
            "Processes share no memory: let its methods make what they need."
        ) from None


def _refuse_wrong(servers: int, workers: int, timeout: float, copies: int) -> None:
    for name, value in (("servers", servers), ("workers", workers)):
        whole(f"Cluster: {name}", value, error=LaunchError)
    if isinstance(copies, bool) or not isinstance(copies, int) or not 0 <= copies <= servers:
        raise LaunchError(
            f"Cluster: copies is a whole number from 0 to {servers}, that of the servers, not "
            f"{copies!r}."
        )
    numbers = [number for number in (servers, copies, workers) if number]
    if sum(numbers) > MOST_ROLES:
        raise LaunchError(
            f"Cluster: servers, copies and workers are at most {MOST_ROLES} processes together, "
            f"and {' + '.join(map(str, numbers))} are more."
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise LaunchError(f"Cluster: timeout is a number of seconds above 0, not {timeout!r}.")
