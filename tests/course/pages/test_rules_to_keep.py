"""RULES.md: what it takes from lessons, and that it is compared."""

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.pages import rules_to_keep
from labkit.course.verify import refusals

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"


def test_without_a_rule_there_is_no_page(course):
    assert rules_to_keep.files(Course(config(course)).lessons(), config(course)) == []


def test_a_rule_is_told_with_its_lesson(course):
    source = course / SOURCE
    more = "\n# %% [markdown]\n# - **The rule to keep: two | and\n#   one are [3](x.md).** More.\n"
    source.write_text(source.read_text() + more)
    current = Course(config(course))
    [page] = rules_to_keep.files(current.lessons(), current.config)
    row = "| [1 A tiny lesson](chapters/01_gpu/1_tiny.ipynb) | Two \\| and one are 3. |"
    assert row in page.data.decode().splitlines()
    said = "RULES.md is not what the lessons say: run `labkit build`."
    assert said in refusals([], current)
    page.write()
    assert said not in refusals([], current)


def test_every_lesson_has_one():
    lessons = Course(config()).lessons()
    without = {lesson.plain_name for lesson in lessons if not rules_to_keep.of_lesson(lesson)}
    assert not without
