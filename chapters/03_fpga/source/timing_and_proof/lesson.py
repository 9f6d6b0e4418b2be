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
#     title: Timing and proof
#     number: 4
#     minutes: 55
#     needs: []
#     able: find the path that limits the clock, and cut it; write a stage that keeps its words; have a solver prove a rule, or show the run that breaks it
#     runs_on: the same; nextpnr and a solver come as packages
# ---

# %% [markdown]
# # Timing and proof
#
# **127 million sums a second.**
# <!-- holds: round(slow / 1e6) == 127 -->
# A module with seven adders sums eight numbers in one clock cycle.
# Placed on an FPGA, the Lattice ECP5, its clock reaches 127 MHz (compiled).
# With registers between the adders the clock can be faster, but then several words are inside at once.
# If the next module is busy, all of them have to wait, and a word that waits can be lost.
# How fast may the clock be, and can we be sure that no waiting word is lost?
#
# ## What you will be able to do
#
# - find the path that limits the clock, and cut it;
# - write a stage that keeps its word while the next one is busy;
# - have a solver prove a rule, or show you the run that breaks it.
#
# You need [lesson 2](2_a_multiply_accumulate_array.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# In each clock cycle, signals leave registers, run through wires and adders, and have to reach the next registers before the cycle ends.
# The slowest way from one register to the next is called the **critical path**.
#
# The seven adders form a tree with three levels: four adders, then two, then one.
# Guess:
#
# 1. With registers behind all three levels, how many times as fast can the clock be?
# 2. A queue of words has a bug that our simulations miss.
#    How many cycles after the reset can it first lose a word?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.fpga import place_and_route, prove, simulate, timing_pictures, waveforms
from labkit.fpga.judging.given_modules import NUMBERED, QUEUE, TREE
from labkit.fpga.source_view import show
from labkit_lessons.fpga.timing_and_proof import latencies
from labkit_lessons.fpga.timing_and_proof.cocotb_run import KEEPS_WORDS, run_cocotb

# STUB:
# guesses = {
#     "clock": predict("fpga.pipelined_clock", None, "times"),
#     "word lost": predict("fpga.first_word_lost", None, "cycles"),
# }
# BEGIN SOLUTION
guesses = {
    "clock": predict("fpga.pipelined_clock", 3, "times"),
    "word lost": predict("fpga.first_word_lost", 10, "cycles"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A path by hand
#
# Let a word be four numbers, summed by two levels of adders.
# Suppose that a signal takes 0.5 ns to leave its register, 1 ns for each wire, and 1.5 ns for each adder.
# The clock in MHz is 1,000 divided by the nanoseconds of the critical path:
#
# ```
# registers at both ends   0.5 + 1 + 1.5 + 1 + 1.5 + 1 = 6.5 ns
#                          1,000 / 6.5 = 154 MHz
# also behind level 1      0.5 + 1 + 1.5 + 1           = 4 ns
#                          1,000 / 4   = 250 MHz
# ```
#
# A word now needs two cycles, but while level 2 adds word A, level 1 already adds word B:
#
# ```
# cycle           0    1    2    3
# level 1 adds    A    B    C    D
# level 2 adds         A    B    C
# ```
#
# This is a **pipeline**, and its parts are **stages**.
# **A pipeline still delivers a sum in every cycle, and its cycles are shorter.**
#
# ### A stage that waits
#
# A stage takes words from a stream `in` and offers them to a stream `out`.
# As in lesson 2, a word moves in each cycle in which `valid` and `ready` are both 1.
# Here the words 7 and 8 pass through:
#
# ```
# cycle              0         1         2             3
# in offers          7         8         8             nothing
# out offers         nothing   7         7             8
# out_ready          0         0         1             1
# in_ready           1         0         1             1
# end of the cycle   7 in      7 stays   7 out, 8 in   8 out
# ```
#
# **Exercise `fpga.register_stage`.**
# Write this stage, with one register for the word and one for `out_valid`, which is 0 after a reset.
# When nobody waits, a word should move in every cycle; and while the stage is empty, `in_ready` is 1, whatever its neighbours do.

# %% tags=["exercise:fpga.register_stage"]
register_stage = r"""
module register_stage (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic signed [7:0] in_data,
  output logic signed [7:0] out_data);
  # STUB:
  # assign in_ready  = out_ready;  // only wires so far: write a register
  # assign out_valid = in_valid;
  # assign out_data  = 0;
  # BEGIN SOLUTION
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_data  <= in_data;
    end
  # END SOLUTION
endmodule
"""
register_stage = check("fpga.register_stage", register_stage)

# %% [markdown]
# ### Proof by induction
#
# `check` ran your stage in the simulator cxxrtl, with only some words and pauses.
# A **solver** is a program that considers all words and pauses.
#
# Take a counter of two bits that is reset to 0 and counts 0, 1, 2, 0 and so on.
# Our rule is that it never reaches 3.
# The solver asks two questions:
#
# ```
# 1. Is the rule broken in one of the first cycles
#    after the reset?
#    0, 1, 2, 0, 1, ...       no
# 2. Does a step lead from a state that keeps it
#    to one that breaks it?
#    0 to 1, 1 to 2, 2 to 0   no
# ```
#
# A run that breaks the rule is called a **counterexample**.
# If both answers are no, each run begins by keeping the rule, and no step breaks it, so the rule holds for ever: this is a proof by **induction**.
# In `prove`, question 1 covers 20 cycles, and question 2 starts from 20 that keep the rule: a longer past excludes more states.
#
# A stage loses no word if an offered word stays until it moves out, which `prove` checks by itself, and if it keeps three more rules.
# We write these as properties, in which `$past` means one cycle earlier.

# %%
rules = """
// a word that moves in is offered in the next cycle
if ($past(in_valid && in_ready && !rst)) assert (out_valid && out_data == $past(in_data));
// while a word has to stay, no other moves in
if (out_valid && !out_ready) assert (!in_ready);
// a word is offered only if it has just moved in, or had to stay
if (!$past(in_valid && in_ready)) assert (!out_valid || $past(out_valid && !out_ready));
"""
kept = prove(register_stage, "register_stage", properties=rules)
print(kept.explain())

# %% [markdown]
# **After the reset, no input and no pause can make this stage lose, repeat or invent a word.**
# <!-- holds: kept.holds == "proved" -->
# `prove` assumes two things: the reset comes in the first cycle alone, and whoever offers a word keeps it until it is taken.
# This proves **safety** and not **progress**: no rule asks for a word that comes out.
# The simulation in `check` does, where all words have to.
#
# ### The tree
#
# This is the tree of the opening, with registers only at its end.

# %%
show(TREE)

# %% [markdown]
# Some lines may be new:
#
# ```
# logic [7:0][15:0] in_data         eight numbers of 16 bits,
#                                   in_data[0] to in_data[7]
# always_comb                       adders without registers
# for (int i = 0; i < 4; i++) ...   four adders side by side,
#                                   not four steps in time
# {a, b} <= {x, y}                  a becomes x, and b becomes y
# ```
#
# In a pipeline, each stage also has a **valid bit**, which says whether its registers hold a word.
# The valid bits move along with the words, and in ours, if the last stage waits, all wait.
#
# **Exercise `fpga.pipelined_tree`.**
# Write what happens when the words move: `pairs`, `fours` and `out_data` become registers, and each valid bit comes from the stage before.
# On the ECP5, your tree's clock must reach 80 % of ours.

# %% tags=["exercise:fpga.pipelined_tree"]
pipelined_tree = r"""
module pipelined_tree (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic [7:0][15:0] in_data,
  output logic signed [15:0] out_data);
  logic [3:0][15:0] pairs; logic [1:0][15:0] fours;
  logic pairs_valid, fours_valid;
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) {pairs_valid, fours_valid, out_valid} <= 0;
    else if (in_ready) begin
      # STUB:
      # out_valid <= in_valid;  // three stages, each with its bit and its sums
      # out_data  <= 0;
      # BEGIN SOLUTION
      {pairs_valid, fours_valid, out_valid} <= {in_valid, pairs_valid, fours_valid};
      for (int i = 0; i < 4; i++) pairs[i] <= in_data[2*i] + in_data[2*i+1];
      for (int i = 0; i < 2; i++) fours[i] <= pairs[2*i] + pairs[2*i+1];
      out_data <= fours[0] + fours[1];
      # END SOLUTION
    end
endmodule
"""
pipelined_tree = check("fpga.pipelined_tree", pipelined_tree)

# %% [markdown]
# ### A queue with a bug
#
# A **queue** keeps several words while the next module is busy.
# Ours is a memory of four places, `words[0]` to `words[3]`.
# The next word goes into place `tail`, and the next one to leave is in place `head`.
# Both count 0, 1, 2, 3, 0 and so on, and their difference is meant to say how many words wait.
#
# We simulate 1,000 words, without pauses and then with a pause on both sides in every second cycle.
# Then we ask the solver, which by `NUMBERED` may assume that the words coming in are 1, 2, 3 and so on.

# %% tags=["picture"]
x = np.arange(1000) % 256 - 128
pauses = {"in": [0, 1], "out": [0, 1]}
runs = [simulate(QUEUE, "queue", {"in": x}, words={"out": 1000}, stalls=s) for s in ({}, pauses)]
for run in runs:
    print("all words right:", np.array_equal(run.outputs["out"], x), "in", run.cycles)
proof = prove(QUEUE, "queue", properties=NUMBERED)
print(proof.explain())
shown = ["rst", "in_valid", "in_ready", "in_data", "out_valid", "out_ready", "out_data"]
waiting = "inner.waiting"  # the signal `waiting` inside the queue
waveforms.draw(proof.counterexample, [*shown, waiting], range(6), proof.wrong)

# %% [markdown]
# Both simulations pass, but the solver finds a counterexample.
# <!-- holds: [np.array_equal(run.outputs["out"], x) for run in runs] == [True, True] and proof.holds == "fails" -->
# Read it up to cycle 5, where no word is offered any more.
# <!-- holds: proof.counterexample["out_valid"][2:] == [1, 1, 1, 0] and len(proof.counterexample["out_valid"]) - 1 == 5 -->
#
# **Exercise `fpga.find_the_bug`.**
# Repair the queue.
# It should still be ready while it is empty, move a word in every cycle when nobody waits, and hold at least two while the next module is busy.

# %% tags=["exercise:fpga.find_the_bug"]
queue = r"""
module queue (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic signed [7:0] in_data,
  output logic signed [7:0] out_data);
  logic signed [7:0] words [4];
  logic [1:0] head, tail, waiting;
  assign waiting   = tail - head;
  assign out_valid = waiting != 0;
  assign out_data  = words[head];
  # STUB:
  # assign in_ready  = waiting != 4;
  # BEGIN SOLUTION
  assign in_ready  = waiting != 3;
  # END SOLUTION
  always_ff @(posedge clk) begin  // '0: all bits 0; 2'(...): two bits wide
    if (in_valid && in_ready) words[tail] <= in_data;
    head <= rst ? '0 : head + 2'(out_valid && out_ready);
    tail <= rst ? '0 : tail + 2'(in_valid && in_ready);
  end
endmodule
"""
queue = check("fpga.find_the_bug", queue)

# %% [markdown]
# **A simulation shows what happened in one run, and a proof covers every run.**
# <!-- holds: proof.holds == "fails" and prove(queue, "queue").holds == "proved" -->
#
# ## Check
#
# Are both trees right, and does yours keep each sum until it is taken?

# %%
x = np.random.default_rng(0).integers(-4000, 4000, (1000, 8)).astype(np.int16)  # 16-bit sums
trees = {"one stage": (TREE, "tree"), "three stages": (pipelined_tree, "pipelined_tree")}
rows = []
for name, (module, top) in trees.items():
    run = simulate(module, top, {"in": x}, words={"out": 1000})
    rows.append([name, np.array_equal(run.outputs["out"], x.sum(axis=1)), run.cycles])
figures.table(["tree", "sums right", "1,000 sums"], rows)
print(prove(pipelined_tree, "pipelined_tree").explain())

# %% [markdown]
# The pipeline costs two cycles in all, not two for each sum.
# <!-- holds: int(rows[1][2]) - int(rows[0][2]) == 2 -->
# The proof covers only the sum that waits at the output.
# <!-- holds: prove(pipelined_tree, "pipelined_tree").holds == "proved" -->
#
# ## Measure
#
# The program nextpnr places a module on the ECP5, and adds up its paths, wires included.
# For our XC7Z020 there is the experimental nextpnr-xilinx of the project openXC7, which we did not use.
# So the clocks below are those of the ECP5.
# Around the module, labkit puts a register at each port.
# Our tree reaches 285 MHz; yours may differ.
# <!-- holds: round(float(place_and_route(*trees["three stages"]).fmax) / 1e6) == 285 -->

# %% tags=["picture"]
timings = {name: place_and_route(module, top) for name, (module, top) in trees.items()}
timing_pictures.paths(timings)

# %% [markdown]
# Each bar is a critical path.
# In the one-stage tree, it passes LUTs and only one adder, a **carry chain**, because Yosys has merged all seven: LUTs reduce the eight numbers to two, and one adder sums these.
# <!-- holds: [step.what for step in timings["one stage"].critical_path if step.what not in ("register", "wire")] == ["LUT"] * 4 + ["carry chain"] * 5 -->
# Our three-stage tree keeps its adders, but its critical path passes none: it leads from labkit's register at `out_ready` to all that wait while it is 0.
# <!-- holds: "carry chain" not in [step.what for step in timings["three stages"].critical_path] -->
# <!-- holds: timings["three stages"].critical_path[0].name.startswith("inner_out_ready") is True -->
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import compiled, counted

slow, fast = (float(timing.fmax) for timing in timings.values())
faster = compiled(fast / slow, "times", "nextpnr for the ECP5")
last = len(proof.counterexample["out_valid"]) - 1  # the cycle in which the word is lost
lost = counted(last, "cycles", "the solver")
figures.guesses(list(zip(guesses, guesses.values(), [faster, lost], strict=True)))

# %% [markdown]
# Our three stages make the clock 2.25 times as fast.
# <!-- holds: round(float(faster), 2) == 2.25 -->
# Four other placements gave 1.9 to 2.1 (compiled).
#
# In the queue, four words bring `tail` back to `head`, so a full queue looks empty; our repair never fills the fourth place.
# <!-- holds: proof.counterexample["inner.tail"][1:] == [0, 1, 2, 3, 0] and set(proof.counterexample["inner.head"]) == {0} -->
# <!-- holds: np.sum(simulate(queue, "queue", {"in": range(9)}, stalls={"out": [1] * 11 + [0]}).trace["in_ready"][:11]) == 3 -->
#
# **At its clock, our pipeline delivers up to 285 million sums a second (compiled) instead of 127 million, and no input makes it change or withdraw a sum that waits.**
# <!-- holds: round(fast / 1e6) == 285 and round(slow / 1e6) == 127 -->
# <!-- holds: prove(pipelined_tree, "pipelined_tree").holds == "proved" -->
#
# ## On trial
#
# ### <a id="C08"></a>C08 on trial
#
# > In some cases an FPGA beats general accelerators at inference
#
# Take two networks, and let one input arrive at a time.
# The small one, with layers of 16, 64, 32, 32 and 5 numbers, sorts signals of a particle detector.
# <!-- holds: latencies.JET_LAYERS == (16, 64, 32, 32, 5) -->
# Let it be a pipeline in which each product has its own multiplier.
# Its first layer needs one stage for the products, and $\log_2 16 = 4$ for a tree of adders.
# All four layers need 5 + 7 + 6 + 6 = 24 stages.
# <!-- holds: latencies.tree_stages() == 24 -->
# As a clock we take that of your tree, although a stage with multipliers may be slower.

# %%
rows = latencies.rows(timings["three stages"].fmax)
heads = ["one input", "FPGA, formula", "FPGA", "GPU, bound", "GPU"]
figures.table(heads, rows)

# %% [markdown]
# The notes tell how unlike these networks and entries are.
#
# For the small network, the formula and the published figure both say about 100 ns on an FPGA.
# <!-- holds: 0.8 * 100e-9 < float(rows[0][1]) < 1.2 * 100e-9 and float(rows[0][2]) == 100e-9 -->
# A GPU's peak alone would allow 0.0136 ns.
# <!-- holds: round(1e9 * float(rows[0][3]), 4) == 0.0136 -->
# But a published run of a similar network took 16 µs even as one CUDA graph, which submits all kernels at once, and about 50 µs kernel by kernel.
# <!-- holds: float(rows[0][4]) == 16e-6 and "50 µs kernel by kernel" in rows[0][4].source -->
#
# ResNet-50 has too many products to give each a multiplier.
# In MLPerf, the A100 is 35 times as fast as the FPGA, but the latter is an entry of research.
# <!-- holds: 34.5 < float(rows[1][2]) / float(rows[1][4]) < 35.5 -->
# With 1 and 2 bits, the same FPGA takes only 4 times as long as the A100, and labels 65 % of the images right.
# <!-- holds: 3.5 < float(rows[2][2]) / float(rows[1][4]) < 4.5 -->
# <!-- holds: "65 % right" in rows[2][2].source -->
#
# **Verdict on C08: holds if an input must be answered within about 100 ns.**
# <!-- holds: float(rows[0][2]) <= 100e-9 < float(rows[0][4]) -->
# Such a latency was published for a design that was compiled for an FPGA.
# That no GPU reaches it is likely, but not shown: the 16 µs are another network's, with 16 inputs at once, on an unnamed GPU.
# <!-- holds: float(rows[0][4]) > float(rows[0][2]) -->
# For ResNet-50, the GPU is faster than both FPGA entries.
# <!-- holds: float(rows[1][4]) < min(float(rows[1][2]), float(rows[2][2])) -->
# Energy and a latency that never varies, which also speak for FPGAs, were not tried.
#
# ## Recap
#
# **Keep this rule: a critical path of $t$ ns allows $1{,}000 / t$ MHz, so cut the longest path, and then look for the next one.**
# <!-- holds: all(abs(sum(step.ns for step in timing.critical_path) - 1e9 / float(timing.fmax)) < 0.001 for timing in timings.values()) -->
#
# For example, a path of 8 ns allows 125 MHz; cut into 5 ns and 4 ns, it allows $1{,}000 / 5 = 200$ MHz.
#
# ### Outside
#
# Vivado's `report_timing_summary` lists critical paths on the XC7Z020; we did not run it.
# An open nextpnr for it is openXC7's, in no Python package.
#
# A practitioner often tests a module with **cocotb**, whose testbenches are Python: a coroutine sets the pins at each clock edge, and reads them.
# Ours offers your stage 100 words, first without pauses, and then with one in half of the cycles.
# Each is a test, which fails where another word comes out.

# %%
tested = run_cocotb(register_stage, "register_stage", KEEPS_WORDS)
print(f"{tested.tests} tests, {tested.failed} failed")

# %% [markdown]
# As every simulation, they show that these words came through, and the proof above covers the others.
# <!-- holds: (tested.tests, tested.failed) == (2, 0) -->
# The testbench is the file that `KEEPS_WORDS` names.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_cut", None)
# quiz("fpga.quiz_half_speed", None)
# quiz("fpga.quiz_induction", None)
# BEGIN SOLUTION
quiz("fpga.quiz_cut", "b")
quiz("fpga.quiz_half_speed", "c")
quiz("fpga.quiz_induction", "a")
# END SOLUTION
