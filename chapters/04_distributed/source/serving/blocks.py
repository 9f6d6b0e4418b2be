"""The two rules of a paged cache that the lesson's exercises ask for, as labkit itself uses them.

    blocks_for(33, size=16)                               # 3
    new_slots([4, 7], free=[2, 9], cached=31, new=2, size=16)
    # ([4, 7, 2], [127, 32]): token 31 at the end of block 7, token 32 at the start of block 2

A block has `size` slots, and a slot has room for one token's keys and values. Block b has slots
b * size to b * size + size - 1. A request's block table names its blocks in the order of its tokens
(Kwon et al. 2023, arXiv:2309.06180).
"""

from collections.abc import Sequence


def blocks_for(tokens: int, size: int) -> int:
    """Blocks that so many tokens need: the last one may be part empty."""
    return (tokens + size - 1) // size


def new_slots(
    table: Sequence[int], free: Sequence[int], cached: int, new: int, size: int
) -> tuple[list[int], list[int]]:
    """The table with room for `new` more tokens behind the `cached` ones, and a slot for each.

    A block is taken from the front of `free`, when the last one is full. The inputs stay as they
    are. Raises IndexError where `free` is too short: ask `blocks_for` before.
    """
    table = list(table)
    taken = 0
    slots = []
    for token in range(cached, cached + new):
        if token % size == 0:
            table.append(free[taken])
            taken += 1
        slots.append(table[-1] * size + token % size)
    return table, slots


def admitted(waiting: Sequence[int], rows: int, blocks: int, size: int) -> int:
    """How many of those that wait join the next step; `waiting` are their tokens, oldest first.

    Each takes one of the free `rows` of the batch, and of the free `blocks` as many as its tokens
    need. The first that does not fit ends it: nobody overtakes.
    """
    count = 0
    for tokens in waiting[:rows]:
        blocks -= blocks_for(tokens, size)
        if blocks < 0:
            break
        count += 1
    return count
