"""The exercises of the lesson: index maps, the step of a tiled product, and what masks K.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of, exercise
from labkit_lessons.tpu.a_kernel_of_your_own import judging, solutions
from labkit_lessons.tpu.a_kernel_of_your_own.wrong import mask_k as wrong_mask
from labkit_lessons.tpu.a_kernel_of_your_own.wrong import matmul_step as wrong_step

FORBIDDEN = ("torch", "tensorflow", "scipy")

# tpu.block_indices: i, j, k of n grid steps -> blocks of x, w, y, each [n, 2]

GRIDS = {  # how many steps
    "prime": (7,),
    "one step": (1,),
    "two steps": (2,),
    "ragged": (13,),
    "many steps": (40,),
}


def grid_steps(rng: np.random.Generator, n: int) -> tuple:
    """n steps, in which all numbers differ."""
    return tuple(rng.choice(200, (3, n), replace=False))


def pairs(*axes: np.ndarray) -> tuple:
    """Six numbers for each step as the three blocks."""
    return tuple(np.stack(axes[place : place + 2], axis=1) for place in (0, 2, 4))


block_indices = exercise(
    "tpu.block_indices",
    oracle=lambda i, j, k: pairs(i, k, k, j, i, j),
    cases=cases_of(GRIDS, grid_steps),
    wrong={
        "x_swapped": lambda i, j, k: pairs(k, i, k, j, i, j),
        "w_swapped": lambda i, j, k: pairs(i, k, j, k, i, j),
        "y_swapped": lambda i, j, k: pairs(i, k, k, j, j, i),
        "x_by_j": lambda i, j, k: pairs(i, j, k, j, i, j),
        "w_by_i": lambda i, j, k: pairs(i, k, i, j, i, j),
        "y_by_k": lambda i, j, k: pairs(i, k, k, j, i, k),
        "in_elements": lambda i, j, k: pairs(*(2 * one for one in (i, k, k, j, i, j))),
    },
    outputs=("x", "w", "y"),
    forbidden=FORBIDDEN,
    adapter=judging.for_each_step,
    plain=lambda answer, *inputs: judging.for_each_step(answer)(*inputs),
    fallback=solutions.block_indices,
    plain_python=True,
    general_causes=False,
)

# tpu.matmul_step: x[M, K], w[K, N], (bm, bk, bn) -> y[M, N]

PRODUCTS = {  # M, K, N, blocks
    "prime": (3, 5, 7, (3, 1, 7)),
    "all sizes 1": (1, 1, 1, (1, 1, 1)),
    "one step": (5, 4, 3, (5, 4, 3)),
    "several blocks": (4, 6, 4, (2, 2, 2)),
    "ragged rows": (5, 6, 3, (2, 3, 2)),
}


def factors(rng: np.random.Generator, M: int, K: int, N: int, blocks: tuple) -> tuple:
    """x[M, K] and w[K, N] of both signs, in float32."""
    x = rng.uniform(-2, 2, (M, K)).astype(np.float32)
    w = rng.uniform(-2, 2, (K, N)).astype(np.float32)
    return x, w, blocks


def product(x, w, blocks):
    """x @ w, without any blocks."""
    return (x.astype(float) @ w.astype(float)).astype(np.float32)


matmul_step = exercise(
    "tpu.matmul_step",
    oracle=product,
    cases=cases_of(PRODUCTS, factors),
    wrong=by_own_name(
        wrong_step.last_product,
        wrong_step.first_product,
        wrong_step.last_left_out,
        wrong_step.first_left_out,
        wrong_step.first_twice,
        wrong_step.last_twice,
        wrong_step.elementwise,
    ),
    outputs=("y",),
    rtol=1e-3,
    atol=1e-4,
    forbidden=FORBIDDEN,
    adapter=judging.interpreted,
    plain=judging.plain,
    fallback=solutions.matmul_step,
    plain_python=True,
)

# tpu.mask_k: x[bm, bk], w[bk, bn], step k, K -> both, 0 beyond K

BLOCKS = {  # bm, bk, bn, step, K
    "prime": (3, 5, 7, 2, 13),
    "all sizes 1": (1, 1, 1, 0, 1),
    "nothing beyond": (2, 4, 3, 1, 8),
    "an earlier step": (4, 3, 2, 1, 11),
    "one column left": (5, 6, 4, 3, 19),
    "the first step": (3, 8, 2, 0, 5),
}


def ragged(rng: np.random.Generator, bm: int, bk: int, bn: int, k: int, K: int) -> tuple:
    """Blocks in step k; what lies beyond K is NaN in one place, infinite in one, and any number."""
    x, w, _ = factors(rng, bm, bk, bn, ())
    left = max(K - k * bk, 0)
    for beyond in (x[:, left:], w[left:]):
        places = [tuple(place) for place in rng.permutation(list(np.ndindex(beyond.shape)))]
        for place, value in zip(places, (np.nan, np.inf), strict=False):
            beyond[place] = value
    return x, w, k, K


def kept(x, w, k, K):
    """Both blocks, in which only the K - k * bk first columns of x and rows of w stay."""
    left = max(K - k * x.shape[1], 0)
    x, w = x.copy(), w.copy()
    x[:, left:] = 0
    w[left:] = 0
    return x, w


mask_k = exercise(
    "tpu.mask_k",
    oracle=kept,
    cases=cases_of(BLOCKS, ragged),
    wrong=by_own_name(
        wrong_mask.x_alone,
        wrong_mask.w_alone,
        wrong_mask.by_a_product,
        wrong_mask.first_block,
        wrong_mask.one_more,
        wrong_mask.rows_of_x,
        wrong_mask.the_other_way,
    ),
    outputs=("x", "w"),
    forbidden=FORBIDDEN,
    adapter=judging.masked_in_jax,
    plain=lambda answer, *inputs: tuple(np.asarray(one) for one in answer(*inputs)),
    fallback=solutions.mask_k,
    plain_python=True,
)

EXERCISES = [block_indices, matmul_step, mask_k]
