"""`quantize(model, images)`: the course's network in int8, from its weights and some images.

    q = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:500]))
    q.predict(data.test.images)        the class of each image, by integers alone
    q.weights, q.scales                what the integers are, and what one step of each stands for
    q.layers[0].multiplier             what a circuit is made of, layer by layer
    q.activations(images)["conv1"]     every tensor on the way

No training: the float weights are rounded once ("post-training quantisation"). Zero is always the
integer 0 (a "symmetric" scheme), so that padding costs nothing.
"""

import numpy as np

from labkit.fpga.arguments import real
from labkit.fpga.integers.calibration import (
    PERCENTILE,
    in_steps,
    peaks,
    scale_of,
    to_int8,
    weight_scales,
)
from labkit.fpga.integers.integer_layers import IntegerLayer, maxpool2d
from labkit.fpga.integers.quantize_inputs import (
    image_batch,
    image_peak,
    network_weights,
    normalised_images,
)
from labkit.fpga.integers.requantize import fixed_point

BATCH = 100  # images whose windows are held at once
CHAIN = [  # each layer, the tensor that it reads, and the one that it leaves after its ReLU
    ("conv1", "image", "relu1"),
    ("conv2", "relu1", "relu2"),
    ("fc1", "relu2", "relu3"),
    ("fc2", "relu3", None),
]


class QuantizedConvNet:
    """The network in integers. Its arrays are its own and cannot be written to.

    layers     the four `IntegerLayer`s: conv1, conv2, fc1, fc2
    weights    their int8 weights and int32 biases, under the names of `convnet.SHAPES`
    scales     what one step stands for: a float for the tensors "image", "relu1", "relu2",
               "relu3" and "logits", float64[K] for each layer's weights, such as "conv1.weight"
    """

    def __init__(self, layers: list[IntegerLayer]) -> None:
        self.layers = tuple(layers)
        self.weights = {}
        self.scales = {"image": layers[0].input_scale}
        for layer in layers:
            self.weights[f"{layer.name}.weight"] = layer.weights
            self.weights[f"{layer.name}.bias"] = layer.bias
            self.scales[f"{layer.name}.weight"] = layer.weight_scale
        for name, _, output in CHAIN[:-1]:
            self.scales[output] = self.layer(name).output_scale
        last = layers[-1]
        self.scales["logits"] = last.input_scale * float(last.weight_scale[0])

    def layer(self, name: str) -> IntegerLayer:
        """The layer of that name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"There is no layer {name!r}: they are conv1, conv2, fc1 and fc2.")

    def to_int8(self, images: np.ndarray) -> np.ndarray:
        """Images as the first layer reads them: int8[N,3,32,32] in steps of scales["image"].

        Takes uint8 pixels, what `convnet.normalise` makes of them, or such int8 images.
        Raises ValueError for anything else.
        """
        images = image_batch("quantized network", images)
        if images.dtype == np.int8:
            return images
        return to_int8(normalised_images("quantized network", images), self.scales["image"])

    def activations(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """Every tensor by the name that it has in `convnet.activations`, all of them integers.

        "conv1", "conv2", "fc1" and "fc2" are int32 sums, bias included; all others are int8. Holds
        everything at once, about 0.5 MB for each image.
        """
        conv1, conv2, fc1, fc2 = self.layers
        a = {"image": self.to_int8(images)}
        a["conv1"] = conv1.accumulate(a["image"])
        a["relu1"] = conv1.finish(a["conv1"])
        a["pool1"] = maxpool2d(a["relu1"])
        a["conv2"] = conv2.accumulate(a["pool1"])
        a["relu2"] = conv2.finish(a["conv2"])
        a["pool2"] = maxpool2d(a["relu2"])
        a["flat"] = a["pool2"].reshape(len(a["pool2"]), -1)
        a["fc1"] = fc1.accumulate(a["flat"])
        a["relu3"] = fc1.finish(a["fc1"])
        a["fc2"] = fc2.accumulate(a["relu3"])
        return a

    def logits(self, images: np.ndarray) -> np.ndarray:
        """int32[N,10]; times scales["logits"] they are close to the float network's."""
        images = image_batch("quantized network", images)
        batches = [images[start : start + BATCH] for start in range(0, len(images), BATCH)]
        return np.concatenate([self.activations(batch)["fc2"] for batch in batches])

    def predict(self, images: np.ndarray) -> np.ndarray:
        """The class of each image, int64[N]: the place of its largest logit."""
        return self.logits(images).argmax(axis=1)


def quantize(model: object, images: np.ndarray, percentile: float = PERCENTILE) -> QuantizedConvNet:
    """The network in int8, calibrated on training images[N,3,32,32].

    model       weights as `convnet.load_weights()` gives them, or a PyTorch module with these names
    images      uint8 pixels or what `convnet.normalise` makes of them; a few hundred are enough
    percentile  the share of each tensor's values that is not clipped
                (`labkit.fpga.integers.calibration`)

    The weights have a scale for each output channel, for a channel's scale comes out of its sum.
    Only the last layer has one scale for all, since its ten sums are compared with each other.

    Raises ValueError for weights and images that do not fit, or hold anything but finite numbers.
    """
    weights = network_weights(model)
    images = normalised_images("quantize", images)
    percentile = real("quantize: percentile", percentile, ValueError)
    if not 0 < percentile <= 100:
        raise ValueError(f"quantize: percentile is {percentile:g}; it lies above 0 and up to 100.")
    scales = {"image": scale_of(image_peak())}
    for name, peak in peaks(weights, images, percentile).items():
        scales[name] = scale_of(peak)
    layers = []
    for name, source, output in CHAIN:
        w, b = weights[f"{name}.weight"], weights[f"{name}.bias"]
        layers.append(_layer(name, w, b, scales[source], scales.get(output)))
    return QuantizedConvNet(layers)


def _layer(
    name: str, w: np.ndarray, b: np.ndarray, input_scale: float, output_scale: float | None
) -> IntegerLayer:
    """One layer's integers from its real weights w[K,...] and biases b[K]."""
    weight_scale = weight_scales(w, b, input_scale)
    if output_scale is None:
        weight_scale = np.full_like(weight_scale, weight_scale.max())
    per_channel = weight_scale.reshape(-1, *[1] * (w.ndim - 1))  # beside w[K,...]
    multiplier, shift = None, None
    if output_scale is not None:
        multiplier, shift = fixed_point(input_scale * weight_scale / output_scale)
    integer_weights = to_int8(w, per_channel)
    bias = in_steps(b, input_scale * weight_scale).astype(np.int32)
    for array in (integer_weights, bias, weight_scale, multiplier):
        if array is not None:
            array.flags.writeable = False
    return IntegerLayer(
        name, integer_weights, bias, multiplier, shift, input_scale, weight_scale, output_scale
    )
