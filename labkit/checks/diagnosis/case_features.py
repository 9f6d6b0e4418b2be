"""What can be said of a case, and which of it tells the right cases from the wrong ones.

Cases have much in common by chance: the one with the stride 1 may be the one with an even length.
So a feature is told only where no other one parts the same cases from the same others.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from labkit.checks.diagnosis.array_changes import axis_text
from labkit.checks.diagnosis.places import BLOCKS, SIDES
from labkit.checks.items import Case


class Feature(NamedTuple):
    """Whether something is so in a case, and the numbers that it is said of."""

    holds: bool
    numbers: tuple[int, ...]


Features = dict[str, Feature]  # "`stride` is 1" -> what it is in a case


def features_of(case: Case, names: list[str], kernel: bool) -> Features:
    """What can be said of a case: by its numbers, by squares, by sizes; the most telling first."""
    return number_features(case, names) | size_features(case, names, kernel)


def number_features(case: Case, names: list[str]) -> Features:
    """What can be said of a case by its numbers, and by squares; the most telling first."""
    numbers = {}
    said: Features = {}
    for name, value in zip(names, case.args, strict=False):
        if isinstance(value, bool):
            said[f"`{name}` is True"] = Feature(value, (value,))
            said[f"`{name}` is False"] = Feature(not value, (value,))
        elif isinstance(value, int | np.integer):
            numbers[name] = value
            said[f"`{name}` is 0"] = Feature(value == 0, (value,))
            said[f"`{name}` is 1"] = Feature(value == 1, (value,))
            said[f"`{name}` is at most 1"] = Feature(value <= 1, (value,))
        elif isinstance(value, np.ndarray) and value.ndim > 1:
            last = value.shape[-2:]
            said[f"the last two axes of `{name}` are equally long"] = Feature(
                last[0] == last[1], last
            )
    for a, b in combinations(numbers, 2):
        both = (numbers[a], numbers[b])
        said[f"`{a}` equals `{b}`"] = Feature(both[0] == both[1], both)
    return said


def size_features(case: Case, names: list[str], kernel: bool) -> Features:
    """What can be said of a case by the sizes of its arrays; for a kernel, also in blocks."""
    said: Features = {}
    for name, value in zip(names, case.args, strict=False):
        if not isinstance(value, np.ndarray):
            continue
        for axis, n in enumerate(value.shape):
            what = f"the length of `{name}`{axis_text(axis, value.ndim)}"
            said[f"{what} is 1"] = Feature(n == 1, (n,))
            for size in reversed(SIDES if kernel else ()):  # what is one of 128 is one of 32, too
                said[f"{what} is a multiple of {size}"] = Feature(n % size == 0, (n,))
            for size in (2, *BLOCKS) if kernel else (2,):
                said[f"{what} is at most {size}"] = Feature(n <= size, (n,))
            said[f"{what} is even"] = Feature(n % 2 == 0, (n,))
        if value.ndim > 1:
            before, last = value.shape[-2:]
            for word, holds in (("longer", last <= before), ("shorter", last >= before)):
                said[f"the last axis of `{name}` is no {word} than the one before it"] = Feature(
                    holds, (before, last)
                )
    return said


def separating(right: list[Features], wrong: list[Features], asked: set[str]) -> str | None:
    """A sentence when one feature is there in all right cases and in none of the wrong ones.

    asked   the features that may be told; the others are only its rivals
    """
    # One case alone agrees with much by chance, also if it comes again.
    if any(len({repr(said) for said in side}) < 2 for side in (right, wrong)):
        return None
    where_right = _in_all_and_in_none(right, wrong)
    where_wrong = _in_all_and_in_none(wrong, right)
    cases = [*right, *wrong]
    said_of = {
        tuple(said[name].numbers for said in cases if name in said)
        for name in (*where_right, *where_wrong)
    }
    if len(said_of) != 1:
        return None
    for feature in where_right:
        if feature in asked:
            return f"it is right in every case where {feature}, and wrong in every other."
    for feature in where_wrong:
        if feature in asked:
            return f"it is wrong in every case where {feature}, and right in every other."
    return None


def _in_all_and_in_none(with_it: list[Features], without: list[Features]) -> list[str]:
    """The features that all cases here have, and none there."""
    return [
        feature
        for feature in with_it[0]
        if all(feature in said and said[feature].holds for said in with_it)
        and not any(feature in said and said[feature].holds for said in without)
    ]
