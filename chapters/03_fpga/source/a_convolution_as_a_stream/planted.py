"""Wrong modules that must be refused, each with its own diagnosis."""

import numpy as np

from tests.exercises.edits import edit

LINE, CONTROL = "fpga.line_buffer", "fpga.window_control"

read_now = edit(LINE, "read_now", "words[next]", "words[now]")
never_read = edit(LINE, "never_read", "q <= words[next]", "q <= d")
wrong_end = edit(LINE, "wrong_end", "LENGTH - 1) ?", "LENGTH - 2) ?")
no_wait = edit(LINE, "no_wait", "else if (step) begin", "else begin")
without_address = edit(
    LINE,
    "without_address",
    "      q <= words[next];\n",
    "",
    ("endmodule", "  assign q = words[now];\nendmodule"),
)
two_drivers = edit(
    LINE,
    "two_drivers",
    "endmodule",
    "  always_ff @(posedge clk) if (step) now <= next;\nendmodule",
)

everywhere = edit(CONTROL, "everywhere", "step && !first_row && !first_col", "step")
rows_only = edit(CONTROL, "rows_only", " && !first_col", "")
columns_only = edit(CONTROL, "columns_only", " && !first_row", "")
no_room = edit(CONTROL, "no_room", "step = room && ", "step = ")
slow = edit(
    CONTROL,
    "slow",
    "!window_valid || window_ready",
    "!window_valid",
    ("else if (room)", "else if (room || window_ready)"),
)
at_once = edit(
    CONTROL,
    "at_once",
    "  always_ff @(posedge clk)\n    if (rst) window_valid <= 0;\n"
    "    else if (room) window_valid <= step && !first_row && !first_col;\n",
    "  assign window_valid = (border || x_valid) && !first_row && !first_col;\n",
    ("room = !window_valid || window_ready", "room = window_ready"),
)
latch = edit(
    CONTROL,
    "latch",
    "  assign x_ready = room && !border;",
    "  always_comb if (room) x_ready = !border;",
)
takes_zeros = edit(CONTROL, "takes_zeros", "x_ready = room && !border", "x_ready = room")

unreset = edit(CONTROL, "unreset", "if (rst) window_valid <= 0;\n    else if", "if")

needs_its_receiver = edit(
    CONTROL, "needs_its_receiver", "!window_valid || window_ready", "window_ready"
)
apart = edit(  # the memory in a process of its own
    LINE,
    "apart",
    "      words[now] <= d;\n      q <= words[next];\n    end",
    "    end\n  always_ff @(posedge clk) if (step) begin words[now] <= d; q <= words[next]; end",
)


waits_for_valid = edit(
    CONTROL, "waits_for_valid", "room && !border;", "room && !border && x_valid;"
)

PLANTED = {
    LINE: [
        (read_now, "Each word comes out one step late"),
        (never_read, "Only the last word is remembered"),
        (wrong_end, "Each word comes out one step early"),
        (no_wait, "not when a neighbour waits"),
        (without_address, "LUTs, and 40 are enough"),
        (two_drivers, "now is driven in several places"),
    ],
    CONTROL: [
        (waits_for_valid, "also while nothing is offered"),
        (needs_its_receiver, "only 0 words found room"),
        (everywhere, "Every step hands over a window"),
        (rows_only, "Steps in column 0 hand over a window too"),
        (columns_only, "Steps in row 0 hand over a window too"),
        (at_once, "Each window comes one step early"),
        (no_room, "not when a neighbour waits"),
        (unreset, "not after a second one in the middle of a run"),
        (slow, "clock cycles, and"),
        (latch, "latch"),
        (takes_zeros, "So far 1 of 2 words of window have come"),
    ],
}

black = (np.zeros((1, 1, 1), np.int8),)  # all windows of a black picture are alike
RIGHT_ON = dict.fromkeys([everywhere, rows_only, columns_only, at_once], black)

counters = edit(  # two addresses, one behind the other
    LINE,
    "counters",
    "  assign next = (now == LENGTH - 1) ? 0 : now + 1;\n",
    "",
    ("    if (rst) now <= 0;", "    if (rst) begin now <= 0; next <= 1; end"),
    ("      now <= next;", "      now <= next; next <= (next == LENGTH - 1) ? 0 : next + 1;"),
)
one_process = edit(
    CONTROL,
    "one_process",
    "  assign x_ready = room && !border;\n  assign step = room && (border || x_valid);\n",
    "  always_comb begin\n    x_ready = room && !border;\n    step = room && border;\n"
    "    if (x_valid && x_ready) step = 1;\n  end\n",
)
downwards = edit(  # the circle is run the other way round
    LINE,
    "downwards",
    "(now == LENGTH - 1) ? 0 : now + 1",
    "(now == 0) ? $clog2(LENGTH)'(LENGTH - 1) : now - 1",
)
ALSO_RIGHT = {LINE: [counters, apart, downwards], CONTROL: [one_process]}
