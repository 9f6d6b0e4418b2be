"""gpu.conv2d_backward_weights: dy, x, R, S, stride, padding -> dw, db (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.common import CONVOLUTIONS, LIBRARIES, conv2_cost, misconceptions
from labkit.checks.cases.gpu_im2col import im2col
from labkit.checks.exercise import Case, Exercise


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, x, (_, _, R, S), y, stride, padding in CONVOLUTIONS:
        yield Case(name, (rng.normal(size=y), rng.normal(size=x), R, S, stride, padding))


def weight_gradients(dy, x, R, S, stride=1, padding=0):
    w = np.zeros((dy.shape[1], x.shape[1], R, S))  # dw and db do not depend on w
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


def dy_not_transposed(dy, x, R, S, stride=1, padding=0):
    """dy is reshaped to rows without moving K to the end first, so a row mixes channels and
    pixels."""
    dw, db = weight_gradients(dy, x, R, S, stride, padding)
    rows = dy.reshape(-1, len(dw))  # each mixes k with p and q
    return (rows.T @ im2col(x, R, S, stride, padding)).reshape(dw.shape), db


def product_turned(dy, x, R, S, stride=1, padding=0):
    """The matrix product is transposed before the reshape. It must be [K, C R S]: row k first."""
    dw, db = weight_gradients(dy, x, R, S, stride, padding)
    return dw.reshape(len(dw), -1).T.reshape(dw.shape), db


def dw_flipped(dy, x, R, S, stride=1, padding=0):
    """dw is flipped: tap (r, s) of dw must belong to tap (r, s) of w."""
    dw, db = weight_gradients(dy, x, R, S, stride, padding)
    return dw[:, :, ::-1, ::-1], db


def divided_by_n(dy, x, R, S, stride=1, padding=0):
    """The result is divided by N once more. The 1/N of the mean loss is already inside dy."""
    dw, db = weight_gradients(dy, x, R, S, stride, padding)
    return dw / len(x), db / len(x)


def db_mean(dy, x, R, S, stride=1, padding=0):
    """db is a mean; it must be the sum over n, p and q."""
    return weight_gradients(dy, x, R, S, stride, padding)[0], dy.mean(axis=(0, 2, 3))


def first_image(dy, x, R, S, stride=1, padding=0):
    """Only image 0 counts here: sum over all N images."""
    return weight_gradients(dy[:1], x[:1], R, S, stride, padding)


def dw_channels_last(dy, x, R, S, stride=1, padding=0):
    """dw was reshaped as K, R, S, C. A row of cols is in the order C, R, S."""
    dw, db = weight_gradients(dy, x, R, S, stride, padding)
    return dw.transpose(0, 2, 3, 1).reshape(dw.shape), db


WRONG = [dy_not_transposed, product_turned, dw_flipped, divided_by_n]
WRONG += [db_mean, first_image, dw_channels_last]

EXERCISES = [
    Exercise(
        id="gpu.conv2d_backward_weights",
        oracle=weight_gradients,
        cases=cases,
        outputs=("dw", "db"),
        hints=(
            "This is the linear layer again. Its input is cols [N P Q, C R S]; its dw was dy "
            "transposed, times x.",
            "dy is [N, K, P, Q]. As rows it must be [N P Q, K]: move axis K to the end, then "
            "reshape.",
            "dy.transpose(0, 2, 3, 1).reshape(-1, K) gives the rows. dw comes out as [K, C R S]: "
            "reshape it.",
        ),
        misconceptions=misconceptions(*WRONG),
        forbidden=(*LIBRARIES, "numpy.lib.stride_tricks.sliding_window_view"),
        cost=lambda: conv2_cost("dw"),
    )
]
