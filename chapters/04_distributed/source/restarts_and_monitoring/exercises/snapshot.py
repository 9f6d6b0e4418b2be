"""Exercise distributed.snapshot: all that a training needs to go on to the last bit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.restarts_and_monitoring import solutions
from labkit_lessons.distributed.restarts_and_monitoring.remembered import (
    ARRAYS,
    PARTS,
    SmallTraining,
)
from labkit_lessons.distributed.restarts_and_monitoring.remembered_answers import (
    Run,
    gone_on,
    unbroken,
)


def trainings(
    rng: np.random.Generator, rows: int, width: int, before: int, meanwhile: int, after: int
) -> tuple[np.ndarray, np.ndarray, int, int, int]:
    """Examples x[rows, width], y[rows]; steps before the snapshot, until the death, and after."""
    return rng.normal(size=(rows, width)), rng.normal(size=rows), before, meanwhile, after


def complete(training: SmallTraining) -> dict:
    """A right snapshot."""
    saved = {name: getattr(training, name).copy() for name in ARRAYS}
    saved["random"] = training.random.bit_generator.state
    return saved | {"step": training.step, "position": training.position}


def without(*forgotten: str) -> Callable[..., Run]:
    """As if these parts were not saved."""

    def answer(training: SmallTraining) -> dict:
        return {name: v for name, v in complete(training).items() if name not in forgotten}

    return gone_on(answer)


def not_copied(*names: str) -> Callable[..., Run]:
    """As if these arrays were saved as they are: those of the training that goes on."""

    def answer(training: SmallTraining) -> dict:
        return complete(training) | {name: getattr(training, name) for name in names}

    return gone_on(answer)


def changed(**change: Callable[[Any], Any]) -> Callable[..., Run]:
    """As if each of these parts were saved as change[name](part)."""

    def answer(training: SmallTraining) -> dict:
        saved = complete(training)
        return saved | {name: of(saved[name]) for name, of in change.items()}

    return gone_on(answer)


def averages_exchanged(training: SmallTraining) -> dict:
    """As if each average stood under the other one's name."""
    saved = complete(training)
    return saved | {"mean": saved["square"], "square": saved["mean"]}


WRONG_SNAPSHOT = dict(
    weights_alone=without(*set(PARTS) - {"weights"}),
    no_weights=without("weights"),
    no_averages=without("mean", "square"),
    no_mean=without("mean"),
    no_square=without("square"),
    no_step=without("step"),
    no_position=without("position"),
    no_random=without("random"),
    no_averages_and_step=without("mean", "square", "step"),
    no_position_and_random=without("position", "random"),
    arrays_not_copied=not_copied(*ARRAYS),
    weights_not_copied=not_copied("weights"),
    averages_not_copied=not_copied("mean", "square"),
    mean_not_copied=not_copied("mean"),
    square_not_copied=not_copied("square"),
    averages_exchanged=gone_on(averages_exchanged),
    random_not_copied=not_copied("random"),
    nothing_copied=not_copied(*ARRAYS, "random"),
    in_float32=changed(**dict.fromkeys(ARRAYS, np.float32)),
    weights_in_float32=changed(weights=np.float32),
    averages_in_float32=changed(mean=np.float32, square=np.float32),
    a_step_too_many=changed(step=lambda step: step + 1),
    a_step_too_few=changed(step=lambda step: step - 1),
    one_step_further=changed(step=lambda step: step + 1, position=lambda position: position + 1),
    example_left_out=changed(position=lambda position: position + 1),
    example_twice=changed(position=lambda position: max(position - 1, 0)),
)

snapshot = exercise(
    "distributed.snapshot",
    oracle=unbroken,
    cases=cases_of(
        {
            "a death in the middle": (7, 3, 5, 2, 6),
            "one number": (1, 1, 4, 3, 3),
            "saved at the start": (5, 2, 0, 1, 4),
            "dies at once": (4, 5, 9, 0, 5),
            "twice through the data": (3, 2, 8, 4, 7),
            "prime": (11, 13, 17, 5, 19),
            "many": (40, 20, 130, 30, 60),
        },
        trainings,
    ),
    wrong=WRONG_SNAPSHOT,
    forbidden=LIBRARIES,
    outputs=("errors", "weights"),
    groups=(frozenset({0, 1}),),
    adapter=gone_on,
    plain=lambda answer, *given: gone_on(answer, strictly=False)(*given),
    fallback=solutions.snapshot,
    plain_python=True,
    rtol=0.0,
    atol=0.0,
)
