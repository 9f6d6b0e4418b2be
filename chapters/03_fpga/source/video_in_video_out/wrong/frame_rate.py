"""Wrong ideas of `fpga.frame_rate`: cycles [n], units [n], clock, camera -> two rates.

Dense: each wrong idea is one formula, to be held against the right one.
"""

import numpy as np


def busy(cycles, units):
    """For each unit, its cycles for a frame."""
    return np.bincount(units, cycles)


def limited(camera, alone, together):
    """Both, and at most what the camera brings."""
    return min(camera, alone), min(camera, together)


def slowest_step(cycles, units, clock, camera):
    """As if each step had a unit of its own."""
    return limited(camera, clock / sum(cycles), clock / max(cycles))


def first_two(cycles, units, clock, camera):
    """Units 0 and 1 alone."""
    return limited(camera, clock / sum(cycles), clock / max(*busy(cycles, units)[:2], 1))


def last_unit(cycles, units, clock, camera):
    """The unit with the highest number."""
    return limited(camera, clock / sum(cycles), clock / busy(cycles, units)[-1])


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


def fastest_unit(cycles, units, clock, camera):
    """The unit with the fewest cycles."""
    worked = busy(cycles, units)
    return limited(camera, clock / sum(cycles), clock / min(worked[worked > 0]))


def first_unit(cycles, units, clock, camera):
    """Unit 0, whatever the others do."""
    return limited(camera, clock / sum(cycles), clock / max(busy(cycles, units)[0], 1))


def most_steps(cycles, units, clock, camera):
    """The unit with the most steps."""
    return limited(
        camera, clock / sum(cycles), clock / busy(cycles, units)[np.argmax(np.bincount(units))]
    )


def shared_evenly(cycles, units, clock, camera):
    """As if all units were equally busy."""
    return limited(camera, clock / sum(cycles), clock * len(set(units)) / sum(cycles))


def rates_added(cycles, units, clock, camera):
    """The rates of the units are added."""
    worked = busy(cycles, units)
    return limited(camera, clock / sum(cycles), sum(clock / worked[worked > 0]))


def swapped(cycles, units, clock, camera):
    """The two rates in the other order."""
    alone, together = limited(camera, clock / sum(cycles), clock / max(busy(cycles, units)))
    return together, alone


def times(cycles, units, clock, camera):
    """Seconds for a frame, and not frames for a second."""
    alone, together = limited(camera, clock / sum(cycles), clock / max(busy(cycles, units)))
    return 1 / alone, 1 / together


def always_camera(cycles, units, clock, camera):
    """The larger of the two limits."""
    return max(camera, clock / sum(cycles)), max(camera, clock / max(busy(cycles, units)))


def upside_down(cycles, units, clock, camera):
    """Cycles divided by the clock."""
    return limited(camera, sum(cycles) / clock, max(busy(cycles, units)) / clock)


def last_step_of_each(cycles, units, clock, camera):
    """A unit does only the last of its steps."""
    last = dict(zip(units, cycles, strict=True))
    return limited(camera, clock / sum(cycles), clock / max(last.values()))


def mean_step_of_each(cycles, units, clock, camera):
    """A unit is busy for the mean of its steps."""
    steps = np.maximum(np.bincount(units), 1)
    return limited(camera, clock / sum(cycles), clock / max(busy(cycles, units) / steps))


def fastest_step(cycles, units, clock, camera):
    """The shortest step sets the pace."""
    return limited(camera, clock / sum(cycles), clock / min(cycles))


def clock_of_the_lesson(cycles, units, clock, camera):
    """100 MHz, whatever the clock is."""
    return limited(camera, 100e6 / sum(cycles), 100e6 / max(busy(cycles, units)))


def two_groups(cycles, units, clock, camera):
    """Unit 0, and all others as one."""
    return limited(camera, clock / sum(cycles), clock / max(busy(cycles, np.minimum(units, 1))))


def alone_by_a_step(cycles, units, clock, camera):
    """One frame at a time takes the cycles of its longest step."""
    return limited(camera, clock / max(cycles), clock / max(busy(cycles, units)))
