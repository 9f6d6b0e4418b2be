# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: Tensor parallel
#     number: 9
#     minutes: 55
#     needs: []
#     able: split two layers over ranks so that one all-reduce is enough for both, and attention by heads; say what travels forward and backward, count it, and refuse three formulas of model parallelism
#     runs_on: the same
# ---

# %% [markdown]
# # Tensor parallel
#
# **133 GB of numbers, and GPUs of 32 GB.**
# In 2019, Megatron-LM trained a model of 8.3 billion weights (*published*: Shoeybi and others, [arXiv:1909.08053](https://arxiv.org/abs/1909.08053)).
# A weight, its gradient and Adam's two averages are four numbers of 4 bytes: 8.3 x 16 = 133 GB (*predicted*).
# In data parallel training, every GPU would need as much.
# So eight GPUs shared every layer.
#
# ## What you will be able to do
#
# - split two layers over ranks so that one all-reduce is enough for both;
# - split attention by heads;
# - say what travels forward and backward, and count it.
#
# You need lessons [2](2_the_ring.ipynb), [3](3_data_parallel_by_hand.ipynb) and [4](4_overlap_and_buckets.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Our model, a small **GPT**, reads a novel and predicts the next character.
# A character is a **token**, and inside the model it is a row of 128 numbers.
# These rows go through four **blocks** of two halves each, and each half's result is added to its input:
#
# | half | what it does | its layers |
# |---|---|---|
# | **attention** | each token collects from those before it | `Q`, `K`, `V` and `output`, each from 128 numbers to 128 |
# | **MLP** | works on each token alone | `expand` from 128 to 512, GELU, `contract` from 512 to 128 |
#
# **GELU** is a smooth relative of ReLU.
#
# 1. A number behind `expand` is a sum of 128 products: rank 0 adds up the first 64, rank 1 the others.
#    Now each applies GELU to its own sums, and *then* they add up their results.
#    How far is that from the right result, in a fresh model, in percent of its size?
#    (Size: the root of the sum of all squares.)
# 2. We shall split all four blocks so that a training step needs 16 all-reduces.
#    PyTorch's `parallelize_module` takes a plan that says only of each layer whether it is cut by columns or by rows.
#    How many does a step need with this plan?

# %%
import torch
from torch.nn.functional import gelu, linear
from torch.nn.parallel import DistributedDataParallel

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch, ring_all_reduce
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.gpt.weights import trained
from labkit.provenance import counted, predicted

# STUB:
# guesses = {
#     "GELU too early": predict("distributed.gelu_too_early", None, "%"),
#     "PyTorch's all-reduces": predict("distributed.pytorchs_all_reduces", None, "all-reduces"),
# }
# BEGIN SOLUTION
guesses = {
    "GELU too early": predict("distributed.gelu_too_early", 50, "%"),
    "PyTorch's all-reduces": predict("distributed.pytorchs_all_reduces", 16, "all-reduces"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Two ways to cut a layer
#
# Let a layer multiply $x = [1, 2]$ by $A$:
#
# $$[1, 2] \begin{bmatrix} 1 & -1 \\ 2 & 1 \end{bmatrix} = [5, 1]$$
#
# | $A$ is cut | rank 0 | rank 1 | together |
# |---|---|---|---|
# | by columns | [1, 2] times its column: 5 | [1, 2] times its column: 1 | side by side: [5, 1] |
# | by rows | 1 x [1, -1] = [1, -1] | 2 x [2, 1] = [4, 2] | added up: [5, 1] |
#
# By columns, each rank needs all of $x$, and sends nothing.
# By rows, each needs a part of $x$, and the sum is an all-reduce.
#
# ReLU of $[5, 1]$ is $[5, 1]$.
# By columns, each rank applies it to its own number.
# By rows, ReLU before the sum gives $[1, 0] + [4, 2] = [5, 2]$, which is wrong.
#
# The next layer multiplies $[5, 1]$ by a matrix with the rows $[1, 0]$ and $[3, -2]$.
# After a cut by columns, rank 0 has the 5 and rank 1 the 1: all that they need if this layer is cut by rows.
# The sum is $5 \cdot [1, 0] + 1 \cdot [3, -2] = [8, -2]$.
# **Columns first, then rows: two layers, one all-reduce.**
#
# The first layer's bias is cut like its columns.
# The second layer's, say $[1, 1]$, is added to the sum: $[8, -2] + [1, 1] = [9, -1]$.
# If both ranks added it before, it would count twice.
#
# | call | what it does |
# |---|---|
# | `linear(x, w, b)` | `x` times A, plus `b`; `w` is A transposed: it has a row for each column of A |
# | `gelu(x)` | GELU of each number |
# | `ring_all_reduce(x)` | lesson 2's ring: returns the sum over all ranks |
#
# **Exercise `distributed.split_mlp`**: the MLP, of which this rank has a part, with a single all-reduce of float32 numbers, as many as y has.


# %% tags=["exercise:distributed.split_mlp"]
def split_mlp(rank, ranks, x, expand, expand_bias, contract, contract_bias):
    """x [N,D]; this rank's part of expand [F,D], [F], contract [D,F]; whole bias [D] -> y [N,D]"""
    # STUB:
    # return torch.zeros_like(x)
    # BEGIN SOLUTION
    hidden = gelu(linear(x, expand, expand_bias))
    return ring_all_reduce(linear(hidden, contract)) + contract_bias
    # END SOLUTION


split_mlp = check("distributed.split_mlp", split_mlp)

# %% [markdown]
# ### Attention by heads
#
# In attention, four **heads** work side by side.
# Head 0 uses the first 32 columns of `Q`, `K` and `V`, head 1 the next 32, and so on.
# Each makes 32 numbers for every token, and `output` mixes all 128.
# So again: `Q`, `K` and `V` by columns, `output` by rows.
# But no cut goes through a head: 32 products of `Q` and `K` are summed before a softmax, bent as GELU is.
#
# Three heads of width 2, on two ranks, have six columns:
#
# ```
# column      0 1 | 2 3 | 4 5
# head         0  |  1  |  2
# rank         0  |  1  |  1
# ```
#
# **Exercise `distributed.heads_of_rank`**: return this rank's parts of two tensors, the weights of `Q` and `output`.
# As PyTorch stores them, a column of `Q` is a row of `query`, and a row of `output` is a column.


# %% tags=["exercise:distributed.heads_of_rank"]
def heads_of_rank(rank, ranks, head_width, query, output):
    """query [W,D] and output [D,W], whole -> the rows and the columns of this rank's heads"""
    heads = len(query) // head_width  # this rank has first, first + 1, ..., before `after`
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks
    # STUB:
    # return None, None  # yours
    # BEGIN SOLUTION
    mine = slice(first * head_width, after * head_width)
    return query[mine], output[:, mine]
    # END SOLUTION


heads_of_rank = check("distributed.heads_of_rank", heads_of_rank)

# %% [markdown]
# With your functions, two ranks compute both halves of the first block, of the same x; its biases are 0.

# %%
from labkit_lessons.distributed.tensor_parallel.by_functions import attention_of_heads, mlp_of_rank

plan = Plan(steps=2, sequences=4, length=48)
inputs, _ = plan.batch_of(0, emma().train)
model = GPT().requires_grad_(False)
block = model.blocks[0]
x = block.norm1(model.embedding(inputs))  # norm1: LayerNorm, which rescales each token's row


def halves(rank, ranks):
    attention = attention_of_heads(rank, ranks, block.attention, heads_of_rank)
    mixed = ring_all_reduce(attention(x))  # attention gives a summand; your MLP sums by itself
    return mixed, mlp_of_rank(rank, ranks, block.mlp, split_mlp)(x)


for mixed, after_mlp in launch(halves, 2):
    print("attention:", torch.allclose(mixed, block.attention(x), atol=1e-6), end=", ")
    print("MLP:", torch.allclose(after_mlp, block.mlp(x), atol=1e-6))

# %% [markdown]
# ### Backward
#
# Let $h = xA$, and let $dh$ and $dx$ be the gradients of the loss with respect to $h$ and $x$.
# Then $dx = dh\,A^T$ and $dA = x^T dh$.
# In the example cut by columns, let $dh = [1, -1]$:
#
# ```
#           dh   column of A   part of dx
# rank 0     1   [1, 2]         1 x [1, 2] = [1, 2]
# rank 1    -1   [-1, 1]       -1 x [-1, 1] = [1, -1]
#                              added up: [2, 1]
#
#           dh   column of dA
# rank 0     1    1 x [1, 2] = [1, 2]
# rank 1    -1   -1 x [1, 2] = [-1, -2]
#                side by side
# ```
#
# $x$ went into both ranks, so its gradient is a sum: here is the all-reduce.
# But each column of $dA$ is complete in its rank.
#
# With many tokens, $x$ and $dh$ have a row for each.
#
# ```
# dh @ w     the product of two matrices
# dh.T       dh transposed
# ```
#
# **Exercise `distributed.column_backward`**: return both gradients, with a single all-reduce of float32 numbers, as many as x has.


# %% tags=["exercise:distributed.column_backward"]
def column_backward(rank, ranks, x, w, dh):
    """x [N,D] whole, this rank's w [F,D] and dh [N,F] -> dx [N,D] whole, this rank's dw [F,D]"""
    # STUB:
    # return torch.zeros_like(x), torch.zeros_like(w)
    # BEGIN SOLUTION
    dx = ring_all_reduce(dh @ w)
    return dx, dh.T @ x
    # END SOLUTION


column_backward = check("distributed.column_backward", column_backward)

# %% [markdown]
# At the cut by rows it is the other way round: a sum forward, and no message backward, since every rank knows all of $dy$.
# So each half of a block has two all-reduces.
# Light is rank 0's, dark rank 1's, grey whole in both:

# %% tags=["picture"]
from labkit_lessons.distributed.tensor_parallel.pictures import layout_picture

layout_picture(Config(), ranks=2)

# %% [markdown]
# ## Check
#
# `train_split` trains such parts for two steps with AdamW, Adam with a little decay of the weights; every rank reads the whole batch.
# PyTorch does so with **DTensors**: each rank has a part, and operations on it send the all-reduces.
# Adam divides each gradient by its own size, so in a tiny one, rounding alone makes a full step; numbers of 8 bytes round far less.

# %%
from labkit_lessons.distributed.tensor_parallel.training import largest_difference, train_split

ways = ("by hand", "PyTorch", "PyTorch, columns and rows only")


def train_all(rank, ranks):
    in_doubles = {way: train_split(rank, ranks, way, plan, dtype=torch.float64) for way in ways[:2]}
    in_floats = {way: train_split(rank, ranks, way, plan) for way in ways}  # of 4 bytes
    return in_doubles, in_floats


alone_in_doubles = train_split(0, 1, "one process", plan, dtype=torch.float64)
alone = train_split(0, 1, "one process", plan)
runs, rows = {}, []
for ranks in (2, 4):
    runs[ranks] = launch(train_all, ranks, timeout=300)
    for way in ways[:2]:
        found = [in_doubles[way] for in_doubles, _ in runs[ranks]]
        rows.append([way, ranks, largest_difference(found, alone_in_doubles) < 1e-10])
figures.table(["way", "ranks", "losses, gradients, weights within 1e-10"], rows)

# %% [markdown]
# ## Measure
#
# What a layer hands on are its **activations**: for $N$ sequences of $T$ tokens, $N \times T \times 128$ numbers of 4 bytes.
# An all-reduce carries these.
# All-reduces are those of a step of $4 \times 48$ tokens; the last row is data parallel, with its gradients copied into one tensor.
# Peak memory is the most that weights, gradients, averages and activations take at once in two steps.

# %%
from labkit_lessons.distributed.tensor_parallel.training import train_data_parallel

of_rank_0 = {ranks: runs[ranks][0][1] for ranks in runs}  # in floats, by way
compared = [("by hand", ranks, of_rank_0[ranks]["by hand"]) for ranks in (2, 4)]
compared += [(way, 2, of_rank_0[2][way]) for way in ways[1:]]
compared.append(("data parallel", 2, launch(train_data_parallel, 2, plan)[0]))
rows = []
for way, ranks, one in compared:
    summed = counted(sum(call.bytes for call in one.calls), "B", "PyTorch's dispatcher")
    share = counted(100 * one.weight_bytes / alone.weight_bytes, "%", "labkit, from live tensors")
    peak = counted(100 * one.peak_bytes / alone.peak_bytes, "%", "labkit, from live tensors")
    gradients = counted(one.peak_gradients, "B", "labkit, from live tensors")
    rows.append([way, ranks, len(one.calls), summed, share, peak, gradients])
head = ["way", "ranks", "all-reduces", "bytes summed", "weights", "peak memory", "gradients then"]
figures.table(head, rows)
print("16 x N x T x 128 x 4:", predicted(16 * 4 * 48 * 128 * 4, "B", "the formula"))

# %% [markdown]
# Weights and peak memory are in percent of one process's.
# The weights are above 1/2 and 1/4, since every rank has the first and last layer, the norms and some biases whole.
# <!-- holds: 50 < rows[0][4].value < 53 and 25 < rows[1][4].value < 29 -->
# Data parallel has its peak after the all-reduce: weights, two averages, gradients, and these joined, summed and divided.
# <!-- holds: rows[4][6].value == alone.weight_bytes and max(row[4].value for row in rows) == rows[4][4].value == 100 -->
# The other ways have it as the second backward begins: averages and all activations are there, but hardly a gradient.
# <!-- holds: max(row[6].value for row in rows[:4]) < 0.02 * rows[4][6].value and max(row[5].value for row in rows[:4]) < 100 -->
# Of the activations, each rank keeps x, the norms' results and the last layer's whole.
#
# Data parallel sums 3.32 MB, whatever the batch.
# <!-- holds: round(rows[4][3].value / 1e6, 2) == 3.32 -->
# Here a token costs $16 \times 128 \times 4 = 8192$ bytes, so above 405 tokens it is more (*predicted*).
# <!-- holds: rows[0][3].value / (4 * 48) == 8192 == 16 * 128 * 4 and rows[0][2] == 16 -->
# <!-- holds: 405 * 8192 < rows[4][3].value < 406 * 8192 -->
# In a ring of $n$, each sends $2 (n - 1) / n$ times what is summed: as much with 2, 1.5 times with 4.
#
# The next layer waits for each sum, where lesson 4's buckets travel beside the backward.
# Only `dw` need not wait for the sum of `dx`.
# So the ranks need fast links, as in one machine.
#
# ## Explain
#
# `expand` by rows, with GELU before the sum, on the first block:


# %% tags=["picture"]
def too_early(model):
    block = model.blocks[0]
    x = model.embedding(inputs)
    x = block.norm2(x + block.attention(block.norm1(x)))  # what `expand` reads
    w = block.mlp.expand.weight
    parts = zip(x.chunk(2, dim=2), w.chunk(2, dim=1), strict=True)
    early = sum(gelu(linear(part, part_of_w)) for part, part_of_w in parts)
    right = gelu(linear(x, w))
    return (100 * (early - right).norm() / right.norm()).item()


calls = len(of_rank_0[2]["PyTorch, columns and rows only"].calls)
results = {
    "GELU too early": counted(too_early(model), "%", "fresh weights"),
    "PyTorch's all-reduces": counted(calls, "all-reduces", "PyTorch's dispatcher"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])
later = too_early(trained().requires_grad_(False))
print("GELU too early, with trained weights:", counted(later, "%", "this cell"))

# %% [markdown]
# GELU is bent, so $GELU(a + b)$ is not $GELU(a) + GELU(b)$.
# <!-- holds: results["GELU too early"].value > 10 -->
# Trained weights make larger sums, so it matters more.
# <!-- holds: later > results["GELU too early"].value -->
#
# With that plan, `Q`, `K` and `V` each all-reduce a gradient of the same $x$: $4 \times 2$ sums too many.
# <!-- holds: calls - len(of_rank_0[2]["PyTorch"].calls) == 4 * 2 -->
# With `PrepareModuleInput` in it, the three share $x$, and 16 are left.
# <!-- holds: len(of_rank_0[2]["PyTorch"].calls) == 16 -->
#
# ## On trial
#
# ### <a id="C11"></a>C11 on trial
#
# > Model parallelism is `DistributedDataParallel(model, device_ids=[0, 1])` with the input features split in two


# %%
def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def tried(rank, ranks):
    model, features = torch.nn.Linear(4, 3), torch.ones(5, 4)
    as_printed = error_of(lambda: DistributedDataParallel(model, device_ids=[0, 1]))
    everywhere = DistributedDataParallel(model)
    split = error_of(lambda: everywhere(features.chunk(2, dim=1)[rank]))
    return as_printed, split, everywhere.module.weight.shape


outcome = launch(tried, 2)[0]
print(*outcome, sep="\n")

# %% [markdown]
# **Verdict on C11: wrong.**
# The line is refused; without `device_ids`, half the features do not fit, as each rank has the whole model, [3, 4].
# <!-- holds: [line.split(":")[0] for line in outcome[:2]] == ["ValueError", "RuntimeError"] and outcome[2] == (3, 4) -->
# Where input features are split, the layer is cut by rows and its results added up.
#
# ### <a id="C18"></a>C18 on trial
#
# > Model parallelism computes y = sum_k f_k(x) over layers k

# %%
start = composed = model.embedding(inputs)
for one in model.blocks:
    composed = one(composed)
summed = start + sum(one(start) - start for one in model.blocks)  # a block returns x + ...
off = (100 * (summed - composed).norm() / composed.norm()).item()
print("the sum of what four blocks add is off by", counted(off, "%", "fresh weights"))

right = gelu(linear(x, block.mlp.expand.weight))
w = block.mlp.contract.weight
parts = zip(right.chunk(2, dim=2), w.chunk(2, dim=1), strict=True)
summed = sum(linear(part, part_of_w) for part, part_of_w in parts)
same = torch.allclose(summed, linear(right, w), atol=1e-6)
print("the sum of two ranks' parts of `contract` is right:", same)

# %% [markdown]
# **Verdict on C18: holds if the f_k are the ranks' parts of one linear layer cut by rows, of one MLP or of one attention.**
# <!-- holds: off > 50 and (summed - linear(right, w)).abs().max() < 1e-5 -->
# Layers are applied one after the other, f_2(f_1(x)), on whichever ranks they are.
#
# ### <a id="C40"></a>C40 on trial
#
# > In model parallelism, all-reduce merges the gradients of all accelerators

# %%
both = [in_doubles["by hand"] for in_doubles, _ in runs[2]]
carried = {call.bytes for one in both for call in one.calls}
sizes = {part.nbytes for one in both for part in one.gradients.values()}
print(
    "bytes of an all-reduce:", *carried, "- a gradient that large:", not carried.isdisjoint(sizes)
)

name = "blocks.0.mlp.expand.weight"
ours = [one.gradients[name] for one in both]
print("gradient of `expand` equal in both ranks:", torch.allclose(*ours))
joined = torch.cat(ours)
same = torch.allclose(joined, alone_in_doubles.gradients[name])
print("both, one above the other, equal one process's:", same)
ours = [one.gradients["blocks.0.norm1.weight"] for one in both]
print("gradient of `norm1` equal in both ranks:", torch.equal(*ours))

# %% [markdown]
# **Verdict on C40: wrong.**
# Half of the all-reduces do sum gradients: in backward, of activations.
# Here, gradients of weights stay in their rank.
# <!-- holds: carried & sizes == set() and len(sizes) > 1 -->
# Those of `norm1`, which all have, need no message of their own, since each rank normalises all tokens: after the all-reduce of $dx$, all have the same $x$ and $dx$.
# <!-- holds: (ours[0] - ours[1]).abs().max() == 0 -->
#
# ## Recap
#
# **The rule to keep: columns, then rows, never through a head; each block then costs four all-reduces of N x T x D numbers in a step, and the next layer waits for each.**
# <!-- holds: len(of_rank_0[2]["by hand"].calls) == 4 * len(model.blocks) and {call.bytes for call in of_rank_0[2]["by hand"].calls} == {4 * 48 * 128 * 4} -->
#
# ### Outside
#
# In PyTorch, it is `parallelize_module(model, mesh, plan)` with `ColwiseParallel` and `RowwiseParallel`; in Megatron-LM, `ColumnParallelLinear` and `RowParallelLinear`.
# **Sequence parallel** makes each all-reduce a reduce-scatter and an all-gather: the bytes of the activations are the same, but in between, each rank normalises only its own tokens.
# So the gradients of the norms, which are small, have to be summed over the ranks, too.
# Each rank can also keep only its own tokens in memory, for one more all-gather in backward ([Korthikanti and others](https://arxiv.org/abs/2205.05198)).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_eight_ranks", None)
# quiz("distributed.quiz_bias_in_each", None)
# quiz("distributed.quiz_whole_weights", None)
# BEGIN SOLUTION
quiz("distributed.quiz_eight_ranks", "c")
quiz("distributed.quiz_bias_in_each", "b")
quiz("distributed.quiz_whole_weights", "a")
# END SOLUTION
