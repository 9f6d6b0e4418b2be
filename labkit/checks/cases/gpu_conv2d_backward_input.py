"""gpu.conv2d_backward_input: dy, w, x_shape, stride, padding -> dx (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES, conv2_cost, misconceptions
from labkit.checks.exercise import Case, Exercise


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, x, w, y, stride, padding in CONVOLUTIONS:
        yield Case(name, (rng.normal(size=y), rng.normal(size=w), x, stride, padding))


def input_gradient(dy, w, x_shape, stride=1, padding=0):
    x = np.zeros(x_shape)  # dx does not depend on x
    return reference.conv2d_backward(dy, x, w, stride, padding)[0]


def _scatter(dy, w, x_shape, stride, padding, corner, add=True):
    """dx tap by tap, cut out of its frame at (corner, corner). A tap adds or overwrites."""
    (N, C, H, W), (P, Q) = x_shape, dy.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(w.shape[2:]):
        part = np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
        seen = dx[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]
        seen[...] = seen + part if add else part
    return dx[:, :, corner : corner + H, corner : corner + W]


def overwrites(dy, w, x_shape, stride=1, padding=0):
    """Later taps overwrite earlier ones. A pixel that several windows saw collects a
    sum: use +=."""
    return _scatter(dy, w, x_shape, stride, padding, corner=padding, add=False)


def not_cropped(dy, w, x_shape, stride=1, padding=0):
    """The frame of padding is cut off in the wrong place: pixel (0, 0) of the image sits at
    (padding, padding)."""
    return _scatter(dy, w, x_shape, stride, padding, corner=0)


def kernel_flipped(dy, w, x_shape, stride=1, padding=0):
    """The kernel is flipped on top of the scatter. Scattering already reverses the direction."""
    return input_gradient(dy, w[:, :, ::-1, ::-1], x_shape, stride, padding)


def stride_one(dy, w, x_shape, stride=1, padding=0):
    """The stride is missing: tap (r, s) reaches every stride-th pixel."""
    return _scatter(dy, w, x_shape, 1, padding, corner=padding)


def first_output_channel(dy, w, x_shape, stride=1, padding=0):
    """Only output channel 0 sends its gradient back: sum over all K."""
    return input_gradient(dy[:, :1], w[:1], x_shape, stride, padding)


EXERCISES = [
    Exercise(
        id="gpu.conv2d_backward_input",
        oracle=input_gradient,
        cases=cases,
        outputs=("dx",),
        hints=(
            "im2col copied pixels into rows. Its gradient walks the same road backwards: it adds "
            "rows to pixels.",
            "The slice of dx is the very slice that im2col read: rows r, r + stride, ... and "
            "columns s, s + stride, ... Several taps reach the same pixel.",
            "Use +=. dcols[..., r, s] is [N, P, Q, C]; dx wants [N, C, P, Q], so the axes go "
            "0, 3, 1, 2.",
        ),
        misconceptions=misconceptions(
            overwrites, not_cropped, kernel_flipped, stride_one, first_output_channel
        ),
        forbidden=LIBRARIES,
        cost=lambda: conv2_cost("dx"),
    )
]
