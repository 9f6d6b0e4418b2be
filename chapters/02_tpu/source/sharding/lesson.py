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
#     title: Sharding
#     number: 9
#     minutes: 50
#     needs: [jax]
#     able: say what each device holds; write a layer for many devices; notice a gradient that is too large
#     runs_on: eight virtual devices of the CPU
# ---

# %% [markdown]
# # Sharding
#
# **Two layers need 34.4 GB, and a TPU v5e has 17.2.**
# <!-- holds: round(2 * 16384 * 65536 * 16 / 1e9, 1) == 34.4 and round(16 * 2**30 / 1e9, 1) == 17.2 -->
# Take two layers with 16,384 x 65,536 weights each.
# In training, a weight takes 16 bytes: 2 for itself and 2 for its gradient in bfloat16, 4 for its float32 master copy, as in [*What stays in float32*](4_what_stays_in_float32.ipynb), and 8 for Adam's two float32 moments.
# (All in float32, without a copy, it takes 4 + 4 + 8 = 16, too.)
# That makes 2 x 16,384 x 65,536 x 16 bytes = 34.4 GB, but the chip has 16 GiB, which are 17.2 GB (published).
# So no v5e can hold these layers alone: they must be cut.
# How do you cut a network over several chips, so that the result stays the same?
#
# ## What you will be able to do
#
# - say what each device holds of an array;
# - write two layers that run on many devices, with the one exchange that they need;
# - notice a gradient that is silently too large.
#
# You need the lessons *What a training step costs* and *A product in a grid*.
# No TPU was used: the devices are virtual ones of your CPU, which run the same code.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **mesh** is a grid of devices whose axes have names.
# Ours has 4 x 2 devices: four along the axis `data`, two along the axis `model`.
# A **spec**, written `P(...)`, has an entry for each dimension of an array: the axis of the mesh that cuts it, or `None`.
#
# 1. A float32 matrix [1024, 512] has 2 MiB.
#    With the spec `P("data", None)`, how many MiB do all eight devices hold together?
# 2. Eight devices have 8 images each, and all have the same weights.
#    In a program of JAX, each computes the gradient of the mean loss of its own images, and `pmean` averages the eight gradients.
#    By what is the right gradient multiplied in the result, if by anything?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit_lessons.tpu.sharding import mesh_pictures, virtual

# STUB:
# held_guess = predict("tpu.held_together", None, "MiB")
# factor_guess = predict("tpu.averaged_gradient", None, "times")
# BEGIN SOLUTION
held_guess = predict("tpu.held_together", 2, "MiB")
factor_guess = predict("tpu.averaged_gradient", 1, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Who holds what
#
# Let us cut a 4 x 4 matrix over four devices.
# They form a mesh of 2 x 2, with their numbers in this order:
#
# ```
#                     place 0 along model   place 1 along model
# place 0 along data       device 0              device 1
# place 1 along data       device 2              device 3
# ```
#
# The spec `P("data", "model")` cuts the rows along `data` and the columns along `model`.
# So device 2, with place 1 along `data` and 0 along `model`, holds the lower left block: rows 2 and 3, columns 0 and 1.
#
# The spec `P("data", None)` leaves the columns whole.
# Devices 2 and 3 both have place 1 along `data`, so both hold rows 2 and 3.
# **Along an axis that the spec does not name, devices hold equal copies.**

# %% tags=["picture"]
specs = {
    'P("data", "model")': ("data", "model"),
    'P("data", None)': ("data", None),
    'P(None, "model")': (None, "model"),
    "P(None, None)": (None, None),
}
mesh_pictures.blocks(specs)

# %% [markdown]
# An axis of the mesh with n devices cuts a dimension into n equal parts, numbered from 0.
# For example, 6 rows on 3 devices make parts of 2 rows: place 0 holds rows 0 and 1, place 1 rows 2 and 3.
# JAX refuses to cut 63 rows on 8 devices, since 8 does not divide 63.
#
# **Exercise `tpu.block`**: return the block of `a[R, C]` that one device holds.
# `spec` has two entries, for rows and columns: `"data"`, `"model"` or `None`.
# `mesh` is a dict with the size of each axis, and `place` one with the device's place along it.
# All sizes divide without a remainder.
# In this exercise, arrays are NumPy arrays, and `check` takes no other library.


# %% tags=["exercise:tpu.block"]
def block(a, spec, mesh, place):
    # STUB:
    # return None
    # BEGIN SOLUTION
    slices = []
    for length, axis in zip(a.shape, spec, strict=True):
        if axis is None:
            slices.append(slice(None))
        else:
            part = length // mesh[axis]
            start = place[axis] * part
            slices.append(slice(start, start + part))
    return a[tuple(slices)]
    # END SOLUTION


block = check("tpu.block", block)

# %% [markdown]
# JAX fixes how many devices there are when it starts, so we ask for eight before anything else.
# A **`NamedSharding`** joins a mesh and a spec, and `device_put` places an array accordingly.
# Does each device hold what your function says?
# And how many MiB do eight devices hold of the matrix of the prediction?

# %%
devices = virtual.devices()

import jax
from jax import numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), devices=devices)
a = np.arange(48.0, dtype="float32").reshape(8, 6)
agree = 0
for spec in specs.values():
    placed = jax.device_put(a, NamedSharding(mesh, P(*spec)))
    for place, held in virtual.shards(placed):  # of each device
        agree += np.array_equal(block(a, spec, mesh.shape, place), held)
print(f"{agree} of {len(specs) * 8} blocks agree")
matrix = np.ones((1024, 512), "float32")
virtual.held(matrix, {name: NamedSharding(mesh, P(*spec)) for name, spec in specs.items()})

# %% [markdown]
# Only the first spec spreads the matrix without copies.
# With `P("data", None)`, each quarter lies on two devices, so all together hold 4 MiB.
# <!-- holds: 2 * matrix.nbytes / 2**20 == 4 -->
# Copies cost memory, but they save exchange: what a device already holds, nobody has to send to it.
#
# ### Adding up what lies apart
#
# What happens to a product when its matrices are cut?
# Take 1 x 5 + 2 x 6 + 3 x 7 + 4 x 8 = 70.
# Device 0 holds the first two terms, and device 1 the others:
#
# ```
# device 0    1 x 5 + 2 x 6 = 17
# device 1    3 x 7 + 4 x 8 = 53
#             sum             70
# ```
#
# Neither knows the result, so they must exchange something: here, the parts 17 and 53.
# An operation in which all devices along an axis exchange data is a **collective**.
# The next cell shows four of JAX's.
# **`jax.shard_map`** runs a function on every device: `in_specs` cut its arguments, and `out_specs` say how the results are put together.
# Inside the function, an array is the device's own block.
# (`jax.jit`, around it in later cells, compiles the whole before it runs.)

# %%
from functools import partial

from jax.lax import all_gather, pmean, psum, psum_scatter

pair = jax.make_mesh((2,), ("model",), devices=devices[:2])
collectives = {
    "psum": partial(psum, axis_name="model"),
    "pmean": partial(pmean, axis_name="model"),
    "all_gather": partial(all_gather, axis_name="model", tiled=True),
    "psum_scatter": partial(psum_scatter, axis_name="model", tiled=True),
}
four_numbers = np.array([1.0, 2.0, 3.0, 4.0], "float32")
virtual.results(collectives, pair, four_numbers, "model", P("model"))

# %% [markdown]
# `psum` adds the arrays of all devices, number by number, and gives everyone the sum; `pmean` gives everyone the mean.
# `all_gather` puts the arrays one after the other.
# `psum_scatter` adds like `psum`, but each device receives only its part of the sum.
# (With `tiled=True`, the parts lie in a row, without a further dimension.)
# So `psum` does what `psum_scatter` and then `all_gather` would do.
#
# ### Two layers, cut by their weights
#
# With **tensor parallelism**, the devices divide the weights of a layer.
# In two layers, a hidden one with ReLU and one behind it, a single exchange is enough, if the weights are cut in the right direction:

# %% tags=["picture"]
mesh_pictures.two_layers()

# %% [markdown]
# A device with some columns of `w1` can compute its hidden units completely, ReLU included, for it has the whole `x`.
# Each result is a sum over all hidden units, and the device with the matching rows of `w2` has its own units' terms.
# These parts must be added up.
#
# **Exercise `tpu.tensor_parallel_mlp`**: write the function that each device runs.
# It gets the whole `x[B, D]` and `b2[K]`, and its own parts of `w1`, `b1` and `w2`.
# With whole arrays, the result would be `relu(x @ w1 + b1) @ w2 + b2`, and every device must return exactly this.
# The devices lie along the axis `"model"`.
# Write with `jax.nn.relu` and a collective; `check` takes no library but JAX.
# (`check` runs it with `jax.vmap`, which has the same collectives, on up to eleven devices.)


# %% tags=["exercise:tpu.tensor_parallel_mlp"]
def tensor_parallel_mlp(x, w1, b1, w2, b2):
    # STUB:
    # return None
    # BEGIN SOLUTION
    hidden = jax.nn.relu(x @ w1 + b1)  # this device's units
    part = hidden @ w2
    return jax.lax.psum(part, "model") + b2
    # END SOLUTION


tensor_parallel_mlp = check("tpu.tensor_parallel_mlp", tensor_parallel_mlp)

# %% [markdown]
# ## Check
#
# Run your function on eight devices, each with 64 of 512 hidden units, and compare it with one device.
# A dimension behind the last entry of a spec stays whole: `P("model")` cuts the rows of `w2` alone, and `P()` cuts nothing.

# %%
rng = np.random.default_rng(0)
sizes = {"x": (64, 32), "w1": (32, 512), "b1": (512,), "w2": (512, 10), "b2": (10,)}
arrays = [0.1 * rng.standard_normal(size).astype("float32") for size in sizes.values()]

row = jax.make_mesh((8,), ("model",), devices=devices)
cuts = (P(), P(None, "model"), P("model"), P("model"), P())
on_eight = jax.jit(jax.shard_map(tensor_parallel_mlp, mesh=row, in_specs=cuts, out_specs=P()))
x, w1, b1, w2, b2 = arrays
on_one = jax.nn.relu(x @ w1 + b1) @ w2 + b2
print("equal, within 0.00001:", bool(np.allclose(on_eight(*arrays), on_one, atol=1e-5)))
weights = sum(array.nbytes for array in arrays[1:4])
print(f"cut weights: {weights:,} B, on each device {weights // 8:,} B (counted)")

# %% [markdown]
# The result is the same, and each device holds an eighth of the weights that are cut.
# That is how layers find room that are too large for one chip.
#
# ## Measure
#
# With **data parallelism**, the devices divide the images instead, and each has all weights.
# Since all devices have equally many images, the mean over all images is the mean of the devices' means, and so is its gradient.
# `jax.grad(loss)` is a function for the gradient of `loss` with respect to its first argument, here `w`.
# So the code seems to need one line more: each device takes the gradient of its own mean loss, and `pmean` averages.


# %%
def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def averaged(w, x, y):
    own = jax.grad(loss)(w, x, y)  # of this device's images
    return pmean(own, "data")


y = rng.standard_normal((64, 10)).astype("float32")
w = rng.standard_normal((32, 10)).astype("float32")
right = jax.grad(loss)(w, x, y)  # one device, all images

line = jax.make_mesh((8,), ("data",), devices=devices)
cut = {"mesh": line, "in_specs": (P(), P("data"), P("data")), "out_specs": P()}
got = jax.jit(jax.shard_map(averaged, **cut))(w, x, y)
factor = float(np.median(got / right))  # the middle one of all quotients
print(f"the gradient is {factor:.3f} times the right one (counted)")

# %% [markdown]
# The gradient has the right shape and direction, and nothing complains, but it is eight times too large.
# <!-- holds: round(factor, 3) == 8 -->
# With plain gradient descent, every step of a training is eight times too long.
# (Adam divides by the size of the gradients, and so hides the factor.)
#
# Where does the factor come from?
# We leave `pmean` out, and ask JAX which sums over devices its program has.


# %%
def summed(w, x, y):
    return jax.grad(loss)(w, x, y)  # without any collective of ours


print("sums in the program:", virtual.sums_in(jax.shard_map(summed, **cut), w, x, y))
got = jax.jit(jax.shard_map(summed, **cut))(w, x, y)
factor_without = float(np.median(got / right))
print(f"without pmean: {factor_without:.3f} times the right one (counted)")

# %% [markdown]
# The sum was there before we asked for it: JAX calls it `psum_invariant`.
# The weights come in with the spec `P()`, so JAX knows that all devices have the same ones.
# To change such a weight means to change it on all devices, and so its gradient is the sum of what all of them contribute.
# JAX adds them up by itself, whether or not we do.
#
# Here is the same with one weight and two devices, whose losses are 3w and 5w:
#
# ```
# what                         device 0     device 1
# gradient of its own loss        3            5
# what grad returns               8            8     3 + 5
# after pmean                     8            8     the mean
# right: of the mean loss 4w      4            4
# ```
#
# The mean of equal numbers is the number itself, so `pmean` came too late.
# **The cure is to average the loss, and not its gradient**: the loss of each device is its own, so there `pmean` does its work.


# %%
def cured(w, x, y):
    return jax.grad(lambda w: pmean(loss(w, x, y), "data"))(w)


ways = {"pmean of the gradient": averaged, "no pmean": summed, "gradient of pmean": cured}
rows = []
for name, way in ways.items():
    got = jax.jit(jax.shard_map(way, **cut))(w, x, y)
    rows.append([name, round(float(np.median(got / right)), 3), np.allclose(got, right, atol=1e-5)])
figures.table(["eight devices", "times the right gradient", "equal within 0.00001"], rows)

# %% [markdown]
# Now the gradient is right.
# <!-- holds: [row[1] for row in rows] == [8, 8, 1] and [bool(row[2]) for row in rows] == [False, False, True] -->
# JAX adds the sum because `shard_map` keeps track of which arrays are equal on all devices (`check_vma=True`, the default).
# With `check_vma=False`, it does not know, so the gradient stays the device's own, and `pmean` of it is right.
# The cure is then wrong: it leaves each device with its own gradient.
# So the same line is right in one program and eight times too large in another.
# Before you train, compare one gradient with that of one device.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import counted

placed = jax.device_put(matrix, NamedSharding(mesh, P("data", None)))
together = sum(shard.data.nbytes for shard in placed.addressable_shards)
results = [
    ("held together", held_guess, counted(together / 2**20, "MiB", "JAX's shards")),
    ("gradient", factor_guess, counted(round(factor, 3), "times", "eight virtual devices")),
]
figures.guesses(results)

# %% [markdown]
# Both guesses are about copies.
# Two copies of a quarter of the matrix doubled its memory, and eight copies of the weights made their gradient a sum.
#
# **How can the layers of the opening be cut?**
# Cut by their weights over four chips, they take 34.4 / 4 = 8.6 GB on each, and fit.
# <!-- holds: round(2 * 16384 * 65536 * 16 / 4 / 1e9, 1) == 8.6 -->
# Cut by images alone, every chip would still need all 34.4 GB; the next lesson's FSDP cuts these, too.
# But each `psum` sends something: how much, says *What sharding sends*.
#
# ## On trial
#
# The claims on data and tensor parallelism are tried in chapter 04, where processes exchange real messages.
#
# ## Recap
#
# **The rule to keep: in JAX 0.7.1's `shard_map`, the gradient of weights that n devices share comes summed, n times too large for a mean; so differentiate `pmean(loss)`, and compare one gradient with one device.**
# <!-- holds: round(factor, 3) == 8 == len(devices) -->
#
# ### Outside
#
# - It goes without `shard_map`, too.
#   Place weights and images with `NamedSharding`, call `jax.jit(step)`, and the compiler puts the collectives in; then this factor cannot arise.
# - `jax.debug.visualize_array_sharding(x)` draws who holds what, as our first picture does.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_replicated", None)
# quiz("tpu.quiz_scatter", None)
# quiz("tpu.quiz_too_large", None)
# BEGIN SOLUTION
quiz("tpu.quiz_replicated", "b")
quiz("tpu.quiz_scatter", "c")
quiz("tpu.quiz_too_large", "d")
# END SOLUTION
