"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial
from itertools import product
from math import ceil, inf

import numpy as np

from tests.exercises.edits import edit, solution

# --- fpga.bound

bound = solution("fpga.bound")
edited = partial(edit, "fpga.bound")
bound_sum = edited("bound_sum", "max(work / multipliers)", "sum(work / multipliers)")
bound_added = edited("bound_added", "cycles = max(layer, stream)", "cycles = layer + stream")
bound_streamed = edited(
    "bound_streamed",
    "image_bytes if resident else image_bytes + weight_bytes",
    "image_bytes + weight_bytes",
)
bound_nothing_comes = edited("bound_nothing_comes", "image_bytes if resident", "0 if resident")
bound_no_image = edited("bound_no_image", "else image_bytes + weight_bytes", "else weight_bytes")
bound_bytes = edited("bound_bytes", "ceil(streamed / width)", "streamed")
bound_floor = edited("bound_floor", "ceil(streamed / width)", "streamed // width")
bound_fastest = edited("bound_fastest", "max(work / multipliers)", "min(work / multipliers)")
bound_shared = edited("bound_shared", "max(work / multipliers)", "sum(work) / sum(multipliers)")
bound_most = edited(
    "bound_most", "max(work / multipliers)", "max(work) / multipliers[np.argmax(work)]"
)
bound_parts = edited("bound_parts", "ceil(streamed / width)", "streamed / width")
bound_one_more = edited("bound_one_more", "ceil(streamed / width)", "streamed // width + 1")
bound_nearest = edited("bound_nearest", "ceil(streamed / width)", "round(streamed / width)")
bound_tie = edited("bound_tie", "stream > layer", "stream >= layer")
bound_other_way = edited("bound_other_way", "stream > layer", "layer > stream")


KEPT = {}  # what answers keep from call to call


def bound_resident_as_before(work, multipliers, image_bytes, weight_bytes, resident, width):
    resident = KEPT.setdefault(len(work), resident)
    return bound(work, multipliers, image_bytes, weight_bytes, resident, width)


def bound_of_two(work, multipliers, *rest):
    return bound(work[:2], multipliers[:2], *rest)


def bound_of_eight_bytes(*given):
    return bound(*given[:-1], 8)


def bound_always(*given):
    return bound(*given)[0], True


def bound_as_a_number(*given):
    """Right: 1 and 0."""
    cycles, stream_binds = bound(*given)
    return cycles, int(stream_binds)


def bound_in_numpy(*given):
    """Right: NumPy's numbers."""
    cycles, binds = bound(*given)
    return [np.float64(cycles), np.bool_(binds)]


def bound_no_stream(work, multipliers, image_bytes, weight_bytes, resident, width):
    return np.max(work / multipliers), False


def bound_apart(work, multipliers, image_bytes, weight_bytes, resident, width):
    layer = max(work / multipliers)
    stream = ceil(image_bytes / width)
    if not resident:
        stream += ceil(weight_bytes / width)
    return max(layer, stream), stream > layer


def bound_in_place(work, multipliers, image_bytes, weight_bytes, resident, width):
    found = bound(work, multipliers, image_bytes, weight_bytes, resident, width)
    work //= multipliers
    return found


def bound_by_torch(work, multipliers, image_bytes, weight_bytes, resident, width):
    import torch

    layer = float(torch.tensor(work / multipliers).max())
    stream = ceil((image_bytes + (not resident) * weight_bytes) / width)
    return max(layer, stream), layer < stream


def bound_by_loop(work, multipliers, image_bytes, weight_bytes, resident, width):
    """Right: integers alone."""
    slowest = 0
    for amount, units in zip(work, multipliers, strict=True):
        slowest = max(slowest, int(amount) // int(units))
    beats = (image_bytes + (0 if resident else weight_bytes) + width - 1) // width
    return (beats, True) if beats > slowest else (slowest, False)


# --- fpga.folding

folding = solution("fpga.folding")
edited = partial(edit, "fpga.folding")
SLOWEST = "np.where(times == times.max(), 2 * lanes, lanes)"
folding_strict = edited("folding_strict", "<= budget", "< budget")
folding_each = edited("folding_each", "wider @ dsps", "max(wider * dsps)")
folding_alike = edited("folding_alike", SLOWEST, "2 * lanes")
folding_one_more = edited("folding_one_more", SLOWEST, SLOWEST.replace("2 * lanes", "lanes + 1"))
folding_lanes_counted = edited("folding_lanes_counted", "wider @ dsps", "wider.sum()")
folding_first_times = edited("folding_first_times", "cycles / lanes", "cycles / 1")
folding_floored = edited("folding_floored", "cycles / lanes", "cycles // lanes")
folding_ceiled = edited("folding_ceiled", "cycles / lanes", "-(-cycles // lanes)")
folding_fastest = edited("folding_fastest", "times.max()", "times.min()")
folding_cheapest = edited(
    "folding_cheapest", SLOWEST, SLOWEST.replace("times == times.max()", "dsps == dsps.min()")
)


def folding_one_slowest(budget, cycles, dsps):
    lanes = np.ones(len(cycles), int)
    while True:
        slowest = np.argmax(cycles / lanes)
        lanes[slowest] *= 2
        if lanes @ dsps > budget:
            lanes[slowest] //= 2
            return lanes


def folding_to_128(budget, cycles, dsps):
    lanes = best = np.ones(len(cycles), int)
    while lanes @ dsps <= budget and lanes.max() <= 128:
        best = lanes
        times = cycles / lanes
        lanes = np.where(times == times.max(), 2 * lanes, lanes)
    return best


def folding_last_slowest(budget, cycles, dsps):
    lanes = np.ones(len(cycles), int)
    while True:
        slowest = len(cycles) - 1 - np.argmax((cycles / lanes)[::-1])
        lanes[slowest] *= 2
        if lanes @ dsps > budget:
            lanes[slowest] //= 2
            return lanes


def folding_all_spent(budget, cycles, dsps):
    lanes = folding(budget, cycles, dsps)
    order = list(np.argsort(-cycles / lanes, kind="stable"))
    while order:
        lanes[order[0]] *= 2
        if lanes @ dsps > budget:
            lanes[order[0]] //= 2
            order.pop(0)
        else:
            order = list(np.argsort(-cycles / lanes, kind="stable"))
    return lanes


def folding_once(budget, cycles, dsps):
    lanes = np.where(cycles == max(cycles), 2, 1)
    return lanes if lanes @ dsps <= budget else np.ones(len(cycles), int)


def folding_kept(budget, cycles, dsps):
    return KEPT.setdefault(("lanes", len(cycles)), folding(budget, cycles, dsps)).copy()


def folding_in_place(budget, cycles, dsps):
    found = folding(budget, cycles, dsps)
    cycles //= found
    return found


def folding_by_torch(budget, cycles, dsps):
    import torch

    return torch.tensor(folding(budget, cycles, dsps)).numpy()


def folding_unfolded(budget, cycles, dsps):
    return np.ones_like(cycles)


def folding_by_target(budget, cycles, dsps):
    """Right: for each time that some layer can take, the least lanes that keep it."""
    times = sorted({c / 2**n for c in cycles for n in range(16)}, reverse=True)
    best = np.ones(len(cycles), int)
    for time in times:
        lanes = np.array([next(2**n for n in range(32) if c / 2**n <= time) for c in cycles])
        if lanes @ dsps <= budget and max(cycles / lanes) < max(cycles / best):
            best = lanes
    return best


def folding_by_trying(budget, cycles, dsps):
    """Right: all foldings that the budget allows, the fastest first, then the cheapest."""
    choices = [[2**n for n in range(12) if 2**n * d <= budget] for d in dsps]
    found, least = None, (inf, inf)
    for lanes in product(*choices):
        cost = sum(n * d for n, d in zip(lanes, dsps, strict=True))
        if cost <= budget:
            key = (max(c / n for n, c in zip(lanes, cycles, strict=True)), cost)
            found, least = (lanes, key) if key < least else (found, least)
    return np.array(found)


PLANTED = {
    "fpga.bound": [
        (bound_sum, "The cycles of all layers are added"),
        (bound_added, "The cycles of the stream and of the slowest layer are added"),
        (bound_streamed, "The weights are streamed for each image even if they are resident"),
        (bound_no_stream, "Only the layers are looked at"),
        (bound_nothing_comes, "With resident weights nothing is streamed at all"),
        (bound_no_image, "The image's own bytes are left out"),
        (bound_bytes, "Each byte takes a cycle"),
        (bound_most, "the layer with the most multiply-adds"),
        (bound_fastest, "You look at the fastest layer"),
        (bound_shared, "All multiply-adds are divided by all multipliers"),
        (bound_floor, "The last beat is left out"),
        (bound_one_more, "A beat is added even where"),
        (bound_nearest, "rounded to the nearest whole number"),
        (bound_parts, "The last beat counts as a part of a cycle"),
        (bound_apart, "are rounded up apart"),
        (bound_tie, "when the stream and the slowest layer take equally long"),
        (bound_other_way, "The cycles are right, but"),
        (bound_resident_as_before, "is remembered from an earlier call"),
        (bound_of_two, "the first two layers only"),
        (bound_of_eight_bytes, "A beat always has 8 bytes here"),
        (bound_always, "The second result is always True"),
        (bound_in_place, "changes its input"),
        (bound_by_torch, "torch"),
    ],
    "fpga.folding": [
        (folding_one_slowest, "only one has got more lanes"),
        (folding_to_128, "The lanes end at 128"),
        (folding_last_slowest, "only the last has got more lanes"),
        (folding_floored, "are rounded down before they are compared"),
        (folding_ceiled, "rounded up before they are compared"),
        (folding_fastest, "The fastest layer gets more lanes"),
        (folding_all_spent, "What was left of the budget is spent"),
        (folding_alike, "All layers have the same number of lanes"),
        (folding_each, "Each layer alone stays within the budget"),
        (folding_strict, "takes exactly as many DSPs as the budget has is allowed"),
        (folding_first_times, "All lanes go to the layer that is slowest with one lane each"),
        (folding_one_more, "A lane at a time is added"),
        (folding_lanes_counted, "The budget is compared with the number of lanes"),
        (folding_cheapest, "The layer whose lanes are cheapest"),
        (folding_unfolded, "Each layer still has one lane"),
        (folding_once, "The lanes are doubled once only"),
        (folding_kept, "Case: the least budget"),
        (folding_in_place, "changes its input"),
        (folding_by_torch, "torch"),
    ],
}

ALSO_RIGHT = {
    "fpga.bound": [bound_by_loop, bound_in_numpy, bound_as_a_number],
    "fpga.folding": [folding_by_target, folding_by_trying],
}

ONE = np.array([1])
RIGHT_ON = {  # where what they confuse is one and the same
    bound_resident_as_before: (7 * np.ones(9), np.ones(9), 0, 0, True, 8),
    folding_kept: (9, np.arange(1, 8), np.ones(7, int)),
    bound_added: (7 * ONE, ONE, 0, 0, True, 8),
    bound_bytes: (7 * ONE, ONE, 9, 9, True, 1),
    bound_one_more: (7 * ONE, ONE, 15, 9, True, 8),
    bound_nearest: (7 * ONE, ONE, 15, 9, True, 8),
    bound_parts: (7 * ONE, ONE, 16, 9, True, 8),
    bound_apart: (7 * ONE, ONE, 16, 9, False, 8),
    bound_tie: (7 * ONE, ONE, 64, 9, True, 8),
    bound_other_way: (7 * ONE, ONE, 7, 9, True, 1),
    folding_lanes_counted: (9, 8 * ONE, ONE),
}
