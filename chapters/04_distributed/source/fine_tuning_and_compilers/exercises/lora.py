"""Exercise distributed.lora_layer: a frozen layer with two small matrices beside it.

Dense: each wrong idea is the formula of the layer with one slip in it.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Layer = tuple[np.ndarray, np.ndarray]


def layers(
    rng: np.random.Generator, rows: int, inputs: int, outputs: int, rank: int, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """x[n,I], w[O,I], a[r,I], b[O,r] of both signs, and alpha."""
    x = rng.normal(size=(rows, inputs))
    w = rng.normal(size=(outputs, inputs))
    return x, w, rng.normal(size=(rank, inputs)), rng.normal(size=(outputs, rank)), alpha


def with_scale(
    x: np.ndarray, w: np.ndarray, a: np.ndarray, b: np.ndarray, scale: float, kept: float = 1
) -> Layer:
    """The layer with this factor before its update, and `kept` times its frozen weights."""
    merged = kept * w + scale * np.einsum("or,ri->oi", b, a)
    return np.einsum("ni,oi->no", x, merged), merged


def right(x: np.ndarray, w: np.ndarray, a: np.ndarray, b: np.ndarray, alpha: float) -> Layer:
    """y = x (W + (alpha / r) B A)^T, and the weights in brackets."""
    return with_scale(x, w, a, b, alpha / len(a))


def scaled_by(scale: Callable[..., float]) -> Callable[..., Layer]:
    """The layer with the factor scale(x, a, b, alpha) before its update."""
    return lambda x, w, a, b, alpha: with_scale(x, w, a, b, scale(x, a, b, alpha))


WRONG_LAYER = dict(
    not_scaled=scaled_by(lambda x, a, b, alpha: 1),
    not_divided=scaled_by(lambda x, a, b, alpha: alpha),
    rank_alone=scaled_by(lambda x, a, b, alpha: 1 / len(a)),
    upside_down=scaled_by(lambda x, a, b, alpha: len(a) / alpha),
    by_inputs=scaled_by(lambda x, a, b, alpha: alpha / a.shape[1]),
    by_outputs=scaled_by(lambda x, a, b, alpha: alpha / len(b)),
    by_rows=scaled_by(lambda x, a, b, alpha: alpha / len(x)),
    whole_factor=scaled_by(lambda x, a, b, alpha: alpha // len(a)),
    alpha_of_2=scaled_by(lambda x, a, b, alpha: 2 / len(a)),
    rank_of_2=scaled_by(lambda x, a, b, alpha: alpha / 2),
    root=scaled_by(lambda x, a, b, alpha: alpha / len(a) ** 0.5),
    update_alone=lambda x, w, a, b, alpha: with_scale(x, w, a, b, alpha / len(a), kept=0),
    frozen_alone=scaled_by(lambda x, a, b, alpha: 0),
    subtracted=scaled_by(lambda x, a, b, alpha: -alpha / len(a)),
    scaled_twice=scaled_by(lambda x, a, b, alpha: (alpha / len(a)) ** 2),
    all_scaled=lambda x, w, a, b, alpha: with_scale(
        x, w, a, b, alpha / len(a), kept=alpha / len(a)
    ),
)

lora_layer = exercise(
    "distributed.lora_layer",
    oracle=right,
    cases=cases_of(
        {
            "small": (2, 3, 2, 1, 2.0),
            "all one": (1, 1, 1, 1, 3.0),
            "prime": (3, 7, 5, 2, 5.0),
            "wide": (4, 12, 3, 3, 1.5),
            "tall": (5, 2, 11, 2, 2.0),
            "many": (6, 33, 17, 4, 8.0),
        },
        layers,
    ),
    wrong=WRONG_LAYER,
    forbidden=(
        *LIBRARIES,
        "labkit.distributed.gpt",
        "labkit_lessons.distributed.fine_tuning_and_compilers.lora",
    ),
    outputs=("y", "merged"),
)
