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
#     title: Training on a TPU
#     number: 11
#     minutes: 58
#     needs: [tensorflow]
#     able: train with one loop on a TPU or on 8 virtual replicas; find out why replicas disagree; survive a killed run
#     runs_on: TensorFlow; 8 virtual replicas, or a TPU
# ---

# %% [markdown]
# # Training on a TPU
#
# **With a loss that is right on one machine, eight make each step too long, and nothing warns.**
# <!-- holds: abs(too_long - 8) < 0.01 -->
# What must they tell each other, so that they train the network of one machine?
# You will write a loop in TensorFlow whose code is the same on a TPU and here, where TensorFlow's `MirroredStrategy` stands in.
#
# ## What you will be able to do
#
# - write a loss that is right for several devices together;
# - say when batch normalisation needs the other devices, and what it has to send;
# - stop a training run anywhere, and go on as if nothing had happened.
#
# You need to know what a loss, a gradient and a batch are, and [*bfloat16*](3_bfloat16.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Copies of one network lie on 8 devices; each copy is a **replica**.
# A **global batch** of 64 images is dealt out, 8 to each replica.
# Each computes a loss of its own images, and the gradient of that loss.
# The framework **adds the eight gradients up**, and all replicas make the same step with the sum.
# One device would use the mean loss of all 64 images.
#
# 1. Let each replica use the mean loss of *its* 8 images.
#    How many times too long is the step?
# 2. The reds of all 64 photographs, which are normalised, have the variance 1.01.
#    Each replica takes the variance of its own 8.
#    What is the largest of the eight?
# 3. Batch normalisation subtracts the mean of a batch, and divides by its standard deviation.
#    A network with it trains on 2 replicas, and each takes mean and variance of its own 4 photographs.
#    By how many percent is the loss of the fourth step off that of one device?
#
# `preflight` says what is missing.

# %%
import tempfile

import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.tpu import preflight, same_run
from labkit_lessons.tpu.training_on_a_tpu import attempts

# STUB:
# guesses = {
#     "step": predict("tpu.too_long_a_step", None, "times"),
#     "variance": predict("tpu.largest_variance", None, ""),
#     "loss": predict("tpu.norm_gap", None, "%"),
# }
# BEGIN SOLUTION
guesses = {
    "step": predict("tpu.too_long_a_step", 1, "times"),
    "variance": predict("tpu.largest_variance", 1.1, ""),
    "loss": predict("tpu.norm_gap", 1, "%"),
}
# END SOLUTION
ready = preflight().ready

# %% [markdown]
# ## Build
#
# ### Dealing a batch
#
# `strategy` gives TensorFlow's object for a set of replicas: on the TPU, if there is one; else it cuts this CPU into eight virtual devices, and says so.
# Colab's TPU is one chip (*published* by Google), and so makes one replica: there, no replica can disagree with another, and the factor 8 is 1.
#
# A TPU's program is compiled for fixed shapes, and 50 photographs make no batch of 64.
# So we add 14 **fillers**, any images, and a **weight** for every image: 1 for a photograph, 0 for a filler.
# What does each replica get from `experimental_distribute_dataset`?

# %%
import keras
import tensorflow as tf

from labkit.tpu import models, strategy

devices = strategy(replicas=8)
images, labels = same_run.photographs()
images = images.transpose(0, 2, 3, 1)  # [N, H, W, C], as Keras likes it


def batches(devices, rows, size=64):  # -> the photographs `rows`, dealt out; how many batches
    filled = same_run.filled(rows, size)
    weight = np.float32(np.arange(len(filled)) < len(rows))
    total = weight.reshape(-1, size).sum(axis=1).repeat(size)  # of its batch, for each image
    columns = images[filled], labels[filled], weight, total
    dealt = tf.data.Dataset.from_tensor_slices(columns).batch(size, drop_remainder=True)
    return iter(devices.experimental_distribute_dataset(dealt)), tf.constant(len(filled) // size)


attempts.shares(devices, next(batches(devices, range(50))[0]))

# %% [markdown]
# Replica 6 has two photographs, and replica 7 has none.
# What would be the mean loss of no photograph?
#
# ### The loss
#
# Image $i$ has the loss $\ell_i$ and the weight $w_i$, and over *all* replicas we want
#
# $$L = \frac{\sum_i w_i\, \ell_i}{\sum_i w_i}$$
#
# Take two replicas with two images each, of which the last is a filler:
#
# ```
#                  replica 0     replica 1     added up
# losses           2     4       9     5
# weights          1     1       1     0       total 3
# terms            2/3   4/3     9/3   0       15/3 = 5
# means of its own    3             9          12, and not 5
# ```
#
# One replica cannot know the total, so it is given.
# Each returns its terms of the sum, and the framework adds.
#
# **Exercise `tpu.global_loss`**: the terms of one replica's images.
# Write one line with operators only (`*`, `/`).
# While the loop is compiled, all three are tensors without values, with which NumPy cannot work.


# %% tags=["exercise:tpu.global_loss"]
def global_loss(per_image, weight, total):
    """per_image [n], weight [n] of one replica, total: the weight of all replicas (a number, or
    the same one n times) -> terms [n]"""
    # STUB:
    # return 0 * per_image
    # BEGIN SOLUTION
    return per_image * weight / total
    # END SOLUTION


global_loss = check("tpu.global_loss", global_loss)

# %% [markdown]
# ### The loop
#
# `step` is what one replica does, and `devices.run` starts it on all.
# `tape.gradient` of several terms is the gradient of their sum, and `devices.reduce` adds up what the replicas return.
# `optimizer.apply` adds up the gradients of all replicas (the all-reduce of *What a training step costs*), and makes the step, by stochastic gradient descent (SGD) with momentum.
# What makes variables stands inside `devices.scope()`: there, each variable gets a copy on every replica.
# `@tf.function` compiles `steps` with its loop, so that a TPU need not wait for Python before each step.


# %%
def loop_on(devices, build, loss=None, rate=same_run.RATE):  # -> model, optimizer, steps
    def step(x, y, weight, total):
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            terms = (loss or global_loss)(each, weight, total)
        optimizer.apply(tape.gradient(terms, model.trainable_variables))
        return tf.reduce_sum(terms)

    @tf.function
    def steps(feed, n):  # -> the losses [n] of n steps
        losses = tf.TensorArray("float32", n)
        for i in tf.range(n):
            parts = devices.run(step, next(feed))
            losses = losses.write(i, devices.reduce("SUM", parts, axis=None))
        return losses.stack()

    with devices.scope():
        model, optimizer = build(), keras.optimizers.SGD(rate, momentum=same_run.MOMENTUM)
        optimizer.build(model.trainable_variables)  # makes the velocities: variables, too
    return model, optimizer, steps


# %% [markdown]
# ### Batch normalisation
#
# In training, a BatchNorm layer normalises each channel over the batch.
# A replica may use the **moments** (mean and variance) of its own images, or first ask the others.
# What is enough to ask, without sending images?
# Let one replica have the values -5 and -1, and another 1 and 5:
#
# ```
#                        mean   variance
# -5 -1                  -3     (4 + 4) / 2 = 4
#        1  5            +3     (4 + 4) / 2 = 4
# -5 -1  1  5             0     (25 + 1 + 1 + 25) / 4 = 13
# ```
#
# The variance of all is larger, because the means differ as well.
#
# **Exercise `tpu.synchronised_moments`**: mean and variance of each channel over all replicas, from each replica's own.
# Each replica has equally many images.
# From here on, return NumPy arrays; other libraries are refused.
# Below, your version meets the reds of 64 and 512 photographs.


# %% tags=["exercise:tpu.synchronised_moments"]
def synchronised_moments(means, variances):
    """means [R, C], variances [R, C] of R replicas -> mean [C], variance [C] over all of them"""
    # STUB:
    # return 0 * means[0], 0 * variances[0]
    # BEGIN SOLUTION
    return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)
    # END SOLUTION


synchronised_moments = check("tpu.synchronised_moments", synchronised_moments)
largest = {}
for n in 8, 64:
    shards = images[: 8 * n].reshape(8, -1, 3)  # [R, pixels, C]
    means, variances = shards.mean(axis=1), shards.var(axis=1)
    largest[n] = float(variances[:, 0].max())
    print(f"variance of red, {n} photographs a replica:", variances[:, 0].round(2))
    whole, merged = shards[..., 0].var(), synchronised_moments(means, variances)[1][0]
    print(f"  all together: {whole:.2f}, from the moments: {merged:.2f}")

# %% [markdown]
# Here, the more photographs a replica has, the nearer its variance comes to that of all.
# <!-- holds: largest[8] > largest[64] -->
#
# ### Where to go on
#
# A Colab runtime can end at any moment, so the loop writes a **checkpoint** now and then: weights, the optimizer's velocities (what the last step added), and the number of finished steps.
# The data must go on in the same place, too.
# Row $e$ of `order` says in which order epoch $e$ shows the $N$ images; it follows from a seed, so a new process can make it again.
# What fills no batch is dropped, and the next epoch begins.
# With 7 images and batches of 3, an epoch has 2 steps:
#
# ```
# order[0] = 4 0 6 2 5 1 3     step 0: 4 0 6   step 1: 2 5 1
# order[1] = 2 3 1 6 0 4 5     step 2: 2 3 1   step 3: 6 0 4
# ```
#
# **Exercise `tpu.next_batch`**: the images of the batch that comes after `step` finished steps.
# (After 3 finished steps, these are 6, 0 and 4.)


# %% tags=["exercise:tpu.next_batch"]
def next_batch(order, step, batch):
    """order [E, N], step: how many are finished, batch: images in a step -> rows [batch]"""
    # STUB:
    # return 0 * order[0, :batch]
    # BEGIN SOLUTION
    epoch, place = divmod(step, order.shape[1] // batch)
    return order[epoch, place * batch : (place + 1) * batch]
    # END SOLUTION


next_batch = check("tpu.next_batch", next_batch)
order = np.stack([np.random.default_rng(seed=e).permutation(500) for e in range(9)])
# 500 images make 15 steps of 32 an epoch: the unbroken run of 20 steps below sees two epochs.

# %% [markdown]
# ## Check
#
# One step with the 50 photographs, then 10 steps of 64: do eight devices make the network that one makes?
# And does the course's network in NumPy have the same losses?
#
# A third network computes in bfloat16, on one device, by Keras's policy `"mixed_bfloat16"`.
# Its weights stay float32.

# %%
single, losses, weights = strategy(replicas=1), {}, {}
fifty, rows = np.arange(50), np.arange(10 * 64)
network = lambda dtype="float32": models.convnet(convnet.init(seed=0), dtype)
runs = {"replicas": (devices, "float32"), "one": (single, "float32")}
for name, (where, dtype) in (runs | {"bfloat16": (single, "mixed_bfloat16")}).items():
    model, _, loop = loop_on(where, lambda dtype=dtype: network(dtype))
    parts = [loop(*batches(where, some)).numpy() for some in (fifty, rows)]
    losses[name] = np.concatenate(parts)  # of 1 + 10 steps
    weights[name] = np.concatenate([w.ravel() for w in model.get_weights()])
print(f"50 photographs: {losses['replicas'][0]:.3f}, in NumPy {same_run.IN_NUMPY[0]:.3f}")
from_numpy = np.abs(losses["replicas"] / same_run.IN_NUMPY - 1).max()
print(f"11 steps, replicas within 0.001 % of NumPy: {from_numpy < 1e-5}")
off = {name: np.abs(losses[name][1:] / losses["one"][1:] - 1).max() for name in losses}
print(f"10 steps, loss {losses['one'][1]:.2f} to {losses['one'][-1]:.2f}, compared with one:")
for name, bound in ("replicas", 1e-5), ("bfloat16", 1e-5), ("bfloat16", 0.02):
    print(f"  {name} within {100 * bound:g} %: {off[name] < bound}")
same = np.allclose(weights["replicas"], weights["one"], rtol=0, atol=1e-6)
print("all weights of the replicas within 0.000001 of one's:", same)

# %% [markdown]
# Eight is one, up to rounding: sums are added in another order.
# <!-- holds: off["replicas"] < 1e-5 < off["bfloat16"] -->
# <!-- holds: from_numpy < 1e-5 -->
# In bfloat16, where each number keeps 8 significant bits, the losses agree within 2 %, but not within 0.001 %.
# <!-- holds: off["bfloat16"] < 0.02 -->
# (A TPU may multiply float32 in bfloat16, and then agrees with NumPy in fewer digits.)
#
# ## Measure
#
# ### A mean of one's own
#
# How far does the first step go with each replica's own mean, and how far on one device?


# %%
def own_mean(per_image, weight, total):
    return per_image * weight / tf.reduce_sum(weight)


moved = {}
for name, where, loss in [("one", single, global_loss), ("own mean", devices, own_mean)]:
    model, _, steps = loop_on(where, network, loss)
    before = model.get_weights()
    steps(*batches(where, rows[:64]))
    squares = [np.sum((b - a) ** 2) for a, b in zip(before, model.get_weights(), strict=True)]
    moved[name] = np.sqrt(sum(squares))
too_long = moved["own mean"] / moved["one"]
print(f"the step is {too_long:.1f} times as long")

# %% [markdown]
# Nothing warns, and with SGD this is a learning rate eight times as large.
# <!-- holds: abs(too_long - 8) < 0.01 -->
# In *Sharding*, too, a sum stood where a mean is wanted.
# And with the 50 photographs, replica 7 would divide zero by zero.
#
# ### Small shares of a batch
#
# ResNet-8 (`resnet20` with one block a stage) has a BatchNorm layer after each convolution.
# It gets 8 photographs in a step: on one device, and on two with 4 each.
# With `"replica"` each replica uses its own moments; `"synchronised"` does what you have written.
# (The moments would count fillers, so here all batches are full.)

# %%
pair, curves, gaps = strategy(replicas=2), {}, {}
for name, where, norm in [
    ("one device", single, "replica"),
    ("each its own", pair, "replica"),
    ("synchronised", pair, "synchronised"),
]:
    keras.utils.set_random_seed(0)  # the same network each time
    _, _, steps = loop_on(where, lambda norm=norm: models.resnet20(norm, blocks=1))
    curves[name] = steps(*batches(where, rows[:32], 8)).numpy()
    gaps[name] = np.abs(curves[name] / curves["one device"] - 1)
one_digit = lambda gap: float(f"{100 * gap:.1g}") if gap > 1e-5 else 0.0
table = [[name, *map(one_digit, gaps[name])] for name in gaps]
heads = ["moments", "step 1", "step 2", "step 3", "step 4"]
note = "How far the loss is from that on one device, in %, computed. Less than 0.001 is 0."
figures.table(heads, table, note)

# %% [markdown]
# **With its own moments, each replica computes another function of the same weights; synchronised, both compute what one device would.**
# <!-- holds: np.abs(curves["synchronised"] / curves["one device"] - 1).max() < 1e-4 -->
# <!-- holds: np.abs(curves["each its own"] / curves["one device"] - 1).max() > 0.01 -->
# The price: messages for every BatchNorm layer, and waiting for the slowest.
#
# ### A killed run
#
# `train` runs 20 steps unbroken, with a checkpoint after every fifth.
# Another run stops after 13 steps, as if killed; its last checkpoint held 10, so 13 - 10 = 3 steps are lost:
#
# ```
# finished       5        10    13
#                |        |     |
# checkpoint     *        *     killed
#                         goes on with the 11th, ... 20th
# ```
#
# A fresh network goes on from that checkpoint.
# Will its losses be those of the unbroken run?


# %%
def train(until, folder):
    """Goes on from the last checkpoint in `folder`; -> {number: loss} of the steps made here"""
    model, optimizer, steps = loop_on(single, network)
    finished, losses = tf.Variable(0), {}
    state = tf.train.Checkpoint(model=model, optimizer=optimizer, finished=finished)
    keeper = tf.train.CheckpointManager(state, folder, max_to_keep=2)
    state.restore(keeper.latest_checkpoint)  # None: there is nothing yet
    for number in range(int(finished), until):
        losses[number] = steps(*batches(single, next_batch(order, number, 32), 32)).numpy()[0]
        if finished.assign_add(1) % 5 == 0:
            keeper.save()
    return losses


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as another:
    whole, killed, resumed = train(20, folder), train(13, another), train(20, another)
lost = len(killed) - min(resumed)
print(f"goes on after {min(resumed)} finished steps: {lost} of {len(killed)} were lost")
same = np.allclose([whole[number] for number in resumed], [*resumed.values()], rtol=1e-5)
print(f"the same losses as the unbroken run: {same}")

# %% [markdown]
# The run lost only time.
# <!-- holds: len(killed) == 13 and min(resumed) == 10 -->
#
# ## Explain
#
# Your guesses against the results:

# %% tags=["picture"]
from labkit.provenance import counted

_, both = synchronised_moments(np.array([[-3.0], [3.0]]), np.array([[4.0], [4.0]]))
print(f"-5, -1, 1 and 5, by your function: variance {both[0]:g}")
worst = one_digit(gaps["each its own"][-1])
results = [
    counted(too_long, "times", "comparing two steps"),
    counted(largest[8], "", "the reds of 8 photographs"),
    counted(worst, "%", "the fourth loss"),
]
figures.guesses(list(zip(guesses, guesses.values(), results, strict=True)))

# %% [markdown]
# - A mean over 8 images divides by 8 where 64 is wanted, so the sum of eight such gradients is eight times the right one.
# - In the example of moments, the variance inside each replica is 4, and the means lie 3 from their common mean, which adds $3^2$: together 13.
#   <!-- holds: both[0] == 4 + 3**2 == 13 -->
# - The first loss is off before any step is made, because other moments give other outputs.
#   <!-- holds: gaps["each its own"][0] > 1e-4 -->
#   The fourth is further off: each step starts from weights that are a little wrong already.
#   <!-- holds: gaps["each its own"][-1] > gaps["each its own"][0] -->
#
# Eight replicas on one processor say nothing of speed, and none of this was run on a TPU.
#
# ## On trial
#
# ### <a id="C05"></a>C05 on trial
#
# > Install `tensorflow-gpu`, unpack `tfds.load(..., as_supervised=True)` into (x, y) pairs, build and compile the Keras model, then open `TPUStrategy.scope()` around
# > `fit` only
#
# For Python 3.11 and later, there is one release of `tensorflow-gpu`, 2.12.0 (*published* in the Python package index).
# Pip refuses it ([a log](https://github.com/tensorflow/tensorflow/issues/62613)): it requires `python_version>"3.7"`, which no parser takes for a package's name.
#
# `tfds.load("cifar10", split="train", as_supervised=True)` gives a dataset of pairs; the cell makes one of the same structure.
# The dots leave room for `batch_size=-1`: then `tfds.load` hands back one batch of everything, as in the third line.
#
# Last the scope: `fit` alone stands inside, and then the model, too.
# Here `fit` makes four steps of 64 images, and gives their mean loss.

# %%
from functools import partial

from packaging.requirements import Requirement

train_set = tf.data.Dataset.from_tensor_slices((images, labels))
fit, attempt = attempts.fit, partial(attempts.attempt, names=globals())
attempt("""Requirement('python_version>"3.7"')""")
attempt("x_train, y_train = train_set")
attempt("x_train, y_train = train_set.batch(len(train_set)).get_single_element()")
attempt("print(x_train.shape, y_train.shape)")
outside = attempts.compiled(network())
attempt("with pair.scope(): fit(outside, train_set)")
with pair.scope():
    inside = attempts.compiled(network())
for model in (outside, inside):
    print("weights of type", type(model.trainable_variables[0].value).__name__)
ours = loop_on(single, network)[2](*batches(single, rows[:256])).numpy()
print(f"mean loss of 4 steps: fit {fit(inside, train_set):.3f}, our loop {ours.mean():.3f}")

# %% [markdown]
# Install `tensorflow` here, on a TPU `tensorflow-tpu==2.20.0`; never both: they share a folder.
# The dataset is *one* thing with 2,000 pairs in it.
# **What makes variables stands inside the scope**; then `fit` divides by the whole batch, as your loop does.
#
# **Verdict on C05: wrong.**
# From Python 3.11 on, the package cannot be installed: its requirements do not parse.
# The dataset does not come apart into x and y, unless `batch_size=-1` makes one batch of it.
# And a model that was made and compiled outside of the scope has its weights on one device, so that `fit` inside the scope is refused (here by `MirroredStrategy`).
#
# ## Recap
#
# - **The rule to keep: divide each replica's losses by the weight of the whole batch, here 64; with a mean of its own on each of n equal shares, a step of SGD is n times too long.**
#   <!-- holds: abs(too_long - 8) < 0.01 -->
# - The moments of batch normalisation are not the sum of the replicas' own: synchronise them, or accept that every replica has moments of its own.
# - A checkpoint holds weights, velocities and the number of finished steps; the order of the data follows from a seed.
#
# ### Outside
#
# Most people call `fit` in a scope.
# For long runs, labkit has this loop as a command: `python -m labkit.tpu.train --model resnet20 --steps 20 --batch 64 --checkpoint runs/resnet20`.
# Colab's TPU runtime comes without TensorFlow: `preflight` names the command that installs it, and [*Training in JAX*](12_training_in_jax.ipynb) does without.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_loss", None)
# quiz("tpu.quiz_norm", None)
# quiz("tpu.quiz_scope", None)
# BEGIN SOLUTION
quiz("tpu.quiz_loss", "c")
quiz("tpu.quiz_norm", "b")
quiz("tpu.quiz_scope", "d")
# END SOLUTION
