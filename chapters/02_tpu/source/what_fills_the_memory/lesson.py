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
#     title: What fills the memory
#     number: 14
#     minutes: 50
#     needs: [jax]
#     able: add up what a step needs of memory; save it by donation and by computing again; say what both cost
#     runs_on: answers of Google's TPU compiler, stored; a CPU with JAX
# ---

# %% [markdown]
# # What fills the memory
#
# **A step that fits, until we try to save memory.**
# A network has 16 layers with weights [1024, 1024] in bfloat16.
# In a batch of 524,288 rows, the output of each layer takes 524,288 x 1,024 x 2 bytes, which is 1 GiB.
# <!-- holds: 524_288 * 1024 * 2 == GIB -->
# The TPU compiler accepts a training step of it for a v5e, which has 15.75 GiB.
# Then we follow a common advice against full memory, `jax.checkpoint` around each layer.
# Now the compiler refuses the step, because it needs 17 GiB (compiled).
# <!-- holds: "17.00 GiB" in refused[1] -->
# What lies in memory, and what does save some?
#
# ## What you will be able to do
#
# - add up what a step needs of memory;
# - give memory back by donation;
# - choose what is computed again instead of being kept, and say what that costs.
#
# You need [*What a training step costs*](6_what_a_training_step_costs.ipynb) and [*Training in JAX*](12_training_in_jax.ipynb).
# The answers are those of Google's compiler, asked before; nothing of this ran on a real TPU.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A network has nine layers, and each output takes 1 GiB.
# To compute gradients, the **backward pass** goes through the layers again, from the last to the first, and it needs the outputs.
# So a step keeps 9 GiB of outputs.
#
# `jax.checkpoint` around a block of layers says: do not keep what the block makes inside; compute it again when the backward pass needs it.
#
# 1. We put it around each block of three layers.
#    How many GiB of **temporary arrays**, which a program makes on the way and drops, does a training step need now?
# 2. By how many percent does the arithmetic of the step grow?

# %%
from functools import partial

import jax
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.provenance import compiled, predicted
from labkit.tpu import compile_for_tpu
from labkit.tpu.compiler import TPUOutOfMemory
from labkit_lessons.tpu.what_fills_the_memory import memory_pictures
from labkit_lessons.tpu.what_fills_the_memory.memory_pictures import GIB, MIB, at_once

ask = partial(compile_for_tpu, topology="v5e:1x1", source="snapshot")  # answers saved earlier
# STUB:
# memory_guess = predict("tpu.memory_of_blocks", None, "GiB")
# flop_guess = predict("tpu.flop_of_blocks", None, "%")
# BEGIN SOLUTION
memory_guess = predict("tpu.memory_of_blocks", 3, "GiB")
flop_guess = predict("tpu.flop_of_blocks", 33, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Arguments, results, and what lies between
#
# While a program runs, three kinds of arrays lie in the chip's memory:
#
# | kind | in a training step |
# |---|---|
# | arguments | weights, optimiser's state, batch |
# | results | new weights, new state |
# | temporary arrays | what is computed on the way |
#
# A step makes new weights, and the old ones are of no more use.
# Yet both lie in memory, because an argument belongs to whoever called the program.
# With `donate_argnums`, the caller gives an argument away: it is **donated**, and a result of the same shape and dtype may take its place.
#
# Take arguments of 4, 4 and 2 MiB, of which the first is donated, results of 4, 4 and 1 MiB, and 3 MiB of temporary arrays.
# One result of 4 MiB takes the place of the first argument.
# The other result of 4 MiB finds no place, since the second argument is not donated.
#
# ```
# arguments    4 + 4 + 2 = 10
# results      4 + 4 + 1 =  9
# shared                   -4
# temporary                 3
# together                 18 MiB instead of 22
# ```
#
# **Exercise `tpu.peak_bytes`**: add up, in this way, the bytes that lie in memory together.
# Each donated argument can take one result, of exactly its bytes (here equal bytes stand for equal shape and dtype).
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:tpu.peak_bytes"]
def peak_bytes(arguments, results, donated, temporary):
    """bytes [n], bytes [m], bool [n]: is it donated?, bytes -> bytes, a whole number"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    places = arguments[donated].tolist()
    shared = 0
    for size in results.tolist():
        if size in places:
            places.remove(size)
            shared += size
    return int(arguments.sum() + results.sum() - shared + temporary)
    # END SOLUTION


peak_bytes = check("tpu.peak_bytes", peak_bytes)

# %% [markdown]
# Does the TPU compiler agree?
# `momentum` is the update of an optimiser with one state for each weight, here with arrays of 256 MiB.
# From the compiler's answer, `at_once` adds up arguments, results and temporary arrays, and takes off what is shared.


# %%
def momentum(w, v, g):
    v = 0.9 * v + g
    return w - 0.1 * v, v


shape = ((8192, 8192), "float32")
sizes = np.full(3, 4 * 8192 * 8192)
rows = []
for donate in ((), (0,), (0, 1), (0, 1, 2)):
    made = ask(momentum, [shape] * 3, donate=donate)
    donated = np.isin([0, 1, 2], donate)
    yours = peak_bytes(sizes, sizes[:2], donated, 0) / MIB
    names = ", ".join("wvg"[i] for i in donate) or "none"
    theirs = compiled(round(at_once(made) / MIB), "MiB", "libtpu")
    rows.append([names, predicted(yours, "MiB", "your function"), theirs])
figures.table(["donated", "together", "compiler"], rows)

# %% [markdown]
# Donating weights and state saves two of five arrays.
# <!-- holds: rows[0][2].value == 5 * 256 and rows[2][2].value == 3 * 256 -->
# The gradient finds no third result to make room for, so donating it saves nothing (JAX warns: *Some donated buffers were not usable*).
# <!-- holds: rows[3][2].value == rows[2][2].value -->
#
# A donated array is gone.
# Whoever reads it afterwards gets an error, also on this processor:

# %%
print(memory_pictures.what_is_left(momentum, donate=(0, 1), count=3))

# %% [markdown]
# Does the compiler refuse what does not fit?
# We ask for `sgd` with weights and gradients of 6 GiB each, without donation and with it.


# %%
def sgd(w, g):
    return w - 0.1 * g


large = ((32768, 49152), "float32")
updates = {donate: ask(sgd, [large, large], donate=donate) for donate in ((), (0,))}
for donate, made in updates.items():
    print(f"donate={donate}:", compiled(at_once(made) / GIB, "GiB", "libtpu"))

# %% [markdown]
# Without donation, the arrays take 18 GiB, more than a v5e has, and still the program compiles.
# <!-- holds: at_once(updates[()]) == 18 * GIB > memory_pictures.HBM * GIB > at_once(updates[(0,)]) -->
# The arguments alone, 12 GiB, would fit: here the compiler's check left the results out.
# <!-- holds: updates[()].memory["argument"] == 12 * GIB -->
# We had no chip to run it on, so do not rely on the check: add up yourself.
#
# ### What the backward pass keeps
#
# In a training step with a large batch, most of the memory goes to temporary arrays, because the outputs of all layers wait for the backward pass.
# With blocks, only the last output of each block is kept.
# Let four layers have outputs a, b, c and d of 3, 1, 2 and 2 GiB, in blocks of two:
#
# ```
# backward pass of    kept of earlier    the block's    together
#                     blocks             own outputs
# block c, d          b = 1              c, d = 4       5 GiB
# block a, b          nothing            a, b = 4       4 GiB
# ```
#
# The outputs of a block that is done are dropped, so c and d are no longer there when a is computed again.
# The step needs the larger of both sums, 5 GiB, instead of 3 + 1 + 2 + 2 = 8.
#
# **Exercise `tpu.kept_bytes`**: the layers' outputs have `outputs` bytes, and each block has `block` layers, only the last one may have fewer.
# Return the most bytes that are kept together, over all blocks.


# %% tags=["exercise:tpu.kept_bytes"]
def kept_bytes(outputs, block):
    """bytes [n], layers of a block -> bytes, a whole number"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    most = 0
    ends = 0  # bytes of the last outputs of the blocks before
    for start in range(0, len(outputs), block):
        own = outputs[start : start + block]
        most = max(most, ends + own.sum())
        ends += own[-1]
    return int(most)
    # END SOLUTION


kept_bytes = check("tpu.kept_bytes", kept_bytes)

# %% [markdown]
# ## Check
#
# Is the real compiler so simple?
# We write the network without blocks and with them, and compile its loss with all gradients.


# %%
def layers(x, weights):
    for w in weights:
        x = jax.nn.relu(x @ w)
    return x


def plain(weights, x):
    return layers(x, weights).astype("float32").sum()


def in_blocks(block, **options):
    def loss(weights, x):
        for start in range(0, len(weights), block):
            part = weights[start : start + block]
            x = jax.checkpoint(layers, **options)(x, part)
        return x.astype("float32").sum()

    return loss


# %% [markdown]
# First the nine layers of the prediction.


# %%
def gradient(loss, depth, batch=524_288):
    return ask(jax.value_and_grad(loss), [[(1024, 1024)] * depth, (batch, 1024)])


base = gradient(plain, 9)
kept = compiled(round(base.memory["temp"] / GIB, 2), "GiB", "libtpu")
nine = [["no blocks", None, kept, compiled(0, "%", "libtpu")]]
for block in (1, 3, 9):
    yours = predicted(kept_bytes(np.full(9, GIB), block) / GIB, "GiB", "your function")
    made = gradient(in_blocks(block), 9)
    theirs = compiled(round(made.memory["temp"] / GIB, 2), "GiB", "libtpu")
    more = compiled(100 * (made.flops / base.flops - 1), "%", "libtpu")
    nine.append([f"blocks of {block}", yours, theirs, more])
figures.table(["nine layers", "kept", "compiler", "more FLOP"], nine)

# %% [markdown]
# Blocks of three need 5 GiB instead of 9, as your function says, for 35 % more arithmetic.
# <!-- holds: nine[2][2].value == nine[2][1].value == 5 and round(nine[2][3].value) == 35 -->
# **But blocks of one layer need 10 GiB, more than no blocks at all, for the same 35 %.**
# <!-- holds: nine[1][2].value == 10 and round(nine[1][3].value) == 35 -->
# For if each layer is a block, each output is the last of its block, and all nine are kept, and it seems that one more is there while a layer is computed again.
# (A transformer's layer makes many arrays and hands on one; such a layer is what we call a block here, and around each, `jax.checkpoint` saves most of them.)
# One block of all nine saves nothing either, since all of its outputs are there at once when it is computed again.
# <!-- holds: nine[3][2].value == 9 and round(nine[3][3].value) == 35 -->
#
# The FLOP tell what is computed again.
# A forward pass has 9 products, and the backward pass has two for each layer, but only one for the first, whose input needs no gradient: 9 + 17 = 26.
# With blocks of any size, the whole forward pass comes again: 9 more products, and 9 / 26 is 35 %.
# <!-- holds: round(100 * 9 / 26) == 35 == round(nine[2][3].value) -->
#
# ## Measure
#
# Now the 16 layers of the opening, in blocks of every size that divides 16.
# What the compiler refuses raises `TPUOutOfMemory` here.

# %% tags=["picture"]
yours = {}
theirs = {}
refused = {}
for block in (1, 2, 4, 8, 16):
    yours[block] = kept_bytes(np.full(16, GIB), block) / GIB
    theirs[block] = None
    try:
        theirs[block] = gradient(in_blocks(block), 16).memory["temp"] / GIB
    except TPUOutOfMemory as error:
        refused[block] = memory_pictures.told(error)
memory_pictures.bars(yours, theirs)
print(refused[1])

# %% [markdown]
# Blocks of 2, 4 and 8 need what your function says, within 1 %.
# <!-- holds: all(abs(theirs[k] / yours[k] - 1) < 0.01 for k in (2, 4, 8)) -->
# Blocks of one layer are refused, as the opening said: their temporary arrays alone need 17 GiB, one output more than 16 (in the compiler's own words, *Used 17.00G of 15.75G hbm*).
# To all of this, the arguments add another GiB: the batch, and the weights.
# <!-- holds: 1 < base.memory["argument"] / GIB < 1.05 -->
#
# A single block of 16 should need 16 GiB, too, but the compiler makes do with 12.
# <!-- holds: yours[16] == 16 and round(theirs[16], 2) == 12 -->
# What did it do?
# We compare it with the step without blocks, and with half the batch.
# So that a block is really computed again, JAX sets **barriers** around it, across which the compiler may not move anything; the last row leaves them out (`prevent_cse=False`).
# A product of a batch with weights has 2 x rows x 1,024 x 1,024 FLOP, so the FLOP tell the number of products.

# %%
cases = {
    "no blocks": gradient(plain, 16),
    "no blocks, half the batch": gradient(plain, 16, 262_144),
    "blocks of 4": gradient(in_blocks(4), 16),
    "blocks of 1, no barriers": gradient(in_blocks(1, prevent_cse=False), 16),
}
rows = []
for name, made in cases.items():
    batch = 262_144 if "half" in name else 524_288
    products = made.flops / (2 * batch * 1024 * 1024)
    kept = compiled(round(made.memory["temp"] / GIB, 2), "GiB", "libtpu")
    rows.append([name, kept, compiled(round(products), "", "libtpu")])
figures.table(["16 layers", "temporary arrays", "products"], rows)

# %% [markdown]
# By our sum, 16 layers have 16 + 31 = 47 products, and with half the batch the compiler needs these 47, and 16 x 0.5 = 8 GiB.
# <!-- holds: rows[1][1].value == 8 and rows[1][2].value == 47 -->
# With the full batch it has 51: as 16 GiB would not fit, it computes four outputs of 1 GiB again **by itself**, without being asked.
# <!-- holds: rows[0][2].value == 51 and rows[0][1].value == 12 -->
# That is how the step of the opening fits.
# Around single layers, the barriers of `jax.checkpoint` forbid such help: without them, the compiler does what it did without blocks.
# <!-- holds: rows[3][1].value == rows[0][1].value and rows[3][2].value == rows[0][2].value -->
#
# So there are three ways out of a full memory: half the batch (8 GiB, no arithmetic added, but two steps for the same rows, so two updates, or a sum of two gradients), blocks of four (7 GiB, 63 products instead of 47), and donation, for arguments and results.
# <!-- holds: rows[2][1].value == 7 and rows[2][2].value == 63 == 47 + 16 -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
_, _, memory, more = nine[2]  # the row of blocks of three
figures.guesses([("memory", memory_guess, memory), ("more FLOP", flop_guess, more)])

# %% [markdown]
# In blocks of three, two ends and three outputs of a block are kept: 2 + 3 = 5 GiB.
# For this, the forward pass is computed twice, 9 products on top of 26.
#
# With L layers in blocks of k, L/k - 1 ends and k outputs are kept.
# Short blocks make many ends, and long ones have many outputs; both are equal near k = √L.
#
# ## On trial
#
# The chapter's claims are tried in other lessons.
#
# ## Recap
#
# - **The rule to keep: with `jax.checkpoint` around blocks of √L layers, a step keeps about 2 √L - 1 outputs instead of L, 7 instead of 16, for a second forward pass, 34 % more arithmetic; around single layers that make one array each, it saves nothing.**
#   <!-- holds: 2 * 16**0.5 - 1 == 7 == round(theirs[4], 2) and round(100 * 16 / 47) == 34 -->
# - Donate weights and optimiser state, and add up arguments and results yourself.
#
# ### Outside
#
# `jax.jit(step, donate_argnums=(0, 1)).lower(*args).compile().memory_analysis()` gives these bytes for your own step, the shared ones as `alias_size_in_bytes`.
# `jax.checkpoint` also takes a `policy`, which chooses by operation what is kept; we left it out.
# Of a trace on a TPU, XProf's *Memory Viewer* shows what the compiler planned, and its *Memory Profile* what really lay there.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("tpu.quiz_donated_batch", None)
# quiz("tpu.quiz_hundred_layers", None)
# quiz("tpu.quiz_one_large_layer", None)
# BEGIN SOLUTION
quiz("tpu.quiz_donated_batch", "a")
quiz("tpu.quiz_hundred_layers", "c")
quiz("tpu.quiz_one_large_layer", "b")
# END SOLUTION
