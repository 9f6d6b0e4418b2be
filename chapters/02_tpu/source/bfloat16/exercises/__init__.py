"""The exercises of lesson bfloat16: rounding, sums, split numbers.

A bfloat16 is a float32 whose lower 16 bits are 0. Bits are compared, where a right answer has only
one right rounding.
"""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise, with_a_repeat
from labkit_lessons.tpu.bfloat16.exercises import float32_numbers
from labkit_lessons.tpu.bfloat16.exercises.float32_bits import as_bits, as_it_is, cut, nearest
from labkit_lessons.tpu.bfloat16.wrong import multiply_accumulate as wrong_sum
from labkit_lessons.tpu.bfloat16.wrong import round_to_bfloat16 as wrong_rounding
from labkit_lessons.tpu.bfloat16.wrong import split_bfloat16 as wrong_parts
from labkit_lessons.tpu.bfloat16.wrong.shared import float16

FORBIDDEN = (*LIBRARIES, "ml_dtypes", "labkit.tpu")
EXACT = {"rtol": 0, "atol": 0}


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 numbers around 0."""
    return rng.standard_normal(shape, np.float32)


# tpu.round_to_bfloat16: x, any shape -> rounded, of the same shape

NUMBERS = {  # how they are made, and their shape where it is free
    "ragged": (float32_numbers.anything, 5, 3),
    "all sizes 1": (float32_numbers.exact, 1),
    "prime": (float32_numbers.anything, 7, 1, 3),
    "exact numbers": (float32_numbers.exact, 2, 3, 2),
    "halfway": (float32_numbers.halfway,),
    "just beside halfway": (float32_numbers.beside_halfway,),
    "up into the exponent": (float32_numbers.carries,),
    "both ends": (float32_numbers.ends,),
    "many": (float32_numbers.anything, 20, 20, 5),
}

round_to_bfloat16 = exercise(
    "tpu.round_to_bfloat16",
    oracle=nearest,
    cases=with_a_repeat(cases_of(NUMBERS, lambda rng, make, *shape: (make(rng, *shape),))),
    wrong={
        "truncated": cut,
        "always_away": wrong_rounding.with_bits(wrong_rounding.away_from_0),
        **by_own_name(
            wrong_rounding.ties_away,
            wrong_rounding.ties_down,
            wrong_rounding.upwards,
            wrong_rounding.downwards,
            wrong_rounding.ties_upwards,
            wrong_rounding.ties_to_odd,
            wrong_rounding.other_bit,
            wrong_rounding.nine_digits,
            wrong_rounding.seven_digits,
            wrong_rounding.byte_cut,
            made=wrong_rounding.with_bits,
        ),
        "eight_digits": wrong_rounding.eight_digits,
        "nothing_cut": wrong_rounding.with_bits(wrong_rounding.nothing_cut),
        "in_the_lower_half": wrong_rounding.with_bits(wrong_rounding.in_the_lower_half),
        "upper_half_cut": wrong_rounding.with_bits(wrong_rounding.upper_half_cut),
        "converted": lambda x: as_bits(nearest(x)).astype(np.float32),
        "clipped": wrong_rounding.clipped,
        "flushed": wrong_rounding.flushed,
        "float16": float16,
    },
    outputs=("rounded",),
    forbidden=FORBIDDEN,
    dtype="float32",
    **EXACT,
)

# tpu.multiply_accumulate: a[M,K], b[K,N], narrow -> total[M,N]

PRODUCTS = {  # M, K, N, narrow
    "narrow prime": (3, 7, 5, True),
    "all sizes 1": (1, 1, 1, False),
    "wide prime": (5, 11, 3, False),
    "narrow ragged": (4, 30, 9, True),
    "narrow row": (1, 6, 4, True),
    "one narrow product": (3, 1, 2, True),
    "wide, M > K": (9, 4, 2, False),
    "narrow, N > K": (2, 5, 8, True),
    "wide long": (3, 200, 1, False),
    "narrow long": (2, 300, 3, True),
}


def factors(rng: np.random.Generator, M: int, K: int, N: int, narrow: bool) -> tuple:
    """a, b and `narrow`."""
    return normal(rng, M, K), normal(rng, K, N), narrow


def accumulate(a, b, narrow):
    """One outer product after the other: each sum has only one right order."""
    a = nearest(a)
    b = nearest(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        if narrow:
            total = nearest(total)
    return total


multiply_accumulate = exercise(
    "tpu.multiply_accumulate",
    oracle=accumulate,
    cases=cases_of(PRODUCTS, factors),
    wrong={
        "none": wrong_sum.with_operands(as_it_is, as_it_is),
        "only_a": wrong_sum.with_operands(nearest, as_it_is),
        "only_b": wrong_sum.with_operands(as_it_is, nearest),
        "operands_cut": wrong_sum.with_operands(cut, cut),
        "operands_if_narrow": wrong_sum.operands_if_narrow,
        "products_too": wrong_sum.with_sum(wrong_sum.products_too),
        "products_if_narrow": wrong_sum.with_sum(wrong_sum.products_if_narrow),
        "operands_in_float16": wrong_sum.with_operands(float16, float16),
        "sums_in_float16": wrong_sum.with_sum(wrong_sum.sums_in_float16),
        "all_cut": wrong_sum.all_cut,
        "first_not_rounded": wrong_sum.first_not_rounded,
        "products_only": wrong_sum.with_sum(wrong_sum.products_only),
        "before_the_addition": wrong_sum.with_sum(wrong_sum.before_the_addition),
        "sums_cut": wrong_sum.with_sum(wrong_sum.sums_cut),
        "never": lambda a, b, narrow: accumulate(a, b, False),
        "always": lambda a, b, narrow: accumulate(a, b, True),
        "turned_round": lambda a, b, narrow: accumulate(a, b, not narrow),
        "at_the_end": wrong_sum.at_the_end,
        "not_added": wrong_sum.with_sum(wrong_sum.not_added),
        **by_own_name(
            wrong_sum.last_first,
            wrong_sum.no_first,
            wrong_sum.no_last,
            wrong_sum.rows_of_a,
            wrong_sum.columns_of_b,
            made=wrong_sum.with_order,
        ),
        **by_own_name(
            wrong_sum.in_pairs,
            wrong_sum.in_float64,
            wrong_sum.wide_at_once,
            wrong_sum.at_once,
            wrong_sum.at_once_then_rounded,
        ),
    },
    outputs=("total",),
    forbidden=FORBIDDEN,
    dtype="float32",
    **EXACT,
)

# tpu.split_bfloat16: x, any shape, parts -> found [parts, ...]

SPLITS = {  # shape, number of parts
    "prime": ((5,), 2),
    "all sizes 1": ((1,), 1),
    "ragged": ((2, 7), 3),
    "one part": ((4, 3), 1),
    "prime, four parts": ((5,), 4),
    "more parts than digits": ((6, 2), 5),
    "many": ((20, 9), 3),
}


def of_all_sizes(rng: np.random.Generator, shape: tuple[int, ...], parts: int) -> tuple:
    """Numbers from 1e-20 to 1e20 with digits for three parts."""
    exponent = rng.uniform(-20, 20, shape)
    x = normal(rng, *shape) * 10**exponent
    return x.astype(np.float32), parts


def split(x, parts):
    """Each remainder is exact, so that the parts are the same however they are computed."""
    rest = x
    found = []
    for _ in range(parts):
        found.append(nearest(rest))
        rest = rest - found[-1]
    return np.array(found)


split_bfloat16 = exercise(
    "tpu.split_bfloat16",
    oracle=split,
    cases=cases_of(SPLITS, of_all_sizes),
    wrong={
        "repeated": wrong_parts.with_rest(lambda x, rest, part: rest),
        "first_taken_away": wrong_parts.first_taken_away,
        "divided": wrong_parts.with_rest(lambda x, rest, part: rest / part),
        "in_float16": wrong_parts.parts_in_float16,
        "of_x_alone": wrong_parts.with_rest(lambda x, rest, part: x - part),
        "sign_turned": wrong_parts.with_rest(lambda x, rest, part: part - rest),
        "added": wrong_parts.with_rest(lambda x, rest, part: rest + part),
        "cut_off": wrong_parts.parts_cut_off,
        "last_kept": wrong_parts.last_kept,
        "remainders": wrong_parts.remainders,
        "shared": wrong_parts.shared,
        "smallest_first": lambda x, parts: split(x, parts)[::-1],
        "parts_last": lambda x, parts: np.moveaxis(split(x, parts), 0, -1),
        "the_sum": lambda x, parts: split(x, parts).sum(axis=0),
    },
    outputs=("found",),
    forbidden=FORBIDDEN,
    dtype="float32",
    **EXACT,
)

EXERCISES = [round_to_bfloat16, multiply_accumulate, split_bfloat16]
