"""The exercises of lesson a_multiply_accumulate_array: modules that learners write."""

from collections.abc import Callable, Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.fpga.packing import unpack
from labkit.fpga.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.words import ends, sum_words, term_words
from labkit_lessons.fpga.a_multiply_accumulate_array.solutions import SOLUTIONS

A_PIPELINE = 3  # cycles that a word may be on its way, where ours needs one


def int8(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers from -128 to 127; both ends are there, from two numbers on."""
    x = rng.integers(-128, 128, shape).astype(np.int8)
    x.flat[: min(2, x.size)] = (-128, 127)[: x.size]
    return x


# --- fpga.mac


def sums(products: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sum of each packet; `last` is 1 at its last product."""
    starts = np.flatnonzero(np.concatenate([[1], last[:-1]]))
    return np.add.reduceat(products.astype(np.int64), starts)


def products(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x * w, term by term, without loss."""
    return x.astype(np.int64) * w


def mac_oracle(x, w, last):
    """x [n], w [n] int8, last [n] -> a sum for each packet."""
    return sums(products(x, w), last)


def never_cleared(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each sum goes on from the one before it."""
    return np.cumsum(products(x, w))[last == 1]


def first_lost(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The first product of each packet is not added."""
    begins = np.concatenate([[1], last[:-1]])
    return sums(np.where(begins, 0, products(x, w)), last)


def last_lost(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last product of each packet is not added."""
    return sums(np.where(last, 0, products(x, w)), last)


def last_alone(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last product of each packet, and nothing else."""
    return products(x, w)[last == 1]


def no_signs(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The bytes are taken for numbers from 0 to 255."""
    return sums(products(x.view(np.uint8), w.view(np.uint8)), last)


def in_16_bits(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sums wrap round in 16 bits."""
    return mac_oracle(x, w, last).astype(np.int16)


def in_8_bits(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each product wraps round in 8 bits."""
    return sums(products(x, w).astype(np.int8), last)


def unsigned_products(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each product loses its sign on the way to the sum."""
    return sums(products(x, w).astype(np.uint16), last)


def in_twos(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A sum begins anew with every second term, wherever its packet ends."""
    all_products = products(x, w)
    before = np.append(0, all_products[:-1]) * (np.arange(len(x)) % 2)
    return (all_products + before)[last == 1]


def running(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sum of each packet so far, after each term."""
    total = np.cumsum(products(x, w))
    starts = np.flatnonzero(np.concatenate([[1], last[:-1]]))
    before = np.append(0, total)[starts]
    return total - np.repeat(before, np.diff(np.append(starts, len(x))))


def one_early(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each sum is offered one clock edge before its last product is in it."""
    return np.append(0, running(x, w, last)[:-1])[last == 1]


def every_term(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A word comes out for each term: as many of them as there are packets."""
    return running(x, w, last)[: int(last.sum())]


def added(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """x + w instead of x * w."""
    return sums(x.astype(np.int64) + w, last)


def mac_cases(rng: np.random.Generator) -> Iterable[Case]:
    """Packets of several lengths; one word each in some of them."""
    packets = {
        "one term": [1],
        "two terms": [2],
        "a packet of seven": [7],
        "three packets": [5, 1, 6],
        "the largest products": [40],
        "many packets": [1, 1, 3, 1, 1, 1, 2, 17, 1, 1, 1, 23, 1, 2, 1, 1, 31],
        "one term again": [1],
    }
    for name, lengths in packets.items():
        n = sum(lengths)
        last = np.zeros(n, np.int8)
        last[np.cumsum(lengths) - 1] = 1
        x, w = int8(rng, n), int8(rng, n)
        if name.startswith("the largest"):
            x[:], w[:] = -128, np.where(np.arange(n) < 30, -128, 127)
        yield Case(name, (x, w, last))


def mac_drive(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> Drive:
    """A word {w, x} for each term."""
    words = np.stack([x, w], axis=1)
    return Drive({"terms": words, "terms_last": last}, words={"y": int(last.sum())})


mac = rtl_exercise(
    "fpga.mac",
    top="mac",
    solution=SOLUTIONS["fpga.mac"],
    drive=mac_drive,
    cases=mac_cases,
    oracle=mac_oracle,
    wrong={
        "never_cleared": never_cleared,
        "first_lost": first_lost,
        "last_lost": last_lost,
        "last_alone": last_alone,
        "no_signs": no_signs,
        "in_16_bits": in_16_bits,
        "in_8_bits": in_8_bits,
        "unsigned_bytes": lambda x, w, last: sums(products(x, w).astype(np.uint8), last),
        "unsigned_products": unsigned_products,
        "in_twos": in_twos,
        "added": added,
        "one_early": one_early,
        "every_term": every_term,
        "x_squared": lambda x, w, last: sums(products(x, x), last),
        "w_squared": lambda x, w, last: sums(products(w, w), last),
    },
    cycles=lambda x, w, last: len(x) + A_PIPELINE,
    keeps=1,
    gates={"dsp": 1, "lut": 100, "ff": 100},
)


# --- fpga.mac_array


def array_oracle(x, w):
    """x [images, D], w [LANES, D] int8 -> the sum of each lane [images, LANES]."""
    return x.astype(np.int64) @ w.T


def array_cases(rng: np.random.Generator) -> Iterable[Case]:
    """A packet of D words for each image, for 4 lanes and for fewer and more of them."""
    sizes = {
        "one word": (1, 1, 4),
        "two words": (1, 2, 4),
        "packets of one word": (13, 1, 4),
        "three lanes": (2, 5, 3),
        "many words, five lanes": (4, 16, 5),
        "one word again": (1, 1, 4),
    }
    for name, (images, D, lanes) in sizes.items():
        yield Case(name, (int8(rng, images, D), int8(rng, lanes, D)))


def array_drive(x: np.ndarray, w: np.ndarray) -> Drive:
    """A word {w of each lane, x} for each term."""
    images, D = x.shape
    lanes = len(w)
    terms = np.concatenate([term_words(image, w, lanes) for image in x])
    inputs = {"terms": terms, "terms_last": ends(D, images)}
    return Drive(inputs, words={"y": images}, parameters={"LANES": lanes})


def array_sums(simulation, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The lanes of each word that comes out."""
    return unpack(simulation.outputs["y"], len(w), 32)


def with_weights(change: Callable) -> Callable:
    """The sums with other weights than those of the lane."""
    return lambda x, w: array_oracle(x, change(w))


def one_byte_low(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lane 0 multiplies x by itself, and lane k takes the weight of lane k - 1."""
    squares = (x.astype(np.int64) ** 2).sum(axis=1)
    return np.column_stack([squares, array_oracle(x, w[:-1])])


def x_of_the_lane_below(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lane k takes byte k for x: the weight of lane k - 1."""
    weights = w.astype(np.int64)
    pairs = np.tile((weights[:-1] * weights[1:]).sum(axis=1), (len(x), 1))
    return np.column_stack([array_oracle(x, w[:1]), pairs])


mac_array = rtl_exercise(
    "fpga.mac_array",
    top="mac_array",
    solution=SOLUTIONS["fpga.mac_array"],
    support=(SOLUTIONS["fpga.mac"],),
    drive=array_drive,
    cases=array_cases,
    oracle=array_oracle,
    read=array_sums,
    wrong={
        "same_weights": with_weights(lambda w: np.repeat(w[:1], len(w), axis=0)),
        "one_byte_low": one_byte_low,
        "four_weights": with_weights(lambda w: w[np.arange(len(w)) % 4]),
        "x_from_the_top": lambda x, w: np.tile(
            (w.astype(np.int64) * w[-1]).sum(axis=1), (len(x), 1)
        ),
        "lanes_reversed": with_weights(lambda w: w[::-1]),
        "x_of_each_lane": lambda x, w: (0 * x[:, :1]) + (w.astype(np.int64) ** 2).sum(axis=1),
        "x_alone": lambda x, w: np.repeat(
            (x.astype(np.int64) ** 2).sum(axis=1, keepdims=True), len(w), axis=1
        ),
        "x_of_the_lane_below": x_of_the_lane_below,
        "one_lane": lambda x, w: np.where(np.arange(len(w)) == 0, array_oracle(x, w), 0),
    },
    cycles=lambda x, w: x.size + A_PIPELINE,
    keeps=1,
    gates={"dsp": 4, "lut": 400, "ff": 400},
    gate_parameters={"LANES": 4},
)


# --- fpga.requantize_rtl


def requantize_oracle(sums, m, shift):
    """sums [n] int32, m [n] from 0 to 65,535, shift -> y [n] from 0 to 127."""
    return clamped(scaled(sums, m, shift))


def clamped(numbers: np.ndarray) -> np.ndarray:
    """0 to 127."""
    return np.clip(numbers, 0, 127)


def scaled(sums: np.ndarray, m: np.ndarray, shift: int, half: float = 0.5) -> np.ndarray:
    """What comes out of the shift, with `half` of 2^shift added before it."""
    return plus_half(sums, m, shift, half) >> shift


def plus_half(sums: np.ndarray, m: np.ndarray, shift: int, half: float = 0.5) -> np.ndarray:
    """The product before the shift."""
    return sums.astype(np.int64) * m + np.int64(half * 2.0**shift)


def logical_shift(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """Zeros come in from the left, also where the number is negative."""
    return clamped((plus_half(sums, m, shift) & (1 << 48) - 1) >> shift)


def up_to_128(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """128 is not yet clamped, and is -128 in a byte."""
    numbers = scaled(sums, m, shift)
    return np.where(numbers == 128, -128, clamped(numbers))


def in_32_bits(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """The product wraps round in 32 bits."""
    return clamped(plus_half(sums, m, shift).astype(np.int32) >> shift)


def requantize_cases(rng: np.random.Generator) -> Iterable[Case]:
    """Sums of both signs, most of them between -128 and 300 after the shift."""
    sizes = {
        "one sum": (1, 16),
        "two sums": (2, 16),
        "the smallest shift": (11, 1),
        "the largest shift": (9, 31),
        "many sums": (200, 16),
        "one sum again": (1, 16),
    }
    for name, (n, shift) in sizes.items():
        m = rng.integers(*{1: (1, 3), 16: (1, 2**16), 31: (2**12, 2**16)}[shift], n)
        wanted = rng.uniform(-100, 200, n)
        if n == 1:
            wanted = rng.uniform(20, 100, n)
        if n == 2:
            wanted = np.array([rng.uniform(20, 100), rng.uniform(130, 250)])
        if shift == 31:
            wanted[:3] = 5.75, 90.75, 126.25  # rounded up, up, and down
        sums = (wanted * 2**shift / m).astype(np.int32)
        if n > 100:
            sums[:4], m[:4] = [2**31 - 1, -(2**31), 2**31 - 1, -(2**31)], [65535, 65535, 1, 1]
            sums[4:11], m[4:11] = [-1, 1, 3, 5, 251, 253, 255], 2**15  # halves, up to 127.5
        yield Case(name, (sums, m, shift))


def requantize_drive(sums: np.ndarray, m: np.ndarray, shift: int) -> Drive:
    """A word {m, sum} for each sum."""
    parameters = {} if shift == 16 else {"SHIFT": shift}
    return Drive({"x": sum_words(sums, m)}, words={"y": len(sums)}, parameters=parameters)


requantize_rtl = rtl_exercise(
    "fpga.requantize_rtl",
    top="requantize",
    solution=SOLUTIONS["fpga.requantize_rtl"],
    drive=requantize_drive,
    cases=requantize_cases,
    oracle=requantize_oracle,
    wrong={
        "no_half": lambda *args: clamped(scaled(*args, half=0)),
        "logical_shift": logical_shift,
        "in_32_bits": in_32_bits,
        "wraps": lambda *args: scaled(*args).astype(np.int8),
        "no_lower_end": lambda *args: np.minimum(scaled(*args), 127).astype(np.int8),
        "no_upper_end": lambda *args: np.maximum(scaled(*args), 0).astype(np.int8),
        "ends_at_255": lambda *args: np.clip(scaled(*args), 0, 255).astype(np.int8),
        "not_relu": lambda *args: np.clip(scaled(*args), -128, 127),
        "half_of_16": lambda sums, m, shift: clamped((sums.astype(np.int64) * m + 2**15) >> shift),
        "halves_down": lambda sums, m, shift: clamped((plus_half(sums, m, shift) - 1) >> shift),
        "whole_one": lambda *args: clamped(scaled(*args, half=1)),
        "up_to_126": lambda *args: np.minimum(requantize_oracle(*args), 126),
        "up_to_128": up_to_128,
        "m_with_a_sign": lambda sums, m, shift: requantize_oracle(
            sums, m.astype(np.int16).astype(np.int64), shift
        ),
        "sum_without_a_sign": lambda sums, m, shift: requantize_oracle(
            sums.view(np.uint32), m, shift
        ),
        "shift_first": lambda sums, m, shift: clamped((sums.astype(np.int64) >> shift) * m),
        "one_place_less": lambda sums, m, shift: clamped(plus_half(sums, m, shift) >> shift - 1),
        "half_taken_away": lambda *args: clamped(scaled(*args, half=-0.5)),
        "always_16": lambda sums, m, shift: requantize_oracle(sums, m, 16),
    },
    cycles=lambda sums, m, shift: len(sums) + A_PIPELINE,
    keeps=1,
    gates={"dsp": 2, "lut": 200, "ff": 200},
    gate_parameters={"SHIFT": 16},
)

EXERCISES = [mac, mac_array, requantize_rtl]
