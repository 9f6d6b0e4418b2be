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
#     minutes: 55
#     needs: []
# ---

# %% [markdown]
# # The overlay
#
# **"No Devices Found."**
# This is where the tutorials of PYNQ end for everybody who has no board.
# PYNQ is AMD's way to use an FPGA from Python, and today you use it without a board.
# A function gets its arguments from a call, and shows with `print` what it does.
# A circuit has neither: it has wires and a clock.
# So how does Python hand numbers to a circuit, and how does it get numbers back?
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
# A **register** at an address is a number in the circuit that a processor can read or write; each read or write is an **access**.
# A **DMA** (direct memory access) is a circuit that moves bytes between a memory and another circuit by itself.
# It has registers too, in which Python writes what to move.
#
# Python sends 1,024 bytes through a DMA to a circuit, and receives 1,024 bytes from it.
# How many accesses does that take?
# And how many for a single byte in each direction?

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
#   your computer                            the board
#  +-------------+        +------------------------------------------+
#  | Python with |        |  processor -------------- memory         |
#  | pynq        |--------|      | accesses             | bytes       |
#  +-------------+        |  +---|----------------------|---------+  |
#                         |  |   +-- LEDs, buttons      |         |  |
#                         |  |   +---------------------DMA        |  |
#                         |  |   +-- your circuit ------+ streams |  |
#                         |  +------- programmable logic ---------+  |
#                         +------------------------------------------+
# ```
#
# A **bitstream** is the file that makes a circuit of the programmable logic.
# PYNQ calls a loaded bitstream, with the list of what is in it, an **overlay**.
#
# Our board is virtual: it runs in this notebook, and clocks your circuit as `simulate` does.
# The package `pynq` is the real one, unchanged; no real board has run this lesson.
# The first circuit is a **loopback**: a queue whose words come back as they went in.

# %%
board = VirtualBoard(designs.loopback_of_bytes())
board.start()

from pynq import MMIO, Overlay, allocate  # once a board is there

overlay = Overlay(board.bitstream)
parts = {name: part for name, part in overlay.ip_dict.items() if "addr_range" in part}
rows = [[name, f"0x{part['phys_addr']:08X}"] for name, part in parts.items()]
figures.table(["in the overlay", "its first address"], rows)

# %% [markdown]
# ### A register is an address
#
# The LEDs belong to a part called GPIO, whose register has one bit for each LED.
# For it, pynq brings a **driver**, which is a class that knows the registers.
# The second argument of its `write` says which LEDs may change.
#
# Without a driver, **MMIO** (memory-mapped input and output) reads and writes any register.
# Its address is the part's first address, the **base**, plus the register's **offset** in bytes.
# The register of the LEDs has offset 0.

# %%
leds = overlay.leds_gpio.channel1
leds.write(0b0101, 0b1111)
print(f"LEDs {board.leds:04b}")

board.press(1, 3)  # on a real board: your fingers
print(f"buttons {overlay.btns_gpio.channel1.read():04b}")

register = MMIO(0x4120_0000 + 0)
register.write(0, 0b1001)
print(f"LEDs {board.leds:04b}, read back {register.read(0):04b}")

# %% [markdown]
# **All that a program can do with a circuit is to read and write words at addresses.**
#
# ### A buffer that a circuit can find
#
# Linux spreads a program's arrays over the memory, and translates each address that the program uses.
# The result, a **physical address**, says where the bytes really are.
# Nobody translates for a DMA, so it needs physical addresses, and bytes in one piece.
# `allocate` makes such an array, a **buffer**.
#
# As pynq runs on your computer here, you fill a copy of the buffer.
# `flush` brings the copy to the board, and `invalidate` brings the board's bytes back.

# %%
x = allocate((4, 8), "u1")  # four rows of eight bytes
x[:] = np.arange(32).reshape(4, 8)
x.flush()
print(f"x begins at 0x{x.physical_address:08X}")

# %% [markdown]
# ### Three words for a DMA
#
# A DMA has a send channel and a receive channel.
# The send channel reads from memory and sends a stream of words, the last of them with `last`.
# It has three registers, and the write of the length starts it:
#
# ```
# offset   register       what to write
# 0x00     MM2S_DMACR     1: run
# 0x18     MM2S_SA        the physical address of the first byte
# 0x28     MM2S_LENGTH    how many bytes
# ```
#
# Rows 1 and 2 of `x` begin 1 x 8 bytes behind row 0, and have 2 x 8 bytes.
# If `x` begins at 0x18000000, and the DMA's base is 0x40400000, we write
#
# ```
# to 0x40400000    1
# to 0x40400018    0x18000000 + 8 = 0x18000008
# to 0x40400028    16
# ```
#
# **Exercise `fpga.send_rows`**: return these addresses and values, in this order, for any array.
# Its elements may have more than one byte each.


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
# On the board, the rows come back through the loopback.
# For the receive channel we take the driver: `transfer` starts a channel, and `wait` reads its status until all is done.
# The receive channel starts first: a queue that is full and finds no receiver takes no more words.

# %%
dma = overlay.axi_dma_0
got = allocate(16, "u1")
dma.recvchannel.transfer(got)
addresses, values = send_rows(0x4040_0000, x.physical_address, x, 1, 2)
for address, value in zip(addresses, values, strict=True):
    MMIO(int(address)).write(0, int(value))
dma.recvchannel.wait()
print(got)

# %% [markdown]
# `dma.sendchannel.transfer(x, start=8, nbytes=16)` writes the same.
# A slice looks shorter, but beware:

# %%
row = allocate(8, "u1")
dma.recvchannel.transfer(row)
dma.sendchannel.transfer(x[2])
dma.sendchannel.wait()
dma.recvchannel.wait()
x.invalidate()
print(row, x, sep="\n")

# %% [markdown]
# Row 2 came back, but look at row 0 of `x`.
# A slice has forgotten where in its buffer it begins, so pynq copied row 2 to the start.
# (This is pynq 4.0 with a board at the other end of a network; on a board's own processor, slices work.)
# **Say `start=` and `nbytes=`, and never give a slice.**
#
# ### A whole array
#
# One transfer has at most `dma.buffer_max_size` bytes, because the length register has few bits.
# With 7 bits it would be 127.
# Then 70 words of 4 bytes would go in pieces, each of whole words: 127 / 4 is more than 31, so 31 + 31 + 8.
#
# **Exercise `fpga.through_dma`**: send `x` through a circuit in as few pieces as possible, and return what it gives back.
# At the end of the `with` block, pynq frees both buffers.


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
            # pass  # fill `sent`, transfer both, wait for both, copy `got`
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
# Now a circuit that computes: it adds `amount` to each pixel, and a sum above 255 becomes 255.
# With the amount 40, the pixels 10, 215, 216 become 50, 255, 255.
# Two bytes can have a sum of nine bits, so compare before you add.
#
# The DMA receives until a word comes with `last`, or for ever.
# So `last` has to pass the stage together with its word.
#
# **Exercise `fpga.brighten`**: complete the stage, in the manner of lesson 4's.

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
      # {out_last, out_data} <= 0;  // yours
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
# The part `brighten_unit`, which is given, holds your module and drives `amount` from a register, AMOUNT at offset 0x10.
# There is no driver for this part, but pynq finds the register's name in the overlay, and offers it in `register_map`.

# %% tags=["picture"]
photos = cifar10("sample").test.images[:6]  # [6, 3, 32, 32] bytes
software = np.minimum(photos.astype(int) + 60, 255)

overlay = Overlay(str(board.add(designs.brighten(brighten))))
overlay.brighten_unit_0.register_map.AMOUNT = 60
hardware = through_dma(overlay.axi_dma_0, photos.ravel()).reshape(photos.shape)
print("equal:", np.array_equal(software, hardware))

pairs = np.concatenate([photos[:4], hardware[:4]])
names = ["sent"] * 4 + ["received"] * 4
alt = "Four photographs as they were sent, and the same four, brighter, as they were received."
figures.image_grid(pairs, names, [False] * 8, alt)
timeline(board.traffic)

# %% [markdown]
# The board also tells what went over its wires.
# The first marks, at the left, are accesses of AMOUNT; then come two pieces, because 6 x 3,072 bytes do not fit into one.
#
# Change the module, or the amount, and run the cells again: a changed circuit takes about two seconds.
#
# ## Measure
#
# Suppose that a circuit has a register for a pixel, and one for its result.
# Then each pixel costs 2 accesses.
# What does the DMA cost?

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
# The circuit takes a pixel in each cycle, and one cycle more for the register in your stage.
# A real memory adds cycles of its own, which this board leaves out.
#
# ## Explain
#
# How good were your guesses?

# %% tags=["picture"]
results = {"1,024 bytes": rows[2][2], "1 byte": rows[0][2]}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# All four take the same 20 accesses (ours; yours may differ): three words and some questions for each channel.
# **An access costs the processor something for every number; a DMA costs it the same for one number as for thousands.**
# So the few numbers that are a circuit's *arguments* go into registers, and the many that are its *data* go by DMA.
#
# This answers the question at the top.
# Python writes words to addresses: either the numbers themselves, or where in memory they lie.
#
# ## On trial
#
# No claim is tried here: the course's claim about overlays needs a video, and waits for lesson 9.
#
# ## Recap
#
# **The rule to keep: receive first, then send, then wait for both; and a DMA pays from about 10 numbers on, because it costs 20 accesses and a register 2 for each number.**
#
# For example, 100 pixels cost 200 accesses by registers, and 20 by DMA.
#
# ### Outside
#
# On a real board, Vivado makes the bitstream, with AMD's AXI DMA and AXI GPIO; the cells with `pynq` stay as they are, with `Overlay("name.bit")`.
# Version 4.0 of pynq has dropped the Pynq-Z1 and Z2: these need an SD image of version 3.1 or older.
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
board.stop()
