"""gpu.linear_backward: dy[N,K], x[N,D], w[K,D] -> dx, dw, db (lesson 01_gpu/1)."""

from collections.abc import Iterator

import numpy as np

from labkit import reference
from labkit.checks.cases.common import LIBRARIES, misconceptions
from labkit.checks.exercise import Case, Exercise
from labkit.provenance import Quantity, counted

SIZES = (  # name, N, D, K
    ("prime", 7, 5, 3),
    ("all sizes 1", 1, 1, 1),
    ("ragged", 9, 4, 17),
    ("square", 4, 4, 4),
    ("one image", 1, 6, 2),
    ("larger", 32, 20, 10),
)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, N, D, K in SIZES:
        yield Case(name, tuple(rng.normal(size=size) for size in ((N, K), (N, D), (K, D))))


def dw_transposed(dy, x, w):
    """dw is transposed. It must have the shape of w, [K, D]: row k belongs to output k."""
    return dy @ w, x.T @ dy, dy.sum(axis=0)


def db_mean(dy, x, w):
    """db is a mean over the images; it must be their sum."""
    return dy @ w, dy.T @ x, dy.mean(axis=0)


def divided_by_n(dy, x, w):
    """The result is divided by N once more. The 1/N of the mean loss is already inside dy."""
    return dy @ w / len(x), dy.T @ x / len(x), dy.sum(axis=0) / len(x)


def product_of_sums(dy, x, w):
    """dw multiplies two sums. The product comes first, image by image, and then the sum over
    images."""
    return dy @ w, np.outer(dy.sum(axis=0), x.mean(axis=0)), dy.sum(axis=0)


def db_of_first_image(dy, x, w):
    """db holds the first image only: sum dy over all N."""
    return dy @ w, dy.T @ x, dy[0]


def cost() -> list[tuple[str, Quantity]]:
    N, D, K = 32, 4096, 128
    by = f"2 per multiply-add; the network's first fully connected layer, {N} images"
    return [
        ("dw and dx together", counted(4 * N * D * K, "FLOP", by)),
        ("bytes of w alone", counted(4 * D * K, "B", "4 bytes per number")),
    ]


EXERCISES = [
    Exercise(
        id="gpu.linear_backward",
        oracle=reference.linear_backward,
        cases=cases,
        outputs=("dx", "dw", "db"),
        hints=(
            "Let the shapes lead. dw must be [K, D], and you have dy [N, K] and x [N, D]: over "
            "which letter is the sum?",
            "A sum over the letter that two matrices share is a matrix product. Put that letter in "
            "the middle: [K, N] @ [N, D].",
            "dw is dy transposed, times x. dx sums over k, so it needs dy and w as they are. db "
            "has no x at all.",
        ),
        misconceptions=misconceptions(
            dw_transposed, db_mean, divided_by_n, product_of_sums, db_of_first_image
        ),
        forbidden=LIBRARIES,
        cost=cost,
    )
]
