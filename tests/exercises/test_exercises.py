"""Every exercise that is a function: its shapes, its planted wrong answers, its solution.

The planted answers are in planted/<lesson>.py (answers.py reads them). Exercises in SystemVerilog
have demands of their own, in test_rtl_exercises.py.
"""

import ast
import copy
from functools import partial

import numpy as np
import pytest

from labkit import check
from labkit.checks.course_version import course_version_of
from labkit.checks.diagnosis.diagnose import own_work
from labkit.checks.items import Refused
from labkit.distributed.judging.rank_judge import RankJudge
from numba_simt.errors import KernelError
from tests.exercises.answers import (
    ALSO_RIGHT,
    EMPTY,
    ENDLESS,
    EXERCISES,
    FUNCTIONS,
    HANGING,
    KEPT,
    LONG_IDS,
    PLANTED,
    RIGHT_ON,
    by_day,
    mechanism,
    plants_of,
)
from tests.exercises.edits import edit, lessons, solution, sources

IN_THE_LESSON = (
    "tests/notebooks/test_notebooks.py::test_its_solved_cells_run_in_the_test_of_its_numbers"
)
BY_DAY = "tests/exercises/test_exercises.py::test_four_planted_answers_are_tried_by_day"
PLANTS = plants_of(FUNCTIONS, instead=BY_DAY)
MECHANISMS = {
    "a misconception",
    "a general cause",
    "a limit of cost",
    "a forbidden call",
    "a wait without an end",
}
STYLES = [
    pytest.param(id, answer, id=f"{id}-{answer.__name__}")
    for id in FUNCTIONS
    for answer in ALSO_RIGHT.get(id, [])
]


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")


@pytest.fixture(autouse=True)
def _nothing_kept():
    """What planted answers keep from call to call is empty: no test depends on another's calls."""
    for kept in KEPT:
        kept.clear()


def cases(id):
    return list(EXERCISES[id].cases(np.random.default_rng(7)))


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def arrays(value):
    """All arrays among a case's arguments; those of exercises in ranks lie in tuples."""
    if isinstance(value, tuple | list):
        return [array for one in value for array in arrays(one)]
    return [value] if isinstance(value, np.ndarray) else []


def in_ranks(id):
    """The judge of an exercise whose answer runs in rank processes; None for all others."""
    judge = getattr(EXERCISES[id].adapter, "__self__", None)
    return judge if isinstance(judge, RankJudge) else None


def agrees(id, f, args):
    """Whether f equals the oracle on these inputs; a kernel is launched, ranks are, a board is."""
    if plain := EXERCISES[id].plain:
        f = partial(plain, f)
    try:
        got = as_tuple(f(*copy.deepcopy(args)))
    except (KernelError, Refused, RuntimeError):  # RuntimeError: what pynq raises
        return False
    expected = as_tuple(EXERCISES[id].oracle(*copy.deepcopy(args)))
    return all(
        np.shape(g) == np.shape(e) and np.allclose(g, e, rtol=1e-6, atol=EXERCISES[id].atol)
        for g, e in zip(got, expected, strict=True)
    )


def test_four_planted_answers_are_tried_by_day():
    """By night all of them are. Each of the mechanisms that refuse an answer has its turn."""
    chosen = {id: by_day(id) for id in PLANTED}
    assert {len(plants) for plants in chosen.values()} == {4}
    assert {mechanism(id, *one) for id, plants in chosen.items() for one in plants} == MECHANISMS


def test_every_exercise_has_planted_wrong_solutions_and_a_right_one():
    assert set(PLANTED) == set(EXERCISES) == set(sources())
    assert set(ALSO_RIGHT) <= set(EXERCISES)


@pytest.mark.parametrize("id", FUNCTIONS)
def test_an_exercise_has_enough_shapes_plants_and_hints(id):
    shapes = [[np.shape(a) for a in arrays(case.args)] for case in cases(id)]
    said = "fewer than five different shapes of arrays; tuples and numbers do not count"
    assert len({str(s) for s in shapes}) >= 5, said
    least = 2 if id == "distributed.fit_link" else 1  # one ping does not tell two numbers
    assert any(set(sum(s, ())) == {least} for s in shapes), "no case in which every size is least"
    if all(len(size) == 1 for s in shapes for size in s):
        assert len([n for s in shapes for size in s for n in size if n % 32]) >= 3, "too few ragged"
    else:
        assert any(len(set(sum(s, ()))) >= 2 for s in shapes), "no ragged case"
    plants = [says for _, says in PLANTED[id]]
    assert len(plants) >= 4, "fewer than four planted answers"
    assert len(set(plants)) == len(plants), "each planted answer needs its own diagnosis"
    if not (in_ranks(id) and in_ranks(id).in_place):
        assert any("changes its input" in says for says in plants), "one plant changes its input"
    if in_ranks(id):
        assert any("wait" in says for says in plants), "one whose ranks wait for each other"
        unused = EXERCISES[id].forbidden and not set(plants) & set(EXERCISES[id].forbidden)
        assert not unused, "one plant calls what is forbidden"
    elif EXERCISES[id].plain_python and id.startswith("fpga."):
        assert any("real board" in says for says in plants), "one where a real board would hang"
    elif EXERCISES[id].adapter and not EXERCISES[id].plain_python:  # a kernel: no library in it
        assert any("no kernel" in says for says in plants), "one that is no kernel"
    else:
        named = [name for name in EXERCISES[id].forbidden if name.endswith(tuple(plants))]
        assert named, "one plant calls what is forbidden, and is told its name"
    assert len(EXERCISES[id].hints) >= 2, "an exercise has at least two hints"


@pytest.mark.parametrize("id", FUNCTIONS)
def test_the_data_are_asymmetric(id):
    for case in cases(id):
        if case.name.startswith("equal "):  # where equal values are the point
            continue
        for array in (a for a in arrays(case.args) if a.size > 1):
            said = f"case {case.name!r}: equal values in an array hide a wrong index; where they"
            said += " are the point, the case's name begins with 'equal '"
            assert len(np.unique(array)) == array.size, said


def is_right(id, answer, capsys):
    return check(id, answer) is answer and "Right" in capsys.readouterr().out


def of_cheap_lessons_by_night(id):
    """By day the test of a lesson's numbers checks its solutions, where its cells are not dear."""
    marks = () if id in LONG_IDS else pytest.mark.night(instead=IN_THE_LESSON)
    return pytest.param(id, marks=marks)


@pytest.mark.parametrize("id", [of_cheap_lessons_by_night(id) for id in FUNCTIONS])
def test_the_lessons_solution_passes_and_is_returned(id, capsys):
    assert is_right(id, solution(id), capsys)


@pytest.mark.night(instead=IN_THE_LESSON)
@pytest.mark.parametrize(("id", "answer"), STYLES)
def test_an_answer_in_another_style_passes_and_is_returned(id, answer, capsys):
    assert is_right(id, answer, capsys)


def test_no_given_cell_has_work_of_its_own():
    given = {}
    for lesson in lessons():
        for cell in lesson.cells:
            ids = [tag.removeprefix("exercise:") for tag in cell.tags]
            for id in set(ids) & set(FUNCTIONS):
                given[id] = named(cell.learner, sources()[id].name)
    assert set(given) == set(FUNCTIONS)
    assert not [id for id, source in given.items() if own_work(id, source)]
    assert own_work("gpu.linear_backward", "def f(dy, x, w):\n    return 0 * x, dy @ dy, 0")


def named(text, name):
    """The source of the function of this name."""
    (one,) = [one for one in ast.parse(text).body if getattr(one, "name", "") == name]
    return ast.unparse(one)


def test_an_edit_is_of_one_place_alone():
    assert edit("gpu.relu_kernel", "longer", "x.size", "x.shape[0]").__name__ == "longer"
    with pytest.raises(ValueError, match=r"'x' stands \d times in the solution"):
        edit("gpu.relu_kernel", "anywhere", "x", "y")
    with pytest.raises(ValueError, match="'weight' stands 0 times in the solution"):
        edit("gpu.relu_kernel", "nowhere", "weight", "y")


@pytest.mark.night(
    instead="tests/exercises/test_exercises.py::test_a_planted_wrong_solution_is_refused_with_its_diagnosis"
)
@pytest.mark.parametrize(("id", "wrong", "says"), PLANTS)
def test_a_planted_wrong_solution_is_right_somewhere(id, wrong, says):
    if wrong in RIGHT_ON:
        assert agrees(id, wrong, RIGHT_ON[wrong]), "it is wrong on its input in RIGHT_ON"
        return
    if "no kernel" in says or wrong.__name__ == "tree_barrier_in_the_if":
        return  # the one is never launched, the other never comes to its end
    if wrong in HANGING:
        return
    somewhere = any(agrees(id, wrong, case.args) for case in cases(id))
    assert somewhere, "right on no case: put an input into RIGHT_ON"


@pytest.mark.parametrize(("id", "wrong", "says"), PLANTS)
def test_a_planted_wrong_solution_is_refused_with_its_diagnosis(id, wrong, says, capsys):
    working = check(id, wrong)
    said = " ".join(capsys.readouterr().out.replace("`", "").split())
    assert working is not wrong, "accepted: no case parts it from a right answer"
    says = says.replace("`", "")
    assert says in said, f"{says!r} is not in what it is told: {said}"
    others = [other for _, other in PLANTED[id] if other not in (says, "torch", "labkit.reference")]
    diagnosis = said.partition("Not allowed in this exercise")[0]
    assert not [other for other in others if other in diagnosis], "a diagnosis of another mistake"
    assert working is EXERCISES[id].fallback or agrees(id, working, cases(id)[-1].args)


@pytest.mark.parametrize("id", [id for id, one in FUNCTIONS.items() if one.fallback])
def test_what_is_handed_on_for_a_wrong_answer_works(id):
    """Of each exercise once: the test above demands that `check` hands on this very function."""
    assert agrees(id, course_version_of(EXERCISES[id]), cases(id)[-1].args)


@pytest.mark.parametrize("id", ENDLESS)
def test_an_endless_kernel_is_told_its_line(id, capsys):
    working = check(id, ENDLESS[id])
    said = " ".join(capsys.readouterr().out.replace("`", "").split())
    assert working is not ENDLESS[id]
    assert "Endless loop: thread" in said and "while" in said


@pytest.mark.parametrize("id", EMPTY)
def test_an_empty_kernel_is_not_yet_an_answer(id, capsys):
    assert check(id, EMPTY[id]) is not EMPTY[id]
    assert "is not solved yet" in " ".join(capsys.readouterr().out.split())
