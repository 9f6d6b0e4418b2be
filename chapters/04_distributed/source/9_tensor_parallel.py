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
#     minutes: 55
#     needs: []
# ---

# %% [markdown]
# # Tensor parallel
#
# **133 GB of numbers, and GPUs of 32 GB.**
# In 2019, Megatron-LM trained a model of 8.3 billion weights (*published*: Shoeybi and others, [arXiv:1909.08053](https://arxiv.org/abs/1909.08053)).
# With its gradient and Adam's two averages, a weight takes 16 bytes, and all take 8.3 x 16 = 133 GB.
# In data parallel training, every GPU would need as much, and each had 32 GB.
# So eight GPUs shared every layer.
#
# ## What you will be able to do
#
# - split two layers over ranks so that one all-reduce is enough for both;
# - split attention by heads;
# - say what travels forward and backward, and count it.
#
# You need lessons [2](2_the_ring.ipynb) and [3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Our model, a small **GPT**, reads a novel and predicts the next character.
# A character is a **token**, and inside the model it is a row of 128 numbers.
# These rows go through four **blocks** of two halves each:
#
# | half | what it does | its layers |
# |---|---|---|
# | **attention** | each token collects from those before it | `Q`, `K`, `V` and `output`, each from 128 numbers to 128 |
# | **MLP** | works on each token alone | `expand` from 128 to 512, GELU, `contract` from 512 to 128 |
#
# **GELU** is a smooth relative of ReLU.
#
# 1. Two ranks share the sums of `expand`: rank 0 adds up the first 64 products of each, rank 1 the other 64.
#    Now each applies GELU to its own sums, and *then* they add up their results.
#    How far is that from the right result, in percent of its size?
#    (The size of many numbers is the root of the sum of their squares.)
# 2. We shall split all four blocks so that a training step needs 16 all-reduces.
#    PyTorch's `parallelize_module` splits the same layers in the same way.
#    How many does a step need then?

# %%
import torch
from torch.nn.functional import gelu, linear
from torch.nn.parallel import DistributedDataParallel

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch, ring_all_reduce
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
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
# | by **columns** | [1, 2] times its column: 5 | [1, 2] times its column: 1 | side by side: [5, 1] |
# | by **rows** | 1 x [1, -1] = [1, -1] | 2 x [2, 1] = [4, 2] | added up: [5, 1] |
#
# By columns, each rank needs all of $x$, and sends nothing.
# By rows, each needs a part of $x$, and the sum is an all-reduce.
#
# ReLU of [5, 1] is [5, 1].
# By columns, each rank applies it to its own number.
# By rows, ReLU before the sum gives [1, 0] + [4, 2] = [5, 2], which is wrong.
#
# The next layer multiplies [5, 1] by a matrix with the rows [1, 0] and [3, -2].
# After a cut by columns, rank 0 has the 5 and rank 1 the 1: all that they need if this layer is cut by rows.
# The sum of 5 x [1, 0] and 1 x [3, -2] is [8, -2].
# **Columns first, then rows: two layers, one all-reduce.**
#
# The first layer's bias is cut like its columns.
# That of the second, say [1, 1], belongs to the sum: [8, -2] + [1, 1] = [9, -1].
# If both ranks added it before the sum, it would count twice.
#
# ```
# linear(x, w, b)       x times A, plus b; PyTorch stores A turned: w has a row for each column of A
# gelu(x)               GELU of each number
# ring_all_reduce(x)    lesson 2's ring: returns the sum over all ranks
# ```
#
# **Exercise `distributed.split_mlp`**: the MLP, of which this rank has a part.


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
# So again: `Q`, `K` and `V` by columns, `output` by rows, and no cut through a head.
#
# Three heads of width 2, on two ranks, have six columns:
#
# ```
# column      0 1 | 2 3 | 4 5
# head         0  |  1  |  2
# rank         0  |  1  |  1
# ```
#
# **Exercise `distributed.heads_of_rank`**: return this rank's parts of `Q`'s and `output`'s weights.
# As PyTorch stores them, a column of `Q` is a row of `query`, and a row of `output` is a column.


# %% tags=["exercise:distributed.heads_of_rank"]
def heads_of_rank(rank, ranks, head_width, query, output):
    """query [W,D] and output [D,W], whole -> the rows and the columns of this rank's heads"""
    heads = len(query) // head_width
    first, after = rank * heads // ranks, (rank + 1) * heads // ranks  # first to after - 1
    # STUB:
    # return None, None  # yours
    # BEGIN SOLUTION
    mine = slice(first * head_width, after * head_width)
    return query[mine], output[:, mine]
    # END SOLUTION


heads_of_rank = check("distributed.heads_of_rank", heads_of_rank)

# %% [markdown]
# With your functions, two ranks compute the first block's halves, beside one process.

# %%
from labkit.distributed.tensor_parallel.by_functions import attention_of_heads, mlp_of_rank

plan = Plan(steps=2, sequences=4, length=48)
one_step = Plan(steps=1, sequences=4, length=48)
inputs, _ = plan.batch_of(0, emma().train)
model = GPT().requires_grad_(False)
block = model.blocks[0]
x = block.norm1(model.embedding(inputs))  # norm1: LayerNorm, which rescales each token's row


def halves(rank, ranks):
    attention = attention_of_heads(rank, ranks, block.attention, heads_of_rank)
    mixed = ring_all_reduce(attention(x))
    return mixed, mlp_of_rank(rank, ranks, block.mlp, split_mlp)(x)


for mixed, after_mlp in launch(halves, 2):
    print("attention:", torch.allclose(mixed, block.attention(x), atol=1e-6), end=", ")
    print("MLP:", torch.allclose(after_mlp, block.mlp(x), atol=1e-6))

# %% [markdown]
# ### Backward
#
# Let $h = xA$, and let $dh$ and $dx$ be the gradients of the loss by $h$ and $x$.
# Then $dx = dh\,A^T$ and $dA = x^T dh$.
# Say that $dh = [1, -1]$, in the example that is cut by columns:
#
# | | knows of $dh$ | its column of $A$ | its part of $dx$ | its column of $dA$ |
# |---|---|---|---|---|
# | rank 0 | 1 | [1, 2] | 1 x [1, 2] = [1, 2] | 1 x [1, 2] = [1, 2] |
# | rank 1 | -1 | [-1, 1] | -1 x [-1, 1] = [1, -1] | -1 x [1, 2] = [-1, -2] |
# | | | | added up: [2, 1] | side by side |
#
# $x$ went into both ranks, so its gradient is a sum: here is the all-reduce.
# But each column of $dA$ is complete in its rank.
#
# With many tokens, $x$ and $dh$ have a row for each.
# `dw` has the shape of `w`; `dh.T` is `dh` turned, and `@` multiplies matrices.
#
# **Exercise `distributed.column_backward`**: return both gradients.


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
# At the cut by rows it is the other way round: a sum forward, and no message backward.
# So each half of a block has two all-reduces:

# %% tags=["picture"]
from labkit.distributed.tensor_parallel.pictures import layout_picture

layout_picture(Config(), ranks=2)

# %% [markdown]
# ## Check
#
# `train_split` puts such parts into all blocks, and trains for two steps with Adam; every rank reads the whole batch.
# PyTorch does the same with **DTensors**: tensors of which each rank has a part, and which insert the all-reduces.
# Adam blows up rounding, so we compare with numbers of 8 bytes.

# %%
from labkit.distributed.tensor_parallel.training import largest_difference, train_split

ways = ("by hand", "PyTorch", "PyTorch, columns and rows only")


def train_all(rank, ranks):
    exact = {way: train_split(rank, ranks, way, plan, dtype=torch.float64) for way in ways[:2]}
    usual = {way: train_split(rank, ranks, way, one_step) for way in ways}  # numbers of 4 bytes
    return exact, usual


alone = train_split(0, 1, "one process", plan, dtype=torch.float64)
whole = train_split(0, 1, "one process", one_step)
runs, rows = {}, []
for ranks in (2, 4):
    runs[ranks] = launch(train_all, ranks, timeout=300)
    for way in ways[:2]:
        difference = largest_difference([exact[way] for exact, _ in runs[ranks]], alone)
        rows.append([way, ranks, difference < 1e-5])
figures.table(["way", "ranks", "losses, gradients, weights within 0.00001"], rows)

# %% [markdown]
# ## Measure
#
# What a layer hands on are its **activations**.
# An all-reduce carries those of N sequences of T tokens: N x T x 128 numbers of 4 bytes.
# Here is a step of 4 x 48 tokens; the last row is data parallel, from lesson 3.

# %%
from labkit.distributed.tensor_parallel.training import data_parallel_calls

rows = []
for way, ranks in ((ways[0], 2), (ways[0], 4), (ways[1], 2), (ways[2], 2)):
    _, usual = runs[ranks][0]
    first = usual[way]
    sent = counted(sum(call.bytes for call in first.calls), "B", "PyTorch's dispatcher")
    share = counted(100 * first.weight_bytes / whole.weight_bytes, "%", "the tensors")
    peak = counted(100 * first.peak_bytes / whole.peak_bytes, "%", "the tensors")
    rows.append([way, ranks, len(first.calls), sent, share, peak])
calls = launch(data_parallel_calls, 2, plan)[0]
sent = counted(sum(call.bytes for call in calls), "B", "PyTorch's dispatcher")
rows.append(["data parallel", 2, len(calls), sent, counted(100, "%", "the tensors"), ""])
figures.table(["way", "ranks", "all-reduces", "bytes", "weights", "peak memory"], rows)
print("16 x N x T x 128 x 4:", predicted(16 * 4 * 48 * 128 * 4, "B", "the formula"))

# %% [markdown]
# Weights and memory are in percent of one process's.
# They are above 1/2 and 1/4, since every rank has the first and the last layer whole.
#
# Data parallel sends 3.32 MB, whatever the batch.
# Here each token costs 16 x 128 x 4 = 8,192 bytes, so above 405 tokens it is more.
# And everything waits for each all-reduce, where the buckets of lesson 4 travel beside the backward.
# So ranks that share a layer need fast links, as between GPUs of one machine.
#
# ## Explain
#
# `expand` by rows, with GELU before the sum, on the first block:

# %% tags=["picture"]
w = block.mlp.expand.weight
right = gelu(linear(x, w))
halves_of_sum = zip(x.chunk(2, dim=2), w.chunk(2, dim=1), strict=True)
early = sum(gelu(linear(part, rows_of_rank)) for part, rows_of_rank in halves_of_sum)
off = counted((100 * (early - right).norm() / right.norm()).item(), "%", "our weights")
calls = len(usual[ways[2]].calls)
results = {
    "GELU too early": off,
    "PyTorch's all-reduces": counted(calls, "all-reduces", "PyTorch's dispatcher"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# GELU is bent, so GELU(a + b) is not GELU(a) + GELU(b).
#
# If PyTorch's plan names only columns and rows, `Q`, `K` and `V` each all-reduce a gradient of the same $x$: 4 blocks x 2 sums too many.
# With `PrepareModuleInput` in the plan, the three share $x$, and 16 are left.
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


print(*launch(tried, 2)[0], sep="\n")

# %% [markdown]
# **Verdict on C11: wrong.**
# The line is refused; without `device_ids`, half of the features do not fit.
# Each rank has the whole model, [3, 4]: this is data parallel.
# Where input features are split, the layer is cut by rows, and its results are added up.
#
# ### <a id="C18"></a>C18 on trial
#
# > Model parallelism computes y = sum_k f_k(x) over layers k

# %%
start = composed = model.embedding(inputs)
for one in model.blocks:
    composed = one(composed)
summed = sum(one(start) for one in model.blocks)
off = (100 * (summed - composed).norm() / composed.norm()).item()
print("the sum of four blocks is off by", counted(off, "%", "both results"))

w = block.mlp.contract.weight
parts = zip(right.chunk(2, dim=2), w.chunk(2, dim=1), strict=True)
summed = sum(linear(part, rows_of_rank) for part, rows_of_rank in parts)
same = torch.allclose(summed, linear(right, w), atol=1e-6)
print("the sum of two ranks' parts of `contract` is right:", same)

# %% [markdown]
# **Verdict on C18: holds if the f_k are the parts of one linear layer that is cut by rows.**
# Layers are applied one after the other, f_2(f_1(x)), wherever they stand.
#
# ### <a id="C40"></a>C40 on trial
#
# > In model parallelism, all-reduce merges the gradients of all accelerators

# %%
both = [usual["by hand"] for _, usual in runs[2]]
carried = {call.bytes for one in both for call in one.calls}
sizes = {weight.numel() * weight.element_size() for weight in model.parameters()}
print("bytes of an all-reduce:", *carried, "- any weight that large:", bool(carried & sizes))

name = "blocks.0.mlp.expand.weight"
ours = [one.gradients[name] for one in both]
print("gradient of `expand` equal in both ranks:", torch.allclose(*ours, atol=1e-6))
joined = torch.cat(ours)
same = torch.allclose(joined, whole.gradients[name], atol=1e-5)
print("both, one above the other, equal one process's:", same)
ours = [one.gradients["blocks.0.norm1.weight"] for one in both]
print("gradient of `norm1` equal in both ranks:", torch.equal(*ours))

# %% [markdown]
# **Verdict on C40: wrong.**
# In tensor parallel, the all-reduces carry activations forward, and their gradients backward.
# Each rank keeps the gradients of its own weights.
# Those of `norm1`, which all have, are equal without a message: all saw the same x and dx.
#
# ## Recap
#
# **The rule to keep: columns, then rows, never through a head; each block then costs four all-reduces of N x T x D numbers in a step, and everything waits for each.**
#
# ### Outside
#
# In PyTorch, it is `parallelize_module(model, mesh, plan)` with `ColwiseParallel` and `RowwiseParallel`; in Megatron-LM, `ColumnParallelLinear` and `RowParallelLinear`.
# Both can also cut the first and the last layer, by characters.
# **Sequence parallel** makes each all-reduce a reduce-scatter and an all-gather: the bytes are the same, but in between, each rank normalises only its own tokens ([Korthikanti and others](https://arxiv.org/abs/2205.05198)).
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
