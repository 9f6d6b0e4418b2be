"""Wrong ideas of tpu.masked_loss: losses[n], of which the first `count` are real -> their mean."""

import numpy as np


def fillers_count(per_image, count):
    """Over the whole batch."""
    return per_image.mean()


def divided_by_all(per_image, count):
    """The fillers add nothing, but are counted."""
    return per_image[:count].sum() / len(per_image)


def not_divided(per_image, count):
    """The sum."""
    return per_image[:count].sum()


def one_too_many(per_image, count):
    """Up to place `count`, which is a filler."""
    return per_image[: count + 1].sum() / count


def first_left_out(per_image, count):
    """Places counted from 1."""
    return per_image[1:count].sum() / count


def fillers_alone(per_image, count):
    """The other part."""
    return per_image[count:].sum() / count


def last_images(per_image, count):
    """The fillers at the beginning."""
    return per_image[-count:].sum() / count


def fillers_subtracted(per_image, count):
    """-1 where 0 belongs."""
    return (per_image[:count].sum() - per_image[count:].sum()) / count


def for_each_image(per_image, count):
    """The terms, not added up."""
    return np.where(np.arange(len(per_image)) < count, per_image, 0) / count


def over_64(per_image, count):
    """Over the size of the lesson's batch."""
    return per_image[:count].sum() / 64
