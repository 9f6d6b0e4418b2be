"""Number formats of 16 and 8 bits, as `ml_dtypes` has them: rounding to them, and their ends.

    format     exponent  fraction   largest            beyond
    float16           5        10   65,504             infinity
    bfloat16          8         7   3.39e38            infinity
    e4m3              4         3   448                NaN; it has no infinity ("e4m3fn")
    e5m2              5         2   57,344             infinity

P. Micikevicius and others, FP8 Formats for Deep Learning (2022), table 1. Numbers are float32 here,
of which only those of a format occur. Lesson what_stays_in_float32 derives what they are used for.
"""

from typing import NamedTuple

import numpy as np

NAMES = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}


class Ends(NamedTuple):
    """The largest number of a format, its smallest with all digits, and its smallest above 0."""

    largest: float
    normal: float
    smallest: float


def ends(name: str) -> Ends:
    """The ends of a format of `NAMES`; ValueError for another name."""
    import ml_dtypes

    limits = ml_dtypes.finfo(_kind(name))
    return Ends(*map(float, (limits.max, limits.tiny, limits.smallest_subnormal)))


def rounded(x: np.ndarray, name: str) -> np.ndarray:
    """The nearest number of a format for each of x, ties to even, as float32 of the same shape.

    What would round beyond the largest number becomes infinite, and in e4m3 NaN. Raises ValueError
    for a name that is not in `NAMES`.
    """
    kind = _kind(name)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(x, dtype=np.float32).astype(kind).astype(np.float32)


def to_e4m3(x: np.ndarray) -> np.ndarray:
    """x[...] rounded to e4m3, as float32; from 464 on, half a step beyond 448, it is NaN.

    464 itself is a tie, and goes back to 448.
    """
    return rounded(x, "e4m3")


def _kind(name: str) -> np.dtype:
    """NumPy's type of a format."""
    import ml_dtypes

    if name not in NAMES:
        raise ValueError(f"There is no format {name!r} here: use one of {', '.join(NAMES)}.")
    return np.dtype(getattr(ml_dtypes, NAMES[name], name))
