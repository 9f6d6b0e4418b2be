"""Wrong ideas of `fpga.quantize_weights`: w [K, D] -> q [K, D], scale [K].

Dense: each wrong idea is one formula, to be held against the right one.
"""

from collections.abc import Callable
from functools import wraps

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


def with_scale(scale_of: Callable) -> Callable:
    """scale_of(w) stands for the scale of each channel."""

    @wraps(scale_of)
    def idea(w):
        scale = scale_of(w)
        with np.errstate(all="ignore"):
            return nearest(w / scale[:, None]), scale

    return idea


def limited_with(scale_of: Callable) -> Callable:
    """scale_of(w) stands for the scale of each channel, and what does not fit is limited."""

    @wraps(scale_of)
    def idea(w):
        scale = scale_of(w)
        q = np.floor(w / scale[:, None] + 0.5)
        return np.clip(q, -128, 127).astype(np.int8), scale

    return idea


def steps_of(count: int) -> Callable:
    """The idea that the largest weight has `count` steps."""
    return with_scale(lambda w: peaks(w) / count)


@with_scale
def one_scale(w):
    """One scale serves all channels."""
    return np.full(len(w), np.abs(w).max() / 127)


def each_input(w):
    """A scale for each column."""
    scale = np.abs(w).max(axis=0) / 127
    return nearest(w / scale), scale


@with_scale
def sign_kept(w):
    """The largest weight is looked for, not the largest magnitude."""
    return w.max(axis=1) / 127


@with_scale
def smallest(w):
    """The smallest magnitude sets the scale."""
    return np.abs(w).min(axis=1) / 127


@with_scale
def from_end_to_end(w):
    """The scale divides the way from the smallest to the largest weight into 255 steps."""
    return (w.max(axis=1) - w.min(axis=1)) / 255


def limited(steps: float) -> Callable:
    """The largest magnitude takes so many steps, and what does not fit is limited."""
    return limited_with(lambda w: np.abs(w).max(axis=1) / steps)


@limited_with
def average(w):
    """The scale from the mean magnitude of a row."""
    return np.abs(w).mean(axis=1) / 127


@limited_with
def first_row(w):
    """The scale of channel 0 for all."""
    return np.full(len(w), np.abs(w[0]).max() / 127)


def no_column(w):
    """The scales lie along the columns, so that most shapes do not fit."""
    scale = peaks(w) / 127
    return nearest(w / scale), scale


@with_scale
def abs_outside(w):
    """The magnitude of the largest weight."""
    return np.abs(w.max(axis=1)) / 127


@with_scale
def root(w):
    """The scale from the root of the mean square of a row."""
    return np.sqrt((w**2).mean(axis=1)) / 127


def inverse_scale(w):
    """The scale says how many steps there are in 1."""
    scale = 127 / peaks(w)
    return nearest(w * scale[:, None]), scale


def times_scale(w):
    """The weights are multiplied by the scale."""
    scale = peaks(w) / 127
    return nearest(w * scale[:, None]), scale
