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
#     minutes: 55
#     needs: []
# ---

# %% [markdown]
# # A multiply-accumulate array
#
# **One multiplier works, and 219 rest.**
# For one image, layer fc1 of the course's network needs 4,096 x 128 = 524,288 multiply-adds.
# A circuit that does one of them at a time keeps one of the FPGA's 220 multipliers busy.
# How do you put more of them to work, and what else does that cost?
#
# In this lesson you describe circuits in **SystemVerilog**, a language for hardware.
# A simulator runs them step by step, and another tool says which parts they would take on the FPGA.
# Both need only seconds and no FPGA.
#
# ## What you will be able to do
#
# - describe a circuit of wires and registers, and read its waveform;
# - let circuits pass numbers on without losing any;
# - predict the cycles of an array, and read what it costs.
#
# You need [lesson 1](1_int8_from_the_formula.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **multiply-accumulate unit** multiplies two numbers, and adds the product to a sum that it keeps.
# One DSP is enough for the multiplication.
# The sum has 32 bits, and an adder for 32 bits takes 32 LUTs if it is made of LUTs (compiled).
#
# The next cell asks for two guesses.
# How many LUTs will the whole unit take beside its DSP?
# And if 16 units stand side by side, but only the sum of the first is used, how many multipliers will the tool build?

# %%
import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import quantize, simulate, synthesize, waveforms
from labkit.fpga.errors import RTLError
from labkit.fpga.packing import unpack
from labkit.fpga.words import ends, sum_words, term_words
from labkit.provenance import compiled

# STUB:
# luts_guess = predict("fpga.mac_luts", None, "LUT")
# left_guess = predict("fpga.multipliers_left", None, "multipliers")
# BEGIN SOLUTION
luts_guess = predict("fpga.mac_luts", 40, "LUT")
left_guess = predict("fpga.multipliers_left", 16, "multipliers")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A circuit that counts
#
# A **wire** carries a value that follows from other values at once.
# A **register** is a row of flip-flops, and keeps a value.
# When may a register change?
# A **clock** decides: a wire that goes up and down all the time.
# Each time it goes up, all registers take their next values together.
# The time from one such moment to the next is a **clock cycle**.
#
# The next cell describes a counter with two bits:
#
# | line | what it describes |
# |---|---|
# | `module counter (...);` | a circuit with its **ports**, the wires that lead in and out |
# | `input logic clk, rst` | two wires of one bit; the simulator holds `rst` (reset) at 1 before cycle 0 |
# | `logic [1:0] next;` | a value inside, with the bits 1 and 0 |
# | `assign next = count + 1;` | an adder: whenever `count` changes, so does `next` |
# | `always_ff @(posedge clk)` | a register: each time the clock goes up, ... |
# | `count <= next;` | ... `count` takes the value that `next` had just before |

# %% tags=["picture"]
counter = r"""
module counter (input logic clk, rst, output logic [1:0] count);
  logic [1:0] next;
  assign next = count + 1;
  always_ff @(posedge clk)
    if (rst) count <= 0;
    else count <= next;
endmodule
"""
run = simulate(counter, "counter", {}, cycles=6, watch=["next"])
waveforms.draw(run.trace, ["next", "count"])

# %% [markdown]
# This picture is a **waveform**: it has a row for each wire and a column for each cycle.
# In the row of `count`, 3 is followed by 0, because two bits cannot hold 4.
# In each cycle the adder prepares `next`, and at the end of the cycle the register takes it.
#
# **The lines of a circuit do not run one after the other: all of them work all the time.**
#
# ### Words that wait
#
# A sum receives its products one after the other.
# But in some cycles the sender has nothing to send, and in others the receiver is busy.
# So two wires go with the data, which are called a **handshake**.
# While `valid` is 1, the sender offers a word.
# While `ready` is 1, the receiver can take one.
#
# **A word moves in each cycle in which `valid` and `ready` are both 1; until then the sender keeps it on offer.**
#
# Our unit takes **terms**, words with two bytes `x` and `w`.
# With the last term of a sum, the wire `terms_last` is 1.
# Let us follow two sums, $2 \cdot 4 + 3 \cdot 5 = 23$ and $1 \cdot 6 = 6$, when the receiver is busy in cycle 2:
#
# | cycle | x, w | last | sum | what happens |
# |---|---|---|---|---|
# | 0 | 2, 4 | 0 | ? | the first term moves, so the next sum is 0 + 8 |
# | 1 | 3, 5 | 1 | 8 | the last term moves, so the next sum is 8 + 15 |
# | 2 | 1, 6 | 1 | 23 | the sum is complete, but the receiver is busy, so everything waits |
# | 3 | 1, 6 | 1 | 23 | the sum is taken; a first term moves, so the next sum is 0 + 6 |
# | 4 | | | 6 | the sum is taken |
#
# **Exercise `fpga.mac`**: write two lines, the next values of the sum `y_data` and of `first`.
# The register `first` is 1 when the next term begins a new sum.
#
# In the module, `c ? a : b` is Python's `a if c else b`, and `!`, `||`, `&&` are *not*, *or*, *and*.
# `{w, x}` puts two values side by side, `w` above `x`.
# A value is between -128 and 127 if it is declared `signed [7:0]`.
# Use one DSP, at most 100 LUTs and 100 flip-flops, and one cycle for each term.

# %% tags=["exercise:fpga.mac"]
mac = r"""
module mac (
    input logic clk, rst, terms_valid, terms_last, y_ready,
    input logic [15:0] terms_data,
    output logic terms_ready, y_valid,
    output logic signed [31:0] y_data);
  logic signed [7:0] x, w;
  logic first;
  assign {w, x} = terms_data;
  assign terms_ready = !y_valid || y_ready;
  always_ff @(posedge clk)
    if (rst) begin y_valid <= 0; first <= 1; end
    else if (terms_valid && terms_ready) begin
      # STUB:
      # y_data <= 0;
      # first <= 1;
      # BEGIN SOLUTION
      y_data <= (first ? 0 : y_data) + x * w;
      first <= terms_last;
      # END SOLUTION
      y_valid <= terms_last;
    end else if (y_ready) y_valid <= 0;
endmodule
"""
mac = check("fpga.mac", mac)

# %% [markdown]
# Does your circuit do what the table says?
# Let us look at the same two sums.

# %% tags=["picture"]
terms = np.array([[2, 4], [3, 5], [1, 6]], np.int8)
busy = {"y": [0, 0, 1, 0, 0]}  # in cycle 2, nobody takes y
run = simulate(mac, "mac", {"terms": terms, "terms_last": [0, 1, 1]}, stalls=busy, watch=["x", "w"])
shown = ["x", "w", "terms_valid", "terms_ready", "terms_last", "y_data", "y_valid", "y_ready"]
waveforms.draw(run.trace, shown)

# %% [markdown]
# Look at cycle 2, where `y_ready` is 0.
# `terms_ready` goes to 0 as well, so 1 and 6 stay on offer, and 23 is not lost.
#
# ### Lanes
#
# One unit does one multiply-add in a cycle, so 16 units can do 16.
# Units that work side by side are called **lanes**.
# In a fully connected layer every output reads the same inputs, so the lanes can share `x`, and only the weights differ.
#
# Here are two outputs of a layer with two inputs, 2 and 3:
#
# ```
#            x    lane 0, weights 4 and 5    lane 1, weights -1 and 2
# cycle 0    2      0 + 2 x 4 =  8             0 + 2 x (-1) = -2
# cycle 1    3      8 + 3 x 5 = 23            -2 + 3 x 2    =  4
#
# first word       bytes 2, 4, -1             byte 0 is x, byte k + 1 is the weight of lane k
# the result       64 bits                    lane 0 in the bits 0 to 31, lane 1 in 32 to 63
# ```
#
# A module may contain copies of another one:
#
# | line | what it describes |
# |---|---|
# | `parameter LANES = 4` | a number that is chosen when the circuit is built |
# | `for (genvar k = 0; ...)` | no loop in time: all lanes are built, and work at once |
# | `mac lane (.clk, .y_data(sum), ...);` | a copy of `mac`; its port `y_data` is connected to our wire `sum`, and `clk` to `clk` |
# | `terms_data[8*n +: 8]` | 8 bits from bit `8*n` upwards, which are byte n |
#
# All lanes move together, so lane 0 speaks for them in the handshake.
#
# **Exercise `fpga.mac_array`**: in lane k, connect `x`, `w` and the result.
# Use one DSP for each lane.

# %% tags=["exercise:fpga.mac_array"]
mac_array = r"""
module mac_array #(parameter LANES = 4) (
    input logic clk, rst, terms_valid, terms_last, y_ready, input logic [8*LANES+7:0] terms_data,
    output logic terms_ready, y_valid, output logic [32*LANES-1:0] y_data);
  logic [LANES-1:0] ready, valid;
  assign {terms_ready, y_valid} = {ready[0], valid[0]};
  for (genvar k = 0; k < LANES; k++) begin : gen_lanes
    logic [7:0] x, w;
    logic [31:0] sum;
    # STUB:
    # assign x = 0;
    # assign w = 0;
    # assign y_data[32*k +: 32] = 0;
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
# The sums have 32 bits, but the next layer reads int8.
# In lesson 1 you requantised with integers, and now you need the same as a circuit:
#
# ```
# sum                 8,660          -8,660
# product with m      1,420,240      -1,420,240     m = 164
# plus half           1,453,008      -1,387,472     + 2^15
# shifted by 16       22             -22            rounded down, as in Python
# clamped             22             0              0 to 127, which is the ReLU, too
# ```
#
# A shift to the right must fill the left with copies of the sign.
# In SystemVerilog `>>>` does so, while `>>` fills it with zeros.
#
# **Exercise `fpga.requantize_rtl`**: write the lines for `shifted` and `y_data`.
# As in Python, `2 ** n` is a power, and `8'(v)` keeps the low 8 bits of v.
# Use at most 2 DSPs, 200 LUTs and 200 flip-flops.

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
  # assign shifted = 0;
  # BEGIN SOLUTION
  assign shifted = (sum * m + 2 ** (SHIFT - 1)) >>> SHIFT;
  # END SOLUTION
  always_ff @(posedge clk)
    if (rst) y_valid <= 0;
    else if (x_ready) begin
      y_valid <= x_valid;
      # STUB:
      # y_data <= 0;
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
# Do your circuits compute the real layer fc1?
# Its 4,096 inputs come from a test image by way of the golden model of lesson 1.
# We use 16 lanes, so the 128 outputs take eight rounds of 4,096 words.
# The biases are added in NumPy, between the two circuits.

# %%
data = cifar10("sample")
golden = quantize(convnet.load_weights(), data.train.images[:500])
fc1 = golden.layer("fc1")
image = golden.activations(data.test.images[:1])  # every tensor on the way
K, D = fc1.weights.shape


def run_array(lanes):
    """all of fc1 for the image -> the simulation of an array with so many lanes"""
    words = {"terms": term_words(image["flat"][0], fc1.weights, lanes)}
    words["terms_last"] = ends(D, K // lanes)
    sizes = {"LANES": lanes}
    return simulate([mac_array, mac], "mac_array", words, parameters=sizes, trace=False)


run = run_array(16)
sums = unpack(run.outputs["y"], 16, 32).ravel() + fc1.bias
words = sum_words(sums, fc1.multiplier)
outputs = simulate(requantize, "requantize", {"x": words}, parameters={"SHIFT": fc1.shift}).outputs
print("sums agree:", np.array_equal(sums, image["fc1"][0]))
print("outputs agree:", np.array_equal(outputs["y"], image["relu3"][0]))

# %% [markdown]
# All 128 outputs of the circuits equal those of the golden model, bit for bit.
#
# ## Measure
#
# ### Cycles and parts
#
# With LANES lanes, the 128 outputs make 128 / LANES rounds.
# Each round takes a cycle for each of the 4,096 inputs.
# At the end, one more cycle is needed until the last sum has left its register:
#
# $$\text{cycles} = \frac{128}{\text{LANES}} \cdot 4{,}096 + 1$$
#
# The simulator counts the cycles, so we can compare.
# `synthesize` turns a module into the parts of the FPGA with the tool Yosys, and lists them.

# %%
reports = {}
rows = []
for lanes in (1, 4, 16):
    expected = K // lanes * D + 1
    cycles = int(run_array(lanes).cycles)
    report = synthesize([mac_array, mac], "mac_array", {"LANES": lanes})
    rows.append([lanes, expected, cycles, int(report.dsp), int(report.lut), int(report.ff)])
    reports[lanes] = report
heads = ["lanes", "cycles, predicted", "cycles, counted", "DSPs", "LUTs", "flip-flops"]
figures.table(heads, rows, "DSPs, LUTs and flip-flops are compiled by Yosys, for the XC7Z020.")

# %% [markdown]
# The formula is exact.
# But look at the LUTs and flip-flops: where are the 32-bit adders and the registers of the sums?
# They are inside the DSPs, because a DSP48E1 has an adder and a register of 48 bits behind its multiplier.
#
# ### What nobody reads
#
# The next module contains your array with 16 lanes, but only lane 0 leads out.
# (`.*` connects each port to the wire of its name.)

# %%
one_answer = r"""
module one_answer (
    input logic clk, rst, terms_valid, terms_last, y_ready, input logic [135:0] terms_data,
    output logic terms_ready, y_valid, output logic [31:0] y_data);
  logic [511:0] sums;
  mac_array #(.LANES(16)) array (.*, .y_data(sums));
  assign y_data = sums[31:0];
endmodule
"""
sources = [one_answer, mac_array, mac]
hollow = synthesize(sources, "one_answer")
print(hollow.multipliers)
try:
    synthesize(sources, "one_answer", multiply_adds_per_cycle=16)
except RTLError as refused:
    print(refused)

# %% [markdown]
# The tool has removed 15 of the 16 multipliers, because nobody outside could tell the difference.
# For the simulator, however, all 16 lanes still work.
# When we say how many multiply-adds the simulation did, `synthesize` therefore refuses to report a circuit that can no longer do them.
#
# **A small report may only mean that an output is not connected.**
#
# ## Explain
#
# How good were your guesses, and how far can the array grow?
# With 128 lanes, each output of fc1 has a multiplier of its own.

# %% tags=["picture"]
alone = synthesize(mac, "mac")
left = compiled(len(hollow.multipliers.left), "multipliers", "Yosys")
rows = [("LUTs of a unit", luts_guess, alone.lut), ("multipliers left", left_guess, left)]
figures.guesses(rows)
widest = synthesize([mac_array, mac], "mac_array", {"LANES": 128})
widest.budget()
print("cycles with 128 lanes:", K // 128 * D + 1, "(predicted)")

# %% [markdown]
# One unit takes 5 LUTs, not 40, because the DSP's own adder does the sum.
# So an array of 128 lanes fills 58 % of the DSPs, but less than 1 % of the LUTs.
#
# One multiplier needed 524,289 cycles for fc1 while 219 rested.
# **With 128 lanes, 92 rest, and the layer takes 4,097 cycles (predicted): 128 times fewer.**
# The price is that 128 weights must arrive in each cycle.
#
# ## On trial
#
# The chapter's claim waits for lesson 4, since it needs the speed of a clock as well.
#
# ## Recap
#
# **The rule to keep: each lane is one DSP, and a fully connected layer takes (outputs / lanes) x inputs + 1 cycles.**
#
# Take a new layer, fc2 with 128 inputs and 10 outputs.
# Ten lanes take 10 DSPs and 129 cycles, and an eleventh lane would have no output to compute.
#
# ### Outside
#
# In AMD's Vivado, `report_utilization` lists the same parts after placement, and Vitis HLS writes circuits from C++ with a report of cycles and DSPs.
# Neither was run here.
# We left out a unit with more than one product per cycle, which `mac_array.sv` in labkit has.
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
