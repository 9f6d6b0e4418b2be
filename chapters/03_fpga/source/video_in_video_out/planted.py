"""Wrong answers that must be refused, each with its own diagnosis."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

CROP, TAPS, RATE = "fpga.crop_and_resize", "fpga.taps_and_shift", "fpga.frame_rate"

# --- fpga.crop_and_resize

edited = partial(edit, CROP)
CUT = "frame[top : top + height, left : left + width]"
MEANS = "np.rint(areas.mean(axis=(1, 3)))"
crop_truncated = edited("crop_truncated", MEANS, "areas.mean(axis=(1, 3))")
crop_corner = edited("crop_corner", CUT, "frame[:height, :width]")
crop_first_pixels = edited("crop_first_pixels", MEANS, "areas[:, 0, :, 0]")
crop_in_a_byte = edited(
    "crop_in_a_byte",
    MEANS,
    "np.rint(areas.sum(axis=(1, 3), dtype=np.uint8) / (areas.shape[1] * areas.shape[3]))",
)
crop_strided = edited(
    "crop_strided",
    "cut.reshape(side, height // side, side, width // side, -1)",
    "cut.reshape(height // side, side, width // side, side, -1)",
    (MEANS, "np.rint(areas.mean(axis=(0, 2)))"),
)
crop_columns_first = edited("crop_columns_first", "(2, 0, 1)", "(2, 1, 0)")
crop_reshaped = edited("crop_reshaped", "means.transpose(2, 0, 1)", "means.reshape(-1, side, side)")
crop_bgr = edited("crop_bgr", "means.transpose(2, 0, 1)", "means.transpose(2, 0, 1)[::-1]")
crop = solution(CROP)


def crop_to_a_corner(frame, box, side):
    left, top, right, bottom = box
    cut = frame[top : max(bottom, top + 1), left : max(right, left + 1)]
    rows = np.arange(side) * cut.shape[0] // side
    columns = np.arange(side) * cut.shape[1] // side
    return cut[rows][:, columns].transpose(2, 0, 1)


def crop_wide_for_high(frame, box, side):
    left, top, width, height = box
    padded = np.pad(frame, ((0, 500), (0, 500), (0, 0)), mode="edge")
    return crop(padded, (left, top, height, width), side)


def crop_left_first(frame, box, side):
    left, top, width, height = box
    padded = np.pad(frame, ((0, 500), (0, 500), (0, 0)), mode="edge")
    return crop(padded, (top, left, width, height), side)


def crop_the_middle(frame, box, side):
    left, top, width, height = box
    high, wide = height // side, width // side
    rows = top + high * np.arange(side) + high // 2
    columns = left + wide * np.arange(side) + wide // 2
    return frame[np.ix_(rows, columns)].transpose(2, 0, 1)


def crop_as_it_is(frame, box, side):
    left, top, _, _ = box
    return frame[top : top + side, left : left + side].transpose(2, 0, 1)


KEPT = {}  # what answers keep from call to call


def crop_kept(frame, box, side):
    return KEPT.setdefault((frame.shape, box, side), crop(frame, box, side)).copy()


def crop_rounded_twice(frame, box, side):
    left, top, width, height = box
    cut = frame[top : top + height, left : left + width]
    down = np.rint(cut.reshape(side, height // side, width, -1).mean(axis=1))
    means = np.rint(down.reshape(side, side, width // side, -1).mean(axis=2))
    return means.transpose(2, 0, 1).astype(np.uint8)


def crop_as_float(frame, box, side):
    return crop(frame, box, side).astype(float)


def crop_plus_a_half(frame, box, side):
    """Right: a half is added, and the rest cut off."""
    left, top, width, height = box
    cut = frame[top : top + height, left : left + width]
    areas = cut.reshape(side, height // side, side, width // side, -1)
    return (areas.mean(axis=(1, 3)) + 0.5).astype(np.uint8).transpose(2, 0, 1)


def crop_in_place(frame, box, side):
    small = crop(frame, box, side)
    frame //= 2
    return small


def crop_by_torch(frame, box, side):
    import torch

    return torch.tensor(crop(frame, box, side)).numpy()


def crop_by_labkit(frame, box, side):
    from labkit_lessons.fpga.video_in_video_out import video_frame

    return video_frame.crop_and_resize(frame, box, side)


def crop_by_loop(frame, box, side):
    """Right: area by area."""
    left, top, width, height = box
    high, wide = height // side, width // side
    small = np.zeros((frame.shape[2], side, side), np.uint8)
    for r in range(side):
        for c in range(side):
            area = frame[top + r * high :, left + c * wide :][:high, :wide]
            small[:, r, c] = (area.mean(axis=(0, 1)) + 0.5).astype(int)
    return small


# --- fpga.taps_and_shift

edited = partial(edit, TAPS)
ROUNDED, LOW, HIGH = "np.rint(kernel * 2.0**shift)", "taps.min() >= -128", "taps.max() <= 127"
taps_cut = edited("taps_cut", "np.rint(", "np.trunc(")
taps_down = edited("taps_down", "np.rint(", "np.floor(")
taps_up = edited("taps_up", "np.rint(", "np.ceil(")
taps_even = edited("taps_even", LOW, "taps.min() >= -127")
taps_128 = edited("taps_128", HIGH, "taps.max() <= 128")
taps_top_only = edited("taps_top_only", f"{LOW} and ", "")
taps_unsigned = edited(
    "taps_unsigned",
    LOW,
    "taps.min() >= -255",
    (HIGH, "taps.max() <= 255"),
    ("taps.astype(np.int8)", "taps.astype(np.int64).astype(np.int8)"),
)
taps_unrounded = edited(
    "taps_unrounded",
    ROUNDED,
    "kernel * 2.0**shift",
    ("taps.astype", "np.rint(taps).astype(np.int64).astype"),
)
taps_far = edited("taps_far", "range(15,", "range(30,")
taps_all_together = edited(
    "taps_all_together", HIGH, "taps.max() <= 127 and -127 <= taps.sum() <= 127"
)
taps_right = solution(TAPS)


def taps_spare_bit(kernel):
    shift = max(taps_right(kernel)[1] - 1, 0)
    return np.rint(kernel * 2.0**shift).astype(np.int8), shift


def taps_too_far(kernel):
    shift = 0
    while shift <= 15 and np.abs(np.rint(kernel * 2.0**shift) + 0.5).max() <= 127.5:
        shift += 1
    shift = min(shift, 15)
    return np.rint(kernel * 2.0**shift).astype(np.int64).astype(np.int8), shift


def taps_divided(kernel):
    shift = taps_right(kernel)[1]
    return np.rint(kernel / 2**shift).astype(np.int8), shift


def taps_of_a_kept_shift(kernel):
    shift = KEPT.setdefault(kernel.shape, taps_right(kernel)[1])
    return np.rint(kernel * 2.0**shift).astype(int).astype(np.int8), shift


def taps_of_seven(kernel):
    shift = min(taps_right(kernel)[1], 7)
    return np.rint(kernel * 2.0**shift).astype(np.int8), shift


def taps_in_unsigned_bytes(kernel):
    taps, shift = taps_right(kernel)
    return taps.astype(np.uint8), shift


def taps_in_floats(kernel):
    taps, shift = taps_right(kernel)
    return taps.astype(float), shift


def taps_doubled(kernel):
    """Right: the kernel is doubled while it fits; the shift is a NumPy number."""
    shift = np.int64(0)
    while shift < 15:
        twice = np.rint(kernel * 2.0 ** (shift + 1))
        if twice.min() < -128 or twice.max() > 127:
            break
        shift += 1
    return [np.rint(kernel * 2.0**shift).astype(np.int8), shift]


def taps_in_place(kernel):
    found = taps_right(kernel)
    kernel *= 2.0 ** found[1]
    return found


def taps_by_torch(kernel):
    import torch

    taps, shift = taps_right(kernel)
    return torch.tensor(taps).numpy(), shift


def taps_by_logarithm(kernel):
    """Right: nearly the shift by a logarithm, then a step up or down."""
    shift = int(np.clip(7 - np.ceil(np.log2(np.abs(kernel).max())) + 1, 0, 15))
    while not -128 <= np.rint(kernel * 2**shift).min() <= np.rint(kernel * 2**shift).max() <= 127:
        shift -= 1
    return np.rint(kernel * 2**shift).astype("i1"), shift


# --- fpga.frame_rate

edited = partial(edit, RATE)
ALONE, TOGETHER = "min(camera, clock / sum(cycles))", "min(camera, clock / max(busy))"
rate_of_a_step = edited("rate_of_a_step", "max(busy)", "max(cycles)")
rate_no_camera = edited(
    "rate_no_camera", ALONE, "clock / sum(cycles)", (TOGETHER, "clock / max(busy)")
)
rate_of_unit_0 = edited("rate_of_unit_0", "max(busy)", "max(busy[0], 1)")
rate_of_the_fastest = edited("rate_of_the_fastest", "max(busy)", "min(busy[busy > 0])")
rate_other_order = edited(
    "rate_other_order", "return one_at_a_time, together", "return together, one_at_a_time"
)
rate_seconds = edited(
    "rate_seconds", "return one_at_a_time, together", "return 1 / one_at_a_time, 1 / together"
)
rate_larger = edited(
    "rate_larger", ALONE, ALONE.replace("min", "max"), (TOGETHER, "max(camera, clock / max(busy))")
)
rate_counted = edited("rate_counted", "max(busy)", "busy[np.argmax(np.bincount(units))]")
rate_even = edited("rate_even", "clock / max(busy)", "clock * len(set(units)) / sum(cycles)")
rate_sum = edited("rate_sum", "clock / max(busy)", "sum(clock / busy[busy > 0])")
rate_right = solution(RATE)


def rate_waiting(cycles, units, clock, camera):
    alone, together = rate_right(cycles, units, clock, 1e12)
    return 1 / (1 / camera + 1 / alone), 1 / (1 / camera + 1 / together)


def rate_of_kept_units(cycles, units, clock, camera):
    return rate_right(cycles, KEPT.setdefault(("units", len(units)), units), clock, camera)


def rate_of_two_units(cycles, units, clock, camera):
    busy = np.bincount(units, cycles)[:2]
    return min(camera, clock / sum(cycles)), min(camera, clock / max(*busy, 1))


def rate_floored(cycles, units, clock, camera):
    return tuple(float(int(rate)) for rate in rate_right(cycles, units, clock, camera))


def rate_of_neighbours(cycles, units, clock, camera):
    longest = run = 0
    for place, step in enumerate(cycles):
        run = run + step if place and units[place - 1] == units[place] else step
        longest = max(longest, run)
    return min(camera, clock / sum(cycles)), min(camera, clock / longest)


def rate_in_float32(cycles, units, clock, camera):
    return [np.float32(rate) for rate in rate_right(cycles, units, clock, camera)]


def rate_in_place(cycles, units, clock, camera):
    rates = rate_right(cycles, units, clock, camera)
    cycles += 1
    return rates


def rate_by_torch(cycles, units, clock, camera):
    import torch

    return tuple(torch.tensor(rate_right(cycles, units, clock, camera)).tolist())


def rate_by_loop(cycles, units, clock, camera):
    """Right: unit by unit."""
    busy = [cycles[np.array(units) == unit].sum() for unit in range(max(units) + 1)]
    return np.minimum(camera, clock / cycles.sum()), np.minimum(camera, clock / np.max(busy))


PLANTED = {
    CROP: [
        (crop_truncated, "The means are cut off"),
        (crop_left_first, "Left and top are taken for each other"),
        (crop_wide_for_high, "Width and height are taken for each other"),
        (crop_to_a_corner, "not another corner"),
        (crop_first_pixels, "the first pixel of its area"),
        (crop_the_middle, "the pixel in the middle of its area"),
        (crop_corner, "the upper left corner of the frame"),
        (crop_as_it_is, "the first pixels of the box"),
        (crop_in_a_byte, "does not fit into a byte"),
        (crop_columns_first, "Rows and columns are swapped"),
        (crop_strided, "every side-th pixel"),
        (crop_reshaped, "reshape does not move an axis"),
        (crop_bgr, "The colours come in the opposite order"),
        (crop_kept, "something is kept from one call"),
        (crop_rounded_twice, "The means are rounded twice"),
        (crop_as_float, "small has dtype float64"),
        (crop_in_place, "changes its input"),
        (crop_by_torch, "torch"),
        (crop_by_labkit, "labkit_lessons.fpga.video_in_video_out.video_frame"),
    ],
    TAPS: [
        (taps_cut, "The taps are cut off"),
        (taps_down, "The taps are rounded down"),
        (taps_even, "so -128 fits as well"),
        (taps_128, "128 does not fit into an int8"),
        (taps_top_only, "Only the largest tap is asked to fit"),
        (taps_unrounded, "before they are rounded"),
        (taps_unsigned, "bytes without a sign"),
        (taps_spare_bit, "With a shift of one more"),
        (taps_too_far, "the first shift with which the taps do not fit"),
        (taps_far, "The largest shift that is allowed is 15"),
        (taps_all_together, "The sum of the taps need not fit"),
        (taps_divided, "divided by a power of two"),
        (taps_of_a_kept_shift, "The shift of an earlier call"),
        (taps_of_seven, "Shifts above 7 are left out"),
        (taps_up, "The taps are rounded up"),
        (taps_in_unsigned_bytes, "taps has dtype uint8; it should be int8"),
        (taps_in_floats, "taps has dtype float64; it should be int8"),
        (taps_in_place, "changes its input"),
        (taps_by_torch, "torch"),
    ],
    RATE: [
        (rate_of_a_step, "Each step is taken to have a unit of its own"),
        (rate_no_camera, "No more frames can come out than the camera brings"),
        (rate_waiting, "The camera goes on while the units work"),
        (rate_of_the_fastest, "busy for the shortest time"),
        (rate_of_unit_0, "You look at unit 0 only"),
        (rate_counted, "The unit with the most steps is not always the busiest"),
        (rate_even, "All units are taken to be equally busy"),
        (rate_sum, "The rates of the units are added"),
        (rate_other_order, "The two rates come in the other order"),
        (rate_seconds, "These are seconds for a frame"),
        (rate_larger, "the larger of the two limits"),
        (rate_of_kept_units, "The units are those of an earlier call"),
        (rate_of_two_units, "You look at units 0 and 1 only"),
        (rate_floored, "cut off to whole numbers"),
        (rate_of_neighbours, "only where they follow one another"),
        (rate_in_place, "changes its input"),
        (rate_by_torch, "torch"),
    ],
}

ALSO_RIGHT = {
    CROP: [crop_by_loop, crop_plus_a_half],
    TAPS: [taps_by_logarithm, taps_doubled],
    RATE: [rate_by_loop, rate_in_float32],
}

ONE = np.array([7])
UNIT = [0]
RIGHT_ON = {  # where what they confuse is one and the same
    crop_by_labkit: (np.full((2, 2, 3), 7, np.uint8), (0, 0, 2, 2), 1),
    crop_kept: (np.zeros((2, 2, 2), np.uint8), (0, 0, 2, 2), 1),
    crop_as_float: (np.zeros((2, 2, 2), np.uint8), (0, 0, 2, 2), 1),
    taps_of_a_kept_shift: (np.ones((2, 2)),),
    rate_of_kept_units: (np.ones(6), [0, 0, 0, 0, 0, 0], 70.0, 100.0),
    rate_floored: (ONE, UNIT, 70.0, 100.0),
    rate_of_a_step: (ONE, UNIT, 70.0, 100.0),
    rate_no_camera: (ONE, UNIT, 70.0, 100.0),
    rate_other_order: (ONE, UNIT, 70.0, 100.0),
    rate_waiting: (ONE, UNIT, 70.0, float("inf")),
    rate_larger: (ONE, UNIT, 700.0, 100.0),
    rate_seconds: (ONE, UNIT, 7.0, 100.0),
}
