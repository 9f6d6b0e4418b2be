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
#     needs: []
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
from time import sleep

import numpy as np
import torch
from labkit.distributed.pictures import routes_picture, timeline_picture

from labkit import check, figures, predict, quiz
from labkit.distributed import CostModel, exchange
from labkit.distributed.chunk_picture import ring_by_hand
from labkit.distributed.cost_picture import costs_by_size
from labkit.distributed.runs import counted_run, gloo, measure_ways
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
ring_by_hand(np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]]))

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
# ### <a id="C14"></a>C14 on trial
#
# > Gradients are collected on a master GPU which updates the parameters
#
# We sum the gradient of our ConvNet, 545,098 numbers or 2.18 MB, over four real ranks in four ways.
# The master is rank 0; if it sends back new parameters in place of the sum, these have as many bytes.
# The tree is lesson 1's, up to the sum and down again.
# In **halving-doubling**, a rank and a partner split in each step what they have in common, and each sums one half.
# That takes log2(n) steps, and as many to hand the halves back, with partners all over the network.
#
# A rank **carries** what it sends and what it receives.

# %% tags=["picture"]
from labkit.distributed.collectives import gather_all_reduce, halving_all_reduce, tree_all_reduce

ways = {
    "rank 0": lambda rank, ranks, x: gather_all_reduce(x),
    "tree": lambda rank, ranks, x: tree_all_reduce(x),
    "ring": ring_all_reduce,
    "halving-doubling": lambda rank, ranks, x: halving_all_reduce(x),
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
# **Verdict on C14: holds if the workers are few.**
# The sum is right with a master, too, but its cable carries 2 (n - 1) S: 6 S with four ranks, and 2,046 S with 1,024, where a rank of the ring carries less than 4 S.
#
# All four ways send 2 (n - 1) S = 13.1 MB altogether, and differ in how they share it.
# The tree's root carries 4 S here, and a rank of the ring 3 S, half of it in each direction.
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
    timeline_picture(runs[name].records, f"{name}, emulated in process")
print("the ring:", measured(runs["ring"].seconds, "s", "an emulated link"))

# %% [markdown]
# The bars are messages, drawn from their real beginning to their real end.
# With rank 0, three ranks wait while one sends; in the ring, all four send all the time.
# Each step starts a little late, since real processes have to be woken, and the formula leaves that out.
#
# ## Explain
#
# ### And without a cable?
#
# On your computer's loopback, a message is only a copy in memory.
# Besides our four ways, gloo takes part: the library that PyTorch uses between CPUs, behind `dist.all_reduce`.
# The fastest of nine runs counts, and the picture has your guesses.

# %% tags=["timing", "picture", "nbval-ignore-output"]
small = measure_ways(ways | {"gloo": gloo}, ranks=4, bytes=64 << 10, repeats=9)
large = measure_ways(ways | {"gloo": gloo}, ranks=4, bytes=16 << 20, repeats=9)
rows = []
for name in small:
    rows.append([name, measured(small[name].seconds, "s"), measured(large[name].seconds, "s")])
figures.table(["all-reduce of four ranks", "64 KiB", "16 MiB"], rows)
print("the ring, 16 MiB:", measured(large["ring"].seconds, "s"))


def ratio(runs):
    return measured(runs["rank 0"].seconds / runs["ring"].seconds, "times")


of_each = counted(2 * 1023 / 1024 * 100, "MB", "2 (n - 1) chunks of S / n")
results = {"MB of each": of_each, "64 KiB": ratio(small), "16 MiB": ratio(large)}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# A rank of the ring sends 2 (n - 1) / n S: 100 MB with 2 ranks, 150 MB with 4, and 199.8 MB with 1,024.
# **However many ranks there are, it is less than 2 S.**
#
# On loopback, the ring loses its advantage, because it has no cables that could work at the same time: all ranks share one memory and a few cores.
# And a small tensor costs latency only, of which the ring has the most: 2 (n - 1) steps, one after the other.
#
# ### When the tree is faster
#
# For a very small tensor only α counts: with 4 ranks 6 α in the ring, and 4 α in the tree.
# At some size S both take the same time:
#
# ```
# tree                  ring
# 4 (α + S / β)     =   6 (α + S / (4 β))
# 4 S/β - 1.5 S/β   =   6 α - 4 α
# S                 =   2 / 2.5 x α β  =  0.8 x 100 kB  =  80 kB
# ```
#
# Here α β = 1 ms x 100 MB/s = 100 kB is what could have travelled during one latency.
# For n ranks, 4 becomes 2 log2(n), 6 becomes 2 (n - 1), and 1.5 becomes 2 (n - 1) / n.
# The vertical line is our ConvNet's gradient.

# %% tags=["picture"]
for n in (4, 64, 1024):
    tree, ring = 2 * np.log2(n), 2 * (n - 1)
    same = (ring - tree) / (tree - ring / n) * model.latency * model.bandwidth
    print(f"{n:5} ranks: below", predicted(same, "B", "the alpha-beta model"), "the tree is faster")
costs_by_size(model, names, ranks=(4, 1024), mark=2.18e6)

# %% [markdown]
# With 1,024 ranks, even our whole gradient is too small for the ring.
# Halving-doubling is never slower than either of them in this model, because it has the tree's few steps and the ring's few bytes.
# But the model knows nothing of the cables between switches, which its far partners share; a ring's neighbours can sit side by side.
#
# ## On trial
#
# ### <a id="C17"></a>C17 on trial
#
# > T_total = n * T_op
#
# This is how long n machines take for the work of one, which takes T_op.
# We run it as printed, beside **Amdahl's law**.
# That law says that a share s of the work, such as loading, cannot be divided: T(n) = s T_op + (1 - s) T_op / n.
# With s = 0.1 and T_op = 400 ms, four machines take 0.1 x 400 + 0.9 x 400 / 4 = 130 ms.
# The last column adds the ring, for 8 MB on our emulated network.

# %%
T_op = 0.4  # seconds
serial = 0.1


def amdahl(n):
    return serial * T_op + (1 - serial) * T_op / n


rows = []
for n in (1, 2, 4, 8, 16, 32):
    T_total = n * T_op
    printed = predicted(T_total, "s", "the formula as printed")
    divided = predicted(amdahl(n), "s", "Amdahl's law")
    ring = predicted(amdahl(n) + model.predict("ring_all_reduce", n, 8e6), "s", "both laws")
    rows.append([n, printed, divided, ring])
figures.table(["machines", "n * T_op", "Amdahl", "Amdahl and the ring"], rows)

# %% [markdown]
# **Verdict on C17: wrong.**
# As printed, 32 machines take 32 times as long as one; the divisible part is divided by n, and then a sum over the ranks comes on top.
#
# Even without messages, s = 0.1 allows at most 1 / 0.1 = 10 times the speed.
# With them, 8 machines are best here, and 32 are slower than 4.
#
# ### <a id="C16"></a>C16 on trial
#
# > With n accelerators T_parallel = (L/B) * n * T_op, which is n times shorter
#
# L is the number of samples and B the size of a batch, so that L / B is the number of steps: 50,000 / 100 = 500.
# We run it as printed, then corrected, and then we try one step in real ranks.
# There the arithmetic is a sleep of the length that Amdahl's law gives, and the ring runs over the emulated network.


# %% tags=["timing", "nbval-ignore-output"]
def one_step(rank, ranks, x):
    sleep(amdahl(ranks))
    return ring_all_reduce(rank, ranks, x)


L, B = 50_000, 100
rows = []
for n in (1, 2, 4):
    T_parallel = (L / B) * n * T_op
    step = amdahl(n) + model.predict("ring_all_reduce", n, 8e6)
    run = measure_ways({"step": one_step}, ranks=n, bytes=8_000_000, repeats=2, link=model)["step"]
    printed = predicted(T_parallel, "s", "the formula as printed")
    corrected = predicted((L / B) * step, "s", "Amdahl's law and the alpha-beta model")
    one = measured(run.seconds, "s", "an emulated link")
    rows.append([n, printed, corrected, predicted(step, "s", "both"), one])
figures.table(["n", "as printed", "corrected", "a step of it", "a step, tried"], rows)
print("a step of four:", one)

# %% [markdown]
# **Verdict on C16: wrong.**
# As printed, the time grows n-fold instead of shrinking; and with n below the line it would still lack the serial part and the all-reduce of every step.
#
# ## Recap
#
# - The ring sums in 2 (n - 1) steps: reduce-scatter, then all-gather.
# - **The rule to keep: in a ring each rank sends 2 (n - 1) / n S, less than 2 S for any n; but it waits 2 (n - 1) times for the latency.**
# - A right sum says nothing about its cost: count the bytes.
#
# ### Outside
#
# On GPUs this is NCCL's work: it chooses between rings, trees and other ways by size, ranks and wiring.
# `NCCL_DEBUG=INFO` tells what it found, and `NCCL_ALGO=Ring` forces one, for experiments.
# To measure a cluster, people run nccl-tests: `all_reduce_perf -b 8 -e 128M -f 2 -g 4`.
# It prints *algbw*, which is S / t, and *busbw*, which is S / t x 2 (n - 1) / n: the rate at which each rank of a ring would send.
# For our example, these are 8 MB / 126 ms = 63 MB/s, and 1.5 x 63 = 95 MB/s, close to the cable's 100.
# We left out that libraries cut chunks into smaller pieces, and run several rings or trees at once.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_bytes", None)
# quiz("distributed.quiz_small", None)
# quiz("distributed.quiz_slow_cable", None)
# BEGIN SOLUTION
quiz("distributed.quiz_bytes", "c")
quiz("distributed.quiz_small", "b")
quiz("distributed.quiz_slow_cable", "d")
# END SOLUTION
