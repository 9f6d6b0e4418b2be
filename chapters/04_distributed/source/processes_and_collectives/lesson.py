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
#     title: Processes and collectives
#     number: 1
#     minutes: 58
#     needs: []
#     able: start real processes from a cell, and let them send each other tensors; say of a hang which process waits for which; write a broadcast and a sum for all, and count their bytes
#     runs_on: PyTorch, in real processes of any CPU
# ---

# %% [markdown]
# # Processes and collectives
#
# **2.2 MB, and no memory in common.**
# Four processes train our ConvNet together, and each computes the gradients of its own images: 545,098 numbers, or 2.2 MB.
# <!-- holds: four[0].numel() == 545_098 and round(4 * four[0].numel() / 1e6, 1) == 2.2 -->
# Before anybody may change a weight, all four need the sum of these gradients.
# But by itself, a process cannot read the memory of another.
# So how do they add anything, and what does it cost whoever collects the sum?
#
# ## What you will be able to do
#
# - start real processes from a cell, and let them send each other tensors;
# - say of a hang which process waits for which, and repair it;
# - write a broadcast and a sum for all, and count their messages and bytes.
#
# You need lesson 1 of chapter 1: what a gradient is.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# A **process** is a running program, with a memory of its own.
# `launch(f, 3, x)` starts three processes, and each of them calls `f(rank, 3, x)`.
# The **rank** is the number of the process: 0, 1 or 2; how many there are, here 3, is called `ranks`.
# At the end, `launch` returns a list of what the three calls returned.
#
# All ranks run the same function; only `rank` tells them apart.
# That is enough to share work without a message: each rank begins at the place of its own number, and takes every third element.
#
# ```
# x         10  11  12  13  14  15  16
# rank 0    10          13          16
# rank 1        11          14
# rank 2            12          15
# ```
#
# **Exercise `distributed.my_share`**: the share of a rank, in one line of Python or NumPy alone.
# Write it in place of `None`, and run the cell.
# `x[a::b]` takes every b-th element of `x`, from place a on; places are counted from 0.
# Stuck?
# Run `hint("distributed.my_share")` in a new cell.
# `check` gives back your function if it is right, else ours, so every cell below runs.


# %% tags=["exercise:distributed.my_share"]
import numpy as np

from labkit import check, hint
from labkit.distributed import launch


def my_share(rank, ranks, x):
    """x [n, ...], the same in every rank -> every ranks-th element, from place `rank` on"""
    # STUB:
    # share = None
    # BEGIN SOLUTION
    share = x[rank::ranks]
    # END SOLUTION
    return share


my_share = check("distributed.my_share", my_share)
for rank, share in enumerate(launch(my_share, 3, np.arange(10, 17))):
    print(f"rank {rank} takes {share}")

# %% [markdown]
# Three real processes have run the function that `check` gave back.
# Work can be shared without a message; results cannot be added up without one.
#
# ## Predict
#
# 1. The notebook has a variable `count`, which is 10.
#    The function adds 1 to `count`, and returns it.
#    What does rank 3 return?
# 2. Four ranks hold 2.2 MB each.
#    Three send theirs to rank 0, which adds up all four, and sends the sum to each of the three.
#    How many MB does rank 0 send and receive together?

# %%
import torch
import torch.distributed as dist

from labkit import convnet, figures, predict, quiz
from labkit.datasets import cifar10
from labkit.distributed import LaunchError, receive, recorded, send
from labkit.distributed.pictures import routes_picture
from labkit.provenance import counted
from labkit_lessons.distributed.processes_and_collectives.before_and_after import (
    before_and_after,
    every_collective,
)

# STUB:
# guesses = {
#     "rank 3's count": predict("distributed.count_of_rank_3", None, ""),
#     "through rank 0": predict("distributed.through_rank_0", None, "MB"),
# }
# BEGIN SOLUTION
guesses = {
    "rank 3's count": predict("distributed.count_of_rank_3", 14, ""),
    "through rank 0": predict("distributed.through_rank_0", 8.8, "MB"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Four processes from a cell
#
# Is the notebook's memory also that of the ranks?

# %%
count = 10


def add_one(rank, ranks):
    global count
    count += 1
    print(f"of {ranks} ranks; count is {count}")
    return count


counts = launch(add_one, 4)
print("returned:", counts)
print("count in the notebook:", count)

# %% [markdown]
# Each rank has counted from 10 to 11, and the notebook still has 10, because `launch` sends each process a copy of the function and of all that it uses.
# <!-- holds: counts == [11] * 4 and count == 10 -->
# **A rank changes its own copy, and nobody else sees it.**
#
# ### A message
#
# What passes between ranks is a **message**: `send(x, to=0)` sends a tensor to rank 0.
# There, `receive(x, source=1)` waits for the message of rank 1 and writes it into `x`, which must already have the right size.
#
# Let rank 0 hold 1, 2, 3, and rank 1 hold 10, 20, 30.
# Rank 1 sends its numbers, 3 x 4 = 12 bytes (a float32 has 4).
# Rank 0 receives them into a second tensor, and adds them to its own.


# %%
def add_two(rank, ranks):
    x = torch.tensor([1.0, 2.0, 3.0]) * 10**rank
    if rank == 1:
        send(x, to=0)
    else:
        other = torch.empty(3)
        receive(other, source=1)
        x += other
    return x


for rank, x in enumerate(launch(add_two, 2)):
    print(f"rank {rank} has {x.tolist()}")

# %% [markdown]
# ### Both send first
#
# Only rank 0 has the sum.
# Could both ranks send first, and then receive?
# `launch` ends its processes after `timeout` seconds, so let us try.


# %%
def both_send(rank, ranks):
    x = torch.tensor([1.0, 2.0, 3.0]) * 10**rank
    other = torch.empty(3)
    send(x, to=1 - rank)
    receive(other, source=1 - rank)
    return x + other


try:
    launch(both_send, 2, timeout=5)
except LaunchError as error:
    print(error)

# %% [markdown]
# Here, `send` returns when the other rank takes the message, but each rank would receive only after its own `send`.
# (With MPI or NCCL it may return before; a program that relies on it can still hang.)
# Such a circle of ranks that wait for each other is a **deadlock**.
# It disappears when one of the two receives first.
#
# Ranks often stand in a **ring**: each sends to the next one, and the last one to rank 0.
#
# ```
# rank      sends to    receives from
# 0         1           2
# 1         2           0
# 2         0           1
# ```
#
# **Exercise `distributed.pass_on`**: let each rank send its `x` to the next rank of the ring, and return what arrives from the rank before it.
# Here and below, use `send` and `receive`, and nothing of `dist`.
# The check says which ranks wait for which.


# %% tags=["exercise:distributed.pass_on"]
def pass_on(rank, ranks, x):
    """two ranks or more; x of each, all of one shape -> x of the rank before it"""
    after = (rank + 1) % ranks  # 0 comes after the last one
    before = (rank - 1) % ranks
    arrived = torch.zeros_like(x)
    # STUB:
    # pass  # yours: send(x, after) and receive(arrived, before)
    # BEGIN SOLUTION
    if rank == 0:
        receive(arrived, before)
        send(x, after)
    else:
        send(x, after)
        receive(arrived, before)
    # END SOLUTION
    return arrived


pass_on = check("distributed.pass_on", pass_on)

# %% [markdown]
# ### One to all
#
# Before training, all ranks need the same weights, those of rank 0.
# To give one rank's tensor to all is called a **broadcast**.
# Rank 0 could send one message after the other.
# But each rank that has it can help:
#
# ```
# step = 1    0 → 1
# step = 2    0 → 2    1 → 3
# step = 4    0 → 4    1 → 5    2 → 6    3 → 7
# ```
#
# In each round, every rank that has the tensor sends it to the rank `step` places further.
# So after each round twice as many have it.
# Eight ranks then need three rounds instead of seven.
# With six ranks, the messages to ranks 6 and 7 fall away.
#
# **Exercise `distributed.broadcast`**: write one round.
# `x` may not change, and there may be no more messages and no more rounds than in the table.


# %% tags=["exercise:distributed.broadcast"]
def broadcast(rank, ranks, x):
    """x of each rank, all of one shape -> rank 0's x, in every rank"""
    result = x.clone()
    step = 1
    while step < ranks:
        # STUB:
        # pass  # yours: who sends `result` to whom, and who receives?
        # BEGIN SOLUTION
        if rank < step and rank + step < ranks:
            send(result, rank + step)
        elif step <= rank < 2 * step:
            receive(result, rank - step)
        # END SOLUTION
        step = 2 * step
    return result


broadcast = check("distributed.broadcast", broadcast)

# %% [markdown]
# ### The sum, in every rank
#
# Now the gradients: to leave the sum of all ranks' tensors in every rank is called an **all-reduce**.
# The plainest one has a master, rank 0.
# Let three ranks hold 1, 2 and 10, 20 and 100, 200:
#
# ```
# 1 → 0    10, 20       rank 0 has 11, 22
# 2 → 0    100, 200     rank 0 has 111, 222
# 0 → 1    111, 222
# 0 → 2    111, 222
# ```
#
# **Exercise `distributed.gather_all_reduce`**: the other ranks' half is there; write the master's.
# Every message goes to or from rank 0, and n ranks need 2 (n - 1) of them.
# Again, `x` may not change.


# %% tags=["exercise:distributed.gather_all_reduce"]
def gather_all_reduce(rank, ranks, x):
    """x of each rank, all of one shape -> the sum over all ranks, in every rank"""
    total = x.clone()
    if rank > 0:
        send(total, 0)
        receive(total, 0)
        return total
    # STUB:
    # pass  # yours: rank 0 receives from all, adds up, and sends to all
    # BEGIN SOLUTION
    other = torch.zeros_like(x)
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    # END SOLUTION
    return total


gather_all_reduce = check("distributed.gather_all_reduce", gather_all_reduce)

# %% [markdown]
# ## Check
#
# By `my_share`, each of four ranks takes 8 of 32 photographs, and computes their mean gradient.
# The sum of the four means, divided by 4, must be what one worker computes from all 32.


# %%
def mean_gradient(rank, ranks, images, labels):
    mine = my_share(rank, ranks, images), my_share(rank, ranks, labels)
    _, gradients = convnet.forward_backward(weights, *mine)
    parts = [torch.from_numpy(gradient).flatten() for gradient in gradients.values()]
    return gather_all_reduce(rank, ranks, torch.cat(parts)) / ranks


weights = convnet.load_weights()
photos = cifar10("sample").train
batch = convnet.normalise(photos.images[:32]), photos.labels[:32]
four = launch(mean_gradient, 4, *batch)
one = launch(mean_gradient, 1, *batch)
print("numbers:", four[0].numel())
print("equal in all ranks:", all(torch.equal(gradient, four[0]) for gradient in four))
print("as one worker's, within 0.000001:", torch.allclose(four[0], one[0], rtol=0, atol=1e-6))

# %% [markdown]
# ## Measure
#
# `recorded` writes down the messages that a rank sends and receives.
# Our functions carry as many numbers as there are gradients, 2.18 MB.
# (The picture counts each message once.)


# %% tags=["picture"]
def messages_of(rank, ranks, function):
    x = torch.ones(545_098)
    with recorded() as messages:
        function(rank, ranks, x)
    return messages


def through(messages):
    megabytes = sum(message.bytes for message in messages) / 1e6
    return counted(megabytes, "MB", "`recorded`")


rows = []
tried = {"broadcast": broadcast, "gather_all_reduce": gather_all_reduce}
for name, function in tried.items():
    records = launch(messages_of, 4, function)  # for each rank, its messages
    rows.append([name, through(records[0]), through(records[3])])
figures.table(["function", "through rank 0", "through rank 3"], rows)
everything = [message for messages in records for message in messages]
routes_picture(everything, 4)

# %% [markdown]
# In `broadcast`, rank 0 sends only two of the three messages, because rank 1 helps.
# <!-- holds: round(rows[0][1].value / rows[0][2].value) == 2 -->
# In `gather_all_reduce`, whose messages the picture shows, nobody helps it.
# <!-- holds: all(len(record) == 2 for record in records[1:]) and len(records[0]) == 2 * (4 - 1) -->
#
# All messages of a rank pass through its one link to the network; let it carry 10 Gbit/s, or 1.25 GB/s.
# With 64 ranks, 63 tensors come to rank 0, and 63 leave it: 126 x 2.18 MB = 275 MB, which take 0.22 s in every step.
# <!-- holds: round(2 * 63 * rows[0][2].value) == 275 and round(2 * 63 * rows[0][2].value * 1e6 / 1.25e9, 2) == 0.22 -->
# **The master's link limits the sum, and each further rank makes it worse.**
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = {
    "rank 3's count": counted(counts[3], "", "rank 3"),
    "through rank 0": rows[1][1],
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# Rank 3 returned 11, because no rank saw what the others had added.
# <!-- holds: counts[3] == count + 1 == 11 -->
# Rank 0 received 3 x 2.18 MB and sent 3 x 2.18 MB, together 13.1 MB.
# <!-- holds: round(rows[1][1].value, 1) == 13.1 and [sum(m.bytes for m in records[0] if m.sent == sent) for sent in (True, False)] == [3 * 4 * four[0].numel()] * 2 -->
# With n ranks, and S bytes in each tensor, it is 2 (n - 1) S.
# <!-- holds: round(1e6 * rows[1][1].value) == 2 * (4 - 1) * 4 * four[0].numel() -->
#
# ### Collectives
#
# An operation that all ranks call together is called a **collective**.
# `torch.distributed`, here `dist`, has many.
# Below, three ranks with three numbers each call them.
# A colour says which rank a number began in; dark blue is a sum.
# In the calls, 0 is the rank that gives or collects.
# `broadcast`, `reduce` and `all_reduce` write into `x` itself (after `reduce`, only rank 0's is of use).
# `parts` is a list with a tensor for each rank: in `scatter` and `reduce_scatter` pieces of `x`, in the gathers what arrives.
# `dist.barrier()` moves no numbers: it returns when all ranks have called it.
#
# What if not all ranks call a collective?
# Below the picture, two functions try it: in the first, rank 1 returns without calling; in the second, it raises an error before its call.


# %% tags=["picture"]
def only_rank_0(rank, ranks):
    if rank == 0:
        dist.all_reduce(torch.ones(3))


def rank_1_fails(rank, ranks):
    if rank == 1:
        raise ValueError("no photographs here")
    dist.all_reduce(torch.ones(3))


before_and_after(launch(every_collective, 3))
for function in (only_rank_0, rank_1_fails):
    try:
        launch(function, 2, timeout=5)
    except LaunchError as error:
        print(str(error).partition("\n\n")[0], end="\n\n")  # without the traceback

# %% [markdown]
# The first function's wait ended only at the timeout.
# In the second function, `launch` ended rank 0 as soon as rank 1 had failed.
# **All ranks must call the same collectives, in the same order, with tensors of the same size.**
# (In later lessons: all ranks of a group.)
#
# ### What carries the messages
#
# `torch.distributed` leaves the carrying to a **backend**:
#
# | backend | carries tensors of | is there |
# |---|---|---|
# | NCCL | NVIDIA GPUs, directly where possible, or through the host's memory | in PyTorch for CUDA, on Linux |
# | Gloo | the CPU; for GPUs a few collectives, slowly | in every PyTorch |
# | MPI | the CPU, and GPUs if the cluster's MPI can | only in a PyTorch that was compiled with it |
#
# With a GPU for each rank, `launch` takes NCCL for tensors on the GPUs, and Gloo for all others; elsewhere it takes Gloo.
#
# For several computers, your functions and the call of `launch` go into `program.py`.
# With 4 ranks on each of 2 computers, start it on both with
#
# ```
# torchrun --nnodes=2 --rdzv-backend=c10d \
#   --rdzv-endpoint=FIRST-NODE:29500 --nproc-per-node=4 \
#   program.py
# ```
#
# `launch` then uses the processes that `torchrun` has started.
# Use `torchrun` in internal networks only: who can reach its ports can make its processes run any code.
# `labkit launch program.py --nodes 2 --ranks 4` prints this, a Slurm script and a Kubernetes job, which we have not run.
#
# ## On trial
#
# Lesson 2 tries a claim about the master.
#
# ## Recap
#
# **The rule to keep: a sum through one master costs its link 2 (n - 1) S bytes, which are 13 MB for 4 ranks and S = 2.18 MB, and 275 MB for 64.**
# <!-- holds: [round(2 * (n - 1) * 4 * four[0].numel() / 1e6) for n in (4, 64)] == [13, 275] and round(4 * four[0].numel() / 1e6, 2) == 2.18 -->
#
# ### Outside
#
# Without `launch`, Gloo waits up to 30 minutes for a rank that lives but never calls.
# NCCL's limit is 10, and PyTorch's watchdog then ends the process.
# With `TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun ...`, PyTorch raises an error where two ranks call different collectives, or bring different shapes.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_losses", None)
# quiz("distributed.quiz_rounds", None)
# quiz("distributed.quiz_who_waits", None)
# BEGIN SOLUTION
quiz("distributed.quiz_losses", "c")
quiz("distributed.quiz_rounds", "b")
quiz("distributed.quiz_who_waits", "d")
# END SOLUTION
