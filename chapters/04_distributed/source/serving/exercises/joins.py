"""Exercise distributed.who_joins: in order of arrival, while rows and blocks last."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.checks.phrasing import counted
from labkit_lessons.distributed.serving import solutions

Queue = tuple[np.ndarray, int, int, int]


def queue(
    rng: np.random.Generator,
    count: int,
    rows: int,
    size: int,
    fit: int,
    spare: int = 0,
    barely: bool = False,
) -> Queue:
    """Some that wait, and blocks for the first `fit` of them and `spare` more; no two alike.

    Where one does not fit, it is long, and short ones stand behind it. With `barely`, each needs a
    second block for a few of its tokens only.
    """
    if barely:
        return size + 1 + rng.permutation(count), rows, 2 * fit + spare, size
    behind = max(count - fit - 1, 0)
    short = rng.permutation(behind) + 1
    long = rng.permutation(np.arange(behind + 1, behind + 1 + 6 * size + count))
    tokens = np.concatenate([long[: count - behind], short])
    if fit < count:
        tokens[fit] += size * (spare + 6) + count
    blocks = needed(tokens[:fit], size) + spare
    return tokens, rows, blocks, size


def needed(tokens: Iterable[int], size: int) -> int:
    """Blocks for all of these, each rounded up."""
    return sum(math.ceil(int(one) / size) for one in tokens)


def joining(
    given: Queue,
    blocks_of: Callable[[int, int], float] = lambda tokens, size: math.ceil(tokens / size),
    fits: Callable[[float, float], bool] = lambda need, left: need <= left,
    overtakes: bool = False,
    by_rows: bool = True,
    order: Callable[[list[int]], list[int]] = list,
) -> int:
    """How many join, if each needs blocks_of(tokens, size)."""
    waiting, rows, blocks, size = given
    left, count = blocks, 0
    for tokens in order(waiting.tolist()):
        if by_rows and count == rows:
            break
        need = blocks_of(tokens, size)
        if fits(need, left):
            left -= need
            count += 1
        elif not overtakes:
            break
    return count


def all_or_nothing(waiting: np.ndarray, rows: int, blocks: int, size: int) -> int:
    """As if all had to join together."""
    fits = len(waiting) <= rows and needed(waiting, size) <= blocks
    return len(waiting) if fits else 0


def until_both_lack(waiting: np.ndarray, rows: int, blocks: int, size: int) -> int:
    """As if the queue stopped only where rows and blocks are short at once."""
    count = 0
    for tokens in waiting:
        need = math.ceil(int(tokens) / size)
        if count == rows and need > blocks:
            break
        count += 1
        blocks -= need
    return count


def with_the_last(waiting: np.ndarray, rows: int, blocks: int, size: int) -> int:
    """As if the first one whose blocks are not there were counted as well."""
    count = joining((waiting, rows, blocks, size))
    return count + (count < min(rows, len(waiting)))


def right(waiting: np.ndarray, rows: int, blocks: int, size: int) -> int:
    """The oracle; nobody else may call it during a check."""
    return joining((waiting, rows, blocks, size))


def a_number(answer: object) -> Callable:
    """A function of the inputs that gives a list to the learner's, and takes a number back."""
    refuse_no_function(answer)

    def judged(waiting: np.ndarray, rows: int, blocks: int, size: int) -> int:
        given = waiting.tolist()
        found: Any = answer(given, rows, blocks, size)
        if given != waiting.tolist():
            raise Refused("The function changes its input `waiting`: the caller still needs it.")
        if found is None:
            raise Unsolved("the function returns None")
        if isinstance(found, bool) or not isinstance(found, int | np.integer):
            raise Refused(f"The result is how many join, a whole number; this is {found!r}.")
        return int(found)

    return judged


def the_queue(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """The inputs of the first wrong case, while they are few."""
    waiting, rows, blocks, size = args
    if len(waiting) > 8:
        return []
    room = f"{counted(rows, 'row')} and {counted(blocks, 'block')} of {counted(size, 'slot')}"
    return [f"Here {waiting.tolist()} wait, for {room}."]


who_joins = exercise(
    "distributed.who_joins",
    oracle=right,
    cases=cases_of(
        {
            "one that fits": (1, 1, 4, 1),
            "one that does not fit": (1, 1, 4, 0, 1),
            "two of four": (4, 3, 4, 2, 1),
            "nobody waits": (0, 3, 4, 0, 5),
            "no row": (3, 0, 4, 3, 9),
            "no block": (3, 4, 4, 0),
            "rows are short": (7, 2, 5, 7, 30),
            "blocks are short": (7, 7, 5, 3, 1),
            "the last ones are long": (8, 8, 3, 5),
            "two blocks each": (6, 6, 16, 2, 1, True),
            "exactly full": (5, 9, 3, 4),
            "all fit": (6, 8, 7, 6, 3),
            "blocks of one slot": (5, 5, 1, 3),
            "many": (40, 30, 16, 21, 1),
            "many rows short": (40, 12, 16, 21, 1),
        },
        queue,
    ),
    wrong={
        "overtakes": lambda *q: joining(q, overtakes=True),
        "no_rows": lambda *q: joining(q, by_rows=False),
        "no_blocks": lambda *q: joining(q, fits=lambda need, left: True),
        "rounded_down": lambda *q: joining(q, lambda tokens, size: tokens // size),
        "rounded": lambda *q: joining(q, lambda tokens, size: round(tokens / size)),
        "rounded_but_one": lambda *q: joining(q, lambda tokens, size: max(round(tokens / size), 1)),
        "overtakes_in_front": lambda waiting, rows, blocks, size: joining(
            (waiting[:rows], rows, blocks, size), overtakes=True
        ),
        "who_waits": lambda *q: len(q[0]) - joining(q),
        "first_alone": lambda *q: min(joining(q), 1),
        "one_more": lambda *q: joining(q, lambda tokens, size: tokens // size + 1),
        "pooled": lambda *q: joining(q, lambda tokens, size: tokens / size),
        "one_block_each": lambda *q: joining(q, lambda tokens, size: 1),
        "tokens_as_blocks": lambda *q: joining(q, lambda tokens, size: tokens),
        "a_block_to_spare": lambda *q: joining(q, fits=lambda need, left: need < left),
        "with_the_last": with_the_last,
        "a_row_too_many": lambda waiting, rows, blocks, size: joining(
            (waiting, rows + 1, blocks, size)
        ),
        "a_row_to_spare": lambda waiting, rows, blocks, size: joining(
            (waiting, max(rows - 1, 0), blocks, size)
        ),
        "size_of_4": lambda waiting, rows, blocks, size: joining((waiting, rows, blocks, 4)),
        "size_of_16": lambda waiting, rows, blocks, size: joining((waiting, rows, blocks, 16)),
        "without_a_row": lambda waiting, rows, blocks, size: joining(
            (waiting, max(rows, 1), blocks, size)
        ),
        "until_both_lack": until_both_lack,
        "one_less": lambda *q: joining(q) - 1,
        "all_or_nothing": all_or_nothing,
        "any_block": lambda *q: joining(q, fits=lambda need, left: left > 0),
        "each_alone": lambda *q: joining(
            q, lambda tokens, size: 0 if math.ceil(tokens / size) <= q[2] else math.inf
        ),
        "shortest_first": lambda *q: joining(q, order=sorted),
        "newest_first": lambda *q: joining(q, order=lambda waiting: waiting[::-1]),
    },
    adapter=a_number,
    plain=lambda answer, *given: a_number(answer)(*given),
    fallback=solutions.who_joins,
    plain_python=True,
    outputs=("joining",),
    locate=the_queue,
    general_causes=False,
    forbidden=(*LIBRARIES, "labkit_lessons.distributed.serving"),
)
