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
#     title: The overlay
#     number: 7
#     minutes: 50
#     needs: []
#     able: load a circuit and talk to it through registers; move arrays through it with a DMA, without a hang; change your own circuit and use it seconds later
#     runs_on: a virtual Pynq board, driven by the unmodified package `pynq` (Linux)
# ---

# %% [markdown]
# # The overlay
#
# **"No Devices Found."**
# PYNQ is AMD's way to use an FPGA from Python, and with this error its tutorials end for everybody who has no board.
# Today you need none, but a question stays.
# A function gets arguments and can `print`; a circuit has only wires and a clock.
# How does Python hand numbers to a circuit, and how does it get numbers back?
#
# ## What you will be able to do
#
# - load a circuit and talk to it through registers;
# - move arrays through it with a DMA, without a hang;
# - change your own circuit and use it seconds later.
#
# You need [lesson 4](4_timing_and_proof.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# Some registers of a circuit have an address, at which a processor can read and write them.
# Each read or write is an **access**.
# A **DMA** (direct memory access) is a circuit that moves bytes between a memory and another circuit.
# A program only writes into the DMA's registers which bytes to move.
#
# Python sends 1,024 bytes through a DMA to a circuit, and receives 1,024 bytes from it.
# How many accesses does pynq need, until it knows that all bytes are there?
# And how many for one byte in each direction?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import VirtualBoard
from labkit.fpga.board import designs
from labkit.fpga.board.timeline import timeline
from labkit.provenance import counted, predicted

# STUB:
# guesses = {
#     "1,024 bytes": predict("fpga.dma_accesses", None, "accesses"),
#     "1 byte": predict("fpga.dma_accesses_of_one", None, "accesses"),
# }
# BEGIN SOLUTION
guesses = {
    "1,024 bytes": predict("fpga.dma_accesses", 2048, "accesses"),
    "1 byte": predict("fpga.dma_accesses_of_one", 2, "accesses"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### The board
#
# The chip of a Pynq board, a Zynq, has two parts: a **processor**, and **programmable logic**, the FPGA of our lessons.
#
# ```
# your computer        the board
# ┌───────────┐       ┌──────────────────────────────────────┐
# │ Python    ├───────┤  processor ────────────── memory     │
# │ with pynq │       │      │ accesses              │ bytes │
# └───────────┘       │ ┌────┼───────────────────────┼─────┐ │
#                     │ │    ├────────────┬───────┐  │     │ │
#                     │ │    ↓            ↓       ↓  ↓     │ │
#                     │ │  LEDs and     your  ←→  DMA      │ │
#                     │ │  buttons     circuit  streams    │ │
#                     │ └───────── programmable logic ─────┘ │
#                     └──────────────────────────────────────┘
# ```
#
# The file that turns the programmable logic into a circuit is called a **bitstream**.
# A loaded bitstream, with the list of its parts, is called an **overlay**.
#
# Our board is virtual: it runs in this notebook, and clocks your circuit as `simulate` does.
# The package `pynq` is the real one, unchanged, but no real board has run this lesson.
# (Using a board from another computer is called PYNQ.remote.)
# The first circuit is a **loopback**, a queue whose words come back as they went in.

# %%
board = VirtualBoard(designs.loopback_of_bytes())
board.start()

from pynq import MMIO, Overlay, allocate  # once a board is there

overlay = Overlay(board.bitstream)
rows = []
for name, part in overlay.ip_dict.items():
    if "addr_range" in part:  # all but the processor
        rows.append([name, f"0x{part['phys_addr']:08X}"])
figures.table(["in the overlay", "its first address"], rows)

# %% [markdown]
# ### A register is an address
#
# The LEDs belong to a part called GPIO (general-purpose input and output), whose register has one bit for each LED.
# For this part, pynq brings a **driver**, a class that knows its registers.
#
# With **MMIO** (memory-mapped input and output), you read and write any register without a driver.
# A register's address is the **base**, which is the first address of its part, plus the register's **offset** in bytes.

# %%
leds = overlay.leds_gpio.channel1  # a GPIO has one or two channels
leds.write(0b0101, 0b1111)  # the value, and which LEDs may change
print(f"LEDs {board.leds:04b}")

board.press(1, 3)  # on a real board: your fingers
print(f"buttons {overlay.btns_gpio.channel1.read():04b}")

gpio = MMIO(0x4120_0000)  # the base
gpio.write(0, 0b1001)  # offset 0, and the value
print(f"LEDs {board.leds:04b}, read back {gpio.read(0):04b}")

# %% [markdown]
# **All that a program can do with a circuit is read and write words at addresses.**
# (We leave out interrupts.)
#
# ### A buffer that a circuit can find
#
# Linux scatters a program's arrays over the memory, and the processor translates each address that a program uses into a **physical address**, where the bytes really are.
# Nobody translates for a DMA, so it needs the physical address, and all bytes in one piece.
# The function `allocate` makes such an array, a **buffer**.
#
# Here pynq runs on your computer, so you fill a copy of the buffer: `flush` sends it to the board, and `invalidate` fetches the board's.
#
# ### Three words for a DMA
#
# A DMA has a send channel and a receive channel.
# The send channel reads bytes from memory, and offers them as a stream, the last word with `last`.
# These are its registers (MM2S: from memory to stream), and writing the length starts it:
#
# ```
# offset   register       what to write
# 0x00     MM2S_DMACR     1: run
# 0x18     MM2S_SA        the physical address of the first byte
# 0x28     MM2S_LENGTH    how many bytes
# ```
#
# This DMA reads the memory in words of 4 bytes, and lacks the option to begin within one: at an address that is no multiple of 4, what it sends cannot be predicted (published in AMD's PG021 and PG022).
#
# Let `x` have rows of 8 bytes and begin at 0x18000000, and let the DMA's base be 0x40400000.
# Rows 1 and 2 begin 1 x 8 bytes behind row 0 and have 2 x 8 bytes:
#
# ```
# to 0x40400000    1
# to 0x40400018    0x18000000 + 8 = 0x18000008
# to 0x40400028    16
# ```
#
# **Exercise `fpga.send_rows`**: return these addresses and values, in this order, for any array, whose elements may have several bytes; the first row to send begins at a multiple of 4.
# Return them as NumPy arrays; `check` takes no other library.


# %% tags=["exercise:fpga.send_rows"]
def send_rows(base, address, x, first, count):
    """the DMA's base, where x [R, C] begins, the first row to send, how many -> addresses, values"""
    # STUB:
    # addresses = np.array([0, 0, 0])
    # values = np.array([0, 0, 0])
    # BEGIN SOLUTION
    row = x.shape[1] * x.itemsize
    addresses = np.array([base + 0x00, base + 0x18, base + 0x28])
    values = np.array([1, address + first * row, count * row])
    # END SOLUTION
    return addresses, values


send_rows = check("fpga.send_rows", send_rows)

# %% [markdown]
# Now we send rows 1 and 2 by your three words, and receive them by the driver.
# <!-- holds: send_rows(0x4040_0000, 0x1800_0000, np.zeros((4, 8), "u1"), 1, 2)[1].tolist() == [1, 0x1800_0008, 16] -->
# Its `transfer` starts a channel, and `wait` reads a status register until the channel is done.
# The driver also flushes what it sends, and invalidates what it has received.
# Start both channels before you wait for either: without a receiver, the loopback takes 16 words, and then the sender waits for ever.
# (With AMD's DMA, the receive channel takes a few words more before it stops.)

# %%
x = allocate((4, 8), "u1")  # four rows of eight bytes
x[:] = np.arange(32).reshape(4, 8)
x.flush()
print(f"x begins at 0x{x.physical_address:08X}")

dma = overlay.axi_dma_0
got = allocate(16, "u1")
dma.recvchannel.transfer(got)
addresses, values = send_rows(0x4040_0000, x.physical_address, x, 1, 2)
for address, value in zip(addresses, values, strict=True):
    MMIO(int(address)).write(0, int(value))
dma.recvchannel.wait()
print(got)

# %% [markdown]
# The driver's `dma.sendchannel.transfer(x, start=8, nbytes=16)` does the same.
# <!-- holds: got.tolist() == x[1:3].ravel().tolist() == list(range(8, 8 + 16)) -->
# Why not send a slice?

# %%
row = allocate(8, "u1")
dma.recvchannel.transfer(row)
dma.sendchannel.transfer(x[2])
dma.sendchannel.wait()
dma.recvchannel.wait()
x.invalidate()
print(row, x, sep="\n")

# %% [markdown]
# Row 2 came back, but it has also overwritten row 0 of `x` on the board.
# <!-- holds: row.tolist() == x[0].tolist() == x[2].tolist() == list(range(16, 24)) -->
# A slice remembers which buffer it is cut from, but not at which of the buffer's bytes it begins.
# So `transfer` copied row 2 to the first bytes of the buffer, and sent these.
# (According to pynq's code, slices work if pynq runs on the board itself; we could not try.)
# **Write `start=` and `nbytes=`, and never a slice.**
#
# ### A whole array
#
# A transfer has at most `dma.buffer_max_size` bytes, because the length register has only 14 bits here: 16,383 bytes.
# <!-- holds: dma.buffer_max_size == 2**14 - 1 == 16_383 -->
# With 8 bits, a transfer would have at most 255 bytes, or 63 words of 4 bytes, and 140 words would go in pieces of 63, 63 and 14.
#
# **Exercise `fpga.through_dma`**: send `x` through a circuit in as few pieces as possible, and return what comes back.
# The `with` block frees both buffers at its end.
# Where a real board would wait for ever, ours says why.


# %% tags=["exercise:fpga.through_dma"]
def through_dma(dma, x):
    """a DMA, and x [n] of the circuit's words -> the n words that come back"""
    y = np.zeros_like(x)
    # STUB:
    # most = len(x)  # words of a piece
    # BEGIN SOLUTION
    most = dma.buffer_max_size // x.itemsize
    # END SOLUTION
    for start in range(0, len(x), most):
        piece = x[start : start + most]
        with allocate(piece.shape, x.dtype) as sent, allocate(piece.shape, x.dtype) as got:
            # STUB:
            # pass  # yours: from `piece` to `sent`, and from `got` to its place in `y`
            # BEGIN SOLUTION
            sent[:] = piece
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(sent)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            y[start : start + most] = got
            # END SOLUTION
    return y


through_dma = check("fpga.through_dma", through_dma)

# %% [markdown]
# ### Your own circuit
#
# The next circuit computes: it adds `amount` to each pixel, and where the sum is above 255, the result is 255.
# With the amount 40, the pixels 10, 215 and 216 become 50, 255 and 255.
# The sum of two bytes can have nine bits; in eight, it begins again at 0.
#
# A receive channel is done only when a word comes with `last`.
# So `last` has to pass the circuit together with its word.
#
# **Exercise `fpga.brighten`**: complete this stage, which waits as lesson 4's does.

# %% tags=["exercise:fpga.brighten"]
brighten = r"""
module brighten (
  input  logic clk, rst, in_valid, in_last, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data, amount,
  output logic [7:0] out_data);
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      # STUB:
      # out_last <= 0;  // yours
      # out_data <= 0;  // yours
      # BEGIN SOLUTION
      out_last <= in_last;
      out_data <= in_data > 8'd255 - amount ? 8'd255 : in_data + amount;
      # END SOLUTION
    end
endmodule
"""
brighten = check("fpga.brighten", brighten)

# %% [markdown]
# ## Check
#
# We do the same task twice, first in software and then on the overlay.
# On the board, the given part `brighten_unit` contains your module, and drives `amount` from a register, AMOUNT.
# The overlay lists the register, so `register_map` has it by name.

# %% tags=["picture"]
photos = cifar10("sample").test.images[:6]  # [6, 3, 32, 32] bytes
amount = 60
software = np.minimum(photos.astype(int) + amount, 255)

bitstream = board.add(designs.brighten(brighten))  # one more design for the board
overlay = Overlay(str(bitstream))
overlay.brighten_unit_0.register_map.AMOUNT = amount
hardware = through_dma(overlay.axi_dma_0, photos.ravel()).reshape(photos.shape)
print("equal:", np.array_equal(software, hardware))

pairs = np.concatenate([photos[:4], hardware[:4]])
names = ["sent"] * 4 + ["received"] * 4
alt = "Four photographs as they were sent, and the same four, brighter, as they were received."
marks = [False] * 8  # no photograph is marked
figures.image_grid(pairs, names, marks, alt)
timeline(board.traffic)

# %% [markdown]
# The lower picture is the board's record: at the left AMOUNT is written, and then two pieces pass, because 6 x 3,072 bytes are more than 16,383.
# <!-- holds: photos.nbytes == 6 * 3_072 > overlay.axi_dma_0.buffer_max_size == 16_383 -->
# <!-- holds: sum(event.where == "send channel" and event.kind == "starts" for event in board.traffic) == 2 -->
# It leaves out the DMA's own registers, and Python's time between the pieces.
#
# Now change your module or the amount, and run the cells again: it takes seconds.
#
# ## Measure
#
# If a circuit had one register for a pixel and one for its result, each pixel would cost a write and a read.
# What does a DMA cost?

# %%
rows = []
for n in (1, 64, 1024, 16_383):
    accesses, cycle = board.accesses, board.cycle
    through_dma(overlay.axi_dma_0, np.arange(n).astype("u1"))
    used = counted(board.accesses - accesses, "accesses", "the virtual board")
    cycles = counted(board.cycle - cycle, "cycles", "the virtual board")
    rows.append([n, predicted(2 * n, "accesses", "2 for each pixel"), used, cycles])
figures.table(["pixels", "by registers", "by DMA", "clock cycles of the DMA"], rows)

# %% [markdown]
# A pixel moves in each clock cycle, and your stage's register costs one cycle more.
# <!-- holds: all(int(row[3]) == row[0] + 1 for row in rows) -->
# The memory of a real board adds cycles that ours leaves out.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = {"1,024 bytes": rows[2][2], "1 byte": rows[0][2]}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# With our function, a piece takes 20 accesses, whatever its size.
# <!-- holds: [int(row[2]) for row in rows] == [20] * 4 -->
# For each channel, pynq makes three writes (the address in two halves, and the length; RUN was written before) and seven reads, most of them of the status.
# <!-- holds: 2 * (3 + 7) == int(rows[2][2]) -->
# (Our board ends a transfer within one read; a real one is asked until the transfer has ended.)
# **By registers, the accesses grow with the numbers; by DMA, on our board, they grow with the pieces.**
# <!-- holds: [int(row[1]) / row[0] for row in rows] == [2] * 4 -->
# <!-- holds: -board.accesses + 0 * len(through_dma(overlay.axi_dma_0, photos.ravel())) + board.accesses == 2 * int(rows[0][2]) -->
#
# So how does Python hand numbers to a circuit?
# It writes a few of them, such as the amount, into registers: they are the circuit's arguments.
# Many numbers lie in the memory: Python writes only where, and a DMA moves them, in both directions.
#
# ## On trial
#
# No claim is tried here: the course's claim about overlays is about a video, and waits for lesson 9.
#
# ## Recap
#
# **The rule to keep: there and back, a number costs 2 accesses by registers, and a piece of up to 16,383 bytes costs 20 or more by DMA.**
# <!-- holds: rows[3][0] == 16_383 and all(int(row[1]) == 2 * row[0] and int(row[2]) >= 20 for row in rows) -->
# And start both channels before you wait for either.
#
# ### Outside
#
# For a real board, Vivado makes the bitstream, with AMD's AXI DMA and AXI GPIO, and you write `Overlay("name.bit")`.
# As pynq 4.0 has dropped the Pynq-Z1 and Z2, these need an SD image from before version 4.0.
# FINN, AMD's compiler for networks, refuses both boards as well unless one insists, and names the AUP-ZU3 as the new default for teaching (published: FINN's pull request 1659, of August 2026).
# We have run neither Vivado nor a board.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_which_road", None)
# quiz("fpga.quiz_physical", None)
# quiz("fpga.quiz_pieces", None)
# BEGIN SOLUTION
quiz("fpga.quiz_which_road", "c")
quiz("fpga.quiz_physical", "b")
quiz("fpga.quiz_pieces", "d")
# END SOLUTION
board.stop()  # to go on afterwards, run the cell that starts it
