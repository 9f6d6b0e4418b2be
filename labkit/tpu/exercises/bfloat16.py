"""The exercises of lesson 02_tpu/2, bfloat16: rounding, sums, split numbers, a mixed step.

A bfloat16 is a float32 whose lower 16 bits are 0. Bits are compared, where a right answer has only
one right rounding.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from labkit.checks.items import LIBRARIES, cases_of, exercise

FLOAT32 = {"dtype": "float32", "forbidden": (*LIBRARIES, "ml_dtypes", "labkit.tpu")}
BITS = {"rtol": 0, "atol": 0}
LARGEST = np.uint32(0x7F7F0000).view(np.float32)  # the largest bfloat16
SMALLEST = np.finfo(np.float32).tiny  # the smallest number with all its digits


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def as_bits(x) -> np.ndarray:
    """The bits of float32 numbers, as integers that have room for a carry."""
    return np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.int64)


def as_float32(bits) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


def nearest(x):
    """The nearest bfloat16, ties to even: half a step on the bits, then the lower ones go."""
    bits = as_bits(x)
    odd = bits >> 16 & 1
    return as_float32((bits + 0x7FFF + odd) >> 16 << 16)


def keep(x):
    return np.asarray(x, dtype=np.float32)


def cut(x):
    """Towards 0: the lower half goes."""
    return as_float32(as_bits(x) >> 16 << 16)


# tpu.round_to_bfloat16: x, any shape -> rounded, of the same shape


def signed(rng: np.random.Generator, upper: np.ndarray, lower: np.ndarray | int) -> np.ndarray:
    """float32 numbers from both halves of their bits; the signs are random."""
    sign = rng.integers(2, size=upper.shape)
    return as_float32(sign << 31 | upper << 16 | lower)


def uppers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Upper halves of normal numbers of all sizes, far from both ends."""
    return rng.choice(np.arange(0x0100, 0x7F00), shape, replace=False)


def exact(*shape: int) -> Callable:
    return lambda rng: signed(rng, uppers(rng, *shape), 0)


def anything(*shape: int) -> Callable:
    return lambda rng: signed(rng, uppers(rng, *shape), rng.integers(1, 0xFFFF, shape))


def halfway(rng):
    """Eight with an even upper half, eight with an odd one."""
    even = 2 * rng.choice(np.arange(0x0080, 0x3F80), (2, 8), replace=False)
    return signed(rng, even + np.array([[0], [1]]), 0x8000)


def beside_halfway(rng):
    return signed(rng, uppers(rng, 2, 6), np.array([[0x7FFF], [0x8001]]))


def carries(rng):
    """The fraction is full, and rounds up into the exponent."""
    exponent = rng.choice(np.arange(1, 0xFE), 6, replace=False)
    lower = np.array([0x8000, 0x8001, 0x9ABC, 0xC000, 0xFFFE, 0xFFFF])
    return signed(rng, exponent << 7 | 0x7F, lower)


def ends(rng):
    """0, the tiniest numbers, and the largest, with ties among them; two become infinite."""
    small = [0x00000000, 0x00000001, 0x00008000, 0x00018000, 0x0042ABCD, 0x007FFFFF]
    large = [0x7F7F0000, 0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF]
    bits = np.array([*small, *large])
    sign = rng.permutation([0, 1] * 5)
    return as_float32(bits | sign << 31)


NUMBERS = {
    "ragged": anything(5, 3),
    "all sizes 1": exact(1),
    "prime": anything(7),
    "exact numbers": exact(2, 3, 2),
    "halfway": halfway,
    "just beside halfway": beside_halfway,
    "up into the exponent": carries,
    "both ends": ends,
    "many": anything(50, 40),
}


def by_bits(change: Callable) -> Callable:
    """`change(bits)` stands for the rounded bits."""
    return lambda x: as_float32(change(as_bits(x)))


def eight_digits(x):
    """Eight significant bits at every size; a bfloat16 has fewer where it is tiny."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(fraction * 256) / 256, exponent).astype(np.float32)


rounding = exercise(
    "tpu.round_to_bfloat16",
    oracle=nearest,
    cases=cases_of(
        {name: (make,) for name, make in NUMBERS.items()}, lambda rng, make: (make(rng),)
    ),
    wrong={
        "truncated": cut,
        "always_away": by_bits(lambda bits: (bits + 0xFFFF) >> 16 << 16),
        "ties_away": by_bits(lambda bits: (bits + 0x8000) >> 16 << 16),
        "ties_down": by_bits(lambda bits: (bits + 0x7FFF) >> 16 << 16),
        "ties_to_odd": by_bits(lambda bits: (bits + 0x8000 - (bits >> 16 & 1)) >> 16 << 16),
        "other_bit": by_bits(lambda bits: (bits + 0x7FFF + (bits >> 17 & 1)) >> 16 << 16),
        "nine_digits": by_bits(lambda bits: (bits + 0x7FFF + (bits >> 16 & 1)) >> 15 << 15),
        "eight_digits": eight_digits,
        "nothing_cut": by_bits(lambda bits: bits + 0x7FFF + (bits >> 16 & 1)),
        "in_the_lower_half": by_bits(lambda bits: (bits + 0x7FFF + (bits >> 16 & 1)) >> 16),
        "upper_half_cut": by_bits(lambda bits: (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF),
        "converted": lambda x: as_bits(nearest(x)).astype(np.float32),
        "clipped": lambda x: np.clip(nearest(x), -LARGEST, LARGEST),
        "flushed": lambda x: nearest(np.where(abs(x) < SMALLEST, np.float32(0), x)),
        "float16": lambda x: x.astype(np.float16).astype(np.float32),
    },
    outputs=("rounded",),
    **FLOAT32,
    **BITS,
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
    return normal(rng, M, K), normal(rng, K, N), narrow


def accumulate(a, b, narrow):
    """One outer product after the other: each sum has only one right order."""
    a, b = nearest(a), nearest(b)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        total = total + np.outer(a[:, k], b[k])
        if narrow:
            total = nearest(total)
    return total


def summed(a, b, order, add: Callable, dtype: type = np.float32):
    """`add(total, product)` for each k in `order`, operands as they are; it may raise."""
    total = np.zeros((len(a), b.shape[1]), dtype)
    for k in order:
        total = add(total, np.outer(a[:, k], b[k]))
    return total.astype(np.float32)


def plus(narrow: bool) -> Callable:
    """How a product is added to a sum that is a bfloat16, or a float32."""
    if narrow:
        return lambda total, product: nearest(total + product)
    return lambda total, product: total + product


def with_operands(left: Callable, right: Callable) -> Callable:
    """The operands are `left(a)` and `right(b)`, the sums are right."""
    return lambda a, b, narrow: summed(left(a), right(b), range(len(b)), plus(narrow))


def with_order(order: Callable) -> Callable:
    """Only the products k in order(a, b), in this order."""
    return lambda a, b, narrow: summed(nearest(a), nearest(b), order(a, b), plus(narrow))


def with_sums(add_of: Callable) -> Callable:
    """`add_of(narrow)` gives add(total, product)."""
    return lambda a, b, narrow: summed(nearest(a), nearest(b), range(len(b)), add_of(narrow))


def operands_if_narrow(a, b, narrow):
    return accumulate(a, b, True) if narrow else summed(a, b, range(len(b)), plus(False))


def products_too(narrow):
    add = plus(narrow)
    return lambda total, product: add(total, nearest(product))


def products_only(narrow):
    return lambda total, product: total + (nearest(product) if narrow else product)


def before_the_addition(narrow):
    return lambda total, product: (nearest(total) if narrow else total) + product


def last_product(narrow):
    add = plus(narrow)
    return lambda total, product: add(np.zeros_like(total), product)


def cut_off(narrow):
    return lambda total, product: cut(total + product) if narrow else total + product


def in_float64(a, b, narrow):
    a, b = nearest(a).astype(float), nearest(b).astype(float)
    return summed(a, b, range(len(b)), plus(narrow), float)


def at_once(a, b, narrow):
    return nearest(a) @ nearest(b)


def at_once_then_rounded(a, b, narrow):
    total = at_once(a, b, narrow)
    return nearest(total) if narrow else total


def wide_at_once(a, b, narrow):
    return accumulate(a, b, True) if narrow else at_once(a, b, narrow)


def at_the_end(a, b, narrow):
    total = accumulate(a, b, False)
    return nearest(total) if narrow else total


sums = exercise(
    "tpu.multiply_accumulate",
    oracle=accumulate,
    cases=cases_of(PRODUCTS, factors),
    wrong={
        "none": with_operands(keep, keep),
        "only_a": with_operands(nearest, keep),
        "only_b": with_operands(keep, nearest),
        "operands_cut": with_operands(cut, cut),
        "operands_if_narrow": operands_if_narrow,
        "products_too": with_sums(products_too),
        "products_only": with_sums(products_only),
        "before_the_addition": with_sums(before_the_addition),
        "sums_cut": with_sums(cut_off),
        "never": lambda a, b, narrow: accumulate(a, b, False),
        "always": lambda a, b, narrow: accumulate(a, b, True),
        "turned_round": lambda a, b, narrow: accumulate(a, b, not narrow),
        "at_the_end": at_the_end,
        "not_added": with_sums(last_product),
        "last_first": with_order(lambda a, b: range(len(b))[::-1]),
        "no_first": with_order(lambda a, b: range(1, len(b))),
        "no_last": with_order(lambda a, b: range(len(b) - 1)),
        "rows_of_a": with_order(lambda a, b: range(len(a))),
        "columns_of_b": with_order(lambda a, b: range(b.shape[1])),
        "in_float64": in_float64,
        "wide_at_once": wide_at_once,
        "at_once": at_once,
        "at_once_then_rounded": at_once_then_rounded,
    },
    outputs=("total",),
    **FLOAT32,
    **BITS,
)

# tpu.split_bfloat16: x, any shape, parts -> found [parts, ...]

SPLITS = {  # shape, number of parts
    "prime": ((5,), 2),
    "all sizes 1": ((1,), 1),
    "ragged": ((2, 7), 3),
    "one part": ((4, 3), 1),
    "square": ((3, 3), 2),
    "more parts than digits": ((6, 2), 5),
    "many": ((20, 9), 3),
}


def of_all_sizes(rng: np.random.Generator, shape: tuple[int, ...], parts: int) -> tuple:
    """Numbers from 1e-20 to 1e20 with digits for three parts."""
    exponent = rng.uniform(-20, 20, shape)
    return (normal(rng, *shape) * 10**exponent).astype(np.float32), parts


def split(x, parts):
    """Each remainder is exact, so that the parts are the same however they are computed."""
    return split_by(lambda x, rest, part: rest - part, x, parts)


def split_by(left: Callable, x, parts, part_of: Callable = nearest):
    """`left(x, rest, part)` remains after a part; `part_of(rest)` is a part."""
    rest = x
    found = []
    for _ in range(parts):
        found.append(part_of(rest))
        rest = left(x, rest, found[-1])
    return np.array(found)


def last_kept(x, parts):
    found = split(x, parts)
    found[-1] = x - found[:-1].sum(axis=0)
    return found


def remainders(x, parts):
    """What is left before each part, in place of the parts."""
    found = split(x, parts)
    return np.array([x - found[:i].sum(axis=0) for i in range(parts)])


splitting = exercise(
    "tpu.split_bfloat16",
    oracle=split,
    cases=cases_of(SPLITS, of_all_sizes),
    wrong={
        "repeated": partial(split_by, lambda x, rest, part: rest),
        "of_x_alone": partial(split_by, lambda x, rest, part: x - part),
        "sign_turned": partial(split_by, lambda x, rest, part: part - rest),
        "added": partial(split_by, lambda x, rest, part: rest + part),
        "cut_off": partial(split_by, lambda x, rest, part: rest - part, part_of=cut),
        "last_kept": last_kept,
        "remainders": remainders,
        "shared": lambda x, parts: np.array([nearest(x / parts)] * parts),
        "smallest_first": lambda x, parts: split(x, parts)[::-1],
        "parts_last": lambda x, parts: np.moveaxis(split(x, parts), 0, -1),
        "the_sum": lambda x, parts: split(x, parts).sum(axis=0),
    },
    outputs=("found",),
    **FLOAT32,
    **BITS,
)

# tpu.mixed_precision_step: master, gradient, any shape, lr -> master, copy

STEPS = {  # shape, learning rate
    "prime": ((7,), 0.1),
    "all sizes 1": ((1,), 0.5),
    "ragged": ((5, 3), 0.01),
    "small step": ((4, 6), 0.0004),
    "one row": ((1, 9), 0.03),
    "large step": ((2, 5), 3.0),
    "many": ((30, 20), 0.01),
}


def step(master, gradient, lr):
    master = master - np.float32(lr) * gradient
    return master, nearest(master)


def weights(rng: np.random.Generator, shape: tuple[int, ...], lr: float) -> tuple:
    """A master and a gradient, one of whose entries is 0.

    The new master stays clear of the middle between two bfloat16 numbers: there, the last bit of
    a right answer, which may compute in another order, would decide about its copy.
    """
    master, gradient = normal(rng, *shape), normal(rng, *shape)
    if gradient.size > 1:
        gradient.flat[-1] = 0
    while (near := near_halfway(step(master, gradient, lr)[0])).any():
        master[near] = normal(rng, np.count_nonzero(near))
    return master, gradient, lr


def near_halfway(x) -> np.ndarray:
    lower = as_bits(x) & 0xFFFF
    return abs(lower - 0x8000) < 64


def mixed(start=keep, slope=keep, rate=keep, update=keep, end=keep, copy=nearest) -> Callable:
    """A step that rounds the old master, the gradient, the rate, the update or the new master."""

    def wrong(master, gradient, lr):
        change = update(rate(lr) * slope(gradient))
        new = end(start(master) - change)
        return new, copy(new)

    return wrong


def copy_steps(master, gradient, lr):
    """Master and copy make a step of their own."""
    new, _ = step(master, gradient, lr)
    return new, nearest(nearest(master) - np.float32(lr) * gradient)


def with_copy(copy: Callable) -> Callable:
    """The new master is right; `copy(master, gradient)` of the old one stands for its copy."""
    return lambda master, gradient, lr: (step(master, gradient, lr)[0], copy(master, gradient))


mixed_step = exercise(
    "tpu.mixed_precision_step",
    oracle=step,
    cases=cases_of(STEPS, weights),
    wrong={
        # first those whose master is right
        "copy": mixed(copy=keep),
        "copy_cut": mixed(copy=cut),
        "copy_in_float16": mixed(copy=lambda x: x.astype(np.float16).astype(np.float32)),
        "old_copy": with_copy(lambda master, gradient: nearest(master)),
        "gradient_copied": with_copy(lambda master, gradient: nearest(gradient)),
        "copy_steps": copy_steps,
        "in_bfloat16": mixed(nearest, nearest, nearest, nearest, nearest),
        "master_in_bfloat16": mixed(start=nearest, end=nearest),
        "from_the_copy": mixed(start=nearest),
        "master": mixed(end=nearest),
        "update": mixed(update=nearest),
        "slope": mixed(slope=nearest),
        "rate": mixed(rate=nearest),
        "operands": mixed(start=nearest, slope=nearest),
        "slope_and_update": mixed(slope=nearest, update=nearest),
        "uphill": mixed(slope=np.negative),
        "no_rate": lambda master, gradient, lr: step(master, gradient, 1),
    },
    outputs=("master", "copy"),
    rtol=1e-6,
    atol=1e-6,
    **FLOAT32,
)

EXERCISES = [rounding, sums, splitting, mixed_step]
