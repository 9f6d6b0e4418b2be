"""Speaks about the inputs of a case: their names, their shapes, and which of them a function
changed.
"""

from collections.abc import Callable
from inspect import Parameter, signature

import numpy as np

from labkit.checks.compare import Problem
from labkit.checks.exercise import Case
from labkit.checks.run import Outcome
from labkit.checks.texts import index_text, number_pair, shape_text


def changed_input(oracle: Callable, outcome: Outcome) -> Problem:
    """The sentence for a function that writes into what it was given."""
    key, before, after = outcome.changed[0]
    name = argument_names(oracle, outcome.case).get(key, f"argument {key}")
    details = [
        "The caller still needs it. Work on a copy, `x.copy()`; `x += y` changes x in place."
    ]
    if isinstance(before, np.ndarray) and before.shape == after.shape:
        different = ~((before == after) | ((before != before) & (after != after)))
        if different.any():
            index = tuple(map(int, np.argwhere(different)[0]))
            was, now = number_pair(before[index], after[index])
            details.insert(
                0, f"{index_text(name, index)} was {was} before the call and is {now} after it."
            )
    return Problem(f"The function changes its input `{name}`.", tuple(details), kind="changed")


def argument_names(oracle: Callable, case: Case) -> dict[int | str, str]:
    """The oracle's parameter names, for positions and keywords."""
    try:
        parameters = [
            p for p in signature(oracle).parameters.values() if p.kind != Parameter.VAR_KEYWORD
        ]
    except (TypeError, ValueError):
        parameters = []
    names = dict(enumerate(p.name for p in parameters if p.kind != Parameter.VAR_POSITIONAL))
    return names | {key: key for key in case.kwargs}


def case_text(oracle: Callable, case: Case) -> str:
    """'prime sizes (dy 7 × 5, x 7 × 3, stride 2)'"""
    names = argument_names(oracle, case)
    parts = []
    for key, value in [*enumerate(case.args), *case.kwargs.items()]:
        name = names.get(key, f"argument {key}")
        if isinstance(value, np.ndarray):
            parts.append(f"{name} {shape_text(value.shape)}")
        elif type(value) in (int, float, bool, str):
            parts.append(f"{name} {value}")
    return f"{case.name} ({', '.join(parts)})" if parts else case.name
