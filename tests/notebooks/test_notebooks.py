"""Every notebook of the course keeps every rule.

That its cells print what is stored is for nbval: `labkit verify` runs them again.
"""

import json
import re

import pytest

from labkit.course import claims, folders, links, rules, source_rules
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.draft import draft
from labkit.course.notebook import Notebook, read_stored
from labkit.course.output_rules import counts
from labkit.course.verify import out_of_sync, refusals

CONFIG = config()
COURSE = Course(CONFIG)
LESSONS = COURSE.lessons()
DRAFTS = [draft(lesson, CONFIG) for lesson in LESSONS]
STORED = [read_stored(made.path, made.name) for one in DRAFTS for made in one.notebooks]
by_name = {"ids": lambda stored: stored.name}


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("stored", STORED, **by_name)
def test_it_keeps_every_rule(stored):
    assert rules.examine(stored, CONFIG) == []


@pytest.mark.parametrize("one", DRAFTS, ids=lambda one: one.lesson.name)
def test_it_is_what_its_source_generates(one):
    stored = [read_stored(made.path, made.name) for made in one.notebooks]
    assert out_of_sync(one, stored, CONFIG) == []


@pytest.mark.parametrize("one", DRAFTS, ids=lambda one: one.lesson.name)
def test_its_source_keeps_every_rule(one):
    assert source_rules.examine(one.lesson, CONFIG) == []


@pytest.mark.parametrize("stored", STORED, **by_name)
def test_it_is_a_valid_notebook(stored):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(json.loads(stored.path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("stored", STORED, **by_name)
def test_without_its_execution_counts_it_is_refused(stored):
    """nbval would pass it, and compare nothing."""
    made = Notebook.read(stored.path, stored.name)
    for cell in made.code_cells:
        cell["execution_count"] = None
    found = list(counts(made))
    assert len(found) == len(made.code_cells) and "nbval would compare nothing" in found[0]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_its_exercises_predictions_and_quizzes_are_registered(lesson):
    from labkit.checks.items import Exercise, Prediction, Quiz
    from labkit.checks.registry import registry

    for call, kind in (("check", Exercise), ("predict", Prediction), ("quiz", Quiz)):
        assert lesson.named_in(call)
        for id in lesson.named_in(call):
            assert registry().find(id, kind).id == id
    tags = {tag for cell in lesson.cells for tag in cell.tags if tag.startswith("exercise:")}
    assert tags == {f"exercise:{id}" for id in lesson.named_in("check")}


@pytest.mark.parametrize("path", links.pages(CONFIG), ids=CONFIG.relative)
def test_the_links_of_the_pages_lead_somewhere(path):
    assert links.dead(path, links.text_of(path, CONFIG), CONFIG) == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_its_solved_cells_run_in_the_test_of_its_numbers(lesson):
    """By day that test alone runs them: nbval runs what the learner opens."""
    test = folders.parts(lesson.path).test
    assert test.is_file() and re.search(r"(=|return|yield) Run\(", test.read_text("utf-8"))


def test_claims_page_is_what_the_lessons_say():
    assert claims.page(LESSONS, CONFIG).is_stored()


def test_nothing_else_is_refused():
    assert refusals(DRAFTS, COURSE, everything=True) == []
