"""gpu.conv2d_direct: x[N,C,H,W], w[K,C,R,S], b[K], stride, padding -> y (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES, misconceptions, output_size
from labkit.checks.exercise import Case, Exercise
from labkit.provenance import Quantity, counted


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, x, w, _, stride, padding in CONVOLUTIONS:
        arrays = tuple(rng.normal(size=shape) for shape in (x, w, w[0]))
        yield Case(name, (*arrays, stride, padding))


def conv2d_direct(x, w, b, stride=1, padding=0):
    """The loops themselves. The lesson times them, so the fast reference must not stand in."""
    frame = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    return _loops(np.pad(x, frame), x.shape, w, b, stride, padding)


def _loops(image, x_shape, w, b, stride, padding):
    """The windows are cut out of `image`: x in its frame, or wrongly x itself."""
    (K, _, R, S), (P, Q) = w.shape, output_size(x_shape, *w.shape[2:], stride, padding)
    y = np.zeros((len(image), K, P, Q), dtype=image.dtype)
    for n, k, p, q in np.ndindex(y.shape):
        window = image[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        y[n, k, p, q] = np.sum(window * w[k]) + b[k]  # [C,R,S] * [C,R,S]
    return y


def kernel_flipped(x, w, b, stride=1, padding=0):
    """The kernel is flipped: that is a convolution as mathematics defines it. Deep learning reads
    the kernel as it stands, a cross-correlation."""
    return reference.conv2d(x, w[:, :, ::-1, ::-1], b, stride, padding)


def taps_swapped(x, w, b, stride=1, padding=0):
    """The taps r and s are swapped: r runs along the rows of the image."""
    square = w.shape[2] == w.shape[3]
    return reference.conv2d(x, w.swapaxes(2, 3) if square else w, b, stride, padding)


def stride_on_size_only(x, w, b, stride=1, padding=0):
    """The windows move by one pixel. They must move by `stride` pixels in both directions."""
    P, Q = output_size(x.shape, *w.shape[2:], stride, padding)
    return reference.conv2d(x, w, b, 1, padding)[:, :, :P, :Q]


def no_bias(x, w, b, stride=1, padding=0):
    """The bias b[k] is missing."""
    return reference.conv2d(x, w, None, stride, padding)


def unpadded(x, w, b, stride=1, padding=0):
    """The window leaves the image. Cut it out of `padded`, from row p * stride on: the frame of
    zeros has already moved everything by the padding."""
    return _loops(x, x.shape, w, b, stride, padding)  # raises where a window leaves the image


def first_channel(x, w, b, stride=1, padding=0):
    """Only channel 0 is read. The sum runs over all C channels."""
    return reference.conv2d(x[:, :1], w[:, :1], b, stride, padding)


def bias_per_tap(x, w, b, stride=1, padding=0):
    """The bias is added once per tap. It is added once per output cell."""
    return reference.conv2d(x, w, b * w[0].size, stride, padding)


def window_summed_first(x, w, b, stride=1, padding=0):
    """The window is summed before it is multiplied. Multiply each cell by its own weight first."""
    mean = np.broadcast_to(w.mean(axis=(1, 2, 3), keepdims=True), w.shape)
    return reference.conv2d(x, mean, b, stride, padding)


def cost() -> list[tuple[str, Quantity]]:
    macs = 32 * 32 * 32 * 3 * 3 * 3
    by = "K P Q times C R S"
    return [("first convolution of the network, one image", counted(macs, "multiply-adds", by))]


WRONG = [kernel_flipped, taps_swapped, stride_on_size_only, no_bias, unpadded]
WRONG += [first_channel, bias_per_tap, window_summed_first]

EXERCISES = [
    Exercise(
        id="gpu.conv2d_direct",
        oracle=reference.conv2d,
        fallback=conv2d_direct,
        cases=cases,
        outputs=("y",),
        hints=(
            "For output cell (p, q), the window starts at row p * stride of the padded image, not "
            "at row p.",
            "The window of image n is padded[n, :, top:top + R, left:left + S], of shape "
            "[C, R, S]: the shape of w[k].",
            "Multiply the window by w[k], sum everything, add b[k].",
        ),
        misconceptions=misconceptions(*WRONG),
        forbidden=(*LIBRARIES, "numpy.convolve", "numpy.correlate"),
        cost=cost,
    )
]
