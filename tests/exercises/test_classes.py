"""Of each exercise: where its cases part a right answer from the eight classes of slips.

The classes.toml of a lesson has a row for each exercise. For each class it names planted answers of
this exercise that slip so, or says why nobody can:

    size        right for one value of a count or constant alone: two workers, four lanes
    rounding    a float before a `ceil`, a sum of rounded parts, the upper of two middle values
    type        whole numbers in floats where int8 is asked, a float32 sum where float64 is
    state       something kept from call to call, by a part of what it depends on
    cost        right, and dearer than the text allows; each limit of the text has its sentence
    handshake   right words from a stage that waits for its receiver, or a wait that nobody ends
    forbidden   what is not allowed, by another name or made beforehand
    right       a right answer of another kind, which passes: a list, NumPy's numbers, another order

`fixed` names the arguments that have fewer than three values in the cases, or no odd one, with the
sentence of the text that fixes them. Every count and constant that is open takes at least three.
"""

import re
import tomllib
from collections import defaultdict

import numpy as np
import pytest

from tests.exercises.answers import ALSO_RIGHT, EMPTY, ENDLESS, EXERCISES, PLANTED
from tests.exercises.edits import COURSE
from tests.exercises.test_exercises import cases, in_ranks

CLASSES = ("size", "rounding", "type", "state", "cost", "handshake", "forbidden", "right")
NOT_HERE = "cannot matter: "
FILES = sorted(COURSE.glob("chapters/*/source/*/classes.toml"))
ROWS = {id: row for path in FILES for id, row in tomllib.loads(path.read_text("utf-8")).items()}


def names_for(id, kind):
    """What a row may name: answers that are accepted, or answers that are refused."""
    if kind == "right":
        return {answer.__name__ for answer in ALSO_RIGHT.get(id, [])}
    refused = [answer for answer, _ in PLANTED[id]] + [
        kernels[id] for kernels in (ENDLESS, EMPTY) if id in kernels
    ]
    return {answer.__name__ for answer in refused}


def sizes(value, path, found):
    """The values of each number and each axis among a case's arguments, by their place."""
    if isinstance(value, np.ndarray):
        for axis, length in enumerate(value.shape):
            found[f"{path}.shape[{axis}]"].add(length)
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        found[path].add(value)
    elif isinstance(value, tuple | list):
        found[f"len({path})"].add(len(value))
        for one in value:
            sizes(one, f"{path}[]", found)
    elif isinstance(value, dict):
        for key, one in value.items():
            sizes(one, f"{path}[{key}]", found)


def sizes_of(id):
    """place -> its values in all cases: "0" is the first argument, "ranks" the number of ranks."""
    found = defaultdict(set)
    for case in cases(id):
        by_rank = case.args[0] if in_ranks(id) else [case.args]
        if in_ranks(id):
            found["ranks"].add(len(by_rank))
        for args in by_rank:
            for place, value in enumerate(args):
                sizes(value, str(place), found)
    return found


def few(values):
    """Whether a place has too few values to show an answer that is right for one of them alone."""
    whole = all(isinstance(value, int | np.integer) for value in values)
    return len(values) < 3 or (whole and not any(value % 2 for value in values))


def test_every_exercise_has_a_row():
    assert set(ROWS) == set(EXERCISES)


def test_the_files_of_a_new_lesson_have_a_row_with_each_class():
    new = (COURSE / "labkit/course/new_lesson.toml").read_text("utf-8")
    (text,) = re.findall(r'^\["[\w.$]+"\]\n(?:\w+ = ".+"\n){2,}', new, re.MULTILINE)
    assert [[*row] for row in tomllib.loads(text).values()] == [[*CLASSES]]


@pytest.mark.parametrize("id", ROWS)
def test_a_row_names_its_planted_answers_or_says_why_there_is_none(id):
    assert set(ROWS[id]) - {"fixed"} == set(CLASSES)
    for kind in CLASSES:
        said = ROWS[id][kind]
        if said.startswith(NOT_HERE):
            assert len(said.split()) >= 6, f"{kind}: a reason is a sentence"
        else:
            unknown = set(said.split(", ")) - names_for(id, kind)
            assert not unknown, f"{kind}: {unknown} among no planted answers of {id}"


@pytest.mark.parametrize("id", ROWS)
def test_every_open_count_takes_three_values_and_an_odd_one(id):
    fixed = ROWS[id].get("fixed", {})
    few_of = {place for place, values in sizes_of(id).items() if few(values)}
    assert few_of == set(fixed), {place: sizes_of(id)[place] for place in few_of ^ set(fixed)}
    assert all(len(reason.split()) >= 4 for reason in fixed.values())
