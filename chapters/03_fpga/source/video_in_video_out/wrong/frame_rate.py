"""Wrong ideas of `fpga.frame_rate`: cycles [n], units [n], clock, camera -> two rates.

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np


def busy(cycles, units):
    """For each unit, its cycles for a frame."""
    return np.bincount(units, cycles)


def limited(camera, alone, together):
    """Both, and at most what the camera brings."""
    return min(camera, alone), min(camera, together)


def with_slowest(slowest: Callable) -> Callable:
    """slowest(cycles, units) stands for the cycles of the busiest unit."""

    @wraps(slowest)
    def rates(cycles, units, clock, camera):
        return limited(camera, clock / sum(cycles), clock / slowest(cycles, units))

    return rates


def from_right(change: Callable) -> Callable:
    """change(alone, together), of the right rates."""
    right = with_slowest(lambda cycles, units: max(busy(cycles, units)))
    return wraps(change)(lambda *given: change(*right(*given)))


@with_slowest
def slowest_step(cycles, units):
    """As if each step had a unit of its own."""
    return max(cycles)


@with_slowest
def first_two(cycles, units):
    """Units 0 and 1 alone."""
    return max(*busy(cycles, units)[:2], 1)


@with_slowest
def last_unit(cycles, units):
    """The unit with the highest number."""
    return busy(cycles, units)[-1]


def neighbours_alone(cycles, units, clock, camera):
    """A unit's steps are added only where they follow one another."""
    runs = [0]
    for place, step in enumerate(cycles):
        if place and units[place] != units[place - 1]:
            runs.append(0)
        runs[-1] += step
    return limited(camera, clock / sum(cycles), clock / max(runs))


def average_step(cycles, units, clock, camera):
    """A frame is one average step."""
    return limited(camera, clock / np.mean(cycles), clock / max(busy(cycles, units)))


def no_camera(cycles, units, clock, camera):
    """The camera brings any number of frames."""
    return clock / sum(cycles), clock / max(busy(cycles, units))


def camera_first(cycles, units, clock, camera):
    """The camera's frame is waited for, and only then the work begins."""
    wait = 1 / camera
    return 1 / (wait + sum(cycles) / clock), 1 / (wait + max(busy(cycles, units)) / clock)


@with_slowest
def fastest_unit(cycles, units):
    """The unit with the fewest cycles."""
    worked = busy(cycles, units)
    return min(worked[worked > 0])


@with_slowest
def first_unit(cycles, units):
    """Unit 0, whatever the others do."""
    return max(busy(cycles, units)[0], 1)


@with_slowest
def most_steps(cycles, units):
    """The unit with the most steps."""
    return busy(cycles, units)[np.argmax(np.bincount(units))]


def shared_evenly(cycles, units, clock, camera):
    """As if all units were equally busy."""
    return limited(camera, clock / sum(cycles), clock * len(set(units)) / sum(cycles))


def rates_added(cycles, units, clock, camera):
    """The rates of the units are added."""
    worked = busy(cycles, units)
    return limited(camera, clock / sum(cycles), sum(clock / worked[worked > 0]))


@from_right
def swapped(alone, together):
    """The two rates in the other order."""
    return together, alone


@from_right
def times(alone, together):
    """Seconds for a frame, and not frames for a second."""
    return 1 / alone, 1 / together


def always_camera(cycles, units, clock, camera):
    """The larger of the two limits."""
    return max(camera, clock / sum(cycles)), max(camera, clock / max(busy(cycles, units)))


def upside_down(cycles, units, clock, camera):
    """Cycles divided by the clock."""
    return limited(camera, sum(cycles) / clock, max(busy(cycles, units)) / clock)


@with_slowest
def last_step_of_each(cycles, units):
    """A unit does only the last of its steps."""
    last = dict(zip(units, cycles, strict=True))
    return max(last.values())


@with_slowest
def mean_step_of_each(cycles, units):
    """A unit is busy for the mean of its steps."""
    steps = np.maximum(np.bincount(units), 1)
    return max(busy(cycles, units) / steps)


@with_slowest
def fastest_step(cycles, units):
    """The shortest step sets the pace."""
    return min(cycles)


def clock_of_the_lesson(cycles, units, clock, camera):
    """100 MHz, whatever the clock is."""
    return limited(camera, 100e6 / sum(cycles), 100e6 / max(busy(cycles, units)))


@with_slowest
def two_groups(cycles, units):
    """Unit 0, and all others as one."""
    return max(busy(cycles, np.minimum(units, 1)))


def alone_by_a_step(cycles, units, clock, camera):
    """One frame at a time takes the cycles of its longest step."""
    return limited(camera, clock / max(cycles), clock / max(busy(cycles, units)))
