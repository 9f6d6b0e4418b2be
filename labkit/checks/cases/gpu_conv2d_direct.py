"""gpu.conv2d_direct: x, w, b, stride, padding -> y[N,K,P,Q] (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.convolution_shapes import LIBRARIES, convolution_shapes
from labkit.checks.exercise import Case, Exercise, Misconception
from labkit.provenance import counted


def _direct_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, n, c, h, w, k, r, s, stride, padding, _, _ in convolution_shapes():
        arrays = rng.normal(size=(n, c, h, w)), rng.normal(size=(k, c, r, s)), rng.normal(size=k)
        yield Case(name, (*arrays, stride, padding))


def _flipped_kernel(x, w, b, stride=1, padding=0):
    return reference.conv2d(x, w[:, :, ::-1, ::-1], b, stride, padding)


def _swapped_taps(x, w, b, stride=1, padding=0):
    if w.shape[2] == w.shape[3]:
        return reference.conv2d(x, w.transpose(0, 1, 3, 2), b, stride, padding)
    return reference.conv2d(x, w, b, stride, padding)


def _stride_on_size_only(x, w, b, stride=1, padding=0):
    y = reference.conv2d(x, w, b, 1, padding)
    p, q = reference.conv2d(x, w, b, stride, padding).shape[2:]
    return y[:, :, :p, :q]


def _no_bias(x, w, b, stride=1, padding=0):
    return reference.conv2d(x, w, None, stride, padding)


def _first_channel(x, w, b, stride=1, padding=0):
    return reference.conv2d(x[:, :1], w[:, :1], b, stride, padding)


def _bias_per_tap(x, w, b, stride=1, padding=0):
    return reference.conv2d(x, w, b * w[0].size, stride, padding)


def _reads_unpadded(x, w, b, stride=1, padding=0):
    y = np.zeros(reference.conv2d(x, w, b, stride, padding).shape)
    for n, k, p, q in np.ndindex(y.shape):
        window = x[n, :, p * stride : p * stride + w.shape[2], q * stride : q * stride + w.shape[3]]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]  # raises where a window leaves the image
    return y


def _sum_times_sum(x, w, b, stride=1, padding=0):
    return reference.conv2d(
        x, np.broadcast_to(w.mean((1, 2, 3), keepdims=True), w.shape), b, stride, padding
    )


def conv2d_direct(x, w, b, stride=1, padding=0):
    """The loops themselves. The lesson times them, so the fast reference must not stand in."""
    frame = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded, (K, _, R, S) = np.pad(x, frame), w.shape
    P, Q = (padded.shape[2] - R) // stride + 1, (padded.shape[3] - S) // stride + 1
    y = np.zeros((len(x), K, P, Q), dtype=x.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]  # [C,R,S] * [C,R,S]
    return y


_DIRECT = Exercise(
    id="gpu.conv2d_direct",
    oracle=reference.conv2d,
    fallback=conv2d_direct,
    cases=_direct_cases,
    outputs=("y",),
    hints=(
        "For output cell (p, q), the window starts at row p * stride of the padded image, not at "
        "row p.",
        "The window of image n is padded[n, :, top:top + R, left:left + S], of shape [C, R, S]: "
        "the shape of w[k].",
        "Multiply the window by w[k], sum everything, add b[k].",
    ),
    misconceptions=(
        Misconception(
            "The kernel is flipped: that is a convolution as mathematics defines it. Deep "
            "learning reads the kernel as it stands, a cross-correlation.",
            _flipped_kernel,
        ),
        Misconception(
            "The taps r and s are swapped: r runs along the rows of the image.", _swapped_taps
        ),
        Misconception(
            "The windows move by one pixel. They must move by `stride` pixels in both directions.",
            _stride_on_size_only,
        ),
        Misconception("The bias b[k] is missing.", _no_bias),
        Misconception(
            "The window leaves the image. Cut it out of `padded`, from row p * stride on: the "
            "frame of zeros has already moved everything by the padding.",
            _reads_unpadded,
        ),
        Misconception("Only channel 0 is read. The sum runs over all C channels.", _first_channel),
        Misconception(
            "The bias is added once per tap. It is added once per output cell.", _bias_per_tap
        ),
        Misconception(
            "The window is summed before it is multiplied. Multiply each cell by its own weight "
            "first.",
            _sum_times_sum,
        ),
    ),
    forbidden=(*LIBRARIES, "numpy.convolve", "numpy.correlate"),
    cost=lambda: [
        (
            "first convolution of the network, one image",
            counted(32 * 32 * 32 * 3 * 3 * 3, "multiply-adds", "K P Q times C R S"),
        )
    ],
)

EXERCISES = [_DIRECT]
