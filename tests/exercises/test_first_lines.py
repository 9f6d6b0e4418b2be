"""A chapter begins with an exercise of one line, near the top of its first lesson."""

import re

import pytest

from labkit.course.lesson_rules.prose import words
from tests.exercises.answers import EXERCISES
from tests.exercises.edits import lessons

MOST_WORDS = 350  # above the exercise's cell
CHAPTERS = {lesson.chapter.name: lesson for lesson in lessons() if lesson.number == 1}
BETWEEN_MARKERS = re.compile(r"# BEGIN SOLUTION\n(.*?)\n *# END SOLUTION", re.DOTALL)


def first_exercise(lesson):
    """The place and the id of the first cell that has an exercise."""
    for place, cell in enumerate(lesson.cells):
        for tag in cell.tags:
            if tag.startswith("exercise:"):
                return place, tag.removeprefix("exercise:")


def test_there_are_four_chapters():
    assert len(CHAPTERS) == 4


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_its_solution_is_one_line(chapter):
    lesson = CHAPTERS[chapter]
    place, id = first_exercise(lesson)
    (solution,) = BETWEEN_MARKERS.findall(lesson.cells[place].text)
    assert len(solution.splitlines()) == 1, solution
    assert len(EXERCISES[id].hints) == 3


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_it_is_reached_within_few_words(chapter):
    lesson = CHAPTERS[chapter]
    place, _ = first_exercise(lesson)
    above = [cell.text for cell in lesson.cells[:place] if cell.type == "markdown"]
    assert words("\n\n".join(above)) <= MOST_WORDS
