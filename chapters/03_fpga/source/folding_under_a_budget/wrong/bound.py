"""Wrong ideas of `fpga.bound`: layers' work and multipliers, bytes, where weights are, width.

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable
from math import ceil


def beats(streamed, width):
    """The beats that the bytes take."""
    return ceil(streamed / width)


def streamed(image_bytes, weight_bytes, resident):
    """The bytes that come for each image."""
    return image_bytes if resident else image_bytes + weight_bytes


def larger(layer, stream):
    """The cycles, and whether they are the stream's."""
    return max(layer, stream), stream > layer


def one_after_the_other(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The layers take turns."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(sum(work / multipliers), stream)


def stream_then_layers(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The layers begin when the stream has ended."""
    layer = max(work / multipliers)
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return layer + stream, stream > layer


def any_layer(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The stream is compared with each layer, and one slower than it is not enough."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return max(*work / multipliers, stream), any(stream > work / multipliers)


def average_layer(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The mean of the layers' cycles."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(sum(work / multipliers) / len(work), stream)


def some_layers(chosen: slice) -> Callable:
    """Only some of the layers are looked at."""

    def idea(work, multipliers, image_bytes, weight_bytes, resident, width):
        stream = beats(streamed(image_bytes, weight_bytes, resident), width)
        return larger(max(work[chosen] / multipliers[chosen]), stream)

    return idea


def bits_for_bytes(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Eight beats for one."""
    stream = beats(8 * streamed(image_bytes, weight_bytes, resident), width)
    return larger(max(work / multipliers), stream)


def smaller_of_both(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The faster of the two."""
    layer = max(work / multipliers)
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return min(layer, stream), stream > layer


def always_streamed(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The weights come for each image, even if they are resident."""
    return larger(max(work / multipliers), beats(image_bytes + weight_bytes, width))


def layers_alone(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The stream takes no time."""
    return max(work / multipliers), False


def no_image(work, multipliers, image_bytes, weight_bytes, resident, width):
    """With resident weights nothing comes, not even the image."""
    return larger(
        max(work / multipliers), 0 if resident else beats(image_bytes + weight_bytes, width)
    )


def weights_alone(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Without resident weights, the image does not count."""
    return larger(max(work / multipliers), beats(image_bytes if resident else weight_bytes, width))


def bytes_are_cycles(work, multipliers, image_bytes, weight_bytes, resident, width):
    """A byte per cycle."""
    return larger(max(work / multipliers), streamed(image_bytes, weight_bytes, resident))


def most_work(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The layer with the most multiply-adds, whatever its multipliers."""
    most = work.argmax()
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(work[most] / multipliers[most], stream)


def fastest_layer(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The least of the layers."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(min(work / multipliers), stream)


def all_multipliers(work, multipliers, image_bytes, weight_bytes, resident, width):
    """As if each multiplier could work for any layer."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(sum(work) / sum(multipliers), stream)


def beat_dropped(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The last, partly filled beat is left out."""
    stream = streamed(image_bytes, weight_bytes, resident) // width
    return larger(max(work / multipliers), stream)


def one_beat_more(work, multipliers, image_bytes, weight_bytes, resident, width):
    """A beat follows the full ones, even if it would be empty."""
    stream = streamed(image_bytes, weight_bytes, resident) // width + 1
    return larger(max(work / multipliers), stream)


def nearest_beat(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The last beat counts if it is more than half full."""
    stream = round(streamed(image_bytes, weight_bytes, resident) / width)
    return larger(max(work / multipliers), stream)


def part_of_a_cycle(work, multipliers, image_bytes, weight_bytes, resident, width):
    """A partly filled beat takes a part of a cycle."""
    stream = streamed(image_bytes, weight_bytes, resident) / width
    return larger(max(work / multipliers), stream)


def rounded_apart(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The weights begin a beat of their own."""
    weights = 0 if resident else beats(weight_bytes, width)
    return larger(max(work / multipliers), beats(image_bytes, width) + weights)


def parts_dropped(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Partly filled beats are left out, of pixels and of weights."""
    weights = 0 if resident else weight_bytes // width
    return larger(max(work / multipliers), image_bytes // width + weights)


def upside_down(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Multipliers divided by work."""
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return larger(max(multipliers / work), stream)


def side_by_side(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Pixels and weights come at the same time."""
    weights = 0 if resident else beats(weight_bytes, width)
    return larger(max(work / multipliers), max(beats(image_bytes, width), weights))


def never_streamed(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The weights are always resident."""
    return larger(max(work / multipliers), beats(image_bytes, width))


def against_sum(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The right cycles, and a stream that is compared with all layers together."""
    times = work / multipliers
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return max(*times, stream), stream > sum(times)


def layer_binds(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The second result the other way round."""
    layer = max(work / multipliers)
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return max(layer, stream), layer > stream


def tie_binds(work, multipliers, image_bytes, weight_bytes, resident, width):
    """A stream that is as slow as the slowest layer binds, too."""
    layer = max(work / multipliers)
    stream = beats(streamed(image_bytes, weight_bytes, resident), width)
    return max(layer, stream), stream >= layer
