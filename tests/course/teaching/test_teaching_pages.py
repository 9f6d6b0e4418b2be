"""Paths and plans for teachers: what they promise about the lessons, held against the lessons."""

from dataclasses import replace

import pytest

from labkit.course.config import config
from labkit.course.teaching import paths, plans
from labkit.course.teaching.plans import teaching_pages
from tests.exercises.edits import lessons

LESSONS = lessons()
PAGES = teaching_pages(config(), LESSONS)


@pytest.mark.parametrize("subject", paths.SUBJECTS)
@pytest.mark.parametrize("length", paths.LENGTHS)
def test_a_path_keeps_the_order_and_the_time(subject, length):
    chapters = paths.SUBJECTS[subject]
    sittings, minutes = paths.LENGTHS[length]
    found = paths.path(LESSONS, chapters, sittings, minutes)
    assert 1 <= len(found.sittings) <= sittings
    planned = [lesson for sitting in found.sittings for lesson in sitting]
    assert all(paths.taken(sitting) <= minutes for sitting in found.sittings)
    assert len(planned) + len(found.left) == sum(one.chapter.name in chapters for one in LESSONS)
    for chapter in chapters:
        numbers = [lesson.number for lesson in planned if lesson.chapter.name == chapter]
        assert numbers == list(range(1, len(numbers) + 1))


def test_longer_lengths_bring_more():
    every = paths.SUBJECTS["all four machines"]
    counts = [len(paths.path(LESSONS, every, *long).left) for long in paths.LENGTHS.values()]
    assert counts[:3] == sorted(counts[:3], reverse=True) and counts[0] > counts[-1]


def test_a_lesson_longer_than_a_sitting_ends_its_chapter_alone():
    first, second, *_ = paths.in_order(LESSONS, ("01_gpu",))
    other = paths.in_order(LESSONS, ("02_tpu",))[0]
    long = replace(first, minutes=500)
    found = paths.path([long, second, other], ("01_gpu", "02_tpu"), 1, 200)
    assert found.sittings == [[other]] and found.left == [long, second]


def test_every_lesson_has_a_plan_and_every_link_of_the_paths_leads_to_one():
    assert set(PAGES) == {"PATHS.md", *map(paths.plan_of, LESSONS)}
    text = PAGES["PATHS.md"].decode()
    linked = {part.partition(")")[0] for part in text.split("](")[1:]}
    assert linked and linked <= set(PAGES)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_plan_says_what_the_lesson_has(lesson):
    text = PAGES[paths.plan_of(lesson)].decode()
    assert f"{lesson.minutes} minutes" in text and lesson.able in text
    assert sum(minutes for _, minutes, _ in plans.timing(lesson)) == lesson.minutes
    named = [id for _, _, ids in plans.timing(lesson) for id in ids]
    assert set(named) == set(lesson.named_in("check"))
    for id in named:
        _, _, own = text.partition(f"### `{id}`")
        mistakes = own.partition("Hints, in order")[0].count("\n- ")
        assert mistakes >= 4, f"{id} has {mistakes} likely mistakes"
    assert "```text" in text
