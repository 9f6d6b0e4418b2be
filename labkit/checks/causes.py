"""The likely cause of wrong values, for every exercise alike: common slips, then common patterns.

Nothing here knows an exercise. A slip is tried on the exercise's own oracle: if it turns the right
results into the learner's, in every case that it can be tried on, it is the likely cause. Where no
slip fits, what the wrong values have in common is told: a factor, a place, the kind of case.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from labkit.checks import patterns
from labkit.checks.compare import equal
from labkit.checks.exercise import Case, Exercise
from labkit.checks.expected import Outputs, outputs_for
from labkit.checks.phrasing import argument_name
from labkit.checks.slips import input_slips, output_slips

ENOUGH = 3  # values of a wrong result that a slip must explain: fewer agree by chance


@dataclass(frozen=True, eq=False)
class Trial:
    """One case: what the learner's function gave, output by output, and what was expected."""

    case: Case
    got: list[np.ndarray | None]
    expected: Outputs
    raised: bool


def likely_cause(exercise: Exercise, trials: list[Trial], output: int | None) -> str | None:
    """One sentence, without a capital at its start; None where nothing is recognised."""
    return _Search(exercise, trials, output or 0).cause()


class _Search:
    """The search for one output of an exercise, among all cases that can speak."""

    def __init__(self, exercise: Exercise, trials: list[Trial], output: int) -> None:
        self.exercise, self.output = exercise, output
        self.trials = sorted(trials, key=lambda trial: trial.expected[output].size)
        self.in_order = trials
        self.wrong = [trial for trial in self.trials if not self._right(trial)]
        self.seen = [trial for trial in self.wrong if trial.got[output] is not None]
        args = trials[0].case.args
        self.names = [argument_name(exercise.oracle, i) for i in range(len(args))]

    def cause(self) -> str | None:
        seekers = (
            self._kept,
            self._outputs_swapped,
            self._input_slip,
            self._output_slip,
            self._factor,
            self._case,
            self._slip_where_wrong,
            self._place,
            self._sizes,
        )
        for seek in seekers:
            if sentence := seek():
                return sentence
        return None

    def _right(self, trial: Trial) -> bool:
        got = trial.got[self.output]
        return equal(got, trial.expected[self.output], self.exercise)

    def _explains(
        self, candidate_of: Callable[[Trial], np.ndarray | None], everywhere: bool = True
    ) -> bool:
        """Whether a candidate is the learner's result wherever there is one, or where it is wrong.

        A candidate that cannot be computed for a case speaks against itself where the learner is
        right, and otherwise not at all.
        """
        explained = 0
        right = [trial for trial in self.trials if self._right(trial)] if everywhere else []
        for trial in (*self.seen, *right):
            candidate = candidate_of(trial)
            if candidate is None:
                if self._right(trial):
                    return False
                continue
            if not equal(trial.got[self.output], candidate, self.exercise):
                return False
            if not self._right(trial):
                explained += candidate.size
        return explained >= ENOUGH

    # The seekers, in their order.

    def _kept(self) -> str | None:
        """Wrong where a shape comes again, since something is kept from the call before."""
        if self.wrong and all(self._adds_earlier_results(trial) for trial in self.wrong):
            return "the results of earlier calls are added: something is kept between two calls."
        last = self.in_order[-1]
        seen = [_shapes(trial.case) for trial in self.in_order[:-1]]
        if len(self.wrong) == 1 and self.wrong[0] is last and _shapes(last.case) in seen:
            return (
                "it is right at the first call with these sizes, and wrong at the second, with "
                "other numbers: something is kept from one call to the next."
            )
        return None

    def _adds_earlier_results(self, trial: Trial) -> bool:
        """Whether the results of all calls before with a result of this shape are in it too."""
        own = trial.expected[self.output]
        results = [t.expected[self.output] for t in self.in_order[: self.in_order.index(trial)]]
        earlier = [result for result in results if result.shape == own.shape]
        return bool(earlier) and equal(trial.got[self.output], own + sum(earlier), self.exercise)

    def _outputs_swapped(self) -> str | None:
        for other, name in enumerate(self.exercise.outputs):
            if other != self.output and self._explains(lambda t, k=other: t.expected[k]):
                mine = self.exercise.outputs[self.output]
                return f"`{name}` stands where `{mine}` belongs: the outputs are in another order."
        return None

    def _input_slip(self, everywhere: bool = True) -> str | None:
        if not self.seen:
            return None
        for sentence, change in input_slips(self.seen[0].case.args, self.names):
            if self._explains(lambda trial, to=change: self._with(trial, to), everywhere):
                return sentence
        return None

    def _with(self, trial: Trial, change: Callable[[tuple], tuple]) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"):
                args = change(trial.case.args)
            return outputs_for(self.exercise, self.exercise.oracle, args)[self.output]
        except Exception:  # the changed arguments do not fit each other
            return None

    def _output_slip(self, everywhere: bool = True) -> str | None:
        if not self.seen:
            return None
        for sentence, change in output_slips(self.seen[0].expected[self.output]):
            if self._explains(lambda trial, to=change: self._changed(trial, to), everywhere):
                return sentence
        return None

    def _slip_where_wrong(self) -> str | None:
        """A slip that is made in some cases only: in all that are wrong."""
        sentence = self._input_slip(everywhere=False) or self._output_slip(everywhere=False)
        return f"where it is wrong, {sentence}" if sentence else None

    def _changed(self, trial: Trial, change: Callable) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"):
                return np.asarray(change(trial.expected[self.output]))
        except Exception:  # the change does not fit this result
            return None

    def _factor(self) -> str | None:
        trials = [t for t in self.trials if t.got[self.output] is not None]
        wrong = [t for t in trials if not self._right(t)]
        if (
            len(wrong) < len(self.wrong)
            or sum(t.expected[self.output].size for t in wrong) < ENOUGH
        ):
            return None
        pairs = [(t.got[self.output], t.expected[self.output]) for t in trials]
        sizes = [patterns.sizes_of(t.case, self.names) for t in trials]
        return patterns.factor(self.exercise, pairs, sizes) or patterns.distance(
            self.exercise, pairs, sizes
        )

    def _place(self) -> str | None:
        if len(self.seen) < len(self.wrong):
            return None
        pairs = [(t.got[self.output], t.expected[self.output]) for t in self.seen]
        return patterns.places(self.exercise, pairs)

    def _case(self) -> str | None:
        """Right or wrong by a number among the arguments, or by a square."""
        return self._separated_by(patterns.features)

    def _sizes(self) -> str | None:
        """Right or wrong by the sizes of the arrays: the last thing to look at."""
        kernel = self.exercise.adapter is not None
        return self._separated_by(partial(patterns.size_features, kernel=kernel))

    def _separated_by(self, features: Callable) -> str | None:
        right = [features(t.case, self.names) for t in self.trials if self._right(t)]
        wrong = [features(t.case, self.names) for t in self.wrong]
        return patterns.separating(right, wrong)


def _shapes(case: Case) -> list:
    """What two calls with new data have in common."""
    return [
        value.shape if isinstance(value, np.ndarray) else value
        for value in case.args
        if isinstance(value, np.ndarray | int | str | tuple)
    ]
