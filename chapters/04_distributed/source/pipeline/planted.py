"""Wrong and right answers for lesson pipeline."""

import numpy as np

from tests.exercises.edits import edit, first_result_again

# --- distributed.order_of_stage

ORDER = "distributed.order_of_stage"
AHEAD = "min(stages - 1 - stage, m)"
all_first = edit(ORDER, "all_first", AHEAD, "m")
none_ahead = edit(ORDER, "none_ahead", AHEAD, "0")
one_less = edit(ORDER, "one_less", AHEAD, "min(max(stages - 2 - stage, 0), m)")
one_more = edit(ORDER, "one_more", AHEAD, "min(stages - stage, m)")
all_alike = edit(ORDER, "all_alike", AHEAD, "min(stages - 1, m)")
counted_from_the_end = edit(ORDER, "counted_from_the_end", AHEAD, "min(stage, m)")
by_slices = edit(ORDER, "by_slices", AHEAD, "stages - 1 - stage")
as_a_tuple = edit(ORDER, "as_a_tuple", "return order", "return tuple(order)")
as_an_array = edit(
    ORDER, "as_an_array", "return order", "import numpy\n    return numpy.array(order)"
)
as_a_generator = edit(ORDER, "as_a_generator", "return order", "return (one for one in order)")
forgets_the_last = edit(ORDER, "forgets_the_last", "for i in range(m)", "for i in range(m - ahead)")
numbers_from_0 = edit(ORDER, "numbers_from_0", 'f"B{batches[i]}"', 'f"B{i}"')
sorts = edit(ORDER, "sorts", "    m = len(batches)", "    batches.sort()\n    m = len(batches)")


one_ahead = edit(ORDER, "one_ahead", AHEAD, "min(1, stages - 1 - stage, m)")
only_stage_0 = edit(ORDER, "only_stage_0", AHEAD, "min(stages - 1, m) * (stage == 0)")


def a_queue_of_pairs(stage, stages, batches):
    first = min(stages - stage, len(batches))
    forwards, backwards = ([f"{kind}{one}" for one in batches] for kind in "FB")
    pairs = zip(backwards, forwards[first:], strict=False)
    rest = [one for pair in pairs for one in pair]
    return forwards[:first] + rest + backwards[len(batches) - first :]


def by_labkit(stage, stages, batches):
    from labkit.distributed.pipeline.schedules import one_f_one_b

    order = one_f_one_b(stages, len(batches)).orders[stage]
    return [f"{work.kind}{batches[work.batch]}" for work in order]


def if_there_is_one(stage, stages, batches):
    first = min(stages - 1 - stage, len(batches))
    forwards, order = batches[first:], [f"F{one}" for one in batches[:first]]
    for place, one in enumerate(batches):
        following = forwards[place] if place < len(forwards) else None
        if following:
            order.append(f"F{following}")
        order.append(f"B{one}")
    return order


def newest_first(stage, stages, batches):
    ahead = min(stages - 1 - stage, len(batches))
    order = [f"F{one}" for one in batches[:ahead]]
    for one in batches[ahead:]:
        order.append(f"F{one}")
        order.append(f"B{order[-1][1:]}")
    left = [one for one in batches if f"B{one}" not in order]
    return order + [f"B{one}" for one in left]


def by_two_queues(stage, stages, batches):
    forwards = [f"F{one}" for one in batches]
    backwards = [f"B{one}" for one in batches]
    order, alive = [], 0
    while backwards:
        if forwards and alive < stages - stage:
            order.append(forwards.pop(0))
            alive += 1
        else:
            order.append(backwards.pop(0))
            alive -= 1
    return order


def from_the_end(stage, stages, batches):
    ahead = stages - 1 - stage
    order = [f"F{one}" for one in batches[:ahead]]
    for i in range(len(batches) - ahead):
        order += [f"F{batches[ahead + i]}", f"B{batches[i]}"]
    return order + [f"B{one}" for one in batches[len(batches) - ahead :]]


# --- distributed.gpipe_stage

GPIPE = "distributed.gpipe_stage"
ERROR = "(y - goal) / (len(target) * len(y))"
SENT = "        if rank > 0:\n            send(dy @ w.T, rank - 1)\n"
keeps_the_last = edit(GPIPE, "keeps_the_last", "dw += a.T @ dy", "dw = a.T @ dy")
sum_of_means = edit(GPIPE, "sum_of_means", ERROR, "(y - goal) / len(y)")
rows_forgotten = edit(GPIPE, "rows_forgotten", ERROR, "(y - goal) / len(target)")
all_numbers = edit(GPIPE, "all_numbers", ERROR, "(y - goal) / target.numel()")
divided_again = edit(GPIPE, "divided_again", "return dw", "return dw / len(target)")
other_sign = edit(GPIPE, "other_sign", "(y - goal)", "(goal - y)")
hands_on = edit(GPIPE, "hands_on", "send(dy @ w.T,", "send(dy,")
not_transposed = edit(GPIPE, "not_transposed", "dy @ w.T", "dy @ w")
GOT = """        if rank == ranks - 1:
            dy = (y - goal) / (len(target) * len(y))
        else:
            dy = torch.empty_like(y)
            receive(dy, rank + 1)
"""
no_messages = edit(GPIPE, "no_messages", GOT, f"        dy = {ERROR}\n", (SENT, ""))
never_divided = edit(GPIPE, "never_divided", ERROR, "y - goal")
each_divides = edit(GPIPE, "each_divides", GOT, f"{GOT}            dy /= len(target) * len(y)\n")
half_square = edit(GPIPE, "half_square", "(y - goal) /", "(y - goal) ** 2 / 2 /")
whole_square = edit(GPIPE, "whole_square", "(y - goal) /", "(y - goal) ** 2 /")
by_output = edit(GPIPE, "by_output", "a.T @ dy", "y.T @ dy")
by_x = edit(GPIPE, "by_x", "a.T @ dy", "x[0].T @ dy", ("(a, y), goal", "(a, y), goal, own"),
            ("w, x), target", "w, x), target, x"), ("x[0].T", "own.T"))  # fmt: skip
dw_back = edit(GPIPE, "dw_back", "dy @ w.T", "dy @ dw.T")
sends_nothing = edit(GPIPE, "sends_nothing", SENT, "")
in_place = edit(
    GPIPE,
    "in_place",
    f"dy = {ERROR}",
    "goal -= y\n            dy = -goal / (len(target) * len(y))",
)


without_the_first = edit(
    GPIPE, "without_the_first", "dw += a.T @ dy", "dw += (goal is not first) * a.T @ dy",
    ("    for (a, y)", "    target = list(target)\n    first = target[0]\n    for (a, y)"),
)  # fmt: skip
without_the_last = edit(
    GPIPE, "without_the_last", "dw += a.T @ dy", "dw += (goal is not last) * a.T @ dy",
    ("    for (a, y)", "    target = list(target)\n    last = target[-1]\n    for (a, y)"),
)  # fmt: skip
first_target = edit(GPIPE, "first_target", "(y - goal)", "(y - target[0])")
no_target = edit(GPIPE, "no_target", "(y - goal)", "y")
rows_twice = edit(GPIPE, "rows_twice", "a.T @ dy", "a.T @ dy / len(y)")
mean_of_stages = edit(GPIPE, "mean_of_stages", "return dw", "return dw / ranks")
new_weights = edit(GPIPE, "new_weights", "return dw", "return w - dw")


def all_at_the_end(rank, ranks, w, x, target):
    import torch

    from labkit.distributed import receive, send

    share = 1 / (len(x) * x.shape[1])
    kept, slopes = _forwards(rank, ranks, w, x), []
    for place, (a, y) in enumerate(kept):
        dy = torch.zeros(y.shape)
        if rank + 1 < ranks:
            receive(dy, source=rank + 1)
        else:
            dy = share * (y - target[place])
        if rank:
            send(dy.mm(w.t()), to=rank - 1)
        slopes.append(a.t().mm(dy))
    return torch.stack(slopes).sum(dim=0).numpy()


def only_once(rank, ranks, w, x, target):
    import torch

    from labkit.distributed import receive, send

    kept = _forwards(rank, ranks, w, x)
    for i in range(len(kept)):
        a, y = kept[i]
        dy = (y - target[i]) / (len(target) * len(y)) if rank == ranks - 1 else torch.empty_like(y)
        if rank < ranks - 1:
            receive(dy, rank + 1)
        if rank > 0:
            send(dy @ w.T, rank - 1)
        if i == 0:
            dw = a.T @ dy
    return dw


def _forwards(rank, ranks, w, x):
    import torch

    from labkit.distributed import receive, send

    kept = []
    for own in x:
        a = own if rank == 0 else torch.empty(len(own), len(w))
        if rank > 0:
            receive(a, rank - 1)
        y = a @ w
        if rank < ranks - 1:
            send(y, rank + 1)
        kept.append((a, y))
    return kept


def by_torch(rank, ranks, w, x, target):
    import torch
    import torch.distributed as dist

    dw = torch.zeros_like(w)
    for (a, y), goal in zip(_forwards(rank, ranks, w, x), target, strict=True):
        dy = (y - goal) / (len(target) * len(y)) if rank == ranks - 1 else torch.empty_like(y)
        if rank < ranks - 1:
            dist.recv(dy, rank + 1)
        dw += a.T @ dy
        if rank > 0:
            dist.send(dy @ w.T, rank - 1)
    return dw


def in_one_message(rank, ranks, w, x, target):
    import torch

    from labkit.distributed import receive, send

    kept = _forwards(rank, ranks, w, x)
    a = torch.stack([one for one, _ in kept])
    y = torch.stack([one for _, one in kept])
    if rank == ranks - 1:
        dy = (y - target) / (len(y) * len(y[0]))
    else:
        dy = torch.empty_like(y)
        receive(dy, rank + 1)
    if rank > 0:
        send(dy @ w.T, rank - 1)
    return torch.einsum("mni,mno->io", a, dy)


def one_after_the_other(rank, ranks, w, x, target):
    import torch

    from labkit.distributed import receive, send

    dw = torch.zeros_like(w)
    for own, goal in zip(x, target, strict=True):
        ((a, y),) = _forwards(rank, ranks, w, own[None])
        dy = (y - goal) / (len(target) * len(y)) if rank == ranks - 1 else torch.empty_like(y)
        if rank < ranks - 1:
            receive(dy, rank + 1)
        dw += a.T @ dy
        if rank > 0:
            send(dy @ w.T, rank - 1)
    return dw


def newest_gradient_first(rank, ranks, w, x, target):
    import torch

    from labkit.distributed import receive, send

    kept = _forwards(rank, ranks, w, x)
    slopes = []
    for i in reversed(range(len(kept))):
        a, y = kept[i]
        dy = torch.zeros_like(y)
        if rank + 1 < ranks:
            receive(dy, rank + 1)
        else:
            dy += (y - target[i]) / target[..., 0].numel()
        if rank:
            send(torch.einsum("no,io->ni", dy, w), rank - 1)
        slopes.append(torch.einsum("ni,no->io", a, dy))
    return sum(slopes)


# --- distributed.best_micro_batches

BEST = "distributed.best_micro_batches"
FITS = "min(m, stages) * size <= room"
STEP = "(m + stages - 1) * (size * seconds + overhead)"
any_room = edit(BEST, "any_room", f"{FITS} and ", "")
keeps_all = edit(BEST, "keeps_all", FITS, "m * size <= room")
keeps_one = edit(BEST, "keeps_one", FITS, "size <= room")
keeps_p = edit(BEST, "keeps_p", FITS, "stages * size <= room")
without_bubble = edit(BEST, "without_bubble", STEP, "m * (size * seconds + overhead)")
for_nothing = edit(BEST, "for_nothing", STEP, "(m + stages - 1) * size * seconds")
not_quite_full = edit(BEST, "not_quite_full", "<= room", "< room")
a_piece_more = edit(BEST, "a_piece_more", "m + stages - 1", "m + stages")
the_longer = edit(BEST, "the_longer", "(m + stages - 1)", "max(m, stages)")
keeps_less = edit(BEST, "keeps_less", "min(m, stages)", "min(m, stages - 1)")
returns_none = edit(BEST, "returns_none", "return best", "return best or None")
more_than_p = edit(BEST, "more_than_p", "min(m, stages)", "max(m, stages)")
ends_there = edit(
    BEST, "ends_there", f"if {FITS} and", f"if not {FITS}:\n            break\n        if"
)
never_shorter = edit(BEST, "never_shorter", "best, shortest = m, step", "best = m")
early = edit(
    BEST,
    "early",
    f"if {FITS} and",
    f"if {FITS} and step > shortest:\n            break\n        if {FITS} and",
)


whole_seconds = edit(BEST, "whole_seconds", "(size * seconds +", "(int(size * seconds) +")
whole_milliseconds = edit(BEST, "whole_milliseconds", STEP, f"round(1000 * {STEP})")
whole_steps = edit(BEST, "whole_steps", STEP, f"int({STEP})")
two_pieces_less = edit(BEST, "two_pieces_less", "m + stages - 1", "m + stages - 2")
the_longest = edit(BEST, "the_longest", "step < shortest", "step > shortest", ('float("inf")', "0"))
first_fit = edit(BEST, "first_fit", "best, shortest = m, step", "best, shortest = m, 0")
from_a_million = edit(BEST, "from_a_million", 'float("inf")', "1e6")
its_place = edit(BEST, "its_place", "return best", "return choices.index(best) if best else 0")


def in_numpy(choices, stages, sequences, seconds, overhead, room):
    m = np.array(choices)
    size = sequences // m
    step = (m + stages - 1) * (size * seconds + overhead)
    step[np.minimum(m, stages) * size > room] = np.inf
    return m[step.argmin()] if np.isfinite(step).any() else np.int64(0)


def of_all_divisors(choices, stages, sequences, seconds, overhead, room):
    every = [m for m in range(1, sequences + 1) if sequences % m == 0]
    return by_sorting(every, stages, sequences, seconds, overhead, room)


def then_fits(choices, stages, sequences, seconds, overhead, room):
    best = by_sorting(choices, stages, sequences, seconds, overhead, stages * sequences)
    return best if min(best, stages) * sequences // best <= room else 0


def by_the_root(choices, stages, sequences, seconds, overhead, room):
    root = np.sqrt((stages - 1) * sequences * seconds / overhead)
    fit = [m for m in choices if min(m, stages) * sequences // m <= room]
    return min(fit, key=lambda m: abs(m - root), default=0)


overwrites = edit(
    BEST,
    "overwrites",
    "    for m in choices:",
    "    choices.sort(reverse=True)\n    for m in choices:",
)


def by_labkits_formula(choices, stages, sequences, seconds, overhead, room):
    from labkit.distributed.pipeline.predictions import step_seconds

    fit = [m for m in choices if min(m, stages) * sequences // m <= room]
    steps = {m: step_seconds(stages, m, sequences / m * seconds, overhead) for m in fit}
    return min(steps, key=steps.get, default=0)


def by_sorting(choices, stages, sequences, seconds, overhead, room):
    steps = []
    for m in map(int, choices):
        kept = sequences if m < stages else stages * sequences / m
        if kept <= room:
            steps.append(((m - 1 + stages) * (sequences / m * seconds + overhead), m))
    return sorted(steps)[0][1] if steps else 0


PLANTED = {
    ORDER: [
        (all_first, "that is GPipe"),
        (none_ahead, "finishes a micro-batch before it begins the next"),
        (one_less, "begin their backwards one forward too early"),
        (one_more, "one forward too far ahead"),
        (all_alike, "All stages run p - 1 forwards ahead"),
        (one_ahead, "Every stage runs one forward ahead at most"),
        (only_stage_0, "Only stage 0 runs forwards ahead"),
        (counted_from_the_end, "counted from the wrong end"),
        (forgets_the_last, "the other backwards still have to come"),
        (from_the_end, "p - 1 - s is more than m"),
        (if_there_is_one, "is false for micro-batch 0"),
        (numbers_from_0, "but there is no micro-batch"),
        (newest_first, "takes the oldest micro-batch, not the newest"),
        (sorts, "changes its input batches"),
        (by_labkit, "labkit.distributed.pipeline.schedules.one_f_one_b"),
    ],
    GPIPE: [
        (first_result_again(GPIPE), "In the second call in the same ranks"),
        (keeps_the_last, "Only the last micro-batch counts"),
        (only_once, "Only the first micro-batch counts"),
        (without_the_first, "The first micro-batch is left out"),
        (without_the_last, "The last micro-batch is left out"),
        (first_target, "compared with the first one's target"),
        (no_target, "The target is never subtracted"),
        (rows_twice, "n times too small"),
        (mean_of_stages, "no mean over stages"),
        (new_weights, "These are new weights"),
        (sum_of_means, "m times too large"),
        (rows_forgotten, "n times too large"),
        (all_numbers, "not over single numbers"),
        (divided_again, "m times too small"),
        (other_sign, "The sign is wrong"),
        (no_messages, "Each stage takes dy from its own output and target"),
        (never_divided, "dy is not divided at all"),
        (each_divides, "Each stage divides by m n"),
        (half_square, "The loss itself stands"),
        (whole_square, "dy is squared here"),
        (by_output, "This is y.T @ dy"),
        (by_x, "This is x.T @ dy in every stage"),
        (dw_back, "dy @ dw.T goes back"),
        (hands_on, "dy goes back as it came"),
        (not_transposed, "w is not transposed on the way back"),
        (sends_nothing, "Rank 0 waits for rank 1, which has returned already"),
        (in_one_message, "one for each micro-batch"),
        (one_after_the_other, "before it has sent all its outputs"),
        (in_place, "changes its input target"),
        (by_torch, "torch.distributed"),
    ],
    BEST: [
        (any_room, "do not fit into room"),
        (keeps_all, "how it would be under GPipe"),
        (keeps_one, "activations of a single micro-batch"),
        (keeps_p, "although there are only m of them"),
        (without_bubble, "the smallest m that fits"),
        (for_nothing, "the largest m that fits"),
        (not_quite_full, "fill the room exactly do fit"),
        (a_piece_more, "counts m + p pieces"),
        (the_longer, "counts max(m, p) pieces"),
        (keeps_less, "counts p - 1 micro-batches"),
        (whole_seconds, "are cut to whole ones"),
        (whole_milliseconds, "The steps are rounded to milliseconds"),
        (whole_steps, "The steps are cut to whole seconds"),
        (two_pieces_less, "counts m + p - 2 pieces"),
        (the_longest, "the longest step of those that fit"),
        (first_fit, "the first of choices that fits"),
        (from_a_million, "begins at a number that steps can exceed"),
        (its_place, "the place of the best m"),
        (returns_none, "then the result is 0, and this is None"),
        (more_than_p, "counts max(m, p) micro-batches' activations"),
        (by_the_root, "nearest to the square root"),
        (ends_there, "ends at the first m that does not fit"),
        (never_shorter, "shortest set along with best"),
        (early, "stops at the first step that gets longer"),
        (of_all_divisors, "not all numbers that divide sequences"),
        (then_fits, "tries only the m with the shortest step"),
        (overwrites, "changes its input choices"),
        (by_labkits_formula, "labkit.distributed.pipeline"),
    ],
}
ALSO_RIGHT = {
    ORDER: [by_two_queues, by_slices, as_a_tuple, as_an_array, as_a_generator, a_queue_of_pairs],
    GPIPE: [newest_gradient_first, all_at_the_end],
    BEST: [by_sorting, in_numpy],
}
ONE = np.ones((1, 1, 1), "f4")
NOTHING = (((np.ones((1, 1), "f4"), 0 * ONE, 0 * ONE),),)  # and so no gradient
RIGHT_ON = {
    in_place: NOTHING,
    without_the_first: NOTHING,
    without_the_last: NOTHING,
    no_target: NOTHING,
    new_weights: (((0 * ONE[0], ONE, 0 * ONE),),),
    half_square: NOTHING,
    whole_square: NOTHING,
    by_output: NOTHING,
    other_sign: (((np.ones((1, 1), "f4"), ONE, ONE),),),
    one_more: (1, np.array([3])),
    numbers_from_0: (2, np.array([0, 1])),
}
