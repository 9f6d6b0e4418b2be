"""Random layers of the network's shapes, with weights from all of -128..127, for several tests."""

import numpy as np

from labkit import convnet
from labkit.fpga.integers.integer_layers import IntegerLayer


def random_layer(name: str, seed: int) -> IntegerLayer:
    """A layer shaped as `name` in the network; its extreme weights are there for certain."""
    rng = np.random.default_rng(seed)
    shape = convnet.SHAPES[f"{name}.weight"]
    weights = rng.integers(-128, 128, shape).astype(np.int8)
    weights.flat[0] = -128
    weights.flat[-1] = 127
    bias = rng.integers(-50_000, 50_000, shape[0]).astype(np.int32)
    multiplier = rng.integers(1, 2**16, shape[0]).astype(np.int32)
    shift = int(rng.integers(22, 30))
    return IntegerLayer(name, weights, bias, multiplier, shift, 1.0, np.ones(shape[0]), 1.0)


def random_int8(seed: int, *shape: int) -> np.ndarray:
    """Numbers from all of -128..127."""
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
