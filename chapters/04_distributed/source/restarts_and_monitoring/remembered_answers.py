"""What becomes of a training that goes on from a learner's snapshot: exercise distributed.snapshot.

    gone_on(answer)(x, y, before, meanwhile, after) -> errors [after], weights [D]

The old training does `before` steps, the snapshot is taken, and the old one does `meanwhile` more
before it dies. A new one goes on from the snapshot for `after` steps.
"""

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit_lessons.distributed.restarts_and_monitoring.remembered import (
    ARRAYS,
    PARTS,
    SmallTraining,
)

SEED = 5
GENERATOR = "PCG64"
Run = tuple[np.ndarray, np.ndarray]


def unbroken(x: np.ndarray, y: np.ndarray, before: int, meanwhile: int, after: int) -> Run:
    """A training that nothing befalls; the errors of its steps behind `before`."""
    training = SmallTraining(x, y, SEED)
    errors = [training.one_step() for _ in range(before + after)]
    return np.array(errors[before:]), training.weights


def gone_on(answer: object, strictly: bool = True) -> Callable[..., Run]:
    """A function like `unbroken`, with a death in the middle; Refused for what is no snapshot."""
    refuse_no_function(answer)
    right_before: list[bool] = []  # what is another only later may be kept from an earlier call

    def run(x: np.ndarray, y: np.ndarray, before: int, meanwhile: int, after: int) -> Run:
        old = SmallTraining(x, y, SEED)
        for _ in range(before):
            old.one_step()
        untouched = _values(old)
        saved = answer(old)
        if strictly and not _same(untouched, _values(old)):
            raise Refused("The function changes its input: the training goes on after a snapshot.")
        if strictly:
            _require_snapshot(saved, len(x))
            if not right_before:
                _require_as_it_is(saved, untouched)
            right_before.append(True)
            _require_its_own(answer, saved, SmallTraining(x, y, SEED + 1))
        for _ in range(meanwhile):
            old.one_step()
        new = SmallTraining(x, y, SEED)
        new.go_on(saved)
        errors = [new.one_step() for _ in range(after)]
        return np.array(errors), new.weights

    return run


def _values(training: SmallTraining) -> dict[str, Any]:
    """Copies of everything that a training has."""
    values = {name: getattr(training, name) for name in (*PARTS, "x", "y")}
    values["random"] = training.random.bit_generator.state
    return {name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in values.items()}


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return all(np.array_equal(before[name], after[name]) for name in before)


def _require_snapshot(saved: object, examples: int) -> None:
    """Raises Refused with what is wrong with its names and types."""
    if saved is None:
        raise Refused("The function returns nothing: `return` the dict.")
    if not isinstance(saved, Mapping):
        raise Refused(f"A snapshot is a dict; this is of type {type(saved).__name__}.")
    if not saved:
        raise Unsolved("the snapshot is empty")
    for name, value in saved.items():
        if name not in PARTS:
            raise Refused(
                f"{name!r} is none of the parts that change while it trains: {', '.join(PARTS)}."
            )
        _require_type(name, value)
    state = saved.get("random")
    if isinstance(state, Mapping) and (kind := state.get("bit_generator")) != GENERATOR:
        raise Refused(
            f"'random' is the state of another generator, {kind}: that of the training is "
            f"`training.random`, {GENERATOR}."
        )
    position = saved.get("position", 0)
    if not 0 <= position < examples:
        raise Refused(
            f"'position' is {position}, and the {examples} examples count from 0: behind the last "
            f"one, the training begins again with the first. `training.position` does so."
        )


def _require_as_it_is(saved: Mapping, values: Mapping[str, Any]) -> None:
    """Raises Refused for a part that is another already, in a way that no wrong idea tells.

    Where most are, they are those of another call.
    """
    right = {name: (values[name], np.float32(values[name])) for name in ARRAYS}
    right["mean"] = right["square"] = right["mean"] + right["square"]  # they may be exchanged
    if isinstance(saved.get("random"), Mapping):
        right["random"] = (values["random"],)
    unlike = [
        name
        for name in right
        if name in saved and not any(np.array_equal(saved[name], one) for one in right[name])
    ]
    if unlike and len(unlike) < len(ARRAYS):
        of = (
            "the state of `training.random`" if unlike[0] == "random" else f"`training.{unlike[0]}`"
        )
        raise Refused(f"{unlike[0]!r} is not what {of} is at the moment of the snapshot.")


def _require_its_own(answer: Callable, saved: Mapping, other: SmallTraining) -> None:
    """Raises Refused where a snapshot of another training changes the one that is there."""
    before = pickle.dumps(dict(saved))
    other.one_step()
    answer(other)
    if pickle.dumps(dict(saved)) != before:
        raise Refused(
            "The first snapshot has changed with the second one, of another training: both are "
            "kept in the same place. What stands outside the function, or is the default of a "
            "parameter, is made once, and lives from call to call."
        )


def _require_type(name: str, value: object) -> None:
    kinds = {
        "random": (Mapping, np.random.Generator),
        "step": (int, np.integer),
        "position": (int, np.integer),
    }
    if not isinstance(value, kinds.get(name, np.ndarray)):
        words = {"random": "the generator's state, a dict", **dict.fromkeys(ARRAYS, "an array")}
        raise Refused(
            f"{name!r} is {words.get(name, 'a whole number')}; this is of type "
            f"{type(value).__name__}."
        )
