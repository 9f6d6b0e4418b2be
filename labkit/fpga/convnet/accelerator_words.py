"""A network and its images as the one stream of 64-bit beats that the accelerator takes.

The order of the sections is that of `rtl/section_router.sv`; lesson the_network_as_a_pipeline walks
through them. A beat holds 8 int8, lane 0 in its lowest byte.
"""

from collections.abc import Sequence

import numpy as np

from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes, refuse_lanes
from labkit.fpga.integers.integer_layers import IntegerLayer
from labkit.fpga.integers.requantize import MAX_SHIFT, MULTIPLIER_BITS
from labkit.fpga.integers.words import conv_weight_words, linear_weight_words, parameter_words

BYTES = 8  # of a beat
WORDS_PER_IMAGE = 5  # that come out: two int32 logits in each
CONV2_CHANNEL_LANES = 8  # input channels of conv2 at a time: their weights fill a beat
FC2_LANES, FC2_PRODUCTS = 2, 4
MOST_IMAGES = 65_535  # of a job: IMAGES has 16 bits


def sections(
    layers: Sequence[IntegerLayer], folding: Folding, shapes: Shapes
) -> dict[str, np.ndarray]:
    """What a job says of its network: section -> beats (uint64). The images are not among them.

    Raises ValueError for a network of other shapes.
    """
    refuse_lanes(folding, shapes)
    conv1, conv2, fc1, fc2 = _fitting(layers, shapes)
    return {
        "header": _header(layers, folding, shapes),
        "conv1 parameters": _parameters(conv1),
        "conv1 weights": beats(_padded(conv_weight_words(conv1.weights, folding.conv1, 3))),
        "conv2 parameters": _parameters(conv2),
        "conv2 weights": beats(
            conv_weight_words(conv2.weights, folding.conv2, CONV2_CHANNEL_LANES)
        ),
        "fc1 parameters": _parameters(fc1),
        "fc2 biases": fc2.bias.astype(np.uint32).astype(np.uint64),
        "fc1 weights": beats(linear_weight_words(_in_stream_order(fc1, conv2), folding.fc1)),
        "fc2 weights": beats(linear_weight_words(fc2.weights, FC2_LANES, FC2_PRODUCTS)),
    }


def image_beats(images: np.ndarray) -> list[np.ndarray]:
    """images[N,3,H,W] int8 -> for each image H * W / 2 beats of two pixels, 4 bytes each."""
    return [beats(_padded(image.reshape(3, -1).T)) for image in images]


def job_words(
    layers: Sequence[IntegerLayer],
    images: np.ndarray,
    folding: Folding | None = None,
    shapes: Shapes | None = None,
) -> np.ndarray:
    """The whole stream of a job: beats[.] (uint64), to be sent as one packet.

    images    [N,3,H,W] int8, as `QuantizedConvNet.to_int8` gives them

    Raises ValueError for a network or images of other shapes, and for no image.
    """
    folding = folding or Folding()
    shapes = shapes or Shapes()
    images = np.asarray(images)
    wanted = (3, shapes.side, shapes.side)
    if images.dtype != np.int8 or images.ndim != 4 or images.shape[1:] != wanted or not len(images):
        raise ValueError(
            f"The accelerator takes int8 images [N, {', '.join(map(str, wanted))}], at least one; "
            f"these are {images.dtype} {list(images.shape)}."
        )
    parts = sections(layers, folding, shapes)
    pictures = image_beats(images)
    late = [parts.pop("fc1 weights"), parts.pop("fc2 weights")]
    first = [parts.pop("header"), parts.pop("conv1 parameters"), parts.pop("conv1 weights")]
    rest = list(parts.values())
    if folding.resident:
        return np.concatenate([*first, pictures[0], *rest, *late, *pictures[1:]])
    following = [*pictures[1:], np.zeros(0, np.uint64)]
    per_image = [part for picture in following for part in (picture, *late)]
    return np.concatenate([*first, pictures[0], *rest, *per_image])


def images_per_job(
    layers: Sequence[IntegerLayer], folding: Folding, shapes: Shapes, most_bytes: int
) -> int:
    """How many images a job can have whose streams are no longer than `most_bytes`.

    Raises ValueError for a network of other shapes, and where not even one image has room.
    """
    lengths = {name: len(part) for name, part in sections(layers, folding, shapes).items()}
    network = sum(lengths.values())
    picture = shapes.side**2 // 2
    again = 0 if folding.resident else lengths["fc1 weights"] + lengths["fc2 weights"]
    beats_for_images = most_bytes // BYTES - (network - again)
    images = min(MOST_IMAGES, beats_for_images // (picture + again))
    if images < 1:
        least = BYTES * (network + picture)
        raise ValueError(
            f"A job with one image has a stream of {least:,} bytes, more than the {most_bytes:,} "
            "that are allowed."
        )
    return images


def beats(words: np.ndarray) -> np.ndarray:
    """int8 words[., lanes] -> beats[.] (uint64) of 8 int8 each, in order."""
    return np.ascontiguousarray(words).astype(np.int8).reshape(-1, BYTES).view("<u8").ravel()


def logits(words: np.ndarray) -> np.ndarray:
    """What comes out, words[5 N] (uint64) -> int32 logits[N,10]."""
    return np.ascontiguousarray(words).view("<i4").reshape(-1, 10)


def _fitting(layers: Sequence[IntegerLayer], shapes: Shapes) -> Sequence[IntegerLayer]:
    if len(layers) != len(shapes.weights):
        raise ValueError(f"The accelerator has {len(shapes.weights)} layers, not {len(layers)}.")
    for layer, (name, shape) in zip(layers, shapes.weights.items(), strict=True):
        if layer.weights.shape != shape:
            raise ValueError(
                f"The accelerator's {name} has weights {list(shape)}; this network's are "
                f"{list(layer.weights.shape)}. Build an accelerator with its shapes."
            )
        _refuse_numbers(layer, name)
    return layers


def _refuse_numbers(layer: IntegerLayer, name: str) -> None:
    """Raises ValueError for numbers that would lose bits in the stream."""
    kinds = (("weights", layer.weights, np.int8), ("biases", layer.bias, np.int32))
    for what, array, kind in kinds:
        if array.dtype != kind:
            raise ValueError(f"The {what} of {name} are {kind.__name__}, not {array.dtype}.")
    if name == "fc2":
        return
    if not 1 <= layer.shift <= MAX_SHIFT:
        raise ValueError(f"The shift of {name} is from 1 to {MAX_SHIFT}, not {layer.shift}.")
    if layer.multiplier.min() < 0 or layer.multiplier.max() >= 1 << MULTIPLIER_BITS:
        raise ValueError(f"A multiplier of {name} is outside 0 to {(1 << MULTIPLIER_BITS) - 1}.")


def _header(layers: Sequence[IntegerLayer], folding: Folding, shapes: Shapes) -> np.ndarray:
    """Which network this is, then the shifts of the three layers that have one."""
    shifts = [layer.shift for layer in layers[:3]]
    second = sum(shift << 8 * place for place, shift in enumerate(shifts))
    return np.array([shapes.register << 32 | folding.register, second], np.uint64)


def _parameters(layer: IntegerLayer) -> np.ndarray:
    """A beat for each channel: bias in the low 32 bits, above it the multiplier."""
    return parameter_words(layer.bias, layer.multiplier).astype(np.uint64)


def _padded(words: np.ndarray) -> np.ndarray:
    """words[., 3] -> [., 4], the fourth byte 0."""
    return np.pad(words, ((0, 0), (0, 1)))


def _in_stream_order(fc1: IntegerLayer, conv2: IntegerLayer) -> np.ndarray:
    """fc1's weights[K, C H W] -> [K, H W C]: pool2 gives a pixel with all its channels at once."""
    K, C = len(fc1.weights), len(conv2.weights)
    return fc1.weights.reshape(K, C, -1).transpose(0, 2, 1).reshape(K, -1)
