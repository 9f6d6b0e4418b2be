"""Clock cycles of the course's RTL by formula, module by module; the circuits' tests count them.

Each formula counts from the first word that a module takes to the last one that it hands over,
both cycles included, when neither side ever waits. The letters are those of
`labkit/reference.py`: x[C,H,W], w[K,C,3,3], y[K,H,W]; w[K,D]. What lessons and the accelerator
compute with is in `labkit.fpga.cycle_formulas`.
"""

from labkit.fpga.cycle_formulas import (
    REQUANTIZE_LATENCY,
    SKID_BUFFERS,
    conv_image_cycles,
    tree_levels,
    window_cycles,
)

FILTER_LATENCY = 8  # product, four levels of the tree, half, shift, clamp


def stage_cycles(words: int) -> int:
    """`stream_register`, `skid_buffer`, `stream_fifo`: a word per cycle and one register."""
    return words + 1


def mac_cycles(terms: int) -> int:
    """`mac`: a term per cycle; registers for the product and the sum."""
    return terms + 2


def mac_array_cycles(words: int, products: int) -> int:
    """`mac_array`: `words` words of `products` terms: operands, product, tree and sum."""
    return words + 2 + tree_levels(products) + 1


def conv_load_cycles(C: int, K: int, channel_lanes: int) -> int:
    """Weights of `conv3x3`: 9 * C * K int8, `channel_lanes` of them per cycle."""
    return 9 * K * (C // channel_lanes)


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


def filter_cycles(H: int, W: int, frames: int = 1) -> int:
    """`filter_3x3`: that of `window_3x3`, and the registers of `filter_window`."""
    return window_cycles(H, W, frames) + FILTER_LATENCY
