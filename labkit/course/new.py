"""`labkit new`: the files of a lesson that is still to be written.

What it makes runs: the source builds, the exercise can be checked. Each place that its author has
to fill says so, and is refused until it is filled (`source_rules.unfinished`). Bad input is refused
before anything is written.
"""

import keyword
import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from string import Template

from labkit.course import CourseError, folders
from labkit.course.catalogue import CHAPTERS, Chapter, Course, sources
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile, write_all
from labkit.course.pages import lesson_index, lesson_rows
from labkit.course.source import solutions
from labkit.course.source.lesson import SOURCE, chapter_of, load, stem_of

TEMPLATES = Path(__file__).with_name("new_lesson.toml")
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
JOINED = "course"  # the room of lessons that join the machines
WITH_KERNELS = "gpu"
FORBIDS = """
# Arrays are NumPy arrays, also those that you return, and `check` takes no other library."""


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
        """What its notebooks are called."""
        return f"{self.number}_{self.name}"

    @property
    def source(self) -> Path:
        """Its source, in the folder that holds everything of it."""
        return self.config.chapters / self.chapter.folder / "source" / self.name / SOURCE

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
            forbids="" if self.kernel else FORBIDS,
            guess_id=f"{self.room}.{self.name}_guess",
            import_machine="\nfrom labkit.gpu import cuda" if self.kernel else "",
            lesson=f"{self.chapter.folder}/{self.number}",
            machine=self.chapter.title,
            name=self.name,
            number=self.number,
            number_and_name=self.number_and_name,
            package=folders.module_of(self.source),
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
    Course(config).lessons()  # a malformed one is named before anything is written
    write_all(_files(lesson), config)
    lessons = Course(config).lessons()
    module = solutions.module(load(lesson.source, config.relative(lesson.source)), config)
    write_all([module, *lesson_index.files(lessons, config)], config)
    write_all(lesson_rows.files(lessons, config), config)
    print(
        "Now replace each TO WRITE (`labkit build --check` lists them); CONTRIBUTING.md tells how."
    )
    return 0


def _examined(config: Config, folder: str, name: str, kernel: bool, room: str | None) -> NewLesson:
    """The lesson; CourseError if there cannot be one."""
    chapters = [chapter.folder for chapter in CHAPTERS]
    if folder not in chapters:
        near = get_close_matches(folder, chapters) or chapters
        raise CourseError(f"There is no chapter {folder!r}. Did you mean {' or '.join(near)}?")
    chapter = CHAPTERS[chapters.index(folder)]
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
        first = stem_of(path).partition("_")[0]
        if chapter_of(path).name == folder and first.isdigit():
            numbers.append(int(first))
    return NewLesson(chapter, name, max(numbers) + 1, room, kernel, config)


def _refuse_taken(name: str, config: Config) -> None:
    """CourseError where a lesson, or a folder among them, has the name already."""
    taken = [path for path in sources(config) if path.parent.name == name]
    taken += sorted(config.chapters.glob(f"*/source/{name}"))
    if taken:
        raise CourseError(
            f"The name {name!r} is taken by {config.relative(taken[0])}: use another."
        )


def _files(lesson: NewLesson) -> list[GeneratedFile]:
    """The files of the lesson, its source first; the page of its chapter where there is none."""
    templates = tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))
    form = lesson.form
    parts = templates["source"]
    source = lesson.filled(parts["head"] + parts[form] + parts["foot"])
    files = [GeneratedFile(lesson.source, source.encode())]
    texts = [
        templates["exercises"][form],
        templates["texts"]["all"],
        templates["planted"][form],
        templates["classes"]["all"],
        templates["notebook_test"]["all"],
    ]
    for path, text in zip(folders.parts(lesson.source).written, texts, strict=True):
        files.append(GeneratedFile(path, lesson.filled(text).encode()))
    page = lesson.config.chapters / lesson.chapter.folder / "README.md"
    if not page.is_file():
        text = lesson.filled(templates["chapter_page"]["all"])
        files.append(GeneratedFile(page, text.encode()))
    return files
