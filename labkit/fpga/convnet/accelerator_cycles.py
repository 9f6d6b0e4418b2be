"""Clock cycles of the accelerator by formula: of each layer and of the stream.

    layer_cycles(Folding(conv2=2))["conv2"]      # of one image, by the knob alone
    bound(Folding(), images=16)                  # which of them a job occupies longest

All layers work at the same time, so that further images cost what the slowest of the layers and
the stream needs; accelerator_timeline.py of lesson folding_under_a_budget has whole jobs.
"""

from math import prod

from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_words import BYTES, CONV2_CHANNEL_LANES
from labkit.fpga.cycle_formulas import conv_image_cycles

PADDED = 4  # bytes of a pixel of the image, and of a tap of conv1: 3 int8 and padding
OUTPUTS = 10  # of fc2
QUEUES = {"ROW_QUEUE": 16, "VALUE_QUEUE": 512}  # pixels before conv2, values before fc1


def layer_cycles(folding: Folding, shapes: Shapes | None = None) -> dict[str, int]:
    """Cycles of one image in each layer that never waits.

    conv1   (H + 1) (W + 1) positions; a window of the H W takes a cycle for each group of output
            channels, K / conv1 of them, and the H + W + 1 others one cycle
    conv2   the same for the pooled image, and for each of the C / 8 groups of input channels
    fc1     each input takes a cycle for each group of outputs, K / fc1; with streamed weights K / 8
            whatever the knob, for a beat brings eight. The last input takes K cycles, because
            the finished sums go on one by one
    fc2     a beat of eight weights per cycle
    """
    shapes = shapes or Shapes()
    side, half = shapes.side, shapes.side // 2
    inputs = shapes.weights["fc1"][1]
    per_input = cycles_per_value(folding, shapes)
    return {
        "conv1": conv_image_cycles(3, shapes.conv1, side, side, 3, folding.conv1),
        "conv2": conv_image_cycles(
            shapes.conv1, shapes.conv2, half, half, CONV2_CHANNEL_LANES, folding.conv2
        ),
        "fc1": (inputs - 1) * per_input + shapes.fc1,
        "fc2": section_beats(folding, shapes)["fc2 weights"],
    }


def section_beats(
    folding: Folding, shapes: Shapes | None = None, images: int = 1
) -> dict[str, int]:
    """Beats of each section of a job's stream: 8 B each; one for each channel of parameters.

    The image comes once for each image; fc1's and fc2's weights do, too, unless they are resident.
    All else comes once.
    """
    shapes = shapes or Shapes()
    sizes = {name: prod(shape) for name, shape in shapes.weights.items()}
    weights_come = 1 if folding.resident else images
    return {
        "header": 2,
        "conv1 parameters": shapes.conv1,
        "conv1 weights": sizes["conv1"] // 3 * PADDED // BYTES,
        "image": images * (shapes.side**2 * PADDED // BYTES),
        "conv2 parameters": shapes.conv2,
        "conv2 weights": sizes["conv2"] // BYTES,
        "fc1 parameters": shapes.fc1,
        "fc2 biases": OUTPUTS,
        "fc1 weights": weights_come * sizes["fc1"] // BYTES,
        "fc2 weights": weights_come * sizes["fc2"] // BYTES,
    }


def stream_beats(folding: Folding, images: int = 1, shapes: Shapes | None = None) -> int:
    """Beats of a whole job, as the register BEATS_IN counts them."""
    return sum(section_beats(folding, shapes, images).values())


def station_cycles(
    folding: Folding, images: int = 1, shapes: Shapes | None = None
) -> dict[str, int]:
    """Cycles for which the stream and each layer are occupied by a job.

    A beat of the stream takes a cycle. Conv1's weights take two, for a tap goes in at a time; and
    while streamed weights wait for fc1's last sums, the stream waits too.
    """
    layers = layer_cycles(folding, shapes)
    sections = section_beats(folding, shapes)
    stream = stream_beats(folding, images, shapes) + sections["conv1 weights"]
    if not folding.resident:
        stream += images * (layers["fc1"] - sections["fc1 weights"])
    return {"stream": stream} | {name: images * cycles for name, cycles in layers.items()}


def bound(folding: Folding, images: int = 1, shapes: Shapes | None = None) -> str:
    """Which station a job occupies longest: "stream", "conv1", "conv2" or "fc1"."""
    stations = station_cycles(folding, images, shapes)
    return max(stations, key=stations.get)


def cycles_per_value(folding: Folding, shapes: Shapes) -> int:
    """Cycles for which fc1 holds an input: one for each word of its weights."""
    return shapes.fc1 // (folding.fc1 if folding.resident else BYTES)
