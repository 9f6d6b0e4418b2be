"""Exercise distributed.hybrid_step: the seconds of a step with data, tensor and pipeline ranks."""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import a_cost_model as solutions

Step = Callable[[np.ndarray, float, int, int, float], float]


def a_stage(
    rng: np.random.Generator,
    layers: int,
    stages: int,
    micro_batches: int,
    all_reduce: float,
    gradients: float,
) -> tuple[np.ndarray, float, int, int, float]:
    """Unlike layers of some ms; an all-reduce and the gradients in times of a layer's forward."""
    forward = (rng.uniform(1e-3, 9e-3, layers)).round(7)
    typical = float(forward.mean())
    return forward, all_reduce * typical, stages, micro_batches, gradients * typical


def step(
    forwards: float = 3,
    all_reduces: float = 4,
    pieces: Callable[[int, int], float] = lambda m, p: m + p - 1,
    behind: Callable[[np.ndarray, float, int], float] = lambda f, a, m: 2 * float(f[:-1].sum()),
    travels: Callable[[float, int], float] = lambda g, m: g,
    paid: Callable[[int, int], int] = lambda m, p: 1,
) -> Step:
    """A step with some of its terms changed.

    behind   (forward, all-reduce, m): the seconds that can hide gradients
    paid     (m, p): how often what shows of the gradients counts
    """

    def seconds(forward, all_reduce, stages, micro_batches, gradients):
        piece = forwards * float(forward.sum()) + all_reduces * len(forward) * all_reduce
        hides = behind(forward, all_reduce, micro_batches)
        shown = max(travels(gradients, micro_batches) - hides, 0.0)
        return pieces(micro_batches, stages) * piece + paid(micro_batches, stages) * shown

    return seconds


def one_all_reduce_for_a_stage(forward, all_reduce, stages, micro_batches, gradients):
    """As if a whole stage had four all-reduces, and not each layer."""
    right = step()(forward, all_reduce, stages, micro_batches, gradients)
    return right - (micro_batches + stages - 1) * 4 * (len(forward) - 1) * all_reduce


def below_zero(forward, all_reduce, stages, micro_batches, gradients):
    """As if backward that hides nothing were time won."""
    piece = 3 * float(forward.sum()) + 4 * len(forward) * all_reduce
    shown = gradients - 2 * float(forward[:-1].sum())
    return (micro_batches + stages - 1) * piece + shown


hybrid_step = exercise(
    "distributed.hybrid_step",
    oracle=step(),
    cases=cases_of(
        {
            "one of each": (1, 1, 1, 0.5, 3.0),
            "as in the lesson": (3, 2, 4, 0.3, 15.0),
            "no tensor group": (5, 4, 3, 0.0, 30.0),
            "gradients hide": (8, 2, 6, 0.2, 4.0),
            "many stages": (2, 16, 5, 0.1, 9.0),
            "prime": (7, 3, 11, 0.7, 40.0),
            "no data ranks": (4, 5, 2, 0.4, 0.0),
        },
        a_stage,
    ),
    wrong={
        "no_bubble": step(pieces=lambda m, p: m),
        "one_piece_more": step(pieces=lambda m, p: m + p),
        "stages_times": step(pieces=lambda m, p: m * p),
        "backward_like_forward": step(forwards=2),
        "forward_forgotten": step(forwards=2, all_reduces=2),
        "no_backward_all_reduces": step(all_reduces=2),
        "one_all_reduce_for_a_stage": one_all_reduce_for_a_stage,
        "nothing_hides": step(behind=lambda f, a, m: 0.0),
        "everything_hides": step(travels=lambda g, m: 0.0),
        "all_layers_hide": step(behind=lambda f, a, m: 2 * float(f.sum())),
        "without_the_first": step(behind=lambda f, a, m: 2 * float(f[1:].sum())),
        "all_reduces_hide": step(
            behind=lambda f, a, m: 2 * float(f[:-1].sum()) + 2 * (len(f) - 1) * a
        ),
        "forward_hides": step(behind=lambda f, a, m: float(f[:-1].sum())),
        "all_micro_batches_hide": step(behind=lambda f, a, m: 2 * m * float(f[:-1].sum())),
        "each_micro_batch_averages": step(travels=lambda g, m: m * g),
        "each_micro_batch_waits": step(paid=lambda m, p: m),
        "each_piece_waits": step(paid=lambda m, p: m + p - 1),
        "below_zero": below_zero,
    },
    fallback=solutions.hybrid_step,
    outputs=("seconds",),
    rtol=1e-6,
    atol=1e-9,
    forbidden=(*LIBRARIES, "labkit.distributed"),
)
