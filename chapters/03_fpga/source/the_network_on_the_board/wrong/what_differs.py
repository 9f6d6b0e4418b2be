"""The oracle of `fpga.what_differs`, and wrong ideas: right, got [N, labels] -> two counts.

Dense: each wrong idea is a comparison of two arrays, in a row of its own.
"""

from collections.abc import Callable

import numpy as np


def wrong_numbers(right: np.ndarray, got: np.ndarray) -> int:
    """How many rows have a number that differs."""
    return sum(list(a) != list(b) for a, b in zip(right, got, strict=True))


def other_labels(right: np.ndarray, got: np.ndarray) -> int:
    """How many rows have their largest number at another place."""
    return sum(
        list(a).index(max(a)) != list(b).index(max(b)) for a, b in zip(right, got, strict=True)
    )


def counts(right: np.ndarray, got: np.ndarray) -> tuple[int, int]:
    """How many photographs have a wrong number, and how many another label."""
    return wrong_numbers(right, got), other_labels(right, got)


def first(count: Callable) -> Callable:
    """A wrong idea of the photographs with a wrong number."""
    return lambda right, got: (count(right, got), other_labels(right, got))


def second(count: Callable) -> Callable:
    """A wrong idea of the other labels."""
    return lambda right, got: (wrong_numbers(right, got), count(right, got))


def differing(of: Callable) -> Callable:
    """Counts the rows in which of(right) and of(got) differ: of(x) -> [N] or [N, labels]."""

    def count(right: np.ndarray, got: np.ndarray) -> int:
        differs = of(right) != of(got)
        return int(differs.reshape(len(right), -1).any(axis=1).sum())

    return count


def last_largest(x: np.ndarray) -> np.ndarray:
    """The place of each row's largest number, the last one where there are several."""
    return x.shape[1] - 1 - x[:, ::-1].argmax(axis=1)


def as_type(kind: str) -> Callable:
    """The numbers are compared in another type."""
    return first(differing(lambda x: x.astype(kind)))


WRONG = {
    "nearly": first(lambda right, got: int((~np.isclose(right, got)).any(axis=1).sum())),
    "off_by_one": first(lambda right, got: int((abs(right - got) > 1).any(axis=1).sum())),
    "in_float32": as_type("f4"),
    "in_16_bits": as_type("i2"),
    "first_number": first(differing(lambda x: x[:, 0])),
    "places": first(lambda right, got: int((right != got).any(axis=0).sum())),
    "same_label": first(
        lambda right, got: int(
            ((right != got).any(axis=1) & (right.argmax(axis=1) == got.argmax(axis=1))).sum()
        )
    ),
    "of_places": second(lambda right, got: int((right.argmax(0) != got.argmax(0)).sum())),
    "of_sizes": second(differing(lambda x: abs(x).argmax(axis=1))),
    "sorted_numbers": second(differing(lambda x: np.sort(x, axis=1))),
    "single_numbers": first(lambda right, got: int((right != got).sum())),
    "all_ten": first(lambda right, got: int((right != got).all(axis=1).sum())),
    "by_sums": first(differing(lambda x: x.sum(axis=1))),
    "without_signs": first(differing(abs)),
    "by_size": second(differing(lambda x: x.max(axis=1))),
    "smallest": second(differing(lambda x: x.argmin(axis=1))),
    "last_of_several": second(differing(last_largest)),
    "equal_ones": lambda right, got: tuple(len(right) - one for one in counts(right, got)),
    "swapped": lambda right, got: counts(right, got)[::-1],
    "shares": lambda right, got: tuple(one / len(right) for one in counts(right, got)),
    "whether": lambda right, got: tuple(bool(one) for one in counts(right, got)),
}
