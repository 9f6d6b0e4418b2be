"""The exercises of lesson restarts_and_monitoring: what to save, for whom, and how to write it."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.checkpoints.by_hand import share
from labkit.distributed.exercises.solutions import restarts_and_monitoring as solutions
from labkit.distributed.remembered import ARRAYS, PARTS, SmallTraining
from labkit.distributed.remembered_answers import Run, gone_on, unbroken
from labkit.distributed.reshard_answers import counted_reads
from labkit.distributed.save_answers import in_calm, survives

# --- distributed.snapshot


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


WRONG_SNAPSHOT = SimpleNamespace(
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
    random_not_copied=not_copied("random"),
    nothing_copied=not_copied(*ARRAYS, "random"),
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
    wrong=vars(WRONG_SNAPSHOT),
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

# --- distributed.reshard

Shards = Sequence[np.ndarray]


def saved_shards(
    rng: np.random.Generator, sizes: Sequence[int], width: int, ranks: int, rank: int
) -> tuple[list[np.ndarray], int, int]:
    """Shards of so many rows each, [rows, width]; for so many ranks, of which one asks."""
    return [rng.normal(size=(rows, width)) for rows in sizes], ranks, rank


def rows_of(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """The rank's part of all rows, as np.array_split deals them."""
    whole = np.concatenate(shards)
    return whole[slice(*share(len(whole), ranks, rank))]


def dealt(part: Callable[[np.ndarray, int, int], np.ndarray]) -> Callable[..., np.ndarray]:
    """As if a rank's rows were part(whole, ranks, rank)."""
    return lambda shards, ranks, rank: part(np.concatenate(shards), ranks, rank)


def whole_files(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if files were dealt to the ranks, not rows."""
    return np.concatenate(shards[slice(*share(len(shards), ranks, rank))])


def in_one_file(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if a part ended where the file ends in which it begins."""
    begin, end = share(sum(map(len, shards)), ranks, rank)
    first = 0
    for shard in shards:
        if first <= begin < first + len(shard):
            return shard[begin - first : end - first]
        first += len(shard)
    return shards[0][:0]


def as_long_as_the_first(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if every file had as many rows as the first one; beyond its end a file has none."""
    begin, end = share(sum(map(len, shards)), ranks, rank)
    each = len(shards[0])
    rows = [
        shards[row // each][row % each : row % each + 1]
        for row in range(begin, end)
        if each and row // each < len(shards)
    ]
    return np.concatenate(rows)


def from_the_end(whole: np.ndarray, ranks: int, rank: int) -> np.ndarray:
    """As if the last rank came first."""
    return whole[slice(*share(len(whole), ranks, ranks - 1 - rank))]


WRONG_RESHARD = SimpleNamespace(
    whole_files=whole_files,
    in_one_file=in_one_file,
    as_long_as_the_first=as_long_as_the_first,
    every_nth=dealt(lambda whole, ranks, rank: whole[rank::ranks]),
    all_rows=dealt(lambda whole, ranks, rank: whole),
    rest_is_lost=dealt(
        lambda whole, ranks, rank: whole[len(whole) // ranks * rank :][: len(whole) // ranks]
    ),
    rest_to_the_last=dealt(
        lambda whole, ranks, rank: whole[
            len(whole) // ranks * rank : None
            if rank == ranks - 1
            else len(whole) // ranks * (rank + 1)
        ]
    ),
    from_the_end=dealt(from_the_end),
    last_row_missing=dealt(
        lambda whole, ranks, rank: whole[slice(*share(len(whole), ranks, rank))][:-1]
    ),
    old_share=lambda shards, ranks, rank: shards[rank] if rank < len(shards) else shards[0][:0],
)

reshard = exercise(
    "distributed.reshard",
    oracle=rows_of,
    cases=cases_of(
        {
            "4 to 2": ((3, 3, 2, 2), 5, 2, 1),
            "one row": ((1,), 1, 1, 0),
            "one for all": ((2, 4, 1), 3, 1, 0),
            "2 to 4": ((5, 4), 3, 4, 2),
            "3 to 5": ((4, 3, 3), 2, 5, 1),
            "uneven files": ((1, 7, 2, 5), 3, 3, 1),
            "as it was": ((4, 4, 4), 2, 3, 2),
            "prime": ((11, 2, 17, 7), 7, 3, 2),
            "an empty file": ((3, 0, 4), 3, 2, 1),
            "many": ((40, 33, 21, 8, 60), 4, 7, 4),
        },
        saved_shards,
    ),
    wrong=vars(WRONG_RESHARD),
    forbidden=LIBRARIES,
    adapter=counted_reads,
    plain=lambda answer, *given: counted_reads(answer, look_at_cost=False)(*given),
    fallback=solutions.reshard,
    plain_python=True,
    rtol=0.0,
    atol=0.0,
)

# --- distributed.save_whole


def two_checkpoints(
    rng: np.random.Generator, ranks: int, *sizes: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The shards of an old and of a new checkpoint; sizes[rank % ...] numbers in each."""
    lengths = [sizes[rank % len(sizes)] for rank in range(ranks)]
    old, new = ([rng.normal(size=length) for length in lengths] for _ in range(2))
    return old, new


def the_new_one(old: Shards, new: Shards) -> np.ndarray:
    """What a reader finds after a save that nothing befell."""
    return np.concatenate(new)


WRONG_SAVE = SimpleNamespace(
    the_old_one=lambda old, new: np.concatenate(old),
    backwards=lambda old, new: np.concatenate(new[::-1]),
    one_for_all=lambda old, new: np.concatenate([new[0]] * len(new)),
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
    wrong=vars(WRONG_SAVE),
    forbidden=LIBRARIES,
    adapter=survives,
    plain=in_calm,
    fallback=solutions.save_whole,
    plain_python=True,
    rtol=0.0,
    atol=0.0,
)

EXERCISES = [snapshot, reshard, save_whole]
