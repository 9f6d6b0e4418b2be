"""Exercise distributed.reshard: a rank's rows out of the shards that other ranks have written.

Dense: each wrong idea is another range of rows, in one formula.
"""

from collections.abc import Callable, Sequence

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.restarts_and_monitoring import solutions
from labkit_lessons.distributed.restarts_and_monitoring.by_hand import share
from labkit_lessons.distributed.restarts_and_monitoring.reshard_answers import counted_reads

Shards = Sequence[np.ndarray]


def saved_shards(
    rng: np.random.Generator, sizes: Sequence[int], width: int, ranks: int, rank: int
) -> tuple[list[np.ndarray], int, int]:
    """Shards of so many rows each, [rows, width]; for so many ranks, of which one asks."""
    return [rng.normal(size=(rows, width)) for rows in sizes], ranks, rank


def share_of(shards: Shards, ranks: int, rank: int) -> tuple[int, int]:
    """Where the rank's part of all rows begins, and where it ends."""
    return share(sum(map(len, shards)), ranks, rank)


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
    begin, end = share_of(shards, ranks, rank)
    first = 0
    for shard in shards:
        if first <= begin < first + len(shard):
            return shard[begin - first : end - first]
        first += len(shard)
    return shards[0][:0]


def each_by_itself(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if the rows of all were counted from 0 again in each file."""
    begin, end = share_of(shards, ranks, rank)
    return np.concatenate([shard[begin:end] for shard in shards])


def as_long_as_the_first(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if every file had as many rows as the first one; beyond its end a file has none."""
    begin, end = share_of(shards, ranks, rank)
    each = len(shards[0])
    rows = [
        shards[row // each][row % each : row % each + 1]
        for row in range(begin, end)
        if each and row // each < len(shards)
    ]
    return np.concatenate(rows)


def pieces(shards: Shards, ranks: int, rank: int) -> list[tuple[np.ndarray, bool]]:
    """What each file has of the rank's part, and whether that reaches the file's last row."""
    begin, end = share_of(shards, ranks, rank)
    found = []
    first = 0
    for shard in shards:
        piece = shard[max(begin - first, 0) : max(end - first, 0)]
        found.append((piece, end >= first + len(shard)))
        first += len(shard)
    return found


def up_to_a_gap(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if nothing more came behind a file that has no row of the part."""
    found = []
    for piece, _ in pieces(shards, ranks, rank):
        if found and not len(piece):
            break
        if len(piece):
            found.append(piece)
    return np.concatenate(found)


def begins_and_ends(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if a part lay in the file that it begins in, and in the one that it ends in."""
    found = [piece for piece, _ in pieces(shards, ranks, rank) if len(piece)]
    return np.concatenate(found if len(found) < 2 else [found[0], found[-1]])


def more_than_one_row(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if a single row of a file were none."""
    return np.concatenate([piece for piece, _ in pieces(shards, ranks, rank) if len(piece) != 1])


def first_rows_by_the_first(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if file i began with row i times the length of the first one."""
    begin, end = share_of(shards, ranks, rank)
    each = len(shards[0])
    return np.concatenate(
        [shard[max(begin - i * each, 0) : max(end - i * each, 0)] for i, shard in enumerate(shards)]
    )


def counted_too_early(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if a file began where it ends."""
    begin, end = share_of(shards, ranks, rank)
    ends = np.cumsum([len(shard) for shard in shards])
    found = [
        shard[max(begin - first, 0) : max(end - first, 0)]
        for shard, first in zip(shards, ends, strict=True)
        if max(begin, first) < min(end, first + len(shard))
    ]
    return np.concatenate(found)


def files_backwards(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if what is read later came first."""
    return np.concatenate([piece for piece, _ in pieces(shards, ranks, rank)][::-1])


def as_many_files(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if each rank got len(files) // ranks whole files."""
    each = len(shards) // ranks
    return np.concatenate(shards[rank * each : (rank + 1) * each])


def last_of_each_piece(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if the last row that is wanted of a file were not read."""
    return np.concatenate([piece[:-1] for piece, _ in pieces(shards, ranks, rank)])


def last_of_each_file(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if a file ended a row earlier than it does."""
    found = pieces(shards, ranks, rank)
    return np.concatenate([piece[:-1] if to_its_end else piece for piece, to_its_end in found])


def first_of_each_later_file(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if row 0 of a file did not belong to the part that goes on in it."""
    found = [piece for piece, _ in pieces(shards, ranks, rank) if len(piece)]
    return np.concatenate([found[0], *(piece[1:] for piece in found[1:])])


def one_row_more(shards: Shards, ranks: int, rank: int) -> np.ndarray:
    """As if the row at `end` belonged to the part; behind the last there is none."""
    whole = np.concatenate(shards)
    begin, end = share(len(whole), ranks, rank)
    return whole[begin : end + 1]


def from_the_end(whole: np.ndarray, ranks: int, rank: int) -> np.ndarray:
    """As if the last rank came first."""
    return whole[slice(*share(len(whole), ranks, ranks - 1 - rank))]


WRONG_RESHARD = dict(
    whole_files=whole_files,
    in_one_file=in_one_file,
    each_by_itself=each_by_itself,
    as_long_as_the_first=as_long_as_the_first,
    up_to_a_gap=up_to_a_gap,
    begins_and_ends=begins_and_ends,
    more_than_one_row=more_than_one_row,
    first_rows_by_the_first=first_rows_by_the_first,
    counted_too_early=counted_too_early,
    files_backwards=files_backwards,
    as_many_files=as_many_files,
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
    next_ones=dealt(
        lambda whole, ranks, rank: whole[slice(*share(len(whole), ranks, (rank + 1) % ranks))]
    ),
    those_before=dealt(
        lambda whole, ranks, rank: whole[slice(*share(len(whole), ranks, (rank - 1) % ranks))]
    ),
    rounded_borders=dealt(
        lambda whole, ranks, rank: whole[
            round(len(whole) * rank / ranks) : round(len(whole) * (rank + 1) / ranks)
        ]
    ),
    rounded_up=dealt(
        lambda whole, ranks, rank: whole[-(-len(whole) // ranks) * rank :][
            : -(-len(whole) // ranks)
        ]
    ),
    first_row_missing=dealt(
        lambda whole, ranks, rank: whole[slice(*share(len(whole), ranks, rank))][1:]
    ),
    one_row_more=one_row_more,
    in_float32=dealt(
        lambda whole, ranks, rank: whole[slice(*share(len(whole), ranks, rank))].astype(np.float32)
    ),
    last_of_each_piece=last_of_each_piece,
    last_of_each_file=last_of_each_file,
    first_of_each_later_file=first_of_each_later_file,
    old_share=lambda shards, ranks, rank: shards[rank] if rank < len(shards) else shards[0][:0],
)

reshard = exercise(
    "distributed.reshard",
    oracle=rows_of,
    cases=cases_of(
        {
            "4 to 2": ((2, 3, 3, 2), 5, 2, 0),
            "4 to 2, the other rank": ((3, 3, 2, 2), 5, 2, 1),
            "one row": ((1,), 1, 1, 0),
            "one for all": ((2, 4, 1), 3, 1, 0),
            "2 to 4": ((5, 4), 3, 4, 2),
            "3 to 5": ((4, 3, 3), 2, 5, 1),
            "uneven files": ((1, 7, 2, 5), 3, 3, 1),
            "as it was": ((4, 4, 4), 2, 3, 2),
            "prime": ((11, 2, 17, 7), 7, 3, 1),
            "an empty file": ((3, 0, 4), 3, 2, 1),
            "an empty file between two": ((4, 0, 5, 2), 2, 2, 0),
            "many": ((40, 33, 21, 8, 60), 4, 7, 4),
        },
        saved_shards,
    ),
    wrong=WRONG_RESHARD,
    forbidden=LIBRARIES,
    adapter=counted_reads,
    plain=lambda answer, *given: counted_reads(answer, look_at_cost=False)(*given),
    fallback=solutions.reshard,
    plain_python=True,
    rtol=0.0,
    atol=0.0,
)
