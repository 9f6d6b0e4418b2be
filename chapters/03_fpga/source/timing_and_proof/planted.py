"""Wrong and right modules for lesson timing_and_proof."""

import numpy as np

from tests.exercises.edits import Module, edit

# --- fpga.register_stage ---

STAGE = "fpga.register_stage"
READY = "!out_valid || out_ready"
never_empty = edit(STAGE, "never_empty", "if (in_ready)", "if (!out_valid)")
always_ready = edit(STAGE, "always_ready", READY, "1")
half_speed = edit(
    STAGE,
    "half_speed",
    "    end\n",
    "    end else if (out_ready) out_valid <= 0;\n",
    (READY, "!out_valid"),
)
early = edit(
    STAGE,
    "early",
    "      out_valid <= in_valid;\n",
    "",
    ("    if (rst) out_valid <= 0;\n    else if (in_ready)", "    if (in_ready)"),
    ("  assign in_ready =", "  assign out_valid = in_valid;\n  assign in_ready ="),
)
no_reset = edit(STAGE, "no_reset", "if (rst) out_valid <= 0;\n    else if", "if")
blocking = edit(STAGE, "blocking", "out_data  <= in_data", "out_data  = in_data")

two_words = Module(
    """
module register_stage (
  input  logic clk, rst, in_valid, out_ready,
  output logic in_ready, out_valid,
  input  logic signed [7:0] in_data,
  output logic signed [7:0] out_data);
  logic spare_valid;
  logic signed [7:0] spare;
  assign in_ready = !spare_valid;
  always_ff @(posedge clk) begin
    if (in_ready) spare <= in_data;
    if (rst) {out_valid, spare_valid} <= 0;
    else if (!out_valid || out_ready) begin
      {out_valid, spare_valid} <= {in_valid || spare_valid, 1'b0};
      out_data <= spare_valid ? spare : in_data;
    end else if (in_valid) spare_valid <= 1;
  end
endmodule
""",
    "two_words",
)

# --- fpga.pipelined_tree ---

TREE = "fpga.pipelined_tree"
VALID = "{in_valid, pairs_valid, fours_valid}"
one_early = edit(TREE, "one_early", VALID, "{in_valid, in_valid, fours_valid}")
two_early = edit(TREE, "two_early", VALID, "{in_valid, pairs_valid, in_valid}")
half_a_sum = edit(TREE, "half_a_sum", "fours[0] + fours[1]", "fours[0]")
same_pair = edit(TREE, "same_pair", "in_data[2*i] + in_data[2*i+1]", "in_data[0] + in_data[1]")
one_waits = edit(
    TREE,
    "one_waits",
    "    else if (in_ready) begin\n",
    "    else begin\n      for (int i = 0; i < 4; i++) pairs[i] <= in_data[2*i] + in_data[2*i+1];\n"
    "      if (in_ready) begin\n",
    (
        "      for (int i = 0; i < 4; i++) pairs[i] <= in_data[2*i] + in_data[2*i+1];\n      for",
        "      for",
    ),
    (
        "      out_data <= fours[0] + fours[1];\n",
        "      out_data <= fours[0] + fours[1];\n      end\n",
    ),
)
long_path = edit(
    TREE,
    "long_path",
    "      for (int i = 0; i < 2; i++) fours[i] <= pairs[2*i] + pairs[2*i+1];\n",
    "",
    (
        "  assign in_ready",
        "  always_comb for (int i = 0; i < 2; i++) fours[i] = pairs[2*i] + pairs[2*i+1];\n"
        "  assign in_ready",
    ),
    (VALID, "{in_valid, pairs_valid, pairs_valid}"),
)
half_reset = edit(
    TREE,
    "half_reset",
    "if (rst) {pairs_valid, fours_valid, out_valid} <= 0;",
    "if (rst) {pairs_valid, fours_valid} <= 0;",
)
pauses = edit(
    TREE,
    "pauses",
    "  assign in_ready = !out_valid || out_ready;",
    "  logic step;\n  assign step = !out_valid || out_ready;\n"
    "  assign in_ready = step && !pairs_valid;",
    ("else if (in_ready)", "else if (step)"),
    ("{in_valid, pairs", "{in_valid && in_ready, pairs"),
)
unequal = edit(TREE, "unequal", "logic [1:0][15:0] fours", "logic [1:0][11:0] fours")
each_when_free = edit(
    TREE,
    "each_when_free",
    "    else if (in_ready) begin\n",
    "    else begin\n",
    (
        "  assign in_ready = !out_valid || out_ready;",
        "  logic third, second;\n  assign third = !out_valid || out_ready;\n"
        "  assign second = !fours_valid || third;\n  assign in_ready = !pairs_valid || second;",
    ),
    (
        "      {pairs_valid, fours_valid, out_valid} <= {in_valid, pairs_valid, fours_valid};\n",
        "      if (in_ready) pairs_valid <= in_valid;\n"
        "      if (second) fours_valid <= pairs_valid;\n"
        "      if (third) out_valid <= fours_valid;\n",
    ),
    ("for (int i = 0; i < 4", "if (in_ready) for (int i = 0; i < 4"),
    ("for (int i = 0; i < 2", "if (second) for (int i = 0; i < 2"),
    ("out_data <=", "if (third) out_data <="),
)

# --- fpga.find_the_bug ---

QUEUE = "fpga.find_the_bug"
always_room = edit(QUEUE, "always_room", "waiting != 3", "1")
one_place = edit(QUEUE, "one_place", "waiting != 3", "waiting == 0")
head_stays = edit(QUEUE, "head_stays", "head + 2'(out_valid && out_ready)", "head + 2'(rst)")
next_word = edit(QUEUE, "next_word", "words[head]", "words[head - 2'd1]")
compared = edit(
    QUEUE,
    "compared",
    "assign out_valid = waiting != 0;",
    "always_comb if (waiting != 0) out_valid = 1;",
)
one_word = edit(QUEUE, "one_word", "waiting != 3", "waiting == 0 || out_ready")
unreset = edit(
    QUEUE,
    "unreset",
    "head <= rst ? '0 : head",
    "head <= head",
    ("tail <= rst ? '0 : tail", "tail <= tail"),
)
two_places = edit(QUEUE, "two_places", "waiting != 3", "waiting < 2")
three_bits = edit(
    QUEUE,
    "three_bits",
    "logic [1:0] head, tail, waiting;",
    "logic [2:0] head, tail, waiting;",
    ("words[head]", "words[head[1:0]]"),
    ("words[tail]", "words[tail[1:0]]"),
    ("waiting != 3", "waiting != 4"),
    ("head + 2'", "head + 3'"),
    ("tail + 2'", "tail + 3'"),
)
also_when_it_leaves = edit(
    QUEUE, "also_when_it_leaves", "waiting != 3", "waiting != 3 || out_ready"
)

RESET = "not after a second one in the middle of a run"
WAITS = "not when a neighbour waits"
needs_its_receiver = edit(STAGE, "needs_its_receiver", READY, "out_ready")
tree_needs_its_receiver = edit(TREE, "tree_needs_its_receiver", READY, "out_ready")
first_four_twice = edit(TREE, "first_four_twice", "fours[0] + fours[1]", "fours[0] + fours[0]")
shared_numbers = edit(
    TREE, "shared_numbers", "in_data[2*i] + in_data[2*i+1]", "in_data[i] + in_data[i+1]"
)
far_pairs = edit(TREE, "far_pairs", "in_data[2*i] + in_data[2*i+1]", "in_data[i] + in_data[i+4]")
word_apart = edit(
    STAGE,
    "word_apart",
    "    else if (in_ready) begin\n      out_valid <= in_valid;\n"
    "      out_data  <= in_data;\n    end",
    "    else if (in_ready) out_valid <= in_valid;\n"
    "  always_ff @(posedge clk) if (in_valid && in_ready) out_data <= in_data;",
)
word_reset = edit(
    STAGE,
    "word_reset",
    "if (rst) out_valid <= 0;",
    "if (rst) begin out_valid <= 0; out_data <= 0; end",
)
queue_needs_its_sender = edit(
    QUEUE, "queue_needs_its_sender", "waiting != 3", "in_valid && waiting != 3"
)
# Sentences for words that are wrong in each case, or when a neighbour waits.
no_register = edit(
    STAGE,
    "no_register",
    "      out_data  <= in_data;\n",
    "",
    ("  assign in_ready", "  assign out_data = in_data;\n  assign in_ready"),
)
last_four_twice = edit(TREE, "last_four_twice", "fours[0] + fours[1]", "fours[1] + fours[1]")
skips_a_register = edit(
    TREE,
    "skips_a_register",
    "out_data <= fours[0] + fours[1]",
    "out_data <= pairs[0] + pairs[1] + pairs[2] + pairs[3]",
)
counts_offers = edit(QUEUE, "counts_offers", "2'(in_valid && in_ready)", "2'(in_valid)")


PLANTED = {
    STAGE: [
        (no_register, "out_data is the word after"),
        (needs_its_receiver, "if (!rst && !out_valid) assert (in_ready);"),
        (never_empty, "The first word stays for ever"),
        (always_ready, WAITS),
        (half_speed, "clock cycles, and"),
        (early, "out_valid is 1 one cycle before"),
        (no_reset, RESET),
        (two_words, "the solver is not content. properties.sv, line 3"),
        (blocking, "line 12: Blocking assignment"),
    ],
    TREE: [
        (last_four_twice, "The last four numbers are added twice"),
        (skips_a_register, "one register earlier than its valid bit"),
        (tree_needs_its_receiver, "only 0 words found room"),
        (first_four_twice, "The first four numbers are added twice"),
        (shared_numbers, "Neighbouring pairs share a number"),
        (one_early, "out_valid comes one cycle before its sum"),
        (two_early, "out_valid comes two cycles before its sum"),
        (half_a_sum, "Only the first four"),
        (same_pair, "The same two numbers"),
        (one_waits, WAITS),
        (long_path, "the highest clock is"),
        (pauses, "clock cycles, and"),
        (half_reset, RESET),
        (unequal, "line 15: 16 bits go into 12"),
    ],
    QUEUE: [
        (counts_offers, "out[12] is -127"),
        (queue_needs_its_sender, "if (!rst && !out_valid) assert (in_ready);"),
        (always_room, f"{WAITS}. out[12] is 37"),
        (one_place, "clock cycles, and"),
        (head_stays, "The first word stays for ever"),
        (next_word, "read one place too early"),
        (compared, "line 10: out_valid"),
        (one_word, "only 1 word found room"),
        (unreset, RESET),
    ],
}
ALSO_RIGHT = {
    STAGE: [word_apart, word_reset],
    TREE: [far_pairs, each_when_free],
    QUEUE: [three_bits, also_when_it_leaves, two_places],
}
NOTHING = {
    STAGE: np.zeros(2, np.int8),
    TREE: np.zeros((2, 8), np.int16),
    QUEUE: np.zeros(2, np.int8),
}
RIGHT_ON = {wrong: (NOTHING[id],) for id, plants in PLANTED.items() for wrong, _ in plants}
