"""Wrong and right answers for lesson the_network_on_the_board."""

import numpy as np

from tests.exercises.edits import Module, edit

# --- fpga.run_job

JOB = "fpga.run_job"
IMAGES = "        accelerator.register_map.IMAGES = images\n"
START = "        accelerator.register_map.CONTROL.START = 1\n"
forgets_images = edit(JOB, "forgets_images", IMAGES, "")
forgets_start = edit(JOB, "forgets_start", START, "")
RECEIVE = "        dma.recvchannel.transfer(got)\n"
keeps_images = edit(JOB, "keeps_images", IMAGES, f"        if images != 1:\n    {IMAGES}")
SEND = "        dma.sendchannel.transfer(job)\n        dma.sendchannel.wait()\n"
COPY = '        results[:] = np.array(got).view("i4").reshape(images, 10)\n'
SWAP = ("reshape(", "reshape(-1, 2)[:, ::-1].reshape(")
small_buffer = edit(JOB, "small_buffer", "allocate(5 * images", "allocate(images")
large_halves_first = edit(JOB, "large_halves_first", COPY, COPY.replace(*SWAP))
floating = edit(JOB, "floating", 'view("i4")', 'view("f4")', ('"i4")', '"f4")'))
by_columns = edit(JOB, "by_columns", "reshape(images, 10)", "reshape(10, images).T")
copies_early = edit(JOB, "copies_early", COPY, "", (RECEIVE, COPY + RECEIVE))
never_receives = edit(JOB, "never_receives", RECEIVE, "")
never_sends = edit(JOB, "never_sends", SEND, "")
no_waiting = edit(JOB, "no_waiting", "        dma.recvchannel.wait()\n", "")


KEPT = {}  # what answers keep from call to call


def remembers_results(accelerator, dma, words, images):
    found = without_with(accelerator, dma, words, images)
    return KEPT.setdefault((words.shape, images), found)


def without_with(accelerator, dma, words, images):
    from pynq import allocate

    job, got = allocate(words.shape, "u8"), allocate(5 * images, "u8")
    job[:] = words
    accelerator.register_map.IMAGES = images
    accelerator.register_map.CONTROL.START = 1
    dma.recvchannel.transfer(got)
    dma.sendchannel.transfer(job)
    dma.sendchannel.wait()
    dma.recvchannel.wait()
    return np.array(got).view("i4").reshape(images, 10)


HELD = []  # buffers that an answer never lets go


def holds_its_buffers(accelerator, dma, words, images):
    from pynq import allocate

    sent, got = allocate(len(words), "u8"), allocate((images, 10), "i4")
    HELD.extend((sent, got))
    sent[:] = words
    accelerator.register_map.IMAGES = images
    accelerator.register_map.CONTROL.START = 1
    dma.recvchannel.transfer(got)
    dma.sendchannel.transfer(sent)
    dma.sendchannel.wait()
    dma.recvchannel.wait()
    return np.array(got)


def in_64_bits(accelerator, dma, words, images):
    return without_with(accelerator, dma, words, images).astype("i8")


def a_job_for_each(accelerator, dma, words, images):
    parts = words.reshape(images, -1)
    return np.concatenate([without_with(accelerator, dma, part, 1) for part in parts])


def wipes(accelerator, dma, words, images):
    from pynq import allocate

    with allocate(words.shape, "u8") as job, allocate(5 * images, "u8") as got:
        job[:] = words
        words[:] = 0
        accelerator.write(0x08, images)
        accelerator.write(0x00, 1)
        dma.recvchannel.transfer(got)
        dma.sendchannel.transfer(job)
        dma.recvchannel.wait()
        dma.sendchannel.wait()
        return np.array(got).view("i4").reshape(images, 10)


def by_torch(accelerator, dma, words, images):
    import torch

    return torch.zeros(images, 10).numpy()


def start_last(accelerator, dma, words, images):
    from pynq import allocate

    with allocate(words.shape, "u8") as job, allocate((images, 10), "i4") as got:
        job[:] = words
        dma.sendchannel.transfer(job)
        dma.recvchannel.transfer(got)
        accelerator.register_map.IMAGES = images
        accelerator.register_map.CONTROL = 1
        dma.recvchannel.wait()
        dma.sendchannel.wait()
        return np.array(got)


# --- fpga.add_tlast

LAST = "fpga.add_tlast"
RULE = "out_last <= count == LENGTH - 1;"
COUNT = "if (in_valid) count <= count == LENGTH - 1 ? 0 : count + 1;"
without_last = edit(LAST, "without_last", RULE, "out_last <= count == LENGTH;")
every_last = edit(LAST, "every_last", RULE, "out_last <= 1;")
unregistered = edit(
    LAST,
    "unregistered",
    RULE,
    "",
    ("  assign in_ready =", "  assign out_last = count == LENGTH - 1;\n  assign in_ready ="),
)
one_more = edit(
    LAST, "one_more", RULE, "out_last <= count == LENGTH;", ("LENGTH - 1 ?", "LENGTH ?")
)
with_the_first = edit(LAST, "with_the_first", RULE, "out_last <= count == 0;")
once = edit(LAST, "once", COUNT, "if (in_valid) count <= count + 1;")
counts_idle = edit(LAST, "counts_idle", "if (in_valid) count", "count")
half_speed = edit(
    LAST,
    "half_speed",
    "    end\n",
    "    end else if (out_ready) out_valid <= 0;\n",
    ("!out_valid || out_ready", "!out_valid"),
)
never_reset = edit(LAST, "never_reset", "      count <= 0;\n", "")
FREE = "if (in_valid) count <= count + 1;"
eight_bits = edit(LAST, "eight_bits", "logic [15:0] count", "logic [7:0] count")
divides = edit(
    LAST, "divides", "count == LENGTH - 1;", "count % LENGTH == LENGTH - 1;", (COUNT, FREE)
)
counts_down = Module(
    """
module negative #(parameter LENGTH = 8) (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [7:0] in_data, output logic [7:0] out_data);
  logic [15:0] left;
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk) begin
    if (rst) out_valid <= 0;
    else if (in_ready) out_valid <= in_valid;
    if (rst) left <= 16'(LENGTH - 1);
    else if (in_ready && in_valid) begin
      out_data <= ~in_data;
      out_last <= left == 0;
      left <= left == 0 ? 16'(LENGTH - 1) : left - 1;
    end
  end
endmodule
""",
    "counts_down",
)

# --- fpga.who_is_done

DONE = "fpga.who_is_done"
LIMITS = "np.minimum(np.minimum(sent, room), length)"
holds_nothing = edit(DONE, "holds_nothing", "handed_over + holds", "handed_over")
takes_all = edit(DONE, "takes_all", "sent <= handed_over + holds", "sent > 0")
endless = edit(DONE, "endless", LIMITS, "np.minimum(sent, room)", ("== length", ">= length"))
whole_packets = edit(
    DONE,
    "whole_packets",
    f"    handed_over = {LIMITS}\n",
    "    reached = np.minimum(sent, room)\n"
    "    handed_over = np.where(reached < length, reached, reached // length * length)\n",
    ("== length", ">= length"),
)
boundless = edit(DONE, "boundless", LIMITS, "np.minimum(sent, length)")
full = edit(DONE, "full", "handed_over == length", "np.minimum(sent, length) >= room")
other_way = edit(DONE, "other_way", "send_done, receive_done\n", "receive_done, send_done\n")
as_one = edit(DONE, "as_one", "send_done, receive_done\n", "(send_done & receive_done,) * 2\n")


def as_length(sent, room, length, holds):
    handed_over = np.minimum(np.minimum(sent, room), length)
    return sent <= handed_over + holds, (sent == length) & (room >= length)


def room_is_enough(sent, room, length, holds):
    handed_over = np.minimum(np.minimum(sent, room), length)
    return sent <= handed_over + holds, room >= length


def one_byte_held(sent, room, length, holds):
    return byte_by_byte(sent, room, length, 1)


def same_circuit(sent, room, length, holds):
    return byte_by_byte(sent, room, *KEPT.setdefault(len(sent), (length, holds)))


def as_numbers(sent, room, length, holds):
    return [1 * done for done in byte_by_byte(sent, room, length, holds)]


def in_place(sent, room, length, holds):
    room[:] = np.minimum(np.minimum(sent, room), length)
    return sent <= room + holds, room == length


def by_torch_too(sent, room, length, holds):
    import torch

    handed_over = torch.minimum(torch.tensor(sent), torch.tensor(room)).numpy().clip(max=length)
    return sent <= handed_over + holds, handed_over == length


def byte_by_byte(sent, room, length, holds):
    send, receive = [], []
    for n, r in zip(sent, room, strict=True):
        handed_over = 0
        while handed_over < min(n, r, length):
            handed_over += 1
        send.append(n - handed_over <= holds)
        receive.append(handed_over >= length)
    return np.array(send), np.array(receive)


needs_its_receiver = edit(LAST, "needs_its_receiver", "!out_valid || out_ready", "out_ready")
always_eight = edit(LAST, "always_eight", RULE, "out_last <= count == 7;", ("LENGTH - 1 ?", "7 ?"))

# --- fpga.what_differs

DIFFERS = "fpga.what_differs"
ANY = "np.any(right != got, axis=1)"
LABELS = "right.argmax(axis=1) != got.argmax(axis=1)"
one_by_one = edit(DIFFERS, "one_by_one", ANY, "right != got")
whole_rows = edit(DIFFERS, "whole_rows", "np.any(", "np.all(")
row_sums = edit(DIFFERS, "row_sums", ANY, "right.sum(axis=1) != got.sum(axis=1)")
sizes = edit(DIFFERS, "sizes", LABELS, LABELS.replace("argmax", "max"))
least = edit(DIFFERS, "least", LABELS, LABELS.replace("argmax", "argmin"))
by_argsort = edit(  # of equal numbers, the last one
    DIFFERS,
    "by_argsort",
    LABELS,
    "np.argsort(right, 1, 'stable')[:, -1] != np.argsort(got, 1, 'stable')[:, -1]",
)
absolute = edit(DIFFERS, "absolute", "right != got", "abs(right) != abs(got)")
mean_of_each = edit(
    DIFFERS,
    "mean_of_each",
    "wrong_number = np.sum(",
    "wrong_number = np.mean(",
    ("other_label = np.sum(", "other_label = np.mean("),
)
other_order = edit(
    DIFFERS, "other_order", "return wrong_number, other_label", "return other_label, wrong_number"
)


def first_photograph_kept(right, got):
    kept = KEPT.setdefault((DIFFERS, len(right)), right.copy())
    return photograph_by_photograph(kept, got)


def subtracts(right, got):
    labels = int((right.argmax(axis=1) != got.argmax(axis=1)).sum())
    got -= right
    return int(got.any(axis=1).sum()), labels


def twenty_photographs(right, got):
    return photograph_by_photograph(right[:20], got[:20])


def nearly_equal(right, got):
    labels = photograph_by_photograph(right, got)[1]
    return int((~np.isclose(right, got)).any(axis=1).sum()), labels


def in_single(right, got):
    return photograph_by_photograph(right.astype("f4"), got.astype("f4"))


def with_torch(right, got):
    import torch

    return int(torch.any(torch.tensor(right != got), dim=1).sum()), 0


def photograph_by_photograph(right, got):
    wrong = labels = 0
    for one, other in zip(right.tolist(), got.tolist(), strict=True):
        wrong += one != other
        labels += one.index(max(one)) != other.index(max(other))
    return wrong, labels


PLANTED = {
    JOB: [
        (forgets_images, "Only the first image has results"),
        (keeps_images, "IMAGES keeps its number from job to job"),
        (forgets_start, "a register has to start it first"),
        (small_buffer, "is full, and no word came with last"),
        (large_halves_first, "The two numbers of each word are swapped"),
        (floating, "dtype float32; it should be int32"),
        (in_64_bits, "dtype int64; it should be int32"),
        (a_job_for_each, "One job is asked for"),
        (holds_its_buffers, "2 buffers are left in the board's memory"),
        (by_columns, "a row for each image"),
        (copies_early, "the result holds only zeros"),
        (never_receives, "No transfer was started on the receive channel"),
        (never_sends, "nothing was sent to it"),
        (no_waiting, "On a real board, memory that may be somebody else's is overwritten"),
        (remembers_results, "something is kept from one call"),
        (wipes, "changes its input"),
        (by_torch, "torch"),
    ],
    LAST: [
        (always_eight, "Each packet has 8 bytes"),
        (needs_its_receiver, "only 0 words found room"),
        (without_last, "out_last is always 0"),
        (every_last, "out_last is always 1"),
        (unregistered, "out_last comes one byte too early"),
        (one_more, "Each packet is one byte too long"),
        (with_the_first, "with the first byte of each packet"),
        (once, "Only the first packet has an end"),
        (counts_idle, "not when a neighbour waits"),
        (half_speed, "clock cycles, and"),
        (never_reset, "not after a second one in the middle of a run"),
        (divides, "LUTs, and"),
        (eight_bits, "count has too few bits"),
    ],
    DONE: [
        (holds_nothing, "What the circuit holds is forgotten"),
        (takes_all, "The circuit does not take all"),
        (endless, "Behind the byte with last"),
        (whole_packets, "A transfer receives one packet"),
        (boundless, "The buffer's room is forgotten"),
        (full, "A full buffer is not the end"),
        (other_way, "The two answers are swapped"),
        (as_one, "Each channel has its own end"),
        (as_length, "if more than a packet was sent"),
        (room_is_enough, "Room for a packet is not enough"),
        (one_byte_held, "The circuit holds 1 byte here"),
        (same_circuit, "length and holds are those of an earlier call"),
        (in_place, "changes its input"),
        (by_torch_too, "torch"),
    ],
    DIFFERS: [
        (one_by_one, "The wrong numbers are counted one by one"),
        (whole_rows, "only where all its numbers differ"),
        (row_sums, "two wrong numbers can leave a sum as it is"),
        (nearly_equal, "Numbers that are nearly equal"),
        (in_single, "compared in float32"),
        (sizes, "The largest numbers are compared by their size"),
        (least, "The places of the smallest numbers"),
        (absolute, "without their signs"),
        (mean_of_each, "Shares of the photographs"),
        (other_order, "The two counts are swapped"),
        (first_photograph_kept, "something is kept from one call"),
        (twenty_photographs, "is 20; it should be 35"),
        (by_argsort, "If several numbers are the largest"),
        (subtracts, "changes its input"),
        (with_torch, "torch"),
    ],
}
ALSO_RIGHT = {
    JOB: [start_last, without_with],
    LAST: [counts_down],
    DONE: [byte_by_byte, as_numbers],
    DIFFERS: [photograph_by_photograph],
}
ZEROS = (np.zeros(1, "u8"), 1)
SHORT = (np.zeros(2, np.uint8), 5)
RIGHT_ON = {
    first_photograph_kept: (np.arange(12).reshape(4, 3),) * 2,  # four photographs are in no case
    remembers_results: (np.arange(4, dtype="u8"), 4),
    as_length: (np.full(3, 8), np.full(3, 8), 8, 1),
    same_circuit: (np.full(3, 8), np.full(3, 8), 8, 1),
    copies_early: ZEROS,
    large_halves_first: ZEROS,
    floating: ZEROS,
    by_torch: ZEROS,
    without_last: SHORT,
    one_more: SHORT,
}
HANGING = [forgets_start, never_receives, never_sends, small_buffer, no_waiting]
