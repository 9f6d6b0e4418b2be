"""The log of a long run: the same small training with batches of 16 to 1,024 images.

    for run in read():
        run.batch, run.rule, run.loss, run.bytes_per_sample

`tools/cluster/large_batches.py` made it, with `small_training`: equal epochs, so that every run has
seen the same images as often; three rules for the learning rate; two seeds. The gradients have S
bytes; the ranks' ring all-reduces send 2 (n - 1) S of them together in each step, and so, with
batch B,

    2 (n - 1) S / B        bytes for each image           counted from the steps that were made

Lesson fewer_bytes.
"""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path

LOG = Path(__file__).parent.parent / "data" / "large_batches.log.jsonl"
BATCHES = (16, 32, 64, 128, 256, 512, 1024)
SEEDS = (0, 1)
RANKS = 4  # whose messages are counted
IMAGES = 2000  # of the embedded sample


@dataclass(frozen=True)
class LoggedRun:
    """A line of the log: one training.

    learning_rate   after the warm-up
    losses          mean training loss of each epoch
    loss            over all training images at the end; None where the run diverged
    accuracy        over the 500 test images
    """

    rule: str
    batch: int
    seed: int
    learning_rate: float
    warm_up: int
    steps: int
    losses: tuple[float, ...]
    loss: float | None
    accuracy: float
    bytes_per_sample: float

    @property
    def diverged(self) -> bool:
        """Whether the loss left the numbers."""
        return self.loss is None


def steps_per_epoch(batch: int) -> int:
    """How many batches the sample makes; the last may be smaller."""
    return math.ceil(IMAGES / batch)


def bytes_per_sample(batch: int, gradient_bytes: int, ranks: int = RANKS) -> float:
    """What all ranks together send by ring all-reduce, for each image that they learn from."""
    return steps_per_epoch(batch) * 2 * (ranks - 1) * gradient_bytes / IMAGES


def header(path: Path = LOG) -> dict:
    """The first line: what was trained, with which versions, on how many threads."""
    return _lines(path)[0]


def read(path: Path = LOG) -> list[LoggedRun]:
    """All runs of a log, in its order.

    Raises ValueError, with the line, for one that is not whole, and for numbers that do not follow
    from each other: steps from epochs and batch, bytes from steps and gradients.
    """
    first, *records = _lines(path)
    runs = []
    for number, record in enumerate(records, start=2):
        where = f"{path.name}, line {number}"
        runs.append(_checked(_run(record, where), first, where))
    return runs


def select(runs: list[LoggedRun], rule: str, seed: int) -> list[LoggedRun]:
    """The runs by one rule and seed, smallest batch first."""
    found = [run for run in runs if run.rule == rule and run.seed == seed]
    return sorted(found, key=lambda run: run.batch)


def _lines(path: Path) -> list[dict]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}): it comes with labkit."
        ) from None
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name}, line {number} is no JSON: {error}.") from None
    if not records or not {"epochs", "gradient_bytes", "ranks"} <= set(records[0]):
        raise ValueError(f"{path.name} does not begin with what was trained: make it again.")
    return records


def _run(record: dict, where: str) -> LoggedRun:
    names = {field.name for field in fields(LoggedRun)}
    if set(record) != names:
        differing = ", ".join(sorted(names ^ set(record)))
        raise ValueError(f"{where}: {differing} should all be there, and nothing else.")
    return LoggedRun(**record | {"losses": tuple(record["losses"])})


def _checked(run: LoggedRun, first: dict, where: str) -> LoggedRun:
    planned = first["epochs"] * steps_per_epoch(run.batch)
    if run.steps != planned and not (run.diverged and run.steps < planned):
        raise ValueError(f"{where}: {run.steps} steps, where the batch makes {planned}.")
    expected = bytes_per_sample(run.batch, first["gradient_bytes"], first["ranks"])
    if run.bytes_per_sample != expected:
        raise ValueError(
            f"{where}: {run.bytes_per_sample} bytes per sample, where the steps make {expected}."
        )
    return run
