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
#     minutes: 50
#     needs: []
# ---

# %% [markdown]
# # The network on the board
#
# **`dma.recvchannel.wait()`, and then nothing.**
# No error, no result, and the notebook's star stays for ever: this is what users of Pynq boards report most often about DMA.
# Today our network runs on the board.
# How do you find out why such a program waits, when neither the circuit nor the DMA can speak?
#
# ## What you will be able to do
#
# - run the network on a board's accelerator, by hand and by a driver;
# - say which `wait` never returns, and why;
# - write a circuit that ends its packets.
#
# You need [lesson 5](5_the_network_as_a_pipeline.ipynb) and [lesson 7](7_the_overlay.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Lesson 7's stage `brighten` takes a byte, and hands it on a clock cycle later.
# Python sends 10 bytes through such a stage, but never starts to receive.
# How many bytes has the stage taken when nothing moves any more?
#
# The second guess is about your own computer.
# PyTorch computes our network in float32, for 16 images at once: how many µs does it take for an image?

# %%
import numpy as np
import torch

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import VirtualBoard, quantize
from labkit.fpga.accelerator_words import job_words
from labkit.fpga.board import Design, designs
from labkit.fpga.board.convnet_overlay import ConvNetOverlay
from labkit.fpga.board.timeline import timeline
from labkit.fpga.given_modules import NEGATIVE  # as it was before you repaired it
from labkit.provenance import counted, measured, predicted

# STUB:
# taken_guess = predict("fpga.bytes_taken", None, "bytes")
# torch_guess = predict("fpga.torch_per_image", None, "µs")
# BEGIN SOLUTION
taken_guess = predict("fpga.bytes_taken", 10, "bytes")
torch_guess = predict("fpga.torch_per_image", 500, "µs")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A job by hand
#
# Lesson 5's accelerator is now an overlay.
# The board is virtual again, and no real board has run this lesson.

# %%
board = VirtualBoard(designs.convnet())
board.start()

from pynq import MMIO, Overlay, allocate  # once a board is there

overlay = Overlay(board.bitstream)
accelerator, dma = overlay.accelerator_0, overlay.axi_dma_0
print(accelerator.register_map)

# %% [markdown]
# All registers of lesson 5 are there.
# A **job** is one stream with the network's weights and some images.
# The accelerator takes nothing before START, and with START it reads from IMAGES how many images will come.
#
# For each image it gives 10 results of 4 bytes, two in each word of 8 bytes.
# For 3 images, these are the numbers:
#
# ```
# register IMAGES             3
# buffer for the results      3 x 5 = 15 words of type "u8", which are 120 bytes
# the same, seen as "i4"      30 numbers, 10 for each image
# ```
#
# **Exercise `fpga.run_job`**: run one job, and free the buffers.
# Write registers by name, such as `accelerator.register_map.IMAGES = 3`; START is a bit of CONTROL: `CONTROL.START = 1`.
# `words.view("i4")` sees an array of words as numbers of 4 bytes.


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

# %%
data = cifar10("sample")
golden = quantize(convnet.load_weights(), data.train.images[:500])  # lesson 1's network
photos = data.test.images[:16]
words = job_words(golden.layers, golden.to_int8(photos[:1]))
results = run_job(accelerator, dma, words, 1)
print("equal to the golden model:", np.array_equal(results, golden.logits(photos[:1])))
print("CYCLES", int(accelerator.register_map.CYCLES), "for", len(words), "words")

# %% [markdown]
# All bits are right, and CYCLES says 73,768, as in lesson 5.
# The DMA sends a word in each cycle in which the accelerator is ready, as lesson 5's testbench did.
# (The memory of a real board would add waiting.)
#
# ### A circuit that ends its packets
#
# Why do other programs hang?
# We study it with a small circuit that makes the negative of a photograph, 255 - pixel.
# It has no `in_last`, so it has to count: each LENGTH bytes are a **packet**, a part of a stream that ends with `last`.
# For LENGTH = 3, seven bytes are two packets, and the beginning of a third one:
#
# ```
# byte             10   20   30   40   50   60   70
# count             0    1    2    0    1    2    0
# out_data        245  235  225  215  205  195  185
# out_last          0    0    1    0    0    1    0
# ```
#
# **Exercise `fpga.add_tlast`**: somebody has forgotten `last`, which AMD's tools call TLAST.
# Repair the module: `count` moves on only when a byte comes in.

# %% tags=["exercise:fpga.add_tlast"]
negative = r"""
module negative #(parameter LENGTH = 8) (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data,
  output logic [7:0] out_data);
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
      # out_last <= 0;  // yours
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
# These rules say when a channel is **done**; only then does its `wait` return:
#
# - The send channel is done when the circuit has taken all bytes.
# - The receive channel is done when a byte has come with `last`.
# - If a byte comes for which the buffer has no room, the receive channel **halts**, and never gets done.
#
# Besides what it hands over, a circuit can hold some bytes inside; `negative` holds 1.
# Here LENGTH is 8, and `room` is the size of the buffer for the results:
#
# ```
# sent   room   handed over   held   send channel        receive channel
# 8      8      8             0      done                done, by byte 8
# 9      8      8             1      done                done
# 10     8      8             1      waits: 9 of 10      done
# 6      8      6             0      done                waits: no `last` yet
# 10     4      4             1      waits               halts
# ```
#
# (At a halt, some DMAs take one byte more; no case of the exercise depends on that.)
#
# **Exercise `fpga.who_is_done`**: return whether each channel gets done.
# A program that never starts to receive has a room of 0.


# %% tags=["exercise:fpga.who_is_done"]
def who_is_done(sent, room, length, holds):
    """bytes sent, room of the buffer, bytes of a packet, bytes the circuit can hold -> send, receive"""
    # STUB:
    # send_done = True
    # receive_done = True
    # BEGIN SOLUTION
    handed_over = min(sent, room, length)
    send_done = sent <= handed_over + holds
    receive_done = handed_over == length
    # END SOLUTION
    return send_done, receive_done


who_is_done = check("fpga.who_is_done", who_is_done)

# %% [markdown]
# ## Check
#
# Does the board do what your function says?
# `attempt` sends and receives so many bytes, and returns what each `wait` says.
# A real board would say nothing; ours raises an error when nothing has moved for a long time.

# %%
eights = str(board.add(Design(negative, "negative", {"LENGTH": 8}, engine="cxxrtl")))


def attempt(sent, room, bitstream=eights):
    dma = Overlay(bitstream).axi_dma_0  # loaded anew, so that nothing is left of other attempts
    said = []
    with allocate(sent, "u1") as x, allocate(max(room, 1), "u1") as y:
        if room:
            dma.recvchannel.transfer(y)
        dma.sendchannel.transfer(x)
        for channel in (dma.sendchannel, dma.recvchannel):
            try:
                channel.wait()
                said.append("done")
            except RuntimeError as error:
                said.append(str(error))
        return said


# %%
rows = []
for sent, room in [(8, 8), (9, 8), (10, 8), (6, 8), (10, 4), (10, 0)]:
    said = attempt(sent, room)
    done = [one == "done" for one in said]
    rows.append([sent, room, *done, done == list(who_is_done(sent, room, 8, 1))])
figures.table(["sent", "room", "send done", "receive done", "as your function says"], rows)

# %% [markdown]
# ### What the board says
#
# Read the diagnoses of four programs, each with its own mistake.
# Before you read on, say in your own words how to repair each.

# %%
def tell(name, said):
    for one in dict.fromkeys(said):
        print(f"{name}: {one}")


broken = str(board.add(Design(NEGATIVE, "negative", {"LENGTH": 8}, engine="cxxrtl")))
tell("no last", attempt(8, 8, broken))
tell("too few", attempt(6, 8))
tell("never receives", attempt(10, 0))
tell("too many", attempt(10, 8))

# %% [markdown]
# The last of them as the board has recorded it:

# %% tags=["picture"]
timeline(board.traffic)

# %% [markdown]
# The bars are transfers, and the hatched one has not ended.
# The receive channel was done after 8 bytes, but 10 were to be sent.
# So the last program has to send whole packets, and to receive each of them.
#
# The next three mistakes have other causes.
# A buffer may be freed too early, and an address may belong to nothing.


# %%
def forgets_start():
    overlay = Overlay(board.bitstream)
    with allocate(words.shape, "u8") as job:
        job[:] = words
        overlay.axi_dma_0.sendchannel.transfer(job)
        overlay.axi_dma_0.sendchannel.wait()


def frees_early():
    dma = Overlay(eights).axi_dma_0
    with allocate(8, "u1") as y:
        dma.recvchannel.transfer(y)
    dma.recvchannel.wait()  # y is gone


def wrong_address():
    MMIO(0x4000_0000).read(0)


for program in (forgets_start, frees_early, wrong_address):
    try:
        program()
    except RuntimeError as error:
        print(f"{program.__name__}: {error}")

# %% [markdown]
# The first program waits for ever on a real board.
# The second one harms silently: the DMA writes into memory that may belong to another program by now.
# At a wrong address, a real processor gets an error, or the whole board stands still.
#
# A good circuit does not let its user wait.
# If the last word of a job is missing, our accelerator ends the job itself, and says so in STATUS:

# %%
overlay = Overlay(board.bitstream)
print(run_job(overlay.accelerator_0, overlay.axi_dma_0, words[:-1], 1))
print(overlay.accelerator_0.register_map.STATUS)

# %% [markdown]
# ## Measure
#
# In daily work, a driver does what `run_job` does.
# `ConvNetOverlay` also makes the stream, splits many images into jobs, and reads STATUS.

# %%
network = ConvNetOverlay(overlay, golden)
labels = network.predict(photos)
print("labels equal to the golden model's:", np.array_equal(labels, golden.predict(photos)))
print(network.cycles)

# %% [markdown]
# For 16 images, that is what lesson 5 counted, too.
# How long do they take?
# We *assume* a clock of 100 MHz for the board, and run the same task in software on your processor.

# %% tags=["timing", "nbval-ignore-output"]
from timeit import repeat

model = convnet.torch_model(convnet.load_weights())
pixels = torch.from_numpy(convnet.normalise(photos))


def per_image(call, times):
    return measured(1e6 * min(repeat(call, number=1, repeat=times)) / len(photos), "µs")


with torch.no_grad():
    in_torch = per_image(lambda: model(pixels), 10)
at_100_mhz = predicted(int(network.cycles) / 16 / 100, "µs", "CYCLES at an assumed 100 MHz")
rows = [
    ["software: PyTorch, float32", in_torch],
    ["software: the golden model in NumPy, integers", per_image(lambda: golden.predict(photos), 2)],
    ["the overlay on a board", at_100_mhz],
    ["the overlay on our virtual board", per_image(lambda: network.predict(photos), 1)],
]
figures.table(["16 images", "time for an image"], rows)
figures.guesses([("PyTorch", torch_guess, in_torch)])

# %% [markdown]
# The virtual board's own time says nothing about an FPGA: it computes every wire of the circuit in software.
# And the overlay's time is a prediction, without the bytes' way through a real board's memory.
# On the two-core machine of this text, PyTorch took longer than that; a larger processor may not.
# NumPy's integers are slow, because only float products use fast libraries.
#
# ## Explain
#
# How good was your first guess?
# We count for how many bytes the send channel gets done without a receiver.

# %% tags=["picture"]
done = [attempt(sent, 0)[0] == "done" for sent in range(1, 11)]
taken = counted(sum(done), "bytes", "the virtual board")
figures.guesses([("bytes taken", taken_guess, taken)])

# %% [markdown]
# A stage holds one byte, and takes another one only when that has left.
# So everything behind a missing receiver stands still: the circuit, the send channel, and `wait`.
#
# So how do you find out why a program waits, on a board that says nothing?
# **Ask both channels whether they are done, and look for the cause in the column of the one that is not:**
#
# | only the send channel waits | only the receive channel waits | both wait |
# |---|---|---|
# | more was sent than the circuit takes | the circuit sets no `last` | START is missing |
# | nobody receives the next packet | too little was sent | the circuit takes nothing, and gives nothing |
#
# On a real board, `dma.sendchannel.idle` and `dma.recvchannel.idle` tell without waiting.
#
# ### What a DMA may read
#
# Our programs gave the DMA addresses of their own buffers.
# Here is a buffer that belongs to somebody else:

# %%
secret = allocate(8, "u1")
secret[:] = list(b"password")
secret.flush()

dma = Overlay(eights).axi_dma_0
stolen = allocate(8, "u1")
dma.recvchannel.transfer(stolen)
dma.write(0x18, secret.physical_address)  # lesson 7: MM2S_SA
dma.write(0x28, 8)  # and MM2S_LENGTH
dma.recvchannel.wait()
print(bytes(255 - np.array(stolen)))

# %% [markdown]
# The DMA has read it, and nobody was asked.
# In a PC, a unit called IOMMU can limit what a device may read; a Zynq-7000 has none for its programmable logic.
# A bitstream can contain a DMA that chooses the addresses itself, and reads or overwrites all of Linux.
# **A stranger's bitstream is a stranger's program, with all rights: load only what you would run as root.**
#
# ## On trial
#
# No claim is tried here: the chapter's last one, about a network on a live video, waits for lesson 9.
#
# ## Recap
#
# **The rule to keep: the send channel is done when the circuit has taken all bytes, the receive channel when `last` has come; a circuit takes no more than it hands over and what it holds.**
#
# For example, lesson 7's loopback holds 16 words: without a receiver, 17 words are one too many.
#
# ### Outside
#
# On a real board, engineers put an ILA, AMD's logic analyser, beside the streams, and see valid, ready and `last` as we do.
# Vivado adds it to the circuit; neither was run here.
# We left out interrupts, with which a program can wait for a DMA without asking again and again.
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
