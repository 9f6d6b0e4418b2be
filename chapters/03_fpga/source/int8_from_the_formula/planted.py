"""Wrong solutions of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit_lessons.fpga.int8_from_the_formula.bounds import signed_bits
from tests.exercises.edits import edit, solution

KEPT = {}  # what answers keep from call to call

# --- fpga.to_integer

edited = partial(edit, "fpga.to_integer")
integers_unlimited = edited(
    "integers_unlimited", "np.clip(np.round(x / scale), -128, 127)", "np.round(x / scale)"
)
integers_unrounded = edited("integers_unrounded", "np.round(x / scale)", "x / scale")
integers_truncated = edited("integers_truncated", "np.round", "np.trunc")
integers_floored = edited("integers_floored", "np.round", "np.floor")
integers_symmetric = edited("integers_symmetric", "-128, 127)", "-127, 127)")
integers_up_to_128 = edited("integers_up_to_128", "-128, 127)", "-128, 128)")
integers_unsigned = edited("integers_unsigned", "-128, 127)", "0, 255)")
integers_multiplied = edited("integers_multiplied", "x / scale", "x * scale")
integers_without_scale = edited("integers_without_scale", "x / scale", "x")
integers_rounded_first = edited(
    "integers_rounded_first", "np.round(x / scale)", "np.round(x) / scale"
)
integers_limited_first = edited(
    "integers_limited_first",
    "np.clip(np.round(x / scale), -128, 127)",
    "np.round(np.clip(x, -128, 127) / scale)",
)
integers_as_numbers = edited("integers_as_numbers", "return q", "return q * scale")
integers_that_wrap = edited(
    "integers_that_wrap", "return q", "return np.round(x / scale).astype(int).astype(np.int8)"
)
integers_of_32 = edited(
    "integers_of_32", "return q", "return np.where(np.arange(len(x)) < 32, q, 0)"
)


def integers_of_a_kept_scale(x, scale):
    return np.clip(np.round(x / KEPT.setdefault(("scale", len(x)), scale)), -128, 127)


def integers_in_place(x, scale):
    x /= scale
    return np.clip(np.round(x), -128, 127)


def integers_by_torch(x, scale):
    import torch

    return torch.clamp(torch.round(torch.from_numpy(x / scale)), -128, 127).numpy()


def integers_in_bytes(x, scale):
    return np.rint(np.minimum(np.maximum(x / scale, -128), 127)).astype(np.int8)


def integers_one_by_one(x, scale):
    return np.array([max(-128, min(127, round(number / scale))) for number in x])


# --- fpga.quantize_weights

weights = solution("fpga.quantize_weights")
edited = partial(edit, "fpga.quantize_weights")
MAX = "np.abs(w).max(axis=1)"
weights_one_scale = edited("weights_one_scale", MAX, "np.full(len(w), np.abs(w).max())")
weights_sign_kept = edited("weights_sign_kept", MAX, "w.max(axis=1)")
weights_truncated = edited("weights_truncated", "np.round", "np.trunc")
weights_floor = edited("weights_floor", "np.round", "np.floor")
weights_reciprocal = edited(
    "weights_reciprocal", "np.abs(w).max(axis=1) / 127", "127 / np.abs(w).max(axis=1)",
    ("x / scale", "x * scale"),
)  # fmt: skip
weights_multiplied = edited("weights_multiplied", "x / scale", "x * scale")


def weights_kept(w):
    q, scale = weights(w)
    return KEPT.setdefault(w.shape, q).copy(), scale


def weights_of_row_0(w):
    scale = np.full(len(w), np.abs(w[0]).max() / 127)
    return np.clip(np.round(w / scale[:, None]), -128, 127).astype(np.int8), scale


def weights_cut_after_half(w):
    scale = np.abs(w).max(axis=1) / 127
    return (w / scale[:, None] + 0.5).astype(np.int8), scale


def weights_without_sign(w):
    q, scale = weights(w)
    return q.astype(np.uint8), scale


def weights_in_floats(w):
    q, scale = weights(w)
    return q.astype(float), scale


def weights_halves_away(w):
    """Right: halves away from 0, which no weight of the cases is."""
    scale = np.abs(w).max(axis=1) / 127
    steps = w / scale[:, None]
    return [(np.sign(steps) * np.floor(np.abs(steps) + 0.5)).astype(np.int8), scale]


def weights_by_column(w):
    scale = np.abs(w).max(axis=0) / 127
    return np.round(w / scale).astype(np.int8), scale


def weights_in_place(w):
    q, scale = weights(w)
    w /= scale[:, None]
    return q, scale


def weights_by_torch(w):
    import torch

    q, scale = weights(w)
    return torch.from_numpy(q).numpy(), scale


def weights_by_round(w):
    """Right: no weight of the cases lies between two steps."""
    largest = np.max(np.abs(w), axis=1, keepdims=True)
    return np.rint(w * 127 / largest).astype(np.int8), largest[:, 0] / 127


# --- fpga.accumulator_bits

edited = partial(edit, "fpga.accumulator_bits")
bits = solution("fpga.accumulator_bits")
BOTH = "smallest.min(), largest.max()"
bits_first_channel = edited("bits_first_channel", BOTH, "smallest[0], largest[0]")
bits_largest = edited("bits_largest", BOTH, "largest.max(), largest.max()")
bits_smallest = edited("bits_smallest", BOTH, "smallest.min(), smallest.min()")
bits_of_the_narrowest = edited("bits_of_the_narrowest", BOTH, "smallest.max(), largest.min()")
bits_added = edited("bits_added", BOTH, "smallest.sum(), largest.sum()")


def bits_without_bias(w, b, low, high):
    return bits(w, 0 * b, low, high)


def bits_of_the_last(w, b, low, high):
    return bits(w[-1:], b[-1:], low, high)


def bits_of_bytes(w, b, low, high):
    return bits(w, b, -128, 127)


def bits_by_log(w, b, low, high):
    smallest = b + np.minimum(w * low, w * high).sum(axis=1)
    largest = b + np.maximum(w * low, w * high).sum(axis=1)
    return 1 + int(np.ceil(np.log2(max(-smallest.min(), largest.max()))))


def bits_kept(w, b, low, high):
    return KEPT.setdefault(("bits", w.shape, low, high), bits(w, b, low, high))


def bits_of_all_channels(w, b, low, high):
    """Right: the widest channel."""
    return np.int16(max(bits(w[k : k + 1], b[k : k + 1], low, high) for k in range(len(w))))


def bits_any_weights(w, b, low, high):
    largest = w.shape[1] * 128 * max(-low, high)
    return signed_bits(-largest, largest)


def bits_all_high(w, b, low, high):
    total = b + (w * high).sum(axis=1)
    return signed_bits(total.min(), total.max())


def bits_one_end(w, b, low, high):
    ends = np.stack([(w * low).sum(axis=1), (w * high).sum(axis=1)])
    return signed_bits((b + ends.min(axis=0)).min(), (b + ends.max(axis=0)).max())


def bits_magnitudes(w, b, low, high):
    reach = (np.abs(b) + np.abs(w).sum(axis=1) * max(-low, high)).max()
    return signed_bits(-reach, reach)


def bits_from_zero(w, b, low, high):
    positive = np.where(w > 0, w, 0).sum(axis=1) * high + b
    negative = np.where(w < 0, w, 0).sum(axis=1) * high + b
    return signed_bits(negative.min(), positive.max())


def bits_in_place(w, b, low, high):
    found = bits(w, b, low, high)
    b += w.sum(axis=1)
    return found


def bits_by_torch(w, b, low, high):
    import torch

    return torch.tensor(bits(w, b, low, high)).item()


def bits_by_sign(w, b, low, high):
    """Right: a positive weight wants a high input, a negative one a low input."""
    positive, negative = w.clip(min=0), w.clip(max=0)
    largest = positive @ np.full(w.shape[1], high) + negative @ np.full(w.shape[1], low) + b
    smallest = positive @ np.full(w.shape[1], low) + negative @ np.full(w.shape[1], high) + b
    n = 1
    while not (-(2 ** (n - 1)) <= smallest.min() and largest.max() < 2 ** (n - 1)):
        n += 1
    return n


# --- fpga.requantize

edited = partial(edit, "fpga.requantize")
byte = solution("fpga.requantize")
ROUNDED = "(product + 2 ** (shift - 1)) >> shift"
byte_in_int32 = edited("byte_in_int32", "acc.astype(np.int64) * m", "acc * m")
byte_floor = edited("byte_floor", ROUNDED, "product >> shift")
byte_trunc = edited("byte_trunc", ROUNDED, "(product / 2**shift).astype(int)")
byte_round = edited("byte_round", ROUNDED, "np.round(product / 2**shift)")
byte_away = edited(
    "byte_away", ROUNDED, "np.sign(product) * ((np.abs(product) + 2 ** (shift - 1)) >> shift)"
)
byte_whole = edited("byte_whole", "2 ** (shift - 1)", "2**shift")
byte_shift_first = edited(
    "byte_shift_first", ROUNDED, "((acc.astype(int) + 2 ** (shift - 1)) >> shift) * m"
)
byte_half_first = edited(
    "byte_half_first", "acc.astype(np.int64)", "(acc.astype(int) + 2 ** (shift - 1))",
    (ROUNDED, "product >> shift"),
)  # fmt: skip
byte_wraps = edited("byte_wraps", "np.clip(rounded, low, 127)", "rounded")
byte_no_relu = edited("byte_no_relu", "rounded, low", "rounded, -128")
byte_relu = edited("byte_relu", "rounded, low", "rounded, 0")
byte_symmetric = edited("byte_symmetric", "rounded, low", "rounded, max(low, -127)")
byte_one_multiplier = edited("byte_one_multiplier", "* m", "* m[0]")


def byte_of_a_kept_multiplier(acc, m, shift, low):
    m = KEPT.setdefault(("m", acc.shape, shift), m.copy())
    return byte(acc, m, shift, low)


def byte_shifted_by_16(acc, m, shift, low):
    return byte(acc, m, 16, low)


def byte_in_float32(acc, m, shift, low):
    product = acc.astype(np.float32) * m.astype(np.float32)
    steps = np.floor(product / np.float32(2.0**shift) + np.float32(0.5))
    return np.clip(steps, low, 127).astype(np.int8)


def byte_as_float(acc, m, shift, low):
    return byte(acc, m, shift, low).astype(float)


def byte_number_by_number(acc, m, shift, low):
    """Right: Python's integers."""
    rows = [
        [
            min(max((int(a) * int(k) + (1 << shift - 1)) >> shift, low), 127)
            for a, k in zip(row, m, strict=True)
        ]
        for row in acc
    ]
    return np.array(rows, dtype=np.int8)


def byte_in_place(acc, m, shift, low):
    result = byte(acc, m, shift, low)
    acc += 2
    return result


def byte_by_torch(acc, m, shift, low):
    import torch

    return torch.from_numpy(byte(acc, m, shift, low)).numpy()


def byte_in_float64(acc, m, shift, low):
    """Right: 53 bits hold every product."""
    steps = np.floor(acc.astype(float) * m / 2.0**shift + 0.5)
    return np.minimum(np.maximum(steps, low), 127).astype(np.int8)


PLANTED = {
    "fpga.to_integer": [
        (integers_unlimited, "What does not fit stays as it is"),
        (integers_unrounded, "The steps are not rounded yet"),
        (integers_truncated, "The steps are cut off towards 0"),
        (integers_floored, "The steps are rounded down"),
        (integers_symmetric, "-128 is left out"),
        (integers_up_to_128, "128 is let through"),
        (integers_unsigned, "limited to 0 to 255"),
        (integers_multiplied, "The numbers are multiplied by the scale"),
        (integers_without_scale, "The scale is not used"),
        (integers_rounded_first, "rounded before they are divided"),
        (integers_limited_first, "limited before they are divided"),
        (integers_as_numbers, "the numbers that the integers stand for"),
        (integers_that_wrap, "What does not fit wraps round"),
        (integers_of_32, "every wrong value is 0"),
        (integers_of_a_kept_scale, "something is kept from one call"),
        (integers_in_place, "changes its input x"),
        (integers_by_torch, "torch"),
    ],
    "fpga.quantize_weights": [
        (weights_one_scale, "One scale serves the whole matrix"),
        (weights_sign_kept, "The scale comes from the largest weight"),
        (weights_truncated, "The steps are cut off towards 0"),
        (weights_floor, "The steps are rounded down"),
        (weights_reciprocal, "The scale is turned over"),
        (weights_multiplied, "The weights are multiplied by the scale"),
        (weights_by_column, "There is a scale for each column"),
        (weights_kept, "something is kept from one call"),
        (weights_of_row_0, "The scale of channel 0 serves all rows"),
        (weights_cut_after_half, "A half is added and the rest cut off"),
        (weights_without_sign, "q has dtype uint8; it should be int8"),
        (weights_in_floats, "q has dtype float64; it should be int8"),
        (weights_in_place, "changes its input"),
        (weights_by_torch, "torch"),
    ],
    "fpga.accumulator_bits": [
        (bits_first_channel, "Only channel 0 is looked at"),
        (bits_largest, "Only the largest sum is looked at"),
        (bits_smallest, "Only the smallest sum is looked at"),
        (bits_of_the_narrowest, "serves the narrowest channel"),
        (bits_added, "The channels are added to each other"),
        (bits_without_bias, "The bias is missing"),
        (bits_any_weights, "This width serves any weights at all"),
        (bits_all_high, "Each input is taken to be as large as it can be"),
        (bits_one_end, "All inputs are at the same end"),
        (bits_magnitudes, "its largest magnitude with either sign"),
        (bits_from_zero, "The inputs are taken to lie between 0 and high"),
        (bits_of_the_last, "Only the last channel is looked at"),
        (bits_of_bytes, "The inputs are taken to lie from -128 to 127"),
        (bits_by_log, "This is a logarithm, rounded up"),
        (bits_kept, "something is kept from one call"),
        (bits_in_place, "changes its input"),
        (bits_by_torch, "torch"),
    ],
    "fpga.requantize": [
        (byte_in_int32, "The product wraps round in 32 bits"),
        (byte_floor, "The results are rounded down"),
        (byte_trunc, "The results are cut off towards 0"),
        (byte_round, "A half is rounded to the even neighbour"),
        (byte_away, "A half below 0 is rounded away from 0"),
        (byte_whole, "as if a whole 2^shift were added"),
        (byte_shift_first, "The shift comes before the product"),
        (byte_half_first, "The half is added to the sum"),
        (byte_wraps, "wraps round in the byte"),
        (byte_no_relu, "The clamp always begins at -128"),
        (byte_relu, "The clamp always begins at 0"),
        (byte_symmetric, "-128 is left out"),
        (byte_one_multiplier, "The multiplier of channel 0 serves all"),
        (byte_of_a_kept_multiplier, "something is kept from one call"),
        (byte_shifted_by_16, "The shift is always 16 here"),
        (byte_in_float32, "The product is kept in float32"),
        (byte_as_float, "dtype float64"),
        (byte_in_place, "changes its input"),
        (byte_by_torch, "torch"),
    ],
}

ALSO_RIGHT = {
    "fpga.to_integer": [integers_in_bytes, integers_one_by_one],
    "fpga.quantize_weights": [weights_by_round, weights_halves_away],
    "fpga.accumulator_bits": [bits_by_sign, bits_of_all_channels],
    "fpga.requantize": [byte_in_float64, byte_number_by_number],
}

ONE_STEP = np.array([[127.0, -3.0]])  # the scale is 1
NOTHING = np.zeros((1, 1), np.int32)
ONE = np.ones(1, np.int32)
WHOLE = np.arange(1.0, 4.0)
RIGHT_ON = {  # where what they confuse is one and the same
    integers_unlimited: (WHOLE, 0.5),
    integers_unrounded: (WHOLE, 0.5),
    integers_truncated: (WHOLE, 0.5),
    integers_floored: (WHOLE, 0.5),
    integers_unsigned: (WHOLE, 0.5),
    integers_multiplied: (WHOLE, 1.0),
    integers_without_scale: (WHOLE, 1.0),
    integers_rounded_first: (WHOLE, 0.5),
    integers_limited_first: (WHOLE, 0.5),
    integers_as_numbers: (WHOLE, 1.0),
    integers_that_wrap: (WHOLE, 0.5),
    integers_of_a_kept_scale: (WHOLE, 0.5),
    weights_reciprocal: (ONE_STEP,),
    weights_multiplied: (ONE_STEP,),
    weights_kept: (np.ones((2, 2)),),
    weights_cut_after_half: (np.ones((2, 2)),),
    weights_without_sign: (np.ones((2, 2)),),
    bits_kept: (ONE_STEP.astype(int), np.ones(1, int), -3, 4),
    byte_of_a_kept_multiplier: (NOTHING, ONE, 4, 0),
    byte_shifted_by_16: (NOTHING, ONE, 4, 0),
    byte_as_float: (NOTHING, ONE, 4, 0),
    byte_floor: (NOTHING, ONE, 4, 0),
    byte_shift_first: (NOTHING, ONE, 4, 0),
    byte_half_first: (NOTHING, ONE, 4, 0),
}
