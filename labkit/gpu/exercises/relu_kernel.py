"""gpu.relu_kernel: y[i] = max(x[i], 0), one thread per element (lesson 01_gpu/2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from labkit.checks.cases.common import misconceptions
from labkit.checks.exercise import Case
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import distinct, kernel_exercise

THREADS = 128


def cases(rng: np.random.Generator) -> Iterator[Case]:
    sizes = {"one full block": 128, "two blocks and a bit": 300, "one element": 1}
    sizes |= {"a prime number": 13, "one more than a block": 129, "many blocks": 1000}
    for name, n in sizes.items():
        yield Case(name, (distinct(rng, n),))


def launch(x):
    return -(-x.size // THREADS), THREADS, (np.zeros_like(x),)


@cuda.jit
def relu_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


def oracle(x):
    """y[i] = max(x[i], 0) for every element of x."""
    return np.maximum(x, 0)


def limit(profile: Any, inputs: tuple) -> str | None:
    """One thread per element: each is written once."""
    written, size = profile.counters["global_store_bytes"], 4 * inputs[0].size
    if inputs[0].size <= THREADS or written <= 2 * size:
        return None
    return (
        f"each element is written {written // size} times: every thread does the work of all. A "
        "thread has one element, `i`; the loop over the elements is the launch itself."
    )


def first_block_only(x):
    """Only the first 128 elements are written. `cuda.threadIdx.x` counts within a block and starts
    again in the next one; the thread's place in the whole grid is `cuda.grid(1)`."""
    y = np.zeros_like(x)
    y[:THREADS] = oracle(x[:THREADS])
    return y


def first_threads_only(x):
    """Only the first element of each block is there, one after the other: `cuda.blockIdx.x` is the
    block's number. Each *thread* has an element: its number in the grid is `cuda.grid(1)`."""
    y = np.zeros_like(x)
    blocks = -(-x.size // THREADS)
    y[:blocks] = oracle(x[:blocks])
    return y


def negative_part(x):
    """The sign is the other way round: ReLU keeps the positive values."""
    return np.minimum(x, 0)


def absolute_value(x):
    """This is the absolute value: a negative value must become 0, not positive."""
    return np.abs(x)


def last_missing(x):
    """The last element is never written: the last valid index is x.size - 1, and `i < x.size` lets
    it through."""
    y = oracle(x)
    y[-1] = 0
    return y


EXERCISES = [
    kernel_exercise(
        launch,
        relu_kernel,
        cases,
        limit,
        id="gpu.relu_kernel",
        oracle=oracle,
        outputs=("y",),
        hints=(
            "There is no loop: every thread runs these lines once, for the one element `i`.",
            "The last block may have more threads than elements are left. Such a thread must do "
            "nothing: put the work under an `if`.",
            "The condition compares `i` with `x.size`; the work is one assignment to `y[i]`, with "
            "Python's `max`.",
        ),
        misconceptions=misconceptions(
            first_block_only, first_threads_only, negative_part, absolute_value, last_missing
        ),
    )
]
