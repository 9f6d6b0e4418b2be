"""Clock cycles of the course's RTL by formula, and how many multipliers it has.

Each formula counts from the first word that a module takes to the last one that it hands over,
both cycles included, when neither side ever waits. Lesson a_convolution_as_a_stream derives them.
The letters are those of `labkit/reference.py`: x[C,H,W], w[K,C,3,3], y[K,H,W]; w[K,D].

Every module is a pipeline: a word per cycle, and a latency that is paid once. So

    cycles = words that go in + latency

where the latency is the number of registers on the way.

Dense: each function is one formula, with a size for each of its arguments.
"""

from math import ceil, log2

REQUANTIZE_LATENCY = 8  # fetch, bias, two products, their sum, half, two shifts, clamp
SKID_BUFFERS = 2  # of `conv_layer`: before `requantize` and behind it
FILTER_LATENCY = 8  # product, four levels of the tree, half, shift, clamp


def tree_levels(products: int) -> int:
    """Levels of a tree of adders over that many products: each level halves them."""
    return ceil(log2(products))


def stage_cycles(words: int) -> int:
    """`stream_register`, `skid_buffer`, `stream_fifo`: a word per cycle and one register."""
    return words + 1


def mac_cycles(terms: int) -> int:
    """`mac`: a term per cycle; registers for the product and the sum."""
    return terms + 2


def mac_array_cycles(words: int, products: int) -> int:
    """`mac_array`: `words` words of `products` terms: operands, product, tree and sum."""
    return words + 2 + tree_levels(products) + 1


def array_multipliers(lanes: int, products: int) -> int:
    """Multipliers of `mac_array` and `fully_connected`: one for each product of a cycle."""
    return lanes * products


def conv_fold(C: int, K: int, channel_lanes: int, lanes: int) -> int:
    """FOLD: cycles for which `conv3x3` holds a window: groups of K times groups of C."""
    return (K // lanes) * (C // channel_lanes)


def conv_multipliers(channel_lanes: int, lanes: int) -> int:
    """Multipliers of `conv3x3`: nine taps, for each lane of C and each lane of K."""
    return 9 * channel_lanes * lanes


def conv_load_cycles(C: int, K: int, channel_lanes: int) -> int:
    """Weights of `conv3x3`: 9 * C * K int8, `channel_lanes` of them per cycle."""
    return 9 * K * (C // channel_lanes)


def conv_image_cycles(C: int, K: int, H: int, W: int, channel_lanes: int, lanes: int) -> int:
    """One image in `conv3x3`: H * W * FOLD + H + W + 1.

    The image with its border has (H + 1) * (W + 1) positions. At H * W of them a window is
    complete, and stays for FOLD cycles. The others, row 0 and column 0, cost a cycle each.
    """
    windows = H * W
    without_window = (H + 1) * (W + 1) - windows
    return windows * conv_fold(C, K, channel_lanes, lanes) + without_window


def conv_cycles(
    C: int, K: int, H: int, W: int, channel_lanes: int, lanes: int, images: int = 1
) -> int:
    """`conv3x3`, weights and images: loading, then the images, then once the registers.

    Those are the window, the operands twice, the product, the tree and the sum.
    """
    latency = 5 + tree_levels(9 * channel_lanes)
    stream = images * conv_image_cycles(C, K, H, W, channel_lanes, lanes)
    return conv_load_cycles(C, K, channel_lanes) + stream + latency


def conv_layer_cycles(
    C: int, K: int, H: int, W: int, channel_lanes: int, lanes: int, images: int = 1
) -> int:
    """`conv_layer`: that of `conv3x3`, and the registers of `requantize` and of skid buffers."""
    behind = REQUANTIZE_LATENCY + SKID_BUFFERS
    return conv_cycles(C, K, H, W, channel_lanes, lanes, images) + behind


def requantize_cycles(channels: int, words: int) -> int:
    """`requantize`: a word of parameters for each channel, then a word per cycle."""
    return channels + words + REQUANTIZE_LATENCY


def linear_cycles(D: int, K: int, products: int, lanes: int, images: int = 1) -> int:
    """`fully_connected`: lanes * products weights per cycle; operands, product, tree, sum."""
    words = D * K // (products * lanes)
    return images * words + 2 + tree_levels(products) + 1


def maxpool_cycles(H: int, W: int, groups: int, images: int = 1) -> int:
    """`maxpool2x2`: `groups` words for each of H * W pixels; two registers."""
    return images * H * W * groups + 2


def gather_cycles(words: int) -> int:
    """`gather`: a word per cycle; one register."""
    return words + 1


def window_cycles(H: int, W: int, images: int = 1) -> int:
    """`window_3x3`: a position per cycle, the border's included; one register."""
    return images * (H + 1) * (W + 1) + 1


def filter_cycles(H: int, W: int, frames: int = 1) -> int:
    """`filter_3x3`: that of `window_3x3`, and the registers of `filter_window`."""
    return window_cycles(H, W, frames) + FILTER_LATENCY
