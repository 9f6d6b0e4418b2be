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
#     title: Folding under a budget
#     minutes: 50
#     needs: []
# ---

# %% [markdown]
# # Folding under a budget
#
# **99 multipliers to spare.**
# The accelerator of lesson 5 takes 73,768 clock cycles for an image (counted).
# It has 121 of the FPGA's 220 DSPs (compiled), so 99 others do nothing.
# How fast can the network be on this FPGA, and what stops us from going further?
#
# ## What you will be able to do
#
# - predict what limits a pipeline: a layer, or the stream that feeds it;
# - choose how many multipliers each layer gets, under a budget;
# - say what still fits into the FPGA's memory, and what does not.
#
# You need [lesson 5](5_the_network_as_a_pipeline.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# In lesson 5, conv2 has 72 multipliers, and the 524,288 weights of fc1 and the 1,280 of fc2 are streamed in for each image.
# We will try two changes.
# First, conv2 gets twice as many multipliers.
# Second, the weights of fc1 and fc2 stay in block RAMs, which store 4,608 bytes each; then they are called **resident**.
#
# Guess by how many percent the first change shortens the cycles for one image.
# Then guess how many of the 140 block RAMs the whole accelerator takes after the second one.

# %%
from math import ceil

import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import accelerator_pictures, accelerator_report, budget, quantize, training_bytes
from labkit.fpga.accelerator import Accelerator
from labkit.fpga.accelerator_words import Folding
from labkit.provenance import counted

# STUB:
# faster_guess = predict("fpga.conv2_doubled", None, "%")
# memory_guess = predict("fpga.resident_block_rams", None, "BRAM36")
# BEGIN SOLUTION
faster_guess = predict("fpga.conv2_doubled", 30, "%")
memory_guess = predict("fpga.resident_block_rams", 120, "BRAM36")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A knob for each layer
#
# In lesson 2, a lane was one multiplier for one output.
# Here a lane is all that makes one output of a layer at a time.
# A few lanes serve all outputs of a layer in turn, which is called **folding**, and the number of lanes is the knob of the layer.
#
# | layer | multiply-adds | multipliers of a lane | cycles with one lane | DSPs of a lane |
# |---|---|---|---|---|
# | conv1 | 884,736 | 3 channels x 9 = 27 | 32,768 | 27 + 2 |
# | conv2 | 4,718,592 | 8 channels x 9 = 72 | 65,536 | 72 + 2 |
# | fc1 | 524,288 | 1 | 524,288 | 1 |
#
# A multiplier does one multiply-add per cycle, so the cycles are the multiply-adds divided by the multipliers.
# (This leaves out the steps on the border, at most 0.2 %.)
# Each lane of a convolution also has two DSPs that requantise its outputs.
# The rest is the same for every folding: fc1 requantises with 2 DSPs, and fc2 has 8 multipliers.
#
# So $a$ lanes of conv1, $b$ of conv2 and $c$ of fc1 should take $29a + 74b + c + 10$ DSPs.
# Does Yosys agree?
# Compiling the accelerator takes half a minute, so the next cell reads stored reports; its first line says how to make them again.

# %%
# To make the reports again: python tools/accelerator_report.py
narrow = Folding(conv1=1, conv2=1, fc1=8)  # that of lesson 5
wider = Folding(conv1=1, conv2=2, fc1=8)
rows = []
for lanes in (narrow, Folding(conv1=2, conv2=1, fc1=8), wider):
    formula = 29 * lanes.conv1 + 74 * lanes.conv2 + lanes.fc1 + 10
    report = accelerator_report.stored(lanes)
    rows.append([lanes.conv1, lanes.conv2, lanes.fc1, formula, int(report.dsp)])
heads = ["lanes of conv1", "of conv2", "of fc1", "DSPs, predicted", "DSPs, compiled"]
figures.table(heads, rows, "Compiled by Yosys for the XC7Z020.")

# %% [markdown]
# The formula is exact.
#
# ### What binds
#
# In a pipeline all layers work at the same time, and so does the stream.
# Take two layers, and a stream of 8 bytes per cycle, which brings 400 bytes of image and 4,400 bytes of weights for each image:
#
# ```
# layer A     1,200 multiply-adds / 3 multipliers    = 400 cycles
# layer B     4,000 multiply-adds / 5 multipliers    = 800 cycles
# stream      (400 + 4,400) bytes / 8                = 600 cycles
# ```
#
# If many images follow one another, one leaves every 800 cycles, because A and the stream have to wait for B.
# We say that B **binds**.
# With 10 multipliers B takes 400 cycles, too, and an image leaves every 600 cycles: now the stream binds.
# If the weights are resident, the stream brings only the image, in 400 / 8 = 50 cycles, and the layers bind again.
#
# **Exercise `fpga.bound`**: return the cycles from one image to the next, and whether the stream takes longer than every layer.
# The stream moves whole words of `width` bytes, so the last one may be partly filled.


# %% tags=["exercise:fpga.bound"]
def bound(work, multipliers, image_bytes, weight_bytes, resident, width):
    """work [L] multiply-adds of the layers, multipliers [L] -> cycles, stream_binds"""
    # STUB:
    # cycles = 0
    # stream_binds = False
    # BEGIN SOLUTION
    layer = max(work / multipliers)
    streamed = image_bytes if resident else image_bytes + weight_bytes
    stream = ceil(streamed / width)
    cycles = max(layer, stream)
    stream_binds = stream > layer
    # END SOLUTION
    return cycles, stream_binds


bound = check("fpga.bound", bound)

# %% [markdown]
# ### Which layer gets more lanes
#
# Suppose that nothing is streamed and that we have 90 DSPs.
# With one lane, layer A takes 400 cycles and 10 DSPs, and layer B 800 cycles and 20 DSPs.
# The number of lanes has to divide the 32, 64 or 128 outputs of a layer, so it is a power of two.
# More lanes help only where a layer binds:
#
# ```
# lanes of A, B    cycles of A, B    an image every    DSPs
# 1, 1             400, 800          800 cycles        10 + 20 = 30
# 1, 2             400, 400          400 cycles        10 + 40 = 50      B was the slowest
# 2, 4             200, 200          200 cycles        20 + 80 = 100     both were
# ```
#
# The third line is over our budget.
# Lanes 2, 2 would cost 60 DSPs, but B would still take 400 cycles, so the best folding is the second line.
#
# **Exercise `fpga.folding`**: return the lanes of the layers, powers of two, that give an image most often.
# Of several such foldings, return the one with the fewest DSPs.
# The budget always allows one lane for each layer.


# %% tags=["exercise:fpga.folding"]
def folding(budget, cycles, dsps):
    """budget in DSPs; cycles [L] and dsps [L] of the layers with one lane -> lanes [L]"""
    # STUB:
    # lanes = np.ones(len(cycles), int)
    # BEGIN SOLUTION
    lanes = np.ones(len(cycles), int)
    wider = lanes
    while wider @ dsps <= budget:
        lanes = wider
        times = cycles / lanes
        wider = np.where(times == times.max(), 2 * lanes, lanes)
    # END SOLUTION
    return lanes


folding = check("fpga.folding", folding)

# %% [markdown]
# ## Check
#
# Does `bound` say what the accelerator does?
# An image is 1,024 pixels of 4 bytes, because each pixel is filled up with a zero, and a word of the stream has 8 bytes.
#
# The simulator counts the cycles of a job with one image, and of a job with two.
# The difference is what a further image takes.

# %%
golden = quantize(convnet.load_weights(), cifar10("sample").train.images[:500])
x = golden.to_int8(cifar10("sample").test.images[:2])


def count(lanes):
    """counted cycles of the first image, and of a further one"""
    with Accelerator(lanes) as accelerator:
        one = int(accelerator.run(golden.layers, x[:1]).cycles)
        two = int(accelerator.run(golden.layers, x).cycles)
    return one, two - one


# %% [markdown]
# The first column has the lanes of conv1, conv2 and fc1.

# %%
def compare(lanes):
    """lanes, what `bound` predicts, and what is counted"""
    work = np.array([884_736, 4_718_592, 524_288, 1_280])  # the last one is fc2
    multipliers = np.array([27 * lanes.conv1, 72 * lanes.conv2, lanes.fc1, 8])
    cycles, stream_binds = bound(work, multipliers, 4_096, 525_568, lanes.resident, 8)
    first, further = count(lanes)
    name = f"{lanes.conv1}, {lanes.conv2}, {lanes.fc1}"
    return [name, stream_binds, int(cycles), further, first]


heads = ["lanes", "stream binds", "further image, predicted", "counted", "first image, counted"]
rows = [compare(narrow), compare(wider)]
figures.table(heads, rows, "Clock cycles, counted by the simulator.")

# %% [markdown]
# For further images the prediction is right to within 0.1 %, and the second row shows no gain at all.
# In both rows the stream binds: 529,664 bytes / 8 = 66,208 cycles, a little more than fc1's 65,536.
# conv2 was never the slowest.
#
# **Multipliers in a layer that does not bind gain nothing.**
#
# ## Measure
#
# ### The roofline of the Zynq
#
# XC7Z020 is the name of our FPGA, and the chip that contains it, together with a processor, is called a **Zynq**.
# In chapter 01, a roofline showed what a GPU can reach at best; now we draw one in multiply-adds per cycle.
# The flat roof is the 220 DSPs.
# The slope is the stream: with $I$ multiply-adds for each byte, 8 bytes per cycle allow at most $8 I$ multiply-adds per cycle.
# An image has 6,128,896 multiply-adds.
#
# ```
# streamed     6,128,896 / 529,664 = 11.6 multiply-adds per byte     at most 8 x 11.6 = 92.6 per cycle
# resident     6,128,896 / 4,096 = 1,496 multiply-adds per byte      at most 220 per cycle
# ```

# %% tags=["picture"]
accelerator_pictures.roofline()

# %% [markdown]
# A filled marker is what the simulator counts for further images; the hollow one above or beside it is the roof.
# The streamed accelerator sits on the slope: it could use only 93 multipliers, even if it had 220.
# With resident weights the accelerator moves to the right, where the DSPs are the limit, and more lanes help again.
#
# **Move the limit before you add multipliers.**
#
# ### Weights that stay
#
# Which lanes does your function choose now?
# Ten of the DSPs are taken by fc2 and by requantising fc1.

# %%
cycles, dsps = np.array([32_768, 65_536, 524_288]), np.array([29, 74, 1])
rows = []
for budget in (121, 220, 406):
    lanes = folding(budget - 10, cycles, dsps)
    rows.append([budget, str(lanes), int(lanes @ dsps) + 10, max(cycles / lanes)])
figures.table(["DSPs there are", "lanes", "DSPs taken", "an image every"], rows, "Predicted.")

# %% [markdown]
# For our budget of 220 DSPs this is 1, 2 and 16 lanes.
# All three layers then take 32,768 cycles, so the next step would double all of them, and would take 396 DSPs.
#
# Do the weights fit as well?
# With 16 lanes, fc1 reads 16 bytes = 128 bits in each cycle, at one of 32,768 addresses.
# A block RAM is 72 bits wide, with 512 addresses.
# So two of them lie side by side, for 32,768 / 512 = 64 such pairs: 128 block RAMs for fc1 alone.

# %% tags=["picture"]
resident = Folding(*folding(210, cycles, dsps), resident=True)
report = accelerator_report.stored(resident)
budgets.bars({"streamed, 1, 1, 8": accelerator_report.stored(narrow), "resident, 1, 2, 16": report})
figures.table(heads, [compare(resident)], "Clock cycles, counted by the simulator.")

# %% [markdown]
# The accelerator fits, with not one block RAM to spare.
# The first image takes longer than before, because all weights have to come in before fc1 begins to work.
# Each further image takes half as long as before.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
faster = counted(100 * (1 - count(wider)[0] / count(narrow)[0]), "%", "the simulator")
rows = [("conv2 doubled", faster_guess, faster), ("block RAMs", memory_guess, report.bram36)]
figures.guesses(rows)

# %% [markdown]
# Twice the multipliers in conv2 shorten the first image by 3 %: the last rows of conv2 come out earlier, but the stream takes most of the time.
#
# How fast can the network be?
# **An image every 32,888 cycles, where 220 multipliers that never rest would need 6,128,896 / 220 = 27,859.**
# What stops us from going further is both at once: the next folding needs 396 DSPs, and the block RAMs are full.
#
# What would that be on a board?
# We have none, so we *assume* a clock of 100 MHz and the power that others measured.

# %%
accelerator_report.beside_published()

# %% [markdown]
# Do not rank these designs: ...
#
# ## On trial
#
# ### <a id="C07"></a>C07 on trial
#
# > The FPGA runs forward *and backward* passes from on-chip memory, for training large models
#
# The forward pass of our small network does run from on-chip memory, and its int8 weights fill it.
# What would a backward pass have to keep there?
# A step of training changes each weight by a little, mostly much less than one step of int8, so let us count 2 bytes for each weight.

# %%
training_bytes.table()

# %% [markdown]
# **Verdict on C07: wrong.**
# Even the weights of our small network, kept precisely enough for training, take more than all 140 block RAMs, and a large model is a thousand times larger.
#
# ## Recap
#
# **The rule to keep: an image takes the largest of (multiply-adds / multipliers) of each layer and (bytes / 8) of the stream; only what binds is worth doubling.**
#
# Take a new layer that is fully connected, with 1,024 inputs and 1,024 outputs.
# Its 1,048,576 weights are streamed in 131,072 cycles, so 8 multipliers are enough, and a ninth would wait.
#
# ### Outside
#
# AMD's FINN compiles networks of few bits for FPGAs, and its folding knobs are called PE and SIMD.
# Its estimates of cycles and DSPs come before any synthesis, as ours do; it was not run here.
# We left out more than one bit of clock speed: a real design also has to reach its clock, as in lesson 4.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_wider_stream", None)
# quiz("fpga.quiz_first_lane", None)
# quiz("fpga.quiz_batch", None)
# BEGIN SOLUTION
quiz("fpga.quiz_wider_stream", "b")
quiz("fpga.quiz_first_lane", "d")
quiz("fpga.quiz_batch", "a")
# END SOLUTION
