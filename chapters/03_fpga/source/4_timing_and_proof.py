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
#     minutes: 56
#     needs: [fpga]
# ---

# %% [markdown]
# # Timing and proof
#
# **At most 127 million sums a second.**
# A module with seven adders sums eight numbers in one clock cycle.
# Compiled for a small FPGA, it can be clocked at 127 MHz and no faster.
# With a few registers between the adders, the clock can be faster, but then several words are inside the module at once.
# If the next module is busy, all of them have to wait, and a word that waits can be lost.
# How fast may the clock be, and how can we be sure that no word is ever lost?
#
# ## What you will be able to do
#
# - find the path that limits the clock, and cut it;
# - write a stage that keeps its word for as long as the next one is busy;
# - have a solver prove that no input can break a rule, or read the run in which one does.
#
# You need lesson 2, where you met modules, streams, `valid` and `ready`.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# In each clock cycle, signals leave the registers, run through wires and adders, and have to reach the next registers before the cycle ends.
# The slowest way from one register to the next is called the **critical path**.
#
# The seven adders form a tree with three levels: four adders, then two, then one.
# Guess before you read on:
#
# 1. With registers behind each of the three levels, how many times as fast can the clock be?
# 2. A queue of words loses none in our simulations, but it has a bug. In which clock cycle, counted from the reset in cycle 0, can it lose a word for the first time?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.fpga import latencies, place_and_route, prove, simulate, timing_pictures
from labkit.fpga.given_modules import QUEUE, TREE

# STUB:
# guesses = {
#     "clock": predict("fpga.pipelined_clock", None, "times"),
#     "word lost": predict("fpga.first_word_lost", None, "cycle"),
# }
# BEGIN SOLUTION
guesses = {
    "clock": predict("fpga.pipelined_clock", 3, "times"),
    "word lost": predict("fpga.first_word_lost", 10, "cycle"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A path by hand
#
# Take four numbers and two levels of adders.
# Suppose that a signal needs 0.5 ns to leave its register, 1 ns for each wire, and 1.5 ns for each adder.
# Then we can add up the critical path, and a path of 1 ns would allow a clock of 1,000 MHz:
#
# | registers | critical path, ns | clock |
# |---|---|---|
# | at both ends | 0.5 + 1 + 1.5 + 1 + 1.5 + 1 = 6.5 | 1,000 / 6.5 = 154 MHz |
# | also behind level 1 | 0.5 + 1 + 1.5 + 1 = 4 | 1,000 / 4 = 250 MHz |
#
# With registers in between, a word needs two clock cycles.
# But level 1 can already add word B while level 2 adds word A:
#
# | cycle | level 1 adds | level 2 adds |
# |---|---|---|
# | 0 | word A | |
# | 1 | word B | word A |
# | 2 | word C | word B |
#
# This is a **pipeline**, and each part between registers is a **stage**.
# **A pipeline delivers a sum in every cycle, as before, but at a faster clock.**
#
# ### A stage that waits
#
# A stage with one register receives words from a stream `in` and offers them to a stream `out`.
# A word moves when `valid` and `ready` are both 1 at the end of a cycle.
# By hand, with the words 7 and 8:
#
# | cycle | `in` offers | `out` offers | `out_ready` | `in_ready` | at the end of the cycle |
# |---|---|---|---|---|---|
# | 0 | 7 | nothing | 0 | 1 | 7 moves in |
# | 1 | 8 | 7 | 0 | 0 | 7 stays |
# | 2 | 8 | 7 | 1 | 1 | 7 moves out, 8 moves in |
# | 3 | nothing | 8 | 1 | 1 | 8 moves out |
#
# **Exercise `fpga.register_stage`.**
# Write this stage.
# Follow the table for `in_ready`, so that a word can move in every cycle if nobody waits.
# In an `always_ff` block, `<=` sets registers at the end of the cycle; at a reset, set `out_valid` to 0.

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
# `check` tried some words and some pauses, but there are far more.
# A **solver** is a program that decides whether any input at all can break a rule.
# It asks two questions.
#
# Take a counter that is reset to 0 and counts 0, 1, 2, 0, 1, and so on.
# It has two bits, so there is a fourth state, 3, and our rule says that the counter never reaches it:
#
# | question | the solver looks at | answer |
# |---|---|---|
# | Does some run from the reset break the rule? | 0, 1, 2, 0, 1, … | no |
# | Can one step lead from a state that keeps the rule to one that breaks it? | 0 to 1, 1 to 2, 2 to 0 | no |
#
# The run starts well, and no step leads astray, so the rule holds for ever.
# This is a proof by **induction**.
# If the first answer is yes, the run that breaks the rule is called a **counterexample**.
#
# Our stage loses no word if it keeps two rules:
#
# - a word that has moved in is offered in the next cycle;
# - a word that is offered stays until it moves out.
#
# `prove` always asks for the second rule.
# The first one is written as a property: `$past` means one cycle earlier.

# %%
arrives = """
if ($past(in_valid && in_ready && !rst)) assert (out_valid && out_data == $past(in_data));
"""
print(prove(register_stage, "register_stage", properties=arrives).explain())

# %% [markdown]
# **No input and no pattern of pauses makes this stage lose a word.**
#
# ### The tree
#
# Here is the tree of the opening, with registers only behind its last adder.

# %%
print(TREE)

# %% [markdown]
# Three of its lines may be new:
#
# | line | meaning |
# |---|---|
# | `logic [7:0][15:0] in_data` | eight numbers of 16 bits, named `in_data[0]` to `in_data[7]` |
# | `for (int i = 0; i < 4; i++) …` | four adders side by side, not four steps in time |
# | `always_comb` | logic without registers: here `=` stands where `always_ff` has `<=` |
#
# In a pipeline, each stage needs a bit that says whether its registers hold a word.
# These bits move along with the words.
# If the last stage has to wait, all stages wait.
#
# **Exercise `fpga.pipelined_tree`.**
# Write what happens when the words move: the registers `pairs`, `fours` and `out_data` get their sums, and each of the three valid bits gets the bit of the stage before.

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
# Ours has four places, numbered 0 to 3.
# The number `tail` says where the next word goes in, and `head` says which word comes out next.
# Both count 0, 1, 2, 3, 0, and so on, so `tail - head` words are waiting.
#
# We simulate the queue with 1,000 words, first without pauses and then with a pause of both neighbours in every second cycle.
# After that, we ask the solver.

# %% tags=["picture"]
x = np.arange(1000) % 256 - 128
for pauses in ({}, {"in": [0, 1], "out": [0, 1]}):
    run = simulate(QUEUE, "queue", {"in": x}, words={"out": 1000}, stalls=pauses)
    print("all words right:", np.array_equal(run.outputs["out"], x), "in", run.cycles)
proof = prove(QUEUE, "queue")
print(proof.explain())
proof.draw()

# %% [markdown]
# Both simulations pass, but the solver finds a run that breaks the rule.
# In this waveform, a blue field is a word that moves.
# The queue takes word after word while `out_ready` is 0, until the first word disappears.
#
# **Exercise `fpga.find_the_bug`.**
# Repair the queue.
# How many words wait in cycle 5, and what does `waiting` say, which has two bits?

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
  always_ff @(posedge clk) begin
    if (in_valid && in_ready) words[tail] <= in_data;
    head <= rst ? '0 : head + 2'(out_valid && out_ready);
    tail <= rst ? '0 : tail + 2'(in_valid && in_ready);
  end
endmodule
"""
queue = check("fpga.find_the_bug", queue)

# %% [markdown]
# With four words, `tail - head` would be 4, but two bits show it as 0: a full queue looks like an empty one.
# So our repair never fills the last place.
# **A simulation shows what happened; a proof says what can happen.**
#
# ## Check
#
# Do both trees give the same sums, and in how many cycles?

# %%
x = np.random.default_rng(0).integers(-4000, 4000, (1000, 8)).astype(np.int16)
trees = {"one stage": (TREE, "tree"), "three stages": (pipelined_tree, "pipelined_tree")}
rows = []
for name, (module, top) in trees.items():
    run = simulate(module, top, {"in": x}, words={"out": 1000})
    rows.append([name, np.array_equal(run.outputs["out"], x.sum(axis=1)), run.cycles])
figures.table(["tree", "sums right", "1,000 sums"], rows)

# %% [markdown]
# The pipeline costs two cycles in all, not two cycles for each sum.
#
# ## Measure
#
# How fast can each tree be clocked?
# That depends on where each adder lies on the chip, and how long the wires between them are.
# The program nextpnr places a module on a small FPGA, the Lattice ECP5, and adds up its paths.
# For the Zynq of our board, only its vendor's tool Vivado can do this, so these clocks are not the Zynq's.

# %% tags=["picture"]
timings = {name: place_and_route(module, top) for name, (module, top) in trees.items()}
timing_pictures.paths(timings)

# %% [markdown]
# Each bar is a critical path, from one clock edge to the next.
# In the tree with one stage, the path goes through the adders.
# With three stages there is no adder on the path at all: it starts at `out_valid` and ends where the registers learn whether they may move.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
from labkit.provenance import compiled, counted

slow, fast = (float(timing.fmax) for timing in timings.values())
faster = compiled(fast / slow, "times", "nextpnr for the ECP5")
lost = counted(len(proof.counterexample["out_valid"]) - 1, "cycle", "the solver")
figures.guesses(list(zip(guesses, guesses.values(), [faster, lost], strict=True)))

# %% [markdown]
# Three stages do not make the clock three times as fast.
# Once the adders are cut apart, the wires that carry `ready` to every register are the longest path.
#
# This answers the opening.
# **The same seven adders deliver 285 instead of 127 million sums a second, and a proof says that no word is changed or withdrawn while it waits.**
#
# ## On trial
#
# ### <a id="C08"></a>C08 on trial
#
# > In some cases an FPGA beats general accelerators at inference
#
# Take two networks of very different size, and let one input arrive at a time.
# Particle detectors use the first, with layers of 16, 64, 32, 32 and 5 numbers.
# As a pipeline, each of its four layers needs one stage for the products, and a tree with one stage per level.
# That makes 24 stages, which we clock like your tree.
# For a GPU, the formula is operations divided by peak.

# %%
rows = latencies.rows(timings["three stages"].fmax)
heads = ["inference", "FPGA, formula", "FPGA", "GPU, formula", "GPU"]
figures.table(heads, rows)
figures.table(["all images at once", "FPGA", "GPU"], latencies.in_bulk())

# %% [markdown]
# Look at the small network first.
# A GPU has almost nothing to calculate, but even to start its kernels takes microseconds.
# The FPGA has no kernels to start: each product has its own multiplier, each sum its own adders, and numbers of few bits let all of them fit on one chip.
# ResNet-50 does not fit in this way, and there the GPU is 35 times as fast for one image, and 178 times in bulk.
#
# **Verdict on C08: holds if a small network has to answer a single input within microseconds.**
# A detector takes 100 ns on the FPGA, where a similar network takes 16 µs on a GPU.
#
# ## Recap
#
# Registers cut a long path, and a word then takes more cycles, but a word still arrives in every cycle.
# Each stage has to keep its word while the next one is busy, and a solver can prove that it does.
#
# - **Keep this rule: a critical path of $t$ ns allows $1{,}000 / t$ MHz, so cut the longest path, and then look for the next one.**
#
# For example, a path of 8 ns allows 125 MHz.
# If a register leaves pieces of 5 ns and 4 ns, the clock becomes $1{,}000 / 5 = 200$ MHz, and not 250.
#
# ### Outside
#
# In Vivado, `report_timing_summary` lists the critical paths of a Zynq design, and `report_utilization` its resources.
# Vitis HLS reports an estimated clock and the latency in cycles.
# We ran neither.
# The open tool SymbiYosys runs proofs like ours, on whole projects.
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
