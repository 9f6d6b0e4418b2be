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
from labkit.fpga.published import DESIGNS, predicted_rate
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
# In the accelerator, a **lane** is a group of multipliers that works on one output of a layer at a time.
# A few lanes serve all outputs in turn, which is called **folding**.
# How many lanes a layer has is the knob that we can turn.
#
# | layer | multiply-adds | multipliers of a lane | cycles with one lane | DSPs of a lane |
# |---|---|---|---|---|
# | conv1 | 884,736 | 3 channels x 9 = 27 | 32,768 | 27 + 2 |
# | conv2 | 4,718,592 | 8 channels x 9 = 72 | 65,536 | 72 + 2 |
# | fc1 | 524,288 | 1 | 524,288 | 1 |
#
# Each multiplier does one multiply-add per cycle, so the cycles are the second column divided by the third.
# (We leave out the steps on the border, which add at most 0.2 %.)
# Each lane of a convolution also has two DSPs that requantise its outputs.
# With streamed weights, fc1 needs 8 lanes and no more, because 8 weights arrive per cycle and each is used once.
#
# Ten more DSPs are the same for every folding: fc2 has 8 multipliers, and fc1 requantises with 2.
# So $a$ lanes of conv1, $b$ of conv2 and $c$ of fc1 should take $29a + 74b + c + 10$ DSPs.
#
# Does Yosys agree?
# Compiling the whole accelerator takes a minute or two, so the next cell reads stored reports; its first line says how to make them again.

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
# The formula is exact, so we can say what a folding costs before anything is compiled.
#
# ### What binds
#
# And how fast will it be?
# In a pipeline, all layers work at the same time, and so does the stream.
# Take two layers, and a stream of 8 bytes per cycle that brings 400 bytes of pixels and 4,400 bytes of weights for each image:
#
# ```
# layer A     1,200 multiply-adds / 3 multipliers    = 400 cycles
# layer B     4,000 multiply-adds / 5 multipliers    = 800 cycles
# stream      (400 + 4,400) bytes / 8                = 600 cycles
# ```
#
# If many images follow one another, one leaves every 800 cycles, because A and the stream have to wait for B.
# We say that B **binds**.
#
# Now give B 10 multipliers, so that it takes 400 cycles, too.
# An image leaves every 600 cycles, and the stream binds.
# If the weights are resident as well, the stream brings only the pixels, in 400 / 8 = 50 cycles.
# Then the layers bind again, and an image leaves every 400 cycles.
#
# **Exercise `fpga.bound`**: return the cycles from one image to the next, and whether the stream takes longer than every layer.
# The stream moves words of `width` bytes, and the last word of an image may be partly filled.


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
# Suppose that the stream is fast enough and that we have 90 DSPs.
# With one lane, layer A takes 400 cycles and 10 DSPs, and layer B takes 800 cycles and 20 DSPs.
# The number of lanes has to be a power of two, because it divides the 32, 64 or 128 outputs of a layer.
#
# ```
# lanes of A and B    cycles of A and B    DSPs
# 1 and 1             400 and 800          10 + 20 = 30
# 1 and 2             400 and 400          10 + 40 = 50      B was the slowest
# 2 and 2             200 and 400          20 + 40 = 60      no faster: B still takes 400
# 2 and 4             200 and 200          20 + 80 = 100     over the budget
# ```
#
# The best folding is the second line: an image every 400 cycles, for 50 DSPs.
# The other 40 DSPs cannot make the pipeline faster.
#
# **Exercise `fpga.folding`**: return the lanes, powers of two, with which an image takes the fewest cycles.
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
# We simulate jobs of one, two and three images: the first job gives the cycles of the first image, and the third job takes longer than the second by one **further image**.

# %%
golden = quantize(convnet.load_weights(), cifar10("sample").train.images[:500])
x = golden.to_int8(cifar10("sample").test.images[:3])


def count(lanes):
    """the cycles of the first image, and those of a further one"""
    with Accelerator(lanes) as accelerator:
        jobs = [int(accelerator.run(golden.layers, x[:n]).cycles) for n in (1, 2, 3)]
    return jobs[0], jobs[2] - jobs[1]


# %% [markdown]
# An image is 1,024 pixels of 4 bytes: three colours and a zero.
# All weights of fc1 and fc2 are 524,288 + 1,280 = 525,568 bytes, and a word has 8.

# %%
def compare(lanes):
    """lanes, what `bound` predicts, and what is counted"""
    work = np.array([884_736, 4_718_592, 524_288, 1_280])  # of conv1, conv2, fc1, fc2
    multipliers = np.array([27 * lanes.conv1, 72 * lanes.conv2, lanes.fc1, 8])
    cycles, stream_binds = bound(work, multipliers, 4_096, 525_568, lanes.resident, 8)
    first, further = count(lanes)
    name = f"{lanes.conv1}, {lanes.conv2}, {lanes.fc1}"
    return [name, "stream" if stream_binds else "layer", int(cycles), further, first]


heads = ["lanes", "binds", "further image, predicted", "counted", "first image, counted"]
note = "Lanes of conv1, conv2 and fc1; clock cycles, counted by the simulator."
figures.table(heads, [compare(narrow), compare(wider)], note)

# %% [markdown]
# For a further image, the prediction is right to within 0.1 %.
# In both rows the stream binds: it needs (4,096 + 525,568) / 8 = 66,208 cycles, and conv2 needed only 65,536 before it had more multipliers.
#
# **Multipliers in a layer that does not bind gain nothing.**
#
# ## Measure
#
# ### The roofline of the Zynq
#
# The XC7Z020 belongs to a family of chips with an FPGA and a processor, called **Zynq**.
# A **roofline**, as in chapter 01, shows what a machine can reach at best.
# Here the flat roof is the 220 DSPs, with one multiply-add each per cycle.
# The slope is the stream: if each byte is used in $I$ multiply-adds, 8 bytes per cycle allow $8 I$ of them per cycle.
# An image takes 884,736 + 4,718,592 + 524,288 + 1,280 = 6,128,896 multiply-adds:
#
# ```
# streamed    I = 6,128,896 / 529,664 bytes = 11.6     8 x 11.6 = 92.6 multiply-adds per cycle
# resident    I = 6,128,896 / 4,096 bytes = 1,496      8 x 1,496 = 11,970, but there are 220 DSPs
# ```

# %% tags=["picture"]
resident = Folding(conv1=1, conv2=2, fc1=16, resident=True)
jobs = {"streamed, 1 image": (narrow, 1), "streamed, 100 images": (narrow, 100)}
jobs |= {"resident, 1 image": (resident, 1), "resident, 100 images": (resident, 100)}
accelerator_pictures.roofline(jobs)

# %% [markdown]
# Look at the two jobs of 100 images.
# The streamed one lies on the slope, so the stream cannot keep more than 93 multipliers busy.
# The resident one loads its weights only once, so it has moved to the right, and there more lanes help.
#
# **First move the limit, then add multipliers.**
#
# ### Weights that stay
#
# Which lanes does your function choose if the weights are resident?
# Ten DSPs are needed beside the lanes.

# %%
cycles = np.array([32_768, 65_536, 524_288])  # of conv1, conv2 and fc1, with one lane each
dsps = np.array([29, 74, 1])
rows = []
for available in (121, 220, 400):
    lanes = folding(available - 10, cycles, dsps)
    rows.append([available, str(lanes), int(lanes @ dsps) + 10, int(max(cycles / lanes))])
heads_of_lanes = ["DSPs available", "lanes", "DSPs taken", "cycles per image"]
figures.table(heads_of_lanes, rows, "Predicted by the formulas.")

# %% [markdown]
# With 220 DSPs, all three layers take 32,768 cycles, so the next step would have to double all of them.
# It would take 396 DSPs.
#
# Do the weights fit?
# With 16 lanes, fc1 reads 16 bytes = 128 bits in each cycle, from one of 524,288 / 16 = 32,768 addresses.
# A block RAM can be 72 bits wide and then has 512 addresses.
# So two of them lie side by side, and 32,768 / 512 = 64 such pairs hold all addresses: fc1 alone takes 128 block RAMs.

# %% tags=["picture"]
report = accelerator_report.stored(resident)
budget.bars({"streamed, 1, 1, 8": accelerator_report.stored(narrow), "resident, 1, 2, 16": report})
figures.table(heads, [compare(resident)], note)

# %% [markdown]
# The accelerator fits, without a block RAM to spare.
# Its first image takes longer, because all 68,892 words of the stream come in before fc1 begins its 32,768 cycles.
# But each further image takes half as long as before.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
before, after = count(narrow)[0], count(wider)[0]
faster = counted(100 * (before - after) / before, "%", "the simulator")
rows = [("cycles saved", faster_guess, faster), ("block RAMs", memory_guess, report.bram36)]
figures.guesses(rows)

# %% [markdown]
# Twice the multipliers in conv2 save 3 % of the first image.
# The stream waits for conv2 only at the beginning, until fc1 gets its first value, and this value now comes earlier.
#
# How fast can the network be?
# **An image every 32,888 cycles (counted), where 220 multipliers that never rest would need 6,128,896 / 220 = 27,859.**
# Two things stop us there: the next folding needs 396 DSPs, and no block RAM is left.
#
# What would this be on a board?
# We have none, so we *assume* a clock of 100 MHz and the power of another design's whole board, 1.68 W.

# %%
rows = []
for name, lanes in {"ours, streamed": narrow, "ours, resident": resident}.items():
    board = predicted_rate(count(lanes)[1])  # at 100 MHz
    rows.append([name, board.rate, board.energy])
for key in ("cnv_w1a1", "finn_cnv_w1a1", "hls4ml_rn07"):
    design = DESIGNS[key]
    rows.append([design.name, design.rate, design.energy])
figures.table(["network on a Pynq board", "rate", "energy for an image"], rows)

# %% [markdown]
# The last three rows were measured by others, on real boards, with larger networks.
# So compare how they differ, not who wins.
# CNV has the highest rate because its weights and activations have only one bit: such products take LUTs instead of DSPs.
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
