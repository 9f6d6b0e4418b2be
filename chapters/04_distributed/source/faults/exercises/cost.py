"""Exercise distributed.cost_of_faults: the seconds that faults and checkpoints cost; wrong ideas.

Lesson faults.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise


def faults(
    rng: np.random.Generator, size: int, every: float, write: float
) -> tuple[np.ndarray, float, float]:
    """Moments of faults [size], rising; none of them where a checkpoint ends.

    In whole seconds if every is a whole number, and otherwise in eighths, whose sums are exact.
    """
    cycle = every + write
    parts = 1 if isinstance(every, int) else 8
    between = cycle * rng.integers(0, 5, size=size)
    between = between + rng.integers(1, int(cycle * parts), size=size) / parts
    if parts == 1:
        between = between.astype(int)
    between[:1] += cycle  # the first one comes after a checkpoint
    return between.cumsum(), every, write


def parts(moments: np.ndarray) -> np.ndarray:
    """From each beginning to the fault that ends it, in seconds."""
    return np.diff(moments, prepend=0)


def lost_and_spent(
    moments: np.ndarray,
    every: float,
    write: float,
    cut: Callable[[np.ndarray], np.ndarray] = parts,
) -> tuple[float, float]:
    """Seconds since the last whole checkpoint, and seconds in whole ones, over all faults.

    cut   the lengths of the parts between faults
    """
    finished, left = np.divmod(cut(moments), every + write)
    return left.sum(), write * finished.sum()


def from_the_beginning(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if the checkpoints went on in one row from 0, whatever happens."""
    cycle = every + write
    return (moments % cycle).sum(), moments[-1] // cycle * write


def writing_is_free(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if no time passed while a checkpoint is written."""
    finished, left = np.divmod(parts(moments), every)
    return left.sum(), write * finished.sum()


def only_work(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if an unfinished checkpoint cost nothing."""
    finished, left = np.divmod(parts(moments), every + write)
    return np.minimum(left, every).sum(), write * finished.sum()


def unfinished_spent(
    moments: np.ndarray, every: float, write: float, lost_too: bool
) -> tuple[float, float]:
    """As if the seconds of an unfinished checkpoint were spent, and perhaps lost as well."""
    lost, spent = lost_and_spent(moments, every, write)
    work, _ = only_work(moments, every, write)
    written = lost - work
    return (lost if lost_too else work), spent + written


def whole_ones_lost(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if the writing of whole checkpoints were lost, too."""
    lost, spent = lost_and_spent(moments, every, write)
    return lost + spent, spent


def kept_unfinished(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if a checkpoint were good as soon as its writing begins."""
    lost = spent = 0
    for length in parts(moments):
        finished, left = divmod(length, every + write)
        begun = left > every
        spent += (finished + begun) * write
        lost += 0 if begun else left
    return lost, spent


def begun_counts(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if a checkpoint held all at the moment when its writing begins, and were then good."""
    lost = spent = 0
    for length in parts(moments):
        finished, left = divmod(length, every + write)
        begun = left >= every
        spent += (finished + begun) * write
        lost += left - every if begun else left
    return lost, spent


def to_the_nearest(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if the checkpoints of a part were its length divided and rounded."""
    lost, _ = lost_and_spent(moments, every, write)
    rounded = np.round(parts(moments) / (every + write))
    return lost, write * rounded.sum()


def whole(of: Callable[..., float]) -> Callable[..., tuple[float, float]]:
    """The right seconds in checkpoints, and of(lengths of the parts, every) as those lost."""

    def wrong(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
        _, spent = lost_and_spent(moments, every, write)
        return of(parts(moments), every), spent

    return wrong


def begins_later(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if work began again `write` seconds after a fault."""
    lost = spent = begin = 0
    for moment in moments.tolist():
        finished, left = divmod(moment - begin, every + write)
        spent += finished * write
        lost += left
        begin = moment + write
    return lost, spent


def not_rounded(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if half a checkpoint were half spent."""
    lost, _ = lost_and_spent(moments, every, write)
    return lost, write * (parts(moments) / (every + write)).sum()


def one_less(moments: np.ndarray, every: float, write: float) -> tuple[float, float]:
    """As if the first checkpoint of a part cost nothing."""
    lost, _ = lost_and_spent(moments, every, write)
    finished = parts(moments) // (every + write)
    return lost, write * np.maximum(finished - 1, 0).sum()


def changed(change: Callable[..., tuple[float, float]]) -> Callable[..., tuple[float, float]]:
    """change(lost, spent, moments, every, write), of what is right."""
    return lambda *given: change(*lost_and_spent(*given), *given)


WRONG_COST = dict(
    from_the_beginning=from_the_beginning,
    writing_is_free=writing_is_free,
    only_work=only_work,
    unfinished_is_spent=partial(unfinished_spent, lost_too=False),
    unfinished_is_both=partial(unfinished_spent, lost_too=True),
    whole_ones_lost=whole_ones_lost,
    kept_unfinished=kept_unfinished,
    begun_counts=begun_counts,
    to_the_nearest=to_the_nearest,
    not_rounded=not_rounded,
    one_less=one_less,
    a_write_lost=changed(
        lambda lost, spent, moments, every, write: (lost + write * len(moments), spent)
    ),
    largest_alone=changed(
        lambda lost, spent, moments, every, write: ((parts(moments) % (every + write)).max(), spent)
    ),
    everything=whole(lambda lengths, every: lengths.sum()),
    half_of_every=whole(lambda lengths, every: len(lengths) * every / 2),
    last_fault_only=partial(lost_and_spent, cut=lambda all: parts(all)[-1:]),
    first_fault_only=partial(lost_and_spent, cut=lambda all: all[:1]),
    first_part_missing=partial(lost_and_spent, cut=np.diff),
    begins_later=begins_later,
    until_the_next=changed(
        lambda lost, spent, moments, every, write: (len(moments) * (every + write) - lost, spent)
    ),
    moments_as_lengths=partial(lost_and_spent, cut=lambda all: all),
    one_for_each_fault=changed(
        lambda lost, spent, moments, every, write: (lost, write * len(moments))
    ),
    one_at_the_beginning=changed(
        lambda lost, spent, moments, every, write: (lost, spent + write * len(moments))
    ),
    checkpoints_counted=changed(lambda lost, spent, moments, every, write: (lost, spent // write)),
)

cost_of_faults = exercise(
    "distributed.cost_of_faults",
    oracle=lambda moments, every, write: lost_and_spent(moments, every, write),
    cases=cases_of(
        {
            "three faults": (3, 10, 2),
            "one fault": (1, 60, 7),
            "short checkpoints": (3, 100, 3),
            "long checkpoints": (7, 9, 31),
            "prime": (11, 17, 5),
            "fractions of a second": (7, 7.5, 1.25),
            "many": (97, 600, 45),
        },
        faults,
    ),
    wrong=WRONG_COST,
    forbidden=LIBRARIES,
    outputs=("lost", "spent"),
    groups=(frozenset({0, 1}),),
    dtype="any",
)
