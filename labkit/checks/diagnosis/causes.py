"""The likely cause of wrong values, for every exercise alike: common slips, then common patterns.

Nothing here knows an exercise. A slip is tried on the exercise's own oracle: if it turns the right
results into the learner's, in every case that it can be tried on, it is the likely cause. Where no
slip fits, what the wrong values have in common is told: a factor, a place, the kind of case.
"""

from collections.abc import Callable
from functools import partial
from warnings import catch_warnings, simplefilter

import numpy as np

from labkit.checks.diagnosis.borders import another_length, missing_limit
from labkit.checks.diagnosis.case_features import (
    Features,
    features_of,
    number_features,
    separating,
    size_features,
)
from labkit.checks.diagnosis.chunks import chunks_missing, ranks_of
from labkit.checks.diagnosis.finer_causes import FinerSearch
from labkit.checks.diagnosis.places import where_argument, wrong_kind, wrong_places
from labkit.checks.diagnosis.proportions import distance, factor, rounded_to_few_bits, sizes_of
from labkit.checks.diagnosis.slips import input_slips, output_slips
from labkit.checks.diagnosis.trials import ENOUGH, Trial
from labkit.checks.equality import Pair, equal
from labkit.checks.items import Case, Exercise

_SINGLE = {  # what a single number may be of those that are asked for
    "sum": np.sum,
    "mean": np.mean,
    "largest": np.max,
    "smallest": np.min,
    "first": lambda values: values.flat[0],
    "last": lambda values: values.flat[-1],
}


def likely_cause(exercise: Exercise, trials: list[Trial], output: int | None) -> str | None:
    """One sentence, without a capital at its start; None where nothing is recognised.

    output   the position of the wrong output; the first one is looked at where it is not known
    """
    search = _Search(exercise, trials, output or 0)
    of_calls = (search.unsteady, search.kept_between_calls, search.wrong_when_called_again)
    in_general = (
        search.zeros,
        search.unsteady,
        search.kept_between_calls,
        search.outputs_swapped,
        search.input_slip,
        search.output_slip,
        search.kept_from_the_first_call,
        search.same_factor,
        search.all_alike,
        search.limit,
        search.border,
        search.finer_slip,
        search.too_much_of_an_argument,
        search.kind_of_case,
        search.slip_where_wrong,
        search.one_number,
        search.chunks,
        search.kind_of_argument,
        search.place,
        search.few_bits,
        search.sizes,
        search.more_ranks,
        search.kind_of_value,
        search.wrong_when_called_again,
    )
    seekers = in_general if exercise.general_causes else of_calls
    with np.errstate(all="ignore"), catch_warnings():  # NaN and infinity are looked at, too
        simplefilter("ignore")
        found = (seek() for seek in seekers)
        return next((sentence for sentence in found if sentence is not None), None)


class _Search(FinerSearch):
    """The seekers; `likely_cause` has their order."""

    def zeros(self) -> str | None:
        """Nothing but 0 in all outputs: many a slip of the arguments makes zeros, too."""
        values = [values for trial in self.trials for values in trial.got]
        if any(one is None or one.any() for one in values):
            return None
        wanted = np.concatenate([trial.expected[self.output].ravel() for trial in self.trials])
        if wanted.dtype.kind == "f" and (abs(wanted) <= 1).all():
            return (
                "every value is 0, in all cases: `//`, and a type of whole numbers, cut off what "
                "lies behind the point."
            )
        return "every value is 0, in all cases: what makes it 0?"

    def few_bits(self) -> str | None:
        """Errors of both signs that are as small as those of a type with few bits."""
        if len(self.seen) < max(len(self.wrong), 2):
            return None
        return rounded_to_few_bits(self.exercise, self._pairs(self.seen))

    def outputs_swapped(self) -> str | None:
        """Another output of the oracle stands where this one belongs."""
        mine = self.exercise.outputs[self.output]
        for position, other in enumerate(self.exercise.outputs):
            if position == self.output:
                continue
            if self._explains(lambda trial, position=position: trial.expected[position]):
                return f"`{other}` stands where `{mine}` belongs: the outputs are in another order."
        return None

    def input_slip(self, everywhere: bool = True) -> str | None:
        """The oracle gives the learner's results for changed arguments."""
        if not self.seen:
            return None
        everyones = [trial.case.args for trial in self.trials]
        for sentence, change in input_slips(self.seen[0].case.args, self.names, everyones):
            explained = self._explains(
                partial(self._of_changed_arguments, change=change), everywhere
            )
            if explained and self._explains_the_others(change, everywhere):
                return sentence
        return None

    def output_slip(self, everywhere: bool = True) -> str | None:
        """The learner's results are the oracle's, changed."""
        if not self.seen:
            return None
        for sentence, change in output_slips(self.seen[0].expected[self.output]):
            if self._explains(partial(self._changed_result, change=change), everywhere):
                return sentence
        return None

    def slip_where_wrong(self) -> str | None:
        """A slip that is made in some cases only: in all that are wrong."""
        if not any(trial.got[self.output].any() for trial in self.seen):
            return None  # of zeros, many a slip may be the cause
        wanted = [trial.expected[self.output] for trial in self.seen]
        if all(want.ndim == 0 and want.dtype.kind in "iu" for want in wanted):
            return None  # a few small whole numbers agree by chance
        sentence = self.input_slip(everywhere=False) or self.output_slip(everywhere=False)
        return f"where it is wrong, {sentence}" if sentence else None

    def same_factor(self) -> str | None:
        """Every value is off by the same factor, or by the same distance."""
        wrong_values = sum(trial.expected[self.output].size for trial in self.seen)
        if len(self.seen) < len(self.wrong) or wrong_values < ENOUGH:
            return None
        pairs = self._pairs(self.trials)
        sizes = [sizes_of(trial.case, self.names) for trial in self.trials]
        return factor(self.exercise, pairs, sizes) or distance(self.exercise, pairs, sizes)

    def kind_of_case(self) -> str | None:
        """Right or wrong by a number among the arguments, or by a square."""
        return self._separated_by(number_features)

    def one_number(self) -> str | None:
        """A single number where several are asked for: their sum, or the largest."""
        wanted = [trial.expected[self.output] for trial in self.seen]
        alone = any(want.ndim == 0 or not want.size for want in wanted)
        if alone or sum(want.size > 1 for want in wanted) < 2:
            return None
        for word, of in _SINGLE.items():
            single = [np.asarray(of(trial.expected[self.output])) for trial in self.seen]
            if all(map(self._is_result, self.seen, single)):
                return f"it returns one number, the {word} of those that are asked for."
        return None

    def all_alike(self) -> str | None:
        """One number for all places of a case, where they should differ."""
        output = self.output
        several = [trial for trial in self.seen if not _is_constant(trial.expected[output])]
        if len(self.seen) < len(self.wrong) or len(several) < 2:
            return None
        for trial in self.seen:
            got = trial.got[output]
            if got.shape != trial.expected[output].shape or not _is_constant(got):
                return None
        if not any(trial.got[output].any() for trial in several):
            return None
        said = "every value of a case is the same number"
        finite = all(np.isfinite(trial.got[output]).all() for trial in self.seen)
        for word, of in _SINGLE.items() if finite else ():
            single = [np.full_like(t.got[output], of(t.expected[output])) for t in self.seen]
            if all(map(self._is_result, self.seen, single)):
                said += f", the {word} of those that are asked for"
                break
        if any(not _is_constant(trial.expected[output]) for trial in self.right):
            said = f"where it is wrong, {said}"
        return f"{said}: each of them is to be found by itself."

    def kind_of_argument(self) -> str | None:
        """The wrong values, or those that are not finite, lie where an argument is of one kind."""
        got = [trial.got[self.output] for trial in self.trials]
        want = [trial.expected[self.output] for trial in self.trials]
        if any(a is None or a.shape != b.shape for a, b in zip(got, want, strict=True)):
            return None
        for place, name in enumerate(self.names):
            given = [trial.case.args[place : place + 1] for trial in self.trials]
            sentence = where_argument(self.exercise, name, given, list(map(Pair, got, want)))
            if sentence is not None:
                return sentence
        return None

    def chunks(self) -> str | None:
        """Chunks of a rank's result that nobody has sent."""
        if len(self.seen) < len(self.wrong):
            return None
        output = self.exercise.outputs[self.output]
        args = [trial.case.args for trial in self.seen]
        return chunks_missing(self.exercise, output, args, self._pairs(self.seen))

    def border(self) -> str | None:
        """The wrong values lie behind a border."""
        if len(self.seen) < len(self.wrong) or not self.seen:
            return None
        sizes = [sizes_of(trial.case, self.names) for trial in self.trials]
        return missing_limit(self.exercise, self._pairs(self.seen)) or another_length(
            self.exercise, self._pairs(self.trials), sizes
        )

    def place(self) -> str | None:
        """The wrong values lie in places of one kind."""
        if len(self.seen) < len(self.wrong):
            return None
        return wrong_places(self.exercise, self._pairs(self.seen))

    def sizes(self) -> str | None:
        """Right or wrong by the sizes of the arrays."""
        return self._separated_by(partial(size_features, kernel=self._is_kernel))

    def more_ranks(self) -> str | None:
        """Right up to a number of ranks, and wrong with more of them."""
        right, wrong = [], []
        for trial in self.trials:
            pairs = zip(trial.got, trial.expected, strict=True)
            all_right = all(equal(*pair, self.exercise) for pair in pairs)
            (right if all_right else wrong).append(ranks_of(trial.case.args))
        most = max(right, default=0)
        if most < 2 or len(wrong) < 2 or min(wrong) <= most:
            return None
        return (
            f"it is right with up to {most} ranks, and wrong in every case with more: what is "
            f"written for {most}?"
        )

    def kind_of_value(self) -> str | None:
        """The wrong values are of one kind: a symptom, and the last thing to tell."""
        if len(self.seen) < len(self.wrong):
            return None
        return wrong_kind(self.exercise, self._pairs(self.seen))

    @property
    def _is_kernel(self) -> bool:
        return self.exercise.adapter is not None and not self.exercise.plain_python

    def _separated_by(self, features: Callable[[Case, list[str]], Features]) -> str | None:
        """By one of these features, if none of all that can be said of a case does it too."""
        asked = {name for trial in self.trials for name in features(trial.case, self.names)}
        right = [features_of(trial.case, self.names, self._is_kernel) for trial in self.right]
        wrong = [features_of(trial.case, self.names, self._is_kernel) for trial in self.wrong]
        return separating(right, wrong, asked)


def _is_constant(values: np.ndarray) -> bool:
    """Whether all numbers are the same one; there may be one alone, or none."""
    flat = values.ravel()
    return bool((flat == flat[:1]).all() or np.isnan(flat).all())
