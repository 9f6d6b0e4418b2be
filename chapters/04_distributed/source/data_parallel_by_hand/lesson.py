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
#     title: Data parallel by hand
#     number: 3
#     minutes: 55
#     needs: []
#     able: deal photographs to ranks without a message; average all gradients in one all-reduce; say when the average is wrong (unlike shards, BatchNorm, weights that began apart), and repair it
#     runs_on: the same
# ---

# %% [markdown]
# # Data parallel by hand
#
# **Thirty-two photographs each.**
# In 2017, 256 GPUs trained a network on ImageNet in one hour (*published*: Goyal and others, arXiv:1706.02677).
# In each step, a GPU saw only 32 photographs of 8,192.
# Would one machine with all 8,192 have made the same network?
# You answer this for our ConvNet, with 64 photographs in four processes.
#
# ## What you will be able to do
#
# - deal photographs to ranks without a message;
# - average the gradients of all ranks in one all-reduce instead of eight;
# - say when such an average is wrong, and repair it.
#
# You need [lesson 1](1_processes_and_collectives.ipynb) and [lesson 2](2_the_ring.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# One **step** of training takes a batch of photographs, computes the gradient of their mean loss, and changes all weights once.
# Gradient descent subtracts the gradient, times a learning rate.
# **Adam** keeps two running averages for each weight, of its gradients and of their squares, and computes the weight's move from them.
#
# In **data parallel** training, every rank has the whole network, but only a part of each batch, its **shard**.
# The ranks average their gradients, and each makes the step with the average.
#
# Let four ranks begin with *different* random weights, and make 31 such steps with Adam.
#
# 1. At the start, the weights of ranks 0 and 1 lie some distance apart: the root of the sum of their squared differences.
#    How many percent of it are left at the end?
# 2. How many of 500 test photographs does a rank then get right, on average over the ranks?
#    Guessing gets 50; if all begin with equal weights, they get 140.

# %%
import math

import numpy as np
import torch

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.distributed import launch, recorded, ring_all_reduce
from labkit.provenance import counted, predicted
from labkit_lessons.distributed.data_parallel_by_hand.optimisers import Adam, Descent

# STUB:
# guesses = {
#     "distance left": predict("distributed.distance_left", None, "%"),
#     "right of 500": predict("distributed.right_of_500", None, "photographs"),
# }
# BEGIN SOLUTION
guesses = {
    "distance left": predict("distributed.distance_left", 10, "%"),
    "right of 500": predict("distributed.right_of_500", 150, "photographs"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### One weight, four numbers
#
# Let a network have one weight $w$, and let the loss of a number $x$ be $(w - x)^2 / 2$, so that its gradient is $w - x$.
# The weight is 10, and the batch is 2, 4, 6, 12:
#
# | | numbers | gradients | their mean |
# |---|---|---|---|
# | one process | 2, 4, 6, 12 | 8, 6, 4, -2 | 16 / 4 = 4 |
# | rank 0 of 2 | 2, 4 | 8, 6 | 14 / 2 = 7 |
# | rank 1 of 2 | 6, 12 | 4, -2 | 2 / 2 = 1 |
#
# The mean of 7 and 1 is 4, as in one process.
# With the learning rate 0.5, the weight becomes 10 - 0.5 x 4 = 8 everywhere.
#
# ### Dealing
#
# The ranks need no message: with the same seed, all shuffle the photographs into the same order.
# Then rank r of n takes every n-th photograph of it, from place r on.
# Ten for four:
#
# ```
# order     7  2  9  0  |  5  1  8  3  |  6  4  7  2
# rank 0    7              5              6
# rank 1       2              1              4
# rank 2          9              8              7
# rank 3             0              3              2
# ```
#
# Bars part the steps, of one photograph for each rank.
# Step by step, the ranks together read what one process would read from this order.
# Only the end differs: the order begins again, with 7 and 2, so that all ranks read equally many.
#
# An **epoch** is one pass through all photographs, and each epoch needs another order.
# So all ranks shuffle from the number `seed + epoch`:
#
# | call | what it gives |
# |---|---|
# | `torch.Generator().manual_seed(s)` | a source of random numbers; the same `s`, the same numbers |
# | `torch.randperm(n, generator=g).numpy()` | 0 to n - 1, shuffled by the source `g` |
# | `np.resize(x, n)` | the first `n` elements of `x`, `x`, `x`, ... |
#
# **Exercise `distributed.shard`**: return an array of the photographs that one rank reads in an epoch, without PyTorch's sampler.


# %% tags=["exercise:distributed.shard"]
def shard(rank, ranks, photographs, epoch, seed):
    """photographs [N]: their numbers -> those that this rank reads [N / ranks, rounded up]"""
    each = math.ceil(len(photographs) / ranks)  # of one rank
    # STUB:
    # return 0 * photographs[:each]
    # BEGIN SOLUTION
    generator = torch.Generator().manual_seed(seed + epoch)
    places = torch.randperm(len(photographs), generator=generator).numpy()
    order = photographs[places]
    return np.resize(order, each * ranks)[rank::ranks]
    # END SOLUTION


shard = check("distributed.shard", shard)

# %% [markdown]
# Below, two ranks read 15 photographs, rank 0 the upper row; the one that is read twice has a frame.

# %% tags=["picture"]
from torch.utils.data import DistributedSampler

photos = cifar10("sample")
images = torch.from_numpy(convnet.normalise(photos.train.images))
labels = torch.from_numpy(photos.train.labels).long()

dealt = [shard(rank, 2, np.arange(15), epoch=3, seed=1) for rank in range(2)]
for rank in range(2):
    sampler = DistributedSampler(range(15), num_replicas=2, rank=rank, seed=1)
    sampler.set_epoch(3)
    print(f"rank {rank}: {dealt[rank]}, as PyTorch: {dealt[rank].tolist() == list(sampler)}")

read = np.concatenate(dealt)
twice = [list(read).count(number) == 2 for number in read]
alt = "Two rows of eight photographs. The last one of the second row is the first of the first row."
figures.image_grid(photos.train.images[read], [f"no. {number}" for number in read], twice, alt)

# %% [markdown]
# ### One all-reduce
#
# Our ConvNet has eight tensors of gradients: four layers, each with weights and biases.
# <!-- holds: len(list(convnet.torch_model(convnet.init(0)).parameters())) == 8 == 2 * 4 -->
# One ring costs each of n ranks 2 (n - 1) messages; eight rings, one for each tensor, cost 16 (n - 1).
# Each message has its latency, so we join all gradients to one flat tensor, sum that once, and take it apart again:
#
# ```
# rank 0     [1, 2]  [[3], [4]]   →   1  2  3  4
# rank 1     [5, 6]  [[7], [8]]   →   5  6  7  8
# the sum                             6  8 10 12
# the mean   [3, 4]  [[5], [6]]   ←   3  4  5  6
# ```
#
# | call | what it does |
# |---|---|
# | `x.flatten()` | the same numbers, in one row |
# | `torch.cat([x, y])` | joins flat tensors |
# | `flat.split([2, 2])` | parts a flat tensor into two and two numbers |
# | `part.view_as(x)` | the same numbers, in the shape of `x` |
# | `x.numel()` | how many numbers `x` has |
# | `ring_all_reduce(x)` | lesson 2's ring: returns the sum over all ranks, and does not change `x` |
#
# **Exercise `distributed.average_gradients`**: return the mean of each gradient over all ranks, with a single all-reduce.


# %% tags=["exercise:distributed.average_gradients"]
def average_gradients(rank, ranks, gradients):
    """a list of tensors, of the same shapes in all ranks -> the list of their means"""
    # STUB:
    # return [torch.zeros_like(gradient) for gradient in gradients]
    # BEGIN SOLUTION
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    mean = ring_all_reduce(flat) / ranks
    parts = mean.split([gradient.numel() for gradient in gradients])
    return [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]
    # END SOLUTION


average_gradients = check("distributed.average_gradients", average_gradients)

# %% [markdown]
# ### Unlike shards
#
# The weight is 10 again, but rank 0 has 2, 4, 6, and rank 1 only 12.
# The mean gradient of rank 0 is (8 + 6 + 4) / 3 = 6, that of rank 1 is -2.
# The mean of these two is 2, but one process would use 4.
# Rank 0 speaks for three numbers, so its mean counts three times: (3 x 6 + 1 x (-2)) / 4 = 4.
# **Multiply each mean by its count, add up, and divide by the count of all.**
#
# For a rank without photographs, the mean is 0 / 0, and its gradient may be `nan` (not a number).
# 0 x `nan` is `nan` again, and so is every sum with it.
# So this rank has to send zeros; if it sent nothing, others would wait until the timeout.
#
# **Exercise `distributed.weighted_average`**: `gradient` is the mean over the rank's `count` photographs, and `nan` where `count` is 0.


# %% tags=["exercise:distributed.weighted_average"]
def weighted_average(rank, ranks, gradient, count):
    """gradient [D] of each rank, and of how many photographs -> the mean over all of them [D]"""
    # STUB:
    # return torch.zeros_like(gradient)
    # BEGIN SOLUTION
    part = gradient * count if count > 0 else torch.zeros_like(gradient)
    total = ring_all_reduce(torch.tensor([float(count)]))
    return ring_all_reduce(part) / total
    # END SOLUTION


weighted_average = check("distributed.weighted_average", weighted_average)

# %% [markdown]
# ## Check
#
# In PyTorch, `backward` leaves each weight's gradient in `weight.grad`, and `optimiser.step()` reads it there.
# In `train`, `reshape` gives each step a row of this rank's photographs: 16 with four ranks.


# %%
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector


def step(rank, ranks, model, optimiser, rows):
    optimiser.zero_grad()
    cross_entropy(model(images[rows]), labels[rows]).backward()  # of this rank's mean loss
    means = average_gradients(rank, ranks, [weight.grad for weight in model.parameters()])
    for weight, mean in zip(model.parameters(), means, strict=True):
        weight.grad = mean
    optimiser.step()


def train(rank, ranks, seeds, optimiser_of, rate, steps):
    model = convnet.torch_model(convnet.init(seeds[rank]))
    optimiser = optimiser_of(model.parameters(), rate)
    mine = shard(rank, ranks, np.arange(64 * steps), epoch=0, seed=0)
    for rows in mine.reshape(steps, -1):
        step(rank, ranks, model, optimiser, rows)
    return model


# %% [markdown]
# We compare 1, 2 and 4 ranks in all 545,098 weights.


# %%
def vector(model):  # all its weights, one behind the other
    return parameters_to_vector(model.parameters()).detach()


table = []
for steps in (1, 5):
    (one_process,) = launch(train, 1, [0], Descent, 0.01, steps)
    for ranks in (2, 4):
        models = launch(train, ranks, [0] * ranks, Descent, 0.01, steps)
        weights = [vector(model) for model in models]
        alike = all(torch.equal(weights[0], other) for other in weights)
        close = torch.allclose(weights[0], vector(one_process), rtol=0, atol=1e-5)
        table.append([steps, ranks, 64 // ranks, alike, close])
heads = ["steps", "ranks", "photographs of each", "ranks equal", "within 0.00001 of one process"]
figures.table(heads, table)

# %% [markdown]
# Some weights move by more than 0.01, but all end within 0.00001 of one process's.
# <!-- holds: (vector(one_process) - vector(convnet.torch_model(convnet.init(0)))).abs().max() > 0.01 and (weights[0] - vector(one_process)).abs().max() < 1e-5 -->
# <!-- holds: [row[4] for row in table] == [True] * 4 -->
# The rest is rounding: ranks add in another order.
# The table shows gradient descent; Adam divides by about the gradient's own size, so where it is so tiny that rounding decides its sign, a weight can move much further.
# **With equal shards, equal weights and optimisers at the start, a loss that is the mean over the examples, and no layer that is random or mixes examples, each step of data parallel training is that of one big batch, up to rounding.**
# <!-- holds: [row[3] and row[4] for row in table] == [True] * 4 -->
#
# ## Measure
#
# The gradients are 545,098 numbers of 4 bytes, so S = 2.18 MB.
# <!-- holds: vector(one_process).numel() == 545_098 and round(vector(one_process).nbytes / 1e6, 2) == 2.18 -->
# By lesson 2, each rank should send 2 (n - 1) / n x S in a step.


# %%
def sent_in_a_step(rank, ranks):
    with recorded() as messages:
        train(rank, ranks, [0] * ranks, Descent, 0.01, 1)
    return [message.bytes for message in messages if message.sent]


table = []
for ranks in (2, 4):
    sent = launch(sent_in_a_step, ranks)[0]  # the messages of rank 0
    formula = predicted(2 * (ranks - 1) / ranks * 545_098 * 4, "B", "2 (n - 1) / n x S")
    table.append([ranks, len(sent), formula, counted(sum(sent), "B", "`recorded`")])
figures.table(["ranks", "messages of rank 0", "it should send", "it sends"], table)

# %% [markdown]
# ### One master
#
# In PyTorch's older `nn.DataParallel`, one GPU is the master of the others.
# Without a GPU it calls the network once (first line below), so we render its steps on our ranks.
#
# Rank 0 deals the photographs (*scatter*), and hands its weights to all (*replicate*).
# It collects the outputs (*gather*) and computes the loss.
# Going backward, rank 0 first returns to each rank the gradient of its outputs (*gather, backward*); then all compute gradients, which rank 0 adds up (*reduce*).


# %%
from labkit_lessons.distributed.data_parallel_by_hand import single_master

model = convnet.torch_model(convnet.init(seed=0))
print("calls, with a batch of shape:", single_master.calls(model, images[:64]))


def master_step(rank, ranks):
    loss_and_messages = single_master.forward_backward(model, images[:64], labels[:64])
    return loss_and_messages[1]  # this rank's messages, by step


table = []
for name, messages in launch(master_step, 4)[0].items():  # those of rank 0, by step
    outward = sum(message.bytes for message in messages if message.sent)
    inward = sum(message.bytes for message in messages if not message.sent)
    table.append([name, counted(outward, "B", "`recorded`"), counted(inward, "B", "`recorded`")])
figures.table(["step", "out of rank 0", "into rank 0"], table)

# %% [markdown]
# The master carries 7.13 + 6.54 = 13.7 MB; a rank of our ring sends 3.27 and receives 3.27.
# <!-- holds: [round(sum(row[side].value for row in table) / 1e6, 2) for side in (1, 2)] == [7.13, 6.54] -->
# <!-- holds: round(sum(row[1].value + row[2].value for row in table) / 1e6, 1) == 13.7 and round(sum(sent) / 1e6, 2) == 3.27 -->
# With 64 ranks, it would send 63 x 2.18 MB = 137 MB of weights.
# <!-- holds: table[1][0] == "replicate" and round(63 * table[1][1].value / 3 / 1e6) == 137 -->
# (With NCCL, PyTorch broadcasts them.)
#
# ## Explain
#
# Now the four ranks of the prediction, and four with equal weights.

# %% tags=["picture"]
test_images = torch.from_numpy(convnet.normalise(photos.test.images))
test_labels = torch.from_numpy(photos.test.labels)


def right(models):  # of 500 photographs, on average over the models
    with torch.no_grad():
        counts = [(model(test_images).argmax(1) == test_labels).sum() for model in models]
    return counted(round(np.mean(counts), -1), "photographs", "our test, to the nearest ten")


rate, steps = 0.0005, 31  # 31 x 64 of 2,000 photographs; at Adam's usual 0.001, fewer are right
own = launch(train, 4, [0, 1, 2, 3], Adam, rate, steps)
equal = launch(train, 4, [0, 0, 0, 0], Adam, rate, steps)
print("with equal weights at the start:", right(equal).number)

starts = [vector(convnet.torch_model(convnet.init(seed))) for seed in (0, 1)]
before, after = (starts[0] - starts[1]).norm(), (vector(own[0]) - vector(own[1])).norm()
left = counted((100 * after / before).item(), "%", "our ranks")
results = {"distance left": left, "right of 500": right(own)}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# All of the distance is left.
# <!-- holds: round(left.value) == 100 -->
# Adam's averages are made of gradients alone, and these are the same in all ranks.
# So all ranks move alike.
# <!-- holds: ((vector(own[0]) - starts[0]) - (vector(own[1]) - starts[1])).abs().max() < 1e-4 -->
# Here they got fewer right, perhaps because the mean contains the gradients of other networks.
# <!-- holds: results["right of 500"].value < right(equal).value == 140 -->
# **Averaged gradients keep equal ranks equal, but they do not make ranks equal.**
# <!-- holds: [torch.equal(vector(some[0]), vector(some[1])) for some in (equal, own)] == [True, False] -->
# A broadcast of the weights does, before the first step; later, the optimiser's averages have to be broadcast, too.
#
# ## On trial
#
# ### <a id="C10"></a>C10 on trial
#
# > Data parallelism: theta <- theta - eta * 1/n * sum_i grad L(theta; x_i, y_i)
#
# Let n be the ranks, (x_i, y_i) the shard of rank i, and L its mean loss.


# %%
def gradient_of(network, rows):
    cross_entropy(network(images[rows]), labels[rows]).backward()
    return parameters_to_vector([weight.grad for weight in network.parameters()])


def printed(rank, ranks, network, shards):
    theta, eta = vector(network), 0.1
    gradient = gradient_of(network, shards[rank])
    return theta - eta * 1 / ranks * ring_all_reduce(gradient)  # the claim's right side


def by_count(rank, ranks, network, shards):
    gradient = gradient_of(network, shards[rank])
    return vector(network) - 0.1 * weighted_average(rank, ranks, gradient, len(shards[rank]))


# %% [markdown]
# The fourth network begins with **BatchNorm**, a layer that subtracts the mean of the batch it sees and divides by its standard deviation; the last one with **dropout**, a layer that sets numbers to 0 at random.

# %%
normed = torch.nn.Sequential(torch.nn.BatchNorm2d(3), model)
dropped = torch.nn.Sequential(torch.nn.Dropout(), model)
tries = [
    ("equal shards", printed, model, [16, 16, 16, 16]),
    ("unlike shards", printed, model, [40, 8, 8, 8]),
    ("unlike shards, weighted by count", by_count, model, [40, 8, 8, 8]),
    ("equal shards, with BatchNorm", printed, normed, [16, 16, 16, 16]),
    ("equal shards, with dropout", printed, dropped, [16, 16, 16, 16]),
]
table = []
for name, function, network, sizes in tries:
    (big,) = launch(function, 1, network, [torch.arange(64)])
    split = launch(function, 4, network, torch.arange(64).split(sizes))
    table.append([name, bool((split[0] - big).abs().max() < 1e-6)])
figures.table(["what was tried", "equals one big batch"], table)

# %% [markdown]
# **Verdict on C10: holds if all shards are equally large, the loss is the mean over the examples, and no layer is random or mixes examples.**
# <!-- holds: [row[1] for row in table if row[0] != "unlike shards, weighted by count"] == [True, False, False, False] -->
# With unlike shards, multiply by the counts, as `weighted_average` does.
# <!-- holds: table[2] == ["unlike shards, weighted by count", True] -->
# If i runs over the examples and n is their number, the formula already counts each example once.
# BatchNorm needs more, since it subtracts each shard's own mean: the shards 1, 3 and 5, 7 both become -1, 1, and later layers cannot tell them apart.
# Lesson 4 cures it.
# In dropout, ranks draw other numbers than one process.
# A mean over tokens, of which shards may have unlike many, needs counts, too; a contrastive loss compares examples, so it is no mean over them.
#
# The network of the 8,192 photographs, a ResNet-50, has BatchNorm layers, which saw only the 32 of their GPU (*published*, same paper).
# So one machine would not have made quite the same.
#
# ## Recap
#
# **The rule to keep: with equal weights and optimisers at the start, equal shards, a mean loss, and no layer that is random or mixes examples, n ranks make the step of one big batch, up to rounding; each sends 2 (n - 1) / n x S bytes, less than 2 S, which are 4.36 MB for our ConvNet.**
# <!-- holds: abs(sum(sent) - 2 * 3 / 4 * 4 * 545_098) < 100 and round(2 * 4 * vector(model).numel() / 1e6, 2) == 4.36 -->
#
# ### Outside
#
# PyTorch's `DistributedDataParallel(model)` broadcasts the weights at the start, and averages the gradients during `backward`; it divides by the ranks, so with unlike shards, multiply each mean loss by ranks x count / count of all.
# `DistributedSampler` deals; it needs `set_epoch(epoch)` before each epoch.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_forgotten_epoch", None)
# quiz("distributed.quiz_two_shards", None)
# quiz("distributed.quiz_new_rank", None)
# BEGIN SOLUTION
quiz("distributed.quiz_forgotten_epoch", "b")
quiz("distributed.quiz_two_shards", "a")
quiz("distributed.quiz_new_rank", "c")
# END SOLUTION
