"""The interval by formula against a search, and against faults that come at random."""

import math

import numpy as np
import pytest

from labkit_lessons.distributed.faults.checkpoint_interval import (
    best_interval,
    interruptions,
    predicted_share,
)
from labkit_lessons.distributed.faults.exercises.cost import lost_and_spent


@pytest.mark.parametrize(("write", "between"), [(60, 11_135), (1, 50_000), (300, 86_400)])
def test_no_other_interval_has_a_smaller_share(write, between):
    best = best_interval(write, between)
    share = predicted_share(best, write, between)
    for factor in (0.5, 0.9, 1.1, 2):
        assert predicted_share(factor * best, write, between) > share


def young(write, between):
    """T of Young 1974."""
    return math.sqrt(2 * write * between)


def daly(write, between):
    """T of Daly 2006, for checkpoints that are short against the time between faults."""
    share = write / (2 * between)
    root = math.sqrt(2 * write * between)
    return root * (1 + math.sqrt(share) / 3 + share / 9) - write


@pytest.mark.parametrize(("hours", "minutes"), [(24, "117"), (6, "57"), (0.25, "9.1")])
def test_dalys_formula_has_the_optima_of_dalys_figures(hours, minutes):
    """Its Figures 3 to 5: checkpoints of 5 minutes, a fault in so many hours; the restart of
    10 minutes does not enter."""
    assert f"{daly(5, 60 * hours):#.{len(minutes.replace('.', ''))}g}".rstrip(".") == minutes


@pytest.mark.parametrize(("write", "between"), [(60, 11_135), (1, 50_000), (300, 86_400)])
def test_ours_is_the_first_term_of_dalys_and_shorter_than_youngs_by_the_writing(write, between):
    ours = best_interval(write, between)
    assert ours + write == pytest.approx(young(write, between))
    assert 0 < daly(write, between) - ours < write


def test_faults_at_random_cost_about_what_the_formula_says():
    write, between = 60, 11_135
    moments = interruptions(20_000 * between, 20_000, seed=3)
    for every in (300, 1156, 4000):
        share = sum(lost_and_spent(moments, every, write)) / moments[-1]
        assert share == pytest.approx(predicted_share(every, write, between), rel=0.1)


def test_interruptions_rise_and_fall_anywhere():
    moments = interruptions(1000, 1000, seed=1)
    assert moments.tolist() == list(range(1, 1001))
    moments = interruptions(1_000_000, 4000, seed=1)
    assert (np.diff(moments) > 0).all() and moments[0] >= 1 and moments[-1] <= 1_000_000
    quarters = np.histogram(moments, 4, (0, 1_000_000))[0]
    assert (abs(quarters - 1000) < 150).all()
    assert (interruptions(1_000_000, 4000, seed=1) == moments).all()
    assert (interruptions(1_000_000, 4000, seed=2) != moments).any()
    with pytest.raises(ValueError):
        interruptions(10, 11)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        best_interval(0, 10)
    with pytest.raises(ValueError, match=r"no checkpoint of 100 s gets finished"):
        best_interval(100, 50)
    with pytest.raises(ValueError, match="above 0"):
        predicted_share(-1, 1, 1)
    with pytest.raises(ValueError, match="above 0"):
        interruptions(0, 5)
