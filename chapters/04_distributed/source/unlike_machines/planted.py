"""Wrong and right answers for lesson unlike_machines."""

from itertools import combinations

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import ring_all_reduce
from tests.exercises.edits import edit, first_result_again

# --- distributed.split_batch

FIRST = "distributed.split_batch"
ORDER = 'np.argsort(counts - shares, kind="stable")'
nobody = edit(FIRST, "nobody", "    counts[order[:left]] += 1\n", "")
nearest = edit(
    FIRST, "nearest", "counts[order[:left]] += 1", "counts = np.rint(shares).astype(int)"
)
in_order = edit(FIRST, "in_order", ORDER, "np.arange(len(speeds))")
by_speed = edit(FIRST, "by_speed", ORDER, 'np.argsort(-speeds, kind="stable")')
all_at_once = edit(FIRST, "all_at_once", "order[:left]] += 1", "speeds.argmax()] += left")
smallest = edit(FIRST, "smallest", "counts - shares, kind", "shares - counts, kind")
last_one = edit(FIRST, "last_one", ORDER, 'np.argsort(shares - counts, kind="stable")[::-1]')
slowest_first = edit(FIRST, "slowest_first", ORDER, 'np.argsort(speeds, kind="stable")')
to_the_largest = edit(
    FIRST, "to_the_largest", "order[:left]] += 1", "(shares - counts).argmax()] += left"
)
to_machine_0 = edit(FIRST, "to_machine_0", "order[:left]] += 1", "0] += left")
only_one = edit(FIRST, "only_one", "order[:left]] += 1", "order[:1]] += 1")
minus_left = edit(
    FIRST,
    "minus_left",
    "counts - shares, kind",
    "shares - counts, kind",
    ("order[:left]", "order[-left:]"),
)
fast_of_equal = edit(FIRST, "fast_of_equal", ORDER, "np.lexsort((-speeds, counts - shares))")
slow_of_equal = edit(FIRST, "slow_of_equal", ORDER, "np.lexsort((speeds, counts - shares))")
percent = edit(FIRST, "percent", "counts - shares, kind", "np.round(counts - shares, 2), kind")
unsorted_ties = edit(FIRST, "unsorted_ties", ', kind="stable"', "")
partitioned = edit(FIRST, "partitioned", ORDER, "np.argpartition(counts - shares, left)")


to_the_last_ones = edit(FIRST, "to_the_last_ones", ORDER, "np.arange(len(speeds))[::-1]")
to_the_last_one = edit(FIRST, "to_the_last_one", "order[:left]] += 1", "-1] += left")
one_more_than_left = edit(FIRST, "one_more_than_left", "order[:left]", "order[: left + 1]")
halves_up = edit(FIRST, "halves_up", "order[:left]] += 1", "shares - counts >= 0.5] += 1")
nobody_idle = edit(
    FIRST,
    "nobody_idle",
    "np.floor(shares).astype(int)",
    "np.maximum(np.floor(shares).astype(int), 1)",
    ("left = batch - counts.sum()", "left = max(batch - counts.sum(), 0)"),
)
per_share = edit(
    FIRST,
    "per_share",
    "counts - shares, kind",
    "(counts - shares) / np.maximum(speeds, 1e-9), kind",
)
in_float32 = edit(
    FIRST,
    "in_float32",
    "batch * speeds / speeds.sum()",
    "np.float32(batch) * speeds.astype(np.float32) / speeds.astype(np.float32).sum()",
)
whole_speeds = edit(
    FIRST,
    "whole_speeds",
    "batch * speeds / speeds.sum()",
    "batch * (speeds // 1) / (speeds // 1).sum()",
)
as_floats = edit(
    FIRST, "as_floats", ".astype(int)", "", ("batch - counts.sum()", "int(batch - sum(counts))")
)


def by_python_lists(speeds, batch):
    total = float(sum(speeds))
    shares = [batch * float(speed) / total for speed in speeds]
    counts = np.array([int(share) for share in shares], dtype=np.int16 if batch < 9 else np.int32)
    places = sorted(range(len(shares)), key=lambda i: (counts[i] - shares[i], i))
    for place in places[: batch - int(counts.sum())]:
        counts[place] += 1
    return counts


def last_takes_the_rest(speeds, batch):
    counts = np.rint(batch * speeds / speeds.sum()).astype(int)
    counts[-1] = batch - counts[:-1].sum()
    return counts


def by_torch_tensors(speeds, batch):
    shares = batch * torch.from_numpy(speeds) / speeds.sum()
    counts = shares.floor().long()
    order = torch.argsort(counts - shares, stable=True)
    counts[order[: batch - int(counts.sum())]] += 1
    return counts.numpy()


def ceilings(speeds, batch):
    return np.ceil(batch * speeds / speeds.sum()).astype(int)


def seconds_for_speeds(speeds, batch):
    slow = np.where(speeds > 0, 1 / np.maximum(speeds, 1e-9), 0)
    shares = batch * slow / slow.sum()
    counts = np.floor(shares).astype(int)
    counts[np.argsort(counts - shares, kind="stable")[: batch - counts.sum()]] += 1
    return counts


def alike(speeds, batch):
    counts = np.full(len(speeds), batch // len(speeds))
    counts[: batch % len(speeds)] += 1
    return counts


def overwrites(speeds, batch):
    speeds *= batch / speeds.sum()
    counts = np.floor(speeds).astype(int)
    counts[np.argsort(counts - speeds, kind="stable")[: batch - counts.sum()]] += 1
    return counts


def by_labkit(speeds, batch):
    from labkit_lessons.distributed.unlike_machines.splits import split_batch

    return np.array(split_batch(speeds, batch))


def one_by_one(speeds, batch):
    shares = [batch * speed / sum(speeds) for speed in speeds]
    counts = [int(share) for share in shares]
    while sum(counts) < batch:
        remainders = [share - count for share, count in zip(shares, counts, strict=True)]
        counts[remainders.index(max(remainders))] += 1
    return np.array(counts)


# --- distributed.gradient_and_speeds

SECOND = "distributed.gradient_and_speeds"
mean_of_means = edit(SECOND, "mean_of_means", "gradient * count / batch", "gradient / ranks")
no_weight = edit(SECOND, "no_weight", "gradient * count / batch", "gradient")
seconds_for_one = edit(SECOND, "seconds_for_one", "count / seconds", "seconds / count")
mine_only = edit(SECOND, "mine_only", "total[-ranks:]", "speeds")
only_rank_0 = edit(
    SECOND,
    "only_rank_0",
    "    total = ring",
    "    if rank:\n        return gradient, speeds\n    total = ring",
)
into_the_gradient = edit(
    SECOND,
    "into_the_gradient",
    "    total = ring_all_reduce(torch.cat([gradient * count / batch, ",
    "    gradient *= count / batch\n    total = ring_all_reduce(torch.cat([gradient, ",
)

whole_weighted = edit(
    SECOND,
    "whole_weighted",
    "torch.cat([gradient * count / batch, speeds])",
    "torch.cat([gradient, speeds]) * count / batch",
)
OWN_SHARE = "gradient * count / batch, speeds]))"
divided_at_last = edit(SECOND, "divided_at_last", OWN_SHARE, "gradient * count, speeds])) / batch")
as_if_alone = edit(SECOND, "as_if_alone", "count / seconds", "batch / seconds")
steps_a_second = edit(SECOND, "steps_a_second", "count / seconds", "1 / seconds")
weight_for_speed = edit(SECOND, "weight_for_speed", "count / seconds", "count / batch")
place_0 = edit(SECOND, "place_0", "speeds[rank]", "speeds[0]")
speeds_first = edit(
    SECOND,
    "speeds_first",
    "[gradient * count / batch, speeds]",
    "[speeds, gradient * count / batch]",
)


def stacked_twice(rank, ranks, gradient, count, seconds, batch):
    speeds = torch.zeros(ranks)
    speeds[rank] = count / seconds
    one = torch.cat([gradient * count / batch, speeds])
    total = ring_all_reduce(torch.cat([one, one]))[: len(one)]
    return total[:-ranks], total[-ranks:]


def in_two_rows(rank, ranks, gradient, count, seconds, batch):
    width = max(ranks, len(gradient))
    rows = torch.zeros(2, width)
    rows[0, : len(gradient)] = gradient * count / batch
    rows[1, rank] = count / seconds
    rows = ring_all_reduce(rows.flatten()).reshape(2, width)
    return rows[0, : len(gradient)], rows[1, :ranks]


def twice(rank, ranks, gradient, count, seconds, batch):
    speeds = torch.zeros(ranks)
    speeds[rank] = count / seconds
    return ring_all_reduce(gradient * (count / batch)), ring_all_reduce(speeds)


def averaged(rank, ranks, gradient, count, seconds, batch):
    row = torch.zeros(ranks + len(gradient))
    row[rank] = ranks * count / seconds
    row[ranks:] = gradient * (ranks * count / batch)
    return (ring_all_reduce(row) / ranks).split([ranks, len(gradient)])[::-1]


per_rank = edit(SECOND, "per_rank", "gradient * count / batch", "gradient * count / ranks")


def gathers_all(rank, ranks, gradient, count, seconds, batch):
    mine = torch.cat([gradient * count / batch, torch.tensor([count / seconds])])
    rows = [torch.empty_like(mine) for _ in range(ranks)]
    dist.all_gather(rows, mine)
    rows = torch.stack(rows)
    return rows[:, :-1].sum(dim=0), rows[:, -1]


def in_slices(rank, ranks, gradient, count, seconds, batch):
    row = torch.zeros(len(gradient) + ranks)
    row[: len(gradient)] = gradient
    row *= count
    row /= batch
    row[len(gradient) + rank] = count / seconds
    row = ring_all_reduce(row).numpy()
    return [row[: len(gradient)], row[len(gradient) :]]


def by_the_course(rank, ranks, gradient, count, seconds, batch):
    from labkit_lessons.distributed.unlike_machines.training import gradient_and_speeds

    return gradient_and_speeds(rank, ranks, gradient, count, seconds, batch)


def by_torch(rank, ranks, gradient, count, seconds, batch):
    row = [0.0] * ranks
    row[rank] = count / seconds
    both = torch.cat([torch.tensor(row), count * gradient / batch])
    dist.all_reduce(both)
    return both[ranks:], both[:ranks]


# --- distributed.best_group

THIRD = "distributed.best_group"
COMPUTE = "(batch + (f / a).sum()) / (1 / a).sum()"
all_of_them = edit(THIRD, "all_of_them", "return best", "return tuple(range(len(per_photo)))")
zero_seconds = edit(THIRD, "zero_seconds", "compute + messages[len(group) - 1]", "0.0")
free_messages = edit(THIRD, "free_messages", "compute + messages[len(group) - 1]", "compute")
nothing_fixed = edit(THIRD, "nothing_fixed", COMPUTE, "batch / (1 / a).sum()")
largest = edit(THIRD, "largest", COMPUTE, "f.max() + batch / (1 / a).sum()")
means = edit(THIRD, "means", COMPUTE, "f.mean() + batch / (1 / a).sum()")
one_after_the_other = edit(THIRD, "one_after_the_other", COMPUTE, "f.sum() + batch / (1 / a).sum()")
shared_equally = edit(THIRD, "shared_equally", COMPUTE, "(f + a * batch / len(group)).max()")
mean_machine = edit(THIRD, "mean_machine", COMPUTE, "(f + a * batch / len(group)).mean()")
whole_batch = edit(THIRD, "whole_batch", COMPUTE, "(f + a * batch).max()")
subtracted = edit(THIRD, "subtracted", "batch + (f / a)", "batch - (f / a)")
unbracketed = edit(THIRD, "unbracketed", COMPUTE, "batch + (f / a).sum() / (1 / a).sum()")
seconds_added = edit(THIRD, "seconds_added", "(1 / a).sum()", "a.sum()")
fixed_of_all = edit(THIRD, "fixed_of_all", "(f / a).sum()", "(fixed / per_photo).sum()")
sum_by_sum = edit(THIRD, "sum_by_sum", COMPUTE, "(batch + f.sum() / a.sum()) / (1 / a).sum()")
MESSAGES = "messages[len(group) - 1]"
up_to_k = edit(THIRD, "up_to_k", MESSAGES, "messages[: len(group)].sum()")
one_more = edit(THIRD, "one_more", MESSAGES, "messages[min(len(group), len(messages) - 1)]")
one_less = edit(THIRD, "one_less", MESSAGES, "messages[len(group) - 2]")
last_place = edit(THIRD, "last_place", "messages[len(group) - 1]", "messages[group[-1]]")
all_places = edit(THIRD, "all_places", "messages[len(group) - 1]", "messages[list(group)].sum()")
for_each = edit(
    THIRD, "for_each", "messages[len(group) - 1]", "messages[len(group) - 1] * len(group)"
)
rounded_off = edit(
    THIRD,
    "rounded_off",
    "compute + messages[len(group) - 1]",
    "round(compute + messages[len(group) - 1], 3)",
)
smallest_of_all = edit(THIRD, "smallest_of_all", COMPUTE, "f.min() + batch / (1 / a).sum()")
per_head = edit(THIRD, "per_head", COMPUTE, f"{COMPUTE} / len(a)")
slowest_of_all = edit(THIRD, "slowest_of_all", "/ (1 / a).sum()", "* a.max() / len(a)")
the_longest = edit(
    THIRD, "the_longest", "seconds < shortest", "seconds > shortest", ("None, np.inf", "None, 0.0")
)
ms = edit(THIRD, "ms", "    best, shortest = None", "    fixed *= 1e3\n    best, shortest = None")


def by_best_places(per_photo, fixed, messages, batch):
    from labkit_lessons.distributed.unlike_machines.splits import (
        Machine,
        balanced_seconds,
        groups_of,
    )

    def seconds(group):
        chosen = [Machine(per_photo[i], fixed[i]) for i in group]
        return balanced_seconds(chosen, batch) + messages[len(group) - 1]

    return min(groups_of(len(per_photo)), key=seconds)


def poured(per_photo, fixed, messages, batch):
    """The shares by bisection, none of them below 0; the group as a set of a mask's places."""
    machines = len(per_photo)
    best = None
    for bits in range(1, 2**machines):
        group = [place for place in range(machines) if bits >> place & 1]
        low, high = 0.0, max(fixed) + batch * max(per_photo)
        for _ in range(60):
            middle = (low + high) / 2
            done = sum(max(middle - fixed[i], 0) / per_photo[i] for i in group)
            low, high = (middle, high) if done < batch else (low, middle)
        seconds = high + messages[len(group) - 1]
        if best is None or seconds < best[0]:
            best = seconds, group
    return set(best[1])


def greedy(per_photo, fixed, messages, batch):
    def seconds(group):
        a, f = per_photo[group], fixed[group]
        return (batch + (f / a).sum()) / (1 / a).sum() + messages[len(group) - 1]

    group, left = [], list(range(len(per_photo)))
    while left:
        best = min(left, key=lambda place: seconds([*group, place]))
        if group and seconds([*group, best]) >= seconds(group):
            break
        group.append(best)
        left.remove(best)
    return group


def with_torch(per_photo, fixed, messages, batch):
    a, f, messages = map(torch.from_numpy, (per_photo, fixed, messages))

    def seconds(group):
        mine = list(group)
        photos = batch + (f[mine] / a[mine]).sum()
        return photos / (1 / a[mine]).sum() + messages[len(mine) - 1]

    places = range(len(a))
    groups = [one for size in range(1, len(a) + 1) for one in combinations(places, size)]
    return torch.tensor(min(groups, key=seconds))


ties_get_too_many = edit(
    FIRST,
    "ties_get_too_many",
    "counts[order[:left]] += 1",
    "remainders = shares - counts\n    if left:\n"
    "        counts[remainders >= remainders[order[left - 1]]] += 1",
)
room_for_four = edit(
    SECOND,
    "room_for_four",
    "torch.zeros(ranks)",
    "torch.zeros(4)",
    ("return total[:-ranks], total[-ranks:]", "return total[:-4], total[-4:][:ranks]"),
)
whole_photos = edit(
    THIRD, "whole_photos", "(batch + (f / a).sum())", "np.ceil(batch + (f / a).sum())"
)
first_machines_alone = edit(
    THIRD,
    "first_machines_alone",
    "groups_of(len(per_photo))",
    "[tuple(range(size)) for size in range(1, len(per_photo) + 1)]",
)
PLANTED = {
    FIRST: [
        (nobody, "nobody does the photographs that are left"),
        (nearest, "do not always add up to the batch"),
        (ceilings, "All shares are rounded up"),
        (seconds_for_speeds, "The slower a machine, the more it gets"),
        (in_order, "What is left goes to the first machines"),
        (by_speed, "What is left goes to the fastest machines"),
        (all_at_once, "All that is left goes to the fastest machine"),
        (slowest_first, "What is left goes to the slowest machines"),
        (to_the_largest, "All that is left goes to the machine with the largest remainder"),
        (to_machine_0, "All that is left goes to machine 0"),
        (only_one, "One photograph is handed out, however many are left"),
        (last_takes_the_rest, "the last machine takes the difference"),
        (minus_left, "everything where nothing is left"),
        (fast_of_equal, "Of equal remainders, the fastest machine wins"),
        (slow_of_equal, "Of equal remainders, the slowest machine wins"),
        (percent, "The remainders are rounded"),
        (unsorted_ties, "Equal remainders come in any order"),
        (partitioned, "Among equal remainders others win"),
        (smallest, "those with the smallest remainders"),
        (last_one, "Of equal remainders, the last ones win"),
        (alike, "The shares are equal"),
        (overwrites, "changes its input"),
        (to_the_last_ones, "What is left goes to the last machines"),
        (to_the_last_one, "All that is left goes to the last machine;"),
        (one_more_than_left, "One photograph too many"),
        (ties_get_too_many, "as large as the last one that counts"),
        (halves_up, "Every remainder of a half or more"),
        (nobody_idle, "Every machine gets a photograph at least"),
        (per_share, "The remainders are divided by"),
        (in_float32, "The shares are computed in float32"),
        (whole_speeds, "The speeds are cut to whole numbers"),
        (as_floats, "it should hold integers"),
        (by_labkit, "labkit_lessons.distributed.unlike_machines.splits"),
    ],
    SECOND: [
        (first_result_again(SECOND), "In the second call in the same ranks"),
        (mean_of_means, "counts as much as one with many"),
        (no_weight, "the weights count / batch are missing"),
        (seconds_for_one, "These are seconds for each photograph"),
        (mine_only, "Each rank knows only its own speed"),
        (only_rank_0, "wait"),
        (whole_weighted, "The speeds are multiplied by count / batch, too"),
        (divided_at_last, "The speeds are divided by the batch, too"),
        (as_if_alone, "as if it had done the whole batch"),
        (steps_a_second, "steps per second"),
        (weight_for_speed, "the weights of the gradients"),
        (place_0, "All ranks write their speeds into place 0"),
        (speeds_first, "The speeds stand before the gradient"),
        (stacked_twice, "each of them once"),
        (room_for_four, "raises IndexError in rank 4"),
        (into_the_gradient, "changes its input"),
        (per_rank, "The weight is count / ranks"),
        (gathers_all, "all_gather sends every rank's numbers whole"),
        (twice, "takes 2 all-reduces"),
        (by_the_course, "labkit_lessons.distributed.unlike_machines.training"),
    ],
    THIRD: [
        (all_of_them, "All machines take part"),
        (zero_seconds, "The group is machine 0 alone"),
        (free_messages, "a larger group has more messages"),
        (nothing_fixed, "if no machine had fixed seconds"),
        (largest, "All machines have the largest fixed seconds"),
        (means, "The machines' fixed seconds are averaged"),
        (one_after_the_other, "one after the other"),
        (shared_equally, "the best group for equal shares"),
        (mean_machine, "those of a mean machine"),
        (whole_batch, "Each machine does the whole batch"),
        (subtracted, "The fixed seconds make a step shorter"),
        (unbracketed, "Brackets are missing"),
        (seconds_added, "The divisor is the sum of a"),
        (sum_by_sum, "each machine's own are divided by its own a"),
        (up_to_k, "The messages of smaller groups are added"),
        (one_more, "a group with one machine more"),
        (one_less, "a group with one machine less"),
        (fixed_of_all, "also of those outside of the group"),
        (last_place, "by the place of the group's last machine"),
        (all_places, "a group has one all-reduce"),
        (for_each, "multiplied by the number of machines"),
        (whole_photos, "The photographs are rounded up"),
        (first_machines_alone, "Only groups of the first machines"),
        (rounded_off, "groups that differ by less seem equally fast"),
        (smallest_of_all, "the smallest fixed seconds of the group"),
        (per_head, "divided by the number of machines once more"),
        (slowest_of_all, "The slowest machine's seconds stand"),
        (the_longest, "the group with the longest step"),
        (greedy, "grows by the best next machine"),
        (ms, "changes its input"),
        (by_best_places, "labkit_lessons.distributed.unlike_machines.splits.balanced_seconds"),
    ],
}
ALSO_RIGHT = {
    FIRST: [one_by_one, by_torch_tensors, by_python_lists],
    SECOND: [averaged, by_torch, in_two_rows, in_slices],
    THIRD: [poured, with_torch],
}
# One rank that has the whole batch, in one second: its gradient is the batch's.
ALONE = (((np.array([1.0, -2.0], "f4"), 1, 1.0, 1),),)
# A single machine takes part whatever it costs.
ONE = (np.array([2e-3]), np.array([1e-2]), np.array([0.0]), 8)
RIGHT_ON = {
    nobody: (np.array([1.0, 3.0]), 8),
    nearest: (np.array([1.0, 3.0]), 8),
    to_the_last_one: (np.array([1.0, 3.0]), 8),
    one_more_than_left: (np.zeros(0), 0),
    ceilings: (np.array([1.0, 3.0]), 8),
    overwrites: (np.array([1.0, 3.0]), 4),
    seconds_for_one: ALONE,
    into_the_gradient: ALONE,
    weight_for_speed: ALONE,
    speeds_first: (((np.array([1.0], "f4"), 1, 1.0, 1),),),
    ms: (np.array([2e-3]), np.array([0.0]), np.array([0.0]), 8),
    by_best_places: ONE,
}
