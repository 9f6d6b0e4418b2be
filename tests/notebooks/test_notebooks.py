"""Every notebook of the course keeps every rule.

That its cells print what is stored is for nbval: `labkit verify` runs them again.
"""

import json
import re
from functools import cache

import pytest

from labkit.course import folders
from labkit.course.catalogue import Course, sources
from labkit.course.config import config
from labkit.course.lesson_rules import links, rules, source_rules
from labkit.course.lesson_rules.output_rules import counts
from labkit.course.notebook import Notebook, read_stored
from labkit.course.pages import claims
from labkit.course.source.draft import draft
from labkit.course.source.lesson import TWINS, stem_of
from labkit.course.verify import out_of_sync, refusals

CONFIG = config()
COURSE = Course(CONFIG)
SOURCES = sources(CONFIG)
# Only their names: each process of tests collects these tests, and one of them reads the lessons.
of_each_lesson = pytest.mark.parametrize("path", SOURCES, ids=CONFIG.relative)
of_each_notebook = pytest.mark.parametrize(
    ("path", "twin"),
    [pytest.param(path, twin, id=f"{stem_of(path)}-{twin}") for path in SOURCES for twin in TWINS],
)


@cache
def drafted(path):
    [lesson] = COURSE.lessons(str(path))
    return draft(lesson, CONFIG)


def stored_twins(path):
    return [read_stored(made.path, made.name) for made in drafted(path).notebooks]


def stored_twin(path, twin):
    return stored_twins(path)[TWINS.index(twin)]


def test_there_are_lessons():
    assert SOURCES


@of_each_notebook
def test_it_keeps_every_rule(path, twin):
    assert rules.examine(stored_twin(path, twin), CONFIG) == []


@of_each_lesson
def test_it_is_what_its_source_generates(path):
    assert out_of_sync(drafted(path), stored_twins(path), CONFIG) == []


@of_each_lesson
def test_its_source_keeps_every_rule(path):
    assert source_rules.examine(drafted(path).lesson, CONFIG) == []


@of_each_notebook
def test_it_is_a_valid_notebook(path, twin):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(json.loads(stored_twin(path, twin).path.read_text(encoding="utf-8")))


@of_each_notebook
def test_without_its_execution_counts_it_is_refused(path, twin):
    """nbval would pass it, and compare nothing."""
    stored = stored_twin(path, twin)
    made = Notebook.read(stored.path, stored.name)
    for cell in made.code_cells:
        cell["execution_count"] = None
    found = list(counts(made))
    assert len(found) == len(made.code_cells) and "nbval would compare nothing" in found[0]


@of_each_lesson
def test_its_exercises_predictions_and_quizzes_are_registered(path):
    from labkit.checks.items import Exercise, Prediction, Quiz
    from labkit.checks.registry import registry

    lesson = drafted(path).lesson
    for call, kind in (("check", Exercise), ("predict", Prediction), ("quiz", Quiz)):
        assert lesson.named_in(call)
        for id in lesson.named_in(call):
            assert registry().find(id, kind).id == id
    tags = {tag for cell in lesson.cells for tag in cell.tags if tag.startswith("exercise:")}
    assert tags == {f"exercise:{id}" for id in lesson.named_in("check")}


@pytest.mark.parametrize("path", links.pages(CONFIG), ids=CONFIG.relative)
def test_the_links_of_the_pages_lead_somewhere(path):
    assert links.dead(path, links.text_of(path, CONFIG), CONFIG) == []


@of_each_lesson
def test_its_solved_cells_run_in_the_test_of_its_numbers(path):
    """By day that test alone runs them: nbval runs what the learner opens."""
    test = folders.parts(path).test
    assert test.is_file() and re.search(r"(=|return|yield) Run\(", test.read_text("utf-8"))


def test_claims_page_is_what_the_lessons_say():
    assert claims.page(COURSE.lessons(), CONFIG).is_stored()


def test_nothing_else_is_refused():
    assert refusals([*map(drafted, SOURCES)], COURSE, everything=True) == []
