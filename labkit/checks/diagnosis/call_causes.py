"""Causes that only several calls show: chance, and what is kept from one call to the next."""

from collections.abc import Iterable

import numpy as np

from labkit.checks.diagnosis.chunks import ranks_of
from labkit.checks.diagnosis.trials import ENOUGH, Trial, Trials
from labkit.checks.items import Case


class CallSearch(Trials):
    """The seekers that compare calls."""

    def unsteady(self) -> str | None:
        """Two calls with the same arguments differ."""
        firsts: dict[str, Trial] = {}
        for trial in self.in_order:
            first = firsts.setdefault(repr(_data(trial.case.args)), trial)
            got, before = trial.got[self.output], first.got[self.output]
            if got is not None and before is not None and not np.array_equal(got, before, True):
                return (
                    "two calls with the same arguments give different results: they depend on "
                    "chance, or on the calls before."
                )
        return None

    def kept_between_calls(self) -> str | None:
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

    def wrong_when_called_again(self) -> str | None:
        """Right at first, and wrong in all later calls, or where the first case comes again."""
        first, last = self.in_order[0], self.in_order[-1]
        if len(self.in_order) < ENOUGH or first in self.wrong:
            return None
        if ranks_of(first.case.args):  # each case has processes of its own
            return None
        is_last = self.wrong == [last] and last.case.name == f"{first.case.name} again"
        by_chance = first.expected[self.output].size < ENOUGH  # is a single number right
        if not is_last and (self.right != [first] or by_chance):
            return None
        return (
            "it is right at first, and wrong when it is called again: is something kept? What "
            "stands outside the function, or is the default of a parameter, lives from call to "
            "call."
        )

    def kept_from_the_first_call(self) -> str | None:
        """Calls with arrays as long as before get an argument, or the result, of the first one.

        A single wrong call says so only where it is the last one: another may agree by chance.
        """
        if not self.wrong or (len(self.wrong) == 1 and self.wrong[0] is not self.in_order[-1]):
            return None
        firsts: dict[str, tuple] = {}
        pairs = []  # a trial, and the arguments of the first call that looks like it
        for trial in self.in_order:
            form = repr(_shapes(trial.case, numbers=False))
            pairs.append((trial, firsts.setdefault(form, trial.case.args)))
        if len(firsts) == 1:  # only numbers: what is the same in all calls is a constant
            return None
        everything = range(len(self.names))
        for kept in (everything, *([place] for place in everything)):
            if all(self._is_of_the_first(*pair, kept) for pair in pairs):
                what = "the result" if kept is everything else f"`{self.names[kept[0]]}`"
                return (
                    f"at a call with arguments as long as before, {what} is still that of the "
                    "first such call: something is kept from one call to the next."
                )
        return None

    def _is_of_the_first(self, trial: Trial, first: tuple, kept: Iterable[int]) -> bool:
        """Whether this is the result with the arguments at the places `kept` of the first call."""
        args = list(trial.case.args)
        for place in kept:
            args[place : place + 1] = first[place : place + 1]
        candidate = self._of_changed_arguments(trial, lambda _: tuple(args))
        return candidate is not None and self._is_result(trial, candidate)

    def _adds_earlier_results(self, trial: Trial) -> bool:
        """Whether the results of all calls before with a result of this shape are in it too."""
        own = trial.expected[self.output]
        before = self.in_order[: self.in_order.index(trial)]
        results = [earlier.expected[self.output] for earlier in before]
        same_shape = [result for result in results if result.shape == own.shape]
        return bool(same_shape) and self._is_result(trial, own + sum(same_shape))


def _shapes(case: Case, numbers: bool = True) -> list:
    """What two calls with new data have in common: with whole numbers, which may be sizes."""
    return [_shape(value, numbers) for value in case.args]


def _data(value: object) -> object:
    """Something whose text tells two arguments apart wherever they differ."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return [_data(one) for one in value]
    return value


def _shape(value: object, numbers: bool) -> object:
    """What is left of an argument without its data; arrays lie within tuples, too."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, list | tuple):
        return [_shape(one, numbers) for one in value]
    if isinstance(value, int):
        return value if numbers else None
    return value if isinstance(value, str) else None
