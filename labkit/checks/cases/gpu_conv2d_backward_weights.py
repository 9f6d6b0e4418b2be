"""gpu.conv2d_backward_weights: dy, x, R, S, stride, padding -> dw, db (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.convolution_shapes import LIBRARIES, convolution_shapes
from labkit.checks.cases.gpu_im2col import im2col
from labkit.checks.exercise import Case, Exercise, Misconception
from labkit.provenance import counted


def _weights_oracle(dy, x, R, S, stride=1, padding=0):
    w = np.zeros((dy.shape[1], x.shape[1], R, S))  # dw and db do not depend on w
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


def _weights_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, n, c, h, w, k, r, s, stride, padding, p, q in convolution_shapes():
        dy, x = rng.normal(size=(n, k, p, q)), rng.normal(size=(n, c, h, w))
        yield Case(name, (dy, x, r, s, stride, padding))


def _dy_not_transposed(dy, x, R, S, stride=1, padding=0):
    mixed = dy.reshape(-1, dy.shape[1])  # rows that mix k with p and q
    dw = (mixed.T @ im2col(x, R, S, stride, padding)).reshape(dy.shape[1], x.shape[1], R, S)
    return dw, _weights_oracle(dy, x, R, S, stride, padding)[1]


def _product_turned(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights_oracle(dy, x, R, S, stride, padding)
    return dw.reshape(len(dw), -1).T.reshape(dw.shape), db


def _dw_flipped(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights_oracle(dy, x, R, S, stride, padding)
    return dw[:, :, ::-1, ::-1], db


def _mean_over_images(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights_oracle(dy, x, R, S, stride, padding)
    return dw / len(x), db / len(x)


def _mean_over_outputs(dy, x, R, S, stride=1, padding=0):
    dw = _weights_oracle(dy, x, R, S, stride, padding)[0]
    return dw, dy.mean(axis=(0, 2, 3))


def _first_image_only(dy, x, R, S, stride=1, padding=0):
    return _weights_oracle(dy[:1], x[:1], R, S, stride, padding)


def _dw_channels_last(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights_oracle(dy, x, R, S, stride, padding)
    return dw.transpose(0, 2, 3, 1).reshape(dw.shape), db


_WEIGHTS = Exercise(
    id="gpu.conv2d_backward_weights",
    oracle=_weights_oracle,
    cases=_weights_cases,
    outputs=("dw", "db"),
    hints=(
        "This is the linear layer again. Its input is cols [N P Q, C R S]; its dw was dy "
        "transposed, times x.",
        "dy is [N, K, P, Q]. As rows it must be [N P Q, K]: move axis K to the end, then reshape.",
        "dy.transpose(0, 2, 3, 1).reshape(-1, K) gives the rows. dw comes out as [K, C R S]: "
        "reshape it.",
    ),
    misconceptions=(
        Misconception(
            "dy is reshaped to rows without moving K to the end first, so a row mixes channels "
            "and pixels.",
            _dy_not_transposed,
        ),
        Misconception(
            "The matrix product is transposed before the reshape. It must be [K, C R S]: row k "
            "first.",
            _product_turned,
        ),
        Misconception(
            "dw is flipped: tap (r, s) of dw must belong to tap (r, s) of w.", _dw_flipped
        ),
        Misconception(
            "The result is divided by N once more. The 1/N of the mean loss is already inside dy.",
            _mean_over_images,
        ),
        Misconception("db is a mean; it must be the sum over n, p and q.", _mean_over_outputs),
        Misconception("Only image 0 counts here: sum over all N images.", _first_image_only),
        Misconception(
            "dw was reshaped as K, R, S, C. A row of cols is in the order C, R, S.",
            _dw_channels_last,
        ),
    ),
    forbidden=(*LIBRARIES, "numpy.lib.stride_tricks.sliding_window_view"),
    cost=lambda: [
        (
            "dw of the second convolution, 32 images",
            counted(2 * 32 * 64 * 16 * 16 * 288, "FLOP", "2 per multiply-add"),
        ),
    ],
)

EXERCISES = [_WEIGHTS]
