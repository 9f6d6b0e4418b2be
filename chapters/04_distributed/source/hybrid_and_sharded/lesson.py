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
#     title: Hybrid and sharded
#     number: 11
#     minutes: 57
#     needs: []
#     able: cut weights, gradients and moments over the ranks, and train as one process does; predict a rank's bytes, activations included; lay ranks out in a mesh, and say who talks to whom
#     runs_on: the same
# ---

# %% [markdown]
# # Hybrid and sharded
#
# **120 GB of state on each of 64 GPUs, where 1.9 would do.**
# That is what 7.5 billion weights, their float32 copy, gradients and moments take in mixed precision, by plain data parallel, or cut over all ([Rajbhandari and others](https://arxiv.org/abs/1910.02054), *published*).
#
# ## What you will be able to do
#
# - cut weights, gradients and moments over the ranks;
# - predict a rank's bytes, activations included;
# - lay ranks out in a mesh, and say who talks to whom.
#
# You need lessons 3, [9](9_tensor_parallel.ipynb) and [10](10_pipeline.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# **AdamW** is an optimizer that keeps two numbers for each weight, its **moments**: averages of the gradient and of its square.
# **Activations** are what forward leaves in memory for backward.
# A rank's **state** is weights, gradients and moments; training is **sharded** if each rank keeps a part only, its **shard**.
# The **peak** of a step is when it needs most bytes.
#
# 1. Four ranks train our small GPT on 8 sequences of 64 tokens a step, first by plain data parallel, then with all state cut by four.
#    At the peak, how many percent of the bytes does a rank still need?
# 2. PyTorch cuts the GPT's 830,208 weights over 1,024 ranks.
#    In one step, how many times the bytes of all weights does a rank send?

# %%
import numpy as np
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DataParallel, DistributedDataParallel

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import all_gather, launch, reduce_scatter
from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.gpt.training import train as train_alone
from labkit.distributed.one_big_batch import largest_difference, weights
from labkit.provenance import counted, predicted

# STUB:
# guesses = {
#     "peak": predict("distributed.peak_left", None, "%"),
#     "1,024 ranks": predict("distributed.sent_at_1024", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "peak": predict("distributed.peak_left", 25, "%"),
    "1,024 ranks": predict("distributed.sent_at_1024", 3, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Six weights, two ranks
#
# Layer A has the weights a b c d, layer B has e f.
# Rank 0 keeps a b and e with their 6 moments, rank 1 c d and f.
# In a step, rank 0 sees this:
#
# | phase | does | holds |
# |---|---|---|
# | forward of A | gathers c d, computes, frees them | a b **c d** e |
# | forward of B | gathers f, computes, frees it | a b e **f** |
# | backward of B | gathers f, computes 2 gradients | a b e **f**, 2 gradients |
# | | reduce-scatters them, frees f | a b e, gradient of e |
# | backward of A | the same with c d | a b **c d** e, 4 + 1 gradients |
# | update | AdamW, on its shard | a b e, 3 gradients |
#
# It never holds all six weights.
# With S bytes of all weights, each of n ranks sends $\frac{n-1}{n} S$ in forward's gathers, as much in backward's and in the reduce-scatters: $3 \frac{n-1}{n} S$ in a step; data parallel's all-reduce needs $2 \frac{n-1}{n} S$.
#
# For a linear layer $y = x W$, the gradients are $dW = x^T dy$ and $dx = dy\, W^T$.
# `torch.cat(all_gather(shard)).view(D, D)` is the whole layer; if no name holds it, it is freed after use.
# (`check` lets one name hold a layer until the next one is gathered.)
# `reduce_scatter(t)` takes t of any shape, and returns this rank's flat chunk of the ranks' sum.
#
# **Exercise `distributed.sharded_step`**: backward of several linear layers, without autograd; forward is there, and `dy` is the gradient of this rank's last output.
# Gather each layer when it is needed, for forward and again for backward, and return the shards of the mean gradients.


# %% tags=["exercise:distributed.sharded_step"]
def sharded_step(rank, ranks, shards, x, dy):
    """shard[D * D / n] of each layer, x[N, D], dy[N, D] -> shards of the mean gradients"""
    D = x.shape[1]
    inputs, gradients = [], []
    for shard in shards:
        inputs.append(x)
        x = x @ torch.cat(all_gather(shard)).view(D, D)
    for shard, x in zip(reversed(shards), reversed(inputs), strict=True):
        # STUB:
        # gradients.insert(0, torch.zeros_like(shard))  # yours; then dy of the layer before
        # BEGIN SOLUTION
        gradients.insert(0, reduce_scatter(x.T @ dy) / ranks)
        dy = dy @ torch.cat(all_gather(shard)).view(D, D).T
        # END SOLUTION
    return gradients


sharded_step = check("distributed.sharded_step", sharded_step)

# %% [markdown]
# ### What a rank holds
#
# With AdamW, training takes 16 bytes a weight.
# In float32, as our GPT trains, 4 are the weight's, 4 its gradient's and 8 its moments'.
# In **mixed precision**, as large models train, these are 2 + 2 + 12 in ZeRO's paper: beside the moments, AdamW keeps a float32 copy of the weight.
# Where gradients are summed in float32, as in [Megatron-Core](https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/dist_optimizer.html), it is 2 + 4 + 12.
# **ZeRO** (Zero Redundancy Optimizer) cuts one kind more in each of three stages:
#
# | | cuts | 7.5 billion weights, each of 64 GPUs | sends |
# |---|---|---|---|
# | stage 0: data parallel | nothing | 120 GB | $2 \frac{n-1}{n} S$ |
# | ZeRO-1 | moments (and copy) | 31.4 GB | $2 \frac{n-1}{n} S$ |
# | ZeRO-2 | gradients, too | 16.6 GB | $2 \frac{n-1}{n} S$ |
# | ZeRO-3 | weights, too | 1.9 GB | $3 \frac{n-1}{n} S$ |
#
# In ZeRO-1, one of 64 ranks holds 2 + 2 + 12/64 = 4.19 bytes a weight: 31.4 GB.
# ZeRO-1 and 2 reduce-scatter gradients and gather updated weights: an all-reduce's two halves.
#
# Activations are of the rank's own sequences, so no stage of ZeRO cuts them.
# Where they do not fit, a block may keep its input only, and compute the rest again in backward: **recomputing** saves memory for one forward more.
#
# **Exercise `distributed.bytes_per_rank`**: in float32, a rank's state and its activations, without what is gathered for a moment.
# `each` is the bytes of state for one weight; `activations` are the bytes of each block in this rank, and `ranks` divides `weights`.


# %% tags=["exercise:distributed.bytes_per_rank"]
def bytes_per_rank(weights, ranks, stage, activations):
    """counts of weights and ranks, ZeRO's stage, bytes of each block's activations [B] -> bytes"""
    # STUB:
    # each = 0  # yours
    # BEGIN SOLUTION
    each = 4 / ranks if stage >= 3 else 4
    each += 4 / ranks if stage >= 2 else 4
    each += 8 / ranks if stage >= 1 else 8
    # END SOLUTION
    return weights * each + activations.sum()


bytes_per_rank = check("distributed.bytes_per_rank", bytes_per_rank)

# %% [markdown]
# ### Two ways at once
#
# **Hybrid** training splits in two ways: the ranks form a **mesh**, a grid whose sides have names; a **group** along a side are ranks that differ in this place only.
# The last side counts fastest, so data x tensor of 2 x 3 is:
#
# ```
#           tensor 0   1   2
# data 0           0   1   2
# data 1           3   4   5
# ```
#
# Ranks 0, 1 and 2, a tensor group, share one copy and see the same sequences.
# Ranks 1 and 4, a data group, have the same part, see different sequences, and average gradients.
# Tensor groups talk in every block, data groups once a step.
#
# **Exercise `distributed.group_along`**: the ranks of this rank's group along a side, in their order.
# For rank 4 above and lengths [2, 3]: `[1, 4]` along side 0, `[3, 4, 5]` along side 1.


# %% tags=["exercise:distributed.group_along"]
import math


def group_along(rank, lengths, side):
    """a rank, the lengths of the mesh's sides, the place of a side -> list of ranks"""
    stride = math.prod(lengths[side + 1 :])  # how far neighbours are apart
    place = rank // stride % lengths[side]  # this rank's, along the side
    # STUB:
    # return []  # yours
    # BEGIN SOLUTION
    first = rank - place * stride
    return [first + k * stride for k in range(lengths[side])]
    # END SOLUTION


group_along = check("distributed.group_along", group_along)

# %% [markdown]
# ## Check
#
# Our `Sharded` trains the small GPT so, with hooks in place of your loop; PyTorch's `fully_shard`, or **FSDP2** (fully sharded data parallel), does what ZeRO-3 does.
# Do four ranks train as one process does?

# %%
from labkit_lessons.distributed.hybrid_and_sharded import fsdp2
from labkit_lessons.distributed.hybrid_and_sharded.trained import mean_losses, train_stages

plan, book = Plan(steps=2), emma().train
alone = GPT()
losses = train_alone(alone, book, plan)

by_hand = launch(train_stages, 4, GPT, book, plan, timeout=300)
by_torch = launch(fsdp2.train, 4, GPT(), book, plan, (4,), timeout=300)  # a mesh of one side
trainings = {"data parallel": [by_stage[0] for by_stage in by_hand]}  # by_hand[rank][stage]
for stage in (1, 2, 3):
    trainings[f"ZeRO-{stage}"] = [by_stage[stage] for by_stage in by_hand]
trainings["FSDP2"] = by_torch
rows = []
for name, by_rank in trainings.items():
    off = np.subtract(mean_losses([run.losses for run in by_rank]), losses)
    apart = max(largest_difference(run.weights, weights(alone)) for run in by_rank)
    rows.append([name, bool(abs(off).max() < 1e-5), apart < 1e-5])
figures.table(["four ranks", "losses within 0.00001", "weights within 0.00001"], rows)

# %% [markdown]
# Now two meshes of 2 x 2, with lesson 9's layers and lesson 10's pipeline; one colour is one copy.

# %% tags=["picture"]
from labkit_lessons.distributed.hybrid_and_sharded import pretended, two_dimensions
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
from labkit_lessons.distributed.hybrid_and_sharded.pictures import memory_picture, mesh_picture

mesh_picture(Mesh({"data": 2, "tensor": 2}))
with pretended.pretended(4):  # as if there were four ranks
    print("PyTorch's:", init_device_mesh("cpu", (2, 2)).mesh.tolist())
print("yours:", [group_along(rank, [2, 2], 1) for rank in (0, 2)])
tensor = launch(two_dimensions.data_and_tensor, 4, GPT(), book, plan, (2, 2), timeout=300)
pipeline = launch(two_dimensions.data_and_pipeline, 4, GPT(), book, plan, (2, 2), timeout=300)
joined = {  # the ranks' weights, put together to one model
    "data x tensor": two_dimensions.joined_tensor(tensor, (2, 2), alone.config),
    "data x pipeline": two_dimensions.joined_pipeline(pipeline, (2, 2)),
}
for name, whole in joined.items():
    print(f"{name}: within 0.00001:", largest_difference(whole, weights(alone)) < 1e-5)

# %% [markdown]
# ## Measure
#
# We count a rank's messages of the last step (of FSDP2 its calls, each as a ring), and its live tensors after backward and at the peak.

# %% tags=["picture"]
from labkit.distributed.sharded.memory import bytes_of_state

size = 4 * 830_208  # bytes of all weights
runs = {name: by_rank[0] for name, by_rank in trainings.items() if name != "FSDP2"}
sent = {name: counted(run.sent, "B", "recorded messages") for name, run in runs.items()}
torch_sent = sum(call.sent for call in by_torch[0].calls)
sent["FSDP2"] = counted(torch_sent, "B", "recorded calls, as rings")
rows = []
factors = [2, 2, 2, 3, 3]  # of (n - 1) / n S
for name, factor in zip(sent, factors, strict=True):
    rows.append([name, sent[name], predicted(factor * 3 / 4 * size, "B", "the formula")])
figures.table(["four ranks", "a rank sends", "by the formula"], rows)
memory_picture(runs, {name: bytes_of_state(830_208, 4, stage) for stage, name in enumerate(runs)})

# %% [markdown]
# The state is the formula's, to within the 276 bytes in which AdamW counts the steps of its 69 parameter tensors.
# <!-- holds: all(abs(sum(run.held.values()) - run.held["activations"] - bytes_of_state(830_208, 4, stage).total) <= 276 for stage, run in enumerate(runs.values())) -->
# The peak comes early in backward: hardly any gradient is there, so ZeRO-2 gains little.
# <!-- holds: max(run.at_peak["gradients"] for run in runs.values()) < 0.05 * size and 0.95 * runs["ZeRO-1"].peak < runs["ZeRO-2"].peak <= runs["ZeRO-1"].peak -->
#
# These steps have one micro-batch; with m, data parallel still all-reduces once.
# For each micro-batch, ZeRO-3 gathers twice and reduce-scatters once: with m = 4, $12 \frac{n-1}{n} S$.
# (FSDP2's `reshard_after_forward=False` gathers once, but then a rank holds all weights between forward and backward.)
# <!-- holds: abs(runs["ZeRO-3"].sent / (3 / 4 * size) - 12 / 4) < 0.001 -->
#
# ### 1,024 ranks
#
# PyTorch's `fake` backend sends nothing, so one process can count what rank 0 of 1,024 calls, with 8 heads and one sequence.

# %%
from labkit.distributed.gpt.model import Config

tokens = torch.zeros(1, 64, dtype=torch.int64)
eight = Config(heads=8)
with pretended.pretended(1024):
    calls = {
        "data parallel": pretended.data_parallel(GPT(eight), tokens),
        "data x tensor, 128 x 8": pretended.data_and_tensor(GPT(eight), tokens, 128, 8),
        "FSDP2": pretended.sharded(GPT(eight), tokens, 1024),
        "copies x shards, 128 x 8": pretended.sharded(GPT(eight), tokens, 128, 8),
    }
kinds = ["all_reduce", "all_gather", "reduce_scatter"]
rows = []
for name, run in calls.items():
    numbers = [run.total[kind].calls if kind in run.total else 0 for kind in kinds]
    times = counted(run.sent / size, "times S", "recorded calls, as rings")
    rows.append([name, *numbers, times])
figures.table(["1,024 ranks", *kinds, "a rank sends"], rows, note="Calls are counted, too.")

# %% [markdown]
# ## Explain
#
# And your guesses?

# %% tags=["picture"]
left = 100 * runs["ZeRO-3"].peak / runs["data parallel"].peak
results = {
    "peak": counted(left, "%", "live tensors"),
    "1,024 ranks": counted(calls["FSDP2"].sent / size, "times", "recorded calls, as rings"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# Weights and moments fell from 10.0 to 3.3 MB, 0.8 of them one whole block; 6 MB of activations stayed.
# <!-- holds: [round((runs[way].at_peak["parameters"] + runs[way].at_peak["optimizer state"]) / 1e6, 1) for way in ("data parallel", "ZeRO-3")] == [10.0, 3.3] -->
# <!-- holds: round((runs["ZeRO-3"].at_peak["parameters"] + runs["ZeRO-3"].at_peak["optimizer state"] - 12 / 16 * size) / 1e6, 1) == 0.8 and [round(runs[way].at_peak["activations"] / 1e6) for way in ("data parallel", "ZeRO-3")] == [6, 6] -->
#
# FSDP2 cuts each weight along its first dimension, into whole rows.
# A weight of 128 rows is **padded** to 1,024, and the padding travels; a block of width 8,192 needs none: 3 times would do.
# <!-- holds: calls["FSDP2"].sent / size > 2 * 3 -->
# With copies x shards, or **HSDP** (hybrid), 8 ranks cut a copy: nothing is padded, but a rank keeps 1/8 of the state.
# <!-- holds: abs(calls["copies x shards, 128 x 8"].sent / size - (3 * 7 / 8 + 2 * 127 / 128 / 8)) < 0.001 -->
# In data x tensor, a rank averages a sixth of the gradients; 16 all-reduces carry activations.
# <!-- holds: round(size / min(call.bytes for call in calls["data x tensor, 128 x 8"].calls if call.ranks == 128)) == 6 -->
# <!-- holds: [call.ranks for call in calls["data x tensor, 128 x 8"].calls].count(8) == 16 -->
#
# ## On trial
#
# ### <a id="C12"></a>C12 on trial
#
# > Hybrid parallelism is `DataParallel` wrapped in `DistributedDataParallel`
#
# We run it alone, and in two ranks.


# %%
def as_printed(rank=0, ranks=1):
    model = DistributedDataParallel(DataParallel(nn.Linear(64, 64)))
    model(torch.ones(2, 64)).sum().backward()
    return sum(weight.numel() for weight in model.parameters())


try:
    as_printed()
except ValueError as error:
    print(f"{type(error).__name__}: {error}")
all_weights = launch(as_printed, 2)
print("counted in two ranks:", all_weights, "of", 64 * 64 + 64, "weights")
parts = []
for _, part in tensor:  # of each rank: its losses and its weights
    parts.append(sum(weight.numel() for weight in part.values()))
print("counted on our mesh of 2 x 2:", parts, "of", size // 4, "weights")

# %% [markdown]
# **Verdict on C12: wrong.**
# Without a process group it does not run; with one, each rank has all weights, on our mesh about half.
# <!-- holds: all_weights == [64 * 64 + 64] * 2 and all(abs(part / (size / 4) - 1 / 2) < 0.03 for part in parts) -->
# (On GPUs, which were not tried, `DataParallel` copies the model to each: data parallelism twice.)
#
# ### <a id="C21"></a>C21 on trial
#
# > Wrap a model in FSDP, wrap that in `DataParallel`, split batches with `torch.utils.data.DataSpliter`
#
# Its set-up asks for Python 3.8 and `torchdynamo`.

# %%
from importlib import metadata, util

from torch.distributed.fsdp import FullyShardedDataParallel


def nested(rank, ranks):
    cut = FullyShardedDataParallel(nn.Linear(64, 64), device_id=torch.device("cpu"))
    DataParallel(cut)(torch.ones(2, 64)).sum().backward()
    return sum(weight.numel() for weight in cut.parameters())


cut_weights = launch(nested, 2)
print("counted in two ranks of FSDP:", cut_weights, "of 4160 weights")
try:
    torch.utils.data.DataSpliter
except AttributeError as error:
    print(error)
for name in ("torchdynamo", "torch._dynamo"):
    print(name, "can be imported:", util.find_spec(name) is not None)
print("PyTorch needs Python", metadata.metadata("torch")["Requires-Python"])

# %% [markdown]
# **Verdict on C21: wrong.**
# There is no such class, but a `DistributedSampler`.
# <!-- holds: [hasattr(torch.utils.data, name) for name in ("DataSpliter", "DistributedSampler")] == [False, True] -->
# Python 3.8 is too old for this PyTorch, and `torchdynamo` is part of PyTorch, as `torch._dynamo`.
# <!-- holds: [util.find_spec(name) is None for name in ("torchdynamo", "torch._dynamo")] == [True, False] and int(metadata.metadata("torch")["Requires-Python"].removeprefix(">=3.")) > 8 -->
# FSDP cuts the weights; here, on CPUs, `DataParallel` only hands the call on.
# <!-- holds: cut_weights == [4160 / 2] * 2 -->
#
# ## Recap
#
# **The rule to keep: AdamW takes 16 bytes a weight (18 where mixed precision sums gradients in float32); n ranks of ZeRO-3 hold an nth each, for 1.5 times data parallel's bytes with one micro-batch, where weights and gradients travel in equally many bytes and nothing is padded; the gathered layer and the activations come on top, uncut.**
# <!-- holds: [bytes_of_state(830_208, n, 3).total for n in (1, 4)] == [16 * 830_208, 16 / 4 * 830_208] -->
# <!-- holds: round(runs["ZeRO-3"].sent / runs["data parallel"].sent, 3) == 1.5 and runs["ZeRO-3"].at_peak["activations"] > 0.95 * runs["data parallel"].at_peak["activations"] -->
#
# ### Outside
#
# PyTorch has `fully_shard(module, mesh=mesh, mp_policy=MixedPrecisionPolicy(...))`, DeepSpeed `stage` 3 under `zero_optimization`.
# To recompute a block in PyTorch, call `torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)`.
# We left out gathering ahead of time, and clipping.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_second_gather", None)
# quiz("distributed.quiz_where_to_lay", None)
# BEGIN SOLUTION
quiz("distributed.quiz_second_gather", "c")
quiz("distributed.quiz_where_to_lay", "a")
# END SOLUTION
