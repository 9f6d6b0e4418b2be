"""Shapes, indices and numbers as a reader wants them."""

import numpy as np


def shape_text(shape: tuple[int, ...]) -> str:
    """3 × 4 reads better than (3, 4); a single number has no shape."""
    if not shape:
        return "a single number"
    return (
        f"{shape[0]} element{'s' * (shape[0] != 1)}"
        if len(shape) == 1
        else " × ".join(map(str, shape))
    )


def index_text(name: str, index: tuple[int, ...]) -> str:
    return f"`{name}[{', '.join(map(str, index))}]`" if index else f"`{name}`"


def number_pair(got: object, expected: object) -> tuple[str, str]:
    """Both with six digits, or with as many as it takes to tell them apart."""
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
