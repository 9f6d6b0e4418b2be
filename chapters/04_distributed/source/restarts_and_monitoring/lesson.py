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
#     title: Restarts and monitoring
#     number: 12
#     minutes: 60
#     needs: []
#     able: save everything that a training needs, and prove it to the last bit; write a checkpoint that no death leaves half done, and read it on another number of ranks; let `torchrun` start ranks again, watch them, and say which file of a stranger runs code
#     runs_on: the same
# ---

# %% [markdown]
# # Restarts and monitoring
#
# **419 unexpected stops in 54 days, and only three needed much manual work** (a part of Llama 3's training, [*published* by Meta](https://arxiv.org/abs/2407.21783)).
# When a rank dies at night, a program has to go on from the newest checkpoint, which may be half written.
# And if one number is forgotten in it, no error tells of that.
#
# ## What you will be able to do
#
# - save everything that a training needs, and prove it to the last bit;
# - write a checkpoint that no death leaves half done, and read it on another number of ranks;
# - let `torchrun` start ranks again, watch them, and say which file of a stranger runs code.
#
# You need lessons [3](3_data_parallel_by_hand.ipynb) and [7](7_faults.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Adam, the usual optimizer of language models, keeps two **averages** for each weight: of its gradients so far, and of their squares.
#
# 1. A training of 30 steps writes a checkpoint after every 8 steps.
#    A rank dies as it begins step 23, and all ranks start again from the newest checkpoint.
#    How many steps are computed, all in all?
# 2. After 200 steps, a training goes on from a checkpoint, but Adam's averages begin at 0 again.
#    For 40 steps, we compare its loss with that of the unbroken training.
#    How many percent higher is it at most?

# %%
import pickle
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch
from labkit.provenance import counted
from labkit_lessons.distributed.restarts_and_monitoring.by_hand import shards, share, write_shard

# STUB:
# guesses = {
#     "steps computed": predict("distributed.steps_computed", None, "steps"),
#     "without averages": predict("distributed.loss_without_averages", None, "%"),
# }
# BEGIN SOLUTION
guesses = {
    "steps computed": predict("distributed.steps_computed", 37, "steps"),
    "without averages": predict("distributed.loss_without_averages", 20, "%"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### What to save
#
# A small training fits a line with Adam, and adds noise to each example.
# These parts change in every step:
#
# | part | what it is | at the start |
# |---|---|---|
# | `training.weights` | an array | drawn by the seed |
# | `training.mean`, `training.square` | Adam's averages, two arrays | 0 |
# | `training.step` | how many steps are done; Adam divides its averages by 1 - 0.9^step and 1 - 0.99^step | 0 |
# | `training.position` | the example that is read next | 0 |
# | `training.random` | the generator of the noise | made from the seed |
#
# A generator has a **state**, a few numbers that decide all that it will draw.
# `training.random.bit_generator.state` gives them as a new dict.
#
# The training does not stop for a snapshot, and changes its arrays in place.
# Let `w` be `[3.0]` and `saved = {"weights": w}`.
# After `w -= 1.0`, `saved["weights"]` is `[2.0]`, too, since it is the same array; `w.copy()` would still be `[3.0]`.
#
# **Exercise `distributed.snapshot`**: return a dict with each part under its name, such as `weights`, as it is now.
# The check goes on from it, and compares every bit with an unbroken training.


# %% tags=["exercise:distributed.snapshot"]
def snapshot(training):
    """a running training -> a dict of all that another one needs to go on"""
    # STUB:
    # return {}
    # BEGIN SOLUTION
    return {
        "weights": training.weights.copy(),
        "mean": training.mean.copy(),
        "square": training.square.copy(),
        "step": training.step,
        "position": training.position,
        "random": training.random.bit_generator.state,
    }
    # END SOLUTION


snapshot = check("distributed.snapshot", snapshot)

# %% [markdown]
# ### On another number of ranks
#
# When a machine is gone for good, a training goes on with fewer ranks.
# Let a matrix have 10 rows.
# Four ranks have written 3, 3, 2 and 2 of them, each its **shard**, into a file of its own.
# Of two ranks, rank 1 now needs rows 5 to 9:
#
# | file | its rows | rank 1 reads |
# |---|---|---|
# | 0 | 0 to 2 | nothing |
# | 1 | 3 to 5 | `read(2, 3)`: row 5 of all is the third of this file |
# | 2 | 6 and 7 | `read(0, 2)` |
# | 3 | 8 and 9 | `read(0, 2)` |
#
# To cut the same rows in another way is to **reshard**.
# A rank may have no room for the whole matrix, so it reads only its own rows.
#
# `share(10, 2, 1)` is `(5, 10)`: the first row of rank 1 of 2, and the first one behind its part.
# A file has `len(file)` rows, which may be any number.
#
# **Exercise `distributed.reshard`**: read the rows of a rank.


# %% tags=["exercise:distributed.reshard"]
def reshard(files, ranks, rank):
    """files with len(file) and file.read(begin, end); ranks that read, and which -> its rows"""
    begin, end = share(sum(len(file) for file in files), ranks, rank)
    parts = []
    first = 0  # of this file's rows, counted through all files
    for file in files:
        # STUB:
        # pass
        # BEGIN SOLUTION
        low = max(begin, first)
        high = min(end, first + len(file))
        if low < high:
            parts.append(file.read(low - first, high - first))
        # END SOLUTION
        first += len(file)
    return np.concatenate(parts)


reshard = check("distributed.reshard", reshard)

# %% [markdown]
# ### Whole or not at all
#
# A reader looks into the **marker**, a file `latest` with a plain name such as `step-20`, and reads `step-20/0`, `step-20/1` and so on.
# When the power fails, a file that was being written is half there.
# So is one whose bytes were still in memory; after a **sync**, the disk has them all.
# A rename to `latest` replaces it, wholly or not at all.
# (On a real disk, the folder has to be synced, too.)
#
# Two shards are saved; the power fails in operation 2:
#
# | operation | in this order | with `latest` first |
# |---|---|---|
# | 1 | write and sync `step-20/0` | write and sync `latest` |
# | 2 | write and sync `step-20/1` | write and sync `step-20/0` |
# | what a reader finds | `latest` says `step-10`, which is whole | `latest` says `step-20`, which is not |
#
# The marker, too, can be half written.
#
# **Exercise `distributed.save_whole`**: write all shards, so that a reader finds the old checkpoint or the new one, whenever the power fails.
# The disk has `write(name, content)`, `sync(name)`, `rename(old, new)` and `delete(name)`.


# %% tags=["exercise:distributed.save_whole"]
def save_whole(disk, name, shards):
    """a disk; "step-20"; the shards of all ranks; afterwards `latest` names a whole checkpoint"""
    # STUB:
    # pass
    # BEGIN SOLUTION
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")
    # END SOLUTION


save_whole = check("distributed.save_whole", save_whole)

# %% [markdown]
# ## Check
#
# The program [train_gpt.py](train_gpt.py) trains a small GPT, with labkit's version of what you have written:
#
# ```
# training.restore(newest(orders.folder))
# while training.step < orders.steps:
#     loss = training.one_step()
#     if training.step % orders.every == 0:
#         save(training.step, training.state())
# ```
#
# Here `save` calls `torch.distributed.checkpoint`, DCP for short: each rank writes a file, and `.metadata` says what lies where.
# When all have written, rank 0 renames their folder, to `step-00016`, say, and then changes the marker.
#
# If a rank dies, `torchrun` ends the others and starts all of them again.
# In PyTorch 2.13, set `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`; without it, new ranks may read old addresses: 3 of our 6 tries failed (*counted*).
#
# We let rank 1 kill itself as it first begins step 23, and compare with an unbroken training.

# %%
from labkit.distributed.checkpoints.folder import names, newest
from labkit.distributed.checkpoints.run import Orders, run
from labkit.distributed.step_log import done_twice, final_losses, read_steps
from labkit_lessons.distributed.restarts_and_monitoring.elastic import restarted

room = TemporaryDirectory()
calm = Orders(Path(room.name, "calm"), steps=30, every=8)
broken = Orders(Path(room.name, "broken"), steps=30, every=8)
outcome = launch(run, 2, calm)[0]
dies = ["--die-at", 23, "--die-rank", 1, "--events"]
told = ["--folder", broken.folder, "--steps", 30, "--every", 8, *dies]
said = restarted("train_gpt.py", 2, told, restarts=1)
done, unbroken = read_steps(broken.log), read_steps(calm.log)
print(len(done), "steps computed; twice:", done_twice(done))
print("all losses as without a death:", final_losses(done) == final_losses(unbroken))
print("all weights, to the last bit:", outcome.weights in said)  # a hash, which ranks print
print("checkpoints kept:", names(broken.folder))

# %% [markdown]
# Each rank has written **event files**, TensorBoard's format; from these we draw the loss of both starts.

# %% tags=["picture"]
from labkit.distributed.monitoring import read_events
from labkit_lessons.distributed.restarts_and_monitoring.pictures import (
    forgotten_picture,
    ranks_picture,
    restart_picture,
)

runs = read_events(broken.folder / "events")  # of each rank: its starts, in their order
restart_picture(runs[0], saved=(8, 16, 24))

# %% [markdown]
# The loss goes back to that after step 16, and takes the same way again.
# <!-- holds: [one.loss for one in done if one.step == 17] == [unbroken[16].loss] * 2 -->
# The bits are the same only on as many ranks and with **deterministic** kernels, which add in the same order each time; not all kernels of GPUs do.
# At most one interval is lost, here 6 of 8 steps.
# <!-- holds: len(done_twice(done)) == 6 < calm.every == 8 -->
#
# Now we write the weights in four shards, and your function reads them for two ranks.

# %%
from labkit.distributed.checkpoints.training import PARTS, Options, Training

training = Training(Options())
training.restore(newest(broken.folder))  # one process reads what two have saved
tensors = {name: weight.numpy() for name, weight in training.weights().items()}
shard_folder = Path(room.name, "by_hand")
for rank in range(4):
    write_shard(shard_folder, rank, 4, tensors)
same, rows_read = [], 0
for name, tensor in tensors.items():
    files = shards(shard_folder, name)
    parts = [reshard(files, 2, rank) for rank in range(2)]
    same.append(np.array_equal(np.concatenate(parts), tensor))
    rows_read += sum(file.rows_read for file in files)
print(f"{sum(same)} of {len(tensors)} tensors are right")
print("rows:", sum(map(len, tensors.values())), "and read:", rows_read)

# %% [markdown]
# ## Measure
#
# One process trains for 200 steps and saves.
# Then it goes on for 40 steps, each time without one part of the checkpoint.
# PyTorch's part with Adam's averages also has its count of steps, which then begins at 0, too.

# %% tags=["picture"]
from labkit.distributed.checkpoints import dcp

training = Training(Options())
for _ in range(200):
    training.one_step()
dcp.save(Path(room.name, "long"), training.step, training.state())
unbroken = np.array([training.one_step() for _ in range(40)])
differences = {}
for name, part in {"Adam's averages": "optimizer", "the position": "position"}.items():
    training = Training(Options())
    others = set(PARTS) - {part}
    training.restore(newest(Path(room.name, "long")), others)
    losses = np.array([training.one_step() for _ in range(40)])
    differences[name] = 100 * (losses / unbroken - 1)
forgotten_picture(differences)

# %% [markdown]
# Without the position, each step reads other text than the unbroken training, so its loss differs both ways.
# <!-- holds: min(differences['the position']) < 0 < max(differences['the position']) -->
# It begins the text anew, of which it has read 200 steps, and nothing says so.
#
# ## Explain
#
# And your predictions?

# %% tags=["picture"]
highest = max(differences["Adam's averages"])
results = {
    "steps computed": counted(len(done), "steps", "the log of steps"),
    "without averages": counted(round(highest), "%", "losses of the small GPT"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])
changes = 100 * np.abs(np.diff(unbroken)) / unbroken[1:]  # of the loss, from step to step, in %
print("unbroken, it changes by more in most steps:", np.median(changes) > highest)

# %% [markdown]
# Before the death, 22 steps are done, and 14 after step 16: together 36.
# <!-- holds: len(done) == 22 + 14 == 36 and [sum(one.attempt == attempt for one in done) for attempt in (0, 1)] == [22, 14] -->
#
# Without its averages, a training is 2 % worse for a moment, and in most steps, the unbroken loss changes by more than that.
# <!-- holds: round(highest) == 2 and np.median(changes) > highest -->
# So compare bits, not curves, with an unbroken training.
#
# ### Watch each rank
#
# After the restart, these are each rank's means of 5 steps (*measured* on this machine).

# %% tags=["picture", "nbval-ignore-output"]
ranks_picture({rank: starts[-1] for rank, starts in runs.items()})

# %% [markdown]
# A rank whose memory rises all the time will be killed some day.
# A rank that always communicates less than the others is the one that they wait for; ours have equal work.
#
# To see this in a browser, use `with tensorboard(folder) as address:` from `labkit.distributed.monitoring`; the page is there until the block ends.
#
# ## On trial
#
# > A checkpoint holds numbers, so one can look into a stranger's
#
# A **pickle**, Python's format for objects, may hold a call that its reader makes to rebuild an object.
# Ours only prints; it could delete your files.

# %%
from torch.distributed.checkpoint import FileSystemReader


class Stranger:
    def __reduce__(self):
        return print, ("  this line was printed by the file",)


path = Path(room.name, "stranger.pt")
torch.save({"weights": torch.ones(3), "extra": Stranger()}, path)
print("torch.load(weights_only=False):")
torch.load(path, weights_only=False)
try:
    torch.load(path, weights_only=True)
except pickle.UnpicklingError as error:
    print("torch.load(weights_only=True):", str(error).split(".")[0])
print("the .metadata of DCP:")
path.with_name(".metadata").write_bytes(pickle.dumps(Stranger()))
with suppress(AttributeError):  # what the call gives is no metadata
    FileSystemReader(room.name).read_metadata()

# %% [markdown]
# **Verdict: holds if only tensors and plain values are rebuilt.**
# This is what `weights_only=True` does, the default since PyTorch 2.6; DCP reads `.metadata` as a plain pickle.
# It does not stop every attack: before 2.10, a crafted file could get round it (CVE-2026-24747), and 2.13 does not check the indices of a sparse tensor by default.
# A safetensors file, as our shards are, has names, shapes and numbers: there is nothing to call.
#
# > A store that was opened for 127.0.0.1 can be reached from this machine alone
#
# The ranks find each other through a **TCPStore**, which holds texts by name.
# We open one, and a second connection reads and writes it.
# `without_way_out` calls our function in a process whose network leads nowhere, so that no stranger comes meanwhile; where the system allows none, it only says why.

# %%
import psutil
from torch.distributed import TCPStore

from labkit.distributed.connections.closed_network import without_way_out


def open_a_store():
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    store.set("newest checkpoint", "step-00024")
    visitor = TCPStore("127.0.0.1", store.port, is_master=False)
    print("a visitor reads", visitor.get("newest checkpoint").decode(), "and writes")
    visitor.set("newest checkpoint", "a stranger's")
    print("the store now says", store.get("newest checkpoint").decode())
    sockets = psutil.net_connections()
    listening = {socket.laddr.ip for socket in sockets if socket.laddr.port == store.port}
    print("it also listens on all addresses:", bool({"::", "0.0.0.0"} & listening))


print(without_way_out(open_a_store))
room.cleanup()

# %% [markdown]
# **Verdict: wrong.**
# It listens on every network of the machine, and asks for no password; `torchrun` even reads pickles from its store.
# So keep their ports behind a firewall, in an internal network.
#
# ## Recap
#
# **The rule to keep: of a checkpoint, the marker is written last; and with one every 8 steps, a death costs at most 8 steps, and no bit if ranks and kernels add in the same order.**
# <!-- holds: len(done) - calm.steps == len(done_twice(done)) <= calm.every == 8 and outcome.weights in said -->
#
# ### Outside
#
# On a cluster, `torchrun --nnodes=2:4 --max-restarts=3 --rdzv-backend=c10d` goes on with the hosts that are left, if they are two or more and the one of `--rdzv-endpoint` is among them, and DCP reshards for them.
# With `--background`, `train_gpt.py` saves by `dcp.async_save`, while the training goes on; a death before such a checkpoint is whole costs one interval more.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_marker_first", None)
# quiz("distributed.quiz_more_ranks", None)
# quiz("distributed.quiz_stranger", None)
# BEGIN SOLUTION
quiz("distributed.quiz_marker_first", "c")
quiz("distributed.quiz_more_ranks", "a")
quiz("distributed.quiz_stranger", "d")
# END SOLUTION
