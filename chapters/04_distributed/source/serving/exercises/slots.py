"""Exercise distributed.token_slots: blocks on demand, and the slot of each new token."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.checks.phrasing import counted
from labkit_lessons.distributed.serving import solutions

Cache = tuple[np.ndarray, np.ndarray, int, int, int]
Slots = tuple[np.ndarray, np.ndarray]


def scattered(
    rng: np.random.Generator,
    cached: int,
    new: int,
    size: int,
    spare: int = 6,
) -> Cache:
    """A table and free blocks in no order, and so many free ones that nobody needs."""
    before = blocks(cached, size)
    after = blocks(cached + new, size)
    numbers = rng.permutation(3 * after + spare + 8)
    free = numbers[before : after + spare]
    return numbers[:before], free, cached, new, size


def blocks(tokens: int, size: int) -> int:
    """That so many tokens need."""
    return (tokens + size - 1) // size


def by_rule(
    cache: Cache,
    begins_block: Callable[[int, int, int], bool] = lambda token, size, have: token % size == 0,
    slot: Callable[[list, int, int], int] = lambda table, t, size: table[-1] * size + t % size,
    take: Callable[[list], int] = lambda free: free.pop(0),
    in_front: bool = False,
) -> Slots:
    """Table and slots, if a token for which begins_block holds takes a block.

    begins_block is asked for a token, the slots in a block, and how many blocks there are so far.
    """
    table, free, cached, new, size = cache
    grown = table.tolist()
    left = free.tolist()
    slots = []
    for token in range(cached, cached + new):
        if begins_block(token, size, len(grown)):
            grown.insert(0 if in_front else len(grown), take(left))
        slots.append(slot(grown, token, size))
    return np.array(grown, dtype=int), np.array(slots, dtype=int)


def right(table: np.ndarray, free: np.ndarray, cached: int, new: int, size: int) -> Slots:
    """The oracle; nobody else may call it during a check."""
    return by_rule((table, free, cached, new, size))


def when_needed(*cache: Any) -> Slots:
    """As if all blocks of the new tokens were taken as for a request of its own."""
    table, free, cached, new, size = cache
    grown = np.concatenate([table, free[: blocks(new, size)]])
    tokens = np.arange(cached, cached + new)
    places = np.minimum(tokens // size, len(grown) - 1)
    return grown, grown[places] * size + tokens % size


def one_block_ahead(*cache: Any) -> Slots:
    """As if a full block were followed by a free one before its next token."""
    table, free, cached, new, size = cache
    grown, slots = right(*cache)
    taken = len(grown) - len(table)
    full = (cached + new) % size == 0
    return np.concatenate([grown, free[taken : taken + full]]), slots


def all_in_the_last(*cache: Any) -> Slots:
    """As if all blocks were taken first, and then all tokens went into the last of them."""
    _, _, cached, new, size = cache
    grown, _ = right(*cache)
    tokens = np.arange(cached, cached + new)
    return grown, np.array([grown[-1] * size + token % size for token in tokens], dtype=int)


def taken_behind(*cache: Any) -> Slots:
    """As if the token that fills a block took the next one."""
    table, free, cached, new, size = cache
    grown, left, slots = table.tolist(), free.tolist(), []
    for token in range(cached, cached + new):
        slots.append(grown[-1] * size + token % size)
        if token % size == size - 1:
            grown.append(left.pop(0))
    return np.array(grown, dtype=int), np.array(slots, dtype=int)


def slots_of_all(*cache: Any) -> np.ndarray:
    """The slots of the tokens before, too."""
    _, _, cached, new, size = cache
    tokens = np.arange(cached + new)
    return right(*cache)[0][tokens // size] * size + tokens % size


def with_size(cache: Cache, size: int) -> Slots:
    """As if a block had so many slots, whatever the last argument says."""
    return by_rule((*cache[:4], size))


def smallest(free: list) -> int:
    """Takes the block with the smallest number."""
    return free.pop(free.index(min(free)))


def lists(answer: object) -> Callable:
    """A function of the inputs that gives lists to the learner's, and takes two back."""
    refuse_no_function(answer)

    def judged(
        table: np.ndarray,
        free: np.ndarray,
        cached: int,
        new: int,
        size: int,
    ) -> Slots:
        given = table.tolist(), free.tolist()
        found = answer(*given, cached, new, size)
        for name, before, after in zip(
            ("table", "free"),
            (table, free),
            given,
            strict=True,
        ):
            if after != before.tolist():
                raise Refused(
                    f"The function changes its input `{name}`: the caller still needs it. Work on "
                    f"the copy that the first line makes."
                )
        if found is None:
            raise Unsolved("the function returns None")
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Refused("The function returns two lists: the table, and a slot for each token.")
        return whole_numbers("table", found[0]), whole_numbers("slots", found[1])

    return judged


def whole_numbers(name: str, values: Any) -> np.ndarray:
    """An array of whole numbers; Refused for anything else."""
    try:
        array = np.array([*values])
    except (TypeError, ValueError):
        raise Refused(f"`{name}` is a list of whole numbers, not {values!r}.") from None
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise Refused(f"`{name}` is a list of whole numbers; here it is {list(values)!r}.")
    return array.astype(int)


def which_token(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number belongs to."""
    _, _, cached, new, size = args
    in_a_block = f"with {counted(size, 'slot')} in a block."
    if output == "slots":
        return [f"slots[{index[0]}] is that of token {cached + index[0]}, {in_a_block}"]
    if new == 1:
        return [f"Token {cached} is new, {in_a_block}"]
    return [f"Tokens {cached} to {cached + new - 1} are new, {in_a_block}"]


token_slots = exercise(
    "distributed.token_slots",
    oracle=right,
    cases=cases_of(
        {
            "one of each": (4, 1, 4, 0),
            "the first token": (0, 1, 4),
            "nothing new": (5, 0, 4),
            "blocks of one slot": (3, 2, 1),
            "into a block that has room": (6, 1, 4),
            "into a new block": (8, 1, 4),
            "prime": (5, 7, 3),
            "a prompt": (0, 33, 16),
            "as many as in the lesson": (6, 3, 4),
            "fills its block": (6, 2, 4),
            "a second prompt": (16, 16, 8),
            "many": (77, 150, 16),
        },
        scattered,
    ),
    wrong={
        "no_table": lambda *c: (right(*c)[0], np.arange(c[2], c[2] + c[3])),
        "no_offset": lambda *c: by_rule(c, slot=lambda table, t, size: table[-1] * size),
        "not_times_size": lambda *c: by_rule(c, slot=lambda table, t, size: table[-1] + t % size),
        "offset_from_one": lambda *c: by_rule(
            c, slot=lambda table, t, size: table[-1] * size + t % size + 1
        ),
        "offset_of_new": lambda *c: by_rule(
            c, slot=lambda table, t, size: table[-1] * size + (t - c[2]) % size
        ),
        "first_block": lambda *c: by_rule(
            c, slot=lambda table, t, size: table[0] * size + t % size
        ),
        "one_block_each": lambda *c: by_rule(c, lambda token, size, have: True),
        "one_block_a_call": lambda *c: by_rule(
            c, lambda token, size, have: token == c[2] or token % size == 0
        ),
        "table_as_it_was": lambda *c: (c[0], right(*c)[1]),
        "new_blocks_alone": lambda *c: (right(*c)[0][len(c[0]) :], right(*c)[1]),
        "counted_from_new": lambda *c: by_rule(
            c, lambda token, size, have: (token - c[2]) % size == 0
        ),
        "a_token_late": lambda *c: by_rule(c, lambda token, size, have: token > have * size),
        "a_token_early": lambda *c: by_rule(c, lambda token, size, have: (token + 1) % size == 0),
        "a_token_early_by_place": lambda *c: by_rule(
            c,
            lambda token, size, have: (token + 1) % size == 0,
            slot=lambda table, t, size: table[t // size] * size + t % size,
        ),
        "taken_behind": taken_behind,
        "all_in_the_last": all_in_the_last,
        "last_first": lambda *c: by_rule(c, take=lambda free: free.pop()),
        "smallest_first": lambda *c: by_rule(c, take=smallest),
        "not_taken_out": lambda *c: by_rule(c, take=lambda free: free[0]),
        "in_front": lambda *c: by_rule(c, in_front=True),
        "token_as_offset": lambda *c: by_rule(c, slot=lambda table, t, size: table[-1] * size + t),
        "swapped": lambda *c: by_rule(
            c,
            slot=lambda table, t, size: table[-1] + t % size * size,
        ),
        "empty_table": lambda *c: by_rule((c[0][:0], *c[1:])),
        "none_for_token_0": lambda *c: by_rule(
            c, lambda token, size, have: token % size == 0 and token > 0
        ),
        "one_block_ahead": one_block_ahead,
        "slots_of_all": lambda *c: (right(*c)[0], slots_of_all(*c)),
        "last_slot_alone": lambda *c: (right(*c)[0], right(*c)[1][-1:]),
        "size_of_4": lambda *c: with_size(c, 4),
        "size_of_16": lambda *c: with_size(c, 16),
        "as_one_request": when_needed,
    },
    adapter=lists,
    plain=lambda answer, *given: lists(answer)(*given),
    fallback=solutions.token_slots,
    plain_python=True,
    outputs=("table", "slots"),
    groups=(frozenset({0, 1}),),
    locate=which_token,
    forbidden=(*LIBRARIES, "labkit_lessons.distributed.serving"),
)
