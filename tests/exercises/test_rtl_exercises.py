"""Every exercise in SystemVerilog: its words, its planted wrong modules, its stub, its solution.

The planted modules are in planted/<lesson>.py, as all planted answers are. Among those of each
exercise one is told a misconception, and, as far as the exercise has streams and limits, one that
its words change when a neighbour waits, one that it takes too many cycles, and one that it takes
too many gates or cannot become gates:

    kept = edit("fpga.mac", "kept", "old", "new")  # a text, with the name "kept"
    PLANTED = {"fpga.mac": [(kept, "words of what it is told")]}
"""

import ast
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from labkit import check
from labkit.checks.judge import seeded_cases
from labkit.checks.registry import registered
from labkit.fpga.errors import RTLError
from tests.exercises.answers import ALSO_RIGHT, LONG_IDS, MODULES, PLANTED, RIGHT_ON, plants_of
from tests.exercises.edits import edit, lessons, solution, sources
from tests.night import others_by_night

BY_DAY = "tests/exercises/test_exercises.py::test_four_planted_answers_are_tried_by_day"
PLANTS = plants_of(MODULES, instead=BY_DAY)
# Other styles by night: each is compiled in all sizes, and the solution shows that right ones pass.
IN_THE_LESSON = pytest.mark.night(
    instead="tests/notebooks/test_notebooks.py::test_its_solved_cells_run_in_the_test_of_its_numbers"
)
SOLUTIONS = [  # by day the test of a lesson's numbers checks them, where its cells are not dear
    pytest.param(id, solution(id), id=id, marks=() if id in LONG_IDS else IN_THE_LESSON)
    for id in MODULES
]
OTHERS = [
    pytest.param(id, answer, id=f"{id}-{answer.__name__}")
    for id in MODULES
    for answer in ALSO_RIGHT.get(id, [])
]
# What tells these from another misconception are cases of further sizes.
ALL_SIZES = {"one_more", "half_of_24_bits", "sums_of_20_bits"}
WAITS = "not when a neighbour waits"
CYCLES = "clock cycles, and"
GATES = re.compile(r"(LUTs|flip-flops|DSPs|block RAMs), and|line \d+|latch|drivers|multipliers")


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")


def judge(id):
    """What knows how the modules of an exercise are run and weighed."""
    return MODULES[id].adapter.__self__


@cache
def stubs():
    """id -> the text that the learner finds in the lesson."""
    found = {}
    for lesson in lessons():
        for cell in lesson.cells:
            ids = [tag.removeprefix("exercise:") for tag in cell.tags]
            for id in set(ids) & set(MODULES):
                (text,) = texts_in(cell.learner)
                found[id] = text
    return found


def texts_in(code):
    """What the variables of a cell hold, as far as they hold texts."""
    for statement in ast.parse(code).body:
        match statement:
            case ast.Assign([ast.Name()], ast.Constant(value=str(text))):
                yield text


def asked(id, answer, capsys):
    """What `check` returns, and what it says in one line."""
    returned = check(id, answer)
    return returned, " ".join(capsys.readouterr().out.replace("`", "").split())


def is_prime(n):
    return n > 2 and all(n % divisor for divisor in range(2, n))


@pytest.mark.parametrize("id", MODULES)
def test_the_cases_have_few_words_and_many_of_both_signs(id):
    cases = seeded_cases(MODULES[id])
    assert len(cases) >= 5
    words = [
        max(np.shape(v)[0] for v in judge(id).drive(*c.args).inputs.values() if np.ndim(v))
        for c in cases
    ]
    assert {1, 2} <= set(words), "a case of one word, and one of two"
    assert any(map(is_prime, words)) and max(words) >= 20, "a prime number of words, and many"
    arrays = [a for c in cases for a in c.args if np.ndim(a)]
    unsigned = all(a.dtype.kind == "u" for a in arrays)
    numbers = np.concatenate([np.ravel(a) for a in arrays])
    low, high = (0, 255) if unsigned else (-128, 127)
    assert numbers.min() <= low and numbers.max() >= high
    first = [np.shape(a) for a in cases[0].args]
    again = [c for c in cases[1:] if [np.shape(a) for a in c.args] == first]
    assert again, "the first sizes come again, with other numbers"


@pytest.mark.parametrize("id", MODULES)
def test_the_planted_modules_part_what_a_learner_may_confuse(id):
    exercise, plants = MODULES[id], [says for _, says in PLANTED[id]]
    assert len(set(plants)) == len(plants) >= 4, "each planted module needs its own diagnosis"
    sentences = [" ".join(m.sentence.replace("`", "").split()) for m in exercise.misconceptions]
    assert any(says in sentence for says in plants for sentence in sentences)
    if judge(id).ports.streams_in:
        assert any(says in WAITS or WAITS in says for says in plants), "one wrong under stalls"
    if judge(id).demands.cycles:
        assert any(CYCLES in says for says in plants), "one that takes too many cycles"
    assert any(GATES.search(says) for says in plants), "one that takes too many gates, or no gates"
    assert len(exercise.hints) >= 2


@pytest.mark.parametrize(("id", "answer"), SOLUTIONS)
def test_the_solution_is_right(id, answer, capsys):
    returned, said = asked(id, answer, capsys)
    assert returned is answer and "is solved" in said, said


@IN_THE_LESSON
@pytest.mark.parametrize(("id", "answer"), OTHERS)
def test_a_module_in_another_style_is_right(id, answer, capsys):
    test_the_solution_is_right(id, answer, capsys)


@pytest.mark.night(
    instead="tests/notebooks/test_notebooks.py::test_its_solved_cells_run_in_the_test_of_its_numbers"
)
@pytest.mark.parametrize("id", MODULES)
def test_what_a_module_costs_is_said(id, capsys):
    _, said = asked(id, solution(id), capsys)
    assert "cycles of the longest case" in said


STUB = "tests/exercises/test_rtl_exercises.py::test_the_stub_runs_and_is_not_yet_an_answer"


@pytest.mark.parametrize("id", others_by_night([*MODULES], STUB))  # by day as well: the notebooks
def test_the_stub_runs_and_is_not_yet_an_answer(id, capsys):
    returned, said = asked(id, stubs()[id], capsys)
    assert returned == MODULES[id].fallback == sources()[id].function
    assert "is not solved yet" in said, said


def of_two_sizes(id):
    """The exercise with fewer cases: of its module's first size, and of the longest run of another.

    A module of another size is compiled anew, which takes longer than all that is asked of it. The
    solution, answers in other styles and the stub are run in all cases.
    """
    exercise = MODULES[id]

    def size(case):
        return judge(id).drive(*case.args).parameters

    def words(case):
        return max(np.size(values) for values in case.args)

    def cases(rng):
        every = list(exercise.cases(rng))
        first = size(every[0])
        longest = max((case for case in every if size(case) != first), key=words, default=every[0])
        return [case for case in every if size(case) in (first, size(longest))]

    return replace(exercise, cases=cases)


@pytest.mark.parametrize(("id", "wrong", "says"), PLANTS)
def test_a_planted_wrong_module_is_refused_with_its_diagnosis(id, wrong, says, capsys):
    exercise = MODULES[id] if wrong.__name__ in ALL_SIZES else of_two_sizes(id)
    with registered(exercise):
        returned, said = asked(id, wrong, capsys)
    assert returned is not wrong and returned == MODULES[id].fallback
    assert says in said, said
    others = [other for _, other in PLANTED[id] if other != says]
    assert not [other for other in others if other in said], "a diagnosis of another mistake"


@pytest.mark.night(
    instead="tests/exercises/test_rtl_exercises.py::test_a_planted_wrong_module_is_refused_with_its_diagnosis"
)
@pytest.mark.parametrize(("id", "wrong", "says"), PLANTS)
def test_a_planted_misconception_is_right_somewhere(id, wrong, says):
    sentences = [m.sentence.replace("`", "") for m in MODULES[id].misconceptions]
    if not any(says in sentence for sentence in sentences):
        return
    tried = [case.args for case in seeded_cases(MODULES[id])]
    if wrong in RIGHT_ON:
        tried.append(RIGHT_ON[wrong])
    somewhere = any(agrees(id, wrong, args) for args in tried)
    assert somewhere, "right on no case: put an input into RIGHT_ON"


def agrees(id, module, args):
    try:
        got = judge(id).plain(module, *args)
    except RTLError:
        return False
    expected = MODULES[id].oracle(*args)
    several = isinstance(expected, tuple)
    pairs = zip(got, expected, strict=True) if several else [(got, expected)]
    return all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("id", MODULES)
def test_an_edit_of_a_module_is_a_text_with_a_name(id):
    longer = edit(id, "longer", "endmodule", "// the end\nendmodule")
    assert longer.__name__ == "longer" and "// the end" in longer and isinstance(longer, str)
    with pytest.raises(ValueError, match="'no such text' stands 0 times"):
        edit(id, "nowhere", "no such text", "")
