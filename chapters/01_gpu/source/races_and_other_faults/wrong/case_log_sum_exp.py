"""Wrong repairs of gpu.case_log_sum_exp: x[K,N] -> out[n] = log sum_k exp(x[k, n])."""

import numpy as np

ZERO = np.float32(0)
ONE = np.float32(1)
LARGEST_SAFE = np.float32(80)  # exp(80) is a float32


def log_sum(x, shift=ZERO):
    """In the precision of x: log sum_k exp(x[k, n] - shift[n]) [N]; float32 overflows at 89."""
    with np.errstate(all="ignore"):
        return np.log(np.exp(x - shift).sum(axis=0))


def shifted(x, shift):
    """log sum_k exp(x[k, n]), computed after `shift` [N] is taken off; float32."""
    return (shift + log_sum(x, shift)).astype(np.float32)


def wide(x):
    """x in float64."""
    return x.astype(np.float64)


def shift_not_added(x):
    """The largest score is taken off, and not added again."""
    largest = x.max(axis=0)
    return log_sum(x, largest)


def shift_subtracted(x):
    """The largest score is taken off twice."""
    largest = x.max(axis=0)
    return log_sum(x, largest) - largest


def first_score(x):
    """The first score is taken off."""
    return shifted(x, x[0])


def last_score(x):
    """The last score is taken off."""
    return shifted(x, x[-1])


def first_left_out(x):
    """The largest of all scores but the first is taken off."""
    largest = np.max(x[1:], axis=0, initial=-np.float32(np.inf))
    return shifted(x, largest)


def finite_start(x):
    """The search for the largest begins at a finite number."""
    largest = x.max(axis=0)
    return shifted(x, np.maximum(largest, np.float32(-1e30)))


def one_for_all_images(x):
    """The largest score of all images is taken off from all."""
    return shifted(x, x.max())


def smallest_score(x):
    """The smallest score is taken off."""
    smallest = x.min(axis=0)
    return shifted(x, smallest)


def mean_score(x):
    """The mean score is taken off."""
    mean = x.mean(axis=0)
    return shifted(x, mean)


def at_least_zero(x):
    """The search for the largest score begins at 0."""
    largest = x.max(axis=0)
    found = np.maximum(largest, ZERO)
    return shifted(x, found)


def largest_size(x):
    """The sign is left out of the search."""
    largest = abs(x).max(axis=0)
    return shifted(x, largest)


def clipped(x):
    """Large scores are cut at 80."""
    low = np.minimum(x, LARGEST_SAFE)
    return log_sum(low)


def clipped_below(x):
    """Scores are cut at 80 and at -80."""
    small = np.clip(x, -LARGEST_SAFE, LARGEST_SAFE)
    return log_sum(small)


def largest_alone(x):
    """The other scores are left out."""
    return x.max(axis=0)


def unshifted_in_float64(x):
    """Nothing is taken off, and float64 overflows later."""
    in_float64 = wide(x)
    return log_sum(in_float64).astype(np.float32)


def one_too_many(x):
    """The sum begins at 1 instead of 0."""
    largest = x.max(axis=0)
    terms = np.exp(x - largest)
    total = terms.sum(axis=0) + ONE
    result = largest + np.log(total)
    return result.astype(np.float32)
