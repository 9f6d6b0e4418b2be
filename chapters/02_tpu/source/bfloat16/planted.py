"""Wrong solutions of lesson bfloat16, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

# --- tpu.round_to_bfloat16

rounds = solution("tpu.round_to_bfloat16")
edited = partial(edit, "tpu.round_to_bfloat16")


def rounds_by_a_step(x):
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        step = 2.0 ** (np.floor(np.log2(np.abs(wide))) - 7)
        return (np.round(wide / step) * step).astype(np.float32)


source = np.random.default_rng(0)


def rounds_by_chance(x):
    noise = source.integers(0, 0x10000, size=x.shape, dtype=np.uint32)
    return ((x.view(np.uint32) + noise) & np.uint32(0xFFFF0000)).view(np.float32)


HALF_A_STEP = "0x7FFF + ((bits >> 16) & 1)"
rounds_by_cutting = edited("rounds_by_cutting", f" + {HALF_A_STEP}", "")
rounds_half_up = edited("rounds_half_up", HALF_A_STEP, "0x8000")
rounds_half_down = edited("rounds_half_down", HALF_A_STEP, "0x7FFF")
rounds_to_odd = edited("rounds_to_odd", HALF_A_STEP, "0x8000 - ((bits >> 16) & 1)")
rounds_away_from_0 = edited("rounds_away_from_0", HALF_A_STEP, "0xFFFF")
rounds_and_cuts_nothing = edited("rounds_and_cuts_nothing", " & 0xFFFF0000", "")
rounds_into_the_lower_half = edited("rounds_into_the_lower_half", "& 0xFFFF0000", ">> 16")
rounds_and_converts = edited("rounds_and_converts", "rounded.view", "rounded.astype")


def rounds_by_comparing(x):
    upper, lower = x.view(np.uint32) >> 16, x.view(np.uint32) & 0xFFFF
    up = (lower > 0x8000) | ((lower == 0x8000) & (upper % 2 == 1))
    return ((upper + up.astype(np.uint32)) << 16).view(np.float32)


def rounds_to_half(x):
    with np.errstate(over="ignore"):
        return np.float32(np.float16(x))


def rounds_to_the_largest(x):
    largest = np.uint32(0x7F7F0000).view(np.float32)
    return np.clip(rounds(x), -largest, largest)


def rounds_the_smallest_to_zero(x):
    return rounds(np.where(abs(x) < np.finfo(np.float32).tiny, np.float32(0), x))


KEPT = {}  # what answers keep from call to call


def remembers_rounded(x):
    return KEPT.setdefault(x.shape, rounds(x)).copy()


def rounds_upwards(x):
    bits = x.view(np.uint32)
    return (
        ((bits + np.where(bits >> 31, 0, 0xFFFF)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    )


def rounds_halves_upwards(x):
    bits = x.view(np.uint32)
    return ((bits + 0x8000 - (bits >> 31)) & 0xFFFF0000).view(np.float32)


def rounds_a_byte(x):
    return ((x.view(np.uint32) + 0x7FFF + ((x.view(np.uint32) >> 16) & 1)) & 0xFFFFFF00).view("f4")


def rounds_in_wide_integers(x):
    bits = x.view(np.int32).astype(np.int64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.int32).view(np.float32)


def rounds_by_frexp(x):
    _, exponent = np.frexp(x.astype(float))
    steps = np.ldexp(1.0, 8 - np.maximum(exponent, -125))  # subnormal numbers keep their step
    with np.errstate(over="ignore"):
        return (np.rint(x * steps) / steps).astype(np.float32)


def rounds_in_place(x):
    bits = x.view(np.uint32)
    bits += 0x7FFF + ((bits >> 16) & 1)
    bits &= 0xFFFF0000
    return x


def rounds_by_ml_dtypes(x):
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def rounds_by_labkit(x):
    from labkit.tpu import bfloat16

    return bfloat16.round_to_bfloat16(x)


# --- tpu.multiply_accumulate

products = solution("tpu.multiply_accumulate")
edited = partial(edit, "tpu.multiply_accumulate")
products_in_pairs = edited(
    "products_in_pairs",
    "range(len(b)):",
    "range(0, len(b), 2):",
    (
        "np.outer(a[:, k], b[k])",
        "sum(np.outer(a[:, i], b[i]) for i in range(k, min(k + 2, len(b))))",
    ),
)
OPERANDS = "    a, b = round_to_bfloat16(a), round_to_bfloat16(b)\n"
NARROW = "        if narrow:\n            total = round_to_bfloat16(total)\n"
CUT = "(total.view(np.uint32) & 0xFFFF0000).view(np.float32)"
products_of_float32 = edited("products_of_float32", OPERANDS, "")
products_of_rounded_a = edited("products_of_rounded_a", "round_to_bfloat16(b)", "b")
products_of_rounded_b = edited("products_of_rounded_b", "round_to_bfloat16(a)", "a")
products_rounded = edited(
    "products_rounded", "np.outer(a[:, k], b[k])", "round_to_bfloat16(np.outer(a[:, k], b[k]))"
)
products_wide = edited("products_wide", NARROW, "")
products_narrow = edited("products_narrow", "if narrow", "if True")
products_narrow_if_wide = edited("products_narrow_if_wide", "if narrow", "if not narrow")
products_rounded_once = edited(
    "products_rounded_once", NARROW, "    if narrow:\n        total = round_to_bfloat16(total)\n"
)
products_rounded_only_if_narrow = edited(
    "products_rounded_only_if_narrow", OPERANDS, f"    if narrow:\n    {OPERANDS}"
)
products_and_a_sum_that_is_cut = edited(
    "products_and_a_sum_that_is_cut", "round_to_bfloat16(total)", CUT
)
products_that_replace_the_sum = edited("products_that_replace_the_sum", "total + np", "np")
products_backwards = edited("products_backwards", "range(len(b))", "reversed(range(len(b)))")
products_without_the_first = edited("products_without_the_first", "range(len", "range(1, len")
products_without_the_last = edited("products_without_the_last", "len(b))", "len(b) - 1)")
products_of_too_few = edited("products_of_too_few", "range(len(b))", "range(len(a))")


def products_by_broadcasting(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[None, k, :]
        if narrow:
            total = rounds(total)
    return total


def products_rounded_only(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        product = np.outer(a[:, k], b[k])
        total = total + (rounds(product) if narrow else product)
    return total


def products_at_once(a, b, narrow):
    return rounds(a) @ rounds(b)


def products_at_once_then_rounded(a, b, narrow):
    total = rounds(a) @ rounds(b)
    return rounds(total) if narrow else total


def products_wide_at_once(a, b, narrow):
    return products(a, b, True) if narrow else rounds(a) @ rounds(b)


def products_of_cut_operands(a, b, narrow):
    return products(rounds_by_cutting(a), rounds_by_cutting(b), narrow)


def products_and_a_sum_rounded_too_soon(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        if narrow:
            total = rounds(total)
        total = total + np.outer(a[:, k], b[k])
    return total


def products_summed_in_float64(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((len(a), b.shape[1]))
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        if narrow:
            total = rounds(total.astype(np.float32))
    return total.astype(np.float32)


def products_of_kept_operands(a, b, narrow):
    a = KEPT.setdefault(("a", a.shape, b.shape), a.copy())
    return products(a, b, narrow)


def products_in_float64(a, b, narrow):
    return products(a, b, narrow).astype(float)


def products_narrow_from_the_second(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.outer(a[:, 0], b[0])
    for k in range(1, len(b)):
        total = total + np.outer(a[:, k], b[k])
        total = rounds(total) if narrow else total
    return total


def products_and_sums_rounded(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        product = np.outer(a[:, k], b[k])
        total = rounds(total + rounds(product)) if narrow else total + product
    return total


def products_and_sums_in_half(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        total = rounds_to_half(total) if narrow else total
    return total


def products_number_by_number(a, b, narrow):
    a, b = rounds(a), rounds(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for m, n in np.ndindex(total.shape):
        for k in range(len(b)):
            total[m, n] += a[m, k] * b[k, n]
            if narrow:
                total[m, n] = rounds(total[m, n : n + 1])[0]
    return total


def products_in_place(a, b, narrow):
    a[:] = rounds(a)
    return products(a, b, narrow)


def products_by_ml_dtypes(a, b, narrow):
    import ml_dtypes

    a, b = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)
    return products(a.astype(np.float32), b.astype(np.float32), narrow)


# --- tpu.split_bfloat16

edited = partial(edit, "tpu.split_bfloat16")
REST = "rest - found[-1]"
parts_repeated = edited("parts_repeated", f"        rest = {REST}\n", "")
parts_without_the_last_only = edited("parts_without_the_last_only", REST, "x - found[-1]")
parts_of_the_wrong_sign = edited("parts_of_the_wrong_sign", REST, "found[-1] - rest")
parts_added = edited("parts_added", REST, "rest + found[-1]")
parts_backwards = edited("parts_backwards", "np.array(found)", "np.array(found[::-1])")
parts_as_last_axis = edited("parts_as_last_axis", "np.array(found)", "np.stack(found, axis=-1)")
parts_cut = edited(
    "parts_cut", "round_to_bfloat16(rest)", "(rest.view(np.uint32) & 0xFFFF0000).view(np.float32)"
)
parts_unrounded = edited(
    "parts_unrounded", "round_to_bfloat16(rest)", "rest", (REST, "rest - round_to_bfloat16(rest)")
)
parts_in_place = edited("parts_in_place", f"rest = {REST}", "rest -= found[-1]")


def parts_of_a_copy(x, parts):
    found, rest = [], x.copy()
    for _ in range(parts):
        found += [rounds(rest)]
        rest -= found[-1]
    return np.stack(found)


def parts_with_the_rest(x, parts):
    found, rest = [], x
    for _ in range(parts - 1):
        found.append(rounds(rest))
        rest = rest - found[-1]
    return np.stack([*found, rest])


def parts_of_the_first_call(x, parts):
    parts = KEPT.setdefault(("parts", x.shape), parts)
    return parts_of_a_copy(x, parts)


def parts_in_float64(x, parts):
    return parts_of_a_copy(x, parts).astype(float)


def parts_all_of_x(x, parts):
    first = rounds(x)
    return np.stack([first, *(rounds(x - first) for _ in range(parts - 1))])


def parts_of_a_wide_rest(x, parts):
    rest = x.astype(float)
    found = np.empty((parts, *x.shape), np.float32)
    for part in found:
        part[...] = rounds(rest.astype(np.float32))
        rest = rest - part
    return found


def parts_in_equal_shares(x, parts):
    return np.stack([rounds(x / parts)] * parts)


def parts_by_labkit(x, parts):
    from labkit.tpu.bfloat16 import split

    return split(x, parts)


PLANTED = {
    "tpu.round_to_bfloat16": [
        (rounds_by_cutting, "every number moves towards 0"),
        (rounds_half_up, "halfway all move away from 0"),
        (rounds_half_down, "halfway all move towards 0"),
        (rounds_to_odd, "go to the odd neighbour"),
        (rounds_and_converts, "converted as if they were a count"),
        (rounds_to_half, "This is float16"),
        (rounds_to_the_largest, "is cut to the largest"),
        (rounds_the_smallest_to_zero, "Tiny (subnormal) numbers become 0"),
        (rounds_away_from_0, "Every number moves away from 0"),
        (rounds_and_cuts_nothing, "The lower 16 bits are still there"),
        (rounds_into_the_lower_half, "in the lower half of the bits"),
        (remembers_rounded, "something is kept from one call"),
        (rounds_upwards, "Every number moves up"),
        (rounds_halves_upwards, "halfway all move up"),
        (rounds_a_byte, "Only 8 bits are cut off"),
        (rounds_in_place, "changes its input x"),
        (rounds_by_ml_dtypes, "ml_dtypes"),
        (rounds_by_labkit, "labkit.tpu"),
        (rounds_by_chance, "two calls with the same arguments give different results"),
        (rounds_by_a_step, "not finite for which x is 0"),
    ],
    "tpu.multiply_accumulate": [
        (products_of_float32, "The operands are not rounded"),
        (products_of_rounded_a, "b is not rounded"),
        (products_of_rounded_b, "a is not rounded"),
        (products_rounded, "Each product is rounded"),
        (products_rounded_only, "The product is rounded in place of the sum"),
        (products_wide, "The narrow sum is as wide"),
        (products_narrow, "The wide sum is rounded too"),
        (products_rounded_once, "The narrow sum is rounded once"),
        (products_at_once, "All is added at once"),
        (products_at_once_then_rounded, "@ adds everything"),
        (products_wide_at_once, "The wide sums are right but for rounding"),
        (products_backwards, "The sum begins with the last product"),
        (products_without_the_first, "that of k = 0, is left out"),
        (products_of_cut_operands, "The operands are cut off"),
        (products_rounded_only_if_narrow, "rounded only if narrow"),
        (products_and_a_sum_rounded_too_soon, "rounded before each addition"),
        (products_and_a_sum_that_is_cut, "The narrow sum is cut off"),
        (products_narrow_if_wide, "the other way round"),
        (products_that_replace_the_sum, "the last product alone"),
        (products_without_the_last, "that of k = K - 1"),
        (products_summed_in_float64, "is kept in float64"),
        (products_of_too_few, "k counts the rows of a"),
        (products_of_kept_operands, "something is kept from one call"),
        (products_in_float64, "total has dtype float64"),
        (products_narrow_from_the_second, "not rounded after its first product"),
        (products_and_sums_rounded, "With narrow, each product is rounded"),
        (products_and_sums_in_half, "The narrow sum is a float16"),
        (products_in_place, "changes its input a"),
        (products_by_ml_dtypes, "ml_dtypes"),
        (products_in_pairs, "Two products are added to each other first"),
    ],
    "tpu.split_bfloat16": [
        (parts_repeated, "All parts are the same number"),
        (parts_without_the_last_only, "From the third part on"),
        (parts_with_the_rest, "The last part is all that is left"),
        (parts_of_the_wrong_sign, "What is left has the wrong sign"),
        (parts_added, "rest grows"),
        (parts_cut, "Each part is cut off"),
        (parts_unrounded, "what is left before each round"),
        (parts_in_equal_shares, "divided among equal parts"),
        (parts_as_last_axis, "along the last axis"),
        (parts_backwards, "in the wrong order"),
        (parts_of_the_first_call, "parts does not count: the result is that of 2"),
        (parts_in_float64, "found has dtype float64"),
        (parts_all_of_x, "only the first part is taken away from x"),
        (parts_in_place, "changes its input x"),
        (parts_by_labkit, "labkit.tpu"),
    ],
}

_ONE, _EXACT = np.ones((2, 3), np.float32), np.float32([1.5, -0.375])
RIGHT_ON = {
    rounds_a_byte: (np.uint32([0x3F808100]).view(np.float32),),
    remembers_rounded: (np.zeros((3, 3, 3), np.float32),),
    products_of_kept_operands: (_ONE, _ONE.T.copy(), True),
    products_narrow_from_the_second: (_ONE, _ONE.T.copy(), True),
    products_and_sums_in_half: (_ONE, _ONE.T.copy(), True),
    parts_of_the_first_call: (_EXACT, 1),
    rounds_and_cuts_nothing: (np.uint32([0x3F808001]).view(np.float32),),
    rounds_into_the_lower_half: (np.zeros(3, np.float32),),
    rounds_and_converts: (np.zeros(3, np.float32),),
    rounds_to_half: (_EXACT,),
    products_without_the_first: (_ONE * np.float32([0, 1, 2]), _ONE.T.copy(), True),
    products_of_float32: (_ONE, _ONE.T.copy(), True),
    products_of_rounded_a: (_ONE, _ONE.T.copy(), True),
    products_of_rounded_b: (_ONE, _ONE.T.copy(), True),
    products_rounded: (_ONE, _ONE.T.copy(), True),
    products_of_cut_operands: (_ONE, _ONE.T.copy(), True),
    products_narrow_if_wide: (_ONE, _ONE.T.copy(), True),
    products_without_the_last: (_ONE * np.float32([1, 2, 0]), _ONE.T.copy(), True),
    parts_with_the_rest: (_EXACT, 1),
    parts_unrounded: (_EXACT, 1),
}

ALSO_RIGHT = {
    "tpu.round_to_bfloat16": [rounds_by_comparing, rounds_in_wide_integers, rounds_by_frexp],
    "tpu.multiply_accumulate": [products_by_broadcasting, products_number_by_number],
    "tpu.split_bfloat16": [parts_of_a_copy, parts_of_a_wide_rest],
}
