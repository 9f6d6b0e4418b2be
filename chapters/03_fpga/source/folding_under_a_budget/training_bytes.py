"""Bytes that a training step keeps, against the block RAM of a Zynq.

    kept("int8")                 # weights, gradients, momentum, activations of the course's network
    sum_of(kept("int8")), on_chip()

At batch 1, with momentum and all gradients before the update, or with neither. A lesson puts a
claim on trial with it: training of large models from on-chip memory.
"""

from collections.abc import Mapping, Sequence
from math import ceil, prod

from labkit import convnet, hardware
from labkit.costs import Layer
from labkit.provenance import Quantity, counted, published

ELEMENT = {"int8": 1, "float32": 4}  # bytes of a number
RULES = "the shapes of the network, at batch 1"
RESNET50_PARAMETERS = published(
    25_557_032,
    "parameters",
    "torchvision's documentation of resnet50, "
    "https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.resnet50.html",
)


def on_chip() -> Quantity:
    """The block RAM of the XC7Z020, B."""
    return hardware.machine("pynq_z2").on_chip


def kept(
    number: str, layers: Sequence[Layer] = tuple(convnet.LAYERS), plain: bool = False
) -> dict[str, Quantity]:
    """What has to be remembered from the forward pass to the update, B.

    number       "int8" or "float32": the type of all of them
    plain        plain SGD, which applies each layer's gradient as it comes: it keeps no gradients
                 and has no momentum
    weights      weights and biases
    gradients    one for each of these; they are complete only when the backward pass is
    momentum     one for each of these, from step to step
    activations  for dW the input of each layer with weights; for the backward pass of a ReLU a bit
                 for each element, of a 2 x 2 pooling layer two bits for each maximum's place

    Raises ValueError for another type.
    """
    parameters = sum(layer.parameters for layer in layers)
    size = _element(number)
    inputs = sum(prod(layer.input_shape) for layer in layers if layer.parameters)
    bits = sum(_BITS.get(layer.kind, 0) * prod(layer.output_shape) for layer in layers)
    parts = {
        "weights": size * parameters,
        "gradients": 0 if plain else size * parameters,
        "momentum": 0 if plain else size * parameters,
        "activations": size * inputs + ceil(bits / 8),
    }
    return {name: counted(amount, "B", RULES) for name, amount in parts.items()}


def kept_of_parameters(number: str, parameters: Quantity) -> dict[str, Quantity]:
    """The same for a model of which only the number of parameters is known: no activations."""
    size = _element(number) * int(parameters)
    by = f"us, from the number of parameters (published by {parameters.source})"
    return {name: counted(size, "B", by) for name in ("weights", "gradients", "momentum")}


def sum_of(parts: Mapping[str, Quantity]) -> Quantity:
    """All parts together, B."""
    (source,) = {part.source for part in parts.values()}
    return counted(sum(int(part) for part in parts.values()), "B", source)


def times_the_chip(amount: Quantity) -> float:
    """How many times the block RAM so many bytes are: above 1, they do not fit."""
    return float(amount) / float(on_chip())


def rows() -> list[list]:
    """[what, bytes, times the block RAM]: from inference to the training of a large model."""
    ours = kept("int8")
    large = kept_of_parameters("int8", RESNET50_PARAMETERS)
    amounts = {
        "ConvNet, weights alone, int8": ours["weights"],
        "ConvNet, a step of plain SGD, int8": sum_of(kept("int8", plain=True)),
        "ConvNet, a step with momentum, int8": sum_of(ours),
        "ConvNet, a step with momentum, float32": sum_of(kept("float32")),
        "ResNet-50, weights alone, int8": large["weights"],
        "ResNet-50, with momentum, without activations, int8": sum_of(large),
    }
    return [[name, amount, times_the_chip(amount)] for name, amount in amounts.items()]


_BITS = {"relu": 1, "pool": 2}  # that the backward pass needs of each output


def _element(number: str) -> int:
    if number not in ELEMENT:
        raise ValueError(f"The types are {', '.join(ELEMENT)}, not {number!r}.")
    return ELEMENT[number]
