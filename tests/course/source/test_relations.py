"""What a sentence says of two numbers: evaluated in both twins, noted, refused where false."""

import json

import pytest

from labkit.course import CourseError
from labkit.course.build import build_lesson
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.notebook import Notebook, source_of
from labkit.course.pages import claims
from labkit.course.source.draft import draft
from labkit.course.source.relations import taken_out
from labkit.course.verify import refusals_of
from tests.notebooks import running

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"
LEARNER = "chapters/01_gpu/1_tiny.ipynb"
SOLUTION = "chapters/01_gpu/solutions/1_tiny.ipynb"
UNDER_BUILD = "# Three is right.\n"
UNDER_MEASURE = "# The picture below shows the number.\n"
VERDICT = "# It is three, as the [cell above](#C02) shows.\n"


def only_draft(root):
    course = Course(config(root))
    return draft(course.lessons()[0], course.config)


def say(root, expression, sentence=UNDER_BUILD):
    """Put a relation below a sentence of the lesson. Returns its line."""
    path = root / SOURCE
    text = path.read_text()
    assert text.count(sentence) == 1
    text = text.replace(sentence, f"{sentence}# <!-- holds: {expression} -->\n")
    path.write_text(text)
    return text[: text.index(expression)].count("\n") + 1


def stored(root, name):
    return json.loads((root / name).read_text())


def noted(root, name):
    return [cell["metadata"].get("holds") for cell in stored(root, name)["cells"]]


def test_a_relation_is_noted_in_both_twins_and_hidden_from_the_learner(bare_course):
    say(bare_course, "add_one(2) < 4")  # 2 for the learner's stub, 3 for the solution
    say(bare_course, "seconds >= 0", UNDER_MEASURE)
    say(bare_course, "'point' in alt", VERDICT)
    assert build_lesson(only_draft(bare_course))
    for name in (LEARNER, SOLUTION):
        outcomes = [one for one in noted(bare_course, name) if one]
        assert outcomes == [
            {"add_one(2) < 4": True},
            {"seconds >= 0": True},
            {"'point' in alt": True},
        ]
        cells = stored(bare_course, name)["cells"]
        assert not any("holds" in source_of(cell) for cell in cells)
        counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
        assert counts == [1, 2, 3, 4]
    made = only_draft(bare_course)
    assert refusals_of(made, config(bare_course)) == []
    (claim,) = claims.of_lesson(made.lesson, config(bare_course))
    assert claim.why == "It is three, as the cell above shows."
    assert not build_lesson(made)  # nothing changed: nothing runs


@pytest.mark.parametrize(
    ("expression", "twin", "words"),
    [
        ("add_one(2) > 2", LEARNER, "is false"),  # the stub returns 2
        ("add_one(2) < 3", SOLUTION, "is false"),
        ("add_one(2) < 1 / 0", LEARNER, "raises ZeroDivisionError: division by zero"),
        ("ad_one(2) < 4", LEARNER, "raises NameError: name 'ad_one' is not defined"),
        ("seconds < 4", LEARNER, "raises NameError"),  # of a cell further below
    ],
)
def test_what_does_not_hold_is_refused_with_its_place(bare_course, expression, twin, words):
    line = say(bare_course, expression)
    with pytest.raises(CourseError) as caught:
        build_lesson(only_draft(bare_course))
    said = str(caught.value)
    assert said.startswith(f"{SOURCE}, line {line}: in {twin}, `{expression}` {words}")
    assert not (bare_course / LEARNER).exists()


def test_it_is_evaluated_before_a_later_cell_gives_its_names_other_values(bare_course):
    path = bare_course / SOURCE
    path.write_text(path.read_text().replace("\nalt = ", "\nadd_one = None\nalt = "))
    say(bare_course, "add_one(2) < 4")
    assert build_lesson(only_draft(bare_course))
    say(bare_course, "add_one is None", UNDER_MEASURE)
    with pytest.raises(CourseError, match="`add_one is None` is false"):
        build_lesson(only_draft(bare_course))


def test_a_new_or_moved_relation_runs_the_lesson_and_is_missed_before(course, no_kernel):
    say(course, "add_one(2) < 4")
    (sentence, _) = refusals_of(only_draft(course), config(course))
    assert sentence.startswith(f"{LEARNER} is not what its source and texts generate")
    assert build_lesson(only_draft(course)) and no_kernel == [LEARNER, SOLUTION]
    assert not build_lesson(only_draft(course))
    path = course / SOURCE
    path.write_text(path.read_text().replace("# <!-- holds: add_one(2) < 4 -->\n", ""))
    say(course, "add_one(2) < 4", VERDICT)
    assert build_lesson(only_draft(course)) and no_kernel == [LEARNER, SOLUTION] * 2


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"add_one(2) < 4": False}, "has no record that `add_one(2) < 4` holds"),
        ({"add_one(2) < 4": True, "1 < 2": True}, "is not what its source and texts generate"),
        ({"add_one(2) < 5": True}, "is not what its source and texts generate"),
        ({}, "is not what its source and texts generate"),
    ],
)
@pytest.mark.parametrize("seal", [False, True])
def test_a_record_edited_by_hand_is_refused(course, no_kernel, damage, words, seal):
    say(course, "add_one(2) < 4")
    build_lesson(only_draft(course))
    made = stored(course, LEARNER)
    (cell,) = [cell for cell in made["cells"] if cell["metadata"].get("holds")]
    cell["metadata"]["holds"] = damage
    if seal:
        made = Notebook(course / LEARNER, LEARNER, made).sealed().content
    (course / LEARNER).write_text(json.dumps(made))
    found = refusals_of(only_draft(course), config(course))
    assert any(words in sentence for sentence in found)
    assert seal or any("edited by hand" in sentence for sentence in found)
    assert build_lesson(only_draft(course)) and no_kernel[-1] == LEARNER


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is less.\n<!-- hold: a < b -->", "cannot be read"),
        ("It is less.\n<!-- holds: a < b", "cannot be read"),
        ("<!-- holds: a < b -->", "no sentence stands directly above"),
        ("It is less.\n\n<!-- holds: a < b -->", "no sentence stands directly above"),
        ("It is less.\n<!-- holds: a = b -->", "is no Python expression"),
        ("It is less.\n<!-- holds: a -->", "says nothing of a cell"),
        ("It is less.\n<!-- holds: 1 < 2 -->", "says nothing of a cell"),
    ],
)
def test_what_says_nothing_is_refused_with_its_line(text, words):
    with pytest.raises(CourseError) as caught:
        taken_out(text, "a.py", 10)
    line = 10 + 1 + text.split("\n").index(text.split("\n")[-1])
    assert str(caught.value).startswith(f"a.py, line {line}: ") and words in str(caught.value)


def test_two_relations_of_one_sentence_and_one_in_a_list():
    text = "- It is less.\n  <!-- holds: a < b -->\n  <!-- holds: b < c -->\n- More."
    shown, found = taken_out(text, "a.py", 10)
    assert shown == "- It is less.\n- More."
    assert [(one.expression, one.here) for one in found] == [
        ("a < b", "a.py, line 12"),
        ("b < c", "a.py, line 13"),
    ]
    assert found[0].holds_in({"a": 1, "b": 2}) and not found[0].holds_in({"a": 2, "b": 2})


def test_a_headline_is_of_what_the_last_cell_leaves_behind(bare_course):
    line = say(bare_course, "add_one(2) < 3 <= len(alt)", "# Then you will stop.\n")
    made = only_draft(bare_course)
    ((place, (one,)),) = made.lesson.relations().items()
    assert made.lesson.cells[place].text.startswith("from IPython") and one.here.endswith(
        f" {line}"
    )
    with pytest.raises(CourseError, match=rf"line {line}: in {SOLUTION}, .* is false"):
        build_lesson(made)


def test_the_test_of_a_lessons_numbers_evaluates_them_again(bare_course, monkeypatch):
    monkeypatch.setattr(running, "config", lambda: config(bare_course))
    line = say(bare_course, "add_one(2) < 3")  # true in the learner's twin alone
    with pytest.raises(AssertionError, match=rf"line {line}: `add_one\(2\) < 3` is false"):
        running.Run("01_gpu", "1_tiny")
