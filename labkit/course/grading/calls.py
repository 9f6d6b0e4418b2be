"""A function that runs in another process, called as if it were here: for judges that call it.

Its arguments and results must be data: numbers, texts, arrays, tensors, and containers of these.
What the function does to its arguments is done to the caller's, too.
"""

import base64
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from labkit.checks.items import Case, Exercise
from labkit.checks.watch import WatchedRun
from labkit.checks.watch.clock import TimeUp
from labkit.checks.watch.escapes import Escape
from labkit.course.grading import data


class NotData(Exception):
    """An argument is no data: this function has to be where its judge is."""


class Called:
    """In the place of the function; it remembers what was seen where it runs.

    ask       ask(cases) -> the run of one case elsewhere, and its arguments afterwards
    not_data  whether its judge gives it something that no other process can have
    """

    def __init__(self, ask: Callable[[list[Case]], tuple], like: object) -> None:
        self._ask = ask
        self.__signature__ = getattr(like, "__signature__", None)
        self.__wrapped__ = like  # its source is the student's
        self.__name__ = "answer"
        self.not_data = False
        self.seen: WatchedRun | None = None  # the first run in which something was wrong
        self._lines: dict[int, tuple[BaseException, Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """What the function returns or raises there."""
        if not is_data(args):
            self.not_data = True
            raise NotData("an argument is no data")
        run, after = self._ask([Case("a call", args)])
        for one, other in zip(args, after, strict=True):
            write_back(one, other)
        if self.seen is None and (run.hit or run.expired or run.left):
            self.seen = run
        (case,) = run.cases
        print(case.prints, end="")
        if run.expired:
            raise TimeUp
        if run.hit is not None and run.hit.kind == "escape" and not run.hit.late:
            raise Escape
        if case.error is not None:
            self._lines[id(case.error)] = case.error, case.line
            raise case.error
        return case.returned

    def completed(self, run: WatchedRun) -> WatchedRun:
        """A run of the judge's, with what was seen where the function runs."""
        for case in run.cases:
            if id(case.error) in self._lines:
                case.line = self._lines[id(case.error)][1]
        if self.seen is None:
            return run
        seen = self.seen
        return replace(
            run,
            hit=run.hit or seen.hit,
            expired=run.expired or seen.expired,
            idle=run.idle or seen.idle,
            left=run.left or seen.left,
        )


def asked(cases: list[Case], seconds: list[float], exercise: Exercise, answers: tuple) -> dict:
    """The request to run an answer on cases: they are the course's own, so a pickle may carry them.

    seconds   processor time of the course's own answer to each
    answers   modules that hold right answers
    """
    packed = pickle.dumps([(case.name, case.args) for case in cases])
    return {
        "cases": base64.b64encode(packed).decode(),
        "seconds": seconds,
        "forbidden": exercise.forbidden,
        "weighed": exercise.memory is not None,
        "answers": answers,
    }


def is_data(value: Any) -> bool:
    """Whether another process can have it."""
    if type(value) in (list, tuple):
        return all(map(is_data, value))
    if type(value) is dict:
        return all(is_data(one) for pair in value.items() for one in pair)
    if type(value) is np.ndarray:
        return value.dtype != object
    plain = type(value) in (bool, int, float, complex, str, type(None))
    return plain or isinstance(value, np.generic) or data.is_tensor(value)


def write_back(mine: Any, theirs: Any) -> None:
    """What was done to an argument elsewhere is done to this one; Broken for another form."""
    try:
        if type(mine) is np.ndarray:
            mine[...] = theirs
        elif data.is_tensor(mine):
            import torch

            with torch.no_grad():
                mine.copy_(theirs)
        elif type(mine) is list:
            mine[:] = theirs
        elif type(mine) is dict:
            mine.clear()
            mine.update(theirs)
        elif type(mine) is tuple:
            for one, other in zip(mine, theirs, strict=True):
                write_back(one, other)
    except (TypeError, ValueError, RuntimeError) as error:
        raise data.Broken("an argument comes back in another form") from error
