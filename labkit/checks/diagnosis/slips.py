"""Slips that any exercise can suffer: a change of what goes into the oracle, or of what comes out.

A slip is a sentence and a function. An input slip turns the arguments of a case into those that the
learner has, in effect, used: an array transposed, a stride dropped, the last image left out. An
output slip turns the right result into the learner's: flipped, shifted by one, rounded.
`labkit.checks.diagnosis.causes` tries them, one after the other, against what the learner's
function gave.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from labkit.checks.diagnosis.array_changes import (
    ArrayFunction,
    array_changes,
    axis_text,
    finer_changes,
    omissions,
    reorderings,
    shifts,
)
from labkit.checks.diagnosis.chunks import ranks_of

InputSlip = tuple[str, Callable[[tuple], tuple]]
OutputSlip = tuple[str, ArrayFunction]
ValueChange = tuple[str, Callable[[Any], Any]]  # of one argument: what follows its name, and how


# Input slips.


def input_slips(args: tuple, names: list[str], everyones: list[tuple]) -> Iterator[InputSlip]:
    """Slips of arguments like these; the function maps a case's arguments to changed ones.

    everyones   the arguments of all cases
    """
    for place, value in enumerate(args):
        for what, change in _changes_of(value):
            yield f"`{names[place]}` {what}.", partial(_changed_at, place=place, change=change)
        for what, change in _constants([one[place] for one in everyones if place < len(one)]):
            yield f"`{names[place]}` {what}.", partial(_changed_at, place=place, change=change)
    yield from _part_slips(args, names)
    if ranks_of(args):
        for which, rank in (("first", 0), ("last", -1)):
            yield f"what the {which} rank gives does not count.", partial(_without_rank, rank=rank)
    for i, j in combinations(range(len(args)), 2):
        if _may_be_confused(args[i], args[j]):
            sentence = f"`{names[i]}` and `{names[j]}` are used in each other's place."
            yield sentence, partial(_swapped, i=i, j=j)


def finer_input_slips(args: tuple, names: list[str], everyones: list[tuple]) -> Iterator[InputSlip]:
    """Further slips, for what none of these and no factor explains: see `input_slips`."""
    for i, j in combinations(range(len(args)), 2):
        if _may_be_confused(args[i], args[j]):
            for here, there in ((i, j), (j, i)):
                sentence = f"`{names[here]}` stands where `{names[there]}` belongs."
                yield sentence, partial(_copied, here=here, there=there)
    for place, value in enumerate(args):
        changes: Iterator[ValueChange] | list = []
        if isinstance(value, np.ndarray) and value.ndim:
            changes = finer_changes(value)
        elif isinstance(value, float | np.floating):
            given = [one[place] for one in everyones if place < len(one)]
            changes = [*_float_constants(given), *_FINER_FLOATS]
        for what, change in changes:
            yield f"`{names[place]}` {what}.", partial(_changed_at, place=place, change=change)


_FINER_FLOATS: list[ValueChange] = [
    ("has 1 added to it", lambda v: v + 1),
    ("has 1 taken off it", lambda v: v - 1),
]


def _float_constants(values: list) -> Iterator[ValueChange]:
    """A fraction that an argument is in a case stands for all of them."""
    for number in sorted(
        {float(value) for value in values if isinstance(value, float | np.floating)}
    ):
        yield (
            f"does not count: the result is that of {number:.6g}",
            lambda v, n=number: type(v)(n),
        )


def _copied(args: tuple, here: int, there: int) -> tuple:
    changed = list(args)
    changed[there] = args[here]
    return tuple(changed)


def _changed_at(args: tuple, place: int, change: Callable) -> tuple:
    changed = list(args)
    changed[place] = change(args[place])
    return tuple(changed)


def _constants(values: list) -> Iterator[ValueChange]:
    """One of the numbers that an argument is in the cases stands for all of them."""
    if all(type(value) is int or isinstance(value, np.integer) for value in values):
        for number in sorted({int(value) for value in values} - {0, 1, 2}):
            what = f"does not count: the result is that of {number}"
            yield what, lambda v, n=number: n


def _without_rank(args: tuple, rank: int) -> tuple:
    """The arrays of one rank are 0."""
    by_rank = list(args[0])
    by_rank[rank] = tuple(
        np.zeros_like(value) if isinstance(value, np.ndarray) else value for value in by_rank[rank]
    )
    return (tuple(by_rank),)


def _part_slips(args: tuple, names: list[str]) -> Iterator[InputSlip]:
    """An array falls into as many parts as another argument says, and one of them is left out."""
    for i, array in enumerate(args):
        for j, count in enumerate(args):
            if not (isinstance(array, np.ndarray) and array.ndim and type(count) is int):
                continue
            for which, part in (("first", 0), ("last", -1)):
                sentence = f"`{names[i]}` counts without the {which} of its `{names[j]}` parts."
                yield sentence, partial(_without_part, array=i, count=j, part=part)


def _without_part(args: tuple, array: int, count: int, part: int) -> tuple:
    """Raises ValueError where there cannot be so many parts; the number may be an address."""
    if not 0 < args[count] <= len(args[array]):
        raise ValueError
    changed = list(args)
    changed[array] = args[array].copy()
    np.array_split(changed[array], args[count])[part][...] = 0  # a view
    return tuple(changed)


def _swapped(values: tuple, i: int, j: int) -> tuple:
    changed = list(values)
    changed[i] = values[j]
    changed[j] = values[i]
    return tuple(changed)


def _may_be_confused(a: object, b: object) -> bool:
    """Could somebody take the one for the other?"""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.ndim == b.ndim
    return type(a) is type(b) and isinstance(a, int | float | np.number)


def _changes_of(value: object) -> Iterator[ValueChange]:
    """The changes that fit an argument: an array, a list of numbers, a tuple of sizes, a number."""
    if isinstance(value, np.ndarray) and value.ndim:
        yield from array_changes(value)
    elif isinstance(value, list) and all(isinstance(v, int | float) for v in value):
        for what, change in array_changes(np.array(value)):
            yield what, partial(_changed_list, change=change)
    elif isinstance(value, tuple) and all(isinstance(v, int) for v in value):
        for i, j in combinations(range(len(value)), 2):
            yield f"has its numbers {i} and {j} swapped", partial(_swapped, i=i, j=j)
    elif isinstance(value, bool):
        yield "counts the other way round", lambda v: not v
    elif isinstance(value, int | np.integer):
        yield from _integer_changes()
    elif isinstance(value, float | np.floating):
        yield from _float_changes(type(value))


def _changed_list(values: list, change: ArrayFunction) -> list:
    changed = change(np.array(values))
    return changed.tolist()


def _integer_changes() -> Iterator[ValueChange]:
    for number in (0, 1, 2):
        yield f"does not count: the result is that of {number}", lambda v, n=number: n
    yield "is taken one too large", lambda v: v + 1
    yield "is taken one too small", lambda v: v - 1
    yield "is taken twice", lambda v: 2 * v
    yield "is taken by half", lambda v: v // 2
    yield "is squared", lambda v: v * v
    yield "multiplies where it should divide, or the other way round", lambda v: 1 / v


def _float_changes(kind: type) -> Iterator[ValueChange]:
    """`kind` is the type that the number keeps: float, or one of NumPy's."""
    for number in (0, 1):
        yield f"does not count: the result is that of {number}", lambda v, n=number: kind(n)
    yield "has the wrong sign", lambda v: -v
    yield "multiplies where it should divide, or the other way round", lambda v: kind(1 / v)
    yield "is squared", lambda v: v * v
    yield "stands where 1 minus it belongs, or the other way round", lambda v: kind(1 - v)
    yield "is taken twice", lambda v: v + v
    yield "is taken by half", lambda v: kind(v / 2)


# Output slips.


def output_slips(result: np.ndarray) -> Iterator[OutputSlip]:
    """Slips of a result like this; the function maps a right result to the wrong one."""
    for what, change in (*reorderings(result.ndim), *shifts(result.ndim)):
        yield f"the result {what}.", change
    for j, k in combinations(range(result.ndim), 2):
        sentence = f"axes {j} and {k} of the result are swapped before it is brought into shape."
        yield sentence, partial(_swapped_and_reshaped, j=j, k=k)
    for what, change in omissions(result.ndim):
        yield f"the result {what}.", change
    for axis in range(result.ndim):
        where = axis_text(axis, result.ndim)
        yield f"the result is a running sum{where}.", partial(np.cumsum, axis=axis)
        sentence = f"the result is that of a running sum's end{where}."
        yield sentence, partial(_total_everywhere, axis=axis)
    if result.dtype.kind in "iu":
        for bits in (8, 12, 16, 18, 20, 24, 32):
            cut = f"the result is cut to {bits} bits"
            least = 1 << bits - 1
            yield f"{cut}, the first of which is a sign.", partial(_cut, bits=bits, least=-least)
            yield f"{cut}, without a sign.", partial(_cut, bits=bits, least=0)
    yield from _result_slips()


def finer_output_slips(result: np.ndarray) -> Iterator[OutputSlip]:
    """Further slips of a result, for what none of these and no factor explains."""
    for j, k in combinations(range(result.ndim), 2):
        sentence = (
            f"the result is brought into shape with axes {j} and {k} swapped, and then turned."
        )
        yield sentence, partial(_reshaped_and_swapped, j=j, k=k)
    if result.dtype.kind == "f":
        for digits in (1, 2, 3):
            digit = "digit" if digits == 1 else "digits"
            sentence = f"the result is rounded to {digits} {digit} behind the point."
            yield sentence, partial(np.round, decimals=digits)
        for bits in (32, 64):
            sentence = f"the result is cut off to whole numbers, as an integer of {bits} bits is."
            yield sentence, partial(_as_integer, bits=bits)
    yield "the result is computed or kept in float32.", lambda a: a.astype(np.float32)


def _reshaped_and_swapped(a: np.ndarray, j: int, k: int) -> np.ndarray:
    shape = list(a.shape)
    shape[j], shape[k] = shape[k], shape[j]
    return a.reshape(shape).swapaxes(j, k)


def _as_integer(a: np.ndarray, bits: int) -> np.ndarray:
    return np.trunc(np.clip(a.astype(np.float64), -(2.0 ** (bits - 1)), 2.0 ** (bits - 1)))


def _swapped_and_reshaped(a: np.ndarray, j: int, k: int) -> np.ndarray:
    swapped = np.swapaxes(a, j, k)
    return swapped.reshape(a.shape)


def _total_everywhere(a: np.ndarray, axis: int) -> np.ndarray:
    total = a.sum(axis, keepdims=True)
    return np.broadcast_to(total, a.shape)


def _cut_to_0(a: np.ndarray, of: Callable) -> np.ndarray:
    """Raises ValueError where nothing is left: zeros may have any cause."""
    result = of(a, 0)
    if a.any() and not result.any():
        raise ValueError
    return result


def _cut(a: np.ndarray, bits: int, least: int) -> np.ndarray:
    """The numbers from `least` on that have the same last bits."""
    wide = a.astype(np.int64)
    return (wide - least) % (1 << bits) + least


def _result_slips() -> Iterator[OutputSlip]:
    """Each number of the result for itself."""
    yield "the result has lost its sign.", np.abs
    yield "negative results are cut to 0.", partial(_cut_to_0, of=np.maximum)
    yield "positive results are cut to 0.", partial(_cut_to_0, of=np.minimum)
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
