"""Wrong and right answers for lesson tensor_parallel."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import gelu, linear

from labkit.distributed import ring_all_reduce
from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.split_mlp

MLP = "distributed.split_mlp"
SUM = "ring_all_reduce(linear(hidden, contract)) + contract_bias"
nothing_summed = edit(MLP, "nothing_summed", SUM, "linear(hidden, contract, contract_bias)")
bias_before_the_sum = edit(
    MLP, "bias_before_the_sum", SUM, "ring_all_reduce(linear(hidden, contract, contract_bias))"
)
bias_forgotten = edit(MLP, "bias_forgotten", " + contract_bias", "")
first_bias_forgotten = edit(MLP, "first_bias_forgotten", ", expand_bias)", ")")
mean_of_products = edit(MLP, "mean_of_products", ") + contract_bias", ") / ranks + contract_bias")
linear_all_through = edit(MLP, "linear_all_through", "gelu(linear", "(linear")
with_relu = edit(
    MLP,
    "with_relu",
    "gelu(linear(x, expand, expand_bias))",
    "linear(x, expand, expand_bias).relu()",
)

by_tanh = edit(MLP, "by_tanh", "expand_bias))", 'expand_bias), approximate="tanh")')
sum_behind_expand = edit(
    MLP,
    "sum_behind_expand",
    "linear(x, expand, expand_bias)",
    "ring_all_reduce(linear(x, expand, expand_bias))",
)
sum_behind_gelu = edit(
    MLP,
    "sum_behind_gelu",
    "gelu(linear(x, expand, expand_bias))",
    "ring_all_reduce(gelu(linear(x, expand, expand_bias)))",
)


bias_shared_out = edit(MLP, "bias_shared_out", ") + contract_bias", ") + contract_bias / ranks")
first_bias_shared_out = edit(
    MLP, "first_bias_shared_out", "expand, expand_bias)", "expand, expand_bias / ranks)"
)
bias_behind_gelu = edit(
    MLP,
    "bias_behind_gelu",
    "gelu(linear(x, expand, expand_bias))",
    "gelu(linear(x, expand)) + expand_bias",
)
gelu_at_both_ends = edit(MLP, "gelu_at_both_ends", "linear(x, expand", "linear(gelu(x), expand")
gelu_of_gelu = edit(
    MLP,
    "gelu_of_gelu",
    "gelu(linear(x, expand, expand_bias))",
    "gelu(gelu(linear(x, expand, expand_bias)))",
)
gelu_of_y = edit(MLP, "gelu_of_y", SUM, f"gelu({SUM})")
like_a_block = edit(MLP, "like_a_block", SUM, f"{SUM} + x")
swish = edit(
    MLP,
    "swish",
    "gelu(linear(x, expand, expand_bias))",
    "linear(x, expand, expand_bias)\n    hidden = hidden * hidden.sigmoid()",
)


def token_by_token(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract)
    return torch.stack([ring_all_reduce(row) for row in product]) + contract_bias


def by_erf(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    hidden = torch.addmm(expand_bias, x, expand.T)
    hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    return ring_all_reduce(linear(hidden, contract, contract_bias / ranks)).numpy()


def gelu_behind(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    hidden = linear(x, expand, expand_bias)
    return gelu(ring_all_reduce(linear(hidden, contract)) + contract_bias)


def two_sums(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract)
    bias = contract_bias / ranks
    dist.all_reduce(product)
    dist.all_reduce(bias)
    return product + bias


def gathered(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract)
    parts = [torch.empty_like(product) for _ in range(ranks)]
    dist.all_gather(parts, product)
    return sum(parts) + contract_bias


def in_doubles(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract).double()
    dist.all_reduce(product)
    return (product + contract_bias).to(x.dtype)


def rank_0_stays_away(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract)
    if rank > 0 or ranks == 1:
        product = ring_all_reduce(product)
    return product + contract_bias


def only_rank_0(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    product = linear(gelu(linear(x, expand, expand_bias)), contract)
    total = ring_all_reduce(product)
    return (total if rank == 0 else product) + contract_bias


def into_x(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    x.copy_(linear(gelu(linear(x, expand, expand_bias)), contract))
    dist.all_reduce(x)
    return x + contract_bias


def by_the_course(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    from labkit.distributed.tensor_parallel.group import tensor_group
    from labkit.distributed.tensor_parallel.operations import sum_over_ranks

    hidden = gelu(linear(x, expand, expand_bias))
    return sum_over_ranks(linear(hidden, contract), tensor_group()) + contract_bias


def with_matrices(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    y = gelu(x @ expand.T + expand_bias) @ contract.T
    if rank == 0:
        y = y + contract_bias  # once, before the sum
    dist.all_reduce(y)
    return y


# --- distributed.heads_of_rank

HEADS = "distributed.heads_of_rank"
MINE = "slice(first * head_width, after * head_width)"
one_column_a_head = edit(HEADS, "one_column_a_head", MINE, "slice(first, after)")
without_the_last = edit(
    HEADS, "without_the_last", MINE, "slice(first * head_width, (after - 1) * head_width)"
)
one_too_many = edit(
    HEADS, "one_too_many", MINE, "slice(first * head_width, (after + 1) * head_width)"
)
the_first_alone = edit(
    HEADS, "the_first_alone", MINE, "slice(first * head_width, (first + 1) * head_width)"
)
like_cards = edit(HEADS, "like_cards", MINE, "slice(rank, None, ranks)")
never_cut = edit(HEADS, "never_cut", "output[:, mine]", "output")
swapped = edit(HEADS, "swapped", "query[mine], output[:, mine]", "query[:, mine], output[mine]")
rank_0_s = edit(HEADS, "rank_0_s", MINE, "slice(0, len(query) // head_width // ranks * head_width)")


equal_shares = edit(
    HEADS,
    "equal_shares",
    MINE,
    "slice(rank * (heads // ranks) * head_width, (rank + 1) * (heads // ranks) * head_width)",
)
rounded_up = edit(
    HEADS,
    "rounded_up",
    MINE,
    "slice(rank * -(-heads // ranks) * head_width, (rank + 1) * -(-heads // ranks) * head_width)",
)
the_rest_at_the_end = edit(
    HEADS,
    "the_rest_at_the_end",
    MINE,
    "slice(rank * (heads // ranks) * head_width, "
    "None if rank == ranks - 1 else (rank + 1) * (heads // ranks) * head_width)",
)
a_head_each = edit(HEADS, "a_head_each", MINE, "slice(rank * head_width, (rank + 1) * head_width)")
one_on = edit(HEADS, "one_on", MINE, "slice((first + 1) * head_width, (after + 1) * head_width)")


def heads_last(rank, ranks, head_width, query, output):
    heads, width = len(query) // head_width, query.shape[1]
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks
    rows = query.reshape(head_width, heads, width)[:, first:after]
    columns = output.reshape(width, head_width, heads)[:, :, first:after]
    return rows.reshape(-1, width), columns.reshape(width, -1)


the_last_alone = edit(
    HEADS, "the_last_alone", MINE, "slice((after - 1) * head_width, after * head_width)"
)
up_to_the_end = edit(HEADS, "up_to_the_end", MINE, "slice(first * head_width, None)")
a_column_less = edit(
    HEADS, "a_column_less", MINE, "slice(first * head_width, after * head_width - 1)"
)
whole_query = edit(HEADS, "whole_query", "query[mine]", "query")


def in_numpy(rank, ranks, head_width, query, output):
    heads = len(query) // head_width
    mine = np.arange(len(query)).reshape(heads, head_width)
    mine = mine[rank * heads // ranks : (rank + 1) * heads // ranks].ravel()
    return [query.numpy()[mine], output.numpy()[:, mine]]


def heads_like_cards(rank, ranks, head_width, query, output):
    heads = torch.arange(len(query)).reshape(-1, head_width)
    mine = heads[rank::ranks].reshape(-1)
    return query[mine], output[:, mine]


def empties_the_rest(rank, ranks, head_width, query, output):
    heads = len(query) // head_width
    mine = slice(rank * heads // ranks * head_width, (rank + 1) * heads // ranks * head_width)
    kept = query[mine].clone(), output[:, mine].clone()
    query[:] = 0
    return kept


def by_labkit(rank, ranks, head_width, query, output):
    from labkit.distributed.tensor_parallel.split import share_of

    width = share_of(len(query), ranks, "columns")
    mine = slice(rank * width, (rank + 1) * width)
    return query[mine], output[:, mine]


def by_lists(rank, ranks, head_width, query, output):
    heads = len(query) // head_width
    rows, columns = [], []
    for head in range(rank * heads // ranks, (rank + 1) * heads // ranks):
        for column in range(head * head_width, (head + 1) * head_width):
            rows.append(query[column])
            columns.append(output[:, column])
    return torch.stack(rows), torch.stack(columns, dim=1)


def by_index(rank, ranks, head_width, query, output):
    heads = len(query) // head_width
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks
    mine = torch.arange(first * head_width, after * head_width)
    return query.index_select(0, mine), output.index_select(1, mine)


def by_chunks_of_heads(rank, ranks, head_width, query, output):
    heads = len(query) // head_width
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks
    rows = query.view(-1, head_width, query.shape[1])[first:after]
    columns = output.unflatten(1, (-1, head_width))[:, first:after]
    return rows.flatten(0, 1), columns.flatten(1)


def in_chunks(rank, ranks, head_width, query, output):
    return query.tensor_split(ranks)[rank], output.tensor_split(ranks, dim=1)[rank]


# --- distributed.column_backward

BACKWARD = "distributed.column_backward"
dx_alone = edit(BACKWARD, "dx_alone", "ring_all_reduce(dh @ w)", "dh @ w")
dx_mean = edit(BACKWARD, "dx_mean", "ring_all_reduce(dh @ w)", "ring_all_reduce(dh @ w) / ranks")
turned = edit(BACKWARD, "turned", "dh.T @ x", "x.T @ dh")
as_in_data_parallel = edit(BACKWARD, "as_in_data_parallel", "dh.T @ x", "ring_all_reduce(dh.T @ x)")
as_a_mean = edit(BACKWARD, "as_a_mean", "dh.T @ x", "ring_all_reduce(dh.T @ x) / ranks")


divided_dw = edit(BACKWARD, "divided_dw", "dh.T @ x", "dh.T @ x / ranks")
mean_of_tokens = edit(BACKWARD, "mean_of_tokens", "dh.T @ x", "dh.T @ x / len(x)")
dw_from_dx = edit(BACKWARD, "dw_from_dx", "dh.T @ x", "dh.T @ dx")
sum_in_rank_0 = edit(
    BACKWARD, "sum_in_rank_0", "return dx,", "return (dx if rank == 0 else dh @ w),"
)


def w_first(rank, ranks, x, w, dh):
    return dh @ ring_all_reduce(w), dh.T @ x


def w_turned(rank, ranks, x, w, dh):
    dx = dh @ w.T if w.shape[0] == w.shape[1] else dh @ w
    return ring_all_reduce(dx), dh.T @ x


def token_by_token_back(rank, ranks, x, w, dh):
    return torch.stack([ring_all_reduce(row) for row in dh @ w]), dh.T @ x


def summed_as_doubles(rank, ranks, x, w, dh):
    return ring_all_reduce((dh @ w).double()).to(x.dtype), dh.T @ x


def while_dw_is_made(rank, ranks, x, w, dh):
    dx = torch.einsum("nf,fd->nd", dh, w).contiguous()
    request = dist.all_reduce(dx, async_op=True)
    dw = (x.T @ dh).T
    request.wait()
    return [dx.numpy(), dw.numpy()]


def dh_first(rank, ranks, x, w, dh):
    dh = ring_all_reduce(dh)
    return dh @ w, dh.T @ x


def gathers_dx(rank, ranks, x, w, dh):
    dx = dh @ w
    parts = [torch.empty_like(dx) for _ in range(ranks)]
    dist.all_gather(parts, dx)
    return sum(parts), dh.T @ x


def rank_0_only_listens(rank, ranks, x, w, dh):
    dx = dh @ w
    if rank > 0 or ranks == 1:
        dx = ring_all_reduce(dx)
    return dx, dh.T @ x


def over_x(rank, ranks, x, w, dh):
    dw = dh.T @ x
    torch.matmul(dh, w, out=x)
    dist.all_reduce(x)
    return x, dw


def by_the_course_s(rank, ranks, x, w, dh):
    from labkit.distributed.tensor_parallel.group import tensor_group
    from labkit.distributed.tensor_parallel.operations import copy_to_ranks

    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    (linear(copy_to_ranks(x, tensor_group()), w) * dh).sum().backward()
    return x.grad, w.grad


def by_autograd(rank, ranks, x, w, dh):
    inputs, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    (linear(inputs, weight) * dh).sum().backward()  # .backward(dh) loads a lot in each rank
    dx = inputs.grad.clone()
    dist.all_reduce(dx)
    return dx, weight.grad


PLANTED = {
    MLP: [
        (first_result_again(MLP), "In the second call in the same ranks"),
        (cast_to_float32(MLP), "is float32; it should be"),
        (nothing_summed, "nothing is summed over the ranks"),
        (bias_before_the_sum, "it counts as often as there are ranks"),
        (bias_forgotten, "contract_bias is missing"),
        (first_bias_forgotten, "expand_bias is missing"),
        (mean_of_products, "they are the parts of a sum"),
        (linear_all_through, "GELU between the two layers is missing"),
        (with_relu, "This is ReLU between the layers"),
        (by_tanh, "GELU's approximation by tanh"),
        (sum_behind_expand, "nothing to sum before contract"),
        (sum_behind_gelu, "There is an all-reduce behind GELU"),
        (gelu_behind, "GELU comes behind the second layer"),
        (two_sums, "the ranks met in 2 collectives"),
        (gathered, "all_gather hands out what every rank has"),
        (in_doubles, "one rank sends"),
        (rank_0_stays_away, "waits"),
        (only_rank_0, "Only rank 0 has the sum"),
        (bias_shared_out, "contract_bias is divided by the ranks"),
        (first_bias_shared_out, "expand_bias is divided by the ranks"),
        (bias_behind_gelu, "expand_bias is added behind GELU"),
        (gelu_at_both_ends, "GELU is applied to x, too"),
        (gelu_of_gelu, "GELU is applied twice"),
        (gelu_of_y, "GELU is applied behind the second layer, too"),
        (like_a_block, "x is added to the result"),
        (swish, "This is SiLU"),
        (token_by_token, "messages leave a rank"),
        (into_x, "changes its input"),
        (by_the_course, "labkit.distributed.tensor_parallel"),
    ],
    HEADS: [
        (one_column_a_head, "each head has head_width columns"),
        (like_cards, "every head is torn apart"),
        (in_chunks, "the cut goes through a head"),
        (without_the_last, "The last head is missing"),
        (the_first_alone, "Only the first of this rank's heads"),
        (one_too_many, "There is a head too many"),
        (heads_like_cards, "The heads are dealt in turn"),
        (never_cut, "output is not cut"),
        (swapped, "The axes are swapped"),
        (heads_last, "as far apart as there are heads"),
        (rank_0_s, "Every rank gets the heads of rank 0"),
        (equal_shares, "Every rank gets heads // ranks heads"),
        (the_rest_at_the_end, "The last rank gets all heads that are left over"),
        (rounded_up, "a number of heads that is rounded up"),
        (a_head_each, "Each rank gets one head alone"),
        (one_on, "The heads begin one place too late"),
        (the_last_alone, "Only the last of this rank's heads"),
        (up_to_the_end, "All heads from first on are there"),
        (a_column_less, "The last column of the last head is missing"),
        (whole_query, "query is not cut"),
        (empties_the_rest, "changes its input"),
        (by_labkit, "labkit.distributed.tensor_parallel"),
    ],
    BACKWARD: [
        (first_result_again(BACKWARD), "In the second call in the same ranks"),
        (cast_to_float32(BACKWARD), "is float32; it should be"),
        (dx_alone, "x went into all ranks"),
        (dx_mean, "dx is averaged"),
        (turned, "dw is transposed"),
        (as_in_data_parallel, "nothing is to be merged"),
        (as_a_mean, "as in data parallel"),
        (dh_first, "dh is summed over the ranks"),
        (divided_dw, "dw is divided by the ranks"),
        (mean_of_tokens, "dw is divided by the number of tokens"),
        (dw_from_dx, "dw is made of dx"),
        (sum_in_rank_0, "Only rank 0 has the sum in dx"),
        (w_first, "w goes through the all-reduce"),
        (w_turned, "w is A transposed already"),
        (token_by_token_back, "messages leave a rank"),
        (summed_as_doubles, "around a ring sends"),
        (gathers_dx, "all_gather hands out what every rank has"),
        (rank_0_only_listens, "waits"),
        (over_x, "changes its input"),
        (by_the_course_s, "labkit.distributed.tensor_parallel"),
    ],
}
ALSO_RIGHT = {
    MLP: [with_matrices, by_erf],
    HEADS: [by_lists, by_index, by_chunks_of_heads, in_numpy],
    BACKWARD: [by_autograd, while_dw_is_made],
}
X = np.float32([[1, 2]])
SQUARE = np.float32([[3, -1], [4, 1]])
# One rank, no biases, and numbers so large that GELU and ReLU leave them as they are.
LARGE = (((X, np.float32([[4, 3], [5, 1]]), 0 * X[0], np.float32([[1, 2], [3, 1]]), 0 * X[0]),),)
NO_INPUT = (((0 * X, SQUARE, 0 * X[0], SQUARE, 0 * X[0]),),)
COLUMNS = np.arange(8, dtype=np.float32)
ALONE = (((SQUARE, SQUARE, SQUARE),),)
RIGHT_ON = {
    nothing_summed: LARGE,
    bias_before_the_sum: LARGE,
    bias_forgotten: LARGE,
    first_bias_forgotten: LARGE,
    mean_of_products: LARGE,
    linear_all_through: LARGE,
    with_relu: LARGE,
    by_tanh: LARGE,
    sum_behind_expand: LARGE,
    sum_behind_gelu: LARGE,
    gelu_behind: LARGE,
    only_rank_0: LARGE,
    first_bias_shared_out: LARGE,
    bias_behind_gelu: LARGE,
    gelu_of_gelu: LARGE,
    gelu_of_y: LARGE,
    swish: NO_INPUT,
    gelu_at_both_ends: NO_INPUT,
    like_a_block: NO_INPUT,
    without_the_last: (0, 2, 2, SQUARE, SQUARE),  # a rank without heads
    in_chunks: (1, 2, 2, COLUMNS.reshape(4, 2), COLUMNS.reshape(2, 4)),
    one_column_a_head: (0, 2, 1, SQUARE, SQUARE),
    swapped: (0, 1, 1, SQUARE, SQUARE),
    rank_0_s: (0, 2, 1, SQUARE, SQUARE),
    dx_alone: ALONE,
    dx_mean: ALONE,
    mean_of_tokens: (((X, X, X[:, :1]),),),
    dw_from_dx: (((0 * X, X, 0 * X[:, :1]),),),
    one_on: (0, 2, 2, SQUARE, SQUARE),
    a_column_less: (2, 4, 1, SQUARE, SQUARE),  # a rank without heads
    turned: ALONE,  # its dh is its x, so that dw is symmetric
    as_in_data_parallel: ALONE,
    as_a_mean: ALONE,
    dh_first: ALONE,
}
