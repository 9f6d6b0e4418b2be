"""Wrong and right answers for lesson hybrid_and_sharded."""

import math

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import all_gather, reduce_scatter
from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.sharded_step

STEP = "distributed.sharded_step"
sum_of_ranks = edit(
    STEP, "sum_of_ranks", "reduce_scatter(x.T @ dy) / ranks", "reduce_scatter(x.T @ dy)"
)
never_turned = edit(STEP, "never_turned", ".view(D, D).T", ".view(D, D)")
in_order_of_backward = edit(
    STEP,
    "in_order_of_backward",
    "gradients.insert(0, reduce_scatter(x.T @ dy) / ranks)",
    "gradients.append(reduce_scatter(x.T @ dy) / ranks)",
)
one_input = edit(STEP, "one_input", "inputs.append(x)", "inputs.append(inputs[0] if inputs else x)")
nothing_reduced = edit(
    STEP,
    "nothing_reduced",
    "reduce_scatter(x.T @ dy) / ranks",
    "(x.T @ dy).flatten().chunk(ranks)[rank]",
)
everyone_alike = edit(
    STEP,
    "everyone_alike",
    "reduce_scatter(x.T @ dy) / ranks",
    "(sum(all_gather(x.T @ dy)) / ranks).flatten().chunk(ranks)[0]",
)
reduced_to_all = edit(
    STEP,
    "reduced_to_all",
    "reduce_scatter(x.T @ dy) / ranks",
    "(sum(all_gather(x.T @ dy)) / ranks).flatten().chunk(ranks)[rank]",
)
FORWARD = "x = x @ torch.cat(all_gather(shard)).view(D, D)"
BACK = "dy = dy @ torch.cat(all_gather(shard)).view(D, D).T"
OWN = "gradients.insert(0, reduce_scatter(x.T @ dy) / ranks)"
dy_first = edit(STEP, "dy_first", f"{OWN}\n        {BACK}", f"{BACK}\n        {OWN}")
dy_stays = edit(STEP, "dy_stays", f"        {BACK}\n", "")
other_way_round = edit(STEP, "other_way_round", "x.T @ dy", "dy.T @ x")
always_turned = edit(STEP, "always_turned", FORWARD, f"{FORWARD}.T")
never_as_it_is = edit(STEP, "never_as_it_is", FORWARD, f"{FORWARD}.T", (BACK, BACK[:-2]))
as_nn_linear = edit(
    STEP, "as_nn_linear", FORWARD, f"{FORWARD}.T", (BACK, BACK[:-2]), ("x.T @ dy", "dy.T @ x")
)
into_its_input = edit(
    STEP,
    "into_its_input",
    "    D = x.shape[1]\n",
    "    D = x.shape[1]\n    dy /= ranks\n",
    (" / ranks)", ")"),
)


rows_too = edit(STEP, "rows_too", "/ ranks)", "/ ranks / len(x))")
twice_by_ranks = edit(STEP, "twice_by_ranks", "/ ranks)", "/ ranks / ranks)")
mean_of_layers = edit(STEP, "mean_of_layers", "/ ranks)", "/ len(shards))")
times_ranks = edit(STEP, "times_ranks", "/ ranks)", "* ranks)")
mean_dy = edit(STEP, "mean_dy", BACK, f"{BACK} / ranks")
of_outputs = edit(
    STEP,
    "of_outputs",
    "        inputs.append(x)\n",
    "",
    (FORWARD, f"{FORWARD}\n        inputs.append(x)"),
)


def by_places(rank, ranks, shards, x, dy):
    """A tuple of NumPy's arrays."""
    D = x.shape[-1]
    inputs = [x]
    for shard in shards:
        inputs.append(inputs[-1].mm(torch.stack(all_gather(shard)).reshape(D, D)))
    found = {}
    for place in range(len(shards) - 1, -1, -1):
        found[place] = reduce_scatter(inputs[place].t().mm(dy).div(ranks)).numpy()
        dy = dy.mm(torch.cat(all_gather(shards[place])).reshape(D, D).t())
    return tuple(found[place] for place in range(len(shards)))


def under_a_name(rank, ranks, shards, x, dy):
    """The layer before is still there while the next one is gathered: the text allows it."""
    D = x.shape[1]
    inputs, gradients = [], []
    for shard in shards:
        inputs.append(x)
        x = x @ torch.cat(all_gather(shard)).view(D, D)
    for place in reversed(range(len(shards))):
        layer = torch.cat(all_gather(shards[place])).view(D, D)
        gradients.append(reduce_scatter(inputs[place].T @ dy) / ranks)
        dy = dy @ layer.T
    return gradients[::-1]


def without_rank_0(rank, ranks, shards, x, dy):
    if rank == 0 and ranks > 1:
        return shards
    for shard in shards:
        all_gather(shard)
    return [reduce_scatter(x.T @ dy) / ranks for _ in shards]


def kept_whole(rank, ranks, shards, x, dy):
    D = x.shape[1]
    whole = [torch.cat(all_gather(shard)).view(D, D) for shard in shards]
    inputs = [x]
    for layer in whole[:-1]:
        inputs.append(inputs[-1] @ layer)
    gradients = []
    for x, layer in zip(reversed(inputs), reversed(whole), strict=True):
        gradients.append(reduce_scatter(x.T @ dy) / ranks)
        dy = dy @ layer.T
    return gradients[::-1]


all_before_backward = edit(
    STEP,
    "all_before_backward",
    "    for shard, x in zip(",
    "    wholes = [torch.cat(all_gather(shard)).view(D, D) for shard in shards]\n"
    "    for shard, x in zip(",
    ("dy = dy @ torch.cat(all_gather(shard)).view(D, D).T", "dy = dy @ wholes.pop().T"),
)


def in_one_tensor(rank, ranks, shards, x, dy):
    D = x.shape[1]
    inputs, gradients = [x], []
    for shard in shards:
        inputs.append(inputs[-1] @ torch.cat(all_gather(shard)).view(D, D))
    for place in reversed(range(len(shards))):
        gradients.insert(0, reduce_scatter(inputs[place].T @ dy) / ranks)
        if place:
            dy = dy @ torch.cat(all_gather(shards[place])).view(D, D).T
    return torch.stack(gradients)


def all_layers_at_once(rank, ranks, shards, x, dy):
    D = x.shape[1]

    def whole():
        parts = torch.stack(all_gather(torch.stack(shards)), dim=1)  # [layers, ranks, chunk]
        return parts.view(len(shards), D, D)

    inputs = [x]
    for layer in whole():
        inputs.append(inputs[-1] @ layer)
    gradients = []
    for x, layer in zip(inputs[-2::-1], whole().flip(0), strict=True):
        gradients.insert(0, reduce_scatter(x.T @ dy) / ranks)
        dy = dy @ layer.T
    return gradients


def by_autograd(rank, ranks, shards, x, dy):
    D = x.shape[1]
    layers = [torch.cat(all_gather(shard)).view(D, D).requires_grad_() for shard in shards]
    y = x
    for layer in layers:
        y = y @ layer
    found = torch.autograd.grad((y * dy).sum(), layers)
    return [reduce_scatter(gradient) / ranks for gradient in found]


def by_torch_and_sparing(rank, ranks, shards, x, dy):
    """PyTorch's collectives; the last layer stays from forward, and the first is not gathered."""
    D = x.shape[1]

    def whole(shard):
        result = torch.empty(D * D, dtype=x.dtype)
        dist.all_gather_into_tensor(result, shard.contiguous())
        return result.view(D, D)

    inputs = [x]
    for shard in shards[:-1]:
        inputs.append(inputs[-1] @ whole(shard))
    gradients = []
    for place in reversed(range(len(shards))):
        mine = torch.empty_like(shards[place])
        dist.reduce_scatter_tensor(mine, (inputs[place].T @ dy / ranks).flatten())
        gradients.insert(0, mine)
        if place:
            dy = dy @ whole(shards[place]).T
    return gradients


# --- distributed.bytes_per_rank

BYTES = "distributed.bytes_per_rank"
weights_first = edit(
    BYTES,
    "weights_first",
    "4 / ranks if stage >= 3 else 4",
    "4 / ranks if stage >= 1 else 4",
    ("8 / ranks if stage >= 1 else 8", "8 / ranks if stage >= 3 else 8"),
)
one_number = edit(
    BYTES, "one_number", "8 / ranks if stage >= 1 else 8", "4 / ranks if stage >= 1 else 4"
)
everything_at_once = edit(
    BYTES, "everything_at_once", "stage >= 3", "stage >= 1", ("stage >= 2", "stage >= 1")
)
state_alone = edit(BYTES, "state_alone", "weights * each + activations.sum()", "weights * each")
shared_activations = edit(
    BYTES,
    "shared_activations",
    "weights * each + activations.sum()",
    "weights * each + activations.sum() / (ranks if stage else 1)",
)
ACTIVATIONS = "weights * each + activations.sum()"
SHARED = "weights * each + activations.sum() / ranks"
shared_by_all = edit(BYTES, "shared_by_all", ACTIVATIONS, SHARED)
shared_in_3 = edit(
    BYTES, "shared_in_3", ACTIVATIONS, f"{ACTIVATIONS} / (ranks if stage == 3 else 1)"
)
each_its_own = edit(
    BYTES,
    "each_its_own",
    "stage >= 3",
    "stage == 3",
    ("stage >= 2", "stage == 2"),
    ("stage >= 1", "stage == 1"),
)
as_zero_1 = edit(BYTES, "as_zero_1", "stage >= 2", "stage >= 3")
zero_3_too_early = edit(BYTES, "zero_3_too_early", "stage >= 3", "stage >= 2")
swapped_stages = edit(
    BYTES,
    "swapped_stages",
    "4 / ranks if stage >= 2 else 4",
    "4 / ranks if stage >= 1 else 4",
    ("8 / ranks if stage >= 1 else 8", "8 / ranks if stage >= 2 else 8"),
)


SHARES = ("4 / ranks if stage >= 3 else 4", "4 / ranks if stage >= 2 else 4")
HALF = "2 / ranks if stage >= {0} else 2"
mixed = edit(
    BYTES, "mixed", SHARES[0], HALF.format(3), (SHARES[1], HALF.format(2)),
    ("8 / ranks if stage >= 1 else 8", "12 / ranks if stage >= 1 else 12"),
)  # fmt: skip
whole_bytes = edit(
    BYTES, "whole_bytes", SHARES[0], "4 // ranks if stage >= 3 else 4",
    (SHARES[1], "4 // ranks if stage >= 2 else 4"), ("8 / ranks", "8 // ranks"),
)  # fmt: skip


def in_whole_numbers(weights, ranks, stage, activations):
    state = [4 * weights, 4 * weights, 8 * weights]  # weights, gradients, moments
    for kind in range(3 - stage, 3):
        state[kind] //= ranks
    return sum(state) + sum(activations.tolist())


def in_place(weights, ranks, stage, activations):
    shares = [1, ranks]
    each = 4 / shares[stage > 2] + 4 / shares[stage > 1] + 8 / shares[stage > 0]
    activations[0] += activations[1:].sum()
    return weights * each + activations[0]


def by_the_table(weights, ranks, stage, activations):
    from labkit.distributed.sharded.memory import bytes_of_state

    return bytes_of_state(weights, ranks, stage).total + activations.sum()


def by_rows(weights, ranks, stage, activations):
    table = np.array([[4, 4, 8]] * 4, dtype=float)
    for row in range(1, 4):
        table[row, 3 - row :] /= ranks
    return int(table[stage].sum() * weights + activations.sum() + 0.5)


# --- distributed.group_along

GROUP = "distributed.group_along"
a_run = edit(GROUP, "a_run", "first + k * stride for", "rank - rank % lengths[side] + k for")
from_here = edit(GROUP, "from_here", "first + k * stride for", "rank + k * stride for")
around = edit(
    GROUP, "around", "first + k * stride for", "first + (place + k) % lengths[side] * stride for"
)
always_rank_0 = edit(GROUP, "always_rank_0", "first + k * stride for", "k * stride for")
first_side_fastest = edit(
    GROUP, "first_side_fastest", "math.prod(lengths[side + 1 :])", "math.prod(lengths[:side])"
)


me_first = edit(
    GROUP,
    "me_first",
    "[first + k * stride for k in range(lengths[side])]",
    "[rank] + [first + k * stride for k in range(lengths[side]) if k != place]",
)
not_me = edit(
    GROUP,
    "not_me",
    "range(lengths[side])]",
    "range(lengths[side]) if k != place or lengths[side] == 1]",
)
one_less = edit(GROUP, "one_less", "range(lengths[side])", "range(max(1, lengths[side] - 1))")
no_stride = edit(GROUP, "no_stride", "rank // stride % lengths[side]", "rank % lengths[side]")
counts_on = edit(GROUP, "counts_on", "rank // stride % lengths[side]", "rank // stride")
whole_strides = edit(
    GROUP, "whole_strides", "rank - place * stride", "(rank // stride - place) * stride"
)


ROW = "[first + k * stride for k in range(lengths[side])]"
its_neighbours = edit(GROUP, "its_neighbours", ROW, "[first + k for k in range(lengths[side])]")
a_place_before = edit(GROUP, "a_place_before", "rank - place * stride", "rank - place")
rest_by_stride = edit(GROUP, "rest_by_stride", "rank // stride % lengths[side]", "rank % stride")
only_places = edit(GROUP, "only_places", ROW, "list(range(lengths[side]))")
whole_mesh = edit(GROUP, "whole_mesh", ROW, "list(range(math.prod(lengths)))")


def by_numpy_indices(rank, lengths, side):
    place = list(np.unravel_index(rank, lengths))
    ranks = []
    for other in range(lengths[side]):
        place[side] = other
        ranks.append(np.ravel_multi_index(place, lengths))
    return ranks


def overwrites_lengths(rank, lengths, side):
    length = lengths.pop(side)
    stride = math.prod(lengths[side:])
    first = rank - rank // stride % length * stride
    return list(range(first, first + length * stride, stride))


def the_others(rank, lengths, side):
    grid = np.arange(np.prod(lengths)).reshape(lengths)
    place = np.unravel_index(rank, lengths)[side]
    return np.take(grid, place, axis=side).ravel().tolist()


def by_mesh(rank, lengths, side):
    from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh

    mesh = Mesh({str(place): length for place, length in enumerate(lengths)})
    return mesh.group_of(rank, str(side))


def on_a_grid(rank, lengths, side):
    grid = np.arange(np.prod(lengths)).reshape(lengths)
    lines = np.moveaxis(grid, side, -1).reshape(-1, lengths[side])
    return lines[(lines == rank).any(axis=1)][0]


def by_recursion(rank, lengths, side):
    """Lists joined by +, and asked whether they are empty, as lists can be."""
    if not lengths[side + 1 :]:
        first = rank - rank % lengths[side]
        return list(range(first, first + lengths[side]))
    last = lengths[-1]
    rest = by_recursion(rank // last, lengths[:side] + lengths[side:-1], side)
    return [place * last + rank % last for place in rest]


PLANTED = {
    STEP: [
        (first_result_again(STEP), "In the second call in the same ranks"),
        (cast_to_float32(STEP), "is float32; it should be"),
        (sum_of_ranks, "the mean is asked for"),
        (never_turned, "goes back through W transposed"),
        (in_order_of_backward, "in the order of backward"),
        (one_input, "All layers have the same input"),
        (dy_first, "first dW = x^T dy, then dx"),
        (dy_stays, "stays that of the last output"),
        (other_way_round, "and not dy^T x"),
        (always_turned, "Forward multiplies by W transposed"),
        (never_as_it_is, "W stands for its transpose"),
        (as_nn_linear, "as in PyTorch's nn.Linear"),
        (nothing_reduced, "the others' never came"),
        (everyone_alike, "rank r keeps chunk r"),
        (reduced_to_all, "gather, gather, reduce-scatter"),
        (all_before_backward, "gathered for backward before the first reduce-scatter"),
        (all_layers_at_once, "Gather them one by one"),
        (kept_whole, "all layers were whole at the same time"),
        (rows_too, "divided by the rows of x as well"),
        (twice_by_ranks, "divided by the number of ranks twice"),
        (mean_of_layers, "divided by the number of layers"),
        (times_ranks, "multiplied by the number of ranks"),
        (mean_dy, "by the number of ranks in each layer"),
        (of_outputs, "dW is made of a layer's output"),
        (into_its_input, "changes its input"),
        (without_rank_0, "wait"),
        (by_autograd, "torch.autograd"),
    ],
    BYTES: [
        (weights_first, "it is the other way round"),
        (swapped_stages, "stage 1 cuts the moments"),
        (one_number, "AdamW keeps two numbers"),
        (everything_at_once, "each stage cuts one kind more"),
        (state_alone, "The activations are missing"),
        (shared_activations, "From stage 1 on, the activations"),
        (shared_by_all, "In every stage, the activations"),
        (shared_in_3, "Stage 3 divides the activations"),
        (each_its_own, "what the stages before it cut, too"),
        (as_zero_1, "stage 2 cuts them already"),
        (zero_3_too_early, "stage 3 cuts them"),
        (mixed, "the bytes of mixed precision"),
        (whole_bytes, "Bytes a weight are rounded down"),
        (in_place, "changes its input"),
        (by_the_table, "labkit.distributed.sharded"),
    ],
    GROUP: [
        (a_run, "a run of consecutive ranks"),
        (from_here, "go back to its first one"),
        (around, "begin with this rank"),
        (always_rank_0, "the group of rank 0"),
        (first_side_fastest, "The first side counts fastest"),
        (the_others, "the same place along this side"),
        (me_first, "but this rank comes first"),
        (not_me, "The rank itself is missing"),
        (one_less, "The last rank of the group is missing"),
        (no_stride, "the rest of rank / length"),
        (counts_on, "The sides before this one are forgotten"),
        (whole_strides, "the sides behind this one is forgotten"),
        (its_neighbours, "but the others are its neighbours"),
        (a_place_before, "place ranks before this one"),
        (rest_by_stride, "the rest of rank / stride"),
        (only_places, "These are places along the side"),
        (whole_mesh, "all ranks of the mesh"),
        (overwrites_lengths, "changes its input"),
        (by_mesh, "labkit_lessons.distributed.hybrid_and_sharded"),
    ],
}
LIKE_ONE = [([np.ones(1, "f4")], np.full((1, 1), 3, "f4"), np.full((1, 1), 5, "f4"))]  # W = 1
RIGHT_ON = {
    dy_first: (LIKE_ONE,),
    of_outputs: (LIKE_ONE,),
    one_number: (0, 2, 1, np.array([40])),
    in_place: (8, 1, 0, np.array([40])),
    state_alone: (8, 2, 1, np.array([0])),
}
ALSO_RIGHT = {
    STEP: [by_torch_and_sparing, by_places, in_one_tensor, under_a_name],
    BYTES: [by_rows, in_whole_numbers],
    GROUP: [on_a_grid, by_recursion, by_numpy_indices],
}
