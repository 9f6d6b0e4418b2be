"""`labkit new`: the files of a lesson that is still to be written.

What it makes runs: the source builds, the exercise can be checked. Each place that its author has
to fill says so, and is refused until it is filled (`source_rules.unfinished`). Bad input is refused
before anything is written.
"""

import ast
import keyword
import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from string import Template

from labkit.course import CourseError, room_files, solutions
from labkit.course.catalogue import CHAPTERS, Chapter, sources
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.lesson import load, plain_name

TEMPLATES = Path(__file__).with_name("new_lesson.toml")
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
JOINED = "course"  # the room of lessons that join the machines
WITH_KERNELS = "gpu"
LESSON_ROW = re.compile(r"^\| \[.*\n", re.MULTILINE)


@dataclass(frozen=True)
class NewLesson:
    """What the author asked for, found to be possible."""

    chapter: Chapter
    name: str
    number: int
    room: str
    kernel: bool
    config: Config

    @property
    def number_and_name(self) -> str:
        """What its source and notebooks are called."""
        return f"{self.number}_{self.name}"

    @property
    def form(self) -> str:
        """The form of its exercise, as the templates call it."""
        return "kernel" if self.kernel else "plain"

    def filled(self, template: str) -> str:
        """A template with this lesson's names in it."""
        return Template(template).substitute(
            chapter=self.chapter.folder,
            chapter_number=self.chapter.folder[:2],
            exercise_id=f"{self.room}.{self.name}_double",
            guess_id=f"{self.room}.{self.name}_guess",
            import_machine="\nfrom labkit.gpu import cuda" if self.kernel else "",
            lesson=f"{self.chapter.folder}/{self.number}",
            machine=self.chapter.title,
            name=self.name,
            number=self.number,
            number_and_name=self.number_and_name,
            quiz_id=f"{self.room}.{self.name}_quiz",
            title=self.name.replace("_", " ").capitalize(),
        )


def new(
    config: Config, chapter: str, name: str, kernel: bool = False, room: str | None = None
) -> int:
    """Write the files of lesson `name` at the end of a chapter, and say what to do next.

    room    what its exercises' ids begin with; by default the chapter's own
    kernel  whether the exercise is a kernel, which only the room gpu has

    Raises CourseError, having written nothing, for what cannot be.
    """
    lesson = _examined(config, chapter, name, kernel, room)
    files = _files(lesson)
    registration = _registered(lesson)  # examined before anything is written, written at the end
    page = _chapter_page(lesson)
    for file in (*files, page, registration):
        file.write()
        print(f"{config.relative(file.path)}: written")
    source = load(files[0].path, config.relative(files[0].path))
    module = solutions.module(source, config)
    module.write()
    print(f"{config.relative(module.path)}: written")
    print(
        "Now replace each TO WRITE (`labkit build --check` lists them); CONTRIBUTING.md tells how."
    )
    return 0


def _examined(config: Config, folder: str, name: str, kernel: bool, room: str | None) -> NewLesson:
    """The lesson; CourseError if there cannot be one."""
    folders = [chapter.folder for chapter in CHAPTERS]
    if folder not in folders:
        near = get_close_matches(folder, folders) or folders
        raise CourseError(f"There is no chapter {folder!r}. Did you mean {' or '.join(near)}?")
    chapter = CHAPTERS[folders.index(folder)]
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        like = "such as adders_and_tables, without a number"
        raise CourseError(f"A lesson's name is lower_case_with_underscores, {like}: not {name!r}.")
    room = room or chapter.extra
    if room not in (chapter.extra, JOINED):
        rooms = f"{chapter.extra!r}, or {JOINED!r} for what joins the machines"
        raise CourseError(f"The exercises of {folder} are in the room {rooms}: not {room!r}.")
    if kernel and room != WITH_KERNELS:
        raise CourseError(f"Only the room {WITH_KERNELS!r} has kernel exercises: not {room!r}.")
    _refuse_taken(name, config)
    numbers = [0]
    for path in sources(config):
        first = path.stem.partition("_")[0]
        if path.parents[1].name == folder and first.isdigit():
            numbers.append(int(first))
    return NewLesson(chapter, name, max(numbers) + 1, room, kernel, config)


def _refuse_taken(name: str, config: Config) -> None:
    """CourseError where a lesson, or a file of one, has the name already."""
    taken = [path for path in sources(config) if plain_name(path) == name]
    for room in (*(chapter.extra for chapter in CHAPTERS), JOINED):
        taken += [path for path in room_files.files(room, name, config) if path.exists()]
    if taken:
        raise CourseError(
            f"The name {name!r} is taken by {config.relative(taken[0])}: use another."
        )


def _files(lesson: NewLesson) -> list[GeneratedFile]:
    """The files of the lesson alone, its source first."""
    templates = tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))
    form = lesson.form
    parts = templates["source"]
    source = lesson.filled(parts["head"] + parts[form] + parts["foot"])
    folder = lesson.config.chapters / lesson.chapter.folder / "source"
    texts = [
        templates["exercises"][form],
        templates["texts"]["all"],
        templates["planted"][form],
        templates["notebook_test"]["all"],
    ]
    paths = room_files.files(lesson.room, lesson.name, lesson.config)
    files = [GeneratedFile(folder / f"{lesson.number_and_name}.py", source.encode())]
    for path, text in zip(paths, texts, strict=True):
        files.append(GeneratedFile(path, lesson.filled(text).encode()))
    package = room_files.solutions(lesson.room, "__init__", lesson.config)
    if not package.is_file():
        files.append(GeneratedFile(package, templates["solutions_page"]["all"].encode()))
    return files


def _registered(lesson: NewLesson) -> GeneratedFile:
    """The package of the room's exercises, with the lesson at the end of its LESSONS."""
    path = room_files.exercises(lesson.room, lesson.config) / "__init__.py"
    name = lesson.config.relative(path)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="LESSONS")], value=ast.Tuple()):
                lessons = (*ast.literal_eval(node.value), lesson.name)
                lines = text.splitlines(keepends=True)
                lines[node.lineno - 1 : node.end_lineno] = [_assignment(lessons)]
                return GeneratedFile(path, "".join(lines).encode())
    raise CourseError(f"{name} has no `LESSONS = (...)`: write it, with the room's lessons in it.")


def _assignment(lessons: tuple[str, ...]) -> str:
    """`LESSONS = (...)`, as ruff formats it."""
    if len(lessons) == 1:
        return f'LESSONS = ("{lessons[0]}",)\n'
    rows = "".join(f'    "{lesson}",\n' for lesson in lessons)
    return f"LESSONS = (\n{rows})\n"


def _chapter_page(lesson: NewLesson) -> GeneratedFile:
    """The chapter's README.md, with a row for the lesson below those of the others."""
    templates = tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))["chapter_page"]
    path = lesson.config.chapters / lesson.chapter.folder / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else lesson.filled(templates["all"])
    rows = list(LESSON_ROW.finditer(text))
    if rows:
        place = rows[-1].end()
    else:
        text = text.rstrip("\n") + "\n"
        place = len(text)
    row = lesson.filled(templates["row"])
    return GeneratedFile(path, (text[:place] + row + text[place:]).encode())
