"""Wrong and right answers for lesson processes_and_collectives."""

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import exchange, receive, send
from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.my_share

SHARE = "distributed.my_share"
all_begin_at_0 = edit(SHARE, "all_begin_at_0", "rank::ranks", "::ranks")
takes_the_rest = edit(SHARE, "takes_the_rest", "rank::ranks", "rank:")
one_colon = edit(SHARE, "one_colon", "rank::ranks", "rank:ranks")
begins_after_its_place = edit(SHARE, "begins_after_its_place", "rank::ranks", "rank + 1 :: ranks")
begins_before_its_place = edit(SHARE, "begins_before_its_place", "rank::ranks", "rank - 1 :: ranks")
takes_all = edit(SHARE, "takes_all", "x[rank::ranks]", "x")
takes_one = edit(SHARE, "takes_one", "rank::ranks", "rank : rank + 1")
wrong_way_round = edit(SHARE, "wrong_way_round", "rank::ranks", "ranks::rank")
of_three_ranks = edit(SHARE, "of_three_ranks", "rank::ranks", "rank::3")
share_in_bytes = edit(SHARE, "share_in_bytes", "return share", 'return share.astype("int8")')
share_of_values = edit(SHARE, "share_of_values", "rank::ranks", "x % ranks == rank")


def in_blocks(rank, ranks, x):
    return np.array_split(x, ranks)[rank]


def blocks_without_rest(rank, ranks, x):
    each = len(x) // ranks
    return x[each * rank :][:each]


def others_as_zeros(rank, ranks, x):
    others = np.arange(len(x)) % ranks != rank
    share = x.copy()
    share[others] = 0
    return share


KEPT_SHARES = {}  # from call to call


def share_of_an_earlier_call(rank, ranks, x):
    return KEPT_SHARES.setdefault((rank, ranks, x.shape), x[rank::ranks].copy())


def takes_its_share_out(rank, ranks, x):
    share = x[rank::ranks].copy()
    x[rank::ranks] = -1
    return share


def share_by_torch(rank, ranks, x):
    return torch.from_numpy(x)[rank::ranks].numpy()


def place_by_place(rank, ranks, x):
    places = [place for place in range(len(x)) if place % ranks == rank]
    return x[places]


def by_numpy(rank, ranks, x):
    return np.compress(np.arange(len(x)) % ranks == rank, x, axis=0)


# --- distributed.pass_on

RING = "distributed.pass_on"
all_send = edit(RING, "all_send", "rank == 0", "rank < 0")
all_receive = edit(RING, "all_receive", "rank == 0", "rank >= 0")
other_way = edit(
    RING, "other_way", "(rank + 1)", "(rank - 1)", ("before = (rank - 1)", "before = (rank + 1)")
)
unreturned = edit(RING, "unreturned", "return arrived", "return x")
twice = edit(
    RING,
    "twice",
    "    return arrived",
    "    if rank == 0:\n"
    "        receive(arrived, before)\n"
    "        send(x, after)\n"
    "    else:\n"
    "        send(x, after)\n"
    "        receive(arrived, before)\n"
    "    return arrived",
)


def not_closed(rank, ranks, x):
    arrived = x.clone()
    if rank > 0:
        receive(arrived, rank - 1)
    if rank + 1 < ranks:
        send(x, rank + 1)
    return arrived


def handed_on(rank, ranks, x):
    arrived = x.clone()
    if rank > 0:
        receive(arrived, rank - 1)
    if rank + 1 < ranks:
        send(arrived, rank + 1)
    return arrived


def in_pairs(rank, ranks, x):
    arrived = x.clone()
    if rank ^ 1 < ranks:
        exchange(x, rank ^ 1, arrived, rank ^ 1)
    return arrived


def into_x(rank, ranks, x):
    arrived = x.clone()
    exchange(arrived, (rank + 1) % ranks, x, (rank - 1) % ranks)
    return x


def by_torch(rank, ranks, x):
    arrived = torch.empty_like(x)
    sending = dist.isend(x, (rank + 1) % ranks)
    dist.recv(arrived, (rank - 1) % ranks)
    sending.wait()
    return arrived


def even_ones_first(rank, ranks, x):
    arrived = torch.empty_like(x)
    for turn in range(2):
        if rank % 2 == turn:
            send(x, (rank + 1) % ranks)
        else:
            receive(arrived, (rank - 1) % ranks)
    return arrived


def last_one_receives_first(rank, ranks, x):
    before, after = (rank - 1) % ranks, (rank + 1) % ranks
    arrived = torch.zeros_like(x)
    if rank < ranks - 1:
        send(x, after)
    receive(arrived, before)
    if rank == ranks - 1:
        send(x, after)
    return arrived


def at_the_same_time(rank, ranks, x):
    arrived = x.new_empty(x.shape)
    exchange(x, (rank + 1) % ranks, arrived, (rank - 1) % ranks)
    return arrived


# --- distributed.broadcast

TREE = "distributed.broadcast"
one_round = edit(TREE, "one_round", "step = 2 * step", "step = ranks")
root_alone = edit(
    TREE,
    "root_alone",
    "rank < step and",
    "rank == 0 and",
    ("step <= rank < 2 * step", "rank == step"),
)
unguarded = edit(TREE, "unguarded", " and rank + step < ranks", "")
all_above = edit(TREE, "all_above", "step <= rank < 2 * step", "rank >= step")
passes_x_on = edit(TREE, "passes_x_on", "send(result,", "send(x,")
in_place = edit(TREE, "in_place", "x.clone()", "x")


at_most_four = edit(TREE, "at_most_four", "while step < ranks", "while step < min(ranks, 4)")


def star(rank, ranks, x):
    result = x.clone()
    if rank == 0:
        for other in range(1, ranks):
            send(result, other)
    else:
        receive(result, 0)
    return result


def ready_made(rank, ranks, x):
    result = x.clone()
    dist.broadcast(result, 0)
    return result


def far_ones_first(rank, ranks, x):
    result = x.clone()
    step = 1 << (ranks - 1).bit_length()
    while step > 1:
        half = step // 2
        if rank % step == 0 and rank + half < ranks:
            send(result, rank + half)
        elif rank % step == half:
            receive(result, rank - half)
        step = half
    return result


# --- distributed.gather_all_reduce

SUM = "distributed.gather_all_reduce"
overwrites = edit(
    SUM, "overwrites", "receive(other, source)\n        total += other", "receive(total, source)"
)
adds_once = edit(SUM, "adds_once", "        total += other", "    total += other")
to_one = edit(
    SUM, "to_one", "for target in range(1, ranks)", "for target in range(1, min(2, ranks))"
)
hands_out_early = edit(
    SUM,
    "hands_out_early",
    "        total += other\n    for target in range(1, ranks):\n        send(total, target)",
    "        total += other\n        send(total, source)",
)
workers_wait = edit(
    SUM,
    "workers_wait",
    "        send(total, 0)\n        receive(total, 0)",
    "        receive(total, 0)\n        send(total, 0)",
)
keeps_the_sum = edit(SUM, "keeps_the_sum", "send(total, target)", "send(x, target)")
into_its_x = edit(SUM, "into_its_x", "x.clone()", "x")


def without_its_own(rank, ranks, x):
    if rank > 0:
        total = x.clone()
        send(total, 0)
        receive(total, 0)
        return total
    total = torch.zeros_like(x)
    other = torch.empty_like(x)
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    return total


def along_the_ranks(rank, ranks, x):
    total = x.clone()
    other = torch.empty_like(x)
    if rank > 0:
        receive(other, rank - 1)
        total += other
    if rank + 1 < ranks:
        send(total, rank + 1)
        receive(total, rank + 1)
    if rank > 0:
        send(total, rank - 1)
    return total


def confirmed(rank, ranks, x):
    total = x.clone()
    other = torch.empty_like(x)
    if rank > 0:
        send(x, 0)
        receive(total, 0)
        send(total, 0)
        return total
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
        receive(other, target)
    return total


def all_reduce(rank, ranks, x):
    total = x.clone()
    dist.all_reduce(total)
    return total


def backwards(rank, ranks, x):
    if rank:
        total = torch.zeros_like(x)
        send(x, 0)
        receive(total, 0)
        return total
    parts = [torch.empty_like(x) for _ in range(ranks - 1)]
    for place in reversed(range(ranks - 1)):
        receive(parts[place], place + 1)
    total = sum(parts, x)
    for target in reversed(range(1, ranks)):
        send(total, target)
    return total if ranks > 1 else x.clone()


def two_on(rank, ranks, x):
    arrived = torch.empty_like(x)
    if ranks == 2:
        return x.clone()
    exchange(x, (rank + 2) % ranks, arrived, (rank - 2) % ranks)
    return arrived


def cut_off(rank, ranks, x):
    arrived = torch.empty_like(x)
    exchange(x, (rank + 1) % ranks, arrived, (rank - 1) % ranks)
    return arrived.int()


def added(rank, ranks, x):
    arrived = torch.empty_like(x)
    exchange(x, (rank + 1) % ranks, arrived, (rank - 1) % ranks)
    return arrived + x


def for_numpy(rank, ranks, x):
    arrived = torch.empty_like(x)
    exchange(x, (rank + 1) % ranks, arrived, (rank - 1) % ranks)
    return arrived.numpy()


def in_halves(rank, ranks, x):
    result = x.clone()
    low, high = 0, ranks
    while high - low > 1:
        middle = (low + high + 1) // 2
        if rank == low:
            send(result, middle)
        elif rank == middle:
            receive(result, low)
        low, high = (low, middle) if rank < middle else (middle, high)
    return result


taken_away = edit(SUM, "taken_away", "total += other", "total -= other")


def stacked(rank, ranks, x):
    if rank:
        total = x.clone()
        send(x, 0)
        receive(total, 0)
        return total
    parts = [x] + [torch.empty_like(x) for _ in range(1, ranks)]
    for source in range(1, ranks):
        receive(parts[source], source)
    total = torch.stack(parts).sum(0)
    for target in range(1, ranks):
        send(total, target)
    return total


sends_its_room = edit(
    RING,
    "sends_its_room",
    "        send(x, after)\n        receive",
    "        send(arrived, after)\n        receive",
)
a_round_less = edit(TREE, "a_round_less", "while step < ranks", "while 2 * step < ranks")
hands_out_the_last = edit(SUM, "hands_out_the_last", "send(total, target)", "send(other, target)")

PLANTED = {
    SHARE: [
        (in_blocks, "Each rank takes a piece of neighbours. It"),
        (blocks_without_rest, "what is left over is nobody's"),
        (all_begin_at_0, "Every rank takes the share of rank 0"),
        (takes_one, "The share ends after one element"),
        (takes_the_rest, "it takes every element from there on"),
        (one_colon, "This takes the elements from rank up to ranks"),
        (wrong_way_round, "Start and step have changed places"),
        (begins_after_its_place, "a place too late"),
        (begins_before_its_place, "a place too early"),
        (takes_all, "Every rank takes everything"),
        (share_of_values, "chosen by what they are"),
        (others_as_zeros, "Zeros stand in the places"),
        (of_three_ranks, "ranks does not count"),
        (share_in_bytes, "the result is cut to 8 bits"),
        (share_of_an_earlier_call, "kept from one call"),
        (takes_its_share_out, "changes its input"),
        (share_by_torch, "torch"),
    ],
    RING: [
        (first_result_again(RING), "In the second call in the same ranks"),
        (cast_to_float32(RING), "is float32; it should be"),
        (two_on, "Each tensor goes two ranks on"),
        (cut_off, "holds integers"),
        (added, "What arrives is added"),
        (sends_its_room, "send arrived before anything has come"),
        (all_send, "Let one rank receive first"),
        (all_receive, "Everyone waits for a message"),
        (other_way, "The tensors go the wrong way"),
        (unreturned, "Each rank returns its own tensor"),
        (twice, "messages went between the ranks"),
        (not_closed, "the ring is not closed"),
        (handed_on, "Every rank returns rank 0's tensor"),
        (in_pairs, "The ranks swap in pairs"),
        (into_x, "changes its input"),
        (by_torch, "torch.distributed"),
    ],
    TREE: [
        (first_result_again(TREE), "In the second call in the same ranks"),
        (cast_to_float32(TREE), "is float32; it should be"),
        (a_round_less, "The last round is missing"),
        (at_most_four, "two rounds serve four ranks"),
        (one_round, "Only rank 1 has got"),
        (root_alone, "Only the ranks 1, 2, 4"),
        (unguarded, "raises ValueError in rank"),
        (all_above, "waits for rank"),
        (passes_x_on, "passes on its own tensor"),
        (in_place, "changes its input"),
        (star, "messages have to go one after the other"),
        (ready_made, "torch.distributed"),
    ],
    SUM: [
        (first_result_again(SUM), "In the second call in the same ranks"),
        (cast_to_float32(SUM), "is float32; it should be"),
        (hands_out_the_last, "hands out the tensor that came last"),
        (taken_away, "What arrives is subtracted"),
        (overwrites, "The sum is the last rank's tensor"),
        (adds_once, "only rank 0's tensor and the last one's"),
        (hands_out_early, "to which later ranks are not yet added"),
        (workers_wait, "Everyone waits for a message"),
        (keeps_the_sum, "is its own tensor, and not the sum"),
        (into_its_x, "changes its input"),
        (without_its_own, "Rank 0's own tensor is missing"),
        (along_the_ranks, "each message goes to or from rank 0"),
        (confirmed, "messages went between the ranks"),
        (all_reduce, "torch.distributed"),
    ],
}
ALSO_RIGHT = {
    SHARE: [place_by_place, by_numpy],
    RING: [for_numpy, even_ones_first, last_one_receives_first, at_the_same_time],
    TREE: [in_halves, far_ones_first],
    SUM: [stacked, backwards],
}
SAME = (((np.ones(3, np.float32),), (np.ones(3, np.float32),)),)
ZEROS = (((np.zeros(3, np.float32),), (np.zeros(3, np.float32),)),)
RIGHT_ON = {
    wrong_way_round: (1, 1, np.arange(3)),
    share_of_an_earlier_call: (1, 2, np.arange(4)),
    unreturned: SAME,
    not_closed: SAME,
    handed_on: SAME,
    two_on: SAME,
    cut_off: SAME,
    added: ZEROS,
    sends_its_room: ZEROS,
    overwrites: ZEROS,
    keeps_the_sum: ZEROS,
    without_its_own: ZEROS,
}
HANGING = [all_send, all_receive, all_above, workers_wait]
