"""Wrong ideas of gpu.scaled_step: p [n], g [n] float16, scale, lr -> the new p, float32."""

import numpy as np

FIRST_SCALE = 1024.0  # of the first case, which has six weights


def quiet(step):
    """The same without NumPy's warnings of infinities."""

    def silent(p, g, scale, lr):
        with np.errstate(all="ignore"):
            return step(p, g, scale, lr).astype(np.float32)

    silent.__name__ = step.__name__
    silent.__doc__ = step.__doc__
    return silent


def unscaled(g, scale):
    """The gradient of the loss itself, in float32."""
    return g.astype(np.float32) / np.float32(scale)


@quiet
def stepped(p, g, scale, lr):
    """What the function should give."""
    step = lr * unscaled(g, scale)
    return p - step if np.isfinite(g).all() else p


def if_finite(g, new, p):
    """new, or p where the gradient is no number somewhere."""
    return new if np.isfinite(g).all() else p


@quiet
def not_unscaled(p, g, scale, lr):
    """The gradient is used as it came."""
    return if_finite(g, p - lr * g.astype(np.float32), p)


@quiet
def multiplied(p, g, scale, lr):
    """The gradient is scaled once more."""
    return if_finite(g, p - lr * scale * g.astype(np.float32), p)


@quiet
def rate_divided_only(p, g, scale, lr):
    """The scale is taken off twice."""
    return if_finite(g, p - lr * unscaled(g, scale) / scale, p)


@quiet
def divided_in_float16(p, g, scale, lr):
    """The division is made in float16."""
    return if_finite(g, p - lr * (g / np.float16(scale)).astype(np.float32), p)


@quiet
def stepped_in_float16(p, g, scale, lr):
    """The rate is multiplied first, and all in float16."""
    return if_finite(g, p - (lr * g / scale).astype(np.float32), p)


@quiet
def never_skipped(p, g, scale, lr):
    """The step is made in any case."""
    return p - lr * unscaled(g, scale)


@quiet
def only_the_bad_skipped(p, g, scale, lr):
    """Where g is a number, the step is made."""
    return np.where(np.isfinite(g), p - lr * unscaled(g, scale), p)


@quiet
def bad_as_largest(p, g, scale, lr):
    """What is no number becomes 0 or the largest float16."""
    return p - lr * unscaled(np.nan_to_num(g), scale)


@quiet
def infinity_alone(p, g, scale, lr):
    """A NaN is no infinity, and goes through."""
    return p if np.isinf(g).any() else p - lr * unscaled(g, scale)


@quiet
def nan_alone(p, g, scale, lr):
    """An infinity is no NaN, and goes through."""
    return p if np.isnan(g).any() else p - lr * unscaled(g, scale)


@quiet
def always_skipped(p, g, scale, lr):
    """Nothing is ever changed."""
    return p


@quiet
def uphill(p, g, scale, lr):
    """The sign of the step."""
    return if_finite(g, p + lr * unscaled(g, scale), p)


@quiet
def gradient_alone(p, g, scale, lr):
    """The unscaled gradient, and no step."""
    return if_finite(g, unscaled(g, scale), p)


@quiet
def no_rate(p, g, scale, lr):
    """The rate is missing."""
    return if_finite(g, p - unscaled(g, scale), p)


@quiet
def remembered_scale(p, g, scale, lr):
    """The scale is that of the first call with as many weights."""
    first = FIRST_SCALE if len(p) == 6 else scale
    return stepped(p, g, first, lr)


@quiet
def weights_in_float16(p, g, scale, lr):
    """Weights and steps are rounded."""
    step = (lr * unscaled(g, scale)).astype(np.float16)
    return if_finite(g, p.astype(np.float16) - step, p)
