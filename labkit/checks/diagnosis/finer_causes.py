"""Causes that are tried behind the common slips: what few make, and what a factor may explain.

Dense: a slip is one formula, which is tried on all cases.
"""

from functools import partial

import numpy as np

from labkit.checks.diagnosis.array_changes import ArrayFunction
from labkit.checks.diagnosis.borders import cut_at
from labkit.checks.diagnosis.call_causes import CallSearch
from labkit.checks.diagnosis.proportions import multiple
from labkit.checks.diagnosis.slips import finer_input_slips, finer_output_slips
from labkit.checks.diagnosis.trials import Trial


class FinerSearch(CallSearch):
    """The seekers of such causes."""

    def too_much_of_an_argument(self) -> str | None:
        """What is too much, or too little, is a multiple of an argument."""
        if len(self.seen) < max(len(self.wrong), 2):
            return None
        for place, name in enumerate(self.names):
            times = []
            for trial in self.trials:
                given = trial.case.args[place] if place < len(trial.case.args) else None
                pair = (trial.got[self.output], trial.expected[self.output])
                times.append(multiple(*pair, given) if isinstance(given, np.ndarray) else None)
            several = sum(trial.expected[self.output].size > 2 for trial in self.seen)
            if several > 1 and None not in times and any(times):
                return f"the result has too much, or too little, of `{name}` in it: a part of that."
        return None

    def limit(self) -> str | None:
        """No value goes beyond a number, though some should."""
        pairs = [pair for pair in self._pairs(self.trials) if pair.got is not None]
        if len(pairs) < len(self.trials) or any(got.shape != want.shape for got, want in pairs):
            return None
        return cut_at(self.exercise, pairs)

    def finer_slip(self) -> str | None:
        """The same of slips that few make, or that a factor explains as well."""
        if not self.seen:
            return None
        largest = max(self.seen, key=lambda trial: trial.expected[self.output].size)
        everyones = [trial.case.args for trial in self.trials]
        for sentence, change in finer_input_slips(largest.case.args, self.names, everyones):
            if self._explains(partial(self._of_changed_arguments, change=change)):
                return sentence
        for sentence, change in finer_output_slips(largest.expected[self.output]):
            if self._explains(partial(self._changed_result, change=change)):
                return sentence
        return None

    def _changed_result(self, trial: Trial, change: ArrayFunction) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"):
                right = trial.expected[self.output]
                found = np.asarray(change(right))
                whole = right.dtype.kind in "iu" and found.dtype.kind == "f"
                # A whole number is compared as one, to its last digit.
                return found.astype(np.int64) if whole and (found % 1 == 0).all() else found
        except Exception:  # the change does not fit this result
            return None
