"""The language model that a request names, or one from your own sizes.

lookup("llama31_8b")
own_model(layers=24, width=2048)
model_of(parameters=7e9)                # in an assumed shape
"""

import math
from dataclasses import replace

from labkit.distributed.chooser.workload import above_zero
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.errors import whole

HEAD_WIDTH = 128
SMALLEST = 2e7  # below, the vocabulary has more parameters than the layers


def lookup(model: LanguageModel | str) -> LanguageModel:
    """The model itself, or that of the table with this key."""
    return model if isinstance(model, LanguageModel) else language_model(model)


def longest(model: LanguageModel) -> float:
    """Tokens of a sequence that the model can have; infinite where nobody says."""
    return model.position_rows or model.longest or math.inf


def context_of(model: LanguageModel, context: object) -> int:
    """The tokens of a sequence, if this model can have so many; else ValueError."""
    whole("context", context)
    if context > longest(model):
        raise ValueError(
            f"{model.name} has {longest(model):,} positions, and the context is {context:,}: give "
            "at most so many, or another model."
        )
    return context


def own_model(
    layers: int,
    width: int,
    heads: int | None = None,
    kv_heads: int | None = None,
    mlp_width: int | None = None,
    vocabulary: int = 32_000,
    gated: bool = False,
) -> LanguageModel:
    """A model from your own sizes. What is left out is as usual: heads of 128 numbers that share
    nothing, and an MLP of 4 x width. ValueError where sizes do not fit each other.
    """
    whole("layers", layers)
    whole("width", width)
    if heads is None:
        heads = max(width // HEAD_WIDTH, 1)
    whole("heads", heads)
    if width % heads:
        raise ValueError(
            f"A width of {width} does not divide into {heads} heads. Give other heads."
        )
    model = LanguageModel(
        key="own",
        name="your model",
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=heads if kv_heads is None else whole("kv_heads", kv_heads),
        head_width=width // heads,
        mlp_width=4 * width if mlp_width is None else mlp_width,
        gated=gated,
        vocabulary=vocabulary,
        tied=False,
        source="your own sizes",
    )
    return replace(model, name=f"your model of {_size(model.parameters)} weights")


def model_of(parameters: float) -> LanguageModel:
    """A model of about so many parameters, in an assumed shape: a width of 128 x layers.

    Raises ValueError where no shape can be told.
    """
    above_zero("parameters", parameters)
    if not SMALLEST <= parameters <= 1e13:
        raise ValueError(
            "From the parameters alone a shape can be told for 2e7 to 1e13 of them, not for "
            f"{parameters:g}: give layers and width."
        )
    most = 2 + int((parameters / (12 * HEAD_WIDTH**2)) ** (1 / 3))  # 12 x layers x width^2
    candidates = [own_model(layers, HEAD_WIDTH * layers) for layers in range(2, most + 1)]
    near = min(candidates, key=lambda model: abs(model.parameters - parameters))
    shape = f"{near.layers} layers x {near.width:,}"
    nearest = f"{shape}, the assumed shape nearest to {_size(parameters)}"
    return replace(near, name=f"a model of {_size(near.parameters)} parameters ({nearest})")


def _size(parameters: float) -> str:
    """ "6.74 billion", or "17.5 million"."""
    if parameters >= 1e9:
        return f"{parameters / 1e9:.3g} billion"
    return f"{parameters / 1e6:.3g} million"
