"""The line that names a case says what a reader can compute with."""

import numpy as np

from labkit.checks.items import Case
from labkit.checks.phrasing import FEW, case_text


def group_along(rank, lengths, side):
    """Only its parameters' names are looked at."""


def line(*args):
    return case_text(group_along, Case("a case", args))


def test_a_few_whole_numbers_stand_there_themselves():
    assert line(21, np.array([2, 3, 4]), 1) == "a case (rank 21, lengths [2, 3, 4], side 1)"
    assert line(0, np.array([], dtype=int), 0) == "a case (rank 0, lengths [], side 0)"
    assert (
        line(0, np.array([-7], dtype=np.int8), True) == "a case (rank 0, lengths [-7], side True)"
    )


def test_other_arrays_are_told_by_their_shape():
    for array, said in (
        (np.arange(FEW), str(list(range(FEW)))),
        (np.arange(FEW + 1), f"{FEW + 1} elements"),
        (np.array([0.5, 1.0]), "2 elements"),
        (np.array([True, False]), "2 elements"),
        (np.array([[1, 2], [3, 4]]), "2 × 2"),
        (np.array(3), "a single number"),
    ):
        assert line(0, array, 1) == f"a case (rank 0, lengths {said}, side 1)"


def test_what_is_neither_number_nor_array_is_left_out():
    assert line([1, 2], {}, None) == "a case"
