"""What a function should have returned: the oracle's results, as arrays."""

import copy
import warnings
from collections.abc import Callable

import numpy as np

from labkit.checks.items import Case, Exercise

Outputs = tuple[np.ndarray, ...]


def expected_outputs(exercise: Exercise, function: Callable, case: Case) -> Outputs:
    """What the oracle (or a misconception) returns for a case, as one array per output."""
    return outputs_for(exercise, function, case.args)


def outputs_for(exercise: Exercise, function: Callable, args: tuple) -> Outputs:
    """The same for any arguments; they are copied, so that none of them changes."""
    own_args = copy.deepcopy(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        returned = function(*own_args)
    if len(exercise.outputs) == 1:
        returned = (returned,)
    return tuple(np.array(value) for value in returned)
