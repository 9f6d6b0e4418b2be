"""Wrong and right answers for lesson a_cost_model."""

import numpy as np

from tests.exercises.edits import edit

# --- distributed.fit_link

FIT = "distributed.fit_link"
ROWS = "np.stack([1 / seconds, sizes / seconds], axis=1)"
RIGHT = "np.ones(len(sizes))"
not_divided = edit(
    FIT,
    "not_divided",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "latency, per_byte = np.linalg.lstsq(np.stack([seconds**0, sizes], axis=1), seconds, "
    "rcond=None)[0]",
)
divided_twice = edit(
    FIT,
    "divided_twice",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([1 / seconds**2, sizes / seconds**2], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, 1 / seconds, rcond=None)[0]",
)
by_roots = edit(
    FIT,
    "by_roots",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([seconds**-0.5, sizes * seconds**-0.5], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, seconds**0.5, rcond=None)[0]",
)
not_turned_over = edit(FIT, "not_turned_over", "bandwidth = 1 / per_byte", "bandwidth = per_byte")
columns_swapped = edit(
    FIT, "columns_swapped", "[1 / seconds, sizes / seconds]", "[sizes / seconds, 1 / seconds]"
)
sorts_in_place = edit(
    FIT,
    "sorts_in_place",
    "    rows =",
    "    order = sizes.argsort()\n    sizes[:] = sizes[order]\n"
    "    seconds[:] = seconds[order]\n    rows =",
)


right_side_of_seconds = edit(FIT, "right_side_of_seconds", RIGHT, "seconds")
by_size = edit(
    FIT,
    "by_size",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([1 / sizes, np.ones(len(sizes))], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, seconds / sizes, rcond=None)[0]",
)


def of_each_size(sizes, seconds, choose):
    unlike = np.array(sorted(set(sizes)))
    chosen = np.array([choose(seconds[sizes == size]) for size in unlike])
    rows = np.stack([1 / chosen, unlike / chosen], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, np.ones(len(unlike)), rcond=None)[0]
    return latency, 1 / per_byte


def means_first(sizes, seconds):
    return of_each_size(sizes, seconds, np.mean)


def fastest_first(sizes, seconds):
    return of_each_size(sizes, seconds, np.min)


def through_two_points(sizes, seconds):
    first, last = sizes.argmin(), sizes.argmax()
    if first == last:
        return 0.0, sizes[0] / seconds[0]
    bandwidth = (sizes[last] - sizes[first]) / (seconds[last] - seconds[first])
    return seconds[first] - sizes[first] / bandwidth, bandwidth


def by_labkit(sizes, seconds):
    from labkit.distributed import CostModel

    if len(sizes) == 1:
        return 0.0, sizes[0] / seconds[0]
    model = CostModel.fit(zip(sizes, seconds))  # noqa: B905
    return model.latency, model.bandwidth


def by_polyfit(sizes, seconds):
    if len(sizes) == 1:
        return 0, sizes[0] / seconds[0]
    per_byte, latency = np.polyfit(sizes, seconds, 1, w=1 / seconds)
    return latency, 1 / per_byte


def by_normal_equations(sizes, seconds):
    if len(sizes) == 1:
        return 0.0, float(sizes[0] / seconds[0])
    w = [1 / float(t) ** 2 for t in seconds]
    mean_b = sum(a * float(b) for a, b in zip(w, sizes, strict=True)) / sum(w)
    mean_t = sum(a * float(t) for a, t in zip(w, seconds, strict=True)) / sum(w)
    above = sum(
        a * (float(b) - mean_b) * (float(t) - mean_t)
        for a, b, t in zip(w, sizes, seconds, strict=True)
    )
    below = sum(a * (float(b) - mean_b) ** 2 for a, b in zip(w, sizes, strict=True))
    return mean_t - above / below * mean_b, below / above


# --- distributed.hidden_seconds

HIDDEN = "distributed.hidden_seconds"
from_the_first = edit(
    HIDDEN, "from_the_first", "reversed(range(len(backward)))", "range(len(backward))"
)
all_at_once = edit(
    HIDDEN, "all_at_once", "max(free, now) + travel[layer]", "max(free, now + travel[layer])"
)
what_shows = edit(HIDDEN, "what_shows", "sum(travel) - (free - now)", "free - now")
the_whole = edit(HIDDEN, "the_whole", "sum(travel) - (free - now)", "free")
never_waits = edit(
    HIDDEN, "never_waits", "free = max(free, now) + travel[layer]", "free += travel[layer]"
)
reverses = edit(
    HIDDEN,
    "reverses",
    "    now = free = 0.0",
    "    backward[:] = backward[::-1]\n    now = free = 0.0",
)


def the_shorter(backward, travel):
    return min(sum(backward), sum(travel))


def a_lump(backward, travel):
    return min(sum(travel), sum(backward[:-1]))


def all_but_layer_0(backward, travel):
    return sum(travel[1:])


def late_or_never(backward, travel):
    return min(sum(travel[1:]), sum(backward[:-1]))


sent_before_it_is_there = edit(
    HIDDEN,
    "sent_before_it_is_there",
    "now += backward[layer]\n        free = max(free, now) + travel[layer]",
    "free = max(free, now) + travel[layer]\n        now += backward[layer]",
)


def by_torch(backward, travel):
    import torch

    now = free = torch.zeros(())
    for b, t in zip(backward[::-1], travel[::-1], strict=True):
        now = now + b
        free = torch.maximum(free, now) + t
    return float(sum(travel) - (free - now))


def by_the_longest_wait(backward, travel):
    """The last arrival is the latest of: ready(layer), then this and all later travel."""
    ready = np.cumsum(backward[::-1])
    still = np.cumsum(travel)[::-1]  # travel of this layer and of those that come after it
    return np.sum(travel) - (np.max(ready + still) - ready[-1])


# --- distributed.hybrid_step

STEP = "distributed.hybrid_step"
PIECES = "(micro_batches + stages - 1)"
SHOWN = "max(gradients - 2 * sum(forward[:-1]), 0.0)"
no_bubble = edit(STEP, "no_bubble", PIECES, "micro_batches")
a_piece_more = edit(STEP, "a_piece_more", PIECES, "(micro_batches + stages)")
m_times_p = edit(STEP, "m_times_p", PIECES, "micro_batches * stages")
behind_all_reduces = edit(
    STEP,
    "behind_all_reduces",
    "2 * sum(forward[:-1])",
    "2 * sum(forward[:-1]) - 2 * len(forward[:-1]) * all_reduce",
)
behind_a_forward = edit(STEP, "behind_a_forward", "2 * sum(forward[:-1])", "sum(forward[:-1])")
waits_with_each_micro_batch = edit(
    STEP, "waits_with_each_micro_batch", "* piece + shown", "* piece + micro_batches * shown"
)
waits_with_each_piece = edit(STEP, "waits_with_each_piece", "* piece + shown", "* (piece + shown)")
two_forwards = edit(STEP, "two_forwards", "3 * sum(forward)", "2 * sum(forward)")
two_all_reduces = edit(STEP, "two_all_reduces", "4 * len(forward)", "2 * len(forward)")
for_the_stage = edit(STEP, "for_the_stage", "4 * len(forward) * all_reduce", "4 * all_reduce")
all_shows = edit(STEP, "all_shows", SHOWN, "gradients")
none_shows = edit(STEP, "none_shows", SHOWN, "0.0")
every_layer = edit(STEP, "every_layer", "forward[:-1]", "forward")
not_the_first = edit(STEP, "not_the_first", "forward[:-1]", "forward[1:]")
time_won = edit(STEP, "time_won", SHOWN, "gradients - 2 * sum(forward[:-1])")
behind_all = edit(
    STEP, "behind_all", "2 * sum(forward[:-1])", "2 * micro_batches * sum(forward[:-1])"
)
doubles = edit(STEP, "doubles", f"    return {PIECES}", f"    forward *= 2\n    return {PIECES}")


def by_labkits_schedule(forward, all_reduce, stages, micro_batches, gradients):
    from labkit.distributed.pipeline.predictions import step_seconds

    layers = len(forward)
    t_f = sum(forward) + 2 * layers * all_reduce
    t_b = 2 * sum(forward) + 2 * layers * all_reduce
    pipeline = step_seconds(stages, micro_batches, t_f, t_b)
    return pipeline + max(gradients - 2 * sum(forward[:-1]), 0)


def in_numpy(forward, all_reduce, stages, micro_batches, gradients):
    layers = 3 * forward + 4 * all_reduce
    hides = 2 * (forward.sum() - forward[-1])
    pieces = np.arange(micro_batches + stages - 1)
    return (pieces * 0 + layers.sum()).sum() + np.clip(gradients - hides, 0, None)


PLANTED = {
    FIT: [
        (not_divided, "drown the small ones"),
        (divided_twice, "drown the large ones"),
        (by_roots, "square root of the seconds"),
        (not_turned_over, "seconds for each byte"),
        (right_side_of_seconds, "seconds divided by seconds are 1"),
        (by_size, "divided by the bytes"),
        (means_first, "mean of each size"),
        (fastest_first, "fastest ping of each size"),
        (columns_swapped, "two columns of the rows are swapped"),
        (through_two_points, "Only the smallest and the largest ping"),
        (sorts_in_place, "changes its input"),
        (by_labkit, "labkit.distributed"),
    ],
    HIDDEN: [
        (from_the_first, "from the last layer to layer 0"),
        (all_at_once, "travel at the same time"),
        (what_shows, "what shows"),
        (the_whole, "when the last gradient arrives"),
        (never_waits, "whether or not anything travels"),
        (the_shorter, "shorter of all backward and all travel"),
        (a_lump, "as one piece"),
        (late_or_never, "always late or never"),
        (sent_before_it_is_there, "before its layer has had its backward"),
        (all_but_layer_0, "hides everything but layer 0"),
        (reverses, "changes its input"),
        (by_torch, "torch"),
    ],
    STEP: [
        (no_bubble, "bubble is missing"),
        (a_piece_more, "m + p pieces"),
        (m_times_p, "m x p pieces"),
        (behind_all_reduces, "behind backward's all-reduces"),
        (behind_a_forward, "behind one forward"),
        (waits_with_each_micro_batch, "behind each micro-batch"),
        (waits_with_each_piece, "in each of the m + p - 1 pieces"),
        (two_forwards, "twice as long as forward"),
        (two_all_reduces, "Only half of the all-reduces"),
        (for_the_stage, "for the whole stage"),
        (all_shows, "All of the gradients"),
        (none_shows, "None of the gradients"),
        (every_layer, "backward of all layers"),
        (not_the_first, "leaves out the wrong layer"),
        (time_won, "does not get shorter by the rest"),
        (behind_all, "backward of all micro-batches"),
        (doubles, "changes its input"),
        (by_labkits_schedule, "labkit.distributed"),
    ],
}
ALSO_RIGHT = {
    FIT: [by_polyfit, by_normal_equations],
    HIDDEN: [by_the_longest_wait],
    STEP: [in_numpy],
}
ONE = np.array([1.0, 2.0]), np.array([2.0, 3.0])  # latency 1 s, bandwidth 1 B/s
ONE_SECOND = np.array([1e6]), np.ones(1)
NOTHING = np.zeros(1), np.zeros(1)
NO_WORK = np.zeros(2), 0.0, 2, 3, 1.0
RIGHT_ON = {
    not_turned_over: ONE,
    columns_swapped: ONE,
    what_shows: (np.array([2.0, 1.0]), np.ones(2)),
    the_whole: NOTHING,
    never_waits: NOTHING,
    sent_before_it_is_there: NOTHING,
    right_side_of_seconds: ONE_SECOND,
    the_shorter: NOTHING,
    a_piece_more: NO_WORK,
    two_forwards: NO_WORK,
}
