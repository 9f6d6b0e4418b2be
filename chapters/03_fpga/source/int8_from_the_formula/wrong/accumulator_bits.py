"""Wrong ideas of `fpga.accumulator_bits`: w [K, D], b [K], inputs from low to high -> bits.

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits


def products(w, low, high):
    """The smallest and the largest of each product."""
    return np.minimum(w * low, w * high), np.maximum(w * low, w * high)


def ends(w, b, low, high):
    """The smallest and the largest sum of each channel, bias included."""
    smallest, largest = products(w, low, high)
    return b + smallest.sum(axis=1), b + largest.sum(axis=1)


def bits_for(smallest, largest):
    """The width for all channels."""
    return signed_bits(int(np.min(smallest)), int(np.max(largest)))


def from_ends(bits: Callable) -> Callable:
    """bits(smallest, largest): of the ends of each channel's sums [K]."""
    return wraps(bits)(lambda *given: bits(*ends(*given)))


def no_bias(w, b, low, high):
    """The sum of the products alone."""
    return bits_for(*ends(w, 0, low, high))


def any_weights(w, b, low, high):
    """Each weight could be -128 or 127."""
    largest = w.shape[1] * 128 * max(-low, high)
    return signed_bits(-largest, largest)


def last_channel(w, b, low, high):
    """The last channel alone."""
    return bits_for(*ends(w[-1:], b[-1:], low, high))


@from_ends
def narrowest_channel(smallest, largest):
    """The least of the channels' widths."""
    return min(map(bits_for, smallest, largest))


def ends_mixed(w, b, low, high):
    """The sums of one channel with the bias of another."""
    smallest, largest = ends(w, 0, low, high)
    return bits_for(smallest.min() + b.min(), largest.max() + b.max())


@from_ends
def by_logarithm(smallest, largest):
    """The logarithm of the largest magnitude, rounded up, and a sign."""
    reach = np.abs([smallest, largest]).max()
    return int(np.ceil(np.log2(reach))) + 1


@from_ends
def way_between(smallest, largest):
    """The bits of the way from the smallest to the largest sum."""
    return int(largest.max() - smallest.min()).bit_length()


def high_alone(w, b, low, high):
    """Each input is as large as it can be."""
    total = b + w.sum(axis=1) * high
    return bits_for(total, total)


def all_at_one_end(w, b, low, high):
    """All inputs are low, or all are high."""
    total = w.sum(axis=1)
    return bits_for(
        b + np.minimum(total * low, total * high), b + np.maximum(total * low, total * high)
    )


@from_ends
def largest_alone(smallest, largest):
    """Only the largest sum is held."""
    return bits_for(largest.max(), largest)


@from_ends
def smallest_alone(smallest, largest):
    """Only the smallest sum is held."""
    return bits_for(smallest, smallest.min())


@from_ends
def first_channel(smallest, largest):
    """Channel 0 speaks for all."""
    return bits_for(smallest[0], largest[0])


@from_ends
def smallest_channel(smallest, largest):
    """The width that serves the channel with the smallest sums."""
    return bits_for(smallest.max(), largest.min())


@from_ends
def all_channels(smallest, largest):
    """The sums of all channels are added."""
    return bits_for(smallest.sum(), largest.sum())


def one_product(w, b, low, high):
    """The largest single product with its bias."""
    smallest, largest = products(w, low, high)
    return bits_for(b + smallest.min(axis=1), b + largest.max(axis=1))


def bias_at(bias_of_smallest, bias_of_largest):
    """The idea that the bias is something else for one of the ends: a function of b."""

    def idea(w, b, low, high):
        smallest, largest = ends(w, 0, low, high)
        return bits_for(smallest + bias_of_smallest(b), largest + bias_of_largest(b))

    return idea


def symmetric_inputs(w, b, low, high):
    """Each product goes as far to either side, but the bias keeps its sign."""
    reach = np.abs(w).sum(axis=1) * max(-low, high)
    return bits_for(b - reach, b + reach)


def all_one_sign(w, b, low, high):
    """As if all weights were positive."""
    total = w.sum(axis=1)
    return bits_for(b + total * low, b + total * high)


@from_ends
def room_for_way(smallest, largest):
    """A signed number that holds the way from the smallest to the largest sum."""
    return signed_bits(0, int((largest - smallest).max()))


@from_ends
def largest_plus_1(smallest, largest):
    """The logarithm of the largest magnitude and 1, rounded up, and a sign."""
    reach = np.abs([smallest, largest]).max()
    return int(np.ceil(np.log2(reach + 1))) + 1


def along_inputs(w, b, low, high):
    """The products of an input are added up, over all channels."""
    smallest, largest = products(w, low, high)
    return bits_for(smallest.sum(axis=0).min() + b.min(), largest.sum(axis=0).max() + b.max())


def worst_of_all(w, b, low, high):
    """As many of the largest product as there are inputs, and the largest bias."""
    worst = np.abs(products(w, low, high)).max() * w.shape[1] + np.abs(b).max()
    return signed_bits(-int(worst), int(worst))


def widths_added(w, b, low, high):
    """8 bits of a weight, those of an input, and the logarithm of how many there are."""
    return 8 + signed_bits(low, high) + int(np.ceil(np.log2(w.shape[1])))


@from_ends
def no_sign(smallest, largest):
    """The sign needs no bit."""
    return bits_for(smallest, largest) - 1


@from_ends
def one_bit_more(smallest, largest):
    """The sign needs a further bit."""
    return bits_for(smallest, largest) + 1


def magnitudes(w, b, low, high):
    """Every product reaches its largest magnitude with either sign."""
    reach = np.abs(b) + np.abs(w).sum(axis=1) * max(-low, high)
    return bits_for(-reach, reach)


def positive_weights(w, b, low, high):
    """The largest sum has the positive weights alone at high, the smallest the negative ones."""
    largest = b + np.maximum(w, 0).sum(axis=1) * high
    smallest = b + np.minimum(w, 0).sum(axis=1) * high
    return bits_for(smallest, largest)
