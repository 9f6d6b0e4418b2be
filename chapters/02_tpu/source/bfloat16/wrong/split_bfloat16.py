"""Wrong ideas of tpu.split_bfloat16: x, any shape, parts -> found [parts, ...].

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np

from labkit_lessons.tpu.bfloat16.exercises.float32_bits import cut, nearest
from labkit_lessons.tpu.bfloat16.wrong.shared import float16


def parts_of(x, parts, rest_of: Callable, part_of: Callable = nearest):
    """`part_of(rest)` is a part, and `rest_of(x, rest, part)` remains."""
    rest = x
    found = []
    for _ in range(parts):
        part = part_of(rest)
        found.append(part)
        rest = rest_of(x, rest, part)
    return np.array(found)


def with_rest(rest_of: Callable) -> Callable:
    """The parts are rounded, but `rest_of(x, rest, part)` remains."""
    return lambda x, parts: parts_of(x, parts, rest_of)


def right_rest(x, rest, part):
    """What remains, as it should be."""
    return rest - part


def parts_cut_off(x, parts):
    """The parts are cut off."""
    return parts_of(x, parts, right_rest, part_of=cut)


def parts_in_float16(x, parts):
    """The parts are float16."""
    return parts_of(x, parts, right_rest, part_of=float16)


def first_taken_away(x, parts):
    """Only the first part is taken away from x, in every round."""
    first = nearest(x)
    return np.array([first] + [nearest(x - first)] * (parts - 1))


def remainder(x, found):
    """What the parts found leave of x."""
    return x - found.sum(axis=0)


def last_kept(x, parts):
    """The last part is not rounded."""
    found = parts_of(x, parts, right_rest)
    found[-1] = remainder(x, found[:-1])
    return found


def remainders(x, parts):
    """What is left before each part, in place of the parts."""
    found = parts_of(x, parts, right_rest)
    return np.array([remainder(x, found[:i]) for i in range(parts)])


def shared(x, parts):
    """Equal parts."""
    return np.array([nearest(x / parts)] * parts)
