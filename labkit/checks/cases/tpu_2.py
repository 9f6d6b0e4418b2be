"""The exercises of lesson 02_tpu/2, bfloat16: rounding, sums, split numbers, a mixed step.

Each oracle has its wrong ideas as options: another rounding, or none (`keep`), in some place.
"""

from functools import partial

import numpy as np

from labkit.checks.cases.common import LIBRARIES
from labkit.checks.lessons import cases_of, exercise

FIELDS = {"dtype": "float32", "forbidden": (*LIBRARIES, "ml_dtypes", "labkit.tpu")}
keep, ALL = np.asarray, slice(None)
normal = partial(np.random.Generator.standard_normal, dtype=np.float32)  # (rng, shape)


def nearest(x, *, add=0x7FFF, odd=1):
    """The nearest bfloat16, ties to even: half a step on the bits, then the lower ones go."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.int64)
    return (bits + add + odd * (bits >> 16 & 1) >> 16 << 16).astype(np.uint32).view(np.float32)


NEVER, NARROW, ALWAYS = (keep, keep), (keep, nearest), (nearest, nearest)  # by `narrow`


def accumulate(a, b, narrow, *, left=nearest, right=nearest, product=NEVER, sums=NARROW, k=ALL):
    """a[M,K] @ b[K,N], one outer product after the other; each sum has only one right order."""
    a, b, total = left(a), right(b), np.zeros((len(a), b.shape[1]), np.float32)
    for i in range(len(b))[k]:
        total = sums[narrow](total + product[narrow](np.outer(a[:, i], b[i])))
    return total


def at_once(a, b, narrow, *, end=NEVER):
    return end[narrow](nearest(a) @ nearest(b))


def split(x, parts, *, last=nearest, left=lambda x, rest, part: rest - part):
    """Each remainder is exact, so that the parts are the same however they are computed."""
    rest, found = x, []
    for i in range(parts):
        found.append((nearest if i < parts - 1 else last)(rest))
        rest = left(x, rest, found[-1])
    return np.array(found)


def step(master, gradient, lr, *, start=keep, slope=keep, update=keep, end=keep, copy=nearest):
    master = end(start(master) - update(np.float32(lr) * slope(gradient)))
    return master, copy(master)


def numbers(rng, shape, lower=None, uppers=range(0x0100, 0x7F00)):
    """float32[shape] by their bits: bfloat16 if lower is 0, halfway between two if it is 0x8000."""
    bits = rng.choice(uppers, shape, replace=False) << 16
    bits |= rng.integers(1, 0xFFFF, shape) if lower is None else lower
    return (bits | rng.integers(2, size=shape) << 31).astype(np.uint32).view(np.float32)


def made(oracle, id, outputs, tolerance, sizes, inputs, wrong):
    """`wrong` has for each wrong idea the oracle's options, or a function."""
    wrong = {n: w if callable(w) else partial(oracle, **w) for n, w in wrong.items()}
    given = FIELDS | {"outputs": tuple(outputs.split()), "rtol": tolerance, "atol": tolerance}
    return exercise(f"tpu.{id}", oracle, cases_of(sizes, inputs), wrong, **given)


EXERCISES = [
    made(
        *(nearest, "round_to_bfloat16", "rounded", 0),
        {"all sizes 1": ((1,), 0), "prime": ((7,),), "ragged": ((5, 3),), "many": ((50, 40),)}
        | {"halfway": ((16,), 0x8000), "both ends": ((2, 1, 2), 0xFFFF, [0, 1, 0x7F, 0x7F7F])},
        lambda rng, *given: (numbers(rng, *given),),
        {"truncated": {"add": 0, "odd": 0}, "ties_away": {"add": 0x8000, "odd": 0}}
        | {"ties_down": {"odd": 0}, "ties_to_odd": {"add": 0x8000, "odd": -1}}
        | {"converted": lambda x: nearest(x).view(np.uint32).astype(np.float32)}
        | {"float16": lambda x: x.astype(np.float16).astype(np.float32)},
    ),
    made(
        *(accumulate, "multiply_accumulate", "total", 0),
        {"all sizes 1": (1, 1, 1, 0), "narrow prime": (3, 7, 5, 1), "wide prime": (5, 11, 3, 0)}
        | {"narrow ragged": (4, 30, 9, 1), "narrow row": (1, 6, 4, 1), "wide long": (3, 200, 1, 0)},
        lambda rng, M, K, N, narrow: (normal(rng, (M, K)), normal(rng, (K, N)), bool(narrow)),
        {"none": {"left": keep, "right": keep}, "only_a": {"right": keep}, "only_b": {"left": keep}}
        | {"products_too": {"product": ALWAYS}, "never": {"sums": NEVER}}
        | {"products_only": {"product": NARROW, "sums": NEVER}, "always": {"sums": ALWAYS}}
        | {"last_first": {"k": slice(None, None, -1)}, "no_first": {"k": slice(1, None)}}
        | {"rows_of_a": lambda a, b, n: accumulate(a, b, n, k=slice(len(a)))}
        | {"at_the_end": lambda a, b, n: NARROW[n](accumulate(a, b, False))}
        | {"wide_at_once": lambda a, b, n: (at_once, accumulate)[n](a, b, n)}
        | {"at_once": at_once, "at_once_then_rounded": partial(at_once, end=NARROW)},
    ),
    made(
        *(split, "split_bfloat16", "found", 0),
        {"all sizes 1": ((1,), 1), "prime": ((5,), 2), "ragged": ((2, 7), 3)}
        | {"one part": ((4, 3), 1), "square": ((3, 3), 2), "many": ((20, 9), 3)},
        lambda rng, shape, parts: (normal(rng, shape), parts),
        {"repeated": {"left": lambda x, r, p: r}, "sign_turned": {"left": lambda x, r, p: p - r}}
        | {"of_x_alone": {"left": lambda x, r, p: x - p}, "added": {"left": lambda x, r, p: r + p}}
        | {"last_kept": {"last": keep}, "smallest_first": lambda x, parts: split(x, parts)[::-1]},
    ),
    made(
        *(step, "mixed_precision_step", "master copy", 1e-6),
        {"all sizes 1": ((1,), 0.5), "prime": ((7,), 0.1), "ragged": ((5, 3), 0.01)}
        | {"small step": ((4, 6), 0.0004), "one row": ((1, 9), 0.03), "many": ((30, 20), 0.01)},
        lambda rng, shape, lr: (normal(rng, shape), normal(rng, shape), lr),
        {"in_bfloat16": {"start": nearest, "end": nearest}, "from_the_copy": {"start": nearest}}
        | {"master": {"end": nearest}, "update": {"update": nearest}, "slope": {"slope": nearest}}
        | {"uphill": {"slope": np.negative}, "no_rate": lambda m, g, lr: step(m, g, 1)}
        | {"copy": {"copy": keep}, "old_copy": lambda m, g, lr: (step(m, g, lr)[0], nearest(m))},
    ),
]
