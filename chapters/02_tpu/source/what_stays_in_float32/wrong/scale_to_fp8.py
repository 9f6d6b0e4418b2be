"""Wrong ideas of tpu.scale_to_fp8: x, any shape, amaxes [steps] -> q and the scale.

They may raise, as a learner's would.
"""

import numpy as np

from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3

LARGEST = 448  # of e4m3


def scale_of(largest, range_end=LARGEST):
    """The scale at which `largest` lands at the end of the range; 1 where nothing was seen."""
    return np.float32(largest / range_end if largest > 0 else 1)


def limited(steps):
    """Cut off at both ends of e4m3."""
    return np.clip(steps, -LARGEST, LARGEST)


def with_scale(x, scale):
    """Right but for the scale."""
    return to_e4m3(limited(x / scale)), scale


def scale_of_x(x, amaxes):
    """The scale of this x, which a fast machine does not know yet."""
    return with_scale(x, scale_of(abs(x).max()))


def this_step_too(x, amaxes):
    """The largest of all steps, and of x itself."""
    return with_scale(x, scale_of(max(amaxes.max(), abs(x).max())))


def last_step(x, amaxes):
    """The scale of the last step alone."""
    return with_scale(x, scale_of(amaxes[-1]))


def first_step(x, amaxes):
    """The scale of the first step alone."""
    return with_scale(x, scale_of(amaxes[0]))


def mean_of_steps(x, amaxes):
    """The scale of the mean."""
    return with_scale(x, scale_of(amaxes.mean()))


def smallest_step(x, amaxes):
    """The scale of the smallest."""
    return with_scale(x, scale_of(amaxes.min()))


def range_of_e5m2(x, amaxes):
    """The largest lands at the end of another format."""
    return with_scale(x, scale_of(amaxes.max(), 57_344))


def range_of_int8(x, amaxes):
    """The largest lands at the end of a byte."""
    return with_scale(x, scale_of(amaxes.max(), 127))


def largest_as_scale(x, amaxes):
    """The largest lands on 1."""
    return with_scale(x, scale_of(amaxes.max(), 1))


def not_cut_off(x, amaxes):
    """Nothing limits what is beyond 448."""
    scale = scale_of(amaxes.max())
    return to_e4m3(x / scale), scale


def cut_off_above(x, amaxes):
    """Only positive numbers are limited."""
    scale = scale_of(amaxes.max())
    return to_e4m3(np.minimum(x / scale, LARGEST)), scale


def inverted(x, amaxes):
    """q is right; the scale is that by which x is multiplied."""
    scale = scale_of(amaxes.max())
    return to_e4m3(limited(x / scale)), 1 / scale


def multiplied(x, amaxes):
    """x is multiplied by the scale."""
    scale = scale_of(amaxes.max())
    return to_e4m3(limited(x * scale)), scale


def scaled_back(x, amaxes):
    """q times the scale: x again, with fewer digits."""
    scale = scale_of(amaxes.max())
    return to_e4m3(limited(x / scale)) * scale, scale


def not_rounded(x, amaxes):
    """q keeps all digits."""
    scale = scale_of(amaxes.max())
    return limited(x / scale), scale


def not_divided(x, amaxes):
    """x is rounded as it is."""
    return to_e4m3(limited(x)), scale_of(amaxes.max())


def cut_off_before(x, amaxes):
    """x is limited before it is divided."""
    scale = scale_of(amaxes.max())
    return to_e4m3(limited(x) / scale), scale


def nothing_seen_is_nothing(x, amaxes):
    """Where nothing was seen, the scale is 0, and so is q."""
    if amaxes.max() > 0:
        scale = scale_of(amaxes.max())
        return to_e4m3(limited(x / scale)), scale
    return 0 * x, np.float32(0)


@np.errstate(divide="ignore", invalid="ignore")
def divided_by_0(x, amaxes):
    """Where nothing was seen, the scale is 0, and x is divided by it."""
    scale = amaxes.max() / np.float32(LARGEST)
    return to_e4m3(limited(x / scale)), scale


def whole_numbers(x, amaxes):
    """Rounded as for int8."""
    scale = scale_of(amaxes.max())
    return np.rint(limited(x / scale)), scale
