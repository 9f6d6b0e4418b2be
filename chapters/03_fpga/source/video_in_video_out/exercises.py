"""The exercises of the lesson: a box of a frame, a filter's registers, and what limits the rate.

Dense: a cut and a mean of pixels are shapes, and a line names all of their axes.
"""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.video_in_video_out.wrong import crop_and_resize as wrong_crop
from labkit_lessons.fpga.video_in_video_out.wrong import frame_rate as wrong_rate
from labkit_lessons.fpga.video_in_video_out.wrong import taps_and_shift as wrong_taps

FORBIDDEN = (*LIBRARIES, "labkit.fpga")

# fpga.crop_and_resize: frame [H, W, C] uint8, box (left, top, width, height), side

BOXES = {  # the frame's shape, rows and columns of an area, and how many areas there are each way
    "the whole frame": ((6, 10, 3), 3, 5, 2),
    "one pixel": ((1, 1, 1), 1, 1, 1),
    "one area": ((5, 7, 3), 2, 3, 1),
    "the example of the lesson": ((6, 8, 1), 2, 3, 2),
    "square areas": ((8, 10, 3), 3, 3, 2),
    "as large as the result": ((7, 9, 3), 1, 1, 4),
    "areas that are high": ((17, 5, 3), 5, 1, 3),
    "areas that are wide": ((6, 10, 3), 2, 5, 1),
    "equal pixels, many areas": ((45, 71, 3), 3, 5, 11),
    "equal pixels, four colours": ((31, 23, 4), 3, 1, 7),
}


def in_a_frame(rng: np.random.Generator, shape: tuple, high: int, wide: int, side: int) -> tuple:
    """A frame of noise, and a box of side x side areas somewhere in it."""
    size = int(np.prod(shape))
    numbers = rng.permutation(256)[:size] if size <= 256 else rng.integers(0, 256, size)
    frame = numbers.astype(np.uint8).reshape(shape)
    height, width = high * side, wide * side
    left, top = (int(rng.integers(0, room + 1)) for room in (shape[1] - width, shape[0] - height))
    while halves(frame[top : top + height, left : left + width], high, wide):
        frame[:] = rng.permutation(frame.ravel()).reshape(shape)
    return frame, (left, top, width, height), side


def halves(cut: np.ndarray, high: int, wide: int) -> bool:
    """Whether a mean lies halfway between two numbers, so that it may be rounded either way."""
    size = high * wide
    areas = cut.astype(np.int64).reshape(len(cut) // high, high, -1, wide, cut.shape[2])
    return bool(np.any(2 * areas.sum(axis=(1, 3)) % (2 * size) == size))


def mean_areas(frame: np.ndarray, box: tuple, side: int) -> np.ndarray:
    """Area by area, in whole numbers: the nearest to sum / pixels."""
    left, top, width, height = box
    high, wide = height // side, width // side
    small = np.zeros((frame.shape[2], side, side), np.uint8)
    for colour, row, column in np.ndindex(small.shape):
        y, x = top + row * high, left + column * wide
        total = int(frame[y : y + high, x : x + wide, colour].sum(dtype=np.int64))
        small[colour, row, column] = (2 * total + high * wide) // (2 * high * wide)
    return small


crop_and_resize = exercise(
    "fpga.crop_and_resize",
    oracle=mean_areas,
    cases=cases_of(BOXES, in_a_frame),
    wrong={
        **by_own_name(
            wrong_crop.truncated,
            wrong_crop.rounded_up,
            wrong_crop.rounded_twice,
            wrong_crop.cut_twice,
            wrong_crop.square_areas,
            wrong_crop.short_areas,
            wrong_crop.between_ends,
            wrong_crop.sides_of_areas_swapped,
            wrong_crop.last_pixel,
            wrong_crop.rows_alone,
            wrong_crop.centred,
            wrong_crop.one_further,
        ),
        "median": wrong_crop.by(np.median),
        "largest": wrong_crop.by(np.max),
        "sums": wrong_crop.by(np.sum),
        **by_own_name(
            wrong_crop.grey,
            wrong_crop.axes_side_by_side,
            wrong_crop.corner_first,
            wrong_crop.sides_swapped,
            wrong_crop.two_corners,
            wrong_crop.one_pixel,
            wrong_crop.middle_pixel,
            wrong_crop.upper_corner,
            wrong_crop.not_shrunk,
            wrong_crop.overflowed,
            wrong_crop.transposed,
            wrong_crop.interleaved,
            wrong_crop.colours_last,
            wrong_crop.blue_first,
        ),
    },
    forbidden=(*FORBIDDEN, "labkit_lessons.fpga.video_in_video_out.video_frame", "PIL"),
    outputs=("small",),
    dtype="uint8",
)

# fpga.taps_and_shift: kernel [R, S] -> taps int8 [R, S], shift

KERNELS = {  # its shape, the tap that is largest, and how large the others are beside it
    "large taps": ((3, 3), 97.3, 0.9),
    "one tap": ((1, 1), 0.5, 0),
    "the example of the lesson": ((1, 3), 0.8, 0.45),
    "a mean": ((3, 3), 1 / 9, 1.0),
    "negative and large": ((5, 3), -101.2, 0.8),
    "-128 just fits": ((3, 3), -64.2 / 2, 0.5),
    "128 just does not": ((2, 3), 63.9, 0.9),
    "127.4 fits": ((3, 3), 127.4 / 8, 0.7),
    "-128.4 fits": ((3, 1), -128.4 / 4, 0.6),
    "-128.6 does not": ((3, 3), -128.6 / 16, 0.4),
    "small ones": ((3, 3), 0.0012, 0.7),
    "all positive": ((5, 7), 0.31, 0.99),
    "only shift 0": ((3, 3), 120.7, 0.3),
    "shift 9": ((3, 5), -0.2, 0.8),
    "127 just fits": ((1, 5), 126.7 / 32, 0.9),
}


def real_taps(rng: np.random.Generator, shape: tuple, tap: float, others: float) -> tuple:
    """Taps of both signs around a largest one, whose place varies; none is twice a half."""
    kernel = others * abs(tap) * rng.uniform(-1, 1, shape)
    if others > 0.95:
        kernel = np.abs(kernel)
    kernel.flat[rng.integers(kernel.size)] = tap
    return (kernel,)


def bit_by_bit(kernel: np.ndarray) -> tuple[np.ndarray, int]:
    """Doubles the kernel while it fits; whole numbers by floor(x + 1/2), since none is a half."""
    taps, shift = np.floor(kernel + 0.5), 0
    while shift < 15:
        larger = np.floor(kernel * 2 ** (shift + 1) + 0.5)
        if not -128 <= larger.min() <= larger.max() <= 127:
            break
        taps, shift = larger, shift + 1
    return taps.astype(np.int8), shift


taps_and_shift = exercise(
    "fpga.taps_and_shift",
    oracle=bit_by_bit,
    cases=cases_of(KERNELS, real_taps),
    wrong={
        "truncated": wrong_taps.truncated,
        "floored": wrong_taps.floored,
        "rounded_up": wrong_taps.rounded_up,
        "cut_after_half": wrong_taps.cut_after_half,
        "at_most_7": wrong_taps.from_to(0, 7),
        "always_7": wrong_taps.always_7,
        "at_most_8": wrong_taps.from_to(0, 8),
        "at_most_14": wrong_taps.from_to(0, 14),
        "always_0": wrong_taps.from_to(0, 0),
        "no_127": wrong_taps.no_127,
        "middle_tap": wrong_taps.middle_tap,
        "mean_tap": wrong_taps.mean_tap,
        "shift_of_each": wrong_taps.shift_of_each,
        "away_from_0": wrong_taps.away_from_0,
        "at_least_1": wrong_taps.from_to(1, 15),
        "limited": wrong_taps.limited,
        "first_tap": wrong_taps.first_tap,
        "same_shift": lambda kernel: (
            wrong_taps.taken(kernel, 0) if kernel.shape == (3, 3) else bit_by_bit(kernel)
        ),  # that of the first one
        "power": lambda kernel: (bit_by_bit(kernel)[0], 2 ** bit_by_bit(kernel)[1]),
        "no_minus_128": wrong_taps.no_minus_128,
        "up_to_128": wrong_taps.up_to_128,
        "largest_tap_alone": wrong_taps.largest_tap_alone,
        "before_rounding": wrong_taps.before_rounding,
        "positive_only": wrong_taps.positive_only,
        "one_less": wrong_taps.one_less,
        "one_more": wrong_taps.one_more,
        "unlimited": wrong_taps.unlimited,
        "sum_fits": wrong_taps.sum_fits,
        "shift_down": wrong_taps.shift_down,
    },
    forbidden=FORBIDDEN,
    outputs=("taps", "shift"),
    dtype=("int8", None),
)

# fpga.frame_rate: cycles [n], units (a list of n), clock in Hz, camera in frames/s -> two rates

ROADS = {  # the unit of each step, and which limit binds: one at a time, together
    "three colours": ([0, 0, 0, 1], "cycles", "cycles"),
    "one step": ([0], "camera", "camera"),
    "the example of the lesson": ([0, 0, 1], "cycles", "camera"),
    "two units": ([0, 1], "cycles", "cycles"),
    "in turn": ([1, 0, 1, 0, 2], "cycles", "camera"),
    "the last one is busiest": ([0, 1, 2, 2, 2, 2, 2], "cycles", "cycles"),
    "a unit that rests": ([0, 3, 3, 0, 1], "camera", "camera"),
    "many": ([2, 1, 0, 4, 4, 3, 0, 1, 2, 2, 1], "cycles", "cycles"),
    "one unit for all": ([0, 0, 0, 0], "cycles", "cycles"),
}


def road(rng: np.random.Generator, units: list[int], alone: str, together: str) -> tuple:
    """Cycles of each step, a clock, and a camera that is as fast as the case wants it."""
    cycles = rng.integers(10_000, 900_000, len(units))
    clock = float(rng.integers(50, 250) * 1_000_000)
    slow, fast = clock / cycles.sum(), clock / np.bincount(units, cycles).max()
    camera = {
        ("camera", "camera"): 0.6 * slow,
        ("cycles", "camera"): (slow + fast) / 2,
        ("cycles", "cycles"): 5.3 * fast,
    }[alone, together]
    return cycles, list(units), clock, float(camera)


def by_unit(cycles: np.ndarray, units: np.ndarray, clock: float, camera: float) -> tuple:
    """Cycles, step by step: of a frame alone, and of the unit that is busy longest."""
    busy: dict[int, float] = {}
    for step, unit in zip(cycles, units, strict=True):
        busy[int(unit)] = busy.get(int(unit), 0.0) + float(step)
    alone, longest = sum(busy.values()), max(busy.values())
    return min(float(camera), clock / alone), min(float(camera), clock / longest)


FIRST_UNITS = {}  # steps -> their units in the first such case
for units, *_ in ROADS.values():
    FIRST_UNITS.setdefault(len(units), units)

frame_rate = exercise(
    "fpga.frame_rate",
    oracle=by_unit,
    cases=cases_of(ROADS, road),
    wrong={
        "slowest_step": wrong_rate.slowest_step,
        "same_units": lambda cycles, units, *rest: by_unit(cycles, FIRST_UNITS[len(units)], *rest),
        **by_own_name(
            wrong_rate.first_two,
            wrong_rate.last_unit,
            wrong_rate.neighbours_alone,
            wrong_rate.average_step,
        ),
        "alone_twice": lambda *given: (by_unit(*given)[0],) * 2,
        **by_own_name(
            wrong_rate.no_camera,
            wrong_rate.camera_first,
            wrong_rate.fastest_unit,
            wrong_rate.first_unit,
            wrong_rate.most_steps,
            wrong_rate.shared_evenly,
            wrong_rate.rates_added,
            wrong_rate.swapped,
        ),
        "together_twice": lambda *given: (by_unit(*given)[1],) * 2,
        **by_own_name(
            wrong_rate.alone_by_a_step,
            wrong_rate.times,
            wrong_rate.upside_down,
            wrong_rate.last_step_of_each,
            wrong_rate.mean_step_of_each,
            wrong_rate.fastest_step,
            wrong_rate.clock_of_the_lesson,
            wrong_rate.two_groups,
            wrong_rate.always_camera,
        ),
    },
    forbidden=FORBIDDEN,
    outputs=("one_at_a_time", "together"),
)

EXERCISES = [crop_and_resize, taps_and_shift, frame_rate]
