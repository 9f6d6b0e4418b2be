"""The roles of a cluster together: started, given orders, listened to, and ended.

    roles = RoleGroup()
    roles.start(RoleSpec("worker", 0, secret))
    roles.order(["worker 0"], given)         # their answers, once all are there

Where a role fails, its sentence is raised, and all have ended; so they have after an interrupt.
Servers listen at socket files in a folder of this user alone, so no other user of the computer can
call them, nor take the place of one that has died.
"""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NoReturn

from labkit.distributed.errors import LaunchError
from labkit.distributed.launching import failures
from labkit.distributed.launching.processes import START_PATIENCE
from labkit.distributed.launching.rank import Failure
from labkit.distributed.parameter_server.processes.role_process import RoleProcess, started
from labkit.distributed.parameter_server.processes.roles import RoleSpec
from labkit.files import socket_folder

SENTENCES = ("ServerError", "WireError", "CheckpointError")  # failures that need no traceback


class RoleGroup:
    """Roles by their names; `killed` are those that were ended on purpose, or are to end so."""

    def __init__(self) -> None:
        self.roles: dict[str, RoleProcess] = {}
        self.killed: set[str] = set()
        self._folder = socket_folder("labkit-servers-")
        # Also when Python ends:
        self._end = weakref.finalize(self, _end_all, self.roles, self._folder)

    @property
    def over(self) -> bool:
        """Whether all have ended."""
        return not self._end.alive

    def __getitem__(self, name: str) -> RoleProcess:
        """A role; raises LaunchError where there is none of this name, or all have ended."""
        self._refuse_ended()
        if name not in self.roles:
            raise LaunchError(f"There is no role {name!r}; there are {', '.join(self.roles)}.")
        return self.roles[name]

    def named(self, kind: str) -> list[str]:
        """The names of all servers, or of all workers."""
        return [name for name, role in self.roles.items() if role.spec.kind == kind]

    def living(self) -> dict[str, RoleProcess]:
        """The roles whose process runs; none where all have ended."""
        if self.over:
            return {}
        return {name: role for name, role in self.roles.items() if role.died is None}

    def dead(self) -> list[str]:
        """The names of roles whose process has ended; raises LaunchError where all have."""
        self._refuse_ended()
        return [name for name, role in self.roles.items() if role.died is not None]

    def start(self, *specs: RoleSpec) -> list[Any]:
        """Starts a process for each of these roles; returns what they say first."""
        with self.interruptible():
            for spec in specs:
                path = str(self._folder / spec.name.replace(" ", "-"))
                spec = replace(spec, path=path, environment=dict(os.environ))
                self.roles[spec.name] = started(spec)
                self.killed.discard(spec.name)
        return self.answers([spec.name for spec in specs])

    def kill(self, name: str) -> None:
        """Ends one at once; nobody is warned."""
        self[name].kill()
        self.killed.add(name)

    def order(self, names: Sequence[str], order: object) -> list[Any]:
        """Gives some roles an order; returns their answers."""
        with self.interruptible():
            for name in names:
                self[name].tell(order)
        return self.answers(names)

    def answers(self, names: Sequence[str]) -> list[Any]:
        """The next answer of each of these roles, once all are there."""
        roles = [self[name] for name in names]
        if not self.hear(lambda: all(role.answers for role in roles), START_PATIENCE):
            silent = [role.name for role in roles if not role.answers]
            self.fail(f"{', '.join(silent)} did not answer within {START_PATIENCE:g} s.")
        return [role.answers.popleft().value for role in roles]

    def hear(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Takes what comes until it is ready, or the time is over; which of the two.

        A role that prints without a pause is heard no longer than that. Raises LaunchError where a
        role fails; then all have ended, as when it is interrupted.
        """
        end = time.monotonic() + seconds
        with self.interruptible():
            while not ready():
                left = end - time.monotonic()
                heard = self._hear_once(left)
                self._refuse_failure()
                if not heard or left <= 0:
                    return ready()
        return True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """An interrupt in this block ends all roles."""
        try:
            yield
        except KeyboardInterrupt:
            self.end()
            raise KeyboardInterrupt(
                "All roles were ended; the next training starts them again."
            ) from None

    def fail(self, sentence: str) -> NoReturn:
        """Ends all, and raises LaunchError with the sentence and with who was killed before."""
        dead = sorted(self.killed.intersection(self.dead()))
        killed = [f"{_capital(name)} had been killed." for name in dead]
        self.show_output()
        self.end()
        raise LaunchError("\n".join([_capital(sentence), *killed]))

    def show_output(self) -> None:
        """Prints what each role has printed since the last time, line by line, behind its name."""
        for role in self.roles.values():
            for line in role.take_words():
                print(f"[{role.name}] {line}")

    def end(self) -> None:
        """Ends all; a second time, too."""
        self._end()

    def _refuse_ended(self) -> None:
        if self.over:
            raise LaunchError("All roles have ended: only a training starts them again.")

    def _hear_once(self, seconds: float) -> bool:
        """Takes what comes first within so many seconds; whether anything did."""
        sources = {source: role for role in self.roles.values() for source in role.sources}
        ready = wait(list(sources), max(seconds, 0))
        for source in ready:
            sources[source].take(source)
        return bool(ready)

    def _refuse_failure(self) -> None:
        """Raises LaunchError with how the first role failed, if any did."""
        for role in self.roles.values():
            if failed := [reply.failure for reply in role.answers if reply.failure]:
                self.fail(_failure_text(role.name, failed[0]))
            if role.died is not None and role.name not in self.killed:
                self.fail(f"{role.name} {failures.exit_text(role.died)}, so that all were ended.")


def _failure_text(name: str, failure: Failure) -> str:
    """What a role raised: with its traceback, where no sentence of ours says it all."""
    if failure.kind in SENTENCES:
        return f"{name}: {failure.message}"
    return failures.failure_text(name, failure)


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _end_all(roles: dict[str, RoleProcess], folder: Path) -> None:
    for role in roles.values():
        role.lifeline.close()  # each ends by this, whatever interrupts the rest
    for role in roles.values():
        role.close()
    shutil.rmtree(folder, ignore_errors=True)
