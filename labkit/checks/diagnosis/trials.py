"""What a learner's function gave in each case, and whether a supposed cause explains it."""

from collections.abc import Callable
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import numpy as np

from labkit.checks.equality import Pair, close, equal
from labkit.checks.expected import Outputs, outputs_for
from labkit.checks.items import Case, Exercise
from labkit.checks.phrasing import argument_name

ENOUGH = 3  # values of a wrong result that a slip must explain: fewer agree by chance


@dataclass(frozen=True, eq=False)
class Trial:
    """One case: what the learner's function gave, output by output, and what was expected.

    got    None for an output that is not there, or is no array of numbers
    error  what the function raised, if it did
    """

    case: Case
    got: list[np.ndarray | None]
    expected: Outputs
    error: BaseException | None


class Trials:
    """All cases of an exercise that can speak about one of its outputs."""

    def __init__(self, exercise: Exercise, trials: list[Trial], output: int) -> None:
        self.exercise = exercise
        self.output = output
        self.in_order = trials
        # Small results come first: they are the quickest to speak against a slip.
        self.trials = sorted(trials, key=lambda trial: trial.expected[output].size)
        self.right = [trial for trial in self.trials if self._is_right(trial)]
        self.wrong = [trial for trial in self.trials if not self._is_right(trial)]
        self.seen = [trial for trial in self.wrong if trial.got[output] is not None]
        most = max(len(trial.case.args) for trial in trials)  # of ranks, cases have 1 to 4
        self.names = [argument_name(exercise.oracle, position) for position in range(most)]

    def _is_right(self, trial: Trial) -> bool:
        return self._is_result(trial, trial.expected[self.output])

    def _is_result(self, trial: Trial, candidate: np.ndarray) -> bool:
        """Whether the learner's function gave this."""
        return equal(trial.got[self.output], candidate, self.exercise)

    def _explains(
        self, candidate_of: Callable[[Trial], np.ndarray | None], everywhere: bool = True
    ) -> bool:
        """Whether a candidate is the learner's result wherever there is one, or where it is wrong.

        A candidate that cannot be computed for a case speaks against itself where the learner is
        right, and otherwise not at all.
        """
        explained = 0
        for trial in self.seen:
            candidate = candidate_of(trial)
            if candidate is None and everywhere:
                continue
            if candidate is None or not self._is_result(trial, candidate):
                return False
            told = np.isfinite(candidate)  # infinities agree by chance
            if not everywhere and candidate.shape == trial.expected[self.output].shape:
                told &= ~close(candidate, trial.expected[self.output], self.exercise)
            explained += told.sum()
        for trial in self.right if everywhere else ():
            candidate = candidate_of(trial)
            if candidate is None or not self._is_result(trial, candidate):
                return False
        return explained >= ENOUGH

    def _of_changed_arguments(
        self, trial: Trial, change: Callable[[tuple], tuple], output: int | None = None
    ) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"), catch_warnings():
                simplefilter("ignore")
                args = change(trial.case.args)
            found = outputs_for(self.exercise, self.exercise.oracle, args)
            found = found[self.output if output is None else output]
        except Exception:  # the changed arguments do not fit each other
            return None
        return None if found.dtype == object else found  # whole numbers beyond 64 bits

    def _explains_the_others(self, change: Callable[[tuple], tuple], everywhere: bool) -> bool:
        """Whether changed arguments give what stands in the other outputs of this one's group."""
        others = [
            place for group in self.exercise.groups if self.output in group for place in group
        ]
        for trial in self.trials if everywhere else self.wrong:
            for place in others:
                found = self._of_changed_arguments(trial, change, place)
                if found is not None and not equal(trial.got[place], found, self.exercise):
                    return False
        return True

    def _pairs(self, trials: list[Trial]) -> list[Pair]:
        return [Pair(trial.got[self.output], trial.expected[self.output]) for trial in trials]
