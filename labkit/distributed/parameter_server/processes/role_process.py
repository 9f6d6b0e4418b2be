"""A role's process as the cluster sees it: started, spoken to, listened to, and ended."""

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from labkit.distributed.launching.processes import CHUNK, process_context, without_program
from labkit.distributed.parameter_server.processes.roles import Reply, RoleSpec, run_role

WARM = "labkit.distributed.parameter_server.processes.warm"
MOST_PRINTED = 1 << 20  # bytes of its output that are kept: a role may print without a pause


@dataclass
class RoleProcess:
    """One role: its process, and what has come from it so far.

    printed   its output since it was shown last, as bytes: the first MOST_PRINTED of it
    omitted   how many bytes came behind these, and were left out
    answers   those that nobody has taken yet
    died      its exit code, once it has ended
    """

    spec: RoleSpec
    process: BaseProcess
    talk: Connection
    output: Connection
    lifeline: Connection
    printed: bytearray = field(default_factory=bytearray)
    omitted: int = 0
    answers: deque[Reply] = field(default_factory=deque)
    died: int | None = None

    @property
    def name(self) -> str:
        """ "worker 1"."""
        return self.spec.name

    @property
    def sources(self) -> list[Any]:
        """What to wait for, to hear of it."""
        if self.died is None:
            return [self.talk, self.process.sentinel, *self._open_output()]
        return self._open_output()

    def take(self, source: object) -> None:
        """Takes what one of its sources has."""
        if source is self.output:
            self._take_output()
        elif self.died is None:
            self._take_answer()

    def take_words(self) -> list[str]:
        """The lines of its output since this was asked last, and how much of it was left out."""
        lines = self.printed.decode("utf-8", "replace").splitlines()
        if self.omitted:
            lines.append(f"... and {self.omitted:,} bytes more, which were left out.")
        self.printed.clear()
        self.omitted = 0
        return lines

    def tell(self, order: object) -> None:
        """Gives it an order; that it has died is heard, not raised."""
        with suppress(OSError):
            self.talk.send(order)

    def kill(self) -> None:
        """Ends it at once, as a machine that loses its power; what it has said before is kept."""
        self.process.kill()
        self.process.join()
        while self.died is None:
            self._take_answer()

    def close(self) -> None:
        """Ends it, whatever it does."""
        self.lifeline.close()
        if self.died is None:
            self.kill()
        self.process.close()
        self.talk.close()
        self.output.close()

    def _open_output(self) -> list[Connection]:
        return [] if self.output.closed else [self.output]

    def _take_answer(self) -> None:
        """The next answer; without one, the process has ended."""
        try:
            if self.talk.poll():
                self.answers.append(self.talk.recv())
                return
        except (EOFError, OSError):
            pass
        self.process.join()
        self.died = self.process.exitcode

    def _take_output(self) -> None:
        chunk = os.read(self.output.fileno(), CHUNK)
        kept = chunk[: MOST_PRINTED - len(self.printed)]
        self.printed += kept
        self.omitted += len(chunk) - len(kept)
        if not chunk:
            self.output.close()


def started(spec: RoleSpec) -> RoleProcess:
    """A new process with this role."""
    context = process_context(WARM)
    talk, talk_there = context.Pipe()
    output, output_there = context.Pipe(duplex=False)
    lifeline_there, lifeline = context.Pipe(duplex=False)
    there = (talk_there, output_there, lifeline_there)
    process = context.Process(target=run_role, args=(spec, *there), daemon=True)
    with without_program():
        process.start()
    for connection in there:
        connection.close()
    return RoleProcess(spec, process, talk, output, lifeline)
