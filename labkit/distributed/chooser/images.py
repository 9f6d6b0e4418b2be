"""What the course's ConvNet needs: one image, or a training, by the rules of `labkit.costs`.

    image("fp32")                                   # one image as soon as possible
    train_convnet("fp32", images=500_000, batch=64)

The rules count float32; another format has the same operations and fewer bytes.
"""

from math import prod

from labkit import convnet
from labkit.distributed.chooser.derivation import derive, number
from labkit.distributed.chooser.even import EvenWorkload, Pass
from labkit.distributed.chooser.formats import bytes_of, training_format
from labkit.distributed.chooser.workload import above_zero
from labkit.errors import whole

MILLION = 1_000_000
OPERATORS = frozenset({"conv", "linear", "relu", "pool"})
FLOAT = 4  # bytes, as labkit.costs counts
LEFT_OUT = (
    "Not counted: starting kernels and bringing images to the machine, which take longer than the "
    "work for one small image; and caches, which would save reading."
)
MOST = 1e16  # images
STATE = 3  # numbers for each parameter: weight, gradient, momentum


def image(number_format: str = "fp32") -> EvenWorkload:
    """One image alone through the network, forward."""
    size = bytes_of(number_format)
    flops, moved = _costs(batch=1, training=False)
    return EvenWorkload(
        task="image",
        says=f"the ConvNet in {number_format}, one image at a time",
        number_format=number_format,
        operators=OPERATORS,
        steps=derive("steps", "a million images", number(MILLION)),
        step="an image",
        paid="a million images",
        left_out=LEFT_OUT,
        unit="s",
        explained="",
        held={
            "weights": derive("B", "parameters x bytes", number(_parameters()) * size),
            "activations": derive("B", "numbers x bytes", number(_numbers()) * size),
        },
        step_pass=Pass(
            flops=derive("FLOP", "FLOPs of all layers, forward", number(flops)),
            moved=derive("B", "bytes of all layers, forward", number(moved) * size / FLOAT),
        ),
    )


def train_convnet(
    number_format: str = "fp32", images: float = 500_000, batch: int = 64
) -> EvenWorkload:
    """Training with momentum, on one machine."""
    size = training_format(number_format)
    whole("batch", batch)
    above_zero("images", images, most=MOST)
    flops, moved = _costs(batch, training=True)
    return EvenWorkload(
        task="train",
        says=f"the ConvNet in {number_format}, trained on {images:,.0f} images, {batch} in a step",
        number_format=number_format,
        operators=OPERATORS | {"backward"},
        steps=derive("steps", "images / images of a step", number(images) / batch),
        step="an update of the weights",
        paid="the training",
        left_out=LEFT_OUT,
        unit="s",
        explained="",
        held={
            "state": derive("B", "3 x parameters x bytes", number(STATE) * _parameters() * size),
            "activations": derive(
                "B", "images of a step x numbers x bytes", number(batch) * _numbers() * size
            ),
        },
        step_pass=Pass(
            flops=derive("FLOP", "FLOPs of all layers and of sgd", number(flops)),
            moved=derive("B", "bytes of all layers and of sgd", number(moved) * size / FLOAT),
        ),
    )


def _costs(batch: int, training: bool) -> tuple[int, int]:
    """FLOPs and bytes of a step, over all layers."""
    layers = convnet.layer_costs(batch, training)
    flops = sum(int(layer.flops) for layer in layers)
    moved = sum(int(layer.bytes) for layer in layers)
    return flops, moved


def _numbers() -> int:
    """The numbers of an image, and what all layers make of it."""
    outputs = sum(prod(layer.output_shape) for layer in convnet.LAYERS)
    return prod(convnet.LAYERS[0].input_shape) + outputs


def _parameters() -> int:
    """Weights and biases of the network."""
    return sum(layer.parameters for layer in convnet.LAYERS)
