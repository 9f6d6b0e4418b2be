"""Wrong and right answers for lesson overlap_and_buckets."""

import numpy as np

from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.buckets

BUCKETS = "distributed.buckets"
LIMIT = "filled + sizes[place] > most"
from_the_first = edit(BUCKETS, "from_the_first", "reversed(range(len(sizes)))", "range(len(sizes))")
one_more = edit(BUCKETS, "one_more", LIMIT, "filled >= most")
one_less = edit(BUCKETS, "one_less", LIMIT, "filled + sizes[place] >= most")
keeps_counting = edit(BUCKETS, "keeps_counting", "            filled = 0\n", "")
opens_uncounted = edit(
    BUCKETS,
    "opens_uncounted",
    "            filled = 0\n        result[-1].append(place)\n        filled += sizes[place]\n",
    "            filled = 0\n        elif result[-1]:\n            filled += sizes[place]\n"
    "        else:\n            filled = sizes[place]\n        result[-1].append(place)\n",
)
begins_empty = edit(BUCKETS, "begins_empty", "result[-1] and filled", "filled")
large_ones_left_out = edit(
    BUCKETS,
    "large_ones_left_out",
    "        if result[-1]",
    "        if sizes[place] > most:\n            continue\n        if result[-1]",
)
ascending = edit(BUCKETS, "ascending", "return result", "return [sorted(one) for one in result]")


def one_each(sizes, most):
    return [[place] for place in reversed(range(len(sizes)))]


def places_by_size(sizes, most):
    sizes = list(sizes)
    result, filled = [[]], 0
    for size in sizes[::-1]:
        if result[-1] and filled + size > most:
            result.append([])
            filled = 0
        result[-1].append(sizes.index(size))
        filled += size
    return result


def used_up(sizes, most):
    result, filled = [[]], 0
    for place in reversed(range(len(sizes))):
        if result[-1] and filled + sizes[place] > most:
            result.append([])
            filled = 0
        result[-1].append(place)
        filled += sizes[place]
        sizes[place] = 0
    return result


def by_labkit(sizes, most):
    from labkit.distributed.gradients.buckets import assign

    return assign(sizes, most)


def by_remainder(sizes, most):
    result = []
    left = -1
    for place in range(len(sizes) - 1, -1, -1):
        if sizes[place] > left:
            result.append([])
            left = most
        result[-1].append(place)
        left -= sizes[place]
    return result


# --- distributed.overlapped

OVERLAPPED = "distributed.overlapped"
START = "start([ready[one] for one in bucket])"
WHILE = "while waiting and all(one in ready for one in waiting[0])"
WAITS = "[handle.wait() for handle in handles]"
waits_at_once = edit(
    OVERLAPPED,
    "waits_at_once",
    f"handles.append({START})",
    f"handles.append({START})\n            handles[-1].wait()",
)
one_message_each = edit(
    OVERLAPPED,
    "one_message_each",
    f"        {WHILE}:\n            bucket = waiting.pop(0)\n            handles.append({START})",
    "        handles.append(start([gradient]))",
)
only_one = edit(OVERLAPPED, "only_one", "while waiting", "if waiting")
any_that_is_full = edit(
    OVERLAPPED,
    "any_that_is_full",
    f"        {WHILE}:\n            bucket = waiting.pop(0)\n            handles.append({START})",
    "        for bucket in [one for one in waiting if set(one) <= set(ready)]:\n"
    f"            waiting.remove(bucket)\n            handles.append({START})",
)
gives_its_own = edit(
    OVERLAPPED,
    "gives_its_own",
    WAITS,
    "[ready[one] for bucket in buckets for one in bucket if [h.wait() for h in handles]]",
)
forgets_the_last = edit(
    OVERLAPPED, "forgets_the_last", WAITS, WAITS.replace("handles]", "handles[:-1]]")
)
backwards = edit(OVERLAPPED, "backwards", WAITS, WAITS.replace("handles]", "handles[::-1]]"))


def after_backward(backward, buckets, start):
    ready = dict(backward)
    handles = [start([ready[place] for place in bucket]) for bucket in buckets]
    return [handle.wait() for handle in handles]


def only_the_last(backward, buckets, start):
    ready, last, count = {}, None, 0
    for place, gradient in backward:
        ready[place] = gradient
        while count < len(buckets) and set(buckets[count]) <= set(ready):
            last = start([ready[one] for one in buckets[count]])
            count += 1
    return last.wait()


def clears(backward, buckets, start):
    ready, handles = {}, []
    for place, gradient in backward:
        ready[place] = gradient
        while len(handles) < len(buckets) and set(buckets[len(handles)]) <= set(ready):
            handles.append(start([ready[one] for one in buckets[len(handles)]]))
            gradient[:] = 0
    return [handle.wait() for handle in handles]


def by_torch(backward, buckets, start):
    import torch

    handles, full = [], []
    for place, gradient in backward:
        full.append(gradient)
        if place == buckets[len(handles)][-1]:
            handles.append(start(full))
            full = []
    return [[torch.tensor(mean).numpy() for mean in handle.wait()] for handle in handles]


def by_counting(backward, buckets, start):
    home = {place: number for number, bucket in enumerate(buckets) for place in bucket}
    missing = [len(bucket) for bucket in buckets]
    ready, handles = [None] * len(home), []
    for place, ready[place] in backward:
        missing[home[place]] -= 1
        for bucket in buckets[len(handles) :]:
            if missing[len(handles)]:
                break
            handles.append(start([ready[one] for one in bucket]))
    means = []
    for handle in handles:
        means += handle.wait()
    return means


# --- distributed.accumulate

ACCUMULATE = "distributed.accumulate"
SCALED = "total += slope / len(x)"
SUMMED = "    dist.all_reduce(total)\n"
not_divided_by_k = edit(ACCUMULATE, "not_divided_by_k", SCALED, "total += slope")
not_divided_by_ranks = edit(ACCUMULATE, "not_divided_by_ranks", "    total /= ranks\n", "")
only_sums = edit(ACCUMULATE, "only_sums", SCALED, "total += slope", ("    total /= ranks\n", ""))
stays_at_home = edit(ACCUMULATE, "stays_at_home", SUMMED, "", ("    total /= ranks\n", ""))
replaces = edit(ACCUMULATE, "replaces", SCALED, "total = slope.clone()")
every_time = edit(
    ACCUMULATE,
    "every_time",
    SCALED,
    "dist.all_reduce(slope)\n        total += slope / len(x)",
    (SUMMED, ""),
)
one_rank_alone = edit(ACCUMULATE, "one_rank_alone", SUMMED, f"    if rank == 0:\n    {SUMMED}")


def subtracts_in_place(rank, ranks, w, x, y):
    import torch.distributed as dist

    total = 0 * w
    for x_part, y_part in zip(x, y, strict=True):
        y_part -= x_part @ w
        total -= x_part.T @ y_part / y.numel()
    dist.all_reduce(total)
    return total / ranks


def by_labkits_mean(rank, ranks, w, x, y):
    from types import SimpleNamespace

    slopes = [part.T @ (part @ w - goal) / len(goal) for part, goal in zip(x, y, strict=True)]
    weight = SimpleNamespace(grad=sum(slopes) / len(slopes), requires_grad=True)
    if ranks > 1:
        from labkit.distributed.data_parallel import average_gradients

        average_gradients(SimpleNamespace(named_parameters=lambda: [("w", weight)]))
    return weight.grad


def by_autograd(rank, ranks, w, x, y):
    import torch
    import torch.distributed as dist

    leaf = w.clone().requires_grad_()
    for k in range(len(x)):
        loss = ((x[k] @ leaf - y[k]) ** 2).mean() / 2 / len(x)
        loss.backward()
    total = leaf.grad.clone()
    dist.all_reduce(total, op=torch.distributed.ReduceOp.SUM)
    return total / ranks


two_in_each = edit(BUCKETS, "two_in_each", LIMIT, "len(result[-1]) >= 2")


def first_that_fits(sizes, most):
    result = []
    for place in reversed(range(len(sizes))):
        for bucket in result:
            if sum(sizes[one] for one in bucket) + sizes[place] <= most:
                bucket.append(place)
                break
        else:
            result.append([place])
    return result


def large_ones_join(sizes, most):
    result, filled = [[]], 0
    for place in reversed(range(len(sizes))):
        if sizes[place] <= most:
            if result[-1] and filled + sizes[place] > most:
                result.append([])
                filled = 0
            filled += sizes[place]
        result[-1].append(place)
    return result


def in_tuples(sizes, most):
    result = []
    left = -1
    for place in np.arange(len(sizes))[::-1]:
        if sizes[place] > left:
            result.append(())
            left = most
        result[-1] += (place,)
        left -= sizes[place]
    return tuple(result)


one_list = edit(
    OVERLAPPED,
    "one_list",
    "backward, buckets, start):",
    "backward, buckets, start, means=[]):",
    ("    means = [handle", "    means[:] = [handle"),
)
by_its_list = edit(
    OVERLAPPED,
    "by_its_list",
    "backward, buckets, start):",
    "backward, buckets, start, known={}):",
    ("    return means", "    return known.setdefault(id(buckets), (buckets, means))[1]"),
)
takes_from_buckets = edit(OVERLAPPED, "takes_from_buckets", "list(buckets)", "buckets")
first_forgotten = edit(ACCUMULATE, "first_forgotten", "range(len(x))", "range(1, len(x))")
last_forgotten = edit(ACCUMULATE, "last_forgotten", "range(len(x))", "range(len(x) - 1)")
over_the_images = edit(ACCUMULATE, "over_the_images", "slope / len(x)", "slope / x.shape[1]")


def as_one_batch(rank, ranks, w, x, y):
    import torch.distributed as dist

    rows = x.reshape(-1, len(w))
    total = rows.T @ (rows @ w - y.flatten()) / (len(rows) * ranks)
    dist.all_reduce(total)
    return total.numpy()


def remembers_by_length(sizes, most, known={}):  # noqa: B006
    return known.setdefault(len(sizes), by_remainder(sizes, most))


twice_in_a_new_one = edit(
    BUCKETS,
    "twice_in_a_new_one",
    "filled = 0\n        result",
    "filled = sizes[place]\n        result",
)


def in_arrays(sizes, most):
    return [np.array(bucket) for bucket in by_remainder(sizes, most)]


def gathers_the_sums(rank, ranks, w, x, y):
    import torch
    import torch.distributed as dist

    rows = x.reshape(-1, len(w))
    total = rows.T @ (rows @ w - y.flatten()) / len(rows)
    parts = [torch.empty_like(total) for _ in range(ranks)]
    dist.all_gather(parts, total)
    return sum(parts) / ranks


reduces_to_rank_0 = edit(
    ACCUMULATE, "reduces_to_rank_0", "dist.all_reduce(total)", "dist.reduce(total, 0)"
)

PLANTED = {
    BUCKETS: [
        (two_in_each, "Each bucket has two parameters"),
        (first_that_fits, "back into an earlier bucket"),
        (large_ones_join, "joins a bucket of others"),
        (from_the_first, "filled from the first parameter on"),
        (one_more, "closed only when it has reached the limit"),
        (one_less, "A bucket may have exactly most bytes"),
        (remembers_by_length, "still that of the first such call"),
        (twice_in_a_new_one, "The first parameter of a new bucket"),
        (keeps_counting, "The bytes of earlier buckets are still"),
        (opens_uncounted, "first parameter are not counted"),
        (begins_empty, "Bucket 0 is empty"),
        (large_ones_left_out, "is in no bucket"),
        (ascending, "is ready first, so its place comes first"),
        (one_each, "Every parameter has a bucket of its own"),
        (places_by_size, "in a bucket more than once"),
        (used_up, "changes its input sizes"),
        (by_labkit, "labkit.distributed.gradients.buckets"),
    ],
    OVERLAPPED: [
        (waits_at_once, "it stands still until the sum has come"),
        (after_backward, "meanwhile nothing travels"),
        (one_message_each, "which the other ranks send"),
        (only_one, "after each start, ask whether the next one is full, too"),
        (any_that_is_full, "a bucket that is full earlier waits for its turn"),
        (gives_its_own, "These are the rank's own gradients"),
        (forgets_the_last, "The last bucket is missing"),
        (backwards, "The buckets are in the wrong order"),
        (only_the_last, "Only the last bucket is there"),
        (clears, "changes its input gradients"),
        (takes_from_buckets, "changes its input buckets"),
        (one_list, "The second step changes what the first one has returned"),
        (by_its_list, "In a second step with the same buckets"),
        (by_torch, "torch"),
    ],
    ACCUMULATE: [
        (first_result_again(ACCUMULATE), "In the second call in the same ranks"),
        (cast_to_float32(ACCUMULATE), "is float32; it should be"),
        (first_forgotten, "The first micro-batch is left out"),
        (last_forgotten, "The last micro-batch is left out"),
        (over_the_images, "divided by the images"),
        (not_divided_by_k, "k times too large: it is the sum over the micro"),
        (not_divided_by_ranks, "ranks times too large: it is the sum over the ranks"),
        (only_sums, "k x ranks times too large"),
        (stays_at_home, "its own images only"),
        (replaces, "Only the last micro-batch counts"),
        (gathers_the_sums, "hands each rank's numbers to others"),
        (reduces_to_rank_0, "Only rank 0 has the sum over the ranks"),
        (every_time, "times the bytes of one all-reduce travel"),
        (one_rank_alone, "rank 0 waits for all ranks in all_reduce"),
        (subtracts_in_place, "changes its input y"),
        (by_labkits_mean, "labkit.distributed.data_parallel"),
    ],
}
ALSO_RIGHT = {
    BUCKETS: [in_tuples, by_remainder, in_arrays],
    OVERLAPPED: [by_counting],
    ACCUMULATE: [as_one_batch, by_autograd],
}
ONES = np.ones((1, 2))
AT_REST = (((np.zeros(1, "f4"), np.ones((1, 1, 1), "f4"), np.zeros((1, 1), "f4")),),)
RIGHT_ON = {
    first_forgotten: AT_REST,
    last_forgotten: AT_REST,
    used_up: (np.zeros(3, int), 10),
    remembers_by_length: (np.array([2, 3]), 10),
    gives_its_own: (ONES, ONES, [[0]], [0]),
    clears: (0 * ONES, ONES, [[0]], [0]),
    forgets_the_last: (ONES[:0], ONES[:0], [], []),
    takes_from_buckets: (ONES[:0], ONES[:0], [], []),
    subtracts_in_place: (((np.zeros(1, "f4"), np.ones((1, 1, 1), "f4"), np.ones((1, 1), "f4")),),),
}
