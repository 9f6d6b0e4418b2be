"""A network of given shapes for the accelerator, with random weights, for several tests."""

import numpy as np

from labkit.fpga.convnet.accelerator_parameters import Shapes
from labkit.fpga.integers.integer_layers import IntegerLayer


def random_network(shapes: Shapes, seed: int = 0) -> tuple[IntegerLayer, ...]:
    """conv1, conv2, fc1 and fc2 as the accelerator takes them."""
    rng = np.random.default_rng(seed)
    layers = []
    for name, shape in shapes.weights.items():
        weights = rng.integers(-128, 128, shape).astype(np.int8)
        bias = rng.integers(-50_000, 50_000, shape[0]).astype(np.int32)
        last = name == "fc2"  # its sums are not requantised
        multiplier = None if last else rng.integers(1, 2**16, shape[0]).astype(np.int32)
        shift = None if last else 25
        scale = np.ones(shape[0])
        layers.append(IntegerLayer(name, weights, bias, multiplier, shift, 1.0, scale, 1.0))
    return tuple(layers)


def random_images(shapes: Shapes, images: int) -> np.ndarray:
    """int8[N,3,H,W] of all values."""
    size = (images, 3, shapes.side, shapes.side)
    return np.random.default_rng(images).integers(-128, 128, size).astype(np.int8)
