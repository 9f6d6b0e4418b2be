"""Exercise fpga.requantize_rtl: from a sum of 32 bits to a byte, as a circuit.

Dense: each wrong idea is what a slip in the circuit makes of the numbers, in one formula.
"""

from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.fpga.integers.words import sum_words
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit_lessons.fpga.a_multiply_accumulate_array.exercises.shared import A_PIPELINE
from labkit_lessons.fpga.a_multiply_accumulate_array.solutions import SOLUTIONS


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


def product_in_32_bits(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """The product alone wraps round in 32 bits."""
    product = (sums.astype(np.int64) * m).astype(np.int32).astype(np.int64)
    return clamped((product + 2 ** (shift - 1)) >> shift)


def bit_7_alone(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """A number whose bit 7 is 1 becomes 127, and of another one the low byte is taken."""
    low = scaled(sums, m, shift) % 256
    return np.where(low > 127, 127, low)


def sum_of_33_bits(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """The sum has a 0 in front, and the product wraps round in 48 bits."""
    product = plus_half(sums.view(np.uint32), m, shift) << 16  # bit 47 at the end of 64
    return clamped(product >> 16 + shift)


def plus_first(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """1 is added, and the sum shifted to the left and back, in 48 bits."""
    left = (sums.astype(np.int64) * m + 1) << 16 + shift - 1  # bit 47 at the end of 64
    return clamped(left >> 16 + shift)


def far_away(sums: np.ndarray, m: np.ndarray, shift: int) -> np.ndarray:
    """The half is added to the shift."""
    return clamped(sums.astype(np.int64) * m >> min(shift + 2 ** (shift - 1), 63))


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
        "sum_of_33_bits": sum_of_33_bits,
        "shift_first": lambda sums, m, shift: clamped((sums.astype(np.int64) >> shift) * m),
        "one_place_less": lambda sums, m, shift: clamped(plus_half(sums, m, shift) >> shift - 1),
        "half_taken_away": lambda *args: clamped(scaled(*args, half=-0.5)),
        "always_16": lambda sums, m, shift: requantize_oracle(sums, m, 16),
        "low_byte_compared": lambda *given: clamped(scaled(*given) % 256) * (scaled(*given) >= 0),
        "bit_7_alone": bit_7_alone,
        "no_sign": lambda *given: clamped(abs(scaled(*given))),
        "sums_clamped": lambda sums, m, shift: requantize_oracle(np.minimum(sums, 127), m, shift),
        "product_in_32_bits": product_in_32_bits,
        "plus_first": plus_first,
        "far_away": far_away,
    },
    cycles=lambda sums, m, shift: len(sums) + A_PIPELINE,
    keeps=1,
    early_ready=True,
    gates={"dsp": 2, "lut": 200, "ff": 200},
    gate_parameters={"SHIFT": 16},
)
