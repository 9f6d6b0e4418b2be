"""Exercise fpga.what_differs: photographs with a wrong number, and with another label.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, exercise
from labkit_lessons.fpga.the_network_on_the_board.wrong import what_differs as wrong_counts


def photographs(
    rng: np.random.Generator, n: int, labels: int, several_largest: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """right[n,labels] and got[n,labels]: row by row another difference, in an order by chance."""
    right = rng.choice(18_000, (n, labels), replace=False).astype("i4") - 9000
    got = right.copy()
    largest = right.argmax(axis=1)
    smallest = right.argmin(axis=1)
    for row, kind in enumerate(rng.permutation(n) % 5):
        if kind == 1:  # another number, and nothing else
            got[row, smallest[row]] -= 20_000
        elif kind == 2:  # many wrong numbers, whose sum is right, with the same label
            got[row, largest[row]] += 20_000 * (labels - 1)
            got[row, np.arange(labels) != largest[row]] -= 20_000
        elif kind == 3:  # the same numbers in other places
            got[row] = np.roll(right[row], 1)
        elif kind == 4:  # all signs turned round
            got[row] = -right[row] - 60_000 * (labels == 1)
        if several_largest and kind == 0:  # a second largest number before or behind the largest
            got[row, (largest[row] + labels // 2) % labels] = right[row, largest[row]]
    return right, got


def equal_photographs(
    rng: np.random.Generator, n: int, labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nothing differs."""
    right, _ = photographs(rng, n, labels)
    return right, right.copy()


def equal_numbers(rng: np.random.Generator, n: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Of seven values, so that the largest stands in several places; of each row one differs."""
    right = rng.integers(-3, 4, (n, labels), dtype="i4")
    got = right.copy()
    got[np.arange(n), rng.integers(0, labels, n)] += 1
    return right, got


def large_photographs(
    rng: np.random.Generator, n: int, labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Beyond 2^24, where float32 holds no odd number: of each row one is off by 1 or by 2^16."""
    right = rng.permutation(np.arange(2**24, 2**24 + 20_000, dtype="i4"))[: n * labels]
    right = right.reshape(n, labels) * rng.choice([-1, 1], (n, 1)).astype("i4")
    got = right.copy()
    got[np.arange(n), right.argmin(axis=1)] -= np.where(np.arange(n) % 3, 1, 2**16).astype("i4")
    return right, got


def differing(rng: np.random.Generator) -> Iterable[Case]:
    """The cases, one of them again at the end."""
    sizes = {
        "one photograph": (1, 1),
        "two": (2, 10),
        "prime": (7, 3),
        "twenty": (20, 10),
        "many": (33, 5),
        "two again": (2, 10),
    }
    yield Case("no difference", equal_photographs(rng, 5, 10))
    yield Case("equal largest numbers", photographs(rng, 35, 10, several_largest=True))
    yield Case("equal numbers in all places", equal_numbers(rng, 200, 10))
    yield Case("large numbers", large_photographs(np.random.default_rng(19), 19, 10))
    for name, (n, labels) in sizes.items():
        yield Case(name, photographs(rng, n, labels))


what_differs = exercise(
    "fpga.what_differs",
    oracle=wrong_counts.counts,
    cases=differing,
    wrong=wrong_counts.WRONG,
    outputs=("wrong_number", "other_label"),
    dtype="any",
    rtol=0.0,
    atol=0.0,
    forbidden=LIBRARIES,
    general_causes=False,
)
