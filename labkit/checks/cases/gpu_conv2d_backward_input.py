"""gpu.conv2d_backward_input: dy, w, x_shape, stride, padding -> dx (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.convolution_shapes import LIBRARIES, convolution_shapes
from labkit.checks.exercise import Case, Exercise, Misconception
from labkit.provenance import counted


def _steps(start: int, count: int, stride: int) -> slice:
    return slice(start, start + (count - 1) * stride + 1, stride)


def _input_oracle(dy, w, x_shape, stride=1, padding=0):
    return reference.conv2d_backward(dy, np.zeros(x_shape), w, stride, padding)[0]


def _input_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, n, c, h, w, k, r, s, stride, padding, p, q in convolution_shapes():
        yield Case(
            name,
            (
                rng.normal(size=(n, k, p, q)),
                rng.normal(size=(k, c, r, s)),
                (n, c, h, w),
                stride,
                padding,
            ),
        )


def _scatter(dy, w, x_shape, stride, padding, add=True, crop=True):
    (n, c, h, v), (p, q) = x_shape, dy.shape[2:]
    dx = np.zeros((n, c, h + 2 * padding, v + 2 * padding))
    for r, s in np.ndindex(w.shape[2:]):
        part = np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
        seen = (slice(None), slice(None), _steps(r, p, stride), _steps(s, q, stride))
        dx[seen] = dx[seen] + part if add else part
    start = padding if crop else 0
    return dx[:, :, start : start + h, start : start + v]


def _overwrites(dy, w, x_shape, stride=1, padding=0):
    return _scatter(dy, w, x_shape, stride, padding, add=False)


def _not_cropped(dy, w, x_shape, stride=1, padding=0):
    return _scatter(dy, w, x_shape, stride, padding, crop=False)


def _flipped_weights(dy, w, x_shape, stride=1, padding=0):
    return _input_oracle(dy, w[:, :, ::-1, ::-1], x_shape, stride, padding)


def _scatter_without_stride(dy, w, x_shape, stride=1, padding=0):
    return _scatter(dy, w, x_shape, 1, padding)


def _first_output_channel(dy, w, x_shape, stride=1, padding=0):
    return _input_oracle(dy[:, :1], w[:1], x_shape, stride, padding)


_INPUT = Exercise(
    id="gpu.conv2d_backward_input",
    oracle=_input_oracle,
    cases=_input_cases,
    outputs=("dx",),
    hints=(
        "im2col copied pixels into rows. Its gradient walks the same road backwards: it adds rows "
        "to pixels.",
        "The slice of dx is the very slice that im2col read: rows r, r + stride, ... and columns "
        "s, s + stride, ... Several taps reach the same pixel.",
        "Use +=. dcols[..., r, s] is [N, P, Q, C]; dx wants [N, C, P, Q], so the axes go 0, 3, 1, "
        "2.",
    ),
    misconceptions=(
        Misconception(
            "Later taps overwrite earlier ones. A pixel that several windows saw collects a sum: "
            "use +=.",
            _overwrites,
        ),
        Misconception(
            "The frame of padding is cut off in the wrong place: pixel (0, 0) of the image sits "
            "at (padding, padding).",
            _not_cropped,
        ),
        Misconception(
            "The kernel is flipped on top of the scatter. Scattering already reverses the "
            "direction.",
            _flipped_weights,
        ),
        Misconception(
            "The stride is missing: tap (r, s) reaches every stride-th pixel.",
            _scatter_without_stride,
        ),
        Misconception(
            "Only output channel 0 sends its gradient back: sum over all K.", _first_output_channel
        ),
    ),
    forbidden=LIBRARIES,
    cost=lambda: [
        (
            "dx of the second convolution, 32 images",
            counted(2 * 32 * 64 * 16 * 16 * 288, "FLOP", "2 per multiply-add"),
        ),
    ],
)


EXERCISES = [_INPUT]
