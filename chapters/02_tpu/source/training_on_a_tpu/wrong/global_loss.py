"""Wrong ideas of tpu.global_loss: per_image[n], weight[n], total weight of all -> terms[n].

They may raise, as a learner's would.
"""

import numpy as np


def mean_of_replica(per_image, weight, total):
    """Over the images of this replica."""
    return per_image * weight / len(weight)


def own_weight(per_image, weight, total):
    """Over the weight of this replica."""
    return per_image * weight / weight.sum()


def fillers_count(per_image, weight, total):
    """The weights are forgotten."""
    return per_image / total


def weighted_twice(per_image, weight, total):
    """The weights come in squared."""
    return per_image * weight * weight / total


def switched(per_image, weight, total):
    """Each weight above 0 is 1."""
    return per_image * (weight > 0) / total


def not_divided(per_image, weight, total):
    """The total is forgotten."""
    return per_image * weight


def divided_twice(per_image, weight, total):
    """Over the total, and over the images of this replica."""
    return per_image * weight / total / len(weight)


def all_images(per_image, weight, total):
    """Over the size of the lesson's batch."""
    return per_image * weight / 64


def added_up(per_image, weight, total):
    """The loop's sum."""
    return np.sum(per_image * weight / total)


def averaged(per_image, weight, total):
    """The mean of the terms."""
    return np.mean(per_image * weight / total)
