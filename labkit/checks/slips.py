"""Slips that any exercise can suffer: a change of what goes into the oracle, or of what comes out.

A slip is a sentence and a function. An input slip turns the arguments of a case into those that the
learner has, in effect, used: an array transposed, a stride dropped, the last image left out. An
output slip turns the right result into the learner's: flipped, shifted by one, rounded.
`labkit.checks.causes` tries them, one after the other, against what the learner's function gave.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

Change = Callable[[np.ndarray], np.ndarray]
Slip = tuple[str, Callable]  # a sentence, and what turns right into wrong


# Changes of one array. Each gives the part of a sentence that follows the array's name.


def axis_text(axis: int, dimensions: int) -> str:
    return f" along axis {axis}" if dimensions > 1 else ""


def reorderings(dimensions: int) -> Iterator[tuple[str, Change]]:
    """Two axes swapped, or one turned round; the number of dimensions stays."""
    for j, k in combinations(range(dimensions), 2):
        what = "is transposed" if dimensions == 2 else f"has its axes {j} and {k} swapped"
        yield what, lambda a, j=j, k=k: np.swapaxes(a, j, k)
    for axis in range(dimensions):
        where = axis_text(axis, dimensions)
        yield f"is taken from the end to the beginning{where}", lambda a, k=axis: np.flip(a, k)


def shifts(dimensions: int) -> Iterator[tuple[str, Change]]:
    """By one place along an axis; what leaves at one end comes in at the other, or is lost."""
    for axis in range(dimensions):
        where = axis_text(axis, dimensions)
        for step in (1, -1):
            what = f"is shifted by one place{where}"
            yield what, lambda a, k=axis, step=step: np.roll(a, step, k)
            yield what, lambda a, k=axis, step=step: shifted(a, step, k)
            yield what, lambda a, k=axis, step=step: shifted(a, step, k, repeat=True)


def shifted(a: np.ndarray, step: int, axis: int, repeat: bool = False) -> np.ndarray:
    """`a` moved by `step` (1 or -1); the free place gets 0, or keeps its old value."""
    moved = np.roll(a, step, axis)
    edge = [slice(None)] * a.ndim
    edge[axis] = 0 if step > 0 else -1
    moved[tuple(edge)] = a[tuple(edge)] if repeat else 0
    return moved


def omissions(dimensions: int) -> Iterator[tuple[str, Change]]:
    """Part of an axis counts as 0, or one entry stands for all."""
    for axis in range(dimensions):
        where = axis_text(axis, dimensions)
        for name, index in (("first", 0), ("last", -1)):
            entry = f"the {name} entry{where}"
            yield f"counts without {entry}", lambda a, k=axis, i=index: without(a, i, k)
            yield f"counts with {entry} alone", lambda a, k=axis, i=index: alone(a, i, k)
            yield f"is {entry} everywhere", lambda a, k=axis, i=index: everywhere(a, i, k)


def without(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    return a - alone(a, index, axis)


def alone(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    kept = np.zeros_like(a)
    place = [slice(None)] * a.ndim
    place[axis] = index
    kept[tuple(place)] = a[tuple(place)]
    return kept


def everywhere(a: np.ndarray, index: int, axis: int) -> np.ndarray:
    return np.broadcast_to(a.take([index], axis), a.shape).copy()


def of_values(a: np.ndarray) -> Iterator[tuple[str, Change]]:
    """The values themselves are changed, each for itself."""
    yield "has the wrong sign", np.negative
    yield "counts without its sign", np.abs
    yield "is squared", np.square
    yield "multiplies where it should divide, or the other way round", lambda a: 1 / a
    if a.dtype.kind == "f":
        yield "is cut to whole numbers", lambda a: np.trunc(a).astype(a.dtype)


# Input slips.


def input_slips(args: tuple, names: list[str]) -> Iterator[Slip]:
    """Slips of arguments like these; the function maps a case's arguments to changed ones."""
    for i, value in enumerate(args):
        for what, change in changes_of(value):
            sentence = f"`{names[i]}` {what}."
            yield sentence, lambda a, i=i, to=change: replaced(a, i, to(a[i]))
    for i, j in combinations(range(len(args)), 2):
        if alike(args[i], args[j]):
            sentence = f"`{names[i]}` and `{names[j]}` are used in each other's place."
            yield sentence, lambda a, i=i, j=j: replaced(replaced(a, i, a[j]), j, a[i])


def changes_of(value: object) -> Iterator[tuple[str, Callable]]:
    """The changes that fit an argument: an array, a list of numbers, a tuple of sizes, a number."""
    if isinstance(value, np.ndarray) and value.ndim:
        yield from array_changes(value)
    elif isinstance(value, list) and all(isinstance(v, int | float) for v in value):
        for what, change in array_changes(np.array(value)):
            yield what, lambda v, to=change: to(np.array(v)).tolist()
    elif isinstance(value, tuple) and all(isinstance(v, int) for v in value):
        for j, k in combinations(range(len(value)), 2):
            what = f"has its numbers {j} and {k} swapped"
            yield what, lambda v, j=j, k=k: replaced(replaced(v, j, v[k]), k, v[j])
    elif isinstance(value, bool):
        yield "counts the other way round", lambda v: not v
    elif isinstance(value, int | np.integer):
        yield from integer_changes()
    elif isinstance(value, float | np.floating):
        yield from float_changes(type(value))


def array_changes(a: np.ndarray) -> Iterator[tuple[str, Change]]:
    yield "is not used: the result is that of zeros", np.zeros_like
    yield "is not used: the result is that of ones", np.ones_like
    yield from reorderings(a.ndim)
    yield from omissions(a.ndim)
    yield from shifts(a.ndim)
    yield from of_values(a)


def integer_changes() -> Iterator[tuple[str, Callable]]:
    for number in (0, 1, 2):
        yield f"does not count: the result is that of {number}", lambda v, n=number: n
    yield "is taken one too large", lambda v: v + 1
    yield "is taken one too small", lambda v: v - 1
    yield "is taken twice", lambda v: 2 * v
    yield "is taken by half", lambda v: v // 2
    yield "is squared", lambda v: v * v


def float_changes(kind: type) -> Iterator[tuple[str, Callable]]:
    for number in (0, 1):
        yield f"does not count: the result is that of {number}", lambda v, n=number: kind(n)
    yield "has the wrong sign", lambda v: -v
    yield "multiplies where it should divide, or the other way round", lambda v: kind(1 / v)
    yield "is squared", lambda v: v * v
    yield "stands where 1 minus it belongs, or the other way round", lambda v: kind(1 - v)
    yield "is taken twice", lambda v: v + v
    yield "is taken by half", lambda v: kind(v / 2)


def replaced(values: tuple, place: int, value: object) -> tuple:
    return (*values[:place], value, *values[place + 1 :])


def alike(a: object, b: object) -> bool:
    """Could somebody take the one for the other?"""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.ndim == b.ndim
    return type(a) is type(b) and isinstance(a, int | float | np.number)


# Output slips.


def output_slips(result: np.ndarray) -> Iterator[Slip]:
    """Slips of a result like this; the function maps a right result to the wrong one."""
    for what, change in (*reorderings(result.ndim), *shifts(result.ndim)):
        yield f"the result {what}.", change
    for j, k in combinations(range(result.ndim), 2):
        sentence = f"axes {j} and {k} of the result are swapped before it is brought into shape."
        yield sentence, lambda a, j=j, k=k: np.swapaxes(a, j, k).reshape(a.shape)
    for what, change in omissions(result.ndim):
        yield f"the result {what}.", change
    for axis in range(result.ndim):
        where = axis_text(axis, result.ndim)
        yield f"the result is a running sum{where}.", lambda a, k=axis: np.cumsum(a, k)
        yield (
            f"the result is that of a running sum's end{where}.",
            lambda a, k=axis: np.broadcast_to(a.sum(k, keepdims=True), a.shape),
        )
    yield from value_slips()


def value_slips() -> Iterator[Slip]:
    """Each number of the result for itself."""
    yield "the result has lost its sign.", np.abs
    yield "negative results are cut to 0.", lambda a: np.maximum(a, 0)
    yield "positive results are cut to 0.", lambda a: np.minimum(a, 0)
    yield "the result is upside down: 1 divided by it is right.", lambda a: 1 / a
    yield "the result is squared.", np.square
    yield "the square root of the result is returned.", np.sqrt
    yield "the logarithm of the result is returned.", np.log
    yield "the exponential of the result is returned.", np.exp
    yield "the result is rounded to whole numbers.", np.rint
    yield "the result is cut off to whole numbers.", np.trunc
    yield "the result is rounded down to whole numbers.", np.floor
    yield "the result is rounded up to whole numbers.", np.ceil
    yield "the result is computed or kept in float16.", lambda a: a.astype(np.float16)
