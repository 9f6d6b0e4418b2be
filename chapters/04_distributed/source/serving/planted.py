"""Wrong and right answers for lesson serving."""

import math

import numpy as np

from tests.exercises.edits import edit

# --- distributed.latency_percentile

PERCENTILE = "distributed.latency_percentile"
NUMBER = "math.ceil(percent * len(latencies) / 100)"
SORTED = "sorted(finishes - arrivals)"
RESULT = "latencies[number - 1]"
no_minus_one = edit(PERCENTILE, "no_minus_one", RESULT, "latencies[number]")
cut_off = edit(PERCENTILE, "cut_off", RESULT, "latencies[int(percent * len(latencies) / 100)]")
cut_off_at_the_end = edit(
    PERCENTILE,
    "cut_off_at_the_end",
    RESULT,
    "latencies[min(percent * len(latencies) // 100, len(latencies) - 1)]",
)
the_number = edit(PERCENTILE, "the_number", RESULT, "number")
of_a_set = edit(PERCENTILE, "of_a_set", SORTED, "sorted(set(finishes - arrivals))")
not_by_100 = edit(PERCENTILE, "not_by_100", NUMBER, "math.ceil(percent * len(latencies))")
rounded_down = edit(PERCENTILE, "rounded_down", NUMBER, "max(1, percent * len(latencies) // 100)")
rounded = edit(PERCENTILE, "rounded", NUMBER, "max(1, round(percent * len(latencies) / 100))")
share_of_n_first = edit(
    PERCENTILE, "share_of_n_first", NUMBER, "math.ceil(len(latencies) / 100 * percent)"
)
share_first = edit(PERCENTILE, "share_first", NUMBER, "math.ceil(percent / 100 * len(latencies))")
the_last = edit(PERCENTILE, "the_last", RESULT, "latencies[-1]")
p99_always = edit(PERCENTILE, "p99_always", NUMBER, "math.ceil(99 * len(latencies) / 100)")
whole_units = edit(PERCENTILE, "whole_units", RESULT, f"int({RESULT})")
SORTED_ONCE = {}
sorted_once = edit(
    PERCENTILE,
    "sorted_once",
    SORTED,
    "SORTED_ONCE.setdefault((len(arrivals), percent), sorted(finishes - arrivals))",
)
sorted_once.__globals__["SORTED_ONCE"] = SORTED_ONCE
longest_first = edit(PERCENTILE, "longest_first", SORTED, "sorted(finishes - arrivals)[::-1]")
not_sorted = edit(PERCENTILE, "not_sorted", SORTED, "list(finishes - arrivals)")
only_finishes = edit(PERCENTILE, "only_finishes", SORTED, "sorted(finishes)")
in_place = edit(
    PERCENTILE,
    "in_place",
    "latencies = sorted(finishes - arrivals)",
    "finishes -= arrivals\n    latencies = sorted(finishes)",
)


def by_numpy(arrivals, finishes, percent):
    return np.percentile(finishes - arrivals, percent)


def lower_by_numpy(arrivals, finishes, percent):
    return np.percentile(finishes - arrivals, percent, method="lower")


def higher_by_numpy(arrivals, finishes, percent):
    return np.percentile(finishes - arrivals, percent, method="higher")


def by_partition(arrivals, finishes, percent):
    latencies = finishes - arrivals
    place = -(-percent * latencies.size // 100) - 1
    return np.partition(latencies, place)[place]


def in_order_of_finish(arrivals, finishes, percent):
    order = np.argsort(finishes)
    rank = -(-percent * len(order) // 100)
    return (finishes - arrivals)[order][rank - 1]


def both_sorted(arrivals, finishes, percent):
    rank = -(-percent * len(arrivals) // 100)
    return sorted(np.sort(finishes) - np.sort(arrivals))[rank - 1]


def mean(arrivals, finishes, percent):
    return (finishes - arrivals).mean()


def of_the_longest(arrivals, finishes, percent):
    return percent / 100 * (finishes - arrivals).max()


def by_labkit(arrivals, finishes, percent):
    from labkit_lessons.distributed.serving.simulation import percentile

    return percentile((finishes - arrivals).tolist(), percent)


def by_counting(arrivals, finishes, percent):
    latencies = [b - a for a, b in zip(arrivals, finishes, strict=True)]
    enough = percent * len(latencies) / 100
    for one in sorted(latencies):
        if sum(other <= one for other in latencies) >= enough:
            return one


# --- distributed.token_slots

SLOTS = "distributed.token_slots"
FULL = "token % size == 0"
SLOT = "table[-1] * size + token % size"
no_table = edit(SLOTS, "no_table", SLOT, "token")
no_offset = edit(SLOTS, "no_offset", SLOT, "table[-1] * size")
not_times_size = edit(SLOTS, "not_times_size", SLOT, "table[-1] + token % size")
from_one = edit(SLOTS, "from_one", SLOT, "table[-1] * size + token % size + 1")
offset_of_new = edit(SLOTS, "offset_of_new", SLOT, "table[-1] * size + (token - cached) % size")
first_block = edit(SLOTS, "first_block", SLOT, "table[0] * size + token % size")
one_block_each = edit(SLOTS, "one_block_each", FULL, "True")
each_call = edit(SLOTS, "each_call", FULL, "token == cached or token % size == 0")
counts_new = edit(SLOTS, "counts_new", FULL, "(token - cached) % size == 0")
last_free = edit(SLOTS, "last_free", "free.pop(0)", "free.pop()")
least_free = edit(SLOTS, "least_free", "list(free), []", "sorted(free), []")
stays_free = edit(SLOTS, "stays_free", "free.pop(0)", "free[0]")
token_late = edit(SLOTS, "token_late", FULL, "token > len(table) * size")
at_the_front = edit(SLOTS, "at_the_front", "table.append(", "table.insert(0, ")
whole_token = edit(SLOTS, "whole_token", SLOT, "table[-1] * size + token")
block_for_slot = edit(SLOTS, "block_for_slot", SLOT, "table[-1] + token % size * size")
from_nothing = edit(SLOTS, "from_nothing", "list(table), list", "[], list")
none_at_first = edit(SLOTS, "none_at_first", FULL, "token and token % size == 0")
fours = edit(SLOTS, "fours", "cached + new):", "cached + new):\n        size = 4")
sixteens = edit(SLOTS, "sixteens", "cached + new):", "cached + new):\n        size = 16")
COPIES = "table, free, slots = list(table), list(free), []"
float_slots = edit(SLOTS, "float_slots", SLOT, f"float({SLOT})")
FIRST_SLOTS = {}
slots_by_size = edit(
    SLOTS,
    "slots_by_size",
    "return table, slots",
    "return table, FIRST_SLOTS.setdefault((cached, new, size), slots)",
)
slots_by_size.__globals__["FIRST_SLOTS"] = FIRST_SLOTS
takes_the_callers = edit(SLOTS, "takes_the_callers", COPIES, "table, slots = list(table), []")
block_and_offset = edit(SLOTS, "block_and_offset", SLOT, "(table[-1], token % size)")


def forgets_the_table(table, free, cached, new, size):
    free, slots = list(free), []
    blocks = list(table)
    for token in range(cached, cached + new):
        if token % size == 0:
            blocks.append(free.pop(0))
        slots.append(blocks[-1] * size + token % size)
    return table, slots


def taken_alone(table, free, cached, new, size):
    grown, slots = by_block_numbers(table, free, cached, new, size)
    return grown[len(table) :], slots


def ready_for_the_next(table, free, cached, new, size):
    grown, slots = by_block_numbers(table, free, cached, new, size)
    if (cached + new) % size == 0:
        grown += (free[len(grown) - len(table)],)
    return grown, slots


def of_all_tokens(table, free, cached, new, size):
    grown, _ = by_block_numbers(table, free, cached, new, size)
    return grown, [grown[t // size] * size + t % size for t in range(cached + new)]


def like_a_new_one(table, free, cached, new, size):
    count = -(-new // size)
    grown = list(table) + list(free[:count])
    tokens = range(cached, cached + new)
    return grown, [grown[t // size] * size + t % size for t in tokens]


def slots_by_labkit(table, free, cached, new, size):
    from labkit_lessons.distributed.serving.blocks import new_slots

    return new_slots(table, free, cached, new, size)


def blocks_first(table, free, cached, new, size):
    needed = -(-(cached + new) // size)
    grown = np.array([*table, *free[: needed - len(table)]])
    tokens = np.arange(cached, cached + new)
    return grown, grown[tokens // size] * size + tokens % size


def by_block_numbers(table, free, cached, new, size):
    grown = tuple(table)
    places = ()
    left = iter(free)
    for token in range(cached, cached + new):
        block, offset = divmod(token, size)
        if block == len(grown):
            grown += (next(left),)
        places += (grown[block] * size + offset,)
    return [grown, places]


# --- distributed.who_joins

JOINS = "distributed.who_joins"
NEED = "math.ceil(tokens / size)"
LIMITS = "joining == rows or need > blocks"
no_rows = edit(JOINS, "no_rows", LIMITS, "need > blocks")
no_blocks = edit(JOINS, "no_blocks", LIMITS, "joining == rows")
floor = edit(JOINS, "floor", NEED, "tokens // size")
one_is_enough = edit(JOINS, "one_is_enough", LIMITS, "joining == rows or blocks <= 0")
to_the_nearest = edit(JOINS, "to_the_nearest", NEED, "round(tokens / size)")
one_row_more = edit(JOINS, "one_row_more", LIMITS, "joining > rows or need > blocks")
one_row_less = edit(JOINS, "one_row_less", LIMITS, "joining + 1 >= rows or need > blocks")
one_more = edit(JOINS, "one_more", NEED, "tokens // size + 1")
pooled = edit(JOINS, "pooled", NEED, "tokens / size")
one_each = edit(JOINS, "one_each", NEED, "1")
as_blocks = edit(JOINS, "as_blocks", NEED, "tokens")
spare = edit(JOINS, "spare", LIMITS, "joining == rows or need >= blocks")
nothing_taken = edit(JOINS, "nothing_taken", "blocks -= need", "pass")
overtakes = edit(
    JOINS,
    "overtakes",
    f"if {LIMITS}:",
    "if need > blocks:\n            continue\n        if joining == rows:",
)
shortest = edit(JOINS, "shortest", "for tokens in waiting:", "for tokens in sorted(waiting):")
newest = edit(JOINS, "newest", "for tokens in waiting:", "for tokens in waiting[::-1]:")


blocks_of_4 = edit(JOINS, "blocks_of_4", NEED, "math.ceil(tokens / 4)")
both_lack = edit(JOINS, "both_lack", LIMITS, "joining == rows and need > blocks")
ANSWERS = {}


def kept_by_room(waiting, rows, blocks, size):
    room = (len(waiting), rows, blocks, size)
    return ANSWERS.setdefault(room, by_trying(waiting, rows, blocks, size))


def rows_go_down(waiting, rows, blocks, size):
    joining = 0
    for tokens in waiting:
        blocks -= math.ceil(tokens / size)
        if blocks < 0:
            break
        joining += 1
        rows -= 1
        if rows <= 0:
            break
    return joining


def counts_first(waiting, rows, blocks, size):
    joining = 0
    for tokens in waiting[:rows]:
        joining += 1
        blocks -= math.ceil(tokens / size)
        if blocks < 0:
            break
    return joining


def everybody(waiting, rows, blocks, size):
    need = sum(math.ceil(tokens / size) for tokens in waiting)
    return len(waiting) if len(waiting) <= rows and need <= blocks else 0


def empties(waiting, rows, blocks, size):
    joining = 0
    while waiting and joining < rows:
        blocks -= -(-waiting.pop(0) // size)
        if blocks < 0:
            break
        joining += 1
    return joining


def joins_by_labkit(waiting, rows, blocks, size):
    from labkit_lessons.distributed.serving.blocks import admitted

    return admitted(waiting, rows, blocks, size)


def by_sums(waiting, rows, blocks, size):
    needs = np.cumsum([-(-tokens // size) for tokens in waiting[:rows]])
    return (needs <= blocks).sum()


def by_trying(waiting, rows, blocks, size):
    count = min(rows, len(waiting))
    while sum((tokens + size - 1) // size for tokens in waiting[:count]) > blocks:
        count -= 1
    return count


PLANTED = {
    PERCENTILE: [
        (no_minus_one, "number 1 is at [0]"),
        (cut_off, "without its fraction: where"),
        (cut_off_at_the_end, "without its fraction, and at most n - 1"),
        (the_number, "This is the number itself"),
        (not_by_100, "divide by 100"),
        (of_a_set, "Equal latencies count once"),
        (rounded_down, "The number is rounded down"),
        (rounded, "rounded to the nearest whole number"),
        (longest_first, "counts from the longest latency"),
        (not_sorted, "stand in order of arrival"),
        (only_finishes, "not how long it took"),
        (by_numpy, "lies between two latencies"),
        (in_order_of_finish, "in which the requests finished"),
        (both_sorted, "sorted apart"),
        (mean, "This is the mean"),
        (of_the_longest, "a share of the longest latency"),
        (share_of_n_first, "n / 100 comes first, in a float"),
        (share_first, "percent / 100 comes first, in a float"),
        (lower_by_numpy, "takes the lower latency"),
        (higher_by_numpy, "takes the higher latency"),
        (the_last, "This is the longest latency"),
        (p99_always, "This is p99"),
        (whole_units, "cut off to whole numbers"),
        (sorted_once, "something is kept from one call to the next"),
        (in_place, "changes its input finishes"),
        (by_labkit, "labkit_lessons.distributed.serving"),
    ],
    SLOTS: [
        (no_table, "the tokens' own numbers"),
        (no_offset, "All tokens of a block get its first slot"),
        (not_times_size, "not its first slot: block b begins"),
        (from_one, "The offset counts from 0"),
        (offset_of_new, "The offset counts from the first new token"),
        (first_block, "into the first block of the table"),
        (one_block_each, "Each token gets a block of its own"),
        (each_call, "Every call begins a new block"),
        (counts_new, "Blocks are counted from the first new token"),
        (last_free, "from the end of free"),
        (least_free, "The smallest number is taken"),
        (stays_free, "taken again and again"),
        (token_late, "one token too late"),
        (at_the_front, "at the front of the table"),
        (whole_token, "The whole number of the token is added"),
        (block_for_slot, "Block and offset are swapped"),
        (from_nothing, "The table begins empty"),
        (none_at_first, "Token 0 finds no block"),
        (fours, "4 slots in each block"),
        (sixteens, "16 slots in each block"),
        (taken_alone, "Only the new blocks come back"),
        (forgets_the_table, "The table comes back as it was"),
        (like_a_new_one, "as if none were there before"),
        (ready_for_the_next, "is followed by a free one at once"),
        (of_all_tokens, "the slots of all tokens"),
        (float_slots, "slots is a list of whole numbers; here it is [0.0]"),
        (slots_by_size, "something is kept from one call to the next"),
        (block_and_offset, "is a list of whole numbers; here it is [("),
        (takes_the_callers, "changes its input free"),
        (slots_by_labkit, "labkit_lessons.distributed.serving"),
    ],
    JOINS: [
        (no_rows, "This forgets the rows"),
        (no_blocks, "This forgets the blocks"),
        (floor, "rounded down"),
        (to_the_nearest, "to the nearest whole number"),
        (one_is_enough, "A single free block lets anybody in"),
        (counts_first, "is counted as well"),
        (one_row_more, "stop when there are as many as rows"),
        (one_row_less, "take the last free row do fit"),
        (everybody, "All join, or nobody"),
        (one_more, "a block too many"),
        (pooled, "of no use to another"),
        (one_each, "gives each request one block"),
        (as_blocks, "takes a block for each token"),
        (spare, "take the last free block do fit"),
        (nothing_taken, "Each is compared with all free blocks"),
        (overtakes, "Somebody overtakes"),
        (shortest, "The shortest are let in first"),
        (newest, "The last to arrive are let in first"),
        (blocks_of_4, "blocks of 4 slots, as in the example"),
        (both_lack, "short at once"),
        (kept_by_room, "Here [1] wait"),
        (rows_go_down, "even where no row is free"),
        (empties, "changes its input waiting"),
        (joins_by_labkit, "labkit_lessons.distributed.serving"),
    ],
}
ALSO_RIGHT = {
    PERCENTILE: [by_partition, by_counting],
    SLOTS: [blocks_first, by_block_numbers],
    JOINS: [by_sums, by_trying],
}
TWO_SECONDS_EACH = (np.zeros(3), np.full(3, 2.0))
RIGHT_ON = {
    no_minus_one: (*TWO_SECONDS_EACH, 50),
    whole_units: (*TWO_SECONDS_EACH, 50),
    sorted_once: (np.arange(9.0), np.arange(9.0) + 1, 42),  # sizes that no case has
    slots_by_size: (np.array([1]), np.array([2, 3]), 9, 1, 9),
    kept_by_room: (np.array([5]), 9, 9, 9),
    the_number: (*TWO_SECONDS_EACH, 50),
    not_by_100: (*TWO_SECONDS_EACH, 1),
    from_nothing: (np.array([], dtype=int), np.array([3, 1]), 0, 5, 4),
    none_at_first: (np.array([1, 2]), np.array([3]), 6, 1, 4),
    token_late: (np.array([1, 2]), np.array([3]), 6, 1, 4),
    only_finishes: (np.zeros(3), np.array([3.0, 1.0, 2.0]), 50),
    no_table: (np.array([0]), np.array([1, 2]), 2, 3, 4),
}
