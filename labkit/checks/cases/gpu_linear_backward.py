"""gpu.linear_backward: dy[N,K], x[N,D], w[K,D] -> dx, dw, db (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.convolution_shapes import LIBRARIES
from labkit.checks.exercise import Case, Exercise, Misconception
from labkit.provenance import Quantity, counted


def _linear_cases(rng: np.random.Generator) -> Iterator[Case]:
    sizes = (
        ("prime", 7, 5, 3),
        ("all sizes 1", 1, 1, 1),
        ("ragged", 9, 4, 17),
        ("square", 4, 4, 4),
        ("one image", 1, 6, 2),
        ("larger", 32, 20, 10),
    )
    for name, n, d, k in sizes:
        shapes = ((n, k), (n, d), (k, d))  # dy, x, w
        yield Case(name, tuple(rng.normal(size=s) for s in shapes))


def _dw_transposed(dy, x, w):
    return dy @ w, x.T @ dy, dy.sum(axis=0)


def _divides_by_n(dy, x, w):
    return dy @ w / len(x), dy.T @ x / len(x), dy.sum(axis=0) / len(x)


def _outer_of_means(dy, x, w):
    return dy @ w, np.outer(dy.sum(axis=0), x.mean(axis=0)), dy.sum(axis=0)


def _bias_of_first_image(dy, x, w):
    return dy @ w, dy.T @ x, dy[0]


def _bias_mean(dy, x, w):
    return dy @ w, dy.T @ x, dy.mean(axis=0)


_LINEAR = Exercise(
    id="gpu.linear_backward",
    oracle=reference.linear_backward,
    cases=_linear_cases,
    outputs=("dx", "dw", "db"),
    hints=(
        "Let the shapes lead. dw must be [K, D], and you have dy [N, K] and x [N, D]: over which "
        "letter is the sum?",
        "A sum over the letter that two matrices share is a matrix product. Put that letter in "
        "the middle: [K, N] @ [N, D].",
        "dw is dy transposed, times x. dx sums over k, so it needs dy and w as they are. db has "
        "no x at all.",
    ),
    misconceptions=(
        Misconception(
            "dw is transposed. It must have the shape of w, [K, D]: row k belongs to output k.",
            _dw_transposed,
        ),
        Misconception("db is a mean over the images; it must be their sum.", _bias_mean),
        Misconception(
            "The result is divided by N once more. The 1/N of the mean loss is already inside dy.",
            _divides_by_n,
        ),
        Misconception(
            "dw multiplies two sums. The product comes first, image by image, and then the sum "
            "over images.",
            _outer_of_means,
        ),
        Misconception("db holds the first image only: sum dy over all N.", _bias_of_first_image),
    ),
    forbidden=LIBRARIES,
    cost=lambda: _linear_cost(32, 4096, 128),
)


def _linear_cost(n: int, d: int, k: int) -> list[tuple[str, Quantity]]:
    layer = f"the network's first fully connected layer, {n} images"
    return [
        ("dw and dx together", counted(4 * n * d * k, "FLOP", f"2 per multiply-add; {layer}")),
        ("bytes of w alone", counted(4 * d * k, "B", "4 bytes per number")),
    ]


EXERCISES = [_LINEAR]
