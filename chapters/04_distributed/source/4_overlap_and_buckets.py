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
#     minutes: 55
#     needs: []
# ---

# %% [markdown]
# # Overlap and buckets
#
# **180 ms, and for 100 of them the link does nothing.**
# In lesson 3, a rank computes its gradients in a backward of 100 ms, and then sums them over all ranks, which takes 80 ms.
# But backward does not finish all gradients at the same moment.
# It begins with the last layer, so the gradient of that layer is there long before the end.
# Why does it wait for the others?
#
# ## What you will be able to do
#
# - let gradients travel while backward still computes;
# - choose buckets: neither too many messages nor too late a start;
# - say what DDP does in a step, and where it is not equal to one big batch.
#
# You need [lesson 3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **parameter** is a tensor that is trained, such as `fc1.weight`; our ConvNet has eight.
# Its gradient is **ready** when backward adds nothing to it any more.
# A **bucket** is a list of parameters whose gradients travel together, as one message.
# A step **overlaps** if messages travel while backward still computes.

# %%
from time import perf_counter

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.distributed import CostModel, launch
from labkit.provenance import counted, measured, predicted

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
# Take a network of four layers.
# Backward needs 25 ms for each, and the last layer comes first.
# On the link, an all-reduce costs 8 ms of latency, and 18 ms for the bytes of one layer.
# One message with all four gradients takes 8 + 4 x 18 = 80 ms: the step takes 100 + 80 = 180 ms.
#
# Now each layer gets a message of its own, of 8 + 18 = 26 ms.
# A message begins when its gradient is ready and the link is free, whichever comes later:
#
# ```
# layer    ready    begins    ends
# 4          25       25        51
# 3          50       51        77
# 2          75       77       103
# 1         100      103       129 ms
# ```
#
# The four messages take 24 ms more than the one, since each pays the latency.
# Nevertheless, the step is 51 ms shorter, because 75 ms of the travelling are hidden behind backward.
#
# ### Who says that a gradient is ready?
#
# A **hook** is a function that a library calls at a certain moment.
# PyTorch calls the hook below when it has added the last part to a parameter's gradient.

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
# The layers come in reverse order; only within a convolution the bias is later than the weight.
#
# ### Buckets
#
# Should every parameter have its own message?
# If we cut each of the four layers into four pieces, a message takes 8 + 18 / 4 = 12.5 ms.
# The link then works without a pause from 6.25 ms on, when the first piece is ready, and 16 messages end at 6.25 + 16 x 12.5 = 206 ms.
# That is later than without any overlap.
# So small gradients wait for each other until their bucket is full.
#
# Let four parameters have 4, 8, 8 and 2 bytes, and a bucket at most 10.
# We begin with the last one, number 3, of 2 bytes.
# Number 2 still fits: 2 + 8 = 10.
# With number 1, it would be 18, so a new bucket begins; with number 0, that one would have 12.
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
# Two things are given to the next function.
# `backward` hands out pairs: the place of a parameter, and its gradient, as soon as it is ready.
# It computes the next gradient only when your loop asks for it.
# `start(gradients)` takes the gradients of one bucket, in a list, and begins their all-reduce.
# It returns at once, with a **handle**; `handle.wait()` waits until the bucket has travelled, and returns the list of means over all ranks.
#
# If you wait too early, backward stands still.
# If you start too late, the link does.
#
# **Exercise `distributed.overlapped`**: start each bucket as soon as it is full, and return what every `wait()` gives, bucket after bucket.
# The check needs no clock for this: it writes down the order of your calls.


# %% tags=["exercise:distributed.overlapped"]
def overlapped(backward, buckets, start):
    """(place, gradient) pairs, lists of places, a function -> for each bucket its list of means"""
    ready = {}
    handles = []
    for place, gradient in backward:
        ready[place] = gradient
        bucket = buckets[len(handles)]  # the next one to leave
        # STUB:
        # pass  # yours: start this bucket once it is full
        # BEGIN SOLUTION
        if place == bucket[-1]:
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
# ### Fewer steps, the same bytes
#
# A batch that does not fit into a rank's memory is cut into k **micro-batches**, one after the other.
# Their gradients add up, and after the last one the optimiser makes one step: that is **accumulation**.
# Nobody needs the other ranks' gradients before that, so only one sum has to travel instead of k.
#
# Let two ranks have two micro-batches each, of equal size, with mean gradients 2 and 4, and 6 and 12.
# The ranks' own means are 3 and 9, and the mean over both is 6, which is also (2 + 4 + 6 + 12) / 4.
#
# **Exercise `distributed.accumulate`**: the prediction is `x @ w`, and `slope` is the mean gradient of one micro-batch.
# Return the mean gradient over all micro-batches of all ranks, with one `dist.all_reduce(tensor)`, which sums in place.


# %% tags=["exercise:distributed.accumulate"]
def accumulate(rank, ranks, w, x, y):
    """w[D], k micro-batches x[k, b, D] and y[k, b] of each rank -> the mean gradient, everywhere"""
    total = torch.zeros_like(w)
    for x_part, y_part in zip(x, y):
        slope = x_part.T @ (x_part @ w - y_part) / len(y_part)
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
# PyTorch's `DistributedDataParallel`, **DDP** for short, wraps a model: it has such hooks, fills buckets, and sums each full bucket over all ranks while backward goes on.
# `DataParallel` of this course does the same in plain Python; after `backward`, its `finish()` waits for the buckets.
# Do both train the same network, and is it that of one process?


# %%
def train(rank, ranks, wrap):
    net = convnet.torch_model(convnet.load_weights())
    model = wrap(net)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in zip(images.chunk(4), labels.chunk(4), strict=True):  # 4 steps of 16 images
        optimiser.zero_grad()
        cross_entropy(model(x[rank::ranks]), y[rank::ranks]).backward()
        if wrap is DataParallel:
            model.finish()
        optimiser.step()
    return weights(net)


ours, theirs = launch(train, 2, DataParallel), launch(train, 2, DistributedDataParallel)
(one,) = launch(train, 1, DataParallel)
for name, other in {"DDP": theirs[0], "one process": one}.items():
    print(f"as {name}, within 0.000001:", largest_difference(ours[0], other) < 1e-6)

# %% [markdown]
# ### Where it is not one big batch
#
# **BatchNorm** is a layer that subtracts the mean of its batch from each channel, and divides by the batch's spread.
# On four ranks, each takes mean and spread of its own shard, so the network computes something else.
# A synchronised BatchNorm sums them over all ranks in the forward.
# The table has the largest difference between a gradient of four ranks, with 8 images each, and that of one batch of 32.

# %%
rows = []
for name, layers in with_and_without_batch_norm().items():
    four = launch(mean_gradients, 4, layers, images[:32], labels[:32])[0]
    one = launch(mean_gradients, 1, layers, images[:32], labels[:32])[0]
    difference = largest_difference(four, one)
    rows.append([name, f"{difference:.1g}" if difference > 1e-5 else "below 0.00001"])
figures.table(["network", "largest difference of a gradient"], rows)

# %% [markdown]
# Another trap is a rank that has fewer batches than the others: it leaves the loop, and they wait for its next message for ever.
# Within `join()`, such a rank goes along: it adds zeros to the others' sums until all are done.


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
            descend(net, 0.05)
    return len(batches), weights(net)


(three, weights_0), (five, weights_1) = launch(train_unevenly, 2)
print("batches:", three, "and", five)
print("the same weights:", largest_difference(weights_0, weights_1) == 0)

# %% [markdown]
# ## Measure
#
# At what time is each gradient of our ConvNet ready, for 64 images?

# %% tags=["timing", "nbval-ignore-output"]
TODO

# %% [markdown]
# Now the four layers, in two real ranks.
# Their backward is a sleep of 25 ms for each layer, and the link is emulated in process: 4 ms for each message, and 10 MB/s.
# A layer has 180 kB, so a ring of two ranks sums it in 2 x (4 + 90 kB / 10 MB/s) = 2 x 13 = 26 ms, as above.

# %% tags=["timing", "picture", "nbval-ignore-output"]
TODO

# %% [markdown]
# ## Explain
#
# How good were your guesses?

# %% tags=["picture", "nbval-ignore-output"]
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# TEXT
#
# ## On trial
#
# ### <a id="C44"></a>C44 on trial
#
# > With DDP, `optimizer.step()` synchronises the gradients
#
# We look at a gradient in both ranks before any optimiser is called, once after a normal backward, and once after one within `no_sync()`, which DDP has for accumulation.


# %%
def before_the_optimiser(rank, ranks):
    net = convnet.torch_model(convnet.load_weights())
    model = DistributedDataParallel(net)
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
# **Verdict on C44: wrong.**
# The gradients are the same in both ranks when `backward()` returns, and no optimiser was there; it only reads them.
#
# ## Recap
#
# - A gradient may travel from the moment it is ready, the last layer's first.
# - A bucket pays the latency once, but leaves only when its last gradient is ready.
# - **The rule to keep: with buckets, a step takes about max(backward, communication) instead of their sum; here 129 ms instead of 180 ms.**
#
# ### Outside
#
# In PyTorch you write `model = DistributedDataParallel(model)` and an ordinary loop, without `finish`.
# Its buckets have `bucket_cap_mb=25` MiB, the first one 1 MiB, so that the link starts early.
# It closes a bucket when the limit is reached, and so goes a little beyond; after the first step, it fills its buckets anew in the order in which gradients were really ready.
# A parameter that gets no gradient on one rank leaves a bucket unfilled, and others wait: `find_unused_parameters=True` looks for it in each step.
# On GPUs, NCCL sums the buckets on a stream of its own, and `torch.profiler` shows whether they overlap.
# `nn.SyncBatchNorm.convert_sync_batchnorm(model)` and `Join` are PyTorch's versions of the other two.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_first_bucket", None)
# quiz("distributed.quiz_unused", None)
# quiz("distributed.quiz_batch_norm", None)
# BEGIN SOLUTION
quiz("distributed.quiz_first_bucket", "c")
quiz("distributed.quiz_unused", "b")
quiz("distributed.quiz_batch_norm", "a")
# END SOLUTION
