"""What a lesson's source says should lie in the course: two notebooks and a module of solutions."""

from typing import NamedTuple

from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.notebook import Notebook
from labkit.course.source import solutions
from labkit.course.source.lesson import Lesson
from labkit.course.source.twins import twins


class Draft(NamedTuple):
    """All that is made from one lesson, computed once. `build` writes it, `verify` compares."""

    lesson: Lesson
    notebooks: tuple[Notebook, ...]  # in the order of TWINS, without outputs
    solutions: GeneratedFile | None  # None for a lesson without exercises


def draft(lesson: Lesson, config: Config) -> Draft:
    """CourseError where the lesson checks a function that it does not define."""
    return Draft(lesson, twins(lesson, config), solutions.module(lesson, config))
