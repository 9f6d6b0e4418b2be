"""Wrong ideas of fpga.queue_depth: arrivals [n], work -> how many values the queue must hold.

Dense: each wrong idea is a count of arrivals, in one formula.
"""

import numpy as np


def ends_of(arrivals: np.ndarray, work: int) -> np.ndarray:
    """The cycle in which each value is finished."""
    ends, free = [], 0
    for cycle in arrivals:
        free = max(free, cycle) + work
        ends.append(free)
    return np.array(ends)


def waiting(arrivals: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How many values lie in the queue after each arrival, if they leave it in `ends`."""
    return np.arange(1, len(arrivals) + 1) - np.searchsorted(ends, arrivals, side="right")


def nobody_takes(arrivals: np.ndarray, work: int) -> int:
    """All values, as if none were taken before the last one comes."""
    return len(arrivals)


def leaves_at_once(arrivals: np.ndarray, work: int) -> int:
    """A value leaves the queue when the work on it begins."""
    return int(waiting(arrivals, ends_of(arrivals, work) - work + 1).max())


def never_idle(arrivals: np.ndarray, work: int) -> int:
    """From the first value on a value is finished every `work` cycles, even if none is there."""
    ends = arrivals[0] + work * np.arange(1, len(arrivals) + 1)
    return int(waiting(arrivals, ends).max())


def from_cycle_0(arrivals: np.ndarray, work: int) -> int:
    """From cycle 0 on a value is finished every `work` cycles."""
    ends = work * np.arange(1, len(arrivals) + 1)
    return int(waiting(arrivals, ends).max())


def never_waits(arrivals: np.ndarray, work: int) -> int:
    """The work on each value begins as it comes, whatever else is being worked on."""
    return int(waiting(arrivals, arrivals + work).max())


def at_the_end(arrivals: np.ndarray, work: int) -> int:
    """What lies in the queue when the last value has come."""
    return int(waiting(arrivals, ends_of(arrivals, work))[-1])


def average(arrivals: np.ndarray, work: int) -> int:
    """All values less those that can be finished from the first arrival to the last."""
    return int(len(arrivals) - (arrivals[-1] - arrivals[0]) // work)


def same_cycle(arrivals: np.ndarray, work: int) -> int:
    """The work begins in the cycle in which a value comes."""
    ends, free = [], 0
    for cycle in arrivals:
        free = max(free, cycle - 1) + work
        ends.append(free)
    return int(waiting(arrivals, np.array(ends)).max())


def stays_longer(arrivals: np.ndarray, work: int) -> int:
    """A value still lies in the queue in the cycle after it is finished."""
    return int(waiting(arrivals, ends_of(arrivals, work) + 1).max())


def longest_wait(arrivals: np.ndarray, work: int) -> int:
    """The most cycles from a value's arrival to its end."""
    return int(max(ends_of(arrivals, work) - arrivals))


def rounded_down(arrivals: np.ndarray, work: int) -> int:
    """The work that is left at an arrival, in whole values."""
    return int(max((ends_of(arrivals, work) - arrivals) // work))


def when_they_leave(arrivals: np.ndarray, work: int) -> int:
    """What lies in the queue as each value has left."""
    ends = ends_of(arrivals, work)
    come = np.searchsorted(arrivals, ends, side="right")
    return int(max(come - np.arange(1, len(ends) + 1)))
