"""What the room's functions are given: of the right kind, or a sentence that names the argument."""

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Real

import numpy as np

from labkit.fpga.errors import RTLError

LARGEST_PARAMETER = 2**31 - 1  # of a parameter `int`; a larger one would lose its upper bits


def whole(name: str, value: object, least: int, most: int = 2**62) -> int:
    """A count as an int; raises RTLError where it is no whole number from `least` to `most`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        limit = f" from {least} on" if most == 2**62 else f" from {least} to {most:,}"
        raise RTLError(f"{name} is {shown(value)}: it should be a whole number{limit}.")
    return int(value)


def real(name: str, value: object, error: type[Exception] = RTLError) -> float:
    """A number as a float; raises `error` where it is none, or not finite."""
    is_number = isinstance(value, Real | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise error(f"{name} is {shown(value)}: it should be a number.")
    return float(value)


def text(name: str, value: object, example: str) -> str:
    """A text; raises RTLError for anything else."""
    if not isinstance(value, str):
        raise RTLError(f"{name} is {shown(value)}: it should be a text, such as {example}.")
    return value


def path(name: str, value: object) -> str:
    """The path of a file, as a text; raises RTLError for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise RTLError(f"{name} is {shown(value)}: it should be the path of a file.")
    return os.fspath(value)


def texts(name: str, value: object, example: str) -> list[str]:
    """A row of texts; raises RTLError for anything else, a single text included."""
    is_row = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    row = list(value) if is_row else [None]
    if not all(isinstance(one, str) for one in row):
        raise RTLError(f"{name} is {shown(value)}: it should be a list of names, {example}.")
    return row


def wholes(name: str, value: object, least: int) -> list[int]:
    """A row of whole numbers from `least` on; raises RTLError for anything else."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise RTLError(f"{name} is {shown(value)}: it should be a row of whole numbers.")
    return [whole(f"One of {name}", one, least) for one in value]


def bits(name: str, value: object) -> np.ndarray:
    """A row of 0 and 1 as bytes; raises RTLError for anything else."""
    try:
        row = np.asarray(value)
    except ValueError:  # rows of different lengths
        row = None
    if row is None or row.ndim != 1 or not np.isin(row, (0, 1)).all():
        raise RTLError(f"{name} is {shown(value)}: it should be a row of 0 and 1.")
    return row.astype(np.uint8)


def mapping(name: str, value: object, example: str) -> dict:
    """A dict whose keys are texts; raises RTLError for anything else. None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise RTLError(f"{name} is {shown(value)}: it should be a dict, such as {example}.")
    return dict(value)


def parameters(value: object) -> dict[str, int]:
    """Parameters of a module; raises RTLError where a name or a value cannot be one."""
    chosen = mapping("parameters", value, '{"WIDTH": 8}')
    for name, number in chosen.items():
        if not name.isidentifier():
            raise RTLError(f"{name!r} is no name of a parameter: one such as WIDTH is.")
        if isinstance(number, int | np.integer) and number < 0:
            raise RTLError(
                f"The parameter {name} is {number}, and the tools take no negative number from "
                f"outside. Pass {-number}, and write the minus in the module: -{name}."
            )
        chosen[name] = whole(f"The parameter {name}", number, 0, LARGEST_PARAMETER)
    return chosen


def shown(value: object) -> str:
    """A value in a sentence: in full where it is short, else its type."""
    written = repr(value)
    short = len(written) <= 40 and "\n" not in written and " at 0x" not in written
    return written if short else f"of type {type(value).__name__}"
