"""The index in which `check` finds a lesson: labkit/checks/lesson_index.toml, written by the build.

Lessons lie above labkit, so nothing in labkit may import one by name. The index has, for each room
of ids, the packages of its lessons in the order of the course, each with the ids of its items.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.course import CourseError, folders
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.source.lesson import Lesson

HEAD = "# Written by `labkit build` from the lessons' folders: the ids of each lesson, by room.\n"


def files(lessons: Sequence[Lesson], config: Config) -> list[GeneratedFile]:
    """The index as it should be; none in a course without lessons.

    Raises CourseError for a name, a number or an id that two lessons have.
    """
    _refuse_twice(
        "name",
        {one.path: [one.plain_name] for one in lessons},
        config,
    )
    _refuse_twice(
        "number",
        {one.path: [_place(one)] for one in lessons},
        config,
    )
    paths = [lesson.path for lesson in sorted(lessons, key=_place)]
    ids = {path: ids_in(folders.parts(path).texts, config) for path in paths}
    _refuse_twice("id", ids, config)
    path = config.course_root() / "labkit" / "checks" / "lesson_index.toml"
    return [GeneratedFile(path, _text(ids).encode())] if paths else []


def ids_in(texts: Path, config: Config) -> list[str]:
    """The ids of the exercises, predictions and quizzes in a lesson's file of texts."""
    if not texts.is_file():
        return []  # folders.py says that it is missing
    try:
        tables = tomllib.loads(texts.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{config.relative(texts)} cannot be read: {error}.") from error
    return [id for table in tables.values() if isinstance(table, dict) for id in table]


def _place(lesson: Lesson) -> tuple[str, int]:
    """Chapter and number of a lesson."""
    return lesson.chapter.name, lesson.number


def _refuse_twice(what: str, by_lesson: Mapping[Path, Sequence], config: Config) -> None:
    """CourseError where two sources have the same `what`."""
    owners: dict[object, Path] = {}
    for path, values in by_lesson.items():
        for value in values:
            owner = owners.setdefault(value, path)
            if owner != path:
                said = " ".join(map(str, value)) if isinstance(value, tuple) else repr(value)
                taken = f"the {what} {said} is taken by {config.relative(owner)}"
                raise CourseError(f"{config.relative(path)}: {taken}: use another.")


def _text(ids: Mapping[Path, Sequence[str]]) -> str:
    """The text of the index."""
    rooms: dict[str, list[str]] = {}
    for path, own in ids.items():
        rows = "".join(f'    "{id}",\n' for id in own)
        for room in dict.fromkeys(id.partition(".")[0] for id in own):
            rooms.setdefault(room, []).append(f'"{folders.module_of(path)}" = [\n{rows}]\n')
    return HEAD + "".join(f"\n[{room}]\n{''.join(rows)}" for room, rows in rooms.items())
