"""The line that names a case says what a reader can compute with."""

import dataclasses

import numpy as np
import pytest

from labkit.checks.items import Case, Exercise
from labkit.checks.phrasing import FEW, case_text


def group_along(rank, lengths, side):
    """Only its parameters' names are looked at."""


SHOWING = Exercise("toy.group", group_along, lambda rng: (), ("a hint",), shown=("lengths",))
SILENT = dataclasses.replace(SHOWING, shown=())


def line(*args, exercise=SHOWING):
    return case_text(exercise, Case("a case", args))


def test_a_few_numbers_stand_there_themselves_where_an_exercise_shows_them():
    lengths = np.array([2, 3, 4])
    assert line(21, lengths, 1) == "a case (rank 21, lengths [2, 3, 4], side 1)"
    assert line(21, lengths, 1, exercise=SILENT) == "a case (rank 21, lengths 3 elements, side 1)"
    assert (
        line(lengths, np.array([-7]), True) == "a case (rank 3 elements, lengths [-7], side True)"
    )


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        (np.arange(FEW), str(list(range(FEW)))),
        (np.arange(FEW + 1), f"{FEW + 1} elements"),
        (np.array([[1, 2], [3, 4]]), "2 × 2"),
        (np.array(3), "a single number"),
    ],
)
def test_other_arrays_are_told_by_their_shape(lengths, said):
    assert line(0, lengths, 1) == f"a case (rank 0, lengths {said}, side 1)"


def test_what_is_neither_number_nor_array_is_left_out():
    assert line([1, 2], {}, None) == "a case"


def test_the_names_are_a_tuple():
    with pytest.raises(ValueError, match="shown must be a tuple"):
        dataclasses.replace(SHOWING, shown="lengths")
