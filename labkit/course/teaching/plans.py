"""The teacher's pages of a handout: PATHS.md, and a plan for each lesson.

A plan has minutes by section, what cells show, and what classes get wrong.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.checks.items import Prediction, Quiz
from labkit.checks.lesson_files import LessonFiles, Texts
from labkit.course import TEXTS, folders
from labkit.course.config import Config
from labkit.course.notebook import Notebook, source_of, tags_of
from labkit.course.source.lesson import Lesson, LessonCell
from labkit.course.teaching import paths

HEADING = re.compile(r"^###? (?:<a [^>]*></a>)?(.+)$", re.MULTILINE)
WORDS = 200  # read in a minute
PICTURE, QUESTION, EXERCISE, ATTEMPT = 1, 2, 5, 3  # minutes of each, by the course's own estimate
EXERCISE_TAG = "exercise:"
SHOWN = 12  # lines of an output
WIDE = 100  # characters of a line


@dataclass
class Section:
    """A section of a lesson, and the minutes that it takes by the estimate of CONTRIBUTING.md."""

    title: str
    words: int = 0
    pictures: int = 0
    questions: int = 0
    exercises: dict[str, int] = field(default_factory=dict)  # id -> lines of the solution

    @property
    def minutes(self) -> float:
        """Reading, pictures, questions, and each exercise with one wrong attempt."""
        work = sum(EXERCISE + lines + ATTEMPT for lines in self.exercises.values())
        return self.words / WORDS + PICTURE * self.pictures + QUESTION * self.questions + work


def sections(lesson: Lesson) -> list[Section]:
    """The sections of a lesson, in their order; what stands above the first is one, too."""
    found = [Section("Opening")]
    for cell in lesson.cells:
        if cell.type == "markdown":
            _read(cell.learner, found)
        else:
            _work(cell, found[-1])
    return [section for section in found if section.minutes]


def _read(text: str, found: list[Section]) -> None:
    parts = HEADING.split(text)
    found[-1].words += len(parts[0].split())
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        found.append(Section(title.strip(), words=len(body.split())))


def _work(cell: LessonCell, section: Section) -> None:
    section.pictures += "picture" in cell.tags
    section.questions += len(re.findall(r"\b(?:predict|quiz)\(", cell.learner))
    for tag in cell.tags:
        if tag.startswith(EXERCISE_TAG):
            before = cell.learner.splitlines()
            lines = [one for one in cell.solution.splitlines() if one and one not in before]
            section.exercises[tag.removeprefix(EXERCISE_TAG)] = len(lines)


def timing(lesson: Lesson) -> Iterator[tuple[str, int, list[str]]]:
    """Title, minutes and exercises of each section; the minutes add up to the header's."""
    found = sections(lesson)
    every = sum(section.minutes for section in found)
    before = begun = 0.0
    for section in found:
        before += section.minutes * lesson.minutes / every
        yield section.title, round(before) - round(begun), list(section.exercises)
        begun = before


def outputs(solved: Notebook) -> Iterator[tuple[str, str]]:
    """For each cell of the solved notebook that shows something: its first line, and the text."""
    for cell in solved.code_cells:
        shown = [_text(output) for output in cell.get("outputs", [])]
        text = "\n".join(part for part in shown if part)
        lines = [line[:WIDE] for line in text.rstrip().splitlines()]
        if not lines or "setup" in tags_of(cell):
            continue
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], f"... {len(lines) - SHOWN} more lines"]
        first = next(line for line in source_of(cell).splitlines() if line.strip())
        yield first, "\n".join(lines)


def _text(output: Mapping[str, Any]) -> str:
    """What an output says as plain text; of a picture what it shows."""
    if "text" in output:
        return "".join(output["text"])
    data = output.get("data", {})
    said = "".join(data.get("text/plain", ""))
    pictures = [kind for kind in data if kind.startswith("image/")]
    return f"[a picture] {said}" if pictures else said


def page(
    lesson: Lesson, items: Sequence[Texts | Prediction | Quiz], solved: Notebook, texts: Mapping
) -> str:
    """The plan of one lesson."""
    rows = []
    for title, minutes, ids in timing(lesson):
        if minutes or ids:
            rows.append(f"| {title} | {minutes} | {', '.join(f'`{id}`' for id in ids)} |")
    head = texts["head"].format(
        title=lesson.title, name=lesson.name, minutes=lesson.minutes, able=lesson.able
    )
    parts = [head, *rows, "", texts["mistakes"]]
    for item in items:
        if isinstance(item, Texts):
            parts += _mistakes(item)
    parts.append(texts["questions"])
    for item in items:
        parts += _question(item)
    parts.append(texts["outputs"])
    for first, text in outputs(solved):
        parts += [f"`{first}`\n", "```text", text, "```\n"]
    return "\n".join(parts) + "\n"


def _mistakes(item: Texts) -> list[str]:
    lines = [f"### `{item.id}`\n"]
    lines += [f"- {one_line(sentence)}" for sentence in item.misconceptions.values()]
    hints = [f"{number}. {one_line(hint)}" for number, hint in enumerate(item.hints, 1)]
    return [*lines, "\nHints, in order:\n", *hints, ""]


def _question(item: Texts | Prediction | Quiz) -> list[str]:
    if isinstance(item, Prediction):
        return [f"- **Prediction**, in {item.unit or 'no unit'}: {one_line(item.question)}"]
    if not isinstance(item, Quiz):
        return []
    lines = [f"- **Quiz**: {one_line(item.question)}"]
    for letter, option in item.options.items():
        right = " (right)" if letter == item.answer else ""
        said = f"{one_line(option)}{right}: *{one_line(item.why[letter])}*"
        lines.append(f"  - {letter}) {said}")
    return lines


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


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
        found[place] = page(lesson, items, solved, texts["plan"])
    return {place: text.encode() for place, text in found.items()}


def items_of(lesson: Lesson) -> list:
    """What the lesson's file of texts has; none of its modules is imported."""
    parts = folders.parts(lesson.path)
    package = folders.module_of(lesson.path)
    files = LessonFiles(f"{package}.exercises", parts.texts, parts.solutions)
    return files.items()
