"""What the places of wrong values say, and what they do not."""

import numpy as np

from labkit.checks.diagnosis.places import wrong_kind
from labkit.checks.equality import Pair
from labkit.checks.items import Exercise

ANY = Exercise("toy.any", lambda x: x, lambda rng: [], ("Look.",))


def kind_of(want, wrong):
    want = np.array(want, dtype=float)
    return wrong_kind(ANY, [Pair(np.where(wrong, want + 7, want), want)])


def test_positive_values_are_told_only_where_others_are_many():
    half = [3, -2, 5, -4] * 8
    wrong = [value > 0 and place > 4 for place, value in enumerate(half)]
    assert kind_of(half, wrong) == "only values are wrong that should be positive."
    counts = [3, 1, 5, 4] * 8 + [0]  # nearly all are positive, whatever is wrong
    wrong = [value > 3 and place > 4 for place, value in enumerate(counts)]
    assert kind_of(counts, wrong) is None
