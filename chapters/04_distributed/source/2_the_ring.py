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
#     title: The ring
#     minutes: 55
#     needs: [torch, cloudpickle]
# ---

# %% [markdown]
# # The ring
#
# **Each helper makes it slower.**
# In lesson 1, every rank sent its gradient of S bytes to rank 0, which added them up and sent the sum back.
# With 4 ranks, rank 0's cable carries 2 x 3 = 6 S; with 1,024 ranks, 2 x 1,023 = 2,046 S.
# The gradient of our ConvNet has 2.18 MB, and a network of 1 Gbit/s moves about 100 MB in a second.
# So with 1,024 machines, every training step would wait 2,046 x 2.18 / 100 = 45 seconds for rank 0.
# Can the same sum be had without a rank for which all others wait?
#
# ## What you will be able to do
#
# - sum tensors over all ranks around a ring, in which no rank carries more than another;
# - predict how long that takes on a given network;
# - say when a tree is faster than the ring.
#
# You need [lesson 1](1_processes_and_collectives.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# An all-reduce leaves the sum of all ranks' tensors in every rank.
# Let each rank have a tensor of S = 100 MB, and let the best method share the work evenly.
# With 2 ranks, each one has to send 100 MB.
# How many MB does each of 1,024 ranks have to send?
#
# The next two guesses are about real processes on this machine, where no cable slows them down.
# Four ranks run the ring that you will write, and the all-reduce through rank 0.
# How many times as fast as rank 0's is the ring, for 64 KiB and for 16 MiB?
# (Write 0.5 if you expect the ring to take twice as long.)

# %%
from statistics import median
from time import perf_counter, sleep

import numpy as np
import torch

from labkit import check, figures, predict, quiz
from labkit.distributed import launch, pictures
from labkit.provenance import counted, measured, predicted

# STUB:
# guesses = {
#     "MB of each": predict("distributed.ring_bytes", None, "MB"),
#     "64 KiB": predict("distributed.ring_small", None, "times"),
#     "16 MiB": predict("distributed.ring_large", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "MB of each": predict("distributed.ring_bytes", 100_000, "MB"),
    "64 KiB": predict("distributed.ring_small", 2, "times"),
    "16 MiB": predict("distributed.ring_large", 3, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Three ranks by hand
#
# The ranks sit in a **ring**: each one sends only to the next rank, and the last one sends to rank 0.
# Each rank cuts its tensor into as many **chunks** as there are ranks.
# Let three ranks have three numbers each, so that a chunk is a single number:
#
# ```
# rank 0      1     2     3
# rank 1     10    20    30
# rank 2    100   200   300
# ```
#
# In step 1, rank 0 sends chunk 2, rank 1 sends chunk 0 and rank 2 sends chunk 1, all at the same time.
# Each rank adds what arrives to its own chunk of that number: rank 1 now has 3 + 30 = 33 as chunk 2.
# In step 2, each rank passes on the sum that it has just made.
# Then every rank has one finished chunk, and rank r has chunk r.
# This first half is called **reduce-scatter**.
#
# In the second half, **all-gather**, the finished chunks go around once more, and nothing is added.
# Watch them: an arrow shows a chunk that leaves (grey), and blue ones are finished.

# %% tags=["picture"]
pictures.ring_by_hand(np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]]))

# %% [markdown]
# ### The first half
#
# A chunk's number counts around the ring: rank 0 sends chunk 2 in step 1, because (0 - 1) % 3 is 2 in Python.
# So in step 1, rank r sends chunk r - 1, and chunk r - 2 arrives.
#
# If n does not divide the length, `x.tensor_split(n)` makes the first chunks longer by one: seven numbers become 3, 2 and 2.
# The chunks are views, so writing into one would change `x`; that is why the function clones `x` first.
#
# **Exercise `distributed.reduce_scatter`**: in n - 1 steps, send one chunk to the next rank, and add what arrives from the rank before.
# At the end, `chunks[rank]` holds the sum over all ranks.
# Use only `exchange(outgoing, to, incoming, source)`, which fills `incoming`.


# %% tags=["exercise:distributed.reduce_scatter"]
from labkit.distributed import exchange


def reduce_scatter(rank, ranks, x):
    """x [N] of each rank -> chunk `rank` of the sum over all ranks"""
    chunks = list(x.clone().tensor_split(ranks))
    for step in range(1, ranks):
        # STUB:
        # pass  # which chunk leaves, and which arrives?
        # BEGIN SOLUTION
        leaving = chunks[(rank - step) % ranks]
        mine = chunks[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        mine += arriving
        # END SOLUTION
    return chunks[rank]


reduce_scatter = check("distributed.reduce_scatter", reduce_scatter)

# %% [markdown]
# ### The second half
#
# Now rank r has chunk r.
# In the picture's step 3, rank 0 sends 111, which is chunk 0, and receives chunk 2 from rank 2.
# In step 4 it passes on chunk 2, which has just arrived.
#
# **Exercise `distributed.all_gather`**: hand the chunks around in n - 1 steps, again with `exchange` and only to the next rank.
# `chunks` are views of `whole`, so what arrives in a chunk stands in `whole`.


# %% tags=["exercise:distributed.all_gather"]
def all_gather(rank, ranks, chunk, length):
    """chunk `rank` of a tensor of so many numbers -> the whole tensor [length], in every rank"""
    whole = torch.zeros(length, dtype=chunk.dtype)
    chunks = whole.tensor_split(ranks)
    chunks[rank][:] = chunk
    for step in range(1, ranks):
        # STUB:
        # pass  # as before, but what arrives is finished
        # BEGIN SOLUTION
        leaving = chunks[(rank - step + 1) % ranks]
        arriving = chunks[(rank - step) % ranks]
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        # END SOLUTION
    return whole


all_gather = check("distributed.all_gather", all_gather)

# %% [markdown]
# ### A ring with the right sum
#
# There is a shorter ring, without chunks: each rank passes on whole tensors, and adds up all that arrive.
# PyTorch's tutorial *Writing Distributed Applications* shows it as "our own ring-allreduce".
# (Until 2020 it also added the wrong tensor, [issue 31572](https://github.com/pytorch/pytorch/issues/31572); its text leaves the chunks to the reader.)
# Here is its loop with our `exchange`, on three ranks with 12 bytes each.
# `counted_run` runs a function in real ranks, and counts the bytes that each one sends.


# %%
from labkit.distributed.ledger import counted_run


def whole_tensors(rank, ranks, x):
    """x of each rank -> the sum over all ranks"""
    total, leaving = x.clone(), x
    for step in range(1, ranks):
        arriving = torch.empty_like(x)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total += arriving
        leaving = arriving
    return total


by_hand = torch.tensor([[1, 2, 3], [10, 20, 30], [100, 200, 300]], dtype=torch.float32)
results, traffic = counted_run(whole_tensors, 3, list(by_hand))
print(results, traffic.sent)

# %% [markdown]
# The sum is right, but the cost is not.
# Each rank sent its neighbour n - 1 = 2 whole tensors, 24 bytes, and with 1,024 ranks it would send 1,023 S.
# That total is worse than rank 0's: all ranks together send n (n - 1) S instead of 2 (n - 1) S.
#
# With chunks, a rank sends 2 (n - 1) chunks of S / n bytes, in our example 4 chunks of 4 bytes.
# **Exercise `distributed.ring_all_reduce`**: sum tensors of any shape in 2 (n - 1) steps around the ring.
# Altogether the ranks send exactly 2 (n - 1) S bytes, each one only to the next, and each within a few numbers of its share.
# Your two halves may help: they take flat tensors.


# %% tags=["exercise:distributed.ring_all_reduce"]
def ring_all_reduce(rank, ranks, x):
    """x of any shape, in each rank -> the sum over all ranks, in every rank"""
    # STUB:
    # total = x.clone()
    # BEGIN SOLUTION
    chunk = reduce_scatter(rank, ranks, x.flatten())
    total = all_gather(rank, ranks, chunk, x.numel()).view(x.shape)
    # END SOLUTION
    return total


ring_all_reduce = check("distributed.ring_all_reduce", ring_all_reduce)

# %% [markdown]
# ## Check
#
# We now sum the gradient of our ConvNet, 545,098 numbers or 2.18 MB, over four real ranks in four ways.
# Two come from `labkit`: lesson 1's tree, there and back, and **halving-doubling**.
# In each step of halving-doubling, a rank and a partner split what they have in common, and each sums one half.
# So it needs only log2(n) steps for each of its two halves, and its partners sit all over the network.
# A rank **carries** what it sends and what it receives.

# %%
from labkit.distributed.collectives import gather_all_reduce, halving_all_reduce, tree_all_reduce

ways = {
    "rank 0": lambda rank, ranks, x: gather_all_reduce(x),
    "tree": lambda rank, ranks, x: tree_all_reduce(x),
    "ring": ring_all_reduce,
    "halving-doubling": lambda rank, ranks, x: halving_all_reduce(x),
}
gradients = torch.randint(-50, 50, (4, 545_098)).float()
rows = []
for name, function in ways.items():
    results, traffic = counted_run(function, 4, list(gradients))
    right = all(torch.equal(result, gradients.sum(0)) for result in results)
    most = counted(max(traffic.carried), "B", "labkit, on four processes")
    together = counted(sum(traffic.sent), "B", "labkit, on four processes")
    rows.append([name, right, most, together])
figures.table(["way", "sum is right", "busiest rank carries", "all ranks send"], rows)

# %% [markdown]
# All four ways send 2 (n - 1) S = 13.1 MB altogether, but they spread them differently.
# Rank 0 carries 6 S, the tree's root 4 S, and a rank of the ring 3 S, half of it in each direction.
#
# ## Measure
#
# ### What a message costs
#
# The **alpha-beta model** says that a message of m bytes takes α + m / β seconds.
# The latency α is the time that even an empty message takes, and the bandwidth β is the number of bytes per second.
# (Many papers write β for its inverse, the seconds per byte.)
# Let α = 1 ms, β = 100 MB/s, n = 4 and S = 8 MB; so a chunk has 2 MB:
#
# ```
# a whole tensor     1 ms + 8 MB / 100 MB/s = 81 ms
# a chunk            1 ms + 2 MB / 100 MB/s = 21 ms
#
# rank 0             6 tensors, one after the other      6 x 81 = 486 ms
# tree               2 x log2(4) = 4 tensors             4 x 81 = 324 ms
# ring               2 x 3 = 6 chunks                    6 x 21 = 126 ms
# halving-doubling   4 messages, 1.5 S in all     4 x 1 + 12/0.1 = 124 ms
# ```
#
# Here the network is emulated in process: the bytes really travel between processes, and each receiver sleeps until they could have arrived over such a cable.

# %% tags=["timing", "picture", "nbval-ignore-output"]
from labkit.distributed import CostModel
from labkit.distributed.timing import measure_ways

model = CostModel(latency=1e-3, bandwidth=100e6)
names = {
    "rank 0": "gather_all_reduce",
    "tree": "tree_all_reduce",
    "ring": "ring_all_reduce",
    "halving-doubling": "halving_all_reduce",
}
runs = measure_ways(ways, ranks=4, bytes=8_000_000, repeats=3, link=model)
rows = []
for name, run in runs.items():
    expected = predicted(model.predict(names[name], 4, 8e6), "s", "the alpha-beta model")
    rows.append([name, expected, measured(run.seconds, "s", "an emulated link")])
figures.table(["way", "by the formula", "the fastest of three runs"], rows)
for name in ("rank 0", "ring"):
    pictures.timeline(runs[name].messages, f"{name}, emulated in process")
print("the ring:", measured(runs["ring"].seconds, "s", "an emulated link"))
