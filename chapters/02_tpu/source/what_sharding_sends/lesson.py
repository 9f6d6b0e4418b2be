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
#     title: What sharding sends
#     number: 10
#     minutes: 50
#     needs: [jax]
#     able: predict the bytes of each collective; choose a mesh by what it sends; read what the compiler chose
#     runs_on: JAX, and a snapshot of the answers of Google's TPU compiler
# ---

# %% [markdown]
# # What sharding sends
#
# **25.2 MB or 3.1 MB, for the same training step.**
# <!-- holds: [round(float(reports.total(made[cut], ring_bytes)), 1) for cut in ("by images", "by weights")] == [25.2, 3.1] -->
# Four chips of a TPU v5e share a training step of two layers, from 1,024 to 4,096 to 1,024 features, in bfloat16.
# The batch has 1,024 images, one in each row.
# If the chips share the images, each has to send 25.2 MB; if they share the weights, 3.1 MB (predicted).
# Where do these bytes come from, when is it the other way round, and does the compiler find the better way by itself?
#
# ## What you will be able to do
#
# - predict the bytes of each exchange;
# - choose a mesh by what it sends;
# - read in a compiled program what the compiler chose.
#
# You need the lesson *Sharding*.
# Google's compiler says here what it would send on a **slice** of 2 x 2 chips, but nothing ran on a real one.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. A mesh of 2 x 2 cuts both: two halves of the images, two halves of the weights.
#    How many MB does each chip send?
# 2. For two layers, we tell the compiler how its inputs are cut: the rows of `x`, the columns of `w1`, and the rows of `w2`, over four chips.
#    The rest it may choose itself.
#    Does each chip send as much as in our own version, or how many times as much?

# %%
import jax
import numpy as np
from jax import numpy as jnp
from jax.lax import all_gather, pmean, psum, psum_scatter
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from labkit import check, figures, hint, predict, quiz
from labkit.tpu import compile_for_tpu
from labkit_lessons.tpu.what_sharding_sends import reports, slice_pictures

B, D, F = 1024, 1024, 4096  # rows, features, hidden features
shapes = [(B, D), (D, F), (F, D)]  # of x, w1 and w2

# STUB:
# both_guess = predict("tpu.sent_on_both", None, "MB")
# choice_guess = predict("tpu.compilers_choice", None, "times")
# BEGIN SOLUTION
both_guess = predict("tpu.sent_on_both", 14, "MB")
choice_guess = predict("tpu.compilers_choice", 1, "times")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Around a ring, by hand
#
# Four chips have an array of 8 numbers each, and all of them need the sum.
# How much must each chip send?
#
# Put the chips in a **ring**, where each sends only to the next one, and cut the array into four parts of 2 numbers.
# One part goes around like this, each chip adding its own numbers to it:
#
# ```
# step 1    chip 0 sends its part to chip 1, which adds its own
# step 2    chip 1 sends the sum of two to chip 2, which adds
# step 3    chip 2 sends the sum of three to chip 3, which adds:
#           its sum of four is complete
# ```
#
# The other three parts do the same, each from another chip, so that all links are busy.
# After 3 steps, each chip has sent 3 parts, 6 numbers, and has one complete part.
# This much is a **reduce-scatter** (`psum_scatter` in JAX).
#
# In 3 further steps, the complete parts go around, until each chip has all four: an **all-gather**.
# Both together are an **all-reduce** (`psum`), and each chip has sent 6 + 6 = 12 numbers.
#
# With n chips and an array of S bytes:
#
# | collective | a chip sends | its result on a chip |
# |---|---|---|
# | reduce-scatter | S (n - 1) / n | S / n |
# | all-gather | S (n - 1) / n | S |
# | all-reduce | 2 S (n - 1) / n | S |
#
# The compiler writes only the result's bytes into a program, so for a reduce-scatter you first have to find S.
#
# **Exercise `tpu.ring_bytes`**: compute the bytes that a chip sends.
# `kind` is `"all-reduce"`, `"all-gather"` or `"reduce-scatter"`; `result[k]` holds the bytes of several results on a chip, and `devices[k]` how many chips exchange each.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:tpu.ring_bytes"]
def ring_bytes(kind, result, devices):
    # STUB:
    # return None
    # BEGIN SOLUTION
    share = (devices - 1) / devices
    if kind == "all-reduce":
        return 2 * share * result
    if kind == "all-gather":
        return share * result
    return (devices - 1) * result  # the array has devices * result bytes
    # END SOLUTION


ring_bytes = check("tpu.ring_bytes", ring_bytes)

# %% [markdown]
# ### Three ways to cut a step
#
# Now the step of the opening, written for `shard_map` in three ways.
# Each takes the gradient of the loss for both weights, as the lesson *Sharding* found it right: `pmean` of the loss, not of its gradient.
#
# - By images: each chip has its rows of `x` and all weights.
#   Along `data`, the gradients are added up.
# - By weights: each chip has all rows, its columns of `w1`, and its rows of `w2`.
#   Along `model`, the results of the second product are added up.
# - By both: a mesh of 2 x 2 does both.


# %%
def layers(x, w1, w2):
    return jax.nn.relu(x @ w1) @ w2


def loss(y):
    return jnp.mean(y.astype("float32") ** 2)


def by_images(x, w1, w2):
    return jax.grad(lambda w: pmean(loss(layers(x, *w)), "data"))((w1, w2))


def by_weights(x, w1, w2):
    return jax.grad(lambda w: loss(psum(layers(x, *w), "model")))((w1, w2))


def by_both(x, w1, w2):
    return jax.grad(lambda w: pmean(loss(psum(layers(x, *w), "model")), "data"))((w1, w2))


# %% [markdown]
# Now we compile the three for a slice of 2 x 2 chips.
# An **`AbstractMesh`** has names and sizes, but no devices: it is enough for the compiler.
# (These answers are stored.)
# The picture shows who will exchange what with whom on the mesh of 2 x 2.

# %% tags=["picture"]
meshes = {"by images": {"data": 4}, "by weights": {"model": 4}, "by both": {"data": 2, "model": 2}}
cuts = {  # of x, w1 and w2
    "by images": (P("data"), P(), P()),
    "by weights": (P(), P(None, "model"), P("model")),
    "by both": (P("data"), P(None, "model"), P("model")),
}


def compiled(f, cut, mesh):
    options = {"shardings": cut, "mesh": mesh, "source": "snapshot"}
    return compile_for_tpu(f, shapes, "v5e:2x2", **options)


made = {}
for name, body in {"by images": by_images, "by weights": by_weights, "by both": by_both}.items():
    x, *weights = cuts[name]  # the gradients lie as the weights do
    chips = AbstractMesh(tuple(meshes[name].values()), tuple(meshes[name]))
    f = jax.shard_map(body, mesh=chips, in_specs=cuts[name], out_specs=tuple(weights))
    made[name] = compiled(f, cuts[name], meshes[name])
slice_pictures.rings()

# %% [markdown]
# Let us work out what the results of the collectives should have, at 2 bytes for a number.
# By images, both gradients are added up: 2 (D F + F D) bytes.
# By weights, the results [B, D] are: 2 B D bytes.
# By both, each chip has half of the weights, and half of the rows, so both halve.
# (In the table, the smaller result stands first.)

# %%
formulas = {
    "by images": [2 * (D * F + F * D)],
    "by weights": [2 * B * D],
    "by both": [2 * (D * F + F * D) // 2, 2 * B * D // 2],
}
reports.exchanges(made, formulas, ring_bytes)

# %% [markdown]
# The compiled bytes equal the formula, to the byte.
# <!-- holds: all(sorted(one.bytes for one in made[cut].collectives) == sorted(formulas[cut]) for cut in made) -->
# **Cut by images, the chips exchange gradients; cut by weights, they exchange results.**
#
# On the mesh of 2 x 2, the gradients' all-reduce takes place between two chips, where (n - 1) / n is only 1/2.
# So it sends 8.4 MB, a third of 25.2, although its array has half of the bytes.
# <!-- holds: round(max(reports.sent_of_each(made["by both"], ring_bytes)) / 1e6, 1) == 8.4 -->
#
# **Exercise `tpu.mesh_bytes`**: compute for several meshes what a chip sends in this step.
# `B`, `D` and `F` are numbers, `data[k]` and `model[k]` the sizes of the two axes; all arrays are bfloat16.
# An axis of size 1 needs no exchange.


# %% tags=["exercise:tpu.mesh_bytes"]
def mesh_bytes(B, D, F, data, model):
    # STUB:
    # return None
    # BEGIN SOLUTION
    gradients = 2 * (D * F + F * D) / model  # bytes on a chip
    results = 2 * B * D / data
    return 2 * (data - 1) / data * gradients + 2 * (model - 1) / model * results
    # END SOLUTION


mesh_bytes = check("tpu.mesh_bytes", mesh_bytes)

# %% [markdown]
# ## Check
#
# Does your function give what the compiled programs send?
# And which cut is best for another batch?

# %% tags=["picture"]
data, model = np.array([4, 1, 2]), np.array([1, 4, 2])
yours = mesh_bytes(B, D, F, data, model)
sent = [float(reports.total(program, ring_bytes)) * 1e6 for program in made.values()]
print("equal:", bool(np.allclose(yours, sent, rtol=1e-9)))
slice_pictures.over_the_batch(mesh_bytes, D, F, [256, 1024, 4096, 8192, 16384, 65536])

# %% [markdown]
# Cut by images, the bytes do not depend on the batch; cut by weights, they grow with it.
# These two are equal where 2 (D F + F D) = 2 B D, that is at B = 2F, 8,192 rows.
# <!-- holds: np.ptp(mesh_bytes(8192, D, F, np.array([4, 1]), np.array([1, 4]))) < 1 -->
# But there, the mesh of both sends even less: 16.8 MB instead of 25.2.
# <!-- holds: [round(float(one) / 1e6, 1) for one in mesh_bytes(8192, D, F, np.array([2, 4]), np.array([2, 1]))] == [16.8, 25.2] -->
# **On four chips, a chip sends the fewest bytes if cut by weights up to F = 4,096 rows, by images from 4F = 16,384 rows, and by both in between.**
# <!-- holds: np.ptp(mesh_bytes(4096, D, F, np.array([2, 1]), np.array([2, 4]))) < 1 and np.ptp(mesh_bytes(16384, D, F, np.array([2, 4]), np.array([2, 1]))) < 1 -->
# (In a deep network, the gradient of `x` is needed, too.
# Then there are two all-reduces along `model`, and each of these batches is half as large.
# And these are bytes, not times: a ring of four can use two links of a chip, a pair only one.)
#
# ## Measure
#
# ### Rows in, rows out
#
# In a deep network, a layer gets its `x` from a layer before, which may leave the rows cut.
# With **sequence parallelism**, a layer first gathers the rows, and at the end each chip keeps its rows of the sum only.
# Then everything between such layers, such as a normalisation, works on a quarter of the rows.
# Here are our two layers so, without a gradient.

# %%
by_rows = (P("model"), P(None, "model"), P("model"))  # of x, w1 and w2


def rows_in_rows_out(x, w1, w2):
    whole = all_gather(x, "model", tiled=True)
    return psum_scatter(layers(whole, w1, w2), "model", tiled=True)


four = {"model": 4}
chips = AbstractMesh((4,), ("model",))
f = jax.shard_map(rows_in_rows_out, mesh=chips, in_specs=by_rows, out_specs=P("model"))
ours = {"rows": compiled(f, by_rows, four)}
reports.exchanges(ours, {"rows": [2 * B * D // 4, 2 * B * D]}, ring_bytes)

# %% [markdown]
# The reduce-scatter's result has a quarter of the bytes, and yet both send the same: the array that is added up has four times its result.
# Together they send as much as one all-reduce.
# <!-- holds: round(float(reports.total(ours["rows"], ring_bytes)), 2) == round(float(reports.total(made["by weights"], ring_bytes)), 2) -->
#
# ### The compiler's own choice
#
# You can also write a program for a single device and say how the inputs are cut; the compiler adds the collectives.
# We give it the step in the three cuts, and the two layers with their rows cut.


# %%
def step(x, w1, w2):
    return jax.grad(lambda w: loss(layers(x, *w)))((w1, w2))


theirs = {name: compiled(step, cuts[name], meshes[name]) for name in made}
theirs["rows"] = compiled(layers, by_rows, four)
reports.beside(made | ours, theirs, ring_bytes)

# %% [markdown]
# For the step, the compiler puts in what we wrote, with the same bytes.
# <!-- holds: all(sorted(one.bytes for one in made[cut].collectives) == sorted(one.bytes for one in theirs[cut].collectives) for cut in made) -->
# But for the two layers, it adds up with a whole all-reduce, and each chip sends half as much again.
# <!-- holds: round(float(reports.total(theirs["rows"], ring_bytes)) / float(reports.total(ours["rows"], ring_bytes)), 3) == 1.5 -->
# We had said nothing of the result, so it is whole on every chip.
# One line says what we want: `with_sharding_constraint`.


# %%
def constrained(x, w1, w2):
    rows = NamedSharding(chips, P("model"))
    return jax.lax.with_sharding_constraint(layers(x, w1, w2), rows)


theirs["rows, constrained"] = compiled(constrained, by_rows, four)
formula = {"rows, constrained": [2 * B * D // 4, 2 * B * D]}
reports.exchanges({name: theirs[name] for name in formula}, formula, ring_bytes)

# %% [markdown]
# Now it sends what we send.
# <!-- holds: float(reports.total(theirs["rows, constrained"], ring_bytes)) == float(reports.total(ours["rows"], ring_bytes)) -->
# In the program's text, XLA writes a reduce-scatter as a fusion, `all-reduce-scatter`, with an all-reduce inside, and an exchange beside the arithmetic several times, with one `channel_id`: each counts once.
#
# ### How long does it take?
#
# The compiler gives no cycles for a collective, so bytes are divided by the bandwidth of the links, which are called **ICI** (inter-chip interconnect).
# The first table has what is published.
# The second divides: in a slice of 2 x 2, only 2 of a chip's 4 links have a neighbour at their other end.
# A ring that goes one way uses one of them, and two rings, one each way, use both.
# The third is the only real run here, and not ours: the book shows an all-gather of 33.6 MB over four v5e chips in a line.
# So a chip at an end receives the other three parts, 25.2 MB, over one link: as much as a chip of our step sends, cut by images.

# %%
reports.links()
reports.at_least(float(reports.total(made["by images"], ring_bytes)), made["by images"])
reports.beside_a_real_slice(ring_bytes)

# %% [markdown]
# The first three figures look like three different ones, but they are one: 1,600 Gbit/s are 200 GB/s, and 400 GB/s counts both directions.
# The last one contradicts them by a tenth, in the same book.
# So give the direction with each bandwidth.
#
# In this one profile, the exchange took longer than either figure predicts.
# <!-- holds: float(reports.PROFILE.seconds) > 0.75 * reports.PROFILE.result / 4.5e10 > 0.75 * reports.PROFILE.result / 5e10 -->
# And our step would wait: its exchange takes longer than its arithmetic, even over two links and at the higher figure.
# <!-- holds: float(reports.total(made["by images"], ring_bytes)) * 1e6 / 1e11 > float(made["by images"].seconds) -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import predicted

sizes = [float(reports.total(one["rows"], ring_bytes)) for one in (theirs, ours)]
ratio = sizes[0] / sizes[1]
results = [
    ("both cut", both_guess, reports.total(made["by both"], ring_bytes)),
    ("compiler's choice", choice_guess, predicted(ratio, "times", "bytes in a ring")),
]
figures.guesses(results)

# %% [markdown]
# **Where do the bytes come from?**
# From what comes in parts: cut by images, the gradients do; cut by weights, the results.
# With 1,024 rows, the results are an eighth of the gradients, so each chip sends 3.1 MB instead of 25.2.
# <!-- holds: 8 * formulas["by weights"][0] == formulas["by images"][0] -->
# The compiler found the same exchanges, as long as it knew what we wanted of the result.
#
# ## On trial
#
# The claims on parallelism are tried in chapter 04, with messages that are counted.
#
# ## Recap
#
# **The rule to keep: for two layers D to F to D on four chips, a chip sends the fewest bytes cut by weights up to F rows, here 4,096, by images from 4F, here 16,384, by both in between (half as many in a deep network); and say how the result is cut.**
#
# ### Outside
#
# - `jax.jit(f, in_shardings=..., out_shardings=...).lower(...).compile().as_text()` shows the collectives.
# - In **FSDP**, weights are cut along `data` as well, and gathered for the forward and the backward pass: 37.7 MB in our step instead of 25.2.
#   <!-- holds: round(3 * 4 * D * F * 3 / 4 / 1e6, 1) == 37.7 -->
# - The exchange of gradients can hide behind the backward pass if a chip has at least peak / bandwidth rows: 197 TFLOP/s / 100 GB/s = 1,970, with two links; ours has 256.
#   <!-- holds: B // 4 == 256 and 197e12 / 100e9 == 1970 -->
#   The exchange of results cannot: the next layer waits for it.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_scattered_bytes", None)
# quiz("tpu.quiz_larger_batch", None)
# quiz("tpu.quiz_three_times", None)
# BEGIN SOLUTION
quiz("tpu.quiz_scattered_bytes", "c")
quiz("tpu.quiz_larger_batch", "a")
quiz("tpu.quiz_three_times", "b")
# END SOLUTION
