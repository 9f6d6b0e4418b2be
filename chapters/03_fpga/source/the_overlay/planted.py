"""Wrong and right answers for lesson the_overlay."""

import numpy as np

from tests.exercises.edits import Module, edit

# --- fpga.send_rows

ROWS = "fpga.send_rows"
in_elements = edit(ROWS, "in_elements", "x.shape[1] * x.itemsize", "x.shape[1]")
whole_rows_before = edit(ROWS, "whole_rows_before", "address + first * row", "address")
all_that_follow = edit(ROWS, "all_that_follow", "count * row", "x.nbytes - first * row")
up_to = edit(ROWS, "up_to", "count * row", "(count - first) * row")
no_base = edit(ROWS, "no_base", "base + 0x00, base + 0x18, base + 0x28", "0x00, 0x18, 0x28")
by_columns = edit(ROWS, "by_columns", "x.shape[1] *", "x.shape[0] *")


KEPT = {}  # what answers keep from call to call


def same_rows(base, address, x, first, count):
    first, count = KEPT.setdefault(x.shape, (first, count))
    return in_a_loop(base, address, x, first, count)


def length_in_words(base, address, x, first, count):
    addresses, values = in_a_loop(base, address, x, first, count)
    return addresses, values // [1, 1, x.itemsize]


def four_bytes_each(base, address, x, first, count):
    return in_a_loop(base, address, x.astype("u4"), first, count)


def as_floats(base, address, x, first, count):
    addresses, values = in_a_loop(base, address, x, first, count)
    return addresses.astype(float), values.astype(float)


def in_32_bits(base, address, x, first, count):
    return [numbers.astype(np.uint32) for numbers in in_a_loop(base, address, x, first, count)]


def zeroed(base, address, x, first, count):
    row = x[0].nbytes
    x[first : first + count] = 0
    return np.array([base, base + 24, base + 40]), np.array([1, address + first * row, count * row])


def by_torch(base, address, x, first, count):
    import torch

    row = x[0].nbytes
    values = torch.tensor([1, address + first * row, count * row]).numpy()
    return np.array([base, base + 0x18, base + 0x28]), values


def in_a_loop(base, address, x, first, count):
    start = address
    for one in range(first):
        start += x[one].nbytes
    writes = {base: 1, base + 0x18: start, base + 0x28: x[first : first + count].nbytes}
    return np.array(list(writes)), np.array(list(writes.values()))


# --- fpga.through_dma

DMA = "fpga.through_dma"
copies_what_was_sent = edit(DMA, "copies_what_was_sent", "most] = got", "most] = sent")
only_once = edit(DMA, "only_once", "range(0, len(x), most)", "range(0, most, most)")
same_words = edit(
    DMA, "same_words", "piece = x[start : start + most]", "piece = x[:most][: len(x) - start]"
)
no_rest = edit(DMA, "no_rest", "len(x), most)", "len(x) - most + 1, most)")
too_long = edit(DMA, "too_long", "dma.buffer_max_size // x.itemsize", "dma.buffer_max_size // 2")
one_word_each = edit(DMA, "one_word_each", "dma.buffer_max_size // x.itemsize", "1")
sends_first = edit(
    DMA,
    "sends_first",
    "            dma.recvchannel.transfer(got)\n",
    "",
    (
        "            dma.sendchannel.wait()\n",
        "            dma.sendchannel.wait()\n            dma.recvchannel.transfer(got)\n",
    ),
)
never_sends = edit(
    DMA,
    "never_sends",
    "            dma.sendchannel.transfer(sent)\n            dma.sendchannel.wait()\n",
    "",
)
no_waiting = edit(
    DMA,
    "no_waiting",
    "            dma.sendchannel.wait()\n            dma.recvchannel.wait()\n",
    "",
)


def keeps_the_buffer(dma, x):
    from pynq import allocate

    most = dma.buffer_max_size // x.itemsize
    y = allocate(x.shape, x.dtype)
    for start in range(0, len(x), most):
        part = min(most, len(x) - start)
        with allocate(part, x.dtype) as sent, allocate(part, x.dtype) as got:
            sent[:] = x[start : start + part]
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(sent)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            y[start : start + part] = got
    return y


def remembers_words(dma, x):
    return KEPT.setdefault(("words", len(x)), from_one_buffer(dma, x))


def in_numpy(dma, x):
    return ~x


def in_place(dma, x):
    x[:] = ~x
    return x


def polls(dma, x):
    from pynq import allocate

    got = allocate(len(x), x.dtype)
    dma.recvchannel.transfer(got)
    while not dma.recvchannel.idle:
        pass
    return np.array(got)


def from_one_buffer(dma, x):
    from pynq import allocate

    most = dma.buffer_max_size // 4
    y = np.empty(len(x), "u4")
    sent, got = allocate(len(x), "u4"), allocate(most, "u4")
    sent[:] = x
    for start in range(0, len(x), most):
        n = min(most, len(x) - start)
        dma.sendchannel.transfer(sent, start=4 * start, nbytes=4 * n)
        dma.recvchannel.transfer(got, nbytes=4 * n)
        dma.recvchannel.wait()
        dma.sendchannel.wait()
        y[start : start + n] = got[:n]
    sent.freebuffer()
    got.freebuffer()
    return y


# --- fpga.brighten

UNIT = "fpga.brighten"
SUM = "in_data > 8'd255 - amount ? 8'd255 : in_data + amount"
overflows = edit(UNIT, "overflows", SUM, "in_data + amount")
copies = edit(UNIT, "copies", SUM, "in_data")
one_short = edit(UNIT, "one_short", SUM, "in_data >= 8'd255 - amount ? 8'd254 : in_data + amount")
lost_last = edit(UNIT, "lost_last", "out_last <= in_last", "out_last <= 0")
every_last = edit(UNIT, "every_last", "out_last <= in_last", "out_last <= 1")
unregistered = edit(
    UNIT,
    "unregistered",
    "      out_last <= in_last;\n",
    "",
    ("  assign in_ready =", "  assign out_last = in_last && in_valid;\n  assign in_ready ="),
)
without_valid = edit(
    UNIT,
    "without_valid",
    "      out_last <= in_last;\n",
    "",
    ("  assign in_ready =", "  assign out_last = in_last;\n  assign in_ready ="),
)
impatient = edit(UNIT, "impatient", "!out_valid || out_ready", "1")
half_speed = edit(
    UNIT,
    "half_speed",
    "    end\n",
    "    end else if (out_ready) out_valid <= 0;\n",
    ("!out_valid || out_ready", "!out_valid"),
)
no_reset = edit(UNIT, "no_reset", "if (rst) out_valid <= 0;\n    else if", "if")
blocking = edit(UNIT, "blocking", "out_last <= in_last", "out_last = in_last")
subtracts = edit(UNIT, "subtracts", SUM, "in_data < amount ? 8'd0 : in_data - amount")
white = edit(UNIT, "white", SUM, "8'd255")
turned_round = edit(UNIT, "turned_round", "in_data > 8'd255", "in_data < 8'd255")
two_registers = edit(
    UNIT,
    "two_registers",
    "out_last <= in_last;",
    "out_last <= kept;\n      if (in_valid) kept <= in_last;",
    ("  assign in_ready =", "  logic kept;\n  assign in_ready ="),
)
nine_bits = Module(
    """
module brighten (
  input  logic clk, rst, in_valid, in_last, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data, amount,
  output logic [7:0] out_data);
  logic [8:0] sum;
  assign sum = {1'b0, in_data} + {1'b0, amount};
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk) begin
    if (rst) out_valid <= 0;
    else if (in_ready) out_valid <= in_valid;
    if (in_ready && in_valid) {out_last, out_data} <= {in_last, sum[8] ? 8'hff : sum[7:0]};
  end
endmodule
""",
    "nine_bits",
)

needs_its_receiver = edit(UNIT, "needs_its_receiver", "!out_valid || out_ready", "out_ready")
wrapped_back = edit(
    UNIT, "wrapped_back", SUM, "8'(in_data + amount) < in_data ? 8'd255 : in_data + amount"
)


PLANTED = {
    ROWS: [
        (in_elements, "The numbers count elements"),
        (whole_rows_before, "begins with row 0"),
        (all_that_follow, "All rows from the first one on"),
        (up_to, "taken for the number of a row"),
        (no_base, "The addresses are offsets"),
        (by_columns, "x is transposed"),
        (same_rows, "first and count are those of an earlier call"),
        (length_in_words, "The length counts elements"),
        (four_bytes_each, "taken to have 4 bytes"),
        (as_floats, "addresses holds floating-point numbers"),
        (zeroed, "changes its input"),
        (by_torch, "torch"),
    ],
    DMA: [
        (copies_what_was_sent, "x itself comes back"),
        (only_once, "Only the first piece is there"),
        (same_words, "Every piece holds the first words"),
        (no_rest, "The last piece is missing"),
        (too_long, "exceeds the maximum DMA buffer size"),
        (one_word_each, "transfers were made in each direction"),
        (sends_first, "call recvchannel.transfer(buffer) before you wait for the send channel"),
        (never_sends, ": dma.recvchannel.wait()"),
        (no_waiting, "On a real board, memory that may be somebody else's is overwritten"),
        (keeps_the_buffer, "left in the board's memory"),
        (remembers_words, "something is kept from one call"),
        (in_numpy, "did not go through the module"),
        (in_place, "changes its input"),
        (polls, "while not dma.recvchannel.idle"),
    ],
    UNIT: [
        (subtracts, "The amount is subtracted"),
        (white, "Every pixel is 255"),
        (turned_round, "The comparison is turned round"),
        (two_registers, "out_last comes with the pixel after the last one"),
        (needs_its_receiver, "only 0 words found room"),
        (overflows, "begins again at 0"),
        (copies, "come out as they went in"),
        (one_short, "The brightest pixel is 254"),
        (lost_last, "out_last is always 0"),
        (every_last, "out_last is always 1"),
        (unregistered, "out_last comes one word too early"),
        (without_valid, "out_last is ahead of its word"),
        (impatient, "not when a neighbour waits"),
        (half_speed, "clock cycles, and"),
        (no_reset, "not after a second one in the middle of a run"),
        (blocking, "line 12: Blocking assignment"),
    ],
}
ALSO_RIGHT = {
    ROWS: [in_a_loop, in_32_bits],
    DMA: [from_one_buffer],
    UNIT: [wrapped_back, nine_bits],
}
ONE = (0x4040_0000, 0x1800_0000, np.zeros((1, 1), np.uint8), 0, 1)
DARK = (np.zeros(2, np.uint8), 0, 1)
RIGHT_ON = {
    no_base: (0, *ONE[1:]),
    same_rows: (*ONE[:2], np.zeros((2, 2), np.uint8), 0, 1),
    as_floats: ONE,
    remembers_words: (np.arange(3, dtype="u4"),),
    copies_what_was_sent: (np.zeros(0, "u4"),),
} | {wrong: DARK for wrong, _ in PLANTED[UNIT]}
RIGHT_ON[turned_round] = (np.full(2, 200, np.uint8), 55, 1)  # sums of 255
LASTS = (lost_last, unregistered, without_valid, two_registers)
RIGHT_ON |= dict.fromkeys(LASTS, (DARK[0], 0, 0))  # a packet without an end
HANGING = [never_sends, no_waiting, polls]
