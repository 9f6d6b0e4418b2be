"""Wrong answers that must be refused, each with its own diagnosis."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

COLUMNS, ORDER, DEPTH = "fpga.columns", "fpga.stream_order", "fpga.queue_depth"

# --- fpga.columns

edited = partial(edit, COLUMNS)
on_and_on = edited("on_and_on", "(first_value ? 0 : sums[k])", "sums[k]")
no_old_sum = edited("no_old_sum", "(first_value ? 0 : sums[k]) + ", "")
old_sum_out = edited("old_sum_out", "y_data <= total;", "y_data <= first_value ? 0 : sums[k];")
a_single_sum = edited(
    "a_single_sum",
    "first_value ? 0 : sums[k]",
    "first_value ? 0 : y_data",
)
positive = edited(
    "positive", "x_data * w_data", "$signed({1'b0, x_data}) * $signed({1'b0, w_data})"
)
every_cycle = edited("every_cycle", "if (step) begin", "begin")
slow = edited(
    "slow",
    "room = !y_valid || y_ready",
    "room = !y_valid",
    ("else if (room)", "else if (room || y_ready)"),
)
waits_for_ready = edited("waits_for_ready", "!y_valid || y_ready", "y_ready")
swept = edited(
    "swept",
    "    if (step) begin sums[k]",
    "    if (rst) for (int i = 0; i < 256; i++) sums[i] <= 0;\n    else if (step) begin sums[k]",
)

sixteen_sums = edited(
    "sixteen_sums",
    "first_value ? 0 : sums[k]",
    "first_value ? 0 : sums[k[3:0]]",
    ("begin sums[k] <=", "begin sums[k[3:0]] <="),
)
sums_of_20_bits = edited(
    "sums_of_20_bits",
    "sums [256], total",
    "total; logic signed [19:0] sums [256]",
    ("sums[k] <= total", "sums[k] <= 20'(total)"),
)
held_sum_out = edited("held_sum_out", "y_data <= total;", "y_data <= sums[k];")
eight_bits = edited("eight_bits", "x_data * w_data", "$signed(8'(x_data * w_data))")
bytes_of_products = edited("bytes_of_products", "x_data * w_data", "{24'b0, 8'(x_data * w_data)}")
signless_products = edited(
    "signless_products", "x_data * w_data", "{16'b0, 16'(16'(x_data) * 16'(w_data))}"
)

out_with_the_first = edited("out_with_the_first", "step && last_value;", "step && first_value;")
out_with_each = edited("out_with_each", "y_valid <= step && last_value;", "y_valid <= step;")
plus = edited("plus", "x_data * w_data", "x_data + w_data")
x_each_time = edited("x_each_time", "step && last_output", "step")
valid_stays = edited(
    "valid_stays",
    "else if (room) y_valid <= step && last_value;",
    "else if (step && last_value) y_valid <= 1;",
)
unreset = edited("unreset", "if (rst) y_valid <= 0; else if", "if")

# --- fpga.stream_order

edited = partial(edit, ORDER)
AXES = "(2, 3, 1, 0)"
plain_transpose = edited("plain_transpose", AXES, "(1, 2, 3, 0)")
down_the_columns = edited("down_the_columns", AXES, "(3, 2, 1, 0)")
row_channel_pixel = edited("row_channel_pixel", AXES, "(2, 1, 3, 0)")
by_output = edited("by_output", AXES, "(0, 2, 3, 1)")
only_reshaped = edited("only_reshaped", "maps.transpose(2, 3, 1, 0)", "maps")
other_way = edited("other_way", "(-1, C, H, W)", "(-1, H, W, C)", (AXES, "(3, 1, 2, 0)"))
order = solution(ORDER)


KEPT = {}  # what answers keep from call to call


def order_kept(w, C, H, W):
    return KEPT.setdefault((w.shape, C, H, W), order(w, C, H, W)).copy()


def order_with_outputs_between(w, C, H, W):
    return w.reshape(-1, C, H, W).transpose(2, 3, 0, 1).reshape(H * W * C, -1)


def order_by_einsum(w, C, H, W):
    """Right, as floats."""
    maps = np.einsum("kchw->hwck", w.reshape(-1, C, H, W))
    return maps.reshape(H * W * C, len(w)).astype(float)


def order_in_place(w, C, H, W):
    ordered = order(w, C, H, W).copy()
    w -= 1
    return ordered


def order_by_torch(w, C, H, W):
    import torch

    maps = torch.from_numpy(w.reshape(-1, C, H, W).copy())
    return maps.permute(2, 3, 1, 0).reshape(H * W * C, -1).numpy()


def order_by_index(w, C, H, W):
    """Right, one column after the other."""
    return np.array(
        [w[:, (c * H + i) * W + j] for i in range(H) for j in range(W) for c in range(C)]
    )


# --- fpga.queue_depth

edited = partial(edit, DEPTH)
BEGINS = "max(free, comes)"
all_of_them = edited(
    "all_of_them", "np.max(np.arange(1, len(arrivals) + 1) - finished)", "len(ends)"
)
gone_when_begun = edited("gone_when_begun", "ends.append(free)", "ends.append(free - work + 1)")
pretend_busy = edited("pretend_busy", BEGINS, "free", ("free = 0  #", "free = arrivals[0]  #"))
side_by_side = edited("side_by_side", BEGINS, "comes")
the_last_one = edited(
    "the_last_one",
    "np.max(np.arange(1, len(arrivals) + 1) - finished)",
    "len(arrivals) - finished[-1]",
)
too_early = edited("too_early", BEGINS, "max(free, comes - 1)")
too_long = edited("too_long", 'side="right"', 'side="left"')
depth_of = solution(DEPTH)


def depth_kept(arrivals, work):
    return KEPT.setdefault((len(arrivals), work), depth_of(arrivals, work))


def depth_without_the_first(arrivals, work):
    return max(depth_of(arrivals, work) - 1, 1)


def depth_by_ends(arrivals, work):
    """Right, as a NumPy number."""
    ends, free, most = [], 0, 0
    for comes in arrivals:
        free = max(free, comes) + work
        ends.append(free)
        most = max(most, sum(end > comes for end in ends))
    return np.int32(most)


def depth_in_place(arrivals, work):
    depth = depth_of(arrivals, work)
    arrivals -= arrivals[0]
    return depth


def depth_by_torch(arrivals, work):
    import torch

    return int(torch.tensor(depth_of(arrivals, work)))


def depth_by_cycles(arrivals, work):
    """Right, cycle by cycle."""
    coming, inside, left, most = set(arrivals.tolist()), 0, 0, 0
    for cycle in range(int(max(arrivals)) + 1):
        if inside:
            left = (left or work) - 1
            if left == 0:
                inside -= 1
        if cycle in coming:
            inside += 1
        most = max(most, inside)
    return most


PLANTED = {
    COLUMNS: [
        (out_with_the_first, "The sums come out with the first value"),
        (out_with_each, "A word comes out after each weight"),
        (plus, "They should be multiplied."),
        (x_each_time, "a word of w waits, and w_ready stays 0"),
        (valid_stays, "Ours hands this word over in cycle 2794"),
        (unreset, "not after a second one in the middle of a run"),
        (held_sum_out, "held before this clock edge"),
        (sums_of_20_bits, "The sums in the memory have 20 bits"),
        (sixteen_sums, "Sixteen sums are kept"),
        (eight_bits, "Each product is cut to 8 bits."),
        (bytes_of_products, "cut to 8 bits without a sign"),
        (signless_products, "Each product has lost its sign"),
        (on_and_on, "go on from those of the image before"),
        (no_old_sum, "Only the last product is there"),
        (old_sum_out, "The product of the last value is not added"),
        (a_single_sum, "All outputs share one sum"),
        (positive, "The bytes are taken for numbers from 0 to 255"),
        (every_cycle, "not when a neighbour waits"),
        (slow, "clock cycles, and"),
        (waits_for_ready, "and one should"),
        (swept, "LUTs, and 250 are enough"),
    ],
    ORDER: [
        (plain_transpose, "still go channel by channel"),
        (down_the_columns, "go down the columns"),
        (row_channel_pixel, "change more slowly than the pixels"),
        (only_reshaped, "in rows of another length"),
        (other_way, "taken to go pixel by pixel already"),
        (order_kept, "something is kept from one call"),
        (order_with_outputs_between, "In a pixel, the weights of output 0"),
        (order_in_place, "changes its input"),
        (order_by_torch, "torch"),
    ],
    DEPTH: [
        (all_of_them, "All values are counted"),
        (gone_when_begun, "until the work on it begins"),
        (pretend_busy, "without a pause"),
        (side_by_side, "is taken to begin as it comes"),
        (the_last_one, "when the last value comes"),
        (too_early, "It begins in the cycle after"),
        (too_long, "for a cycle too long"),
        (depth_kept, "The depth of an earlier call"),
        (depth_without_the_first, "This is one value too few"),
        (depth_in_place, "changes its input"),
        (depth_by_torch, "torch"),
    ],
}

one = (np.array([[5]], np.int8), np.array([[-3]], np.int8))  # an image, an input, an output
RIGHT_ON = dict.fromkeys([on_and_on, no_old_sum, a_single_sum, positive], one)
RIGHT_ON[sums_of_20_bits] = one
RIGHT_ON[order_kept] = (np.array([[1, 2]]), 2, 1, 1)
RIGHT_ON[depth_kept] = (np.array([0, 1]), 9)
RIGHT_ON[out_with_the_first] = RIGHT_ON[out_with_each] = one
RIGHT_ON[plus] = (np.array([[2]], np.int8), np.array([[2]], np.int8))
for module in (positive, eight_bits, bytes_of_products, signless_products):
    RIGHT_ON[module] = (np.array([[5]], np.int8), np.array([[3]], np.int8))
for module in (old_sum_out, held_sum_out):  # the last value is 0
    RIGHT_ON[module] = (np.array([[7, 0]], np.int8), np.array([[2, 9]], np.int8))

apart = edit(  # two registers, each with an always_ff of its own
    COLUMNS,
    "apart",
    "if (step) begin sums[k] <= total; y_data <= total; end",
    "if (step) y_data <= total;\n  always_ff @(posedge clk)\n    if (step) sums[k] <= total;",
)
inside = edit(
    COLUMNS,
    "inside",
    "(first_value ? 0 : sums[k]) + x_data * w_data",
    "first_value ? x_data * w_data : sums[k] + x_data * w_data",
)
ALSO_RIGHT = {
    COLUMNS: [apart, inside],
    ORDER: [order_by_index, order_by_einsum],
    DEPTH: [depth_by_cycles, depth_by_ends],
}
