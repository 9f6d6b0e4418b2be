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
# Four chips of a TPU v5e divide a training step of two layers, from 1,024 to 4,096 to 1,024 features, in bfloat16.
# The batch has 1,024 images, one in each row.
# If they divide the images, each has to send 25.2 MB; if they divide the weights, 3.1 MB (predicted).
# Where do these bytes come from, when is it the other way round, and does the compiler find the better way by itself?
#
# ## What you will be able to do
#
# - predict the bytes of each exchange;
# - choose a mesh by what it sends;
# - read in a compiled program what the compiler chose.
#
# You need the lesson *Sharding*.
# Google's compiler says here what a **slice** of 2 x 2 linked chips would send; nothing ran on a real one.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. A mesh of 2 x 2 cuts both: two halves of the images, two halves of the weights.
#    How many MB does each chip send?
# 2. For two layers, we tell the compiler how its inputs are cut: the rows of `x`, the columns of `w1`, and the rows of `w2`, over four chips.
#    The rest it may choose itself.
#    How many times as much as in our own version does each chip send?

# %%
from functools import partial

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
# Four chips have an array of 8 numbers each, and all need the sum.
# How much must each send?
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
# The other three parts start at the other chips, so all links are busy.
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
# `kind` is `"all-reduce"`, `"all-gather"` or `"reduce-scatter"`; of exchange k, a chip gets `result[k]` bytes, and `devices[k]` chips take part.
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
# Here is the step of the opening in three ways, for `shard_map`.
# Where images are cut, it is the gradient of `pmean(loss)`, as in *Sharding*.
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
# Now we compile the three for 2 x 2 chips.
# An **`AbstractMesh`** has names and sizes, but no devices: it is enough for the compiler.
# The gradients shall lie as the weights do, `cuts[name][1:]`.
# (These answers are stored.)
# The picture shows who exchanges what on the mesh of 2 x 2.

# %% tags=["picture"]
meshes = {"by images": {"data": 4}, "by weights": {"model": 4}, "by both": {"data": 2, "model": 2}}
cuts = {  # of x, w1 and w2
    "by images": (P("data"), P(), P()),
    "by weights": (P(), P(None, "model"), P("model")),
    "by both": (P("data"), P(None, "model"), P("model")),
}


def compiled(f, cut, mesh, out=None):
    if out is not None:  # f is for shard_map
        chips = AbstractMesh(tuple(mesh.values()), tuple(mesh))
        f = jax.shard_map(f, mesh=chips, in_specs=cut, out_specs=out)
    options = {"shardings": cut, "mesh": mesh, "source": "snapshot"}
    return compile_for_tpu(f, shapes, "v5e:2x2", **options)


made = {}
for name, body in {"by images": by_images, "by weights": by_weights, "by both": by_both}.items():
    made[name] = compiled(body, cuts[name], meshes[name], cuts[name][1:])
slice_pictures.rings()

# %% [markdown]
# How large should the results of the collectives be, at 2 bytes for a number?
# By images, both gradients are added up: 2 (D F + F D) bytes.
# By weights, the results [B, D] are: 2 B D bytes.
# By both, each chip has half of the weights, and half of the rows, so both halve.

# %%
formulas = {
    "by images": [2 * (D * F + F * D)],
    "by weights": [2 * B * D],
    "by both": [2 * (D * F + F * D) // 2, 2 * B * D // 2],
}
reports.exchanges(made, formulas, ring_bytes)

# %% [markdown]
# The compiled bytes equal the formula.
# <!-- holds: all(sorted(one.bytes for one in made[cut].collectives) == sorted(formulas[cut]) for cut in made) -->
# **Cut by images, the chips exchange gradients; cut by weights, they exchange results.**
#
# On the mesh of 2 x 2, only two chips add up a gradient, so (n - 1) / n is 1/2.
# A chip sends 8.4 MB, a third of 25.2, though its array has half of the bytes.
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
# Cut by images, the bytes do not depend on the batch; cut by weights, they grow with it:
#
# ```
# by images    6 D F          as by weights at B = 2F
# by weights   3 B D          as by both    at B = F
# by both      2 D F + B D    as by images  at B = 4F
# ```
#
# At B = 2F, 8,192 rows, the mesh of both sends 16.8 MB instead of 25.2.
# <!-- holds: [round(float(one) / 1e6, 1) for one in mesh_bytes(8192, D, F, np.array([2, 4, 1]), np.array([2, 1, 4]))] == [16.8, 25.2, 25.2] -->
# <!-- holds: [round(float(one)) for one in mesh_bytes(5, 7, 11, data, model)] == [6 * 7 * 11, 3 * 5 * 7, 2 * 7 * 11 + 5 * 7] -->
# **On four chips, a chip sends the fewest bytes if cut by weights up to F = 4,096 rows, by images from 4F = 16,384 rows, and by both in between.**
# <!-- holds: np.ptp(mesh_bytes(4096, D, F, np.array([2, 1]), np.array([2, 4]))) < 1 and np.ptp(mesh_bytes(16384, D, F, np.array([2, 4]), np.array([2, 1]))) < 1 -->
# (A deep network needs the gradient of `x`, too: with two all-reduces along `model`, these batches halve.)
#
# ## Measure
#
# ### The two halves of an all-reduce
#
# Between its two halves, each chip needs only a part, and that saves memory:
#
# - With **sequence parallelism**, results stay cut by rows, and the next layer gathers them.
#   What comes between such layers, such as a normalisation, works on a quarter of the rows.
# - With **FSDP** (fully sharded data parallelism, or ZeRO-3), chips that divide the images keep a quarter of each weight, its gradient and Adam's moments.
#   They gather the weights before use, and reduce-scatter the gradients.
#
# Here are our two layers in the first way, without a gradient, and the step in the second.
# (JAX adds FSDP's reduce-scatter, as the gradient of `all_gather`.)

# %%
by_rows = (P("model"), P(None, "model"), P("model"))  # of x, w1 and w2
by_fsdp = (P("data"), P(None, "data"), P(None, "data"))


def rows_in_rows_out(x, w1, w2):
    whole = all_gather(x, "model", tiled=True)
    return psum_scatter(layers(whole, w1, w2), "model", tiled=True)


def fsdp(x, *w):
    whole = partial(all_gather, axis_name="data", axis=1, tiled=True)
    return jax.grad(lambda w: pmean(loss(layers(x, *map(whole, w))), "data"))(w)


ours = {"rows": compiled(rows_in_rows_out, by_rows, {"model": 4}, P("model"))}
sharded = {"FSDP": compiled(fsdp, by_fsdp, {"data": 4}, by_fsdp[1:])}
formulas["rows"] = [2 * B * D // 4, 2 * B * D]
formulas["FSDP"] = [2 * D * F // 4, 2 * D * F // 4, 2 * D * F, 2 * D * F]
reports.exchanges(ours | sharded, formulas, ring_bytes)
reports.in_order({"by images": made["by images"]} | sharded)

# %% [markdown]
# A reduce-scatter's result has a quarter of the bytes, but it adds up whole arrays, so both halves send the same.
# Rows in and out send as much as the all-reduce by weights.
# <!-- holds: round(float(reports.total(ours["rows"], ring_bytes)), 2) == round(float(reports.total(made["by weights"], ring_bytes)), 2) -->
# FSDP sends the 25.2 MB of by images, but of the weights, a chip keeps 4.2 MB instead of 16.8 (compiled).
# <!-- holds: float(reports.total(sharded["FSDP"], ring_bytes)) == float(reports.total(made["by images"], ring_bytes)) -->
# <!-- holds: [round((one.memory["argument"] - 2 * B * D // 4) / 1e6, 1) for one in (sharded["FSDP"], made["by images"])] == [4.2, 16.8] -->
# (A deep network gathers its weights again for the backward pass: 3 S (n - 1) / n, for ours 37.7 MB.)
# <!-- holds: round(3 * 2 * 2 * D * F * 3 / 4 / 1e6, 1) == 37.7 -->
#
# In the second table, by images, the all-reduce comes last, and nothing runs beside it.
# With FSDP, `w2` is gathered beside the first product, which does not need it: this is **overlap**.
# In a deep network, the gradients of a layer can travel while the backward pass goes on to the layer before.
# But the next layer waits for results, unless product and exchange are cut into pieces.
#
# ### The compiler's own choice
#
# If you write a program for a single device and say how the inputs are cut, the compiler adds the collectives.
# We give it the step in three cuts, and the layers with their rows cut.


# %%
def step(x, w1, w2):
    return jax.grad(lambda w: loss(layers(x, *w)))((w1, w2))


theirs = {name: compiled(step, cuts[name], meshes[name]) for name in made}
theirs["rows"] = compiled(layers, by_rows, {"model": 4})
reports.beside(made | ours, theirs, ring_bytes)

# %% [markdown]
# For the step, the compiler puts in what we wrote, with the same bytes.
# <!-- holds: all(sorted(one.bytes for one in made[cut].collectives) == sorted(one.bytes for one in theirs[cut].collectives) for cut in made) -->
# But for the two layers, it takes a whole all-reduce, and each chip sends half as much again.
# <!-- holds: round(float(reports.total(theirs["rows"], ring_bytes)) / float(reports.total(ours["rows"], ring_bytes)), 3) == 1.5 -->
# We had said nothing of the result, so it is whole on every chip.
# `with_sharding_constraint` says what we want.


# %%
def constrained(x, w1, w2):
    chips = AbstractMesh((4,), ("model",))
    rows = NamedSharding(chips, P("model"))
    return jax.lax.with_sharding_constraint(layers(x, w1, w2), rows)


theirs["rows, constrained"] = compiled(constrained, by_rows, {"model": 4})
formulas["rows, constrained"] = formulas["rows"]
reports.exchanges({"rows, constrained": theirs["rows, constrained"]}, formulas, ring_bytes)

# %% [markdown]
# Now it sends what we send.
# <!-- holds: float(reports.total(theirs["rows, constrained"], ring_bytes)) == float(reports.total(ours["rows"], ring_bytes)) -->
# (In a program's text, `all-reduce-scatter` is a reduce-scatter, and all lines with one `channel_id` are one exchange.)
#
# ### How long does it take?
#
# The compiler gives no cycles for a collective, so its bytes are divided by the bandwidth of the links, called **ICI** (inter-chip interconnect).
# The first table has what is published.
#
# The second divides by 50 GB/s a link.
# On 2 x 2 chips, a chip uses 2 of its 4 links: four chips can make two rings, one each way, but a pair has one link.
# Beside it stands the arithmetic at peak: five products, two forward and three backward, of 2 B D F FLOP over four chips.
#
# The third is the only real run here, and not ours: an all-gather in the book *How to Scale Your Model*, where a chip at the end of a line of four receives 25.2 MB over one link.

# %%
reports.links()
reports.roofline(made | sharded, ring_bytes, (B, D, F))
reports.beside_a_real_slice(ring_bytes)

# %% [markdown]
# Three of the published figures are one: 1,600 Gbit/s are 200 GB/s, and 400 GB/s counts both directions.
# The fourth is a tenth less, and the profile took longer than either predicts.
# <!-- holds: float(reports.PROFILE.seconds) > 0.75 * reports.PROFILE.result / 4.5e10 > 0.75 * reports.PROFILE.result / 5e10 -->
#
# A step takes at least the longer time if both overlap, and their sum if not.
# **At best, our step is bound by arithmetic if cut by weights, and else by ICI.**
# <!-- holds: [reports.ici_seconds(one, ring_bytes) > reports.peak_seconds(B, D, F) for one in (made | sharded).values()] == [True, False, True, True] -->
# When are both times equal?
#
# ```
# C = 197 TFLOP/s, W = 2 x 50 GB/s: C / W = 1,970 FLOP a byte
#
# by images, n chips with b rows each (FSDP is alike):
#    8 D F (n - 1) / n / W  =  10 b D F / C
#    b  =  0.8 (n - 1) / n x C / W  =  1,182 rows
# by weights, n chips with all B rows:
#    4 B D (n - 1) / n / W  =  10 B D F / n / C
#    F  =  0.4 (n - 1) x C / W      =  2,364, for any B
# ```
#
# Cut by images, the rows of a chip decide: ours has 256, too few.
# Cut by weights, the width does: ours, 4,096, is enough.
# <!-- holds: B // 4 == 256 < 1182 == round(0.8 * 3 / 4 * 1970) and F == 4096 > 2364 == round(0.4 * 3 * 1970) -->
# <!-- holds: abs(reports.peak_seconds(4 * 1182, D, F) / reports.ici_seconds(made["by images"], ring_bytes) - 1) < 1e-3 -->
# <!-- holds: abs(reports.peak_seconds(B, D, 2364) / reports.ici_seconds(made["by weights"], ring_bytes) - 1) < 1e-3 -->
# (In a deep network, 12 stands for 10, and 8 for 4: 985 rows, 1,478 with FSDP, and F = 3,940.)
# <!-- holds: B // 4 < 985 == round(8 / 12 * 3 / 4 * 1970) < 1478 == round(3 * 4 / 12 * 3 / 4 * 1970) and F > 3940 == round(8 / 12 * 3 * 1970) -->
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
# With 1,024 rows, the results are an eighth of the gradients; above 8,192 rows, they are more.
# <!-- holds: 8 * formulas["by weights"][0] == formulas["by images"][0] -->
# The compiler found the same exchanges, once we said how the result is cut.
#
# ## On trial
#
# The claims on parallelism are tried in chapter 04.
#
# ## Recap
#
# **The rule to keep: for two layers D to F to D on four chips, a chip sends the fewest bytes cut by weights up to F rows, here 4,096, by images from 4F, here 16,384, by both in between (half as many in a deep network); and say how the result is cut.**
#
# ### Outside
#
# - `jax.jit(f, in_shardings=..., out_shardings=...).lower(...).compile().as_text()` shows the collectives.
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
