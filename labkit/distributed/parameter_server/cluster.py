"""Servers and workers as real processes on this machine, which train as often as you like.

    with Cluster(servers=2, workers=4) as cluster:
        run = cluster.train(Photographs(), Bounded(3), steps=400, replay_seed=0)
        training = cluster.begin(Photographs(), Asynchronous(), steps=400)
        training.until(100)                  # gradients that are applied
        cluster.kill("worker 1")             # as a machine that loses its power
        cluster.restart("worker 1")
        run = training.finish()

They are long-lived: started once, and gone at the end of the block, after `end()`, when Python
ends, and when the notebook's process dies. Lesson parameter_servers.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

from labkit.distributed import told
from labkit.distributed.errors import LaunchError
from labkit.distributed.parameter_server.arrivals import Arrivals, arrival_order
from labkit.distributed.parameter_server.limits import Limit
from labkit.distributed.parameter_server.link import Link
from labkit.distributed.parameter_server.role_process import RoleProcess, started
from labkit.distributed.parameter_server.roles import Begin, Go, Load, Place, Save
from labkit.distributed.parameter_server.rules import Rule
from labkit.distributed.parameter_server.run import Run, run_of
from labkit.distributed.parameter_server.turns import Event
from labkit.distributed.parameter_server.worker import Job
from labkit.distributed.processes import START_PATIENCE

MOST_ROLES = 6  # beside the notebook: what two cores and 5 GiB carry
TIMEOUT = 60.0  # seconds for an answer of a server
LONGEST = 600.0  # seconds of a training: only ends a hang
STEP = 0.01  # virtual seconds of a step, where nothing else is said
GLANCE = 0.01  # seconds between two looks at a server's count


class Cluster:
    """So many servers and workers, together at most MOST_ROLES processes.

    timeout   seconds for each answer of a server, after which its worker gives up

    Raises LaunchError for numbers that are none, and for roles that do not start.
    """

    def __init__(self, servers: int = 2, workers: int = 4, timeout: float = TIMEOUT) -> None:
        _refuse_wrong(servers, workers, timeout)
        self.timeout = timeout
        self._roles: dict[str, RoleProcess] = {}
        self._end = weakref.finalize(self, _end_all, self._roles)  # also when Python ends
        self._killed: set[str] = set()
        self._training: Training | None = None
        places = [Place("server", number) for number in range(servers)]
        places += [Place("worker", number) for number in range(workers)]
        try:
            for place in places:
                self._start(place)
            self.addresses = tuple(self._answers([f"server {n}" for n in range(servers)]))
            self._answers([f"worker {n}" for n in range(workers)])
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def workers(self) -> int:
        """How many workers there are, dead ones included."""
        return len(self._roles) - len(self.addresses)

    @property
    def processes(self) -> dict[str, int]:
        """The number that the system gave the process of each role that runs."""
        return {name: role.process.pid for name, role in self._roles.items() if role.died is None}

    def end(self) -> None:
        """Ends all roles; a second time, too."""
        self._end()

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
        limit: float = LONGEST,
    ) -> Training:
        """Lets all workers begin a training.

        steps         of all workers together; or
        duration      seconds after which no step begins any more
        seconds       that a step takes each worker at least: emulated machines of unlike speed
        replay_seed   replays the arrivals that this seed gives for such workers, without waiting
        order         replays these arrivals, (worker, "pull" or "push")
        once          whether servers leave out pushes that come again
        limit         seconds until it has to be over

        Raises LaunchError for what cannot be, and where a role fails.
        """
        self._refuse_ended()
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
            self.timeout,
            self.addresses,
        )
        return self._begun(given, job.fingerprint(), arrivals, limit)

    def kill(self, name: str) -> None:
        """Ends a role's process at once, "worker 1" or "server 0"; nobody is warned.

        Raises LaunchError for a role that does not exist, or is dead.
        """
        role = self._role(name)
        if role.died is not None:
            raise LaunchError(f"The {name} is dead already: restart it first.")
        self._killed.add(name)
        role.kill()

    def restart(self, name: str, checkpoint: str | os.PathLike | None = None) -> None:
        """Brings a dead role back, a server at its address, a worker with its number.

        checkpoint   from which a server goes on; without one, its part of the weights begins anew

        In a training it takes part again. Raises LaunchError for a role that does not exist, or
        lives.
        """
        role = self._role(name)
        if role.died is None:
            raise LaunchError(f"The {name} runs: kill it first.")
        place = role.place
        if place.kind == "server":
            port = int(self.addresses[place.number].rpartition(":")[2])
            place = Place("server", place.number, port)
        role.close()
        self._start(place)
        self._answers([name])
        self._killed.discard(name)
        if self._training is not None:
            self._join(name, checkpoint)

    def save(self, name: str, path: str | os.PathLike) -> int:
        """Lets a server write a checkpoint; returns how many gradients its weights have seen."""
        return self._ordered([name], Save(os.fspath(path)))[0]

    def _join(self, name: str, checkpoint: str | os.PathLike | None) -> None:
        """A role that has come back takes part in the training that goes on."""
        self._ordered([name], self._training.given)
        if checkpoint is not None:
            self._ordered([name], Load(os.fspath(checkpoint)))
        if name.startswith("worker"):
            self._roles[name].tell(Go())
            self._training.working.add(name)

    def _begun(
        self, given: Begin, fingerprint: str, arrivals: Arrivals | None, limit: float
    ) -> Training:
        if self._training is not None:
            raise LaunchError("A training goes on: finish it before the next one begins.")
        dead = [name for name, role in self._roles.items() if role.died is not None]
        if dead:
            raise LaunchError(f"Dead: {', '.join(dead)}. Restart before a training begins.")
        servers = [name for name in self._roles if name.startswith("server")]
        workers = [name for name in self._roles if name.startswith("worker")]
        self._ordered(servers, given)
        self._ordered(workers, given)
        for name in workers:
            self._roles[name].tell(Go())
        self._training = Training(self, given, fingerprint, arrivals, limit, set(workers))
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

    def _role(self, name: str) -> RoleProcess:
        self._refuse_ended()
        if name not in self._roles:
            raise LaunchError(f"There is no role {name!r}; there are {', '.join(self._roles)}.")
        return self._roles[name]

    def _refuse_ended(self) -> None:
        if not self._end.alive:
            raise LaunchError("This cluster has ended: make a new one.")

    def _start(self, place: Place) -> None:
        environment = dict(os.environ)
        place = Place(place.kind, place.number, place.port, environment)
        self._roles[place.name] = started(place)

    def _ordered(self, names: Sequence[str], order: object) -> list[Any]:
        """Gives some roles an order; returns their answers."""
        for name in names:
            self._role(name).tell(order)
        return self._answers(names)

    def _answers(self, names: Sequence[str]) -> list[Any]:
        """The next answer of each of these roles, once all are there."""
        roles = [self._roles[name] for name in names]
        if not self._hear(lambda: all(role.answers for role in roles), START_PATIENCE):
            silent = [role.name for role in roles if not role.answers]
            self._fail(f"{', '.join(silent)} did not answer within {START_PATIENCE:g} s.")
        return [role.answers.popleft().value for role in roles]

    def _hear(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Takes what comes until it is ready, or the time is over; which of the two.

        Raises LaunchError where a role fails; then all have ended.
        """
        end = time.monotonic() + seconds
        while not ready():
            left = end - time.monotonic()
            sources = {source: role for role in self._roles.values() for source in role.sources}
            if left <= 0:
                return False
            for source in wait(list(sources), left):
                sources[source].take(source)
            self._refuse_failure()
        return True

    def _refuse_failure(self) -> None:
        """Raises LaunchError with how the first role failed, if any did."""
        for role in self._roles.values():
            failed = [said.failure for said in role.answers if said.failure]
            if failed:
                self._fail(told.failure_text(role.name, failed[0]))
            if role.died is not None and role.name not in self._killed:
                self._fail(f"{role.name} {told.exit_text(role.died)}.")

    def _fail(self, sentence: str) -> None:
        dead = [f"{name} was killed" for name in sorted(self._killed)]
        self.show_output()
        self.end()
        what = f"{sentence[0].upper()}{sentence[1:]}"
        raise LaunchError("\n\n".join([what, *dead]))

    def show_output(self) -> None:
        """Prints what each role has printed since the last time, line by line, behind its name."""
        for role in self._roles.values():
            for line in role.said.decode("utf-8", "replace").splitlines():
                print(f"[{role.name}] {line}")
            role.said.clear()


class Training:
    """A training that goes on; `working` has the workers that have not ended."""

    def __init__(
        self,
        cluster: Cluster,
        given: Begin,
        fingerprint: str,
        arrivals: Arrivals | None,
        limit: float,
        working: set[str],
    ) -> None:
        self.cluster, self.given, self.arrivals = cluster, given, arrivals
        self.working = working
        self._limit, self._end = limit, time.monotonic() + limit
        self._links = [
            Link([address], None, fingerprint, given.timeout) for address in given.addresses
        ]

    def applied(self) -> int:
        """How many gradients the first server has applied."""
        said, _ = self._links[0].ask({"kind": "count"}, purpose="its count")
        return said["applied"]

    def until(self, pushes: int) -> int:
        """Waits until so many gradients are applied, or all workers have ended; returns the count.

        Raises LaunchError as `finish` does.
        """
        while (count := self.applied()) < pushes and self.working:
            self.cluster._hear(self._one_ended, GLANCE)
            self._note_ends()
            self._refuse_late()
        return count

    def finish(self) -> Run:
        """Waits for all workers that live, and returns what the servers have noted.

        Raises LaunchError, with all roles ended, where a role fails, and after the limit.
        """
        while self.working:
            self.cluster._hear(self._one_ended, self._end - time.monotonic())
            self._note_ends()
            self._refuse_late()
        logs = [link.log() for link in self._links]
        for link in self._links:
            link.close()
        self.cluster._training = None
        self.cluster.show_output()
        return run_of(logs, self.arrivals)

    def _one_ended(self) -> bool:
        roles = [self.cluster._roles[name] for name in self.working]
        return any(role.answers or role.died is not None for role in roles)

    def _note_ends(self) -> None:
        for name in list(self.working):
            role = self.cluster._roles[name]
            if role.answers:
                role.answers.popleft()
                self.working.discard(name)
            elif role.died is not None:
                self.working.discard(name)

    def _refuse_late(self) -> None:
        if self.working and time.monotonic() > self._end:
            names = ", ".join(sorted(self.working))
            self.cluster._fail(f"{names} did not end within {self._limit:g} s.")


def _end_all(roles: dict[str, RoleProcess]) -> None:
    for role in roles.values():
        role.close()


def _packed(job: Job) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(job)
    except Exception as error:
        raise LaunchError(
            f"The job of type {type(job).__name__} cannot be sent to other processes: {error}. "
            "Processes share no memory: let its methods make what they need."
        ) from None


def _refuse_wrong(servers: int, workers: int, timeout: float) -> None:
    for name, value in (("servers", servers), ("workers", workers)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise LaunchError(f"Cluster: {name} is a whole number from 1 on, not {value!r}.")
    if servers + workers > MOST_ROLES:
        raise LaunchError(
            f"Cluster: servers and workers are at most {MOST_ROLES} processes together, and "
            f"{servers} + {workers} are more."
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise LaunchError(f"Cluster: timeout is a number of seconds above 0, not {timeout!r}.")
