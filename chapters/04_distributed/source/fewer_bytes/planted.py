"""Wrong and right answers for lesson fewer_bytes."""

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import all_gather, ring_all_reduce
from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.top_k

FIRST = "distributed.top_k"
forgetful = edit(FIRST, "forgetful", "wanted = gradient + error", "wanted = gradient.clone()")
largest_of_all = edit(FIRST, "largest_of_all", "wanted.abs().topk", "wanted.topk")
not_a_mean = edit(FIRST, "not_a_mean", "values / ranks", "values")
own_places = edit(FIRST, "own_places", "mean[where] +=", "mean[places] +=")
keeps_less = edit(FIRST, "keeps_less", "new_error = wanted.clone()", "new_error = gradient.clone()")
keeps_what_the_mean_lacks = edit(
    FIRST, "keeps_what_the_mean_lacks", "return mean, new_error", "return mean, wanted - mean"
)
drops_the_rest = edit(
    FIRST, "drops_the_rest", "return mean, new_error", "return mean, torch.zeros_like(wanted)"
)
into_the_error = edit(
    FIRST, "into_the_error", "wanted = gradient + error", "wanted = error.add_(gradient)"
)


def summed_in_a_ring(rank, ranks, gradient, error, k):
    wanted = gradient + error
    sent = torch.zeros_like(wanted)
    places = wanted.abs().topk(k).indices
    sent[places] = wanted[places]
    return ring_all_reduce(sent) / ranks, wanted - sent


def places_in_one_byte(rank, ranks, gradient, error, k):
    wanted = gradient + error
    mean = torch.zeros_like(wanted)
    places = wanted.abs().topk(k).indices
    lists = all_gather(wanted[places]), all_gather(places.to(torch.int8))
    for values, where in zip(*lists, strict=True):
        mean[where.long()] += values / ranks
    wanted[places] = 0
    return mean, wanted


def rank_0_gathers_alone(rank, ranks, gradient, error, k):
    wanted = gradient + error
    places = wanted.abs().topk(k).indices
    sent = torch.zeros_like(wanted)
    sent[places] = wanted[places]
    if rank == 0:
        all_gather(wanted[places])
    return sent, wanted - sent


def by_the_course(rank, ranks, gradient, error, k):
    from labkit.distributed.gradients.compression import TopK

    compressor = TopK(k / len(gradient))
    compressor.error = error
    return compressor.average(gradient), compressor.error


def in_one_message_by_torch(rank, ranks, gradient, error, k):
    wanted = gradient + error
    places = wanted.abs().argsort(descending=True)[:k]
    mine = torch.stack([wanted[places].double(), places.double()])[:, :k].float()
    lists = [torch.empty_like(mine) for _ in range(ranks)]
    dist.all_gather(lists, mine)
    mean = torch.zeros_like(wanted)
    for values, where in lists:
        mean.index_add_(0, where.long(), values / ranks)
    wanted[places] = 0
    return mean, wanted


# --- distributed.local_sgd

SECOND = "distributed.local_sgd"
never_meets = edit(SECOND, "never_meets", "% every == 0", "% every < 0")
always_meets = edit(SECOND, "always_meets", "% every == 0", "% every >= 0")
meets_one_step_early = edit(SECOND, "meets_one_step_early", "(step + 1) % every", "step % every")
meets_at_the_end = edit(SECOND, "meets_at_the_end", "(step + 1) % every == 0", "step == len(y) - 1")
adds = edit(SECOND, "adds", "ring_all_reduce(w) / ranks", "ring_all_reduce(w)")
other_way = edit(SECOND, "other_way", "w - rate * gradient", "w + rate * gradient")
in_place = edit(SECOND, "in_place", "w = w - rate * gradient", "w -= rate * gradient")
rank_0_meets = edit(SECOND, "rank_0_meets", "% every == 0", "% every == 0 and rank == 0")


def also_gradients(rank, ranks, w, x, y, rate, every):
    for step in range(len(y)):
        gradient = (x[step] @ w - y[step]) * x[step]
        ring_all_reduce(gradient)
        w = w - rate * gradient
        if (step + 1) % every == 0:
            w = ring_all_reduce(w) / ranks
    return w


in_two_halves = edit(
    SECOND,
    "in_two_halves",
    "ring_all_reduce(w) / ranks",
    "torch.cat([ring_all_reduce(half) for half in w.tensor_split(2)]) / ranks",
)


def by_the_course_too(rank, ranks, w, x, y, rate, every):
    from labkit_lessons.distributed.fewer_bytes.local_sgd import average_parameters

    average_parameters(torch.nn.Linear(1, 1))
    return w


def by_torch(rank, ranks, w, x, y, rate, every):
    w = w.clone()
    for step, (row, target) in enumerate(zip(x, y, strict=True), start=1):
        w -= rate * (row.dot(w) - target) * row
        if step % every == 0:
            dist.all_reduce(w)
            w /= ranks
    return w


places_in_8_bytes = edit(FIRST, "places_in_8_bytes", "indices.int()", "indices")
one_too_many = edit(FIRST, "one_too_many", "topk(k)", "topk(min(k + 1, len(wanted)))")
without_signs = edit(
    FIRST, "without_signs", "all_gather(wanted[places])", "all_gather(wanted[places].abs())"
)
by_two = edit(FIRST, "by_two", "values / ranks", "values / 2")


def in_numpy(rank, ranks, gradient, error, k):
    wanted = (gradient + error).numpy()
    places = np.argsort(-np.abs(wanted))[:k].astype(np.int32)
    mean = np.zeros_like(wanted)
    lists = all_gather(torch.from_numpy(wanted[places])), all_gather(torch.from_numpy(places))
    for values, where in zip(*lists, strict=True):
        mean[where.numpy()] += values.numpy() / ranks
    wanted[places] = 0
    return mean, wanted


every_second_step = edit(SECOND, "every_second_step", "% every == 0", "% 2 == 0")
a_step_less = edit(SECOND, "a_step_less", "range(len(y))", "range(len(y) - 1)")


def back_to_torch(rank, ranks, w, x, y, rate, every):
    w = w.numpy().copy()
    for step, (row, target) in enumerate(zip(x.numpy(), y.numpy(), strict=True)):
        w = w - np.float32(rate) * (row @ w - target) * row
        if step % every == every - 1:
            w = (ring_all_reduce(torch.from_numpy(w)) / ranks).numpy()
    return w


all_of_a_size = edit(
    FIRST,
    "all_of_a_size",
    "wanted.abs().topk(k).indices.int()",
    "(wanted.abs() >= wanted.abs().topk(k).values[-1]).nonzero().flatten().int()",
)


def places_in_two_bytes(rank, ranks, gradient, error, k):
    wanted = gradient + error
    mean = torch.zeros_like(wanted)
    places = wanted.abs().topk(k).indices
    lists = all_gather(wanted[places]), all_gather(places.to(torch.int16))
    for values, where in zip(*lists, strict=True):
        mean[where.long()] += values / ranks
    wanted[places] = 0
    return mean, wanted


def one_by_one(rank, ranks, gradient, error, k):
    wanted = gradient + error
    mean = torch.zeros_like(wanted)
    places = wanted.abs().topk(k).indices.int()
    for place in places.split(1):
        for value, where in zip(all_gather(wanted[place]), all_gather(place), strict=True):
            mean[where] += value / ranks
    wanted[places] = 0
    return mean, wanted


last_one_stays = edit(FIRST, "last_one_stays", "mean[where] +=", "mean[where] =")
EVERY = []


def every_of_the_first_call(rank, ranks, w, x, y, rate, every):
    EVERY.append(every)
    for step in range(len(y)):
        w = w - rate * (x[step] @ w - y[step]) * x[step]
        if (step + 1) % EVERY[0] == 0:
            w = ring_all_reduce(w) / ranks
    return w


mean_of_gradients = edit(
    SECOND,
    "mean_of_gradients",
    "w = w - rate * gradient\n        if (step + 1) % every == 0:\n"
    "            w = ring_all_reduce(w) / ranks",
    "if (step + 1) % every == 0:\n            gradient = ring_all_reduce(gradient) / ranks\n"
    "        w = w - rate * gradient",
)

PLANTED = {
    FIRST: [
        (first_result_again(FIRST), "In the second call in the same ranks"),
        (places_in_8_bytes, "the places travel in 8 bytes"),
        (places_in_two_bytes, "cut to 16 bits"),
        (one_by_one, "it takes 4 gathers"),
        (last_one_stays, "overwrites the others'"),
        (one_too_many, "One number too many is sent"),
        (without_signs, "sent without their signs"),
        (by_two, "The sum is always divided by 2"),
        (forgetful, "The error of earlier steps is not added"),
        (largest_of_all, "-7 is larger than 3"),
        (not_a_mean, "the division by the number of ranks is missing"),
        (own_places, "The values of other ranks are put at this rank's places"),
        (keeps_less, "The new error is the gradient outside of what was sent"),
        (keeps_what_the_mean_lacks, "a rank keeps what it has not sent itself"),
        (drops_the_rest, "what was not sent is lost"),
        (into_the_error, "changes its input"),
        (all_of_a_size, "of equal magnitudes, k travel at most"),
        (summed_in_a_ring, "gather only what is sent"),
        (places_in_one_byte, "places above 255"),
        (rank_0_gathers_alone, "wait"),
        (by_the_course, "labkit.distributed.gradients.compression"),
    ],
    SECOND: [
        (first_result_again(SECOND), "In the second call in the same ranks"),
        (cast_to_float32(SECOND), "is float32; it should be"),
        (every_of_the_first_call, "In the third call in the same ranks"),
        (mean_of_gradients, "their gradients are averaged"),
        (every_second_step, "average after every second step"),
        (a_step_less, "The last step is missing"),
        (never_meets, "The ranks never meet"),
        (always_meets, "The ranks average after each step"),
        (meets_one_step_early, "count how many steps have been made"),
        (meets_at_the_end, "The ranks average once, after the last step"),
        (adds, "but not divided by the number of ranks"),
        (other_way, "The step goes up"),
        (in_place, "changes its input"),
        (rank_0_meets, "wait"),
        (also_gradients, "more than"),
        (in_two_halves, "one all-reduce of all weights in"),
        (by_the_course_too, "labkit_lessons.distributed.fewer_bytes.local_sgd"),
    ],
}
ALSO_RIGHT = {
    FIRST: [in_numpy, in_one_message_by_torch],
    SECOND: [back_to_torch, by_torch],
}
# One rank whose gradients are 0: wherever it goes, it stays.
STANDING = (((np.ones(2, "f4"), np.zeros((3, 2), "f4"), np.zeros(3, "f4"), 0.1, 2),),)
RIGHT_ON = {
    forgetful: (((np.array([3.0, -4.0], "f4"), np.zeros(2, "f4"), 1),),),
    other_way: STANDING,
    a_step_less: STANDING,
    by_the_course_too: STANDING,
}
