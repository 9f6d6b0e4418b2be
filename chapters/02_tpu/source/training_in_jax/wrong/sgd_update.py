"""Wrong ideas of tpu.sgd_update, on all leaves at once: the vectors of a case -> two vectors.

Dense: each idea is one formula, and all of them take the same arguments.
"""


def uphill(weights, velocities, gradients, rate, momentum, form):
    """With the gradient instead of against it."""
    new = momentum * velocities + rate * gradients
    return weights + new, new


def no_momentum(weights, velocities, gradients, rate, momentum, form):
    """The velocity before is forgotten."""
    new = -rate * gradients
    return weights + new, new


def old_velocity(weights, velocities, gradients, rate, momentum, form):
    """The weights move by what was known before."""
    return weights + velocities, momentum * velocities - rate * gradients


def velocities_kept(weights, velocities, gradients, rate, momentum, form):
    """The weights are new, the velocities are not."""
    return weights + momentum * velocities - rate * gradients, velocities


def velocity_without_rate(weights, velocities, gradients, rate, momentum, form):
    """PyTorch's: the rate comes in where the weights move."""
    new = momentum * velocities + gradients
    return weights - rate * new, new


def averaged(weights, velocities, gradients, rate, momentum, form):
    """A moving average of the steps."""
    new = momentum * velocities - (1 - momentum) * rate * gradients
    return weights + new, new


def looks_ahead(weights, velocities, gradients, rate, momentum, form):
    """Nesterov's momentum."""
    new = momentum * velocities - rate * gradients
    return weights + momentum * new - rate * gradients, new


def gradient_slowed_too(weights, velocities, gradients, rate, momentum, form):
    """The momentum multiplies the new part as well."""
    new = momentum * (velocities - rate * gradients)
    return weights + new, new


def rate_on_everything(weights, velocities, gradients, rate, momentum, form):
    """The velocity is multiplied by the rate once more."""
    new = momentum * velocities - rate * gradients
    return weights + rate * new, new


def taken_away(weights, velocities, gradients, rate, momentum, form):
    """The velocity points downhill already."""
    new = momentum * velocities - rate * gradients
    return weights - new, new


def swapped(weights, velocities, gradients, rate, momentum, form):
    """The velocities come first."""
    new = momentum * velocities - rate * gradients
    return new, weights + new


def always_nine_tenths(weights, velocities, gradients, rate, momentum, form):
    """The usual momentum, whatever is given."""
    new = 0.9 * velocities - rate * gradients
    return weights + new, new
