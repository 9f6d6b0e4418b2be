"""Wrong ideas of `fpga.taps_and_shift`: kernel [R,S] -> taps int8, shift.

Dense: each wrong idea is another formula of the scale, the rounding or the limits.
"""

from collections.abc import Callable

import numpy as np

MOST = 15


def largest(fits, kernel, rounded=np.rint):
    """The largest shift whose taps satisfy `fits`, or 0."""
    for shift in range(MOST, 0, -1):
        if fits(rounded(kernel * 2.0**shift)):
            return shift
    return 0


def byte(taps):
    """Do all fit into an int8?"""
    return taps.min() >= -128 and taps.max() <= 127


def taken(kernel, shift, rounded=np.rint):
    """The taps with this shift; those that do not fit wrap around, as in NumPy."""
    return rounded(kernel * 2.0**shift).astype(np.int64).astype(np.int8), shift


def truncated(kernel):
    """Cut off, and not rounded."""
    return taken(kernel, largest(byte, kernel, np.trunc), np.trunc)


def floored(kernel):
    """Rounded down."""
    return taken(kernel, largest(byte, kernel, np.floor), np.floor)


def rounded_up(kernel):
    """The next whole number above."""
    return taken(kernel, largest(byte, kernel, np.ceil), np.ceil)


def cut_after_half(kernel):
    """A half is added, and the rest cut off towards 0."""
    return taken(kernel, largest(byte, kernel), lambda taps: np.trunc(taps + 0.5))


def from_to(least: int, most: int) -> Callable:
    """Only these shifts are tried."""

    def idea(kernel):
        return taken(kernel, min(max(largest(byte, kernel), least), most))

    return idea


def limited(kernel):
    """What does not fit is limited, so that the largest shift always does."""
    return np.clip(np.rint(kernel * 2.0**MOST), -128, 127).astype(np.int8), MOST


def first_tap(kernel):
    """Only the first tap has to fit."""
    return taken(kernel, largest(byte, kernel[:1, :1]))


def no_minus_128(kernel):
    """-128 is not used."""
    return taken(kernel, largest(lambda taps: np.abs(taps).max() <= 127, kernel))


def up_to_128(kernel):
    """128 is taken for an int8."""
    return taken(kernel, largest(lambda taps: np.abs(taps).max() <= 128, kernel))


def largest_tap_alone(kernel):
    """A negative tap is taken to fit whatever it is."""
    return taken(kernel, largest(lambda taps: taps.max() <= 127, kernel))


def before_rounding(kernel):
    """What is asked to fit is not rounded yet."""
    return taken(kernel, largest(byte, kernel, lambda taps: taps))


def positive_only(kernel):
    """Bytes without a sign: 0 to 255."""
    return taken(kernel, largest(lambda taps: np.abs(taps).max() <= 255, kernel))


def one_less(kernel):
    """A bit is left unused."""
    return taken(kernel, max(largest(byte, kernel) - 1, 0))


def one_more(kernel):
    """The first shift that does not fit, up to 15."""
    return taken(kernel, min(largest(byte, kernel) + 1, MOST))


def unlimited(kernel):
    """Shifts above 15."""
    shift = largest(byte, kernel)
    while shift < 40 and byte(np.rint(kernel * 2.0 ** (shift + 1))):
        shift += 1
    return taken(kernel, shift)


def sum_fits(kernel):
    """The sum of the taps is asked to fit, too."""
    return taken(kernel, largest(lambda taps: byte(taps) and abs(taps.sum()) <= 127, kernel))


def shift_down(kernel):
    """The kernel is divided by 2^shift."""
    return np.rint(kernel / 2.0 ** largest(byte, kernel)).astype(np.int8), largest(byte, kernel)


def no_127(kernel):
    """127 is not used."""
    return taken(kernel, largest(lambda taps: taps.min() >= -128 and taps.max() < 127, kernel))


def middle_tap(kernel):
    """Only the tap in the middle has to fit."""
    row, column = (length // 2 for length in kernel.shape)
    return taken(kernel, largest(byte, kernel[row : row + 1, column : column + 1]))


def mean_tap(kernel):
    """The mean of the magnitudes has to fit."""
    return taken(kernel, largest(byte, np.abs(kernel).mean(keepdims=True)))


def shift_of_each(kernel):
    """Each tap has a shift of its own; the first one's is returned."""
    shifts = np.array([largest(byte, tap) for tap in kernel.ravel()]).reshape(kernel.shape)
    return np.rint(kernel * 2.0**shifts).astype(np.int8), shifts.flat[0]


def away_from_0(kernel):
    """Each tap is rounded to the next whole number away from 0."""
    return taken(kernel, largest(byte, kernel), lambda taps: np.copysign(np.ceil(abs(taps)), taps))


def always_7(kernel):
    """The shift of the example."""
    return taken(kernel, 7)
