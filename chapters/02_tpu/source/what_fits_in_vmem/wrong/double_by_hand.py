"""Wrong ideas of tpu.double_by_hand.

Dense: an idea is a row, to be held against the others.
"""


def copied(x):
    return x.copy()


def four_times(x):
    return 4 * x


def squared(x):
    return x * x


def two_more(x):
    return x + 2


def halved(x):
    return x / 2
