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
#     title: Training in JAX
#     number: 12
#     minutes: 48
#     needs: [jax]
#     able: write a training step as a pure function; update a tree of weights; give it 1 to 64 images, and eight devices, without a change
#     runs_on: JAX; 8 virtual devices, or a TPU
# ---

# %% [markdown]
# # Training in JAX
#
# **Colab's TPU machine comes with JAX, and without TensorFlow.
# What becomes of the last lesson's training there?**
# There, a strategy copied variables, a scope said where, and each replica computed its own terms of a loss.
# Here, a step is one short function that does not speak of devices.
# Will it make the same losses, on one device and on eight?
#
# ## What you will be able to do
#
# - write a training step as a function without memory, and update a tree of weights;
# - give one compiled program batches of 1 to 64 photographs;
# - run the same step on eight devices, and repeat its random numbers anywhere.
#
# You need [*Training on a TPU*](11_training_on_a_tpu.ipynb), and from [*Sharding*](9_sharding.ipynb) what a mesh and a sharding are.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. The first line of a function appends an entry to a list, and the rest computes.
#    `jax.jit` compiles the function, and we call it 11 times, with other numbers in arrays of the same shapes.
#    How many entries has the list?
# 2. A trained network names 80 % of 500 photographs right.
#    Its last convolution hands over 64 channels of 8 x 8 numbers, as one row of 4,096: channel by channel.
#    Now we hand over the same 4,096 numbers pixel by pixel, 64 channels for each.
#    How many percent does it name right?

# %%
import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz

# STUB:
# entries_guess = predict("tpu.list_entries", None, "entries")
# right_guess = predict("tpu.reordered", None, "%")
# BEGIN SOLUTION
entries_guess = predict("tpu.list_entries", 11, "entries")
right_guess = predict("tpu.reordered", 60, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A network is a function
#
# In Keras a model is an object that holds its weights.
# In JAX, a network is a function of the weights and the images, and the weights are a dict of arrays that you hold.
# `jnp` has NumPy's functions for JAX's arrays, and `conv_relu_pool` is a convolution, ReLU, and the maximum of 2 x 2 pixels.
# The cell first asks for eight devices, because JAX fixes their number when it starts.

# %%
from labkit.tpu.jax_training import jax_devices

devices = jax_devices(8)  # the TPU's, or virtual ones
import jax
from jax import numpy as jnp

from labkit.datasets import cifar10
from labkit.tpu import same_run
from labkit_lessons.tpu.training_in_jax import pictures, reports
from labkit_lessons.tpu.training_in_jax.layers import conv_relu_pool, cross_entropy


def forward(weights, x, order="NCHW"):  # x [N, 3, 32, 32] -> logits [N, 10]
    for name in ("conv1", "conv2"):
        x = conv_relu_pool(x, weights[f"{name}.weight"], weights[f"{name}.bias"], order)
    x = x.reshape(len(x), -1)  # [N, 4096]
    x = jax.nn.relu(x @ weights["fc1.weight"].T + weights["fc1.bias"])
    return x @ weights["fc2.weight"].T + weights["fc2.bias"]


# %% [markdown]
# ### The order of the axes
#
# Our photographs have their axes in the order N, C, H, W: channel by channel, as in PyTorch.
# Keras uses N, H, W, C: pixel by pixel.
# A convolution is told the order, and is right in both.
# But `reshape` only writes down what lies in memory, in its order.
# Take two channels of 1 x 2 pixels, with the values 1, 2 and 3, 4, and an output whose weights are 10, 20, 30, 40:
#
# ```
# order        the row   the output
# N, C, H, W   1 2 3 4   10 x 1 + 20 x 2 + 30 x 3 + 40 x 4 = 300
# N, H, W, C   1 3 2 4   10 x 1 + 20 x 3 + 30 x 2 + 40 x 4 = 290
# ```
#
# In the second order, the weights 20 and 30 meet each other's values.
# They have to change places too: 10, 30, 20, 40 gives 300 again.
# The cell does this with the 64 channels of the trained network, and tries both.

# %%
trained, test = convnet.load_weights(), cifar10("sample").test
x, labels = convnet.normalise(test.images[:500]), test.labels[:500]
x_last = x.transpose(0, 2, 3, 1)  # [N, H, W, C]
w = trained["fc1.weight"].reshape(128, 64, 8, 8)  # [K, C, H, W]
moved = trained | {"fc1.weight": w.transpose(0, 2, 3, 1).reshape(128, 4096)}
logits = {
    "N, C, H, W": forward(trained, x),
    "N, H, W, C": forward(trained, x_last, "NHWC"),
    "N, H, W, C, fc1's weights moved": forward(moved, x_last, "NHWC"),
}
right = {name: int(np.sum(np.argmax(of, axis=1) == labels)) for name, of in logits.items()}
rows = [[name, count, 100 * count / 500] for name, count in right.items()]
figures.table(["order", "right, of 500", "%"], rows, "Counted, with the trained weights.")

# %% [markdown]
# The same weights name four of five photographs right, or one of ten, as a guess among ten kinds would.
# <!-- holds: all(390 <= right[name] <= 410 for name in right if name != "N, H, W, C") -->
# <!-- holds: 40 <= right["N, H, W, C"] <= 60 -->
# No shape is wrong, so nothing can warn; you need a number to compare with.
#
# On a TPU, the compiler chooses an order of its own, as [*What the compiler makes of a layer*](5_what_the_compiler_makes_of_a_layer.ipynb) showed.
# Ours is only an agreement, so we stay with N, C, H, W.
#
# ### A step by hand
#
# Take a network of one weight, w = 3, with the loss (w x 2 - 5)².
# The loss is (6 - 5)² = 1, and its derivative with respect to w is 2 x (6 - 5) x 2 = 4.
# `jax.value_and_grad(f)` is a function that returns both, for the first argument of `f`.
#
# SGD with momentum keeps a **velocity** for each weight: what the last step added to this weight.
# Let the rate be 0.1, the momentum 0.9, and the first velocity 0:
#
# ```
#        gradient            velocity                 weight
# 1st    2 x (6 - 5) x 2     0.9 x 0 - 0.1 x 4        3 - 0.4
# step   = 4                 = -0.4                   = 2.6
# 2nd    2 x (5.2 - 5) x 2   0.9 x -0.4 - 0.1 x 0.8   2.6 - 0.44
# step   = 0.8               = -0.44                  = 2.16
# ```
#
# A real network has many weights, in a **tree**: a dict or a list of arrays, or of other trees.
# Its arrays are its **leaves**.
# The gradient of a loss with respect to a tree is a tree of the same form, and so are the velocities.

# %% tags=["picture"]
pictures.trees()

# %% [markdown]
# `jax.tree.map(f, a, b)` walks through trees of one form together, calls `f` with the leaves that stand in the same place, and makes a tree of what it returns.
#
# JAX's arrays cannot be changed, so a step returns new trees.
# A function whose results follow from its inputs alone, and which changes nothing, is called **pure**.
#
# **Exercise `tpu.sgd_update`**: return the new weights and the new velocities, two trees of the form of the old ones, and leave the old ones as they are.
# The trees of `check` have several levels.
# Use JAX and NumPy, and no other library.


# %% tags=["exercise:tpu.sgd_update"]
def sgd_update(weights, velocities, gradients, rate, momentum):
    """Three trees of one form, and two numbers -> new weights, new velocities"""
    # STUB:
    # return weights, velocities
    # BEGIN SOLUTION
    new = jax.tree.map(lambda v, g: momentum * v - rate * g, velocities, gradients)
    return jax.tree.map(lambda w, v: w + v, weights, new), new
    # END SOLUTION


sgd_update = check("tpu.sgd_update", sgd_update)

# %% [markdown]
# ### One program for every batch
#
# `jax.jit(f)` compiles `f` when it is first called.
# JAX **traces** it: it calls `f` with arrays that have a shape and a type, and no values yet, and writes down what is computed with them.
# The compiler makes a program of that, which serves as long as shapes and types are the same.
#
# So a batch with fewer photographs must not have another shape.
# As in *Training on a TPU*, we fill it up to 64 images, and now hand over the number of photographs, which come first.
# Let three images have the losses 2, 4 and 9, and the last be a filler.
# The mean should be (2 + 4) / 2 = 3.
# But `per_image[:count]` cannot be compiled, because its shape would follow from a value.
# The row 2, 4, 0 has the shape of all three: `jnp.where(condition, a, b)` takes `a` at each place where the condition is true, else `b`.
#
# **Exercise `tpu.masked_loss`**: the mean loss of the first `count` images.
# `check` compiles your function with `jit`, for any `count`.
# Use `jnp` and operators, and no other library.


# %% tags=["exercise:tpu.masked_loss"]
def masked_loss(per_image, count):
    """per_image [n], count: a whole number from 1 to n, without a value yet -> a number"""
    # STUB:
    # return 0 * per_image.sum()
    # BEGIN SOLUTION
    real = jnp.arange(len(per_image)) < count
    return jnp.where(real, per_image, 0).sum() / count
    # END SOLUTION


masked_loss = check("tpu.masked_loss", masked_loss)

# %% [markdown]
# ### The step
#
# `step` takes a **state**, the weights and the velocities, and returns the next state and the loss.
# `cross_entropy` gives the loss of each image, and `masked_loss` the mean.
# The first line of `step` is for your first prediction.

# %%
traces = []


def loss_of(weights, x, labels, count):
    return masked_loss(cross_entropy(forward(weights, x), labels), count)


@jax.jit
def step(state, x, labels, count):
    traces.append(x.shape)
    weights, velocities = state
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, labels, count)
    new = sgd_update(weights, velocities, gradients, same_run.RATE, same_run.MOMENTUM)
    return new, loss


# %% [markdown]
# ## Check
#
# *Training on a TPU* made a first step with 50 photographs, and ten with 64.
# `same_run.BATCHES` says which photographs these are, and `filled` adds the fillers.
# Our losses stand beside those of that lesson's eight replicas in TensorFlow, and of `labkit.convnet`, which computes each gradient by its formula, in NumPy and in float64.
# (Both are stored, and labkit's tests compute them again.)


# %%
images, kinds = same_run.photographs()


def train(place_state, place_batch):
    weights = convnet.init(seed=0)
    state = place_state((weights, jax.tree.map(np.zeros_like, weights)))
    losses = []
    for rows in same_run.BATCHES:
        chosen = same_run.filled(rows)  # always 64 rows
        x, labels = place_batch((images[chosen], kinds[chosen]))
        state, loss = step(state, x, labels, len(rows))
        losses.append(float(loss))
    return np.array(losses)


one = train(jax.device_put, jax.device_put)
entries = len(traces)
programs = {"NumPy": same_run.IN_NUMPY, "TensorFlow": same_run.ON_REPLICAS, "JAX": one}
gap = reports.losses(programs)
print(f"apart by less than 0.001 %: {gap < 1e-5}; entries in the list: {entries}")

# %% [markdown]
# **Three programs make the same 11 losses, each within 0.001 % of the others.**
# <!-- holds: gap < 1e-5 -->
# They share weights, photographs and rates, but no code of the step: a mistake in one would show.
#
# The list has one entry after 11 calls, although the batches had 50 and 64 photographs.
# <!-- holds: entries == 1 and len({len(rows) for rows in same_run.BATCHES}) == 2 -->
# Python ran the lines of `step` once, to trace them; each later call ran the compiled program.
# The number of photographs is traced without its value, too.
#
# ## Measure
#
# ### Eight devices
#
# Under TensorFlow's strategy, the step was written for one replica's share, so its loss had to know the weight of *all* replicas.
# What must change in our `step` for eight devices?

# %% tags=["picture"]
pictures.two_views()

# %% [markdown]
# Nothing: `step` takes the mean of all 64 images, wherever they lie.
# We only say where, with shardings: the batch is cut over the devices (`P("data")`), and each device has a whole copy of the state (`P()`).
# `jit` compiles the step for this placement, and inserts the sums over the devices, as in [*What sharding sends*](10_what_sharding_sends.ipynb).

# %%
from functools import partial

from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
everywhere, cut = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
eight = train(partial(jax.device_put, device=everywhere), partial(jax.device_put, device=cut))
share = jax.device_put(images[:64], cut).addressable_shards[0].data.shape
off_eight = np.abs(eight / one - 1).max()
print(f"each device holds {share}, of 64 images")
print(f"losses on {len(devices)} devices within 0.001 % of those on one: {off_eight < 1e-5}")
print("entries in the list:", len(traces))

# %% [markdown]
# The same function gives the same losses.
# <!-- holds: off_eight < 1e-5 -->
# It was traced a second time, because its inputs now lie on a mesh, and a program is compiled for their placement, too.
# <!-- holds: len(traces) == 2 -->
#
# With `shard_map`, the function would be written for a share; then JAX adds up the gradients of shared weights by itself, and the mean is yours to write: the trap of *Sharding*.
#
# ### Random numbers without a memory
#
# A network often learns more from its photographs if some are mirrored at random.
# NumPy's generator remembers how often it was asked, but a pure function remembers nothing.
# In JAX, random numbers follow from an input, the **key**: the same key gives the same numbers each time.
# `fold_in(key, number)` makes another key, one for each step.


# %%
def mirrored(key, x):  # about half of the photographs, left and right exchanged
    flip = jax.random.bernoulli(key, 0.5, (len(x),))
    return jnp.where(flip[:, None, None, None], x[..., ::-1], x), flip


key = jax.random.key(seed=0)
batch = images[:64]
tries = {
    "key": jax.jit(mirrored)(key, batch)[1],
    "key, a second time": jax.jit(mirrored)(key, batch)[1],
    "key, on all devices": jax.jit(mirrored)(key, jax.device_put(batch, cut))[1],
    "fold_in(key, 1)": jax.jit(mirrored)(jax.random.fold_in(key, 1), batch)[1],
    "fold_in(key, 2)": jax.jit(mirrored)(jax.random.fold_in(key, 2), batch)[1],
}
alike = {name: int(np.sum(flip == tries["key"])) for name, flip in tries.items()}
rows = [[name, str(np.int8(flip[:12])), alike[name]] for name, flip in tries.items()]
heads = ["key", "the first 12 (1: mirrored)", "of 64, treated as with `key`"]
figures.table(heads, rows, "Counted.")

# %% [markdown]
# A key that is used in every step mirrors the same places of every batch: an easy mistake.
# <!-- holds: alike["key, a second time"] == 64 -->
# Folded with the number of the step, it gives others in each step; in about half of the places they agree by chance.
# <!-- holds: all(20 <= alike[f"fold_in(key, {n})"] <= 44 for n in (1, 2)) -->
# Eight devices mirror the same photographs as one.
# <!-- holds: alike["key, on all devices"] == 64 -->
# So a killed run needs nothing more in its checkpoint: the seed and the number of finished steps make the key again.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import counted

percent = 100 * right["N, H, W, C"] / 500
results = [
    ("entries", entries_guess, counted(entries, "entries", "the list")),
    ("pixel by pixel", right_guess, counted(percent, "%", "500 photographs")),
]
figures.guesses(results)

# %% [markdown]
# - What a function does besides, such as appending, happens while it is traced, not when the program runs.
# - The weights of fc1 belong to the order in which its inputs come; in another order, they were no better than a guess.
#   <!-- holds: 8 <= percent <= 12 -->
#
# None of this was run on a TPU.
# There, JAX by default rounds the factors of float32 products and convolutions to bfloat16 ([its documentation](https://docs.jax.dev/en/latest/201/precision.html)), so expect the losses to agree in fewer digits.
# `jax.default_matmul_precision("highest")` asks for nearly the precision of float32.
#
# ## On trial
#
# The chapter's claim on training, [C05](11_training_on_a_tpu.ipynb#C05), was tried in *Training on a TPU*.
#
# ## Recap
#
# - **The rule to keep: a pure step of the whole batch, traced once for one device and once for a mesh of 8, serves both unchanged, and here its losses agree within 0.001 %.**
#   <!-- holds: off_eight < 1e-5 and len(traces) == 2 -->
# - What changes from call to call is an input: the weights, the velocities, how many images count, the key.
#
# ### Outside
#
# Few people write the update themselves: Optax has it, Flax has layers, and MaxText trains language models.
# Colab's TPU image brings Optax and Flax, beside JAX and Keras ([its list of packages](https://github.com/googlecolab/backend-info), August 2026).
# Optax, Flax and MaxText were not run here.
# Keras on JAX was: `KERAS_BACKEND=jax python -m labkit.tpu.train --model resnet20 --steps 20 --batch 64` needs no TensorFlow.
# Left out were checkpoints, and BatchNorm, whose moments, under `jit`, are those of the whole batch.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_pure", None)
# quiz("tpu.quiz_whole_batch", None)
# quiz("tpu.quiz_key", None)
# BEGIN SOLUTION
quiz("tpu.quiz_pure", "a")
quiz("tpu.quiz_whole_batch", "d")
quiz("tpu.quiz_key", "c")
# END SOLUTION
