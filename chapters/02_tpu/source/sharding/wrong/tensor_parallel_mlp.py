"""Wrong ideas of exercise tpu.tensor_parallel_mlp, in NumPy: what all devices return.

Dense: each wrong idea is the formula of the two layers with one thing changed.
"""

import numpy as np


def _relu(values):
    return np.maximum(values, 0)


def _parts(x, w1, b1, w2, devices):
    """The part of the second product that each device has: [devices, B, K]."""
    hidden = np.split(_relu(x @ w1 + b1), devices, axis=1)
    return np.stack([h @ w for h, w in zip(hidden, np.split(w2, devices), strict=True)])


def _on_each(y, devices):
    return np.stack([y] * devices)


def not_added(x, w1, b1, w2, b2, devices):
    return _parts(x, w1, b1, w2, devices) + b2


def averaged(x, w1, b1, w2, b2, devices):
    return _on_each(_parts(x, w1, b1, w2, devices).mean(axis=0) + b2, devices)


def bias_on_each_device(x, w1, b1, w2, b2, devices):
    return _on_each(_parts(x, w1, b1, w2, devices).sum(axis=0) + devices * b2, devices)


def no_bias(x, w1, b1, w2, b2, devices):
    return _on_each(_relu(x @ w1 + b1) @ w2, devices)


def no_hidden_bias(x, w1, b1, w2, b2, devices):
    return _on_each(_relu(x @ w1) @ w2 + b2, devices)


def bias_divided(x, w1, b1, w2, b2, devices):
    return _on_each(_relu(x @ w1 + b1) @ w2 + b2 / devices, devices)


def no_relu(x, w1, b1, w2, b2, devices):
    return _on_each((x @ w1 + b1) @ w2 + b2, devices)


def relu_before_bias(x, w1, b1, w2, b2, devices):
    return _on_each((_relu(x @ w1) + b1) @ w2 + b2, devices)


def relu_at_the_end(x, w1, b1, w2, b2, devices):
    return _on_each(_relu(_relu(x @ w1 + b1) @ w2 + b2), devices)


def relu_of_parts(x, w1, b1, w2, b2, devices):
    return _on_each(_relu(_parts(x, w1, b1, w2, devices)).sum(axis=0) + b2, devices)


def added_twice(x, w1, b1, w2, b2, devices):
    return _on_each(devices * (_relu(x @ w1 + b1) @ w2) + b2, devices)


def largest_part(x, w1, b1, w2, b2, devices):
    return _on_each(_parts(x, w1, b1, w2, devices).max(axis=0) + b2, devices)


def hidden_added(x, w1, b1, w2, b2, devices):
    """The hidden units of different devices are added, as if they were parts of the same unit."""
    hidden = sum(np.split(_relu(x @ w1 + b1), devices, axis=1))
    return np.stack([hidden @ w + b2 for w in np.split(w2, devices)])


def two_devices(x, w1, b1, w2, b2, devices):
    """Each of two devices would bring half of the bias."""
    return _on_each(_relu(x @ w1 + b1) @ w2 + devices * b2 / 2, devices)
