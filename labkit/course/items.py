"""A lesson's exercises and texts, read as `check` reads them: what it could not use is named.

Only its modules are imported; no case and no cell runs.
"""

from importlib.util import find_spec
from pathlib import Path

import labkit
from labkit import extras
from labkit.course import folders
from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.source.lesson import Lesson


def examine(lesson: Lesson, config: Config) -> list[str]:
    """The sentence on what `check` cannot use of a lesson, if there is any.

    Nothing is said where labkit is not this course's own, nor of a chapter whose packages are not
    all here.
    """
    if not Path(labkit.__file__).is_relative_to(config.course_root()):
        return []
    package = folders.module_of(lesson.path)
    if not _lies_here(package, lesson.path.parent):
        return [f"{package} is not imported from this folder: run `make setup`."]
    from labkit.checks.lesson_files import LessonFiles  # with NumPy: only where it is needed

    parts = folders.parts(lesson.path)
    files = LessonFiles(f"{package}.exercises", parts.texts, parts.solutions)
    try:
        files.questions(files.exercises())
    except ModuleNotFoundError as error:
        chapter = next(one for one in CHAPTERS if one.folder == lesson.chapter.name)
        return [] if extras.missing(chapter.extra) else [_sentence(lesson, config, error)]
    except Exception as error:  # whatever an author's module raises
        return [_sentence(lesson, config, error)]
    return []


def _lies_here(package: str, folder: Path) -> bool:
    try:
        found = find_spec(package)
    except ModuleNotFoundError:
        return False
    places = found.submodule_search_locations if found else None
    return folder.resolve() in [Path(place).resolve() for place in places or ()]


def _sentence(lesson: Lesson, config: Config, error: Exception) -> str:
    what = "" if type(error) is ValueError else f"{type(error).__name__}: "
    said = str(error).rstrip(".")
    return f"{config.relative(lesson.path.parent)}: `check` could not use it: {what}{said}."
