"""Parameters of a test of which the first run by day, and the others in `make prove` alone."""

from collections.abc import Sequence

import pytest


def others_by_night(values: Sequence, instead: str, by_day: int = 1) -> list:
    """For `parametrize`: all values, those behind the first `by_day` marked for the night.

    values    single ones, or tuples where the test takes several
    instead   the test that covers the same by day: mostly the very test that takes the values
    """
    marks = pytest.mark.night(instead=instead)
    found = []
    for place, value in enumerate(values):
        several = value if type(value) is tuple else (value,)
        found.append(pytest.param(*several, marks=marks if place >= by_day else ()))
    return found
