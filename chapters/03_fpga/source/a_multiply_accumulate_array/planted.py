"""Wrong modules of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import Module, edit, solution

EVERY_OTHER = "\n  logic odd;\n  always_ff @(posedge clk) odd <= rst ? 0 : !odd;"  # cycle

# --- fpga.mac

mac = partial(edit, "fpga.mac")
TERM = "(first ? 0 : y_data) + x * w"
goes_on = mac(
    "goes_on",
    "(first ? 0 : y_data)",
    "(rst ? 0 : y_data)",
    ("0; first <= 1;", "0; first <= 1; y_data <= 0;"),
)
no_parentheses = mac("no_parentheses", TERM, "first ? 0 : y_data + x * w")
product_alone = mac("product_alone", TERM, "x * w")
bytes_unsigned = mac("bytes_unsigned", "logic signed [7:0] x, w;", "logic [7:0] x, w;")
never_waits = mac("never_waits", "!y_valid || y_ready;", "1;")
takes_every_other = mac(
    "takes_every_other",
    "logic first;",
    "logic first;" + EVERY_OTHER,
    ("!y_valid || y_ready;", "(!y_valid || y_ready) && odd;"),
)
blocking = mac("blocking", "first <= terms_last;", "first = terms_last;")
two_multipliers = mac(
    "two_multipliers",
    TERM,
    "first ? x * w : y_data + 32'(9'(w) * 9'(x)) + 0 * x",
)

# Another style, for which the tool does not use the DSP's adder.
another_style = mac(
    "another_style",
    TERM,
    "first ? x * w : y_data + x * w",
)

# --- fpga.mac_array

array = partial(edit, "fpga.mac_array")
same_weight = array("same_weight", "8*(k+1) +: 8", "8 +: 8")
weights_from_0 = array("weights_from_0", "8*(k+1) +: 8", "8*k +: 8")
from_the_top = array("from_the_top", "y_data[32*k +: 32]", "y_data[32*(LANES-1-k) +: 32]")
lanes_never_wait = array(
    "lanes_never_wait", ".terms_last, .y_ready,", ".terms_last, .y_ready(1'b1),"
)
array_takes_every_other = array(
    "array_takes_every_other",
    "logic [LANES-1:0] ready, valid;",
    "logic [LANES-1:0] ready, valid;" + EVERY_OTHER,
    ("{ready[0], valid[0]}", "{ready[0] && odd, valid[0]}"),
    (
        ".terms_valid, .terms_last, .y_ready,",
        ".terms_valid(terms_valid && odd), .terms_last, .y_ready,",
    ),
)
everything_twice = array(
    "everything_twice",
    "= sum;",
    "= terms_valid || y_valid ? sum : again;",
    ("logic [31:0] sum;", "logic [31:0] sum, again;"),
    (
        "    mac lane",
        "    logic r, v;\n"
        "    mac second (.clk, .rst, .terms_valid, .terms_last, .y_ready, .y_data(again),\n"
        "                .terms_data({x, w}), .terms_ready(r), .y_valid(v));\n"
        "    mac lane",
    ),
)

# --- fpga.requantize_rtl

requantize = partial(edit, "fpga.requantize_rtl")
SCALED = "(sum * m + 2 ** (SHIFT - 1)) >>> SHIFT"
down = requantize("down", SCALED, "(sum * m) >>> SHIFT")
zeros_from_the_left = requantize("zeros_from_the_left", ">>>", ">>")
low_byte = requantize(
    "low_byte", "shifted < 0 ? 0 : shifted > 127 ? 127 : 8'(shifted)", "8'(shifted)"
)
short_product = requantize(
    "short_product", "(sum * m + 2 ** (SHIFT - 1))", "32'(sum * m + 2 ** (SHIFT - 1))"
)
never_stops = requantize("never_stops", "!y_valid || y_ready;", "1;")
every_other_sum = requantize(
    "every_other_sum",
    "logic signed [31:0] sum;",
    "logic signed [31:0] sum;" + EVERY_OTHER,
    ("!y_valid || y_ready;", "(!y_valid || y_ready) && odd;"),
    ("else if (x_ready) begin", "else if (!y_valid || y_ready) begin"),
    ("y_valid <= x_valid;", "y_valid <= x_valid && odd;"),
)
too_wide = requantize("too_wide", "8'(shifted)", "shifted")

# A register that a reset forgets: `first`, and the one of the valid bit.
forgets_first = mac(
    "forgets_first",
    "y_valid <= 0; first <= 1;",
    "y_valid <= 0;",
    ("logic first;", "logic goes_on, first;\n  assign first = !goes_on;"),
    ("first <= terms_last;", "goes_on <= !terms_last;"),
)
without_reset = requantize("without_reset", "if (rst) y_valid <= 0;\n    else if", "if")
# Both modules in one text: the learner's own `mac` stands in for the course's.
with_its_mac = Module(solution("fpga.mac") + solution("fpga.mac_array"), "with_its_mac")
RESET = "not after a second one in the middle of a run"

# Slips of the eight classes.
WAITS_FOR_Y = ("!y_valid || y_ready;", "y_ready;")
needs_its_receiver = mac("needs_its_receiver", *WAITS_FOR_Y)
twenty_bits = mac("twenty_bits", TERM, f"32'($signed(20'({TERM})))")
waits_for_a_term = mac(
    "waits_for_a_term", "!y_valid || y_ready;", "(!y_valid || y_ready) && terms_valid;"
)
eight_bits = mac("eight_bits", "y_data) + x * w", "y_data) + $signed(8'(x * w))")
bytes_of_products = mac("bytes_of_products", "y_data) + x * w", "y_data) + {24'b0, 8'(x * w)}")
signless_products = mac(
    "signless_products", "y_data) + x * w", "y_data) + {16'b0, 16'(16'(x) * 16'(w))}"
)
two_terms = mac("two_terms", "first <= terms_last", "first <= !first")
chosen_product = mac("chosen_product", TERM, "first ? w * x : w * x + y_data")
four_weights = array("four_weights", "8*(k+1) +: 8", "8*(k % 4 + 1) +: 8")
x_of_the_top = array("x_of_the_top", "terms_data[7:0]", "terms_data[8*LANES +: 8]")
lanes_need_their_receiver = array(
    "lanes_need_their_receiver",
    "{ready[0], valid[0]}",
    "{ready[0] && y_ready, valid[0]}",
    (".terms_valid, .terms_last,", ".terms_valid(terms_valid && y_ready), .terms_last,"),
)
by_shift = array("by_shift", "terms_data[8*(k+1) +: 8]", "8'(terms_data >> 8*k + 8)")
factors_exchanged = array(
    "factors_exchanged",
    "= terms_data[7:0]",
    "= terms_data[8*(k+1) +: 8]",
    ("w = terms_data[8*(k+1) +: 8]", "w = terms_data[7:0]"),
)
half_of_16 = requantize("half_of_16", "2 ** (SHIFT - 1)", "2 ** 15")
always_16 = requantize("always_16", SCALED, "(sum * m + 2 ** 15) >>> 16")
one_less_than_half = requantize("one_less_than_half", "2 ** (SHIFT - 1)", "2 ** (SHIFT - 1) - 1")
sum_needs_its_receiver = requantize("sum_needs_its_receiver", *WAITS_FOR_Y)
in_two_shifts = requantize("in_two_shifts", SCALED, "((sum * m >>> (SHIFT - 1)) + 1) >>> 1")
by_its_bits = requantize(
    "by_its_bits",
    "shifted < 0 ? 0 : shifted > 127 ? 127 : 8'(shifted)",
    "shifted[47] ? 8'd0 : |shifted[46:7] ? 8'd127 : {1'b0, shifted[6:0]}",
)

# Sentences for words that are wrong in each case.
offered_early = mac(
    "offered_early",
    "      y_valid <= terms_last;\n    end else if (y_ready) y_valid <= 0;",
    "    end",
    ("if (rst) begin y_valid <= 0; first <= 1; end", "if (rst) first <= 1;"),
    ("  always_ff", "  assign y_valid = terms_valid && terms_last;\n  always_ff"),
    ("= !y_valid || y_ready;", "= y_ready;"),
)
offered_always = mac("offered_always", "y_valid <= terms_last", "y_valid <= 1")
x_by_itself = mac("x_by_itself", TERM, "(first ? 0 : y_data) + x * x")
w_by_itself = mac("w_by_itself", TERM, "(first ? 0 : y_data) + w * w")
taken_twice = mac(  # the sum stays on offer after it is taken
    "taken_twice", "    end else if (y_ready) y_valid <= 0;", "    end"
)
also_without_a_term = mac("also_without_a_term", "(terms_valid && terms_ready)", "(terms_ready)")
x_of_byte_k = array("x_of_byte_k", "= terms_data[7:0]", "= terms_data[8*k +: 8]")
half_of_24_bits = requantize("half_of_24_bits", "2 ** (SHIFT - 1)", "24'(2 ** (SHIFT - 1))")
ends_at_126 = requantize("ends_at_126", "> 127 ? 127", "> 126 ? 126")
ends_at_128 = requantize("ends_at_128", "> 127 ? 127", "> 128 ? 127")
signed_m = requantize("signed_m", "{1'b0, x_data[47:32]}", "$signed(x_data[47:32])")
unsigned_sum = requantize(
    "unsigned_sum",
    "assign sum = x_data[31:0];",
    "assign sum = x_data[31:0];\n"
    "  logic signed [32:0] wide;\n  assign wide = {1'b0, x_data[31:0]};",
    ("(sum * m", "(wide * m"),
)
shifted_first = requantize("shifted_first", SCALED, "(sum >>> SHIFT) * m")
shifted_less = requantize("shifted_less", ">>> SHIFT", ">>> (SHIFT - 1)")
half_less = requantize("half_less", "m + 2 ** (SHIFT - 1)", "m - 2 ** (SHIFT - 1)")


PLANTED = {
    "fpga.mac": [
        (offered_early, "Each sum is offered one clock edge early"),
        (offered_always, "A sum is offered after each term"),
        (x_by_itself, "x is multiplied by itself"),
        (w_by_itself, "w is multiplied by itself"),
        (taken_twice, "It is the word before once more: that was taken in cycle"),
        (also_without_a_term, "in such a cycle, a word that is kept has to stay as it is"),
        (needs_its_receiver, "only 0 words found room"),
        (twenty_bits, "The sum wraps round in 20 bits"),
        (waits_for_a_term, "terms_ready is 1 only in cycles in which"),
        (eight_bits, "Each product is cut to 8 bits."),
        (bytes_of_products, "cut to 8 bits without a sign"),
        (signless_products, "Each product has lost its sign"),
        (two_terms, "begins anew with every second term"),
        (goes_on, "Each sum goes on from the one before"),
        (no_parentheses, "The first product of each packet is missing"),
        (product_alone, "Only the last product of each packet is there"),
        (bytes_unsigned, "The bytes are read as 0 to 255"),
        (never_waits, "not when a neighbour waits. y[0] is 3676"),
        (forgets_first, RESET),
        (takes_every_other, "clock cycles, and"),
        (blocking, "In always_ff write <=: all registers change together"),
        (two_multipliers, "DSPs, and 1 are enough"),
    ],
    "fpga.mac_array": [
        (x_of_byte_k, "Lane k takes byte k for x"),
        (four_weights, "Lane 4 gets the weight of lane 0"),
        (x_of_the_top, "The highest byte is taken for x"),
        (lanes_need_their_receiver, "only 0 words found room"),
        (same_weight, "All lanes get the weight of lane 0"),
        (weights_from_0, "lane 0 gets x. Byte 0 is x"),
        (from_the_top, "The lanes are in the opposite order"),
        (lanes_never_wait, "not when a neighbour waits"),
        (array_takes_every_other, "clock cycles, and"),
        (everything_twice, "LUTs, and 400 are enough"),
    ],
    "fpga.requantize_rtl": [
        (half_of_24_bits, "y[0] is 5; it should be 6"),
        (ends_at_126, "The clamp ends at 126"),
        (ends_at_128, "128 is not clamped"),
        (signed_m, "m is read as a number with a sign"),
        (unsigned_sum, "The sum is read without its sign"),
        (shifted_first, "The shift comes before the product"),
        (shifted_less, "Every result is doubled"),
        (half_less, "Half of 2^SHIFT is subtracted"),
        (half_of_16, "2^15 is always added"),
        (always_16, "The shift is always 16"),
        (one_less_than_half, "exactly one half are rounded down"),
        (sum_needs_its_receiver, "only 0 words found room"),
        (down, "The results are rounded down"),
        (zeros_from_the_left, "Negative sums become large"),
        (low_byte, "The low 8 bits are taken as they are"),
        (short_product, "The product wraps round in 32 bits"),
        (never_stops, "not when a neighbour waits"),
        (without_reset, RESET),
        (every_other_sum, "clock cycles, and"),
        (too_wide, "line 16: 48 bits go into 8"),
    ],
}
ALSO_RIGHT = {
    "fpga.requantize_rtl": [in_two_shifts, by_its_bits],
    "fpga.mac": [chosen_product, another_style],
    "fpga.mac_array": [by_shift, factors_exchanged, with_its_mac],
}

ONE = np.array([[5]], np.int8)
RIGHT_ON = {
    no_parentheses: (np.array([0, 3], np.int8), np.array([7, -2], np.int8), np.array([0, 1])),
    same_weight: (ONE, -ONE),  # an array of one lane
    from_the_top: (ONE, -ONE),
    weights_from_0: (ONE, ONE),
    x_of_the_top: (ONE, ONE),
    eight_bits: (ONE[0], ONE[0], np.array([1])),
    twenty_bits: (ONE[0], ONE[0], np.array([1])),
    bytes_of_products: (ONE[0], ONE[0], np.array([1])),
    offered_early: (0 * ONE[0], ONE[0], np.array([1])),
    x_of_byte_k: (ONE, -ONE),
    shifted_first: (np.array([2**30]), np.array([2**16 - 1]), 16),
    shifted_less: (np.array([2**30]), np.array([2**16 - 1]), 16),
    half_less: (np.array([2**30]), np.array([2**16 - 1]), 16),
}
