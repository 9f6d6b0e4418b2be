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
#     title: The network on the board
#     number: 8
#     minutes: 57
#     needs: []
#     able: run the network on a board, by hand and by a driver; say which `wait` never returns, and why; write a circuit that ends its packets; run the network on modules that you wrote yourself
#     runs_on: the same
# ---

# %% [markdown]
# # The network on the board
#
# **`dma.sendchannel.wait()`, and then nothing.**
# No error and no result come, and the cell runs until somebody interrupts it.
# Users of PYNQ report this of the send channel (published: PYNQ's issue 846), and of the receive channel (published: PYNQ_Workshop's issue 12).
# How do you find out why such a program waits, when neither the circuit nor the DMA can speak?
#
# ## What you will be able to do
#
# - run the network on a board's accelerator, by hand and by a driver;
# - say which `wait` never returns, and why;
# - write a circuit that ends its packets;
# - run the network on modules that you wrote yourself.
#
# You need [lesson 5](5_the_network_as_a_pipeline.ipynb) and [lesson 7](7_the_overlay.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Lesson 7's stage `brighten` has one register: it takes a byte, and hands it on a clock cycle later.
# Python sends 10 bytes through one, but never starts to receive.
# How many bytes has the stage taken when nothing moves any more?

# %%
import numpy as np
import torch

from labkit import check, convnet, figures, hint, last_right, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import VirtualBoard, quantize
from labkit.fpga.board import Design, designs
from labkit.fpga.board.convnet_overlay import ConvNetOverlay
from labkit.fpga.board.hardware.silence import said
from labkit.fpga.board.timeline import timeline
from labkit.fpga.convnet.accelerator_words import job_words
from labkit.fpga.convnet.own_modules import OWN_MODULES
from labkit.fpga.judging.given_modules import (  # NEGATIVE: to be repaired
    NEGATIVE,
    QUEUE,
    course_module,
)
from labkit.provenance import counted, measured, predicted

# STUB:
# taken_guess = predict("fpga.bytes_taken", None, "bytes")
# BEGIN SOLUTION
taken_guess = predict("fpga.bytes_taken", 10, "bytes")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A job by hand
#
# Lesson 5's accelerator becomes an overlay.
# The board is virtual again; no real board has run this lesson.

# %%
board = VirtualBoard(designs.convnet())
board.start()

from pynq import Overlay, allocate  # once a board is there

overlay = Overlay(board.bitstream)
accelerator, dma = overlay.accelerator_0, overlay.axi_dma_0
print(accelerator.register_map)

# %% [markdown]
# A **job** is one stream with the network's weights and some images.
# Before START, the accelerator takes nothing from its stream.
# At START, it reads from IMAGES how many images will come.
#
# For each image it gives 10 results of 4 bytes, two in each word of 8 bytes.
# For 3 images, the numbers are:
#
# ```
# register IMAGES          3
# buffer for the results   3 x 5 = 15 words of type "u8"
#                          (8 bytes each), which are 120 bytes
# the same, seen as "i4"   30 numbers, 10 for each image
# ```
#
# **Exercise `fpga.run_job`**: run one job, and hold no buffer afterwards.
# The two registers are written by `accelerator.register_map.IMAGES = 3` and `accelerator.register_map.CONTROL.START = 1`.
# `np.array(got).view("i4")` gives the words of a buffer `got` as numbers of 4 bytes.
# (`check` uses a tiny accelerator with the same registers and smaller images.)


# %% tags=["exercise:fpga.run_job"]
def run_job(accelerator, dma, words, images):
    """the job's words [n] of type u8, how many images it has -> results [images, 10] of type i4"""
    results = np.zeros((images, 10), "i4")
    # STUB:
    # pass  # yours
    # BEGIN SOLUTION
    with allocate(words.shape, "u8") as job, allocate(5 * images, "u8") as got:
        job[:] = words
        accelerator.register_map.IMAGES = images
        accelerator.register_map.CONTROL.START = 1
        dma.recvchannel.transfer(got)
        dma.sendchannel.transfer(job)
        dma.sendchannel.wait()
        dma.recvchannel.wait()
        results[:] = np.array(got).view("i4").reshape(images, 10)
    # END SOLUTION
    return results


run_job = check("fpga.run_job", run_job)

# %% [markdown]
# Now one photograph runs through the network on the board.
# Then 16 photographs go through `ConvNetOverlay`, a driver that builds a job's stream and does what `run_job` does.

# %%
data = cifar10("sample")
golden = quantize(convnet.load_weights(), data.train.images[:500])  # lesson 1's golden model
photos = data.test.images[:16]
words = job_words(golden.layers, golden.to_int8(photos[:1]))
results = run_job(accelerator, dma, words, 1)
print("equal to the golden model:", np.array_equal(results, golden.logits(photos[:1])))
alone = int(accelerator.register_map.CYCLES)
print("CYCLES", alone, "for", len(words), "words")

network = ConvNetOverlay(overlay, golden)
labels = network.predict(photos)
print("labels equal:", np.array_equal(labels, golden.predict(photos)))
print(network.cycles)

# %% [markdown]
# All bits are right, and both counts are those of lesson 5.
# <!-- holds: np.sum(results == golden.logits(photos[:1])) == 10 and np.sum(labels == golden.predict(photos)) == 16 -->
# <!-- holds: alone == 73_778 and int(network.cycles) == 1_067_751 -->
# The DMA sends a word whenever the accelerator is ready, as lesson 5's testbench did.
#
# ### A circuit that ends its packets
#
# Why do other programs hang?
# We study it with a small circuit that makes the negative of a photograph, 255 - pixel.
# A part of a stream that ends with `last` is called a **packet**.
# This circuit has no `in_last`.
# So it counts: each LENGTH bytes are one packet.
# For LENGTH = 3, seven bytes are two packets, and the beginning of a third one:
#
# ```
# in_data          10   20   30   40   50   60   70
# count             0    1    2    0    1    2    0
# out_data        245  235  225  215  205  195  185
# out_last          0    0    1    0    0    1    0
# ```
#
# (The two outputs are registers, so they follow a cycle later.)
#
# **Exercise `fpga.add_tlast`**: somebody has forgotten `last`, which AMD's tools call TLAST.
# Repair the module: `count` moves on only when a byte comes in.
# Use at most 48 flip-flops and 80 LUTs, and a cycle for each byte.

# %% tags=["exercise:fpga.add_tlast"]
negative = r"""
module negative #(parameter LENGTH = 8) (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data, output logic [7:0] out_data);
  logic [15:0] count;
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) begin
      out_valid <= 0;
      count <= 0;
    end else if (in_ready) begin
      out_valid <= in_valid;
      out_data <= 255 - in_data;
      # STUB:
      # out_last <= 0;  // forgotten
      # BEGIN SOLUTION
      out_last <= count == LENGTH - 1;
      if (in_valid) count <= count == LENGTH - 1 ? 0 : count + 1;
      # END SOLUTION
    end
endmodule
"""
negative = check("fpga.add_tlast", negative)

# %% [markdown]
# ### Who waits for whom
#
# When a channel is **done**, its `wait` returns:
#
# - The send channel is done when the circuit has taken all bytes.
# - The receive channel is done when a byte has come with `last`, and takes nothing more, even if its buffer has room.
# - If its buffer is full and `last` has not come, the receive channel **halts** with an error, and never gets done.
#   (This is what our board does; AMD's manual calls the outcome undefined.)
#
# Suppose that nobody takes a circuit's results.
# It still takes bytes until its own registers are full; these are the bytes that it **holds**.
# `negative` gives a byte for each byte, and holds 1 in its register for data.
# In these programs, LENGTH is 8, and `room` is the size of the buffer for the results:
#
# ```
#             handed        send            receive
# sent  room  over    held  channel         channel
# 8     8     8       0     done            done, by byte 8
# 9     8     8       1     done            done
# 10    8     8       1     waits: 9 of 10  done
# 6     8     6       0     done            waits: no `last` yet
# 12    12    8       1     waits: 9 of 12  done
# 8     4     4       1     waits: 5 of 8   halts
#
# (handed over to the receive channel, held in the circuit)
# ```
#
# **Exercise `fpga.who_is_done`**: for several programs with the same circuit, return whether each channel gets done.
# A program that never starts to receive has a room of 0.
# In this lesson's exercises, what you return are NumPy arrays, and `check` takes no library but NumPy and pynq.


# %% tags=["exercise:fpga.who_is_done"]
def who_is_done(sent, room, length, holds):
    """bytes sent [P] and rooms [P] of P programs, bytes of a packet, bytes that the circuit holds"""
    # STUB:
    # send_done = np.zeros(len(sent), bool)
    # receive_done = np.zeros(len(sent), bool)
    # BEGIN SOLUTION
    handed_over = np.minimum(np.minimum(sent, room), length)
    send_done = sent <= handed_over + holds
    receive_done = handed_over == length
    # END SOLUTION
    return send_done, receive_done


who_is_done = check("fpga.who_is_done", who_is_done)

# %% [markdown]
# ## Check
#
# Does the board do what your function says?
# `attempt` sends and receives so many bytes through your circuit.
# Where a real board would wait for ever or halt, ours says why, and `said` returns its text.
# (AMD's DMA has queues of its own: on a real board the circuit gets rid of some bytes more, and the send channel may be done earlier.)

# %%
eights = str(board.add(Design(negative, "negative", {"LENGTH": 8}, engine="cxxrtl")))


def attempt(sent, room, bitstream=eights):
    dma = Overlay(bitstream).axi_dma_0  # loaded anew: nothing is left of the attempt before
    with allocate(sent, "u1") as x, allocate(max(room, 1), "u1") as y:
        if room:
            dma.recvchannel.transfer(y)
        dma.sendchannel.transfer(x)
        return said(dma.sendchannel.wait), said(dma.recvchannel.wait)


programs = [(8, 8), (9, 8), (10, 8), (6, 8), (8, 4), (8, 0)]  # sent, room
found = [[one == "done" for one in attempt(*program)] for program in programs]
sent, room = np.array(programs).T
expected = np.stack(who_is_done(sent, room, 8, 1), axis=1)
print("as your function says:", np.array_equal(found, expected))
rows = [[*program, *done] for program, done in zip(programs, found, strict=True)]
figures.table(["sent", "room", "send done", "receive done"], rows)

# %% [markdown]
# ### The board's diagnoses
#
# Here is what the board says to seven programs with one mistake each.
# (A word of this stream is a byte, and ready is `in_ready`.)
# The last two use the accelerator.

# %% tags=["picture"]
broken = str(board.add(Design(NEGATIVE, "negative", {"LENGTH": 8}, engine="cxxrtl")))
print("NO LAST:", attempt(8, 8, broken)[1])
print("TOO FEW:", attempt(6, 8)[1])
print("SMALL BUFFER:", attempt(8, 4)[1])
print("NEVER RECEIVES:", attempt(8, 0)[0])
too_many = attempt(10, 8)[0]
print("TOO MANY:", too_many)
timeline(board.traffic)

dma = Overlay(board.bitstream).axi_dma_0  # the accelerator's
with allocate(words.shape, "u8") as job:
    job[:] = words
    dma.sendchannel.transfer(job)
    print("NO START:", said(dma.sendchannel.wait))
overlay = Overlay(board.bitstream)
ended = run_job(overlay.accelerator_0, overlay.axi_dma_0, words[:-1], 1)  # without its last word
print("SHORT JOB:", ended)
overlay.accelerator_0.register_map.STATUS

# %% [markdown]
# The picture shows the program TOO MANY: bars are transfers, and the hatched one has not ended.
# The receive channel has got its packet of 8 bytes, and is done.
# <!-- holds: found[2] == [False, True] and programs[2] == (10, 8) -->
# The ninth byte waits in the circuit, and the tenth waits before it.
# <!-- holds: "has taken 9 of 10 words" in too_many -->
#
# The short job did not hang.
# Our accelerator noticed that `last` came too early, ended the job with a word of zeros, and set TOO_SHORT.
# <!-- holds: ended.tolist() == [[0] * 10] and int(overlay.accelerator_0.register_map.STATUS.TOO_SHORT) == 1 -->
# **A good circuit ends a wrong job, and says so.**
#
# ## Measure
#
# How long does an image take in software, and how long on the overlay?
# The software runs on your processor; for the board, we *assume* a clock of 100 MHz.
# No timing tool has tested whether the accelerator reaches this clock on a Zynq.
# On a Lattice ECP5, another FPGA, lesson 4's tool lets one of its parts, pool1, run at 129.4 MHz (compiled): pool1 reads a memory in one cycle, and compares and writes in the next.
# But that is one part, without wires to its neighbours, so the accelerator may be slower.

# %% tags=["timing", "nbval-ignore-output"]
from timeit import timeit

model = convnet.torch_model(convnet.load_weights())
pixels = torch.from_numpy(convnet.normalise(photos))


def per_image(call, times):
    return measured(1e6 * min(timeit(call, number=1) for _ in range(times)) / 16, "µs")


with torch.no_grad():
    in_torch = per_image(lambda: model(pixels), times=20)
in_numpy = per_image(lambda: golden.predict(photos), times=3)
virtual = per_image(lambda: network.predict(photos), times=1)
on_board = predicted(int(network.cycles) / 16 / 100, "µs", "CYCLES, at an assumed 100 MHz")
print("PyTorch, float32:", in_torch)
print("the golden model, NumPy's integers:", in_numpy)
print("the overlay on a board:", on_board)
print("the virtual board, in software:", virtual)

# %% [markdown]
# The virtual board computes every wire in software, so its own time says nothing about an FPGA.
# The overlay's time is a prediction: a real board's memory and Python's calls add to it, and a slower clock lengthens it in proportion.
# Whether PyTorch is faster than this overlay depends on your processor, and may come out either way.
#
# In lesson 6's folding with resident weights, a further image takes 32,888 cycles (counted), about half as many as here.
# <!-- holds: round(32_888 / ((int(network.cycles) - alone) / 15), 1) == 0.5 -->
# But that accelerator alone takes all 140 block RAMs of the chip (compiled).
# So none is left for the queues of AMD's DMA, which the count leaves out.
#
# ## Explain
#
# `negative` has one register, as `brighten` has.
# Nobody receives, and we send 1 byte, then 2, and so on up to 10.
# As long as the send channel gets done, the stage has taken all of them.

# %% tags=["picture"]
finished = [attempt(sent, 0)[0] == "done" for sent in range(1, 11)]
taken = counted(sum(finished), "bytes", "the virtual board")
figures.guesses([("bytes taken", taken_guess, taken)])

# %% [markdown]
# The stage holds one byte, and takes the next one only when that has left.
# <!-- holds: sum(finished) == 1 -->
# So behind a missing receiver everything stands still: the circuit, the send channel, and `wait`.
#
# So how do you find out why a program waits, on a board that says nothing?
# **Ask each channel whether it is done; the one that is not tells where to look:**
# <!-- holds: [found[2], found[3], found[4], found[5]] == [[False, True], [True, False], [False, False], [False, False]] -->
# <!-- holds: [who_is_done(np.array([8]), np.array([room]), 8, 1)[0][0] for room in (4, 6, 7)] == [False, False, True] -->
# <!-- holds: [one[0] for one in who_is_done(np.array([1]), np.array([0]), 8, 1)] == [True, False] -->
#
# | who is not done | what to look for |
# |---|---|
# | the send channel alone | more was sent than one packet, and nobody receives the next one |
# | the receive channel alone | `last` is never set, too little or nothing was sent, the buffer is a little too small, or nobody receives and the circuit holds all that was sent |
# | both | nobody receives, the buffer is too small, or START is missing |
#
# On a real board, `idle` and `error` of both channels tell this without waiting.
# Once a channel has halted, its `wait` raises an error, and it needs a reset.
#
# ### Your own circuit
#
# So far, the network's modules were ours.
# Eight that you wrote can take their places:
#
# ```
# lesson 2    mac, mac_array, requantize
# lesson 3    line_buffer, window_control
# lesson 4    register_stage, queue
# lesson 5    columns
# ```
#
# `last_right` returns your last right answer to an exercise, and the word "yours"; without one, our answer and "ours".
# `designs.convnet(own=...)` builds the accelerator with such modules.
#
# In each cycle conv2 multiplies 72 pairs of numbers, but all lanes of your `mac_array` multiply the same x:
#
# ```
# a mac_array of 3 lanes   one x:
#                          x w0    x w1    x w2
# conv2                    an x for each product:
#                          x0 w0   x1 w1   x2 w2 ... x71 w71
#
# eight products           at most 8 x (-128) x (-128) = 2^17:
#                          18 bits and a sign
# ```
#
# So 72 copies with one lane each work side by side, and a tree of adders joins their sums.
# (Lesson 4's `pipelined_tree` stays out: its results have 16 bits, and the sum of eight products can need 19.)
#
# Is the result right?
# A label, the place of the largest of ten numbers, does not show every fault:
#
# ```
# golden model      board             wrong number  other label
# [ 5, 9, -2, ...]  [ 5, 9, -2, ...]  no            no
# [ 5, 9, -2, ...]  [ 5, 8, -2, ...]  yes           no
# [ 5, 9, -2, ...]  [ 9, 5, -2, ...]  yes           yes
# how many photographs                2             1
# ```
#
# **Exercise `fpga.what_differs`**: count the photographs that have a wrong number, and those that get another label.
# (Of several largest numbers, the first one counts.)


# %% tags=["exercise:fpga.what_differs"]
def what_differs(right, got):
    """numbers [N, labels] of the golden model, and of the board -> two whole numbers"""
    # STUB:
    # wrong_number = 0
    # other_label = 0
    # BEGIN SOLUTION
    wrong_number = np.sum(np.any(right != got, axis=1))
    other_label = np.sum(right.argmax(axis=1) != got.argmax(axis=1))
    # END SOLUTION
    return wrong_number, other_label


what_differs = check("fpga.what_differs", what_differs)

# %% [markdown]
# Twenty photographs go through three circuits: with your modules, with a `requantize` that does not round, and with lesson 4's `queue` before its repair.
# Compiling the three takes about a minute.

# %%
answers = {name: last_right(part.exercise) for name, part in OWN_MODULES.items()}
rows = [[part.lesson, name, part.work, answers[name].whose] for name, part in OWN_MODULES.items()]
figures.table(["lesson", "module", "in the network it", "whose"], rows)
twenty = data.test.images[160:180]
right = golden.logits(twenty)


def logits(own):
    """of the twenty photographs, from the network with these modules in it"""
    circuit = board.add(designs.convnet(own=own))
    return ConvNetOverlay(circuit, golden).logits(twenty)


mine = what_differs(right, logits({name: answer.value for name, answer in answers.items()}))
print("YOUR OWN:", *mine, "(photographs with a wrong number, with another label)")
cut_off = course_module("fpga.requantize_rtl").replace("+ 2 ** (SHIFT - 1)", "")
not_rounded = what_differs(right, logits({"requantize": cut_off}))
print("NOT ROUNDED:", *not_rounded)
stopped = said(lambda: logits({"queue": QUEUE}))
print("LESSON 4'S QUEUE:", stopped)

# %% [markdown]
# Two zeros mean that all 200 numbers are right: **the circuit with these modules labels photographs**, and what the table calls "yours" is your own.
# <!-- holds: [int(one) for one in mine] == [0, 0] and right.size == 200 -->
# Otherwise, leave out your modules one after the other, as by `del answers["mac"]` above `mine`, until two zeros come.
# Without rounding, every photograph has a wrong number, but only two get another label.
# <!-- holds: [int(one) for one in not_rounded] == [20, 2] -->
# So compare numbers, not labels.
# The faulty queue loses words, and fc1 waits for them: its stream stands still.
# <!-- holds: "back-pressure" in stopped -->
#
# ## On trial
#
# No claim is tried here: the chapter's last one waits for lesson 9.
#
# ## Recap
#
# **The rule to keep: on our board, the send channel is done when the circuit has taken all bytes, the receive channel when `last` has come; a circuit that gives a byte for each byte takes only what it hands over, and what it can hold.**
# <!-- holds: np.sum(found == expected) == 2 * len(programs) -->
#
# Lesson 7's loopback holds 16 words: without a receiver, the 17th waits for ever on our board.
# <!-- holds: [attempt(sent, 0, str(board.add(designs.loopback_of_bytes())))[0] == "done" for sent in (16, 17)] == [True, False] -->
#
# ### Outside
#
# On a real board, Vivado can add an ILA, a logic analyser that records valid, ready and `last` (not tried here).
# A Zynq's DMA can read and overwrite all memory, Linux included, and a bitstream can contain one that chooses its addresses itself: load only what you would run as root.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_which_wait", None)
# quiz("fpga.quiz_short_packet", None)
# quiz("fpga.quiz_stranger", None)
# BEGIN SOLUTION
quiz("fpga.quiz_which_wait", "b")
quiz("fpga.quiz_short_packet", "d")
quiz("fpga.quiz_stranger", "a")
# END SOLUTION
board.stop()  # to go on afterwards, run the cell that starts it
