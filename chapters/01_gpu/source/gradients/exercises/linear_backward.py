"""Exercise gpu.linear_backward: dy[N,K], x[N,D], w[K,D] -> dx[N,D], dw[K,D], db[K]."""

import numpy as np

from labkit import reference
from labkit.checks.lesson_files import FLOAT64, LIBRARIES, cases_of, costs, exercise
from labkit_lessons.gpu.gradients.wrong import linear_backward as wrong_linear

FC1 = "2 per multiply-add; the network's first fully connected layer, 32 images"


def linear_inputs(rng, N, D, K):
    """dy, x, w."""
    dy = rng.normal(size=(N, K))
    x = rng.normal(size=(N, D))
    w = rng.normal(size=(K, D))
    return dy, x, w


linear_backward = exercise(
    "gpu.linear_backward",
    oracle=reference.linear_backward,
    cases=cases_of(
        {  # N, D, K
            "prime": (7, 5, 3),
            "all sizes 1": (1, 1, 1),
            "ragged": (9, 4, 17),
            "square": (4, 4, 4),
            "one image": (1, 6, 2),
            "one feature": (5, 1, 3),
            "one output": (6, 4, 1),
            "K = D": (5, 3, 3),
            "K = N": (3, 5, 3),
            "D = N": (4, 4, 6),
            "larger": (32, 20, 10),
        },
        linear_inputs,
    ),
    wrong={
        "dw_transposed": wrong_linear.with_dw(wrong_linear.dw_transposed),
        "dy_not_turned": wrong_linear.with_dw(wrong_linear.dy_not_turned),
        "w_turned": wrong_linear.w_turned,
        "db_mean": wrong_linear.with_db(wrong_linear.mean_over_images),
        "divided_by_n": wrong_linear.divided_by_n,
        "product_of_sums": wrong_linear.with_dw(wrong_linear.product_of_sums),
        "db_of_first_image": wrong_linear.with_db(wrong_linear.first_image),
        "db_over_outputs": wrong_linear.with_db(wrong_linear.sum_over_outputs),
        "db_one_number": wrong_linear.with_db(np.sum),
    },
    outputs=("dx", "dw", "db"),
    forbidden=LIBRARIES,
    cost=costs(
        ("dw and dx together", 4 * 32 * 4096 * 128, "FLOP", FC1),
        ("bytes of w alone", 4 * 4096 * 128, "B", "4 bytes per number"),
    ),
    dtype="float64",
    **FLOAT64,
)
