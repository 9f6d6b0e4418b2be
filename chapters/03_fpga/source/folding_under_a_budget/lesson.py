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
#     number: 6
#     minutes: 50
#     needs: []
#     able: predict whether a layer or the stream limits a pipeline; choose how many multipliers each layer gets; say what fits into the FPGA's memory
#     runs_on: the same, and stored reports of Yosys
# ---

# %% [markdown]
# # Folding under a budget
#
# **99 DSPs to spare.**
# <!-- holds: int(budget.available("dsp")) - int(accelerator_report.stored(narrow).dsp) == 99 -->
# The accelerator of lesson 5 takes 73,778 clock cycles for an image (counted).
# It uses 121 of the FPGA's 220 DSPs (compiled), so the other 99 do nothing.
# How fast can the network be on this FPGA, and what stops us from going further?
#
# ## What you will be able to do
#
# - predict whether a layer or the stream limits a pipeline;
# - choose how many multipliers each layer gets;
# - say what fits into the FPGA's memory.
#
# You need [lesson 5](5_the_network_as_a_pipeline.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# In lesson 5, conv2 has 72 multipliers, and the stream brings the weights of fc1 and fc2 again for each image.
# First we give conv2 twice as many multipliers: by how many percent do the cycles for one image fall?
#
# Then the weights of fc1 and fc2 come only once and stay in block RAMs: they are **resident**.
# They are 525,568 bytes, and a block RAM stores 4,608.
# How many of the 140 block RAMs does the whole accelerator take?

# %%
from math import ceil

import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import quantize
from labkit.fpga.convnet import accelerator_report, budget
from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.convnet.published import DESIGNS, predicted_rate
from labkit.provenance import counted
from labkit_lessons.fpga.folding_under_a_budget import accelerator_pictures, training_bytes

# STUB:
# saved_guess = predict("fpga.conv2_doubled", None, "%")
# memory_guess = predict("fpga.resident_block_rams", None, "BRAM36")
# BEGIN SOLUTION
saved_guess = predict("fpga.conv2_doubled", 30, "%")
memory_guess = predict("fpga.resident_block_rams", 70, "BRAM36")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A knob for each layer
#
# A **lane** is a group of multipliers that works on one output of a layer.
# A few lanes serve all outputs of a layer in turn.
# The number of lanes is the layer's knob, and a choice for all three layers is a **folding**.
#
# | layer | multiply-adds | multipliers of a lane | cycles with one lane | DSPs of a lane |
# |---|---|---|---|---|
# | conv1 | 884,736 | 3 channels x 9 = 27 | 32,768 | 27 + 2 |
# | conv2 | 4,718,592 | 8 channels x 9 = 72 | 65,536 | 72 + 2 |
# | fc1 | 524,288 | 1 | 524,288 | 1 |
#
# A lane of conv2 reads 8 of the 32 input channels at a time.
# Each multiplier does one multiply-add per cycle, so one such lane takes 4,718,592 / 72 = 65,536 cycles.
# <!-- holds: 16 * 16 * np.prod(convnet.SHAPES["conv2.weight"]) == 4_718_592 == 72 * 65_536 -->
# Each lane of a convolution has 2 more DSPs, which requantise.
# Every folding adds 10: 8 multiply in fc2, and 2 requantise for fc1.
#
# So $a$ lanes of conv1, $b$ of conv2 and $c$ of fc1 should take $29a + 74b + c + 10$ DSPs.
# Compiling the accelerator takes a minute or two, so labkit has stored Yosys's reports.

# %%
# To make them again: python tools/accelerator_report.py
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
# <!-- holds: all(row[4] == row[3] == 29 * row[0] + 74 * row[1] + row[2] + 10 for row in rows) -->
# (Layer fc1 has a multiple of 8 lanes: 8 with streamed weights, because the stream brings 8 per cycle.)
#
# ### What binds
#
# In a pipeline, all layers and the stream work at the same time.
# Take two layers, and a stream of 8 bytes per cycle:
#
# ```
# layer A   1,200 multiply-adds / 3 multipliers   = 400 cycles
# layer B   4,000 multiply-adds / 5 multipliers   = 800 cycles
# stream    400 bytes of pixels, 4,400 of weights:
#           (400 + 4,400) bytes / 8               = 600 cycles
# ```
#
# When many images follow one another, A and the stream have to wait for B, so an image leaves every 800 cycles.
# We say that B **binds**.
#
# With 10 multipliers, B takes only 400 cycles, so the stream binds, and an image leaves every 600 cycles.
# With resident weights as well, the stream takes 400 / 8 = 50 cycles.
# Then the layers bind, and an image leaves every 400 cycles.
#
# **Exercise `fpga.bound`**: return the cycles from one image to the next, and whether the stream takes longer than every layer.
# A beat of the stream holds `width` bytes.
# Pixels and weights follow one another without a gap, and a partly filled last beat takes a cycle too.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


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
# The number of lanes is a power of two, as are the 32, 64 or 128 outputs that the lanes share.
#
# ```
# lanes    cycles
# of A, B  of A, B   DSPs
# 1, 1     400, 800  10 + 20 = 30
# 1, 2     400, 400  10 + 40 = 50   B was the slowest
# 2, 2     200, 400  20 + 40 = 60   no faster: B still takes 400
# 2, 4     200, 200  20 + 80 = 100  over the budget
# ```
#
# So the second line is best, and 40 DSPs stay idle.
#
# **Exercise `fpga.folding`**: return the lanes, powers of two, with which images leave most often.
# Of several such foldings, return the one with the fewest DSPs.
# The budget always allows one lane for each layer, and nothing else limits the lanes.


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
# Does `bound` predict what the accelerator does?
# We run jobs of one, three and four images.
# The first job gives the cycles of the first image, its **latency**.
# The others differ by one **further image**, whose cycles give the **throughput**: how often images leave.

# %%
golden = quantize(convnet.load_weights(), cifar10("sample").train.images[:500])
x = golden.to_int8(cifar10("sample").test.images[:4])


def count(lanes):
    """the cycles of the first image, and those of a further one"""
    with Accelerator(lanes) as accelerator:
        jobs = [int(accelerator.run(golden.layers, x[:n]).cycles) for n in (1, 3, 4)]
    return jobs[0], jobs[2] - jobs[1]


# %% [markdown]
# The stream brings an image as 1,024 pixels of 4 bytes, three colours and a zero.


# %%
def compare(lanes):
    """the lanes, what `bound` predicts, and what is counted"""
    work = np.array([884_736, 4_718_592, 524_288, 1_280])  # of conv1, conv2, fc1, fc2
    multipliers = np.array([27 * lanes.conv1, 72 * lanes.conv2, lanes.fc1, 8])
    cycles, stream_binds = bound(work, multipliers, 4_096, 525_568, lanes.resident, 8)
    first, further = count(lanes)
    name = f"{lanes.conv1}, {lanes.conv2}, {lanes.fc1}"
    return [name, "stream" if stream_binds else "layer", int(cycles), further, first]


heads = ["lanes", "binds", "further image, predicted", "counted", "first image, counted"]
note = "Lanes of conv1, conv2 and fc1; clock cycles, counted by the simulator."
compared = [compare(narrow), compare(wider)]
figures.table(heads, compared, note)

# %% [markdown]
# The prediction for a further image is right to within 0.2 %.
# <!-- holds: all(abs(row[3] / row[2] - 1) < 0.002 for row in compared) -->
# In both rows the stream binds: it needs (4,096 + 525,568) / 8 = 66,208 cycles, and no layer more than about 65,536.
# <!-- holds: all(row[1] == "stream" and row[2] == 66_208 for row in compared) -->
# <!-- holds: max(884_736 / (27 * narrow.conv1), 4_718_592 / (72 * narrow.conv2), 524_288 / narrow.fc1) == 65_536 < compared[0][2] -->
#
# **In a layer that does not bind, more multipliers do not let images leave more often.**
# <!-- holds: wider.conv2 == 2 * narrow.conv2 and compared[1][3] == compared[0][3] -->
#
# ## Measure
#
# ### The roofline of our FPGA
#
# A roofline, as in chapter 01, shows what we can reach at best.
# Its flat part is the 220 DSPs, each with one multiply-add per cycle.
# <!-- holds: int(budget.available("dsp")) == 220 -->
# (LUTs could multiply too; here only DSPs do.
# Nor did we try to compute two products in one DSP.)
# Its slope is the stream: if each byte serves $I$ multiply-adds, 8 bytes per cycle serve $8 I$ of them.
# An image takes 6,128,896 multiply-adds, the sum of `work`:
# <!-- holds: sum(np.prod(layer.output_shape[1:]) * np.prod(convnet.SHAPES[f"{layer.name}.weight"]) for layer in convnet.LAYERS if layer.parameters) == 6_128_896 -->
# <!-- holds: round(6_128_896 / (8 * compared[0][2]), 2) == 11.57 and round(6_128_896 / compared[0][2], 1) == 92.6 -->
#
# ```
# streamed  I = 6,128,896 / (4,096 + 525,568) = 11.57
#           8 x 11.57 = 92.6 multiply-adds per cycle
# resident  I = 6,128,896 / 4,096 = 1,496
#           8 x 1,496 = 11,968, far above 220
#
# a job of 100 images, in which resident weights
# and 21,472 bytes of other things come once:
#           I = 612,889,600 / (409,600 + 525,568 + 21,472) = 641
# ```
#
# The picture shows jobs of 100 images.

# %% tags=["picture"]
resident = Folding(conv1=1, conv2=2, fc1=16, resident=True)
jobs = {"streamed, 1, 1, 8": (narrow, 100), "resident, 1, 2, 16": (resident, 100)}
accelerator_pictures.roofline(jobs)

# %% [markdown]
# A dashed line shows how many multipliers a folding has: its DSPs without those that requantise.
# On the slope, the stream can keep only 93 multipliers busy.
# <!-- holds: ceil(6_128_896 / compared[0][2]) == 93 -->
# With resident weights we are far to the right, where more multipliers help.
# <!-- holds: 8 * 612_889_600 / (409_600 + 525_568 + 21_472) > 20 * int(budget.available("dsp")) -->
#
# ### Weights that stay
#
# Which lanes does your function choose when the weights are resident?

# %%
cycles = np.array([32_768, 65_536, 524_288])  # of conv1, conv2 and fc1, with one lane each
dsps = np.array([29, 74, 1])
rows = []
for available in (121, 220, 400):
    chosen = folding(available - 10, cycles, dsps)  # 10 DSPs are in no lane
    rows.append([available, *chosen, chosen @ dsps + 10, max(cycles / chosen)])
lane_heads = ["lanes of conv1", "of conv2", "of fc1"]
figures.table(["DSPs available", *lane_heads, "DSPs taken", "cycles"], rows, "Predicted.")

# %% [markdown]
# With 220 DSPs, all three layers take 32,768 cycles, and the next step would double all.
# <!-- holds: rows[1][0] == 220 and (cycles / np.array(rows[1][1:4])).tolist() == [32_768] * 3 -->
# <!-- holds: rows[2][1:4] == [2 * lanes for lanes in rows[1][1:4]] -->
#
# Do the weights fit?
# With 16 lanes, fc1 reads 16 bytes = 128 bits in each cycle, from one of 524,288 / 16 = 32,768 addresses.
# <!-- holds: rows[1][3] == 16 and cycles[2] / rows[1][3] == 32_768 -->
# The shape of a block RAM can be chosen: 9 bits wide, it has 4,096 addresses.
#
# ```
# fc1     15 side by side for 128 bits,
#         32,768 / 4,096 = 8 such rows   15 x 8 = 120 block RAMs
# conv2   2 lanes, each reads 9 small
#         memories at once                2 x 9 =  18
# ```

# %% tags=["picture"]
report = accelerator_report.stored(resident)
budget.bars({"streamed, 1, 1, 8": accelerator_report.stored(narrow), "resident, 1, 2, 16": report})
stays = compare(resident)
figures.table(heads, [stays], note)

# %% [markdown]
# The accelerator alone fits: other parts of it take 2 block RAMs, and none is left.
# <!-- holds: float(report.bram36) == 15 * 32_768 / 4_096 + 18 + 2 == int(budget.available("bram36")) -->
# <!-- holds: report.fits is True and int(report.dsp) == rows[1][4] -->
# On a board, the DMA that brings the bytes may want some as well.
# A further image takes half as long as before.
# <!-- holds: round(stays[3] / compared[0][3], 1) == round(stays[3] / compared[1][3], 1) == 0.5 -->
# The first one takes longer, because fc1 waits for all weights.
# <!-- holds: stays[4] > max(row[4] for row in compared) -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
before, after = count(narrow)[0], count(wider)[0]
saved = counted(100 * (before - after) / before, "%", "the simulator")
results = [("cycles saved", saved_guess, saved), ("block RAMs", memory_guess, report.bram36)]
figures.guesses(results)

# %% [markdown]
# Twice the multipliers in conv2 save only 3 %: fc1 begins earlier, but its weights take as long to come.
# <!-- holds: round(float(saved)) == 3 and compared[1][3] == compared[0][3] -->
# The resident weights would need only 115 block RAMs if every bit were used.
# <!-- holds: ceil(sum(golden.layer(name).weights.size for name in ("fc1", "fc2")) / 4_608) == 115 -->
# But conv2's 18,432 bytes, which would fit into 4, take 18: what is read at once must lie apart.
# <!-- holds: golden.layer("conv2").weights.size == 18_432 and ceil(18_432 / 4_608) == 4 -->
# <!-- holds: float(report.bram36) - 15 * 8 - 2 == 18 -->
#
# So how fast can the network be?
# **A further image takes 32,888 cycles (counted), where 220 DSPs that never rest would take 6,128,896 / 220 = 27,859 (predicted).**
# <!-- holds: stays[3] == 32_888 and round(6_128_896 / int(budget.available("dsp"))) == 27_859 -->
# As our circuits are written, the DSPs stop us: the next folding needs 396, so 176 are missing.
# <!-- holds: rows[2][4] == 396 == int(budget.available("dsp")) + 176 -->
# Memory does not: fc1 would take 116 block RAMs (compiled), and LUTs would store conv2's weights.
# <!-- holds: rows[2][3] == 32 and ceil(8 * rows[2][3] / 9) * 524_288 / rows[2][3] / 4_096 == 116 < int(budget.available("bram36")) -->
# But LUTs can multiply, too, which we did not try: 176 multipliers of 134 LUTs each (compiled) take 23,584, and about 44,000 are free.
# <!-- holds: 176 * 134 == 23_584 < 53_200 - int(report.lut) and round(53_200 - int(report.lut), -3) == 44_000 -->
#
# What would this be on a board?
# We used none, so we *assume* a clock of 100 MHz and the power of the board in the row *FINN*, 1.67 W (published).
# <!-- holds: round(float(DESIGNS["finn_cnv_w1a1"].power), 2) == 1.67 -->
# Can the circuits reach this clock?
# We ask lesson 4's `place_and_route`, for an ECP5, about two parts that have much to do between their registers.

# %%
from labkit.fpga import place_and_route
from labkit.fpga.library import library

rows = []
for name, lanes in {"ours, streamed": narrow, "ours, resident": resident}.items():
    board = predicted_rate(count(lanes)[1])  # at 100 MHz
    rows.append([name, "further ones", board.rate, board.energy])
for key in ("cnv_w1a1", "finn_cnv_w1a1", "hls4ml_rn07"):
    design = DESIGNS[key]
    rows.append([design.name, design.images, design.rate, design.energy])
board_heads = ["on a Pynq board, for CIFAR-10", "images", "rate", "energy for an image"]
figures.table(board_heads, rows)
clocks = [
    (part, place_and_route(library(part), part).fmax) for part in ("maxpool2x2", "requantize")
]
figures.table(["part of ours", "clock on the ECP5"], clocks)

# %% [markdown]
# The table shows orders of magnitude, and no winner: the published networks are others, two of them with one bit per number, and our rows leave out the processor's time.
# On the ECP5 both would do, because their long paths are cut: `maxpool2x2` reads a memory in one cycle, and compares and writes back in the next; `requantize` takes 8 cycles, with half a product, an addition or a part of the shift in each.
# <!-- holds: float(clocks[0][1]) > 100e6 < float(clocks[1][1]) -->
# In the accelerator, wires between the parts come on top, and no timing tool has tested it for the Zynq: our rates are for a clock that it may not reach.
#
# ## On trial
#
# ### <a id="C07"></a>C07 on trial
#
# > The FPGA runs forward *and backward* passes from on-chip memory, for training large models
#
# Our forward pass does run from on-chip memory.
# <!-- holds: float(report.bram36) <= int(budget.available("bram36")) and resident.resident is True -->
# A training step also keeps **activations**, the outputs of layers that the backward pass needs, and, with momentum, a momentum for each weight and all gradients until the update.
# Plain SGD for one image can apply each layer's gradient as it comes, and keep neither.
# Here are the bytes for one image, also for ResNet-50, a model of 25.6 million parameters.
# <!-- holds: round(float(training_bytes.RESNET50_PARAMETERS) / 1e6, 1) == 25.6 -->

# %%
columns = ["what is kept", "bytes", "times the block RAM"]
kept = training_bytes.rows()
figures.table(columns, kept)

# %% [markdown]
# **Verdict on C07: wrong.**
# For an FPGA of our size: with one byte for each number, ResNet-50's weights alone take 40 times its block RAM, and training with momentum takes 119 times, without activations.
# <!-- holds: [round(row[2]) for row in kept[4:]] == [40, 119] -->
# The bytes of our small network would fit in plain SGD, 0.88 of the block RAM, and not with momentum, 2.6 times.
# <!-- holds: [round(kept[1][2], 2), round(kept[2][2], 1)] == [0.88, 2.6] -->
# Larger FPGAs were not counted, and no backward pass ran here; [FPDeep](https://arxiv.org/abs/1901.01007) spreads a training over many FPGAs, and then needs on-chip memory alone for convolutions (published).
#
# ## Recap
#
# **The rule to keep: a further image takes the longest of multiply-adds / multipliers for each layer and bytes / 8 for the stream; double only what binds.**
# <!-- holds: all(abs(row[3] / row[2] - 1) < 0.004 for row in [*compared, stays]) -->
#
# For example, stream the 1,024 x 1,024 weights of a fully connected layer.
# They take 1,048,576 / 8 = 131,072 cycles, so 8 multipliers are enough, and a ninth would wait.
# <!-- holds: [bound(np.array([2**20]), np.array([n]), 0, 2**20, False, 8) for n in (8, 9)] == [(131_072, False), (131_072, True)] -->
#
# ### Outside
#
# AMD's compiler FINN has the knobs PE and SIMD for each layer, and hls4ml has `ReuseFactor`.
# Vivado's `report_utilization` would list DSPs and block RAMs.
# None of these was run here.
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
