"""Every notebook of the course keeps every rule.

That its cells print what is stored is for nbval: `labkit verify` runs them again.
"""

import json

import pytest

from labkit.course import claims, links, notebook, rules
from labkit.course.catalogue import read_lessons, sources
from labkit.course.config import config
from labkit.course.lesson import TWINS
from labkit.course.verify import out_of_sync, refusals

COURSE = config()
LESSONS = read_lessons(sources(COURSE), COURSE)
NOTEBOOKS = [lesson.notebook(twin) for lesson in LESSONS for twin in TWINS]
by_name = {"ids": COURSE.relative}


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("path", NOTEBOOKS, **by_name)
def test_it_keeps_every_rule(path):
    assert rules.examine(path, COURSE) == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_it_is_what_its_source_generates(lesson):
    assert out_of_sync(lesson, COURSE) == []


@pytest.mark.parametrize("path", NOTEBOOKS, **by_name)
def test_it_is_a_valid_notebook(path):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", NOTEBOOKS, **by_name)
def test_without_its_execution_counts_it_is_refused(path, tmp_path):
    """nbval would pass it, and compare nothing."""
    made = notebook.read(path, path.name)
    code = notebook.located(made, path.name, "code")
    for _, cell in code:
        cell["execution_count"] = None
    found = [sentence for sentence in rules.counts(made, path.name)]
    assert len(found) == len(code) and "nbval would compare nothing" in found[0]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_its_exercises_predictions_and_quizzes_are_registered(lesson):
    from labkit.checks.registry import registry

    named = [lesson.named_in(call) for call in ("check", "predict", "quiz")]
    assert all(named) and {id for ids in named for id in ids} <= set(registry().items)
    tags = {tag for cell in lesson.cells for tag in cell.tags if tag.startswith("exercise:")}
    assert tags == {f"exercise:{id}" for id in named[0]}


@pytest.mark.parametrize("path", links.pages(COURSE), **by_name)
def test_the_links_of_the_pages_lead_somewhere(path):
    assert links.dead(path, COURSE) == []


def test_claims_page_is_what_the_lessons_say():
    assert (COURSE.course_root() / "CLAIMS.md").read_bytes() == claims.page(COURSE)


def test_nothing_else_is_refused():
    assert refusals(COURSE, LESSONS, everything=True) == []
