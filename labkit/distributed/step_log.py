"""The log of a training that may die: one line for each step that was done, whoever did it.

    log = StepLog(folder / "steps.jsonl", attempt=0)
    log.write(step=27, loss=2.31)
    done = read_steps(folder / "steps.jsonl")
    done_twice(done)                            # [21, 22, 23, 24, 25, 26]

An attempt is the training between a start and the next death; after a restart, the log goes on in
the same file. Losses are stored to the last bit. Lesson restarts_and_monitoring.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FIELDS = ("attempt", "step", "loss")


class LogError(RuntimeError):
    """A log that is not there or damaged; the text says where and what to do."""


@dataclass(frozen=True)
class Done:
    """A step that was done: in which attempt, and its loss before the update."""

    attempt: int
    step: int
    loss: float


class StepLog:
    """Appends a line for each step; a line is written at once, so that a death leaves no half."""

    def __init__(self, path: str | Path, attempt: int) -> None:
        self.path = Path(path)
        self.attempt = attempt
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, step: int, loss: float) -> None:
        """Adds a step, counted from 1."""
        line = {"attempt": self.attempt, "step": step, "loss": loss.hex()}
        with self.path.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")


def read_steps(path: str | Path) -> list[Done]:
    """All steps of a log, in the order in which they were done.

    Raises LogError where there is no log, or a line of it is damaged: the text names the line.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise LogError(f"The log {path} cannot be read ({os.strerror(error.errno)}).") from None
    return [_done(path, number, line) for number, line in enumerate(lines, start=1)]


def _done(path: Path, number: int, line: bytes) -> Done:
    try:
        if not line.endswith(b"\n"):
            raise ValueError("it has no end")
        attempt, step, loss = (json.loads(line)[name] for name in FIELDS)
        return Done(int(attempt), int(step), float.fromhex(loss))
    except (ValueError, KeyError, TypeError):
        raise LogError(
            f"Line {number} of the log {path} is damaged: {line[:40]!r}. Delete this line; the "
            "checkpoints do not depend on the log."
        ) from None


def done_twice(done: Iterable[Done]) -> list[int]:
    """The steps that were done more than once, rising."""
    times = Counter(one.step for one in done)
    return sorted(step for step, count in times.items() if count > 1)


def final_losses(done: Iterable[Done]) -> list[float]:
    """The loss of each step, in order; of a step that was done twice, that of the last time."""
    last = {one.step: one.loss for one in done}
    return [last[step] for step in sorted(last)]
