"""Wrong ideas of tpu.mixed_precision_step: master, gradient, any shape, lr -> master, copy.

They may raise, as a learner's would.
"""

from collections.abc import Callable

import numpy as np

from labkit.tpu.bfloat16 import round_to_bfloat16 as nearest


def rounded(*names: str) -> Callable:
    """A step in which these are rounded: "old", "gradient", "rate", "update", "new"."""

    def stored(name, x):
        return nearest(x) if name in names else np.asarray(x, np.float32)

    def wrong(master, gradient, lr):
        update = stored("rate", lr) * stored("gradient", gradient)
        new = stored("new", stored("old", master) - stored("update", update))
        return new, nearest(new)

    return wrong


def new_master(master, gradient, lr):
    """The master after the step, as it should be."""
    return master - np.float32(lr) * gradient


def with_copy(copy_of: Callable) -> Callable:
    """The master is right; `copy_of(new)` stands for its copy."""

    def wrong(master, gradient, lr):
        new = new_master(master, gradient, lr)
        return new, copy_of(new)

    return wrong


def with_first_rate(shape: tuple[int, ...], rate: float) -> Callable:
    """Masters of this shape keep the rate of their first call."""

    def wrong(master, gradient, lr):
        new = new_master(master, gradient, rate if master.shape == shape else lr)
        return new, nearest(new)

    return wrong


def old_copy(master, gradient, lr):
    """The copy is made before the step."""
    new = new_master(master, gradient, lr)
    return new, nearest(master)


def gradient_copied(master, gradient, lr):
    """The copy is that of the gradient."""
    new = new_master(master, gradient, lr)
    return new, nearest(gradient)


def copy_steps(master, gradient, lr):
    """Master and copy make a step of their own."""
    new = new_master(master, gradient, lr)
    copy = new_master(nearest(master), gradient, lr)
    return new, nearest(copy)


def copy_by_rounded_update(master, gradient, lr):
    """The copy is the rounded master minus the rounded update."""
    new = new_master(master, gradient, lr)
    update = np.float32(lr) * gradient
    return new, nearest(master) - nearest(update)
