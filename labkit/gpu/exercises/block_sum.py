"""gpu.block_sum: a sum by a tree in shared memory, one atomic per block (lesson 01_gpu/2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from labkit.checks.cases.common import misconceptions
from labkit.checks.exercise import Case
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import distinct, kernel_exercise

THREADS = 128


def cases(rng: np.random.Generator) -> Iterator[Case]:
    sizes = {"one block": 128, "two blocks and a bit": 300, "two elements": 2, "one element": 1}
    sizes |= {"a prime number": 67, "many blocks": 1000}
    for name, n in sizes.items():
        yield Case(name, (3 + distinct(rng, n),))


def launch(x):
    return -(-x.size // THREADS), THREADS, (np.zeros(1, np.float32),)


@cuda.jit
def block_sum(x, total):
    partial = cuda.shared.array(THREADS, "float32")
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if tid < step:
            partial[tid] += partial[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, partial[0])


def oracle(x):
    """total[0] = the sum of all elements of x."""
    return np.array([x.sum(dtype=np.float64)], np.float32)


def limit(profile: Any, inputs: tuple) -> str | None:
    blocks = -(-inputs[0].size // THREADS)
    atomics = profile.counters["atomic_lanes"]
    if atomics <= blocks * THREADS // 32:  # one per warp will do as well
        return None
    return (
        f"{atomics} additions to `total` were atomic, for {blocks} "
        f"block{'s' * (blocks > 1)}. Atomics on one address run one after the other: add within "
        "the block in shared memory, then once per block."
    )


def _rounds(x, rounds) -> np.ndarray:
    """The sum when the tree adds only at the distances `rounds`."""
    padded = np.zeros(-(-x.size // THREADS) * THREADS)
    padded[: x.size] = x
    partial = padded.reshape(-1, THREADS)
    for step in rounds:
        partial[:, :step] += partial[:, step : 2 * step]
    return np.array([partial[:, 0].sum()], np.float32)


def last_round_missing(x):
    """The tree ends one round too early: half of the sum is still in partial[1]. The last distance
    is 1."""
    return _rounds(x, (64, 32, 16, 8, 4, 2))


def first_round_missing(x):
    """The tree begins one round too late: the upper half of the block is never added. The first
    distance is half of the block."""
    return _rounds(x, (32, 16, 8, 4, 2, 1))


def no_tree(x):
    """Only the first element of each block is added: the tree has no effect. Add the neighbour at
    distance `step` into partial[tid]."""
    return _rounds(x, ())


def last_block_wins(x):
    """The blocks overwrite each other's sum: the total holds one block's. Add to it, atomically."""
    return np.array([x[(x.size - 1) // THREADS * THREADS :].sum()], np.float32)


EXERCISES = [
    kernel_exercise(
        launch,
        block_sum,
        cases,
        limit,
        fills=False,
        id="gpu.block_sum",
        oracle=oracle,
        outputs=("total",),
        hints=(
            "In a round, only the threads below `step` work; each adds one neighbour. All the "
            "others wait.",
            "A round reads what the round before wrote. Where must the whole block wait, and is "
            "that place inside or outside of the `if`?",
            "if tid < step: add partial[tid + step] to partial[tid]. Then, outside of the `if`, "
            "cuda.syncthreads().",
        ),
        misconceptions=misconceptions(
            last_round_missing, first_round_missing, no_tree, last_block_wins
        ),
        costs=("atomic_lanes", "barriers", "traffic_bytes"),
    )
]
