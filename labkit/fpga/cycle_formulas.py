"""Clock cycles of the course's RTL by formula, and how many multipliers it has.

Each formula counts from the first word that a module takes to the last one that it hands over,
both cycles included, when neither side ever waits. Lesson a_convolution_as_a_stream derives them;
tests/fpga/circuits/cycles.py has those of the other modules.
The letters are those of `labkit/reference.py`: x[C,H,W], w[K,C,3,3], y[K,H,W]; w[K,D].

Every module is a pipeline: a word per cycle, and a latency that is paid once. So

    cycles = words that go in + latency

where the latency is the number of registers on the way.

Dense: each function is one formula, with a size for each of its arguments.
"""

from math import ceil, log2

REQUANTIZE_LATENCY = 8  # fetch, bias, two products, their sum, half, two shifts, clamp
SKID_BUFFERS = 2  # of `conv_layer`: before `requantize` and behind it


def tree_levels(products: int) -> int:
    """Levels of a tree of adders over that many products: each level halves them."""
    return ceil(log2(products))


def array_multipliers(lanes: int, products: int) -> int:
    """Multipliers of `mac_array` and `fully_connected`: one for each product of a cycle."""
    return lanes * products


def conv_fold(C: int, K: int, channel_lanes: int, lanes: int) -> int:
    """FOLD: cycles for which `conv3x3` holds a window: groups of K times groups of C."""
    return (K // lanes) * (C // channel_lanes)


def conv_multipliers(channel_lanes: int, lanes: int) -> int:
    """Multipliers of `conv3x3`: nine taps, for each lane of C and each lane of K."""
    return 9 * channel_lanes * lanes


def conv_image_cycles(C: int, K: int, H: int, W: int, channel_lanes: int, lanes: int) -> int:
    """One image in `conv3x3`: H * W * FOLD + H + W + 1.

    The image with its border has (H + 1) * (W + 1) positions. At H * W of them a window is
    complete, and stays for FOLD cycles. The others, row 0 and column 0, cost a cycle each.
    """
    windows = H * W
    without_window = (H + 1) * (W + 1) - windows
    return windows * conv_fold(C, K, channel_lanes, lanes) + without_window


def window_cycles(H: int, W: int, images: int = 1) -> int:
    """`window_3x3`: a position per cycle, the border's included; one register."""
    return images * (H + 1) * (W + 1) + 1
