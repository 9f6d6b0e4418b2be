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
#     number: 2
#     minutes: 58
#     needs: []
#     able: write a ring all-reduce in two halves, and refuse one with the right sum at the wrong cost; predict its time from latency and bandwidth; say when a tree is faster
#     runs_on: the same
# ---

# %% [markdown]
# # The ring
#
# **Every helper makes it slower.**
# In lesson 1, each rank sent its gradient, of $S$ bytes, to rank 0, and the sum came back.
# So with $n$ ranks, rank 0's link carries $2(n-1)S$.
# Our ConvNet's gradient has 2.18 MB, and a network of 1 Gbit/s moves about 100 MB in a second.
# With 1,024 ranks, every training step would wait $2{,}046 \times 2.18 / 100 = 45$ seconds for rank 0.
# Can we sum without a rank for which all others wait?
#
# ## What you will be able to do
#
# - sum tensors around a ring;
# - predict how long that takes on a given network;
# - say when a tree is faster.
#
# You need [lesson 1](1_processes_and_collectives.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# An all-reduce leaves the sum of all ranks' tensors in every rank.
# Each rank has 100 MB, and the best method shares the work evenly.
# With 2 ranks, each has to send 100 MB; how many MB has each of 1,024 ranks to send?
#
# For the other two guesses, each message keeps its sender and its receiver busy for 1 ms, and then for as long as its bytes take at 100 MB/s.
# A rank may send one message and receive another at the same time.
# With 1,024 ranks, how many times as fast as the all-reduce through rank 0 is the ring that you will write, for 64 KiB and 16 MiB?

# %%
import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import CostModel, exchange
from labkit.distributed.pictures import routes_picture, timeline_picture
from labkit.provenance import counted, measured, predicted
from labkit_lessons.distributed.the_ring.chunk_picture import ring_by_hand
from labkit_lessons.distributed.the_ring.cost_picture import costs_by_size
from labkit_lessons.distributed.the_ring.runs import counted_run, measure_ways

# STUB:
# guesses = {
#     "MB of each": predict("distributed.ring_bytes", None, "MB"),
#     "64 KiB": predict("distributed.ring_small", None, "times"),
#     "16 MiB": predict("distributed.ring_large", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "MB of each": predict("distributed.ring_bytes", 1_000, "MB"),
    "64 KiB": predict("distributed.ring_small", 2, "times"),
    "16 MiB": predict("distributed.ring_large", 500, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Three ranks by hand
#
# In a **ring**, each rank sends only to the next one, and the last rank to rank 0.
# Each rank cuts its tensor into as many **chunks** as there are ranks.
# Let three ranks have three numbers each, so that a chunk is one number:
#
# ```
# rank 0      1     2     3
# rank 1     10    20    30
# rank 2    100   200   300
# ```
#
# In step 1, rank 0 sends chunk 2, rank 1 chunk 0 and rank 2 chunk 1, all at the same time.
# Each adds what arrives to its own chunk of that number: rank 1 now has $3 + 30 = 33$ as chunk 2.
# In step 2, each rank passes on the sum that it has just made.
# Then rank r has the finished sum of chunk r.
# This half is called **reduce-scatter**.
#
# In the second half, **all-gather**, the finished chunks (blue) go around, and nothing is added.
# An arrow shows a chunk that leaves.

# %% tags=["picture"]
ring_by_hand(np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]]))

# %% [markdown]
# ### The first half
#
# In step 1, rank $r$ sends chunk $r-1$, and chunk $r-2$ arrives.
# Rank 0 begins with chunk `(0 - 1) % 3`, which is 2.
#
# `x.tensor_split(3)` cuts seven numbers into 3, 2 and 2.
# The chunks are views, and writing into one would change `x`, so the function clones it first.
#
# **Exercise `distributed.reduce_scatter`**: in each of $n-1$ steps, all ranks send one chunk to the next rank, and add what arrives.
# At the end, `chunks[rank]` is the sum over all ranks.
# Use only `exchange(outgoing, to, incoming, source)`, which sends and receives at once, and fills `incoming` (`torch.empty_like(chunk)` makes room).


# %% tags=["exercise:distributed.reduce_scatter"]
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
# In the picture's lower row, rank 0 first sends 111, its own chunk, and receives chunk 2.
# Then it passes on chunk 2.
#
# **Exercise `distributed.all_gather`**: hand the chunks around in $n-1$ steps, with `exchange`, and only to the next rank.
# `chunks` are views of `whole`: what arrives in a chunk stands in `whole`.


# %% tags=["exercise:distributed.all_gather"]
def all_gather(rank, ranks, chunk, length):
    """chunk `rank` of a tensor of so many numbers -> the whole tensor [length], in every rank"""
    whole = torch.zeros(length, dtype=chunk.dtype, device=chunk.device)
    chunks = whole.tensor_split(ranks)
    chunks[rank][:] = chunk
    for step in range(1, ranks):
        # STUB:
        # pass  # rank 0 begins with chunk 0
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
# PyTorch's tutorial [Writing Distributed Applications](https://docs.pytorch.org/tutorials/intermediate/dist_tuto.html) shows a shorter ring, which passes on whole tensors.
# Here is its idea with our `exchange`; `counted_run` runs it in real ranks, and counts their bytes.


# %%
def whole_tensors(rank, ranks, x):
    """x of each rank -> the sum over all ranks"""
    total, leaving = x.clone(), x
    for _ in range(1, ranks):
        arriving = torch.empty_like(x)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total += arriving
        leaving = arriving
    return total


by_hand = torch.tensor([[1, 2, 3], [10, 20, 30], [100, 200, 300]], dtype=torch.float32)
run = counted_run(whole_tensors, by_hand)
for rank in range(3):
    print(f"rank {rank} has {run.results[rank].tolist()} and sent {run.sent[rank]} bytes")

# %% [markdown]
# The sum is right, but the cost is not: each rank sent 2 whole tensors, 24 bytes, instead of 4 chunks of 4 bytes.
# <!-- holds: all(result.tolist() == by_hand.sum(0).tolist() for result in run.results) -->
# <!-- holds: list(run.sent) == [2 * by_hand[0].nbytes] * 3 == [24] * 3 and 4 * by_hand[0, 0].nbytes < min(run.sent) -->
# With 1,024 ranks, each would send $1{,}023\,S$.
# <!-- holds: [len([m for m in record if m.sent and m.bytes == by_hand[0].nbytes]) for record in run.records] == [3 - 1] * 3 -->
#
# **Exercise `distributed.ring_all_reduce`**: sum tensors of any shape in $2(n-1)$ steps around the ring, with `exchange`.
# Together the ranks send exactly $2(n-1)S$ bytes, each only to the next one, and each the same number, up to a few elements.
# Your two halves may help; they take flat tensors.


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
# ### <a id="C14"></a>C14 on trial
#
# > Gradients are collected on a master GPU which updates the parameters
#
# We sum whole numbers, whose sums are exact, as many as our ConvNet's gradient has, over four ranks in three ways.
# The master is rank 0; new parameters, sent back in place of the sum, would have as many bytes.
# The tree adds up along lesson 1's broadcast backwards, and then broadcasts.
# A rank **carries** what it sends and receives.

# %% tags=["picture"]
from labkit.distributed.collectives import gather_all_reduce, tree_all_reduce

ways = {
    "rank 0": lambda rank, ranks, x: gather_all_reduce(x),
    "tree": lambda rank, ranks, x: tree_all_reduce(x),
    "ring": ring_all_reduce,
}
gradients = torch.randint(-50, 50, (4, 545_098)).float()
rows, runs = [], {}
for name, function in ways.items():
    run = runs[name] = counted_run(function, gradients)
    right = all(torch.equal(result, gradients.sum(0)) for result in run.results)
    most = counted(max(run.carried), "B", "labkit, on four processes")
    together = counted(sum(run.sent), "B", "labkit, on four processes")
    rows.append([name, right, most, together])
figures.table(["way", "sum is right", "busiest rank carries", "all ranks send"], rows)
routes_picture(runs["ring"].messages, ranks=4)

# %% [markdown]
# **Verdict on C14: holds if the master's link can carry it.**
# The sum is right, but that link carries $2(n-1)S$: with four workers twice what a rank of the ring carries, with 1,024 workers $2{,}046\,S$, where a rank of the ring carries less than $4S$.
# <!-- holds: [row[1] for row in rows] == [True] * 3 and max(runs["rank 0"].carried) == 2 * 3 * gradients[0].nbytes -->
# <!-- holds: round(max(runs["rank 0"].carried) / max(runs["ring"].carried), 3) == 2 and max(runs["ring"].carried) < 4 * gradients[0].nbytes -->
#
# ## Measure
#
# ### What a message costs
#
# The **alpha-beta model** says that a message of $m$ bytes takes $\alpha + m/\beta$ seconds.
# The latency $\alpha$ is the time of an empty message, and the bandwidth $\beta$ is the bytes per second.
# We take four ranks, and chunks of 2 MB:
#
# ```
# α = 1 ms, β = 100 MB/s, n = 4, S = 8 MB
#
# a whole tensor   1 ms + 8 MB / 100 MB/s = 81 ms
# a chunk          1 ms + 2 MB / 100 MB/s = 21 ms
#
# rank 0           2 x 3 = 6 tensors,         6 x 81 = 486 ms
#                  one after the other
# tree             2 x log2(4) = 4 tensors    4 x 81 = 324 ms
# ring             2 x 3 = 6 chunks           6 x 21 = 126 ms
# ```
#
# Our network is emulated: the bytes really travel between processes, and each receiver sleeps until they could have arrived.

# %% tags=["timing", "picture", "nbval-ignore-output"]
model = CostModel(latency=1e-3, bandwidth=100e6)
names = {"rank 0": "gather_all_reduce", "tree": "tree_all_reduce", "ring": "ring_all_reduce"}
runs = measure_ways(ways, ranks=4, bytes=8_000_000, repeats=5, link=model)
rows = []
for name, run in runs.items():
    expected = predicted(model.predict(names[name], 4, 8e6), "s", "the alpha-beta model")
    rows.append([name, expected, measured(run.seconds, "s", "an emulated link")])
figures.table(["way", "by the formula", "the fastest of five runs"], rows)
for name in ("rank 0", "ring"):
    timeline_picture(runs[name].records, f"{name}, emulated in process")
print("the ring:", measured(runs["ring"].seconds, "s", "an emulated link"))

# %% [markdown]
# A blue bar ends when the message has left; an orange one is a receive, with its waiting.
# Through rank 0 the messages queue up; in the ring, all four ranks send at the same time.
# The formula leaves out waking the processes, adding, and the copying between the ring's halves.
#
# ## Explain
#
# Your second and third guess were about 1,024 ranks.
# So many do not fit onto this machine, but the formulas answer: rank 0 takes 2 x 1,023 messages of S bytes, and the ring as many of S / 1,024.


# %% tags=["picture"]
def ratio(size):
    through_0, ring = (model.predict(names[way], 1024, size) for way in ("rank 0", "ring"))
    return predicted(through_0 / ring, "times", "the alpha-beta model")


of_each = predicted(2 * 1023 / 1024 * 100, "MB", "2 (n - 1) chunks of S / n")
results = {"MB of each": of_each, "64 KiB": ratio(64 << 10), "16 MiB": ratio(16 << 20)}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# In a ring, each rank sends $2(n-1)/n \cdot S$: 100, 150 and 199.8 MB with 2, 4 and 1,024 ranks.
# <!-- holds: round(of_each.value, 1) == 199.8 -->
# **However many ranks there are, it is less than $2S$.**
# <!-- holds: of_each.value < 2 * 100 and max(runs["ring"].sent) < 2 * 8_000_000 -->
#
# Both ways send equally many messages in turn, and each waits for its latency.
# <!-- holds: [round(model.predict(way, 1024, 0) / model.latency) for way in (names["rank 0"], names["ring"])] == [2 * 1023] * 2 -->
# (As said in Predict, a message keeps its ranks busy all the time, for its latency, too.
# Where the latencies of several messages pass together, as on lesson 16's links, rank 0 would take 1.34 s for 64 KiB, and the ring 2.05, *predicted*.)
# <!-- holds: round(2 * (model.latency + 1023 * (64 << 10) / model.bandwidth), 2) == 1.34 -->
# <!-- holds: round(model.predict(names["ring"], 1024, 64 << 10), 2) == 2.05 -->
# For 64 KiB, a message of rank 0 takes 1 ms and 0.66 ms for its bytes, and a chunk saves only these 0.66 ms: the ring is 1.65 times as fast.
# <!-- holds: round((64 << 10) / model.bandwidth * 1e3, 2) == 0.66 and round(results["64 KiB"].value, 2) == 1.65 -->
# For 16 MiB, the bytes take 168 ms, so chunks save nearly all of the time: the ring is 145 times as fast.
# <!-- holds: round((16 << 20) / model.bandwidth * 1e3) == 168 and round(results["16 MiB"].value) == 145 -->
#
# On one computer without the emulated link, messages are copies in one memory, and which way ends first may come out either way.
#
# ### When the tree is faster
#
# With four ranks, an almost empty tensor takes $6\alpha$ in the ring, and $4\alpha$ in the tree, which sends whole tensors.
# <!-- holds: [round(model.predict(names[way], 4, 0) / model.latency) for way in ("ring", "tree")] == [6, 4] -->
# At some size, both take the same time:
#
# ```
# tree                  ring
# 4 (α + S / β)     =   6 (α + S / (4 β))
# 4 S/β - 1.5 S/β   =   6 α - 4 α
# S                 =   2 / 2.5 x α β  =  0.8 x 100 kB  =  80 kB
#
# for n ranks:   2 log2(n) in place of 4
#                2 (n - 1) in place of 6
#                2 (n - 1) / n in place of 1.5
# ```

# %% tags=["picture"]
for n in (4, 64, 1024):
    tree, ring = 2 * np.log2(n), 2 * (n - 1)
    same = (ring - tree) / (tree - ring / n) * model.latency * model.bandwidth
    print(f"{n:5} ranks: below", predicted(same, "B", "the alpha-beta model"), "the tree is faster")
costs_by_size(model, names, ranks=(4, 1024), mark=2.18e6)

# %% [markdown]
# With 1,024 ranks, even our whole gradient (the vertical line) is too small for the ring.
# <!-- holds: n == 1024 and same > 4 * 545_098 -->
# For the 1,024 ranks of the beginning, the ring takes 2.09 s, and the tree 0.456 s (predicted).
# <!-- holds: round(model.predict(names["ring"], 1024, 2.18e6), 2) == 2.09 and round(model.predict(names["tree"], 1024, 2.18e6), 3) == 0.456 -->
#
# ## On trial
#
# C14 was tried above.
# Two more claims, about the time of whole steps, are tried in [lesson 16](16_a_cost_model.ipynb).
#
# ## Recap
#
# - **The rule to keep: in a ring, each rank sends $2(n-1)/n \cdot S$, less than $2S$, but waits $2(n-1)$ times for the latency.**
# <!-- holds: [len([m for m in record if m.sent]) for record in runs["ring"].records] == [2 * (4 - 1)] * 4 -->
# <!-- holds: max(runs["ring"].sent) == 2 * 3 / 4 * 8_000_000 and round(model.predict("ring_all_reduce", 4, 0) / model.latency) == 2 * (4 - 1) -->
#
# ### Outside
#
# *Halving-doubling* (`collectives.halving_all_reduce`), where partners swap halves, then quarters, sends a ring's bytes in $2 \log_2 n$ messages: 0.064 s for 1,024 ranks (predicted).
# <!-- holds: round(model.predict("halving_all_reduce", 1024, 2.18e6), 3) == 0.064 -->
# On GPUs, NCCL chooses between rings and trees by itself; `NCCL_ALGO=Ring` forces one.
# Its trees work on pieces of the tensor, so our crossover does not hold for them.
# Clusters are measured with nccl-tests:
#
# ```
# all_reduce_perf -b 8 -e 128M -f 2 -g 4
# ```
#
# It prints *algbw*, $S/t$, and *busbw*, $S/t \times 2(n-1)/n$, the rate at which each rank of a ring would send.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_bytes", None)
# quiz("distributed.quiz_small", None)
# quiz("distributed.quiz_slow_link", None)
# BEGIN SOLUTION
quiz("distributed.quiz_bytes", "c")
quiz("distributed.quiz_small", "b")
quiz("distributed.quiz_slow_link", "d")
# END SOLUTION
