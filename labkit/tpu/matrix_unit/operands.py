"""What a systolic array takes: two arrays of int8 or two of bfloat16, and words from a list."""

import numpy as np

from labkit.shapes import described, fit

SUMS = {"int8": np.int32, "bfloat16": np.float32}  # operand -> what its products are summed in


def in_their_sums(name: str, axes: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays in the type of their sums: int8 as int32, bfloat16 as float32.

    `axes` has a word for each, "a[M,K] b[K,N]". Raises ValueError in the name of the function
    `name` for other types or for two, and for shapes that do not fit.
    """
    arrays = [np.asarray(array) for array in arrays]
    types = {array.dtype.name for array in arrays}
    if len(types) > 1 or not types <= set(SUMS):
        letters = [text.partition("[")[0] for text in axes.split()]
        named = zip(letters, arrays, strict=True)
        has = " and ".join(
            f"{described(letter, array)} holds {array.dtype}" for letter, array in named
        )
        raise ValueError(
            f"{name}: {has}; the array takes two of int8 or two of bfloat16: use .astype(np.int8) "
            "for whole numbers from -128 to 127, else .astype(ml_dtypes.bfloat16)."
        )
    arrays = [array.astype(SUMS[array.dtype.name]) for array in arrays]
    fit(name, axes, *arrays)
    return arrays


def one_of(name: str, value: object, *known: object) -> None:
    """ValueError for a value of the argument `name` that is none of the known ones."""
    if value not in known:
        choices = " or ".join(repr(one) for one in known)
        raise ValueError(f"{name} is {value!r}; use {choices}.")
