"""What the ranks returned, as arrays that the checks can compare: one for each rank and result.

A list of tensors becomes one array: stacked where all have the same shape, and otherwise flat, one
behind the other. Where a rank has nothing to return, or there is no such rank, the array is empty.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.phrasing import counted, shape_text

MOST_RANKS = 5
NOTHING = np.zeros(0)


def names_of(results: tuple[str, ...]) -> tuple[str, ...]:
    """The outputs of an exercise: "rank 0: total", and so on for all ranks that there may be."""
    return tuple(f"rank {rank}: {name}" for rank in range(MOST_RANKS) for name in results)


def groups_of(results: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    """For each result the places of its outputs: a wrong idea shows in all ranks, or in none."""
    step = len(results)
    every = range(MOST_RANKS * step)
    return tuple(frozenset(every[first::step]) for first in range(step))


def as_outputs(by_rank: Sequence[Any], results: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """What an oracle gives for the ranks of a case, as one array for each output."""
    found = []
    for rank in range(MOST_RANKS):
        value = by_rank[rank] if rank < len(by_rank) else None
        for one in _parts_of(value, results):
            found.append(_joined(one))
    return tuple(found)


def returned(
    got: Sequence[Any], expected: Sequence[Any], results: tuple[str, ...]
) -> tuple[np.ndarray, ...]:
    """What the ranks returned, likewise; where nothing is expected, it is not looked at.

    Raises Refused where the form is another: no list, a list of another length, no numbers.
    """
    wanted = [rank for rank, value in enumerate(expected) if value is not None]
    if wanted and all(got[rank] is None for rank in wanted):
        raise Unsolved("the function returns None")
    looked_at = []
    for rank, (value, right) in enumerate(zip(got, expected, strict=True)):
        looked_at.append(None if right is None else _of_form(rank, value, right, results))
    return as_outputs(looked_at, results)


def first_array(inputs: Sequence[Any], names: Sequence[str]) -> tuple[str, np.dtype]:
    """The name and the type of the first array among a rank's inputs; float32 if there is none."""
    for name, value in zip(names, inputs, strict=False):
        parts = value if isinstance(value, list | tuple) else [value]
        for part in parts:
            if isinstance(part, np.ndarray):
                return name, part.dtype
    return "", np.dtype(np.float32)


def other_type(value: Any, right: Any, kind: np.dtype) -> np.dtype | None:
    """The type of a result that is right but for its type, which should be `kind`; or None.

    Of a list it is that of the first one that is so.
    """
    if isinstance(right, list | tuple):
        found = [other_type(*pair, kind) for pair in zip(value, right, strict=True)]
        return next((one for one in found if one is not None), None)
    if not isinstance(right, np.ndarray) or right.dtype != kind:
        return None
    value = np.asarray(value)
    if value.dtype == kind or value.shape != right.shape:
        return None
    return (
        value.dtype
        if np.allclose(
            value,
            right,
            rtol=1e-4,
            equal_nan=True,
        )
        else None
    )


def _of_form(rank: int, value: Any, right: Any, results: tuple[str, ...]) -> Any:
    several = len(results) > 1
    if several and (not isinstance(value, tuple | list) or len(value) != len(results)):
        names = ", ".join(results)
        raise Refused(f"Rank {rank} returns {_kind(value)}; it should return `{names}`.")
    pairs = zip(value, right, strict=True) if several else [(value, right)]
    made = [_one(rank, name, *pair) for name, pair in zip(results, pairs, strict=True)]
    return tuple(made) if several else made[0]


def _one(rank: int, name: str, value: Any, right: Any) -> Any:
    if right is None:
        return None
    where = f"Rank {rank} returns"
    if isinstance(right, list | tuple):
        if isinstance(value, np.ndarray) and value.ndim:
            value = list(value)  # a tensor of all of them
        if not isinstance(value, list | tuple) or len(value) != len(right):
            wanted = counted(len(right), "tensor")
            raise Refused(f"{where} {_kind(value)} as `{name}`; it should be a list of {wanted}.")
        for place, (one, other) in enumerate(zip(value, right, strict=True)):
            _refuse_no_number(f"{where} {_kind(one)} in `{name}[{place}]`", one)
            if np.shape(one) != np.shape(other):
                have, want = shape_text(np.shape(one)), shape_text(np.shape(other))
                raise Refused(f"{where} {have} in `{name}[{place}]`; it should be {want}.")
        return list(value)
    _refuse_no_number(f"{where} {_kind(value)} as `{name}`", value)
    return value


def _refuse_no_number(sentence: str, value: Any) -> None:
    if not isinstance(value, np.ndarray | np.generic | bool | int | float):
        raise Refused(f"{sentence}; it should be a tensor.")


def _kind(value: Any) -> str:
    """ "a list of 3 values", "None"."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {counted(len(value), 'value')}"
    return f"a value of type {getattr(value, 'kind', type(value).__name__)}"


def _parts_of(value: Any, results: tuple[str, ...]) -> Sequence[Any]:
    if value is None:
        return [None] * len(results)
    return value if len(results) > 1 else [value]


def _joined(value: Any) -> np.ndarray:
    if value is None:
        return NOTHING
    if not isinstance(value, list | tuple):
        return np.array(value)
    parts = [np.asarray(part) for part in value]
    if len({part.shape for part in parts}) == 1:
        return np.stack(parts)
    return np.concatenate([part.reshape(-1) for part in parts]) if parts else NOTHING
