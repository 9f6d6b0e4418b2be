"""Shapes, numbers, cases, lines and errors as a reader wants them."""

import inspect
from collections.abc import Callable

import numpy as np

from labkit.checks.exercise import Case
from labkit.checks.render import Code
from labkit.checks.watch.source import Line


def shape_text(shape: tuple[int, ...]) -> str:
    """3 × 4 reads better than (3, 4); a single number has no shape."""
    if len(shape) == 1:
        return f"{shape[0]} element{'s' * (shape[0] != 1)}"
    return " × ".join(map(str, shape)) or "a single number"


def index_text(name: str, index: tuple[int, ...]) -> str:
    return f"`{name}[{', '.join(map(str, index))}]`" if index else f"`{name}`"


def number_pair(got: object, expected: object) -> tuple[str, str]:
    """Both with six digits, or with as many as it takes to tell them apart.

    Where an integer is expected, a whole number is written as one.
    """
    whole = isinstance(expected, int | np.integer) and np.isfinite(got) and got == np.trunc(got)
    got = int(got) if whole and not isinstance(got, bool | np.bool_) else got
    for digits in (6, 9, 17):
        texts = _number(got, digits), _number(expected, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _number(value: object, digits: int) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, bool | int) else f"{value:.{digits}g}"


def are(count: int) -> str:
    return "is" if count == 1 else "are"


def argument_name(oracle: Callable, position: int) -> str:
    """The oracle's name for a position."""
    try:
        return list(inspect.signature(oracle).parameters)[position]
    except (TypeError, ValueError, IndexError):  # a function written in C, or `*args`
        return f"argument {position}"


def case_text(oracle: Callable, case: Case) -> str:
    """'prime sizes (dy 7 × 5, x 7 × 3, stride 2)'"""
    parts = []
    for position, value in enumerate(case.args):
        if isinstance(value, np.ndarray):
            parts.append(f"{argument_name(oracle, position)} {shape_text(value.shape)}")
        elif type(value) in (int, float, bool, str, np.float32):
            parts.append(f"{argument_name(oracle, position)} {value}")
    return f"{case.name} ({', '.join(parts)})" if parts else case.name


def line_blocks(line: Line | None, where: str = "It happens in") -> list[str | Code]:
    if line is None:
        return []
    return [f"{where} {line}:", Code(line.text)] if line.text else [f"{where} {line}."]


def error_text(error: BaseException) -> str:
    """Type and message of an exception, at most four lines."""
    try:
        text = str(error)
    except BaseException:  # an exception class of the learner's own
        text = ""
    first, *more = [short(line, 200) for line in text.strip().splitlines()[:4]] or [""]
    kind = type(error).__name__
    return "\n".join([f"{kind}: {first}" if first else kind, *more])


def short(text: object, length: int = 60) -> str:
    """At most `length` characters; of anything but a text, its type."""
    text = text if isinstance(text, str) else type(text).__name__
    return text if len(text) <= length else text[: length - 3] + "..."
