"""Changes of one array that a slip amounts to: an axis turned round, one entry left out, shifted.

A change is the part of a sentence that follows the array's name, and a function of the array.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np

ArrayFunction = Callable[[np.ndarray], np.ndarray]
Change = tuple[str, ArrayFunction]


def array_changes(a: np.ndarray) -> Iterator[Change]:
    """All changes that an argument like `a` can suffer, the likely ones first."""
    yield "is not used: the result is that of zeros", np.zeros_like
    yield "is not used: the result is that of ones", np.ones_like
    yield from reorderings(a.ndim)
    yield from omissions(a.ndim)
    yield from shifts(a.ndim)
    yield from _changes_of_values(a.dtype)


def axis_text(axis: int, dimensions: int) -> str:
    """ " along axis 1", where there is more than one axis."""
    return f" along axis {axis}" if dimensions > 1 else ""


# Another order. The number of dimensions stays.


def reorderings(dimensions: int) -> Iterator[Change]:
    """Two axes swapped, or one turned round."""
    for j, k in combinations(range(dimensions), 2):
        what = f"has its axes {j} and {k} swapped"
        if dimensions == 2:
            what = "is transposed"
        yield what, partial(np.swapaxes, axis1=j, axis2=k)
    for axis in range(dimensions):
        where = axis_text(axis, dimensions)
        yield f"is taken from the end to the beginning{where}", partial(np.flip, axis=axis)


# One place too far.


def shifts(dimensions: int) -> Iterator[Change]:
    """By one place along an axis; what leaves at one end comes in at the other, or is lost."""
    for axis in range(dimensions):
        what = f"is shifted by one place{axis_text(axis, dimensions)}"
        for step in (1, -1):
            yield what, partial(np.roll, shift=step, axis=axis)
            yield (
                what,
                partial(
                    _shifted,
                    step=step,
                    axis=axis,
                    repeat=False,
                ),
            )
            yield what, partial(_shifted, step=step, axis=axis, repeat=True)


def _shifted(a: np.ndarray, step: int, axis: int, repeat: bool) -> np.ndarray:
    """`a` moved by `step` (1 or -1); the free place gets 0, or keeps its old value."""
    moved = np.roll(a, step, axis)
    freed = 0 if step > 0 else -1
    edge = _place(a, freed, axis)
    moved[edge] = a[edge] if repeat else 0
    return moved


# Part of an axis.


def omissions(dimensions: int) -> Iterator[Change]:
    """The first or last entry of an axis counts as 0, or counts alone, or stands for all."""
    for axis in range(dimensions):
        for name, index in (("first", 0), ("last", -1)):
            entry = f"the {name} entry{axis_text(axis, dimensions)}"
            yield f"counts without {entry}", partial(_without, index=index, axis=axis)
            yield f"counts with {entry} alone", partial(_alone, index=index, axis=axis)
            yield f"is {entry} everywhere", partial(_everywhere, index=index, axis=axis)


def _without(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    return a - _alone(a, index, axis)


def _alone(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    kept = np.zeros_like(a)
    entry = _place(a, index, axis)
    kept[entry] = a[entry]
    return kept


def _everywhere(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    entry = a.take([index], axis)
    return np.broadcast_to(entry, a.shape).copy()


def _place(a: np.ndarray, index: int, axis: int) -> tuple[int | slice, ...]:
    """The index of all of `a` where its axis has this index."""
    place: list[int | slice] = [slice(None)] * a.ndim
    place[axis] = index
    return tuple(place)


# Each value for itself.


def _changes_of_values(dtype: np.dtype) -> Iterator[Change]:
    yield "has the wrong sign", np.negative
    yield "counts without its sign", np.abs
    yield "is squared", np.square
    yield "multiplies where it should divide, or the other way round", _inverse
    if dtype.kind == "f":
        yield "is cut to whole numbers", np.trunc
        for word, number in (("the smallest", -np.inf), ("the largest", np.inf), ("0", 0)):
            yield f"has NaN, which counts as {word}", partial(_in_place_of_nan, number=number)


def _in_place_of_nan(a: np.ndarray, number: float) -> np.ndarray:
    return np.where(np.isnan(a), a.dtype.type(number), a)


# What is tried when all of this explains nothing.


def finer_changes(a: np.ndarray) -> Iterator[Change]:
    """Changes that other causes explain as well, or that few make."""
    yield "is taken twice", lambda a: a + a
    yield "is taken by half", lambda a: a // 2 if a.dtype.kind in "iu" else a / 2
    yield "has 1 added to it", lambda a: a + 1
    yield "has 1 taken off it", lambda a: a - 1
    yield "counts with its sign alone", np.sign
    for axis in range(a.ndim):
        where = axis_text(axis, a.ndim)
        what = f"counts with every other entry{where} alone"
        yield what, partial(_every_other, axis=axis)
        for count in (2, 3, 4, 8, 16):
            if count < a.shape[axis]:
                what = f"counts up to the first {count} entries{where}"
                yield f"{what}, and no further", partial(_first, count=count, axis=axis)
    if a.ndim > 1:
        for name, place in (("first", (..., 0, 0)), ("last", (..., -1, -1))):
            what = f"counts without the {name} entry of its last two axes"
            yield what, partial(_without_place, place=place)


def _every_other(a: np.ndarray, axis: int) -> np.ndarray:
    kept = a.copy()
    np.moveaxis(kept, axis, 0)[1::2] = 0
    return kept


def _first(a: np.ndarray, count: int, axis: int) -> np.ndarray:
    kept = a.copy()
    np.moveaxis(kept, axis, 0)[count:] = 0
    return kept


def _without_place(a: np.ndarray, place: tuple) -> np.ndarray:
    kept = a.copy()
    kept[place] = 0
    return kept


def _inverse(a: np.ndarray) -> np.ndarray:
    return 1 / a
