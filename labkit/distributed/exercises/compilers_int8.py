"""Exercise distributed.quantise_rows: a byte for each weight, a scale for each output."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from labkit.checks.items import Refused
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import fine_tuning_and_compilers as solutions

Rows = tuple[np.ndarray, np.ndarray]


def weights(rng: np.random.Generator, outputs: int, inputs: int, zeros: int) -> tuple[np.ndarray]:
    """w[O,I] of both signs, rows of very different sizes; some rows may be all 0.

    The largest magnitude of a row is positive in some and negative in others.
    """
    w = rng.uniform(-1, 1, (outputs, inputs)) * 10.0 ** rng.uniform(-3, 2, (outputs, 1))
    place = rng.integers(inputs, size=outputs)
    rows = np.arange(outputs)
    signs = np.where(rows % 2, -1, 1)
    w[rows, place] = signs * 1.1 * np.abs(w).max(1)
    if zeros:
        w[rng.choice(outputs, zeros, replace=False)] = 0
    return (w,)


def by_rows(
    w: np.ndarray,
    largest: Callable[[np.ndarray], np.ndarray] = lambda w: np.abs(w).max(1, keepdims=True),
    top: int = 127,
    rounded: Callable[[np.ndarray], np.ndarray] = np.round,
    wraps: bool = False,
) -> Rows:
    """int8[O,I] and scale[O], with one choice of each kind; a row of zeros gets the scale 1."""
    size = largest(w) * np.ones((len(w), 1))
    scale = np.where(size > 0, size / top, 1.0)
    steps = rounded(w / scale).astype(np.int64)
    if not wraps:
        steps = np.clip(steps, -128, 127)
    return steps.astype(np.int8), scale[:, 0]


def largest_number(w: np.ndarray) -> np.ndarray:
    """As if all numbers were positive."""
    return np.maximum(w.max(1, keepdims=True), 0)


def by_columns(w: np.ndarray) -> Rows:
    """A scale for each input."""
    quantised, scale = by_rows(w.T)
    return quantised.T, scale


def zeros_divided(w: np.ndarray) -> Rows:
    """0 / 0 in a row of zeros."""
    quantised, scale = by_rows(w)
    return quantised, np.where(np.abs(w).max(1) > 0, scale, 0.0)


def inverse_in_both(w: np.ndarray) -> Rows:
    """The scale 127 / largest, and weights divided by it."""
    scale = 1 / by_rows(w)[1]
    return np.round(w / scale[:, None]).astype(np.int8), scale


WRONG_ROWS = SimpleNamespace(
    one_scale=lambda w: by_rows(w, lambda w: np.abs(w).max()),
    by_columns=by_columns,
    largest_not_magnitude=lambda w: by_rows(w, largest_number),
    largest_not_magnitude_wraps=lambda w: by_rows(w, largest_number, wraps=True),
    of_128=lambda w: by_rows(w, top=128),
    of_128_wraps=lambda w: by_rows(w, top=128, wraps=True),
    of_255=lambda w: by_rows(w, lambda w: np.ptp(w, axis=1)[:, None], top=255),
    cut_off=lambda w: by_rows(w, rounded=np.trunc),
    rounded_down=lambda w: by_rows(w, rounded=np.floor),
    zero_scale=zeros_divided,
    inverse_scale=lambda w: (by_rows(w)[0], 1 / by_rows(w)[1]),
    inverse_in_both=inverse_in_both,
)


def in_bytes(answer: object) -> Callable[[np.ndarray], object]:
    """The learner's function; Refused where q is no int8, or each scale stands in a row alone."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def run(w: np.ndarray) -> object:
        result = answer(w)
        if isinstance(result, (tuple, list)) and len(result) == 2:
            dtype = np.asarray(result[0]).dtype
            if dtype.kind in "iuf" and dtype != np.int8:
                raise Refused(f"`q` has the type {dtype}: a weight takes one byte, int8.")
            if np.shape(result[1]) == (len(w), 1):
                raise Refused("`scale` has two axes: it is one number for each row, scale[O].")
        return result

    return run


def unjudged(answer: Callable, w: np.ndarray) -> object:
    """What an answer returns, without a word on its type."""
    return answer(w)


quantise_rows = exercise(
    "distributed.quantise_rows",
    oracle=by_rows,
    cases=cases_of(
        {
            "two rows": (2, 3, 0),
            "one weight": (1, 1, 0),
            "prime": (7, 5, 0),
            "wide": (3, 40, 0),
            "equal numbers: a row of 0": (4, 6, 1),
            "many": (33, 17, 0),
        },
        weights,
    ),
    wrong=vars(WRONG_ROWS),
    forbidden=(*LIBRARIES, "labkit.distributed.gpt"),
    outputs=("q", "scale"),
    adapter=in_bytes,
    plain=unjudged,
    fallback=solutions.quantise_rows,
    plain_python=True,
)
