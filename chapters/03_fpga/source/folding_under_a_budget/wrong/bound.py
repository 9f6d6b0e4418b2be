"""Wrong ideas of `fpga.bound`: layers' work and multipliers, bytes, where weights are, width.

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable
from functools import wraps
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


def with_results(results: Callable) -> Callable:
    """results(times, stream): of the cycles of each layer [L], and those of the stream."""

    @wraps(results)
    def idea(work, multipliers, image_bytes, weight_bytes, resident, width):
        stream = beats(streamed(image_bytes, weight_bytes, resident), width)
        return results(work / multipliers, stream)

    return idea


def with_layers(layers: Callable) -> Callable:
    """layers(work, multipliers) stands for the cycles of the slowest layer."""

    @wraps(layers)
    def idea(work, multipliers, image_bytes, weight_bytes, resident, width):
        stream = beats(streamed(image_bytes, weight_bytes, resident), width)
        return larger(layers(work, multipliers), stream)

    return idea


def with_stream(stream: Callable) -> Callable:
    """stream(image_bytes, weight_bytes, resident, width) stands for the cycles of the stream."""

    @wraps(stream)
    def idea(work, multipliers, *stream_of):
        return larger(max(work / multipliers), stream(*stream_of))

    return idea


@with_layers
def one_after_the_other(work, multipliers):
    """The layers take turns."""
    return sum(work / multipliers)


@with_results
def stream_then_layers(times, stream):
    """The layers begin when the stream has ended."""
    return max(times) + stream, stream > max(times)


@with_results
def any_layer(times, stream):
    """The stream is compared with each layer, and one slower than it is not enough."""
    return max(*times, stream), any(stream > times)


@with_layers
def average_layer(work, multipliers):
    """The mean of the layers' cycles."""
    return sum(work / multipliers) / len(work)


def some_layers(chosen: slice) -> Callable:
    """Only some of the layers are looked at."""
    return with_layers(lambda work, multipliers: max(work[chosen] / multipliers[chosen]))


@with_stream
def bits_for_bytes(image_bytes, weight_bytes, resident, width):
    """Eight beats for one."""
    return beats(8 * streamed(image_bytes, weight_bytes, resident), width)


@with_results
def smaller_of_both(times, stream):
    """The faster of the two."""
    return min(max(times), stream), stream > max(times)


@with_stream
def always_streamed(image_bytes, weight_bytes, resident, width):
    """The weights come for each image, even if they are resident."""
    return beats(image_bytes + weight_bytes, width)


def layers_alone(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The stream takes no time."""
    return max(work / multipliers), False


@with_stream
def no_image(image_bytes, weight_bytes, resident, width):
    """With resident weights nothing comes, not even the image."""
    return 0 if resident else beats(image_bytes + weight_bytes, width)


@with_stream
def weights_alone(image_bytes, weight_bytes, resident, width):
    """Without resident weights, the image does not count."""
    return beats(image_bytes if resident else weight_bytes, width)


@with_stream
def bytes_are_cycles(image_bytes, weight_bytes, resident, width):
    """A byte per cycle."""
    return streamed(image_bytes, weight_bytes, resident)


@with_layers
def most_work(work, multipliers):
    """The layer with the most multiply-adds, whatever its multipliers."""
    most = work.argmax()
    return work[most] / multipliers[most]


@with_layers
def fastest_layer(work, multipliers):
    """The least of the layers."""
    return min(work / multipliers)


@with_layers
def all_multipliers(work, multipliers):
    """As if each multiplier could work for any layer."""
    return sum(work) / sum(multipliers)


@with_stream
def beat_dropped(image_bytes, weight_bytes, resident, width):
    """The last, partly filled beat is left out."""
    return streamed(image_bytes, weight_bytes, resident) // width


@with_stream
def one_beat_more(image_bytes, weight_bytes, resident, width):
    """A beat follows the full ones, even if it would be empty."""
    return streamed(image_bytes, weight_bytes, resident) // width + 1


@with_stream
def nearest_beat(image_bytes, weight_bytes, resident, width):
    """The last beat counts if it is more than half full."""
    return round(streamed(image_bytes, weight_bytes, resident) / width)


@with_stream
def part_of_a_cycle(image_bytes, weight_bytes, resident, width):
    """A partly filled beat takes a part of a cycle."""
    return streamed(image_bytes, weight_bytes, resident) / width


@with_stream
def rounded_apart(image_bytes, weight_bytes, resident, width):
    """The weights begin a beat of their own."""
    weights = 0 if resident else beats(weight_bytes, width)
    return beats(image_bytes, width) + weights


@with_stream
def parts_dropped(image_bytes, weight_bytes, resident, width):
    """Partly filled beats are left out, of pixels and of weights."""
    weights = 0 if resident else weight_bytes // width
    return image_bytes // width + weights


@with_layers
def upside_down(work, multipliers):
    """Multipliers divided by work."""
    return max(multipliers / work)


@with_stream
def side_by_side(image_bytes, weight_bytes, resident, width):
    """Pixels and weights come at the same time."""
    weights = 0 if resident else beats(weight_bytes, width)
    return max(beats(image_bytes, width), weights)


@with_stream
def never_streamed(image_bytes, weight_bytes, resident, width):
    """The weights are always resident."""
    return beats(image_bytes, width)


@with_results
def against_sum(times, stream):
    """The right cycles, and a stream that is compared with all layers together."""
    return max(*times, stream), stream > sum(times)


@with_results
def layer_binds(times, stream):
    """The second result the other way round."""
    return max(max(times), stream), max(times) > stream


@with_results
def tie_binds(times, stream):
    """A stream that is as slow as the slowest layer binds, too."""
    return max(max(times), stream), stream >= max(times)
