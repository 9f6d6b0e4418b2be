"""What can be said of a case, and which of it tells the right cases from the wrong ones."""

from itertools import combinations

import numpy as np

from labkit.checks.array_changes import axis_text
from labkit.checks.items import Case
from labkit.checks.places import BLOCKS

Features = dict[str, bool]  # "`stride` is 1" -> whether it is so in a case


def number_features(case: Case, names: list[str]) -> Features:
    """What can be said of a case by its numbers, and by squares; the most telling first."""
    numbers = {}
    said: Features = {}
    for name, value in zip(names, case.args, strict=False):
        if isinstance(value, bool):
            said[f"`{name}` is True"] = value
            said[f"`{name}` is False"] = not value
        elif isinstance(value, int | np.integer):
            numbers[name] = value
            said[f"`{name}` is 0"] = value == 0
            said[f"`{name}` is 1"] = value == 1
            said[f"`{name}` is at most 1"] = value <= 1
        elif isinstance(value, np.ndarray) and value.ndim > 1:
            square = value.shape[-1] == value.shape[-2]
            said[f"the last two axes of `{name}` are equally long"] = square
    for a, b in combinations(numbers, 2):
        said[f"`{a}` equals `{b}`"] = numbers[a] == numbers[b]
    return said


def size_features(case: Case, names: list[str], kernel: bool) -> Features:
    """What can be said of a case by the sizes of its arrays; for a kernel, also in blocks."""
    blocks = BLOCKS if kernel else ()
    said: Features = {}
    for name, value in zip(names, case.args, strict=False):
        if not isinstance(value, np.ndarray):
            continue
        for axis, n in enumerate(value.shape):
            what = f"the length of `{name}`{axis_text(axis, value.ndim)}"
            said[f"{what} is 1"] = n == 1
            for size in blocks:
                said[f"{what} is at most {size}"] = n <= size
                said[f"{what} is a multiple of {size}"] = n % size == 0
            said[f"{what} is even"] = n % 2 == 0
    return said


def separating(right: list[Features], wrong: list[Features]) -> str | None:
    """A sentence when one feature is there in all right cases and in none of the wrong ones."""
    if len(right) < 2 or not wrong:
        return None
    feature = _in_all_and_in_none(right, wrong)
    if feature is not None:
        return f"it is right in every case where {feature}, and wrong in every other."
    if len(wrong) < 2:
        return None
    feature = _in_all_and_in_none(wrong, right)
    if feature is not None:
        return f"it is wrong in every case where {feature}, and right in every other."
    return None


def _in_all_and_in_none(with_it: list[Features], without: list[Features]) -> str | None:
    """The first feature that all cases here have, and none there."""
    for feature in with_it[0]:
        in_all = all(said.get(feature) for said in with_it)
        if in_all and not any(said.get(feature) for said in without):
            return feature
    return None
