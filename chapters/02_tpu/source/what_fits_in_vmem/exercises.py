"""The exercises of the lesson: what a kernel needs in VMEM, what it copies, and its own copies.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_fits_in_vmem import judging, solutions
from labkit_lessons.tpu.what_fits_in_vmem.wrong import double_by_hand as wrong_copies
from labkit_lessons.tpu.what_fits_in_vmem.wrong import hbm_bytes as wrong_traffic
from labkit_lessons.tpu.what_fits_in_vmem.wrong import vmem_bytes as wrong_memory

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

# tpu.vmem_bytes: bm, bk, bn [n], bytes of a number -> bytes [n]

CHOICES = {  # how many choices, bytes of a number, largest size
    "prime": (7, 2, 1000),
    "one choice": (1, 4, 1000),
    "two choices": (2, 1, 1000),
    "ragged": (13, 2, 500),
    "large blocks": (40, 4, 30_000),
}


def block_sizes(rng: np.random.Generator, n: int, itemsize: int, largest: int) -> tuple:
    """Three sizes for each of n choices, all different."""
    bm, bk, bn = rng.choice(np.arange(1, largest), (3, n), replace=False)
    return bm, bk, bn, itemsize


def vmem(bm, bk, bn, itemsize):
    """Two places for what is copied, one for the sum."""
    x, w, y = itemsize * bm * bk, itemsize * bk * bn, itemsize * bm * bn
    bias = 4 * bn
    return 2 * (x + w + y + bias) + 4 * bm * bn


vmem_bytes = exercise(
    "tpu.vmem_bytes",
    oracle=vmem,
    cases=cases_of(CHOICES, block_sizes),
    wrong=by_own_name(
        wrong_memory.one_place,
        wrong_memory.total_twice,
        wrong_memory.y_once,
        wrong_memory.no_bias,
        wrong_memory.bias_small,
        wrong_memory.total_small,
        wrong_memory.no_total,
        wrong_memory.in_32_bits,
    ),
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

# tpu.hbm_bytes: M, K, N, blocks [n], bytes of a number -> bytes [n]

PRODUCTS = {  # how many choices, bytes of a number, the sizes, which have many divisors
    "prime": (7, 2, 5040, 7560, 10080),
    "one choice": (1, 4, 5040, 10080, 7560),
    "two choices": (2, 1, 3465, 4725, 10395),
    "ragged": (13, 2, 15015, 7560, 17325),
    "large matrices": (11, 4, 322_560, 483_840, 645_120),
}


def products(rng: np.random.Generator, n: int, itemsize: int, *sizes: int) -> tuple:
    """The sizes, and n choices of blocks among their divisors, two at least along K."""
    sides = []
    for size in sizes:
        divisors = [d for d in range(2, size // 2 + 1) if size % d == 0]
        sides.append(rng.choice(divisors, n, replace=False))
    return *sizes, *sides, itemsize


def traffic(M, K, N, bm, bk, bn, itemsize):
    """x once for each column of y's blocks, w once for each row, y once."""
    columns, rows = N // bn, M // bm
    return itemsize * (M * K * columns + K * N * rows + M * N)


hbm_bytes = exercise(
    "tpu.hbm_bytes",
    oracle=traffic,
    cases=cases_of(PRODUCTS, products),
    wrong=by_own_name(
        wrong_traffic.each_once,
        wrong_traffic.swapped,
        wrong_traffic.y_each_step,
        wrong_traffic.numbers,
        wrong_traffic.no_y,
        wrong_traffic.by_bk,
        wrong_traffic.in_32_bits,
    ),
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

# tpu.double_by_hand: x[M, N] in HBM -> y[M, N] in HBM

SHAPES = {
    "prime": (3, 7),
    "one number": (1, 1),
    "ragged": (5, 2),
    "a row": (1, 13),
    "many": (8, 16),
}

double_by_hand = exercise(
    "tpu.double_by_hand",
    oracle=lambda x: 2 * x,
    cases=cases_of(SHAPES, lambda rng, M, N: (rng.uniform(-3, 3, (M, N)).astype(np.float32),)),
    wrong=by_own_name(
        wrong_copies.copied,
        wrong_copies.four_times,
        wrong_copies.squared,
        wrong_copies.two_more,
        wrong_copies.halved,
    ),
    outputs=("y",),
    forbidden=("torch", "tensorflow", "scipy"),
    adapter=judging.by_hand,
    plain=judging.plain,
    fallback=solutions.double_by_hand,
    plain_python=True,
)

EXERCISES = [vmem_bytes, hbm_bytes, double_by_hand]
