"""A lesson's folder: what must lie in it, and what its modules may import.

Everything of a lesson lies in `chapters/<chapter>/source/<name>/` and is imported as
`labkit_lessons.<room>.<name>`. Each rule yields a sentence for whatever is wrong, with the file and
what to do.
"""

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.source.lesson import SOURCE, Lesson, chapter_of

LESSONS = "labkit_lessons"  # the package that all of them are imported from
LESSON = re.compile(r"labkit_lessons\.\w+\.\w+")


class Parts(NamedTuple):
    """What an author writes beside the source, and the module that the build writes."""

    exercises: Path
    texts: Path
    planted: Path
    classes: Path
    test: Path
    solutions: Path

    @property
    def written(self) -> tuple[Path, ...]:
        """The files of which the author is the author."""
        return self[:-1]


def parts(source: Path) -> Parts:
    """The files that belong to a lesson's source."""
    folder = source.parent
    package = folder / "exercises" / "__init__.py"  # where one file is too small for them
    return Parts(
        exercises=package if package.is_file() else folder / "exercises.py",
        texts=folder / "texts.toml",
        planted=folder / "planted.py",
        classes=folder / "classes.toml",
        test=folder / f"test_{folder.name}.py",
        solutions=folder / "solutions.py",
    )


def module_of(source: Path) -> str:
    """The package that a lesson's folder is imported as: "labkit_lessons.tpu.bfloat16"."""
    chapter = chapter_of(source).name
    rooms = {one.folder: one.extra for one in CHAPTERS}
    return f"{LESSONS}.{rooms.get(chapter, chapter)}.{source.parent.name}"


def items_sha256(source: Path) -> str:
    """The digest of what a lesson's file of texts says, comments and layout apart.

    The cells show it: a question, a hint, the sentence for a wrong idea.
    """
    return hashlib.sha256(json.dumps(_texts(source), default=str).encode()).hexdigest()


def _texts(source: Path) -> dict:
    """A lesson's file of texts; empty where there is none to read, which others say."""
    with suppress(OSError, ValueError):
        return tomllib.loads(parts(source).texts.read_text(encoding="utf-8"))
    return {}


def examine(lesson: Lesson, config: Config) -> list[str]:
    """Every broken rule of one lesson's folder."""
    return [
        *missing(lesson, config),
        *without_classes(lesson, config),
        *other_lessons(lesson, config),
    ]


def missing(lesson: Lesson, config: Config) -> Iterator[str]:
    """Each part that the folder lacks."""
    for path in parts(lesson.path).written:
        if not path.is_file():
            do = "write it, as CONTRIBUTING.md tells"
            yield f"{config.relative(path)} is missing: {do}."


def without_classes(lesson: Lesson, config: Config) -> Iterator[str]:
    """Each exercise of the texts that has no row in classes.toml."""
    path = parts(lesson.path).classes
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except ValueError as error:
        yield f"{config.relative(path)} cannot be read: {error}."
        return
    for id in _texts(lesson.path).get("exercises", {}):
        if rows is not None and id not in rows:
            do = "write it, as CONTRIBUTING.md tells"
            yield f'{config.relative(path)} has no row ["{id}"]: {do}.'


def other_lessons(lesson: Lesson, config: Config) -> Iterator[str]:
    """Each module of the folder that imports another lesson, by name or by string."""
    own = module_of(lesson.path)
    for path in sorted(lesson.path.parent.rglob("*.py")):
        for other in sorted(_named_in(path.read_text(encoding="utf-8")) - {own}):
            do = "what two lessons share belongs into labkit"
            yield f"{config.relative(path)} imports {other}, which is another lesson: {do}."


def _named_in(text: str) -> set[str]:
    """The lessons that code imports or names in a string; none where it is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        found.update(lesson for name in names for lesson in LESSON.findall(name))
    return found


def without_source(config: Config) -> Iterator[str]:
    """Each folder beside the lessons' own in which there is no lesson.

    What Python compiled of a lesson that git has moved away does not count.
    """
    for folder in sorted(config.chapters.glob("*/source/*/")):
        found = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
        if found and not (folder / SOURCE).is_file():
            do = "write it, or delete the folder"
            yield f"{config.relative(folder)} has no {SOURCE}: {do}."


def not_installed(config: Config) -> Iterator[str]:
    """Each package that pyproject.toml leaves out: of labkit, or of a chapter with lessons."""
    root = config.course_root()
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    setup = project.get("tool", {}).get("setuptools", {})
    listed = set(setup.get("packages", ()))
    for path in sorted((root / "labkit").rglob("__init__.py")):
        package = ".".join(path.relative_to(root).parent.parts)
        if package not in listed:
            do = "add it, and run `make setup`"
            yield f"pyproject.toml does not list {package} among its packages: {do}."
    for chapter in CHAPTERS:
        source = f"chapters/{chapter.folder}/source"
        package = f"{LESSONS}.{chapter.extra}"
        lies_there = setup.get("package-dir", {}).get(package) == source and package in listed
        if any(root.glob(f"{source}/*/{SOURCE}")) and not lies_there:
            do = f'list it, with "{package}" = "{source}" in package-dir, and run `make setup`'
            yield f"pyproject.toml does not install the lessons of {chapter.folder}: {do}."
