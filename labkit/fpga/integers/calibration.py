"""Calibration: which scale turns a layer's real outputs into int8, judged by some images.

int8 has 255 steps from -127 to 127. With the scale s = peak / 127 all of them are used by numbers
up to the peak; what lies beyond is clipped to it. A low peak clips much and rounds finely, a high
one the other way round. The largest number ever seen clips nothing, but a single outlier then sets
the step for all; so the peak is a percentile of what training images give.

`PERCENTILE` was picked by accuracy on 5,000 other training images: tools/quantize_convnet.py
does it, and labkit/data/convnet.int8.log.jsonl is its log. From 99.9 upwards the candidates differ
by less than chance; 99 is clearly worse. Lesson int8_from_the_formula names it.
"""

from math import prod

import numpy as np

from labkit import convnet

PERCENTILE = 99.999
INT8_PEAK = 127  # symmetric: -128 is left out, so that -q is a number where q is
TENSORS = {  # what is requantised to int8, with the shape for one image
    "relu1": (32, 32, 32),
    "relu2": (64, 16, 16),
    "relu3": (128,),
}
BATCH = 100  # images whose activations are held at once


def peaks(
    weights: dict[str, np.ndarray], images: np.ndarray, percentile: float = PERCENTILE
) -> dict[str, float]:
    """The peak of each tensor in `TENSORS` over normalised images[N,3,32,32].

    Of all values of a tensor, `percentile` percent are at or below its peak: with 100 the peak is
    the largest value. Only what may lie above is kept, so that any number of images fits.
    """
    above = 1 - percentile / 100
    kept = {name: np.zeros(0) for name in TENSORS}
    count = {}
    for name, shape in TENSORS.items():
        values = len(images) * prod(shape)
        count[name] = int(above * values) + 1
    for start in range(0, len(images), BATCH):
        seen = convnet.activations(weights, images[start : start + BATCH])
        for name in TENSORS:
            kept[name] = _largest(
                np.append(kept[name], seen[name]),
                count[name],
            )
    return {name: float(values.min()) for name, values in kept.items()}


def scale_of(peak: float) -> float:
    """The size of one step, peak / 127; for a tensor that is 0 throughout any scale serves: 1."""
    return float(peak) / INT8_PEAK if peak > 0 else 1.0


def weight_scales(
    weights: np.ndarray,
    bias: np.ndarray,
    input_scale: float,
) -> np.ndarray:
    """The scale of each output channel's weights[K,...], max |w_k| / 127: float64[K].

    A bias is an int32 in steps of input_scale * scale. A channel whose weights are all 0, or tiny
    beside its bias, gets a larger scale, with which its bias takes at most 2^24 steps.
    """
    largest = np.abs(weights.reshape(len(weights), -1)).max(axis=1).astype(np.float64)
    for_bias = np.abs(bias).astype(np.float64) / (input_scale * 2**24)
    scales = np.maximum(largest / INT8_PEAK, for_bias)
    return np.where(scales > 0, scales, 1.0)


def in_steps(values: np.ndarray, scale: float | np.ndarray) -> np.ndarray:
    """values / scale, rounded to the nearest integer, a half upwards; still a float64."""
    return np.floor(np.asarray(values, dtype=np.float64) / scale + 0.5)


def to_int8(values: np.ndarray, scale: float | np.ndarray) -> np.ndarray:
    """values in steps of the scale, rounded and clipped to -127..127: int8."""
    return np.clip(in_steps(values, scale), -INT8_PEAK, INT8_PEAK).astype(np.int8)


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """The `count` largest of all values, in no order; all of them where there are fewer."""
    values = values.ravel()
    if len(values) <= count:
        return values
    return np.partition(values, -count)[-count:]
