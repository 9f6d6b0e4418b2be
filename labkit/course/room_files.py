"""Where the files of a lesson lie: in its folder, or, until it has one, by its room and name.

Everything of a lesson lies in `chapters/<chapter>/source/<name>/` and is imported as
`labkit_lessons.<room>.<name>`. A lesson that has not moved there yet has its exercises in
`labkit/<room>/exercises/`, its planted answers and its test in `tests/`.
"""

from pathlib import Path
from typing import NamedTuple

from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.lesson import IN_FOLDER, chapter_of, plain_name

LESSONS = "labkit_lessons"  # the package that all of them are imported from


class RoomFiles(NamedTuple):
    """What an author writes beside the source, and the module that the build writes."""

    exercises: Path
    texts: Path
    planted: Path
    test: Path
    solutions: Path

    @property
    def written(self) -> tuple[Path, ...]:
        """The files of which the author is the author."""
        return self[:-1]


def files(source: Path, room: str, config: Config) -> RoomFiles:
    """The files of the lesson with this source, whose exercises' ids begin with `room`."""
    if source.name == IN_FOLDER:
        return in_folder(source.parent)
    return without_folder(room, plain_name(source), config)


def in_folder(folder: Path) -> RoomFiles:
    """The files in a lesson's own folder."""
    package = folder / "exercises" / "__init__.py"  # where one file is too small for them
    return RoomFiles(
        exercises=package if package.is_file() else folder / "exercises.py",
        texts=folder / "texts.toml",
        planted=folder / "planted.py",
        test=folder / f"test_{folder.name}.py",
        solutions=folder / "solutions.py",
    )


def without_folder(room: str, name: str, config: Config) -> RoomFiles:
    """The files of a lesson that has no folder yet."""
    exercises = config.course_root() / "labkit" / room / "exercises"
    tests = config.course_root() / "tests"
    return RoomFiles(
        exercises=exercises / f"{name}.py",
        texts=exercises / f"{name}.toml",
        planted=tests / "exercises" / "planted" / f"{name}.py",
        test=tests / "notebooks" / f"test_{name}.py",
        solutions=exercises / "solutions" / f"{name}.py",
    )


def module_of(source: Path) -> str:
    """The package that a lesson's folder is imported as: "labkit_lessons.tpu.bfloat16"."""
    chapter = chapter_of(source).name
    rooms = {one.folder: one.extra for one in CHAPTERS}
    return f"{LESSONS}.{rooms.get(chapter, chapter)}.{source.parent.name}"
