"""Wrong ideas of tpu.count_programs: lengths, rates, whole, powers [n], bucket -> a count.

Dense: each takes all arguments of the right one, and is a formula, to be held against it.
"""

import numpy as np


def different(*columns):
    """How many different rows these columns have."""
    return len(np.unique(np.stack(columns, axis=1), axis=0))


def padded(lengths, bucket):
    """The number of buckets that each length fills."""
    return np.ceil(lengths / bucket)


def every_call(lengths, rates, whole, powers, bucket):
    """Nothing is kept."""
    return len(lengths)


def rates_by_value(lengths, rates, whole, powers, bucket):
    """Each value of a rate needs a program."""
    return different(padded(lengths, bucket), whole, powers, rates)


def type_forgotten(lengths, rates, whole, powers, bucket):
    """1 and 1.0 are the same."""
    return different(padded(lengths, bucket), powers)


def power_forgotten(lengths, rates, whole, powers, bucket):
    """A static value counts as little as any other."""
    return different(padded(lengths, bucket), whole)


def not_padded(lengths, rates, whole, powers, bucket):
    """The lengths stay as they are."""
    return different(lengths, whole, powers)


def rounded_down(lengths, rates, whole, powers, bucket):
    """The multiple below."""
    return different(lengths // bucket, whole, powers)


def one_multiple_more(lengths, rates, whole, powers, bucket):
    """A multiple is padded, too; the same count as rounding down but for lengths of 0."""
    return different(np.round(lengths / bucket), whole, powers)


def length_forgotten(lengths, rates, whole, powers, bucket):
    """A program takes arrays of every length."""
    return different(whole, powers)


def last_call_only(lengths, rates, whole, powers, bucket):
    """Only the last program is kept."""
    keys = np.stack([padded(lengths, bucket), whole, powers], axis=1)
    changed = np.any(keys[1:] != keys[:-1], axis=1)
    return 1 + int(changed.sum())


def kinds_added(lengths, rates, whole, powers, bucket):
    """Each cause alone, then the sum."""
    columns = padded(lengths, bucket), whole, powers
    return sum(len(np.unique(column)) for column in columns)


def kinds_multiplied(lengths, rates, whole, powers, bucket):
    """As if every combination came."""
    columns = padded(lengths, bucket), whole, powers
    return int(np.prod([len(np.unique(column)) for column in columns]))


def powers_first(lengths, rates, whole, powers, bucket):
    """To the next power of two."""
    return different(np.ceil(np.log2(lengths)), whole, powers)
