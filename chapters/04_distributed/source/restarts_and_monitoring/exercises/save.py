"""Exercise distributed.save_whole: a checkpoint that is there whole or not at all."""

from collections.abc import Sequence

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.restarts_and_monitoring import solutions
from labkit_lessons.distributed.restarts_and_monitoring.save_answers import in_calm, survives


def two_checkpoints(
    rng: np.random.Generator, ranks: int, *sizes: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The shards of an old and of a new checkpoint; sizes[rank % ...] numbers in each."""
    lengths = [sizes[rank % len(sizes)] for rank in range(ranks)]
    old, new = ([rng.normal(size=length) for length in lengths] for _ in range(2))
    return old, new


def the_new_one(old: Sequence[np.ndarray], new: Sequence[np.ndarray]) -> np.ndarray:
    """What a reader finds after a save that nothing befell."""
    return np.concatenate(new)


WRONG_SAVE = dict(
    the_old_one=lambda old, new: np.concatenate(old),
    backwards=lambda old, new: np.concatenate(new[::-1]),
    one_for_all=lambda old, new: np.concatenate([new[0]] * len(new)),
    in_float32=lambda old, new: np.concatenate(new).astype(np.float32),
    last_for_all=lambda old, new: np.concatenate([new[-1]] * len(new)),
)

save_whole = exercise(
    "distributed.save_whole",
    oracle=the_new_one,
    cases=cases_of(
        {
            "two ranks": (2, 4),
            "one number": (1, 1),
            "one rank": (1, 6),
            "three ranks": (3, 5, 2),
            "prime": (5, 7),
            "many": (8, 33, 9, 20),
        },
        two_checkpoints,
    ),
    wrong=WRONG_SAVE,
    forbidden=LIBRARIES,
    adapter=survives,
    plain=in_calm,
    fallback=solutions.save_whole,
    plain_python=True,
    rtol=0.0,
    atol=0.0,
)
