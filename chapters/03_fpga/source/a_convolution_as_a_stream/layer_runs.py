"""Windows and convolution layers through the course's RTL, from images to feature maps.

Modules of the learner's own may stand in for the course's. Lesson a_convolution_as_a_stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.fpga.integers.integer_layers import IntegerLayer
from labkit.fpga.integers.words import conv_weight_words, feature_maps, parameter_words, pixel_words
from labkit.fpga.library import library
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.simulate import Simulation, simulate
from labkit.provenance import Quantity


@dataclass(frozen=True, eq=False)
class LayerRun:
    """What a layer's circuit gave for one image, y[K,H,W] int8, and in how many clock cycles."""

    y: np.ndarray
    cycles: Quantity


def windows(
    image: np.ndarray,
    own: Mapping[str, str] | None = None,
    stalls: Mapping[str, Sequence[int]] | None = None,
) -> Simulation:
    """An image[H,W] of values from -128 to 127 through `window_3x3`.

    own   module -> text, in place of the course's
    """
    image = np.asarray(image, np.int8)
    H, W = image.shape
    sizes = {"HEIGHT": H, "WIDTH": W, "PIXEL_BITS": 8}
    return simulate(
        library("window_3x3", own=own),
        "window_3x3",
        {"x": image.reshape(-1, 1)},
        parameters=sizes,
        words=image.size,
        stalls=stalls,
    )


def conv(
    layer: IntegerLayer,
    x: np.ndarray,
    own: Mapping[str, str] | None = None,
    lanes: int = 1,
    stall_share: float = 0.0,
) -> LayerRun:
    """One image x[1,C,H,W] int8 through `conv_layer` with a layer's weights.

    own          module -> text, in place of the course's
    lanes        output channels that are made at a time, each with 9 C multipliers
    stall_share  of the cycles in which each stream waits, by chance
    """
    K, C = layer.weights.shape[:2]
    H, W = x.shape[2:]
    sizes = {
        "HEIGHT": H,
        "WIDTH": W,
        "IN_CHANNELS": C,
        "OUT_CHANNELS": K,
        "CHANNEL_LANES": C,
        "LANES": lanes,
    }
    inputs = {
        "shift": layer.shift,
        "w": conv_weight_words(layer.weights, lanes, C),
        "p": parameter_words(layer.bias, layer.multiplier),
        "x": pixel_words(x),
    }
    run = simulate(
        library("conv_layer", own=own),
        "conv_layer",
        inputs,
        "verilator",  # its model of so many multipliers compiles faster
        parameters=sizes,
        words=H * W * K // lanes,
        stalls=Stalls(seed=0, share=stall_share) if stall_share else None,
        trace=False,
    )
    y = feature_maps(run.outputs["y"], K, H, W, lanes)[0]
    return LayerRun(y.astype(np.int8), run.cycles)
