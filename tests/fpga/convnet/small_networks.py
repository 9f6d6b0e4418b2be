"""Networks for the accelerator with random weights from all of -128..127, and their oracle."""

import numpy as np

from labkit.fpga.convnet.accelerator_parameters import Shapes
from labkit.fpga.integers.integer_layers import IntegerLayer
from tests.fpga.circuits.rtl_cases import conv, requantized

SMALL = Shapes(side=8, conv1=8, conv2=8, fc1=16)


def random_network(seed: int, shapes: Shapes = SMALL) -> tuple[IntegerLayer, ...]:
    """Four layers; shifts that keep their outputs within -128..127 for the most part."""
    rng = np.random.default_rng(seed)
    layers = []
    for name, shape in shapes.weights.items():
        weights = rng.integers(-128, 128, shape).astype(np.int8)
        weights.flat[0], weights.flat[-1] = -128, 127
        bias = rng.integers(-50_000, 50_000, shape[0]).astype(np.int32)
        multiplier, shift = None, None
        if name != "fc2":
            multiplier = rng.integers(2**14, 2**16, shape[0]).astype(np.int32)
            products = int(np.prod(shape[1:]))
            shift = 15 + int(np.log2(74 * np.sqrt(products)))
        ones = np.ones(shape[0])
        layers.append(IntegerLayer(name, weights, bias, multiplier, shift, 1.0, ones, 1.0))
    return tuple(layers)


def random_images(seed: int, count: int, side: int = SMALL.side) -> np.ndarray:
    """int8 [count,3,side,side] from all of -128..127."""
    return np.random.default_rng(seed).integers(-128, 128, (count, 3, side, side)).astype(np.int8)


def pooled(x: np.ndarray) -> np.ndarray:
    """The largest of each 2 x 2, without labkit's own pooling."""
    rows = np.maximum(x[:, :, 0::2], x[:, :, 1::2])
    return np.maximum(rows[..., 0::2], rows[..., 1::2])


def oracle(layers: tuple[IntegerLayer, ...], images: np.ndarray) -> np.ndarray:
    """logits[N,10], in int64 and without any of labkit's layers."""
    conv1, conv2, fc1, fc2 = layers

    def finished(layer, acc):
        return requantized(acc, layer.bias.astype(np.int64), layer.multiplier, layer.shift, 0)

    x = pooled(finished(conv1, conv(images, conv1.weights)))
    x = pooled(finished(conv2, conv(x, conv2.weights)))
    flat = x.reshape(len(x), -1)
    hidden = finished(fc1, flat @ fc1.weights.T.astype(np.int64))
    return hidden @ fc2.weights.T.astype(np.int64) + fc2.bias
