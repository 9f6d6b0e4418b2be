"""Wrong ideas of `fpga.quantize_weights`: w [K, D] -> q [K, D], scale [K].

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable

import numpy as np


def peaks(w):
    """The largest magnitude of each channel."""
    return np.abs(w).max(axis=1)


def nearest(x):
    """The nearest integers, a half upwards; what no byte holds wraps round in it."""
    return np.floor(x + 0.5).astype(np.int64).astype(np.int8)


def rounded_by(rounding: Callable) -> Callable:
    """The idea that steps become integers by `rounding`."""

    def idea(w):
        scale = peaks(w) / 127
        return rounding(w / scale[:, None]).astype(np.int8), scale

    return idea


def steps_of(count: int) -> Callable:
    """The idea that the largest weight has `count` steps."""

    def idea(w):
        scale = peaks(w) / count
        return nearest(w / scale[:, None]), scale

    return idea


def one_scale(w):
    """One scale serves all channels."""
    scale = np.full(len(w), np.abs(w).max() / 127)
    return nearest(w / scale[:, None]), scale


def each_input(w):
    """A scale for each column."""
    scale = np.abs(w).max(axis=0) / 127
    return nearest(w / scale), scale


def sign_kept(w):
    """The largest weight is looked for, not the largest magnitude."""
    scale = w.max(axis=1) / 127
    with np.errstate(all="ignore"):
        return nearest(w / scale[:, None]), scale


def smallest(w):
    """The smallest magnitude sets the scale."""
    scale = np.abs(w).min(axis=1) / 127
    return nearest(w / scale[:, None]), scale


def from_end_to_end(w):
    """The scale divides the way from the smallest to the largest weight into 255 steps."""
    scale = (w.max(axis=1) - w.min(axis=1)) / 255
    with np.errstate(all="ignore"):
        return nearest(w / scale[:, None]), scale


def limited(steps: float) -> Callable:
    """The largest magnitude takes so many steps, and what does not fit is limited."""

    def idea(w):
        scale = np.abs(w).max(axis=1) / steps
        q = np.floor(w / scale[:, None] + 0.5)
        return np.clip(q, -128, 127).astype(np.int8), scale

    return idea


def average(w):
    """The scale from the mean magnitude of a row."""
    scale = np.abs(w).mean(axis=1) / 127
    q = np.floor(w / scale[:, None] + 0.5)
    return np.clip(q, -128, 127).astype(np.int8), scale


def first_row(w):
    """The scale of channel 0 for all."""
    scale = np.full(len(w), np.abs(w[0]).max() / 127)
    q = np.floor(w / scale[:, None] + 0.5)
    return np.clip(q, -128, 127).astype(np.int8), scale


def no_column(w):
    """The scales lie along the columns, so that most shapes do not fit."""
    scale = peaks(w) / 127
    return nearest(w / scale), scale


def abs_outside(w):
    """The magnitude of the largest weight."""
    scale = np.abs(w.max(axis=1)) / 127
    return nearest(w / scale[:, None]), scale


def root(w):
    """The scale from the root of the mean square of a row."""
    scale = np.sqrt((w**2).mean(axis=1)) / 127
    return nearest(w / scale[:, None]), scale


def inverse_scale(w):
    """The scale says how many steps there are in 1."""
    scale = 127 / peaks(w)
    return nearest(w * scale[:, None]), scale


def times_scale(w):
    """The weights are multiplied by the scale."""
    scale = peaks(w) / 127
    return nearest(w * scale[:, None]), scale
