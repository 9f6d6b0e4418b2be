"""What is told of TensorFlow's processes: a coordinator's report, and a program that was tried.

Made by `TfCluster` (cluster.py). Lesson faults.
"""

import re
from dataclasses import dataclass

PROGRAM = "train_tf_ps.py"


@dataclass(frozen=True)
class TfRun:
    """What a coordinator reports of its training.

    steps         that were asked for, those of an earlier run that it resumed included
    resumed_at    steps that its checkpoint held already: it began with this number
    scheduled     steps that it handed out
    times         how often each step was applied; None if that went with a server
    saved         steps that the last checkpoint holds; 0 without one
    losses        of each step, before its update; None if they went with a server
    weights       in the end, as PyTorch's flat row [24938]; None if a server is gone
    on_servers    how many weights each server holds
    seconds       from the first step's scheduling until all were done
    message       of the UnavailableError that ended it, in full; "" if it ended well
    """

    steps: int
    resumed_at: int
    scheduled: int
    times: list[int] | None
    saved: int
    losses: list[float] | None
    weights: list[float] | None
    on_servers: list[int]
    seconds: float
    message: str

    @property
    def applied(self) -> int | None:
        """Updates in all, those of the checkpoint that it resumed included."""
        return None if self.times is None else sum(self.times)

    @property
    def twice(self) -> list[int]:
        """Numbers of the steps that were applied more than once."""
        return [number for number, times in enumerate(self.times or []) if times > 1]

    @property
    def lost(self) -> list[int] | None:
        """Where a server ended the run: steps that were applied after the last checkpoint."""
        if not self.error or self.times is None:
            return None if self.error else []
        return [n for n, times in enumerate(self.times) if times and n >= self.saved]

    @property
    def error(self) -> str:
        """The name of the exception that ended it, or ""."""
        return "UnavailableError" if self.message else ""

    @property
    def reason(self) -> str:
        """The line of the message that says why."""
        lines = [line.strip() for line in self.message.splitlines()]
        telling = [line for line in lines if "onnect" in line or "UNAVAILABLE" in line]
        return next(iter([*telling, *lines]), "")

    @property
    def dead_servers(self) -> list[int]:
        """The number of the server that the message names first, as a list; [] if it names none.

        Whoever waited for it is named behind it, and that may be another server.
        """
        named = re.search(r"/job:ps/replica:0/task:(\d+)", self.message)
        return [int(named[1])] if named else []


@dataclass(frozen=True)
class Tried:
    """What came of a program: all that it printed; and where it was, if it had to be ended."""

    printed: str
    line: int | None

    @property
    def error(self) -> str:
        """The last line of its traceback; "" if there is none."""
        return telling_line(self.printed) if "Traceback" in self.printed else ""


def telling_line(log: str) -> str:
    """The line of a program's output that says best why it ended: the last error's, or the last."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    own = [line for line in lines if line.startswith(PROGRAM.removesuffix(".py"))]
    return next(iter([*own[-1:], *errors[-1:], *lines[-1:]]), "nothing")
