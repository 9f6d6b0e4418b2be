"""Photographs per second of unlike machines, predicted and measured: `make bench`.

    python benchmarks/unlike_machines.py

Real ranks compute the gradients of their shards, sleep until their machine would be done, and sum
up over an emulated link. The prediction is the rehearsal on the emulated clock, with the same
splits, and the fastest of its runs counts; how far the one misses the other is a goal, and so is
what a split by speed gains over an equal one.
Everything goes to results/unlike_machines.json, in a minute and a half.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

from table import Row, report

from labkit.distributed import CostModel
from labkit.provenance import Quantity, measured, predicted
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    equal_split,
    split_batch,
)
from labkit_lessons.distributed.unlike_machines.training import (
    BATCH,
    Run,
    Split,
    gradient_and_speeds,
    rehearse,
    train,
)

STEPS = 8
TIMES = 3
ERROR = 0.05  # of a prediction: a goal
# Long enough to hide what real processes need to be woken.
FAST, SLOW = Machine(10e-3, 40e-3), Machine(40e-3, 40e-3)
LINK = CostModel(20e-3, 1e6)
FOUR = Group([FAST, FAST, FAST, SLOW], LINK)
CHANGING = replace(FOUR, machines=[replace(FAST, change_step=4, change=3.0), FAST, FAST, SLOW])

CASES = {
    "equal split": (FOUR, equal_split, 0.5),
    "by speed": (FOUR, split_batch, 0.5),
    "without the slow one": (FOUR.only([0, 1, 2]), split_batch, 0.5),
    "a change in step 4, by the first speeds": (CHANGING, split_batch, 0.0),
    "a change in step 4, half of each estimate new": (CHANGING, split_batch, 0.5),
}


def throughput(run: Run) -> float:
    """Photographs per second."""
    return BATCH * len(run.steps) / float(run.steps.sum())


def fast_runs(group: Group, split: Split, share: float) -> list[float]:
    """Photographs per second of several runs: whatever else the machine does only slows them."""
    runs = []
    for _ in range(TIMES):
        run = train(group, split, gradient_and_speeds, STEPS, share_of_new=share, sleeps=True)
        runs.append(throughput(run))
    return runs


def rows() -> Iterator[Row]:
    """Of each case what is predicted and measured, and the share by which the one misses."""
    found: dict[str, Quantity] = {}
    for name, (group, split, share) in CASES.items():
        rehearsed = throughput(rehearse(group, split, STEPS, share_of_new=share))
        expected = predicted(rehearsed, "photographs/s", "the emulated clock")
        found[name] = measured(max(fast_runs(group, split, share)), "photographs/s")
        yield Row(f"{name}, on an emulated clock", expected)
        yield Row(f"{name}, on real ranks", found[name])
        error = abs(float(found[name]) - float(expected)) / float(expected)
        yield Row("  the prediction misses by this share", measured(error, "times"), goal=ERROR)
    gain = float(found["equal split"]) / float(found["by speed"])
    yield Row("  equal over by speed", measured(gain, "times"), goal=0.6)


if __name__ == "__main__":
    raise SystemExit(report("unlike_machines", rows()))
