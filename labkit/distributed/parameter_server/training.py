"""A training that goes on in a cluster: looked at, waited for, and finished.

    training = cluster.begin(Photographs(), Asynchronous(), steps=400)
    training.until(100)                  # gradients that are applied
    run = training.finish()

Lesson parameter_servers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.processes.roles import Begin, Go
from labkit.distributed.parameter_server.protocol.link import Link, by_name
from labkit.distributed.parameter_server.run import Run, run_of

if TYPE_CHECKING:
    from labkit.distributed.parameter_server.arrivals import Arrivals
    from labkit.distributed.parameter_server.processes.role_group import RoleGroup

GLANCE = 0.01  # seconds between two looks at a server's count


class Training:
    """What the roles do by the order `given`.

    fingerprint   of its model
    secret        of its cluster
    arrivals      that are replayed, if any
    limit         seconds until it has to be over
    over          whether it was finished
    acknowledged  steps of which a worker that has ended says that the servers have taken them
    """

    def __init__(
        self,
        role_group: RoleGroup,
        given: Begin,
        fingerprint: str,
        secret: bytes,
        arrivals: Arrivals | None,
        limit: float,
    ) -> None:
        self.given = given
        self.over = False
        self.acknowledged = 0
        self._roles, self._arrivals = role_group, arrivals
        self._limit, self._end = limit, time.monotonic() + limit
        self._working: set[str] = set()
        self._fingerprint, self._secret = fingerprint, secret
        self._links = self._looks()

    def go(self, worker: str) -> None:
        """Lets a worker begin that has prepared."""
        self._roles[worker].tell(Go())
        self._working.add(worker)

    def applied(self) -> int:
        """How many gradients the first server has applied; raises LaunchError as `finish` does."""
        with self._asking():
            said, _ = self._links[0].ask({"kind": "count"}, purpose="its count")
        return said["applied"]

    def until(self, pushes: int) -> int:
        """Waits until so many gradients are applied, or all workers have ended; returns the count.

        Raises LaunchError as `finish` does.
        """
        while (count := self.applied()) < pushes and self._working:
            self._hear(GLANCE)
        return count

    def until_dead(self, name: str) -> bool:
        """Waits until a role has died, or all workers have ended; whether it has died."""
        while self._roles[name].died is None and self._working:
            self._hear(GLANCE)
        return self._roles[name].died is not None

    def finish(self) -> Run:
        """Waits for all workers that live, and returns what the servers have noted.

        Raises LaunchError, with all roles ended, where a role fails, and after the limit.
        """
        while self._working:
            self._hear(self._end - time.monotonic())
        for link in self._links:
            link.close()  # a server may have been replaced by its copy since
        with self._asking():
            logs = [link.log() for link in self._looks()]
        self.over = True
        self._roles.show_output()
        return run_of(logs, self._arrivals)

    def _looks(self) -> list[Link]:
        """Links to all servers, which ask a copy first: it answers only where it has taken over."""
        given, known = self.given, (self._fingerprint, self._secret)
        return [
            Link(dict(reversed(by_name(number, *place).items())), None, *known, given.timeout)
            for number, place in enumerate(zip(given.addresses, given.copies, strict=True))
        ]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Where a server does not answer, or somebody interrupts, all roles end."""
        with self._roles.interruptible():
            try:
                yield
            except ServerError as error:
                self._roles.fail(str(error))

    def _hear(self, seconds: float) -> None:
        """Until a worker ends, or so many seconds are over."""
        self._roles.hear(lambda: bool(self._ended()), seconds)
        for name in self._ended():
            answers = self._roles[name].answers
            self.acknowledged += sum(said.value for said in answers)
            answers.clear()
            self._working.discard(name)
        if self._working and time.monotonic() > self._end:
            names = ", ".join(sorted(self._working))
            self._roles.fail(f"{names} did not end within {self._limit:g} s, and were ended.")

    def _ended(self) -> list[str]:
        roles = [self._roles[name] for name in self._working]
        return [role.name for role in roles if role.answers or role.died is not None]
