"""Wrong ideas of gpu.sgd_momentum: p, g, v [n], lr, momentum -> p, v."""

from collections.abc import Callable

import numpy as np


def nesterov(p, g, v, lr, momentum):
    """The step looks one momentum ahead."""
    new_v = momentum * v + g
    ahead = g + momentum * new_v
    return p - lr * ahead, new_v


def velocity_downhill(p, g, v, lr, momentum):
    """The velocity has the other sign, and is added to p."""
    v = momentum * v - g
    step = lr * v
    return p + step, v


def velocity_is_the_step(p, g, v, lr, momentum):
    """The velocity has the other sign and the rate, and is added to p."""
    step = lr * g
    v = momentum * v - step
    return p + v, v


def momentum_on_the_sum(p, g, v, lr, momentum):
    """The momentum multiplies the gradient too."""
    v = momentum * (v + g)
    step = lr * v
    return p - step, v


def first_only(n: int) -> Callable:
    """Only the first n elements are updated."""

    def wrong(p, g, v, lr, momentum):
        first = np.arange(p.size) < n
        new_v = momentum * v + g
        new_p = p - lr * new_v
        p_after = np.where(first, new_p, p)
        v_after = np.where(first, new_v, v)
        return p_after, v_after

    return wrong


def velocity_forgotten(p, g, v, lr, momentum):
    """The new velocity is not written."""
    new_v = momentum * v + g
    step = lr * new_v
    return p - step, v


def old_velocity(p, g, v, lr, momentum):
    """The step is that of the velocity before."""
    new_v = momentum * v + g
    step = lr * v
    return p - step, new_v
