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
#     title: Overlap and buckets
#     number: 4
#     minutes: 55
#     needs: []
#     able: let gradients travel while backward still computes; fill buckets, and accumulate over micro-batches; say what PyTorch's DDP does, and where it is not one big batch
#     runs_on: the same
# ---

# %% [markdown]
# # Overlap and buckets
#
# **180 ms, and for 100 of them the link does nothing.**
# Say that backward takes 100 ms, and then, as in lesson 3, one all-reduce of all gradients 80 ms.
# But backward begins with the last layer, so its gradient is there long before the end.
# Why wait?
#
# ## What you will be able to do
#
# - let gradients travel while backward still computes;
# - choose buckets: neither too many messages nor too late a start;
# - say what PyTorch's DDP does, and where it is not one big batch.
#
# You need [lesson 3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **parameter** is a tensor that is trained, such as `fc1.weight`; our ConvNet has eight.
# Its gradient is **ready** when backward adds nothing to it any more.
# A **bucket** is a list of parameters whose gradients travel as one message.
# A step **overlaps** if messages travel while backward still computes.

# %%
from time import monotonic

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.distributed import launch
from labkit.distributed.gradients.overlap import Work
from labkit.distributed.gradients.readiness import watched
from labkit.distributed.one_big_batch import descend, largest_difference, weights
from labkit.provenance import counted, measured, predicted
from labkit_lessons.distributed.overlap_and_buckets.emulated_step import measure_steps

# STUB:
# guesses = {
#     "fc1.weight is ready": predict("distributed.ready_share", None, "%"),
#     "one bucket": predict("distributed.one_bucket", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "fc1.weight is ready": predict("distributed.ready_share", 50, "%"),
    "one bucket": predict("distributed.one_bucket", 1.2, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Four layers by hand
#
# Take a network of four layers, 0 to 3.
# Backward needs 25 ms for each, and begins with layer 3.
# On the link, an all-reduce costs 8 ms of latency, and 18 ms for the bytes of one layer.
# One message with all four gradients takes 8 + 4 x 18 = 80 ms, so the step takes 100 + 80 = 180 ms.
#
# Now each layer gets a message of its own, of 8 + 18 = 26 ms.
# It begins as soon as its gradient is ready and the link is free:
#
# ```
# layer    ready    begins    ends
# 3           25        25      51
# 2           50        51      77
# 1           75        77     103
# 0          100       103     129 ms
# ```
#
# The four messages take 24 ms more than the one, since each pays the latency.
# But 75 ms hide behind backward, so the step is 51 ms shorter.
#
# ### Who says that a gradient is ready?
#
# PyTorch calls the function below, a **hook**, when it has added the last part to a parameter's gradient.

# %%
photos = cifar10("sample").train
images = torch.from_numpy(convnet.normalise(photos.images[:64]))
labels = torch.from_numpy(photos.labels[:64]).long()
model = convnet.torch_model(convnet.load_weights())

names = {parameter: name for name, parameter in model.named_parameters()}
order = []


def note(parameter):
    order.append(names[parameter])


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(note)
cross_entropy(model(images), labels).backward()
print("in the model:", *names.values())
print("ready:       ", *order)

# %% [markdown]
# The layers come in reverse order, but within a layer the order may differ: `conv2.weight` before `conv2.bias`.
# <!-- holds: [name.split(".")[0] for name in order] == [name.split(".")[0] for name in reversed(names.values())] -->
# <!-- holds: order.index("conv2.weight") < order.index("conv2.bias") -->
# So the gradients need not come in the order in which we put them into messages.
#
# ### Buckets
#
# Are more messages better still?
# If each layer is cut into four pieces, a message takes 8 + 18 / 4 = 12.5 ms.
# The first piece is ready at 6.25 ms; from then on the link never rests, and 16 messages end at 6.25 + 16 x 12.5 = 206 ms.
# That is later than without overlap: small gradients should share a message.
#
# With two buckets of two layers, each message takes 8 + 2 x 18 = 44 ms.
# The second begins when backward ends, and the step takes 100 + 44 = 144 ms.
# By these sums, four messages (129 ms) beat both two and sixteen: few leave late, many pay the latency too often.
#
# Let parameters 0 to 3 have 4, 8, 8 and 2 bytes, and a bucket at most 10.
# Number 3 opens a bucket, and number 2 still fits: 2 + 8 = 10.
# Number 1 does not, and opens a second one; number 0 opens a third, since 8 + 4 = 12.
# The result is `[[3, 2], [1], [0]]`.
#
# **Exercise `distributed.buckets`**: fill buckets in this way.
# A parameter that alone has more than `most` bytes gets a bucket of its own.


# %% tags=["exercise:distributed.buckets"]
def buckets(sizes, most):
    """bytes of each parameter, and the most of a bucket -> lists of places, the last one first"""
    result = [[]]
    filled = 0  # bytes in the last bucket
    for place in reversed(range(len(sizes))):
        # STUB:
        # pass  # yours: does parameter `place` still fit?
        # BEGIN SOLUTION
        if result[-1] and filled + sizes[place] > most:
            result.append([])
            filled = 0
        result[-1].append(place)
        filled += sizes[place]
        # END SOLUTION
    return result


buckets = check("distributed.buckets", buckets)

# %% [markdown]
# ### A step that overlaps
#
# `backward` hands out pairs: the place of a parameter, and its gradient.
# It computes the next gradient only when your loop asks for it.
# `start(gradients)` takes the gradients of one bucket, in a list, and begins their all-reduce.
# It returns at once, with a **handle**: `handle.wait()` waits for the bucket, and returns the list of means over all ranks.
#
# All ranks start bucket 0 first, then 1, and so on, even if a later one is full earlier: the first all-reduce of one rank meets the first of the others.
# So one gradient can let several buckets leave.
#
# **Exercise `distributed.overlapped`**: start each bucket as soon as it is full and its turn has come.
# Return what each `wait()` gives, in this order.


# %% tags=["exercise:distributed.overlapped"]
def overlapped(backward, buckets, start):
    """(place, gradient) pairs, lists of places, a function -> for each bucket its list of means"""
    ready = {}
    handles = []
    waiting = list(buckets)  # waiting[0] is the next one to leave
    for place, gradient in backward:
        ready[place] = gradient
        # STUB:
        # pass  # yours: which buckets can leave now?
        # BEGIN SOLUTION
        while waiting and all(one in ready for one in waiting[0]):
            bucket = waiting.pop(0)
            handles.append(start([ready[one] for one in bucket]))
        # END SOLUTION
    # STUB:
    # means = []  # yours: wait for each bucket
    # BEGIN SOLUTION
    means = [handle.wait() for handle in handles]
    # END SOLUTION
    return means


overlapped = check("distributed.overlapped", overlapped)

# %% [markdown]
# ### Several batches, one message
#
# A batch that does not fit into a rank's memory is cut into K **micro-batches**, one after the other.
# Their gradients add up, and only then the optimiser makes a step: that is **accumulation**.
# Nobody needs the other ranks' gradients earlier, so one sum travels instead of K.
#
# Let two ranks have two micro-batches each, of equal size, with mean gradients 2 and 4, and 6 and 12.
# The ranks' means are 3 and 9, and the mean of these is 6 = (2 + 4 + 6 + 12) / 4.
#
# **Exercise `distributed.accumulate`**: `slope` is the gradient of the loss of one micro-batch: the mean of (x w - y)² / 2.
# Return the mean over all micro-batches of all ranks, with one `dist.all_reduce(tensor)`, which sums in place.


# %% tags=["exercise:distributed.accumulate"]
def accumulate(rank, ranks, w, x, y):
    """w[D]; micro-batches x[K, b, D], y[K, b] of each rank -> the mean gradient, in every rank"""
    total = torch.zeros_like(w)
    for k in range(len(x)):
        slope = x[k].T @ (x[k] @ w - y[k]) / len(y[k])
        # STUB:
        # pass  # yours: add to `total`
        # BEGIN SOLUTION
        total += slope / len(x)
        # END SOLUTION
    # STUB:
    # pass  # yours: the mean over the ranks
    # BEGIN SOLUTION
    dist.all_reduce(total)
    total /= ranks
    # END SOLUTION
    return total


accumulate = check("distributed.accumulate", accumulate)

# %% [markdown]
# ## Check
#
# PyTorch's `DistributedDataParallel`, or **DDP**, wraps a model: its hooks fill buckets, which travel while backward goes on.
# Our `DataParallel` does the same; its `finish()` waits for the buckets.
# Do both train the same network, and is it that of one process?


# %%
from labkit.distributed.ddp import DataParallel


def train(rank, ranks, wrap):
    net = convnet.torch_model(convnet.load_weights())
    model = wrap(net) if wrap else net
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in zip(images.chunk(4), labels.chunk(4), strict=True):  # 4 steps of 16 images
        optimiser.zero_grad()
        cross_entropy(model(x[rank::ranks]), y[rank::ranks]).backward()
        if wrap is DataParallel:
            model.finish()
        optimiser.step()
    return weights(net)


ours = launch(train, 2, DataParallel)[0]
for name, other in {"DDP": launch(train, 2, DDP), "one process": launch(train, 1, None)}.items():
    print(f"as {name}, within 0.000001:", largest_difference(ours, other[0]) < 1e-6)

# %% [markdown]
# ### Where it is not one big batch
#
# In lesson 3, ranks with BatchNorm did not get the gradient of the big batch, since each normalised its own shard.
# A synchronised BatchNorm normalises over all ranks; each such layer of ours costs an all-reduce in forward and in backward.
#
# Four ranks have 8 images each, one process all 32: how far apart are their gradients?

# %%
from labkit_lessons.distributed.overlap_and_buckets.batch_norm_networks import (
    gradients_of_shards,
    with_and_without,
)

rows = []
for name, make in with_and_without().items():
    four = launch(gradients_of_shards, 4, make, images[:32], labels[:32])[0]
    (one,) = launch(gradients_of_shards, 1, make, images[:32], labels[:32])
    largest = max(gradient.abs().max() for gradient in one.values())
    percent = float(100 * largest_difference(four, one) / largest)
    rows.append([name, f"{percent:.0f} %" if percent > 0.01 else "below 0.01 %"])
figures.table(["network", "largest difference, of the largest gradient"], rows)

# %% [markdown]
# Another trap: a rank with fewer batches leaves its loop, and others wait until the timeout.
# Within `join()`, it adds zeros to their sums, which are still divided by the number of all ranks.
# When all are done, it gets the weights of a rank that trained to the last step.


# %%
def train_unevenly(rank, ranks):
    net = convnet.torch_model(convnet.load_weights())
    model = DataParallel(net)
    batches = images.chunk(8)[: 3 + 2 * rank]  # 3 batches for rank 0, 5 for rank 1
    with model.join():
        for x, y in zip(batches, labels.chunk(8), strict=False):
            model.zero_grad()
            cross_entropy(model(x), y).backward()
            model.finish()
            descend(net, 0.05)  # join() would not hand on what an optimiser remembers
    return len(batches), weights(net)


(three, weights_0), (five, weights_1) = launch(train_unevenly, 2)
print("batches:", three, "and", five)
print("the same weights:", largest_difference(weights_0, weights_1) == 0)

# %% [markdown]
# ## Measure
#
# When is each gradient of our ConvNet ready, for 64 images?

# %% tags=["timing", "picture", "nbval-ignore-output"]
from labkit_lessons.distributed.overlap_and_buckets.pictures import (
    overlap_picture,
    readiness_picture,
)

cross_entropy(model(images), labels).backward()  # the first one is slower
loss = cross_entropy(model(images), labels)
with watched(model) as ready:
    begin = monotonic()
    loss.backward()
readiness_picture(ready, begin)
moments = {gradient.name: gradient.moment - begin for gradient in ready}
whole = max(moments.values())
rest = whole - moments["fc1.weight"]
needed = model.fc1.weight.nbytes / rest
print("backward takes", measured(whole, "s"), "and goes on for", measured(rest, "s"))
print("after fc1.weight is ready, which in this time needs", measured(needed, "B/s"))

# %% [markdown]
# Now the four layers, in two real ranks, with your two functions; `after_backward` is ours, and waits.
# Backward sleeps 25 ms for each layer, and the link is emulated in process: 4 ms for each message, and 10 MB/s.
# A layer has 180 kB, so a ring of two ranks sums it in 2 x (4 ms + 90 kB / 10 MB/s) = 26 ms, as above.


# %% tags=["timing", "picture", "nbval-ignore-output"]
def after_backward(backward, buckets, start):
    ready = dict(backward)  # runs the whole backward
    return [start([ready[place] for place in bucket]).wait() for bucket in buckets]


four = Work(layers=4, bytes=180_000, seconds=25e-3, latency=4e-3, bandwidth=10e6)
sixteen = Work(layers=16, bytes=45_000, seconds=6.25e-3, latency=4e-3, bandwidth=10e6)
ways = {
    "waits": (after_backward, four, buckets([180_000] * 4, most=720_000)),
    "1 bucket": (overlapped, four, buckets([180_000] * 4, most=720_000)),
    "2 buckets": (overlapped, four, buckets([180_000] * 4, most=360_000)),
    "4 buckets": (overlapped, four, buckets([180_000] * 4, most=180_000)),
    "16 buckets": (overlapped, sixteen, buckets([45_000] * 16, most=45_000)),
}
runs = measure_steps(ways, ranks=2)
overlap_picture(runs, "measured, link emulated")
print("waits:", measured(runs["waits"].seconds, "s", "an emulated link"))

# %% [markdown]
# Each bucket has the colour of its layers; a vertical line ends each step.
#
# ## Explain
#
# Do the sums by hand hold, and your guesses?

# %% tags=["picture", "nbval-ignore-output"]
by_hand = {"waits": 180, "1 bucket": 180, "2 buckets": 144, "4 buckets": 129, "16 buckets": 206}
rows = []
for name, ms in by_hand.items():
    expected = predicted(ms / 1000, "s", "the sums by hand")
    rows.append([name, expected, measured(runs[name].seconds, "s", "an emulated link")])
figures.table(["step", "by hand", "fastest of five"], rows)

done = 0  # operations of backward
for layer in reversed(convnet.layer_costs(64)):
    done += sum(each.flops for each in layer.operations if each.name in ("dW", "dX"))
    if layer.name == "fc1":
        until_fc1 = done

results = {
    "fc1.weight is ready": counted(100 * until_fc1 / done, "%", "the rules of labkit.costs"),
    "one bucket": predicted(by_hand["waits"] / by_hand["1 bucket"], "times", "the sums by hand"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# One bucket is full only when backward ends, so it overlaps with nothing.
# The measured steps take longer than the sums, most of all with sixteen messages: a sleep may run over, and each message has to wake real processes (we measured neither apart).
# Two buckets and four are only 15 ms apart, so measured, they may come out either way.
# <!-- holds: by_hand["2 buckets"] - by_hand["4 buckets"] == 15 -->
#
# And `fc1.weight`?
# The fully connected layers come first in backward, and have nearly all the bytes, but only 9 % of the arithmetic.
# <!-- holds: round(results["fc1.weight is ready"].value) == 9 -->
# <!-- holds: sum(p.nbytes for p in [*model.fc1.parameters(), *model.fc2.parameters()]) > 0.95 * sum(p.nbytes for p in model.parameters()) -->
# So `fc1.weight` could travel during the convolutions.
# What that takes is printed under *Measure*: each of two ranks sends 2.1 MB in the rest of backward.
# <!-- holds: round(2 * (2 - 1) / 2 * model.fc1.weight.nbytes / 1e6, 1) == 2.1 -->
# At this lesson's 10 MB/s, they need 210 ms.
# <!-- holds: four.bandwidth == 10e6 and round(1e3 * model.fc1.weight.nbytes / four.bandwidth, -1) == 210 -->
#
# ## On trial
#
# One may hear:
#
# > With DDP, `optimizer.step()` synchronises the gradients
#
# We compare a gradient of both ranks without an optimiser: after a normal backward, and after one within `no_sync()`.


# %%
def before_the_optimiser(rank, ranks):
    net = convnet.torch_model(convnet.load_weights())
    model = DDP(net)
    x, y = images[rank::ranks], labels[rank::ranks]
    with model.no_sync():
        cross_entropy(model(x), y).backward()
    alone = net.fc2.bias.grad.clone()
    net.zero_grad()
    cross_entropy(model(x), y).backward()
    return alone, net.fc2.bias.grad


(alone_0, mean_0), (alone_1, mean_1) = launch(before_the_optimiser, 2)
print("the same in both ranks after backward():", torch.equal(mean_0, mean_1))
print("the same within no_sync():", torch.equal(alone_0, alone_1))

# %% [markdown]
# **The sentence is wrong.**
# The gradients are the same when `backward()` returns; an optimiser would only read them.
# <!-- holds: [torch.equal(mean_0, mean_1), torch.equal(alone_0, alone_1)] == [True, False] -->
# (On GPUs, in the same stream.)
# To accumulate with DDP, run K - 1 micro-batches, forward and backward, within `no_sync()`, and the last one outside.
#
# ## Recap
#
# **The rule to keep: with buckets equal in bytes and backward time, a step ends at backward + one message, or at the first bucket + all messages, whichever is later; here max(100 + 26, 25 + 4 x 26) = 129 ms instead of 180.**
# <!-- holds: by_hand["4 buckets"] == max(100 + 26, 25 + 4 * 26) == min(by_hand.values()) and by_hand["waits"] == 180 -->
# <!-- holds: round(1e3 * four.layers * four.seconds) == 100 and round(1e3 * 2 * (four.latency + four.bytes / 2 / four.bandwidth), 6) == 26 -->
# <!-- holds: all(by_hand[f"{n} buckets"] == round(1e3 * max(0.1 + 2 * (0.004 + 0.36 / n / 10), 0.1 / n + n * 2 * (0.004 + 0.36 / n / 10))) for n in (2, 4, 16)) -->
#
# ### Outside
#
# By default, DDP has one bucket in its first step.
# Then it fills them in the order in which gradients became ready, to at least 25 MiB, or 1 MiB for the first; `bucket_cap_mb` sets one size for all.
# If a parameter gets no gradient on one rank, its bucket never fills, and the others wait; `find_unused_parameters=True` helps, but then the buckets stay in the reverse order of the model.
# On GPUs, NCCL carries the buckets on its own stream; `torch.profiler` shows it.
# `nn.SyncBatchNorm` uses an all-gather in its forward.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_first_bucket", None)
# quiz("distributed.quiz_order", None)
# quiz("distributed.quiz_batch_norm", None)
# BEGIN SOLUTION
quiz("distributed.quiz_first_bucket", "c")
quiz("distributed.quiz_order", "b")
quiz("distributed.quiz_batch_norm", "c")
# END SOLUTION
