"""Wrong and right answers for lesson data_parallel_by_hand."""

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import receive, ring_all_reduce, send
from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.shard

SHARD = "distributed.shard"
no_epoch = edit(SHARD, "no_epoch", "seed + epoch", "seed")
no_seed = edit(SHARD, "no_seed", "seed + epoch", "epoch")
every_rank_its_own = edit(SHARD, "every_rank_its_own", "seed + epoch", "seed + epoch + rank")
not_shuffled = edit(SHARD, "not_shuffled", "photographs[places]", "photographs")
only_places = edit(SHARD, "only_places", "photographs[places]", "places")
neighbours = edit(SHARD, "neighbours", "[rank::ranks]", "[rank * each : (rank + 1) * each]")
rounded_down = edit(
    SHARD, "rounded_down", "math.ceil(len(photographs) / ranks)", "len(photographs) // ranks"
)
not_filled = edit(SHARD, "not_filled", "np.resize(order, each * ranks)", "order")


SOURCES = {}


def one_source(rank, ranks, photographs, epoch, seed):
    number = seed + epoch
    if number not in SOURCES:
        SOURCES.clear()
        SOURCES[number] = torch.Generator().manual_seed(number)
    order = photographs[torch.randperm(len(photographs), generator=SOURCES[number]).numpy()]
    return np.resize(order, -(-len(photographs) // ranks) * ranks)[rank::ranks]


def the_last_one_again(rank, ranks, photographs, epoch, seed):
    generator = torch.Generator().manual_seed(seed + epoch)
    order = photographs[torch.randperm(len(photographs), generator=generator).numpy()]
    missing = -len(order) % ranks
    return np.pad(order, (0, missing), mode="edge")[rank::ranks]


def shuffles_in_place(rank, ranks, photographs, epoch, seed):
    generator = torch.Generator().manual_seed(seed + epoch)
    places = torch.randperm(len(photographs), generator=generator).numpy()
    photographs[:] = photographs[places]
    steps = -(-len(photographs) // ranks)
    return np.resize(photographs, steps * ranks)[rank::ranks]


def by_torch(rank, ranks, photographs, epoch, seed):
    from torch.utils.data import DistributedSampler

    sampler = DistributedSampler(range(len(photographs)), ranks, rank, seed=seed)
    sampler.set_epoch(epoch)
    return photographs[list(sampler)]


def in_a_loop(rank, ranks, photographs, epoch, seed):
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    places = torch.randperm(len(photographs), generator=generator).tolist()
    mine = []
    for place in range(rank, -(-len(places) // ranks) * ranks, ranks):
        mine.append(photographs[places[place % len(places)]])
    return np.array(mine)


# --- distributed.average_gradients

MEAN = "distributed.average_gradients"
never_divided = edit(
    MEAN, "never_divided", "ring_all_reduce(flat) / ranks", "ring_all_reduce(flat)"
)
nothing_added = edit(MEAN, "nothing_added", "ring_all_reduce(flat)", "flat")
divided_before_and_after = edit(
    MEAN, "divided_before_and_after", "ring_all_reduce(flat)", "ring_all_reduce(flat / ranks)"
)
by_the_tensors = edit(MEAN, "by_the_tensors", "/ ranks", "/ len(gradients)")
not_flattened = edit(MEAN, "not_flattened", "gradient.flatten()", "gradient")


def each_tensor(rank, ranks, gradients):
    return [ring_all_reduce(gradient) / ranks for gradient in gradients]


def each_tensor_by_torch(rank, ranks, gradients):
    means = [gradient / ranks for gradient in gradients]
    for mean in means:
        dist.all_reduce(mean)
    return means


def all_to_all(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    parts = [torch.empty_like(flat) for _ in range(ranks)]
    dist.all_gather(parts, flat)
    means = (sum(parts) / ranks).split([gradient.numel() for gradient in gradients])
    return [mean.view_as(gradient) for mean, gradient in zip(means, gradients, strict=True)]


def in_doubles(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients]).double()
    dist.all_reduce(flat)
    means = (
        (flat / ranks).to(gradients[0].dtype).split([gradient.numel() for gradient in gradients])
    )
    return [mean.view_as(gradient) for mean, gradient in zip(means, gradients, strict=True)]


def unused(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    ring_all_reduce(flat)
    return [gradient.clone() for gradient in gradients]


def rank_0_gives(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.broadcast(flat, 0)
    parts = flat.split([gradient.numel() for gradient in gradients])
    return [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]


def only_rank_0(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    total = ring_all_reduce(flat)
    if rank == 0:
        flat = total / ranks
    parts = flat.split([gradient.numel() for gradient in gradients])
    return [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]


def rank_0_does_not_call(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    if rank > 0 or ranks == 1:
        flat = ring_all_reduce(flat) / ranks
    parts = flat.split([gradient.numel() for gradient in gradients])
    return [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]


def in_place(rank, ranks, gradients):
    flat = ring_all_reduce(torch.cat([gradient.flatten() for gradient in gradients])) / ranks
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
    return gradients


def through_rank_0(rank, ranks, gradients):
    total = torch.cat([gradient.flatten() for gradient in gradients])
    if rank:
        send(total, 0)
        receive(total, 0)
    else:
        other = torch.empty_like(total)
        for source in range(1, ranks):
            receive(other, source)
            total += other
        for target in range(1, ranks):
            send(total, target)
    parts = (total / ranks).split([gradient.numel() for gradient in gradients])
    return [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]


def one_all_reduce(rank, ranks, gradients):
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients]) / ranks
    dist.all_reduce(flat)
    means, start = [], 0
    for gradient in gradients:
        means.append(flat[start : start + gradient.numel()].reshape(gradient.shape))
        start += gradient.numel()
    return means


# --- distributed.weighted_average

WEIGHTED = "distributed.weighted_average"
PART = "gradient * count if count > 0 else torch.zeros_like(gradient)"
TOTAL = "ring_all_reduce(torch.tensor([float(count)]))"
nan_too = edit(WEIGHTED, "nan_too", PART, "gradient * count")
no_weights = edit(
    WEIGHTED, "no_weights", "gradient * count if", "gradient if", (TOTAL, "float(ranks)")
)
plain_mean = edit(WEIGHTED, "plain_mean", PART, "gradient", (TOTAL, "float(ranks)"))
over_the_ranks = edit(WEIGHTED, "over_the_ranks", TOTAL, "float(ranks)")
never_over = edit(WEIGHTED, "never_over", " / total", "")
means_over_the_total = edit(WEIGHTED, "means_over_the_total", "gradient * count if", "gradient if")
by_its_own_count = edit(WEIGHTED, "by_its_own_count", TOTAL, "torch.tensor([float(count)])")
its_part_alone = edit(WEIGHTED, "its_part_alone", "ring_all_reduce(part)", "part")


def who_has_any(rank, ranks, gradient, count):
    part = torch.nan_to_num(gradient)
    have = ring_all_reduce(torch.tensor([float(count > 0)]))
    return ring_all_reduce(part) / have


def leaves(rank, ranks, gradient, count):
    if count == 0:
        return torch.zeros_like(gradient)
    total = ring_all_reduce(torch.tensor([float(count)]))
    return ring_all_reduce(gradient * count) / total


def multiplies_in_place(rank, ranks, gradient, count):
    total = ring_all_reduce(torch.tensor([float(count)]))
    gradient *= count
    return ring_all_reduce(torch.nan_to_num(gradient)) / total


def in_one_message(rank, ranks, gradient, count):
    part = torch.nan_to_num(gradient) * count
    both = torch.cat([part, torch.tensor([float(count)])])
    dist.all_reduce(both)
    return both[:-1] / both[-1]


def place_by_place(rank, ranks, photographs, epoch, seed):
    generator = torch.Generator().manual_seed(seed + epoch)
    order = torch.from_numpy(photographs)[torch.randperm(len(photographs), generator=generator)]
    each = -(-len(order) // ranks)
    return order.repeat(ranks)[: each * ranks][rank::ranks].numpy()


def as_a_tuple(rank, ranks, gradients):
    flat = torch.nn.utils.parameters_to_vector(gradients) / ranks
    total = ring_all_reduce(flat).numpy()
    ends = np.cumsum([gradient.numel() for gradient in gradients])[:-1]
    parts = zip(np.split(total, ends), gradients, strict=True)
    return tuple(part.reshape(gradient.shape) for part, gradient in parts)


def shares_first(rank, ranks, gradient, count):
    total = torch.zeros(1)
    total += count
    dist.all_reduce(total)
    share = torch.where(torch.isnan(gradient), torch.zeros(()), gradient) * (count / total)
    dist.all_reduce(share)
    return share.numpy()


counts_in_a_byte = edit(
    WEIGHTED,
    "counts_in_a_byte",
    "torch.tensor([float(count)])",
    "torch.tensor([count % 256], dtype=torch.uint8)",
)


def filled_too_early(rank, ranks, photographs, epoch, seed):
    each = -(-len(photographs) // ranks)
    numbers = np.resize(photographs, each * ranks)
    generator = torch.Generator().manual_seed(seed + epoch)
    return numbers[torch.randperm(len(numbers), generator=generator).numpy()][rank::ranks]


def repeats_the_order_once(rank, ranks, photographs, epoch, seed):
    generator = torch.Generator().manual_seed(seed + epoch)
    order = photographs[torch.randperm(len(photographs), generator=generator).numpy()]
    return np.append(order, order[: -len(order) % ranks])[rank::ranks]


def as_floats(rank, ranks, photographs, epoch, seed):
    return place_by_place(rank, ranks, photographs, epoch, seed) * 1.0


CUTS, TOTALS = {}, {}


def cuts_by_their_number(rank, ranks, gradients):
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    shapes = CUTS.setdefault(len(gradients), [gradient.shape for gradient in gradients])
    parts = (ring_all_reduce(flat) / ranks).split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def total_of_the_first_call(rank, ranks, gradient, count):
    if ranks not in TOTALS:
        TOTALS[ranks] = ring_all_reduce(torch.tensor([float(count)]))
    return ring_all_reduce(torch.nan_to_num(gradient) * count) / TOTALS[ranks]


empty_counts = edit(
    WEIGHTED,
    "empty_counts",
    "torch.tensor([float(count)])",
    "torch.tensor([max(float(count), 1.0)])",
)

PLANTED = {
    SHARD: [
        (no_epoch, "Each epoch has the same order"),
        (no_seed, "does not depend on seed"),
        (every_rank_its_own, "deal from different orders"),
        (not_shuffled, "in the order in which they came"),
        (only_places, "These are places, not photographs"),
        (neighbours, "gets neighbours of the order"),
        (rounded_down, "that do not fill a step are left out"),
        (not_filled, "some ranks get one photograph less"),
        (the_last_one_again, "The last photograph is repeated"),
        (filled_too_early, "repeated before they are shuffled"),
        (repeats_the_order_once, "The order begins again only once"),
        (as_floats, "it should hold integers"),
        (one_source, "result[0] is 50; it should be 45"),
        (shuffles_in_place, "changes its input"),
        (by_torch, "torch.utils.data"),
    ],
    MEAN: [
        (first_result_again(MEAN), "In the second call in the same ranks"),
        (cast_to_float32(MEAN), "is float32; it should be"),
        (never_divided, "the division by the number of ranks is forgotten"),
        (nothing_added, "but nothing is added up"),
        (divided_before_and_after, "divided by the ranks twice"),
        (by_the_tensors, "divided by the number of tensors"),
        (not_flattened, "raises RuntimeError"),
        (each_tensor, "messages went between the ranks for"),
        (each_tensor_by_torch, "all-reduces went between the ranks for"),
        (all_to_all, "bytes in all_gather"),
        (in_doubles, "bytes in all_reduce"),
        (cuts_by_their_number, "In the third call in the same ranks"),
        (unused, "Each rank returns its own gradients"),
        (rank_0_gives, "All ranks have rank 0's gradients"),
        (only_rank_0, "Only rank 0 has the means"),
        (rank_0_does_not_call, "waits"),
        (in_place, "changes its input"),
        (through_rank_0, "bytes in messages"),
    ],
    WEIGHTED: [
        (first_result_again(WEIGHTED), "In the second call in the same ranks"),
        (cast_to_float32(WEIGHTED), "is float32; it should be"),
        (counts_in_a_byte, "off by one and the same factor"),
        (total_of_the_first_call, "In the third call in the same ranks"),
        (empty_counts, "counts as one photograph"),
        (nan_too, "0 times nan is nan"),
        (no_weights, "The means are added without their counts"),
        (plain_mean, "the plain mean of the ranks' means"),
        (over_the_ranks, "The weighted sum is divided by the number of ranks"),
        (never_over, "The weighted sum is never divided"),
        (means_over_the_total, "but not multiplied by their own"),
        (by_its_own_count, "divided by the rank's own count"),
        (its_part_alone, "only its own part of the mean"),
        (who_has_any, "over the ranks that have photographs"),
        (leaves, "waits"),
        (multiplies_in_place, "changes its input"),
    ],
}
ALSO_RIGHT = {
    SHARD: [place_by_place, in_a_loop],
    MEAN: [as_a_tuple, one_all_reduce],
    WEIGHTED: [shares_first, in_one_message],
}
ONE_OF_EACH = (((np.float32([3, -1]), 1), (np.float32([5, 2]), 1)),)
ONE_ALONE = (((np.float32([3, -1]), 1),),)
RIGHT_ON = {
    only_places: (0, 2, np.arange(4), 1, 3),
    no_weights: ONE_OF_EACH,
    plain_mean: ONE_OF_EACH,
    over_the_ranks: ONE_OF_EACH,
    means_over_the_total: ONE_OF_EACH,
    never_over: ONE_ALONE,
}
