"""The teacher's pages of a handout: paths, and a plan for each lesson."""

from collections.abc import Sequence

from labkit.checks.lesson_files import LessonFiles
from labkit.course import TEXTS, folders
from labkit.course.config import Config
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import Lesson
from labkit.course.teaching import paths, plans


def teaching_pages(config: Config, lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """By their places: PATHS.md, of all lessons of the course, and each one's plan."""
    texts = TEXTS["teaching"]
    found = {"PATHS.md": paths.page(lessons, texts["paths"])}
    for lesson in lessons:
        stored = lesson.notebook("solution")
        if not stored.is_file():
            continue
        solved = Notebook.read(stored, config.relative(stored))
        items = items_of(lesson)
        place = paths.plan_of(lesson)
        found[place] = plans.page(lesson, items, solved, texts["plan"])
    return {place: text.encode() for place, text in found.items()}


def items_of(lesson: Lesson) -> list:
    """What the lesson's file of texts has; none of its modules is imported."""
    parts = folders.parts(lesson.path)
    package = folders.module_of(lesson.path)
    files = LessonFiles(f"{package}.exercises", parts.texts, parts.solutions)
    return files.items()
