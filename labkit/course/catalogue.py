"""What there is to study: the four chapters, and the lessons that lie in them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from labkit.course import CourseError
from labkit.course.config import Config
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import SOURCE, Lesson, chapter_of, load, stem_of
from labkit.machine_probe import ThisMachine


@dataclass(frozen=True)
class Chapter:
    """One of the four machines, as a chapter of the course."""

    folder: str
    title: str
    extra: str  # of labkit: what its lessons import; also the room of its exercises
    machine: str = ""  # the kind of accelerator it is about
    used: bool = False  # whether its lessons use the accelerator where there is one

    def hardware(self, here: ThisMachine) -> str:
        """Whether its accelerator is here; "" for a chapter about none."""
        if not self.machine:
            return ""
        found = here.accelerators.get(self.machine, "")
        if not found:
            return f"no {self.machine} here"
        return f"{found} here" if self.used else f"{found} here, not used yet"


CHAPTERS = (
    Chapter("01_gpu", title="GPU", extra="gpu", machine="CUDA GPU", used=True),
    Chapter("02_tpu", title="TPU", extra="tpu", machine="TPU"),
    Chapter("03_fpga", title="FPGA", extra="fpga", machine="Pynq board"),
    Chapter("04_distributed", title="Cluster", extra="distributed"),
)
TITLES = {chapter.folder: chapter.title for chapter in CHAPTERS}
NEAR = 3  # names that are suggested at most


class Course:
    """The lessons of one course. Each source is read once, when it is first asked for."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._read: dict[Path, Lesson] = {}

    def lessons(self, wanted: str | None = None) -> list[Lesson]:
        """All lessons, or those of a chapter, a lesson's name or a file.

        Raises CourseError for what names none, and for a source that is malformed.
        """
        return [self._lesson(path) for path in sources(self.config, wanted)]

    def lessons_of(self, names: Iterable[str]) -> list[Lesson]:
        """The lessons that any of several names means, each once, in the course's order.

        All lessons where there is no name. Raises CourseError as `lessons` does.
        """
        chosen = {path for name in names for path in sources(self.config, name)}
        every = sources(self.config)
        return [self._lesson(path) for path in every if path in chosen or not chosen]

    def _lesson(self, path: Path) -> Lesson:
        if path not in self._read:
            self._read[path] = load(path, self.config.relative(path))
        return self._read[path]


def sources(config: Config, wanted: str | None = None) -> list[Path]:
    """The sources of all lessons, or of those `wanted` names: a chapter, a lesson or a file."""
    found = sorted(config.chapters.glob(f"*/source/*/{SOURCE}"), key=_place)
    if wanted is None:
        return found
    file = Path(wanted).resolve()
    parts = Path(wanted.removesuffix(".ipynb").removesuffix(".py")).parts
    key = "/".join(part for part in parts if part not in ("chapters", "source", "solutions"))
    chosen = [path for path in found if path == file or key in (*_full_names(path), stem_of(path))]
    if not chosen:
        raise CourseError(f"There is no lesson or chapter {wanted!r}. {_nearest(key, found)}")
    return chosen


def _place(path: Path) -> tuple[str, int, str]:
    """Of a source: its chapter, its lesson's number, and its name."""
    number, _, name = stem_of(path).partition("_")
    return chapter_of(path).name, int(number), name


def _full_names(path: Path) -> tuple[str, str]:
    """Of a source: its chapter, and its lesson with the chapter."""
    chapter = chapter_of(path).name
    return chapter, f"{chapter}/{stem_of(path)}"


def _nearest(key: str, paths: list[Path]) -> str:
    """A sentence with the names that may be meant, or with all there are, by their numbers."""
    known = list(dict.fromkeys(name for path in paths for name in _full_names(path)))
    near = _with_all_words(key, known) or get_close_matches(key.lower(), known, cutoff=0.4)
    if near:
        return f"Did you mean {' or '.join(near[:NEAR])}?"
    return f"There are: {', '.join(known) or 'none yet'}."


def _with_all_words(key: str, known: list[str]) -> list[str]:
    """The names with all words and numbers of a key; first those with the fewest others."""
    wanted = _words(key)
    found = [name for name in known if wanted and wanted <= _words(name)]
    return sorted(found, key=lambda name: len(_words(name)))


def _words(name: str) -> set[str]:
    """Words and numbers of a name, and a chapter's title: 01_gpu/6_tiles has 1, gpu, 3, tiles."""
    title = TITLES.get(name, "")
    words = re.findall(r"[a-z]+|[0-9]+", f"{name} {title}".lower().replace("'", ""))
    return {word.lstrip("0") for word in words}


def readable(config: Config, chapter: Chapter) -> tuple[list[Lesson], list[str]]:
    """A chapter's lessons that a learner can open, and a sentence for each that cannot be read.

    One that is not built yet is neither.
    """
    lessons: list[Lesson] = []
    broken: list[str] = []
    for path in sources(config):
        if chapter_of(path).name != chapter.folder:
            continue
        try:
            lesson = load(path, config.relative(path))
            opened = lesson.notebook("learner")
            Notebook.read(opened, config.relative(opened))
        except FileNotFoundError:
            continue
        except (CourseError, OSError) as error:
            broken.append(str(error))
        else:
            lessons.append(lesson)
    return lessons, broken
