"""Wrong ideas of gpu.one_output: features x[D], weights w[D], bias b -> one number."""

import numpy as np


def no_bias(x, w, b):
    """The bias is forgotten."""
    return np.sum(x * w)


def bias_each_time(x, w, b):
    """The bias is added to each product."""
    return np.sum(x * w + b)


def bias_subtracted(x, w, b):
    """The bias is taken away."""
    return np.sum(x * w) - b


def bias_first(x, w, b):
    """The bias is added to each feature, and multiplied with it."""
    return np.sum((x + b) * w)


def mean(x, w, b):
    """The products are averaged."""
    return np.mean(x * w) + b


def not_added_up(x, w, b):
    """A number for each feature."""
    return x * w + b


def sums_multiplied(x, w, b):
    """The features are added up, and so are the weights."""
    return np.sum(x) * np.sum(w) + b


def added(x, w, b):
    """A weight is added to its feature."""
    return np.sum(x + w) + b


def every_pair(x, w, b):
    """Each feature meets each weight."""
    return np.outer(x, w) + b


def whole_numbers(x, w, b):
    """The digits behind the point are cut off."""
    return np.trunc(np.sum(x * w) + b)
