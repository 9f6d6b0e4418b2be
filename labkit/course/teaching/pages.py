"""The teacher's pages of a handout: paths, and a plan for each lesson."""

from collections.abc import Mapping, Sequence

from labkit.checks.lesson_files import LessonFiles
from labkit.course import TEXTS, folders
from labkit.course.config import Config
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import Lesson
from labkit.course.teaching import paths, plans


def teaching_pages(config: Config, lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """By their places: PATHS.md, of all lessons of the course, and each one's plan."""
    texts: Mapping[str, Mapping[str, str]] = TEXTS["teaching"]
    found = {"PATHS.md": paths.page(lessons, texts["paths"])}
    for lesson in lessons:
        parts = folders.parts(lesson.path)
        package = folders.module_of(lesson.path)
        files = LessonFiles(f"{package}.exercises", parts.texts, parts.solutions)
        stored = lesson.notebook("solution")
        if stored.is_file():
            solved = Notebook.read(stored, config.relative(stored))
            text = plans.page(lesson, files.items(), solved, texts["plan"])
            found[paths.plan_of(lesson)] = text
    return {place: text.encode() for place, text in found.items()}
